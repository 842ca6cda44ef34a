"""Draws from stages of randomized response: keep the symbol by one threshold for all, else draw from one common row.

Tables of such stages would have a row a symbol that says the same as every other row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._sampling.noise import RowWords
from sanitize._sampling.sampler import Scratch, choose, place_type, where_small, where_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords
    from sanitize._sampling.sampler import Drawing, Sampler

_WORD = np.dtype(np.uint32)


@dataclass(frozen=True, eq=False)
class KeepTable:
    """Input i stays i with one probability for all inputs, or becomes one common output.

    The leading 16 bits of the threshold are compared with a half-word; where they tie, 46 more bits decide.

    Attributes
    ----------
    weight : int
        Probability of staying, in units of 2**-scale_bits.
    other : int
        The common output.
    n_outputs, scale_bits : int
    """

    weight: int
    other: int
    n_outputs: int
    scale_bits: int

    @staticmethod
    def fits(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.int64]) -> bool:
        """Whether a sparse matrix has this form, with more than one input."""
        n = len(indptr) - 1
        return (
            n > 1
            and len(indices) == 2 * n
            and bool((np.diff(indptr) == 2).all())
            and bool((indices[::2] == np.arange(n)).all())
            and bool((indices[1::2] == indices[1]).all())
            and bool((weights[::2] == weights[0]).all())
        )

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Draws of the rows from number ``start`` on; half-word i of the lane decides draw i."""
        word = np.dtype(np.uint16)
        given, scratch = RowWords(source, lane, start, word), Scratch()
        more_bits = self.scale_bits - 8 * word.itemsize
        lead, tail = np.uint16(self.weight >> more_bits), self.weight & ((1 << more_bits) - 1)
        dtype = place_type(self.n_outputs)
        other = dtype.type(self.other)

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            size = len(rows)
            halves = given.following(size)
            codes = rows if rows.dtype == dtype else scratch.copy("codes", dtype, rows)
            stays = np.less(halves, lead, out=scratch("stays", np.bool_, size))
            outputs = choose(stays, codes, other, scratch("outputs", dtype, size))
            ties = where_true(np.equal(halves, lead, out=stays))
            if len(ties):
                outputs[ties] = np.where(given.more(ties, more_bits) < tail, codes[ties], other)
            return outputs

        return draw


@dataclass(frozen=True, eq=False)
class RedrawTable:
    """Inputs but the last one pass through; the last one draws from its row.

    Attributes
    ----------
    common : Sampler
        Sampler of that row alone.
    last : int
        Number of the last input.
    n_outputs : int
    """

    common: Sampler
    last: int
    n_outputs: int

    @staticmethod
    def fits(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> bool:
        """Whether a sparse matrix has this form, with more than one input."""
        last = len(indptr) - 2
        return last > 0 and indptr[last] == last and bool((indices[:last] == np.arange(last)).all())

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Draws of the rows from number ``start`` on, as the sampler of the last row draws them."""
        draw_common, scratch = self.common.drawing(source, lane, start), Scratch()
        dtype = place_type(max(self.n_outputs, self.last + 1))

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            size = len(rows)
            drawn = draw_common(scratch.zeros(size))
            if drawn.dtype != dtype:
                drawn = scratch.copy("drawn", dtype, drawn)
            codes = rows if rows.dtype == dtype else scratch.copy("codes", dtype, rows)
            is_last = np.equal(codes, dtype.type(self.last), out=scratch("is_last", np.bool_, size))
            return choose(is_last, drawn, codes, scratch("outputs", dtype, size))

        return draw


@dataclass(frozen=True, eq=False)
class UniformTable:
    """One input and n outputs whose integers differ by at most one, the larger ones first: a product is the table.

    A word w and n outputs give the output ⌊w n / 2**32⌋ and a remainder. The outputs' shares of the integers begin
    less than n / 4 units of 2**-62 above the multiples of 1/n, so that up to 2**16 outputs a remainder from 1 to
    2**32 - n leaves no doubt, whatever bits would follow; for the others 30 more bits decide.

    Attributes
    ----------
    n : int
    scale_bits : int
    """

    n: int
    scale_bits: int

    @staticmethod
    def fits(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.int64], n_outputs: int) -> bool:
        """Whether a sparse matrix has this form."""
        total = int(weights.sum()) if len(indptr) == 2 else 0
        base, larger = divmod(total, n_outputs)
        return (
            len(indptr) == 2
            and len(indices) == n_outputs
            and 1 < n_outputs <= 1 << 16
            and bool((weights == base + (np.arange(n_outputs) < larger)).all())
        )

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Draws of the rows from number ``start`` on; word i of the lane decides draw i."""
        given, scratch = RowWords(source, lane, start, _WORD), Scratch()
        more_bits = self.scale_bits - 8 * _WORD.itemsize

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            size = len(rows)
            words = given.following(size)
            product = scratch.copy("product", np.uint64, words)
            product *= np.uint64(self.n)
            product >>= np.uint64(32)
            outputs = scratch.copy("outputs", np.uint16, product)
            # Remainders in doubt, 0 and those above 2**32 - n, go past 2**32 when n - 1 is added.
            remainder = np.multiply(words, np.uint32(self.n), out=scratch("remainder", np.uint32, size))
            remainder += np.uint32(self.n - 1)
            ties = where_small(remainder, np.uint32(self.n - 1), scratch)
            if len(ties):
                outputs[ties] = self._exact(words[ties].astype(np.int64) << more_bits | given.more(ties, more_bits))
            return outputs

        return draw

    def _exact(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Outputs whose shares hold the numbers."""
        base, larger = divmod(1 << self.scale_bits, self.n)
        of_larger = numbers // (base + 1)
        return np.where(of_larger < larger, of_larger, (numbers - larger) // base)
