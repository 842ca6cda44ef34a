"""Releases of Parquet or CSV files in bounded memory: a first pass counts, a second pass draws and writes."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._util.checks import whole_number
from sanitize._util.sampling.noise import hidden
from sanitize._util.system import n_workers
from sanitize.engines.parquet._second_pass import SecondPass
from sanitize.engines.parquet._writers import formula_note
from sanitize.errors import InvalidParameter
from sanitize.release.designer import Designer, Releases, Report, refuse_noisy
from sanitize.release.first_pass import TableCounter, check_row_order
from sanitize.release.layout import Layout
from sanitize.tables.files.description import TableDescription as TableDescription
from sanitize.tables.files.open import Target, attach_description, open_source, open_target
from sanitize.tables.files.source import BATCH_ROWS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from sanitize.over_time import Ledger
    from sanitize.release.first_pass import RowOrder
    from sanitize.report import LeakageReport
    from sanitize.tables.files.open import SourceLike, TargetLike
    from sanitize.tables.files.source import Source


def release_file(
    source: SourceLike,
    target: TargetLike,
    sanitizer: Releases[Report],
    *,
    rows: RowOrder | None = None,
    key: bytes | None = None,
    force: bool = False,
    batch_rows: int = BATCH_ROWS,
    workers: int | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    description: TableDescription | None = None,
    receipt: str | os.PathLike[str] | None = None,
    allow_useless: bool = True,
) -> Report:
    """Release a Parquet or CSV file, data set or stream: count, design, check, draw, write.

    An estimator is fitted on the source. Nothing is written unless the designed channel is within its budget, and the
    target only becomes visible when it is complete. The output contains only the released columns: no other column,
    metadata, index, unused dictionary value or statistics of raw values.

    Files with names in ``.csv``, ``.tsv``, ``.txt`` or ``.dat``, optionally compressed (``.gz``, ``.bz2``, ``.xz``,
    ``.zip``), are read as CSV: UTF-8 with double quotes. Columns with bins are numbers or dates. In releases of whole
    tables, so are columns in which every value is a number or a date. A `TableDescription` can set the type of any
    column. Other columns are unchanged text, such as 01234 and NA. An empty field is missing; ``""`` is the empty text.

    Parameters
    ----------
    source : path, table or stream
        A file, or a folder whose files have the same schema: all ``*.parquet`` under it, or all ``*.csv`` if there
        are no Parquet files. Folders named ``key=value`` make a column ``key``, which is numeric if every value is a
        whole number. A table is a DataFrame or a pyarrow Table. A stream is a reader of Arrow record batches, an
        iterator of batches or tables, an object with ``__arrow_c_stream__``, a lazy frame of polars, a data set of
        pyarrow, or bytes of CSV (``sys.stdin.buffer``); it is copied once to a temporary file without a name.
    target : path or binary stream
        A file: Parquet, or CSV if the name ends in ``.csv``. If the source is a folder, the target is a folder of
        neutrally named Parquet parts, unless its name ends in ``.parquet`` or ``.csv``. A stream gets CSV, when the
        release is complete. Texts that start with ``=``, ``+``, ``-`` or ``@`` are written to CSV unchanged, and the
        report warns of spreadsheets.
    sanitizer : Sanitizer, Policy or SavedRelease
        An estimator of `sanitize.transformers`, which is fitted in place; a policy, which must list every column of the
        source, and which sets all arguments not given here (rows, workers, ledger, description, receipt); or a saved
        release, which fits nothing and refuses values that did not occur at fit.
    rows : {"shuffle", "keep"}, optional
        By default rows are shuffled because their order can reveal S (as in a file sorted by S), and the released rows
        depend only on the counts of the source. ``keep`` keeps the order, and reads the rows twice.
    key : bytes, optional
        256-bit key of the noise. The same key and source give the same draws for any batch size. Use a key for one
        source only, because rows of two sources would share their noise (a saved release draws other noise for every
        file). The default is a fresh key from the operating system, which is not stored.
    force : bool
        Whether to replace an existing target.
    batch_rows : int
        Rows in memory per worker; the output does not depend on this number.
    workers : int, optional
        Threads that read, count and draw, each one row group at a time; all cores by default. Memory grows with their
        number, and the output does not depend on it.
    ledger : Ledger or path, optional
        Ledger of the releases of this table: the release is refused if all recorded releases and this one exceed the
        ledger's budget; otherwise it is recorded.
    description : TableDescription, optional
        Format of the source and types of its columns, by default from the policy or inferred. The released CSV always
        has commas between fields, plain numbers, and dates in ISO 8601.
    receipt : path, optional
        File for the receipt that `verify_file` needs, outside the folder of the target and readable by its owner only.
        It contains a key that is derived for this release and source only; anyone who has it can remove the noise. Not
        possible for releases that cannot be drawn again: from a stream, a seed, a RandomState, or ``secret_dp``.
    allow_useless : bool, optional
        Whether to write a release although each of its columns keeps less than 5 % of its information. The command line
        allows this only with an option.

    Returns
    -------
    LeakageReport, or AppendedReport for a saved release

    Raises
    ------
    BudgetExceeded
        If the channel exceeds the budget, or the ledger's; nothing is written.
    UselessRelease
        If every column would keep almost nothing, unless this is allowed; nothing is written.
    UnknownSymbol
        If a row has a public value that a saved release does not know; nothing is written.
    SourceError, TargetError, ColumnError
        If the input cannot be read, the output not written, or a column does not fit.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> sz.datasets.load_titanic().to_parquet(folder / "raw.parquet")
    >>> sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
    >>> sz.release_file(folder / "raw.parquet", folder / "released.parquet", sanitizer)
    LeakageReport(subset merging, holds for these rows only)
    """
    key = hidden(key)
    settings = _Settings.from_arguments(sanitizer, rows, workers, description)
    releaser, rows, threads = settings.sanitizer, settings.rows, settings.threads
    ledger, receipt = settings.policy_default("ledger", ledger), settings.policy_default("receipt", receipt)
    whole_number("batch_rows", batch_rows, 1)
    place, opened = open_target(target, source, force=force)
    spending = None if ledger is None else _spending(ledger, releaser)
    with opened as outputs, settings.open_table(source) as table:
        written = place.path if isinstance(place, Target) else None
        if spending is not None and table.weights is not None:
            raise InvalidParameter("a ledger cannot count rows with weights; leave out weights or the ledger")
        begun = None
        if receipt is not None:  # refuse a receipt that cannot be written, or whose release cannot be drawn again
            from sanitize.release.saved import Receipt, check_place

            outputs.home(Path(receipt))
            check_place(Path(receipt), written)
            begun = Receipt.begin(table, releaser, rows, key)
            key = begun.key.key
        first = TableCounter(table, batch_rows, workers=threads, keeps=rows == "keep")
        prepared = releaser.prepare(first, rows, key=key)
        if not allow_useless and isinstance(releaser, Designer):
            prepared.report.require_use()
        receipt_text = None if begun is None else begun.to_json(prepared.release)
        digest = None if receipt_text is None else hashlib.sha256(receipt_text.encode()).hexdigest()
        together = None
        if spending is not None:
            recording = spending(table, key=key, target=written, receipt=digest)
            together = outputs.during.enter_context(recording)
        SecondPass(first, prepared).write(outputs, place, rows)
        if receipt is not None and receipt_text is not None:
            outputs.text(Path(receipt), receipt_text, replaces=force)
    report: Any = prepared.report
    if together is not None:
        report = report.with_ledger_count(together)
    if isinstance(place, Target) and not place.is_csv:
        return report
    return report.with_notes(formula_note(prepared.release.printed_levels))


def _spending(ledger: Ledger | str | os.PathLike[str], sanitizer: object) -> Callable[..., Any]:
    """Return a context that records a release in its ledgers, if there are any, while it is written."""
    if not isinstance(sanitizer, Designer):
        raise InvalidParameter(
            "a saved release lacks the joint distribution that a ledger needs; fit a sanitizer, or leave the ledger out"
        )
    from sanitize.over_time import as_ledger

    return partial(as_ledger(ledger).spending, sanitizer=sanitizer)


@dataclass(frozen=True)
class _Settings:
    """Designer and settings of a call, from its arguments or from its policy.

    A policy also sets the format of its source and lists the columns, which the designer made from it does not.
    """

    sanitizer: Any
    policy: Any
    rows: RowOrder
    threads: int
    description: TableDescription | None
    is_listed: bool

    @classmethod
    def from_arguments(
        cls, sanitizer: Any, rows: RowOrder | None, workers: int | None, description: TableDescription | None
    ) -> Self:
        """Check the arguments and return the settings; refuse arguments in the wrong order."""
        if not hasattr(sanitizer, "_releaser"):
            raise InvalidParameter(
                "the last argument must be an estimator, a policy or a saved release, as in release_file(source, "
                f"target, sanitizer); got {type(sanitizer).__name__}"
            )
        releaser = sanitizer._releaser()
        policy, is_listed = getattr(releaser, "policy", None), releaser is not sanitizer
        if policy is not None:
            if policy.unit is not None:
                raise InvalidParameter(
                    "the rows of this policy belong to units, such as people: release them "
                    "with `sanitize release -p`, or with "
                    f"sanitize.{'people.UnitRelease' if policy.tables else 'engines.parquet.release_units'}"
                )
            rows, workers = rows or policy.rows, workers or policy.workers
            description = description or (policy.description if is_listed else None)
        rows = rows or "shuffle"
        check_row_order(rows)
        return cls(releaser, policy, rows, n_workers(workers), description, is_listed)

    def policy_default(self, name: str, value: Any) -> Any:
        """Return a path from the arguments or the policy, but no ledger of a policy with differential privacy."""
        if value is not None or self.policy is None or (name == "ledger" and self.policy.is_noisy):
            return value
        return getattr(self.policy, name)

    @contextlib.contextmanager
    def open_table(self, source: SourceLike) -> Iterator[Source]:
        """Open the table and check that the policy lists all of its columns."""
        with open_source(attach_description(source, self.description), self.sanitizer.numbers) as table:
            if self.is_listed:
                self.policy.check(table.schema.names)
            yield table


def plan_file(
    source: SourceLike,
    sanitizer: Releases[LeakageReport],
    *,
    rows: RowOrder | None = None,
    batch_rows: int = BATCH_ROWS,
    workers: int | None = None,
    description: TableDescription | None = None,
) -> LeakageReport:
    """Design and measure the release that `release_file` would write, without writing it.

    Parameters
    ----------
    source : path, table or stream
        See `release_file`.
    sanitizer : Sanitizer or Policy
        Sanitizer to design with; an estimator is fitted in place.
    rows : {"shuffle", "keep"}, optional
        Order of the released rows; ``keep`` also measures what this order reveals.
    batch_rows : int
    workers : int, optional
        Number of threads; all cores by default.
    description : TableDescription, optional
        See `release_file`.

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
    >>> plan_file(file, Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"]))
    LeakageReport(watchdog, holds for these rows only)
    """
    settings = _Settings.from_arguments(sanitizer, rows, workers, description)
    refuse_noisy(settings.sanitizer, "a plan would be another fit; release, and read the report, or plan without it")
    with settings.open_table(source) as table:
        first = TableCounter(table, batch_rows, workers=settings.threads)
        report: LeakageReport = settings.sanitizer.prepare(first, settings.rows).report
        return report


def audit_file(
    source: SourceLike,
    sensitive: Sequence[str],
    public: Sequence[str],
    *,
    batch_rows: int = BATCH_ROWS,
    workers: int | None = None,
    description: TableDescription | None = None,
) -> LeakageReport:
    """Measure how much the unchanged public columns of a Parquet file or data set reveal about the sensitive ones.

    Parameters
    ----------
    source : path, table or stream
        See `release_file`.
    sensitive, public : sequence of str
    batch_rows : int
    workers : int, optional
        Number of threads; all cores by default.
    description : TableDescription, optional
        See `release_file`.

    Returns
    -------
    LeakageReport
        Report without a budget, which only measures.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "raw.parquet"
    >>> sz.datasets.load_titanic().to_parquet(file)
    >>> round(audit_file(file, ["survived"], ["class", "sex"]).summary["max_log_lift"], 3)
    1.102
    """
    with open_source(attach_description(source, description)) as table:
        layout = Layout(tuple(sensitive), tuple(public))
        counted = TableCounter(table, batch_rows, workers=n_workers(workers)).count(layout, "shuffle")
    return layout.audit(counted.table)
