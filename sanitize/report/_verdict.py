"""The figures of a release and whether it is within its budget: frozen, and without views."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.budgets import Budget
from sanitize.lifts import max_log_lift, min_log_lift
from sanitize.report._facts import refuted
from sanitize.report._headline import VERDICT_TOLERANCE, is_useless, state_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.confidence import WorstCase
    from sanitize.joint import JointDistribution
    from sanitize.measures import Measure
    from sanitize.report._curve import TradeoffCurve
    from sanitize.report._facts import Finding, Origin, ReleaseFacts, Section
    from sanitize.report._headline import State
    from sanitize.report._kept import KeptColumn


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was measured of a release, against its budget, with the laws it was measured on."""

    measures: tuple[Measure, ...]
    budget: Budget | None
    facts: ReleaseFacts
    sensitive: tuple[str, ...]
    public: tuple[str, ...]
    n_rows: int | None
    _before: JointDistribution = field(repr=False)
    _after: JointDistribution = field(repr=False)
    _channel_excess: float = field(default=-math.inf, repr=False)
    sections: tuple[Section, ...] = ()
    curve: TradeoffCurve | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()
    confidence: float | None = None
    _worst: WorstCase | None = field(default=None, repr=False)
    kept: tuple[KeptColumn, ...] = ()
    origin: Origin | None = None
    _beside_rows: bool = field(default=False, repr=False)

    @cached_property
    def excess(self) -> NDArray[np.float64]:
        """Nats above the budget of each released symbol, shape (n_y,); -inf without a budget.

        Where the budget limits a figure of the whole channel, every symbol carries at least its excess.
        """
        n_y = len(self._after.public)
        excess = np.full(n_y, self._channel_excess)
        if self.budget is not None:
            excess = np.maximum(excess, self.budget.excess(self._after))
            if self._worst is not None and self.confidence is not None:
                excess = np.maximum(excess, self._worst.excess(self.budget))
        excess.flags.writeable = False  # the verdict is read from it
        return excess

    @property
    def worst_excess(self) -> float:
        """Largest excess of any released symbol, in nats."""
        return float(self.excess.max())

    @property
    def ok(self) -> bool:
        """Whether every symbol is within budget (to 1e-9), no sensitive column is released and no check failed."""
        return self.worst_excess <= VERDICT_TOLERANCE and not self._is_void

    @property
    def state(self) -> State:
        """What the verdict claims, in one word.

        ``"source"``: every law that the counts allow at `confidence` is within the budget. ``"rows"``: the table's own
        frequencies are (or the law as stated), and as a sample the table may be off. ``"refused"``: not `ok`.
        ``"audit"``: there is no budget, and nothing is claimed.
        """
        return state_of(ok=self.ok, has_budget=self.budget is not None, confidence=self.confidence)

    @property
    def useless(self) -> bool:
        """Whether the release is allowed, and each of its columns keeps less than 5 % of its information."""
        return is_useless(self.state, [column.share for column in self.kept])

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the release by name, with the verdict; no symbols and no counts.

        ``status`` says in words how good the design is known to be (optimal, within so many nats of the optimum, cut
        short, a heuristic), and ``gap`` in nats; None where there was nothing to search for, or no bound is known.
        """
        values: dict[str, Any] = {measure.name: measure.after for measure in self.measures}
        standing = self.facts.standing
        found = {"status": None, "gap": None} if standing is None else {"status": standing.words, "gap": standing.gap}
        return {"ok": self.ok, "mechanism": self.facts.mechanism, "budget": repr(self.budget), **found, **values}

    @property
    def _is_void(self) -> bool:
        # A sensitive column released as it is rules all other symbols out: no finite budget allows that. Nor does
        # any figure hold for rows that were not drawn as it says.
        return bool(set(self.facts.kept) & set(self.sensitive)) or refuted(self.findings)

    @property
    def _of_cells(self) -> bool:
        """Whether raw figures are of cells of a tree, which hide rows of the columns among each other already."""
        return self._before.public.columns != self.public and not self._beside_rows

    @property
    def _constant(self) -> tuple[str, ...]:
        """Sensitive columns with one value only."""
        sensitive = self._before.sensitive
        return tuple(
            name for name, codes in zip(sensitive.columns, sensitive.codes.T, strict=True) if (codes == codes[0]).all()
        )

    @property
    def _n_single(self) -> int | None:
        """How many public symbols stand for one row; None where no rows were counted."""
        if self.n_rows is None:
            return None
        return int(np.isclose(self._before.p_x * self.n_rows, 1.0, rtol=1e-6, atol=0.0).sum())

    def _symbols(self, n: int | None = None) -> list[dict[str, Any]]:
        """Leakage of each released symbol (or of the first n), riskiest first: by excess, then by log-lift."""
        after = self._after
        top, bottom = max_log_lift(after), min_log_lift(after)
        order = np.lexsort((-np.maximum(top, -bottom), -self.excess))
        return [
            {
                "symbol": after.public.label(int(y)),
                "probability": float(after.p_x[y]),
                "max_log_lift": float(top[y]),
                "min_log_lift": float(bottom[y]),
                "excess": float(self.excess[y]) if self.budget is not None else None,
            }
            for y in order[:n]
        ]

    def _columns(self) -> list[dict[str, str]]:
        rows = [{"column": name, "role": "sensitive"} for name in self.sensitive if name not in self.facts.kept]
        released = [name for name in self.public if name not in self.facts.kept]
        rows += [{"column": name, "role": "released through the channel"} for name in released]
        return rows + [{"column": name, "role": "kept as it is"} for name in self.facts.kept]
