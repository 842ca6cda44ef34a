"""The bytes of a Parquet file, page by page: what a reader that only asks for columns never shows.

The footer and the page headers are Thrift in its compact form, read here into plain values by field number, so
that every text and every statistic in them can be accounted for.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._files.thrift import DAMAGE, Fields, Thrift
from sanitize.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

Read = Callable[[int, int], bytes]  # bytes of a file from one place up to another

_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_WIDTHS = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # INT32, INT64, INT96, FLOAT, DOUBLE
BYTE_ARRAY, _FIXED = 6, 7
_FROM_DICTIONARY = {2, 8}  # encodings of pages that hold places in a dictionary
_LARGEST_PAGE = 1 << 30


@dataclass(frozen=True)
class Page:
    """One page: its header, and its content decompressed."""

    header: Fields
    content: bytes

    @property
    def is_dictionary(self) -> bool:
        """Whether it holds the values of a dictionary."""
        return self.header[1] == _DICTIONARY

    @property
    def statistics(self) -> Fields:
        """Statistics of a data page; empty where there are none."""
        own = self.header.get(5) or self.header.get(8) or {}
        return own.get(5 if 5 in self.header else 8) or {}


@dataclass(frozen=True)
class Chunk:
    """One column of one row group; its bytes are read when they are asked for."""

    name: str
    start: int
    end: int
    metadata: Fields
    type_length: int
    read: Read

    def pages(self) -> Iterator[Page]:
        """Its pages, which must fill it."""
        raw = self.read(self.start, self.end)
        at, promised = 0, self.metadata[6]
        while at < len(raw):
            page, at = self._page(raw, at, promised)
            promised -= page.header[2]  # pages together unfold to no more than the footer says
            yield page

    def dictionary_page(self) -> Page:
        """The first page, read without the others; its checksum is verified where it has one."""
        raw = self.read(self.start, self.metadata[9])
        page, at = self._page(raw, 0, self.metadata[6])
        wanted = page.header.get(4)
        if at != len(raw) or (wanted is not None and zlib.crc32(raw[at - page.header[3] :]) != wanted & 0xFFFFFFFF):
            raise ValueError("dictionary page")
        return page

    @property
    def has_only_dictionary(self) -> bool:
        """Whether all of its values are in a dictionary that can be read by itself."""
        encodings = {one[2] for one in self.metadata.get(13, []) if one[1] in (_DATA, _DATA_2)}
        is_first = 11 in self.metadata and self.start == self.metadata[11] < self.metadata[9]
        return is_first and self.metadata[4] in _CODECS and bool(encodings) and encodings <= _FROM_DICTIONARY

    def _page(self, raw: bytes, at: int, promised: int) -> tuple[Page, int]:
        """The page that starts at a place, and where the next one does."""
        reader = Thrift(raw, at)
        header = reader.fields()
        size, packed = header[2], header[3]
        if not (0 <= packed <= len(raw) - reader.at and 0 <= size <= min(promised, _LARGEST_PAGE)):
            raise ValueError("page size")
        end = reader.at + packed
        return Page(header, self._unpack(header, raw[reader.at : end], size)), end

    def _unpack(self, header: Fields, body: bytes, size: int) -> bytes:
        codec = _CODECS[self.metadata[4]]
        levels = 0
        if header[1] == _DATA_2:
            own = header[8]
            levels = own[5] + own[6]
            if own.get(7) is False:
                codec = None
        if codec is None:
            return body
        unpacked = pa.Codec(codec).decompress(body[levels:], size - levels, asbytes=True)
        return body[:levels] + unpacked

    def dictionary(self, page: Page) -> set[bytes] | None:
        """Values of a dictionary page as they are encoded, without lengths; None for a type that has none."""
        content, kind = page.content, self.metadata[1]
        width = self.type_length if kind == _FIXED else _WIDTHS.get(kind, 0)
        if width:
            whole = len(content) // width * width
            return {bytes(value) for value in np.frombuffer(content[:whole], f"V{width}").tolist()}
        if kind != BYTE_ARRAY:
            return None
        found, at = set(), 0
        while at < len(content):
            (size,) = struct.unpack_from("<I", content, at)
            found.add(content[at + 4 : at + 4 + size])
            at += 4 + size
        return found


@dataclass(frozen=True)
class Pages:
    """A Parquet file taken apart.

    Attributes
    ----------
    footer : dict
        Fields of its metadata.
    row_groups : list of list of Chunk
    size : int
        Bytes of the file.
    unaccounted : int
        Bytes that belong to no column chunk, nor to the footer.
    """

    footer: Fields
    row_groups: list[list[Chunk]]
    size: int
    unaccounted: int

    @classmethod
    def of(cls, file: Path) -> Pages:
        """Take a file apart.

        Raises
        ------
        SourceError
            If it does not hang together.
        """

        def read(start: int, end: int) -> bytes:
            with file.open("rb") as stream:
                stream.seek(start)
                return stream.read(end - start)

        return cls._parse(read, file.stat().st_size, file.name)

    @classmethod
    def parse(cls, data: bytes, name: str) -> Pages:
        """Take the bytes of a file apart."""
        return cls._parse(lambda start, end: data[start:end], len(data), name)

    @classmethod
    def _parse(cls, read: Read, size: int, name: str) -> Pages:
        try:
            (length,) = struct.unpack("<I", read(max(size - 8, 0), size - 4))
            footer = Thrift(read(max(size - 8 - length, 0), size - 8)).fields()
            lengths = {element[4]: element.get(2, 0) for element in footer[2]}
            groups = [
                [_chunk(read, size, column[3], lengths) for column in group.get(1, [])] for group in footer.get(4, [])
            ]
        except DAMAGE:
            raise SourceError(f"{name} cannot be taken apart: its footer is damaged") from None
        chunks = sorted((chunk for group in groups for chunk in group), key=lambda chunk: chunk.start)
        at, unaccounted = 4, 0
        for chunk in chunks:
            unaccounted += abs(chunk.start - at)
            at = chunk.end
        unaccounted += abs(size - 8 - length - at)
        return cls(footer, groups, size, unaccounted)


def _chunk(read: Read, size: int, metadata: Fields, lengths: dict[bytes, int]) -> Chunk:
    start = metadata[9]
    if 0 < metadata.get(11, 0) < start:
        start = metadata[11]
    end = start + metadata[7]
    if not 4 <= start <= end <= size:
        raise ValueError("chunk")
    path = b".".join(metadata[3])
    return Chunk(path.decode(), start, end, metadata, lengths.get(metadata[3][-1], 0), read)


def texts(value: Any, skip: frozenset[int] = frozenset()) -> Iterator[bytes]:
    """Every text inside a value of Thrift, but for some fields of the outermost structure."""
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from texts(entry)
    elif isinstance(value, dict):
        for number, entry in value.items():
            if number not in skip:
                yield from texts(entry)
