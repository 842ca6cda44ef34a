"""The commands around a release: plan, verify, report, init, and releases under a policy; every exit code of each."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import types
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands_cases import POLICY, SETTINGS, START, as_csv, assert_line, command, left_in, table

import sanitize as sz
from sanitize.auditing.verify import verify_file
from sanitize.engines.parquet import plan_file, release_file
from sanitize.transformers import SubsetMerging, Watchdog


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with a table and a policy, in which the command is run."""
    pq.write_table(table(), tmp_path / "raw.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---------------------------------------------------------------------------------------- the program


def test_the_process_is_as_it_was_when_the_command_returns(place, run):
    def hook(*_):
        """Somebody else's."""

    handler = lambda *_: None  # noqa: E731
    before = signal.getsignal(signal.SIGTERM), warnings.showwarning
    try:
        signal.signal(signal.SIGTERM, handler)
        warnings.showwarning = hook
        for argv in (["audit", "raw.parquet", "-s", "illness", "-x", "town"], ["audit", "none", "-s", "a", "-x", "b"]):
            run(*argv)
            assert warnings.showwarning is hook
            assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before[0])
        warnings.showwarning = before[1]


@pytest.mark.parametrize(
    ("argv", "said", "helped"),
    [
        ([], "COMMAND", "sanitize --help"),
        (["relese"], "'relese'", "sanitize --help"),
        (
            ["release", "raw.parquet", "-o", "o.parquet", "-s", "illness", "-x", "town"],
            "--at-most",
            "sanitize release --help",
        ),
        (["audit", "raw.parquet"], "-s, -x", "sanitize audit --help"),
        (
            ["plan", "raw.parquet", "-s", "a", "-x", "b", "--lower", "1", "--upper", "1", "-m", "a\nb"],
            "subset-merging",
            "sanitize plan --help",
        ),
        (
            ["plan", "raw.parquet", "-s", "a", "-x", "b", "--at-most", "2", "-m", "tree-merging"],
            "'tree-merging' was replaced: write 'latent-classes'; see",
            "sanitize plan --help",
        ),
        (["release", "raw.parquet", "--bins", "age=a", "-o", "o"], "age=18,30,45,65", "sanitize release --help"),
    ],
)
def test_usage_errors_are_one_line_that_says_where_help_is(argv, said, helped, run):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert err.startswith(helped.replace(" --help", ": error: "))
    assert err.endswith(f"; see {helped}\n")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("-e half", "-e/--eps: takes one number, got 'half'; see"),
        ("-e 0.5:1", "got '0.5:1'; for a pair, use --at-most and --at-least"),
        ("-e 0.5:", "for a pair, use --at-most and --at-least"),
        ("--upper 0.5", "--upper: give both --at-most and --at-least (times as likely), or"),
        ("--lower 0", "for no limit on one side, write --at-least 0, or inf for any other option"),
        ("--at-most 2", "--at-most: give both --at-most and --at-least"),
        ("--at-most 2 --lower 1", "--at-most, --lower: give both --at-most and --at-least"),
        ("-e 2", "subset-merging takes a limit with a unit: --at-most 2 --at-least 0.5, in times as likely, or"),
        ("-e 1 -m auto", "-e is a level of randomized-response and exponential-channel; auto takes a limit"),
        ("--lower 2 --upper 1 -m randomized-response", "randomized-response takes one number of nats, -e EPS"),
        ("", "required: --at-most and --at-least (or -p POLICY.toml)"),
    ],
)
def test_2_a_limit_says_its_unit(budget, said, place, run):
    code, out, err = run("plan", "raw.parquet", "-s", "illness", "-x", "town", *budget.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("sanitize plan: error: ")
    assert said in err


@pytest.mark.parametrize("command", ["audit", "plan", "release", "verify", "report", "init"])
def test_every_command_has_help(command, run):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: sanitize {command}")
    assert command in run("--help")[1]


@pytest.mark.parametrize(
    "argv",
    [
        ["plan", "raw.parquet", "-s", "illness", "-x", "town"],
        ["plan", "raw.parquet"],
        ["release", "raw.parquet", "-p", "policy.toml"],
        ["release", "raw.parquet", "-o", "out.parquet"],
        ["release", "raw.parquet", "-o", "out.parquet", "-k", "town", "--lower", "1", "--upper", "1"],
        ["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", "-s", "illness"],
        ["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", "--rows", "keep"],
        ["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", "--min-count", "0"],
        ["audit", "raw.parquet", "-p", "policy.toml", "-x", "town"],
        ["verify", "out.parquet", "-p", "policy.toml"],
        ["verify", "out.parquet", "--source", "raw.parquet"],
        ["report"],
        ["init"],
        ["init", "raw.parquet", "-s", "illness"],
    ],
    ids=" ".join,
)
def test_2_the_command_line_is_wrong(argv, place, run):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert re.match(r"sanitize.*: error: ", err.splitlines()[-1])
    assert left_in(place) == START


def test_what_cannot_stand_beside_a_policy_is_named(place, run):
    err = run("release", "raw.parquet", "-o", "o.parquet", "-p", "policy.toml", "-s", "a", "-e", "1")[2]
    assert "-s, -e cannot be given with -p; change the policy instead" in err


# ----------------------------------------------------------------------------------------------- plan


def test_a_plan_is_the_report_and_the_curve_and_writes_nothing(place, run):
    code, out, err = run("plan", "raw.parquet", *SETTINGS, "--full")
    assert (code, err) == (0, "")
    sanitizer = SubsetMerging(sz.LiftBudget(lower=1.5, upper=0.5), sensitive=["illness"], public=["town", "floor"])
    same = plan_file("raw.parquet", sanitizer)
    budgets = [sz.LiftBudget(lower=1.5 * k, upper=0.5 * k) for k in (0.25, 0.5, 1, 2, 4)]
    curve = sz.release.choosing.tradeoff_curve(sanitizer._joint, sz.subset_merging, budgets)
    recommended, rest = out.split("\n\n", 1)
    assert rest.startswith(f"{same.to_text()}\n\nKept of each column: town ")
    assert f"chance.\n\n{curve.to_text(chosen=curve[2])}\n\nkept, in %, within " in rest
    best = sz.compare(sanitizer._joint, sz.LiftBudget(lower=1.5, upper=0.5)).recommended
    assert recommended.startswith(f"Recommended: {best.mechanism}, which keeps as much within the budget as any, as\n")
    assert run("plan", "raw.parquet", "-p", "policy.toml", "--full") == (code, out, err)
    assert left_in(place) == START


def test_a_plan_as_json_has_the_curve(place, run):
    told = json.loads(run("plan", "raw.parquet", *SETTINGS, "--json")[1])
    assert told["verdict"]["ok"]
    assert len(told["curve"]["points"]) == 5


@pytest.mark.parametrize(
    ("notion", "mechanism", "points"),
    [
        ("notion = 'ldp'\neps = 1", "optimal-random-response", 5),
        ("notion = 'ldp'\neps = 1", "randomized-response", 0),  # no curve of zeros
        ("notion = 'alpha'\nalpha = 2\nupper = 0.5\nlower = inf", "watchdog", 5),
        ("notion = 'capacity'\nnats = 0.5", "exponential-channel", 5),
    ],
)
def test_a_plan_of_every_notion(notion, mechanism, points, place, run):
    text = POLICY[: POLICY.index("[budget]")] + f'[budget]\n{notion}\n[channel]\nmechanism = "{mechanism}"\n'
    (place / "policy.toml").write_text(text)
    code, out, err = run("plan", "raw.parquet", "-p", "policy.toml", "--json")
    assert (code, err) == (0, "")
    assert len((json.loads(out).get("curve") or {"points": []})["points"]) == points


# ------------------------------------------------------------------------------------ streams of CSV


@pytest.mark.slow
def test_csv_goes_in_and_out_of_a_pipe(place):
    done = command("release", "-", "-o", "-", *SETTINGS, stdin=as_csv(), cwd=place)
    assert done.returncode == 0
    released = pa.csv.read_csv(io.BytesIO(done.stdout))
    assert released.column_names == ["town", "floor"]
    assert released.num_rows == 400
    assert b"SECRET" not in done.stdout + done.stderr
    assert b"HOLDS FOR THESE ROWS ONLY" in done.stderr  # the report, because the table is on standard output
    assert left_in(place) == START


@pytest.mark.slow
def test_csv_of_a_pipe_is_checked_against_the_policy(place):
    done = command("release", "-", "-o", "out.csv", "-p", "policy.toml", stdin=as_csv(), cwd=place)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (place / "out.csv").read_text().startswith("town,floor\n")
    (place / "policy.toml").write_text(POLICY.replace(', "name"', ""))
    done = command("release", "-", "-o", "-", "-p", "policy.toml", stdin=as_csv(), cwd=place)
    assert (done.returncode, done.stdout) == (3, b"")
    assert_line(done.stderr.decode(), "does not list the column 'name'")


@pytest.mark.slow
def test_what_is_not_csv_is_refused_and_nothing_is_printed(place):
    done = command("audit", "-", "-s", "illness", "-x", "town", stdin=b'illness,town\n"SECRET\n', cwd=place)
    assert (done.returncode, done.stdout) == (3, b"")
    assert_line(done.stderr.decode())


# --------------------------------------------------------------------------------------------- verify


@pytest.fixture
def released(place) -> Path:
    release_file("raw.parquet", "out.parquet", sz.Policy.read("policy.toml").sanitizer(), key=b"k" * 32)
    return place / "out.parquet"


def test_0_a_release_is_verified(released, run):
    same = verify_file("out.parquet", "raw.parquet", sz.Policy.read("policy.toml"))
    by_policy = run("verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml")
    assert by_policy == (0, same.to_text() + "\n", "")
    assert run("verify", "out.parquet", "--source", "raw.parquet", *SETTINGS) == by_policy
    told = run("verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml", "--json")[1]
    assert json.loads(told) == same.to_dict()


def test_1_a_release_is_not_verified(released, run):
    content = pq.read_table("out.parquet")
    pq.write_table(content.append_column("illness", table()["illness"]), "out.parquet")
    for form in ([], ["--json"]):
        code, out, err = run("verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml", *form)
        assert code == 1
        assert_line(err, "fails its verification (", "columns", "do not hand it out")
        assert "SECRET" not in out
        assert "'illness' should not be there" in out


def test_1_a_key_used_twice(released, run):
    Path("own").mkdir()
    for name in ("one", "two"):
        sanitizer, receipt = sz.Policy.read("policy.toml").sanitizer(), f"own/{name}"
        release_file("raw.parquet", f"{name}.parquet", sanitizer, key=b"k" * 32, receipt=receipt)
    against = ["--receipt", "own/one", "--against", "own/two"]
    code, _, err = run("verify", "one.parquet", "--source", "raw.parquet", "-p", "policy.toml", *against)
    assert code == 1
    assert_line(err, "receipt")


@pytest.mark.parametrize(("released_name", "source_name"), [("none.parquet", "raw.parquet"), ("out.parquet", "none")])
def test_3_what_is_to_be_verified_cannot_be_read(released_name, source_name, released, run):
    code, out, err = run("verify", released_name, "--source", source_name, "-p", "policy.toml")
    assert (code, out) == (3, "")
    assert_line(err, "no such file")


def test_2_verify_reads_no_stream(released, run):
    code, _, err = run("verify", "-", "--source", "raw.parquet", "-p", "policy.toml")
    assert code == 2
    assert_line(err, "verify reads files")


# --------------------------------------------------------------------------------------------- report


@pytest.fixture
def saved(place, run) -> Path:
    assert run("plan", "raw.parquet", *SETTINGS, "--report", "report.json")[0] == 0
    return place / "report.json"


def test_a_saved_report_is_printed_again(saved, run):
    content = saved.read_text()
    again = sz.LeakageReport.from_json(content)
    assert run("report", "report.json") == (0, again.to_text() + "\n", "")
    assert json.loads(run("report", "report.json", "--json")[1]) == json.loads(content)
    assert run("report", "report.json", "--audience", "public")[1] == again.to_text(audience="public") + "\n"
    for name in ("page.html", "again.json", "again.txt"):
        assert run("report", "report.json", "-o", name) == (0, "", "")
    assert (saved.parent / "page.html").read_text() == again.to_html()
    assert json.loads((saved.parent / "again.json").read_text()) == json.loads(content)
    assert (saved.parent / "again.txt").read_text() == again.to_text() + "\n"


def test_a_public_report_stays_public(place, run):
    run("plan", "raw.parquet", *SETTINGS, "--report", "report.json", "--audience", "public")
    assert run("report", "report.json")[0] == 0
    code, out, err = run("report", "report.json", "--audience", "internal")
    assert (code, out) == (2, "")
    assert_line(err, "this is a public report")


@pytest.mark.parametrize(
    "content", ["SECRET", "{}", '{"schema": "sanitize/leakage-report", "version": 99}', "[1, 2]", "\x00\xff"]
)
def test_3_a_report_that_is_none(content, place, run):
    (place / "report.json").write_text(content)
    code, out, err = run("report", "report.json")
    assert (code, out) == (3, "")
    assert_line(err)
    assert run("report", "nowhere.json")[0] == 3
    assert run("report", ".")[0] == 3


def test_4_a_page_that_is_there_is_left_alone(saved, run):
    page = saved.parent / "page.html"
    page.write_text("old")
    code, _, err = run("report", "report.json", "-o", "page.html")
    assert code == 4
    assert_line(err, "page.html exists already", "--force")
    assert page.read_text() == "old"
    assert run("report", "report.json", "-o", "page.html", "--force")[0] == 0
    assert run("report", "report.json", "-o", "report.json", "--force")[0] == 4
    assert run("report", "report.json", "-o", "no/page.html")[0] == 4


# ---------------------------------------------------------------------------------- codes of every command

ARGV = {
    "audit": ["audit", "raw.parquet", "-p", "policy.toml"],
    "plan": ["plan", "raw.parquet", "-p", "policy.toml"],
    "release": ["release", "raw.parquet", "-o", "new.parquet", "-p", "policy.toml"],
    "verify": ["verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml"],
    "report": ["report", "report.json"],
    "init": ["init", "raw.parquet"],
}

CALLS = {
    "audit": "sanitize.engines.parquet.audit_file",
    "plan": "sanitize.policy.make_plan",
    "release": "sanitize.engines.parquet.release_file",
    "verify": "sanitize.auditing.verify.verify_file",
    "report": "sanitize.report.LeakageReport.from_json",
    "init": "sanitize.cli._policy_skeleton.skeleton",
}


def within_an_import(error):
    """What NumPy makes of an error while it is loaded."""
    made = ImportError("SECRET")
    made.__cause__ = error
    return made


@pytest.mark.parametrize("name", ARGV)
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ZeroDivisionError("SECRET"), 5, "internal error (ZeroDivisionError)"),
        (MemoryError("SECRET"), 3, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
        (within_an_import(KeyboardInterrupt()), 130, "interrupted; nothing was written"),
        (within_an_import(ValueError()), 5, "internal error (ImportError)"),
    ],
    ids=["5", "3", "130", "130 within an import", "5 within an import"],
)
def test_what_may_happen_to_any_command(name, error, code, words, place, run, monkeypatch):
    (place / "report.json").write_text("{}")

    def broken(*_, **__):
        raise error

    monkeypatch.setattr(CALLS[name], broken)
    got, out, err = run(*ARGV[name])
    assert (got, out) == (code, "")
    assert_line(err, words)
    got, _, err = run(*ARGV[name], "-v")
    assert got == code
    assert "Traceback" in err


# ------------------------------------------------------------------------------------------- progress


@pytest.fixture
def bars(monkeypatch):
    """A tqdm that remembers what it was told."""
    made = []

    class Bar:
        def __init__(self, **settings):
            self.settings, self.n, self.totals = settings, 0, []
            made.append(self)

        def update(self, n):
            self.n += n

        def reset(self, total):
            self.totals.append(total)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    return made


def test_progress_is_for_terminals_and_for_those_who_wait(place, run, bars, monkeypatch):
    assert run("release", "raw.parquet", "-o", "out.parquet", *SETTINGS)[0] == 0
    assert bars == []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run("release", "raw.parquet", "-o", "out.parquet", *SETTINGS, "--force")[0] == 0
    assert [(bar.n, bar.totals) for bar in bars] == [(800, [400, 400])]  # every row is read twice
    assert bars[0].settings["delay"] == 2
    assert bars[0].settings["file"] is sys.stderr
    assert run("init", "raw.parquet")[0] == 0
    assert bars[1].n == 800  # counted, and looked at for what goes with what


def test_nobody_is_told_outside_the_block():
    from sanitize._util.progress import advance, notify_rows

    seen = []
    with notify_rows(seen.append):
        advance(3)
    advance(4)
    assert seen == [3]


def test_colours_are_never_printed(place, run, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    for argv in ARGV["plan"], ARGV["audit"], ARGV["init"]:
        assert "\x1b" not in "".join(map(str, run(*argv)))


def test_the_mechanisms_of_the_command_are_estimators():
    from sanitize.cli._settings import MECHANISMS, resolve_policy

    assert type(policy_of_line(resolve_policy, "watchdog")) is Watchdog
    assert set(MECHANISMS) >= {"watchdog", "subset-merging", "optimal-random-response", "randomized-response"}


def policy_of_line(resolve_policy, mechanism: str):
    from sanitize.cli._parser import make_parser

    limit = ["-e", "1"] if mechanism == "randomized-response" else ["--at-most", "2", "--at-least", "0.5"]
    argv = ["plan", "x", "-s", "a", "-x", "b", *limit, "-m", mechanism]
    return resolve_policy(make_parser().parse_args(argv)).sanitizer()


# ---------------------------------------------------------------------------------------- the channel


def test_a_release_hands_over_its_channel_only_when_asked(place, run):
    assert run("release", "raw.parquet", "-o", "released.parquet", *SETTINGS, "--channel", "channel.json")[0] == 0
    assert left_in(place) == sorted(["channel.json", "released.parquet", *START])
    found = sz.auditing.analyze.table(pq.read_table("released.parquet"), "channel.json", ["town", "floor"])
    assert abs(found.estimate.sum() - 1) < 1e-9
    assert "SECRET" not in (place / "channel.json").read_text()


def test_a_channel_replaces_nothing_of_the_run(place, run):
    arguments = ["release", "raw.parquet", "-o", "released.parquet", "-p", "policy.toml"]
    for name in ("raw.parquet", "released.parquet", "policy.toml"):
        code, _, err = run(*arguments, "--channel", name, "--force")
        assert code == 4
        assert_line(err, name)
    code, _, err = run(*arguments, "--channel", "one.json", "--report", "one.json")
    assert code == 4
    assert_line(err, "--channel and with --report")
    (place / "channel.json").write_text("mine")
    code, _, err = run(*arguments, "--channel", "channel.json")
    assert code == 4
    assert_line(err, "channel.json exists already")
    assert run(*arguments, "--channel", "other.json", "--dry-run")[0] == 0
    assert left_in(place) == sorted(["channel.json", *START])
