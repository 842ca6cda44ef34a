"""Search for released rows near targets, in all columns, in halves, and in a few columns that an adversary knows.

The distance of two rows is the sum over columns: 1 if categories differ, the difference of ranks for numbers, and 1 if
a value is outside a released interval or set. Of several equally near rows, the first in a random order is used; the
order is the same for every target.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitize._util.progress import progress
from sanitize.auditing.attack._compared import APART, RELEASED, Column
from sanitize.core.measures import entropy
from sanitize.tables.keys import distinct_rows

Rows = NDArray[np.integer[Any]]

# Five columns are about what an acquaintance knows. They are chosen among the 30 of largest entropy, and by 20,000
# rows, because each choice counts the combinations of every column anew.
_KNOWN, _MOST_COLUMNS, _MOST_ROWS = 5, 30, 20_000
# With 10,000 targets of each kind, shares are known to about 0.01; ten billion comparisons of values take about half a
# minute of processor time.
_MOST_TARGETS, _MOST_COMPARISONS = 10_000, 10_000_000_000
# Distances to 4,000 other targets are enough to calibrate a distance, and the search for them is short. Ten neighbours
# are few enough to be near, and so many that their radius varies little.
_MOST_POPULATION, _NEIGHBOURHOOD = 4_000, 10
# Targets of one task of a thread: enough to outweigh its start, few enough for regular reports of progress.
_BATCH = 64


def affordable_targets(n_released: int, n_columns: int) -> int:
    """Number of targets of each kind that can be searched for in reasonable time."""
    return max(50, min(_MOST_TARGETS, _MOST_COMPARISONS // (2 * n_released * n_columns)))


class Neighbours:
    """Results of a search for n targets, filled in target by target.

    Attributes
    ----------
    nearest : ndarray of int
        Distance of the nearest released row in all columns.
    population : ndarray of int
        Distance of the nearest other target, which shows how near rows of the same population are.
    within, expected : ndarray of float
        Share of the released rows, and of the targets, that are at most as far as the tenth nearest other target.
    row, known_row : ndarray of int
        Row of the release that is nearest in all columns, and in the known columns.
    linked : ndarray of bool
        True if both halves of the columns lead to the same released row.
    secrets, known_secrets : ndarray of float, shape (n_targets, n_secrets)
        Counts of each sensitive symbol in the rows that are nearest in all columns, and in the known columns.
    """

    def __init__(self, n: int, n_secrets: int) -> None:
        self.nearest, self.population, self.row, self.known_row = np.zeros((4, n), np.int64)
        self.within, self.expected = np.zeros((2, n))
        self.secrets, self.known_secrets = np.zeros((2, n, n_secrets))
        self.linked = np.zeros(n, bool)


class Search:
    """Index for searches: the distinct released rows, and the columns by which rows are compared.

    Attributes
    ----------
    side_columns, halves : list of int, two lists of int
        Columns that together identify most released rows; and all columns in two halves, by default dealt in turn in
        order of entropy.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        secret: Rows | None,
        n_secrets: int,
        seed: int,
        half: Sequence[str] | None = None,
    ) -> None:
        self.columns = columns
        order = np.random.default_rng(seed).permutation(len(columns[0].codes[RELEASED]))
        codes = np.column_stack([column.codes[RELEASED][order] for column in columns]).astype(np.int32)
        sizes = [column.n_codes for column in columns]
        _, first, numbers = np.unique(distinct_rows(codes, sizes)[1], return_index=True, return_inverse=True)
        by_first = np.argsort(first)
        place = np.argsort(by_first)[numbers]
        self._rows = order[first[by_first]]
        self._share = np.bincount(place) / len(order)
        self._secrets = np.zeros((len(first), n_secrets))
        if secret is not None:
            np.add.at(self._secrets, (place, secret[order]), 1)
        self._released = [_distance_codes(column)[self._rows] for column in columns]
        first_codes = codes[:_MOST_ROWS].astype(np.int64)
        by_entropy = np.argsort([-_entropy(column) for column in first_codes.T], kind="stable").tolist()
        self.halves = by_entropy[::2], by_entropy[1::2]
        if half is not None:
            is_in = [column.name in half for column in columns]
            self.halves = [j for j in by_entropy if is_in[j]], [j for j in by_entropy if not is_in[j]]
        self.side_columns = _most_identifying(first_codes, sizes, by_entropy)

    def find(self, side: int) -> Neighbours:
        """Return the released rows near each row of one table, given by the table's position in each column's codes."""
        n = len(self.columns[0].codes[side])
        neighbours = Neighbours(n, self._secrets.shape[1])
        batches = [range(start, min(start + _BATCH, n)) for start in range(0, n, _BATCH)]
        with progress("attacks: searching for people", len(batches)) as step, ThreadPoolExecutor(2) as pool:
            for _ in pool.map(lambda targets: self._search(side, targets, neighbours), batches):
                step("")
        return neighbours

    def _search(self, side: int, targets: range, neighbours: Neighbours) -> None:
        """Find the nearest neighbours of some targets and store them in ``neighbours``."""
        n_population = min(_MOST_POPULATION, len(neighbours.nearest))
        population = [_distance_codes(column, side)[:n_population] for column in self.columns]
        distances, their = (np.empty(n, np.int32) for n in (len(self._rows), n_population))
        # Sums over more than 8,191 columns pass 2^31.
        first, second, side_sums = np.empty((3, len(self._rows)), np.int64)
        separation = np.empty(n_population, np.int64)
        for i in targets:
            separation.fill(0)
            for j, column in enumerate(self.columns):
                separation += _distances(column, side, i, population[j], their, is_released=False)
            if i < n_population:
                separation[i] = np.iinfo(np.int64).max  # a target is not its own neighbour
            k = max(min(_NEIGHBOURHOOD, n_population - 1) - 1, 0)
            radius = np.partition(separation, k)[k]
            neighbours.population[i] = separation.min()
            neighbours.expected[i] = (separation <= radius).sum() / max(n_population - 1, 1)
            for sums in (first, second, side_sums):
                sums.fill(0)
            for half, sums in zip(self.halves, (first, second), strict=True):
                for j in half:
                    sums += _distances(self.columns[j], side, i, self._released[j], distances)
                    if j in self.side_columns:
                        side_sums += distances
            neighbours.linked[i] = first.argmin() == second.argmin()
            first += second
            for sums, rows, secrets in (
                (first, neighbours.row, neighbours.secrets),
                (side_sums, neighbours.known_row, neighbours.known_secrets),
            ):
                near = int(sums.argmin())
                rows[i] = self._rows[near]
                secrets[i] = self._secrets[sums == sums[near]].sum(axis=0)
            neighbours.nearest[i] = first.min()
            neighbours.within[i] = self._share[first <= radius].sum()


def _distances(
    column: Column, side: int, target: int, to: NDArray[Any], out: NDArray[np.int32], *, is_released: bool = True
) -> NDArray[np.int32]:
    """Distances of some rows from a target in one column."""
    if column.ranks is not None:
        np.subtract(to, column.ranks[side][target], out=out)
        np.abs(out, out=out)
        return np.minimum(out, APART, out=out) if column.has_gaps else out
    code = column.codes[side][target]
    has_sets = is_released and column.fits is not None
    differs = ~column.fits[:, code][to] if has_sets and column.fits is not None else to != code
    return np.multiply(differs, APART, out=out, dtype=np.int32)


def _most_identifying(codes: NDArray[np.int64], sizes: Sequence[int], by_entropy: Sequence[int]) -> list[int]:
    """Choose columns that together identify most rows, one by one."""
    identifying: list[int] = []
    together = np.zeros(len(codes), np.int64)
    while len(identifying) < min(_KNOWN, max(1, len(sizes) - 1)):
        joined = {
            j: np.unique(together * sizes[j] + codes[:, j], return_inverse=True)[1]
            for j in by_entropy[:_MOST_COLUMNS]
            if j not in identifying
        }
        best = max(joined, key=lambda j: _entropy(joined[j]))
        identifying.append(best)
        together = joined[best]
    return identifying


def _distance_codes(column: Column, side: int = RELEASED) -> NDArray[Any]:
    """Return the codes or ranks of one table for distances; a released interval or set gets its own code."""
    if column.ranks is not None:
        return column.ranks[side]
    return column.codes[side] if column.labels is None or side != RELEASED else column.labels


def _entropy(codes: Rows) -> float:
    """Entropy of the frequencies of codes, in nats."""
    return entropy(np.unique(codes, return_counts=True)[1] / len(codes))
