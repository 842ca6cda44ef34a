"""What whole tables keep and tell once released: trees against merging of tuples and a plain partition.

    python benchmarks/whole_tables.py                      # the table of whole_tables.md
    python benchmarks/whole_tables.py --tables adult --budgets 1/0.5

A third of the rows is kept apart: mechanisms are fitted on the rest and release the fresh third. An adversary
(gradient boosting) learns the sensitive column from released rows of the first part and is scored on released fresh
rows; an analyst does the same for a binary column that is not released. "Over" is the share of fresh mass whose
released symbol is over its budget under the frequencies of the fresh rows. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from simulated_tables import Source
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import sanitize as sz
from sanitize.confidence import clopper_pearson
from sanitize.transformers import JointRelease, SubsetMerging, TreeMerging, TreeRandomResponse

# Table -> file, sensitive column, column that is not released, columns that are left out.
TABLES: dict[str, tuple[str, str, str, list[str]]] = {
    "adult, income": ("adult", "income", "hours_per_week", ["split", "fnlwgt", "education_num"]),
    "adult, sex": ("adult", "sex", "hours_per_week", ["split", "fnlwgt", "education_num"]),
    "bank, y": ("bank_marketing", "y", "balance", []),
    "credit, default": ("credit_default", "default_payment", "LIMIT_BAL", []),
    "PUMS, married": ("pums_ca_1000", "married", "income", ["race"]),
    "generated": ("", "s", "x1", []),
}
# Places of the texts of each column that is not numeric.
ORDER: dict[str, dict[str, int]] = {}
GENERATED_ROWS = 30_000
BUDGETS = {"1/0.5": (1.0, 0.5), "1/1": (1.0, 1.0), "1.5/1": (1.5, 1.0)}


class Mondrian:
    """A plain partition: halve the widest column at its median while both halves are within the budget.

    With confidence, while intervals [CP34] of each half are, with room for every half that there may be: it proves
    nothing of fresh rows, as the rows choose the halves that they test. With rows apart it does: halves are made of
    one half of the rows in that way, and stay where intervals of the other half, with room for those that were made,
    are within the budget too. P(s) is taken as known, which is in the partition's favour.
    """

    def __init__(
        self, budget: sz.LiftBudget, min_rows: int = 20, confidence: float | None = None, *, apart: bool = False
    ) -> None:
        self.budget, self.min_rows, self.confidence, self.apart = budget, min_rows, confidence, apart

    def fit(self, df: pd.DataFrame, secrets: np.ndarray) -> Mondrian:
        """Grow the partition."""
        self.scales = {c: np.sort(_numbers(df[c])) for c in df}
        ranks = np.stack([np.searchsorted(self.scales[c], _numbers(df[c])) / len(df) for c in df], axis=1)
        self.rows, self.p_s = df, np.bincount(secrets) / len(secrets)
        self.n_halves = 2 * len(df) // self.min_rows
        rows = np.random.default_rng(0).permutation(len(df))
        if not self.apart:
            self.tree = self._grow(ranks, secrets, np.sort(rows))
            return self
        grown = self._grow(ranks, secrets, rows[: len(rows) // 2])
        self.n_halves = max(_halves(grown), 1)
        self.tree = self._pruned(grown, ranks, secrets, np.arange(len(df)), rows[len(rows) // 2 :])
        return self

    def _pruned(self, node: Any, ranks: np.ndarray, secrets: np.ndarray, rows: np.ndarray, fresh: np.ndarray) -> Any:
        """The node while the fresh rows of both its halves are within the budget, or all of its rows."""
        if not isinstance(node, np.ndarray):
            halves = [
                [own[(ranks[own, node[0]] <= node[1]) == side] for own in (rows, fresh)] for side in (True, False)
            ]
            if all(len(half[1]) and self._within(secrets[half[1]]) for half in halves):
                parts = (self._pruned(part, ranks, secrets, *half) for part, half in zip(node[2:], halves, strict=True))
                return *node[:2], *parts
        return rows

    def _grow(self, ranks: np.ndarray, secrets: np.ndarray, rows: np.ndarray) -> Any:
        own = ranks[rows]
        for j in np.argsort(-np.ptp(own, axis=0)):
            cut = np.median(own[:, j])
            left = own[:, j] <= cut if (own[:, j] > cut).any() else own[:, j] < cut
            halves = [rows[left], rows[~left]]
            if min(map(len, halves)) >= self.min_rows and all(self._within(secrets[h]) for h in halves):
                at = cut if (own[:, j] > cut).any() else np.nextafter(cut, -1)
                return j, at, *(self._grow(ranks, secrets, half) for half in halves)
        return rows

    def _within(self, secrets: np.ndarray) -> bool:
        counts = np.bincount(secrets, minlength=len(self.p_s))
        posteriors = (counts / len(secrets),)
        if self.confidence is not None:
            posteriors = clopper_pearson(counts, len(secrets), (1 - self.confidence) / (self.n_halves * len(counts)))
        return all(self.budget.excess_of((p / self.p_s)[:, None], self.p_s).max() <= 0 for p in posteriors)

    def leaves(self, df: pd.DataFrame) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows of a table in each leaf, and the rows it was grown from there."""
        n = len(self.rows)
        ranks = np.stack([np.searchsorted(self.scales[c], _numbers(df[c])) / n for c in df], axis=1)
        found, stack = [], [(self.tree, np.arange(len(df)))]
        while stack:
            node, rows = stack.pop()
            if isinstance(node, np.ndarray):
                found.append((rows, node))
                continue
            left = ranks[rows, node[0]] <= node[1]
            stack += [(node[2], rows[left]), (node[3], rows[~left])]
        return found

    def transform(self, df: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
        """For each row a row of its leaf."""
        rng, drawn = np.random.default_rng(seed), np.empty(len(df), int)
        for rows, own in self.leaves(df):
            drawn[rows] = rng.choice(own, len(rows))
        return self.rows.iloc[drawn].set_index(df.index)

    def cells(self, df: pd.DataFrame) -> np.ndarray:
        """Leaf of each row."""
        cells = np.empty(len(df), int)
        for number, (rows, _) in enumerate(self.leaves(df)):
            cells[rows] = number
        return cells


def _halves(node: Any) -> int:
    """Halves that were made at a node and below it."""
    return 0 if isinstance(node, np.ndarray) else 2 + sum(map(_halves, node[2:]))


def _numbers(column: pd.Series) -> np.ndarray:
    """Numbers as they are, other values by their place in alphabetical order."""
    if column.name not in ORDER:
        return column.to_numpy(float)
    return column.map(str).map(ORDER[str(column.name)]).to_numpy(float)


def auc(first: pd.DataFrame, y_first: np.ndarray, fresh: pd.DataFrame, y_fresh: np.ndarray) -> float:
    """AUC of gradient boosting, learned on one table and scored on another."""
    a, b = (np.stack([_numbers(df[name]) for name in df], axis=1) for df in (first, fresh))
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(a, y_first)
    return float(roc_auc_score(y_fresh, model.predict_proba(b)[:, 1]))


def kept(df: pd.DataFrame, symbols: np.ndarray) -> list[float]:
    """What a deterministic release keeps of each column in 16 groups, beyond chance, from the symbols of its rows."""
    n = int(symbols.max()) + 1
    found = []
    for name in df:
        column = df[name].map(str)
        if pd.api.types.is_numeric_dtype(df[name]) and df[name].nunique() > 16:
            column = pd.qcut(df[name].rank(method="min"), 16, labels=False, duplicates="drop")
        elif column.nunique() > 16:
            column = column.where(column.isin(column.value_counts().index[:15]), "others")
        codes = pd.factorize(column)[0]
        counts = np.bincount(codes * n + symbols, minlength=(codes.max() + 1) * n).reshape(-1, n)
        found.append(sz.report.kept_beyond_chance(counts, sz.Channel.identity(n)))
    return found


def over(report: sz.LeakageReport) -> float:
    """Share of the mass whose released symbol is over the budget."""
    table = report.to_frame("symbols")
    return float(table.loc[table["excess"] > 1e-9, "probability"].sum())


def table(name: str, seed: int, rows: int | None) -> pd.DataFrame:
    """Rows of a table in random order, but for columns that are left out."""
    file, _, _, dropped = TABLES[name]
    if file:
        df = pd.read_parquet(Path(DATA) / f"{file}.parquet").drop(columns=dropped, errors="ignore")
    else:
        df = Source.of(2, 0).draw(GENERATED_ROWS, np.random.default_rng(0))
    return df.sample(frac=1, random_state=seed, ignore_index=True)[:rows]


def rows_of(name: str, budget: sz.LiftBudget, rows: int | None) -> list[tuple[Any, ...]]:
    """Lines of one table at one budget."""
    _, sensitive, analysed, _ = TABLES[name]
    df = table(name, 0, rows)
    target = (df[analysed] > df[analysed].median()).to_numpy()
    df = df.drop(columns=analysed)
    ORDER.clear()
    for column in df:
        if not pd.api.types.is_numeric_dtype(df[column]):
            ORDER[column] = {text: place for place, text in enumerate(sorted(set(df[column].map(str))))}
    secrets = pd.factorize(df[sensitive], sort=True)[0]
    public = [column for column in df if column != sensitive]
    n = len(df) * 2 // 3
    first, fresh = df[:n], df[n:]

    def line(
        label: str, a: pd.DataFrame, b: pd.DataFrame, info: list[float] | None, exceeded: Any, seconds: Any
    ) -> Any:
        tells = auc(a, secrets[:n], b, secrets[n:])
        serves = auc(a, target[:n], b, target[n:])
        mean, least = (np.mean(info), min(info)) if info else (None, None)
        return label, mean, least, tells, serves, exceeded, seconds

    found = [line("raw", first[public], fresh[public], [1.0], None, None)]
    of_plain = {
        "plain Mondrian": Mondrian(budget),
        "plain Mondrian, intervals": Mondrian(budget, confidence=0.95),
        "plain Mondrian, 0.95": Mondrian(budget, confidence=0.95, apart=True),
    }
    for label, plain in of_plain.items():
        began = time.process_time()
        plain.fit(first[public], secrets[:n])
        seconds = time.process_time() - began
        a, b = plain.transform(first[public], 0), plain.transform(fresh[public], 1)
        found.append(line(label, a, b, kept(first[public], plain.cells(first[public])), None, seconds))
    three = [c for c in public if first[c].nunique() <= 20][:3]
    estimators = {
        f"tuple merging of {len(three)} columns": SubsetMerging(
            budget, sensitive=sensitive, public=three, random_state=0
        ),
        f"joint release of {len(three)} columns": JointRelease(
            [(column, SubsetMerging(public=column)) for column in three], budget, sensitive=sensitive, random_state=0
        ),
        "tree merging": TreeMerging(budget, sensitive=sensitive, output="model", random_state=0),
        "tree random response": TreeRandomResponse(budget, sensitive=sensitive, output="model", random_state=0),
        "tree merging, 0.95": TreeMerging(budget, sensitive=sensitive, output="model", confidence=0.95, random_state=0),
        "tree random response, 0.95": TreeRandomResponse(
            budget, sensitive=sensitive, output="model", confidence=0.95, random_state=0
        ),
    }
    for label, sanitizer in estimators.items():
        began = time.process_time()
        sanitizer.fit(first)
        seconds = time.process_time() - began
        section = [s for s in sanitizer.report_.sections if s.name == "kept by column"]
        if section:
            info = [share for _, share in section[0].rows]
        else:
            joint, channel = sanitizer._joint, sanitizer.channel_
            distributions = sz.report.column_distributions(joint)
            shares = {
                name: sz.report.kept_beyond_chance(np.rint(distribution * n).astype(int), channel)
                for name, distribution in distributions.items()
            }
            info = [shares.get(column, 0.0) for column in public]
        a, b = sanitizer.transform(first), sanitizer.transform(fresh)
        found.append(line(label, a, b, info, over(sanitizer.measure(fresh)), seconds))
    return found


DATA = "."


def main() -> None:
    global DATA
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", default="data", help="folder of the tables as Parquet (sanitize.datasets fetches them)"
    )
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--budgets", nargs="+", choices=BUDGETS, default=list(BUDGETS))
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    DATA = given.data
    print("| table | budget | release | kept, mean | kept, least | AUC of S | AUC of another | over | seconds |")
    print("|---" * 9 + "|")
    for name in given.tables:
        for bounds in given.budgets:
            lower, upper = BUDGETS[bounds]
            for label, *figures in rows_of(name, sz.LiftBudget(lower=lower, upper=upper), given.rows):
                cells = ["" if figure is None else f"{figure:.2f}" for figure in figures]
                print(f"| {name} | {bounds} | {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
