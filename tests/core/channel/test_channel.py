"""Channels: exact integers, composition, Bayes, round trips, and memory linear in the symbols."""

from __future__ import annotations

import copy
import json
import math
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sanitize as sz
from sanitize.core.alphabet import Alphabet
from sanitize.core.channel import Channel
from sanitize.core.channel._stage import SCALE, Stage
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidChannel

HALF = [[0.75, 0.25], [0.25, 0.75]]
LARGE = 100_000


def any_channel(max_inputs: int = 6):
    return st.integers(1, max_inputs).flatmap(strategies.channels)


@given(st.integers(1, 8).flatmap(strategies.stages))
def test_rows_are_positive_integers_that_sum_exactly(matrix):
    (stage,) = Channel.from_matrix(matrix).stages
    assert (stage.weights > 0).all()
    for row in oracles.stage_matrix(stage):
        assert sum(row) == 1


@given(st.integers(1, 8).flatmap(strategies.stages))
def test_support_is_kept_and_probabilities_move_by_less_than_a_rounding(matrix):
    channel = Channel.from_matrix(matrix)
    assert_array_equal(channel.matrix > 0, matrix > 0)
    assert_allclose(channel.matrix, matrix, atol=1e-15)


@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_rows_of_dyadic_probabilities_are_kept_exactly(n_x, n_y, data):
    cuts = st.lists(st.integers(0, 1024), min_size=n_y - 1, max_size=n_y - 1).map(sorted)
    rows = [np.diff([0, *data.draw(cuts), 1024]) / 1024 for _ in range(n_x)]
    channel = Channel.from_matrix(rows)
    assert oracles.channel_matrix(channel) == [[Fraction(p) for p in row] for row in rows]


def test_tiny_probabilities_stay_positive():
    tiny = 1e-300
    channel = Channel.from_matrix([[1.0, tiny], [tiny, 1.0]])
    assert oracles.channel_matrix(channel)[0] == [1 - Fraction(1, SCALE), Fraction(1, SCALE)]
    assert channel.matrix[0, 1] == 2.0**-62


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "row 0 .* sums to 0.9"),
        ([[0.5, 0.5], [0.5, 0.5 + 1e-8]], "row 1"),
        ([[1.5, -0.5]], "negative"),
        ([[np.nan, 1.0]], "finite"),
        ([[np.inf, 0.0]], "finite"),
        ([[1.0, 0.0], [0.0, 0.0]], "row 1 .* sums to 0"),
        ([0.5, 0.5], "shape"),
        ([[[1.0]]], "shape"),
        ([[]], "shape"),
        (np.zeros((0, 2)), "shape"),
    ],
)
def test_matrices_that_are_not_channels_are_refused(matrix, message):
    with pytest.raises(InvalidChannel, match=message):
        Channel.from_matrix(matrix)


def test_alphabets_must_fit_and_stages_must_chain():
    with pytest.raises(InvalidChannel, match="inputs and outputs must have"):
        Channel.from_matrix(HALF, inputs=Alphabet.from_size("x", 3))
    with pytest.raises(InvalidChannel, match="inputs and outputs must have"):
        Channel.from_matrix(HALF, outputs=Alphabet.from_size("y", 1))
    with pytest.raises(InvalidChannel, match="with 3 inputs cannot follow a channel with 2 outputs"):
        Channel.from_matrix(HALF).then(Channel.identity(3))
    with pytest.raises(InvalidChannel, match="with 1 inputs cannot follow"):
        Channel((Stage.deterministic(np.array([0, 1]), 2), Stage.deterministic(np.array([0]), 1)))
    with pytest.raises(InvalidChannel, match="at least one stage"):
        Channel(())


BROKEN_STAGES = {
    "too much": ([0, 2], [0, 1], [SCALE, 1]),
    "too little": ([0, 2], [0, 1], [SCALE // 2, SCALE // 2 - 1]),
    "a zero": ([0, 2], [0, 1], [SCALE, 0]),
    "an output too far": ([0, 1], [2], [SCALE]),
    "a negative output": ([0, 1], [-1], [SCALE]),
    "an empty row": ([0, 0, 1], [0], [SCALE]),
    "entries missing": ([0, 2], [0], [SCALE]),
    "an output that is 0 in 32 bits": ([0, 1], [2**32], [SCALE]),
    "five times 2**62, which is 2**62 in 64 bits": ([0, 5], [0, 1, 2, 3, 4], [SCALE] * 5),
    "one output twice": ([0, 2], [0, 0], [SCALE // 2, SCALE // 2]),
}


@pytest.mark.parametrize("kind", BROKEN_STAGES)
def test_stages_that_break_an_invariant_are_refused(kind):
    indptr, indices, weights = BROKEN_STAGES[kind]
    n_outputs = 5 if len(indices) == 5 else 2
    with pytest.raises(InvalidChannel):
        Stage(np.array(indptr), np.array(indices), np.array(weights), n_outputs)


def test_the_first_of_the_largest_entries_of_a_row_takes_what_rounding_left():
    rng = np.random.default_rng(21)
    for _ in range(50):
        sizes = rng.integers(1, 9, 6)
        indptr = np.append(0, np.cumsum(sizes))
        masses = rng.integers(1, 4, indptr[-1]) / rng.integers(1, 9)
        sums = np.add.reduceat(masses, indptr[:-1])
        outputs = np.concatenate([np.sort(rng.choice(9, size, replace=False)) for size in sizes])
        made = Stage.from_masses(indptr, outputs, masses, sums, 9)
        assert_array_equal(Stage(made.indptr, made.indices, made.weights, 9).weights, made.weights)
        for first, end, total in zip(indptr, indptr[1:], sums, strict=False):
            row = [max(round(mass / total * SCALE), 1) for mass in masses[first:end].tolist()]
            row[row.index(max(row))] += SCALE - sum(row)
            assert made.weights[first:end].tolist() == row


def test_a_distribution_passes_a_stage_as_the_dense_product_says():
    rng = np.random.default_rng(22)
    for density in (0.2, 0.7, 1.0):
        matrix = rng.random((12, 9)) * (rng.random((12, 9)) < density)
        matrix[:, 4] += 0.1
        (stage,) = Channel.from_matrix(matrix / matrix.sum(axis=1, keepdims=True)).stages
        pmf = rng.random((5, 12))
        assert_allclose(stage.push(pmf), pmf @ stage.probabilities.toarray(), atol=1e-15)


@pytest.mark.parametrize(
    "labels",
    [[0.5, 1.5], [-1, 0], [], [[0, 1]], ["a", "b"]],
    ids=["fractions", "negative", "none", "nested", "text"],
)
def test_group_labels_must_be_whole_numbers(labels):
    with pytest.raises(InvalidChannel):
        Channel.merge(labels)


@given(any_channel(), st.data())
def test_then_multiplies_the_matrices(channel, data):
    other = data.draw(strategies.channels(channel.n_outputs))
    both = channel.then(other)
    exact = oracles.product(oracles.channel_matrix(channel), oracles.channel_matrix(other))
    assert oracles.channel_matrix(both) == exact
    assert_allclose(both.matrix, np.array(exact, float), atol=1e-14)
    assert (both.inputs, both.outputs) == (channel.inputs, other.outputs)


@given(any_channel(), st.data())
def test_then_is_associative(a, data):
    b = data.draw(strategies.channels(a.n_outputs))
    c = data.draw(strategies.channels(b.n_outputs))
    # Not always of the same stages: two that swap symbols back and forth are none if they meet first.
    assert oracles.channel_matrix(a.then(b).then(c)) == oracles.channel_matrix(a.then(b.then(c)))


@given(any_channel())
def test_the_identity_changes_nothing(channel):
    before = Channel.identity(channel.n_inputs, channel.inputs).then(channel)
    after = channel.then(Channel.identity(channel.n_outputs, channel.outputs))
    assert oracles.channel_matrix(before) == oracles.channel_matrix(channel) == oracles.channel_matrix(after)
    assert len(after.stages) == len(channel.stages)


@given(strategies.joints_and_channels())
def test_push_equals_the_dense_product(case):
    joint, channel = case
    assert_allclose(channel.push(joint.pmf), joint.pmf @ channel.matrix, atol=1e-15)
    exact = oracles.push(oracles.exact(joint.pmf), oracles.channel_matrix(channel))
    assert_allclose(channel.push(joint.pmf), np.array(exact, float), atol=1e-14)


@given(strategies.joints_and_channels())
def test_a_release_drops_only_symbols_that_cannot_occur(case):
    joint, channel = case
    exact = oracles.push(oracles.exact(joint.pmf), oracles.channel_matrix(channel))
    possible = [y for y in range(channel.n_outputs) if any(row[y] for row in exact)]
    released = joint.push(channel)
    assert_allclose(released.pmf, np.array(exact, float)[:, possible], atol=1e-14)
    assert released.public.symbols == tuple(channel.outputs.symbols[y] for y in possible)
    assert_allclose(released.p_s, joint.p_s, atol=1e-14)


@pytest.mark.slow
@given(strategies.joints_and_channels())
def test_reversed_is_bayes_rule_and_restores_the_margin(case):
    joint, channel = case
    reachable = channel.matrix.sum(axis=0) > 0
    assume(reachable.all())
    back = channel.reversed(joint.p_x)
    forward = channel.matrix * joint.p_x[:, None]
    assert_allclose(back.matrix, (forward / forward.sum(axis=0)).T, atol=1e-12)
    assert (back.inputs, back.outputs) == (channel.outputs, channel.inputs)
    assert_allclose(channel.then(back).push(joint.p_x[None, :])[0], joint.p_x, atol=1e-12)


def test_what_only_unprinted_symbols_lead_to_is_printed_as_any_other():
    channel = Channel.from_matrix([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    back = channel.reversed(np.array([0.3, 0.6, 0.0])).matrix
    assert_allclose(back, [[1, 0, 0], [0.2, 0.8, 0], [1 / 3, 2 / 3, 0]], atol=1e-12)


@given(any_channel())
def test_json_and_pickle_give_the_channel_back(channel):
    for back in (
        Channel.from_json(channel.to_json()),
        pickle.loads(pickle.dumps(channel)),
        copy.deepcopy(channel),
    ):
        assert back == channel
        assert hash(back) == hash(channel)
        assert oracles.channel_matrix(back) == oracles.channel_matrix(channel)


def test_json_keeps_symbols_of_any_kind():
    inputs = Alphabet(("town", "age"), [("A", 1.5), ("B", None), (None, 2.5)])
    outputs = Alphabet(("group",), ["low", "high"])
    channel = Channel.from_matrix([[1, 0], [0.5, 0.5], [0, 1]], inputs, outputs)
    back = Channel.from_json(channel.to_json())
    assert (back.inputs.symbols, back.outputs.symbols) == (inputs.symbols, outputs.symbols)


def _tampered(change) -> str:
    state = json.loads(Channel.from_matrix(HALF).to_json())
    change(state)
    return json.dumps(state)


def _entry(part: str, position: int, value: int) -> str:
    return _tampered(lambda state: state["stages"][0][part].__setitem__(position, value))


NOT_CHANNELS = {
    "no JSON": "not json",
    "a list": "[]",
    "nothing": "{}",
    "another format": _tampered(lambda state: state.update(format="other")),
    "another version": _tampered(lambda state: state.update(version=99)),
    "another scale": _tampered(lambda state: state.update(scale_bits=32)),
    "a row that misses 1": _entry("weights", 0, 1),
    "a negative weight": _entry("weights", 0, -1),
    "an output too far": _entry("indices", 0, 7),
    "an output that is 1 in 32 bits": _entry("indices", 1, 2**32 + 1),
    "one output twice": _entry("indices", 1, 0),
    "an output without a symbol": _tampered(lambda state: state["stages"][0].update(n_outputs=3)),
    "no stage": _tampered(lambda state: state.update(stages=[])),
    "stages missing": _tampered(lambda state: state.pop("stages")),
    "weights missing": _tampered(lambda state: state["stages"][0].pop("weights")),
    "symbols missing": _tampered(lambda state: state.pop("inputs")),
}


@pytest.mark.parametrize("kind", NOT_CHANNELS)
def test_json_that_is_not_a_channel_is_refused(kind):
    with pytest.raises(InvalidChannel):
        Channel.from_json(NOT_CHANNELS[kind])


def test_the_form_on_disk_stays():
    state = json.loads(Channel.from_matrix(HALF).to_json())
    assert list(state) == ["format", "version", "scale_bits", "inputs", "outputs", "stages"]
    assert (state["version"], state["stages"][0]["n_outputs"]) == (1, 2)
    assert list(state["stages"][0]) == ["indptr", "indices", "weights", "n_outputs"]


def test_channels_are_frozen_after_every_kind_of_copy():
    channel = Channel.from_matrix(HALF)
    for back in (channel, pickle.loads(pickle.dumps(channel)), copy.deepcopy(channel)):
        with pytest.raises(AttributeError):
            back.stages = ()
        for array in (back.stages[0].weights, back.stages[0].indices, back.stages[0].indptr):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_equality_looks_at_the_kernel_and_the_symbols():
    channel = Channel.from_matrix(HALF)
    assert channel == Channel.from_matrix(HALF)
    assert channel != Channel.from_matrix([[0.25, 0.75], [0.75, 0.25]])
    assert channel != channel.renamed(outputs=Alphabet.from_n_labels("z", 2, lambda: ["p", "q"]))
    assert channel != "channel"


def test_neighbouring_deterministic_stages_become_one():
    channel = Channel.merge([0, 1, 1, 2]).then(Channel.merge([0, 1, 0])).then(Channel.merge([1, 0]))
    assert len(channel.stages) == 1
    assert_array_equal(channel.matrix, [[0, 1], [1, 0], [1, 0], [0, 1]])


def test_a_dense_matrix_of_a_large_channel_is_refused():
    with pytest.raises(InvalidChannel, match="too large"):
        _ = Channel.identity(LARGE).matrix


def _peak_megabytes(action):
    tracemalloc.start()
    try:
        result = action()
        return result, tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def _entries(channel: Channel) -> int:
    return sum(len(stage.indices) for stage in channel.stages)


def _uniform_joint(n: int) -> JointDistribution:
    return JointDistribution.from_matrix(np.full((2, n), 0.5 / n))


def test_randomized_response_over_many_symbols_is_linear_and_matches_its_closed_forms():
    joint = _uniform_joint(LARGE)

    def measure():
        channel = sz.randomized_response(LARGE, 1.0)
        return channel, sz.core.measures.utility(joint, channel), sz.ldp_epsilon(channel), joint.push(channel)

    (channel, kept, epsilon, released), peak = _peak_megabytes(measure)
    assert peak < 200
    assert _entries(channel) <= 4 * LARGE
    keep = math.e / (math.e + LARGE - 1)
    other = 1 / (math.e + LARGE - 1)
    assert kept == pytest.approx(math.log(LARGE) + keep * math.log(keep) + (1 - keep) * math.log(other), abs=1e-9)
    assert epsilon == pytest.approx(1.0, abs=1e-9)
    assert_allclose(released.p_x, 1 / LARGE, rtol=1e-9)


def test_resampling_inside_groups_of_many_symbols_is_linear_and_matches_its_closed_form():
    n_groups = 1000
    labels = np.arange(LARGE) % n_groups
    p_x = np.arange(1, LARGE + 1) / (LARGE * (LARGE + 1) / 2)
    joint = JointDistribution.from_matrix(np.stack([p_x / 2, p_x / 2]))

    def measure():
        merged = Channel.merge(labels)
        channel = merged.then(merged.reversed(p_x))
        return channel, sz.core.measures.utility(joint, channel), sz.ldp_epsilon(channel), joint.push(channel)

    (channel, kept, epsilon, released), peak = _peak_megabytes(measure)
    assert peak < 200
    assert _entries(channel) == 2 * LARGE
    groups = np.bincount(labels, weights=p_x)
    assert kept == pytest.approx(-groups @ np.log(groups), rel=1e-9)
    assert epsilon == math.inf
    assert_allclose(released.p_x, p_x, rtol=1e-9)


def test_randomized_response_after_merging_is_measured_in_linear_memory():
    n_groups = 20_000
    channel = Channel.merge(np.arange(LARGE) % n_groups).then(sz.randomized_response(n_groups, 2.0))
    epsilon, peak = _peak_megabytes(lambda: sz.ldp_epsilon(channel))
    assert peak < 200
    assert epsilon == pytest.approx(2.0, abs=1e-9)


def test_merging_after_randomized_response_is_measured_in_linear_memory(monkeypatch):
    from sanitize.core.channel import _matrix as _rows

    monkeypatch.setattr(_rows, "CHANNEL_CELLS", 0)  # take the route of large alphabets at a size that stays cheap
    n = 2000
    channel = sz.randomized_response(n, 2.0).then(Channel.merge(np.arange(n) // 2))
    joint = _uniform_joint(n)
    (kept, epsilon), peak = _peak_megabytes(lambda: (sz.core.measures.utility(joint, channel), sz.ldp_epsilon(channel)))
    scale = math.exp(2.0) + n - 1
    mine, theirs = (math.exp(2.0) + 1) / scale, 2 / scale
    expected = math.log(n / 2) + mine * math.log(mine) + (n / 2 - 1) * theirs * math.log(theirs)
    assert kept == pytest.approx(expected, abs=1e-9)
    assert epsilon == pytest.approx(math.log((math.exp(2.0) + 1) / 2), abs=1e-9)
    assert peak < 10


def test_large_two_stage_entropies_agree_with_the_dense_route(monkeypatch):
    from sanitize.core.channel import _matrix as _rows

    joint = JointDistribution.from_matrix(np.arange(1, 601)[None, :] / (600 * 601 / 2))
    channel = sz.randomized_response(600, 3.0)
    dense = sz.core.measures.utility(joint, channel), sz.ldp_epsilon(channel)
    monkeypatch.setattr(_rows, "CHANNEL_CELLS", 0)
    assert_allclose((sz.core.measures.utility(joint, channel), sz.ldp_epsilon(channel)), dense, rtol=1e-12)


def test_integers_of_randomized_response_survive_json_exactly():
    channel = sz.randomized_response(300, 1.0)
    assert Channel.from_json(channel.to_json()) == channel
    assert sum(map(int, channel.stages[0].weights)) == 300 * SCALE
