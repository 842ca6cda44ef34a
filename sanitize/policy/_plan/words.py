"""A plan in words: mechanisms side by side in a terminal, and a budget as lines of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.policy._policy import Policy
    from sanitize.report import TradeoffCurve

_WIDTH = 25


def others_text(curves: Sequence[TradeoffCurve]) -> str:
    """Share that each mechanism keeps within each budget, as a table of at most 80 columns."""
    labels = [point.label for point in curves[0].points]
    lines = [f"{'kept, in %, within times':<{_WIDTH}}" + "".join(f"{label[:10]:>11}" for label in labels)]
    for curve in curves:
        shares = {point.label: f"{100 * point.normalized_utility:.1f}" for point in curve.points}
        lines.append(f"{curve.mechanism:<{_WIDTH}}" + "".join(f"{shares.get(label, '-'):>11}" for label in labels))
    return "\n".join(lines)


def budget_lines(policy: Policy) -> list[tuple[str, str]]:
    """The bounds of a policy's budget as keys and values of TOML."""
    return [(key, f"{value:g}") for key, value in policy.budget.bounds.items()]
