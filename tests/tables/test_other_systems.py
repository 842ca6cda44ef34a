"""Releases where there is no ``fcntl`` and nothing that is open takes another name, as on Windows.

Such a system is played: its missing functions are taken away from Python, and renaming what this process has open is
refused, as is opening a folder. That files written there are the same bytes, this cannot show.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

PLAYED = """
    import os, sys, types
    import pandas, pyarrow.parquet, sklearn.base, scipy.optimize  # what others load at first use
    from pathlib import Path

    import shutil
    shutil._use_fd_functions = False
    locked = []
    sys.modules["fcntl"] = None
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK=1, locking=lambda handle, *_: locked.append(handle))
    for name in ("O_TMPFILE", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "fchmod"):
        delattr(os, name)

    def is_open(path):
        files = []
        for number in os.listdir("/proc/self/fd"):
            try:
                files.append(Path(os.readlink(f"/proc/self/fd/{number}")))
            except OSError:
                pass
        whole = Path(path).absolute()
        return any(file == whole or whole in file.parents for file in files)

    def refusing(call):
        def wrapped(source, target, **given):
            if is_open(source) or is_open(target):
                raise PermissionError(13, "open in another process", str(source))
            return call(source, target, **given)
        return wrapped

    os.replace, os.rename = refusing(os.replace), refusing(os.rename)
    opened = os.open

    def no_folders(path, *rest, **given):
        if Path(path).is_dir():
            raise PermissionError(13, "a folder", str(path))
        return opened(path, *rest, **given)

    os.open = no_folders
"""
JOB = """
    import pandas as pd
    import sanitize as sz
    from sanitize.cli import main

    made = lambda: sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["town", "floor"])
    frame = made().fit_transform(pd.read_parquet("raw.parquet"))
    assert len(frame) == 600
    sz.Ledger("book.json", sz.LiftBudget(lower=4.0, upper=3.0))
    for force in (False, True):  # a new one, and one that takes the place of another
        sz.release_file("raw.parquet", "out.parquet", made(), receipt="own/r", ledger="book.json", force=force)
        sz.release_file("raw", "parts", made(), force=force)
    assert sz.verify_file("out.parquet", "raw.parquet", made(), receipt="own/r").ok
    assert len(locked) >= 2
    design = ["-s", "ill", "-x", "town", "--lower", "1", "--upper", "1"]
    assert main(["release", "raw.csv", "-o", "out.csv", *design, "--report", "page.html"]) == 0
    assert main(["release", "raw.csv", "-o", "out.csv", *design]) != 0  # the name is taken
    assert main(["release", "raw.csv", "-o", "out.csv", *design, "--force"]) == 0
    left = sorted(str(file) for file in Path(".").rglob(".*") if not file.name.endswith(".lock"))
    assert not left, left
"""


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(0)
    df = pd.DataFrame({name: rng.integers(0, 3, 600).astype(str) for name in ("ill", "town", "floor")})
    df.to_parquet(tmp_path / "raw.parquet")
    df.to_csv(tmp_path / "raw.csv", index=False)
    (tmp_path / "raw").mkdir()
    (tmp_path / "own").mkdir()
    for part in range(2):
        df[part::2].to_parquet(tmp_path / "raw" / f"{part}.parquet")
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="what this process has open is read from /proc")
def test_files_appear_whole_where_nothing_open_is_renamed(place):
    program = textwrap.dedent(PLAYED) + textwrap.dedent(JOB)
    done = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "<html" in (place / "page.html").read_text()
    assert json.loads((place / "book.json").read_text())["releases"]
