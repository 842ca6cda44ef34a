"""The figures of the papers that are drawn by a script: what each finds is what it should be, and its page shows it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOUND = {
    "wyz_figure_2": {"program - h⁻¹ left of the threshold": 0.0, "program - closed form": 0.0},
    "zb_figure_3": {"largest difference from a closed form": 0.0},
    "zb_figure_4": {"DP": 0.5, "(ε, 0.1)-DP": 0.45, "maximal leakage": 0.5},
    "wxh_corollary_6": {"exact / printed noise at ε = 1": pytest.approx(0.4855, abs=1e-4)},
    "cy_conversions": {
        "I from 1-DP": pytest.approx(0.1233, abs=1e-4),
        "least gap of I": pytest.approx(8.422e-4, rel=1e-3),
        "KL - bound": pytest.approx(0.0, abs=1e-12),
    },
    "privacy_funnel": {
        "a heuristic keeps more": False,
        "largest gap": pytest.approx(1e-4, rel=0.2),
        "every lift and its inverse ≤ e^ε: share of the funnel at ε = 0.2": 0.93,
        "every lift ≤ e^ε: share of the funnel at ε = 0.2": 0.9,
    },
}


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("matplotlib").use("agg")
    spec = importlib.util.spec_from_file_location("papers", DOCS / "pictures" / "papers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow(sampled=False)] * (name == "privacy_funnel")) for name in FOUND]
)
def test_a_figure_finds_what_it_should(script, name):
    assert {draw.__name__ for draw in script.FIGURES} == set(FOUND)
    figure, found = getattr(script, name)()
    assert found == FOUND[name]
    assert figure.axes


def test_every_figure_is_on_the_page():
    page = (DOCS / "theory" / "figures.md").read_text(encoding="utf-8")
    assert all(f"(../pictures/{name}.svg)" in page and (DOCS / "pictures" / f"{name}.svg").exists() for name in FOUND)
