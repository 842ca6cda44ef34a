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
from sanitize.attack._downstream import _areas
from sanitize.errors import ColumnError, InvalidParameter

MODEL = DecisionTreeClassifier(max_depth=4, random_state=0)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    town = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2])
    pay = age * 10 + 200 * (town == "A") + rng.normal(0, 150, n)
    job = np.where(rng.random(n) < age / 120, "old", np.where(town == "A", "new", "none"))
    return pd.DataFrame({"age": age, "town": town, "pay": pay, "job": job})


DF = people(3000)


def noise(df, seed=1):
    """Every column drawn by itself: nothing can be learned."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: df[name].to_numpy()[rng.permutation(len(df))] for name in df})


def test_areas_are_those_of_scikit_learn_ties_included():
    rng = np.random.default_rng(2)
    for _ in range(20):
        y = rng.integers(0, 3, 200)
        law = rng.dirichlet(np.ones(3), 200).round(1) + 0.1 * np.eye(3)[y]
        law = (law / law.sum(axis=1, keepdims=True)).round(12)  # ties are ties
        assert _areas(law, y).mean() == pytest.approx(
            roc_auc_score(y, law, multi_class="ovr", average="weighted"), abs=1e-12
        )
        two = law[:, :2] + 0.01
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
    same = sz.downstream(DF, DF, "pay", estimator=MODEL)
    assert same.interval[0] <= 0 <= same.interval[1]
    assert same.raw > 0.75
    assert (same.question, same.columns) == ("whether 'pay' is above its median", ("age", "town", "job"))
    nothing = sz.downstream(DF, noise(DF), "pay", estimator=MODEL)
    assert nothing.worse
    assert nothing.released == pytest.approx(0.5, abs=0.12)
    assert nothing.kept < 0.25
    assert nothing.raw == same.raw


def test_rows_may_be_shuffled_and_frames_of_either_kind():
    rng = np.random.default_rng(4)
    released = DF.iloc[rng.choice(len(DF), len(DF))].assign(age=lambda df: df["age"] + rng.integers(-8, 9, len(df)))
    plain = sz.downstream(DF, released, "job", estimator=MODEL)
    mixed = sz.downstream(
        pl.from_pandas(DF), pl.from_pandas(released.sample(frac=1, random_state=0)), "job", estimator=MODEL
    )
    assert mixed.raw == plain.raw
    assert mixed.released == pytest.approx(plain.released, abs=0.03)
    assert plain.question == "'job'"


def test_fresh_rows_are_tested_on_alone_and_rows_in_order_lend_their_target():
    fresh = people(1000, seed=5)
    strict = sz.downstream(DF, noise(DF), "pay", fresh=fresh, estimator=MODEL)
    assert strict.n_rows == 1000
    assert strict.worse
    model = MODEL.fit(DF[["age"]].rank(method="dense"), DF["pay"] > DF["pay"].median())
    truth = fresh["pay"] > DF["pay"].median()
    by_hand = sz.downstream(DF, DF, "pay", columns=["age"], fresh=fresh, estimator=MODEL)
    ranks = np.searchsorted(np.sort(DF["age"].unique()), fresh[["age"]]) + 1
    expected = roc_auc_score(truth, model.predict_proba(pd.DataFrame(ranks, columns=["age"]))[:, 1])
    assert by_hand.raw == pytest.approx(expected, abs=1e-2)
    lent = sz.downstream(DF, DF[["age", "town"]], "pay", estimator=MODEL)
    assert lent.released == pytest.approx(lent.raw, abs=0.02)


def test_two_samples_of_one_source_seldom_look_different():
    false_alarms = 0
    for seed in range(30):
        found = sz.downstream(
            people(400, seed=2 * seed),
            people(400, seed=2 * seed + 1),
            "pay",
            estimator=LogisticRegression(max_iter=500),
        )
        false_alarms += not found.interval[0] <= 0 <= found.interval[1]
    assert false_alarms <= 6  # at 5 %, more than 6 of 30 have probability 0.0006


def test_the_default_model_and_the_words():
    found = sz.downstream(DF[:1200], noise(DF), "job", cv=2)
    assert found.model == "HistGradientBoostingClassifier"
    text = str(found)
    assert "worse than" in text
    assert f"{found.raw:.3f}" in text
    assert text == found.to_text()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"target": "nothing"}, ColumnError, "the raw table has no column 'nothing'"),
        ({"columns": ["nothing"]}, ColumnError, "the release has no column 'nothing'"),
        ({"columns": []}, ColumnError, "no column to predict from"),
        ({"released": DF[["age", "town"]][:100]}, ColumnError, "release the target too"),
        ({"released": DF.assign(age="18 to 30")}, ColumnError, "prints 'age' as labels"),
        ({"released": DF.assign(town="{A, B}")}, ColumnError, "prints 'town' as labels"),
        ({"released": DF.assign(pay="low")}, ColumnError, "prints 'pay' as labels"),
        ({"df": DF.assign(pay=1.0)}, InvalidParameter, "one value only"),
        ({"df": DF.assign(pay=np.arange(3000).astype(str))}, InvalidParameter, "group them first"),
        ({"confidence": 1.0}, InvalidParameter, "confidence must lie between"),
        ({"cv": 1}, InvalidParameter, "cv must be"),
        ({"fresh": DF[["age"]]}, ColumnError, "the table of fresh rows has no column"),
    ],
)
def test_what_cannot_be_compared_is_refused(change, error, words):
    settings = {"df": DF, "released": DF, "target": "pay", "estimator": MODEL} | change
    with pytest.raises(error, match=words):
        sz.downstream(**settings)
