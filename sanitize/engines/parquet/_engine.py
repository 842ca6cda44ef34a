"""Release by tasks that workers run: planning, merging, design, checks, and moving the complete target into place.

An engine provides one thing: a way to call a function on each of many tasks, anywhere and possibly more than once,
and to merge the results.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from sanitize._util.checks import whole_number
from sanitize._util.outputs import outputs
from sanitize._util.sampling.noise import NoiseKey, hidden, random_words
from sanitize.engines.parquet._second_pass import check_same_rows, draw_counts, part_path
from sanitize.engines.parquet._tasks import (
    Task,
    count_releases,
    count_rows,
    list_tasks,
    make_parts,
    rewrite_rows,
    worker_source,
    write_shuffled,
)
from sanitize.errors import TargetError
from sanitize.over_time import CountedElsewhere, as_ledger
from sanitize.release.designer import Prepared, check_designer
from sanitize.release.first_pass import RowCounts, TableCounter, check_row_order
from sanitize.tables.files.open import Target
from sanitize.tables.files.parquet import ParquetSource
from sanitize.tables.frame import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sanitize.over_time import Entry, Ledger, Tally
    from sanitize.release.first_pass import RowOrder
    from sanitize.release.layout import Layout
    from sanitize.release.release import FittedRelease
    from sanitize.report import LeakageReport
    from sanitize.transformers import Sanitizer

# Rows of a task: enough to outweigh its start, few enough to be repeated after a failure.
TASK_ROWS = 1 << 23


class Mergeable(Protocol):
    """Result of a task that can be merged with other results."""

    def merge(self, outcome: Any, /) -> Any:
        """Return both results merged; neither result is changed."""


Item = TypeVar("Item")
Outcome = TypeVar("Outcome", bound=Mergeable)


def merge_all(outcomes: Iterable[Outcome]) -> Outcome:
    """Merge the results of at least one task."""
    return reduce(lambda left, right: left.merge(right), outcomes)


class Engine(Protocol):
    """Interface of engines, which run tasks."""

    def run(self, work: Callable[[Item], Outcome], items: Sequence[Item], name: str) -> Outcome:
        """Run ``work`` on every item and merge the results; only ``name`` may be shown to people."""


def release_by_tasks(
    engine: Engine,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    rows: RowOrder,
    key: bytes | None,
    force: bool,
    task_rows: int,
    ledger: Ledger | str | os.PathLike[str] | None,
) -> LeakageReport:
    """Release into a folder of parts as `sanitize.release_file` does, with both passes run by an engine."""
    key = hidden(key)
    check_row_order(rows)
    whole_number("task_rows", task_rows, 1)
    check_designer(sanitizer, "a release by many workers needs an estimator")
    shared_noise_key(sanitizer, key)  # refuse these before any row is read
    table = ParquetSource.open(Path(source).absolute())
    path = Path(target).absolute()
    if path.suffix.lower() in (".parquet", ".csv"):
        raise TargetError(f"{path.name} names a file, but workers write a folder of parts; leave out {path.suffix}")
    place = Target.check(path, table.root, force=force, as_folder=True)
    book = None if ledger is None else as_ledger(ledger)
    tasks = list_tasks(table, task_rows)
    first = _FirstPassByTasks(table, engine=engine, tasks=tasks)
    prepared = sanitizer.prepare(first, rows, key=key)
    together = None
    with contextlib.ExitStack() as stack:
        if book is not None:  # the driver records the release, because workers may run a task twice
            spending = book.spending(CountedElsewhere(first.tally), sanitizer, key=key, target=place.path)
            together = stack.enter_context(spending)
        # Workers get the key, but neither the report nor counts.
        words, bare = prepared.words.for_workers(), prepared.release
        shared = worker_source(table), Prepared(bare, np.zeros(0, np.int64), words, None, prepared.footer)
        if rows == "keep":  # each task draws and writes its rows
            with _parts(place, len(tasks)) as folder:
                written = engine.run(partial(rewrite_rows, *shared, folder), tasks, "rewrite")
                check_same_rows(table, written.rows, prepared.expected)
        else:  # the driver draws all codes, and tasks write them in their new order
            released = draw_counts(prepared.release.channel, prepared.expected, words.derive("drawn"))
            parts = make_parts(released, words, len(table.files), task_rows)
            with _parts(place, len(parts)) as folder:
                engine.run(partial(write_shuffled, *shared, folder), parts, "write")
                table.check_unchanged()
    return prepared.report if together is None else prepared.report.with_ledger_count(together)


@dataclass(frozen=True)
class _FirstPassByTasks(TableCounter):
    """First pass over the files of a table, in which workers count the rows.

    Attributes
    ----------
    engine : Engine
    tasks : list of Task
    """

    source: ParquetSource
    engine: Engine = field(kw_only=True)
    tasks: list[Task] = field(kw_only=True)

    def count(self, layout: Layout, order: RowOrder) -> RowCounts:
        """Count all rows, also by position if the rows keep their order."""
        self.source.check(list(dict.fromkeys((*layout.sensitive, *layout.read))))
        audited = self.order_audit(layout, order) is not None
        return self._run(partial(count_rows, worker_source(self.source), layout, audits_order=audited), "count")

    def tally(self, entries: tuple[Entry, ...]) -> Tally:
        """Count the rows for the joint leakage in a ledger."""
        self.source.check(list(dict.fromkeys(n for e in entries for n in (*e.layout.sensitive, *e.layout.read))))
        return self._run(partial(count_releases, worker_source(self.source), entries), "ledger")

    def _run(self, work: Callable[[Task], Outcome], name: str) -> Outcome:
        counted = self.engine.run(work, self.tasks, name)
        self.source.check_unchanged()
        return counted


def shared_noise_key(sanitizer: Sanitizer, key: bytes | None) -> NoiseKey:
    """Return the key of the noise for all workers; a repeated task draws the same rows with it on any worker."""
    key = hidden(key)
    return random_words(sanitizer.recipe().random_state if key is None else key).for_workers()


@contextlib.contextmanager
def _parts(place: Target, n_parts: int) -> Iterator[Path]:
    """Folder for the parts of workers, which gets its name when all parts exist, and is deleted otherwise."""
    place.clear_stale()
    with outputs() as out, out.folder(place.path, replaces=place.replaces) as folder:
        yield folder
        paths, files = {part_path(folder, number) for number in range(n_parts)}, set(folder.iterdir())
        if missing := len(paths - files):
            raise TargetError(
                f"{missing} of {n_parts} parts are not in {folder.parent}: the target must lie where this machine "
                "and all workers write to the same storage; nothing was released"
            )
        for stray in files - paths:  # unfinished parts of killed workers
            stray.unlink()


# ------------------------------------------------------------------------------------ distributed data frames


def partition_words(words: NoiseKey, number: int) -> NoiseKey:
    """Random words for the noise of one partition of a distributed frame."""
    return words.derive(f"partition {number}").for_workers()


def release_frame(release: FittedRelease, frame: Any, words: NoiseKey, start: int = 0) -> Any:
    """Release the next rows of a partition, as a frame of the same kind."""
    table = Table.from_native(frame)
    columns, _ = release.apply(table, words, start)
    return table.rebuild(columns, wide=release.wide(table.whole_types))
