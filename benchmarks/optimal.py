"""CPU time, utility and certified gap of the random responses, beside enumeration and the paper's mechanisms.

    python benchmarks/optimal.py                       # everything; hours with --enumerate
    python benchmarks/optimal.py --n-x 17 --n-s 5 --enumerate
    python benchmarks/optimal.py --n-x 200 --n-s 15 --eps 4 2 1 --gap 1e-6 --time-limit 120

Laws are uniform[0, 1] entries, normalised; budgets give half of eps to each side. Times are CPU seconds of one
process; set OMP_NUM_THREADS=1. Enumeration is double description of all vertices of the polytope (pycddlib), then
one linear program: the paper's way.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import entr

import sanitize as sz
from sanitize.mechanisms import (
    best_subset_merging,
    paper_subset_random_response,
    solve_optimal_random_response,
    subset_random_response,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def law(n_x: int, n_s: int, seed: int) -> sz.JointDistribution:
    cells = np.random.default_rng(seed).random((n_s, n_x))
    return sz.JointDistribution.from_matrix(cells / cells.sum())


def timed(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, float]:
    start = time.process_time()
    return function(*args, **options), time.process_time() - start


def enumerated(joint: sz.JointDistribution, budget: sz.LiftBudget) -> tuple[float, int]:
    """I(X;Y) from all vertices by double description, and their number."""
    import cdd

    lifts = sz.lift(joint)
    n_x = lifts.shape[1]
    rows = [[-1.0] + [1.0] * n_x, *np.hstack([np.zeros((n_x, 1)), np.eye(n_x)]).tolist()]
    rows += [[-float(np.exp(-budget.lower)), *row] for row in lifts.tolist()]
    rows += [[float(np.exp(budget.upper)), *(-row).tolist()] for row in lifts]
    table = cdd.matrix_from_array(rows, lin_set={0}, rep_type=cdd.RepType.INEQUALITY)
    v = np.maximum(np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(table)).array)[:, 1:], 0)
    mix = linprog(entr(v).sum(axis=1), A_eq=v.T, b_eq=joint.p_x)
    return float(entr(joint.p_x).sum() - mix.fun), len(v)


def _send(pipe: Any, joint: sz.JointDistribution, budget: sz.LiftBudget) -> None:
    pipe.send(timed(enumerated, joint, budget))


def enumerated_within(
    joint: sz.JointDistribution, budget: sz.LiftBudget, limit: float
) -> tuple[tuple[float, int], float] | None:
    """Enumeration in a process of its own, given up after some seconds."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    worker = multiprocessing.Process(target=_send, args=(theirs, joint, budget))
    worker.start()
    found = ours.recv() if ours.poll(limit) else None
    worker.terminate()
    worker.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-x", type=int, nargs="+", default=[17, 50, 200, 1000])
    parser.add_argument("--n-s", type=int, nargs="+", default=[5, 10, 15])
    parser.add_argument("--eps", type=float, nargs="+", default=[8, 4, 2, 1.5, 1])
    parser.add_argument("--gap", type=float, default=1e-6, help="nats")
    parser.add_argument("--time-limit", type=float, default=600, help="seconds a run (wall clock)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--enumerate", action="store_true", help="also double description (needs pycddlib-standalone)")
    parser.add_argument("--enumerate-limit", type=float, default=120, help="seconds (wall clock)")
    parser.add_argument("--optimal-only", action="store_true", help="leave out all but the optimal random response")
    options = parser.parse_args()
    print("| X | S | eps | optimal: s | NMI | gap | status | subset RR: s | NMI | paper's SRR: s | NMI "
          "| best merging: s | NMI | greedy: s | NMI | enumeration: s | vertices | speed-up |")  # fmt: skip
    print("|---" * 18 + "|")
    for n_x in options.n_x:
        for n_s in options.n_s:
            joint = law(n_x, n_s, options.seed)
            entropy = float(entr(joint.p_x).sum())
            for eps in options.eps:
                budget = sz.LiftBudget.from_ldp(eps)
                best, spent = timed(
                    solve_optimal_random_response, joint, budget, gap=options.gap, time_limit=options.time_limit
                )
                cells = [n_x, n_s, f"{eps:g}", f"{spent:.2f}", f"{best.normalized_utility:.4f}", f"{best.gap:.1e}"]
                cells.append(best.status)
                others = (subset_random_response, paper_subset_random_response, best_subset_merging, sz.subset_merging)
                for mechanism in others:
                    if options.optimal_only:
                        cells += ["", ""]
                        continue
                    limit = {} if mechanism is sz.subset_merging else {"time_limit": options.time_limit}
                    channel, seconds = timed(mechanism, joint, budget, **limit)
                    cells += [f"{seconds:.2f}", f"{sz.normalized_utility(joint, channel):.4f}"]
                found = enumerated_within(joint, budget, options.enumerate_limit) if options.enumerate else None
                if found is None:
                    cells += [f"> {options.enumerate_limit:g}" if options.enumerate else "", "", ""]
                else:
                    (utility, n_vertices), seconds = found
                    assert abs(utility / entropy - best.normalized_utility) < 1e-5
                    cells += [f"{seconds:.2f}", n_vertices, f"{seconds / spent:.0f}"]
                print("|" + "|".join(map(str, cells)) + "|", flush=True)


if __name__ == "__main__":
    main()
