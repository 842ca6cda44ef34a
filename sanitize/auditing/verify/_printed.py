"""Reader that recovers the released symbol of each row of a written release."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanitize._util.sampling.noise import NoiseKey
from sanitize.core.binning import as_numbers
from sanitize.engines.parquet import output_schema, restore_type
from sanitize.tables.columns import value_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.core.binning import Bins
    from sanitize.release.release import FittedRelease
    from sanitize.tables.files.source import Source


def column_types(schema: pa.Schema, release: FittedRelease) -> dict[str, pa.DataType]:
    """Type of each released column, without dictionary encoding."""
    printed = release.decode(np.empty(0, np.int32), NoiseKey.from_seed(0))
    return {field.name: value_type(field.type) for field in output_schema(schema, printed, release)}


def parquet_type(dtype: pa.DataType) -> pa.DataType:
    """Type that a Parquet file returns for a written type: zones become UTC; durations and extensions are lost."""
    sink = BytesIO()
    pq.write_table(pa.schema([pa.field("column", dtype)]).empty_table(), sink, store_schema=False)
    return pq.read_schema(sink).field(0).type


def release_batches(source: Source, released: Source, release: FittedRelease) -> Iterator[Mapping[str, Any]]:
    """Yield the released columns, batch by batch, in the types in which they were written."""
    types = column_types(source.schema, release)
    for file in released.files:
        for batch in released.batches(file, list(release.output_columns)):
            yield {name: restore_type(batch[name], types[name], name) for name in batch}


def _neighbouring_bins(rows: Mapping[str, Any], bins: Mapping[str, Bins]) -> Iterator[dict[str, Any]]:
    """Yield the bins of the numbers in some rows, once for each choice of bins that numbers at an edge allow."""
    ways: dict[str, list[Any]] = {}
    for name, column_bins in bins.items():
        plain = column_bins.assign(rows[name])[0]
        place, missing = plain.indices.fill_null(0).to_numpy(), plain.indices.is_null().to_numpy(zero_copy_only=False)
        sides = np.zeros((len(column_bins.edges) - 2, len(place)), bool)
        for edge, at in _doubtful_edges(column_bins, rows[name]):
            sides[edge] = at
        ways[name] = [plain]
        for step in (-1, 1):
            to, behind = place, True
            # A rounded number may stand on several edges of narrow bins, so one step may not be enough.
            while True:
                edge = np.clip(to - (step < 0), 0, max(len(sides) - 1, 0))
                inside = (to + step >= 0) & (to + step < len(column_bins.edges) - 1)
                behind = behind & inside & (sides[edge, np.arange(len(place))] if len(sides) else False)
                if not np.any(behind):
                    break
                to = np.where(behind, to + step, to)
                ways[name].append(
                    pa.DictionaryArray.from_arrays(pa.array(to, pa.int32(), mask=missing), column_bins.labels)
                )
    for chosen in itertools.product(*ways.values()):
        yield dict(zip(ways, chosen, strict=True))


def _doubtful_edges(bins: Bins, column: Any) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield bins that may have produced a number at the edge of a neighbouring bin, with a mask of these rows.

    Such numbers exist because narrow types round, and because a bin may contain no whole number.
    """
    numbers = as_numbers(column)
    edges = np.array(bins.edges)
    dtype = value_type(column.type)
    if bins.whole:
        lowest = np.ceil(edges)
        yield from ((k, numbers == lowest[k]) for k in range(len(edges) - 2) if lowest[k] == lowest[k + 1])
    elif pa.types.is_floating(dtype) and dtype.bit_width < 64:
        narrow = edges.astype(dtype.to_pandas_dtype()).astype(np.float64)
        yield from ((k, numbers == narrow[k + 1]) for k in range(len(edges) - 2))
    elif pa.types.is_decimal(dtype):
        yield from ((k, np.abs(numbers - edges[k + 1]) <= 10.0**-dtype.scale) for k in range(len(edges) - 2))


@dataclass(eq=False)
class PrintedSymbols:
    """Reader of the released symbol of each row, from columns of symbols and columns of numbers drawn in bins.

    Attributes
    ----------
    release : FittedRelease
    doubtful : set of tuple
        Columns and bins for which some row read so far may have been drawn in this or in the next bin.
    """

    release: FittedRelease
    doubtful: set[tuple[str, int]] = field(default_factory=set)

    def codes(self, batch: Mapping[str, Any]) -> NDArray[np.int32]:
        """Return the released symbol of each row; -1 for a row that no symbol produces."""
        outputs = self.release.channel.outputs
        bins = {name: column_bins for name, column_bins in self.release.drawn_bins.items() if name in batch}
        codes = outputs.encode(
            {**batch, **{name: column_bins.assign(batch[name])[0] for name, column_bins in bins.items()}}
        )
        unknown = np.flatnonzero(codes < 0)
        if len(unknown) and bins:
            rows, retried = {name: column.take(pa.array(unknown)) for name, column in batch.items()}, codes[unknown]
            # A number at an edge may have been drawn in the neighbouring bin.
            for moved in _neighbouring_bins(rows, bins):
                retried = np.where(retried < 0, outputs.encode(rows | moved), retried)
            codes[unknown] = retried
        for name, column_bins in bins.items():
            self.doubtful.update((name, place) for place, at in _doubtful_edges(column_bins, batch[name]) if at.any())
        return codes
