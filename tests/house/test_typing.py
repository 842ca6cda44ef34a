"""The public face, as a type checker and `help` see it: mistakes are found before anything is run."""

from __future__ import annotations

import inspect
import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sanitize as sz

ROOT = Path(__file__).resolve().parents[2]
ESTIMATORS = [
    made
    for made in map(sz.transformers.__dict__.get, sz.transformers.__all__)
    if inspect.isclass(made) and not inspect.isabstract(made)
]
ROOMS = sorted(name for name in dir(sz) if inspect.ismodule(getattr(sz, name)))
ENGINES = {"dask", "spark"}  # importing them needs the engine


def public_functions() -> list[tuple[str, Any]]:
    """Functions of the hall, of each room, and of the parts that some rooms hold."""
    rooms = [getattr(sz, room) for room in ROOMS]
    parts = [getattr(room, name) for room in rooms for name in set(getattr(room, "__all__", ())) - ENGINES]
    owners = [sz, *rooms, *filter(inspect.ismodule, parts)]
    found = {
        f"{owner.__name__}.{name}": getattr(owner, name)
        for owner in owners
        for name in set(dir(sz) if owner is sz else getattr(owner, "__all__", ())) - ENGINES
    }
    return sorted(
        (name, made)
        for name, made in found.items()
        if inspect.isfunction(made) and made.__module__.startswith("sanitize")
    )


FUNCTIONS = public_functions()

# One word a concept: another word for it, or a bare letter of a paper, is no name of a parameter.
OTHER_WORDS = {
    "epsilon": "eps",
    "epsilons": "eps",
    "privacy": "eps",
    "tolerance": "tol",
    "n": "n_records or n_symbols",
    "m": "n_symbols",
    "n_letters": "n_symbols",
    "n_rows": "n_records",
    "distortion_matrix": "distances",
    "level": "eps, alpha or confidence",
    "d": "distances",
    "p_x": "prior",
    "p": "prior",
    "kernel": "channel",
}

RIGHT = """
import sanitize as sz

budget = sz.LiftBudget(lower=1.0, upper=0.5)
sanitizer: sz.SubsetMerging = sz.SubsetMerging(budget, sensitive="s", public=["x", "y"], min_count=5).fit(1)
text: str = sz.frames.release("any frame", sanitizer)
same: str = sz.frames.FrameMethods(text).watchdog(budget, sensitive=["s"], public=[0, 1], smoothing=0.5)
report: sz.LeakageReport = sz.audit(same, sensitive="s")
kept: float = sz.normalized_utility(sz.JointDistribution.from_matrix([[0.5, 0.5]]), sz.Channel.identity(2))
"""
# A line that is wrong, and what is said about it.
WRONG = {
    "sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive='s', publik='x')": "publik",
    "sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive=3)": "sensitive",
    "sz.GaussianChannel(1.0, public='x', smoothing=1.0)": "smoothing",
    "sz.JointRelease(sz.LiftBudget.symmetric(1.0), sensitive=3)": "sensitive",
    "sz.frames.FrameMethods('f').subset_merging(1.0, publik='x')": "publik",
    "sz.frames.FrameMethods('f').gaussian_channel(1.0, sensitive=3)": "sensitive",
    "number: int = sz.frames.release('f', sz.Watchdog(sz.LiftBudget.symmetric(1.0)))": "Sanitizer|str|int",
    "sz.audit('f', sensitive=3)": "sensitive",
    "sz.subset_merge": "subset_merge",
    "sz.frames.subset_merging": "subset_merging",
    "sz.LiftBudget(1.0, 0.5)": "No overload",
    "sz.LiftBudget(lower=1.0, uper=0.5)": "No overload",
    "sz.LiftBudget(at_most=2.0, lower=1.0)": "No overload",
    "sz.AlphaLiftBudget(2, 1.0, 0.5)": "positional",
    "sz.release_file('a', 'b', sz.Watchdog(sz.LiftBudget.symmetric(1.0)), row='keep')": "row",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, list[str]]:
    """What mypy says about a right file and about each wrong line."""
    pytest.importorskip("mypy", reason="mypy is not installed: pip install --group lint")
    folder = tmp_path_factory.mktemp("user")
    (folder / "right.py").write_text(RIGHT)
    lines = ["import sanitize as sz", *WRONG]
    (folder / "wrong.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]
    # Of this library alone: to read the types of NumPy and pandas takes most of a quarter of a minute.
    alone = ["--no-site-packages", "--cache-dir=/dev/null"]
    run = subprocess.run(
        [*command, *alone, "--no-error-summary", "right.py", "wrong.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found: dict[str, list[str]] = {"right": []}
    for file, line, message in re.findall(r"^(right|wrong)\.py:(\d+): error: (.*)$", run.stdout, re.MULTILINE):
        found.setdefault("right" if file == "right" else lines[int(line) - 1], []).append(message)
    return found


@pytest.mark.slow
def test_mypy_passes_a_users_file_that_is_right(said):
    assert said["right"] == []


@pytest.mark.parametrize("line", WRONG)
def test_mypy_finds_a_users_mistake(line, said):
    assert any(re.search(WRONG[line], message) for message in said.get(line, [])), said.get(line)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda made: made.__name__)
def test_an_estimator_is_documented_whole(estimator):
    page = inspect.cleandoc(estimator.__doc__).partition("Parameters\n---")[2].partition("Attributes\n---")[0]
    told = {name for line in re.findall(r"^(\w[\w, ]*) :", page, re.MULTILINE) for name in line.split(", ")}
    assert told == set(inspect.signature(estimator).parameters)
    assert "As in" not in page


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_public_function_names_its_parameters(name, function):
    parameters = inspect.signature(function).parameters
    assert [one for one in parameters if not re.search(rf"\b{one}\b", function.__doc__)] == []
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_concept_has_one_word_in_every_signature(name, function):
    assert {one: OTHER_WORDS[one] for one in inspect.signature(function).parameters if one in OTHER_WORDS} == {}


def test_the_hall_is_small_and_its_help_short():
    names = [name for name in dir(sz) if not name.startswith("_") and name not in ROOMS]
    assert len({getattr(sz, name) for name in names}) <= 60  # release_file has two names
    assert len(pydoc.render_doc(sz).splitlines()) <= 150


def test_no_name_is_a_function_and_a_module():
    modules = {path.stem for path in (ROOT / "sanitize").glob("*.py")} | {
        path.parent.name for path in (ROOT / "sanitize").glob("*/__init__.py")
    }
    shadowed = [name for name in modules if hasattr(sz, name) and not inspect.ismodule(getattr(sz, name))]
    assert [name for name in shadowed if name != "__init__"] == []
