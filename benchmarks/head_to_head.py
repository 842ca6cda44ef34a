"""Information kept by releases of columns of each row that meet one limit: this library, PRAM, k-RR, dropped columns.

    python benchmarks/head_to_head.py                                             # the table of the README
    python benchmarks/head_to_head.py adult.parquet income education occupation   # a table of yours

All of them are channels on the combinations of the public columns, so the largest and least lift and the share of the
information kept, I(X;Y) / H(X), are computed exactly. PRAM keeps each value with probability p and otherwise draws one
from the column's frequencies; k-RR draws it uniformly. Both treat columns one by one; p is the largest that meets the
limit. Suppression drops columns until the others meet it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

import sanitize as sz

Matrix = np.ndarray
LIMIT = sz.LiftBudget(at_most=2, at_least=0.33)


def lifts(p_sx: Matrix, channel: Matrix) -> Matrix:
    """P(s|y) / P(s) of each sensitive value and released combination."""
    p_sy = p_sx @ channel
    p_sy = p_sy[:, p_sy.sum(0) > 0]
    return p_sy / p_sy.sum(0) / p_sx.sum(1, keepdims=True)


def kept(p_x: Matrix, channel: Matrix) -> float:
    """Share I(X;Y) / H(X) of the information in the combination that is kept."""
    p_xy = p_x[:, None] * channel
    independent = np.outer(p_x, p_xy.sum(0))
    there = p_xy > 0
    information = (p_xy[there] * np.log(p_xy[there] / independent[there])).sum()
    return float(information / -(p_x * np.log(p_x)).sum())


def column_by_column(codes: Matrix, sizes: list[int], noise: list[Matrix], p: float) -> Matrix:
    """Channel that keeps each column's value with probability p; combinations that never occur stand in the output."""
    channel = np.ones((len(codes), 1))
    for own, size, law in zip(codes.T, sizes, noise, strict=True):
        one = p * np.eye(size)[own] + (1 - p) * law
        channel = (channel[:, :, None] * one[:, None, :]).reshape(len(codes), -1)
    return channel


def largest(meets: Callable[[float], bool]) -> float:
    """Largest p in [0, 1] that meets the limit, by halving."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low


def within(found: Matrix) -> bool:
    return bool(found.max() <= 2 + 1e-9 and found.min() >= 0.33 - 1e-9)


def compare(df: pd.DataFrame, sensitive: str, public: list[str]) -> None:
    """Write one line for each way."""
    joint = sz.JointDistribution.from_frame(df, [sensitive], public)
    p_sx, p_x = joint.pmf, joint.p_x
    symbols = pd.MultiIndex.from_tuples(joint.public.symbols)
    coded = [pd.factorize(symbols.get_level_values(j), sort=True)[0] for j in range(len(public))]
    codes, sizes = np.array(coded).T, [int(c.max()) + 1 for c in coded]
    margins = [np.bincount(c, p_x) for c in coded]
    found = {"the raw columns": np.eye(len(p_x))}
    for name, noise in {"PRAM": margins, "k-RR": [np.full(n, 1 / n) for n in sizes]}.items():
        p = largest(lambda p, noise=noise: within(lifts(p_sx, column_by_column(codes, sizes, noise, p))))
        found[f"{name}, p = {p:.2f}"] = column_by_column(codes, sizes, noise, p)
    best = [np.ones((len(p_x), 1))]
    for left in (left for n in range(1, len(public)) for left in combinations(range(len(public)), n)):
        channel = np.eye(len(p_x))[pd.factorize(pd.MultiIndex.from_arrays([coded[j] for j in left]))[0]]
        best += [channel] * within(lifts(p_sx, channel))
    found["suppression of columns"] = max(best, key=lambda channel: kept(p_x, channel))
    found["sanitize, subset merging"] = sz.subset_merging(joint, LIMIT).matrix
    for name, channel in found.items():
        ratios = lifts(p_sx, channel)
        write(name, ratios.max(), ratios.min(), kept(p_x, channel))
    # With a confidence the limit is about the population, so these are the furthest lifts that the rows allow.
    sure = sz.SubsetMerging(LIMIT, sensitive=sensitive, public=public, confidence=0.95).fit(df).report_.summary
    most, least = (np.exp(sure[f"worst_{name}_log_lift"]) for name in ("max", "min"))
    write("sanitize, for the population", most, least, sure["normalized_utility"])


def write(name: str, most: float, least: float, share: float) -> None:
    """Write the largest and least lift of a release, and the share of the information that it keeps."""
    print(f"{name:34} at most {most:5.2f}, at least {least:4.2f} times   keeps {share:6.1%}")


def main() -> None:
    """Compare on the survey, or on a table of yours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?")
    parser.add_argument("columns", nargs="*", help="the sensitive column, then the public ones")
    asked = parser.parse_args()
    df = pd.read_parquet(asked.table) if asked.table else sz.datasets.load_survey()
    sensitive, *public = asked.columns or ["depression", "occupation", "shifts", "sick_days"]
    if not asked.table:
        df["sick_days"] = pd.cut(df["sick_days"], [0, 1, 6, 16, 200], right=False).astype(str)
    compare(df.dropna(subset=[sensitive, *public]), sensitive, public)


if __name__ == "__main__":
    main()
