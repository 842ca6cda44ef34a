"""Functions on DataFrames for the channels that are designed without P_SX, and for several channels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sanitize.transformers import ExponentialChannel, GaussianChannel, JointRelease, Sanitizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.budgets import Budget
    from sanitize.mechanisms import CapacityBudget

Frame = TypeVar("Frame")


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
