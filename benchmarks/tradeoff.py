"""Closed forms of the trade-off functions beside the programs that solve the same problems: time and value.

Run ``python benchmarks/tradeoff.py [letters]``; nothing is written.
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms import gaussian_noise_variance
from sanitize.theory import tradeoff as td

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike


def seconds(function: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Value, and the best time of one call."""
    best, value = float("inf"), 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        value = function()
        best = min(best, time.perf_counter() - start)
    return value, best


def main(letters: int) -> None:
    prior = np.random.default_rng(0).dirichlet(np.ones(letters))
    flat, d, distortion = np.full(letters, 1 / letters), 1 - np.eye(letters), 0.4
    epsilon = td.PriorDP(prior).privacy(distortion)
    cases: list[tuple[str, Callable[[], float], Callable[[], float]]] = [
        (
            "distortion at an LDP level, known prior",
            lambda: td.PriorDP(prior).distortion(epsilon),
            lambda: td.OptimalDP(prior, d).at_level(epsilon).distortion,
        ),
        (
            "maximal leakage, known prior",
            lambda: td.PriorMaximalLeakage(prior).privacy(distortion),
            lambda: td.OptimalSibson(prior, d, math.inf).at_distortion(distortion).privacy,
        ),
        (
            "maximal leakage, uniform prior",
            lambda: td.UniformSibson(1, letters, math.inf).privacy(distortion),
            lambda: td.OptimalSibson(flat, d, math.inf).at_distortion(distortion).privacy,
        ),
        (
            "mutual information, uniform prior",
            lambda: td.UniformSibson(1, letters, 1).privacy(distortion),
            lambda: td.OptimalSibson(flat, d, 1).at_distortion(distortion).privacy,
        ),
        (
            "mutual information, known prior",
            lambda: td.DatabaseMutualInformation(prior).privacy(0.5 * letters * prior.min()),
            lambda: td.OptimalSibson(prior, d, 1).at_distortion(0.5 * letters * prior.min()).privacy,
        ),
    ]
    print(f"{letters} letters: {'':30} closed form, ms    program, ms     ratio    difference")
    for name, closed, program in cases:
        value, fast = seconds(closed, 200)
        other, slow = seconds(program, 1)
        print(f"{name:41} {fast * 1e3:16.4f} {slow * 1e3:14.1f} {slow / fast:9.0f} {abs(value - other):13.1e}")
    ranked = [
        ("LDP level, known prior", lambda: td.PriorDP(prior).privacy(distortion)),
        ("LDP channel, known prior", lambda: float(td.PriorDP(prior).channel(distortion).matrix[0, 0])),
        ("DP level, 1000 i.i.d. records", lambda: td.PriorDP(prior, n_records=1000).privacy(1000 * distortion)),
        ("Rényi DP of order 2, 1000 records", lambda: td.UniformRenyiDP(1000, letters, 2).privacy(400.0)),
        ("Sibson information of order 2, 10 records", lambda: td.UniformSibson(10, letters, 2).privacy(4.0)),
        ("maximal leakage, 100 records", lambda: td.UniformSibson(100, letters, math.inf).privacy(40.0)),
    ]
    print("\nclosed forms that no program of this size can check")
    for name, closed in ranked:
        value, fast = seconds(closed, 50)
        print(f"{name:41} {fast * 1e3:16.4f} ms {value:14.6f}")
    programs()


def programs() -> None:
    """Programs that were slow once: CPU seconds of one call."""
    rng = np.random.default_rng(0)
    three, d3 = [0.5, 0.3, 0.2], 1 - np.eye(3)
    p4, d4 = rng.dirichlet(np.ones(4)), rng.random((4, 4)) * (1 - np.eye(4))
    slow: list[tuple[str, Callable[[], float]]] = [
        ("mutual information where an output is given up", lambda: _privacy(0.4, three, d3)),
        (
            "Sibson information of order 5, 4 x 4",
            lambda: td.OptimalSibson(p4, d4, 5).at_distortion(float((p4 @ d4).min()) / 2).privacy,
        ),
        ("Gaussian noise within 2.9 nats", lambda: gaussian_noise_variance(1.0, 2.9)),
        ("Gaussian noise within 3 nats", lambda: gaussian_noise_variance(1.0, 3.0)),
        ("maximal leakage, 20,000 records", lambda: td.UniformSibson(20_000, 2, math.inf).privacy(9000.0)),
    ]
    for letters in (40, 100):
        p, d = rng.dirichlet(np.ones(letters)), 1 - np.eye(letters)
        slow.append((f"(1, 0.05)-DP, {letters} letters", partial(_distortion, p, d)))
        slow.append((f"mutual information, {letters} letters", partial(_privacy, 0.4, p, d)))
    print("\nprograms, CPU seconds")
    for name, program in slow:
        start = time.process_time()
        value = program()
        print(f"{name:50} {time.process_time() - start:8.2f} s {value:14.6f}")


def _privacy(distortion: float, prior: ArrayLike, d: ArrayLike) -> float:
    return td.OptimalSibson(prior, d, 1).at_distortion(distortion).privacy


def _distortion(prior: ArrayLike, d: ArrayLike) -> float:
    return td.OptimalDP(prior, d, 0.05).at_level(1.0).distortion


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("letters", type=int, nargs="?", default=100)
    main(parser.parse_args().letters)
