"""From a table to its tree: preparation, growth, and the tree as a value."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._checks import Codes, Mask, Vector, is_number, whole_number
from sanitize._files.hierarchies import read_hierarchy
from sanitize._progress import progress
from sanitize._tables.columns import as_arrow
from sanitize.budgets import limits_among
from sanitize.classes import grouped
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.trees._grown import GrownTree
from sanitize.trees._hierarchies import ancestor_views
from sanitize.trees._levels import Levels, entropy
from sanitize.trees._splits import Allowed, Split, Splitter
from sanitize.trees._tree import Tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from sanitize._files.hierarchies import Hierarchy
    from sanitize.budgets import Budget

MOST_CELLS = 1 << 16
# More blocks, which tables of some 300,000 rows and more would have, cost more time and memory than they keep.
MOST_BLOCKS = 1 << 14


def grow(
    table: Mapping[str, Any],
    secrets: ArrayLike,
    budget: Budget | None,
    *,
    weights: Mapping[str, float] | None = None,
    min_rows: int = 200,
    min_cell_rows: int = 20,
    max_blocks: int = MOST_BLOCKS,
    max_cells: int = 4096,
    max_block_cells: int | None = 32,
    hierarchies: Mapping[str, Hierarchy | str | Path] | None = None,
    target: str | None = None,
    rows: Mask | None = None,
    edges: Mapping[str, Sequence[Any]] | None = None,
) -> GrownTree:
    """Learn cells and blocks over all columns of a table, as they come.

    Best first from the root: a split is allowed while both sides are within the budget and hold ``min_rows``, and the
    one is taken for which Σ_j w_j (ΔI(X_j)/H(X_j) - 2 ΔI(S)/H(S)) is largest, where ΔI(X) = n H(X) - n_L H_L(X) -
    n_R H_R(X): it keeps much of the columns and tells little of S, which leaves the budget to later splits. Nodes
    without an allowed split are the blocks. Splits inside blocks do not look at S, and ΔI(S) has no part in them. The
    same table gives the same tree, in whatever order its rows come.

    Parameters
    ----------
    table : mapping of name to column
        Public columns: numbers, dates, times, text, booleans; missing is a value.
    secrets : array-like of int, shape (n,)
        Number of the sensitive symbol of each row, from 0.
    budget : Budget or None
        What a block may leak; None makes one block of all rows, so that no split looks at S.
    weights : mapping of name to float, optional
        Of each column's information, >= 0; 1 where there is none.
    min_rows, min_cell_rows : int
        Least rows of a block and of a cell.
    max_blocks : int
        Most blocks; at most 16,384.
    max_cells : int
        Most cells in all; there are never fewer than blocks.
    max_block_cells : int, optional
        Most cells of a block.
    hierarchies : mapping of name to hierarchy, optional
        Ancestors of each value, nearest first, or the path of a CSV file in ARX's format. Such a column is only
        split into one value or one node of the hierarchy, and the rest.
    target : str, optional
        Public column whose information alone is kept.
    rows : ndarray of bool, shape (n,), optional
        Rows that may be looked at; all by default. Cells are given for all of them.
    edges : mapping of name to numbers, optional
        Where ordered columns may be cut, in place of edges learned from the rows: of dates and times, nanoseconds.

    Returns
    -------
    GrownTree

    Raises
    ------
    ColumnError, InvalidParameter
        If a column or a parameter is not as described; the message names it.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> secrets = (df["survived"] == df["survived"].iloc[0]).to_numpy().astype(int)
    >>> grown = grow({name: df[name] for name in ("class", "sex", "age")}, secrets, sz.LiftBudget.symmetric(0.7))
    >>> grown.tree.n_blocks <= grown.tree.n_cells
    True
    """
    whole_number("min_rows", min_rows, 1)
    whole_number("min_cell_rows", min_cell_rows, 1)
    if max_block_cells is not None:
        whole_number("max_block_cells", max_block_cells, 1)
    whole_number("max_blocks", max_blocks, 1, MOST_BLOCKS)
    whole_number("max_cells", max_cells, 1, MOST_CELLS)
    names = list(table)
    if not names:
        raise ColumnError("a tree needs at least one public column")
    codes = _check_secrets(secrets)
    seen = np.flatnonzero(np.ones(len(codes), bool) if rows is None else rows)
    if not len(seen):
        raise ColumnError("there are no rows to grow a tree from")
    shares = _check_weights(weights, names)
    ancestors = _check_names(hierarchies, names, "hierarchies")
    if target is not None and target not in names:
        raise ColumnError.absent([target], names)

    above = {name: read_hierarchy(given, name) for name, given in ancestors.items()}
    columns, levels, entropies = _prepare(table, len(codes), edges or {}, above, None if rows is None else seen)
    views = [
        (j, view) for j, name in enumerate(names) if name in above for view in ancestor_views(columns[j], above[name])
    ]
    measured = [names.index(target)] if target is not None else list(range(len(names)))
    scale = np.array([shares[names[j]] / entropies[j] if entropies[j] > 0 else 0.0 for j in measured])
    of_secrets = entropy(np.bincount(codes[seen]))
    # Of a share of S's entropy, in mean shares of the columns'. At 2 an adversary learns no more than from a plain
    # partition of any table tried, and an analyst no less; 1.5 is too low where S is rare (`benchmarks/adversary.md`).
    price = 2.0 * sum(shares[names[j]] for j in measured) / of_secrets if of_secrets > 0 else 0.0
    aim = measured if target is not None else None
    looked_at = levels if rows is None else levels[:, seen]
    splitter = _splitter(columns, looked_at, views, scale, codes[seen], price, aim)
    root = _Node(0, len(seen))
    blocks = [root]
    if budget is not None:
        _grow_leaves(splitter, blocks, min_rows, _within(budget, codes[seen]), max_blocks)
        blocks = sorted((node for node in _nodes(root) if not node.sides), key=lambda node: node.start)
    for number, block in enumerate(blocks):
        block.block = number
    # Inside blocks nothing is asked of S.
    _grow_leaves(splitter, blocks, min_cell_rows, None, max_cells, max_block_cells)
    nodes = _nodes(root)
    tree = _freeze(nodes, columns, views)
    cells = np.empty(len(codes), np.int32)
    if rows is None:
        for number, cell in enumerate(node for node in nodes if not node.sides):
            cells[splitter.rows[cell.start : cell.stop]] = number
    else:
        cells = tree.assign(table)
    return GrownTree(tree, cells, columns, levels, measured, scale, seen)


def _prepare(
    table: Mapping[str, Any],
    n: int,
    edges: Mapping[str, Sequence[Any]],
    above: Mapping[str, Mapping[str, tuple[str, ...]]],
    seen: Codes | None,
) -> tuple[list[Levels], NDArray[np.uint16], list[float]]:
    """Levels of each column, learned from some rows or all, those of all rows, and entropies of the columns."""
    columns, levels, entropies = [], np.empty((len(table), n), np.uint16), []
    for j, (name, given) in enumerate(table.items()):
        column = as_arrow(given, name)
        if len(column) != n:
            raise ColumnError(f"column {name!r} has {len(column)} rows, the secrets have {n}", name)
        own = column if seen is None else column.take(pa.array(seen))
        learned = Levels.learn(own, name, edges.get(name, ()), above.get(name))
        levels[j] = learned.encode(column)
        columns.append(learned)
        counts = np.bincount(levels[j] if seen is None else levels[j, seen], minlength=learned.n_levels)
        entropies.append(entropy(np.bincount(grouped(counts, is_ordered=learned.is_ordered), counts)))
    return columns, levels, entropies


def _splitter(
    columns: list[Levels],
    levels: NDArray[np.uint16],
    views: list[tuple[int, NDArray[np.int64]]],
    scale: Vector,
    secrets: NDArray[np.int64],
    price: float,
    target: list[int] | None,
) -> Splitter:
    """Splitter over the columns and the heights of their hierarchies."""
    ordered = np.array([column.is_ordered for column in columns])
    grouped = np.isin(np.arange(len(columns)), [j for j, _ in views])
    candidates = np.concatenate([levels, *(view[levels[[j]]].astype(np.uint16) for j, view in views)])
    sizes = [column.n_levels for column in columns] + [int(view.max()) + 1 for _, view in views]
    one = np.ones(len(views), bool)
    may_cut = np.stack([np.concatenate([~grouped, ~one]), np.concatenate([~ordered, one])])
    wanted = None if target is None else levels[target[0]].astype(np.int64)
    return Splitter(candidates, sizes, may_cut, scale, secrets, price, wanted)


def _within(budget: Budget, secrets: NDArray[np.int64]) -> Allowed:
    """Whether sets of rows, given by counts of their secrets (k, n_s), are within a budget."""
    counts = np.bincount(secrets)
    there = counts > 0  # of rare secrets no row may be among those that are looked at
    p_s, budget = counts[there] / counts.sum(), limits_among(budget, np.flatnonzero(there))

    def allowed(part: NDArray[np.int64]) -> Mask:
        lifts = (part[:, there] / part.sum(axis=1, keepdims=True) / p_s).T
        return ~(budget.excess_of(lifts, p_s) > 0)

    return allowed


def _freeze(nodes: list[_Node], columns: list[Levels], views: list[tuple[int, NDArray[np.int64]]]) -> Tree:
    """Tree of nodes, given breadth first, whose ordered columns keep the thresholds that are used."""
    n_before = 1 + 2 * np.cumsum([0, *(bool(node.sides) for node in nodes[:-1])])
    sides = [(int(n), int(n) + 1) if node.sides else (-1, -1) for n, node in zip(n_before, nodes, strict=True)]
    column = np.full(len(nodes), -1, np.int32)
    left: list[Mask] = [np.zeros(0, bool)] * len(nodes)
    for i, node in enumerate(nodes):
        if node.split is not None:
            j, own = node.split.column, node.split.left
            if j >= len(columns):
                j, view = views[j - len(columns)]
                own = own[view]
            column[i], left[i] = j, own
    kept = []
    for j, levels in enumerate(columns):
        if not levels.is_ordered:
            kept.append(levels)
            continue
        here = np.flatnonzero(column == j).tolist()
        cuts = sorted({int(np.flatnonzero(~left[i])[0]) for i in here})
        kept.append(levels.coarser(cuts))
        begins = np.array([0, *(cut for cut in cuts if cut < len(levels.values)), levels.missing])
        for i in here:
            left[i] = left[i][begins[-len(kept[-1].values) - 1 :]]
    block = np.array([node.block for node in nodes], np.int32)
    n_rows = np.array([node.stop - node.start for node in nodes], np.int64)
    return Tree(tuple(kept), column, np.array(sides, np.int32).reshape(-1, 2), tuple(left), block, n_rows)


def _check_secrets(secrets: ArrayLike) -> NDArray[np.int64]:
    codes = np.asarray(secrets)
    if codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer) or (codes < 0).any():
        raise InvalidParameter("secrets must be one whole number >= 0 a row: the number of its sensitive symbol")
    return codes.astype(np.int64)


def _check_weights(weights: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    given = _check_names(weights, names, "weights")
    for name, value in given.items():
        if not (is_number(value) and 0 <= value < np.inf):
            raise InvalidParameter(f"the weight of {name!r} must be a finite number >= 0, got {value!r}")
    return {name: float(given.get(name, 1.0)) for name in names}


def _check_names(given: Mapping[str, Any] | None, names: list[str], what: str) -> dict[str, Any]:
    if given is None:
        return {}
    for name in given:
        if name not in names:
            raise InvalidParameter(f"{what}: no public column {name!r}; there are {', '.join(map(repr, names[:10]))}")
    return dict(given)


@dataclass(eq=False)
class _Node:
    """A box of rows while the tree grows.

    Attributes
    ----------
    start, stop : int
        Places of its rows among those of the splitter, before it is cut.
    block : int
        Number of the block it lies in; -1 above all blocks.
    split : Split, optional
        How it is cut; None for a cell.
    left, right : Node
        Its two sides.
    """

    start: int
    stop: int
    block: int = -1
    split: Split | None = None
    sides: list[_Node] = field(default_factory=list)


def _nodes(root: _Node) -> list[_Node]:
    """The root and all nodes below it, breadth first."""
    nodes = [root]
    for node in nodes:  # which grows meanwhile
        nodes.extend(node.sides)
    return nodes


def _grow_leaves(
    splitter: Splitter, roots: list[_Node], least: int, allowed: Allowed | None, most: int, most_each: int | None = None
) -> None:
    """Cut nodes into at most ``most`` leaves in all and ``most_each`` of each, which are allowed and of enough rows.

    The node whose split gains most is cut, again and again; ties go to the node that was there first.
    """
    heap: list[tuple[float, int, _Node, Split, int]] = []
    turn = count()

    def offer(nodes: list[_Node], tops: list[int]) -> None:
        """Nodes that follow each other, unless their top is cut often enough."""
        may_part = n_leaves < most and (most_each is None or min(n_each[top] for top in tops) < most_each)
        splits = splitter.best([(node.start, node.stop) for node in nodes], least, allowed) if may_part else []
        for node, top, split in zip(nodes, tops, splits, strict=bool(splits)):
            if split is not None:
                heapq.heappush(heap, (-split.gain, next(turn), node, split, top))

    n_leaves, n_each = len(roots), [1] * len(roots)
    offer(roots, list(range(len(roots))))
    with progress("tree") as step:
        while heap and n_leaves < most:
            _, _, node, split, root = heapq.heappop(heap)
            if most_each is not None and n_each[root] >= most_each:
                continue
            n_leaves, n_each[root] = n_leaves + 1, n_each[root] + 1
            middle = splitter.cut(node.start, node.stop, split)
            node.split = split
            node.sides = [_Node(node.start, middle, node.block), _Node(middle, node.stop, node.block)]
            offer(node.sides, [root, root])
            step(f"{n_leaves} leaves")
