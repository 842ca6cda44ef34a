"""What k releases with fresh noise tell together: against all their sequences, their limit, and the slowest pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

import sanitize as sz
from sanitize.core import measures
from sanitize.core import repeats as _repeats
from sanitize.core.repeats import repeated_information, repeats_needed
from sanitize.errors import InvalidParameter
from sanitize.over_time._joint_distribution import _repeats as repeats_in_words

SLOW = (
    sz.JointDistribution.from_matrix([[0.45, 0.05, 0.01, 0.01], [0.05, 0.41, 0.01, 0.01]]),
    sz.Channel.from_matrix(
        [[0.9, 0.05, 0.05, 0], [0.05, 0.9, 0.05, 0], [0.1, 0.1, 0.4, 0.4], [0.1, 0.1, 0.399, 0.401]]
    ),
)


@settings(max_examples=settings.default.max_examples // 3)
@given(strategies.joints_and_channels(), st.integers(1, 3))
def test_it_is_the_information_of_all_sequences(case, k):
    joint, channel = case
    matrix = channel.matrix
    of_all = [np.prod([matrix[:, y] for y in ys], axis=0) for ys in itertools.product(range(matrix.shape[1]), repeat=k)]
    together = joint.pmf @ np.stack(of_all, axis=1)
    together = together[:, together.sum(axis=0) > 0]
    expected = sz.mutual_information(sz.JointDistribution.from_matrix(together / together.sum()))
    assert repeated_information(joint, channel, k) == pytest.approx(expected, abs=1e-9)
    assert expected <= repeated_information(joint, channel, math.inf) + 1e-9


def test_merged_symbols_are_told_apart_by_no_number_of_releases():
    joint = sz.JointDistribution.from_matrix([[0.2, 0.05, 0.15, 0.1], [0.05, 0.2, 0.15, 0.1]])
    merged = sz.Channel.from_matrix([[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]])
    assert repeated_information(joint, merged, math.inf) == pytest.approx(0, abs=1e-12)
    assert repeats_needed(joint, merged) is None
    half = sz.Channel.from_matrix([[0.7, 0.3], [0.3, 0.7], [0.5, 0.5], [0.5, 0.5]])
    assert repeated_information(joint, half, math.inf) == pytest.approx(sz.mutual_information(joint), abs=1e-12)


def test_the_slowest_pair_does_not_decide():
    """Two rare symbols take 3.7 million to be told apart in 19 of 20 cases; four tell the secret."""
    joint, channel = SLOW
    rows = channel.matrix[2:]
    assert math.log(10) / -math.log(np.sqrt(rows[0] * rows[1]).sum()) > 3e6
    assert repeats_needed(joint, channel) <= 4
    k = repeats_needed(joint, channel, 0.97)
    limit = repeated_information(joint, channel, math.inf)
    assert repeated_information(joint, channel, k - 1) < 0.97 * limit <= repeated_information(joint, channel, k)


def test_draws_give_what_counting_gives(monkeypatch):
    """Four standard errors of 4,096 draws of a figure of at most log 2: a false alarm of 1 in 10,000."""
    for joint, channel in (SLOW, (sz.datasets.make_joint(6, 2, random_state=1), sz.randomized_response(6, 2.0))):
        for k in (2, 7):
            exact = repeated_information(joint, channel, k)
            with monkeypatch.context() as patch:
                patch.setattr(_repeats, "_MOST_COUNTS", 0)
                drawn = repeated_information(joint, channel, k)
                assert drawn == repeated_information(joint, channel, k)
            assert drawn != exact
            assert drawn == pytest.approx(exact, abs=4 * 0.35 / 64)


def test_large_channels_end_and_wrong_parameters_are_refused(monkeypatch):
    joint = sz.datasets.make_joint(150, 3, random_state=0)
    assert 1 < repeats_needed(joint, sz.randomized_response(150, 2.0)) < 10**6
    for k in (0, 0.5, 2.5, math.nan, "1"):
        with pytest.raises(InvalidParameter, match="n_releases must"):
            repeated_information(*SLOW, k)
    with pytest.raises(InvalidParameter, match="share must lie between 0 and 1"):
        repeats_needed(*SLOW, 1.0)
    monkeypatch.setattr(measures, "CHANNEL_CELLS", 15)
    with pytest.raises(InvalidParameter, match="4 symbols are too many"):
        repeats_needed(*SLOW)


class TestInALedger:
    def report(self, tmp_path, channel_of):
        table = sz.datasets.load_titanic()
        ledger = sz.Ledger(tmp_path / "rows.ledger", sz.LiftBudget(lower=3, upper=2))
        return ledger.record(table, channel_of.fit(table))

    def test_it_says_how_many_reveal_most_of_what_any_number_reveals(self, tmp_path):
        response = sz.RandomizedResponse(2.0, sensitive="survived", public=["class", "sex"])
        report = self.report(tmp_path, response)
        section = next(part for part in report.sections if part.name == "repeats")
        joint = sz.JointDistribution.from_frame(sz.datasets.load_titanic(), "survived", ["class", "sex"])
        n = sz.core.repeats.repeats_needed(joint, sz.randomized_response(8, 2.0))
        assert f"About {n} of them together" in section.words
        assert "100% of the information" in section.words
        assert all(len(line) <= 80 and not line.endswith("…") for line in report.to_text().splitlines())

    def test_what_is_merged_is_not_averaged_away(self, tmp_path):
        """One row for all symbols but the crew: the limit is what being of the crew reveals."""
        merged = sz.SubsetMerging(sz.LiftBudget(lower=0.4, upper=0.4), sensitive="survived", public=["class", "sex"])
        table = sz.datasets.load_titanic()
        fitted = merged.fit(table)
        noisy = fitted.channel_.then(sz.randomized_response(fitted.channel_.n_outputs, 1.0))
        distribution = sz.JointDistribution.from_frame(table, "survived", ["class", "sex"])
        words = repeats_in_words(distribution, noisy)
        limit = sz.mutual_information(distribution.push(fitted.channel_)) / sz.mutual_information(distribution)
        assert limit < 0.9
        assert f"{limit:.0%} of the information" in words

    def test_what_tells_nothing_is_said_to(self):
        joint = sz.JointDistribution.from_matrix([[0.2, 0.05, 0.15, 0.1], [0.05, 0.2, 0.15, 0.1]])
        alike = sz.Channel.from_matrix([[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]])
        assert repeats_in_words(joint, alike).startswith("However many of them there are")

    def test_without_noise_there_is_nothing_to_average(self, tmp_path):
        budget = sz.LiftBudget(lower=1.0, upper=0.7)
        report = self.report(tmp_path, sz.SubsetMerging(budget, sensitive="survived", public="class"))
        assert all(part.name != "repeats" for part in report.sections)
