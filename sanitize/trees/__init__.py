"""Trees over whole tables: cells of rows that are alike, and blocks that are within a budget.

Binary trees over public columns as they come, learned so that the cells keep what the columns say. Mechanisms then
release the blocks, or mix the cells of each block (`sanitize.mechanisms`).
"""

from sanitize._files.hierarchies import Hierarchy as Hierarchy
from sanitize._files.hierarchies import read_hierarchy as read_hierarchy
from sanitize._tables.ordered import as_ordered as as_ordered
from sanitize._tables.ordered import categories as categories
from sanitize._tables.ordered import is_ordered as is_ordered
from sanitize._tables.ordered import plain as plain
from sanitize._tables.ordered import restored as restored
from sanitize.classes import DESIGN_SHARE as DESIGN_SHARE
from sanitize.classes import GROUPS as GROUPS
from sanitize.classes import ClassPartition
from sanitize.classes import Profiles as Profiles
from sanitize.classes import cell_counts as cell_counts
from sanitize.classes import column_counts as column_counts
from sanitize.classes import design_rows as design_rows
from sanitize.classes import grouped as grouped
from sanitize.classes import pair_counts as pair_counts
from sanitize.trees._edges import LEAST_ROWS as LEAST_ROWS
from sanitize.trees._edges import MOST_VALUES as MOST_VALUES
from sanitize.trees._edges import Edges as Edges
from sanitize.trees._edges import Scale as Scale
from sanitize.trees._edges import edges_of as edges_of
from sanitize.trees._grow import MOST_BLOCKS as MOST_BLOCKS
from sanitize.trees._grow import grow as grow
from sanitize.trees._grown import GrownTree as GrownTree
from sanitize.trees._levels import MOST_CATEGORIES as MOST_CATEGORIES
from sanitize.trees._levels import Levels as Levels
from sanitize.trees._levels import frequent as frequent
from sanitize.trees._levels import scale_of as scale_of
from sanitize.trees._tree import Tree as Tree

# What finds the cell of a row, the public symbol of a release of many columns.
Partition = Tree | ClassPartition

__all__ = []
