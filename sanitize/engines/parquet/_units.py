"""Releases of files with several rows per unit: the table is read into memory, and a ledger records the releases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.sampling.noise import NoiseKey
from sanitize._util.system import n_workers
from sanitize.engines.parquet._second_pass import Block, SecondPass, block_sizes
from sanitize.release.designer import Prepared
from sanitize.release.first_pass import TableCounter, check_row_order
from sanitize.report import release_note
from sanitize.tables.files.open import Target, attach_description, open_source, open_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.over_time import UnitLedger, UnitReport
    from sanitize.release.designer import Designer
    from sanitize.release.first_pass import RowOrder
    from sanitize.tables.files.description import TableDescription
    from sanitize.tables.files.open import SourceLike, TargetLike
    from sanitize.tables.files.source import Source


def release_units(
    source: SourceLike,
    target: TargetLike,
    sanitizer: Designer,
    ledger: UnitLedger,
    *,
    rows: RowOrder = "shuffle",
    force: bool = False,
    workers: int | None = None,
    description: TableDescription | None = None,
) -> UnitReport:
    """Release a Parquet or CSV file with several rows per unit, and record the release of each unit in a ledger.

    The sanitizer is fitted on the source; see `sanitize.over_time.UnitLedger` for the release of its symbols. The
    columns are held in memory. The target becomes visible when it is complete; after a failure nothing is recorded.

    Parameters
    ----------
    source : path, table or stream
        See `release_file`; the table must have the ledger's unit column.
    target : path or binary stream
    sanitizer : Sanitizer
    ledger : UnitLedger
    rows : {"shuffle", "keep"}
    force : bool
        Whether to replace an existing target.
    workers : int, optional
    description : TableDescription, optional
        See `release_file`.

    Returns
    -------
    UnitReport
        Report on this release together with all recorded releases.

    Raises
    ------
    BudgetExceeded
        If the channel exceeds the budget of the sanitizer.
    LedgerError
        If a unit has several sensitive values, or one that no unit of the first release had.
    SourceError, TargetError, ColumnError
        If the input cannot be read, the output not written, or a column does not fit.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.over_time import UnitLedger
    >>> from sanitize.engines.parquet import release_units
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> sz.datasets.load_titanic().reset_index(names="person").to_parquet(folder / "raw.parquet")
    >>> budget = sz.LiftBudget(lower=1.0, upper=0.7)
    >>> units = UnitLedger(folder / "people.units", budget, unit="person")
    >>> sanitizer = sz.SubsetMerging(budget, sensitive="survived", public=["class", "sex"])
    >>> report = release_units(folder / "raw.parquet", folder / "released.parquet", sanitizer, units)
    >>> report.ok, report.n_units
    (True, 2201)
    """
    check_row_order(rows)
    threads = n_workers(workers)
    place, opened = open_target(target, source, force=force)
    with opened as outputs, open_source(attach_description(source, description), sanitizer.numbers) as table:
        columns = _columns(table, sanitizer, ledger, rows, threads)
        written = place.path if isinstance(place, Target) else None
        spending = ledger.spending(columns, sanitizer, target=written)
        release, words, codes = outputs.during.enter_context(spending)
        unread = np.zeros(release.channel.n_inputs, np.int64)
        prepared = Prepared(release, unread, words, None, _footer(sanitizer, ledger))
        _DrawnPass(TableCounter(table, workers=threads), prepared, codes[codes >= 0]).write(outputs, place, rows)
        return ledger.report()


def plan_units(
    source: SourceLike,
    sanitizer: Designer,
    ledger: UnitLedger,
    *,
    rows: RowOrder = "shuffle",
    workers: int | None = None,
    description: TableDescription | None = None,
) -> UnitReport:
    """Measure the leakage of `release_units` and all recorded releases together, without writing or recording it.

    Parameters
    ----------
    source : path, table or stream
        See `release_file`.
    sanitizer : Sanitizer
        Estimator, which is fitted in place.
    ledger : UnitLedger
    rows : {"shuffle", "keep"}
    workers : int, optional
    description : TableDescription, optional
        See `release_file`.

    Returns
    -------
    UnitReport

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.over_time import UnitLedger
    >>> from sanitize.engines.parquet import plan_units
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> sz.datasets.load_titanic().reset_index(names="person").to_parquet(folder / "raw.parquet")
    >>> units = UnitLedger(folder / "people.units", 0.5, unit="person")
    >>> budget = sz.LiftBudget.symmetric(0.5)
    >>> plan_units(folder / "raw.parquet", sz.SubsetMerging(budget, sensitive="survived", public="class"), units).ok
    True
    >>> len(units)
    0
    """
    check_row_order(rows)
    with open_source(attach_description(source, description), sanitizer.numbers) as table:
        return ledger.check(_columns(table, sanitizer, ledger, rows, n_workers(workers)), sanitizer)


def _columns(table: Source, sanitizer: Designer, ledger: UnitLedger, rows: RowOrder, workers: int) -> dict[str, Any]:
    """Fit the sanitizer on the table, and return the columns that a release of units needs."""
    table.check([ledger.unit])
    first = TableCounter(table, workers=workers)
    sanitizer.draft(first, rows)
    layout = sanitizer.bare_release().layout
    return dict(first.sample((*layout.read, *layout.sensitive, ledger.unit), table.n_rows))


def _footer(sanitizer: Designer, ledger: UnitLedger) -> bytes:
    """Footer of a released file, which states whom the guarantee covers; figures are in the ledger's report only."""
    note = release_note(sanitizer.report_)
    text = {name: note[name] for name in ("sanitize", "format")} | {"mechanism": f"{note['mechanism']}, by unit"}
    whom = "the units of its ledger"
    return json.dumps({**text, "holds_for": whom if ledger.confidence is None else f"the source of {whom}"}).encode()


@dataclass(eq=False)
class _DrawnPass(SecondPass):
    """Second pass over rows with symbols that were drawn before."""

    codes: NDArray[np.int32]

    def parts(self, rows: RowOrder) -> Iterator[Iterator[Block]]:
        """Blocks of each part of the output, with one part per input file."""
        codes, n_files = self.codes, len(self.first.source.files)
        if rows == "shuffle":
            codes = codes[NoiseKey.from_system().generator().permutation(len(codes))]
        ends = np.cumsum(list(block_sizes(len(codes), n_files)))
        yield from self._even_parts(iter(np.split(codes, ends[:-1])), len(codes), self.prepared.words)
