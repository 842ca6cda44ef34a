"""The second pass over Parquet: draw, print, write, and check that the source is still the same."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from sanitize._files.source import BATCH_ROWS
from sanitize._files.target import Target, held_back, new_file, writing
from sanitize._sampling.noise import GeneratorWords, NoiseKey, RandomWords
from sanitize.errors import SourceChanged
from sanitize.parquet._csv_writer import CsvWriter
from sanitize.parquet._parquet_writer import ROW_GROUP_ROWS, ReleaseWriter, released_schema
from sanitize.parquet._shuffle import shuffled_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from sanitize._files.source import Source
    from sanitize._release.release import Release
    from sanitize._release.row_order import RowOrder


@dataclass(frozen=True)
class Block:
    """Released codes of consecutive output rows, and where the noise of printing them comes from."""

    codes: NDArray[np.int32]
    words: RandomWords
    start: int


class SecondPass:
    """Released codes of every row, in blocks of one row group, and the check that nothing changed.

    Attributes
    ----------
    release : Release
    words : RandomWords
    seen : ndarray of int, shape (n_x,)
        Rows of each input symbol that were read so far.
    """

    def __init__(self, source: Source, release: Release, words: RandomWords, batch_rows: int = BATCH_ROWS) -> None:
        self._source = source
        self._batch_rows = batch_rows
        self.release = release
        self.words = words
        self.seen = np.zeros(release.design.channel.n_inputs, np.int64)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the source."""
        return self._source.schema

    def parts(self, rows: RowOrder) -> Iterator[Iterator[Block]]:
        """Blocks of each part of the output; one part a file of the source."""
        if rows == "keep":
            for file in self._source.files:
                yield self.blocks(file)
            return
        totals = np.zeros(self.release.design.channel.n_outputs, np.int64)
        for file in self._source.files:
            for block in self.blocks(file):
                totals += np.bincount(block.codes, minlength=len(totals))
        n_parts, n_rows = len(self._source.files), int(totals.sum())
        words = self.words
        generator = words.generator() if isinstance(words, NoiseKey) else cast(GeneratorWords, words).generator
        blocks = shuffled_blocks(totals, generator, block_sizes(n_rows, n_parts))
        start = 0
        shuffled = words.derive("shuffled") if isinstance(words, NoiseKey) else words
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

    def blocks(self, file: Path, first: int = 0) -> Iterator[Block]:
        """Released codes of one file in source order; they depend on the key and the row number only.

        ``first`` is the number in its file of the first row that the source reads.
        """
        label = self._source.label(file)
        words = self.words.derive(label) if label and isinstance(self.words, NoiseKey) else self.words
        channel = self.release.design.channel
        held: list[NDArray[np.int32]] = []
        n_held, start, row = 0, first, first
        for batch in self._source.batches(file, list(self.release.layout.read), self._batch_rows):
            codes, n_unseen = self.release.encode(batch)
            if n_unseen:
                raise SourceChanged(f"{file.name} changed while it was being read; nothing was released. Run again")
            self.seen += np.bincount(codes, minlength=len(self.seen))
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

    def write(self, place: Target | BinaryIO, rows: RowOrder, expected: NDArray[np.int64], footer: bytes) -> None:
        """Second pass into a file, a folder of parts, or a stream; all of it or nothing.

        Parameters
        ----------
        place : Target or binary stream
        rows : {"shuffle", "keep"}
        expected : ndarray of int, shape (n_x,)
            Rows of each input symbol in the first pass; other ones in this pass are refused.
        footer : bytes
            What a Parquet file says about itself.
        """
        if isinstance(place, Target) and place.as_folder:
            with place.parts(len(self._source.files)) as paths:
                for path, codes in zip(paths, self.parts(rows), strict=True):
                    with new_file(path) as stream:
                        write_blocks(stream, path, codes, self, footer)
                check_same_rows(self._source, self.seen, expected)
            return
        blocks = chain.from_iterable(self.parts(rows))
        if isinstance(place, Target):
            place.clear_stale()
            with new_file(place.path, replaces=place.replaces) as stream:
                write_blocks(stream, place.path, blocks, self, footer, as_csv=place.is_csv)
                check_same_rows(self._source, self.seen, expected)
        else:
            with held_back(place) as stream:
                write_blocks(stream, Path("the output stream"), blocks, self, footer, as_csv=True)
                check_same_rows(self._source, self.seen, expected)


def check_same_rows(source: Source, seen: NDArray[np.int64], expected: NDArray[np.int64]) -> None:
    """Refuse the release when the second pass did not see the rows of the first."""
    source.unchanged()
    if not np.array_equal(seen, expected):
        raise SourceChanged("the source changed while it was being read; nothing was released. Run again")


def block_sizes(n_rows: int, n_parts: int) -> Iterator[int]:
    """Rows of each block, when every part is cut into row groups."""
    for part in range(n_parts):
        left = n_rows * (part + 1) // n_parts - n_rows * part // n_parts
        while left:
            size = min(left, ROW_GROUP_ROWS)
            yield size
            left -= size


def write_blocks(
    stream: BinaryIO, path: Path, blocks: Iterator[Block], passed: SecondPass, footer: bytes, *, as_csv: bool = False
) -> None:
    """Print blocks into a new file: Parquet, or CSV."""

    def start(columns: dict[str, pa.Array]) -> ReleaseWriter | CsvWriter:
        schema = released_schema(passed.schema, columns, passed.release)
        return CsvWriter(stream, schema) if as_csv else ReleaseWriter(stream, schema, footer)

    writer: ReleaseWriter | CsvWriter | None = None
    try:
        for block in blocks:
            columns = passed.release.decode(block.codes, block.words, block.start)
            with writing(path):
                writer = writer or start(columns)
                writer.write(columns)
        with writing(path):
            writer = writer or start(passed.release.decode(np.empty(0, np.int32), passed.words, 0))
            writer.close()
    except BaseException:
        if writer is not None:
            writer.abandon()
        raise
