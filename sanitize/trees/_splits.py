"""The best split of one node: histograms of every column given every candidate, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# Steps that a column is cut into at a node, by its rows: what a split of few rows gains is not known finer.
_STEPS = ((4000, 32), (150, 16), (0, 8))
_AT_ONCE = 1 << 17  # pairs of columns counted in one call
_BLOCK_ROWS = 1 << 14  # whose places stay in the cache
_DIGITS = 9  # of a gain that decide between candidates; below are rounding errors

_NOTHING = 1e-9  # a gain that rounding alone leaves


@dataclass(frozen=True, eq=False)
class Split:
    """A node cut in two.

    Attributes
    ----------
    gain : float
        Information that it keeps, summed over the columns with their weights, less the price of what it tells of S.
    column : int
    left : ndarray of bool, shape (n_levels,)
        Levels of the column that go left.
    """

    gain: float
    column: int
    left: NDArray[np.bool_]


class Splitter:
    """Rows as levels, and what is asked of their splits.

    A split keeps Σ_j w_j (n H(X_j) - n_L H_L(X_j) - n_R H_R(X_j)), with H in nats within the node. Where it may look at
    S, its gain is what it keeps less ``price`` (n H(S) - n_L H_L(S) - n_R H_R(S)): sides that are alike in S leave more
    of the budget for later splits.

    Parameters
    ----------
    levels : ndarray of shape (n, d)
        Level of each row in each column.
    sizes : sequence of int
        Levels of each column.
    by_threshold, by_value : ndarrays of bool, shape (d,)
        Columns that are split at a level, and those that are split one level against the rest.
    weights : ndarray of shape (k,), or (1,) with a target
        Of the columns whose information is to be kept, divided by their entropies: the first k ones. The others
        offer splits only.
    secrets : ndarray of int, shape (n,)
    n_secrets : int
    price : float
        Of a nat about S.
    target : ndarray of int, shape (n,), optional
        Values of the one column whose information is to be kept; all columns by default.
    """

    def __init__(
        self,
        levels: NDArray[np.uint16],
        sizes: list[int],
        by_threshold: NDArray[np.bool_],
        by_value: NDArray[np.bool_],
        weights: NDArray[np.float64],
        secrets: NDArray[np.int64],
        n_secrets: int,
        price: float = 0.0,
        target: NDArray[np.int64] | None = None,
    ) -> None:
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.keys = (levels + self.starts[:-1]).astype(np.int32)
        self.first = np.repeat(self.starts[:-1], sizes)
        self.by_threshold, self.by_value, self.weights = by_threshold, by_value, weights
        self.secrets, self.n_secrets, self.price = secrets, n_secrets, price
        self.target = target
        later, earlier = np.tril_indices(levels.shape[1], m=len(weights))
        self.one, self.another = later, earlier
        counts = np.arange(len(levels) + 1, dtype=np.float64)
        self.n_log_n = counts * np.log(np.maximum(counts, 1))

    def best(
        self, rows: NDArray[np.int64], least: int, allowed: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None
    ) -> Split | None:
        """Split of the largest gain that keeps anything and whose sides hold ``least`` rows and are allowed, or None.

        Ties go to the lowest column, to thresholds before single values, and then to the lowest threshold.

        Parameters
        ----------
        rows : ndarray of int
        least : int
        allowed : callable, optional
            From counts of the secrets, shape (k, n_s), to whether each of these sets of rows may be a block.
        """
        m = len(rows)
        if m < 2 * least:
            return None
        n_steps = next(steps for n_rows, steps in _STEPS if m >= n_rows)
        step_of = self._steps(rows, n_steps)
        table, secrets = self._counted(rows, step_of, n_steps)
        if not table.size:
            return None
        total, all_secrets = table[0].sum(axis=0), secrets[0].sum(axis=0)
        found = None
        for single in (False, True):
            side = table if single else np.cumsum(table, axis=1)
            told = secrets if single else np.cumsum(secrets, axis=1)
            n_left = told.sum(axis=2)
            fits = (n_left >= least) & (m - n_left >= least)
            fits &= (self.by_value if single else self.by_threshold)[:, None]
            column, place = np.nonzero(fits)
            if allowed is not None and len(column):
                part = told[column, place]
                may = allowed(part)
                may[may] = allowed(all_secrets - part[may])
                column, place = column[may], place[may]
            if not len(column):
                continue
            kept = self._kept(side[column, place], total, n_left[column, place], m, n_steps)
            keeps = _rounded(kept) > 0
            price = self._price(told[column, place], all_secrets) if allowed is not None else 0.0
            gains = np.where(keeps, _rounded(kept - price), -np.inf)
            k = int(np.argmax(gains))
            if keeps[k] and (found is None or (gains[k], -column[k]) > (found.gain, -found.column)):
                j = int(column[k])
                own = step_of[self.starts[j] : self.starts[j + 1]]
                found = Split(float(gains[k]), j, own == place[k] if single else own <= place[k])
        return found

    def level(self, rows: NDArray[np.int64], column: int) -> NDArray[np.int64]:
        """Level of these rows in one column."""
        return self.keys[rows, column].astype(np.int64) - self.starts[column]

    def _steps(self, rows: NDArray[np.int64], n_steps: int) -> NDArray[np.int64]:
        """Step of each level of each column, shape (levels,): steps hold about equally many of these rows."""
        counts = np.zeros(self.starts[-1], np.int64)
        for block in _blocks(rows):
            counts += np.bincount(self.keys[block].ravel(), minlength=len(counts))
        before = np.cumsum(counts) - counts
        before -= before[self.first]
        return np.minimum((2 * before + counts) * n_steps // (2 * len(rows)), n_steps - 1)

    def _counted(
        self, rows: NDArray[np.int64], step_of: NDArray[np.int64], n_steps: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts by (column, its step, step of any column), and by (column, its step, secret)."""
        d = self.keys.shape[1]
        place_of = step_of + np.repeat(np.arange(d) * n_steps, np.diff(self.starts))
        width = self.target_size if self.target is not None else len(self.weights) * n_steps
        table = np.zeros(d * n_steps * width, np.int64)
        secrets = np.zeros(d * n_steps * self.n_secrets, np.int64)
        for block in _blocks(rows):
            places = place_of[self.keys[block]]
            told = places * self.n_secrets + self.secrets[block][:, None]
            secrets += np.bincount(told.ravel(), minlength=len(secrets))
            if self.target is not None:
                table += np.bincount((places * width + self.target[block][:, None]).ravel(), minlength=len(table))
            else:
                self._count_pairs(places, width, table, n_steps)
        table = table.reshape(d, n_steps, width)
        if self.target is None:
            pairs = table.reshape(d, n_steps, -1, n_steps)
            below = (self.another < self.one) & (self.one < len(self.weights))
            one, another = self.one[below], self.another[below]
            pairs[another, :, one, :] = pairs[one, :, another, :].transpose(0, 2, 1)
        return table, secrets.reshape(d, n_steps, self.n_secrets)

    def _count_pairs(self, places: NDArray[np.int64], width: int, table: NDArray[np.int64], n_steps: int) -> None:
        """Add counts of each pair of columns once, the later column first."""
        if len(places) * len(self.one) <= _AT_ONCE:
            keys = places.take(self.one, axis=1) * width + places.take(self.another, axis=1)
            table += np.bincount(keys.ravel(), minlength=len(table))
            return
        for k in range(places.shape[1]):
            own = slice(k * n_steps * width, (k + 1) * n_steps * width)
            n_others = min(k + 1, len(self.weights))
            keys = ((places[:, k] - k * n_steps) * width)[:, None] + places[:, :n_others]
            table[own] += np.bincount(keys.ravel(), minlength=n_steps * width)

    @property
    def target_size(self) -> int:
        """Values of the target."""
        return int(self.target.max()) + 1 if self.target is not None and len(self.target) else 1

    def _kept(
        self, left: NDArray[np.int64], total: NDArray[np.int64], n_left: NDArray[np.int64], m: int, n_steps: int
    ) -> NDArray[np.float64]:
        """What each candidate keeps."""
        f = self.n_log_n
        width = self.target_size if self.target is not None else n_steps
        mixed = (f[left] + f[total - left]).reshape(len(left), -1, width).sum(axis=2)
        whole = f[total].reshape(-1, width).sum(axis=1)
        return np.asarray(((f[m] - f[n_left] - f[m - n_left])[:, None] + mixed - whole) @ self.weights)

    def _price(self, left: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.float64]:
        """Price of what each candidate tells of S, from the counts of S on its left side."""
        f, right = self.n_log_n, total - left
        told = (f[left] + f[right]).sum(axis=1) - f[left.sum(axis=1)] - f[right.sum(axis=1)]
        return np.asarray(self.price * (told - f[total].sum() + f[total.sum()]))


def _rounded(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gains of candidates, rounded so that the last digits decide nothing."""
    most = float(np.abs(gains).max(initial=0.0))
    if most < _NOTHING:
        return np.zeros(len(gains))
    scale = 10.0 ** (_DIGITS - np.ceil(np.log10(most)))
    return np.asarray(np.round(gains * scale) / scale)


def _blocks(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows, some at a time."""
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield rows[start : start + _BLOCK_ROWS]
