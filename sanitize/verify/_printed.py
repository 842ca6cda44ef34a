"""Printed columns of a release as the symbols they were printed from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._sampling.noise import NoiseKey
from sanitize.binning import as_numbers
from sanitize.errors import ColumnError
from sanitize.parquet import released_schema

if TYPE_CHECKING:
    from sanitize._release.release import Release
    from sanitize.binning import Bins


def printed_types(schema: pa.Schema, release: Release) -> dict[str, pa.DataType]:
    """Type of each printed column, as a file without dictionaries names it."""
    printed = release.decode(np.empty(0, np.int32), NoiseKey.from_seed(0))
    return {
        field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        for field in released_schema(schema, printed, release)
    }


def typed(column: Any, dtype: pa.DataType, name: str) -> Any:
    """A column that a text file holds, in the type that was printed."""
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if plain == dtype or not pa.types.is_string(plain):
        return column
    try:
        return column.cast(plain).cast(dtype)
    except pa.ArrowException:
        raise ColumnError(f"column {name!r} of the release holds text that is no {dtype}", name) from None


class Printed(Mapping[str, Any]):
    """Printed columns of one batch as the symbols they were printed from: numbers go back to their bins."""

    def __init__(self, batch: Mapping[str, Any], release: Release) -> None:
        self._batch = batch
        self._bins = {name: bins for name, bins in release.drawn_bins.items() if name in batch}

    def __getitem__(self, name: str) -> Any:
        column = self._batch[name]
        return self._bins[name].assign(column)[0] if name in self._bins else column

    def __iter__(self) -> Any:
        return iter(self._batch)

    def __len__(self) -> int:
        return len(self._batch)

    def doubtful(self) -> set[tuple[str, int]]:
        """Columns and bins whose numbers cannot all be told from those of the next bin."""
        return {(name, place) for name, bins in self._bins.items() for place in _in_doubt(bins, self._batch[name])}


def _in_doubt(bins: Bins, column: Any) -> list[int]:
    """Bins that may have printed a number of the next one: narrow types round, and a bin may hold no whole number."""
    numbers = as_numbers(column)
    edges = np.array(bins.edges)
    dtype = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if bins.whole:
        lowest = np.ceil(edges)
        return [k for k in range(len(edges) - 2) if lowest[k] == lowest[k + 1] and (numbers == lowest[k]).any()]
    if pa.types.is_floating(dtype) and dtype.bit_width < 64:
        narrow = edges.astype(dtype.to_pandas_dtype()).astype(np.float64)
        return [k for k in range(len(edges) - 2) if (numbers == narrow[k + 1]).any()]
    if pa.types.is_decimal(dtype):
        return [k for k in range(len(edges) - 2) if (np.abs(numbers - edges[k + 1]) <= 10.0**-dtype.scale).any()]
    return []
