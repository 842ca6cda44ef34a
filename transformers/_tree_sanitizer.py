"""The base of the estimators over whole tables, whose public symbols are the cells of a tree over all columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sanitize._release.recipes.secret_dp import refuse_secret_dp
from sanitize.errors import InvalidParameter
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize.report import LeakageReport


class TreeSanitizer(Sanitizer):
    """Base of the estimators whose public symbols are the cells of a tree."""

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:  # type: ignore[override]
        """Grow the tree, learn the law of (S, cell), design the channel and check it against the budget.

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

    def _fit_batches(self, batches: Iterator[Any]) -> Self:
        raise InvalidParameter(
            f"{type(self).__name__} reads its rows twice, to grow a tree and to count them, and an iterator is read "
            "once: give the name of a file or folder, or one table"
        )

    def measure(self, X: Any, *, sensitive_features: Any = None, confidence: float = 0.95) -> LeakageReport:
        """Leakage of the fitted channel under the law of other rows; see `Sanitizer.measure`.

        Raises
        ------
        InvalidParameter
            With ``secret_dp``: what it tells of these rows' secrets would have no noise.
        """
        refuse_secret_dp(self, "measure counts them without noise; use an estimator of its own, for your own eyes")
        return super().measure(X, sensitive_features=sensitive_features, confidence=confidence)
