"""The bytes of a CSV file on their way to the parser, and what the parser would let pass."""

from __future__ import annotations

import csv
import io
import re
import time
import weakref
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from sanitize.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt


HEADER_BYTES = 1 << 22


class CheckedBytes(AbstractContextManager["CheckedBytes"]):
    """Bytes of a CSV file after its header, checked for what no CSV file holds.

    A parser reads ahead in threads of its own, and may report an error while they still do; were the process to end
    meanwhile, such a thread could not get back into Python, and the process would be aborted. So the end of the
    ``with`` statement waits until the parser has given back all that it was lent.

    Attributes
    ----------
    delimiter : str
        What stands between fields: what was named, or else told by the header, a comma where it has one, else a
        semicolon or a tab.
    header : list of str
        Names of the columns.
    """

    def __init__(self, plain: BinaryIO, name: str, delimiter: str | None = None) -> None:
        self._plain = plain
        self._name = name
        self._quotes = 0
        self._lent: list[weakref.ref[object]] = []
        self._problem: Exception | None = None
        self.delimiter = delimiter or ","
        self._is_named = delimiter is not None
        head = plain.read(1 << 16)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise SourceError(f"{name} is UTF-16; convert it to UTF-8 first")
        if b"\0" in head:
            raise SourceError(f"{name} holds NUL bytes, so it is not CSV in UTF-8; convert it first")
        head = head.removeprefix(b"\xef\xbb\xbf")  # the mark of UTF-8
        while (end := header_end(head)) is None:
            more = self._read(1 << 16)
            if not more:
                end = len(head)
                break
            head += more
            if len(head) > HEADER_BYTES:
                raise SourceError(f"{name} has no header line in its first {HEADER_BYTES >> 20} MiB")
        self.header, self._pending = self._names(head[:end]), head[end:]

    def __exit__(self, *_: object) -> None:
        until = time.monotonic() + 10.0  # it lets go within the reading of a block or two
        # What reads comes first in the list: once it is gone, no block is added.
        while any(lent() is not None for lent in self._lent) and time.monotonic() < until:
            time.sleep(0.0005)

    def lend(self) -> Lent:
        """The rows for a parser, which must be the only one to keep what it is given."""
        lent = Lent(self._block)
        self._lent.append(weakref.ref(lent))
        return lent

    def at_end(self) -> bool:
        """Whether no row follows."""
        if not self._pending:
            self._pending = self._read(1 << 16)
        return not self._pending

    def check(self) -> None:
        """Raise what went wrong while the parser read, which only saw an end."""
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    def check_quotes(self) -> None:
        """After the last byte: refuse a quote that nothing closes, which hides the rows after it in one field."""
        if self._quotes % 2:
            raise SourceError(
                f'{self._name} has a double quote that is not closed (inside a quoted field it is written "")'
            )

    def _block(self, count: int) -> npt.NDArray[np.uint8]:
        """Next bytes, none of which is NUL; nothing after an error, which a parser's thread could not drop safely."""
        got = b""
        try:
            if self._problem is None:
                got = self._pending[:count] or self._read(count)
        except Exception as error:
            self._problem = error.with_traceback(None)  # or it would keep this frame, and so the block
        self._pending = self._pending[len(got) :]
        self._quotes += got.count(b'"')
        block = np.frombuffer(got, np.uint8) if got else np.empty(0, np.uint8)
        self._lent = [*(lent for lent in self._lent if lent() is not None), weakref.ref(block)]
        return block

    def _read(self, count: int) -> bytes:
        got = self._plain.read(count)
        if b"\0" in got:
            raise SourceError(f"{self._name} holds NUL bytes, so it is not CSV in UTF-8; convert it first")
        return got

    def _names(self, line: bytes) -> list[str]:
        try:
            text = line.decode("utf-8")
            self.delimiter = self.delimiter if self._is_named else delimiter_of(text)
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True))
        except UnicodeDecodeError:
            raise SourceError(f"{self._name} has a header that is not valid UTF-8; convert it first") from None
        except csv.Error:
            raise SourceError(f"{self._name} has a header whose quotes do not pair up") from None
        if len(rows) != 1 or not rows[0]:
            raise SourceError(f"{self._name} has no header line: the first line must name the columns")
        return rows[0]


class Lent:
    """What a parser reads from: it is gone as soon as the last of the parser's threads is done with it.

    Bytes cannot be watched but an array of them can, so the blocks that it reads are arrays.
    """

    closed = False

    def __init__(self, read: Callable[[int], npt.NDArray[np.uint8]]) -> None:
        self.read = read


def is_delimiter(text: str) -> bool:
    """Whether it may stand between fields: one sign of ASCII or a tab, but no quote and no end of a line."""
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in '"\r\n\0'


def delimiter_of(header: str) -> str:
    """What stands between the names of a header: commas, or where there is none, the more frequent of ``;`` and tab."""
    bare = re.sub('"[^"]*"', "", header)
    other = max(";\t", key=bare.count)
    return other if other in bare and "," not in bare else ","


def header_end(head: bytes) -> int | None:
    """Where the first row ends, its line end included; None if it does not end here."""
    quotes = seen = 0
    for match in re.finditer(rb"\r\n|\n|\r", head):
        if match.end() == len(head) and match[0] == b"\r":
            return None  # perhaps half of a line end
        quotes += head.count(b'"', seen, match.start())
        seen = match.start()
        if quotes % 2 == 0:
            return match.end()
    return None
