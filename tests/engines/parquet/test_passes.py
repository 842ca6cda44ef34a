"""Two passes: the distribution that was reported, one path for any batches, the order of rows, bounded memory."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_cases import BUDGET, KEY, LOOSE, left_in, merging, rows_of, table
from scipy.stats import chi2_contingency, chisquare
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sanitize as sz
import sanitize.pandas
from sanitize.core.budgets import LiftBudget
from sanitize.core.channel import Channel
from sanitize.engines.parquet import _second_pass, plan_file, release_file
from sanitize.engines.parquet import _second_pass as _parquet_passes
from sanitize.engines.parquet._second_pass import shuffle_blocks
from sanitize.errors import (
    InvalidParameter,
    RowOrderLeak,
)
from sanitize.transformers import RandomizedResponse, SubsetMerging, Watchdog
from tests.support.levels import level

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared tables are not on this machine")


def figures(report) -> dict:
    """All figures but the one that only a kept row order has."""
    return {name: value for name, value in report.summary.items() if name != "position_information"}


# -------------------------------------------------------------------------------------- Adult, checked


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    """Adult released twice with one key, in order and shuffled, with the sanitizer and its report."""
    if not DATA.is_dir():
        pytest.skip("the shared tables are not on this machine")
    folder = tmp_path_factory.mktemp("adult")
    sanitizer = SubsetMerging(BUDGET, sensitive="income", public=["education", "occupation"])
    report = release_file(DATA / "adult.parquet", folder / "kept.parquet", sanitizer, rows="keep", key=KEY)
    release_file(DATA / "adult.parquet", folder / "mixed.parquet", clone(sanitizer), key=KEY)
    raw = pd.read_parquet(DATA / "adult.parquet", columns=["income", "education", "occupation"])
    return folder, sanitizer, report, raw


def designed_distribution(raw: pd.DataFrame, channel: Channel) -> tuple[np.ndarray, list[tuple]]:
    """Expected counts of (s, y) by pandas and NumPy alone, and the symbols of their columns."""
    x = list(
        raw[["education", "occupation"]]
        .astype(object)
        .where(lambda d: d.notna(), None)
        .itertuples(index=False, name=None)
    )
    place = {symbol: code for code, symbol in enumerate(channel.inputs.symbols)}
    counts = np.zeros((2, len(place)))
    np.add.at(counts, ((raw["income"] == raw["income"].max()).to_numpy().astype(int), [place[v] for v in x]), 1)
    expected = counts @ channel.matrix
    used = expected.sum(axis=0) > 0
    return expected[:, used], [y for y, keep in zip(channel.outputs.symbols, used, strict=True) if keep]


@needs_data
def test_the_designed_leakage_of_adult_recomputed_is_within_budget_and_as_reported(adult):
    _, sanitizer, report, raw = adult
    expected, _ = designed_distribution(raw, sanitizer.channel_)
    p = expected / expected.sum()
    p_s, p_y = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
    lifts = p / p_s / p_y
    assert np.log(lifts).max() <= BUDGET.upper + 1e-9
    assert np.log(lifts).min() >= -BUDGET.lower - 1e-9
    assert report.ok
    figures = report.summary
    assert figures["max_log_lift"] == pytest.approx(np.log(lifts).max(), abs=1e-9)
    assert figures["min_log_lift"] == pytest.approx(np.log(lifts).min(), abs=1e-9)
    assert figures["mutual_information"] == pytest.approx((p * np.log(lifts)).sum(), abs=1e-9)
    assert figures["maximal_leakage"] == pytest.approx(np.log((p / p_s).max(axis=0).sum()), abs=1e-9)
    assert figures["total_variation"] == pytest.approx(abs(p - p_s * p_y).sum() / 2, abs=1e-9)
    assert figures["l1_lift"] == pytest.approx((p_s * abs(lifts - 1)).sum(axis=0).max(), abs=1e-9)
    assert figures["ldp_sensitive"] == pytest.approx(np.log(lifts.max(axis=0) / lifts.min(axis=0)).max(), abs=1e-9)
    x_distribution = raw.fillna("missing").value_counts(["education", "occupation"], normalize=True).to_numpy()
    (utility,) = [measure for measure in report.measures if measure.name == "utility"]
    assert utility.before == pytest.approx(-(x_distribution * np.log(x_distribution)).sum(), abs=1e-9)
    assert report.summary["normalized_utility"] > 0.2, "a release that merges everything shows nothing"


@pytest.mark.slow
@needs_data
def test_the_drawn_rows_of_adult_leak_what_was_designed_within_sampling_error(adult):
    """Given the source, the count of (s, y) is a sum of independent indicators with mean m, so by Bernstein it
    is off by more than sqrt(2 m t) + t / 3 with probability at most 2 exp(-t). At t = 25 and below 1000 cells
    the test is wrong with probability below 3e-8, and the key is fixed."""
    folder, sanitizer, _, raw = adult
    expected, symbols = designed_distribution(raw, sanitizer.channel_)
    released = pq.read_table(folder / "kept.parquet").to_pydict()
    drawn = Counter(
        zip(raw["income"] == raw["income"].max(), released["education"], released["occupation"], strict=True)
    )
    counts = np.array([[drawn[(s, *y)] for y in symbols] for s in (False, True)], float)
    assert counts.sum() == len(raw), "some row was released as a symbol that cannot occur"
    assert counts.size < 1000

    def slack(mean):
        return np.sqrt(2 * mean * 25) + 25 / 3

    assert (abs(counts - expected) <= slack(expected)).all()
    # The leakage of the drawn rows, where the bound says something: at least 2000 rows a symbol.
    p_s = counts.sum(axis=1, keepdims=True) / counts.sum()
    large = expected.sum(axis=0) >= 2000
    counts, expected = counts[:, large], expected[:, large]
    log_lift = np.log(counts / p_s / counts.sum(axis=0))
    top = np.log((expected + slack(expected)) / p_s / (expected.sum(axis=0) - slack(expected.sum(axis=0))))
    assert large.sum() > 3
    assert (log_lift <= top).all()
    assert top.max() < BUDGET.upper + 0.5


@needs_data
def test_shuffled_adult_has_rows_of_the_distribution_in_an_order_that_tells_nothing(adult):
    """How often each symbol is released against what was designed, by the bound of the test above; then the place of a
    symbol's rows against the mean and variance of a random order: |z| < 6 for 20 symbols is wrong with probability
    below 1e-7; the key is fixed."""
    folder, sanitizer, _, raw = adult
    kept, mixed = rows_of(folder / "kept.parquet"), rows_of(folder / "mixed.parquet")
    expected, symbols = designed_distribution(raw, sanitizer.channel_)
    counts, mean = Counter(mixed), expected.sum(axis=0)
    assert set(counts) <= set(symbols)
    assert (abs(np.array([counts[y] for y in symbols]) - mean) <= np.sqrt(2 * mean * 25) + 25 / 3).all()
    n = len(mixed)
    for symbol, k in counts.most_common(20):
        places = np.flatnonzero([row == symbol for row in mixed])
        z = (places.mean() - (n - 1) / 2) / math.sqrt((n + 1) * (n - k) / (12 * k))
        assert abs(z) < 6
    match = sum(a == b for a, b in zip(kept, mixed, strict=True))
    by_chance = sum(k * counts[symbol] for symbol, k in Counter(kept).items()) / n
    assert abs(match - by_chance) < 6 * math.sqrt(by_chance)


@pytest.mark.slow
@needs_data
@pytest.mark.filterwarnings("ignore::sanitize.errors.ReleaseWarning")  # the same rows on purpose
def test_the_channel_is_bit_equal_in_memory_in_a_pipeline_and_in_a_file(adult):
    folder, from_file, report, raw = adult
    whole = pd.read_parquet(DATA / "adult.parquet")
    for frame in (raw, whole):
        sanitizer = SubsetMerging(
            BUDGET, sensitive="income", public=["education", "occupation"], random_state=sz.NoiseKey(KEY)
        )
        pipeline = make_pipeline(sanitizer)
        released = pipeline.fit_transform(frame)
        assert pipeline[0].channel_ == from_file.channel_
        assert figures(pipeline[0].report_) == figures(report)
    by_method = whole.sanitize.subset_merging(
        BUDGET, sensitive="income", public=["education", "occupation"], random_state=sz.NoiseKey(KEY)
    )
    assert figures(sz.last_report(by_method)) == figures(report)
    kept = pq.read_table(folder / "kept.parquet").to_pydict()
    for frame in (released, by_method):
        for name in ("education", "occupation"):
            assert frame[name].astype(object).where(frame[name].notna(), None).tolist() == kept[name]


# ------------------------------------------------------------------------------ one path, any batches


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Watchdog, SubsetMerging, RandomizedResponse])
@pytest.mark.parametrize("random_state", [lambda: 7, lambda: sz.NoiseKey(KEY)], ids=["seed", "key"])
@pytest.mark.filterwarnings("ignore:.*seed:sanitize.errors.ReleaseWarning")
def test_rows_kept_equal_fit_transform_for_the_same_random_state(estimator, random_state, source, tmp_path):
    sanitizer = estimator(
        level(estimator, 1.0),
        sensitive="s",
        public=["x", "floor", "age"],
        bins={"age": [18, 40, 80]},
        min_count=4,
        random_state=random_state(),
    )
    report = release_file(source, tmp_path / "out.parquet", sanitizer, rows="keep")
    in_memory = clone(sanitizer).fit(pq.read_table(source))
    assert in_memory.channel_ == sanitizer.channel_
    assert figures(report) == figures(in_memory.report_)
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == in_memory.transform(pq.read_table(source)).to_pydict()


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_any_batch_size_writes_the_same_bytes_for_one_key(rows, source, tmp_path):
    written = set()
    for batch_rows in (1, 7, 65536):
        sanitizer = merging(public=["x", "floor", "age"], bins={"age": [18, 40, 80]})
        release_file(source, tmp_path / f"{batch_rows}.parquet", sanitizer, rows=rows, key=KEY, batch_rows=batch_rows)
        written.add((tmp_path / f"{batch_rows}.parquet").read_bytes())
    assert len(written) == 1


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_several_row_groups_hold_the_rows_of_one(rows, source, tmp_path, monkeypatch):
    release_file(source, tmp_path / "one.parquet", merging(), rows=rows, key=KEY)
    monkeypatch.setattr(_parquet_passes, "ROW_GROUP_ROWS", 64)
    outputs = set()
    for batch_rows in (13, 50, 64, 1000):
        path = tmp_path / f"{batch_rows}.parquet"
        release_file(source, path, merging(), rows=rows, key=KEY, batch_rows=batch_rows)
        meta = pq.read_metadata(path)
        assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [64, 64, 64, 64, 44]
        outputs.add(path.read_bytes())
        one, several = rows_of(tmp_path / "one.parquet"), rows_of(path)
        assert (one == several) if rows == "keep" else (Counter(one) == Counter(several))
    assert len(outputs) == 1


def test_two_runs_without_a_key_differ(source, tmp_path):
    for name in ("a", "b"):
        release_file(source, tmp_path / f"{name}.parquet", merging(), rows="keep")
    # Of 300 rows at least 100 are drawn among symbols none of which has more than half the mass of its group.
    assert rows_of(tmp_path / "a.parquet") != rows_of(tmp_path / "b.parquet")


def test_source_row_groups_and_encodings_make_no_difference(tmp_path):
    outputs = set()
    for i, settings in enumerate(
        [{}, {"row_group_size": 17}, {"use_dictionary": False}, {"compression": "none", "data_page_version": "2.0"}]
    ):
        pq.write_table(table(), tmp_path / f"raw{i}.parquet", **settings)
        release_file(tmp_path / f"raw{i}.parquet", tmp_path / f"out{i}.parquet", merging(), key=KEY)
        outputs.add((tmp_path / f"out{i}.parquet").read_bytes())
    assert len(outputs) == 1


@pytest.mark.parametrize("key", [b"short", "text", 3.5, bytearray(32)])
def test_a_key_that_is_not_32_bytes_is_refused(key, source, tmp_path):
    with pytest.raises(InvalidParameter, match=r"32 bytes"):
        release_file(source, tmp_path / "out.parquet", merging(), key=key)
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"rows": "sort"}, "rows must be"), ({"batch_rows": 0}, "batch_rows must be a whole")],
)
def test_other_arguments_out_of_range_are_refused(settings, message, source, tmp_path):
    with pytest.raises(InvalidParameter, match=message):
        release_file(source, tmp_path / "out.parquet", merging(), **settings)


# ---------------------------------------------------------------------------------------------- order


@pytest.mark.slow
@needs_data
def test_a_sorted_column_is_released_in_a_random_order(tmp_path):
    """Over 100 keys, the first row against the released frequencies (chi-square, false alarm 1e-6) and the
    count in the first half against its hypergeometric mean (6 standard errors, 2e-9); the keys are fixed."""
    path = DATA / "hostile" / "row_order_reveals_sensitive.parquet"
    raw = pq.read_table(path)["s"].to_pylist()
    assert raw == sorted(raw), "the file is sorted"
    sanitizer = SubsetMerging(LOOSE, sensitive="x", public="s")
    firsts, halves = Counter(), []
    for i in range(100):
        release_file(path, tmp_path / "out.parquet", sanitizer, key=bytes([i]) * 32, force=True)
        released = pq.read_table(tmp_path / "out.parquet")["s"].to_pylist()
        assert Counter(released) == Counter(raw)
        firsts[released[0]] += 1
        halves.append(released[:100].count("neg"))
    symbols = sorted(set(raw))
    assert chisquare([firsts[v] for v in symbols], [raw.count(v) / 2 for v in symbols]).pvalue > 1e-6
    k = raw.count("neg")
    variance = k * (200 - k) / (4 * 199)
    assert abs(np.mean(halves) - k / 2) < 6 * math.sqrt(variance / 100)
    assert abs(raw[:100].count("neg") - k / 2) > 6 * math.sqrt(variance), "or the test has no power"


@needs_data
@pytest.mark.parametrize("call", [release_file, lambda a, b, c, **d: plan_file(a, c, **d)], ids=["release", "plan"])
def test_an_order_that_gives_the_sensitive_column_away_is_not_kept(call, tmp_path):
    path = DATA / "hostile" / "row_order_reveals_sensitive.parquet"
    with pytest.raises(RowOrderLeak, match="order") as caught:
        call(
            path,
            tmp_path / "out.parquet",
            SubsetMerging(LiftBudget.symmetric(0.5), sensitive="s", public="x"),
            rows="keep",
        )
    assert "neg" not in str(caught.value)
    assert left_in(tmp_path) == []


def test_an_order_that_tells_less_than_the_budget_is_kept_and_mentioned(tmp_path):
    n = 20000
    drift = np.random.default_rng(0).random(n) < np.linspace(0.4, 0.6, n)
    pq.write_table(pa.table({"s": drift, "x": ["a", "b"] * (n // 2)}), tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LiftBudget.symmetric(1.0), sensitive="s", public="x")
    report = release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    assert any("keep their order" in note for note in report.facts.warnings)
    parts = [drift[start : start + 512] for start in range(0, n, 512)]
    blocks = np.array([[part.sum(), (~part).sum()] for part in parts]) / n
    expected = (blocks * np.log(blocks / blocks.sum(axis=0) / blocks.sum(axis=1, keepdims=True))).sum()
    assert report.summary["position_information"] == pytest.approx(expected, abs=1e-9)
    shuffled = release_file(tmp_path / "raw.parquet", tmp_path / "2.parquet", clone(sanitizer))
    assert "position_information" not in shuffled.summary


def test_kept_rows_keep_their_order(source, tmp_path):
    release_file(source, tmp_path / "out.parquet", merging(LOOSE), rows="keep")
    raw = pq.read_table(source, columns=["x", "floor"]).to_pydict()
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == raw


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(4,), (2, 2), (1, 1, 1, 1), (3, 1)])
def test_shuffled_blocks_give_exact_counts_in_uniform_order(sizes):
    """All 12 orders of aabc equally often in 6000 draws: chi-square, false alarm 1e-6, seed fixed."""
    counts = np.array([2, 1, 1, 0])
    seen = Counter()
    for seed in range(6000):
        blocks = list(shuffle_blocks(counts, sz.NoiseKey.from_seed(seed), sizes))
        assert [len(block) for block in blocks] == list(sizes)
        seen[tuple(np.concatenate(blocks).tolist())] += 1
    orders = set(permutations([0, 0, 1, 2]))
    assert set(seen) == orders
    assert chisquare([seen[order] for order in orders]).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("deviations", [0.0, 0.3, 0.7, 4.0])
def test_places_drawn_independently_are_in_uniform_order_too(deviations, monkeypatch):
    """The same chi-square test where no row is too few for it, whatever what is drawn from leaves open."""
    monkeypatch.setattr(_second_pass, "FEW_ROWS", 0)
    monkeypatch.setattr(_second_pass, "_DEVIATIONS", deviations)
    generator = np.random.default_rng(1)
    seen = Counter(tuple(_second_pass.arrange(np.array([2, 1, 0, 2]), generator).tolist()) for _ in range(15000))
    orders = set(permutations([0, 0, 1, 3, 3]))
    assert set(seen) == orders
    assert chisquare([seen[order] for order in orders]).pvalue > 1e-6


@pytest.mark.parametrize("n_codes", [1, 2, 40, 255, 256, 700, 9000])
def test_many_rows_are_arranged_exactly_and_no_part_of_them_has_more_of_a_code(n_codes):
    """Codes in the first and second half, and beside one another: chi-square, false alarm 1e-6, seed fixed."""
    generator = np.random.default_rng(n_codes)
    counts = generator.integers(0, 2 * 60000 // n_codes + 1, n_codes)
    rows = _second_pass.arrange(counts, generator)
    np.testing.assert_array_equal(np.bincount(rows, minlength=n_codes), counts)
    if 1 < n_codes < 300:
        half = np.bincount(rows[: len(rows) // 2], minlength=n_codes)
        assert chi2_contingency(np.stack([half, counts - half])[:, counts > 20]).pvalue > 1e-6
        beside = np.bincount(2 * (rows[:-1] % 2).astype(int) + rows[1:] % 2, minlength=4).reshape(2, 2)
        assert chi2_contingency(beside).pvalue > 1e-6


@pytest.mark.parametrize("workers", [1, 3])
def test_rows_are_drawn_for_counts_as_for_rows_in_the_order_of_their_symbols(workers, monkeypatch):
    """Inputs 1 and 4 have one output, 3 and 5, after two stages."""
    monkeypatch.setattr(_second_pass, "_DRAWN_ROWS", 97)
    noise = np.random.default_rng(5).dirichlet(np.ones(6), 5)
    noise[[1, 4]] = np.eye(6)[[2, 4]]
    last = np.eye(6)[[1, 2, 3, 0, 5, 4]]
    channel = Channel((*Channel.from_matrix(noise).stages, *Channel.from_matrix(last).stages))
    rows, words = np.array([300, 80, 0, 701, 9]), sz.NoiseKey(KEY)
    alone = channel.sample(np.repeat([0, 2, 3], rows[[0, 2, 3]]), words)
    found = _second_pass.draw_counts(channel, rows, words, workers)
    sure = 80 * np.eye(6, dtype=int)[3] + 9 * np.eye(6, dtype=int)[5]
    np.testing.assert_array_equal(found, np.bincount(alone, minlength=6) + sure)
    assert not _second_pass.draw_counts(channel, np.zeros(5, int), words, workers).any()


def test_shuffled_blocks_use_up_large_counts_exactly():
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 500, 300)
    n = int(counts.sum())
    sizes = [n // 7] * 7 + [n - 7 * (n // 7)]
    drawn = np.concatenate(list(shuffle_blocks(counts, sz.NoiseKey.from_seed(2), sizes)))
    np.testing.assert_array_equal(np.bincount(drawn, minlength=300), counts)


def test_shuffled_blocks_use_up_their_counts_beyond_the_range_of_the_sampler_too(monkeypatch):
    monkeypatch.setattr("sanitize.engines.parquet._second_pass._POPULATION", 0)
    counts = np.array([5000, 1, 0, 3, 800])
    drawn = np.concatenate(list(shuffle_blocks(counts, sz.NoiseKey.from_seed(3), [100] * 58 + [4])))
    np.testing.assert_array_equal(np.bincount(drawn, minlength=5), counts)


# ------------------------------------------------------------------------------------------- memory

# Of a release, above what imports take, which differs between versions by half as much.
PEAK_BYTES = 240 << 20

MEMORY = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import sanitize as sz
from sanitize.engines.parquet import release_file
from sanitize.transformers import SubsetMerging
step, source, target, rows = sys.argv[1:]
pa.set_cpu_count(2)  # each thread holds a block: on a machine of many cores they are what is measured
if step == "make":
    rng = np.random.default_rng(0)
    names = pa.array([f"a rather long name of a public symbol, number {i:04d}" for i in range(500)])
    schema = pa.schema([("s", pa.string()), ("x", pa.string()), ("floor", pa.int64()), ("other", pa.string())])
    with pq.ParquetWriter(source, schema) as writer:
        for _ in range(8):
            x = rng.integers(0, 500, 1 << 18)
            s = pa.array(np.where(rng.random(1 << 18) < 0.2 + 0.1 * (x % 7), "ill", "well"))
            columns = [s, names.take(pa.array(x)), pa.array(x % 5), names.take(pa.array(x[::-1]))]
            writer.write_table(pa.table(columns, schema=schema))
else:
    def kilobytes(kind):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(kind))
    import scipy.optimize, scipy.stats, sklearn.base, pandas
    before = kilobytes("VmRSS")
    sanitizer = SubsetMerging(sz.LiftBudget(lower=2.0, upper=0.4), sensitive="s", public=["x", "floor"])
    release_file(source, target, sanitizer, rows=rows)
    assert pq.read_metadata(target).num_rows == 8 << 18
    print(kilobytes("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_two_million_rows_are_released_in_bounded_memory(tmp_path):
    """The table is about 320 MB in memory, of which half is released."""

    def run(*argv: str) -> str:
        command = [sys.executable, "-c", MEMORY, *argv]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("make", "raw.parquet", "", "")
    for rows in ("shuffle", "keep"):
        assert int(run("release", "raw.parquet", f"{rows}.parquet", rows)) * 1024 < PEAK_BYTES
