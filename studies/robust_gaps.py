"""Certified gap, time and what is kept of robust random responses, beside the plain design of the same counts.

    python studies/robust_gaps.py                             # the table of robust.md
    python studies/robust_gaps.py --shapes 5x17 --rows 1e4 --runs 3 --gap 1e-7

Distributions and counts are those of robust.py. Seconds are of one core. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import sanitize as sz

BUDGET = sz.LiftBudget(lower=1.0, upper=1.0)


def counted(seed: int, n: int, shape: tuple[int, ...]) -> sz.JointDistribution:
    """Frequencies of n rows of a distribution of uniform entries."""
    rng = np.random.default_rng([seed, n])
    cells = rng.random(shape)
    distribution = sz.JointDistribution.from_matrix(cells / cells.sum())
    counts = rng.multinomial(n, distribution.pmf.ravel()).reshape(shape)
    seen = np.flatnonzero(counts.sum(axis=0))
    return sz.core.joint.ContingencyTable(
        distribution.sensitive, distribution.public.take(seen), counts[:, seen], n
    ).to_joint()


def run(joint: sz.JointDistribution, gap: float, **options: float) -> tuple[float, ...]:
    """Share kept, certified gap, whether the gap asked for was reached, and CPU seconds."""
    start = time.process_time()
    found = sz.mechanisms.solve_optimal_random_response(joint, BUDGET, gap=gap, **options)
    return found.normalized_utility, found.gap, found.status == "optimal", time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["5x17", "2x100", "2x300"])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e4, 1e5, 1e6])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--confidence", type=float, default=0.95)
    given = parser.parse_args()
    heads = ["kept, robust", "gap, mean", "gap, largest", "closed", "CPU s", "kept, plain", "CPU s, plain"]
    print(f"| secrets x cells | n | {' | '.join(heads)} |")
    print("|---" * (2 + len(heads)) + "|")
    for shape in given.shapes:
        size = tuple(int(part) for part in shape.split("x"))
        for n in given.rows:
            found = []
            for seed in range(given.runs):
                joint = counted(seed, int(n), size)
                found.append((*run(joint, given.gap, confidence=given.confidence), *run(joint, given.gap)))
            mean, largest = np.mean(found, axis=0), max(row[1] for row in found)
            print(
                f"| {shape} | {n:.0e} | {mean[0]:.3f} | {mean[1]:.1e} | {largest:.1e} | {mean[2]:.0%} "
                f"| {mean[3]:.1f} | {mean[4]:.3f} | {mean[7]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
