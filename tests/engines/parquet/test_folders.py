"""Releases of folders, and sources that change while they are read."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_cases import KEY, LOOSE, left_in, merging, rows_of, table

from sanitize.engines.parquet import audit_file, plan_file, release_file
from sanitize.errors import (
    SourceChanged,
    SourceError,
)
from sanitize.transformers import Sanitizer, SubsetMerging

# -------------------------------------------------------------------------------------------- folders


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_folder_is_released_as_a_folder_of_neutrally_named_parts(folder, rows, tmp_path):
    target = tmp_path / "out"
    report = release_file(folder, target, merging(), rows=rows, key=KEY)
    assert report.n_rows == 450
    assert left_in(target) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    parts = [pq.read_table(target / name) for name in left_in(target)]
    sizes = [part.num_rows for part in parts]
    # The rows of a sensitive folder must not be counted by the size of a part.
    assert sizes == [150, 150, 150] if rows == "shuffle" else sorted(sizes) == [100, 150, 200]
    assert all(part.column_names == ["x", "floor"] for part in parts)
    everything = b"".join((target / name).read_bytes() for name in left_in(target))
    assert b"SECRET" not in everything
    assert left_in(tmp_path) == ["SECRET_study", "out"]


def test_a_folder_may_be_released_as_one_file(folder, tmp_path):
    release_file(folder, tmp_path / "out.parquet", merging(), key=KEY)
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 450
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    release_file(folder, tmp_path / "out", merging(), key=KEY)
    parts = [row for name in left_in(tmp_path / "out") for row in rows_of(tmp_path / "out" / name)]
    assert Counter(parts) == Counter(rows_of(tmp_path / "out.parquet"))


def test_a_folder_and_its_files_in_one_have_one_channel(folder, tmp_path):
    pq.write_table(
        pa.concat_tables([pq.read_table(f) for f in sorted(folder.glob("sex=*/*.parquet"))]), tmp_path / "one"
    )
    a, b = merging(), merging()
    plan_file(folder, a)
    plan_file(tmp_path / "one", b)
    assert a.channel_ == b.channel_
    assert a.report_.summary == b.report_.summary


def test_the_files_of_a_folder_draw_different_noise(tmp_path):
    """Of few rows each: equal files of many rows are an order that tells."""
    (tmp_path / "in").mkdir()
    for name in "ab":
        pq.write_table(table(40), tmp_path / "in" / f"{name}.parquet")
    release_file(tmp_path / "in", tmp_path / "out", merging(), rows="keep", key=KEY)
    parts = [rows_of(tmp_path / "out" / name) for name in left_in(tmp_path / "out")]
    assert parts[0] != parts[1], "equal files with equal noise would show which rows are equal"


def test_a_sub_folder_named_like_a_file_is_looked_into(tmp_path):
    inner = tmp_path / "in" / "day.parquet"
    inner.mkdir(parents=True)
    pq.write_table(table(), inner / "part-0.parquet")
    assert audit_file(tmp_path / "in", ["s"], ["x"]).n_rows == 300


def test_a_folder_without_parquet_files_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("s,x\n")
    with pytest.raises(SourceError, match=r"has no \*\.parquet files"):
        release_file(tmp_path / "in", tmp_path / "out", merging())


def test_files_of_different_columns_or_types_are_refused(tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(table(), tmp_path / "in" / "a.parquet")
    for other in (table().drop_columns("age"), table().set_column(2, "floor", pa.array(["a"] * len(table())))):
        pq.write_table(other, tmp_path / "in" / "b.parquet")
        with pytest.raises(
            SourceError, match=r"b\.parquet has no column .* a\.parquet|in a\.parquet and string in b\.parquet"
        ):
            release_file(tmp_path / "in", tmp_path / "out", merging())
    assert left_in(tmp_path) == ["in"]


# ------------------------------------------------------------------------------------ a moving source


def edit_after_counting(monkeypatch, edit) -> None:
    """Run ``edit`` between the counting and the rewriting pass."""
    prepare = Sanitizer.prepare

    def prepare_and_edit(*args, **settings):
        made = prepare(*args, **settings)
        edit()
        return made

    monkeypatch.setattr(Sanitizer, "prepare", prepare_and_edit)


def rewrite_in_place(path: Path, changed: pa.Table) -> None:
    """Another content under the same inode, size permitting, and with the same time stamps."""
    times = path.stat()
    buffer = pa.BufferOutputStream()
    pq.write_table(changed, buffer)
    with path.open("r+b") as stream:
        stream.write(buffer.getvalue().to_pybytes())
        stream.truncate()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


EDITS = {
    "other rows": lambda path: pq.write_table(table(seed=5), path),
    "fewer rows": lambda path: pq.write_table(table().slice(3), path),
    "new symbol": lambda path: pq.write_table(table().set_column(1, "x", pa.array(["SECRET_new"] * 300)), path),
    "gone": lambda path: path.unlink(),
    "damaged": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "touched": lambda path: os.utime(path, ns=(1, 1)),
    "other rows, same stamps": lambda path: rewrite_in_place(path, table(seed=5)),
    "new symbol, same stamps": lambda path: rewrite_in_place(
        path, table().set_column(1, "x", pa.array(["SECRET_new"] * 300))
    ),
    "another column": lambda path: rewrite_in_place(path, table().drop_columns("x")),
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("edit", EDITS)
def test_a_source_that_changes_between_the_passes_is_noticed_and_nothing_is_left(
    edit, rows, source, tmp_path, monkeypatch
):
    edit_after_counting(monkeypatch, lambda: EDITS[edit](source))
    wanted = SourceError if edit in ("gone", "damaged", "another column") else SourceChanged
    with pytest.raises(wanted) as caught:
        release_file(source, tmp_path / "out.parquet", merging(), rows=rows)
    assert "SECRET" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert set(left_in(tmp_path)) <= {"raw.parquet"}


@pytest.mark.parametrize(("rows", "room"), [("shuffle", True), ("keep", True), ("keep", False)])
def test_a_change_that_the_file_system_does_not_show_is_noticed_or_is_not_released(rows, room, tmp_path, monkeypatch):
    path = tmp_path / "raw.parquet"
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pa.table({"s": ["p", "n"] * 50, "x": ["a", "b", "b", "a"] * 25}), path, **plain)
    before = path.stat()

    def edit():
        content = path.read_bytes()
        pq.write_table(pa.table({"s": ["p", "n"] * 50, "x": ["a", "b", "b", "b"] * 25}), tmp_path / "other", **plain)
        changed = (tmp_path / "other").read_bytes()
        (tmp_path / "other").unlink()
        assert len(changed) == len(content)
        with path.open("r+b") as stream:
            stream.write(changed)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    edit_after_counting(monkeypatch, edit)
    sanitizer = SubsetMerging(LOOSE, sensitive="s", public="x")
    if not room:
        monkeypatch.setattr("sanitize.release.first_pass.KEPT_BYTES", 0)
        with pytest.raises(SourceChanged, match="changed while it was being read; nothing was released"):
            release_file(path, tmp_path / "out.parquet", sanitizer, rows=rows)
    else:  # what was counted is released, and nothing else is read
        release_file(path, tmp_path / "out.parquet", sanitizer, rows=rows)
        assert Counter(pq.read_table(tmp_path / "out.parquet")["x"].to_pylist()) == {"a": 50, "b": 50}
        (tmp_path / "out.parquet").unlink()
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)
    assert left_in(tmp_path) == ["raw.parquet"]


def test_a_folder_that_changes_between_the_passes_is_noticed(folder, tmp_path, monkeypatch):
    last = folder / "sex=SECRET_none" / "SECRET_2.parquet"
    edit_after_counting(monkeypatch, lambda: pq.write_table(table(200, seed=9), last))
    for target in ("out", "out.parquet"):
        with pytest.raises(SourceChanged, match="nothing was released"):
            release_file(folder, tmp_path / target, merging(), rows="keep")
    assert left_in(tmp_path) == ["SECRET_study"]


def test_the_source_itself_is_never_modified(source, folder, tmp_path):
    def state():
        files = [source, *sorted(folder.rglob("*.parquet"))]
        return [(f.read_bytes(), f.stat().st_mtime_ns, f.stat().st_mode) for f in files]

    before = state()
    release_file(source, tmp_path / "out.parquet", merging())
    release_file(folder, tmp_path / "out", merging())
    assert state() == before
