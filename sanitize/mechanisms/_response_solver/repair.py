"""Construction of a channel from posteriors and weights, with repairs until its leakage is within the budget."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.checks import Codes, Vector
from sanitize._util.tolerances import BUDGET
from sanitize.core.alphabet import Alphabet, group_label
from sanitize.core.channel import Channel, Stage
from sanitize.core.lifts import lift

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._response_solver.posterior_set import Cuts
    from sanitize.mechanisms._response_solver.side_knowledge import SideKnowledge

# Corrections of weights, each of which leaves little of the error, are not needed below some roundings. Conjugate
# gradients take at most about four steps per weight until the squared slope is rounding.
_CORRECTIONS, _BALANCED, _EXACT, _GRADIENTS = 4, 1e-14, 1e-30, 4
# A lent share begins at the size of rounding and grows fourfold until the symbol is within the budget; above a
# thousandth the repair would cost more than rounding, and the symbol is merged. No giver lends more than half, so that
# none is used up.
_LEAST_SHARE, _GROWTH, _LARGEST_SHARE, _MOST_LENT = 1e-13, 4.0, 1e-3, 0.5


def response_channel(
    joint: JointDistribution,
    budget: Budget,
    columns: sparse.csc_array,
    weights: Vector,
    distributions: ConfidenceSet | None = None,
    side: SideKnowledge | Cuts | None = None,
    groups: Codes | None = None,
) -> Channel:
    """Build the channel P(y|x) = weight(y) v_y(x) / P(x) with normalised rows, repaired to be within the budget.

    Rows are normalised, so P_X is unchanged, but columns move by rounding. A released symbol may then exceed the
    budget, which happens with bounds of 1e-11 and for symbols of probability 1e-12. In this case a share of another
    released symbol is released under the first one's name. The giver is the symbol that brings it furthest inside the
    budget, and the share grows until it is within. The giver keeps its posterior, and nothing changes for other
    symbols. A symbol too rare for this repair is merged into the likeliest one. Columns stay sparse, because they mix
    few symbols.

    Parameters
    ----------
    joint : JointDistribution
    budget : Budget
    columns : csc_array of shape (n_x, n_y)
        Posteriors v_y.
    weights : ndarray of shape (n_y,)
        P(y).
    distributions : ConfidenceSet, optional
        Repair until the budget holds under all of these distributions.
    side : SideKnowledge, optional
        Repair until the budget also holds for readers with this knowledge.
    groups : ndarray of int, shape (n_x,), optional
        Group of each symbol; no released symbol mixes two groups, before or after repairs.
    """
    mass = _balance_masses(columns, weights, joint.p_x)
    share = np.zeros(len(weights))
    while True:
        rows, n_y = mass.tocsr(), mass.shape[1]
        sums = np.add.reduceat(rows.data, rows.indptr[:-1])
        stage = Stage.from_masses(rows.indptr.astype(np.int64), rows.indices, rows.data, sums, n_y)
        channel = Channel((stage,), joint.public)
        channel = channel.renamed(outputs=_response_names(channel))
        released = joint.push(channel)
        excess = budget.excess(released) if distributions is None else distributions.worst_case(channel).excess(budget)
        if side is not None:
            excess = np.maximum(excess, side.excess(budget, channel))
        over = np.flatnonzero(excess > BUDGET)
        if not len(over):
            return channel
        group = np.zeros(n_y, np.intp) if groups is None else groups[mass.indices[mass.indptr[:-1]]]
        over = over[np.bincount(group)[group[over]] > 1]  # a symbol alone in its group reveals no more than the group
        if groups is not None and not len(over):
            return channel
        if len(share) == 1:
            return Channel((Stage.deterministic(np.zeros(len(joint.public), np.int32), 1),), joint.public)
        share[over] = np.maximum(share[over] * _GROWTH, _LEAST_SHARE)
        hopeless = over[share[over] > _LARGEST_SHARE]
        if len(hopeless):
            mass, share = _merge(mass, share, int(hopeless[np.argmin(released.p_x[hopeless])]), released.p_x, group)
        else:
            worst = None if distributions is None and side is None else excess
            mass = _lend(mass, budget, released, over, share[over], worst, group)


def _balance_masses(columns: sparse.csc_array, weights: Vector, p_x: Vector) -> sparse.csc_array:
    """Correct the masses weight(y) v_y(x) so that they sum to P_X exactly; linear programs leave errors of 1e-10.

    Columns may be nearly equal, so the smallest sufficient relative change of the weights is used.
    """
    owner = np.arange(len(weights)).repeat(np.diff(columns.indptr))
    masses, factor = columns.data * weights[owner], np.ones(len(weights))
    shares = sparse.csc_array((masses / p_x[columns.indices], columns.indices, columns.indptr), shape=columns.shape)
    error: Vector = np.asarray(1.0 - np.bincount(shares.indices, shares.data, len(p_x)))
    for _ in range(_CORRECTIONS):
        if np.abs(error).max() < _BALANCED:
            break
        trial = factor + _least_change(shares, error)
        remains = 1 - shares @ trial
        if not (trial > 0).all() or np.abs(remains).max() >= np.abs(error).max():
            break
        factor, error = trial, remains
    return sparse.csc_array((masses * factor[owner], columns.indices, columns.indptr), shape=columns.shape)


def _least_change(shares: sparse.csc_array, error: Vector) -> Vector:
    """Smallest change of the weights that removes the error, by conjugate gradients on the squared error."""
    change, slope = np.zeros(shares.shape[1]), shares.T @ error
    way, first = slope, float((slope * slope).sum())
    size = first
    for _ in range(_GRADIENTS * len(change)):
        if size <= _EXACT * first:
            break
        moved = shares @ way
        step = size / float((moved * moved).sum())
        change, error = change + step * way, error - step * moved
        slope = shares.T @ error
        last, size = size, float((slope * slope).sum())
        way = slope + size / last * way
    return change


def _lend(
    mass: sparse.csc_array,
    budget: Budget,
    released: JointDistribution,
    over: Codes,
    share: Vector,
    worst: Vector | None,
    group: Codes,
) -> sparse.csc_array:
    """Return the masses after each symbol over the budget gets a part of the symbol that lowers its leakage most.

    Under a set of distributions or with side knowledge, the giver is the symbol furthest inside the budget in its own
    ``worst`` case: posteriors within the budget in all cases form a cone.
    """
    lifts, p_y, n_y = lift(released), released.p_x, len(released.p_x)
    within = np.setdiff1d(np.arange(n_y), over)
    lent, giver = np.zeros(len(over)), np.zeros(len(over), np.intp)
    for k, (y, part) in enumerate(zip(over.tolist(), share.tolist(), strict=True)):
        givers = within[group[within] == group[y]]
        options = givers if len(givers) else np.setdiff1d(np.flatnonzero(group == group[y]), [y])
        if worst is None:
            left = budget.lift_excess((lifts[:, [y]] + part * lifts[:, options]) / (1 + part), released.p_s)
        else:
            left = worst[options]
        # A rare giver would be used up, and the repair would end with its own symbol over the budget.
        rarity = np.where(part * p_y[y] > _LARGEST_SHARE * p_y[options], np.inf, 0.0)
        giver[k] = options[np.argmin(left + rarity)]
        lent[k] = min(part * p_y[y] / p_y[giver[k]], _LARGEST_SHARE)
    lent /= np.maximum(np.bincount(giver, lent, n_y) / _MOST_LENT, 1)[giver]
    rows = np.concatenate([np.arange(n_y), giver, giver])
    columns = np.concatenate([np.arange(n_y), over, giver])
    parts = np.concatenate([np.ones(n_y), lent, -lent])
    return sparse.csc_array(mass @ sparse.csc_array((parts, (rows, columns)), shape=(n_y, n_y)))


def _merge(
    mass: sparse.csc_array, share: Vector, rare: int, p_y: Vector, group: Codes
) -> tuple[sparse.csc_array, Vector]:
    """Merge a symbol that cannot be repaired into the likeliest other symbol of its group."""
    options = np.setdiff1d(np.flatnonzero(group == group[rare]), [rare])
    labels = np.arange(len(p_y))
    labels[rare] = options[np.argmax(p_y[options])]
    labels = np.unique(labels, return_inverse=True)[1]
    merge = sparse.csc_array((np.ones(len(p_y)), (np.arange(len(p_y)), labels)))
    return sparse.csc_array(mass @ merge), np.delete(share, rare)


def _response_names(channel: Channel) -> Alphabet:
    """Alphabet of the released symbols, each named by the public symbols that may lead to it, in ascending order.

    Names contain no shares and are not ordered by shares, because these are figures of the table that would appear in
    every row.
    """
    public = channel.inputs

    def names() -> list[str]:
        matrix = sparse.csc_array(channel.sparse_matrix())
        matrix.eliminate_zeros()
        members = [sorted(matrix.indices[first:end].tolist()) for first, end in pairwise(matrix.indptr.tolist())]
        return [group_label(public, symbols, len(symbols)) for symbols in members]

    return Alphabet.from_n_labels("+".join(public.columns), channel.n_outputs, names)


def channel_posteriors(p_x: Vector, channel: Channel) -> Vector:
    """Posteriors P(x|y) of a channel, shape (n_y, n_x)."""
    masses = channel.matrix * p_x[:, None]
    return np.asarray((masses / masses.sum(axis=0)).T)
