"""Whether rows of a whole table were drawn from their cells: no copies of rows, and no row twice as often as drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.verify._chance import log_bennett
from sanitize.verify._observed import MOST_ROWS
from sanitize.verify._printed import printed_batches
from sanitize.verify._readers import Cells, digests_of, random_words, reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from sanitize._files.source import Source
    from sanitize._release.release import Release
    from sanitize.trees import PrintTable

    Batches = Callable[[], Iterator[Mapping[str, Any]]]


# Of digests of rows, for any number of columns.
_WORDS = random_words(0, 1 << 14)


def printed_tally(source: Source, released: Source, release: Release) -> PrintedTally | None:
    """How often each row or value of each cell of a whole table was printed; None where the channel prints by itself.

    Labels stand for released symbols, so nothing is drawn when they are printed.
    """
    reader, names = reader_of(release), list(release.layout.read)
    if not isinstance(reader, Cells):
        return None
    return PrintedTally.read(
        reader,
        lambda: printed_batches(source, released, release),
        lambda: (batch for file in source.files for batch in source.batches(file, names)),
    )


@dataclass(frozen=True)
class PrintedTally:
    """How often each entry of the print tables was printed, and how many rows are, as a whole, rows of the source.

    Attributes
    ----------
    counts : list of ndarray of int64
        Rows printed by each entry of each table.
    tables : tuple of PrintTable
    whole : tuple of float
        Rows of the release that are rows of the source (the first ones of it), as many as expected and the variance;
        zeros where rows are printed as a whole.
    """

    counts: list[NDArray[np.int64]]
    tables: tuple[PrintTable, ...]
    whole: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @classmethod
    def read(cls, reader: Cells, released: Batches, source: Batches) -> PrintedTally:
        """Read a release, and its source where rows are printed column by column."""
        tables = reader.printer.tables
        known = _Rows.of(reader, source) if len(tables) > 1 else None
        counts = [np.zeros(len(table.counts), np.int64) for table in tables]
        n_cells, n_whole = np.zeros(tables[0].n_cells, np.int64), 0
        for batch in released():
            cells, places = reader.places(batch)
            sure = (places >= 0).all(axis=0)
            n_cells += np.bincount(cells[sure], minlength=len(n_cells))
            for count, place in zip(counts, places, strict=True):
                count += np.bincount(place[sure], minlength=len(count))
            if known is not None:
                n_whole += known.holds(places[:, sure])
        if known is None:
            return cls(counts, tables)
        chance = known.chance(tables)
        return cls(counts, tables, (n_whole, float(n_cells @ chance), float(n_cells @ (chance * (1 - chance)))))

    def log_chance(self) -> tuple[float, str]:
        """How unlikely what was printed is, and what gives it away."""
        found = [
            (logs, words)
            for count, table in zip(self.counts, self.tables, strict=True)
            for logs, words in (_frequencies(count, table), _variety(count, table))
        ]
        n, expected, variance = self.whole
        if expected or n:
            more = float(log_bennett(n - expected, variance))
            found.append((more, "rows are rows of the source more often, or less, than columns drawn apart make them"))
        best = min(found)
        return best[0] + math.log(len(found)), best[1]


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


@dataclass(frozen=True, eq=False)
class _Rows:
    """Different rows of a source, as entries of the print tables of each column.

    They are told apart by 64-bit digests. Two of 2,097,152 rows share one in one of 8 million tables, and count as one.
    """

    digests: NDArray[np.uint64]  # ascending
    cells: NDArray[np.int64]
    places: NDArray[np.int64]  # one column a row

    @classmethod
    def of(cls, reader: Cells, source: Batches) -> _Rows:
        """The first rows of a source; rows that none of its cells prints are left out."""
        parts: list[NDArray[np.int64]] = []
        left = MOST_ROWS
        for batch in source():
            cells, places = reader.places(batch)
            rows = np.vstack([cells, places])[:, :left]
            left -= rows.shape[1]
            parts.append(rows[:, (rows >= 0).all(axis=0)])
            if not left:
                break
        rows = np.concatenate(parts, axis=1)
        digests, first = np.unique(digests_of(rows[1:].T, _WORDS), return_index=True)
        return cls(digests, rows[0, first], rows[1:, first])

    def holds(self, places: NDArray[np.int64]) -> int:
        """How many of some rows are among these."""
        wanted = digests_of(places.T, _WORDS)
        at = np.minimum(np.searchsorted(self.digests, wanted), len(self.digests) - 1)
        return int((self.digests[at] == wanted).sum()) if len(self.digests) else 0

    def chance(self, tables: tuple[PrintTable, ...]) -> NDArray[np.float64]:
        """For each cell how likely a row printed from it, column by column, is one of these."""
        likely = np.ones(len(self.cells))
        for place, table in zip(self.places, tables, strict=True):
            totals = np.add.reduceat(table.counts, table.starts[:-1])
            likely *= (table.counts / np.repeat(totals, np.diff(table.starts)))[place]
        return np.minimum(np.bincount(self.cells, weights=likely, minlength=tables[0].n_cells), 1.0)
