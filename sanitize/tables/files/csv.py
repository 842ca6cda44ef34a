"""Strict reader of text files as untrusted input, whose errors quote no values.

The dialect is RFC 4180 in UTF-8: a delimiter between fields, double quotes around fields that need them (``""`` for
a quote inside), any line ends. A byte order mark is skipped. An empty field is missing; ``""`` is the empty text unless
it is listed as missing. The type of a column comes from its description; it is inferred for columns with bins and for
whole tables. All other columns are the text of the file, so that 01234, NA and 1.50 stay unchanged.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from sanitize.errors import ColumnError, SourceError, in_words
from sanitize.tables.files.csv_stream import CheckedBytes, lacks_header
from sanitize.tables.files.description import DATES, NUMBERS, TableDescription, is_dated
from sanitize.tables.files.inference import ColumnReader, TextSurvey, as_date, choose_signs, date_order, survey_columns
from sanitize.tables.files.source import (
    AS_STORED,
    BATCH_ROWS,
    Numbers,
    Source,
    check_same_columns,
    file_stamp,
    files_under,
    partition_schema,
    reading,
)
from sanitize.tables.files.spelling import ISO, Spelling, usual_marks
from sanitize.tables.files.streams import Spool
from sanitize.tables.files.unpack import open_unpacked

_PACKED = ("", ".gz", ".bz2", ".xz", ".zip")
# Only these files of a folder are read, because it may contain other text files.
CSV_SUFFIXES = tuple(kind + packed for kind in (".csv", ".tsv") for packed in _PACKED)
TEXT_SUFFIXES = (*(kind + packed for kind in (".txt", ".dat") for packed in _PACKED), ".zip")
# Rows are parsed in blocks of this size, into which a row must fit.
BLOCK_BYTES = 1 << 23


@dataclass(frozen=True)
class CsvSource(Source):
    """Table in text: a file, all text files with the same header under a folder, or the content of a stream.

    Attributes
    ----------
    spool : Spool or None
        Copy of a stream, in place of files.
    description : TableDescription
        Description by which the table is read, with known delimiter and header.
    readers : mapping of column to ColumnReader
        Readers of the columns that are converted from text.
    """

    spool: Spool | None = None
    description: TableDescription = field(default_factory=TableDescription)
    readers: Mapping[str, ColumnReader] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str] | Spool,
        numbers: Numbers = AS_STORED,
        description: TableDescription | None = None,
        *,
        infers_header: bool = False,
    ) -> CsvSource:
        """Read the headers of a file or folder, and the columns that must be numbers or dates.

        Parameters
        ----------
        root : path or Spool
        numbers : Numbers
            Columns to read as numbers: whole numbers if every value is whole, otherwise doubles. These columns are read
            once for this.
        description : TableDescription, optional
        infers_header : bool
            Whether a first line that looks like a row is read as a row; otherwise the file is refused.

        Raises
        ------
        SourceError
            If the file does not exist or is not CSV, the files of a folder have different headers, or the first line
            looks like a row and the description does not say whether it is.
        ColumnError
            If a column that must be numbers or dates holds text.
        """
        spool = root if isinstance(root, Spool) else None
        path = Path(root.name if isinstance(root, Spool) else root)
        files = files_under(path, CSV_SUFFIXES) if spool is None else (path,)
        stamps = tuple(map(file_stamp, files if spool is None else ()))
        table = cls(path, files, pa.schema([]), stamps, (), spool, TableDescription.coerce(description))
        table = table._with_dialect(infers_header=infers_header)
        header = table._names(files[0])
        for file in files[1:]:
            check_same_columns(file, table._names(file), files[0], header)
        partitions = partition_schema(path, files, header)
        fields = [pa.field(name, pa.string()) for name in header]
        table = replace(table, schema=pa.schema([*fields, *partitions]), partitions=tuple(partitions.names))
        return table._apply_description().with_numbers(numbers)

    def _with_dialect(self, *, infers_header: bool) -> CsvSource:
        """Return the same source with a description that states the delimiter and the header."""
        with self._bytes(self.files[0]) as raw:
            delimiter, is_row = raw.delimiter, lacks_header(raw.sample)
        header = self.description.header
        if header is None and is_row and not infers_header:
            raise SourceError(
                f"the first line of {self.root.name} looks like a row, not like names of columns; say header = false "
                "if it is one (the columns are then column_1, column_2, ...), or header = true if it names them, under "
                "[source] in the policy, or with --header"
            )
        header = not is_row if header is None else header
        return replace(self, description=self.description.with_changes(delimiter=delimiter, header=header))

    def _apply_description(self) -> CsvSource:
        """Return the same source with columns read by their description."""
        types = self.description.types
        if absent := [name for name in types if name not in self.schema.names]:
            raise self.absent(absent)
        numbers = [name for name, kind in types.items() if kind in NUMBERS]
        table = self._with_numbers_read(numbers) if numbers else self
        dates = {name: None if kind in DATES else kind for name, kind in types.items() if is_dated(kind)}
        table = table._with_dates_read(dates) if dates else table
        marks = self.description.missing or ()
        trims = (self.description.delimiter or "").endswith(" ")
        if marks or trims:
            as_text = ColumnReader(pa.string(), Spelling(missing=marks, trims=trims))
            texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
            table = table.reading({name: as_text for name in texts if name not in self.partitions})
        return table

    def with_numbers(self, numbers: Numbers) -> CsvSource:
        """Return the same source with more columns read as numbers or dates."""
        times = Counter(self.schema.names)
        once = [field for field in self.schema if times[field.name] == 1 and field.name not in self.partitions]
        texts = [field.name for field in once if pa.types.is_string(field.type)]
        table, required = self, [name for name in texts if name in numbers.columns]
        if required:
            table = table._with_numbers_read(required)
        dated = {name: None for name in texts if name in numbers.dates}
        if dated:
            # Releases of tuples read ISO 8601 dates as text; releases of whole tables read them as dates.
            table = table._with_dates_read(dated, where_iso=numbers.is_inferred is not None)
        free = [name for name in texts if name not in (*required, *dated, *self.description.types)]
        wanted = [name for name in free if numbers.is_inferred is not None and numbers.is_inferred(name)]
        return table.reading(table.infer_types(wanted)[1]) if wanted else table

    def infer_types(self, columns: Collection[str]) -> tuple[TableDescription, dict[str, ColumnReader]]:
        """Infer the decimal sign and missing marks of some text columns, and readers of their numbers and dates."""
        surveys = self._surveys(columns)
        description, delimiter = self.description, self.description.delimiter or ","
        signs = choose_signs(surveys.values(), delimiter, description.decimal, description.thousands)
        order, readers, marks = date_order(surveys.values(), delimiter), {}, set(description.missing or ())
        for name, survey in surveys.items():
            missing_marks = usual_marks({*survey.marks, *(description.missing or ())})
            reader = as_date(survey, order, missing_marks)
            if reader is None and survey.may_be(signs):
                reader = survey.as_number(signs, missing_marks)
            if reader is not None:
                readers[name] = reader
                marks |= survey.marks
        has_numbers = any(not reader.form for reader in readers.values())
        number_signs = {"decimal": signs[0], "thousands": signs[1]} if has_numbers else {}
        return description.with_changes(missing=usual_marks(marks), **number_signs), readers

    def _surveys(self, columns: Collection[str]) -> dict[str, TextSurvey]:
        return survey_columns(columns, self._batches(list(columns)), self.description.missing)

    def _with_numbers_read(self, columns: Collection[str]) -> CsvSource:
        """Return the same source with some columns read as numbers; refuse columns that are not."""
        description, surveys, readers = self.description, self._surveys(columns), {}
        signs = choose_signs(surveys.values(), description.delimiter or ",", description.decimal, description.thousands)
        for name, survey in surveys.items():
            reader = survey.as_number(signs, usual_marks({*survey.marks, *(description.missing or ())}))
            if reader is None:
                raise _unfit(name)
            readers[name] = reader
        return self.reading(readers)

    def _with_dates_read(self, forms: Mapping[str, str | None], *, where_iso: bool | None = None) -> CsvSource:
        """Return the same source with some columns read as dates, in a given format or any.

        All columns must be dates, unless ``where_iso`` says whether to read those in the form of ISO 8601: then columns
        that are not dates stay text.
        """
        description, surveys, readers = self.description, self._surveys(list(forms)), {}
        order = date_order(surveys.values(), description.delimiter or ",")
        for name, form in forms.items():
            survey, marks = surveys[name], usual_marks({*surveys[name].marks, *(description.missing or ())})
            reader = as_date(survey, order if form is None else [form], marks)
            if reader is None and form is not None:
                reader = self._read_form(name, form, marks)
            if reader is None and where_iso is None:
                raise _unfit(name, is_date=True)
            if reader is not None and (where_iso is not False or reader.form != ISO):
                readers[name] = reader
        return self.reading(readers)

    def _read_form(self, name: str, form: str, marks: tuple[str, ...]) -> ColumnReader | None:
        """Read dates in a format that is not among the usual ones; None if a text does not match the format."""
        dtype = pa.timestamp("us") if "%H" in form else pa.date32()
        survey = TextSurvey(self.description.missing, dates={form: dtype})
        for batch in self._batches([name]):
            survey.add(batch[name].dictionary)
        return ColumnReader(dtype, Spelling(missing=marks), form) if survey.dates else None

    def reading(self, readers: Mapping[str, ColumnReader]) -> CsvSource:
        """Return the same source with readers for more columns."""
        types = {name: reader.dtype for name, reader in readers.items()}
        fields = [pa.field(field.name, types.get(field.name, field.type)) for field in self.schema]
        return replace(self, schema=pa.schema(fields), readers={**self.readers, **readers})

    @cached_property  # type: ignore[misc]
    def n_rows(self) -> int:
        """Number of rows; reads the files to count them."""
        return sum(batch.num_rows for file in self.files for batch in self._file_batches(file, self.schema.names[:1]))

    def absent(self, columns: Sequence[str]) -> ColumnError:
        """Error for missing columns; without a header line, it lists no names, which would be values of a row."""
        words = f"{'column' if len(columns) == 1 else 'columns'} {in_words(columns)}"
        return ColumnError(
            f"no {words} in the table; the first line of {self.root.name} must name the columns, with commas, "
            "semicolons, tabs or vertical bars between them; name another sign with --delimiter",
            columns[0] if len(columns) == 1 else None,
            columns,
        )

    def _batches(self, columns: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Yield batches of some columns of all files."""
        for file in self.files:
            for batch in self._file_batches(file, columns):
                yield dict(zip(columns, batch.columns, strict=True))

    def _file_batches(
        self,
        file: Path,
        columns: Sequence[str],
        batch_rows: int = BATCH_ROWS,
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        with self._bytes(file) as raw:
            if raw.is_exhausted():
                return
            stored = raw.names  # each file has its own order
            # Whole rows are checked, whatever columns are requested; and one column must be read to count rows.
            first = {name: place for place, name in reversed(list(enumerate(stored)))}
            places = [first[name] for name in columns] or [0]
            names = [f"c{j}" for j in range(len(stored))]
            readers = {j: self.readers[stored[j]] for j in places if stored[j] in self.readers}
            native = {f"c{j}": reader.dtype for j, reader in readers.items() if reader.is_native}
            types = {f"c{j}": native.get(f"c{j}", pa.dictionary(pa.int32(), pa.string())) for j in places}
            with _parsing(file, raw):
                reader = pa.csv.open_csv(
                    pa.PythonFile(raw.lend(), mode="r"),
                    read_options=pa.csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES),
                    # A blank line is a row only if rows have a single field.
                    parse_options=pa.csv.ParseOptions(
                        delimiter=raw.delimiter[0], newlines_in_values=True, ignore_empty_lines=len(names) > 1
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
                    with _parsing(file, raw):
                        batch = next(reader, None)
                    if batch is None:
                        break
                    yield self._values(batch, columns, readers, places) if columns else batch.select([])
            finally:
                reader.close()
                del reader  # a propagating error would keep the lent blocks
            raw.check()
            raw.check_quotes()

    def _values(
        self, batch: pa.RecordBatch, columns: Sequence[str], readers: Mapping[int, ColumnReader], places: Sequence[int]
    ) -> pa.RecordBatch:
        """Convert a batch of texts to values, in the order of the columns."""
        arrays = []
        for column, name, place in zip(batch.columns, columns, places, strict=True):
            reader = readers.get(place)
            try:
                arrays.append(column if reader is None or reader.is_native else reader.read(column))
            except pa.ArrowInvalid:
                raise _unfit(name, is_date=bool(reader and reader.form)) from None
        return pa.RecordBatch.from_arrays(arrays, list(columns))

    def _names(self, file: Path) -> list[str]:
        """Names of the columns in a file."""
        with self._bytes(file) as raw:
            return raw.names

    @contextlib.contextmanager
    def _bytes(self, file: Path) -> Iterator[CheckedBytes]:
        """Content of the file after its header, decompressed."""
        with reading(file.name), contextlib.ExitStack() as stack:
            plain: BinaryIO = stack.enter_context(file.open("rb") if self.spool is None else self.spool.open())
            raw, description = stack.enter_context(open_unpacked(plain, file.name)), self.description
            yield stack.enter_context(
                CheckedBytes(raw, file.name, description.delimiter, has_header=description.header is not False)
            )


@contextlib.contextmanager
def _parsing(file: Path, raw: CheckedBytes) -> Iterator[None]:
    """Raise the parser's error without the text that it quotes."""
    try:
        yield
    except pa.ArrowInvalid as error:
        message = str(error)
    else:
        return
    raw.check()
    if shape := re.search(r"Expected (\d+) columns, got (\d+)", message):
        raise SourceError(
            f"{file.name} has a row of {shape[2]} fields where its header has {shape[1]}; mend it, remove lines above "
            "the header, or quote the fields that hold commas or line breaks"
        )
    column = re.search(r"In CSV column #(\d+)", message)
    name = raw.names[int(column[1])] if column else None
    if name is not None and "UTF8" in message:
        raise ColumnError(f"column {name!r} holds text that is not valid UTF-8; convert the file to UTF-8 first", name)
    if name is not None:
        raise _unfit(name)
    if "straddl" in message:
        raise SourceError(
            f"{file.name} has a row of more than {BLOCK_BYTES >> 20} MiB, or a quote that is never closed"
        )
    raise SourceError(f"{file.name} cannot be read as CSV: it is damaged or not supported")


def is_text_file(name: str) -> bool:
    """Return whether a file of this name is read as CSV."""
    return name.lower().endswith((*CSV_SUFFIXES, *TEXT_SUFFIXES))


def _unfit(name: str, *, is_date: bool = False) -> ColumnError:
    """Error for a column with fields that are not numbers, or not dates."""
    kind, way = ("dates", "its format under [types]") if is_date else ("numbers", "its signs (decimal, thousands)")
    return ColumnError(
        f"column {name!r} must be {kind}, because of its bins, its type or the fit, and some fields are not: correct "
        f"them, name marks of missing values (missing) or {way} in the policy, or leave the column "
        "out of bins and types",
        name,
    )
