"""Invented survey, large enough for a guarantee about the population, and for a decision that is based on it."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtri

if TYPE_CHECKING:
    import pandas as pd

# Enough rows for a confidence, few enough that an example takes a second.
_N_PEOPLE = 30_000


def load_survey() -> pd.DataFrame:
    """Generate a survey of 30,000 people at work: occupation, hours, pay, days of sickness, depression.

    Usual choice: `depression` is sensitive, everything else is public. The release serves to decide where a programme
    against sickness begins: people who work in shifts are ill more often, and so are people with depression, who are
    more frequent among shift workers. Rows are drawn independently from one distribution, so `confidence=` is valid.

    Returns
    -------
    pandas.DataFrame
        30,000 rows: `age` (years), `sex`, `town`, `school_years`, `occupation`, `shifts` (no, yes), `hours` (per week),
        `income` (per month), `sick_days` (per year), `depression` (no, yes).

    Examples
    --------
    >>> from sanitize.datasets import load_survey
    >>> people = load_survey()
    >>> people.shape
    (30000, 10)
    >>> people.groupby("shifts")["sick_days"].mean().round(1).to_dict()
    {'no': 5.4, 'yes': 7.5}
    """
    import pandas as pd

    # Python promises the same numbers for one seed in every version; NumPy does not.
    random = Random(30)
    u = np.array([random.random() for _ in range(11 * _N_PEOPLE)]).reshape(11, _N_PEOPLE)
    bundled = tomllib.loads((files("sanitize.datasets") / "tables" / "survey.toml").read_text(encoding="utf-8"))
    towns, occupations = bundled["towns"], bundled["occupations"]
    share, years, pay, in_shifts, women = np.array(list(occupations.values())).T
    job = np.searchsorted(share.cumsum()[:-1], u[0])
    is_woman, is_on_shifts = u[1] < women[job], u[2] < in_shifts[job]
    age = np.clip(43 + 12 * ndtri(u[3]), 18, 67).round()
    hours = np.clip(38 - 9 * (is_woman & (u[4] < 0.45)) + 3 * ndtri(u[5]), 10, 60).round()
    income = pay[job] * hours / 38 * (1 + 0.008 * (age - 43)) * np.exp(0.2 * ndtri(u[6]))
    tired = 0.7 * is_on_shifts + 0.25 * is_woman + 0.02 * (hours - 37) - 0.00012 * (income - 3300)
    is_depressed = u[7] < expit(tired - 2.6)
    mean_days = 5.5 * np.where(is_depressed, 1.8, 1.0) * np.where(is_on_shifts, 1.3, 1.0)
    return pd.DataFrame(
        {
            "age": age.astype(int),
            "sex": np.where(is_woman, "female", "male"),
            "town": np.array(list(towns))[np.searchsorted(np.cumsum(list(towns.values()))[:-1], u[8])],
            "school_years": np.clip(years[job] + 1.5 * ndtri(u[9]), 8, 20).round().astype(int),
            "occupation": np.array(list(occupations))[job],
            "shifts": np.where(is_on_shifts, "yes", "no"),
            "hours": hours.astype(int),
            "income": income.round(-1).astype(int),
            "sick_days": np.minimum(-mean_days * np.log1p(-u[10]), 200).astype(int),
            "depression": np.where(is_depressed, "yes", "no"),
        }
    )
