"""Reader of Thrift's compact protocol over untrusted bytes: structures as plain values by field number.

The footer and the page headers of Parquet are written in it. Nothing here believes a length before the bytes are
there, nesting and the number of values are bounded, and whatever is wrong raises one of `DAMAGE`. Structures can also
be read as the bytes of their fields, and be written again.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from sanitize._limits import NESTING

if TYPE_CHECKING:
    import mmap

Fields = dict[int, Any]
RawFields = list[tuple[int, int, bytes]]  # number, kind and bytes of each field

# What reading damaged bytes may raise.
DAMAGE = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, OSError, struct.error)
# An empty structure takes one byte of a file and 64 of memory.
MOST_VALUES = 1 << 24
_TRUE, _FALSE, _BYTE, _INT16, _INT32, _INT64, _DOUBLE, _BINARY, _LIST, _SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12


class TooMany(Exception):
    """More values than a reader takes."""


class Thrift:
    """Reader of the compact protocol.

    Attributes
    ----------
    data : bytes, or a mapped file
    at : int
        Where the next value starts.
    most : float
        Values that it takes before it raises `TooMany`.
    """

    __slots__ = ("_left", "at", "data")

    def __init__(self, data: bytes | mmap.mmap, at: int = 0, most: float = MOST_VALUES) -> None:
        self.data = data
        self.at = at
        self._left = most

    def fields(self, depth: int = 0) -> Fields:
        """A structure."""
        found: Fields = {}
        data, number = self.data, 0
        while (head := data[self.at]) != 0:
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self.whole()
            kind = head & 15
            if _INT16 <= kind <= _INT64 and (byte := data[self.at]) < 0x80:  # most values, by far
                self.at += 1
                found[number] = byte >> 1 ^ -(byte & 1)
            else:
                found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        self.at += 1
        self._count(len(found) + 1)
        return found

    def raw_fields(self) -> RawFields:
        """A structure whose values stay as they are encoded."""
        found: RawFields = []
        number = 0
        while (head := self.data[self.at]) != 0:
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self.whole()
            kind, start = head & 15, self.at
            if kind not in (_TRUE, _FALSE):
                self._value(kind, 1)
            found.append((number, kind, self.data[start : self.at]))
        self.at += 1
        return found

    def list_head(self) -> tuple[int, int]:
        """Kind and number of the values of a list, which come next."""
        head = self.data[self.at]
        self.at += 1
        return head & 15, head >> 4 if head >> 4 < 15 else self._varint()

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise TooMany

    def _varint(self) -> int:
        data = self.data
        byte = data[self.at]
        self.at += 1
        if byte < 0x80:
            return byte
        value, shift = byte & 0x7F, 7
        while True:
            byte = data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("varint")

    def whole(self) -> int:
        """A whole number."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_INT32, _INT64, _INT16):
            return self.whole()
        if kind == _BINARY:
            size = self._varint()
            if size > len(self.data) - self.at:
                raise ValueError("binary")
            self.at += size
            return self.data[self.at - size : self.at]
        if depth > NESTING:
            raise ValueError("depth")
        if kind == STRUCT:
            return self.fields(depth + 1)
        if kind in (_LIST, _SET):
            kind, size = self.list_head()
            if size > len(self.data) - self.at:
                raise ValueError("list")
            self._count(size)
            return [self._value(kind, depth + 1) for _ in range(size)]
        if kind in (_TRUE, _FALSE, _BYTE):  # within lists booleans are bytes
            self.at += 1
            return self.data[self.at - 1]
        if kind == _DOUBLE:
            self.at += 8
            return struct.unpack("<d", self.data[self.at - 8 : self.at])[0]
        raise ValueError("kind")


def packed(fields: RawFields) -> bytes:
    """A structure of fields as `Thrift.raw_fields` reads them, in ascending order of their numbers."""
    found, last = bytearray(), 0
    for number, kind, raw in fields:
        step = number - last
        found += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + packed_whole(number)
        found += raw
        last = number
    return bytes(found) + b"\0"


def packed_list(kind: int, values: list[bytes]) -> bytes:
    """A list of values of one kind."""
    size = len(values)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([15 << 4 | kind]) + _packed_varint(size)
    return head + b"".join(values)


def packed_whole(value: int) -> bytes:
    """A whole number of up to 64 bits."""
    return _packed_varint(value << 1 ^ value >> 63)


def _packed_varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
