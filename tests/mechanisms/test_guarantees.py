"""What docstrings guarantee, with more symbols than any list, enumeration or single block takes."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from awkward_distributions import awkward_distribution

import sanitize as sz
from sanitize.core.confidence import design_distributions
from sanitize.core.joint import ContingencyTable

DESIGNS = {
    "watchdog": sz.watchdog,
    "subset merging": partial(sz.subset_merging, effort=2_000),
    "best subset merging": partial(sz.mechanisms.best_subset_merging, effort=2_000),
    "subset response": partial(sz.subset_random_response, block_size=10, effort=2e3),
    "optimal response": partial(sz.optimal_random_response, effort=2e3),
}
TWO, ONE, LDP = sz.LiftBudget.symmetric(0.3), sz.LiftBudget(lower=math.inf, upper=0.2), sz.LDPBudget(0.4)


def check_within(name, budget):
    joint = awkward_distribution("uniform", 3, 40, 1)
    channel = DESIGNS[name](joint, budget)
    assert budget.excess(joint.push(channel)).max() <= 0
    return joint, channel


@pytest.mark.parametrize("budget", [TWO, ONE, LDP], ids=["two sides", "one side", "ldp"])
@pytest.mark.parametrize("name", ["watchdog", "subset merging"])
def test_every_symbol_of_a_merging_is_within_the_budget(name, budget):
    """17 symbols are as many as are merged exactly."""
    check_within(name, budget)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["subset response", "optimal response"])
def test_every_symbol_of_a_response_that_lists_no_vertices_is_within_the_budget(name):
    check_within(name, LDP)


@pytest.mark.slow
def test_of_more_symbols_than_are_merged_exactly_the_longer_search_keeps_no_less():
    joint, channel = check_within("best subset merging", LDP)
    least = sz.core.measures.utility(joint, DESIGNS["subset merging"](joint, LDP))
    assert sz.core.measures.utility(joint, channel) >= least - 1e-12


@pytest.mark.parametrize("n", [40, 1600])
def test_a_watchdog_whose_set_grows_is_within_the_budget(n):
    """28 and 1,345 symbols may join: every choice is tried for 12, several orders for up to 1,500 symbols in all."""
    joint, budget = awkward_distribution("rare_secret", 3, n, 0), sz.LiftBudget(lower=math.inf, upper=0.7)
    is_high = budget.excess(joint) > 0
    alone = sz.Channel.merge(np.where(is_high, 0, np.cumsum(~is_high)))
    assert budget.excess(joint.push(alone)).max() > 0
    channel = sz.watchdog(joint, budget)
    assert budget.excess(joint.push(channel)).max() <= 0
    assert channel.n_outputs > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_with_a_confidence_the_whole_set_is_within_the_budget(name):
    cells = np.random.default_rng(2).integers(50, 400, (2, 30))
    shares = sz.JointDistribution.from_matrix(cells / cells.sum())
    joint = ContingencyTable(shares.sensitive, shares.public, cells, int(cells.sum())).to_joint()
    budget = sz.LiftBudget.symmetric(0.7)
    channel = DESIGNS[name](joint, budget, confidence=0.95)
    assert design_distributions(joint, 0.95).worst_case(channel).excess(budget).max() <= 0
