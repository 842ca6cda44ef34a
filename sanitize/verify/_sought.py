"""Which values of a source its release is searched for: a bounded number of every column that can be read."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sanitize._files.csv import CsvSource
from sanitize._files.parquet import ParquetSource
from sanitize._tables.columns import check_type
from sanitize.errors import ColumnError, SourceError
from sanitize.verify._leftovers import MOST_VALUES, Spellings, distinct, long_enough
from sanitize.verify._stored import StoredValues

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sanitize._files.source import Source
    from sanitize._tables.columns import ArrowColumn

# Values of columns that are held while their spellings are gathered.
_VALUES_HELD = 1 << 22
# Rows whose values are spelt at a time: not many more than are wanted of a column.
_SPELT_ROWS = 1 << 18


def searchable(table: Source, name: str) -> bool:
    """Whether the values of a column can be read one by one."""
    try:
        check_type(table.schema.field(name).type, name)
    except ColumnError:
        return False
    return True


def spelt(table: Source, columns: Sequence[str], unread: list[str]) -> Iterator[tuple[str, Spellings]]:
    """Spellings of the values of columns; a column is read until there are enough, text of a CSV file as bytes.

    Where a Parquet file has a column in dictionaries alone, those are read and not its rows. Columns that are damaged
    in the source are no reason to refuse its release, which has nothing of them: they are searched for as far as they
    can be read, and named in ``unread``.
    """
    table = table.as_bytes() if isinstance(table, CsvSource) else table
    # Text is parsed as a whole, so all its columns are read together; a Parquet file is opened once for a group.
    together = len(columns) if isinstance(table, CsvSource) else _VALUES_HELD // max(min(table.n_rows, MOST_VALUES), 1)
    size = max(together, 1)
    stored = StoredValues(table) if isinstance(table, ParquetSource) else None
    for group in (columns[start : start + size] for start in range(0, len(columns), size)):
        values = {name: _Known() for name in group}
        try:
            _gather(table, values, stored)
        except SourceError:
            for name in group:  # one of them spoils what is read together
                try:
                    _gather(table, {name: values[name]}, stored)
                except SourceError:
                    unread.append(name)
        for name in group:
            yield name, Spellings.of_values(values.pop(name).values)


@dataclass
class _Known:
    """Distinct values of a column, as far as it was read."""

    values: pa.Array = field(default_factory=lambda: pa.nulls(0))

    @property
    def is_enough(self) -> bool:
        """Whether no more values are wanted."""
        return len(self.values) >= MOST_VALUES

    def add(self, column: ArrowColumn) -> None:
        """Take in the values of more rows."""
        found = distinct(long_enough(column))
        if pa.types.is_null(self.values.type):
            self.values = found
        elif len(found):
            self.values = pc.unique(pa.concat_arrays([self.values, found]))


def _gather(table: Source, values: dict[str, _Known], stored: StoredValues | None) -> None:
    """Add the values of columns to what is known of each."""
    for file in table.files:
        in_rows = []
        for name, known in values.items():
            dictionaries = None if stored is None else stored.of(file, name)
            if dictionaries is None:
                in_rows.append(name)
                continue
            try:
                for dictionary in dictionaries:
                    known.add(dictionary)
                    if known.is_enough:
                        break
            except SourceError:  # damaged, or written in a way that the reader of rows alone knows
                in_rows.append(name)
        with contextlib.closing(table.batches(file, in_rows, _SPELT_ROWS)) as batches:
            while wanted := [name for name in in_rows if not values[name].is_enough]:
                batch = next(batches, None)
                if batch is None:
                    break
                for name in wanted:
                    values[name].add(batch[name])
