"""ε-PML of what is designed from samples: ``confidence=`` beside a ball of distributions around the frequencies [GSSO].

    OMP_NUM_THREADS=1 python studies/pml_samples.py

The private symbol X itself is released, S = X, as in the paper. Each design is ε-PML, max-lift at most e^ε, but for a
probability of δ over the n rows, whatever they are drawn from. What is kept is I(X;Y)/H(X) under that distribution.

* distribution known: the optimal response to it, which no design from rows exceeds.
* total variation: every distribution within a total variation of the frequencies, by large deviations [WOS03]. The
  worst one of a symbol moves the whole radius from one letter to another where every letter has more than it, so the
  design is the optimal response within linear cuts.
* intervals: `ConfidenceSet` of P(X) alone, Clopper-Pearson at δ/m each, for those who know that S = X.
* `confidence=`: rows of (S, X) as anybody has them, which do not say that S = X.

Results: pml_samples.md. A release over its ε under the distribution that the rows were drawn from is counted.
"""

from __future__ import annotations

import argparse
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sanitize as sz
from sanitize.core.alphabet import Alphabet
from sanitize.core.channel import Channel
from sanitize.core.confidence import ConfidenceSet
from sanitize.core.confidence._boxes import clopper_pearson, total_variation_radius
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._response_solver.columns import Loss
from sanitize.mechanisms._response_solver.mixture import Problem, solve_within_blocks
from sanitize.mechanisms._response_solver.posterior_set import Cuts

LETTERS, GAP, EFFORT = 4, 1e-5, 10**8
DESIGNS = ("distribution known", "total variation", "intervals", "confidence=")


def of_itself(shares: NDArray[Any], n: int | None = None) -> sz.JointDistribution:
    """Distribution of (X, X)."""
    sensitive, public = (Alphabet.from_size(name, len(shares)) for name in ("s", "x"))
    return sz.JointDistribution(np.diag(shares / shares.sum()), sensitive, public, n)


def within_variation(joint: sz.JointDistribution, eps: float, delta: float) -> Channel:
    """Optimal response that is ε-PML under all distributions within a total variation of the frequencies."""
    m, shares = len(joint.p_x), joint.p_x
    assert joint.n is not None
    radius = float(total_variation_radius(m, joint.n, delta))
    assert radius < shares.min()
    moves = radius * np.array([np.eye(m)[i] - np.eye(m)[j] for i, j in itertools.permutations(range(m), 2)])
    # P(y|x) <= e^ε Σ P(x') P(y|x') of each letter x and worst P, for posteriors v = P(x) P(y|x) / P(y).
    rows = (math.exp(eps) * (shares + moves)[:, None, :] - np.eye(m)) / shares
    free = sz.LiftBudget(lower=math.inf, upper=math.inf)
    problem = Problem(joint, free, GAP, Loss(), Cuts(rows.reshape(-1, m)))
    return solve_within_blocks(problem, None, Effort(EFFORT)).channel


def designs(joint: sz.JointDistribution, eps: float, delta: float) -> list[Channel]:
    """A channel of each design from rows."""
    assert joint.n is not None
    m, counts, eye = len(joint.p_x), np.rint(joint.p_x * joint.n), np.eye(len(joint.p_x))
    every = ConfidenceSet.of(joint, 1 - delta)
    low, high = clopper_pearson(counts, joint.n, delta / m)
    alone = replace(every, center=eye, lower=eye, upper=eye, distance=np.zeros(m), prior_lower=low, prior_upper=high)
    budget = sz.LiftBudget.pml(eps)
    responses = [sz.optimal_random_response(joint, budget, confidence=one, gap=GAP) for one in (alone, every)]
    return [within_variation(joint, eps, delta), *responses]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=5, help="distributions")
    parser.add_argument("--eps", type=float, default=0.5)
    parser.add_argument("--delta", type=float, default=0.05)
    settings = parser.parse_args()
    print(f"| n | {' | '.join(DESIGNS)} | over ε |\n|---|{'---|' * (len(DESIGNS) + 1)}")
    for n in (10**3, 10**4, 10**5, 10**6):
        kept, over = np.zeros((settings.n, len(DESIGNS))), 0
        for seed in range(settings.n):
            rng = np.random.default_rng(seed)
            truth = of_itself(rng.dirichlet(np.full(LETTERS, 5.0)))
            counts = rng.multinomial(n, truth.p_x)
            made = [sz.optimal_random_response(truth, sz.LiftBudget.pml(settings.eps))]
            made += designs(of_itself(counts, n), settings.eps, settings.delta)
            kept[seed] = [sz.normalized_utility(truth, channel) for channel in made]
            excess = [sz.core.lifts.max_log_lift(truth.push(channel)).max() - settings.eps for channel in made]
            over += int((np.array(excess) > 1e-9).sum())
        print(f"| {n:g} | {' | '.join(f'{one:.4f}' for one in kept.mean(axis=0))} | {over} |", flush=True)


if __name__ == "__main__":
    main()
