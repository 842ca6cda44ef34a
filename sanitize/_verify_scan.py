"""Search of bytes for values that must not be there: as they are, and in base64."""

from __future__ import annotations

import base64
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sanitize._columns import ArrowColumn

_WINDOW = 8
_BLOCK = 1 << 20
_MOST = 200_000
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
    if isinstance(values.type, pa.BaseExtensionType) or pa.types.is_nested(values.type):
        return set()
    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    distinct = pc.unique(plain).drop_null()
    kind = distinct.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return set()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return {bytes(value) for value in distinct.to_pylist()}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return set(distinct.cast(pa.large_binary()).to_pylist())
    found = {str(value).encode() for value in distinct.to_pylist()}
    if pa.types.is_float64(kind):
        raw = distinct.to_numpy(zero_copy_only=False)
        found |= {value for value in np.ascontiguousarray(raw).view("V8").tolist() if b"\0\0" not in value}
    return found


def in_base64(value: bytes) -> list[bytes]:
    """The letters that a value leaves in base64, wherever in the text it starts."""
    found = []
    for skip in range(3):
        whole = base64.b64encode(b"\0" * skip + value)
        # Letters that also depend on the bytes before or behind the value are left out.
        first = -(-8 * skip // 6)
        last = (8 * (skip + len(value))) // 6
        found.append(whole[first:last])
    return found


@dataclass
class Scanner:
    """Counts which columns have values that turn up in bytes.

    Attributes
    ----------
    found : dict of str to set of int
        Column to the numbers of its values that were found.
    n_bytes, n_values : int
        Bytes searched, and how many values are searched for.
    """

    least: int
    found: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    n_bytes: int = 0
    n_values: int = 0
    _owners: dict[bytes, list[tuple[str, int]]] = field(default_factory=dict)
    _lengths: dict[int, set[int]] = field(default_factory=dict)
    _windows: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    @classmethod
    def of(cls, columns: Iterable[tuple[str, set[bytes]]], n_bytes: int, legitimate: bytes) -> Scanner:
        """Scanner for the values of columns, but for those that legitimate text contains.

        Of each column at most 200,000 values are searched for.
        """
        groups = [(name, values) for name, values in columns]
        made = cls(shortest(n_bytes, 4 * sum(min(len(values), _MOST) for _, values in groups)))
        for name, values in groups:
            for number, value in enumerate(sorted(values)[:_MOST]):
                if len(set(value)) >= _FEWEST_DIFFERENT:
                    for needle in (value, *in_base64(value)):
                        if len(needle) >= made.least:
                            made._owners.setdefault(needle, []).append((name, number))
        made._index()
        innocent = {owner for needle in made._hits(legitimate) for owner in made._owners[needle]}
        if innocent:
            left = {
                needle: [owner for owner in owners if owner not in innocent] for needle, owners in made._owners.items()
            }
            made._owners = {needle: owners for needle, owners in left.items() if owners}
            made._index()
        made.n_values = len({owner for owners in made._owners.values() for owner in owners})
        return made

    def scan(self, data: bytes) -> None:
        """Look for every value in some bytes."""
        self.n_bytes += len(data)
        for needle in self._hits(data):
            for name, number in self._owners[needle]:
                self.found[name].add(number)

    def _hits(self, data: bytes) -> set[bytes]:
        """The values that some bytes contain."""
        found: set[bytes] = set()
        if not len(self._windows):
            return found
        for begin in range(0, len(data) - _WINDOW + 1, _BLOCK):
            size = min(_BLOCK, len(data) - _WINDOW + 1 - begin)
            windows = np.ndarray((size,), np.dtype("<u8"), data, begin, (1,))
            place = np.minimum(np.searchsorted(self._windows, windows), len(self._windows) - 1)
            for at in np.flatnonzero(self._windows[place] == windows).tolist():
                for length in self._lengths[int(windows[at])]:
                    piece = data[begin + at : begin + at + length]
                    if piece in self._owners:
                        found.add(piece)
        return found

    def _index(self) -> None:
        """Lengths of the values by how they begin."""
        lengths: dict[int, set[int]] = defaultdict(set)
        for needle in self._owners:
            lengths[int.from_bytes(needle[:_WINDOW], "little")].add(len(needle))
        self._lengths = dict(lengths)
        self._windows = np.array(sorted(lengths), np.uint64)
