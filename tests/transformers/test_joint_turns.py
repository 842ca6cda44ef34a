"""Parts of a joint release that share one budget: by weight, in turns, and never by the order they are given in."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from joint_release_cases import joint_release, table
from numpy.testing import assert_allclose
from strategies import budgets

import sanitize as sz
from sanitize.core.budgets import LiftBudget, scale_budget
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.transformers import JointRelease, SubsetMerging, Watchdog


def people(n: int = 3000, seed: int = 3) -> pd.DataFrame:
    """Four columns that each tell something of s, dependent on each other."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    a = (2 * s + rng.integers(0, 5, n)) % 6
    return pd.DataFrame(
        {
            "s": s,
            "a": a,
            "b": (a + s + rng.integers(0, 4, n)) % 5,
            "c": (s + rng.integers(0, 3, n)) % 4,
            "d": (a + rng.integers(0, 3, n) * (1 + s)) % 4,
        }
    )


def shares(sanitizer: JointRelease) -> dict[str, float]:
    lines = sanitizer.report_.to_frame("parts").set_index("part")
    return lines["normalized_utility"].to_dict()


def fitted(names: str, budget: float | sz.LiftBudget, df: pd.DataFrame, **settings) -> JointRelease:
    parts = [(name, SubsetMerging(public=name)) for name in names]
    limit = sz.LiftBudget.symmetric(budget) if isinstance(budget, float) else budget
    return JointRelease(parts, limit, sensitive="s", **settings).fit(df)


@pytest.mark.slow
def test_the_order_of_the_parts_decides_nothing():
    df = people()
    first = fitted("abcd", 0.8, df)
    for order in itertools.islice(itertools.permutations("abcd"), 5, 24, 6):
        other = fitted("".join(order), 0.8, df)
        assert shares(other) == pytest.approx(shares(first), abs=1e-12)
        for name in "abcd":
            assert other.channels_[name] == first.channels_[name]


def test_no_part_takes_all_when_others_could_have_some():
    df = people()
    found = shares(fitted("abcd", 1.2, df))
    alone = {name: shares(fitted(name, 1.2, df))[name] for name in "abcd"}
    assert all(0 < found[name] <= alone[name] + 1e-9 for name in "abcd")


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.25, 0.3])
def test_other_orders_are_tried_where_a_part_would_keep_nothing(budget, monkeypatch):
    """At 0.3 one more part keeps something, and the mean rises by 0.08; never fewer parts or a smaller mean."""
    df = people(800)
    tried = shares(fitted("abcd", budget, df))
    assert tried == pytest.approx(shares(fitted("dbca", budget, df)), abs=1e-12)
    monkeypatch.setattr("sanitize.release.recipes.joint_turns._BLURRED_LADDERS", ())
    once = shares(fitted("abcd", budget, df))
    assert sum(tried.values()) / 4 > sum(once.values()) / 4 + 0.05
    assert sum(share > 1e-9 for share in tried.values()) >= sum(share > 1e-9 for share in once.values())


@pytest.mark.slow
def test_a_larger_weight_keeps_more():
    df = people()
    plain = fitted("abcd", 0.5, df)
    least = min("abcd", key=shares(plain).__getitem__)
    heavy = fitted("abcd", 0.5, df, weights={least: 50.0})
    assert shares(heavy)[least] > shares(plain)[least] + 0.05
    assert heavy.report_.ok
    same = fitted("abcd", 0.5, df, weights=dict.fromkeys("abcd", 3.0))
    assert shares(same) == shares(plain)


@pytest.mark.slow
@given(
    st.integers(0, 10_000),
    st.sampled_from([sz.LiftBudget.symmetric(0.4), sz.LDPBudget(0.9), sz.LiftBudget(lower=np.inf, upper=0.3)]),
    st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_releases_in_turns_meet_the_joint_budget_by_brute_force(seed, budget, keep):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({name: rng.integers(0, 2 if name in "sk" else 3, 200) for name in "skabc"})
    parts = [("a", SubsetMerging(public="a")), ("b", Watchdog(public="b")), ("c", SubsetMerging(public="c"))]
    kept = {"keep": "k"} if keep else {}
    distribution = sz.JointDistribution.from_frame(df, "s", "k")
    assume(not keep or (budget.excess(distribution) <= 0).all())
    sanitizer = JointRelease(parts, budget, sensitive="s", **kept).fit(df)
    cells = np.zeros((2, 3, 3, 3, 2))
    np.add.at(cells, tuple(df[name] for name in "sabck"), 1 / len(df))
    channels = [sanitizer.channels_[name] for name in "abc"]
    matrices = [channel.matrix() if callable(channel.matrix) else channel.matrix for channel in channels]
    end = np.eye(2) if keep else np.ones((2, 1))
    told = np.einsum("sabck,ax,by,cz,kw->sxyzw", cells, *matrices, end).reshape(2, -1)
    told = told[:, told.sum(axis=0) > 0]
    assert (budget.excess(sz.JointDistribution.from_matrix(told)) <= 1e-12).all()


@given(budgets(), st.floats(0, 1), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_what_is_within_a_share_of_a_budget_is_within_the_whole(budget, share, seed):
    rng = np.random.default_rng(seed)
    distribution = sz.JointDistribution.from_matrix(rng.dirichlet(np.ones(12)).reshape(3, 4))
    budget = budget[0]
    part = scale_budget(budget, share)
    within = part.excess(distribution) <= 0
    assert (budget.excess(distribution)[within] <= 1e-12).all()
    assert scale_budget(budget, 1.0) == budget
    constant = distribution.push(sz.Channel.merge(np.zeros(4, int)))
    assert (scale_budget(budget, 0.0).excess(constant) <= 0).all()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"z": 1.0}, "weights must name parts without a budget of their own, got 'z'"),
        ({"p": 2.0}, "weights must name parts without a budget of their own, got 'p'"),
        ({"q": 0.0}, r"weights\['q'\] must be a finite number > 0"),
        ({"q": np.inf}, r"weights\['q'\] must be a finite number > 0"),
        ([1.0], "weights must map names"),
    ],
)
def test_weights_that_say_nothing_are_refused_by_name(weights, words):
    parts = [("p", SubsetMerging(LiftBudget.symmetric(0.4), public="a")), ("q", Watchdog(public="c"))]
    with pytest.raises(InvalidParameter, match=words):
        joint_release(parts, weights=weights).fit(table())


def test_a_release_too_large_is_refused_with_an_estimate_before_memory_is_taken(monkeypatch):
    df, made = people(), []
    from sanitize.core.channel._tuples import Tuples

    through = Tuples.pass_part

    def watched(self, part, kernel):
        made.append(kernel.is_deterministic)
        return through(self, part, kernel)

    # A design that merges something of every part.
    monkeypatch.setattr("sanitize.release.recipes.joint_turns._BLURRED_LADDERS", ())
    entries = sum(len(stage.indices) for stage in fitted("abcd", 0.8, df).channel_.stages if not stage.is_deterministic)
    n_bytes = entries * (110 + 12 * 4)
    monkeypatch.setattr("sanitize.core.channel._tuple_channel._CHANNEL_BYTES", n_bytes)
    assert fitted("abcd", 0.8, df).report_.ok  # the estimate is exact for what is printed of merged symbols
    monkeypatch.setattr("sanitize.core.channel._tuple_channel._CHANNEL_BYTES", n_bytes - 1)
    monkeypatch.setattr(Tuples, "pass_part", watched)
    with pytest.raises(ColumnError, match=r"an estimated .* GiB.*public=\[...\].*LatentClassRelease"):
        fitted("abcd", 0.8, df)
    assert made
    assert all(made)  # nothing was drawn


def test_the_shares_of_a_release_are_those_of_its_channels():
    df = people()
    sanitizer = fitted("abcd", 0.8, df)
    for name in "abcd":
        distribution = sz.JointDistribution.from_frame(df, "s", name)
        kept = sz.normalized_utility(distribution, sanitizer.channels_[name])
        assert_allclose(shares(sanitizer)[name], kept, atol=1e-12)
