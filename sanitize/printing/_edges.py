"""The distribution of a node given its parent: pairs of many rows as counted, all others as if independent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.trees import LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# What the chances of a node given a state of its parent sum to, about: times messages they are exact as doubles.
WHOLE = 1 << 26


def faded(counts: NDArray[Any]) -> NDArray[np.float64]:
    """T - k²/t of counts above k, else 0: an entry fades in, so that nobody is the one who makes it appear."""
    often = counts > LEAST_ROWS
    return np.where(often, counts - LEAST_ROWS**2 / np.maximum(counts, 1), 0.0)


def shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """One-way distribution of a node, faded; as counted where all states are rare."""
    soft = faded(counts)
    soft = soft if soft.any() else counts.astype(np.float64)
    return soft / soft.sum()


def chances(
    counts: NDArray[np.int64],
    of_parent: NDArray[np.float64],
    of_child: NDArray[np.float64],
    banned: NDArray[np.bool_],
    groups: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    price: float,
) -> tuple[NDArray[np.float64], int]:
    """Distribution of the child given each state of the parent, and how many counts it takes from the table.

    Few rows fill few pairs of fine states: they are counted in those groups of states whose faded table tells most for
    the number of its entries, and states of a group differ in their one-way frequencies alone.

    Parameters
    ----------
    counts : ndarray of int, shape (n_parent, n_child)
        Rows of each pair of states.
    of_parent, of_child : ndarray of float
        One-way distributions, which the table is fitted to.
    banned : ndarray of bool, shape (n_parent, n_child) or (1, 1)
        Pairs that must not occur.
    groups : sequence of pairs of ndarrays
        Groups of the parent's and the child's states, to choose from.
    price : float
        Of an entry, in 1/(2n) nats: what independent states show by chance, and what it gives away of people.

    Returns
    -------
    ndarray of float, shape (n_parent, n_child)
        Rows sum to 1.
    int
    """
    n, table, told, used = counts.sum(), np.outer(of_parent, of_child), -1.0, 0
    for parent, child in groups:
        shape = int(parent.max()) + 1, int(child.max()) + 1
        rows, margins = np.zeros(shape), [_summed(parent, of_parent), _summed(child, of_child)]
        np.add.at(rows, np.ix_(parent, child), counts)
        soft, independent = faded(rows), np.outer(*margins)
        fitted = _fitted(soft + (n - soft.sum()) * independent, *margins)
        if (tells := _information(fitted) - price * np.count_nonzero(soft) / (2 * n)) > told:
            spread = np.divide(fitted, independent, out=np.zeros(shape), where=independent > 0)
            table = np.outer(of_parent, of_child) * spread[np.ix_(parent, child)]
            told, used = tells, int(np.count_nonzero(soft))
    table = _fitted(np.where(banned, 0.0, table), of_parent, of_child)
    alone = table.sum(axis=1) == 0  # states that are printed only where a cell demands them
    table[alone] = np.where(np.broadcast_to(banned, table.shape)[alone], 0.0, of_child)
    table[table.sum(axis=1) == 0] = of_child
    return table / table.sum(axis=1, keepdims=True), used


def _fitted(table: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Table of given margins by iterative proportional fitting."""
    for _ in range(30):
        table = table * _ratio(rows, table.sum(axis=1))[:, None]
        ratio = _ratio(columns, table.sum(axis=0))
        table = table * ratio
        if np.abs(ratio - 1)[columns > 0].max(initial=0.0) < 1e-9:
            break
    return table


def _summed(groups: NDArray[np.intp], of_states: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(groups, of_states).astype(np.float64)


def _information(table: NDArray[np.float64]) -> float:
    """Mutual information of a table of probabilities, in nats."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = table > 0
    return float((table[seen] * np.log(table[seen] / product[seen])).sum())


def in_whole_numbers(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Chances as whole numbers that sum to about 2**26; what is above 0 stays so."""
    return np.ceil(table * WHOLE).astype(np.int64)


def _ratio(wanted: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 1.0)
