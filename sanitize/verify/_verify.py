"""Compare a released file with its source and its policy: what it holds, what was drawn, and what was left behind."""

from __future__ import annotations

import filecmp
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from sanitize._files.csv import CsvSource
from sanitize._files.digest import digest_of
from sanitize._files.kept import KeptRows
from sanitize._files.open import delimited, open_source
from sanitize._files.parquet import read_footer
from sanitize._release.prepared import footer_of
from sanitize._release.row_order import check_row_order
from sanitize._tables.columns import as_arrow
from sanitize.errors import (
    BudgetExceeded,
    InvalidChannel,
    InvalidParameter,
    RowOrderLeak,
    VerificationFailed,
)
from sanitize.policy import Policy
from sanitize.printing import RowModel
from sanitize.saved import Receipt
from sanitize.verify._again import channel_of, design_check, designed, drawn_again, with_way_out
from sanitize.verify._contents import Findings, summary_fault
from sanitize.verify._leftovers import Scanner, spellings
from sanitize.verify._observed import Observed
from sanitize.verify._printed import printed_types, stored_type
from sanitize.verify._printing import printed_tally
from sanitize.verify._row_checks import Check, RowChecks
from sanitize.verify._saved import read_verification
from sanitize.verify._sought import searchable, spelt
from sanitize.verify._stated import check_papers
from sanitize.verify._twice import MOST_BYTES

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from sanitize._files.open import SourceLike
    from sanitize._files.source import Source
    from sanitize._release.designers.designer import Designer
    from sanitize._release.release import Release
    from sanitize._release.row_order import RowOrder
    from sanitize.report import LeakageReport, State
    from sanitize.verify._again import ChannelLike

    File = str | os.PathLike[str]

FALSE_ALARM = 1e-6
SCHEMA, VERSION = "sanitize/verification", 1


@dataclass(frozen=True)
class Verification:
    """What the verification of a released file found. Frozen.

    Attributes
    ----------
    checks : tuple of Check
        Each with ``name``, ``ok`` and ``detail``; no detail quotes a value of the source.
    false_alarm : float
        Largest chance that an honest release fails a statistical check.
    state, headline, sentence : str or None
        What the report of the release, designed again, claims; None where the order of the rows refused it.
    digest : str or None
        Of the released file, ``sha256:`` and what ``sha256sum`` prints, so that nobody takes it for another file's.

    Examples
    --------
    >>> found = Verification((Check.passed("rows", "4 released, 4 in the source"), Check.failed("order", "sorted")))
    >>> found.ok
    False
    >>> print(found.to_text())
    FAILED: do not hand it out (false alarms: at most 1e-06)
    ok    rows   4 released, 4 in the source
    FAIL  order  sorted
    """

    checks: tuple[Check, ...]
    false_alarm: float = FALSE_ALARM
    state: State | None = None
    headline: str | None = None
    sentence: str | None = None
    digest: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return all(check.ok for check in self.checks)

    def require(self) -> Verification:
        """Return the verification itself if it is ok.

        Raises
        ------
        VerificationFailed
        """
        if not self.ok:
            raise VerificationFailed(self)
        return self

    def to_text(self) -> str:
        """One line a check."""
        width = max(len(check.name) for check in self.checks)
        lines = [f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<{width}}  {check.detail}" for check in self.checks]
        verdict = "VERIFIED" if self.ok else "FAILED: do not hand it out"
        claim = [f"The release: {self.headline}. {self.sentence}"] if self.headline else []
        how = f"false alarms: at most {self.false_alarm:g}" if self.false_alarm else "drawn again by its receipt"
        return "\n".join([f"{verdict} ({how})", *claim, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        checks = [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in self.checks]
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "ok": self.ok,
            "false_alarm": self.false_alarm,
            "state": self.state,
            "headline": self.headline,
            "sentence": self.sentence,
            "digest": self.digest,
            "checks": checks,
        }

    def to_json(self) -> str:
        """The same as JSON; whatever is not ASCII is escaped."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, saved: Any) -> Verification:
        """Verification from what `to_dict` gave; checked for form, not for truth.

        Raises
        ------
        SourceError
            If it is not a verification, or contradicts itself.
        """
        return cls(**read_verification(saved, SCHEMA, VERSION))

    def __str__(self) -> str:
        return self.to_text()


def verify_parquet(
    released: File,
    source: File,
    sanitizer: Designer | Policy,
    *,
    rows: RowOrder | None = None,
    against: Sequence[tuple[File, File]] = (),
    statement: File | None = None,
    false_alarm: float = FALSE_ALARM,
    delimiter: str | None = None,
    channel: ChannelLike | None = None,
    receipt: File | None = None,
) -> Verification:
    """Check a released file or folder, Parquet or CSV, against its source and the policy it was released under.

    The release is designed again from the source (mechanisms without a time limit are deterministic), so the channel
    is known without trusting the file. Then the file is taken apart to the last byte, and its rows are compared with
    what the channel can print, how often, and in which order. Statistical checks use bounds that hold for any number
    of rows; together they fail an honest release with probability at most ``false_alarm``. The more rows, the
    smaller the faults they find. Of a whole table (`TreeMerging`, `TreeRandomResponse`) the tree is grown again, and
    rows must also have been drawn from the cells that they stand for.

    Files are read batch by batch and kept as counts and a bounded number of codes, so memory does not grow with the
    rows. Noise that repeats itself is looked for among the first 2,097,152 rows.

    Parameters
    ----------
    released : path
        File or folder that `privatize_parquet` wrote.
    source : path
        What it was written from, unchanged.
    sanitizer : Sanitizer or Policy
        What the release was made with; a sanitizer is copied, not fitted in place.
    rows : {"shuffle", "keep"}, optional
        How the rows were released; by default what the policy says, and "shuffle" for a sanitizer.
    against : sequence of (released, source)
        Other releases under the same settings, whose noise must be other noise.
    statement : path, optional
        In-toto statement that ``sanitize report --dossier`` wrote: the files it names must be those beside it, and the
        report and the metadata among them must say of this release what is true.
    false_alarm : float
    delimiter : str, optional
        What stands between the fields of sources in CSV; by default what the policy says, or their headers.
    channel : Channel, SavedRelease or path, optional
        What the rows were released through, for a design that a time limit may have cut off: its ``channel_``, a saved
        release, or a file of either. It is not trusted: it must meet the budget on the source, and print nothing but
        values of the source or labels that it earns.
    receipt : path, optional
        What the release wrote to be drawn again by. It is trusted for its key alone: the release is designed and drawn
        again from the source and the policy, and every byte is compared, so nothing is left to statistics.

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
    >>> report = sz.privatize_parquet(folder / "raw.parquet", folder / "released.parquet", sanitizer)
    >>> found = sz.verify_parquet(folder / "released.parquet", folder / "raw.parquet", sanitizer)
    >>> found.ok, [check.name for check in found.checks][:4]
    (True, ['design', 'columns', 'rows', 'metadata'])
    """
    if not 0 < false_alarm < 1:
        raise InvalidParameter(f"false_alarm must lie between 0 and 1, got {false_alarm}")
    policy = sanitizer if isinstance(sanitizer, Policy) else None
    given = (policy.delimiter if policy else None) if delimiter is None else delimiter
    named = delimited(source, given)
    kept_order: RowOrder = (policy.rows if policy else "shuffle") if rows is None else rows
    check_row_order(kept_order)
    if receipt is not None and (channel is not None or against):
        raise InvalidParameter("a receipt has the channel of its release; leave the channel and other releases out")
    through = None if channel is None else channel_of(channel, sanitizer, against)
    with open_source(released) as written:
        if receipt is not None:
            return _by_receipt(named, written, sanitizer, Receipt.read(receipt), kept_order, statement)
        try:
            again, counted = designed(named, sanitizer, kept_order, through)
        except (BudgetExceeded, RowOrderLeak, InvalidChannel) as error:
            words = _words(error.report) if isinstance(error, BudgetExceeded) else {}
            failed = (Check.failed("design", str(error)),)
            return Verification(failed, false_alarm, **words, digest=digest_of(written.root))
        with open_source(named, again.numbers) as table:
            read = KeptRows(MOST_BYTES)
            checks = [design_check(again, through), *_contents(table, written, again, kept_order, read)]
            if isinstance(again._release.printer, RowModel):
                with open_source(released, again.numbers) as typed:
                    checks.append(_modelled(typed, again._release.printer))
            elif all(check.ok for check in checks if check.name in ("columns", "rows")):
                others = [(other, delimited(raw, given)) for other, raw in against]
                with threadpool_limits(1, "blas"):  # its threads wait for longer than so small products take
                    seen = Observed.read(table, written, again._release, counted, kept_order, read)
                    judged = RowChecks(seen, kept_order, false_alarm)
                    judged.check_support()
                    judged.check_frequencies()
                    judged.check_printing(printed_tally(table, written, again._release))
                    judged.check_leakage()
                    judged.check_noise(getattr(again._release.layout, "groups", ()))
                    judged.check_order()
                    judged.check_reuse(_others(others, written, sanitizer, kept_order))
                checks += judged.checks
            checks = with_way_out(checks, again, through)
    if statement is not None:
        checks += check_papers(Path(statement), written.root, again.report_, policy)
    return Verification(tuple(checks), false_alarm, **_words(again.report_), digest=digest_of(written.root))


def _by_receipt(
    source: SourceLike,
    written: Source,
    sanitizer: Designer | Policy,
    receipt: Receipt,
    rows: RowOrder,
    statement: File | None,
) -> Verification:
    """Whether a release is the very file that the key of its receipt draws."""
    digest = digest_of(written.root)
    try:
        again, checks = drawn_again(source, written, sanitizer, receipt, rows)
    except (BudgetExceeded, RowOrderLeak, InvalidChannel) as error:
        words = _words(error.report) if isinstance(error, BudgetExceeded) else {}
        return Verification((Check.failed("design", str(error)),), 0.0, **words, digest=digest)
    if statement is not None:
        policy = sanitizer if isinstance(sanitizer, Policy) else None
        checks += check_papers(Path(statement), written.root, again.report_, policy)
    return Verification(tuple(checks), 0.0, **_words(again.report_), digest=digest)


def _words(report: LeakageReport) -> dict[str, Any]:
    """What a report claims, as anybody may read it."""
    claim = report._document("public", n_symbols=0)["verdict"]
    return {name: claim[name] for name in ("state", "headline", "sentence")}


def _others(
    pairs: Sequence[tuple[File, SourceLike]], written: Source, sanitizer: Designer | Policy, rows: RowOrder
) -> Iterator[tuple[Observed, bool]]:
    """Other releases, and whether they are byte for byte the one that is verified; open while they are looked at."""
    for released, source in pairs:
        again, counted = designed(source, sanitizer, rows)
        with open_source(released) as other, open_source(source, again.numbers) as table:
            same = len(other.files) == len(written.files) and all(
                filecmp.cmp(a, b, shallow=False) for a, b in zip(other.files, written.files, strict=True)
            )
            yield Observed.read(table, other, again._release, counted, rows), same


def _contents(table: Source, written: Source, again: Designer, rows: RowOrder, kept: KeptRows) -> list[Check]:
    """Whether the files hold the columns and rows of a release, and nothing else; rows that are read are kept."""
    printed = again._release.printed_levels
    expected = json.loads(footer_of(again.report_, rows))
    names = [name for name in dict.fromkeys(table.schema.names) if name not in printed]
    times = Counter(table.schema.names)
    searched = [name for name in names if times[name] == 1 and searchable(table, name)]
    unread: list[str] = []
    legitimate = [*(spelling for level in printed.values() for spelling in sorted(spellings(level)))]
    legitimate += [name.encode() for name in printed] + [json.dumps(expected).encode()]
    n_bytes = 4 * sum(file.stat().st_size for file in written.files)
    scanner = Scanner.of(spelt(table, searched, unread), n_bytes, b"\0".join(legitimate))
    findings = Findings()
    for file in written.files:
        if isinstance(written, CsvSource):
            scanner.scan_file(file)
        else:
            read_footer(file).refuse_bombs(written.schema.names, file)
            findings.inspect(file, scanner, kept)
    fault = summary_fault(findings.summaries, expected)
    leftovers = "; ".join(
        f"{len(found)} values of column {name!r} turn up in its bytes" for name, found in scanner.found.items() if found
    )
    nothing = (
        f"none of {scanner.n_values} values of columns that are not released, of {scanner.least} bytes or more, in "
        f"{scanner.n_bytes} bytes"
    )
    if unread:
        nothing += (
            f"; the values of {', '.join(map(repr, unread[:10]))} in the source cannot be read and were not sought"
        )
    n_rows = f"{written.n_rows} released, {table.n_rows} in the source"
    return [
        _columns(table, written, again._release),
        Check("rows", ok=table.n_rows == written.n_rows, detail=n_rows),
        _judged("metadata", [*findings.metadata, *([fault] if fault else [])], "a summary at most, and it is true"),
        _judged("dictionaries", findings.dictionaries, "every value is some row's"),
        _judged("statistics", findings.statistics, "of released values only"),
        _judged("structure", findings.structure, "every byte belongs to a page or the footer"),
        Check("leftovers", ok=not leftovers, detail=leftovers or nothing),
    ]


def _columns(table: Source, written: Source, release: Release) -> Check:
    """Whether the released columns are those the release prints, with their types."""
    wanted = printed_types(table.schema, release)
    is_csv = isinstance(written, CsvSource)
    found = {field.name: wanted.get(field.name) if is_csv else field.type for field in written.schema}
    if len(found) < len(written.schema.names):
        return Check.failed("columns", "a released column is there twice")
    extra, absent = sorted(set(found) - set(wanted)), sorted(set(wanted) - set(found))
    if extra or absent:
        told = [f"{', '.join(map(repr, extra))} should not be there"] if extra else []
        told += [f"{', '.join(map(repr, absent))} should be"] if absent else []
        return Check.failed("columns", "; ".join(told))
    other = next((name for name in wanted if not is_csv and found[name] != stored_type(wanted[name])), None)
    if other is not None:
        return Check.failed("columns", f"{other!r} has the type {found[other]}, and {wanted[other]} was to be released")
    return Check.passed("columns", f"{', '.join(map(repr, wanted))} and no other")


def _judged(name: str, faults: list[str], good: str) -> Check:
    return Check(name, not faults, "; ".join(dict.fromkeys(faults)) or good)


def _modelled(released: Source, model: RowModel) -> Check:
    """Whether rows that a model prints hold nothing that it cannot print; how often they do cannot be told."""
    faults = [
        column.name
        for column in model.columns
        for file in released.files
        for batch in released.batches(file, [column.name])
        if not column.may_print(as_arrow(batch[column.name], column.name))
    ]
    if faults:
        return Check.failed("support", f"column {faults[0]!r} holds values that its model cannot print")
    return Check.passed("support", "only what the model can print; rows of a model cannot be told from one another")
