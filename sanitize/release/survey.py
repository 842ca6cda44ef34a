"""Survey of a column: kind, number of values, identification of rows, and possible edges."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize.core.binning import STEPS, as_numbers, as_seconds, by_step, holds_dates, is_numeric
from sanitize.errors import ColumnError
from sanitize.release.people import encode_columns, refuse_people
from sanitize.tables.columns import as_arrow, factorize

# Below this many rows, most columns look distinct, so no column counts as an identifier.
TELLING_ROWS = 50
# Shares of rows with a pattern from which on it describes the column: most rows, or all rows but a few errors.
_MOSTLY, _NEARLY_ALL = 0.5, 0.99


def refuse_identifiers(table: Mapping[str, Any], names: Iterable[str], companions: Iterable[str] = ()) -> None:
    """Refuse all columns that identify rows: mostly distinct text, dates or times, or index numbers.

    Amounts are mostly distinct too, but identify nobody. So whole numbers count only if they are also consecutive,
    sorted, or all of the same width of six or more digits. Given ``companions``, columns that look like
    identifiers of people with several rows are also refused.

    Raises
    ------
    ColumnError
        The message says what can be done with the columns.
    """
    names, bad = list(names), []
    columns = encode_columns(table, names, companions)
    for name in names:
        values, codes = columns[name].values, columns[name].codes
        codes = codes[codes < len(values)]
        if len(codes) >= TELLING_ROWS and names_rows(values, len(codes), codes):
            bad.append(name)
    if bad:
        raise ColumnError(
            f"direct identifier: nearly every row has a value of its own in {', '.join(map(repr, bad))}, so "
            "each released value would belong to one person. Leave the column out, or cut numbers and dates at edges "
            "with bins and group text with hierarchies",
            bad[0] if len(bad) == 1 else None,
        )
    if companions and names:
        refuse_people(columns, np.ones(len(columns[names[0]].codes)), names)


def names_rows(values: pa.Array, n: int, codes: NDArray[np.integer] | None = None) -> bool:
    """Return whether distinct values identify the ``n`` rows; ``codes`` has the value of each row, in order."""
    if len(values) <= _MOSTLY * n:
        return False
    types, dtype = pa.types, values.type
    if not types.is_integer(dtype):
        is_text = types.is_string(dtype) or types.is_binary(dtype) or types.is_fixed_size_binary(dtype)
        return bool(is_text or types.is_timestamp(dtype) or types.is_date(dtype) or types.is_time(dtype))
    if len(values) < _NEARLY_ALL * n:
        return False
    numbers = values.to_numpy()
    least, most = int(numbers.min()), int(numbers.max())
    is_wide = least > 0 and len(str(least)) == len(str(most)) >= 6
    steps = np.ones(1) if codes is None else np.diff(numbers[codes].astype(np.float64))
    in_order = codes is not None and bool((steps >= 0).all() or (steps <= 0).all())
    return most - least < len(numbers) / _NEARLY_ALL or is_wide or in_order


# Numbers and dates with more values than this are cut into bins: counts of children or grades have fewer, amounts more.
MANY_NUMBERS = 20
# Counts above this are stated in three digits, because nobody reads more.
MANY_VALUES = 1_000_000


@dataclass(frozen=True, eq=False)
class ColumnSurvey:
    """Facts about one column: the kind of its values, and the numbers of distinct values and of rows examined.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "text", "other"}
        Kind of all values, or, in a CSV file, the kind as which all can be read.
    n_values, n_rows : int
        Number of distinct values, and number of rows examined.
    """

    name: str
    kind: Literal["number", "date", "text", "other"]
    n_values: int
    n_rows: int
    _values: Any

    @classmethod
    def from_column(cls, name: str, column: Any) -> ColumnSurvey:
        """Survey a column; text counts as numbers or dates if every value can be read as a number or a date."""
        values, codes = factorize(as_arrow(column, name), name)
        kind, read = _read(values, name)
        return cls(name, kind, len(values), len(codes), (read, codes[codes >= 0]))

    @property
    def is_wide(self) -> bool:
        """True if the column has so many numbers or dates that bins are better."""
        return self.kind in ("number", "date") and self.n_values > MANY_NUMBERS

    @property
    def is_identifier(self) -> bool:
        """True if the column is text that differs in most rows."""
        return self.kind == "text" and self.n_rows >= TELLING_ROWS and self.n_values > self.n_rows / 2

    @cached_property
    def step(self) -> str | None:
        """Finest calendar unit of which the dates of the column cover 2 to 20; None if there is none."""
        steps = STEPS if self.kind == "date" else ()
        return next((step for step in steps if 1 < self.n_symbols(step) <= MANY_NUMBERS), None)

    def n_symbols(self, bins: Sequence[Any] | str | None) -> int:
        """Number of symbols of the column if it is unchanged, cut at edges, or cut into calendar units."""
        if isinstance(bins, str) and self.kind == "date":
            return len(by_step(self._values[0], bins, self.name).dictionary)
        return self.n_values if bins is None or isinstance(bins, str) else len(bins)

    def edges(self, n_bins: int) -> list[Any]:
        """Edges of about equally full bins, rounded so that they reveal little about any row; dates are text."""
        values, codes = self._values
        if self.kind == "date":
            seconds = as_seconds(values, self.name)[0].astype("datetime64[s]")
            years = seconds.astype("datetime64[Y]").astype(float) + 1970
            return [f"{edge:04.0f}-01-01" for edge in _round_quantiles(years[codes], n_bins)]
        return list(_round_quantiles(as_numbers(values)[codes], n_bins))


def _read(values: pa.Array, name: str) -> tuple[Literal["number", "date", "text", "other"], pa.Array]:
    if is_numeric(values.type):
        return "number", values
    if holds_dates(values.type):
        return "date", values
    if not pa.types.is_string(values.type):
        return "other", values
    if not len(values):
        return "text", values
    with contextlib.suppress(pa.ArrowInvalid):
        return "number", values.cast(pa.float64())
    with contextlib.suppress(ColumnError):
        as_seconds(values, name)
        return "date", values
    return "text", values


def _round_quantiles(values: NDArray[np.float64], n_bins: int) -> list[float]:
    """Return quantiles as round edges of bins; the smallest is rounded down and the largest up."""
    values = values[np.isfinite(values)]
    quantiles = np.quantile(values, np.linspace(0, 1, n_bins + 1))
    # Half the width of a typical bin, because outliers stretch only the outer bins.
    width = (quantiles[-2] - quantiles[1]) / max(1, n_bins - 2) / 2 or (quantiles[-1] - quantiles[0]) / n_bins or 1.0
    unit = 10.0 ** math.floor(math.log10(width))
    step = max(unit * factor for factor in (1, 2, 5) if unit * factor <= width * (1 + 1e-9))
    inner = np.round(quantiles[1:-1] / step)
    places = {math.floor(quantiles[0] / step), *inner.tolist(), math.ceil(quantiles[-1] / step)}
    edges = sorted(float(f"{place * step:.12g}") for place in places)
    return edges if len(edges) > 1 else [edges[0], edges[0] + step]
