"""Work on its way through threads: by several at a time, in order.

Arrow and NumPy release the interpreter's lock while they read, look up and count, so threads are enough. What comes out
does not depend on the number of threads: results are taken in order, and so is the first error.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from sanitize._checks import whole_number

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_workers(workers: int | None) -> int:
    """Threads to use: as many as asked for, or one for each core that this process may run on."""
    if workers is not None:
        return whole_number("workers", workers, 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_turn(work: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Generator[Result, None, None]:
    """``work`` of every item, in their order.

    At most one item more than ``workers`` is in work or done and not yet taken: a thread that is done goes on while the
    next item is made, and memory does not grow with their number.
    """
    if workers == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                done = [waiting.popleft().result()] if len(waiting) > workers else []
                # Whoever listens to progress listens to the threads too.
                waiting.append(pool.submit(copy_context().run, work, item))
                yield from done  # the next one is in work before this one is looked at
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
