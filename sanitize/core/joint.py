"""Contingency tables of (s, x), and validated joint distributions P_SX."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sanitize._util.checks import check_number, check_probabilities, doubles
from sanitize._util.limits import JOINT_CELLS
from sanitize.core.alphabet import Alphabet, arrow_columns, combine_rows
from sanitize.errors import ColumnError, InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.tables.columns import as_arrow, factorize
from sanitize.tables.keys import Combined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from sanitize.core.channel import Channel

__all__ = ["ContingencyTable", "JointDistribution"]

# Smaller probabilities have no inverse that a double can hold, and count as 0.
_TINY = np.finfo(np.float64).tiny


@dataclass(eq=False)
class ContingencyTable:
    """Counts of (sensitive, public) symbols, which grow batch by batch and merge with other tables.

    Attributes
    ----------
    sensitive, public : Alphabet
        Symbols seen so far.
    counts : ndarray of shape (n_s, n_x)
        Rows per cell: integers, or sums of weights as floats if rows had weights.
    n : int
        Rows counted.
    rows : tuple of ndarray, optional
        Codes of S and X, weight, and cluster (None if each row is its own cluster) of each row, if weighted rows were
        counted in one call.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = ContingencyTable.empty(["ill"], ["town"])
    >>> for batch in ({"ill": ["no", "yes"], "town": ["A", "A"]}, {"ill": ["no"], "town": ["B"]}):
    ...     table.count({name: pa.array(values) for name, values in batch.items()})
    >>> table.n, table.to_joint().pmf.round(4)
    (3, array([[0.3333, 0.3333],
           [0.3333, 0.    ]]))
    """

    sensitive: Alphabet
    public: Alphabet
    counts: NDArray[Any]
    n: int = 0
    _orders: Mapping[str, pa.Array] = field(default_factory=dict, repr=False)
    rows: tuple[Any, ...] | None = field(default=None, repr=False)
    row_counts: NDArray[Any] | None = field(default=None, repr=False)

    @classmethod
    def empty(
        cls, sensitive: Sequence[str], public: Sequence[str], orders: Mapping[str, pa.Array] | None = None
    ) -> ContingencyTable:
        """Return a table of counts for the given columns, without rows."""
        columns: dict[str, list[object]] = {name: [] for name in [*sensitive, *public]}
        first, second = (Alphabet.from_table(columns, side, orders) for side in (sensitive, public))
        return cls(first, second, np.zeros((0, 0), np.int64), 0, dict(orders or {}))

    def count(
        self, table: Mapping[str, Any], weights: Any = None, clusters: Any = None, largest: float | None = None
    ) -> None:
        """Add the rows of a table, given as a mapping of column names to columns; a weight of 3 counts as three rows.

        ``largest`` is the largest total weight of a cluster, or of a row, that could have been drawn.
        """
        names = tuple(dict.fromkeys((*self.sensitive.columns, *self.public.columns)))
        rows = combine_rows(table, names) if weights is None else arrow_columns(table, names)
        if isinstance(rows, Combined):
            present = np.flatnonzero(weights := rows.counts)
            rows, weights = rows.table(present), weights[present]
        s, x = self.sensitive.encode(rows), self.public.encode(rows)
        if clusters is not None:
            clusters = factorize(as_arrow(clusters, "clusters"), "clusters")[1]
        for values, what in ((x, "public columns"), (weights, "weights"), (clusters, "clusters")):
            if values is not None and len(values) != len(s):
                raise ColumnError(f"the {what} have {len(values)} rows, but the sensitive columns have {len(s)}")
        if len(s) == 0:
            return
        if s.min() < 0 or x.min() < 0:
            sides = self.sensitive.columns, self.public.columns
            sensitive, public = (Alphabet.from_table(rows, side, self._orders) for side in sides)
            self._extend(sensitive, public)
            s, x = self.sensitive.encode(rows), self.public.encode(rows)
        n_s, n_x = len(self.sensitive), len(self.public)
        cells = s.astype(np.int64) * n_x + x
        added = np.bincount(cells, weights=weights, minlength=n_s * n_x).reshape(n_s, n_x)
        is_weighted = weights is not None and not np.issubdtype(weights.dtype, np.integer)
        self.rows = (s, x, weights, clusters, largest) if is_weighted and self.n == 0 else None
        if weights is None:
            self.n += len(s)
        elif not is_weighted:
            added = added.astype(np.int64)
            self.n += int(weights.sum())
        else:
            self.n += int((weights > 0).sum())
        self.counts = self.counts + added
        if self.row_counts is not None:
            self.row_counts = self.row_counts + np.bincount(cells, minlength=n_s * n_x).reshape(n_s, n_x)

    def add(self, addend: ContingencyTable) -> None:
        """Merge the counts of another table of the same columns."""
        self.rows = None
        cells = self._extend(addend.sensitive, addend.public)
        self.counts = self.counts.astype(np.result_type(self.counts, addend.counts))
        self.counts[cells] += addend.counts
        if self.row_counts is not None:
            self.row_counts[cells] += addend.seen
        self.n += addend.n

    @property
    def seen(self) -> NDArray[Any]:
        """Number of rows in each cell, regardless of weights, shape (n_s, n_x)."""
        if self.row_counts is not None:
            return self.row_counts
        if self.rows is None:
            return self.counts
        s, x, weights, *_ = self.rows
        cells = s.astype(np.int64) * len(self.public) + x
        return np.bincount(cells, weights > 0, self.counts.size).reshape(self.counts.shape)

    @property
    def people(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of distinct clusters (people) with each sensitive and each public symbol."""
        s, x, weights, clusters, _ = self.rows or (None,) * 5
        if clusters is None:
            raise InvalidParameter("rows were counted without a column that identifies people; give person=")
        has_weight = weights > 0
        n = int(clusters.max(initial=0)) + 1
        first, second = (
            np.bincount(
                np.unique(codes[has_weight].astype(np.int64) * n + clusters[has_weight]) // n, minlength=len(symbols)
            )
            for codes, symbols in ((s, self.sensitive), (x, self.public))
        )
        return first, second

    def empty_copy(self) -> ContingencyTable:
        """Return an empty table of the same symbols, for more rows of the same table."""
        row_counts = None if self.row_counts is None else np.zeros_like(self.row_counts)
        return replace(self, counts=np.zeros_like(self.counts), n=0, rows=None, row_counts=row_counts)

    def with_rows_counted(self) -> ContingencyTable:
        """Return an empty table of the same symbols that counts rows as well as their weights."""
        return replace(self, row_counts=np.zeros(self.counts.shape, np.int64))

    def merge(self, addend: ContingencyTable) -> ContingencyTable:
        """Return a table with the counts of both tables, which stay unchanged."""
        total = replace(self)  # `add` sets new arrays and leaves the old ones alone
        total.add(addend)
        return total

    def _extend(self, sensitive: Alphabet, public: Alphabet) -> tuple[NDArray[Any], ...]:
        """Add new symbols, and return the positions of their cells."""
        self.sensitive, rows, more_rows = self.sensitive.union(sensitive)
        self.public, columns, more_columns = self.public.union(public)
        if len(self.sensitive) * len(self.public) > JOINT_CELLS:
            raise ColumnError(
                f"{len(self.sensitive)} sensitive times {len(self.public)} public symbols are too many to count; "
                "name fewer sensitive columns, or bin and pool values first"
            )
        for name, cells in (("counts", self.counts), ("row_counts", self.row_counts)):
            if cells is not None:
                extended = np.zeros((len(self.sensitive), len(self.public)), cells.dtype)
                extended[np.ix_(rows, columns)] = cells
                setattr(self, name, extended)
        return np.ix_(more_rows, more_columns)

    def to_joint(self, smoothing: float = 0.0) -> JointDistribution:
        """Return the relative frequencies, after adding ``smoothing`` to the count of every cell."""
        smoothing = check_number("smoothing", smoothing, "be a finite number >= 0", lambda value: 0 <= value < np.inf)
        if self.n == 0 or not self.counts.sum() > 0:
            raise InvalidDistribution("the table has no rows, or only rows of weight 0; add rows to learn from")
        counts = self.counts + smoothing
        rows, columns = counts.sum(axis=1) > 0, counts.sum(axis=0) > 0
        symbols = self.sensitive.take(np.flatnonzero(rows)), self.public.take(np.flatnonzero(columns))
        return JointDistribution(counts[np.ix_(rows, columns)] / counts.sum(), *symbols, self.n)


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """Distribution of (S, X) or (S, Y): probabilities sum to 1 and every symbol has positive probability.

    Cells may be zero: an empty cell has lift 0 and log-lift -inf, which are valid values.

    Parameters
    ----------
    pmf : ndarray of shape (n_s, n_x)
        Probabilities, with S on the first axis and X on the second.
    sensitive, public : Alphabet
        Symbols of the rows and columns.
    n : int, optional
        Number of rows that the distribution was counted from; None for a distribution not counted from rows.

    Examples
    --------
    >>> joint = JointDistribution.from_matrix([[0.3, 0.1], [0.2, 0.4]])
    >>> joint.p_s, joint.p_x
    (array([0.4, 0.6]), array([0.5, 0.5]))
    """

    pmf: NDArray[np.float64]
    sensitive: Alphabet
    public: Alphabet
    n: int | None = None

    def __post_init__(self) -> None:
        pmf = np.asarray(self.pmf, dtype=np.float64)
        if pmf.shape != (shape := (len(self.sensitive), len(self.public))) or not pmf.size:
            raise InvalidDistribution(
                f"pmf must be a matrix of shape {shape}, with a row for each sensitive symbol and a column for each "
                f"public symbol, and at least one of each; got shape {pmf.shape}"
            )
        vars(self)["pmf"] = _frozen(check_probabilities(pmf, "pmf", "; for counts use ContingencyTable"))
        for margin, name in ((self.p_s, "sensitive"), (self.p_x, "public")):
            empty = np.flatnonzero(margin < _TINY)
            if len(empty):
                raise InvalidDistribution(
                    f"{len(empty)} {name} symbol(s) have probability 0 (the first at position {empty[0]}); drop them"
                )

    @classmethod
    def from_matrix(cls, pmf: ArrayLike) -> JointDistribution:
        """Distribution from a matrix of probabilities (n_s, n_x); symbols are numbered from 0."""
        matrix = doubles(
            pmf, InvalidDistribution("pmf must be a matrix of numbers (n_s, n_x) with rows of equal length")
        )
        if matrix.ndim != 2:
            raise InvalidDistribution(f"pmf must be a matrix (n_s, n_x), got {matrix.ndim} dimension(s)")
        return cls(matrix, Alphabet.from_size("s", matrix.shape[0]), Alphabet.from_size("x", matrix.shape[1]))

    @classmethod
    def from_frame(
        cls, df: Any, sensitive: Sequence[str] | str, public: Sequence[str] | str, weights: ArrayLike | None = None
    ) -> JointDistribution:
        """Empirical distribution of the columns of a table.

        Parameters
        ----------
        df : pandas or polars DataFrame, pyarrow Table, or mapping of columns
        sensitive, public : str or list of str
            Columns that make up S and X.
        weights : array-like of shape (n_rows,), optional
            Weight of each row, non-negative.

        Examples
        --------
        >>> import pandas as pd
        >>> df = pd.DataFrame({"ill": ["no", "no", "yes", "no"], "town": ["A", "B", "B", "A"]})
        >>> JointDistribution.from_frame(df, sensitive="ill", public="town").pmf
        array([[0.5 , 0.25],
               [0.  , 0.25]])
        """
        return count_table(df, sensitive, public, weights).to_joint()

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("pmf", "sensitive", "public", "n")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.pmf.flags.writeable = False

    @cached_property
    def p_s(self) -> NDArray[np.float64]:
        """Prior of S, shape (n_s,)."""
        return _frozen(self.pmf.sum(axis=1))

    @cached_property
    def p_x(self) -> NDArray[np.float64]:
        """Marginal distribution of X (or Y), shape (n_x,)."""
        return _frozen(self.pmf.sum(axis=0))

    @cached_property
    def posterior(self) -> NDArray[np.float64]:
        """Posterior P(s|x), shape (n_s, n_x); columns sum to 1."""
        return _frozen(self.pmf / self.p_x)

    def push(self, channel: Channel) -> JointDistribution:
        """Distribution of (S, Y) when X passes through a channel; impossible released symbols are dropped."""
        if not hasattr(channel, "n_inputs"):
            raise InvalidChannel.no_channel(channel)
        check_fit(self, channel)
        pmf, outputs = channel.push(self.pmf), channel.outputs
        occurs = pmf.sum(axis=0)
        if not occurs.all():
            present = np.flatnonzero(occurs)
            pmf, outputs = pmf[:, present], outputs.take(present)
        return JointDistribution(pmf, self.sensitive, outputs, self.n)

    def __repr__(self) -> str:
        rows = "" if self.n is None else f", n={self.n}"
        return f"JointDistribution({len(self.sensitive)} sensitive x {len(self.public)} public symbols{rows})"


def count_table(
    df: Any, sensitive: Any, public: Any, weights: Any = None, clusters: Any = None, largest: float | None = None
) -> ContingencyTable:
    """Count the columns of a table, optionally with weights and clusters of rows."""
    sensitive, public = ([names] if isinstance(names, str) else list(names) for names in (sensitive, public))
    if overlap := set(sensitive) & set(public):
        raise ColumnError.fault(min(overlap), "is listed both as sensitive and as public; choose one")
    table = ContingencyTable.empty(sensitive, public)
    if weights is None:
        table.count(df)
        return table
    row_weights = np.asarray(weights, dtype=np.float64)
    if row_weights.ndim != 1 or not np.isfinite(row_weights).all() or (row_weights < 0).any():
        raise InvalidParameter("weights must be one finite, non-negative number per row")
    table.count(df, row_weights, clusters, largest)
    return table


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.flags.writeable = False
    return array


def check_distribution(joint: JointDistribution) -> JointDistribution:
    """Return the distribution; if it is something else, raise an error that says what was passed."""
    if not isinstance(joint, JointDistribution):
        raise InvalidDistribution.expected_joint(joint)
    return joint


def check_fit(joint: JointDistribution, channel: Channel) -> None:
    """Refuse a channel that takes more or fewer symbols than the distribution has."""
    if (taken := channel.n_inputs) != (n := len(joint.public)):
        raise InvalidChannel(
            f"the channel must take the {n} public symbols of the distribution, but it takes {taken} symbols"
        )


def sparse_counts(
    first_codes: NDArray[np.integer], second_codes: NDArray[np.integer], shape: tuple[int, int]
) -> sparse.csr_array:
    """Number of rows of each pair of codes, as a sparse matrix."""
    counts = np.bincount(first_codes.astype(np.int64) * shape[1] + second_codes, minlength=shape[0] * shape[1])
    seen = np.flatnonzero(counts != 0)
    starts = np.searchsorted(seen, np.arange(shape[0] + 1) * shape[1])
    return sparse.csr_array((counts[seen], seen % shape[1], starts), shape)
