"""Estimators over whole tables, whose public symbols are the cells of a tree over all columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sanitize._release.designer import refuse_noisy
from sanitize._release.recipes.trees import (
    TreeMergingRecipe,
    TreeParameters,
    TreeRandomResponseParameters,
    TreeRandomResponseRecipe,
)
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from sanitize.report import LeakageReport


class TreeSanitizer(Sanitizer):
    """Base of the estimators whose public symbols are the cells of a tree."""

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:  # type: ignore[override]
        """Grow the tree, learn the distribution of (S, cell), design the channel and check it against the budget.

        Parameters
        ----------
        X : DataFrame, pyarrow Table or array of shape (n_rows, n_features); or path
            The table, with the sensitive columns in it unless ``sensitive_features`` is given; or the name of a Parquet
            or CSV file or folder. Rows have no weights: what a cell stands for is counted in rows.
        y : ignored
            Never the sensitive column.
        sensitive_features : array-like or frame of shape (n_rows,) or (n_rows, k), optional
            The sensitive columns when they come apart from X.

        Returns
        -------
        self

        Raises
        ------
        ColumnError, InvalidParameter, InvalidBudget
            If a column, a parameter or the budget is not as described.
        """
        return super().fit(X, y, sensitive_features=sensitive_features)

    def measure(self, X: Any, *, sensitive_features: Any = None, confidence: float = 0.95) -> LeakageReport:
        """Leakage of the fitted channel under the distribution of other rows; see `Sanitizer.measure`.

        Raises
        ------
        InvalidParameter
            With ``secret_dp``: what it tells of these rows' secrets would have no noise.
        """
        refuse_noisy(self, "measure counts them without noise; use an estimator of its own, for your own eyes")
        return super().measure(X, sensitive_features=sensitive_features, confidence=confidence)


class TreeMerging(TreeParameters, TreeSanitizer):
    """Release, of each row, the block of a tree over all public columns that it lies in, printed as a row again.

    The tree is grown from the whole table, best split first, while both sides are within the budget.

    Parameters
    ----------
    budget : Budget or float
        What each released symbol may leak; a number is symmetric local information privacy (LIP) in nats.
        None, the default, raises at fit: there is no silent budget.
    sensitive, public : str, int, list of them, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones: numbers, dates, times, text and
        booleans as they come, tens of them.
    min_rows : int
        Least rows of a block; with ``confidence`` at least as many as a block needs to be certified.
    max_cells : int, optional
        Most cells; 4096 by default, and 512 at most with ``confidence``. One cell makes rows that have no link to those
        of the table: plain synthetic rows.
    weights : dict of column to float, optional
        How much the information about each column counts; 1 by default.
    hierarchies : dict of column to hierarchy, optional
        Ancestors of each value, nearest first, or the path of a CSV file in ARX's format. Such a column is only split
        into one value or one node of the hierarchy, and the rest.
    target : str, optional
        Public column whose information alone is to be kept.
    bins : dict of column to edges, number or unit, optional
        Intervals of sensitive columns; of public ones the edges at which they may be cut, in place of learned ones.
    output : {"model", "label", "resample"}, optional
        Print a released block as a row drawn from a model of all columns, which is nobody's; as intervals and sets of
        values, as text; or as a real row of the block, to which the limit then does not apply: its report says so. By
        default a model, and labels of fewer than 1,000 rows.
    confidence : float, optional
        None claims that the rows are everybody. With 0.95, say, the tree is grown on a fifth of the rows, and blocks of
        its cells are certified on all others, or give way to larger ones: the budget holds for fresh rows of the
        source. Lift and LDP budgets only.
    missing : {"category", "error"}
        Missing values are a value like any other, or refused.
    person : {"row"}, optional
        Every row is a person of its own. By default columns that look like identifiers of people are refused; where
        people have several rows, see `sanitize.relational.UnitRelease`.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    tree_ : sanitize.trees.Tree
    channel_ : Channel
        From cells.
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    TreeRandomResponse : keeps more of the public columns under the same budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import TreeMerging
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = TreeMerging(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="survived", min_rows=50).fit(df)
    >>> sanitizer.report_.ok, list(sanitizer.transform(df).columns)
    (True, ['class', 'sex', 'age'])
    """

    recipe_type = TreeMergingRecipe


class TreeRandomResponse(TreeRandomResponseParameters, TreeSanitizer):
    """Exchange rows at random with like rows, inside the blocks of a tree over all public columns [ZDS Algorithm 2].

    Blocks are within the budget as in `TreeMerging`; each is cut further, without a look at S, into cells of rows that
    are alike, and the optimal random response mixes the cells of each block.

    Parameters
    ----------
    budget : LiftBudget, LDPBudget or float
        What each released symbol may leak; a number is symmetric local information privacy (LIP) in nats.
        None, the default, raises at fit: there is no silent budget.
    sensitive, public : str, int, list of them, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones: numbers, dates, times, text and
        booleans as they come, tens of them.
    min_rows, min_cell_rows : int
        Least rows of a block and of a cell.
    max_cells : int, optional
        Most cells; 4096 by default. With ``confidence`` at most 256, by default about as many as the rows can certify.
    weights : dict of column to float, optional
        How much the information about each column counts; 1 by default.
    hierarchies : dict of column to hierarchy, optional
        Ancestors of each value, nearest first, or the path of a CSV file in ARX's format. Such a column is only split
        into one value or one node of the hierarchy, and the rest.
    target : str, optional
        Public column whose information alone is to be kept.
    bins : dict of column to edges, number or unit, optional
        Intervals of sensitive columns; of public ones the edges at which they may be cut, in place of learned ones.
    output : {"model", "label", "resample"}, optional
        Print a released cell as a row drawn from a model of all columns, which is nobody's; as intervals and sets of
        values, as text; or as a real row of the cell, to which the limit then does not apply: its report says so. By
        default a model, and labels of fewer than 1,000 rows.
    confidence : float, optional
        None claims that the rows are everybody. With 0.95, say, the tree is grown on a fifth of the rows, and mixtures
        of cells are certified on all others: the budget holds for fresh rows of the source.
    secret_dp : SecretDP, optional
        Publish everything, report and refusal included, under differential privacy of each row's secret, of noisy
        counts alone. Needs ``confidence``, whose certificate takes in the noise.
    record_dp : RecordDP, optional
        The same of whole rows: all but the symbols drawn for them follows from noisy counts. Needs ``confidence``, and
        values or ``bins`` of all columns, or a δ. One cell (``max_cells=1``) makes private synthetic rows.
    missing : {"category", "error"}
        Missing values are a value like any other, or refused.
    person : {"row"}, optional
        Every row is a person of its own. By default columns that look like identifiers of people are refused; where
        people have several rows, see `sanitize.relational.UnitRelease`.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    tree_ : sanitize.trees.Tree
    channel_ : Channel
        From cells.
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    TreeMerging : for other kinds of budgets.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import TreeRandomResponse
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = TreeRandomResponse(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="survived", min_rows=100).fit(df)
    >>> sanitizer.report_.ok, list(sanitizer.transform(df).columns)
    (True, ['class', 'sex', 'age'])
    """

    recipe_type = TreeRandomResponseRecipe
