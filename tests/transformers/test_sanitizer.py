"""Estimators: what they accept, what they release, what they report, and that the budget holds from scratch."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from strategies import budgets

import sanitize as sz
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidBudget,
    InvalidParameter,
    ReleaseWarning,
    UnknownSymbol,
    UnseenSymbolWarning,
)
from sanitize.transformers import RandomizedResponse, SubsetMerging, Watchdog, leakage_scorer, utility_scorer

MERGING = [Watchdog, SubsetMerging]
ALL = [*MERGING, RandomizedResponse]
S = ["illness", "rich"]
X = ["town", "job"]


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Two sensitive columns, two public ones that tell about them, and a number."""
    rng = np.random.default_rng(seed)
    illness = rng.choice(["flu", "none", "cancer"], n, p=[0.3, 0.6, 0.1])
    town = np.where(rng.random(n) < 0.3, np.where(illness == "flu", "A", "B"), rng.choice(list("ABCDEF"), n))
    rich = rng.random(n) < 0.4
    job = np.where(rich & (rng.random(n) < 0.5), "law", rng.choice(["law", "shop", "farm"], n))
    age = rng.integers(18, 80, n) + 5 * (illness == "cancer")
    return pd.DataFrame({"town": town, "job": job, "age": age, "illness": illness, "rich": rich})


DF = people()
LIP = sz.LiftBudget(lower=math.inf, upper=1.2)


def released_law(sanitizer, df, sensitive, public, weights=None) -> tuple[np.ndarray, np.ndarray]:
    """P(s, y) and P(s) from a pandas crosstab and the channel's matrix, by code of its own."""
    index = df[sensitive].astype(object).apply(lambda row: repr(tuple(row)), axis=1)
    columns = df[public].astype(object).apply(lambda row: repr(tuple(row)), axis=1)
    values = np.ones(len(df)) if weights is None else np.asarray(weights, float)
    counts = pd.crosstab(index, columns, values=values, aggfunc="sum").fillna(0.0)
    known = sanitizer.channel_.inputs.symbols
    order = [repr(symbol if isinstance(symbol, tuple) else (symbol,)) for symbol in known]
    p_sx = counts[order].to_numpy() / values.sum()
    p_sy = p_sx @ sanitizer.channel_.matrix
    return p_sy[:, p_sy.sum(axis=0) > 0], p_sx.sum(axis=1)


def violation(budget, p_sy, p_s) -> float:
    """How far a released law exceeds a budget, from the definitions, as a share of what is allowed."""
    lifts = p_sy / p_s[:, None] / p_sy.sum(axis=0)
    with np.errstate(divide="ignore"):
        inverse, logs = 1 / lifts, np.log(lifts)
    name = type(budget).__name__
    prior = p_s[:, None]

    def over(value, bound):
        return -math.inf if math.isinf(bound) else float(np.max(value)) - bound

    if name == "LDPBudget":
        return over(logs.max(axis=0) - logs.min(axis=0), budget.eps)
    if name == "LiftBudget":
        return max(over(logs.max(axis=0), budget.upper), over(-logs.min(axis=0), budget.lower))
    e_u, e_l = math.exp(budget.upper), math.exp(budget.lower)
    if name == "L1LiftBudget":
        return max(
            over((prior * abs(lifts - 1)).sum(axis=0), e_u - 1),
            over((prior * abs(inverse - 1)).sum(axis=0), e_l - 1),
        )
    if name == "Chi2LiftBudget":
        return max(
            over((prior * (lifts - 1) ** 2).sum(axis=0), (e_u - 1) ** 2),
            over((prior * (inverse - 1) ** 2).sum(axis=0), (e_l - 1) ** 2),
        )
    assert name == "AlphaLiftBudget"
    if math.isinf(budget.alpha):
        return max(over(lifts, e_u), over(inverse, e_l))
    a = budget.alpha
    return max(
        over((prior * lifts**a).sum(axis=0) ** (1 / a), e_u),
        over((prior * inverse**a).sum(axis=0) ** (1 / a), e_l),
    )


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
    assert estimator("nonsense", sensitive=3.5, bins="many", release="fax").budget == "nonsense"


@pytest.mark.parametrize("budget", [-0.1, math.nan])
@pytest.mark.parametrize("estimator", ALL)
def test_fit_refuses_a_negative_budget(estimator, budget):
    with pytest.raises(InvalidBudget, match=">= 0"):
        estimator(budget, sensitive="illness", public="town").fit(DF)


def test_randomized_response_takes_no_lift_budget():
    with pytest.raises(InvalidBudget, match="LDP in nats: a number or LDPBudget"):
        RandomizedResponse(LIP, public="town").fit(DF)


@pytest.mark.parametrize("estimator", MERGING)
def test_a_number_is_symmetric_local_information_privacy(estimator):
    by_number = estimator(0.9, sensitive=S, public=X).fit(DF)
    by_budget = estimator(sz.LiftBudget.symmetric(0.9), sensitive=S, public=X).fit(DF)
    assert by_number.report_.budget == sz.LiftBudget(lower=0.9, upper=0.9)
    assert by_number.channel_ == by_budget.channel_


def test_a_number_is_local_dp_for_randomized_response():
    fitted = RandomizedResponse(0.7, sensitive=S, public=X).fit(DF)
    assert fitted.report_.budget == sz.LDPBudget(0.7)
    matrix = fitted.channel_.matrix
    assert np.log(matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(0.7, abs=1e-9)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("release", ["resample", "label"])
def test_the_budget_holds_on_the_released_law_recomputed_from_scratch(estimator, release):
    budget = sz.LDPBudget(1.5) if estimator is RandomizedResponse else sz.LiftBudget(lower=1.4, upper=0.7)
    fitted = estimator(budget, sensitive=S, public=X, release=release).fit(DF)
    p_sy, p_s = released_law(fitted, DF, S, X)
    assert violation(budget, p_sy, p_s) <= 1e-9
    assert fitted.report_.ok
    lifts = np.log(p_sy / p_s[:, None] / p_sy.sum(axis=0))
    assert fitted.report_.summary["max_log_lift"] == pytest.approx(lifts.max(), abs=1e-9)
    assert fitted.report_.summary["min_log_lift"] == pytest.approx(lifts.min(), abs=1e-9)


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
    assert violation(budget, *released_law(fitted, DF, S, X)) <= 1e-9
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


@pytest.mark.parametrize("estimator", MERGING)
@given(df=small_frames(), drawn=budgets(), release=st.sampled_from(["resample", "label"]))
def test_the_budget_holds_for_any_table_and_any_budget(estimator, df, drawn, release):
    budget = drawn[0]
    fitted = estimator(budget, sensitive=S, public=["town", "floor"], release=release, random_state=0).fit(df)
    df = df.where(df.notna(), None)
    p_sy, p_s = released_law(fitted, df, S, ["town", "floor"])
    assert violation(budget, p_sy, p_s) <= 1e-9
    assert fitted.report_.ok
    released = fitted.transform(df)
    assert len(released) == len(df)


@given(df=small_frames(), eps=st.floats(0.01, 6), sensitive=st.sampled_from([None, S]))
def test_randomized_response_keeps_its_local_dp_for_any_table(df, eps, sensitive):
    fitted = RandomizedResponse(eps, sensitive=sensitive, public=["town", "floor"]).fit(df)
    matrix = fitted.channel_.matrix
    assert np.log(matrix.max(axis=0) / matrix.min(axis=0)).max() <= eps + 1e-9
    assert fitted.report_.ok


def test_a_channel_over_its_budget_is_refused_at_fit(monkeypatch):
    from sanitize.channel import Channel

    monkeypatch.setattr(
        "sanitize.transformers._merging.watchdog",
        lambda joint, budget: Channel.identity(len(joint.public), joint.public),
    )
    sanitizer = Watchdog(0.01, sensitive=S, public=X)
    with pytest.raises(BudgetExceeded) as caught:
        sanitizer.fit(DF)
    assert caught.value.excess > 0
    assert not any(value in str(caught.value) for value in ("flu", "cancer", "law", "farm"))
    with pytest.raises(NotFittedError):
        sanitizer.transform(DF)


# ----------------------------------------------------------------------------------------- the columns


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
    fitted = estimator(1.5, sensitive=sensitive, public=public, random_state=1).fit(DF)
    same = estimator(1.5, sensitive="illness", public=["town", "job"], random_state=1).fit(DF)
    assert fitted.channel_ == same.channel_
    assert fitted.report_.sensitive == ("illness",)
    assert list(fitted.transform(DF).columns) == ["town", "job"]


def test_public_defaults_to_all_but_the_sensitive_columns():
    df = DF.drop(columns="age")
    assert list(Watchdog(1.5, sensitive=S).fit_transform(df).columns) == ["town", "job"]


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
        ({"sensitive": [], "public": "town"}, "needs to know what is sensitive"),
        ({"sensitive": list(DF.columns)}, "no public column is left"),
    ],
)
def test_a_wrong_choice_of_columns_is_refused_with_advice(settings, message):
    with pytest.raises(ValueError, match=message):
        Watchdog(1.0, **settings).fit(DF)


APART = {
    "series": lambda: DF["illness"],
    "array": lambda: DF["illness"].to_numpy(dtype=object),
    "list": lambda: DF["illness"].tolist(),
    "frame": lambda: DF[["illness"]],
    "polars series": lambda: pl.Series("illness", DF["illness"].tolist()),
    "polars frame": lambda: pl.DataFrame({"illness": DF["illness"].tolist()}),
    "column array": lambda: DF[["illness"]].to_numpy(dtype=object),
}


@pytest.mark.parametrize("kind", APART)
@pytest.mark.parametrize("estimator", ALL)
def test_sensitive_features_may_come_apart_in_any_kind(estimator, kind):
    public = DF[X]
    fitted = estimator(1.5).fit(public, sensitive_features=APART[kind]())
    inside = estimator(1.5, sensitive="illness", public=X).fit(DF)
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
        Watchdog(1.0, sensitive="illness", public=X).fit(DF, sensitive_features=DF["rich"])


@pytest.mark.parametrize("estimator", MERGING)
def test_no_sensitive_column_at_all_is_refused(estimator):
    with pytest.raises(ValueError, match="y is never taken as sensitive"):
        estimator(1.0, public=X).fit(DF, DF["illness"])


def test_sensitive_features_of_another_length_are_refused():
    with pytest.raises(ValueError, match="has 3 rows, X has 400"):
        Watchdog(1.0).fit(DF[X], sensitive_features=["a", "b", "a"])


def test_a_sensitive_feature_that_is_also_in_x_is_refused():
    with pytest.raises(ValueError, match="'illness' is in X and in sensitive_features"):
        Watchdog(1.0).fit(DF[[*X, "illness"]], sensitive_features=DF["illness"])


@pytest.mark.parametrize("estimator", ALL)
def test_y_is_never_the_sensitive_column(estimator):
    rng = np.random.default_rng(5)
    fitted = [
        estimator(1.2, sensitive="illness", public=X).fit(DF, y)
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
    fitted = estimator(1.5, sensitive=S, public=X, random_state=3).fit(DF)
    whole = fitted.transform(DF)
    for narrower in (DF[X], DF[[*X, "age"]], DF[["job", "town"]]):
        pd.testing.assert_frame_equal(fitted.transform(narrower), whole)


def test_transform_refuses_missing_columns_in_the_words_of_scikit_learn():
    fitted = Watchdog(1.5, sensitive=S, public=X).fit(DF)
    with pytest.raises(ValueError, match=r"(?s)feature names.*seen at fit time.*- town"):
        fitted.transform(DF.drop(columns="town"))
    array = DF.to_numpy(dtype=object)
    fitted = Watchdog(1.5, sensitive=[3, 4], public=[0, 1]).fit(array)
    with pytest.raises(ValueError, match="X has 2 features, but Watchdog is expecting 5 features"):
        fitted.transform(array[:, :2])


def test_an_unfitted_estimator_says_so():
    for call in (lambda e: e.transform(DF), lambda e: e.get_feature_names_out(), lambda e: e.measure(DF)):
        with pytest.raises(NotFittedError):
            call(Watchdog(1.0, sensitive="illness"))


def test_the_input_is_not_modified():
    df = DF.copy(deep=True)
    SubsetMerging(LIP, sensitive=S, public=[*X, "age"], bins={"age": 4}).fit_transform(df)
    pd.testing.assert_frame_equal(df, DF)
    assert df.attrs == {}


def test_the_law_of_the_table_is_not_a_public_attribute():
    fitted = Watchdog(1.5, sensitive=S, public=X).fit(DF)
    public = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert public == {"channel_", "report_", "n_features_in_", "feature_names_in_"}


# ----------------------------------------------------------------------------- the scikit-learn protocol


@pytest.mark.parametrize(
    ("name", "value"),
    [("bins", "age"), ("bins", [1, 2]), ("bins", {"x": ["SECRET", "b"]}), ("smoothing", "1"), ("smoothing", None),
     ("random_state", "0"), ("random_state", 1.5)],
)  # fmt: skip
def test_settings_of_another_type_are_refused_at_fit(name, value):
    df = pd.DataFrame({"x": [1.0, 2.0, 3.0] * 9, "s": ["a", "b", "b"] * 9})
    with pytest.raises(InvalidParameter, match=name) as caught:
        SubsetMerging(1.0, sensitive="s", public="x", **{name: value}).fit(df)
    assert "SECRET" not in str(caught.value)


def test_settings_changed_after_fit_cannot_make_a_report_untrue():
    df = pd.DataFrame({"x": ["a", "b", "c"] * 9, "s": ["p", "q", "q"] * 9})
    sanitizer = SubsetMerging(1.0, sensitive="s", public="x").fit(df)
    sanitizer.set_params(keep_sensitive=True, random_state=0)
    released = sanitizer.transform(df)
    assert list(released.columns) == list(sanitizer.get_feature_names_out()) == ["x"]
    report = sz.last_report(released)
    assert report.ok
    assert report.facts.seeded
    assert any("seeded" in note for note in report.facts.warnings)


@pytest.mark.parametrize("estimator", ALL)
def test_a_clone_has_the_same_parameters_and_is_not_fitted(estimator):
    original = estimator(1.3, sensitive=S, public=X, min_count=2, random_state=4).fit(DF)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert not hasattr(copy, "channel_")
    assert copy.fit(DF).channel_ == original.channel_


@pytest.mark.parametrize("estimator", ALL)
def test_a_pickled_estimator_releases_the_same_rows_for_a_seed(estimator):
    fitted = estimator(1.3, sensitive=S, public=[*X, "age"], bins={"age": [18, 40, 90]}, random_state=8).fit(DF)
    copy = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(copy.transform(DF), fitted.transform(DF))
    assert copy.channel_ == fitted.channel_
    assert copy.report_.summary == fitted.report_.summary


@pytest.mark.parametrize("estimator", ALL)
def test_fit_transform_equals_fit_then_transform_for_a_seed(estimator):
    sanitizer = estimator(1.3, sensitive=S, public=X, random_state=8)
    pd.testing.assert_frame_equal(sanitizer.fit_transform(DF), clone(sanitizer).fit(DF).transform(DF))


def test_a_pipeline_releases_before_its_model_learns():
    df = DF.assign(target=(DF["job"] == "law").astype(int))
    sanitizer = SubsetMerging(LIP, sensitive=S, public=X, random_state=0)
    model = make_pipeline(sanitizer, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(df.drop(columns="target"), df["target"])
    assert 0.5 < model.score(df.drop(columns="target"), df["target"]) <= 1
    assert model[:-1].get_feature_names_out().size >= 2
    direct = clone(sanitizer).fit(df.drop(columns="target"))
    assert model[0].channel_ == direct.channel_


def test_a_pipeline_passes_public_columns_only_to_the_next_step():
    seen = []

    class Spy(OneHotEncoder):
        def fit(self, X, y=None):
            seen.append(list(X.columns))
            return super().fit(X, y)

    Pipeline([("sanitize", Watchdog(LIP, sensitive=S, public=X)), ("encode", Spy())]).fit(DF)
    assert seen == [X]


def test_a_column_transformer_keeps_the_sanitized_part_and_names_it():
    parts = ColumnTransformer(
        [
            ("private", SubsetMerging(LIP, sensitive=S, public=X, random_state=2), [*X, *S]),
            ("age", "passthrough", ["age"]),
        ]
    ).set_output(transform="pandas")
    released = parts.fit_transform(DF)
    assert list(released.columns) == ["private__town", "private__job", "age__age"]
    assert list(parts.get_feature_names_out()) == list(released.columns)
    alone = SubsetMerging(LIP, sensitive=S, public=X, random_state=2).fit_transform(DF[[*X, *S]])
    np.testing.assert_array_equal(released["private__town"], alone["town"])


@pytest.mark.parametrize("estimator", MERGING)
def test_a_grid_search_over_budgets_prefers_little_leakage_or_much_utility(estimator):
    grid = {"budget": [sz.LiftBudget(lower=math.inf, upper=upper) for upper in (0.3, 0.8, 3.0)]}
    sanitizer = estimator(sensitive="illness", public="town")
    tight = GridSearchCV(sanitizer, grid, scoring=leakage_scorer("mutual_information"), cv=3).fit(DF)
    loose = GridSearchCV(sanitizer, grid, scoring=utility_scorer(), cv=3).fit(DF)
    assert tight.best_params_["budget"].upper == 0.3
    assert loose.best_params_["budget"].upper == 3.0
    assert np.isfinite(loose.cv_results_["mean_test_score"]).all()


def test_the_scorers_measure_the_rows_they_are_shown():
    fitted = SubsetMerging(LIP, sensitive=S, public=X).fit(DF)
    summary = fitted.report_.summary
    assert leakage_scorer("maximal_leakage")(fitted, DF) == pytest.approx(-summary["maximal_leakage"])
    assert leakage_scorer("min_log_lift")(fitted, DF) == pytest.approx(summary["min_log_lift"])
    assert utility_scorer("utility")(fitted, DF) == pytest.approx(summary["utility"])
    other = people(300, seed=9)
    assert leakage_scorer("mutual_information")(fitted, other) != -summary["mutual_information"]


def test_the_scorers_name_the_measures_there_are():
    fitted = SubsetMerging(LIP, sensitive=S, public=X).fit(DF)
    with pytest.raises(InvalidParameter, match="maximal_leakage"):
        leakage_scorer("leakiness")(fitted, DF)
    with pytest.raises(InvalidParameter, match="normalized_utility"):
        utility_scorer("mutual_information")


@pytest.mark.parametrize("estimator", ALL)
def test_set_output_makes_pandas_and_polars_of_anything(estimator):
    def sanitizer():
        return estimator(1.5, sensitive=S, public=X, random_state=6)

    plain = sanitizer().fit_transform(DF)
    polars = sanitizer().set_output(transform="polars").fit_transform(DF)
    assert isinstance(polars, pl.DataFrame)
    assert polars.rows() == list(plain.itertuples(index=False, name=None))
    back = sanitizer().set_output(transform="pandas").fit_transform(pl.from_pandas(DF))
    assert isinstance(back, pd.DataFrame)
    assert list(back.itertuples(index=False, name=None)) == polars.rows()
    array = estimator(1.5, sensitive=[3, 4], public=[0, 1], random_state=6).set_output(transform="pandas")
    named = array.fit_transform(DF.to_numpy(dtype=object))
    assert list(named.columns) == list(array.get_feature_names_out()) == ["x0", "x1"]


def test_an_array_gives_an_array():
    released = Watchdog(1.5, sensitive=[3, 4], public=[0, 1], random_state=6).fit_transform(DF.to_numpy(dtype=object))
    assert isinstance(released, np.ndarray)
    assert released.shape == (len(DF), 2)
    assert set(released[:, 0]) <= set(DF["town"])


@pytest.mark.parametrize("estimator", ALL)
def test_feature_names_out_are_the_columns_of_the_output(estimator):
    for release in ("resample", "label"):
        fitted = estimator(1.5, sensitive=S, public=X, release=release).fit(DF)
        assert list(fitted.get_feature_names_out()) == list(fitted.transform(DF).columns)
    assert fitted.get_feature_names_out().dtype == object


@pytest.mark.parametrize("estimator", ALL)
def test_a_sample_weight_equals_repetition(estimator):
    weights = np.random.default_rng(1).integers(0, 4, len(DF))
    sanitizer = estimator(1.4, sensitive=S, public=[*X, "age"], bins={"age": 3})
    weighted = clone(sanitizer).fit(DF, sample_weight=weights)
    repeated = clone(sanitizer).fit(DF.loc[DF.index.repeat(weights)].reset_index(drop=True))
    assert weighted.channel_.inputs == repeated.channel_.inputs
    np.testing.assert_allclose(weighted.channel_.matrix, repeated.channel_.matrix, atol=1e-12)
    assert weighted.report_.summary["mutual_information"] == pytest.approx(
        repeated.report_.summary["mutual_information"], abs=1e-12
    )
    assert weighted.report_.ok


@pytest.mark.parametrize("weights", [[1.0], -np.ones(len(DF)), np.full(len(DF), np.nan), np.zeros(len(DF))])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError):
        Watchdog(1.4, sensitive=S, public=X).fit(DF, sample_weight=weights)


def test_metadata_routing_brings_sensitive_features_to_the_step_that_asked():
    public, target = DF[X], (DF["job"] == "law").astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        sanitizer = SubsetMerging(LIP, random_state=1).set_fit_request(sensitive_features=True, sample_weight=False)
        encoder = OneHotEncoder(handle_unknown="ignore")
        model = make_pipeline(sanitizer, encoder, LogisticRegression())
        model.fit(public, target, sensitive_features=DF["illness"])
    direct = SubsetMerging(LIP).fit(public, sensitive_features=DF["illness"])
    assert model[0].channel_ == direct.channel_


def test_metadata_routing_reaches_a_grid_search():
    with sklearn.config_context(enable_metadata_routing=True):
        sanitizer = SubsetMerging().set_fit_request(sensitive_features=True)
        search = GridSearchCV(sanitizer, {"budget": [LIP, 3.0]}, scoring=lambda e, X, y=None: e.report_.ok, cv=2)
        search.fit(DF[X], sensitive_features=DF["illness"])
    assert search.best_score_ == 1


# ---------------------------------------------------------------------------------------------- bins


def test_declared_bins_draw_integers_inside_the_bin_of_the_released_interval():
    edges = [18, 30, 50, 90]
    sanitizer = SubsetMerging(LIP, sensitive=S, public="age", bins={"age": edges}, random_state=0).fit(DF)
    released = sanitizer.transform(DF)["age"]
    assert released.dtype == DF["age"].dtype
    assert released.between(18, 90).all()
    labels = clone(sanitizer).set_params(release="label").fit(DF)
    assert labels.channel_.inputs.symbols == ("[18, 30)", "[30, 50)", "[50, 90]")


def test_with_a_loose_budget_every_draw_stays_in_its_own_bin_and_does_not_depend_on_the_raw_value():
    edges = np.array([18, 30, 50, 90])
    sanitizer = SubsetMerging(50.0, sensitive="rich", public="age", bins={"age": edges.tolist()}, random_state=0)
    released = sanitizer.fit_transform(DF)["age"]
    np.testing.assert_array_equal(np.digitize(released, edges[1:-1]), np.digitize(DF["age"], edges[1:-1]))
    other = DF.assign(age=edges[np.digitize(DF["age"], edges[1:-1])])  # every age moved to the bottom of its bin
    np.testing.assert_array_equal(sanitizer.fit_transform(other)["age"], released)


def test_floats_are_drawn_uniformly_inside_their_bin():
    df = pd.DataFrame({"s": [0, 1] * 3000, "x": np.tile([0.25, 0.25, 2.5, 2.5], 1500)})
    sanitizer = SubsetMerging(50.0, sensitive="s", public="x", bins={"x": [0.0, 1.0, 3.0]}, random_state=0)
    released = sanitizer.fit_transform(df)["x"].to_numpy()
    low, high = released[df["x"] < 1], released[df["x"] > 1]
    assert 0 <= low.min() < low.max() < 1 <= high.min() < high.max() <= 3
    # 3000 uniform draws: the mean is within 5 standard errors (fixed seed, so this never flickers).
    assert abs(low.mean() - 0.5) < 5 / np.sqrt(12 * 3000)
    assert abs(high.mean() - 2.0) < 5 * 2 / np.sqrt(12 * 3000)


def test_integers_are_drawn_uniformly_among_all_of_their_bin():
    """Chi-square with false alarm 1e-6, seed fixed; the last bin is closed, so it holds its upper edge."""
    df = pd.DataFrame({"s": [0, 0, 1, 1] * 1500, "x": [1, 4] * 3000})
    sanitizer = SubsetMerging(50.0, sensitive="s", public="x", bins={"x": [0, 3, 6]}, random_state=0)
    released = sanitizer.fit_transform(df)["x"]
    for raw, inside in ((1, [0, 1, 2]), (4, [3, 4, 5, 6])):
        drawn = released[df["x"] == raw].value_counts()
        assert sorted(drawn.index) == inside
        assert chisquare(drawn).pvalue > 1e-6


def test_values_outside_declared_edges_are_clipped_and_counted_in_the_report():
    n = int((~DF["age"].between(30, 60)).sum())
    sanitizer = SubsetMerging(LIP, sensitive=S, public="age", bins={"age": [30, 40, 60]}, random_state=0).fit(DF)
    assert any(f"{n} rows of column 'age' lay outside" in note for note in sanitizer.report_.facts.warnings)
    assert sanitizer.transform(DF)["age"].between(30, 60).all()


def test_quantile_bins_hold_equal_shares_and_the_report_says_they_were_learned():
    sanitizer = SubsetMerging(LIP, sensitive=S, public="age", bins={"age": 4}, release="label").fit(DF)
    assert len(sanitizer.channel_.inputs) == 4
    assert any("learned from the data" in note for note in sanitizer.report_.facts.warnings)
    shares = sanitizer._joint.p_x
    assert shares.min() > 0.15
    assert shares.max() < 0.35


def test_one_number_of_bins_serves_all_numeric_columns():
    df = DF[["town", "age"]].assign(income=DF["age"] * 1000.5, rich=DF["rich"])
    sanitizer = Watchdog(2.0, sensitive="rich", public=["town", "age", "income"], bins=3, random_state=0).fit(df)
    kinds = sanitizer._release.layout.bins
    assert set(kinds) == {"age", "income"}
    released = sanitizer.transform(df)
    assert released.dtypes.tolist() == df[["town", "age", "income"]].dtypes.tolist()


def test_bins_by_position_and_missing_numbers_stay_missing():
    df = pd.DataFrame({"x": [1.0, 2.0, np.nan, 9.0] * 20, "s": ["a"] * 40 + ["b"] * 40})
    released = SubsetMerging(9.0, sensitive="s", public="x", bins={0: [0, 5, 10]}, random_state=0).fit_transform(df)
    np.testing.assert_array_equal(released["x"].isna(), df["x"].isna())


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ({"age": [5]}, "two or more finite numbers in ascending order"),
        ({"age": [5, 5]}, "ascending order"),
        ({"age": [0, math.inf]}, "finite"),
        ({"age": 0}, "bins"),
        ({"town": 3}, "not numeric"),
        ({"agee": 3}, "did you mean 'age'"),
        ({"job": [1, 2]}, "neither sensitive nor public|not numeric"),
    ],
)
def test_impossible_bins_are_refused(bins, message):
    with pytest.raises(ValueError, match=message):
        SubsetMerging(LIP, sensitive=S, public=["town", "age"], bins=bins).fit(DF)


def test_a_sensitive_number_may_be_binned_too():
    fitted = Watchdog(LIP, sensitive="age", public=X, bins={"age": [18, 40, 90]}).fit(DF)
    assert fitted._joint.sensitive.symbols == ("[18, 40)", "[40, 90]")


# ------------------------------------------------------------------------------- labels and resampling


@pytest.mark.parametrize("estimator", MERGING)
def test_labels_name_groups_and_resampling_prints_symbols_with_the_raw_margin(estimator):
    settings = {"sensitive": "illness", "public": "town"}
    budget = sz.LiftBudget(lower=math.inf, upper=0.15)
    label = estimator(budget, release="label", **settings).fit(DF)
    shown = label.transform(DF)
    assert set(shown.iloc[:, 0]) <= set(label.channel_.outputs.symbols)
    assert len(label.channel_.outputs) < 6
    drawn = estimator(budget, **settings).fit(DF)
    assert drawn.channel_.outputs == drawn.channel_.inputs
    # P(x|y) after P(y|x) keeps the margin of X.
    np.testing.assert_allclose(drawn._joint.p_x @ drawn.channel_.matrix, drawn._joint.p_x, atol=1e-12)
    # Data processing: printing never leaks more.
    assert drawn.report_.summary["mutual_information"] <= label.report_.summary["mutual_information"] + 1e-12


@pytest.mark.parametrize("estimator", ALL)
def test_an_unknown_word_for_release_is_refused(estimator):
    with pytest.raises(InvalidParameter, match="release must be 'resample' or 'label'"):
        estimator(1.0, sensitive=S, public=X, release="fax").fit(DF)


# -------------------------------------------------------------------------------- unseen and missing


def with_unseen() -> pd.DataFrame:
    df = DF.copy()
    df.loc[[3, 7, 11], "town"] = "Z"
    return df


@pytest.mark.parametrize("estimator", ALL)
def test_unseen_symbols_are_released_like_the_riskiest_one_counted_and_warned_of_once(estimator):
    fitted = estimator(1.5, sensitive=S, public=X, random_state=0).fit(DF)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        released = fitted.transform(with_unseen())
    assert [w.category for w in caught] == [UnseenSymbolWarning]
    assert "3 of 400 rows" in str(caught[0].message)
    assert "Z" not in str(caught[0].message)
    assert "Z" not in set(released["town"])
    assert sz.last_report(released).facts.n_unseen == 3
    assert sz.last_report(fitted.transform(DF)).facts.n_unseen == 0


@pytest.mark.parametrize("estimator", MERGING)
def test_unseen_symbols_follow_the_row_of_the_riskiest_symbol(estimator):
    fitted = estimator(sz.LDPBudget(0.5), sensitive=S, public=X, release="label").fit(DF)
    counts = pd.crosstab([DF["illness"], DF["rich"]], [DF["town"], DF["job"]]).to_numpy() / len(DF)
    lifts = counts / counts.sum(axis=1, keepdims=True) / counts.sum(axis=0)
    with np.errstate(divide="ignore"):
        risk = np.log(lifts.max(axis=0)) - np.log(lifts.min(axis=0))
    assert risk[fitted._release.design.fallback] == risk.max()


def test_an_unseen_symbol_is_released_in_the_group_of_the_riskiest_one():
    df = pd.DataFrame(
        {
            "x": ["a"] * 40 + ["b"] * 40 + ["c"] * 20 + ["d"] * 20,
            "s": [0, 1] * 20 + [0, 1] * 20 + [0] * 19 + [1] + [1] * 18 + [0] * 2,
        }
    )
    fitted = SubsetMerging(0.3, sensitive="s", public="x", release="label").fit(df)
    shown = fitted.transform(pd.DataFrame({"x": ["a", "b", "c", "d"]})).iloc[:, 0].tolist()
    assert shown[2] == shown[3]
    assert len(set(shown)) == 3, "only the risky symbols are merged"
    with pytest.warns(UnseenSymbolWarning, match="1 of 1 rows"):
        unseen = fitted.transform(pd.DataFrame({"x": ["z"]})).iloc[0, 0]
    assert unseen == shown[2]


def test_unseen_symbols_are_an_error_when_asked():
    fitted = SubsetMerging(LIP, sensitive=S, public=X, handle_unknown="error").fit(DF)
    with pytest.raises(UnknownSymbol, match=r"3 row\(s\) hold a value of 'town', 'job'") as caught:
        fitted.transform(with_unseen())
    assert caught.value.n_rows == 3
    assert "Z" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"handle_unknown": "ignore"}, "handle_unknown must be 'high_risk' or 'error'"),
        ({"missing": "drop"}, "missing must be 'category' or 'error'"),
        ({"min_count": -1}, "min_count"),
        ({"min_count": 2.5}, "min_count"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"smoothing": math.inf}, "smoothing"),
    ],
)
@pytest.mark.parametrize("estimator", ALL)
def test_parameters_outside_their_legal_set_are_refused_at_fit(estimator, settings, message):
    with pytest.raises(InvalidParameter, match=message):
        estimator(1.0, sensitive=S, public=X, **settings).fit(DF)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_all_kinds_of_missing_are_one_symbol(nothing):
    df = DF.astype({"town": object}).copy()
    df.loc[::7, "town"] = nothing
    fitted = SubsetMerging(50.0, sensitive="rich", public="town", random_state=0).fit(df)
    assert fitted.channel_.inputs.symbols[-1] is None
    assert len(fitted.channel_.inputs) == 7
    np.testing.assert_array_equal(fitted.transform(df)["town"].isna(), df["town"].isna())


def test_missing_values_are_an_error_when_asked():
    df = DF.copy()
    df.loc[5, "town"] = None
    with pytest.raises(ColumnError, match="column 'town' has missing values"):
        Watchdog(LIP, sensitive=S, public=X, missing="error").fit(df)
    fitted = Watchdog(LIP, sensitive=S, public=X, missing="error").fit(DF)
    with pytest.raises(ColumnError, match="column 'town' has missing values"):
        fitted.transform(df)
    Watchdog(LIP, sensitive="town", public="job", missing="error").fit(df)  # only what is released counts


# --------------------------------------------------------------------- min_count, smoothing, kept columns


@pytest.mark.parametrize("estimator", ALL)
def test_min_count_pools_rare_symbols_before_the_design(estimator):
    df = pd.DataFrame({"x": ["a"] * 60 + ["b"] * 30 + ["c"] * 2 + ["d"] * 3, "s": [0, 1, 1] * 31 + [0, 1]})
    fitted = estimator(9.0, sensitive="s", public="x", min_count=10, release="label").fit(df)
    matrix = fitted.channel_.matrix
    np.testing.assert_allclose(matrix[2], matrix[3])  # c and d cannot be told apart
    groups = {tuple(np.round(row, 12)) for row in matrix}
    released = pd.Series(df["x"].map(dict(zip("abcd", map(tuple, np.round(matrix, 12)), strict=True)))).value_counts()
    assert len(groups) == 2  # c and d together have five rows, so b joins them
    assert released.min() >= 10
    assert fitted.report_.ok


def test_min_count_prints_public_symbols_when_resampling():
    df = pd.DataFrame({"x": ["a"] * 60 + ["b"] * 30 + ["c"] * 2 + ["d"] * 9, "s": [0, 1, 1] * 33 + [0, 1]})
    for estimator in ALL:
        fitted = estimator(9.0, sensitive="s", public="x", min_count=10, random_state=0).fit(df)
        assert set(fitted.transform(df)["x"]) <= set("abcd")
        np.testing.assert_allclose(fitted.channel_.matrix[2], fitted.channel_.matrix[3])


@pytest.mark.parametrize("estimator", ALL)
def test_smoothing_is_called_a_prior_in_the_report_and_judged_on_the_raw_counts_too(estimator):
    fitted = estimator(1.0, sensitive=S, public=X, smoothing=2.0).fit(DF)
    (note,) = [note for note in fitted.report_.facts.warnings if "smoothing adds 2 to every cell" in note]
    assert "a prior and not data" in note
    p_sy, p_s = released_law(fitted, DF, S, X)
    over = violation(fitted.report_.budget, p_sy, p_s)
    assert ("also within the budget" in note) == (over <= 1e-9)


def test_smoothing_lets_a_finite_lower_bound_pass_over_empty_cells():
    df = pd.DataFrame({"x": ["a", "a", "b", "b"] * 10, "s": [0, 0, 0, 1] * 10})
    raw = SubsetMerging(sz.LiftBudget(lower=4.0, upper=4.0), sensitive="s", public="x", release="label").fit(df)
    assert len(raw.channel_.outputs) == 1
    smooth = clone(raw).set_params(smoothing=1.0).fit(df)
    assert len(smooth.channel_.outputs) == 2
    assert any("nats over the budget" in note for note in smooth.report_.facts.warnings)


@pytest.mark.parametrize("estimator", ALL)
def test_kept_sensitive_columns_are_warned_of_and_the_report_fails(estimator):
    fitted = estimator(1.5, sensitive=S, public=X, keep_sensitive=True, random_state=0).fit(DF)
    assert not fitted.report_.ok
    assert any("sensitive columns are kept" in note for note in fitted.report_.facts.warnings)
    with pytest.warns(ReleaseWarning, match="not for release"):
        released = fitted.transform(DF)
    assert list(released.columns) == [*X, *S] == list(fitted.get_feature_names_out())
    pd.testing.assert_frame_equal(released[S], DF[S])
    assert not sz.last_report(released).ok


# ---------------------------------------------------------------------------------------- randomness


@pytest.mark.parametrize("estimator", ALL)
def test_an_integer_seed_repeats_and_the_report_says_seeded(estimator):
    sanitizer = estimator(1.0, sensitive=S, public=X, random_state=11).fit(DF)
    first, second = sanitizer.transform(DF), sanitizer.transform(DF)
    pd.testing.assert_frame_equal(first, second)
    assert sanitizer.report_.facts.seeded
    assert any("seeded" in note for note in sanitizer.report_.facts.warnings)
    other = clone(sanitizer).set_params(random_state=12).fit(DF).transform(DF)
    assert not other.equals(first)


@pytest.mark.parametrize("estimator", ALL)
def test_without_a_seed_every_transform_draws_fresh_noise(estimator):
    sanitizer = estimator(0.5, sensitive=S, public=X).fit(DF)
    assert not sanitizer.report_.facts.seeded
    # 400 rows of a channel that merges: two equal outputs have a chance far below 2**-64.
    assert not sanitizer.transform(DF).equals(sanitizer.transform(DF))


@pytest.mark.parametrize("estimator", ALL)
def test_a_key_of_32_bytes_repeats_and_counts_as_secure(estimator):
    key = sz.NoiseKey(b"k" * 32)
    sanitizer = clone(estimator(1.0, sensitive=S, public=X, random_state=key)).fit(DF)
    pd.testing.assert_frame_equal(sanitizer.transform(DF), sanitizer.transform(DF))
    assert not sanitizer.report_.facts.seeded
    shown = [str(sanitizer.report_), sanitizer.report_.to_json(), repr(sanitizer), sanitizer._repr_html_()]
    assert "kkkk" not in "".join(shown)


def test_bare_bytes_are_no_parameter_because_parameters_are_printed():
    with pytest.raises(InvalidParameter, match="NoiseKey"):
        Watchdog(1.0, sensitive=S, public=X, random_state=b"k" * 32).fit(DF)


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("estimator", ALL)
def test_numpy_sources_are_taken_and_move_on(estimator, source):
    def sanitizer():
        return estimator(0.5, sensitive=S, public=X, random_state=source(3))

    fitted = sanitizer().fit(DF)
    first = fitted.transform(DF)
    pd.testing.assert_frame_equal(first, sanitizer().fit(DF).transform(DF))
    assert not fitted.transform(DF).equals(first)
    assert fitted.report_.facts.seeded


@pytest.mark.parametrize("source", ["seed", 1.5, b"short", [1, 2]])
def test_other_sources_of_randomness_are_refused(source):
    with pytest.raises(InvalidParameter, match=r"random_state|32 bytes"):
        Watchdog(1.0, sensitive=S, public=X, random_state=source).fit(DF).transform(DF)


def test_the_order_of_rows_is_kept_and_the_draws_follow_the_channel():
    """Each input symbol's released counts against its row of the matrix; false alarm 1e-6 a row, fixed seed."""
    df = people(6000, seed=4)
    fitted = RandomizedResponse(1.0, sensitive="illness", public="town", random_state=5).fit(df)
    released = fitted.transform(df)["town"]
    for code, symbol in enumerate(fitted.channel_.inputs.symbols):
        drawn = released[df["town"] == symbol].value_counts().reindex(fitted.channel_.outputs.symbols, fill_value=0)
        assert chisquare(drawn, drawn.sum() * fitted.channel_.matrix[code]).pvalue > 1e-6


# --------------------------------------------------------------------------------- unsuitable columns


@pytest.mark.parametrize("estimator", ALL)
def test_a_column_of_mostly_distinct_values_is_refused_with_advice(estimator):
    df = DF.assign(id=np.arange(len(DF)))
    with pytest.raises(ColumnError, match=r"different value in most rows.*bins=") as caught:
        estimator(1.0, sensitive="illness", public=["town", "id"]).fit(df)
    assert caught.value.column == "id"
    with pytest.raises(ColumnError, match="sensitive column 'id'"):
        estimator(1.0, sensitive="id", public="town").fit(df)
    estimator(1.0, sensitive="illness", public=["town", "id"], bins={"id": 4}).fit(df)


def test_the_report_of_a_fit_is_the_report_of_its_release():
    fitted = SubsetMerging(LIP, sensitive=S, public=X, random_state=0).fit(DF)
    report = sz.last_report(fitted.transform(DF))
    assert report.summary == fitted.report_.summary
    assert report.n_rows == len(DF)


def test_held_out_rows_are_measured_with_the_fitted_channel():
    fitted = SubsetMerging(LIP, sensitive=S, public=X).fit(DF)
    other = people(900, seed=2)
    assert set(zip(other["town"], other["job"], strict=True)) == set(zip(DF["town"], DF["job"], strict=True))
    report = fitted.measure(other)
    p_sy, p_s = released_law(fitted, other, S, X)
    lifts = p_sy / p_s[:, None] / p_sy.sum(axis=0)
    assert report.summary["max_log_lift"] == pytest.approx(np.log(lifts.max()), abs=1e-9)
    assert report.summary["max_log_lift"] != fitted.report_.summary["max_log_lift"]
