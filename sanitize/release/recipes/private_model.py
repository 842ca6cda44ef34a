"""Tree model of the columns [ChowLiu], learned from noisy counts only: generated rows reveal no more than these counts.

The model reads rows only through noisy looks, each of which uses a share of one privacy level
(`sanitize.release.recipes.record_dp.Looks`). A table of d columns takes d looks at counts of levels, d - 1 looks at
pairs of levels along the edges of the tree, and d - 1 choices of an edge. The tree is built edge by edge. An edge
scores Σ |N(a, b) - E(a, b)|, where E is the count for independent columns, from the noisy counts of levels, in whole
numbers; one row changes every score by at most 1. The pair distribution of an edge is found by mirror descent from
independence: close to the noisy pair counts, among those with the noisy counts of levels as margins.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sanitize._util.checks import Codes, Vector
from sanitize._util.sampling.count_noise import project_counts
from sanitize.core.profiles import GROUPS, group_levels
from sanitize.release.classes import ClassColumn, LatentClassModel, Writer, draw_listed, to_fixed_point, to_numbers
from sanitize.tables.columns import ascending
from sanitize.tables.ordered import is_ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.alphabet import Alphabet

# Shares of the privacy level for counts of levels, choices of edges, and counts of pairs. Pairs have the smallest
# counts and need most; a choice only has to find strong edges.
_LEVELS, _CHOICE, _PAIRS = Fraction(2, 5), Fraction(1, 10), Fraction(1, 2)
# Approximate sum of the whole-number chances of all levels given a level of the parent. Rounded shares add less than
# the sum itself, so that totals stay below the 31 bits of `draw_listed`.
WHOLE = 1 << 26
# A draw uses the upper 32 of 64 bits.
_HALF = np.uint64(32)
# Counts below this many standard deviations of the noise may be nothing but noise; they are averaged.
_CLEAR = 3.0
# Number and size of the steps of mirror descent, and rounds of fitting both margins in each step: up to some ten
# thousand rows, the pairs then miss the true ones by less than the noise does.
_STEPS, _SIZE, _ROUNDS = 300, 4.0, 2
# Replaces divisors and chances of 0, which a logarithm cannot take.
_LEAST = 1e-12
# Most levels of a column that are written as single groups, below the 127 groups of a model; number of groups if there
# are more; and a number of rows that passes every threshold, because the counts have noise already.
_OWN, _PARTS, _MANY = 100, 25, 1000


class Look(Protocol):
    """Noisy access to counts and scores of the rows; each look uses a share of one privacy level."""

    def __call__(self, counts: NDArray[np.int64], share: Fraction) -> NDArray[np.int64]:
        """Return counts with noise; one row more or less may change one count by 1."""

    def choose(self, scores: NDArray[np.int64], share: Fraction) -> int:
        """Choose the position of a high score; one row more or less may change each score by at most 1."""

    def deviation(self, share: Fraction) -> float:
        """Standard deviation of the noise on a count."""


@dataclass(frozen=True, eq=False)
class PrivateModel:
    """Tree model: columns in an order in which each is drawn given at most one earlier column.

    Attributes
    ----------
    order, parents : tuple of int
        Columns in drawing order, and the parent on which each depends; -1 for none.
    chances : tuple of ndarray of int, shape (n_parent_levels, n_levels)
        Chances of the levels of each column, for each level of its parent.
    """

    order: tuple[int, ...]
    parents: tuple[int, ...]
    chances: tuple[NDArray[np.int64], ...]

    @staticmethod
    def share_of_levels(share: Fraction, n_columns: int) -> Fraction:
        """Return the part of a privacy share that is spent on the levels of one column."""
        return _LEVELS * share / n_columns

    @staticmethod
    def share_of_choices(share: Fraction) -> Fraction:
        """Return the part of a privacy share that is spent on all choices of edges together."""
        return _CHOICE * share

    @classmethod
    def learn(
        cls,
        codes: Sequence[Codes],
        sizes: Sequence[int],
        ordered: Sequence[bool],
        share: Fraction,
        look: Look,
        noisy_counts: Mapping[int, NDArray[np.int64]],
        n_alone: int = 0,
    ) -> PrivateModel:
        """Learn the model for a share of the privacy level; only the number of rows is read without noise.

        Parameters
        ----------
        codes : sequence of ndarray of int, shape (n,)
            Level of each row in each column.
        sizes : sequence of int
            Number of levels of each column, whether or not a row has them.
        ordered : sequence of bool
            Whether the levels of each column have an order.
        share : Fraction
        look : Look
        noisy_counts : mapping of int to ndarray of int
            Known noisy counts of the levels of some columns, by position, for which no further look is taken.
        n_alone : int
            Number of first columns that are drawn independently, without a look at their pairs.
        """
        n, d = len(codes[0]), len(codes)
        level_share = cls.share_of_levels(share, d)
        counts = [
            noisy_counts[place]
            if place in noisy_counts
            else look(np.bincount(column_codes, minlength=size), level_share)
            for place, (column_codes, size) in enumerate(zip(codes, sizes, strict=True))
        ]
        clear, n_edges = _CLEAR * look.deviation(level_share), max(d - n_alone - 1, 1)
        margins = [_level_counts(*column, clear, n) for column in zip(counts, ordered, strict=True)]
        pair_share = _PAIRS * share / n_edges
        most = int(np.clip((n / look.deviation(pair_share)) ** 0.5, 2, GROUPS))
        groups = [
            group_levels(np.rint(margin).astype(np.int64), is_ordered=in_order, most=most)
            for margin, in_order in zip(margins, ordered, strict=True)
        ]
        coarse = [group[column_codes] for group, column_codes in zip(groups, codes, strict=True)]
        of_group: list[Vector] = [
            np.bincount(group, margin).astype(np.float64) for group, margin in zip(groups, margins, strict=True)
        ]

        def pairs(parent: int, child: int) -> NDArray[np.int64]:
            shape = len(of_group[parent]), len(of_group[child])
            return np.bincount(coarse[parent] * shape[1] + coarse[child], minlength=shape[0] * shape[1]).reshape(shape)

        alone = min(n_alone + 1, d)
        order, parents = [*range(alone)], [-1] * alone
        chances = [_to_whole_numbers(margin[None] / n) for margin in margins[:alone]]
        for parent, child in _edges(pairs, of_group, n_alone, cls.share_of_choices(share) / n_edges, look):
            fitted = _nearest_pairs(look(pairs(parent, child), pair_share), of_group[parent], of_group[child])
            within = margins[child] / np.maximum(of_group[child], _LEAST)[groups[child]]
            given = fitted / np.maximum(fitted.sum(axis=1, keepdims=True), _LEAST)
            order.append(child)
            parents.append(parent)
            chances.append(_to_whole_numbers(given[groups[parent]][:, groups[child]] * within))
        return cls(tuple(order), tuple(parents), tuple(chances))

    def as_classes(
        self, alphabets: Mapping[str, Alphabet], table: Mapping[str, pa.Array], edges: Mapping[str, Sequence[Any]]
    ) -> LatentClassModel:
        """Convert the model to a latent-class model with one class that writes the same rows.

        Parameters
        ----------
        alphabets : mapping of name to Alphabet
            Levels of each column, in the order of the model.
        table : mapping of name to Arrow array
            Table drawn from the model, without the columns that are drawn independently.
        edges : mapping of name to numbers
            Edges of the columns whose levels are bins.
        """
        names, columns = list(alphabets), dict[int, ClassColumn]()
        groups, margins, writers = dict[int, Codes](), dict[int, Vector](), list[Writer]()
        for number, parent, chances in zip(self.order, self.parents, self.chances, strict=True):
            if (name := names[number]) not in table:
                continue
            given = chances / chances.sum(axis=1, keepdims=True)
            above = np.ones(1) if parent < 0 else margins[parent]
            pairs = above[:, None] * given
            margins[number] = pairs.sum(axis=0)
            column, own = _class_column(name, alphabets[name], table[name], margins[number], edges.get(name))
            columns[number], groups[number] = column, own
            of_parent = np.zeros(1, np.intp) if parent < 0 else groups[parent]
            mass = np.full((columns[parent].n_groups if parent >= 0 else 1, column.n_groups), _LEAST**2)
            np.add.at(mass, (of_parent[:, None], own[None]), pairs)
            logs = to_fixed_point(np.log(mass / mass.sum(axis=1, keepdims=True)))
            none = np.zeros((column.n_groups, 1), np.int32), np.zeros((1, column.n_groups), np.int32)
            place = [] if parent < 0 else [list(columns).index(parent)]
            writers.append(Writer(column, none[0], logs if parent < 0 else none[1], (*place,), (logs,) * len(place)))
        n_rows = len(next(iter(table.values())))
        return LatentClassModel((*table,), (*writers,), np.zeros(1, np.int32), 0, n_rows, settled=True, is_even=True)

    def draw(self, n: int, key: NoiseKey) -> list[Codes]:
        """Draw ``n`` rows; return, for each column, the level of each row."""
        columns: list[Codes] = [np.zeros(n, np.intp)] * len(self.order)
        for number, parent, chances in zip(self.order, self.parents, self.chances, strict=True):
            words, width = key.words_at(number, np.arange(n)) >> _HALF, chances.shape[1]
            first = width * (columns[parent] if parent >= 0 else np.zeros(n, np.intp))
            columns[number] = draw_listed(np.append(0, np.cumsum(chances)), first, first + width, words) - first
        return columns


def _to_whole_numbers(chances: Vector) -> NDArray[np.int64]:
    """Convert each row of chances to whole numbers that sum to about 2**26; no row becomes all 0."""
    result = np.rint(chances * WHOLE).astype(np.int64)
    result[~result.any(axis=1)] = 1
    return result


def _level_counts(noisy: NDArray[np.int64], in_order: bool, clear: float, n: int) -> Vector:  # noqa: FBT001
    """Counts of levels that sum to n, from noisy counts; small counts are averaged, among neighbours if ordered."""
    if in_order:
        starts, filled, size = [0], 0, 0
        for place, count in enumerate(noisy.tolist()):
            if size and max(filled, count * size**0.5) >= clear * size**0.5:
                starts.append(place)
                filled, size = 0, 0
            filled, size = filled + count, size + 1
        group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(noisy)]))
    else:
        is_clear = noisy >= clear
        group = np.where(is_clear, np.cumsum(is_clear), 0)
    mean = np.bincount(group, noisy) / np.maximum(np.bincount(group), 1)
    return project_counts(mean[group][:, None], np.array([n]))[:, 0].astype(np.float64)


def _nearest_pairs(noisy: NDArray[np.int64], parent: Vector, child: Vector) -> Vector:
    """Find pair counts close to noisy counts, with given margins, by mirror descent from independence."""
    n = parent.sum()
    pairs = np.outer(parent, child) / n
    for _ in range(_STEPS):
        pairs = np.maximum(pairs, _LEAST) * np.exp(np.clip(_SIZE / n * (noisy - pairs), -30, 30))
        for _ in range(_ROUNDS):
            pairs *= (parent / np.maximum(pairs.sum(axis=1), _LEAST))[:, None]
            pairs *= child / np.maximum(pairs.sum(axis=0), _LEAST)
    return pairs


def _edges(
    pairs: Callable[[int, int], NDArray[np.int64]],
    of_group: Sequence[Vector],
    n_alone: int,
    share: Fraction,
    look: Look,
) -> list[tuple[int, int]]:
    """Choose the edges of the tree as pairs of parent and child; each step adds a column by a high-scoring edge."""
    d = len(of_group)
    scores = np.zeros((d, d), np.int64)
    for parent in range(n_alone, d):
        for child in range(n_alone, parent):
            usual = np.rint(np.outer(of_group[parent], of_group[child]) / of_group[parent].sum()).astype(np.int64)
            # The score is reduced by what chance alone would give.
            by_chance = int(np.sqrt(2 * usual / np.pi).sum())
            scores[parent, child] = scores[child, parent] = np.abs(pairs(parent, child) - usual).sum() - by_chance
    reached, tree = [n_alone], []
    while len(reached) < d - n_alone:
        edges = [(parent, child) for parent in reached for child in range(n_alone, d) if child not in reached]
        tree.append(edges[look.choose(np.array([scores[edge] for edge in edges]), share)])
        reached.append(tree[-1][1])
    return tree


def _class_column(
    name: str, alphabet: Alphabet, drawn: pa.Array, margin: Vector, edges: Sequence[Any] | None
) -> tuple[ClassColumn, Codes]:
    """Return the column that writes each level of an alphabet (or a number in a bin), and the group of each level."""
    place, levels = alphabet.codes[:, 0], alphabet.levels[0]
    is_missing = place == len(levels)
    if edges is not None:
        values, codes = ascending(drawn, name)
        column = ClassColumn.fit(
            drawn, name, values, codes.astype(np.intp), np.ones(len(values), np.int64), _OWN, edges=edges
        )
        return column, np.append(column.groups, column.n_groups - 1)[place]
    order = np.asarray(pc.sort_indices(levels))
    values, numbers = levels.take(order), np.empty(0)
    if is_ordered(levels.type, name):
        numbers = to_numbers(values)
        numbers = np.append(numbers, numbers[-1:] + 1)
    mass, most = np.zeros(len(levels)), _OWN if len(levels) <= _OWN else _PARTS
    mass[place[~is_missing]] = margin[~is_missing]
    mass = mass[order] + _LEAST if len(levels) > _OWN else np.ones(len(levels))
    counts, each = np.full(len(levels), _MANY), np.arange(len(levels))
    column = ClassColumn.fit(values, name, values, each, counts, most, mass, edges=numbers.tolist(), lists_all=True)
    return column, np.append(column.value_groups(levels)[:-1], column.n_groups - 1)[place]
