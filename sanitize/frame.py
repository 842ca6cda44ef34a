"""Plain functions on DataFrames, for code that is type-checked; `df.sanitize` offers the same as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sanitize._release.layout import Layout
from sanitize._tables.frame import Table
from sanitize.errors import SanitizeError
from sanitize.report import LeakageReport, report_of
from sanitize.transformers import (
    ExponentialChannel,
    GaussianChannel,
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    SubsetRandomResponse,
    Watchdog,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.budgets import Budget, LDPBudget
    from sanitize.mechanisms import CapacityBudget
    from sanitize.transformers import Sanitizer

__all__ = [
    "FrameMethods",
    "audit",
    "exponential_channel",
    "gaussian_channel",
    "joint_release",
    "last_report",
    "optimal_random_response",
    "randomized_response",
    "subset_merging",
    "subset_random_response",
    "watchdog",
]

Frame = TypeVar("Frame")


def watchdog(df: Frame, budget: Budget | float, **settings: Any) -> Frame:
    """Release a frame with all high-risk public symbols merged into one.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    budget : Budget or float
        A number is symmetric local information privacy in nats.
    **settings
        ``sensitive``, ``public``, ``bins`` and the other parameters of `sanitize.transformers.Watchdog`.

    Returns
    -------
    Frame of the same kind
        The sanitized public columns, rows in the same order; `last_report` gives its report.

    Raises
    ------
    BudgetExceeded
        If the designed channel leaks more than the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> released = sz.frame.watchdog(df, 1.0, sensitive="survived", public=["class", "sex"])
    >>> sz.last_report(released).ok
    True
    """
    return released_through(Watchdog(budget, **settings), df)


def subset_merging(df: Frame, budget: Budget | float, **settings: Any) -> Frame:
    """Release a frame with high-risk public symbols merged in small safe groups.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    budget : Budget or float
        A number is symmetric local information privacy in nats.
    **settings
        ``sensitive``, ``public``, ``bins`` and the other parameters of `sanitize.transformers.SubsetMerging`.

    Returns
    -------
    Frame of the same kind
        The sanitized public columns, rows in the same order; `last_report` gives its report.

    Raises
    ------
    BudgetExceeded
        If the designed channel leaks more than the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget(lower=1.0, upper=0.7)
    >>> released = sz.frame.subset_merging(df, budget, sensitive="survived", public=["class", "sex"])
    >>> list(released.columns)
    ['class', 'sex']
    """
    return released_through(SubsetMerging(budget, **settings), df)


def optimal_random_response(df: Frame, budget: Budget | float, **settings: Any) -> Frame:
    """Release a frame through the most useful channel within a lift or LDP budget.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    budget : LiftBudget, LDPBudget or float
        A number is symmetric local information privacy in nats.
    **settings
        ``sensitive``, ``public`` and the other parameters of `sanitize.transformers.OptimalRandomResponse`.

    Returns
    -------
    Frame of the same kind
        The randomized public columns, rows in the same order; `last_report` gives its report.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> released = sz.frame.optimal_random_response(df, 0.5, sensitive="survived", public=["class", "sex"])
    >>> sz.last_report(released).ok
    True
    """
    return released_through(OptimalRandomResponse(budget, **settings), df)


def subset_random_response(df: Frame, budget: Budget | float, **settings: Any) -> Frame:
    """Release a frame through optimal random response inside blocks of public symbols.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    budget : LiftBudget, LDPBudget or float
        A number is symmetric local information privacy in nats.
    **settings
        ``sensitive``, ``public`` and the other parameters of `sanitize.transformers.SubsetRandomResponse`.

    Returns
    -------
    Frame of the same kind
        The randomized public columns, rows in the same order; `last_report` gives its report.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> released = sz.frame.subset_random_response(df, 0.5, sensitive="survived", public=["class", "sex"])
    >>> sz.last_report(released).ok
    True
    """
    return released_through(SubsetRandomResponse(budget, **settings), df)


def randomized_response(df: Frame, budget: LDPBudget | float, **settings: Any) -> Frame:
    """Release a frame through k-ary randomized response on the public tuple.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    budget : LDPBudget or float
        Local differential privacy of the public columns in nats.
    **settings
        ``public``, ``sensitive`` and the other parameters of `sanitize.transformers.RandomizedResponse`.

    Returns
    -------
    Frame of the same kind
        The randomized public columns, rows in the same order; `last_report` gives its report.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> released = sz.frame.randomized_response(df, 2.0, sensitive="survived", public="class")
    >>> round(sz.last_report(released).summary["ldp_public"], 6)
    2.0
    """
    return released_through(RandomizedResponse(budget, **settings), df)


def audit(df: Any, sensitive: str | Sequence[str], public: str | Sequence[str] | None = None) -> LeakageReport:
    """What the public columns of a table tell about the sensitive ones as they are.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    sensitive : str or list of str
    public : str or list of str, optional
        All other columns by default.

    Returns
    -------
    LeakageReport
        Without a budget: it only measures.

    Examples
    --------
    >>> import sanitize as sz
    >>> report = sz.audit(sz.datasets.load_titanic(), sensitive="survived", public=["class", "sex"])
    >>> round(report.summary["max_log_lift"], 3)
    1.102
    """
    table = Table.of(df)
    secret = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    if public is None:
        shown = tuple(name for name in table.names if name not in secret)
    else:
        shown = (public,) if isinstance(public, str) else tuple(public)
    layout = Layout(secret, shown)
    counts = layout.empty_table()
    counts.count(layout.columns(table))
    return layout.audit(counts)


def last_report(df: Any) -> LeakageReport:
    """Report of a released frame: this very object, not a copy of it.

    Raises
    ------
    SanitizeError
        If the frame did not come from a release, or is a copy of one that did.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> released = sz.frame.watchdog(df, 1.0, sensitive="survived", public="sex")
    >>> sz.last_report(released)
    LeakageReport(watchdog, within budget)
    """
    report = report_of(df)
    if report is None:
        raise SanitizeError("this frame has no report: it is a copy or was not released by sanitize; keep the original")
    return report


class FrameMethods:
    """Methods of ``df.sanitize``, the same on pandas and polars frames."""

    def __init__(self, df: Any) -> None:
        self._df = df

    def watchdog(self, budget: Budget | float, **settings: Any) -> Any:
        """`sanitize.frame.watchdog` of this frame."""
        return watchdog(self._df, budget, **settings)

    def subset_merging(self, budget: Budget | float, **settings: Any) -> Any:
        """`sanitize.frame.subset_merging` of this frame."""
        return subset_merging(self._df, budget, **settings)

    def optimal_random_response(self, budget: Budget | float, **settings: Any) -> Any:
        """`sanitize.frame.optimal_random_response` of this frame."""
        return optimal_random_response(self._df, budget, **settings)

    def subset_random_response(self, budget: Budget | float, **settings: Any) -> Any:
        """`sanitize.frame.subset_random_response` of this frame."""
        return subset_random_response(self._df, budget, **settings)

    def randomized_response(self, budget: LDPBudget | float, **settings: Any) -> Any:
        """`sanitize.frame.randomized_response` of this frame."""
        return randomized_response(self._df, budget, **settings)

    def exponential_channel(self, budget: CapacityBudget | float, **settings: Any) -> Any:
        """`sanitize.frame.exponential_channel` of this frame."""
        return exponential_channel(self._df, budget, **settings)

    def gaussian_channel(self, budget: CapacityBudget | float, **settings: Any) -> Any:
        """`sanitize.frame.gaussian_channel` of this frame."""
        return gaussian_channel(self._df, budget, **settings)

    def joint_release(
        self, sanitizers: Sequence[tuple[str, Sanitizer]], budget: Budget | float | None = None, **settings: Any
    ) -> Any:
        """`sanitize.frame.joint_release` of this frame."""
        return joint_release(self._df, sanitizers, budget, **settings)

    def audit(self, sensitive: str | Sequence[str], public: str | Sequence[str] | None = None) -> LeakageReport:
        """`sanitize.audit` of this frame."""
        return audit(self._df, sensitive, public)

    @property
    def report(self) -> LeakageReport:
        """`sanitize.last_report` of this frame."""
        return last_report(self._df)


def released_through(sanitizer: Sanitizer | GaussianChannel, df: Frame) -> Frame:
    """The frame after one pass to learn and one to release."""
    released: Frame = sanitizer.fit(df).transform(df)
    return released


def exponential_channel(df: Frame, budget: CapacityBudget | float, **settings: Any) -> Frame:
    """Release a frame through the exponential channel: near symbols are drawn more often than far ones [WXH §4.2].

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    budget : CapacityBudget or float
        Individual channel capacity in nats.
    **settings
        ``public``, ``sensitive`` and the other parameters of `sanitize.transformers.ExponentialChannel`.

    Returns
    -------
    Frame of the same kind
        The randomized public columns, rows in the same order; `last_report` gives its report.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> released = sz.frame.exponential_channel(df, 0.5, sensitive="survived", public="class")
    >>> sz.last_report(released).ok
    True
    """
    return released_through(ExponentialChannel(budget, **settings), df)


def gaussian_channel(df: Frame, budget: CapacityBudget | float, **settings: Any) -> Frame:
    """Release numbers of a frame with Gaussian noise on a grid [WXH §4.3].

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    budget : CapacityBudget or float
        Individual channel capacity in nats.
    **settings
        ``public``, ``bounds`` and the other parameters of `sanitize.transformers.GaussianChannel`.

    Returns
    -------
    Frame of the same kind
        The public columns with noise, rows in the same order; `last_report` gives its report.

    Examples
    --------
    >>> import sanitize as sz
    >>> import pandas as pd
    >>> df = pd.DataFrame({"age": [34.0, 51.0, 47.0, 29.0, 62.0]})
    >>> released = sz.frame.gaussian_channel(df, 0.5, public="age", bounds=(18, 80))
    >>> sz.last_report(released).ok
    True
    """
    return released_through(GaussianChannel(budget, **settings), df)


def joint_release(
    df: Frame, sanitizers: Sequence[tuple[str, Sanitizer]], budget: Budget | float | None = None, **settings: Any
) -> Frame:
    """Release several groups of columns, each through a channel of its own, under one budget for all together.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    sanitizers : sequence of (str, Sanitizer)
        Name and sanitizer of each part.
    budget : Budget or float, optional
        For everything that is released together; a number is symmetric local information privacy in nats.
    **settings
        ``sensitive``, ``keep`` and the other parameters of `sanitize.transformers.JointRelease`.

    Returns
    -------
    Frame of the same kind
        The released and the kept columns, rows in the same order; `last_report` gives its report.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import Watchdog
    >>> df = sz.datasets.load_titanic()
    >>> parts = [("class", Watchdog(public="class")), ("sex", Watchdog(public="sex"))]
    >>> released = sz.frame.joint_release(df, parts, 2.0, sensitive="survived")
    >>> sz.last_report(released).ok
    True
    """
    return released_through(JointRelease(sanitizers, budget, **settings), df)
