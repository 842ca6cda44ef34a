"""The exponential channel as an estimator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize.budgets import as_capacity_budget
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import exponential_channel
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._release.design import Recipe
    from sanitize._sampling.noise import Randomness
    from sanitize.budgets import CapacityBudget
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution
    from sanitize.transformers._roles import ColumnSpec

Near = Literal["line", "circle", "hamming"]
# Distances between all pairs of symbols are held in memory.
_MOST_SYMBOLS = 4096


class ExponentialChannel(Sanitizer):
    """Replace a public symbol by one that is rarer the farther it is, within a capacity [WXH §4.3].

    The j-th nearest symbol has probability proportional to e^{-jλ}; λ is calibrated so that the capacity of the
    channel, the most it can tell about X under any law, is within the budget. The law of the data plays no
    part beyond the list of symbols.

    Parameters
    ----------
    budget : float or CapacityBudget
        Capacity of the channel in nats: I(X;Y), and so I(S;Y), is at most this whatever the law. None, the
        default, raises at fit: there is no silent budget.
    distance : {"line", "circle", "hamming"}
        Between symbols in ascending order: along the line; around a circle (months, hours); or the number of
        public columns that differ, for tuples of several columns.
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. Without it the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Columns by name or position; None means all but the sensitive ones. Several are released as one tuple.
    bins : dict of column to edges, number or calendar unit, or int, optional
        Intervals of numbers or dates: declared edges, or a number of quantiles; of dates also "day", "month",
        "quarter", "year" or "decade", which are printed by name.
    release : {"resample", "label"}
        Symbols are printed as they are; of pooled ones, one of them drawn anew, or a readable label.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are one symbol, or refused.
    smoothing : float
        Added to every cell of the counts: a prior, reported as such.
    min_count : int
        Public symbols in fewer rows are pooled before the design.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
        Its verdict is about the certified capacity of ``channel_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import ExponentialChannel
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = ExponentialChannel(0.4, sensitive="survived", public="class").fit(df)
    >>> sanitizer.report_.ok, round(sanitizer.report_.summary["channel_capacity"], 6)
    (True, 0.4)
    """

    _needs_sensitive = False

    def __init__(
        self,
        budget: CapacityBudget | float | None = None,
        *,
        distance: Near = "line",
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        bins: Mapping[str, Sequence[float] | int] | int | None = None,
        release: Literal["resample", "label"] = "resample",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        missing: Literal["category", "error"] = "category",
        smoothing: float = 0.0,
        min_count: int = 0,
        keep_sensitive: bool = False,
        random_state: Randomness = None,
    ) -> None:
        super().__init__(
            budget,
            sensitive=sensitive,
            public=public,
            bins=bins,
            release=release,
            handle_unknown=handle_unknown,
            missing=missing,
            smoothing=smoothing,
            min_count=min_count,
            keep_sensitive=keep_sensitive,
            random_state=random_state,
        )
        self.distance = distance

    def _recipe(self) -> Recipe:
        budget = as_capacity_budget(self.budget, "ExponentialChannel")
        if self.distance not in ("line", "circle", "hamming"):
            raise InvalidParameter(f"distance must be 'line', 'circle' or 'hamming', got {self.distance!r}")
        mechanism = partial(_spread, capacity=budget.nats, distance=self.distance)
        return self._with_settings("exponential channel", mechanism, budget, keeps_symbols=True)


def _spread(joint: JointDistribution, capacity: float, distance: Near) -> Channel:
    n = len(joint.public)
    if n > _MOST_SYMBOLS:
        raise InvalidParameter(f"an exponential channel on {n} symbols is too large; bin or pool them (min_count)")
    near: Any = distance
    if distance == "hamming":
        codes = joint.public.codes
        near = sum(np.not_equal.outer(column, column).astype(np.int32) for column in codes.T)
    return exponential_channel(n, capacity=capacity, distance=near).renamed(inputs=joint.public)
