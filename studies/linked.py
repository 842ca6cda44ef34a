"""What an analyst gets of rows in order, and what they give away: latent classes next to trees, which they replaced.

    git worktree add ../trees fb402829
    python studies/linked.py classes.jsonl FOLDER [--confidence 0.95] [--limits 2] [--rows 5000 20000]
    PYTHONPATH=../trees python studies/linked.py trees.jsonl FOLDER ...
    python studies/linked.py --compare classes.jsonl trees.jsonl

The folder has ``adult.parquet``, ``credit_default.parquet`` and ``bank_marketing.parquet`` of UCI. Each split takes so
many people and 10,000 fresh ones at random; the library that Python finds releases the people's rows in order. AUC of
boosting, 0.5 is guessing: *leak*, of the sensitive value by the released row, of people whom the attacker did not learn
from; *own*, of the outcome of a row by the rest of its released row, likewise; *fresh*, the same learned from all
released rows and asked of raw rows of fresh people; *analyst*, learned from released rows with their released outcome,
asked of fresh people. With a confidence the releases of one limit are compared split by split; without, figures of
trees are interpolated at the leak that classes have, between their limits and a row that tells nothing, and compared
there where the leak lies from .55 to .75.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from peers import answer, auc, cross_fitted, numbers
from scipy.stats import t

import sanitize as sz
from sanitize import transformers

# Sensitive column, outcome, columns.
TABLES = {
    "adult": (
        "income",
        "hours_per_week>40",
        "age workclass education_num marital_status occupation relationship race sex capital_gain capital_loss "
        "hours_per_week native_country",
    ),
    "credit_default": (
        "SEX",
        "default_payment==1",
        "LIMIT_BAL EDUCATION MARRIAGE AGE PAY_0 PAY_2 PAY_3 BILL_AMT1 BILL_AMT2 PAY_AMT1 PAY_AMT2 default_payment",
    ),
    "bank_marketing": (
        "marital",
        "y==yes",
        "age job education default balance housing loan contact month duration campaign poutcome y",
    ),
}
FRESH = 10_000
LEAKS = 0.55, 0.75
FIGURES = "own", "fresh", "analyst"


def measure(folder: Path, name: str, n: int, split: int, limit: float, confidence: float | None) -> dict[str, object]:
    """One release, and what is known by it."""
    sensitive, target, columns = TABLES[name]
    names = columns.split()
    table = pd.read_parquet(folder / f"{name}.parquet").sample(frac=1, random_state=split).reset_index(drop=True)
    people, fresh = table[:n].reset_index(drop=True), table[n : n + FRESH].reset_index(drop=True)
    name_of_kind = "LatentClassRelease" if hasattr(transformers, "LatentClassRelease") else "TreeRandomResponse"
    kind = getattr(transformers, name_of_kind)
    budget = sz.LiftBudget(at_most=limit, at_least=1 / limit)
    settings = {"sensitive": sensitive, "confidence": confidence, "random_state": split}
    released = kind(budget, **settings).fit_transform(people[[*names, sensitive]])
    secret = (people[sensitive] == people[sensitive].value_counts().index[-1]).to_numpy(int)
    left = [column for column in names if not target.startswith(column)]
    x, x_fresh = numbers(released, people, left), numbers(fresh, people, left)
    own, of_fresh = answer(people, target), answer(fresh, target)
    return {
        **{"table": name, "rows": n, "split": split, "limit": limit, "confidence": confidence},
        "leak": cross_fitted(numbers(released, people, names), secret),
        "own": cross_fitted(x, own),
        "fresh": auc(x, own, x_fresh, of_fresh),
        "analyst": auc(x, answer(released, target), x_fresh, of_fresh),
    }


def compare(ours: pd.DataFrame, trees: pd.DataFrame) -> None:
    """Write a line for each table, number of rows and limit: differences from trees, with 95 % intervals."""
    heads = ["table", "rows", "limit", "splits", "leak", *FIGURES, *(f"{figure} - tree" for figure in FIGURES)]
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for (name, n, limit), group in ours.groupby(["table", "rows", "limit"]):
        differences = []
        for row in group.to_dict("records"):
            others = trees[(trees["table"] == name) & (trees["rows"] == n) & (trees["split"] == row["split"])]
            if not pd.isna(row["confidence"]):
                others = others[others["limit"] == limit]
                differences += [[row[figure] - others[figure].mean() for figure in FIGURES]] if len(others) else []
            elif len(others) and LEAKS[0] <= row["leak"] <= min(LEAKS[1], others["leak"].max()):
                others = others.sort_values("leak")
                leak = np.append(0.5, others["leak"])
                known = [np.append(0.5, others[figure]) for figure in FIGURES[:2]]
                at_leak = [np.interp(row["leak"], leak, values) for values in known]
                at_leak.append(np.interp(row["leak"], others["leak"], others["analyst"]))
                differences.append([row[figure] - at for figure, at in zip(FIGURES, at_leak, strict=True)])
        means = " | ".join(f"{group[figure].mean():.3f}" for figure in ("leak", *FIGURES))
        words = [interval(column) for column in zip(*differences, strict=True)] or ["-"] * len(FIGURES)
        print(f"| {name} | {n:,} | {limit:g} | {len(differences)} | {means} | {' | '.join(words)} |")


def interval(values: tuple[float, ...]) -> str:
    """Mean and half a 95 % interval."""
    if len(values) < 2:
        return f"{np.mean(values):+.3f}"
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):+.3f} ± {half:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compare", action="store_true", help="figures of classes, and of trees")
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--rows", nargs="+", type=int, default=[1500, 3000, 6000])
    parser.add_argument("--limits", nargs="+", type=float, default=[1.5, 2, 3, 4])
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2, 3])
    parser.add_argument("--confidence", type=float)
    asked = parser.parse_args()
    if asked.compare:
        compare(*(pd.read_json(path, lines=True) for path in (asked.out, asked.folder)))
        return
    with asked.out.open("a") as file:
        for n in asked.rows:
            for split in asked.splits:
                for name in asked.tables:
                    for limit in asked.limits:
                        found = measure(asked.folder, name, n, split, limit, asked.confidence)
                        print(json.dumps(found), file=file, flush=True)


if __name__ == "__main__":
    main()
