"""Commands where the system gives little: folders that are shut, few open files, nowhere for temporary files."""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from cli_cases import assert_one_line
from commands_cases import POLICY, SETTINGS, left_in, table

import sanitize as sz
from sanitize._util import outputs, system
from sanitize.cli import main
from sanitize.errors import SanitizeError, SourceError, TargetError
from sanitize.over_time import UnitLedger
from sanitize.release.saved import Receipt

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="capabilities and limits are those of Linux")
RELEASE = ["release", "raw.parquet", "-o", "new.parquet", *SETTINGS]
VERIFY = ["verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml"]
DOSSIER = ["report", "report.json", "--dossier", "d.html", "--released", "out.parquet", "-p", "policy.toml"]
JUDGE = ["judge", "out.parquet", "--source", "raw.parquet", "-s", "illness"]
# Every file that a command names, and the exit code where it cannot be reached.
FILES = {
    "audit": (3, ["audit", "{}raw.parquet", *SETTINGS[:4]]),
    "plan": (3, ["plan", "{}raw.parquet", *SETTINGS]),
    "page of a plan": (4, ["plan", "raw.parquet", *SETTINGS, "--html", "{}page.html"]),
    "release": (3, ["release", "{}raw.parquet", *RELEASE[2:]]),
    "release of text": (3, ["release", "{}raw.csv", *RELEASE[2:]]),
    "target": (4, ["release", "raw.parquet", "-o", "{}new.parquet", *SETTINGS]),
    "target that is replaced": (4, ["release", "raw.parquet", "-o", "{}out.parquet", *SETTINGS, "--force"]),
    "report": (4, [*RELEASE, "--report", "{}new.json"]),
    "channel to write": (4, [*RELEASE, "--channel", "{}new.json"]),
    "receipt to write": (4, [*RELEASE, "--receipt", "{}own/receipt"]),
    "policy": (2, ["release", "raw.parquet", "-o", "new.parquet", "-p", "{}policy.toml"]),
    "ledger": (2, [*RELEASE, "--ledger", "{}book"]),
    "outsiders of a release": (3, [*RELEASE, "--judge", "{}raw.csv"]),
    "verify": (3, ["verify", "{}out.parquet", *VERIFY[2:]]),
    "source": (3, ["verify", "out.parquet", "--source", "{}raw.parquet", *SETTINGS]),
    "receipt": (3, [*VERIFY, "--receipt", "{}own/receipt"]),
    "statement": (3, [*VERIFY, "--statement", "{}statement.json"]),
    "rewritten release": (4, [*VERIFY, "--rewrite", "{}again.parquet"]),
    "judge": (3, ["judge", "{}out.parquet", *JUDGE[2:]]),
    "outsiders": (3, [*JUDGE, "--outsiders", "{}raw.csv"]),
    "page of a judgement": (4, [*JUDGE, "--html", "{}page.html"]),
    "report to print": (3, ["report", "{}report.json"]),
    "report to write": (4, ["report", "report.json", "-o", "{}page.html"]),
    "dossier": (4, ["report", "report.json", "--dossier", "{}d.html", *DOSSIER[4:]]),
    "release of a dossier": (3, [*DOSSIER[:4], "--released", "{}out.parquet", *DOSSIER[6:]]),
    "verification": (3, [*DOSSIER, "--verified", "{}verified.json"]),
    "init": (3, ["init", "{}raw.parquet"]),
    "policy to write": (4, ["init", "raw.parquet", "-o", "{}new.toml"]),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A table in two kinds of file, its release with all that lies beside it, and all that again in a shut folder."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
        patch.chdir(place)
        Path("own").mkdir()
        table().to_pandas().to_csv("raw.csv", index=False)
        table().to_pandas().to_parquet("raw.parquet")
        Path("policy.toml").write_text(POLICY)
        beside = ["--report", "report.json", "--channel", "channel.json", "--receipt", "own/receipt"]
        assert main(["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", *beside]) == 0
        said.truncate(0)
        said.seek(0)
        assert main([*VERIFY, "--json"]) == 0
        Path("verified.json").write_text(said.getvalue())
    shutil.copytree(place, place / "shut")
    (place / "shut").chmod(0o600)
    return place


def without_privileges() -> None:
    """Take from root what lets it into every folder; others have nothing of it."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # to ignore permissions, and those to read and to search
        libc.prctl(24, capability, 0, 0, 0)


def apart(program: str, place: Path, before=None) -> str:
    """What a program prints that runs in an interpreter of its own."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=place, preexec_fn=before, capture_output=True, text=True, check=True)
    return done.stdout


ALL_OF = """
import contextlib, io, json, sys
from sanitize.cli import main
found = []
for argv in json.loads({argv!r}):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(argv)
    found.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def shut(made) -> dict[tuple[str, str], tuple[int, str, str]]:
    """What each command says of each file in the folder that is shut, and of one in a folder below it."""
    asked = {(name, below): argv for name, (_, argv) in FILES.items() for below in ("shut/", "shut/deeper/")}
    argv = [[word.format(below) for word in words] for (_, below), words in asked.items()]
    before = left_in(made)
    found = json.loads(apart(ALL_OF.format(argv=json.dumps(argv)), made, without_privileges))
    assert left_in(made) == before
    return dict(zip(asked, found, strict=True))


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("below", ["shut/", "shut/deeper/"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_below_a_folder_that_may_not_be_entered_is_said_to_be_there(name, below, shut):
    code, out, err = shut[name, below]
    assert (code, out) == (FILES[name][0], ""), err
    assert_one_line(err)
    assert any(
        words in err for words in ("may not be entered", "Permission denied", "cannot be read", "is not writable")
    ), err


FUNCTIONS = """
import sanitize as sz
from sanitize.errors import SourceError, TargetError
sanitizer = sz.SubsetMerging(sz.LiftBudget.symmetric(2.0), sensitive="illness", public="town")
for kind, files in ((SourceError, ("shut/raw.parquet", "x.parquet")), (TargetError, ("raw.parquet", "shut/x.parquet"))):
    try:
        sz.release_file(*files, sanitizer)
    except kind as error:
        print(error)
"""


@pytest.mark.slow
@on_linux
def test_functions_name_the_folder_too(made):
    assert apart(FUNCTIONS, made, without_privileges).splitlines() == [
        f"'{name}' is below a folder that may not be entered; name another file"
        for name in ("raw.parquet", "x.parquet")
    ]


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("n_files", [5, 6, 7])
@pytest.mark.parametrize("name", ["release", "release of text", "receipt", "dossier"])
def test_too_few_open_files_are_said_to_be_too_few(name, n_files, made):
    """Done, or one line; where there are too few for Python itself it cannot say more than that."""
    before = left_in(made)

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files))

    argv = [sys.executable, "-m", "sanitize", *(word.format("") for word in FILES[name][1])]
    done = subprocess.run(argv, cwd=made, preexec_fn=few, capture_output=True, text=True, check=False)
    if done.returncode:
        assert done.returncode in (2, 3, 4)
        assert_one_line(done.stderr)
        assert "oo many" in done.stderr
        assert left_in(made) == before
    else:
        assert done.stderr == ""
    for name in set(left_in(made)) - set(before):
        (made / name).unlink()


@pytest.mark.parametrize(
    "argv",
    [
        ["release", "-", *RELEASE[2:]],
        ["release", "raw.parquet", "-o", "-", *SETTINGS],
        ["audit", "-", *SETTINGS[:4]],
        ["init", "-"],
        VERIFY,
        [*VERIFY, "--receipt", "own/receipt"],
    ],
    ids=lambda argv: " ".join(argv)[:30],
)
def test_without_a_folder_for_temporary_files_the_way_out_is_named(argv, made, monkeypatch, capsysbinary):
    before = left_in(made)
    monkeypatch.chdir(made)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("raw.csv").read_bytes())))
    assert main(argv) == 4
    out, err = capsysbinary.readouterr()
    assert out == b""
    assert_one_line(err.decode(), "no folder for temporary files", "TMPDIR")
    assert left_in(made) == before


@pytest.fixture(scope="module")
def spelt(tmp_path_factory) -> Path:
    """A table with a name that few encodings have, and its release."""
    place = tmp_path_factory.mktemp("spelt")
    frame = table().to_pandas()[["illness", "town"]].rename(columns={"town": NAME})
    frame.to_parquet(place / "raw.parquet")
    sanitizer = sz.SubsetMerging(sz.LiftBudget(lower=3, upper=2), sensitive="illness", public=[NAME])
    sz.release_file(place / "raw.parquet", place / "out.parquet", sanitizer)
    return place


NAME = "gehalt € ł"
NAMED = ["-s", "illness", "-x", NAME, "--lower", "3", "--upper", "2"]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp1250", "latin-1", "utf-8"])
@pytest.mark.parametrize(
    "argv",
    [
        ["audit", "raw.parquet", *NAMED[:4]],
        ["plan", "raw.parquet", *NAMED],
        ["release", "raw.parquet", "-o", "new.parquet", "--force", *NAMED],
        ["init", "raw.parquet"],
        ["verify", "out.parquet", "--source", "raw.parquet", *NAMED],
        ["judge", "out.parquet", "--source", "raw.parquet", "-s", "illness"],
    ],
    ids=lambda argv: argv[0],
)
def test_a_terminal_is_told_a_name_that_it_cannot_spell_in_escapes(argv, encoding, spelt, monkeypatch):
    monkeypatch.chdir(spelt)
    terminal = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(argv) == 0
    is_file = argv[0] == "init"  # a policy is in UTF-8
    told = terminal.buffer.getvalue().decode("utf-8" if is_file else encoding)
    assert (NAME if is_file else NAME.encode(encoding, "backslashreplace").decode(encoding)) in told


def test_the_mask_of_new_files_is_looked_at_and_not_set(monkeypatch, tmp_path):
    """Were it set to 0 for a moment, files of other threads would be open to all."""
    mask = os.umask(0o027)
    asked = []

    def spying(value: int) -> int:
        asked.append(value)
        return 0o027

    try:
        monkeypatch.setattr(os, "umask", spying)
        if Path("/proc/self/status").exists():
            outputs.write_text("a", tmp_path / "x")
            assert (system.umask(), asked) == (0o027, [])
        monkeypatch.setattr(Path, "read_text", lambda *_, **__: "")
        assert (system.umask(), asked) == (0o027, [0o077, 0o027])
    finally:
        monkeypatch.undo()
        os.umask(mask)


def test_a_file_that_is_not_there_is_not_called_damaged(made):
    with pytest.raises(SourceError, match=r"^none cannot be read .*No such file"):
        sz.verify_file(made / "out.parquet", made / "raw.parquet", made, receipt=made / "none")
    with pytest.raises(TargetError, match="does not exist; create it first"):
        sz.release_file(
            made / "raw.parquet",
            made / "no" / "x.parquet",
            sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="illness", public="town"),
        )


@pytest.mark.parametrize("kind", ["policy", "ledger", "ledger of units", "receipt"])
def test_a_small_file_is_read_without_the_memory_of_the_largest_one(kind, made, tmp_path):
    """And a pipe, at which a reader would wait, is refused."""
    budget = sz.LiftBudget(lower=9.0, upper=9.0)
    sz.Ledger(tmp_path / "ledger", budget)
    UnitLedger(tmp_path / "ledger of units", budget, unit="who")
    read, file = {
        "policy": (sz.Policy.read, made / "policy.toml"),
        "ledger": (sz.Ledger, tmp_path / "ledger"),
        "ledger of units": (UnitLedger, tmp_path / "ledger of units"),
        "receipt": (Receipt.read, made / "own/receipt"),
    }[kind]
    read(file)
    tracemalloc.start()
    read(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 19
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SanitizeError, match="not a regular file"):
        read(tmp_path / "pipe")
