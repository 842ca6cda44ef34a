"""Tests of whether a sequence of symbols is in random order, from counts in blocks of all sizes and from neighbours.

All chances are upper bounds under a uniformly random order of the given rows, whatever their number and frequencies.
The rows of a symbol are then a random set A of m of n rows, one of (n choose m) equally likely sets. If a distribution
of sequences gives weight at least w to an arrangement and to all arrangements further from expectation, there are at
most 1 / w of these.

* Blocks: each row is in A independently, with probability j / b in a block of b rows and (m - j) / (n - b) outside. The
    same bound holds for A given the rows of another sequence.
* Turns: the same bound for every second row.
* Neighbours: given the other rows, every second row is in A as in a block. The block consists of the rows that stand
    between two given symbols, or after a given symbol.

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

# Rows of a segment: a power of 2, so that blocks of doubling sizes fill it.
SEGMENT_ROWS = 1 << 15
# Most symbols for which pairs of both neighbours are examined: their table has the cube of the symbols.
_FEW_SYMBOLS = 8
# Rows of the smallest blocks: counts of fewer rows say too little about a place.
_FEWEST_ROWS = 8
# Most cells of a table of blocks and symbols, so that all sizes of blocks take a fraction of a second.
_TABLE_CELLS = 1 << 17
# Blocks, every second row and neighbours share the false-alarm rate.
_KINDS = 3
# Chance that some confidence interval of the shares at revealing places fails to hold. They only add how much an order
# reveals, after a test of 1e-6 has shown that it does.
_INTERVAL = 1e-3


@dataclass(frozen=True, eq=False)
class Finding:
    """Pattern of a sequence that a random order does not explain.

    Attributes
    ----------
    where : str
    log_chance : float
        Log of a bound on the chance of a pattern as unlikely as this, in any of the tests of a sequence.
    distributions : ndarray of float, shape (n_symbols, n_places)
        Distribution of the symbols at the places that the order reveals.
    """

    where: str
    log_chance: float
    distributions: NDArray[np.float64]


def log_overlap(n_common: Numbers, a: Numbers, b: Numbers, n: Numbers) -> NDArray[np.float64]:
    """Log of a bound on the chance that ``a`` random rows out of ``n`` share ``n_common`` rows with ``b`` rows."""
    n_common = np.clip(n_common, np.maximum(a + b - n, 0), np.minimum(a, b))
    ways = _log_ways(n_common, a - n_common) + _log_ways(b - n_common, n - a - b + n_common)
    log_choices = gammaln(n + 1.0) - gammaln(b + 1.0) - gammaln(n - b + 1.0)
    return np.minimum(0.0, math.log(2) + ways - log_choices)


def log_cells(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of a bound on the chance of each count in the cross table of two sequences, one of them in random order."""
    return log_overlap(table, table.sum(axis=1, keepdims=True), table.sum(axis=0), table.sum())


def _log_ways(*parts: Numbers) -> Any:
    """Log of n^n over the product of k^k, where the parts k sum to n."""
    n = sum(parts)
    return xlogy(n, n) - sum(xlogy(part, part) for part in parts)


def findings(blocks: NDArray[np.int64], size: int, rows: NDArray[np.uint8], log_rate: float) -> list[Finding]:
    """Return patterns of a sequence, least likely first; a random order has some with chance e^log_rate or less.

    Parameters
    ----------
    blocks : ndarray of int, shape (n_blocks, n_symbols)
        All rows by block.
    size : int
        Rows of a block.
    rows : ndarray of uint8
        Symbols of the rows that are examined one by one: all rows, or some segments.
    log_rate : float
    """
    prior = blocks.sum(axis=0) / blocks.sum()
    results = list(_block_findings(blocks, size, rows, prior, log_rate))
    # Alternating rows, such as matched cases and controls, show neither in blocks nor in neighbours of one kind.
    turns = count(np.arange(len(rows)) % 2 * len(prior) + rows, 2 * len(prior)).reshape(2, -1)
    results += _table_findings("in every second row", turns, turns.size, prior, log_rate)
    # Tests need independent counts, so only every second row is examined, given its neighbours.
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
    """Yield patterns in blocks of doubling sizes: small blocks of the examined rows, larger blocks of all rows."""
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
    """Add up the counts of neighbouring blocks, which makes blocks of twice the size."""
    return np.add.reduceat(blocks, np.arange(0, len(blocks), 2))


def _table_findings(
    where: str, table: NDArray[np.int64], n_tests: int, prior: NDArray[np.float64], log_rate: float
) -> Iterator[Finding]:
    """Yield a finding if chance does not explain all counts of a table."""
    a, b, n = table.sum(axis=1, keepdims=True), table.sum(axis=0), max(int(table.sum()), 1)
    shared = math.log(_KINDS * n_tests)
    mean = a * b / n
    # The log of the bound is at least minus the chi-square statistic, which alone settles most cells.
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
    """For each row of ``counts``, the distribution nearest to ``prior`` within intervals of the masked symbols."""
    other_shares = np.where(telling, 0, prior)
    left = other_shares.sum(axis=1, keepdims=True)
    telling_counts = np.where(telling, counts, 0)
    n = counts.sum(axis=1, keepdims=True)
    telling_counts = np.hstack([telling_counts, n - telling_counts.sum(axis=1, keepdims=True)])
    shares = np.clip(np.hstack([np.where(telling, prior, 0), left]), *clopper_pearson(telling_counts, n, level))
    # Where the shares do not add up to 1, they are moved towards the observed shares, which do.
    short, gap = 1 - shares.sum(axis=1, keepdims=True), telling_counts / n - shares
    gap[gap * short < 0] = 0
    total = gap.sum(axis=1, keepdims=True)
    shares += gap * np.divide(short, total, out=np.zeros_like(total), where=total != 0)
    return shares[:, :-1] + shares[:, -1:] * other_shares / np.where(left > 0, left, 1)
