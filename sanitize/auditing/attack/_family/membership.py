"""Attacks on membership, which look in a release for signs of the people in the data."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from sanitize._util.checks import Vector
from sanitize._util.progress import progress
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._compared import APART, RELEASED
from sanitize.auditing.attack._scene import TARGETS, Scene

# Four values are enough to single out many people. Up to 40 choices of columns make the share stable; in large tables,
# fewer choices keep the work at 4 million rows. Exact amounts are nearly always unique, so every other choice puts
# numbers into 64 groups.
_DESCRIBED, _MOST_CHOICES, _FEWEST_CHOICES, _DESCRIBED_ROWS, _NUMBER_GROUPS = 4, 40, 4, 4_000_000, 64


class SinglingOut(Attack):
    """Attack that counts combinations of values in a few columns that occur in one released row and in one target."""

    title = "Singling out"
    question = "Does a description of a released row fit exactly one person?"
    figure = "share"
    people = "Of 100 descriptions that fit one released row, {} fit exactly one person in the data"
    outsiders = "{} fit exactly one person outside it"

    def score(self, scene: Scene) -> Vector:
        """Return, for each target, n times the share of combinations with one released row that only this target has.

        The factor n is the number of targets in the data, so that the mean over these targets is a share.

        Every other choice of columns describes numbers by exact values; the remaining choices use 64 groups.
        """
        fits, n_descriptions = np.zeros(scene.n[1]), 0
        for i, choice in enumerate(self._choices(scene)):
            columns = [scene.columns[j] for j in choice]
            place, released, targets = scene.combinations(columns, cuts=_NUMBER_GROUPS if i % 2 else None)
            n_descriptions += int((released == 1).sum())
            fits += ((released == 1) & (targets == 1))[place]
        return fits * scene.n_each / max(n_descriptions, 1)

    def _choices(self, scene: Scene) -> list[list[int]]:
        """Choose sets of columns: the most identifying columns, and random columns."""
        n, size = len(scene.columns), min(_DESCRIBED, len(scene.columns))
        most = max(_FEWEST_CHOICES, min(_MOST_CHOICES, _DESCRIBED_ROWS // sum(scene.n[:2])))
        rng = scene.rng(self.title)
        drawn = [rng.choice(n, size, replace=False).tolist() for _ in range(min(most, 2 * comb(n, size)) - 1)]
        return [scene.search.side_columns[:size], *drawn]


class NearestRow(Attack):
    """Attack that scores each target by the distance of the nearest released row."""

    title = "Nearest row"
    question = "Are released rows nearer to people in the data?"

    def score(self, scene: Scene) -> Vector:
        """Return the negative distance of the nearest released row, for each target."""
        return -scene.neighbours.nearest.astype(float)


class CalibratedNearestRow(Attack):
    """Attack that compares the distance of the nearest released row with the distance of the nearest other target."""

    title = "Calibrated nearest row"
    question = "Are released rows nearer than other rows of the same population?"

    def score(self, scene: Scene) -> Vector:
        """Return, for each target, the log ratio of both distances, each slightly increased so that neither is 0."""
        neighbours, little = scene.neighbours, APART / 50
        return np.log(neighbours.population + little) - np.log(neighbours.nearest + little)


class Neighbourhood(Attack):
    """Attack that compares the number of released rows near a target with the number of other targets near it."""

    title = "Neighbourhood"
    question = "Are more released rows close to people in the data?"

    def score(self, scene: Scene) -> Vector:
        """Return the log ratio of the shares of released rows and of targets up to the tenth nearest target."""
        neighbours, n = scene.neighbours, scene.n[0]
        return np.log(neighbours.within + 1 / n) - np.log(neighbours.expected + 1 / n)


class ValueDensity(Attack):
    """Attack that compares the frequency of a target's values in the release with their frequency among all targets.

    This attack finds keys and amounts that only one person has; other densities compare numbers in groups.
    """

    title = "Density of values"
    question = "Are the exact values of a person more frequent in the release?"

    def score(self, scene: Scene) -> Vector:
        """Return, summed over columns, the log ratio of the released to the expected count of each target's value."""
        total = np.zeros(scene.n[TARGETS])
        for column in scene.columns:
            place, released, targets = scene.combinations([column])
            expected = targets * (scene.n[RELEASED] / scene.n[TARGETS])
            total += np.log((released[place] + 0.5) / (expected[place] + 0.5))
        return total


# The 12 columns have 66 pairs, each of which takes a pass over the rows. A pair of values in three released rows
# belongs to a group and no longer points to one person.
_PAIR_COLUMNS, _PAIR_ROWS = 12, 3


class RarePairs(Attack):
    """Attack that looks for improbable pairs of values that only one target has and that are released."""

    title = "Rare pairs"
    question = "Does the release have pairs of values that only one person has?"

    def score(self, scene: Scene) -> Vector:
        """Return each target's largest surprise: roughly -log of a pair's expected count under independence."""
        columns = scene.columns[:_PAIR_COLUMNS]
        singles = (scene.combinations([column]) for column in columns)
        frequencies = [(released + 0.5)[place] for place, released, _ in singles]
        best = np.zeros(scene.n[TARGETS])
        for i, j in combinations(range(len(columns)), 2):
            place, released, targets = scene.combinations([columns[i], columns[j]])
            is_alone = (released > 0) & (released < _PAIR_ROWS) & (targets == 1)
            expected = frequencies[i] * frequencies[j] / scene.n[RELEASED]
            best = np.maximum(best, is_alone[place] * np.log1p(1 / expected))
        return best


# Most columns that are used, because every pair is counted, and the rows that a column's own frequencies count for in
# those of a pair, so that unseen pairs have a chance.
_TREE_COLUMNS, _PRIOR = 40, 2.0

Codes = NDArray[np.int64]


def scene_levels(scene: Scene, cuts: int) -> tuple[Codes, Codes, list[int]]:
    """Return coarse codes of released rows and of targets, shape (n, n_columns), and each column's number of codes."""
    columns = scene.columns[:_TREE_COLUMNS]
    sides, sizes = zip(*(column.levels(cuts) for column in columns), strict=True)
    released, targets = (
        np.column_stack([side[table] for side in sides]).astype(np.int64) for table in (RELEASED, TARGETS)
    )
    return released, targets, list(sizes)


def most_informative_tree(codes: Codes, sizes: list[int]) -> list[tuple[int, int]]:
    """Return the tree of columns with most mutual information [ChowLiu], as pairs of parent and child, root first."""
    weights = np.zeros((len(sizes), len(sizes)))
    for i, j in combinations(range(len(sizes)), 2):
        counts = np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j]).reshape(sizes[i], -1)
        share = counts / len(codes)
        seen, independent = share > 0, np.outer(share.sum(axis=1), share.sum(axis=0))
        # Edges with more information are shorter; edges without information also need a positive length.
        weights[i, j] = 1e3 - (share[seen] @ np.log(share[seen] / independent[seen]))
    tree = minimum_spanning_tree(csr_array(weights))
    order, parents = breadth_first_order(tree, 0, directed=False)
    return [(int(parents[child]), int(child)) for child in order[1:]]


def log_density(learned: Codes, rows: Codes, sizes: list[int], tree: list[tuple[int, int]]) -> Vector:
    """Log density of rows under a tree of columns that is learned from other rows and smoothed."""
    root = (np.bincount(learned[:, 0], minlength=sizes[0]) + 1) / (len(learned) + sizes[0])
    total = np.log(root)[rows[:, 0]]
    for parent, child in tree:
        size = sizes[child]
        marginal = (np.bincount(learned[:, child], minlength=size) + 1) / (len(learned) + size)
        pairs = np.bincount(learned[:, parent] * size + learned[:, child], minlength=sizes[parent] * size)
        pairs = pairs.reshape(-1, size)
        conditional = (pairs + _PRIOR * marginal) / (pairs.sum(axis=1, keepdims=True) + _PRIOR)
        total += np.log(conditional)[rows[:, parent], rows[:, child]]
    return total


# Levels of a column. With more of them, densities show rare values, but have fewer rows for each: all pairs of columns
# use a middle number, and trees, which are fast, are summed over three.
_PAIR_LEVELS, _TREE_LEVELS = 64, (16, 64, 256)


class PairDensity(Attack):
    """Attack that compares the frequency of pairs of a target's values in the release and among all targets."""

    title = "Density of pairs"
    question = "Are pairs of a person's values more frequent in the release?"

    def score(self, scene: Scene) -> Vector:
        """Return each target's log ratio of released to expected frequency, summed over pairs of its values."""
        released, targets, sizes = scene_levels(scene, _PAIR_LEVELS)
        total = np.zeros(len(targets))
        for i, j in combinations(range(len(sizes)), 2):
            places = [rows[:, i] * sizes[j] + rows[:, j] for rows in (released, targets)]
            shares = [np.bincount(place, minlength=sizes[i] * sizes[j])[places[1]] / len(place) for place in places]
            of_release, expected = (np.log(share + 1 / len(released)) for share in shares)
            total += of_release - expected
        return total


class TreeDensity(Attack):
    """Attack that compares a target's density under a tree of columns learned from the release and one from targets."""

    title = "Density by a tree of columns"
    question = "Does a model of the release make people in the data more likely?"

    def score(self, scene: Scene) -> Vector:
        """Return, for each target, the log ratio of both densities, summed over coarse and fine levels.

        Each target is an equally small part of the rows from which the second tree is learned.
        """
        total = np.zeros(scene.n[1])
        for cuts in _TREE_LEVELS:
            released, targets, sizes = scene_levels(scene, cuts)
            tree = most_informative_tree(released, sizes)
            total += log_density(released, targets, sizes, tree) - log_density(targets, targets, sizes, tree)
        return total


# Attacks whose scores have few ties, so that the effect of a target on its own score can be measured.
_SIGNALS = (NearestRow, Neighbourhood, ValueDensity, PairDensity, TreeDensity)


class Differencing(Attack):
    """Attack that compares the signals of a target's membership in two releases of the same table."""

    title = "Difference of two releases"
    question = "Does the second release show who was added?"

    def score(self, scene: Scene) -> Vector | None:
        """Return how much stronger the signals are than in the earlier release; None without an earlier release."""
        if scene.earlier is None:
            return None
        more = signals(scene) - signals(scene.earlier)
        return np.asarray((more / np.maximum(more.std(axis=0), 1e-12)).sum(axis=1))


def signals(scene: Scene) -> Vector:
    """Scores of several attacks, used as signals of each target's membership, shape (n_targets, n_signals)."""
    return np.column_stack([attack().score(scene) for attack in _SIGNALS])


# Shadow releases come in pairs whose targets complement one another. Each runs the program once, and with fewer, the
# effect of a target would be lost in noise.
_RELEASES = 16


class ShadowReleases(Attack):
    """Attack that compares a target's signals with the signals of releases made with the target and without it."""

    title = "Shadow releases"
    question = "Does running the program again show who is in the data?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the log-likelihood ratio of membership under normal signals; None if no new release can be made."""
        if scene.release_again is None:
            return None
        rng, seen = scene.rng(self.title), signals(scene)
        n, k = seen.shape
        sums, counts, squares = np.zeros((2, n, k)), np.zeros((2, n, 1)), np.zeros((n, k))
        with progress("attacks: shadow releases", _RELEASES) as step:
            for _ in range(_RELEASES // 2):
                half = np.isin(np.arange(n), rng.choice(n, n // 2, replace=False))
                for is_in in (half, ~half):
                    signal = signals(scene.release_again(is_in))
                    sums[is_in.astype(int), np.arange(n)] += signal
                    counts[is_in.astype(int), np.arange(n)] += 1
                    squares += signal**2
                    step("")
        without, within = means = sums / counts
        spread = np.maximum((squares - (counts * means**2).sum(axis=0)).mean(axis=0) / (_RELEASES - 2), 1e-12)
        # Each target's effect is shrunk towards the mean effect, because few releases say little about one target.
        effect = within - without
        usual = effect.mean(axis=0)
        noise = 4 * spread / _RELEASES
        shrinkage = np.maximum(effect.var(axis=0) - noise, 0) / np.maximum(effect.var(axis=0), 1e-12)
        effect, middle = usual + shrinkage * (effect - usual), (within + without) / 2
        return np.asarray((effect * (seen - middle) / spread).sum(axis=1))
