"""Latent classes in whole numbers: exact memberships, exact draws, and rows that depend on their number alone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import type_cases
from scipy.stats import chisquare
from threadpoolctl import threadpool_limits

import sanitize as sz
import sanitize.release.recipes.classes as recipe
from sanitize._util.declared import SchemaError, read, seal_text, to_builtin
from sanitize._util.limits import BLOCK_ROWS
from sanitize.errors import ColumnError
from sanitize.release.classes import UNIT, LatentClassModel, _fit, couple_classes
from sanitize.release.classes._column import N_SHARES, ClassColumn
from sanitize.release.classes._integers import STEPS, draw_states, powers_of_two
from sanitize.release.classes._mixture import Mixture
from sanitize.release.classes._numbers import threshold_counts
from sanitize.release.classes._partition import ClassPartition

KEY = sz.NoiseKey(bytes(range(32)))
# What NumPy would do by newer vector instructions, under any of the names that its versions give them.
VECTORS = "AVX2 FMA3 AVX512F AVX512_SKX AVX512_ICL X86_V3 X86_V4"
RARE = 1e-6  # rate of false alarms of each statistical test below; all seeds are fixed


def people(n: int = 1500, seed: int = 0) -> dict[str, np.ndarray]:
    """Columns that lean on one another, one of which another one determines."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.4, 0.3, 0.2, 0.1])
    rooms = np.clip(rng.poisson(2 + (town == "A")), 0, 6)
    income = np.round(rng.gamma(3, 900, n) + 500 * rooms, 2)
    pet = np.where(rng.random(n) < 0.1 + 0.1 * rooms, "cat", "dog")
    return {
        "town": town,
        "region": np.where(np.isin(town, ["A", "B"]), "n", "s"),
        "rooms": rooms,
        "income": income,
        "pet": pet,
    }


def generated(model: LatentClassModel, table, seed: int = 0) -> pd.DataFrame:
    words = sz.NoiseKey.from_seed(seed)
    rows = model.decode(model.assign(table, words), words)
    return pd.DataFrame({name: column.to_pandas() for name, column in rows.items()})


@pytest.fixture(scope="module")
def model() -> LatentClassModel:
    return LatentClassModel.fit(people(), KEY)


def exact_power(below: int) -> int:
    """2**(24 - below / STEPS), rounded down, by decimals of 60 digits; below 24 bits it is 0."""
    getcontext().prec = 60
    return int(Decimal(2) ** (24 - Decimal(below % STEPS) / STEPS)) >> (below // STEPS)


def test_powers_of_two_are_exact():
    below = np.array(
        [[0, 1, 511, 512, 1023, 1024, 5000, 23 * STEPS, 24 * STEPS + 1, 63 * STEPS, 200 * STEPS]], np.int32
    )
    assert powers_of_two(-below)[0].tolist() == [exact_power(int(b)) for b in below[0]]


def test_memberships_are_those_of_python_integers(model):
    table = {name: column[:40] for name, column in people(seed=1).items()}
    fast = model.memberships(table)
    assert (fast.sum(axis=1) == UNIT).all()
    assert (fast >= 0).all()
    codes = [writer.column.encode(table[writer.column.name]).tolist() for writer in model.writers]
    for row in range(40):
        logs = [int(log) for log in model.log_sizes]
        for writer, own in zip(model.writers, codes, strict=True):
            logs = [log + int(more) for log, more in zip(logs, writer.chances[own[row]], strict=True)]
        weights = [exact_power(max(logs) - log) for log in logs]
        totals = [sum(weights[: k + 1]) * UNIT // sum(weights) for k in range(len(weights))]
        assert fast[row].tolist() == np.diff(totals, prepend=0).tolist()


def test_memberships_are_those_of_the_mixture(model):
    """Squares of P(class | row) but for rounding, from parameters as fractions."""
    table = {name: column[:20] for name, column in people(seed=2).items()}
    logs = np.repeat(model.log_sizes[None].astype(float), 20, axis=0)
    for writer in model.writers:
        logs += writer.chances[writer.column.encode(table[writer.column.name])]
    chances = 2.0 ** (logs / STEPS)
    chances /= chances.sum(axis=1, keepdims=True)
    assert np.abs(model.memberships(table) / UNIT - chances).max() < 3 / UNIT


def test_classes_are_drawn_as_the_memberships_say(model):
    row = {name: np.repeat(column[:1], 20_000) for name, column in people(seed=3).items()}
    expected = model.memberships(row)[0] / UNIT * 20_000
    observed = np.bincount(model.assign(row, sz.NoiseKey.from_seed(4)), minlength=model.n_classes)
    often = expected >= 5
    assert not observed[expected == 0].any()
    counts = [np.append(one[often], one[~often].sum()) for one in (observed, expected)]
    counts = [one[counts[1] > 0] for one in counts]
    assert chisquare(*counts).pvalue > RARE if len(counts[0]) > 1 else True


def test_states_are_drawn_as_their_weights_say():
    weights = np.array([[3, 0, 1 << 24, 1 << 23]], np.int64)
    words = sz.NoiseKey.from_seed(0).words_at(0, np.arange(30_000)) >> np.uint64(32)
    observed = np.bincount(draw_states(np.repeat(weights, 30_000, axis=0), words), minlength=4)
    assert observed[1] == 0
    assert chisquare(observed[2:], observed[2:].sum() * weights[0, 2:] / weights[0, 2:].sum()).pvalue > RARE


def slow_row(model: LatentClassModel, code: int, words, row: int) -> list[int]:
    """Outcomes of one generated row, one number at a time."""

    def draw(weights: list[int], word: int) -> int:
        left = word * sum(weights) >> 32
        place = 0
        while left >= weights[place]:
            left -= weights[place]
            place += 1
        return place

    groups: list[int] = []
    outcomes: list[int] = []
    for number, writer in enumerate(model.writers):
        word, more = (int(words.words_at((1 << 21) + 16 + 4 * number + lane, np.array([row]))[0]) for lane in (0, 2))
        logs = [int(log) for log in writer.base[code]]
        for given, slope in zip(writer.given, writer.slopes, strict=True):
            logs = [log + int(add) for log, add in zip(logs, slope[groups[given]], strict=True)]
        ruled = -1
        if writer.rule is not None:
            first, last = writer.rule.first[outcomes[writer.rule.determiner] :][:2].tolist()
            ruled = writer.rule.outcomes[first + draw(writer.rule.weights[first:last].tolist(), more >> 32)]
        if ruled == -2:
            logs[-1] = -(10**9)
        group = draw([exact_power(max(logs) - log) for log in logs], word >> 32)
        first, last = writer.column.first[group : group + 2].tolist()
        weights = writer.column.weights[first:last].tolist()
        if (refinement := writer.refinement) is not None:
            nearest = model.writers[refinement.determiner].column
            place = int(nearest.bins[outcomes[refinement.determiner]]) * writer.column.n_groups + group
            weights = refinement.weights[slice(*refinement.first[place : place + 2])].tolist()
        drawn = first + draw(weights, word & (1 << 32) - 1)
        outcomes.append(int(drawn if ruled < 0 else ruled))
        groups.append(int(writer.column.group_of_outcome[outcomes[-1]]))
    return outcomes


def test_rows_are_those_of_a_slow_twin(model):
    assert any(writer.rule is not None for writer in model.writers)
    words, codes = sz.NoiseKey.from_seed(7), np.arange(60) % model.n_classes
    rows = model.decode(codes, words)
    slow = np.array([slow_row(model, int(code), words, row) for row, code in enumerate(codes)]).T
    for number, writer in enumerate(model.writers):
        more = words.words_at((1 << 21) + 16 + 4 * number + 1, np.arange(60))
        assert writer.column.write(slow[number], more).equals(rows[writer.column.name])


def test_a_row_depends_on_its_number_alone(model):
    n = 2 * BLOCK_ROWS // 8
    table = {name: np.resize(column, n) for name, column in people().items()}
    words = sz.NoiseKey.from_seed(8)
    classes = model.assign(table, words, workers=2)
    rows = model.decode(classes, words, workers=2)
    at = n // 3
    part = {name: column[at : at + 50] for name, column in table.items()}
    assert (model.assign(part, words, start=at) == classes[at : at + 50]).all()
    again = model.decode(classes[at : at + 50], words, start=at)
    assert all(again[name].to_pylist() == rows[name][at : at + 50].to_pylist() for name in rows)


def test_a_model_is_stored_and_read_again(model):
    text = json.dumps(to_builtin(model))
    again = read(LatentClassModel, json.loads(text))
    table, words = people(seed=5), sz.NoiseKey.from_seed(6)
    assert (again.memberships(table) == model.memberships(table)).all()
    classes = model.assign(table, words)
    assert all(
        again.decode(classes, words)[name].equals(column) for name, column in model.decode(classes, words).items()
    )
    assert json.dumps(to_builtin(again)) == text
    assert seal_text(model).count('"sha256"') == 1


def damaged(model):
    """Models that no fit makes, by what is wrong."""
    writer, *others = model.writers
    column = writer.column
    rule = next(writer.rule for writer in model.writers if writer.rule is not None)
    yield "no columns", lambda: model.__replace__(writers=(), names=())
    yield "a column twice", lambda: model.__replace__(writers=(writer, writer, *others[1:]))
    yield "classes", lambda: model.__replace__(log_sizes=model.log_sizes[:-1])
    yield "sizes above one", lambda: model.__replace__(log_sizes=model.log_sizes + 10**6)
    yield "groups", lambda: writer.__replace__(chances=writer.chances[:-1])
    yield "logarithms", lambda: writer.__replace__(base=writer.base - 10**6)
    yield "a later column", lambda: model.__replace__(writers=(*model.writers[1:], writer))
    yield "weights below 0", lambda: column.__replace__(weights=-column.weights)
    yield "no weight", lambda: column.__replace__(weights=0 * column.weights)
    yield "places", lambda: column.__replace__(places=column.places + len(column.values) + 2)
    yield "starts", lambda: column.__replace__(first=column.first[::-1].copy())
    yield "values twice", lambda: column.__replace__(values=pa.concat_arrays([column.values, column.values]))
    yield "rules below 0", lambda: rule.__replace__(weights=-rule.weights)
    yield "an unknown outcome", lambda: rule.__replace__(outcomes=rule.outcomes - 7)


def test_a_damaged_model_is_refused(model):
    passed = []
    for what, make in damaged(model):
        try:
            make()
        except SchemaError:
            continue
        passed.append(what)
    assert not passed


def test_a_damaged_rule_is_refused_by_its_model(model):
    place = next(k for k, writer in enumerate(model.writers) if writer.rule is not None)
    writer = model.writers[place]
    far = writer.rule.__replace__(outcomes=writer.rule.outcomes + 10**6)
    for rule in (far, writer.rule.__replace__(determiner=place)):
        writers = (*model.writers[:place], writer.__replace__(rule=rule), *model.writers[place + 1 :])
        with pytest.raises(SchemaError):
            model.__replace__(writers=writers)


@pytest.mark.parametrize("name", type_cases.COLUMNS)
def test_every_type_is_written_as_it_is_or_refused(name):
    column = type_cases.COLUMNS[name]
    table = {"c": column, "x": type_cases.OTHERS["x"]}
    try:
        model = LatentClassModel.fit(table, KEY)
    except ColumnError:
        return
    words = sz.NoiseKey.from_seed(1)
    rows = model.decode(model.assign(table, words), words)["c"]
    assert len(rows) == len(column)
    model = read(LatentClassModel, json.loads(json.dumps(to_builtin(model))))
    assert model.decode(model.assign(table, words), words)["c"].equals(rows)
    dtype = rows.type.value_type if pa.types.is_dictionary(rows.type) else rows.type
    stored = column.type.storage_type if isinstance(column.type, pa.BaseExtensionType) else column.type
    stored = stored.value_type if pa.types.is_dictionary(stored) else stored
    kinds = [pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_temporal, pa.types.is_boolean]
    assert [kind(dtype) for kind in kinds] == [kind(stored) for kind in kinds]
    assert not any(kind(dtype) for kind in kinds[:4]) or dtype == stored


@pytest.mark.parametrize("n", [0, 1, 2, 5, 30])
def test_few_rows_are_enough_for_some_model(n):
    table = {name: column[:n] for name, column in people().items()}
    model = LatentClassModel.fit(table, KEY)
    assert (model.memberships(people()).sum(axis=1) == UNIT).all()
    assert len(generated(model, people())) == 1500


def test_unseen_and_missing_values_have_a_class(model):
    table = {name: column[:3].astype(object) for name, column in people().items()}
    table["town"][:] = ["unheard of", None, "A"]
    table["income"][:] = [np.inf, None, -1e300]
    table["rooms"] = np.array([10**15, -5, 0])
    assert (model.memberships(table).sum(axis=1) == UNIT).all()
    with pytest.raises(ColumnError, match="'income' is string, but was double"):
        model.memberships(table | {"income": ["a", "b", "c"]})


def test_what_a_column_determines_stays_so():
    n = 6_000
    rng = np.random.default_rng(0)
    code = 1000 + 7 * rng.integers(0, 60, n)
    age = rng.integers(0, 90, n)
    sex = rng.choice(["f", "m"], n)
    role = np.where(rng.random(n) < 0.3, np.where(sex == "m", "husband", "wife"), "single")
    table = pd.DataFrame({"sex": sex, "role": role, "age": age, "name": [f"N{c}" for c in code], "code": code})
    table["income"] = np.where(age < 15, np.nan, rng.gamma(3, 900, n).round(-1))
    columns = {name: table[name].to_numpy() for name in table}
    rows = generated(LatentClassModel.fit(columns, KEY), columns)
    assert not ((rows.role == "husband") & (rows.sex == "f")).any()
    assert not ((rows.role == "wife") & (rows.sex == "m")).any()
    assert not (rows.income.notna() & (rows.age < 15)).any()
    assert not (rows.income.isna() & (rows.age >= 15)).any()
    assert (rows.name == "N" + rows.code.astype(str)).mean() > 0.99


CODES = {
    "numbers": lambda code: 1000 + 7 * code,
    "texts": lambda code: np.char.add("H", code.astype(str)),
    "decimals": lambda code: code / 4,
    "days": lambda code: np.datetime64("2000-01-01") + (3 * code).astype("timedelta64[D]"),
}


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize(
    "n_values",
    [40, pytest.param(300, marks=pytest.mark.slow), pytest.param(2000, marks=pytest.mark.slow(sampled=False))],
)
def test_columns_that_a_code_determines_stay_so(kind, n_values):
    """A hospital has one county, a number of beds and a day of opening, however it is named."""
    rng = np.random.default_rng(0)
    hospital, county = rng.permutation(np.repeat(np.arange(n_values), 60)), rng.integers(0, 20, n_values)
    beds = rng.integers(50, 900, n_values)
    opened = np.datetime64("1900-01-01") + rng.integers(0, 40_000, n_values).astype("timedelta64[D]")
    law = {"county": np.char.add("C", county.astype(str)), "beds": beds, "opened": opened}
    columns = {"hospital": CODES[kind](rng.permutation(n_values))[hospital]}
    columns |= {name: values[hospital] for name, values in law.items()} | {"age": rng.integers(18, 90, len(hospital))}
    rows = generated(LatentClassModel.fit(columns, KEY), columns).astype(str)
    raw = pd.DataFrame(columns).astype(str)
    known = rows[rows["hospital"].isin(raw["hospital"])]
    assert len(known) >= 0.99 * len(rows)
    right = raw.drop_duplicates("hospital").set_index("hospital").loc[known["hospital"]]
    for name in law:
        assert (known[name].to_numpy() == right[name].to_numpy()).mean() >= 0.99, name


@pytest.mark.parametrize("n_exceptions", [0, 1, 5])
def test_a_code_determines_a_name_though_a_sample_has_ten_rows_of_each(n_exceptions, monkeypatch):
    """The sample finds the rule and all rows measure it, so that no exception of the first code is written either."""
    monkeypatch.setattr(_fit, "_RULE_ROWS", 1000)
    rng = np.random.default_rng(0)
    code = rng.permutation(np.repeat(np.arange(100), 60))
    region = code % 20
    region[np.flatnonzero(code == 0)[:n_exceptions]] = 7
    table = {"town": np.char.add("T", code.astype(str)), "region": np.char.add("R", region.astype(str))}
    rows = generated(LatentClassModel.fit(table, KEY), table)
    assert ("R" + (rows.town.str[1:].astype(int) % 20).astype(str) == rows.region).all()


@pytest.mark.parametrize("n_exceptions", [1, 3, 10])
def test_ten_exceptions_are_never_written(n_exceptions):
    """Thirty thousand rows are generated, so that a share of one row in 1,500 would be seen."""
    table = people()
    table["region"][np.flatnonzero(table["town"] == "A")[:n_exceptions]] = "s"
    rows = generated(LatentClassModel.fit(table, KEY), {name: np.tile(column, 20) for name, column in table.items()})
    assert ((rows.region == "n") == rows.town.isin(["A", "B"])).all()


def test_values_of_few_people_are_never_written():
    table = people()
    table["town"] = np.where(np.arange(1500) < 10, "Zurich", table["town"])
    table["rooms"] = np.where(np.arange(1500) < 10, 77, table["rooms"])
    model = LatentClassModel.fit(table, KEY)
    assert "Zurich" not in model.values["town"].to_pylist()
    assert 77 not in model.values["rooms"].to_pylist()
    rows = generated(model, table)
    assert set(rows.town) <= {"A", "B", "C", "D", "(other)"}
    assert rows.rooms.max() < 77


def test_a_value_is_written_in_as_many_of_its_rows_as_the_guide_says():
    page = " ".join((Path(__file__).parents[3] / "docs/guide/latent_classes.md").read_text(encoding="utf-8").split())
    rows = np.array([10, 15, 20, 23, 24, 100])
    shares = [f"{share:.0%}"[:-1] for share in threshold_counts(rows) / rows]
    assert shares[0] == "0"
    assert shares[-3] != shares[-2] == shares[-1] == "100"
    assert "A value in ten rows or fewer is never written. A value in 24 rows or more" in page
    assert f"{shares[1]} % at 15 rows, {shares[2]} % at 20." in page


def test_a_rare_value_is_written_as_its_ancestor():
    table = people()
    table["town"] = np.where(np.arange(1500) < 30, np.resize(["x1", "x2", "x3", "x4"], 1500), table["town"])
    above = {
        "town": {town: ("X" if town[0] == "x" else town, "*") for town in ["A", "B", "C", "D", "x1", "x2", "x3", "x4"]}
    }
    model = LatentClassModel.fit(table, KEY, above=above)
    assert {"X", "A"} <= set(model.values["town"].to_pylist())
    assert set(generated(model, table).town) <= {"A", "B", "C", "D", "X", "(other)"}
    assert not model.differs(table, None, {}, above)
    other = {"town": dict.fromkeys(above["town"], ("Y", "*"))}
    assert "hierarchy of 'town'" in model.differs(table, None, {}, other)


@pytest.mark.parametrize("rows", [8, 12, 15, 20])
def test_where_a_village_is_too_small_its_region_is_written(rows):
    """Regions have hundreds of rows; at 15 rows a village, 79 % of the rows went to `(other)` before."""
    rng = np.random.default_rng(0)
    region = np.repeat(np.arange(20), 20)
    village = rng.permutation(np.repeat(np.arange(400), rows))
    names = np.char.add("V", rng.permutation(400).astype(str))
    regions = np.char.add("R", region.astype(str))
    table = {"town": names[village], "county": regions[village]}
    table["ill"] = np.where(rng.random(len(village)) < 0.02 + 0.04 * region[village], "yes", "no")
    above = {"town": {name: (own, "*") for name, own in zip(names.tolist(), regions.tolist(), strict=True)}}
    model = LatentClassModel.fit(table, KEY, above=above)
    assert not model.differs(table, None, {}, above)
    out = generated(model, table)
    own = float(threshold_counts(np.array(rows)) / rows)
    assert (out.town == "(other)").mean() < 0.01
    assert out.town.isin(names).mean() == pytest.approx(own, abs=0.03)
    assert out.town.isin(regions).mean() == pytest.approx(1 - own, abs=0.03)
    written = out.town.map({name: own for name, (own, _) in above["town"].items()}).fillna(out.town)
    assert (written == out.county).mean() > 0.99  # the county follows from the region that is written
    before, after = (
        pd.Series(ill == "yes").groupby(county).mean()
        for ill, county in ((table["ill"], table["county"]), (out.ill, written))
    )
    assert before.corr(after) > 0.9


def expected_rows(rows: dict[str, int], above: dict[str, tuple[str, ...]]) -> pd.Series:
    """Rows of each text that a column is written as, on average."""
    values = pa.array(sorted(rows))
    counts = np.array([rows[value] for value in values.to_pylist()])
    codes = np.repeat(np.arange(len(values)), counts)
    column = ClassColumn.fit(values.take(pa.array(codes)), "town", values, codes, counts, 8, above=above)
    groups = np.bincount(column.value_groups(values)[:-1], counts, column.n_groups)
    shares = column.weights / np.add.reduceat(column.weights, column.first[:-1])[column.group_of_outcome]
    written = [column.values[int(place)].as_py() if place >= 0 else "" for place in column.places]
    return pd.Series(shares * groups[column.group_of_outcome]).groupby(written).sum()


@pytest.mark.parametrize("seed", range(4))
def test_a_person_more_in_a_village_is_seen_no_better_than_where_a_value_has_no_ancestors(seed):
    """Of any name the root of the expected rows, whose noise is 1/2, moves as far as there, or 5 % more."""
    rng = np.random.default_rng(seed)
    names = [f"V{k}" for k in range(8)]
    above = {name: (f"R{k // 3}", f"S{k // 6}", "*") for k, name in enumerate(names)}
    moved, alone = [], np.sqrt(threshold_counts(np.arange(60)))
    for _ in range(60):
        rows = dict(zip(names, rng.integers(1, 26, 8).tolist(), strict=True))
        more = rows | {(chosen := names[int(rng.integers(8))]): rows[chosen] + 1}
        one, other = (np.sqrt(expected_rows(table, above)) for table in (rows, more))
        moved.append(one.sub(other, fill_value=0).drop("(other)").abs().max())
    assert max(moved) <= 1.05 * np.diff(alone).max()


@pytest.mark.parametrize("n_rows", [1, 10])
def test_an_ancestor_of_few_people_is_never_written(n_rows):
    """A large village has its own name, so that its region would be that of the people beside it alone."""
    above = dict.fromkeys(["large", "small", "a", "b"], ("region", "country"))
    above |= dict.fromkeys(["a", "b"], ("district", "country"))
    found = expected_rows({"large": 900, "small": n_rows, "a": 900, "b": 900}, above)
    assert not {"small", "region", "district", "country"} & {*found[found > 0].index}
    assert found["(other)"] == pytest.approx(n_rows, rel=1e-3)


@pytest.mark.parametrize(("digits", "dtype"), [(2, "float64"), (0, "float32"), (1, "float32")])
@pytest.mark.parametrize("amount", [2e8, 150_000.0, 0.123456])
def test_one_number_decides_no_decimals(amount, digits, dtype):
    table = people()
    table["income"] = np.round(table["income"], digits)
    table["income"][0] = amount
    table["income"] = table["income"].astype(dtype)
    written = generated(LatentClassModel.fit(table, KEY), table).income.astype(float)
    assert np.abs(written - written.round(digits)).max() < 10.0**-digits / 100


def test_dates_of_the_first_and_the_last_year_are_kept():
    days = pa.array(np.resize([-719_162, 0, 2_932_896], 300).astype(np.int32)).cast(pa.date32())
    model = LatentClassModel.fit({"day": days}, KEY)
    assert {str(day) for day in generated(model, {"day": days}).day} >= {"0001-01-01", "9999-12-31"}


def test_infinite_numbers_are_values_of_their_own():
    table = people()
    table["income"] = np.where(np.arange(1500) % 5 == 0, np.inf, table["income"])
    written = generated(LatentClassModel.fit(table, KEY), table).income
    assert 0.1 < np.isinf(written).mean() < 0.3
    assert written[np.isfinite(written)].max() < 20_000


def test_weights_say_how_many_people_a_row_stands_for():
    table = people()
    weights = np.where(table["town"] == "D", 10.0, 1.0)
    alike = LatentClassModel.fit(table, KEY, weights=np.full(1500, 3.0))
    assert to_builtin(alike) == to_builtin(LatentClassModel.fit(table, KEY))
    model = LatentClassModel.fit(table, KEY, weights=weights)
    share = (weights * (table["town"] == "D")).sum() / weights.sum()
    memberships = model.memberships(table) / UNIT
    classes = (memberships * weights[:, None]).sum(axis=0) / weights.sum()
    drawn = np.random.default_rng(0).choice(model.n_classes, 4000, p=classes / classes.sum())
    written = model.decode(drawn, KEY)["town"].to_pandas()
    assert abs((written == "D").mean() - share) < 5 * (share * (1 - share) / 4000) ** 0.5


def test_rows_to_learn_from_are_the_only_ones():
    table, half = people(), np.arange(1500) % 2 == 0
    other = {name: np.where(half, column, column[::-1]) for name, column in table.items()}
    first, second = (LatentClassModel.fit(one, KEY, rows=half) for one in (table, other))
    assert to_builtin(first) == to_builtin(second)
    assert first.n_rows == 750


def test_declared_edges_are_those_of_the_groups():
    model = LatentClassModel.fit(people(), KEY, edges={"income": [0, 2000, 4000, 10_000]})
    column = model.columns[model.names.index("income")]
    assert column.edges.to_pylist() == [0, 2000, 4000, 10_000]
    assert column.n_groups == 4


def test_many_declared_edges_share_groups():
    edges = list(range(0, 20_000, 25))
    column = LatentClassModel.fit(people(), KEY, edges={"income": edges}).columns[3]
    assert column.edges.to_pylist() == edges
    assert column.n_groups <= 101


def tops(numbers: np.ndarray) -> Counter[float]:
    """Highest edge of a column of numbers by twenty shares that a key may draw, and how often each comes."""
    values, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    drawn = [np.full(N_SHARES, share) for share in (np.arange(20) + 0.5) / 20]
    given = pa.array(numbers), "x", pa.array(values), codes, counts, 8
    return Counter(ClassColumn.fit(*given, shares=one).edges[-1].as_py() for one in drawn)


@pytest.mark.parametrize("seed", range(3))
def test_a_largest_value_moves_the_top_edge_one_time_in_twenty(seed):
    """So whoever knows all others and reads the largest number written is right with at most .55; .5 is guessing."""
    numbers = np.random.default_rng(seed).lognormal(8, 1, 500)
    planted = np.append(numbers[1:], 2 * numbers.max())
    before, after = tops(numbers), tops(planted)
    assert len(before) > 5
    assert (before - after).total() <= 1


@pytest.mark.parametrize("mark", [-1e6, 1e9])
def test_a_number_in_the_gap_beside_a_mark_moves_its_edge_one_time_in_twenty(mark):
    """The gap ends as the whole column does."""

    def ends(numbers: np.ndarray) -> Counter[float]:
        values, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        drawn = [np.full(N_SHARES, share) for share in (np.arange(20) + 0.5) / 20]
        given = pa.array(numbers), "x", pa.array(values), codes, counts, 8
        edges = [ClassColumn.fit(*given, shares=one).edges.to_pylist() for one in drawn]
        return Counter(one[2] if mark < 0 else one[-3] for one in edges)

    numbers = np.random.default_rng(0).lognormal(8, 1, 500)
    before, after = (ends(np.append(column, [mark] * 100)) for column in (numbers, np.append(numbers[1:], mark / 2)))
    assert len(before) > 2
    assert min(before) >= numbers.min()
    assert max(before) <= numbers.max()
    assert (before - after).total() <= 1


def test_the_key_draws_where_edges_lie():
    edges = [LatentClassModel.fit(people(400), sz.NoiseKey.from_seed(seed)).columns[3].edges for seed in (0, 0, 1)]
    assert edges[0] == edges[1] != edges[2]


def test_of_classes_that_all_have_equally_few_rows_one_stays(monkeypatch):
    """Eighteen rows in two classes of nine: without both there is none."""
    monkeypatch.setattr(ClassPartition, "assign", lambda self, *_, **__: np.arange(18) % self.n_cells)
    df = pd.DataFrame({"s": [0, 1, 1] * 6, "x": ["a", "b"] * 9, "y": ["c", "d"] * 9})
    release = sz.LatentClassRelease(sz.LiftBudget(at_most=5, at_least=0), sensitive="s", n_classes=2, random_state=0)
    assert release.fit(df).bare_release().layout.partition.n_cells == 1


@pytest.mark.slow
@pytest.mark.parametrize("switch", [{"OPENBLAS_CORETYPE": "Prescott"}, {"NPY_DISABLE_CPU_FEATURES": VECTORS}])
def test_another_processor_writes_the_same_rows_by_the_same_integers(switch):
    """Fit, classes and rows in another process, whose linear algebra or vector instructions are older ones."""
    code = "import test_latent_classes as t; print(t.fingerprint())"
    env = os.environ | switch | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == fingerprint()


def fingerprint() -> str:
    table = people(300)
    model = LatentClassModel.fit(table, KEY, n_classes=4)
    rows = pa.table(model.decode(model.assign(table, KEY), KEY)).to_pylist()
    return hashlib.sha256(repr((json.dumps(to_builtin(model), default=str), rows)).encode()).hexdigest()


def test_threads_of_linear_algebra_change_nothing():
    with threadpool_limits(2):
        two = to_builtin(LatentClassModel.fit(people(), KEY))
    with threadpool_limits(1):
        assert to_builtin(LatentClassModel.fit(people(), KEY)) == two


def test_a_class_is_what_rows_have_in_common():
    """Two kinds of rows, told apart by every column, are different classes."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 1000)
    codes = np.stack([np.where(rng.random(1000) < 0.9, kind, 1 - kind) for _ in range(6)], axis=1).astype(np.int32)
    mixture = Mixture.fit(codes, [2] * 6, 2, np.ones(1000), rng.random((2, 1000, 2)))
    assert mixture.settled
    table = np.exp(mixture.log_chances).reshape(6, 2, 2)[:, 1]
    assert np.abs(np.sort(table, axis=1) - [0.1, 0.9]).max() < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_classes_are_written_as_often_as_rows_have_them(seed):
    rng = np.random.default_rng(seed)
    n_symbols, n_classes = rng.integers(1, 9, 2)
    joint = rng.integers(0, 50, (n_symbols, n_classes)) + np.eye(n_symbols, n_classes, dtype=int) * 100 + 1
    chances = couple_classes(joint, np.eye(joint.shape[1])) / UNIT
    assert (chances.sum(axis=1) == 1).all()
    of_symbol, given = joint.sum(axis=1) / joint.sum(), joint / joint.sum(axis=1, keepdims=True)
    assert np.abs(of_symbol @ chances - joint.sum(axis=0) / joint.sum()).max() < n_symbols / UNIT
    same, behind = ((of_symbol[:, None] * given * one).sum() for one in (chances, given))
    assert same >= behind - n_symbols / UNIT


@pytest.mark.parametrize("seed", range(5))
def test_the_written_class_is_the_most_similar_that_frequencies_allow(seed):
    """Against all ways to deal whole classes to symbols, which are as many as there are permutations."""
    rng = np.random.default_rng(seed)
    similarity = rng.normal(size=(4, 4))
    symbols = rng.permutation(4)
    joint = np.zeros((4, 4), int)
    joint[symbols, np.arange(4)] = 100  # each symbol is of one class
    chances = couple_classes(joint, similarity) / UNIT
    best = max(sum(similarity[i, dealt[i]] for i in range(4)) for dealt in permutations(range(4)))
    assert (chances[symbols] * similarity).sum() == pytest.approx(best)


@pytest.mark.parametrize("rows", [1e-6, 1e-9, 1e-12, 1e-15])
def test_a_symbol_that_is_hardly_ever_released_is_written_too(rows):
    """Its share may be below the tolerance of the linear program, which then writes nothing for it."""
    rng = np.random.default_rng(0)
    joint = rng.integers(1, 50, (12, 5)).astype(float)
    joint[5:9] *= rows
    assert (couple_classes(joint, rng.normal(size=(5, 5))).sum(axis=1) == UNIT).all()


def test_a_value_that_no_row_of_a_class_has_does_not_spoil_the_comparison_of_classes():
    joint = sz.JointDistribution.from_matrix([[0.2, 0.1, 0.2], [0.1, 0.3, 0.1]])
    values = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.9], [0.0, 0.5, 0.1]])
    merged = sz.Channel.from_matrix(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    written = recipe._design_written_classes(joint, lambda joint: merged, values).matrix
    np.testing.assert_allclose(joint.p_x @ written, joint.p_x, atol=1e-4)
    assert written[1] == pytest.approx([0, 1, 0], abs=1e-4)


@pytest.mark.parametrize("n_secrets", [2, 3])
def test_a_design_keeps_more_of_each_column_than_the_design_for_the_class(n_secrets, monkeypatch):
    """Classes that differ in a single column may be exchanged; a design for the class does not know which."""
    rng = np.random.default_rng(n_secrets)
    secret = rng.integers(0, n_secrets, 3000)
    kind, place = rng.integers(0, 4, 3000), rng.integers(0, 3, 3000)
    table = {f"c{i}": np.where(rng.random(3000) < 0.9, kind, rng.integers(0, 4, 3000)) for i in range(5)}
    near = (secret + (rng.random(3000) < 0.3) * rng.integers(0, n_secrets, 3000)) % n_secrets
    df = pd.DataFrame(table | {"near": near, "place": place, "s": secret}).astype(str)
    release = sz.LatentClassRelease(sz.LiftBudget(at_most=1.3, at_least=0.6), sensitive="s", random_state=1)
    with_columns = release.fit(df).report_.summary
    monkeypatch.setattr(recipe, "MeanBudget", object)  # no budget has a target
    alone = release.fit(df).report_.summary
    assert with_columns["mean_column_utility"] > 1.02 * alone["mean_column_utility"]
    assert with_columns["max_log_lift"] <= np.log(1.3) + 1e-12


def test_the_model_says_what_it_shows(model):
    assert 0.5 < model.membership < 0.7
    assert model.n_parameters < 1500
    assert Fraction(model.n_rows) == 1500


@pytest.mark.parametrize(("n_missing", "may_be"), [(0, False), (10, False), (300, True)])
def test_missing_values_are_written_only_where_more_than_ten_rows_lack_one(n_missing, may_be):
    rng = np.random.default_rng(0)
    town = rng.choice(list("abc"), 2000).astype(object)
    town[:n_missing] = None
    table = {"town": pa.array(town), "age": pa.array(rng.integers(18, 80, 2000))}
    model = LatentClassModel.fit(table, sz.NoiseKey.from_seed(0), n_classes=4)
    rows = model.decode(np.arange(200_000) % 4, sz.NoiseKey.from_seed(1))
    assert (rows["town"].null_count > 0) is may_be
    assert rows["age"].null_count == 0


def test_a_share_of_a_seventh_is_no_dependency():
    """Summaries of other rows are shares of few values; a number of rows that followed from them would be too often."""
    rng, n = np.random.default_rng(0), 3000
    number = rng.poisson(8, n)
    shares = [rng.binomial(number, 0.5) / np.where(number, number, np.nan) for _ in range(2)]
    table = {f"share {k}": pa.array(own.round(6), from_pandas=True) for k, own in enumerate(shares)}
    table["number"] = pa.array(number)
    key, off = sz.NoiseKey.from_seed(0), []
    for summaries in ((), tuple(table)):
        model = LatentClassModel.fit(table, key, summaries=summaries)
        made = model.decode(model.assign(table, key), key.derive("rows"))
        counts = [np.bincount(np.asarray(of["number"]), minlength=30) for of in (table, made)]
        off.append(np.abs(np.subtract(*counts)).sum() / 2 / n)
    # Of 3,000 rows in some 15 numbers chance moves 0.03; the seed is fixed.
    assert off[1] < 0.05 < off[0]


def test_a_number_follows_an_earlier_one_within_its_group():
    """Bills of two months differ by a few per cent; groups are tenths of all bills."""
    rng = np.random.default_rng(0)
    first = np.exp(rng.normal(8, 1, 4000)).round(2)
    second = (first * np.exp(rng.normal(0, 0.02, 4000))).round(2)
    table = {"first": first, "second": second}
    model = LatentClassModel.fit(table, KEY)
    rows = model.decode(model.assign(table, KEY), KEY)
    ratio = rows["second"].to_numpy() / rows["first"].to_numpy()
    assert np.median(np.abs(np.log(ratio))) < 0.07  # 0.11 where places within groups are drawn alone


def test_a_damaged_refinement_is_refused_by_its_model():
    x = np.arange(400.0)
    model = LatentClassModel.fit({"x": x, "y": x + 1}, KEY)
    first, second = model.writers
    refinement = second.refinement
    for damaged in (
        refinement.__replace__(determiner=1),
        refinement.__replace__(outcomes=refinement.outcomes[::-1].copy()),
        refinement.__replace__(first=refinement.first[[0, *range(2, len(refinement.first))]]),
    ):
        with pytest.raises(SchemaError):
            model.__replace__(writers=(first, second.__replace__(refinement=damaged)))
