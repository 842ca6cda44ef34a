"""Printed rows of a release as the released symbols that they were printed from, for tuples and for whole tables."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanitize._release.layout import TreeLayout
from sanitize._sampling.noise import NoiseKey
from sanitize._tables.columns import as_arrow, factorize, look_up, value_type
from sanitize.binning import as_numbers
from sanitize.channel import Channel
from sanitize.parquet import released_schema, typed
from sanitize.printing import PrintTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sanitize._files.source import Source
    from sanitize._release.release import Release
    from sanitize.binning import Bins


def printed_types(schema: pa.Schema, release: Release) -> dict[str, pa.DataType]:
    """Type of each printed column, as a file without dictionaries names it."""
    printed = release.decode(np.empty(0, np.int32), NoiseKey.from_seed(0))
    return {field.name: value_type(field.type) for field in released_schema(schema, printed, release)}


def stored_type(dtype: pa.DataType) -> pa.DataType:
    """Type that a Parquet file gives back for a printed one: it names no zone but UTC, no duration, no extension."""
    sink = BytesIO()
    pq.write_table(pa.schema([pa.field("column", dtype)]).empty_table(), sink, store_schema=False)
    return pq.read_schema(sink).field(0).type


def printed_batches(source: Source, released: Source, release: Release) -> Iterator[Mapping[str, Any]]:
    """Printed columns of a release, batch by batch, in the types that they were printed in."""
    types = printed_types(source.schema, release)
    for file in released.files:
        for batch in released.batches(file, list(release.output_columns)):
            yield {name: typed(batch[name], types[name], name) for name in batch}


def _moved(rows: Mapping[str, Any], bins: Mapping[str, Bins]) -> Iterator[dict[str, Any]]:
    """Numbers of some rows as bins, those in doubt in other bins that may have printed them, in every combination."""
    ways: dict[str, list[Any]] = {}
    for name, own in bins.items():
        plain = own.assign(rows[name])[0]
        place, missing = plain.indices.fill_null(0).to_numpy(), plain.indices.is_null().to_numpy(zero_copy_only=False)
        sides = np.zeros((len(own.edges) - 2, len(place)), bool)
        for edge, at in _in_doubt(own, rows[name]):
            sides[edge] = at
        ways[name] = [plain]
        for step in (-1, 1):
            to, behind = place, True
            # As long as there is doubt at the edge between one bin and the next.
            while True:
                edge = np.clip(to - (step < 0), 0, max(len(sides) - 1, 0))
                inside = (to + step >= 0) & (to + step < len(own.edges) - 1)
                behind = behind & inside & (sides[edge, np.arange(len(place))] if len(sides) else False)
                if not np.any(behind):
                    break
                to = np.where(behind, to + step, to)
                ways[name].append(pa.DictionaryArray.from_arrays(pa.array(to, pa.int32(), mask=missing), own.labels))
    for chosen in itertools.product(*ways.values()):
        yield dict(zip(ways, chosen, strict=True))


def _in_doubt(bins: Bins, column: Any) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Bins that may have printed a number of the next one, or the next one of theirs, and the rows of such numbers.

    Narrow types round, and a bin may hold no whole number.
    """
    numbers = as_numbers(column)
    edges = np.array(bins.edges)
    dtype = value_type(column.type)
    if bins.whole:
        lowest = np.ceil(edges)
        yield from ((k, numbers == lowest[k]) for k in range(len(edges) - 2) if lowest[k] == lowest[k + 1])
    elif pa.types.is_floating(dtype) and dtype.bit_width < 64:
        narrow = edges.astype(dtype.to_pandas_dtype()).astype(np.float64)
        yield from ((k, numbers == narrow[k + 1]) for k in range(len(edges) - 2))
    elif pa.types.is_decimal(dtype):
        yield from ((k, np.abs(numbers - edges[k + 1]) <= 10.0**-dtype.scale) for k in range(len(edges) - 2))


@dataclass(eq=False)
class Reader(ABC):
    """Tells which symbol each printed row stands for.

    Attributes
    ----------
    release : Release
    doubtful : set of tuple
        Columns and bins of which a row read so far leaves in doubt whether it was printed from the next.
    """

    release: Release
    doubtful: set[tuple[str, int]] = field(default_factory=set)

    @property
    def channel(self) -> Channel:
        """To the symbols that printing tells apart."""
        return self.release.design.channel

    @abstractmethod
    def codes(self, batch: Mapping[str, Any]) -> NDArray[np.int32]:
        """Released symbol of each printed row; -1 where the release prints no such row."""

    @cached_property
    def _index(self) -> _RowIndex:
        """Rows that are printed: those of each cell, or labels."""
        assert isinstance(self.release.printer, PrintTable)
        return _RowIndex(self.release.printer, by_cell=self.release.spec.output != "label")


def reader_of(release: Release) -> Reader:
    """Who reads the rows of a release."""
    if release.printer is None:
        return _Tuples(release)
    return _Labels(release) if release.spec.output == "label" else Cells(release)


class _Tuples(Reader):
    """Rows whose columns are the symbols themselves, or numbers drawn in their bins."""

    def codes(self, batch: Mapping[str, Any]) -> NDArray[np.int32]:
        outputs = self.channel.outputs
        bins = {name: own for name, own in self.release.drawn_bins.items() if name in batch}
        codes = outputs.encode({**batch, **{name: own.assign(batch[name])[0] for name, own in bins.items()}})
        unknown = np.flatnonzero(codes < 0)
        if len(unknown) and bins:
            rows, found = {name: column.take(pa.array(unknown)) for name, column in batch.items()}, codes[unknown]
            # A number at an edge may have been printed by the bin behind it.
            for moved in _moved(rows, bins):
                found = np.where(found < 0, outputs.encode(rows | moved), found)
            codes[unknown] = found
        for name, own in bins.items():
            self.doubtful.update((name, place) for place, at in _in_doubt(own, batch[name]) if at.any())
        return codes


class Cells(Reader):
    """Real rows of a whole table: the tree finds the cell that a row was printed from."""

    def codes(self, batch: Mapping[str, Any]) -> NDArray[np.int32]:
        layout = self.release.layout
        assert isinstance(layout, TreeLayout)
        cells = layout.tree.assign({name: as_arrow(batch[name], name) for name in layout.tree.names})
        return np.where(self._index.of(batch, cells) >= 0, cells, -1).astype(np.int32)


class _Labels(Reader):
    """Rows of intervals and sets, each of which names a released symbol, or several that have one label."""

    @cached_property
    def channel(self) -> Channel:
        """To labels: symbols that print the same are one."""
        made = self.release.design.channel
        labels = self._index.kinds
        return made if len(np.unique(labels)) == len(labels) else made.then(Channel.merge(labels))

    def codes(self, batch: Mapping[str, Any]) -> NDArray[np.int32]:
        found = self._index.of(batch, None)
        return np.where(found >= 0, self._index.kinds[found], -1).astype(np.int32)


class _RowIndex:
    """Which entry of a print table a row of values is, found by a digest and compared value by value.

    Parameters
    ----------
    table : PrintTable
    by_cell : bool
        An entry is found by its cell as well as its values.

    Attributes
    ----------
    kinds : ndarray of int, shape (n_printed,)
        Number of the row that each entry prints: entries that print the same have one.
    """

    kinds: NDArray[np.int32]

    def __init__(self, table: PrintTable, *, by_cell: bool) -> None:
        self._levels = table.values
        cells = np.repeat(np.arange(table.n_cells), np.diff(table.starts))
        self._rows = np.column_stack([cells, table.codes]) if by_cell else table.codes.astype(np.int64)
        _, first, kinds = np.unique(self._rows, axis=0, return_index=True, return_inverse=True)
        # Numbers of different rows, in the order of the entries.
        self.kinds = np.argsort(np.argsort(first)).astype(np.int32)[kinds.reshape(-1)]
        for seed in range(32):
            words = random_words(seed, self._rows.shape[1])
            digests = digests_of(self._rows[first], words)
            order = np.argsort(digests)
            self._words, self._digests, self._entries = words, digests[order], first[order]
            if (np.diff(self._digests) > 0).all():
                return
        raise AssertionError("distinct rows have one digest")  # pragma: no cover

    def of(self, batch: Mapping[str, Any], cells: NDArray[np.integer] | None) -> NDArray[np.int64]:
        """Entry of each row; -1 where there is none."""
        columns: Iterable[Any] = (_places(batch[name], level, name) for name, level in self._levels.items())
        rows = np.column_stack([*columns] if cells is None else [cells, *columns]).astype(np.int64)
        at = np.minimum(np.searchsorted(self._digests, digests_of(rows, self._words)), len(self._digests) - 1)
        found = self._entries[at]
        return np.where((self._rows[found] == rows).all(axis=1), found, -1)


def random_words(seed: int, n: int) -> NDArray[np.uint64]:
    """Odd factors for digests."""
    return np.random.default_rng(seed).integers(0, 1 << 63, n, np.uint64) * 2 + 1


def digests_of(rows: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Digest of each row: sums of products modulo 2^64, with a factor for each column."""
    digests = np.zeros(len(rows), np.uint64)
    for column, word in zip(rows.T, words, strict=False):
        digests += column.astype(np.uint64) * word
    return digests


def _places(column: Any, level: Any, name: str) -> NDArray[np.int32]:
    """Place of each value among levels; missing is -1, and a value that is not among them lower."""
    values, codes = factorize(as_arrow(column, name), name)
    return np.append(look_up(values, level), np.int32(-1))[codes]
