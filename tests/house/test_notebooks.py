"""The notebooks run, and a number computed in each is what it should be."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

# What the names of a notebook must be at its end, by expressions: readers are spared a list of checks.
EXPECTED = {
    "parquet_release": {
        "plan.summary == report.summary": True,
        'report.ok and summary["within_budget"]': True,
        'report.summary["normalized_utility"]': pytest.approx(0.8706, abs=1e-4),
        "stopped": True,  # by a column that is not listed
        "refused and nothing_left": True,  # of rows in order
        "found.ok": True,
        "fake.ok": False,
    },
    # All of it is seeded, so nothing is left to chance; the room is for other versions of libraries.
    "patients_and_visits": {
        "by_row.report_.ok": True,
        'times["row by row"][0] < 0.37 and times["row by row"][-1] > 1.65': True,  # of a person it is not
        "units.report_.ok": True,
        "[symbol_times.min(), symbol_times.max()] == approx(in_report)": True,  # by counting
        '[auc[name] for name in ("raw", "row by row", "by person")]': pytest.approx([0.751, 0.739, 0.528], abs=0.01),
        'times["row by row"][[0, -1]].tolist()': pytest.approx([0.09, 2.76], abs=0.15),
        "symbol_times.max()": pytest.approx(1.21, abs=0.05),
        '[analyst[name] for name in ("raw", "by person")]': pytest.approx([0.846, 0.841], abs=0.01),
        "apart.mean() < 0.01": True,  # what follows what
        '[number[name].mean() for name in ("raw", "by person")]': pytest.approx([5.37, 5.36], abs=0.1),
        "len(ledger)": 4,
        "quarters[-1].ok": True,
        "0.37 <= told.min() and told.max() <= 1.65": True,  # counted again
        "[kept[0], kept[-1]]": pytest.approx([1.0, 0.31], abs=0.05),
    },
    "pipeline_classifier": {
        'accuracy["raw columns"]': pytest.approx(0.776, abs=0.01),
        'accuracy["released columns"]': pytest.approx(0.778, abs=0.02),
        'accuracy["released columns"] > accuracy["always the majority"] + 0.05': True,
        'abs(accuracy["released columns"] - accuracy["raw columns"]) < 0.02': True,
        'curve["I(S;Y) in nats"].is_monotonic_increasing': True,
        "report.ok": True,
        'before.summary["max_log_lift"]': pytest.approx(0.8074, abs=1e-4),
        'report.summary["max_log_lift"]': pytest.approx(0.7970, abs=1e-3),
        'before.summary["mutual_information"]': pytest.approx(0.1256, abs=1e-4),
        'report.summary["mutual_information"]': pytest.approx(0.1107, abs=1e-3),
        "chosen.upper >= 1.0": True,  # the search chose a loose budget
    },
    "twelve_months": {
        "all(verdicts)": True,
        "reports[-1].ok": True,
        "len(units)": 12,
        "[len(counted), counted.min(), counted.max()] == approx("
        "[reports[-1].n_groups - 1, reports[-1].least_log_lift, reports[-1].largest_log_lift])": True,
        'auc["the raw tables"][-1]': pytest.approx(0.81, abs=0.02),
        'auc["new noise each month"][-1]': pytest.approx(0.75, abs=0.02),
        'auc["by unit"][-1]': pytest.approx(0.635, abs=0.025),
        "kept[0]": pytest.approx(0.90, abs=0.02),
        "kept[-1]": pytest.approx(0.51, abs=0.05),
    },
    "when_guarantees_fail": {
        '(nominal["share over it in truth"] >= 0.5).all()': True,
        'nominal["reports within budget"].all()': True,
        'nominal["median excess"].iloc[1:].is_monotonic_decreasing': True,
        "budget.excess(pair).max() <= 1e-9": False,
        "together.report_.ok": True,
        'repeated["excess"].loc[1] <= 0': True,
        'repeated["excess"].loc[2] <= 0': False,
        'repeated["largest log-lift"].is_monotonic_increasing': True,
        "same": True,  # one key draws the same rows again
        'robust["share over it in truth"].tolist()': [0.0, 0.0, 0.0],
        "parts.report_.ok": True,
        "refused": True,  # by the ledger, of a second release
    },
    "whole_table": {
        "report.ok and careful_report.ok": True,
        "[str(report.state), str(careful_report.state)]": ["rows", "source"],
        "mean_kept(report)": pytest.approx(0.32, abs=0.03),
        "mean_kept(careful_report) < mean_kept(report)": True,
        "adversary_raw[2]": pytest.approx(0.76, abs=0.02),
        'views["adversary: who is ill"][1][2]': pytest.approx(0.66, abs=0.03),
        '[found[2] for found in views["analyst: who was satisfied"]]': pytest.approx([0.82, 0.81], abs=0.02),
        "[judgement.promised for judgement in judged.values()]": ["refuted", "not refuted"],
    },
}


def looked_at(expressions):
    """A cell that prints what they are, and what it prints is read by `json.loads`."""
    listed = f"[{', '.join(expressions)}]"
    return f"import json\nfrom pytest import approx\nprint(json.dumps({listed}, default=lambda value: value.item()))"


def test_every_notebook_has_expected_numbers():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(EXPECTED)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow(sampled=False)] * (name != "parquet_release")) for name in EXPECTED],
)
def test_notebook_runs_and_finds_its_numbers(name, monkeypatch):
    # Here, since every worker loads this file, and one runs it.
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install --group pages")
    client = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install --group pages")

    # The kernel of this very environment, without frozen-module chatter from its debugger.
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(looked_at(EXPECTED[name])))
    client.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    # What is printed may come in several pieces: a kernel sends what it has whenever its clock says so.
    found = json.loads("".join(piece["text"] for piece in notebook.cells[-1].outputs if piece.get("name") == "stdout"))
    assert dict(zip(EXPECTED[name], found, strict=True)) == EXPECTED[name]
