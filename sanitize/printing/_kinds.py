"""Kinds of rows, which no row is told: what goes with what beyond the tree of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._sampling.noise import random_access_words
from sanitize.printing._drawing import PRINT_LANE
from sanitize.printing._edges import faded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords
    from sanitize.printing._nodes import Node

# Kinds, and the groups of states that they differ in: with more an adversary is better at telling who is in the table,
# and an analyst hardly at anything.
_KINDS, _GROUPS, _ROUNDS = 6, 8, 40
# Rows, times those of the table, that what all kinds have in common counts for: of more rows each one is seen less.
_PRIOR = 1e6
# How many times as likely in a kind as in all rows, in such parts: what is rounded differs on no machine.
_PART = 2.0**-12
# Rows that kinds are learned from; of more every k-th is.
_MOST_ROWS = 60_000
_KIND_LANE = 5 * PRINT_LANE


def of_kinds(
    nodes: Sequence[Node], parents: Sequence[int], tables: Sequence[NDArray[np.float64]], words: RandomWords
) -> tuple[list[NDArray[np.float64]], int]:
    """Distributions of each node in each of a few kinds of rows: a mixture of trees [MeilaJordan].

    A kind makes a group of states, given that of the parent, more or less likely than all rows do. Expectation and
    maximisation find how much, from a start that the key draws; a pair of groups that few rows have fades in.

    Parameters
    ----------
    nodes : sequence of Node
        Parents before children.
    parents : sequence of int
        Of each node; -1 for the first.
    tables : sequence of ndarray of float, shape (n_parent, n_states)
        Distributions in all rows; each row sums to 1.
    words : RandomWords

    Returns
    -------
    list of ndarray of float, shape (n_kinds, n_parent, n_states)
        Each row sums to 1, and all of the first node together: its kind is drawn with it.
    int
        About how many counts they take from the table.
    """
    groups = [node.groups(_GROUPS) for node in nodes]
    sizes = [int(group.max()) + 1 for group in groups]
    shapes = [(1 if parent < 0 else sizes[parent], size) for parent, size in zip(parents, sizes, strict=True)]
    first = np.cumsum([0, *(a * b for a, b in shapes)])  # entries: pairs of groups of a node and its parent
    step = -(-len(nodes[0].codes) // _MOST_ROWS)
    codes = [group[node.codes[::step]] for node, group in zip(nodes, groups, strict=True)]
    entries = [
        begin + code + (codes[parent] * size if parent >= 0 else 0)
        for begin, code, parent, size in zip(first[:-1], codes, parents, sizes, strict=True)
    ]
    n, d = len(codes[0]), len(nodes)
    has = sparse.csr_array((np.ones(n * d), np.stack(entries, axis=1).ravel(), np.arange(n + 1) * d), (n, first[-1]))
    widths = np.concatenate([np.full(a, b) for a, b in shapes])
    lines = np.cumsum(widths) - widths  # where the entries of each group of a parent begin
    counts = has.sum(axis=0)
    soft = faded(counts)
    kept = np.divide(soft, counts, out=np.zeros(len(soft)), where=counts > 0)[:, None]
    whole = np.repeat(np.add.reduceat(soft, lines), widths)
    usual = np.divide(soft, whole, out=np.zeros(len(soft)), where=soft > 0)[:, None]
    start = random_access_words(words, _KIND_LANE)(np.arange(len(soft) * _KINDS)).reshape(-1, _KINDS)
    ratio = 0.5 + (start >> np.uint64(11)).astype(np.float64) * 2.0**-53
    share, prior = np.full(_KINDS, 1 / _KINDS), _PRIOR / n
    for _ in range(_ROUNDS):
        belief = has @ np.log(ratio)
        belief = share * np.exp(belief - belief.max(axis=1, keepdims=True))
        belief /= belief.sum(axis=1, keepdims=True)
        share = belief.mean(axis=0)
        own = (has.T @ belief) * kept
        of_line = np.add.reduceat(own, lines)
        told = (own + prior * usual) / (np.repeat(of_line, widths, axis=0) + prior)
        ratio = np.divide(told, usual, out=np.ones_like(told), where=usual > 0)
    free = np.maximum(np.add.reduceat(soft > 0, lines, dtype=np.intp) - 1, 0)
    ratio[: sizes[0]] *= share
    ratio = np.ceil(ratio / _PART) * _PART
    made = []
    for table, parent, group, own_ratio, shape in zip(
        tables, parents, groups, np.split(ratio, first[1:-1]), shapes, strict=True
    ):
        of_groups = own_ratio.T.reshape(_KINDS, *shape)
        above = np.zeros(1, np.intp) if parent < 0 else groups[parent]
        in_kinds = table * of_groups[:, above][:, :, group]
        made.append(in_kinds / in_kinds.sum(axis=None if parent < 0 else 2, keepdims=True))
    return made, int(free @ np.maximum((of_line / (of_line + prior)).sum(axis=1) - 1, 0)) + _KINDS - 1
