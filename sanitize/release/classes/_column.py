"""One column of a generated table: groups of values that the model speaks of, and how each group is written."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._util.checks import Codes, Vector
from sanitize._util.declared import Declared, require
from sanitize.errors import ColumnError
from sanitize.release.classes._integers import draw_below, draw_listed, whole_weights
from sanitize.release.classes._numbers import (
    LEAST_ROWS,
    REAL,
    candidate_units,
    clip_numbers,
    coarsest_units,
    from_numbers,
    multiples,
    next_number,
    roundest,
    step_range,
    storage_type,
    threshold_counts,
    to_numbers,
)
from sanitize.tables.columns import ArrowColumn, as_arrow, cast_values, factorize, look_up
from sanitize.tables.ordered import is_ordered

OTHER = "(other)"
MISSING, BETWEEN = -1, -2  # in place of a value
# Values that are all written as themselves; of twice as many only those that more rows have than their neighbours.
_LISTED = 64
# Groups of declared edges, at most; more bins share them.
_DECLARED = 100
# Bins of a number that are written for each group that the model speaks of.
_FINER = 3
# Rows over which the key draws where each edge lies: one more row moves it one time in so many.
_SPREAD = 20
# Shares of that for one column: of its two ends, of what many rows are, twice, of its unit, of the places at which a
# few numbers stand, and of the cuts between.
N_SHARES = 128
_LOWEST, _HIGHEST, _OFTEN, _HEAVY, _UNIT, _SPARSE, _CUTS = range(7)


class ClassColumn(Declared, frozen=True, eq=False, dict=True):
    """Groups of the values of one column, and the values that each group is written as.

    Attributes
    ----------
    name : str
    is_ordered : bool
    edges : Arrow array
        First value of each bin of text; of numbers the least number of each bin and the one after the last.
    values : Arrow array
        Values that are written as they are.
    groups : ndarray of int, shape (n_bins,)
        Group of each bin between two edges, ascending.
    first : ndarray of int, shape (n_groups + 1,)
        Where the outcomes of each group begin; the last group is missing.
    bins : ndarray of int, shape (n_outcomes,)
        Bin of each outcome.
    places : ndarray of int, shape (n_outcomes,)
        Value of each outcome; -1 for missing, -2 for any number between two edges.
    weights : ndarray of int, shape (n_outcomes,)
    units : tuple of Fraction
        Steps of numbers between edges; 0 for real numbers.
    unit_weights : ndarray of int, shape (n_units,)
    pooled : Arrow array
        Values of a hierarchy that stand for an ancestor.
    pool : Arrow array
        The ancestor of each of them.
    """

    name: str
    is_ordered: bool
    edges: pa.Array
    values: pa.Array
    groups: NDArray[np.int32]
    first: NDArray[np.int64]
    bins: NDArray[np.int32]
    places: NDArray[np.int32]
    weights: NDArray[np.int64]
    units: tuple[Fraction, ...]
    unit_weights: NDArray[np.int64]
    pooled: pa.Array
    pool: pa.Array

    def __post_init__(self) -> None:
        n_bins = max(len(self.edges) - self.is_ordered, 0)
        require(self.groups.shape == (n_bins,) and self.first[0] == 0 and len(self.first) > 1)
        require(np.isin(np.diff(self.groups, prepend=-1, append=self.n_groups - 1), (0, 1)).all())
        require((np.diff(self.first) > 0).all() and self.first[-1] == len(self.places) == len(self.weights))
        require(self.bins.shape == self.places.shape and ((self.bins >= 0) & (self.bins <= n_bins)).all())
        require((np.append(self.groups, self.n_groups - 1)[self.bins] == self.group_of_outcome).all())
        require((self.places >= BETWEEN).all() and (self.places < len(self.values)).all())
        require((self.weights >= 0).all() and (np.add.reduceat(self.weights, self.first[:-1]) > 0).all())
        require((np.add.reduceat(self.weights, self.first[:-1]) < 1 << 31).all())
        require(not (self.edges.null_count or self.values.null_count or self.pool.null_count))
        require(len(self.pooled) == len(self.pool) and self.unit_weights.shape == (len(self.units),))
        require((self.unit_weights >= 0).all() and self.unit_weights.sum(dtype=float) < 1 << 31)
        require(all(unit == REAL or Fraction(1, 10**18) <= unit <= 10**19 for unit in self.units))
        require(self.is_ordered or not (self.places == BETWEEN).any())
        try:
            require(is_ordered(self.values.type, self.name) == self.is_ordered)
            require(len(factorize(self.values, self.name)[0]) == len(self.values))
        except ColumnError:
            require(holds=False)
        require(all(low < high for low, high in pairwise(self.edges.to_pylist())))
        require(not self.is_ordered or bool(self.units) or not len(self.edges))

    @property
    def n_groups(self) -> int:
        """Number of groups, missing included."""
        return len(self.first) - 1

    @cached_property
    def group_of_outcome(self) -> Codes:
        """Group of each outcome."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.first))

    @cached_property
    def _rest(self) -> Codes:
        """Outcome of each bin that stands for its other values."""
        return np.searchsorted(self.bins, np.arange(len(self.groups)), side="right") - 1

    @cached_property
    def is_value(self) -> NDArray[np.bool_]:
        """Which outcomes are one value, or missing."""
        result = np.ones(len(self.places), bool)
        result[self._rest] = False
        return result

    @cached_property
    def _cumulative(self) -> NDArray[np.int64]:
        return np.append(0, np.cumsum(self.weights))

    def encode(self, column: Any) -> NDArray[np.int32]:
        """Group of each row of any column of this name."""
        values, codes = factorize(as_arrow(column, self.name), self.name)
        return self.value_groups(values)[codes]

    def encode_outcomes(self, column: Any) -> Codes:
        """Outcome that each row of any column of this name is written as, the last for missing."""
        values, codes = factorize(as_arrow(column, self.name), self.name)
        return np.append(self.outcomes(values), len(self.places) - 1)[codes]

    def value_groups(self, values: pa.Array) -> NDArray[np.int32]:
        """Group of each of some distinct values, and of missing last."""
        return np.append(self.groups, self.n_groups - 1)[np.append(self.find_bins(values), -1)].astype(np.int32)

    def outcomes(self, values: pa.Array) -> Codes:
        """Outcome that each of some values is written as, or that stands for values like it."""
        bins, places = self.find_bins(values), look_up(self._pool(values), self.values)
        residual = self._rest
        listed = np.full(len(self.values) + 1, -1)
        listed[self.places[self.places >= 0]] = np.flatnonzero(self.places >= 0)
        return np.where(places >= 0, listed[np.maximum(places, 0)], residual[bins])

    def _pool(self, values: pa.Array) -> pa.Array:
        if not len(self.pooled):
            return values
        place = look_up(values, self.pooled)
        all_values = pa.concat_arrays([values, self.pool.cast(values.type)])
        return all_values.take(pa.array(np.where(place >= 0, len(values) + place, np.arange(len(values)))))

    def find_bins(self, values: pa.Array) -> Codes:
        """Bin of each of some distinct values."""
        if not len(values) or not len(self.groups):
            return np.zeros(len(values), np.intp)
        if is_ordered(values.type, self.name) != self.is_ordered:
            raise self._other_type(values.type)
        if self.is_ordered:
            numbers, edges = _same_scale(values, self.values.type), self.edges.to_numpy()
            return np.searchsorted(edges[1:-1], numbers, side="right")
        edges = self.edges.to_pylist()[1:]
        try:
            return np.array([bisect_right(edges, value) for value in self._pool(values).to_pylist()], np.intp)
        except TypeError:
            raise self._other_type(values.type) from None

    def _other_type(self, dtype: pa.DataType) -> ColumnError:
        kind = self.values.type
        return ColumnError(
            f"column {self.name!r} is {dtype}, but was {kind} when the model was fitted; convert it first", self.name
        )

    def draw_outcomes(self, groups: Codes, words: NDArray[np.uint64]) -> Codes:
        """Outcome of rows in these groups, from words of 32 bits."""
        return draw_listed(self._cumulative, self.first[groups], self.first[groups + 1], words)

    def write(self, outcomes: Codes, words: NDArray[np.uint64]) -> pa.Array:
        """Values of rows with these outcomes, from words of 64 bits."""
        places = self.places[outcomes].astype(np.int64)
        between = np.flatnonzero(places == BETWEEN)
        if not self.is_ordered:
            return _dictionary(self.values, places)
        numbers = self._draw_within_bins(self.bins[outcomes[between]].astype(np.intp), words[between])
        places[between] = len(self.values) + np.arange(len(between))
        drawn = pa.concat_arrays([self.values, from_numbers(numbers, self.values.type)])
        return drawn.take(pa.array(places, mask=places < 0))

    @cached_property
    def _steps(self) -> tuple[NDArray[Any], NDArray[np.uint64], NDArray[np.int64]]:
        """First multiple, how many, and weight of each unit in each bin, shape (n_units, n_bins)."""
        edges, n = self.edges.to_numpy(), len(self.groups)
        kind = np.uint64 if edges.dtype == np.uint64 else np.int64
        first, spans = np.zeros((len(self.units), n), kind), np.zeros((len(self.units), n), np.uint64)
        for place, unit in enumerate(self.units):
            for bin_ in range(n):
                low, high = edges[bin_], edges[bin_ + 1]
                start, span = (0, 1) if unit == REAL else step_range(low, high, unit)
                if span and abs(start) < 1 << 63 + (kind is np.uint64):
                    first[place, bin_], spans[place, bin_] = start, min(span, (1 << 63) - 1)
        return first, spans, np.where(spans > 0, self.unit_weights[:, None], 0)

    def _draw_within_bins(self, bins: Codes, words: NDArray[np.uint64]) -> NDArray[Any]:
        """Numbers within bins: a unit is drawn, then one of its multiples."""
        first, spans, weights = self._steps
        edges, is_real = self.edges.to_numpy(), self.edges.type == pa.float64()
        totals = np.cumsum(weights, axis=0)[:, bins]
        drawn = draw_below(totals[-1], words >> np.uint64(32))
        unit = (totals <= drawn).sum(axis=0)
        numbers = edges[bins]  # where a bin holds no multiple of any unit
        mixed = words * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(31)
        for place, step in enumerate(self.units):
            rows = np.flatnonzero(unit == place)
            low = bins[rows]
            if step == REAL:
                share = (mixed[rows] >> np.uint64(11)) * 2.0**-53
                numbers[rows] = edges[low] + (edges[low + 1] - edges[low]) * share
            else:
                steps = first[place, low] + (mixed[rows] % spans[place, low]).astype(first.dtype)
                numbers[rows] = multiples(steps, step, is_real=is_real)
        return numbers

    def is_of(self, edges: Sequence[Any], above: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether it keeps to declared edges, if there are any, and each rare value to one of its ancestors."""
        own = self.edges.to_numpy(zero_copy_only=False)
        is_cut = len(edges) < 2 or np.array_equal(own, np.unique(np.array(edges, own.dtype)))
        pairs = zip(self.pooled.to_pylist(), self.pool.to_pylist(), strict=True)
        return is_cut and all(ancestor in above.get(value, ()) for value, ancestor in pairs)

    def may_print(self, column: ArrowColumn) -> bool:
        """Return whether every value of a column is one that may be written."""
        values, codes = factorize(column, self.name)
        if (codes < 0).any() and not (self.places == MISSING).any():
            return False
        strange = values.filter(pa.array(look_up(values, self.values) < 0))
        # Numbers are drawn between edges that the key of the release moved: without it no number is ruled out.
        return not len(strange) or self.is_ordered

    def count_replaced(self, column: ArrowColumn) -> tuple[float, int]:
        """How many rows are written as others on average, and how many numbers lie outside the edges."""
        values, codes = factorize(column, self.name)
        rows = np.bincount(codes[codes >= 0], minlength=len(values))
        if self.is_ordered and len(self.edges):
            numbers, edges = _same_scale(values, self.values.type), self.edges.to_numpy()
            rest, is_listed = self._rest[self.find_bins(values)], look_up(values, self.values) >= 0
            # Codes, and rare numbers where a few stand: others of their group are written, or missing.
            is_drawn = (self.places[rest] == BETWEEN) & (self.weights[rest] > 0)
            is_outside = ~is_listed & ((numbers < edges[0]) | (numbers > edges[-1])) & is_drawn
            other = np.where(is_listed, rows - threshold_counts(rows), rows)[~is_drawn]
            return float(other.sum()), int(rows[is_outside].sum())
        totals = np.add.reduceat(self.weights, self.first[:-1])
        shares = self.weights[self._rest] / totals[self.groups]
        return float(np.bincount(self.find_bins(values), rows, len(self.groups)) @ shares) if len(shares) else 0.0, 0

    @classmethod
    def fit(
        cls,
        column: ArrowColumn,
        name: str,
        values: pa.Array,
        codes: Codes,
        counts: NDArray[np.int64],
        most: int,
        weights: Vector | None = None,
        edges: Sequence[Any] = (),
        above: Mapping[str, tuple[str, ...]] | None = None,
        *,
        shares: Vector | None = None,
        lists_all: bool = False,
    ) -> Self:
        """Learn groups of a column, at most about so many, and what each is written as.

        Parameters
        ----------
        column : Arrow array
        name : str
        values : Arrow array
            Distinct values, ascending.
        codes : ndarray of int, shape (n,)
            Place of each row's value among them; their number for missing.
        counts : ndarray of int, shape (n_values,)
            Rows of each value, fewer where some look like rows of one person.
        most : int
        weights : ndarray of float, shape (n,), optional
            Of rows, 1 on average.
        edges : sequence of numbers, optional
            Of an ordered column, in place of learned ones.
        above : mapping of value to names, optional
            Ancestors of text, the nearest first: rare values are written as one.
        shares : ndarray of float in [0, 1), shape (N_SHARES,), optional
            Drawn with a key: where between rows each edge of numbers lies, so that none tells of one row.
        lists_all : bool, optional
            Write every value that is not rare as itself.
        """
        heavy = counts if weights is None else np.bincount(codes, weights, len(values) + 1)[:-1]
        if is_ordered(column.type, name):
            values = cast_values(values, storage_type(column))
            # Of a dictionary numbers are names: none but those there are is written.
            is_code = pa.types.is_dictionary(column.type)
            given = name, values, counts, heavy, most, edges, np.zeros(N_SHARES) if shares is None else shares
            return cls._from_numbers(*given, lists_all=lists_all or is_code, is_code=is_code)
        return cls._from_text(name, values, counts, heavy, most, above or {})

    @classmethod
    def _from_text(
        cls,
        name: str,
        values: pa.Array,
        counts: NDArray[np.int64],
        heavy: NDArray[Any],
        most: int,
        above: Mapping[str, tuple[str, ...]],
    ) -> Self:
        pooled = _ancestors(values, counts, above) if pa.types.is_string(values.type) else {}
        rows: dict[Any, NDArray[np.float64]] = {}
        for value, *entry in zip(values.to_pylist(), counts.tolist(), heavy.tolist(), strict=True):
            rows.setdefault(pooled.get(value, value), np.zeros(2))[:] += entry
        names = sorted(rows)
        count, mass = np.array([rows[key] for key in names]).reshape(-1, 2).T
        shares = threshold_counts(count) / np.maximum(count, 1)
        listed = np.flatnonzero(shares > 0)
        is_start = np.zeros(len(names), bool)
        is_start[listed] = True
        starts = _runs(mass, most, is_start)
        group = np.searchsorted(starts, np.arange(len(names)), side="right") - 1
        shared_values = [names[place] for place in listed]
        word = OTHER if pa.types.is_string(values.type) else OTHER.encode() if pa.types.is_binary(values.type) else None
        other_place = (
            shared_values.index(word) if word in shared_values else len(shared_values) if word is not None else MISSING
        )
        written = [*shared_values, *([word] if other_place == len(shared_values) else [])]
        entries = [(int(group[p]), k, mass[p] * shares[p]) for k, p in enumerate(listed)]
        residual = np.bincount(group, mass * (1 - shares), len(starts)) if len(starts) else np.empty(0)
        entries += [(place, other_place, float(amount)) for place, amount in enumerate(residual)]
        return cls(
            name,
            False,  # noqa: FBT003
            pa.array([names[start] for start in starts], values.type),
            pa.array(written, values.type),
            np.arange(len(starts), dtype=np.int32),
            *_flatten_outcomes(entries, np.arange(len(starts))),
            (),
            np.empty(0, np.int64),
            pa.array([*pooled], values.type),
            pa.array([*pooled.values()], values.type),
        )

    @classmethod
    def _from_numbers(
        cls,
        name: str,
        values: pa.Array,
        counts: NDArray[np.int64],
        heavy: NDArray[Any],
        most: int,
        declared: Sequence[Any],
        shares: Vector,
        *,
        lists_all: bool,
        is_code: bool,
    ) -> Self:
        numbers, units = to_numbers(values), candidate_units(values.type)
        coarsest = coarsest_units(
            np.where(np.isfinite(numbers), numbers, 0) if numbers.dtype.kind == "f" else numbers,
            units,
            single=pa.types.is_float32(values.type) or pa.types.is_float16(values.type),
        )
        chosen = (numbers != 0) & np.isfinite(numbers)
        spread = shares * min(_SPREAD, int(counts.sum()) // _SPREAD)
        finest = _finest(np.bincount(coarsest[chosen], counts[chosen], len(units) + 1) - spread[_UNIT], units)
        edges = coarse = numbers[:0]
        if len(declared) > 1:
            edges = np.unique(np.array(declared, numbers.dtype))
            coarse = np.append(edges[:-1][:: -(-len(edges) // _DECLARED)], edges[-1:])
        elif len(numbers):
            coarse = _edges(numbers, counts, heavy, most, finest, units, spread)
            fine = _edges(numbers, counts, heavy, _FINER * most, finest, units, spread)
            edges = np.unique(np.concatenate([coarse, fine]))
        groups = np.searchsorted(coarse[1:-1], edges[:-1], side="right")
        place_of = np.searchsorted(edges[1:-1], numbers, side="right")
        usual = np.zeros(len(groups)) if lists_all else _usual(counts, place_of, edges, finest)
        n_heavy = np.count_nonzero(counts >= LEAST_ROWS)
        beyond = counts - usual[place_of] * np.clip((n_heavy - _LISTED) / _LISTED, 0, 1)
        alone = threshold_counts(np.maximum(beyond, 0)) / np.maximum(counts, 1)
        listed = np.flatnonzero(alone > 0)
        entries = [(int(place_of[p]), k, heavy[p] * alone[p]) for k, p in enumerate(listed)]
        left = heavy * (1 - alone)
        residual = np.bincount(place_of, left, len(groups))
        if is_code or (len(declared) < 2 and _is_sparse(counts, place_of, edges, finest, shares[_SPARSE])):
            # Rare ones are written as others of their group, or, where that has none, codes as missing.
            residual[np.isin(groups, groups[place_of[listed]])] = 0
        entries += [(place, MISSING if is_code else BETWEEN, float(amount)) for place, amount in enumerate(residual)]
        by_unit = threshold_counts(np.bincount(coarsest[chosen], (counts * (1 - alone))[chosen], len(units) + 1))
        by_unit[(*units, REAL).index(finest)] += 1e-3 * by_unit.sum() + 1
        used = np.flatnonzero(by_unit)
        return cls(
            name,
            True,  # noqa: FBT003
            pa.array(edges),
            values.take(pa.array(listed)),
            groups.astype(np.int32),
            *_flatten_outcomes(entries, groups),
            tuple((*units, REAL)[place] for place in used),
            whole_weights(by_unit[used], np.array([0, len(used)])),
            values[:0],
            values[:0],
        )


def _same_scale(values: pa.Array, dtype: pa.DataType) -> NDArray[Any]:
    """Numbers of values on the scale of a type; dates and times of another unit are converted."""
    if pa.types.is_temporal(dtype) and values.type != dtype and not pa.types.is_dictionary(values.type):
        values = values.cast(dtype, safe=False)
    return to_numbers(values)


def _flatten_outcomes(
    entries: list[tuple[int, int, float]], groups: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Outcomes of all bins one after another, the rest of each bin last, and missing; where each group begins."""
    entries = [*entries, (len(groups), MISSING, 1.0)]
    of_bin, place, mass = (np.array(part) for part in zip(*entries, strict=True))
    order = np.argsort(of_bin, kind="stable")
    group = np.append(groups, groups[-1:].sum() + min(len(groups), 1))[of_bin[order]]
    first = np.searchsorted(group, np.arange(group[-1] + 2)).astype(np.int64)
    weights = whole_weights(mass[order].astype(float), first)
    return first, of_bin[order].astype(np.int32), place[order].astype(np.int32), weights


def _runs(mass: NDArray[Any], most: int, is_start: NDArray[np.bool_]) -> Codes:
    """Starts of runs of sorted values: those of many rows alone, the others in runs of about equal rows."""
    n = len(mass)
    if not is_start.any():
        return np.zeros(min(n, 1), np.intp)
    is_heavy = (mass >= mass.sum() / (2 * most)) & is_start
    size = max(2.0 * LEAST_ROWS, mass[~is_heavy].sum() / max(most - is_heavy.sum(), 1))
    starts, filled = [0], 0.0
    for place in range(n):
        ends_heavy = place > 0 and is_heavy[place - 1]
        if place and is_start[place] and (is_heavy[place] or ends_heavy or filled >= size):
            starts.append(place)
            filled = 0.0
        filled += mass[place]
    return np.array(starts)


def _ancestors(values: pa.Array, counts: NDArray[np.int64], above: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """For each declared value that is rare its nearest ancestor that many rows share."""
    rows = dict(zip(values.to_pylist(), counts.tolist(), strict=True))
    left = {value for value in above if rows.get(value, 0) < LEAST_ROWS}
    pooled: dict[str, str] = {}
    for height in range(len(next(iter(above.values()), ()))):
        size: dict[str, int] = {}
        for value in left:
            size[above[value][height]] = size.get(above[value][height], 0) + rows.get(value, 0)
        ancestors = {value: above[value][height] for value in sorted(left) if size[above[value][height]] >= LEAST_ROWS}
        pooled |= ancestors
        left -= ancestors.keys()
    return pooled


def _finest(counts: NDArray[Any], units: tuple[Fraction, ...]) -> Fraction:
    """The smallest unit of more than a few rows."""
    often = np.flatnonzero(threshold_counts(counts) > 0)
    return (*units, REAL)[often[-1]] if len(often) else max(min(units), min(max(units), Fraction(1)))


def _edges(
    numbers: NDArray[Any],
    counts: NDArray[np.int64],
    mass: NDArray[Any],
    most: int,
    finest: Fraction,
    units: tuple[Fraction, ...],
    spread: Vector,
) -> NDArray[Any]:
    """Least number of each bin and the one after the last: round, with many rows on both sides.

    Whoever knows all rows but one would know the exact edges of both tables; so each lies so many rows further in.
    """
    finite = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.ones(len(numbers), bool)
    if not finite.any():
        return np.array([0.0, 1.0])
    numbers, counts, mass = clip_numbers(numbers[finite]), counts[finite], mass[finite]
    until, n = np.cumsum(counts), int(counts.sum())

    def number_at(row: int) -> Any:
        return numbers[np.searchsorted(until, min(max(row, 0), n - 1), side="right")]

    margin = min(LEAST_ROWS, n // 4)
    low, high = margin + int(spread[_LOWEST]), n - 1 - margin - int(spread[_HIGHEST])
    first, last = (
        roundest(number_at(low), number_at(low + margin), units),
        roundest(number_at(high - margin), number_at(high), units),
    )
    often = np.flatnonzero(counts >= LEAST_ROWS + spread[_OFTEN])
    if len(often):
        first, last = min(first, numbers[often[0]]), max(last, numbers[often[-1]])
    end = next_number(max(first, last), finest)
    heavy = (counts >= LEAST_ROWS) & (mass >= mass.sum() / (2 * most) + spread[_HEAVY])
    candidates = {
        edge for place in np.flatnonzero(heavy) for edge in (numbers[place], next_number(numbers[place], finest))
    }
    share = mass * ~heavy
    row_of, light = np.cumsum(share), float(share.sum())
    n_cuts = max(1, min(most - int(heavy.sum()), int(light // (2 * LEAST_ROWS))))
    for cut in range(1, n_cuts):
        middle, reach = cut * light / n_cuts, light / (4 * n_cuts)
        middle += min(1.0, reach / _SPREAD) * spread[_CUTS + cut * (N_SHARES - _CUTS) // n_cuts]
        ends = np.searchsorted(row_of, [middle - reach, middle + reach], side="right")
        low, high = numbers[np.minimum(ends, len(numbers) - 1)]
        candidates.add(roundest(low, high, units))
    inside = [first]
    before = np.append(0, until)
    for edge in sorted(candidates):
        rows = before[np.searchsorted(numbers, [inside[-1], edge])]
        if first < edge < end and min(rows[1] - rows[0], n - rows[1]) >= LEAST_ROWS:
            inside.append(edge)
    return np.array([*inside, end] if end > inside[-1] else [*inside[:-1], end], numbers.dtype)


def _is_sparse(counts: NDArray[np.int64], group: Codes, edges: NDArray[Any], finest: Fraction, share: float) -> bool:
    """Return whether numbers stand at far fewer places than so many spread rows would, as codes do."""
    if finest == REAL or len(edges) < 2:
        return False
    widths = np.array([max(step_range(low, high, finest)[1], 1) for low, high in pairwise(edges)], float)
    n_places = -float(widths @ np.expm1(-np.bincount(group, counts, len(widths)) / widths))
    return len(counts) < (1 + share) / 4 * n_places


def _usual(counts: NDArray[np.int64], group: Codes, edges: NDArray[Any], finest: Fraction) -> Vector:
    """Rows of the value in the middle of all that each group could hold, by rows; 0 where it has few of them."""
    usual = np.zeros(max(len(edges) - 1, 0))
    if finest == REAL:
        return usual
    for place in range(len(usual)):
        width = step_range(edges[place], edges[place + 1], finest)[1]
        group_counts = np.sort(counts[group == place])
        middle = (width - 1) // 2 - (width - len(group_counts))
        usual[place] = group_counts[min(middle, len(group_counts) - 1)] if width > 1 and middle >= 0 else 0
    return usual


def _dictionary(values: pa.Array, places: NDArray[np.int64]) -> pa.DictionaryArray:
    """Column of some values, -1 for missing, whose dictionary names no others."""
    seen = np.zeros(len(values) + 1, bool)
    seen[places] = True  # -1 is the last
    place = (np.cumsum(seen) - 1).astype(np.int32).take(places, mode="wrap")
    missing = places < 0 if seen[-1] else None
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=missing), values.filter(pa.array(seen[:-1])))
