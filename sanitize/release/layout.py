"""Roles of columns (sensitive, public, binned), and the columns of a batch as symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._util.checks import check_choice, is_whole
from sanitize.core.binning import Bins, DateBins, Joined, is_numeric, is_of_dates
from sanitize.core.channel import Channel
from sanitize.core.joint import ContingencyTable
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.survey import TELLING_ROWS, names_rows
from sanitize.report import LeakageReport, ReleaseFacts
from sanitize.tables.columns import as_arrow
from sanitize.tables.frame import Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.alphabet import Alphabet
    from sanitize.release.classes import ClassPartition
    from sanitize.tables.columns import ArrowColumn

ColumnSpec: TypeAlias = str | Sequence[str] | Sequence[int] | Callable[[Any], Sequence[str]] | None
BinSpec: TypeAlias = Mapping[str, Sequence[Any] | Mapping[str, Sequence[Any]] | str] | Sequence[Any] | None

# Two places refuse a number of bins, with the same remedy.
_EDGES_WANTED = (
    "{} must be edges, as in {{'age': [0, 30, 60]}}, or a calendar unit of dates, got {}. A number of bins would take "
    "edges from the rows, and these edges would be values of single people; `sanitize init` proposes rounded edges"
)


def two_dimensional(native: Any) -> Any:
    """Convert a matrix or nested list to an array; scikit-learn's own errors about the shape would quote rows."""
    if hasattr(native, "toarray"):  # sparse matrices are refused elsewhere, with their own message
        return native
    array = np.asarray(native)
    if array.ndim != 2:
        raise ColumnError(
            f"Expected 2D array, got {array.ndim}D array instead ({type(native).__name__}). Reshape your data to two "
            "dimensions, with a row per record and a column per feature, or pass a DataFrame"
        )
    if array.dtype.kind == "c":
        raise ColumnError("Complex data not supported: give real and imaginary parts as two columns")
    return array


def public_columns(table: Table, spec: ColumnSpec, taken: Collection[str]) -> tuple[str, ...]:
    """Names of the public columns; by default all columns without another role."""
    if spec is not None:
        return select("public", spec, table)
    left = tuple(name for name in table.names if name not in taken)
    if not left:
        raise ColumnError(
            f"no public column is left: each of the {len(table)} feature(s) of the table has another role (such as "
            "sensitive); use public= to name the columns to release"
        )
    return left


def make_bins(wanted: BinSpec, source: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Bins]:
    """Make the bins of columns from edges or calendar units; a single list of edges applies to all numbers."""
    if wanted is None:
        return {}
    if isinstance(wanted, (list, tuple, np.ndarray)):
        wanted = {name: wanted for name in names if is_numeric(as_arrow(source[name], name).type)}
    if not isinstance(wanted, Mapping):
        raise InvalidParameter(_EDGES_WANTED.format("bins", type(wanted).__name__))
    bins: dict[str, Bins] = {}
    for key, spec in wanted.items():
        name = _column_name(key, source)
        if name not in names:
            raise ColumnError(
                f"bins names the column {name!r}, which is neither sensitive nor public; leave it out", name
            )
        column = as_arrow(source[name], name)
        if isinstance(spec, Mapping):
            bins[name] = Joined.from_groups(name, spec)
        elif isinstance(spec, str):
            bins[name] = DateBins.by_step(name, spec, column)
        elif not isinstance(spec, (list, tuple, np.ndarray)):
            raise InvalidParameter(_EDGES_WANTED.format(f"bins of {name!r}", type(spec).__name__))
        else:
            bins[name] = (DateBins if is_of_dates(spec) else Bins).from_edges(name, cast("Any", spec), column.type)
    return bins


def require_columns(table: Table, *specs: object) -> None:
    """Refuse two or more names that the table lacks, with one message that lists them all."""
    names: list[object] = []
    for spec in specs:
        names += [spec] if isinstance(spec, str) else spec if isinstance(spec, (list, tuple, Mapping)) else []
    absent = [name for name in dict.fromkeys(names) if isinstance(name, str) and name not in table.names]
    if len(absent) > 1:
        raise ColumnError.absent(absent, table.names)


def _column_name(key: str | int, source: Mapping[str, Any]) -> str:
    """Return the name of a column given by name or position."""
    if is_whole(key):
        names = list(source)
        if not -len(names) <= key < len(names):
            raise ColumnError(
                f"there is no column number {key}; the table has {len(names)} columns, and the first has number 0"
            )
        return names[key]
    name = str(key)
    if name not in source:
        raise ColumnError.absent([name], source)
    return name


def select(role: str, spec: ColumnSpec, table: Table) -> tuple[str, ...]:
    """Names of the columns that a parameter selects: a name, a list of names or positions, or a callable."""
    if spec is None:
        return ()
    selection: Any = spec(table.native) if callable(spec) else spec
    if isinstance(selection, str):
        selection = [selection]
    try:
        keys = list(selection)
    except TypeError:
        raise InvalidParameter(
            f"{role} must be a column name, a list of names or positions as in [0], or a callable, "
            f"got {type(selection).__name__}"
        ) from None
    return tuple(_column_name(key, table) for key in keys)


Missing = Literal["category", "error"]


@dataclass
class Columns(Mapping[str, Any]):
    """Columns of one batch as symbols: numbers are binned, and missing values are allowed or refused."""

    layout: Layout
    source: Mapping[str, Any]
    workers: int = 1
    first: int | None = None
    clipped: dict[str, int] = field(default_factory=dict)
    _made: dict[str, ArrowColumn] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> ArrowColumn:
        if name not in self._made:
            self._made[name] = self._column(name)
        return self._made[name]

    def _column(self, name: str) -> ArrowColumn:
        column = as_arrow(self.source[name], name)
        if self.layout.missing == "error" and name in self.layout.public:
            refuse_missing(column, name)
        if name not in self.layout.bins:
            return column
        labels, clipped = self.layout.bins[name].assign(column)
        self.clipped[name] = clipped
        return labels

    def __iter__(self) -> Any:
        return iter(self.source)

    def __len__(self) -> int:
        return len(self.source)


def refuse_missing(column: ArrowColumn, name: str) -> None:
    """Refuse a column with missing values, if requested."""
    is_missing = column.null_count > 0
    if not is_missing and pa.types.is_floating(column.type):
        is_missing = bool(np.isnan(np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)).any())
    if is_missing:
        raise ColumnError.fault(
            name, "has missing values, which missing='error' refuses; fill them, or give missing='category'"
        )


@dataclass(frozen=True)
class Layout:
    """Roles of columns (sensitive, public, kept), and the conversion of numbers to symbols."""

    sensitive: tuple[str, ...]
    public: tuple[str, ...]
    bins: Mapping[str, Bins] = field(default_factory=dict)
    missing: Missing = "category"
    keep: tuple[str, ...] = ()

    # If public symbols are written unchanged, a symbol of few rows could be traced to people.
    prints_symbols: ClassVar[bool] = True
    # If the distribution of the public columns must be learned, it needs rows for each symbol.
    learns_public: ClassVar[bool] = True

    @property
    def value_columns(self) -> list[str]:
        """Public columns whose values are written unchanged."""
        return [name for name in self.public if name not in self.bins]

    @property
    def numeric(self) -> frozenset[str]:
        """Names of the columns that must be read as numbers because of their bins."""
        return frozenset(name for name, bins in self.bins.items() if not isinstance(bins, (DateBins, Joined)))

    @property
    def binned_public(self) -> tuple[str, ...]:
        """Public columns whose values are counted by interval."""
        return tuple(name for name in self.public if name in self.bins)

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, "category", "error")
        overlap = set(self.sensitive) & set(self.public)
        # With the same columns on both sides, the report measures what a release reveals about the public columns.
        if overlap and set(self.sensitive) != set(self.public):
            raise ColumnError.fault(min(overlap), "is listed both as sensitive and as public; choose one")
        for kind, names in (("sensitive", self.sensitive), ("public", self.public)):
            if not names:
                raise ColumnError(f"there is no {kind} column; name at least one with {kind}=")
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ColumnError(f"{kind} column {twice!r} is listed twice; list it once", twice)

    @property
    def read(self) -> tuple[str, ...]:
        """Names of the columns that determine the public symbols."""
        return self.public

    def bare(self) -> Layout:
        """Return the layout with roles and symbols only, which suffices to release rows after the design."""
        return Layout(*self.roles)

    @property
    def roles(self) -> tuple[Any, ...]:
        """Arguments of a plain layout with the same roles and bins, without additions of subclasses."""
        return self.sensitive, self.public, self.bins, self.missing, self.keep

    @property
    def orders(self) -> dict[str, pa.Array]:
        """Symbols of the columns whose bins are known in advance, in ascending order."""
        return {name: order for name, bins in self.bins.items() if (order := bins.order) is not None}

    def empty_table(self) -> ContingencyTable:
        """Make a contingency table without rows."""
        return ContingencyTable.empty(self.sensitive, self.public, self.orders)

    def columns(self, source: Mapping[str, Any], workers: int = 1, first: int | None = None) -> Columns:
        """Columns of a batch as symbols, computed by several threads if the batch is large.

        ``first`` is the number of the batch's first row in the table.
        """
        return Columns(self, source, workers, first)

    def check_distinct(self, table: ContingencyTable) -> None:
        """Refuse columns with a different value in most rows, whose distribution cannot be learned."""
        alphabets = {"sensitive": table.sensitive, "public": table.public}
        self.refuse_distinct(alphabets, int(table.n), () if self.learns_public else self.public)

    @staticmethod
    def refuse_distinct(alphabets: Mapping[str, Alphabet], n_rows: int, free: Collection[str] = ()) -> None:
        """Refuse columns of some roles in which most rows have a value of their own, unless they are ``free``."""
        kinds, amounts = dict[str, str](), False
        if n_rows < TELLING_ROWS:
            return
        for kind, alphabet in alphabets.items():
            for name, level, codes in zip(alphabet.columns, alphabet.levels, alphabet.codes.T, strict=True):
                if name not in free and len(np.unique(codes)) > n_rows / 2:
                    kinds.setdefault(name, kind)
                    amounts |= kind == "public" and not names_rows(level, n_rows)
        if not kinds:
            return
        listed = ", ".join(f"{kind} column {name!r}" for name, kind in kinds.items())
        way_out = " Latent classes (latent-classes) take amounts as they are." if amounts else ""
        raise ColumnError(
            f"there is a different value in most rows of {listed}, so no distribution can be learned. Give bins to "
            f"numbers and dates, and leave out columns that identify their row.{way_out}",
            next(iter(kinds)) if len(kinds) == 1 else None,
        )

    def audit(self, table: ContingencyTable) -> LeakageReport:
        """Measure how much the unchanged public columns reveal, without a budget."""
        self.check_distinct(table)
        joint = table.to_joint()
        channel = Channel.identity(len(joint.public), joint.public)
        return LeakageReport.measure(joint, channel, facts=ReleaseFacts(mechanism="audit", binned=self.binned_public))

    def notes(self, clipped: Mapping[str, int]) -> tuple[str, ...]:
        """Notes about binning for the report."""
        notes = [
            f"the bin edges of column {name!r} were learned from the data and are released with it"
            for name, bins in self.bins.items()
            if bins.learned
        ]
        notes += [
            f"{n} rows of column {name!r} lay outside the declared edges and were clipped to them"
            for name, n in clipped.items()
            if n and name not in self.keep
        ]
        return tuple(notes)


@dataclass(frozen=True)
class CellLayout(Layout):
    """Layout in which the public symbol of a row is its latent class, drawn given the row, with its kept values.

    Every row has a class, so a symbol is unknown only if no row of the fit had its kept values.
    """

    partition: ClassPartition = field(kw_only=True)

    prints_symbols = False  # a model writes the rows of a class

    @classmethod
    def from_partition(cls, layout: Layout, partition: ClassPartition) -> CellLayout:
        """Make a layout of the same table in which a class replaces all public columns except the kept columns."""
        name, kept = "cell", partition.model.kept
        while name in (*layout.sensitive, *kept):
            name += "_"
        return cls(layout.sensitive, (*kept, name), layout.bins, layout.missing, kept, partition=partition)

    @property
    def read(self) -> tuple[str, ...]:
        """Names of the columns on which the class of a row depends."""
        return self.partition.names

    @property
    def numeric(self) -> frozenset[str]:
        """Names of the columns with bins, and of the columns that were numeric at fit."""
        return super().numeric | self.partition.numeric

    def with_key(self, key: NoiseKey) -> CellLayout:
        """Return a copy that draws the rows' classes with another key."""
        return replace(self, partition=self.partition.with_key(key))

    def bare(self) -> CellLayout:
        """Return the layout without a table to which its classes were fitted."""
        return CellLayout(*self.roles, partition=self.partition)

    def columns(self, source: Mapping[str, Any], workers: int = 1, first: int | None = None) -> Columns:
        """Columns of a batch, including the classes of its rows."""
        return CellColumns(self, source, workers, first)

    def cell_columns(self, source: Mapping[str, Any], cells: NDArray[np.int32]) -> CellColumns:
        """Columns of rows whose classes are known."""
        columns = CellColumns(self, source)
        columns.check_missing()
        vars(columns)["_cells"] = pa.array(cells)
        return columns


def layout_classes(layout: Layout) -> ClassPartition | None:
    """Latent classes of a layout; None if the public symbols are tuples."""
    return layout.partition if isinstance(layout, CellLayout) else None


def cell_layout(layout: Layout, partition: ClassPartition | None) -> Layout:
    """Make a layout from roles, with latent classes of the public columns if there are any.

    Raises
    ------
    InvalidParameter
        If the classes were fitted on other columns.
    """
    if partition is None:
        return layout
    if partition.names != layout.public or not set(layout.bins) <= {*layout.sensitive, *partition.model.kept}:
        raise InvalidParameter("the latent classes were fitted to other columns; fit them again")
    return CellLayout.from_partition(layout, partition)


class CellColumns(Columns):
    """Columns of one batch, with the class of each row as an additional column."""

    layout: CellLayout

    def _column(self, name: str) -> ArrowColumn:
        return self._cells if name == self.layout.public[-1] else super()._column(name)

    @cached_property
    def _cells(self) -> pa.Array:
        self.check_missing()
        partition = self.layout.partition
        return pa.array(partition.assign(self.model_columns(partition.names), self.workers, self.first))

    def model_columns(self, names: Sequence[str]) -> dict[str, ArrowColumn]:
        """Columns as a model reads them, with kept columns replaced by their symbols."""
        return {name: self[name] if name in self.layout.keep else as_arrow(self.source[name], name) for name in names}

    def check_missing(self) -> None:
        """Refuse missing values, if requested."""
        for name in self.layout.partition.names if self.layout.missing == "error" else ():
            refuse_missing(as_arrow(self.source[name], name), name)

    def __iter__(self) -> Iterator[str]:
        yield from self.source
        yield self.layout.public[-1]

    def __len__(self) -> int:
        return len(self.source) + 1
