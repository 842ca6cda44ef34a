"""Two bounded-memory passes over Parquet: count, then rewrite."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import numpy as np
import pyarrow as pa

from sanitize._parquet_source import BATCH_ROWS, ParquetSource
from sanitize._parquet_target import ROW_GROUP_ROWS, ReleaseWriter, Target, new_file, released_schema, summary, writing
from sanitize._random import GeneratorWords, KeyedWords, RandomWords, random_words
from sanitize._release import Layout
from sanitize._shuffle import shuffled_blocks
from sanitize.channel import Channel
from sanitize.errors import InvalidParameter, SourceChanged
from sanitize.report import LeakageReport, ReleaseFacts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sanitize._release import Release
    from sanitize.joint import ContingencyTable
    from sanitize.transformers import Sanitizer

Rows = Literal["shuffle", "keep"]


def privatize_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    rows: Rows = "shuffle",
    key: bytes | None = None,
    force: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> LeakageReport:
    """Release a Parquet file or data set: count, design, check, rewrite.

    The sanitizer is fitted on the source. Nothing is written unless the designed channel is within its budget,
    and the target appears whole or not at all. The output holds the released columns and nothing else of the
    source: no other column, metadata, index, unused dictionary value or statistics of raw values.

    Parameters
    ----------
    source : path
        A Parquet file, or a folder whose ``*.parquet`` files have one schema.
    target : path
        A file, or for a folder source a folder of neutrally named parts (a name ending in .parquet makes one
        file of it).
    sanitizer : Sanitizer
        An estimator of `sanitize.transformers`; it is fitted in place.
    rows : {"shuffle", "keep"}
        Row order can tell S (a file sorted by it), so rows are shuffled; ``keep`` keeps their order.
    key : bytes, optional
        256-bit key of the noise. The same key and source give the same draws in any batch size. By default a
        fresh key from the operating system, which is then forgotten.
    force : bool
        Replace a target that exists.
    batch_rows : int
        Rows held in memory at a time; the output does not depend on it.

    Returns
    -------
    LeakageReport

    Raises
    ------
    BudgetExceeded
        If the channel exceeds the budget; nothing is written.
    SourceError, TargetError, ColumnError
        If the input cannot be read, the output not written, or a column does not fit.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> sz.datasets.load_titanic().to_parquet(folder / "raw.parquet")
    >>> sanitizer = SubsetMerging(sz.LiftBudget(1.0, 0.7), sensitive="survived", public=["class", "sex"])
    >>> sz.privatize_parquet(folder / "raw.parquet", folder / "released.parquet", sanitizer)
    LeakageReport(subset merging, within budget)
    """
    if rows not in ("shuffle", "keep"):
        raise InvalidParameter(f"rows must be 'shuffle' or 'keep', got {rows!r}")
    if batch_rows < 1:
        raise InvalidParameter(f"batch_rows must be at least 1, got {batch_rows}")
    opened = ParquetSource.open(source)
    place = Target.check(target, Path(source), force=force)
    release, counts = _fit(opened, sanitizer, batch_rows)
    words = random_words(sanitizer.random_state if key is None else key)
    passed = _SecondPass(opened, release, counts, words, batch_rows)
    footer = summary(sanitizer.report_, rows)
    if place.as_folder:
        with place.parts(len(opened.files)) as paths:
            for path, codes in zip(paths, passed.parts(rows), strict=True):
                with new_file(path) as stream:
                    _write(stream, path, codes, passed, footer)
            passed.verify()
    else:
        with new_file(place.path) as stream:
            _write(stream, place.path, chain.from_iterable(passed.parts(rows)), passed, footer)
            passed.verify()
    return sanitizer.report_


def plan_parquet(
    source: str | os.PathLike[str], sanitizer: Sanitizer, *, batch_rows: int = BATCH_ROWS
) -> LeakageReport:
    """Design and measure what `privatize_parquet` would write, and write nothing.

    Parameters
    ----------
    source : path
    sanitizer : Sanitizer
        Fitted in place.
    batch_rows : int

    Returns
    -------
    LeakageReport

    Raises
    ------
    BudgetExceeded
        If the channel exceeds the budget.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.transformers import Watchdog
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "raw.parquet"
    >>> sz.datasets.load_titanic().to_parquet(file)
    >>> plan_parquet(file, Watchdog(1.0, sensitive="survived", public=["class", "sex"]))
    LeakageReport(watchdog, within budget)
    """
    _fit(ParquetSource.open(source), sanitizer, batch_rows)
    return sanitizer.report_


def audit_parquet(
    source: str | os.PathLike[str],
    sensitive: Sequence[str],
    public: Sequence[str],
    *,
    batch_rows: int = BATCH_ROWS,
) -> LeakageReport:
    """What the public columns of a Parquet file or data set tell about the sensitive ones as they are.

    Parameters
    ----------
    source : path
    sensitive, public : sequence of str
    batch_rows : int

    Returns
    -------
    LeakageReport
        Without a budget: it only measures.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "raw.parquet"
    >>> sz.datasets.load_titanic().to_parquet(file)
    >>> round(audit_parquet(file, ["survived"], ["class", "sex"]).summary["max_log_lift"], 3)
    1.102
    """
    opened = ParquetSource.open(source)
    layout = Layout(tuple(sensitive), tuple(public))
    counts = _count(opened, layout, batch_rows)[0]
    layout.check_distinct(counts)
    joint = counts.to_joint()
    channel = Channel.identity(len(joint.public), joint.public)
    return LeakageReport.measure(joint, channel, facts=ReleaseFacts(mechanism="audit"))


def _fit(opened: ParquetSource, sanitizer: Sanitizer, batch_rows: int) -> tuple[Release, ContingencyTable]:
    """Counting pass, and the sanitizer fitted on it."""
    if sanitizer.keep_sensitive:
        raise InvalidParameter("keep_sensitive=True cannot be released to a file; drop it")
    bins = sanitizer.bins
    if isinstance(bins, (int, np.integer)) or any(isinstance(b, (int, np.integer)) for b in (bins or {}).values()):
        raise InvalidParameter("quantile bins need the whole column in memory: declare edges to release a file")
    fields = {field.name: field for field in opened.schema}
    table: list[ContingencyTable] = []

    def count(layout: Layout) -> tuple[ContingencyTable, dict[str, int]]:
        counted, clipped = _count(opened, layout, batch_rows)
        table.append(counted)
        return counted, clipped

    sanitizer._fit_counted(pa.schema(list(fields.values())).empty_table(), count)
    return sanitizer._release, table[0]


def _count(
    opened: ParquetSource, layout: Layout, batch_rows: int
) -> tuple[ContingencyTable, dict[str, int]]:
    """Contingency table of all files, and how many values were clipped a column."""
    names = list(dict.fromkeys((*layout.sensitive, *layout.public)))
    opened.check(names)
    counts = layout.empty_table()
    clipped: Counter[str] = Counter()
    for file in opened.files:
        for batch in opened.batches(file, names, batch_rows):
            columns = layout.columns(batch)
            counts.count(columns)
            clipped.update(columns.clipped)
    opened.unchanged()
    return counts, dict(clipped)


class _SecondPass:
    """Released codes of every row, in blocks of one row group, and the check that nothing changed."""

    def __init__(
        self,
        opened: ParquetSource,
        release: Release,
        counts: ContingencyTable,
        words: RandomWords,
        batch_rows: int,
    ) -> None:
        self._opened = opened
        self._expected = counts.counts.sum(axis=0)
        self._seen = np.zeros_like(self._expected)
        self.words = words
        self._batch_rows = batch_rows
        self.release = release

    @property
    def schema(self) -> pa.Schema:
        """Columns of the source."""
        return self._opened.schema

    def parts(self, rows: Rows) -> Iterator[Iterator[Block]]:
        """Blocks of each part of the output; one part a file of the source."""
        if rows == "keep":
            for file in self._opened.files:
                yield self._blocks(file)
            return
        totals = np.zeros(self.release.design.channel.n_outputs, np.int64)
        for file in self._opened.files:
            for block in self._blocks(file):
                totals += np.bincount(block.codes, minlength=len(totals))
        n_parts, n_rows = len(self._opened.files), int(totals.sum())
        words = self.words
        generator = words.generator() if isinstance(words, KeyedWords) else cast(GeneratorWords, words).generator
        blocks = shuffled_blocks(totals, generator, _sizes(n_rows, n_parts))
        start = 0
        shuffled = words.derive("shuffled") if isinstance(words, KeyedWords) else words
        for part in range(n_parts):
            size = n_rows * (part + 1) // n_parts - n_rows * part // n_parts
            yield self._shuffled_part(blocks, size, shuffled, start)
            start += size

    def _shuffled_part(
        self, blocks: Iterator[NDArray[np.int32]], size: int, words: RandomWords, start: int
    ) -> Iterator[Block]:
        end = start + size
        while start < end:
            codes = next(blocks)
            yield Block(codes, words, start)
            start += len(codes)

    def _blocks(self, file: Path) -> Iterator[Block]:
        """Released codes of one file in source order; they depend on the key and the row number only."""
        label = self._opened.label(file)
        words = self.words.derive(label) if label and isinstance(self.words, KeyedWords) else self.words
        channel = self.release.design.channel
        held: list[NDArray[np.int32]] = []
        n_held, start, row = 0, 0, 0
        for batch in self._opened.batches(file, list(self.release.layout.public), self._batch_rows):
            codes, n_unseen = self.release.encode(batch)
            if n_unseen:
                raise SourceChanged(f"{file.name} changed while it was being read; nothing was released. Run again")
            self._seen += np.bincount(codes, minlength=len(self._seen))
            released = channel.sample(codes, words, start=row)
            row += len(codes)
            while n_held + len(released) >= ROW_GROUP_ROWS:
                cut = ROW_GROUP_ROWS - n_held
                yield Block(np.concatenate([*held, released[:cut]]), words, start)
                held, n_held, released, start = [], 0, released[cut:], start + ROW_GROUP_ROWS
            held.append(released)
            n_held += len(released)
        if n_held:
            yield Block(np.concatenate(held), words, start)

    def verify(self) -> None:
        """Refuse the release when the second pass did not see the rows of the first."""
        self._opened.unchanged()
        if not np.array_equal(self._seen, self._expected):
            raise SourceChanged("the source changed while it was being read; nothing was released. Run again")


@dataclass(frozen=True)
class Block:
    """Released codes of consecutive output rows, and where the noise of printing them comes from."""

    codes: NDArray[np.int32]
    words: RandomWords
    start: int


def _sizes(n_rows: int, n_parts: int) -> Iterator[int]:
    """Rows of each block, when every part is cut into row groups."""
    for part in range(n_parts):
        left = n_rows * (part + 1) // n_parts - n_rows * part // n_parts
        while left:
            size = min(left, ROW_GROUP_ROWS)
            yield size
            left -= size


def _write(stream: BinaryIO, path: Path, blocks: Iterator[Block], passed: _SecondPass, footer: bytes) -> None:
    """Print blocks into a new Parquet file."""
    writer: ReleaseWriter | None = None
    for block in blocks:
        columns = passed.release.decode(block.codes, block.words, block.start)
        with writing(path):
            if writer is None:
                writer = ReleaseWriter(stream, released_schema(passed.schema, columns), footer)
            writer.write(columns)
    with writing(path):
        if writer is None:
            columns = passed.release.decode(np.empty(0, np.int32), passed.words, 0)
            writer = ReleaseWriter(stream, released_schema(passed.schema, columns), footer)
        writer.close()
