"""Rows of a source and of its release, read side by side and kept as counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from sanitize._tables.combined import CombinedRows, count
from sanitize.alphabet import Alphabet
from sanitize.channel import Channel
from sanitize.verify._chance import closed_groups
from sanitize.verify._order import OrderTally
from sanitize.verify._printed import printed_batches
from sanitize.verify._readers import reader_of
from sanitize.verify._sorted import SortedTally
from sanitize.verify._twice import codes_of_each, read_once, type_of_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._files.kept import KeptRows
    from sanitize._files.source import Source
    from sanitize._release.release import Release
    from sanitize._release.row_order import RowOrder
    from sanitize.verify._twice import SourceCounts

Codes: TypeAlias = "NDArray[np.signedinteger[Any]]"

# Cells of a channel up to which its matrix is written out.
_DENSE_CELLS = 1 << 22
# Rows whose intermediate arrays stay in the cache.
_BLOCK = 1 << 16
# Rows whose noise is correlated at every distance: the first ones of a release.
MOST_ROWS = 1 << 21


@dataclass(frozen=True, eq=False)
class Streams:
    """Ways to read the rows of a source and of its release as codes, block by block and as often as needed.

    Attributes
    ----------
    source : callable
        Gives blocks of sensitive and of public symbols.
    released : callable
        Gives blocks of printed symbols, -1 where the channel has no such output.
    """

    source: Callable[[], Iterator[tuple[Codes, Codes]]]
    released: Callable[[], Iterator[Codes]]

    def aligned(self) -> Iterator[tuple[Codes, Codes, Codes]]:
        """Blocks of sensitive, public and printed symbols of the same rows."""
        yield from in_step(self.source(), ((y,) for y in self.released()))


def in_step(*streams: Iterator[tuple[Codes, ...]]) -> Iterator[Any]:
    """Blocks of several streams as blocks of the same rows; it ends with the shortest."""
    held: list[tuple[Codes, ...]] = [() for _ in streams]
    while True:
        for k, stream in enumerate(streams):
            while not held[k] or not len(held[k][0]):
                block = next(stream, None)
                if block is None:
                    return
                held[k] = block
        n = min(len(block[0]) for block in held)
        yield tuple(part[:n] for block in held for part in block)
        held = [tuple(part[n:] for part in block) for block in held]


@dataclass(frozen=True, eq=False)
class Observed:
    """What went in and what came out: counts, and the first rows where rows keep their order.

    Attributes
    ----------
    channel : Channel
        Where a printed number cannot be told from one of the next bin, the two bins are merged.
    inputs : ndarray of int64, shape (n_s, n_x)
        Rows of the source by sensitive and public symbol.
    y_counts : ndarray of int64, shape (n_y,)
        Rows of the release by printed symbol.
    unknown : int
        Rows of the release whose symbol the channel never prints.
    streams : Streams
        The rows again.
    pairs : ndarray of int64, shape (n_x, n_y), or None
        Rows by public and printed symbol, where rows keep their order and the channel is small.
    told : ndarray of int64, shape (n_s, n_y), or None
        Rows by sensitive and printed symbol, where rows keep their order.
    outside : int
        Rows whose printed symbol belongs to another closed group than their public one, where rows keep their order.
    first : tuple of two ndarrays of int32
        Public and printed symbols of the first rows, where rows keep their order; at most `MOST_ROWS`.
    order : OrderTally or None
        Tables of the order of shuffled rows.
    sensitive : Alphabet or None
        Symbols of the lines of ``inputs``.
    sorted : SortedTally or None
        Tables of shuffled rows by where they would stand if they were sorted.
    """

    channel: Channel
    inputs: NDArray[np.int64]
    y_counts: NDArray[np.int64]
    unknown: int
    streams: Streams
    pairs: NDArray[np.int64] | None = None
    told: NDArray[np.int64] | None = None
    outside: int = 0
    first: tuple[Codes, Codes] = (np.empty(0, np.int32), np.empty(0, np.int32))
    order: OrderTally | None = None
    sensitive: Alphabet | None = None
    sorted: SortedTally | None = None

    @classmethod
    def read(
        cls,
        source: Source,
        released: Source,
        release: Release,
        counted: SourceCounts,
        rows: RowOrder,
        seen: KeptRows | None = None,
    ) -> Observed:
        """Read a release, then its source and itself side by side, batch by batch.

        Parameters
        ----------
        source, released : Source
        release : Release
            Designed again from the source.
        counted : SourceCounts
            Of the source, from which it was designed.
        rows : {"shuffle", "keep"}
        seen : KeptRows, optional
            Rows of the release that need not be read again.
        """
        pa.default_memory_pool().release_unused()  # Arrow keeps what reading took, which other arrays need from here on
        reader, sensitive = reader_of(release), release.design.joint.sensitive
        channel, narrow = reader.channel, type_of_codes(reader.channel.n_outputs)

        def printed() -> Iterator[Codes]:
            for batch in printed_batches(source, released, release, seen):
                if isinstance(batch, CombinedRows) and not release.drawn_bins:
                    yield batch.combined.spread(reader.codes(batch.combined.table()).astype(narrow))
                else:
                    yield reader.codes(batch)
            if seen is not None:
                seen.forget()  # from here on the codes are kept

        def codes(batch: Mapping[str, Any]) -> tuple[Codes, Codes]:
            return sensitive.encode(release.layout.columns(batch)), release.encode(batch)[0]

        def read() -> Iterator[tuple[Codes, Codes]]:
            names = list(dict.fromkeys((*release.layout.sensitive, *release.layout.read)))
            for file in source.files:
                for load in counted.kept.loads(source, file, names):
                    for batch in load.batches():
                        s, x = codes_of_each(batch, codes)
                        yield s, x

        counts = counted.table
        x = channel.inputs.encode(counts.public.decode(np.arange(len(counts.public))))
        inputs = np.zeros((len(sensitive), channel.n_inputs), np.int64)
        np.add.at(inputs.T, np.where(x < 0, release.design.fallback, x), counts.counts.T)
        return cls.of(
            channel, inputs, Streams(read, read_once(printed, channel.n_outputs)), rows, reader.doubtful, sensitive
        )

    @classmethod
    def of(
        cls,
        channel: Channel,
        inputs: NDArray[np.int64],
        streams: Streams,
        rows: RowOrder,
        doubtful: set[tuple[str, int]] | None = None,
        sensitive: Alphabet | None = None,
    ) -> Observed:
        """Count rows: the release by itself, then side by side with its source.

        ``doubtful`` are columns and bins of which a row leaves in doubt whether it was printed from the next; they are
        known when the release was read once.
        """
        y_counts, unknown = np.zeros(channel.n_outputs, np.int64), 0
        for y in streams.released():
            found = count(y + 1, len(y_counts) + 1)  # the first is of the code -1
            y_counts += found[1:]
            unknown += int(found[0])
        seen = cls(channel, inputs, y_counts, unknown, streams, sensitive=sensitive)
        if doubtful:
            seen = seen._merged(doubtful)
        return seen._kept() if rows == "keep" else seen._shuffled()

    def _merged(self, doubtful: set[tuple[str, int]]) -> Observed:
        """The same with bins made one that a row leaves in doubt."""
        outputs = self.channel.outputs
        codes = outputs.codes.copy()
        for name, place in sorted(doubtful, reverse=True):  # from above, so that chains of bins end at the lowest
            column = codes[:, outputs.columns.index(name)]
            column[column == place + 1] = place
        labels = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
        channel = self.channel.then(Channel.merge(labels))
        y_counts = np.zeros(channel.n_outputs, np.int64)
        np.add.at(y_counts, labels, self.y_counts)
        plain = self.streams

        def released() -> Iterator[Codes]:
            for y in plain.released():
                yield np.where(y >= 0, labels[y], -1).astype(np.int32)

        return replace(self, channel=channel, y_counts=y_counts, streams=Streams(plain.source, released))

    def _kept(self) -> Observed:
        """With counts of rows side by side, and the first ones as they are."""
        n_y = self.channel.n_outputs
        pairs = None if self.dense is None else np.zeros(self.dense.shape, np.int64)
        told = np.zeros((len(self.inputs), n_y), np.int64)
        of_x, of_y = self.groups
        outside = n_first = 0
        first: list[tuple[Codes, Codes]] = []
        for s, x, y in self.streams.aligned():
            if n_first < MOST_ROWS:
                first.append((x[: MOST_ROWS - n_first], y[: MOST_ROWS - n_first]))
                n_first += len(first[-1][0])
            sure = y >= 0
            if not sure.all():
                s, x, y = s[sure], x[sure], y[sure]
            _count(told, s, y)
            if pairs is not None:
                _count(pairs, x, y)
            else:
                outside += int((of_x[x] != of_y[y]).sum())
        first_x, first_y = (np.concatenate([part[k] for part in (self.first, *first)]) for k in (0, 1))
        return replace(self, pairs=pairs, told=told, outside=outside, first=(first_x, first_y))

    def _shuffled(self) -> Observed:
        """With tables of the order of rows."""
        n = int(self.y_counts.sum()) + self.unknown
        order = OrderTally.of(n, self.y_counts, [self.inputs.sum(axis=1), self.x_counts])
        alphabet = self.sensitive or Alphabet.of_size("s", len(self.inputs))
        by_value = SortedTally.of(self.channel, alphabet, self.inputs, self.y_counts, self.dense)
        for s, x, y in self.streams.aligned():
            order.add(y, [s, x])
            by_value.add(y)
        return replace(self, order=order, sorted=by_value)

    @cached_property
    def dense(self) -> NDArray[np.float64] | None:
        """P(y|x) as a matrix where it is small."""
        if self.channel.n_inputs * self.channel.n_outputs > _DENSE_CELLS:
            return None
        return self.channel.matrix

    @cached_property
    def groups(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Groups of symbols that no row can leave: of each public symbol, and of each printed one, -1 if none."""
        return closed_groups(self.channel, self.x_counts > 0)

    @cached_property
    def x_counts(self) -> NDArray[np.int64]:
        """Rows of each public symbol."""
        return self.inputs.sum(axis=0)


def printed_of(one: Streams, other: Streams) -> Iterator[tuple[Codes, Codes]]:
    """Printed symbols of the rows that two releases both have."""
    yield from in_step(((y,) for y in one.released()), ((y,) for y in other.released()))


def equal_draws(one: Observed, other: Observed) -> int | None:
    """Rows that two releases of the same rows print alike; None where their rows are not the same."""
    if not np.array_equal(one.inputs.sum(axis=0), other.inputs.sum(axis=0)):
        return None
    equal = 0
    for _, x, y, _, other_x, other_y in in_step(one.streams.aligned(), other.streams.aligned()):
        if not np.array_equal(x, other_x):
            return None
        equal += int((y == other_y).sum())
    return equal


def _count(table: NDArray[np.int64], a: Codes, b: Codes) -> None:
    """Add rows to a table; one with more cells than rows is not written anew."""
    cells = np.empty(len(a), np.int64)
    for block in (slice(start, start + _BLOCK) for start in range(0, len(a), _BLOCK)):
        np.multiply(a[block], table.shape[1], out=cells[block], dtype=np.int64)
        cells[block] += b[block]
    if table.size <= 4 * len(cells):
        table += count(cells, table.size).reshape(table.shape)
    else:
        cells, added = np.unique(cells, return_counts=True)
        table.reshape(-1)[cells] += added
