"""Does a looser budget keep at least as much? 13 kinds of distributions, and every ordered pair of budgets of a grid.

    python studies/monotone.py optimal --distributions 300 --symbols 2 8
    python studies/monotone.py merging --distributions 300 --symbols 18 24 --nats 0 1e-9 0.3 1.5 inf

The grid of lift budgets has every pair of bounds, that of local differential privacy every bound, by default among 0,
1e-9, 0.1, 0.5, 1.5 and infinity. A drop is what a looser budget keeps less of I(X;Y)/H(X). Merging under one budget
begins with searches under tighter ones, which budgets of a distribution share: each is made once, and gives what it
gives.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import sanitize as sz

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from awkward_distributions import KINDS, awkward_distribution
from paper_mechanisms import paper_subset_merging

if TYPE_CHECKING:
    from collections.abc import Sequence

NATS = (0.0, 1e-9, 0.1, 0.5, 1.5, math.inf)
_REMEMBERED = 1000
MECHANISMS = {
    "watchdog": sz.watchdog,
    "merging": sz.subset_merging,
    "paper-merging": paper_subset_merging,
    "subset-response": sz.subset_random_response,
    "optimal": sz.optimal_random_response,
}


def grids(nats: Sequence[float]) -> dict[str, dict[tuple[float, ...], sz.LiftBudget | sz.LDPBudget]]:
    """Budgets of each kind, by their bounds."""
    pairs = itertools.product(nats, repeat=2)
    return {
        "lift": {bounds: sz.LiftBudget(lower=bounds[0], upper=bounds[1]) for bounds in pairs},
        "ldp": {(eps,): sz.LDPBudget(eps) for eps in nats},
    }


def remember_searches() -> None:
    """Make `subset_merging` search once where the distribution, budget, effort and starts are the same."""
    module = sys.modules["sanitize.mechanisms._merging.subset_merging"]
    search, found = module.search_partition, {}

    def remembered(risks, p_x, effort, tighter, known):
        key = (risks.columns.tobytes(), risks.budget, effort.limit, *(labels.tobytes() for labels in known))
        if key not in found:
            if len(found) > _REMEMBERED:
                found.clear()
            found[key] = search(risks, p_x, effort, tighter, known)
        return found[key]

    module.search_partition = remembered


def drops(joint: sz.JointDistribution, mechanism, grid) -> list[tuple[float, tuple, tuple]]:
    """What each looser budget keeps less than each tighter one, with both."""
    kept = {bounds: sz.normalized_utility(joint, mechanism(joint, budget)) for bounds, budget in grid.items()}
    return [
        (kept[tight] - kept[loose], tight, loose)
        for tight, loose in itertools.permutations(kept, 2)
        if all(a <= b for a, b in zip(tight, loose, strict=True))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mechanism", choices=MECHANISMS)
    parser.add_argument("--distributions", type=int, default=300)
    parser.add_argument("--symbols", type=int, nargs=2, default=(2, 60), metavar=("LEAST", "MOST"))
    parser.add_argument("--secrets", type=int, nargs=2, default=(2, 5), metavar=("LEAST", "MOST"))
    parser.add_argument("--first", type=int, default=0, help="number of the first distribution")
    parser.add_argument("--above", type=float, default=0.005, help="drops above this are printed one by one")
    parser.add_argument("--nats", type=float, nargs="+", default=NATS, help="bounds of budgets, from 0 to inf")
    options = parser.parse_args()
    remember_searches()
    worst: dict[str, list[float]] = defaultdict(list)
    start, n_above = time.process_time(), 0
    for number in range(options.first, options.first + options.distributions):
        kind = list(KINDS)[number % len(KINDS)]
        rng = np.random.default_rng(number)
        n_s, n_x = (int(rng.integers(low, high + 1)) for low, high in (options.secrets, options.symbols))
        joint = awkward_distribution(kind, n_s, n_x, number)
        for name, grid in grids(options.nats).items():
            found = drops(joint, MECHANISMS[options.mechanism], grid)
            worst[kind].append(max(found)[0])
            for drop, tight, loose in found:
                if drop > options.above:
                    n_above += 1
                    print(
                        f"distribution {number} ({kind}, {n_s} x {n_x}), {name} {tight} -> {loose}: {drop:.4f}",
                        flush=True,
                    )
    print(
        f"\n{options.mechanism}: {options.distributions} drawn, {n_above} drops above {options.above:g}; worst by kind"
    )
    for kind, values in worst.items():
        print(f"| {kind} | {max(values):.2e} |")
    print(f"{time.process_time() - start:.0f} s of the processor")


if __name__ == "__main__":
    main()
