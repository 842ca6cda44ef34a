"""The order of shuffled rows, told block by block: what is kept of it are tables that do not grow with the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sanitize._release.permutation import log_hypergeometric, log_matching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Codes: TypeAlias = "NDArray[np.int32]"

_MOST_KINDS = 64
_MOST_BLOCKS = 64


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Symbols with all but the most frequent made one."""

    of: NDArray[np.int64]
    n: int

    @classmethod
    def among(cls, counts: NDArray[np.int64]) -> _Kinds:
        """From how often each symbol occurs."""
        n = len(counts)
        of = np.full(n + 1, min(n, _MOST_KINDS - 1), np.int64)  # the last serves the code -1
        frequent = np.argsort(-counts, kind="stable")[: _MOST_KINDS - 1]
        of[frequent] = np.arange(len(frequent))
        return cls(of, min(n, _MOST_KINDS - 1) + 1)


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
    _odd: NDArray[np.int64]
    _alike: int = 0
    _row: int = 0
    _left: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

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
            np.zeros(printed.n, np.int64),
        )

    def add(self, y: NDArray[np.int32], beside: Sequence[NDArray[np.int32]]) -> None:
        """The next rows: printed symbols, -1 where the channel has no such symbol, and codes of the source's rows."""
        kinds = self._printed.of[y]
        n_blocks = len(self._blocks)
        place = np.minimum(np.arange(self._row, self._row + len(y)) * n_blocks // self.n, n_blocks - 1)
        self._row += len(y)
        for table, rows in ((self._blocks, place), *zip(self._tables, self._kinds_of(beside), strict=True)):
            table += np.bincount(rows * table.shape[1] + kinds, minlength=table.size).reshape(table.shape)
        kinds = np.concatenate([self._left, kinds])
        paired = len(kinds) // 2 * 2
        even, odd, self._left = kinds[:paired:2], kinds[1:paired:2], kinds[paired:]
        self._even += np.bincount(even, minlength=len(self._even))
        self._odd += np.bincount(odd, minlength=len(self._odd))
        self._alike += int((even == odd).sum())

    def _kinds_of(self, beside: Sequence[NDArray[np.int32]]) -> list[NDArray[np.int64]]:
        return [kinds.of[codes] for kinds, codes in zip(self._beside, beside, strict=True)]

    def log_chance(self) -> tuple[float, str]:
        """How unlikely the order of the rows is, and what gives it away."""
        if self.n < 2:
            return 0.0, "too few rows to tell"
        expected = float((self._even / self._even.sum() * self._odd).sum())
        found = [
            (_log_independent(self._blocks), "symbols crowd in some parts of the file"),
            (log_matching(float(self._alike), expected), "neighbours are too often alike or unlike"),
            *((_log_independent(table), "rows stand where their rows in the source stand") for table in self._tables),
        ]
        best = min(found)
        return best[0] + math.log(len(found)), best[1]


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
        for count, codes in zip(counts, block, strict=True):
            count += np.bincount(codes + 1, minlength=len(count))
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


def _log_independent(table: NDArray[np.int64]) -> float:
    """How unlikely the cell of a table of two sequences is, the worst of all, when one is in random order."""
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    return float(log_hypergeometric(table, rows, columns, int(table.sum())).min()) + math.log(table.size)
