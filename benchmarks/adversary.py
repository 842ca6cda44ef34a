"""Whether the adversary learns more from trees than from a plain partition at the same budget, and why.

    python benchmarks/adversary.py --splits 5 --rows 24000      # the table of adversary.md

    python benchmarks/adversary.py --confidence 0.95 --releases "plain Mondrian" "tree merging" "tree random response"

Each split shuffles the rows anew and fits on two thirds. Differences from the plain Mondrian of the same split: AUC of
gradient boosting for the sensitive column and for one that is not released, both on released fresh rows, and I(S;Y) of
the rows that were fitted on. "Matched" is the tree at the largest share of the budget at which its I(S;Y) is no larger
than the plain partition's. Intervals of 95 % are Student's, over splits. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
import whole_tables
from scipy.stats import t as student

import sanitize as sz
from sanitize.transformers import TreeMerging, TreeRandomResponse

STEPS = 5  # halvings of the share of the budget


def of_split(
    name: str, bounds: str, split: int, rows: int, kinds: list[str], confidence: float | None
) -> list[tuple[Any, ...]]:
    """Figures of each release of one split: AUC of the secret, of the other column, I(S;Y), share of the budget."""
    _, sensitive, analysed, _ = whole_tables.TABLES[name]
    df = whole_tables.table(name, 100 + split, rows)
    target = (df[analysed] > df[analysed].median()).to_numpy()
    df = df.drop(columns=analysed)
    whole_tables.ORDER.clear()
    for column in df:
        if not pd.api.types.is_numeric_dtype(df[column]):
            places = enumerate(sorted(set(df[column].map(str))))
            whole_tables.ORDER[column] = {text: place for place, text in places}
    secrets = pd.factorize(df[sensitive], sort=True)[0]
    public, n = [column for column in df if column != sensitive], len(df) * 2 // 3
    first, fresh = df[:n], df[n:]
    lower, upper = whole_tables.BUDGETS[bounds]

    def line(kind: str, a: pd.DataFrame, b: pd.DataFrame, told: float, share: float) -> tuple[Any, ...]:
        areas = (whole_tables.auc(a, y[:n], b, y[n:]) for y in (secrets, target))
        return split, name, bounds, kind, *areas, told, share

    def tree(share: float, kind: str = "tree random response") -> Any:
        budget = sz.LiftBudget(lower=share * lower, upper=share * upper)
        estimator = TreeMerging if kind == "tree merging" else TreeRandomResponse
        return estimator(budget, sensitive=sensitive, confidence=confidence, random_state=split).fit(first)

    budget = sz.LiftBudget(lower=lower, upper=upper)
    plain = whole_tables.Mondrian(budget, confidence=confidence, apart=confidence is not None)
    plain.fit(first[public], secrets[:n])
    cells = plain.cells(first[public])
    pmf = np.zeros((secrets.max() + 1, cells.max() + 1))
    np.add.at(pmf, (secrets[:n], cells), 1 / n)
    told = sz.mutual_information(sz.JointDistribution.from_matrix(pmf))
    found = []
    if "plain Mondrian" in kinds:
        a, b = plain.transform(first[public], 0), plain.transform(fresh[public], 1)
        found.append(line("plain Mondrian", a, b, told, 1.0))
    for kind in ("tree merging", "tree random response"):
        if kind in kinds:
            made = tree(1.0, kind)
            share_told = made.report_.summary["mutual_information"]
            found.append(line(kind, made.transform(first), made.transform(fresh), share_told, 1.0))
    if "matched" in kinds:
        low, high = 0.0, 1.0
        if tree(1.0).report_.summary["mutual_information"] <= told:
            low = 1.0
        for _ in range(STEPS if low < 1 else 0):
            middle = (low + high) / 2
            fits = tree(middle).report_.summary["mutual_information"] <= told
            low, high = (middle, high) if fits else (low, middle)
        made = tree(max(low, 1e-3))
        now = made.report_.summary["mutual_information"]
        found.append(line("matched", made.transform(first), made.transform(fresh), now, low))
    return found


def summary(lines: pd.DataFrame) -> pd.DataFrame:
    """Mean difference from the plain Mondrian of each table, budget and release, and half of its interval."""
    keys = ["table", "budget", "split"]
    plain = lines[lines["release"] == "plain Mondrian"].set_index(keys)[["secret", "other", "told"]]
    rest = lines[lines["release"] != "plain Mondrian"].set_index([*keys, "release"])
    apart = rest[["secret", "other", "told"]] - plain.reindex(rest.index.droplevel("release")).to_numpy()
    grouped = apart.groupby(["table", "budget", "release"])
    n = grouped.size().to_numpy()[:, None]
    half = grouped.std() / np.sqrt(n) * student.ppf(0.975, n - 1)
    share = rest["share"].groupby(["table", "budget", "release"]).mean()
    return grouped.mean().join(half.add_suffix(" ±")).assign(share=share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="data", help="folder of the tables as Parquet")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=24_000)
    every = ["plain Mondrian", "tree merging", "tree random response", "matched"]
    parser.add_argument("--releases", nargs="+", choices=every, default=every)
    parser.add_argument("--tables", nargs="+", choices=whole_tables.TABLES, default=list(whole_tables.TABLES))
    parser.add_argument("--confidence", type=float)
    parser.add_argument("--lines", help="CSV of single splits, to add to")
    given = parser.parse_args()
    whole_tables.DATA = given.data
    names = ["split", "table", "budget", "release", "secret", "other", "told", "share"]
    lines = []
    for split in range(given.splits):
        for name in given.tables:
            for bounds in whole_tables.BUDGETS:
                lines += of_split(name, bounds, split, given.rows, given.releases, given.confidence)
                if given.lines:
                    pd.DataFrame(lines, columns=names).to_csv(given.lines, index=False)
    print("| table | budget | release | AUC of S | AUC of another | I(S;Y) | share of budget |\n" + "|---" * 7 + "|")
    for keys, row in summary(pd.DataFrame(lines, columns=names)).iterrows():
        cells = [f"{row[c]:+.3f} ± {row[c + ' ±']:.3f}" for c in ("secret", "other", "told")]
        print(f"| {' | '.join(keys)} | {' | '.join(cells)} | {row['share']:.2f} |")


if __name__ == "__main__":
    main()
