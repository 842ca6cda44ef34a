"""How many source rows a cell and a label stand for, and whose the printed rows are."""

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


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "confidence"), [*product([TreeMerging, TreeRandomResponse], [None, 0.95])])
def test_no_cell_and_no_label_stands_for_fewer_than_20_rows(estimator, confidence):
    least = {"min_cell_rows": 20} if estimator is TreeRandomResponse else {"min_rows": 20}
    for seed, n in ((0, 400), (1, 2500), (2, 9000)):
        df = with_income(people(n, seed), seed)
        settings = {"confidence": confidence, "output": "label", "random_state": seed} | least
        fitted = estimator(BUDGET, sensitive="ill", **settings).fit(df)
        cells = fitted.tree_.assign(df[list(fitted.tree_.names)])
        rows = np.bincount(cells, minlength=fitted.tree_.n_cells)
        assert rows.min() >= 20
        # A symbol stands for the rows of all cells that may be released as it.
        assert ((fitted.channel_.matrix > 0).T @ rows).min() >= 20
        released = fitted.transform(df)
        beside = pd.crosstab(pd.Series(cells), released.astype(str).groupby(list(released.columns)).ngroup())
        assert ((beside > 0).to_numpy() * rows[beside.index][:, None]).sum(axis=0).min() >= 20


@pytest.mark.parametrize("estimator", [TreeMerging, TreeRandomResponse])
def test_the_default_prints_nobodys_row_and_real_rows_are_called_so(estimator):
    """Of people with an income of their own; without it a tenth of new people share all they have with some row."""
    df = with_income(people(3000, 3), 3)
    known = set(map(tuple, df.drop(columns="ill").itertuples(index=False)))
    settings = {"sensitive": "ill", "random_state": 4}
    fitted = estimator(BUDGET, **settings).fit(df)
    assert fitted.report_.facts.output == "model"
    assert not known & set(map(tuple, fitted.transform(df).itertuples(index=False)))
    real = estimator(BUDGET, **settings, output="resample").fit(df)
    assert known >= set(map(tuple, real.transform(df).itertuples(index=False)))
    words = " ".join(str(real.report_).split())
    assert "not for the people whose rows are printed; one person alone has 100 % of them" in words
    few = estimator(BUDGET, **settings).fit(df[:999])
    assert few.report_.facts.output == "label"


@pytest.mark.slow
@pytest.mark.parametrize("output", ["model", "resample", "label"])
def test_rows_do_not_depend_on_threads(output, monkeypatch):
    df = with_income(people(40_000, 7), 7).assign(noted=lambda df: df["town"].where(df["age"] % 5 > 0))
    fitted = TreeRandomResponse(BUDGET, sensitive="ill", output=output, random_state=3).fit(df[:3000])
    monkeypatch.setattr("sanitize.transformers._sanitizer._THREADED_ROWS", 1)
    made = []
    for workers in (1, 2, 5):
        monkeypatch.setattr("sanitize.transformers._sanitizer.n_workers", lambda _, workers=workers: workers)
        made.append(fitted.transform(df))
    pd.testing.assert_frame_equal(made[0], made[1])
    pd.testing.assert_frame_equal(made[0], made[2])
    columns, few = df[list(fitted.tree_.names)], range(0, len(df), 7000)
    apart = [fitted.tree_.assign(columns[start : start + 7000]) for start in few]
    assert (fitted.tree_.assign(columns, workers=3) == np.concatenate(apart)).all()
