"""Second pass of a release, which draws, orders, decodes and writes rows, and checks that the input is unchanged.

The output of a channel for a row depends on the row's symbol alone, so shuffled rows need not be read again: a released
symbol is drawn for each counted row, and the order is drawn from the counts of the released symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa

from sanitize._util.limits import FEW_ROWS
from sanitize._util.outputs import STREAM, Outputs, new_file, writing
from sanitize._util.progress import advance, begin
from sanitize._util.sampling.noise import NoiseKey
from sanitize._util.system import ordered_map
from sanitize.engines.parquet._writers import ROW_GROUP_ROWS, CsvWriter, ReleaseWriter, output_schema
from sanitize.errors import SourceChanged
from sanitize.tables.files.open import Target
from sanitize.tables.keys import count, take_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize.core.channel import Channel
    from sanitize.release.designer import Prepared
    from sanitize.release.first_pass import TableCounter

    Counts = NDArray[np.int64]

    from sanitize.release.first_pass import RowOrder
    from sanitize.tables.files.source import Load, Source

# NumPy's hypergeometric sampler only accepts populations below 10**9.
_POPULATION = 10**9 - 1
# Rows drawn at a time, so that a thread needs a few megabytes for its draws whatever the number of rows.
_DRAWN_ROWS = 1 << 20
# Standard deviations by which the expected draws of a symbol stay below its count, so that they rarely exceed it.
_DEVIATIONS = 4


def draw_counts(channel: Channel, rows: Counts, words: NoiseKey, workers: int = 1) -> Counts:
    """Draw the number of rows of each released symbol, given the number of rows of each input symbol, shape (n_y,).

    Inputs with a single output need no draw.
    """
    output: NDArray[Any] = np.arange(len(rows))
    is_sure = np.ones(len(rows), bool)
    for stage in channel.stages:
        is_sure &= np.diff(stage.indptr)[output] == 1
        output = stage.indices[stage.indptr[output]]
    inputs = np.flatnonzero(~is_sure).astype(np.min_scalar_type(len(rows)))
    sizes = rows[inputs]
    ends = np.cumsum(sizes)
    n_rows = int(sizes.sum())
    dtype = np.min_scalar_type(channel.n_outputs)

    def count_block(bounds: tuple[int, int]) -> Counts:
        codes = np.repeat(inputs, np.clip(ends, *bounds) - np.clip(ends - sizes, *bounds))
        drawn = channel.sample(codes, words, start=bounds[0], out=np.empty(len(codes), dtype))
        return count(drawn, channel.n_outputs)

    total = np.zeros(channel.n_outputs, np.int64)
    np.add.at(total, output[is_sure], rows[is_sure])
    for part in ordered_map(count_block, pairwise([*range(0, n_rows, _DRAWN_ROWS), n_rows]), workers):
        total += part
    return total


def shuffle_blocks(counts: Counts, words: NoiseKey, sizes: Iterable[int]) -> Iterator[NDArray[Any]]:
    """Yield codes with given counts in random order, in blocks of given sizes.

    Only one block is in memory, whatever the number of rows.

    Parameters
    ----------
    counts : ndarray of int, shape (n_y,)
        Number of occurrences of each code.
    words : NoiseKey
    sizes : iterable of int
        Number of rows of each block; the sum equals that of the counts.
    """
    for number, left in enumerate(compositions(counts, words.generator(), sizes)):
        yield arrange(left, block_generator(words, number))


def block_generator(words: NoiseKey, number: int) -> np.random.Generator:
    """Make the generator that draws the order of one block, so that any block can be drawn alone."""
    return words.derive(f"order of block {number}").generator()


def compositions(counts: Counts, generator: np.random.Generator, sizes: Iterable[int]) -> Iterator[Counts]:
    """Yield the number of each code in each block of a random order."""
    left = counts.astype(np.int64)
    for size in sizes:
        taken = _composition(left, size, generator)
        left = left - taken
        yield taken


def arrange(counts: NDArray[np.integer[Any]], generator: np.random.Generator) -> NDArray[Any]:
    """Return codes with given counts in uniformly random order.

    All orders of independent draws from one distribution are equally likely, also given the counts of the codes. So
    most places get independent draws, from a distribution that leaves some places open. If a code is drawn more often
    than it occurs, all places are drawn again. The remaining codes go to the open places in random order.
    """
    n_codes, n_rows = len(counts), int(counts.sum())
    codes = np.arange(n_codes + 1, dtype=np.min_scalar_type(n_codes))
    meant = np.maximum(counts - _DEVIATIONS * np.sqrt(counts), 0)
    shares = (meant * (1 << 16) / max(n_rows, 1)).astype(np.int64)
    if n_rows < FEW_ROWS or shares.sum() < 1 << 15:  # more than half of all places would stay open
        rows = np.repeat(codes[:-1], counts)
        generator.shuffle(rows)
        return rows
    table = np.repeat(codes, np.append(shares, (1 << 16) - shares.sum()))
    left = np.array([-1])
    while left.min() < 0:
        quarters = generator.integers(0, 1 << 64, -(-n_rows // 4), dtype=np.uint64)
        rows = take_answers(table, quarters.astype("<u8", copy=False).view("<u2")[:n_rows])
        left = counts - count(rows, n_codes + 1)[:-1]
    rows[np.flatnonzero(rows == n_codes)] = arrange(left, generator)
    return rows


def _composition(left: Counts, size: int, generator: np.random.Generator) -> Counts:
    """Draw how often each code occurs in the next block, given how often it occurs in all remaining rows."""
    total = int(left.sum())
    if size == total:
        return left
    if total <= _POPULATION:
        return generator.multivariate_hypergeometric(left, size, method="marginals")
    # Beyond the sampler's range, a block is a tiny part of the rows. Drawing with replacement, capped at the
    # remaining counts, then differs by less than a thousandth.
    taken = np.minimum(generator.multinomial(size, left / total), left)
    while short := size - int(taken.sum()):
        remaining = left - taken
        taken = np.minimum(taken + generator.multinomial(short, remaining / remaining.sum()), left)
    return taken


@dataclass(frozen=True)
class Block:
    """Released codes of consecutive output rows, their noise for decoding, and their kept columns."""

    codes: NDArray[Any]
    words: NoiseKey
    start: int
    own: Mapping[str, pa.Array] = field(default_factory=dict)

    def cut(self, start: int, end: int) -> Block:
        """Return the rows of the block from ``start`` to before ``end``."""
        own = {name: column[start:end] for name, column in self.own.items()}
        return Block(self.codes[start:end], self.words, self.start + start, own)

    @classmethod
    def join(cls, blocks: Sequence[Block]) -> Block:
        """Join the rows of consecutive blocks; an empty block must be the only one."""
        names = blocks[0].own
        own = {name: pa.concat_arrays([block.own[name] for block in blocks]) for name in names}
        return cls(np.concatenate([block.codes for block in blocks]), blocks[0].words, blocks[0].start, own)


@dataclass(eq=False)
class SecondPass:
    """Released codes of every row, in blocks of one row group, with the check that the input is unchanged.

    Attributes
    ----------
    first : TableCounter
        First pass over the same files; rows that it stored need not be read again.
    prepared : Prepared
        Release and noise for the draws; the number of rows of each symbol must be as expected.
    workers : int
        Threads that draw and decode.
    before : int
        Number of rows in the source before the next file.
    seen : ndarray of int, shape (n_x,)
        Number of rows of each input symbol read so far.
    """

    first: TableCounter
    prepared: Prepared[Any]
    before: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.seen = np.zeros(self.prepared.release.channel.n_inputs, np.int64)

    def parts(self, rows: RowOrder) -> Iterator[Iterator[Block]]:
        """Yield the blocks of each part of the output, with one part per input file."""
        files, expected, words = self.first.source.files, self.prepared.expected, self.prepared.words
        begin(int(expected.sum()))
        if rows == "keep":
            yield from map(self.blocks, files)
            return
        totals = draw_counts(self.prepared.release.channel, expected, words.derive("drawn"), self.first.workers)
        n_parts, n_rows = len(files), int(totals.sum())
        blocks = shuffle_blocks(totals, words, block_sizes(n_rows, n_parts))
        yield from self._even_parts(blocks, n_rows, words.derive("shuffled"))

    def _even_parts(self, blocks: Iterator[NDArray[Any]], n_rows: int, words: NoiseKey) -> Iterator[Iterator[Block]]:
        """Yield one part per input file, all of about the same number of rows, as blocks of shuffled codes."""

        def part_blocks(start: int, end: int) -> Iterator[Block]:
            while start < end:
                codes = next(blocks)
                advance(len(codes))
                yield Block(codes, words, start)
                start += len(codes)

        n_parts = len(self.first.source.files)
        for part in range(n_parts):
            yield part_blocks(n_rows * part // n_parts, n_rows * (part + 1) // n_parts)

    def blocks(self, file: Path, first: int = 0) -> Iterator[Block]:
        """Yield the released codes of one file in input order; noise depends on the key and the row number only.

        ``first`` is the number, within the file, of the first row that the source reads.
        """
        pending: list[Block] = []
        n_held = 0
        for block in self._draw_file(file, first):
            while n_held + len(block.codes) >= ROW_GROUP_ROWS:
                cut = ROW_GROUP_ROWS - n_held
                yield Block.join([*pending, block.cut(0, cut)])
                pending, n_held, block = [], 0, block.cut(cut, len(block.codes))
            pending.append(block)
            n_held += len(block.codes)
        if n_held:
            yield Block.join(pending)

    def _draw_file(self, file: Path, first: int) -> Iterator[Block]:
        """Yield the released rows of each batch of a file, in order."""
        words, release, label = self.prepared.words, self.prepared.release, self.first.source.label(file)
        words, channel = words.derive(label) if label else words, release.channel
        dtype = np.min_scalar_type(max(channel.n_outputs - 1, 0))
        before = self.before

        def draw(numbered: tuple[int, Load]) -> tuple[NDArray[np.int64], Block]:
            (row, load), seen = numbered, np.zeros(channel.n_inputs, np.int64)
            drawn: list[Block] = []
            for batch in load.batches():
                codes, n_unseen = release.encode(batch, first=before + row - first)
                if n_unseen:
                    raise SourceChanged(f"{file.name} changed while it was being read; nothing was released. Run again")
                seen += count(codes, channel.n_inputs)
                released = channel.sample(codes, words, start=row, out=np.empty(len(codes), dtype))
                drawn.append(Block(released, words, row, release.own_values(batch)))
                row += len(codes)
            return seen, Block.join(drawn) if drawn else Block(np.empty(0, dtype), words, row)

        loads = self.first.loads([file], list(release.layout.read), first)
        for seen, block in ordered_map(draw, loads, self.first.workers):
            self.seen += seen
            self.before += len(block.codes)
            yield block

    def write(self, outputs: Outputs, place: Target | BinaryIO, rows: RowOrder) -> None:
        """Write the released rows into a file, a folder of parts, or a stream: completely, or not at all.

        Parameters
        ----------
        outputs : Outputs
            Outputs with which the release becomes visible.
        place : Target or binary stream
        rows : {"shuffle", "keep"}
        """
        parts = self.parts(rows)
        if not isinstance(place, Target):
            with outputs.stream(place) as stream:
                self.print(stream, STREAM, chain.from_iterable(parts), as_csv=True)
                self._check(rows)
            return
        place.clear_stale()
        if place.as_folder:
            with outputs.folder(place.path, replaces=place.replaces) as folder:
                for number, codes in enumerate(parts):
                    path = part_path(folder, number)
                    with new_file(path) as stream:
                        self.print(stream, path, codes)
                self._check(rows)
        else:
            with outputs.file(place.path, replaces=place.replaces) as stream:
                self.print(stream, place.path, chain.from_iterable(parts), as_csv=place.is_csv)
                self._check(rows)

    def _check(self, rows: RowOrder) -> None:
        if rows == "keep":
            check_same_rows(self.first.source, self.seen, self.prepared.expected)
        else:
            self.first.source.check_unchanged()

    def print(self, stream: BinaryIO, path: Path, blocks: Iterator[Block], *, as_csv: bool = False) -> None:
        """Write blocks into a new Parquet or CSV file."""
        release = self.prepared.release
        printed = release.decode(np.empty(0, np.int32), NoiseKey.from_seed(0), 0)
        schema = output_schema(self.first.source.schema, printed, release)
        with writing(path):
            writer: Any = CsvWriter(stream, schema) if as_csv else ReleaseWriter(stream, schema, self.prepared.footer)

        def encode_block(block: Block) -> Any:
            return writer.encode({**release.decode(block.codes, block.words, block.start), **block.own})

        # Lines of CSV are made while writing, so preparing more than the next rows would be useless.
        for encoded in ordered_map(encode_block, blocks, min(self.first.workers, 2) if as_csv else self.first.workers):
            with writing(path):
                writer.write(encoded)
        with writing(path):
            writer.close()


def check_same_rows(source: Source, seen: NDArray[np.int64], expected: NDArray[np.int64]) -> None:
    """Refuse the release if the second pass read other rows than the first."""
    source.check_unchanged()
    if not np.array_equal(seen, expected):
        raise SourceChanged("the source changed while it was being read; nothing was released. Run again")


def part_path(folder: Path, number: int) -> Path:
    """Path of the part with a given number; names of parts sort in the order of their numbers."""
    return folder / f"part-{number:05d}.parquet"


def block_sizes(n_rows: int, n_parts: int) -> Iterator[int]:
    """Number of rows of each block if every part is divided into row groups."""
    for part in range(n_parts):
        left = n_rows * (part + 1) // n_parts - n_rows * part // n_parts
        while left:
            size = min(left, ROW_GROUP_ROWS)
            yield size
            left -= size
