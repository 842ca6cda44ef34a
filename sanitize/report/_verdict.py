"""Figures and verdict of a release, computed from P_SX and the channel's matrix only."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
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
from sanitize.report._headline import (
    LEDGER,
    USELESS_BELOW,
    VERDICT_TOLERANCE,
    Lack,
    is_useless,
    report_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize.core.channel import Channel
    from sanitize.core.confidence import WorstCase
    from sanitize.core.joint import JointDistribution
    from sanitize.report._headline import State


# Confidence of the worst case that a report adds if none was requested and it is cheap to compute: the usual 95 %.
USUAL_CONFIDENCE = 0.95
# More sensitive values, or combinations with fewer rows on average, leave little utility.
_MANY_SECRETS, _FEW_ROWS = 20, 50
# Label, unit and function of each measure of leakage; lifts come first, because most limits are on them.
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
    """Compute every measure of the raw and of the released distribution."""
    bounds = implied_bounds(budget)
    lines = [
        Measure(name, label, unit, "exact", float(measure(before)), float(measure(after)), bounds.get(name))
        for name, (label, unit, measure) in _LEAKAGE.items()
    ]
    entropy = measures.entropy(before.p_x)
    private: float | None = None
    with contextlib.suppress(InvalidParameter):  # too large to measure without a dense matrix
        private = measures.ldp_epsilon(channel)
    utility, share = measures.utility(before, channel), measures.normalized_utility(before, channel)
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
    """Measure the worst case over the distributions that the counts allow; None if it was not requested and is costly.

    Without a confidence, the result is also None if the distribution was stated or weighted.
    """
    if confidence is not None:
        if budget is not None:
            check_kind(budget, "confidence=")
        return design_distributions(joint, confidence).worst_case(channel)
    try:
        distributions = ConfidenceSet.of(joint, USUAL_CONFIDENCE)
    except (InvalidDistribution, InvalidParameter):  # no counts: stated or weighted
        return None
    return distributions.worst_case(channel) if distributions.work(channel) <= 1 << 23 else None


def side_knowledge_excess(
    joint: JointDistribution, channel: Channel, side_columns: Sequence[str], budget: Budget
) -> NDArray[np.float64]:
    """Largest excess of each released symbol, in nats, among readers who know any of the side columns of a row."""
    limits, excess = limits_for(budget, joint.sensitive), np.full(channel.n_outputs, -math.inf)
    for case in joint.public.alike(side_columns):
        mass = joint.pmf * case
        after, prior = channel.push(mass), mass.sum(axis=1)
        prior /= prior.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            lifts = after / after.sum(axis=0) / prior[:, None]
        # Sensitive values and released symbols that do not occur in the case exceed nothing, as with a lift of 1.
        excess = np.maximum(excess, limits.lift_excess(np.where(np.isfinite(lifts), lifts, 1.0), prior))
    return excess[channel.push(joint.pmf).any(axis=0)]  # symbols that can occur


def measure_worst_case(worst: WorstCase, budget: Budget | None) -> tuple[Measure, ...]:
    """Return the worst figures of a set of distributions, with the limits that the budget sets."""
    bounds = implied_bounds(budget)
    ending = f"worst case at {level(worst.distributions.confidence)}"

    def line(name: str, label: str, value: float) -> Measure:
        figures = None, float(value), bounds.get(name)
        return Measure(f"worst_{name}", f"{label}, {ending}", "nats", "bound", *figures, scope="worst_case")

    return (
        line("max_log_lift", "max log-lift", worst.max_log_lift.max()),
        line("min_log_lift", "min log-lift", worst.min_log_lift.min()),
        line("ldp_sensitive", "local DP of S", worst.ldp_epsilon.max()),
    )


def as_estimates(measures: tuple[Measure, ...], worst: WorstCase, channel: Channel) -> tuple[Measure, ...]:
    """Restate figures of a sample as estimates for the population, with intervals where valid intervals are known."""
    ends = intervals(worst, channel)

    def restated(line: Measure) -> Measure:
        low, high = ends.get(line.name, (line.low, line.high))
        is_estimate = line.kind == "exact" and line.name != "ldp_public"
        return replace(line, kind="estimate", low=low, high=high) if is_estimate else line

    return tuple(map(restated, measures))


@dataclass(frozen=True)
class KeptColumn:
    """Share of a column's information that the released symbol keeps.

    Attributes
    ----------
    column : str
    share : float
        I(X_j;Y) / H(X_j), between 0 and 1; 1 for a column with a single value, which has no information to lose.
    before, after : float or None
        Largest log-lift of S by this column alone, in nats, in the table and in the release; None if the column is not
        released as a column of its own, or was not measured.
    """

    column: str
    share: float
    before: float | None = None
    after: float | None = None


def measure_columns(joint: JointDistribution, channel: Channel, after: JointDistribution) -> tuple[KeptColumn, ...]:
    """Measure the utility of each public column; empty if this takes too much work.

    ``after`` is the distribution of (S, Y).
    """
    names, shares = joint.public.columns, []
    if len(names) == 1:
        shares.append(measures.normalized_utility(joint, channel))
    else:
        reduced = ReducedChannel.from_channel(channel)
        codes = [np.unique(column, return_inverse=True)[1] for column in joint.public.codes.T]
        n_levels = [int(of_column.max()) + 1 for of_column in codes]
        if sum(n_levels) * reduced.most_symbols > 1 << 22:  # columns for which a figure is worth computing
            return ()
        for of_column, n in zip(codes, n_levels, strict=True):
            before = np.bincount(of_column * reduced.n_states + reduced.states, joint.p_x, n * reduced.n_states)
            shares.append(utility_share(reduced.push(before.reshape(n, reduced.n_states).astype(np.float64))))
    pairs = zip(names, shares, strict=True)
    return tuple(KeptColumn(n, share, largest_alone(joint, n), largest_alone(after, n)) for n, share in pairs)


def largest_alone(joint: JointDistribution, column: str) -> float | None:
    """Largest log-lift of S for one public column alone, in nats; None if there is no such column."""
    if column not in joint.public.columns:
        return None
    codes = np.unique(joint.public.codes[:, joint.public.columns.index(column)], return_inverse=True)[1]
    distribution = np.stack([np.bincount(codes, row) for row in joint.pmf])
    seen = distribution.sum(axis=0) > 0
    lifts = distribution[:, seen] / (joint.p_s[:, None] * distribution.sum(axis=0)[seen])
    return float(np.log(lifts.max()))


def utility_share(released: NDArray[np.float64] | sparse.csr_array) -> float:
    """Share I(X_j;Y) / H(X_j) for a distribution of (X_j, Y), between 0 and 1; 1 if the column is constant."""
    p_x, p_y = np.asarray(released.sum(axis=1)), released.sum(axis=0)
    together = released.ravel() if isinstance(released, np.ndarray) else released.data
    information = measures.entropy(p_x) + measures.entropy(p_y) - measures.entropy(together)
    return measures.share_of_entropy(information, p_x)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Judgement of a release by all measures of its report.

    Attributes
    ----------
    ok : bool
        True if every symbol is within budget (to 1e-9), there is something to protect, no check failed, and no
        sensitive column is released.
    state : str
        The claim in one word. ``"source"``: every distribution that the counts allow at the confidence of the report is
        within the budget. ``"rows"``: the table's own frequencies (or the stated distribution) are within the budget;
        if the table is a sample, the population may exceed it. ``"nothing"``: the sensitive columns have one value in
        all rows. ``"refused"``: not `ok`. ``"audit"``: there is no budget, and nothing is claimed.
    excess : ndarray of float, shape (n_y,)
        Excess of each released symbol over the budget, in nats; -inf without a budget. If the budget limits a figure of
        the whole channel, every symbol has at least the excess of this figure. If the limit covers readers who know
        columns of a row, the excess of a symbol is the largest for any such reader.
    useless : bool
        True if the release is allowed and most of its columns keep less than 5 % of their information, or shuffled
        generated rows show less than 5 % of the relations between columns.
    lack : Lack or None
        Reason, if known, why the release is `useless` or why generated rows do not depend on their classes; otherwise
        None. Such rows still show relations between columns, but nothing about a row of the table.
    refuted : bool
        True if a finding refutes the release.
    is_void : bool
        True if no figure is valid: the release is refuted, or a sensitive column is released unchanged, which no finite
        budget allows.
    constant : tuple of str
        Sensitive columns with one value only.
    """

    ok: bool
    state: State
    excess: NDArray[np.float64]
    useless: bool
    lack: Lack | None
    refuted: bool
    is_void: bool
    constant: tuple[str, ...]

    @classmethod
    def from_report(cls, report: Any) -> Verdict:
        """Judge the measures of a `LeakageReport`."""
        excess, budget, sensitive = _excess(report), report.budget, report._before.sensitive
        columns = zip(sensitive.columns, sensitive.codes.T, strict=True)
        constant = tuple(name for name, codes in columns if (codes == codes[0]).all())
        is_asked = budget is not None and report.n_rows is not None and report.sensitive != report.public
        protects_nothing = is_asked and len(constant) == len(report.sensitive)
        refuted = not all(getattr(finding, "ok", True) for finding in report.findings)
        is_void = refuted or bool(set(report.facts.kept) & set(report.sensitive))
        ok = float(excess.max()) <= VERDICT_TOLERANCE and not is_void and not protects_nothing
        has_budget, confidence = budget is not None, report.confidence
        state = report_state(ok=ok, has_budget=has_budget, confidence=confidence, is_constant=protects_nothing)
        useless = is_useless(state, [column.share for column in report.kept], report.relations)
        return cls(ok, state, excess, useless, _lack(report, state, useless=useless), refuted, is_void, constant)


def _excess(report: Any) -> NDArray[np.float64]:
    budget, after, worst = report.budget, report._after, report._worst
    excess = np.full(len(after.public), report._least_excess)
    if budget is not None:
        excess = np.maximum(excess, budget.excess(after))
        if worst is not None and report.confidence is not None:
            excess = np.maximum(excess, worst.excess(limits_for(budget, after.sensitive)))
    excess.flags.writeable = False  # the verdict itself uses it
    return excess


def _lack(report: Any, state: State, *, useless: bool) -> Lack | None:
    by_name, secrets, combinations = report.summary_figures, report._before.sensitive, report._before.public
    utility, plain = by_name["normalized_utility"] or 0.0, by_name.get("normalized_utility_plain")
    is_unlinked = state in ("source", "rows") and report.relations is not None and utility < VERDICT_TOLERANCE
    if not useless and not (is_unlinked and len(combinations) > 1):
        return None
    if report.facts.mechanism in ("none", LEDGER):  # this channel was not designed for the limit
        return Lack("unknown")
    # For tuples without a confidence, the reason is the limit or a column whose many values have few rows each: a
    # sensitive column, or the public column with the most values.
    is_tuples, few = combinations.columns == report.public, None
    if is_tuples and len(secrets) > _MANY_SECRETS:
        few = Lack("secrets", column=secrets.widest)
    elif is_tuples and report.n_rows is not None and len(combinations) > report.n_rows / _FEW_ROWS:
        few = Lack("combinations", column=combinations.widest)
    if (is_tuples and report.confidence is None) or (plain is not None and plain < USELESS_BELOW):
        return few or Lack("limit")
    if report.facts.shortage is not None:
        return Lack(*report.facts.shortage)
    return few or Lack("limit or rows" if plain is None or utility >= USELESS_BELOW else "rows")
