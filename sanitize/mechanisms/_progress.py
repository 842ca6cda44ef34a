"""A progress line on stderr: for a terminal only, after two seconds, and only where tqdm is installed."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
