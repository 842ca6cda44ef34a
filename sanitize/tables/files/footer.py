"""Parquet footers, which are parsed and checked from their bytes before any other parser reads them.

Asking pyarrow for a column chunk crashes the whole process, without an exception, if the chunk is encrypted or its
size statistics do not fit the schema; in some versions reading the chunk does, too. So a footer is first read here,
content that would crash the process is refused, and pyarrow is never asked for a chunk.

The footer and the page headers of Parquet are in the compact protocol of Thrift: structures are read as plain values
by field number. No length is trusted before the bytes are read, nesting and the number of values are bounded, and any
fault raises one of `DAMAGE`.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sanitize._util.limits import NESTING
from sanitize.errors import SourceError

Fields = dict[int, Any]

# Exceptions that reading damaged bytes may raise: any byte may be wrong, so each check would need its own error
# otherwise.
DAMAGE = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, OSError, struct.error)
# Most values of a footer: an empty structure takes one byte of a file and 64 bytes of memory, so these take a gigabyte.
MOST_VALUES = 1 << 24
# Types of the compact protocol of Thrift, by their numbers.
_TRUE, _FALSE, _BYTE, _INT16, _INT32, _INT64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12


class TooMany(Exception):
    """Error for more values than a reader accepts."""


class Thrift:
    """Reader of data in the compact protocol of Thrift.

    Attributes
    ----------
    data : bytes, or a mapped file
    at : int
        Position of the next value.
    most : float
        Number of values after which the reader raises `TooMany`.
    """

    __slots__ = ("_left", "at", "data")

    def __init__(self, data: bytes | mmap.mmap, at: int = 0, most: float = MOST_VALUES) -> None:
        self.data = data
        self.at = at
        self._left = most

    def fields(self, depth: int = 0) -> Fields:
        """Read a structure; return its values by field number."""
        structure: Fields = {}
        data, number = self.data, 0
        while (head := data[self.at]) != 0:
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self.whole()
            kind = head & 15
            if _INT16 <= kind <= _INT64 and (byte := data[self.at]) < 0x80:  # by far the most frequent case
                self.at += 1
                structure[number] = byte >> 1 ^ -(byte & 1)
            else:
                structure[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        self.at += 1
        self._count(len(structure) + 1)
        return structure

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise TooMany

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number has more bytes than the protocol allows")

    def whole(self) -> int:
        """Read a whole number."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_INT32, _INT64, _INT16):
            return self.whole()
        if kind == _BINARY:
            size = self._varint()
            if size > len(self.data) - self.at:
                raise ValueError("a text ends after the footer")
            self.at += size
            return self.data[self.at - size : self.at]
        if depth > NESTING:
            raise ValueError("the structures are nested too deeply")
        if kind == _STRUCT:
            return self.fields(depth + 1)
        if kind in (_LIST, _SET):
            head = self.data[self.at]
            self.at += 1
            kind, size = head & 15, head >> 4 if head >> 4 < 15 else self._varint()
            if size > len(self.data) - self.at:
                raise ValueError("a list ends after the footer")
            self._count(size)
            return [self._value(kind, depth + 1) for _ in range(size)]
        if kind in (_TRUE, _FALSE, _BYTE):  # in lists, booleans are bytes
            self.at += 1
            return self.data[self.at - 1]
        if kind == _DOUBLE:
            self.at += 8
            return struct.unpack("<d", self.data[self.at - 8 : self.at])[0]
        raise ValueError("a value has an unknown type")


# Arrow's parser recurses over nested columns, and a deep schema would exhaust the stack of the process.
_DEEPEST_SCHEMA = 100
# A file ends with the length of the footer and the magic number, of four bytes each.
_TAIL_BYTES = 8
# Footers are cached, because a file is opened more than once; larger ones would take too much memory.
REMEMBERED_BYTES = 1 << 25
# A column that decompresses to more bytes than this, from less than a thousandth of them, is a decompression bomb.
_BOMB_BYTES = 1 << 28
_BOMB_RATIO = 1000
# So are more values than this from less than a ten thousandth in bytes: constant columns need a byte per thousand.
_BOMB_ROWS = 1 << 24
_ROWS_A_BYTE = 10_000
# The owner of a file that only looks like a bomb sets this to 1. It is a switch and not a limit to raise, because
# the owner of a known file needs no limit, and nobody could choose a limit for an unknown file.
_TRUSTED = "SANITIZE_TRUSTED"
# Every refusal for size names the way out, because files of one repeated value look like bombs.
UNLESS = f"refused as a decompression bomb. If you made the file yourself, set {_TRUSTED}=1"
# Columns of the array of chunks: first byte, byte after the last, bytes after decompression, and number of values.
_START, _END, _PROMISED, _VALUES = range(4)
# Numbers of the Parquet format: two repetitions of a schema element, and the physical type of texts.
_REQUIRED, _REPEATED, _BYTE_ARRAY = 0, 2, 6


def is_trusted() -> bool:
    """Return whether files are trusted to decompress to any size."""
    return os.environ.get(_TRUSTED) == "1"


@dataclass(frozen=True, eq=False)
class Footer:
    """Row counts, column paths and column chunks of a Parquet file, from a consistent footer. Frozen.

    Attributes
    ----------
    row_groups : tuple of int
        Number of rows of each row group.
    paths : tuple of str
        Paths of the columns.
    chunks : ndarray of int64, shape (n_row_groups, n_columns, 4)
        Start and end of each column chunk, its declared decompressed bytes, and its number of values.
    """

    row_groups: tuple[int, ...]
    paths: tuple[str, ...]
    chunks: NDArray[np.int64]

    @classmethod
    def read(cls, raw: bytes, file_size: int, name: str) -> Footer:
        """Read the footer of a file.

        Parameters
        ----------
        raw : bytes
            Bytes of the footer alone.
        file_size : int
        name : str
            Name of the file, for errors.

        Raises
        ------
        SourceError
            If the footer is damaged, contradicts itself, or declares encrypted columns.
        """
        most = math.inf if is_trusted() else MOST_VALUES
        footer = (_remembered if len(raw) <= REMEMBERED_BYTES else _parse_footer)(raw, file_size, most)
        if isinstance(footer, str):
            raise SourceError(footer.format(name))
        return footer

    def refuse_bombs(self, columns: Sequence[str], file: Path, row_groups: Sequence[int] | None = None) -> None:
        """Refuse columns that, by the footer or page headers, decompress to far more than their size in the file."""
        # The reader selects every path that equals a name or continues it after a dot, which may be part of a name.
        prefixes = tuple(f"{column}." for column in columns)
        places = [place for place, path in enumerate(self.paths) if path in columns or path.startswith(prefixes)]
        chunks = self.chunks[slice(None) if row_groups is None else list(row_groups)][:, places]
        with file.open("rb") as stream:
            if not is_trusted():
                size, n_rows = os.fstat(stream.fileno()).st_size, sum(self.row_groups)
                stored = (chunks[..., _END] - chunks[..., _START]).sum(axis=1)
                promised = chunks[..., _PROMISED].sum(axis=1)
                bombs = promised > np.maximum(_BOMB_BYTES, _BOMB_RATIO * stored)
                claim = most = ""
                if n_rows > max(_BOMB_ROWS, _ROWS_A_BYTE * size):
                    claim, most = f"{n_rows} rows in {size} bytes", f"{_BOMB_ROWS} rows and {_ROWS_A_BYTE} per byte"
                if bombs.any():
                    claim = f"{promised[bombs].max()} bytes, stored as {stored[bombs].min()}"
                    most = f"{_BOMB_BYTES} bytes per row group and {_BOMB_RATIO} times the stored size"
                if claim:
                    raise SourceError(f"{file.name} declares {claim}, more than {most}; {UNLESS}")
            if chunks.size:
                with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    for chunk in chunks.reshape(-1, 4).tolist():
                        _check_pages(content, chunk, file.name)


def _check_pages(content: mmap.mmap, chunk: list[int], name: str) -> None:
    """Refuse a column chunk whose pages declare more than the footer, because readers trust page headers."""
    at, end, promised, n_values = chunk
    try:
        while at < end:
            reader = Thrift(content, at)
            header = reader.fields()
            size, packed = _whole(header[2]), _whole(header[3])
            at, promised = reader.at + packed, promised - size
            n_values -= _whole((header.get(5) or header.get(8) or {1: 0})[1])
            if at > len(content) - _TAIL_BYTES or promised < 0 or n_values < 0:
                raise ValueError("a page exceeds its column chunk")
    except (*DAMAGE, TooMany):
        raise SourceError(f"{name} is damaged: the pages of a column do not match its footer; write it again") from None


class _Encrypted(Exception):
    """Error for an encrypted column."""


def _parse_footer(raw: bytes, file_size: int, most: float = MOST_VALUES) -> Footer | str:
    """Parse a footer; return the footer, or a template of the message about its fault."""
    try:
        return _footer(Thrift(raw, most=most).fields(), file_size)
    except TooMany:
        return f"{{}} has a footer of more than {most:.0f} values; {UNLESS}"
    except _Encrypted:
        return "{} has encrypted columns; decrypt it first"
    except UnicodeDecodeError:
        return "{} has a column whose name is not valid UTF-8; rename it first"
    except RecursionError:
        return f"{{}} has columns nested more than {_DEEPEST_SCHEMA} deep; flatten them first"
    except DAMAGE:
        return "{} is damaged or not supported: its footer is inconsistent; write the file again"


_remembered = lru_cache(maxsize=8)(_parse_footer)


def _footer(fields: Fields, file_size: int) -> Footer:
    if fields.get(8):
        raise _Encrypted
    leaves = _leaves(fields[2])
    groups = fields.get(4, [])
    rows = tuple(_whole(group[3]) for group in groups)
    if sum(rows) != fields[3]:
        raise ValueError("the number of rows in the row groups differs from the number in the file")
    chunks = np.array([_row_group(group, leaves, file_size) for group in groups], np.int64)
    chunks = chunks.reshape(len(groups), len(leaves), 4)
    filled = chunks[chunks[..., _START] < chunks[..., _END]]
    filled = filled[filled[:, _START].argsort()]
    if (filled[1:, _START] < filled[:-1, _END]).any():
        raise ValueError("two column chunks overlap")
    return Footer(rows, tuple(b".".join(leaf.path).decode() for leaf in leaves), chunks)


class _Node(NamedTuple):
    """Column or group of the schema: its path, and its numbers of definition and repetition levels."""

    path: tuple[bytes, ...] = ()
    n_repetitions: int = 0
    n_definitions: int = 0
    holds_bytes: bool = False

    def child(self, element: Fields) -> _Node:
        if (repetition := _whole(element.get(3, _REQUIRED))) > _REPEATED:
            raise ValueError("a column has an unknown repetition type")
        levels = self.n_repetitions + (repetition == _REPEATED), self.n_definitions + (repetition != _REQUIRED)
        return _Node((*self.path, element[4]), *levels, element.get(1) == _BYTE_ARRAY)

    def check_sizes(self, sizes: Fields) -> None:
        """Refuse size statistics that crash pyarrow because their levels or values do not fit the column."""
        for histogram, n_levels in ((sizes.get(2), self.n_repetitions), (sizes.get(3), self.n_definitions)):
            if histogram and len(histogram) != n_levels + 1:
                raise ValueError("a histogram has another number of levels than its column")
        if 1 in sizes and not self.holds_bytes:
            raise ValueError("a column without texts declares the size of texts")


def _leaves(elements: list[Fields]) -> list[_Node]:
    """Columns from a schema that lists parents before children, starting at the root."""
    leaves: list[_Node] = []
    root, *children = elements
    open_nodes: list[tuple[_Node, int]] = [(_Node(), _whole(root.get(5, 0)))]
    for element in children:
        while open_nodes and not open_nodes[-1][1]:
            open_nodes.pop()
        above, left = open_nodes.pop()
        open_nodes.append((above, left - 1))
        element[4].decode()
        node = above.child(element)
        if n_children := _whole(element.get(5, 0)):
            open_nodes.append((node, n_children))
        elif 1 in element:
            leaves.append(node)
        if len(open_nodes) > _DEEPEST_SCHEMA:
            raise RecursionError
    if any(left for _, left in open_nodes):
        raise ValueError("the schema lacks a declared column")
    return leaves


def _row_group(group: Fields, leaves: Sequence[_Node], file_size: int) -> list[tuple[int, int, int, int]]:
    """For each column chunk of a row group, the start, end, declared bytes and number of values."""
    chunks = group[1]
    if len(chunks) != len(leaves):
        raise ValueError("a row group has another number of columns than the schema")
    if any(8 in chunk or 9 in chunk for chunk in chunks):
        raise _Encrypted
    entries = []
    for leaf, metadata in zip(leaves, (chunk[3] for chunk in chunks), strict=True):
        leaf.check_sizes(metadata.get(16, {}))
        start, promised, stored, values = (_whole(metadata[number]) for number in (9, 6, 7, 5))
        if 0 < metadata.get(11, 0) < (start or file_size):  # a chunk without values may contain only a dictionary
            start = metadata[11]
        if start + stored > file_size or max(promised, values) >= 1 << 62:
            raise ValueError("a column chunk exceeds the file")
        entries.append((start, start + stored, promised, values))
    return entries


def _whole(value: Any) -> int:
    """Read a whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a value is not a whole number of at least 0")
    return value
