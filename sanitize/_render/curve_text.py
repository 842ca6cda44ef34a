"""The privacy-utility curve as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sanitize._render.document import times
from sanitize._render.text import clip, number

if TYPE_CHECKING:
    from sanitize._render.document import Number

# Cells of the bar of a utility of 1.
_BAR = 20


def curve_text(curve: dict[str, Any], chosen: int | None = None, most: int = 20) -> str:
    """Table of a curve, 80 columns wide, in plain ASCII: one row a budget, with a bar for what it keeps.

    Parameters
    ----------
    curve : dict
        Document of the curve (`TradeoffCurve.to_dict`).
    chosen : int, optional
        Position of the point to mark with an arrow; it is always shown.
    most : int
        Rows shown at most, spread evenly; how many there are is said in the last line.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> print(sz.tradeoff_curve(joint, sz.watchdog, [0.5, 1]))
    watchdog                                         times as likely
      budget   information kept in X                at least   at most    I(S;Y)
         0.5   ###############.....     74.8 %             1         1         0
           1   ####################    100.0 %           0.4       1.6   0.09637
    """
    lines = [
        f"{clip(curve['mechanism'], 46):<49}times as likely",
        f"  budget   {'information kept in X':<37}at least   at most    I(S;Y)",
    ]
    points = curve["points"]
    shown = {round(i * (len(points) - 1) / max(1, most - 1)) for i in range(most)} if len(points) > most else None
    for position, point in enumerate(points):
        if shown is not None and position not in shown and position != chosen:
            continue
        share = float(point["normalized_utility"])
        mark = "->" if position == chosen else "  "
        bar = "#" * round(_BAR * share)
        figures = (_times(point["min_log_lift"]), _times(point["max_log_lift"]), number(point["mutual_information"]))
        lines.append(
            f"{mark}{clip(point['label'], 10):>10}   {bar:.<{_BAR}}{100 * share:>9.1f} %"
            f"{figures[0]:>14}{figures[1]:>10}{figures[2]:>10}"
        )
    if shown is not None:
        lines.append(f"  {len(points)} budgets were tried: see to_frame()")
    return "\n".join(lines)


def _times(log_lift: Number) -> str:
    return times(float(log_lift or 0.0))
