"""Whether the raw rows that a plan tries its attacker on are guessed as well as plain gradient boosting guesses them.

    python studies/raw_rows.py --data FOLDER

A plan says how often, of a person with the sensitive value and one without, an attacker picks the right one from the
raw rows. Next to that figure stand the area under the ROC curve of scikit-learn's gradient boosting with its defaults,
on the same columns and all rows, by five folds (of several values the mean by their shares), and the plan's figure
where the sensitive values were permuted before anything read them. 50 is chance.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import sanitize as sz
from sanitize.policy import make_plan

# Table -> sensitive column, and columns that are left out.
TABLES = {
    "survey": ("depression", []),
    "heart_disease": ("num", []),
    "adult": ("income", ["split", "fnlwgt"]),
    "bank_marketing": ("y", []),
    "credit_default": ("default_payment", []),
}


def planned(df: pd.DataFrame, sensitive: str) -> tuple[float, float]:
    """Right guesses in 100 from the raw rows and from the released ones, by a plan of latent classes."""
    policy = sz.Policy.from_dict(
        {
            "version": 1,
            "columns": {"sensitive": [sensitive], "public": [name for name in df if name != sensitive]},
            "budget": {"at_most": 2, "at_least": 0.33},
            "channel": {"mechanism": "latent-classes"},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        df.to_parquet(file := Path(folder, "raw.parquet"), index=False)
        report = make_plan(policy, file).full_report
    section = next(one for one in report.sections if one.name == "guesses" and "raw rows" in str(one.rows))
    return float(section.rows[0][1]), float(section.rows[1][1])


def boosted(df: pd.DataFrame, sensitive: str) -> float:
    """Area under the curve, in 100, of plain gradient boosting on rows that it has not seen."""
    x = df.drop(columns=sensitive).apply(
        lambda own: own if own.dtype.kind in "if" else own.astype("category").cat.codes
    )
    y = df[sensitive].astype("category").cat.codes.to_numpy()
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    model = HistGradientBoostingClassifier(random_state=0)
    found = cross_val_predict(model, x, y, cv=folds, method="predict_proba")
    found = found[:, 1] if found.shape[1] == 2 else found
    return 100 * float(roc_auc_score(y, found, multi_class="ovr", average="weighted"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    asked = parser.parse_args()
    print(
        "| table | rows | plan, raw rows | plain boosting | permuted: plan, raw rows | permuted: plan, released rows |"
    )
    print("|---" * 6 + "|")
    for name in asked.tables:
        sensitive, left_out = TABLES[name]
        df = sz.datasets.load_survey() if name == "survey" else pd.read_parquet(asked.data / f"{name}.parquet")
        df = df.drop(columns=left_out).dropna(subset=sensitive).reset_index(drop=True)
        permuted = df.assign(**{sensitive: np.random.default_rng(5).permutation(df[sensitive])})
        (raw, _), nothing = planned(df, sensitive), planned(permuted, sensitive)
        figures = (raw, boosted(df, sensitive), *nothing)
        print(f"| {name} | {len(df):,} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
