"""What a designer over whole tables learns before it designs: the tree, the rows kept apart, what prints rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._release.tree_layout import TreeLayout
from sanitize.alphabet import Alphabet
from sanitize.errors import InvalidParameter
from sanitize.report import Section
from sanitize.trees import Printer, cell_counts, design_rows, grow, labels, single_columns, whole_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sanitize._release.layout import Layout
    from sanitize._sampling.count_noise import CountNoise
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable
    from sanitize.trees import GrownTree, Tree

Printing = Literal["resample", "independent", "label"]

_PRINTING = ("resample", "independent", "label")
_TOLD = {
    "resample": "rows are printed as whole rows of the table, drawn from cells of {least} rows or more",
    "independent": "values are drawn from the table column by column, from cells of {least} rows or more",
    "label": "the intervals and sets that are printed were learned from the table and tell something of it",
}


@dataclass(frozen=True, kw_only=True)
class GrownLayout(TreeLayout):
    """Layout of a tree with the table it was grown from, while a channel is designed."""

    grown: GrownTree
    table: Mapping[str, Any]
    secrets: Alphabet
    design: NDArray[np.int64] | None  # counts of (S, cell) of the rows the tree was grown on, where others certify
    fresh: NDArray[np.float64] | None = None  # the same of the others, where they have noise
    noise: CountNoise | None = None

    @classmethod
    def grow(
        cls,
        layout: Layout,
        source: Mapping[str, Any],
        limits: Callable[[NDArray[np.float64] | None], dict[str, Any]],
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
        table = {name: source[name] for name in layout.public}
        apart = None if share is None else design_rows(len(secrets), share)
        if blind:
            looked_at, shares = np.zeros_like(secrets), None
        else:
            own = np.bincount(secrets if apart is None else secrets[apart], minlength=len(alphabet))
            looked_at, shares = secrets, own / own.sum()
        grown = grow(table, looked_at, rows=apart, **limits(shares), **settings)
        design = None
        if apart is not None:
            design = cell_counts(grown.cells[apart], secrets[apart], grown.tree.n_cells, len(alphabet))
        bare = TreeLayout.of(layout, grown.tree)
        return cls(*_roles(bare), tree=grown.tree, grown=grown, table=table, secrets=alphabet, design=design)

    def bare(self) -> TreeLayout:
        """Layout without the table."""
        return TreeLayout(*_roles(self), tree=self.tree)

    def apart(self, counts: ContingencyTable) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Counts of (S, cell) of the rows that the tree was grown on, and of the others."""
        assert self.design is not None
        if self.fresh is not None:
            return self.design, self.fresh
        design = np.zeros_like(counts.counts)
        design[counts.sensitive.union(self.secrets)[2]] = self.design  # a sample may lack a sensitive symbol
        return design, counts.counts - design

    def target_law(self, target: str | None) -> NDArray[np.float64] | None:
        """P(t|cell) of a column, shape (n_levels, n_cells); None where no column is the target."""
        if target is None:
            return None
        law = self.grown.law(target)
        return np.asarray(law / law.sum(axis=0))

    def printer(self, release: Printing, channel: Channel) -> Printer:
        """What prints the outputs of the channel."""
        names, (cells, k) = list(self.tree.names), (self.grown.cells, self.tree.n_cells)
        if release == "label":
            matrix = channel.sparse_matrix().tocsc()
            mixed = np.split(matrix.indices, matrix.indptr[1:-1])
            return Printer((labels(self.tree.labels_of(mixed), names),))
        if release == "resample":
            return Printer((whole_rows(self.table, names, cells, k),))
        return Printer(tuple(single_columns(self.table, names, cells, k).values()))


def _roles(layout: Layout) -> tuple[Any, ...]:
    return layout.sensitive, layout.public, layout.bins, layout.missing, layout.labelled


def check_printing(release: str) -> None:
    """Refuse an unknown way of printing."""
    if release not in _PRINTING:
        raise InvalidParameter(f"release must be one of {', '.join(map(repr, _PRINTING))}, got {release!r}")


def told(release: Printing, tree: Tree, rows: NDArray[np.int64]) -> str:
    """What printing tells of the table, as a note of the report."""
    return _TOLD[release].format(least=int(rows.min()))


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
