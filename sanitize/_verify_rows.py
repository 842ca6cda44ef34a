"""Rows of a source and of its release as codes, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._parquet_target import released_schema
from sanitize._random import NoiseKey
from sanitize.binning import as_numbers
from sanitize.channel import Channel
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._release import Release
    from sanitize.binning import Bins

# Cells of a channel up to which its matrix is written out.
_DENSE_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Observed:
    """What went in and what came out.

    Attributes
    ----------
    channel : Channel
    n_s : int
        Sensitive symbols.
    s, x : ndarray of int32, shape (n,)
        Sensitive and public symbol of each row of the source.
    y : ndarray of int32, shape (n,)
        Printed symbol of each row of the release; -1 where the channel has no such output. Where a printed number
        cannot be told from one of the next bin, the channel merges the two bins.
    """

    channel: Channel
    n_s: int
    s: NDArray[np.int32]
    x: NDArray[np.int32]
    y: NDArray[np.int32]

    @classmethod
    def read(cls, source: Any, released: Any, release: Release) -> Observed:
        """Read the columns of a source and of its release, batch by batch."""
        layout, design = release.layout, release.design
        sensitive = design.joint.sensitive
        s, x = [], []
        names = list(dict.fromkeys((*layout.sensitive, *layout.public)))
        for file in source.files:
            for batch in source.batches(file, names):
                columns = layout.columns(batch)
                s.append(sensitive.encode(columns))
                x.append(release.encode(batch)[0])
        y = []
        outputs = design.channel.outputs
        doubtful: set[tuple[str, int]] = set()
        types = printed_types(source.schema, release)
        for file in released.files:
            for batch in released.batches(file, list(outputs.columns)):
                printed = Printed({name: _typed(batch[name], types[name], name) for name in batch}, release)
                y.append(outputs.encode(printed))
                doubtful |= printed.doubtful()
        empty = np.empty(0, np.int32)
        seen = cls(
            design.channel,
            len(sensitive),
            np.concatenate([empty, *s]),
            np.concatenate([empty, *x]),
            np.concatenate([empty, *y]),
        )
        return seen._merged(doubtful) if doubtful else seen

    def _merged(self, doubtful: set[tuple[str, int]]) -> Observed:
        """The same with bins made one that a row leaves in doubt."""
        outputs = self.channel.outputs
        codes = outputs.codes.copy()
        for name, place in sorted(doubtful, reverse=True):  # from above, so that chains of bins end at the lowest
            column = codes[:, outputs.columns.index(name)]
            column[column == place + 1] = place
        labels = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
        y = np.where(self.y >= 0, labels[self.y], -1).astype(np.int32)
        return replace(self, channel=self.channel.then(Channel.merge(labels)), y=y)

    @cached_property
    def dense(self) -> NDArray[np.float64] | None:
        """P(y|x) as a matrix where it is small."""
        if self.channel.n_inputs * self.channel.n_outputs > _DENSE_CELLS:
            return None
        return self.channel.matrix

    @cached_property
    def x_counts(self) -> NDArray[np.int64]:
        """Rows of each public symbol."""
        return np.bincount(self.x, minlength=self.channel.n_inputs)

    @cached_property
    def y_counts(self) -> NDArray[np.int64]:
        """Rows of each printed symbol."""
        return np.bincount(self.y[self.y >= 0], minlength=self.channel.n_outputs)


def printed_types(schema: pa.Schema, release: Release) -> dict[str, pa.DataType]:
    """Type of each printed column, as a file without dictionaries names it."""
    printed = release.decode(np.empty(0, np.int32), NoiseKey.from_seed(0))
    return {
        field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        for field in released_schema(schema, printed, release)
    }


def _typed(column: Any, dtype: pa.DataType, name: str) -> Any:
    """A column that a text file holds, in the type that was printed."""
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if plain == dtype or not pa.types.is_string(plain):
        return column
    try:
        return column.cast(plain).cast(dtype)
    except pa.ArrowException:
        raise ColumnError(f"column {name!r} of the release holds text that is no {dtype}", name) from None


class Printed(Mapping[str, Any]):
    """Printed columns of one batch as the symbols they were printed from: numbers go back to their bins."""

    def __init__(self, batch: Mapping[str, Any], release: Release) -> None:
        self._batch = batch
        drawn = release.recipe.release == "resample"
        labelled: frozenset[str] = getattr(release.layout, "labelled", frozenset())
        self._bins: dict[str, Bins] = {
            name: bins for name, bins in release.layout.bins.items() if drawn and name in batch and name not in labelled
        }

    def __getitem__(self, name: str) -> Any:
        column = self._batch[name]
        return self._bins[name].assign(column)[0] if name in self._bins else column

    def __iter__(self) -> Any:
        return iter(self._batch)

    def __len__(self) -> int:
        return len(self._batch)

    def doubtful(self) -> set[tuple[str, int]]:
        """Columns and bins whose numbers cannot all be told from those of the next bin."""
        return {(name, place) for name, bins in self._bins.items() for place in _in_doubt(bins, self._batch[name])}


def _in_doubt(bins: Bins, column: Any) -> list[int]:
    """Bins that may have printed a number of the next one: narrow types round, and a bin may hold no whole number."""
    numbers = as_numbers(column)
    edges = np.array(bins.edges)
    dtype = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if bins.whole:
        lowest = np.ceil(edges)
        return [k for k in range(len(edges) - 2) if lowest[k] == lowest[k + 1] and (numbers == lowest[k]).any()]
    if pa.types.is_floating(dtype) and dtype.bit_width < 64:
        narrow = edges.astype(dtype.to_pandas_dtype()).astype(np.float64)
        return [k for k in range(len(edges) - 2) if (numbers == narrow[k + 1]).any()]
    if pa.types.is_decimal(dtype):
        return [k for k in range(len(edges) - 2) if (np.abs(numbers - edges[k + 1]) <= 10.0**-dtype.scale).any()]
    return []
