"""Exact sampling of small channels by table: a few random bits name the output almost always.

The unit interval is cut into 2**b cells. Where a cell lies inside one output's share of a row, the table holds
that output; where it straddles a border it holds a mark, and 62 random bits decide exactly. With at most 2**8
outputs and 8 to 16 bits a cell straddles rarely, so a draw costs one 16-bit word and one look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._random import RandomWords

_WORD_BITS = 16
# The table should stay in the fastest caches, and straddling cells should be rare.
_TABLE_BITS = 18
_FEWEST_BITS = 8
_CELLS_AN_OUTPUT = 16
_BLOCK_ROWS = 1 << 15


def guide_bits(n_rows: int, n_outputs: int, largest_row: int) -> int | None:
    """Bits of a cell for a channel of this size; None where the table would be large or straddled too often."""
    bits = min(_WORD_BITS, _TABLE_BITS - int(np.ceil(np.log2(max(n_rows, 1)))))
    if n_outputs > 255 or bits < _FEWEST_BITS or largest_row * _CELLS_AN_OUTPUT > 1 << bits:
        return None
    return bits


@dataclass(frozen=True, eq=False)
class GuideTable:
    """Cells of all rows, one row after another.

    Attributes
    ----------
    bits : int
        log2 of the cells a row.
    table : ndarray of uint8, shape (n_rows << bits,)
        Output of each cell, 255 where it straddles a border.
    borders : ndarray of int64
        Upper ends of the entries' shares in units of 2**-scale_bits, row by row.
    """

    bits: int
    table: NDArray[np.uint8]
    borders: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    scale_bits: int

    @classmethod
    def build(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[np.int64],
        scale_bits: int,
        bits: int,
    ) -> GuideTable:
        """Table for the rows of a sparse matrix of integers that sum to 2**scale_bits a row."""
        n_rows = len(indptr) - 1
        shift = scale_bits - bits
        # Sums over all rows would overflow, so each row starts again at zero.
        borders = np.concatenate([np.cumsum(weights[a:b]) for a, b in pairwise(indptr)])
        starts = borders - weights
        first = (starts + (1 << shift) - 1) >> shift
        last = borders >> shift
        length = np.maximum(last - first, 0)
        row = np.repeat(np.arange(n_rows), np.diff(indptr))
        cells = np.repeat((row << bits) + first - (np.cumsum(length) - length), length) + np.arange(length.sum())
        table = np.full(n_rows << bits, 255, np.uint8)
        table[cells] = np.repeat(indices, length).astype(np.uint8)
        return cls(bits, table, borders, indptr, indices, scale_bits)

    def draw(self, rows: NDArray[Any], source: RandomWords, lane: int, start: int) -> NDArray[np.int32]:
        """One output for each row; half-word ``start + i`` of the lane decides draw i."""
        released = np.empty(len(rows), np.int32)
        size = min(len(rows), _BLOCK_ROWS)
        narrow, wide, found = np.empty(size, np.uint32), np.empty(size, np.intp), np.empty(size, np.uint8)
        undecided: list[tuple[NDArray[np.int64], NDArray[np.uint16]]] = []
        for begin in range(0, len(rows), _BLOCK_ROWS):
            block = rows[begin : begin + _BLOCK_ROWS]
            cell = source.halfwords(2 * lane, start + begin, len(block)) >> np.uint16(_WORD_BITS - self.bits)
            # A place fits 32 bits, where arithmetic is twice as fast; look-ups want it in 64.
            place, index, outputs = narrow[: len(block)], wide[: len(block)], found[: len(block)]
            np.copyto(place, block, casting="unsafe")
            place <<= np.uint32(self.bits)
            place |= cell
            np.copyto(index, place)
            self.table.take(index, out=outputs, mode="clip")
            released[begin : begin + len(block)] = outputs
            straddling = np.flatnonzero(outputs == 255)
            if len(straddling):
                undecided.append((begin + straddling, cell[straddling]))
        if undecided:
            places, cells = (np.concatenate(parts) for parts in zip(*undecided, strict=True))
            more = source.words_at(2 * lane + 1, start + places)
            number = cells.astype(np.int64) << (self.scale_bits - self.bits)
            number |= (more >> np.uint64(64 - self.scale_bits + self.bits)).astype(np.int64)
            released[places] = self._exact(rows[places], number)
        return released

    def _exact(self, rows: NDArray[Any], numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Output whose share of the row holds the number: binary search in all rows at once."""
        low = self.indptr[rows]
        high = self.indptr[rows.astype(np.intp) + 1] - 1
        while (open_ := low < high).any():
            middle = (low + high) >> 1
            above = numbers >= self.borders[middle]
            low = np.where(open_ & above, middle + 1, low)
            high = np.where(open_ & ~above, middle, high)
        return self.indices[low]
