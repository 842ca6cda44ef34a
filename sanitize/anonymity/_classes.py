"""Rows of equal quasi-identifiers, counted by sensitive value: what every measure of the k-anonymity family reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._checks import one_of
from sanitize._tables.columns import as_arrow
from sanitize._tables.frame import Table
from sanitize.alphabet import Alphabet
from sanitize.binning import is_numeric
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.joint import ContingencyTable, JointDistribution

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
    def shares(self) -> NDArray[np.float64]:
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
    if isinstance(table, ContingencyTable):
        if not np.issubdtype(table.counts.dtype, np.integer):
            raise InvalidParameter("k is a number of rows, and these counts are weighted; count without weights")
        codes = _public_codes(table, _names(quasi_identifiers, table.public.columns, "quasi_identifiers"))
        sizes = np.bincount(codes, table.counts.sum(axis=0)).astype(np.int64)
        sizes = sizes[sizes > 0]
    else:
        names = _names(quasi_identifiers, None, "quasi_identifiers")
        rows = _encoded(table, names)
        sizes = np.bincount(Alphabet.from_table(rows, names).encode(rows))
    if not len(sizes):
        raise ColumnError("the table has no rows, so there are no classes")
    return sizes


def class_counts(table: Any, quasi_identifiers: Columns, sensitive: Columns, others: Others) -> list[ClassCounts]:
    """Counts of each sensitive column; with others known, they join the quasi-identifiers."""
    one_of("others", others, "unknown", "known")
    public, secret = class_names(table, quasi_identifiers, sensitive)
    if isinstance(table, ContingencyTable):
        return [ClassCounts.of(_marginal(table, name, public, secret if others == "known" else ())) for name in secret]
    rows = _encoded(table, (*public, *secret))
    found = []
    for name in secret:
        beside = [other for other in secret if other != name] if others == "known" else []
        counted = ContingencyTable.empty([name], [*public, *beside])
        counted.count(rows)
        found.append(ClassCounts.of(counted))
    return found


def _encoded(table: Any, names: Sequence[str]) -> dict[str, Any]:
    """Columns with their values found once, for all the counts that follow."""
    rows = Table.of(table)
    return {name: as_arrow(rows[name], name).dictionary_encode() for name in names}


def class_names(table: Any, quasi_identifiers: Columns, sensitive: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that make the classes, and the sensitive ones."""
    known = (table.public.columns, table.sensitive.columns) if isinstance(table, ContingencyTable) else (None, None)
    public = _names(quasi_identifiers, known[0], "quasi_identifiers")
    secret = _names(sensitive, known[1], "sensitive")
    both = sorted(set(public) & set(secret))
    if both:
        raise ColumnError(f"column {both[0]!r} is both a quasi-identifier and sensitive; choose one", both[0])
    return public, secret


def _marginal(table: ContingencyTable, name: str, public: Sequence[str], secret: Sequence[str]) -> ContingencyTable:
    """Counts of one sensitive column by the classes of some columns."""
    column = table.sensitive.columns.index(name)
    level = table.sensitive.levels[column]
    keep = [table.sensitive.columns.index(other) for other in secret if other != name]
    s, x = np.nonzero(table.counts)
    parts = [_public_codes(table, public)[x], *table.sensitive.codes[s][:, keep].T]
    classes = np.unique(np.stack(parts), axis=1, return_inverse=True)[1].ravel()
    values = table.sensitive.codes[s, column].astype(np.int64)
    n_classes = int(classes.max(initial=-1)) + 1
    shape = (len(level) + 1, n_classes)
    counts = np.zeros(shape, table.counts.dtype)
    np.add.at(counts, (values, classes), table.counts[s, x])
    present = np.flatnonzero(counts.sum(axis=1))
    every = Alphabet._of((name,), (level,), np.arange(len(level) + 1, dtype=np.int32)[:, None])
    return ContingencyTable(every.take(present), Alphabet.of_size("class", n_classes), counts[present], table.n)


def _public_codes(table: ContingencyTable, names: Sequence[str]) -> NDArray[np.int64]:
    """Class of each public symbol when only some columns are looked at."""
    columns = [table.public.columns.index(name) for name in names]
    return np.unique(table.public.codes[:, columns], axis=0, return_inverse=True)[1].ravel()


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
