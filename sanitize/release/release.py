"""Fitted channel that is applied to rows, and a check that new rows have the same kind of values as the fit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize.core.binning import is_numeric
from sanitize.core.channel import Channel
from sanitize.core.confidence import MOST_ENTRIES, ConfidenceSet
from sanitize.core.joint import JointDistribution
from sanitize.errors import ColumnError, InvalidParameter, UnknownSymbol, UnseenSymbolWarning
from sanitize.release.design import restrict
from sanitize.release.layout import Layout, layout_classes
from sanitize.report import LeakageReport, as_estimates, measure_worst_case
from sanitize.tables.columns import UNSEEN, as_arrow, factorize, look_up
from sanitize.tables.ordered import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Container

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import RandomWords
    from sanitize.core.alphabet import Alphabet
    from sanitize.core.binning import Bins
    from sanitize.core.budgets import Budget
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.classes import ClassPartition
    from sanitize.release.first_pass import RowCounts, RowOrder
    from sanitize.tables.columns import ArrowColumn


def refuse_changed(columns: Mapping[str, ArrowColumn], alphabet: Alphabet, binned: Container[str]) -> None:
    """Refuse columns whose values are mostly unknown because their type, case, or surrounding spaces changed.

    Otherwise each row would be released like the riskiest symbol: within the budget, but useless.

    Raises
    ------
    ColumnError
        The message names all such columns and quotes no value.
    """
    diffs: dict[str, str] = {}
    for name, level in zip(alphabet.columns, alphabet.levels, strict=True):
        if name in binned:
            continue
        values, codes = factorize(columns[name], name)
        # A missing value has code -1, which takes the last entry.
        unknown = np.append(look_up(values, level) == UNSEEN, [False])
        if unknown[codes].sum() * 2 <= len(codes):
            continue
        was, current = _kind(level.type), _kind(values.type)
        if was != current:
            diffs[name] = f"{name!r} has {current} but had {was} at fit"
        elif was == "text":
            plain = {text.strip().casefold() for text in level.to_pylist()}
            respelt = np.array([*(text.strip().casefold() in plain for text in values.to_pylist()), False])
            if respelt[codes].sum() * 2 > len(codes):
                diffs[name] = f"{name!r} writes the values of the fit with other capitals or spaces"
    if diffs:
        raise ColumnError(
            f"most rows have values that did not occur at fit: column {'; column '.join(diffs.values())}. Convert the "
            "columns as for the fit, or fit again",
            next(iter(diffs)),
        )


def _kind(dtype: pa.DataType) -> str:
    if pa.types.is_boolean(dtype):
        return "True or False"
    if is_numeric(dtype):
        return "a number"
    if pa.types.is_temporal(dtype):
        return "a date or time"
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
        return "text"
    return str(dtype)


Unknown = Literal["high_risk", "error"]

# Lanes of the random source for numeric columns that are drawn, one each. They lie above the stages of any channel, so
# that no random word is used twice.
_BIN_LANE = 1 << 20


@dataclass(frozen=True)
class FittedRelease:
    """A fitted channel that releases rows of the columns for which it was designed.

    Attributes
    ----------
    joint : JointDistribution
        Learned distribution, which is private to the holder of the table.
    channel : Channel
        Channel from public symbols to released ones.
    report : LeakageReport
    fallback : int
        Code of the riskiest public symbol; unseen symbols are released like this symbol.
    layout : Layout
    budget : Budget
    handle_unknown : {"high_risk", "error"}
    is_fixed : bool
        Whether the channel was given instead of designed.
    counts : RowCounts, optional
        Counts from which the channel was designed; present during the fit only.
    parts : mapping of str to Channel, optional
        Channels of the parts of a joint release, by name.
    compared : mapping of str to LeakageReport, optional
        Reports of all mechanisms that were compared, if the mechanism was chosen.
    """

    joint: JointDistribution
    channel: Channel
    report: LeakageReport
    fallback: int
    layout: Layout
    budget: Budget
    handle_unknown: Unknown = "high_risk"
    is_fixed: bool = False
    counts: RowCounts | None = field(default=None, repr=False)
    parts: Mapping[str, Channel] | None = None
    compared: Mapping[str, LeakageReport] | None = None

    @classmethod
    def from_channel(cls, channel: Channel, layout: Layout, budget: Budget) -> FittedRelease:
        """Make a release from a channel only, without the distribution from which it was designed."""
        joint, report = _nothing_known()
        return cls(joint, channel, report, 0, layout, budget)

    def bare(self) -> FittedRelease:
        """Return the release without the learned distribution, which is not needed to release rows."""
        bare = FittedRelease.from_channel(self.channel, self.layout.bare(), self.budget)
        return replace(bare, fallback=self.fallback, handle_unknown=self.handle_unknown, is_fixed=self.is_fixed)

    @property
    def classes(self) -> ClassPartition | None:
        """Latent classes from which rows are generated; None if the released symbols are tuples."""
        return layout_classes(self.layout)

    @property
    def output_columns(self) -> tuple[str, ...]:
        """Names of the released columns."""
        return self.channel.outputs.columns if self.classes is None else self.classes.names

    @property
    def printed_levels(self) -> dict[str, pa.Array]:
        """Values that each released column may have."""
        if self.classes is not None:
            return {name: values for name, values in self.classes.values.items() if name not in self.layout.keep}
        outputs = self.channel.outputs
        return dict(zip(outputs.columns, outputs.levels, strict=True))

    def symbol_rows(self, counts: ContingencyTable) -> NDArray[np.int64]:
        """Number of counted rows with each input symbol of the channel; 0 for grid points without rows."""
        joined, inputs, counted = self.channel.inputs.union(counts.public)
        rows = np.zeros(len(joined), np.int64)
        rows[counted] = counts.seen.sum(axis=0)
        return rows[inputs]

    @cached_property
    def drawn_bins(self) -> dict[str, Bins]:
        """Bins of the columns that release a number drawn inside a bin instead of its label."""
        return {name: bins for name, bins in self.layout.bins.items() if not bins.prints_labels}

    def wide(self, types: Mapping[str, np.dtype[Any]]) -> set[str]:
        """Columns whose released whole numbers may not fit their original types, because of noise or intervals."""
        outputs, names = self.channel.outputs, set()
        for name, level in zip(outputs.columns, outputs.levels, strict=True):
            bins, least, largest = self.drawn_bins.get(name), 0, 0
            if bins is not None and bins.whole:
                least, largest = bins.whole_range
            elif pa.types.is_integer(level.type) and len(level):
                least, largest = pc.min(level).as_py(), pc.max(level).as_py()
            if name in types and not np.iinfo(types[name]).min <= least <= largest <= np.iinfo(types[name]).max:
                names.add(name)
        return names

    def encode(
        self, source: Mapping[str, Any], workers: int = 1, first: int | None = None
    ) -> tuple[NDArray[np.int32], int]:
        """Public code of each row, and the number of rows whose symbols were unseen at fit; see `Layout.columns`."""
        codes = self.channel.inputs.encode(self.layout.columns(source, workers, first))
        unseen = codes < 0
        n_unseen = int(np.count_nonzero(unseen))
        if n_unseen:
            if self.handle_unknown == "error":
                raise UnknownSymbol(self.layout.public, n_unseen)
            # A changed column makes most rows unknown, so a few unknown rows need no examination.
            if self.classes is None and 2 * n_unseen > len(codes):
                refuse_changed(self.layout.columns(source), self.channel.inputs, self.layout.bins)
            codes[unseen] = self.fallback
        return codes, n_unseen

    def apply(self, source: Mapping[str, Any], words: RandomWords, start: int = 0) -> tuple[dict[str, pa.Array], int]:
        """Release rows: return their released columns, and the number of rows whose symbol was unseen at fit.

        Parameters
        ----------
        source : mapping of str to array
            Public columns of consecutive rows.
        words : RandomWords
        start : int
            Number of the first row; the draw of a row depends on its number, not on its batch.
        """
        codes, n_unseen = self.encode(source)
        warn_of_unseen(n_unseen, len(codes))
        return self.draw(codes, words, start) | self.own_values(source), n_unseen

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Names of kept columns whose exact values are written although they are counted in groups."""
        return tuple(name for name in self.layout.keep if name in self.layout.bins and self.classes is not None)

    def own_values(self, source: Mapping[str, Any]) -> dict[str, ArrowColumn]:
        """Exact values of rows in `own_columns`."""
        return {name: decode_dictionary(as_arrow(source[name], name)) for name in self.own_columns}

    def check_order(self, order: RowOrder) -> None:
        """Refuse to shuffle rows if exact values of kept columns are written."""
        if order == "shuffle" and self.own_columns:
            name = self.own_columns[0]
            raise InvalidParameter(
                f"column {name!r} is kept unchanged but has bins, which is possible only with rows='keep'; "
                "give rows='keep', or leave out its bins"
            )

    def draw(
        self, codes: NDArray[np.int32], words: RandomWords, start: int = 0, workers: int = 1
    ) -> dict[str, pa.Array]:
        """Draw the released columns of encoded rows; see `apply`."""
        return self.decode(self.channel.sample(codes, words, start=start), words, start, workers)

    def decode(
        self, released: NDArray[Any], words: RandomWords, start: int = 0, workers: int = 1
    ) -> dict[str, pa.Array]:
        """Convert released codes to columns: dictionary arrays, or drawn values for binned columns."""
        if self.classes is not None:
            if not (keep := self.layout.keep):
                return self.classes.decode(released.astype(np.int32, copy=False), words, start, workers)
            outputs = self.channel.outputs
            cells = np.asarray(outputs.levels[-1])[outputs.codes[released, -1]]
            symbols = outputs.decode(released)
            return self.classes.decode(cells, words, start, workers, {name: symbols[name] for name in keep})
        columns = dict(self.channel.outputs.decode(released))
        for lane, name in enumerate(sorted(self.layout.bins)):
            if name in columns and name in self.drawn_bins:
                drawn = words.words(_BIN_LANE + lane, start, len(released))
                columns[name] = self.drawn_bins[name].draw(columns[name], drawn)
        return columns


def warn_of_unseen(n_unseen: int, n_rows: int) -> None:
    """Warn of the number of rows with symbols that did not occur at fit."""
    if n_unseen:
        warnings.warn(
            f"{n_unseen} of {n_rows} rows have public values that did not occur at fit; these rows were released "
            "like rows with the riskiest symbol",
            UnseenSymbolWarning,
            stacklevel=4,
        )


@cache
def _nothing_known() -> tuple[JointDistribution, LeakageReport]:
    """Distribution with a single symbol, and the leakage report of this distribution."""
    joint = JointDistribution.from_matrix([[1.0]])
    return joint, LeakageReport.measure(joint, Channel.identity(1))


def holdout_report(counts: ContingencyTable, design: FittedRelease, confidence: float) -> LeakageReport:
    """Measure the leakage of a design with the counts of other rows, as an estimate for the population.

    Intervals are left out if the worst case of the channel is too large to compute.
    """
    distribution, channel, budget = restrict(counts, design.channel, design.fallback, design.report.budget)
    # The optimality of the design was proved under the distribution of the fit, not of these rows.
    facts = replace(design.report.facts, optimality=None)
    report = LeakageReport.measure(distribution, channel, budget, facts=facts)
    distributions = ConfidenceSet.of(counts, confidence)
    if distributions.work(channel) > MOST_ENTRIES:
        return report
    worst = distributions.worst_case(channel)
    report = replace(report, measures=as_estimates(report.measures, worst, channel))
    lines = measure_worst_case(worst, report.budget)
    return report.with_worst_case(lines, confidence=report.confidence, worst=worst)
