"""Optimal random responses within budgets on averages of the lifts, beside merging: ``python studies/averaged.py``.

Distributions are `sanitize.datasets.make_joint` (uniform entries, normalised). Set OMP_NUM_THREADS=1. Results:
averaged.md. A gap above the one asked for, a release over its budget or below merging ends the run.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import sanitize as sz
from sanitize.core.budgets import AlphaLiftBudget, Chi2LiftBudget, L1LiftBudget
from sanitize.mechanisms import solve_optimal_random_response

FREE = math.inf
BUDGETS = (
    L1LiftBudget(lower=FREE, upper=0.2),
    Chi2LiftBudget(lower=FREE, upper=0.2),
    AlphaLiftBudget(2, lower=FREE, upper=0.02),
    AlphaLiftBudget(5, lower=FREE, upper=0.1),
    AlphaLiftBudget(100, lower=FREE, upper=0.3),
    L1LiftBudget(lower=0.3, upper=0.3),
    Chi2LiftBudget(lower=0.3, upper=0.3),
    AlphaLiftBudget(2, lower=0.05, upper=0.05),
)


def measure(budget: sz.core.budgets.Budget, n: int, gap: float) -> list[tuple[float, ...]]:
    """What is kept by the response and by merging, the gap, and seconds of the processor, of each distribution."""
    rows = []
    for seed in range(n):
        joint = sz.datasets.make_joint(17, 5, random_state=seed)
        started = time.process_time()
        made = solve_optimal_random_response(joint, budget, gap=gap)
        seconds = time.process_time() - started
        merged = sz.normalized_utility(joint, sz.subset_merging(joint, budget))
        assert made.gap <= gap + 1e-9, (seed, made.gap)
        assert budget.excess(joint.push(made.channel)).max() <= 0, seed
        assert made.normalized_utility >= merged - 1e-9, seed
        rows.append((made.normalized_utility, merged, made.gap, seconds))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--gap", type=float, default=1e-3)
    settings = parser.parse_args()
    print("| budget | kept, mean | by merging | gap, max | s, median | s, max |\n|---|---|---|---|---|---|")
    for budget in BUDGETS:
        rows = np.array(measure(budget, settings.n, settings.gap))
        kept, merged, _, _ = rows.mean(axis=0)
        times = np.median(rows[:, 3]), rows[:, 3].max()
        print(
            f"| {budget!r} | {kept:.4f} | {merged:.4f} | {rows[:, 2].max():.1e} | {times[0]:.1f} | {times[1]:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
