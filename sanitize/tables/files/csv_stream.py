"""Stream of the bytes of a CSV file for the parser, with checks that the parser omits."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import time
import weakref
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sanitize.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt


# A header is read before anything is known about a stream, which may be no table: 4 MiB hold the names of 100,000
# columns.
HEADER_BYTES = 1 << 22
# Bytes, and rows, from which the delimiter and the presence of a header are inferred; a hundred rows show both.
_SAMPLE_BYTES, _SAMPLE_ROWS = 1 << 16, 100
# Signs in the order of their use, which decides between several that would fit.
_DELIMITERS = (",", ";", "\t", "|")
# Numbers, dates and times, which are no names of columns; names such as "inf" are rarer than the value.
_LIKE_NUMBER = re.compile(
    r"[-+\u2212]?[\d.,:/'\u2019\sT-]*\d[\d.,:/'\u2019\sTZ-]*([eE][-+]?\d+)?|[-+]?inf|"
    r"\d{1,2}[- ]?[A-Za-z]{3}[- ]?\d{2,4}"
)
# Marks of a missing value say nothing about a column.
_LIKE_MARK = re.compile(r"(?i)|[-.?*]{1,4}|n\.?/?a\.?|nan|null|none|missing|unknown")


class CheckedBytes(AbstractContextManager["CheckedBytes"]):
    """Bytes of a CSV file after its header, checked for content that no CSV file contains.

    The parser reads ahead in its own threads, and may report an error while these still read. If the process ended
    then, a reading thread could not return to Python, and the process would be aborted. So the end of the ``with``
    statement waits until the parser has released all blocks that it was lent.

    Attributes
    ----------
    delimiter : str
        Delimiter of the fields: the given one, or else the one detected in the first rows.
    names : list of str
        Names of the columns; ``column_1``, ``column_2``, ... without a header.
    sample : list of list of str
        The first rows, including the header.
    """

    def __init__(self, plain: BinaryIO, name: str, delimiter: str | None = None, *, has_header: bool = True) -> None:
        self._plain = plain
        self._name = name
        self._quotes = 0
        self._lent: list[weakref.ref[object]] = []
        self._problem: Exception | None = None
        head = self._read(1 << 16)
        head = head.removeprefix(b"\xef\xbb\xbf")  # byte order mark of UTF-8
        while (end := header_end(head)) is None and (more := self._read(1 << 16)):
            head += more
            if len(head) > HEADER_BYTES:
                raise SourceError(
                    f"{name} has no header line in its first {HEADER_BYTES >> 20} MiB; check that it is CSV"
                )
        end = len(head) if end is None else end
        start = head[:_SAMPLE_BYTES].decode("utf-8", errors="replace")
        self.delimiter = delimiter or detect_delimiter(start)
        first = self._first(head[:end])
        self.sample = first_rows(start, self.delimiter)
        self.names = first if has_header else [f"column_{place}" for place in range(1, len(first) + 1)]
        self._pending = head[end:] if has_header else head

    def __exit__(self, *_: object) -> None:
        until = time.monotonic() + 10.0  # the parser releases them after a block or two
        # The reading file is first in the list: once it is released, no block is added.
        while any(lent() is not None for lent in self._lent) and time.monotonic() < until:
            time.sleep(0.0005)

    def lend(self) -> Lent:
        """Lend the rows to a parser, which must have the only reference to the returned file."""
        lent = Lent(self._block)
        self._lent.append(weakref.ref(lent))
        return lent

    def is_exhausted(self) -> bool:
        """Return whether no row follows."""
        self._pending = self._pending or self._read(1 << 16)
        return not self._pending

    def check(self) -> None:
        """Raise an error that occurred while the parser read; the parser itself only saw an end of file."""
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    def check_quotes(self) -> None:
        """Refuse a quote that is still open after the last byte, because it turns all following rows into one field."""
        if self._quotes % 2:
            raise SourceError(
                f'{self._name} has an open double quote; close it, and write "" for a quote inside a quoted field'
            )

    def _block(self, count: int) -> npt.NDArray[np.uint8]:
        """Read the next bytes, checked for NUL; empty after an error, as raising in a parser's thread is unsafe."""
        got = b""
        try:
            if self._problem is None:
                got = self._pending[:count] or self._read(count)
        except Exception as error:
            self._problem = error.with_traceback(None)  # its traceback would keep this frame, and so the block
        self._pending = self._pending[len(got) :]
        self._quotes += got.count(b'"')
        block = np.frombuffer(got, np.uint8) if got else np.empty(0, np.uint8)
        self._lent = [*(lent for lent in self._lent if lent() is not None), weakref.ref(block)]
        return block

    def _read(self, count: int) -> bytes:
        got = self._plain.read(count)
        if got.startswith((b"\xff\xfe", b"\xfe\xff")):  # no text in UTF-8 contains these bytes
            raise SourceError(f"{self._name} is UTF-16; convert it to UTF-8 first")
        if b"\0" in got:
            raise SourceError(f"{self._name} contains NUL bytes, so it is not CSV in UTF-8; convert it first")
        return got

    def _first(self, line: bytes) -> list[str]:
        try:
            text = io.StringIO(line.decode("utf-8"), newline="")
            rows = list(csv.reader(text, strict=True, **_dialect(self.delimiter)))
        except UnicodeDecodeError:
            raise SourceError(f"{self._name} has a header that is not valid UTF-8; convert it first") from None
        except csv.Error:
            raise SourceError(f"{self._name} has a header whose quotes do not pair up; close each quote") from None
        if len(rows) != 1 or not rows[0]:
            raise SourceError(f"{self._name} has no header line: the first line must name the columns")
        return rows[0]


class Lent:
    """File lent to a parser, which is released when the parser's last thread has finished.

    Blocks are arrays because weak references, which show the release of a block, are not possible for bytes.
    """

    closed = False

    def __init__(self, read: Callable[[int], npt.NDArray[np.uint8]]) -> None:
        self.read = read


def is_delimiter(text: str) -> bool:
    """Return whether a text can be a delimiter: one ASCII character or a tab, but no quote or line end."""
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in '"\r\n\0'


def first_rows(text: str, delimiter: str) -> list[list[str]]:
    """First rows of a text, without the last row if it may be cut off and is not the only row."""
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        for row in csv.reader(io.StringIO(text, newline=""), **_dialect(delimiter)):
            rows += [row] if row else []
            if len(rows) > _SAMPLE_ROWS:
                break
    return rows[:-1] if len(rows) > 2 and not text.endswith(("\n", "\r")) else rows


def _dialect(delimiter: str) -> dict[str, Any]:
    return {"delimiter": delimiter[0], "skipinitialspace": delimiter.endswith(" ") and len(delimiter) > 1}


def detect_delimiter(text: str) -> str:
    """Detect the delimiter: a sign that occurs in the first row, and as often in each of the other rows.

    Among several such signs the comma is preferred, unless all commas are inside numbers.
    """
    first = re.sub('"[^"]*"', "", re.split("[\r\n]", text, maxsplit=1)[0])
    present = [sign for sign in _DELIMITERS if sign in first]
    samples = {sign: first_rows(text, sign) for sign in present}
    even = [sign for sign in present if len({len(row) for row in samples[sign]}) == 1]
    delimiter = next(iter(even or present), ",")
    alternatives = [sign for sign in even if sign != delimiter]
    if delimiter == "," and alternatives:
        commas = [field for row in samples[alternatives[0]] for field in row if "," in field]
        if all(re.fullmatch(r"\s*[-+]?[\d.\s]*,\d+\s*", field) for field in commas):  # all are between digits
            return alternatives[0]
    fields = [field for row in samples.get(delimiter, ()) for field in row[1:]]
    # Some programs write a blank after each delimiter; as part of the fields, it would be part of values and names.
    blank = bool(fields) and all(row.startswith(" ") and row.strip() for row in fields)
    return f"{delimiter} " if blank and delimiter != "\t" else delimiter


def lacks_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row looks like the rows below it, and so has no column names.

    It does if it has a number or a date in every column in which all other rows have one. If there is no such column,
    it does if half of its texts also occur in the rows below.
    """
    if len(rows) < 2:
        return False
    n_names, alike, texts, repeated = 0, 0, 0, 0
    for place, first in enumerate(rows[0]):
        below = [row[place].strip() for row in rows[1:] if place < len(row)]
        below = [field for field in below if field and not _LIKE_MARK.fullmatch(field)]
        if not below or not first.strip():
            continue
        if all(_LIKE_NUMBER.fullmatch(field) for field in below):
            is_value = _LIKE_NUMBER.fullmatch(first.strip()) or _LIKE_MARK.fullmatch(first.strip())
            n_names, alike = n_names + (not is_value), alike + bool(is_value)
        elif len(below) > 4 and len(set(below)) <= len(below) / 2:
            texts, repeated = texts + 1, repeated + (first.strip() in below)
    return not n_names and (alike > 0 or 0 < texts <= 2 * repeated)


def header_end(head: bytes) -> int | None:
    """Position after the first row and its line end; None if the row does not end here."""
    quotes = seen = 0
    for match in re.finditer(rb"\r\n|\n|\r", head):
        if match.end() == len(head) and match[0] == b"\r":
            return None  # the second half of this line end may be in the next block
        quotes += head.count(b'"', seen, match.start())
        seen = match.start()
        if quotes % 2 == 0:
            return match.end()
    return None
