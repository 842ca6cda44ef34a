"""Rows on their way through threads: read by several at a time, in order, and kept where they are read twice.

Arrow and NumPy release the interpreter's lock while they read, look up and count, so threads are enough. What comes out
does not depend on the number of threads: results are taken in order, and so is the first error.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sanitize._checks import whole_number
from sanitize._files.parquet import ParquetSource
from sanitize._files.source import BATCH_ROWS, Load, Source
from sanitize._limits import KEPT_BYTES
from sanitize._progress import advance
from sanitize._tables.columns import all_below
from sanitize._tables.keys import Combined, CombinedRows, n_rows_of
from sanitize.errors import ColumnError

Batch = Mapping[str, pa.Array]


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


@dataclass(eq=False)
class KeptRows:
    """Dictionary columns of the loads of Parquet files, as far as there is room for them.

    Attributes
    ----------
    most_bytes : int
        At 0 nothing is kept.
    """

    most_bytes: int = KEPT_BYTES
    _held: dict[tuple[Path, int], list[Batch]] = field(default_factory=dict, repr=False)
    _n_bytes: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def loads(self, source: Source, file: Path, names: Sequence[str], batch_rows: int = BATCH_ROWS) -> Iterator[Load]:
        """Loads of a file as its source gives them; those that are kept are not read again."""
        keeps = self.most_bytes and isinstance(source, ParquetSource)  # loads of others are read already
        for load in source.loads(file, names, batch_rows):
            batches = partial(self._batches, (file, load.first), load, names) if keeps else load.batches
            yield Load(load.first, load.n_rows, batches)

    def _batches(self, place: tuple[Path, int], load: Load, names: Sequence[str]) -> Iterator[Batch]:
        held = self._held.get(place, [])
        n_held = sum(map(n_rows_of, held))
        if n_held == load.n_rows and all(name in batch for batch in held for name in names):
            for batch in held:
                advance(n_rows_of(batch))
                yield batch
            return
        kept: list[Batch] | None = []
        for batch in load.batches():
            narrow = self._narrow(batch) if kept is not None else None
            kept = None if kept is None or narrow is None else [*kept, narrow]
            yield narrow or batch  # narrow indices are looked at faster
        if kept is not None:
            self._held[place] = kept

    def _narrow(self, batch: Batch) -> Batch | None:
        """What is kept of a batch; None where there is no room, or a column takes too much of it."""
        if self._n_bytes >= self.most_bytes:
            return None
        for column in batch.values():  # a byte or two a row must hold each
            if not (isinstance(column, pa.DictionaryArray) and 0 < len(column.dictionary) <= 1 << 16):
                return None
        with contextlib.suppress(ColumnError):  # of columns that are damaged
            if (combined := Combined.of(batch)) is not None:  # they make few combinations
                return self._taken(CombinedRows(combined), combined.numbers.nbytes)
        narrow: dict[str, Any] = {name: _narrow(column) for name, column in batch.items()}
        if any(column is None for column in narrow.values()):
            return None
        return self._taken(narrow, sum(column.nbytes for column in narrow.values()))

    def _taken(self, batch: Batch, n_bytes: int) -> Batch:
        with self._lock:
            self._n_bytes += n_bytes
        return batch


NOTHING_KEPT = KeptRows(0)


def _narrow(column: pa.DictionaryArray) -> pa.Array | None:
    """A dictionary column with indices of a byte or two; None for one that is damaged."""
    dtype = np.min_scalar_type(len(column.dictionary) - 1)
    missing = column.indices.is_null().to_numpy(zero_copy_only=False) if column.indices.null_count else None
    numbers = (column.indices if missing is None else column.indices.fill_null(0)).to_numpy()
    # An index that points past the dictionary must not be cut to one that does not.
    if not all_below(numbers, len(column.dictionary)):
        return None
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(dtype), mask=missing), column.dictionary, safe=False)
