"""Released symbols of a tree, each certified on rows that it was not designed on.

A released symbol y has P(y|cell) ∝ w(cell) with w in [0, 1]. For independent rows (X, S), any λ and any bound b, the
product over rows of exp(λ w 1{S=s}) / (1 + b (e^λ - 1))^w has a mean of at most 1 where P(s|y) >= b and λ < 0, or
P(s|y) <= b and λ > 0: e^(λ w 1{S=s}) has given x a mean of at most (1 + P(s|x)(e^λ - 1))^w, as the log of a moment
generating function is convex, and t^w <= 1 + w (t - 1) for w in [0, 1]. So by Markov's inequality its logarithm
reaches log(1 / level) with probability at most ``level``: then P(s|y) is on the right side of b. The symbols to be
tested and λ come from other rows, so one union bound over all tests makes every symbol that passes certain at once,
and any mixture of them, whatever chose it, is a release within the budget.

Counts of the fresh rows may hold noise that does not depend on them: Σ_cells w (N + Z) in place of Σ_rows w 1{S=s}, Z
independent over cells with E exp(tZ) <= exp(ψ(t)), and ψ(wt) <= w² ψ(t) for w in [0, 1]. Then the product, times
exp(λ Σ w Z - ψ(λ) Σ w²), still has a mean of at most 1: given the rows, the new factor has. Rows of a cell, Σ_s N, are
known without noise, and λ, which other rows choose, may know ψ. P(s) is bounded likewise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize.budgets import LDPBudget, LiftBudget, as_budget
from sanitize.channel import HEURISTIC
from sanitize.confidence import check_confidence, clopper_pearson
from sanitize.errors import InvalidBudget, InvalidParameter, SanitizeError
from sanitize.joint import JointDistribution
from sanitize.mechanisms._random_response.repair import response_channel
from sanitize.mechanisms._trees.candidates import candidates
from sanitize.mechanisms._trees.noisy_shares import noisy_shares, noisy_tilt

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.mechanisms._trees.noisy_shares import Noise
    from sanitize.trees import Profiles

    Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]

_FOR_PRIOR = 0.05  # of the probability of error, spent on P(s)
_INSIDE = 1e-9  # of the budget under the frequencies of all rows, and of the tests, for rounding
_BISECTIONS = 50
_KNOTS = 1024
_TINY = 1e-9
_LOOSEST = 25.0
MOST_PAIRED = 256  # every pair of them is tested


def certified_random_response(
    joint: JointDistribution,
    design: NDArray[np.int64],
    fresh: NDArray[np.int64],
    members: NDArray[np.bool_],
    profiles: Profiles,
    budget: Budget | float,
    confidence: float,
    noise: Noise | None = None,
) -> Channel:
    """Channel of the certified symbols that keeps most of the information about each column.

    Guarantee
    ---------
    With probability at least ``confidence`` over the rows, every released symbol is within the budget under the law
    they were drawn from, whatever it is; under the frequencies in ``joint`` it always is (those of all rows, or what
    noise left of them). One symbol, which tells nothing, can always be released, so there is always a channel.

    Parameters
    ----------
    joint : JointDistribution
        Frequencies of (S, cell) over all rows.
    design, fresh : ndarrays of int, shape (n_s, n_cells)
        Counts of the rows that the tree was grown on and of all others. Which rows are which must not depend on
        their values. Fresh ones with noise add up to the rows of each cell, and may be below 0 and no whole numbers.
    members : ndarray of bool, shape (n_nodes, n_cells)
        Cells below each node of the tree.
    profiles : Profiles
        What is to be kept.
    budget : LiftBudget, LDPBudget or float
        An LDP budget is met by the symmetric lift budget of half its level, which implies it.
    confidence : float
        Between 0 and 1.
    noise : Noise, optional
        That on each count of fresh rows, independent over cells.

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
    >>> from sanitize.trees import cell_counts, design_rows, grow
    >>> rng = np.random.default_rng(0)
    >>> secrets = rng.integers(0, 2, 4000)
    >>> table = {"age": rng.integers(18, 90, 4000) + 3 * secrets, "town": rng.choice(["A", "B"], 4000)}
    >>> first = design_rows(4000, 0.3)
    >>> grown = grow(table, secrets, None, max_cells=8, rows=first)
    >>> tree = grown.tree
    >>> design, fresh = (cell_counts(grown.cells[r], secrets[r], tree.n_cells, 2) for r in (first, ~first))
    >>> joint = sz.JointDistribution.from_matrix((design + fresh) / 4000)
    >>> channel = certified_random_response(joint, design, fresh, tree.members.toarray(), grown.profiles, 0.8, 0.95)
    >>> bool(sz.LiftBudget.symmetric(0.8).excess(joint.release(channel)).max() <= 0)
    True
    """
    lift_budget = as_lift_budget(as_budget(budget))
    k = len(joint.public)
    if members.shape[1] != k:
        raise InvalidParameter(f"members must be of the {k} cells of the law, got {members.shape}")
    if k > MOST_PAIRED:
        raise InvalidParameter(f"with confidence= a tree has at most {MOST_PAIRED} cells, got {k}; lower max_cells")
    fresh_rows = float(fresh.sum()) / max(float(design.sum()), 1.0)

    def propose(expected: Bounds) -> sparse.csr_array:
        return candidates(design, members, expected, fresh_rows, noise.variance if noise else 0.0)

    net, passed = proven(joint, design, fresh, lift_budget, confidence, propose, noise)
    everything = sparse.csr_array(np.ones((1, k)))
    net = sparse.csr_array(sparse.vstack([everything, net[np.flatnonzero(passed)]]))
    amount = best_mixture(net, profiles)
    used = np.flatnonzero(amount > _TINY)
    mass = sparse.csr_array(net[used].multiply(joint.p_x[None, :])).T
    total = np.asarray(mass.sum(axis=0)).ravel()
    posteriors = sparse.csc_array(mass.multiply(1 / total[None, :]))
    posteriors.sort_indices()
    return response_channel(joint, lift_budget, posteriors, total * amount[used]).with_standing(HEURISTIC)


def proven(
    joint: JointDistribution,
    design: NDArray[np.int64],
    fresh: NDArray[np.int64],
    budget: LiftBudget,
    confidence: float,
    propose: Callable[[Bounds], sparse.csr_array],
    noise: Noise | None = None,
) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """Symbols proposed from the design rows, shape (k, n_cells), and which of them fresh rows prove, all at once.

    ``propose`` is told where the design rows expect the bounds of the posterior to be.
    """
    error = 1 - check_confidence(confidence)
    if design.shape != joint.pmf.shape or fresh.shape != joint.pmf.shape:
        raise InvalidParameter(f"counts must be of the {joint.pmf.shape[1]} cells of the law, got {design.shape}")
    share = error * _FOR_PRIOR / len(design)
    if noise is not None:
        prior = noisy_shares(fresh.sum(axis=1), float(fresh.sum()), noise, fresh.shape[1], share)
    else:
        prior = clopper_pearson(fresh.sum(axis=1) + design.sum(axis=1), fresh.sum() + design.sum(), share)
    bounds = _posterior_bounds(budget, *prior)
    expected = _posterior_bounds(budget, *(2 * [(design.sum(axis=1) + 1) / (design.sum() + len(design))]))
    net = propose(expected)
    level = error * (1 - _FOR_PRIOR) / max(net.shape[0] * n_sides(bounds), 1)
    passed = certified(net, design, fresh, expected, bounds, level, noise)
    passed &= ~(budget.excess_of(_lifts(net, joint), joint.p_s) > -_INSIDE)
    return net, passed


def as_lift_budget(budget: Budget) -> LiftBudget:
    """A lift budget that implies the one given."""
    if isinstance(budget, LDPBudget):
        return LiftBudget.from_ldp(budget.eps)
    if not isinstance(budget, LiftBudget):
        raise InvalidBudget(f"confidence= takes a LiftBudget, an LDPBudget or a number, got {type(budget).__name__}")
    return budget


def _posterior_bounds(
    budget: LiftBudget, least: NDArray[np.float64], most: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where P(s|y) must lie, shapes (n_s,), for any P(s) between least and most; 0 and 1 where nothing is asked."""
    lower = most * np.exp(-budget.lower) if budget.lower < _LOOSEST else np.zeros(len(most))
    upper = least * np.exp(min(budget.upper, _LOOSEST))
    return np.where(lower < 1, lower, 1.0), np.minimum(upper, 1.0)


def n_sides(bounds: tuple[NDArray[np.float64], NDArray[np.float64]]) -> int:
    """Tests that one released symbol takes, at most."""
    return 2 * len(bounds[0])


def certified(
    net: sparse.csr_array,
    design: NDArray[np.int64],
    fresh: NDArray[np.int64],
    expected: tuple[NDArray[np.float64], NDArray[np.float64]],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    level: float,
    noise: Noise | None = None,
) -> NDArray[np.bool_]:
    """Whether fresh rows prove, at this level a test, that the posteriors of each symbol (k, n_cells) are in bounds.

    The prior's bounds may look at the fresh rows: the statistic grows as a bound is relaxed, so what passes under a
    bound that is too strict passes under the true one. λ looks at the design rows only.
    """
    needed = -np.log(level) * (1 + _INSIDE)
    rows = np.asarray(net @ fresh.sum(axis=0)).ravel()
    scale = float(fresh.sum()) / max(float(design.sum()), 1.0)
    foreseen = np.asarray(net @ design.sum(axis=0)).ravel() * scale
    draws = np.asarray(net.power(2).sum(axis=1)).ravel()
    passed = np.ones(net.shape[0], bool)
    for s in range(len(fresh)):
        told = np.asarray(net @ fresh[s]).ravel()
        for bound, guess, sign in ((bounds[0][s], expected[0][s], 1), (bounds[1][s], expected[1][s], -1)):
            if (sign > 0 and bound <= 0) or (sign < 0 and bound >= 1):
                continue
            guess = min(max(guess, 1e-12), 1 - 1e-12)
            if noise is None:
                tilt = _tilt(foreseen, guess, sign, needed)
                taken = np.zeros(len(tilt))
            else:
                tilt = noisy_tilt(foreseen, draws, guess, sign, needed, noise)
                taken = draws * noise.log_mgf(tilt)
            passed &= tilt * told - rows * np.log1p(bound * np.expm1(tilt)) - taken >= needed
    return passed


def _tilt(rows: NDArray[np.float64], bound: float, sign: int, needed: float) -> NDArray[np.float64]:
    """λ that is best for the posterior that would just pass, for symbols of this many rows, or next to the best.

    Any λ that the fresh rows do not choose is valid, so between knots a straight line will do.
    """
    if not len(rows):
        return rows
    knots = np.geomspace(max(rows.min(), 1e-9), max(rows.max(), 1e-9), _KNOTS)
    near, far = np.full(_KNOTS, bound), np.full(_KNOTS, 1 - 1e-12 if sign > 0 else 1e-12)
    for _ in range(_BISECTIONS):
        middle = (near + far) / 2
        enough = knots * divergence(middle, bound) >= needed
        far, near = np.where(enough, middle, far), np.where(enough, near, middle)
    best = np.log(far / (1 - far)) - np.log(bound / (1 - bound))
    return np.interp(np.log(np.maximum(rows, 1e-9)), np.log(knots), best)


def divergence(q: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """Kullback-Leibler divergence of a coin of probability q from one of ``bound``, in nats."""
    return np.asarray(q * np.log(q / bound) + (1 - q) * np.log((1 - q) / (1 - bound)))


def _lifts(net: sparse.csr_array, joint: JointDistribution) -> NDArray[np.float64]:
    mass = np.asarray((net @ joint.pmf.T).T)
    return np.asarray(mass / joint.p_s[:, None] / mass.sum(axis=0))


def best_mixture(net: sparse.csr_array, profiles: Profiles) -> NDArray[np.float64]:
    """Amounts a >= 0 of each symbol with Σ_y a_y w_y(cell) = 1 for all cells that lose the least information."""
    from scipy.optimize import linprog

    solved = linprog(profiles.lost(net), A_eq=sparse.csc_array(net.T), b_eq=np.ones(net.shape[1]), method="highs-ds")
    if solved.x is None:
        raise SanitizeError(f"the linear program of the mixture failed: {solved.message}")
    return np.maximum(solved.x, 0.0)
