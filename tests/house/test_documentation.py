"""What is written is true: examples run, references exist, the README starts as promised."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import sanitize as sz

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    name for _, name, _ in pkgutil.walk_packages(sz.__path__, "sanitize.") if not name.endswith("__main__")
)
# Libraries that examples take, of groups that the tests of the README do without.
NEEDED = {
    "sanitize.engines.dask": "distributed",
    "sanitize.engines.spark": "pyspark",
    "sanitize.engines.sql": "duckdb",
}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"{NEEDED[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_every_public_function_and_class_has_an_example():
    without = [
        name
        for name in dir(sz)
        if (inspect.isfunction(made := getattr(sz, name)) or inspect.isclass(made))
        and not issubclass(made if inspect.isclass(made) else object, Exception)
        and ">>>" not in (inspect.getdoc(made) or "")
    ]
    assert without == []


def test_every_citation_is_in_the_bibliography():
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "sanitize" / "references.bib").read_text(), re.MULTILINE))
    cited = set()
    for folder in ("sanitize", "transformers", "datasets"):
        for path in (ROOT / folder).rglob("*.py"):
            for docstring in re.findall(r'"""(.*?)"""', path.read_text(), re.DOTALL):
                cited |= set(re.findall(r"\[([A-Z]{2,}[a-z]?\d*|Smith)[ \],;]", docstring))
    assert cited
    assert cited <= known


def test_papers_that_are_cited_with_the_software_are_in_the_bibliography():
    """The five papers, each under the title that `sanitize/references.bib` has."""
    bibliography = re.sub(r"[{}]", "", (ROOT / "sanitize" / "references.bib").read_text(encoding="utf-8"))
    papers = (ROOT / "CITATION.cff").read_text(encoding="utf-8").partition("\nreferences:\n")[2]
    titles = re.findall(r'^    title: "(.*)"$', papers, re.MULTILINE)
    assert len(titles) == 5
    assert [title for title in titles if f"= {title},\n" not in bibliography] == []


def test_the_readme_starts_with_exactly_two_commands():
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^```bash\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert len(commands) == 2
    assert all(len(command.strip().splitlines()) == 1 for command in commands)
    assert "sanitize release" in commands[0]
    assert commands[1].strip().endswith("pytest -n auto")


def test_the_version_is_the_same_everywhere():
    assert f"version: {sz.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {sz.__version__}" in (ROOT / "CHANGELOG.md").read_text()
