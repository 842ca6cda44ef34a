"""The first pass over a table in files: count, and fit a sanitizer on the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sanitize.errors import ColumnError, InvalidParameter
from sanitize.parquet._order import OrderAudit

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize._files.source import Source
    from sanitize._release.layout import Layout
    from sanitize._release.release import Release
    from sanitize.joint import ContingencyTable
    from sanitize.parquet._second_pass import Rows
    from sanitize.transformers import Sanitizer

    Counting = Callable[[Source, Layout, int, OrderAudit | None], tuple[ContingencyTable, dict[str, int]]]


def numeric(sanitizer: Sanitizer) -> tuple[str, ...]:
    """Columns with bins."""
    return tuple(sanitizer.bins) if isinstance(sanitizer.bins, Mapping) else ()


def fit(
    source: Source, sanitizer: Sanitizer, batch_rows: int, rows: Rows, counting: Counting | None = None
) -> tuple[Release, ContingencyTable]:
    """Counting pass (by an engine's own way of counting, if given), and the sanitizer fitted on it."""
    if sanitizer.keep_sensitive:
        raise InvalidParameter("keep_sensitive=True cannot be released to a file; drop it")
    bins = sanitizer.bins
    if isinstance(bins, (int, np.integer)) or any(isinstance(b, (int, np.integer)) for b in (bins or {}).values()):
        raise InvalidParameter("quantile bins need the whole column in memory: declare edges to release a file")
    # A repeated name keeps its place, so that positions count as in the file; asking for it by name is refused.
    names = source.schema.names
    first = {name: j for j, name in reversed(list(enumerate(names)))}
    fields = [
        field if first[field.name] == j else field.with_name(f"{field.name} (column {j})")
        for j, field in enumerate(source.schema)
    ]
    table: list[ContingencyTable] = []
    order: list[OrderAudit] = []

    def count(layout: Layout) -> tuple[ContingencyTable, dict[str, int]]:
        # Where the public columns are their own sensitive ones, their order is what is released.
        if rows == "keep" and layout.sensitive != layout.public:
            order.append(OrderAudit.of(layout.sensitive, source.n_rows))
        counted, clipped = (counting or count_rows)(source, layout, batch_rows, order[0] if order else None)
        table.append(counted)
        return counted, clipped

    try:
        sanitizer._fit_counted(pa.schema(fields).empty_table(), count)
    except ColumnError as error:
        if error.column is None or error.column in names:
            raise
        raise source.absent(error.column) from None
    if order:
        sanitizer.report_ = order[0].checked(sanitizer.report_, sanitizer._release.recipe.budget)
    return sanitizer._release, table[0]


def count_rows(
    source: Source, layout: Layout, batch_rows: int, order: OrderAudit | None
) -> tuple[ContingencyTable, dict[str, int]]:
    """Contingency table of all files, and how many values were clipped a column."""
    names = list(dict.fromkeys((*layout.sensitive, *layout.public)))
    source.check(names)
    counts = layout.empty_table()
    clipped: Counter[str] = Counter()
    for file in source.files:
        for batch in source.batches(file, names, batch_rows):
            columns = layout.columns(batch)
            counts.count(columns)
            if order is not None:
                order.count(columns, len(batch[names[0]]))
            clipped.update(columns.clipped)
    source.unchanged()
    return counts, dict(clipped)
