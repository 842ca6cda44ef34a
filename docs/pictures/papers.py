"""Draw the figures of the other four papers again: ``python docs/pictures/papers.py``.

[WYZ] and [ZB] on privacy against distortion, [WXH] on capacities, [CY] on conversions. The papers print sketches, or
curves without values, so what stands beside each curve is a closed form or a linear program. Each function draws one
figure and returns what it found; a test holds that. The last is of no paper: the privacy funnel.
"""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import sanitize as sz
from sanitize import mechanisms
from sanitize.core import conversions
from sanitize.theory import tradeoff

HERE = Path(__file__).parent
PRIOR = np.array([0.5, 0.3, 0.2])
Drawn = tuple[Figure, dict[str, Any]]


def program() -> dict[float, float]:
    """The smallest ε of any channel with a distortion, by linear programs."""
    by_programs = tradeoff.OptimalDP(PRIOR, 1.0 - np.eye(3))
    return {d: by_programs.privacy(d) for d in (0.05, 0.1, 0.2, 0.3, 0.4)}


def wyz_figure_2() -> Drawn:
    """Identifiability and differential privacy against the chance that a record is changed."""
    distortions = np.linspace(0.02, 0.6, 30)
    database = tradeoff.DatabaseIdentifiability(PRIOR)
    identifiable = [database.bounds(d) for d in distortions]
    private = [tradeoff.DatabaseDP(PRIOR).bounds(d) for d in distortions]
    known_dp = tradeoff.PriorDP(PRIOR)

    found = program()

    figure, axes = plt.subplots(figsize=(7, 3.6))
    axes.plot(distortions, [level.lower for level in identifiable], label="identifiability, lower bound")
    axes.fill_between(
        distortions,
        [level.lower for level in private],
        [level.upper for level in private],
        alpha=0.3,
        color="C1",
        label="DP, between the printed bounds",
    )
    axes.plot(list(found), list(found.values()), "k.", label="DP, linear program")
    axes.plot(distortions, [known_dp.privacy(d) for d in distortions], "C1", label="DP, known prior, exact")
    axes.axvline(database.largest, linestyle=":", color="grey")
    axes.set(xlabel="distortion D", ylabel="ε (nats)", title="Left of the dotted line both functions are h⁻¹(D)")
    axes.legend(fontsize=8)
    left = [d for d in found if d <= database.largest]
    inverse = {d: tradeoff.UniformDP(n_records=1, n_symbols=3).privacy(d) for d in left}
    return figure, {
        "program - h⁻¹ left of the threshold": round(max(abs(found[d] - inverse[d]) for d in left), 5),
        "program - closed form": round(max(abs(found[d] - known_dp.privacy(d)) for d in found), 5),
    }


def zb_figure_3() -> Drawn:
    """One bit whose prior is not known."""
    d = np.linspace(0.01, 0.5, 50)
    one_bit = {
        "DP": tradeoff.UniformDP(1, 2),
        "(ε, 0.1)-DP": tradeoff.UniformDP(1, 2, delta=0.1),
        "Rényi DP, α=2": tradeoff.UniformRenyiDP(1, 2, alpha=2),
        "maximal leakage": tradeoff.UniformSibson(1, 2, alpha=math.inf),
        "Sibson, α=2": tradeoff.UniformSibson(1, 2, alpha=2),
        "mutual information": tradeoff.UniformSibson(1, 2, alpha=1),
    }
    curves = {name: [family.privacy(x) for x in d] for name, family in one_bit.items()}
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for name, values in curves.items():
        axes.plot(d, values, label=name)
    axes.set(xlabel="distortion D", ylabel="nats", ylim=(0, 4), title="[ZB] Figure 3")
    axes.legend(fontsize=8)

    x = 0.1
    closed = {
        "DP": math.log((1 - x) / x),
        "(ε, 0.1)-DP": math.log((1 - 0.1 - x) / x),
        "Rényi DP, α=2": math.log((1 - x) ** 2 / x + x**2 / (1 - x)),
        "maximal leakage": math.log(2 * (1 - x)),
        "Sibson, α=2": math.log(2 * ((1 - x) ** 2 + x**2)),
        "mutual information": math.log(2) - conversions.binary_entropy(x),
    }
    ours = {name: float(np.interp(x, d, values)) for name, values in curves.items()}
    return figure, {
        "largest difference from a closed form": round(max(abs(ours[name] - closed[name]) for name in ours), 2)
    }


def zb_figure_4() -> Drawn:
    """A prior that is known; where each notion falls to nothing."""
    d = np.linspace(0.01, 0.55, 109)
    delta = 0.1
    families = {
        "DP": tradeoff.PriorDP(PRIOR),
        "(ε, 0.1)-DP": tradeoff.PriorDP(PRIOR, delta),
        "maximal leakage": tradeoff.PriorMaximalLeakage(PRIOR),
    }
    known = {name: [family.privacy(x) for x in d] for name, family in families.items()}
    by_program = program()
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for name, values in known.items():
        axes.plot(d, values, label=name)
    axes.plot(list(by_program), list(by_program.values()), "k.", label="DP, linear program")
    for jump in (1 - PRIOR[0], (1 - delta) * (1 - PRIOR[0])):
        axes.axvline(jump, linestyle=":", color="grey")
    axes.set(xlabel="distortion D", ylabel="nats", ylim=(0, 4.5), title="[ZB] Figure 4")
    axes.legend(fontsize=8)
    zero_from = {name: float(d[np.flatnonzero(np.array(values) > 1e-12).max() + 1]) for name, values in known.items()}
    return figure, {name: round(d, 3) for name, d in zero_from.items()}


def wxh_corollary_6() -> Drawn:
    """Least noise for a capacity, where the input is limited in amplitude."""
    levels = [0.1, 0.3, 0.5, 0.75, 1.0]
    exact = [mechanisms.gaussian_noise_variance(1.0, epsilon) for epsilon in levels]
    paper = [1 / math.expm1(2 * epsilon) for epsilon in levels]
    figure, axes = plt.subplots(figsize=(6, 3.4))
    axes.semilogy(levels, paper, marker="o", label="[WXH Corollary 6]")
    axes.semilogy(levels, exact, marker="o", label="least noise that suffices")
    axes.set(xlabel="ε (nats)", ylabel="variance N for |f| ≤ 1")
    axes.legend()
    return figure, {"exact / printed noise at ε = 1": round(exact[-1] / paper[-1], 4)}


def cy_conversions() -> Drawn:
    """How differential privacy and mutual information bound each other; dots are channels."""
    e = np.linspace(0.05, 4, 60)
    figure = plt.figure(figsize=(7, 5.6))
    panels = list(figure.subplot_mosaic([["information", "information"], ["KL", "variation"]]).values())
    panels[0].plot(e, [conversions.mutual_information_from_dp(x) for x in e], label="sharp bound")
    panels[0].plot(e, e, "--", label="I ≤ ε")
    gaps = []
    for letters in (2, 4, 16):
        for x in (0.5, 1.0, 2.0, 3.0):
            told = float(sz.channel_capacity(sz.randomized_response(letters, x)))
            gaps.append(conversions.mutual_information_from_dp(x) - told)
            panels[0].plot(x, told, "k.")
    panels[0].set(xlabel="ε of DP", ylabel="I (nats)", ylim=(0, 2.5))

    panels[1].plot(e, [conversions.kl_from_dp(x).tight for x in e], label="ε tanh(ε/2)")
    panels[1].plot(e, e, "--", label="KL ≤ ε")
    rr_kl = []
    for x in (0.5, 1.0, 2.0, 3.0):
        p, q = np.array([math.exp(x), 1.0]) / (1 + math.exp(x)), np.array([1.0, math.exp(x)]) / (1 + math.exp(x))
        rr_kl.append(float(p @ np.log(p / q)) - conversions.kl_from_dp(x).tight)
        panels[1].plot(x, p @ np.log(p / q), "k.")
    panels[1].set(xlabel="ε of DP", ylabel="KL (nats)")

    i = np.linspace(0.001, 0.75, 60)
    panels[2].plot(
        i, [conversions.total_variation_from_mutual_information(x).tight for x in i], label="1 − 2h⁻¹(ln 2 − I)"
    )
    panels[2].plot(i, np.minimum(1, np.sqrt(2 * i)), "--", label="√(2 I)")
    for p in (0.05, 0.1, 0.2, 0.3, 0.4):
        panels[2].plot(math.log(2) - conversions.binary_entropy(p), 1 - 2 * p, "k.")
    panels[2].set(xlabel="max I (nats)", ylabel="total variation")
    for axes in panels:
        axes.legend(fontsize=8)
    return figure, {
        "I from 1-DP": round(conversions.mutual_information_from_dp(1.0), 4),
        "least gap of I": min(gaps),
        "KL - bound": max(map(abs, rr_kl)),
    }


def privacy_funnel() -> Drawn:
    """What is kept of X against what is told of S: the funnel, two heuristics, and budgets on every lift."""
    heuristics = runpy.run_path(str(HERE.parents[1] / "studies" / "funnel.py"))
    joint = sz.datasets.make_joint(8, 5, random_state=0)
    leak = sz.core.measures.mutual_information(joint) * np.linspace(0, 1, 25) ** 2
    budgets = [sz.core.budgets.MutualInformationBudget(limit) for limit in leak]
    made = [mechanisms.solve_optimal_random_response(joint, budget, gap=1e-4) for budget in budgets]
    kept = np.array([one.utility for one in made])
    path, cloud = heuristics["merged"](joint), heuristics["alternated"](joint)[-480:]
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(leak, kept, "k", label="funnel, certified to 1e-4")
    axes.plot(*path.T, "C1s", markersize=4, label="greedy merging")
    axes.plot(*cloud.T, "C0.", markersize=3, label="difference of convex functions")
    shares = {}
    for name, budget, marker in (
        ("every lift and its inverse ≤ e^ε", sz.LiftBudget.symmetric, "C2o-"),
        ("every lift ≤ e^ε", lambda eps: sz.LiftBudget(lower=math.inf, upper=eps), "C3^-"),
    ):
        channels = [sz.optimal_random_response(joint, budget(eps)) for eps in (0.01, 0.05, 0.1, 0.2, 0.4, 0.8)]
        points = heuristics["points_of"](
            joint, np.array([np.pad(c.matrix, ((0, 0), (0, 9 - c.n_outputs))) for c in channels])
        )
        axes.plot(*points.T, marker, markersize=4, linewidth=0.8, label=f"optimal response, {name}")
        shares[f"{name}: share of the funnel at ε = 0.2"] = round(
            float(points[3, 1] / np.interp(points[3, 0], leak, kept)), 2
        )
    axes.set(xlabel="I(S;Y) (nats)", ylabel="I(X;Y) (nats)", title="|S| = 5, |X| = 8")
    axes.legend(fontsize=8)
    above = [
        heuristics["within"](points, limit) - most
        for points in (path, cloud)
        for limit, most in zip(leak, kept, strict=True)
    ]
    return figure, {
        "a heuristic keeps more": bool(max(above) > 1e-4),
        "largest gap": round(max(one.gap for one in made), 4),
    } | shares


FIGURES = (wyz_figure_2, zb_figure_3, zb_figure_4, wxh_corollary_6, cy_conversions, privacy_funnel)


def main() -> None:
    """Write the pictures beside this script."""
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "papers"})
    for draw in FIGURES:
        figure, _ = draw()
        figure.tight_layout()  # names of axes within the picture
        figure.savefig(HERE / f"{draw.__name__}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
