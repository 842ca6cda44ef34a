"""Joint releases: the law of everything that is released together, by routes that share no code with it."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from strategies import budgets

import sanitize as sz
from sanitize._sampling.noise import NoiseKey
from sanitize._sampling.sampler import draw_all
from sanitize._tables import keys as _keys
from sanitize._tables.keys import distinct_rows
from sanitize.alphabet import Alphabet
from sanitize.budgets._conditional import conditional_budget
from sanitize.channel import Channel
from sanitize.channel._stage import SCALE, Stage
from sanitize.channel._tuple_channel import tuple_channel
from sanitize.channel._tuples import PartStage, Tuples, parts_of
from sanitize.errors import BudgetExceeded, ColumnError, InvalidBudget, InvalidChannel, InvalidParameter, UnknownSymbol
from sanitize.parquet import plan_parquet
from sanitize.transformers import (
    ExponentialChannel,
    GaussianChannel,
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)

KEY = bytes(range(32))


def table(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Two sensitive columns, two groups of dependent public ones, kept ones that tell a little."""
    rng = np.random.default_rng(seed)
    ill, rich = rng.integers(0, 2, n), rng.integers(0, 2, n)
    s = 2 * ill + rich
    a = (s + rng.integers(0, 3, n) * (rng.random(n) < 0.8)) % 3
    return pd.DataFrame(
        {
            "ill": ill,
            "rich": np.where(rich, "yes", "no"),
            "a": a,
            "b": np.array(["p", "q", None], object)[(a + (rng.random(n) < 0.5) * rng.integers(0, 3, n)) % 3],
            "c": (s + rng.integers(0, 4, n)) % 4,
            "day": pd.to_datetime("2024-02-28") + pd.to_timedelta(rng.integers(0, 2, n), "D"),
            "k": pd.Categorical(np.array(["x", "y"])[rng.integers(0, 2, n)]),
        }
    )


def joint_release(parts, budget=None, **settings) -> JointRelease:
    budget = sz.LiftBudget(lower=1.2, upper=0.8) if budget is None else budget
    settings = {"sensitive": ["ill", "rich"], "keep": ["k", "day"], "random_state": 0, **settings}
    return JointRelease(parts, budget, **settings)


PARTS = {
    "merged": [("p", SubsetMerging(0.4, public=["a", "b"])), ("q", SubsetMerging(public="c"))],
    "labels": [("p", SubsetMerging(0.4, public=["a", "b"], release="label")), ("q", Watchdog(public="c"))],
    "response": [("p", RandomizedResponse(0.5, public=["a", "b"])), ("q", Watchdog(public="c"))],
    "optimal": [("p", OptimalRandomResponse(0.3, public=["a", "b"])), ("q", SubsetMerging(public="c", min_count=400))],
    "capacity": [("p", ExponentialChannel(0.1, public="a")), ("q", Watchdog(public=["b", "c"], release="label"))],
    "noise": [("p", GaussianChannel(0.1, public="a", bounds=(0, 2), step=1)), ("q", Watchdog(public=["b", "c"]))],
    "pooled": [("p", RandomizedResponse(0.4, public=["a", "b"], min_count=200)), ("q", SubsetMerging(public="c"))],
}


def columns_of(parts) -> list[list[str]]:
    return [[part.public] if isinstance(part.public, str) else list(part.public) for _, part in parts]


def rows_of_channel(channel) -> dict:
    """Exact P(y|x) of a chain as {x: {y: Fraction}}; y by number."""
    found = {}
    for x, symbol in enumerate(channel.inputs.symbols):
        law = {x: Fraction(1)}
        for stage in channel.stages:
            after: dict[int, Fraction] = {}
            for state, mass in law.items():
                for entry in range(stage.indptr[state], stage.indptr[state + 1]):
                    y = int(stage.indices[entry])
                    after[y] = after.get(y, Fraction(0)) + mass * Fraction(int(stage.weights[entry]), SCALE)
            law = after
        found[symbol] = law
    return found


def exact_law(df, sensitive, keep, parts, channels) -> dict[tuple, Fraction]:
    """P(s, (y_1, ..., y_d, k)) by summing over the rows of the table, in fractions."""
    plain = df.astype(object).where(df.notna(), None)
    rows = Counter(
        zip(
            zip(*(plain[name] for name in sensitive), strict=True),
            *(
                zip(*(plain[name] for name in group), strict=True) if len(group) > 1 else plain[group[0]]
                for group in columns_of(parts)
            ),
            zip(*(plain[name] for name in keep), strict=True),
            strict=True,
        )
    )
    kernels = [rows_of_channel(channels[name]) for name, _ in parts]
    law: dict[tuple, Fraction] = {}
    for (s, *xs, k), count in rows.items():
        for drawn in itertools.product(*(kernel[x].items() for kernel, x in zip(kernels, xs, strict=True))):
            mass = Fraction(count, len(df)) * math.prod((p for _, p in drawn), start=Fraction(1))
            y = (*(number for number, _ in drawn), k)
            law[s, y] = law.get((s, y), Fraction(0)) + mass
    return law


def figures_of(law: dict[tuple, Fraction]) -> dict[str, float]:
    p_s: dict = {}
    p_y: dict = {}
    for (s, y), mass in law.items():
        p_s[s] = p_s.get(s, 0) + mass
        p_y[y] = p_y.get(y, 0) + mass
    lifts = {(s, y): law.get((s, y), Fraction(0)) / p_s[s] / p_y[y] for s in p_s for y in p_y}
    return {
        "max_log_lift": math.log(max(lifts.values())),
        "min_log_lift": math.log(least) if (least := min(lifts.values())) else -math.inf,
        "mutual_information": sum(float(mass) * math.log(lifts[key]) for key, mass in law.items() if mass),
        "n": len(p_y),
    }


@pytest.mark.parametrize("case", PARTS)
def test_report_is_the_brute_force_contraction_of_the_table_with_every_channel(case):
    df, parts = table(), PARTS[case]
    sanitizer = joint_release(parts, sz.LiftBudget(lower=math.inf, upper=0.8)).fit(df)
    expected = figures_of(exact_law(df, ["ill", "rich"], ["k", "day"], parts, sanitizer.channels_))
    found = sanitizer.report_.summary
    for name in ("max_log_lift", "min_log_lift", "mutual_information"):
        assert found[name] == pytest.approx(expected[name], abs=1e-11)
    assert sanitizer.channel_.n_outputs == expected["n"] == len(sanitizer.report_.excess)
    assert sanitizer.report_.ok


def test_report_agrees_with_joint_release_of_separate_channels():
    df = table()
    parts = [("p", SubsetMerging(0.7, public="a")), ("q", OptimalRandomResponse(0.4, public="c"))]
    sanitizer = joint_release(parts, sz.LiftBudget(lower=3.0, upper=3.0), keep="k").fit(df)
    law = sz.JointDistribution.from_frame(df, ["ill", "rich"], ["a", "c", "k"])
    after = sz.accounting.joint_release(law, [*sanitizer.channels_.values(), np.eye(2)])
    found = sanitizer.report_.summary
    assert found["max_log_lift"] == pytest.approx(sz.lifts.max_log_lift(after).max(), abs=1e-12)
    assert found["min_log_lift"] == pytest.approx(sz.lifts.min_log_lift(after).min(), abs=1e-12)
    assert found["mutual_information"] == pytest.approx(sz.mutual_information(after), abs=1e-12)
    # Given the tuple, parts are drawn independently and what is kept is certain: the entropies add.
    entropy = -sum(float(p) * math.log(p) for p in after.p_x)
    conditional = sum(
        -float(law_x) * sum(float(w) * math.log(w) for w in rows_of_channel(sanitizer.channels_[name])[x].values())
        for name, column in (("p", "a"), ("q", "c"))
        for x, law_x in df[column].value_counts(normalize=True).items()
    )
    assert found["utility"] == pytest.approx(entropy - conditional, abs=1e-9)


@pytest.mark.parametrize("case", ["response", "optimal", "capacity", "pooled"])
def test_the_information_kept_is_the_same_without_a_dense_matrix(case, monkeypatch):
    sanitizer = joint_release(PARTS[case], sz.LiftBudget(lower=math.inf, upper=0.8)).fit(table())
    known = sanitizer.report_.summary["utility"]
    monkeypatch.setattr("sanitize.channel._reduced._DENSE_CELLS", 0)
    assert sz.measures.utility(sanitizer._joint, sanitizer.channel_) == pytest.approx(known, abs=1e-11)
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
    apart = [Watchdog(1.0, sensitive="s", public=name).fit(df, sample_weight=weights) for name in "xy"]
    assert all(one.report_.ok for one in apart)
    law = sz.JointDistribution.from_frame(df, "s", ["x", "y"], weights=weights)
    together = sz.accounting.joint_release(law, apart)
    assert sz.lifts.max_log_lift(together).max() == pytest.approx(2.42, abs=0.005)
    own = JointRelease([(n, Watchdog(1.0, public=n)) for n in "xy"], 2.0, sensitive="s")
    with pytest.raises(BudgetExceeded) as caught:
        own.fit(df, sample_weight=weights)
    assert caught.value.excess == pytest.approx(sz.lifts.max_log_lift(together).max() - 2.0, abs=1e-12)
    assert not hasattr(own, "channel_")
    sequential = JointRelease([("x", Watchdog(1.0, public="x")), ("y", Watchdog(public="y"))], 2.0, sensitive="s")
    sequential.fit(df, sample_weight=weights)
    assert sequential.report_.ok
    after = sz.accounting.joint_release(law, list(sequential.channels_.values()))
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
    first = draw(st.sampled_from(kinds))(public=["a", "b"], release=draw(st.sampled_from(["resample", "label"])))
    second = draw(st.sampled_from([*kinds, RandomizedResponse]))
    own = 0.7 if second is RandomizedResponse else None
    parts = [("one", first), ("two", second(own, public="c", min_count=draw(st.integers(0, 4))))]
    return parts if draw(st.booleans()) else parts[::-1]


@given(small_tables(), small_parts(), budgets(), st.booleans())
def test_fitted_joint_releases_never_exceed_their_budget(df, parts, chosen, keeps):
    budget = chosen[0]
    keep = ["k"] if keeps else None
    sanitizer = JointRelease(parts, budget, sensitive="s", keep=keep)
    fixed = [part for part in parts if part[1].budget is not None]
    try:
        sanitizer.fit(df)
    except BudgetExceeded:
        # Only what nobody may alter can be too much: kept columns and parts with budgets of their own.
        if not fixed and keep is None:
            raise
        settled = JointRelease(fixed, sz.LiftBudget(lower=math.inf, upper=math.inf), sensitive="s", keep=keep).fit(df)
        assert budget.excess(settled.report_._after).max() > 1e-13
        return
    law = exact_law(df, ["s"], keep or [], parts, sanitizer.channels_) if keep else _without_keep(df, parts, sanitizer)
    symbols_s, symbols_y = (sorted({key[i] for key in law}, key=repr) for i in (0, 1))
    pmf = np.array([[float(law.get((s, y), 0)) for y in symbols_y] for s in symbols_s])
    assert budget.excess(sz.JointDistribution.from_matrix(pmf)).max() <= 1e-9


def _without_keep(df, parts, sanitizer):
    return exact_law(df.assign(_=0), ["s"], ["_"], parts, sanitizer.channels_)


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
                worst[x] = max(worst[x], inner.excess_of(lifts, p_s)[0])
    return worst


@given(budgets(), st.integers(0, 2**32 - 1))
def test_a_budget_given_what_is_released_is_the_worst_of_the_inner_one_over_it(chosen, seed):
    inner = chosen[0]
    rng = np.random.default_rng(seed)
    cells = rng.random((3, 4, 5)) * (rng.random((3, 4, 5)) < 0.7)
    cells[:, :, 0] += 1e-3
    cells /= cells.sum()
    law, budget = conditional_budget(cells, sz.alphabet.Alphabet.of_size("x", 5), inner)
    assert isinstance(budget, sz.budgets.Budget)
    assert budget.excess(law) == pytest.approx(excess_given(inner, cells), abs=1e-9)
    # Everything merged is what is released already; so is the first symbol alone, drawn again.
    merged = law.release(sz.Channel.merge(np.zeros(5, int)))
    assert budget.excess(merged) == pytest.approx(excess_given(inner, cells.sum(axis=2, keepdims=True)), abs=1e-9)


def test_a_part_without_a_budget_is_designed_given_the_others_whatever_the_order():
    df = table()
    one, two = ("one", SubsetMerging(public=["a", "b"])), ("two", SubsetMerging(0.5, public="c"))
    first = joint_release([one, two]).fit(df)
    second = joint_release([two, one]).fit(df)
    # The part with a budget of its own is settled first, so both orders give the same channels.
    for name in ("one", "two"):
        assert first.channels_[name] == second.channels_[name]
    alone = SubsetMerging(0.5, sensitive=["ill", "rich"], public="c").fit(df)
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
    tuples, _ = Tuples.split(channel.inputs, [["a", "b"], ["c"], ["k", "day"]])
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


def test_tuples_are_drawn_by_the_law_that_is_reported():
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
    inputs = sz.alphabet.Alphabet.from_table(frame, ["x", "y", "z"])
    kernels = [rng.dirichlet(np.ones(5), 4), rng.dirichlet(np.ones(2), 3)]
    first, second = (sz.Channel.from_matrix(kernel) for kernel in kernels)
    names = [
        first.renamed(outputs=sz.alphabet.Alphabet.of_size("u", 5)),
        second.renamed(outputs=sz.alphabet.Alphabet.of_size("v", 2)),
    ]
    channel = tuple_channel(inputs, [["x"], ["y"], ["z"]], [[names[0]], [names[1]], []])
    assert channel.outputs.columns == ("u", "v", "z")
    matrix = channel.matrix
    for i, (x, y, z) in enumerate(inputs.symbols):
        for j, (u, v, w) in enumerate(channel.outputs.symbols):
            assert matrix[i, j] == pytest.approx(first.matrix[x, u] * second.matrix[y, v] * (z == w), abs=1e-15)
    assert list(channel.outputs.symbols) == sorted(channel.outputs.symbols)
    # The chain can be taken apart again: each part's symbol in every input tuple, and its own stages.
    apart = parts_of(channel.stages)
    assert apart is not None
    for (start, kernels), own, column in zip(apart, (first, second), inputs.codes.T, strict=False):
        assert np.array_equal(start, column)
        assert kernels == own.stages
    assert parts_of(sz.Channel.identity(3).stages) is None


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=40))
def test_rows_are_numbered_in_lexicographic_order(rows):
    distinct, places = distinct_rows(np.array(rows, np.int32), [4, 4, 4])
    assert [tuple(row) for row in distinct.tolist()] == sorted(set(rows))
    assert [tuple(distinct[place].tolist()) for place in places] == rows


# ---------------------------------------------------------------------------------------------- estimator


def test_frames_of_every_kind_hold_the_same_release():
    df = table()
    sanitizer = joint_release(PARTS["merged"])
    expected = sanitizer.fit_transform(df)
    assert expected.dtypes.to_dict() == df[["a", "b", "c", "k", "day"]].dtypes.to_dict()
    polars = sanitizer.fit_transform(pl.from_pandas(df))
    arrow = sanitizer.fit_transform(pa.Table.from_pandas(df))
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(arrow, pa.Table)
    for name in expected:
        plain = [None if value is pd.NaT or value != value else value for value in expected[name].tolist()]
        assert polars[name].to_list() == arrow[name].to_pylist() == plain
    codes = df[["ill", "a", "c"]].to_numpy()
    made = JointRelease([("p", SubsetMerging(public=[1]))], 1.0, sensitive=[0], keep=[2], random_state=0)
    released = made.fit_transform(codes)
    assert released.shape == (len(df), 2)
    assert released.dtype == codes.dtype
    assert np.array_equal(released[:, 1], codes[:, 2])
    assert isinstance(made.set_output(transform="polars").transform(codes), pl.DataFrame)


def test_parameters_of_parts_are_nested_and_parts_are_not_fitted_in_place():
    sanitizer = joint_release(PARTS["merged"])
    params = sanitizer.get_params()
    assert params["p__public"] == ["a", "b"]
    assert params["q"] is sanitizer.sanitizers[1][1]
    copy = clone(sanitizer).set_params(p__budget=0.1, q=Watchdog(public="c"), budget=2.0)
    assert copy.sanitizers[0][1].budget == 0.1
    assert isinstance(copy.sanitizers[1][1], Watchdog)
    assert sanitizer.sanitizers[0][1].budget == 0.4
    sanitizer.fit(table())
    assert not hasattr(sanitizer.sanitizers[0][1], "channel_")
    assert sanitizer.sanitizers[1][1].budget is None


def test_fitted_releases_are_pickled_and_channels_saved_as_text():
    df = table()
    sanitizer = joint_release(PARTS["optimal"]).fit(df)
    again = pickle.loads(pickle.dumps(sanitizer))
    assert again.transform(df).equals(sanitizer.transform(df))
    assert sz.Channel.from_json(sanitizer.channel_.to_json()) == sanitizer.channel_
    assert again.channel_.to_json() == sanitizer.channel_.to_json()


SAVED = {
    **{name: (parts, {}) for name, parts in PARTS.items()},
    "kept only": ([], {}),
    "nothing kept": (PARTS["merged"], {"keep": None}),
    # The merged symbols of one are drawn, then printed; those of the others are printed without a draw.
    "printed for sure": (
        [
            ("p", OptimalRandomResponse(0.3, public="a")),
            ("q", SubsetMerging(9.0, public="b")),
            ("r", SubsetMerging(9.0, public="c")),
        ],
        {"budget": sz.LiftBudget(lower=math.inf, upper=9.0)},
    ),
    "labels only": ([("p", SubsetMerging(0.4, public=["a", "b"], release="label"))], {"keep": None}),
}


@pytest.mark.parametrize("case", SAVED)
def test_a_saved_joint_release_draws_what_the_fitted_one_draws(case, source, tmp_path):
    parts, settings = SAVED[case]
    sanitizer = joint_release(parts, random_state=None, **settings)
    sz.privatize_parquet(source, tmp_path / "fitted.parquet", sanitizer, rows="keep", key=KEY)
    fitted = sz.SavedRelease.of(sanitizer)
    loaded = sz.SavedRelease.from_json(fitted.to_json(tmp_path / "saved.json"))
    assert loaded.to_json() == fitted.to_json()
    # The same rows and noise: what the fitted sanitizer wrote.
    bound, df = loaded.bound(), table(5000)
    codes = bound.encode(df)[0]
    drawn = bound.design.channel.sample(codes, NoiseKey(KEY))
    assert np.array_equal(drawn, sanitizer.channel_.sample(codes, NoiseKey(KEY)))
    printed = pa.table(bound.decode(drawn, NoiseKey(KEY)))
    assert printed.to_pylist() == pq.read_table(tmp_path / "fitted.parquet").to_pylist()
    # A file released by either: the same bytes.
    for rows in ("keep", "shuffle"):
        released = {}
        for name, saved in (("fitted", fitted), ("loaded", loaded)):
            target = tmp_path / f"{name}-{rows}.parquet"
            report = sz.privatize_parquet(source, target, saved, rows=rows, key=KEY)
            assert report.held_out.ok
            released[name] = target.read_bytes()
        assert released["fitted"] == released["loaded"]


def chain_of_parts(rng: np.random.Generator) -> Channel:
    """Two parts that merge, draw and draw again, and a kept one."""
    groups, sizes = [("a",), ("b", "c"), ("d",)], (4, 3, 2, 3)
    rows = np.unique(np.stack([rng.integers(0, size, 40) for size in sizes], axis=1), axis=0)
    inputs = sz.alphabet.Alphabet(("a", "b", "c", "d"), [tuple(row) for row in rows.tolist()])
    alphabets = Tuples.split(inputs, groups)[1]
    channels = []
    for name, alphabet in zip("ab", alphabets, strict=False):
        merged = Channel.merge(np.sort(np.unique(rng.integers(0, 3, len(alphabet)), return_inverse=True)[1]), alphabet)
        noise = rng.dirichlet(np.full(4, 0.5), merged.n_outputs)
        noisy = Channel.from_matrix(noise, merged.outputs, sz.alphabet.Alphabet.of_size(name, 4))
        channels.append(
            [
                merged.then(noisy),
                Channel.from_matrix(rng.dirichlet(np.ones(5), 4)).renamed(
                    noisy.outputs, sz.alphabet.Alphabet.of_size(name, 5)
                ),
            ]
        )
    return tuple_channel(inputs, groups, [*channels, []])


def test_chains_of_parts_come_back_from_text_with_their_draws():
    other_draws = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        channel = chain_of_parts(rng)
        back = Channel.from_json(channel.to_json())
        assert back == channel
        assert back.to_json() == channel.to_json()
        codes = rng.integers(0, channel.n_inputs, 3000)
        assert np.array_equal(back.sample(codes, KEY), channel.sample(codes, KEY))
        rows = tuple(Stage(stage.indptr, stage.indices, stage.weights, stage.n_outputs) for stage in channel.stages)
        plain = Channel(rows, channel.inputs, channel.outputs)
        other_draws += not np.array_equal(plain.sample(codes, KEY), channel.sample(codes, KEY))
        # Rows taken from a chain are written as rows: the same law.
        some = np.flatnonzero(rng.random(channel.n_inputs) < 0.7)
        stages = (channel.stages[0].take(some), *channel.stages[1:])
        taken = Channel(stages, channel.inputs.take(some), channel.outputs)
        assert Channel.from_json(taken.to_json()) == taken
    assert other_draws > 10  # a chain of rows has the same law and draws otherwise


PART_STAGE_FAULTS = {
    "no tuples": lambda stage: stage.update(tuples=None),
    "a part that is not there": lambda stage: stage.update(part=7),
    "a part that is no number": lambda stage: stage.update(part=True),
    "a kernel of another part": lambda stage: stage.update(
        kernel={"indptr": [0, 1], "indices": [0], "weights": [SCALE], "n_outputs": 1}
    ),
    "tuples out of order": lambda stage: stage["tuples"]["codes"].reverse(),
    "tuples twice": lambda stage: stage["tuples"]["codes"].__setitem__(1, stage["tuples"]["codes"][0]),
    "a symbol too far": lambda stage: stage["tuples"]["codes"][-1].__setitem__(0, 9),
    "a negative symbol": lambda stage: stage["tuples"]["codes"][0].__setitem__(1, -1),
    "half a symbol": lambda stage: stage["tuples"]["codes"][0].__setitem__(1, 0.5),
    "a huge size": lambda stage: stage["tuples"]["sizes"].__setitem__(0, 1 << 40),
    "a tuple less": lambda stage: stage["tuples"]["codes"].pop(),
    "a kernel that misses 1": lambda stage: stage["kernel"]["weights"].__setitem__(0, 1),
}


@pytest.mark.parametrize("fault", PART_STAGE_FAULTS)
def test_damaged_stages_of_parts_are_refused(fault):
    state = json.loads(joint_release(PARTS["response"], keep=None).fit(table()).channel_.to_json())
    stage = next(stage for stage in state["stages"] if "kernel" in stage)
    PART_STAGE_FAULTS[fault](stage)
    with pytest.raises(InvalidChannel):
        Channel.from_json(json.dumps(state))


def test_a_joint_release_is_a_step_of_a_pipeline():
    df = table()
    pipeline = make_pipeline(joint_release(PARTS["merged"], keep="k"), OneHotEncoder())
    assert pipeline.fit_transform(df).shape[0] == len(df)


def test_sensitive_columns_may_come_apart():
    df = table()
    whole = joint_release(PARTS["merged"]).fit(df)
    apart = joint_release(PARTS["merged"], sensitive=None)
    apart.fit(df.drop(columns=["ill", "rich"]), sensitive_features=df[["ill", "rich"]])
    assert apart.channel_ == whole.channel_


def test_bins_are_drawn_or_released_as_labels_part_by_part():
    df = table().assign(age=np.linspace(0, 100, 1500), pay=np.linspace(9, 1, 1500))
    sanitizer = joint_release(
        [
            ("p", SubsetMerging(public="age", bins={"age": [0, 50, 100]})),
            ("q", SubsetMerging(public="pay", bins={"pay": [1, 5, 9]}, release="label")),
        ],
        sz.LiftBudget(lower=9.0, upper=9.0),
        keep="k",
    )
    released = sanitizer.fit_transform(df)
    assert released["age"].nunique() > 1000
    assert np.array_equal(released["age"] < 50, df["age"] < 50)
    assert set(released["pay"]) == {"[1, 5)", "[5, 9]"}


def test_smoothing_of_a_part_is_its_own_and_the_verdict_is_about_the_raw_frequencies():
    df = table()
    parts = [("p", SubsetMerging(0.4, public=["a", "b"], smoothing=50.0)), ("q", Watchdog(public="c"))]
    sanitizer = joint_release(parts, sz.LiftBudget(lower=math.inf, upper=2.0)).fit(df)
    alone = SubsetMerging(0.4, sensitive=["ill", "rich"], public=["a", "b"], smoothing=50.0).fit(df)
    assert sanitizer.channels_["p"] == alone.channel_
    assert any("'p' was designed with smoothing 50" in note for note in sanitizer.report_.facts.warnings)
    expected = figures_of(exact_law(df, ["ill", "rich"], ["k", "day"], parts, sanitizer.channels_))
    assert sanitizer.report_.summary["max_log_lift"] == pytest.approx(expected["max_log_lift"], abs=1e-11)


def test_weights_count_like_repeated_rows():
    df = table(300)
    weights = np.random.default_rng(0).integers(0, 3, len(df))
    repeated = df.loc[df.index.repeat(weights)].reset_index(drop=True)
    one = joint_release(PARTS["merged"], sz.LiftBudget(lower=math.inf, upper=1.5)).fit(df, sample_weight=weights)
    other = joint_release(PARTS["merged"], sz.LiftBudget(lower=math.inf, upper=1.5)).fit(repeated)
    assert one.channel_.outputs == other.channel_.outputs
    assert one.report_.summary["max_log_lift"] == pytest.approx(other.report_.summary["max_log_lift"], abs=1e-9)


def test_missing_values_are_refused_in_any_column_when_asked():
    df = table()
    with pytest.raises(ColumnError, match="'b' has missing values"):
        joint_release(PARTS["merged"], missing="error").fit(df)
    kept = joint_release([("p", Watchdog(public="a"))], keep=["b"], missing="error")
    with pytest.raises(ColumnError, match="'b' has missing values"):
        kept.fit(df)


def test_kept_columns_alone_are_audited_against_the_budget():
    df = table()
    audit = joint_release([], keep=["k", "a"]).fit(df)
    assert audit.transform(df).equals(df[["k", "a"]])
    law = sz.JointDistribution.from_frame(df, ["ill", "rich"], ["k", "a"])
    assert audit.report_.summary["max_log_lift"] == pytest.approx(sz.lifts.max_log_lift(law).max(), abs=1e-12)
    with pytest.raises(BudgetExceeded):
        joint_release([], 0.1, keep=["k", "a"]).fit(df)


def test_the_report_lists_kept_columns_and_what_each_part_tells_by_itself():
    df = table()
    report = joint_release(PARTS["merged"]).fit(df).report_
    lines = report.to_frame("parts").set_index("part")
    assert lines["role"].to_dict() == {
        "p": "subset merging", "q": "subset merging", "k": "kept as it is", "day": "kept as it is",
    }  # fmt: skip
    day = sz.JointDistribution.from_frame(df, ["ill", "rich"], "day")
    assert lines.loc["day", "max_log_lift"] == pytest.approx(sz.lifts.max_log_lift(day).max())
    assert lines.loc["day", "normalized_utility"] == 1.0
    roles = report.to_frame("columns").set_index("column")["role"]
    assert roles["k"] == "kept as it is"
    assert roles["a"] == "released through the channel"
    assert not roles.index.duplicated().any()
    for audience in ("internal", "public"):
        document = report.to_dict(audience=audience)
        assert document["columns"]["kept"] == ["k", "day"]
        assert document["columns"]["released"] == ["a", "b", "c"]
        (section,) = document["sections"]
        assert [row[0].split(" (")[0] for row in section["rows"]] == ["p", "q", "k", "day"]
        assert "the figures count them together with everything else" in " ".join(
            report.to_html(audience=audience).split()
        )
        assert len(report.to_text(audience=audience).split("\n")) <= {"public": 32, "internal": 44}[audience]
    assert "day (kept as it is)" in report.to_html()


def test_rows_with_tuples_not_seen_at_fit_are_released_like_the_riskiest_one():
    df = table()
    sanitizer = joint_release(PARTS["merged"]).fit(df)
    strange = df.head(3).assign(a=[0, 1, 9])
    with pytest.warns(sz.errors.UnseenSymbolWarning, match="1 of 3 rows"):
        released = sanitizer.transform(strange)
    assert 9 not in released["a"].tolist()
    with pytest.raises(UnknownSymbol):
        joint_release(PARTS["merged"], handle_unknown="error").fit(df).transform(strange)


def test_measure_judges_other_rows_under_the_joint_channel():
    sanitizer = joint_release(PARTS["merged"], sz.LiftBudget(lower=math.inf, upper=0.8)).fit(table())
    other = table(seed=1)
    assert sanitizer.measure(table()).summary == sanitizer.report_.summary
    assert sanitizer.measure(other).summary["max_log_lift"] != sanitizer.report_.summary["max_log_lift"]


# ------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("parts", "settings", "error", "words"),
    [
        ([("p", Watchdog(public="a"))], {"keep": ["a"]}, ColumnError, "'a' is released twice"),
        ([("p", Watchdog(public="a")), ("q", Watchdog(public="a"))], {}, ColumnError, "'a' is released twice"),
        ([("p", Watchdog(public="a"))], {"keep": ["ill"]}, ColumnError, "'ill' is listed both"),
        ([("p", Watchdog(public="ill"))], {}, ColumnError, "'ill' is listed both"),
        ([("p", Watchdog(public="a", random_state=3))], {}, InvalidParameter, "'p': leave random_state"),
        ([("p", Watchdog(public="a", keep_sensitive=True))], {}, InvalidParameter, "'p': leave keep_sensitive"),
        ([("p", Watchdog(public="a", missing="error"))], {}, InvalidParameter, "'p': give missing to JointRelease"),
        ([("p", Watchdog(0.5, public="a", confidence=0.9))], {}, InvalidParameter, "'p': leave confidence at None"),
        ([("p", Watchdog(public="a", sensitive="ill"))], {}, ColumnError, "'p' has other sensitive columns"),
        ([("p", Watchdog()), ("q", Watchdog())], {}, ColumnError, "'p' and 'q' both have public=None"),
        ([("p", OptimalRandomResponse(public="a"))], {}, InvalidParameter, "'p' has no budget, and Optimal.*Watchdog"),
        ([("p", RandomizedResponse(public="a"))], {}, InvalidParameter, "'p' has no budget"),
        ([("p", Watchdog(public="a", smoothing=1.0))], {}, InvalidParameter, "smoothing must be 0"),
        ([("p", "merge")], {}, InvalidParameter, "'p' must be a sanitizer"),
        ([Watchdog(public="a")], {}, InvalidParameter, "list of \\(name, sanitizer\\)"),
        ([("p", Watchdog(public="a")), ("p", Watchdog(public="c"))], {}, ValueError, "not unique"),
        ([], {"keep": None}, InvalidParameter, "nothing to release"),
        ([("p", Watchdog(public="a"))], {"sensitive": None}, ColumnError, "what is sensitive"),
        ([("p", Watchdog(public="a"))], {"keep": "number"}, ColumnError, "'number' has a different value in most"),
        ([("p", Watchdog(public="nope"))], {}, ColumnError, "no column 'nope'"),
        ([("p", Watchdog(public="a"))], {"keep": "nope"}, ColumnError, "no column 'nope'"),
    ],
)  # fmt: skip
def test_contradictions_are_refused_by_name(parts, settings, error, words):
    df = table().assign(number=range(1500))
    with pytest.raises(error, match=words):
        joint_release(parts, **settings).fit(df)


def test_a_budget_is_required():
    with pytest.raises(InvalidBudget, match="no budget given"):
        JointRelease([("p", Watchdog(public="a"))], sensitive="ill").fit(table())


def test_a_part_over_the_budget_of_its_own_is_refused_whatever_the_joint_one(monkeypatch):
    from sanitize.transformers import _merging as _estimators

    monkeypatch.setattr(_estimators, "subset_merging", lambda joint, budget: sz.Channel.identity(len(joint.public)))
    df = table()
    with pytest.raises(BudgetExceeded) as caught:
        joint_release([("p", SubsetMerging(0.01, public="a"))], sz.LiftBudget(lower=math.inf, upper=math.inf)).fit(df)
    assert caught.value.report.public == ("a",)


def test_too_many_combinations_are_refused_with_the_columns(monkeypatch):
    df = table()
    monkeypatch.setattr("sanitize.channel._tuples._MOST_ENTRIES", 40)
    with pytest.raises(ColumnError, match=r"'a', 'b', 'c', 'k', 'day' cannot be released.* 144 combi"):
        joint_release(PARTS["response"]).fit(df)
    monkeypatch.setattr("sanitize.transformers._joint_design._MOST_CELLS", 40)
    with pytest.raises(ColumnError, match="cannot be designed given 4 combinations"):
        joint_release([("p", Watchdog(public="a"))]).fit(df)


# -------------------------------------------------------------------------------------------------- files


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "raw.parquet"
    table(5000).to_parquet(path, row_group_size=1300)
    return path


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
def test_files_hold_the_release_of_the_frame(source, tmp_path, rows):
    target = tmp_path / "released.parquet"
    sanitizer = joint_release(PARTS["merged"], random_state=None)
    report = sz.privatize_parquet(source, target, sanitizer, rows=rows, key=KEY, batch_rows=999)
    assert report.ok
    written = pq.read_table(target)
    assert written.column_names == ["a", "b", "c", "k", "day"]
    df = table(5000)
    frame = joint_release(PARTS["merged"], random_state=NoiseKey(KEY)).fit(df).transform(df)
    expected = [tuple(row.values()) for row in pa.Table.from_pandas(frame, preserve_index=False).to_pylist()]
    found = [tuple(row.values()) for row in written.to_pylist()]
    if rows == "keep":
        assert found == expected
    else:
        assert found != expected
        assert Counter(found) == Counter(expected)
    assert plan_parquet(source, joint_release(PARTS["merged"]), rows=rows).summary == report.summary


def test_workers_write_the_rows_of_one_machine(source, tmp_path):
    pytest.importorskip("dask")
    import sanitize.dask

    sanitizer = joint_release(PARTS["optimal"], random_state=None)
    for rows in ("keep", "shuffle"):
        alone, many = tmp_path / f"{rows}.parquet", tmp_path / f"{rows}"
        sz.privatize_parquet(source, alone, sanitizer, rows=rows, key=KEY)
        sanitize.dask.privatize_parquet(source, many, sanitizer, rows=rows, key=KEY, task_rows=1300)
        assert pq.read_table(many).equals(pq.read_table(alone))


def test_nothing_is_written_when_the_joint_budget_is_exceeded(source, tmp_path):
    parts = [("p", SubsetMerging(2.0, public=["a", "b"])), ("q", SubsetMerging(2.0, public="c"))]
    with pytest.raises(BudgetExceeded):
        sz.privatize_parquet(source, tmp_path / "released.parquet", joint_release(parts, 0.2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.parquet"]


def test_quantile_bins_of_a_part_are_refused_for_files(source, tmp_path):
    sanitizer = joint_release([("p", Watchdog(public="c", bins=2))])
    with pytest.raises(InvalidParameter, match="declare edges"):
        sz.privatize_parquet(source, tmp_path / "released.parquet", sanitizer)


@pytest.mark.parametrize(("own", "why"), [(None, "what is released before it"), (0.0, "its budget is too tight")])
def test_a_part_that_keeps_nothing_is_a_warning(own, why):
    frame = pd.DataFrame({"s": [0, 0, 1, 1] * 5, "x": [0, 0, 1, 1] * 5, "z": [0, 1, 0, 1] * 5})
    parts = [("x", SubsetMerging(own, public=["x"])), ("z", SubsetMerging(public=["z"]))]
    notes = JointRelease(parts, 0.0, sensitive="s").fit(frame).report_.facts.warnings
    assert [note for note in notes if "keeps nothing" in note and "'x'" in note and why in note]
    assert not any("'z' keeps nothing" in note for note in notes)
