"""Privacy and use of releases of other tools, next to this library's, measured by one yardstick.

    python studies/peers.py FOLDER ... [--ours]

A folder has ``people.parquet`` (rows that every tool was given), ``fresh.parquet`` (other people of the same table),
one ``NAME.parquet`` for each release, ``aligned.txt`` (names of releases whose row i is that of person i) and
``spec.json``: secret, columns, numeric (columns), target (``COLUMN>NUMBER`` or ``COLUMN==VALUE``). ``--ours`` adds this
library's releases at most 2 and at least 0.5 times: latent classes, and subset merging of up to three columns.

Columns of each row (up to three): how often, of two people, the one with the rarer secret is found by the released row
(50 is guessing), and the share of the information in the tuple, I(X;Y) / H(X), both beyond what rows dealt at random
give. Tables: the AUC of a model trained on the release for fresh people, next to the raw table's; relations (raw
Cramér's V above 0.1) within 20 %; how often a person is told from a fresh one by the nearest released row (50 is
guessing), and for releases in order the AUC of the secret by the released row.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from relations import LEAST, dependence, groups
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import sanitize as sz

LIMIT = sz.LiftBudget(at_most=2, at_least=0.5)


def read(path: Path, numeric: list[str]) -> pd.DataFrame:
    """Table with its numbers as numbers, intervals by their middle, and what is suppressed missing."""
    table = pd.read_parquet(path).replace("*", None)
    return table.assign(**{name: table[name].map(middle).astype(float) for name in numeric if name in table})


def middle(value: object) -> float:
    """Number of a text, or the middle of an interval."""
    ends = re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", str(value))
    return float(np.mean([float(end) for end in ends])) if ends else np.nan


def numbers(table: pd.DataFrame, like: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """Columns as boosting reads them: categories by their place, by frequency in the raw table."""
    parts = []
    for name in columns:
        if pd.api.types.is_numeric_dtype(like[name]):
            parts.append(pd.to_numeric(table[name], errors="coerce"))
        else:
            known = dict.fromkeys([*like[name].astype(str).value_counts().index, *table[name].astype(str).unique()])
            parts.append(table[name].astype(str).map({value: place for place, value in enumerate(known)}))
    return np.column_stack([part.astype(float).fillna(-1) for part in parts])


def auc(x: np.ndarray, y: np.ndarray, x_new: np.ndarray, y_new: np.ndarray) -> float:
    """Area under the curve of boosting on new rows."""
    if len(np.unique(y)) < 2:
        return 0.5
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
    return float(roc_auc_score(y_new, model.fit(x, y).predict_proba(x_new)[:, 1]))


def cross_fitted(x: np.ndarray, y: np.ndarray) -> float:
    """Mean AUC of both halves, each by a model of the other."""
    half = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    return (auc(x[half], y[half], x[~half], y[~half]) + auc(x[~half], y[~half], x[half], y[half])) / 2


def answer(table: pd.DataFrame, target: str) -> np.ndarray:
    """Whether the target holds in each row."""
    if ">" in target:
        name, value = target.split(">")
        return (table[name] > float(value)).to_numpy(int)
    name, value = target.split("==")
    return (table[name].astype(str).str.removesuffix(".0") == value).to_numpy(int)


def kept(people: pd.DataFrame, released: pd.DataFrame) -> float:
    """Share of the information in the tuple that the released tuple has, beyond rows dealt at random."""
    # A suppressed value is a value.
    x, y = (table.map(str).agg("|".join, axis=1).to_numpy() for table in (people, released))
    dealt = np.random.default_rng(1).permutation(y)
    chance = information(x, dealt)
    return (information(x, y) - chance) / (information(x, x) - chance)


def information(one: np.ndarray, other: np.ndarray) -> float:
    """Mutual information of two columns, in nats."""
    p = pd.crosstab(one, other).to_numpy() / len(one)
    alone = np.outer(p.sum(axis=1), p.sum(axis=0))
    return float((p[p > 0] * np.log(p[p > 0] / alone[p > 0])).sum())


def found_as_member(people: pd.DataFrame, fresh: pd.DataFrame, released: pd.DataFrame, columns: list[str]) -> float:
    """AUC of the nearest released row, in groups of values, less that of the nearest row of other fresh people."""
    pairs = [groups(people[name], pd.concat([people[name], fresh[name], released[name]])) for name in columns]
    codes = np.column_stack([both[1] for both in pairs])
    sizes = len(people), len(people) + len(fresh)
    n = min(500, len(fresh) // 2)
    inside, outside, others, rows = codes[:n], codes[sizes[0] :][:n], codes[sizes[0] + n : sizes[1]], codes[sizes[1] :]

    def nearest(who: np.ndarray, where: np.ndarray) -> np.ndarray:
        return np.array([(row != where).sum(axis=1).min() for row in who])

    scores = [nearest(who, others) - nearest(who, rows) for who in (inside, outside)]
    return float(roc_auc_score(np.repeat([1, 0], n), np.concatenate(scores)))


def releases(folder: Path, spec: dict, *, ours: bool) -> Iterator[tuple[str, pd.DataFrame, bool]]:
    """Name of each release, its rows, and whether row i is that of person i."""
    aligned = set((folder / "aligned.txt").read_text().split())
    for path in sorted(folder.glob("*.parquet")):
        if path.stem not in ("people", "fresh"):
            yield path.stem, read(path, spec["numeric"]), path.stem in aligned
    if ours:
        people = pd.read_parquet(folder / "people.parquet")[[*spec["columns"], spec["secret"]]]
        shared = {"sensitive": spec["secret"], "random_state": spec["seed"]}
        yield "ours: latent classes", sz.LatentClassRelease(LIMIT, **shared).fit_transform(people), False
        if len(spec["columns"]) <= 3:
            yield "ours: subset merging", sz.SubsetMerging(LIMIT, **shared).fit_transform(people), True


def measure(folder: Path, *, ours: bool) -> None:
    """Write one line for the raw table, and one for each release."""
    spec = json.loads((folder / "spec.json").read_text())
    people, fresh = (read(folder / f"{name}.parquet", spec["numeric"]) for name in ("people", "fresh"))
    columns, target = spec["columns"], spec["target"]
    secret = (people[spec["secret"]] == people[spec["secret"]].value_counts().index[-1]).to_numpy(int)
    inputs = [name for name in columns if not target.startswith(name)]
    print(f"{folder.name}: {len(people):,} people, {len(columns)} columns")
    for name, table, is_aligned in [("raw table", people, True), *releases(folder, spec, ours=ours)]:
        if any(column not in table for column in columns):
            print(f"  {name:28} has not all columns")
            continue
        words = [f"  {name:28}"]
        if is_aligned:
            words.append(f"secret {cross_fitted(numbers(table, people, columns), secret):.3f}")
            words += [f"kept {kept(people[columns], table[columns]):6.1%}"] if len(columns) <= 3 else []
        if len(columns) > 3:
            x, x_fresh = numbers(table, people, inputs), numbers(fresh, people, inputs)
            words.append(f"model {auc(x, answer(table, target), x_fresh, answer(fresh, target)):.3f}")
            codes = {column: groups(people[column], table[column]) for column in columns}
            strengths = []
            for a, b in combinations(columns, 2):
                (before, most), (after, _) = (dependence(codes[a][k], codes[b][k]) for k in (0, 1))
                strengths.append([np.sqrt(side / most) if most > 0 else 0.0 for side in (before, after)])
            within = [abs(after / before - 1) <= 0.2 for before, after in strengths if before > LEAST]
            words.append(f"relations {sum(within)} of {len(within)}")
            words.append(f"member {found_as_member(people, fresh, table, columns):.3f}")
        print("  ".join(words), flush=True)


def main() -> None:
    """Measure folders of releases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--ours", action="store_true", help="release by this library, too")
    asked = parser.parse_args()
    for folder in asked.folders:
        measure(folder, ours=asked.ours)


if __name__ == "__main__":
    main()
