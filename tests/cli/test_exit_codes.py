"""Exit codes of the command: what each is, and one line that says why."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_cases import USUAL, assert_one_line, left_in, table

from sanitize.core.channel import Channel


@pytest.fixture
def leaky(monkeypatch):
    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging",
        lambda joint, budget, **_: Channel.identity(len(joint.public), joint.public),
    )


# ------------------------------------------------------------------------------------------- exit codes


def test_1_the_gate_failed_and_nothing_was_written(leaky, source, tmp_path, run):
    for extra in ([], ["--dry-run"], ["--json"]):
        code, out, err = run(
            "release",
            source,
            "-o",
            tmp_path / "out.parquet",
            "-s",
            "illness",
            "-x",
            "town",
            "--lower",
            "0.01",
            "--upper",
            "0.01",
            *extra,
        )
        assert (code, out) == (1, "")
        assert_one_line(err, "exceeds its budget", "nothing was released")
        assert not any(symbol in err for symbol in ("Aa", "Bb", "Cc"))
    assert left_in(tmp_path) == ["raw.parquet"]


def test_1_an_order_that_tells_the_sensitive_column_is_not_kept(tmp_path, run):
    pq.write_table(table(2000).sort_by("illness"), tmp_path / "raw.parquet")
    code, out, err = run("release", tmp_path / "raw.parquet", "-o", tmp_path / "out.parquet", *USUAL, "--rows", "keep")
    assert (code, out) == (1, "")
    assert_one_line(err, "order")
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            ["-s", "illness", "-x", "town", "--at-most", "0.5", "--at-least", "0.2"],
            "at_most must be a number from 1 to inf",
        ),
        (
            ["-s", "illness", "-x", "town", "--at-most", "2", "--at-least", "1.5"],
            "at_least must be a number from 0 to 1",
        ),
        (["-s", "illness", "-x", "town", "--lower", "-1", "--upper", "1"], "lower must be a number >= 0"),
        (["-s", "illness", "-x", "town", "--lower", "-1", "--upper", "-1"], ">= 0"),
        (["-s", "illness", "-x", "town", "--lower", "nan", "--upper", "nan"], ">= 0"),
        (["-s", "town", "-x", "town", "--lower", "1", "--upper", "1"], "both with -s and with -x"),
        (["-s", "illness", "-x", "town", "--lower", "1", "--upper", "1", "--min-count", "-3"], "min_count"),
        (["-s", "illness", "-x", "town", "--lower", "1", "--upper", "1", "--smoothing", "-3"], "smoothing"),
        (["-s", "illness", "-x", "age", "--lower", "1", "--upper", "1", "--bins", "age=9,3"], "ascending"),
    ],
)
def test_2_a_setting_makes_no_sense(argv, words, source, tmp_path, run):
    code, out, err = run("release", source, "-o", tmp_path / "out.parquet", *argv)
    assert (code, out) == (2, "")
    assert_one_line(err, words)
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["frobnicate"],
        ["audit"],
        ["audit", "raw.parquet", "-s", "illness"],
        ["audit", "raw.parquet", "-s", "illness", "-x", "town", "--audience", "SECRET"[:3]],
        ["release", "raw.parquet", "-s", "illness", "-x", "town", "--lower", "1", "--upper", "1"],
        ["release", "raw.parquet", "-o", "out", "-s", "illness", "-x", "town"],
        ["release", "raw.parquet", "-o", "out", *USUAL, "--bins", "age"],
        ["release", "raw.parquet", "-o", "out", *USUAL, "--bins", "age=x"],
        ["release", "raw.parquet", "-o", "out", *USUAL, "-m", "magic"],
        ["release", "raw.parquet", "-o", "out", *USUAL, "--min-count", "few"],
        ["release", "raw.parquet", "-o", "out", *USUAL, "--no-such-option"],
    ],
    ids=lambda argv: " ".join(argv)[-40:] or "nothing",
)
def test_2_the_command_line_is_wrong(argv, run):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("sanitize")
    assert ": error: " in err.splitlines()[-1]


@pytest.mark.parametrize("command", ["audit", "release"])
def test_3_the_input_cannot_be_read_or_does_not_fit(command, source, tmp_path, run):
    (tmp_path / "text.parquet").write_text("SECRET,SECRET\n" * 50)
    (tmp_path / "cut.parquet").write_bytes(source.read_bytes()[:-50])
    (tmp_path / "empty").mkdir()
    pq.write_table(table().slice(0, 0), tmp_path / "none.parquet")
    extra = ["-o", tmp_path / "out.parquet", "--lower", "1", "--upper", "1"] if command == "release" else []
    for name, public, words in [
        ("nowhere.parquet", "town", "no such file"),
        ("text.parquet", "town", "is not a Parquet file"),
        ("cut.parquet", "town", "cut off or damaged"),
        ("empty", "town", "has no *.parquet files"),
        ("none.parquet", "town", "no rows"),
        ("raw.parquet", "twon", "did you mean 'town'"),
        ("raw.parquet", "name", "different value in most rows"),
    ]:
        code, out, err = run(command, tmp_path / name, "-s", "illness", "-x", public, *extra)
        assert (code, out) == (3, ""), name
        assert_one_line(err, words)
    assert "out.parquet" not in left_in(tmp_path)


def test_3_not_enough_memory_is_said_in_words(source, tmp_path, run, monkeypatch):
    def hungry(*_, **__):
        raise MemoryError("SECRET")

    monkeypatch.setattr("sanitize.engines.parquet.release_file", hungry)
    code, _, err = run("release", source, "-o", tmp_path / "out.parquet", *USUAL)
    assert code == 3
    assert_one_line(err, "not enough memory")


def test_4_the_output_exists_or_cannot_be_written(source, tmp_path, run):
    target = tmp_path / "out.parquet"
    target.write_text("old")
    code, out, err = run("release", source, "-o", target, *USUAL)
    assert (code, out) == (4, "")
    assert_one_line(err, "exists already", "force")
    assert target.read_text() == "old"
    assert run("release", source, "-o", target, *USUAL, "--force")[0] == 0
    assert pq.read_metadata(target).num_rows == 300
    for bad, words in ((source, "is the raw table"), (tmp_path / "no" / "out.parquet", "create it first")):
        code, out, err = run("release", source, "-o", bad, *USUAL, "--force")
        assert (code, out) == (4, "")
        assert_one_line(err, words)


@pytest.mark.slow
def test_4_a_full_disk_is_one_line(source, tmp_path):
    """The writer must not complain again when it is thrown away, so this runs apart."""
    program = (
        "import sys\n"
        "from sanitize.engines.parquet._writers import ReleaseWriter\n"
        "def full(*_):\n"
        "    raise OSError(28, 'No space left on device')\n"
        "ReleaseWriter.write = full\n"
        "from sanitize.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "release", "raw.parquet", "-o", "out.parquet", *USUAL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert_one_line(done.stderr, "No space left on device", "nothing was written")
    assert left_in(tmp_path) == ["raw.parquet"]


def test_5_an_internal_error_names_its_kind_only_and_v_gives_the_traceback(source, tmp_path, run, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("row 17 holds SECRET_ill")

    monkeypatch.setattr("sanitize.engines.parquet.release_file", broken)
    code, out, err = run("release", source, "-o", tmp_path / "out.parquet", *USUAL)
    assert (code, out) == (5, "")
    assert_one_line(err, "internal error (ZeroDivisionError)", "-v")
    code, out, err = run("release", source, "-o", tmp_path / "out.parquet", *USUAL, "-v")
    assert (code, out) == (5, "")
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("sanitize: internal error")
    assert left_in(tmp_path) == ["raw.parquet"]


def test_v_gives_the_traceback_of_an_ordinary_error_too(source, run):
    code, _, err = run("audit", source, "-s", "illness", "-x", "twon", "-v")
    assert code == 3
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("sanitize: no column 'twon'")


SLOW = """
import sys, time
from sanitize.engines.parquet._writers import ReleaseWriter
if "named" in sys.argv[1]:
    import os
    del os.O_TMPFILE
write = ReleaseWriter.write
def slow(self, columns):
    write(self, columns)
    print("writing", flush=True)
    time.sleep(600)
ReleaseWriter.write = slow
from sanitize.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("kind", ["plain", "named", "folder"])
def test_130_an_interrupted_release_leaves_nothing(number, kind, source, tmp_path):
    if kind == "named" and not hasattr(os, "O_TMPFILE"):
        pytest.skip("all files are named here")
    if kind == "folder":
        (tmp_path / "in").mkdir()
        source.rename(tmp_path / "in" / "a.parquet")
    start, target = ("in", "out") if kind == "folder" else ("raw.parquet", "out.parquet")
    before = left_in(tmp_path)
    command = [sys.executable, "-c", SLOW, kind, "release", start, "-o", target, *USUAL]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert_one_line(err, "interrupted; nothing was written")
    assert left_in(tmp_path) == before


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are read from /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_130_a_larger_release_stopped_while_it_reads_leaves_nothing(number, tmp_path):
    pq.write_table(pa.concat_tables([table(1000)] * 1000), tmp_path / "raw.parquet", row_group_size=1 << 16)
    command = [sys.executable, "-m", "sanitize", "release", "raw.parquet", "-o", "out.parquet", *USUAL]
    command += ["-x", "age", "--bins", "age=18,30,50,80"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wanted = str(tmp_path / "raw.parquet")
        while process.poll() is None and wanted not in open_files(process.pid):
            pass
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert_one_line(err, "interrupted; nothing was written")
    assert left_in(tmp_path) == ["raw.parquet"]


def open_files(pid: int) -> list[str]:
    found = []
    for name in os.listdir(f"/proc/{pid}/fd") if os.path.isdir(f"/proc/{pid}/fd") else []:
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
    return found


# ---------------------------------------------------------------------------------------- standard streams


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without room here")
@pytest.mark.parametrize(
    ("redirected", "there", "code"),
    [
        (">/dev/full", True, 4),
        (">&-", True, 0),
        ("2>&-", True, 0),
        ("<&- >&- 2>&-", True, 0),
        ("2>&-", False, 3),
        ("2>/dev/full", False, 3),
    ],
)
def test_closed_and_full_streams_change_no_exit_code_but_that_of_a_lost_report(redirected, there, code, tmp_path):
    pq.write_table(pa.table({"s": ["p", "n"] * 20, "x": ["a", "b"] * 20}), tmp_path / "raw.parquet")
    name = "raw.parquet" if there else "none.parquet"
    line = f"{shlex.quote(sys.executable)} -m sanitize audit {name} -s s -x x {redirected}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if redirected == ">/dev/full":
        assert done.stderr == "sanitize: standard output cannot be written (No space left on device)\n"


# ------------------------------------------------------------------------------- streams, and while it is loaded


@pytest.mark.slow
@pytest.mark.parametrize("argv", [["release", "-o", "-", *USUAL], ["init"]])
def test_4_a_result_for_a_closed_standard_output(argv, source):
    name, *more = argv
    words = shlex.join([sys.executable, "-m", "sanitize", name, str(source), *more])
    done = subprocess.run(f"{words} >&-", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert_one_line(done.stderr, "standard output is closed", "-o")


INTERRUPTED = """
import os, runpy, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "sanitize.cli._commands":
            {}

sys.meta_path.insert(0, Finder())
sys.argv = ["sanitize", "--version"]
runpy.run_module("sanitize", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("then", ["raise", "raise ImportError from stop", "pass"])
def test_130_interrupted_while_it_is_loaded(then):
    """Also where a library makes another error of it as it is loaded, or none at all."""
    stop = f"""
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt as stop:
                {then}
"""
    program = INTERRUPTED.replace("            {}\n", stop)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert_one_line(done.stderr, "interrupted; nothing was written")
