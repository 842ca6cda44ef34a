"""Leakage of S through the order of rows: a file sorted by S reveals S whatever the channel does.

`sanitize.release.random_order` tests the sensitive columns jointly and each released column by itself: all rows by
block, and up to 2^20 of them by small block, by every second row, and by neighbours. It does not test longer periods
and distances, or orders that follow a secret rule (a hash of S and a password). The default is to shuffle.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.sampling.count_noise import digest_of_counts
from sanitize._util.tolerances import FALSE_ALARM
from sanitize.core.budgets import limits_for
from sanitize.core.joint import JointDistribution
from sanitize.core.measures import Measure, mutual_information
from sanitize.errors import InvalidParameter, RowOrderLeak
from sanitize.release.random_order import SEGMENT_ROWS, findings
from sanitize.tables.columns import factorize, python_values
from sanitize.tables.keys import Combined, count, present_codes, take_answers, with_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.count_noise import CountNoise
    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.alphabet import Alphabet
    from sanitize.core.budgets import Budget
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.random_order import Finding
    from sanitize.report import LeakageReport
    from sanitize.tables.columns import ArrowColumn

# If there are more symbols, some are pooled: pairs of symbols then still have rows, and their codes fit 16 bits.
MOST_SYMBOLS = 64
# Offset of the keys of pooled symbols, above the keys of symbols, which have 32 bits.
_CLASS = 1 << 32
# Blocks of a table of any size, whose counts are kept until all rows are known.
_MOST_BLOCKS = 1 << 9
# Rows of a large table that are examined one by one: enough for any pattern that reveals much.
_LOOKED_AT = 1 << 19
# Number of blocks for the figure in the report, and least number of rows in each: with fewer, chance would look like
# information.
_SHOWN_BLOCKS, _SHOWN_ROWS = 64, 500
# Chance that noise on some count exceeds its stated bound, and standard deviations that a random order may show: five
# are exceeded once in about two million.
_NOISE_CHANCE, _DEVIATIONS = 1e-3, 5.0


@dataclass(frozen=True, eq=False)
class _Run:
    """Run of consecutive rows, with keys of symbols, counts by block, and symbols of examined rows."""

    first: int
    keys: NDArray[np.int64]
    blocks: NDArray[np.int64]
    rows: tuple[NDArray[np.uint8], ...]


@dataclass(eq=False)
class SymbolOrder:
    """Symbols of the rows of a table in order, assembled from runs of rows that arrive in any order.

    A symbol is identified by a key of 32 bits, on which all workers agree.
    """

    n_rows: int
    runs: list[_Run] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of rows in each block."""
        return _power_of_2(self.n_rows / _MOST_BLOCKS)

    def add(self, first: int, numbers: NDArray[Any], keys: NDArray[np.int64]) -> None:
        """Add consecutive rows from ``first`` on, given the symbol number of each row and the key of each symbol."""
        if not len(numbers):
            return
        if len(keys) > MOST_SYMBOLS:  # for few numbers, counting shows which of them occur faster than a search
            symbol_keys, places = _place_keys(keys, present_codes(numbers, len(keys)))
            numbers, keys = take_answers(places, numbers), symbol_keys
        edges = np.arange(first // self.size, -(-(first + len(numbers)) // self.size) + 1) * self.size
        cut = np.clip(edges - first, 0, len(numbers))
        counted = np.stack([count(numbers[start:end], len(keys)) for start, end in pairwise(cut)], axis=1)
        symbol_keys, places = _place_keys(keys, counted.sum(axis=1) > 0)
        blocks = np.zeros((len(symbol_keys), counted.shape[1]), np.int64)
        np.add.at(blocks, places, counted)
        # All rows of a small table are examined, and evenly spread segments of a large one.
        end, every = first + len(numbers), SEGMENT_ROWS * max(1, self.n_rows // _LOOKED_AT)
        starts = [start for start in range(first // every * every, end, every) if first < start + SEGMENT_ROWS]
        looked = [(max(first, start) - first, min(end, start + SEGMENT_ROWS) - first) for start in starts]
        rows = tuple(take_answers(places, numbers[start:stop]) for start, stop in looked)
        self.runs.append(_Run(first, symbol_keys, blocks, rows))

    def assemble(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """Assemble the keys of all symbols, their counts by block, and the symbols of examined rows."""
        runs = sorted(self.runs, key=lambda run: run.first)
        symbol_keys = _distinct_keys(np.concatenate([run.keys for run in runs]))
        spans = [slice(run.first // self.size, run.first // self.size + run.blocks.shape[1]) for run in runs]
        blocks = np.zeros((spans[-1].stop, len(symbol_keys)), np.int64)
        rows = []
        for run, span in zip(runs, spans, strict=True):
            places = _place(symbol_keys, run.keys)
            np.add.at(blocks[span].T, places, run.blocks)
            rows += [places[part] for part in run.rows]
        return symbol_keys, blocks, np.concatenate(rows)

    def findings(self, log_rate: float) -> list[Finding]:
        """Return the patterns in the order of the rows; a random order has some with a chance of at most e^log_rate."""
        _, blocks, rows = self.assemble()
        return findings(blocks, self.size, rows, log_rate)


@dataclass(frozen=True, eq=False)
class OrderAudit:
    """Test of the order of rows, from the symbols of S and each released column, gathered batch by batch."""

    orders: dict[tuple[str, ...], SymbolOrder]

    @classmethod
    def empty(cls, sensitive: Sequence[str], n_rows: int, released: Sequence[str] = ()) -> OrderAudit:
        """Make an empty audit for a table of this many rows."""
        columns = (tuple(sensitive), *((name,) for name in released if name not in sensitive))
        return cls({names: SymbolOrder(n_rows) for names in columns})

    def empty_copy(self) -> OrderAudit:
        """Return an empty audit of the same columns."""
        return OrderAudit({names: SymbolOrder(order.n_rows) for names, order in self.orders.items()})

    def count(self, columns: Mapping[str, ArrowColumn], first: int) -> None:
        """Count the rows of a batch, from number ``first`` on."""
        for names, order in self.orders.items():
            selection = {name: columns[name] for name in names}
            if combined := Combined.from_columns(selection):
                keys, numbers = row_keys(combined.table(np.arange(combined.n))), combined.numbers
            else:
                of_rows = row_keys(selection)
                keys = _distinct_keys(of_rows)
                numbers = _place(keys, of_rows)
            order.add(first, numbers, keys)

    def merge(self, addend: OrderAudit) -> OrderAudit:
        """Return a new audit with the sums of the counts of this audit and another."""
        pairs = ((names, order, addend.orders[names]) for names, order in self.orders.items())
        return OrderAudit({names: SymbolOrder(own.n_rows, own.runs + other.runs) for names, own, other in pairs})

    def check_report(self, report: LeakageReport, budget: Budget, counts: ContingencyTable) -> LeakageReport:
        """Return the report of a release that keeps this order; refuse an order that reveals S beyond the limit.

        ``counts`` has the counts of (S, X) over all rows: if a released column follows the order, the order reveals as
        much about S as the raw column does.
        """
        notes, figures = [], []
        for names, order in self.orders.items():
            symbol_keys, blocks, rows = order.assemble()
            conditional, column = np.eye(len(symbol_keys)), "the sensitive columns (within the budget)"
            if names == counts.sensitive.columns:
                figures.append(_information(blocks, order.size))
            else:
                # The order of this column reveals S through P(s|x) of its symbols by themselves, shape (n_s, n_known).
                public, at = counts.public, counts.public.columns.index(names[0])
                keys = row_keys({names[0]: with_missing(public.levels[at])})[public.codes[:, at]]
                conditional = np.zeros((len(counts.sensitive), len(symbol_keys)))
                np.add.at(conditional.T, _place(symbol_keys, keys), counts.counts.T)
                conditional /= np.maximum(conditional.sum(axis=0), 1)
                column = f"column {names[0]!r}: it reveals raw values"
            leaks = findings(blocks, order.size, rows, math.log(FALSE_ALARM / len(self.orders)))
            p_s = conditional @ blocks.sum(axis=0) / blocks.sum()
            limits = limits_for(budget, counts.sensitive)
            for finding in leaks:
                if (limits.lift_excess(conditional @ finding.distributions / p_s[:, None], p_s) > 0).any():
                    raise RowOrderLeak(finding.where)
            if leaks:
                notes.append(f"the rows keep their order, which depends on {column}")
        return replace(report.with_notes(tuple(notes)), measures=(*report.measures, *figures))


@dataclass(frozen=True, eq=False)
class NoisyOrderAudit(OrderAudit):
    """Test of the order from noisy counts of sensitive values in few blocks; released columns are counted exactly.

    Changing one sensitive value changes two counts of one block, so the counts are private at the level of the noise.
    Except with a small chance, an order is refused only if it exceeds both the noise and chance patterns.

    Attributes
    ----------
    blocks : ndarray of shape (n_s, n_blocks)
        Noisy counts, which sum to the number of rows in each block.
    noise : float
        Bound on the noise of all counts, which is exceeded only with a small chance.
    """

    blocks: NDArray[np.float64]
    noise: float

    @classmethod
    def from_audit(
        cls, audit: OrderAudit, sensitive: Alphabet, place: NDArray[np.int32], noise: CountNoise, key: NoiseKey
    ) -> NoisyOrderAudit:
        """Make a noisy test of the same rows, with sensitive symbols mapped to the declared values."""
        released, n_secrets = dict(audit.orders), noise.n_secrets
        symbol_keys, blocks, _ = released.pop(sensitive.columns).assemble()
        counts = np.zeros((n_secrets, len(blocks)), np.int64)
        keys = row_keys(sensitive.decode(np.arange(len(sensitive))))
        np.add.at(counts, place, blocks[:, _place(symbol_keys, keys)].T)
        for n_blocks in (64, 32, 16, 8, 4, 2):  # few enough that noise is small in a block
            reach = math.log(2 * n_secrets * n_blocks / _NOISE_CHANCE) / noise.reach
            if counts.sum() >= max(_SHOWN_ROWS, 4 * reach) * n_blocks:
                break
        edges = np.unique(np.linspace(0, len(blocks), n_blocks, endpoint=False).astype(int))
        counts = np.add.reduceat(counts, edges, axis=1)
        drawn = noise.draw(key.derive(f"noise on the order of rows {digest_of_counts(counts)}"), len(edges))
        return cls(released, counts + drawn - drawn.sum(axis=0) / n_secrets, reach)

    def check_report(self, report: LeakageReport, budget: Budget, counts: ContingencyTable) -> LeakageReport:
        """Return the report of a release in this order; refuse an order that certainly reveals S beyond the limit."""
        rows, p_s = self.blocks.sum(axis=0), counts.to_joint().p_s[:, None]
        limits = limits_for(budget, counts.sensitive)
        margin = self.noise / rows + _DEVIATIONS * np.sqrt(p_s * (1 - p_s) / rows)

        def exceeds(shares: NDArray[np.float64], margin: Any) -> bool:
            shift = shares - p_s
            lifts = 1 + np.sign(shift) * np.maximum(np.abs(shift) - margin, 0) / p_s
            return bool((limits.lift_excess(lifts, p_s[:, 0]) > 0).any())

        if exceeds(self.blocks / rows, margin):
            raise RowOrderLeak(f"in {len(rows)} blocks of rows")
        # The most that an order can reveal is that of a file sorted by the sensitive value, whose blocks are these.
        ends, edges = np.cumsum(p_s), np.append(0, np.cumsum(rows) / rows.sum())
        overlap = np.minimum(ends[:, None], edges[1:]) - np.maximum((ends - p_s[:, 0])[:, None], edges[:-1])
        by_value = np.maximum(overlap, 0) / np.diff(edges)
        if exceeds(by_value, 0) and not exceeds(by_value, margin):
            raise InvalidParameter(
                "rows='keep' needs a test of the order of rows, and the noise is too large to test so few rows; "
                "use rows='shuffle', the default, or raise eps of secret_dp"
            )
        return super().check_report(report, budget, counts)


def row_keys(columns: Mapping[str, ArrowColumn]) -> NDArray[np.int64]:
    """Key of 32 bits for each row: hashes of its values in some columns, combined by exclusive or."""
    of_columns = []
    for name, column in columns.items():
        values, places = factorize(column, name)
        texts = (repr((name, value)).encode() for value in (*python_values(values, name), None))
        digests = [int.from_bytes(hashlib.blake2b(text, digest_size=4).digest()) for text in texts]
        of_columns.append(np.array(digests, np.int64)[places])
    return np.bitwise_xor.reduce(of_columns)


def _distinct_keys(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distinct keys in order; keys are pooled if there are too many, or if some are pooled already."""
    symbol_keys = np.unique(keys)
    is_few = len(symbol_keys) <= MOST_SYMBOLS and symbol_keys.max(initial=0) < _CLASS
    return symbol_keys if is_few else np.unique(_CLASS + symbol_keys % MOST_SYMBOLS)


def _place_keys(keys: NDArray[np.int64], is_present: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Distinct keys of the masked rows, and each row's position among them; 0 for other rows."""
    symbol_keys, places = _distinct_keys(keys[is_present]), np.zeros(len(keys), np.uint8)
    places[is_present] = _place(symbol_keys, keys[is_present])
    return symbol_keys, places


def _place(symbol_keys: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Position of each key, or of its pool, among the known keys."""
    wanted = keys if symbol_keys.max(initial=0) < _CLASS else _CLASS + keys % MOST_SYMBOLS
    return np.searchsorted(symbol_keys, wanted).astype(np.uint8)


def _power_of_2(x: float) -> int:
    """Smallest power of two that is not below a number."""
    return 1 << max(0, math.ceil(x) - 1).bit_length()


def _information(blocks: NDArray[np.int64], size: int) -> Measure:
    """Information about S in the position of a row: I(S; block) for blocks of many rows."""
    n = int(blocks.sum())
    step = _power_of_2(n / np.clip(n // _SHOWN_ROWS, 2, _SHOWN_BLOCKS)) // size
    shown = np.add.reduceat(blocks, np.arange(0, len(blocks), step)).T
    value = mutual_information(JointDistribution.from_matrix(shown / n))
    return Measure("position_information", "what row order reveals, I(S;block)", "nats", "estimate", None, value)
