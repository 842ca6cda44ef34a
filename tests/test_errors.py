"""Errors cross process borders whole, and name what they speak of."""

import pickle

import numpy as np
import pytest

import sanitize as sz
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidChannel,
    InvalidDistribution,
    InvalidParameter,
    RowOrderLeak,
    UnknownSymbol,
)

MATRIX = [[0.4, 0.1], [0.1, 0.4]]
OF_A_DISTRIBUTION = [
    sz.lift, sz.log_lift, sz.max_lift, sz.min_lift, sz.l1_lift,
    sz.core.lifts.max_log_lift, sz.core.lifts.min_log_lift, sz.core.lifts.ldp_ratio,
    sz.chi2_lift, sz.l1_lift_inverse, sz.chi2_lift_inverse, sz.mutual_information, sz.total_variation,
    sz.chi2_divergence, sz.maximal_leakage, sz.max_information,
    *(lambda joint, f=f: f(joint, 2) for f in (sz.alpha_lift, sz.alpha_lift_inverse)),
    *(lambda p, f=f, a=a: f(p, a) for f in (sz.sibson_information, sz.arimoto_information) for a in (1, 2, np.inf)),
    *(lambda joint, f=f: f(joint, sz.Channel.identity(2)) for f in (sz.core.measures.utility, sz.normalized_utility)),
    *(lambda joint, f=f: f(joint, 1.0) for f in (sz.watchdog, sz.subset_merging)),
    *(lambda joint, f=f: f(joint, 1.0) for f in (sz.optimal_random_response, sz.subset_random_response)),
    sz.LDPBudget(1.0).excess,
    lambda distribution: sz.LeakageReport.measure(distribution, sz.Channel.identity(2)),
]  # fmt: skip
DISTRIBUTION = sz.JointDistribution.from_matrix(MATRIX)
OF_A_CHANNEL = [
    sz.ldp_epsilon,
    DISTRIBUTION.push,
    lambda channel: sz.core.measures.utility(DISTRIBUTION, channel),
    lambda channel: sz.normalized_utility(DISTRIBUTION, channel),
    lambda channel: sz.LeakageReport.measure(DISTRIBUTION, channel),
]


def over_budget() -> BudgetExceeded:
    joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    report = sz.LeakageReport.measure(joint, sz.Channel.identity(2), sz.LiftBudget.symmetric(0.1))
    with pytest.raises(BudgetExceeded) as caught:
        report.require()
    return caught.value


@pytest.mark.parametrize(
    "error",
    [
        ColumnError("no such column", "town"),
        UnknownSymbol(("town", "age"), 3),
        RowOrderLeak("in blocks of 8 rows"),
        over_budget(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling_with_what_they_carry(error):
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    carried = {name for name in vars(error) if name != "report"}
    assert {name: getattr(back, name) for name in carried} == {name: getattr(error, name) for name in carried}


@pytest.mark.parametrize(
    "given", [MATRIX, np.array(MATRIX), None, sz.Channel.identity(2)], ids=lambda g: type(g).__name__
)
@pytest.mark.parametrize("function", OF_A_DISTRIBUTION)
def test_what_is_no_distribution_is_refused_with_the_way_to_make_one(function, given):
    with pytest.raises(InvalidDistribution, match=f"got {type(given).__name__}; .*from_matrix"):
        function(given)


@pytest.mark.parametrize("given", [MATRIX, np.array(MATRIX), None], ids=lambda g: type(g).__name__)
@pytest.mark.parametrize("function", OF_A_CHANNEL)
def test_what_is_no_channel_is_refused_with_the_way_to_make_one(function, given):
    with pytest.raises(InvalidChannel, match=f"got {type(given).__name__}; .*from_matrix"):
        function(given)


@pytest.mark.parametrize("entries", [[["SECRET"]], [[0.5, 0.5], [1]], [[1j]]], ids=["text", "ragged", "complex"])
def test_matrices_that_hold_no_numbers_are_refused_and_not_quoted(entries):
    for make, error in (
        (sz.JointDistribution.from_matrix, InvalidDistribution),
        (sz.Channel.from_matrix, InvalidChannel),
    ):
        with pytest.raises(error, match="numbers") as caught:
            make(entries)
        assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None, True])
def test_the_identity_needs_a_number_of_symbols(n):
    with pytest.raises(InvalidChannel, match="whole number"):
        sz.Channel.identity(n)


@pytest.mark.parametrize("alpha", ["two", None, [2, 3], 0.5, float("nan")])
def test_orders_that_are_no_numbers_are_refused(alpha):
    for function in (sz.alpha_lift, sz.alpha_lift_inverse, sz.sibson_information, sz.arimoto_information):
        with pytest.raises(InvalidParameter, match="alpha must be at least 1"):
            function(DISTRIBUTION, alpha)


@pytest.mark.parametrize("text", [None, 5, "", "null"])
def test_what_is_no_text_of_a_channel_is_refused(text):
    with pytest.raises(InvalidChannel, match="not a channel"):
        sz.Channel.from_json(text)


def test_a_table_without_columns_says_so():
    assert "the table has no columns." in str(ColumnError.absent(["town"], []))


def test_budgets_made_of_numpy_numbers_read_like_others():
    for made in (sz.LiftBudget(lower=np.float64(0.5), upper=np.float32(1)), sz.LDPBudget(np.int64(2))):
        assert "np." not in repr(made)
    assert sz.LiftBudget(lower=np.float64(0.5), upper=np.float32(1)) == sz.LiftBudget(lower=0.5, upper=1.0)


KERNEL = [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("eps", lambda one: sz.theory.accounting.basic_composition(one)),
        ("deltas", lambda one: sz.theory.accounting.basic_composition([1.0], one)),
        ("eps", lambda one: sz.theory.accounting.sensitive_ldp_composition(one, 0.1)),
        ("budgets", lambda one: sz.theory.accounting.sequential_budget(one)),
        ("channels", lambda one: sz.theory.accounting.joint_release(np.full((2, 2), 0.25), one)),
        ("sizes", lambda one: sz.theory.accounting.parallel_composition([KERNEL], one)),
        ("sizes", lambda one: sz.theory.individual.individual_channel_capacity(KERNEL, sizes=one)),
        ("sizes", lambda one: sz.theory.accounting.balance_function(KERNEL, 0.5, sizes=one)),
        ("priors", lambda one: sz.theory.tradeoff.RecordsDP(one)),
    ],
)
def test_one_value_in_place_of_several_is_refused_by_name(name, call):
    with pytest.raises(InvalidParameter, match=f"{name} must be a list"):
        call(2)


def test_levels_and_distortions_without_a_bound_are_as_good_as_large_ones():
    for n in (2, 300):
        assert sz.randomized_response(n, 1e300) == sz.randomized_response(n, 1e4)
    free = sz.theory.tradeoff.OptimalSibson([0.5, 0.5], [[0, 1], [1, 0]], alpha=np.inf)
    assert free.privacy(np.inf) == pytest.approx(0, abs=1e-9)
