"""Policies of whole tables: the settings of latent classes, for the parser, the schema and the estimators."""

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

CLASSES = """
version = 1
[columns]
sensitive = ["illness", "wage"]
public = ["town", "age", "job"]
[budget]
lower = 1
upper = 0.5
[channel]
mechanism = "latent-classes"
n_classes = 30
rule = "watchdog"
hierarchies = { town = "towns.csv" }
confidence = 0.9
bins.wage = [0, 1000, 2000]
"""
AVERAGES = """
version = 1
[columns]
sensitive = ["illness"]
public = ["town", "floor"]
[budget]
notion = "l1"
lower = 1.5
upper = 0.5
[channel]
mechanism = "latent-classes"
effort = 1e6
"""
TUPLES = AVERAGES.replace("latent-classes", "watchdog").replace("effort = 1e6", "min_count = 10")
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
NOISY = CLASSES + 'secret_dp = { eps = 1, delta = 1e-6, values = { illness = ["flu", "none"] } }\n'
PRIVATE = CLASSES + "record_dp = { eps = 1, values = { illness = ['flu', 'none'], town = ['a'], age = [1] } }\n"
VALID = {
    "classes": CLASSES,
    "noisy": NOISY,
    "private": PRIVATE,
    "private and found": PRIVATE.replace("eps = 1,", "eps = 1, delta = 1e-6,").replace("town = ['a'], ", ""),
    "private fits booked": PRIVATE.replace("version = 1", 'version = 1\nledger = "people.dp"'),
    "averages": AVERAGES,
    "tuples": TUPLES,
    "several": SEVERAL,
}


KEPT = """
version = 1
[columns]
sensitive = ["illness", "wage"]
public = ["town", "age"]
keep = ["year"]
[budget]
at_most = 2
at_least = 0.5
[channel]
mechanism = "latent-classes"
bins.wage = [0, 1000, 2000]
"""
VALID |= {
    "kept columns": KEPT,
    "kept bins": KEPT.replace("version = 1", 'version = 1\nrows = "keep"') + "bins.year = [1990, 2000]\n",
}


def edited(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


INVALID = {
    "the trees that were": (
        edited(CLASSES, "latent-classes", "tree-random-response"),
        "channel.mechanism 'tree-random-response' was replaced: write 'latent-classes'",
    ),
    "merged trees": (
        edited(AVERAGES, "latent-classes", "tree-merging"),
        "channel.mechanism 'tree-merging' was replaced: write 'latent-classes'",
    ),
    "pooling in classes": (edited(CLASSES, "n_classes", "min_count"), "latent-classes does not have it"),
    "no classes": (edited(CLASSES, "n_classes = 30", "n_classes = 0"), "n_classes must be a whole number >= 1, got 0"),
    "hierarchy as a number": (edited(CLASSES, '"towns.csv"', "3"), "channel.hierarchies.town must be text"),
    "classes as one of several": (
        edited(SEVERAL, 'mechanism = "watchdog"', 'mechanism = "latent-classes"'),
        "because it releases a whole table",
    ),
    "own budget in a part": (
        edited(SEVERAL, 'mechanism = "watchdog"', 'mechanism = "latent-classes"\nbudget = { lower = 1, upper = 1 }'),
        "because it releases a whole table",
    ),
    "noise without confidence": (edited(NOISY, "confidence = 0.9", ""), "channel.secret_dp needs a confidence"),
    "noise and kept rows": (
        edited(PRIVATE, "version = 1", 'version = 1\nrows = "keep"'),
        'rows = "keep" checks every',
    ),
    "noise and units": (
        edited(NOISY.replace("version = 1", 'version = 1\nledger = "units"'), "[columns]", '[columns]\nunit = "who"'),
        "columns.unit asks for a ledger that counts sensitive values without noise",
    ),
    "noise and a receipt": (
        edited(NOISY, "version = 1", 'version = 1\nreceipt = "own"'),
        "receipt cannot be used with",
    ),
    "rows without confidence": (edited(PRIVATE, "confidence = 0.9", ""), "channel.record_dp needs a confidence"),
    "private and kept rows": (
        edited(PRIVATE, "version = 1", 'version = 1\nrows = "keep"'),
        "cannot be combined with channel.record_dp",
    ),
    "private with a large delta": (
        edited(PRIVATE, "eps = 1,", "eps = 1, delta = 0.5,"),
        "channel.record_dp.delta must be from 0 to 0.1",
    ),
    "private without values": (edited(PRIVATE, "values =", "value ="), "channel.record_dp.value"),
    "noise without delta": (edited(NOISY, "delta = 1e-6,", ""), "channel.secret_dp.delta is missing"),
    "noise of level 0": (edited(NOISY, "eps = 1,", "eps = 0,"), "channel.secret_dp.eps must be a finite number > 0"),
    "values as text": (edited(NOISY, '["flu", "none"]', '"flu"'), "values.illness must be an array of texts"),
    "noise on tuples": (
        edited(TUPLES, "min_count = 10", "secret_dp = { eps = 1, delta = 1e-6 }").replace(
            "watchdog", "randomized-response"
        ),
        "randomized-response does not have it",
    ),
    "classes of tuples": (edited(TUPLES, "min_count = 10", "n_classes = 3"), "watchdog does not have it"),
}
# Rules that compare keys with one another: the parser's alone.
PARSER_ONLY = {
    "kept columns and a population": (KEPT + "confidence = 0.9\n", "channel.confidence holds for a population"),
    "kept bins and shuffled rows": (edited(KEPT, "bins", "bins.year = [1990, 2000]\nbins"), 'rows must be "keep"'),
    "noise beyond all rows": (edited(NOISY, "eps = 1,", "eps = 1e-6,"), "would need noise of more than 1000 rows"),
    "hierarchy of another": (edited(CLASSES, "town =", "year ="), "'year' is not a public column of this channel"),
}


@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_a_valid_policy_of_classes_is_valid_for_parser_and_schema(text):
    sz.Policy.from_toml(text)
    VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize(("text", "words"), INVALID.values(), ids=INVALID)
def test_an_invalid_policy_of_classes_is_refused_by_parser_and_schema(text, words):
    with pytest.raises(PolicyError) as caught:
        sz.Policy.from_toml(text)
    assert words in str(caught.value)
    assert not VALIDATOR.is_valid(tomllib.loads(text))


@pytest.mark.parametrize(("text", "words"), PARSER_ONLY.values(), ids=PARSER_ONLY)
def test_rules_between_keys_of_classes_are_the_parsers(text, words):
    with pytest.raises(PolicyError) as caught:
        sz.Policy.from_toml(text)
    assert words in str(caught.value)


def test_a_whole_table_has_every_setting_of_its_own(tmp_path):
    (tmp_path / "policy.toml").write_text(CLASSES)
    given = sz.Policy.read(tmp_path / "policy.toml").sanitizer().get_params()
    assert (given["n_classes"], given["rule"], given["hierarchies"]) == (
        30,
        "watchdog",
        {"town": tmp_path / "towns.csv"},
    )
    assert (given["confidence"], given["bins"]) == (0.9, {"wage": [0, 1000, 2000]})
    kept = sz.Policy.from_toml(KEPT).sanitizer().get_params()
    assert (kept["keep"], kept["public"]) == (["year"], ["town", "age"])
    averages = sz.Policy.from_toml(AVERAGES).sanitizer()
    assert type(averages) is sanitize.transformers.LatentClassRelease
    assert averages.get_params()["effort"] == 1e6
