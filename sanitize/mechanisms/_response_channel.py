"""From posteriors and weights to the channel, repaired until it meets its budget as it is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from sanitize._stage import Stage
from sanitize.alphabet import Alphabet
from sanitize.budgets import TOLERANCE
from sanitize.channel import Channel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution

_SHOWN = 3
_CORRECTIONS, _BALANCED = 4, 1e-14
_LEAST_SHARE, _GROWTH, _LARGEST_SHARE = 1e-13, 4.0, 1e-3


def response_channel(
    joint: JointDistribution,
    budget: Budget,
    columns: sparse.csc_array,
    weights: NDArray[np.float64],
    laws: ConfidenceSet | None = None,
) -> Channel:
    """P(y|x) = weight(y) v_y(x) / P(x), rows made to sum to 1.

    Rows are normalised, so P_X is what it was, and columns move by rounding. Where one then exceeds the budget,
    which happens beside bounds of 1e-11 and for released symbols of probability 1e-12, a share of P_X is mixed
    into it, growing until it is within; a symbol too rare for that is merged into the likeliest one. Both keep
    the others inside: lifts only become averages.

    Parameters
    ----------
    joint : JointDistribution
    budget : Budget
    columns : sparse array of shape (n_x, n_y)
        Posteriors v_y.
    weights : ndarray of shape (n_y,)
        P(y).
    laws : ConfidenceSet, optional
        Repair until the budget holds under all of these laws.
    """
    weights = _balance(columns, weights, joint.p_x)
    mass = sparse.csc_array(columns @ sparse.diags_array(weights))
    share = np.zeros(len(weights))
    while True:
        channel = _build(joint, mass, share)
        excess = budget.excess(joint.release(channel)) if laws is None else laws.worst_case(channel).excess(budget)
        over = np.flatnonzero(excess > TOLERANCE)
        if not len(over):
            return channel
        p_y = np.asarray(mass.sum(axis=0)).ravel()
        share[over] = np.maximum(share[over] * _GROWTH, p_y[over] * _LEAST_SHARE)
        hopeless = over[share[over] > _LARGEST_SHARE * p_y[over]]
        if len(hopeless):
            if len(p_y) == 1:
                return Channel((Stage.deterministic(np.zeros(len(joint.public), np.int32), 1),), joint.public)
            mass, share = _merge(mass, share, hopeless)


def _balance(columns: sparse.csc_array, weights: NDArray[np.float64], p_x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights corrected so that the columns sum to P_X in every digit; the linear program leaves 1e-10.

    Columns may be nearly alike, so the smallest relative change of the weights that does it is taken.
    """
    system = sparse.csc_array(sparse.diags_array(1 / p_x) @ columns @ sparse.diags_array(weights))
    factor = np.ones(len(weights))
    error = 1 - system @ factor
    for _ in range(_CORRECTIONS):
        if np.abs(error).max() < _BALANCED:
            break
        trial = factor + lsqr(system, error, atol=1e-15, btol=1e-15, conlim=0.0, iter_lim=4 * len(weights))[0]
        remains = 1 - system @ trial
        if not (trial > 0).all() or np.abs(remains).max() >= np.abs(error).max():
            break
        factor, error = trial, remains
    return weights * factor


def _merge(
    mass: sparse.csc_array, share: NDArray[np.float64], over: NDArray[np.intp]
) -> tuple[sparse.csc_array, NDArray[np.float64]]:
    """The rarest symbol that is over, merged into the likeliest of the others."""
    p_y = np.asarray(mass.sum(axis=0)).ravel()
    rare = over[np.argmin(p_y[over])]
    others = np.delete(np.arange(len(p_y)), rare)
    target = others[np.argmax(p_y[others])]
    labels = np.arange(len(p_y))
    labels[rare] = target
    labels = np.unique(labels, return_inverse=True)[1]
    merge = sparse.csc_array((np.ones(len(p_y)), (np.arange(len(p_y)), labels)))
    return sparse.csc_array(mass @ merge), np.asarray(share @ merge)


def _build(joint: JointDistribution, mass: sparse.csc_array, share: NDArray[np.float64]) -> Channel:
    """Channel of masses P(x, y) plus shares of P_X in some columns."""
    p_x = joint.p_x
    rows = sparse.csr_array(sparse.diags_array(1 / p_x) @ mass)
    extra = np.flatnonzero(share)
    if len(extra):
        dense = sparse.csr_array(
            (np.tile(share[extra], len(p_x)), np.tile(extra, len(p_x)), np.arange(len(p_x) + 1) * len(extra)),
            shape=rows.shape,
        )
        rows = sparse.csr_array(rows + dense)
    rows.sort_indices()
    sums = np.add.reduceat(rows.data, rows.indptr[:-1])
    probabilities = rows.data / np.repeat(sums, np.diff(rows.indptr))
    stage = Stage.from_probabilities(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32), probabilities, rows.shape[1]
    )
    return Channel((stage,), joint.public, _names(joint.public, sparse.csc_array(mass)))


def _names(public: Alphabet, mass: sparse.csc_array) -> Alphabet:
    """Released symbols named by what they mean: the likeliest public symbols and their probabilities."""
    names = []
    for y in range(mass.shape[1]):
        entries = slice(mass.indptr[y], mass.indptr[y + 1])
        p, letters = mass.data[entries] / mass.data[entries].sum(), mass.indices[entries]
        order = np.lexsort((letters, -p))
        if len(p) == 1:
            names.append(public.label(int(letters[0])))
            continue
        shown = [f"{public.label(int(letters[k]))}: {p[k]:.0%}" for k in order[:_SHOWN]]
        rest = f", +{len(p) - _SHOWN} more" if len(p) > _SHOWN else ""
        names.append("{" + ", ".join(shown) + rest + "}")
    return Alphabet.of_labels("+".join(public.columns), names)
