"""How far long work has come, on standard error: the one place that imports tqdm.

Work of steps reports through `progress`. Work on rows calls `advance`, wherever it is, and whoever wants to know
listens with `told` around it, as `shown` does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

_LISTENER: ContextVar[Callable[[int], object] | None] = ContextVar("listener", default=None)


def progress(title: str) -> AbstractContextManager[Callable[[str], None]]:
    """Function to call inside the block after every step, with the state of the work in words."""
    return _stepping(desc=title, bar_format="{desc}: {n} steps, {elapsed}{postfix}")


def counted(title: str, total: int) -> AbstractContextManager[Callable[[str], None]]:
    """Function to call inside the block after each of ``total`` steps, with its name; shows the time that is left."""
    layout = "{desc}: {n_fmt} of {total_fmt}, {elapsed} gone, about {remaining} left{postfix}"
    return _stepping(desc=title, total=total, bar_format=layout)


@contextmanager
def _stepping(**layout: Any) -> Iterator[Callable[[str], None]]:
    with _bar(**layout) as bar:

        def step(state: str) -> None:
            if bar is not None:
                bar.set_postfix_str(state, refresh=False)
                bar.update()

        yield step


@contextmanager
def shown() -> Iterator[None]:
    """Show how many rows are dealt with inside the block."""
    with _bar(desc="rows", unit="", unit_scale=True, ascii=True, ncols=60) as bar:
        if bar is None:
            yield
            return
        with told(bar.update):
            yield


@contextmanager
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


@contextmanager
def _bar(**settings: Any) -> Iterator[Any]:
    """A bar of tqdm, which quick runs never see; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm  # nobody else pays for loading it

    with tqdm(**settings, delay=2.0, file=sys.stderr, leave=False) as bar:
        yield bar
