"""What tuples lose because a released symbol is written as a value, and never by its name.

    python studies/values.py

The name of a symbol lists a group that the exact counts made, and one row may change it. So each symbol is written as a
public value, drawn by how often rows behind it have one; of rare combinations, which are pooled, as the others have.
Information kept before that draw and after it, as a share of the entropy of the public columns.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

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
                joint, found = np.diag(made._joint.p_x), []
                for stage in made.channel_.stages:
                    joint = stage.push(joint)
                    found.append(kept(joint))
                shares.append(f"{found[-2]:.3f}, {found[-1]:.3f}")
            print(f"| {name} | {most:g} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
