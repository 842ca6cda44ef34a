"""Which values of a source its release is searched for: a bounded number of every column that can be read."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from sanitize._files.csv import CsvSource
from sanitize._tables.columns import check_type
from sanitize.errors import ColumnError, SourceError
from sanitize.verify._leftovers import MOST_VALUES, Spellings, spellings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sanitize._files.source import Source

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

    Columns that are damaged in the source are no reason to refuse its release, which has nothing of them: they are
    searched for as far as they can be read, and named in ``unread``.
    """
    table = table.as_bytes() if isinstance(table, CsvSource) else table
    # Text is parsed as a whole, so all its columns are read together; a Parquet file is opened once for a group.
    together = len(columns) if isinstance(table, CsvSource) else _VALUES_HELD // max(min(table.n_rows, MOST_VALUES), 1)
    size = max(together, 1)
    for group in (columns[start : start + size] for start in range(0, len(columns), size)):
        values: dict[str, set[bytes]] = {name: set() for name in group}
        try:
            _gather(table, values)
        except SourceError:
            for name in group:  # one of them spoils what is read together
                try:
                    _gather(table, {name: values[name]})
                except SourceError:
                    unread.append(name)
        for name in group:
            yield name, Spellings.of(values.pop(name))


def _gather(table: Source, values: dict[str, set[bytes]]) -> None:
    """Add the spellings of columns to what is known of each."""
    names = list(values)
    for file in table.files:
        with contextlib.closing(table.batches(file, names, _SPELT_ROWS)) as batches:
            while wanted := [name for name in names if len(values[name]) < MOST_VALUES]:
                batch = next(batches, None)
                if batch is None:
                    break
                for name in wanted:
                    values[name] |= spellings(batch[name])
