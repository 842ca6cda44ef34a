"""What a state of the model is printed as in a column: a value that many rows have, or any number between its edges."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._checks import Codes
from sanitize._files.declared import Declared, require
from sanitize._tables.columns import as_arrow, factorize, look_up
from sanitize.printing._edges import MOST_ROWS, check_starts, check_values, draw_each, faded, released
from sanitize.trees import (
    LEAST_ROWS,
    MOST_CATEGORIES,
    MOST_VALUES,
    Edges,
    Levels,
    Scale,
    as_ordered,
    categories,
    edges_of,
    is_ordered,
    plain,
    restored,
    scale_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._tables.columns import ArrowColumn

OTHER = "(other)"
MISSING, BETWEEN = -1, -2  # in place of a value


class PrintedColumn(Declared, frozen=True, eq=False):
    """What each state is printed as in one column.

    Attributes
    ----------
    name : str
    values : Arrow array
        Values that are printed as they are.
    first : ndarray of int, shape (n_states + 1,)
        Where the outcomes of each state begin.
    places : ndarray of int, shape (n_outcomes,)
        The value of each outcome; -1 for missing, -2 for any number between the ends of the state.
    weights : ndarray of int, shape (n_outcomes,)
    ends : ndarray, shape (n_states, 2)
        Least and largest number that a state is printed as: real where there is no unit, otherwise whole multiples.
    unit : Fraction or None
        What numbers between ends are multiples of.
    """

    name: str
    values: pa.Array
    first: NDArray[np.int64]
    places: NDArray[np.int32]
    weights: NDArray[np.int64]
    ends: NDArray[Any]
    unit: Fraction | None

    def __post_init__(self) -> None:
        check_starts(self.first, len(self.places))
        check_values(self.values, self.name)
        require(self.places.shape == self.weights.shape and (self.places >= BETWEEN).all())
        require((self.places < len(self.values)).all() and (self.weights >= 0).all())
        require(self.weights.sum(dtype=np.float64) < MOST_ROWS)
        require((np.add.reduceat(self.weights, self.first[:-1]) > 0).all())
        require(self.ends.shape == (len(self.first) - 1, 2) and (self.ends[:, 0] <= self.ends[:, 1]).all())
        require((self.ends.dtype.kind == "f") == (self.unit is None) and self.ends.dtype.itemsize == 8)
        require(self.unit is None or Fraction(1, 10**18) <= self.unit <= 10**19)

    @property
    def is_listed(self) -> bool:
        """Whether it prints values that are listed only."""
        return bool((self.places != BETWEEN).all())

    def draw(self, states: Codes, words: NDArray[np.uint64], more: NDArray[np.uint64]) -> pa.Array:
        """Printed values of rows, from words of 32 bits for each and more of 64 bits for those between ends."""
        cumulative = np.append(0, np.cumsum(self.weights))
        outcome = draw_each(cumulative, self.first[states], self.first[states + 1], words)
        places = self.places[outcome]
        if self.is_listed:
            return released(self.values, places)
        between = np.flatnonzero(places == BETWEEN)
        least, most = self.ends[states[between]].T
        if self.unit is None:
            numbers = least + (most - least) * (more[between] >> np.uint64(11)) * 2.0**-53
        else:
            span = (most - least).astype(np.uint64) + np.uint64(1)
            numbers = multiples(least + (more[between] % span).astype(least.dtype), self.unit, self.values.type)
        places = places.astype(np.int64)
        places[between] = len(self.values) + np.arange(len(between))
        drawn = pa.concat_arrays([self.values, restored(numbers, self.values.type)])
        return drawn.take(pa.array(places, mask=places < 0))

    def may_print(self, column: ArrowColumn) -> bool:
        """Whether every value of a column is one that may be printed."""
        values, codes = factorize(column, self.name)
        if (codes < 0).any() and not (self.places == MISSING).any():
            return False
        strange = values.filter(pa.array(look_up(values, self.values) < 0))
        if self.is_listed or not len(strange):
            return not len(strange)
        numbers, least = as_ordered(strange, self.name)[0], self.ends[:-1, 0].min()
        ends = (multiples(end, self.unit, self.values.type) if self.unit else end for end in (least, self.ends.max()))
        low, high = ends
        return bool(((numbers >= low) & (numbers <= high)).all())

    @classmethod
    def fixed(cls, name: str, values: pa.Array, places: NDArray[Any]) -> Self:
        """One value for each state, -1 for missing."""
        n = len(places)
        nowhere = np.zeros((n, 2), np.int64)
        return cls(name, values, np.arange(n + 1), places.astype(np.int32), np.ones(n, np.int64), nowhere, Fraction(1))

    def of_states(self, levels: Codes) -> Self:
        """The same for states, each of which is one of the levels that this is about."""
        outcomes = [np.arange(self.first[level], self.first[level + 1]) for level in levels]
        flat = np.concatenate(outcomes)
        first = np.cumsum([0, *(len(own) for own in outcomes)])
        return type(self)(
            self.name, self.values, first, self.places[flat], self.weights[flat], self.ends[levels], self.unit
        )


def multiples(steps: Any, unit: Fraction, dtype: pa.DataType) -> NDArray[Any]:
    """Whole multiples of a unit, as the numbers that columns of a type are ordered by."""
    if pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return steps * float(unit) if unit >= 1 else steps / float(1 / unit)
    return steps * steps.dtype.type(int(unit))


def printed_as(
    column: Any,
    name: str,
    coarser: int,
    given: Sequence[Any],
    declared: Sequence[Any] = (),
    above: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Levels, PrintedColumn]:
    """Levels of a column, and what each of them is printed as.

    Parameters
    ----------
    column : column
    name : str
    coarser : int
        Halvings of the most levels.
    given : sequence of numbers
        Edges that are kept.
    declared : sequence of numbers
        All edges, where they are not to be learned.
    above : mapping of value to names, optional
        Ancestors of categories, which rare ones are printed as.
    """
    arrow = as_arrow(column, name)
    if is_ordered(arrow.type, name):
        return _ordered(arrow, name, coarser, given, declared)
    values, counts = categories(arrow, name)
    levels = Levels.of_categories(values, counts, name, max(MOST_CATEGORIES >> coarser, 4), above)
    printed, other = _with_other(levels.values)
    places = np.array([*range(len(levels.values)), MISSING, other], np.int32)
    return levels, PrintedColumn.fixed(name, printed, places)


def listed_values(values: pa.Array, codes: Codes, name: str) -> tuple[pa.Array, int, Codes]:
    """Values that are not rare and the word for the others, its place, and the place of each row.

    Missing is one place further than the values are many, and a rare value two.
    """
    counts = np.bincount(codes, minlength=len(values) + 1)
    often = np.flatnonzero(counts[:-1] >= LEAST_ROWS)
    listed, word = _with_other(values.take(pa.array(often)))
    place = np.full(len(values) + 1, len(listed) + 1)
    place[often] = np.arange(len(often))
    place[-1] = len(listed)
    return listed, word, place[codes]


def _with_other(values: pa.Array) -> tuple[pa.Array, int]:
    """Values and one more for all others, and its place; what is not text has no word for them."""
    if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        return values, MISSING
    word = pa.array([OTHER if pa.types.is_string(values.type) else OTHER.encode()], values.type)
    place = int(look_up(word, values)[0])
    return (values, place) if place >= 0 else (pa.concat_arrays([values, word]), len(values))


def _ordered(
    arrow: Any, name: str, coarser: int, given: Sequence[Any], declared: Sequence[Any]
) -> tuple[Levels, PrintedColumn]:
    dtype = plain(arrow).type
    scale = scale_of(arrow, name)
    if not len(scale.values):
        nothing = np.array([0, 1]), np.array([MISSING], np.int32), np.ones(1, np.int64), np.zeros((1, 2), np.int64)
        empty = pa.array([], dtype)
        return Levels(name, is_ordered=True, values=empty), PrintedColumn(name, empty, *nothing, Fraction(1))
    if len(declared):
        edges = Edges(np.array(declared[:-1]), np.array(declared[-1]))
    else:
        # Bins of a column: with more an adversary is better at telling who is in the table, and an analyst at nothing.
        edges = edges_of(scale, max(MOST_VALUES >> coarser, 4), max(32 >> coarser, 4), given)
    levels = Levels(name, is_ordered=True, values=restored(edges.starts, dtype))
    begins = as_ordered(levels.values, name)[0]
    level = np.maximum(np.searchsorted(begins, scale.values, side="right") - 1, 0)
    n = len(begins)
    ends = _ends(scale, begins, edges.end)
    rows = np.bincount(level, scale.counts, n)
    # A value is listed for what it has beyond the values beside it, and fades in: nobody makes it appear.
    beyond = scale.counts - (0 if scale.unit is None else _usual(scale.counts, level, ends)[level])
    often = np.flatnonzero(beyond > LEAST_ROWS)
    own, rest = faded(beyond[often]), rows - np.bincount(level[often], beyond[often], n)
    of_level = np.concatenate([level[often], np.arange(n), [n]])
    places = np.concatenate([np.arange(len(often)), np.full(n, BETWEEN), [MISSING]])
    weights = np.concatenate([own, rest, [1.0]])
    order = np.lexsort((places < 0, of_level))
    of_level, places, weights = of_level[order], places[order], weights[order]
    totals = np.append(rows, 1.0)[of_level]
    # The weights of a state sum to about 2**30.
    whole = np.maximum((weights / np.maximum(totals, 1.0) * (1 << 30)).astype(np.int64), 0)
    whole[(places == BETWEEN) & (totals == 0)] = 1
    values = restored(scale.values[often], dtype)
    first = np.searchsorted(of_level, np.arange(n + 2))
    ends = np.concatenate([ends, np.zeros((1, 2), ends.dtype)])
    return levels, PrintedColumn(name, values, first, places.astype(np.int32), whole, ends, scale.unit)


def _usual(counts: NDArray[np.int64], level: Codes, ends: NDArray[Any]) -> NDArray[np.int64]:
    """Rows of the value in the middle of those of each level, by rows; 0 where it is the only one."""
    width = ends[:, 1].astype(np.float64) - ends[:, 0] + 1
    first = np.searchsorted(level, np.arange(len(ends) + 1))
    here = np.diff(first)
    middle = np.minimum((width - 1) // 2 - (width - here), here - 1)
    ascending = counts[np.lexsort((counts, level))]
    place = (first[:-1] + np.maximum(middle, 0)).astype(np.intp)
    return np.where((middle >= 0) & (width > 1), ascending[np.minimum(place, len(counts) - 1)], 0)


def _ends(scale: Scale, begins: NDArray[Any], end: Any) -> NDArray[Any]:
    """Least and largest number of each level: multiples of the unit, or real numbers."""
    if scale.unit is None:
        return np.stack([begins, np.append(begins[1:], end)], axis=1).astype(np.float64)
    steps = [_steps(value, scale.unit) for value in begins.tolist()]
    beyond = [step - 1 for step in steps[1:]] + [int(Fraction(end.item()) // scale.unit)]
    kind = np.uint64 if begins.dtype == np.uint64 else np.int64
    return np.array([[low, max(low, high)] for low, high in zip(steps, beyond, strict=True)], kind)


def _steps(value: float, unit: Fraction) -> int:
    """The least multiple of a unit that is not below a value; a double is the multiple that it is nearest to."""
    exact = Fraction(value) / unit
    nearest = round(exact)
    # Nearer to a multiple than a millionth of a unit, it is one.
    return nearest if abs(exact - nearest) < Fraction(1, 10**6) else -(-exact.numerator // exact.denominator)
