"""Several outputs of one command: all of them appear, or everything stays as it was."""

from __future__ import annotations

import pandas as pd
import pytest

from sanitize._files.outputs import _Unnamed
from sanitize.errors import TargetError

SETTINGS = ["-s", "ill", "-x", "town", "--lower", "1", "--upper", "1"]


@pytest.fixture
def place(tmp_path, monkeypatch, run):
    """A table, a release of it with its report, and a policy."""
    pd.DataFrame({"ill": ["yes", "no", "no"] * 40, "town": ["A", "B"] * 60}).to_parquet(tmp_path / "raw.parquet")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(
        'version = 1\n[columns]\nsensitive = ["ill"]\npublic = ["town"]\n[budget]\nlower = 1.0\nupper = 1.0\n'
        '[channel]\nmechanism = "subset-merging"\n'
    )
    assert run("release", "raw.parquet", "-o", "out.parquet", "-p", "own.toml", "--report", "r.json")[0] == 0
    return tmp_path


COMMANDS = {
    "release": (
        ["release", "raw.parquet", "-o", "new.parquet", *SETTINGS, "--report", "new.html", "--channel", "c.json"],
        3,
    ),
    "release again": (
        [
            "release",
            "raw.parquet",
            "-o",
            "out.parquet",
            *SETTINGS,
            "--report",
            "r.json",
            "--channel",
            "c.json",
            "--force",
        ],
        3,
    ),
    "plan": (["plan", "raw.parquet", *SETTINGS, "--report", "p.json", "--html", "p.html"], 2),
    "init": (["init", "raw.parquet", "-o", "policy.toml"], 1),
    "dossier": (["report", "r.json", "--dossier", "d.html", "--released", "out.parquet", "-p", "own.toml"], 3),
}


def state(place):
    return {file.name: file.read_bytes() for file in place.iterdir()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_fails_at_any_of_its_outputs_leaves_everything_as_it_was(command, place, run, monkeypatch):
    """A full disk at the first, the second, ... of the names that are given: what was there comes back."""
    argv, n_outputs = COMMANDS[command]
    before, take_name = state(place), _Unnamed.take_name
    for moment in range(n_outputs):
        seen = []

        def full(made, *, moment=moment, seen=seen, **how):
            seen.append(made)
            if len(seen) == moment + 1:
                raise TargetError("No space left on device")
            return take_name(made, **how)

        monkeypatch.setattr(_Unnamed, "take_name", full)
        code, _, err = run(*argv)
        assert code == 4, err
        assert "No space left on device" in err
        assert state(place) == before, moment
    monkeypatch.setattr(_Unnamed, "take_name", take_name)
    assert run(*argv)[0] == 0
    assert len(set(state(place)) - set(before)) >= n_outputs - 2


def test_a_policy_that_does_not_fit_leaves_the_old_one(place, run, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    (place / "policy.toml").write_text("mine")
    monkeypatch.setattr("sanitize._files.outputs.os.fsync", full)
    assert run("init", "raw.parquet", "-o", "policy.toml", "--force")[0] == 4
    assert (place / "policy.toml").read_text() == "mine"
    assert not list(place.glob(".*"))
