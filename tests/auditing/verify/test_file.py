"""The bounds on chance behind the checks, false alarms, and damaged files."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats
from verify_cases import failed, merging, release, table

from sanitize.auditing.verify import _rows as distribution
from sanitize.auditing.verify import verify_file
from sanitize.core.channel import Channel
from sanitize.errors import SourceError
from sanitize.transformers import RandomizedResponse


def test_bennett_bounds_the_tail_of_a_binomial():
    for n, p in ((50, 0.1), (400, 0.5), (2000, 0.01)):
        k = np.arange(n + 1)
        away = np.abs(k - n * p)
        exact = np.array([stats.binom.pmf(k[away >= a - 1e-9], n, p).sum() for a in away])
        away, exact = away[exact > 1e-280], exact[exact > 1e-280]
        assert (np.log(exact) <= distribution.log_bennett(away, n * p * (1 - p)) + 1e-9).all()


def test_closed_groups_are_the_components_of_the_support():
    matrix = np.array([[0.5, 0.5, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
    channel = Channel.from_matrix(matrix)
    inputs, outputs = distribution.communicating_groups(channel, np.ones(4, bool))
    assert inputs[0] == inputs[1] == outputs[0] == outputs[1]
    assert len({inputs[0], inputs[2], inputs[3]}) == 3
    inputs, outputs = distribution.communicating_groups(channel, np.array([True, True, True, False]))
    assert outputs[3] == -1
    chain = channel.then(channel.reversed(np.ones(4) / 4))
    inputs, outputs = distribution.communicating_groups(chain, np.ones(4, bool))
    assert [list(inputs).index(g) for g in outputs] == [0, 0, 2, 3]


@pytest.mark.slow
def test_a_damaged_release_is_refused_or_fails_and_nothing_else(tmp_path):
    """One bit of a released file changed, anywhere: an error of the library, or a failed check, or a harmless bit."""
    pq.write_table(table(300), tmp_path / "raw.parquet")
    data = release(tmp_path, merging(), rows="keep").read_bytes()
    rng = np.random.default_rng(9)
    refused = passed = 0
    for _ in range(60):
        broken = bytearray(data)
        broken[int(rng.integers(4, len(broken)))] ^= 1 << int(rng.integers(0, 8))
        (tmp_path / "out.parquet").write_bytes(broken)
        try:
            passed += verify_file(tmp_path / "out.parquet", tmp_path / "raw.parquet", merging(), rows="keep").ok
        except SourceError as error:
            refused += 1
            told = str(error)
            assert "SECRET" not in told
            assert "\n" not in told
    assert refused > 10
    assert passed == 0


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated_when_the_rate_is_large(tmp_path):
    """Of 60 honest releases at a rate of .3; more than 32 would have a chance below 1e-4."""
    pq.write_table(table(300), tmp_path / "raw.parquet")
    sanitizer = RandomizedResponse(1.0, sensitive="illness", public=["town"])
    wrong = []
    for number in range(60):
        target = release(tmp_path, sanitizer, number=number)
        wrong += failed(verify_file(target, tmp_path / "raw.parquet", sanitizer, false_alarm=0.3))
    assert len(wrong) <= 32
    assert set(wrong) <= {"counts", "order"}
