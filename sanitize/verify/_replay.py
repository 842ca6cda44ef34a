"""A release again: its channel read from the receipt and measured on the source, or designed from it, and its rows."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sanitize._files.loads import KeptRows, n_workers
from sanitize._files.open import Target, open_source
from sanitize._files.outputs import outputs, temporary_place
from sanitize._files.sealed_text import digest_of
from sanitize._files.source import BATCH_ROWS
from sanitize._release.designer import RecipeDesigner, check_designer, refuse_noisy
from sanitize._release.first_pass import FirstPass
from sanitize._tables.columns import as_arrow
from sanitize.channel import Channel
from sanitize.parquet import SecondPass
from sanitize.policy import Policy, designer_of
from sanitize.saved import SavedRelease, digest_of_source
from sanitize.verify._verification import Check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize._files.open import SourceLike
    from sanitize._files.source import Source
    from sanitize._release.designer import Designer, Prepared
    from sanitize._release.first_pass import RowOrder
    from sanitize.joint import ContingencyTable
    from sanitize.report import LeakageReport
    from sanitize.saved import Receipt


def designed(source: SourceLike, sanitizer: Designer | Policy, rows: RowOrder) -> tuple[Designer, ContingencyTable]:
    """Design the release again, from the counts of its source, which are returned."""
    again = _copy_for(source, sanitizer)
    with open_source(source, again.numbers) as table:
        recipe, first = again.recipe(), FirstPass(table, BATCH_ROWS, workers=n_workers(None))
        fitted, counts = recipe.fit(recipe.for_files(is_priced=False), first, rows)
        fitted.kept_by(again)
    pa.default_memory_pool().release_unused()  # Arrow keeps what reading took
    return again, counts


def drawn_again(
    source: SourceLike,
    released: Source,
    sanitizer: Designer | Policy | SavedRelease,
    receipt: Receipt,
    rows: RowOrder,
    others: Sequence[Receipt] = (),
) -> tuple[LeakageReport | None, list[Check]]:
    """Draw a release again by the channel and the key of its receipt, and compare the bytes.

    Neither is trusted: the channel is measured on the source against the budget, by code that knows no design; trees
    are grown, models fitted, and labels worded by the code that made the release. The report is that of the channel on
    the source, where its secrets are known.
    """
    again = sanitizer if isinstance(sanitizer, SavedRelease) else _copy_for(source, sanitizer)
    path = released.root
    with tempfile.TemporaryDirectory(dir=temporary_place()) as folder, open_source(source, again.numbers) as table:
        checks = [_receipt_check(receipt, table, rows, others, sanitizer)]
        if isinstance(again, SavedRelease):
            prepared, kept = _prepared(again, table, rows, receipt)
            appended = prepared.report
            report, standing = appended.held_out, "over its budget on the source"
            if appended.ok:
                no_secrets = "the source has no secrets to measure it on"
                standing = no_secrets if report is None else "within its budget on the source"
            check = Check("design", appended.ok, f"{appended.saved.mechanism}, as it was saved; {standing}")
        else:
            prepared, kept = _prepared(again, table, rows, receipt, receipt.channel)
            report, check = again.report_, design_check(again)
        checks.append(check)
        with outputs() as made:
            place = Target(Path(folder) / path.name, as_folder=path.is_dir())
            passed = SecondPass(table, prepared.release, prepared.words, BATCH_ROWS, n_workers(None), kept)
            passed.write(made, place, rows, prepared.expected, prepared.footer)
        if digest_of(place.path) == digest_of(path):
            detail = f"all {table.n_rows} drawn again by the key of the receipt, every byte as it is released"
            return report, [*checks, Check.passed("rows", detail)]
        with open_source(place.path) as drawn:
            return report, [*checks, *_differences(drawn, released, receipt)]


def _copy_for(source: SourceLike, sanitizer: Designer | Policy) -> Designer:
    """What designs again: of a policy, after a look at the columns it names."""
    if isinstance(sanitizer, Policy):
        with open_source(source) as table:
            sanitizer.check(table.schema.names)
        again = designer_of(sanitizer)
    else:
        check_designer(sanitizer, "a release is designed again by a policy or an estimator")
        again = RecipeDesigner(copy.deepcopy(sanitizer.recipe()))
    refuse_noisy(
        again,
        "what verify says of a release would tell of them, and a design again would have other noise; keep the report "
        "with the digest of the released file",
    )
    return again


def _prepared(
    again: Designer | SavedRelease, table: Source, rows: RowOrder, receipt: Receipt, channel: Channel | None = None
) -> tuple[Prepared[Any], KeptRows]:
    kept = KeptRows() if rows == "keep" else KeptRows(0)
    first = FirstPass(table, BATCH_ROWS, workers=n_workers(None), kept=kept)
    given = {} if channel is None else {"channel": channel}
    return again.prepare(first, rows, key=receipt.key.key, **given), kept


def _receipt_check(
    receipt: Receipt, table: Source, rows: RowOrder, others: Sequence[Receipt], sanitizer: object
) -> Check:
    """Whether a receipt is of this source and order, its key of no other release, and its release in the ledger."""
    book = None
    if isinstance(sanitizer, Policy) and sanitizer.ledger is not None:
        from sanitize.ledger import Ledger

        book = Ledger(sanitizer.ledger)
    faults = [
        "" if receipt.source == digest_of_source(table) else "it is of another source, or the source was changed",
        "" if receipt.rows == rows else f"it is of rows={receipt.rows!r}",
        "its key is that of another release" if any(receipt.key.key == other.key.key for other in others) else "",
        "" if book is None or book.has_receipt(receipt.digest) else "the ledger of the policy has no release of it",
    ]
    fault = "; ".join(filter(None, faults))
    good = ["of this source", f"of no other of {len(others)}" if others else "", "in the ledger" if book else ""]
    return Check("receipt", not fault, fault or ", ".join(filter(None, good)))


def _differences(drawn: Source, released: Source, receipt: Receipt) -> list[Check]:
    """In what a release is not the one that its key draws; only another form may be another version's."""
    other = receipt.other_versions
    if not drawn.schema.equals(released.schema):
        fault = "other columns or types than the release has"
    elif drawn.n_rows != released.n_rows:
        fault = f"{released.n_rows} rows, and the release has {drawn.n_rows}"
    else:
        names = [name for name in drawn.schema.names if not _column(drawn, name).equals(_column(released, name))]
        fault = f"column {', '.join(map(repr, names))} is not what the key draws" if names else ""
    if fault:
        hint = f" (made with {other})" if other else ""
        return [Check.failed("rows", f"{fault}{hint}")]
    rows = Check.passed("rows", f"all {drawn.n_rows} drawn again by the key of the receipt")
    detail = "the rows stand in other bytes than this library writes, which may carry what no row holds"
    if other:
        detail += f"; it was made with {other}: write it again with those versions, or release anew"
    return [rows, Check.failed("form", detail)]


def _column(source: Source, name: str) -> pa.ChunkedArray:
    """A column without dictionaries."""
    chunks = [as_arrow(batch[name], name) for file in source.files for batch in source.batches(file, [name])]
    plain = [chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk for chunk in chunks]
    return pa.chunked_array(plain, source.schema.field(name).type)


def design_check(again: Designer) -> Check:
    """What stands behind the channel that the rows are compared with."""
    mechanism = again.report_.facts.mechanism
    if again.fitted_release().spec.given is not None:
        return Check.passed("design", f"{mechanism}, as it was given, within its budget on the source")
    cut = "; its time limit may have ended the release elsewhere, which a receipt settles" if _limits(again) else ""
    return Check.passed("design", f"{mechanism}, designed again from the source{cut}")


def _limits(sanitizer: Designer) -> list[float]:
    """Time limits of a sanitizer and its parts."""
    recipe = sanitizer.recipe()
    limits = (getattr(one, "time_limit", None) for one in (recipe, *(part for _, part in getattr(recipe, "parts", ()))))
    return [limit for limit in limits if limit is not None]
