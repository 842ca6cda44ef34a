"""Candidates: designs within one budget, the score that compares them, and the recommended design with its reason.

Every choice of a mechanism goes through `Choice`: that of `compare`, of `BestSanitizer` and of a plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.formatting import box, percent, times, times_down, times_up
from sanitize._util.tolerances import BUDGET, SAME_SHARE
from sanitize.core.budgets import Budget, ChannelBudget, LDPBudget, LiftBudget, as_budget
from sanitize.core.joint import JointDistribution, check_distribution
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import optimal_random_response, subset_merging, subset_random_response, watchdog
from sanitize.release.design import MIN_COUNT, unshared_error
from sanitize.report import COLUMNS, RELATIONS, WHOLES, LeakageReport, ReleaseFacts, Section, TradeoffPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sanitize.core.channel import Channel

# A summary names this measure: the share of rows whose combination of values may be released. A report without it
# covers all rows.
PRINTED = "printed_rows"


def kept_words(report: LeakageReport, measure: str) -> str:
    """Describe the share of information that a release keeps: a percentage and the total it refers to."""
    return f"{percent(float(report.summary[measure]))} {WHOLES[measure]}"


@dataclass(frozen=True)
class Kind:
    """A mechanism that may be compared, with the tables and budgets to which it applies.

    Attributes
    ----------
    name : str
        Name in reports.
    function : callable
        Function that designs a channel from a distribution and a budget.
    most : int
        Number of public symbols up to which its default effort ends within about half a minute.
    least : int
        Number of public symbols below which it equals a simpler mechanism.
    is_response : bool
        Whether it is a search with an effort and a gap, which takes lift and LDP budgets only.
    """

    name: str
    function: Callable[..., Channel]
    most: int
    least: int = 1
    is_response: bool = False


# Mechanisms to compare, the simplest first, because a simpler one wins a tie. Up to the given number of symbols, each
# ends within about half a minute; below 33 symbols, subset random response is optimal random response.
KINDS = (
    Kind("watchdog", watchdog, 20_000),
    Kind("subset merging", subset_merging, 1 << 31),
    Kind("optimal random response", partial(optimal_random_response, gap=SAME_SHARE), 200, is_response=True),
    Kind("subset random response", partial(subset_random_response, gap=SAME_SHARE), 5_000, least=33, is_response=True),
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Channel that a mechanism designed for a budget, with its report. Frozen.

    Attributes
    ----------
    mechanism : str
        Name of the mechanism in reports.
    budget : Budget or float
    channel : Channel
    report : LeakageReport
    """

    mechanism: str
    budget: Budget | float
    channel: Channel = field(repr=False)
    report: LeakageReport = field(repr=False)

    @classmethod
    def design(cls, joint: JointDistribution, mechanism: Callable[..., Channel], budget: Budget | float) -> Candidate:
        """Design a channel with a mechanism and measure it; a channel that exceeds a `Budget` is refused."""
        return cls.measure(joint, mechanism_name(mechanism), mechanism(joint, budget), budget)

    @classmethod
    def measure(cls, joint: JointDistribution, mechanism: str, channel: Channel, budget: Budget | float) -> Candidate:
        """Measure a channel against a budget; a channel that exceeds a `Budget` is refused."""
        limit = budget if isinstance(budget, Budget) else None
        report = LeakageReport.measure(joint, channel, limit, facts=ReleaseFacts(mechanism=mechanism))
        return cls(mechanism, budget, channel, report.require())

    @property
    def normalized_utility(self) -> float:
        """Utility I(X;Y) / H(X) of the release, between 0 and 1."""
        return float(self.report.summary["normalized_utility"])

    @property
    def point(self) -> TradeoffPoint:
        """Point of a curve with the main figures of the candidate."""
        return TradeoffPoint(self.budget, self.report.measures, len(self.report.excess))

    def within(self, joint: JointDistribution, budget: Budget | float) -> Candidate:
        """Return a copy with the channel measured against another budget; a channel that exceeds it is refused."""
        return Candidate.measure(joint, self.mechanism, self.channel, budget)

    def serves(self, joint: JointDistribution, budget: Budget | float) -> bool:
        """Return whether the channel also meets another budget."""
        if isinstance(budget, ChannelBudget):
            return False
        if isinstance(budget, Budget):
            return bool(budget.excess(joint.push(self.channel)).max() <= 0)
        return not isinstance(self.budget, Budget) and self.budget <= budget


def mechanism_name(mechanism: Callable[..., Channel]) -> str:
    """Name of a mechanism in words, as reports write it."""
    return str(getattr(mechanism, "__name__", type(mechanism).__name__)).replace("_", " ").strip("<>")


@dataclass(frozen=True, eq=False)
class Choice:
    """Reports of designs within one budget by mechanism, the simplest first, and the recommended mechanism.

    Designs that leave out the fewest rows are compared by the share they keep. Shares that differ by less than 1/√n,
    about two standard errors with n rows, count as equal, and the simplest of equal designs is recommended. Where some
    designs generate rows and rows are shuffled, columns are of use only together. Then only useful designs compete,
    and only those that keep as much of the relations between columns as any other.

    Parameters
    ----------
    reports : mapping of mechanism to LeakageReport
    own : str, optional
        Requested mechanism, which is recommended if it keeps as much as the best.
    """

    reports: Mapping[str, LeakageReport]
    own: str | None = None

    @property
    def score(self) -> str:
        """Name of the measure that compares all designs: information per column if latent classes are among them."""
        return COLUMNS if all(COLUMNS in report.summary for report in self.reports.values()) else "normalized_utility"

    @property
    def measure(self) -> str:
        """Name of the measure shown to readers: information on pairs of columns if all designs generate rows."""
        is_shown = set(self.reports) == {"latent classes"} and RELATIONS in self.taken.summary
        return RELATIONS if is_shown else self.score

    @cached_property
    def best(self) -> str:
        """Name of the recommended mechanism."""
        names, reports = list(self.reports), list(self.reports.values())
        scores = np.array([report.summary.get(self.score, 1.0) for report in reports])
        printed = np.array([report.summary.get(PRINTED, 1.0) for report in reports])
        shares, least = scores, room(reports[0])
        if all(RELATIONS in report.summary for report in reports):
            shown = np.array([report.summary[RELATIONS] - report.useless for report in reports])
            shares = np.where(shown >= shown.max() - least, shares, -1.0)
        best = int(np.argmax(np.where(shares >= shares.max() - least, printed, -1.0)))
        is_same = self.own in names and abs(scores[names.index(self.own)] - scores[best]) <= SAME_SHARE
        return str(self.own) if is_same else names[best]

    @property
    def taken(self) -> LeakageReport:
        """Report of the recommended design."""
        return self.reports[self.best]

    def kept(self, name: str) -> str:
        """Share of information that a mechanism keeps, as a percentage, in the measure shown to readers."""
        return percent(self.reports[name].summary[self.measure])

    @property
    def reason(self) -> str:
        """Reason for the recommendation, as words that follow the mechanism's name."""
        most = max(report.summary[self.score] for report in self.reports.values())
        less = most - self.taken.summary[self.score]
        if less <= SAME_SHARE:
            return "keeps most within the budget"
        if less > room(self.taken):
            return "keeps most of the relations between columns"
        return f"keeps as much within the budget as any, as far as {self.taken.n_rows:,} rows show"

    @property
    def sentences(self) -> tuple[str, str]:
        """Two sentences: on the recommended mechanism, and on the shares that this mechanism and the next best keep."""
        sentence, score = f"It keeps {kept_words(self.taken, self.measure)}", self.score
        others = {name: report.summary for name, report in self.reports.items() if name != self.best}
        if not others:
            return f"Recommended: {self.best}; no other mechanism fits the policy.", f"{sentence}."
        second = max(others, key=lambda name: float(others[name][score]))
        own, other, first = self.taken.summary, others[second], f"Recommended: {self.best}, which {self.reason}."
        runner_up, left_out = f"{second}, {self.kept(second)}", 1 - other.get(PRINTED, 1.0)
        if other[score] <= own[score] + SAME_SHARE:
            return first, f"{sentence}; the next best, {runner_up}."
        but = "it is less simple"
        if left_out > 1 - own.get(PRINTED, 1.0):
            but = f"it never writes the combinations of {percent(left_out)} of the rows"
        elif other.get(RELATIONS, 1.0) < own.get(RELATIONS, 1.0):
            but = "it keeps less of the relations between columns"
        return first, f"{sentence}; {runner_up}, but {but}."

    def section(self, words: str) -> Section:
        """Section of a report that compares all designs."""
        rows = []
        for report in self.reports.values():
            summary, name = report.summary, report.facts.mechanism
            limits = times_up(summary["max_log_lift"]), times_down(summary["min_log_lift"])
            rows.append((name, summary[self.measure], *limits, summary["mutual_information"], summary["status"]))
        heads = ("Mechanism", "kept", "times, at most", "at least", "I(S;Y)", "design")
        return Section("comparison", "Mechanisms compared", words, heads, tuple(rows))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Designs of several mechanisms within one budget, the simplest first. Frozen; ``print`` shows them as a table.

    Attributes
    ----------
    budget : Budget
    compared : tuple of Candidate
    """

    budget: Budget
    compared: tuple[Candidate, ...]

    @property
    def choice(self) -> Choice:
        """Reports by mechanism, with the recommended one."""
        return Choice({entry.mechanism: entry.report for entry in self.compared})

    @property
    def recommended(self) -> Candidate:
        """Candidate that keeps most; the simplest candidate if the rows are too few to show a difference."""
        best = self.choice.best
        return next(entry for entry in self.compared if entry.mechanism == best)

    @property
    def summary(self) -> dict[str, dict[str, Any]]:
        """Figures of each mechanism, by name: information kept, leakage, and distance from the optimum."""
        names = ("normalized_utility", "max_log_lift", "min_log_lift", "mutual_information", "status", "gap")
        return {entry.mechanism: {name: entry.report.summary[name] for name in names} for entry in self.compared}

    def __str__(self) -> str:
        lines = [f"{'mechanism':<26}{'kept':>8}{'max log':>10}{'min log':>10}  design"]
        for entry in self.compared:
            summary = entry.report.summary
            lifts = f"{summary['max_log_lift']:>10.3g}{summary['min_log_lift']:>10.3g}  {summary['status'] or ''}"
            lines.append(f"{entry.mechanism:<26}{entry.normalized_utility:>8.1%}{lifts}".rstrip())
        return "\n".join([*lines, f"recommended: {self.recommended.mechanism}"])

    def _repr_html_(self) -> str:
        rows = [("mechanism", "kept", "at most, times")]
        for entry in self.compared:
            most = times(entry.report.summary["max_log_lift"])
            rows.append((entry.mechanism, percent(entry.normalized_utility), most))
        return box(f"Take {self.choice.best}: it {self.choice.reason}", (repr(self.budget),), rows)


def compare(
    data: Any,
    budget: Budget | float,
    *,
    sensitive: str | Sequence[str] | None = None,
    public: str | Sequence[str] | None = None,
    effort: float | None = None,
) -> Comparison:
    """Design a channel with every mechanism that applies, and recommend the one that keeps most within the budget.

    Merging always fits; random responses fit lift and LDP budgets and up to some thousand combinations of public
    values. Shares that differ by less than 1/√n cannot be distinguished with n rows, so the simplest of such mechanisms
    is recommended. The same data, budget and effort give the same recommendation.

    Parameters
    ----------
    data : JointDistribution or DataFrame
        Distribution of (S, X), or a table with the columns named.
    budget : Budget or float
        A number is symmetric local information privacy (LIP) in nats.
    sensitive, public : str or list of str, optional
        Columns of the table; ``public=None`` means all others.
    effort : float, optional
        Units of work of each search, >= 1; by default each mechanism's own.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidBudget
        If the budget is missing or is no budget.
    InvalidParameter
        If columns are named for a distribution, or no sensitive column is named for a table.
    UselessRelease
        If no ten rows of a table share their public values, which estimators refuse.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> found = sz.compare(df, 0.3, sensitive="survived", public=["class", "sex"])
    >>> found.recommended.mechanism
    'subset merging'
    >>> {name: round(told["normalized_utility"], 3) for name, told in found.summary.items()}
    {'watchdog': 0.166, 'subset merging': 0.76, 'optimal random response': 0.766}
    """
    budget = as_budget(budget)
    if isinstance(data, JointDistribution):
        if sensitive is not None or public is not None:
            raise InvalidParameter(
                "a JointDistribution already names the sensitive and public columns; leave out sensitive and public"
            )
        joint = check_distribution(data)
    elif sensitive is None:
        raise InvalidParameter(
            "compare needs a JointDistribution, or a table and the names of its sensitive columns; give sensitive="
        )
    else:
        secret = [sensitive] if isinstance(sensitive, str) else list(sensitive)
        other_names = [str(name) for name in getattr(data, "columns", ()) if name not in secret]
        joint = JointDistribution.from_frame(data, secret, other_names if public is None else public)
        # Estimators refuse such a table, so no mechanism is recommended for it.
        if joint.n is not None and np.rint(joint.n * joint.p_x).max() < MIN_COUNT:
            raise unshared_error(joint, MIN_COUNT)
    results = []
    for kind in kinds_for(len(joint.public), budget):
        channel = kind.function(joint, budget, **({} if kind.function is watchdog else {"effort": effort}))
        # A release writes a public symbol for each released one, by which a random response loses some utility, so this
        # is what is measured.
        printed = channel.then(channel.reversed(joint.p_x))
        facts = ReleaseFacts(mechanism=kind.name)
        report = LeakageReport.measure(joint, printed.with_optimality(channel.optimality), budget, facts=facts)
        results.append(Candidate(kind.name, budget, channel, report.require()))
    return Comparison(budget, tuple(results))


def kinds_for(n_x: int, budget: Budget) -> list[Kind]:
    """Mechanisms that apply to a budget and this number of public symbols, the simplest first."""
    fits_response = isinstance(budget, (LiftBudget, LDPBudget))
    return [kind for kind in KINDS if kind.least <= n_x <= kind.most and (fits_response or not kind.is_response)]


def room(report: LeakageReport) -> float:
    """Smallest difference between shares of information that the rows can show; without rows, the rounding error."""
    return 1 / math.sqrt(report.n_rows) if report.n_rows else SAME_SHARE


def most_useful(shares: Sequence[float]) -> int:
    """Position of the first share that is within a millionth of the largest share."""
    values = np.asarray(shares)
    return int(np.argmax(values >= values.max() - SAME_SHARE))


def most_useful_so_far(shares: Sequence[float]) -> list[int]:
    """Position of the design to use for each budget, the tightest first: its own design, or a better one before it."""

    def better(best: int, place: int) -> int:
        return place if shares[place] >= shares[best] - BUDGET else best

    return list(accumulate(range(len(shares)), better))
