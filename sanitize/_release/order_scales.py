"""One column in the order of its rows, counted at every scale: by position, by neighbours, and between neighbours.

All rows are counted by blocks. Periods and neighbours of tables of a million rows and more are counted in runs of rows
that are spread evenly and hold half a million of them at least: a random order is random in them too.

What is counted does not depend on the batches, and counts of two runs of rows add up (pairs of rows that lie in two
runs are left out). A symbol is known by 16 bits of a digest, so that workers agree on it: two symbols are taken for
one with a chance of 2^-16.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._release.order_blocks import BlockCounts, edges_of_blocks
from sanitize._release.order_counts import (
    between,
    by_block,
    by_near_neighbour,
    by_neighbour,
    by_period,
    by_position,
    runs_of,
)
from sanitize._release.permutation import log_chances, log_matching
from sanitize._tables.combined import combinations_of, spread
from sanitize.alphabet import Alphabet, symbols_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn
    from sanitize._tables.combined import Combined

    Table = NDArray[np.int64]

# Periods are the divisors of these: all up to 12, and those of binary and decimal blocks.
_CYCLES = (2520, 1024, 1000, 143)
_LAGS = (1, 2, 3, 4, 5, 7, 10, 16, 32, 64, 100)
# Rows between two others are looked at beside both, by their place in periods that divide this.
_PERIOD = 60
# More symbols than this are put into as many classes.
_MOST_SYMBOLS = 64
# A table of a row and both its neighbours is looked at for so few symbols.
_FEW_SYMBOLS = 8
# Axes of the tables that are symbols.
_SYMBOLS_ALONG = {"blocks": (1,), "position": (1,), "beside": (0, 1), "between": (0, 1, 3)}
_BITS = 16


@dataclass
class Scales:
    """Counts of the symbols of some columns, taken as one, by where they stand and what stands beside them.

    Attributes
    ----------
    columns : tuple of str
    n_rows : int
        Of the whole table.
    seen : int
        Number of the next row.
    known : ndarray of int, shape (n_symbols,)
        Keys of the symbols so far, ascending; of classes, where there are too many symbols.
    """

    columns: tuple[str, ...]
    n_rows: int
    seen: int = 0
    known: Table = field(default_factory=lambda: np.empty(0, np.int64))
    # Counts by places among the known keys.
    _tables: dict[str, Table] = field(default_factory=dict, repr=False)
    _last: Table = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _head: Table = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _start: int = -1

    def __post_init__(self) -> None:
        if self._start < 0:
            self._start = self.seen

    def count(self, table: Mapping[str, ArrowColumn], n: int) -> None:
        """Add the next ``n`` rows."""
        if not n:
            return
        combined, edges = combinations_of(table, self.columns), edges_of_blocks(self.n_rows)
        if combined is not None:
            counts = BlockCounts.of(combined, self.seen, edges)
            self.count_blocks(counts)
            self.look_at(combined, counts)
            return
        columns = {name: table[name] for name in self.columns}
        alphabet = Alphabet.from_table(columns, self.columns)
        keys = keys_of(alphabet.symbols)
        self._know(keys)
        codes = place_among(self.known, keys).astype(np.uint8)[alphabet.encode(columns)]
        self._put("blocks", by_block(codes, len(self.known), self.seen, edges))
        self._look_at(n, lambda rows: codes[rows])

    def count_blocks(self, counts: BlockCounts) -> None:
        """Add rows by block, whichever they are."""
        columns, places = counts.of_columns(self.columns)
        keys = keys_of(symbols_of_rows(columns))
        self._know(keys)
        self._put("blocks", counts.summed(place_among(self.known, keys)[places], len(self.known)))

    def look_at(self, combined: Combined, counts: BlockCounts) -> None:
        """Look at the next rows by period and beside one another; `count_blocks` counts the same by block."""
        n, codes = len(combined.numbers), np.zeros(combined.n, np.uint8)
        if any(is_looked_at for _, _, is_looked_at in runs_of(self.seen, self.seen + n, self.n_rows)):
            columns, places = counts.of_columns(self.columns)
            keys = keys_of(symbols_of_rows(columns))
            self._know(keys)
            codes[counts.present] = place_among(self.known, keys)[places]
        self._look_at(n, lambda rows: spread(codes, combined.numbers[rows]))

    def _look_at(self, n: int, codes: Callable[[slice], NDArray[np.uint8]]) -> None:
        """Look at the next ``n`` rows, given codes of some of them."""
        known = self.known
        before = place_among(known, self._last).astype(np.uint8)
        for start, end, is_looked_at in runs_of(self.seen, self.seen + n, self.n_rows):
            if not is_looked_at:
                before = before[:0]
                continue
            run = codes(slice(start - self.seen, end - self.seen))
            if len(self._head) == start - self._start:
                self._head = np.concatenate([self._head, known[run[: _LAGS[-1]]]])[: _LAGS[-1]]
            run = np.concatenate([before, run])
            for name, counted in _counted(run, len(known), start - len(before), len(before)):
                self._put(name, counted)
            before = run[-_LAGS[-1] :]
        self._last = known[before]
        self.seen += n

    def _put(self, name: str, counted: Table) -> None:
        self._tables[name] = self._tables[name] + counted if name in self._tables else counted

    def _know(self, keys: Table) -> None:
        """Number all symbols anew where these are others; by classes where there are too many of them."""
        known = np.union1d(self.known, keys)
        if len(known) > _MOST_SYMBOLS:
            known = np.arange(_MOST_SYMBOLS)
        if np.array_equal(known, self.known):
            return
        place = place_among(known, self.known)
        self._tables = {
            name: _numbered_anew(name, table, place, len(known))
            for name, table in self._tables.items()
            if len(known) <= _FEW_SYMBOLS or not name.startswith("between")
        }
        self._head, self._last = (known[place_among(known, rows)] for rows in (self._head, self._last))
        self.known = known

    def merged(self, other: Scales) -> Scales:
        """Counts of both, and of pairs of rows across where the other goes on where this one ends."""
        both, others = (replace(one, _tables=dict(one._tables)) for one in (self, other))
        both._know(other.known)
        others._know(both.known)
        for name, table in others._tables.items():
            both._put(name, table)
        if both.seen == others._start:
            both._go_on(others)
        return both

    def _go_on(self, other: Scales) -> None:
        """Count pairs of the last rows here and the first rows there, and end where the other does."""
        if len(self._last) and len(other._head):
            codes = place_among(self.known, np.concatenate([self._last, other._head])).astype(np.uint8)
            n_before = len(self._last)
            for name, table in _counted_across(codes, len(self.known), self.seen - n_before, n_before):
                self._put(name, table)
        if len(self._head) == self.seen - self._start:
            self._head = np.concatenate([self._head, other._head])[: _LAGS[-1]]
        before = self._last if len(other._last) == other.seen - other._start else self._last[:0]
        self._last = np.concatenate([before, other._last])[-_LAGS[-1] :]
        self.seen = other.seen

    def tables(self) -> Iterator[tuple[str, Table, bool]]:
        """What was counted: where, the table (features, symbols), and whether features are symbols."""
        n = len(self.known)
        for name, table in sorted(self._tables.items()):
            kind, _, _ = name.partition(" ")
            if kind == "position":
                for period, counted in by_period(table, self.n_rows // (2 * n)):
                    yield f"period {period}", counted, False
            elif kind == "between":
                for period in (k for k in range(1, _PERIOD + 1) if _PERIOD % k == 0):
                    counted = table.reshape(n * n, _PERIOD // period, period, n).sum(axis=1)
                    yield f"{name}, period {period}", counted.reshape(-1, n), False
            else:
                yield name, table, kind == "beside"

    def log_chance(self) -> tuple[float, str]:
        """How unlikely the order is, the worst of all scales and allowing for their number; and where it shows."""
        found = list(self.tables())
        if not found:
            return 0.0, "nothing"
        chances = log_chances([table for _, table, _ in found])
        alike = np.array([_log_alike(table) if is_square else 0.0 for _, table, is_square in found])
        n_tests = len(found) + sum(is_square for _, _, is_square in found)
        worst = np.minimum(chances, alike)
        return min(0.0, float(worst.min()) + math.log(n_tests)), found[int(worst.argmin())][0]


def keys_of(symbols: Sequence[Any]) -> Table:
    """Sixteen bits for each symbol, which do not depend on the other symbols."""
    digests = (hashlib.blake2b(repr(symbol).encode(), digest_size=2).digest() for symbol in symbols)
    return np.array([int.from_bytes(digest, "big") for digest in digests], np.int64)


def _counted(codes: NDArray[np.uint8], n_codes: int, first: int, n_before: int) -> Iterator[tuple[str, Table]]:
    """What is counted of a run whose first ``n_before`` rows were counted: name, and a table by codes (last axis)."""
    new = codes[n_before:]
    for cycle in _CYCLES:
        yield f"position {cycle}", by_position(new, n_codes, first + n_before, cycle)
    # Rows are cut into stretches of one lag each; a stretch against the next one is a sequence against another.
    for lag, tables in by_neighbour(codes, n_codes, first, n_before, _LAGS):
        for which in (0, 1):
            yield f"beside {lag} {which}", tables[which]
    yield from _counted_between(codes, n_codes, first, n_before - 1)


def _counted_between(codes: NDArray[np.uint8], n_codes: int, first: int, begin: int) -> Iterator[tuple[str, Table]]:
    """Rows from the ``begin``-th on between two others; for few codes only."""
    if n_codes > _FEW_SYMBOLS:
        return
    table = between(codes, n_codes, first, begin, _PERIOD)
    parities = np.arange(_PERIOD) % 2
    for parity in (0, 1):
        yield f"between {parity}", table * (parities == parity)[:, None]


def _counted_across(codes: NDArray[np.uint8], n_codes: int, first: int, n_before: int) -> Iterator[tuple[str, Table]]:
    """What is counted of the first ``n_before`` rows together with others, and not of either by themselves."""
    alone = by_near_neighbour(codes[n_before:], n_codes, first + n_before, 0, _LAGS)
    for lag, tables in zip(_LAGS, by_near_neighbour(codes, n_codes, first, n_before, _LAGS) - alone, strict=True):
        for which in (0, 1):
            yield f"beside {lag} {which}", tables[which]
    yield from _counted_between(codes[: n_before + 2], n_codes, first, n_before - 1)


def place_among(known: Table, keys: Table) -> NDArray[np.intp]:
    """Position of each key among the known ones, or its class where there are more symbols than are told apart."""
    if len(known) == _MOST_SYMBOLS and known[-1] == _MOST_SYMBOLS - 1:
        return keys % _MOST_SYMBOLS
    return np.searchsorted(known, keys)


def _numbered_anew(name: str, table: Table, place: NDArray[np.intp], n: int) -> Table:
    """A table whose symbols have other places, one of ``n``; several may have the same."""
    axes = _SYMBOLS_ALONG[name.partition(" ")[0]]
    places = np.ix_(*(place if axis in axes else np.arange(size) for axis, size in enumerate(table.shape)))
    shape = tuple(n if axis in axes else size for axis, size in enumerate(table.shape))
    cells = np.ravel_multi_index(places, shape).reshape(-1)
    counted = np.bincount(cells, weights=table.reshape(-1), minlength=math.prod(shape))
    return counted.astype(np.int64).reshape(shape)


def _log_alike(table: Table) -> float:
    """How unlikely it is that so many neighbours are alike."""
    n = max(int(table.sum()), 1)
    expected = float((table.sum(axis=1) / n * table.sum(axis=0)).sum())
    return log_matching(float(np.trace(table)), expected)
