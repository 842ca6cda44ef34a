"""Best-first growth: blocks within the budget, then cells inside them that do not look at S."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from sanitize._progress import progress

if TYPE_CHECKING:
    from sanitize.trees._splits import Allowed, Split, Splitter


@dataclass(eq=False)
class Node:
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
    sides: list[Node] = field(default_factory=list)


def leaves(root: Node) -> list[Node]:
    """Nodes that are not cut, from left to right."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        if node.sides:
            stack.extend(reversed(node.sides))
        else:
            found.append(node)
    return found


def grow_leaves(
    splitter: Splitter, roots: list[Node], least: int, allowed: Allowed | None, most: int, most_each: int | None = None
) -> None:
    """Cut nodes into at most ``most`` leaves in all and ``most_each`` of each, which are allowed and of enough rows.

    The node whose split gains most is cut, again and again; ties go to the node that was there first.
    """
    heap: list[tuple[float, int, Node, Split, int]] = []
    turn = count()

    def offer(nodes: list[Node], tops: list[int]) -> None:
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
            node.sides = [Node(node.start, middle, node.block), Node(middle, node.stop, node.block)]
            offer(node.sides, [root, root])
            step(f"{n_leaves} leaves")
