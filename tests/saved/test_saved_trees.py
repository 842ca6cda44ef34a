"""Saved releases of whole tables: read back whole, the same rows, and what of the table is in them."""

from __future__ import annotations

import base64
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import sanitize as sz
from sanitize._files.sealed_text import seal_of, unpacked
from sanitize.errors import InvalidParameter
from sanitize.parquet import release_file
from sanitize.saved import SavedRelease
from sanitize.transformers import TreeMerging, TreeRandomResponse

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
KEY = bytes(range(32))
X = ["age", "town", "smokes", "seen", "income", "when"]
KINDS = [
    TreeMerging(BUDGET, sensitive="ill", min_rows=40, output="resample"),
    TreeMerging(sz.L1LiftBudget(lower=1.0, upper=1.0), sensitive="ill", min_rows=40, output="label"),
    TreeRandomResponse(BUDGET, sensitive="ill", min_rows=200, min_cell_rows=20),
    TreeRandomResponse(BUDGET, sensitive="ill", min_rows=200, min_cell_rows=20, output="resample"),
    TreeRandomResponse(BUDGET, sensitive="ill", min_rows=200, min_cell_rows=20, output="label"),
]


def people(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Columns of every kind; town and income have missing values."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    income = rng.lognormal(10, 0.5, n).round(2)
    town[rng.random(n) < 0.05] = None
    income[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "ill": np.where(ill, "hush-yes", "hush-no"),
            "age": np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round().astype(int),
            "town": town,
            "smokes": rng.random(n) < np.where(ill, 0.5, 0.2),
            "seen": np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]"),
            "income": income,
            "when": pd.to_timedelta(rng.integers(0, 50, n), unit="h"),
        }
    )


@pytest.fixture
def raw(tmp_path):
    people().to_parquet(tmp_path / "raw.parquet", index=False)
    return tmp_path / "raw.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", KINDS, ids=lambda s: f"{s.recipe_type.name} {s.output or 'model'}")
def test_a_saved_tree_is_read_back_whole_and_draws_the_same_rows(sanitizer, raw, tmp_path):
    fitted = clone(sanitizer).fit(pq.read_table(raw))
    before = SavedRelease.of(fitted)
    text = before.to_json(tmp_path / "saved.json")
    after = SavedRelease.from_json(tmp_path / "saved.json")
    assert after.to_json() == text
    assert (after.channel, after.budget, after.figures) == (fitted.channel_, before.budget, before.figures)
    assert (after.sensitive, list(after.public), after.output) == (("ill",), X, sanitizer.output or "model")
    own, bound = fitted.fitted_release(), after.bound()
    new = pa.Table.from_pandas(people(600, seed=9), preserve_index=False)
    one, two = (pa.table(release.apply(new, sz.NoiseKey(KEY), 7)[0]) for release in (own, bound))
    assert one.equals(two)
    # The same key, and rows that none was fitted on: values that were not there have a cell as well.
    pq.write_table(new, tmp_path / "new.parquet")
    places = [tmp_path / "fitted.parquet", tmp_path / "loaded.parquet"]
    for saved, place in zip((before, after), places, strict=True):
        report = release_file(tmp_path / "new.parquet", place, saved, rows="keep", key=KEY)
    assert places[0].read_bytes() == places[1].read_bytes()
    assert report.n_rows == pq.read_metadata(places[0]).num_rows == 600
    assert report.held_out is not None
    assert "splits" in report.to_text()
    assert "splits" not in report.to_text(audience="public")


@pytest.mark.parametrize("sanitizer", KINDS, ids=lambda s: f"{s.recipe_type.name} {s.output or 'model'}")
def test_a_saved_tree_says_what_of_the_table_it_holds(sanitizer, raw):
    saved = SavedRelease.of(clone(sanitizer).fit(pq.read_table(raw)))
    text, state = saved.to_json(), json.loads(saved.to_json())
    assert "hush" not in text
    assert not any(base64.b64decode(state["partition"]["n_rows"]["bytes"]))
    n_splits = int((np.frombuffer(base64.b64decode(state["partition"]["column"]["bytes"]), "<i4") >= 0).sum())
    assert f"a tree of {n_splits} splits" in saved.contents
    assert ("2000 whole public rows of the table" in saved.contents) == (sanitizer.output == "resample")
    # Real rows hold the very incomes of people, a model and labels none of them.
    incomes, printer = set(people()["income"].dropna()), state["printer"]
    columns = printer["values"] if printer["kind"] == "table" else _columns(printer)
    held = set(unpacked(columns["income"]).to_pylist())
    assert held == incomes if sanitizer.output == "resample" else not held & incomes


def _columns(printer):
    return {column["name"]: column["values"] for node in printer["nodes"] for column in node["columns"]}


def test_tuples_say_what_they_hold_as_well():
    saved = SavedRelease.of(sz.SubsetMerging(1.0, sensitive="ill", public=["town", "smokes"]).fit(people()))
    assert saved.contents.startswith("the 10 public symbols that were seen")


def _paths(state, here=()):
    yield here
    if isinstance(state, dict):
        for name, value in state.items():
            yield from _paths(value, (*here, name))
    elif isinstance(state, list) and state:
        yield from _paths(state[0], (*here, 0))


def _changed(state, path, value):
    copy = json.loads(json.dumps(state))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return copy | {"sha256": seal_of(copy)}


def _saved_state(min_rows=100, **settings):
    fitted = TreeMerging(BUDGET, sensitive="ill", public=["age", "town"], min_rows=min_rows, **settings).fit(people())
    return json.loads(SavedRelease.of(fitted).to_json())


@pytest.mark.slow
@pytest.mark.parametrize("output", ["model", "resample", "label"])
def test_every_field_of_a_tree_is_checked_when_it_is_read(output):
    """Whatever is put in whatever place, with a SHA-256 that fits: refused, or a release that prints those columns."""
    state, refused, accepted = _saved_state(output=output), 0, 0
    said = set()
    new = people(50, seed=4)
    for path in _paths(state):
        if path[:1] not in (("partition",), ("printer",), ("public",), ("output",)):
            continue
        for value in (None, True, -1, 7, 0.5, "inf", "AAAA", "AAAAAAAAAAA=", [], [[1]], {}, {"a": 1}):
            try:
                again = SavedRelease.from_json(json.dumps(_changed(state, path, value)))
            except InvalidParameter as error:
                said.add(str(error).partition(":")[0])
                refused += 1
            else:
                printed, _ = again.bound().apply({n: new[n] for n in again.public}, sz.NoiseKey(KEY))
                assert set(printed) == set(again.public)
                accepted += 1
    assert said == {"this is not a saved release that can be trusted"}
    assert refused > 250
    assert accepted < refused / 5


def _emptied(printer):
    """A printer whose first symbol prints nothing."""
    copy = json.loads(json.dumps(printer))
    starts = np.frombuffer(base64.b64decode(copy["starts"]["bytes"]), "<i8").copy()
    starts[1] = 0
    copy["starts"]["bytes"] = base64.b64encode(starts.tobytes()).decode()
    return copy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: {"partition": None, "output": "label"}, "go together"),
        (lambda _: {"printer": None}, "go together"),
        (lambda s: {"printer": _emptied(s["printer"])}, "printer is inconsistent"),
        (lambda _: {"public": ["town", "age"]}, "of other columns"),
        (lambda _: {"labelled": ["age"]}, "of other columns"),
        (lambda _: {"channel": _saved_state(min_rows=300)["channel"]}, "not from the cells"),
        (
            lambda _: {"printer": _saved_state(min_rows=300, output="resample")["printer"]},
            "does not print what its channel releases",
        ),
    ],
)
def test_parts_of_other_releases_do_not_go_together(change, message):
    state = _saved_state(output="resample")
    state |= change(state)
    state["sha256"] = seal_of(state)
    with pytest.raises(InvalidParameter, match=message):
        SavedRelease.from_json(json.dumps(state))
