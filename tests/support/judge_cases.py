"""What the tests of judging files share: people and outsiders of one source, and releases made of them."""

from __future__ import annotations

import numpy as np
import pandas as pd


def people(rng: np.random.Generator, n: int, n_columns: int = 5) -> pd.DataFrame:
    """Rows of one source: numbers, categories and gaps that go together, and a secret that goes with them."""
    group = rng.integers(0, 3, n)
    columns: dict[str, object] = {"secret": np.where(rng.random(n) < 0.2 + 0.2 * group, "SECRET_yes", "SECRET_no")}
    for j in range(n_columns):
        kind = j % 4
        if kind == 0:
            columns[f"number{j}"] = np.round(rng.normal(group, 1, n), 1)
        elif kind == 1:
            columns[f"town{j}"] = np.array([f"SECRET_{c}" for c in "abcdefgh"])[(group + rng.integers(0, 4, n)) % 8]
        elif kind == 2:
            columns[f"count{j}"] = rng.integers(0, 3, n)
        else:
            columns[f"gap{j}"] = np.where(rng.random(n) < 0.1, None, np.array(["p", "q"])[rng.integers(0, 2, n)])
    return pd.DataFrame(columns)


def split(seed: int, n: int = 900, n_columns: int = 5) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two thirds of the rows are people, the others outsiders."""
    rows = people(np.random.default_rng(seed), n, n_columns)
    return rows.iloc[: 2 * n // 3].reset_index(drop=True), rows.iloc[2 * n // 3 :].reset_index(drop=True)


def apart(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Synthetic rows of columns that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.permutation(table[name].to_numpy()) for name in table})


def bootstrap(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Whole rows, drawn with replacement."""
    return table.sample(len(table), replace=True, random_state=seed).reset_index(drop=True)
