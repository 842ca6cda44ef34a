"""Rows a second of the sampler, from codes to codes in memory on one core, beside plain look-ups and other libraries.

    python benchmarks/sampler.py [--rows ROWS] [--repeats N] [--symbols N ...]

Dense, sparse (4 outputs a row) and k-ary randomized response channels, with the default generator, which is
cryptographically secure. Rates are million rows a second of CPU, medians of repeats taken in turns. Codes and symbols
are of the narrowest type and symbols go to a given array; "plain" is `channel.sample(codes)` on 32-bit codes, which
makes a new array of 32 bits. Beside each stands `np.take(table, codes)`, which draws nothing: as one writes it (64-bit
codes), and tuned (the narrowest type and a given array too, blocks that fit the cache, ``mode="clip"``). For dense
channels "bare/drawn" is what one random look-up in a table of the channel's size, and nothing drawn, does more. OpenDP,
multi-freq-ldpy and diffprivlib take part in k-ary randomized response where they are installed; they draw value by
value, so they get fewer rows.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import sanitize as sz

BLOCK = 1 << 15
# A draw from a dense channel of more than 1,000 symbols takes at most so many times a bare look-up.
BARE_GOAL = 1.5
PEER_ROWS = 20_000


def dense(n: int, rng: np.random.Generator) -> sz.Channel:
    matrix = rng.random((n, n)) ** 4
    return sz.Channel.from_matrix(matrix / matrix.sum(axis=1, keepdims=True))


def sparse(n: int, rng: np.random.Generator) -> sz.Channel:
    matrix = np.zeros((n, n))
    for row in matrix:
        row[rng.choice(n, 4, replace=False)] = rng.dirichlet(np.ones(4))
    return sz.Channel.from_matrix(matrix)


def k_ary(n: int, rng: np.random.Generator) -> sz.Channel:
    return sz.randomized_response(n, 2.0)


def naive_take(table: np.ndarray, codes: np.ndarray) -> Callable[[], object]:
    wide, long = table.astype(np.int64), codes.astype(np.int64)
    return lambda: np.take(wide, long)


def narrowest(n: int) -> type:
    return np.uint8 if n <= 256 else np.uint16


def tuned_take(table: np.ndarray, codes: np.ndarray) -> Callable[[], object]:
    narrow = narrowest(len(table))
    small, short = table.astype(narrow), codes.astype(narrow)
    out, index = np.empty(len(codes), narrow), np.empty(BLOCK, np.intp)

    def run() -> None:
        for begin in range(0, len(short), BLOCK):
            block = short[begin : begin + BLOCK]
            place = index[: len(block)]
            np.copyto(place, block)
            small.take(place, out=out[begin : begin + len(block)], mode="clip")

    return run


def bare_look_up(n: int, codes: np.ndarray, rng: np.random.Generator) -> Callable[[], object]:
    """One look-up at a random place of each row of a table as large as that of a dense channel; nothing is drawn."""
    bits = int(np.ceil(np.log2(n)))
    table = rng.integers(0, 1 << 16, n << bits).astype(np.uint16 if n <= 256 else np.uint32)
    own = rng.integers(0, 1 << bits, len(codes)).astype(np.uint16)
    out, index = np.empty(BLOCK, table.dtype), np.empty(BLOCK, np.intp)

    def run() -> None:
        for begin in range(0, len(codes), BLOCK):
            place = index[: len(codes) - begin]
            np.copyto(place, codes[begin : begin + BLOCK])
            place <<= bits
            place |= own[begin : begin + BLOCK]
            table.take(place, out=out[: len(place)], mode="wrap")

    return run


def opendp(n: int, codes: list[int]) -> Callable[[], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    draw = dp.m.make_randomized_response(list(range(n)), prob=float(np.exp(2) / (np.exp(2) + n - 1)))
    return lambda: [draw(code) for code in codes]


def multi_freq_ldpy(n: int, codes: list[int]) -> Callable[[], object]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    return lambda: [GRR_Client(code, n, 2.0) for code in codes]


def diffprivlib(n: int, codes: list[int]) -> Callable[[], object]:
    """Its exponential mechanism with utility 1 for the symbol itself, which is k-ary randomized response."""
    from diffprivlib.mechanisms import Exponential

    symbols = np.eye(n)
    each = [
        Exponential(epsilon=4.0, sensitivity=1, utility=list(symbols[code]), candidates=list(range(n)))
        for code in range(n)
    ]
    return lambda: [each[code].randomise() for code in codes]


def rates(ways: dict[str, tuple[Callable[[], object], int]], repeats: int) -> dict[str, float]:
    """Million rows a second of CPU of each way."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, (run, rows) in ways.items():
            begin = time.process_time()
            run()
            found[name].append(rows / (time.process_time() - begin) / 1e6)
    return {name: statistics.median(each) for name, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--symbols", type=int, nargs="+", default=[17, 225, 1000, 5000])
    given = parser.parse_args()
    n_rows, rng = int(given.rows), np.random.default_rng(0)
    print(f"{n_rows:,} rows, medians of {given.repeats}, million rows a second of CPU")
    print(
        f"{'symbols':>8} {'channel':8}{'drawn':>8}{'plain':>8}{'take':>8}{'tuned take':>12}{'tuned/drawn':>13}", end=""
    )
    print(f"{'bare/drawn':>12}")
    for n in given.symbols:
        codes, table = rng.integers(0, n, n_rows).astype(np.int32), rng.permutation(n)
        for make in (dense, sparse, k_ary):
            channel = make(n, rng)
            channel.sample(codes[:10])  # builds the tables
            short = codes.astype(narrowest(n))
            ways = {
                "drawn": (partial(channel.sample, short, out=np.empty_like(short)), n_rows),
                "plain": (partial(channel.sample, codes), n_rows),
                "take": (naive_take(table, codes), n_rows),
                "tuned": (tuned_take(table, codes), n_rows),
            }
            if make is dense:
                ways["bare"] = (bare_look_up(n, short, rng), n_rows)
            got = rates(ways, given.repeats)
            ratio = got["tuned"] / got["drawn"]
            goal = f" (goal: at most {BARE_GOAL})" if n > 1000 else ""
            bare = f"{got['bare'] / got['drawn']:>12.2f}{goal}" if "bare" in got else ""
            print(
                f"{n:>8} {make.__name__:8}{got['drawn']:>8.0f}{got['plain']:>8.0f}"
                f"{got['take']:>8.0f}{got['tuned']:>12.0f}{ratio:>13.2f}{bare}",
                flush=True,
            )
        few = codes[:PEER_ROWS].tolist()
        for peer in (opendp, multi_freq_ldpy, diffprivlib):
            try:
                peer(n, few[:2])()  # what is compiled or set up once is not counted
                run = peer(n, few)
            except ImportError:
                print(f"{n:>8} {peer.__name__} is not installed or does not run here")
                continue
            (rate,) = rates({"peer": (run, len(few))}, 1).values()
            print(f"{n:>8} k-ary randomized response by {peer.__name__}: {rate:.4f}", flush=True)


if __name__ == "__main__":
    main()
