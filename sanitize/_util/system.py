"""Services of the operating system: threads, file locks, folders on disk, the file mask, delayed signals.

On Windows, locks do not survive renaming and open files cannot be renamed; files left by a killed run stay there until
somebody deletes them.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar

from sanitize._util.checks import whole_number

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

# Windows has no fcntl; there, unfinished files are not locked, and no file is renamed while it is open.
HAS_LOCKS = fcntl is not None
# Without this flag, Windows writes two bytes for a line end; other systems lack it.
BINARY = getattr(os, "O_BINARY", 0)
Item = TypeVar("Item")
Result = TypeVar("Result")
# Ctrl-C and the signal by which schedulers end a process; all others are rare, or cannot be deferred.
_STOPS = (signal.SIGINT, signal.SIGTERM)


def n_workers(workers: int | None) -> int:
    """Return the number of threads: the requested number, or one for each core that this process may use."""
    if workers is not None:
        return whole_number("workers", workers, 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Generator[Result, None, None]:
    """Apply ``work`` to every item in threads; the results keep the order of the items.

    Arrow and NumPy release the interpreter's lock while they read, look up and count, so threads are enough. The
    outcome does not depend on the number of threads, because results and errors are taken in order.

    At most ``workers`` + 1 items are in work, or done and not yet taken. So a thread that has finished can go on while
    the next item is read, and memory does not grow with the number of items.
    """
    if workers == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                done = [waiting.popleft().result()] if len(waiting) > workers else []
                # The copied context lets listeners to progress hear from the threads too.
                waiting.append(pool.submit(copy_context().run, work, item))
                yield from done  # the next item is in work before this result is used
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()


def take_lock(descriptor: int) -> bool:
    """Try to lock an unfinished file or folder until this process ends; return whether that succeeded."""
    try:
        if HAS_LOCKS:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return HAS_LOCKS


def wait_for_lock(descriptor: int) -> None:
    """Wait until no other process holds the lock of a file, and hold it until this process ends."""
    if HAS_LOCKS:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    import msvcrt

    while True:
        with contextlib.suppress(OSError):  # LK_LOCK gives up after ten tries, one per second
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
            return


def sync_folder(folder: Path) -> None:
    """Flush a folder's names to disk, if the system can open folders."""
    if not HAS_LOCKS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def umask() -> int:
    """Return the file mask of this process, if possible without changing it for a moment."""
    with contextlib.suppress(OSError):
        state = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
        if match := re.search(r"^Umask:\s*([0-7]+)$", state, re.MULTILINE):
            return int(match[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until the block has ended; the block should be short.

    Python runs handlers in its main thread only, so no other thread is interrupted. A signal without a Python handler
    ends the process at once.
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
