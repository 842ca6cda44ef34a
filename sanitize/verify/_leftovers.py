"""Search of bytes for values that must not be there: as they are, and in base64."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._tables.columns import python_values, tellable
from sanitize._tables.keys import distinct_keys
from sanitize.errors import ColumnError
from sanitize.verify._sieve import WINDOW, Needles, Sieve

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn

_BLOCK = 1 << 20
# Values of a column that are searched for.
MOST_VALUES = 200_000
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".ljust(256)
# Chance that bytes which mean something else spell a value that is searched for.
CHANCE = 1e-9
# Bytes that leave as many letters in base64 as bytes are looked at.
_FEWEST = WINDOW * 6 // 8
# Runs of one or two different bytes are what packed numbers look like.
_FEWEST_DIFFERENT = 4


def shortest(n_bytes: int, n_values: int) -> int:
    """Length from which a value found among so many bytes is no accident."""
    expected = max(n_bytes, 1) * max(n_values, 1) / CHANCE
    return max(WINDOW, math.ceil(math.log(expected, 256)))


def distinct(values: ArrowColumn) -> pa.Array:
    """The distinct values of a column that may be told from its bytes; none of those that have no spelling."""
    values = tellable(values)
    if pa.types.is_nested(values.type) or pa.types.is_boolean(values.type):
        return pa.nulls(0)
    if pa.types.is_dictionary(values.type):
        used = pc.unique(values.indices).drop_null()
        # A damaged column that is not released may point anywhere.
        used = used.filter(pc.and_(pc.greater_equal(used, 0), pc.less(used, len(values.dictionary))))
        return distinct(tellable(values.dictionary).take(used))
    if pa.types.is_integer(values.type):
        return pa.array(_in_order(values.drop_null().to_numpy()))
    return pc.unique(values).drop_null()


def _in_order(numbers: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The distinct ones of some whole numbers, ascending."""
    if not len(numbers):
        return numbers
    least = numbers.min()
    beyond = (numbers - least).view(f"u{numbers.dtype.itemsize}")  # as unsigned, differences of any size are right
    return distinct_keys(beyond, int(numbers.max()) - int(least) + 1).astype(numbers.dtype) + least


def long_enough(column: ArrowColumn) -> ArrowColumn:
    """Less the whole numbers that are too short to be searched for, whatever the number of bytes."""
    if not pa.types.is_integer(column.type):
        return column
    column = column.drop_null()
    return column.filter(pa.array(_have(column.to_numpy(), _FEWEST)))


def _have(numbers: NDArray[np.integer[Any]], length: int) -> NDArray[np.bool_]:
    """Whether whole numbers have so many digits, or one less and a minus."""
    found: NDArray[np.bool_] = (numbers >= 10 ** (length - 1)) | (numbers <= -(10 ** (length - 2)))
    return found


def spellings(values: ArrowColumn) -> set[bytes]:
    """Bytes by which the distinct values of a column might be told: UTF-8, decimal text, or a double."""
    known = distinct(values)
    kind = known.type
    if pa.types.is_null(kind):
        return set()
    if _is_spelt_at_once(kind):
        return set(_spelt_at_once(known).to_pylist())
    found = {text.encode() for text in _texts(known)}
    if pa.types.is_float64(kind):
        raw = known.to_numpy(zero_copy_only=False)
        found |= {value for value in np.ascontiguousarray(raw).view("V8").tolist() if b"\0\0" not in value}
    return found


def _is_spelt_at_once(kind: pa.DataType) -> bool:
    """Whether values of a type have one spelling, which Arrow knows."""
    types = pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind)
    return is_text or types.is_large_binary(kind) or types.is_fixed_size_binary(kind) or types.is_integer(kind)


def _spelt_at_once(known: pa.Array) -> pa.Array:
    if pa.types.is_integer(known.type):
        known = known.cast(pa.string())
    if pa.types.is_fixed_size_binary(known.type):
        known = known.cast(pa.binary())
    return known.cast(pa.large_binary())


def _texts(distinct: pa.Array) -> list[str]:
    """Values as Python prints them; dates and times that it has no name for as Arrow does, without their zone."""
    try:
        return [str(value) for value in python_values(distinct, "")]
    except ColumnError:
        zoneless = distinct.cast(pa.timestamp(distinct.type.unit)) if pa.types.is_timestamp(distinct.type) else distinct
        found: list[str] = zoneless.cast(pa.string()).to_pylist()
        return found


@dataclass(frozen=True, eq=False)
class Spellings:
    """Spellings of a column's values, numbered.

    Attributes
    ----------
    n : int
    """

    n: int
    _values: pa.Array  # whole numbers, or what is spelt already

    @classmethod
    def of(cls, values: set[bytes]) -> Spellings:
        """At most 200,000 of some spellings, the first in ascending order."""
        return cls.of_values(pa.array(sorted(values), pa.large_binary()))

    @classmethod
    def of_values(cls, values: pa.Array) -> Spellings:
        """Spellings of distinct values; of more than 200,000, those of the first, and of numbers that lie evenly."""
        if pa.types.is_null(values.type) or not _is_spelt_at_once(values.type):
            return cls.of(spellings(values))
        if not pa.types.is_integer(values.type):
            kept = _spelt_at_once(values[:MOST_VALUES])
        elif len(values) > MOST_VALUES:  # they may be in ascending order, and the first ones the shortest
            kept = values.take(pa.array(np.arange(MOST_VALUES) * len(values) // MOST_VALUES))
        else:
            kept = values
        return cls(len(kept), kept)

    def by_length(self, least: int = 1) -> dict[int, tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        """The spellings of each length from the least on, side by side in a line each, and their numbers."""
        kept, numbers = self._values, np.arange(self.n)
        if pa.types.is_integer(kept.type):  # those that are too short need not be spelt
            if least > 1:
                numbers = np.flatnonzero(_have(kept.to_numpy(), least))
                kept = kept.take(pa.array(numbers))
            kept = _spelt_at_once(kept)
        told = pc.binary_length(kept)
        lengths = told.to_numpy()
        found = {}
        for length in sorted(pc.unique(told).to_pylist()):
            if length >= least:
                own = np.flatnonzero(lengths == length)
                found[length] = (_rows(kept.take(pa.array(own)), length), numbers[own])
        return found


def _rows(values: pa.Array, length: int) -> NDArray[np.uint8]:
    """Texts of one length, side by side."""
    data = np.frombuffer(values.buffers()[2], np.uint8)
    begin = int(np.frombuffer(values.buffers()[1], np.int64)[values.offset])
    return data[begin : begin + len(values) * length].reshape(len(values), length)


def in_base64(values: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """The letters that values of one length leave in base64, wherever in the text they start.

    Parameters
    ----------
    values : ndarray of uint8, shape (k, length)

    Returns
    -------
    list of three ndarrays of uint8, shape (k, number of letters)
    """
    k, length = values.shape
    found = []
    for skip in range(3):
        # Bytes of one place side by side, which are looked at many at a time.
        padded = np.zeros((-(-(skip + length) // 3) * 3, k), np.uint8)
        padded[skip : skip + length] = values.T
        one, two, three = padded[::3], padded[1::3], padded[2::3]
        letters = np.empty((len(one), 4, k), np.uint8)
        letters[:, 0] = one >> 2
        letters[:, 1] = (one & 3) << 4 | two >> 4
        letters[:, 2] = (two & 15) << 2 | three >> 6
        letters[:, 3] = three & 63
        # Letters that also depend on the bytes before or behind the value are left out.
        own = letters.reshape(-1, k)[-(-8 * skip // 6) : (8 * (skip + length)) // 6]
        spelt = np.frombuffer(own.tobytes().translate(_LETTERS), np.uint8)
        found.append(np.ascontiguousarray(spelt.reshape(own.shape).T))
    return found


@dataclass
class Scanner:
    """Counts which columns have values that turn up in bytes.

    Attributes
    ----------
    least : int
        Length from which a value found is no accident.
    found : dict of str to set of int
        Column to the numbers of its values that were found.
    n_bytes, n_values : int
        Bytes searched, and how many values are searched for.
    """

    least: int
    found: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    n_bytes: int = 0
    n_values: int = 0
    _names: tuple[str, ...] = ()
    _texts: dict[int, tuple[list[NDArray[np.uint8]], list[NDArray[np.int64]]]] = field(default_factory=dict)
    _known: dict[int, Needles] = field(default_factory=dict)
    _innocent: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    _sieve: Sieve = field(default_factory=lambda: Sieve.of([]))

    @classmethod
    def of(cls, columns: Iterable[tuple[str, Spellings]], n_bytes: int, legitimate: bytes) -> Scanner:
        """Scanner for the values of columns, but for those that legitimate text contains."""
        groups = list(columns)
        made = cls(shortest(n_bytes, 4 * sum(spellings.n for _, spellings in groups)))
        made._names = tuple(name for name, _ in groups)
        starts = []
        for column, (_, spellings) in enumerate(groups):
            least = -(-made.least * 6 // 8)  # that leaves as many letters in base64, where it keeps most of them
            for values, numbers in spellings.by_length(least).values():
                various = _is_various(values)
                values, own = values[various], numbers[various] + column * MOST_VALUES
                if not len(own):
                    continue
                made.n_values += len(own)
                for needles in (values, *in_base64(values)):
                    if needles.shape[1] < made.least:
                        continue
                    texts, owners = made._texts.setdefault(needles.shape[1], ([], []))
                    texts.append(needles)
                    owners.append(own)
                    starts.append(needles[:, :WINDOW])
        made._sieve = Sieve.of(starts)
        made._innocent = made._owners_in(legitimate)
        made.n_values -= len(made._innocent)
        return made

    def scan(self, data: bytes) -> None:
        """Look for every value in some bytes."""
        self.n_bytes += len(data)
        self._note(data)

    def scan_file(self, file: Path) -> None:
        """Look for every value in a file, a piece at a time; a value may lie across pieces."""
        overlap = max(self._texts, default=1) - 1
        held = b""
        with file.open("rb") as stream:
            while piece := stream.read(4 * _BLOCK):
                self.n_bytes += len(piece)
                held += piece
                self._note(held)
                held = held[-overlap:] if overlap else b""

    def _note(self, data: bytes) -> None:
        for owner in self._owners_in(data).tolist():
            self.found[self._names[owner // MOST_VALUES]].add(owner % MOST_VALUES)

    def _owners_in(self, data: bytes) -> NDArray[np.int64]:
        """Owners of the texts that some bytes contain."""
        at = self._sieve.places(data)
        if not len(at):
            return np.empty(0, np.int64)
        text = np.frombuffer(data, np.uint8)
        found = np.unique(np.concatenate([self._needles(length).owners_in(text, at) for length in self._texts]))
        return found[~np.isin(found, self._innocent)]

    def _needles(self, length: int) -> Needles:
        """Texts of a length; they are sorted when some bytes begin like a text for the first time."""
        if length not in self._known:
            self._known[length] = Needles.of(*self._texts[length])
        return self._known[length]


def _is_various(values: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether texts of one length have enough different bytes; most have them where they begin."""
    n_different = np.ones(len(values), np.uint8)
    for place in range(1, min(WINDOW, values.shape[1])):
        own = values[:, place]
        n_different += np.logical_and.reduce([own != values[:, before] for before in range(place)])
    found = n_different >= _FEWEST_DIFFERENT
    in_order = np.sort(values[~found], axis=1)
    found[~found] = np.count_nonzero(in_order[:, 1:] != in_order[:, :-1], axis=1) >= _FEWEST_DIFFERENT - 1
    return found
