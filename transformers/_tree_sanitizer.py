"""The base of the estimators over whole tables, whose public symbols are the cells of a tree over all columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sanitize._release.designers import tree_designer as designers
from sanitize.errors import InvalidParameter
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Iterator


class TreeSanitizer(designers.TreeSanitizer, Sanitizer):
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
