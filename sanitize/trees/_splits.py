"""The best split of one node: histograms of every column given every candidate, in whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sanitize._checks import Codes, Mask, Vector

_AT_ONCE = 1 << 18  # rows times pairs of columns counted in one call
_CELLS = 1 << 16  # of the tables that are counted in one call, so that 16 bits number them

# From counts of the secrets, shape (k, n_s), to whether each of these sets of rows may be a block.
Allowed: TypeAlias = Callable[[NDArray[np.int64]], Mask]

_NO_GAIN = 1e-9  # a gain that rounding alone leaves


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
    left: Mask


class Splitter:
    """Rows as levels, those of each node next to each other, and what is asked of their splits.

    A split keeps Σ_j w_j (n H(X_j) - n_L H_L(X_j) - n_R H_R(X_j)), with H in nats within the node. Where it may look at
    S, its gain is what it keeps less ``price`` (n H(S) - n_L H_L(S) - n_R H_R(S)): sides that are alike in S leave more
    of the budget for later splits.

    Parameters
    ----------
    levels : ndarray of shape (d, n)
        Level of each row in each column.
    sizes : sequence of int
        Levels of each column.
    may_cut : ndarray of bool, shape (2, d)
        Columns that are split at a level, and those that are split one level against the rest.
    weights : ndarray of shape (k,), or (1,) with a target
        Of the columns whose information is to be kept, divided by their entropies: the first k ones. The others
        offer splits only.
    secrets : ndarray of int, shape (n,)
    price : float
        Of a nat about S.
    target : ndarray of int, shape (n,), optional
        Values of the one column whose information is to be kept; all columns by default.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Row of the table at each place.
    """

    def __init__(
        self,
        levels: NDArray[np.uint16],
        sizes: list[int],
        may_cut: Mask,
        weights: Vector,
        secrets: NDArray[np.int64],
        price: float = 0.0,
        target: NDArray[np.int64] | None = None,
    ) -> None:
        d, n = levels.shape
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.column = np.repeat(np.arange(d), sizes)
        self.keys = np.add(levels, self.starts[:-1, None], dtype=np.min_scalar_type(self.starts[-1]), casting="unsafe")
        self.rows = np.arange(n, dtype=np.uint32)
        self.n_secrets = int(secrets.max()) + 1
        self.secrets = secrets.astype(np.min_scalar_type(self.n_secrets))
        self.target = None if target is None else target.astype(np.uint16)
        self.target_size = 1 if target is None else int(target.max()) + 1
        self.may_cut, self.weights, self.price = may_cut, weights, price
        self.later, self.earlier = np.tril_indices(d, -1, len(weights))
        counts = np.arange(n + 1, dtype=np.float64)
        self.n_log_n = counts * np.log(np.maximum(counts, 1))

    def cut(self, start: int, stop: int, split: Split) -> int:
        """Put the rows of a node that go left before the others; where the others begin."""
        own = self.keys[split.column, start:stop].astype(np.intp) - self.starts[split.column]
        left = split.left[own]
        order = np.concatenate([np.flatnonzero(left), np.flatnonzero(~left)])
        for held in (self.keys, self.rows, self.secrets, self.target):
            if held is not None:
                held[..., start:stop] = held[..., start:stop].take(order, axis=-1)
        return start + int(np.count_nonzero(left))

    def best(self, nodes: Sequence[tuple[int, int]], least: int, allowed: Allowed | None) -> list[Split | None]:
        """Split of each node of the largest gain; None where none keeps anything and has sides that are allowed.

        Ties go to the lowest column, to thresholds before single values, and then to the lowest threshold.

        Parameters
        ----------
        nodes : sequence of (int, int)
            Where the rows of each node begin and end; each begins where the one before it ends.
        least : int
            Rows of a side.
        allowed : callable, optional
            Which sets of rows may be blocks.
        """
        found: list[Split | None] = [None] * len(nodes)
        # Steps that a column is cut into at a node, by its rows: what a split of few rows gains is not known finer.
        of_rows = ((4000, 32), (150, 16), (0, 8))
        steps = [next(k for m, k in of_rows if b - a >= m) if b - a >= 2 * least else 0 for a, b in nodes]
        for n_steps, same in groupby(range(len(nodes)), steps.__getitem__):
            run = list(same) if n_steps else []
            tables = 2 * len(self.later) if self.target is None else len(self.keys)
            own = n_steps * (n_steps if self.target is None else self.target_size)
            at_once = max(1, min(_CELLS // max(own, 1), _AT_ONCE // max(own * tables, 1)))  # small nodes together
            for some in (run[at : at + at_once] for at in range(0, len(run), at_once)):
                ends = np.array([nodes[some[0]][0], *(nodes[i][1] for i in some)])
                found[some[0] : some[-1] + 1] = self._best(ends, n_steps, least, allowed)
        return found

    def _best(self, ends: Codes, n_steps: int, least: int, allowed: Allowed | None) -> list[Split | None]:
        """The same of nodes that are cut into as many steps."""
        d, n, m = len(self.keys), len(ends) - 1, np.diff(ends)
        rows = slice(ends[0], ends[-1])
        node = np.repeat(np.arange(n, dtype=np.uint32), m)
        begin, at_once = node * np.uint32(self.starts[-1]), max(1, _AT_ONCE // len(node))
        parts = [slice(at, at + at_once) for at in range(0, d, at_once)]
        counts = np.zeros(n * self.starts[-1], np.int64)
        for own in parts:
            counts += np.bincount((self.keys[own, rows] + begin).ravel(), minlength=len(counts))
        counts = counts.reshape(n, -1)
        step_of = self._steps(counts, m[:, None], n_steps)
        codes = np.empty((d, len(node)), np.uint16)
        for own in parts:
            codes[own] = step_of.take(self.keys[own, rows] + begin)
        place = step_of + self.column * n_steps + np.arange(n)[:, None] * (d * n_steps)
        held = np.bincount(place.ravel(), counts.ravel(), n * d * n_steps).astype(np.int64).reshape(n, d, n_steps)
        # Of each column and step the rows up to it, and those of it alone, on the left side.
        n_left = np.stack([np.cumsum(held, axis=2), held])
        fits = (n_left >= least) & (n_left <= m[:, None, None] - least) & (held > 0) & self.may_cut[:, None, :, None]
        price = None
        if allowed is not None and fits.any():
            told = np.zeros((n_steps, n, d, self.n_secrets), np.int64)
            self._count(codes, np.arange(d), self.secrets[None, rows], np.zeros(d, np.intp), node, told)
            told = told.transpose(1, 2, 0, 3)
            left, right = np.stack([np.cumsum(told, axis=2), told])[fits], told[:, 0].sum(axis=1)[np.nonzero(fits)[1]]
            right -= left
            may = allowed(np.concatenate([left, right])).reshape(2, -1).all(axis=0)
            price, fits[fits] = self._price(left[may], right[may]), may
        candidates = np.nonzero(fits)
        found: list[Split | None] = [None] * n
        if not len(candidates[0]):
            return found
        kept = self._kept(codes, node, rows, n_steps, candidates, n_left[fits], m)
        kind, of_node, column, step = candidates
        # Candidates of one kind and node follow each other, and compete.
        rival = kind * n + of_node
        begins = np.flatnonzero(np.append(True, rival[1:] != rival[:-1]))
        group = np.cumsum(np.append(False, rival[1:] != rival[:-1]))
        keeps = _rounded(kept, begins, group)
        gains = np.where(keeps > 0, keeps if price is None else _rounded(kept - price, begins, group), -np.inf)
        tops = np.flatnonzero(gains == np.maximum.reduceat(gains, begins)[group])
        for k in tops[np.searchsorted(group[tops], np.arange(len(begins)))].tolist():
            i, j, gain = int(of_node[k]), int(column[k]), float(gains[k])
            other = found[i]
            if keeps[k] > 0 and (other is None or (gain, -j) > (other.gain, -other.column)):
                of_level = step_of[i, self.starts[j] : self.starts[j + 1]]
                found[i] = Split(gain, j, of_level == step[k] if kind[k] else of_level <= step[k])
        return found

    def _steps(self, counts: NDArray[np.int64], m: NDArray[np.int64], n_steps: int) -> NDArray[np.uint16]:
        """Step of each level of each column, shape (nodes, levels): steps hold about equally many rows of a node."""
        before = np.cumsum(counts, axis=1) - counts - m * self.column
        return np.minimum((2 * before + counts) * n_steps // (2 * m), n_steps - 1).astype(np.uint16)

    def _kept(
        self,
        codes: NDArray[np.uint16],
        node: NDArray[np.uint32],
        rows: slice,
        n_steps: int,
        candidates: tuple[Codes, ...],
        n_left: NDArray[np.int64],
        m: NDArray[np.int64],
    ) -> Vector:
        """What each candidate keeps: 0 for steps up to one and 1 for one step, node, column, step."""
        f, n, d, k = self.n_log_n, len(m), len(codes), len(self.weights)
        kind, of_node, column, step = candidates
        if self.target is None:
            weights = np.where(np.arange(d)[:, None] == np.arange(k), 0.0, self.weights)
            asked = np.zeros(d, bool)
            asked[column] = True
            pairs = np.flatnonzero(asked[self.later] | asked[self.earlier])
            one, another, p = self.later[pairs], self.earlier[pairs], len(pairs)
            # Where a column and one whose information it may keep are counted; the last place is that of no pair.
            place = np.full((d, d), 2 * p)
            place[one, another], place[another, one] = np.arange(p), np.arange(p, 2 * p)
            table = np.zeros((n_steps + 1, n, 2 * p + 1, n_steps), np.int32)
            self._count(codes, one, codes, another, node, table[1:, :, :p])
            table[1:, :, p : 2 * p] = table[1:, :, :p].transpose(3, 1, 2, 0)
        else:
            weights = np.repeat(self.weights[None], d, axis=0)
            place = np.arange(d)[:, None]
            table = np.zeros((n_steps + 1, n, d, self.target_size), np.int32)
            self._count(codes, np.arange(d), self.target[None, rows], np.zeros(d, np.intp), node, table[1:])
        for row in range(2, n_steps + 1):
            table[row] += table[row - 1]
        width, n_tables = table.shape[3], table[0, :, :, 0].size
        below, total = table.reshape(-1, width), table[-1].reshape(-1, width)
        whole = f.take(total) @ np.ones(width)
        m = m[of_node]
        kept = (f[m] - f[n_left] - f[m - n_left]) * self.weights.sum()
        at_once = max(1, _AT_ONCE // (k * width))
        for at in range(0, len(kept), at_once):
            own = slice(at, at + at_once)
            where = place[column[own], :k] + of_node[own, None] * table.shape[2]
            to = (step[own, None] * n_tables + where).ravel()
            left = below.take(to + n_tables, axis=0)
            single = slice(k * np.count_nonzero(kind[own] == 0), None)
            left[single] -= below.take(to[single], axis=0)
            mixed = f.take(left)
            mixed += f.take(total.take(where.ravel(), axis=0) - left)
            told = (mixed @ np.ones(width)).reshape(-1, k) - whole.take(where)
            kept[own] += (told * weights[column[own]]).sum(axis=1)
        return np.asarray(kept)

    def _count(
        self,
        codes: NDArray[np.uint16],
        one: Codes,
        others: NDArray[np.uint16],
        another: Codes,
        node: NDArray[np.uint32],
        table: NDArray[np.signedinteger[Any]],
    ) -> None:
        """Rows by step of one column and code of another one, into a table of (step, node, pair, code)."""
        n_steps, n, _, width = table.shape
        at_once = max(1, min(_CELLS // (n_steps * n * width), _AT_ONCE // len(node)))
        for at in range(0, len(one), at_once):
            own = slice(at, at + at_once)
            p = len(one[own])
            number = np.min_scalar_type(n_steps * n * p * width - 1)
            keys: NDArray[Any] = codes.take(one[own], axis=0).astype(number, copy=False)
            keys *= n * p * width
            keys += np.arange(0, p * width, width, dtype=number)[:, None]
            keys += others.take(another[own], axis=0)
            if n > 1:
                keys += node.astype(number) * (p * width)
            counts = np.bincount(keys.ravel(), minlength=n_steps * n * p * width)
            table[:, :, own] = counts.reshape(n_steps, n, p, width)

    def _price(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> Vector:
        """Price of what each candidate tells of S, from the counts of S on both sides."""
        f, whole = self.n_log_n, left + right
        told = (f[left] + f[right] - f[whole]).sum(axis=1)
        told += f[whole.sum(axis=1)] - f[left.sum(axis=1)] - f[right.sum(axis=1)]
        return np.asarray(self.price * told)


def _rounded(gains: Vector, begins: Codes, group: Codes) -> Vector:
    """Gains of candidates, rounded so that the last digits decide nothing, by the largest one of their group."""
    most = np.maximum.reduceat(np.abs(gains), begins)
    # Nine digits of a gain decide between candidates; below are rounding errors.
    scale = 10.0 ** (9 - np.ceil(np.log10(np.maximum(most, _NO_GAIN))))
    return np.asarray(np.where((most < _NO_GAIN)[group], 0.0, np.rint(gains * scale[group]) / scale[group]))
