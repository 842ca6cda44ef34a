"""What is lost of numbers because the key draws where edges lie, so that nobody's value decides an edge.

    python studies/edges.py                                   # the survey
    python studies/edges.py --data adult.parquet --rows 2000

Latent classes are fitted with the key's draws and without them (which is unsafe: edges are then exact functions of the
table), and the Kolmogorov-Smirnov distance of generated and raw numbers is averaged over keys, column by column. The
distance of two halves of the raw rows stands next to it. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

import sanitize as sz
from sanitize.release.classes import LatentClassModel, _column


def distances(df: pd.DataFrame, names: list[str], keys: int, spread: int) -> np.ndarray:
    """KS distance of each column under each key, shape (keys, columns)."""
    _column._SPREAD = spread or 10**9  # so many rows that the draws are over none of them
    table, found = {str(name): df[name] for name in df}, []
    for seed in range(keys):
        key = sz.NoiseKey.from_seed(seed)
        model = LatentClassModel.fit(table, key, rows_are_people=True)
        rows = model.decode(model.assign(table, key), key.derive("rows"))
        found.append([ks_2samp(rows[name].to_numpy(zero_copy_only=False), df[name]).statistic for name in names])
    return np.array(found)


def main() -> None:
    """Print a line for each column."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a Parquet file; by default the survey of the library")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--keys", type=int, default=12)
    given = parser.parse_args()
    df = sz.datasets.load_survey() if given.data is None else pd.read_parquet(given.data)
    df = df.sample(2 * given.rows, random_state=0, ignore_index=True).dropna(axis=1)
    df, rest = df[: given.rows], df[given.rows :]
    names = [str(name) for name in df.select_dtypes("number") if df[name].nunique() > 20]
    drawn, fixed = (distances(df, names, given.keys, spread) for spread in (_column._SPREAD, 0))
    print("| column | edges drawn | edges fixed | lost | two samples |\n|---|---|---|---|---|")
    for name, one, two in zip(names, drawn.T, fixed.T, strict=True):
        lost, error = (one - two).mean(), (one - two).std(ddof=1) / given.keys**0.5
        chance = ks_2samp(df[name], rest[name]).statistic
        print(f"| {name} | {one.mean():.4f} | {two.mean():.4f} | {lost:+.4f} ± {2 * error:.4f} | {chance:.4f} |")
    both = (drawn - fixed).mean(axis=1)
    lost, error = both.mean(), both.std(ddof=1) / given.keys**0.5
    print(f"| average | {drawn.mean():.4f} | {fixed.mean():.4f} | {lost:+.4f} ± {2 * error:.4f} | |")


if __name__ == "__main__":
    main()
