"""Statements of the lift paper about the watchdog: what its complete merging attains, and against which budget."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st

import sanitize as sz
from sanitize.core.budgets import LDPBudget, LiftBudget
from sanitize.core.channel import Channel
from sanitize.core.joint import JointDistribution


def high_risk(joint, budget):
    """Mask of the symbols of X above the budget."""
    return budget.excess(joint) > 0


def merged_utility(joint, members):
    """I(X;Y) when a set of symbols is released as one [ZDS eq. 11]."""
    outside = joint.p_x[~members]
    inside = joint.p_x[members].sum()
    kept = [*outside.tolist(), *([float(inside)] if members.any() else [])]
    return -sum(p * math.log(p) for p in kept)


@given(strategies.joints(min_s=2, min_x=2), st.sampled_from([0.1, 0.5, 1.0, 2.0]), st.floats(0.01, 0.99))
def test_zds_proposition_2_ldp_has_fewer_high_risk_symbols(joint, epsilon, share):
    """X_H of ε-LDP lies in X_H of (share ε, (1-share) ε)-ALIP, so that merging X_H keeps more."""
    ldp, alip = (high_risk(joint, budget) for budget in (LDPBudget(epsilon), LiftBudget.from_ldp(epsilon, share)))
    assert not (ldp & ~alip).any()
    assert merged_utility(joint, ldp) >= merged_utility(joint, alip) - 1e-12
    labels = np.where(ldp, 0, np.cumsum(~ldp))
    labels = np.unique(labels, return_inverse=True)[1]
    assert math.isclose(
        merged_utility(joint, ldp), sz.core.measures.utility(joint, Channel.merge(labels)), abs_tol=1e-9
    )


def cheapest(joint, budget, high):
    """What is kept with the cheapest safe set that holds the high-risk symbols merged, by all choices of the others."""
    low = np.flatnonzero(~high)
    kept = []
    for k in range(len(low) + 1):
        for others in itertools.combinations(low, k):
            members = high.copy()
            members[list(others)] = True
            if not high.any() or is_safe(joint, budget, members):
                kept.append(merged_utility(joint, members if high.any() else high))
    return max(kept)


def is_safe(joint, budget, members):
    lifts = joint.pmf[:, members].sum(axis=1) / joint.p_s / joint.p_x[members].sum()
    return bool((budget.lift_excess(lifts[:, None], joint.p_s) <= 0).all())


def check_cheapest_safe_sets(joint, epsilon, share):
    """What is safe for ALIP and holds its X_H is safe for LDP and holds the X_H of LDP."""
    ldp, alip = LDPBudget(epsilon), LiftBudget.from_ldp(epsilon, share)
    kept = [sz.core.measures.utility(joint, sz.watchdog(joint, budget)) for budget in (ldp, alip)]
    assert kept[0] >= kept[1] - 1e-9
    for budget, mine in zip((ldp, alip), kept, strict=True):
        assert math.isclose(mine, cheapest(joint, budget, high_risk(joint, budget)), abs_tol=1e-9)


@given(strategies.joints(max_s=3, max_x=5), st.floats(0.05, 4.0), st.floats(0.05, 0.95))
def test_zds_proposition_2_holds_for_the_cheapest_safe_sets(joint, epsilon, share):
    check_cheapest_safe_sets(joint, epsilon, share)


def test_zds_proposition_2_holds_where_low_risk_symbols_must_join():
    """Of random tables far more need others to join than of drawn ones: here sets that grow by least risk fail."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        joint = JointDistribution.from_matrix(rng.dirichlet(np.ones(15)).reshape(3, 5))
        check_cheapest_safe_sets(joint, rng.uniform(0.3, 2), rng.uniform(0.3, 0.9))


def test_zds_proposition_2_fails_for_sets_that_grow_by_least_risk():
    """LDP has fewer symbols to mend, and others that join them by least risk may end in a larger set."""

    def grown(joint, budget):
        members = high_risk(joint, budget)
        while members.any() and not is_safe(joint, budget, members):
            risk = {}
            for x in np.flatnonzero(~members):
                lifts = joint.pmf[:, members | (np.arange(len(members)) == x)].sum(axis=1) / joint.p_s
                risk[x] = lifts.max() / lifts.min()
            members[min(risk, key=risk.__getitem__)] = True
        return merged_utility(joint, members)

    rng, found = np.random.default_rng(0), 0
    for _ in range(300):
        joint = JointDistribution.from_matrix(rng.dirichlet(np.ones(8)).reshape(2, 4))
        epsilon, share = rng.uniform(0.3, 2), rng.uniform(0.3, 0.9)
        ldp, alip = (grown(joint, one) for one in (LDPBudget(epsilon), LiftBudget.from_ldp(epsilon, share)))
        found += ldp < alip - 1e-3
    assert found > 0


@pytest.mark.slow
@given(strategies.matrices(min_s=2, min_x=2), st.data())
def test_zds_proposition_7_a_set_attains_its_own_ratio_and_nothing_less(pmf, data):
    """Some channel on X_H is (ε, X_H)-LDP exactly if max_s P(X_H|s) / min_s P(X_H|s) <= e^ε."""
    joint = JointDistribution.from_matrix(pmf)
    n = len(joint.p_x)
    members = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    inside = joint.pmf[:, members] / joint.p_s[:, None]
    together = inside.sum(axis=1)
    assume((together > 0).all())
    own = math.log(together.max() / together.min())

    def level(channel):
        released = inside @ channel
        released = released[:, released.sum(axis=0) > 0]
        with np.errstate(divide="ignore"):
            return float(np.log(released.max(axis=0) / released.min(axis=0)).max())

    invariant = np.repeat([data.draw(strategies.stages(1))[0]], len(members), axis=0)
    assert math.isclose(level(invariant), own, abs_tol=1e-9)
    assert level(data.draw(strategies.stages(len(members)))) >= own - 1e-9
