"""Five people's tasks, each from an empty folder with the installed package, short, with its output checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import sanitize as sz

FRAME = """
import sanitize as sz
df = sz.datasets.load_titanic()
sanitizer = sz.SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
released = sz.frame.release(df, sanitizer)
print(sz.last_report(released))
released.to_csv("released.csv", index=False)
"""
POLICY = [
    "python -m sanitize.datasets framingham raw.parquet",
    "sanitize init raw.parquet -o policy.toml",
    "sed -i 's/^# at_most =/at_most = 2/; s/^# at_least =/at_least = 0.37/' policy.toml",
    "sanitize plan raw.parquet -p policy.toml",
    "sanitize release raw.parquet -p policy.toml -o released.parquet --report report.html",
    "sanitize verify released.parquet --source raw.parquet -p policy.toml",
]
COLUMNS = """
import sanitize as sz
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
df = sz.datasets.load_titanic()
sanitizer = sz.SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="sex", public=["class", "age"])
released = ColumnTransformer([("released", sanitizer, ["sex", "class", "age"])], remainder="drop")
model = make_pipeline(released, OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
model.fit(df, df["survived"])
print(released.named_transformers_["released"].report_.ok, model.score(df, df["survived"]))
"""
WHOLE = """
import sanitize as sz
df = sz.datasets.load_titanic()
sanitizer = sz.TreeMerging(sz.LiftBudget(lower=1.5, upper=1.0), sensitive="survived")
released = sanitizer.fit_transform(df)
released.to_parquet("released.parquet")
sanitizer.report_.to_html("report.html")
print(sanitizer.report_.ok, *released.columns)
"""
OWNER = [
    "python -m sanitize.datasets titanic raw.parquet",
    "sanitize release raw.parquet -o released.parquet -s survived -x class -x sex -m randomized-response -e 6 "
    "--channel channel.json",
    "rm raw.parquet",
]
ANALYST = """
import pandas as pd
import sanitize as sz
released = pd.read_parquet("released.parquet")
print(sz.analyze.table(released, "channel.json", "class"))
found = sz.analyze.logistic(released, "channel.json", outcome="sex", predictors="class")
found.to_frame().to_csv("coefficients.csv")
"""


@pytest.fixture
def empty(tmp_path, monkeypatch) -> Path:
    """An empty folder to work in, with the commands of this environment on the path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def script(text: str) -> str:
    """What a script of at most 12 lines prints."""
    assert len(text.strip().splitlines()) <= 12
    return finished([sys.executable, "-W", "error::DeprecationWarning", "-c", text])


def commands(lines: list[str]) -> list[str]:
    """What each of at most 6 commands prints."""
    assert len(lines) <= 6
    return [finished(["bash", "-c", line]) for line in lines]


def finished(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_from_a_frame_to_a_release(empty):
    printed = script(FRAME)
    assert printed.startswith("HOLDS FOR THESE ROWS ONLY | subset merging")
    source, released = sz.datasets.load_titanic(), pd.read_csv("released.csv")
    assert list(released.columns) == ["class", "sex"]
    assert len(released) == len(source)
    assert set(released["class"]) <= set(source["class"])


@pytest.mark.slow
def test_from_a_file_to_a_release_by_policy(empty):
    plan, release, verify = commands(POLICY)[-3:]
    recommended, planned = plan.split("\n\n", 1)
    assert recommended.startswith("Recommended: ")
    assert planned.splitlines()[0] == release.splitlines()[0]
    assert release.startswith("HOLDS FOR THE SOURCE")
    assert verify.startswith("VERIFIED (drawn again by its receipt)")
    assert list(pd.read_parquet("released.parquet").columns) == ["cholesterol", "blood_pressure"]
    assert "HOLDS FOR THE SOURCE" in Path("report.html").read_text()


@pytest.mark.slow
def test_a_pipeline_with_a_column_transformer(empty):
    ok, accuracy = script(COLUMNS).split()
    assert ok == "True"
    assert float(accuracy) > 0.6


@pytest.mark.slow
def test_a_whole_table(empty):
    assert script(WHOLE).split() == ["True", "class", "sex", "age"]
    released, source = pd.read_parquet("released.parquet"), sz.datasets.load_titanic()
    assert len(released) == len(source)
    assert all(set(released[name]) <= set(source[name]) for name in released)
    assert "HOLDS FOR THESE ROWS ONLY" in Path("report.html").read_text()


@pytest.mark.slow
def test_a_regression_from_a_release_and_its_channel(empty):
    """Draws are fresh: six standard errors are passed by chance once in 10^8 runs, for four coefficients."""
    commands(OWNER)
    assert sorted(os.listdir()) == ["channel.json", "released.parquet"]
    assert json.loads(Path("channel.json").read_text())["format"] == "sanitize/channel"
    table = script(ANALYST)
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["1st", "2nd", "3rd", "Crew"]
    found = pd.read_csv("coefficients.csv", index_col="name")
    right = sz.analyze.logistic(sz.datasets.load_titanic(), sz.Channel.identity(1), "sex", "class").to_frame()
    assert list(found.index) == list(right.index)
    assert (abs(found["estimate"] - right["estimate"]) < 6 * found["standard_error"]).all()
