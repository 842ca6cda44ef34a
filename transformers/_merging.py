"""Estimators whose mechanisms merge public symbols."""

from __future__ import annotations

from sanitize.release.recipes.tuples import (
    DesignParameters,
    SubsetMergingParameters,
    SubsetMergingRecipe,
    WatchdogRecipe,
)
from sanitize.transformers._sanitizer import Sanitizer


class Watchdog(DesignParameters, Sanitizer):
    """Merge all high-risk public symbols into one symbol [ZDS §III].

    Parameters
    ----------
    budget : Budget
        Limit on the leakage of each released symbol, such as ``LiftBudget(at_most=2, at_least=0.5)``; never a number.
        None, the default, raises at fit: there is no silent budget.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
    bins : dict of column to edges or calendar unit, or edges, optional
        Edges of intervals of numbers or dates; for dates also "day", "month", "quarter", "year" or "decade", which are
        released by name. A single list of edges applies to all columns of numbers.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are a symbol of their own, or are refused.
    smoothing : float
        Count added to every cell as a prior, which the report states.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: they could be traced to people.
    confidence : float, optional
        With None, the budget holds for the frequencies of these rows, which claims that they are everybody. With 0.95,
        say, the rows are a sample: the budget and the report cover every distribution of the values seen that the
        counts allow at this confidence. Lift and LDP budgets only; not with smoothing or learned bin edges. The design
        is repeated three times, to report the cost of confidence and the gain from more rows.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in everything published, including rows in their order: the
        channel is designed from counts with noise. Not with ``confidence``.
    person : str, optional
        Column that identifies the person of each row, which is not released. Combinations of fewer than ``min_count``
        people are then rare, and a confidence assumes that people were drawn, each with all rows. "row" says that every
        row is a person of its own. By default columns that look like identifiers of people are refused.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for internal work; the report then fails.
    random_state : None, int, RandomState or NoiseKey
        None uses a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    SubsetMerging : keeps more of the public columns under the same budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import Watchdog
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(1.0)
    >>> released = Watchdog(budget, sensitive="survived", public=["class", "sex"]).fit_transform(df)
    >>> list(released.columns), len(released) == len(df)
    (['class', 'sex'], True)
    """

    recipe_type = WatchdogRecipe


class SubsetMerging(SubsetMergingParameters, Sanitizer):
    """Merge high-risk public symbols into small groups, each safe by itself [ZDS §IV].

    Parameters
    ----------
    budget : Budget
        Limit on the leakage of each released symbol, such as ``LiftBudget(at_most=2, at_least=0.5)``; never a number.
        None, the default, raises at fit: there is no silent budget.
    effort : float, optional
        Number of sets of symbols to examine, >= 1, used above 17 public symbols; see `sanitize.subset_merging`.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
    bins : dict of column to edges or calendar unit, or edges, optional
        Edges of intervals of numbers or dates; for dates also "day", "month", "quarter", "year" or "decade", which are
        released by name. A single list of edges applies to all columns of numbers.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are a symbol of their own, or are refused.
    smoothing : float
        Count added to every cell as a prior, which the report states.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: they could be traced to people.
    confidence : float, optional
        With None, the budget holds for the frequencies of these rows, which claims that they are everybody. With 0.95,
        say, the rows are a sample: the budget and the report cover every distribution of the values seen that the
        counts allow at this confidence. Lift and LDP budgets only; not with smoothing or learned bin edges. The design
        is repeated three times, to report the cost of confidence and the gain from more rows.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in everything published, including rows in their order: the
        channel is designed from counts with noise. Not with ``confidence``.
    person : str, optional
        Column that identifies the person of each row, which is not released. Combinations of fewer than ``min_count``
        people are then rare, and a confidence assumes that people were drawn, each with all rows. "row" says that every
        row is a person of its own. By default columns that look like identifiers of people are refused.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for internal work; the report then fails.
    random_state : None, int, RandomState or NoiseKey
        None uses a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget(lower=1.0, upper=0.7)
    >>> sanitizer = SubsetMerging(budget, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> sanitizer.report_.ok
    True
    """

    recipe_type = SubsetMergingRecipe
