"""Estimator for tables of many columns, whose public symbols are latent classes of rows."""

from __future__ import annotations

from typing import Any, Self

from sanitize.release.recipes.classes import LatentClassParameters, LatentClassReleaseRecipe
from sanitize.transformers._sanitizer import Sanitizer


class LatentClassRelease(LatentClassParameters, Sanitizer):
    """Release many columns as generated rows, with a limit on what the latent class of a row reveals.

    Latent classes are fitted to the public columns by EM, without using the sensitive ones. The class of each row goes
    through a channel that is designed for (S, class) within the budget, and the model generates a row for each released
    class. No released row is copied from a real person. S - X - class - Y is a Markov chain: the limit
    holds for whole rows.

    Parameters
    ----------
    budget : Budget
        Limit on the leakage of each released class, such as ``LiftBudget(at_most=2, at_least=0.5)``; never a number.
        None, the default, raises at fit: there is no silent budget.
    sensitive, public : str, int, list of them, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones: tens of columns of
        numbers, dates, times, text and booleans, without preparation.
    keep : str, int, list of them, or callable, optional
        Columns that stay unchanged: a known outcome, a weight, a date. The model generates the other columns given
        these, and the limit covers the kept values of a row and its released class together. Each value is a symbol; in
        a column with bins each interval is, although the value itself is written, in rows that keep their order. Not
        with a confidence; for lift and LDP budgets.
    n_classes : int, optional
        Number of classes, which by default grows with the rows. With one class, released rows have no link to rows of
        the table.
    rule : str, optional
        Mechanism that designs the channel on classes: "optimal-random-response" (the default for lift and LDP budgets),
        "subset-random-response", "subset-merging" (the default for all others) or "watchdog".
    target : str, optional
        Public column on which the design maximizes the information, instead of all columns.
    hierarchies : dict of column to hierarchy, optional
        Ancestors of each value, nearest first, or the path of a CSV file in ARX's format: a rare value is written as
        an ancestor.
    bins : dict of column to edges, number or unit, optional
        Intervals of sensitive columns; for public columns, edges of the levels that the model counts.
    confidence : float, optional
        None claims that the rows are everybody. With 0.95, say, three tenths of the rows fit the classes and the
        others certify the channel, so that the limit holds for the population from which the rows were drawn. Lift and
        LDP budgets only.
    effort : float, optional
        Units of work of the design; an effort is the same work on every machine.
    missing : {"category", "error"}
        Missing values count as a value like any other, or are refused.
    person : str, optional
        Column that identifies the person of each row, which is not released. The model is then learned from one row per
        person, so that at least ten people share every written value and every class. Not with a confidence. "row" says
        that every row is a person of its own. By default columns that look like identifiers of people are refused, and
        rows of a value that look like one person's count once.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for internal work; the report then fails.
    random_state : None, int, RandomState or NoiseKey
        None uses a cryptographic generator keyed by the operating system. Integers are for tests.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in everything published, even if rows keep their order:
        counts of sensitive values get noise before any use. Only with ``confidence`` or ``keep``.
    record_dp : RecordDP, optional
        Differential privacy of whole rows in everything except the symbols drawn for them: classes are fitted to rows
        of a private model. Only with ``confidence``, and not with ``secret_dp``.

    Attributes
    ----------
    classes_ : sanitize.release.classes.LatentClassModel
    channel_ : Channel
        Channel from classes to the classes for which rows are written.
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    OptimalRandomResponse : for two or three columns, whose released values stay linked to their row.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import LatentClassRelease
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget(at_most=1.5, at_least=0.5)
    >>> sanitizer = LatentClassRelease(budget, sensitive="survived", random_state=0).fit(df)
    >>> sanitizer.report_.ok, list(sanitizer.transform(df).columns)
    (True, ['class', 'sex', 'age'])
    >>> wider = sz.LiftBudget(at_most=2, at_least=0.5)
    >>> released = LatentClassRelease(wider, sensitive="survived", keep="class", random_state=0).fit_transform(df)
    >>> bool((released["class"] == df["class"]).all())
    True
    """

    recipe_type = LatentClassReleaseRecipe

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:  # type: ignore[override]
        """Fit the classes, learn the distribution of (S, class), design the channel and check it against the budget.

        Parameters
        ----------
        X : DataFrame, pyarrow Table or array of shape (n_rows, n_features); or path
            Table that includes the sensitive columns unless ``sensitive_features`` is given; or the name of a Parquet
            or CSV file or folder.
        y : ignored
            Never taken as the sensitive column.
        sensitive_features : array-like or frame of shape (n_rows,) or (n_rows, k), optional
            Sensitive columns, if X does not include them.

        Returns
        -------
        self

        Raises
        ------
        BudgetExceeded
            If the designed channel exceeds the budget.
        ColumnError, InvalidParameter, InvalidBudget
            If a column, a parameter or the budget is invalid, or a kept column by itself reveals more than the limit
            allows.
        """
        return super().fit(X, y, sensitive_features=sensitive_features)
