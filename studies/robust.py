"""How often a channel breaks its budget where its table was drawn from, designed plainly and with confidence.

    python studies/robust.py                                  # the table of robust.md
    python studies/robust.py --runs 5 --rows 1000 10000 --mechanisms watchdog

Distributions are uniform[0, 1] entries, normalised, |X| = 17, |S| = 5. Each run draws a distribution and n rows from
it, designs on the counts, and measures under the distribution itself: a run is a violation when any released symbol is
over its budget by more than 1e-9 nats. NMI is I(X;Y)/H(X) under the distribution. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import partial

import numpy as np

import sanitize as sz

MECHANISMS = {
    "watchdog": sz.watchdog,
    "subset merging": sz.subset_merging,
    "best subset merging": sz.mechanisms.best_subset_merging,
    "optimal random response": partial(sz.optimal_random_response, gap=1e-3),
    "subset random response": partial(sz.subset_random_response, gap=1e-3),
}
BUDGETS = {"1/1": sz.LiftBudget(lower=1.0, upper=1.0), "1.3/0.7": sz.LiftBudget(lower=1.3, upper=0.7)}
OVER = 1e-9
_USUAL = ["watchdog", "subset merging", "optimal random response"]


def run(
    seed: int, n: int, budget: sz.LiftBudget, mechanisms: list[str], confidence: float, shape: tuple[int, int]
) -> np.ndarray:
    """Violated, excess and NMI, plainly and with confidence, of each mechanism; shape (mechanisms, 2, 3)."""
    rng = np.random.default_rng([seed, n])
    cells = rng.random(shape)
    distribution = sz.JointDistribution.from_matrix(cells / cells.sum())
    counts = rng.multinomial(n, distribution.pmf.ravel()).reshape(shape)
    seen = np.flatnonzero(counts.sum(axis=0))
    table = sz.core.joint.ContingencyTable(
        distribution.sensitive, distribution.public.take(seen), counts[:, seen], n
    ).to_joint()
    found = np.empty((len(mechanisms), 2, 3))
    for row, name in zip(found, mechanisms, strict=True):
        for cell, options in zip(row, ({}, {"confidence": confidence}), strict=True):
            channel = MECHANISMS[name](table, budget, **options)
            true = sz.JointDistribution.from_matrix(distribution.pmf[:, seen] / distribution.pmf[:, seen].sum())
            excess = float(budget.excess(true.push(channel)).max())
            cell[:] = excess > OVER, excess, sz.normalized_utility(true, channel)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e3, 1e4, 1e5, 1e6])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--budgets", nargs="+", choices=BUDGETS, default=list(BUDGETS))
    parser.add_argument("--mechanisms", nargs="+", choices=MECHANISMS, default=_USUAL)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    columns = ["violated, plain", "violated, robust", "median excess, plain", "NMI, plain", "NMI, robust"]
    print(f"| budget | n | mechanism | {' | '.join(columns)} |")
    print("|---" * (3 + len(columns)) + "|")
    with multiprocessing.Pool(given.jobs) as pool:
        for name in given.budgets:
            for n in given.rows:
                task = partial(
                    run,
                    n=int(n),
                    budget=BUDGETS[name],
                    mechanisms=given.mechanisms,
                    confidence=given.confidence,
                    shape=(5, 17),
                )
                found = np.array(pool.map(task, range(given.runs), chunksize=1))
                for mechanism, (plain, robust) in zip(given.mechanisms, found.mean(axis=0), strict=True):
                    index = given.mechanisms.index(mechanism)
                    median = np.median(found[:, index, 0, 1])
                    print(
                        f"| {name} | {n:.0e} | {mechanism} | {plain[0]:.0%} | {robust[0]:.0%} | {median:.3f} "
                        f"| {plain[2]:.3f} | {robust[2]:.3f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
