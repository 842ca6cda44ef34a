"""A release that keeps next to nothing of any column is not written, unless that is allowed by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sanitize.cli import main

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


CASES = {
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
        roles = f'version = 1\n[columns]\nsensitive = ["drinks"]\npublic = {columns}\n'
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


def test_what_keeps_something_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    survey(400, 1, 2).to_parquet("raw.parquet")
    loose = ["--at-most", "9", "--at-least", "0"]
    assert main(["release", "raw.parquet", "-o", "out.csv", "-s", "drinks", "-x", "q0", *loose]) == 0
