"""What a released file holds beyond its rows: metadata, dictionaries, statistics, and bytes nobody reads."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sanitize._files.parquet import is_text, open_parquet
from sanitize._files.strict_json import NotStrict, strict_json
from sanitize._files.thrift import DAMAGE
from sanitize._formatting import rounded
from sanitize._tables.combined import occurring
from sanitize.errors import SourceError
from sanitize.verify._leftovers import spellings
from sanitize.verify._pages import Pages, texts

if TYPE_CHECKING:
    from pathlib import Path

    from sanitize._files.kept import KeptRows
    from sanitize._files.thrift import Fields
    from sanitize.verify._leftovers import Scanner
    from sanitize.verify._pages import Chunk

_WRITER = re.compile(rb"parquet-cpp-arrow version [\w.+-]{1,40}")
_SUMMARY = b"sanitize"
_VERSION = re.compile(r"\d{1,3}(\.(\d{1,4}|dev\d{1,4})){1,3}((a|b|rc)\d{1,2})?")
_SUMMARY_BYTES = 1 << 16
_FOOTER_TEXTS = frozenset({2, 4, 5, 6})  # schema, row groups, key-value metadata, writer: each looked at by itself
_ZEROS = (
    struct.pack("<d", 0.0),
    struct.pack("<d", -0.0),
    struct.pack("<f", 0.0),
    struct.pack("<f", -0.0),
    struct.pack("<e", 0.0),
    struct.pack("<e", -0.0),
)
_BOOLEANS = (b"\x00", b"\x01")


@dataclass
class Findings:
    """Faults found in the files of a release, by the kind of place they were found in."""

    metadata: list[str] = field(default_factory=list)
    dictionaries: list[str] = field(default_factory=list)
    statistics: list[str] = field(default_factory=list)
    structure: list[str] = field(default_factory=list)
    summaries: list[bytes] = field(default_factory=list)

    def inspect(self, file: Path, scanner: Scanner, kept: KeptRows) -> None:
        """Look at one file; its bytes and its decompressed pages also go to the scanner, and its rows are kept."""
        try:
            pages = Pages.of(file)
            scanner.scan_file(file)
            self._footer(pages, scanner)
            with open_parquet(file) as reader:
                text = [field.name for field in reader.schema_arrow if is_text(field.type)]
            with open_parquet(file, read_dictionary=text, pre_buffer=False) as reader:
                first = 0
                for number, group in enumerate(pages.row_groups):
                    rows = {}
                    for chunk in group:
                        values = reader.read_row_group(number, columns=[chunk.name], use_threads=False)
                        values = values.column(chunk.name)
                        self._chunk(chunk, values, scanner)
                        rows[chunk.name] = values.chunk(0) if values.num_chunks == 1 else values
                    kept.put(file, first, rows)
                    first += group[0].metadata[5] if group else 0
        except SourceError:
            raise
        except (*DAMAGE, pa.ArrowException):
            raise SourceError(f"{file.name} cannot be taken apart: it is damaged") from None

    def _footer(self, pages: Pages, scanner: Scanner) -> None:
        footer = pages.footer
        if pages.unaccounted:
            self.structure.append(f"{pages.unaccounted} bytes belong to no page (indexes, bloom filters or remains)")
        if not _WRITER.fullmatch(footer.get(6, b"parquet-cpp-arrow version 0")):
            self.metadata.append("the name of the writer is not one that sanitize writes")
        for element in footer[2][1:]:
            if 9 in element:
                self.metadata.append("a field carries an identifier of the source")
        for entry in footer.get(5) or []:
            key, value = entry[1], entry.get(2, b"")
            for content in _decoded(value):
                scanner.scan(content)
            if key == _SUMMARY:
                self.summaries.append(value)
                continue
            what = "the Arrow schema" if key == b"ARROW:schema" else "key-value metadata"
            inherited = " with metadata of its own" if key == b"ARROW:schema" and _arrow_metadata(value) else ""
            self.metadata.append(f"the file carries {what}{inherited}, which no release has")
        if len(footer.get(5) or []) > 1:
            self.metadata.append("the file carries more key-value metadata than a summary")
        if any(True for _ in texts(footer, _FOOTER_TEXTS)):
            self.metadata.append("the footer holds text in a field that no release has")

    def _chunk(self, chunk: Chunk, values: pa.ChunkedArray, scanner: Scanner) -> None:
        name, allowed = chunk.name, _encoded(values, chunk.name)
        if chunk.metadata.get(8) or 14 in chunk.metadata:
            self.structure.append(f"column {name!r} carries metadata or a bloom filter")
        known = {*allowed, *(_ZEROS if allowed & set(_ZEROS) else ())}
        whole = chunk.metadata.get(12) or {}
        self._statistics(name, whole, known)
        if whole.get(3, values.null_count) != values.null_count:
            self.statistics.append(f"column {name!r} has a number of missing values that is not its own")
        for page in chunk.pages():
            scanner.scan(page.content)
            self._statistics(name, page.statistics, known)
            if page.is_dictionary:
                entries = chunk.dictionary(page)
                unused = len(entries - known) if entries is not None else 0
                if unused:
                    self.dictionaries.append(f"column {name!r} has {unused} dictionary values that no row has")

    def _statistics(self, name: str, statistics: Fields, known: set[bytes]) -> None:
        if any(number in statistics and statistics[number] not in known for number in (1, 2, 5, 6)):
            self.statistics.append(f"column {name!r} has a minimum or maximum that no row has")
        if 4 in statistics:
            self.statistics.append(f"column {name!r} has a number of different values, which no release has")


def summary_fault(found: list[bytes], expected: dict[str, Any]) -> str:
    """What is wrong with the summaries of the files; empty when they say what designing again says."""
    for packed in found:
        if len(packed) > _SUMMARY_BYTES:
            return "a summary is larger than any that sanitize writes"
        try:
            told = strict_json(packed)
        except NotStrict as error:
            return f"a summary cannot be read: {error}"
        if not isinstance(told, dict):
            return "a summary is not an object"
        if json.dumps(told).encode() != packed:
            return "a summary is spelt in another way than any that sanitize writes"
        strange = sorted(set(told) - set(expected))
        if strange:
            return f"a summary has {len(strange)} entries that no release has"
        for key, value in told.items():
            if not (_is_version(value) if key == "sanitize" else _same(value, expected[key])):
                return f"a summary says something else about {key} than designing the release again"
    return ""


def _same(told: Any, expected: Any) -> bool:
    """Whether two entries agree; rounded figures of another machine may differ by one in the last of four digits."""
    if isinstance(told, float) and isinstance(expected, float):
        return told == rounded(told) and abs(told - expected) <= 1.01e-3 * abs(expected) + 1e-9
    return type(told) is type(expected) and told == expected


def _is_version(told: Any) -> bool:
    """Whether an entry can name the library that wrote the file, which need not be this one."""
    return isinstance(told, str) and _VERSION.fullmatch(told) is not None


def _encoded(values: pa.ChunkedArray, name: str) -> set[bytes]:
    """The distinct values of a column as Parquet encodes them: written again, and taken from the dictionary."""
    if pa.types.is_boolean(values.type) or pa.types.is_null(values.type):
        return {_BOOLEANS[int(v)] for v in pc.unique(values).to_pylist() if v is not None} if len(values) else set()
    if pa.types.is_dictionary(values.type):
        return {value for chunk in values.chunks for value in spellings(_used(chunk))}
    distinct = values if isinstance(values.type, pa.BaseExtensionType) else pc.unique(values)
    sink = BytesIO()
    pq.write_table(
        pa.table({name: distinct}), sink, store_schema=False, compression="none", dictionary_pagesize_limit=1 << 30
    )
    found: set[bytes] = set()
    pages = Pages.parse(sink.getvalue(), name)
    for group in pages.row_groups:
        for chunk in group:
            for page in chunk.pages():
                if page.is_dictionary:
                    found |= chunk.dictionary(page) or set()
    return found


def _used(chunk: pa.DictionaryArray) -> pa.Array:
    """Values of a dictionary that some row has."""
    numbers = chunk.indices.drop_null().to_numpy()
    return chunk.dictionary.take(pa.array(np.flatnonzero(occurring(numbers, len(chunk.dictionary)))))


def _decoded(value: bytes) -> Iterator[bytes]:
    """A piece of metadata as it is, and what it is the base64 of, if anything."""
    yield value
    try:
        yield base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return


def _arrow_metadata(value: bytes) -> bool:
    """Whether a serialized Arrow schema has metadata of the schema or of a field."""
    try:
        schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(value)))
    except (pa.ArrowException, ValueError, OSError):
        return True
    return bool(schema.metadata) or any(one.metadata for one in schema)
