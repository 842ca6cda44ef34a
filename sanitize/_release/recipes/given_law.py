"""Law of S and all columns of a joint release while some of its parts are released already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._tables.keys import distinct_rows
from sanitize.alphabet import Alphabet
from sanitize.channel import Channel, Tuples
from sanitize.errors import ColumnError
from sanitize.joint import JointDistribution

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# Cells of P(s, what is released already, x) that a part is designed on: half a gigabyte.
_MOST_CELLS = 1 << 26


def summed(cells: NDArray[Any], places: NDArray[Any], n: int) -> NDArray[Any]:
    """Columns of cells added up by place, shape (n_s, n)."""
    sums = np.stack([np.bincount(places, weights=row, minlength=n) for row in cells])
    return sums if np.issubdtype(cells.dtype, np.floating) else np.rint(sums).astype(cells.dtype)


@dataclass(frozen=True)
class GivenLaw:
    """P(s, tuple) in which some parts are released already and the kept columns are as they are.

    Attributes
    ----------
    pmf : ndarray of shape (n_s, n)
    tuples : Tuples
        Symbol of each part, and of the kept columns, in each of the n tuples.
    settled : frozenset of int
        Parts that are as they are released; the others are as in the table.
    """

    pmf: NDArray[np.float64]
    tuples: Tuples
    settled: frozenset[int]

    @classmethod
    def of(cls, law: JointDistribution, groups: Sequence[Sequence[str]], keep: Sequence[str]) -> GivenLaw:
        """The law of a table, its parts numbered like their groups of columns; the kept columns are one more."""
        tuples, _ = Tuples.split(law.public, [*groups, keep] if keep else groups)
        # In the order of these groups, so that sums are the same to the last digit however the law was given.
        rows = np.lexsort(tuples.codes.T[::-1]) if tuples.sizes else np.arange(len(tuples))
        settled = frozenset({len(groups)} if keep else ())
        return cls(law.pmf[:, rows], Tuples(tuples.codes[rows], tuples.sizes), settled)

    def settled_law(self) -> JointDistribution:
        """Law of S and what is released already."""
        before, places = self.tuples.select(sorted(self.settled))
        pmf = summed(self.pmf, places, len(before))
        names = Alphabet.of_size("s", len(pmf)), Alphabet.of_size("released", len(before))
        return JointDistribution(pmf / pmf.sum(), *names)

    def cells(self, part: int, merged: Mapping[int, Channel]) -> NDArray[np.float64]:
        """P(s, b, x) of a part that is not settled and what else is told, b, shape (n_s, n_b, n_x).

        ``merged`` has the channels, which draw nothing, of parts that b shall hold beside the settled ones.
        """
        columns, sizes = [], []
        for other in sorted({*self.settled, *merged}):
            codes, size = self.tuples.codes[:, other], self.tuples.sizes[other]
            columns.append(labels_of(merged[other])[codes] if other in merged else codes)
            sizes.append(merged[other].n_outputs if other in merged else size)
        rows = np.stack(columns, axis=1) if columns else np.zeros((len(self.tuples), 0), np.int32)
        before, places = distinct_rows(rows.astype(np.int32), sizes)
        n_x = self.tuples.sizes[part]
        if len(self.pmf) * len(before) * n_x > _MOST_CELLS:
            raise ColumnError(
                f"{n_x} symbols of one part cannot be designed given {len(before)} combinations of what is released "
                "already: keep fewer columns, give the part a budget of its own, or bin and pool values first"
            )
        cells = places.astype(np.int64) * n_x + self.tuples.codes[:, part]
        return np.asarray(summed(self.pmf, cells, len(before) * n_x).reshape(len(self.pmf), len(before), n_x))

    def released(self, part: int, channels: Sequence[Channel]) -> GivenLaw:
        """The law after a part is released: its merged symbols, or what is printed of random ones."""
        first = channels[0].stages
        # Printing a merged symbol draws inside its group and tells no more, but there are more printed symbols.
        merges = all(stage.is_deterministic for stage in first)
        stages = first if merges else [stage for one in channels for stage in one.stages]
        pmf, tuples = self.pmf, self.tuples
        for kernel in stages:
            stage, tuples = tuples.through(part, kernel)
            pmf = Channel((stage,)).push(pmf)
        return GivenLaw(pmf, tuples, self.settled | {part})


def labels_of(channel: Channel) -> NDArray[np.intp]:
    """Released symbol of each input of a channel that draws nothing."""
    labels: NDArray[Any] = np.arange(channel.n_inputs)
    for stage in channel.stages:
        labels = stage.indices[labels]
    return labels
