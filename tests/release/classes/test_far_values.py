"""Dates of any year and infinite numbers go through latent classes as they are."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sanitize as sz
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
