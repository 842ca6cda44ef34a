"""Draw Figures 1 to 8 of the lift paper again: ``python docs/pictures/lift_paper.py``.

[ZDS] draws P_SX with independent uniform entries, normalised, over 17 x 5 symbols, and averages 1,000 such laws for
merging and 100 for random responses. So do the numbers here; of Figure 6 the paper says no number, and here it is 10
laws; of the optima within budgets on averages, which Figures 7 and 8 of the paper lack, 2. They are kept in
``lift_paper.json``, with those of a few laws, which a test computes again. ``--run`` computes all of them anew, in some
ten minutes on one core, most of them for optimal responses.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sanitize as sz

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "support"))
from paper_mechanisms import paper_subset_merging, paper_subset_random_response

HERE = Path(__file__).parent
CACHE = HERE / "lift_paper.json"
EPSILONS = (0.25, 0.5, 1, 1.5, 2, 4, 8)
WIDE = (1.5, 2, 3, 4, 6, 8)  # of Figure 6
SHARES = (0.35, 0.5, 0.65)
EDGES = {"log min-lift": np.linspace(-12.5, 0, 121), "log max-lift": np.linspace(0, 2, 61)}

Curve = dict[str, list[float]]
Curves = dict[str, Curve]
BudgetOf = Callable[[float], Any]


@dataclass(frozen=True)
class Laws:
    """How many laws are averaged, by merging, by random responses and of 200 x 15 symbols, and the levels of ε."""

    merging: int
    responses: int
    large: int
    responding: tuple[float, ...] = EPSILONS  # of random responses over 17 x 5 symbols
    wide: tuple[float, ...] = WIDE
    averages: int = 2  # of optimal responses within budgets on averages, and their levels
    averaging: tuple[float, ...] = (1, 2, 4)


WHOLE = Laws(merging=1000, responses=100, large=10)
SAMPLE = Laws(merging=6, responses=2, large=2, responding=(1, 2, 8), wide=(4,), averages=2, averaging=(8,))


def alip(share: float) -> BudgetOf:
    """Budget of an LDP level, split: λε for the min-lift, (1 − λ)ε for the max-lift."""
    return lambda epsilon: sz.LiftBudget.from_ldp(epsilon, share)


def averaged(kind: Any, share: float, *settings: float) -> BudgetOf:
    """The same split for a lift-based measure and its inverse."""
    return lambda epsilon: kind(*settings, lower=share * epsilon, upper=(1 - share) * epsilon)


SPLITS = {f"ALIP, λ={share}": alip(share) for share in SHARES}
NOTIONS = {**SPLITS, "LDP": sz.LDPBudget}


def optimal(distribution: Any, budget: Any) -> Any:
    """AORR: every optimum is certified to 1e-6 nats of I(X;Y)."""
    return sz.optimal_random_response(distribution, budget, gap=1e-6)


def near_optimal(distribution: Any, budget: Any) -> Any:
    """The optimum within budgets on averages of the lifts, certified to 1e-3 nats of I(X;Y)."""
    return sz.optimal_random_response(distribution, budget, gap=1e-3)


def beside_merging(at_once: AllAtOnce, budgets: dict[str, BudgetOf], few: list[Any], laws: Laws) -> Curves:
    """Curves of Algorithm 1 over all laws, as the paper has them, and of the optimum over a few."""
    optima = {
        f"{name}, optimum": curve(near_optimal, budget, few[: laws.averages], laws.averaging)
        for name, budget in budgets.items()
    }
    return {name: at_once.curve(at_once.subsets, budget) for name, budget in budgets.items()} | optima


def point(kept: Any, below: Any, above: Any, excess: Any) -> dict[str, float]:
    """A point of a curve: means over laws, the standard error of the utility, and the worst excess over the budget."""
    n = len(kept)
    return {
        "utility": float(np.mean(kept)),
        "min-lift": float(np.mean(below)),
        "max-lift": float(np.mean(above)),
        "error": float(np.std(kept, ddof=1) / np.sqrt(n)),
        "excess": float(np.max(excess)),
        "laws": n,
    }


def as_curve(points: dict[float, dict[str, float]]) -> Curve:
    """Points of a curve as a list for each of their names."""
    names = next(iter(points.values()))
    return {"ε": list(points), **{name: [round(point[name], 9) + 0 for point in points.values()] for name in names}}


def curve(mechanism: Any, budget_of: BudgetOf, laws: list[Any], epsilons: tuple[float, ...]) -> Curve:
    """Curve of any mechanism, law by law."""
    points = {}
    for epsilon in epsilons:
        budget, runs = budget_of(epsilon), []
        for law in laws:
            channel = mechanism(law, budget)
            after = law.push(channel)
            runs.append(
                (
                    sz.normalized_utility(law, channel),
                    -sz.core.lifts.min_log_lift(after).min(),
                    sz.core.lifts.max_log_lift(after).max(),
                    budget.excess(after).max(),
                )
            )
        points[epsilon] = point(*zip(*runs, strict=True))
    return as_curve(points)


class AllAtOnce:
    """Algorithm 1, and complete merging, a step of all laws at a time.

    `paper_subset_merging` takes a millisecond a law, and the figures ask for 100,000 releases. A test holds that the
    groups are those of `paper_subset_merging`.
    """

    def __init__(self, laws: list[Any]) -> None:
        self.joints = np.stack([law.pmf for law in laws])  # law, s, x
        self.p_s, self.p_x = self.joints.sum(axis=2), self.joints.sum(axis=1)

    def measures(self, budget: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Function of columns (law, s, k) and the laws they are of: excess over the budget and risk, (law, k)."""
        if isinstance(budget, (sz.LiftBudget, sz.LDPBudget)):

            def of(columns: Any, rows: Any) -> tuple[Any, Any]:
                lifts = columns / self.p_s[rows][:, :, None] / columns.sum(axis=1, keepdims=True)
                top, bottom = np.log(lifts.max(axis=1)), np.log(lifts.min(axis=1))
                if isinstance(budget, sz.LDPBudget):
                    return top - bottom - budget.eps, top - bottom
                return np.maximum(top - budget.upper, -bottom - budget.lower), top - bottom

            return of
        power = 1 + isinstance(budget, sz.Chi2LiftBudget)
        alpha = getattr(budget, "alpha", None)
        high, low = (np.exp(side) if alpha else np.expm1(side) ** power for side in (budget.upper, budget.lower))

        def average(lifts: Any, prior: Any) -> Any:
            if not alpha:
                return (prior * np.abs(lifts - 1) ** power).sum(axis=1)
            top = lifts.max(axis=1, keepdims=True)  # 1e4 to the power of 100 is no double
            return top[:, 0] * (prior * (lifts / top) ** alpha).sum(axis=1) ** (1 / alpha)

        def averaged_of(columns: Any, rows: Any) -> tuple[Any, Any]:
            prior = self.p_s[rows][:, :, None]
            lifts = columns / prior / columns.sum(axis=1, keepdims=True)
            above, below = average(lifts, prior), average(1 / lifts, prior)
            return np.maximum(above - high, below - low), above + below

        return averaged_of

    def sums_of(self, labels: Any) -> Any:
        """Columns of the groups, (law, s, x): the sum of those labelled x, or 0."""
        by_symbol = self.joints.transpose(0, 2, 1)
        merged = np.zeros(by_symbol.shape)
        np.add.at(merged, (np.arange(len(merged))[:, None], labels), by_symbol)
        return merged.transpose(0, 2, 1)

    @staticmethod
    def grow(of: Any, rows: Any, column: Any, candidates: Any, left: Any, labels: Any, label: Any) -> None:
        """Add to one unsafe group of each law, in place, the candidate that makes it least risky, until it is safe."""
        active = np.arange(len(rows))
        while True:
            unsafe = of(column[active][:, :, None], rows[active])[0][:, 0] > 1e-12
            active = active[unsafe & left[rows[active]].any(axis=1)]
            if not len(active):
                return
            some = rows[active]
            risk = of(column[active][:, :, None] + candidates[some], some)[1]
            best = np.where(left[some], risk, np.inf).argmin(axis=1)
            column[active] += candidates[some, :, best]
            labels[some] = np.where(labels[some] == best[:, None], label[active, None], labels[some])
            left[some, best] = False

    def complete(self, budget: Any) -> Any:
        """Group of each symbol of every law, (law, x): one group of everything high-risk."""
        joints, of = self.joints, self.measures(budget)
        labels = np.tile(np.arange(joints.shape[2]), (len(joints), 1))
        high = of(joints, np.arange(len(joints)))[0] > 1e-12
        rows = np.flatnonzero(high.any(axis=1))
        first = high[rows].argmax(axis=1)
        labels[rows] = np.where(high[rows], first[:, None], labels[rows])
        self.grow(of, rows, (joints[rows] * high[rows, None]).sum(axis=2), joints, ~high, labels, first)
        return labels

    def subsets(self, budget: Any) -> Any:
        """Group of each symbol of every law, (law, x): Algorithm 1."""
        joints, of = self.joints, self.measures(budget)
        labels = np.tile(np.arange(joints.shape[2]), (len(joints), 1))
        excess, risk = of(joints, np.arange(len(joints)))
        high = excess > 1e-12
        left, last, newest = high.copy(), np.zeros(len(joints), bool), np.zeros(len(joints), int)
        while (rows := np.flatnonzero(left.any(axis=1))).size:
            seed = np.where(left[rows], risk[rows], -np.inf).argmax(axis=1)
            column = joints[rows, :, seed]
            left[rows, seed] = False
            self.grow(of, rows, column, joints, left, labels, seed)
            last[rows], newest[rows] = of(column[:, :, None], rows)[0][:, 0] > 1e-12, seed
        rows = np.flatnonzero(last)  # the last group is unsafe: other groups join it, then low-risk symbols
        groups, others = self.sums_of(labels), np.zeros_like(high)
        others[np.nonzero(high)[0], labels[high]] = True
        others[rows, newest[rows]] = False
        column = groups[rows, :, newest[rows]]
        for candidates in (others, ~high):
            self.grow(of, rows, column, groups, candidates, labels, newest[rows])
        return labels

    def curve(self, groups_of: Callable[[Any], Any], budget_of: BudgetOf) -> Curve:
        """Curve of a merging over all laws."""
        points = {}
        for epsilon in EPSILONS:
            budget = budget_of(epsilon)
            labels = groups_of(budget)
            merged = self.sums_of(labels)
            mass = merged.sum(axis=1)
            lost = (self.p_x * np.log(np.take_along_axis(mass, labels, axis=1) / self.p_x)).sum(axis=1)
            kept = 1 - lost / -(self.p_x * np.log(self.p_x)).sum(axis=1)
            columns = np.where(mass[:, None] > 0, merged, self.p_s[:, :, None])  # lift 1 where there is no group
            logs = np.log(columns / self.p_s[:, :, None] / columns.sum(axis=1, keepdims=True))
            excess = self.measures(budget)(columns, np.arange(len(columns)))[0]
            points[epsilon] = point(kept, -logs.min(axis=(1, 2)), logs.max(axis=(1, 2)), excess)
        return as_curve(points)


def draw_laws(n: int) -> list[Any]:
    """The first laws of 17 x 5 symbols; more of them begin with the same."""
    rng = np.random.default_rng(2023)
    return [sz.datasets.make_joint(17, 5, random_state=rng) for _ in range(n)]


def asymmetry(laws: list[Any]) -> dict[str, Any]:
    """Figure 1: how many symbols have which lift, and the smallest and largest of them."""
    lifts = {"log min-lift": sz.core.lifts.min_log_lift, "log max-lift": sz.core.lifts.max_log_lift}
    logs = {name: np.concatenate([of(law) for law in laws]) for name, of in lifts.items()}
    return {
        name: {
            "range": [round(float(values.min()), 9), round(float(values.max()), 9)],
            "symbols": np.histogram(values, EDGES[name])[0].tolist(),
        }
        for name, values in logs.items()
    }


def numbers(laws: Laws) -> dict[str, Any]:
    """What Figures 1 to 8 show, over so many laws."""
    drawn = draw_laws(laws.merging)
    few = drawn[: laws.responses]
    large = [sz.datasets.make_joint(200, 15, random_state=seed) for seed in range(laws.large)]
    at_once = AllAtOnce(drawn)
    subset = {name: at_once.curve(at_once.subsets, budget) for name, budget in NOTIONS.items()}
    aorr = {name: curve(optimal, budget, few, laws.responding) for name, budget in SPLITS.items()}
    as_printed = {"SRR, Algorithm 2": paper_subset_random_response, "subset merging, Algorithm 1": paper_subset_merging}
    alone, middle = {"ALIP, λ=0.5": subset["ALIP, λ=0.5"]}, alip(0.5)
    kinds = {"ℓ1": sz.L1LiftBudget, "χ²": sz.Chi2LiftBudget}
    return {
        "figure_1": asymmetry(drawn),
        "figure_2": {name: at_once.curve(at_once.complete, budget) for name, budget in NOTIONS.items()},
        "figure_3": aorr,
        "figure_4": subset,
        "figure_5": {"AORR": aorr["ALIP, λ=0.65"]}
        | {name: curve(mechanism, alip(0.65), few, laws.responding) for name, mechanism in as_printed.items()},
        "figure_6": {name: curve(mechanism, middle, large, laws.wide) for name, mechanism in as_printed.items()},
        "figure_7": alone
        | beside_merging(
            at_once,
            {f"{name}, λ={share}": averaged(kind, share) for share in (0.5, 0.65) for name, kind in kinds.items()},
            drawn,
            laws,
        ),
        "figure_8": alone
        | beside_merging(
            at_once, {f"α={alpha}": averaged(sz.AlphaLiftBudget, 0.5, alpha) for alpha in (2, 10, 100)}, drawn, laws
        ),
    }


PRINTED = {"figure_2": 0.52, "figure_4": 0.83, "figure_3": 0.94}  # mean utility at λ = 0.5, ε = 2
PRINTED_RANGES = {"log min-lift": (-12, -0.06), "log max-lift": (0.02, 1.64)}


def beside(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The utilities that the paper prints, ours, and the standard error of ours."""
    rows = {}
    for name, value in PRINTED.items():
        ours = found[name]["ALIP, λ=0.5"]
        at = ours["ε"].index(2)
        rows[name] = {"printed": value, "ours": ours["utility"][at], "error": ours["error"][at]}
    return rows


def above(first: Curve, second: Curve, low: float = 0.0, high: float = 8.0, slack: float = 0.0) -> bool:
    """Whether one curve's mean utility is nowhere below another's, between two levels."""
    pairs = zip(first["ε"], first["utility"], second["utility"], strict=True)
    return all(one >= other - slack for epsilon, one, other in pairs if low <= epsilon <= high)


def optima_above_merging(curves: Curves) -> list[float]:
    """How much more utility each optimum has than merging at its levels."""
    pairs = [(curves[name.removesuffix(", optimum")], one) for name, one in curves.items() if name.endswith("optimum")]
    return [
        utility - merged["utility"][merged["ε"].index(epsilon)]
        for merged, one in pairs
        for epsilon, utility in zip(one["ε"], one["utility"], strict=True)
    ]


def claims(found: dict[str, Any]) -> dict[str, bool]:
    """What the paper says of its curves, said of ours."""
    complete, aorr, subset, at_065, big, averages, orders = (found[f"figure_{i}"] for i in (2, 3, 4, 5, 6, 7, 8))
    low, middle, high = (f"ALIP, λ={share}" for share in SHARES)
    ours, theirs, merging = at_065["AORR"], at_065["SRR, Algorithm 2"], at_065["subset merging, Algorithm 1"]
    return {
        "Fig. 2: LDP keeps more than ALIP": all(above(complete["LDP"], complete[name]) for name in SPLITS),
        "Fig. 2: λ=0.65 beats λ=0.5 from ε=1.5 on": above(complete[high], complete[middle], low=1.5),
        "Fig. 2: λ=0.5 beats λ=0.35": above(complete[middle], complete[low]),
        "Fig. 3: λ=0.65 beats λ=0.5 from ε=1.5 on": above(aorr[high], aorr[middle], low=1.5),
        "Fig. 3: λ=0.5 beats λ=0.35": above(aorr[middle], aorr[low]),
        "Fig. 4: subset merging beats complete": all(
            above(subset[name], complete[name], slack=0.01) for name in NOTIONS
        ),
        "Fig. 5: AORR beats SRR, SRR beats merging": above(ours, theirs, slack=1e-6) and above(theirs, merging),
        "Fig. 6: SRR beats merging": above(big["SRR, Algorithm 2"], big["subset merging, Algorithm 1"]),
        "Fig. 7: ℓ1 and χ² keep more than ALIP": all(
            above(averages[f"{name}, λ=0.5"], averages[middle]) for name in ("ℓ1", "χ²")
        ),
        "Fig. 7: λ=0.65 helps from ε=1.5 on": all(
            above(averages[f"{name}, λ=0.65"], averages[f"{name}, λ=0.5"], low=1.5) for name in ("ℓ1", "χ²")
        ),
        "Fig. 7: λ=0.65 hurts below ε=1": all(
            above(averages[f"{name}, λ=0.5"], averages[f"{name}, λ=0.65"], high=0.5) for name in ("ℓ1", "χ²")
        ),
        "Fig. 8: utility falls as α grows, towards ALIP": above(orders["α=2"], orders["α=10"])
        and above(orders["α=10"], orders["α=100"])
        and above(orders["α=100"], orders[middle], slack=0.01),
    }


def three_panels(curves: Curves, title: str, printed: float | None = None) -> Any:
    """The three panels of a figure of the paper, and a point that it prints."""
    import matplotlib.pyplot as plt

    labels = {
        "utility": "mean normalised utility",
        "min-lift": "mean |log min-lift|",
        "max-lift": "mean log max-lift",
    }
    figure = plt.figure(figsize=(7, 5.6))
    panels = list(figure.subplot_mosaic([["utility", "utility"], ["min-lift", "max-lift"]]).values())
    for axes, (column, label) in zip(panels, labels.items(), strict=True):
        colors: dict[str, Any] = {}
        for name, values in curves.items():
            merging = colors.get(name.removesuffix(", optimum"))
            style = {"color": merging, "linestyle": "--"} if merging else {"marker": "."}
            colors[name] = axes.plot(values["ε"], values[column], label=name, **style)[0].get_color()
        axes.set(xlabel="ε (nats)", ylabel=label)
    if printed is not None:
        panels[0].plot(2, printed, "kx", markersize=9, label=f"printed: {printed}")
    panels[0].legend(fontsize=8)
    figure.suptitle(title)
    return figure


def figure_1(found: dict[str, Any]) -> Any:
    """Lift asymmetry."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6))
    for name, bars in found["figure_1"].items():
        widths = np.diff(EDGES[name])
        density = np.array(bars["symbols"]) / np.sum(bars["symbols"]) / widths
        axes.stairs(density, EDGES[name], fill=True, alpha=0.7, label=f"{name} of a symbol")
    for name, ends in PRINTED_RANGES.items():
        axes.plot(ends, [0, 0], "kx", clip_on=False, label="printed range" if name == "log min-lift" else None)
    axes.set(xlabel="nats", ylabel="density", xlim=(-12.5, 2), title="Figure 1: min- and max-lift (1,000 laws)")
    axes.legend(fontsize=8)
    return figure


def figure_2(found: dict[str, Any]) -> Any:
    """Complete merging."""
    return three_panels(found["figure_2"], "Figure 2: complete merging (1,000 laws)", PRINTED["figure_2"])


def figure_3(found: dict[str, Any]) -> Any:
    """Asymmetric optimal random response."""
    return three_panels(found["figure_3"], "Figure 3: AORR (100 laws)", PRINTED["figure_3"])


def figure_4(found: dict[str, Any]) -> Any:
    """Subset merging."""
    return three_panels(found["figure_4"], "Figure 4: subset merging (1,000 laws)", PRINTED["figure_4"])


def figure_5(found: dict[str, Any]) -> Any:
    """Random responses and merging at λ = 0.65."""
    return three_panels(found["figure_5"], "Figure 5: random responses and merging, λ = 0.65 (100 laws)")


def figure_6(found: dict[str, Any]) -> Any:
    """Large alphabets."""
    return three_panels(found["figure_6"], "Figure 6: 200 x 15 symbols, λ = 0.5 (10 laws)")


def figure_7(found: dict[str, Any]) -> Any:
    """Budgets on the l1- and the chi2-lift."""
    return three_panels(found["figure_7"], "Figure 7: ℓ1- and χ²-privacy (1,000 laws; optima: 2)")


def figure_8(found: dict[str, Any]) -> Any:
    """Budgets on the alpha-lift."""
    return three_panels(found["figure_8"], "Figure 8: α-lift privacy (1,000 laws; optima: 2)")


FIGURES = (figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7, figure_8)


def read() -> dict[str, Any]:
    """The numbers that were kept: of all laws, and of the sample."""
    return json.loads(CACHE.read_text(encoding="utf-8"))


def digest(numbers: Any) -> str:
    """A name for these numbers, which a picture that is drawn from them bears."""
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:16]


def main() -> None:
    """Write the pictures beside this script."""
    import matplotlib.pyplot as plt

    if "--run" in sys.argv[1:]:
        kept = {"whole": numbers(WHOLE), "sample": numbers(SAMPLE)}
        CACHE.write_text(json.dumps(kept, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lift_paper"})
    whole = read()["whole"]
    for draw in FIGURES:
        marks = {"Date": None, "Source": digest(whole[draw.__name__])}
        figure = draw(whole)
        figure.tight_layout()  # names of axes within the picture
        figure.savefig(HERE / f"zds_{draw.__name__}.svg", metadata=marks)
        plt.close()


if __name__ == "__main__":
    main()
