"""Bounds on chance for sequences in random order; they hold for any number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtr, chdtrc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

# Rounding of expected counts, in rows.
_ROUNDING = 1e-6
# Cells of tables that are looked at together.
_CELLS = 1 << 17
# From this expected count in every cell on the chi-square law of G is used too; it is asymptotic.
_ENOUGH = 25


def log_hypergeometric(found: NDArray[Any], a: NDArray[Any], b: NDArray[Any], n: ArrayLike) -> NDArray[np.float64]:
    """Log of Hoeffding's bound on so many common elements of two subsets, one of them random, of n elements."""
    fewer, more = np.minimum(a, b), np.maximum(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(fewer > 0, found / fewer, 0.0)
        p = more / n
        divergence = _times_log(q, p) + _times_log(1 - q, 1 - p)
    return np.minimum(0.0, math.log(2) - fewer * np.nan_to_num(divergence, nan=0.0, posinf=1e9))


def _times_log(q: NDArray[Any], p: NDArray[Any]) -> NDArray[np.float64]:
    """Q log(q / p), in a fraction of the time of SciPy's exact products."""
    return np.where(q > 0, q * np.log(q / p), 0.0)


def log_matching(found: float, expected: float) -> float:
    """Log of Chatterjee's bound on so many matches of two sequences, one of them in random order."""
    t = max(abs(found - expected) - _ROUNDING, 0.0)
    return min(0.0, math.log(2) - t * t / (4 * expected + 2 * t)) if t else 0.0


def log_independent(table: NDArray[np.int64]) -> float:
    """How unlikely the cell of a table of two sequences is, the worst of all, when one is in random order."""
    if not table.any():
        return math.log(max(table.size, 1))
    return float(_Together.of([table]).log_worst_cells()[0]) + math.log(table.size)


def log_chances(tables: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """How unlikely tables of two sequences are when one is in random order: the worst cell, and G where counts allow.

    G = 2 n I is chi-square distributed with (r - 1)(c - 1) degrees of freedom, asymptotically; it adds up the small
    deviations of many cells, which no single cell shows.

    Parameters
    ----------
    tables : sequence of ndarray of int, shape (n_places, n_symbols)
        Each has places of its own, and all have the same symbols; those that do not occur are no part of a table.

    Returns
    -------
    ndarray of float, shape (n_tables,)
        Logs of bounds on the chance, at most 0.
    """
    return np.concatenate([_Together.of(part).log_chances() for part in _parts(tables)])


def _parts(tables: Sequence[NDArray[np.int64]]) -> Iterator[list[NDArray[np.int64]]]:
    """Tables one after another, as many at a time as stay in the cache together."""
    part: list[NDArray[np.int64]] = []
    n_cells = 0
    for table in tables:
        if part and n_cells + table.size > _CELLS:
            yield part
            part, n_cells = [], 0
        part.append(table)
        n_cells += table.size
    yield part


@dataclass(frozen=True, eq=False)
class _Together:
    """Tables of the same symbols side by side: calls for each of hundreds take more than what they compute.

    Attributes
    ----------
    counts : ndarray of int, shape (n_symbols, n_places)
    starts : ndarray of int, shape (n_tables,)
        First place of each table.
    table : ndarray of int, shape (n_places,)
        Table of each place.
    places : ndarray of int, shape (n_places,)
        Rows of each place.
    symbols : ndarray of int, shape (n_symbols, n_tables)
        Rows of each table by symbol.
    n : ndarray of int, shape (n_tables,)
        Rows of each table, or 1 where there are none.
    expected : ndarray of float, shape (n_symbols, n_places)
        Counts of independent sequences.
    """

    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    table: NDArray[np.intp]
    places: NDArray[np.int64]
    symbols: NDArray[np.int64]
    n: NDArray[np.int64]
    expected: NDArray[np.float64]

    @classmethod
    def of(cls, tables: Sequence[NDArray[np.int64]]) -> _Together:
        """Tables that have at least one place each."""
        counts, lengths = np.ascontiguousarray(np.concatenate(tables).T), [len(table) for table in tables]
        starts, table = np.cumsum([0, *lengths[:-1]]), np.repeat(np.arange(len(lengths)), lengths)
        places, symbols = counts.sum(axis=0), np.add.reduceat(counts, starts, axis=1)
        n = np.maximum(symbols.sum(axis=0), 1)
        return cls(counts, starts, table, places, symbols, n, places * (symbols / n)[:, table])

    def log_chances(self) -> NDArray[np.float64]:
        """Log of the bound on the chance of each table."""
        n_places = np.add.reduceat((self.places > 0).astype(np.int64), self.starts)
        n_symbols = np.count_nonzero(self.symbols, axis=0)
        degrees = np.maximum((n_places - 1) * (n_symbols - 1), 0)
        found = self.log_worst_cells() + np.log(np.maximum(n_places * n_symbols, 1))
        tested, divergences = self._divergences()
        tails = log_chi_square_tail(2 * divergences, np.maximum(degrees, 1))
        found[tested] = np.minimum(found, tails)[tested]
        return np.where(degrees > 0, np.minimum(found + math.log(2), 0.0), 0.0)

    def log_worst_cells(self) -> NDArray[np.float64]:
        """Log of the bound on the least likely cell of each table.

        A divergence is at most chi-square, so few cells need their logarithms: that of the largest chi-square in each
        table, and then those that may be below it.
        """
        of_places, of_symbols = self.places / self.n[self.table], self.symbols / self.n
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = self.counts - self.expected
            squares *= squares
            squares /= self.places * (1 - of_places)
            squares /= (of_symbols * (1 - of_symbols))[:, self.table]
        most = squares.max(axis=0)
        if np.isnan(most).any():
            squares[np.isnan(squares)] = 0.0
            most = squares.max(axis=0)
        largest = np.maximum.reduceat(most, self.starts)
        for _ in range(2):
            rivals = np.flatnonzero(most >= largest[self.table])
            symbol, rival = np.nonzero(squares[:, rivals] >= largest[self.table[rivals]])
            place, table = rivals[rival], self.table[rivals[rival]]
            logs = log_hypergeometric(
                self.counts[symbol, place], self.places[place], self.symbols[symbol, table], self.n[table]
            )
            worst = np.zeros(len(self.n))
            np.minimum.at(worst, table, logs)
            # No log is below that of two less chi-square of cell, place, symbol and the others, as it is here.
            largest = (math.log(2) - worst) * (1 - 1e-9)
        return worst

    def _divergences(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which tables expect enough rows in every cell, and the divergence n I of those; 0 of others."""
        most = np.iinfo(np.int64).max
        fewest = np.minimum.reduceat(np.where(self.places > 0, self.places, most), self.starts).astype(np.float64)
        fewest *= np.where(self.symbols > 0, self.symbols, most).min(axis=0)
        is_enough = fewest >= _ENOUGH * self.n
        chosen = np.flatnonzero(is_enough[self.table])
        counts = self.counts[:, chosen]
        logs = np.log(np.maximum(counts, 1) / np.maximum(self.expected[:, chosen], 1))
        logs *= counts
        summed = np.zeros(len(self.n))
        np.add.at(summed, self.table[chosen], logs.sum(axis=0))
        return is_enough, summed


def log_chi_square_tail(values: ArrayLike, degrees: ArrayLike) -> NDArray[np.float64]:
    """Logs of the chance of more than ``values``: ``scipy.stats`` takes a hundred times as long to ask."""
    values = np.maximum(values, 0.0)  # rounding: no divergence is negative
    tail = chdtrc(degrees, values)
    with np.errstate(divide="ignore"):
        return np.where(tail < 0.5, np.log(tail), np.log1p(-chdtr(degrees, values)))
