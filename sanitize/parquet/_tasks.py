"""Count and rewrite some row groups of a Parquet file: what an engine runs on its workers.

A task is a pure function of its rows, the key and the numbers of its rows, so a task that is run again draws the
same noise and writes the same file in place of the first. Nothing is decided here: see `sanitize.parquet._engine`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._files.parquet import ParquetSource, consecutive
from sanitize._files.source import BATCH_ROWS
from sanitize._files.target import new_file
from sanitize._release.first_pass import Counted, count_rows
from sanitize._release.row_order import OrderAudit
from sanitize._sampling.noise import NoiseKey
from sanitize.errors import SourceChanged
from sanitize.ledger import Tally
from sanitize.parquet._parquet_writer import ROW_GROUP_ROWS
from sanitize.parquet._second_pass import Block, SecondPass, block_sizes, write_blocks
from sanitize.parquet._shuffle import shuffled_blocks

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from numpy.typing import NDArray

    from sanitize._release.layout import Layout
    from sanitize._release.release import Release
    from sanitize.ledger import Entry


@dataclass(frozen=True)
class Task:
    """Consecutive row groups of one file.

    Attributes
    ----------
    file : Path
    row_groups : tuple of int
    first, before : int
        Rows before the task in its file, and in the whole source.
    n_rows : int
        Rows that the footer announces.
    number : int
        Place among all tasks.
    """

    file: Path
    row_groups: tuple[int, ...]
    first: int
    before: int
    n_rows: int
    number: int

    def check(self, n_rows: int) -> None:
        """Refuse to go on when other rows were read than announced: the row numbers would be wrong."""
        if n_rows != self.n_rows:
            raise SourceChanged(
                f"{self.file.name} does not hold the rows that its footer announces; nothing was released"
            )


def tasks_of(source: ParquetSource, task_rows: int) -> list[Task]:
    """Tasks of up to ``task_rows`` rows, at least one row group and at least one task a file."""
    tasks: list[Task] = []
    before = 0
    for file in source.files:
        first = 0
        for groups, n_rows in consecutive([rows for _, rows in source.row_groups_of(file)], task_rows):
            tasks.append(Task(file, groups, first, before, n_rows, len(tasks)))
            first += n_rows
            before += n_rows
    return tasks


@dataclass(frozen=True)
class _Slice(ParquetSource):
    """The row groups of one task as a source; whether files changed is for the driver to see."""

    row_groups: tuple[int, ...] = ()

    @classmethod
    def of(cls, source: ParquetSource, task: Task) -> _Slice:
        return cls(source.root, (task.file,), source.schema, source.n_rows, (), source.partitions, task.row_groups)

    def row_groups_of(self, file: Path) -> Sequence[tuple[int, int]]:
        return [group for group in super().row_groups_of(file) if group[0] in self.row_groups]

    def batches(
        self, file: Path, columns: Sequence[str], batch_rows: int = BATCH_ROWS, row_groups: Sequence[int] | None = None
    ) -> Generator[dict[str, Any], None, None]:
        return super().batches(file, columns, batch_rows, self.row_groups if row_groups is None else row_groups)

    def unchanged(self) -> None:
        pass


def without_files(source: ParquetSource) -> ParquetSource:
    """A source for workers: what all tasks share."""
    return replace(source, files=(), _stamps=())


@dataclass(frozen=True)
class Drawn:
    """How often each public symbol was read and each released one drawn."""

    seen: NDArray[np.int64]
    released: NDArray[np.int64]

    def merged(self, other: Drawn) -> Drawn:
        """Sums of both."""
        return Drawn(self.seen + other.seen, self.released + other.released)


@dataclass(frozen=True)
class CountRows:
    """First pass over one task."""

    source: ParquetSource
    layout: Layout
    audits_order: bool

    def __call__(self, task: Task) -> Counted:
        """Contingency table of the rows of a task."""
        order = None
        if self.audits_order:
            order = OrderAudit.of(self.layout.sensitive, self.source.n_rows, self.layout.public, task.before)
        counted = count_rows(_Slice.of(self.source, task), self.layout, BATCH_ROWS, order)
        task.check(counted.table.n)
        return counted


@dataclass(frozen=True)
class CountReleases:
    """Pass for a ledger over one task: what the rows are to each of some releases, and to all together."""

    source: ParquetSource
    entries: tuple[Entry, ...]

    def __call__(self, task: Task) -> Tally:
        """Counts of the rows of a task."""
        tally = Tally.of(self.entries, _Slice.of(self.source, task))
        task.check(tally.singles[0].n)
        return tally


@dataclass(frozen=True)
class RewriteRows:
    """Second pass over one task: draw every row, and write a part of its own or, without a folder, count."""

    source: ParquetSource
    release: Release
    words: NoiseKey = field(repr=False)
    folder: Path | None
    footer: bytes

    def __call__(self, task: Task) -> Drawn:
        """Counts of what was read and drawn; a part that is there already is replaced."""
        passed = SecondPass(_Slice.of(self.source, task), self.release, self.words)
        blocks = passed.blocks(task.file, task.first)
        released = np.zeros(self.release.design.channel.n_outputs, np.int64)
        if self.folder is None:
            for block in blocks:
                released += np.bincount(block.codes, minlength=len(released))
            task.check(int(passed.seen.sum()))
        else:
            path = part_of(self.folder, task.number)
            with new_file(path) as stream:
                write_blocks(stream, path, blocks, passed, self.footer)
                task.check(int(passed.seen.sum()))
        return Drawn(passed.seen, released)


@dataclass(frozen=True)
class ShuffledPart:
    """A run of output rows: what is left to place before it, and the state of the generator that places it."""

    number: int
    start: int
    sizes: tuple[int, ...]
    left: NDArray[np.int64]
    generator: np.random.Generator = field(repr=False)


def shuffled_parts(released: NDArray[np.int64], words: NoiseKey, n_files: int, most: int) -> list[ShuffledPart]:
    """Parts that, one after another, hold the very rows of the single-machine release of ``n_files`` parts.

    The order of the rows comes from one generator, so it is drawn here once; but the parts are printed and
    written, which takes most of the time, by whoever replays the generator from its state.
    """
    n_rows = int(released.sum())
    generator = words.generator()
    runs = [
        (tuple(sizes[i] for i in run), total)
        for sizes in _sizes_of_files(n_rows, n_files)
        for run, total in consecutive(sizes, most)
    ]
    blocks = shuffled_blocks(released, generator, [size for sizes, _ in runs for size in sizes])
    left = released.astype(np.int64)
    parts: list[ShuffledPart] = []
    start = 0
    for sizes, total in runs:
        parts.append(ShuffledPart(len(parts), start, sizes, left, copy.deepcopy(generator)))
        start += total
        if start == n_rows:
            continue  # nobody needs the state after the last row
        for _ in sizes:
            left = left - np.bincount(next(blocks), minlength=len(left))
    return parts


def _sizes_of_files(n_rows: int, n_files: int) -> list[list[int]]:
    """Sizes of the blocks of each part of the single-machine release."""
    sizes = block_sizes(n_rows, n_files)
    bounds = [n_rows * file // n_files for file in range(n_files + 1)]
    counts = [-(-(end - start) // ROW_GROUP_ROWS) for start, end in pairwise(bounds)]
    return [[next(sizes) for _ in range(count)] for count in counts]


@dataclass(frozen=True)
class WriteShuffled:
    """Write one part of the shuffled output; it reads no row."""

    source: ParquetSource
    release: Release
    words: NoiseKey = field(repr=False)
    folder: Path
    footer: bytes

    def __call__(self, part: ShuffledPart) -> Drawn:
        """How many rows were written; a part that is there already is replaced."""
        passed = SecondPass(self.source, self.release, self.words)
        # A copy, because the same part may be written again.
        blocks = shuffled_blocks(part.left, copy.deepcopy(part.generator), part.sizes)
        starts = (part.start + np.cumsum((0, *part.sizes[:-1]))).tolist()
        printed = (Block(codes, self.words, start) for start, codes in zip(starts, blocks, strict=False))
        path = part_of(self.folder, part.number)
        with new_file(path) as stream:
            write_blocks(stream, path, printed, passed, self.footer)
        return Drawn(np.zeros(0, np.int64), np.array([sum(part.sizes)]))


def part_of(folder: Path, number: int) -> Path:
    """File of a part; names sort like the numbers."""
    return folder / f"part-{number:05d}.parquet"
