"""Choice of a budget: the tightest that keeps enough information, or the most useful that leaks little enough."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
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
    """Suggested budget with its channel, and with a report that has every tried budget as a curve. Frozen.

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
    # Whether a budget meets the target, given its utility and leakage.
    wish: Callable[[float, float], bool]
    # Order among budgets that all meet the target, or all miss it: by eps, utility and leakage.
    merit: Callable[[bool, float, float, float], float]
    tried: dict[float, Suggestion] = field(default_factory=dict)

    def fulfils(self, eps: float) -> bool:
        """Return whether a budget meets the target; its channel is designed and measured once."""
        if eps not in self.tried:
            candidate = Candidate.design(self.joint, self.mechanism, self.family(eps))
            leakage = float(self.measure(self.joint.push(candidate.channel)))
            self.tried[eps] = Suggestion(**vars(candidate), leakage=leakage)
        return self.wish(self.utility(eps), self.tried[eps].leakage)

    def utility(self, eps: float) -> float:
        """Share of information that a tried budget keeps."""
        return self.tried[eps].normalized_utility

    def judge(self, grid: list[float], *, until: bool) -> list[bool]:
        """Return whether each budget of the grid meets the target.

        Some mechanisms, such as randomized response, need budgets beyond the log-lifts of the distribution. So the
        largest budget is doubled while more information may be kept and its judgement differs from ``until``.
        """
        fulfilled = [self.fulfils(eps) for eps in grid]
        # How often the largest budget is doubled if a mechanism needs more than the log-lifts of the distribution.
        for _ in range(6):
            if fulfilled[-1] is until or self.utility(grid[-1]) >= 1 - BUDGET or not grid[-1] > 0:
                break
            grid.append(2 * grid[-1])
            fulfilled.append(self.fulfils(grid[-1]))
        return fulfilled

    def halve(self, fails: float, holds: float) -> None:
        """Try budgets between one that fails the target and one that meets it, by bisection."""
        # Halvings of the interval around the answer: a millionth of the distance between two points of the grid.
        for _ in range(20):
            middle = (fails + holds) / 2
            if middle in (fails, holds):
                return
            if self.fulfils(middle):
                holds = middle
            else:
                fails = middle

    def suggestion(self) -> Suggestion:
        """Suggestion of the best budget tried, with a report on all tried budgets."""

        def rank(eps: float) -> tuple[bool, float, float]:
            ok = self.fulfils(eps)
            # Among equals the tightest budget wins.
            return ok, self.merit(ok, eps, self.utility(eps), self.tried[eps].leakage), -eps

        best_trial, points = self.tried[max(self.tried, key=rank)], []
        tried = [self.tried[eps] for eps in sorted(self.tried)]
        best = most_useful_so_far([trial.normalized_utility for trial in tried])
        # One point per budget. A design for a tighter budget is within this one too, so it is used where it keeps more.
        for trial, better in zip(tried, (tried[place] for place in best), strict=True):
            is_own = trial is better or trial is best_trial
            points.append((trial if is_own else better.within(self.joint, trial.budget)).point)
        curve = TradeoffCurve(mechanism_name(self.mechanism), tuple(points), best_trial.report.measures)
        return replace(best_trial, report=best_trial.report.with_curve(curve))


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
        raise InvalidParameter("give exactly one of target_utility and max_leakage")
    n_points = whole_number("n_points", n_points, 3)
    grid, trials = _grid(joint, n_points), partial(_Trials, joint, mechanism, family, measure)
    if target_utility is not None:
        least = number("target_utility", target_utility, 0, 1) - BUDGET
        # The tightest budget that keeps enough wins; if none does, the most useful budget wins.
        keeps = trials(lambda utility, _: utility >= least, lambda ok, eps, utility, _: -eps if ok else utility)
        meets = keeps.judge(grid, until=True)
        if not any(meets):
            nearest = keeps.suggestion()
            raise InfeasibleTarget(
                f"no finite budget makes {mechanism_name(mechanism)} keep {target_utility:.4g} of the information in "
                f"the public columns; the nearest is {nearest.budget!r}, which keeps {nearest.normalized_utility:.4g}. "
                "If empty cells are the reason, give a family with lower=inf, which does not limit the smallest lift",
                nearest,
            )
        if (first := meets.index(True)) > 0:
            keeps.halve(grid[first - 1], grid[first])
        return keeps.suggestion()
    assert max_leakage is not None
    most = non_negative("max_leakage", max_leakage) + BUDGET
    # The most useful budget that leaks little enough wins; if none does, the budget that leaks least wins.
    hides = trials(lambda _, leakage: leakage <= most, lambda ok, _, utility, leakage: utility if ok else -leakage)
    return _most_useful(hides, grid, max_leakage)


def _most_useful(trials: _Trials, grid: list[float], limit: float) -> Suggestion:
    """Most useful tried budget whose channel is within the limit."""
    within = trials.judge(grid, until=False)
    if not any(within):
        nearest = trials.suggestion()
        raise InfeasibleTarget(
            f"no budget makes {mechanism_name(trials.mechanism)} leak at most {limit:.4g}; the nearest is "
            f"{nearest.budget!r}, which leaks {nearest.leakage:.4g}",
            nearest,
        )
    crossings = [(a, b) for a, b, ok, over in zip(grid, grid[1:], within, within[1:], strict=False) if ok and not over]
    crossings.sort(key=lambda ends: -trials.utility(ends[1]))
    # The intervals in which the leakage crosses the limit are searched, the most useful first.
    for low, high in crossings[:4]:
        trials.halve(high, low)
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
    # The smallest positive budget of the grid, as a share of the largest.
    points = [*critical[spread], *np.geomspace(1e-3 * last, last, n_points - n - 1), 0.0]
    return sorted({float(eps) for eps in points})
