"""Stages that draw one part of a tuple from that part's symbol and leave the other parts unchanged.

Such a stage uses the integers of the part's own stage, so the distribution of the whole tuple is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.limits import DENSE_CELLS
from sanitize.core.alphabet import Alphabet
from sanitize.core.channel._stage import Stage
from sanitize.errors import ColumnError
from sanitize.tables.keys import Positions, distinct, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import RandomWords
    from sanitize._util.sampling.sampler import Drawing, Sampler


@dataclass(frozen=True, eq=False)
class PartStage(Stage):
    """Stage that draws one part of a tuple and leaves the others unchanged.

    Attributes
    ----------
    kernel : Stage
        The part's own stage.
    part : int
        Number of the part.
    tuples : Tuples
        The input tuples.
    """

    kernel: Stage
    part: int
    tuples: Tuples

    @cached_property
    def component(self) -> NDArray[np.int32]:
        """Symbol of the part in each input tuple, shape (n_inputs,)."""
        return np.ascontiguousarray(self.tuples.codes[:, self.part])

    @cached_property
    def _entries(self) -> Positions:
        """Look-up of the kernel's entries by input and output."""
        inputs = np.repeat(np.arange(self.kernel.n_inputs), np.diff(self.kernel.indptr))
        keys = inputs * self.kernel.n_outputs + self.kernel.indices
        return Positions(keys, self.kernel.n_inputs * self.kernel.n_outputs)

    @cached_property
    def _shift(self) -> NDArray[np.int64]:
        """Offsets from the entries of the kernel to the entries of each tuple."""
        return self.indptr[:-1] - self.kernel.indptr[self.component]

    @property
    def sampler(self) -> Sampler:
        """The stage itself as a sampler, which draws the part from its own small table and looks up the whole tuple."""
        return self

    def drawing(self, source: RandomWords, lane: int, start: int) -> Drawing:
        """Return a function that draws whole tuples; the part gets the same symbol as if it were drawn alone."""
        draw_part = self.kernel.sampler.drawing(source, lane, start)

        def draw(rows: NDArray[Any]) -> NDArray[Any]:
            part_codes = self.component.take(rows)
            key = part_codes * np.int64(self.kernel.n_outputs)
            key += draw_part(part_codes)
            place = self._entries.find(key)
            place += self._shift.take(rows)
            return self.indices.take(place)

        return draw

    def take(self, inputs: NDArray[Any]) -> PartStage:
        """Stage with some of the input tuples, in the order given."""
        rows = super().take(inputs)
        tuples = Tuples(self.tuples.codes[inputs], self.tuples.sizes)
        return PartStage(*rows.form, self.kernel, self.part, tuples)

    def __reduce__(self) -> tuple[type[Stage], tuple[Any, ...]]:
        return PartStage, (*self.form, self.kernel, self.part, self.tuples)


def part_stages(stages: Sequence[Stage]) -> list[tuple[NDArray[np.int32], tuple[Stage, ...]]] | None:
    """Return each drawn part's symbol in every input tuple, and its stages; None if a stage draws whole tuples."""
    place: NDArray[Any] = np.arange(stages[0].n_inputs)
    parts: dict[int, tuple[NDArray[np.int32], tuple[Stage, ...]]] = {}
    for stage in stages:
        if not isinstance(stage, PartStage):
            return None
        # Stages of other parts leave this one alone, so any path through them leads to its symbol.
        start, kernels = parts.get(stage.part, (stage.component[place], ()))
        parts[stage.part] = (start, (*kernels, stage.kernel))
        place = stage.indices[stage.indptr[place]]
    return list(parts.values())


@dataclass(frozen=True, eq=False)
class Tuples:
    """Distinct tuples of codes in ascending order, one column per part.

    Attributes
    ----------
    codes : ndarray of int32, shape (n, n_parts)
    sizes : tuple of int
        Symbols of each part.
    """

    codes: NDArray[np.int32]
    sizes: tuple[int, ...]

    @classmethod
    def from_alphabet(cls, alphabet: Alphabet, groups: Sequence[Sequence[str]]) -> tuple[Tuples, tuple[Alphabet, ...]]:
        """Return an alphabet's symbols as tuples with a part for each group of columns, and each group's alphabet."""
        columns: list[NDArray[np.int32]] = []
        alphabets: list[Alphabet] = []
        for group in groups:
            places = [alphabet.columns.index(name) for name in group]
            part_alphabet, codes = Alphabet._from_rows(
                group, [alphabet.levels[at] for at in places], alphabet.codes[:, places]
            )
            columns.append(codes)
            alphabets.append(part_alphabet)
        rows = np.stack(columns, axis=1) if columns else np.zeros((len(alphabet), 0), np.int32)
        return cls(rows, tuple(len(symbols) for symbols in alphabets)), tuple(alphabets)

    def __len__(self) -> int:
        return len(self.codes)

    def alphabet(self, parts: Sequence[Alphabet]) -> Alphabet:
        """Alphabet of the tuples, from the alphabets of the parts."""
        columns = tuple(name for part in parts for name in part.columns)
        twice = next((name for i, name in enumerate(columns) if name in columns[:i]), None)
        if twice is not None:
            raise ColumnError(f"two columns of the release would be called {twice!r}; rename one", twice)
        codes = np.concatenate([part.codes[self.codes[:, i]] for i, part in enumerate(parts)], axis=1)
        return Alphabet._from_parts(columns, tuple(level for part in parts for level in part.levels), codes)

    def select(self, parts: Sequence[int]) -> tuple[Tuples, NDArray[np.int32]]:
        """Return the distinct tuples of some parts, and the position of each tuple among them."""
        sizes = tuple(self.sizes[part] for part in parts)
        if not parts:
            return Tuples(np.zeros((1, 0), np.int32), ()), np.zeros(len(self), np.int32)
        rows, places = distinct_rows(self.codes[:, list(parts)], sizes)
        return Tuples(rows, sizes), places

    def pass_part(self, part: int, kernel: Stage) -> tuple[PartStage, Tuples]:
        """Return the stage that passes one part through a kernel, and the tuples that can result.

        Raises
        ------
        ColumnError
            If too many tuples can result.
        """
        component = self.codes[:, part]
        lengths = np.diff(kernel.indptr)[component]
        if (n_entries := lengths.sum()) > DENSE_CELLS:
            raise ColumnError(
                f"the channel for {len(self)} combinations of symbols is too large, with {n_entries} entries; "
                "release fewer columns, or bin and pool values first"
            )
        part_rows = kernel.take(component)
        other_parts = [index for index in range(len(self.sizes)) if index != part]
        remainder, place = self.select(other_parts)
        keys = np.repeat(place.astype(np.int64), lengths) * kernel.n_outputs + part_rows.indices
        distinct_keys, number = distinct(keys)
        rows = np.empty((len(distinct_keys), len(self.sizes)), np.int32)
        rows[:, other_parts] = remainder.codes[distinct_keys // kernel.n_outputs]
        rows[:, part] = distinct_keys % kernel.n_outputs
        sizes = tuple(kernel.n_outputs if i == part else size for i, size in enumerate(self.sizes))
        ordered, rank = distinct_rows(rows, sizes)
        stage = PartStage(part_rows.indptr, rank[number], part_rows.weights, len(ordered), kernel, part, self)
        return stage, Tuples(ordered, sizes)
