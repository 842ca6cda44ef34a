"""Secrets under differential privacy: an audit of what is published of neighbouring tables, and what noise costs.

    python benchmarks/secret_dp.py counts --runs 1000000      # the noisy counts alone
    python benchmarks/secret_dp.py fits --runs 50000          # whole fits, everything in report and channel
    python benchmarks/secret_dp.py faults --runs 1000         # the same with a planted look at an exact count
    python benchmarks/secret_dp.py adult adult.parquet        # what is kept of each column, with and without
    python benchmarks/secret_dp.py truth --runs 60            # how often a release is over its budget under the truth

An audit runs the pipeline on two tables that differ in one row's secret. For an event E of what is published,
P(E) <= e^eps P'(E) + delta, so eps is at least log((P(E) - delta) / P'(E)); both probabilities are bounded by
Clopper-Pearson, together at 99.9 %. The event (a figure beyond a threshold) is chosen on the first half of the runs and
counted on the second. Noise is of the operating system. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from simulated_tables import BUDGET as OF_SOURCES
from simulated_tables import Source

import sanitize as sz
from sanitize._release.recipes import trees as tree
from sanitize.confidence import clopper_pearson
from sanitize.transformers import SecretDP, TreeRandomResponse

EPS, DELTA, ERROR = 1.0, 1e-6, 1e-3
BUDGET = sz.LiftBudget(lower=2.0, upper=1.5)
ROWS, MOVED = 400, 37


def tables(*, numbers: bool = False) -> list[pa.Table]:
    """Two tables of two small public columns; one row has another secret."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, ROWS)
    public = {"a": rng.integers(0, 3, ROWS), "b": rng.integers(0, 2, ROWS)}
    other = np.where(np.arange(ROWS) == MOVED, 1 - s, s)
    if numbers:  # a row whose secret is the median
        s = np.sort(rng.normal(size=ROWS))
        other = np.where(np.arange(ROWS) == ROWS // 2, s.max() + 1, s)
    return [pa.table({**public, "s": secrets}) for secrets in (s, other)]


def figures(fitted: TreeRandomResponse) -> np.ndarray:
    """Figures of what is published: every measure, the channel, numbers in notes, edges of a saved release."""
    report = fitted.report_
    measured = [value for line in report.measures for value in (line.before, line.after) if value is not None]
    matrix = fitted.channel_.matrix
    channel = [matrix.shape[1], matrix.max(), *matrix.max(axis=1), *(matrix**2).sum(axis=1)]
    noted = [float(number) for note in report.facts.warnings for number in re.findall(r"\d+", note)]
    edges = [edge for bins in fitted._release.layout.bins.values() for edge in getattr(bins, "edges", ())]
    return np.nan_to_num(np.array([report.n_rows, *measured, *channel, *noted, *edges], float), posinf=1e9, neginf=-1e9)


def audit(one: np.ndarray, two: np.ndarray) -> float:
    """Lower bound on eps at 99.9 %, of figures (runs, figures) of two neighbouring tables."""
    half = len(one) // 2
    best: tuple[float, Callable[[np.ndarray], np.ndarray], bool] = (-np.inf, lambda x: x[:, 0] > np.inf, False)
    for j in range(one.shape[1]):
        both = np.concatenate([one[:half, j], two[:half, j]])
        for threshold in np.unique(np.quantile(both, np.linspace(0.001, 0.999, 300), method="lower")):
            for above in (True, False):

                def event(x: np.ndarray, j: int = j, t: float = threshold, above: bool = above) -> np.ndarray:
                    return x[:, j] > t if above else x[:, j] <= t

                counts = [int(event(table[:half]).sum()) for table in (one, two)]
                for swapped in (False, True):
                    found = bound(counts[::-1] if swapped else counts, half)
                    best = max(best, (found, event, swapped), key=lambda three: three[0])
    _, event, swapped = best
    counts = [int(event(table[half:]).sum()) for table in (one, two)]
    return bound(counts[::-1] if swapped else counts, len(one) - half)


def bound(counts: list[int], runs: int) -> float:
    """log((P(E) - delta) / P'(E)) from below, but for an error of 0.1 % (half of which each side has to itself)."""
    low, high = clopper_pearson(counts, runs, ERROR)
    return float(np.log(max(low[0] - DELTA, 1e-300) / high[1]))


def of_counts(runs: int) -> None:
    """The sharpest figure of the noisy counts: the first of the cell of the row, less half of the cell's rows."""
    noise = SecretDP(EPS, DELTA).noise(2)
    drawn = [noise.draw(sz.NoiseKey.from_system(), runs) for _ in range(2)]
    told = [(z[0] - z[1])[:, None] / 2 + moved for z, moved in zip(drawn, (1, 0), strict=True)]
    print(
        f"counts: {runs} runs a table, eps >= {audit(*told):.4f} (stated {EPS:g}), standard deviation "
        f"{noise.variance**0.5:.3f}",
        flush=True,
    )


def of_fits(runs: int, name: str = "fits", *, numbers: bool = False) -> None:
    """Whole fits of both tables; prints as it goes."""
    bins: Any = {"s": 2} if numbers else None
    secret_dp = SecretDP(EPS, DELTA, {} if numbers else {"s": [0, 1]})
    both = tables(numbers=numbers)
    found: list[list[np.ndarray]] = [[], []]
    begin = time.monotonic()
    for run in range(1, runs + 1):
        for table, into in zip(both, found, strict=True):
            made = TreeRandomResponse(
                BUDGET, sensitive="s", confidence=0.9, secret_dp=secret_dp, max_cells=4, bins=bins, random_state=None
            )
            into.append(figures(made.fit(table)))
        if run in (250, 1000) or run % 5000 == 0 or run == runs:
            one, two = (np.array(rows) for rows in found)
            print(
                f"{name}: {run} runs a table, {one.shape[1]} figures, eps >= {audit(one, two):.4f} "
                f"({time.monotonic() - begin:.0f} s)",
                flush=True,
            )


def with_faults(runs: int) -> None:
    """One planted look at an exact count each."""
    right, told, noise = tree.with_noise, tree.with_people, SecretDP.noise

    def unnoised(layout: Any, counts: Any, *rest: Any) -> Any:
        sensitive, exact = counts.sensitive, counts.counts
        made = right(layout, counts, *rest)
        counts.sensitive, counts.counts = sensitive, exact
        return made

    with patch.object(tree, "with_noise", unnoised):
        of_fits(runs, "fault, exact counts in the verdict")
    kept: list[int] = []

    def remembered(layout: Any, counts: Any, *rest: Any) -> Any:
        kept[:] = [int(counts.counts[0].sum())]
        return right(layout, counts, *rest)

    def telling(*given: Any) -> Any:
        facts = told(*given)
        return replace(facts, people=f"{facts.people} {kept[0]} rows have the first secret.")

    with patch.object(tree, "with_noise", remembered), patch.object(tree, "with_people", telling):
        of_fits(runs, "fault, an exact count in a note of the report")
    with patch.object(tree, "check_settings", lambda *_: None):
        of_fits(runs, "fault, bins of quantiles of the secret", numbers=True)
    with patch.object(SecretDP, "noise", lambda _, n_secrets: noise(SecretDP(4.0, 1e-6), n_secrets)):
        of_counts(100 * runs)
        print("  (the line above: noise of eps = 4)")


def of_adult(path: str, seeds: int, max_cells: list[int | None]) -> None:
    """Mean information kept a column of Adult, S = income, with and without noise."""
    table = pq.read_table(path)
    table = table.drop_columns([name for name in ("split",) if name in table.column_names])
    values = sorted(set(table["income"].to_pylist()))
    for bounds in ((1.5, 0.7), (1.0, 0.5)):
        budget = sz.LiftBudget(lower=bounds[0], upper=bounds[1])
        for most in max_cells:
            kept = {}
            for name, secret_dp in (("plain", None), ("noisy", SecretDP(EPS, DELTA, {"income": values}))):
                shares = []
                for seed in range(seeds if secret_dp else 1):
                    made = TreeRandomResponse(
                        budget,
                        sensitive="income",
                        confidence=0.95,
                        secret_dp=secret_dp,
                        max_cells=most,
                        random_state=seed,
                    ).fit(table)
                    shares.append(made.report_.summary["mean_column_utility"])
                kept[name] = shares
            lost = kept["plain"][0] - np.array(kept["noisy"])
            print(
                f"adult: lower {bounds[0]:g} upper {bounds[1]:g}, {made.tree_.n_cells} cells of "
                f"{table.num_rows / made.tree_.n_cells:.0f} rows: {kept['plain'][0]:.4f} plain, "
                f"{np.mean(kept['noisy']):.4f} noisy; lost {lost.mean():.4f} (most {lost.max():.4f}, {seeds} draws)",
                flush=True,
            )


def of_truth(samples: int) -> None:
    """Releases of 20,000 rows of the sources of `simulated_tables.py`, held against the distribution of each."""
    for n_s in (2, 3):
        over, kept = 0, []
        for seed in range(samples):
            source = Source.of(n_s, seed)
            secret_dp = SecretDP(EPS, DELTA, {"s": list(range(n_s))})
            fitted = TreeRandomResponse(OF_SOURCES, sensitive="s", confidence=0.95, secret_dp=secret_dp)
            fitted.fit(source.draw(20_000, np.random.default_rng(1000 + seed)))
            distribution = source.cells(fitted.tree_) @ fitted.channel_.matrix
            distribution = distribution[:, distribution.any(axis=0)]
            p_s = distribution.sum(axis=1)
            over += bool((OF_SOURCES.excess_of(distribution / p_s[:, None] / distribution.sum(axis=0), p_s) > 0).any())
            kept.append(fitted.report_.summary["mean_column_utility"])
        print(f"truth: {n_s} secrets, {over} of {samples} over; {np.mean(kept):.2f} kept", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("counts", "fits", "faults", "adult", "truth"))
    parser.add_argument("path", nargs="?", default="adult.parquet")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    if given.part == "adult":
        of_adult(given.path, given.seeds, [None, 256])
    else:
        {"counts": of_counts, "fits": of_fits, "faults": with_faults, "truth": of_truth}[given.part](given.runs)


if __name__ == "__main__":
    main()
