"""Rows of equal quasi-identifiers, counted by sensitive value: what every measure of the k-anonymity family reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Vector, one_of
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
    """Counts of one sensitive column in each class.

    Attributes
    ----------
    column : str
    counts : ndarray of shape (n_values, n_classes)
        Values in ascending order; every row and column has a count.
    numeric : bool
        The column is numeric and no value is missing.
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
    def of(cls, table: ContingencyTable) -> ClassCounts:
        """Counts of a table with one sensitive column."""
        counts = table.counts[np.ix_(table.counts.sum(axis=1) > 0, table.counts.sum(axis=0) > 0)]
        if not counts.size:
            raise ColumnError("the table has no rows, so there are no classes")
        level = table.sensitive.levels[0]
        missing = bool((table.sensitive.codes[:, 0] == len(level)).any())
        return cls(table.sensitive.columns[0], counts, is_numeric(level.type) and not missing)


def class_sizes(table: Any, quasi_identifiers: Columns) -> NDArray[np.int64]:
    """Rows of each class; shape (n_classes,)."""
    known = None
    if isinstance(table, ContingencyTable):
        if not np.issubdtype(table.counts.dtype, np.integer):
            raise InvalidParameter("k is a number of rows, and these counts are weighted; count without weights")
        known = table.public.columns
    names = _names(quasi_identifiers, known, "quasi_identifiers")
    rows, weights, orders = _rows(table, names)
    sizes = np.bincount(Alphabet.from_table(rows, names, orders).encode(rows), weights).astype(np.int64)
    if not len(sizes):
        raise ColumnError("the table has no rows, so there are no classes")
    return sizes


def class_counts(table: Any, quasi_identifiers: Columns, sensitive: Columns, others: Others) -> list[ClassCounts]:
    """Counts of each sensitive column; with others known, they join the quasi-identifiers."""
    one_of("others", others, "unknown", "known")
    public, secret = class_names(table, quasi_identifiers, sensitive)
    rows, weights, orders = _rows(table, (*public, *secret))
    found = []
    for name in secret:
        beside = [other for other in secret if other != name] if others == "known" else []
        counted = ContingencyTable.empty([name], [*public, *beside], orders)
        counted.count(rows, weights)
        found.append(ClassCounts.of(counted))
    return found


def _rows(table: Any, names: Sequence[str]) -> tuple[dict[str, Any], NDArray[Any] | None, Mapping[str, Any] | None]:
    """Columns with their values found once, for all the counts that follow; of counts their cells, weights and orders.

    The weights are None where every row is one, and so are the orders where values have their own.
    """
    if not isinstance(table, ContingencyTable):
        rows = Table.of(table)
        return {name: as_arrow(rows[name], name).dictionary_encode() for name in names}, None, None
    s, x = np.nonzero(table.counts)
    cells = {**table.sensitive.decode(s), **table.public.decode(x)}
    both = (table.sensitive, table.public)
    orders = {name: level for own in both for name, level in zip(own.columns, own.levels, strict=True)}
    return {name: cells[name] for name in names}, table.counts[s, x], orders


def class_names(table: Any, quasi_identifiers: Columns, sensitive: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that make the classes, and the sensitive ones."""
    known = (table.public.columns, table.sensitive.columns) if isinstance(table, ContingencyTable) else (None, None)
    public = _names(quasi_identifiers, known[0], "quasi_identifiers")
    secret = _names(sensitive, known[1], "sensitive")
    both = sorted(set(public) & set(secret))
    if both:
        raise ColumnError(f"column {both[0]!r} is both a quasi-identifier and sensitive; choose one", both[0])
    return public, secret


def _names(given: Columns, known: tuple[str, ...] | None, what: str) -> tuple[str, ...]:
    if given is None:
        if known is None:
            raise InvalidParameter(f"name the columns: {what}=[...]")
        return known
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or len(set(names)) < len(names):
        raise ColumnError(f"{what} must name at least one column, each once")
    for name in names:
        if known is not None and name not in known:
            raise ColumnError.absent([name], known)
    return names
