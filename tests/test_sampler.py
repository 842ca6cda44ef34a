"""The sampler draws exactly the law of the integers, whatever the batches, and never what cannot occur."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

import sanitize as sz
from sanitize._guide import GuideTable
from sanitize._random import GeneratorWords, NoiseKey, is_secure, random_words
from sanitize._sampler import AliasTable, _alias_by_row, _alias_in_step
from sanitize._stage import SCALE, SCALE_BITS, Stage
from sanitize.channel import Channel
from sanitize.errors import InvalidChannel, InvalidParameter

BUILDERS = [_alias_by_row, _alias_in_step]
TAIL_BITS = SCALE_BITS - 32


class GivenWords:
    """Words from a list, half-words their upper halves; the second word of a row, asked for on a tie, from another."""

    def __init__(self, words, second=None):
        self.given = np.asarray(words, np.uint32)
        self.second = None if second is None else np.asarray(second, np.uint64)
        self.ties = 0

    def words(self, lane, start, count):
        assert lane % 2 == 0
        return self.given[start : start + count]

    def halfwords(self, lane, start, count):
        return (self.words(lane, start, count) >> 16).astype(np.uint16)

    def words_at(self, lane, positions):
        assert lane % 2 == 1
        assert self.second is not None, "no tie was expected"
        self.ties += len(positions)
        return self.second[positions]


def alias_table(stage: Stage) -> AliasTable:
    return AliasTable.build(stage.indptr, stage.indices, stage.weights, SCALE_BITS)


def guide_table(stage: Stage, bits: int) -> GuideTable:
    return GuideTable.build(stage.indptr, stage.indices, stage.weights, SCALE_BITS, bits)


def two_outputs(weight: int) -> Stage:
    """One input; output 0 has a weight out of 2**62, output 1 the rest."""
    return Stage(np.array([0, 2]), np.array([0, 1]), np.array([weight, SCALE - weight]), 2)


def mass_of_buckets(buckets, mass: int) -> list[int]:
    """Total mass that the buckets of one row give each output."""
    cut, first, second = (part.tolist() for part in buckets)
    total = [0] * len(cut)
    for threshold, one, other in zip(cut, first, second, strict=True):
        assert 0 <= threshold <= mass
        total[one] += threshold
        total[other] += mass - threshold
    return total


@st.composite
def integer_laws(draw):
    """Rows of 2**m integers that sum to 2**62; zeros, ties and lone giants included."""
    bits = draw(st.integers(0, 5))
    k = 1 << bits
    rows = []
    for _ in range(draw(st.integers(1, 20))):
        cells = draw(st.lists(st.one_of(st.just(0), st.integers(1, 3), st.integers(0, SCALE)), min_size=k, max_size=k))
        cells = [Fraction(c, max(sum(cells), 1)) for c in cells]
        row = [int(c * SCALE) for c in cells]
        row[draw(st.integers(0, k - 1))] += SCALE - sum(row)
        rows.append(row)
    return np.array(rows, np.int64), SCALE >> bits


@given(integer_laws())
def test_both_builders_share_out_exactly_the_integer_weights(case):
    law, mass = case
    for build in BUILDERS:
        cut, first, second = build(law.copy(), mass)
        for row in range(len(law)):
            assert mass_of_buckets((cut[row], first[row], second[row]), mass) == law[row].tolist()
            whole = cut[row] == mass
            assert_array_equal(first[row][whole], second[row][whole])


@pytest.mark.parametrize("n_rows", [1, 3, 40])  # few rows are built one by one, many in step
def test_the_table_of_a_stage_gives_each_output_its_integer_weight(n_rows):
    rng = np.random.default_rng(8)
    for n_outputs in (1, 2, 3, 5, 8, 33):
        rows = rng.random((n_rows, n_outputs)) ** 8
        rows[:, 0] += 0.01
        rows[:, 1:][rng.random((n_rows, n_outputs - 1)) < 0.3] = 0
        (stage,) = Channel.from_matrix(rows / rows.sum(axis=1, keepdims=True)).stages
        assert drawn_law(alias_table(stage), n_rows, stage.n_outputs) == oracles.stage_matrix(stage)


def drawn_law(table: AliasTable, n_rows: int, n_outputs: int) -> list[list[Fraction]]:
    """Law that the thresholds of a table draw: intervals of words and tails, added up."""
    law = [[Fraction(0)] * n_outputs for _ in range(n_rows)]
    ends = [*table.offset[1:].tolist(), len(table.lead)]
    for row in range(n_rows):
        start, width = int(table.offset[row]), 1 << int(table.shift[row])
        for bucket in range(start, ends[row]):
            words = range((bucket - start) * width, (bucket - start + 1) * width)
            lead, tail = int(table.lead[bucket]), int(table.tail[bucket])
            below = Fraction(min(max(lead - words.start, 0), width))
            if lead in words:
                below += Fraction(tail, 1 << TAIL_BITS)
            law[row][table.outputs[2 * bucket + 1]] += below / 2**32
            law[row][table.outputs[2 * bucket]] += (width - below) / 2**32
    return law


HALF_WORDS = np.arange(1 << 16, dtype=np.uint32) << 16
GUIDES = [8, 11, 16]


def counted(table, row: int, n_outputs: int, low_bits: int) -> np.ndarray:
    """Outputs drawn over all values of the leading half of the word."""
    second = None
    if isinstance(table, GuideTable):
        # Bits of the half-word below the cell are not used; the second word has to bring them.
        second = np.arange(1 << 16, dtype=np.uint64) << np.uint64(min(48 + table.bits, 63))
        second = second * np.uint64(table.bits < 16) | np.uint64(low_bits)
    else:
        second = np.full(1 << 16, low_bits, np.uint64)
    drawn = table.draw(np.full(1 << 16, row), GivenWords(HALF_WORDS | low_bits, second), 0, 0)
    return np.bincount(drawn, minlength=n_outputs)


@pytest.mark.parametrize("low_bits", [0, 0xFFFF])
@given(st.data())
@settings(max_examples=30)
def test_every_leading_half_word_is_counted_exactly(low_bits, data):
    # Probabilities are multiples of 2**-16, so the low bits of the word cannot matter.
    n_outputs = data.draw(st.integers(2, 9))
    cuts = data.draw(st.lists(st.integers(0, 1 << 16), min_size=n_outputs - 1, max_size=n_outputs - 1).map(sorted))
    counts = np.diff([0, *cuts, 1 << 16])
    (stage,) = Channel.from_matrix(counts[None, :] / 65536).stages
    for table in (alias_table(stage), *(guide_table(stage, bits) for bits in GUIDES)):
        assert_array_equal(counted(table, 0, n_outputs, low_bits), counts)


@pytest.mark.parametrize("n_outputs", [2, 3, 4, 7, 16, 100, 255, 1024])
def test_every_leading_half_word_is_counted_exactly_for_many_rows(n_outputs):
    rng = np.random.default_rng(n_outputs)
    counts = rng.multinomial(1 << 16, rng.dirichlet(np.full(n_outputs, 0.3)), size=24)
    (stage,) = Channel.from_matrix(counts / 65536).stages
    tables = [alias_table(stage), stage.sampler]
    if n_outputs <= 255:
        tables += [guide_table(stage, bits) for bits in GUIDES]
    for table in tables:
        for row in (0, 11, 23):
            assert_array_equal(counted(table, row, n_outputs, 0), counts[row])


@given(st.integers(1, 6).flatmap(strategies.stages), st.sampled_from(GUIDES), st.data())
def test_a_guide_draws_the_output_whose_share_holds_the_number(matrix, bits, data):
    # A draw is a number of 62 bits; shares are intervals in the order of the outputs. Their ends, the ends of
    # cells and some numbers between decide.
    (stage,) = Channel.from_matrix(matrix).stages
    row = data.draw(st.integers(0, stage.n_inputs - 1))
    entries = range(int(stage.indptr[row]), int(stage.indptr[row + 1]))
    borders = np.cumsum([int(stage.weights[e]) for e in entries], dtype=object)
    cell = SCALE >> bits
    numbers = {0, SCALE - 1, *data.draw(st.lists(st.integers(0, SCALE - 1), max_size=5))}
    for border in borders:
        numbers |= {border - 1, border, border // cell * cell - 1, border // cell * cell, (border // cell + 1) * cell}
    numbers = sorted(n for n in numbers if 0 <= n < SCALE)
    expected = [int(stage.indices[entries[bisect_right(borders, n)]]) for n in numbers]
    words = [n >> (SCALE_BITS - 16) << 16 for n in numbers]
    second = [n << (64 - SCALE_BITS + bits) & (2**64 - 1) for n in numbers]
    source = GivenWords(words, np.array(second, np.uint64))
    assert guide_table(stage, bits).draw(np.full(len(numbers), row), source, 0, 0).tolist() == expected


@pytest.mark.parametrize("tail", [1, 2, 1000, (1 << TAIL_BITS) - 1])
def test_a_tie_is_decided_by_thirty_more_bits(tail):
    # Output 0 has 2**20 words and `tail` of 2**30 tails: bucket 0 is cut inside word 2**20.
    table = alias_table(two_outputs((1 << 20 << TAIL_BITS) + tail))
    last = (1 << TAIL_BITS) - 1
    tails = np.unique(np.clip([0, 1, tail - 2, tail - 1, tail, tail + 1, last], 0, last)).astype(np.uint64)
    rows = np.zeros(len(tails), int)
    for low_bits in (0, (1 << 34) - 1):  # only the upper 30 bits of the second word count
        source = GivenWords(np.full(len(tails), 1 << 20), second=tails << np.uint64(34) | np.uint64(low_bits))
        drawn = table.draw(rows, source, 0, 0)
        assert source.ties == len(tails)
        assert_array_equal(drawn == 0, tails < tail)
    beside = GivenWords([(1 << 20) - 1, (1 << 20) + 1])
    assert table.draw(np.zeros(2, int), beside, 0, 0).tolist() == [0, 1]


def test_the_number_of_winning_tails_is_exactly_the_threshold():
    # All 4,096 values of the top 12 bits of the tail, for a threshold that is a multiple of 2**18.
    table = alias_table(two_outputs((5 << TAIL_BITS) + (1234 << (TAIL_BITS - 12))))
    for low_bits in (0, (1 << 52) - 1):
        second = np.arange(4096, dtype=np.uint64) << np.uint64(52) | np.uint64(low_bits)
        source = GivenWords(np.full(4096, 5), second)
        assert np.count_nonzero(table.draw(np.zeros(4096, int), source, 0, 0) == 0) == 1234
        assert source.ties == 4096


@given(st.integers(1, 5).flatmap(strategies.channels), st.integers(0, 2**32), st.integers(1, 60))
def test_draws_do_not_depend_on_the_batches(channel, seed, n_rows):
    codes = np.arange(n_rows) % channel.n_inputs
    whole = channel.sample(codes, seed)
    for size in (1, 7, 65536):
        parts = [channel.sample(codes[i : i + size], seed, start=i) for i in range(0, n_rows, size)]
        assert_array_equal(np.concatenate(parts), whole)


def test_draws_of_a_large_channel_do_not_depend_on_the_batches():
    # Two stages of which the second mixes inputs of one output with one of a thousand.
    channel, key = sz.randomized_response(1000, 2.0), b"k" * 32
    codes = np.random.default_rng(3).integers(0, 1000, 200_000)
    whole = channel.sample(codes, key)
    for size in (9973, 65536):
        parts = [channel.sample(codes[i : i + size], key, start=i) for i in range(0, len(codes), size)]
        assert_array_equal(np.concatenate(parts), whole)
    alone = [channel.sample(codes[i : i + 1], key, start=i)[0] for i in range(300)]
    assert_array_equal(alone, whole[:300])


@pytest.mark.parametrize("make", [alias_table, lambda stage: guide_table(stage, 8)])
def test_ties_do_not_depend_on_the_batches(make):
    # Most words tie in a source of small words, and each takes its second word by position.
    table = make(two_outputs((1 << TAIL_BITS) + (1 << (TAIL_BITS - 1))))
    rng = np.random.default_rng(4)
    words = rng.choice([0, 1, 1, 1], 1000)
    # Half of the seconds decide either way for both tables.
    second = rng.choice(np.array([0, 2**63 + 2**62], np.uint64), 1000)
    whole = table.draw(np.zeros(1000, int), GivenWords(words, second), 0, 0)
    assert 0 < np.count_nonzero(whole) < 1000
    for size in (1, 7):
        parts = [
            table.draw(np.zeros(min(size, 1000 - i), int), GivenWords(words, second), 0, i)
            for i in range(0, 1000, size)
        ]
        assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("n_rows", [1, 40])
def test_a_packed_table_draws_what_the_plain_one_draws(n_rows):
    rng = np.random.default_rng(n_rows)
    (stage,) = Channel.from_matrix(rng.dirichlet(np.full(300, 0.2), n_rows)).stages
    packed = alias_table(stage)
    plain = replace(packed, packed=None, _lead=packed.lead, _outputs=packed.outputs.astype(np.int32))
    codes = rng.integers(0, n_rows, 50_000)
    assert packed.packed is not None
    assert_array_equal(packed.draw(codes, NoiseKey(bytes(32)), 0, 5), plain.draw(codes, NoiseKey(bytes(32)), 0, 5))
    # Where all words tie, second words decide in both.
    tied = two_outputs((1 << 20 << TAIL_BITS) + (1 << 29))
    one = alias_table(tied)
    other = replace(one, packed=None, _lead=one.lead, _outputs=one.outputs.astype(np.int32))
    second = rng.integers(0, 1 << 63, 1000).astype(np.uint64) << np.uint64(1)
    words = GivenWords(np.full(1000, 1 << 20), second)
    drawn = one.draw(np.zeros(1000, int), words, 0, 0)
    assert 0 < drawn.sum() < 1000
    assert_array_equal(drawn, other.draw(np.zeros(1000, int), words, 0, 0))


def test_outputs_beyond_sixteen_bits_are_drawn_whole():
    indices = np.array([3, 65_535, 65_536, 70_001])
    stage = Stage(np.array([0, 2, 4]), indices, np.full(4, SCALE // 2), 70_002)
    table = alias_table(stage)
    assert table.packed is None
    drawn = table.draw(np.repeat([0, 1], 500), NoiseKey(bytes(32)), 0, 0)
    assert set(drawn[:500]) == {3, 65_535}
    assert set(drawn[500:]) == {65_536, 70_001}


@pytest.mark.parametrize("sizes", [[1, 3, 40, 1, 900, 2], [5, 8, 6], [1, 1, 1]])
def test_rows_of_any_sizes_get_their_integer_weights(sizes):
    """As many buckets for all rows where that costs little, as many as each needs where it costs much."""
    rng = np.random.default_rng(len(sizes))
    rows = np.zeros((len(sizes), max(sizes)))
    for row, size in zip(rows, sizes, strict=True):
        row[rng.choice(len(row), size, replace=False)] = rng.random(size) + 0.01
    (stage,) = Channel.from_matrix(rows / rows.sum(axis=1, keepdims=True)).stages
    expected = oracles.stage_matrix(stage)
    for most in (0, 1 << 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sanitize._sampler._SMALL_BUCKETS", most)
            table = alias_table(stage)
        assert drawn_law(table, len(sizes), stage.n_outputs) == expected
        assert len(set(sizes)) == 1 or most or table.bits is None or max(sizes) < 10


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
    halves = source.halfwords(lane, start, count)
    assert (halves.dtype, len(halves)) == (np.uint16, count)
    one_by_one = [source.halfwords(lane, start + i, 1)[0] for i in range(count)]
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


def test_lanes_and_labels_are_separate_streams():
    source = NoiseKey.from_seed(0)
    streams = [
        source.words(0, 0, 64),
        source.words(1, 0, 64),
        source.derive("file").words(0, 0, 64),
        source.derive("other").words(0, 0, 64),
        NoiseKey.from_seed(1).words(0, 0, 64),
    ]
    assert len({stream.tobytes() for stream in streams}) == len(streams)
    assert_array_equal(source.derive("file").words(0, 0, 64), streams[2])


def test_stages_of_one_channel_use_separate_words():
    # With shared words both coins would always fall alike. False alarm: 2**-500.
    coin = Channel.from_matrix([[0.5, 0.5], [0.5, 0.5]])
    first, both = coin.sample(np.zeros(500, int), 7), coin.then(coin).sample(np.zeros(500, int), 7)
    assert (first != both).any()


def test_a_key_never_shows_in_the_representation():
    assert "secret" not in repr(NoiseKey(b"secret" + b"0" * 26))


@pytest.mark.parametrize("bad", ["seed", 1.5, b"short", [1, 2], object()])
def test_other_sources_of_randomness_are_refused(bad):
    with pytest.raises(InvalidParameter):
        random_words(bad)


def test_sources_of_every_accepted_kind_give_words():
    for source in (None, 5, np.int64(5), b"k" * 32, np.random.default_rng(0), np.random.RandomState(0)):
        words = random_words(source).words(0, 0, 10)
        assert (words.dtype, words.shape) == (np.uint32, (10,))
    assert_array_equal(random_words(5).words(0, 0, 10), random_words(np.int64(5)).words(0, 0, 10))
    assert isinstance(random_words(np.random.default_rng(0)), GeneratorWords)


def test_only_keys_and_the_system_are_fit_for_release():
    assert is_secure(None)
    assert is_secure(b"k" * 32)
    assert not is_secure(3)
    assert not is_secure(np.random.default_rng(3))


def test_a_numpy_generator_advances():
    channel, rng = sz.randomized_response(50, 1.0), np.random.default_rng(0)
    assert (channel.sample(np.zeros(100, int), rng) != channel.sample(np.zeros(100, int), rng)).any()


@pytest.mark.parametrize("source", [11, "generator"])
def test_draws_follow_the_matrix(source):
    # Nine chi-square tests at 1e-6 each: a false alarm in 1 of 100,000 choices of the seed, which is fixed.
    rng = np.random.default_rng(11) if source == "generator" else source
    matrix = np.random.default_rng(5).dirichlet(np.full(7, 0.5), size=5)
    matrix[0, 3:] = 0
    matrix[0] /= matrix[0].sum()
    channels = [
        Channel.from_matrix(matrix),
        Channel.from_matrix(matrix).then(Channel.from_matrix(np.roll(np.eye(7), 1, axis=1) * 0.7 + 0.3 / 7)),
        sz.randomized_response(300, 3.0),
    ]
    for channel in channels:
        dense = channel.matrix
        for x in (0, 1, 4):
            drawn = np.bincount(channel.sample(np.full(200_000, x), rng), minlength=channel.n_outputs)
            seen = dense[x] > 0
            assert drawn[~seen].sum() == 0
            assert chisquare(drawn[seen], 200_000 * dense[x][seen] / dense[x][seen].sum()).pvalue > 1e-6


@given(st.integers(1, 5).flatmap(strategies.channels), st.integers(0, 2**32))
def test_outputs_of_probability_zero_are_never_drawn(channel, seed):
    codes = np.arange(1000) % channel.n_inputs
    assert (channel.matrix[codes, channel.sample(codes, seed)] > 0).all()


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


@pytest.mark.parametrize("codes", [[-1], [2], [0, 1, 2], [2**31], [2**32]])
def test_codes_out_of_range_are_refused(codes):
    with pytest.raises(InvalidChannel, match="between 0 and 1"):
        Channel.from_matrix([[0.5, 0.5], [0.5, 0.5]]).sample(codes)


@pytest.mark.parametrize("codes", [[0.0], [[0]], ["a"], 0, [True]])
def test_codes_that_are_not_a_row_of_integers_are_refused(codes):
    with pytest.raises(InvalidChannel, match="one-dimensional"):
        Channel.from_matrix([[0.5, 0.5], [0.5, 0.5]]).sample(codes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64, np.int64])
def test_codes_of_every_integer_type_draw_the_same(dtype):
    channel, codes = sz.randomized_response(100, 1.0), np.arange(100)
    before = codes.astype(dtype)
    assert_array_equal(channel.sample(before, 3), channel.sample(codes, 3))
    assert_array_equal(before, codes)


def test_no_rows_draw_nothing():
    assert sz.randomized_response(5, 1.0).sample([]).tolist() == []
