"""Privacy-utility curve as a frozen table of figures, shown as text, plain values and a frame."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

from sanitize._util.formatting import clip, exact, number, times
from sanitize.core.budgets import Budget, LiftBudget, budget_bounds, loosest
from sanitize.errors import InvalidParameter
from sanitize.report._headline import WHOLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sanitize.core.measures import Measure

# A curve and a report belong together if these measures, taken before any release, agree.
_OF_THE_DISTRIBUTION = ("mutual_information", "max_log_lift", "min_log_lift")
# Length, in characters, of the bar for a utility of 1: with its figures, a line has less than 80.
_BAR = 20


@dataclass(frozen=True)
class TradeoffPoint:
    """Point of a trade-off curve: a budget and the figures of the channel that a mechanism designed for it.

    ``point["normalized_utility"]`` is one figure, by its name in a report.

    Attributes
    ----------
    budget : Budget or float
        Budget as it was passed to the mechanism.
    measures : tuple of Measure
        Every line of the channel's report.
    n_released : int
        Number of symbols that the channel may release.
    """

    budget: Budget | float
    measures: tuple[Measure, ...] = field(repr=False)
    n_released: int

    @property
    def figures(self) -> dict[str, float | None]:
        """All measures of the release by name; None for a measure that was not computed."""
        return {measure.name: measure.after for measure in self.measures}

    def __getitem__(self, name: str) -> float:
        """Return one measure, by its name in a report."""
        value = self.figures.get(name)
        if value is None:
            available = ", ".join(sorted(key for key, figure in self.figures.items() if figure is not None))
            raise InvalidParameter(f"the curve has no measure {name!r}; its measures are {available}")
        return value

    @property
    def label(self) -> str:
        """Short name of the budget: the lowest and highest lift, as in ``0.37-1.65``, or nats for other budgets."""
        budget: Any = loosest(self.budget)
        if isinstance(budget, LiftBudget):
            label = f"{budget.at_least:.3g}-{budget.at_most:.3g}"
            return label if len(label) <= 10 else f"{budget.at_least:.2g}-{budget.at_most:.2g}"
        return ":".join(f"{value:.3g}" for value in _numbers(budget).values())


@dataclass(frozen=True)
class TradeoffCurve:
    """Privacy and utility of a mechanism at several budgets, in the order they were given. Frozen.

    Build a curve with `tradeoff_curve`. ``print(curve)`` shows a table; indexing and ``len`` work as on a tuple. The
    utility that the curve draws is ``measure``, named as in reports.
    """

    mechanism: str
    points: tuple[TradeoffPoint, ...]
    before: tuple[Measure, ...] = field(repr=False)
    measure: str = "normalized_utility"

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, position: int) -> TradeoffPoint:
        return self.points[position]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per budget: the budget's bounds, the number of released symbols, and every measure."""
        import pandas as pd

        rows = [{**_numbers(point.budget), "n_released": point.n_released, **point.figures} for point in self.points]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the values that a picture of the curve shows."""
        names = {name: name for name in _OF_THE_DISTRIBUTION} | {"kept": self.measure}
        points = [{"label": p.label, **{key: exact(p[name]) for key, name in names.items()}} for p in self.points]
        return {"mechanism": self.mechanism, "of": WHOLES[self.measure], "points": points}

    def to_text(self, *, chosen: TradeoffPoint | None = None, most: int = 20) -> str:
        """Return a table of 80 columns in ASCII, with a bar for the utility and an arrow at the chosen point.

        If there are more than ``most`` points, the table shows this many, spread evenly over those that differ in the
        table, and the chosen point; the last line states the total.

        Examples
        --------
        >>> import sanitize as sz
        >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
        >>> print(sz.release.choosing.tradeoff_curve(joint, sz.watchdog, [0.5, 1]))
        watchdog                                             times as likely
              budget   information kept in X                at least   at most    I(S;Y)
                 0.5   ###############.....     74.8 %             1         1         0
                   1   ####################    100.0 %           0.4       1.6   0.09637
        """
        is_plain = self.measure == "normalized_utility"
        lines = [] if is_plain else [f"Kept {WHOLES[self.measure]}, within each budget:"]
        lines.append(f"{clip(self.mechanism, 46):<53}times as likely")
        what = "information kept in X" if is_plain else "kept"
        lines.append(f"  {'budget':>10}   {what:<37}at least   at most    I(S;Y)")
        rows = []
        for point in self.points:
            share, extremes = point[self.measure], (times(point["min_log_lift"]), times(point["max_log_lift"]))
            bar = f"{'#' * round(_BAR * share):.<{_BAR}}"
            figures = f"{extremes[0]:>14}{extremes[1]:>10}{number(point['mutual_information']):>10}"
            rows.append(f"{clip(point.label, 10):>10}   {bar}{100 * share:>9.1f} %{figures}")
        chosen_row = None if chosen is None else self.points.index(chosen)
        alike = {row: i for i, row in enumerate(rows)} | ({} if chosen_row is None else {rows[chosen_row]: chosen_row})
        places = sorted(alike.values())
        shown = {chosen_row, *(places[round(i * (len(places) - 1) / max(1, most - 1))] for i in range(most))}
        lines += [("->" if i == chosen_row else "  ") + rows[i] for i in places if i in shown]
        if len(rows) > len(shown - {None}):
            lines.append(f"  {len(rows)} budgets were tried: see to_frame()")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def _numbers(budget: Budget | float) -> dict[str, float]:
    """Return the bounds of a budget, with the names of its fields; a budget that is a number is named ``budget``."""
    if isinstance(budget, Real):
        return {"budget": float(budget)}
    return {name: float(value) for name, value in budget_bounds(budget).items() if isinstance(value, Real)}


def check_same_distribution(curve: TradeoffCurve, measures: Sequence[Measure]) -> None:
    """Raise an error if the raw tables of a curve and a report differ in I(S;X) or in the extremes of the lift."""
    if not isinstance(curve, TradeoffCurve):
        words = f"got {type(curve).__name__}; sanitize.release.choosing.tradeoff_curve makes one"
        raise InvalidParameter(f"with_curve takes a TradeoffCurve, {words}")
    report_values = {line.name: line.before for line in measures if line.name in _OF_THE_DISTRIBUTION}
    for line in (line for point in curve.points for line in point.measures):
        report_value = report_values.get(line.name)
        if line.before is None or report_value is None:
            continue
        if not math.isclose(line.before, report_value, rel_tol=1e-6, abs_tol=1e-9):
            words = (
                "compute the curve of this report: sanitize.release.choosing.tradeoff_curve(joint, mechanism, budgets)"
            )
            raise InvalidParameter(f"this curve belongs to another table, or other columns or bins; {words}")
