"""`sanitize judge` on files of anybody: exit codes, what is printed, and what is written."""

from __future__ import annotations

import json
import stat
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from cli_cases import assert_one_line, left_in
from judge_cases import apart, bootstrap, people, split

import sanitize as sz
from sanitize.report import AttackResult


@pytest.fixture
def files(tmp_path):
    """The source, outsiders, a table of whole rows of the source, and one of strangers in CSV."""
    table, others = split(0, 1500, 6)
    table.to_parquet(tmp_path / "raw.parquet", index=False)
    others.to_csv(tmp_path / "others.csv", index=False)
    bootstrap(table).to_parquet(tmp_path / "rows.parquet", index=False)
    strangers = people(np.random.default_rng(99), len(table), 6)
    apart(strangers).to_csv(tmp_path / "synthetic.csv", index=False)
    return tmp_path


def asked(files, released, *more):
    return ["judge", files / released, "--source", files / "raw.parquet", "-s", "secret", *more]


PROMISED = "COPIED ROWS, OR MORE ABOUT PEOPLE IN THE DATA THAN ABOUT OTHERS (MUST NOT BE\n  FOUND): "


def test_1_a_file_that_is_refuted_is_not_handed_out(files, run):
    code, out, err = run(*asked(files, "rows.parquet", "--outsiders", files / "others.csv"))
    assert code == 1
    assert out.startswith(f"{PROMISED}FOUND\n")
    assert_one_line(err, "the release is refuted (", "do not hand it out")
    assert "SECRET" not in out


def test_0_a_file_that_is_not_refuted_and_one_without_outsiders(files, run):
    code, out, err = run(*asked(files, "synthetic.csv", "--outsiders", files / "others.csv"))
    assert (code, err) == (0, "")
    assert out.startswith(f"{PROMISED}NOT FOUND BY THESE 8 ATTACKS\n")
    code, out, err = run(*asked(files, "rows.parquet"))
    assert (code, err) == (0, "")
    assert out.startswith("FIGURES, NO VERDICT\n")


def test_json_and_a_page_are_for_the_owner(files, run):
    page = files / "found.html"
    more = ["--outsiders", files / "others.csv", "-x", "number0", "-x", "town1", "--excess", "0.5"]
    code, out, err = run(*asked(files, "synthetic.csv", *more, "--json", "--html", page))
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["columns"] == ["number0", "town1"]
    assert document["excess"] == 0.5
    assert all(one["headline"] in page.read_text() for one in document["verdicts"])
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    code, _, err = run(*asked(files, "synthetic.csv", *more, "--html", page))
    assert code == 4
    assert_one_line(err, "found.html exists already", "--force")
    assert run(*asked(files, "synthetic.csv", *more, "--html", page, "--force"))[0] == 0


def test_an_earlier_release_is_attacked_together_with_this_one(files, run):
    more = ["--outsiders", files / "others.csv", "--earlier", files / "synthetic.csv", "--json"]
    code, out, _ = run(*asked(files, "rows.parquet", *more))
    assert code == 1
    titles = [attack["title"] for attack in json.loads(out)["attacks"]]
    assert "Difference of two releases" in titles


def test_rows_in_order_are_asked_for_groups_that_tell_the_secret(files, run):
    more = ["--outsiders", files / "others.csv", "-x", "number0", "--rows", "keep", "--at-most", "1.1"]
    code, out, _ = run(*asked(files, "raw.parquet", *more, "--excess", "0.9"))
    assert code == 1
    assert "1.1 times was allowed" in " ".join(out.split())


@pytest.mark.parametrize(
    ("released", "more", "code", "words"),
    [
        ("rows.parquet", ["--at-most", "2"], 2, "rows='keep'"),
        ("rows.parquet", ["--excess", "2"], 2, "excess must be"),
        ("rows.parquet", ["-x", "secret"], 2, "both sensitive and public"),
        ("-", [], 2, "judge reads files"),
        ("rows.parquet", ["--outsiders", "raw.parquet"], 2, "--outsiders names the raw table itself"),
        ("rows.parquet", ["-x", "town"], 3, "no column 'town'"),
        ("rows.parquet", ["-s", "town"], 3, "no column 'town'"),
        ("nothing.parquet", [], 3, "no such file"),
        ("rows.parquet", ["--outsiders", "nothing.csv"], 3, "no such file"),
        ("damaged.parquet", [], 3, "damaged.parquet"),
        ("rows.parquet", ["--html", "raw.parquet", "--force"], 4, "would replace the input"),
        ("rows.parquet", ["--earlier", "nothing.csv"], 3, "no such file"),
        (
            "rows.parquet",
            ["--earlier", "synthetic.csv", "--html", "synthetic.csv", "--force"],
            4,
            "would replace the input",
        ),
        (
            "rows.parquet",
            ["--outsiders", "others.csv", "--html", "others.csv", "--force"],
            4,
            "would replace the input",
        ),
        ("rows.parquet", ["--html", "no folder/page.html"], 4, "in a folder that exists"),
    ],
)
def test_what_cannot_be_judged_is_one_line(files, run, monkeypatch, released, more, code, words):
    monkeypatch.chdir(files)
    (files / "damaged.parquet").write_bytes(b"PAR1SECRET")
    before = left_in(files)
    name = released if released == "-" else files / released
    got, out, err = run("judge", name, "--source", "raw.parquet", "-s", "secret", *more)
    assert (got, out) == (code, "")
    assert_one_line(err, words)
    assert left_in(files) == before


def test_a_file_without_rows_is_refused(files, run):
    pq.write_table(pq.read_table(files / "raw.parquet")[:0], files / "empty.parquet")
    code, _, err = run(*asked(files, "empty.parquet"))
    assert code == 3
    assert_one_line(err, "the release has no rows")


@pytest.mark.parametrize("argv", [[], ["raw.parquet"], ["raw.parquet", "--source", "raw.parquet"]])
def test_2_what_must_be_said_is_missing(argv, run):
    code, out, err = run("judge", *argv)
    assert (code, out) == (2, "")
    assert "required" in err


# --------------------------------------------------------------------------------- a twin of the release to be written


CLASSES = 'mechanism = "latent-classes"\nn_classes = 6'
TUPLES = 'mechanism = "subset-merging"\nmin_count = 0'


def releasing(files, channel, *more):
    """Arguments that release all columns through latent classes or tuples, and what they write."""
    names = [name for name in pq.read_schema(files / "raw.parquet").names if name != "secret"]
    (files / "policy.toml").write_text(
        f'version = 1\n[columns]\nsensitive = ["secret"]\npublic = {json.dumps(names)}\n'
        "[budget]\nlower = 1.5\nupper = 1.0\n"
        f"[channel]\n{channel}\n"
    )
    return ["release", files / "raw.parquet", "-p", files / "policy.toml", "-o", files / "out.parquet", *more]


@pytest.mark.slow
@pytest.mark.parametrize("outsiders", [[], ["others.csv"]])
def test_a_release_is_judged_before_it_is_written_and_its_report_says_so(files, run, outsiders):
    others = [files / name for name in outsiders]
    code, out, _ = run(*releasing(files, CLASSES, "--report", files / "r.html", "--full", "--judge", *others))
    assert code == 0
    words = " ".join(out.split())
    assert "Copied rows, or more about people in the data than about others (must not be found): " in words
    assert "(people in the data / outside it, in 100): " in words
    page = (files / "r.html").read_text()
    assert all(
        title in page for title in ("Copies", "Singling out", "Linkability", "The rest of a record", "Nearest row")
    )
    assert f"{500 if outsiders else 100} people outside it" in page
    assert "SECRET" not in page
    code, out, _ = run(*releasing(files, CLASSES, "--dry-run", "--json", "--judge", *others))
    assert code == 0
    assert json.loads(out)["judgement"]["n_outsiders"] == (500 if outsiders else 100)


def test_a_release_that_gives_its_people_away_is_not_written(files, run):
    before = left_in(files)
    code, out, err = run(*releasing(files, TUPLES, "--report", files / "r.html", "--judge", files / "others.csv"))
    assert (code, out) == (1, "")
    assert_one_line(err, "the release is refuted (", "copies", "do not hand it out")
    assert set(left_in(files)) == {*before, "policy.toml"}


@pytest.mark.parametrize(("claim", "code"), [("promised", 1), ("membership", 0)])
def test_a_release_is_held_back_by_what_was_promised_alone(files, run, monkeypatch, claim, code):
    """That nobody can tell who is in the data is not promised: it is said, and the release is written."""
    common = {
        "question": "?",
        "figure": "share",
        "chance": 0.01,
        "excess": 0.02,
        "n": 99,
        "surest": None,
        "sentence": ".",
    }
    refuting = AttackResult("Worst", claim=claim, people=0.9, outsiders=0.1, interval=(0.7, 0.9), **common)
    judge = sz.auditing.attack.judge
    monkeypatch.setattr(
        sz.auditing.attack, "judge", lambda *tables, **more: replace(judge(*tables, **more), results=(refuting,))
    )
    code_found, _, err = run(*releasing(files, CLASSES, "--judge", files / "others.csv"))
    assert code_found == code
    assert (files / "out.parquet").exists() == (code == 0)
    assert ("the release is refuted (worst)" in err) == (code == 1)


@pytest.mark.parametrize("option", [["--judge"], ["--predict", "count4"]])
def test_what_cannot_be_measured_on_a_twin_is_not_released(files, run, option):
    command, source, *more = releasing(files, CLASSES, *option)
    for argv, words in [
        ([command, source, *more, "--audience", "public"], f"{option[0]} is for the owner"),
        ([command, "-", *more], f"{option[0]} reads the table twice"),
    ]:
        code, out, err = run(*argv)
        assert (code, out) == (2, "")
        assert_one_line(err, words)
    assert not (files / "out.parquet").exists()


@pytest.mark.parametrize("by_policy", [False, True])
def test_models_trained_on_a_twin_and_on_the_raw_table_are_on_the_report_of_the_owner(files, run, by_policy):
    argv = releasing(files, CLASSES, "--report", files / "r.html", *([] if by_policy else ["--predict", "number0"]))
    if by_policy:
        policy = files / "policy.toml"
        policy.write_text('predict = "number0"\n' + policy.read_text())
    assert run(*argv)[0] == 0
    page = " ".join((files / "r.html").read_text().split())
    assert "Models trained on the release" in page
    assert all(
        f"<bdi>{name}</bdi>" in page for name in ("the raw table", "the release", "rows that ignore every relation")
    )
    assert "Predicting whether &#39;number0&#39; is above its median for raw rows it has not seen" in page


def test_only_released_columns_are_predicted(files, run):
    code, _, err = run(*releasing(files, CLASSES, "--predict", "secret"))
    assert code == 2
    assert_one_line(err, "--predict must name a released column, got 'secret'")
