"""Test of whether a sequence of symbols stands in random order: in blocks, by periods and at distances.

Every chance bounds that of a uniformly random order of the very rows that are there, whatever their number and
frequencies. The rows of a symbol are then a random set A, of m of n rows. A distribution of sequences that gives weight
w to an arrangement, and no less to one that is further from what is expected, has at most 1 / w of them: of (n choose
m).

* Blocks: each row is in A by itself, in a block of b rows with the share j / b and outside with (m - j) / (n - b). The
  same holds of A given the rows B of another symbol, and the rows that are k before B, or after it; and of every second
  row given all others, and those of them that stand between two symbols.
* Pairs: segments are cut into cycles, in which row i + k follows row i. Along each the rows are in A by a Markov chain:
  after one in A with the share R / m of pairs, after others with (m - R) / (n - m). With r for the difference, weights
  of all sequences on a cycle of length l add up to 1 + r^l, the trace of a power of its matrix.
* Periods: z is the sum of e^(2 pi i j t / L) over the rows of A in a segment of L rows, a power of 2. Drawing without
  replacement makes the mean of a convex function no larger [HOEF, Thm 4], so the mean of e^(c . z) is at most
  e^(m |c|^2 / 4): where j is neither 0 nor L / 2, odd moments of a cosine over the segment are 0, and even ones at
  most 1 / 2. Averaged over a Gaussian c that bounds the mean of e^(a |z|^2 / m) by 1 / (1 - a), as if |z|^2 / m were
  exponential; at L / 2 half of it is. The rows not in A have the same |z|, and segments are independent given the rows
  of each in A. Where m is about n / 2 the distribution of independent rows is sharper: the mean of e^(c . z) is at most
  e^(L |c|^2 / 16) [HOEF, (4.16)], over the chance that it gives to m.

Chernoff's bound turns means into chances, and all tests share one rate of false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.special import gammaln, xlogy

from sanitize.core.confidence import clopper_pearson
from sanitize.tables.keys import count

Numbers = Any  # a number or an array of them

# Rows of a segment, a power of 2, and the largest distance.
SEGMENT_ROWS = 1 << 15
MOST_APART = 1 << 10
# Pairs of two symbols are looked at among so many.
_FEW_SYMBOLS = 8
# Rows times symbols that are looked at one by one; where there are more, fewer segments are.
_MOST_LOOKS = 4 << 20
_FEWEST_ROWS = 8
_TABLE_CELLS = 1 << 17  # of a table of blocks and symbols
_KINDS = 4  # of tests
# Places tell no more than what intervals of their shares, which all hold but for this chance, leave them.
_INTERVAL = 1e-3


@dataclass(frozen=True, eq=False)
class Finding:
    """Pattern of a sequence that no random order explains.

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
    """Logs of bounds on the chance that two sets of a and b of n rows, one of them random, have so many in common."""
    n_common = np.clip(n_common, np.maximum(a + b - n, 0), np.minimum(a, b))  # counts by transform are rounded
    ways = _log_ways(n_common, a - n_common) + _log_ways(b - n_common, n - a - b + n_common)
    return np.minimum(0.0, math.log(2) + ways - _log_choices(n, b))


def log_cells(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logs of bounds on the chance of each count of a table of two sequences, one of them in random order."""
    return log_overlap(table, table.sum(axis=1, keepdims=True), table.sum(axis=0), table.sum())


def log_pairs(pairs: Numbers, m: Numbers, n: Numbers, cycles: Numbers) -> NDArray[np.float64]:
    """Logs of bounds on the chance of so many pairs in a random set of m of n rows, which make so many cycles."""
    tie = pairs / np.maximum(m, 1) - (m - pairs) / np.maximum(n - m, 1)
    return np.minimum(0.0, log_overlap(pairs, m, m, n) + cycles * np.log1p(np.abs(tie) ** (n // cycles)))


def log_power(power: float, n: int) -> float:
    """Log of a bound on the chance of so much power, summed over n segments."""
    ratio = max(power / max(n, 1), 1.0)
    return n * (1 + math.log(ratio) - ratio)


def _log_ways(*parts: Numbers) -> Any:
    """Log of n^n over the product of k^k, where the parts k make n."""
    n = sum(parts)
    return xlogy(n, n) - sum(xlogy(part, part) for part in parts)


def _log_choices(n: Numbers, k: Numbers) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def findings(blocks: NDArray[np.int64], size: int, rows: NDArray[np.uint8], log_rate: float) -> list[Finding]:
    """Return the patterns of a sequence, the least likely first; in random order none, but for a chance of e^log_rate.

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
    prior, parts = blocks.sum(axis=0) / blocks.sum(), []
    if len(rows) >= _FEWEST_ROWS:
        # By segments, shape (n_segments, n_rows); and the last rows, where whole segments leave some out.
        length = min(SEGMENT_ROWS, 1 << (len(rows).bit_length() - 1))
        whole = rows[: len(rows) // length * length].reshape(-1, length)
        n = min(len(whole), max(4, _MOST_LOOKS // (length * len(prior)) // 4 * 4))  # four are transformed together
        parts.append(whole[np.arange(n) * len(whole) // n])
        if whole.size < len(rows):
            parts.append(rows[None, -length:])
    results = list(_block_findings(blocks, size, rows, prior, log_rate))
    # Every second row by its neighbours, both or of many symbols the one before: the others are another sequence.
    k, cells = len(prior), rows[:-2].astype(np.uint16)
    where, n_places = "between rows 1 apart", k
    if k <= _FEW_SYMBOLS:
        where, n_places, cells = "beside both neighbours", k**2, cells * k + rows[2:]
    cells = cells * k + rows[1:-1]
    for turn in (cells[::2], cells[1::2]):
        table = count(turn, n_places * k).reshape(-1, k)
        results += _table_findings(where, table, 2 * table.size, prior, log_rate)
    for part in parts:
        results += _Waves(part, prior, log_rate, _KINDS * len(parts)).findings()
    return sorted(results, key=lambda finding: finding.log_chance)


def _block_findings(
    table: NDArray[np.int64], size: int, rows: NDArray[np.uint8], prior: NDArray[np.float64], log_rate: float
) -> Iterator[Finding]:
    """Blocks of every size, each twice the one before: small ones of the rows looked at, and those of all rows."""
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
    """Places of a table whose counts chance does not explain."""
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
    """Distributions of places near that of all rows: shares of telling symbols and of others are in their intervals."""
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


@dataclass(frozen=True, eq=False)
class _Waves:
    """Rows by segments, the distribution of all rows, and the rate, shared by so many kinds of tests."""

    rows: NDArray[np.uint8]
    prior: NDArray[np.float64]
    log_rate: float
    n_kinds: int

    def findings(self) -> Iterator[Finding]:
        """The least likely period of each symbol, and distance of each two."""
        n, size = self.rows.shape
        counts = np.stack([count(segment, len(self.prior)) for segment in self.rows], axis=1)
        totals, reach = counts.sum(axis=1), min(MOST_APART, size // 2)
        waves: list[NDArray[np.complex64]] = []
        alike: list[NDArray[np.float32]] = []
        for a, m in enumerate(counts):
            wave = rfft((self.rows == a).astype(np.float32), overwrite_x=True)
            fewer = np.minimum(m, size - m)
            weights = np.stack([np.where(fewer > 0, 1 / np.maximum(fewer, 1), 0), np.ones(n)]).astype(np.float32)
            scaled, power = weights @ (np.square(wave.real) + np.square(wave.imag))
            yield from self._period(a, scaled, power, int((fewer > 0).sum()), int(totals[a]))
            alike.append(np.rint(irfft(power)[: reach + 1]))
            yield from self._distance(a, a, alike[a], alike[a], totals)
            if len(self.prior) <= _FEW_SYMBOLS:
                for b, earlier_wave in enumerate(waves):
                    coincidences = np.rint(irfft((np.conj(earlier_wave) * wave).sum(axis=0)))
                    yield from self._distance(a, b, coincidences[: reach + 1], alike[b], totals)  # a after b
                    yield from self._distance(a, b, coincidences[np.arange(0, -reach - 1, -1)], alike[b], totals)
                waves.append(wave)

    def _period(
        self, a: int, scaled: NDArray[np.float32], power: NDArray[np.float32], n_varied: int, m: int
    ) -> Iterator[Finding]:
        """The least likely period of a symbol, by its power at each frequency, each segment's over its rows, or not."""
        n, size = self.rows.shape
        scaled[-1] /= 2
        j = int(scaled[1:].argmax()) + 1
        waves = 1 if 2 * j == size else 2
        log_given = _log_ways(m, self.rows.size - m) - _log_choices(self.rows.size, m)
        of_any, of_even = log_power(scaled[j], n_varied), log_power(2 * waves * power[j] / size, n) + log_given
        log_chance = min(of_any, of_even) + math.log(self.n_kinds * len(self.prior) * size)
        if log_chance < self.log_rate:
            swing = waves * math.sqrt(power[j] / n) / size
            yield self._finding(a, f"with a period of {size / j:.4g} rows", log_chance, swing, -swing)

    def _distance(
        self, a: int, b: int, pairs: NDArray[np.float32], alike: NDArray[np.float32], totals: NDArray[np.int64]
    ) -> Iterator[Finding]:
        """The least likely distance of two symbols, by pairs of their rows and those of the second alone."""
        (n, size), n_rows, of_a, of_b = self.rows.shape, self.rows.size, totals[a], totals[b]
        k = np.array([pairs[1:].argmin(), pairs[1:].argmax()]) + 1
        if a == b:
            logs = log_pairs(pairs[k], of_a, n_rows, n * np.gcd(k, size))
        else:
            logs = log_overlap(pairs[k], of_b - alike[k], of_a, n_rows - of_b)
        n_beside = len(self.prior) if len(self.prior) <= _FEW_SYMBOLS else 1
        log_chance = float(logs.min()) + math.log(self.n_kinds * len(self.prior) * n_beside * (len(pairs) - 1))
        if log_chance < self.log_rate:
            at = k[logs.argmin()]
            # What shows may be due to every second row, where it is twice as strong.
            more = 2 * (pairs[at] / of_b - of_a / n_rows)
            less = -more * of_b / max(n_rows - of_b, 1)
            yield self._finding(a, f"between rows {at} apart", log_chance, more, less)

    def _finding(self, symbol: int, where: str, log_chance: float, *changes: float) -> Finding:
        """That the share of a symbol changes so."""
        shares = np.clip(self.prior[symbol] + np.array(changes), 0, 1)
        other_shares = np.where(np.arange(len(self.prior)) == symbol, 0, self.prior)
        distributions = other_shares[:, None] * (1 - shares) / other_shares.sum()
        distributions[symbol] = shares
        return Finding(where, log_chance, distributions)
