"""Rows that are looked at several times, kept where a byte or two a row hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._tables.combined import CombinedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from sanitize._files.kept import KeptRows
    from sanitize.joint import ContingencyTable

    Codes = NDArray[np.signedinteger]

# Bytes of the rows or codes of a table that are kept; what is beyond is read again.
MOST_BYTES = 1 << 25


@dataclass(frozen=True)
class SourceCounts:
    """Counts of a source, and those of its rows that need not be read again."""

    table: ContingencyTable
    kept: KeptRows


def type_of_codes(n_codes: int) -> np.dtype[np.signedinteger]:
    """The narrowest type of so many codes, of -1 and of one more than the largest."""
    return np.min_scalar_type(-n_codes - 1)


def read_once(read: Callable[[], Iterator[Codes]], n_codes: int) -> Callable[[], Iterator[Codes]]:
    """A way to read blocks of codes, -1 among them, that remembers them where they are few enough."""
    dtype = type_of_codes(n_codes)
    held: list[Codes] | None = None

    def blocks() -> Iterator[Codes]:
        nonlocal held
        if held is not None:
            yield from held
            return
        kept: list[Codes] = []
        room = MOST_BYTES
        for block in read():
            narrow = block.astype(dtype, copy=False)
            room -= narrow.nbytes
            if room >= 0:
                kept.append(narrow)
            else:
                kept.clear()
            yield narrow
        if room >= 0:
            held = kept

    return blocks


def codes_of_each(
    batch: Mapping[str, Any], codes: Callable[[Mapping[str, Any]], tuple[Codes, ...]]
) -> tuple[Codes, ...]:
    """Codes of each row of some columns; those of kept combinations are looked at once each, and narrow."""
    if not isinstance(batch, CombinedRows):
        return codes(batch)
    combined, found = batch.combined, []
    present = np.flatnonzero(combined.counts)
    for own in codes(combined.table(present)):
        table = np.zeros(combined.n, type_of_codes(int(own.max(initial=0)) + 1))
        table[present] = own
        found.append(combined.spread(table))
    return tuple(found)
