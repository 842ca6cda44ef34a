"""A data set in folders is read whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import SourceError


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        pd.DataFrame({"s": ["p", "q"] * 50, "x": ["u", "v"] * 50}).to_parquet(tmp_path / "in" / name / "part.parquet")
    return tmp_path / "in"


def release(folder):
    return sz.privatize_parquet(folder, folder.parent / "out", sz.SubsetMerging(2.0, sensitive="s", public="x"))


@pytest.mark.parametrize("kind", ["list", "look"])
def test_a_folder_that_cannot_be_entered_stops_the_run(kind, folder, monkeypatch):
    """As root everything can be entered, so the system's answer is played."""
    listed, looked = Path.iterdir, Path.is_dir

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    if kind == "list":
        monkeypatch.setattr(Path, "iterdir", lambda path: refuse(path) if path.name == "b" else listed(path))
    else:
        monkeypatch.setattr(Path, "is_dir", lambda path: refuse(path) if path.parent.name == "b" else looked(path))
    with pytest.raises(SourceError, match=r"the folder 'b' cannot be entered \(Permission denied\); no row was read"):
        release(folder)
    monkeypatch.undo()
    assert os.listdir(folder.parent) == ["in"]
    assert release(folder).n_rows == 200


def test_a_linked_folder_is_neither_left_out_nor_read_twice(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (folder / "c").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(SourceError, match="'c' in the folder 'in' is a link to a folder"):
        release(folder)
    (folder / "c").unlink()
    (folder / "again.parquet").symlink_to(folder / "a" / "part.parquet")  # of a file one sees what it is
    assert release(folder).n_rows == 300
