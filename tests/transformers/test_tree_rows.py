"""How many source rows a cell and a label stand for, and how often rows printed column by column are anybody's."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.transformers import TreeMerging, TreeRandomResponse

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)


def people(n, seed):
    """Skewed towns, ages, a flag and incomes that hardly two rows share; town and age tell of the illness."""
    rng = np.random.default_rng(seed)
    ill = (rng.random(n) < 0.3).astype(int)
    town = rng.choice([f"t{k}" for k in range(40)], n, p=(w := 1 / np.arange(1, 41)) / w.sum())
    age = np.clip(rng.normal(45 + 12 * ill, 15, n), 18, 95).astype(int)
    return pd.DataFrame({"ill": ill, "town": town, "age": age, "smokes": rng.random(n) < 0.2 + 0.3 * ill})


def with_income(df, seed):
    return df.assign(income=np.random.default_rng(seed).lognormal(10, 0.5, len(df)).round(2))


@pytest.mark.parametrize(("estimator", "confidence"), [*product([TreeMerging, TreeRandomResponse], [None, 0.95])])
def test_no_cell_and_no_label_stands_for_fewer_than_20_rows(estimator, confidence):
    least = {"min_cell_rows": 20} if estimator is TreeRandomResponse else {"min_rows": 20}
    for seed, n in ((0, 400), (1, 2500), (2, 9000)):
        df = with_income(people(n, seed), seed)
        settings = {"confidence": confidence, "release": "label", "random_state": seed} | least
        fitted = estimator(BUDGET, sensitive="ill", **settings).fit(df)
        cells = fitted.tree_.assign(df[list(fitted.tree_.names)])
        rows = np.bincount(cells, minlength=fitted.tree_.n_cells)
        assert rows.min() >= 20
        # A symbol stands for the rows of all cells that may be released as it.
        assert ((fitted.channel_.matrix > 0).T @ rows).min() >= 20
        released = fitted.transform(df)
        beside = pd.crosstab(pd.Series(cells), released.astype(str).groupby(list(released.columns)).ngroup())
        assert ((beside > 0).to_numpy() * rows[beside.index][:, None]).sum(axis=0).min() >= 20


def chance_of_a_source_row(fitted, df):
    """For each cell, the chance that columns drawn one by one from it are a row of the table."""
    names = list(fitted.tree_.names)
    cells = fitted.tree_.assign(df[names])
    own = df[names].drop_duplicates()
    chance = np.ones((fitted.tree_.n_cells, len(own)))
    for name in names:
        shares = pd.crosstab(pd.Series(cells), df[name], normalize="index")
        chance *= shares.to_numpy()[:, shares.columns.get_indexer(own[name])]
    return cells, chance.sum(axis=1)


@pytest.mark.parametrize("incomes", [False, True])
@pytest.mark.parametrize("estimator", [TreeMerging, TreeRandomResponse])
def test_rows_printed_column_by_column_are_rows_of_the_table_as_often_as_chance_has_it(estimator, incomes):
    """4.5 standard errors: one false alarm in 150,000. Small cells make it no rare thing: every tenth row, or most."""
    df = with_income(people(3000, 3), 3) if incomes else people(3000, 3)
    fitted = estimator(BUDGET, sensitive="ill", release="independent", random_state=4).fit(df)
    released = fitted.transform(df)
    known = set(map(tuple, df[released.columns].itertuples(index=False)))
    found = np.array([tuple(row) in known for row in released.itertuples(index=False)])
    cells, chance = chance_of_a_source_row(fitted, df)
    expected = (fitted.channel_.matrix @ chance)[cells]
    assert found.sum() == pytest.approx(expected.sum(), abs=4.5 * np.sqrt((expected * (1 - expected)).sum()))
    assert (0.02 < found.mean() < 0.2) if incomes else (0.2 < found.mean() < 0.98)
    whole = estimator(BUDGET, sensitive="ill", random_state=4).fit_transform(df)
    assert all(tuple(row) in known for row in whole.itertuples(index=False))


@pytest.mark.parametrize("release", ["resample", "independent", "label"])
def test_rows_do_not_depend_on_threads(release, monkeypatch):
    df = with_income(people(40_000, 7), 7).assign(noted=lambda df: df["town"].where(df["age"] % 5 > 0))
    fitted = TreeRandomResponse(BUDGET, sensitive="ill", release=release, random_state=3).fit(df[:3000])
    monkeypatch.setattr("sanitize.transformers._sanitizer._MANY_ROWS", 1)
    made = []
    for workers in (1, 2, 5):
        monkeypatch.setattr("sanitize.transformers._sanitizer.n_workers", lambda _, workers=workers: workers)
        made.append(fitted.transform(df))
    pd.testing.assert_frame_equal(made[0], made[1])
    pd.testing.assert_frame_equal(made[0], made[2])
    columns, few = df[list(fitted.tree_.names)], range(0, len(df), 7000)
    apart = [fitted.tree_.assign(columns[start : start + 7000]) for start in few]
    assert (fitted.tree_.assign(columns, workers=3) == np.concatenate(apart)).all()
