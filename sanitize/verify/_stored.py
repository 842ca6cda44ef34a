"""Values of a column of a Parquet file from its dictionaries, where it has no others: no row is read for them."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sanitize._files.parquet import is_text, read_footer
from sanitize._files.thrift import DAMAGE
from sanitize.errors import SourceError
from sanitize.verify._pages import BYTE_ARRAY, Chunk, Pages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sanitize._files.parquet import ParquetSource

# Types of Parquet: bytes of a value, and kinds of numbers that those bytes may be.
_NUMBERS = {1: (4, "iu"), 2: (8, "iu"), 4: (4, "f"), 5: (8, "f")}


@dataclass
class StoredValues:
    """Dictionaries of the columns of a table in Parquet files; the footer of one file is held at a time."""

    table: ParquetSource
    _file: Path | None = None
    _chunks: dict[str, list[Chunk]] = field(default_factory=dict)

    def of(self, file: Path, name: str) -> Iterator[pa.Array] | None:
        """Dictionaries of a column, which may hold values that no row has; None where some values are in none.

        Raises
        ------
        SourceError
            When they are read and damaged.
        """
        dtype = self.table.schema.field(name).type
        plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        chunks = self._chunks_of(file).get(name, [])
        if not chunks or not all(chunk.has_only_dictionary and _has_values_of(chunk, plain) for chunk in chunks):
            return None
        return self._read(file, name, chunks, plain)

    def _chunks_of(self, file: Path) -> dict[str, list[Chunk]]:
        if self._file != file:
            found: dict[str, list[Chunk]] = defaultdict(list)
            with contextlib.suppress(SourceError):  # rows can be read of more than can be taken apart here
                for group in Pages.of(file).row_groups:
                    for chunk in group:
                        found[chunk.name].append(chunk)
            self._file, self._chunks = file, dict(found)
        return self._chunks

    @staticmethod
    def _read(file: Path, name: str, chunks: list[Chunk], plain: pa.DataType) -> Iterator[pa.Array]:
        read_footer(file).refuse_bombs([name], file)
        for chunk in chunks:
            try:
                page = chunk.dictionary_page()
                if chunk.metadata[1] == BYTE_ARRAY:
                    yield pa.array(sorted(chunk.dictionary(page) or ()), pa.large_binary())
                else:
                    size = page.header[7][1]
                    kind = plain.to_pandas_dtype()
                    width, _ = _NUMBERS[chunk.metadata[1]]
                    stored = np.dtype(f"<{np.dtype(kind).kind}{width}")
                    yield pa.array(np.frombuffer(page.content, stored, size))
            except (*DAMAGE, pa.ArrowException):
                raise SourceError(f"{file.name} is damaged: a dictionary cannot be read") from None


def _has_values_of(chunk: Chunk, plain: pa.DataType) -> bool:
    """Whether the bytes of a chunk's values are those that a type of Arrow has."""
    types = pa.types
    if chunk.metadata[1] == BYTE_ARRAY:
        return is_text(plain)
    if not (types.is_integer(plain) or types.is_float32(plain) or types.is_float64(plain)):
        return False
    width, kinds = _NUMBERS.get(chunk.metadata[1], (0, ""))
    return np.dtype(plain.to_pandas_dtype()).kind in kinds and np.dtype(plain.to_pandas_dtype()).itemsize <= width
