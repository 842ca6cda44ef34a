"""What `judge` finds of a partition, of ANJANA, of synthetic columns and of a tree: the table of comparison.md.

    pip install anjana                # in an environment of its own: it takes an older NumPy
    python benchmarks/judged.py adult.parquet

Of 6,000 rows of UCI Adult 4,000 are people and 2,000 outsiders, who are in no release; income is the secret. ANJANA
generalizes five quasi-identifiers (age to decades or to nothing, the others to nothing) and suppresses up to 20 %.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from whole_tables import ORDER, Mondrian

import sanitize as sz
from sanitize.transformers import TreeRandomResponse

BUDGET = sz.LiftBudget(at_most=1.65, at_least=0.37)
QUASI = ["age", "education", "marital_status", "sex", "race"]


def releases(people: pd.DataFrame, public: list[str]) -> dict[str, pd.DataFrame]:
    """Releases of the public columns, by the name of who made them."""
    from anjana.anonymity import delta_disclosure, k_anonymity

    above: dict[str, Any] = {name: {0: people[name].to_numpy(), 1: np.full(len(people), "*")} for name in QUASI}
    decades = (people["age"] // 10 * 10).map(lambda low: f"{low}-{low + 9}").to_numpy()
    above["age"] = {0: people["age"].to_numpy(), 1: decades, 2: np.full(len(people), "*")}
    secrets = pd.factorize(people["income"], sort=True)[0]
    tree = TreeRandomResponse(BUDGET, sensitive="income", output="model", random_state=0)
    rng = np.random.default_rng(0)
    return {
        "Mondrian, real rows of a cell": Mondrian(BUDGET).fit(people[public], secrets).transform(people[public]),
        "ANJANA, k = 10": k_anonymity(people.copy(), [], QUASI, 10, 20, above)[public],
        "ANJANA, k = 10, delta 0.5": delta_disclosure(people.copy(), [], QUASI, "income", 10, 0.5, 20, above)[public],
        "columns drawn apart": pd.DataFrame({name: rng.permutation(people[name].to_numpy()) for name in public}),
        "tree random response": tree.fit(people).transform(people)[public],
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    df = pd.read_parquet(parser.parse_args().file).drop(columns=["split", "fnlwgt", "education_num"])
    df = df.sample(6000, random_state=0, ignore_index=True)
    for name in df:
        if not pd.api.types.is_numeric_dtype(df[name]):
            ORDER[str(name)] = {text: place for place, text in enumerate(sorted(set(df[name].map(str))))}
    people, outsiders = df[:4000].copy(), df[4000:].reset_index(drop=True)
    for name, released in releases(people, [name for name in df if name != "income"]).items():
        found = sz.attack.judge(released, people, outsiders=outsiders, sensitive="income")
        figures = {one.title: f"{100 * one.people:.1f} / {100 * (one.outsiders or 0):.1f}" for one in found.results}
        print(name, found.headline, figures, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
