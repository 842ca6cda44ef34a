"""A bounded part of the fuzzing with every run of the tests; any length by hand: ``python -m tests.fuzz``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sanitize.cli import main

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from fuzz.cases import CHANNELS, GRID, KINDS, POLICY, Mutant, function, table  # noqa: E402
from fuzz.run import outcome_of  # noqa: E402

# Seconds of one kind at most take a fraction of this; the number counts mutants, so that the same are tried everywhere.
COUNT = 15

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are kept on Linux only")


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("kind", KINDS)
def test_no_mutant_gets_through(kind):
    asked = [sys.executable, "-m", "tests.fuzz", kind, "--count", str(COUNT), "--seed", "2026"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{kind}: {COUNT} mutants")


@on_linux
@pytest.mark.parametrize("policy", [POLICY, CHANNELS, GRID])
def test_what_is_mutated_would_be_released(policy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(), "raw.parquet")
    Path("policy.toml").write_text(policy)
    assert main(["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml"]) == 0


# ------------------------------------------------------------------------------- the judge itself sees faults


def says(words: str, code: int):
    def run() -> int:
        print(words, file=sys.stderr)
        return code

    return run


def leaves_a_file() -> int:
    Path("out.parquet").touch()
    return says("sanitize: no", 3)()


def fills_memory() -> int:
    return len(bytearray(8 << 30))


@pytest.mark.slow
@on_linux
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # a fork beside threads of other tests
@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (says("", 0), "released"),
        (says("sanitize: no", 3), "refused"),
        (function(lambda: (_ for _ in ()).throw(KeyError("x"))), "internal error"),
        (fills_memory, "internal error"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by signal 9"),
        (says("sanitize: no\nand more", 3), "2 lines of error"),
        (says("sanitize: SECRET_ill", 3), "a word of the data"),
        (says("", 5), "internal error"),
        (leaves_a_file, "left a file behind"),
    ],
)
def test_the_judge_sees_faults(run, outcome):
    assert outcome_of(Mutant({"raw.csv": b"x"}, run))[0].startswith(outcome)
