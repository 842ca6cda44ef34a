"""Joint leakage of one more release and all recorded releases of the same rows."""

from __future__ import annotations

import hmac
import math
import os
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.core import measures
from sanitize.core.budgets import LDPBudget, LiftBudget
from sanitize.core.channel import Channel, ReducedChannel, Tuples
from sanitize.core.joint import ContingencyTable, JointDistribution
from sanitize.core.repeats import repeated_information, repeats_needed
from sanitize.errors import BudgetExceeded, ColumnError, InvalidParameter, LedgerError, LedgerExceeded
from sanitize.over_time._book import Book, Entry, book_digest
from sanitize.release.recipes.joint_plan import JointPart, side_by_side
from sanitize.report import LEDGER, VERDICT_TOLERANCE, LeakageReport, ReleaseFacts, Section
from sanitize.tables.files.open import open_source
from sanitize.tables.files.source import Numbers, Source
from sanitize.tables.frame import Table

# Information, in nats, that counts as rounding; and the share of its limit that a release without noise may miss by
# rounding.
_NOTHING, _NO_NOISE = 1e-9, 1e-6

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget


def record_entry(book: Book, entry: Entry, rows: Any) -> tuple[Book, LeakageReport]:
    """Return the book with one more entry, and the report on all entries.

    Raises
    ------
    LedgerExceeded
        If the releases together reveal more than the budget.
    LedgerError
        If the rows are not those of the book.
    ColumnError
        If the joint leakage cannot be measured and no theorem bounds it.
    """
    if any(set(old.layout.sensitive) != set(entry.layout.sensitive) for old in book.entries):
        raise LedgerError("the recorded releases protect other sensitive columns; keep one ledger for each set of them")
    runs = [_Run.from_entry(number, item) for number, item in enumerate((*book.entries, entry), 1)]
    digests, counts, last = _count(book, runs, rows)
    book_digests, whole = [old.digest for old in book.entries], None
    if counts is not None:
        columns = [run.column for run in runs]
        whole = book_digest(book, *_pack_counts(counts, columns))
        if book.together is not None:
            book_digests.append(book.together)
            digests.insert(len(book.entries), book_digest(book, *_pack_counts(counts, columns[:-1])))
    if book.n_rows not in (None, last.n) or not all(map(hmac.compare_digest, book_digests, digests)):
        words = "their number or frequencies differ; keep one ledger for each table, and do not change the table"
        raise LedgerError(f"these are not the rows of the recorded releases: {words}")
    n, level = len(runs), 0.0
    report = _measure(counts, runs, n, book.budget, level)
    if report is None and isinstance(book.budget, (LiftBudget, LDPBudget)):
        level = sum(run.level for run in runs if not math.isinf(run.level))
        runs = [run for run in runs if math.isinf(run.level)]
        if level:
            report = _measure(_count(book, runs, rows)[1] if runs else counts, runs, n, book.budget, level)
    if report is None:
        words = "to measure their joint leakage; give bins, or a larger min_count"
        raise ColumnError(f"the {n} releases of these rows have too many combinations of symbols {words}")
    _require(report, book, level)
    report = _with_repeats(report, last.to_joint(), entry.channel)
    recorded = replace(entry, digest=digests[-1])
    return replace(book, n_rows=last.n, entries=(*book.entries, recorded), together=whole), report


@dataclass(frozen=True)
class _Run(JointPart):
    """Entry of a ledger prepared for joint measurement: symbols that its channel does not distinguish are merged.

    Writing a released symbol as a public symbol that determines it reveals neither more nor less than the released
    symbol.
    """

    entry: Entry
    states: NDArray[np.intp]

    @classmethod
    def from_entry(cls, number: int, entry: Entry) -> _Run:
        reduced = ReducedChannel.from_channel(entry.channel)
        return cls(f"release {number}", reduced.stages, entry, reduced.states)

    @cached_property
    def level(self) -> float:
        """Local DP level of X through the channel; inf if it is infinite or unknown."""
        try:
            return measures.ldp_epsilon(self.entry.channel)
        except InvalidParameter:
            return math.inf


@dataclass(frozen=True)
class Tally:
    """Counts of S with the symbols of each release, and counts of S with the symbols of all releases together.

    Attributes
    ----------
    singles : tuple of ContingencyTable
        Counts of S and the input symbol of each release.
    whole : ContingencyTable or None
        Joint counts of S and the inputs of all releases; None if they are too many to count.
    """

    singles: tuple[ContingencyTable, ...]
    whole: ContingencyTable | None

    @classmethod
    def from_rows(cls, entries: Sequence[Entry], rows: Any, first: int = 0) -> Tally:
        """Count the rows of a frame, of files, or of an engine, from a given row of the table on."""
        if isinstance(rows, CountedElsewhere):
            return rows.tally(tuple(entries))
        runs = [_Run.from_entry(number, entry) for number, entry in enumerate(entries, 1)]
        sensitive = entries[0].layout.sensitive

        def empty(entry: Entry, *counted: _Run) -> ContingencyTable:
            orders = {name: order for name, order in entry.layout.orders.items() if name in sensitive}
            return ContingencyTable.empty(sensitive, [run.column for run in counted], orders)

        singles = [empty(run.entry, run) for run in runs]
        whole: ContingencyTable | None = empty(entries[0], *runs)
        layouts = [entry.layout for entry in entries]
        names = dict.fromkeys(name for layout in layouts for name in (*layout.sensitive, *layout.read))
        numbers = Numbers(frozenset[str]().union(*(layout.numeric for layout in layouts)))
        for batch in _batches(rows, list(names), numbers):
            codes = {run.column: run.entry.encode(batch, first) for run in runs}
            first += len(codes[runs[0].column])
            for run, single in zip(runs, singles, strict=True):
                single.count(_with_codes(run, batch, {run.column: codes[run.column]}))
            if whole is not None:
                states = {run.column: run.states[codes[run.column]].astype(np.int32) for run in runs}
                try:
                    whole.count(_with_codes(runs[0], batch, states))
                except ColumnError:
                    whole = None
        return cls(tuple(singles), whole)

    def merge(self, addend: Tally) -> Tally:
        """Return a tally with the counts of both added; the sum is the same for any split of the rows."""
        singles = tuple(left.merge(right) for left, right in zip(self.singles, addend.singles, strict=True))
        try:
            whole = None if self.whole is None or addend.whole is None else self.whole.merge(addend.whole)
        except ColumnError:
            whole = None
        return Tally(singles, whole)


@dataclass(frozen=True)
class CountedElsewhere:
    """Rows of a table that the workers of an engine count.

    Attributes
    ----------
    tally : callable
        Returns the counts of all rows for given releases, as `Tally.from_rows` does.
    """

    tally: Callable[[tuple[Entry, ...]], Tally]


def _count(book: Book, runs: Sequence[_Run], rows: Any) -> tuple[list[str], ContingencyTable | None, ContingencyTable]:
    """Return a digest of each release's counts, all joint counts (None if too many), and the last release's counts."""
    tally = Tally.from_rows([run.entry for run in runs], rows)
    if tally.singles[0].n == 0:
        raise ColumnError("the table has no rows, so there is nothing to measure")
    digests = []
    for single in tally.singles:
        s, x = np.nonzero(single.counts)
        cells = np.stack([s, np.asarray(single.public.symbols)[x], single.counts[s, x]]).astype("<i8")
        secrets = repr(single.sensitive.symbols).encode()
        digests.append(book_digest(book, b"counts", secrets, b"%d" % single.n, cells.tobytes()))
    return digests, tally.whole, tally.singles[-1]


def _with_codes(run: _Run, batch: Mapping[str, Any], codes: Mapping[str, Any]) -> dict[str, Any]:
    """Sensitive columns of a batch as a release sees them, with columns of codes added."""
    columns = run.entry.layout.columns(batch)
    return {**{name: columns[name] for name in run.entry.layout.sensitive}, **codes}


def _batches(rows: Any, names: list[str], numbers: Numbers) -> Iterator[Mapping[str, Any]]:
    """Yield the columns of the table: a frame as a whole, files in batches."""
    if isinstance(rows, Source):
        rows.check(names)
        for file in rows.files:
            yield from rows.batches(file, names)
        rows.check_unchanged()
    elif isinstance(rows, (str, os.PathLike)):
        with open_source(rows, numbers) as source:
            yield from _batches(source, names, numbers)
    else:
        yield Table.from_native(rows)


def _pack_counts(counts: ContingencyTable, columns: list[str]) -> tuple[bytes, ...]:
    """Write joint counts of S and some releases as bytes, which are equal for equal rows."""
    tuples, (alphabet,) = Tuples.from_alphabet(counts.public, [columns])
    sums = np.stack([np.bincount(tuples.codes[:, 0], row, len(alphabet)) for row in counts.counts])
    s, y = np.nonzero(sums)
    states = np.asarray(alphabet.symbols).reshape(len(alphabet), -1)[y]
    cells = np.column_stack([s, states, np.rint(sums[s, y])]).astype("<i8")
    return b"together", repr(counts.sensitive.symbols).encode(), cells.tobytes()


def _measure(
    counts: ContingencyTable | None, runs: Sequence[_Run], n: int, budget: Budget, level: float
) -> LeakageReport | None:
    """Report on n releases, some measured and the others bounded by ``level``; None if there are too many symbols."""
    if not runs:
        distribution, channel = JointDistribution.from_matrix([[1.0]]), Channel.identity(1)
    elif counts is None:
        return None
    else:
        distribution = counts.to_joint()
        try:
            channel = side_by_side(distribution.public, runs)
        except ColumnError:
            return None
    notes: tuple[str, ...] = ()
    if level:
        # The other releases multiply every P(y|s) by at most e**±level relative to P(y).
        budget = type(budget)(**{side: max(bound - level, 0.0) for side, bound in _sides(budget).items()})
        words = f"count with the sum of their levels, {level:.6g} nats, and the others against the rest of the budget"
        notes = (f"too many combinations of symbols to measure together: releases with a finite local DP of X {words}",)
    facts = ReleaseFacts(mechanism=LEDGER, warnings=notes, recorded=n)
    return LeakageReport.measure(distribution, channel, budget, facts=facts)


def _with_repeats(report: LeakageReport, distribution: JointDistribution, channel: Channel) -> LeakageReport:
    """Return the report with a section on how much repeated releases like the last one would reveal."""
    first, *later_stages = channel.stages
    stages = (first.take(np.asarray(distribution.public.symbols).reshape(-1)), *later_stages)
    try:
        words = _repeats(distribution, Channel(stages, distribution.public, channel.outputs))
    except InvalidParameter:
        return report
    return report.with_section(Section("repeats", "Releases like the last one", words)) if words else report


def _repeats(distribution: JointDistribution, channel: Channel) -> str:
    """Describe the joint leakage of repeated releases with fresh noise; empty if no noise can average out."""
    once, limit = (repeated_information(distribution, channel, k) for k in (1, math.inf))
    raw = measures.mutual_information(distribution)
    if raw <= _NOTHING or (limit > _NOTHING and once >= limit * (1 - _NO_NOISE)):
        return ""
    needed = repeats_needed(distribution, channel)
    if needed is None:
        return (
            "However many of them there are, with fresh noise each, together they reveal nothing about the sensitive "
            "value."
        )
    return (
        f"About {needed:,} of them together, with fresh noise each, reveal nine tenths of all that any number of them "
        f"reveals about the sensitive value. That limit is {limit / raw:.0%} of the information in the raw columns."
    )


def _sides(budget: Any) -> dict[str, float]:
    """Bounds of a budget, in nats, which also bound the sum of levels of local DP."""
    return asdict(budget)


def _require(report: LeakageReport, book: Book, level: float) -> None:
    """Refuse releases beyond the budget, with an error that states what is left."""
    excess = max(level - bound for bound in _sides(book.budget).values()) if level else 0.0
    witness: tuple[Any, Any] = (None, None)
    try:
        report.require()
        if excess <= VERDICT_TOLERANCE:
            return
    except BudgetExceeded as error:
        witness, excess = error.witness, max(error.excess, excess)
    left = None
    if not level:
        # Without the last release, the joint distribution is that of the recorded releases.
        distribution, before = report._after, report._after.public.columns[:-1]
        tuples, (alphabet,) = Tuples.from_alphabet(distribution.public, [before])
        sums = [np.bincount(tuples.codes[:, 0], weights=row, minlength=len(alphabet)) for row in distribution.pmf]
        left = float(-book.budget.excess(JointDistribution(np.stack(sums), distribution.sensitive, alphabet)).max())
    raise LedgerExceeded(report, witness, excess, book.budget, len(book.entries), left)
