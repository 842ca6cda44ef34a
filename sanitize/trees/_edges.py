"""Edges between the levels of an ordered column: none of them is the value of a few rows.

A value of many rows is a level of its own. All other values lie in bins of about equal rows, and the edge between two
bins is the roundest number within a stretch of rows around it: that stays the same when a row comes or goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._checks import Mask

# Rows that a value has before it is printed as it is, and rows on both sides of an edge.
LEAST_ROWS = 10
# Values that are levels of their own where they hold nearly all rows, and bins of all others.
MOST_VALUES, MOST_BINS = 128, 64
_LARGEST = Fraction(10) ** 308
_DATE_UNITS = ("Y", "M", "D", "h", "m", "s", "ms", "us", "ns")

Kind = Literal["number", "instant", "span"]


@dataclass(frozen=True, eq=False)
class Scale:
    """Distinct values of an ordered column in ascending order, the rows of each, and what they are multiples of.

    Attributes
    ----------
    values : ndarray, shape (m,)
        Whole or real numbers; of dates and times, nanoseconds.
    counts : ndarray of int, shape (m,)
    kind : {"number", "instant", "span"}
        What makes a number round: powers of ten, or years to nanoseconds.
    unit : Fraction or None
        Nearly all rows hold a multiple of it; None where they hold any number.
    """

    values: NDArray[Any]
    counts: NDArray[np.int64]
    kind: Kind
    unit: Fraction | None

    @classmethod
    def of(cls, values: NDArray[Any], counts: NDArray[np.int64], kind: Kind, *, single: bool = False) -> Scale:
        """Scale of distinct values; real numbers may be of single precision."""
        whole, tolerance = values.dtype.kind in "iu", 1e-7 if single else 1e-12

        def no_multiples(unit: Fraction) -> Mask:
            if whole:
                return values % values.dtype.type(unit) != 0
            multiples = values / float(unit) if unit >= 1 else values * float(1 / unit)
            known = np.where(np.isfinite(multiples), multiples, 0.0)
            return np.abs(known - np.rint(known)) > tolerance * np.maximum(np.abs(known), 1.0)

        if kind == "number":
            largest = float(np.abs(values[np.isfinite(values)].astype(np.float64)).max(initial=0.0))
            powers = (Fraction(10) ** digits for digits in range(18, -10, -1))
            units = [unit for unit in powers if unit <= max(largest, 1.0)]
            # Doubles whose multiples are known no better are no multiples.
            units = [unit for unit in units if (unit >= 1 if whole else tolerance * largest / float(unit) <= 0.01)]
        else:  # days and less, in nanoseconds
            units = [Fraction(n) for n in (86_400 * 10**9, 3_600 * 10**9, 60 * 10**9, 10**9, 10**6, 10**3, 1)]
        # The largest unit that nearly all rows hold a multiple of.
        unit = next((unit for unit in units if counts[no_multiples(unit)].sum() < LEAST_ROWS), None)
        return cls(values, counts, kind, unit)

    def after(self, value: Any) -> Any:
        """The next value that the column could have."""
        if self.unit is None or not np.isfinite(value):
            return np.nextafter(value, np.inf)
        return self.number(Fraction(value) // self.unit * self.unit + self.unit)

    def number(self, exact: Fraction) -> Any:
        """A number of the type of the values, kept within its range."""
        if self.values.dtype.kind == "f":
            return np.float64(float(min(max(exact, -_LARGEST), _LARGEST)))
        limits = np.iinfo(self.values.dtype)
        return self.values.dtype.type(min(max(int(exact), limits.min), limits.max))

    def roundest(self, low: Any, high: Any) -> Any:
        """The roundest number above ``low`` and at most ``high``; ``high`` where none is."""
        if not low < high:
            return high
        if self.kind != "number":
            code = "M8" if self.kind == "instant" else "m8"
            for unit in _DATE_UNITS if self.kind == "instant" else _DATE_UNITS[2:]:
                whole = np.int64(high).astype(f"{code}[ns]").astype(f"{code}[{unit}]")
                found = whole.astype(f"{code}[ns]").astype(np.int64)
                if low < found <= high:
                    return found
            return high
        if self.values.dtype.kind == "f":
            low, high = np.clip([low, high], -float(_LARGEST), float(_LARGEST))
        least, most = Fraction(low.item()), Fraction(high.item())
        scaled, scale = most.as_integer_ratio()
        digits = len(str(int(max(abs(least), abs(most), Fraction(1)))))
        for power in range(digits, digits - 400, -1):
            up, down = 10 ** max(-power, 0), 10 ** max(power, 0)
            found = self.number(Fraction(scaled * up // (scale * down) * down, up))
            if low < found <= high:
                return found
        return high


@dataclass(frozen=True, eq=False)
class Edges:
    """Where the levels of a column begin, and the last value that is printed.

    Attributes
    ----------
    starts : ndarray, shape (n_levels,)
        Ascending; the first is also the least value that is printed.
    end : number
        Not below the last start.
    """

    starts: NDArray[Any]
    end: Any


def edges_of(
    scale: Scale, most_values: int = MOST_VALUES, most_bins: int = MOST_BINS, given: Sequence[Any] = ()
) -> Edges:
    """Edges learned from rows, and all given ones.

    Parameters
    ----------
    scale : Scale
    most_values, most_bins : int
    given : sequence of numbers
        Edges that are kept whatever rows are between them.
    """
    values, counts = scale.values, scale.counts
    n = int(counts.sum())
    heavy = counts >= LEAST_ROWS
    if not (heavy.sum() <= most_values and counts[heavy].sum() >= 0.9 * n):
        heavy &= counts >= n / most_bins
    ends = np.cumsum(counts)
    first, last = _outermost(scale, ends)
    found: set[Any] = set()
    size = max(2 * LEAST_ROWS, -(-int(counts[~heavy].sum()) // most_bins))
    own = np.flatnonzero(heavy)
    for before, after in zip([-1, *own], [*own, len(values)], strict=True):
        light = slice(before + 1, after)
        rows = int(counts[light].sum())
        if rows >= LEAST_ROWS:
            if before >= 0:
                found.add(scale.after(values[before]))
            run, until, n_bins = values[light], np.cumsum(counts[light]), max(1, round(rows / size))
            for cut in range(1, n_bins):  # round numbers that cut the run into bins of about equal rows
                middle, reach = cut * rows // n_bins, max(rows // (4 * n_bins), LEAST_ROWS // 2)
                low, high = run[np.searchsorted(until, [middle - reach, middle + reach - 1], side="right")]
                found.add(scale.roundest(low, high))
        if after < len(values):
            found.add(values[after])
    inside = sorted(edge for edge in found if first < edge <= last)
    starts = np.array([first, *inside], values.dtype)
    return _with_given(scale, starts, last, ends, given)


def _outermost(scale: Scale, ends: NDArray[np.int64]) -> tuple[Any, Any]:
    """The least and the largest value that is printed: with some rows beyond them, and round."""
    values, n = scale.values, int(ends[-1])

    def at(row: int) -> Any:
        return values[np.searchsorted(ends, min(max(row, 0), n - 1), side="right")]

    first = scale.roundest(at(LEAST_ROWS - 1), at(2 * LEAST_ROWS - 1)) if n > 2 * LEAST_ROWS else at(n // 2)
    last = scale.roundest(at(n - 2 * LEAST_ROWS), at(n - LEAST_ROWS)) if n > 2 * LEAST_ROWS else at(n // 2)
    heavy = np.flatnonzero(scale.counts >= LEAST_ROWS)
    if len(heavy):
        first, last = min(first, values[heavy[0]]), max(last, values[heavy[-1]])
    return first, max(first, last)


def _with_given(scale: Scale, starts: NDArray[Any], last: Any, ends: NDArray[np.int64], given: Sequence[Any]) -> Edges:
    """All given edges, and those others that leave enough rows on both sides."""
    if len(given):
        starts = np.unique(np.concatenate([starts, np.array(given, starts.dtype)]))
        last = max(last, starts[-1])
    kept = [starts[0]]
    before = np.append(0, ends)[np.searchsorted(scale.values, starts, side="left")]
    begun = 0
    for start, row in zip(starts[1:], before[1:], strict=True):
        if start in given:
            while len(kept) > 1 and row - begun < LEAST_ROWS and kept[-1] not in given:
                kept.pop()
                begun = int(before[np.searchsorted(starts, kept[-1])])
        elif row - begun < LEAST_ROWS or ends[-1] - row < LEAST_ROWS:
            continue
        kept.append(start)
        begun = int(row)
    return Edges(np.array(kept, starts.dtype), last)
