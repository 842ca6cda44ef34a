"""Form of saved releases, which are read as untrusted input, and checks that their parts fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pyarrow as pa

from sanitize._util.declared import LARGEST, UNSET, Declared, NonNegative, Unset, Version1, field_note, require
from sanitize.core.binning import AnyBins, Grid
from sanitize.core.budgets import BUDGETS, BudgetForm
from sanitize.core.channel import ChannelForm
from sanitize.errors import InvalidParameter
from sanitize.release.classes import ClassPartition
from sanitize.release.layout import Layout, Missing, cell_layout, layout_classes
from sanitize.report import MeasureForm, OptimalityForm

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel


def damage_error(what: object) -> InvalidParameter:
    """Make the error for a text that is damaged or not a saved release."""
    return InvalidParameter(f"this is not a saved release that can be trusted: {what}; save it again")


Output = Literal["resample", "model"]  # "model" is for whole tables only
_Level = Annotated[float, field_note("eps > 0", gt=0, le=LARGEST)]
_Delta = Annotated[float, field_note("a delta above 0 and at most 1", gt=0, le=1)]


def own_budget(budget: object) -> Budget:
    """Return the budget; refuse a budget class of the user, which a name and numbers do not fully describe.

    Raises
    ------
    InvalidParameter
        If the budget is of a user's class.
    """
    name = type(budget).__name__
    if BUDGETS.get(name) is not type(budget):
        raise InvalidParameter(
            f"a release with the budget {name} cannot be saved; give a budget of the library ({', '.join(BUDGETS)})"
        )
    return budget  # type: ignore[return-value]


class SavedForm(Declared, frozen=True, eq=False):
    """Contents of a saved release, in the form of its JSON."""

    format: Literal["sanitize/release"]
    version: Version1
    library_version: str
    mechanism: str
    output: Output
    sensitive: tuple[str, ...]
    public: tuple[str, ...]
    missing: Missing
    bins: tuple[AnyBins, ...]
    budget: BudgetForm
    channel: ChannelForm
    partition: ClassPartition | None
    optimality: OptimalityForm | None
    figures: tuple[MeasureForm, ...]
    warnings: tuple[str, ...]
    secret_dp: tuple[_Level, _Delta] | None
    sha256: str
    record_dp: tuple[_Level, NonNegative] | Unset = UNSET

    def layout(self) -> Layout:
        """Layout that the saved release describes."""
        bins = {column_bins.column: column_bins for column_bins in self.bins}
        require(len(bins) == len(self.bins), "has a column twice", "bins")
        return cell_layout(Layout(self.sensitive, self.public, bins, self.missing), self.partition)


def check_fit(layout: Layout, channel: Channel, output: str) -> None:
    """Refuse a saved release in which the layout, the channel and the kind of output do not fit together."""
    classes = layout_classes(layout)
    if (output == "model") is (classes is None):
        raise damage_error("it must generate rows if it has latent classes, and only then")
    if classes is not None:
        symbols, cells = channel.inputs, pa.array(np.arange(classes.n_cells))
        if symbols.columns != layout.public or not symbols.levels[-1].cast(pa.int64()).equals(cells):
            raise damage_error("its channel does not read its latent classes")
        if channel.outputs != symbols:
            raise damage_error("its channel writes other classes than it reads")
        return
    if channel.inputs.columns != layout.public:
        raise damage_error("its channel reads other columns than its public columns")
    if not set(layout.bins) <= {*layout.sensitive, *layout.public}:
        raise damage_error("its bins name a column that it does not have")
    if channel.outputs.columns != layout.public:
        raise damage_error("its channel writes other columns than its public columns")
    for alphabet in (channel.inputs, channel.outputs):
        for name, level in zip(alphabet.columns, alphabet.levels, strict=True):
            bins = layout.bins.get(name)
            is_noisy = alphabet is channel.outputs and isinstance(bins, Grid)  # noise may exceed the ends of the grid
            if bins is not None and bins.order is not None and not is_noisy and not level.equals(bins.order):
                raise damage_error(f"the bins of column {name!r} differ from the symbols of its channel")
