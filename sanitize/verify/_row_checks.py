"""The checks of a verification that look at rows: what was possible, how often, in which order, and drawn afresh."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sanitize.joint import JointDistribution
from sanitize.lifts import max_log_lift
from sanitize.measures import mutual_information
from sanitize.verify import _chance as law
from sanitize.verify import _noise as noise
from sanitize.verify._dispersion import closest
from sanitize.verify._observed import equal_draws, printed_of
from sanitize.verify._order import log_chance_of_same_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sanitize._release.row_order import RowOrder
    from sanitize.verify._observed import Observed
    from sanitize.verify._printing import PrintedTally

# Checks that may raise a false alarm share the stated rate equally.
_CHANCES = 7


@dataclass(frozen=True)
class Check:
    """One check of a released file.

    Attributes
    ----------
    name : str
    ok : bool
    detail : str
        What was looked at and what was found; it quotes no value of the source.
    """

    name: str
    ok: bool
    detail: str

    @classmethod
    def passed(cls, name: str, detail: str) -> Check:
        """A check that found nothing."""
        return cls(name, ok=True, detail=detail)

    @classmethod
    def failed(cls, name: str, detail: str) -> Check:
        """A check that found a fault."""
        return cls(name, ok=False, detail=detail)


@dataclass
class RowChecks:
    """Checks of rows, gathered one by one.

    Parameters
    ----------
    seen : Observed
    rows : {"shuffle", "keep"}
    false_alarm : float
        Largest chance that an honest release fails any of them.
    """

    seen: Observed
    rows: RowOrder
    false_alarm: float
    checks: list[Check] = field(default_factory=list)

    def _chance(self, name: str, log_chance: float, good: str, bad: str, share: int = 1) -> None:
        """Judge by a bound on chance."""
        ok = log_chance >= math.log(self.false_alarm / _CHANCES / share)
        figure = f"10^{log_chance / math.log(10):.1f}" if log_chance > -1e6 else "nothing"
        self.checks.append(Check(name, ok, good if ok else f"{bad} (chance at most {figure})"))

    def check_support(self) -> None:
        """Every printed symbol can come from a row of the source, and groups that no row leaves keep their rows."""
        seen = self.seen
        inputs, outputs = seen.groups
        unreached = int(seen.y_counts[outputs < 0].sum())
        n_groups = int(max(inputs.max(), outputs.max())) + 1
        rows_in = np.bincount(inputs, weights=seen.x_counts, minlength=n_groups)
        rows_out = np.bincount(outputs[outputs >= 0], weights=seen.y_counts[outputs >= 0], minlength=n_groups)
        wrong = int((rows_in != rows_out).sum()) if not seen.unknown else 0
        impossible = seen.outside
        if seen.dense is not None and seen.pairs is not None:
            impossible = int(seen.pairs[seen.dense == 0].sum())
        groups = len(np.unique(inputs[seen.x_counts > 0]))
        faults = [
            f"{seen.unknown} rows hold a symbol that the channel never prints" if seen.unknown else "",
            f"{unreached} rows hold a symbol that no row of the source leads to" if unreached else "",
            f"{impossible} rows hold a symbol that their own row of the source cannot lead to" if impossible else "",
            f"{wrong} of {groups} groups of symbols that no row leaves gained or lost rows" if wrong else "",
        ]
        found = "; ".join(fault for fault in faults if fault)
        self.checks.append(
            Check("possible", not found, found or f"all symbols are possible, {groups} groups keep rows")
        )

    def check_frequencies(self) -> None:
        """Symbols are as frequent as the channel makes them, given the symbols of the source."""
        seen, n = self.seen, max(int(self.seen.x_counts.sum()), 1)
        mean, variance = law.expected_counts(seen.channel, seen.x_counts, seen.dense)
        evidence = law.log_evidence(seen.y_counts[None, :], mean / n)
        worst = float(law.log_bennett(seen.y_counts - mean[0], variance[0]).min()) + math.log(len(mean[0]))
        logs = [-evidence, worst]
        if seen.dense is not None and seen.pairs is not None:
            logs.append(-law.log_evidence(np.where(seen.dense > 0, seen.pairs, 0), seen.dense))
        what = "pairs of source and released symbols" if len(logs) == 3 else "released symbols"
        bad = f"{what} do not follow the channel"
        if seen.dense is not None:
            copied = law.log_chance_of_copy(seen.channel, seen.x_counts, seen.y_counts, seen.dense)
            if copied < min(logs):
                bad = "released symbols are exactly as frequent as in the source, as if nothing had been drawn"
            logs.append(copied)
            close = closest(seen.channel, seen.y_counts, seen.x_counts, seen.dense)
            if close < min(logs):
                bad = "released symbols are closer to their expected counts than draws can be: rows were not drawn"
            logs.append(close)
        log_chance = min(0.0, min(logs) + math.log(len(logs)))
        self._chance("frequencies", log_chance, f"{what} follow the channel", bad)

    def check_printing(self, tally: PrintedTally | None) -> None:
        """Rows of a whole table were drawn from the cells that they stand for, and are no copies."""
        if tally is None:
            return
        log_chance, bad = tally.log_chance()
        self._chance("printing", min(0.0, log_chance), "rows were drawn from their cells", bad)

    def check_leakage(self) -> None:
        """Released rows tell S no more than the channel lets them; measured where rows are aligned."""
        seen = self.seen
        if seen.told is None:
            self.checks.append(
                Check.passed("leakage", "rows are shuffled, so none can be laid beside its sensitive one")
            )
            return
        if not seen.told.any():
            self.checks.append(Check.failed("leakage", "no row holds a symbol that the channel prints"))
            return
        mean, variance = law.expected_counts(seen.channel, seen.inputs, seen.dense)
        log_chance = float(law.log_bennett(seen.told - mean, variance).min()) + math.log(seen.told.size)
        used = seen.told[:, seen.told.sum(axis=0) > 0]
        released = JointDistribution.from_matrix(used[used.sum(axis=1) > 0] / max(used.sum(), 1))
        figures = (
            f"the released rows tell {mutual_information(released):.4g} nats of the sensitive columns, log-lift at "
            f"most {max_log_lift(released).max():.4g}, chance included"
        )
        bad = f"{figures}; more than the channel lets through"
        self._chance("leakage", min(log_chance, 0.0), figures, bad)

    def check_noise(self, groups: Sequence[Sequence[str]]) -> None:
        """Each row's noise is its own, and each part's."""
        seen = self.seen
        if self.rows != "keep" or seen.dense is None:
            why = "rows are shuffled" if self.rows != "keep" else "the channel is too large to write out"
            self.checks.append(Check.passed("noise", f"not looked at row by row: {why}"))
            return
        log_chance, distance = noise.log_chance_of_repeats(noise.residuals_of_rows(seen.dense, *seen.first))
        between = noise.log_chance_of_parts(seen, groups) if len(groups) > 1 else 0.0
        bad = f"noise repeats itself {distance} rows later" if log_chance <= between else "parts share their noise"
        log_chance = min(0.0, min(log_chance, between) + math.log(2))
        self._chance("noise", log_chance, "each row has noise of its own", bad)

    def check_order(self) -> None:
        """Shuffled rows stand in an order that tells nothing."""
        seen = self.seen
        if seen.order is None:
            self.checks.append(Check.passed("order", "rows keep their order, which the design measures"))
            return
        log_chance, how = seen.order.log_chance()
        by_value = 0.0 if seen.sorted is None else seen.sorted.log_chance()
        if by_value < log_chance:
            log_chance, how = by_value, "rows stand as if they were sorted by a column of the source"
        log_chance += math.log(2)
        self._chance("order", min(0.0, log_chance), "the order of rows tells nothing", f"not shuffled: {how}")

    def check_reuse(self, others: Iterable[tuple[Observed, bool]]) -> None:
        """The noise is not that of another release; ``others`` come with whether their bytes are the same."""
        logs = []
        for other, same_bytes in others:
            logs.append(-math.inf if same_bytes else self._shared(other))
        if not logs:
            self.checks.append(Check.passed("reuse", "no other release was given to compare with"))
            return
        worst = int(np.argmin(logs))
        self._chance(
            "reuse",
            min(0.0, logs[worst]),
            f"shares its noise with none of {len(logs)} other releases",
            f"shares its noise with other release number {worst + 1}: a key was used twice",
            len(logs),
        )

    def _shared(self, other: Observed) -> float:
        seen = self.seen
        if self.rows != "keep":
            return log_chance_of_same_order(
                lambda: printed_of(seen.streams, other.streams), (seen.channel.n_outputs, other.channel.n_outputs)
            )
        if seen.dense is None or other.dense is None:
            return 0.0
        logs = []
        equal = equal_draws(seen, other) if seen.channel == other.channel else None
        if equal is not None:
            same = np.square(seen.dense).sum(axis=1)
            expected, variance = seen.x_counts @ same, seen.x_counts @ (same * (1 - same))
            logs.append(float(law.log_bennett(equal - expected, variance)))
        one, two = (noise.residuals_of_rows(o.dense, *o.first) for o in (seen, other) if o.dense is not None)
        logs.append(noise.log_chance_of_repeats(one, two)[0])
        return min(logs) + math.log(len(logs))
