"""Measure a (joint, channel) pair against a budget; print, export.

The measuring code reads the channel's matrix and nothing else: it does not know how the channel was made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._facts import SEEDED_NOTE, ChannelBudget, ReleaseFacts
from sanitize._finding import refuted
from sanitize._measurement import Measure, Section, measure_all, measure_worst_case, worst_case_of
from sanitize._views import ReportViews
from sanitize.errors import BudgetExceeded, InvalidParameter
from sanitize.joint import JointDistribution
from sanitize.lift import lift, max_log_lift, min_log_lift
from sanitize.measures import check_law

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sanitize._finding import Finding
    from sanitize._views import Audience
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.confidence import ConfidenceSet, WorstCase
    from sanitize.curve import TradeoffCurve

# Stated tolerance of the verdict: a symbol passes when its excess is at most this many nats. It covers
# rounding in double precision and nothing else.
VERDICT_TOLERANCE = 1e-9

PlotKind = Literal["lift", "histogram", "risk", "marginals", "curve"]


@dataclass(frozen=True, eq=False)
class LeakageReport(ReportViews):
    """What a release leaks about S and keeps of X, before and after, against its budget. Frozen.

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
    _channel_excess: float = field(default=-math.inf, repr=False)
    sections: tuple[Section, ...] = ()
    curve: TradeoffCurve | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()
    confidence: float | None = None
    _worst: WorstCase | None = field(default=None, repr=False)

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
        """Measure what the channel's output tells about S under a law.

        Parameters
        ----------
        joint : JointDistribution
            Law of (S, X).
        channel : Channel
            From X to what is printed.
        budget : Budget, optional
            What each printed symbol may leak. Without one the report only measures, and `ok` is True.
        facts : ReleaseFacts, optional
            Mechanism, warnings and so on.
        confidence : float or ConfidenceSet, optional
            Judge every law that the counts allow, not the frequencies alone; None claims the rows are everybody.
        """
        after = check_law(joint).release(channel)
        lines, over = measure_all(joint, after, channel, budget), -math.inf
        if isinstance(budget, ChannelBudget):
            whole = budget.measure_channel(channel)
            lines = (*lines, whole)
            over = math.inf if whole.after is None or whole.bound is None else whole.after - whole.bound
        worst = worst_case_of(joint, channel, confidence, budget)
        if worst is not None:
            lines = (*lines, *measure_worst_case(worst, budget))
        return cls(
            measures=lines,
            budget=budget,
            facts=facts or ReleaseFacts(),
            sensitive=joint.sensitive.columns,
            public=joint.public.columns,
            n_rows=joint.n,
            _before=joint,
            _after=after,
            _channel_excess=over,
            confidence=None if worst is None or confidence is None else worst.laws.confidence,
            _worst=worst,
        )

    @cached_property
    def excess(self) -> NDArray[np.float64]:
        """Nats above the budget of each released symbol, shape (n_y,); -inf without a budget.

        Where the budget limits a figure of the whole channel, every symbol carries at least its excess.
        """
        n_y = len(self._after.public)
        excess = np.full(n_y, self._channel_excess)
        if self.budget is not None:
            excess = np.maximum(excess, self.budget.excess(self._after))
            if self._worst is not None and self.confidence is not None:
                excess = np.maximum(excess, self._worst.excess(self.budget))
        excess.flags.writeable = False  # the verdict is read from it
        return excess

    @property
    def worst_excess(self) -> float:
        """Largest excess of any released symbol, in nats."""
        return float(self.excess.max())

    @property
    def ok(self) -> bool:
        """Whether every symbol is within budget (to 1e-9), no sensitive column is released and no check failed."""
        return self.worst_excess <= VERDICT_TOLERANCE and not self._is_void

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the release by name, with the verdict; no symbols and no counts."""
        values: dict[str, Any] = {measure.name: measure.after for measure in self.measures}
        return {"ok": self.ok, "mechanism": self.facts.mechanism, "budget": repr(self.budget), **values}

    def require(self) -> LeakageReport:
        """Return the report itself if it is ok.

        Raises
        ------
        BudgetExceeded
            With the witness (sensitive symbol, released symbol) where the excess is largest.
        """
        if self.ok:
            return self
        y = int(np.argmax(self.excess))
        column = lift(self._after)[:, y]
        extremes = [int(column.argmax()), int(column.argmin())]
        s = extremes[0]
        if self.budget is not None:
            # Which side is over depends on the budget: judge each extreme as if all other lifts were 1.
            alone = np.ones((len(column), 2))
            alone[extremes, [0, 1]] = column[extremes]
            s = extremes[int(np.argmax(self.budget.excess_of(alone, self._after.p_s)))]
        excess = math.inf if self._is_void else self.worst_excess
        raise BudgetExceeded(self, (self._after.sensitive.symbols[s], self._after.public.symbols[y]), excess)

    @property
    def _is_void(self) -> bool:
        # A sensitive column released as it is rules all other symbols out: no finite budget allows that. Nor does
        # any figure hold for rows that were not drawn as it says.
        return bool(set(self.facts.kept) & set(self.sensitive)) or refuted(self.findings)

    def with_key(self) -> LeakageReport:
        """Report of a release whose noise came from a key, whatever seed the sanitizer has."""
        warnings = tuple(note for note in self.facts.warnings if note != SEEDED_NOTE)
        return replace(self, facts=replace(self.facts, seeded=False, warnings=warnings))

    def with_notes(self, notes: tuple[str, ...]) -> LeakageReport:
        """Report with more to say; notes name no symbol."""
        return replace(self, facts=replace(self.facts, warnings=(*self.facts.warnings, *notes))) if notes else self

    def with_section(self, section: Section) -> LeakageReport:
        """The report with one more section, or with the section of that name replaced."""
        others = tuple(part for part in self.sections if part.name != section.name)
        return replace(self, sections=(*others, section))

    def with_curve(self, curve: TradeoffCurve) -> LeakageReport:
        """The report with a privacy-utility curve, which the page then draws with this release on it."""
        return replace(self, curve=curve)

    def with_findings(self, *findings: Finding) -> LeakageReport:
        """Report that also tells what attacks on the release found; it is not ok if `attack.check` is not.

        Examples
        --------
        >>> import sanitize as sz
        >>> df = sz.datasets.load_titanic()
        >>> released = sz.frame.watchdog(df, 0.5, sensitive="survived", public=["class", "sex"], random_state=0)
        >>> report = sz.last_report(released)
        >>> report = report.with_findings(sz.attack.check(report, released, df["survived"]))
        >>> "are consistent with their report" in " ".join(report.to_html().split())
        True
        """
        return replace(self, findings=(*self.findings, *findings))

    def to_frame(self, table: Literal["symbols", "measures", "columns", "parts"] = "measures") -> pd.DataFrame:
        """One of the report's tables as a pandas DataFrame.

        Parameters
        ----------
        table : {"measures", "symbols", "columns", "parts"}
            Measures before and after; leakage of each released symbol (internal); columns and their roles; what each
            part of a joint release and each kept column tells by itself.
        """
        import pandas as pd

        if table == "measures":
            return pd.DataFrame([vars(measure) for measure in self.measures])
        if table == "symbols":
            return pd.DataFrame(self._symbols())
        if table == "columns":
            return pd.DataFrame(self._columns())
        if table == "parts":
            return pd.DataFrame([{**vars(part), "role": part.role} for part in self.facts.parts])
        raise InvalidParameter(f"table must be 'symbols', 'measures', 'columns' or 'parts', got {table!r}")

    def _symbols(self, n: int | None = None) -> list[dict[str, Any]]:
        """Leakage of each released symbol (or of the first n), riskiest first: by excess, then by log-lift."""
        after = self._after
        top, bottom = max_log_lift(after), min_log_lift(after)
        order = np.lexsort((-np.maximum(top, -bottom), -self.excess))
        return [
            {
                "symbol": after.public.label(int(y)),
                "probability": float(after.p_x[y]),
                "max_log_lift": float(top[y]),
                "min_log_lift": float(bottom[y]),
                "excess": float(self.excess[y]) if self.budget is not None else None,
            }
            for y in order[:n]
        ]

    def _columns(self) -> list[dict[str, str]]:
        rows = [{"column": name, "role": "sensitive"} for name in self.sensitive if name not in self.facts.kept]
        released = [name for name in self.public if name not in self.facts.kept]
        rows += [{"column": name, "role": "released through the channel"} for name in released]
        return rows + [{"column": name, "role": "kept as it is"} for name in self.facts.kept]

    def _document(self, audience: Audience, n_symbols: int | None = None) -> dict[str, Any]:
        from sanitize._render.document import to_document

        return to_document(self, audience, n_symbols)

    def plot(self, kind: PlotKind, ax: Axes | None = None) -> Axes:
        """One picture of the release, on matplotlib axes. No picture names a sensitive symbol.

        Parameters
        ----------
        kind : {"lift", "histogram", "risk", "marginals", "curve"}
            Heat map of the log-lift before and after, sensitive symbols by rank and share; histogram of the max-
            and min-log-lift of the symbols before (filled) and after (outlines) [ZDS Fig. 1]; range of the
            log-lift of each released symbol, with what is allowed; shares of symbols before and after;
            privacy-utility curve with this release on it (`with_curve` first).
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ModuleNotFoundError
            Without matplotlib: ``pip install 'sanitize-tabular[plot]'``.
        """
        from sanitize._render.axes import draw_report

        return draw_report(self, kind, ax)

    def __repr__(self) -> str:
        verdict = "within budget" if self.ok else "OVER BUDGET"
        return f"LeakageReport({self.facts.mechanism}, {verdict if self.budget is not None else 'no budget'})"
