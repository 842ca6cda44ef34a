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

import pyarrow as pa
import pyarrow.csv

from sanitize.errors import ColumnError, SourceError, in_words
from sanitize.tables.files.csv_stream import CheckedBytes, lacks_header
from sanitize.tables.files.description import DATES, NUMBERS, TableDescription, is_dated
from sanitize.tables.files.inference import ColumnReader, TextSurvey, choose_signs, date_order
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
from sanitize.tables.files.spelling import ISO, Spelling
from sanitize.tables.files.streams import Spool
from sanitize.tables.files.unpack import open_unpacked

# Endings of the compressions that `open_unpacked` knows.
_PACKED = ("", ".gz", ".bz2", ".xz", ".zip")
# Only these files of a folder are read, because it may contain other text files.
CSV_SUFFIXES = tuple(kind + packed for kind in (".csv", ".tsv") for packed in _PACKED)
# A single file of these names is read too, because its owner has named it.
TEXT_SUFFIXES = (*(kind + packed for kind in (".txt", ".dat") for packed in _PACKED), ".zip")
# Rows are parsed in blocks of this size, into which a row must fit: few blocks per file, and several in memory.
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
        header: list[str] = []
        for file in files:
            with table._bytes(file) as raw:
                header = header or raw.names
                check_same_columns(file, raw.names, files[0], header)
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
                f"the first line of {self.root.name} looks like a row, not like column names. Set header, under "
                "[source] in the policy or with --header, to true if the line names the columns, or to false if it is "
                "a row (the columns are then named column_1, column_2, ...)"
            )
        header = not is_row if header is None else header
        return replace(self, description=self.description.with_changes(delimiter=delimiter, header=header))

    def _apply_description(self) -> CsvSource:
        """Return the same source with columns read as the description says."""
        types = self.description.types
        if absent := [name for name in types if name not in self.schema.names]:
            raise self.absent(absent)
        numbers = [name for name, kind in types.items() if kind in NUMBERS]
        dates = {name: None if kind in DATES else kind for name, kind in types.items() if is_dated(kind)}
        table = self._with_numbers_read(numbers)._with_dates_read(dates)
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
        required = [name for name in texts if name in numbers.columns]
        dated = dict.fromkeys(name for name in texts if name in numbers.dates)
        # Releases of tuples read ISO 8601 dates as text; releases of whole tables read them as dates.
        table = self._with_numbers_read(required)._with_dates_read(dated, where_iso=numbers.is_inferred is not None)
        if numbers.is_inferred is None:
            return table
        free = [name for name in texts if name not in (*required, *dated, *self.description.types)]
        return table.reading(table.infer_types([name for name in free if numbers.is_inferred(name)])[1])

    def infer_types(self, columns: Collection[str]) -> tuple[TableDescription, dict[str, ColumnReader]]:
        """Infer the decimal sign and missing marks of some text columns, and readers of their numbers and dates."""
        surveys, marks = self._surveys(dict.fromkeys(columns)), set(self.description.missing or ())
        signs, order = choose_signs(surveys.values(), self.description), date_order(surveys.values(), self.description)
        readers, number_signs = {}, {}
        for name, survey in surveys.items():
            reader = survey.as_date(order)
            if reader is None and survey.may_be(signs):
                reader, number_signs = survey.as_number(signs), {"decimal": signs[0], "thousands": signs[1]}
            if reader is not None:
                readers[name] = reader
                marks |= survey.marks
        return self.description.with_changes(missing=tuple(sorted(marks)), **number_signs), readers

    def _surveys(self, forms: Mapping[str, str | None]) -> dict[str, TextSurvey]:
        """Survey the texts of some columns; ``forms`` gives a column one more date format, or None."""
        surveys = {name: TextSurvey(self.description.missing) for name in forms}
        for name, form in forms.items():
            surveys[name].dates.update({} if form is None else {form: None})
        for batch in self._batches(list(forms)) if forms else ():
            for name, survey in surveys.items():
                survey.add(batch[name].dictionary)
        return surveys

    def _with_numbers_read(self, columns: Collection[str]) -> CsvSource:
        """Return the same source with some columns read as numbers; refuse columns with other texts."""
        surveys = self._surveys(dict.fromkeys(columns))
        signs = choose_signs(surveys.values(), self.description)
        if unfit := [name for name, survey in surveys.items() if signs not in survey.signs]:
            raise _unfit(unfit[0])
        return self.reading({name: survey.as_number(signs) for name, survey in surveys.items()})

    def _with_dates_read(self, forms: Mapping[str, str | None], *, where_iso: bool | None = None) -> CsvSource:
        """Return the same source with some columns read as dates, in a given format or in any format.

        All columns must be dates, unless ``where_iso`` says whether to read those in the form of ISO 8601: then columns
        that are not dates stay text.
        """
        surveys, readers = self._surveys(forms), {}
        order = date_order(surveys.values(), self.description)
        for name, form in forms.items():
            reader = surveys[name].as_date(order, form)
            if reader is None and where_iso is None:
                raise _unfit(name, is_date=True)
            if reader is not None and (where_iso is not False or reader.form != ISO):
                readers[name] = reader
        return self.reading(readers)

    def reading(self, readers: Mapping[str, ColumnReader]) -> CsvSource:
        """Return the same source with readers for more columns."""
        if not readers:
            return self  # with its number of rows, if it is known
        types = {name: reader.dtype for name, reader in readers.items()}
        fields = [pa.field(field.name, types.get(field.name, field.type)) for field in self.schema]
        return replace(self, schema=pa.schema(fields), readers={**self.readers, **readers})

    @cached_property  # type: ignore[misc]
    def n_rows(self) -> int:
        """Number of rows; reads the files to count them."""
        return sum(batch.num_rows for file in self.files for batch in self._file_batches(file, self.schema.names[:1]))

    def absent(self, columns: Sequence[str]) -> ColumnError:
        """Error for missing columns; it lists no names from the file, which may be values of a row."""
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
        self, file: Path, columns: Sequence[str], batch_rows: int = BATCH_ROWS, row_groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        with self._bytes(file) as raw:
            if raw.is_exhausted():
                return
            stored = raw.names  # each file has its own order
            # Whole rows are checked, whatever columns are requested; and one column must be read to count rows.
            first = {name: place for place, name in reversed(list(enumerate(stored)))}
            places = [first[name] for name in columns] or [0]
            names = [f"c{j}" for j in range(len(stored))]
            readers = [self.readers.get(stored[j]) for j in places]
            dictionary = pa.dictionary(pa.int32(), pa.string())
            types = [reader.dtype if reader and reader.is_native else dictionary for reader in readers]
            with _parsing(file, raw):
                reader = pa.csv.open_csv(
                    pa.PythonFile(raw.lend(), mode="r"),
                    read_options=pa.csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES),
                    # With a single field, a blank line is a row with a missing value; otherwise it is no row.
                    parse_options=pa.csv.ParseOptions(
                        delimiter=raw.delimiter[0], newlines_in_values=True, ignore_empty_lines=len(names) > 1
                    ),
                    convert_options=pa.csv.ConvertOptions(
                        include_columns=[f"c{j}" for j in places],
                        column_types={f"c{j}": dtype for j, dtype in zip(places, types, strict=True)},
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
                    yield _read_values(batch, columns, readers) if columns else batch.select([])
            finally:
                reader.close()
                del reader  # a propagating error would keep the lent blocks
            raw.check()
            raw.check_quotes()

    @contextlib.contextmanager
    def _bytes(self, file: Path) -> Iterator[CheckedBytes]:
        """Yield the decompressed content of a file, without its header."""
        delimiter, has_header = self.description.delimiter, self.description.header is not False
        with (
            reading(file.name),
            file.open("rb") if self.spool is None else self.spool.open() as plain,
            open_unpacked(plain, file.name) as raw,
            CheckedBytes(raw, file.name, delimiter, has_header=has_header) as checked,
        ):
            yield checked


def _read_values(batch: pa.RecordBatch, columns: Sequence[str], readers: list[ColumnReader | None]) -> pa.RecordBatch:
    """Convert a batch of texts to values."""
    arrays = []
    for column, name, reader in zip(batch.columns, columns, readers, strict=True):
        try:
            arrays.append(column if reader is None or reader.is_native else reader.read(column))
        except pa.ArrowInvalid:
            raise _unfit(name, is_date=bool(reader and reader.form)) from None
    return pa.RecordBatch.from_arrays(arrays, list(columns))


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
            f"{file.name} has a row of {shape[2]} fields, but its header has {shape[1]}; correct the row, remove "
            "lines above the header, or quote the fields that contain commas or line breaks"
        )
    if column := re.search(r"In CSV column #(\d+)", message):
        name = raw.names[int(column[1])]
        if "UTF8" not in message:
            raise _unfit(name)
        raise ColumnError.fault(name, "has text that is not valid UTF-8; convert the file to UTF-8 first")
    if "straddl" in message:
        raise SourceError(
            f"{file.name} has a row of more than {BLOCK_BYTES >> 20} MiB, or an open double quote; shorten the row, or "
            "close the quote"
        )
    raise SourceError(f"{file.name} cannot be read as CSV: the file is damaged or not CSV; write it as CSV again")


def is_text_file(name: str) -> bool:
    """Return whether a file of this name is read as CSV."""
    return name.lower().endswith((*CSV_SUFFIXES, *TEXT_SUFFIXES))


def _unfit(name: str, *, is_date: bool = False) -> ColumnError:
    """Error for a column with fields that are not numbers, or not dates."""
    kind, way = ("dates", "its format under [types]") if is_date else ("numbers", "its signs (decimal, thousands)")
    return ColumnError.fault(
        name,
        f"must contain only {kind}, because of its bins, its type or the fit, but some fields are not. "
        f"Correct these fields, set {way} or the marks of missing values (missing) in the policy, or leave "
        "the column out of bins and types",
    )
