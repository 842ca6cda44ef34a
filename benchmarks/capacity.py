"""Time to a certified gap of channel capacity: plain Blahut-Arimoto beside `sanitize.channel_capacity`, in one run.

Both stop at the same certificate max_x KL(W_x || q) - I(p) <= gap, computed from the same kernel. The plain iteration
is cut off after ``--limit`` seconds; its ratio is then a lower bound, marked ">". For one core, set
OPENBLAS_NUM_THREADS=1 (or the like) before the run.

    python benchmarks/capacity.py --n 1000 --gap 1e-6 --limit 20
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize.core.capacity import channel_capacity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def families(n: int, rng: np.random.Generator) -> Iterator[tuple[str, NDArray[np.float64]]]:
    i = np.arange(n)
    for concentration in (0.1, 1.0, 10.0):
        yield f"Dirichlet({concentration:g}) rows", rng.dirichlet(np.full(n, concentration), n)
    keep = rng.uniform(0.1, 0.9, n)[:, None]
    yield "typewriter, uneven noise", np.eye(n) * keep + np.eye(n)[(i + 1) % n] * (1 - keep)
    yield "typewriter, even noise", np.eye(n) / 2 + np.eye(n)[(i + 1) % n] / 2
    yield "k-ary randomized response", (np.ones((n, n)) + (np.exp(5.0) - 1) * np.eye(n)) / (n - 1 + np.exp(5.0))
    triangle = np.tril(rng.random((n, n)) ** 3)
    yield "Z-like (triangular)", triangle / triangle.sum(axis=1, keepdims=True)
    line = np.exp(-np.abs(i[:, None] - i) * 20 / n)
    yield "exponential on a line", line / line.sum(axis=1, keepdims=True)


def plain(matrix: NDArray[np.float64], gap: float, limit: float) -> tuple[float, float]:
    """Seconds and gap of the textbook iteration p <- p e^D / Z."""
    start = perf_counter()
    own = xlogy(matrix, matrix).sum(axis=1)
    p = np.full(len(matrix), 1 / len(matrix))
    reached = np.inf
    while True:
        q = p @ matrix
        d = own - matrix @ np.log(q)
        reached = min(reached, float(d.max() - p @ d))
        seconds = perf_counter() - start
        if reached <= gap or seconds > limit:
            return seconds, reached
        p *= np.exp(d - d.max())
        p /= p.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="letters on both sides")
    parser.add_argument("--gap", type=float, default=1e-6, help="certified gap in nats")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds allowed to the plain iteration")
    arguments = parser.parse_args()
    print(f"{arguments.n} x {arguments.n} channels, to a gap of {arguments.gap:g} nats")
    print(f"{'family':28}{'capacity':>10}{'ours, s':>10}{'gap':>9}{'plain, s':>10}{'gap':>9}{'ratio':>9}")
    for name, matrix in families(arguments.n, np.random.default_rng(0)):
        start = perf_counter()
        ours = channel_capacity(matrix, tol=arguments.gap)
        seconds = perf_counter() - start
        plain_seconds, plain_gap = plain(matrix, arguments.gap, arguments.limit)
        mark = "" if plain_gap <= arguments.gap else ">"
        print(
            f"{name:28}{ours.lower:10.6f}{seconds:10.3f}{ours.gap:9.0e}{plain_seconds:10.3f}{plain_gap:9.0e}"
            f"{mark + format(plain_seconds / seconds, '.1f'):>9}"
        )


if __name__ == "__main__":
    main()
