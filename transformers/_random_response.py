"""Estimators of the random responses."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from sanitize._release.design import Recipe
from sanitize.budgets import as_budget
from sanitize.mechanisms import optimal_random_response, subset_random_response
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._sampling.noise import Randomness
    from sanitize.budgets import Budget
    from sanitize.transformers._roles import ColumnSpec


class _Searching(Sanitizer):
    """Sanitizers that search for a channel, until it is near enough to the best or the time is up."""

    def __init__(
        self,
        budget: Budget | float | None = None,
        *,
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        gap: float = 1e-6,
        time_limit: float | None = None,
        bins: Mapping[str, Sequence[float] | int] | int | None = None,
        release: Literal["resample", "label"] = "resample",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        missing: Literal["category", "error"] = "category",
        smoothing: float = 0.0,
        min_count: int = 0,
        confidence: float | None = None,
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
            confidence=confidence,
            keep_sensitive=keep_sensitive,
            random_state=random_state,
        )
        self.gap = gap
        self.time_limit = time_limit


class OptimalRandomResponse(_Searching):
    """The most useful channel within a lift or LDP budget [ZDS §III-A2].

    Parameters
    ----------
    budget : LiftBudget, LDPBudget or float
        What each released symbol may leak; a number is symmetric local information privacy (LIP) in nats.
        None, the default, raises at fit: there is no silent budget.
    gap : float
        Distance of I(X;Y) from the optimum that is good enough, in nats.
    time_limit : float, optional
        Seconds after which the best channel so far is taken; it is within the budget all the same.
    sensitive, public, bins, release, handle_unknown, missing, smoothing, min_count, confidence
        As in `Watchdog`.
    keep_sensitive, random_state
        As in `Watchdog`. The channel is optimal for ``release="label"``; resampling prints its symbols as public
        ones and keeps less.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    SubsetRandomResponse : nearly as useful, for thousands of public symbols.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import OptimalRandomResponse
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = OptimalRandomResponse(0.5, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> sanitizer.report_.ok
    True
    """

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        mechanism = partial(optimal_random_response, budget=budget, gap=self.gap, time_limit=self.time_limit)
        return self._with_settings("optimal random response", mechanism, budget)


class SubsetRandomResponse(_Searching):
    """Optimal random response inside blocks of public symbols [ZDS Algorithm 2, with larger blocks].

    Parameters
    ----------
    budget : LiftBudget, LDPBudget or float
        What each released symbol may leak; a number is symmetric local information privacy (LIP) in nats.
        None, the default, raises at fit: there is no silent budget.
    gap : float
        Distance of I(X;Y) from the optimum that is good enough, in nats.
    time_limit : float, optional
        Seconds after which the best channel so far is taken; it is within the budget all the same.
    sensitive, public, bins, release, handle_unknown, missing, smoothing, min_count, confidence
        As in `Watchdog`.
    keep_sensitive, random_state
        As in `Watchdog`. The channel is designed for ``release="label"``; resampling prints its symbols as
        public ones and keeps less.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetRandomResponse
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = SubsetRandomResponse(0.5, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> sanitizer.report_.ok
    True
    """

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        mechanism = partial(subset_random_response, budget=budget, gap=self.gap, time_limit=self.time_limit)
        return self._with_settings("subset random response", mechanism, budget)
