"""Rows read so far, on standard error, for somebody who waits at a terminal."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from sanitize._progress import told

if TYPE_CHECKING:
    from collections.abc import Iterator

# Quick runs print nothing.
_SECONDS = 2.0


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Show progress of what is read inside the block, if tqdm is there and standard error is a terminal."""
    bar_of = _tqdm() if sys.stderr.isatty() else None
    if bar_of is None:
        yield
        return
    with (
        bar_of(
            desc="rows read",
            unit="",
            unit_scale=True,
            delay=_SECONDS,
            file=sys.stderr,
            leave=False,
            ascii=True,
            ncols=60,
        ) as bar,
        told(bar.update),
    ):
        yield


def _tqdm() -> type | None:
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return None
    return tqdm
