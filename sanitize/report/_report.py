"""Measure a (joint, channel) pair against a budget; print, export.

The measuring code reads the channel's matrix and nothing else: it does not know how the channel was made.
"""

from __future__ import annotations

import json
import math
import weakref
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._util.checks import check_choice
from sanitize._util.formatting import percent
from sanitize.core.budgets import ChannelBudget, by_value, limit_rows, limits_for
from sanitize.core.channel import ReducedChannel
from sanitize.core.joint import JointDistribution, check_distribution
from sanitize.core.lifts import lift
from sanitize.core.measures import effective_share, side_knowledge
from sanitize.errors import BudgetExceeded, InvalidParameter, NothingToProtect, UselessRelease
from sanitize.report._curve import check_same_distribution
from sanitize.report._document import release_note, to_document
from sanitize.report._facts import SEEDED_NOTE, Origin, ReleaseFacts, Section
from sanitize.report._guesses import guesses_section
from sanitize.report._headline import SYNTHETIC, USELESS_BELOW, short
from sanitize.report._saved import SavedReport
from sanitize.report._verdict import (
    Verdict,
    measure_all,
    measure_columns,
    measure_worst_case,
    measure_worst_distribution,
    side_knowledge_excess,
)
from sanitize.report._views import ReportViews

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.report._curve import TradeoffCurve
    from sanitize.report._document import Audience
    from sanitize.report._facts import Finding

# Columns that are known, or pairs of columns, that are listed one by one.
MOST_PAIRS = 30
# Probabilities that are worth computing for those who know more, beside the verdict.
_SIDE_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class LeakageReport(Verdict, ReportViews):
    """Leakage of a release about S and its utility, before and after, against its budget. Frozen.

    Build it with `LeakageReport.measure`. ``print(report)`` gives one screen of text.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> budget = sz.LiftBudget.symmetric(0.3)
    >>> report = LeakageReport.measure(joint, sz.watchdog(joint, budget), budget)
    >>> report.ok
    True
    >>> round(report.summary["mutual_information"], 4), round(report.summary["normalized_utility"], 4)
    (0.0, 0.7482)
    """

    @classmethod
    def measure(
        cls,
        joint: JointDistribution,
        channel: Channel,
        budget: Budget | None = None,
        *,
        facts: ReleaseFacts | None = None,
        confidence: float | ConfidenceSet | None = None,
    ) -> LeakageReport:
        """Measure what the channel's output tells about S under a distribution.

        Parameters
        ----------
        joint : JointDistribution
            Distribution of (S, X).
        channel : Channel
            From X to what is printed.
        budget : Budget, optional
            What each printed symbol may leak. Without one the report only measures, and `ok` is True.
        facts : ReleaseFacts, optional
            Mechanism, warnings and so on.
        confidence : float or ConfidenceSet, optional
            Judge every distribution of the symbols seen that the counts allow, not the frequencies alone; None claims
            the rows are everybody.
        """
        after, facts = check_distribution(joint).push(channel), facts or ReleaseFacts()
        lines = measure_all(joint, after, channel, budget)
        over: NDArray[np.float64] | float = -math.inf
        if budget is not None and facts.known:
            over = side_knowledge_excess(joint, channel, facts.known, budget)
        if isinstance(budget, ChannelBudget):
            whole = budget.measure_channel(channel)
            lines = (*lines, whole)
            over = math.inf if whole.after is None or whole.bound is None else whole.after - whole.bound
        worst = measure_worst_distribution(joint, channel, confidence, budget)
        if worst is not None:
            lines = (*lines, *measure_worst_case(worst, budget))
        report = cls(
            measures=lines,
            budget=budget,
            # How good the channel is known to be, where its designer said so.
            facts=replace(facts, optimality=channel.optimality) if facts.optimality is None else facts,
            sensitive=joint.sensitive.columns,
            public=joint.public.columns,
            n_rows=joint.n,
            _before=joint,
            _after=after,
            _least_excess=over,
            confidence=None if worst is None or confidence is None else worst.distributions.confidence,
            _worst=worst,
            kept=measure_columns(joint, channel, after),
        )
        if by_value(budget):
            heads = "value (* are all others)", "", "times as likely"
            report = report.with_section(Section("limits", "Limits by sensitive value", "", heads, limit_rows(budget)))
        if (guesses := guesses_section(joint, channel)) is not None:
            report = report.with_section(guesses)
        return report._with_side_knowledge(joint, channel)._with_power(joint, channel)._in_a_persons_terms()

    def _in_a_persons_terms(self) -> LeakageReport:
        """Report that says how likely the most exposed secret may look, by its share of the rows."""
        lifts, shares = lift(self._after), self._after.p_s
        s = int(lifts.max(axis=1).argmax())
        often, most, least = (percent(float(shares[s] * times)) for times in (1.0, lifts[s].max(), lifts[s].min()))
        words = (
            f"The sensitive value that a release exposes most is that of {often} of the rows: by a released row it may "
            f"look like {most} at most, {least} at least."
        )
        return self.with_section(Section("person", "In a person's terms", words))

    def _with_power(self, joint: JointDistribution, channel: Channel) -> LeakageReport:
        """Report that says how many raw rows a test on the release is worth."""
        try:
            share = effective_share(joint, channel)
        except InvalidParameter:
            return self
        n = joint.n
        rows = f"{share:.0%} of as many raw rows" if n is None else f"about {share * n:,.0f} of {n:,} raw rows"
        words = (
            f"A test on this release has the power of {rows}, on average over all differences from the frequencies of "
            "the public columns. What the release merges cannot be tested, and what it leaves alone as before."
        )
        return self.with_section(Section("power", "Effective rows", words))

    def _with_side_knowledge(self, joint: JointDistribution, channel: Channel) -> LeakageReport:
        """Report that says what a released symbol tells those who know one or two of the public columns beforehand."""
        names = joint.public.columns
        column_sets = [columns for t in (1, 2) if t < len(names) for columns in combinations(names, t)]
        if (
            not column_sets
            or len(column_sets) * joint.pmf.size * ReducedChannel.from_channel(channel).most_symbols > _SIDE_CELLS
        ):
            return self
        lifts = [
            (", ".join(columns), *np.exp(side_knowledge(joint, channel, columns)).tolist()) for columns in column_sets
        ]
        whose = " or ".join(("none of them", *self.facts.known))
        words = (
            "How many times as likely a secret becomes for those who know these columns of a row beforehand. The limit "
            f"is for those who know {whose}, so these figures may be beyond it."
        )
        if len(names) > 3:  # who knows all of three knows the row
            words += " Readers who know three columns or more were not looked at; they may learn more."
        worst = tuple(sorted(lifts, key=lambda row: -row[2])[:MOST_PAIRS])
        return self.with_section(Section("side", "Who knows more", words, ("Knows", "at least", "at most"), worst))

    def require_use(self) -> None:
        """Refuse a release of which next to nothing is left in any column.

        Raises
        ------
        UselessRelease
            It says why, as far as that is known, and what would help.
        """
        is_drawn = SYNTHETIC in [section.title for section in self.sections]  # no row stands for one of the table
        is_generated = self.relations is not None
        if (
            self.useless
            and self.lack
            and not is_drawn
            and (is_generated or all(one.share < USELESS_BELOW for one in self.kept))
        ):
            raise UselessRelease(self, USELESS_BELOW, self.lack.words, self.lack.advice, is_generated=is_generated)

    def require(self) -> LeakageReport:
        """Return the report itself if it is ok.

        Raises
        ------
        BudgetExceeded
            With the witness (sensitive symbol, released symbol) where the excess is largest.
        NothingToProtect
            If the sensitive columns have one value in all rows.
        """
        if self.ok:
            return self
        if self.protects_nothing:
            raise NothingToProtect(self)
        y = int(np.argmax(self.excess))
        column = lift(self._after)[:, y]
        extremes = [int(column.argmax()), int(column.argmin())]
        s = extremes[0]
        if self.budget is not None:
            # Which side is over depends on the budget, and which secret where limits go by value: judge each as if all
            # other lifts were 1.
            extremes = [*range(len(column))] if by_value(self.budget) else extremes
            lifts = np.ones((len(column), len(extremes)))
            lifts[extremes, range(len(extremes))] = column[extremes]
            limits = limits_for(self.budget, self._after.sensitive)
            s = extremes[int(np.argmax(limits.lift_excess(lifts, self._after.p_s)))]
        excess = math.inf if self._is_void else self.worst_excess
        raise BudgetExceeded(self, (self._after.sensitive.symbols[s], self._after.public.symbols[y]), excess)

    def with_key(self) -> LeakageReport:
        """Report of a release whose noise came from a key, whatever seed the sanitizer has."""
        warnings = tuple(note for note in self.facts.warnings if note != SEEDED_NOTE)
        return replace(self, facts=replace(self.facts, seeded=False, warnings=warnings))

    def with_ledger_count(self, together: LeakageReport) -> LeakageReport:
        """Report that says how many releases are recorded with this one, by the report of all of them together."""
        return replace(self, facts=replace(self.facts, recorded=together.facts.recorded))

    def with_notes(self, notes: tuple[str, ...]) -> LeakageReport:
        """Report with more to say; notes name no symbol."""
        return replace(self, facts=replace(self.facts, warnings=(*self.facts.warnings, *notes))) if notes else self

    def with_confidence(self, confidence: float) -> LeakageReport:
        """The report of the best of several releases, whose certificates hold together at this confidence."""
        if self._worst is None:
            return replace(self, confidence=confidence)
        worst = replace(self._worst, distributions=replace(self._worst.distributions, confidence=confidence))
        lines = {line.name: line for line in measure_worst_case(worst, self.budget)}
        measures = tuple(lines.get(line.name, line) for line in self.measures)
        return replace(self, measures=measures, confidence=confidence, _worst=worst)

    def with_section(self, section: Section) -> LeakageReport:
        """The report with one more section, or with the section of that name replaced."""
        sections = tuple(part for part in self.sections if part.name != section.name)
        return replace(self, sections=(*sections, section))

    def with_origin(
        self,
        *,
        title: str | None = None,
        date: str | None = None,
        table: str | None = None,
        policy: str | None = None,
        digest: str | None = None,
    ) -> LeakageReport:
        """The report with a heading: what it is of, when it was made, from which table and under which policy.

        No clock is read, so that the same release gives the same page: pass the date that the page shall show. The
        public page shows title, date and digest only. ``digest`` is that of the released file, as ``sha256:`` and the
        digits that ``sha256sum`` prints.

        Examples
        --------
        >>> import sanitize as sz
        >>> df = sz.datasets.load_titanic()
        >>> sanitizer = sz.Watchdog(sz.LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"])
        >>> report = sz.last_report(sz.frames.release(df, sanitizer))
        >>> report.with_origin(title="Titanic", date="2026-01-31").to_dict()["origin"]["title"]
        'Titanic'
        """
        return replace(self, origin=Origin(title, date, table, policy, digest))

    def with_curve(self, curve: TradeoffCurve) -> LeakageReport:
        """The report with a privacy-utility curve, which the page then draws with this release on it.

        Raises
        ------
        InvalidParameter
            If the curve was made of another table, or of other columns of it.
        """
        self._no_second_look()
        check_same_distribution(curve, self.measures)
        return replace(self, curve=curve)

    def with_findings(self, *findings: Finding) -> LeakageReport:
        """Report that also tells what attacks on the release found; it is not ok if one of them is not.

        Examples
        --------
        >>> import sanitize as sz
        >>> df = sz.datasets.load_titanic()
        >>> budget = sz.LiftBudget.symmetric(0.5)
        >>> sanitizer = sz.Watchdog(budget, sensitive="survived", public=["class", "sex"], random_state=0)
        >>> released = sz.frames.release(df, sanitizer)
        >>> report = sz.last_report(released)
        >>> report = report.with_findings(sz.auditing.attack.check(report, released, df["survived"]))
        >>> "are consistent with their report" in " ".join(report.to_html().split())
        True
        """
        self._no_second_look()
        return replace(self, findings=(*self.findings, *findings))

    def _no_second_look(self) -> None:
        if self.facts.promise is not None:
            raise InvalidParameter(
                f"this report is under {self.facts.promise}, and curves and findings of attacks are made by a look at "
                "the secrets without noise; keep them apart, for your own eyes"
            )

    def to_frame(self, table: Literal["symbols", "measures", "columns", "parts"] = "measures") -> pd.DataFrame:
        """One of the report's tables as a pandas DataFrame.

        Parameters
        ----------
        table : {"measures", "symbols", "columns", "parts"}
            Measures before and after; leakage of each released symbol (internal); columns and their roles; what each
            part of a joint release and each kept column tells by itself.
        """
        import pandas as pd

        rows: dict[str, Callable[[], Any]] = {
            "symbols": self._symbols,
            "measures": lambda: [vars(measure) for measure in self.measures],
            "columns": self._columns,
            "parts": lambda: [{**vars(part), "role": part.role} for part in self.facts.parts],
        }
        check_choice("table", table, *rows)
        return pd.DataFrame(rows[table]())

    from_json, from_dict = SavedReport.from_json, SavedReport.from_dict

    def _document(self, audience: Audience, n_symbols: int | None = None) -> dict[str, Any]:
        return to_document(self, audience, n_symbols)

    def __repr__(self) -> str:
        return f"LeakageReport({self.facts.mechanism}, {short(self.state, useless=self.useless)})"


# By object identity, because frames are not hashable; an entry goes when its frame does.
_KEPT: dict[int, LeakageReport] = {}


def attach_report(frame: Any, report: LeakageReport) -> Any:
    """Remember the report of a released frame; pandas frames also say what a released file says about itself."""
    key = id(frame)
    try:
        weakref.finalize(frame, _KEPT.pop, key, None)
    except TypeError:  # arrays of some kinds cannot be watched, so nothing is remembered for them
        return frame
    _KEPT[key] = report
    if hasattr(frame, "attrs"):
        frame.attrs["sanitize"] = json.dumps(release_note(report))
    return frame


def report_of(frame: Any) -> LeakageReport | None:
    """Report attached to a released frame, if it is that very object."""
    return _KEPT.get(id(frame))
