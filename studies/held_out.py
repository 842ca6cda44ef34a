"""Leakage and utility on the rows a channel was designed on, on held-out rows, and of a design with confidence.

    python studies/held_out.py adult.parquet      # the table of held_out.md

The file is UCI Adult with a column ``split`` (train, test). Five choices of S and X, subset merging and random
response within a lift budget, designed on the train rows, plainly and with ``confidence=0.95``. Largest and smallest
log-lift are nats: under the train frequencies, under the test frequencies with the interval that holds for their
source at 95 %, and at worst over the distributions that the train rows allow at 95 %. NMI is I(X;Y)/H(X).
`held_out_table` returns the same as a DataFrame.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

import pandas as pd

import sanitize as sz
from sanitize.errors import UnseenSymbolWarning
from sanitize.transformers import SubsetMerging, SubsetRandomResponse

if TYPE_CHECKING:
    from sanitize.report import LeakageReport

CHOICES = {
    "income from education": ("income", ["education"]),
    "income from education, occupation": ("income", ["education", "occupation"]),
    "race from native country": ("race", ["native_country"]),
    "sex from occupation, hours": ("sex", ["occupation", "hours_per_week"]),
    "relationship from sex, age (impossible pairs)": ("relationship", ["sex", "age"]),
}
BINS = {"age": [16, 25, 35, 45, 55, 65, 91], "hours_per_week": [0, 20, 35, 40, 41, 50, 100]}
BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)
MECHANISMS = {"subset merging": SubsetMerging, "subset random response": SubsetRandomResponse}


def held_out_table(train: pd.DataFrame, test: pd.DataFrame, budget: sz.LiftBudget = BUDGET) -> pd.DataFrame:
    """One row a choice of columns, mechanism and design; see the module's docstring."""
    rows = []
    for title, (sensitive, public) in CHOICES.items():
        bins = {name: BINS[name] for name in public if name in BINS}
        for name, estimator in MECHANISMS.items():
            for confidence in (None, 0.95):
                sanitizer = estimator(
                    budget,
                    sensitive=sensitive,
                    public=public,
                    bins=bins or None,
                    confidence=confidence,
                    **({"gap": 1e-3, "time_limit": 60} if estimator is SubsetRandomResponse else {}),
                ).fit(train)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UnseenSymbolWarning)
                    held_out = sanitizer.measure(test)
                rows.append(
                    {
                        "S from X": title,
                        "mechanism": name,
                        "design": "plain" if confidence is None else "robust",
                        "NMI": f"{sanitizer.report_.summary['normalized_utility']:.3f}",
                        **_sides(sanitizer.report_, held_out, "max"),
                        **_sides(sanitizer.report_, held_out, "min"),
                        "test over budget": f"{max(held_out.worst_excess, 0):.3f}",
                    }
                )
    return pd.DataFrame(rows)


def _sides(train: LeakageReport, test: LeakageReport, side: str) -> dict[str, str]:
    name = f"{side}_log_lift"
    estimate = next(measure for measure in test.measures if measure.name == name)
    return {
        f"{side}, train": f"{train.summary[name]:.3f}",
        f"{side}, test": f"{estimate.after:.3f} ({estimate.low:.2f} to {estimate.high:.2f})",
        f"{side}, worst": f"{train.summary[f'worst_{name}']:.3f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="Adult as Parquet, with a column split")
    given = parser.parse_args()
    df = pd.read_parquet(given.file)
    df.columns = [name.replace("-", "_") for name in df.columns]
    table = held_out_table(df[df["split"] == "train"], df[df["split"] == "test"])
    print("| " + " | ".join(table.columns) + " |")
    print("|" + "---|" * len(table.columns))
    for row in table.itertuples(index=False):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
