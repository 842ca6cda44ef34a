"""Planted faults of a release are found by the check against its report."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from attack_cases import N_X, keep_or_draw, report_of, table
from hypothesis import given
from hypothesis import strategies as st

import sanitize as sz
from sanitize.auditing import attack
from sanitize.auditing.attack._check import _kl
from sanitize.errors import InvalidParameter
from sanitize.report import LeakageReport


def off_by_one(df, y, rng):
    return pd.DataFrame({"x": (y + 1) % N_X})


def wrong_alphabet_size(df, y, rng):
    """The channel was built for one symbol less, and the last one passes as it is."""
    x = df["x"].to_numpy()
    small = keep_or_draw(N_X - 1, 0.4).sample(np.minimum(x, N_X - 2), rng=1)
    return pd.DataFrame({"x": np.where(x == N_X - 1, x, small)})


def unprotected_last(df, y, rng):
    x = df["x"].to_numpy()
    return pd.DataFrame({"x": np.where(x == N_X - 1, x, y)})


def sensitive_left(df, y, rng):
    return pd.DataFrame({"x": y, "note": df["s"].to_numpy()})


def sensitive_in_disguise(df, y, rng):
    """S is not left in so many words: a kept number depends on it."""
    return pd.DataFrame({"x": y, "score": rng.normal(df["s"].to_numpy(), 1.0)})


def reads_another_row(df, y, rng):
    """The sampler draws from the row of the next input symbol."""
    return pd.DataFrame({"x": keep_or_draw(N_X, 0.4).sample((df["x"].to_numpy() + 1) % N_X, rng=1)})


FAULTS = {
    off_by_one: "differs",
    reads_another_row: "differs",
    wrong_alphabet_size: "differs",
    unprotected_last: "differs",
    sensitive_left: "exceeds",
    sensitive_in_disguise: "exceeds",
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_planted_faults_are_caught(fault, seed):
    df = table(seed)
    channel = keep_or_draw(N_X, 0.4)
    report = report_of(df, channel)
    y = channel.sample(df["x"].to_numpy(), rng=seed)
    assert attack.check(report, pd.DataFrame({"x": y}), df["s"]).verdict == "consistent"
    found = attack.check(report, fault(df, y, np.random.default_rng(seed)), df["s"])
    assert found.verdict == FAULTS[fault] or (FAULTS[fault] == "differs" and found.verdict == "exceeds")
    assert not found.ok


@pytest.mark.slow
def test_honest_releases_pass_fifty_times_out_of_fifty():
    """At a false-alarm rate of 1e-3 each, one alarm among 50 would happen with probability below 0.05."""
    for seed in range(50):
        df = table(seed, 1000)
        channel = keep_or_draw(N_X, (0.2, 0.5, 0.9)[seed % 3])
        y = pd.DataFrame({"x": channel.sample(df["x"].to_numpy(), rng=seed)})
        found = attack.check(report_of(df, channel), y, df["s"], rows=("shuffle", "keep")[seed % 2])
        assert found.ok, (seed, found)


@pytest.mark.filterwarnings("ignore:next to nothing is kept")
def test_order_of_rows_inside_a_merged_group_is_caught():
    """All symbols are merged, so the report says 0; but the table was sorted by S and the rows keep their order."""
    df = table(0).sort_values("s", kind="stable", ignore_index=True)
    merged = sz.frames.release(
        df, sz.Watchdog(sz.LiftBudget.symmetric(0.0), sensitive="s", public=["x"], random_state=0)
    )
    report = sz.last_report(merged)
    assert report.summary["mutual_information"] == pytest.approx(0, abs=1e-12)
    assert attack.check(report, merged, df["s"], rows="shuffle").ok
    found = attack.check(report, merged, df["s"], rows="keep")
    assert found.verdict == "exceeds"
    assert found.accuracy > 0.95


def test_cases_and_controls_in_turn_are_caught():
    """Matched pairs: every other row is ill, which no smooth function of the position tells."""
    secret = np.arange(600) % 2
    released = pd.DataFrame({"x": np.zeros(600, int)})
    assert not attack.infer(released, secret).learns
    assert attack.infer(released, secret, rows="keep").accuracy == 1


def test_a_reused_key_is_caught_by_both_releases_together():
    """(x + z) mod k and (2x + z) mod k: each alone is private, with the same noise z their difference is x."""
    df = table(0)
    x, k = df["x"].to_numpy(), N_X
    noise = np.full(k, 0.6 / (k - 1))
    noise[0] = 0.4
    rng = np.random.default_rng(99)  # not the seed of the table, which would be a key used twice
    first, second = rng.choice(k, (2, len(df)), p=noise)
    rows, columns = np.indices((k, k))
    one, two = noise[(columns - rows) % k], noise[(columns - 2 * rows) % k]
    joint = sz.JointDistribution.from_frame(df, "s", "x")
    pairs = sz.core.alphabet.Alphabet(("a", "b"), list(itertools.product(range(k), range(k))))
    both = sz.Channel.from_matrix((one[:, :, None] * two[:, None, :]).reshape(k, k * k), joint.public, pairs)
    report = LeakageReport.measure(joint, both)

    def released(z):
        return pd.DataFrame({"a": (x + first) % k, "b": (2 * x + z) % k})

    assert attack.check(report, released(second), df["s"]).ok
    assert attack.check(report, released(first), df["s"]).verdict == "exceeds"
    alone = LeakageReport.measure(joint, sz.Channel.from_matrix(one, joint.public, joint.public))
    assert attack.check(alone, pd.DataFrame({"x": (x + first) % k}), df["s"]).ok


def test_a_leak_that_changes_no_guess_is_caught_by_the_gain():
    """One row in twenty is ill; a kept column makes it six times likelier, so "not ill" stays the best guess."""
    rng = np.random.default_rng(0)
    ill = rng.random(3000) < 0.05
    note = rng.random(3000) < np.where(ill, 0.6, 0.08)
    df = pd.DataFrame({"ill": ill, "x": rng.integers(0, 3, 3000)})
    report = sz.audit(df, "ill", "x")
    assert attack.check(report, df[["x"]], df["ill"]).ok
    found = attack.check(report, df[["x"]].assign(note=note), df["ill"])
    assert found.accuracy == pytest.approx(found.reported_accuracy, abs=0.005)
    assert found.verdict == "exceeds"


def test_columns_the_report_does_not_measure_are_named():
    df = table(0)
    y = keep_or_draw(N_X, 0.4).sample(df["x"].to_numpy(), rng=0)
    released = pd.DataFrame({"x": y, "kept": df["x"]})
    found = attack.check(report_of(df, keep_or_draw(N_X, 0.4)), released, df["s"])
    assert found.verdict == "exceeds"
    assert found.outside == ("kept",)
    assert "kept, which the report does not measure" in found.to_text()


def test_symbols_drawn_inside_bins_are_not_taken_for_strangers():
    """The report speaks of intervals, the rows hold numbers: the distribution cannot be compared, the attack can."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"age": rng.normal(40, 10, 1500), "ill": rng.integers(0, 2, 1500)})
    released = sz.frames.release(
        df,
        sz.Watchdog(
            sz.LiftBudget.symmetric(1.0),
            sensitive="ill",
            public="age",
            bins={"age": [18, 35, 50, 65, 100]},
            random_state=0,
        ),
    )
    found = attack.check(sz.last_report(released), released, df["ill"])
    assert (found.verdict, found.distribution_excess) == ("consistent", None)


def test_check_refuses_what_it_cannot_compare():
    df = table(0, 200)
    report = report_of(df, keep_or_draw(N_X, 0.4))
    with pytest.raises(InvalidParameter, match="are not in the report"):
        attack.check(report, df[["x"]], df["s"] + 10)
    with pytest.raises(TypeError, match="weights"):
        attack.check(report, df[["x"]], df["s"], weights=np.ones(200))
    with pytest.raises(InvalidParameter, match="false_alarm"):
        attack.check(report, df[["x"]], df["s"], false_alarm=0.0)


@given(st.integers(1, 30), st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 30))
def test_hoeffdings_bound_holds_for_sums_of_unequal_indicators(n, chances, k):
    """P(share q or more in m rows) <= exp(-m KL(q||p)) for independent rows of mean p, by full convolution."""
    chances = (chances * n)[:n]
    distribution = np.array([1.0])
    for p in chances:
        distribution = np.convolve(distribution, [1 - p, p])
    k, mean = min(k, n), float(np.mean(chances))
    bound = math.exp(-n * float(_kl(np.array(k / n), np.array(mean))))
    tail = distribution[k:].sum() if k / n >= mean else distribution[: k + 1].sum()
    assert tail <= bound * (1 + 1e-9) + 1e-12
