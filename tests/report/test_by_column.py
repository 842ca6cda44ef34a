"""What is kept of each column: the chain rule, and the numbers of a channel that is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from strategies import joints

import sanitize as sz
from sanitize.report import kept_by_column


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
