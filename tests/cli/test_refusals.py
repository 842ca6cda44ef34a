"""What looks like protection and is none: refused, or said, before anything is written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.cli import main
from sanitize.errors import InvalidBudget, NothingToProtect, ReleaseWarning
from sanitize.report._saved import SavedReport

RNG = np.random.default_rng(0)
ILL = RNG.permutation(["A"] * 220 + ["B"] * 124 + ["C"] * 56)
DF = pd.DataFrame({"ill": ILL, "age": RNG.integers(0, 100, 400), "town": ["u", "v"] * 200})
TWICE = sz.LiftBudget(at_most=2, at_least=0.5)


# ------------------------------------------------------------------------------------ one value in all rows


@pytest.mark.parametrize(
    ("sensitive", "settings"),
    [("age", {"bins": {"age": [0, 100]}}), ("ill", {"bins": {"ill": {"any": ["A", "B", "C"]}}}), ("one", {})],
)
def test_a_sensitive_column_of_one_value_is_nothing_to_protect(sensitive, settings):
    sanitizer = sz.SubsetMerging(TWICE, sensitive=sensitive, public="town", **settings)
    with pytest.raises(NothingToProtect, match=f"NOTHING TO PROTECT: '{sensitive}' has one class") as refusal:
        sanitizer.fit(DF.assign(one=1))
    report = refusal.value.report
    assert (report.state, report.ok) == ("nothing", False)
    assert report.to_text().startswith("NOTHING TO PROTECT")
    assert SavedReport.from_json(report.to_json()).state == "nothing"
    assert SavedReport.from_json(report.to_json(audience="public")).state == "nothing"


def test_nothing_to_protect_is_code_1_and_no_file(tmp_path, capsys):
    DF.to_parquet(tmp_path / "raw.parquet")
    asked = [str(tmp_path / "raw.parquet"), "-s", "age", "-x", "town", "--at-most", "2", "--at-least", "0.5"]
    for command in (["release", *asked, "-o", str(tmp_path / "out.parquet")], ["plan", *asked]):
        assert main([*command, "--bins", "age=0,100"]) == 1
        told = capsys.readouterr()
        assert "NOTHING TO PROTECT" in told.err
        assert "HOLDS" not in told.out
    assert [path.name for path in tmp_path.iterdir()] == ["raw.parquet"]


def test_one_value_may_be_audited():
    assert sz.audit(DF.assign(one=1), sensitive="one", public="town").state == "audit"


# ------------------------------------------------------------------------------------------- one edge


@pytest.mark.parametrize(("column", "edge"), [("age", 50), ("born", "1950-01-01")])
def test_one_edge_means_two_groups(column, edge):
    rows = DF.assign(born=pd.Timestamp("2000-01-01") - pd.to_timedelta(365 * DF["age"], "D"))
    groups = {f"below {edge}", f"{edge} and above"}
    sanitizer = sz.SubsetMerging(TWICE, sensitive=column, public="town", bins={column: [edge]}).fit(rows)
    assert set(sanitizer._joint.sensitive.symbols) == groups
    loose = sz.LiftBudget(at_most=100, at_least=0.01)
    released = sz.SubsetMerging(loose, sensitive="ill", public=column, bins={column: [edge]}).fit_transform(rows)
    assert set(released[column]) == groups


def test_one_edge_in_a_policy_and_on_the_command_line(tmp_path, capsys):
    DF.to_parquet(tmp_path / "raw.parquet")
    asked = ["plan", str(tmp_path / "raw.parquet"), "-s", "age", "-x", "town", "--at-most", "2", "--at-least", "0.5"]
    assert main([*asked, "--bins", "age=50"]) == 0
    capsys.readouterr()


# ---------------------------------------------------------------------------------- limits that allow certainty


@pytest.mark.parametrize(
    ("limit", "shares"),
    [((1.5, 0), None), ((2, 0), "55 %"), ((4, 0), "55 %, 31 %"), ((4, 0.1), None), ((20, 0), "55 %, 31 %, 14 %")],
)
def test_a_limit_that_allows_certainty_says_the_shares(limit, shares):
    budget = sz.LiftBudget(at_most=limit[0], at_least=limit[1])
    report = sz.SubsetMerging(budget, sensitive="ill", public="town").fit(DF).report_
    told = [note for note in report.facts.warnings if note.startswith("the limit allows certainty")]
    if shares is None:
        assert not told
    else:
        assert f"a sensitive value that {shares} of the rows have" in told[0]


# ------------------------------------------------------------------------------------------- bare numbers


@pytest.mark.parametrize(
    "kind",
    [sz.SubsetMerging, sz.Watchdog, sz.OptimalRandomResponse, sz.SubsetRandomResponse, sz.LatentClassRelease,
     sz.BestSanitizer],
)  # fmt: skip
def test_a_bare_number_is_no_budget(kind):
    words = r"LiftBudget\(at_most=2, at_least=0\.5\), in times.*LiftBudget\(lower=0\.69, upper=0\.69\), in nats"
    with pytest.raises(InvalidBudget, match=words):
        kind(2, sensitive="ill", public="town").fit(DF)


def test_a_bare_number_is_no_budget_of_a_frame_method_or_a_part():
    methods = sz.frames.FrameMethods(DF)
    with pytest.raises(InvalidBudget, match="does not say its unit"):
        methods.subset_merging(2, sensitive="ill", public="town")
    kind = sz.SubsetMerging
    parts = [("p", kind(2, public="town"))]
    with pytest.raises(InvalidBudget, match="does not say its unit"):
        sz.JointRelease(parts, TWICE, sensitive="ill").fit(DF)
    assert methods.randomized_response(2, sensitive="ill", public="town") is not None  # a level in nats


# ------------------------------------------------------------------------------------------ y beside nobody's rows


def test_y_next_to_generated_rows_warns():
    rows, y = DF.drop(columns="ill"), DF["age"] > 50
    with pytest.warns(ReleaseWarning, match="y does not belong to generated rows"):
        sz.LatentClassRelease(TWICE).fit(rows, y, sensitive_features=DF["ill"])
    sz.LatentClassRelease(TWICE).fit(rows, sensitive_features=DF["ill"])
    sz.SubsetMerging(TWICE, public="town").fit(rows, y, sensitive_features=DF["ill"])
