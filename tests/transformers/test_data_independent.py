"""The exponential and the Gaussian channel as estimators: what is promised, what is measured, what is refused."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sanitize as sz
from sanitize.core.budgets import CapacityBudget
from sanitize.core.capacity import channel_capacity
from sanitize.core.channel import Channel
from sanitize.errors import BudgetExceeded, ColumnError, InvalidBudget, InvalidParameter
from sanitize.mechanisms import calibrate_randomized_response, randomized_response
from sanitize.report import LeakageReport
from sanitize.transformers import ExponentialChannel, GaussianChannel

SHIPPED = [
    ExponentialChannel(0.5, bins=[-1000, 0, 1000], min_count=0),
    GaussianChannel(1.0, bounds=(-3, 3), public=[0]),
]


class _WithoutTag:
    """The same estimator without the tag, so that reproducibility is checked too."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


class SeededExponentialChannel(_WithoutTag, ExponentialChannel):
    pass


class SeededGaussianChannel(_WithoutTag, GaussianChannel):
    pass


SEEDED = [
    SeededExponentialChannel(0.5, bins=[-1000, 0, 1000], min_count=0, random_state=0),
    SeededGaussianChannel(1.0, bounds=(-3, 3), public=[0], random_state=0),
]

# The noise of a row depends on its position, on purpose: a retried row must draw the same noise.
EXPECTED = {
    "check_methods_sample_order_invariance": "noise is a function of the row's position",
    "check_methods_subset_invariance": "noise is a function of the row's position",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(SHIPPED)
def test_estimators_pass_scikit_learns_checks_as_shipped(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(SEEDED, expected_failed_checks=lambda estimator: EXPECTED)
def test_seeded_estimators_pass_all_checks_but_two(estimator, check):
    check(estimator)


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(10, 100, n)
    return pd.DataFrame(
        {
            "ill": np.where(rng.random(n) < age / 120, "yes", "no"),
            "age": age,
            "hours": rng.normal(38, 12, n),
            "town": rng.choice(list("ABCDE"), n),
        }
    )


# ------------------------------------------------------------------------------------------ the budget


def test_the_verdict_is_about_the_channel_not_about_the_distribution_of_the_data():
    """S hardly depends on X, so I(S;Y) is tiny; the channel itself exceeds the budget and is refused."""
    joint = sz.JointDistribution.from_matrix([[0.26, 0.24], [0.24, 0.26]])
    channel = randomized_response(2, 3.0)
    report = LeakageReport.measure(joint, channel, CapacityBudget(0.4))
    assert report.summary["mutual_information"] < 1e-3
    assert report.summary["channel_capacity"] == pytest.approx(channel_capacity(channel).upper, abs=1e-9)
    assert not report.ok
    assert report.worst_excess == pytest.approx(channel_capacity(channel).upper - 0.4, abs=1e-9)
    with pytest.raises(BudgetExceeded):
        report.require()
    assert LeakageReport.measure(joint, channel, CapacityBudget(0.51)).ok


def test_a_capacity_report_has_a_line_for_the_channel_and_prints():
    joint = sz.JointDistribution.from_matrix([[0.3, 0.2], [0.1, 0.4]])
    report = LeakageReport.measure(
        joint, randomized_response(2, calibrate_randomized_response(2, 0.1)), CapacityBudget(0.1)
    )
    line = next(measure for measure in report.measures if measure.name == "channel_capacity")
    assert (line.kind, line.bound, line.before) == ("bound", 0.1, math.log(2))
    assert "capacity of the channel" in str(report)
    assert report.ok


def test_the_excess_of_symbols_is_a_sufficient_condition():
    """Where every symbol tells at most the budget, so does their mean."""
    joint = sz.JointDistribution.from_matrix([[0.30, 0.05, 0.15], [0.05, 0.30, 0.15]])
    budget = CapacityBudget(0.3)
    lifts = joint.pmf / joint.p_s[:, None] / joint.p_x
    by_hand = [sum(p * v * math.log(v) for p, v in zip(joint.p_s, column, strict=True)) for column in lifts.T]
    assert budget.lift_excess(lifts, joint.p_s) == pytest.approx(np.array(by_hand) - 0.3)
    assert budget.excess(joint) == pytest.approx(np.full(3, joint.p_x @ by_hand - 0.3))
    assert CapacityBudget(math.inf).excess(joint).max() == -math.inf


@pytest.mark.parametrize("nats", [-1, math.nan, "0.5", None, True])
def test_capacity_budgets_refuse_what_is_not_a_number_of_nats(nats):
    with pytest.raises(InvalidBudget, match="nats"):
        CapacityBudget(nats)


@pytest.mark.parametrize("estimator", [ExponentialChannel, GaussianChannel])
@pytest.mark.parametrize("budget", [None, "1", sz.LDPBudget(1.0), -0.5, math.nan, True])
def test_there_is_no_silent_or_foreign_budget(estimator, budget):
    with pytest.raises((InvalidBudget, InvalidParameter)):
        estimator(budget, public="age").fit(people())


# ----------------------------------------------------------------------------------------- exponential


@pytest.mark.parametrize("distance", ["line", "circle", "hamming"])
@pytest.mark.parametrize("budget", [1e-6, 0.3, 50.0])
def test_an_exponential_release_is_within_its_capacity(distance, budget):
    df = people()
    sanitizer = ExponentialChannel(
        budget, distance=distance, sensitive="ill", public=["town", "age"], bins={"age": [10, 40, 70, 100]}
    ).fit(df)
    assert channel_capacity(sanitizer.channel_, 1e-11).lower <= budget + 1e-11
    assert sanitizer.report_.ok
    assert sanitizer.report_.summary["mutual_information"] <= budget
    released = sanitizer.transform(df)
    assert list(released.columns) == ["town", "age"]
    assert set(released["town"]) <= set(df["town"])


def test_a_larger_budget_than_the_symbols_carry_releases_them_as_they_are():
    df = people()
    released = ExponentialChannel(5.0, sensitive="ill", public="town").fit_transform(df)
    assert (released["town"] == df["town"]).all()


def test_near_symbols_are_likelier_than_far_ones():
    df = people()
    bins = {"age": list(range(10, 101, 10))}
    sanitizer = ExponentialChannel(0.5, sensitive="ill", public="age", bins=bins).fit(df)
    row = sanitizer.channel_.matrix[4]
    assert row.argmax() == 4
    assert (np.diff(row[4:]) < 0).all()
    circle = ExponentialChannel(0.5, distance="circle", sensitive="ill", public="age", bins=bins).fit(df)
    assert circle.channel_.matrix[0, -1] > circle.channel_.matrix[0, 4]


def test_the_hamming_distance_counts_the_columns_that_differ():
    df = people()
    sanitizer = ExponentialChannel(0.5, distance="hamming", sensitive="ill", public=["town", "band"])
    df["band"] = np.where(df["age"] < 50, "young", "old")
    matrix = sanitizer.fit(df).channel_.matrix
    symbols = sanitizer.channel_.inputs.symbols
    far = np.array([[sum(a != b for a, b in zip(x, y, strict=True)) for y in symbols] for x in symbols])
    for row, distances in zip(matrix, far, strict=True):
        assert row[distances == 1].min() > row[distances == 2].max()


def test_other_distances_are_refused():
    with pytest.raises(InvalidParameter, match="distance must be"):
        ExponentialChannel(1.0, distance="plane", public="town").fit(people())


# --------------------------------------------------------------------------------------------- Gaussian


def gaussian(budget=0.5, **settings):
    settings = {"bounds": {"age": (17, 90)}, "step": 1, "sensitive": "ill", "public": "age", **settings}
    return GaussianChannel(budget, **settings)


@pytest.mark.parametrize("budget", [1e-3, 0.5, 2.0])
@pytest.mark.parametrize("method", ["exact", "closed_form"])
def test_a_gaussian_release_is_within_its_capacity(budget, method):
    sanitizer = gaussian(budget, method=method, reach=1.0, step=4).fit(people())
    found = channel_capacity(sanitizer.channel_, 1e-11)
    assert found.upper <= budget
    assert sanitizer.report_.ok
    assert sanitizer.report_.summary["channel_capacity"] <= found.upper + 1e-9
    assert sanitizer.report_.summary["mutual_information"] <= budget


def test_the_exact_method_adds_less_noise_than_the_closed_form():
    df = people()
    exact, printed = (gaussian(1.0, method=method).fit(df).report_ for method in ("exact", "closed_form"))
    assert exact.summary["utility"] > 1.2 * printed.summary["utility"]


def test_bounds_are_never_taken_from_the_data():
    for bounds in (None, {"hours": (0, 80)}):
        with pytest.raises(ColumnError, match=r"needs bounds=.*without looking at the rows"):
            gaussian(bounds=bounds).fit(people())


def test_values_outside_the_bounds_are_clipped_and_counted():
    df = people()
    outside = int(((df["age"] < 17) | (df["age"] > 90)).sum())
    report = gaussian().fit(df).report_
    assert outside > 0
    assert any(f"{outside} rows of column 'age'" in words and "clipped" in words for words in report.facts.warnings)


def test_the_channel_does_not_depend_on_the_rows():
    df = people()
    one, other = gaussian().fit(df), gaussian().fit(df[df["age"] > 60])
    assert one.channel_ == other.channel_
    assert one.channel_.n_inputs == 74


def test_values_unseen_at_fit_get_their_own_noise():
    df = people()
    sanitizer = gaussian(2.0, random_state=1).fit(df[df["age"] > 60])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released = sanitizer.transform(pd.DataFrame({"age": np.full(2000, 20)}))["age"]
    assert abs(released.mean() - 20) < 1
    assert released.dtype == np.int64


def test_several_columns_share_the_budget():
    """The capacity of channels side by side is the sum of theirs, whatever the columns have in common."""
    df = people()
    settings = {"bounds": {"age": (10, 100), "hours": (0, 80)}, "step": 10, "public": ["age", "hours"], "reach": 1.0}
    together = gaussian(0.6, **settings).fit(df)
    alone = [
        gaussian(0.3, bounds=settings["bounds"], step=10, public=name, reach=1.0).fit(df).channel_
        for name in ("age", "hours")
    ]
    assert together.report_.ok
    assert together.channel_.matrix == pytest.approx(np.kron(alone[0].matrix, alone[1].matrix), abs=1e-15)
    whole = channel_capacity(together.channel_, 1e-10)
    parts = [channel_capacity(channel, 1e-11) for channel in alone]
    assert whole.upper == pytest.approx(sum(part.upper for part in parts), abs=1e-8)
    assert whole.upper <= 0.6
    released = together.transform(df)
    assert list(released.columns) == ["age", "hours"]
    assert released["hours"].dtype == np.float64


def test_without_sensitive_columns_the_report_is_about_the_public_ones():
    report = gaussian(0.5, sensitive=None, step=5).fit(people()).report_
    assert report.ok
    assert report.summary["mutual_information"] == pytest.approx(report.summary["utility"])
    assert report.summary["mutual_information"] <= 0.5


def test_a_different_value_in_every_row_is_no_trouble():
    df = pd.DataFrame({"pay": np.linspace(0.0, 99.0, 100)})
    assert GaussianChannel(1.0, bounds=(0, 100), step=1.0).fit(df).report_.ok


def test_reach_zero_keeps_releases_within_the_bounds():
    released = gaussian(0.01, reach=0.0, random_state=2).fit_transform(people())["age"]
    assert released.between(17, 90).all()
    # Nearly all of the noise lies outside, and is folded into the ends.
    assert released.isin([17, 90]).mean() > 0.8


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_keep_their_kind_and_integers_stay_integers(make):
    df = people()
    table = make({"ill": df["ill"].tolist(), "age": df["age"].tolist()})
    released = gaussian(random_state=3).fit(table).transform(table)
    assert type(released) is type(table)
    values = released["age"].to_pylist() if isinstance(released, pa.Table) else list(released["age"])
    assert all(value == int(value) for value in values)


def test_the_grid_of_integers_is_whole_without_a_step():
    sanitizer = gaussian(step=None, points=9).fit(people())
    assert sanitizer.channel_.inputs.symbols == tuple(range(17, 91, 10))


def test_two_grids_that_look_equal_keep_their_types():
    df = pd.DataFrame({"x": [0, 1, 2, 3] * 5})
    whole = GaussianChannel(1.0, bounds=(0, 3), step=1).fit(df)
    real = GaussianChannel(1.0, bounds=(0, 3), step=1).fit(df.astype(float))
    assert all(type(symbol) is int for symbol in whole.channel_.outputs.symbols)
    assert all(type(symbol) is float for symbol in real.channel_.outputs.symbols)


def test_a_file_is_released_like_a_frame(tmp_path):
    df = people()
    pq.write_table(pa.Table.from_pandas(df, preserve_index=False), tmp_path / "raw.parquet")
    sanitizer = gaussian(0.5)
    report = sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer)
    assert report.ok
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.column_names == ["age"]
    assert released.num_rows == len(df)
    assert sanitizer.channel_ == clone(sanitizer).fit(df).channel_


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bounds": {"age": (90, 17)}}, "low < high"),
        ({"bounds": {"age": (17, math.inf)}}, "finite"),
        ({"bounds": {"age": 17}}, r"pair \(low, high\)"),
        ({"step": 0}, "step of 'age' must be > 0"),
        ({"step": 100}, "at most high - low"),
        ({"step": math.nan}, "step"),
        ({"step": "1"}, "step"),
        ({"step": 0.5}, "must be whole"),
        ({"bounds": {"age": (17.5, 90)}}, "must be whole"),
        ({"step": None, "points": 1}, "points must be a whole number >= 2"),
        ({"step": None, "points": 2.5}, "points"),
        ({"reach": -1.0}, "reach"),
        ({"reach": math.inf}, "reach"),
        ({"method": "smith"}, "method must be"),
        ({"budget": 0.0}, "budget must be a finite capacity > 0"),
        ({"budget": math.inf}, "budget"),
        ({"budget": 3.5}, "closed_form"),
        ({"bins": {"age": [0, 100]}}, "bins are for sensitive columns"),
        ({"public": "town", "bounds": (0, 1)}, "not numeric"),
        ({"public": ["age", "hours"], "bounds": (0, 90), "step": 1, "budget": 0.01}, "a larger step"),
    ],
)
def test_hostile_settings_are_refused_by_name(settings, words):
    with pytest.raises((InvalidParameter, ColumnError), match=words):
        gaussian(**{"budget": 0.5, **settings}).fit(people())


@pytest.mark.parametrize("bad", [math.nan, math.inf, None])
def test_missing_and_infinite_values_are_refused(bad):
    df = pd.DataFrame({"ill": [0, 1, 0, 1], "hours": [1.0, 2.0, bad, 4.0]})
    with pytest.raises(ColumnError, match="missing, NaN or infinite"):
        GaussianChannel(1.0, bounds=(0, 80), step=5.0, sensitive="ill").fit(df)


def test_several_columns_may_have_a_value_of_their_own_in_most_rows():
    frame = pd.DataFrame({"a": np.linspace(0, 1, 60), "b": np.linspace(1, 0, 60), "s": ["x", "y"] * 30})
    channel = GaussianChannel(1.0, bounds=(0, 1), points=33, reach=1.0, sensitive="s", public=["a", "b"])
    assert channel.fit(frame).report_.ok


def test_keeping_the_sensitive_columns_fails_the_report():
    df = people()
    sanitizer = gaussian(keep_sensitive=True).fit(df)
    assert not sanitizer.report_.ok
    with pytest.warns(UserWarning, match="is not for release"):
        assert "ill" in sanitizer.transform(df).columns


def test_the_report_of_other_rows_uses_the_same_channel():
    df = people()
    sanitizer = gaussian().fit(df)
    report = sanitizer.measure(people(seed=9))
    assert report.ok
    assert isinstance(sanitizer.channel_, Channel)
