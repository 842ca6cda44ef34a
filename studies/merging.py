"""What merging keeps: Algorithm 1 as printed, and `subset_merging`, which is the best partition of all at 17 symbols.

    python studies/merging.py                              # the grid of [ZDS]: 17 x 5, 100 distributions a cell
    python studies/merging.py --eps 0.25 0.5 --search      # beside the search that serves above 17 symbols
    python studies/merging.py --sizes 1000 10000 100000    # time instead: one distribution a size

Distributions are uniform[0, 1] entries, normalised. NMI is I(X;Y)/H(X), the mean of all distributions. Seconds are of
the processor, a distribution. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import sanitize as sz
from sanitize.mechanisms._merging import subset_merging as search

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from paper_mechanisms import paper_subset_merging

if TYPE_CHECKING:
    from collections.abc import Callable

_PAPER_SYMBOLS = 5000  # above, Algorithm 1 takes minutes


def kept(
    mechanism: Callable[[sz.JointDistribution, sz.LiftBudget], sz.Channel],
    distributions: list[sz.JointDistribution],
    budget: sz.LiftBudget,
) -> tuple[float, float]:
    """Mean NMI and seconds a distribution."""
    start = time.process_time()
    channels = [mechanism(joint, budget) for joint in distributions]
    seconds = time.process_time() - start
    for joint, channel in zip(distributions, channels, strict=True):
        assert budget.excess(joint.push(channel)).max() <= 0
    means = [sz.normalized_utility(joint, channel) for joint, channel in zip(distributions, channels, strict=True)]
    return float(np.mean(means)), seconds / len(distributions)


def searched(joint: sz.JointDistribution, budget: sz.LiftBudget) -> sz.Channel:
    """`subset_merging` as it searches where there are too many symbols for the best partition."""
    exact, search.EXACT = search.EXACT, 0
    try:
        return sz.subset_merging(joint, budget)
    finally:
        search.EXACT = exact


def distribution(n_x: int, n_s: int, rng: np.random.Generator) -> sz.JointDistribution:
    """A distribution with uniform entries."""
    cells = rng.random((n_s, n_x))
    return sz.JointDistribution.from_matrix(cells / cells.sum())


def print_row(name: str, distributions: list[sz.JointDistribution], budget: sz.LiftBudget, mechanisms: list) -> None:
    """One line of a table."""
    cells = [kept(mechanism, distributions, budget) for mechanism in mechanisms]
    print(f"| {name} | " + " | ".join(f"{nmi:.4f} ({seconds:.2g} s)" for nmi, seconds in cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--distributions", type=int, default=100)
    parser.add_argument("--secrets", type=int, default=5)
    parser.add_argument("--eps", type=float, nargs="+", default=[0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.35, 0.5, 0.65])
    parser.add_argument("--sizes", type=int, nargs="+", default=[])
    parser.add_argument("--search", action="store_true", help="also the search by itself")
    options = parser.parse_args()
    for n_x in options.sizes:
        print(f"\n{n_x} symbols, {options.secrets} secrets\n\n| eps | Algorithm 1 | subset merging |\n|---|---|---|")
        for eps in options.eps:
            distributions = [distribution(n_x, options.secrets, np.random.default_rng(n_x))]
            some = [paper_subset_merging] if n_x <= _PAPER_SYMBOLS else []
            print_row(
                f"{eps:g}" + ("" if some else " | –"),
                distributions,
                sz.LiftBudget.from_ldp(eps),
                [*some, sz.subset_merging],
            )
    if options.sizes:
        print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
        return
    mechanisms = [paper_subset_merging, sz.subset_merging, *([searched] if options.search else [])]
    heads = ["eps, share", "Algorithm 1", "subset merging", *(["the search alone"] if options.search else [])]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for eps in options.eps:
        for share in options.shares:
            rng = np.random.default_rng(0)
            distributions = [distribution(17, options.secrets, rng) for _ in range(options.distributions)]
            print_row(f"{eps:g}, {share:g}", distributions, sz.LiftBudget.from_ldp(eps, share), mechanisms)


if __name__ == "__main__":
    main()
