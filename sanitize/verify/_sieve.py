"""Many texts sought in bytes: most places are told by a table of which bytes stand where in the texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Bytes of a text that are looked at.
WINDOW = 8
# Bytes whose intermediate arrays stay in the cache.
_BLOCK = 1 << 17
_NOT_PLAIN = np.uint64(0x8080808080808080)
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Sieve:
    """Beginnings of texts, eight bytes each.

    Attributes
    ----------
    windows : ndarray of uint64
        The beginnings.
    tables : tuple of bytes
        For each byte a bit for each place of a beginning where it occurs; of plain text, and of all others.
    """

    windows: NDArray[np.uint64]
    tables: tuple[bytes, ...]

    @classmethod
    def of(cls, starts: Sequence[NDArray[np.uint8]]) -> Sieve:
        """Sieve for beginnings, each of shape (k, 8)."""
        windows = [np.ascontiguousarray(own).view("<u8").ravel() for own in starts]
        # Few bytes are letters and digits, so they are told apart from random ones by themselves best.
        kinds: tuple[list[NDArray[np.uint8]], ...] = ([], [])
        for own, window in zip(starts, windows, strict=True):
            is_plain = (window & _NOT_PLAIN) == 0
            for kind, among in zip(kinds, (is_plain, ~is_plain), strict=True):
                kind.append(own if among.all() else own[among])
        return cls(
            np.concatenate([np.empty(0, np.uint64), *windows]),
            tuple(_table(kind) for kind in kinds if any(map(len, kind))),
        )

    def places(self, data: bytes) -> NDArray[np.intp]:
        """Places of some bytes where one of the beginnings stands, ascending."""
        n = len(data) - WINDOW + 1
        found = [np.empty(0, np.intp)]
        for begin in range(0, n, _BLOCK):
            piece = data[begin : begin + _BLOCK + WINDOW - 1]
            likely = [_likely(piece, table) for table in self.tables]
            if len(likely) > 1:
                likely = [np.union1d(*likely)]
            found += [begin + own for own in likely]
        at = np.concatenate(found)
        if not len(at):
            return at
        wanted, known = np.ndarray((n,), np.dtype("<u8"), data, 0, (1,))[at], self._in_order
        return at[known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted]

    @cached_property
    def _in_order(self) -> NDArray[np.uint64]:
        """The beginnings, sorted when bytes are like one for the first time; those of a release seldom are."""
        return np.sort(self.windows)


@dataclass(frozen=True, eq=False)
class Needles:
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
    def of(cls, texts: list[NDArray[np.uint8]], owners: list[NDArray[np.int64]]) -> Needles:
        every, own = np.concatenate(texts), np.concatenate(owners)
        hashes = _hash(every)
        order = np.argsort(hashes)
        return cls(hashes[order], every[order], own[order])

    @property
    def length(self) -> int:
        return int(self.texts.shape[1])

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


def _table(starts: Sequence[NDArray[np.uint8]]) -> bytes:
    bits = np.zeros(256, np.uint8)
    for own in starts:
        for place in range(WINDOW):
            bits[np.bincount(own[:, place], minlength=256) > 0] |= np.uint8(1 << place)
    return bits.tobytes()


def _likely(data: bytes, table: bytes) -> NDArray[np.intp]:
    """Places where every byte stands at a place of its own in some beginning."""
    bits = np.frombuffer(data.translate(table), np.uint8)
    n = len(data) - WINDOW + 1
    found = bits[:n] & np.uint8(1)
    shifted = np.empty_like(found)
    for place in range(1, WINDOW):
        np.right_shift(bits[place : place + n], np.uint8(place), out=shifted)
        found &= shifted
    return np.flatnonzero(found)
