"""Every benchmark and study starts, and every name of the library that one takes, at its top or later on, is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# One process for all of them, so that the library is loaded once: `--help` runs a file up to its command line.
START = """
import ast, contextlib, importlib, io, pathlib, runpy, sys
for path in sorted([*pathlib.Path("benchmarks").glob("*.py"), *pathlib.Path("studies").glob("*.py")]):
    said, sys.argv, text = io.StringIO(), [str(path), "--help"], path.read_text()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(path), run_name="__main__")
        if "__main__" in text:
            print(f"{path}: --help did not end it")
    except SystemExit as end:
        if end.code or not said.getvalue().startswith(f"usage: {path.name}"):
            print(f"{path}: --help ends with {end.code!r}")
    except Exception as error:
        print(f"{path}: {error!r}")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "sanitize":
            names = [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [(alias.name, None) for alias in node.names if alias.name.split(".")[0] == "sanitize"]
        else:
            continue
        for module, name in names:
            try:
                if name is not None and not hasattr(importlib.import_module(module), name):
                    module = f"{module}.{name}"
                importlib.import_module(module)
            except ImportError:
                print(f"{path}:{node.lineno}: {module} is not there")
"""


@pytest.mark.slow
def test_every_benchmark_and_study_starts_and_finds_the_names_it_takes():
    for engine in ("dask", "duckdb", "pyspark"):
        pytest.importorskip(engine, reason=f"{engine} is not installed")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "studies")])
    ended = subprocess.run(
        [sys.executable, "-c", START], cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)
