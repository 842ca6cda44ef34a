"""The notebooks run, and a number computed in each is what it should be."""

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"

# What the cell tagged `check` must find. Drawn laws are few, so utilities have the room of their standard error.
EXPECTED = {
    "first_release": {
        "max log-lift before": pytest.approx(1.2841, abs=1e-4),
        "max log-lift after": pytest.approx(0.4458, abs=1e-4),
        "share of information kept": pytest.approx(0.8883, abs=1e-4),
    },
    "lift_paper_figures": {
        "complete merging, printed 0.52": pytest.approx(0.527, abs=0.05),
        "subset merging, printed 0.83": pytest.approx(0.835, abs=0.02),
        "every lift within its budget": True,
    },
}


def test_every_notebook_has_expected_numbers():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(EXPECTED)


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
