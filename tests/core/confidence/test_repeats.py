"""Rows that repeat as no independent draws do are found, and draws of no distribution are taken for such."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import sanitize as sz
from sanitize.core.confidence import _intervals, repeats_too_often

MEANS = np.geomspace(1e-4, 300, 400)


def copies(rows: np.ndarray) -> np.ndarray:
    return np.unique(rows, return_counts=True)[1]


@pytest.mark.parametrize("k", [2, 3, 4, 7, 20, 61])
def test_no_mean_makes_a_bet_worth_more_than_one(k):
    """Both inequalities, by sums over the distribution of Poisson."""
    n = np.arange(700)
    distribution = stats.poisson(MEANS[:, None]).pmf(n)
    assert (distribution[:, (n % k == 0) & (n > 0)].sum(axis=1) <= (1 - distribution[:, 0]) / 2 + 1e-12).all()
    for a, b in ((0.9, 0.1), (0.5, 0.5), (0.01, 0.8)):
        u = 2 * np.sqrt(a * b * k / (k + 1))
        assert (
            u * distribution[:, k] <= (a * distribution[:, k - 1] + b * distribution[:, k + 1]) * (1 + 1e-9) + 1e-300
        ).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "distribution",
    [
        np.full(40, 1 / 40),
        np.full(10_000, 1e-4),
        np.full(1_000_000, 1e-6),
        np.arange(1, 5001.0) ** -1.1,
        np.concatenate([np.full(50, 0.01), np.full(100_000, 5e-6)]),
        np.repeat([0.3, 0.02, 1e-5], [2, 10, 20_000]),
    ],
    ids=["few", "twice each", "rare", "heavy", "mixed", "steps"],
)
def test_independent_draws_are_not_taken_for_copies_whatever_their_distribution(distribution, monkeypatch):
    """At a level of 0.2 in place of 1e-6: more than 76 alarms of 200 would have a probability of 1e-9."""
    rng = np.random.default_rng(1)
    monkeypatch.setattr(_intervals, "_ALARM", 0.2)
    alarms = 0
    for _ in range(200):
        n = int(rng.integers(30, 5000))
        alarms += repeats_too_often(rng.multinomial(n, distribution / distribution.sum()))
    assert alarms <= stats.binom.isf(1e-9, 200, 0.2)
    assert not repeats_too_often(np.ones(3000, int))


@pytest.mark.parametrize("times", [2, 3, 10])
@pytest.mark.parametrize("n_values", [60, 3000, 10**9])
def test_tables_that_hold_their_rows_several_times_are_found(times, n_values):
    rng = np.random.default_rng(times)
    assert repeats_too_often(times * copies(rng.integers(0, n_values, 3000)))


def test_a_part_of_the_rows_that_is_there_twice_is_found_from_some_share_on_and_a_bootstrap_never():
    assert repeats_too_often(np.repeat([1, 2], [2200, 400]))
    assert not repeats_too_often(np.repeat([1, 2], [2900, 50]))
    rng = np.random.default_rng(0)
    assert not repeats_too_often(copies(rng.integers(0, 3000, 3000)))  # draws of the distribution of a table of 3,000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "classes of secret_dp", "tuple"])
def test_rows_that_repeat_are_warned_of_under_confidence_only(kind):
    rng = np.random.default_rng(0)
    n = 2000
    df = pd.DataFrame({"ill": rng.choice(["no", "yes"], n), "age": rng.integers(0, 40, n), "x": rng.normal(size=n)})
    budget = sz.LiftBudget(lower=1.0, upper=1.0)
    if kind == "tuple":
        sanitizer = sz.Watchdog(budget, sensitive="ill", public=["age"], confidence=0.95)
    else:
        promise = sz.transformers.SecretDP(eps=1.0, delta=1e-6, values={"ill": ["no", "yes"]})
        settings = {"secret_dp": promise} if "dp" in kind else {}
        sanitizer = sz.LatentClassRelease(budget, sensitive="ill", confidence=0.95, n_classes=4, **settings)

    def warned(table: pd.DataFrame) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return any("rows repeat exactly" in note for note in sanitizer.fit(table).report_.facts.warnings)

    assert not warned(df)
    assert warned(pd.concat([df, df], ignore_index=True))
    if "dp" not in kind:
        sanitizer.set_params(confidence=None)
        assert not warned(pd.concat([df, df], ignore_index=True))
