"""The sampler draws exactly the distribution of the integers, whatever the batches, and never what cannot occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from samplers_cases import GivenWords, keeping, uniform_weights
from scipy.stats import chisquare

import sanitize as sz
from sanitize._util.sampling.alias_method import DenseTable, _alias_by_row, _alias_in_step
from sanitize._util.sampling.alias_table import AliasTable
from sanitize._util.sampling.noise import NoiseKey
from sanitize._util.sampling.sampler import KeepTable, RedrawTable, UniformTable, draw_all
from sanitize.core.channel import Channel
from sanitize.core.channel._stage import SCALE, SCALE_BITS, Stage
from sanitize.errors import InvalidChannel

BUILDERS = [_alias_by_row, _alias_in_step]


def alias_table(stage: Stage) -> AliasTable:
    return AliasTable.build(stage.indptr, stage.indices, stage.weights, SCALE_BITS)


def dense_table(stage: Stage) -> DenseTable:
    return DenseTable.build(stage.indptr, stage.indices, stage.weights, stage.n_outputs, SCALE_BITS)


def tables_of(stage: Stage) -> list[AliasTable | DenseTable]:
    """All tables that can draw from a stage with rows of any form."""
    return [alias_table(stage), *([dense_table(stage)] if stage.n_outputs > 1 else [])]


def draws(table, rows, source, lane=0, start=0) -> np.ndarray:
    return draw_all([table.drawing(source, lane, start)], np.asarray(rows), np.empty(len(rows), np.int32))


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
def integer_distributions(draw):
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


@pytest.mark.slow
@given(integer_distributions())
def test_both_builders_share_out_exactly_the_integer_weights(case):
    distribution, mass = case
    for build in BUILDERS:
        cut, first, second = build(distribution.copy(), mass)
        for row in range(len(distribution)):
            assert mass_of_buckets((cut[row], first[row], second[row]), mass) == distribution[row].tolist()
            whole = cut[row] == mass
            assert_array_equal(first[row][whole], second[row][whole])


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 3, 40])  # few rows are built one by one, many in step
def test_the_table_of_a_stage_gives_each_output_its_integer_weight(n_rows):
    rng = np.random.default_rng(8)
    for n_outputs in (1, 2, 3, 5, 8, 33, 300):
        rows = rng.random((n_rows, n_outputs)) ** 8
        rows[:, 0] += 0.01
        full = rows.copy()
        rows[:, 1:][rng.random((n_rows, n_outputs - 1)) < 0.3] = 0
        for matrix in (rows, full):
            (stage,) = Channel.from_matrix(matrix / matrix.sum(axis=1, keepdims=True)).stages
            for table in tables_of(stage):
                assert drawn_distribution(table, n_rows, stage.n_outputs) == oracles.stage_matrix(stage)


def buckets_of(table: AliasTable | DenseTable, row: int) -> list[tuple[int, int, int, int, int]]:
    """Numbers of 62 bits at which each bucket of a row begins, is cut and ends, and its two outputs."""
    if isinstance(table, DenseTable):
        m, first = table.bits, row << table.bits
        width = SCALE >> m
        second = (table.packed & table.packed.dtype.type((1 << m) - 1)).tolist()
        cuts = table.threshold.tolist()
        return [(j * width, j * width + cuts[first + j], (j + 1) * width, j, second[first + j]) for j in range(1 << m)]
    extra = SCALE_BITS - 8 * table.lead.dtype.itemsize
    first = int(table.offset[row])
    width = 1 << int(table.shift[row]) << extra
    found = []
    for j in range(SCALE // width):
        cut = (int(table.lead[first + j]) << extra) + int(table.tail[first + j])
        outputs = divmod(int(table.pair[first + j]), 1 << 4 * table.pair.itemsize)
        found.append((j * width, min(max(cut, j * width), (j + 1) * width), (j + 1) * width, *outputs))
    return found


def drawn_distribution(table: AliasTable | DenseTable, n_rows: int, n_outputs: int) -> list[list[Fraction]]:
    """Distribution that the buckets of a table draw: intervals of numbers of 62 bits, added up."""
    distribution = [[Fraction(0)] * n_outputs for _ in range(n_rows)]
    for row in range(n_rows):
        for begin, cut, end, first, second in buckets_of(table, row):
            if cut > begin:  # buckets that fill up a power of two have no output of their own
                distribution[row][first] += Fraction(cut - begin, SCALE)
            distribution[row][second] += Fraction(end - cut, SCALE)
    return distribution


def word_bits_of(table: AliasTable | DenseTable) -> int:
    return 8 * (table.packed if isinstance(table, DenseTable) else table.lead).dtype.itemsize


def as_read(table: AliasTable | DenseTable, leading: int) -> int:
    """Word in which a table finds these leading bits of a number: the bucket's come last in those of dense tables."""
    if not isinstance(table, DenseTable):
        return leading
    rest_bits = word_bits_of(table) - table.bits
    return (leading & ((1 << rest_bits) - 1)) << table.bits | leading >> rest_bits


def given_numbers(numbers, word_bits: int, junk: int, reading: Callable[[int], int] = int) -> GivenWords:
    """Words whose bits, in the order they are read, are these numbers of 62 bits; bits beyond them are junk."""
    more_bits = SCALE_BITS - word_bits
    words = [reading(n >> more_bits) << (32 - word_bits) for n in numbers]
    second = [(n & ((1 << more_bits) - 1)) << (64 - more_bits) | junk & ((1 << (64 - more_bits)) - 1) for n in numbers]
    return GivenWords(words, np.array(second, np.uint64))


def beside(borders, *, random: int = 20) -> list[int]:
    """Numbers of 62 bits at some borders, just beside them and anywhere."""
    rng = np.random.default_rng(len(borders))
    numbers = {border + step for border in borders for step in (-1, 0, 1)}
    numbers |= {0, SCALE - 1, *rng.integers(0, SCALE, random).tolist()}
    return sorted(n for n in numbers if 0 <= n < SCALE)


@pytest.mark.parametrize("junk", [0, 2**64 - 1])
@given(st.integers(1, 6).flatmap(strategies.stages), st.data())
def test_a_draw_is_decided_by_a_number_of_62_bits(junk, matrix, data):
    (stage,) = Channel.from_matrix(matrix).stages
    row = data.draw(st.integers(0, stage.n_inputs - 1))
    for table in tables_of(stage):
        check_draws_by_number(table, row, junk)


@pytest.mark.parametrize("n_outputs", [2, 17, 129, 256, 257, 1000])  # short words, long ones, all ends of both
def test_a_draw_of_long_rows_is_decided_by_a_number_of_62_bits(n_outputs):
    rng = np.random.default_rng(n_outputs)
    (stage,) = Channel.from_matrix(rng.dirichlet(np.full(n_outputs, 0.5), 3)).stages
    for table in tables_of(stage):
        for row in range(3):
            assert check_draws_by_number(table, row, 2**64 - 1) > 0


def check_draws_by_number(table: AliasTable | DenseTable, row: int, junk: int) -> int:
    """The slow twin: each number's bucket, and which side of its cut the number lies on; how many words tied."""
    buckets = buckets_of(table, row)
    numbers = beside([border for begin, cut, _, _, _ in buckets for border in (begin, cut)])
    width = SCALE // len(buckets)
    expected = [first if n < cut else second for n in numbers for _, cut, _, first, second in [buckets[n // width]]]
    source = given_numbers(numbers, word_bits_of(table), junk, partial(as_read, table))
    assert draws(table, np.full(len(numbers), row), source).tolist() == expected
    return source.ties


HALF_WORDS = range(0, 1 << 32, 1 << 16)


def counted(table, row: int, n_outputs: int, low_bits: int) -> np.ndarray:
    """Outputs drawn over all values of the 16 bits of the word that are read first."""
    words = [half | low_bits for half in HALF_WORDS]
    if isinstance(table, DenseTable) and word_bits_of(table) == 32:
        words = [as_read(table, word) for word in words]
    source = GivenWords(words, np.full(1 << 16, low_bits, np.uint64))
    return np.bincount(draws(table, np.full(1 << 16, row), source), minlength=n_outputs)


@pytest.mark.slow
@pytest.mark.parametrize("low_bits", [0, 0xFFFF])
@given(st.data())
@settings(max_examples=30)
def test_every_leading_half_word_is_counted_exactly(low_bits, data):
    # Probabilities are multiples of 2**-16, so the low bits of the word cannot matter.
    n_outputs = data.draw(st.integers(2, 9))
    cuts = data.draw(st.lists(st.integers(0, 1 << 16), min_size=n_outputs - 1, max_size=n_outputs - 1).map(sorted))
    counts = np.diff([0, *cuts, 1 << 16])
    (stage,) = Channel.from_matrix(counts[None, :] / 65536).stages
    for table in tables_of(stage):
        assert_array_equal(counted(table, 0, n_outputs, low_bits), counts)


@pytest.mark.slow
@pytest.mark.parametrize("n_outputs", [2, 3, 4, 7, 16, 100, 256, 1024])
def test_every_leading_half_word_is_counted_exactly_for_many_rows(n_outputs):
    rng = np.random.default_rng(n_outputs)
    counts = rng.multinomial(1 << 16, rng.dirichlet(np.full(n_outputs, 0.3)), size=24)
    spread = 1 + rng.multinomial((1 << 16) - n_outputs, rng.dirichlet(np.full(n_outputs, 0.3)), size=24)
    for each in (counts, spread):
        (stage,) = Channel.from_matrix(each / 65536).stages
        for table in (*tables_of(stage), stage.sampler):
            for row in (0, 11, 23):
                assert_array_equal(counted(table, row, n_outputs, 0), each[row])


@pytest.mark.parametrize("n", [2, 3, 255, 256, 257, 1000, 40_000, 65_535, 65_536])
def test_a_product_draws_uniformly_and_exactly(n):
    table = Stage(np.array([0, n]), np.arange(n), uniform_weights(n), n).sampler
    assert isinstance(table, UniformTable)
    starts = np.concatenate([[0], np.cumsum(uniform_weights(n))[:-1]])
    rng = np.random.default_rng(n)
    some = np.unique(np.concatenate([[0, 1, n // 2, n - 2, n - 1], rng.integers(0, n, 300), [SCALE % n]])) % n
    numbers = beside(starts[some].tolist(), random=500)
    # Whole words beside the borders, where the product has to see its doubt by itself.
    numbers += [n & -(1 << 30) | low for n in numbers for low in (0, (1 << 30) - 1)]
    source = given_numbers(numbers, 32, 2**64 - 1)
    expected = np.searchsorted(starts, numbers, side="right") - 1
    assert_array_equal(draws(table, np.zeros(len(numbers), np.uint8), source), expected)
    assert source.ties > 0


@pytest.mark.parametrize("weight", [1, (1 << 46) - 1, 1 << 46, (5 << 46) + 12345, SCALE // 3, SCALE - 1])
def test_one_threshold_keeps_or_replaces(weight):
    n = 300
    table = keeping(np.full(n, weight)).sampler
    assert isinstance(table, KeepTable)
    numbers = beside([weight])
    for junk in (0, 2**64 - 1):
        drawn = draws(table, np.full(len(numbers), 7), given_numbers(numbers, 16, junk))
        assert_array_equal(drawn, [7 if number < weight else n for number in numbers])


@pytest.mark.parametrize("n", [300, 70_000])
def test_only_the_last_input_draws_from_the_common_row(n):
    # A common row of three small outputs, drawn in fewer bits than the symbols that pass through have.
    indices = np.concatenate([np.arange(n), [0, 2, 9]])
    weights = np.concatenate([np.full(n, SCALE), [SCALE // 2, SCALE // 4, SCALE // 4]])
    stage = Stage(np.append(np.arange(n + 1), n + 3), indices, weights, n)
    assert isinstance(stage.sampler, RedrawTable)
    codes = np.array([0, 5, n - 1, n, n - 2] * 400)
    drawn = draws(stage.sampler, codes, NoiseKey(bytes(32)))
    assert_array_equal(drawn[codes < n], codes[codes < n])
    # Chi-square at 1e-6, with a fixed key.
    assert set(drawn[codes == n]) == {0, 2, 9}
    assert chisquare(np.bincount(drawn[codes == n])[[0, 2, 9]], [200, 100, 100]).pvalue > 1e-6


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


def uneven_table() -> AliasTable:
    """Rows of one, two and 300 outputs, each with as many buckets as it needs."""
    weights = np.concatenate([[SCALE], [(1 << 30) + (1 << 29), SCALE - (1 << 30) - (1 << 29)], uniform_weights(300)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sanitize._util.sampling.alias_table._SMALL_BUCKETS", 0)
        table = alias_table(Stage(np.array([0, 1, 3, 303]), np.r_[7, 0, 1, 0:300], weights, 300))
    assert table.only is not None
    return table


TIED = (1 << 46) + (1 << 45)  # a threshold inside short word 1

MAKERS = {
    "alias": lambda: (alias_table(two_outputs(TIED)), [0], 1 << 16),
    "dense": lambda: (dense_table(two_outputs(TIED)), [0], 2 << 16),
    "keep": lambda: (keeping(np.full(3, TIED)).sampler, [2], 1 << 16),
    # Output 1 of three begins inside the word of a third.
    "uniform": lambda: (Stage(np.array([0, 3]), np.arange(3), uniform_weights(3), 3).sampler, [0], (1 << 32) // 3),
    "uneven": lambda: (uneven_table(), [1], 1),
    "uneven, mostly one output": lambda: (uneven_table(), [0, 0, 0, 0, 1], 1),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_ties_do_not_depend_on_the_batches(maker):
    # Most words tie, and each takes its second word by the number of its row.
    table, inputs, word = MAKERS[maker]()
    rng = np.random.default_rng(4)
    rows = np.resize(inputs, 1000)
    words = rng.choice([0, word, word, word], 1000)
    second = rng.choice(np.array([0, 2**63 + 2**62], np.uint64), 1000)  # either side of every threshold
    source = GivenWords(words, second)
    whole = draws(table, rows, source)
    assert source.ties > 100
    assert len(set(whole[rows == inputs[-1]])) > 1
    assert len(set(whole[(rows == inputs[-1]) & (words == word)])) > 1
    for size in (1, 7):
        parts = [draws(table, rows[i : i + size], GivenWords(words, second), 0, i) for i in range(0, 1000, size)]
        assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("n_rows", [1, 40])
def test_wide_pairs_of_outputs_draw_what_narrow_ones_draw(n_rows):
    rng = np.random.default_rng(n_rows)
    matrix = rng.dirichlet(np.full(300, 0.2), n_rows)
    matrix[:, 5] = 0
    (stage,) = Channel.from_matrix(matrix / matrix.sum(axis=1, keepdims=True)).stages
    paired = alias_table(stage)
    first, second = np.divmod(paired.pair.astype(np.uint64), 1 << 16)
    plain = replace(paired, pair=first << np.uint64(32) | second)
    codes = rng.integers(0, n_rows, 50_000)
    assert_array_equal(draws(paired, codes, NoiseKey(bytes(32)), 0, 5), draws(plain, codes, NoiseKey(bytes(32)), 0, 5))


def test_outputs_beyond_sixteen_bits_are_drawn_whole():
    indices = np.array([3, 65_535, 65_536, 70_001])
    stage = Stage(np.array([0, 2, 4]), indices, np.full(4, SCALE // 2), 70_002)
    table = alias_table(stage)
    assert table.pair.dtype == np.uint64
    drawn = draws(table, np.repeat([0, 1], 500), NoiseKey(bytes(32)))
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
            patch.setattr("sanitize._util.sampling.alias_table._SMALL_BUCKETS", most)
            table = alias_table(stage)
        assert drawn_distribution(table, len(sizes), stage.n_outputs) == expected
        assert len(set(sizes)) == 1 or most or table.bits is None or max(sizes) < 10


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


@pytest.mark.parametrize("source", [11, "state"])
def test_draws_follow_the_matrix(source):
    # Nine chi-square tests at 1e-6 each: a false alarm in 1 of 100,000 choices of the seed, which is fixed.
    rng = np.random.RandomState(11) if source == "state" else source
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


@pytest.mark.parametrize("codes", [[-1], [2], [0, 1, 2], [2**31], [2**32]])
def test_codes_out_of_range_are_refused(codes):
    with pytest.raises(InvalidChannel, match="from 0 to 1"):
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


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int64])
def test_symbols_are_drawn_into_a_given_array(dtype):
    channel, codes = sz.randomized_response(100, 1.0), np.arange(100)
    out = np.full(100, 101, dtype)
    assert channel.sample(codes, 3, out=out) is out
    assert_array_equal(out, channel.sample(codes, 3))


def test_symbols_may_be_drawn_over_the_codes():
    channel = sz.randomized_response(100, 5.0)
    codes = np.arange(200_000) % 100
    expected = channel.sample(codes, 3)
    longer = np.append(codes, np.zeros(70_000, int))
    assert_array_equal(channel.sample(longer[:-70_000], 3, out=longer[70_000:]), expected)
    assert_array_equal(channel.sample(codes, 3, out=codes), expected)


@pytest.mark.parametrize(
    "out", [np.empty(3, np.int32), np.empty(4, np.int8), np.empty(4), np.empty((4, 1), int), [0] * 4]
)
def test_arrays_that_do_not_hold_the_symbols_are_refused(out):
    with pytest.raises(InvalidChannel, match="4 integers of a type that includes 0 to 299"):
        sz.randomized_response(300, 1.0).sample(np.zeros(4, int), out=out)


def test_no_rows_draw_nothing():
    assert sz.randomized_response(5, 1.0).sample([]).tolist() == []
