"""Row groups that were encoded by themselves, put together as one Parquet file.

Nothing inside a column chunk says where in the file it lies, only the footer does. So a file of one row group is
appended without being looked at, and its line of the footer is moved: what comes out is, byte for byte, what a writer
of all row groups writes, and any thread may encode any of them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO

from sanitize._files.thrift import STRUCT, RawFields, Thrift, packed, packed_list, packed_whole

if TYPE_CHECKING:
    from collections.abc import Callable

_MAGIC = b"PAR1"
# Fields of the footer, of a row group, of a column chunk and of its metadata.
_N_ROWS, _ROW_GROUPS = 3, 4
_CHUNKS, _GROUP_START, _ORDINAL = 1, 5, 7
_CHUNK_METADATA = 3
_CHUNK_PLACES = (2, 4, 6)  # of its metadata and of its indexes
_METADATA_PLACES = (9, 10, 11, 14)  # of its first pages and of its bloom filter


class JoinedFile:
    """A Parquet file that grows by whole row groups.

    Parameters
    ----------
    stream : binary stream
        At its start.
    empty : buffer
        A file without rows, of the same schema and metadata.
    """

    def __init__(self, stream: BinaryIO, empty: memoryview) -> None:
        self._stream = stream
        self._footer = _parts(empty)[1]
        self._groups: list[bytes] = []
        self._n_rows = 0
        self._end = len(_MAGIC)
        stream.write(_MAGIC)

    def add(self, file: memoryview) -> None:
        """Append the row groups of a file of the same schema."""
        body, footer = _parts(file)
        fields = {number: raw for number, _, raw in footer}
        for group in _structures(fields[_ROW_GROUPS]):
            self._groups.append(packed(_moved_group(group, self._end - len(_MAGIC), len(self._groups))))
        self._n_rows += Thrift(fields[_N_ROWS]).whole()
        self._stream.write(body)
        self._end += len(body)

    def close(self) -> None:
        """Write the footer."""
        known = {_N_ROWS: packed_whole(self._n_rows), _ROW_GROUPS: packed_list(STRUCT, self._groups)}
        footer = packed([(number, kind, known.get(number, raw)) for number, kind, raw in self._footer])
        self._stream.write(footer + struct.pack("<I", len(footer)) + _MAGIC)


def _parts(file: memoryview) -> tuple[memoryview, RawFields]:
    """What stands between the first magic number and the footer, and the fields of the footer."""
    (length,) = struct.unpack("<I", file[-8:-4])
    return file[len(_MAGIC) : -8 - length], Thrift(bytes(file[-8 - length : -8])).raw_fields()


def _structures(raw: bytes) -> list[RawFields]:
    """Structures of a list."""
    reader = Thrift(raw)
    _, size = reader.list_head()
    return [reader.raw_fields() for _ in range(size)]


def _moved_group(group: RawFields, by: int, number: int) -> RawFields:
    def moved(field: int, raw: bytes) -> bytes:
        if field == _CHUNKS:
            return packed_list(STRUCT, [packed(_moved_chunk(chunk, by)) for chunk in _structures(raw)])
        if field == _ORDINAL:
            return packed_whole(number)
        return _moved(raw, by) if field == _GROUP_START else raw

    return _changed(group, moved)


def _moved_chunk(chunk: RawFields, by: int) -> RawFields:
    def moved(field: int, raw: bytes) -> bytes:
        if field == _CHUNK_METADATA:
            metadata = Thrift(raw).raw_fields()
            return packed(_changed(metadata, lambda one, old: _moved(old, by) if one in _METADATA_PLACES else old))
        return _moved(raw, by) if field in _CHUNK_PLACES else raw

    return _changed(chunk, moved)


def _changed(fields: RawFields, change: Callable[[int, bytes], bytes]) -> RawFields:
    return [(number, kind, change(number, raw)) for number, kind, raw in fields]


def _moved(raw: bytes, by: int) -> bytes:
    """A place in the file, further on; one of 0 says that there is none."""
    place = Thrift(raw).whole()
    return packed_whole(place + by if place else 0)
