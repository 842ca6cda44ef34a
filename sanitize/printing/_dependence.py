"""Which columns are drawn given which: a tree of most mutual information, and pairs of values that must not meet.

Beyond the tree of pairs, kinds of rows, which no row is told, say what goes with what.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._checks import Codes, Mask, Vector
from sanitize._limits import BLOCK_ROWS
from sanitize.printing._edges import PRINT_LANE, faded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords
    from sanitize.printing._nodes import Node

# A pair of states is forbidden where fewer rows have it, though this many would if the columns were independent.
_FEW, _USUAL = 3, 20
# Kinds, and the groups of states that they differ in: with more an adversary is better at telling who is in the table,
# and an analyst hardly at anything.
_KINDS, _GROUPS, _ROUNDS = 6, 8, 40
# Rows, times those of the table, that what all kinds have in common counts for: of more rows each one is seen less.
_PRIOR = 1e6
_KIND_LANE = 5 * PRINT_LANE


def pair_counts(nodes: list[Node]) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Rows of each pair of states of each pair of nodes, or of every k-th of very many rows."""
    n_pairs = len(nodes) * (len(nodes) - 1) // 2
    # Rows x pairs of nodes that are counted; of more rows every k-th is.
    step = max(1, -(-len(nodes[0].codes) * n_pairs // 200_000_000))
    for one, another in combinations(range(len(nodes)), 2):
        yield one, another, joint_counts(nodes[one], nodes[another], step)


def joint_counts(one: Node, another: Node, step: int = 1) -> NDArray[np.int64]:
    """Rows of each pair of states of two nodes, shape (n_states, n_states)."""
    shape = len(one.counts), len(another.counts)
    counts = np.zeros(shape[0] * shape[1], np.int64)
    codes = one.codes[::step], another.codes[::step]
    for at in range(0, len(codes[0]), BLOCK_ROWS):
        first, second = (own[at : at + BLOCK_ROWS] for own in codes)
        counts += np.bincount(first * np.uint32(shape[1]) + second, minlength=len(counts))
    return counts.reshape(shape)


def information(counts: NDArray[np.int64], groups: tuple[Codes, Codes]) -> float:
    """Mutual information of two nodes in groups of their states, less what chance alone gives, in nats."""
    summed = np.zeros((groups[0].max() + 1, groups[1].max() + 1))
    np.add.at(summed, np.ix_(*groups), counts)
    n, rows, columns = summed.sum(), summed.sum(axis=1), summed.sum(axis=0)
    expected = np.outer(rows, columns) / max(n, 1)
    seen = summed > 0
    told = float((summed[seen] * np.log(summed[seen] / expected[seen])).sum() / max(n, 1))
    return told - (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * max(n, 1))


def forbidden(counts: NDArray[np.int64]) -> Mask:
    """Pairs of states that hardly any row has though chance would give many: boys who are mothers.

    That pairs of no row at all are forbidden would tell who the only one is.
    """
    rows, columns, n = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    return (counts < _FEW) & (np.outer(rows, columns) >= _USUAL * max(n, 1))


def spanning_tree(told: Vector, words: RandomWords, n_rows: int) -> list[tuple[int, int]]:
    """Parent and child of each edge of the tree of most information, parents first [ChowLiu].

    Noise of the size of what one row could change is added to the information, so that an edge tells of nobody.
    """
    n = len(told)
    pairs = np.arange(n * n)
    drawn = words.words_at(4 * PRINT_LANE, pairs) >> np.uint64(11)
    uniform = drawn.astype(np.float64) * 2.0**-53 + 2.0**-54
    noise = -np.log(-np.log(uniform)).reshape(n, n) * np.log(n_rows + 1) / (n_rows + 1)
    weight = np.triu(told + noise, 1)
    weight += weight.T
    reached, edges = np.zeros(n, bool), []
    reached[0] = True
    best, parent = weight[0].copy(), np.zeros(n, np.intp)
    for _ in range(n - 1):
        child = int(np.argmax(np.where(reached, -np.inf, best)))
        edges.append((int(parent[child]), child))
        reached[child] = True
        closer = weight[child] > best
        best[closer], parent[closer] = weight[child][closer], child
    return edges


def of_kinds(
    nodes: Sequence[Node], parents: Sequence[int], tables: Sequence[Vector], words: RandomWords
) -> tuple[list[Vector], int]:
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
    # How many times as likely in a kind as in all rows, in such parts: what is rounded differs on no machine.
    part = 2.0**-12
    groups = [node.groups(_GROUPS) for node in nodes]
    sizes = [int(group.max()) + 1 for group in groups]
    shapes = [(1 if parent < 0 else sizes[parent], size) for parent, size in zip(parents, sizes, strict=True)]
    first = np.cumsum([0, *(a * b for a, b in shapes)])  # entries: pairs of groups of a node and its parent
    # Rows that kinds are learned from; of more every k-th is.
    step = -(-len(nodes[0].codes) // 60_000)
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
    start = words.words_at(_KIND_LANE, np.arange(len(soft) * _KINDS)).reshape(-1, _KINDS)
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
    ratio = np.ceil(ratio / part) * part
    made = []
    for table, parent, group, own_ratio, shape in zip(
        tables, parents, groups, np.split(ratio, first[1:-1]), shapes, strict=True
    ):
        of_groups = own_ratio.T.reshape(_KINDS, *shape)
        above = np.zeros(1, np.intp) if parent < 0 else groups[parent]
        in_kinds = table * of_groups[:, above][:, :, group]
        made.append(in_kinds / in_kinds.sum(axis=None if parent < 0 else 2, keepdims=True))
    return made, int(free @ np.maximum((of_line / (of_line + prior)).sum(axis=1) - 1, 0)) + _KINDS - 1
