"""Saved releases of whole tables: the tree, what it prints from, and what of the table can be read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._release.tree_layout import TreeLayout, through_tree
from sanitize.errors import InvalidParameter
from sanitize.printing import Printer, PrintTable, printer_from_plain
from sanitize.saved._json import Damaged

if TYPE_CHECKING:
    from sanitize._release.layout import Layout
    from sanitize.channel import Channel

# The last one is for whole tables only.
OUTPUTS = ("resample", "label", "model")


def layout_from(layout: Layout, state: Any) -> Layout:
    """Layout of the columns that a text names, through its tree if it has one."""
    try:
        return through_tree(layout, state)
    except InvalidParameter as error:
        raise Damaged(str(error)) from None


def printer_from(state: Any) -> Printer | None:
    """What rows are printed from, if it is not the channel alone."""
    if state is None:
        return None
    try:
        return printer_from_plain(state)
    except InvalidParameter as error:
        raise Damaged(str(error)) from None


def contents_of(layout: Layout, printer: Printer | None, output: str, channel: Channel) -> str:
    """What of the table can be read from a saved release, in words."""
    if not isinstance(layout, TreeLayout) or printer is None:
        return f"the {channel.n_inputs} public symbols that were seen, and how frequent those printed alike are"
    tree = layout.tree
    n_splits, looked = int((tree.column >= 0).sum()), len(np.unique(tree.column[tree.column >= 0]))
    words = f"a tree of {n_splits} splits of {looked} columns (thresholds and sets of values learned from the table)"
    if not isinstance(printer, PrintTable):
        return f"{words}, and a model of the columns: counts of values and pairs of them that many rows have, no row"
    if output == "label":
        return f"{words}, printed as labels"
    return f"{words}, and what is printed: {int(printer.counts.sum())} whole public rows of the table, by cell"
