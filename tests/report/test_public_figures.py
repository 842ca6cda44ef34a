"""No published artefact has all digits of a figure: they would give the counts away."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._formatting import rounded
from sanitize.cli import main
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
    assert rounded(0.123456789) == 0.1235
    assert rounded("-inf") == "-inf"
    assert rounded(None) is None
    assert rounded(-1e-30 * 0) == 0.0


def test_the_footer_of_a_released_file_has_four_digits(raw, tmp_path):
    target = tmp_path / "out.parquet"
    report = sz.release_file(raw, target, SubsetMerging(0.2, sensitive="s", public="x"))
    told = json.loads(pq.read_metadata(target).metadata[b"sanitize"])
    exact = report.summary
    for name in ("max_log_lift", "min_log_lift", "normalized_utility"):
        assert significant(str(abs(float(told[name])))) <= 4
        assert float(told[name]) == pytest.approx(exact[name], rel=1e-3)
    assert told["max_log_lift"] != exact["max_log_lift"]
    assert sz.verify_file(target, raw, SubsetMerging(0.2, sensitive="s", public="x")).ok


def test_public_views_and_errors_have_four_digits(raw, tmp_path, capsys):
    arguments = ["-s", "s", "-x", "x", "--audience", "public"]
    for extra in ([], ["--json"]):
        assert main(["plan", str(raw), *arguments, "-e", "0.2", *extra]) == 0
    assert main(["plan", str(raw), *arguments, "-e", "0.2", "--report", str(tmp_path / "page.html")]) == 0
    shown = capsys.readouterr().out
    version = json.loads(shown[shown.index("{") : shown.rindex("}") + 1])["library_version"]
    assert all(significant(found) <= 4 for found in DIGITS.findall(shown.replace(version, "")))
    assert "curve" not in shown
    page = re.sub(r"<style.*?</style>", "", (tmp_path / "page.html").read_text(), flags=re.DOTALL)
    texts = re.sub(r"<[^>]*>", " ", page).replace(version, "")
    assert all(significant(found) <= 4 for found in DIGITS.findall(texts))


def test_an_error_on_standard_error_has_four_digits():
    joint = sz.JointDistribution.from_matrix(np.array([[371, 101], [207, 330]]) / 1009)
    with pytest.raises(BudgetExceeded) as caught:
        sz.LeakageReport.measure(joint, sz.Channel.identity(2), sz.LiftBudget(lower=0.1, upper=0.1)).require()
    excess = re.search(r"by ([\d.]+) nats", str(caught.value))
    assert excess is not None
    assert significant(excess[1]) <= 4
