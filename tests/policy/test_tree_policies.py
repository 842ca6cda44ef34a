"""Policies of whole tables: the settings of trees, for the parser, the schema and the estimators."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

import sanitize as sz
import sanitize.transformers
from sanitize.errors import PolicyError

VALIDATOR = Draft202012Validator(
    json.loads((files("sanitize") / "policy" / "policy.schema.json").read_text(encoding="utf-8"))
)

TREE = """
version = 1
[columns]
sensitive = ["illness", "wage"]
public = ["town", "age", "job"]
[budget]
lower = 1
upper = 0.5
[channel]
mechanism = "tree-random-response"
min_rows = 100
min_cell_rows = 10
max_cells = 500
weights = { age = 2 }
hierarchies = { town = "towns.csv" }
output = "model"
confidence = 0.9
bins.wage = [0, 1000, 2000]
"""
TREE_MERGING = """
version = 1
[columns]
sensitive = ["illness"]
public = ["town", "floor"]
[budget]
lower = 1.5
upper = 0.5
[channel]
mechanism = "tree-merging"
min_rows = 30
"""
TUPLES = TREE_MERGING.replace("tree-merging", "watchdog").replace("min_rows = 30", 'output = "label"')
SEVERAL = (
    TUPLES.split("[channel]")[0].replace('public = ["town", "floor"]', "")
    + """
[[channel]]
name = "home"
public = ["town"]
mechanism = "watchdog"
[[channel]]
name = "floor"
public = ["floor"]
"""
)
NOISY = (
    TREE
    + """secret_dp = { eps = 1, delta = 1e-6, values = { illness = ["flu", "none"] } }
"""
)
PRIVATE = TREE + "record_dp = { eps = 1, values = { illness = ['flu', 'none'], town = ['a'], age = [1] } }\n"
VALID = {
    "tree": TREE,
    "noisy": NOISY,
    "private": PRIVATE,
    "private and found": PRIVATE.replace("eps = 1,", "eps = 1, delta = 1e-6,").replace("town = ['a'], ", ""),
    "private fits booked": PRIVATE.replace("version = 1", 'version = 1\nledger = "people.dp"'),
    "tree merging": TREE_MERGING,
    "tuples": TUPLES,
    "several": SEVERAL,
}


def edited(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


INVALID = {
    "a model of tuples": (
        edited(TUPLES, '"label"', '"model"'),
        "channel.output can be 'model' only with tree-merging or tree-random-response",
    ),
    "cells of merging": (edited(TREE_MERGING, "min_rows", "min_cell_rows"), "tree-merging does not have it"),
    "pooling in a tree": (edited(TREE, "max_cells", "min_count"), "tree-random-response does not have it"),
    "no rows": (edited(TREE, "min_rows = 100", "min_rows = 0"), "min_rows must be a whole number >= 1, got 0"),
    "negative weight": (edited(TREE, "age = 2", "age = -2"), "channel.weights.age must be a finite number >= 0"),
    "hierarchy as a number": (edited(TREE, '"towns.csv"', "3"), "channel.hierarchies.town must be text"),
    "l1 with tree": (edited(TREE, "lower = 1", 'notion = "l1"\nlower = 1'), "must be 'lift' or 'ldp' with tree-random"),
    "tree beside kept columns": (
        edited(TREE, 'public = ["town"', 'keep = ["year"]\npublic = ["town"'),
        "releases a whole table through one channel, without others and without kept columns; list all columns under",
    ),
    "tree as one of several": (
        edited(SEVERAL, 'mechanism = "watchdog"', 'mechanism = "tree-merging"'),
        "releases a whole table through one channel",
    ),
    "own budget in a part": (
        edited(SEVERAL, 'mechanism = "watchdog"', 'mechanism = "tree-merging"\nbudget = { lower = 1, upper = 1 }'),
        "releases a whole table through one channel",
    ),
    "pooling by another name": (edited(TREE_MERGING, "min_rows", "min_count"), "tree-merging does not have it"),
    "noise without confidence": (edited(NOISY, "confidence = 0.9", ""), "channel.secret_dp needs a confidence"),
    "noise and kept rows": (
        edited(NOISY, "version = 1", 'version = 1\nrows = "keep"'),
        'rows = "keep" is allowed after',
    ),
    "noise and units": (
        edited(NOISY.replace("version = 1", 'version = 1\nledger = "units"'), "[columns]", '[columns]\nunit = "who"'),
        "columns.unit asks for a ledger that counts secrets without noise",
    ),
    "noise and a receipt": (edited(NOISY, "version = 1", 'version = 1\nreceipt = "own"'), "receipt lets a release be"),
    "rows without confidence": (edited(PRIVATE, "confidence = 0.9", ""), "channel.record_dp needs a confidence"),
    "private and kept rows": (
        edited(PRIVATE, "version = 1", 'version = 1\nrows = "keep"'),
        "leave it out with channel.record_dp",
    ),
    "private with a large delta": (
        edited(PRIVATE, "eps = 1,", "eps = 1, delta = 0.5,"),
        "channel.record_dp.delta must be from 0 to 0.1",
    ),
    "private without values": (edited(PRIVATE, "values =", "value ="), "channel.record_dp.value"),
    "noise without delta": (edited(NOISY, "delta = 1e-6,", ""), "channel.secret_dp.delta is missing"),
    "noise of level 0": (edited(NOISY, "eps = 1,", "eps = 0,"), "channel.secret_dp.eps must be a finite number > 0"),
    "values as text": (edited(NOISY, '["flu", "none"]', '"flu"'), "values.illness must be an array of texts"),
    "noise on merging": (
        edited(TREE_MERGING, "min_rows = 30", "secret_dp = { eps = 1, delta = 1e-6 }"),
        "tree-merging does not have it",
    ),
    "rows of tuples": (edited(TUPLES, 'output = "label"', "min_rows = 3"), "watchdog does not have it"),
}
# Rules that compare keys with one another: the parser's alone.
PARSER_ONLY = {
    "noise beyond all rows": (edited(NOISY, "eps = 1,", "eps = 1e-6,"), "ask for noise of more than 1000 rows"),
    "weight of another column": (edited(TREE, "age = 2", "wage = 2"), "'wage' is not a public column of this channel"),
    "hierarchy of another": (edited(TREE, "town =", "year ="), "'year' is not a public column of this channel"),
}


@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_a_valid_policy_of_a_tree_is_valid_for_parser_and_schema(text):
    sz.Policy.from_toml(text)
    VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize(("text", "words"), INVALID.values(), ids=INVALID)
def test_an_invalid_policy_of_a_tree_is_refused_by_parser_and_schema(text, words):
    with pytest.raises(PolicyError) as caught:
        sz.Policy.from_toml(text)
    assert words in str(caught.value)
    assert not VALIDATOR.is_valid(tomllib.loads(text))


@pytest.mark.parametrize(("text", "words"), PARSER_ONLY.values(), ids=PARSER_ONLY)
def test_rules_between_keys_of_a_tree_are_the_parsers(text, words):
    with pytest.raises(PolicyError) as caught:
        sz.Policy.from_toml(text)
    assert words in str(caught.value)


def test_a_whole_table_has_every_setting_of_its_own(tmp_path):
    (tmp_path / "policy.toml").write_text(TREE)
    given = sz.Policy.read(tmp_path / "policy.toml").sanitizer().get_params()
    assert (given["min_rows"], given["min_cell_rows"], given["max_cells"]) == (100, 10, 500)
    assert (given["weights"], given["hierarchies"]) == ({"age": 2}, {"town": tmp_path / "towns.csv"})
    assert (given["output"], given["confidence"], given["bins"]) == ("model", 0.9, {"wage": [0, 1000, 2000]})
    merging = sz.Policy.from_toml(TREE_MERGING).sanitizer()
    assert type(merging) is sanitize.transformers.TreeMerging
    assert merging.get_params()["min_rows"] == 30
