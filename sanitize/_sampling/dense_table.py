"""Draws from dense rows: alias buckets as wide as the word that decides, so that they stay in the cache.

Where every output has a bucket, the first output of bucket j is j, which need not be stored. A bucket is one
number: leading bits of its threshold, then m bits for its second output. The last m bits of a word choose the bucket,
and the bits before them are compared with the threshold's, without being taken apart: the lower bits have no say
unless the upper ones tie, and then more bits decide by the integers over 2**62.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._sampling.alias_method import Buckets, bits_of
from sanitize._sampling.noise import RowWords
from sanitize._sampling.sampler import Scratch, bucket_numbers, where_small, word_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords
    from sanitize._sampling.sampler import Drawing

_MOST_OUTPUTS = 1 << 16
# Up to this many cells outputs of probability 0 may have buckets too: a larger table, but one look-up and not two.
_FEW_CELLS = 1 << 16


def suits(n_rows: int, n_outputs: int, n_entries: int) -> bool:
    """Whether a dense table is the fastest: every input has every output, or there are few of both.

    The second output of a bucket has to leave half of a word to the threshold.
    """
    is_small = n_rows * n_outputs <= _FEW_CELLS
    return (is_small or n_entries == n_rows * n_outputs) and 1 < n_outputs <= _MOST_OUTPUTS


@dataclass(frozen=True, eq=False)
class DenseTable:
    """Buckets of all rows, 2**m a row.

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
        """Table for the rows of a sparse matrix of integers that sum to 2**scale_bits each."""
        n_rows = len(indptr) - 1
        if len(indices) < n_rows * n_outputs:
            dense = np.zeros((n_rows, n_outputs), np.int64)
            dense[np.repeat(np.arange(n_rows), np.diff(indptr)), indices] = weights
            indptr, weights = np.arange(n_rows + 1) * n_outputs, dense.ravel()
        m = int(bits_of(np.array([n_outputs]))[0])
        buckets = Buckets.of(indptr, weights, scale_bits, np.full(n_rows, m))
        # A full bucket names one output twice, and as the second one it needs no threshold of one past the end.
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
        """Draws of the rows from number ``start`` on; word i of the lane decides draw i."""
        given, scratch = RowWords(source, lane, start, self.packed.dtype), Scratch()

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            words = given.following(len(rows))
            outputs, ties = self._draw(rows, words, scratch)
            if len(ties):
                outputs[ties] = self._exact(rows[ties], words[ties], given.more(ties, self._more_bits))
            return outputs

        return draw

    def _draw(self, rows: NDArray[Any], words: NDArray[Any], scratch: Scratch) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Outputs of a block of rows, and which of them are not decided."""
        size, dtype = len(rows), self.packed.dtype
        lower = dtype.type((1 << self.bits) - 1)
        bucket = scratch("bucket", dtype, size)
        own = np.bitwise_and(words, lower, out=bucket)
        index = bucket_numbers(rows, self.bits, own, len(self.packed), scratch)
        # Both ways leave out checks that cannot fail; on large tables one overlaps more look-ups.
        mode: Literal["wrap", "clip"] = "wrap" if dtype == np.uint32 else "clip"
        self.packed.take(index, out=bucket, mode=mode)
        is_second = np.greater_equal(words, bucket, out=scratch("is_second", np.bool_, size))
        bucket ^= words
        ties = where_small(bucket, lower, scratch)
        # What turns a word's lower bits into the bucket's; outputs fit 16 bits, where arithmetic is twice as fast.
        outputs = bucket if dtype == np.uint16 else scratch.copy("outputs", np.uint16, bucket)
        outputs *= is_second
        outputs ^= words if dtype == np.uint16 else scratch.copy("own", np.uint16, words)
        outputs &= np.uint16(lower)
        return outputs, ties

    def _exact(self, rows: NDArray[Any], words: NDArray[Any], more: NDArray[np.int64]) -> NDArray[Any]:
        """Outputs by all bits: those of the word before the bucket's number, then those of another word."""
        wide = words.astype(np.int64)
        own = wide & ((1 << self.bits) - 1)
        place = rows.astype(np.int64) << self.bits | own
        number = wide >> self.bits << self._more_bits | more
        second = self.packed[place] & self.packed.dtype.type((1 << self.bits) - 1)
        return np.where(number < self.threshold[place], own, second)
