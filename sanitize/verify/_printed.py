"""Printed columns of a release as the symbols they were printed from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanitize._sampling.noise import NoiseKey
from sanitize.binning import as_numbers
from sanitize.parquet import released_schema, typed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._files.source import Source
    from sanitize._release.release import Release
    from sanitize.alphabet import Alphabet
    from sanitize.binning import Bins


def printed_types(schema: pa.Schema, release: Release) -> dict[str, pa.DataType]:
    """Type of each printed column, as a file without dictionaries names it."""
    printed = release.decode(np.empty(0, np.int32), NoiseKey.from_seed(0))
    return {
        field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        for field in released_schema(schema, printed, release)
    }


def stored_type(dtype: pa.DataType) -> pa.DataType:
    """Type that a Parquet file gives back for a printed one: it names no zone but UTC, no duration, no extension."""
    sink = BytesIO()
    pq.write_table(pa.schema([pa.field("column", dtype)]).empty_table(), sink, store_schema=False)
    return pq.read_schema(sink).field(0).type


def printed_batches(source: Source, released: Source, release: Release) -> Iterator[Mapping[str, Any]]:
    """Printed columns of a release, batch by batch, in the types that they were printed in."""
    types = printed_types(source.schema, release)
    for file in released.files:
        for batch in released.batches(file, list(release.output_columns)):
            yield {name: typed(batch[name], types[name], name) for name in batch}


class Printed(Mapping[str, Any]):
    """Printed columns of one batch as the symbols they were printed from: numbers go back to their bins."""

    def __init__(self, batch: Mapping[str, Any], bins: Mapping[str, Bins]) -> None:
        self._batch = batch
        self._bins = {name: own for name, own in bins.items() if name in batch}

    def __getitem__(self, name: str) -> Any:
        column = self._batch[name]
        return self._bins[name].assign(column)[0] if name in self._bins else column

    def codes(self, outputs: Alphabet) -> NDArray[np.int32]:
        """Symbol of each row, -1 where it has none; a number at an edge may have been printed by the bin behind it."""
        codes = outputs.encode(self)
        unknown = np.flatnonzero(codes < 0)
        if not len(unknown) or not self._bins:
            return codes
        rows = {name: column.take(pa.array(unknown)) for name, column in self._batch.items()}
        found = codes[unknown]
        for moved in _moved(rows, self._bins):
            found = np.where(found < 0, outputs.encode(rows | moved), found)
        codes[unknown] = found
        return codes

    def __iter__(self) -> Any:
        return iter(self._batch)

    def __len__(self) -> int:
        return len(self._batch)

    def doubtful(self) -> set[tuple[str, int]]:
        """Columns and bins whose numbers cannot all be told from those of the next bin."""
        return {
            (name, place)
            for name, bins in self._bins.items()
            for place, rows in _in_doubt(bins, self._batch[name])
            if rows.any()
        }


def _moved(rows: Mapping[str, Any], bins: Mapping[str, Bins]) -> Iterator[dict[str, Any]]:
    """Numbers of some rows as bins, those in doubt in other bins that may have printed them, in every combination."""
    ways: dict[str, list[Any]] = {}
    for name, own in bins.items():
        plain = own.assign(rows[name])[0]
        place, missing = plain.indices.fill_null(0).to_numpy(), plain.indices.is_null().to_numpy(zero_copy_only=False)
        sides = np.zeros((len(own.edges) - 2, len(place)), bool)
        for edge, at in _in_doubt(own, rows[name]):
            sides[edge] = at
        ways[name] = [plain]
        for step in (-1, 1):
            to, behind = place, True
            # As long as there is doubt at the edge between one bin and the next.
            while True:
                edge = np.clip(to - (step < 0), 0, max(len(sides) - 1, 0))
                inside = (to + step >= 0) & (to + step < len(own.edges) - 1)
                behind = behind & inside & (sides[edge, np.arange(len(place))] if len(sides) else False)
                if not np.any(behind):
                    break
                to = np.where(behind, to + step, to)
                ways[name].append(pa.DictionaryArray.from_arrays(pa.array(to, pa.int32(), mask=missing), own.labels))
    for chosen in itertools.product(*ways.values()):
        yield dict(zip(ways, chosen, strict=True))


def _in_doubt(bins: Bins, column: Any) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Bins that may have printed a number of the next one, or the next one of theirs, and the rows of such numbers.

    Narrow types round, and a bin may hold no whole number.
    """
    numbers = as_numbers(column)
    edges = np.array(bins.edges)
    dtype = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if bins.whole:
        lowest = np.ceil(edges)
        yield from ((k, numbers == lowest[k]) for k in range(len(edges) - 2) if lowest[k] == lowest[k + 1])
    elif pa.types.is_floating(dtype) and dtype.bit_width < 64:
        narrow = edges.astype(dtype.to_pandas_dtype()).astype(np.float64)
        yield from ((k, numbers == narrow[k + 1]) for k in range(len(edges) - 2))
    elif pa.types.is_decimal(dtype):
        yield from ((k, np.abs(numbers - edges[k + 1]) <= 10.0**-dtype.scale) for k in range(len(edges) - 2))
