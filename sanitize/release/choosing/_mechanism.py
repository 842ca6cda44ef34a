"""Which mechanism: all that fit a distribution, side by side within one budget, and the one that keeps most."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.formatting import box, percent, times, times_down, times_up
from sanitize._util.tolerances import BUDGET, SAME_SHARE
from sanitize.core.budgets import LDPBudget, LiftBudget, as_budget
from sanitize.core.joint import JointDistribution, check_distribution
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import optimal_random_response, subset_merging, subset_random_response, watchdog
from sanitize.report import RELATIONS, LeakageReport, ReleaseFacts, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel

# Measure of the rows whose combination of values may be printed; where a report has none, of all.
PRINTED = "printed_rows"


@dataclass(frozen=True)
class Kind:
    """A mechanism that may be compared: where it fits, and by which name a policy has it.

    Attributes
    ----------
    name : str
        As reports say it.
    function : callable
        From a distribution and a budget to a channel.
    most : int
        Public symbols up to which its default effort ends within about half a minute.
    least : int
        Below, it is the same as another one.
    is_response : bool
        A search with an effort and a gap, for lift and LDP budgets only.
    """

    name: str
    function: Callable[..., Channel]
    most: int
    least: int = 1
    is_response: bool = False


# The simplest first.
KINDS = (
    Kind("watchdog", watchdog, 20_000),
    Kind("subset merging", subset_merging, 1 << 31),
    Kind("optimal random response", partial(optimal_random_response, gap=SAME_SHARE), 200, is_response=True),
    Kind("subset random response", partial(subset_random_response, gap=SAME_SHARE), 5_000, least=33, is_response=True),
)


@dataclass(frozen=True, eq=False)
class Compared:
    """One mechanism of a comparison: its channel, and the report of what it prints."""

    mechanism: str
    channel: Channel = field(repr=False)
    report: LeakageReport = field(repr=False)

    @property
    def normalized_utility(self) -> float:
        """I(X;Y) / H(X) of what is printed, between 0 and 1."""
        return float(self.report.summary["normalized_utility"])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Mechanisms on one distribution and within one budget, the simplest first. Frozen; ``print`` gives its table.

    Attributes
    ----------
    budget : Budget
    compared : tuple of Compared
    """

    budget: Budget
    compared: tuple[Compared, ...]

    @property
    def recommended(self) -> Compared:
        """The one that keeps most; the simplest of those that keep the same, as far as so many rows tell."""
        return self.compared[choose_report([entry.report for entry in self.compared], "normalized_utility")]

    @property
    def summary(self) -> dict[str, dict[str, Any]]:
        """By mechanism: what it keeps and leaks, and how good its design is known to be."""
        names = ("normalized_utility", "max_log_lift", "min_log_lift", "mutual_information", "status", "gap")
        return {entry.mechanism: {name: entry.report.summary[name] for name in names} for entry in self.compared}

    def __str__(self) -> str:
        lines = [f"{'mechanism':<26}{'kept':>8}{'max log':>10}{'min log':>10}  design"]
        for entry in self.compared:
            summary = entry.report.summary
            figures = (
                f"{entry.normalized_utility:>8.1%}{summary['max_log_lift']:>10.3g}{summary['min_log_lift']:>10.3g}"
            )
            lines.append(f"{entry.mechanism:<26}{figures}  {summary['status'] or ''}".rstrip())
        return "\n".join([*lines, f"recommended: {self.recommended.mechanism}"])

    def _repr_html_(self) -> str:
        rows = [("mechanism", "kept", "at most, times")]
        for entry in self.compared:
            most = times(entry.report.summary["max_log_lift"])
            rows.append((entry.mechanism, percent(entry.normalized_utility), most))
        taken = self.recommended
        words = reason(taken.report, [entry.report for entry in self.compared], "normalized_utility")
        return box(f"Take {taken.mechanism}: it {words}", (repr(self.budget),), rows)


def compare(
    data: Any,
    budget: Budget | float,
    *,
    sensitive: str | Sequence[str] | None = None,
    public: str | Sequence[str] | None = None,
    effort: float | None = None,
) -> Comparison:
    """Design with every mechanism that fits the distribution, and say which one keeps most within the budget.

    Merging always fits; random responses fit lift and LDP budgets and up to some thousand combinations of public
    values. What n rows do not tell apart, shares that differ by less than 1/√n, goes to the simplest. The same data,
    budget and effort give the same recommendation.

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
        If there is no budget or it is not one.
    InvalidParameter
        If columns are named for a distribution, or none is for a table.

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
                "sensitive and public name columns of a table; a distribution has its own, so leave them out"
            )
        joint = check_distribution(data)
    elif sensitive is None:
        raise InvalidParameter("compare needs a JointDistribution, or a table with sensitive= (and public=)")
    else:
        secret = [sensitive] if isinstance(sensitive, str) else list(sensitive)
        other_names = [str(name) for name in getattr(data, "columns", ()) if name not in secret]
        joint = JointDistribution.from_frame(data, secret, other_names if public is None else public)
    results = []
    for kind in kinds_for(len(joint.public), budget):
        channel = kind.function(joint, budget, **({} if kind.function is watchdog else {"effort": effort}))
        # Measured is what is printed, a public symbol for each released one, which costs a random response something.
        printed = channel.then(channel.reversed(joint.p_x))
        facts = ReleaseFacts(mechanism=kind.name)
        report = LeakageReport.measure(joint, printed.with_optimality(channel.optimality), budget, facts=facts)
        results.append(Compared(kind.name, channel, report.require()))
    return Comparison(budget, tuple(results))


def kinds_for(n_x: int, budget: Budget) -> list[Kind]:
    """Mechanisms that fit so many public symbols and a budget, the simplest first."""
    fits_response = isinstance(budget, (LiftBudget, LDPBudget))
    return [kind for kind in KINDS if kind.least <= n_x <= kind.most and (fits_response or not kind.is_response)]


def choose_report(reports: Sequence[LeakageReport], share: str) -> int:
    """Position of the report to take, of mechanisms in order, the simplest first; every choice is made by it.

    It is the simplest of those that leave out fewest rows, of those that keep most of the measure named ``share``, as
    far as n rows tell: shares that differ by less than 1/√n, about two standard errors, are as good as equal. Where
    generated rows are among shuffled ones, whose use is what they show together, only those are looked at that are of
    some use, and show as much of what pairs of columns say as any.
    """
    shares, printed = (np.array([report.summary.get(name, 1.0) for report in reports]) for name in (share, PRINTED))
    least = room(reports[0])
    if all(RELATIONS in report.summary for report in reports):
        shown = np.array([report.summary[RELATIONS] - report.useless for report in reports])
        shares = np.where(shown >= shown.max() - least, shares, -1.0)
    return int(np.argmax(np.where(shares >= shares.max() - least, printed, -1.0)))


def room(report: LeakageReport) -> float:
    """Difference of shares that so many rows do not tell; where the distribution is known, that of rounding."""
    return 1 / math.sqrt(report.n_rows) if report.n_rows else SAME_SHARE


def reason(taken: LeakageReport, reports: Sequence[LeakageReport], share: str) -> str:
    """Say why a report is preferred, after its name."""
    less = max(report.summary[share] for report in reports) - taken.summary[share]
    if less <= SAME_SHARE:
        return "keeps most within the budget"
    if less > room(taken):
        return "shows most of what pairs of columns say about each other"
    return f"keeps as much within the budget as any, as far as {taken.n_rows:,} rows tell"


def most_useful(shares: Sequence[float]) -> int:
    """Position of the first share that is the largest, to a millionth."""
    values = np.asarray(shares)
    return int(np.argmax(values >= values.max() - SAME_SHARE))


def most_useful_so_far(shares: Sequence[float]) -> list[int]:
    """Choose a design at each of ever looser budgets: a design within a tighter one is within it too."""

    def better(best: int, place: int) -> int:
        return place if shares[place] >= shares[best] - BUDGET else best

    return list(accumulate(range(len(shares)), better))


def comparison_section(reports: Sequence[LeakageReport], words: str, share: str = "normalized_utility") -> Section:
    """Reports of several mechanisms as a section of one; what each keeps is the measure named ``share``."""

    def row(report: LeakageReport) -> tuple[Any, ...]:
        summary = report.summary
        limits = times_up(summary["max_log_lift"]), times_down(summary["min_log_lift"])
        return report.facts.mechanism, summary[share], *limits, summary["mutual_information"], summary["status"]

    heads = ("Mechanism", "kept", "times, at most", "at least", "I(S;Y)", "design")
    return Section("comparison", "Mechanisms compared", words, heads, tuple(map(row, reports)))
