"""Estimators of the merging mechanisms."""

from __future__ import annotations

from sanitize.release.recipes.tuples import (
    DesignParameters,
    SubsetMergingParameters,
    SubsetMergingRecipe,
    WatchdogRecipe,
)
from sanitize.transformers._sanitizer import Sanitizer


class Watchdog(DesignParameters, Sanitizer):
    """Merge all high-risk public symbols into one [ZDS §III].

    Parameters
    ----------
    budget : Budget
        What each released symbol may leak, as ``LiftBudget(at_most=2, at_least=0.5)``; never a bare number.
        None, the default, raises at fit: there is no silent budget.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
    bins : dict of column to edges or calendar unit, or edges, optional
        Intervals of numbers or dates, by their edges; of dates also "day", "month", "quarter", "year" or "decade",
        which are printed by name. One list of edges cuts all columns of numbers.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are one symbol, or refused.
    smoothing : float
        Added to every cell of the counts: a prior, reported as such.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: printed, they would be somebody's.
    confidence : float, optional
        None claims that the rows are everybody, and the budget holds for their frequencies. With 0.95, say, the
        rows are a sample: the budget holds for every distribution of the values seen that the counts allow at this
        confidence, and the report is about all of them. Lift and LDP budgets only; not with smoothing or learned
        bin edges. The design is repeated three times, to report what confidence costs and what more rows would
        buy.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in all that is published, rows in their order among it: the
        channel is designed from counts with noise. Not with ``confidence``.
    person : str, optional
        Column that says whose a row is: rare are then combinations of fewer than ``min_count`` people, a confidence is
        about people, who were drawn with all of their rows, and the column is not released. "row" says that every row
        is a person of its own. By default columns that look like identifiers of people are refused.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

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
        What each released symbol may leak, as ``LiftBudget(at_most=2, at_least=0.5)``; never a bare number.
        None, the default, raises at fit: there is no silent budget.
    effort : float, optional
        Sets of symbols to judge above 17 public symbols, >= 1; see `sanitize.subset_merging`.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
    bins : dict of column to edges or calendar unit, or edges, optional
        Intervals of numbers or dates, by their edges; of dates also "day", "month", "quarter", "year" or "decade",
        which are printed by name. One list of edges cuts all columns of numbers.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are one symbol, or refused.
    smoothing : float
        Added to every cell of the counts: a prior, reported as such.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: printed, they would be somebody's.
    confidence : float, optional
        None claims that the rows are everybody, and the budget holds for their frequencies. With 0.95, say, the
        rows are a sample: the budget holds for every distribution of the values seen that the counts allow at this
        confidence, and the report is about all of them. Lift and LDP budgets only; not with smoothing or learned
        bin edges. The design is repeated three times, to report what confidence costs and what more rows would
        buy.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in all that is published, rows in their order among it: the
        channel is designed from counts with noise. Not with ``confidence``.
    person : str, optional
        Column that says whose a row is: rare are then combinations of fewer than ``min_count`` people, a confidence is
        about people, who were drawn with all of their rows, and the column is not released. "row" says that every row
        is a person of its own. By default columns that look like identifiers of people are refused.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

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
