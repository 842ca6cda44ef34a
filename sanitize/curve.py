"""The privacy-utility curve of a mechanism on a law: what each budget leaks and keeps, measured."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from sanitize._facts import ReleaseFacts
from sanitize.budgets import Budget, LDPBudget, LiftBudget
from sanitize.errors import InvalidParameter
from sanitize.report import LeakageReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd
    from matplotlib.axes import Axes

    from sanitize._measurement import Measure
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

    Mechanism = Callable[[JointDistribution, Any], Channel]


@dataclass(frozen=True)
class TradeoffPoint:
    """What one budget gives: the figures of the channel that the mechanism designed for it.

    Attributes
    ----------
    budget : Budget or float
        As it was given to the mechanism.
    measures : tuple of Measure
        Every line of the channel's report.
    n_released : int
        Symbols that the channel may release.
    """

    budget: Budget | float
    measures: tuple[Measure, ...] = field(repr=False)
    n_released: int

    @property
    def figures(self) -> dict[str, float | None]:
        """Every measure of the release by name; None where one was not computed."""
        return {measure.name: measure.after for measure in self.measures}

    def __getitem__(self, name: str) -> float:
        """Return one measure, by its name in a report."""
        value = self.figures.get(name)
        if value is None:
            known = ", ".join(sorted(key for key, found in self.figures.items() if found is not None))
            raise InvalidParameter(f"no measure {name!r} was computed; there are {known}")
        return value

    @property
    def utility(self) -> float:
        """I(X;Y) in nats."""
        return self["utility"]

    @property
    def normalized_utility(self) -> float:
        """I(X;Y) / H(X), between 0 and 1."""
        return self["normalized_utility"]

    @property
    def mutual_information(self) -> float:
        """I(S;Y) in nats."""
        return self["mutual_information"]

    @property
    def max_log_lift(self) -> float:
        """Largest log-lift of any released symbol, in nats."""
        return self["max_log_lift"]

    @property
    def min_log_lift(self) -> float:
        """Smallest log-lift of any released symbol, in nats; -inf where one rules out a sensitive symbol."""
        return self["min_log_lift"]

    @property
    def label(self) -> str:
        """The budget in a word: ``0.5``, or ``upper:lower`` as on the command line."""
        match self.budget:
            case LiftBudget(lower=lower, upper=upper):
                return f"{upper:.3g}" if lower == upper else f"{upper:.3g}:{lower:.3g}"
            case LDPBudget(eps=eps):
                return f"{eps:.3g}"
            case Real():
                return f"{float(self.budget):.3g}"
        return ":".join(f"{value:.3g}" for value in _numbers(self.budget).values())


@dataclass(frozen=True)
class TradeoffCurve:
    """Privacy and utility of a mechanism at several budgets, in the order they were given. Frozen.

    Build it with `tradeoff_curve`. ``print(curve)`` gives a table; indexing and ``len`` work as on a tuple.
    """

    mechanism: str
    points: tuple[TradeoffPoint, ...]
    before: tuple[Measure, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, position: int) -> TradeoffPoint:
        return self.points[position]

    def to_frame(self) -> pd.DataFrame:
        """One row a budget: the numbers of the budget, symbols released, and every measure."""
        import pandas as pd

        return pd.DataFrame(
            [{**_numbers(point.budget), "n_released": point.n_released, **point.figures} for point in self.points]
        )

    def to_dict(self) -> dict[str, Any]:
        """What a picture of the curve shows, as plain values."""
        from sanitize._render.document import exact

        names = ("mutual_information", "max_log_lift", "min_log_lift", "normalized_utility")
        points = [{"label": p.label, **{name: exact(p[name]) for name in names}} for p in self.points]
        return {"mechanism": self.mechanism, "points": points}

    def to_text(self, *, chosen: TradeoffPoint | None = None, most: int = 20) -> str:
        """Table of 80 columns for a terminal, with a bar for the utility and an arrow at the chosen point.

        Of more than ``most`` points as many are shown, spread evenly, and the chosen one.
        """
        from sanitize._render.curve_text import curve_text

        position = None if chosen is None else self.points.index(chosen)
        return curve_text(self.to_dict(), position, most)

    def __str__(self) -> str:
        return self.to_text()

    def plot(
        self, ax: Axes | None = None, *, measure: str = "mutual_information", chosen: TradeoffPoint | None = None
    ) -> Axes:
        """Draw the share of information kept against a measured leakage.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        measure : str
            Leakage on the horizontal axis, by its name in a report.
        chosen : TradeoffPoint, optional
            Point to mark.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from sanitize._render.axes import draw_curve

        return draw_curve(self, ax, measure, None if chosen is None else (chosen[measure], chosen.normalized_utility))


def tradeoff_curve(joint: JointDistribution, mechanism: Mechanism, budgets: Iterable[Budget | float]) -> TradeoffCurve:
    """Design a channel for each budget and measure what it leaks about S and keeps of X.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, X).
    mechanism : callable
        From the law and a budget to a channel, such as `subset_merging`. The channel itself is measured;
        an estimator with ``release="resample"`` draws from it once more, which changes nothing for merging and
        can only lower the figures of a random response.
    budgets : iterable of Budget or float
        Handed to the mechanism as they are; a number means the mechanism's own notion.

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
    reports = [measured(joint, mechanism, budget)[1] for budget in wanted]
    points = tuple(point_of(budget, report) for budget, report in zip(wanted, reports, strict=True))
    return TradeoffCurve(name, points, reports[0].measures)


def measured(joint: JointDistribution, mechanism: Mechanism, budget: Budget | float) -> tuple[Channel, LeakageReport]:
    """Channel of a mechanism and its report; a channel over a `Budget` is refused."""
    channel = mechanism(joint, budget)
    limit = budget if isinstance(budget, Budget) else None
    facts = ReleaseFacts(mechanism=mechanism_name(mechanism), release="label")
    return channel, LeakageReport.measure(joint, channel, limit, facts=facts).require()


def point_of(budget: Budget | float, report: LeakageReport) -> TradeoffPoint:
    """Point of a curve from a report."""
    return TradeoffPoint(budget, report.measures, len(report.excess))


def mechanism_name(mechanism: Mechanism) -> str:
    """Name of a mechanism in words, as reports say it."""
    return str(getattr(mechanism, "__name__", type(mechanism).__name__)).replace("_", " ").strip("<>")


def _numbers(budget: Budget | float) -> dict[str, float]:
    """Numbers of a budget by the names of its fields; a bare number is called ``budget``."""
    if isinstance(budget, Real):
        return {"budget": float(budget)}
    names: list[str] = [part.name for part in fields(budget)] if is_dataclass(budget) else []
    values: dict[str, Any] = {name: getattr(budget, name) for name in names}
    return {name: float(value) for name, value in values.items() if isinstance(value, Real)}
