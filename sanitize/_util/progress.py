"""Progress of long work, shown on standard error by tqdm, which only this module imports.

Work in steps reports through `progress`. Work on rows calls `begin` before each pass, with the number of rows, and
`advance` after each batch. `notify_rows` passes both on to a caller's functions, as `show_progress` does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Listener = Callable[[int], object]
Starter = Callable[[int | None], object]
# Layout of tqdm for a pass whose rows are known; without their number there is neither a share nor a time left.
_ROWS = "{desc}: {percentage:.0f} % of {total_fmt}, {elapsed} gone, about {remaining} left"


def _unheard(n_rows: int | None) -> None:
    """Ignore progress; used if no listener is set."""


# A context variable, because calls in several threads may report to different listeners.
_HEARD: ContextVar[tuple[Listener, Starter]] = ContextVar("heard", default=(_unheard, _unheard))


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[str], None]]:
    """Yield a function to call after every step with a description of the state of the work.

    If the total number of steps is given, the remaining time is shown.
    """
    layout = "{desc}: {n} steps, {elapsed}{postfix}"
    if total is not None:
        layout = "{desc}: {n_fmt} of {total_fmt}, {elapsed} gone, about {remaining} left{postfix}"
    with _bar(desc=title, total=total, bar_format=layout) as bar:

        def step(state: str) -> None:
            if bar is not None:
                bar.set_postfix_str(state, refresh=False)
                bar.update()

        yield step


@contextmanager
def show_progress() -> Iterator[None]:
    """Show how many rows of each pass are done, and the remaining time if the number of rows is known."""
    with _bar(desc="rows", unit="", unit_scale=True, ascii=True, ncols=60) as bar:
        if bar is None:
            yield
            return

        def start(n_rows: int | None) -> None:
            bar.bar_format = None if n_rows is None else _ROWS
            bar.reset(n_rows)

        with notify_rows(bar.update, start):
            yield


@contextmanager
def notify_rows(listener: Listener, starter: Starter = _unheard) -> Iterator[None]:
    """Call ``listener`` with the row count of each batch, and ``starter`` with that of each pass, None if unknown."""
    token = _HEARD.set((listener, starter))
    try:
        yield
    finally:
        _HEARD.reset(token)


def begin(n_rows: int | None) -> None:
    """Report that a pass over this many rows begins; None if their number is unknown."""
    _HEARD.get()[1](n_rows)


def advance(n_rows: int) -> None:
    """Report this many rows as done."""
    _HEARD.get()[0](n_rows)


@contextmanager
def _bar(**settings: Any) -> Iterator[Any]:
    """Yield a tqdm bar that appears only in slow runs; None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm  # loaded only if a bar is shown

    with tqdm(**settings, delay=2.0, file=sys.stderr, leave=False) as bar:
        yield bar
