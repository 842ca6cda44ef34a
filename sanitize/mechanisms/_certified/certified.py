"""Channels made of symbols that fresh rows prove to be within the budget, with a union bound over all tests.

A channel mixes such symbols, or releases the finest partition of the cells into such blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.checks import Mask
from sanitize.core.alphabet import group_alphabet
from sanitize.core.budgets import LDPBudget, LiftBudget, as_budget
from sanitize.core.channel import HEURISTIC, Channel
from sanitize.core.confidence import check_confidence, clopper_pearson
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidBudget, InvalidParameter
from sanitize.mechanisms._certified.candidates import LOSS_STEPS, agglomerate, best_mixture, candidates
from sanitize.mechanisms._certified.evidence import Evidence, row_total, shares_within
from sanitize.mechanisms._certified.foresight import PowerModel
from sanitize.mechanisms._response_solver.repair import response_channel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._util.sampling.count_noise import Noise
    from sanitize.core.budgets import Budget
    from sanitize.core.profiles import Profiles

# Most cells. Every pair of sets of cells is a candidate of a response; merging only compares blocks, of which each may
# join any other.
MOST_PAIRED, MOST_MERGED = 256, 512


def certified_random_response(
    joint: JointDistribution,
    design: NDArray[np.int64],
    fresh: NDArray[np.int64],
    members: Mask,
    profiles: Profiles,
    budget: Budget | float,
    confidence: float,
    noise: Noise | None = None,
) -> Channel:
    """Design the channel of certified symbols that keeps the most information about the columns.

    Guarantee
    ---------
    With probability at least ``confidence`` over the rows, every released symbol is within the budget under the
    distribution they were drawn from, whatever it is; under the frequencies in ``joint`` (those of all rows, or noisy
    ones) it always is. A single symbol, which reveals nothing, can always be released, so there is always a channel.

    Parameters
    ----------
    joint : JointDistribution
        Frequencies of (S, cell) over all rows.
    design, fresh : ndarrays of int, shape (n_s, n_cells)
        Counts of the rows that fitted the classes and of all others. Which rows are which must not depend on
        their values. Noisy counts of fresh rows add up to the rows of each cell, and may be negative or fractional.
    members : ndarray of bool, shape (n_nodes, n_cells)
        Cells below each node of a dendrogram of alike cells.
    profiles : Profiles
        Information to keep.
    budget : LiftBudget, LDPBudget or float
        An LDP budget is met by the symmetric lift budget of half its level, which implies it.
    confidence : float
        Level of confidence, between 0 and 1.
    noise : Noise, optional
        Noise on each count of fresh rows, independent over cells.

    Returns
    -------
    Channel
        One sparse stage.

    Raises
    ------
    InvalidBudget, InvalidParameter
        If the budget is of another kind or the counts do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import sanitize as sz
    >>> from sanitize.core.profiles import Profiles, cell_counts, design_rows
    >>> rng = np.random.default_rng(0)
    >>> secrets, ages = rng.integers(0, 2, 4000), rng.integers(0, 8, 4000)
    >>> first = design_rows(4000, 0.3)
    >>> design, fresh = (cell_counts(ages[r], secrets[r], 8, 2) for r in (first, ~first))
    >>> profiles = Profiles(np.diag(design.sum(axis=0)), np.array([0]), np.ones(1))
    >>> joint = sz.JointDistribution.from_matrix((design + fresh) / 4000)
    >>> channel = certified_random_response(joint, design, fresh, np.eye(8, dtype=bool), profiles, 0.8, 0.95)
    >>> bool(sz.LiftBudget.symmetric(0.8).excess(joint.push(channel)).max() <= 0)
    True
    """
    tests = _Tests(joint, design, fresh, budget, confidence, noise, MOST_PAIRED)
    symbols = candidates(members, profiles, tests.power)
    passed = tests.passed(symbols)
    symbols = sparse.csr_array(
        sparse.vstack([sparse.csr_array(np.ones((1, len(joint.public)))), symbols[np.flatnonzero(passed)]])
    )
    amount = best_mixture(symbols, profiles.information_loss(symbols))
    used = np.flatnonzero(amount > 1e-9)
    mass = sparse.csr_array(symbols[used].multiply(joint.p_x[None, :])).T
    total = np.asarray(mass.sum(axis=0)).ravel()
    posteriors = sparse.csc_array(mass.multiply(1 / total[None, :]))
    posteriors.sort_indices()
    return response_channel(joint, tests.budget, posteriors, total * amount[used]).with_optimality(HEURISTIC)


class _Tests:
    """Tests of symbols on fresh rows, with the budget that they prove and a model of their power."""

    def __init__(
        self,
        joint: JointDistribution,
        design: NDArray[np.int64],
        fresh: NDArray[np.int64],
        budget: Budget | float,
        confidence: float,
        noise: Noise | None,
        most_cells: int,
    ) -> None:
        shape = joint.pmf.shape
        if design.shape != shape or fresh.shape != shape:
            raise InvalidParameter(
                f"design and fresh must have the shape {shape} of joint, got {design.shape} and {fresh.shape}"
            )
        if shape[1] > most_cells:
            raise InvalidParameter(
                f"confidence= takes at most {most_cells} public symbols or classes, got {shape[1]}; lower n_classes or "
                "merge public symbols"
            )
        self.joint, self.design, self.fresh, self.noise = joint, design, fresh, noise
        self.budget, self.error = as_lift_budget(as_budget(budget, joint)), 1 - check_confidence(confidence)
        variance = noise.variance if noise else 0.0
        self.power = PowerModel.from_counts(design, row_total(fresh, noise), self.budget, confidence, variance)

    def passed(self, symbols: sparse.csr_array) -> Mask:
        """Return a mask of the symbols (k, n_cells) that fresh rows and frequencies prove to be within the budget."""
        joint, design, fresh, noise = self.joint, self.design, self.fresh, self.noise
        for_prior = 0.05  # of the error probability: P(s) has many rows, so its bounds stay narrow with a small share
        share = self.error * for_prior / len(design)
        if noise is not None:
            prior = shares_within(fresh.sum(axis=1), row_total(fresh, noise), noise, fresh.shape[1], share)
        else:
            prior = clopper_pearson(fresh.sum(axis=1) + design.sum(axis=1), fresh.sum() + design.sum(), share)
        proved = Evidence(symbols, design, fresh, self.error * (1 - for_prior), noise).proves(self.budget, prior)
        # The budget must also hold for the frequencies of all rows, with a small margin for rounding.
        mass = np.asarray((symbols @ joint.pmf.T).T)
        excess = self.budget.lift_excess(mass / joint.p_s[:, None] / mass.sum(axis=0), joint.p_s)
        return proved & ~(excess > -1e-9)


def as_lift_budget(budget: Budget) -> LiftBudget:
    """Return a lift budget that implies the given budget."""
    if isinstance(budget, LDPBudget):
        return LiftBudget.from_ldp(budget.eps)
    if not isinstance(budget, LiftBudget):
        got = type(budget).__name__
        raise InvalidBudget(f"with confidence=, the budget must be a LiftBudget, an LDPBudget or a number, got {got}")
    return budget


def certified_merging(
    joint: JointDistribution,
    design: NDArray[np.int64],
    fresh: NDArray[np.int64],
    profiles: Profiles,
    budget: Budget | float,
    confidence: float,
    noise: Noise | None = None,
) -> Channel:
    """Design a channel that releases, for each cell, the certified block that contains it; the blocks form a partition.

    Blocks are merged on the design rows: a block that would not pass is merged with the one that loses least. The
    finest partition into blocks that pass on fresh rows is released.

    Guarantee
    ---------
    With probability at least ``confidence`` over the rows, every released symbol is within the budget under the
    distribution they were drawn from, whatever it is; under the frequencies of all rows it always is. A single block of
    all cells, which reveals nothing, can always be released.

    Parameters
    ----------
    joint : JointDistribution
        Frequencies of (S, cell) over all rows.
    design, fresh : ndarrays of int, shape (n_s, n_cells)
        Counts of the rows that fitted the classes and of all others. Which rows are which must not depend on
        their values.
    profiles : Profiles
        Information to keep.
    budget : LiftBudget, LDPBudget or float
        An LDP budget is met by the symmetric lift budget of half its level, which implies it.
    confidence : float
        Level of confidence, between 0 and 1.
    noise : Noise, optional
        Noise on each count of fresh rows, independent over cells.

    Returns
    -------
    Channel
        Deterministic.

    Raises
    ------
    InvalidBudget, InvalidParameter
        If the budget is of another kind or the counts do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import sanitize as sz
    >>> from sanitize.core.profiles import Profiles, cell_counts, design_rows
    >>> rng = np.random.default_rng(0)
    >>> secrets, ages = rng.integers(0, 2, 4000), rng.integers(0, 8, 4000)
    >>> first = design_rows(4000, 0.3)
    >>> design, fresh = (cell_counts(ages[r], secrets[r], 8, 2) for r in (first, ~first))
    >>> profiles = Profiles(np.diag(design.sum(axis=0)), np.array([0]), np.ones(1))
    >>> joint = sz.JointDistribution.from_matrix((design + fresh) / 4000)
    >>> channel = certified_merging(joint, design, fresh, profiles, 0.8, 0.95)
    >>> bool(sz.LiftBudget.symmetric(0.8).excess(joint.push(channel)).max() <= 0)
    True
    """
    tests = _Tests(joint, design, fresh, budget, confidence, noise, MOST_MERGED)
    agglomeration = agglomerate(profiles.coarser(LOSS_STEPS), tests.power)
    labels = agglomeration.finest(tests.passed(sparse.csr_array(agglomeration.blocks.astype(np.float64))))
    return Channel.merge(labels, joint.public, group_alphabet(joint.public, labels)).with_optimality(HEURISTIC)
