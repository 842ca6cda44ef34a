"""Draws from sparse rows: a random word chooses a bucket of the row's alias table and one of the bucket's two outputs.

The top m bits of the word choose the bucket, and the word is compared with the bucket's threshold. If it ties with the
leading bits of the threshold, more bits decide, so that the drawn distribution is exactly that of the integers over
2**62.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitize._util.sampling.alias_method import Buckets, bucket_bits
from sanitize._util.sampling.noise import RandomWords, RowWords
from sanitize._util.sampling.sampler import Drawing, Scratch, bucket_numbers, choose, where_true, word_type

# Up to this total, all rows get as many buckets as the largest row needs, which saves looking up each row's number.
# More buckets might no longer fit a fast cache.
_SMALL_BUCKETS = 1 << 16


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Alias table of sparse rows, with the buckets of one row after another.

    Attributes
    ----------
    offset : ndarray of int64, shape (n_rows,)
        First bucket of each row.
    shift : ndarray of uint8, shape (n_rows,)
        Number of bits of the word below the bucket number.
    bits : int or None
        Number of bits m if it is the same for all rows.
    only : ndarray of int32, shape (n_rows,), or None
        Output of each row with a single output, -1 for other rows; None if there is no such row, or all rows have
        equally many buckets.
    lead : ndarray of uint16 or uint32, shape (n_buckets,)
        Words below draw the first output of the bucket, words above the second.
    tail : ndarray of int64, shape (n_buckets,)
        If the word equals ``lead``, further bits below this number draw the first output.
    pair : ndarray of uint32 or uint64, shape (n_buckets,)
        First and second output of each bucket, in half of the bits each, so that both take one look-up.
    scale_bits : int
    """

    offset: NDArray[np.int64]
    shift: NDArray[np.uint8]
    bits: int | None
    only: NDArray[np.int32] | None
    lead: NDArray[Any]
    tail: NDArray[np.int64]
    pair: NDArray[Any]
    scale_bits: int

    @classmethod
    def build(
        cls, indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.int64], scale_bits: int
    ) -> AliasTable:
        """Build the table for the rows of a sparse matrix of integers that sum to 2**scale_bits per row."""
        sizes = np.diff(indptr)
        bits = bucket_bits(sizes)
        natural, even = int((1 << bits).sum()), len(bits) << int(bits.max())
        one_width = even <= max(_SMALL_BUCKETS, 2 * natural)
        if one_width:
            bits[:] = bits.max()
        buckets = Buckets.from_rows(indptr, weights, scale_bits, bits)
        dtype = word_type(int(bits.max()))
        word_bits = 8 * dtype.itemsize
        # Nearly all draws are decided by one comparison of words, so thresholds are split into a word and further bits.
        extra = scale_bits - word_bits
        size = np.diff(buckets.offset)
        number = np.arange(buckets.offset[-1]) - np.repeat(buckets.offset[:-1], size)
        lead = (number << np.repeat(word_bits - buckets.bits, size)) + (buckets.threshold >> extra)
        tail = buckets.threshold & ((1 << extra) - 1)
        # A full bucket's threshold may be one more than the largest word; its two outputs are equal, so any threshold
        # works.
        full = lead >> word_bits > 0
        lead[full] = tail[full] = 0
        row_start = np.repeat(indptr[:-1], 1 << bits)
        pair_type = np.dtype(np.uint32 if int(indices.max()) < 1 << 16 else np.uint64)
        pair = indices[row_start + buckets.first].astype(pair_type)
        pair <<= pair_type.type(4 * pair_type.itemsize)
        pair |= indices[row_start + buckets.second].astype(pair_type)
        single = bool((sizes == 1).any()) and not one_width
        return cls(
            offset=buckets.offset[:-1],
            shift=(word_bits - bits).astype(np.uint8),
            bits=int(bits[0]) if one_width else None,
            only=np.where(sizes == 1, indices[indptr[:-1]], -1).astype(np.int32) if single else None,
            lead=lead.astype(dtype),
            tail=tail,
            pair=pair,
            scale_bits=scale_bits,
        )

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Return a function that draws outputs of the rows from number ``start`` on; word i decides draw i."""
        row_words, scratch = RowWords(source, lane, start, self.lead.dtype), Scratch()

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            # Every row uses up its word, even if nothing is drawn, so that a draw depends on the row's number only.
            words = row_words.following(len(rows))
            if self.only is None:
                return self._draw(rows, words, None, row_words, scratch)
            outputs = self.only.take(rows)
            open_ = np.flatnonzero(outputs < 0)
            if 2 * len(open_) >= len(rows):
                return self._draw(rows, words, None, row_words, scratch)
            outputs[open_] = self._draw(rows[open_], words[open_], open_, row_words, scratch)
            return outputs

        return draw

    def _draw(
        self,
        rows: NDArray[Any],
        words: NDArray[Any],
        places: NDArray[np.intp] | None,
        row_words: RowWords,
        scratch: Scratch,
    ) -> NDArray[Any]:
        """Draw the outputs of all or some rows of a block."""
        size, dtype = len(rows), self.lead.dtype
        if self.bits is None:
            bucket = self.offset.take(rows)
            bucket += words.astype(np.uint32) >> self.shift.take(rows)
        elif self.bits == 0:
            bucket = scratch.copy("bucket", np.intp, rows)
        else:
            top = np.right_shift(words, dtype.type(8 * dtype.itemsize - self.bits), out=scratch("top", dtype, size))
            bucket = bucket_numbers(rows, self.bits, top, len(self.lead), scratch)
        lead = self.lead.take(bucket, out=scratch("lead", dtype, size), mode="clip")
        below = np.less(words, lead, out=scratch("below", np.bool_, size))
        ties = where_true(np.equal(words, lead, out=scratch("equal", np.bool_, size)))
        if len(ties):
            more = row_words.more(ties if places is None else places[ties], self.scale_bits - 8 * dtype.itemsize)
            below[ties] = more < self.tail[bucket[ties]]
        pair = self.pair.take(bucket, out=scratch("pair", self.pair.dtype, size), mode="clip")
        half = np.dtype(f"u{pair.itemsize // 2}")
        second = scratch.copy("second", half, pair)
        pair >>= pair.dtype.type(8 * half.itemsize)
        return choose(below, scratch.copy("first", half, pair), second, scratch("outputs", half, size))
