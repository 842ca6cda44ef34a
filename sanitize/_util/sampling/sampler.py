"""Base of all samplers, which draw block by block into reused arrays, and the simplest samplers.

The simplest samplers keep the symbol with one probability for all inputs, or draw from one common row, as in randomized
response. A table for such a stage would repeat the same row for every symbol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sanitize._util.limits import BLOCK_ROWS
from sanitize._util.sampling.noise import RandomWords, RowWords
from sanitize.errors import InvalidChannel

# Shared empty answer, because most blocks have no rows that need one.
_NOWHERE = np.empty(0, np.intp)
# Function from the inputs of the next rows to their outputs; the next call may overwrite the returned array.
Drawing: TypeAlias = "Callable[[NDArray[Any]], NDArray[Any]]"


class Sampler(Protocol):
    """Object that draws the outputs of one stage of a channel from tables that are built once."""

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Return a function that draws outputs of the rows from number ``start`` on; row i uses word i of a lane."""


def receiving(out: NDArray[Any] | None, n_rows: int, n_outputs: int) -> NDArray[Any]:
    """Return the array for the outputs of rows: ``out`` after checks, or a new array if ``out`` is None.

    Raises
    ------
    InvalidChannel
        If the array has another size, or a type that is too narrow for the outputs.
    """
    if out is None:
        return np.empty(n_rows, np.int32)
    is_whole = isinstance(out, np.ndarray) and out.shape == (n_rows,) and np.issubdtype(out.dtype, np.integer)
    if not is_whole or np.iinfo(out.dtype).max < n_outputs - 1:
        given = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InvalidChannel(
            f"out must be an array of {n_rows} integers of a type that includes 0 to {n_outputs - 1}, got {given}"
        )
    return out


def draw_all(steps: list[Drawing], rows: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Draw the outputs of all rows block by block."""
    if np.may_share_memory(rows, out):
        rows = rows.copy()
    for begin in range(0, len(rows), BLOCK_ROWS):
        block = rows[begin : begin + BLOCK_ROWS]
        for step in steps:
            block = step(block)
        out[begin : begin + len(block)] = block
    return out


class Scratch:
    """Reusable arrays for blocks of rows, allocated once and cut to the size of each block."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, dtype: Any, size: int) -> NDArray[Any]:
        """Return the first ``size`` elements of the array with this name."""
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            array = self._arrays[name] = np.empty(size, dtype)
        return array[:size]

    def zeros(self, size: int) -> NDArray[np.uint8]:
        """Return ``size`` zeros, the inputs of rows for a stage with one input."""
        if len(self._arrays.get("zeros", ())) < size:
            self._arrays["zeros"] = np.zeros(size, np.uint8)
        return self._arrays["zeros"][:size]

    def copy(self, name: str, dtype: Any, values: NDArray[Any]) -> NDArray[Any]:
        """Copy values into another type, without checking that they fit."""
        array = self(name, dtype, len(values))
        np.copyto(array, values, casting="unsafe")
        return array


def choose(
    mask: NDArray[np.bool_], where_true: NDArray[Any], where_false: NDArray[Any] | Any, out: NDArray[Any]
) -> NDArray[Any]:
    """Choose like `numpy.where` for unsigned integers, but with arithmetic instead of branches, in half the time.

    ``out`` must not be one of the other arrays.
    """
    np.bitwise_xor(where_true, where_false, out=out)
    out *= mask
    out ^= where_false
    return out


def bucket_numbers(
    rows: NDArray[Any], bits: int, row_numbers: NDArray[Any], n_buckets: int, scratch: Scratch
) -> NDArray[np.intp]:
    """Convert bucket numbers within rows of 2**bits buckets to bucket numbers among all rows, for look-ups."""
    place = row_numbers
    if n_buckets > 1 << bits:
        place = scratch.copy("place", place_type(n_buckets), rows)
        place <<= place.dtype.type(bits)
        np.bitwise_or(place, row_numbers, out=place, casting="unsafe")
    return scratch.copy("bucket_numbers", np.intp, place)


def where_true(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Positions where a mask is true; fast if there are few."""
    return np.flatnonzero(mask) if mask.any() else _NOWHERE


def where_small(numbers: NDArray[Any], most: np.unsignedinteger[Any], scratch: Scratch) -> NDArray[np.intp]:
    """Positions of the numbers that are at most ``most``; fast if there are few."""
    if numbers.dtype.itemsize > 2 and len(numbers) and numbers.min() > most:
        return _NOWHERE
    return where_true(np.less_equal(numbers, most, out=scratch("small", np.bool_, len(numbers))))


def word_type(bits: int) -> np.dtype[Any]:
    """Type of the random words that choose among 2**bits buckets: 16 bits, at half the cost of 32, if ties are rare."""
    # Short words tie in one draw out of 2**(16 - bits); more frequent ties would cost more than long words do.
    return np.dtype(np.uint16 if bits <= 8 else np.uint32)


def place_type(n_places: int) -> np.dtype[Any]:
    """Narrowest type for this many positions; arithmetic on it is faster than on 64 bits."""
    return np.dtype(np.uint16 if n_places <= 1 << 16 else np.uint32 if n_places <= 1 << 32 else np.intp)


@dataclass(frozen=True, eq=False)
class KeepTable:
    """Sampler of inputs that keep their symbol with one common probability and otherwise give one common output.

    The leading 16 bits of the threshold are compared with a half-word; where they tie, 46 more bits decide.

    Attributes
    ----------
    weight : int
        Probability of staying, in units of 2**-scale_bits.
    other_output : int
        The common output.
    n_outputs, scale_bits : int
    """

    weight: int
    other_output: int
    n_outputs: int
    scale_bits: int

    @staticmethod
    def fits(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.int64]) -> bool:
        """Return whether a sparse matrix has the form of `KeepTable` and more than one input."""
        n = len(indptr) - 1
        if n < 2 or len(indices) != 2 * n:
            return False
        stays = (np.diff(indptr) == 2) & (indices[::2] == np.arange(n)) & (weights[::2] == weights[0])
        return bool((stays & (indices[1::2] == indices[1])).all())

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Return a function that draws outputs of the rows from number ``start`` on; half-word i decides draw i."""
        word = np.dtype(np.uint16)
        row_words, scratch = RowWords(source, lane, start, word), Scratch()
        more_bits = self.scale_bits - 8 * word.itemsize
        lead, tail = np.uint16(self.weight >> more_bits), self.weight & ((1 << more_bits) - 1)
        dtype = place_type(self.n_outputs)
        other_output = dtype.type(self.other_output)

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            size = len(rows)
            halves = row_words.following(size)
            codes = rows if rows.dtype == dtype else scratch.copy("codes", dtype, rows)
            stays = np.less(halves, lead, out=scratch("stays", np.bool_, size))
            outputs = choose(stays, codes, other_output, scratch("outputs", dtype, size))
            ties = where_true(np.equal(halves, lead, out=stays))
            if len(ties):
                outputs[ties] = np.where(row_words.more(ties, more_bits) < tail, codes[ties], other_output)
            return outputs

        return draw


@dataclass(frozen=True, eq=False)
class RedrawTable:
    """Sampler that returns every input unchanged except the last, for which it draws an output.

    Attributes
    ----------
    common : Sampler
        Sampler of the last input alone.
    last : int
        Number of the last input.
    n_outputs : int
    """

    common: Sampler
    last: int
    n_outputs: int

    @staticmethod
    def fits(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> bool:
        """Return whether a sparse matrix has the form of `RedrawTable` and more than one input."""
        last = len(indptr) - 2
        return last > 0 and indptr[last] == last and bool((indices[:last] == np.arange(last)).all())

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Return a function that draws outputs of rows from number ``start`` on; `common` draws for the last input."""
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
    """Sampler of one input with n outputs of almost equal weight, which multiplies each random word by n.

    The weights differ by at most one, and the larger ones come first. A word w and n outputs give the output
    ⌊w n / 2**32⌋ and a remainder. The outputs' shares of the integers begin less than n / 4 units of 2**-62 above the
    multiples of 1/n. So for up to 2**16 outputs, a remainder from 1 to 2**32 - n decides the output, whatever bits
    would follow; for other remainders 30 more bits decide.

    Attributes
    ----------
    n : int
    scale_bits : int
    """

    n: int
    scale_bits: int

    @staticmethod
    def fits(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.int64], n_outputs: int) -> bool:
        """Return whether a sparse matrix has the form of `UniformTable`."""
        if len(indptr) != 2 or len(indices) != n_outputs or not 1 < n_outputs <= 1 << 16:
            return False
        base, larger = divmod(int(weights.sum()), n_outputs)
        return bool((weights == base + (np.arange(n_outputs) < larger)).all())

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Return a function that draws outputs of the rows from number ``start`` on; word i decides draw i."""
        row_words, scratch = RowWords(source, lane, start, np.dtype(np.uint32)), Scratch()
        more_bits = self.scale_bits - 32

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            size = len(rows)
            words = row_words.following(size)
            product = scratch.copy("product", np.uint64, words)
            product *= np.uint64(self.n)
            product >>= np.uint64(32)
            outputs = scratch.copy("outputs", np.uint16, product)
            # Remainders that leave doubt are 0 and those above 2**32 - n; adding n - 1, modulo 2**32, makes them at
            # most n - 1.
            remainder = np.multiply(words, np.uint32(self.n), out=scratch("remainder", np.uint32, size))
            remainder += np.uint32(self.n - 1)
            ties = where_small(remainder, np.uint32(self.n - 1), scratch)
            if len(ties):
                outputs[ties] = self._exact(words[ties].astype(np.int64) << more_bits | row_words.more(ties, more_bits))
            return outputs

        return draw

    def _exact(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the output whose interval of numbers contains each given number."""
        base, larger = divmod(1 << self.scale_bits, self.n)
        of_larger = numbers // (base + 1)
        return np.where(of_larger < larger, of_larger, (numbers - larger) // base)
