"""No output replaces a file of the run, of several releases to one name one is written, and an error leaves nothing."""

import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._util.outputs import new_file, outputs
from sanitize.cli import main
from sanitize.core.budgets import LiftBudget
from sanitize.errors import ColumnError, TargetExists
from sanitize.tables.files.open import Target
from sanitize.transformers import SubsetMerging


@pytest.fixture
def raw(tmp_path):
    rng = np.random.default_rng(0)
    place = tmp_path / "raw.parquet"
    pq.write_table(pa.table({"s": rng.integers(0, 2, 400), "x": rng.integers(0, 3, 400)}), place)
    return place


def release(raw, *more):
    return main(["release", str(raw), "-s", "s", "-x", "x", "--lower", "1", "--upper", "1", *map(str, more)])


def test_a_report_may_not_replace_a_link_or_a_device(raw, tmp_path, capsys):
    link, victim = tmp_path / "link.json", tmp_path / "victim.json"
    victim.write_text("mine")
    link.symlink_to(victim)
    for place in (link, Path("/dev/null")):
        assert release(raw, "-o", tmp_path / "out.parquet", "--report", place) == 4
        assert "regular file" in capsys.readouterr().err
    assert link.is_symlink()
    assert victim.read_text() == "mine"
    assert not (tmp_path / "out.parquet").exists()


def test_a_loop_of_links_is_one_line(raw, tmp_path, capsys):
    (tmp_path / "a.json").symlink_to(tmp_path / "b.json")
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    assert release(raw, "-o", tmp_path / "out.parquet", "--report", tmp_path / "a.json") == 4
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_second_of_two_releases_to_one_name_is_refused(tmp_path):
    """Both were checked while the name was free."""
    path = tmp_path / "out.parquet"
    ready = threading.Barrier(8)
    won, lost = [], []

    def write(number):
        try:
            with new_file(path, replaces=False) as stream:
                stream.write(b"%d" % number)
                ready.wait()
            won.append(number)
        except TargetExists:
            lost.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(lost) == 7
    assert path.read_bytes() == b"%d" % won[0]
    assert os.listdir(tmp_path) == ["out.parquet"]


def test_a_file_system_without_unnamed_files_is_as_careful(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / "out.parquet"
    with new_file(path, replaces=False) as stream:
        stream.write(b"one")
    with pytest.raises(TargetExists), new_file(path, replaces=False):
        pass
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["out.parquet"]


def test_a_folder_that_appeared_meanwhile_is_left_as_it_is(tmp_path):
    def write(name):
        with outputs() as made, made.folder(tmp_path / "out", replaces=False) as folder:
            (folder / "part").write_text(name)
            if name == "late":
                write("first")

    with pytest.raises(TargetExists):
        write("late")
    assert [part.read_text() for part in (tmp_path / "out").iterdir()] == ["first"]
    assert os.listdir(tmp_path) == ["out"]


def test_a_source_file_released_twice_without_force_stays(raw, tmp_path, monkeypatch):
    """The target appears between the check and the end of the release."""
    target = tmp_path / "out.parquet"
    check = Target.check.__func__

    def checked(cls, *args, **kwargs):
        made = check(cls, *args, **kwargs)
        target.write_text("somebody else's")
        return made

    monkeypatch.setattr(Target, "check", classmethod(checked))
    with pytest.raises(TargetExists):
        sz.release_file(raw, target, SubsetMerging(LiftBudget.symmetric(1.0), sensitive="s", public="x"))
    assert target.read_text() == "somebody else's"


@pytest.mark.parametrize("place", ["report.html", "report.json"])
def test_a_release_whose_report_fails_is_taken_back(place, raw, tmp_path, monkeypatch, capsys):
    def failing(*_):
        raise ColumnError("column 'x' holds dates that nobody can name", "x")

    monkeypatch.setattr("sanitize.report._html.make_page", failing)
    monkeypatch.setattr("sanitize._util.outputs.json_text", failing)
    assert release(raw, "-o", tmp_path / "out.parquet", "--report", tmp_path / place) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert os.listdir(tmp_path) == ["raw.parquet"]


def test_dates_that_python_cannot_name_leave_nothing(tmp_path, capsys):
    days = pa.array([0, 3_500_000] * 200, pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"s": [0, 1, 1, 0] * 100, "x": days}), tmp_path / "raw.parquet")
    assert release(tmp_path / "raw.parquet", "-o", tmp_path / "out.parquet") == 3
    shown = capsys.readouterr()
    assert shown.err == (
        "sanitize: column 'x' has dates or times that Python cannot represent (a year beyond 9999 or an unknown time "
        "zone); bin or convert them first\n"
    )
    assert os.listdir(tmp_path) == ["raw.parquet"]


def test_no_output_replaces_the_policy_or_the_ledger(raw, tmp_path, capsys):
    policy, book = tmp_path / "policy.toml", tmp_path / "book.ledger"
    sz.Ledger(book, sz.LiftBudget(lower=5.0, upper=5.0))
    policy.write_text(
        'version = 1\nledger = "book.ledger"\n[columns]\nsensitive = ["s"]\npublic = ["x"]\n'
        "[budget]\nupper = 1.0\nlower = 1.0\n"
    )
    before = policy.read_bytes(), book.read_bytes()
    for place in (policy, book):
        for arguments in (["-o", place, "--force"], ["-o", tmp_path / "out.parquet", "--report", place]):
            assert main(["release", str(raw), "-p", str(policy), *map(str, arguments)]) == 4
            assert "policy or the ledger" in capsys.readouterr().err
    assert (policy.read_bytes(), book.read_bytes()) == before
    assert main(["release", str(raw), "-p", str(policy), "-o", str(tmp_path / "out.parquet")]) == 0


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_release_with_force_replaced_comes_back_when_its_report_fails(kind, raw, tmp_path, monkeypatch, capsys):
    def failing(*_):
        raise ColumnError("column 'x' holds dates that nobody can name", "x")

    source, target = (raw, tmp_path / "out.parquet") if kind == "file" else (tmp_path / "parts", tmp_path / "out")
    if kind == "folder":
        source.mkdir()
        raw.rename(source / "a.parquet")
    assert release(source, "-o", target) == 0
    before = {path.name: path.read_bytes() for path in (target.iterdir() if kind == "folder" else [target])}
    there = sorted(os.listdir(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr("sanitize.report._html.make_page", failing)
        assert release(source, "-o", target, "--force", "--report", tmp_path / "report.html") == 3
    after = {path.name: path.read_bytes() for path in (target.iterdir() if kind == "folder" else [target])}
    assert after == before
    assert sorted(os.listdir(tmp_path)) == there
    assert release(source, "-o", target, "--force") == 0
    assert sorted(os.listdir(tmp_path)) == there
    capsys.readouterr()


def test_a_link_is_no_target(raw, tmp_path, capsys):
    (tmp_path / "kept.parquet").write_text("kept")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "kept.parquet")
    for more in ([], ["--force"]):
        assert release(raw, "-o", tmp_path / "link.parquet", *more) == 4
    assert "name the file that it leads to" in capsys.readouterr().err
    assert (tmp_path / "link.parquet").is_symlink()
    assert (tmp_path / "kept.parquet").read_text() == "kept"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interruption_says_that_nothing_is_there(moment, raw, tmp_path, monkeypatch, capsys):
    whole = sz.engines.parquet.release_file

    def interrupted(*args, **kwargs):
        if moment == "after":
            whole(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr("sanitize.engines.parquet.release_file", interrupted)
    assert release(raw, "-o", tmp_path / "out.parquet") == 130
    assert not (tmp_path / "out.parquet").exists()  # it appears when its report has been printed
    assert capsys.readouterr().err == "sanitize: interrupted; nothing was written\n"
