"""Two bounded-memory passes over Parquet or CSV: count, then rewrite."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from sanitize._csv_target import formula_note
from sanitize._files import opened, place_of
from sanitize._measurement import Measure
from sanitize._order import OrderAudit
from sanitize._parquet_passes import Rows, SecondPass
from sanitize._parquet_target import summary
from sanitize._random import random_words
from sanitize._release import Layout
from sanitize._source import BATCH_ROWS
from sanitize._target import Target
from sanitize.errors import ColumnError, InvalidParameter, RowOrderLeak
from sanitize.ledger import Ledger
from sanitize.report import LeakageReport

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from sanitize._files import From, To
    from sanitize._release import Release
    from sanitize._source import Source
    from sanitize.joint import ContingencyTable
    from sanitize.transformers import Sanitizer

    Counting = Callable[[Source, Layout, int, OrderAudit | None], tuple[ContingencyTable, dict[str, int]]]


def privatize_parquet(
    source: From,
    target: To,
    sanitizer: Sanitizer,
    *,
    rows: Rows = "shuffle",
    key: bytes | None = None,
    force: bool = False,
    batch_rows: int = BATCH_ROWS,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> LeakageReport:
    """Release a Parquet or CSV file or data set: count, design, check, rewrite.

    The sanitizer is fitted on the source. Nothing is written unless the designed channel is within its budget,
    and the target appears whole or not at all. The output holds the released columns and nothing else of the
    source: no other column, metadata, index, unused dictionary value or statistics of raw values.

    Names ending in ``.csv`` or ``.csv.gz`` are read as CSV: UTF-8 with a header line, commas and double quotes.
    Every column is text as it stands (01234 and NA stay what they are) but those with bins, which are numbers. An
    empty field is missing, ``""`` is the empty text.

    Parameters
    ----------
    source : path or binary stream
        A file, or a folder whose files have one schema: all ``*.parquet`` under it, or all ``*.csv`` where there
        are none. Folders named ``key=value`` make a column ``key``, a number where every value is whole. A stream
        (``sys.stdin.buffer``) holds CSV; it is copied to a temporary file that has no name.
    target : path or binary stream
        A file (Parquet, or CSV for a name ending in ``.csv``), or for a folder source a folder of neutrally named
        Parquet parts (a name ending in ``.parquet`` or ``.csv`` makes one file of it). A stream gets CSV, when all
        of it is there. Texts that start with ``=``, ``+``, ``-`` or ``@`` are written to CSV as they are, and the
        report warns of spreadsheets.
    sanitizer : Sanitizer
        An estimator of `sanitize.transformers`; it is fitted in place.
    rows : {"shuffle", "keep"}
        Row order can tell S (a file sorted by it), so rows are shuffled; ``keep`` keeps their order.
    key : bytes, optional
        256-bit key of the noise. The same key and source give the same draws in any batch size; use a key for one
        source only, because rows of two sources would share their noise. By default a fresh key from the operating
        system, which is then forgotten.
    force : bool
        Replace a target that exists.
    batch_rows : int
        Rows held in memory at a time; the output does not depend on it.
    ledger : Ledger or path, optional
        Book of the releases of this table: the release is refused where it exceeds the ledger's budget together with
        all that are recorded there, and recorded otherwise.

    Returns
    -------
    LeakageReport

    Raises
    ------
    BudgetExceeded
        If the channel exceeds the budget, or the ledger's; nothing is written.
    SourceError, TargetError, ColumnError
        If the input cannot be read, the output not written, or a column does not fit.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> sz.datasets.load_titanic().to_parquet(folder / "raw.parquet")
    >>> sanitizer = SubsetMerging(sz.LiftBudget(1.0, 0.7), sensitive="survived", public=["class", "sex"])
    >>> sz.privatize_parquet(folder / "raw.parquet", folder / "released.parquet", sanitizer)
    LeakageReport(subset merging, within budget)
    """
    if rows not in ("shuffle", "keep"):
        raise InvalidParameter(f"rows must be 'shuffle' or 'keep', got {rows!r}")
    if batch_rows < 1:
        raise InvalidParameter(f"batch_rows must be at least 1, got {batch_rows}")
    place = place_of(target, source, force=force)
    with opened(source, _numeric(sanitizer)) as table:
        release, counts = _fit(table, sanitizer, batch_rows, rows)
        words = random_words(sanitizer.random_state if key is None else key)
        if key is not None:
            sanitizer.report_ = sanitizer.report_.with_key()
        if not isinstance(place, Target) or place.is_csv:
            sanitizer.report_ = sanitizer.report_.with_notes(formula_note(release.design.channel.outputs))
        passed = SecondPass(table, release, counts.counts.sum(axis=0), words, batch_rows)
        with _recorded(ledger, table, sanitizer, key, place):
            passed.write(place, rows, summary(sanitizer.report_, rows))
    return sanitizer.report_


def _recorded(
    ledger: Ledger | str | os.PathLike[str] | None,
    table: Source,
    sanitizer: Sanitizer,
    key: bytes | None,
    place: Target | BinaryIO,
) -> contextlib.AbstractContextManager[object]:
    """The release in its ledger, if there is one, while it is being written."""
    if ledger is None:
        return contextlib.nullcontext()
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    return book.spending(table, sanitizer, key=key, target=place.path if isinstance(place, Target) else None)


def plan_parquet(
    source: From,
    sanitizer: Sanitizer,
    *,
    rows: Rows = "shuffle",
    batch_rows: int = BATCH_ROWS,
) -> LeakageReport:
    """Design and measure what `privatize_parquet` would write, and write nothing.

    Parameters
    ----------
    source : path
    sanitizer : Sanitizer
        Fitted in place.
    rows : {"shuffle", "keep"}
        ``keep`` also measures what the order of the rows tells.
    batch_rows : int

    Returns
    -------
    LeakageReport

    Raises
    ------
    BudgetExceeded
        If the channel exceeds the budget.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.transformers import Watchdog
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "raw.parquet"
    >>> sz.datasets.load_titanic().to_parquet(file)
    >>> plan_parquet(file, Watchdog(1.0, sensitive="survived", public=["class", "sex"]))
    LeakageReport(watchdog, within budget)
    """
    with opened(source, _numeric(sanitizer)) as table:
        _fit(table, sanitizer, batch_rows, rows)
    return sanitizer.report_


def audit_parquet(
    source: From,
    sensitive: Sequence[str],
    public: Sequence[str],
    *,
    batch_rows: int = BATCH_ROWS,
) -> LeakageReport:
    """What the public columns of a Parquet file or data set tell about the sensitive ones as they are.

    Parameters
    ----------
    source : path
    sensitive, public : sequence of str
    batch_rows : int

    Returns
    -------
    LeakageReport
        Without a budget: it only measures.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "raw.parquet"
    >>> sz.datasets.load_titanic().to_parquet(file)
    >>> round(audit_parquet(file, ["survived"], ["class", "sex"]).summary["max_log_lift"], 3)
    1.102
    """
    with opened(source) as table:
        layout = Layout(tuple(sensitive), tuple(public))
        counts = _count(table, layout, batch_rows, None)[0]
    return layout.audit(counts)


def _numeric(sanitizer: Sanitizer) -> tuple[str, ...]:
    """Columns with bins."""
    return tuple(sanitizer.bins) if isinstance(sanitizer.bins, Mapping) else ()


def _fit(
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
        counted, clipped = (counting or _count)(source, layout, batch_rows, order[0] if order else None)
        table.append(counted)
        return counted, clipped

    try:
        sanitizer._fit_counted(pa.schema(fields).empty_table(), count)
    except ColumnError as error:
        if error.column is None or error.column in names:
            raise
        raise source.absent(error.column) from None
    if order:
        _check_order(sanitizer, order[0])
    return sanitizer._release, table[0]


def _check_order(sanitizer: Sanitizer, order: OrderAudit) -> None:
    """Refuse to keep an order that tells S; mention one that tells a little."""
    verdict = order.verdict(sanitizer._release.recipe.budget)
    if verdict.too_much:
        raise RowOrderLeak(verdict.information)
    told = Measure(
        "position_information",
        "what row order tells, I(S;block)",
        "nats",
        "estimate",
        None,
        verdict.information,
    )
    report = sanitizer.report_
    if verdict.tells:
        note = "the rows keep their order, which depends on the sensitive columns (within the budget)"
        facts = replace(report.facts, warnings=(*report.facts.warnings, note))
        report = replace(report, facts=facts)
    sanitizer.report_ = replace(report, measures=(*report.measures, told))


def _count(
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
