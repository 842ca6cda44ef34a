"""The figures of a release, from P_SX and the channel's matrix alone, and whether it is within its budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.formatting import level
from sanitize.core import measures
from sanitize.core.bounds import implied_bounds
from sanitize.core.budgets import Budget, check_kind, limits_for
from sanitize.core.channel import ReducedChannel
from sanitize.core.confidence import ConfidenceSet, design_distributions, intervals
from sanitize.core.lifts import chi2_lift, l1_lift, max_log_lift, min_log_lift
from sanitize.core.measures import Measure
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.report._facts import Section
from sanitize.report._headline import (
    LEDGER,
    USELESS_BELOW,
    VERDICT_TOLERANCE,
    Lack,
    is_useless,
    relations_of,
    report_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize.core.channel import Channel
    from sanitize.core.confidence import WorstCase
    from sanitize.core.joint import JointDistribution
    from sanitize.core.profiles import Relation
    from sanitize.report._curve import TradeoffCurve
    from sanitize.report._facts import Finding, Origin, ReleaseFacts
    from sanitize.report._headline import State


# Confidence of the worst case that a report adds when none was asked for, where that is little work.
USUAL_CONFIDENCE = 0.95
# More secrets, or combinations of fewer rows on average, leave a design little.
_MANY_SECRETS, _FEW_ROWS = 20, 50
# What a distribution tells of S: label, unit, and how it is measured.
_LEAKAGE: dict[str, tuple[str, str, Callable[[JointDistribution], float]]] = {
    "max_log_lift": ("largest log-lift of any symbol", "nats", lambda j: max_log_lift(j).max()),
    "min_log_lift": ("smallest log-lift of any symbol", "nats", lambda j: min_log_lift(j).min()),
    "ldp_sensitive": ("local DP of the sensitive columns", "nats", measures.ldp_epsilon),
    "l1_lift": ("largest l1-lift", "1", lambda j: l1_lift(j).max()),
    "chi2_lift": ("largest chi2-lift", "1", lambda j: chi2_lift(j).max()),
    "mutual_information": ("mutual information I(S;Y)", "nats", measures.mutual_information),
    "total_variation": ("total variation T(S;Y)", "1", measures.total_variation),
    "chi2_divergence": ("chi2 divergence", "1", measures.chi2_divergence),
    "sibson_2": ("Sibson information, order 2", "nats", lambda j: measures.sibson_information(j, 2)),
    "arimoto_2": ("Arimoto information, order 2", "nats", lambda j: measures.arimoto_information(j, 2)),
    "maximal_leakage": ("maximal leakage", "nats", measures.maximal_leakage),
}


def measure_all(
    before: JointDistribution, after: JointDistribution, channel: Channel, budget: Budget | None
) -> tuple[Measure, ...]:
    """Every measure of the raw and of the released distribution."""
    bounds = implied_bounds(budget)
    lines = [
        Measure(name, label, unit, "exact", float(measure(before)), float(measure(after)), bounds.get(name))
        for name, (label, unit, measure) in _LEAKAGE.items()
    ]
    entropy = measures.entropy(before.p_x)
    try:
        private: float | None = measures.ldp_epsilon(channel)
    except InvalidParameter:  # too large to measure without a dense matrix
        private = None
    utility = measures.utility(before, channel)
    share = measures.normalized_utility(before, channel)
    return (
        *lines,
        Measure("ldp_public", "local DP of the public columns", "nats", "exact", math.inf, private),
        Measure("utility", "information kept I(X;Y)", "nats", "exact", entropy, utility),
        Measure("normalized_utility", "share of information kept", "1", "exact", 1.0, share),
    )


def measure_worst_distribution(
    joint: JointDistribution,
    channel: Channel,
    confidence: float | ConfidenceSet | None,
    budget: Budget | None,
) -> WorstCase | None:
    """Worst case over the distributions that the counts allow; None where nobody asked and it is unknown or costly."""
    if confidence is not None:
        if budget is not None:
            check_kind(budget, "confidence=")
        return design_distributions(joint, confidence).worst_case(channel)
    try:
        distributions = ConfidenceSet.of(joint, USUAL_CONFIDENCE)
    except (InvalidDistribution, InvalidParameter):  # no rows to speak of: a distribution known by itself, or weighted
        return None
    return distributions.worst_case(channel) if distributions.work(channel) <= 1 << 23 else None


def side_knowledge_excess(
    joint: JointDistribution, channel: Channel, side_columns: Sequence[str], budget: Budget
) -> NDArray[np.float64]:
    """Nats above the budget of each released symbol for whoever knows any of these columns of a row, at worst."""
    limits, excess = limits_for(budget, joint.sensitive), np.full(channel.n_outputs, -math.inf)
    for case in joint.public.alike(side_columns):
        mass = joint.pmf * case
        after, prior = channel.push(mass), mass.sum(axis=1)
        prior /= prior.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            lifts = after / after.sum(axis=0) / prior[:, None]
        # Of a secret, or a released symbol, that the case has not nothing is learned.
        excess = np.maximum(excess, limits.lift_excess(np.where(np.isfinite(lifts), lifts, 1.0), prior))
    return excess[channel.push(joint.pmf).any(axis=0)]  # of those that can occur


def measure_worst_case(worst: WorstCase, budget: Budget | None) -> tuple[Measure, ...]:
    """Figures that hold for every distribution of the set; what the budget allows is the same for all distributions."""
    bounds = implied_bounds(budget)
    ending = f"worst case at {level(worst.distributions.confidence)}"
    figures = {
        "max_log_lift": ("max log-lift", worst.max_log_lift.max()),
        "min_log_lift": ("min log-lift", worst.min_log_lift.min()),
        "ldp_sensitive": ("local DP of S", worst.ldp_epsilon.max()),
    }
    return tuple(
        Measure(f"worst_{name}", f"{label}, {ending}", "nats", "bound", None, float(value), bounds.get(name))
        for name, (label, value) in figures.items()
    )


def as_estimates(measures: tuple[Measure, ...], worst: WorstCase, channel: Channel) -> tuple[Measure, ...]:
    """Figures of a sample, as estimates of the distribution behind it, with intervals where there are sound ones."""
    interval_ends: dict[str, Any] = {
        name: {"low": low, "high": high} for name, (low, high) in intervals(worst, channel).items()
    }
    return tuple(
        replace(line, kind="estimate", **interval_ends.get(line.name, {}))
        if line.kind == "exact" and line.name != "ldp_public"
        else line
        for line in measures
    )


@dataclass(frozen=True)
class KeptColumn:
    """Share of a column's information that the released symbol keeps.

    Attributes
    ----------
    column : str
    share : float
        I(X_j;Y) / H(X_j), between 0 and 1; 1 for a column with a single value, of which there is nothing to lose.
    before, after : float or None
        Largest log-lift of S and this column alone, in nats, as it was and as it is printed; None where it is not
        printed as a column of its own, or was not measured.
    """

    column: str
    share: float
    before: float | None = None
    after: float | None = None


def measure_columns(joint: JointDistribution, channel: Channel, after: JointDistribution) -> tuple[KeptColumn, ...]:
    """Measure the utility of each public column; none where that would be much work.

    ``after`` is the distribution of (S, Y).
    """
    names, shares = joint.public.columns, []
    if len(names) == 1:
        shares.append(measures.normalized_utility(joint, channel))
    else:
        reduced = ReducedChannel.from_channel(channel)
        codes = [np.unique(column, return_inverse=True)[1] for column in joint.public.codes.T]
        n_levels = [int(of_column.max()) + 1 for of_column in codes]
        if sum(n_levels) * reduced.most_symbols > 1 << 22:  # that are worth a figure beside the verdict
            return ()
        for of_column, n in zip(codes, n_levels, strict=True):
            before = np.bincount(of_column * reduced.n_states + reduced.states, joint.p_x, n * reduced.n_states)
            shares.append(utility_share(reduced.push(before.reshape(n, reduced.n_states).astype(np.float64))))
    largest = ((largest_alone(joint, name), largest_alone(after, name)) for name in names)
    return tuple(
        KeptColumn(name, share, *column_lifts) for name, share, column_lifts in zip(names, shares, largest, strict=True)
    )


def largest_alone(joint: JointDistribution, column: str) -> float | None:
    """Largest log-lift of S and one public column alone, in nats; None where there is no such column."""
    if column not in joint.public.columns:
        return None
    codes = np.unique(joint.public.codes[:, joint.public.columns.index(column)], return_inverse=True)[1]
    distribution = np.stack([np.bincount(codes, row) for row in joint.pmf])
    seen = distribution.sum(axis=0) > 0
    lifts = distribution[:, seen] / (joint.p_s[:, None] * distribution.sum(axis=0)[seen])
    return float(np.log(lifts.max()))


def utility_share(released: NDArray[np.float64] | sparse.csr_array) -> float:
    """I(X_j;Y) / H(X_j), between 0 and 1, of the distribution of (X_j, Y); 1 where the column is constant."""
    p_x, p_y = np.asarray(released.sum(axis=1)), released.sum(axis=0)
    together = released.ravel() if isinstance(released, np.ndarray) else released.data
    information = measures.entropy(p_x) + measures.entropy(p_y) - measures.entropy(together)
    return measures.share_of_entropy(information, p_x)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Measurements of a release, against its budget, with the distributions it was measured on."""

    measures: tuple[Measure, ...]
    budget: Budget | None
    facts: ReleaseFacts
    sensitive: tuple[str, ...]
    public: tuple[str, ...]
    n_rows: int | None
    _before: JointDistribution = field(repr=False)
    _after: JointDistribution = field(repr=False)
    _least_excess: NDArray[np.float64] | float = field(default=-math.inf, repr=False)
    sections: tuple[Section, ...] = ()
    curve: TradeoffCurve | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()
    confidence: float | None = None
    _worst: WorstCase | None = field(default=None, repr=False)
    kept: tuple[KeptColumn, ...] = ()
    origin: Origin | None = None
    pairs: tuple[Relation, ...] = ()

    @cached_property
    def excess(self) -> NDArray[np.float64]:
        """Nats above the budget of each released symbol, shape (n_y,); -inf without a budget.

        Where the budget limits a figure of the whole channel, every symbol carries at least its excess; where it is
        for those who know columns of a row, too, a symbol carries what is too much for any of them.
        """
        n_y = len(self._after.public)
        excess = np.full(n_y, self._least_excess)
        if self.budget is not None:
            excess = np.maximum(excess, self.budget.excess(self._after))
            if self._worst is not None and self.confidence is not None:
                excess = np.maximum(excess, self._worst.excess(limits_for(self.budget, self._after.sensitive)))
        excess.flags.writeable = False  # the verdict is read from it
        return excess

    @property
    def worst_excess(self) -> float:
        """Largest excess of any released symbol, in nats."""
        return float(self.excess.max())

    @property
    def ok(self) -> bool:
        """True if every symbol is within budget (to 1e-9), there is something to protect, and no check failed.

        Nor is one that releases a sensitive column.
        """
        return self.worst_excess <= VERDICT_TOLERANCE and not self._is_void and not self.protects_nothing

    @property
    def protects_nothing(self) -> bool:
        """True if there are rows and a budget, and the sensitive columns have one value in all rows."""
        is_asked = self.budget is not None and self.n_rows is not None and self.sensitive != self.public
        return is_asked and len(self._constant) == len(self.sensitive)

    @property
    def state(self) -> State:
        """Claim of the verdict, in one word.

        ``"source"``: every distribution that the counts allow at `confidence` is within the budget. ``"rows"``: the
        table's own frequencies are (or the distribution as stated), and as a sample the table may be off.
        ``"nothing"``: the sensitive columns have one value in all rows. ``"refused"``: not `ok`. ``"audit"``: there is
        no budget, and nothing is claimed.
        """
        has_budget = self.budget is not None
        return report_state(
            ok=self.ok, has_budget=has_budget, confidence=self.confidence, is_constant=self.protects_nothing
        )

    @property
    def useless(self) -> bool:
        """True if the release is allowed, and most of its columns keep less than 5 % of their information.

        Of shuffled generated rows, whether they show less than 5 % of what pairs of columns say about each other.
        """
        return is_useless(self.state, [column.share for column in self.kept], self.relations)

    @property
    def relations(self) -> float | None:
        """Share of what pairs of columns say about each other that shuffled rows show; None where not measured."""
        return relations_of(map(vars, self.measures))

    @property
    def lack(self) -> Lack | None:
        """Why it is `useless`, or why no generated row depends on its own class, as far as known; None where neither.

        Rows that depend on none still show what columns say about each other, but nothing of a row of the table.
        """
        by_name = {measure.name: measure.after for measure in self.measures}
        utility, plain = by_name["normalized_utility"] or 0.0, by_name.get("normalized_utility_plain")
        is_unlinked = self.state in ("source", "rows") and self.relations is not None and utility < VERDICT_TOLERANCE
        if not self.useless and not (is_unlinked and len(self._before.public) > 1):
            return None
        if self.facts.mechanism in ("none", LEDGER):  # nobody designed this channel within the limit
            return Lack("unknown")
        # Of tuples without a confidence nothing but the limit was asked.
        is_tuples = self._before.public.columns == self.public
        few = self._few_rows() if is_tuples else None
        if (is_tuples and self.confidence is None) or (plain is not None and plain < USELESS_BELOW):
            return few or Lack("limit")
        if self.facts.shortage is not None:
            return Lack(*self.facts.shortage)
        return few or Lack("limit or rows" if plain is None or utility >= USELESS_BELOW else "rows")

    def _few_rows(self) -> Lack | None:
        """The column whose many values leave each few rows: a sensitive one, or the widest of the combinations."""
        secrets, combinations = self._before.sensitive, self._before.public
        if len(secrets) > _MANY_SECRETS:
            return Lack("secrets", column=secrets.widest)
        if self.n_rows is not None and len(combinations) > self.n_rows / _FEW_ROWS:
            return Lack("combinations", column=combinations.widest)
        return None

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the release by name, with the verdict; no symbols and no counts.

        ``status`` says in words how good the design is known to be (optimal, within so many nats of the optimum, cut
        short, a heuristic), and ``gap`` in nats; None where there was nothing to search for, or no bound is known.
        """
        values: dict[str, Any] = {measure.name: measure.after for measure in self.measures}
        optimality = self.facts.optimality
        status, gap = (None, None) if optimality is None else (optimality.words, optimality.gap)
        design = {"mechanism": self.facts.mechanism, "budget": repr(self.budget), "status": status, "gap": gap}
        return {"ok": self.ok, **design, **values}

    @property
    def _is_void(self) -> bool:
        # A sensitive column released as it is rules all other symbols out: no finite budget allows that. Nor does
        # any figure hold for rows that were not drawn as it says.
        return bool(set(self.facts.kept) & set(self.sensitive)) or self._refuted

    @property
    def _refuted(self) -> bool:
        """True if a finding refutes the release."""
        return not all(getattr(finding, "ok", True) for finding in self.findings)

    @property
    def _of_cells(self) -> bool:
        """True if raw figures are of latent classes, which hide rows of the columns among each other already."""
        return self._before.public.columns != self.public

    @property
    def _constant(self) -> tuple[str, ...]:
        """Sensitive columns with one value only."""
        sensitive = self._before.sensitive
        return tuple(
            name for name, codes in zip(sensitive.columns, sensitive.codes.T, strict=True) if (codes == codes[0]).all()
        )

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
