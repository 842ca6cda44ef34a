"""The bytes of a CSV file on their way to the parser, and what the parser would let pass."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, BinaryIO

from sanitize.errors import SourceError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_HEADER_BYTES = 1 << 22
_BOM = b"\xef\xbb\xbf"
_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LINE_END = re.compile(rb"\r\n|\n|\r")


class CheckedBytes(io.RawIOBase):
    """Bytes of a CSV file after its header, checked for what no CSV file holds.

    Attributes
    ----------
    header : list of str
        Names of the columns.
    """

    def __init__(self, plain: BinaryIO, name: str) -> None:
        super().__init__()
        self._plain = plain
        self._name = name
        self._quotes = 0
        self.header, self._pending = self._read_header()

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Next bytes, none of which is NUL."""
        view = memoryview(buffer).cast("B")
        got = self._pending[: len(view)] or self._read(len(view))
        self._pending = self._pending[len(got) :]
        view[: len(got)] = got
        self._quotes += got.count(b'"')
        return len(got)

    def at_end(self) -> bool:
        """Whether no row follows."""
        if not self._pending:
            self._pending = self._read(1 << 16)
        return not self._pending

    def check_quotes(self) -> None:
        """After the last byte: refuse a quote that nothing closes, which hides the rows after it in one field."""
        if self._quotes % 2:
            raise SourceError(
                f'{self._name} has a double quote that is not closed (inside a quoted field it is written "")'
            )

    def _read(self, count: int) -> bytes:
        got = self._plain.read(count)
        if b"\0" in got:
            raise SourceError(f"{self._name} holds NUL bytes, so it is not CSV in UTF-8; convert it first")
        return got

    def _read_header(self) -> tuple[list[str], bytes]:
        head = self._plain.read(1 << 16)
        if head.startswith(_OTHER_MARKS):
            raise SourceError(f"{self._name} is UTF-16; convert it to UTF-8 first")
        if b"\0" in head:
            raise SourceError(f"{self._name} holds NUL bytes, so it is not CSV in UTF-8; convert it first")
        head = head.removeprefix(_BOM)
        while (end := header_end(head)) is None:
            more = self._read(1 << 16)
            if not more:
                end = len(head)
                break
            head += more
            if len(head) > _HEADER_BYTES:
                raise SourceError(f"{self._name} has no header line in its first {_HEADER_BYTES >> 20} MiB")
        return self._names(head[:end]), head[end:]

    def _names(self, line: bytes) -> list[str]:
        try:
            text = line.decode("utf-8")
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except UnicodeDecodeError:
            raise SourceError(f"{self._name} has a header that is not valid UTF-8; convert it first") from None
        except csv.Error:
            raise SourceError(f"{self._name} has a header whose quotes do not pair up") from None
        if len(rows) != 1 or not rows[0]:
            raise SourceError(f"{self._name} has no header line: the first line must name the columns")
        return rows[0]


def header_end(head: bytes) -> int | None:
    """Where the first row ends, its line end included; None if it does not end here."""
    quotes = seen = 0
    for match in _LINE_END.finditer(head):
        if match.end() == len(head) and match[0] == b"\r":
            return None  # perhaps half of a line end
        quotes += head.count(b'"', seen, match.start())
        seen = match.start()
        if quotes % 2 == 0:
            return match.end()
    return None
