"""With a confidence, a secret that too few rows have is named by its rows, and never by its value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.core.confidence import clopper_pearson, rows_to_tell_two

BUDGET = sz.LiftBudget(lower=1.0, upper=1.0)


def table(rare, n=3000):
    rng = np.random.default_rng(0)
    secret = np.where(np.arange(n) < rare, "measles", np.where(np.arange(n) % 2, "flu", "none"))
    shown = np.where((secret == "flu") & (rng.random(n) < 0.3), 1, rng.integers(0, 2, n))
    return pd.DataFrame({"ill": secret, "town": [f"t{x}" for x in shown]})


def fitted(frame, kind=sz.SubsetMerging, budget=BUDGET):
    return kind(budget, sensitive="ill", public="town", confidence=0.95, random_state=0).fit(frame).report_


def notes(report):
    return [note for note in report.facts.warnings if "too rare to certify" in note]


@pytest.mark.parametrize("kind", [sz.SubsetMerging, sz.Watchdog, sz.SubsetRandomResponse])
def test_a_rare_secret_is_named_by_its_rows_and_what_helps_does(kind):
    few = fitted(table(30), kind)
    [note] = notes(few)
    assert "the value of 'ill' that 30 of 3000 rows have is too rare to certify even two symbols" in note
    assert "join it with another value, or take more rows" in note
    assert not any(value in note for value in ("measles", "flu", "none"))
    needed = int(note.split("about ")[1].split()[0])
    assert 30 < needed < 100
    assert few.facts.shortage == ("secret", None)
    joined, more = table(30), fitted(table(2 * needed), kind)
    joined = fitted(joined.replace({"ill": {"measles": "flu"}}), kind)
    for other in (joined, more):
        assert not notes(other)
        assert other.summary["normalized_utility"] > few.summary["normalized_utility"] + 0.2


@pytest.mark.parametrize("at_most", [20, 100, 1000])
def test_a_limit_looser_than_any_class_is_rare_is_not_emptied_by_a_rare_secret(at_most):
    df, rng = table(8, 6000), np.random.default_rng(1)
    alike = {f"x{k}": np.where(rng.random(6000) < 0.8, df["town"], rng.choice(["t0", "t1"], 6000)) for k in range(3)}
    settings = {"sensitive": "ill", "confidence": 0.95, "random_state": 0, "n_classes": 4}
    release = sz.LatentClassRelease(sz.LiftBudget(at_most=at_most, at_least=0), **settings).fit(df.assign(**alike))
    assert release.report_.ok
    assert release.report_.summary["mutual_information"] > 0.001


def test_without_a_confidence_nothing_is_said_of_rare_secrets():
    report = sz.SubsetMerging(BUDGET, sensitive="ill", public="town", random_state=0).fit(table(30)).report_
    assert not notes(report)
    assert report.facts.shortage is None


def test_where_every_secret_has_too_few_rows_classes_say_about_how_many_it_takes():
    def released(n):
        df, rng = table(0, n), np.random.default_rng(1)
        alike = {f"x{k}": np.where(rng.random(n) < 0.8, df["town"], rng.choice(["t0", "t1"], n)) for k in range(3)}
        settings = {"confidence": 0.95, "n_classes": 2, "random_state": 0}
        return sz.LatentClassRelease(BUDGET, sensitive="ill", **settings).fit(df.assign(**alike)).report_

    few = released(100)
    headline = few.to_dict()["verdict"]["headline"]
    assert "columns keep less than 5 % of the information (too few rows: about " in headline
    needed = int(headline.split("about ")[1].split()[0].replace(",", ""))
    assert few.facts.shortage == ("rows", needed)
    assert 100 < needed < 10_000
    more = released(2 * needed)
    assert more.facts.shortage is None
    assert not more.useless


def test_where_every_secret_has_too_few_rows_tuples_say_so():
    few = fitted(table(0, 40)).to_dict()["verdict"]["headline"]
    assert few.endswith("but the column keeps less than 5 % of the information (too few rows)")


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (0.7, 0.4), (np.inf, 0.5), (0.2, 0.1)])
def test_so_many_rows_are_the_first_that_tell_two_symbols(lower, upper):
    """By trying every number of rows."""
    level = 1e-3

    def within(n):
        low, high = (clopper_pearson(n / 2 + sign * np.sqrt(n), n, level)[side] for side, sign in ((0, -1), (1, 1)))
        return low >= np.exp(-lower) / 2 and min(float(high), 1.0) <= np.exp(upper) / 2

    found = rows_to_tell_two(lower, upper, level)
    assert found == next(n for n in range(4, 100_000) if within(n))
