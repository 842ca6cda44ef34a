"""Whether the parts of a saved release belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._release.tree_layout import TreeLayout
from sanitize.saved._json import Damaged

if TYPE_CHECKING:
    from sanitize._release.layout import Layout
    from sanitize.channel import Channel
    from sanitize.printing import Printer


def check_fit(layout: Layout, channel: Channel, printer: Printer | None, output: str) -> None:
    """Refuse parts that do not belong together."""
    if printer is not None or isinstance(layout, TreeLayout):
        _check_tree(layout, channel, printer)
    else:
        _check_tuples(layout, channel, output)


def _check_tree(layout: Layout, channel: Channel, printer: Printer | None) -> None:
    """A channel from the cells of a tree to what a printer prints."""
    if not isinstance(layout, TreeLayout) or printer is None:
        raise Damaged("a tree and a printer go together")
    cells, inputs = np.arange(layout.tree.n_cells), channel.inputs
    if inputs.columns != layout.public or not np.array_equal(inputs.symbols, cells):
        raise Damaged("its channel is not from the cells of its tree")
    if printer.n_cells != channel.n_outputs or sorted(printer.names) != sorted(layout.read):
        raise Damaged("its printer does not print what its channel releases")


def _check_tuples(layout: Layout, channel: Channel, output: str) -> None:
    """A channel from tuples of the public columns to the columns that it prints."""
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
