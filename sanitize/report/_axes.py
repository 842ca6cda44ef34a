"""Pictures for papers, on matplotlib axes: the only place that imports matplotlib.

Colours are Okabe and Ito's, which colour-blind readers tell apart; whatever a colour says, a shape, a hatch or a
number says too, so that a page printed in grey can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.formatting import clip
from sanitize.core.lifts import log_lift, max_log_lift, min_log_lift
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sanitize.core.joint import JointDistribution

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#666666"
# Symbols in one picture: more cannot be read.
N_SHOWN = 40
# The same where two maps stand beside each other.
N_BESIDE = 24


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
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def draw_lift(joint: JointDistribution, ax: Axes | None) -> Axes:
    """Heat map of the log-lift of a distribution, sensitive symbols by name."""
    logs = log_lift(joint)
    order = np.sort(np.argsort(-np.abs(logs).max(axis=0), kind="stable")[:N_SHOWN])
    axes = new_axes(ax, height=1.6 + 0.3 * len(logs))
    draw_heat(axes, logs[:, order], [joint.public.label(int(x)) for x in order])
    axes.set_yticks(range(len(logs)), [short_name(joint.sensitive.label(s)) for s in range(len(logs))])
    if len(order) < logs.shape[1]:
        axes.set_title(f"riskiest {len(order)} of {logs.shape[1]} symbols")
    return axes


def draw_heat(axes: Axes, logs: NDArray[np.float64], names: Sequence[str]) -> None:
    """Cells of log-lift on a diverging scale around 0; a cross where a symbol rules a sensitive one out."""
    finite = np.isfinite(logs)
    most = float(np.abs(logs[finite]).max()) if finite.any() else 0.0
    most = most or 1.0
    image = axes.imshow(np.where(finite, logs, np.nan), cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
    rows, columns = np.nonzero(logs == -np.inf)
    if len(rows):
        axes.plot(columns, rows, linestyle="none", marker="x", color=GREY, label="-inf: ruled out")
    # Grey print loses the hue: where there is no room for numbers, the sign of what is not small remains.
    roomy = logs.shape[1] <= 20
    for row, column in zip(*np.nonzero(finite if roomy else finite & (np.abs(logs) > 0.1 * most)), strict=True):
        value = logs[row, column]
        ink = "white" if abs(value) > 0.6 * most else "black"
        words = f"{value:+.2f}" if roomy else "+" if value > 0 else "-"
        axes.text(column, row, words, ha="center", va="center", fontsize=7, color=ink)
    longest = max(len(short_name(name)) for name in names)
    turned: dict[str, Any] = {"rotation": 90} if longest > 3 and len(names) * longest > 40 else {}
    if len(names) > N_BESIDE:
        turned["fontsize"] = 7
    axes.set_xticks(range(len(names)), [short_name(name) for name in names], **turned)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.figure.colorbar(image, ax=axes, label="log-lift (nats); x: ruled out" if len(rows) else "log-lift (nats)")


def draw_histogram(
    joints: Iterable[JointDistribution], ax: Axes | None, *, label: str = "", filled: bool = True
) -> Axes:
    """Density of the max- and the min-log-lift of the symbols of some distributions [ZDS Fig. 1]."""
    distributions = list(joints)
    if not distributions:
        raise InvalidParameter("a histogram needs at least one distribution")
    axes = new_axes(ax)
    sides = (
        ("log min-lift", np.concatenate([min_log_lift(distribution) for distribution in distributions]), ORANGE, "//"),
        ("log max-lift", np.concatenate([max_log_lift(distribution) for distribution in distributions]), BLUE, "\\\\"),
    )
    for name, values, color, hatch in sides:
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


def draw_curve(
    ax: Axes | None,
    points: Sequence[tuple[float, float, str]],
    mechanism: str,
    words: str,
    chosen: tuple[float, float] | None,
) -> Axes:
    """Share of information kept against a leakage, one mark a budget, and the chosen point.

    A point is a leakage, a share and the label of its budget; they come in ascending order.
    """
    axes = new_axes(ax)
    axes.plot([p[0] for p in points], [100 * p[1] for p in points], marker="o", color=BLUE, label=mechanism)
    last = None
    for leakage, share, label in points:
        if last is None or abs(share - last) > 0.04:
            axes.annotate(label, (leakage, 100 * share), xytext=(5, -9), textcoords="offset points", fontsize=7)
            last = share
    if chosen is not None:
        mark: dict[str, Any] = {"linestyle": "none", "marker": "*", "markersize": 15, "color": ORANGE}
        axes.plot([chosen[0]], [100 * chosen[1]], label="this release", markeredgecolor="black", **mark)
    axes.set(xlabel=f"leakage: {words}", ylabel="information kept (%)", ylim=(-3, 105))
    axes.legend(loc="lower right")
    return axes


def short_name(symbol: str) -> str:
    """Short name that matplotlib prints as it is: a dollar sign would start a formula."""
    return clip(symbol, 24).replace("$", r"\$")
