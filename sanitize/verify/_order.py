"""The order of shuffled rows, told block by block: what is kept of it are tables that do not grow with the rows."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sanitize._release.permutation import log_independent, log_matching
from sanitize._tables.combined import count, count_pairs, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Codes: TypeAlias = "NDArray[np.signedinteger]"

_MOST_KINDS = 64
_MOST_BLOCKS = 64
# Rows whose intermediate arrays stay in the cache, and cells of a table that does.
_ROWS, _CELLS = 1 << 18, 1 << 15


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Symbols with all but the most frequent made one."""

    of: NDArray[np.uint8]
    n: int

    @classmethod
    def among(cls, counts: NDArray[np.int64]) -> _Kinds:
        """From how often each symbol occurs."""
        n = len(counts)
        of = np.full(n + 1, min(n, _MOST_KINDS - 1), np.uint8)  # the first serves the code -1
        frequent = np.argsort(-counts, kind="stable")[: _MOST_KINDS - 1]
        of[frequent + 1] = np.arange(len(frequent))
        return cls(of, min(n, _MOST_KINDS - 1) + 1)

    def of_rows(self, codes: Codes) -> NDArray[np.uint8]:
        """Kind of each row."""
        return spread(self.of, codes + 1)


@dataclass(eq=False)
class OrderTally:
    """Where symbols stand in a file, beside which neighbours, and beside which rows of the source.

    Attributes
    ----------
    n : int
        Rows of the release.
    """

    n: int
    _printed: _Kinds
    _beside: list[_Kinds]
    _blocks: NDArray[np.int64]
    _tables: list[NDArray[np.int64]]
    _even: NDArray[np.int64]
    _alike: int = 0
    _row: int = 0
    _left: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))

    @classmethod
    def of(cls, n: int, y_counts: NDArray[np.int64], beside: Sequence[NDArray[np.int64]]) -> OrderTally:
        """Empty tables.

        Parameters
        ----------
        n : int
            Rows of the release.
        y_counts : ndarray of int64, shape (n_y,)
            How often each symbol is printed.
        beside : sequence of ndarray of int64
            How often each symbol occurs in codes of the source's rows, which a shuffled release is independent of.
        """
        printed, others = _Kinds.among(y_counts), [_Kinds.among(counts) for counts in beside]
        n_blocks = int(np.clip(n // 50, 2, _MOST_BLOCKS))
        return cls(
            n,
            printed,
            others,
            np.zeros((n_blocks, printed.n), np.int64),
            [np.zeros((other.n, printed.n), np.int64) for other in others],
            np.zeros(printed.n, np.int64),
        )

    def add(self, y: Codes, beside: Sequence[Codes]) -> None:
        """The next rows: printed symbols, -1 where the channel has no such symbol, and codes of the source's rows."""
        while len(y):
            # Pieces end where blocks do.
            place = self._row * len(self._blocks) // self.n
            end = -(-(place + 1) * self.n // len(self._blocks)) if place < len(self._blocks) - 1 else sys.maxsize
            piece = slice(0, min(_ROWS, end - self._row))
            self._add(y[piece], [codes[piece] for codes in beside], min(place, len(self._blocks) - 1))
            y, beside = y[piece.stop :], [codes[piece.stop :] for codes in beside]

    def _add(self, y: Codes, beside: Sequence[Codes], block: int) -> None:
        kinds = self._printed.of_rows(y)
        self._row += len(y)
        own = [others.of_rows(codes) for others, codes in zip(self._beside, beside, strict=True)]
        sizes = [others.n for others in self._beside]
        if math.prod(sizes) * self._printed.n <= _CELLS:
            counts = _counted([*own, kinds], [*sizes, self._printed.n])
            added = [
                counts.sum(axis=tuple(other for other in range(len(own)) if other != axis)) for axis in range(len(own))
            ]
        else:
            added = [_counted([others, kinds], table.shape) for others, table in zip(own, self._tables, strict=True)]
        for table, found in zip(self._tables, added, strict=True):
            table += found
        self._blocks[block] += added[0].sum(axis=0) if added else count(kinds, self._printed.n)
        kinds = np.concatenate([self._left, kinds])
        paired = len(kinds) // 2 * 2
        pairs, self._left = count_pairs(kinds[:paired], len(self._even)), kinds[paired:]
        self._even += pairs.sum(axis=0)
        self._alike += int(np.trace(pairs))

    def log_chance(self) -> tuple[float, str]:
        """How unlikely the order of the rows is, and what gives it away."""
        if self.n < 2:
            return 0.0, "too few rows to tell"
        odd = self._blocks.sum(axis=0) - self._even - count(self._left, len(self._even))
        expected = float((self._even / self._even.sum() * odd).sum())
        found = [
            (log_independent(self._blocks), "symbols crowd in some parts of the file"),
            (log_matching(float(self._alike), expected), "neighbours are too often alike or unlike"),
            *((log_independent(table), "rows stand where their rows in the source stand") for table in self._tables),
        ]
        best = min(found)
        return best[0] + math.log(len(found)), best[1]


def _counted(kinds: Sequence[NDArray[np.uint8]], shape: Sequence[int]) -> NDArray[np.int64]:
    """Rows by their kinds of several sorts, whose numbers fit in 16 bits together."""
    cells = kinds[0].astype(np.uint16)
    for others, n in zip(kinds[1:], shape[1:], strict=True):
        cells *= np.uint16(n)
        cells += others
    return count(cells, math.prod(shape)).reshape(tuple(shape))


def log_chance_of_same_order(pairs: Callable[[], Iterator[tuple[Codes, Codes]]], n_codes: tuple[int, int]) -> float:
    """How unlikely it is that two shuffled releases go up and down together as they do.

    Parameters
    ----------
    pairs : callable
        Gives the printed symbols of both in blocks of the same rows; it is called twice.
    n_codes : tuple of two int
        How many symbols each may print.
    """
    counts = [np.zeros(n + 1, np.int64) for n in n_codes]  # the first is of the code -1
    for block in pairs():
        for found, codes in zip(counts, block, strict=True):
            found += count(codes + 1, len(found))
    n = int(counts[0].sum())
    if n < 2:
        return 0.0
    middles = [int(np.searchsorted(np.cumsum(count), n // 2, side="right")) for count in counts]
    agree = 0
    for one, other in pairs():
        agree += int(((one + 1 >= middles[0]) == (other + 1 >= middles[1])).sum())
    shares = [float(count[middle:].sum() / n) for count, middle in zip(counts, middles, strict=True)]
    expected = n * (shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1]))
    return log_matching(float(agree), expected)
