"""Limits by sensitive value: what names mean, what is refused without telling a value, and who sees the names."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sanitize as sz
from sanitize.core.budgets import (
    budget_from_dict,
    budget_in_nats,
    budget_to_dict,
    budget_words,
    lift_limits,
    limits_for,
    loosest,
    nameless,
    present_limits,
)
from sanitize.errors import InvalidBudget
from sanitize.over_time import UnitLedger
from sanitize.report._document import _budget_code

SECRETS = ("flu", "hiv", "none")
BUDGET = sz.LiftBudget(at_most={"hiv": 1.1, "*": 2}, at_least=0.5)
# The same beside an average that binds as well.
BESIDE = sz.Chi2LiftBudget(lower=np.inf, upper=0.2, limits=BUDGET)


def joint_of(values, **columns):
    rows = pd.DataFrame({"ill": values, "x": np.arange(len(values)) % 2, **columns})
    return sz.JointDistribution.from_frame(rows, ["ill", *columns], "x")


def test_a_name_has_its_limit_and_the_star_all_others() -> None:
    bound = limits_for(BUDGET, joint_of(SECRETS).sensitive)
    np.testing.assert_allclose(np.exp(bound.upper), [2, 1.1, 2])
    assert bound.lower == pytest.approx(np.log(2))
    lifts = np.array([[1.0, 1.9, 1.0, 0.45], [1.05, 0.5, 1.2, 1.0], [1.0, 1.0, 1.0, 1.0]])
    expected = [np.log(1.05 / 1.1), 0.0, np.log(1.2 / 1.1), np.log(0.5 / 0.45)]
    np.testing.assert_allclose(bound.lift_excess(lifts, np.full(3, 1 / 3)), expected)


@given(st.data())
def test_the_excess_is_the_largest_over_secrets_of_that_of_each_alone(data) -> None:
    n_s, k = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    sides = st.lists(st.sampled_from([0.0, 0.1, 0.7, 2.0, 30.0, np.inf]), min_size=n_s, max_size=n_s)
    lower, upper = np.array(data.draw(sides)), np.array(data.draw(sides))
    of = st.lists(st.sampled_from([0.0, 1e-3, 0.4, 1.0, 1.1, 3.0]), min_size=n_s * k, max_size=n_s * k)
    lifts, p_s = np.array(data.draw(of)).reshape(n_s, k), np.full(n_s, 1 / n_s)
    found = budget_in_nats(lower, upper).lift_excess(lifts, p_s)
    alone = [sz.LiftBudget(lower=lower[s], upper=upper[s]).lift_excess(lifts[[s]], np.ones(1)) for s in range(n_s)]
    np.testing.assert_allclose(np.maximum(found, -40), np.maximum(np.max(alone, axis=0), -40), atol=1e-12)


@pytest.mark.parametrize(
    ("values", "place", "keys"),
    [
        ([1, 2, 3], 2, [3, "3", np.int64(3)]),
        ([1.5, 2.0, 3.0], 2, [3.0, 3, "3", "3.0", np.float64(3)]),
        ([True, False], 1, [True, "true", "True", np.bool_(True)]),
        (pd.to_datetime(["2026-01-31", "2025-01-31"]), 1, ["2026-01-31", pd.Timestamp("2026-01-31")]),
        ([datetime.date(2026, 1, 31), datetime.date(2025, 1, 31)], 1, [datetime.date(2026, 1, 31), "2026-01-31"]),
        ([Decimal("1.50"), Decimal("2.25")], 0, [Decimal("1.5"), "1.50", 1.5]),
        (["hiv", None, "none"], 2, [None, "(missing)"]),
        (["3", "three"], 0, ["3", 3]),
        (["*", "**"], 1, ["**"]),
    ],
)
def test_names_are_read_by_the_type_of_the_column(values, place, keys) -> None:
    sensitive = joint_of(values).sensitive
    for key in keys:
        bound = limits_for(sz.LiftBudget(at_most={key: 1.2, "*": 2.0}, at_least=0), sensitive)
        np.testing.assert_allclose(np.exp(bound.upper), [1.2 if s == place else 2.0 for s in range(len(sensitive))])


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (SECRETS, "HIV"),
        (SECRETS, "cancer"),
        ([1, 2, 4], "3.0"),
        ([1, 2, 3], "three"),
        ([1, 2, 3], True),
        ([True, False], "yes"),
        ([datetime.date(2026, 1, 31)], "31.1.2026"),
        (["1", "true"], True),
        (["a", "b"], None),
        (["(missing)", None], None),
    ],
)
def test_a_name_that_is_no_value_is_refused_and_no_value_told(values, key) -> None:
    with pytest.raises(InvalidBudget, match="column 'ill'") as caught:
        sz.LiftBudget(at_most={key: 1.2, "*": 2.0}, at_least=0).excess(joint_of(values))
    told = str(caught.value).replace("(missing)", "")
    assert not any(repr(value) in told or f" {value} " in told for value in values if value is not None)
    assert "\n" not in told


def test_a_value_without_a_limit_is_refused_and_counted() -> None:
    for budget, n in (
        (sz.LiftBudget(at_most={"hiv": 1.1}, at_least=0), 2),
        (sz.LiftBudget(at_most=2, at_least={"none": 0, "flu": 0}), 1),
    ):
        with pytest.raises(InvalidBudget, match=f"no limit for {n} value.s. of the sensitive column 'ill'") as caught:
            sz.subset_merging(joint_of(SECRETS), budget)
        assert not any(secret in str(caught.value) for secret in SECRETS)


def test_a_value_named_twice_is_refused() -> None:
    with pytest.raises(InvalidBudget, match="names one value of the sensitive column 'ill' twice"):
        sz.LiftBudget(at_most={"3": 1.1, "3.0": 2, "*": 2}, at_least=0).excess(joint_of([1.5, 3.0]))
    with pytest.raises(InvalidBudget, match="no value twice"):
        sz.LiftBudget(at_most={3: 1.1, "3": 2}, at_least=0)


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        ({"at_most": {}, "at_least": 0}, "must map sensitive values"),
        ({"at_most": {"hiv": 0.9}, "at_least": 0}, "at_most must be a number from 1"),
        ({"at_most": {"hiv": "2"}, "at_least": 0}, "at_most must be"),
        ({"at_most": 2, "at_least": {"hiv": 1.5}}, "at_least must be a number from 0"),
        ({"at_most": {"hiv": True}, "at_least": 0}, "at_most must be"),
        ({"at_most": {"hiv": float("nan")}, "at_least": 0}, "at_most must be a number"),
        ({"lower": {"hiv": 1.0}, "upper": 1.0}, "lower must be"),
        ({"at_most": [1.1, 2], "at_least": 0}, "at_most must be"),
    ],
)
def test_limits_out_of_their_range_are_refused(sides, words) -> None:
    with pytest.raises(InvalidBudget, match=words):
        sz.LiftBudget(**sides)


def test_names_are_of_one_sensitive_column() -> None:
    with pytest.raises(
        InvalidBudget, match="need one sensitive column, got 'ill', 'sex'; combine these columns into one"
    ):
        BUDGET.excess(joint_of(SECRETS, sex=["f", "m", "f"]))


def test_rows_of_a_part_may_lack_named_values_but_hold_no_others() -> None:
    part = joint_of(["flu", "none"])
    with pytest.raises(InvalidBudget, match="names 'hiv'"):
        BUDGET.excess(part)
    assert limits_for(present_limits(BUDGET, part.sensitive), part.sensitive) == sz.LiftBudget(at_most=2, at_least=0.5)
    own = sz.LiftBudget(at_most={"flu": 2, "hiv": 1.1, "none": 2}, at_least=0.5)
    assert present_limits(own, part.sensitive).at_most == {"flu": 2, "none": 2}
    other = joint_of(["flu", "odd"])
    with pytest.raises(InvalidBudget, match="no limit for 1 value"):
        present_limits(own, other.sensitive).excess(other)


def test_it_is_a_frozen_value() -> None:
    same = sz.LiftBudget(at_most={"*": 2.0, "hiv": 1.1}, at_least=0.5)
    others = (
        sz.LiftBudget(at_most={"hiv": 1.1, "*": 2.5}, at_least=0.5),
        sz.LiftBudget(at_most={"HIV": 1.1, "*": 2}, at_least=0.5),
        sz.LiftBudget(at_most=2, at_least={"hiv": 1.1 - 1, "*": 0.5}),
        sz.LiftBudget(at_most=2, at_least=0.5),
        sz.LDPBudget(1.0),
    )
    assert same == BUDGET
    assert hash(BUDGET) == hash(same)
    assert not any(other == BUDGET for other in others)
    for again in (pickle.loads(pickle.dumps(BUDGET)), copy.deepcopy(BUDGET), copy.copy(BUDGET)):
        assert again == BUDGET
        assert again.at_most == {"hiv": 1.1, "*": 2}
    BUDGET.at_most["hiv"] = 9
    BUDGET.bounds["at_most"]["hiv"] = 9
    assert BUDGET.at_most["hiv"] == 1.1
    with pytest.raises(AttributeError):
        BUDGET.upper = 1.0
    assert isinstance(BUDGET, sz.core.budgets.Budget)


def test_its_plain_values_come_back() -> None:
    budget = sz.LiftBudget(at_most={"hiv": 1.1, "*": float("inf")}, at_least={"hiv": 0.9, "*": 0})
    state = json.loads(json.dumps(budget_to_dict(budget)))
    assert state == {"type": "LiftBudget", "at_most": {"hiv": 1.1, "*": "inf"}, "at_least": {"hiv": 0.9, "*": 0.0}}
    assert budget_from_dict(state) == budget
    for broken in ({"hiv": "much"}, {"hiv": None}, {"hiv": {}}, {}, []):
        with pytest.raises(InvalidBudget):
            budget_from_dict(state | {"at_most": broken})
    with pytest.raises(InvalidBudget):
        budget_from_dict({"type": "LDPBudget", "eps": {"hiv": 1.0}})


def test_a_value_without_a_limit_has_an_infinite_end_for_anybody() -> None:
    """Among finite limits it was text, which has no place among numbers: no file could be written."""
    free = sz.LiftBudget(at_most={"hiv": 1.1, "*": np.inf}, at_least=0)
    public = nameless(budget_to_dict(free))
    assert public == {"type": "LiftBudget", "at_most": {"least": 1.1, "largest": "inf"}, "at_least": 0}
    assert nameless(public) == public
    assert budget_words(budget_from_dict(public)) == budget_words(free)
    beside = sz.AlphaLiftBudget(2, lower=1, upper=1, limits=free)
    assert nameless(budget_to_dict(beside))["limits"] == public


def test_equal_limits_are_spelt_alike_however_their_numbers_were_written() -> None:
    """In notes of files, which a verification compares: policies write 0.0 for 0."""
    whole, real = (sz.LiftBudget(at_most={"hiv": 2, "*": 3.5}, at_least=least) for least in (0, 0.0))
    assert repr(whole) == repr(real) == "LiftBudget(at_most=2 to 3.5 by value, at_least=0)"
    notes = [_budget_code(sz.L1LiftBudget(lower=one, upper=2, limits=of)) for one, of in ((1, whole), (1.0, real))]
    assert notes[0] == notes[1] == f"L1LiftBudget(lower=1.0, upper=2.0, limits={whole!r})"


def test_words_give_the_ends_and_no_name() -> None:
    assert repr(BUDGET) == "LiftBudget(at_most=1.1 to 2 by value, at_least=0.5)"
    assert budget_words(BUDGET) == (
        "no released value makes a sensitive value less than 0.5 or more than 1.1 to 2 times as likely, by value"
    )
    only = sz.LiftBudget(at_most={"hiv": 1.1, "*": 1.1}, at_least={"hiv": 0, "*": 0})
    assert budget_words(only) == "no released value makes a sensitive value more than 1.1 times as likely, by value"
    least = sz.LiftBudget(at_most={"*": float("inf")}, at_least={"hiv": 0.2, "*": 0})
    assert (
        budget_words(least) == "no released value makes a sensitive value less than 0 to 0.2 times as likely, by value"
    )
    free = sz.LiftBudget(at_most={"*": float("inf")}, at_least=0)
    assert budget_words(free) == "no limit (lift budget with both bounds infinite)"
    assert "hiv" in BUDGET._repr_html_()
    assert loosest(BUDGET) == sz.LiftBudget(at_most=2, at_least=0.5)
    assert sz.core.bounds.implied_bounds(BUDGET) == sz.core.bounds.implied_bounds(
        sz.LiftBudget(at_most=2, at_least=0.5)
    )


@pytest.fixture(scope="module", params=[BUDGET, BESIDE], ids=["alone", "beside an average"])
def fitted(request):
    rng = np.random.default_rng(0)
    ill = rng.choice(SECRETS, 3000, p=[0.3, 0.2, 0.5])
    near, any_ = pd.Series(ill).map({"flu": "A", "hiv": "B", "none": "C"}), rng.choice(["A", "B", "C"], 3000)
    town = np.where(rng.random(3000) < 0.2, near, any_)
    rows = pd.DataFrame({"ill": ill, "town": town, "age": rng.integers(2, 6, 3000)})
    return rows, sz.SubsetMerging(request.param, sensitive="ill", public=["town", "age"], random_state=1).fit(rows)


def test_names_stand_in_the_owners_view_alone(fitted, tmp_path) -> None:
    rows, sanitizer = fitted
    report = sanitizer.report_
    assert report.ok
    assert "hiv" in report.to_html()
    assert "Limits by sensitive value" in report.to_html()
    public = [view(audience="public") for view in (report.to_json, report.to_html, report.to_text)]
    document = json.loads(public[0])
    limits = {"type": "LiftBudget", "at_least": 0.5, "at_most": {"least": 1.1, "largest": 2.0}}
    judged = document["verdict"]["budget"]
    assert judged.get("limits", judged) == limits
    saved = sz.LeakageReport.from_json(report.to_json())
    assert sz.LeakageReport.from_json(public[0]).to_json() == public[0]
    public += [
        saved.to_json(audience="public"),
        saved.to_html(audience="public"),
        json.dumps(report.summary),
        repr(report.budget),
    ]
    path = tmp_path / "rows.parquet"
    rows.to_parquet(path)
    release = sz.SubsetMerging(report.budget, sensitive="ill", public=["town", "age"])
    sz.release_file(path, tmp_path / "released.parquet", release)
    appended = sz.release_file(path, tmp_path / "more.parquet", sz.SavedRelease.of(sanitizer))
    public += [appended.to_json(audience="public"), appended.to_text(audience="public")]
    public += [(tmp_path / name).read_bytes().decode("latin-1") for name in ("released.parquet", "more.parquet")]
    for text in public:
        assert "hiv" not in text


def test_a_sample_is_not_said_to_be_within_limits_that_the_worst_case_was_not_held_to(fitted) -> None:
    """The worst lift of any secret is below the loosest limit, and that of the one with the tight limit is over it."""
    budget = sz.LiftBudget(at_most={"hiv": 1.1, "*": 4}, at_least=0.1)
    report = sz.SubsetMerging(budget, sensitive="ill", public=["town", "age"]).fit(fitted[0]).report_
    worst = {line.name: line for line in report.measures if line.name.startswith("worst_")}
    assert worst["worst_max_log_lift"].after < worst["worst_max_log_lift"].bound
    assert "if they are a sample, which limit may be exceeded is not known" in report.to_dict()["verdict"]["sentence"]
    assert report._worst.excess(limits_for(budget, report._after.sensitive)).max() > 0


def test_a_saved_release_keeps_the_limits_and_judges_new_rows_by_them(fitted, tmp_path) -> None:
    rows, sanitizer = fitted
    saved = sz.SavedRelease.from_json(sz.SavedRelease.of(sanitizer).to_json())
    assert saved.budget == sanitizer.budget
    seen = sz.LiftBudget(at_most={"*": 2}, at_least=0.5)
    for name, some in (("all", rows), ("none of hiv", rows[rows["ill"] != "hiv"])):
        some.to_parquet(tmp_path / f"{name}.parquet")
        report = sz.release_file(tmp_path / f"{name}.parquet", tmp_path / f"{name} out.parquet", saved)
        assert lift_limits(report.held_out.budget) == (BUDGET if name == "all" else seen)


def test_a_ledger_keeps_limits_by_value_and_one_of_units_refuses_them(fitted, tmp_path) -> None:
    rows, sanitizer = fitted
    budget = sanitizer.budget
    ledger = sz.Ledger(tmp_path / "book", budget)
    assert ledger.check(rows, sanitizer).ok
    assert sz.Ledger(tmp_path / "book").budget == budget
    assert sz.Ledger(tmp_path / "book", budget).budget == budget
    with pytest.raises(sz.errors.LedgerError):
        sz.Ledger(tmp_path / "book", sz.LiftBudget(at_most={"flu": 1.1, "*": 2}, at_least=0.5))
    with pytest.raises(InvalidBudget, match="one limit for all"):
        UnitLedger(tmp_path / "units", budget, unit="person")
    assert not (tmp_path / "units").exists()


def test_other_recipes_take_them_or_refuse(fitted) -> None:
    rows, budget = fitted[0], fitted[1].budget
    parts = [("one", sz.SubsetMerging(public=["town"])), ("two", sz.Watchdog(public=["age"]))]
    joint = sz.JointRelease(parts, budget, sensitive="ill").fit(rows)
    lifts = sz.lift(joint.report_._after)
    assert lifts[1].max() <= 1.1 + 1e-9
    assert lifts.max() <= 2 + 1e-9
    assert joint.report_.ok
    assert sz.BestSanitizer(budget, sensitive="ill", public=["town", "age"]).fit(rows).report_.ok
    own = sz.OptimalRandomResponse(BUDGET, sensitive="ill", public=["town"], smoothing=1.0).fit(rows)
    assert own.set_params(budget__at_least=0.4).budget == sz.LiftBudget(at_most={"hiv": 1.1, "*": 2}, at_least=0.4)
    with pytest.raises(InvalidBudget):
        sz.RandomizedResponse(budget, public=["town"]).fit(rows)
