"""Statements of the lift paper about the watchdog: what its complete merging attains, and against which budget."""

from __future__ import annotations

import math

import numpy as np
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st

import sanitize as sz
from sanitize.budgets import LDPBudget, LiftBudget
from sanitize.channel import Channel
from sanitize.joint import JointDistribution


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
    assert math.isclose(merged_utility(joint, ldp), sz.measures.utility(joint, Channel.merge(labels)), abs_tol=1e-9)


def test_zds_proposition_2_fails_once_the_merged_set_must_be_safe():
    """One symbol is high-risk for LDP and cannot be mended alone; under ALIP there are two, and these can.

    With X_H merged and left unsafe LDP would keep more, all of H(X) here; within the budget it keeps no more than ALIP.
    """
    joint = JointDistribution.from_matrix([[0.02627582, 0.27867667, 0.07921033], [0.24884198, 0.31164799, 0.05534721]])
    ldp, alip = LDPBudget(1.0), LiftBudget.from_ldp(1.0, 0.65)
    assert high_risk(joint, ldp).tolist() == [True, False, False]
    assert high_risk(joint, alip).tolist() == [True, False, True]
    assert merged_utility(joint, high_risk(joint, ldp)) > merged_utility(joint, high_risk(joint, alip)) + 0.2
    kept = [sz.measures.utility(joint, sz.watchdog(joint, budget)) for budget in (ldp, alip)]
    assert math.isclose(*kept, abs_tol=1e-12)
    assert math.isclose(kept[1], merged_utility(joint, high_risk(joint, alip)), abs_tol=1e-12)


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
