"""Verification of a released file against its original table and policy.

The release is designed again from its source. If a time limit may have cut the design off, its channel is read from the
receipt and measured on the source instead. With a receipt, the release is also drawn again.
"""

from __future__ import annotations

import contextlib
import copy
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sanitize._util.checks import check_number
from sanitize._util.outputs import outputs, temporary_place
from sanitize._util.sealed_text import path_digest
from sanitize._util.system import n_workers
from sanitize._util.tolerances import FALSE_ALARM
from sanitize.auditing.verify._canonical import form_checks, write_canonical
from sanitize.auditing.verify._papers import check_papers
from sanitize.auditing.verify._printed import column_types, parquet_type, release_batches
from sanitize.auditing.verify._rows import check_rows
from sanitize.auditing.verify._verification import Check, Verification
from sanitize.engines.parquet import SecondPass
from sanitize.errors import BudgetExceeded, InvalidChannel, InvalidParameter, NothingToProtect, RowOrderLeak
from sanitize.policy import Policy, designer_of
from sanitize.release.designer import RecipeDesigner, check_designer, refuse_noisy, release_footer
from sanitize.release.first_pass import TableCounter, check_row_order
from sanitize.release.fit import FitOptions
from sanitize.release.saved import Receipt, SavedRelease, digest_of_source
from sanitize.tables.columns import as_arrow
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.open import Target, attach_description, describe_release, open_source, open_target

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from sanitize.release.designer import Designer, Prepared
    from sanitize.release.first_pass import RowOrder
    from sanitize.release.release import FittedRelease
    from sanitize.report import LeakageReport
    from sanitize.tables.files.description import TableDescription
    from sanitize.tables.files.open import Among, SourceLike
    from sanitize.tables.files.source import Source

    File = str | os.PathLike[str]


def redraw(
    source: SourceLike,
    released: Source,
    sanitizer: Designer | Policy | SavedRelease,
    receipt: Receipt,
    rows: RowOrder,
    other_receipts: Sequence[Receipt] = (),
) -> tuple[LeakageReport | None, list[Check]]:
    """Draw a release again from the channel and key of its receipt, and compare the bytes.

    The receipt is not trusted: the channel is measured on the source against the budget, by code that does not depend
    on the design; certified classes are designed again by the code that made the release. The returned report is that
    of the channel on the source, if the source has the sensitive columns.
    """
    designer = sanitizer if isinstance(sanitizer, SavedRelease) else _copy_for(source, sanitizer)
    path = released.root
    with tempfile.TemporaryDirectory(dir=temporary_place()) as folder, open_source(source, designer.numbers) as table:
        checks = [_receipt_check(receipt, table, rows, other_receipts, sanitizer)]
        first = TableCounter(table, workers=n_workers(None), keeps=rows == "keep")
        prepared: Prepared[Any]
        if isinstance(designer, SavedRelease):
            prepared = designer.prepare(first, rows, key=receipt.key.key)
            appended = prepared.report
            report = appended.held_out
            standing = f"{'within' if appended.ok else 'over'} its budget on the source"
            if appended.ok and report is None:
                standing = "the raw table has no sensitive columns to measure it on"
            check = Check("design", appended.ok, f"{appended.saved.mechanism}, as it was saved; {standing}")
        else:
            channel, classes = receipt.channel, receipt.classes
            prepared = designer.prepare(first, rows, key=receipt.key.key, channel=channel, classes=classes)
            report, check = designer.report_, design_check(designer)
        checks.append(check)
        with outputs() as out:
            place = Target(Path(folder) / path.name, as_folder=path.is_dir())
            SecondPass(first, prepared).write(out, place, rows)
        same = f"all {table.n_rows} drawn again by the key of the receipt"
        if path_digest(place.path) == path_digest(path):
            return report, [*checks, Check.success("rows", f"{same}, every byte as it is released")]
        with open_source(describe_release(place.path)) as drawn:
            fault = _difference(drawn, released)
        versions = receipt.other_versions
        if fault:
            return report, [*checks, Check.failure("rows", f"{fault} (made with {versions})" if versions else fault)]
        form = "the bytes differ from those that this library writes for these rows, and may contain something else"
        if versions:
            form += f"; it was made with {versions}: write it again with those versions, or release anew"
        return report, [*checks, Check.success("rows", same), Check.failure("form", form)]


def _copy_for(source: SourceLike, sanitizer: Designer | Policy) -> Designer:
    """Return a designer that repeats the design of a policy or an estimator; a policy's columns are checked first."""
    if isinstance(sanitizer, Policy):
        with open_source(source) as table:
            sanitizer.check(table.schema.names)
        designer = designer_of(sanitizer)
    else:
        check_designer(sanitizer, "verify needs a policy or an estimator to design the release again")
        designer = RecipeDesigner(copy.deepcopy(sanitizer.recipe()))
    refuse_noisy(
        designer,
        "the output of verify would reveal something about them, and a new design would have other noise; keep the "
        "report with the digest of the released file",
    )
    return designer


def _receipt_check(
    receipt: Receipt, table: Source, rows: RowOrder, other_receipts: Sequence[Receipt], sanitizer: object
) -> Check:
    """Check that a receipt fits this table and row order, shares no key with another release, and is in the ledger."""
    book = None
    if isinstance(sanitizer, Policy) and sanitizer.ledger is not None:
        from sanitize.over_time import Ledger

        book = Ledger(sanitizer.ledger)
    other_keys = [earlier.key.key for earlier in other_receipts]
    faults = [
        "" if receipt.source == digest_of_source(table) else "it belongs to another source, or the source was changed",
        "" if receipt.rows == rows else f"it belongs to a release with rows={receipt.rows!r}",
        "its key is that of another release" if receipt.key.key in other_keys else "",
        ""
        if book is None or book.has_receipt(receipt.digest)
        else "the ledger of the policy does not list its release",
    ]
    fault = "; ".join(filter(None, faults))
    good = [
        "of this source",
        f"of no other of {len(other_receipts)}" if other_receipts else "",
        "in the ledger" if book else "",
    ]
    return Check("receipt", not fault, fault or ", ".join(filter(None, good)))


def _difference(drawn: Source, released: Source) -> str:
    """Return the first difference between the rows of a file and the drawn rows, in words; empty if they are equal."""
    if not drawn.schema.equals(released.schema):
        return "other columns or types than the release has"
    if drawn.known_rows != released.known_rows:  # both are unknown for CSV files, which would have to be read
        return f"{released.known_rows} rows, and the release has {drawn.known_rows}"
    pending = [pa.table({}), pa.table({})]
    walks = [_walk(drawn), _walk(released)]
    while True:
        pending = [rows if len(rows) else next(walk, rows) for rows, walk in zip(pending, walks, strict=True)]
        n_rows = min(map(len, pending))
        if not n_rows:
            word = "fewer" if len(pending[0]) else "more"
            return f"{word} rows than the release has" if any(map(len, pending)) else ""
        left, right = (rows[:n_rows] for rows in pending)
        if changed := [name for name in left.column_names if not left[name].equals(right[name])]:
            return f"column {', '.join(map(repr, changed))} is not what the key draws"
        pending = [rows[n_rows:] for rows in pending]


def _walk(table: Source) -> Iterator[pa.Table]:
    """Yield all rows of a table in batches, without dictionary encoding."""
    for file in table.files:
        for batch in table.batches(file, table.schema.names):
            columns = {name: as_arrow(column, name) for name, column in batch.items()}
            coded = {name for name, column in columns.items() if pa.types.is_dictionary(column.type)}
            rows = pa.table(columns | {name: columns[name].dictionary_decode() for name in coded})
            if len(rows):
                yield rows


def design_check(designer: Designer) -> Check:
    """Return a passed check that states which mechanism designed the channel, and from what."""
    mechanism = designer.report_.facts.mechanism
    if designer.bare_release().is_fixed:
        return Check.success("design", f"{mechanism}, as it was given, within its budget on the source")
    recipe, cut = designer.recipe(), ""
    recipes = (recipe, *(part for _, part in getattr(recipe, "parts", ())))
    if any(getattr(part, "time_limit", None) is not None for part in recipes):
        cut = "; its time limit may have ended the release elsewhere, which a receipt settles"
    return Check.success("design", f"{mechanism}, designed again from the source{cut}")


def verify_file(
    released: File,
    source: SourceLike,
    sanitizer: Designer | Policy | SavedRelease,
    *,
    receipt: File | None = None,
    rows: RowOrder | None = None,
    against: Sequence[File] = (),
    statement: File | None = None,
    rewrite: File | Among | None = None,
    false_alarm: float = FALSE_ALARM,
    description: TableDescription | None = None,
) -> Verification:
    """Check a released file or folder, Parquet or CSV, against its original table and policy.

    With a receipt, the release is proved: its channel is measured on the source against the budget (certified classes
    are designed again), the rows are drawn again, and every byte is compared. This proves that the rows were drawn with
    this key, but not how the key was chosen.

    Without a receipt, exact checks cover the columns, the types, the summary, that the file contains nothing but its
    rows, and that the channel can produce these rows. A test of counts and a test of order together fail an honest
    release with probability at most ``false_alarm``, but rows that were not drawn can pass them.

    Parameters
    ----------
    released : path
        File or folder that `release_file` wrote.
    source : path, table or stream
        Unchanged source of the release, in any form that `release_file` takes.
    sanitizer : Sanitizer, Policy or SavedRelease
        Sanitizer, policy or saved release that made the release. A sanitizer is copied, not fitted in place; a saved
        release needs a receipt.
    receipt : path, optional
        Receipt that the release wrote; by default the file that the policy names.
    rows : {"shuffle", "keep"}, optional
        Order in which rows were released; by default that of the policy, or "shuffle" for a sanitizer.
    against : sequence of path
        Receipts of other releases, whose keys must differ from this one's.
    statement : path, optional
        In-toto statement that ``sanitize report --dossier`` wrote: the files it names must be unchanged, and the report
        and the metadata must be true of this release.
    rewrite : path, optional
        File or folder to which the rows of the release are written in canonical form, without anything else that the
        release contains.
    false_alarm : float
    description : TableDescription, optional
        Description of how to read the source, as for `release_file`; by default that of the policy.

    Returns
    -------
    Verification

    Raises
    ------
    SourceError, ColumnError
        If a file cannot be read or does not fit the policy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> sz.datasets.load_titanic().to_parquet(folder / "raw.parquet")
    >>> sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
    >>> (folder / "private").mkdir()
    >>> files, receipt = (folder / "released.parquet", folder / "raw.parquet"), folder / "private" / "receipt"
    >>> report = sz.release_file(files[1], files[0], sanitizer, receipt=receipt)
    >>> found = sz.verify_file(*files, sanitizer, receipt=receipt)
    >>> found.ok, [check.name for check in found.checks]
    (True, ['receipt', 'design', 'rows'])
    >>> [check.name for check in sz.verify_file(*files, sanitizer).checks]
    ['design', 'columns', 'rows', 'summary', 'form', 'possible', 'counts', 'order']
    """
    check_number("false_alarm", false_alarm, "lie between 0 and 1", lambda value: 0 < value < 1)
    policy = sanitizer if isinstance(sanitizer, Policy) else None
    if description is None and policy is not None:
        description = policy.description
    typed_source = attach_description(source, description)
    kept_order: RowOrder = (policy.rows if policy else "shuffle") if rows is None else rows
    check_row_order(kept_order)
    if isinstance(sanitizer, SavedRelease) and (receipt is None or statement is not None):
        raise InvalidParameter(
            "a saved release is verified by its receipt and has no statement: give receipt=, and leave statement= out"
        )
    receipt = policy.receipt if receipt is None and policy is not None else receipt
    if against and receipt is None:
        raise InvalidParameter("against= compares other receipts with the receipt of this release; give receipt= too")
    with contextlib.ExitStack() as stack:
        written = stack.enter_context(open_source(describe_release(released)))
        table = stack.enter_context(open_source(typed_source))
        if rewrite is not None:
            place, opened = open_target(rewrite, released, force=False)
            assert isinstance(place, Target)
            write_canonical(written, place.path, stack.enter_context(opened))
        chance = false_alarm if receipt is None else 0.0
        try:
            if receipt is None:
                assert not isinstance(sanitizer, SavedRelease)
                report: LeakageReport | None
                report, checks = _check_without_receipt(written, table, sanitizer, kept_order, false_alarm)
            else:
                other_receipts = [Receipt.read(path) for path in against]
                report, checks = redraw(table, written, sanitizer, Receipt.read(receipt), kept_order, other_receipts)
        except (BudgetExceeded, InvalidChannel, NothingToProtect, RowOrderLeak) as error:
            checks = [Check.failure("design", str(error))]
            words = _words(error.report) if isinstance(error, BudgetExceeded) else {}
        else:
            words = {} if report is None else _words(report)
            if statement is not None and report is not None:
                checks += check_papers(Path(statement), written.root, report, policy)
        return Verification(tuple(checks), chance, **words, digest=path_digest(written.root))


def _check_without_receipt(
    written: Source, source: SourceLike, sanitizer: Designer | Policy, rows: RowOrder, false_alarm: float
) -> tuple[LeakageReport, list[Check]]:
    """Return the report of the repeated design, and the checks that need no receipt."""
    designer = _copy_for(source, sanitizer)
    with open_source(source, designer.numbers) as table:
        first = TableCounter(table, workers=n_workers(None))
        release = designer.recipe().fit(first, FitOptions(rows, is_priced=False))
        designer._remember(release)
        pa.default_memory_pool().release_unused()  # returns memory that Arrow keeps after reading
        n_rows = f"{written.n_rows} released, {table.n_rows} in the source"
        checks = [
            design_check(designer),
            _columns(table, written, release),
            Check("rows", ok=table.n_rows == written.n_rows, detail=n_rows),
            *form_checks(written, json.loads(release_footer(designer.report_, rows))),
        ]
        if release.classes is not None:
            columns = [column for column in release.classes.columns if column.name not in release.layout.keep]
            with open_source(describe_release(written.root), designer.numbers) as typed:
                pairs = ((batch, column) for batch in release_batches(table, typed, release) for column in columns)
                strange = [c.name for batch, c in pairs if not c.may_print(as_arrow(batch[c.name], c.name))]
            # The frequencies of a model's rows are not known, so only their values are checked.
            fault = f"column {strange[0]!r} contains values that its model cannot write" if strange else ""
            good = "only values that the model can write; rows of a model cannot be traced"
            checks.append(Check("support", not fault, fault or good))
        elif all(check.ok for check in checks if check.name in ("columns", "rows")):
            assert release.counts is not None
            checks += check_rows(table, written, release, release.counts.exact, rows, false_alarm)
    return designer.report_, checks


def _words(report: LeakageReport) -> dict[str, Any]:
    """Return the claims of a report, in the words of its headline."""
    claim = report._document("internal", n_symbols=0, is_drawn=False)["verdict"]
    return {name: claim[name] for name in ("state", "headline", "sentence")}


def _columns(table: Source, written: Source, release: FittedRelease) -> Check:
    """Check the names and types of the released columns."""
    wanted = column_types(table.schema, release)
    is_csv = isinstance(written, CsvSource)
    found_types = {field.name: wanted.get(field.name) if is_csv else field.type for field in written.schema}
    if len(found_types) < len(written.schema.names):
        return Check.failure("columns", "two released columns have the same name")
    differences = (
        (set(found_types) - set(wanted), "should not be there"),
        (set(wanted) - set(found_types), "should be"),
    )
    if faults := [f"{', '.join(map(repr, sorted(names)))} {what}" for names, what in differences if names]:
        return Check.failure("columns", "; ".join(faults))
    for name, dtype in wanted.items():
        if not is_csv and found_types[name] != parquet_type(dtype):
            return Check.failure(
                "columns", f"{name!r} has the type {found_types[name]}, and {dtype} was to be released"
            )
    return Check.success("columns", f"{', '.join(map(repr, wanted))} and no other")
