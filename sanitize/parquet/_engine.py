"""The driver of a release by tasks: plan, merge, design, gate, and show the target whole.

An engine brings one thing: a way to call a function on each of many tasks, anywhere and possibly more than once,
and to merge what comes back.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from sanitize._files.parquet import ParquetSource
from sanitize._files.source import BATCH_ROWS
from sanitize._files.target import Target
from sanitize._sampling.noise import NoiseKey, random_words
from sanitize._tables.frame import Table
from sanitize.errors import InvalidParameter, SourceChanged, TargetError, TargetExists
from sanitize.ledger import CountedElsewhere, as_ledger, recorded
from sanitize.parquet._first_pass import fit
from sanitize.parquet._parquet_writer import summary
from sanitize.parquet._tasks import (
    CountReleases,
    CountRows,
    RewriteRows,
    WriteShuffled,
    shuffled_parts,
    tasks_of,
    without_files,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from sanitize._files.source import Source
    from sanitize._release.layout import Layout
    from sanitize._release.release import Release
    from sanitize.joint import ContingencyTable
    from sanitize.ledger import Entry, Ledger, Tally
    from sanitize.parquet._order import OrderAudit
    from sanitize.parquet._second_pass import Rows
    from sanitize.report import LeakageReport
    from sanitize.transformers import Sanitizer

# Rows of a task: enough to outweigh its start, few enough to be done again.
TASK_ROWS = 1 << 23


class Mergeable(Protocol):
    """What a task returns."""

    def merged(self, other: Any, /) -> Any:
        """Both results as one; neither is changed."""
        ...


Item = TypeVar("Item")
Outcome = TypeVar("Outcome", bound=Mergeable)


class Engine(Protocol):
    """A way to run tasks."""

    def run(self, work: Callable[[Item], Outcome], items: Sequence[Item], name: str) -> Outcome:
        """Merged results of ``work`` on every item; ``name`` may be shown to people, the arguments may not."""
        ...


def release_by_tasks(
    engine: Engine,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    rows: Rows,
    key: bytes | None,
    force: bool,
    task_rows: int,
    ledger: Ledger | str | os.PathLike[str] | None,
) -> LeakageReport:
    """The release of `sanitize.privatize_parquet`, its two passes run by an engine, as a folder of parts."""
    if rows not in ("shuffle", "keep"):
        raise InvalidParameter(f"rows must be 'shuffle' or 'keep', got {rows!r}")
    if task_rows < 1:
        raise InvalidParameter(f"task_rows must be at least 1, got {task_rows}")
    words = keyed(sanitizer, key)
    opened = ParquetSource.open(Path(source).absolute())
    place = _folder(Path(target).absolute(), opened.root, force=force)
    book = as_ledger(ledger)
    tasks = tasks_of(opened, task_rows)
    shared = without_files(opened)

    def counting(
        whole: Source, layout: Layout, _: int, order: OrderAudit | None
    ) -> tuple[ContingencyTable, dict[str, int]]:
        whole.check(list(dict.fromkeys((*layout.sensitive, *layout.public))))
        counted = engine.run(CountRows(shared, layout, order is not None), tasks, "count")
        whole.unchanged()
        if order is not None and counted.order is not None:
            order.table.add(counted.order)
        return counted.table, counted.clipped

    def tally(entries: tuple[Entry, ...]) -> Tally:
        opened.check(list(dict.fromkeys(n for e in entries for n in (*e.layout.sensitive, *e.layout.public))))
        counted = engine.run(CountReleases(shared, entries), tasks, "ledger")
        opened.unchanged()
        return counted

    fitted, counts = fit(opened, sanitizer, BATCH_ROWS, rows, counting)
    if key is not None:
        sanitizer.report_ = sanitizer.report_.with_key()
    expected = fitted.expected(counts)
    # An unseen symbol in the second pass means a changed source, whatever the sanitizer does with it elsewhere.
    release = replace(fitted.bare(), handle_unknown="high_risk")
    footer = summary(sanitizer.report_, rows)
    # Recorded here, by the one driver, and not by workers, who may do a task twice.
    with recorded(book, CountedElsewhere(tally), sanitizer, key=key, target=place.path):
        if rows == "keep":
            with _parts(place, len(tasks)) as folder:
                drawn = engine.run(RewriteRows(shared, release, words, folder, footer), tasks, "rewrite")
                _check_same(opened, drawn.seen, expected)
        else:
            drawn = engine.run(RewriteRows(shared, release, words, None, footer), tasks, "draw")
            _check_same(opened, drawn.seen, expected)
            parts = shuffled_parts(drawn.released, words, len(opened.files), task_rows)
            with _parts(place, len(parts)) as folder:
                engine.run(WriteShuffled(shared, release, words.derive("shuffled"), folder, footer), parts, "write")
                opened.unchanged()
    return sanitizer.report_


def keyed(sanitizer: Sanitizer, key: bytes | None) -> NoiseKey:
    """The noise of a release by many workers: any of them must be able to draw any row's again."""
    words = random_words(sanitizer.random_state if key is None else key)
    if not isinstance(words, NoiseKey):
        raise InvalidParameter(
            "workers cannot share a NumPy Generator: leave random_state at None, or give key= 32 bytes"
        )
    return words


def _folder(target: Path, source: Path, *, force: bool) -> Target:
    """Target as a folder of parts, whatever the source is."""
    if target.suffix.lower() in (".parquet", ".csv"):
        raise TargetError(
            f"{target.name} names a file, and workers write a folder of parts; leave out the {target.suffix}"
        )
    try:
        Target.check(target, source, force=False)
    except TargetExists:
        if not force:
            raise
        if not target.is_dir():
            raise TargetError(f"{target} exists and is not a folder; it is left as it is") from None
    return Target(target, as_folder=True)


def _check_same(opened: ParquetSource, seen: Any, expected: Any) -> None:
    """Refuse the release when the second pass did not see the rows of the first."""
    opened.unchanged()
    if not np.array_equal(seen, expected):
        raise SourceChanged("the source changed while it was being read; nothing was released. Run again")


@contextlib.contextmanager
def _parts(place: Target, n_parts: int) -> Iterator[Path]:
    """Folder that workers write parts to; it takes its name when all are there, and goes away otherwise."""
    with place.parts(n_parts) as paths:
        folder = paths[0].parent
        try:
            yield folder
            _tidy(folder, paths)
        except BaseException:
            # A worker may still be writing; under another name the folder is out of its reach.
            gone = folder.with_name(f"{folder.name}.gone")
            with contextlib.suppress(OSError):
                folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
            raise


def _tidy(folder: Path, paths: Sequence[Path]) -> None:
    """Require every part, and take away what killed workers left of theirs."""
    found = set(folder.iterdir())
    missing = len(set(paths) - found)
    if missing:
        raise TargetError(
            f"{missing} of {len(paths)} parts are not in {folder.parent}: the target must lie where this machine "
            "and all workers write to the same storage; nothing was released"
        )
    for stray in found.difference(paths):
        stray.unlink()


# ------------------------------------------------------------------------------------ rows of a data frame


def partition_words(words: NoiseKey, number: int) -> NoiseKey:
    """Noise of one partition of a distributed frame."""
    return words.derive(f"partition {number}")


def release_frame(release: Release, frame: Any, words: NoiseKey, start: int = 0) -> Any:
    """Released columns of the next rows of a partition, as the same kind of frame."""
    table = Table.of(frame)
    columns, _ = release.apply(table, words, start)
    return table.rebuild(columns, wide=release.wide(table.whole_types))
