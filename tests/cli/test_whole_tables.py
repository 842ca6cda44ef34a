"""The command on whole tables: releases through latent classes, what is refused, and the policy that init writes."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands_cases import assert_line, table

import sanitize as sz

COLUMNS = ["age", "town", "smokes", "floor", "rent", "seen"]
SETTINGS = ["-s", "illness", *(word for name in COLUMNS for word in ("-x", name)), "--lower", "1", "--upper", "0.5"]


def people(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(1)
    illness = rng.choice(["SECRET_ill", "SECRET_well"], n, p=[0.3, 0.7])
    ill = illness == "SECRET_ill"
    return pa.table(
        {
            "illness": illness,
            "age": np.where(ill, rng.integers(40, 90, n), rng.integers(18, 80, n)),
            "town": rng.choice(["Aa", "Bb", "Cc"], n),
            "smokes": rng.random(n) < np.where(ill, 0.5, 0.2),
            "floor": rng.integers(0, 30, n),
            "rent": rng.lognormal(10, 0.5, n).round(2),
            "seen": np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]"),
        }
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    pq.write_table(people(), tmp_path / "raw.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_whole_table_is_planned_released_and_verified(place, run):
    settings = [*SETTINGS, "-m", "latent-classes"]
    code, planned, _ = run("plan", "raw.parquet", *settings, "--full")
    assert code == 0
    code, out, _ = run("release", "raw.parquet", "-o", "out.parquet", *settings, "--full")
    assert code == 0
    assert planned.startswith("Recommended: latent classes")
    assert out.startswith("HOLDS FOR THESE ROWS ONLY | latent classes, model")
    assert pq.read_schema("out.parquet").names == COLUMNS
    code, out, _ = run("verify", "out.parquet", "--source", "raw.parquet", *settings)
    assert (code, out.partition(" ")[0]) == (0, "NOT")
    code, out, err = run("verify", "out.parquet", "--source", "raw.parquet", *settings[:-5], "2", *settings[-4:])
    assert code == 1
    assert "FAIL" in out
    assert "SECRET" not in out + err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--min-count", "5"], "latent-classes has no --min-count; leave it out"),
        (["--smoothing", "1"], "latent-classes has no --smoothing; leave it out"),
        (["-k", "name"], "latent-classes releases a whole table, so -k does not apply; list all columns with -x"),
    ],
)
def test_settings_that_classes_do_not_have_are_refused(place, run, more, words):
    code, out, err = run("release", "raw.parquet", "-o", "out.parquet", *SETTINGS, "-m", "latent-classes", *more)
    assert code in (2, 3)
    assert out == ""
    assert_line(err, words)


def test_init_recommends_latent_classes_where_tuples_are_too_many(place, run):
    code, text, _ = run("init", "raw.parquet")
    assert code == 0
    policy = tomllib.loads(text)
    assert policy["channel"]["mechanism"] == "latent-classes"
    assert "bins" not in policy["channel"]
    assert "fewer than 5 rows" in text
    assert "needs bins" not in text
    (place / "policy.toml").write_text(
        text.replace("# at_most =", "at_most = 1.65").replace("# at_least =", "at_least = 0.37")
    )
    assert sz.Policy.read("policy.toml").sanitizer().get_params()["confidence"] == 0.95
    code, out, err = run("release", "raw.parquet", "-p", "policy.toml", "-o", "out.parquet")
    assert (code, err) == (0, "")
    assert out.startswith("HOLDS FOR THE POPULATION")
    assert run("verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml")[0] == 0


def test_init_keeps_tuples_where_they_are_few(tmp_path, run):
    few = table(2000).select(["illness", "town", "floor", "age"])
    pq.write_table(few, tmp_path / "few.parquet")
    text = run("init", tmp_path / "few.parquet")[1]
    assert tomllib.loads(text)["channel"]["mechanism"] == "subset-merging"
    assert '# "age" = [low, ..., high]' in text


def test_init_asks_for_the_unit_of_dates(tmp_path, run):
    pq.write_table(people().select(["illness", "seen"]), tmp_path / "raw.parquet")
    text = run("init", tmp_path / "raw.parquet")[1]
    assert tomllib.loads(text)["columns"]["public"] == ["seen"]
    assert '# "seen" = "year"' in text
    assert tomllib.loads(text.replace('# "seen"', '"seen"'))["channel"]["bins"] == {"seen": "year"}


def test_a_whole_table_keeps_bins_for_its_secrets(tmp_path, run):
    rows = people().append_column("salary", pa.array(np.random.default_rng(0).integers(0, 9999, 3000)))
    pq.write_table(rows, tmp_path / "raw.parquet")
    text = run("init", tmp_path / "raw.parquet")[1]
    assert '# "salary" = [low, ..., high]' in text
    assert '# "age"' not in text


@pytest.mark.slow
def test_plan_advises_latent_classes_where_tuples_are_too_many(place, run):
    """One figure is said of the release that is advised, and not a word of it to others than the owner."""
    few = [word for name in ("age", "town", "smokes", "floor") for word in ("-x", name)]
    asked = ["raw.parquet", "-s", "illness", *few, "--lower", "1", "--upper", "0.5"]
    assert_line(run("plan", *asked)[2], "no combination of values of the public columns is shared by 10 rows")
    asked += ["--min-count", "2"]
    code, out, _ = run("plan", *asked)
    assert code == 0
    assert out.startswith("Recommended: latent classes")
    kept = re.search(r"It keeps ([\d.]+ %) of the relations between columns", out)[1]
    assert f'mechanism = "latent-classes"  # keeps {kept} of the relations between columns' in out
    # A looser limit, by which pooled tuples happen to keep less, is no way to keep more.
    assert "a looser limit" not in out
    # Others than the owner learn nothing of it.
    assert "latent" not in run("plan", *asked, "--audience", "public")[1]
