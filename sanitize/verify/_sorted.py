"""Whether shuffled rows stand as if they had been sorted by a column of the source: S, X, or one column of them.

Sorted rows of each value stand together, and how many there are is known. So the file is cut where the values would
change, and the symbols of the pieces are compared; symbols that tell the column alike are one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sanitize._release.permutation import log_chances
from sanitize._tables.combined import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.alphabet import Alphabet
    from sanitize.channel import Channel

_MOST_PIECES = 64
_KINDS = 8


@dataclass(eq=False)
class SortedTally:
    """Counts of kinds of symbols by piece of the file, for every way it may have been sorted."""

    _ends: list[NDArray[np.int64]]
    _kinds: list[NDArray[np.intp]]
    _tables: list[NDArray[np.int64]]
    _row: int = 0

    @classmethod
    def of(
        cls,
        channel: Channel,
        sensitive: Alphabet,
        inputs: NDArray[np.int64],
        y_counts: NDArray[np.int64],
        dense: NDArray[np.float64] | None,
    ) -> SortedTally:
        """Empty tables, from the rows of the source by sensitive and public symbol, shape (n_s, n_x)."""
        ends, kinds = [], []
        orders = list(_orders(sensitive, np.asarray(channel.push(inputs.astype(np.float64))), inputs.sum(axis=1)))
        if dense is not None:
            sizes = inputs.sum(axis=0)
            orders += list(_orders(channel.inputs, dense * sizes[:, None], sizes))
        for table, sizes in orders:
            if len(sizes) < 2:
                continue
            rank = np.arange(len(sizes)) @ table / np.maximum(table.sum(axis=0), 1e-300)
            for turned in (sizes, sizes[::-1]):
                pieces = np.cumsum(turned)
                ends.append(pieces if len(pieces) <= _MOST_PIECES else pieces[:: -(-len(pieces) // _MOST_PIECES)])
                kinds.append(_kinds(rank, y_counts))
        tables = [np.zeros((len(end) + 1, _KINDS), np.int64) for end in ends]
        return cls(ends, kinds, tables)

    def add(self, y: NDArray[np.signedinteger]) -> None:
        """The next rows; symbols that the channel does not know are left out."""
        if not self._tables:  # one value alone cannot be sorted
            return
        edges = np.unique(np.concatenate(self._ends)) - self._row
        edges = edges[(edges > 0) & (edges < len(y))].tolist()
        for begin, end in pairwise([0, *edges, len(y)]):
            self._add_piece(y[begin:end], self._row + begin)
        self._row += len(y)

    def _add_piece(self, y: NDArray[np.signedinteger], first: int) -> None:
        """Rows from number ``first`` on, which no way of sorting cuts."""
        n_y = len(self._kinds[0])
        if n_y <= len(y):
            counts = count(y + 1, n_y + 1)[1:]  # the first is of the code -1
            shape = (len(self._kinds), _KINDS)
            weights = np.broadcast_to(counts, (len(self._kinds), n_y)).reshape(-1)
            added = (
                np.bincount(self._cells, weights=weights, minlength=math.prod(shape)).astype(np.int64).reshape(shape)
            )
        else:
            known = y[y >= 0]
            added = np.array([np.bincount(kinds[known], minlength=_KINDS) for kinds in self._kinds])
        for ends, table, found in zip(self._ends, self._tables, added, strict=True):
            table[np.searchsorted(ends, first, side="right")] += found

    @cached_property
    def _cells(self) -> NDArray[np.intp]:
        """Number of each symbol's kind, of all ways of sorting one after another."""
        return np.concatenate([way * _KINDS + kinds for way, kinds in enumerate(self._kinds)])

    def log_chance(self) -> float:
        """How unlikely the pieces are when the rows were shuffled, the worst way of all."""
        if not self._tables:
            return 0.0
        return min(0.0, float(log_chances(self._tables).min()) + math.log(len(self._tables)))


def _orders(
    alphabet: Alphabet, table: NDArray[np.float64], sizes: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Expected rows by value and released symbol, and rows by value: of the whole symbol, and of each column."""
    yield table, sizes
    for column in alphabet.codes.T if len(alphabet.columns) > 1 else ():
        values, place = np.unique(column, return_inverse=True)
        summed = np.zeros((len(values), table.shape[1]))
        np.add.at(summed, place.reshape(-1), table)
        yield summed, np.bincount(place.reshape(-1), weights=sizes).astype(np.int64)


def _kinds(rank: NDArray[np.float64], y_counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Symbols of a similar rank are of one kind; kinds have about as many rows."""
    order = np.argsort(rank, kind="stable")
    kinds = np.empty(len(rank), np.intp)
    before = np.cumsum(y_counts[order]) - y_counts[order]
    kinds[order] = before * _KINDS // max(int(y_counts.sum()), 1)
    return np.minimum(kinds, _KINDS - 1)
