"""What each part of a joint release keeps, whatever the order of the parts, beside the tuple of all columns.

    python studies/joint_release.py adult.parquet                 # the tables of joint_release.md
    python studies/joint_release.py adult.parquet --columns 4 --budget 0.5

S is income; every column is a part of its own without a budget, merged by `SubsetMerging` and released as a label.
Each table is fitted with the parts in three orders (given, reversed, rotated): "apart" is the largest difference of a
share between them. The verdict is exact, from the joint distribution of everything that is released. Set
OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time

import pandas as pd

import sanitize as sz
from sanitize.transformers import JointRelease, SubsetMerging

COLUMNS = ("workclass", "education", "marital_status", "occupation", "race", "sex", "relationship", "native_country")


def release(df: pd.DataFrame, columns: list[str], budget: float) -> JointRelease:
    parts = [(name, SubsetMerging(public=name)) for name in columns]
    return JointRelease(parts, budget, sensitive="income").fit(df)


def shares(fitted: JointRelease) -> dict[str, float]:
    return fitted.report_.to_frame("parts").set_index("part")["normalized_utility"].to_dict()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--budget", type=float, nargs="+", default=[0.5, 1.0])
    given = parser.parse_args()
    df = pd.read_parquet(given.table)
    print("| columns | budget | mean share | all parts together | the tuple | apart | max log-lift | CPU s | shares |")
    print("|---" * 9 + "|")
    for n in given.columns:
        columns = list(COLUMNS[:n])
        distribution = sz.JointDistribution.from_frame(df, ["income"], columns)
        for budget in given.budget:
            start = time.process_time()
            first = release(df, columns, budget)
            seconds = time.process_time() - start
            kept = shares(first)
            others = [shares(release(df, order, budget)) for order in (columns[::-1], columns[2:] + columns[:2])]
            apart = max(abs(other[name] - kept[name]) for other in others for name in columns)
            figures = first.report_.summary
            whole = sz.normalized_utility(distribution, sz.subset_merging(distribution, budget))
            words = ", ".join(f"{name} {share:.2f}" for name, share in kept.items())
            mean, together = sum(kept.values()) / n, figures["normalized_utility"]
            print(
                f"| {n} | {budget:g} | {mean:.3f} | {together:.3f} | {whole:.3f} | {apart:.0e} "
                f"| {figures['max_log_lift']:.3f} | {seconds:.0f} | {words} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
