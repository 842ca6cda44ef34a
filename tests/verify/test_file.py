"""The bounds on chance behind the checks, and the bytes and pages of a file."""

from __future__ import annotations

import base64
import math
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from verify_cases import merging, release, table

import sanitize as sz
from sanitize._release.permutation import log_hypergeometric, log_matching
from sanitize.channel import Channel
from sanitize.errors import SourceError
from sanitize.verify import _chance as law
from sanitize.verify import _noise as noise
from sanitize.verify import verify_parquet
from sanitize.verify._leftovers import Scanner, Spellings, in_base64, spellings
from sanitize.verify._observed import Observed, Streams, printed_of
from sanitize.verify._order import log_chance_of_same_order
from sanitize.verify._pages import Pages
from sanitize.verify._row_checks import RowChecks


def observed(channel, n_s, s, x, y, rows, blocks=(1, 1)) -> Observed:
    """Rows that are there already, read in so many blocks of the source and of the release."""
    inputs = np.zeros((n_s, channel.n_inputs), np.int64)
    np.add.at(inputs, (s, x), 1)
    streams = Streams(
        lambda: zip(np.array_split(s, blocks[0]), np.array_split(x, blocks[0]), strict=True),
        lambda: iter(np.array_split(y, blocks[1])),
    )
    return Observed.of(channel, inputs, streams, rows)


# ------------------------------------------------------------------------------------ the bounds on chance


def test_evidence_is_an_e_value_for_rows_of_different_laws():
    """Its mean is at most 1: by enumeration of all outcomes of a few rows, each with a law of its own."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        laws = rng.dirichlet(np.ones(3) * 0.7, 5)
        mean = 0.0
        for outcome in np.ndindex(3, 3, 3, 3, 3):
            counts = np.bincount(outcome, minlength=3)
            chance = math.prod(laws[i, y] for i, y in enumerate(outcome))
            mean += chance * math.exp(law.log_evidence(counts[None, :], laws.mean(axis=0, keepdims=True)))
        assert mean <= 1 + 1e-12
        assert mean > 0.3


def test_evidence_grows_with_the_divergence():
    p, q = np.array([[0.5, 0.3, 0.2]]), np.array([[0.45, 0.33, 0.22]])
    n = 20_000
    assert law.log_evidence(n * p, p) < 0
    divergence = float((q * np.log(q / p)).sum())
    assert law.log_evidence(n * q, p) == pytest.approx(n * divergence, abs=15)
    assert law.log_evidence(np.array([[3, 1, 0]]), np.array([[1.0, 0.0, 0.0]])) == math.inf


def test_a_small_fault_of_every_line_shows_in_their_product():
    p, q = np.tile([0.5, 0.5], (60, 1)), np.tile([0.6, 0.4], (60, 1))
    one = law.log_evidence(400 * q[:1], p[:1])
    assert law.log_evidence(400 * q, p) > 20 * max(one, 1.0)


def test_bennett_bounds_the_tail_of_a_binomial():
    for n, p in ((50, 0.1), (400, 0.5), (2000, 0.01)):
        k = np.arange(n + 1)
        away = np.abs(k - n * p)
        exact = np.array([stats.binom.pmf(k[away >= a - 1e-9], n, p).sum() for a in away])
        away, exact = away[exact > 1e-280], exact[exact > 1e-280]
        assert (np.log(exact) <= law.log_bennett(away, n * p * (1 - p)) + 1e-9).all()


def test_the_hypergeometric_bound_bounds():
    n = 60
    for a, b in ((10, 20), (30, 30), (5, 55)):
        k = np.arange(max(0, a + b - n), min(a, b) + 1)
        tails = np.minimum(stats.hypergeom.cdf(k, n, a, b), stats.hypergeom.sf(k - 1, n, a, b))
        logs = log_hypergeometric(k, np.full(len(k), a), np.full(len(k), b), n)
        assert (np.log(tails) <= logs + 1e-9).all()


def test_the_matching_bound_bounds():
    """Matches of 0,0,0,0,1,1,1 with all its permutations."""
    from itertools import permutations

    base = (0, 0, 0, 0, 1, 1, 1)
    found = np.array([sum(a == b for a, b in zip(base, other, strict=True)) for other in permutations(base)])
    expected = found.mean()
    for k in range(8):
        exact = (np.abs(found - expected) >= abs(k - expected) - 1e-9).mean()
        assert math.log(max(exact, 1e-300)) <= log_matching(k, expected) + 1e-9


def test_closed_groups_are_the_components_of_the_support():
    matrix = np.array([[0.5, 0.5, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
    channel = Channel.from_matrix(matrix)
    inputs, outputs = law.closed_groups(channel, np.ones(4, bool))
    assert inputs[0] == inputs[1] == outputs[0] == outputs[1]
    assert len({inputs[0], inputs[2], inputs[3]}) == 3
    inputs, outputs = law.closed_groups(channel, np.array([True, True, True, False]))
    assert outputs[3] == -1
    chain = channel.then(channel.reversed(np.ones(4) / 4))
    inputs, outputs = law.closed_groups(chain, np.ones(4, bool))
    assert [list(inputs).index(g) for g in outputs] == [0, 0, 2, 3]


def test_expected_counts_are_exact_and_bounded():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(4), 3)
    channel, counts = Channel.from_matrix(matrix), np.array([5, 0, 17])
    mean, variance = law.expected_counts(channel, counts, channel.matrix)
    np.testing.assert_allclose(mean[0], counts @ matrix)
    np.testing.assert_allclose(variance[0], counts @ (matrix * (1 - matrix)))
    _, bound = law.expected_counts(channel, counts, None)
    assert (bound >= variance - 1e-12).all()


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 101, 5000])
def test_counts_are_those_of_all_rows_however_they_are_read(n, rows):
    """A slow twin that holds every row, and blocks of the source and of the release that do not meet."""
    rng = np.random.default_rng(n)
    channel = sz.randomized_response(70, 1.0)
    s, x = (
        rng.integers(0, 3, n).astype(np.int32),
        (rng.integers(0, 71, n) * rng.integers(0, 71, n) // 71).astype(np.int32),
    )
    x = np.minimum(x, 69)
    y = np.where(rng.random(n) < 0.01, -1, channel.sample(x, 0)).astype(np.int32)
    for blocks in ((1, 1), (7, 3), (1, 40)):
        seen = observed(channel, 3, s, x, y, rows, blocks)
        assert seen.unknown == (y < 0).sum()
        assert seen.y_counts.tolist() == [(y == one).sum() for one in range(70)]
        sure = y >= 0
        if rows == "keep":
            pairs, told = np.zeros((70, 70), int), np.zeros((3, 70), int)
            for one, other, third in zip(x[sure], y[sure], s[sure], strict=True):
                pairs[one, other] += 1
                told[third, other] += 1
            assert np.array_equal(seen.pairs, pairs)
            assert np.array_equal(seen.told, told)
            assert np.array_equal(seen.first, (x, y))
            assert seen.order is None
            continue
        assert (seen.pairs, seen.told) == (None, None)
        assert seen.order.log_chance() == order_of_all_rows(s, x, y)


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
def test_memory_does_not_grow_with_the_rows(rows, monkeypatch):
    monkeypatch.setattr("sanitize.verify._observed.MOST_ROWS", 1000)
    channel, block = sz.randomized_response(20, 1.0), 1 << 14
    peaks = []
    for n_blocks in (4, 40):
        inputs = np.full((2, 20), n_blocks)

        def codes(n, seed, n_blocks=n_blocks):
            return (np.random.default_rng((seed, k)).integers(0, n, block).astype(np.int32) for k in range(n_blocks))

        streams = Streams(
            lambda codes=codes: zip(codes(2, 0), codes(20, 1), strict=True), lambda codes=codes: codes(20, 2)
        )
        tracemalloc.start()
        Observed.of(channel, inputs, streams, rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def order_of_all_rows(s, x, y) -> tuple[float, str]:
    """The statistics of the order of rows, from arrays of all of them."""
    n = len(y)
    if n < 2:
        return 0.0, "too few rows to tell"

    def pooled(codes, n_codes):
        counts = np.bincount(codes[codes >= 0], minlength=n_codes)
        most = np.argsort(-counts, kind="stable")[:63].tolist()
        return np.array([most.index(code) if code in most else min(n_codes, 63) for code in codes.tolist()])

    def independent(a, n_a, b, n_b):
        found = np.bincount(a * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b)
        logs = log_hypergeometric(found, found.sum(axis=1, keepdims=True), found.sum(axis=0, keepdims=True), n)
        return float(logs.min()) + math.log(n_a * n_b)

    kinds = pooled(y, 70)
    n_blocks = min(max(n // 50, 2), 64)
    blocks = np.minimum(np.arange(n) * n_blocks // n, n_blocks - 1)
    even, odd = kinds[: n // 2 * 2 : 2], kinds[1 : n // 2 * 2 : 2]
    counts = [np.bincount(part, minlength=64) for part in (even, odd)]
    expected = float((counts[0] / len(even) * counts[1]).sum())
    found = [
        (independent(blocks, n_blocks, kinds, 64), "symbols crowd in some parts of the file"),
        (log_matching(float((even == odd).sum()), expected), "neighbours are too often alike or unlike"),
        (independent(pooled(s, 3), 4, kinds, 64), "rows stand where their rows in the source stand"),
        (independent(pooled(x, 70), 64, kinds, 64), "rows stand where their rows in the source stand"),
    ]
    best = min(found)
    return best[0] + math.log(4), best[1]


@pytest.mark.parametrize(("n", "other"), [(0, 5), (1, 1), (2, 2), (1000, 1000), (1001, 700)])
def test_releases_that_go_up_and_down_together_are_compared_in_blocks(n, other):
    rng = np.random.default_rng(n)
    a, b = rng.integers(-1, 9, n).astype(np.int32), rng.integers(-1, 30, other).astype(np.int32)

    def pairs():
        streams = [
            Streams(lambda: iter(()), lambda codes=codes, k=k: iter(np.array_split(codes, k)))
            for codes, k in ((a, 3), (b, 4))
        ]
        return printed_of(*streams)

    m = min(n, other)
    high = [codes[:m] >= np.sort(codes[:m])[m // 2] for codes in (a, b)] if m else []
    expected = 0.0
    if m >= 2:
        one, two = (float(part.mean()) for part in high)
        alike = m * (one * two + (1 - one) * (1 - two))
        expected = log_matching(float((high[0] == high[1]).sum()), alike)
    assert log_chance_of_same_order(pairs, (9, 30)) == pytest.approx(expected)


def test_repeats_are_found_at_the_distance_they_have():
    rng = np.random.default_rng(5)
    n = 3000
    draws = (rng.random(n) < 0.5).astype(float)
    fresh = (draws - 0.5, np.full(n, 0.5))
    assert noise.log_chance_of_repeats(fresh)[0] > math.log(1e-6)
    again = np.concatenate([draws[:1500], draws[:1500]])
    log_chance, distance = noise.log_chance_of_repeats((again - 0.5, np.full(n, 0.5)))
    assert log_chance < math.log(1e-6)
    assert distance == 1500
    shifted = (np.roll(draws, -40) - 0.5, np.full(n, 0.5))
    assert noise.log_chance_of_repeats(fresh, shifted)[1] == -40


def test_false_alarms_are_as_rare_as_stated_when_the_rate_is_large():
    """With false_alarm=0.5, honest rows fail at most half the time: 200 seeds, binomial tail below 1e-9 beyond 140."""
    channel = sz.randomized_response(5, 1.0)
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 5, 300).astype(np.int32)
        y = channel.sample(x, seed)
        seen = observed(channel, 2, rng.integers(0, 2, 300).astype(np.int32), x, y, "keep")
        judged = RowChecks(seen, "keep", 0.5)
        judged.check_support()
        judged.check_frequencies()
        judged.check_leakage()
        judged.check_noise(())
        alarms += any(not check.ok for check in judged.checks)
    assert alarms < 140


# -------------------------------------------------------------------------------------- bytes and pages


def test_values_are_found_wherever_in_base64_they_stand():
    value = b"SECRET influenza"
    for before in range(7):
        for after in range(4):
            text = base64.b64encode(b"\xfa" * before + value + b"\x07" * after)
            assert any(row.tobytes() in text for row in in_base64(np.frombuffer(value, np.uint8)[None]))


def test_the_scanner_finds_what_is_there_and_nothing_else():
    rng = np.random.default_rng(6)
    values = {f"person number {i}".encode() for i in range(500)}
    scanner = Scanner.of([("name", Spellings.of(values))], 10_000, b"person number 17 is public")
    names = sorted(values)
    scanner.scan(rng.bytes(5000) + b"person number 25" + rng.bytes(5000))
    # A value that begins another is there too; one that is public anyway is not searched for, nor what begins it.
    assert {names[i] for i in scanner.found["name"]} == {b"person number 2", b"person number 25"}
    scanner.scan(b"person number 17")
    assert names.index(b"person number 17") not in scanner.found["name"]
    scanner.scan(b"x" + base64.b64encode(b"person number 333"))
    assert names.index(b"person number 333") in scanner.found["name"]
    assert scanner.least >= 8
    scanner = Scanner.of([("name", Spellings.of(values))], 10_000, b"")
    scanner.scan(rng.bytes(200_000))
    assert not scanner.found["name"]


def plainly_found(columns: dict[str, set[bytes]], least: int, data: bytes) -> set[tuple[str, bytes]]:
    """The search of a scanner, value by value."""

    def needles(value: bytes) -> list[bytes]:
        shifted = [(skip, base64.b64encode(b"\0" * skip + value)) for skip in range(3)]
        return [value, *(text[-(-8 * skip // 6) : 8 * (skip + len(value)) // 6] for skip, text in shifted)]

    return {
        (name, value)
        for name, values in columns.items()
        for value in values
        if len(set(value)) >= 4 and any(len(needle) >= least and needle in data for needle in needles(value))
    }


@pytest.mark.parametrize("block", [1 << 20, 64])
def test_the_scanner_finds_what_a_plain_search_finds(block, tmp_path, monkeypatch):
    """Values of many lengths, some in several columns, zero bytes among them, as they are and in base64."""
    monkeypatch.setattr("sanitize.verify._leftovers._BLOCK", block)
    rng = np.random.default_rng(12)
    names = [b"person-%d-of-%s" % (i, b"x" * int(rng.integers(0, 20))) for i in range(400)]
    raw = [rng.integers(0, 3, int(rng.integers(1, 40)), np.uint8).tobytes() for _ in range(200)]
    doubles = [np.float64(value).tobytes() for value in rng.random(100)]
    columns = {"name": set(names), "raw": {*raw, *names[:50]}, "double": set(doubles), "none": set()}
    planted = [rng.choice(names + raw + doubles) for _ in range(80)]
    data = b"".join(
        rng.bytes(int(rng.integers(0, 300))) + (value if i % 2 else base64.b64encode(b"ab"[: i % 3] + value))
        for i, value in enumerate(planted)
    )
    (tmp_path / "file").write_bytes(data)
    scanner = Scanner.of([(name, Spellings.of(values)) for name, values in columns.items()], len(data), b"")
    expected = plainly_found(columns, scanner.least, data)
    assert len(expected) > 40
    for scan in (lambda one: one.scan(data), lambda one: one.scan_file(tmp_path / "file")):
        scanner = Scanner.of([(name, Spellings.of(values)) for name, values in columns.items()], len(data), b"")
        scan(scanner)
        kept = {name: sorted(values) for name, values in columns.items()}
        assert {(name, kept[name][i]) for name, found in scanner.found.items() for i in found} == expected
        assert scanner.n_bytes == len(data)
    # What legitimate text holds is not searched for, wherever else it stands.
    scanner = Scanner.of([(name, Spellings.of(values)) for name, values in columns.items()], len(data), data)
    scanner.scan(data)
    assert not any(scanner.found.values())


def test_spellings_of_numbers_and_text():
    assert spellings(pa.array(["a", None, "b"]).dictionary_encode()) == {b"a", b"b"}
    assert spellings(pa.array([123456789, None])) == {b"123456789"}
    third = np.float64(1 / 3)
    assert spellings(pa.array([third])) == {repr(float(third)).encode(), third.tobytes()}
    assert spellings(pa.array([True])) == spellings(pa.array([[1]])) == set()


def test_pages_fill_a_file_of_every_encoding(tmp_path):
    content = table(3000).append_column("flag", pa.array(np.arange(3000) % 2 == 0))
    for i, (codec, version, dictionary) in enumerate(
        [("none", "1.0", True), ("snappy", "2.0", True), ("gzip", "1.0", False), ("brotli", "2.0", False)]
    ):
        path = tmp_path / f"{i}.parquet"
        pq.write_table(
            content, path, compression=codec, data_page_version=version, use_dictionary=dictionary, row_group_size=900
        )
        pages = Pages.of(path)
        assert pages.unaccounted == 0
        assert len(pages.row_groups) == 4
        n = sum(page.header.get(5, page.header.get(8, {})).get(1, 0) for c in pages.row_groups[0] for page in c.pages())
        assert n == 900 * content.num_columns
        if dictionary:
            town = pages.row_groups[0][1]
            assert [town.dictionary(page) for page in town.pages() if page.is_dictionary] == [
                {b"Aa", b"Bb", b"Cc", b"Dd"}
            ]


def test_a_damaged_release_is_refused_or_fails_and_nothing_else(tmp_path):
    """One bit of a released file changed, anywhere: an error of the library, or a failed check, or a harmless bit."""
    pq.write_table(table(300), tmp_path / "raw.parquet")
    data = release(tmp_path, merging(), rows="keep").read_bytes()
    rng = np.random.default_rng(9)
    refused = passed = 0
    for _ in range(60):
        broken = bytearray(data)
        broken[int(rng.integers(4, len(broken)))] ^= 1 << int(rng.integers(0, 8))
        (tmp_path / "out.parquet").write_bytes(broken)
        try:
            passed += verify_parquet(tmp_path / "out.parquet", tmp_path / "raw.parquet", merging(), rows="keep").ok
        except SourceError as error:
            refused += 1
            told = str(error)
            assert "SECRET" not in told
            assert "\n" not in told
    assert refused > 10
    assert passed < 10


@pytest.mark.parametrize("same", [True, False])
def test_sums_at_every_distance_are_those_of_one_by_one(same, monkeypatch):
    """Stretches that rows fill and do not fill, forwards and backwards; wrong by what is said at most."""
    monkeypatch.setattr(noise, "_STRETCH", 64)
    rng = np.random.default_rng(6)
    for n, m in [(300, 300), (65, 65)] if same else [(300, 77), (64, 200), (5, 1)]:
        a = rng.normal(size=n).astype(np.float32)
        b = a if same else rng.normal(size=m).astype(np.float32)
        for first in (1, 0, 1 - n):
            sums, error = noise._at_every_distance(a, b, first)
            for d, found in enumerate(sums.tolist(), first):
                ours, theirs = a[max(-d, 0) :], b[max(d, 0) :]
                k = min(len(ours), len(theirs))
                exact = float(ours[:k].astype(float) @ theirs[:k].astype(float))
                assert abs(found - exact) <= error
            assert len(sums) == len(b) - first
