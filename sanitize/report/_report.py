"""Report that measures a distribution and a channel against a budget, and exports the result.

The measuring code reads only the channel's matrix and does not know how the channel was designed.
"""

from __future__ import annotations

import json
import math
import weakref
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._util.checks import check_choice
from sanitize._util.formatting import percent, percent_down, percent_up
from sanitize.core.budgets import ChannelBudget, LiftBudget, by_value, limit_rows, limits_for
from sanitize.core.channel import ReducedChannel
from sanitize.core.joint import JointDistribution, check_distribution
from sanitize.core.lifts import lift, max_log_lift, min_log_lift
from sanitize.core.measures import effective_share, side_lifts
from sanitize.errors import BudgetExceeded, InvalidParameter, NothingToProtect, UselessRelease
from sanitize.report._curve import check_same_distribution
from sanitize.report._document import release_note, to_document
from sanitize.report._facts import SEEDED_NOTE, Origin, ReleaseFacts, Section
from sanitize.report._guesses import guesses_section
from sanitize.report._headline import SYNTHETIC, USELESS_BELOW, relations_of, short
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
    from collections.abc import Callable, Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet, WorstCase
    from sanitize.core.measures import Measure
    from sanitize.core.profiles import Relation
    from sanitize.report._curve import TradeoffCurve
    from sanitize.report._document import Audience
    from sanitize.report._facts import Finding
    from sanitize.report._headline import Lack, State
    from sanitize.report._verdict import KeptColumn

# Most known columns, or pairs of known columns, that are listed one by one; a reader needs the worst ones.
MOST_PAIRS = 30
# Most probabilities to compute for readers with side knowledge, because this only adds to the verdict.
_SIDE_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class LeakageReport(ReportViews):
    """Leakage about S and utility, before and after a release, compared with the budget. Frozen.

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

    measures: tuple[Measure, ...]
    budget: Budget | None
    facts: ReleaseFacts
    sensitive: tuple[str, ...]
    public: tuple[str, ...]
    n_rows: int | None
    _before: JointDistribution = field(repr=False)
    _after: JointDistribution = field(repr=False)
    _least_excess: NDArray[np.float64] | float = field(default=-math.inf, repr=False)
    sections: tuple[Section, ...] = ()
    curve: TradeoffCurve | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()
    confidence: float | None = None
    _worst: WorstCase | None = field(default=None, repr=False)
    kept: tuple[KeptColumn, ...] = ()
    origin: Origin | None = None
    pairs: tuple[Relation, ...] = ()

    @cached_property
    def verdict(self) -> Verdict:
        """Judgement of the release by all measures."""
        return Verdict.from_report(self)

    @property
    def ok(self) -> bool:
        """True if the release is within its budget, see `Verdict`."""
        return self.verdict.ok

    @property
    def state(self) -> State:
        """Claim of the verdict in one word, see `Verdict`."""
        return self.verdict.state

    @property
    def useless(self) -> bool:
        """True if the release keeps almost no information; see `Verdict`."""
        return self.verdict.useless

    @property
    def lack(self) -> Lack | None:
        """Reason why the release keeps almost no information; see `Verdict`."""
        return self.verdict.lack

    @property
    def excess(self) -> NDArray[np.float64]:
        """Excess of each released symbol over the budget, in nats, shape (n_y,); -inf without a budget."""
        return self.verdict.excess

    @property
    def worst_excess(self) -> float:
        """Largest excess of any released symbol, in nats."""
        return float(self.excess.max())

    @property
    def relations(self) -> float | None:
        """Share of the relations between columns that shuffled rows keep; None if not measured."""
        return relations_of(map(vars, self.measures))

    @property
    def summary_figures(self) -> dict[str, float | None]:
        """Figures of the release by name."""
        return {measure.name: measure.after for measure in self.measures}

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the release by name, with the verdict; no symbols and no counts.

        ``status`` describes how close the design is known to be to the optimum (optimal, within some nats of the
        optimum, cut short, a heuristic), and ``gap`` is this distance in nats; None if there was nothing to search or
        no bound is known.
        """
        optimality = self.facts.optimality
        status, gap = (None, None) if optimality is None else (optimality.words, optimality.gap)
        design = {"mechanism": self.facts.mechanism, "budget": repr(self.budget), "status": status, "gap": gap}
        return {"ok": self.ok, **design, **self.summary_figures}

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
        """Measure what the channel's output reveals about S under a distribution.

        Parameters
        ----------
        joint : JointDistribution
            Distribution of (S, X).
        channel : Channel
            Channel from X to the released symbols.
        budget : Budget, optional
            Limit on the leakage of each released symbol. Without a budget the report only measures, and `ok` is True.
        facts : ReleaseFacts, optional
            Mechanism, warnings and so on.
        confidence : float or ConfidenceSet, optional
            Confidence at which the verdict covers every distribution of the symbols seen that the counts allow. With
            None it covers the frequencies alone, as if the rows were everybody.
        """
        after, facts = check_distribution(joint).push(channel), facts or ReleaseFacts()
        lines = measure_all(joint, after, channel, budget)
        over: NDArray[np.float64] | float = -math.inf
        if budget is not None and facts.side_columns:
            over = side_knowledge_excess(joint, channel, facts.side_columns, budget)
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
            # The facts of a release take precedence over the optimality that the designer attached to the channel.
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
        """Return the report with the chance, before and after, of the sensitive value with the largest lift."""
        lifts, shares = lift(self._after), self._after.p_s
        s = int(lifts.max(axis=1).argmax())
        share, allowed, reached = float(shares[s]), "", ""
        where = "for the distribution stated" if self.n_rows is None else "in this file"
        most, least = percent_up(share * lifts[s].max()), percent_down(share * lifts[s].min())
        # The allowed chances are rounded away from the share, so that the stated range contains the true one.
        if isinstance(self.budget, LiftBudget) and not by_value(self.budget):
            high, low = self.budget.share_range(share)
            allowed = f"at most {percent_up(high)} and at least {percent_down(low)} (allowed), and "
            reached = " (reached)"
        words = (
            f"Example: {percent(share)} of all rows have the sensitive value whose chance grows by the largest factor. "
            f"One released row makes this chance {allowed}at most {most} and at least {least} {where}{reached}."
        )
        return self.with_section(Section("person", "In a person's terms", words))

    def _with_power(self, joint: JointDistribution, channel: Channel) -> LeakageReport:
        """Return the report with the number of raw rows that give a statistical test the same power as the release."""
        try:
            share = effective_share(joint, channel)
        except InvalidParameter:
            return self
        n = joint.n
        rows = f"{share:.0%} of as many raw rows" if n is None else f"about {share * n:,.0f} of {n:,} raw rows"
        words = (
            f"A test on this release has the power of {rows}, on average over all differences from the frequencies of "
            "the public columns. Values that were merged cannot be tested; unchanged values can."
        )
        return self.with_section(Section("power", "Effective rows", words))

    def _with_side_knowledge(self, joint: JointDistribution, channel: Channel) -> LeakageReport:
        """Return the report with the leakage to readers who know one or two public columns beforehand."""
        names = joint.public.columns
        column_sets = [columns for t in (1, 2) if t < len(names) for columns in combinations(names, t)]
        n_cells = len(column_sets) * joint.pmf.size * ReducedChannel.from_channel(channel).most_symbols
        if not column_sets or n_cells > _SIDE_CELLS:
            return self
        lines: list[tuple[str, float, float, str]] = []
        for columns in column_sets:
            lifts, shares = side_lifts(joint, channel, columns)
            most, share = float(lifts.max()), float(shares[lifts.argmax()])
            chances = f"from {percent_down(share)} to {percent_up(share * most)}"
            lines.append((", ".join(columns), float(lifts.min()), most, chances))
        side = " or ".join(("none of them", *self.facts.side_columns))
        words = (
            "For readers who know these columns of a row, a sensitive value becomes so many times as likely. The "
            f"limit is for readers who know {side}, so these figures may exceed it."
        )
        if len(names) > 3:  # a reader who knows all three columns knows the row
            words += " Readers who know three columns or more were not looked at; they may learn more."
        worst = tuple(sorted(lines, key=lambda row: -row[2])[:MOST_PAIRS])
        heads = ("Known columns", "at least", "at most", "where the chance rises most")
        return self.with_section(Section("side", "Readers who know more", words, heads, worst))

    def require_use(self) -> None:
        """Raise an error if every column keeps almost nothing.

        Raises
        ------
        UselessRelease
            The message gives the reason, if known, and advice.
        """
        is_drawn = SYNTHETIC in [section.title for section in self.sections]  # rows stand for nobody
        is_generated, less = self.relations is not None, f"less than {100 * USELESS_BELOW:g} % of"
        if not self.lack or not self.useless or is_drawn:
            return
        if is_generated or all(one.share < USELESS_BELOW for one in self.kept):
            what = f"each column would keep {less} its information"
            if is_generated:
                what = f"generated rows would keep {less} the relations between columns, on average"
            why, advice = self.lack.words, f"{self.lack.advice}; or allow it with --allow-useless"
            raise UselessRelease(self, f"{what}{why and f' ({why})'}", advice)

    def require(self) -> LeakageReport:
        """Return the report, or raise an error if it is not ok.

        Raises
        ------
        BudgetExceeded
            With the witness (sensitive symbol, released symbol) where the excess is largest.
        NothingToProtect
            If the sensitive columns have one value in all rows.
        """
        if self.ok:
            return self
        if self.state == "nothing":
            raise NothingToProtect(self)
        y = int(np.argmax(self.excess))
        column = lift(self._after)[:, y]
        extremes = [int(column.argmax()), int(column.argmin())]
        s = extremes[0]
        if self.budget is not None:
            # The side, and with limits by value the sensitive value, that is over depends on the budget: each lift is
            # judged as if all others were 1.
            extremes = [*range(len(column))] if by_value(self.budget) else extremes
            lifts = np.ones((len(column), len(extremes)))
            lifts[extremes, range(len(extremes))] = column[extremes]
            limits = limits_for(self.budget, self._after.sensitive)
            s = extremes[int(np.argmax(limits.lift_excess(lifts, self._after.p_s)))]
        excess = math.inf if self.verdict.is_void else self.worst_excess
        raise BudgetExceeded(self, (self._after.sensitive.symbols[s], self._after.public.symbols[y]), excess)

    def with_key(self) -> LeakageReport:
        """Return the report without the warning about a seed, for a release with noise from a key."""
        warnings = tuple(note for note in self.facts.warnings if note != SEEDED_NOTE)
        return replace(self, facts=replace(self.facts, seeded=False, warnings=warnings))

    def with_worst_case(
        self, measures: Iterable[Measure] = (), *, confidence: float | None = None, worst: WorstCase | None = None
    ) -> LeakageReport:
        """Return the report with other measures of the worst case, the worst case itself, and its confidence."""
        others = (measure for measure in self.measures if measure.scope != "worst_case")
        return replace(self, measures=(*others, *measures), confidence=confidence, _worst=worst)

    def with_ledger_count(self, together: LeakageReport) -> LeakageReport:
        """Return the report with the number of releases in its ledger, taken from the report on all these releases."""
        return replace(self, facts=replace(self.facts, recorded=together.facts.recorded))

    def with_notes(self, notes: tuple[str, ...]) -> LeakageReport:
        """Return the report with further notes, which must not name a symbol."""
        return replace(self, facts=replace(self.facts, warnings=(*self.facts.warnings, *notes))) if notes else self

    def with_confidence(self, confidence: float) -> LeakageReport:
        """Return the report with another confidence, which holds for several releases together."""
        if self._worst is None:
            return replace(self, confidence=confidence)
        worst = replace(self._worst, distributions=replace(self._worst.distributions, confidence=confidence))
        lines = {line.name: line for line in measure_worst_case(worst, self.budget)}
        measures = tuple(lines.get(line.name, line) for line in self.measures)
        return replace(self, measures=measures, confidence=confidence, _worst=worst)

    def with_section(self, section: Section) -> LeakageReport:
        """Return the report with an added section, which replaces a section of the same name."""
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
        """Return the report with a heading: title, date, table and policy.

        No clock is read, so that the same release gives the same page: pass the date to show. The public page shows
        title, date and digest only. ``digest`` is that of the released file, as ``sha256:`` and the digits that
        ``sha256sum`` prints.

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
        """Return the report with a privacy-utility curve, on which the page marks this release.

        Raises
        ------
        InvalidParameter
            If the curve was computed for another table or other columns.
        """
        self._no_second_look()
        check_same_distribution(curve, self.measures)
        return replace(self, curve=curve)

    def with_findings(self, *findings: Finding) -> LeakageReport:
        """Return the report with findings of attacks on the release; the result is ok only if no finding refutes it.

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
            words = "curves and findings are computed without noise"
            advice = "leave them out of the report, and do not hand them out"
            raise InvalidParameter(f"this report is under {self.facts.promise}, but {words}; {advice}")

    def _symbols(self, n: int | None = None) -> list[dict[str, Any]]:
        """Leakage of each released symbol (or of the first n), riskiest first: by excess, then by log-lift."""
        after = self._after
        top, bottom = max_log_lift(after), min_log_lift(after)
        order = np.lexsort((-np.maximum(top, -bottom), -self.excess))
        figures = {"probability": after.p_x, "max_log_lift": top, "min_log_lift": bottom, "excess": self.excess}
        rows = [
            {"symbol": after.public.label(int(y))} | {name: float(values[y]) for name, values in figures.items()}
            for y in order[:n]
        ]
        return rows if self.budget is not None else [row | {"excess": None} for row in rows]

    def _columns(self) -> list[dict[str, str]]:
        kept = self.facts.kept
        roles = [(name, "sensitive") for name in self.sensitive if name not in kept]
        roles += [(name, "released through the channel") for name in self.public if name not in kept]
        roles += [(name, "kept as it is") for name in kept]
        return [{"column": name, "role": role} for name, role in roles]

    def to_frame(self, table: Literal["symbols", "measures", "columns", "parts"] = "measures") -> pd.DataFrame:
        """Return one of the report's tables as a pandas DataFrame.

        Parameters
        ----------
        table : {"measures", "symbols", "columns", "parts"}
            Measures before and after; leakage of each released symbol (internal); columns and their roles; leakage
            through each part of a joint release and each kept column alone.
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

    def _document(self, audience: Audience, n_symbols: int | None = None, *, is_drawn: bool = True) -> dict[str, Any]:
        return to_document(self, audience, n_symbols, is_drawn=is_drawn)

    def __repr__(self) -> str:
        return f"LeakageReport({self.facts.mechanism}, {short(self.state, useless=self.useless)})"


# Keyed by object identity, because frames are not hashable; an entry is removed with its frame.
_KEPT: dict[int, LeakageReport] = {}


def attach_report(frame: Any, report: LeakageReport) -> Any:
    """Store the report of a released frame; a pandas frame also gets the note that released files contain."""
    key = id(frame)
    try:
        weakref.finalize(frame, _KEPT.pop, key, None)
    except TypeError:  # some arrays allow no weak reference, so their reports are not remembered
        return frame
    _KEPT[key] = report
    if hasattr(frame, "attrs"):
        frame.attrs["sanitize"] = json.dumps(release_note(report))
    return frame


def report_of(frame: Any) -> LeakageReport | None:
    """Return the report attached to a released frame; None for any other object, even a copy."""
    return _KEPT.get(id(frame))
