"""Several outputs of one command: all of them appear, or everything stays as it was."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pandas as pd
import pytest

import sanitize as sz
from sanitize._util.outputs import _Unnamed
from sanitize.errors import TargetError

SETTINGS = ["-s", "ill", "-x", "town", "--lower", "1", "--upper", "1"]


@pytest.fixture
def place(tmp_path, monkeypatch, run):
    """A table, the same in a folder and by unit, a release of it with its report and dossier, and policies."""
    frame = pd.DataFrame({"ill": ["yes", "no", "no"] * 40, "town": ["A", "B"] * 60})
    frame.to_parquet(tmp_path / "raw.parquet")
    frame.assign(who=range(len(frame))).to_parquet(tmp_path / "units.parquet")
    for name in ("folder", "own"):
        (tmp_path / name).mkdir()
    for number in range(2):
        frame.to_parquet(tmp_path / f"folder/{number}.parquet")
    monkeypatch.chdir(tmp_path)
    sz.Ledger("book", sz.LiftBudget(lower=9.0, upper=9.0))
    for name, ledger, unit in (
        ("own.toml", "", ""),
        ("kept.toml", 'ledger = "book"\n', ""),
        ("unit.toml", 'ledger = "units"\n', 'unit = "who"\n'),
    ):
        (tmp_path / name).write_text(POLICY.format(ledger=ledger, unit=unit))
    assert run("release", "raw.parquet", "-o", "out.parquet", "-p", "own.toml", "--report", "r.json")[0] == 0
    assert run(*DOSSIER, "old.html")[0] == 0
    return tmp_path


POLICY = """version = 1
{ledger}[columns]
{unit}sensitive = ["ill"]
public = ["town"]
[budget]
lower = 1.0
upper = 1.0
[channel]
mechanism = "subset-merging"
"""
DOSSIER = ["report", "r.json", "--released", "out.parquet", "-p", "own.toml", "--dossier"]
BESIDE = ["--report", "r.json", "--channel", "c.json"]
# Commands, and how many of their outputs take a name.
COMMANDS = {
    "release": (
        ["release", "raw.parquet", "-o", "new.parquet", *SETTINGS, "--report", "n.html", "--channel", "c.json"],
        3,
    ),
    "release again": (["release", "raw.parquet", "-o", "out.parquet", *SETTINGS, *BESIDE, "--force"], 3),
    "release with a receipt": (["release", "raw.parquet", "-o", "new.csv", *SETTINGS, "--receipt", "own/receipt"], 2),
    "release of a folder": (
        ["release", "folder", "-o", "new", *SETTINGS, "--report", "n.json", "--channel", "c.json"],
        3,
    ),
    "release with a ledger": (
        ["release", "raw.parquet", "-o", "new.parquet", "-p", "kept.toml", "--report", "n.json"],
        3,
    ),
    "release by unit": (["release", "units.parquet", "-o", "new.parquet", "-p", "unit.toml", "--report", "n.json"], 3),
    "plan": (["plan", "raw.parquet", *SETTINGS, "--report", "p.json", "--html", "p.html"], 2),
    "init": (["init", "raw.parquet", "-o", "policy.toml"], 1),
    "init again": (["init", "raw.parquet", "-o", "own.toml", "--force"], 1),
    "dossier": ([*DOSSIER, "d.html"], 3),
    "dossier again": ([*DOSSIER, "old.html", "--force"], 3),
    "judge": (["judge", "out.parquet", "--source", "raw.parquet", "-s", "ill", "--html", "j.html"], 1),
    "rewritten": (
        ["verify", "out.parquet", "--source", "raw.parquet", "-p", "own.toml", "--rewrite", "again.parquet"],
        1,
    ),
}


def state(place):
    """Contents of all files, but of locks, which hold nothing."""
    return {
        file.relative_to(place).as_posix(): file.read_bytes()
        for file in place.rglob("*")
        if file.is_file() and file.suffix != ".lock"
    }


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without room here")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_report_that_is_lost_leaves_everything_as_it_was(command, place, run, monkeypatch):
    """Standard output is full; commands that print nothing there are done."""
    before = state(place)
    with open("/dev/full", "w") as full, monkeypatch.context() as patched:
        patched.setattr("sys.stdout", full)
        code, _, err = run(*COMMANDS[command][0])
        with contextlib.suppress(OSError):
            full.close()
    prints_nothing = command.startswith(("init", "dossier"))
    assert code == (0 if prints_nothing else 4), err
    if not prints_nothing:
        assert "standard output cannot be written" in err
        assert state(place) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_fails_at_any_of_its_outputs_leaves_everything_as_it_was(command, place, run, monkeypatch):
    """A full disk at the first, the second, ... of the names that are given: what was there comes back."""
    argv, n_outputs = COMMANDS[command]
    before, take_name = state(place), _Unnamed.take_name
    for moment in range(20):
        seen = []

        def full(made, *, moment=moment, seen=seen, **how):
            seen.append(made)
            if len(seen) == moment + 1:
                raise TargetError("No space left on device")
            return take_name(made, **how)

        monkeypatch.setattr(_Unnamed, "take_name", full)
        code, _, err = run(*argv)
        if len(seen) <= moment:
            break
        assert code in (2, 4), err
        assert "No space left on device" in err
        assert state(place) == before, moment
    assert code == 0
    assert moment >= n_outputs
    assert set(before) <= set(state(place))


def test_a_policy_that_does_not_fit_leaves_the_old_one(place, run, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    (place / "policy.toml").write_text("mine")
    before = sorted(place.iterdir())
    monkeypatch.setattr("sanitize._util.outputs.os.fsync", full)
    assert run("init", "raw.parquet", "-o", "policy.toml", "--force")[0] == 4
    assert (place / "policy.toml").read_text() == "mine"
    assert sorted(place.iterdir()) == before
