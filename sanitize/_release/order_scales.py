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

from sanitize._release.order_blocks import CombinedBlocks, edges_of_blocks
from sanitize._release.order_counts import between, by_block, by_neighbour, by_period, by_position, runs_of
from sanitize._release.permutation import log_chance_of_table, log_matching
from sanitize.alphabet import Alphabet, symbols_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn

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
    """

    columns: tuple[str, ...]
    n_rows: int
    seen: int = 0
    _counts: dict[str, tuple[Table, Table]] = field(default_factory=dict, repr=False)
    _last: Table = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _head: Table = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _start: int = -1
    _folded: bool = False
    # Counts by codes, that is places among the known keys: these add up without being sorted.
    _known: Table = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _dense: dict[str, Table] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self._start < 0:
            self._start = self.seen

    def count(self, table: Mapping[str, ArrowColumn], n: int, blocks: CombinedBlocks | None = None) -> None:
        """Add the next ``n`` rows; their combinations with other columns save looking at them again."""
        if not n:
            return
        blocks = blocks or CombinedBlocks.of(table, self.columns, self.seen, self.n_rows)
        places: NDArray[np.signedinteger]
        if blocks is None:
            columns = {name: table[name] for name in self.columns}
            alphabet = Alphabet.from_table(columns, self.columns)
            symbols, places = alphabet.symbols, alphabet.encode(columns)
        else:
            columns, places = blocks.of_columns(self.columns)
            symbols = symbols_of_rows(columns)
        keys = keys_of(symbols)
        self._fold_if(too_many=len(np.union1d(self._keys(), keys)) > _MOST_SYMBOLS)
        if self._folded:
            keys = keys % _MOST_SYMBOLS
        known, place = np.unique(np.concatenate([self._last, keys]), return_inverse=True)
        before, numbers = np.split(place.reshape(-1).astype(np.uint8), [len(self._last)])
        codes = numbers[places]  # of each row, or of each combination that occurs
        if not np.array_equal(known, self._known):
            self._settle()
            self._known = known
        if blocks is None:
            counted = by_block(codes, len(known), self.seen, edges_of_blocks(self.n_rows))
        else:
            counted = blocks.summed(codes, len(known))
        self._put("blocks", counted)
        for start, end, is_looked_at in runs_of(self.seen, self.seen + n, self.n_rows):
            if not is_looked_at:
                before = before[:0]
                continue
            rows = slice(start - self.seen, end - self.seen)
            run = codes[rows] if blocks is None else blocks.spread(codes, rows)
            if len(self._head) == start - self._start:
                self._head = np.concatenate([self._head, known[run[: _LAGS[-1]]]])[: _LAGS[-1]]
            run = np.concatenate([before, run])
            for name, counted in _counted(run, len(known), start - len(before), len(before)):
                self._put(name, counted)
            before = run[-_LAGS[-1] :]
        self._last = known[before]
        self.seen += n

    def _put(self, name: str, counted: Table) -> None:
        self._dense[name] = self._dense[name] + counted if name in self._dense else counted

    def _settle(self) -> None:
        """Put what was counted by codes of its own to what is known by keys."""
        dense, self._dense = self._dense, {}
        for name, table in dense.items():
            self._add(name, *_by_keys(name, table, self._known))

    def merged(self, other: Scales) -> Scales:
        """Counts of both, and of pairs of rows across where the other goes on where this one ends."""
        both, others = (replace(one, _counts=dict(one._counts), _dense=dict(one._dense)) for one in (self, other))
        both._fold_if(too_many=others._folded)
        others._fold_if(too_many=both._folded)
        if not both._dense:
            both._known, both._dense = others._known, others._dense
        elif np.array_equal(both._known, others._known):
            for name, table in others._dense.items():
                both._put(name, table)
        else:
            both._settle()
            others._settle()
        for name, counted in others._counts.items():
            both._add(name, *counted)
        if both.seen == others._start:
            both._go_on(others)
        both._fold_if(too_many=len(both._keys()) > _MOST_SYMBOLS)
        return both

    def _go_on(self, other: Scales) -> None:
        """Count pairs of the last rows here and the first rows there, and end where the other does."""
        if len(self._last) and len(other._head):
            known, place = np.unique(np.concatenate([self._last, other._head]), return_inverse=True)
            codes, n_before = place.reshape(-1).astype(np.uint8), len(self._last)
            for name, table in _counted_across(codes, len(known), self.seen - n_before, n_before):
                self._add(name, *_by_keys(name, table, known))
        if len(self._head) == self.seen - self._start:
            self._head = np.concatenate([self._head, other._head])[: _LAGS[-1]]
        before = self._last if len(other._last) == other.seen - other._start else self._last[:0]
        self._last = np.concatenate([before, other._last])[-_LAGS[-1] :]
        self.seen = other.seen

    def _fold_if(self, *, too_many: bool) -> None:
        """Put symbols into classes where there are too many, so that memory does not grow with them."""
        if not too_many or self._folded:
            return
        self._settle()
        self._folded = True
        self._head, self._last = self._head % _MOST_SYMBOLS, self._last % _MOST_SYMBOLS
        counted, self._counts = self._counts, {}
        for name, (codes, counts) in counted.items():
            features = codes >> _BITS
            if name.startswith("beside"):
                features = features % _MOST_SYMBOLS
            keys = codes % (1 << _BITS) % _MOST_SYMBOLS
            if not name.startswith("between"):
                folded, place = np.unique(features << _BITS | keys, return_inverse=True)
                summed = np.bincount(place.reshape(-1), weights=counts).astype(np.int64)
                self._counts[name] = (folded, summed)

    def _add(self, name: str, codes: Table, counts: Table) -> None:
        if name in self._counts:
            codes, counts = (np.concatenate([a, b]) for a, b in zip(self._counts[name], (codes, counts), strict=True))
            codes, place = np.unique(codes, return_inverse=True)
            counts = np.bincount(place.reshape(-1), weights=counts).astype(np.int64)
        self._counts[name] = (codes, counts)

    def tables(self) -> Iterator[tuple[str, Table, Table, bool]]:
        """What was counted: where, the table (features, symbols), the keys of its symbols, whether rows are symbols."""
        self._settle()
        known = self._keys()
        for name, (codes, counts) in self._counts.items():
            kind, _, scale = name.partition(" ")
            if kind == "beside":
                yield name, *_dense(class_of(codes >> _BITS, known), codes, counts, known), True
            elif kind == "position":
                cycle = int(scale)
                cells = (codes >> _BITS) * len(known) + class_of(codes & (1 << _BITS) - 1, known)
                whole = np.bincount(cells, weights=counts, minlength=cycle * len(known)).astype(np.int64)
                most = self.n_rows // (2 * len(known))
                for period, table in by_period(whole.reshape(cycle, len(known)), most):
                    yield f"period {period}", table[table.any(axis=1)], known, False
            elif kind == "blocks":
                yield name, *_dense(codes >> _BITS, codes, counts, known), False
            elif len(known) <= _FEW_SYMBOLS:
                features = codes >> _BITS
                for period in (k for k in range(1, _PERIOD + 1) if _PERIOD % k == 0):
                    beside = features // _PERIOD * _PERIOD + features % _PERIOD % period
                    yield f"{name}, period {period}", *_dense(beside, codes, counts, known), False

    def log_chance(self) -> tuple[float, str]:
        """How unlikely the order is, the worst of all scales and allowing for their number; and where it shows."""
        worst, where, n_tests = 0.0, "nothing", 0
        for name, table, _, square in self.tables():
            chances = [log_chance_of_table(table, worst), *([_log_alike(table)] if square else [])]
            n_tests += len(chances)
            if min(chances) < worst:
                worst, where = min(chances), name
        return min(0.0, worst + math.log(max(n_tests, 1))), where

    def _keys(self) -> Table:
        if self._folded:
            return np.arange(_MOST_SYMBOLS)
        none = np.empty(0, np.int64)
        codes = self._counts["blocks"][0] & (1 << _BITS) - 1 if "blocks" in self._counts else none
        pending = self._known[self._dense["blocks"].any(axis=0)] if self._dense else none
        return np.union1d(codes, pending)


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
    for lag in _LAGS:
        last = min(n_before + lag, len(codes))
        for _, tables in by_neighbour(codes[:last], n_codes, first, max(n_before, lag), [lag]):
            for which in (0, 1):
                yield f"beside {lag} {which}", tables[which]
    yield from _counted_between(codes[: n_before + 2], n_codes, first, n_before - 1)


def _by_keys(name: str, table: Table, known: Table) -> tuple[Table, Table]:
    """Cells of a table of codes as features and keys, packed into one number each, and their counts."""
    cells = np.flatnonzero(table)
    *places, place = np.unravel_index(cells, table.shape)
    if name.startswith("between"):
        before, after, number = places
        features = (known[before] << _BITS | known[after]) * _PERIOD + number
    else:
        features = known[places[0]] if name.startswith("beside") else places[0]
    return features << _BITS | known[place], table.reshape(-1)[cells]


def class_of(keys: Table, known: Table) -> Table:
    """Position of each key among the known ones, or its class where there are more symbols than are told apart."""
    if len(known) == _MOST_SYMBOLS and known[-1] == _MOST_SYMBOLS - 1:
        return keys % _MOST_SYMBOLS
    return np.searchsorted(known, keys)


def _dense(features: Table, codes: Table, counts: Table, known: Table) -> tuple[Table, Table]:
    values, rows = np.unique(features, return_inverse=True)
    columns = class_of(codes & (1 << _BITS) - 1, known)
    cells = rows.reshape(-1) * len(known) + columns
    table = np.bincount(cells, weights=counts, minlength=len(values) * len(known))
    return table.astype(np.int64).reshape(len(values), len(known)), known


def _log_alike(table: Table) -> float:
    """How unlikely it is that so many neighbours are alike."""
    if not table.size or table.shape[0] != table.shape[1]:
        return 0.0
    n = max(int(table.sum()), 1)
    expected = float((table.sum(axis=1) / n * table.sum(axis=0)).sum())
    return log_matching(float(np.trace(table)), expected)
