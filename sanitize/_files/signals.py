"""Steps that an interruption may come before or after, but not between."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_STOPS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put Ctrl-C and SIGTERM off until the block has ended; it must be short.

    Python runs handlers in its main thread only, so no other thread is interrupted. A signal that is not handled in
    Python ends the process, which nothing can put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, Any]] = []
    handlers = {number: handler for number in _STOPS if callable(handler := signal.getsignal(number))}
    try:
        for number in handlers:
            signal.signal(number, lambda *call: came.append(call))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for first, frame in came[:1]:
            handlers[signal.Signals(first)](first, frame)
