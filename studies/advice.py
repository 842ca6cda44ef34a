"""Whether `plan` recommends what a run of all mechanisms and an analyst with rows of her own prefer, on eight tables.

    python studies/advice.py --data FOLDER
    python studies/advice.py --data FOLDER --tables titanic

A third of the rows (of at most 12,000) is kept apart. `plan` reads the rest from a file, under a policy as `init` would
begin it: merging of tuples, or latent classes where combinations of values have fewer than five rows each. Beside it
every mechanism is fitted to the same rows by itself. An analyst trains gradient boosting on each release, once for
every column that may be predicted (four at most), and is scored on raw rows apart: the mean AUC, which is 50 where all
rows are merged. A table is split four times, forty times if it has few rows, each time with other noise. What is best
by the splits that it is judged by is flattered by them: where these prefer another mechanism than `plan`, the two are
judged by as many splits more. "Same" is behind by less than half a point there, which two seeds of a release differ by,
or than two standard errors over the splits: they speak of this table, since its splits share rows. Of people like those
in it speaks the second ±, two standard errors of a variance of 1/J + n_apart/n_released times that of J splits in place
of 1/J (Nadeau and Bengio 2003). Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sanitize as sz
from sanitize.errors import SanitizeError
from sanitize.policy import make_plan

MOST_ROWS, FEW_ROWS, MOST_TARGETS, SAME = 12_000, 5_000, 4, 0.005
# Table -> file, sensitive column, public columns or those that are left out.
TABLES: dict[str, tuple[str, str, list[str] | None, list[str]]] = {
    "titanic, survived": ("titanic", "survived", None, []),
    "framingham, heart disease": ("framingham", "heart_disease", None, []),
    "PUMS, married": ("pums_ca_1000", "married", None, []),
    "adult, income (3 columns)": ("adult", "income", ["education", "occupation", "sex"], []),
    "adult, income": ("adult", "income", None, ["split", "fnlwgt", "education_num"]),
    "bank, y": ("bank_marketing", "y", None, []),
    "credit, default": ("credit_default", "default_payment", None, []),
}
MECHANISMS = ("watchdog", "subset-merging", "optimal-random-response", "subset-random-response")
CLASSES = "latent-classes"
BUNDLED = {"titanic": sz.datasets.load_titanic, "framingham": sz.datasets.load_framingham}


def table(name: str, folder: Path, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Rows to release, rows apart, and the sensitive column."""
    file, secret, public, dropped = TABLES[name]
    df = BUNDLED[file]() if file in BUNDLED else pd.read_parquet(folder / f"{file}.parquet")
    df = df.drop(columns=dropped) if public is None else df[[secret, *public]]
    df = df.sample(frac=1, random_state=seed, ignore_index=True)[:MOST_ROWS]
    return df[: 2 * len(df) // 3], df[2 * len(df) // 3 :].reset_index(drop=True), secret


def make_policy(df: pd.DataFrame, secret: str, mechanism: str, confidence: float | None) -> sz.Policy:
    """Policy of one mechanism for all other columns."""
    channel: dict[str, Any] = {"mechanism": mechanism} | ({} if confidence is None else {"confidence": confidence})
    return sz.Policy.from_dict(
        {
            "version": 1,
            "columns": {"sensitive": [secret], "public": [name for name in df if name != secret]},
            "budget": {"at_most": 1.65, "at_least": 0.37},
            "channel": channel,
        }
    )


def analyst(df: pd.DataFrame, released: Any, apart: pd.DataFrame, secret: str) -> float:
    """Mean AUC over columns, on raw rows apart, of models trained on a release."""
    names = [name for name in df if name != secret and _may_be_predicted(df[name])][:MOST_TARGETS]
    return float(np.mean([sz.auditing.attack.downstream(df, released, name, fresh=apart).released for name in names]))


def _may_be_predicted(column: pd.Series) -> bool:
    return column.nunique() > 1 and (pd.api.types.is_numeric_dtype(column) or column.nunique() <= 32)


def scores(
    name: str, folder: Path, seed: int, confidence: float | None, of: tuple[str, ...] = (*MECHANISMS, CLASSES)
) -> dict[str, float]:
    """Figure of the analyst for mechanisms of one split; 0.5 where all is merged, which is printed as a label."""
    df, apart, secret = table(name, folder, seed)
    found, few = {}, len(df.drop(columns=secret).drop_duplicates())
    for mechanism in of:
        if few * 5 > len(df) and mechanism in MECHANISMS:
            continue
        if confidence is not None and few > 60 and mechanism in MECHANISMS[2:]:  # they take minutes
            continue
        if few <= 32 and mechanism == MECHANISMS[3]:  # the same as the optimal one
            continue
        fitted = make_policy(df, secret, mechanism, confidence).sanitizer().set_params(random_state=seed)
        words = mechanism.replace("-", " ")
        try:
            found[words] = analyst(df, fitted.fit(df).transform(df), apart, secret)
        except SanitizeError:
            found[words] = 0.5
    return found


def line(name: str, folder: Path, confidence: float | None) -> str:
    """Line of one table."""
    df, apart, secret = table(name, folder, 0)
    is_wide = len(df.drop(columns=secret).drop_duplicates()) * 5 > len(df)
    with tempfile.TemporaryDirectory() as there:
        df.to_parquet(file := Path(there) / "raw.parquet")
        begun = time.process_time()
        plan = make_plan(make_policy(df, secret, CLASSES if is_wide else "subset-merging", confidence), file)
        seconds = time.process_time() - begun
    said = plan.to_text().partition("Recommended: ")[2].partition(",")[0].partition(";")[0]
    splits = 40 if len(df) < FEW_ROWS else 4  # fewer rows apart say less
    found = [scores(name, folder, seed, confidence) for seed in range(splits)]
    means = {one: float(np.mean([each[one] for each in found])) for one in found[0]}
    best = max(means, key=means.__getitem__)
    pair = tuple(one.replace(" ", "-") for one in (best, said))
    judged = [scores(name, folder, splits + seed, confidence, pair) for seed in range(splits) if best != said]
    behind = [each[best] - each.get(said, 0.5) for each in judged or found]
    here, people = (2 * np.std(behind, ddof=1) * np.sqrt(1 / splits + shared) for shared in (0, len(apart) / len(df)))
    verdict = "same" if np.mean(behind) < max(SAME, here) else best
    verdict += f" | {100 * np.mean(behind):.1f} (±{100 * here:.1f}; ±{100 * people:.1f})"
    figures = ", ".join(f"{one} {100 * score:.1f}" for one, score in means.items())
    sure = "rows only" if confidence is None else f"{100 * confidence:g} %"
    return f"| {name} | {sure} | {said} | {verdict} | {figures} | {seconds:.0f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", default="")
    args = parser.parse_args()
    print("| table | claim | recommended | the analyst's best | behind (± here; ± people) | all, AUC in % | CPU s |")
    print("|---" * 7 + "|")
    for name in (name for name in TABLES if args.tables in name):
        for confidence in (None, 0.95):
            print(line(name, args.data, confidence), flush=True)


if __name__ == "__main__":
    main()
