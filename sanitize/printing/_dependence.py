"""Which columns are drawn given which: a tree of most mutual information, and pairs of values that must not meet."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sanitize._sampling.noise import random_access_words
from sanitize.printing._drawing import PRINT_LANE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords
    from sanitize.printing._nodes import Node

# Rows x pairs of nodes that are counted; of more rows every k-th is.
_MOST_LOOKS = 200_000_000
# A pair of states is forbidden where fewer rows have it, though this many would if the columns were independent.
_FEW, _USUAL = 3, 20
_BATCH = 1 << 16  # rows counted at a time, so that their keys stay in the cache
_NOISE_LANE = 4 * PRINT_LANE


def pair_counts(nodes: list[Node]) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Rows of each pair of states of each pair of nodes, or of every k-th of very many rows."""
    n_pairs = len(nodes) * (len(nodes) - 1) // 2
    step = max(1, -(-len(nodes[0].codes) * n_pairs // _MOST_LOOKS))
    for one, another in combinations(range(len(nodes)), 2):
        yield one, another, joint_counts(nodes[one], nodes[another], step)


def joint_counts(one: Node, another: Node, step: int = 1) -> NDArray[np.int64]:
    """Rows of each pair of states of two nodes, shape (n_states, n_states)."""
    shape = len(one.counts), len(another.counts)
    counts = np.zeros(shape[0] * shape[1], np.int64)
    codes = one.codes[::step], another.codes[::step]
    for at in range(0, len(codes[0]), _BATCH):
        first, second = (own[at : at + _BATCH] for own in codes)
        counts += np.bincount(first * np.uint32(shape[1]) + second, minlength=len(counts))
    return counts.reshape(shape)


def information(counts: NDArray[np.int64], groups: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    """Mutual information of two nodes in groups of their states, less what chance alone gives, in nats."""
    summed = np.zeros((groups[0].max() + 1, groups[1].max() + 1))
    np.add.at(summed, np.ix_(*groups), counts)
    n, rows, columns = summed.sum(), summed.sum(axis=1), summed.sum(axis=0)
    expected = np.outer(rows, columns) / max(n, 1)
    seen = summed > 0
    told = float((summed[seen] * np.log(summed[seen] / expected[seen])).sum() / max(n, 1))
    return told - (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * max(n, 1))


def forbidden(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Pairs of states that hardly any row has though chance would give many: boys who are mothers.

    That pairs of no row at all are forbidden would tell who the only one is.
    """
    rows, columns, n = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    return (counts < _FEW) & (np.outer(rows, columns) >= _USUAL * max(n, 1))


def spanning_tree(told: NDArray[np.float64], words: RandomWords, n_rows: int) -> list[tuple[int, int]]:
    """Parent and child of each edge of the tree of most information, parents first [ChowLiu].

    Noise of the size of what one row could change is added to the information, so that an edge tells of nobody.
    """
    n = len(told)
    pairs = np.arange(n * n)
    uniform = (random_access_words(words, _NOISE_LANE)(pairs) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
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
