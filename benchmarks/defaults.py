"""Mechanisms as they are by default, from 100 to 100,000 symbols: time, what is proved, memory, the same channel twice.

    python benchmarks/defaults.py                                          # the table of defaults.md
    python benchmarks/defaults.py --symbols 100 1000 --digests > here.txt  # then elsewhere, and compare the files

Distributions have skew, structured zeros and noise: P(x) falls as 1/rank, every symbol belongs to one of 20 regions,
and a region may rule sensitive symbols out. Budgets are symmetric LIP. Each run is a process of its own that designs,
measures and ends; its memory is the peak of the whole process, its seconds those of the design. "auto" is `sz.compare`,
which runs all that fit. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time

import numpy as np

import sanitize as sz
from sanitize.release.choosing._candidates import KINDS

MECHANISMS = {kind.name: kind for kind in KINDS}
REGIONS, RULED_OUT = 20, 0.15


def distribution(n_x: int, n_s: int) -> sz.JointDistribution:
    """A distribution of so many public and sensitive symbols, with structured zeros and skew."""
    rng = np.random.default_rng([n_x, n_s])
    region = rng.integers(0, REGIONS, n_x)
    possible = rng.random((n_s, REGIONS)) > RULED_OUT
    possible[rng.integers(0, n_s, REGIONS), np.arange(REGIONS)] = True
    possible[~possible.any(axis=1), 0] = True
    leaning = np.exp(rng.normal(0.0, 0.7, (n_s, REGIONS)))
    cells = (possible * leaning)[:, region] * (0.2 + rng.random((n_s, n_x))) / (1 + rng.permutation(n_x))
    return sz.JointDistribution.from_matrix(cells / cells.sum())


def digest(channel: sz.Channel) -> str:
    """Digest of the integers that a channel is made of."""
    found = hashlib.sha256()
    for stage in channel.stages:
        for part in (stage.indptr, stage.indices, stage.weights):
            found.update(part.astype("<i8").tobytes())
    return found.hexdigest()[:16]


def run(n_x: int, n_s: int, eps: float, mechanism: str) -> dict[str, float | str]:
    """Design one channel and measure it."""
    joint, budget = distribution(n_x, n_s), sz.LiftBudget.symmetric(eps)
    wall, cpu = time.perf_counter(), time.process_time()
    if mechanism == "auto":
        best = sz.compare(joint, budget).recommended
        channel, name = best.channel, f"auto: {best.mechanism}"
    else:
        channel, name = MECHANISMS[mechanism].function(joint, budget), mechanism
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert budget.excess(joint.push(channel)).max() <= 0
    return {
        "mechanism": name,
        "kept": sz.normalized_utility(joint, channel),
        "optimality": channel.optimality.words,
        "wall": wall,
        "cpu": cpu,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "digest": digest(channel),
    }


def in_a_process(*task: object) -> dict[str, float | str]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, task)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--symbols", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--secrets", type=int, nargs="+", default=[2, 10, 50])
    parser.add_argument("--eps", type=float, nargs="+", default=[0.1, 1, 4])
    parser.add_argument("--mechanisms", nargs="+", choices=[*MECHANISMS, "auto"], default=[*MECHANISMS, "auto"])
    parser.add_argument("--digests", action="store_true", help="print digests of the channels instead")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        n_x, n_s, eps, mechanism = given.one
        print(json.dumps(run(int(n_x), int(n_s), float(eps), mechanism)))
        return
    if not given.digests:
        print("| symbols x secrets | eps | mechanism | kept | design | CPU s | wall s | peak GiB |")
        print("|---" * 8 + "|")
    most_seconds = most_gib = 0.0
    for n_x in given.symbols:
        for n_s in given.secrets:
            for eps in given.eps:
                for name in given.mechanisms:
                    if name != "auto" and not MECHANISMS[name].fits(n_x, sz.LiftBudget.symmetric(eps)):
                        continue
                    found = in_a_process(n_x, n_s, eps, name)
                    if given.digests:
                        print(n_x, n_s, f"{eps:g}", found["mechanism"], found["digest"], flush=True)
                        continue
                    most_seconds, most_gib = max(most_seconds, found["cpu"]), max(most_gib, found["gib"])
                    print(
                        f"| {n_x} x {n_s} | {eps:g} | {found['mechanism']} | {found['kept']:.3f} | "
                        f"{found['optimality']} | {found['cpu']:.2f} | {found['wall']:.2f} | {found['gib']:.2f} |",
                        flush=True,
                    )
    if not given.digests:
        print(f"\nmost: {most_seconds:.0f} s of the processor, {most_gib:.2f} GiB")


if __name__ == "__main__":
    main()
