"""A tree of columns [ChowLiu] from noisy counts alone: whatever is made of rows drawn from it says no more of anybody.

Rows are seen through looks at counts, each of which a row more or less changes by 1 in one place; noise P(z) ∝
exp(-r|z|) makes such a look r-differentially private. The levels of d columns take d looks, the pairs of the edges of
a tree d - 1. A tree is built edge by edge: an edge scores Σ |N(a, b) - E(a, b)|, where E is what independent columns
would have by the noisy counts of their levels, in whole numbers; a row changes every score by 1 at most. The largest
score with noise of its own on each is 2r-private: given the noise on the others, the edge
wins if its own is at least some z, with the other table if it is at least z + 2: e^(-2r) times as likely or more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Codes, Vector
from sanitize._util.sampling.count_noise import whole
from sanitize.core.profiles import GROUPS, group_levels
from sanitize.release.classes import draw_listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._util.sampling.noise import NoiseKey

# Counts with noise of a rate.
Look = Callable[[NDArray[np.int64], Fraction], NDArray[np.int64]]

# Of ε: what levels, the choice of edges and the pairs of an edge take.
_LEVELS, _CHOICE, _PAIRS = Fraction(3, 10), Fraction(1, 10), Fraction(6, 10)
# What the chances of a level given one of its parent sum to, about.
WHOLE = 1 << 26
_HALF = np.uint64(32)
# Rows of an average pair of groups, in standard deviations of the noise on them.
_FULL = 3.0


@dataclass(frozen=True, eq=False)
class PrivateModel:
    """Columns in an order in which each is drawn given an earlier one.

    Attributes
    ----------
    order, parents : tuple of int
        Columns, and of each the one that it is drawn given; -1 for the first.
    parent_groups : tuple of ndarray of int
        For each column the line of its chances for each level of its parent.
    chances : tuple of ndarray of int, shape (n_lines, n_levels)
    """

    order: tuple[int, ...]
    parents: tuple[int, ...]
    parent_groups: tuple[Codes, ...]
    chances: tuple[NDArray[np.int64], ...]

    @staticmethod
    def rate_of_levels(eps: Fraction, n_columns: int) -> Fraction:
        """Part of ε for the levels of one column."""
        return _LEVELS * eps / n_columns

    @staticmethod
    def rate_of_choices(eps: Fraction) -> Fraction:
        """Part of ε for all choices of edges together."""
        return _CHOICE * eps

    @classmethod
    def learn(
        cls,
        codes: Sequence[Codes],
        sizes: Sequence[int],
        ordered: Sequence[bool],
        eps: Fraction,
        look: Look,
        noisy_counts: Mapping[int, NDArray[np.int64]],
    ) -> PrivateModel:
        """Learn it at a level ε; how many rows there are is public, and all else is looked at through ``look``.

        Parameters
        ----------
        codes : sequence of ndarray of int, shape (n,)
            Level of each row in each column.
        sizes : sequence of int
            Levels of each column, whether or not a row has them.
        ordered : sequence of bool
            Whether they have an order.
        eps : Fraction
        look : callable
        noisy_counts : mapping of int to ndarray of int
            Noisy counts of the levels of some columns, by their places, which `rate_of_levels` is left for.
        """
        n, d = len(codes[0]), len(codes)
        level_rate = cls.rate_of_levels(eps, d)
        levels = [
            noisy_counts[place]
            if place in noisy_counts
            else look(np.bincount(column_codes, minlength=size), level_rate)
            for place, (column_codes, size) in enumerate(zip(codes, sizes, strict=True))
        ]
        margins = [whole(counts, n) for counts in levels]
        shares = [(counts.astype(np.float64) + 0.5) / (n + len(counts) / 2) for counts in margins]
        rate = _PAIRS * eps / max(d - 1, 1)
        most = int(np.clip((n * float(rate) / (_FULL * 2**0.5)) ** 0.5, 2, GROUPS))
        groups = [
            group_levels(counts, is_ordered=is_ordered, most=most)
            for counts, is_ordered in zip(margins, ordered, strict=True)
        ]
        coarse = [group[column_codes] for group, column_codes in zip(groups, codes, strict=True)]
        of_group = [np.bincount(group, share).astype(np.float64) for group, share in zip(groups, shares, strict=True)]

        def pairs(parent: int, child: int) -> NDArray[np.int64]:
            shape = len(of_group[parent]), len(of_group[child])
            return np.bincount(coarse[parent] * shape[1] + coarse[child], minlength=shape[0] * shape[1]).reshape(shape)

        order, parents = [0], [-1]
        parent_groups, chances = [np.zeros(1, np.intp)], [_to_whole_numbers(shares[0][None])]
        for parent, child in _edges(pairs, of_group, n, _CHOICE * eps / max(d - 1, 1) / 2, look):
            noisy = whole(look(pairs(parent, child), rate), n)
            # As many rows as noise may make are taken for independent.
            usual = noisy + float(2**0.5 / rate) * of_group[child]
            spread = usual / usual.sum(axis=1, keepdims=True) / of_group[child]
            order.append(child)
            parents.append(parent)
            parent_groups.append(groups[parent])
            chances.append(_to_whole_numbers(spread[:, groups[child]] * shares[child]))
        return cls(tuple(order), tuple(parents), tuple(parent_groups), tuple(chances))

    def draw(self, n: int, key: NoiseKey) -> list[Codes]:
        """Levels of so many rows in each column."""
        columns: list[Codes] = [np.zeros(n, np.intp)] * len(self.order)
        for number, parent, groups, chances in zip(
            self.order, self.parents, self.parent_groups, self.chances, strict=True
        ):
            words, width = key.words_at(number, np.arange(n)) >> _HALF, chances.shape[1]
            first = width * (groups[columns[parent]] if parent >= 0 else np.zeros(n, np.intp))
            columns[number] = draw_listed(np.append(0, np.cumsum(chances)), first, first + width, words) - first
        return columns


def _to_whole_numbers(chances: Vector) -> NDArray[np.int64]:
    """Chances as whole numbers that sum to about 2**26; what is above 0 stays so."""
    return np.ceil(chances * WHOLE).astype(np.int64)


def _edges(
    pairs: Callable[[int, int], NDArray[np.int64]], of_group: Sequence[Vector], n: int, rate: Fraction, look: Look
) -> list[tuple[int, int]]:
    """Parent and child of each edge, parents first: at each step the one of the largest noisy score that adds one."""
    d = len(of_group)
    scores = np.zeros((d, d), np.int64)
    for parent in range(d):
        for child in range(parent):
            usual = np.rint(n * np.outer(of_group[parent], of_group[child])).astype(np.int64)
            # Less what chance alone would show.
            by_chance = int(np.sqrt(2 * usual / np.pi).sum())
            scores[parent, child] = scores[child, parent] = np.abs(pairs(parent, child) - usual).sum() - by_chance
    reached, tree = [0], []
    while len(reached) < d:
        edges = [(parent, child) for parent in reached for child in range(d) if child not in reached]
        noisy = look(np.array([scores[edge] for edge in edges]), rate)
        tree.append(edges[int(noisy.argmax())])
        reached.append(tree[-1][1])
    return tree
