"""Estimator that chooses its mechanism: all that apply are designed, and the one that keeps most is used."""

from __future__ import annotations

from sanitize.release.recipes.best import BestSanitizerRecipe
from sanitize.release.recipes.tuples import TupleParameters
from sanitize.transformers._sanitizer import Sanitizer


class BestSanitizer(TupleParameters, Sanitizer):
    """Choose the mechanism that keeps most of the released columns, among those that apply to table and budget.

    Watchdog, subset merging, latent classes, and for lift and LDP budgets the random responses are designed for the
    same budget. What differs by less than 1/√n, about two standard errors, is as good as equal: of such the one is
    taken that leaves out fewest rows (tuples never print what fewer than ``min_count`` rows have), and then the
    simplest. What is compared is what they keep of each column, on average; without latent classes, of the tuples.
    Latent classes are left out for fewer than 1,000 rows, weights, smoothing and batches; tuples of fewer than
    five rows on average are left out where there are classes. With ``confidence`` both certificates, that of all
    tuples and that of the classes, hold together by the union bound: each at 97.5 % where 95 % are asked for. The
    report names the one that was chosen as its mechanism, and lists the others inside.

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
        Combinations of public values in fewer rows are pooled before the design: printed, they would be somebody's. Of
        tuples: where latent classes are chosen a model writes the rows.
    confidence : float, optional
        None claims that the rows are everybody, and the budget holds for their frequencies. With 0.95, say, the
        rows are a sample: the budget holds for every distribution of the values seen that the counts allow at this
        confidence, and the report is about all of them. Lift and LDP budgets only; not with smoothing or learned
        bin edges.
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
    compared_ : dict of str to LeakageReport
        Of each mechanism that was designed, by its name, at the confidence that its own certificate has.
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
