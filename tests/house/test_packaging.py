"""What is built: one import name, nothing left out, nothing twice."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "dist", "build", "*.egg-info", "out", "site"
)
# Files that are data, not modules, and must travel with the library.
DATA_SUFFIXES = {".csv", ".bib", ".html", ".j2", ".jinja", ".css", ".svg", ".txt", ".toml", ".json", ".gz"}


def build(source: Path, target: Path, kind: str, umask: int = -1) -> Path:
    """Wheel or sdist of a source tree, made offline by hatchling itself."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install --group package")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source,
        umask=umask,
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
def test_builds_of_the_tree_and_of_the_sdist_are_the_same_bytes(wheel, sdist, tmp_path):
    """In another folder, without history, with other times and rights of files."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (tree,) = (tmp_path / "unpacked").iterdir()
    for path in [tree, *tree.rglob("*")]:
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    for made, kind in ((wheel, "wheel"), (sdist, "sdist")):
        assert build(tree, tmp_path / kind, kind, umask=0o077).read_bytes() == made.read_bytes()


def test_the_sdist_holds_tests_and_licence(sdist):
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/support/oracles.py", "sanitize/core/lifts.py"} <= packed


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def declared() -> dict[str, Requirement]:
    """Name -> what is required of it, of the library and all its extras."""
    extras = PROJECT["optional-dependencies"].values()
    required = [Requirement(line) for lines in (PROJECT["dependencies"], *extras) for line in lines]
    return {requirement.name: requirement for requirement in required if requirement.name != PROJECT["name"]}


def test_what_is_imported_is_declared():
    imported = set()
    for folder in ("sanitize", "transformers", "datasets"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) else []
                imported |= {name.partition(".")[0] for name in names}
    for optional in ("dask", "pyspark"):
        pytest.importorskip(optional, reason=f"{optional} is not installed")
    homes = importlib.metadata.packages_distributions()
    outside = imported - sys.stdlib_module_names - {"sanitize", "_typeshed"}
    needed = {re.sub(r"[-_.]+", "-", homes[name][0]).lower() for name in outside}
    assert needed == set(declared())


def test_the_lowest_versions_are_those_that_are_declared():
    """The file installs what `pyproject.toml` promises to work with, and not something near it."""
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for name, requirement in declared().items():
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        assert re.fullmatch(rf"{re.escape(bound.version)}(\.0)*", pinned[name]), name


def test_the_extra_all_is_all_extras():
    (everything,) = (Requirement(line) for line in PROJECT["optional-dependencies"]["all"])
    assert everything.extras == set(PROJECT["optional-dependencies"]) - {"all"}


def test_an_index_shows_the_readme_without_a_dead_link(wheel):
    index_links = pytest.importorskip(
        "index_links", reason="readme-renderer is not installed: pip install --group pages"
    )
    text = index_links.make_page(wheel)
    assert index_links.dead_links(text) == []
    assert "Python in ten minutes (`docs/guide/dataframe.md`)" in text
    assert index_links.dead_links("[a](docs/a.md) ![b](b.png) [c](https://example.org/)") == ["docs/a.md", "b.png"]


IMPORT_ALL = """
import importlib, pathlib, pkgutil, sys, warnings
sys.path.insert(0, sys.argv[1])
import sanitize
optional = {"dask", "pyspark", "polars", "rich", "sqlglot"}
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
