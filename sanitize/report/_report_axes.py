"""Pictures of a release on matplotlib axes; none names a sensitive symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.core.budgets import LDPBudget, LiftBudget, lift_limits, loosest
from sanitize.errors import InvalidParameter
from sanitize.report._axes import (
    BLUE,
    GREEN,
    GREY,
    N_BESIDE,
    N_SHOWN,
    ORANGE,
    draw_heat,
    draw_histogram,
    new_axes,
    short_name,
)
from sanitize.report._document import lift_map, margins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sanitize.report._verdict import Verdict


def draw_report(report: Verdict, kind: str, ax: Axes | None) -> Axes:
    """One picture of a report; see `LeakageReport.plot`."""
    painters = {"lift": _draw_lift_of_report, "risk": _draw_risk, "marginals": _draw_margins}
    if kind in painters:
        return painters[kind](report, ax)
    if kind == "histogram":
        axes = draw_histogram([report._before], ax, label="before")
        return draw_histogram([report._after], axes, label="after", filled=False)
    if kind == "curve":
        if report.curve is None:
            raise InvalidParameter(
                "this report has no curve; add one: "
                "report.with_curve(sz.release.choosing.tradeoff_curve(joint, mechanism, budgets))"
            )
        summary = report.summary
        chosen = summary["mutual_information"], summary["normalized_utility"]
        return report.curve.draw(ax, "mutual_information", chosen)
    raise InvalidParameter(f"kind must be 'lift', 'histogram', 'risk', 'marginals' or 'curve', got {kind!r}")


def _draw_lift_of_report(report: Verdict, ax: Axes | None) -> Axes:
    """Before and after beside each other on one scale; sensitive symbols by rank and share, never by name."""
    heat = lift_map(report._before, report._after, N_BESIDE, N_SHOWN)
    sides = [heat["before"], heat["after"]]
    maps = [np.array(side["log_lift"], dtype=float).T for side in sides]
    axes = new_axes(ax, width=10.0, height=3.2 + 0.3 * len(maps[0]))
    gap = np.full((len(maps[0]), 1), np.nan)
    draw_heat(axes, np.hstack([maps[0], gap, maps[1]]), [*sides[0]["symbols"], "", *sides[1]["symbols"]])
    axes.set_yticks(range(len(maps[0])), [f"s{i + 1} ({100 * share:.3g} %)" for i, share in enumerate(heat["prior"])])
    n_before = len(sides[0]["symbols"])
    for words, side, left in (("before", sides[0], 0), ("after", sides[1], n_before + 1)):
        n = len(side["symbols"])
        count = f"{n} symbols" if n == side["n_symbols"] else f"riskiest {n} of {side['n_symbols']} symbols"
        axes.text(left + (n - 1) / 2, -0.65, f"{words}: {count}", ha="center", va="bottom")
    return axes


def _draw_risk(report: Verdict, ax: Axes | None) -> Axes:
    """Range of the log-lift of each released symbol, riskiest on top, with what the budget allows."""
    rows = report._symbols(N_SHOWN)
    axes = new_axes(ax, width=8.0, height=1.6 + 0.22 * len(rows))
    low, high = (np.array([row[name] for row in rows]) for name in ("min_log_lift", "max_log_lift"))
    finite = low[np.isfinite(low)]
    edge = min(float(finite.min()) if len(finite) else 0.0, 0.0) - 0.15 * max(1.0, float(high.max()))
    ends = np.where(np.isfinite(low), low, edge)
    places = np.arange(len(rows))
    axes.hlines(places, ends, high, color=GREY, linewidth=2.5)
    axes.plot(low, places, linestyle="none", marker="<", color=ORANGE, label="smallest log-lift")
    axes.plot(high, places, linestyle="none", marker=">", color=BLUE, label="largest log-lift")
    out = np.flatnonzero(~np.isfinite(low))
    if len(out):
        axes.plot(np.full(len(out), edge), out, linestyle="none", marker="x", color=ORANGE, label="-inf: ruled out")
    for limit in _limits(report):
        axes.axvline(limit, color=GREEN, linestyle="--", label="allowed" if limit >= 0 else None)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(places, [short_name(row["symbol"]) for row in rows])
    axes.invert_yaxis()
    n_symbols = len(report.excess)
    axes.set(xlabel="log-lift (nats)", title=f"riskiest {len(rows)} of {n_symbols} released symbols")
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def _limits(report: Verdict) -> list[float]:
    """Limits of the log-lift that the budget states by itself."""
    match loosest(lift_limits(report.budget) or report.budget):
        case LiftBudget(lower=lower, upper=upper):
            return [limit for limit in (-lower, upper) if np.isfinite(limit)]
        case LDPBudget(eps=eps):  # what it implies for each side
            return [limit for limit in (-eps, eps) if np.isfinite(limit)]
    return []


def _draw_margins(report: Verdict, ax: Axes | None) -> Axes:
    """Shares of the most frequent symbols, before and after."""
    shares_by_symbol = margins(report._before, report._after)
    rows = shares_by_symbol["rows"]
    axes = new_axes(ax, height=1.2 + 0.34 * len(rows))
    places = np.arange(len(rows))
    for name, shift, color, hatch in (("before", -0.2, GREY, ""), ("after", 0.2, BLUE, "//")):
        shares = [100 * (row[name] or 0.0) for row in rows]
        axes.barh(places + shift, shares, 0.38, color=color, hatch=hatch, label=name, edgecolor="white")
    axes.set_yticks(places, [short_name(row["symbol"]) for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="share of rows (%)", title=f"most frequent {len(rows)} of {shares_by_symbol['n_symbols']} symbols")
    axes.legend()
    return axes
