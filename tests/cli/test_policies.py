"""The command with a policy: what is read from it, and the skeleton to start from."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands_cases import POLICY, SETTINGS, START, as_csv, assert_line, command, left_in, table

import sanitize as sz
from sanitize._util import system as workers
from sanitize.core.channel import Channel
from sanitize.engines.parquet import plan_file
from sanitize.tables.files.parquet import ParquetSource
from sanitize.transformers import ExponentialChannel, JointRelease, SubsetMerging


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with a table and a policy, in which the command is run."""
    pq.write_table(table(), tmp_path / "raw.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --------------------------------------------------------------------------------------------- policy


def test_a_release_under_a_policy_is_that_of_the_library(place, run):
    code, out, err = run("release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml")
    assert (code, err) == (0, "")
    same = plan_file("raw.parquet", sz.Policy.read("policy.toml").sanitizer())
    assert out == f"{same.to_text(full=False)}\nwrote out.parquet ({same.n_rows} rows, 2 columns)\n"
    assert pq.read_schema("out.parquet").names == ["town", "floor"]


def test_rows_and_audience_of_the_policy_are_used(place, run):
    (place / "policy.toml").write_text('rows = "keep"\naudience = "public"\n' + POLICY)
    code, out, _ = run("release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", "--json")
    assert code == 0
    assert json.loads(out)["audience"] == "public"
    assert json.loads(pq.read_metadata("out.parquet").metadata[b"sanitize"])["rows"] == "keep"
    out = run("plan", "raw.parquet", "-p", "policy.toml", "--json", "--audience", "internal")[1]
    assert json.loads(out)["audience"] == "internal"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = ", "policy.toml is not TOML"),
        (POLICY.replace("upper", "uper"), "budget.uper is not a key of a policy; did you mean 'upper'?"),
        (POLICY.replace("[budget]", "[budjet]"), "budget is missing"),
        (POLICY.replace('"age"', '"town"'), "list each column exactly once"),
        (POLICY + "[channel]\nconfidence = 2\n", "strictly between 0 and 1"),
    ],
)
@pytest.mark.parametrize("command", ["audit", "plan", "release", "verify"])
def test_2_a_policy_is_wrong(command, text, words, place, run):
    (place / "policy.toml").write_text(text)
    extra = {"release": ["-o", "out.parquet"], "verify": ["--source", "raw.parquet"]}.get(command, [])
    code, out, err = run(command, "raw.parquet", *extra, "-p", "policy.toml")
    assert (code, out) == (2, "")
    assert_line(err, words)
    assert left_in(place) == START


def test_2_a_policy_is_not_there(place, run):
    code, _, err = run("plan", "raw.parquet", "-p", "nowhere.toml")
    assert code == 2
    assert_line(err, "nowhere.toml cannot be read")


@pytest.mark.parametrize("command", ["audit", "plan", "release", "verify"])
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (', "name"', "", "the policy does not list the column 'name' of the table"),
        ('"age"', '"ages"', "no column 'ages' in the table; did you mean 'age'?"),
    ],
)
def test_3_the_input_does_not_fit_the_policy(command, old, new, words, place, run):
    (place / "policy.toml").write_text(POLICY.replace(old, new))
    extra = {"release": ["-o", "out.parquet"], "verify": ["--source", "raw.parquet"]}.get(command, [])
    code, out, err = run(command, "raw.parquet", *extra, "-p", "policy.toml")
    assert (code, out) == (3, "")
    assert_line(err, words)
    assert left_in(place) == START


def test_1_a_policy_whose_budget_a_release_exceeds(place, run, monkeypatch):
    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging",
        lambda joint, budget, **_: Channel.identity(len(joint.public), joint.public),
    )
    for asked in (["plan"], ["release", "-o", "out.parquet"], ["release", "-o", "-"]):
        code, out, err = run(asked[0], "raw.parquet", "-p", "policy.toml", *asked[1:])
        assert code == 1
        assert out.startswith("REFUSED: over the limit") if asked == ["plan"] else not out
        assert_line(err, "exceeds its budget")
    assert left_in(place) == START


@pytest.mark.parametrize("settings", [["-p", "policy.toml"], SETTINGS])
@pytest.mark.parametrize("command", ["audit", "plan", "release -o out.parquet", "release -o out.csv --dry-run"])
def test_the_input_is_opened_once_also_for_the_check_of_a_policy(command, settings, place, run, monkeypatch):
    opened, open_ = [], ParquetSource.open
    monkeypatch.setattr(ParquetSource, "open", lambda path: opened.append(path) or open_(path))
    if command == "audit" and settings is SETTINGS:
        settings = SETTINGS[:-4]  # an audit has no budget
    assert run(*command.split(), "raw.parquet", *settings)[0] == 0
    assert opened == [Path("raw.parquet")]


def test_kept_columns_and_several_channels_are_released_together(place, run):
    code, out, err = run(
        "release",
        "raw.parquet",
        "-o",
        "out.parquet",
        "-s",
        "illness",
        "-x",
        "town",
        "-k",
        "floor",
        "--lower",
        "2",
        "--upper",
        "2",
    )
    assert (code, err) == (0, "")
    parts = [("release", SubsetMerging(public=["town"]))]
    same = JointRelease(parts, sz.LiftBudget.symmetric(2.0), sensitive=["illness"], keep=["floor"])
    same = plan_file("raw.parquet", same)
    assert out == f"{same.to_text(full=False)}\nwrote out.parquet ({same.n_rows} rows, 2 columns)\n"
    assert pq.read_schema("out.parquet").names == ["town", "floor"]
    assert (
        run(
            "release",
            "raw.parquet",
            "-o",
            "kept.parquet",
            "-s",
            "illness",
            "-k",
            "floor",
            "--lower",
            "2",
            "--upper",
            "2",
        )[0]
        == 0
    )
    assert pq.read_schema("kept.parquet").names == ["floor"]
    code, _, err = run("release", "raw.parquet", "-o", "x.parquet", *SETTINGS, "-k", "town")
    assert code == 2
    assert_line(err, "'town' is given both with -x and with -k")


def test_several_channels_of_a_policy_are_planned_released_and_verified(place, run):
    several = """
    [[channel]]
    name = "home"
    public = ["town"]
    mechanism = "watchdog"
    [[channel]]
    name = "ages"
    public = ["age"]
    mechanism = "exponential-channel"
    bins.age = [18, 40, 80]
    budget = { notion = "capacity", nats = 0.3 }
    """
    text = POLICY.replace('public = ["town", "floor"]', 'keep = ["floor"]').replace('"age", ', "")
    (place / "policy.toml").write_text(text.replace("0.5", "2").replace("1.5", "inf") + several)
    assert run("plan", "raw.parquet", "-p", "policy.toml")[0] == 0
    for rows, name in (("shuffle", "out.parquet"), ("keep", "out.csv")):
        (place / "policy.toml").write_text(
            f'rows = "{rows}"' + text.replace("0.5", "2").replace("1.5", "inf") + several
        )
        code, out, err = run("release", "raw.parquet", "-o", name, "-p", "policy.toml")
        assert (code, err) == (0, "")
        code, out, err = run("verify", name, "--source", "raw.parquet", "-p", "policy.toml")
        assert (code, err) == (0, ""), out
        assert "'town', 'age', 'floor' and no other" in out


def test_a_mechanism_with_a_capacity(place, run):
    asked = ["-s", "illness", "-x", "town", "-e", "0.5", "-m", "exponential-channel"]
    code, out, err = run("plan", "raw.parquet", *asked, "--full")
    assert (code, err) == (0, "")
    same = plan_file("raw.parquet", ExponentialChannel(0.5, sensitive=["illness"], public=["town"]))
    recommended, rest = out.split("\n\n", 1)
    assert recommended.startswith("Recommended: exponential channel; no other mechanism fits the policy.\nIt keeps ")
    assert rest.startswith(f"{same.to_text()}\n\nKept of each column: town ")
    assert "\n\nexponential channel " in rest  # and its curve
    sides = ["--lower", "2", "--upper", "1"]
    code, _, err = run("plan", "raw.parquet", "-s", "illness", "-x", "town", *sides, "-m", "exponential-channel")
    assert code == 2
    assert "exponential-channel takes one number of nats, -e EPS, instead of" in err


def test_a_ledger_of_the_policy_remembers_releases(place, run):
    sz.Ledger(place / "book.ledger", sz.LiftBudget(lower=1.5, upper=0.5))
    (place / "policy.toml").write_text('ledger = "book.ledger"\n' + POLICY)
    assert run("release", "raw.parquet", "-o", "one.parquet", "-p", "policy.toml")[0] == 0
    assert len(sz.Ledger(place / "book.ledger")) == 1
    (place / "policy.toml").write_text('ledger = "none.ledger"\n' + POLICY)
    code, _, err = run("release", "raw.parquet", "-o", "two.parquet", "-p", "policy.toml")
    assert code == 2
    assert_line(err, "there is no ledger 'none.ledger'")
    assert not (place / "two.parquet").exists()


def test_workers_are_said_by_the_policy_or_the_command_line(place, run, monkeypatch):
    used = []
    whole = workers.n_workers
    for place_of_use in ("sanitize.engines.parquet._privatize", "sanitize.policy._plan"):
        monkeypatch.setattr(f"{place_of_use}.n_workers", lambda n: used.append(n) or whole(n))
    (place / "policy.toml").write_text("workers = 2\n" + POLICY)
    for said, expected in (((), 2), (("--workers", "3"), 3)):
        for name, *more in (["plan"], ["release", "-o", "out.parquet", "--force"]):
            assert run(name, "raw.parquet", *more, "-p", "policy.toml", *said)[0] == 0
            assert set(used) == {expected}
            used.clear()
    code, _, err = run("plan", "raw.parquet", "-p", "policy.toml", "--workers", "0")
    assert code == 2
    assert_line(err, "workers must be a whole number >= 1, got 0")


# ----------------------------------------------------------------------------------------------- init


def test_a_skeleton_lists_every_column_once_and_no_value(place, run):
    code, out, err = run("init", "raw.parquet")
    assert (code, err) == (0, "")
    assert not any(value in out for value in ("SECRET", "Aa", "Bb", "Cc"))
    columns = tomllib.loads(out)["columns"]
    assert columns == {"sensitive": ["illness"], "public": ["town", "floor", "age"], "keep": [], "drop": ["name"]}
    assert re.search(r'"town",  # string, 3 different values\n', out)
    assert re.search(r'"age",  # int64, 62 different values, needs bins\n', out)
    assert re.search(r'"name",  # string, 400 different values, a different value in most rows', out)


@pytest.mark.slow
def test_a_skeleton_is_a_policy_when_its_gaps_are_filled(place, run):
    assert run("init", "raw.parquet", "-o", "new.toml") == (0, "", "")
    text = (place / "new.toml").read_text()
    (place / "open.toml").write_text(text)
    assert run("plan", "raw.parquet", "-p", "open.toml")[0] == 2  # nobody has chosen a budget yet
    filled = text.replace("# at_most =", "at_most = 1.65").replace("# at_least =", "at_least = 0.25")
    filled = filled.replace('# "age" = [low, ..., high]', '"age" = [18, 40, 80]')
    (place / "new.toml").write_text(filled)
    assert run("release", "raw.parquet", "-o", "out.parquet", "-p", "new.toml", "--allow-useless")[0] == 0
    assert run("verify", "out.parquet", "--source", "raw.parquet", "-p", "new.toml")[0] == 0


def test_a_skeleton_of_odd_names_and_types(tmp_path, run):
    names = [
        'a"b',
        "c\\d",
        "e\nf",
        "tab\there",
        "\x7f\x85\u2028",
        "\u00e9moji \U0001f600",
        "",
        "#no = comment",
        "nested",
        "dict",
        "empty",
    ]
    columns = [pa.array(["x", "y"] * 4)] * 8 + [
        pa.array([[1], [2]] * 4),
        pa.array(["p", "q"] * 4).dictionary_encode(),
        pa.array([None] * 8, pa.null()),
    ]
    pq.write_table(pa.table(columns, names=names), tmp_path / "raw.parquet")
    code, out, err = run("init", tmp_path / "raw.parquet")
    assert (code, err) == (0, "")
    listed = tomllib.loads(out)["columns"]
    assert sorted(name for group in listed.values() for name in group) == sorted(names)
    assert listed["drop"] == ["nested"]
    assert "list: flatten it to release it" in out


@pytest.mark.slow
def test_a_skeleton_of_csv_on_standard_input(place):
    done = command("init", "-", stdin=as_csv(), cwd=place)
    assert (done.returncode, done.stderr) == (0, b"")
    assert tomllib.loads(done.stdout.decode())["columns"]["sensitive"] == ["illness"]


def test_exit_codes_of_init(place, run):
    assert run("init", "nowhere.parquet")[0] == 3
    (place / "new.toml").write_text("old")
    code, _, err = run("init", "raw.parquet", "-o", "new.toml")
    assert code == 4
    assert_line(err, "new.toml exists already")
    assert (place / "new.toml").read_text() == "old"
    assert run("init", "raw.parquet", "-o", "new.toml", "--force")[0] == 0
    assert run("init", "raw.parquet", "-o", "raw.parquet", "--force")[0] == 4
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), place / "twice.parquet")
    code, _, err = run("init", "twice.parquet")
    assert code == 3
    assert_line(err, "two columns named 'a'")
