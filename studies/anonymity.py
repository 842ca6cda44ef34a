"""The k-anonymity family of `sanitize` and of pyCANON on real tables: both values and both times, side by side.

Each measure is timed alone, from the data frame to the figure, best of ``--repeat`` for `sanitize` and one run for
pyCANON. Where the definitions differ, the column "as pyCANON" is this library's figure under pyCANON's convention,
said in the docstring of the function. Rows with a missing value in a column used are dropped first.

    pip install pycanon
    python studies/anonymity.py path/to/folder/with/parquet/tables
    python studies/anonymity.py path/to/folder --record tests/theory/anonymity/pycanon.json
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import sanitize as sz

if TYPE_CHECKING:
    from collections.abc import Callable

# Table, quasi-identifiers, sensitive columns, and whether the other sensitive columns are known.
CASES = (
    ("adult", ["sex", "race"], ["occupation", "income"], "unknown"),
    ("adult", ["sex", "race", "marital_status"], ["hours_per_week", "relationship"], "unknown"),
    ("german_credit", ["sex", "housing"], ["age", "purpose"], "unknown"),
    ("german_credit", ["sex", "job"], ["class_label", "housing"], "known"),
    ("heart_disease", ["sex", "exang"], ["num", "cp"], "unknown"),
    ("heart_disease", ["sex", "exang"], ["num", "cp"], "known"),
    ("bank_marketing", ["job", "marital", "education"], ["age", "y"], "unknown"),
    ("bank_marketing", ["marital", "housing", "loan"], ["month", "day"], "unknown"),
)
MEASURES = (
    "k_anonymity",
    "alpha",
    "l_diversity",
    "entropy_l_diversity",
    "recursive_c",
    "t_closeness",
    "delta_disclosure",
    "beta_likeness",
    "enhanced_beta_likeness",
)


def read(folder: Path, table: str, columns: list[str]) -> pd.DataFrame:
    """Columns of a table, rows with missing values dropped, in plain dtypes."""
    frame = pd.read_parquet(folder / f"{table}.parquet", columns=columns).dropna().reset_index(drop=True)
    return frame.astype({name: "int64" for name in columns if pd.api.types.is_numeric_dtype(frame[name])})


def ours(name: str, case: tuple[pd.DataFrame, list[str], list[str]], others: Any) -> float:
    """Measure by this library's definition."""
    if name == "k_anonymity":
        return sz.theory.anonymity.k_anonymity(*case[:2])
    if name == "alpha":
        return sz.theory.anonymity.alpha_k_anonymity(*case, others=others).alpha
    if name == "recursive_c":
        return sz.theory.anonymity.recursive_l_diversity(*case, others=others)
    return getattr(sz, name)(*case, others=others)


def as_pycanon(name: str, case: tuple[pd.DataFrame, list[str], list[str]], others: Any) -> float:
    """Figure of this library under pyCANON's convention, as the docstrings say it."""
    frame, quasi, sensitive = case
    if name == "entropy_l_diversity":
        return math.floor(ours(name, case, others))
    if name == "delta_disclosure":
        return sz.theory.anonymity.delta_disclosure(*case, absent="ignore", others=others)
    if name == "enhanced_beta_likeness":
        return max(
            min(
                sz.theory.anonymity.beta_likeness(frame, [*quasi, *_beside(secret, sensitive, others)], secret),
                -math.log(frame[secret].value_counts(normalize=True).min()),
            )
            for secret in sensitive
        )
    if name == "recursive_c":
        return _recursive(frame, quasi, sensitive, others)
    return ours(name, case, others)


def _beside(secret: str, sensitive: list[str], others: str) -> list[str]:
    return [other for other in sensitive if other != secret] if others == "known" else []


def _recursive(frame: pd.DataFrame, quasi: list[str], sensitive: list[str], others: str) -> float:
    """Rarest value of a class against its most frequent ones, rounded down after adding 1."""
    least = sz.theory.anonymity.l_diversity(frame, quasi, sensitive)
    if least < 2:
        return math.nan
    found = []
    for secret in sensitive:
        classes = frame.groupby([*quasi, *_beside(secret, sensitive, others)])[secret]
        for _, values in classes:
            rising = np.sort(values.value_counts().to_numpy())
            rest = rising[least - 1 :].sum()
            found.append(math.floor(rising[0] / rest + 1) if rest else math.inf)
    return max(found)


def theirs(name: str, case: tuple[pd.DataFrame, list[str], list[str]], others: str) -> float:
    """Measure by pyCANON."""
    from pycanon import anonymity

    frame, quasi, sensitive = case
    if name == "k_anonymity":
        return anonymity.k_anonymity(frame, quasi)
    alone = others == "unknown"
    if name == "alpha":
        return anonymity.alpha_k_anonymity(frame, quasi, sensitive, alone)[0]
    if name == "recursive_c":
        return anonymity.recursive_c_l_diversity(frame, quasi, sensitive, gen=alone)[0]
    called = "basic_beta_likeness" if name == "beta_likeness" else name
    return getattr(anonymity, called)(frame, quasi, sensitive, alone)


def timed(of: Callable[[], float], repeat: int) -> tuple[float, float]:
    """Value, and the shortest of some times in seconds; nan where the measure fails."""
    best, value = math.inf, math.nan
    for _ in range(repeat):
        start = perf_counter()
        try:
            value = float(of())
        except (OverflowError, ZeroDivisionError):  # pyCANON's, for classes with few values
            value = math.nan
        best = min(best, perf_counter() - start)
    return value, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folder", type=Path, help="folder with " + ", ".join(sorted({f"{c[0]}.parquet" for c in CASES}))
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--record", type=Path, help="write pyCANON's values here as JSON, for the tests")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # pyCANON's divisions of missing things
    record = []
    for table, quasi, sensitive, others in CASES:
        case = (read(arguments.folder, table, [*quasi, *sensitive]), quasi, sensitive)
        print(f"\n{table}, {len(case[0])} rows; by {', '.join(quasi)}; {', '.join(sensitive)} (others {others})")
        print(
            f"{'':24}{'sanitize':>16}{'as pyCANON':>16}{'pyCANON':>16}{'ours, ms':>10}{'pyCANON, ms':>13}{'ratio':>8}"
        )
        values = {}
        for name in MEASURES:
            value, seconds = timed(partial(ours, name, case, others), arguments.repeat)
            converted = as_pycanon(name, case, others)
            their_value, their_seconds = timed(partial(theirs, name, case, others), 1)
            values[name] = None if math.isnan(their_value) else their_value
            print(
                f"{name:24}{value:16.10g}{converted:16.10g}{their_value:16.10g}{1e3 * seconds:10.2f}"
                f"{1e3 * their_seconds:13.1f}{their_seconds / seconds:8.0f}",
                flush=True,
            )
        record.append({"case": [table, quasi, sensitive, others], "n_rows": len(case[0]), "pycanon": values})
    if arguments.record:
        arguments.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
