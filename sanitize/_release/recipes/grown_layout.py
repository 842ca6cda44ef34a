"""What a recipe over whole tables learns before it designs: the tree, the rows kept apart, what prints rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from sanitize._formatting import percent
from sanitize._release.design import rare_secrets
from sanitize._release.first_pass import Counted
from sanitize._release.layout import CellLayout
from sanitize._release.recipes.fitted_classes import FEWEST_CELLS
from sanitize._sampling.noise import NoiseKey
from sanitize._tables.columns import as_arrow
from sanitize._tables.ordered import as_ordered
from sanitize.alphabet import Alphabet
from sanitize.binning import DateBins, holds_dates
from sanitize.budgets import limits_for, limits_seen
from sanitize.classes import MODELLED_ROWS
from sanitize.confidence import REPEATED, repeats_too_often
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.joint import JointDistribution
from sanitize.mechanisms import as_lift_budget, rows_needed
from sanitize.printing import Printer, PrintTable, RowModel
from sanitize.report import ReleaseFacts, Section, Shortage
from sanitize.trees import cell_counts, design_rows, grow, read_hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from sanitize._release.layout import Columns, Layout
    from sanitize._sampling.count_noise import CountNoise, RowNoise
    from sanitize._sampling.noise import RandomWords
    from sanitize.binning import Bins
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable
    from sanitize.trees import GrownTree, Tree

Output = Literal["model", "label", "resample"]


@dataclass(frozen=True, kw_only=True)
class GrownLayout(CellLayout):
    """Layout of a tree with the table it was grown from, while a channel is designed."""

    partition: Tree
    grown: GrownTree
    source: Mapping[str, Any]  # that table, the sensitive columns in it
    secrets: Alphabet
    design: NDArray[np.int64] | None  # counts of (S, cell) of the rows the tree was grown on, where others certify
    fresh: NDArray[np.float64] | None = None  # the same of the others, where they have noise
    noise: CountNoise | RowNoise | None = None
    edges: Mapping[str, list[Any]] = field(default_factory=dict)  # of public columns, where they were declared
    above: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)  # ancestors of their values
    raw: JointDistribution | None = None  # of S and whole rows, where a look at them is allowed and no great work

    @classmethod
    def grow(
        cls,
        layout: Layout,
        source: Mapping[str, Any],
        limits: Callable[[Budget, NDArray[np.float64] | None], dict[str, Any]],
        budget: Budget,
        *,
        share: float | None,
        blind: bool,
        **settings: Any,
    ) -> GrownLayout:
        """Grow a tree over the public columns of a layout; with a share on so much of the rows, the others apart.

        Its limits may depend on the shares of secrets among the rows that it is grown on; a blind one looks at none.
        """
        alphabet = Alphabet.from_table(columns := layout.columns(source), layout.sensitive)
        secrets = alphabet.encode(columns)
        if not blind:
            layout.refuse_distinct({"sensitive": alphabet}, len(secrets))
        table = {name: source[name] for name in layout.public}
        edges = {name: declared_edges(bins, table[name]) for name, bins in layout.bins.items() if name in table}
        layout = replace(layout, bins={name: bins for name, bins in layout.bins.items() if name not in table})
        apart = None if share is None else design_rows(len(secrets), share)
        if apart is not None and not apart.any():
            raise ColumnError(f"confidence= grows a tree on a fifth of the rows: {len(secrets)} rows are too few")
        if blind:
            looked_at, shares = np.zeros_like(secrets), None
        else:
            rows = np.bincount(secrets if apart is None else secrets[apart], minlength=len(alphabet))
            looked_at, shares = secrets, rows / rows.sum()
        own = limits_for(limits_seen(budget, alphabet), alphabet)  # rows of a sample may lack values
        grown = grow(table, looked_at, rows=apart, edges=edges, **limits(own, shares), **settings)
        design = None
        if apart is not None:
            design = cell_counts(grown.cells[apart], secrets[apart], grown.tree.n_cells, len(alphabet))
        bare, raw = CellLayout.of(layout, grown.tree), None
        if not blind and len(secrets) * len(alphabet) <= 1 << 24:
            raw = JointDistribution.from_matrix(grown.row_counts(secrets, len(alphabet)) / len(secrets))
        return cls(
            *bare.roles,
            partition=grown.tree,
            grown=grown,
            source=source,
            secrets=alphabet,
            design=design,
            edges=edges,
            raw=raw,
            above={name: read_hierarchy(given, name) for name, given in (settings["hierarchies"] or {}).items()},
        )

    def columns(self, source: Mapping[str, Any], workers: int = 1, first: int | None = None) -> Columns:
        """Columns of a batch; of the table it was grown from the cells are known."""
        if source is self.source:
            return self.columns_of(source, self.grown.cells)
        return super().columns(source, workers, first)

    def with_design(self, rows: Mapping[str, Any], chosen: NDArray[np.bool_]) -> GrownLayout:
        """The same, grown from rows of a model, with counts of the chosen ones of other rows."""
        mask = pa.array(chosen)
        counted = Counted.of(
            self.bare(), {name: as_arrow(rows[name], name).filter(mask) for name in (*self.sensitive, *self.read)}
        )
        table = counted.table
        design = np.zeros((len(table.sensitive), self.partition.n_cells), np.int64)
        design[:, np.array(table.public.symbols, np.intp)] = table.counts
        return replace(self, secrets=table.sensitive, design=design, raw=None)

    def bare(self) -> CellLayout:
        """Layout without the table."""
        return CellLayout(*self.roles, partition=self.partition)

    def apart(self, counts: ContingencyTable) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Counts of (S, cell) of the rows that the tree was grown on, and of the others."""
        assert self.design is not None
        if self.fresh is not None:
            return self.design, self.fresh
        design = np.zeros_like(counts.counts)
        cells = np.array(counts.public.symbols, np.intp)
        # A sample may lack a sensitive symbol.
        design[counts.sensitive.union(self.secrets)[2]] = self.design[:, cells]
        return design, counts.counts - design

    def doubts(self, counts: ContingencyTable, budget: Budget, confidence: float) -> tuple[list[str], Shortage]:
        """What leaves little to certify, and rows that no certificate is about, in words; and the shortage."""
        assert self.design is not None
        told, limits = counts.counts.sum(axis=1), limits_for(budget, counts.sensitive)
        n_fresh = float(told.sum() - self.design.sum())
        needed = FEWEST_CELLS * rows_needed(as_lift_budget(limits), told / told.sum(), FEWEST_CELLS, confidence)
        about = "" if self.noise is None else "about "
        found, shortage = rare_secrets(self.sensitive, told, needed / n_fresh * told, f"{FEWEST_CELLS} cells", about)
        return [*found, *([REPEATED] if repeats_too_often(self.grown.repeats) else [])], shortage

    def target_distribution(self, target: str | None) -> NDArray[np.float64] | None:
        """P(t|cell) of a column, shape (n_levels, n_cells); None where no column is the target."""
        if target is None:
            return None
        distribution = self.grown.distribution(target)
        return np.asarray(distribution / distribution.sum(axis=0))

    def printer(self, output: Output, channel: Channel, words: RandomWords) -> Printer:
        """What prints the outputs of the channel."""
        names, (cells, k) = list(self.partition.names), (self.grown.cells, self.partition.n_cells)
        if output == "label":
            matrix = channel.sparse_matrix().tocsc()
            mixed = np.split(matrix.indices, matrix.indptr[1:-1])
            return PrintTable.of_labels(self.partition.labels_of(mixed), names)
        if output == "resample":
            return PrintTable.of_rows(self.source, names, cells, k)
        return RowModel.fit(self.source, self.partition, cells, words, self.edges, self.above)

    def shapes(
        self, printer: Printer, p_y: NDArray[np.float64]
    ) -> Iterator[tuple[str, list[str], NDArray[np.float64]]]:
        """Shares of values of each column, here and of 10,000 rows that are printed from a seed and never released."""
        cells = np.searchsorted(np.cumsum(p_y)[:-1], np.linspace(0, 1, 10_000, endpoint=False), side="right")
        return self.grown.shapes(printer.decode(cells.astype(np.int32), NoiseKey.from_seed(0)))


def declared_edges(bins: Bins, column: Any) -> list[Any]:
    """Edges that somebody declared for a public column, in the numbers by which its values are ordered.

    Raises
    ------
    ColumnError
        If they are a number of quantiles, which a tree finds better itself, calendar units of a text, or parts of
        whole numbers.
    """
    if bins.learned:
        raise ColumnError(
            f"bins of {bins.column!r} must be edges or a calendar unit here: the tree cuts the column itself, at edges "
            "that no single row decides",
            bins.column,
        )
    if not isinstance(bins, DateBins):
        if bins.whole and any(edge % 1 for edge in bins.edges):
            words = "holds whole numbers, which a tree cuts at whole numbers: round its edges up"
            raise ColumnError(f"column {bins.column!r} {words}", bins.column)
        return [int(edge) for edge in bins.edges] if bins.whole else list(bins.edges)
    if bins.step is None:
        return [int(edge) * 10**9 for edge in bins.edges]
    values = as_arrow(column, bins.column)
    if not holds_dates(values.type):
        raise ColumnError(
            f"column {bins.column!r} holds dates as text, as CSV has them, which a tree cannot cut: write the table as "
            "Parquet with dates, or declare a hierarchy in place of its bins",
            bins.column,
        )
    numbers, missing = as_ordered(values, bins.column)
    return bins.starts(*(int(end) // 10**9 for end in (numbers[~missing].min(), numbers[~missing].max())))


def output_of(asked: Output | None, n_rows: int) -> Output:
    """How released cells of a table are printed: as asked, or by a model unless the rows are few."""
    if asked is None:
        return "model" if n_rows >= MODELLED_ROWS else "label"
    if asked not in ("model", "label", "resample"):
        raise InvalidParameter(f"output must be None or one of 'model', 'label', 'resample', got {asked!r}")
    return asked


def with_people(facts: ReleaseFacts, printer: Printer, output: Output) -> ReleaseFacts:
    """Facts that say what printing tells of people; where it prints their rows that is a warning too."""
    if isinstance(printer, RowModel):
        people = "Rows are printed by a model and are nobody's; membership is not protected."
        return replace(facts, output=output, people=people, warnings=(*facts.warnings, printer.told))
    if output == "label":
        words = "The intervals and sets that are printed were learned from the table and tell something of it."
        return replace(facts, output=output, people=words)
    alone = printer.counts[printer.counts == 1].sum() / printer.counts.sum()
    words = "real rows are printed: the limit holds for row numbers, not for the people whose rows are printed"
    warning = f"{words}; one person alone has {percent(alone)} of them (output='model' prints nobody's row)"
    return replace(
        facts,
        output=output,
        people=f"Of people nothing is promised: {words}.",
        warnings=(*facts.warnings, warning),
    )


def cells_section(tree: Tree, rows: NDArray[np.int64], confidence: float | None) -> Section:
    """What the report says of cells and blocks."""
    words = "Rows are released through the cells of a tree over all public columns."
    if confidence is not None:
        words += (
            f" It was grown on some of the rows; all others certify at {100 * confidence:.4g} % "
            "that the budget holds for fresh rows of the source."
        )
    figures = (
        ("cells", float(tree.n_cells)),
        ("blocks", float(tree.n_blocks)),
        ("least rows of a cell", float(rows.min())),
    )
    return Section("cells", "Cells", words, ("", "number"), figures)
