"""Estimators: what they accept, what they release, what they report, and that the budget holds from scratch."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sanitizer_cases import ALL, DF, LIP, MERGING, S, X, released_distribution, violation
from sklearn.exceptions import NotFittedError
from strategies import budgets

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.errors import (
    BudgetExceeded,
    InvalidBudget,
)
from sanitize.transformers import RandomizedResponse, SubsetMerging, Watchdog
from tests.support.levels import level

# ------------------------------------------------------------------------------------------- budgets


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("budget", [None, "1.0", True, [1.0], {"eps": 1}])
def test_fit_refuses_a_missing_or_odd_budget_and_says_what_to_give(estimator, budget):
    with pytest.raises(InvalidBudget, match=r"(?i)number.*|Budget") as caught:
        estimator(budget, sensitive="illness", public=X).fit(DF)
    assert "number" in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("estimator", ALL)
def test_the_constructor_refuses_nothing(estimator):
    assert estimator("nonsense", sensitive=3.5, bins="many").budget == "nonsense"


@pytest.mark.parametrize("budget", [-0.1, math.nan])
@pytest.mark.parametrize("estimator", ALL)
def test_fit_refuses_a_negative_budget(estimator, budget):
    with pytest.raises(InvalidBudget, match=">= 0"):
        estimator(level(estimator, budget), sensitive="illness", public="town").fit(DF)


def test_randomized_response_takes_no_lift_budget():
    with pytest.raises(InvalidBudget, match=r"LDP level: LDPBudget\(eps\) or a number of nats"):
        RandomizedResponse(LIP, public="town").fit(DF)


def test_a_number_is_local_dp_for_randomized_response():
    fitted = RandomizedResponse(0.7, sensitive=S, public=X, min_count=0).fit(DF)
    assert fitted.report_.budget == sz.LDPBudget(0.7)
    matrix = fitted.channel_.matrix
    assert np.log(matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(0.7, abs=1e-9)


@pytest.mark.parametrize("estimator", ALL)
def test_the_budget_holds_on_the_released_distribution_recomputed_from_scratch(estimator):
    budget = sz.LDPBudget(1.5) if estimator is RandomizedResponse else sz.LiftBudget(lower=1.4, upper=0.7)
    fitted = estimator(budget, sensitive=S, public=X).fit(DF)
    p_sy, p_s = released_distribution(fitted, DF, S, X)
    assert violation(budget, p_sy, p_s) <= 1e-9
    assert fitted.report_.ok
    lifts = np.log(p_sy / p_s[:, None] / p_sy.sum(axis=0))
    assert fitted.report_.summary["max_log_lift"] == pytest.approx(lifts.max(), abs=1e-9)
    assert fitted.report_.summary["min_log_lift"] == pytest.approx(lifts.min(), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", MERGING)
@pytest.mark.parametrize(
    "budget",
    [
        sz.LDPBudget(1.5),
        sz.LiftBudget(lower=1.4, upper=0.7),
        sz.L1LiftBudget(lower=0.6, upper=0.4),
        sz.Chi2LiftBudget(lower=0.9, upper=0.5),
        sz.AlphaLiftBudget(2.0, lower=0.5, upper=0.3),
        sz.AlphaLiftBudget(math.inf, lower=0.9, upper=0.5),
    ],
    ids=lambda budget: type(budget).__name__,
)
def test_every_kind_of_budget_drives_a_merge_that_meets_it(estimator, budget):
    raw = sz.audit(DF, sensitive=S, public=X)._before
    assert (budget.excess(raw) > 0).any(), "the raw table must be over budget, or the test shows nothing"
    fitted = estimator(budget, sensitive=S, public=X).fit(DF)
    assert violation(budget, *released_distribution(fitted, DF, S, X)) <= 1e-9
    assert fitted.report_.ok


@st.composite
def small_frames(draw):
    """Frames with two sensitive columns, a public pair, missing values and empty cells."""
    n = draw(st.integers(1, 30))
    rows = st.tuples(
        st.sampled_from(["flu", "none", None]),
        st.booleans(),
        st.sampled_from(["A", "B", "C", None]),
        st.integers(0, 3),
    )
    df = pd.DataFrame(draw(st.lists(rows, min_size=n, max_size=n)), columns=["illness", "rich", "town", "floor"])
    return df.astype({"illness": object, "town": object})


@pytest.mark.slow
@pytest.mark.parametrize("estimator", MERGING)
@given(df=small_frames(), drawn=budgets())
def test_the_budget_holds_for_any_table_and_any_budget(estimator, df, drawn):
    budget = drawn[0]
    assume(df[S].nunique(dropna=False).max() > 1)
    fitted = estimator(budget, sensitive=S, public=["town", "floor"], min_count=0, random_state=0).fit(df)
    df = df.where(df.notna(), None)
    p_sy, p_s = released_distribution(fitted, df, S, ["town", "floor"])
    assert violation(budget, p_sy, p_s) <= 1e-9
    assert fitted.report_.ok
    released = fitted.transform(df)
    assert len(released) == len(df)


@pytest.mark.slow
@given(df=small_frames(), eps=st.floats(0.01, 6), sensitive=st.sampled_from([None, S]))
def test_randomized_response_keeps_its_local_dp_for_any_table(df, eps, sensitive):
    fitted = RandomizedResponse(eps, sensitive=sensitive, public=["town", "floor"], min_count=0).fit(df)
    matrix = fitted.channel_.matrix
    assert np.log(matrix.max(axis=0) / matrix.min(axis=0)).max() <= eps + 1e-9
    assert fitted.report_.ok


def test_a_channel_over_its_budget_is_refused_at_fit(monkeypatch):
    from sanitize.core.channel import Channel

    monkeypatch.setattr(
        "sanitize.mechanisms.watchdog",
        lambda joint, budget, **_: Channel.identity(len(joint.public), joint.public),
    )
    sanitizer = Watchdog(LiftBudget.symmetric(0.01), sensitive=S, public=X)
    with pytest.raises(BudgetExceeded) as caught:
        sanitizer.fit(DF)
    assert caught.value.excess > 0
    assert not any(value in str(caught.value) for value in ("flu", "cancer", "distribution", "farm"))
    with pytest.raises(NotFittedError):
        sanitizer.transform(DF)


# ----------------------------------------------------------------------------------------- the columns


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    ("sensitive", "public"),
    [
        (["illness"], ["town", "job"]),
        ("illness", pd.Index(["town", "job"])),
        ([3], [0, 1]),
        ([-2], [0, -4]),
        ([np.int64(3)], np.array(["town", "job"])),
        (lambda df: ["illness"], lambda df: [name for name in df.columns if name in ("town", "job")]),
        (lambda df: "illness", ("town", 1)),
    ],
    ids=["lists", "name", "positions", "negative", "numpy", "callables", "mixed"],
)
def test_columns_are_chosen_by_name_position_list_or_callable(estimator, sensitive, public):
    fitted = estimator(level(estimator, 1.5), sensitive=sensitive, public=public, random_state=1).fit(DF)
    same = estimator(level(estimator, 1.5), sensitive="illness", public=["town", "job"], random_state=1).fit(DF)
    assert fitted.channel_ == same.channel_
    assert fitted.report_.sensitive == ("illness",)
    assert list(fitted.transform(DF).columns) == ["town", "job"]


def test_public_defaults_to_all_but_the_sensitive_columns():
    df = DF.drop(columns="age")
    assert list(Watchdog(LiftBudget.symmetric(1.5), sensitive=S).fit_transform(df).columns) == ["town", "job"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sensitive": "ilness", "public": "town"}, "did you mean 'illness'"),
        ({"sensitive": "illness", "public": "x"}, "no column 'x'"),
        ({"sensitive": [9], "public": "town"}, "no column number 9; the table has 5"),
        ({"sensitive": "illness", "public": ["town", "illness"]}, "'illness' is listed both"),
        ({"sensitive": "illness", "public": ["town", "town"]}, "listed twice"),
        ({"sensitive": "illness", "public": []}, "no public column"),
        ({"sensitive": 1.5, "public": "town"}, "sensitive must be a column name, a list of names or positions"),
        ({"sensitive": 3, "public": "town"}, r"positions as in \[0\], or a callable, got int"),
        ({"sensitive": [], "public": "town"}, "needs sensitive columns"),
        ({"sensitive": list(DF.columns)}, "no public column is left"),
    ],
)
def test_a_wrong_choice_of_columns_is_refused_with_advice(settings, message):
    with pytest.raises(ValueError, match=message):
        Watchdog(LiftBudget.symmetric(1.0), **settings).fit(DF)


APART = {
    "series": lambda: DF["illness"],
    "array": lambda: DF["illness"].to_numpy(dtype=object),
    "list": lambda: DF["illness"].tolist(),
    "frame": lambda: DF[["illness"]],
    "polars series": lambda: pl.Series("illness", DF["illness"].tolist()),
    "polars frame": lambda: pl.DataFrame({"illness": DF["illness"].tolist()}),
    "column array": lambda: DF[["illness"]].to_numpy(dtype=object),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", APART)
@pytest.mark.parametrize("estimator", ALL)
def test_sensitive_features_may_come_apart_in_any_kind(estimator, kind):
    public = DF[X]
    fitted = estimator(level(estimator, 1.5)).fit(public, sensitive_features=APART[kind]())
    inside = estimator(level(estimator, 1.5), sensitive="illness", public=X).fit(DF)
    np.testing.assert_array_equal(fitted.channel_.matrix, inside.channel_.matrix)
    assert fitted.report_.summary["mutual_information"] == inside.report_.summary["mutual_information"]
    assert list(fitted.transform(public).columns) == X


def test_several_sensitive_features_are_taken_together():
    fitted = SubsetMerging(LIP).fit(DF[X], sensitive_features=DF[S])
    inside = SubsetMerging(LIP, sensitive=S, public=X).fit(DF)
    assert fitted.channel_ == inside.channel_
    assert fitted.report_.sensitive == ("illness", "rich")


def test_sensitive_features_and_sensitive_at_once_are_refused():
    with pytest.raises(ValueError, match="not both"):
        Watchdog(LiftBudget.symmetric(1.0), sensitive="illness", public=X).fit(DF, sensitive_features=DF["rich"])


@pytest.mark.parametrize("estimator", MERGING)
def test_no_sensitive_column_at_all_is_refused(estimator):
    with pytest.raises(ValueError, match="y is never taken as sensitive"):
        estimator(level(estimator, 1.0), public=X).fit(DF, DF["illness"])


def test_sensitive_features_of_another_length_are_refused():
    with pytest.raises(ValueError, match="has 3 rows, and the table has 400"):
        Watchdog(LiftBudget.symmetric(1.0)).fit(DF[X], sensitive_features=["a", "b", "a"])


def test_a_sensitive_feature_that_is_also_in_x_is_refused():
    with pytest.raises(ValueError, match="'illness' is in X and in sensitive_features"):
        Watchdog(LiftBudget.symmetric(1.0)).fit(DF[[*X, "illness"]], sensitive_features=DF["illness"])


@pytest.mark.parametrize("estimator", ALL)
def test_y_is_never_the_sensitive_column(estimator):
    rng = np.random.default_rng(5)
    fitted = [
        estimator(level(estimator, 1.2), sensitive="illness", public=X).fit(DF, y)
        for y in (None, DF["illness"], rng.permutation(DF["illness"].to_numpy()), rng.normal(size=len(DF)))
    ]
    assert all(one.channel_ == fitted[0].channel_ for one in fitted)
    assert len({str(one.report_) for one in fitted}) == 1


def test_randomized_response_without_a_sensitive_column_reports_on_the_public_ones():
    fitted = RandomizedResponse(1.0, public="town").fit(DF)
    assert fitted.report_.sensitive == ("town",)
    assert fitted.report_.summary["ldp_sensitive"] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("estimator", ALL)
def test_transform_needs_the_public_columns_only(estimator):
    fitted = estimator(level(estimator, 1.5), sensitive=S, public=X, random_state=3).fit(DF)
    whole = fitted.transform(DF)
    for narrower in (DF[X], DF[[*X, "age"]], DF[["job", "town"]]):
        pd.testing.assert_frame_equal(fitted.transform(narrower), whole)


def test_transform_refuses_missing_columns_in_the_words_of_scikit_learn():
    fitted = Watchdog(LiftBudget.symmetric(1.5), sensitive=S, public=X).fit(DF)
    with pytest.raises(ValueError, match=r"(?s)feature names.*seen at fit time.*- town"):
        fitted.transform(DF.drop(columns="town"))
    array = DF.to_numpy(dtype=object)
    fitted = Watchdog(LiftBudget.symmetric(1.5), sensitive=[3, 4], public=[0, 1]).fit(array)
    with pytest.raises(ValueError, match="X has 2 features, but Watchdog is expecting 5 features"):
        fitted.transform(array[:, :2])


def test_an_unfitted_estimator_says_so():
    for call in (lambda e: e.transform(DF), lambda e: e.get_feature_names_out(), lambda e: e.measure(DF)):
        with pytest.raises(NotFittedError):
            call(Watchdog(LiftBudget.symmetric(1.0), sensitive="illness"))


def test_the_input_is_not_modified():
    df = DF.copy(deep=True)
    SubsetMerging(LIP, sensitive=S, public=[*X, "age"], bins={"age": [18, 40, 60, 90]}).fit_transform(df)
    pd.testing.assert_frame_equal(df, DF)
    assert df.attrs == {}


def test_the_distribution_of_the_table_is_not_a_public_attribute():
    fitted = Watchdog(LiftBudget.symmetric(1.5), sensitive=S, public=X).fit(DF)
    public = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert public == {"channel_", "report_", "n_features_in_", "feature_names_in_"}
