"""Who is in the data, by rows of latent classes and to somebody who knows all other rows, but not the key.

    python studies/members.py                      # 2,000 people of the survey
    python studies/members.py --rows 1000
    python studies/members.py --planted            # one exception, a third row of a pair, one largest number

One of two people has the last row of the table, and the attacker knows both. She fits classes to both tables with keys
of her own, and asks by a likelihood ratio which of them writes the rows that she sees: their groups and the values that
are listed. AUC over releases by fresh keys of both tables, as of normal scores; 0.5 is guessing. Half of the people
are usual, half are those whose values are rarest. With ``--planted`` she counts: rows that break a dependency, rows of
a pair that two others have, and the largest number. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from flipped_secret import BUDGET, STEP, auc

import sanitize as sz

SECRET = "depression"
LEAST = 1e-6  # of what a model of hers never writes
# A table, what one row of it is made to hold, its place, and what is counted of released rows.
Planted = tuple[pd.DataFrame, dict[str, Any], int, Callable[[pd.DataFrame], float]]


class Release:
    """Rows that are released of a table under one key, and how likely rows are under its model."""

    def __init__(self, df: pd.DataFrame, seed: int) -> None:
        made = sz.LatentClassRelease(BUDGET, sensitive=SECRET, random_state=sz.NoiseKey.from_seed(seed)).fit(df)
        release = made.bare_release()
        partition: Any = release.classes
        self.writers, self.classes, self.said = partition.model.writers, partition.classes, partition.model.membership
        cells = release.encode({name: pa.array(df[name]) for name in partition.names}, first=0)[0]
        matrix, rng = np.asarray(made.channel_.matrix), np.random.default_rng(seed)
        drawn = (np.cumsum(matrix, axis=1)[cells, :-1] <= rng.random((len(df), 1))).sum(axis=1)
        self.rows = release.decode(drawn, sz.NoiseKey.from_seed(10_000 + seed))
        self.shares = np.bincount(cells, minlength=len(matrix)) @ matrix / len(df)
        self.cells = made.channel_.outputs.codes[:, -1]

    def log_density(self, rows: dict[str, pa.Array]) -> np.ndarray:
        """Logarithm of the probability of each row."""
        columns = [writer.column for writer in self.writers]
        groups = [column.encode(rows[column.name]) for column in columns]
        outcomes = [column.encode_outcomes(rows[column.name]) for column in columns]
        found = np.zeros((len(groups[0]), len(self.classes)))
        for writer, column, group, outcome in zip(self.writers, columns, groups, outcomes, strict=True):
            logs = np.repeat(writer.base[self.classes][None] * STEP, len(group), axis=0)
            for given, slope in zip(writer.given, writer.slopes, strict=True):
                logs += slope[groups[given]][:, None] * STEP
            free = np.take_along_axis(logs, group[:, None, None], 2)[..., 0] - np.logaddexp.reduce(logs, axis=2)
            if (finer := writer.refinement) is None:
                within = chances(column.first, np.arange(len(column.places)), column.weights, group)
            else:
                bins = columns[finer.determiner].bins[outcomes[finer.determiner]]
                within = chances(finer.first, finer.outcomes, finer.weights, bins * column.n_groups + group)
            free += np.log(within[np.arange(len(group)), outcome] + LEAST)[:, None]
            if (rule := writer.rule) is not None:
                ruled = chances(rule.first, rule.outcomes, rule.weights, outcomes[rule.determiner])
                own = np.log(ruled[np.arange(len(group)), outcome] + LEAST)
                free = np.logaddexp(own[:, None], free + np.log(ruled[:, -2:].sum(axis=1) + LEAST)[:, None])
            found += free
        return np.asarray(np.logaddexp.reduce(found[:, self.cells] + np.log(self.shares + 1e-300), axis=1))


def chances(first: np.ndarray, outcomes: np.ndarray, weights: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Chance of each outcome in some lists; the last two are of those that are drawn without the list."""
    found = np.zeros((len(first) - 1, outcomes.max() + 3))
    of_list = np.repeat(np.arange(len(first) - 1), np.diff(first))
    np.add.at(found, (of_list, outcomes), weights / np.add.reduceat(weights, first[:-1])[of_list])
    return found[lists]


def recognized(df: pd.DataFrame, strangers: pd.DataFrame, places: np.ndarray, own: int, releases: int) -> np.ndarray:
    """AUC for each person, in whose place a stranger stands in the other table."""

    def fits(table: pd.DataFrame) -> list[list[Release]]:
        return [[Release(table, start + seed) for seed in range(n)] for start, n in ((1000, own), (0, releases))]

    def mixture(models: list[Release], seen: list[Release]) -> np.ndarray:
        logs = [[model.log_density(one.rows) for model in models] for one in seen]
        return np.asarray(np.logaddexp.reduce(logs, axis=1))

    mine, seen = fits(df)
    said, before, found = seen[0].said, mixture(mine, seen), []
    for number, place in enumerate(places):
        table = df.copy()
        table.loc[place] = strangers.iloc[number]
        theirs, others = fits(table.astype(df.dtypes))
        with_her = np.clip(before - mixture(theirs, seen), -10, 10).sum(axis=1)
        without = np.clip(mixture(mine, others) - mixture(theirs, others), -10, 10).sum(axis=1)
        found.append(auc(without, with_her))
    print(f"the report says {said:.3f}")
    return np.array(found)


def print_planted(df: pd.DataFrame, people: int, keys: int) -> None:
    """Print mean and largest AUC of what is counted for each kind of row that is planted, keys being the same."""
    rng, works = np.random.default_rng(1), sorted(set(df["occupation"]))
    region = {town: "nsew"[place % 4] for place, town in enumerate(sorted(set(df["town"])))}
    df["region"] = df["town"].map(region)
    rarest = df.groupby(["town", "occupation"]).size().sort_values().index

    def counts(table: pd.DataFrame, count_rows: Callable[[pd.DataFrame], float]) -> np.ndarray:
        made = [
            sz.LatentClassRelease(BUDGET, sensitive=SECRET, random_state=sz.NoiseKey.from_seed(k)) for k in range(keys)
        ]
        return np.array([count_rows(sanitizer.fit_transform(table)) for sanitizer in made])

    def exception(row: int, _: int) -> Planted:
        other = next(name for name in "nsew" if name != df["region"][row])
        return df, {"region": other}, row, lambda rows: (rows["region"] != rows["town"].map(region)).sum()

    def third_row(_: int, person: int) -> Planted:
        town, work = rarest[person]
        rows = np.flatnonzero((df["town"] == town) & (df["occupation"] == work))
        two = df.copy()
        two.loc[rows[2:], "occupation"] = works[works[0] == work]
        return (
            two,
            {"occupation": work},
            rows[2],
            lambda rows: ((rows["town"] == town) & (rows["occupation"] == work)).sum(),
        )

    def largest_number(row: int, _: int) -> Planted:
        return df, {"income": 2 * df["income"].max()}, row, lambda rows: rows["income"].max()

    for plant in (exception, third_row, largest_number):
        found = []
        for person in range(people):
            table, values, row, count_rows = plant(int(rng.integers(len(df))), person)
            planted = table.copy()
            planted.loc[row, list(values)] = list(values.values())
            one, more = counts(table, count_rows), counts(planted, count_rows)
            found.append(float((one[:, None] < more).mean() + (one[:, None] == more).mean() / 2))
        print(f"| {plant.__name__.replace('_', ' ')} | {np.mean(found):.3f} | {max(found):.3f} |", flush=True)


def main() -> None:
    """Print a line for usual people and one for the rarest, or for what is planted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--people", type=int, default=14)
    parser.add_argument("--own", type=int, default=4, help="fits of her own")
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--planted", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", sz.errors.ReleaseWarning)  # the same rows are released again and again
    whole = sz.datasets.load_survey().sample(frac=1, random_state=0, ignore_index=True)
    df, strangers = whole[: given.rows].copy(), whole[given.rows :]
    if given.planted:
        print_planted(df, given.people, given.releases)
        return
    rarity = np.zeros(len(df))
    for name in df:
        column = pd.cut(df[name], 16, labels=False) if df[name].nunique() > 16 else df[name]
        rarity += np.log(column.map(column.value_counts()).to_numpy(float))
    order = np.argsort(rarity)
    middle = len(order) // 2
    for who, places in (("usual", order[middle : middle + given.people]), ("rarest", order[: given.people])):
        found = recognized(df, strangers, places, given.own, given.releases)
        error = 1.96 * found.std(ddof=1) / len(found) ** 0.5
        print(f"| {who} | {found.mean():.3f} ± {error:.3f} | {found.max():.3f} |", flush=True)


if __name__ == "__main__":
    main()
