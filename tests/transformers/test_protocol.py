"""Estimators keep scikit-learn's protocol: clones, pipelines, searches, outputs, weights, routing."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sanitizer_cases import ALL, DF, LIP, MERGING, S, X, people
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.errors import (
    InvalidParameter,
)
from sanitize.transformers import SubsetMerging, Watchdog, leakage_scorer, utility_scorer
from tests.support.levels import level


@pytest.mark.parametrize(
    ("name", "value"),
    [("bins", "age"), ("bins", [2, 1]), ("bins", {"x": ["SECRET", "b"]}), ("smoothing", "1"), ("smoothing", None),
     ("random_state", "0"), ("random_state", 1.5)],
)  # fmt: skip
def test_settings_of_another_type_are_refused_at_fit(name, value):
    df = pd.DataFrame({"x": [1.0, 2.0, 3.0] * 9, "s": ["a", "b", "b"] * 9})
    with pytest.raises(InvalidParameter, match=name) as caught:
        SubsetMerging(LiftBudget.symmetric(1.0), sensitive="s", public="x", **{name: value}).fit(df)
    assert "SECRET" not in str(caught.value)


def test_settings_changed_after_fit_cannot_make_a_report_untrue():
    df = pd.DataFrame({"x": ["a", "b", "c"] * 12, "s": ["p", "q", "q"] * 12})
    sanitizer = SubsetMerging(LiftBudget.symmetric(1.0), sensitive="s", public="x").fit(df)
    sanitizer.set_params(keep_sensitive=True, random_state=0)
    released = sanitizer.transform(df)
    assert list(released.columns) == list(sanitizer.get_feature_names_out()) == ["x"]
    report = sz.last_report(released)
    assert report.ok
    assert report.facts.seeded
    assert any("seeded" in note for note in report.facts.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ALL)
def test_a_clone_has_the_same_parameters_and_is_not_fitted(estimator):
    original = estimator(level(estimator, 1.3), sensitive=S, public=X, min_count=2, random_state=4).fit(DF)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert not hasattr(copy, "channel_")
    assert copy.fit(DF).channel_ == original.channel_


@pytest.mark.parametrize("estimator", ALL)
def test_a_pickled_estimator_releases_the_same_rows_for_a_seed(estimator):
    fitted = estimator(
        level(estimator, 1.3), sensitive=S, public=[*X, "age"], bins={"age": [18, 40, 90]}, random_state=8
    ).fit(DF)
    copy = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(copy.transform(DF), fitted.transform(DF))
    assert copy.channel_ == fitted.channel_
    assert copy.report_.summary == fitted.report_.summary


@pytest.mark.parametrize("estimator", ALL)
def test_fit_transform_equals_fit_then_transform_for_a_seed(estimator):
    sanitizer = estimator(level(estimator, 1.3), sensitive=S, public=X, random_state=8)
    pd.testing.assert_frame_equal(sanitizer.fit_transform(DF), clone(sanitizer).fit(DF).transform(DF))


def test_a_pipeline_releases_before_its_model_learns():
    df = DF.assign(target=(DF["job"] == "distribution").astype(int))
    sanitizer = SubsetMerging(LIP, sensitive=S, public=X, random_state=0)
    model = make_pipeline(sanitizer, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(df.drop(columns="target"), df["target"])
    assert 0.5 < model.score(df.drop(columns="target"), df["target"]) <= 1
    assert model[:-1].get_feature_names_out().size >= 2
    direct = clone(sanitizer).fit(df.drop(columns="target"))
    assert model[0].channel_ == direct.channel_


def test_a_pipeline_passes_public_columns_only_to_the_next_step():
    seen = []

    class Spy(OneHotEncoder):
        def fit(self, X, y=None):
            seen.append(list(X.columns))
            return super().fit(X, y)

    Pipeline([("sanitize", Watchdog(LIP, sensitive=S, public=X)), ("encode", Spy())]).fit(DF)
    assert seen == [X]


def test_a_column_transformer_keeps_the_sanitized_part_and_names_it():
    parts = ColumnTransformer(
        [
            ("private", SubsetMerging(LIP, sensitive=S, public=X, random_state=2), [*X, *S]),
            ("age", "passthrough", ["age"]),
        ]
    ).set_output(transform="pandas")
    released = parts.fit_transform(DF)
    assert list(released.columns) == ["private__town", "private__job", "age__age"]
    assert list(parts.get_feature_names_out()) == list(released.columns)
    alone = SubsetMerging(LIP, sensitive=S, public=X, random_state=2).fit_transform(DF[[*X, *S]])
    np.testing.assert_array_equal(released["private__town"], alone["town"])


@pytest.mark.slow
@pytest.mark.parametrize("estimator", MERGING)
def test_a_grid_search_over_budgets_prefers_little_leakage_or_much_utility(estimator):
    grid = {"budget": [sz.LiftBudget(lower=math.inf, upper=upper) for upper in (0.3, 0.8, 3.0)]}
    sanitizer = estimator(sensitive="illness", public="town")
    tight = GridSearchCV(sanitizer, grid, scoring=leakage_scorer("mutual_information"), cv=3).fit(DF)
    loose = GridSearchCV(sanitizer, grid, scoring=utility_scorer(), cv=3).fit(DF)
    assert tight.best_params_["budget"].upper == 0.3
    assert loose.best_params_["budget"].upper == 3.0
    assert np.isfinite(loose.cv_results_["mean_test_score"]).all()


def test_the_scorers_measure_the_rows_they_are_shown():
    fitted = SubsetMerging(LIP, sensitive=S, public=X).fit(DF)
    summary = fitted.report_.summary
    assert leakage_scorer("maximal_leakage")(fitted, DF) == pytest.approx(-summary["maximal_leakage"])
    assert leakage_scorer("min_log_lift")(fitted, DF) == pytest.approx(summary["min_log_lift"])
    assert utility_scorer("utility")(fitted, DF) == pytest.approx(summary["utility"])
    other = people(300, seed=9)
    assert leakage_scorer("mutual_information")(fitted, other) != -summary["mutual_information"]


def test_the_scorers_name_the_measures_there_are():
    fitted = SubsetMerging(LIP, sensitive=S, public=X).fit(DF)
    with pytest.raises(InvalidParameter, match="maximal_leakage"):
        leakage_scorer("leakiness")(fitted, DF)
    with pytest.raises(InvalidParameter, match="normalized_utility"):
        utility_scorer("mutual_information")


@pytest.mark.parametrize("estimator", ALL)
def test_set_output_makes_pandas_and_polars_of_anything(estimator):
    def sanitizer():
        return estimator(level(estimator, 1.5), sensitive=S, public=X, random_state=6)

    plain = sanitizer().fit_transform(DF)
    polars = sanitizer().set_output(transform="polars").fit_transform(DF)
    assert isinstance(polars, pl.DataFrame)
    assert polars.rows() == list(plain.itertuples(index=False, name=None))
    back = sanitizer().set_output(transform="pandas").fit_transform(pl.from_pandas(DF))
    assert isinstance(back, pd.DataFrame)
    assert list(back.itertuples(index=False, name=None)) == polars.rows()
    array = estimator(level(estimator, 1.5), sensitive=[3, 4], public=[0, 1], random_state=6).set_output(
        transform="pandas"
    )
    named = array.fit_transform(DF.to_numpy(dtype=object))
    assert list(named.columns) == list(array.get_feature_names_out()) == ["x0", "x1"]


def test_an_array_gives_an_array():
    released = Watchdog(LiftBudget.symmetric(1.5), sensitive=[3, 4], public=[0, 1], random_state=6).fit_transform(
        DF.to_numpy(dtype=object)
    )
    assert isinstance(released, np.ndarray)
    assert released.shape == (len(DF), 2)
    assert set(released[:, 0]) <= set(DF["town"])


@pytest.mark.parametrize("estimator", ALL)
def test_feature_names_out_are_the_columns_of_the_output(estimator):
    fitted = estimator(level(estimator, 1.5), sensitive=S, public=X).fit(DF)
    assert list(fitted.get_feature_names_out()) == list(fitted.transform(DF).columns)
    assert fitted.get_feature_names_out().dtype == object


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ALL)
def test_a_sample_weight_equals_repetition(estimator):
    weights = np.random.default_rng(1).integers(0, 4, len(DF))
    sanitizer = estimator(level(estimator, 1.4), sensitive=S, public=[*X, "age"], bins={"age": [18, 40, 90]})
    weighted = clone(sanitizer).fit(DF, sample_weight=weights)
    repeated = clone(sanitizer).fit(DF.loc[DF.index.repeat(weights)].reset_index(drop=True))
    assert weighted.channel_.inputs == repeated.channel_.inputs
    np.testing.assert_allclose(weighted.channel_.matrix, repeated.channel_.matrix, atol=1e-12)
    assert weighted.report_.summary["mutual_information"] == pytest.approx(
        repeated.report_.summary["mutual_information"], abs=1e-12
    )
    assert weighted.report_.ok


@pytest.mark.parametrize("weights", [[1.0], -np.ones(len(DF)), np.full(len(DF), np.nan), np.zeros(len(DF))])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError):
        Watchdog(LiftBudget.symmetric(1.4), sensitive=S, public=X).fit(DF, sample_weight=weights)


def test_metadata_routing_brings_sensitive_features_to_the_step_that_asked():
    public, target = DF[X], (DF["job"] == "distribution").astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        sanitizer = SubsetMerging(LIP, random_state=1).set_fit_request(sensitive_features=True, sample_weight=False)
        encoder = OneHotEncoder(handle_unknown="ignore")
        model = make_pipeline(sanitizer, encoder, LogisticRegression())
        model.fit(public, target, sensitive_features=DF["illness"])
    direct = SubsetMerging(LIP).fit(public, sensitive_features=DF["illness"])
    assert model[0].channel_ == direct.channel_


def test_metadata_routing_reaches_a_grid_search():
    with sklearn.config_context(enable_metadata_routing=True):
        sanitizer = SubsetMerging().set_fit_request(sensitive_features=True)
        search = GridSearchCV(
            sanitizer, {"budget": [LIP, sz.LiftBudget.symmetric(3.0)]}, scoring=lambda e, X, y=None: e.report_.ok, cv=2
        )
        search.fit(DF[X], sensitive_features=DF["illness"])
    assert search.best_score_ == 1
