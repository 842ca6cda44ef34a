"""Every design says how good it is known to be: in reports, in all their views, and in saved releases."""

from __future__ import annotations

import json

import numpy as np
import pytest
from paper_mechanisms import paper_subset_merging, paper_subset_random_response

import sanitize as sz
from sanitize._util.sealed_text import compute_seal
from sanitize.core.channel import Optimality
from sanitize.errors import InvalidParameter, SourceError
from sanitize.mechanisms import best_subset_merging

OPTIMAL, CUT = Optimality("optimal", 0.0, "mergings"), Optimality("cut short", 0.012345)


def distribution(n_x: int, seed: int = 0) -> sz.JointDistribution:
    cells = np.random.default_rng(seed).random((3, n_x)) + 0.01
    return sz.JointDistribution.from_matrix(cells / cells.sum())


def report_of(optimality: Optimality | None) -> sz.LeakageReport:
    joint = distribution(6)
    return sz.LeakageReport.measure(
        joint, sz.Channel.identity(6).with_optimality(optimality), sz.LiftBudget.symmetric(9)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "n_x", "words"),
    [
        (sz.optimal_random_response, 6, "optimal"),
        (sz.subset_random_response, 6, "optimal"),
        (paper_subset_random_response, 6, "optimal among responses inside its blocks"),
        (sz.subset_merging, 6, "optimal among mergings"),
        (best_subset_merging, 16, "optimal among mergings"),
        (sz.subset_merging, 24, "a heuristic: how far from the best is not known"),
        (lambda joint, budget: sz.subset_merging(joint, budget, effort=1), 24, "cut short: how far from the best is"),
        (paper_subset_merging, 6, "a heuristic"),
        (sz.watchdog, 6, "a heuristic"),
    ],
)
def test_every_searching_mechanism_says_what_it_proved(mechanism, n_x, words):
    assert mechanism(distribution(n_x), 0.2).optimality.words.startswith(words)


@pytest.mark.parametrize("mechanism", [sz.watchdog, sz.subset_merging, paper_subset_merging])
def test_nothing_keeps_more_than_what_releases_everything(mechanism):
    assert mechanism(distribution(20), 50.0).optimality == Optimality("optimal", 0.0)


@pytest.mark.slow
def test_a_response_without_effort_left_is_cut_short_with_a_true_gap():
    joint, budget = distribution(70), sz.LiftBudget.symmetric(0.3)
    early = sz.optimal_random_response(joint, budget, effort=200_000)
    better = sz.optimal_random_response(joint, budget, effort=2_000_000)
    assert early.optimality.status == "cut short"
    assert early.optimality.words.startswith("cut short, within ")
    gain = sz.core.measures.utility(joint, better) - sz.core.measures.utility(joint, early)
    assert gain <= early.optimality.gap


@pytest.mark.parametrize("gap", [1e-9, 0.01, 0.123456, 3.0])
def test_words_never_promise_less_distance_than_the_gap(gap):
    words = Optimality("cut short", gap).words
    assert gap <= float(words.split()[3]) <= 1.02 * gap


def test_a_merging_of_too_many_symbols_has_no_gap_and_a_calibrated_channel_no_optimality():
    assert sz.subset_merging(distribution(24), 0.2).optimality.gap is None
    assert sz.randomized_response(6, 1.0).optimality is None
    assert report_of(None).summary["status"] is None
    assert "design:" not in report_of(None).to_text()


def test_a_channel_keeps_its_optimality_under_other_names_and_loses_it_when_it_is_passed_on():
    channel = sz.subset_merging(distribution(6), 0.2)
    assert channel.renamed(inputs=channel.inputs).optimality == channel.optimality
    assert channel.then(sz.Channel.identity(channel.n_outputs)).optimality is None
    assert sz.Channel.from_json(channel.to_json()) == channel


@pytest.mark.parametrize("optimality", [OPTIMAL, CUT])
def test_every_view_of_the_owner_says_the_optimality(optimality):
    report = report_of(optimality)
    assert f"design: {optimality.words}" in report.to_text()
    assert optimality.words in report.to_html()
    assert "optimality" not in report.to_dict(audience="public")["verdict"]
    shown = report.to_dict()["verdict"]["optimality"]
    assert (shown["status"], shown["words"]) == (optimality.status, optimality.words)
    assert optimality.gap <= shown["gap"] <= 1.001 * optimality.gap
    assert (report.summary["status"], report.summary["gap"]) == (optimality.words, optimality.gap)


def test_a_saved_report_repeats_the_optimality_and_refuses_words_that_contradict_it():
    report = report_of(CUT)
    saved = sz.LeakageReport.from_json(report.to_json())
    assert (saved.summary["status"], saved.summary["gap"]) == (CUT.words, CUT.gap)
    assert saved.to_text() == report.to_text()
    for change in ({"gap": 0.001}, {"status": "optimal"}, {"words": "optimal"}, {"gap": -1.0}, {"status": "best"}):
        document = report.to_dict()
        document["verdict"]["optimality"] |= change
        with pytest.raises(SourceError):
            sz.LeakageReport.from_dict(document)


@pytest.mark.parametrize("min_count", [0, 10])
def test_a_saved_release_carries_the_optimality_of_the_design(min_count):
    df = sz.datasets.load_titanic()
    sanitizer = sz.OptimalRandomResponse(
        sz.LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"], min_count=min_count
    ).fit(df)
    assert sanitizer.report_.summary["status"] == "optimal"
    saved = sz.SavedRelease.of(sanitizer)
    again = sz.SavedRelease.from_json(saved.to_json())
    assert again.summary["status"] == "optimal"
    assert sanitizer.report_.summary["gap"] <= again.summary["gap"] == saved.summary["gap"]


def test_a_saved_release_whose_words_contradict_its_gap_is_refused():
    df = sz.datasets.load_titanic()
    state = json.loads(
        sz.SavedRelease.of(
            sz.Watchdog(sz.LiftBudget.symmetric(0.5), sensitive="survived", public=["class"]).fit(df)
        ).to_json()
    )
    state["optimality"]["words"] = "optimal"
    state["sha256"] = compute_seal(state)
    with pytest.raises(InvalidParameter, match=r"optimality\.words contradict the gap"):
        sz.SavedRelease.from_json(json.dumps(state))
