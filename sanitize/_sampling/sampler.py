"""What all samplers have in common: draws block after block, in arrays that are used again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from sanitize._limits import BLOCK_ROWS
from sanitize.errors import InvalidChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords

_NOWHERE = np.empty(0, np.intp)

# Takes the inputs of the next rows and gives their outputs, which the next call may overwrite.
Drawing: TypeAlias = "Callable[[NDArray[Any]], NDArray[Any]]"


class Sampler(Protocol):
    """Draws outputs of a stage, from tables that are built once."""

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Draws of the rows from number ``start`` on; the words of a lane with a row's number decide its draw."""
        ...


def receiving(out: NDArray[Any] | None, n_rows: int, n_outputs: int) -> NDArray[Any]:
    """The array given for the outputs of some rows, or a new one.

    Raises
    ------
    InvalidChannel
        If it has another size or a type that does not hold the outputs.
    """
    if out is None:
        return np.empty(n_rows, np.int32)
    if not (
        isinstance(out, np.ndarray)
        and out.shape == (n_rows,)
        and np.issubdtype(out.dtype, np.integer)
        and np.iinfo(out.dtype).max >= n_outputs - 1
    ):
        raise InvalidChannel(f"out must be an array of {n_rows} integers of a type that holds 0 to {n_outputs - 1}")
    return out


def draw_all(steps: list[Drawing], rows: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Outputs of all rows after some steps, a block at a time."""
    if np.may_share_memory(rows, out):
        rows = rows.copy()
    for begin in range(0, len(rows), BLOCK_ROWS):
        block = rows[begin : begin + BLOCK_ROWS]
        for step in steps:
            block = step(block)
        out[begin : begin + len(block)] = block
    return out


class Scratch:
    """Arrays of a block, made once and cut to the rows at hand."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, dtype: Any, size: int) -> NDArray[Any]:
        """First ``size`` elements of the array of this name."""
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            array = self._arrays[name] = np.empty(size, dtype)
        return array[:size]

    def zeros(self, size: int) -> NDArray[np.uint8]:
        """Inputs of a stage with one input; they stay zeros."""
        if len(self._arrays.get("zeros", ())) < size:
            self._arrays["zeros"] = np.zeros(size, np.uint8)
        return self._arrays["zeros"][:size]

    def copy(self, name: str, dtype: Any, values: NDArray[Any]) -> NDArray[Any]:
        """Values in another type, without the check that they fit."""
        array = self(name, dtype, len(values))
        np.copyto(array, values, casting="unsafe")
        return array


def choose(
    mask: NDArray[np.bool_], where_true: NDArray[Any], where_false: NDArray[Any] | Any, out: NDArray[Any]
) -> NDArray[Any]:
    """Like `numpy.where` for unsigned integers, in half the time: by arithmetic instead of jumps.

    ``out`` may be none of the others.
    """
    np.bitwise_xor(where_true, where_false, out=out)
    out *= mask
    out ^= where_false
    return out


def bucket_numbers(
    rows: NDArray[Any], bits: int, own: NDArray[Any], n_buckets: int, scratch: Scratch
) -> NDArray[np.intp]:
    """Numbers of buckets among those of all rows, from their numbers in rows of 2**bits, as look-ups want them."""
    place = own
    if n_buckets > 1 << bits:
        place = scratch.copy("place", place_type(n_buckets), rows)
        place <<= place.dtype.type(bits)
        np.bitwise_or(place, own, out=place, casting="unsafe")
    return scratch.copy("bucket_numbers", np.intp, place)


def where_true(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Places of a mask that is seldom true."""
    return np.flatnonzero(mask) if mask.any() else _NOWHERE


def where_small(numbers: NDArray[Any], most: np.unsignedinteger[Any], scratch: Scratch) -> NDArray[np.intp]:
    """Places of numbers that are at most as large as few are; the longer the numbers, the fewer."""
    if numbers.dtype.itemsize > 2 and len(numbers) and numbers.min() > most:
        return _NOWHERE
    return where_true(np.less_equal(numbers, most, out=scratch("small", np.bool_, len(numbers))))


def word_type(bits: int) -> np.dtype[Any]:
    """Words that decide among 2**bits buckets: of 16 bits where they rarely tie, since then all costs half."""
    # Short words tie for one draw in 2**(16 - bits); more often would cost more than long words do.
    return np.dtype(np.uint16 if bits <= 8 else np.uint32)


def place_type(n_places: int) -> np.dtype[Any]:
    """Narrowest type that numbers some places; look-ups want 64 bits, arithmetic is faster on fewer."""
    return np.dtype(np.uint16 if n_places <= 1 << 16 else np.uint32 if n_places <= 1 << 32 else np.intp)
