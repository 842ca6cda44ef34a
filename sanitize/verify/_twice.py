"""Rows that are looked at several times, kept where a byte or two a row hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from sanitize._files.kept import KeptRows
    from sanitize.joint import ContingencyTable

    Codes = NDArray[np.int32]

# Bytes of the rows or codes of a table that are kept; what is beyond is read again.
MOST_BYTES = 1 << 25


@dataclass(frozen=True)
class SourceCounts:
    """Counts of a source, and those of its rows that need not be read again."""

    table: ContingencyTable
    kept: KeptRows


def read_once(read: Callable[[], Iterator[Codes]], n_codes: int) -> Callable[[], Iterator[Codes]]:
    """A way to read blocks of codes, -1 among them, that remembers them where they are few enough."""
    dtype = np.min_scalar_type(-max(n_codes, 1))
    held: list[NDArray[np.signedinteger]] | None = None

    def blocks() -> Iterator[Codes]:
        nonlocal held
        if held is not None:
            yield from (block.astype(np.int32) for block in held)
            return
        kept: list[NDArray[np.signedinteger]] = []
        room = MOST_BYTES
        for block in read():
            room -= len(block) * dtype.itemsize
            if room >= 0:
                kept.append(block.astype(dtype))
            else:
                kept.clear()
            yield block
        if room >= 0:
            held = kept

    return blocks
