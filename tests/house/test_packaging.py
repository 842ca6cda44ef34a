"""What is built: one import name, nothing left out, nothing twice."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "dist", "build", "*.egg-info", "out"
)
# Files that are data, not modules, and must travel with the library.
DATA_SUFFIXES = {".csv", ".bib", ".html", ".j2", ".jinja", ".css", ".svg", ".txt", ".toml", ".json", ".gz"}


def build(source: Path, target: Path, kind: str) -> Path:
    """Wheel or sdist of a source tree, made offline by hatchling itself."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Copy of the source tree; symbolic links stay links."""
    copy = tmp_path_factory.mktemp("source") / "tree"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=NOT_SOURCE)
    return copy


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory) -> Path:
    return build(source, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(source, tmp_path_factory) -> Path:
    return build(source, tmp_path_factory.mktemp("sdist"), "sdist")


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def library_files(tree: Path) -> set[str]:
    """Every file of the library as it should be installed."""
    found = set()
    for top, prefix in (("sanitize", ""), ("transformers", "sanitize/"), ("datasets", "sanitize/")):
        for path in (tree / top).rglob("*"):
            relative = path.relative_to(tree)
            linked = any((tree / parent).is_symlink() for parent in relative.parents)
            if path.is_file() and not linked:
                found.add(prefix + relative.as_posix())
    return found


def test_the_wheel_installs_one_import_name(wheel):
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert "sanitize" in tops
    assert {top for top in tops if not top.endswith(".dist-info")} == {"sanitize"}


def test_the_wheel_holds_every_file_of_the_library_once(source, wheel):
    packed = [name for name in names(wheel) if name.startswith("sanitize/")]
    assert len(packed) == len(set(packed))
    assert set(packed) == library_files(source)
    assert "sanitize/py.typed" in packed
    assert any(name.startswith("sanitize/datasets/") for name in packed)
    assert any(name.startswith("sanitize/transformers/") for name in packed)


def test_the_wheel_holds_the_data_the_library_reads(source, wheel):
    data = {name for name in library_files(source) if Path(name).suffix in DATA_SUFFIXES}
    assert data <= set(names(wheel))
    assert any(name.startswith("sanitize/datasets/") for name in data)
    if (source / "sanitize" / "references.bib").exists():
        assert "sanitize/references.bib" in data
    if (source / "sanitize" / "report").is_dir():
        assert any(name.startswith("sanitize/report/") for name in names(wheel))


@pytest.mark.slow
def test_a_wheel_built_from_the_sdist_is_the_same(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (tree,) = (tmp_path / "unpacked").iterdir()
    again = build(tree, tmp_path / "again", "wheel")
    assert names(again) == names(wheel)
    with zipfile.ZipFile(wheel) as a, zipfile.ZipFile(again) as b:
        for name in names(wheel):
            if name.startswith("sanitize/"):
                assert a.read(name) == b.read(name), name


def test_the_sdist_holds_tests_and_licence(sdist):
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/support/oracles.py", "sanitize/lifts.py"} <= packed


IMPORT_ALL = """
import importlib, pathlib, pkgutil, sys, warnings
sys.path.insert(0, sys.argv[1])
import sanitize
optional = {"dask", "pyspark", "polars", "rich", "matplotlib"}
pending = [(sanitize.__path__, "sanitize.")]
while pending:
    paths, prefix = pending.pop()
    for module in pkgutil.iter_modules(paths, prefix):
        if module.name.endswith("__main__"):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] in optional, error
            continue
        if module.ispkg:
            pending.append((loaded.__path__, module.name + "."))
files = {}
ours = {(pathlib.Path(sys.argv[1]) / top).resolve() for top in ("sanitize", "transformers", "datasets")}
for name, module in list(sys.modules.items()):
    file = getattr(module, "__file__", None)
    if file and ours & set(pathlib.Path(file).resolve().parents):
        files.setdefault(pathlib.Path(file).resolve(), set()).add(name)
print(len(files))
print({str(file): sorted(names) for file, names in files.items() if len(names) > 1})
"""


def imported(tree: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT_ALL, str(tree)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_no_module_is_loaded_under_two_names_from_the_source():
    count, twice = imported(ROOT)
    assert int(count) > 20
    assert twice == "{}"


@pytest.mark.slow
def test_no_module_is_loaded_under_two_names_from_the_wheel(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    count, twice = imported(tmp_path)
    assert int(count) > 20
    assert twice == "{}"


def test_transformers_and_datasets_are_links_to_the_top_folders():
    for name in ("transformers", "datasets"):
        link = ROOT / "sanitize" / name
        assert link.is_symlink()
        assert link.readlink().as_posix() == f"../{name}"
