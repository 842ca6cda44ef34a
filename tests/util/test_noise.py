"""Random words: keys, seeds, generators and the operating system."""

from __future__ import annotations

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from samplers_cases import GivenWords, keeping, uniform_weights

import sanitize as sz
from sanitize._util.sampling.alias_method import DenseTable
from sanitize._util.sampling.alias_table import AliasTable
from sanitize._util.sampling.noise import NoiseKey, is_secure, random_words
from sanitize._util.sampling.sampler import KeepTable, RedrawTable, UniformTable
from sanitize.core.channel import Channel
from sanitize.core.channel._stage import SCALE, Stage
from sanitize.errors import InvalidParameter


def test_stages_that_only_look_like_randomized_response_get_tables_of_their_own():
    weights = np.full(300, SCALE // 3)
    weights[5] += 1
    assert isinstance(keeping(weights).sampler, AliasTable)
    good = keeping(np.full(300, SCALE // 3))
    for place, output in ((10, 4), (11, 299)):
        indices = good.indices.copy()
        indices[place] = output
        assert isinstance(Stage(good.indptr, indices, good.weights, 301).sampler, AliasTable)
    uneven = uniform_weights(1000)
    uneven[[1, 900]] += [1, -1]
    assert isinstance(Stage(np.array([0, 1000]), np.arange(1000), uneven, 1000).sampler, DenseTable)
    later = uniform_weights(1000)[::-1]  # the larger ones last
    assert later[0] < later[-1]
    assert isinstance(Stage(np.array([0, 1000]), np.arange(1000), later, 1000).sampler, DenseTable)
    (first, second) = sz.randomized_response(1000, 1.0).stages
    assert isinstance(first.sampler, KeepTable)
    assert isinstance(second.sampler, RedrawTable)
    assert isinstance(second.sampler.common, UniformTable)
    swapped = second.indices.copy()
    swapped[[3, 4]] = [4, 3]
    assert not isinstance(Stage(second.indptr, swapped, second.weights, 1000).sampler, RedrawTable)


def test_the_same_seed_draws_the_same_and_another_seed_does_not():
    channel, codes = sz.randomized_response(50, 1.0), np.zeros(200, int)
    assert_array_equal(channel.sample(codes, 1), channel.sample(codes, 1))
    assert (channel.sample(codes, 1) != channel.sample(codes, 2)).any()


def test_unseeded_draws_differ():
    # False alarm: 2**-200.
    channel = Channel.from_matrix([[0.5, 0.5]])
    assert (channel.sample(np.zeros(200, int)) != channel.sample(np.zeros(200, int))).any()


@given(st.binary(min_size=32, max_size=32), st.integers(0, 5), st.integers(0, 2**40), st.integers(0, 50))
def test_keyed_words_are_random_access(key, lane, start, count):
    source = NoiseKey(key)
    sequential = source.words(lane, start - start % 4, start % 4 + count)[start % 4 :]
    assert_array_equal(source.words(lane, start, count), sequential)
    one_by_one = [source.words(lane, start + i, 1)[0] for i in range(count)]
    assert_array_equal(np.array(one_by_one, np.uint32), sequential)


@given(st.binary(min_size=32, max_size=32), st.integers(0, 5), st.integers(0, 2**40), st.integers(0, 50))
def test_other_sizes_of_keyed_words_are_random_access_too(key, lane, start, count):
    source = NoiseKey(key)
    halves = source.words(lane, start, count, np.uint16)
    assert (halves.dtype, len(halves)) == (np.uint16, count)
    one_by_one = [source.words(lane, start + i, 1, np.uint16)[0] for i in range(count)]
    assert_array_equal(np.array(one_by_one, np.uint16), halves)
    positions = np.arange(start, start + count)[::-1]
    leaps = source.words_at(lane, positions)
    assert (leaps.dtype, len(leaps)) == (np.uint64, count)
    one_by_one = [source.words_at(lane, positions[i : i + 1])[0] for i in range(count)]
    assert_array_equal(np.array(one_by_one, np.uint64), leaps)
    # Half of the lane's block of that number, as the words of the lane have it.
    blocks = [source.words(lane, 4 * int(position), 2) for position in positions]
    assert leaps.tolist() == [int(low) | int(high) << 32 for low, high in blocks]


def test_keyed_words_follow_the_published_aes_counter_mode():
    # NIST SP 800-38A, F.5.5: AES-256 in counter mode; words are the little-endian keystream.
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    keystream = bytes.fromhex("0bdf7df1591716335e9a8b15c860c502")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    lane, block = int.from_bytes(counter[:8], "big"), int.from_bytes(counter[8:], "big")
    assert NoiseKey(key).words(lane, 4 * block, 4).astype("<u4").tobytes() == keystream


def test_stages_of_one_channel_use_separate_words():
    # With shared words both coins would always fall alike. False alarm: 2**-500.
    coin = Channel.from_matrix([[0.5, 0.5], [0.5, 0.5]])
    first, both = coin.sample(np.zeros(500, int), 7), coin.then(coin).sample(np.zeros(500, int), 7)
    assert (first != both).any()


def test_a_key_never_shows_in_the_representation():
    assert "secret" not in repr(NoiseKey(b"secret" + b"0" * 26))


@pytest.mark.parametrize("bad", ["seed", 1.5, b"short", [1, 2], object(), np.random.default_rng(0)])
def test_other_sources_of_randomness_are_refused(bad):
    with pytest.raises(InvalidParameter):
        random_words(bad)


def test_sources_of_every_accepted_kind_give_words():
    for source in (None, 5, np.int64(5), b"k" * 32, np.random.RandomState(0)):
        words = random_words(source).words(0, 0, 10)
        assert (words.dtype, words.shape) == (np.uint32, (10,))
    assert_array_equal(random_words(5).words(0, 0, 10), random_words(np.int64(5)).words(0, 0, 10))


def test_only_keys_and_the_system_are_fit_for_release():
    assert is_secure(None)
    assert is_secure(b"k" * 32)
    assert not is_secure(3)
    state = np.random.RandomState(3)
    assert not is_secure(state)
    assert state.bytes(8) == np.random.RandomState(3).bytes(8)  # asking does not move it on


def test_a_random_state_advances():
    channel, rng = sz.randomized_response(50, 1.0), np.random.RandomState(0)
    assert (channel.sample(np.zeros(100, int), rng) != channel.sample(np.zeros(100, int), rng)).any()


@given(st.integers(1, 6).flatmap(strategies.stages))
def test_extreme_words_never_draw_an_output_of_probability_zero(matrix):
    channel = Channel.from_matrix(matrix)
    n_outputs = len(matrix[0])
    edges = {0, 2**32 - 1}
    for j in range(n_outputs + 1):
        edges |= {min(max(j * 2**32 // max(n_outputs, 1) + d, 0), 2**32 - 1) for d in (-1, 0, 1)}
    edges |= {min((j << 29) + d, 2**32 - 1) for j in range(9) for d in (0, 1)}
    words = np.array(sorted(edges), np.uint32)
    for x in range(len(matrix)):
        for second in (0, 2**64 - 1):
            drawn = channel.sample(np.full(len(words), x), GivenWords(words, np.full(len(words), second, np.uint64)))
            assert (matrix[x, drawn] > 0).all()
