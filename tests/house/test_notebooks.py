"""The notebooks run, and a number computed in each is what it should be."""

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

# What the cell tagged `check` must find.
EXPECTED = {
    "first_release": {
        "max log-lift before": pytest.approx(1.2841, abs=1e-4),
        "max log-lift after": pytest.approx(0.4631, abs=1e-4),
        "share of information kept": pytest.approx(0.8971, abs=1e-4),
    },
    "parquet_release": {
        "plan equals release": True,
        "within budget": True,
        "information kept": pytest.approx(0.8706, abs=1e-4),
        "unlisted column stops": True,
        "row order refused, nothing left": True,
        "release verified": True,
        "fake verified": False,
    },
    "pipeline_classifier": {
        "accuracy, raw": pytest.approx(0.776, abs=0.01),
        "accuracy, released": pytest.approx(0.778, abs=0.02),
        "largest log-lift, raw": pytest.approx(0.8074, abs=1e-4),
        "largest log-lift, released": pytest.approx(0.7970, abs=1e-3),
        "mutual information, raw": pytest.approx(0.1256, abs=1e-4),
        "mutual information, released": pytest.approx(0.1107, abs=1e-3),
        "the search chose a loose budget": True,
    },
    "twelve_months": {
        "every month by itself is within its budget": True,
        "all months together are, by unit": True,
        "releases recorded": 12,
        "the same by counting": True,
        "adversary of twelve raw months": pytest.approx(0.81, abs=0.02),
        "of new noise": pytest.approx(0.75, abs=0.02),
        "by unit": pytest.approx(0.635, abs=0.025),
        "kept in the first month": pytest.approx(0.90, abs=0.02),
        "kept in the last": pytest.approx(0.51, abs=0.05),
    },
    "when_guarantees_fail": {
        "share over the budget in truth": [1.0, 1.0, 1.0, 1.0],
        "the pair is within the budget": False,
        "the tuple is within the budget": True,
        "one release is within its budget": True,
        "two are": False,
        "same key, same rows": True,
        "robust designs over the budget in truth": [0.0, 0.0, 0.0],
        "JointRelease is within the budget": True,
        "the ledger refuses the second release": True,
    },
    "whole_table": {
        "within the budget": True,
        "states": ["rows", "source"],
        "mean kept, these rows": pytest.approx(0.44, abs=0.02),
        "the source keeps less": True,
        "adversary, raw": pytest.approx(0.76, abs=0.02),
        "adversary, released": pytest.approx(0.63, abs=0.03),
        "analyst, raw": pytest.approx(0.82, abs=0.02),
        "analyst, released": pytest.approx(0.81, abs=0.02),
        "verdicts on the files": ["refuted", "refuted", "not refuted"],
    },
}


def test_every_notebook_has_expected_numbers():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(EXPECTED)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_notebook_runs_and_finds_its_numbers(name, monkeypatch):
    # The kernel of this very environment, without frozen-module chatter from its debugger.
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    (cell,) = [cell for cell in notebook.cells if "check" in cell.metadata.get("tags", [])]
    found = ast.literal_eval(cell.outputs[-1]["data"]["text/plain"])
    assert found == EXPECTED[name]
