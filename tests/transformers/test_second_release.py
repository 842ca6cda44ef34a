"""The warning at a second release of the same rows: where more is told by it, and nowhere else."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest
from oracles import channel_matrix, exact, max_lift, push
from sanitizer_cases import DF, S, X, people
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.errors import ReleaseWarning
from sanitize.transformers import (
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)

SECOND = "has released these rows before"
PUBLIC = DF[X]


def noisy(**settings):
    return RandomizedResponse(3.0, sensitive="rich", public=X, **settings)


def quiet(call, *args):
    """What a call gives, where any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*args)


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, lambda df: df.to_numpy()], ids=["pandas", "polars", "array"]
)
def test_the_second_transform_of_the_same_rows_warns(kind):
    rows = kind(PUBLIC)
    sanitizer = RandomizedResponse(1.0).fit(rows)
    first = quiet(sanitizer.transform, rows)
    with pytest.warns(ReleaseWarning, match=SECOND) as told:
        second = sanitizer.transform(rows)
    assert not np.array_equal(np.asarray(first), np.asarray(second))
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    "again",
    [
        lambda sanitizer: sanitizer.transform(DF),
        lambda sanitizer: sanitizer.transform(PUBLIC.copy()),
        lambda sanitizer: sanitizer.fit_transform(DF),
        lambda sanitizer: sz.frames.release(DF, sanitizer),
    ],
    ids=["transform", "copy", "fitted anew", "frame"],
)
def test_fit_transform_is_a_release_and_so_is_one_of_a_new_fit(again):
    sanitizer = noisy()
    quiet(sanitizer.fit_transform, DF)
    with pytest.warns(ReleaseWarning, match=SECOND):
        again(sanitizer)


def test_a_random_state_moves_on_so_that_its_second_release_is_another_one():
    sanitizer = noisy(random_state=np.random.RandomState(1)).fit(DF)
    quiet(sanitizer.transform, DF)
    with pytest.warns(ReleaseWarning, match=SECOND):
        sanitizer.transform(DF)


@pytest.mark.parametrize("source", [7, np.int64(7), sz.NoiseKey(b"7" * 32)], ids=["seed", "numpy seed", "key"])
def test_noise_that_is_drawn_again_tells_nothing_new(source):
    sanitizer = noisy(random_state=source).fit(DF)
    first = quiet(sanitizer.transform, DF)
    assert quiet(sanitizer.transform, DF).equals(first)


def test_other_rows_are_another_release():
    sanitizer = noisy().fit(DF)
    for seed in range(5):
        quiet(sanitizer.transform, people(seed=seed))
    quiet(sanitizer.transform, DF.iloc[:200])
    quiet(sanitizer.transform, DF.iloc[::-1])


def test_few_rows_may_be_those_of_others():
    """Seven rows in two towns have at most 35 orders: whoever predicts row by row is not warned of equal values."""
    sanitizer = RandomizedResponse(1.0, public="town").fit(DF)
    for row in range(60):
        quiet(sanitizer.transform, DF.iloc[[row]])
    few = pd.DataFrame({"town": list("AABBABA")})
    for _ in range(3):
        quiet(sanitizer.transform, few)


@pytest.mark.parametrize(
    "copied", [clone, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))], ids=["clone", "deep", "pickle"]
)
def test_a_copy_knows_no_release_of_its_own_and_that_another_has_released(copied):
    sanitizer = noisy()
    before = dict(vars(sanitizer.fit(DF)))
    quiet(sanitizer.transform, DF)
    assert vars(sanitizer) == before
    with pytest.warns(ReleaseWarning, match=OTHERS):
        copied(sanitizer).fit(DF).transform(DF)


def test_it_keeps_no_estimator_alive():
    sanitizer = noisy().fit(DF)
    sanitizer.transform(DF)
    gone = weakref.ref(sanitizer)
    del sanitizer
    gc.collect()
    assert gone() is None


MERGES = [
    Watchdog(LiftBudget.symmetric(0.4), sensitive="rich", public=X),
    SubsetMerging(LiftBudget.symmetric(0.4), sensitive="rich", public=X),
    SubsetMerging(LiftBudget.symmetric(0.4), sensitive=S, public="town"),
    JointRelease(
        [("town", SubsetMerging(LiftBudget.symmetric(0.2), public="town")), ("job", Watchdog(public="job"))],
        LiftBudget.symmetric(0.5),
        sensitive="rich",
    ),
]
DRAWS = [
    OptimalRandomResponse(LiftBudget.symmetric(0.1), sensitive="rich", public=X),
    RandomizedResponse(0.7, sensitive="rich", public=X),
    JointRelease([("job", RandomizedResponse(0.7, public="job"))], sz.LiftBudget.symmetric(2.0), sensitive="rich"),
    LatentClassRelease(LiftBudget.symmetric(0.1), sensitive="rich", public=[*X, "age"], n_classes=3),
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [*MERGES, *DRAWS], ids=lambda estimator: type(estimator).__name__)
def test_it_warns_exactly_where_two_releases_tell_more_than_one(estimator):
    """The distribution of (S, Y1, Y2) of two draws, in fractions: a channel that merges prints what it drew already."""
    sanitizer = estimator.fit(DF)
    distribution = exact(sanitizer._joint.pmf)
    rows = channel_matrix(sanitizer.channel_)
    n_y = len(rows[0])
    twice = [[row[y] * row[z] for y in range(n_y) for z in range(n_y)] for row in rows]
    one, two = (max(max_lift(_held(push(distribution, drawn)))) for drawn in (rows, twice))
    quiet(sanitizer.transform, DF)
    if estimator in DRAWS:
        assert two > one
        with pytest.warns(ReleaseWarning, match=SECOND):
            sanitizer.transform(DF)
    else:
        assert two == one
        quiet(sanitizer.transform, DF)


def _held(joint):
    """Columns of positive probability."""
    kept = [y for y in range(len(joint[0])) if any(row[y] for row in joint)]
    return [[row[y] for y in kept] for row in joint]


def test_a_classifier_that_is_trained_and_asked_about_the_same_rows_has_released_them_twice():
    model = make_pipeline(noisy(), OrdinalEncoder(), CategoricalNB(min_categories=10))
    quiet(model.fit, DF, DF["rich"])
    with pytest.warns(ReleaseWarning, match=SECOND):
        model.predict(DF)


def test_releases_of_overlapping_rows_by_several_fits_cannot_be_told():
    """Said in the guide: each fold is another fit, and every row is released once for training in all but one."""
    model = make_pipeline(noisy(), OrdinalEncoder(), CategoricalNB(min_categories=10))
    quiet(lambda: cross_val_predict(model, DF, DF["rich"], cv=3))


def test_the_most_that_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr("sanitize.transformers._sanitizer._MOST_REMEMBERED", 2)
    sanitizer = noisy().fit(DF)
    tables = [people(seed=seed) for seed in range(3)]
    for table in tables:
        quiet(sanitizer.transform, table)
    quiet(sanitizer.transform, tables[0])  # forgotten
    with pytest.warns(ReleaseWarning, match=SECOND):
        sanitizer.transform(tables[2])


# ------------------------------------------------------------------------------------- several estimators

OTHERS = "another sanitizer has released the rows"
EACH = [("town", noisy().set_params(public="town"), ["town", "rich"]), ("job", noisy(), [*X, "rich"])]


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("holder", [ColumnTransformer, FeatureUnion], ids=["columns", "union"])
@pytest.mark.parametrize("keyed", [False, True], ids=["system", "keys"])
def test_sanitizers_side_by_side_warn_once(holder, steps, keyed):
    """Two or three steps: at fit, and not again by the same rows."""
    parts = [(name, clone(sanitizer), columns) for name, sanitizer, columns in (*EACH, EACH[0])[:steps]]
    for i, (_, sanitizer, _) in enumerate(parts if keyed else []):
        sanitizer.set_params(random_state=sz.NoiseKey(bytes([i]) * 32))
    steps = [
        (f"{name}{i}", *(rest if holder is ColumnTransformer else rest[:1])) for i, (name, *rest) in enumerate(parts)
    ]
    with pytest.warns(ReleaseWarning, match=OTHERS) as told:
        holder(steps).fit_transform(DF)
    assert len(told) == 1
    assert "pipeline=" in str(told[0].message)
    assert "Ledger" in str(told[0].message)


def test_two_estimators_that_were_fitted_on_the_same_rows_warn_at_the_second_release_alone():
    one, other = noisy().fit(DF), Watchdog(LiftBudget.symmetric(0.4), sensitive="rich", public="town").fit(DF)
    quiet(other.transform, DF)
    quiet(other.transform, DF)
    with pytest.warns(ReleaseWarning, match=OTHERS):
        one.transform(PUBLIC)
    quiet(clone(other).fit(DF).transform, DF)


def test_other_rows_other_secrets_and_estimators_that_are_gone_are_no_second_release():
    one = noisy().fit(DF)
    quiet(one.transform, DF)
    quiet(noisy().fit(DF).transform, people(seed=8))
    quiet(noisy().fit_transform, people(seed=9))
    quiet(noisy(random_state=1).fit_transform, DF)
    del one
    gc.collect()
    quiet(noisy().fit_transform, DF)
