"""Tables whose rows belong to rows of other tables, and summaries of the rows of each owner."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._util.checks import Vector
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.people._history import run_starts
from sanitize.release.classes import LEAST_ROWS
from sanitize.tables.columns import (
    MISSING,
    UNSEEN,
    as_arrow,
    ascending,
    factorize,
    get_column,
    look_up,
    mask_values,
    python_values,
)
from sanitize.tables.frame import Table
from sanitize.tables.ordered import as_ordered, decode_dictionary, from_ordered, is_ordered

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Most categories of a column whose shares are in a profile: each is a column to learn, and rarer categories have too
# few rows.
_SHARES = 12


@dataclass(frozen=True)
class Child:
    """Settings of a table whose rows belong to rows of another table.

    Parameters
    ----------
    order : str, optional
        Column of numbers, dates or times that orders the rows of each owner; by default the order in the table.
        Generated rows get the column from a first value of each owner and the differences.
    key : str, optional
        Column that identifies the owner of each row; by default the key of the units. It may be missing in rows without
        an owner.
    parent : str, optional
        Name of the table of the owners; by default the root.
    id : str, optional
        Column that identifies the rows of this table, if rows of other tables belong to them.
    public : sequence of str, optional
        Other columns to release; by default all except ``drop``.
    drop : sequence of str
        Columns to leave out. If ``public`` is given, each column must be in one of the two lists.
    summaries : mapping of column to sequence of str, optional
        Summaries of a column in the profile of its owner: ``share`` and ``count`` of its most frequent values, ``sum``,
        ``mean``, ``min``, ``max``, ``first``, ``last``. By default the mean of numbers, and shares of other values.

    Examples
    --------
    >>> Child(order="date", id="visit_id")
    Child(order='date', key=None, parent=None, id='visit_id', public=None, drop=(), summaries={})
    """

    order: str | None = None
    key: str | None = None
    parent: str | None = None
    id: str | None = None
    public: Sequence[str] | None = None
    drop: Sequence[str] = ()
    summaries: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def select_columns(self, table: pa.Table, name: str, key: str) -> pa.Table:
        """Return the released columns of a table, and its keys.

        Raises
        ------
        ColumnError
            If a column is absent, or in neither list.
        """
        keys = dict.fromkeys(column for column in (self.key or key, self.id, self.order) if column is not None)
        required = [*keys, *(self.public or ()), *self.drop, *self.summaries]
        if absent := [column for column in required if column not in table.column_names]:
            raise ColumnError.absent(absent, table.column_names)
        left = [column for column in table.column_names if column not in {*keys, *self.drop}]
        if unlisted := [column for column in left if self.public is not None and column not in self.public]:
            words = f"column {unlisted[0]!r} of table {name!r} is neither public nor dropped; add it to public or drop"
            raise ColumnError(words, unlisted[0])
        return table.drop_columns([column for column in table.column_names if column not in {*keys, *left}])


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """Rows of a table, grouped by owner and in order; rows without an owner come last.

    Attributes
    ----------
    name : str
    table : Table
        Empty table of the same kind, for writing generated rows.
    types : mapping of name to type
    child : Child
    columns : dict of name to column
        Columns without keys, with summaries of the table's own children.
    owner : ndarray of int, shape (n,)
        Number of each row's owner; each row without an owner counts as one.
    n_owners : int
        Number of real owners.
    unit : ndarray of int, shape (n_owners + rows of nobody,)
    keys : column
        Identifier of each row, to which rows of other tables refer.
    children : tuple of OwnedRows
    shared : dict of str to str
        Columns that are constant in the rows of each owner, with their names among the owner's columns.
    summary_names : set of str
        Names of columns that summarize rows of other tables.
    before : dict of str to pair, optional
        For rows of a private model, which have no order: each column of the previous row, and mask of rows without one.
    """

    name: str
    table: Table
    types: Mapping[str, pa.DataType]
    child: Child
    columns: dict[str, Any]
    owner: NDArray[np.intp]
    n_owners: int
    unit: NDArray[np.intp]
    keys: Any
    children: tuple[OwnedRows, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    summary_names: frozenset[str] = frozenset()
    before: dict[str, tuple[Any, NDArray[np.bool_]]] | None = None

    @property
    def below(self) -> list[OwnedRows]:
        """All tables that belong to this table, directly or indirectly."""
        return [rows for child in self.children for rows in (child, *child.below)]

    @property
    def n_nobody(self) -> int:
        """Number of rows without an owner."""
        return len(self.unit) - self.n_owners

    @property
    def count(self) -> str:
        """Name of the column that has, in the table of the owners, each owner's number of rows."""
        return f"{self.name}: number of rows"

    @property
    def start(self) -> str:
        """Name of the column that has, in the table of the owners, the first value of ``order`` for each owner."""
        return f"{self.name}: first {self.child.order}"

    def owner_rows(self, columns: Mapping[str, Any], n: int) -> NDArray[np.intp]:
        """Number of rows of each of n generated owners; constant if all owners in the table have the same number."""
        if self.count not in columns:
            return np.full(n, np.searchsorted(self.owner, 1))
        return as_ordered(columns[self.count], self.count)[0].clip(0).astype(np.intp)

    def shares(self, profile: Mapping[str, Any], n: int) -> dict[str, dict[str, Vector]]:
        """Shares of values among the rows of n generated owners, by column and value, taken from the profiles."""
        result: dict[str, dict[str, Vector]] = {}
        for name in self.columns:
            start = f"{self.name}: share of {name} = "
            for label in (label for label in profile if label.startswith(start)):
                values = np.nan_to_num(profile[label].to_numpy(zero_copy_only=False).astype(float))
                result.setdefault(name, {})[label.removeprefix(start)] = np.append(values, np.zeros(n - len(values)))
        return result

    def label(self, name: str) -> str:
        """Name by which a column of this table is declared, such as ``visits: code``."""
        what = "distance of " if name == self.child.order else ""
        return name if name in self.summary_names else f"{self.name}: {what}{name}"

    def distance(self, printed: NDArray[np.intp]) -> float:
        """Kolmogorov-Smirnov distance between the numbers of rows per owner in the table and in a release."""
        raw = np.bincount(self.owner, minlength=self.n_owners)[: self.n_owners]
        most = int(max(raw.max(initial=0), printed.max(initial=0))) + 1
        sides = (np.cumsum(np.bincount(numbers, minlength=most)) / max(len(numbers), 1) for numbers in (raw, printed))
        return float(np.abs(np.subtract(*sides)).max())

    def distances(self, name: str) -> Any:
        """Return a column; the order column is given as differences to the last row with a value, 0 in first rows."""
        column = self.columns[name]
        if name != self.child.order or self.before is not None:
            return column
        numbers, missing = as_ordered(column, name)
        present = np.flatnonzero(~missing)
        steps = np.zeros(len(numbers), numbers.dtype)
        steps[present] = np.where(run_starts(self.owner[present]), 0, np.diff(numbers[present], prepend=numbers[:1]))
        is_temporal = pa.types.is_temporal(decode_dictionary(column).type)
        return pa.array(steps, pa.duration("ns") if is_temporal else None, mask=missing)

    def places(self, distances: Any, start: Any, owner: NDArray[np.intp]) -> Any:
        """Rebuild the order column from first values and differences; missing differences give missing values."""
        order = self.child.order
        assert order is not None
        # An owner with rows but no first value gets that of another: the differences show which values are missing.
        start = pc.fill_null_backward(pc.fill_null_forward(start))
        (begin, _), (steps, missing) = as_ordered(start, order), as_ordered(distances, order)
        steps = np.where(missing, 0, steps)
        total, runs = np.cumsum(steps), np.flatnonzero(run_starts(owner))
        at = begin + total - np.repeat((total - steps)[runs], np.diff(np.append(runs, len(owner))))
        dtype = decode_dictionary(pa.array([], self.types[order])).type
        if pa.types.is_integer(dtype):
            limits = np.iinfo(dtype.to_pandas_dtype())
            at = np.clip(at, limits.min, limits.max)
        column = from_ordered(at, dtype)
        return column.take(pa.array(np.arange(len(owner)), mask=missing))

    def owner_columns(self, *, is_declared: bool, plainly: bool) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the summaries that owners get, and the owners' names for columns that are constant within owners.

        Constant columns belong to the owner, without the name of the table. With declared values there are none.
        """
        is_owned = self.owner < self.n_owners
        groups, columns, shared = _Groups.from_rows(self.owner, self.n_owners), dict[str, Any](), dict[str, str]()
        if is_declared or len(set(groups.numbers.tolist())) > 1:
            columns[self.count] = pa.array(groups.numbers)
        for name, column in self.columns.items():
            if not is_declared and is_owned.all() and groups.share(column, name):
                shared[name] = name if plainly else f"{self.name}: {name}"
                columns[shared[name]] = groups.first_values(column)
            elif name == self.child.order:
                is_dated = is_owned & ~as_ordered(column, name)[1]
                dated = _Groups.from_rows(self.owner[is_dated], self.n_owners)
                columns[self.start] = dated.first_values(column.filter(pa.array(is_dated)))
        return columns, shared

    def unit_summaries(self, n_units: int, declared: Mapping[str, Sequence[Any]] | None) -> dict[str, Any]:
        """Return summaries of all rows of each unit, for the declared columns."""
        unit, columns = self.unit[self.owner], dict[str, Any]()
        of_units, of_some = _Groups.from_rows(unit, n_units), pa.array(unit < n_units)
        for name in (name for name in self.columns if name != self.child.order):
            column, values = self.columns[name].filter(of_some), None
            if declared is not None:
                values = [value for value in declared.get(self.label(name), ()) if value is not None]
            usual = ("mean",) if not values and is_ordered(column.type, name) else ("share",)
            for what in self.child.summaries.get(name, usual):
                entries = of_units.summary(column, name, what, values)
                columns |= {f"{self.name}: {title}": summary for title, summary in entries}
        return columns

    def with_columns(self, columns: Mapping[str, Any], shared: Collection[str] = ()) -> OwnedRows:
        """Return the rows with added columns from other tables; refuse names that occur twice."""
        if duplicates := sorted(columns.keys() & self.columns.keys()):
            raise ColumnError.fault(duplicates[0], f"of table {self.name!r} occurs twice; rename it")
        names = self.summary_names | (columns.keys() - set(shared))
        return replace(self, columns={**self.columns, **columns}, summary_names=names)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Group of each row, ascending, and the size of each group; rows that come last are in no group.

    Columns are given for the rows in groups only.
    """

    of_row: NDArray[np.intp]
    n: int
    numbers: NDArray[np.intp]
    first: NDArray[np.intp]

    @classmethod
    def from_rows(cls, of_row: NDArray[np.intp], n: int) -> Self:
        owners = of_row[of_row < n]
        return cls(owners, n, np.bincount(owners, minlength=n), np.searchsorted(owners, np.arange(n)))

    def share(self, column: Any, name: str) -> bool:
        """Return whether all rows of each group have the same value."""
        codes = ascending(column, name)[1]
        return bool((codes[1:] == codes[:-1])[self.of_row[1:] == self.of_row[:-1]].all())

    def first_values(self, column: Any, after: NDArray[np.intp] | int = 0) -> Any:
        """Return the first value of a column in each group, or the value that is ``after`` rows later."""
        return column.take(pa.array(self.first + after, mask=self.numbers == 0))

    def summary(self, column: Any, name: str, what: str, declared: Sequence[Any] | None) -> list[tuple[str, Any]]:
        """Return name and values of each summary of a column, with one value for each group."""
        if what in ("share", "count"):
            return self.frequencies(column, name, what, declared)
        if what in ("first", "last"):
            return [(f"{what} {name}", self.first_values(column, self.numbers - 1 if what == "last" else 0))]
        if what not in ("mean", *_REDUCED):
            words = ", ".join(("share", "count", "first", "last", "mean", *_REDUCED))
            raise InvalidParameter(f"summaries of {name!r} must be some of {words}, got {what!r}")
        if not is_ordered(column.type, name):
            words = f"contains no numbers or dates, so it has no {what}; ask for its share in summaries="
            raise ColumnError.fault(name, words)
        numbers, missing = as_ordered(column, name)
        present, group = numbers[~missing], self.of_row[~missing]
        rows = np.bincount(group, minlength=self.n)
        result, dtype = _reduce_groups(what, present, group, rows), decode_dictionary(column).type
        values = from_ordered(result.astype(np.int64), dtype) if pa.types.is_temporal(dtype) else pa.array(result)
        return [(f"{what} of {name}", values.take(pa.array(np.arange(self.n), mask=rows == 0)))]

    def frequencies(self, column: Any, name: str, what: str, declared: Sequence[Any] | None) -> list[tuple[str, Any]]:
        """Shares or counts of the declared values, or of the values that most groups have."""
        values, codes = ascending(column, name)
        size = len(values) + 1
        groups = np.bincount(np.unique(self.of_row * size + codes + 1) % size, minlength=size)[1:]
        often = np.argsort(-groups, kind="stable")[:_SHARES]
        places = often[groups[often] >= LEAST_ROWS]
        chosen = python_values(values.take(pa.array(places)), name)
        if declared is not None:
            chosen = list(declared[:_SHARES])
            places = look_up(as_arrow(chosen, name), values).astype(np.intp)
        entries = []
        for place, value in zip(places.tolist(), chosen, strict=True):
            rows = np.bincount(self.of_row, codes == place, self.n)
            label = f"{what} of {name} = {value}"
            figures = rows if what == "count" else np.round(rows / np.maximum(self.numbers, 1), 6)
            entries.append((label, mask_values(figures, self.numbers == 0)))
        return entries


# Functions of the numbers of a group; the mean is computed from sums.
_REDUCED = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def _reduce_groups(what: str, present: NDArray[Any], group: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Mean, sum, minimum or maximum of each group; 0 for groups without values."""
    if what == "mean":
        return np.bincount(group, present, len(rows)) / np.maximum(rows, 1)
    result, seen = np.zeros(len(rows), present.dtype), np.flatnonzero(rows)
    if len(seen):
        result[seen] = _REDUCED[what].reduceat(present, np.searchsorted(group, seen))
    return result


def read_units(
    read: Mapping[str, Table],
    key: str,
    children: Mapping[str, Child],
    root: str | None,
    own_columns: Sequence[str] | None,
    declared: Mapping[str, Sequence[Any]] | None = None,
) -> OwnedRows:
    """Read the root table with all tables that belong to it, and add their summaries to its columns.

    Parameters
    ----------
    read : mapping of name to Table
        Tables by name, the root first.
    key : str
        Column that identifies the unit.
    children : mapping of name to Child
    root : str or None
        Name of the root table; without a root, the only child defines the units.
    own_columns : sequence of str, optional
        Columns of the root to use; all by default.
    declared : mapping of name to values, optional
        Declared values of columns, so that no row decides which columns a profile has.
    """
    first = next(iter(read))
    native = read[first].to_arrow()
    values, codes = factorize(get_column(native, key), key)
    n = len(values)
    if (codes < 0).any() or (root is not None and n < len(native)):
        words = "a unit in every row, but some keys are missing"
        if root is not None:
            words = "each unit once, but some keys are missing or repeated"
        raise ColumnError.fault(key, f"of table {first!r} must name {words}; correct the keys")
    names = [] if root is None else [name for name in own_columns or native.column_names if name != key]
    columns = {name: get_column(native, name).combine_chunks() for name in names}
    keys, place = values if root is None else values.take(pa.array(codes)), np.arange(n)
    top = OwnedRows(first, _empty_table(read[first]), _types(native), Child(), columns, place, n, place, keys)
    by_name: dict[str | None, OwnedRows] = {root: top}
    parents = {name: root if child.parent is None else child.parent for name, child in children.items()}
    # Tables are read from the root downwards, and summarized from the bottom upwards.
    order = sorted(children, key=lambda name: parents[name] != root)
    for name in order:
        child = children[name]
        by_name[name] = _read_rows(name, read[name], child, by_name[parents[name]], child.key or key)
    for name in reversed(order):
        rows, parent = by_name[name], parents[name]
        owner_columns, shared = rows.owner_columns(is_declared=declared is not None, plainly=root is None)
        left = {label: column for label, column in rows.columns.items() if label not in shared}
        rows = replace(rows, columns=left, shared=shared)
        above = by_name[parent].with_columns(owner_columns, shared.values())
        by_name[parent] = replace(above, children=(rows, *above.children))
        by_name[root] = by_name[root].with_columns(rows.unit_summaries(n, declared), shared.values())
    return by_name[root]


def _read_rows(name: str, table: Table, child: Child, above: OwnedRows, key: str) -> OwnedRows:
    """Read the rows of a table, by owner and in order."""
    native = child.select_columns(table.to_arrow(), name, key)
    if not len(native):
        raise ColumnError(f"table {name!r} has no rows to learn from; leave the table out")
    owner = row_owners(native, key, above.keys)
    if lost := int((owner == UNSEEN).sum()):
        words = f"has keys that table {above.name!r} does not have ({lost} rows)"
        advice = "drop these rows, or set their keys to missing"
        raise ColumnError.fault(key, f"of table {name!r} {words}; {advice}")
    nobody = np.flatnonzero(owner < 0)
    n = len(above.owner)
    owner[nobody] = n + np.arange(len(nobody))
    if child.order is not None and not is_ordered(native[child.order].type, child.order):
        raise ColumnError.fault(child.order, f"of table {name!r} must contain numbers, dates or times")
    order = sort_rows(native, owner, child.order)
    native = native.take(pa.array(order))
    row_keys = np.arange(len(native))
    if child.id is not None:
        values, codes = factorize(native[child.id], child.id)
        row_keys = values.take(pa.array(codes))
        if (codes < 0).any() or len(values) < len(row_keys):
            words = "must name each row once, but some values are missing or repeated; correct them"
            raise ColumnError.fault(child.id, f"of table {name!r} {words}")
    left = (column for column in native.column_names if column not in (key, child.id))
    columns = {column: native[column].combine_chunks() for column in left}
    units = int(above.unit.max(initial=-1)) + 1
    unit = np.append(above.unit[above.owner], units + np.arange(len(nobody)))
    return OwnedRows(name, _empty_table(table), _types(native), child, columns, owner[order], n, unit, row_keys)


def row_owners(native: pa.Table, key: str, keys: Any) -> NDArray[np.intp]:
    """Position of each row's owner among keys; MISSING without an owner, UNSEEN for an unknown key."""
    values, codes = factorize(native[key], key)
    return np.append(look_up(values, keys), MISSING)[codes].astype(np.intp)


def sort_rows(native: pa.Table, owner: NDArray[np.intp], order: str | None) -> NDArray[np.intp]:
    """Order rows by owner, then by a column or as in the file; rows without a value stay after the row before them."""
    rows = np.argsort(owner, kind="stable")
    if order is None:
        return rows
    numbers, missing = as_ordered(native[order].take(pa.array(rows)), order)
    starts = run_starts(owner[rows])
    last = np.maximum.accumulate(np.where(~missing | starts, np.arange(len(rows)), 0))
    return rows[np.lexsort((numbers[last], ~(missing & starts)[last], owner[rows]))]


def _empty_table(table: Table) -> Table:
    """Empty table of the same kind and columns, with a default index."""
    return Table.from_native(table.native.slice(0, 0) if table.kind == "pyarrow" else table.native[:0])


def _types(table: pa.Table) -> dict[str, pa.DataType]:
    return dict(zip(table.schema.names, table.schema.types, strict=True))
