"""What is kept of each column: the chain rule, and the numbers of a channel that is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import joints

import sanitize as sz
from sanitize.report import column_laws, kept_by_column


@given(joints())
def test_symbols_that_are_one_column_keep_what_the_release_keeps(joint):
    channel = sz.Channel.merge(np.arange(len(joint.public)) // 2)
    kept = kept_by_column({"x": np.diag(joint.p_x)}, channel)["x"]
    available = sz.measures.entropy(joint.p_x)
    assert kept * available == pytest.approx(sz.measures.utility(joint, channel), abs=1e-9)


def test_half_of_a_bit_passes_the_erasure_channel():
    law = {"x": np.eye(2) / 2}
    erased = sz.Channel.from_matrix([[0.5, 0, 0.5], [0, 0.5, 0.5]])
    assert kept_by_column(law, erased)["x"] == pytest.approx(0.5)
    flipped = sz.Channel.from_matrix([[0.9, 0.1], [0.1, 0.9]])
    lost = -(0.9 * math.log2(0.9) + 0.1 * math.log2(0.1))
    assert kept_by_column(law, flipped)["x"] == pytest.approx(1 - lost)


@given(joints(), st.integers(2, 4))
def test_both_ways_to_the_shares_agree(joint, n_groups):
    """The tuples' own reduced law, for every report, and laws of columns that are given, for trees."""
    places = np.arange(len(joint.public))
    tuples = sz.alphabet.Alphabet(("a", "b"), tuple((f"a{i // 2}", f"b{i % 2}") for i in places))
    joint = sz.JointDistribution(joint.pmf, joint.sensitive, tuples)
    k = min(n_groups, len(places))
    noisy = sz.Channel.from_matrix(0.7 * np.eye(k) + 0.3 / k)
    channel = sz.Channel.merge(places % k, tuples).then(noisy)
    report = sz.LeakageReport.measure(joint, channel)
    kept = kept_by_column(column_laws(joint), channel)
    assert {one.column: one.share for one in report.kept} == pytest.approx(kept, abs=1e-12)
