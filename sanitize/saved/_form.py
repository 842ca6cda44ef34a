"""The form of saved releases, read back as untrusted input, and whether their parts belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from sanitize._files.declared import LARGEST, UNSET, Declared, Finite, NonNegative, Unset, Version1, require, said
from sanitize._release.layout import CellLayout, Layout, Missing, through_cells
from sanitize.binning import AnyBins
from sanitize.budgets import BUDGETS
from sanitize.channel import ChannelForm
from sanitize.classes import ClassPartition
from sanitize.errors import InvalidParameter
from sanitize.printing import Printer, PrintTable
from sanitize.report import MeasureForm, OptimalityForm
from sanitize.trees import Partition

if TYPE_CHECKING:
    from sanitize.budgets import Budget
    from sanitize.channel import Channel


class Damaged(InvalidParameter):
    """A text is not a saved release."""

    def __init__(self, what: object) -> None:
        super().__init__(f"this is not a saved release that can be trusted: {what}; save it again")

    def __reduce__(self) -> tuple[Any, ...]:
        return InvalidParameter, self.args


Output = Literal["resample", "label", "model"]  # the last one is for whole tables only
_Level = Annotated[float, said("eps > 0", gt=0, le=LARGEST)]
_Delta = Annotated[float, said("a delta above 0 and at most 1", gt=0, le=1)]


def own_budget(budget: object) -> Budget:
    """A budget that its name and numbers are all of.

    Raises
    ------
    InvalidParameter
        If it is somebody's own.
    """
    name = type(budget).__name__
    if BUDGETS.get(name) is not type(budget):
        raise InvalidParameter(
            f"a release with the budget {name} cannot be saved: only budgets of the library can ({', '.join(BUDGETS)})"
        )
    return budget  # type: ignore[return-value]


class SavedForm(Declared, frozen=True, eq=False):
    """Everything that a saved release says."""

    format: Literal["sanitize/release"]
    version: Version1
    library_version: str
    mechanism: str
    output: Output
    sensitive: tuple[str, ...]
    public: tuple[str, ...]
    missing: Missing
    bins: tuple[AnyBins, ...]
    labelled: tuple[str, ...]
    budget: dict[str, Finite | str | dict[str, Finite | str]]
    channel: ChannelForm
    partition: Partition | None
    printer: Printer | None
    optimality: OptimalityForm | None
    figures: tuple[MeasureForm, ...]
    warnings: tuple[str, ...]
    secret_dp: tuple[_Level, _Delta] | None
    sha256: str
    record_dp: tuple[_Level, NonNegative] | Unset = UNSET

    def layout(self) -> Layout:
        """Layout of its columns."""
        labelled = frozenset(self.labelled)
        require(self.labelled == tuple(sorted(labelled)) and labelled <= set(self.public), "must be public", "labelled")
        bins = {made.column: made for made in self.bins}
        require(len(bins) == len(self.bins), "has a column twice", "bins")
        return through_cells(Layout(self.sensitive, self.public, bins, self.missing, labelled), self.partition)

    def writer(self) -> Printer | ClassPartition | None:
        """What writes the rows of cells; latent classes do it themselves."""
        require(self.printer is None or not isinstance(self.partition, ClassPartition), "is for a tree", "printer")
        return self.partition if isinstance(self.partition, ClassPartition) else self.printer


def check_fit(layout: Layout, channel: Channel, printer: Printer | ClassPartition | None, output: str) -> None:
    """Refuse parts that do not belong together."""
    if isinstance(layout, CellLayout) is (printer is None):
        raise Damaged("cells and what writes their rows go together")
    if isinstance(layout, CellLayout) and printer is not None:
        cells, inputs = np.arange(layout.partition.n_cells), channel.inputs
        if inputs.columns != layout.public or not np.array_equal(inputs.symbols, cells):
            raise Damaged("its channel is not from the cells of its rows")
        if printer.n_cells != channel.n_outputs or sorted(printer.names) != sorted(layout.read):
            raise Damaged("its printer does not print what its channel releases")
        return
    if channel.inputs.columns != layout.public:
        raise Damaged("its channel is for other columns")
    if not set(layout.bins) <= {*layout.sensitive, *layout.public}:
        raise Damaged("its bins are for other columns")
    # Labels of merged tuples have columns of their own; all others are printed under the names they had.
    printed = [name for name in layout.public if name not in layout.labelled] if output == "resample" else []
    others = [name for name in channel.outputs.columns if name not in printed]
    if output == "resample" and (
        [name for name in channel.outputs.columns if name in printed] != printed
        or (others and not layout.labelled)
        or set(others) & set(layout.sensitive)
    ):
        raise Damaged("its channel prints other columns")
    for alphabet, names in ((channel.inputs, layout.public), (channel.outputs, printed)):
        for name, level in zip(alphabet.columns, alphabet.levels, strict=True):
            order = layout.bins[name].order if name in names and name in layout.bins else None
            if order is not None and not level.equals(order):
                raise Damaged("its bins are not those of its channel")


def contents_of(layout: Layout, printer: Printer | ClassPartition | None, output: str, channel: Channel) -> str:
    """What of the table can be read from a saved release, in words."""
    if not isinstance(layout, CellLayout) or printer is None:
        return f"the {channel.n_inputs} public symbols that were seen, and how frequent those printed alike are"
    tree = layout.partition
    if isinstance(tree, ClassPartition):
        return f"{tree.n_cells} latent classes: how often each level of a column, or of two, is in each of them; no row"
    n_splits, looked = int((tree.column >= 0).sum()), len(np.unique(tree.column[tree.column >= 0]))
    words = f"a tree of {n_splits} splits of {looked} columns (thresholds and sets of values learned from the table)"
    if not isinstance(printer, PrintTable):
        return f"{words}, and a model of the columns: counts of values and pairs of them that many rows have, no row"
    if output == "label":
        return f"{words}, printed as labels"
    return f"{words}, and what is printed: {int(printer.counts.sum())} whole public rows of the table, by cell"
