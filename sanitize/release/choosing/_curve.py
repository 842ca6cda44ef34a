"""The privacy-utility curve of a mechanism on a distribution: what each budget leaks and keeps, measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sanitize._util.tolerances import BUDGET
from sanitize.core.budgets import Budget, ChannelBudget
from sanitize.errors import InvalidParameter
from sanitize.report import LeakageReport, ReleaseFacts, TradeoffCurve, TradeoffPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

    Mechanism = Callable[[JointDistribution, Any], Channel]


def tradeoff_curve(joint: JointDistribution, mechanism: Mechanism, budgets: Iterable[Budget | float]) -> TradeoffCurve:
    """Design a channel for each budget and measure what it leaks about S and keeps of X.

    A channel within a tighter budget is within every looser one. So where a design for another budget of the curve
    keeps more and is within this one, it is taken: a looser budget never keeps less.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    mechanism : callable
        From the distribution and a budget to a channel, such as `subset_merging`. The channel itself is measured;
        an estimator draws from it once more, which changes nothing for merging and
        can only lower the figures of a random response.
    budgets : iterable of Budget or float
        Handed to the mechanism as they are; a number means the mechanism's own notion, and a larger one allows more.

    Returns
    -------
    TradeoffCurve

    Raises
    ------
    InvalidParameter
        If there is no budget.
    BudgetExceeded
        If a channel exceeds the budget it was designed for.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> curve = tradeoff_curve(joint, sz.watchdog, [0, 0.5, 1])
    >>> [round(point.normalized_utility, 4) for point in curve.points]
    [0.7482, 0.7482, 1.0]
    >>> [round(point.max_log_lift, 4) for point in curve.points]
    [0.0, 0.0, 0.47]
    """
    wanted = list(budgets)
    if not wanted:
        raise InvalidParameter("tradeoff_curve needs at least one budget, for example [0.1, 0.5, 1, 2]")
    name = mechanism_name(mechanism)
    designs = [make_design(joint, mechanism, budget) for budget in wanted]
    reports = [_most_useful(joint, design, designs) for design in designs]
    points = tuple(curve_point(budget, report) for budget, report in zip(wanted, reports, strict=True))
    return TradeoffCurve(name, points, reports[0].measures)


@dataclass(frozen=True, eq=False)
class Design:
    """A budget, the channel that a mechanism made for it, and the report of that channel."""

    budget: Budget | float
    channel: Channel
    report: LeakageReport

    @property
    def utility(self) -> float:
        """I(X;Y) / H(X)."""
        return float(self.report.summary["normalized_utility"])

    def serves(self, joint: JointDistribution, budget: Budget | float) -> bool:
        """Return whether the channel is within another budget."""
        if isinstance(budget, ChannelBudget):
            return False
        if isinstance(budget, Budget):
            return bool(budget.excess(joint.push(self.channel)).max() <= 0)
        return not isinstance(self.budget, Budget) and self.budget <= budget


def _most_useful(joint: JointDistribution, own_design: Design, designs: Sequence[Design]) -> LeakageReport:
    """Report of the design that keeps most within a budget; of its own, unless another keeps more."""
    for candidate in sorted(designs, key=lambda design: -design.utility):
        if candidate.utility <= own_design.utility + BUDGET:
            break
        if candidate.serves(joint, own_design.budget):
            return measure_design(joint, candidate.channel, own_design.budget, candidate.report.facts)
    return own_design.report


def make_design(joint: JointDistribution, mechanism: Mechanism, budget: Budget | float) -> Design:
    """Design of a mechanism; a channel over a `Budget` is refused."""
    facts = ReleaseFacts(mechanism=mechanism_name(mechanism))
    channel = mechanism(joint, budget)
    return Design(budget, channel, measure_design(joint, channel, budget, facts))


def measure_design(
    joint: JointDistribution, channel: Channel, budget: Budget | float, facts: ReleaseFacts
) -> LeakageReport:
    """Report of a channel by any budget that it is within."""
    limit = budget if isinstance(budget, Budget) else None
    return LeakageReport.measure(joint, channel, limit, facts=facts).require()


def curve_point(budget: Budget | float, report: LeakageReport) -> TradeoffPoint:
    """Point of a curve from a report."""
    return TradeoffPoint(budget, report.measures, len(report.excess))


def mechanism_name(mechanism: Mechanism) -> str:
    """Name of a mechanism in words, as reports say it."""
    return str(getattr(mechanism, "__name__", type(mechanism).__name__)).replace("_", " ").strip("<>")
