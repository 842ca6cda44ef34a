"""The command: one program, one line an error, the exit code says which kind, and nothing half done."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.channel import Channel
from sanitize.cli import main
from sanitize.parquet import audit_parquet, plan_parquet
from sanitize.transformers import RandomizedResponse, SubsetMerging, Watchdog

USUAL = ["-s", "illness", "-x", "town", "-x", "floor", "--lower", "1.5", "--upper", "0.5"]


def table(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(0)
    illness = rng.choice(["SECRET_ill", "SECRET_well"], n, p=[0.3, 0.7])
    town = np.where(
        rng.random(n) < 0.4, np.where(illness == "SECRET_ill", "Aa", "Bb"), rng.choice(["Aa", "Bb", "Cc"], n)
    )
    return pa.table(
        {
            "illness": illness,
            "town": town,
            "floor": rng.integers(0, 3, n),
            "age": rng.integers(18, 80, n),
            "name": [f"SECRET_{i}" for i in range(n)],
        }
    )


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "raw.parquet"
    pq.write_table(table(), path)
    return path


@pytest.fixture
def run(capsys):
    """Run the command in this process: (exit code, stdout, stderr)."""

    def call(*argv):
        code = main([str(arg) for arg in argv])
        return code, *capsys.readouterr()

    return call


def assert_one_line(err: str, *words: str) -> None:
    assert err.startswith("sanitize: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "SECRET" not in err
    for word in words:
        assert word in err


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.fixture
def leaky(monkeypatch):
    monkeypatch.setattr(
        "sanitize.transformers._merging.subset_merging",
        lambda joint, budget: Channel.identity(len(joint.public), joint.public),
    )


# ------------------------------------------------------------------------------------ the program itself


@pytest.mark.parametrize("argv", [["--help"], ["audit", "--help"], ["release", "--help"]])
def test_help_goes_to_stdout_and_is_done(argv, run):
    code, out, err = run(*argv)
    assert code == 0
    assert out.startswith("usage: sanitize")
    assert err == ""


def test_help_names_every_exit_code(run):
    assert set(re.findall(r"\b(\d+) ", run("--help")[1])) >= {"0", "1", "2", "3", "4", "5", "130"}


def test_version_is_that_of_the_library(run):
    assert run("--version") == (0, f"sanitize {sz.__version__}\n", "")


def test_python_m_sanitize_is_the_same_program(source, tmp_path):
    def call(*argv):
        command = [sys.executable, "-m", "sanitize", *argv]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = call("release", "raw.parquet", "-o", "out.parquet", *USUAL, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 300
    failed = call("release", "raw.parquet", "-o", "out.parquet", *USUAL)
    assert (failed.returncode, failed.stdout) == (4, "")
    assert_one_line(failed.stderr, "out.parquet exists already")


def test_the_console_script_is_this_main():
    from importlib.metadata import PackageNotFoundError, entry_points

    try:
        found = [point for point in entry_points(group="console_scripts") if point.name == "sanitize"]
    except PackageNotFoundError:  # pragma: no cover
        found = []
    if not found:
        pytest.skip("the package is not installed here")
    assert found[0].load() is main


# ------------------------------------------------------------------------------------------------ audit


def test_an_audit_prints_what_the_library_measures(source, run):
    code, out, err = run("audit", source, "-s", "illness", "-x", "town")
    assert (code, err) == (0, "")
    assert out == audit_parquet(source, ["illness"], ["town"]).to_text() + "\n"
    code, out, err = run("audit", source, "-s", "illness", "-x", "town", "--json")
    assert (code, err) == (0, "")
    report = audit_parquet(source, ["illness"], ["town"]).with_origin(table="raw.parquet")
    assert json.loads(out) == json.loads(report.to_json())
    assert left_in(source.parent) == ["raw.parquet"]


def test_json_is_strict_json(source, run):
    out = run("audit", source, "-s", "illness", "-x", "town", "-x", "floor", "--json")[1]

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(out, parse_constant=refuse)


@pytest.mark.parametrize("command", ["audit", "release"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_the_public_view_has_no_symbols_and_no_view_has_sensitive_ones(command, form, source, tmp_path, run):
    extra = ["-o", tmp_path / "out.parquet", "--lower", "1.5", "--upper", "0.5"] if command == "release" else []
    roles = ["-s", "illness", "-x", "town"]
    shown = run(command, source, *roles, *extra, *form, "--audience", "public")[1]
    assert not any(symbol in shown for symbol in ("SECRET", "Aa", "Bb", "Cc"))
    assert "SECRET" not in run(command, source, *roles, *extra, *form, *(["--force"] if extra else []))[1]


# ---------------------------------------------------------------------------------------------- release


@pytest.mark.parametrize(
    ("name", "estimator"),
    [("watchdog", Watchdog), ("subset-merging", SubsetMerging), ("randomized-response", RandomizedResponse)],
)
def test_a_release_is_what_the_library_would_do(name, estimator, source, tmp_path, run):
    code, out, err = run(
        "release", source, "-o", tmp_path / "out.parquet", "-s", "illness", "-x", "town", "-e", "0.8", "-m", name
    )
    assert (code, err) == (0, "")
    same = plan_parquet(source, estimator(0.8, sensitive=["illness"], public=["town"]))
    assert out == same.to_text() + "\n"
    assert same.facts.mechanism == name.replace("-", " ")
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.column_names == ["town"]
    assert released.num_rows == 300
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    assert left_in(tmp_path) == ["out.parquet", "raw.parquet"]


def test_subset_merging_is_the_default_and_one_number_sets_both_bounds(source, tmp_path, run):
    zero = ["-s", "illness", "-x", "town", "-x", "floor", "-e", "0"]
    assert run("release", source, "-o", tmp_path / "zero.parquet", *zero)[0] == 0
    told = json.loads(pq.read_metadata(tmp_path / "zero.parquet").metadata[b"sanitize"])
    assert (told["budget"], told["mechanism"]) == ("LiftBudget(lower=0.0, upper=0.0)", "subset merging")


def test_lower_and_upper_are_the_bounds_of_the_budget(source, tmp_path, run):
    assert run("release", source, "-o", tmp_path / "out.parquet", *USUAL)[0] == 0
    told = json.loads(pq.read_metadata(tmp_path / "out.parquet").metadata[b"sanitize"])
    assert told["budget"] == "LiftBudget(lower=1.5, upper=0.5)"
    assert told["mechanism"] == "subset merging"


def test_every_setting_reaches_the_sanitizer(source, tmp_path, run, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "sanitize.parquet.privatize_parquet",
        lambda *args, **settings: seen.append((args, settings)) or audit_parquet(source, ["illness"], ["town"]),
    )
    argv = [
        "-s",
        "illness",
        "-s",
        "name",
        "-x",
        "town",
        "-x",
        "age",
        "--lower",
        "inf",
        "--upper",
        "0.5",
        "-m",
        "watchdog",
    ]
    argv += ["--bins", "age=18,40,80", "--min-count", "7", "--smoothing", "0.5", "--rows", "keep", "--force"]
    assert run("release", source, "-o", tmp_path / "out.parquet", *argv)[0] == 0
    ((start, target, sanitizer), settings) = seen[0]
    assert (start, target) == (source, tmp_path / "out.parquet")
    assert settings == {"rows": "keep", "force": True}
    assert type(sanitizer) is Watchdog
    given = sanitizer.get_params()
    assert given["budget"] == sz.LiftBudget(lower=float("inf"), upper=0.5)
    assert (given["sensitive"], given["public"]) == (["illness", "name"], ["town", "age"])
    assert (given["bins"], given["min_count"], given["smoothing"]) == ({"age": [18.0, 40.0, 80.0]}, 7, 0.5)
    assert given["random_state"] is None


def test_a_folder_is_released_as_a_folder(tmp_path, run):
    (tmp_path / "in").mkdir()
    for i in range(2):
        pq.write_table(table(), tmp_path / "in" / f"SECRET_{i}.parquet")
    assert run("release", tmp_path / "in", "-o", tmp_path / "out", *USUAL)[0] == 0
    assert left_in(tmp_path / "out") == ["part-00000.parquet", "part-00001.parquet"]


def test_a_dry_run_reports_and_writes_nothing(source, tmp_path, run):
    wet = run("release", source, "-o", tmp_path / "out.parquet", *USUAL)
    (tmp_path / "out.parquet").unlink()
    dry = run("release", source, "-o", tmp_path / "out.parquet", *USUAL, "--dry-run")
    assert dry == wet
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.parametrize("suffix", ["html", "json", "txt"])
@pytest.mark.parametrize("audience", ["internal", "public"])
def test_a_report_is_also_written_to_a_file(suffix, audience, source, tmp_path, run):
    path = tmp_path / f"report.{suffix}"
    code, out, err = run(
        "release", source, "-o", tmp_path / "out.parquet", *USUAL, "--report", path, "--audience", audience
    )
    assert (code, err) == (0, "")
    content = path.read_text(encoding="utf-8")
    assert "SECRET" not in content
    if suffix == "html":
        assert content.lstrip().lower().startswith("<!doctype html>")
        assert "<script" not in content
    elif suffix == "json":
        assert json.loads(content)
    else:
        assert content == out
    if audience == "public":
        assert not any(symbol in content for symbol in ("Aa", "Bb", "Cc"))


def test_a_report_that_cannot_be_written_stops_the_run_before_the_release(source, tmp_path, run):
    for path in (tmp_path / "no" / "report.html", tmp_path):
        code, out, err = run("release", source, "-o", tmp_path / "out.parquet", *USUAL, "--report", path)
        assert (code, out) == (4, "")
        assert_one_line(err, "report")
    assert left_in(tmp_path) == ["raw.parquet"]


def test_a_report_never_replaces_the_input_or_the_output(source, tmp_path, run):
    before = source.read_bytes()
    for path in (source, tmp_path / "out.parquet"):
        code, _, err = run("release", source, "-o", tmp_path / "out.parquet", *USUAL, "--report", path)
        assert code == 4
        assert_one_line(err, "choose another name")
    assert run("audit", source, "-s", "illness", "-x", "town", "--report", source)[0] == 4
    assert source.read_bytes() == before
    assert left_in(tmp_path) == ["raw.parquet"]


# ------------------------------------------------------------------------------------------- exit codes


def test_1_the_gate_failed_and_nothing_was_written(leaky, source, tmp_path, run):
    for extra in ([], ["--dry-run"], ["--json"]):
        code, out, err = run(
            "release", source, "-o", tmp_path / "out.parquet", "-s", "illness", "-x", "town", "-e", "0.01", *extra
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
        (["-s", "illness", "-x", "town", "--lower", "-1", "--upper", "1"], "lower must be >= 0"),
        (["-s", "illness", "-x", "town", "-e", "-1"], ">= 0"),
        (["-s", "illness", "-x", "town", "-e", "nan"], ">= 0"),
        (["-s", "town", "-x", "town", "-e", "1"], "both with -s and with -x"),
        (["-s", "illness", "-x", "town", "-e", "1", "--min-count", "-3"], "min_count"),
        (["-s", "illness", "-x", "town", "-e", "1", "--smoothing", "-3"], "smoothing"),
        (["-s", "illness", "-x", "age", "-e", "1", "--bins", "age=9,3"], "ascending"),
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
        ["release", "raw.parquet", "-s", "illness", "-x", "town", "-e", "1"],
        ["release", "raw.parquet", "-o", "out", "-s", "illness", "-x", "town"],
        ["release", "raw.parquet", "-o", "out", *USUAL, "--bins", "age"],
        ["release", "raw.parquet", "-o", "out", *USUAL, "--bins", "age=4"],
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
    extra = ["-o", tmp_path / "out.parquet", "-e", "1"] if command == "release" else []
    for name, public, words in [
        ("nowhere.parquet", "town", "no such file"),
        ("text.parquet", "town", "is not a Parquet file"),
        ("cut.parquet", "town", "cut off or damaged"),
        ("empty", "town", "holds no *.parquet files"),
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

    monkeypatch.setattr("sanitize.parquet.privatize_parquet", hungry)
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
    for bad, words in ((source, "is the source"), (tmp_path / "no" / "out.parquet", "make it first")):
        code, out, err = run("release", source, "-o", bad, *USUAL, "--force")
        assert (code, out) == (4, "")
        assert_one_line(err, words)


def test_4_a_full_disk_is_one_line(source, tmp_path):
    """The writer must not complain again when it is thrown away, so this runs apart."""
    program = (
        "import sys\n"
        "from sanitize.parquet._parquet_writer import ReleaseWriter\n"
        "def full(*_):\n"
        "    raise OSError(28, 'No space left on device')\n"
        "ReleaseWriter.write = full\n"
        "from sanitize.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "release", "raw.parquet", "-o", "out.parquet", *USUAL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert_one_line(done.stderr, "No space left on device", "nothing was released")
    assert left_in(tmp_path) == ["raw.parquet"]


def test_5_an_internal_error_names_its_kind_only_and_v_gives_the_traceback(source, tmp_path, run, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("row 17 holds SECRET_ill")

    monkeypatch.setattr("sanitize.parquet.privatize_parquet", broken)
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
from sanitize.parquet._parquet_writer import ReleaseWriter
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


# -------------------------------------------------------------------------------------- what is printed


def test_line_breaks_and_terminal_codes_in_names_stay_on_one_line(tmp_path, run):
    path = tmp_path / "odd\n\x1b[31mname.parquet"
    path.write_text("no table")
    for name in (path, tmp_path / "no\nfile.parquet"):
        code, _, err = run("audit", name, "-s", "a", "-x", "b")
        assert code == 3
        assert_one_line(err)
        assert "\x1b" not in err
    pq.write_table(pa.table({"a\nb": ["x"], "s": ["y"]}), tmp_path / "raw.parquet")
    code, _, err = run("audit", tmp_path / "raw.parquet", "-s", "s", "-x", "a\nc")
    assert code == 3
    assert_one_line(err)


def test_warnings_are_one_line_on_stderr(source, tmp_path, run, monkeypatch):
    def warns(*_, **__):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning(UserWarning("mind the gap"), UserWarning, "file.py", 3)
        return audit_parquet(source, ["illness"], ["town"])

    monkeypatch.setattr("sanitize.parquet.privatize_parquet", warns)
    code, out, err = run("release", source, "-o", tmp_path / "out.parquet", *USUAL)
    assert code == 0
    assert out
    assert err == "sanitize: warning: mind the gap\n"


def test_a_reader_that_goes_away_is_no_error(source, tmp_path):
    command = [sys.executable, "-m", "sanitize", "audit", "raw.parquet", "-s", "illness", "-x", "town"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_keys_and_seeds_are_not_on_the_command_line(run):
    text = run("release", "--help")[1]
    assert "--seed" not in text
    assert "--key" not in text
    assert run("release", "a", "-o", "b", *USUAL, "--seed", "1")[0] == 2
