"""Where systems differ: locks of files, folders on disk, the mask of new files, and stops that wait for a step to end.

Windows has no locks that another name leaves in place, and renames nothing that is open: there, what a killed run left
stays until it is taken away by hand.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None
BINARY = getattr(os, "O_BINARY", 0)  # without it Windows writes two bytes for the end of a line
_STOPS = (signal.SIGINT, signal.SIGTERM)


def take_lock(descriptor: int) -> bool:
    """Whether the lock of an unfinished file or folder is now ours; it goes when the process does."""
    try:
        if HAS_LOCKS:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return HAS_LOCKS


def wait_for_lock(descriptor: int) -> None:
    """Take the lock of a file as soon as nobody else has it; it goes when the process does."""
    if HAS_LOCKS:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    import msvcrt

    while True:
        with contextlib.suppress(OSError):  # it gives up after ten tries, a second each
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
            return


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, where folders can be opened."""
    if not HAS_LOCKS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def umask() -> int:
    """What new files of this process are not open to, read without a moment in which it is something else."""
    with contextlib.suppress(OSError):
        state = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"^Umask:\s*([0-7]+)$", state, re.MULTILINE):
            return int(found[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put Ctrl-C and SIGTERM off until the block has ended; it must be short.

    Python runs handlers in its main thread only, so no other thread is interrupted. A signal that is not handled in
    Python ends the process, which nothing can put off.
    """
    is_main = threading.current_thread() is threading.main_thread()
    came: list[tuple[int, Any]] = []
    handlers = {number: handler for number in _STOPS if is_main and callable(handler := signal.getsignal(number))}
    try:
        for number in handlers:
            signal.signal(number, lambda *call: came.append(call))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for first, frame in came[:1]:
            handlers[signal.Signals(first)](first, frame)
