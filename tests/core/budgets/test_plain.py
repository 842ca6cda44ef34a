"""Budgets and bins as plain values: what is on disk keeps its form, and comes back as it was."""

import json
import math

import pytest

import sanitize as sz
from sanitize._util.declared import SchemaError, read, to_builtin
from sanitize.core.binning import AnyBins, Bins, Grid
from sanitize.core.budgets import (
    BUDGETS,
    SYMBOL_BUDGETS,
    CapacityBudget,
    CVaRLiftBudget,
    MaximalLeakageBudget,
    MutualInformationBudget,
    PMLEnvelopeBudget,
    TotalVariationBudget,
    budget_from_dict,
    budget_to_dict,
)
from sanitize.errors import InvalidBudget

CASES = [
    sz.LiftBudget(lower=math.inf, upper=0.5),
    sz.LDPBudget(1),
    sz.L1LiftBudget(lower=0.1, upper=1e-300),
    sz.Chi2LiftBudget(lower=0, upper=math.inf),
    sz.AlphaLiftBudget(2, lower=1.5, upper=0.1),
    CapacityBudget(0.25),
    CVaRLiftBudget(0.5, 0.05),
    PMLEnvelopeBudget(0.5, 0.05),
    MutualInformationBudget(0.1),
    TotalVariationBudget(0.25),
    MaximalLeakageBudget(0.5),
]


def test_every_budget_of_the_library_has_a_case():
    assert [type(budget).__name__ for budget in CASES] == list(BUDGETS)
    whole = [type(budget).__name__ for budget in CASES[len(SYMBOL_BUDGETS) :]]
    assert whole == [name for name in BUDGETS if name not in SYMBOL_BUDGETS]


@pytest.mark.parametrize("budget", CASES, ids=repr)
def test_budgets_come_back_through_json(budget):
    assert budget_from_dict(json.loads(json.dumps(budget_to_dict(budget), allow_nan=False))) == budget


def test_the_forms_on_disk_stay():
    lift, ldp = CASES[:2]
    assert json.dumps(budget_to_dict(lift)) == '{"type": "LiftBudget", "lower": "inf", "upper": 0.5}'
    times = sz.LiftBudget(at_most=1.65, at_least=0)
    assert json.dumps(budget_to_dict(times)) == '{"type": "LiftBudget", "at_most": 1.65, "at_least": 0.0}'
    assert repr(budget_from_dict(budget_to_dict(times))) == "LiftBudget(at_most=1.65, at_least=0.0)"
    assert json.dumps(budget_to_dict(ldp)) == '{"type": "LDPBudget", "eps": 1.0}'


def test_only_the_numbers_of_a_strange_budget_are_written():
    class Strange:
        pass

    assert budget_to_dict(Strange()) == {"type": "Strange"}


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"type": "Budget"},
        {"type": ["LDPBudget"], "eps": 1},
        {"type": "LDPBudget"},
        {"type": "LDPBudget", "eps": 1, "lower": 1},
        {"type": "LDPBudget", "eps": -1},
        {"type": "LDPBudget", "eps": math.nan},
        {"type": "LDPBudget", "eps": "1"},
        {"type": "LDPBudget", "eps": True},
        {"type": "LiftBudget", "at_most": 2},
        {"type": "LiftBudget", "at_most": 2, "at_least": 0.5, "lower": 1},
        {"type": "AlphaLiftBudget", "alpha": 1, "lower": 1, "upper": 1},
    ],
)
def test_what_is_no_budget_is_refused(state):
    with pytest.raises(InvalidBudget):
        budget_from_dict(state)


def test_a_kind_that_is_not_asked_for_is_refused():
    with pytest.raises(InvalidBudget, match="must be one of LiftBudget"):
        budget_from_dict(budget_to_dict(CapacityBudget(1.0)), kinds=SYMBOL_BUDGETS)


BINS = [
    Bins("age", (0.0, 18.5, 99.0), learned=False, whole=True),
    Bins("age", (3.0, 4.0), learned=True, whole=False),
    Grid("age", (0.0, 5.0, 10.0), learned=False, whole=True, values=(0.0, 10.0)),
]


@pytest.mark.parametrize("bins", BINS, ids=["bins", "single", "grid"])
def test_bins_come_back_through_json(bins):
    again = read(AnyBins, json.loads(json.dumps(to_builtin(bins), allow_nan=False)))
    assert again == bins
    assert type(again) is type(bins)


def test_the_form_of_bins_on_disk_stays():
    told = '{"kind": "grid", "column": "age", "edges": [0.0, 5.0, 10.0], "learned": false, "whole": true, "values": '
    assert json.dumps(to_builtin(BINS[2])) == told + "[0.0, 10.0]}"


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"column": 3},
        {"more": 1},
        {"learned": 1},
        {"whole": None},
        {"edges": "0"},
        {"edges": [0.0]},
        {"edges": [0.0, "inf"]},
        {"edges": [0.0, 10**400]},
        {"edges": [False, True, 10.0]},
        {"edges": [5.0, 0.0, 10.0]},
        {"values": [0.0]},
        {"values": [0.0, 4.0]},
        {"values": [0.5, 10.0]},
        {"values": {}},
        {"learned": True},
    ],
)
def test_what_are_no_bins_is_refused(change):
    with pytest.raises(SchemaError):
        read(AnyBins, to_builtin(BINS[2]) | change)


def test_bins_prove_what_they_are_when_they_are_made():
    with pytest.raises(SchemaError, match="edges must be two numbers or more, ascending"):
        Bins("age", (1.0, 0.0), learned=False, whole=False)
