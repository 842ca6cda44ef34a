"""Writing released columns as Parquet: a schema built anew, dictionaries of released values."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanitize._version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize._release.release import Release
    from sanitize.report import LeakageReport

ROW_GROUP_ROWS = 1 << 20
_SUMMARY_BYTES = 2048


def released_schema(source: pa.Schema, columns: Mapping[str, pa.Array], release: Release) -> pa.Schema:
    """Schema of the output: no metadata of the source, every column nullable.

    Text is written from dictionaries; the file itself names the plain type only. Numbers and dates keep their
    type where what is printed is a value and not a label; whole numbers that it could not hold get 64 bits.
    """
    plain = {field.name: getattr(field.type, "value_type", field.type) for field in source if field.name in columns}
    whole = {name: np.dtype(dtype.to_pandas_dtype()) for name, dtype in plain.items() if pa.types.is_integer(dtype)}
    wide = release.wide(whole)
    fields = []
    for name, array in columns.items():
        dtype = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            dtype = pa.dictionary(pa.int32(), dtype)
        elif name in source.names and name not in wide:
            wanted = source.field(name).type
            dtype = wanted.value_type if pa.types.is_dictionary(wanted) else wanted
        fields.append(pa.field(name, dtype))
    return pa.schema(fields)


def summary(report: LeakageReport, rows: str) -> bytes:
    """What the file says about itself: verdict, budget and figures; no symbols and no counts."""
    text = {
        "sanitize": __version__,
        "mechanism": report.facts.mechanism,
        "budget": repr(report.budget),
        "within_budget": report.ok,
        "max_log_lift": report.summary["max_log_lift"],
        "min_log_lift": str(report.summary["min_log_lift"]),
        "normalized_utility": report.summary["normalized_utility"],
        "rows": rows,
    }
    packed = json.dumps(text).encode()
    if len(packed) > _SUMMARY_BYTES:  # a budget of the user's own may have a long name
        packed = json.dumps({**text, "budget": type(report.budget).__name__[:100]}).encode()
    return packed


class ReleaseWriter:
    """Parquet writer that lets nothing through but released columns."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, footer: bytes) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(
            stream,
            schema,
            store_schema=False,
            compression="zstd",
            use_dictionary=True,
            write_statistics=True,
            write_page_checksum=True,
        )
        self._writer.add_key_value_metadata({"sanitize": footer})

    def write(self, columns: Mapping[str, pa.Array]) -> None:
        """Write one row group."""
        arrays = [as_type(columns[field.name], field.type) for field in self._schema]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=ROW_GROUP_ROWS)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()

    def abandon(self) -> None:
        """Let go of a file that is thrown away; left open, pyarrow would complain on stderr when it is collected."""
        with contextlib.suppress(Exception):
            self._writer.close()


def as_type(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Array of the type that its column is written with."""
    if pa.types.is_dictionary(dtype) or not isinstance(array, pa.DictionaryArray):
        return array.cast(dtype)
    storage = dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype
    values = array.dictionary.cast(storage).take(array.indices)
    return dtype.wrap_array(values) if isinstance(dtype, pa.ExtensionType) else values
