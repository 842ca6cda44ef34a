"""No published artefact has a figure of the table; what is printed for the owner has four digits."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._util.formatting import round_figure
from sanitize.cli import main
from sanitize.core.budgets import LiftBudget
from sanitize.errors import BudgetExceeded
from sanitize.transformers import SubsetMerging

DIGITS = re.compile(r"\d*\.?\d+(?:e-?\d+)?")


@pytest.fixture
def raw(tmp_path):
    rng = np.random.default_rng(0)
    s = rng.random(1009) < 0.37
    x = np.where(rng.random(1009) < 0.3, s, rng.integers(0, 4, 1009))
    place = tmp_path / "raw.parquet"
    pq.write_table(pa.table({"s": s.astype(str), "x": x.astype(str)}), place)
    return place


def significant(text: str) -> int:
    digits = re.sub(r"e.*", "", text).replace(".", "").lstrip("0").rstrip("0")
    return len(digits)


def test_figures_are_rounded_in_one_place():
    assert round_figure(0.123456789) == 0.1235
    assert round_figure("-inf") == "-inf"
    assert round_figure(None) is None
    assert round_figure(-1e-30 * 0) == 0.0


def test_the_footer_of_a_released_file_has_no_figure_and_is_verified(raw, tmp_path):
    target = tmp_path / "out.parquet"
    sz.release_file(raw, target, SubsetMerging(LiftBudget.symmetric(0.2), sensitive="s", public="x"))
    told = json.loads(pq.read_metadata(target).metadata[b"sanitize"])
    assert told == {
        "sanitize": sz.__version__,
        "format": 1,
        "mechanism": "subset merging",
        "budget": "LiftBudget(lower=0.2, upper=0.2)",
        "within_budget": True,
        "rows": "shuffle",
    }
    assert sz.verify_file(target, raw, SubsetMerging(LiftBudget.symmetric(0.2), sensitive="s", public="x")).ok


def test_public_views_have_the_numbers_of_the_limit_and_no_others(raw, tmp_path, capsys):
    arguments = ["-s", "s", "-x", "x", "--audience", "public", "--lower", "0.2", "--upper", "0.2"]
    for extra in ([], ["--json"]):
        assert main(["plan", str(raw), *arguments, *extra]) == 0
    assert main(["plan", str(raw), *arguments, "--report", str(tmp_path / "page.html")]) == 0
    page = re.sub(r"<style.*?</style>", "", (tmp_path / "page.html").read_text(), flags=re.DOTALL)
    for text in (capsys.readouterr().out, re.sub(r"<[^>]*>", " ", page).replace("&#39;", "'")):
        numbers = set(DIGITS.findall(text.replace(sz.__version__, "").replace("LIP", "")))
        # Of the limit, the rule of ten rows and versions.
        assert numbers <= {"0.2", "0.818", "1.23", "10", "1"}


def test_an_error_on_standard_error_has_four_digits():
    joint = sz.JointDistribution.from_matrix(np.array([[371, 101], [207, 330]]) / 1009)
    with pytest.raises(BudgetExceeded) as caught:
        sz.LeakageReport.measure(joint, sz.Channel.identity(2), sz.LiftBudget(lower=0.1, upper=0.1)).require()
    excess = re.search(r"by ([\d.]+) nats", str(caught.value))
    assert excess is not None
    assert significant(excess[1]) <= 4
