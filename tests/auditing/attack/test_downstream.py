"""Models trained on a release against models trained on the raw table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import sanitize as sz
from sanitize.auditing.attack._downstream import _areas
from sanitize.errors import ColumnError, InvalidParameter

MODEL = DecisionTreeClassifier(max_depth=4, random_state=0)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    town = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2])
    pay = age * 10 + 200 * (town == "A") + rng.normal(0, 150, n)
    job = np.where(rng.random(n) < age / 120, "old", np.where(town == "A", "new", "none"))
    return pd.DataFrame({"age": age, "town": town, "pay": pay, "job": job})


DF, FRESH = people(3000), people(1000, seed=5)


def noise(df, seed=1):
    """Every column drawn by itself: nothing can be learned."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: df[name].to_numpy()[rng.permutation(len(df))] for name in df})


def test_areas_are_those_of_scikit_learn_ties_included():
    rng = np.random.default_rng(2)
    for _ in range(20):
        y = rng.integers(0, 3, 200)
        distribution = rng.dirichlet(np.ones(3), 200).round(1) + 0.1 * np.eye(3)[y]
        distribution = (distribution / distribution.sum(axis=1, keepdims=True)).round(12)  # ties are ties
        assert _areas(distribution, y).mean() == pytest.approx(
            roc_auc_score(y, distribution, multi_class="ovr", average="weighted"), abs=1e-12
        )
        two = distribution[:, :2] + 0.01
        two = (two / two.sum(axis=1, keepdims=True)).round(12)
        assert _areas(two, y % 2).mean() == pytest.approx(roc_auc_score(y % 2, two[:, 1]), abs=1e-12)


def test_the_spread_of_areas_is_their_standard_error():
    rng = np.random.default_rng(3)
    found, errors = [], []
    for _ in range(400):
        y = (rng.random(300) < 0.3).astype(int)
        score = rng.normal(0.8 * y, 1)
        rows = _areas(np.stack([-score, score], axis=1), y)
        found.append(rows.mean())
        errors.append(rows.std() / np.sqrt(len(rows)))
    # The standard deviation of 400 draws is known to 3.5 %, so four of these are 14 %.
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.14)


def test_a_release_that_is_the_table_is_as_good_and_noise_is_worth_nothing():
    same = sz.auditing.attack.downstream(DF, DF, "pay", fresh=FRESH, rows="keep", estimator=MODEL)
    assert same.difference == 0
    assert same.raw > 0.75
    assert (same.question, same.columns) == ("whether 'pay' is above its median", ("age", "town", "job"))
    assert (same.own, same.ignores_rows) == (1.0, False)
    nothing = sz.auditing.attack.downstream(DF, noise(DF), "pay", fresh=FRESH, rows="keep", estimator=MODEL)
    assert nothing.worse
    assert nothing.released == pytest.approx(0.5, abs=0.12)
    assert nothing.kept < 0.25
    assert nothing.raw == same.raw
    assert nothing.ignores_rows
    assert nothing.own == pytest.approx(0.5, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bootstrap", "model"])
def test_a_release_that_ignores_its_rows_is_shown_as_such(kind):
    """An analyst cannot tell it from the raw table, and it says nothing of anybody: what was missed is the link."""
    rng = np.random.default_rng(0)
    if kind == "bootstrap":
        released = DF.iloc[rng.choice(len(DF), len(DF))]
    else:
        settings = {"sensitive": "ill", "n_classes": 1, "random_state": 0}
        released = sz.LatentClassRelease(sz.LiftBudget.symmetric(1.0), **settings).fit_transform(
            DF.assign(ill=rng.random(len(DF)) < 0.2)
        )
    found = sz.auditing.attack.downstream(DF, released, "pay", fresh=FRESH, rows="keep", estimator=MODEL)
    assert found.released == pytest.approx(found.raw, abs=0.03)
    assert found.released == pytest.approx(found.ignoring, abs=0.03)
    assert found.ignores_rows
    assert "reveals nothing measurable about its person's 'pay'" in str(found)
    linked = sz.auditing.attack.downstream(
        DF, DF.assign(town=released["town"].to_numpy()), "pay", fresh=FRESH, rows="keep"
    )
    assert not linked.ignores_rows


@pytest.mark.slow
def test_a_sanitizer_is_fitted_without_the_rows_that_it_is_tested_on():
    df = DF.assign(ill=np.random.default_rng(1).random(len(DF)) < DF["age"] / 150)
    budget, seen = sz.LiftBudget(lower=1, upper=0.7), []

    class Watched(sz.LatentClassRelease):
        def fit(self, X, y=None, **more):
            seen.append(X)
            return super().fit(X, y, **more)

    found = sz.auditing.attack.downstream(
        df, Watched(budget, sensitive="ill", random_state=0), "job", cv=3, estimator=MODEL
    )
    assert [len(table) for table in seen] == [2000] * 3
    assert found.n_rows == 3000
    assert found.columns == ("age", "town", "pay")
    assert 0.6 < found.released < found.raw + 0.01
    assert found.own > found.ignoring - 0.1
    again = sz.auditing.attack.downstream(
        pl.from_pandas(df), Watched(budget, sensitive="ill", random_state=0), "job", cv=3, estimator=MODEL
    )
    assert again == found


def test_rows_may_be_shuffled_and_frames_of_either_kind():
    rng = np.random.default_rng(4)
    released = DF.iloc[rng.choice(len(DF), len(DF))].assign(age=lambda df: df["age"] + rng.integers(-8, 9, len(df)))
    plain = sz.auditing.attack.downstream(DF, released, "job", fresh=FRESH, estimator=MODEL)
    shuffled = pl.from_pandas(released.sample(frac=1, random_state=0))
    mixed = sz.auditing.attack.downstream(
        pl.from_pandas(DF), shuffled, "job", fresh=pl.from_pandas(FRESH), estimator=MODEL
    )
    assert mixed.raw == plain.raw
    assert mixed.released == pytest.approx(plain.released, abs=0.03)
    assert plain.question == "'job'"
    assert plain.own is None
    assert "its own person's" not in str(plain)


def test_fresh_rows_are_tested_on_alone_and_rows_in_order_lend_their_target():
    strict = sz.auditing.attack.downstream(DF, noise(DF), "pay", fresh=FRESH, estimator=MODEL)
    assert strict.n_rows == 1000
    assert strict.worse
    model = MODEL.fit(DF[["age"]].rank(method="dense"), DF["pay"] > DF["pay"].median())
    truth = FRESH["pay"] > DF["pay"].median()
    by_hand = sz.auditing.attack.downstream(DF, DF, "pay", columns=["age"], fresh=FRESH, estimator=MODEL)
    ranks = np.searchsorted(np.sort(DF["age"].unique()), FRESH[["age"]]) + 1
    expected = roc_auc_score(truth, model.predict_proba(pd.DataFrame(ranks, columns=["age"]))[:, 1])
    assert by_hand.raw == pytest.approx(expected, abs=2e-2)
    # The AUC of a model that learned nothing varies by 0.12 over seeds.
    settings = {"fresh": FRESH, "rows": "keep", "estimator": MODEL, "random_state": 3}
    lent = sz.auditing.attack.downstream(DF, DF[["age", "town"]], "pay", **settings)
    assert lent.released == pytest.approx(lent.raw, abs=0.02)
    assert lent.ignoring == pytest.approx(0.5, abs=0.12)


@pytest.mark.slow
def test_two_samples_of_one_source_seldom_look_different():
    false_alarms = 0
    for seed in range(30):
        one, another, fresh = (people(400, seed=3 * seed + k) for k in range(3))
        found = sz.auditing.attack.downstream(
            one, another, "pay", fresh=fresh, estimator=LogisticRegression(max_iter=500)
        )
        false_alarms += not found.interval[0] <= 0 <= found.interval[1]
    # The interval is that of these two models on other rows, and models of 400 rows differ by themselves.
    assert false_alarms <= 15


@pytest.mark.slow
def test_a_class_of_one_row_among_very_many_is_learned_from():
    """From 10,000 rows on the model would put rows of each class aside, which one row cannot be split into."""
    df = people(10_500)
    df["town"] = df["town"].astype(object)
    df.loc[0, "town"] = "lonely"
    found = sz.auditing.attack.downstream(df, df.sample(frac=1, random_state=0), "town", fresh=people(500, seed=9))
    assert found.released == pytest.approx(found.raw, abs=0.02)


@pytest.mark.slow
def test_the_default_model_and_the_words():
    found = sz.auditing.attack.downstream(DF[:1200], noise(DF), "job", fresh=FRESH)
    assert found.model == "HistGradientBoostingClassifier"
    text = str(found)
    assert "worse than" in text
    assert f"{found.raw:.3f}" in text
    assert text == found.to_text()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"target": "nothing"}, ColumnError, "the raw table: no column 'nothing'"),
        ({"columns": ["nothing"]}, ColumnError, "the release: no column 'nothing'"),
        ({"columns": []}, ColumnError, "no column to predict from"),
        ({"released": DF[["age", "town"]][:100]}, ColumnError, "release the target too"),
        ({"released": DF.assign(age="18 to 30")}, ColumnError, "writes column 'age' in another form"),
        ({"released": DF.assign(town="{A, B}")}, ColumnError, "writes column 'town' in another form"),
        ({"released": DF.assign(pay="low")}, ColumnError, "writes column 'pay' in another form"),
        ({"df": DF.assign(pay=1.0)}, InvalidParameter, "one value only"),
        ({"df": DF.assign(pay=(np.arange(3000) % 40).astype(str))}, InvalidParameter, "group them first"),
        ({"confidence": 1.0}, InvalidParameter, "confidence must lie between"),
        ({"cv": 1, "rows": "keep"}, InvalidParameter, "cv must be"),
        ({"rows": "sorted"}, InvalidParameter, "rows must be 'shuffle' or 'keep'"),
        ({"fresh": None}, InvalidParameter, "pass other raw rows in fresh"),
        ({"fresh": DF[["age"]]}, ColumnError, "the table of fresh rows: no column"),
    ],
)
def test_what_cannot_be_compared_is_refused(change, error, words):
    settings = {"df": DF, "released": DF, "target": "pay", "fresh": FRESH, "estimator": MODEL} | change
    with pytest.raises(error, match=words):
        sz.auditing.attack.downstream(**settings)
