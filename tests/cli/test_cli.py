"""The command: one program, one line an error, the exit code says which kind, and nothing half done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_cases import USUAL, assert_one_line, left_in, table

import sanitize as sz
from sanitize.__main__ import main
from sanitize.engines.parquet import audit_file, plan_file
from sanitize.transformers import RandomizedResponse, SubsetMerging, Watchdog

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


@pytest.mark.slow
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


def test_the_console_script_is_that_of_the_module():
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
    assert out == audit_file(source, ["illness"], ["town"]).to_text() + "\n"
    code, out, err = run("audit", source, "-s", "illness", "-x", "town", "--json")
    assert (code, err) == (0, "")
    report = audit_file(source, ["illness"], ["town"]).with_origin(table="raw.parquet")
    assert json.loads(out) == json.loads(report.to_json())
    assert left_in(source.parent) == ["raw.parquet"]


@pytest.mark.parametrize("mechanism", ["latent-classes", "subset-merging", "watchdog", "auto"])
def test_an_audit_by_a_policy_measures_its_columns_whatever_would_release_them(source, run, tmp_path, mechanism):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = 1\n[columns]\nsensitive = ["illness"]\npublic = ["town"]\ndrop = ["floor", "age", "name"]\n'
        f'[budget]\nat_most = 2\nat_least = 0.5\n[channel]\nmechanism = "{mechanism}"\n'
    )
    assert run("audit", source, "-p", policy) == (0, audit_file(source, ["illness"], ["town"]).to_text() + "\n", "")


def test_json_is_strict_json(source, run):
    out = run("audit", source, "-s", "illness", "-x", "town", "-x", "floor", "--json")[1]

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(out, parse_constant=refuse)


@pytest.mark.parametrize("command", ["audit", "release"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_the_public_view_has_no_symbols_and_no_view_has_sensitive_ones(command, form, source, tmp_path, run):
    extra = ["-o", tmp_path / "out.parquet", "--lower=1.5", "--upper=0.5"] if command == "release" else []
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
    is_level = name == "randomized-response"
    limit = ["-e", "0.8"] if is_level else ["--lower", "0.8", "--upper", "0.8"]
    code, out, err = run(
        "release", source, "-o", tmp_path / "out.parquet", "-s", "illness", "-x", "town", *limit, "-m", name, "--full",
    )  # fmt: skip
    assert (code, err) == (0, "")
    same = plan_file(
        source, estimator(0.8 if is_level else sz.LiftBudget.symmetric(0.8), sensitive=["illness"], public=["town"])
    )
    assert out == same.to_text() + "\nwrote out.parquet (300 rows, 1 column)\n"
    assert same.facts.mechanism == name.replace("-", " ")
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.column_names == ["town"]
    assert released.num_rows == 300
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    assert left_in(tmp_path) == ["out.parquet", "raw.parquet"]


def test_subset_merging_is_the_default(source, tmp_path, run):
    zero = ["-s", "illness", "-x", "town", "-x", "floor", "--lower", "0", "--upper", "0"]
    assert run("release", source, "-o", tmp_path / "zero.parquet", *zero, "--allow-useless")[0] == 0
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
        "sanitize.engines.parquet.release_file",
        lambda *args, **settings: seen.append((args, settings)) or audit_file(source, ["illness"], ["town"]),
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
    argv += ["--bins", "age=18,40,80", "--min-count", "7", "--smoothing", "0.5", "--rows", "keep", "--workers", "3"]
    argv += ["--force"]
    assert run("release", source, "-o", tmp_path / "out.parquet", *argv)[0] == 0
    ((start, target, sanitizer), settings) = seen[0]
    assert (Path(start), target.target) == (source, tmp_path / "out.parquet")
    assert settings == {"force": True, "allow_useless": False}
    assert (sanitizer.policy.rows, sanitizer.policy.workers, sanitizer.policy.receipt) == ("keep", 3, None)
    assert type(sanitizer.recipe()) is Watchdog.recipe_type
    given = vars(sanitizer.recipe())
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
    assert wet == (0, dry[1] + "wrote out.parquet (300 rows, 2 columns)\n", "")
    assert dry[0::2] == (0, "")
    assert len(wet[1].splitlines()) <= 8
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.parametrize("suffix", ["html", "json", "txt"])
@pytest.mark.parametrize("audience", ["internal", "public"])
def test_a_report_is_also_written_to_a_file(suffix, audience, source, tmp_path, run):
    path = tmp_path / f"report.{suffix}"
    code, out, err = run(
        "release", source, "-o", tmp_path / "out.parquet", *USUAL, "--report", path, "--audience", audience, "--full"
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
        assert out == content + "wrote out.parquet (300 rows, 2 columns)\n"
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
        return audit_file(source, ["illness"], ["town"])

    monkeypatch.setattr("sanitize.engines.parquet.release_file", warns)
    code, out, err = run("release", source, "-o", tmp_path / "out.parquet", *USUAL)
    assert code == 0
    assert out
    assert err == "sanitize: warning: mind the gap\n"


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(source, tmp_path):
    command = [sys.executable, "-m", "sanitize", "audit", "raw.parquet", "-s", "illness", "-x", "town"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_release_stays_when_the_reader_of_its_report_goes_away(source, tmp_path):
    """As in ``sanitize release ... | head -1``, which once took the released file back."""
    command = [sys.executable, "-m", "sanitize", "release", "raw.parquet", "-o", "out.parquet", *USUAL]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.parquet").exists()


def test_keys_and_seeds_are_not_on_the_command_line(run):
    text = run("release", "--help")[1]
    assert "--seed" not in text
    assert "--key" not in text
    assert run("release", "a", "-o", "b", *USUAL, "--seed", "1")[0] == 2
