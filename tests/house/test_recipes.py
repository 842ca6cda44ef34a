"""Recipes for other tools: they compile, and the commands in them do what the page says, on a table that is small."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "docs" / "recipes"
PAGE = ROOT / "docs" / "guide" / "recipes.md"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """What the page says that every recipe needs."""
    monkeypatch.chdir(tmp_path)
    blocks = {block.kind: block.text for block in reversed(pages.blocks(PAGE))}
    (tmp_path / "policy.toml").write_text(blocks["toml"], encoding="utf-8")
    names: dict[str, object] = {}
    for example in pages.examples(next(block for block in pages.blocks(PAGE) if block.kind == "pycon")):
        exec(example.source, names)
    return tmp_path


def run(command: str | list[str], folder: Path, **environment: str) -> int:
    """Exit code of a command that finds this environment's programs first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    argv = ["bash", "-euo", "pipefail", "-c", command] if isinstance(command, str) else command
    return subprocess.run(
        argv, cwd=folder, env={**os.environ, "PATH": path, **environment}, capture_output=True, check=False
    ).returncode


def commands(recipe: str) -> dict[str, str]:
    """The commands of a recipe that is Python, which is compiled and not imported: its library may be absent."""
    tree = ast.parse((RECIPES / recipe).read_text(encoding="utf-8"))
    (found,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "COMMANDS")
    return ast.literal_eval(found)


def raw_rows_under_the_name_of_a_release(folder: Path) -> None:
    shutil.copy(folder / "people.parquet", folder / "new.parquet")
    shutil.copy(folder / "people.parquet", folder / "released.parquet")


@pytest.mark.slow
def test_make_releases_verifies_and_judges_and_then_has_nothing_to_do(folder):
    if shutil.which("make") is None:
        pytest.skip("there is no make on this machine")
    make = ["make", "-f", str(RECIPES / "Makefile"), "released.parquet"]
    assert run(make, folder) == 0
    assert set(pd.read_parquet(folder / "released.parquet")) == {"sex", "occupation", "shifts"}
    assert json.loads((folder / "verification.json").read_text())["ok"]
    assert run([*make, "--question"], folder) == 0
    os.utime(folder / "policy.toml", (4e9, 4e9))
    assert run([*make, "--question"], folder) == 1


@pytest.mark.slow
def test_make_keeps_nothing_that_is_over_its_budget(folder):
    """Rows in their order, which is that of the secret."""
    if shutil.which("make") is None:
        pytest.skip("there is no make on this machine")
    pd.read_parquet(folder / "people.parquet").sort_values("depression").to_parquet(
        folder / "people.parquet", index=False
    )
    policy = (folder / "policy.toml").read_text(encoding="utf-8")
    (folder / "policy.toml").write_text('rows = "keep"\n' + policy, encoding="utf-8")
    assert run("sanitize release people.parquet -p policy.toml -o new.parquet", folder) == 1
    assert run(["make", "-f", str(RECIPES / "Makefile"), "released.parquet"], folder) == 2
    assert not (folder / "released.parquet").exists()


@pytest.mark.slow
def test_the_gate_opens_for_a_release_and_not_for_raw_rows(folder):
    text = (RECIPES / "gate.yml").read_text(encoding="utf-8")
    loop = text[text.index("for file") :]
    environment = dict(re.findall(r"^ {6}([A-Z]+): (\S+)$", text, re.MULTILINE))
    assert set(environment) == {"RAW", "OUTSIDERS"}
    (folder / "handed_out").mkdir()
    shutil.copy(folder / "people.parquet", folder / "handed_out" / "raw.parquet")
    assert run(loop, folder, **environment) == 1
    (folder / "handed_out" / "raw.parquet").unlink()
    assert run("sanitize release people.parquet -p policy.toml -o handed_out/released.parquet", folder) == 0
    assert run(loop, folder, **environment) == 0


@pytest.mark.slow(sampled=False)
@pytest.mark.parametrize("recipe", ["airflow_dag.py", "dagster_assets.py"])
def test_commands_of_a_recipe_succeed_for_a_release_and_fail_for_raw_rows(recipe, folder):
    steps = commands(recipe)
    assert list(steps)[:3] == ["release", "verify", "judge"]
    assert {name: run(command, folder) for name, command in steps.items()} == dict.fromkeys(steps, 0)
    raw_rows_under_the_name_of_a_release(folder)
    assert [run(steps[name], folder) for name in ("verify", "judge")] == [1, 1]


@pytest.mark.slow
def test_a_verification_is_of_the_file_whose_digest_it_says(folder):
    """What the query of dbt compares."""
    assert run("sanitize release people.parquet -p policy.toml -o released.parquet", folder) == 0
    verify = "sanitize verify released.parquet --source people.parquet -p policy.toml --json > verification.json"
    assert run(verify, folder) == 0
    raw_rows_under_the_name_of_a_release(folder)
    honest = json.loads((folder / "verification.json").read_text())
    digest = "sha256:" + hashlib.sha256((folder / "released.parquet").read_bytes()).hexdigest()
    assert run(verify, folder) == 1
    refused = json.loads((folder / "verification.json").read_text())
    assert (honest["ok"], honest["digest"] == digest, refused["ok"], refused["digest"]) == (True, False, False, digest)
    query = (RECIPES / "dbt" / "tests" / "people_are_verified.sql").read_text(encoding="utf-8")
    assert {"ok", "digest", "sha256", "where ok is not true"} <= set(re.findall(r"where ok is not true|\w+", query))


def test_the_page_shows_every_recipe():
    shown = set(re.findall(r"\{literalinclude\} \.\./recipes/(\S+)", PAGE.read_text(encoding="utf-8")))
    files = {path.relative_to(RECIPES).as_posix() for path in RECIPES.rglob("*") if path.is_file()}
    assert {file for file in files if "__pycache__" not in file} - shown == {"dbt/dbt_project.yml", "dbt/profiles.yml"}
