"""What a column holds, in a few figures: its kind, how many values, and where it could be cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from sanitize._tables.columns import as_arrow, factorize
from sanitize.binning import STEPS, as_numbers, as_seconds, by_step, holds_dates, is_numeric
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Numbers and dates with more values than this are cut into bins.
_MANY = 20
# Counts above this are told in three digits.
MANY_VALUES = 1_000_000
# Below this many rows most columns look distinct, and nothing follows from it.
_FEW_ROWS = 50


@dataclass(frozen=True, eq=False)
class ColumnSurvey:
    """One column of some rows.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "text", "other"}
        What its values are or, in a CSV, can all be read as.
    n_values, n_rows : int
        Different values, and rows that were looked at.
    """

    name: str
    kind: Literal["number", "date", "text", "other"]
    n_values: int
    n_rows: int
    _values: Any

    @classmethod
    def of(cls, name: str, column: Any) -> ColumnSurvey:
        """Look at a column; text is a number or a date where every value can be read as one."""
        values, codes = factorize(as_arrow(column, name), name)
        kind, read = _read(values, name)
        return cls(name, kind, len(values), len(codes), (read, codes[codes >= 0]))

    @property
    def is_wide(self) -> bool:
        """Whether it has so many numbers or dates that they are better cut into bins."""
        return self.kind in ("number", "date") and self.n_values > _MANY

    @property
    def is_identifier(self) -> bool:
        """Whether it is text that differs in most rows."""
        return self.kind == "text" and self.n_rows >= _FEW_ROWS and self.n_values > self.n_rows / 2

    @cached_property
    def step(self) -> str | None:
        """The finest step of dates that leaves 2 to 20 of them; None where there is none."""
        if self.kind != "date":
            return None
        for step in STEPS:
            n = len(by_step(self._values[0], step, self.name).dictionary)
            if 1 < n <= _MANY:
                return step
        return None

    def edges(self, n_bins: int) -> list[str]:
        """Edges of about equally full bins as TOML writes them, rounded so that they tell little of any row."""
        values, codes = self._values
        if self.kind == "date":
            years = (
                as_seconds(values, self.name)[0].astype("datetime64[s]").astype("datetime64[Y]").astype(float) + 1970
            )
            return [f"{edge:04.0f}-01-01" for edge in _rounded(years[codes], n_bins)]
        return [f"{edge:.15g}" for edge in _rounded(as_numbers(values)[codes], n_bins)]


def _read(values: pa.Array, name: str) -> tuple[Literal["number", "date", "text", "other"], pa.Array]:
    if is_numeric(values.type):
        return "number", values
    if holds_dates(values.type):
        return "date", values
    if not pa.types.is_string(values.type):
        return "other", values
    if not len(values):
        return "text", values
    try:
        return "number", values.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    try:
        as_seconds(values, name)
    except ColumnError:
        return "text", values
    return "date", values


def _rounded(values: NDArray[np.float64], n_bins: int) -> list[float]:
    """Quantiles on a scale of round numbers, the outer ones pushed outwards."""
    values = values[np.isfinite(values)]
    quantiles = np.quantile(values, np.linspace(0, 1, n_bins + 1))
    # Half the width of a typical bin: outliers stretch the outer ones only.
    width = (quantiles[-2] - quantiles[1]) / max(1, n_bins - 2) / 2 or (quantiles[-1] - quantiles[0]) / n_bins or 1.0
    unit = 10.0 ** math.floor(math.log10(width))
    step = max(unit * factor for factor in (1, 2, 5) if unit * factor <= width * (1 + 1e-9))
    inner = np.round(quantiles[1:-1] / step)
    places = {math.floor(quantiles[0] / step), *inner.tolist(), math.ceil(quantiles[-1] / step)}
    edges = sorted(float(f"{place * step:.12g}") for place in places)
    return edges if len(edges) > 1 else [edges[0], edges[0] + step]
