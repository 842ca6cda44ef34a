"""Choice of a budget: the tightest that keeps enough information, or the most useful with little enough leakage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import non_negative, number, whole_number
from sanitize._util.tolerances import BUDGET
from sanitize.core.budgets import LiftBudget
from sanitize.core.lifts import log_lift
from sanitize.core.measures import mutual_information
from sanitize.errors import InfeasibleTarget, InvalidParameter
from sanitize.mechanisms import subset_merging
from sanitize.release.choosing._candidates import Candidate, mechanism_name, most_useful_so_far
from sanitize.report import TradeoffCurve

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.core.budgets import Budget
    from sanitize.core.joint import JointDistribution
    from sanitize.release.choosing._curve import Mechanism


@dataclass(frozen=True, eq=False)
class Suggestion(Candidate):
    """Suggested budget with its channel, and a report with a curve of all tried budgets. Frozen.

    Attributes
    ----------
    leakage : float
        The measure that was asked for, in its unit.
    """

    leakage: float

    @property
    def curve(self) -> TradeoffCurve:
        """Points of the curve, one per tried budget, the tightest first."""
        assert self.report.curve is not None
        return self.report.curve

    def __str__(self) -> str:
        return f"{self.budget!r}\n\n{self.curve.to_text(chosen=self.point)}"


@dataclass
class _Trials:
    """Budgets tried so far, with their channels, and the best of them."""

    joint: JointDistribution
    mechanism: Mechanism
    family: Callable[[float], Budget]
    measure: Callable[[JointDistribution], float]
    least_utility: float
    most_leakage: float
    # The suggestion answers one of two questions: the tightest budget with enough utility, or the most useful one with
    # little enough leakage.
    seeks_tightest: bool
    tried: dict[float, Suggestion] = field(default_factory=dict)

    def fulfils(self, eps: float) -> bool:
        """Return whether a budget meets the target; its channel is designed and measured once."""
        if eps not in self.tried:
            candidate = Candidate.design(self.joint, self.mechanism, self.family(eps))
            leakage = float(self.measure(self.joint.push(candidate.channel)))
            self.tried[eps] = Suggestion(**vars(candidate), leakage=leakage)
        is_secret = self.seeks_tightest or self.tried[eps].leakage <= self.most_leakage
        return is_secret and self.utility(eps) >= self.least_utility

    def utility(self, eps: float) -> float:
        """Share of information that a tried budget keeps."""
        return self.tried[eps].normalized_utility

    def judge(self, grid: list[float]) -> list[bool]:
        """Return whether each budget of the grid meets the target.

        Some mechanisms, such as randomized response, need budgets beyond the log-lifts of the distribution. So the
        largest budget is doubled while more information may be kept and the sought budget may be larger.
        """
        fulfilled = [self.fulfils(eps) for eps in grid]
        # A mechanism may need more than the log-lifts of the distribution; six doublings reach 64 times the largest.
        for _ in range(6):
            if fulfilled[-1] is self.seeks_tightest or self.utility(grid[-1]) >= 1 - BUDGET or not grid[-1] > 0:
                break
            grid.append(2 * grid[-1])
            fulfilled.append(self.fulfils(grid[-1]))
        return fulfilled

    def halve(self, fails: float, holds: float) -> None:
        """Try budgets between one that fails the target and one that meets it, by bisection."""
        # Twenty halvings find the answer to a millionth of the distance between two points of the grid.
        for _ in range(20):
            middle = (fails + holds) / 2
            if middle in (fails, holds):
                return
            fails, holds = (fails, middle) if self.fulfils(middle) else (middle, holds)

    def rank(self, eps: float) -> tuple[bool, float, float]:
        """Return the sort key of a tried budget, which is largest for the best budget."""
        is_met, trial = self.fulfils(eps), self.tried[eps]
        if self.seeks_tightest:
            return is_met, -eps if is_met else trial.normalized_utility, -eps
        return is_met, trial.normalized_utility if is_met else -trial.leakage, -eps

    def suggestion(self) -> Suggestion:
        """Return the best budget tried, with a report on all tried budgets."""
        suggested, points = self.tried[max(self.tried, key=self.rank)], []
        tried = [self.tried[eps] for eps in sorted(self.tried)]
        # One point per budget. A design for a tighter budget is within this one too, so it is used where it keeps more.
        for trial, place in zip(tried, most_useful_so_far([entry.normalized_utility for entry in tried]), strict=True):
            is_own = tried[place] is trial or trial is suggested
            points.append((trial if is_own else tried[place].within(self.joint, trial.budget)).point)
        curve = TradeoffCurve(mechanism_name(self.mechanism), tuple(points), suggested.report.measures)
        return replace(suggested, report=suggested.report.with_curve(curve))


def suggest_budget(
    joint: JointDistribution,
    *,
    target_utility: float | None = None,
    max_leakage: float | None = None,
    mechanism: Mechanism = subset_merging,
    measure: Callable[[JointDistribution], float] = mutual_information,
    family: Callable[[float], Budget] = LiftBudget.symmetric,
    n_points: int = 33,
) -> Suggestion:
    """Find the tightest budget that keeps enough of X, or the most useful one that leaks little enough about S.

    Mechanisms that search are not monotone: the design for a looser budget may keep less. So budgets are tried and
    their channels measured: 0, quantiles of the log-lifts of the distribution (where symbols become low-risk) and a
    geometric grid up to the budget at which every symbol that can be low-risk is, doubled up to six times where that
    may help; then the interval before the answer is halved 20 times. The function returns the tightest (for
    ``target_utility``) or the most useful (for ``max_leakage``) of the budgets tried, with the figures of its own
    channel; a target missed by at most 1e-12, by rounding, counts as met. In the curve, every other budget has the most
    useful channel among its own and those for tighter budgets.

    A budget that is chosen by looking at the table depends on the table, so it reveals a little about the rows. A
    budget fixed beforehand reveals nothing.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X); of a table, `JointDistribution.from_frame`.
    target_utility : float, optional
        Share of the information in X to keep at least, I(X;Y) / H(X), between 0 and 1.
    max_leakage : float, optional
        Most that ``measure`` may be, >= 0.
    mechanism : callable
        Function that designs a channel from a distribution and a budget.
    measure : callable
        Leakage of a distribution of (S, Y), used by ``max_leakage``: by default `mutual_information`, an average; to
        limit the worst case give for example ``lambda joint: sz.core.lifts.max_log_lift(joint).max()``.
    family : callable
        Function that makes a `Budget` from a number of nats, which allows more as the number grows: by default
        symmetric local information privacy; `LDPBudget` and ``lambda eps: LiftBudget.from_ldp(eps, 0.65)`` are others.
    n_points : int
        Points of the grid, at least 3: each costs one design of a channel.

    Returns
    -------
    Suggestion

    Raises
    ------
    InvalidParameter
        If not exactly one target is given, or a parameter is outside its range.
    InfeasibleTarget
        If no finite budget tried meets the target; ``nearest`` is the suggestion that comes nearest.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> found = suggest_budget(joint, target_utility=0.9)
    >>> round(found.budget.upper, 4), found.normalized_utility
    (0.9163, 1.0)
    >>> round(suggest_budget(joint, max_leakage=0.01).normalized_utility, 4)
    0.7482
    """
    if (target_utility is None) == (max_leakage is None):
        count = "neither" if target_utility is None else "both"
        raise InvalidParameter(f"give exactly one of target_utility and max_leakage, got {count}")
    grid, is_tightest = _grid(joint, whole_number("n_points", n_points, 3)), target_utility is not None
    least = -np.inf if target_utility is None else number("target_utility", target_utility, 0, 1) - BUDGET
    most = np.inf if max_leakage is None else non_negative("max_leakage", max_leakage) + BUDGET
    trials = _Trials(joint, mechanism, family, measure, least, most, is_tightest)
    fulfilled = trials.judge(grid)
    if not any(fulfilled):
        nearest, name = trials.suggestion(), mechanism_name(mechanism)
        if max_leakage is not None:
            what = f"leak at most {max_leakage:.4g}; the nearest, {nearest.budget!r}, leaks {nearest.leakage:.4g}"
        else:
            what = (
                f"keep {target_utility:.4g} of the information in the public columns; the nearest, "
                f"{nearest.budget!r}, keeps {nearest.normalized_utility:.4g}. If some sensitive "
                "values never occur with some public values, give a family of budgets with lower=inf"
            )
        raise InfeasibleTarget(f"no finite budget makes {name} {what}", nearest)
    if is_tightest:
        first = fulfilled.index(True)
        intervals = [(grid[first - 1], grid[first])] if first else []
    else:
        # Leakage may cross the limit several times; each search takes twenty designs, so the four most useful are
        # enough.
        ends = zip(grid[1:], grid, fulfilled[1:], fulfilled, strict=False)
        intervals = [(high, low) for high, low, is_high_met, is_low_met in ends if is_low_met and not is_high_met]
        intervals = sorted(intervals, key=lambda interval: -trials.utility(interval[0]))[:4]
    for fails, holds in intervals:
        trials.halve(fails, holds)
    return trials.suggestion()


def _grid(joint: JointDistribution, n_points: int) -> list[float]:
    """Budgets to try first, ascending from 0 to the smallest at which no symbol is high-risk."""
    logs = log_lift(joint)
    top, bottom = logs.max(axis=0), logs.min(axis=0)
    critical = np.concatenate([np.maximum(top, -bottom), top - bottom, top])
    critical = np.unique(critical[np.isfinite(critical)])
    # An infinite budget is no suggestion: it allows everything.
    last = float(critical[-1]) if len(critical) else 1.0
    if last <= 0:
        return [0.0]
    n = n_points // 2
    spread = np.unique(np.linspace(0, len(critical) - 1, n).round().astype(int))  # includes both ends
    # A thousandth of the largest budget keeps next to nothing, so the grid begins there.
    points = [*critical[spread], *np.geomspace(1e-3 * last, last, n_points - n - 1), 0.0]
    return sorted({float(eps) for eps in points})
