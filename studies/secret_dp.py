"""Secrets under differential privacy: an audit of what is published of neighbouring tables.

    python studies/secret_dp.py counts --runs 1000000      # the noisy counts alone
    python studies/secret_dp.py fits --runs 50000          # whole fits, everything in report and channel
    python studies/secret_dp.py faults --runs 1000         # the same with a planted look at an exact count
    python studies/secret_dp.py order --data FOLDER        # what rows in order cost, tuples of four tables

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
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import clone

import sanitize as sz
from sanitize.core.confidence import clopper_pearson
from sanitize.release import fit
from sanitize.release.recipes import classes
from sanitize.transformers import LatentClassRelease, SecretDP, SubsetMerging

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


def figures(fitted: LatentClassRelease) -> np.ndarray:
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
            made = LatentClassRelease(
                BUDGET, sensitive="s", confidence=0.9, secret_dp=secret_dp, n_classes=4, bins=bins
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
    right, told, noise = classes.add_noise, fit.with_promise, SecretDP.noise

    def unnoised(layout: Any, counts: Any, *rest: Any) -> Any:
        made = right(layout, counts, *rest)
        made.table.sensitive, made.table.counts = counts.table.sensitive, counts.table.counts
        return made

    with patch.object(classes, "add_noise", unnoised):
        of_fits(runs, "fault, exact counts in the verdict")
    kept: list[int] = []

    def remembered(layout: Any, counts: Any, *rest: Any) -> Any:
        kept[:] = [int(counts.table.counts[0].sum())]
        return right(layout, counts, *rest)

    def telling(*given: Any) -> Any:
        made = told(*given)
        notes = (*made.report.facts.warnings, f"{kept[0]} rows have the first secret")
        return replace(made, report=replace(made.report, facts=replace(made.report.facts, warnings=notes)))

    with patch.object(classes, "add_noise", remembered), patch.object(fit, "with_promise", telling):
        of_fits(runs, "fault, an exact count in a note of the report")
    with patch.object(classes, "check_settings", lambda *_: None):
        of_fits(runs, "fault, bins of quantiles of the secret", numbers=True)
    with patch.object(SecretDP, "noise", lambda _, n_secrets: noise(SecretDP(4.0, 1e-6), n_secrets)):
        of_counts(100 * runs)
        print("  (the line above: noise of eps = 4)")


# Sensitive and public columns of each table.
TABLES: dict[str, tuple[str, list[str]]] = {
    "survey": ("depression", ["sex", "town", "shifts"]),
    "adult": ("income", ["sex", "race", "workclass"]),
    "credit_default": ("default_payment", ["SEX", "EDUCATION", "MARRIAGE"]),
    "bank_marketing": ("y", ["marital", "education", "housing"]),
}


def of_order(folder: Path, draws: int) -> None:
    """Share that tuples keep with the switch and without, and what their symbols reveal of the rows without noise."""
    budget = sz.LiftBudget(at_most=1.5, at_least=0.6)
    print("| table, rows | without | secret_dp 0.5 | 1 | largest lift of the rows at 0.5 |")
    for name, (secret, public) in TABLES.items():
        df = sz.datasets.load_survey() if name == "survey" else pd.read_parquet(folder / f"{name}.parquet")
        for n in (2000, len(df)):
            rows = df.sample(n, random_state=0, ignore_index=True)
            values = sorted(rows[secret].unique().tolist())
            plain = SubsetMerging(budget, sensitive=secret, public=public, person="row").fit(rows)
            kept, lifts = {}, []
            for eps in (0.5, 1.0):
                shares = []
                for seed in range(draws):
                    promise = SecretDP(eps, 1e-6, {secret: values})
                    found = clone(plain).set_params(secret_dp=promise, random_state=seed).fit(rows)
                    shares.append(found.report_.summary["normalized_utility"])
                    if eps == 0.5:
                        channel = found.channel_
                        joint = sz.JointDistribution.from_frame(rows, secret, public)
                        if channel.inputs == joint.public:
                            lifts.append(sz.LeakageReport.measure(joint, channel).summary["max_log_lift"])
                kept[eps] = f"{np.mean(shares):.1%} ± {2 * np.std(shares) / draws**0.5:.1%}"
            before = plain.report_.summary["normalized_utility"]
            found = f"{np.exp(np.mean(lifts)):.2f}, {np.exp(np.max(lifts)):.2f}" if lifts else "-"
            print(f"| {name}, {n} | {before:.1%} | {kept[0.5]} | {kept[1.0]} | {found} |", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("counts", "fits", "faults", "order"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the tables beside the survey")
    given = parser.parse_args()
    parts = {"counts": of_counts, "fits": of_fits, "faults": with_faults, "order": partial(of_order, given.data)}
    parts[given.part](given.runs)


if __name__ == "__main__":
    main()
