"""How far a pass over files has come, for whoever asked to be told."""

from __future__ import annotations

import contextlib
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any

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


_DELAY = 2.0


@contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """Context that gives a function to call with the state of a long run, in words."""
    try:
        tqdm: Any = import_module("tqdm").tqdm
    except ImportError:
        yield lambda _state: None
        return
    # disable=None is tqdm's word for "unless stderr is a terminal".
    with tqdm(
        desc=title, disable=None, delay=_DELAY, leave=False, bar_format="{desc}: {n} steps, {elapsed}{postfix}"
    ) as bar:

        def show(state: str) -> None:
            bar.set_postfix_str(state, refresh=False)
            bar.update()

        yield show


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
