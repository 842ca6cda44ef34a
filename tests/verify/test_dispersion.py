"""Rows that were not drawn are too close to what they came from, or stand where a column would sort them."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import sanitize as sz
from sanitize.alphabet import Alphabet
from sanitize.channel import Channel
from sanitize.parquet import privatize_parquet
from sanitize.transformers import JointRelease, SubsetMerging, SubsetRandomResponse
from sanitize.verify import verify_parquet
from sanitize.verify._dispersion import closest, log_chance_of_closeness
from sanitize.verify._order import OrderTally
from sanitize.verify._sorted import SortedTally

LIMIT = math.log(1e-6 / 24)


def table(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    x = np.where(rng.random(n) < 0.3, s * 6 + rng.integers(0, 6, n), rng.integers(0, 12, n))
    return pa.table({"s": s, "x": x, "w": np.where(rng.random(n) < 0.3, s, rng.integers(0, 3, n))})


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    place = tmp_path_factory.mktemp("dispersion") / "raw.parquet"
    pq.write_table(table(), place)
    return place


def failed(found):
    return [check.name for check in found.checks if not check.ok]


def rewrite(target, content):
    footer = pq.read_metadata(target).metadata[b"sanitize"]
    content = content.replace_schema_metadata(None)
    with pq.ParquetWriter(target, content.schema, store_schema=False) as writer:
        writer.write_table(content)
        writer.add_key_value_metadata({"sanitize": footer})


def write_raw_rows(target, raw, share, seed=0):
    """Shuffled rows, the first of them as they are in the source and the others drawn."""
    rng = np.random.default_rng(seed)
    drawn = pq.read_table(target)
    names = drawn.schema.names
    n = int(len(drawn) * share)
    mixed = pa.concat_tables([pq.read_table(raw).select(names).slice(0, n).cast(drawn.schema), drawn.slice(n)])
    rewrite(target, mixed.take(rng.permutation(len(mixed))))


def test_the_raw_table_shuffled_is_no_release_of_a_subset_response(raw, tmp_path):
    sanitizer = SubsetRandomResponse(0.2, sensitive="s", public="x")
    target = tmp_path / "out.parquet"
    privatize_parquet(raw, target, sanitizer, key=bytes(32))
    assert verify_parquet(target, raw, sanitizer).ok
    write_raw_rows(target, raw, 1)
    assert failed(verify_parquet(target, raw, sanitizer)) == ["frequencies"]


def test_a_joint_release_sorted_by_the_secret_is_caught(raw, tmp_path):
    parts = [("a", SubsetMerging(0.4, public=["x"])), ("b", SubsetMerging(0.4, public=["w"]))]
    sanitizer = JointRelease(parts, sz.LiftBudget(lower=1.0, upper=0.5), sensitive="s")
    target = tmp_path / "out.parquet"
    privatize_parquet(raw, target, sanitizer, rows="keep", key=bytes(32))
    by_secret = np.argsort(pq.read_table(raw)["s"].to_numpy(), kind="stable")
    kept = pq.read_table(target)
    # Shuffled within each value of S, so that nothing but S can be told from the order.
    rng = np.random.default_rng(1)
    s = pq.read_table(raw)["s"].to_numpy()
    by_secret = np.concatenate([rng.permutation(by_secret[s[by_secret] == v]) for v in (0, 1)])
    privatize_parquet(raw, target, sanitizer, key=bytes(32), force=True)
    assert verify_parquet(target, raw, sanitizer).ok
    rewrite(target, kept.take(by_secret))
    assert "order" in failed(verify_parquet(target, raw, sanitizer))


def channel_of(kind):
    rng = np.random.default_rng(3)
    return Channel.from_matrix(rng.dirichlet(np.full(kind, 3.0), 10))


@pytest.mark.parametrize("n_y", [3, 12, 40])
@pytest.mark.parametrize("n", [50, 3000, 100_000])
def test_honest_draws_are_not_too_close(n_y, n):
    """The chance that any of 300 draws is called too close is at most 300 x 4e-8."""
    channel = channel_of(n_y)
    rng = np.random.default_rng(n + n_y)
    x = rng.integers(0, 10, n)
    x_counts = np.bincount(x, minlength=10)
    for _ in range(300):
        y = channel.sample(x, rng)
        logged = closest(channel, np.bincount(y, minlength=n_y), x_counts, channel.matrix)
        assert logged >= LIMIT


def test_the_chance_of_closeness_is_not_below_what_draws_show():
    """At a rate of 1 in 10 at most 1 in 10 honest draws are called too close: 4,000 draws, 4 standard errors."""
    matrix = np.random.default_rng(4).dirichlet(np.full(20, 5.0), 4)
    sizes = np.array([30_000, 20_000, 40_000, 10_000])
    rng = np.random.default_rng(5)
    logs = [
        log_chance_of_closeness(sum(rng.multinomial(n, p) for n, p in zip(sizes, matrix, strict=True)), sizes, matrix)
        for _ in range(4000)
    ]
    alarms = int((np.array(logs) < math.log(0.1)).sum())
    assert alarms <= stats.binom.ppf(1 - 3e-5, 4000, 0.1)
    exact = np.rint(sizes @ matrix).astype(int)
    assert log_chance_of_closeness(exact, sizes, matrix) < LIMIT
    half = exact + np.rint((sum(rng.multinomial(n, p) for n, p in zip(sizes, matrix, strict=True)) - exact) / 10)
    assert log_chance_of_closeness(half.astype(int), sizes, matrix) < LIMIT


@pytest.mark.parametrize("n_y", [6, 700])
def test_pieces_of_sorted_rows_are_counted_as_one_by_one(n_y):
    """In blocks that cut pieces anywhere, symbols that the channel does not know among them."""
    rng = np.random.default_rng(n_y)
    n, n_x = 5_000, 5
    channel = Channel.from_matrix(rng.dirichlet(np.ones(n_y), n_x))
    inputs = rng.multinomial(n, np.ones(3 * n_x) / (3 * n_x)).reshape(3, n_x)
    y = rng.integers(-1, n_y, n).astype(np.int32)
    counts = np.bincount(y[y >= 0], minlength=n_y)
    made = SortedTally.of(channel, Alphabet.of_size("s", 3), inputs, counts, channel.matrix)
    ends = [int(end) for own in made._ends for end in own[:1]]
    for part in np.split(y, sorted({1, 40, 41, 4_100, *ends, *(end + 1 for end in ends)})):
        made.add(part)
    assert made._tables
    rows = np.flatnonzero(y >= 0)
    for ends, kinds, table in zip(made._ends, made._kinds, made._tables, strict=True):
        expected = np.zeros_like(table)
        np.add.at(expected, (np.searchsorted(ends, rows, side="right"), kinds[y[rows]]), 1)
        assert np.array_equal(table, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_the_order_of_rows_is_counted_as_one_by_one(dtype):
    """In pieces that cut blocks anywhere, narrow codes and a symbol that the channel does not know among them."""
    rng = np.random.default_rng(3)
    n, sizes = 3_333, (90, 3, 80)
    y, s, x = (rng.integers(-1 if k == 90 else 0, k, n).astype(dtype) for k in sizes)
    counts = [np.bincount(codes[codes >= 0], minlength=k) for codes, k in zip((y, s, x), sizes, strict=True)]
    tally = OrderTally.of(n, counts[0], counts[1:])
    for rows in np.split(np.arange(n), [1, 2, 700, 701, 2_999]):
        tally.add(y[rows], [s[rows], x[rows]])
    kinds = tally._printed.of[y.astype(np.intp) + 1].astype(np.intp)
    blocks = np.zeros_like(tally._blocks)
    np.add.at(blocks, (np.arange(n) * len(blocks) // n, kinds), 1)
    assert np.array_equal(tally._blocks, blocks)
    for codes, own, table in zip((s, x), tally._beside, tally._tables, strict=True):
        expected = np.zeros_like(table)
        np.add.at(expected, (own.of[codes.astype(np.intp) + 1], kinds), 1)
        assert np.array_equal(table, expected)
    even, odd = kinds[: n - 1 : 2], kinds[1::2]
    assert np.array_equal(tally._even, np.bincount(even, minlength=len(tally._even)))
    assert tally._alike == (even == odd).sum()


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_release_of_one_value_is_verified(rows, tmp_path):
    """It cannot be sorted, so no way of sorting it is looked at."""
    pq.write_table(pa.table({"s": ["none"] * 60, "x": ["only"] * 60}), tmp_path / "raw.parquet")
    sanitizer = sz.SubsetMerging(1.0, sensitive="s", public="x")
    sz.privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows=rows)
    assert sz.verify_parquet(tmp_path / "out.parquet", tmp_path / "raw.parquet", sanitizer, rows=rows).ok
