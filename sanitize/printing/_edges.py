"""Small distributions in whole numbers: of a node given its parent, faded where rows are few, and draws from many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._checks import Codes, Mask, Vector
from sanitize._files.declared import require
from sanitize._tables.columns import check_type, factorize
from sanitize.trees import LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Lanes of the random source above those of channels and of numbers drawn inside bins.
PRINT_LANE = 1 << 21
MOST_ROWS = 1 << 53  # counts are drawn by as doubles
_HALF, _LOW = np.uint64(32), np.uint64((1 << 26) - 1)
# What the chances of a node given a state of its parent sum to, about: times messages they are exact as doubles.
WHOLE = 1 << 26


def faded(counts: NDArray[Any]) -> Vector:
    """T - k²/t of counts above k, else 0: an entry fades in, so that nobody is the one who makes it appear."""
    often = counts > LEAST_ROWS
    return np.where(often, counts - LEAST_ROWS**2 / np.maximum(counts, 1), 0.0)


def shares(counts: NDArray[np.int64]) -> Vector:
    """One-way distribution of a node, faded; as counted where all states are rare."""
    soft = faded(counts)
    soft = soft if soft.any() else counts.astype(np.float64)
    return soft / soft.sum()


def chances(
    counts: NDArray[np.int64],
    of_parent: Vector,
    of_child: Vector,
    banned: Mask,
    groups: Sequence[tuple[Codes, Codes]],
    price: float,
) -> tuple[Vector, int]:
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


def _fitted(table: Vector, rows: Vector, columns: Vector) -> Vector:
    """Table of given margins by iterative proportional fitting."""
    for _ in range(30):
        table = table * _ratio(rows, table.sum(axis=1))[:, None]
        ratio = _ratio(columns, table.sum(axis=0))
        table = table * ratio
        if np.abs(ratio - 1)[columns > 0].max(initial=0.0) < 1e-9:
            break
    return table


def _summed(groups: Codes, of_states: Vector) -> Vector:
    return np.bincount(groups, of_states).astype(np.float64)


def _information(table: Vector) -> float:
    """Mutual information of a table of probabilities, in nats."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = table > 0
    return float((table[seen] * np.log(table[seen] / product[seen])).sum())


def in_whole_numbers(table: Vector) -> NDArray[np.int64]:
    """Chances as whole numbers that sum to about 2**26; what is above 0 stays so."""
    return np.ceil(table * WHOLE).astype(np.int64)


def _ratio(wanted: Vector, found: Vector) -> Vector:
    return np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 1.0)


def check_starts(starts: NDArray[np.int64], n: int) -> None:
    """Refuse starts of runs, each of which holds some of n places."""
    require(starts.ndim == 1 and len(starts) > 1 and starts[0] == 0 and starts[-1] == n and (np.diff(starts) > 0).all())


def check_values(values: pa.Array, name: str) -> None:
    """Refuse values of a column that are nested, missing or there twice."""
    check_type(values.type, name)
    require(not values.null_count and len(factorize(values, name)[0]) == len(values), "must be distinct", "values")


def below(totals: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row a number from 0 to less than its total, floor(u * total / 2**32), from words u of 32 bits.

    Totals are below 2**52.
    """
    totals = totals.astype(np.uint64)
    high = words * (totals >> np.uint64(26))  # u * total does not fit in 64 bits; this and the rest of it do
    rest = ((high & np.uint64(63)) << np.uint64(26)) + words * (totals & _LOW)
    return ((high >> np.uint64(6)) + (rest >> _HALF)).astype(np.int64)


def draw_each(
    cumulative: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64], words: NDArray[np.uint64]
) -> Codes:
    """For each row a place from ``first`` to before ``last``, by weights that are given as their running total.

    Parameters
    ----------
    cumulative : ndarray of int, shape (n_places + 1,)
        Weights before each place; all distributions stand one after another.
    first, last : ndarray of int, shape (n,)
        The places of the distribution of each row.
    words : ndarray of uint64, shape (n,)
        Words of 32 bits.
    """
    start = cumulative[first]
    drawn = start + below(cumulative[last] - start, words)
    return np.searchsorted(cumulative, drawn, side="right") - 1


def drawn_states(weights: NDArray[np.int64], line: Codes, words: NDArray[np.uint64]) -> Codes:
    """For each row a state, by the weights in its line; weights have shape (n_lines, n_states)."""
    first = line * weights.shape[1]
    return draw_each(np.append(0, np.cumsum(weights)), first, first + weights.shape[1], words) - first


def high_half(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The upper 32 bits of words of 64."""
    return words >> _HALF


def released(values: pa.Array, places: NDArray[np.integer[Any]]) -> pa.DictionaryArray:
    """Column of some values, -1 for missing, whose dictionary names no others: a file would hold them too."""
    seen = np.zeros(len(values) + 1, bool)
    seen[places] = True  # -1 is the last
    place = (np.cumsum(seen) - 1).astype(np.int32).take(places, mode="wrap")
    missing = places < 0 if seen[-1] else None
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=missing), values.filter(pa.array(seen[:-1])))
