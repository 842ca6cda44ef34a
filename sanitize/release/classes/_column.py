"""One column of a generated table: groups of values for the model, and the values written for each group."""

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
    remainder_counts,
    roundest,
    step_range,
    storage_type,
    threshold_counts,
    to_numbers,
)
from sanitize.tables.columns import ArrowColumn, as_arrow, cast_values, factorize, look_up
from sanitize.tables.ordered import is_ordered

# Written for text values that are too rare; brackets, because no table is likely to contain such a value.
OTHER = "(other)"
# Codes in place of a value's position, which is never negative.
MISSING, BETWEEN = -1, -2
# A column of up to this many values writes all of them as themselves; up to twice as many, only locally frequent ones.
# The passage is smooth, so that one more value cannot change how all others are written.
_LISTED = 64
# Largest number of groups from declared edges, below the 127 that a model takes; if there are more bins, several bins
# share a group.
_DECLARED = 100
# Bins of a number that are written for each group of the model: a group is often a tenth of the rows, within which the
# place also matters.
_FINER = 3
# Rows among which the key draws the place of each edge: one more row moves the edge with probability one in this many,
# so that the outer edges do not reveal a largest value.
_SPREAD = 20
# Shares drawn for one column. The ends, two thresholds for frequent values, the unit and the threshold for sparse
# numbers have a share each, so that they do not move together; the cuts in between have the others.
N_SHARES = 128
_LOWEST, _HIGHEST, _OFTEN, _HEAVY, _UNIT, _SPARSE, _CUTS = range(7)
# A gap next to a frequent value is wider than the range of the numbers beyond it by this factor; smaller gaps occur by
# chance.
_FAR = 4


class ClassColumn(Declared, frozen=True, eq=False, dict=True):
    """Groups of the values of one column, and the values that are written for each group.

    Attributes
    ----------
    name : str
    is_ordered : bool
    edges : Arrow array
        First value of each bin of text, or least number of each bin followed by the end of the last bin.
    values : Arrow array
        Values that are written unchanged.
    groups : ndarray of int, shape (n_bins,)
        Group of each bin, ascending.
    first : ndarray of int, shape (n_groups + 1,)
        Position at which the outcomes of each group begin; the last group stands for missing values.
    bins : ndarray of int, shape (n_outcomes,)
        Bin of each outcome.
    places : ndarray of int, shape (n_outcomes,)
        Value of each outcome; -1 for missing, -2 for any number between two edges.
    weights : ndarray of int, shape (n_outcomes,)
    units : tuple of Fraction
        Steps of numbers between edges; 0 for real numbers.
    unit_weights : ndarray of int, shape (n_units,)
    pooled : Arrow array
        Values of a hierarchy that are written as an ancestor, in some rows at least.
    pool : Arrow array
        Nearest ancestor that each pooled value is written as; the value is in the bin of this ancestor.
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
        """Number of groups, including the group of missing values."""
        return len(self.first) - 1

    @cached_property
    def group_of_outcome(self) -> Codes:
        """Number of the group to which each outcome belongs."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.first))

    @cached_property
    def _rest(self) -> Codes:
        """For each bin, the outcome that is written for values without an outcome of their own."""
        return np.searchsorted(self.bins, np.arange(len(self.groups)), side="right") - 1

    @cached_property
    def is_value(self) -> NDArray[np.bool_]:
        """Mask of outcomes that are a single value or missing."""
        result = np.ones(len(self.places), bool)
        result[self._rest] = False
        return result

    @cached_property
    def _cumulative(self) -> NDArray[np.int64]:
        return np.append(0, np.cumsum(self.weights))

    def encode(self, column: Any) -> NDArray[np.int32]:
        """Group of each row of this column, in this table or another one."""
        values, codes = factorize(as_arrow(column, self.name), self.name)
        return self.value_groups(values)[codes]

    def encode_outcomes(self, column: Any) -> Codes:
        """Outcome of each row of this column, in this table or another one; missing values have the last outcome."""
        values, codes = factorize(as_arrow(column, self.name), self.name)
        return np.append(self.outcomes(values), len(self.places) - 1)[codes]

    def value_groups(self, values: pa.Array) -> NDArray[np.int32]:
        """Group of each distinct value, followed by the group of missing values."""
        return np.append(self.groups, self.n_groups - 1)[np.append(self.find_bins(values), -1)].astype(np.int32)

    def outcomes(self, values: pa.Array) -> Codes:
        """Outcome that is written for each value: the value itself, or an outcome shared by similar values."""
        bins = self.find_bins(values)
        own, ancestor = (self._find(bins, names) for names in (values, self._pool(values)))
        return np.where(own >= 0, own, np.where(ancestor >= 0, ancestor, self._rest[bins]))

    def all_outcomes(self, values: pa.Array, above: Mapping[str, tuple[str, ...]]) -> list[Codes]:
        """Outcomes of some values, then the outcomes of their ancestors, nearest first; -1 where there is none."""
        found = [self.outcomes(values)]
        if not len(self.pooled):
            return found
        bins, pooled = self.find_bins(values), {*self.pooled.to_pylist()}
        paths = [(value, above[value] if value in pooled else ()) for value in values.to_pylist()]
        for height in range(max((len(path) for _, path in paths), default=0)):
            names = [path[height] if path else value for value, path in paths]
            outcomes = self._find(bins, pa.array(names, values.type))
            found.append(np.where(np.any([outcomes == earlier for earlier in found], axis=0), -1, outcomes))
        return found

    def _find(self, bins: Codes, names: pa.Array) -> Codes:
        """Outcome that writes exactly the value, for each pair of a bin and a value; -1 if there is none."""
        places, (keys, outcomes) = look_up(names, self.values), self._value_outcomes
        wanted = bins * np.int64(len(self.values)) + places
        at = np.searchsorted(keys, wanted)
        return np.where((places >= 0) & (keys[at] == wanted), outcomes[at], -1)

    @cached_property
    def _value_outcomes(self) -> tuple[NDArray[np.int64], Codes]:
        """Ascending keys of the pairs of a bin and a value that have an outcome, and these outcomes; -1 at the end."""
        outcomes = np.flatnonzero(self.is_value & (self.places >= 0))
        keys = self.bins[outcomes] * np.int64(len(self.values)) + self.places[outcomes]
        order = np.argsort(keys)
        return np.append(keys[order], np.iinfo(np.int64).max), np.append(outcomes[order], -1)

    def _pool(self, values: pa.Array) -> pa.Array:
        if not len(self.pooled):
            return values
        place = look_up(values, self.pooled)
        all_values = pa.concat_arrays([values, self.pool.cast(values.type)])
        return all_values.take(pa.array(np.where(place >= 0, len(values) + place, np.arange(len(values)))))

    def find_bins(self, values: pa.Array) -> Codes:
        """Find the bin of each distinct value."""
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
        return ColumnError.fault(self.name, f"is {dtype}, but was {kind} when the model was fitted; convert it first")

    def draw_outcomes(self, groups: Codes, words: NDArray[np.uint64]) -> Codes:
        """Draw the outcomes of rows, given their groups, from 32-bit random words."""
        return draw_listed(self._cumulative, self.first[groups], self.first[groups + 1], words)

    def write(self, outcomes: Codes, words: NDArray[np.uint64]) -> pa.Array:
        """Draw the values of rows, given their outcomes, from 64-bit random words."""
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
        """For each unit and bin: the first multiple of the unit, the number of multiples, and the unit's weight."""
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
        """Draw numbers within bins: a unit first, then one of its multiples."""
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
        """Return whether the column has the declared edges and writes each rare value as one of its ancestors."""
        own = self.edges.to_numpy(zero_copy_only=False)
        is_cut = len(edges) < 2 or np.array_equal(own, np.unique(np.array(edges, own.dtype)))
        pairs = zip(self.pooled.to_pylist(), self.pool.to_pylist(), strict=True)
        return is_cut and all(ancestor in above.get(value, ()) for value, ancestor in pairs)

    def may_print(self, column: ArrowColumn) -> bool:
        """Return whether the model may write every value of a column."""
        values, codes = factorize(column, self.name)
        if (codes < 0).any() and not (self.places == MISSING).any():
            return False
        strange = values.filter(pa.array(look_up(values, self.values) < 0))
        # Numbers are drawn between edges that the key of the release moved: without the key no number can be ruled out.
        return not len(strange) or self.is_ordered

    def count_replaced(self, column: ArrowColumn) -> tuple[float, int]:
        """Expected number of rows written with another value, and the number of values outside the edges."""
        values, codes = factorize(column, self.name)
        rows = np.bincount(codes[codes >= 0], minlength=len(values))
        if self.is_ordered and len(self.edges):
            numbers, edges = _same_scale(values, self.values.type), self.edges.to_numpy()
            rest, is_listed = self._rest[self.find_bins(values)], look_up(values, self.values) >= 0
            # A code between two edges would be no code of the table, so a rare one is replaced and not drawn.
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
        """Learn at most about ``most`` groups of a column, and the values written for each group.

        Parameters
        ----------
        column : Arrow array
        name : str
        values : Arrow array
            Distinct values in ascending order.
        codes : ndarray of int, shape (n,)
            Position of each row's value in ``values``; ``n_values`` if it is missing.
        counts : ndarray of int, shape (n_values,)
            Number of rows of each value; rows that look like one person's count once.
        most : int
        weights : ndarray of float, shape (n,), optional
            Weights of the rows, 1 on average.
        edges : sequence of numbers, optional
            Declared edges of an ordered column, in place of learned ones.
        above : mapping of value to names, optional
            Ancestors of each text value, the nearest first: a value that is too rare is written as one of them.
        shares : ndarray of float in [0, 1), shape (N_SHARES,), optional
            Place of each edge between rows, drawn with a key so that no edge reveals a single row.
        lists_all : bool, optional
            Write every value that is not rare as itself.

        Raises
        ------
        ColumnError
            If ancestors are given for a column that is not text.
        """
        if above and not pa.types.is_string(values.type) and not pa.types.is_null(values.type):
            raise ColumnError.fault(
                name,
                f"has a hierarchy and must be text, got {values.type}; convert it to text, or give "
                "bins in place of the hierarchy",
            )
        heavy = counts if weights is None else np.bincount(codes, weights, len(values) + 1)[:-1]
        if is_ordered(column.type, name):
            values = cast_values(values, storage_type(column))
            # Numbers of a dictionary are names, so only numbers that occur are written.
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
        texts, masses = values.to_pylist(), heavy.tolist()
        shares = threshold_counts(counts) / np.maximum(counts, 1)
        written = {value: {value: share} for value, share in zip(texts, shares.tolist(), strict=True)}
        climbed = _climb(texts, counts, above) if pa.types.is_string(values.type) else {}
        written |= climbed
        pooled = {value: [*names][1] for value, names in climbed.items() if len(names) > 1}
        mass: dict[Any, float] = {}
        for value, amount in zip(texts, masses, strict=True):
            mass[pooled.get(value, value)] = mass.get(pooled.get(value, value), 0.0) + amount
        names = sorted(mass)
        place_of = {name: 0 for value in texts for name, share in written[value].items() if share > 0}
        is_start = np.array([name in place_of for name in names], bool)
        starts = _runs(np.array([mass[name] for name in names]), most, is_start)
        bin_of = dict(zip(names, np.searchsorted(starts, np.arange(len(names)), side="right") - 1, strict=True))
        shared_values = sorted(place_of)
        place_of = {name: place for place, name in enumerate(shared_values)}
        word = OTHER if pa.types.is_string(values.type) else OTHER.encode() if pa.types.is_binary(values.type) else None
        other_place = (
            shared_values.index(word) if word in shared_values else len(shared_values) if word is not None else MISSING
        )
        listed = [*shared_values, *([word] if other_place == len(shared_values) else [])]
        amounts: dict[tuple[int, int], float] = {}
        residual = np.zeros(len(starts))
        for value, amount in zip(texts, masses, strict=True):
            bin_ = int(bin_of[pooled.get(value, value)])
            for text, share in written[value].items():
                if share > 0:
                    key = bin_, place_of[text]
                    amounts[key] = amounts.get(key, 0.0) + amount * share
            residual[bin_] += amount * max(1 - sum(written[value].values()), 0)
        entries = [(*key, amount) for key, amount in sorted(amounts.items())]
        entries += [(place, other_place, float(amount)) for place, amount in enumerate(residual)]
        return cls(
            name,
            False,  # noqa: FBT003
            pa.array([names[start] for start in starts], values.type),
            pa.array(listed, values.type),
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
        gaps: dict[Any, int] = {}
        if len(declared) > 1:
            edges = np.unique(np.array(declared, numbers.dtype))
            coarse = np.append(edges[:-1][:: -(-len(edges) // _DECLARED)], edges[-1:])
        elif len(numbers):
            coarse = _edges(numbers, counts, heavy, most, finest, units, spread)
            fine = _edges(numbers, counts, heavy, _FINER * most, finest, units, spread)
            edges, gaps = _leave_gaps(numbers, counts, np.unique([*coarse, *fine]), finest, units, spread)
            within = [edges[np.searchsorted(edges, gap) + (step > 0)] for gap, step in gaps.items()]
            coarse = np.array([*coarse[:1], *np.setdiff1d(np.intersect1d(coarse[1:-1], edges), within), *coarse[-1:]])
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
        for place, step in zip(np.searchsorted(edges, [*gaps]), gaps.values(), strict=True):
            residual[place + step] += residual[place]
            residual[place] = 0
        if is_code or (len(declared) < 2 and _is_sparse(counts, place_of, edges, finest, shares[_SPARSE])):
            # Rare values are written as others of their group; codes alone in their group are written as missing.
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
    """Convert values to numbers on the scale of a type, including dates and times in another unit."""
    if pa.types.is_temporal(dtype) and values.type != dtype and not pa.types.is_dictionary(values.type):
        values = values.cast(dtype, safe=False)
    return to_numbers(values)


def _flatten_outcomes(
    entries: list[tuple[int, int, float]], groups: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Position of the first outcome of each group, and the bin, value and weight of each outcome, ordered by bin."""
    entries = [*entries, (len(groups), MISSING, 1.0)]
    of_bin, place, mass = (np.array(part) for part in zip(*entries, strict=True))
    order = np.argsort(of_bin, kind="stable")
    group = np.append(groups, groups[-1:].sum() + min(len(groups), 1))[of_bin[order]]
    first = np.searchsorted(group, np.arange(group[-1] + 2)).astype(np.int64)
    weights = whole_weights(mass[order].astype(float), first)
    return first, of_bin[order].astype(np.int32), place[order].astype(np.int32), weights


def _runs(mass: NDArray[Any], most: int, is_start: NDArray[np.bool_]) -> Codes:
    """Starts of runs of sorted values: each frequent value is a run, and the others form runs of about equal counts."""
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


def _climb(
    values: Sequence[str], counts: NDArray[np.int64], above: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, float]]:
    """Names under which each declared value is written, first the value and then its ancestors, with their shares.

    Rows of a value that is too rare go to its nearest ancestor, and the rest of an ancestor that is too rare goes to
    the next one. One more row may take up to two from an ancestor and counts as one, so each ancestor fades half as
    fast.
    """
    rows = dict(zip(values, counts.tolist(), strict=True))
    written: dict[str, dict[str, float]] = {value: {} for value in above}
    left, people = dict.fromkeys(above, 1.0), {value: float(rows.get(value, 0)) for value in above}
    below = dict.fromkeys(above, "")
    for height in range(-1, len(next(iter(above.values()), ()))):
        own = {value: value if height < 0 else path[height] for value, path in above.items()}
        climbing = [value for value, name in own.items() if height < 0 or name != below[value]]
        total = {own[value]: 0.0 if height < 0 else float(rows.get(own[value], 0)) for value in climbing}
        for value in climbing:
            total[own[value]] += people[value]
        names, counted = [*total], np.array([*total.values()])
        slowness = 2.0 ** (height + 1)
        shares, parts = (
            dict(zip(names, (count(counted, slowness) / np.maximum(counted, 1)).tolist(), strict=True))
            for count in (threshold_counts, remainder_counts)
        )
        for value in climbing:
            name, share = own[value], shares[own[value]]
            if name == value or share > 0 < left[value]:
                written[value][name] = written[value].get(name, 0.0) + left[value] * share
            left[value] *= 1 - share
            people[value] *= parts[name]
        below = own
    return written


def _finest(counts: NDArray[Any], units: tuple[Fraction, ...]) -> Fraction:
    """Smallest unit that more than a few rows need, because no larger unit divides their values."""
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
    """Lower edge of each bin and the end of the last bin, as round numbers with many rows on both sides.

    An attacker who knows all rows but one could compute exact edges of both candidate tables; so each edge is moved
    inwards by a random number of rows.
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


def _leave_gaps(
    numbers: NDArray[Any],
    counts: NDArray[np.int64],
    edges: NDArray[Any],
    finest: Fraction,
    units: tuple[Fraction, ...],
    spread: Vector,
) -> tuple[NDArray[Any], dict[Any, int]]:
    """Add edges around each gap next to a frequent value; return all edges, and by gap where its numbers are written.

    Numbers in a gap are written in the next bin above (1) or below (-1): a gap, as between a mark of -999 or a date
    without end and all other numbers, is then empty. The numbers next to a gap end like those at the ends of the
    column.
    """
    inside = (numbers >= edges[0]) & (numbers <= edges[-1])
    numbers, counts = numbers[inside], counts[inside]
    until, often = np.cumsum(counts), counts - spread[_OFTEN]
    many = np.flatnonzero((often > LEAST_ROWS) & (threshold_counts(often) == often))
    alone = {edge for edge, end in pairwise(edges) if end == next_number(edge, finest)}
    anchors = [place for place in many.tolist() if place in (0, len(numbers) - 1) or numbers[place] in alone]
    gaps: dict[Any, int] = {}
    for number, (low, high) in enumerate(pairwise([-1, *anchors, len(numbers)])):
        first, last = (until[place] if place >= 0 else 0 for place in (low, high - 1))
        for step, row, place, end in ((1, first, low, 0), (-1, last - 1, high, len(numbers) - 1)):
            # No two edges move together, so the ends use shares of their own.
            share = (_HIGHEST, _LOWEST)[step > 0] if place == end else -1 - (2 * number + (step > 0)) % (N_SHARES // 2)
            margin = LEAST_ROWS + int(spread[share])
            reach = 2 * (margin + LEAST_ROWS)
            if not 0 <= place < len(numbers) or last - first < 4 * (2 * LEAST_ROWS + _SPREAD):
                continue
            rows = row + step * np.array([margin, margin + LEAST_ROWS, reach])
            near, further, far = (numbers[at] for at in np.searchsorted(until, rows, side="right"))
            start = next_number(numbers[place], finest) if step > 0 else numbers[place]
            edge = roundest(min(near, further), max(near, further), units)
            edge = edge if step > 0 else next_number(edge, finest)
            if abs(float(edge) - float(start)) > _FAR * (abs(float(far) - float(near)) + float(finest)):
                edges = edges[(edges <= min(start, far)) | (edges >= max(start, far))]
                edges = np.unique(np.append(edges, [start, edge]).astype(edges.dtype))
                gaps[min(start, edge)] = step
    return edges, gaps


def _is_sparse(counts: NDArray[np.int64], group: Codes, edges: NDArray[Any], finest: Fraction, share: float) -> bool:
    """Return whether a column has so few distinct numbers that they look like codes, not measurements."""
    if finest == REAL or len(edges) < 2:
        return False
    widths = np.array([max(step_range(low, high, finest)[1], 1) for low, high in pairwise(edges)], float)
    n_places = -float(widths @ np.expm1(-np.bincount(group, counts, len(widths)) / widths))
    return len(counts) < (1 + share) / 4 * n_places


def _usual(counts: NDArray[np.int64], group: Codes, edges: NDArray[Any], finest: Fraction) -> Vector:
    """Median number of rows per possible value of each bin; 0 if the median value has no row."""
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
    """Column of the values at some places (-1 is missing), with a dictionary of only these values."""
    seen = np.zeros(len(values) + 1, bool)
    seen[places] = True  # the index -1 takes the last
    place = (np.cumsum(seen) - 1).astype(np.int32).take(places, mode="wrap")
    missing = places < 0 if seen[-1] else None
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=missing), values.filter(pa.array(seen[:-1])))
