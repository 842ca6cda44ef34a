"""Searches over the bounds of a budget, columns that changed since fit, mixed up arguments, the view in a notebook."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from sanitizer_cases import DF
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import sanitize as sz
from sanitize.errors import ColumnError, InvalidBudget, InvalidParameter, UnseenSymbolWarning

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)


def merging(**settings):
    return sz.SubsetMerging(BUDGET, sensitive="illness", public=["town"], random_state=0, **settings)


# ------------------------------------------------------------------------------------------- budgets


def test_bounds_are_parameters_of_their_own():
    sanitizer = merging()
    assert {name: value for name, value in sanitizer.get_params().items() if "__" in name} == {
        "budget__lower": 1.0,
        "budget__upper": 0.5,
    }
    assert sanitizer.set_params(budget__upper=0.25).budget == sz.LiftBudget(lower=1.0, upper=0.25)
    times = merging().set_params(budget=sz.LiftBudget(at_most=2.0, at_least=0.5))
    assert times.get_params()["budget__at_most"] == 2.0
    assert repr(times.set_params(budget__at_most=1.5).budget) == "LiftBudget(at_most=1.5, at_least=0.5)"
    both = sanitizer.set_params(budget__upper=2.0, budget=sz.LiftBudget.symmetric(1.0))
    assert both.budget == sz.LiftBudget(lower=1.0, upper=2.0)
    assert clone(sanitizer).budget == sanitizer.budget
    assert "budget__upper" not in sanitizer.get_params(deep=False)
    assert sz.LiftBudget(lower=1.0, upper=0.5) == BUDGET


def test_a_bound_that_is_not_there_is_refused():
    with pytest.raises(InvalidParameter, match=r"'budget__uper' is no parameter.*budget__lower, budget__upper"):
        merging().set_params(budget__uper=1.0)
    with pytest.raises(InvalidParameter, match="has no bounds by name; give one of sanitize's budgets"):
        merging().set_params(budget=1.0).set_params(budget__upper=1.0)
    with pytest.raises(InvalidBudget, match="upper must be"):
        merging().set_params(budget__upper=-1.0)


def test_a_joint_release_has_the_bounds_of_its_parts_too():
    parts = [("town", sz.SubsetMerging(BUDGET, public=["town"]))]
    joint = sz.JointRelease(parts, sz.LiftBudget.symmetric(2.0), sensitive="illness")
    joint.set_params(town__budget__upper=0.125, budget=sz.LiftBudget.symmetric(3.0), budget__lower=4.0)
    assert joint.sanitizers[0][1].budget == sz.LiftBudget(lower=1.0, upper=0.125)
    assert joint.budget == sz.LiftBudget(lower=4.0, upper=3.0)


def test_a_search_over_a_bound_takes_the_looser_one():
    rng = np.random.default_rng(0)
    town = rng.choice(["A", "B", "C"], 600)
    wanted = np.isin(town, ["A", "B"])
    frame = pd.DataFrame({"town": town, "illness": rng.random(600) < 0.2 + 0.5 * (town == "A")})
    pipeline = make_pipeline(merging(), OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
    search = GridSearchCV(pipeline, {"subsetmerging__budget__upper": [0.01, 3.0]}, cv=2).fit(frame, wanted)
    assert search.best_params_ == {"subsetmerging__budget__upper": 3.0}


# ------------------------------------------------------------------------------------ changed columns


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (DF["town"].str.upper() + " ", "other capitals or spaces"),
        (pd.Series(range(len(DF))), "has a number but had text at fit"),
        (pd.Series([True, False] * len(DF))[: len(DF)], "has True or False but had text at fit"),
        (pd.Series(pd.date_range("2020-01-01", periods=len(DF))), "has a date or time but had text at fit"),
    ],
)
def test_a_column_that_changed_for_most_rows_is_refused(changed, told):
    sanitizer = merging().fit(DF)
    other = DF.assign(town=changed.to_numpy())
    with pytest.raises(ColumnError, match=f"column 'town' .*{told}") as caught:
        sanitizer.transform(other)
    assert caught.value.column == "town"
    if changed.dtype != bool:
        assert not any(str(value) in str(caught.value) for value in changed.unique() if len(str(value)) > 3)


@pytest.mark.slow
def test_all_changed_columns_are_named_at_once():
    frame = DF.assign(floor=np.arange(len(DF)) % 3)
    sanitizer = sz.SubsetMerging(BUDGET, sensitive="illness", public=["town", "floor"], random_state=0).fit(frame)
    with pytest.raises(ColumnError, match=r"'town' writes .*; column 'floor' has text but had a number at fit"):
        sanitizer.transform(frame.assign(town=frame["town"].str.swapcase(), floor=frame["floor"].astype(str)))


def test_new_values_and_few_changed_rows_are_released_as_before():
    sanitizer = merging().fit(DF)
    few = DF["town"].to_numpy(dtype=object).copy()
    few[: len(few) // 3] = [value.upper() + " " for value in few[: len(few) // 3]]
    for town in (few, np.full(len(DF), "elsewhere", object)):
        with pytest.warns(UnseenSymbolWarning):
            assert len(sanitizer.transform(DF.assign(town=town))) == len(DF)


# ------------------------------------------------------------------------------------- mixed up arguments


def test_arguments_in_another_order_get_a_sentence(tmp_path):
    source = tmp_path / "raw.parquet"
    DF.to_parquet(source)
    for call in (
        lambda: sz.release_file(merging(), source, tmp_path / "out.parquet"),
        lambda: sz.release_file(source, merging(), tmp_path / "out.parquet"),
        lambda: sz.engines.parquet.plan_file(merging(), source),
    ):
        with pytest.raises(InvalidParameter, match="the last argument must be an estimator"):
            call()
    with pytest.raises(InvalidParameter, match=r"release\(df, sanitizer\), got SubsetMerging and DataFrame"):
        sz.frames.release(merging(), DF)
    assert [path.name for path in tmp_path.iterdir()] == ["raw.parquet"]


# ------------------------------------------------------------------------------------------- the view


def test_a_notebook_shows_the_verdict_above_the_parameters():
    sanitizer = merging()
    assert "HOLDS FOR THESE ROWS ONLY" not in sanitizer._repr_mimebundle_()["text/html"]
    sanitizer.fit(DF)
    for page in (sanitizer._repr_mimebundle_()["text/html"], sanitizer._repr_html_()):
        assert page.index("<strong>HOLDS FOR THESE ROWS ONLY</strong>") < page.index("SubsetMerging")
        assert page.count("HOLDS FOR THESE ROWS ONLY") == 1
        assert "#b45309" in page
        assert not any(symbol in page for symbol in ("flu", "cancer"))
    with config_context(display="text"):
        assert list(sanitizer._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(sanitizer, "_repr_html_")


def test_a_pipeline_shows_the_verdict_beside_the_name_of_its_step():
    pipeline = make_pipeline(merging(), OneHotEncoder())
    assert "HOLDS" not in pipeline._repr_html_()
    page = pipeline.fit(DF)._repr_html_()
    assert "SubsetMerging: HOLDS FOR THESE ROWS ONLY<" in page
    assert page.index("HOLDS FOR THESE ROWS ONLY") < page.rindex("OneHotEncoder")
    assert not any(symbol in page for symbol in ("flu", "cancer"))


@pytest.mark.parametrize(
    "name", [name for name in sz.transformers.__all__ if hasattr(getattr(sz.transformers, name), "fit")]
)
def test_type_checkers_know_what_fit_and_transform_return(name):
    """`fit` the estimator's own class, `transform` the type it got."""
    estimator = getattr(sz.transformers, name)
    fit, transform = (inspect.signature(getattr(estimator, method)) for method in ("fit", "transform"))
    assert fit.return_annotation == "Self"
    assert transform.return_annotation == transform.parameters["X"].annotation == "Frame"


def test_all_columns_that_a_policy_gets_wrong_are_named_at_once():
    columns = {"sensitive": ["sx"], "public": ["clas", "age"], "drop": []}
    policy = sz.Policy.from_dict({"version": 1, "columns": columns, "budget": {"lower": 1, "upper": 1}})
    with pytest.raises(ColumnError, match=r"'sx' \(did you mean 'sex'\?\), 'clas' \(did you mean 'class'\?\)"):
        policy.check(["sex", "class", "age"])
    with pytest.raises(ColumnError, match=r"does not list the columns 'town', 'name' of the table"):
        policy.check(["sx", "clas", "age", "town", "name"])


# ------------------------------------------------------------------------------------------- curves


def test_a_curve_of_another_table_is_refused():
    joint = sz.JointDistribution.from_matrix([[0.3, 0.1], [0.2, 0.4]])
    other = sz.JointDistribution.from_matrix([[0.31, 0.09], [0.2, 0.4]])
    report = sz.LeakageReport.measure(joint, sz.watchdog(joint, 0.2), sz.LiftBudget.symmetric(0.2))
    curves = [
        sz.release.choosing.tradeoff_curve(distribution, sz.watchdog, [0.1, 0.2]) for distribution in (joint, other)
    ]
    assert report.with_curve(curves[0]).curve is curves[0]
    with pytest.raises(InvalidParameter, match="another table"):
        report.with_curve(curves[1])
    with pytest.raises(InvalidParameter, match="takes a TradeoffCurve, got list"):
        report.with_curve([])
