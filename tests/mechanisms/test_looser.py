"""A looser budget keeps at least as much, on distributions of thirteen kinds and budgets between 0 and infinity.

`studies/monotone.py` runs the same on 300 distributions and finer grids.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from awkward_distributions import KINDS, awkward_distribution

import sanitize as sz
from sanitize.mechanisms._merging.risks import even_budgets, set_risks
from sanitize.mechanisms._merging.watchdog import merging_costs, set_that_is_safe

NATS = (0.0, 1e-9, 0.3, 1.5, math.inf)
PAIRS = [sz.LiftBudget(lower=lower, upper=upper) for lower, upper in itertools.product(NATS, repeat=2)]
LEVELS = [sz.LDPBudget(eps) for eps in NATS]


def worst_drop(joint: sz.JointDistribution, mechanism, budgets) -> float:
    """The most that a budget keeps less than one which is tighter on every side."""
    kept = [sz.normalized_utility(joint, mechanism(joint, budget)) for budget in budgets]
    return max(
        kept[a] - kept[b]
        for a, b in itertools.product(range(len(budgets)), repeat=2)
        if all(x <= y for x, y in zip(vars(budgets[a]).values(), vars(budgets[b]).values(), strict=True))
    )


@pytest.mark.slow
@pytest.mark.parametrize("budgets", [PAIRS, LEVELS], ids=["lift", "ldp"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_the_optimal_response_never_keeps_less(kind, budgets, seed):
    joint = awkward_distribution(kind, 2 + seed, 5 + seed, seed)
    assert worst_drop(joint, sz.optimal_random_response, budgets) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [sz.watchdog, sz.subset_merging, sz.subset_random_response])
@pytest.mark.parametrize("kind", KINDS)
def test_no_mechanism_keeps_less_on_small_alphabets(kind, mechanism):
    joint = awkward_distribution(kind, 3, 8, 5)
    assert worst_drop(joint, mechanism, [*PAIRS[::2]]) <= 0.005
    assert worst_drop(joint, mechanism, LEVELS) <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_x", [27, 120])
def test_the_watchdog_keeps_no_less_on_larger_ones(kind, n_x):
    for seed in range(3):
        assert worst_drop(awkward_distribution(kind, 2 + seed, n_x, seed), sz.watchdog, PAIRS) <= 0.005


def test_the_watchdog_keeps_no_less_where_one_side_becomes_free():
    """Of 300 distributions the one on which it lost 0.018."""
    joint = awkward_distribution("rare_secret", 3, 28, 254)
    assert worst_drop(joint, sz.watchdog, [sz.LiftBudget(lower=nats, upper=0.5) for nats in (1.5, math.inf)]) <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform", "zeros", "counts", "skew"])
def test_a_free_side_keeps_no_less_than_a_bounded_one(kind):
    joint = awkward_distribution(kind, 3, 20, 1)
    for side, other in (("lower", "upper"), ("upper", "lower")):
        budgets = [sz.LiftBudget(**{side: nats, other: 0.3}) for nats in (1.0, math.inf)]
        assert worst_drop(joint, partial(sz.subset_merging, effort=60_000), budgets) <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n_s", "n_x", "bounds"), [("zeros", 3, 39, (0.5, 0.1)), ("blocks", 5, 59, (0.1, 0.1))]
)
def test_merging_keeps_no_less_where_one_side_becomes_free(kind, n_s, n_x, bounds):
    """Distributions on which a search that only saw the free side lost 0.013; budgets on and off the shared ladder."""
    joint = awkward_distribution(kind, n_s, n_x, 1 if kind == "zeros" else 10)
    lower, upper = (math.inf, bounds[1]) if kind == "zeros" else (bounds[0], 0.5)
    budgets = [sz.LiftBudget(lower=bounds[0], upper=bounds[1]), sz.LiftBudget(lower=lower, upper=upper)]
    assert worst_drop(joint, sz.subset_merging, budgets) <= 0.005


def test_budgets_that_even_out_another_are_within_it_and_shared():
    for lower, upper in itertools.product((0.0, 1e-9, 0.1, 0.37, 2.0, 40.0, math.inf), repeat=2):
        budget = sz.LiftBudget(lower=lower, upper=upper)
        for within in even_budgets(budget):
            assert within.lower <= lower
            assert within.upper <= upper
            assert within != budget
            assert min(within.lower, within.upper) == min(lower, upper)
            assert even_budgets(within) == [
                other for other in even_budgets(budget) if other.lower < within.lower or other.upper < within.upper
            ]
    assert even_budgets(sz.LDPBudget(1.0)) == even_budgets(sz.LiftBudget(lower=0.3, upper=0.3)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_grown_set_is_safe_and_needs_each_of_its_members(kind):
    joint = awkward_distribution(kind, 3, 40, 2)
    for bounds in ((0.1, 0.1), (math.inf, 0.2), (0.5, 1.5)):
        risks = set_risks(joint, sz.LiftBudget(lower=bounds[0], upper=bounds[1]), None)
        low = risks.safe(risks.columns)
        core, pool = np.flatnonzero(~low), np.flatnonzero(low)
        if not len(core) or risks.is_safe(risks.columns[:, core].sum(axis=1)):
            continue
        tight = set_risks(joint, sz.LiftBudget(lower=0.1, upper=0.1), None)
        members = set_that_is_safe(risks, core, pool, joint.p_x, tight)
        column = risks.columns[:, members].sum(axis=1)
        assert set(core) <= set(members)
        assert risks.is_safe(column) or len(members) == len(joint.p_x)
        spare = members[len(core) :]
        assert not risks.safe(column[:, None] - risks.columns[:, spare]).any() or len(members) == len(joint.p_x)
        mass = joint.p_x[members]
        assert merging_costs(joint.p_x, members) == pytest.approx((mass * np.log(mass.sum() / mass)).sum(), abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_search_of_merging_keeps_no_less(kind):
    """Above 17 symbols, where the best partition is not looked for."""
    bounds = [(0.0, 1e-9), (1e-9, math.inf), (0.3, 0.3), (0.3, math.inf), (math.inf, 0.3)]
    budgets = [sz.LiftBudget(lower=lower, upper=upper) for lower, upper in bounds]
    joint = awkward_distribution(kind, 3, 18, 1)
    assert worst_drop(joint, partial(sz.subset_merging, effort=60_000), budgets) <= 0.005
