"""Exact vectorised sampling of many discrete laws at once by Walker's alias method in integers.

A law over k outputs is cut into 2**m >= k buckets of equal mass, each holding at most two outputs. The top m
bits of a 32-bit word choose the bucket, the other bits are compared with its threshold. Where they tie with
the threshold's leading bits, 30 more bits decide, so that the drawn law is the integer law over 2**62 and
costs one word a row.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.errors import InvalidChannel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._random import RandomWords

_WORD_BITS = 32
_TAIL_BITS = 30
_BLOCK_ROWS = 1 << 15  # rows whose intermediate arrays stay in the cache
# Below this many rows of one size the plain loop builds tables faster than the one in step over rows.
_FEW_ROWS = 16
# Up to this many buckets all rows get as many as the largest needs: then no row has to be asked for its number.
_SMALL_BUCKETS = 1 << 16
# Which half of a 64-bit number in memory is the upper one.
_UPPER = 1 if sys.byteorder == "little" else 0


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Buckets of all rows, one row after another.

    Attributes
    ----------
    offset : ndarray of int64, shape (n_rows,)
        First bucket of each row.
    shift : ndarray of uint8, shape (n_rows,)
        Bits of the word left of the bucket number: 32 - m.
    lead : ndarray of uint32, shape (n_buckets,)
        Words below draw the first output of the bucket, words above the second.
    tail : ndarray of uint32, shape (n_buckets,)
        Where the word equals ``lead``: 30-bit numbers below draw the first output.
    outputs : ndarray of int32 or uint16, shape (2 * n_buckets,)
        Second and first output of each bucket.
    only : ndarray of int32, shape (n_rows,), or None
        Output of the rows that have one output, -1 for the others; None where no row has, or where all rows have
        as many buckets.
    bits : int or None
        m, where it is the same for all rows.
    packed : ndarray of uint64, shape (n_buckets,), or None
        A bucket in one number, so that a draw costs one look-up: ``lead``, first output, second output in 32, 16
        and 16 bits. None where there are more outputs than 16 bits count.
    """

    offset: NDArray[np.int64]
    shift: NDArray[np.uint8]
    tail: NDArray[np.uint32]
    only: NDArray[np.int32] | None
    bits: int | None
    packed: NDArray[np.uint64] | None
    _lead: NDArray[np.uint32] | None
    _outputs: NDArray[np.int32] | None

    @property
    def lead(self) -> NDArray[np.uint32]:
        """Leading bits of the thresholds."""
        return (self.packed >> np.uint64(32)).astype(np.uint32) if self.packed is not None else _given(self._lead)

    @property
    def outputs(self) -> NDArray[Any]:
        """Second and first outputs."""
        if self.packed is None:
            return _given(self._outputs)
        return (self.packed[:, None] >> np.array([0, 16], np.uint64)).astype(np.uint16).ravel()

    @classmethod
    def build(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[np.int64],
        scale_bits: int,
    ) -> AliasTable:
        """Tables for the rows of a sparse matrix of integers that sum to 2**scale_bits a row."""
        sizes = np.diff(indptr)
        bits = np.ceil(np.log2(sizes)).astype(np.int64)
        if bits.max() > _WORD_BITS - 2:
            raise InvalidChannel("a channel row has more than 2**30 outputs")
        natural, even = int((1 << bits).sum()), len(bits) << int(bits.max())
        one_width = even <= max(_SMALL_BUCKETS, 2 * natural)
        if one_width:
            bits[:] = bits.max()
        offset = np.concatenate([[0], np.cumsum(1 << bits)])
        threshold = np.empty(offset[-1], np.int64)
        first = np.empty(offset[-1], np.int64)
        second = np.empty(offset[-1], np.int64)
        for m in np.unique(bits):
            rows = np.flatnonzero(bits == m)
            k = 1 << int(m)
            for block in np.array_split(rows, max(1, len(rows) * k >> 22)):
                law = np.zeros((len(block), k), np.int64)
                entry = np.arange(k) < sizes[block, None]
                law[entry] = weights[(indptr[block, None] + np.arange(k))[entry]]
                make = _alias_by_row if len(block) < _FEW_ROWS else _alias_in_step
                cut, one, other = make(law, 1 << (scale_bits - int(m)))
                place = offset[block, None] + np.arange(k)
                threshold[place] = cut
                # Padding outputs have mass 0 and are never drawn; any entry of the row may stand for them.
                first[place] = indptr[block, None] + np.minimum(one, sizes[block, None] - 1)
                second[place] = indptr[block, None] + other
        lead, tail = _split_threshold(threshold, offset, bits, scale_bits)
        upper, lower = indices[first], indices[second]
        packed = None
        if int(indices.max()) < 1 << 16:
            packed = lead.astype(np.uint64)
            packed <<= np.uint64(16)
            packed |= upper.astype(np.uint64)
            packed <<= np.uint64(16)
            packed |= lower.astype(np.uint64)
        plain = packed is None
        single = bool((sizes == 1).any()) and not one_width
        only = np.where(sizes == 1, indices[indptr[:-1]], -1).astype(np.int32)
        return cls(
            offset[:-1],
            (_WORD_BITS - bits).astype(np.uint8),
            tail,
            only if single else None,
            int(bits[0]) if one_width else None,
            packed,
            lead if plain else None,
            np.stack([lower, upper], axis=1).ravel() if plain else None,
        )

    def draw(self, rows: NDArray[Any], source: RandomWords, lane: int, start: int) -> NDArray[np.int32]:
        """One output for each row; word ``start + i`` of the lane decides draw i."""
        released = np.empty(len(rows), np.int32)
        for begin in range(0, len(rows), _BLOCK_ROWS):
            block = rows[begin : begin + _BLOCK_ROWS]
            first = start + begin
            # Every row uses up its word, drawn or not, so that draws depend on the row's number only.
            words = source.words(2 * lane, first, len(block))
            outputs = released[begin : begin + len(block)]
            if self.only is not None:
                outputs[:] = self.only.take(block)
                open_ = np.flatnonzero(outputs < 0)
                if 2 * len(open_) < len(block):
                    outputs[open_] = self._draw_block(block[open_], words[open_], open_, first, source, lane)
                    continue
            outputs[:] = self._draw_block(block, words, None, first, source, lane)
        return released

    def _draw_block(
        self,
        rows: NDArray[Any],
        words: NDArray[np.uint32],
        places: NDArray[np.int64] | None,
        first: int,
        source: RandomWords,
        lane: int,
    ) -> NDArray[Any]:
        """Outputs of some rows; row ``i`` has the number ``first + places[i]``, or ``first + i``."""
        bucket = self._buckets(rows, words)
        if self.packed is not None:
            record = self.packed.take(bucket, mode="clip")
            lead: NDArray[Any] = record.view(np.uint32)[_UPPER::2]
        else:
            lead = _given(self._lead).take(bucket)
        below = words < lead
        equal = words == lead
        if equal.any():
            ties = np.flatnonzero(equal)
            numbers = first + (ties if places is None else places[ties])
            more = source.words_at(2 * lane + 1, numbers) >> np.uint64(64 - _TAIL_BITS)
            below[ties] = more < self.tail[bucket[ties]]
        if self.packed is None:
            bucket <<= 1
            bucket += below
            return _given(self._outputs).take(bucket)
        # The first output lies in the upper half of the lower word.
        both = record.view(np.uint32)[1 - _UPPER :: 2]
        drawn: NDArray[Any] = both >> (below.view(np.uint8) << np.uint8(4))
        drawn &= np.uint32(0xFFFF)
        return drawn

    def _buckets(self, rows: NDArray[Any], words: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Number of the bucket of each row that its word names."""
        if self.bits is None:
            bucket = self.offset.take(rows)
            bucket += words >> self.shift.take(rows)
            return bucket
        if self.bits == 0:
            return rows.astype(np.int64)
        if len(self.tail) >> _WORD_BITS:
            wide = rows.astype(np.int64)
            wide <<= self.bits
            wide |= words >> np.uint32(_WORD_BITS - self.bits)
            return wide
        narrow = rows.astype(np.uint32)
        narrow <<= np.uint32(self.bits)
        narrow |= words >> np.uint32(_WORD_BITS - self.bits)
        return narrow.astype(np.int64)


def _given(array: NDArray[Any] | None) -> NDArray[Any]:
    """The array of a table that is not packed."""
    assert array is not None
    return array


def _split_threshold(
    threshold: NDArray[np.int64], offset: NDArray[np.int64], bits: NDArray[np.int64], scale_bits: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Thresholds as the word and the 30-bit tail that a draw is compared with."""
    extra = scale_bits - _WORD_BITS
    number = np.arange(offset[-1]) - np.repeat(offset[:-1], np.diff(offset))
    base = number << np.repeat(_WORD_BITS - bits, np.diff(offset))
    lead = base + (threshold >> extra)
    # A full bucket's threshold may lie one past the last word; both its outputs are the same, so any will do.
    full = lead >> _WORD_BITS > 0
    lead[full] = 0
    tail = threshold & ((1 << extra) - 1)
    tail[full] = 0
    return lead.astype(np.uint32), tail.astype(np.uint32)


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
