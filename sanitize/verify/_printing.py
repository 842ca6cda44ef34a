"""Whether rows of a whole table were drawn from their cells: no copies of rows, and no row twice as often as drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.verify._chance import log_bennett
from sanitize.verify._printed import printed_batches
from sanitize.verify._readers import Cells, reader_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._files.source import Source
    from sanitize._release.release import Release
    from sanitize.printing import PrintTable


def printed_tally(source: Source, released: Source, release: Release) -> PrintedTally | None:
    """How often each real row of each cell of a whole table was printed; None where no real rows are."""
    reader = reader_of(release)
    if not isinstance(reader, Cells):
        return None
    counts = np.zeros(len(reader.table.counts), np.int64)
    for batch in printed_batches(source, released, release):
        _, places = reader.places(batch)
        counts += np.bincount(places[places >= 0], minlength=len(counts))
    return PrintedTally(counts, reader.table)


@dataclass(frozen=True)
class PrintedTally:
    """How often each entry of a print table was printed."""

    counts: NDArray[np.int64]
    table: PrintTable

    def log_chance(self) -> tuple[float, str]:
        """How unlikely what was printed is, and what gives it away."""
        best = min(_frequencies(self.counts, self.table), _variety(self.counts, self.table))
        return best[0] + math.log(2), best[1]


def _shares(count: NDArray[np.int64], table: PrintTable) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """P(entry | cell) of each entry, and the rows released from its cell."""
    sizes = np.diff(table.starts)
    totals, drawn = (np.add.reduceat(c, table.starts[:-1]) for c in (table.counts, count))
    return table.counts / np.repeat(totals, sizes), np.repeat(drawn, sizes)


def _frequencies(count: NDArray[np.int64], table: PrintTable) -> tuple[float, str]:
    """Each entry is as frequent as in its cell."""
    p, n = _shares(count, table)
    logs = log_bennett(count - n * p, n * p * (1 - p))
    return float(logs.min()) + math.log(len(logs)), "rows or values are not as frequent as in the cells they stand for"


def _variety(count: NDArray[np.int64], table: PrintTable) -> tuple[float, str]:
    """As many different entries turn up as draws give: a copy of the source has more of them.

    Whether an entry turns up at all is negatively associated with the others of its cell, so bounds for sums of
    independent terms hold [Dubhashi and Ranjan 1998].
    """
    p, n = _shares(count, table)
    turns_up = -np.expm1(n * np.log1p(-np.minimum(p, 1 - 1e-16)))
    turns_up[n == 0] = 0.0
    log_chance = log_bennett((count > 0).sum() - turns_up.sum(), (turns_up * (1 - turns_up)).sum())
    return float(log_chance), "rows were not drawn from their cells: there are too many different ones, or too few"
