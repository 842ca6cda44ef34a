"""A data set in folders is read whole, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import ColumnError, SourceError


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        pd.DataFrame({"s": ["p", "q"] * 50, "x": ["u", "v"] * 50}).to_parquet(tmp_path / "in" / name / "part.parquet")
    return tmp_path / "in"


def release(folder):
    return sz.release_file(
        folder, folder.parent / "out", sz.SubsetMerging(sz.LiftBudget.symmetric(2.0), sensitive="s", public="x")
    )


@pytest.mark.parametrize("kind", ["list", "look"])
def test_a_folder_that_cannot_be_entered_stops_the_run(kind, folder, monkeypatch):
    """The system's answer is played; below it is the system's own."""
    listed, looked = Path.iterdir, Path.stat

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    if kind == "list":
        monkeypatch.setattr(Path, "iterdir", lambda path: refuse(path) if path.name == "b" else listed(path))
    else:
        monkeypatch.setattr(
            Path, "stat", lambda path, **how: refuse(path) if path.parent.name == "b" else looked(path, **how)
        )
    with pytest.raises(SourceError, match=r"the folder 'b' cannot be entered \(Permission denied\); no row was read"):
        release(folder)
    monkeypatch.undo()
    assert os.listdir(folder.parent) == ["in"]
    assert release(folder).n_rows == 200


AS_NOBODY = """
import os, sys
from sanitize.cli import main

audit = ["audit", "in", "-s", "s", "-x", "x", "--json"]
assert main(audit) == 0
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
print("as nobody", flush=True)
sys.exit(main(audit))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "code"), [(0o000, 3), (0o111, 3), (0o444, 3), (0o555, 0)], ids=["none", "search", "list", "both"]
)
@pytest.mark.parametrize("deep", [False, True], ids=["of files", "of folders"])
def test_whoever_may_not_enter_a_folder_reads_nothing(mode, code, deep, folder):
    """Nobody in particular reads, who may list or search the folder, neither or both."""
    if deep:
        (folder / "b" / "deeper").mkdir()
        (folder / "b" / "part.parquet").rename(folder / "b" / "deeper" / "part.parquet")
    with tempfile.TemporaryDirectory() as place:  # folders of pytest are for their owner
        shutil.copytree(folder, Path(place, "in"))
        for path in (Path(place), *Path(place).rglob("*")):
            path.chmod(0o755)
        denied = Path(place, "in", "b")
        denied.chmod(mode)
        made = subprocess.run([sys.executable, "-c", AS_NOBODY], cwd=place, capture_output=True, text=True, check=False)
        denied.chmod(0o755)
    if os.geteuid() != 0 and code:
        assert "AssertionError" in made.stderr  # the first look is refused, too
        return
    _, there, out = made.stdout.partition("as nobody\n")
    assert there
    assert (made.returncode, bool(out)) == (code, code == 0), made.stderr
    assert code == 0 or "the folder 'b' cannot be entered (Permission denied); no row was read" in made.stderr


def test_a_linked_folder_is_neither_left_out_nor_read_twice(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (folder / "c").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(SourceError, match="'c' in the folder 'in' is a link to a folder"):
        release(folder)
    (folder / "c").unlink()
    (folder / "again.parquet").symlink_to(folder / "a" / "part.parquet")  # of a file one sees what it is
    assert release(folder).n_rows == 300


def to_csv(table, path):
    table.to_csv(path.with_suffix(".csv"), index=False)


IN_FILES = {
    "as in the folder": ([2023, 2024], pd.DataFrame.to_parquet),
    "text": (["2023", "2024"], pd.DataFrame.to_parquet),
    "another value than in the folder": ([1999, 2000], pd.DataFrame.to_parquet),
    "of CSV": (["2023", "2024"], to_csv),
    "of CSV, another value": (["a", "b"], to_csv),
}


@pytest.mark.parametrize("kind", IN_FILES)
def test_a_column_of_the_folders_may_be_in_the_files_too(kind, tmp_path):
    """A release has it once; where the two disagree nobody knows which is meant."""
    values, write = IN_FILES[kind]
    for year, value in zip((2023, 2024), values, strict=True):
        (tmp_path / "in" / f"year={year}").mkdir(parents=True)
        table = pd.DataFrame({"s": ["p", "q"] * 50, "year": [value] * 100, "x": ["u", "v"] * 50})
        write(table, tmp_path / "in" / f"year={year}" / "part.parquet")
    merging = sz.SubsetMerging(sz.LiftBudget.symmetric(2.0), sensitive="s", public=["year", "x"])
    if "another" in kind:
        with pytest.raises(ColumnError, match=r"column 'year' in part.* contradicts the value in the name"):
            sz.release_file(tmp_path / "in", tmp_path / "out.parquet", merging)
        return
    sz.release_file(tmp_path / "in", tmp_path / "out.parquet", merging)
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert list(out) == ["year", "x"]
    assert set(out["year"].astype(str)) == set(map(str, values))
