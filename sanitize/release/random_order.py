"""Tests of whether a sequence of symbols is in random order: by blocks of all sizes, and by neighbours.

Every chance bounds that of a uniformly random order of the very rows that are there, whatever their number and
frequencies. The rows of a symbol are then a random set A, of m of n rows. A distribution of sequences that gives weight
w to an arrangement, and no less to one that is further from what is expected, has at most 1 / w of them: of (n choose
m).

* Blocks: each row is in A by itself, in a block of b rows with the share j / b and outside with (m - j) / (n - b). The
  same holds of A given the rows of another sequence.
* Turns: the same of every second row.
* Neighbours: given all others, every second row is in A as in a block, which is those of them that stand between two
  given symbols, or after one.

Chernoff's bound turns means into chances, and all tests share one rate of false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from sanitize.core.confidence import clopper_pearson
from sanitize.tables.keys import count

Numbers = Any  # a number or an array of them

SEGMENT_ROWS = 1 << 15  # of a segment, a power of 2
# Both neighbours are looked at among so many.
_FEW_SYMBOLS = 8
# Rows of the smallest blocks: counts of fewer say too little of a place.
_FEWEST_ROWS = 8
_TABLE_CELLS = 1 << 17  # of a table of blocks and symbols
_KINDS = 3  # of tests
# Places tell no more than what intervals of their shares, which all hold but for this chance, leave them.
_INTERVAL = 1e-3


@dataclass(frozen=True, eq=False)
class Finding:
    """Pattern of a sequence that a random order does not explain.

    Attributes
    ----------
    where : str
    log_chance : float
        Log of a bound on the chance of what is as unlikely, in any of the tests of a sequence.
    distributions : ndarray of float, shape (n_symbols, n_places)
        Of the symbols at places that the order tells.
    """

    where: str
    log_chance: float
    distributions: NDArray[np.float64]


def log_overlap(n_common: Numbers, a: Numbers, b: Numbers, n: Numbers) -> NDArray[np.float64]:
    """Logs of bounds on the chance that two sets of a and b of n rows, one of them random, overlap this much."""
    n_common = np.clip(n_common, np.maximum(a + b - n, 0), np.minimum(a, b))
    ways = _log_ways(n_common, a - n_common) + _log_ways(b - n_common, n - a - b + n_common)
    return np.minimum(0.0, math.log(2) + ways - _log_choices(n, b))


def log_cells(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logs of bounds on the chance of each count in a table of two sequences, one of them in random order."""
    return log_overlap(table, table.sum(axis=1, keepdims=True), table.sum(axis=0), table.sum())


def _log_ways(*parts: Numbers) -> Any:
    """Log of n^n over the product of k^k, where the parts k sum to n."""
    n = sum(parts)
    return xlogy(n, n) - sum(xlogy(part, part) for part in parts)


def _log_choices(n: Numbers, k: Numbers) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def findings(blocks: NDArray[np.int64], size: int, rows: NDArray[np.uint8], log_rate: float) -> list[Finding]:
    """Return the patterns of a sequence, least likely first; a random order has any with probability e^log_rate.

    Parameters
    ----------
    blocks : ndarray of int, shape (n_blocks, n_symbols)
        All rows by block.
    size : int
        Rows of a block.
    rows : ndarray of uint8
        Symbols of rows that are looked at one by one: all, or some segments.
    log_rate : float
    """
    prior = blocks.sum(axis=0) / blocks.sum()
    results = list(_block_findings(blocks, size, rows, prior, log_rate))
    # Rows that alternate, as matched cases and controls do: neither blocks nor neighbours of one kind show it.
    turns = count(np.arange(len(rows)) % 2 * len(prior) + rows, 2 * len(prior)).reshape(2, -1)
    results += _table_findings("in every second row", turns, turns.size, prior, log_rate)
    # Every second row by its neighbours, both or of many symbols the one before: the others are another sequence.
    k, cells = len(prior), rows[:-2].astype(np.uint16)
    where, n_places = "between rows 1 apart", k
    if k <= _FEW_SYMBOLS:
        where, n_places, cells = "next to both neighbours", k**2, cells * k + rows[2:]
    cells = cells * k + rows[1:-1]
    for turn in (cells[::2], cells[1::2]):
        table = count(turn, n_places * k).reshape(-1, k)
        results += _table_findings(where, table, 2 * table.size, prior, log_rate)
    return sorted(results, key=lambda finding: finding.log_chance)


def _block_findings(
    table: NDArray[np.int64], size: int, rows: NDArray[np.uint8], prior: NDArray[np.float64], log_rate: float
) -> Iterator[Finding]:
    """Block sizes, each twice the one before: small blocks for the examined rows, larger ones for all rows."""
    k, levels = len(prior), []
    small = 1 << max(_FEWEST_ROWS.bit_length() - 1, (len(rows) * k // _TABLE_CELLS).bit_length())
    fine = count(np.arange(len(rows)) // small * k + rows, -(-len(rows) // small) * k).reshape(-1, k)
    while small < min(size, SEGMENT_ROWS):
        levels.append((small, fine))
        small, fine = 2 * small, _double_blocks(fine)
    while len(table) > 1:
        levels.append((size, table))
        size, table = 2 * size, _double_blocks(table)
    n_tests = sum(level.size for _, level in levels)
    for n_rows, level in levels:
        yield from _table_findings(f"in blocks of {n_rows} rows", level, n_tests, prior, log_rate)


def _double_blocks(blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts by blocks of twice the size."""
    return np.add.reduceat(blocks, np.arange(0, len(blocks), 2))


def _table_findings(
    where: str, table: NDArray[np.int64], n_tests: int, prior: NDArray[np.float64], log_rate: float
) -> Iterator[Finding]:
    """Cells of a table whose counts chance does not explain."""
    a, b, n = table.sum(axis=1, keepdims=True), table.sum(axis=0), max(int(table.sum()), 1)
    shared = math.log(_KINDS * n_tests)
    mean = a * b / n
    # No bound is less than minus the statistic of the chi-square test, which most cells need alone.
    far = (table - mean) ** 2 > (shared - log_rate) * mean * (1 - a / n) * (1 - b / n)
    logs = np.zeros(table.shape)
    row, symbol = np.nonzero(far)
    logs[far] = log_overlap(table[far], a[row, 0], b[symbol], n) + shared
    places = (logs < log_rate).any(axis=1)
    if places.any():
        distributions = least_telling(table[places], logs[places] < log_rate, prior, _INTERVAL / table.size)
        yield Finding(where, float(logs.min()), distributions.T)


def least_telling(
    counts: NDArray[np.int64], telling: NDArray[np.bool_], prior: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Distributions near that of all rows in which shares of revealing symbols and of others are in their intervals."""
    other_shares = np.where(telling, 0, prior)
    left = other_shares.sum(axis=1, keepdims=True)
    telling_counts = np.where(telling, counts, 0)
    n = counts.sum(axis=1, keepdims=True)
    telling_counts = np.hstack([telling_counts, n - telling_counts.sum(axis=1, keepdims=True)])
    shares = np.clip(np.hstack([np.where(telling, prior, 0), left]), *clopper_pearson(telling_counts, n, level))
    # What adds up to more than 1 or less is taken nearer to what is there, which adds up to 1.
    short, gap = 1 - shares.sum(axis=1, keepdims=True), telling_counts / n - shares
    gap[gap * short < 0] = 0
    total = gap.sum(axis=1, keepdims=True)
    shares += gap * np.divide(short, total, out=np.zeros_like(total), where=total != 0)
    return shares[:, :-1] + shares[:, -1:] * other_shares / np.where(left > 0, left, 1)
