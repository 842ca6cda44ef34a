"""Scorers for model selection: greater is better, so leakage is scored with a minus sign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sanitize._util.checks import check_choice
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable


def leakage_scorer(measure: str = "max_log_lift") -> Callable[..., float]:
    """Make a scorer that returns minus the leakage of a fitted sanitizer on held-out rows.

    Parameters
    ----------
    measure : str
        Name of a measure in the report, for example ``max_log_lift`` or ``mutual_information``.

    Returns
    -------
    callable
        ``scorer(sanitizer, X, y=None) -> float``, for ``scoring=`` of GridSearchCV and cross_val_score.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sanitize.transformers import SubsetMerging, leakage_scorer
    >>> df = sz.datasets.load_titanic()
    >>> search = GridSearchCV(
    ...     SubsetMerging(sensitive="survived", public=["class", "sex"]),
    ...     {"budget": [sz.LiftBudget.symmetric(nats) for nats in (0.5, 1.0, 2.0)]},
    ...     scoring=leakage_scorer("mutual_information"),
    ... )
    >>> search.fit(df).best_params_
    {'budget': LiftBudget(lower=0.5, upper=0.5)}
    """
    return _scorer(measure, 1.0 if measure == "min_log_lift" else -1.0)


def utility_scorer(measure: str = "normalized_utility") -> Callable[..., float]:
    """Make a scorer that returns the information on public columns that a fitted sanitizer keeps on held-out rows.

    Parameters
    ----------
    measure : {"normalized_utility", "utility"}
        Share of H(X) that is kept, or I(X;Y) in nats.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import Watchdog, utility_scorer
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"]).fit(df)
    >>> 0 < utility_scorer()(sanitizer, df) <= 1
    True
    """
    check_choice("measure", measure, "utility", "normalized_utility")

    return _scorer(measure, 1.0)


def _scorer(measure: str, sign: float) -> Callable[..., float]:
    """Make a function that returns ``sign`` times a figure of a fitted sanitizer on given rows."""

    def score(sanitizer: Any, X: Any, y: Any = None, **params: Any) -> float:
        values = sanitizer.measure(X, **params).summary
        if not isinstance(values.get(measure), float):
            names = sorted(name for name, value in values.items() if isinstance(value, float))
            raise InvalidParameter(f"measure must be one of {names}, got {measure!r}")
        return sign * float(values[measure])

    return score
