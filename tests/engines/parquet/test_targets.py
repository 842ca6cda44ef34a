"""Targets: all or nothing, whatever stops a release."""

from __future__ import annotations

import gc
import io
import os
import stat
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from parquet_cases import left_in, merging

from sanitize.core.budgets import LiftBudget
from sanitize.core.channel import Channel
from sanitize.engines.parquet import _second_pass as _parquet_passes
from sanitize.engines.parquet import _writers as _parquet_target
from sanitize.engines.parquet import plan_file, release_file
from sanitize.errors import (
    BudgetExceeded,
    TargetError,
    TargetExists,
)
from sanitize.transformers import Sanitizer


@pytest.fixture
def leaky(monkeypatch):
    """A mechanism whose channel exceeds every budget that the raw table exceeds."""
    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging",
        lambda joint, budget, **_: Channel.identity(len(joint.public), joint.public),
    )


# ------------------------------------------------------------------------------------- all or nothing


@pytest.mark.parametrize("target", ["out.parquet", "out"])
@pytest.mark.parametrize("from_folder", [False, True], ids=["file", "folder"])
def test_nothing_is_written_when_the_gate_fails(leaky, target, from_folder, source, folder, tmp_path):
    before = left_in(tmp_path)
    with pytest.raises(BudgetExceeded, match="nothing was released") as caught:
        release_file(folder if from_folder else source, tmp_path / target, merging(LiftBudget.symmetric(0.05)))
    assert caught.value.excess > 0
    assert "SECRET" not in str(caught.value)
    assert left_in(tmp_path) == before


def test_a_plan_passes_the_same_gate_and_writes_nothing(leaky, source, tmp_path):
    with pytest.raises(BudgetExceeded):
        plan_file(source, merging(LiftBudget.symmetric(0.05)))
    assert left_in(tmp_path) == ["raw.parquet"]


def test_an_old_target_survives_a_failed_gate(leaky, source, tmp_path):
    (tmp_path / "out.parquet").write_text("old")
    with pytest.raises(BudgetExceeded):
        release_file(source, tmp_path / "out.parquet", merging(LiftBudget.symmetric(0.05)), force=True)
    assert (tmp_path / "out.parquet").read_text() == "old"


def test_an_existing_target_is_left_alone_unless_forced(source, folder, tmp_path):
    target = tmp_path / "out.parquet"
    target.write_text("old")
    with pytest.raises(TargetExists, match="exists already"):
        release_file(source, target, merging())
    assert target.read_text() == "old"
    release_file(source, target, merging(), force=True)
    assert pq.read_metadata(target).num_rows == 300
    parts = tmp_path / "out"
    parts.mkdir()
    (parts / "old").write_text("old")
    with pytest.raises(TargetExists, match="exists already"):
        release_file(folder, parts, merging())
    assert left_in(parts) == ["old"]
    release_file(folder, parts, merging(), force=True)
    assert left_in(parts) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert left_in(tmp_path) == ["SECRET_study", "out", "out.parquet", "raw.parquet"]


def test_force_never_replaces_a_folder_by_a_file_or_a_file_by_a_folder(source, folder, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(TargetExists):
        release_file(source, tmp_path / "out", merging())
    with pytest.raises(TargetError, match="is not a regular file; it was not replaced"):
        release_file(source, tmp_path / "out", merging(), force=True)
    (tmp_path / "file").write_text("old")
    with pytest.raises(TargetError, match="is not a folder; it was not replaced"):
        release_file(folder, tmp_path / "file", merging(), force=True)
    assert (tmp_path / "file").read_text() == "old"


def test_the_source_is_never_the_target(source, folder, tmp_path):
    before = source.read_bytes()
    (tmp_path / "link.parquet").symlink_to(source)
    for target in (source, tmp_path / "link.parquet", tmp_path / "x" / ".." / "raw.parquet"):
        with pytest.raises(TargetError, match="is the raw table, lies inside it or contains it"):
            release_file(source, target, merging(), force=True)
    for target in (folder, folder / "out", folder / "sex=SECRET_male" / "out.parquet"):
        with pytest.raises(TargetError, match="is the raw table, lies inside it or contains it"):
            release_file(folder, target, merging(), force=True)
    with pytest.raises(TargetError, match="is the raw table, lies inside it or contains it"):
        release_file(folder / "sex=SECRET_male", folder, merging(), force=True)
    assert source.read_bytes() == before
    assert (tmp_path / "link.parquet").is_symlink()


def test_a_missing_target_folder_is_named_before_the_source_is_counted(source, tmp_path, monkeypatch):
    monkeypatch.setattr(Sanitizer, "prepare", lambda *_, **__: pytest.fail("the source was read first"))
    with pytest.raises(TargetError, match=r"the folder of .* does not exist; create it first"):
        release_file(source, tmp_path / "no" / "out.parquet", merging())
    with pytest.raises(TargetError, match="create it first"):
        release_file(source, source / "out.parquet", merging())


def test_a_folder_that_may_not_be_written_to_is_named(source, folder, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("sanitize._util.outputs._Unnamed.open", refuse)
        with pytest.raises(TargetError, match="is not writable; nothing was written"):
            release_file(source, tmp_path / "out.parquet", merging())
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(TargetError, match="is not writable; nothing was written"):
        release_file(folder, tmp_path / "out", merging())
    assert left_in(tmp_path) == ["SECRET_study", "raw.parquet"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(source, tmp_path):
    (tmp_path / "sealed").mkdir(mode=0o500)
    with pytest.raises(TargetError, match="is not writable"):
        release_file(source, tmp_path / "sealed" / "out.parquet", merging())


def test_a_full_disk_leaves_nothing(source, folder, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_parquet_target.ReleaseWriter, "write", full)
    for start, target in ((source, "out.parquet"), (folder, "out")):
        with pytest.raises(TargetError, match=r"cannot be written \(No space left on device\); nothing was written"):
            release_file(start, tmp_path / target, merging())
    assert left_in(tmp_path) == ["SECRET_study", "raw.parquet"]


class FullDisk(io.FileIO):
    """A stream that takes a few bytes and no more."""

    room = 0

    def write(self, content) -> int:
        if self.tell() + len(content) > self.room:
            raise OSError(28, "No space left on device")
        return super().write(content)


@pytest.mark.slow
@pytest.mark.parametrize("free", [0, 4, 30, 200])
def test_a_disk_that_fills_up_is_one_error(free, source, tmp_path, monkeypatch):
    """The abandoned writer must not try again when it is collected: that would be a second message."""

    def opened(made):
        made.hidden = tmp_path / ".out.parquet.tmp"
        made._stream = FullDisk(made.hidden, "w")
        return made._stream

    monkeypatch.setattr(FullDisk, "room", free)
    monkeypatch.setattr("sanitize._util.outputs._Unnamed.open", opened)
    with pytest.raises(TargetError, match=r"No space left on device"):
        release_file(source, tmp_path / "out.parquet", merging())
    gc.collect()
    assert left_in(tmp_path) == ["raw.parquet"]


def with_and_without_unnamed_files(monkeypatch, unnamed: bool) -> None:
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interrupted_release_leaves_nothing(stop, unnamed, source, folder, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed)
    monkeypatch.setattr(_parquet_passes, "ROW_GROUP_ROWS", 50)
    written = []
    write = _parquet_target.ReleaseWriter.write

    def interrupted(self, columns):
        write(self, columns)
        written.append(1)
        if len(written) % 4 == 0:
            raise stop

    monkeypatch.setattr(_parquet_target.ReleaseWriter, "write", interrupted)
    for start, target in ((source, "out.parquet"), (folder, "out"), (folder, "all.parquet")):
        with pytest.raises(stop):
            release_file(start, tmp_path / target, merging())
        assert left_in(tmp_path) == ["SECRET_study", "raw.parquet"]


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
def test_an_interrupted_replacement_leaves_the_old_target(unnamed, source, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed)
    (tmp_path / "out.parquet").write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    for name in ("close", "write"):
        with monkeypatch.context() as patch:
            patch.setattr(_parquet_target.ReleaseWriter, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                release_file(source, tmp_path / "out.parquet", merging(), force=True)
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release_file(source, tmp_path / "out.parquet", merging(), force=True)
    assert (tmp_path / "out.parquet").read_text() == "old"
    assert left_in(tmp_path) == ["out.parquet", "raw.parquet"]


@pytest.mark.slow
@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_of_the_result_follow_the_umask(mask, unnamed, source, folder, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed)
    old = os.umask(mask)
    try:
        release_file(source, tmp_path / "out.parquet", merging())
        release_file(folder, tmp_path / "out", merging())
        assert os.umask(mask) == mask, "the umask of the process was changed"
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out.parquet").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o777 & ~mask
    assert stat.S_IMODE((tmp_path / "out" / "part-00000.parquet").stat().st_mode) == 0o666 & ~mask


def test_the_unfinished_file_is_readable_by_its_owner_only(source, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed=False)
    modes = []
    write = _parquet_target.ReleaseWriter.write

    def spy(self, columns):
        modes.extend(stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir() if p.name.startswith("."))
        write(self, columns)

    monkeypatch.setattr(_parquet_target.ReleaseWriter, "write", spy)
    release_file(source, tmp_path / "out.parquet", merging())
    assert modes == [0o600]
