"""Estimators that keep what one public column says: the channel that the function designs for its distribution."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from kept import kept_by_column
from sklearn.base import clone

import sanitize as sz
from sanitize.errors import ColumnError
from sanitize.report import column_distributions
from sanitize.transformers import LatentClassRelease, OptimalRandomResponse, SubsetRandomResponse

BUDGET = sz.LiftBudget(lower=0.6, upper=0.4)


def people(n, seed=0):
    """Town and age tell who is ill; wage hangs together with age, and hours with nothing."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    town = np.where(rng.random(n) < 0.5, np.where(ill, "A", "B"), rng.choice(list("ABC"), n))
    age = rng.integers(0, 5, n) + 2 * ill
    wage = (age + rng.integers(0, 2, n)) // 2
    return pd.DataFrame(
        {"ill": ill.astype(int), "town": town, "age": age, "wage": wage, "hours": rng.integers(0, 40, n)}
    )


DF = people(4000)
SMALL = ["town", "wage"]


def kept(sanitizer, df=DF):
    joint = sz.JointDistribution.from_frame(df, "ill", sanitizer.public)
    design = sz.Channel(sanitizer.channel_.stages[:-1], sanitizer.channel_.inputs)  # before a value is drawn
    return kept_by_column(column_distributions(joint), design)


@pytest.mark.parametrize("estimator", [OptimalRandomResponse, SubsetRandomResponse])
def test_an_estimator_designs_what_the_function_does_for_the_distribution_of_its_column(estimator):
    fitted = estimator(BUDGET, sensitive="ill", public=SMALL, target="wage").fit(DF)
    joint = sz.JointDistribution.from_frame(DF, "ill", SMALL)
    wages = sorted(DF["wage"].unique())
    distribution = np.array([[float(symbol[1] == wage) for symbol in joint.public.symbols] for wage in wages])
    twin = sz.optimal_random_response(joint, BUDGET, gap=1e-6, target=distribution)
    plain = estimator(BUDGET, sensitive="ill", public=SMALL).fit(DF)
    assert kept(fitted)["wage"] == pytest.approx(kept_by_column(column_distributions(joint), twin)["wage"], abs=1e-5)
    assert kept(fitted)["wage"] > kept(plain)["wage"] + 0.01
    assert fitted.report_.ok


def test_rare_symbols_are_pooled_with_the_distribution_of_the_target_that_they_have_together():
    fitted = OptimalRandomResponse(BUDGET, sensitive="ill", public=SMALL, target="wage", min_count=200).fit(DF)
    assert (DF.groupby(SMALL).size() < 200).sum() > 1
    assert fitted.report_.ok
    plain = clone(fitted).set_params(target=None).fit(DF)
    assert kept(fitted)["wage"] > kept(plain)["wage"]


@pytest.mark.parametrize("target", ["nothing", "ill", "hours"])
def test_a_target_that_is_no_public_column_is_refused(target):
    for estimator in (OptimalRandomResponse, LatentClassRelease):
        with pytest.raises(
            ColumnError, match=f"target must be one of the public columns 'town', 'wage', got '{target}'"
        ):
            estimator(BUDGET, sensitive="ill", public=SMALL, target=target).fit(DF)
