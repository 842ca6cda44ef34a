"""Walker's alias method in exact integers: it cuts a distribution into equal buckets of at most two outputs each.

A distribution over k outputs gets 2**m >= k buckets. Random bits choose a bucket, and further bits are compared with
the bucket's threshold, so that a draw costs the same for every distribution.

In a table of dense rows, a bucket is a number as wide as a random word, so that the table stays in the cache: leading
bits of the threshold, then m bits for the second output. Every output has a bucket, so the first output of bucket j is
j and need not be stored. The last m bits of a word choose the bucket, and the word and the bucket are compared as whole
numbers: their lower bits decide only if the upper bits tie, and such draws are decided by more bits and the integers
over 2**62. Tables of sparse rows are in `alias_table`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._util.limits import BLOCK_CELLS
from sanitize._util.sampling.noise import RandomWords, RowWords
from sanitize._util.sampling.sampler import Drawing, Scratch, bucket_numbers, where_small, word_type
from sanitize.errors import InvalidChannel

# Positions within a row are 32-bit numbers with a sign, and the buckets of such a row would already take 16 GB.
_MOST_BITS = 30


@dataclass(frozen=True, eq=False)
class Buckets:
    """Alias buckets of all rows of a sparse matrix, one row after another.

    Attributes
    ----------
    bits : ndarray of int64, shape (n_rows,)
        m: the row has 2**m buckets.
    offset : ndarray of int64, shape (n_rows + 1,)
        Position of the first bucket of each row.
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
    def from_rows(
        cls, indptr: NDArray[np.int64], weights: NDArray[np.int64], scale_bits: int, bits: NDArray[np.int64]
    ) -> Buckets:
        """Build buckets, 2**bits per row, for rows of integers that sum to 2**scale_bits."""
        if bits.max() > _MOST_BITS:
            raise InvalidChannel(f"a row of the channel has more than 2**{_MOST_BITS} outputs; release fewer columns")
        sizes = np.diff(indptr)
        offset = np.concatenate([[0], np.cumsum(1 << bits)])
        threshold = np.empty(offset[-1], np.int64)
        first = np.empty(offset[-1], np.int32)
        second = np.empty(offset[-1], np.int32)
        for m in np.unique(bits):
            rows = np.flatnonzero(bits == m)
            k = 1 << int(m)
            for block in np.array_split(rows, max(1, len(rows) * k // BLOCK_CELLS)):
                pmf = np.zeros((len(block), k), np.int64)
                entry = np.arange(k) < sizes[block, None]
                pmf[entry] = weights[(indptr[block, None] + np.arange(k))[entry]]
                # For fewer rows of one size than this, the plain loop builds buckets faster than the loop over all rows
                # in step.
                make = _alias_by_row if len(block) < 16 else _alias_in_step
                place = offset[block, None] + np.arange(k)
                threshold[place], first_outputs, second[place] = make(pmf, 1 << (scale_bits - int(m)))
                # Padding outputs have mass 0 and are never drawn, so any entry of the row can replace them.
                first[place] = np.minimum(first_outputs, sizes[block, None] - 1)
        return cls(bits, offset, threshold, first, second)


def bucket_bits(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of bits m such that 2**m buckets suffice for a row of each given size."""
    return np.ceil(np.log2(sizes)).astype(np.int64)


def _alias_by_row(pmf: NDArray[np.int64], mass: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Build the buckets of one row after another with Vose's two stacks, in exact integers.

    Parameters
    ----------
    pmf : ndarray of shape (n_rows, k)
        Integer weights, each row summing to ``k * mass``.
    mass : int
        Mass of a bucket.

    Returns
    -------
    threshold, first, second : ndarrays of shape (n_rows, k)
        Bucket j gives output ``first[j]`` the mass ``threshold[j]`` and ``second[j]`` the rest. A full bucket
        names the same output twice.
    """
    n_rows, k = pmf.shape
    threshold = np.full((n_rows, k), mass, np.int64)
    first = np.tile(np.arange(k), (n_rows, 1))
    second = first.copy()
    for row in range(n_rows):
        left: list[int] = pmf[row].tolist()
        small = [j for j in range(k) if left[j] < mass]
        large = [j for j in range(k) if left[j] > mass]
        cut, partner = [mass] * k, list(range(k))
        while small:
            j, donor = small.pop(), large[-1]
            cut[j], partner[j] = left[j], donor
            left[donor] -= mass - left[j]
            if left[donor] <= mass:
                large.pop()
                if left[donor] < mass:
                    small.append(donor)
        threshold[row], second[row] = cut, partner
    return threshold, first, second


def _alias_in_step(pmf: NDArray[np.int64], mass: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Build the buckets of all rows at once, one bucket per step, with the arguments and results of `_alias_by_row`.

    Outputs are sorted by weight. The open heavy output fills up the buckets of light outputs in ascending order until
    it is light itself; then the next heavy output fills up its bucket. Each step completes one bucket in every row.
    """
    n_rows, k = pmf.shape
    rows = np.arange(n_rows)
    order = np.argsort(pmf, axis=1, kind="stable")
    threshold = np.full((n_rows, k), mass, np.int64)
    first = np.tile(np.arange(k), (n_rows, 1))
    second = first.copy()
    light = np.zeros(n_rows, np.int64)  # position in `order` of the next light output
    heavy = np.full(n_rows, k - 1)  # position in `order` of the open heavy output
    left = pmf[rows, order[:, -1]]  # mass that the open output has left
    for _ in range(k - 1):
        open_output = order[rows, heavy]
        closing = left < mass
        # An open output that has become light fills its own bucket, so the next heavy output tops it up.
        target = np.where(closing, open_output, order[rows, light])
        weight = np.where(closing, left, pmf[rows, order[rows, light]])
        heavy = np.where(closing, heavy - 1, heavy)
        light = np.where(closing, light, light + 1)
        donor = order[rows, heavy]
        left = np.where(closing, pmf[rows, donor], left) - (mass - weight)
        threshold[rows, target] = weight
        second[rows, target] = donor
    # A threshold of the whole mass leaves nothing to a second output, which may be any and is never drawn.
    whole = threshold == mass
    second[whole] = first[whole]
    return threshold, first, second


def fits_dense_table(n_rows: int, n_outputs: int, n_entries: int) -> bool:
    """Return whether a dense table is fastest: every input has every output, or inputs and outputs are few.

    The second output of a bucket may take at most half of a word, so that the threshold has the other half.
    """
    # Up to this many cells, outputs of probability 0 get buckets too: the table is larger but needs one look-up, not
    # two.
    is_small = n_rows * n_outputs <= 1 << 16
    return (is_small or n_entries == n_rows * n_outputs) and 1 < n_outputs <= 1 << 16


@dataclass(frozen=True, eq=False)
class DenseTable:
    """Alias table of dense rows with 2**m buckets per row.

    Attributes
    ----------
    bits : int
        m.
    packed : ndarray of uint16 or uint32, shape (n_rows << m,)
        Leading bits of the threshold, and m bits of the second output.
    threshold : ndarray of int64, shape (n_rows << m,)
        Mass of the first output in units of 2**-scale_bits; 0 where the bucket has one output only.
    scale_bits : int
    """

    bits: int
    packed: NDArray[Any]
    threshold: NDArray[np.int64]
    scale_bits: int

    @classmethod
    def build(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[np.int64],
        n_outputs: int,
        scale_bits: int,
    ) -> DenseTable:
        """Build the table for the rows of a sparse matrix of integers that sum to 2**scale_bits each."""
        n_rows = len(indptr) - 1
        if len(indices) < n_rows * n_outputs:
            dense = np.zeros((n_rows, n_outputs), np.int64)
            dense[np.repeat(np.arange(n_rows), np.diff(indptr)), indices] = weights
            indptr, weights = np.arange(n_rows + 1) * n_outputs, dense.ravel()
        m = int(bucket_bits(np.array([n_outputs]))[0])
        buckets = Buckets.from_rows(indptr, weights, scale_bits, np.full(n_rows, m))
        # A full bucket names one output twice; with threshold 0 the second one is drawn, and no threshold past the end
        # is needed.
        threshold = np.where(buckets.threshold >> (scale_bits - m), 0, buckets.threshold)
        dtype = word_type(m)
        packed = (threshold >> (scale_bits - 8 * dtype.itemsize)).astype(dtype)
        packed <<= dtype.type(m)
        packed |= buckets.second.astype(dtype)
        return cls(m, packed, threshold, scale_bits)

    @property
    def _more_bits(self) -> int:
        return self.scale_bits - 8 * self.packed.dtype.itemsize

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Return a function that draws outputs of the rows from number ``start`` on; word i decides draw i."""
        row_words, scratch = RowWords(source, lane, start, self.packed.dtype), Scratch()

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            words = row_words.following(len(rows))
            outputs, ties = self._draw(rows, words, scratch)
            if len(ties):
                outputs[ties] = self._exact(rows[ties], words[ties], row_words.more(ties, self._more_bits))
            return outputs

        return draw

    def _draw(self, rows: NDArray[Any], words: NDArray[Any], scratch: Scratch) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the outputs of a block of rows, and the positions of the rows that need more bits."""
        size, dtype = len(rows), self.packed.dtype
        lower = dtype.type((1 << self.bits) - 1)
        bucket = scratch("bucket", dtype, size)
        low_bits = np.bitwise_and(words, lower, out=bucket)
        index = bucket_numbers(rows, self.bits, low_bits, len(self.packed), scratch)
        # Both calls skip bounds checks that cannot fail; on large tables the second one overlaps more look-ups.
        mode: Literal["wrap", "clip"] = "wrap" if dtype == np.uint32 else "clip"
        self.packed.take(index, out=bucket, mode=mode)
        is_second = np.greater_equal(words, bucket, out=scratch("is_second", np.bool_, size))
        bucket ^= words
        ties = where_small(bucket, lower, scratch)
        # Difference between the lower bits of word and bucket; outputs fit 16 bits, in which arithmetic is twice as
        # fast.
        outputs = bucket if dtype == np.uint16 else scratch.copy("outputs", np.uint16, bucket)
        outputs *= is_second
        outputs ^= words if dtype == np.uint16 else scratch.copy("own", np.uint16, words)
        outputs &= np.uint16(lower)
        return outputs, ties

    def _exact(self, rows: NDArray[Any], words: NDArray[Any], more: NDArray[np.int64]) -> NDArray[Any]:
        """Return outputs decided with all bits: the rest of the word that chose the bucket, then another word."""
        wide = words.astype(np.int64)
        low_bits = wide & ((1 << self.bits) - 1)
        place = rows.astype(np.int64) << self.bits | low_bits
        number = wide >> self.bits << self._more_bits | more
        second = self.packed[place] & self.packed.dtype.type((1 << self.bits) - 1)
        return np.where(number < self.threshold[place], low_bits, second)
