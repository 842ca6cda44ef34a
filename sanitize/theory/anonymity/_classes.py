"""Counts of rows per class and sensitive value, from which all measures of the k-anonymity family are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Vector, check_choice
from sanitize.core.alphabet import Alphabet
from sanitize.core.binning import is_numeric
from sanitize.core.joint import ContingencyTable, JointDistribution
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.columns import as_arrow
from sanitize.tables.frame import Table

Columns = str | list[str] | tuple[str, ...] | None
Others = Literal["unknown", "known"]


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Counts of the values of one sensitive column in each class.

    Attributes
    ----------
    column : str
    counts : ndarray of shape (n_values, n_classes)
        Counts, with values in ascending order; every row and column has a positive count.
    numeric : bool
        True if the column is numeric and no value is missing.
    """

    column: str
    counts: NDArray[Any]
    numeric: bool

    @property
    def shares(self) -> Vector:
        """Share of each value in each class, shape (n_values, n_classes); columns sum to 1."""
        return self.counts / self.counts.sum(axis=0)

    @property
    def distribution(self) -> JointDistribution:
        """Relative frequencies of (value, class)."""
        return JointDistribution.from_matrix(self.counts / self.counts.sum())

    @classmethod
    def from_table(cls, table: ContingencyTable) -> ClassCounts:
        """Counts of each class, from a table of counts with one sensitive column."""
        counts = table.counts[np.ix_(table.counts.sum(axis=1) > 0, table.counts.sum(axis=0) > 0)]
        if not counts.size:
            raise ColumnError("the table has no rows, so it has no classes to measure; add rows")
        level = table.sensitive.levels[0]
        missing = bool((table.sensitive.codes[:, 0] == len(level)).any())
        return cls(table.sensitive.columns[0], counts, is_numeric(level.type) and not missing)


def class_sizes(table: Any, quasi_identifiers: Columns) -> NDArray[np.int64]:
    """Number of rows of each class; shape (n_classes,)."""
    names = _names(quasi_identifiers, table, "quasi_identifiers")
    rows, weights, orders = _rows(table, names)
    if weights is not None and not np.issubdtype(weights.dtype, np.integer):
        raise InvalidParameter(
            "k-anonymity needs whole numbers of rows, but the counts of the table are weighted; count without weights"
        )
    sizes = np.bincount(Alphabet.from_table(rows, names, orders).encode(rows), weights).astype(np.int64)
    if not len(sizes):
        raise ColumnError("the table has no rows, so it has no classes to measure; add rows")
    return sizes


def class_counts(table: Any, quasi_identifiers: Columns, sensitive: Columns, others: Others) -> list[ClassCounts]:
    """Count each sensitive column's values per class; other sensitive columns that readers know form classes, too."""
    check_choice("others", others, "unknown", "known")
    public, secret = class_names(table, quasi_identifiers, sensitive)
    rows, weights, orders = _rows(table, (*public, *secret))
    counts = []
    for name in secret:
        extra_columns = [column for column in secret if column != name] if others == "known" else []
        counted = ContingencyTable.empty([name], [*public, *extra_columns], orders)
        counted.count(rows, weights)
        counts.append(ClassCounts.from_table(counted))
    return counts


def _rows(table: Any, names: Sequence[str]) -> tuple[dict[str, Any], NDArray[Any] | None, Mapping[str, Any] | None]:
    """Return the columns, with distinct values that are computed once, and the weights of cells and orders of values.

    Weights are None if every row counts as one, and orders are None if values have their natural order.
    """
    if not isinstance(table, ContingencyTable):
        rows = Table.from_native(table)
        return {name: as_arrow(rows[name], name).dictionary_encode() for name in names}, None, None
    s, x = np.nonzero(table.counts)
    cells = {**table.sensitive.decode(s), **table.public.decode(x)}
    columns = (*table.sensitive.columns, *table.public.columns)
    orders = dict(zip(columns, (*table.sensitive.levels, *table.public.levels), strict=True))
    return {name: cells[name] for name in names}, table.counts[s, x], orders


def class_names(table: Any, quasi_identifiers: Columns, sensitive: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the columns that form the classes, and of the sensitive columns."""
    public, secret = _names(quasi_identifiers, table, "quasi_identifiers"), _names(sensitive, table, "sensitive")
    overlap = sorted(set(public) & set(secret))
    if overlap:
        raise ColumnError.fault(overlap[0], "is both a quasi-identifier and sensitive; choose one")
    return public, secret


def _names(columns: Columns, table: Any, what: str) -> tuple[str, ...]:
    """Check the names of columns; None means all columns of their kind in a table of counts."""
    allowed = None
    if isinstance(table, ContingencyTable):
        allowed = (table.sensitive if what == "sensitive" else table.public).columns
    if columns is None:
        if allowed is None:
            raise InvalidParameter(f"{what} must be given for a table of rows: name the columns, as in {what}=[...]")
        return allowed
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or len(set(names)) < len(names):
        given = ", ".join(map(repr, names)) or "none"
        raise ColumnError(f"{what} must name at least one column, and each column once, got {given}")
    if allowed is not None and (absent := [name for name in names if name not in allowed]):
        raise ColumnError.absent(absent[:1], allowed)
    return names
