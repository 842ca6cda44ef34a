"""Saved releases of whole tables: the tree, what it prints from, and what of the table can be read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._release.tree_layout import TreeLayout, through_tree
from sanitize.errors import InvalidParameter
from sanitize.saved._json import Damaged
from sanitize.trees import Printer

if TYPE_CHECKING:
    from sanitize._release.layout import Layout
    from sanitize.channel import Channel

# The last one is for whole tables only.
RELEASES = ("resample", "label", "independent")


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
        return Printer.from_dict(state)
    except InvalidParameter as error:
        raise Damaged(str(error)) from None


def contents_of(layout: Layout, printer: Printer | None, release: str, channel: Channel) -> str:
    """What of the table can be read from a saved release, in words."""
    if not isinstance(layout, TreeLayout) or printer is None:
        return f"the {channel.n_inputs} public symbols that were seen, and how frequent those printed alike are"
    tree = layout.tree
    n_splits, looked = int((tree.column >= 0).sum()), len(np.unique(tree.column[tree.column >= 0]))
    words = f"a tree of {n_splits} splits of {looked} columns (thresholds and sets of values learned from the table)"
    if release == "label":
        return f"{words}, printed as labels"
    rows = [int(table.counts.sum()) for table in printer.tables]
    what = "whole public rows" if release == "resample" else f"values of each of {len(rows)} columns"
    return f"{words}, and what is printed: {what} of {rows[0]} rows of the table, by cell"
