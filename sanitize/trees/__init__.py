"""Trees over whole tables: cells of rows that are alike, and blocks that are within a budget.

Binary trees over public columns as they come, learned so that the cells keep what the columns say. Mechanisms then
release the blocks, or mix the cells of each block (`sanitize.mechanisms`).
"""

from sanitize.trees._counts import DESIGN_SHARE as DESIGN_SHARE
from sanitize.trees._counts import cell_counts, design_rows
from sanitize.trees._grow import grow
from sanitize.trees._grown import GrownTree
from sanitize.trees._hierarchies import Hierarchy as Hierarchy
from sanitize.trees._hierarchies import read_hierarchy
from sanitize.trees._levels import Levels
from sanitize.trees._printing import Printer, PrintTable, labels, single_columns, whole_rows
from sanitize.trees._profiles import Profiles
from sanitize.trees._tree import Tree

__all__ = [
    "GrownTree",
    "Levels",
    "PrintTable",
    "Printer",
    "Profiles",
    "Tree",
    "cell_counts",
    "design_rows",
    "grow",
    "labels",
    "read_hierarchy",
    "single_columns",
    "whole_rows",
]
