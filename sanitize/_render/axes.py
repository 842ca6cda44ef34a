"""Pictures for papers, on matplotlib axes: the only place that imports matplotlib.

Colours are Okabe and Ito's, which colour-blind readers tell apart; whatever a colour says, a shape, a hatch or a
number says too, so that a page printed in grey can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._render.pictures import lift_map, margins
from sanitize._render.text import clip
from sanitize.budgets import LDPBudget, LiftBudget
from sanitize.errors import InvalidParameter
from sanitize.lift import log_lift, max_log_lift, min_log_lift

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sanitize.curve import TradeoffCurve
    from sanitize.joint import JointDistribution
    from sanitize.report import LeakageReport

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#666666"
# Symbols in one picture: more cannot be read.
N_SHOWN = 40
# The same where two maps stand beside each other.
N_BESIDE = 24
# Columns up to which cells hold numbers.
_N_NUMBERS = 20
_NAME = 24


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the axes given, or new ones on a figure of their own that no window shows."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ModuleNotFoundError(
            "plots need matplotlib: pip install 'sanitize-tabular[plot]'", name="matplotlib"
        ) from None
    made: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return made


def draw_report(report: LeakageReport, kind: str, ax: Axes | None) -> Axes:
    """One picture of a report; see `LeakageReport.plot`."""
    if kind == "lift":
        return _draw_lift_of_report(report, ax)
    if kind == "histogram":
        axes = draw_histogram([report._before], ax, label="before")
        return draw_histogram([report._after], axes, label="after", filled=False)
    if kind == "risk":
        return _draw_risk(report, ax)
    if kind == "marginals":
        return _draw_margins(report, ax)
    if kind == "curve":
        if report.curve is None:
            raise InvalidParameter(
                "this report has no curve; add one: report.with_curve(sz.tradeoff_curve(joint, mechanism, budgets))"
            )
        after = {measure.name: measure.after for measure in report.measures}
        information, share = after["mutual_information"], after["normalized_utility"]
        chosen = None if information is None or share is None else (information, share)
        return draw_curve(report.curve, ax, "mutual_information", chosen)
    raise InvalidParameter(f"kind must be 'lift', 'histogram', 'risk', 'marginals' or 'curve', got {kind!r}")


def draw_lift(joint: JointDistribution, ax: Axes | None) -> Axes:
    """Heat map of the log-lift of a law, sensitive symbols by name."""
    logs = log_lift(joint)
    order = np.sort(np.argsort(-np.abs(logs).max(axis=0), kind="stable")[:N_SHOWN])
    axes = new_axes(ax, height=1.6 + 0.3 * len(logs))
    _heat(axes, logs[:, order], [joint.public.label(int(x)) for x in order])
    axes.set_yticks(range(len(logs)), [_name(joint.sensitive.label(s)) for s in range(len(logs))])
    if len(order) < logs.shape[1]:
        axes.set_title(f"riskiest {len(order)} of {logs.shape[1]} symbols")
    return axes


def _draw_lift_of_report(report: LeakageReport, ax: Axes | None) -> Axes:
    """Before and after beside each other on one scale; sensitive symbols by rank and share, never by name."""
    found = lift_map(report._before, report._after, lambda value: value, N_BESIDE, N_SHOWN)
    sides = [found["before"], found["after"]]
    maps = [np.array(side["log_lift"], dtype=float).T for side in sides]
    axes = new_axes(ax, width=10.0, height=3.2 + 0.3 * len(maps[0]))
    gap = np.full((len(maps[0]), 1), np.nan)
    _heat(axes, np.hstack([maps[0], gap, maps[1]]), [*sides[0]["symbols"], "", *sides[1]["symbols"]])
    axes.set_yticks(range(len(maps[0])), [f"s{i + 1} ({100 * share:.3g} %)" for i, share in enumerate(found["prior"])])
    n_before = len(sides[0]["symbols"])
    for words, side, left in (("before", sides[0], 0), ("after", sides[1], n_before + 1)):
        n = len(side["symbols"])
        count = f"{n} symbols" if n == side["n_symbols"] else f"riskiest {n} of {side['n_symbols']} symbols"
        axes.text(left + (n - 1) / 2, -0.65, f"{words}: {count}", ha="center", va="bottom")
    return axes


def _heat(axes: Axes, logs: NDArray[np.float64], names: Sequence[str]) -> None:
    """Cells of log-lift on a diverging scale around 0; a cross where a symbol rules a sensitive one out."""
    finite = np.isfinite(logs)
    most = float(np.abs(logs[finite]).max()) if finite.any() else 0.0
    most = most or 1.0
    image = axes.imshow(np.where(finite, logs, np.nan), cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
    rows, columns = np.nonzero(logs == -np.inf)
    if len(rows):
        axes.plot(columns, rows, linestyle="none", marker="x", color=GREY, label="-inf: ruled out")
    # Grey print loses the hue: where there is no room for numbers, the sign of what is not small remains.
    roomy = logs.shape[1] <= _N_NUMBERS
    for row, column in zip(*np.nonzero(finite if roomy else finite & (np.abs(logs) > 0.1 * most)), strict=True):
        value = logs[row, column]
        ink = "white" if abs(value) > 0.6 * most else "black"
        words = f"{value:+.2f}" if roomy else "+" if value > 0 else "-"
        axes.text(column, row, words, ha="center", va="center", fontsize=7, color=ink)
    longest = max(len(_name(name)) for name in names)
    turned: dict[str, Any] = {"rotation": 90} if longest > 3 and len(names) * longest > 40 else {}
    if len(names) > N_BESIDE:
        turned["fontsize"] = 7
    axes.set_xticks(range(len(names)), [_name(name) for name in names], **turned)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.figure.colorbar(image, ax=axes, label="log-lift (nats); x: ruled out" if len(rows) else "log-lift (nats)")


def draw_histogram(
    joints: Iterable[JointDistribution], ax: Axes | None, *, label: str = "", filled: bool = True
) -> Axes:
    """Density of the max- and the min-log-lift of the symbols of some laws [ZDS Fig. 1]."""
    laws = list(joints)
    if not laws:
        raise InvalidParameter("a histogram needs at least one law")
    axes = new_axes(ax)
    both = (
        ("log min-lift", np.concatenate([min_log_lift(law) for law in laws]), ORANGE, "//"),
        ("log max-lift", np.concatenate([max_log_lift(law) for law in laws]), BLUE, "\\\\"),
    )
    for name, values, color, hatch in both:
        seen = values[np.isfinite(values)]
        lost = len(values) - len(seen)
        words = f"{name} {label}".strip() + (f" ({lost} at -inf not shown)" if lost else "")
        if not len(seen):
            axes.plot([], [], color=color, label=words)
            continue
        shape: dict[str, Any] = {"alpha": 0.6, "hatch": hatch} if filled else {"histtype": "step", "linewidth": 1.8}
        axes.hist(seen, bins=_edges(seen).tolist(), density=True, color=color, label=words, **shape)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set(xlabel="nats", ylabel="density of symbols")
    axes.legend()
    return axes


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges of at most 60 bins; one bin of a width that can be seen where all values are (nearly) the same."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-9:
        return np.array([low - 0.005, high + 0.005])
    room = 1e-9 * (high - low)  # rounding must not put the ends outside
    return np.linspace(low - room, high + room, 1 + min(60, max(5, round(2 * np.sqrt(len(values))))))


def _draw_risk(report: LeakageReport, ax: Axes | None) -> Axes:
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
    axes.set_yticks(places, [_name(row["symbol"]) for row in rows])
    axes.invert_yaxis()
    n_symbols = len(report.excess)
    axes.set(xlabel="log-lift (nats)", title=f"riskiest {len(rows)} of {n_symbols} released symbols")
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def _limits(report: LeakageReport) -> list[float]:
    """Limits of the log-lift that the budget states by itself."""
    match report.budget:
        case LiftBudget(lower=lower, upper=upper):
            return [limit for limit in (-lower, upper) if np.isfinite(limit)]
        case LDPBudget(eps=eps):  # what it implies for each side
            return [limit for limit in (-eps, eps) if np.isfinite(limit)]
    return []


def _draw_margins(report: LeakageReport, ax: Axes | None) -> Axes:
    """Shares of the most frequent symbols, before and after."""
    found = margins(report._before, report._after, lambda value: value)
    rows = found["rows"]
    axes = new_axes(ax, height=1.2 + 0.34 * len(rows))
    places = np.arange(len(rows))
    for name, shift, color, hatch in (("before", -0.2, GREY, ""), ("after", 0.2, BLUE, "//")):
        shares = [100 * (row[name] or 0.0) for row in rows]
        axes.barh(places + shift, shares, 0.38, color=color, hatch=hatch, label=name, edgecolor="white")
    axes.set_yticks(places, [_name(row["symbol"]) for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="share of rows (%)", title=f"most frequent {len(rows)} of {found['n_symbols']} symbols")
    axes.legend()
    return axes


def draw_curve(curve: TradeoffCurve, ax: Axes | None, measure: str, chosen: tuple[float, float] | None = None) -> Axes:
    """Share of information kept against a leakage, one mark a budget, and the chosen point."""
    axes = new_axes(ax)
    points = sorted((point[measure], point.normalized_utility, point.label) for point in curve.points)
    x, y = (np.array([point[i] for point in points], dtype=float) for i in (0, 1))
    axes.plot(x, 100 * y, marker="o", color=BLUE, label=curve.mechanism)
    last = None
    for here, share, label in points:
        if last is None or abs(share - last) > 0.04:
            axes.annotate(label, (here, 100 * share), xytext=(5, -9), textcoords="offset points", fontsize=7)
            last = share
    if chosen is not None:
        mark: dict[str, Any] = {"linestyle": "none", "marker": "*", "markersize": 15, "color": ORANGE}
        axes.plot([chosen[0]], [100 * chosen[1]], label="this release", markeredgecolor="black", **mark)
    words = next((line.label for line in curve.before if line.name == measure), measure)
    axes.set(xlabel=f"leakage: {words}", ylabel="information kept (%)", ylim=(-3, 105))
    axes.legend(loc="lower right")
    return axes


def _name(symbol: str) -> str:
    """Short name that matplotlib prints as it is: a dollar sign would start a formula."""
    return clip(symbol, _NAME).replace("$", r"\$")
