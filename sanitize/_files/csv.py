"""Reading CSV as untrusted input: one dialect, read strictly, errors without values.

The dialect is RFC 4180 in UTF-8: commas, double quotes around what needs them (``""`` for a quote inside), a
header line, any line ends. A byte order mark is skipped. An empty field is missing, ``""`` is the empty text.
Every column is text as it stands in the file, so 01234, NA and 1.50 stay what they are; only columns with bins
are numbers, and those of a whole table in which every value is written as one.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sanitize._files.csv_stream import CheckedBytes
from sanitize._files.source import (
    AS_STORED,
    BATCH_ROWS,
    Numbers,
    Source,
    files_under,
    partition_schema,
    reading,
    stamp_of,
)
from sanitize._files.streams import Spool
from sanitize.errors import ColumnError, SourceError, in_words

CSV_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
# Rows are parsed in pieces of this size, which a row must fit.
BLOCK_BYTES = 1 << 23


@dataclass(frozen=True)
class CsvSource(Source):
    """Files of one table: a CSV file, all CSV files under a folder with one header, or what a stream held.

    Attributes
    ----------
    spool : Spool or None
        Copy of a stream, in place of files.
    delimiter : str or None
        What stands between fields; None where the header tells.
    """

    spool: Spool | None = None
    delimiter: str | None = None

    @classmethod
    def open(
        cls, root: str | os.PathLike[str] | Spool, numbers: Numbers = AS_STORED, delimiter: str | None = None
    ) -> CsvSource:
        """Read the headers of a file or folder, and the columns that are to be numbers.

        Parameters
        ----------
        root : path or Spool
        numbers : Numbers
            Columns that are numbers: whole ones where every value is one, doubles otherwise. They are read once.
        delimiter : str, optional
            What stands between fields; told by the header otherwise.

        Raises
        ------
        SourceError
            If there is no such file, it is not CSV, or the files of a folder have different headers.
        ColumnError
            If a column that must be numbers holds text.
        """
        spool = root if isinstance(root, Spool) else None
        path = Path(root.name if isinstance(root, Spool) else root)
        files = files_under(path, CSV_SUFFIXES) if spool is None else (path,)
        stamps = tuple(map(stamp_of, files if spool is None else ()))
        made = cls(path, files, pa.schema([]), stamps, (), spool, delimiter)
        header = made._header(files[0])
        for file in files[1:]:
            if made._header(file) != header:
                raise SourceError(f"{file.name} has other columns than {files[0].name}; convert them first")
        named = partition_schema(path, files)
        fields = [pa.field(name, pa.string()) for name in header]
        made = replace(made, schema=pa.schema([*fields, *named]), partitions=tuple(named.names))
        return made.with_numbers(numbers)

    def with_numbers(self, numbers: Numbers) -> CsvSource:
        """The same files, with more of their columns as numbers."""
        times = Counter(self.schema.names)
        once = [field for field in self.schema if times[field.name] == 1 and field.name not in self.partitions]
        texts = [field.name for field in once if pa.types.is_string(field.type)]
        made, named = self, [name for name in texts if name in numbers.named]
        if named:
            made = made._with_named(named)
        wanted = [name for name in texts if name not in named and numbers.found is not None and numbers.found(name)]
        return made._typed(found_numbers(wanted, made._batches(wanted))) if wanted else made

    @cached_property  # type: ignore[misc]
    def n_rows(self) -> int:
        """Number of rows; the files are read for it."""
        return sum(batch.num_rows for file in self.files for batch in self._stored(file, self.schema.names[:1]))

    def absent(self, columns: Sequence[str]) -> ColumnError:
        """Error for columns that are not there; without a header line the other names would be a row."""
        words = f"{'column' if len(columns) == 1 else 'columns'} {in_words(columns)}"
        return ColumnError(
            f"no {words} in the table; the first line of {self.root.name} must name the columns, with commas, "
            "semicolons or tabs between them",
            columns[0] if len(columns) == 1 else None,
            columns,
        )

    def _with_named(self, columns: Sequence[str]) -> CsvSource:
        """The same source with the narrowest numeric types that hold every value of these columns."""
        types: dict[str, pa.DataType] = dict.fromkeys(columns, pa.int64())
        while True:
            made = self._typed(types)
            try:
                for _ in made._batches(columns):
                    pass
            except ColumnError as error:
                if error.column is None or types[error.column] == pa.float64():
                    raise
                types[error.column] = pa.float64()
            else:
                return made

    def _typed(self, types: Mapping[str, pa.DataType]) -> CsvSource:
        """The same source with other types of some columns."""
        return replace(
            self, schema=pa.schema([pa.field(field.name, types.get(field.name, field.type)) for field in self.schema])
        )

    def _batches(self, columns: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Some columns of all files, a batch at a time."""
        for file in self.files:
            for batch in self._stored(file, columns):
                yield dict(zip(columns, batch.columns, strict=True))

    def _stored(
        self,
        file: Path,
        columns: Sequence[str],
        batch_rows: int = BATCH_ROWS,
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        stored = self.schema.names[: len(self.schema) - len(self.partitions)]
        # Rows are checked whole, whatever columns are asked for; and some column must be read to count them.
        first = {name: place for place, name in reversed(list(enumerate(stored)))}
        places = [first[name] for name in columns] or [0]
        names = [f"c{j}" for j in range(len(stored))]
        text, stored_as = pa.dictionary(pa.int32(), pa.string()), {j: self.schema.field(j).type for j in places}
        types = {f"c{j}": text if pa.types.is_string(dtype) else dtype for j, dtype in stored_as.items()}
        with self._bytes(file) as raw:
            if raw.at_end():
                return
            with _parsing(file, self.schema, raw):
                reader = pa.csv.open_csv(
                    pa.PythonFile(raw.lend(), mode="r"),
                    read_options=pa.csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES),
                    # A blank line is a row only where a row has one field.
                    parse_options=pa.csv.ParseOptions(
                        delimiter=raw.delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
                    ),
                    convert_options=pa.csv.ConvertOptions(
                        include_columns=[f"c{j}" for j in places],
                        column_types=types,
                        null_values=[""],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )
            try:
                while True:
                    with _parsing(file, self.schema, raw):
                        batch = next(reader, None)
                    if batch is None:
                        break
                    yield batch if columns else batch.select([])
            finally:
                reader.close()
                del reader  # or an error on its way up would keep what was lent to it
            raw.check()
            raw.check_quotes()

    def _header(self, file: Path) -> list[str]:
        """Names of the columns that a file holds."""
        with self._bytes(file) as raw:
            return raw.header

    @contextlib.contextmanager
    def _bytes(self, file: Path) -> Iterator[CheckedBytes]:
        """The file after its header, unpacked."""
        with reading(file.name), contextlib.ExitStack() as stack:
            plain: BinaryIO = stack.enter_context(file.open("rb") if self.spool is None else self.spool.open())
            head = plain.read(2)
            plain.seek(0)
            if head == b"\x1f\x8b":  # gzip
                plain = stack.enter_context(gzip.GzipFile(fileobj=plain, mode="rb"))  # type: ignore[assignment]
            yield stack.enter_context(CheckedBytes(plain, file.name, self.delimiter))


@contextlib.contextmanager
def _parsing(file: Path, schema: pa.Schema, raw: CheckedBytes) -> Iterator[None]:
    """What the parser found wrong, without the text that it quotes."""
    try:
        yield
    except pa.ArrowInvalid as error:
        said = str(error)
    else:
        return
    raw.check()
    if shape := re.search(r"Expected (\d+) columns, got (\d+)", said):
        raise SourceError(
            f"{file.name} has a row of {shape[2]} fields where its header has {shape[1]}; mend it, or quote the "
            "fields that hold commas or line breaks"
        )
    column = re.search(r"In CSV column #(\d+)", said)
    name = schema.names[int(column[1])] if column else None
    if name is not None and "UTF8" in said:
        raise ColumnError(f"column {name!r} holds text that is not valid UTF-8; convert the file to UTF-8 first", name)
    if name is not None:
        raise ColumnError(
            f"column {name!r} must be numbers, for its bins or because it was at fit, but not every field is one; "
            "mend it, or leave it out of bins",
            name,
        )
    if "straddl" in said:
        raise SourceError(
            f"{file.name} has a row of more than {BLOCK_BYTES >> 20} MiB, or a quote that is never closed"
        )
    raise SourceError(f"{file.name} cannot be read as CSV: it is damaged or not supported")


def found_numbers(columns: Collection[str], batches: Iterable[Mapping[str, pa.Array]]) -> dict[str, pa.DataType]:
    """Types of the columns of text in which every value that is not missing is written as a number.

    Parameters
    ----------
    columns : collection of str
    batches : iterable of mapping of name to dictionary array of text

    Returns
    -------
    dict of str to DataType
        Whole numbers of up to 18 digits, doubles where some value is a decimal; no column without any value.
    """
    # As a number is written and nothing else is: 01234 is a code, +1 and 1e3 may be names.
    whole, longest = dict.fromkeys(columns, True), dict.fromkeys(columns, 0)
    for batch in batches:
        for name in list(whole):
            values = batch[name].dictionary.drop_null()
            if len(values) == 0:
                continue
            if not _all_match(values, r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"):
                del whole[name], longest[name]
                continue
            longest[name] = max(longest[name], pc.max(pc.utf8_length(values)).as_py())
            whole[name] = whole[name] and _all_match(values, r"^(0|-?[1-9][0-9]{0,17})$")
        if not whole:
            break
    found = {name: pa.int64() for name, is_whole in whole.items() if is_whole and longest[name]}
    return found | {
        name: pa.float64() for name in whole if not whole[name] and longest[name] <= 16
    }  # longer ones may have more digits than a double


def _all_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())
