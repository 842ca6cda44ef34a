"""Closed forms of the trade-off functions beside the programs that solve the same problems: time and value.

Run ``python benchmarks/tradeoff.py [letters]``; nothing is written.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sanitize import tradeoff as td
from sanitize.mechanisms import gaussian_noise_variance

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
    epsilon = td.prior_dp(distortion, prior)
    cases: list[tuple[str, Callable[[], float], Callable[[], float]]] = [
        (
            "distortion at an LDP level, known prior",
            lambda: td.prior_dp_distortion(epsilon, prior),
            lambda: td.optimal_dp_channel(epsilon, prior, d).distortion,
        ),
        (
            "maximal leakage, known prior",
            lambda: td.prior_maximal_leakage(distortion, prior),
            lambda: td.optimal_maximal_leakage_channel(distortion, prior, d).privacy,
        ),
        (
            "maximal leakage, uniform prior",
            lambda: td.uniform_maximal_leakage(distortion, 1, letters),
            lambda: td.optimal_maximal_leakage_channel(distortion, flat, d).privacy,
        ),
        (
            "mutual information, uniform prior",
            lambda: td.uniform_mutual_information(distortion, 1, letters),
            lambda: td.optimal_mutual_information_channel(distortion, flat, d).privacy,
        ),
        (
            "mutual information, known prior",
            lambda: td.prior_mutual_information(0.5 * letters * prior.min(), prior),
            lambda: td.optimal_mutual_information_channel(0.5 * letters * prior.min(), prior, d).privacy,
        ),
    ]
    print(f"{letters} letters: {'':30} closed form, ms    program, ms     ratio    difference")
    for name, closed, program in cases:
        value, fast = seconds(closed, 200)
        other, slow = seconds(program, 1)
        print(f"{name:41} {fast * 1e3:16.4f} {slow * 1e3:14.1f} {slow / fast:9.0f} {abs(value - other):13.1e}")
    ranked = [
        ("LDP level, known prior", lambda: td.prior_dp(distortion, prior)),
        ("LDP channel, known prior", lambda: float(td.prior_dp_mechanism(distortion, prior)[0, 0])),
        ("DP level, 1000 i.i.d. records", lambda: td.iid_dp(1000 * distortion, prior, 1000)),
        ("Rényi DP of order 2, 1000 records", lambda: td.uniform_renyi_dp(400.0, 1000, letters, 2)),
        ("Sibson information of order 2, 10 records", lambda: td.uniform_sibson_information(4.0, 10, letters, 2)),
        ("maximal leakage, 100 records", lambda: td.uniform_maximal_leakage(40.0, 100, letters)),
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
            lambda: td.optimal_sibson_channel(float((p4 @ d4).min()) / 2, p4, d4, 5).privacy,
        ),
        ("Gaussian noise within 2.9 nats", lambda: gaussian_noise_variance(1.0, 2.9)),
        ("Gaussian noise within 3 nats", lambda: gaussian_noise_variance(1.0, 3.0)),
        ("maximal leakage, 20,000 records", lambda: td.uniform_maximal_leakage(9000.0, 20_000, 2)),
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
    return td.optimal_mutual_information_channel(distortion, prior, d).privacy


def _distortion(prior: ArrayLike, d: ArrayLike) -> float:
    return td.optimal_dp_channel(1.0, prior, d, delta=0.05).distortion


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("letters", type=int, nargs="?", default=100)
    main(parser.parse_args().letters)
