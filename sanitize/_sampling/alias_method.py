"""Walker's alias method in exact integers: a law cut into buckets of equal mass with at most two outputs each.

A law over k outputs gets 2**m >= k buckets. Random bits choose a bucket, and further ones are compared with its
threshold, so that a draw costs the same whatever the law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.errors import InvalidChannel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_BITS = 30
# Below this many rows of one size the plain loop builds buckets faster than the one in step over rows.
_FEW_ROWS = 16
# Cells that are built at a time.
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Buckets:
    """Buckets of all rows of a sparse matrix, one row after another.

    Attributes
    ----------
    bits : ndarray of int64, shape (n_rows,)
        m: the row has 2**m buckets.
    offset : ndarray of int64, shape (n_rows + 1,)
        First bucket of each row.
    threshold : ndarray of int64, shape (n_buckets,)
        Mass of the bucket's first output; the second has the rest of its 2**(scale_bits - m).
    first, second : ndarray of int32, shape (n_buckets,)
        Outputs, as positions in their row. The first one of bucket j is j wherever its mass is not 0.
    """

    bits: NDArray[np.int64]
    offset: NDArray[np.int64]
    threshold: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    @classmethod
    def of(
        cls, indptr: NDArray[np.int64], weights: NDArray[np.int64], scale_bits: int, bits: NDArray[np.int64]
    ) -> Buckets:
        """Buckets for rows of integers that sum to 2**scale_bits each, 2**bits of them a row."""
        if bits.max() > _MOST_BITS:
            raise InvalidChannel(f"a channel row has more than 2**{_MOST_BITS} outputs")
        sizes = np.diff(indptr)
        offset = np.concatenate([[0], np.cumsum(1 << bits)])
        threshold = np.empty(offset[-1], np.int64)
        first = np.empty(offset[-1], np.int32)
        second = np.empty(offset[-1], np.int32)
        for m in np.unique(bits):
            rows = np.flatnonzero(bits == m)
            k = 1 << int(m)
            for block in np.array_split(rows, max(1, len(rows) * k // _CELLS)):
                law = np.zeros((len(block), k), np.int64)
                entry = np.arange(k) < sizes[block, None]
                law[entry] = weights[(indptr[block, None] + np.arange(k))[entry]]
                make = _alias_by_row if len(block) < _FEW_ROWS else _alias_in_step
                place = offset[block, None] + np.arange(k)
                threshold[place], one, second[place] = make(law, 1 << (scale_bits - int(m)))
                # Padding outputs have mass 0 and are never drawn; any entry of the row may stand for them.
                first[place] = np.minimum(one, sizes[block, None] - 1)
        return cls(bits, offset, threshold, first, second)


def bits_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bits that number the buckets of rows of these sizes."""
    return np.ceil(np.log2(sizes)).astype(np.int64)


def _alias_by_row(law: NDArray[np.int64], mass: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Buckets of each row by Vose's two stacks, in exact integers.

    Parameters
    ----------
    law : ndarray of shape (n_rows, k)
        Integer weights, each row summing to ``k * mass``.
    mass : int
        Mass of a bucket.

    Returns
    -------
    threshold, first, second : ndarrays of shape (n_rows, k)
        Bucket j gives output ``first[j]`` the mass ``threshold[j]`` and ``second[j]`` the rest. A full bucket
        names the same output twice.
    """
    n_rows, k = law.shape
    threshold = np.full((n_rows, k), mass, np.int64)
    first = np.tile(np.arange(k), (n_rows, 1))
    second = first.copy()
    for row in range(n_rows):
        left: list[int] = law[row].tolist()
        small = [j for j in range(k) if left[j] < mass]
        large = [j for j in range(k) if left[j] > mass]
        cut, other = [mass] * k, list(range(k))
        while small:
            j, donor = small.pop(), large[-1]
            cut[j], other[j] = left[j], donor
            left[donor] -= mass - left[j]
            if left[donor] <= mass:
                large.pop()
                if left[donor] < mass:
                    small.append(donor)
        threshold[row], second[row] = cut, other
    return threshold, first, second


def _alias_in_step(law: NDArray[np.int64], mass: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Buckets of all rows at once, one bucket a step: same contract as `_alias_by_row`.

    Outputs are taken by weight. The heaviest open output fills up light ones in ascending order until it is
    light itself, then it is filled up by the next heavy one; each step closes one bucket in every row.
    """
    n_rows, k = law.shape
    rows = np.arange(n_rows)
    order = np.argsort(law, axis=1, kind="stable")
    threshold = np.full((n_rows, k), mass, np.int64)
    first = np.tile(np.arange(k), (n_rows, 1))
    second = first.copy()
    light = np.zeros(n_rows, np.int64)  # position in `order` of the next light output
    heavy = np.full(n_rows, k - 1)  # position in `order` of the open heavy output
    left = law[rows, order[:, -1]]  # what the open output still has to give
    for _ in range(k - 1):
        open_output = order[rows, heavy]
        closing = left < mass
        # Rows whose open output has become light: the next heavy one fills its bucket.
        target = np.where(closing, open_output, order[rows, light])
        weight = np.where(closing, left, law[rows, order[rows, light]])
        heavy = np.where(closing, heavy - 1, heavy)
        light = np.where(closing, light, light + 1)
        donor = order[rows, heavy]
        left = np.where(closing, law[rows, donor], left) - (mass - weight)
        threshold[rows, target] = weight
        second[rows, target] = donor
    # A bucket cut at its whole mass holds one output only.
    whole = threshold == mass
    second[whole] = first[whole]
    return threshold, first, second
