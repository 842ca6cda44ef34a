"""Every figure of a report, computed from the law and the channel's matrix alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sanitize import measures
from sanitize.bounds import implied_bounds
from sanitize.budgets import check_kind
from sanitize.confidence import ConfidenceSet, intervals, laws_of
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.lifts import chi2_lift, l1_lift, max_log_lift, min_log_lift
from sanitize.measures import Measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.confidence import WorstCase
    from sanitize.joint import JointDistribution

# Confidence of the worst case that a report adds when none was asked for, and the most work it may be.
USUAL_CONFIDENCE = 0.95
_MOST_WORK = 1 << 23
# What a law tells of S: label, unit, and how it is measured.
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
    """Every measure of the raw and of the released law."""
    bounds = implied_bounds(budget)
    lines = [
        Measure(name, label, unit, "exact", float(of(before)), float(of(after)), bounds.get(name))
        for name, (label, unit, of) in _LEAKAGE.items()
    ]
    entropy = measures.entropy(before.p_x)
    kept = measures.utility(before, channel)
    share = measures.normalized_utility(before, channel)
    return (
        *lines,
        Measure("ldp_public", "local DP of the public columns", "nats", "exact", math.inf, _ldp_public(channel)),
        Measure("utility", "information kept I(X;Y)", "nats", "exact", entropy, kept),
        Measure("normalized_utility", "share of information kept", "1", "exact", 1.0, share),
    )


def measured_before(found: tuple[Measure, ...], raw: JointDistribution) -> tuple[Measure, ...]:
    """The same lines with what another law tells of S as what there was before."""
    return tuple(
        replace(line, before=float(_LEAKAGE[line.name][2](raw))) if line.name in _LEAKAGE else line for line in found
    )


def _ldp_public(channel: Channel) -> float | None:
    try:
        return measures.ldp_epsilon(channel)
    except InvalidParameter:  # too large to measure without a dense matrix
        return None


def worst_case_of(
    joint: JointDistribution,
    channel: Channel,
    confidence: float | ConfidenceSet | None,
    budget: Budget | None,
) -> WorstCase | None:
    """Worst case over the laws that the counts allow; None where nobody asked and it is unknown or much work."""
    if confidence is not None:
        if budget is not None:
            check_kind(budget, "confidence=")
        return laws_of(joint, confidence).worst_case(channel)
    try:
        laws = ConfidenceSet.of(joint, USUAL_CONFIDENCE)
    except (InvalidDistribution, InvalidParameter):  # no rows to speak of: a law known by itself, or weighted
        return None
    return laws.worst_case(channel) if laws.work(channel) <= _MOST_WORK else None


def measure_worst_case(worst: WorstCase, budget: Budget | None) -> tuple[Measure, ...]:
    """Figures that hold for every law of the set; what the budget allows is the same for all laws."""
    bounds = implied_bounds(budget)
    level = f"worst case at {100 * worst.laws.confidence:.4g} %"
    figures = {
        "max_log_lift": ("max log-lift", worst.max_log_lift.max()),
        "min_log_lift": ("min log-lift", worst.min_log_lift.min()),
        "ldp_sensitive": ("local DP of S", worst.ldp_epsilon.max()),
    }
    return tuple(
        Measure(f"worst_{name}", f"{label}, {level}", "nats", "bound", None, float(value), bounds.get(name))
        for name, (label, value) in figures.items()
    )


def as_estimates(measures: tuple[Measure, ...], worst: WorstCase, channel: Channel) -> tuple[Measure, ...]:
    """Figures of a sample, as estimates of the law behind it, with intervals where there are sound ones."""
    known = intervals(worst, channel)
    found = []
    for measure in measures:
        if measure.kind == "exact" and measure.name != "ldp_public":
            low, high = known.get(measure.name, (None, None))
            found.append(replace(measure, kind="estimate", low=low, high=high))
        else:
            found.append(measure)
    return tuple(found)
