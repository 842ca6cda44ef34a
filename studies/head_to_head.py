"""Information kept by releases of columns of each row that meet one limit: this library, PRAM, k-RR, dropped columns.

    python studies/head_to_head.py                                             # the table of the README
    python studies/head_to_head.py --sets                                      # seven sets of columns of the survey
    python studies/head_to_head.py adult.parquet income education occupation   # a table of yours

All of them are channels on the combinations of the public columns, so the largest and least lift and the share of the
information kept, I(X;Y) / H(X), are computed exactly. PRAM keeps each value with probability p and otherwise draws one
from the column's frequencies; k-RR draws it uniformly. Each is as strong as a search makes it: one p for each column,
by steps of a tenth and then of a hundredth, or one p for the whole combination, whichever keeps more within the limit.
Suppression drops columns until the others meet it. ``--sets`` designs every release on half of the rows, drawn at
random, and measures lifts on the other half, of symbols that at least 100 of its rows are expected to have.
"""

from __future__ import annotations

import argparse
from itertools import combinations, product

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


def column_by_column(codes: Matrix, sizes: list[int], noise: list[Matrix], ps: tuple[float, ...]) -> Matrix:
    """Channel that keeps each column's value with its probability; its output has all combinations."""
    channel = np.ones((len(codes), 1))
    for own, size, law, p in zip(codes.T, sizes, noise, ps, strict=True):
        one = p * np.eye(size)[own] + (1 - p) * law
        channel = (channel[:, :, None] * one[:, None, :]).reshape(len(codes), -1)
    return channel


def within(found: Matrix) -> bool:
    return bool(found.max() <= 2 + 1e-9 and found.min() >= 0.33 - 1e-9)


def entropy(p: Matrix) -> Matrix:
    """Entropy of each row in nats."""
    return -(p * np.log(np.where(p > 0, p, 1))).sum(-1)


def score(table: Matrix, noise: list[Matrix], ps: tuple[float, ...]) -> float:
    """I(X;Y) of one p for each column, or -1 beyond the limit; noise is independent, so H(Y|X) adds up over columns."""
    lost = 0.0
    for axis, (law, p) in enumerate(zip(noise, ps, strict=True), 1):
        one = p * np.eye(len(law)) + (1 - p) * law
        margin = table.sum(tuple(a for a in range(table.ndim) if a != axis))
        lost += float(margin @ entropy(one))
        # Later columns are not moved yet, so their margins are still those of the table.
        table = np.moveaxis(np.tensordot(table, one, (axis, 0)), -1, axis)
    p_sy = table.reshape(len(table), -1)
    return float(entropy(p_sy.sum(0))) - lost if within(lifts(p_sy, np.eye(p_sy.shape[1]))) else -1.0


def strongest(p_sx: Matrix, codes: Matrix, sizes: list[int], noise: list[Matrix]) -> Matrix:
    """Channel that keeps most within the limit, among one p for each column and one p for the combination."""
    p_x, table = p_sx.sum(0), np.zeros((len(p_sx), *sizes))
    table[:, *codes.T] = p_sx
    axes = [np.linspace(0, 1, 11)] * len(sizes)
    for _ in range(2):
        ps = max(product(*axes), key=lambda ps: score(table, noise, ps))
        axes = [np.unique(np.clip(p + np.arange(-0.09, 0.1, 0.01), 0, 1)) for p in ps]
    law = np.prod([one[c] for one, c in zip(noise, codes.T, strict=True)], axis=0)
    law = p_x if noise[0].std() > 0 else law / law.sum()
    channels = [p * np.eye(len(p_x)) + (1 - p) * law for p in np.linspace(0, 1, 201)]
    channels = [column_by_column(codes, sizes, noise, ps), *(c for c in channels if within(lifts(p_sx, c)))]
    return max(channels, key=lambda channel: kept(p_x, channel))


def releases(df: pd.DataFrame, sensitive: str, public: list[str]) -> tuple[sz.JointDistribution, dict[str, Matrix]]:
    """The distribution of the rows, and the channel of each way."""
    joint = sz.JointDistribution.from_frame(df, [sensitive], public)
    p_sx, p_x = joint.pmf, joint.p_x
    symbols = pd.MultiIndex.from_tuples(joint.public.symbols)
    coded = [pd.factorize(symbols.get_level_values(j), sort=True)[0] for j in range(len(public))]
    codes, sizes = np.array(coded).T, [int(c.max()) + 1 for c in coded]
    margins = [np.bincount(c, p_x) for c in coded]
    found = {"the raw columns": np.eye(len(p_x))}
    for name, noise in {"PRAM": margins, "k-RR": [np.full(n, 1 / n) for n in sizes]}.items():
        found[name] = strongest(p_sx, codes, sizes, noise)
    best = [np.ones((len(p_x), 1))]
    for left in (left for n in range(1, len(public)) for left in combinations(range(len(public)), n)):
        channel = np.eye(len(p_x))[pd.factorize(pd.MultiIndex.from_arrays([coded[j] for j in left]))[0]]
        best += [channel] * within(lifts(p_sx, channel))
    found["suppression of columns"] = max(best, key=lambda channel: kept(p_x, channel))
    found["sanitize, subset merging"] = sz.subset_merging(joint, LIMIT).matrix
    return joint, found


def certified(df: pd.DataFrame, sensitive: str, public: list[str]) -> sz.SubsetMerging:
    """Estimator with a limit for the population."""
    return sz.SubsetMerging(LIMIT, sensitive=sensitive, public=public, confidence=0.95).fit(df)


def compare(df: pd.DataFrame, sensitive: str, public: list[str]) -> None:
    """Write one line for each way."""
    joint, found = releases(df, sensitive, public)
    for name, channel in found.items():
        ratios = lifts(joint.pmf, channel)
        write(name, ratios.max(), ratios.min(), kept(joint.p_x, channel))
    # With a confidence the limit is about the population, so these are the furthest lifts that the rows allow.
    sure = certified(df, sensitive, public).report_.summary
    most, least = (np.exp(sure[f"worst_{name}_log_lift"]) for name in ("max", "min"))
    write("sanitize, for the population", most, least, sure["normalized_utility"])


def compare_unseen(df: pd.DataFrame, sensitive: str, public: list[str]) -> None:
    """Write a row of the table of the comparison page: share kept, and lifts in rows that no design has seen."""
    half = np.random.default_rng(0).permutation(len(df)) < len(df) // 2
    joint, found = releases(df[half], sensitive, public)
    found["sanitize, for the population"] = certified(df[half], sensitive, public).channel_.matrix
    keys = pd.MultiIndex.from_tuples(joint.public.symbols)
    places = keys.get_indexer(pd.MultiIndex.from_frame(df.loc[~half, public]))
    values = pd.Index([s[0] if isinstance(s, tuple) else s for s in joint.sensitive.symbols])
    fresh = np.zeros(joint.pmf.shape)
    np.add.at(fresh, (values.get_indexer(df.loc[~half, sensitive])[places >= 0], places[places >= 0]), 1)
    cells = []
    for name, channel in found.items():
        if len(channel) != len(keys):
            raise SystemExit(f"{name}: the channel has {len(channel)} symbols, the table {len(keys)}")
        common = channel[:, fresh.sum(0) @ channel >= 100]
        ratios = lifts(fresh / fresh.sum(), common)
        cells.append(f"{kept(joint.p_x, channel):.1%} ({ratios.max():.2f}, {ratios.min():.2f})")
    print(f"| {', '.join(public)} | " + " | ".join(cells) + " |")


SETS = [
    ["occupation", "shifts", "sick_days"],
    ["occupation", "shifts"],
    ["sex", "occupation", "shifts"],
    ["town", "sex", "occupation"],
    ["sex", "hours", "sick_days"],
    ["occupation", "hours", "income"],
    ["town", "age", "sick_days"],
]
BINS = {
    "age": [0, 30, 40, 50, 60, 120],
    "hours": [0, 20, 35, 41, 100],
    "income": [0, 1500, 2500, 3500, 5000, 100_000],
    "sick_days": [0, 1, 6, 16, 200],
}


def write(name: str, most: float, least: float, share: float) -> None:
    """Write the largest and least lift of a release, and the share of the information that it keeps."""
    print(f"{name:34} at most {most:5.2f}, at least {least:4.2f} times   keeps {share:6.1%}")


def main() -> None:
    """Compare on the survey, or on a table of yours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?")
    parser.add_argument("columns", nargs="*", help="the sensitive column, then the public ones")
    parser.add_argument("--sets", action="store_true", help="write the table of seven sets of columns of the survey")
    asked = parser.parse_args()
    df = pd.read_parquet(asked.table) if asked.table else sz.datasets.load_survey()
    sensitive, *public = asked.columns or ["depression", "occupation", "shifts", "sick_days"]
    if not asked.table:
        df = df.assign(**{name: pd.cut(df[name], edges, right=False).astype(str) for name, edges in BINS.items()})
    if asked.sets:
        for chosen in SETS:
            compare_unseen(df, "depression", chosen)
        return
    compare(df.dropna(subset=[sensitive, *public]), sensitive, public)


if __name__ == "__main__":
    main()
