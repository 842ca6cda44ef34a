"""The line that says what a report counts: this release alone, or all that a ledger has."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.errors import LedgerExceeded, SourceError
from sanitize.release.saved import SavedRelease
from sanitize.transformers import LatentClassRelease, SecretDP, SubsetMerging, Watchdog

DF = sz.datasets.load_titanic()
BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)
ALONE = "This covers this release only; further releases of the same rows add to it."
SHORT = 80  # columns of a terminal: one line


def merging(public="class"):
    return SubsetMerging(BUDGET, sensitive="survived", public=public)


def in_every_view(report, words):
    """One line of each view of both audiences, live and read back."""
    assert len(words) <= SHORT
    for audience in ("internal", "public"):
        document = report.to_dict(audience=audience)
        assert document["verdict"]["alone"] == words
        again = sz.LeakageReport.from_dict(json.loads(json.dumps(document)))
        for view in (report, again):
            assert view.to_text(audience=audience).splitlines().count(words) == 1
            page = view.to_html(audience=audience)
            assert page.count("<li>This covers") == page.count(words.replace("'", "&#39;")) == 1
    return True


def test_a_release_counts_itself_alone():
    assert in_every_view(merging().fit(DF).report_, ALONE)
    assert in_every_view(
        Watchdog(LiftBudget.symmetric(0.5), sensitive="survived", public="sex", confidence=0.9).fit(DF).report_, ALONE
    )


def test_so_does_one_that_is_refused():
    report = sz.LeakageReport.measure(
        sz.JointDistribution.from_frame(DF, "survived", "sex"), sz.Channel.identity(2), sz.LDPBudget(0.1)
    )
    assert report.state == "refused"
    assert in_every_view(report, ALONE)


def test_an_audit_counts_its_columns():
    words = "This covers these columns only; other releases of the same rows add to it."
    assert in_every_view(sz.audit(DF, sensitive="survived", public=["class", "sex"]), words)


def test_differential_privacy_adds_up_by_fits():
    secret_dp = SecretDP(1.0, 1e-6, {"survived": ["No", "Yes"]})
    noisy = LatentClassRelease(
        LiftBudget.symmetric(1.0), sensitive="survived", confidence=0.9, secret_dp=secret_dp, n_classes=2
    )
    words = "This covers this release only; eps and delta of all fits of these rows add up."
    assert in_every_view(noisy.fit(DF).report_, words)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_with_a_ledger_the_line_is_what_the_ledger_says(tmp_path, suffix):
    DF.to_parquet(tmp_path / "raw.parquet")
    ledger = sz.Ledger(tmp_path / "book", BUDGET)
    for number in (1, 2):
        target = tmp_path / f"{number}{suffix}"
        report = sz.release_file(tmp_path / "raw.parquet", target, merging(), ledger=ledger)
        words = f"This covers this release only; all {number} in its ledger are within its limit."
        assert in_every_view(report, words)
    together = ledger.check(DF, merging().fit(DF))
    assert in_every_view(together, "This covers all 3 releases in the ledger; one that is not recorded adds to them.")
    with pytest.raises(LedgerExceeded) as refused:
        ledger.check(DF, merging(["class", "sex"]).fit(DF))
    assert refused.value.report.to_dict()["verdict"]["alone"].startswith("This covers all 3 ")


def test_workers_say_what_the_ledger_says(tmp_path):
    dask = pytest.importorskip("sanitize.engines.dask")
    DF.to_parquet(tmp_path / "raw.parquet")
    ledger = sz.Ledger(tmp_path / "book", BUDGET)
    ledger.record(DF, merging().fit(DF))
    report = dask.release_file(tmp_path / "raw.parquet", tmp_path / "parts", merging(), ledger=ledger)
    assert "all 2 in its ledger" in report.to_text()


def test_new_rows_through_a_saved_release_count_alone(tmp_path):
    saved = SavedRelease.of(merging().fit(DF))
    for columns in (["class"], ["class", "survived"]):
        source = tmp_path / f"{len(columns)}.parquet"
        pd.DataFrame(DF[columns]).to_parquet(source)
        report = sz.release_file(source, tmp_path / f"{len(columns)}-released.parquet", saved)
        assert report.to_text().splitlines().count(ALONE) == 1
        assert report.to_dict()["alone"] == ALONE


def test_the_line_of_a_saved_report_follows_from_its_figures():
    document = merging().fit(DF).report_.to_dict()
    document["verdict"]["alone"] = "Counts everything there is."
    with pytest.raises(SourceError, match="headline contradicts"):
        sz.LeakageReport.from_dict(document)


def test_a_hostile_report_that_names_a_ledger_counts_nothing():
    report = merging().fit(DF).report_
    named = replace(report, facts=replace(report.facts, mechanism="ledger"))
    assert named.to_dict()["verdict"]["alone"] == ALONE
