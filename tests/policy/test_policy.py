"""Release policies: what is valid, what is refused and how that is said, and a schema that agrees with the parser."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import random
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from policy_schema import policy_schema

import sanitize as sz
import sanitize.transformers
from sanitize.core.budgets import CapacityBudget
from sanitize.errors import ColumnError, PolicyError
from sanitize.policy._declaration import MECHANISMS, OWNERS
from sanitize.release.fit import recipe_type

SCHEMA = json.loads((files("sanitize") / "policy" / "policy.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)

SMALL = """
version = 1
[columns]
sensitive = ["illness"]
public = ["town", "floor"]
drop = ["name", "age"]
[budget]
lower = 1.5
upper = 0.5
"""

TIMES = SMALL.replace("lower = 1.5", "at_least = 0.25").replace("upper = 0.5", "at_most = 1.65")

FULL = """
version = 1
rows = "keep"
audience = "public"
missing = "error"
handle_unknown = "error"
workers = 2
ledger = "releases.json"
receipt = "private/released.receipt"
[columns]
sensitive = ["illness", "wage"]
public = ["town", "age"]
drop = ["name", "year"]
[budget]
notion = "ldp"
eps = 2
[channel]
mechanism = "optimal-random-response"
min_count = 5
smoothing = 0.5
gap = 1e-4
effort = 1e6
side_columns = ["town"]
time_limit = 60
[channel.bins]
age = [18, 30, 65]
wage = [0, 1000.5]
"""

SEVERAL = """
version = 1
[columns]
sensitive = ["illness"]
keep = ["year"]
[budget]
notion = "alpha"
alpha = 2
lower = inf
upper = 0.5
[[channel]]
name = "home"
public = ["town", "floor"]
mechanism = "watchdog"
[[channel]]
name = "ages"
public = ["age"]
mechanism = "gaussian-channel"
bounds = { age = [0, 100] }
step = { age = 5 }
points = 20
reach = 3
method = "closed_form"
budget = { notion = "capacity", nats = 0.3 }
[[channel]]
name = "work"
public = ["job"]
mechanism = "randomized-response"
budget = { notion = "ldp", eps = 1 }
"""

EXPONENTIAL = """
version = 1
[columns]
sensitive = ["illness"]
public = ["age"]
[budget]
notion = "capacity"
nats = 0.5
[channel]
mechanism = "exponential-channel"
distance = "circle"
bins.age = [0, 50, 100]
"""

GAUSSIAN = EXPONENTIAL.split("[channel]", maxsplit=1)[0] + (
    '[channel]\nmechanism = "gaussian-channel"\nbounds = { age = [0, 100] }\n'
)
KEEPING = SMALL.replace("drop =", 'keep = ["year"]\ndrop =') + '[channel]\nmechanism = "watchdog"\nsmoothing = 0\n'
VALID = {
    "keeping": KEEPING,
    "small": SMALL,
    "times": TIMES,
    "times, one side": TIMES.replace("0.25", "0"),
    "by value": TIMES.replace("1.65", '{ hiv = 1.1, "2026-01-31" = 1.3, "*" = inf }'),
    "by value, both sides": TIMES.replace("1.65", "{ hiv = 1 }").replace("0.25", '{ hiv = 1, "*" = 0 }'),
    "beside an average": SEVERAL.replace("[budget]", "[budget]\nlimits = { at_most = { hiv = 1.1 }, at_least = 0 }"),
    "full": FULL,
    "learned": FULL.replace("[18, 30, 65]", "{ learned = [18, 30, 65] }"),
    "several": SEVERAL,
    "exponential": EXPONENTIAL,
    "gaussian": GAUSSIAN,
}


def edited(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


# What is wrong with it, the text, and what the error must say.
INVALID = {
    "no version": (edited(SMALL, "version = 1", ""), "version is missing; write for example version = 1"),
    "other version": (
        edited(SMALL, "version = 1", "version = 2"),
        "version must be 1, the version that this sanitize reads, got 2",
    ),
    "text version": (
        edited(SMALL, "version = 1", 'version = "1"'),
        "version must be 1, the version that this sanitize reads, got text",
    ),
    "no columns": (
        edited(SMALL, SMALL[SMALL.index("[columns]") : SMALL.index("[budget]")], ""),
        "columns is missing; write for example [columns]",
    ),
    "columns as array": (
        'version = 1\ncolumns = ["a"]\n[budget]\nupper = 1\nlower = 1\n',
        "columns must be a table, got an array; write [columns]",
    ),
    "a bare number as budget": (
        "version = 1\nbudget = 2\n" + SMALL[SMALL.index("[columns]") : SMALL.index("[budget]")],
        "budget must be a table, got 2; write [budget] with at_most = 2 and at_least = 0.5 (times as likely), or "
        "upper = 0.69 and lower = 0.69 (nats)",
    ),
    "no budget": (SMALL[: SMALL.index("[budget]")], "budget is missing"),
    "unknown key": (edited(SMALL, "version = 1", "version = 1\nrow = 'keep'"), "did you mean 'rows'?"),
    "unknown column role": (
        edited(SMALL, "drop", "dorp"),
        "columns.dorp is not a key of a policy; did you mean 'drop'",
    ),
    "unknown key far off": (
        edited(SMALL, "lower = 1.5", "lower = 1\nzzz = 3"),
        "known keys are notion, at_most, at_least",
    ),
    "no sensitive": (
        edited(SMALL, '["illness"]', "[]"),
        "columns.sensitive must be an array of column names, got an empty array; write",
    ),
    "no public": (edited(SMALL, 'public = ["town", "floor"]', ""), "columns.public is missing"),
    "column as text": (edited(SMALL, '["illness"]', '"illness"'), "must be an array of column names, got text"),
    "twice in a list": (edited(SMALL, '"floor"]', '"town"]'), "column 'town' is listed twice under columns.public"),
    "keep in two tables": (
        edited(SMALL, "drop =", "keep = 3\ndrop ="),
        "columns.keep must be an array of column names",
    ),
    "upper missing": (edited(SMALL, "upper = 0.5", ""), "budget.upper is missing; write for example upper = 0.5"),
    "lower missing": (edited(SMALL, "lower = 1.5", ""), "budget.lower is missing"),
    "no bound": (edited(edited(SMALL, "upper = 0.5", ""), "lower = 1.5", ""), "budget.at_most is missing; write"),
    "at_least missing": (edited(edited(SMALL, "upper = 0.5", "at_most = 2"), "lower = 1.5", ""), "at_least is missing"),
    "both units": (
        edited(SMALL, "upper", "at_most = 2\nupper"),
        "write at_most and at_least (times as likely) or lower",
    ),
    "a side of each": (edited(SMALL, "upper = 0.5", "at_most = 2"), "budget.lower has no place here"),
    "at_most below 1": (edited(TIMES, "1.65", "0.9"), "budget.at_most must be a number >= 1, got 0.9"),
    "at_least above 1": (edited(TIMES, "0.25", "1.5"), "budget.at_least must be a number from 0 to 1, got 1.5; 0 lets"),
    "by value below 1": (edited(TIMES, "1.65", "{ hiv = 0.9 }"), "budget.at_most.hiv must be a number >= 1, got 0.9"),
    "by value, text": (edited(TIMES, "1.65", '{ hiv = "2" }'), "budget.at_most.hiv must be a number >= 1, got text"),
    "by no value": (edited(TIMES, "1.65", "{}"), "budget.at_most must be a number >= 1, got an empty table"),
    "by value in nats": (edited(SMALL, "0.5", "{ hiv = 0.5 }"), "budget.upper must be a number >= 0, got a table"),
    "negative": (edited(SMALL, "0.5", "-0.5"), "budget.upper must be a number >= 0, got -0.5; write inf for no bound"),
    "boolean": (edited(SMALL, "0.5", "true"), "budget.upper must be a number >= 0, got a boolean"),
    "notion unknown": (edited(SMALL, "upper", 'notion = "lifts"\nupper'), "did you mean 'lift'?"),
    "ldp with upper": (edited(SMALL, "upper", 'notion = "ldp"\nupper'), "budget.eps is missing"),
    "ldp with both": (edited(SMALL, "upper", 'notion = "ldp"\neps = 1\nupper'), "budget.lower is not a key"),
    "alpha of one": (edited(SEVERAL, "alpha = 2", "alpha = 1"), "budget.alpha must be a number > 1, got 1"),
    "capacity of zero": (edited(EXPONENTIAL, "0.5", "0"), "budget.nats must be a number > 0, got 0"),
    "mechanism unknown": (
        edited(FULL, "optimal-random-response", "optimal-response"),
        "channel.mechanism must be one of",
    ),
    "mechanism number": (edited(FULL, '"optimal-random-response"', "3"), "channel.mechanism must be one of"),
    "setting of another": (
        edited(FULL, "gap = 1e-4", 'distance = "line"'),
        "channel.distance has no place here: optimal-random-response does not have it; it is a setting of "
        "exponential-channel",
    ),
    "gap without mechanism": (edited(FULL, 'mechanism = "optimal-random-response"', ""), "channel.gap has no place"),
    "min_count half": (edited(FULL, "min_count = 5", "min_count = 5.5"), "min_count must be a whole number >= 0"),
    "min_count negative": (edited(FULL, "min_count = 5", "min_count = -5"), "whole number >= 0, got -5"),
    "smoothing": (edited(FULL, "smoothing = 0.5", "smoothing = -1"), "smoothing must be a finite number >= 0"),
    "labels": (edited(FULL, "gap = 1e-4", 'output = "label"'), "output"),
    "confidence": (edited(FULL, "gap = 1e-4", "confidence = 1"), "a number strictly between 0 and 1, got 1"),
    "learned edges of nothing": (edited(FULL, "[18, 30, 65]", "{ learned = 8 }"), "learned must be an array of edges"),
    "other edges": (edited(FULL, "[18, 30, 65]", "{ found = [18, 65] }"), "channel.bins.age.learned is missing"),
    "edges under two names": (edited(FULL, "[18, 30, 65]", "{ learned = [18, 65], by = 8 }"), "age.by is not a key"),
    "no edge": (edited(FULL, "[18, 30, 65]", "[]"), "channel.bins.age must be edges in ascending order"),
    "edges as a number": (edited(FULL, "[18, 30, 65]", "8"), "channel.bins.age must be an array of numbers"),
    "rows": (edited(FULL, '"keep"', '"sorted"'), "rows must be one of 'shuffle', 'keep', got 'sorted'"),
    "workers": (edited(FULL, "workers = 2", "workers = 0"), "workers must be a whole number >= 1, got 0"),
    "ledger": (edited(FULL, '"releases.json"', '""'), "ledger must be text"),
    "receipt": (edited(FULL, '"private/released.receipt"', "7"), "receipt must be text, got 7"),
    "date": (edited(FULL, '"releases.json"', "2026-01-01"), "ledger must be text, got a date or time"),
    "notion for the mechanism": (
        edited(EXPONENTIAL, 'notion = "capacity"\nnats = 0.5', "upper = 1\nlower = 1"),
        "budget.notion must be 'capacity' with exponential-channel, got 'lift'",
    ),
    "notion of optimal": (
        edited(FULL, 'notion = "ldp"\neps = 2', 'notion="capacity"\nnats=1'),
        "'lift' or 'ldp' or 'l1' or 'chi2' or 'alpha' with optimal-random-response, got 'capacity'",
    ),
    "capacity with merging": (
        edited(edited(SMALL, "upper = 0.5", 'notion = "capacity"'), "lower = 1.5", "nats = 1"),
        "budget.notion must be 'lift' or",
    ),
    "capacity with keep": (
        edited(EXPONENTIAL, 'public = ["age"]', 'public = ["age"]\nkeep = ["year"]'),
        "'l1' or 'chi2' or 'alpha' with kept columns or several channels, got 'capacity'",
    ),
    "no own budget": (
        edited(SEVERAL, 'budget = { notion = "ldp", eps = 1 }', ""),
        "randomized-response needs a budget of its own",
    ),
    "own budget of another notion": (
        edited(SEVERAL, 'budget = { notion = "ldp", eps = 1 }', "budget = { upper = 1, lower = 1 }"),
        "channel[2].budget.notion must be 'ldp'",
    ),
    "budget in the one channel": (
        edited(FULL, "gap = 1e-4", "budget = { upper = 1, lower = 1 }"),
        "channel.budget has no place here: it belongs to [[channel]] tables",
    ),
    "optimal with keep": (
        edited(FULL, "drop = [", 'keep = ["month"]\ndrop = ['),
        "optimal-random-response needs a budget of its own next to kept columns",
    ),
    "smoothing with keep": (edited(KEEPING, "smoothing = 0", "smoothing = 1"), "smoothing must be 0 in a channel"),
    "smoothing in sequence": (
        edited(SEVERAL, 'mechanism = "watchdog"', "smoothing = 0.5"),
        "smoothing must be 0 in a channel",
    ),
    "reserved name": (
        edited(SEVERAL, '"work"', '"budget"'),
        "channel[2].name must be text without __, and none of sanitizers, budget,",
    ),
    "name with underscores": (edited(SEVERAL, '"work"', '"a__b"'), "channel[2].name must be text without __"),
    "public with several": (
        edited(SEVERAL, "keep =", 'public = ["town"]\nkeep ='),
        "columns.public has no place here: each [[channel]] names its own",
    ),
    "channel without name": (edited(SEVERAL, 'name = "home"', ""), "channel[0].name is missing"),
    "channel without public": (edited(SEVERAL, 'public = ["age"]', ""), "channel[1].public is missing"),
    "no channels": (
        edited(SMALL, "[columns]", "channel = []\n[columns]"),
        "channel must be a table or an array, got an empty array",
    ),
    "grid without bounds": (edited(GAUSSIAN, "bounds = { age = [0, 100] }", ""), "lacks the column 'age'"),
    "step of zero": (GAUSSIAN + "step = { age = 0 }\n", "channel.step.age must be a finite number > 0, got 0"),
    "one point": (GAUSSIAN + "points = 1\n", "channel.points must be a whole number >= 2, got 1"),
}

# Rules that compare keys with one another, or numbers JSON does not have: the parser's alone, as the schema says.
PARSER_ONLY = {
    "two roles": (
        edited(SMALL, '"name", "age"', '"name", "town"'),
        "listed under columns.public and under columns.drop",
    ),
    "two channels": (
        edited(SEVERAL, 'public = ["job"]', 'public = ["age"]'),
        "'age' is listed under channel[1].public and under channel[2].public",
    ),
    "channel name taken": (edited(SEVERAL, '"work"', '"home"'), "channel[2].name 'home' is taken"),
    "bins of a stranger": (edited(FULL, "wage = [0", "name = [0"), "bins names 'name', which is not a column of this"),
    "bounds of a stranger": (edited(SEVERAL, "step = { age", "step = { town"), "'town' is not a public column of this"),
    "grid lacks a column": (edited(GAUSSIAN, '["age"]', '["age", "wage"]'), "lacks the column 'wage'"),
    "learned edges descend": (
        edited(FULL, "[18, 30, 65]", "{ learned = [65, 18] }"),
        "channel.bins.age.learned must be edges in ascending order",
    ),
    "edges descend": (edited(FULL, "[18, 30, 65]", "[18, 65, 30]"), "must be edges in ascending order"),
    "bounds descend": (edited(GAUSSIAN, "[0, 100]", "[100, 0]"), "[low, high] with low < high"),
    "nan": (edited(SMALL, "0.5", "nan"), "budget.upper must be a number >= 0, got nan"),
    "infinite smoothing": (edited(FULL, "smoothing = 0.5", "smoothing = inf"), "must be a finite number >= 0"),
}


@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_a_valid_policy_is_valid_for_parser_and_schema(text):
    sz.Policy.from_toml(text)
    VALIDATOR.validate(tomllib.loads(text))


def test_limits_by_value_are_the_budgets_and_have_no_multiples():
    text = TIMES.replace("at_most = 1.65", '[budget.at_most]\nhiv = 1.1\n"*" = 2\n')
    budget = sz.Policy.from_toml(text).budget
    assert budget.build() == sz.LiftBudget(at_most={"hiv": 1.1, "*": 2.0}, at_least=0.25)
    assert budget.scaled(2.0) == budget
    assert "hiv" not in repr(sz.Policy.from_toml(text).sanitizer())


def test_limits_beside_an_average_are_one_budget_and_come_back():
    text = SMALL.replace("[budget]", '[budget]\nnotion = "chi2"')
    text += '[budget.limits]\nat_most = { hiv = 1.1, "*" = 2 }\n'
    policy = sz.Policy.from_toml(text + "at_least = 0.25\n")
    limits = sz.LiftBudget(at_most={"hiv": 1.1, "*": 2}, at_least=0.25)
    assert policy.budget.build() == sz.Chi2LiftBudget(lower=1.5, upper=0.5, limits=limits)
    assert policy.budget.scaled(2.0) == policy.budget
    assert "hiv" not in repr(policy.sanitizer())
    for wrong, words in (("", "budget.limits.at_least is missing"), ("at_least = 2\n", "at_least must be a number")):
        with pytest.raises(PolicyError) as caught:
            sz.Policy.from_toml(text + wrong)
        assert words in str(caught.value)
        assert not VALIDATOR.is_valid(tomllib.loads(text + wrong))


@pytest.mark.parametrize(("text", "words"), INVALID.values(), ids=INVALID)
def test_an_invalid_policy_is_refused_by_parser_and_schema(text, words):
    with pytest.raises(PolicyError) as caught:
        sz.Policy.from_toml(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not VALIDATOR.is_valid(tomllib.loads(text))


@pytest.mark.parametrize(("text", "words"), PARSER_ONLY.values(), ids=PARSER_ONLY)
def test_rules_between_keys_are_the_parsers(text, words):
    with pytest.raises(PolicyError) as caught:
        sz.Policy.from_toml(text)
    assert words in str(caught.value)


def test_the_schema_on_disk_is_made_from_the_tables_of_the_parser():
    """Write the file again by what is on the right."""
    text = (files("sanitize") / "policy" / "policy.schema.json").read_text(encoding="utf-8")
    assert text == json.dumps(policy_schema(), indent=1) + "\n"


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


VALUES = [0, 1, 2, -1, 0.5, True, "x", "lift", "ldp", "capacity", "keep", "label", [], ["x"], {}, [1, 2], {"x": [1, 2]}]
KEYS = [
    "notion",
    "upper",
    "eps",
    "nats",
    "mechanism",
    "gap",
    "min_count",
    "bins",
    "channel",
    "public",
    "budget",
    "x",
]


def mutate(rng: random.Random, policy: dict) -> dict:
    """A policy with one key dropped, added, or given another value."""
    made = copy.deepcopy(policy)
    tables = [made]
    for at in tables:
        below = [v for v in at.values() if isinstance(v, dict)]
        below += [e for v in at.values() if isinstance(v, list) for e in v if isinstance(e, dict)]
        tables.extend(below)
    at = rng.choice(tables)
    key = rng.choice([*at, *KEYS]) if at else rng.choice(KEYS)
    if key == "mechanism" and rng.random() < 0.7:
        at[key] = rng.choice(list(MECHANISMS))
    elif key in at and rng.random() < 0.4:
        del at[key]
    else:
        at[key] = copy.deepcopy(rng.choice(VALUES))
    return made


@pytest.mark.slow
def test_parser_and_schema_agree_on_policies_with_an_accident():
    """Both say yes or both say no, on 3000 policies with one or two accidents; more than fifty of them valid."""
    rng = random.Random(2)
    seeds = [tomllib.loads(text) for text in VALID.values()]
    own = ("listed under", "is taken", "is not a column", "not a public column", "lacks the column")
    n_valid = 0
    for _ in range(3000):
        policy = mutate(rng, rng.choice(seeds))
        if rng.random() < 0.5:
            policy = mutate(rng, policy)
        try:
            sz.Policy.from_dict(policy)
            refused = ""
        except PolicyError as error:
            refused = str(error)
        n_valid += not refused
        if not any(words in refused for words in own):
            assert VALIDATOR.is_valid(policy) == (not refused), (refused, policy)
    assert n_valid > 50


def test_every_setting_is_a_parameter_of_its_estimators():
    for name, (estimator, _) in MECHANISMS.items():
        known = inspect.signature(getattr(sanitize.transformers, estimator)).parameters
        asked = {key for key, owners in OWNERS.items() if name in owners}
        assert asked <= set(known)


def test_the_budget_of_each_notion():
    def budget(text):
        lines = f"[columns]\nsensitive = ['a']\npublic = ['b']\n[budget]\n{text}\n"
        return sz.Policy.from_toml(f"version = 1\n{lines}").budget.build()

    assert budget("upper = 1\nlower = inf") == sz.LiftBudget(lower=float("inf"), upper=1)
    in_times = budget("at_most = 1.65\nat_least = 0.37")
    assert in_times.bounds == {"at_most": 1.65, "at_least": 0.37}
    assert in_times == sz.LiftBudget(at_most=1.65, at_least=0.37)
    assert budget("at_most = inf\nat_least = 0") == sz.LiftBudget(lower=float("inf"), upper=float("inf"))
    assert budget("notion = 'ldp'\neps = 2") == sz.LDPBudget(2)
    assert budget("notion = 'l1'\nupper = 1\nlower = 2") == sz.L1LiftBudget(lower=2, upper=1)
    assert budget("notion = 'chi2'\nupper = 1\nlower = 2") == sz.Chi2LiftBudget(lower=2, upper=1)
    assert budget("notion = 'alpha'\nalpha = 3\nupper = 1\nlower = 2") == sz.AlphaLiftBudget(3, lower=2, upper=1)
    assert sz.Policy.from_toml(EXPONENTIAL).budget.build() == CapacityBudget(0.5)


def test_the_estimator_has_every_setting():
    made = sz.Policy.from_toml(FULL).sanitizer(random_state=7)
    assert type(made) is sanitize.transformers.OptimalRandomResponse
    given = made.get_params()
    assert given["budget"] == sz.LDPBudget(2)
    assert (given["sensitive"], given["public"]) == (["illness", "wage"], ["town", "age"])
    assert given["bins"] == {"age": [18, 30, 65], "wage": [0, 1000.5]}
    assert (given["min_count"], given["smoothing"]) == (5, 0.5)
    assert (given["gap"], given["effort"], given["side_columns"], given["time_limit"]) == (1e-4, 1e6, ("town",), 60)
    assert (given["missing"], given["handle_unknown"], given["random_state"]) == ("error", "error", 7)
    grid = sz.Policy.from_toml(GAUSSIAN).sanitizer().get_params()
    assert (grid["budget"], grid["bounds"]) == (CapacityBudget(0.5), {"age": [0, 100]})


def test_several_channels_and_kept_columns_are_a_joint_release():
    made = sz.Policy.from_toml(SEVERAL).sanitizer(random_state=3)
    assert type(made) is sanitize.transformers.JointRelease
    assert made.budget == sz.AlphaLiftBudget(2.0, lower=float("inf"), upper=0.5)
    assert (made.sensitive, made.keep, made.random_state) == (["illness"], ["year"], 3)
    assert [(name, type(part).__name__, part.public, part.budget) for name, part in made.sanitizers] == [
        ("home", "Watchdog", ["town", "floor"], None),
        ("ages", "GaussianChannel", ["age"], CapacityBudget(0.3)),
        ("work", "RandomizedResponse", ["job"], sz.LDPBudget(1.0)),
    ]
    made = sz.Policy.from_toml(KEEPING).sanitizer()
    assert [name for name, _ in made.sanitizers] == ["release"]
    assert made.sanitizers[0][1].budget is None


def test_a_joint_policy_releases_a_table():
    text = """
    version = 1
    [columns]
    sensitive = ["survived"]
    keep = ["age"]
    [budget]
    upper = 0.7
    lower = 1.0
    [[channel]]
    name = "class"
    public = ["class"]
    mechanism = "watchdog"
    [[channel]]
    name = "sex"
    public = ["sex"]
    mechanism = "randomized-response"
    budget = { notion = "ldp", eps = 0.5 }
    """
    df = sz.datasets.load_titanic()
    released = sz.Policy.from_toml(text).sanitizer(random_state=0).fit_transform(df)
    assert list(released.columns) == ["class", "sex", "age"]
    assert sz.last_report(released).ok


def test_a_policy_without_settings_uses_the_defaults_of_the_estimator():
    made = sz.Policy.from_toml(SMALL).sanitizer()
    same = sanitize.transformers.SubsetMerging(
        sz.LiftBudget(lower=1.5, upper=0.5), sensitive=["illness"], public=["town", "floor"]
    )
    assert made.get_params() == same.get_params()


def test_a_source_must_have_exactly_the_columns_listed():
    policy = sz.Policy.from_toml(SMALL)
    policy.check(["age", "name", "floor", "town", "illness"])
    with pytest.raises(ColumnError, match="does not list the column 'zip' of the table; add it to"):
        policy.check([*policy.columns, "zip"])
    with pytest.raises(ColumnError, match="no column 'town' in the table; did you mean 'towns'"):
        policy.check(["age", "name", "floor", "towns", "illness"])
    with pytest.raises(ColumnError, match="two columns named 'town'"):
        policy.check([*policy.columns, "town"])


def test_a_policy_is_read_from_a_file(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(FULL, encoding="utf-8-sig")
    policy = sz.Policy.read(path)
    assert policy.ledger == tmp_path / "releases.json"
    assert policy.receipt == tmp_path / "private" / "released.receipt"
    assert policy.workers == 2
    assert pickle.loads(pickle.dumps(policy)) == policy
    for content, words in [
        (b"version = = 1", "policy.toml is not TOML: "),
        (b"\xff\xfe", "not UTF-8"),
        (b"#" * (1 << 21), "longer than 1 MiB"),
        (b"version = 1", "policy.toml: columns is missing"),
    ]:
        path.write_bytes(content)
        with pytest.raises(PolicyError) as caught:
            sz.Policy.read(path)
        assert words in str(caught.value)
    with pytest.raises(PolicyError, match=r"nowhere\.toml cannot be read"):
        sz.Policy.read(tmp_path / "nowhere.toml")


def test_the_key_of_an_error_travels_with_it():
    with pytest.raises(PolicyError) as caught:
        sz.Policy.from_toml(edited(SMALL, "0.5", "-1"))
    assert caught.value.key == "budget.upper"
    assert pickle.loads(pickle.dumps(caught.value)).key == "budget.upper"


def test_the_policy_of_the_readme_is_valid():
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    sz.Policy.from_toml(text).sanitizer()
    VALIDATOR.validate(tomllib.loads(text))


def test_a_frozen_policy():
    with pytest.raises(AttributeError):
        sz.Policy.from_toml(SMALL).rows = "keep"


def test_confidence_goes_to_the_estimator():
    text = SMALL + "[channel]\nconfidence = 0.95\n"
    VALIDATOR.validate(tomllib.loads(text))
    assert sz.Policy.from_toml(text).sanitizer().confidence == 0.95


@pytest.mark.parametrize("name", [*(estimator for estimator, _ in MECHANISMS.values()), "JointRelease"])
def test_a_recipe_has_the_parameters_of_its_estimator(name):
    estimator, recipe = getattr(sanitize.transformers, name), recipe_type(name)
    assert estimator.recipe_type is recipe
    parameters = dict(inspect.signature(recipe).parameters)
    parameters.pop("summaries", None)  # set by linked tables alone
    assert inspect.signature(estimator) == inspect.signature(recipe).replace(parameters=list(parameters.values()))
