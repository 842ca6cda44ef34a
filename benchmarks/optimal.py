"""CPU time, utility and certified gap of the random responses, beside enumeration and the paper's mechanisms.

    python benchmarks/optimal.py                       # the whole grid
    python benchmarks/optimal.py --n-x 200 --n-s 15 --eps 4 2 1 --gap 1e-6 --time-limit 120
    python benchmarks/optimal.py --small               # 17 letters, 5 sensitive ones, ten distributions a budget

Distributions are uniform[0, 1] entries, normalised; budgets give half of eps to each side. Times are CPU seconds of one
process; set OMP_NUM_THREADS=1. Enumeration is double description of all vertices of the polytope (pycddlib), then
one linear program: the paper's way. pycddlib computes in doubles or, where it is built with GMP, in exact rationals; it
gets all rows of the polytope or, which helps it, only those that some letter alone breaks. Results: optimal.md.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import entr

import sanitize as sz
from sanitize.datasets import make_joint
from sanitize.mechanisms import best_subset_merging, solve_optimal_random_response, subset_random_response

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from paper_mechanisms import paper_subset_random_response

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAST = 0.05
ARITHMETICS = {"doubles": "cdd", "rationals": "cdd.gmp"}


def timed(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, float]:
    start = time.process_time()
    return function(*args, **options), time.process_time() - start


def best_of(repeats: int, function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, float]:
    """Result and the least CPU seconds of so many runs, and of as many more as fit in a twentieth of a second."""
    result, spent = timed(function, *args, **options)
    best, total, n = spent, spent, 1
    while n < repeats or total < _LEAST:
        result, spent = timed(function, *args, **options)
        best, total, n = min(best, spent), total + spent, n + 1
    return result, best


def enumerated(
    joint: sz.JointDistribution, budget: sz.LiftBudget, arithmetic: str = "doubles", rows_given: str = "all rows"
) -> tuple[float, int]:
    """I(X;Y) from all vertices by double description, and their number."""
    cdd = importlib.import_module(ARITHMETICS[arithmetic])
    number: Callable[[float], Any] = Fraction if arithmetic == "rationals" else float
    lifts = sz.lift(joint)
    n_x = lifts.shape[1]
    rows = [[-1.0] + [1.0] * n_x, *np.hstack([np.zeros((n_x, 1)), np.eye(n_x)]).tolist()]
    low, high = float(np.exp(-budget.lower)), float(np.exp(budget.upper))
    every = rows_given == "all rows"
    rows += [[-low, *row.tolist()] for row in lifts if every or row.min() < low]
    rows += [[high, *(-row).tolist()] for row in lifts if every or row.max() > high]
    exact = [[number(entry) for entry in row] for row in rows]
    rep_type = importlib.import_module("cdd").RepType.INEQUALITY
    table = cdd.matrix_from_array(exact, lin_set={0}, rep_type=rep_type)
    found = cdd.copy_generators(cdd.polyhedron_from_matrix(table)).array
    v = np.maximum(np.array([[float(entry) for entry in row[1:]] for row in found]), 0)
    mix = linprog(entr(v).sum(axis=1), A_eq=v.T, b_eq=joint.p_x)
    return float(entr(joint.p_x).sum() - mix.fun), len(v)


def _send(pipe: Any, joint: sz.JointDistribution, budget: sz.LiftBudget) -> None:
    pipe.send(best_of(1, enumerated, joint, budget))


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


def small(n_distributions: int, repeats: int) -> None:
    """Distributions of the paper's size: medians over them of the best of a few runs each, and of the ratios."""
    try:
        importlib.import_module("cdd.gmp")
        known = list(ARITHMETICS)
    except ImportError:
        known = ["doubles"]
    ways = [(name, rows_given) for name in known for rows_given in ("all rows", "broken rows")]
    solve_optimal_random_response(make_joint(random_state=0), sz.LiftBudget.from_ldp(1))
    print(f"Each way runs a distribution at least {repeats} times and for {_LEAST} s; the best run counts.\n")
    print("| eps | vertices | ours: ms |", *(f"{name}, {given}: ms | times | wrong |" for name, given in ways))
    print("|---" * (3 + 3 * len(ways)) + "|")
    for eps in (8, 4, 2, 1.5, 1):
        budget = sz.LiftBudget.from_ldp(eps)
        spent: dict[Any, list[float]] = {way: [] for way in ("ours", *ways)}
        wrong, sizes = dict.fromkeys(ways, 0), []
        for seed in range(n_distributions):
            joint = make_joint(random_state=seed)
            response, seconds = best_of(repeats, solve_optimal_random_response, joint, budget)
            spent["ours"].append(seconds)
            for way in ways:
                (utility, n_vertices), seconds = best_of(repeats, enumerated, joint, budget, *way)
                spent[way].append(seconds)
                wrong[way] += abs(utility - response.utility) > 1e-6
            sizes.append(n_vertices)
        cells = [f"{eps:g}", f"{np.median(sizes):.0f}", f"{np.median(spent['ours']) * 1e3:.2f}"]
        for way in ways:
            cells.append(f"{np.median(spent[way]) * 1e3:.1f}")
            cells.append(f"{np.median(np.array(spent[way]) / np.array(spent['ours'])):.0f}")
            cells.append(str(wrong[way]))
        print("|" + "|".join(cells) + "|", flush=True)


def grid(options: argparse.Namespace) -> None:
    """One row a distribution and budget; enumeration is not tried again where it did not end with fewer letters."""
    solve_optimal_random_response(make_joint(random_state=0), sz.LiftBudget.from_ldp(1))
    print(f"What takes less than {_LEAST} s is run again, enumeration too; the best run counts.\n")
    print("| X | S | eps | optimal: s | NMI | gap | status | subset RR: s | NMI | paper's SRR: s | NMI "
          "| best merging: s | NMI | greedy: s | NMI | enumeration: s | vertices | speed-up |")  # fmt: skip
    print("|---" * 18 + "|")
    endless: set[tuple[int, float]] = set()
    for n_x in sorted(options.n_x):
        for n_s in options.n_s:
            joint = make_joint(n_x, n_s, random_state=options.seed)
            entropy = float(entr(joint.p_x).sum())
            for eps in options.eps:
                budget = sz.LiftBudget.from_ldp(eps)
                best, spent = best_of(
                    1, solve_optimal_random_response, joint, budget, gap=options.gap, time_limit=options.time_limit
                )
                cells = [n_x, n_s, f"{eps:g}", f"{spent:.3g}", f"{best.normalized_utility:.4f}", f"{best.gap:.1e}"]
                cells.append(best.status)
                others = (subset_random_response, paper_subset_random_response, best_subset_merging, sz.subset_merging)
                for mechanism in others:
                    if options.optimal_only:
                        cells += ["", ""]
                        continue
                    limit = {} if mechanism is sz.subset_merging else {"time_limit": options.others_limit}
                    channel, seconds = best_of(1, mechanism, joint, budget, **limit)
                    cells += [f"{seconds:.3g}", f"{sz.normalized_utility(joint, channel):.4f}"]
                tried = options.enumerate_limit > 0 and (n_s, eps) not in endless
                found = enumerated_within(joint, budget, options.enumerate_limit) if tried else None
                if found is None:
                    endless.add((n_s, eps))
                    cells += [f"> {options.enumerate_limit:g}" if tried else "–", "", ""]
                else:
                    (utility, n_vertices), seconds = found
                    is_same = best.status != "optimal" or abs(utility / entropy - best.normalized_utility) < 1e-5
                    cells += [f"{seconds:.3g}", n_vertices, f"{seconds / spent:.0f}" if is_same else "wrong"]
                print("|" + "|".join(map(str, cells)) + "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="only the comparison with enumeration in both arithmetics")
    parser.add_argument("--distributions", type=int, default=10, help="distributions a budget, for --small")
    parser.add_argument("--repeats", type=int, default=3, help="runs a distribution, at least, for --small")
    parser.add_argument("--n-x", type=int, nargs="+", default=[17, 50, 200, 1000])
    parser.add_argument("--n-s", type=int, nargs="+", default=[5, 10, 15])
    parser.add_argument("--eps", type=float, nargs="+", default=[8, 4, 2, 1.5, 1])
    parser.add_argument("--gap", type=float, default=1e-6, help="nats")
    parser.add_argument("--time-limit", type=float, default=60, help="seconds a run (wall clock)")
    parser.add_argument("--others-limit", type=float, default=10, help="seconds for each other mechanism (wall clock)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--enumerate-limit", type=float, default=10, help="seconds (wall clock); 0: not tried")
    parser.add_argument("--optimal-only", action="store_true", help="leave out all but the optimal random response")
    options = parser.parse_args()
    print("Ours has run once before it is measured: imports are not counted.")
    if options.small:
        small(options.distributions, options.repeats)
    else:
        grid(options)


if __name__ == "__main__":
    main()
