"""How far a pass over files has come, for whoever asked to be told."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LISTENER: ContextVar[Callable[[int], object] | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def told(listener: Callable[[int], object]) -> Iterator[None]:
    """Call ``listener`` with the number of rows of every batch that is dealt with inside the block."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def advance(n_rows: int) -> None:
    """Some rows are dealt with."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(n_rows)
