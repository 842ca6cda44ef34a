"""Dates of any year and infinite numbers go through latent classes as they are."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sanitize as sz
from sanitize.release.classes._column import ClassColumn
from sanitize.transformers import LatentClassRelease

BUDGET = sz.LiftBudget(at_most=2, at_least=0.33)
N = 800
RNG = np.random.default_rng(0)
YEARS = RNG.integers(1990, 2024, N)
FAR = {
    "no end": np.where(YEARS < 2000, 9999, YEARS),
    "unknown": np.where(YEARS < 2000, 1, YEARS),
    "long ago": YEARS - 340,
    "as usual": YEARS,
}
TYPES = [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us", "UTC")]
UNITS = ["decade", "year", "month"]


def released(column, **settings):
    table = pa.table({"ill": RNG.choice(["yes", "no"], N), "town": RNG.choice(["a", "b"], N), "x": column})
    return LatentClassRelease(BUDGET, sensitive="ill", random_state=0, **settings).fit_transform(table)["x"]


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize(("dtype", "unit"), [*zip(TYPES, [None, *UNITS], strict=True)], ids=str)
def test_dates_of_any_year_stay_in_years_that_occur(name, dtype, unit):
    dates = pa.array([datetime.datetime(int(year), 12, 31) for year in FAR[name]], pa.timestamp("us"))
    out = released(dates.cast(dtype), bins=None if unit is None else {"x": unit})
    assert out.type == dtype
    decades = set((FAR[name] // 10).tolist())
    instants = out.cast(pa.timestamp("s", getattr(dtype, "tz", None)))
    seen = np.array(pc.year(instants).to_pylist()) // 10
    assert np.isin(seen, [*decades]).mean() >= 0.97


DAYS = np.datetime64("1990-01-01") + RNG.integers(0, 900, 3 * N)
PAY = np.round(RNG.lognormal(8, 0.5, 3 * N), 2)
# A column, what marks it, and in how many of a hundred rows.
MARKED = {
    "a number below": (PAY, -999, 5),
    "a number above": (PAY.astype(np.float32), 9999999, 5),
    "a few marks": (PAY, -999, 2),
    "most are marked": (PAY, -1e9, 60),
    "whole numbers": ((PAY * 100).astype(np.int64), -999_999_999, 10),
    "numbers without a sign": ((PAY * 100).astype(np.uint64), 2**64 - 1, 10),
    "no end": (DAYS, np.datetime64("9999-12-31"), 10),
    "unknown days": (DAYS, np.datetime64("0001-01-01"), 10),
    "zero in the middle": (np.where(RNG.random(3 * N) < 0.5, 1, -1) * (PAY + 1e5), 0, 20),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_mark_far_from_all_numbers_does_not_fill_the_gap(name):
    """Nobody has a number between; those that are beside the gap are counted as written with others."""
    column, mark, percent = MARKED[name]
    plain = column.copy()
    is_marked = RNG.random(len(column)) < percent / 100
    column = np.where(is_marked, np.array(mark).astype(column.dtype), column)
    ill = RNG.choice(["yes", "no"], len(column))
    release = LatentClassRelease(BUDGET, sensitive="ill", random_state=0, person="row")
    out = release.fit_transform(pa.table({"ill": ill, "x": pa.array(column)}))["x"].to_numpy()
    written = out.astype(column.dtype) == column[is_marked][0]
    assert written.mean() == pytest.approx(is_marked.mean(), abs=0.05)
    others = out[~written].astype(column.dtype)
    if name == "zero in the middle":
        others, plain = np.abs(others), np.abs(plain)
    assert others.min() >= plain.min()
    assert others.max() <= plain.max()
    [one] = [entry for entry in release.report_.facts.replaced if entry.column == "x"]
    assert 10 <= one.n_rows <= 200


def test_many_values_of_many_rows_have_gaps_beside_them():
    marks = np.repeat(np.arange(80) * 1e6, 400)
    numbers = np.concatenate([marks, marks + 4e5 + RNG.integers(0, 20_000, len(marks))])
    values, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    column = ClassColumn.fit(pa.array(numbers), "x", pa.array(values), codes, counts, 200)
    outcomes = np.flatnonzero(column.weights > 0)
    drawn = column.write(outcomes.repeat(99), RNG.integers(0, 2**63, 99 * len(outcomes)).astype(np.uint64))
    beside = drawn.drop_null().to_numpy() % 1e6
    assert ((beside == 0) | ((beside >= 4e5) & (beside < 4.2e5))).all()


BELOW = RNG.integers(0, 4, N)
INFINITE = {
    "rates": np.divide(1.0, BELOW, out=np.full(N, np.inf), where=BELOW > 0),
    "logarithms": np.log(BELOW, out=np.full(N, -np.inf), where=BELOW > 0),
    "one in ten of many": np.where(RNG.random(N) < 0.1, np.inf, RNG.integers(0, 200, N)),
    "of few bits": np.where(BELOW == 0, np.inf, BELOW).astype(np.float16),
}


@pytest.mark.parametrize("name", INFINITE)
def test_infinite_numbers_stay_about_as_frequent(name):
    column = INFINITE[name]
    out = np.asarray(released(pa.array(column)).to_pandas())
    assert np.isinf(out).mean() == pytest.approx(np.isinf(column).mean(), abs=0.08)
    assert pd.Series(out).notna().all()
