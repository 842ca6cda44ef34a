"""Search of bytes for values that must not be there: as they are, and in base64."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._tables.columns import python_values, tellable
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn

_WINDOW = 8
_BLOCK = 1 << 20
# Values of a column that are searched for.
MOST_VALUES = 200_000
# Bits of the table that tells most bytes from the beginnings of values at one look.
_FILTER_BITS = 24
_ODD = np.uint64(0x9E3779B97F4A7C15)
_LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
# Chance that bytes which mean something else spell a value that is searched for.
CHANCE = 1e-9
# Runs of one or two different bytes are what packed numbers look like.
_FEWEST_DIFFERENT = 4


def shortest(n_bytes: int, n_values: int) -> int:
    """Length from which a value found among so many bytes is no accident."""
    expected = max(n_bytes, 1) * max(n_values, 1) / CHANCE
    return max(_WINDOW, math.ceil(math.log(expected, 256)))


def spellings(values: ArrowColumn) -> set[bytes]:
    """Bytes by which the distinct values of a column might be told: UTF-8, decimal text, or a double."""
    values = tellable(values)
    if pa.types.is_nested(values.type):
        return set()
    if pa.types.is_dictionary(values.type):
        used = pc.unique(values.indices).drop_null()
        # A damaged column that is not released may point anywhere.
        used = used.filter(pc.and_(pc.greater_equal(used, 0), pc.less(used, len(values.dictionary))))
        values = tellable(values.dictionary).take(used)
    distinct = pc.unique(values).drop_null()
    kind = distinct.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return set()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return {bytes(value) for value in distinct.to_pylist()}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return set(distinct.cast(pa.large_binary()).to_pylist())
    if pa.types.is_integer(kind):
        return set(distinct.cast(pa.string()).cast(pa.binary()).to_pylist())
    found = {text.encode() for text in _texts(distinct)}
    if pa.types.is_float64(kind):
        raw = distinct.to_numpy(zero_copy_only=False)
        found |= {value for value in np.ascontiguousarray(raw).view("V8").tolist() if b"\0\0" not in value}
    return found


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
    """Spellings of a column's values, numbered in ascending order, side by side with those of the same length.

    Attributes
    ----------
    n : int
    by_length : dict of int to (ndarray of uint8, shape (k, length), ndarray of int64, shape (k,))
        The spellings of a length, and their numbers.
    """

    n: int
    by_length: dict[int, tuple[NDArray[np.uint8], NDArray[np.int64]]]

    @classmethod
    def of(cls, values: set[bytes]) -> Spellings:
        """At most 200,000 of some spellings, the first in ascending order."""
        kept = sorted(values)[:MOST_VALUES]
        numbers: dict[int, list[int]] = defaultdict(list)
        for number, value in enumerate(kept):
            numbers[len(value)].append(number)
        numbers.pop(0, None)
        by_length = {
            length: (_rows([kept[number] for number in own], length), np.array(own, np.int64))
            for length, own in numbers.items()
        }
        return cls(len(kept), by_length)


def _rows(values: list[bytes], length: int) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), length)


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
        padded = np.zeros((k, -(-(skip + length) // 3) * 3), np.uint8)
        padded[:, skip : skip + length] = values
        three = padded.reshape(k, -1, 3)
        letters = np.empty((*three.shape[:2], 4), np.uint8)
        letters[..., 0] = three[..., 0] >> 2
        letters[..., 1] = (three[..., 0] & 3) << 4 | three[..., 1] >> 4
        letters[..., 2] = (three[..., 1] & 15) << 2 | three[..., 2] >> 6
        letters[..., 3] = three[..., 2] & 63
        # Letters that also depend on the bytes before or behind the value are left out.
        first, last = -(-8 * skip // 6), (8 * (skip + length)) // 6
        found.append(_LETTERS[letters.reshape(k, -1)[:, first:last]])
    return found


@dataclass(frozen=True, eq=False)
class _Needles:
    """Texts of one length that are searched for, by hash.

    Attributes
    ----------
    hashes : ndarray of uint64, shape (k,)
        Ascending.
    texts : ndarray of uint8, shape (k, length)
    owners : ndarray of int64, shape (k,)
        Column and number of the value that a text spells.
    """

    hashes: NDArray[np.uint64]
    texts: NDArray[np.uint8]
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, texts: list[NDArray[np.uint8]], owners: list[NDArray[np.int64]]) -> _Needles:
        every, own = np.concatenate(texts), np.concatenate(owners)
        hashes = _hash(every)
        order = np.argsort(hashes)
        return cls(hashes[order], every[order], own[order])

    @property
    def length(self) -> int:
        return int(self.texts.shape[1])

    def without(self, owners: NDArray[np.int64]) -> _Needles:
        """Less those of some owners."""
        kept = ~np.isin(self.owners, owners)
        return _Needles(self.hashes[kept], self.texts[kept], self.owners[kept])

    def owners_in(self, data: NDArray[np.uint8], at: NDArray[np.intp]) -> NDArray[np.int64]:
        """Owners of the texts that stand at some places of some bytes."""
        at = at[at <= len(data) - self.length]
        found = [np.empty(0, np.int64)]
        for begin in range(0, len(at), _BLOCK // self.length + 1):
            pieces = data[at[begin : begin + _BLOCK // self.length + 1, None] + np.arange(self.length)]
            hashes = _hash(pieces)
            low, high = (np.searchsorted(self.hashes, hashes, side) for side in ("left", "right"))
            for place in np.flatnonzero(high > low).tolist():
                alike = slice(int(low[place]), int(high[place]))
                found.append(self.owners[alike][(self.texts[alike] == pieces[place]).all(axis=1)])
        return np.unique(np.concatenate(found))


def _hash(texts: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Number of each text; different texts may share one, seldom."""
    found = np.zeros(len(texts), np.uint64)
    for letters in texts.T:
        found = (found ^ letters) * _ODD
        found ^= found >> np.uint64(29)
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
    _needles: tuple[_Needles, ...] = ()
    _windows: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    _filter: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1 << _FILTER_BITS, bool))

    @classmethod
    def of(cls, columns: Iterable[tuple[str, Spellings]], n_bytes: int, legitimate: bytes) -> Scanner:
        """Scanner for the values of columns, but for those that legitimate text contains."""
        groups = list(columns)
        made = cls(shortest(n_bytes, 4 * sum(spellings.n for _, spellings in groups)))
        made._names = tuple(name for name, _ in groups)
        texts: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        owners: dict[int, list[NDArray[np.int64]]] = defaultdict(list)
        for column, (_, spellings) in enumerate(groups):
            for values, numbers in spellings.by_length.values():
                various = (np.diff(np.sort(values, axis=1), axis=1) != 0).sum(axis=1) + 1 >= _FEWEST_DIFFERENT
                values, own = values[various], numbers[various] + column * MOST_VALUES
                for needles in (values, *in_base64(values)) if len(values) else ():
                    if needles.shape[1] >= made.least:
                        texts[needles.shape[1]].append(needles)
                        owners[needles.shape[1]].append(own)
        made._index([_Needles.of(texts.pop(length), owners.pop(length)) for length in sorted(texts)])
        innocent = made._owners_in(legitimate)
        if len(innocent):
            made._index([needles.without(innocent) for needles in made._needles])
        made.n_values = len(np.unique(np.concatenate([np.empty(0, np.int64), *(n.owners for n in made._needles)])))
        return made

    def scan(self, data: bytes) -> None:
        """Look for every value in some bytes."""
        self.n_bytes += len(data)
        self._note(data)

    def scan_file(self, file: Path) -> None:
        """Look for every value in a file, a piece at a time; a value may lie across pieces."""
        overlap = max((needles.length for needles in self._needles), default=1) - 1
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
        found = [np.empty(0, np.int64)]
        if not len(self._windows):
            return found[0]
        text = np.frombuffer(data, np.uint8)
        for begin in range(0, len(data) - _WINDOW + 1, _BLOCK):
            size = min(_BLOCK, len(data) - _WINDOW + 1 - begin)
            windows = np.ndarray((size,), np.dtype("<u8"), data, begin, (1,))
            at = np.flatnonzero(self._filter[_short(windows)])
            wanted = windows[at]
            place = np.minimum(np.searchsorted(self._windows, wanted), len(self._windows) - 1)
            at = begin + at[self._windows[place] == wanted]
            if len(at):
                found += [needles.owners_in(text, at) for needles in self._needles]
        return np.unique(np.concatenate(found))

    def _index(self, needles: list[_Needles]) -> None:
        """Keep texts, and know how they begin."""
        self._needles = tuple(own for own in needles if len(own.hashes))
        starts = [np.ascontiguousarray(own.texts[:, :_WINDOW]).view("<u8").ravel() for own in self._needles]
        self._windows = np.unique(np.concatenate([np.empty(0, np.uint64), *starts]))
        self._filter[:] = False
        self._filter[_short(self._windows)] = True


def _short(windows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Place of a beginning in the table of beginnings."""
    return (windows * _ODD) >> np.uint64(64 - _FILTER_BITS)
