"""Tasks that an engine runs on its workers: counting and rewriting some row groups of a Parquet file.

A task is a pure function of its rows, the key and the numbers of its rows, so a task that is run again draws the
same noise and writes the same file in place of the first. The driver in `sanitize.engines.parquet._engine` makes all
decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.outputs import new_file
from sanitize.engines.parquet._second_pass import (
    Block,
    SecondPass,
    arrange,
    block_generator,
    block_sizes,
    compositions,
    part_path,
)
from sanitize.engines.parquet._writers import ROW_GROUP_ROWS
from sanitize.errors import SourceChanged
from sanitize.over_time import Tally
from sanitize.release.first_pass import RowCounts, TableCounter
from sanitize.release.row_order import OrderAudit
from sanitize.tables.files.parquet import ParquetSource, consecutive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.over_time import Entry
    from sanitize.release.designer import Prepared
    from sanitize.release.layout import Layout


@dataclass(frozen=True)
class Task:
    """Consecutive row groups of one file.

    Attributes
    ----------
    file : Path
    row_groups : tuple of int
    first, before : int
        Number of rows before the task in its file, and in the whole source.
    n_rows : int
        Number of rows by the footer.
    number : int
        Position among all tasks.
    """

    file: Path
    row_groups: tuple[int, ...]
    first: int
    before: int
    n_rows: int
    number: int

    def slice(self, source: ParquetSource) -> ParquetSource:
        """Return the source with the row groups of this task only; the driver checks if files changed."""
        return replace(source, files=(self.file,), row_groups=self.row_groups)

    def check(self, n_rows: int) -> None:
        """Refuse to continue if the number of rows read differs from the plan, because row numbers would be wrong."""
        if n_rows != self.n_rows:
            raise SourceChanged(
                f"{self.file.name} has another number of rows than its footer says; nothing was released. Run again"
            )


def list_tasks(source: ParquetSource, task_rows: int) -> list[Task]:
    """Tasks of up to ``task_rows`` rows, with at least one row group each and at least one task per file."""
    tasks: list[Task] = []
    before = 0
    for file in source.files:
        first = 0
        for groups, n_rows in consecutive([rows for _, rows in source.list_row_groups(file)], task_rows):
            tasks.append(Task(file, groups, first, before, n_rows, len(tasks)))
            first += n_rows
            before += n_rows
    return tasks


def worker_source(source: ParquetSource) -> ParquetSource:
    """Return the source without its list of files, to send to workers with their tasks."""
    return replace(source, files=(), _stamps=())


@dataclass(frozen=True)
class Written:
    """Number of rows written, by input symbol if the rows were read."""

    rows: NDArray[np.int64]

    def merge(self, outcome: Written) -> Written:
        """Return the sum of both counts."""
        return Written(self.rows + outcome.rows)


def count_rows(source: ParquetSource, layout: Layout, task: Task, *, audits_order: bool) -> RowCounts:
    """Count the rows of a task in a contingency table, and by position if their order is audited."""
    order = OrderAudit.empty(layout.sensitive, source.n_rows, layout.public) if audits_order else None
    counted = TableCounter(task.slice(source)).count_files(layout, order, task.before)
    task.check(counted.table.n)
    return counted


def count_releases(source: ParquetSource, entries: tuple[Entry, ...], task: Task) -> Tally:
    """Count the symbols of a task's rows for a ledger: for each of some releases, and for all of them jointly."""
    tally = Tally.from_rows(entries, task.slice(source), task.before)
    task.check(tally.singles[0].n)
    return tally


def rewrite_rows(source: ParquetSource, prepared: Prepared[None], folder: Path, task: Task) -> Written:
    """Draw the rows of a task, write them as one part of a folder, and count the rows of each input symbol."""
    passed = SecondPass(TableCounter(task.slice(source)), prepared, before=task.before)
    path = part_path(folder, task.number)
    with new_file(path) as stream:
        passed.print(stream, path, passed.blocks(task.file, task.first))
        task.check(int(passed.seen.sum()))
    return Written(passed.seen)


@dataclass(frozen=True)
class ShuffledPart:
    """Part of the shuffled output, given by the count of each code in each of its blocks.

    Attributes
    ----------
    number, first : int
        Number of the part, and number of its first block.
    start : int
        Number of the first row of the part.
    blocks : tuple of ndarray of int, shape (n_y,)
    """

    number: int
    first: int
    start: int
    blocks: tuple[NDArray[np.int32], ...]


def make_parts(released: NDArray[np.int64], words: NoiseKey, n_files: int, most: int) -> list[ShuffledPart]:
    """Make parts that together have the same rows as a single-machine release with ``n_files`` parts.

    The counts in blocks come from one generator, so they are drawn here. The order within blocks, which takes most of
    the time, is drawn by the workers that write them.
    """
    n_rows = int(released.sum())
    blocks = block_sizes(n_rows, n_files)
    bounds = [n_rows * file // n_files for file in range(n_files + 1)]
    of_files = [[next(blocks) for _ in range(-(-(end - start) // ROW_GROUP_ROWS))] for start, end in pairwise(bounds)]
    runs = [([sizes[i] for i in run], total) for sizes in of_files for run, total in consecutive(sizes, most)]
    drawn = compositions(released, words.generator(), [size for sizes, _ in runs for size in sizes])
    parts: list[ShuffledPart] = []
    first = start = 0
    for sizes, total in runs:
        part_counts = tuple(counts.astype(np.int32) for counts in islice(drawn, len(sizes)))
        parts.append(ShuffledPart(len(parts), first, start, part_counts))
        first, start = first + len(sizes), start + total
    return parts


def write_shuffled(source: ParquetSource, prepared: Prepared[None], folder: Path, part: ShuffledPart) -> Written:
    """Write one part of the shuffled output without reading rows, and count its rows by released symbol."""
    words = prepared.words

    def blocks() -> Iterator[Block]:
        start = part.start
        for number, counts in enumerate(part.blocks, part.first):
            codes = arrange(counts, block_generator(words, number))
            yield Block(codes, words.derive("shuffled"), start)
            start += len(codes)

    path = part_path(folder, part.number)
    with new_file(path) as stream:
        SecondPass(TableCounter(source), prepared).print(stream, path, blocks())
    return Written(np.sum(part.blocks, axis=0, dtype=np.int64))
