"""Whatever designs a release: by default nothing is printed that is one person's, or the report says so in red."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.transformers import (
    BestSanitizer,
    ExponentialChannel,
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    SubsetRandomResponse,
    Watchdog,
)

BUDGET = sz.LiftBudget(lower=1, upper=0.5)
TUPLES = [
    SubsetMerging(BUDGET),
    Watchdog(LiftBudget.symmetric(0.5)),
    SubsetRandomResponse(BUDGET, effort=1e7),
    OptimalRandomResponse(BUDGET, effort=1e7),
    RandomizedResponse(1.0),
    ExponentialChannel(0.5),
    BestSanitizer(BUDGET, smoothing=0.1),  # of tuples alone; else classes may keep more of these rows
]
COLUMNS = ["age", "town"]


def people(seed: int, n: int = 4000) -> pd.DataFrame:
    """Two columns whose rare values are one person's, and a secret that goes with them."""
    rng = np.random.default_rng(seed)
    age = 20 + rng.geometric(0.15, n)
    town = rng.choice(list("ABCDE"), n, p=[0.5, 0.3, 0.15, 0.045, 0.005])
    return pd.DataFrame({"age": age, "town": town, "ill": rng.random(n) < 0.2 + 0.3 * (age > 30)})


DF = people(0)


def rows_with(released: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """How many rows of a table have what each released row prints."""
    counts = table.groupby(COLUMNS).size().to_dict()
    return np.array([counts.get(row, 0) for row in released[COLUMNS].itertuples(index=False, name=None)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sanitizer", TUPLES, ids=lambda s: type(s).__name__)
def test_tuples_print_what_ten_rows_have(sanitizer):
    sanitizer = sanitizer.set_params(public=COLUMNS, sensitive="ill", random_state=0)
    assert rows_with(sanitizer.fit_transform(DF), DF).min() >= 10
    assert "at least 10 rows, perhaps all of one person" in str(sanitizer.report_)
    loose = sanitizer.set_params(min_count=0).fit(DF).report_
    assert "does not keep people from being recognised" in str(loose)
    assert any("min_count=10 pools them" in note for note in loose.facts.warnings)


@pytest.mark.filterwarnings("ignore")
def test_classes_write_rows_of_single_people_as_often_as_rows_of_outsiders():
    """Rows of one person alone turn up among those of a model as others of their kind do, 3 of 1,000 more at most."""
    released = LatentClassRelease(BUDGET, sensitive="ill", random_state=0).fit_transform(DF)
    of_people, of_outsiders = (float((rows_with(released, table) == 1).mean()) for table in (DF, people(1)))
    assert of_people <= of_outsiders + 0.003


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_joint_release_says_that_its_parts_side_by_side_are_somebodys():
    parts = [("one", SubsetMerging(public="age")), ("other", SubsetMerging(public="town"))]
    report = JointRelease(parts, BUDGET, sensitive="ill").fit(DF).report_
    assert "does not keep people from being recognised" in str(report)
    assert any("one tuple of all columns, or latent classes, avoid this" in note for note in report.facts.warnings)
