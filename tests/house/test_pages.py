"""The documentation's pages: their code prints what they say, and the reference holds every public name."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import sys
from pathlib import Path

import pages
import pytest

import sanitize as sz

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
EXECUTED = {"pycon", "console"}
NEEDS_JAVA = {"guide/engines.md"}
# Libraries that pages take, of groups that the tests of the README do without.
NEEDED = {
    "guide/databases.md": "duckdb",
    "guide/engines.md": "pyspark",
    "guide/parquet.md": "duckdb",
}
TOPICS = (
    "theory.accounting",
    "auditing.analyze",
    "core.bounds",
    "core.conversions",
    "datasets",
    "frames",
    "mechanisms",
    "theory.tradeoff",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:another sanitizer has released")  # pages compare designs of the same rows
@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_prints_what_the_page_says(page, tmp_path, monkeypatch):
    if page in NEEDS_JAVA and shutil.which("java") is None:
        pytest.skip("the page starts Spark, and there is no Java on this machine (java on the PATH)")
    if page in NEEDED:
        pytest.importorskip(NEEDED[page], reason=f"{NEEDED[page]} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert pages.run(DOCS / page, tmp_path) == []


def test_a_wrong_output_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> 1 + 1\n3\n```\n\n```console\n$ echo two\nthree\n$ echo $((1 + 1))\n2\n```\n")
    assert len(pages.run(page, tmp_path)) == 2


def test_a_page_can_take_over_what_its_code_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    right = '```pycon\n>>> print("a\\n\\nb")\na\n\nb\n>>> for i in (1, 2):\n...     print(i)\n1\n2\n```\n'
    page.write_text(right.replace("\n1\n2\n", "\n1\n3\n") + "```console\n$ echo two\nthree\n```\n")
    pages.accept(page, tmp_path)
    assert page.read_text() == right + "```console\n$ echo two\ntwo\n```\n"
    assert pages.run(page, tmp_path) == []


def test_python_that_is_shown_is_executed():
    for page in PAGES:
        for block in pages.blocks(DOCS / page):
            assert block.kind != "bash", f"{page}:{block.line}: show commands as console, with what they print"
            assert block.kind != "python", f"{page}:{block.line}: show Python as pycon"


def test_names_that_pages_mention_are_there():
    for page in PAGES:
        for name in sorted(set(re.findall(r"\bsz\.([A-Za-z_][\w.]*\w)", (DOCS / page).read_text(encoding="utf-8")))):
            found = sz
            for part in name.split(".")[:2]:
                assert hasattr(found, part), f"{page}: sz.{name} is not there"
                found = getattr(found, part)


@pytest.mark.parametrize("page", ["tutorial.md", *(page for page in PAGES if page.startswith("guide/"))])
def test_every_task_has_code(page):
    if page != "guide/index.md":
        assert any(block.kind in EXECUTED for block in pages.blocks(DOCS / page))


def test_every_page_is_in_the_contents():
    listed = set()
    for path in [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]:
        text = path.read_text(encoding="utf-8")
        for entries in re.findall(r"```\{toctree\}\n(.*?)```|\.\. toctree::\n(.*)", text, re.DOTALL):
            for entry in re.findall(r"^ *(?:.*<)?([\w/]+)>?$", "".join(entries), re.MULTILINE):
                listed.add((path.parent / entry).relative_to(DOCS).as_posix())
    found = {path.relative_to(DOCS).with_suffix("").as_posix() for path in [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]}
    found = {name for name in found if not name.startswith(("_", "api/generated"))}
    assert found - listed == {"index"}


def documented() -> dict[str, str]:
    """Name -> page of the reference, of everything in it."""
    found: dict[str, str] = {}
    for page in sorted((DOCS / "api").glob("*.rst")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if directive := re.match(r"\.\. (?:current)?module:: (\S+)", line):
                module = directive[1]
                if "current" not in line:
                    found[module] = page.name
            elif (name := re.fullmatch(r"   (\w+)", line)) and module:
                assert f"{module}.{name[1]}" not in found, f"{module}.{name[1]} is documented twice"
                found[f"{module}.{name[1]}"] = page.name
    return found


def public_functions(module: str) -> list[str]:
    """Public names of a submodule: its ``__all__``, or the functions it defines."""
    room = importlib.import_module(f"sanitize.{module}")
    return getattr(room, "__all__", None) or [
        name
        for name, made in vars(room).items()
        if not name.startswith("_") and inspect.isfunction(made) and made.__module__ == room.__name__
    ]


EVERY_NAME = sorted(
    {("sanitize", name) for name in dir(sz) if name != "__version__" and not inspect.ismodule(getattr(sz, name))}
    | {("sanitize.transformers", name) for name in sz.transformers.__all__}
    | {(f"sanitize.{module}", name) for module in TOPICS for name in public_functions(module)}
)


@pytest.mark.parametrize("page", sorted(path.name for path in (DOCS / "api").glob("*.rst")))
def test_a_page_of_the_reference_begins_with_its_purpose(page):
    """A sentence under the title, before any directive."""
    title, rule, empty, first = (DOCS / "api" / page).read_text(encoding="utf-8").splitlines()[:4]
    assert set(rule) == {"="}
    assert (len(rule), empty) == (len(title), "")
    assert re.match(r"[A-Za-z]", first)
    assert len(first.split()) >= 5


def test_the_reference_names_nothing_that_is_not_there():
    for engine in ("dask", "pyspark"):
        pytest.importorskip(engine, reason=f"{engine} is not installed")
    for name in documented():
        module, _, last = name.rpartition(".")
        try:
            assert importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), last), name


def test_every_public_name_is_in_the_reference():
    for engine in ("dask", "pyspark"):
        pytest.importorskip(engine, reason=f"{engine} is not installed")
    there = documented()
    missing = []
    for module, name in EVERY_NAME:
        made = getattr(importlib.import_module(module), name)
        # What two modules export has one page.
        homes = {path.rpartition(".")[0] for path in there if path.rpartition(".")[2] == name}
        if not any(getattr(importlib.import_module(home), name) is made for home in homes):
            missing.append(f"{module}.{name}")
    assert missing == []
    assert len(EVERY_NAME) > 150


def test_every_public_name_has_an_example():
    without = []
    for module, name in EVERY_NAME:
        made = getattr(importlib.import_module(module), name)
        # Values that functions return are explained where they are returned; `Sanitizer` is used by its subclasses.
        shown = inspect.isfunction(made) or (inspect.isclass(made) and module in {"sanitize", "sanitize.transformers"})
        if shown and name != "Sanitizer" and ">>>" not in (inspect.getdoc(made) or ""):
            without.append(f"{module}.{name}")
    assert without == []


def test_every_notebook_is_listed():
    listed = set(re.findall(r"`(\w+\.ipynb)`", (DOCS / "notebooks.md").read_text(encoding="utf-8")))
    assert listed == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}


FROM_A_TERMINAL = re.compile(
    r"(?:^|[\s\"'(`])/(?:tmp|home|root|Users|usr|var)/|site-packages|\bFile \"|^\S+\.py:\d+: \w*Warning", re.MULTILINE
)


def test_no_page_has_what_a_terminal_left_in_it():
    texts = [
        *DOCS.rglob("*.md"),
        *DOCS.rglob("*.rst"),
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / "studies").glob("*.md"),
        *ROOT.glob("*.md"),
    ]
    texts += (ROOT / "notebooks").glob("*.ipynb")
    found = [path.name for path in texts if FROM_A_TERMINAL.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_what_a_terminal_leaves_is_noticed():
    left = "| 1 |\n/opt/x/lib/sklearn/base.py:327: UnseenSymbolWarning: 6 of 10000 rows hold\n  data = f(self)\n| 2 |\n"
    assert FROM_A_TERMINAL.search(left)
    assert FROM_A_TERMINAL.search("see `/tmp/x.log`")
