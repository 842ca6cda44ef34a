"""Releases inside databases: the rows that Python draws, from lookups that are the channel's integers, or no row."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from contextlib import closing, contextmanager, nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sanitize as sz
import sanitize.engines.sql
from sanitize.cli import main
from sanitize.engines.sql import Database, release
from sanitize.engines.sql._database import decode_outputs, hash_words, literal, sampling_steps
from sanitize.errors import ColumnError, InvalidParameter, UnknownSymbol
from sanitize.policy import Policy
from sanitize.release.saved import SavedRelease

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install --group engines")
psycopg = pytest.importorskip("psycopg")
import databases  # noqa: E402
from databases import plain  # noqa: E402

DIALECTS = ["duckdb", "sqlite", "postgres"]
KEY = hashlib.sha256(b"a key of the tests").digest()
BINS = {"age": [18, 30, 45.5, 65.1, 90]}
COLUMNS = ["town ; --", "children", "age", "score", "owner"]
PLACE = 'people "; --'  # of a table

DESIGNS = {
    "merging": lambda: sz.SubsetMerging(
        sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["town ; --", "children", "age"], bins=BINS
    ),
    "labels": lambda: sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["children", "owner"]),
    "response": lambda: sz.RandomizedResponse(1.5, sensitive="ill", public=["children", "score"]),
    "joint": lambda: sz.JointRelease(
        [
            ("a", sz.SubsetMerging(sensitive="ill", public=["town ; --", "age"], bins=BINS)),
            ("b", sz.SubsetMerging(sensitive="ill", public=["score", "owner"])),
        ],
        sz.LiftBudget.symmetric(2.0),
        sensitive="ill",
    ),
}


@pytest.fixture(scope="module")
def people():
    return databases.people(3000, np.random.default_rng(0))


@pytest.fixture(scope="module")
def fitted(people):
    return {name: SavedRelease.of(made().fit(people)) for name, made in DESIGNS.items()}


@pytest.fixture(scope="module")
def cluster():
    with nullcontext() if databases.absent() else databases.postgres() as connection:
        yield connection


@pytest.fixture(params=DIALECTS)
def loaded(request, cluster):
    """From rows to a function that runs statements of a dialect on them."""
    if request.param == "postgres" and cluster is None:
        pytest.skip(databases.absent())

    @contextmanager
    def of(df, table=PLACE):
        with databases.loaded(request.param, df, table, cluster) as run:
            yield run

    of.dialect = request.param
    return of


@pytest.mark.parametrize("name", DESIGNS)
def test_one_key_draws_the_same_rows_in_a_database_and_in_python(loaded, people, fitted, name):
    statement = Database(loaded.dialect, PLACE, row_id="id").release(fitted[name])
    with loaded(people) as run:
        rows = run(statement, KEY.hex())
    expected = release(people, fitted[name], key=KEY, row_id="id")
    assert plain(rows) == plain(expected)
    assert len(set(rows)) > 1
    assert KEY.hex() not in statement.lower()


def slow_release(df, saved, key):
    """The rows by row id, one hash and one running total at a time: no buckets, and no arrays."""
    bound = saved.to_release()
    found = {}
    for identity, code in zip(df["id"].tolist(), bound.encode(df_arrow(df))[0].tolist(), strict=True):
        digest = int(hashlib.sha256(f"{key.hex()}|{identity}".encode()).hexdigest(), 16)
        place = int(hashlib.sha256(f"{key.hex()}order|{identity}".encode()).hexdigest(), 16)
        for stage in saved.channel.stages:
            entries = slice(stage.indptr[code], stage.indptr[code + 1])
            outputs, weights = stage.indices[entries].tolist(), stage.weights[entries].tolist()
            if len(outputs) == 1:
                (code,) = outputs
                continue
            word = digest >> 194  # the first 62 of the 256 bits, and the next stage begins 64 further
            digest = digest << 64 & (1 << 256) - 1
            # Walker's table by Vose's stacks, of this one row.
            bits = math.ceil(math.log2(len(outputs)))
            mass, left = 1 << 62 - bits, weights + [0] * ((1 << bits) - len(weights))
            cut, other = [mass] * len(left), list(range(len(left)))
            small, large = ([j for j, w in enumerate(left) if sign * w < sign * mass] for sign in (1, -1))
            while small:
                j, donor = small.pop(), large[-1]
                cut[j], other[j] = left[j], donor
                left[donor] -= mass - left[j]
                if left[donor] <= mass:
                    large.pop()
                    if left[donor] < mass:
                        small.append(donor)
            bucket, rest = divmod(word, mass)
            code = outputs[bucket if rest < cut[bucket] else other[bucket]]
        found[place] = code
    return [found[place] for place in sorted(found)]


def df_arrow(df):
    return {name: pa.array(df[name], from_pandas=True) for name in df.columns}


@pytest.mark.parametrize("name", ["merging", "joint"])
def test_python_draws_what_a_slow_twin_draws_row_by_row(people, fitted, name):
    few = people.head(400)
    printed = decode_outputs(fitted[name].to_release())
    codes = pa.array(slow_release(few, fitted[name], KEY))
    expected = pd.DataFrame({column: values.take(codes).to_pylist() for column, values in printed.items()})
    assert plain(release(few, fitted[name], key=KEY, row_id="id")) == plain(expected)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_lookups_are_the_integers_of_the_channel(fitted, name):
    """In fractions: every state draws each output with the channel's own weight over 2**62, so no budget moves."""
    channel = fitted[name].channel
    steps, last = sampling_steps(channel)
    drawn = [stage for stage in channel.stages if not stage.is_deterministic]
    assert len(steps) == len(drawn)
    relabelled = np.arange(channel.n_inputs)
    position = 0
    for stage in channel.stages:
        if stage.is_deterministic:
            relabelled = stage.indices[relabelled]
            continue
        (place, shift), (cut, one, other) = steps[position]
        position += 1
        for state, row in enumerate(relabelled.tolist()):
            mass = dict.fromkeys(range(stage.n_outputs), Fraction(0))
            width = 1 << int(shift[state])
            for number in range((1 << 62) // width):
                bucket = int(place[state]) + number
                first = int(cut[bucket]) - number * width
                assert 0 <= first <= width
                mass[int(one[bucket])] += Fraction(first, 1 << 62)
                mass[int(other[bucket])] += Fraction(width - first, 1 << 62)
            entries = slice(stage.indptr[row], stage.indptr[row + 1])
            exact = zip(stage.indices[entries].tolist(), stage.weights[entries].tolist(), strict=True)
            assert {k: p for k, p in mass.items() if p} == {k: Fraction(w, 1 << 62) for k, w in exact}
        relabelled = np.arange(stage.n_outputs)
    assert np.array_equal(last, relabelled)


def test_the_budget_holds_in_fractions_for_the_thresholds(people):
    """Lifts of the lookups themselves, from whole counts: at most e^upper, and at least e^-lower."""
    budget = sz.LiftBudget(lower=1.0, upper=0.4)
    sanitizer = sz.OptimalRandomResponse(budget, sensitive="ill", public=["children", "owner"]).fit(people)
    ((place, shift), (cut, one, other)), *_ = sampling_steps(sanitizer.channel_)[0]  # before a value is drawn
    codes = sanitizer.channel_.inputs.encode(df_arrow(people))
    ill = (people["ill"] == "yes").to_numpy()
    joint = {}
    for s in (False, True):
        for code, rows in zip(*np.unique(codes[ill == s], return_counts=True), strict=True):
            width = 1 << int(shift[code])
            for number in range((1 << 62) // width):
                bucket = int(place[code]) + number
                first = int(cut[bucket]) - number * width
                for output, mass in ((one[bucket], first), (other[bucket], width - first)):
                    y = int(output)
                    joint[s, y] = joint.get((s, y), 0) + Fraction(int(rows) * mass, len(people) << 62)
    for s in (False, True):
        prior = Fraction(int((ill == s).sum()), len(people))
        for y in {y for _, y in joint}:
            lift = joint.get((s, y), 0) / prior / (joint.get((False, y), 0) + joint.get((True, y), 0))
            assert Fraction(math.exp(-1.0 - 1e-12)) <= lift <= Fraction(math.exp(0.4 + 1e-12))


def test_the_first_sixty_bits_of_the_hash_are_the_word():
    message = f"{KEY.hex()}|41"
    digits = hashlib.sha256(message.encode()).hexdigest()
    words = hash_words([message])[0].tolist()
    assert words[0] >> 2 == int(digits[:15], 16)
    assert words == [int(digits[16 * j : 16 * j + 16], 16) >> 2 for j in range(4)]


def test_no_word_is_computed_twice(people):
    """A join that computes the word anew for each line of a look-up table took a minute for 2,000 rows."""
    fitted, calls = sz.RandomizedResponse(1.5, sensitive="ill", public=["children", "score"]).fit(people), []

    def counted(text, part):
        calls.append((text, part))
        return int(hash_words([text])[0, part])

    with closing(sqlite3.connect(":memory:")) as connection:
        people.to_sql("people", connection, index=False)
        connection.create_function("sanitize_word", 2, counted)
        rows = connection.execute(Database("sqlite", "people", row_id="id").release(fitted), [HEX]).fetchall()
    assert plain(rows) == plain(release(people, fitted, key=KEY, row_id="id"))
    assert len(calls) == len(set(calls)) == 3 * len(people)


def test_an_id_is_the_same_as_a_number_and_as_a_text(loaded, people, fitted):
    as_text = people.assign(id=people["id"].astype(str))
    with loaded(as_text) as run:
        rows = run(Database(loaded.dialect, PLACE, row_id="id").release(fitted["merging"]), KEY.hex())
    assert plain(rows) == plain(release(people, fitted["merging"], key=KEY, row_id="id"))


@pytest.mark.parametrize("name", ["inputs", "Outputs", "secret", "sanitize_inputs"])
def test_a_table_may_have_any_name_also_one_of_the_statements_own_queries(name, people, fitted, loaded):
    """A query of the statement that had the table's name would be read in its place: also one with its columns."""
    wanted = people.assign(symbol=people["id"], state=0)
    for id_column in ("id", "symbol"):
        with loaded(wanted, name) as run:
            statement = Database(loaded.dialect, name, row_id=id_column).release(fitted["merging"])
            rows = run(statement, KEY.hex())
        assert plain(rows) == plain(release(people, fitted["merging"], key=KEY, row_id="id"))


def test_rows_come_in_an_order_that_the_table_does_not_have(people, fitted):
    whole = release(people, fitted["merging"], key=KEY, row_id="id")
    again = release(people[::-1], fitted["merging"], key=KEY, row_id="id")
    assert whole.equals(again)
    assert whole.index.equals(pd.RangeIndex(len(people)))
    places = hash_words([f"{KEY.hex()}order|{i}" for i in people["id"]])[:, 0]
    assert abs(np.corrcoef(places, np.arange(len(people)))[0, 1]) < 0.1


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_all_kinds_hold_the_same_rows(people, fitted, kind):
    made = release(kind(people), fitted["merging"], key=sz.NoiseKey(KEY), row_id="id")
    assert type(made) is type(kind(people))
    frame = made.to_pandas()
    assert plain(frame.astype(object).where(frame.notna(), None)) == plain(
        release(people, fitted["merging"], key=KEY, row_id="id")
    )


# ---------------------------------------------------------------------------------- what is refused

HEX = KEY.hex()
BROKEN = {
    "repeated ids": (lambda df: df.assign(id=df["id"].where(df.index > 1, 7)), HEX, "ids repeat"),
    "missing ids": (lambda df: df.assign(id=df["id"].astype(str).where(df.index > 0, None)), HEX, "are missing"),
    "ids of doubles": (lambda df: df.assign(id=df["id"] + 0.5), HEX, "whole numbers or text"),
    "ids of booleans": (lambda df: df.head(2).assign(id=[True, False]), HEX, "whole numbers or text"),
    "symbols": (lambda df: df.assign(children=df["children"].where(df.index > 0, 77)), HEX, "not there at fit"),
    "no key": (lambda df: df, None, "64 hexadecimal digits"),
    "a short key": (lambda df: df, HEX[:-2], "64 hexadecimal digits"),
    "a key of bytes": (lambda df: df, KEY, "64 hexadecimal digits"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_statement_gives_no_row_where_something_is_wrong(loaded, people, fitted, case):
    change, key, words = BROKEN[case]
    if (case, loaded.dialect) == ("ids of booleans", "sqlite"):
        pytest.skip("SQLite stores booleans as whole numbers")
    statement = Database(loaded.dialect, PLACE, row_id="id").release(fitted["merging"])
    with loaded(change(people)) as run, pytest.raises((duckdb.Error, sqlite3.Error, psycopg.Error), match=words) as got:
        run(statement, key)
    assert HEX not in str(got.value).split("LINE")[0]


def test_an_empty_table_has_no_rows(loaded, people, fitted):
    with loaded(people.head(0).astype({"ill": "str"})) as run:
        assert run(Database(loaded.dialect, PLACE, row_id="id").release(fitted["labels"]), HEX) == []


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda df: df.assign(id=7), ColumnError, "repeats or is missing in 2999 rows"),
        (lambda df: df.assign(id=df["id"].astype(str).where(df.index > 0, None)), ColumnError, "missing in 1 rows"),
        (lambda df: df.assign(id=df["id"] / 2), ColumnError, "convert it to whole numbers or text"),
        (lambda df: df.assign(children=77), UnknownSymbol, "children"),
        (lambda df: df.drop(columns="id"), ColumnError, "id"),
    ],
)
def test_python_refuses_the_same(people, fitted, change, error, words):
    with pytest.raises(error, match=words):
        release(change(people), fitted["merging"], key=KEY, row_id="id")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            lambda df: sz.SubsetMerging(
                sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["id", "owner"], bins={"id": [0, 9, 1e9]}
            ).fit(df),
            "is also sensitive or released",
        ),
        (
            lambda df: sz.SubsetMerging(
                sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["born"], bins={"born": "year"}
            ).fit(df.assign(born=pd.to_datetime("2001-02-03"))),
            "text in a view",
        ),
        (
            lambda df: sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["born"]).fit(
                df.assign(born=pd.to_datetime("2001-02-03"))
            ),
            "text in a view",
        ),
        (
            lambda df: sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["big"]).fit(
                df.assign(big=1e300)
            ),
            "beyond 2",
        ),
        (
            lambda df: sz.JointRelease(
                [(f"p{i}", sz.RandomizedResponse(0.1, public=[f"c{i}"], sensitive="ill")) for i in range(5)],
                sz.LiftBudget.symmetric(9.0),
                sensitive="ill",
            ).fit(pd.DataFrame({"ill": df["ill"]} | {f"c{i}": np.arange(len(df)) >> i & 1 for i in range(5)})),
            "draws in more than 4 stages",
        ),
    ],
)
def test_what_sql_cannot_say_is_refused_in_words(people, made, words):
    with pytest.raises(InvalidParameter, match=words):
        Database("duckdb", "people", row_id="id").release(made(people))


def test_a_database_is_of_a_known_dialect_and_a_named_table(fitted):
    for arguments, words in (
        (("oracle", "people"), "dialect"),
        (("sqlite", "a.b.c.d"), "table"),
        (("sqlite", ""), "table"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            Database(*arguments)
    with pytest.raises(InvalidParameter, match="row_id"):
        Database("sqlite", "people").release(fitted["labels"])


@pytest.mark.parametrize("value", [0.1, -0.1, 45.5, 1e-300, 5e-324, 1 / 3, 2.0**62, -3.0, 123456789.123456789])
def test_doubles_are_written_exactly(loaded, people, value):
    with loaded(people.head(1)) as run:
        ((found,),) = run(f"SELECT {literal(value).sql(loaded.dialect)}")
    assert found == value


# ---------------------------------------------------------------------------------- from counts to a channel

POLICY = """
version = 1
rows = "shuffle"
[columns]
sensitive = ["ill"]
public = ["town ; --", "children", "age"]
keep = ["owner"]
drop = ["id", "score"]
[channel]
[channel.bins]
age = [18, 30, 45.5, 65.1, 90]
[budget]
lower = 1.0
upper = 0.7
"""


def test_the_channel_of_the_counts_is_that_of_the_table(loaded, people):
    policy = Policy.from_toml(POLICY)
    with loaded(people) as run:
        rows = run(Database(loaded.dialect, PLACE).counts(policy))
    names = [*policy.sensitive, *policy.public, *policy.keep, "n_rows"]
    counts = pd.DataFrame(rows, columns=names).astype({"owner": bool})
    assert len(counts) < len(people) / 5
    assert counts["n_rows"].sum() == len(people)
    expected = policy.sanitizer().fit(people)
    found = Database.fit(policy, counts)
    assert found.channel_ == expected.channel_
    told, of_counts = expected.report_.to_dict(), found.report_.to_dict()
    # Counts of groups do not say how many rows lie outside the edges.
    assert told["columns"].pop("replaced") == ["age"]
    assert of_counts["columns"].pop("replaced") == []
    told["sections"] = [section for section in told["sections"] if section["name"] != "replaced"]
    told["warnings"] = [words for words in told["warnings"] if "outside the" not in words and "edges" not in words]
    assert of_counts == told


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('rows = "shuffle"', 'rows = "keep"', "no order"),
        ('rows = "shuffle"', 'ledger = "ledger"', "SQL cannot use units"),
        ("age = [18, 30, 45.5, 65.1, 90]", 'age = "year"', "text in a view"),
        ('keep = ["owner"]', 'keep = ["n_rows"]', "n_rows"),
        ("[channel.bins]\nage = [18, 30, 45.5, 65.1, 90]", 'mechanism = "latent-classes"', "cannot generate rows"),
    ],
)
def test_a_policy_that_counts_cannot_carry_out_is_refused(old, new, words):
    text = POLICY.replace(old, new).replace('keep = ["owner"]\n', "" if words == "whole" else 'keep = ["owner"]\n')
    with pytest.raises(InvalidParameter, match=words):
        Database("duckdb", "people").counts(Policy.from_toml(text))


@pytest.mark.parametrize("number", [1.0, 0, None])
def test_counts_are_whole_numbers_of_rows(number):
    names = ["ill", "town ; --", "children", "age", "owner"]
    counts = pa.table({**{name: [1] for name in names}, "n_rows": [number]})
    with pytest.raises(ColumnError, match="n_rows"):
        Database.fit(Policy.from_toml(POLICY), counts)


def test_the_command_line_prints_both_statements(people, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    usual = ["-p", "policy.toml", "--dialect", "sqlite", "--table", PLACE]
    with databases.loaded("sqlite", people, PLACE) as run:
        assert main(["sql", *usual]) == 0
        counted = run(capsys.readouterr().out)
        names = ["ill", "town ; --", "children", "age", "owner", "n_rows"]
        with closing(sqlite3.connect(":memory:")):
            pd.DataFrame(counted, columns=names).to_parquet("counts.parquet")
        assert main(["sql", "counts.parquet", *usual, "--row-id", "id"]) == 0
        rows = run(capsys.readouterr().out, HEX)
    saved = Database.fit(Policy.read("policy.toml"), "counts.parquet")
    as_stored = people.assign(owner=people["owner"].astype(int))
    assert plain(rows) == plain(release(as_stored, saved, key=KEY, row_id="id"))
    assert main(["sql", "counts.parquet", *usual]) == 2
    assert "row_id" in capsys.readouterr().err


def test_more_combinations_than_32_bits_count(loaded):
    alike = np.arange(700) % 7
    df = pd.DataFrame({"id": np.arange(700), "ill": alike % 2} | {f"c{i}": alike for i in range(12)})
    sanitizer = sz.SubsetMerging(
        sz.LiftBudget.symmetric(1.0), sensitive="ill", public=[f"c{i}" for i in range(12)]
    ).fit(df)
    with loaded(df) as run:
        rows = run(Database(loaded.dialect, PLACE, row_id="id").release(sanitizer), HEX)
    assert rows == plain(release(df, sanitizer, key=KEY, row_id="id"))
