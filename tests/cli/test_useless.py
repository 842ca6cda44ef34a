"""A release that keeps next to nothing of any column is not written, unless that is allowed by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.cli import main
from sanitize.errors import UselessRelease

CLASSES = '[budget]\nat_most = 1.2\nat_least = 0.8\n[channel]\nmechanism = "latent-classes"\nconfidence = 0.95\n'
TWICE = "[budget]\nat_most = 2\nat_least = 0.33\n[channel]\n"
TIGHT = ["--at-most", "1.001", "--at-least", "0.999"]


def survey(n_rows: int, n_columns: int, n_answers: int) -> pd.DataFrame:
    """Answers of pupils, all of which go with whether they drink."""
    rng = np.random.default_rng(0)
    drinks = rng.random(n_rows) < 0.3
    answers = {
        f"q{j}": (rng.integers(0, n_answers, n_rows) + drinks * rng.integers(0, 2, n_rows)).astype(str)
        for j in range(n_columns)
    }
    return pd.DataFrame({"drinks": np.where(drinks, "yes", "no"), **answers})


def linked_by_a_secret(n_rows: int) -> pd.DataFrame:
    """Two columns that say of each other what they say of the secret."""
    rng = np.random.default_rng(0)
    secret = rng.integers(0, 2, n_rows)
    answers = {name: np.where(rng.random(n_rows) < 0.9, secret, 1 - secret).astype(str) for name in "ab"}
    return pd.DataFrame({"s": secret.astype(str), **answers})


CASES = {
    "latent classes, rows in their order": (survey(650, 4, 5), CLASSES),
    "one column": (survey(400, 1, 2), TIGHT),
    "two columns": (survey(400, 2, 2), ["-m", "watchdog", *TIGHT]),
}


@pytest.mark.parametrize(("table", "asked"), CASES.values(), ids=CASES)
def test_what_keeps_nothing_is_not_written_unless_that_is_allowed(table, asked, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table.to_parquet("raw.parquet")
    columns = list(table.columns[1:])
    words = ["-s", "drinks", *(word for name in columns for word in ("-x", name)), *asked]
    if isinstance(asked, str):
        roles = f'version = 1\nrows = "keep"\n[columns]\nsensitive = ["drinks"]\npublic = {columns}\n'
        (tmp_path / "p.toml").write_text(roles + asked)
        words = ["-p", "p.toml"]
    held = sorted(path.name for path in tmp_path.iterdir())
    run = ["release", "raw.parquet", "-o", "out.csv", *words]
    assert main(run) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "each column would keep less than 5 % of its information" in err
    assert "nothing was written" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == held
    assert main([*run, "--allow-useless"]) == 0
    assert (tmp_path / "out.csv").exists()


GENERATED = {
    "a small table, for its rows alone": (650, 31, 5, ""),
    "few columns": (3000, 4, 5, "confidence = 0.95\n"),
    "few rows, for them alone": (300, 8, 3, ""),
}


def with_hours(n_rows: int, n_columns: int, n_answers: int) -> pd.DataFrame:
    """A survey with a number that goes with the first answer."""
    table = survey(n_rows, n_columns, n_answers)
    return table.assign(hours=np.where(table["q0"] == "0", 3, 20) + np.random.default_rng(1).integers(0, 5, n_rows))


def written(table: pd.DataFrame, confidence: str) -> list[str]:
    """Words that release a table, with its first column as the sensitive one."""
    table.to_parquet("raw.parquet")
    first, *rest = table.columns
    roles = f'version = 1\n[columns]\nsensitive = ["{first}"]\npublic = {rest}\n'
    Path("p.toml").write_text(roles + CLASSES.replace("confidence = 0.95\n", confidence))
    return ["release", "raw.parquet", "-o", "out.parquet", "-p", "p.toml"]


@pytest.mark.parametrize("case", GENERATED.values(), ids=GENERATED)
def test_generated_rows_are_written_by_what_pairs_of_columns_say(case, tmp_path, monkeypatch, capsys):
    """Whatever a row says by itself: it is nobody's."""
    monkeypatch.chdir(tmp_path)
    *shape, confidence = case
    assert main(written(with_hours(*shape), confidence)) == 0
    assert "relations between columns" in " ".join(capsys.readouterr().out.split())
    out = pd.read_parquet("out.parquet")
    few, many = (out.loc[is_own, "hours"].mean() for is_own in (out["q0"] == "0", out["q0"] != "0"))
    assert many - few > 3  # of 15; six deviations of chance away at least, as keys are fresh


USELESS = {"few rows for so many columns": with_hours(120, 8, 3), "rows for one class": linked_by_a_secret(100)}


@pytest.mark.parametrize("table", USELESS.values(), ids=USELESS)
def test_generated_rows_that_show_no_relation_are_not_written_unless_allowed(table, tmp_path, monkeypatch, capsys):
    """Columns that are right each by itself, one beside another, are of no use."""
    monkeypatch.chdir(tmp_path)
    run = written(table, "confidence = 0.95\n")
    assert main(run) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "generated rows would keep less than 5 % of the relations between columns, on average" in err
    assert "nothing was written" in err
    assert not Path("out.parquet").exists()
    assert main([*run, "--allow-useless"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "but less than 5 % of the relations between columns is left" in printed


MECHANISMS = {
    "watchdog": TWICE,
    "subset-merging": TWICE + "confidence = 0.95\n",
    "optimal-random-response": TWICE,
    "subset-random-response": TWICE,
    "auto": TWICE + "confidence = 0.95\n",
    "randomized-response": '[budget]\nnotion = "ldp"\neps = 1\n[channel]\n',
    "exponential-channel": '[budget]\nnotion = "capacity"\nnats = 0.5\n[channel]\n',
}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_combinations_that_nobody_shares_are_not_written(mechanism, tmp_path, monkeypatch, capsys):
    """A pupils' survey by tuples: one line with the columns, and a plan that tries what helps."""
    monkeypatch.chdir(tmp_path)
    table = survey(650, 30, 5)
    table.to_parquet("raw.parquet")
    roles = f'version = 1\n[columns]\nsensitive = ["drinks"]\npublic = {list(table.columns[1:])}\n'
    Path("p.toml").write_text(f'{roles}{MECHANISMS[mechanism]}mechanism = "{mechanism}"\n')
    held = sorted(path.name for path in tmp_path.iterdir())
    for allowed in ([], ["--allow-useless"]):  # there is nothing that could be allowed
        assert main(["release", "raw.parquet", "-o", "out.csv", "-p", "p.toml", *allowed]) == 1
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "shared by 10 rows (min_count); nothing was written: leave out 'q0' or other columns" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == held
    with pytest.raises(UselessRelease, match="shared by 10 rows") as caught:
        sz.release_file("raw.parquet", "out.csv", sz.Policy.read("p.toml"))
    assert caught.value.report is None


def test_what_keeps_something_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    survey(400, 1, 2).to_parquet("raw.parquet")
    loose = ["--at-most", "9", "--at-least", "0"]
    assert main(["release", "raw.parquet", "-o", "out.csv", "-s", "drinks", "-x", "q0", *loose]) == 0
