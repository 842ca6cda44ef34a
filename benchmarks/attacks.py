"""The family of attacks of `judge`: false alarms, each attack alone, an order of releases, others' releases, and speed.

    python benchmarks/attacks.py alarms --runs 1000     # releases that have nothing to do with their people
    python benchmarks/attacks.py alone --data FOLDER    # each attack on Adult, credit, bank, the survey, heart disease
    python benchmarks/attacks.py order                  # programs, by the family and by shadow releases
    python benchmarks/attacks.py others FOLDER ...      # people.parquet, fresh.parquet, spec.json, NAME.parquet
    python benchmarks/attacks.py speed                  # 48,000 x 13, and 12,000 outsiders

Differences are of 100: people in the data less people outside it; of a ranking above chance, 50. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sanitize as sz

LIMIT = sz.LiftBudget(at_most=1.65, at_least=0.37)
SHADOW = "Shadow releases"
TABLES = {
    "adult": ("adult", "income", ["split", "fnlwgt"]),
    "bank": ("bank_marketing", "y", []),
    "credit": ("credit_default", "default_payment", []),
    "heart_disease": ("heart_disease", "num", ["site"]),
}
Program = Callable[[pd.DataFrame], pd.DataFrame]


# ------------------------------------------------------------------------------------------------------ false alarms


def drawn(rng: np.random.Generator, n: int, n_columns: int) -> pd.DataFrame:
    """Rows of one population: numbers, categories and gaps that go together, and a secret that goes with them."""
    group = rng.integers(0, 3, n)
    kinds = [
        lambda: np.round(rng.normal(group, 1, n), 1),
        lambda: (group + rng.integers(0, 4, n)) % 8,
        lambda: np.where(rng.random(n) < 0.1, None, np.array(["p", "q"])[rng.integers(0, 2, n)]),
    ]
    columns = {f"x{j}": kinds[j % 3]() for j in range(n_columns)}
    return pd.DataFrame({"s": rng.random(n) < 0.2 + 0.2 * group, **columns})


def alarms(runs: int) -> None:
    """How often a release of other people is refuted at an excess of 0; half of them do not hold the secret."""
    refuted = {"promised": 0, "membership": 0, "either": 0}
    nominal = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sizes = rng.integers((30, 10, 30), (400, 300, 500))
        people, outsiders, released = (drawn(rng, n, 1 + seed % 7) for n in sizes)
        released = released if seed % 2 else released.drop(columns="s")
        found = sz.attack.judge(released, people, outsiders=outsiders, sensitive="s", excess=0, random_state=seed)
        refuted["promised"] += found.promised == "refuted"
        refuted["membership"] += found.membership == "refuted"
        refuted["either"] += not found.ok
        nominal += any(result.chance is not None and result.chance <= 0.03 for result in found.results)
    print(f"{runs} runs: refuted {refuted} (nominal for either: {0.025 * runs:g}); chance at most 3 %: {nominal}")


# ------------------------------------------------------------------------------------------------- releases of tables


def halves(rows: pd.DataFrame, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Half of the rows are people, the others outsiders."""
    rows = rows.sample(frac=1, random_state=seed, ignore_index=True)
    return rows[: len(rows) // 2], rows[len(rows) // 2 :].reset_index(drop=True)


def model(rows: pd.DataFrame, secret: str) -> pd.DataFrame:
    """A generated table of the library."""
    return sz.TreeRandomResponse(LIMIT, sensitive=secret, output="model").fit(rows).transform(rows)


def sequential(rows: pd.DataFrame, leaf: int = 5, smooth: bool = False) -> pd.DataFrame:
    """One column after the other from the leaves of a tree on the columns before, as common generators do."""
    rng = np.random.default_rng()
    coded = rows.apply(lambda c: c if pd.api.types.is_numeric_dtype(c) else pd.factorize(c, sort=True)[0]).fillna(-1)
    made = pd.DataFrame(index=rows.index)
    for j, name in enumerate(coded):
        if not j:
            made[name] = rng.permutation(coded[name])
            continue
        is_number = pd.api.types.is_numeric_dtype(rows[name]) and rows[name].nunique() > 20
        tree = (DecisionTreeRegressor if is_number else DecisionTreeClassifier)(min_samples_leaf=leaf)
        own = tree.fit(coded.iloc[:, :j], coded[name]).apply(coded.iloc[:, :j])
        donors = pd.Series(coded[name].to_numpy()).groupby(own).apply(np.array)
        values = np.array([rng.choice(donors[leaf]) for leaf in tree.apply(made)], float)
        made[name] = values + rng.normal(0, coded[name].std() / 10, len(made)) * (smooth and is_number)
    for name in rows:
        if not pd.api.types.is_numeric_dtype(rows[name]):
            levels = np.append(pd.factorize(rows[name], sort=True)[1], None)
            made[name] = levels[made[name].round().astype(int)]
        elif pd.api.types.is_integer_dtype(rows[name]):
            made[name] = made[name].round().astype("int64")
    return made


def alone(data: Path, most: int) -> None:
    """What each attack finds of a sequential generator and of a generated table, and the worst of them."""
    for name in ("adult", "bank", "credit", "heart_disease", "survey"):
        if name == "survey":
            rows, secret = sz.datasets.load_survey(), "depression"
        else:
            file, secret, dropped = TABLES[name]
            rows = pd.read_parquet(data / f"{file}.parquet").drop(columns=dropped, errors="ignore")
        rows = rows.sample(min(len(rows), most), random_state=0, ignore_index=True)
        if name == "heart_disease":
            rows[secret] = rows[secret] > 0
        people, outsiders = halves(rows)
        for kind, released in (("sequential", sequential(people)), ("library", model(people, secret))):
            found = sz.attack.judge(released, people, outsiders=outsiders, sensitive=secret)
            told = [
                f"{one.title} {100 * (one.difference or 0):.1f}" for one in found.results if one.claim == "membership"
            ]
            print(f"{name}, {kind}: {found.promised}, {found.membership}: {'; '.join(told)}", flush=True)


# --------------------------------------------------------------------------------------------------- order of releases


def programs(secret: str) -> dict[str, Program]:
    """Programs that make a release of a table again, from raw rows to columns drawn apart."""

    def noisy(share: float) -> Program:
        def pram(rows: pd.DataFrame) -> pd.DataFrame:
            rng = np.random.default_rng()
            changed = {
                name: np.where(rng.random(len(rows)) < share, rng.permutation(rows[name]), rows[name]) for name in rows
            }
            return pd.DataFrame(changed).astype(rows.dtypes.to_dict())

        return pram

    def tuples(rows: pd.DataFrame) -> pd.DataFrame:
        names = ["occupation", "shifts", "school_years"]
        return sz.frame.release(rows[[*names, secret]], sz.SubsetMerging(LIMIT, sensitive=secret, public=names))

    def grouped(rows: pd.DataFrame) -> pd.DataFrame:
        return sz.frame.release(rows, sz.TreeMerging(LIMIT, sensitive=secret, output="label"))

    return {
        "raw rows": lambda rows: rows.sample(frac=1),
        "bootstrap": lambda rows: rows.sample(frac=1, replace=True),
        "sequential trees": sequential,
        "sequential trees, smoothed": lambda rows: sequential(rows, smooth=True),
        "sequential trees of 50 rows": lambda rows: sequential(rows, 50, smooth=True),
        "a third of the values moved": noisy(0.33),
        "two thirds of the values moved": noisy(0.67),
        "real rows of cells": lambda rows: sz.TreeRandomResponse(
            LIMIT, sensitive=secret, output="resample"
        ).fit_transform(rows),
        "generated table": lambda rows: model(rows, secret),
        "intervals": grouped,
        "combinations": tuples,
        "columns drawn apart": lambda rows: pd.DataFrame(
            {n: np.random.default_rng().permutation(rows[n]) for n in rows}
        ),
    }


def order(n: int) -> None:
    """Rank correlation of the worst attack on membership without shadow releases, and of shadow releases."""
    rows = sz.datasets.load_survey().sample(2 * n, random_state=1, ignore_index=True)
    people, outsiders = halves(rows)
    family, shadow = [], []
    for name, program in programs("depression").items():
        given = {"outsiders": outsiders, "sensitive": "depression", "releaser": program}
        found = sz.attack.judge(program(people), people, **given)
        ranked = {one.title: one for one in found.results if one.figure == "ranking" and one.surest is None}
        # Of all targets, or of those that an attack is surest of, as the judgement has it.
        all_of = {one.title: one.difference or 0 for one in found.results if one.figure == "ranking"}
        shadow.append(all_of.pop(SHADOW))
        family.append(max(all_of.values()))
        worst = max(all_of, key=lambda title: all_of[title])
        print(f"{name}: {worst} {100 * family[-1]:.1f}, shadow releases {100 * shadow[-1]:.1f}", flush=True)
    print(f"rank correlation {spearmanr(family, shadow).statistic:.2f}")


# --------------------------------------------------------------------------------------------- releases of other tools


def others(folders: list[Path]) -> None:
    """A row of a table for each release of a folder."""
    print("| table | release | promised | worst | membership | worst |\n|---|---|---|---|---|---|")
    for folder in folders:
        people, fresh = (pd.read_parquet(folder / f"{name}.parquet") for name in ("people", "fresh"))
        spec = json.loads((folder / "spec.json").read_text())
        for file in sorted(folder.glob("*.parquet")):
            if file.stem in ("people", "fresh"):
                continue
            found = sz.attack.judge(pd.read_parquet(file), people, outsiders=fresh, sensitive=spec["secret"])
            cells = []
            for claim in ("promised", "membership"):
                one = next(result for result in found.results if result.claim == claim)
                cells += [
                    getattr(found, claim),
                    f"{one.title} {100 * one.people:.1f} / {100 * (one.outsiders or 0):.1f}",
                ]
            print(f"| {folder.name} | {file.stem} | {' | '.join(map(str, cells))} |", flush=True)


def speed() -> None:
    """Seconds of a table of independent columns."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({f"x{j}": rng.integers(0, 4 ** (1 + j % 6), 60_000) for j in range(13)})
    released = pd.DataFrame({name: rng.permutation(rows[name][:48_000]) for name in rows})
    wall, cpu = time.perf_counter(), time.process_time()
    sz.attack.judge(released, rows[:48_000], outsiders=rows[48_000:], sensitive="x0")
    print(f"48,000 x 13: {time.perf_counter() - wall:.0f} s, {time.process_time() - cpu:.0f} s of CPU time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("alarms", "alone", "order", "others", "speed"))
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the tables as Parquet")
    parser.add_argument("--rows", type=int, default=6000, help="rows of each table at most, half of them people")
    given = parser.parse_args()
    if given.part == "alarms":
        alarms(given.runs)
    elif given.part == "alone":
        alone(given.data, given.rows)
    elif given.part == "order":
        order(given.rows // 4)
    elif given.part == "others":
        others(given.folders)
    else:
        speed()


if __name__ == "__main__":
    main()
