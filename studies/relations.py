"""Whether relations that a report calls kept are there in the released file, and lost ones are named.

    python studies/relations.py                                     # the survey, 2,000 rows and all of them
    python studies/relations.py adult.parquet income fnlwgt,split    # a table of yours, less some columns

A file of generated rows is written with a key of the seed, and Cramér's V of each two columns is computed from the raw
and the released file by code that shares nothing with the report: without the bias of few rows, numbers in eight parts
of about as many rows, other columns by their seven most frequent values. Counted are relations whose raw V is above
0.1.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import sanitize as sz

MOST, LEAST = 8, 0.1


def groups(raw: pd.Series, released: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Group of each value of a column, in the raw file and in the released one."""
    if pd.api.types.is_numeric_dtype(raw):
        edges = np.unique(raw.dropna().astype(float))[1:]
        if len(edges) >= MOST:
            edges = np.unique(np.nanquantile(raw.astype(float), np.linspace(0, 1, MOST + 1)[1:-1]))
        sides = [np.searchsorted(edges, side.astype(float), side="right") for side in (raw, released)]
        last = len(edges) + (raw.isna().mean() > 0.01)
        return tuple(np.where(side.isna(), last, codes) for side, codes in zip((raw, released), sides, strict=True))
    frequent = {value: code for code, value in enumerate(raw.value_counts().index[: MOST - 1])}
    return tuple(side.map(frequent).astype(float).fillna(MOST - 1).to_numpy(int) for side in (raw, released))


def dependence(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """χ²/n of two columns without the bias of few rows (Bergsma 2013), and the most that it could be."""
    table = pd.crosstab(one, other).to_numpy()
    n, (r, c) = table.sum(), table.shape
    alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    square = ((table - alone) ** 2 / alone).sum() / n - (r - 1) * (c - 1) / (n - 1)
    return max(square, 0.0), min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1


def compare(name: str, df: pd.DataFrame, sensitive: str, seed: int) -> None:
    """Write one line: of relations called kept, how many are, and of lost ones, how many are named."""
    with tempfile.TemporaryDirectory() as folder:
        raw, out = Path(folder, "raw.parquet"), Path(folder, "out.parquet")
        df.to_parquet(raw, index=False)
        limit = sz.LiftBudget(at_most=2, at_least=0.33)
        classes = sz.LatentClassRelease(limit, sensitive=sensitive)
        report = sz.release_file(raw, out, classes, key=bytes([seed]) * 32)
        released = pd.read_parquet(out)
    document = report.to_dict()
    said = {frozenset(pair["columns"]): pair["state"] for pair in document["pairs"]}
    codes = {column: groups(df[column].reset_index(drop=True), released[column]) for column in released}
    kept, named, n_lost, n, survivors = [], [], 0, 0, 0
    for pair in combinations(codes, 2):
        (before, most), (after, _) = (dependence(codes[pair[0]][side], codes[pair[1]][side]) for side in (0, 1))
        if most <= 0 or before <= most * LEAST**2:
            continue
        n, share = n + 1, np.sqrt(after / before)  # both by the groups of the raw table: the file may lack a rare one
        if said.get(frozenset(pair)) == "kept":
            kept.append(abs(share - 1) <= 0.2)
        is_named = any(" x ".join(names) in note for names in (pair, pair[::-1]) for note in document["warnings"])
        survivors += is_named and abs(share - 1) <= 0.2
        if share < 0.5:
            n_lost += 1
            named.append(is_named)
    print(
        f"{name}, {len(df):,} rows: {sum(kept)} of {len(kept)} called kept are within 20 %; "
        f"{sum(named)} of {n_lost} that lost more than half are named, with {survivors} that did not; {n} relations",
        flush=True,
    )


def main() -> None:
    """Compare the survey, or a table of yours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?")
    parser.add_argument("sensitive", nargs="?", default="depression")
    parser.add_argument("left_out", nargs="?", default="", help="columns without which it is released, by commas")
    parser.add_argument("--rows", type=int, nargs="*", default=[2000, 0], help="rows drawn at random; 0 for all")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0], help="each draws other rows and another key")
    asked = parser.parse_args()
    df = pd.read_parquet(asked.table) if asked.table else sz.datasets.load_survey()
    df = df.drop(columns=[name for name in asked.left_out.split(",") if name])
    for n in asked.rows:
        for seed in asked.seeds:
            rows = df if not n or n >= len(df) else df.sample(n, random_state=seed)
            compare(Path(asked.table).stem if asked.table else "survey", rows, asked.sensitive, seed)


if __name__ == "__main__":
    main()
