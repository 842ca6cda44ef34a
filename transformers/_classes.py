"""Estimator for tables of many columns, whose public symbols are latent classes of rows."""

from __future__ import annotations

from typing import Any, Self

from sanitize.release.recipes.classes import LatentClassParameters, LatentClassReleaseRecipe
from sanitize.transformers._sanitizer import Sanitizer


class LatentClassRelease(LatentClassParameters, Sanitizer):
    """Release many columns as generated rows, with a limit on what the latent class of a row reveals.

    Latent classes are fitted to the public columns by EM, without a look at the sensitive ones. The class of each row
    goes through a channel that is designed for (S, class) within the budget, and the model writes a row for each class
    that is released. No released row is copied from a real person. S - X - class - Y is a Markov chain: the limit
    holds for whole rows.

    Parameters
    ----------
    budget : Budget
        What each released class may reveal, as ``LiftBudget(at_most=2, at_least=0.5)``; never a bare number.
        None, the default, raises at fit: there is no silent budget.
    sensitive, public : str, int, list of them, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones: numbers, dates, times, text and
        booleans as they come, tens of them.
    keep : str, int, list of them, or callable, optional
        Columns that stay as they are: a known outcome, a weight, a date. The model generates the others given these,
        and the limit is on what a row's kept values and its released class reveal together. Each value counts by
        itself; of a column with bins its interval counts, and the value is written all the same, in rows that keep
        their order. Without a confidence, for lift and LDP budgets.
    n_classes : int, optional
        By default a number that grows with the rows. One class makes rows that have no link to those of the table.
    rule : str, optional
        What designs the channel on classes: "optimal-random-response" (the default for lift and LDP budgets),
        "subset-random-response", "subset-merging" (the default for all others) or "watchdog".
    target : str, optional
        Public column whose information alone the design keeps.
    hierarchies : dict of column to hierarchy, optional
        Ancestors of each value, nearest first, or the path of a CSV file in ARX's format: a rare value is written as
        an ancestor.
    bins : dict of column to edges, number or unit, optional
        Intervals of sensitive columns; of public ones the edges of the levels that the model counts.
    confidence : float, optional
        None claims that the rows are everybody. With 0.95, say, three tenths of the rows fit the classes and the
        others certify the channel: the limit holds for the population that the rows were drawn from. Lift and LDP
        budgets only.
    effort : float, optional
        Units of work of the design; the same effort is the same work on every machine.
    missing : {"category", "error"}
        Missing values are a value like any other, or refused.
    person : str, optional
        Column that says whose a row is: the model is then learned from one row of each person, so that every value
        that is written, and every class, is that of at least ten people; the column is not released. Without a
        confidence only. "row" says that every row is a person of its own. By default columns that look like
        identifiers of people are refused, and rows of a value that look like one person's count once.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in all that is published, in rows that keep their order,
        too: counts of sensitive values get noise before anything else sees them. With ``confidence`` or ``keep`` only.
    record_dp : RecordDP, optional
        Differential privacy of whole rows in all but the symbols drawn for them: classes are fitted to rows of a
        private model. With ``confidence`` only, and instead of ``secret_dp``.

    Attributes
    ----------
    classes_ : sanitize.release.classes.LatentClassModel
    channel_ : Channel
        From classes to the classes that rows are written for.
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    OptimalRandomResponse : for two or three columns, whose values then stay those of the row.

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
            The table, with the sensitive columns in it unless ``sensitive_features`` is given; or the name of a Parquet
            or CSV file or folder.
        y : ignored
            Never the sensitive column.
        sensitive_features : array-like or frame of shape (n_rows,) or (n_rows, k), optional
            The sensitive columns when they come apart from X.

        Returns
        -------
        self

        Raises
        ------
        BudgetExceeded
            If the designed channel exceeds the budget.
        ColumnError, InvalidParameter, InvalidBudget
            If a column, a parameter or the budget is not as described, or a kept column reveals more than the limit
            allows by itself.
        """
        return super().fit(X, y, sensitive_features=sensitive_features)
