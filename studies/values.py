"""What tuples lose because a released symbol is written as a value, and never by its name.

    python studies/values.py

The name of a symbol lists a group that the exact counts made, and one row may change it. So each symbol is written as a
public value, drawn by how often rows behind it have one; of rare combinations, which are pooled, as the others have.
The figures are the information kept before that draw and after it, as a share of the entropy of the public columns. For
a response, a third figure is kept by the best draw that an ascent from this draw finds, among the draws that leave each
value as frequent as it is and write no value that the symbol excludes. A larger maximum elsewhere may be missed.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linprog

import sanitize as sz

SURVEY = sz.datasets.load_survey()
BINS = {"sick_days": [0, 1, 6, 16, 200]}
WORK = ["occupation", "shifts", "sick_days"]
TABLES: dict[str, tuple[pd.DataFrame, str, list[str], dict[str, list[int]]]] = {
    "Titanic": (sz.datasets.load_titanic(), "survived", ["class", "sex", "age"], {}),
    "Framingham": (sz.datasets.load_framingham(), "heart_disease", ["cholesterol", "blood_pressure"], {}),
    "survey": (SURVEY, "depression", WORK, BINS),
    "survey, 2,000 rows": (SURVEY.sample(2000, random_state=0), "depression", WORK, BINS),
    "survey, 500 rows": (SURVEY.sample(500, random_state=0), "depression", WORK[:2], {}),
}


def kept(joint: np.ndarray) -> float:
    """I(X;Y) / H(X)."""
    p_x, p_y = joint.sum(axis=1), joint.sum(axis=0)
    seen = joint > 0
    return float(joint[seen] @ np.log((joint / np.outer(p_x, p_y).clip(1e-300))[seen]) / -(p_x @ np.log(p_x)))


def best_draw(symbols: np.ndarray, draw: np.ndarray) -> np.ndarray:
    """Joint distribution of public and written values by a draw that keeps more, one linear program after another.

    Information is convex in the draw, so what is best to first order is never worse.
    """
    p_y, (rows, columns) = symbols.sum(axis=0), np.nonzero(draw)
    ones, places = np.ones(len(rows)), np.arange(len(rows))
    sums = sparse.csr_matrix((np.tile(ones, 2), (np.concatenate([rows, len(p_y) + columns]), np.tile(places, 2))))
    weights = draw * p_y[:, None]
    totals, joint = np.concatenate([weights.sum(axis=1), weights.sum(axis=0)])[: sums.shape[0]], symbols @ draw
    while True:
        alone = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        slope = np.log(joint.clip(1e-12) / alone.clip(1e-300))
        gain = (symbols / p_y).T @ slope
        found = linprog(-gain[rows, columns], A_eq=sums, b_eq=totals, bounds=(0, None))
        if found.status != 0:
            return joint
        weights = sparse.csr_matrix((found.x, (rows, columns)), draw.shape).toarray()
        other = symbols @ (weights / p_y[:, None])
        if kept(other) < kept(joint) + 1e-6:
            return joint
        joint = other


def main() -> None:
    """Print a line for each table and limit."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    kinds = (sz.Watchdog, sz.SubsetMerging, sz.OptimalRandomResponse)
    print(f"| table | limit, times | {' | '.join(kind.__name__ for kind in kinds)} |\n|---|---|---|---|---|")
    for name, (df, secret, public, bins) in TABLES.items():
        for most in (2, 1.3, 1.1):
            budget, shares = sz.LiftBudget(at_most=most, at_least=1 / most), []
            for kind in kinds:
                made = kind(budget, sensitive=secret, public=public, bins=bins).fit(df)
                joints = [np.diag(made._joint.p_x)]
                for stage in made.channel_.stages:
                    joints.append(stage.push(joints[-1]))
                found = [kept(joint) for joint in joints[-2:]]
                if kind is sz.OptimalRandomResponse:
                    seen = joints[-2].sum(axis=0) > 0
                    draw = made.channel_.stages[-1].push(np.eye(len(seen)))[seen]
                    found.append(kept(best_draw(joints[-2][:, seen], draw)))
                shares.append(", ".join(f"{share:.3f}" for share in found))
            print(f"| {name} | {most:g} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
