"""Joint releases from below: channels on tuples, conditional budgets, and rows drawn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from joint_release_cases import KEY, PARTS, exact_distribution, figures_of, joint_release, rows_of_channel, table
from numpy.testing import assert_array_equal
from scipy.stats import chisquare
from strategies import budgets

import sanitize as sz
from sanitize._util.sampling.noise import NoiseKey
from sanitize._util.sampling.sampler import draw_all
from sanitize.core.alphabet import Alphabet
from sanitize.core.budgets import LiftBudget
from sanitize.core.budgets._conditional import conditional_budget
from sanitize.core.channel._tuple_channel import tuple_channel
from sanitize.core.channel._tuples import PartStage, Tuples, part_stages
from sanitize.errors import BudgetExceeded, ColumnError, InvalidParameter, UselessRelease
from sanitize.tables import keys as _keys
from sanitize.transformers import (
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)


@pytest.mark.slow
@pytest.mark.parametrize("case", PARTS)
def test_report_is_the_brute_force_contraction_of_the_table_with_every_channel(case):
    df, parts = table(), PARTS[case]
    sanitizer = joint_release(parts, sz.LiftBudget(lower=math.inf, upper=0.8)).fit(df)
    expected = figures_of(exact_distribution(df, ["ill", "rich"], ["k", "day"], parts, sanitizer.channels_))
    found = sanitizer.report_.summary
    for name in ("max_log_lift", "min_log_lift", "mutual_information"):
        assert found[name] == pytest.approx(expected[name], abs=1e-11)
    assert sanitizer.channel_.n_outputs == expected["n"] == len(sanitizer.report_.excess)
    assert sanitizer.report_.ok


def test_report_agrees_with_joint_release_of_separate_channels():
    df = table()
    parts = [
        ("p", SubsetMerging(LiftBudget.symmetric(0.7), public="a")),
        ("q", OptimalRandomResponse(LiftBudget.symmetric(0.4), public="c")),
    ]
    sanitizer = joint_release(parts, sz.LiftBudget(lower=3.0, upper=3.0), keep="k").fit(df)
    distribution = sz.JointDistribution.from_frame(df, ["ill", "rich"], ["a", "c", "k"])
    after = sz.theory.accounting.joint_release(distribution, [*sanitizer.channels_.values(), np.eye(2)])
    found = sanitizer.report_.summary
    assert found["max_log_lift"] == pytest.approx(sz.core.lifts.max_log_lift(after).max(), abs=1e-12)
    assert found["min_log_lift"] == pytest.approx(sz.core.lifts.min_log_lift(after).min(), abs=1e-12)
    assert found["mutual_information"] == pytest.approx(sz.mutual_information(after), abs=1e-12)
    # Given the tuple, parts are drawn independently and what is kept is certain: the entropies add.
    entropy = -sum(float(p) * math.log(p) for p in after.p_x)
    conditional = sum(
        -float(distribution_x)
        * sum(float(w) * math.log(w) for w in rows_of_channel(sanitizer.channels_[name])[x].values())
        for name, column in (("p", "a"), ("q", "c"))
        for x, distribution_x in df[column].value_counts(normalize=True).items()
    )
    assert found["utility"] == pytest.approx(entropy - conditional, abs=1e-9)


@pytest.mark.parametrize("case", ["response", "optimal", "capacity", "pooled"])
def test_the_information_kept_is_the_same_without_a_dense_matrix(case, monkeypatch):
    sanitizer = joint_release(PARTS[case], sz.LiftBudget(lower=math.inf, upper=0.8)).fit(table())
    known = sanitizer.report_.summary["utility"]
    monkeypatch.setattr("sanitize.core.channel._matrix.CHANNEL_CELLS", 0)
    assert sz.core.measures.utility(sanitizer._joint, sanitizer.channel_) == pytest.approx(known, abs=1e-11)
    # Rows of other tables reach the channel through some of its inputs only.
    assert sanitizer.measure(table().head(300)).summary["utility"] > 0


def two_columns() -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns, each 1-LIP and independent given S, whose joint log-lift is above 2 (as weighted rows)."""
    p, w, b, d = 0.01, 0.2, math.e, 1 / math.e
    p_s = np.array([p, (1 - p) / 2, (1 - p) / 2])
    c = (1 - p * b) / p_s[1] - d
    first, second = w * np.array([b, c, d]), w * np.array([b, d, c])
    rows, weights = [], []
    for s, x, y in itertools.product(range(3), (0, 1), (0, 1)):
        rows.append((s, x, y))
        weights.append(p_s[s] * (first[s] if x else 1 - first[s]) * (second[s] if y else 1 - second[s]))
    return pd.DataFrame(rows, columns=["s", "x", "y"]), np.array(weights) * 1e4


def test_budgets_of_separate_columns_do_not_add_and_joint_release_keeps_the_sum():
    df, weights = two_columns()
    apart = [
        Watchdog(LiftBudget.symmetric(1.0), sensitive="s", public=name).fit(df, sample_weight=weights) for name in "xy"
    ]
    assert all(one.report_.ok for one in apart)
    distribution = sz.JointDistribution.from_frame(df, "s", ["x", "y"], weights=weights)
    together = sz.theory.accounting.joint_release(distribution, apart)
    assert sz.core.lifts.max_log_lift(together).max() == pytest.approx(2.42, abs=0.005)
    own = JointRelease(
        [(n, Watchdog(LiftBudget.symmetric(1.0), public=n)) for n in "xy"], sz.LiftBudget.symmetric(2.0), sensitive="s"
    )
    with pytest.raises(BudgetExceeded) as caught:
        own.fit(df, sample_weight=weights)
    assert caught.value.excess == pytest.approx(sz.core.lifts.max_log_lift(together).max() - 2.0, abs=1e-12)
    assert not hasattr(own, "channel_")
    sequential = JointRelease(
        [("x", Watchdog(LiftBudget.symmetric(1.0), public="x")), ("y", Watchdog(public="y"))],
        sz.LiftBudget.symmetric(2.0),
        sensitive="s",
    )
    sequential.fit(df, sample_weight=weights)
    assert sequential.report_.ok
    after = sz.theory.accounting.joint_release(distribution, list(sequential.channels_.values()))
    assert np.abs(sz.log_lift(after)).max() <= 2.0 + 1e-12


@st.composite
def small_tables(draw):
    n = draw(st.integers(2, 30))
    sizes = {"s": 3, "a": 3, "b": 2, "c": 3, "k": 2}
    cells = {name: draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)) for name, size in sizes.items()}
    assume(len(set(cells["s"])) > 1)
    return pd.DataFrame(cells)


@st.composite
def small_parts(draw):
    kinds = [SubsetMerging, Watchdog]
    first = draw(st.sampled_from(kinds))(public=["a", "b"], min_count=draw(st.integers(0, 2)))
    second = draw(st.sampled_from([*kinds, RandomizedResponse]))
    own = 0.7 if second is RandomizedResponse else None
    parts = [("one", first), ("two", second(own, public="c", min_count=draw(st.integers(0, 4))))]
    return parts if draw(st.booleans()) else parts[::-1]


@pytest.mark.slow
@given(small_tables(), small_parts(), budgets(), st.booleans())
def test_fitted_joint_releases_never_exceed_their_budget(df, parts, chosen, keeps):
    budget = chosen[0]
    keep = ["k"] if keeps else None
    sanitizer = JointRelease(parts, budget, sensitive="s", keep=keep)
    fixed = [part for part in parts if part[1].budget is not None]
    try:
        sanitizer.fit(df)
    except (ColumnError, InvalidParameter, UselessRelease):  # every row is in the pool of rare ones
        return
    except BudgetExceeded:
        # Only what nobody may alter can be too much: kept columns and parts with budgets of their own.
        if not fixed and keep is None:
            raise
        settled = JointRelease(fixed, sz.LiftBudget(lower=math.inf, upper=math.inf), sensitive="s", keep=keep).fit(df)
        assert budget.excess(settled.report_._after).max() > 1e-13
        return
    distribution = (
        exact_distribution(df, ["s"], keep or [], parts, sanitizer.channels_)
        if keep
        else _without_keep(df, parts, sanitizer)
    )
    symbols_s, symbols_y = (sorted({key[i] for key in distribution}, key=repr) for i in (0, 1))
    pmf = np.array([[float(distribution.get((s, y), 0)) for y in symbols_y] for s in symbols_s])
    assert budget.excess(sz.JointDistribution.from_matrix(pmf)).max() <= 1e-9


def _without_keep(df, parts, sanitizer):
    return exact_distribution(df.assign(_=0), ["s"], ["_"], parts, sanitizer.channels_)


def excess_given(inner, cells: np.ndarray) -> np.ndarray:
    """Slow twin of `ConditionalBudget`: the inner budget's excess of each (b, x), and the largest over b, in loops."""
    _, n_b, n_x = cells.shape
    p_s = cells.sum(axis=(1, 2))
    worst = np.full(n_x, -math.inf)
    for x in range(n_x):
        for b in range(n_b):
            total = cells[:, b, x].sum()
            if total > 0:
                lifts = (cells[:, b, x] / total / p_s)[:, None]
                worst[x] = max(worst[x], inner.lift_excess(lifts, p_s)[0])
    return worst


@given(budgets(), st.integers(0, 2**32 - 1))
def test_a_budget_given_what_is_released_is_the_worst_of_the_inner_one_over_it(chosen, seed):
    inner = chosen[0]
    rng = np.random.default_rng(seed)
    cells = rng.random((3, 4, 5)) * (rng.random((3, 4, 5)) < 0.7)
    cells[:, :, 0] += 1e-3
    cells /= cells.sum()
    distribution, budget = conditional_budget(cells, sz.core.alphabet.Alphabet.from_size("x", 5), inner)
    assert isinstance(budget, sz.core.budgets.Budget)
    assert budget.excess(distribution) == pytest.approx(excess_given(inner, cells), abs=1e-9)
    # Everything merged is what is released already; so is the first symbol alone, drawn again.
    merged = distribution.push(sz.Channel.merge(np.zeros(5, int)))
    assert budget.excess(merged) == pytest.approx(excess_given(inner, cells.sum(axis=2, keepdims=True)), abs=1e-9)


def test_a_part_without_a_budget_is_designed_given_the_others_whatever_the_order():
    df = table()
    one, two = ("one", SubsetMerging(public=["a", "b"])), ("two", SubsetMerging(LiftBudget.symmetric(0.5), public="c"))
    first = joint_release([one, two]).fit(df)
    second = joint_release([two, one]).fit(df)
    # The part with a budget of its own is settled first, so both orders give the same channels.
    for name in ("one", "two"):
        assert first.channels_[name] == second.channels_[name]
    alone = SubsetMerging(LiftBudget.symmetric(0.5), sensitive=["ill", "rich"], public="c").fit(df)
    assert first.channels_["two"] == alone.channel_
    assert first.get_feature_names_out().tolist() == ["a", "b", "c", "k", "day"]
    assert second.get_feature_names_out().tolist() == ["c", "a", "b", "k", "day"]


def test_the_sequential_design_leaves_symbols_that_meet_the_joint_budget_alone():
    df = table()
    sanitizer = joint_release(
        [("p", SubsetMerging(public="a")), ("q", Watchdog(public="c"))], sz.LiftBudget(lower=9.0, upper=9.0)
    )
    sanitizer.fit(df)
    assert [part.normalized_utility for part in sanitizer.report_.facts.parts] == pytest.approx([1.0] * 4)
    assert sanitizer.fit_transform(df).equals(df[["a", "c", "k", "day"]])


# ------------------------------------------------------------------------------------------------ drawing


def test_each_part_is_drawn_like_its_own_channel_and_kept_columns_pass_through():
    df = table(4000)
    parts = PARTS["optimal"]
    sanitizer = joint_release(parts, random_state=NoiseKey(KEY)).fit(df)
    channel = sanitizer.channel_
    drawing = [(lane, stage) for lane, stage in enumerate(channel.stages) if not stage.is_deterministic]
    assert drawing
    assert all(isinstance(stage, PartStage) for _, stage in drawing)
    released = sanitizer.transform(df)
    for name in ("k", "day"):
        assert released[name].equals(df[name])
    # The second route: every part by itself, with the words of its own lanes.
    codes = sanitizer._release.encode(df)[0]
    tuples, _ = Tuples.from_alphabet(channel.inputs, [["a", "b"], ["c"], ["k", "day"]])
    for part, (name, _) in enumerate(parts):
        own = sanitizer.channels_[name]
        state = tuples.codes[codes, part]
        kernels = list(own.stages)
        while kernels and kernels[0].is_deterministic:
            state = kernels.pop(0).indices[state]
        lanes = [(lane, stage) for lane, stage in drawing if stage.part == part]
        for (lane, _), kernel in zip(lanes, [k for k in kernels if not k.is_deterministic], strict=True):
            step = kernel.sampler.drawing(NoiseKey(KEY), lane, 0)
            state = draw_all([step], state, np.empty(len(state), np.int32))
        columns = own.outputs.decode(state)
        for column, values in columns.items():
            assert released[column].astype(object).where(released[column].notna(), None).tolist() == values.to_pylist()


def test_the_place_of_a_drawn_symbol_is_found_by_table_and_by_search(monkeypatch):
    # Randomized response over 300 symbols: one stage with a threshold for all, one with a common row.
    inputs = Alphabet(["x", "k"], [(x, k) for x in range(300) for k in "ab"])
    parts = [["x"], ["k"]], [[sz.randomized_response(300, 4.0)], []]
    codes = np.random.default_rng(0).integers(0, 600, 5000)
    drawn = tuple_channel(inputs, *parts).sample(codes, KEY)
    monkeypatch.setattr(_keys, "_DENSE_CELLS", 0)
    channel = tuple_channel(inputs, *parts)
    assert_array_equal(channel.sample(codes, KEY), drawn)
    # By itself, with the words of the same lanes.
    alone = sz.randomized_response(300, 4.0).sample(codes // 2, KEY)
    released, kept = (column.to_pylist() for column in channel.outputs.decode(drawn).values())
    assert released == alone.tolist()
    assert kept == ["ab"[code % 2] for code in codes]


def test_tuples_are_drawn_by_the_distribution_that_is_reported():
    df = table(400)
    sanitizer = joint_release(PARTS["optimal"], sz.LiftBudget(lower=math.inf, upper=1.0)).fit(df)
    rows, n = sanitizer.channel_.matrix, 4000
    rng = np.random.default_rng(5)
    p_values = []
    for x in rng.integers(0, len(rows), 30):
        seen = rows[x] > 0
        drawn = np.bincount(sanitizer.channel_.sample(np.full(n, x), int(x)), minlength=rows.shape[1])
        assert drawn[~seen].sum() == 0
        if seen.sum() > 1:
            p_values.append(chisquare(drawn[seen], n * rows[x][seen]).pvalue)
    # 30 tests at 1e-7 each: a false alarm in 3 of a million choices of the seeds, which are fixed.
    assert len(p_values) > 5
    assert min(p_values) > 1e-7


def test_a_chain_on_tuples_is_the_product_of_its_kernels():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.integers(0, 4, 30), "y": rng.integers(0, 3, 30), "z": rng.integers(0, 2, 30)})
    inputs = sz.core.alphabet.Alphabet.from_table(frame, ["x", "y", "z"])
    kernels = [rng.dirichlet(np.ones(5), 4), rng.dirichlet(np.ones(2), 3)]
    first, second = (sz.Channel.from_matrix(kernel) for kernel in kernels)
    names = [
        first.renamed(outputs=sz.core.alphabet.Alphabet.from_size("u", 5)),
        second.renamed(outputs=sz.core.alphabet.Alphabet.from_size("v", 2)),
    ]
    channel = tuple_channel(inputs, [["x"], ["y"], ["z"]], [[names[0]], [names[1]], []])
    assert channel.outputs.columns == ("u", "v", "z")
    matrix = channel.matrix
    for i, (x, y, z) in enumerate(inputs.symbols):
        for j, (u, v, w) in enumerate(channel.outputs.symbols):
            assert matrix[i, j] == pytest.approx(first.matrix[x, u] * second.matrix[y, v] * (z == w), abs=1e-15)
    assert list(channel.outputs.symbols) == sorted(channel.outputs.symbols)
    # The chain can be taken apart again: each part's symbol in every input tuple, and its own stages.
    apart = part_stages(channel.stages)
    assert apart is not None
    for (start, kernels), own, column in zip(apart, (first, second), inputs.codes.T, strict=False):
        assert np.array_equal(start, column)
        assert kernels == own.stages
    assert part_stages(sz.Channel.identity(3).stages) is None


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), max_size=40))
def test_rows_are_numbered_in_lexicographic_order(rows):
    distinct, places = _keys.distinct_rows(np.array(rows, np.int32).reshape(-1, 4), [4, 4, 4, 4])
    assert [tuple(row) for row in distinct.tolist()] == sorted(set(rows))
    assert [tuple(distinct[place].tolist()) for place in places] == rows


def test_rows_wider_than_a_word_are_numbered():
    rng = np.random.default_rng(0)
    sizes = [2**31 - 1, 3, 2**30, 2**31 - 1, 2]
    rows = np.stack([rng.integers(size - 2, size, 300) for size in sizes], axis=1).astype(np.int32)
    distinct, places = _keys.distinct_rows(rows, sizes)
    assert np.array_equal(distinct, np.unique(rows, axis=0))
    assert np.array_equal(distinct[places], rows)
