"""Estimator that designs with every mechanism that applies, and uses the design that keeps most."""

from __future__ import annotations

from sanitize.release.recipes.best import BestSanitizerRecipe
from sanitize.release.recipes.tuples import TupleParameters
from sanitize.transformers._sanitizer import Sanitizer


class BestSanitizer(TupleParameters, Sanitizer):
    """Choose the mechanism that keeps most of the released columns, among those that fit the table and the budget.

    Watchdog, subset merging, latent classes and, for lift and LDP budgets, the random responses are designed for the
    same budget. They are compared by the information kept per column, on average; without latent classes, by the
    information on tuples. Differences below 1/√n, about two standard errors, count as ties. Among ties, the design that
    leaves out the fewest rows (tuples in fewer than ``min_count`` rows are never released) is used, then the simplest.
    Latent classes are not tried with fewer than 1,000 rows, weights, smoothing or batches; tuples with fewer than five
    rows on average are not tried next to latent classes. With ``confidence``, the certificate of all tuples and that of
    the classes hold together by the union bound: each at 97.5 % if 95 % are requested. The report names the chosen
    mechanism, and its internal view lists the others.

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
        This applies to tuples; with latent classes, a model writes the rows.
    confidence : float, optional
        With None, the budget holds for the frequencies of these rows, which claims that they are everybody. With 0.95,
        say, the rows are a sample: the budget and the report cover every distribution of the values seen that the
        counts allow at this confidence. Lift and LDP budgets only; not with smoothing or learned bin edges.
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
    compared_ : dict of str to LeakageReport
        Report of each design by the name of its mechanism, at the confidence of its own certificate.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    sanitize.compare : the same comparison, as a table.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import BestSanitizer
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = BestSanitizer(sz.LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"]).fit(df)
    >>> sanitizer.report_.facts.mechanism
    'optimal random response'
    """

    recipe_type = BestSanitizerRecipe
