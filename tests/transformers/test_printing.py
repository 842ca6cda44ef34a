"""What estimators print: bins, labels, symbols not seen at fit, missing values, and the randomness."""

from __future__ import annotations

import contextlib
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sanitizer_cases import ALL, DF, LIP, MERGING, S, X, people, released_distribution, violation
from scipy.stats import chisquare
from sklearn.base import clone

import sanitize as sz
from sanitize.core.binning import LearnedEdges
from sanitize.core.budgets import LiftBudget
from sanitize.errors import (
    ColumnError,
    InvalidParameter,
    ReleaseWarning,
    UnknownSymbol,
    UnseenSymbolWarning,
)
from sanitize.transformers import RandomizedResponse, SubsetMerging, Watchdog
from tests.support.levels import level

# ---------------------------------------------------------------------------------------------- bins


def test_declared_bins_draw_integers_inside_the_bin_of_the_released_interval():
    edges = [18, 30, 50, 90]
    sanitizer = SubsetMerging(LIP, sensitive=S, public="age", bins={"age": edges}, random_state=0).fit(DF)
    released = sanitizer.transform(DF)["age"]
    assert released.dtype == DF["age"].dtype
    assert released.between(18, 90).all()
    assert sanitizer.channel_.inputs.symbols == ("[18, 30)", "[30, 50)", "[50, 90]")


def test_with_a_loose_budget_every_draw_stays_in_its_own_bin_and_does_not_depend_on_the_raw_value():
    edges = np.array([18, 30, 50, 90])
    sanitizer = SubsetMerging(
        LiftBudget.symmetric(50.0), sensitive="rich", public="age", bins={"age": edges.tolist()}, random_state=0
    )
    released = sanitizer.fit_transform(DF)["age"]
    np.testing.assert_array_equal(np.digitize(released, edges[1:-1]), np.digitize(DF["age"], edges[1:-1]))
    other = DF.assign(age=edges[np.digitize(DF["age"], edges[1:-1])])  # every age moved to the bottom of its bin
    np.testing.assert_array_equal(sanitizer.fit_transform(other)["age"], released)


def test_floats_are_drawn_uniformly_inside_their_bin():
    df = pd.DataFrame({"s": [0, 1] * 3000, "x": np.tile([0.25, 0.25, 2.5, 2.5], 1500)})
    sanitizer = SubsetMerging(
        LiftBudget.symmetric(50.0), sensitive="s", public="x", bins={"x": [0.0, 1.0, 3.0]}, random_state=0
    )
    released = sanitizer.fit_transform(df)["x"].to_numpy()
    low, high = released[df["x"] < 1], released[df["x"] > 1]
    assert 0 <= low.min() < low.max() < 1 <= high.min() < high.max() <= 3
    # 3000 uniform draws: the mean is within 5 standard errors (fixed seed, so this never flickers).
    assert abs(low.mean() - 0.5) < 5 / np.sqrt(12 * 3000)
    assert abs(high.mean() - 2.0) < 5 * 2 / np.sqrt(12 * 3000)


def test_integers_are_drawn_uniformly_among_all_of_their_bin():
    """Chi-square with false alarm 1e-6, seed fixed; the last bin is closed, so it holds its upper edge."""
    df = pd.DataFrame({"s": [0, 0, 1, 1] * 1500, "x": [1, 4] * 3000})
    sanitizer = SubsetMerging(
        LiftBudget.symmetric(50.0), sensitive="s", public="x", bins={"x": [0, 3, 6]}, random_state=0
    )
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


def test_the_report_says_that_edges_were_learned():
    bins = {"age": LearnedEdges([18, 40, 60, 90])}
    sanitizer = SubsetMerging(LIP, sensitive=S, public="age", bins=bins).fit(DF)
    assert any("learned from the data" in note for note in sanitizer.report_.facts.warnings)


def test_one_list_of_edges_serves_all_numeric_columns():
    df = DF[["town", "age"]].assign(income=DF["age"] * 10.5, rich=DF["rich"])
    edges = [0, 40, 80, 1000]
    sanitizer = Watchdog(
        LiftBudget.symmetric(2.0), sensitive="rich", public=["town", "age", "income"], bins=edges, random_state=0
    ).fit(df)
    kinds = sanitizer._release.layout.bins
    assert set(kinds) == {"age", "income"}
    released = sanitizer.transform(df)
    assert released.dtypes.tolist() == df[["town", "age", "income"]].dtypes.tolist()


@pytest.mark.parametrize("bins", [6, {"age": 6}, {"born": 6}, {"rich": 6}])
def test_a_number_of_bins_is_refused_because_its_edges_would_be_values_of_people(bins):
    df = DF.assign(born=pd.to_datetime("1950-01-01") + pd.to_timedelta(DF["age"], "D"))
    with pytest.raises(InvalidParameter, match=r"must be edges.*values of single people.*init"):
        SubsetMerging(LIP, sensitive="rich", public=["town", "age", "born"], bins=bins).fit(df)


def test_bins_by_position_and_missing_numbers_stay_missing():
    df = pd.DataFrame({"x": [1.0, 2.0, np.nan, 9.0] * 20, "s": ["a"] * 40 + ["b"] * 40})
    released = SubsetMerging(
        LiftBudget.symmetric(9.0), sensitive="s", public="x", bins={0: [0, 5, 10]}, random_state=0
    ).fit_transform(df)
    np.testing.assert_array_equal(released["x"].isna(), df["x"].isna())


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ({"age": []}, "finite numbers in ascending order"),
        ({"age": [5, 5]}, "ascending order"),
        ({"age": [0, math.inf]}, "finite"),
        ({"town": [1, 2]}, "not numeric"),
        ({"agee": [1, 2]}, "did you mean 'age'"),
        ({"job": [1, 2]}, "neither sensitive nor public|not numeric"),
    ],
)
def test_impossible_bins_are_refused(bins, message):
    with pytest.raises(ValueError, match=message):
        SubsetMerging(LIP, sensitive=S, public=["town", "age"], bins=bins).fit(DF)


def test_a_sensitive_number_may_be_binned_too():
    fitted = Watchdog(LIP, sensitive="age", public=X, bins={"age": [18, 40, 90]}).fit(DF)
    assert fitted._joint.sensitive.symbols == ("[18, 40)", "[40, 90]")


# -------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize("estimator", MERGING)
def test_a_group_is_printed_as_one_of_its_symbols_with_the_raw_margin(estimator):
    fitted = estimator(sz.LiftBudget(lower=math.inf, upper=0.15), sensitive="illness", public="town").fit(DF)
    merged = sz.Channel(fitted.channel_.stages[:1], fitted.channel_.inputs)
    assert merged.n_outputs < 6
    assert fitted.channel_.outputs == fitted.channel_.inputs
    # P(x|y) after P(y|x) keeps the margin of X, and what is known of X.
    np.testing.assert_allclose(fitted._joint.p_x @ fitted.channel_.matrix, fitted._joint.p_x, atol=1e-12)
    kept = sz.normalized_utility(fitted._joint, merged)
    assert fitted.report_.summary["normalized_utility"] == pytest.approx(kept, abs=1e-12)


@pytest.mark.parametrize("estimator", ALL)
def test_no_estimator_names_the_groups_that_the_exact_counts_made(estimator):
    """One row may move a symbol from one group to another, so a group is never released by its name."""
    with pytest.raises(TypeError, match="output"):
        estimator(level(estimator, 1.0), sensitive=S, public=X, output="label")
    fitted = estimator(level(estimator, 1.0), sensitive=S, public=X, random_state=0).fit(DF)
    assert fitted.channel_.outputs == fitted.channel_.inputs


# -------------------------------------------------------------------------------- unseen and missing


def with_unseen() -> pd.DataFrame:
    df = DF.copy()
    df.loc[[3, 7, 11], "town"] = "Z"
    return df


@pytest.mark.parametrize("estimator", ALL)
def test_unseen_symbols_are_released_like_the_riskiest_one_counted_and_warned_of_once(estimator):
    fitted = estimator(level(estimator, 1.5), sensitive=S, public=X, random_state=0).fit(DF)
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
    fitted = estimator(sz.LDPBudget(0.5), sensitive=S, public=X).fit(DF)
    counts = pd.crosstab([DF["illness"], DF["rich"]], [DF["town"], DF["job"]]).to_numpy() / len(DF)
    lifts = counts / counts.sum(axis=1, keepdims=True) / counts.sum(axis=0)
    with np.errstate(divide="ignore"):
        risk = np.log(lifts.max(axis=0)) - np.log(lifts.min(axis=0))
    assert risk[fitted._release.fallback] == risk.max()


def test_an_unseen_symbol_is_released_in_the_group_of_the_riskiest_one():
    df = pd.DataFrame(
        {
            "x": ["a"] * 40 + ["b"] * 40 + ["c"] * 20 + ["d"] * 20,
            "s": [0, 1] * 20 + [0, 1] * 20 + [0] * 19 + [1] + [1] * 18 + [0] * 2,
        }
    )
    fitted = SubsetMerging(LiftBudget.symmetric(0.3), sensitive="s", public="x").fit(df)
    group = fitted.channel_.stages[0].indices
    assert group[2] == group[3]
    assert len(set(group)) == 3, "only the risky symbols are merged"
    with pytest.warns(UnseenSymbolWarning, match="1 of 1 rows"):
        unseen = fitted.transform(pd.DataFrame({"x": ["z"]})).iloc[0, 0]
    assert unseen in ("c", "d")


def test_unseen_symbols_are_an_error_when_asked():
    fitted = SubsetMerging(LIP, sensitive=S, public=X, handle_unknown="error").fit(DF)
    with pytest.raises(UnknownSymbol, match=r"3 row\(s\) have a value of 'town', 'job'") as caught:
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
        estimator(level(estimator, 1.0), sensitive=S, public=X, **settings).fit(DF)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_all_kinds_of_missing_are_one_symbol(nothing):
    df = DF.astype({"town": object}).copy()
    df.loc[::7, "town"] = nothing
    fitted = SubsetMerging(LiftBudget.symmetric(50.0), sensitive="rich", public="town", random_state=0).fit(df)
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
    fitted = estimator(level(estimator, 9.0), sensitive="s", public="x", min_count=10).fit(df)
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
        fitted = estimator(level(estimator, 9.0), sensitive="s", public="x", min_count=10, random_state=0).fit(df)
        assert set(fitted.transform(df)["x"]) <= set("abcd")
        np.testing.assert_allclose(fitted.channel_.matrix[2], fitted.channel_.matrix[3])


@pytest.mark.parametrize("estimator", ALL)
def test_smoothing_is_called_a_prior_in_the_report_and_judged_on_the_raw_counts_too(estimator):
    fitted = estimator(level(estimator, 1.0), sensitive=S, public=X, smoothing=2.0).fit(DF)
    (note,) = [note for note in fitted.report_.facts.warnings if "smoothing adds 2 to every cell" in note]
    assert "a prior and not data" in note
    p_sy, p_s = released_distribution(fitted, DF, S, X)
    over = violation(fitted.report_.budget, p_sy, p_s)
    assert ("also within the budget" in note) == (over <= 1e-9)


def test_smoothing_lets_a_finite_lower_bound_pass_over_empty_cells():
    df = pd.DataFrame({"x": ["a", "a", "b", "b"] * 10, "s": [0, 0, 0, 1] * 10})
    raw = SubsetMerging(sz.LiftBudget(lower=4.0, upper=4.0), sensitive="s", public="x").fit(df)
    assert raw.channel_.stages[0].n_outputs == 1
    smooth = clone(raw).set_params(smoothing=1.0).fit(df)
    assert smooth.channel_.stages[0].n_outputs == 2
    assert any("nats over the budget" in note for note in smooth.report_.facts.warnings)


@pytest.mark.parametrize("estimator", ALL)
def test_kept_sensitive_columns_are_warned_of_and_the_report_fails(estimator):
    fitted = estimator(level(estimator, 1.5), sensitive=S, public=X, keep_sensitive=True, random_state=0).fit(DF)
    assert not fitted.report_.ok
    assert any("sensitive columns are kept" in note for note in fitted.report_.facts.warnings)
    with pytest.warns(ReleaseWarning, match="is not for release"):
        released = fitted.transform(DF)
    assert list(released.columns) == [*X, *S] == list(fitted.get_feature_names_out())
    pd.testing.assert_frame_equal(released[S], DF[S])
    assert not sz.last_report(released).ok


# ---------------------------------------------------------------------------------------- randomness


@pytest.mark.parametrize("estimator", ALL)
def test_an_integer_seed_repeats_and_the_report_says_seeded(estimator):
    sanitizer = estimator(level(estimator, 1.0), sensitive=S, public=X, random_state=11).fit(DF)
    first, second = sanitizer.transform(DF), sanitizer.transform(DF)
    pd.testing.assert_frame_equal(first, second)
    assert sanitizer.report_.facts.seeded
    assert any("seeded" in note for note in sanitizer.report_.facts.warnings)
    other = clone(sanitizer).set_params(random_state=12).fit(DF).transform(DF)
    assert not other.equals(first)


def warned_where_more_is_told(estimator):
    """A second release of the same rows tells no more where the channel only merges, and prints."""
    if estimator in MERGING:
        return contextlib.nullcontext()
    return pytest.warns(ReleaseWarning, match="has released these rows before")


@pytest.mark.parametrize("estimator", ALL)
def test_without_a_seed_every_transform_draws_fresh_noise(estimator):
    sanitizer = estimator(level(estimator, 0.5), sensitive=S, public=X).fit(DF)
    assert not sanitizer.report_.facts.seeded
    # 400 rows of a channel that merges: two equal outputs have a chance far below 2**-64.
    first = sanitizer.transform(DF)
    with warned_where_more_is_told(estimator):
        assert not sanitizer.transform(DF).equals(first)


@pytest.mark.parametrize("estimator", ALL)
def test_a_key_of_32_bytes_repeats_and_counts_as_secure(estimator):
    key = sz.NoiseKey(b"k" * 32)
    sanitizer = clone(estimator(level(estimator, 1.0), sensitive=S, public=X, random_state=key)).fit(DF)
    pd.testing.assert_frame_equal(sanitizer.transform(DF), sanitizer.transform(DF))
    assert not sanitizer.report_.facts.seeded
    shown = [str(sanitizer.report_), sanitizer.report_.to_json(), repr(sanitizer), sanitizer._repr_html_()]
    assert "kkkk" not in "".join(shown)


def test_bare_bytes_are_no_parameter_because_parameters_are_printed():
    with pytest.raises(InvalidParameter, match="NoiseKey"):
        Watchdog(LiftBudget.symmetric(1.0), sensitive=S, public=X, random_state=b"k" * 32).fit(DF)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ALL)
def test_a_random_state_is_taken_and_moves_on(estimator):
    def sanitizer():
        return estimator(level(estimator, 0.5), sensitive=S, public=X, random_state=np.random.RandomState(3))

    fitted = sanitizer().fit(DF)
    first = fitted.transform(DF)
    pd.testing.assert_frame_equal(first, sanitizer().fit(DF).transform(DF))
    with warned_where_more_is_told(estimator):
        assert not fitted.transform(DF).equals(first)
    assert fitted.report_.facts.seeded


@pytest.mark.parametrize("source", ["seed", 1.5, b"short", [1, 2], np.random.default_rng(0)])
def test_other_sources_of_randomness_are_refused(source):
    with pytest.raises(InvalidParameter, match=r"random_state|32 bytes"):
        Watchdog(LiftBudget.symmetric(1.0), sensitive=S, public=X, random_state=source).fit(DF).transform(DF)


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
    with pytest.raises(ColumnError, match=r"different value in most rows.*public column 'id'.*bins") as caught:
        estimator(level(estimator, 1.0), sensitive="illness", public=["town", "id"]).fit(df)
    assert caught.value.column == "id"
    with pytest.raises(ColumnError, match="sensitive column 'id'"):
        estimator(level(estimator, 1.0), sensitive="id", public="town").fit(df)
    estimator(level(estimator, 1.0), sensitive="illness", public=["town", "id"], bins={"id": [0, 50, 1e9]}).fit(df)


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
    p_sy, p_s = released_distribution(fitted, other, S, X)
    lifts = p_sy / p_s[:, None] / p_sy.sum(axis=0)
    assert report.summary["max_log_lift"] == pytest.approx(np.log(lifts.max()), abs=1e-9)
    assert report.summary["max_log_lift"] != fitted.report_.summary["max_log_lift"]
