"""Marks in the pictures of a page, as positions in percent and names of shades, computed from the document."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sanitize._util.formatting import times_up
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize.core.budgets import LiftBudget, budget_from_dict, loosest
from sanitize.report._headline import VERDICT_TOLERANCE, measure_excess

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sanitize._util.formatting import Number

# Most rows and columns that are drawn in the pictures of a saved report, which may have been written by anyone.
_MOST_ROWS, _MOST_COLUMNS = 48, 24
# Signs for relations, for readers who cannot distinguish the colours.
SIGNS = {"kept": "", "changed": "!", "lost": "✕"}


def exposure(document: dict[str, Any]) -> list[dict[str, str]]:
    """First picture: largest factor by which the release raises the chance of a sensitive value, and the limit.

    The raw table has no bar, because in any table some row has the rarest sensitive value with certainty.
    """
    by_name = {measure["name"]: measure for measure in document["measures"]}
    top, worst = by_name["max_log_lift"], by_name.get("worst_max_log_lift")
    logs = {"bar": float(top["after"])}
    if worst is not None:
        logs["maybe far" if measure_excess(worst) > VERDICT_TOLERANCE else "maybe"] = float(worst["after"])
    if top["bound"] is not None and math.isfinite(float(top["bound"])):
        logs["allow"] = float(top["bound"])
    most = max((v for v in logs.values() if math.isfinite(v)), default=0.0)
    end = math.exp(min(most, LARGEST_EXPONENT))

    def width(value: float) -> str:
        return f"{100 * min(1.0, math.exp(min(value, LARGEST_EXPONENT)) / end):.2f}%"

    # Times are rounded up as in the headline, so that nothing looks safer than stated.
    words = {kind: "∞" if math.isinf(v) else f"{times_up(v)} ×" for kind, v in logs.items()}
    return [{"kind": kind, "words": words[kind], "width": width(v)} for kind, v in logs.items()]


def pair_map(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the map of related columns: strengths in the raw table below the diagonal, in the release above it."""
    pairs = {frozenset(pair["columns"]): pair for pair in document["pairs"]}
    related = frozenset().union(*pairs)
    names = [name for name in document["columns"]["released"] if name in related][:_MOST_COLUMNS]

    def cell(i: int, j: int) -> dict[str, str]:
        pair = pairs.get(frozenset((names[i], names[j])))
        if pair is None:
            return {"shade": "", "sign": ""}
        value = pair["raw" if i > j else "released"]
        return {"shade": f"less{max(1, math.ceil(4 * value))}", "sign": SIGNS[pair["state"]] if i < j else ""}

    return [{"name": name, "cells": [cell(i, j) for j in range(len(names))]} for i, name in enumerate(names)]


def worst_pairs(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The ten most weakened relations, with a sign for the change of each."""
    by_share = sorted(document["pairs"], key=lambda pair: pair["released"] / pair["raw"])
    return [pair | {"sign": SIGNS[pair["state"]] or "✓"} for pair in by_share[:10]]


def heat(side: dict[str, Any], most: float) -> list[dict[str, Any]]:
    """Rows of a lift map: the name, and the shade and figure of each cell."""
    rows = zip(side["symbols"][:_MOST_ROWS], side["log_lift"], strict=False)
    shown = [(symbol, [_cell(float(v or 0.0), most) for v in cells[:_MOST_COLUMNS]]) for symbol, cells in rows]
    return [{"symbol": symbol, "cells": cells} for symbol, cells in shown]


def largest(heat: dict[str, Any]) -> float:
    """Largest finite |log-lift| of a lift map, at which its scale ends."""
    values = (abs(float(v)) for name in ("before", "after") for row in heat[name]["log_lift"] for v in row)
    return max((value for value in values if math.isfinite(value)), default=0.0)


def _cell(v: float, most: float) -> dict[str, str]:
    """Cell of a lift map: one of four shades on either side of zero, and the figure."""
    if math.isinf(v):
        return {"shade": "none", "words": "×"} if v < 0 else {"shade": "more4", "words": "∞"}
    level = min(4, math.ceil(4 * (abs(v) / most) - 0.5)) if most > 1e-9 else 0
    shade = "zero" if level <= 0 else f"{'more' if v > 0 else 'less'}{level}"
    shown = f"{v:+.2f}" if abs(v) < 10 else f"{v:+.3g}"
    return {"shade": shade, "words": "0" if float(shown) == 0 else shown}


def range_scale(rows: Iterable[dict[str, Any]], budget: dict[str, Any] | None) -> dict[str, Any]:
    """End of the scale for ranges of log-lift, and the range that a lift budget allows."""
    of_lifts = budget if budget is None or budget["type"] == "LiftBudget" else budget.get("limits")
    allowed = loosest(budget_from_dict(of_lifts)) if of_lifts else None
    limits = (-allowed.lower, allowed.upper) if isinstance(allowed, LiftBudget) else None
    values = [float(row[name] or 0.0) for row in rows for name in ("min_log_lift", "max_log_lift")]
    values += limits or ()
    end = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    return {"end": 1.1 * end or 1.0, "limits": limits}


def span(low: Number | float, high: Number | float, end: float) -> dict[str, str]:
    """Left edge and width in percent of a range on a scale from -end to end."""
    left, right = (50 + 50 * min(1.0, max(-1.0, float(v or 0.0) / end)) for v in (low, high))
    return {"x": f"{left:.2f}%", "width": f"{max(right - left, 1.5):.2f}%"}


def bars(shares: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the margins: name, shares in words, and bar lengths in percent of the longest bar."""
    rows = shares["rows"][:_MOST_ROWS]
    most = max((share or 0.0 for row in rows for share in (row["before"], row["after"])), default=0.0) or 1.0

    def side(share: float | None) -> dict[str, str]:
        words = "-" if share is None else f"{100 * share:.3g} %"
        return {"words": words, "width": f"{100 * (share or 0.0) / most:.2f}%"}

    return [{"symbol": row["symbol"], "before": side(row["before"]), "after": side(row["after"])} for row in rows]


def shapes(document: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Pictures of columns with their rows; bars are relative to the longest bar of the column."""
    columns = groupby(document.get("shapes", ())[: 10 * _MOST_ROWS], lambda row: row["column"])
    return [(name, bars({"rows": list(rows)})) for name, rows in columns]


def curve_marks(document: dict[str, Any]) -> dict[str, Any]:
    """Marks of the privacy-utility curve: positions in percent, with leakage to the right and utility upwards."""
    after = {measure["name"]: measure["after"] for measure in document["measures"]}
    points = document["curve"]["points"][: 10 * _MOST_ROWS]
    chosen = float(after.get("mutual_information") or 0.0), float(after["normalized_utility"])
    pairs = sorted((float(p["mutual_information"]), float(p["kept"]), p["label"]) for p in points)
    most = max((x for x, *_ in [*pairs, chosen] if math.isfinite(x)), default=0.0) or 1.0

    def place(x: float, y: float) -> dict[str, str]:
        return {"x": f"{100 * min(x / most, 1.0):.2f}%", "y": f"{100 * (1 - min(max(y, 0.0), 1.0)):.2f}%"}

    marked: list[dict[str, str]] = []
    last = -math.inf
    for x, y, label in pairs:
        far = 100 * x / most - last >= 12  # width of a label, in percent
        last = 100 * x / most if far else last
        marked.append(place(x, y) | {"label": label, "words": label if far else ""})
    words = "no budget was tried"
    if pairs:
        first, last_one, shares = pairs[0][0], pairs[-1][0], [100 * y for _, y, _ in pairs]
        ends = f"{first:.3g} nats and {min(shares):.3g} % kept to {last_one:.3g} nats and {max(shares):.3g} %"
        own = f"leaks {chosen[0]:.3g} nats and keeps {100 * chosen[1]:.3g} %"
        words = f"{len(pairs)} budgets from {ends}; this release {own}"
    line = " ".join(f"{1000 * min(x / most, 1.0):.1f},{1000 * (1 - y):.1f}" for x, y, _ in pairs)
    return {"points": marked, "chosen": place(*chosen), "line": line, "most": f"{most:.3g}", "words": words}


def curve_plot(curves: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Positions of the budgets, left to right, and of each mechanism's utility, upwards; None without a curve."""
    if not curves:
        return None
    labels = [point["label"] for point in curves[0]["points"]]
    places = {label: i / max(1, len(labels) - 1) for i, label in enumerate(labels)}
    drawn, ends = [], []
    for place, curve in enumerate(curves):
        points = [point for point in curve["points"] if point["label"] in places]
        dots = [{"x": places[p["label"]], "y": 1 - min(1.0, max(0.0, float(p["kept"])))} | p for p in points]
        line = " ".join(f"{1000 * dot['x']:.1f},{1000 * dot['y']:.1f}" for dot in dots)
        drawn.append({"name": curve["mechanism"], "number": place, "dots": dots, "line": line})
        first, last = (f"{100 * (1 - dots[end]['y']):.3g} %" for end in (0, -1))
        ends.append(f"{curve['mechanism']} keeps {first} to {last}")
    return {"labels": [(label, places[label]) for label in labels], "curves": drawn, "words": "; ".join(ends)}
