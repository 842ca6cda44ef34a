"""The search for values that were left behind: which are sought, and where a piece of bytes begins like one."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanitize._files.parquet import ParquetSource
from sanitize.errors import SourceError
from sanitize.verify import _noise as noise
from sanitize.verify import _sieve as sieve
from sanitize.verify import _sought, _stored
from sanitize.verify._leftovers import Spellings, _is_various, distinct


@pytest.mark.parametrize("block", [1 << 17, 50])
@pytest.mark.parametrize("kind", ["digits", "any", "both", "none"])
def test_places_are_those_of_a_plain_search(kind, block, monkeypatch):
    monkeypatch.setattr(sieve, "_BLOCK", block)
    rng = np.random.default_rng(3)
    digits, others = rng.integers(48, 58, (300, 8), np.uint8), rng.integers(0, 256, (300, 8), np.uint8)
    starts = {"digits": [digits], "any": [others], "both": [digits, others], "none": []}[kind]
    texts = [row.tobytes() for part in starts for row in part]
    data = b"".join(
        rng.bytes(int(rng.integers(0, 90))) + (texts[i % len(texts)] if texts else b"12345678") for i in range(200)
    )
    wanted = set(texts)
    expected = [i for i in range(len(data) - 7) if data[i : i + 8] in wanted]
    assert sieve.Sieve.of(starts).places(data).tolist() == expected
    assert len(expected) >= (200 if texts else 0)
    for few in (b"", data[:7]):
        assert not len(sieve.Sieve.of(starts).places(few))


def _table(n: int = 3_000) -> pa.Table:
    rng = np.random.default_rng(0)
    numbers = rng.integers(100_000, 100_300, n)
    return pa.table(
        {
            "text": pa.array([f"person {i % 40} é" for i in range(n)], mask=rng.random(n) < 0.2),
            "large": pa.array([f"person {i % 40}" for i in range(n)], pa.large_string()),
            "bytes": pa.array([b"\xff\x00binary%d" % (i % 9) for i in range(n)]),
            **{str(dtype): pa.array(numbers, dtype) for dtype in (pa.int32(), pa.int64(), pa.uint32(), pa.uint64())},
            "short": pa.array(numbers - 100_000, pa.int16()),
            "double": pa.array(numbers / 7),
            "single": pa.array(numbers / 7, pa.float32()),
            "day": pa.array(numbers.astype(np.int32) % 400).cast(pa.date32()),
            "negative": pa.array(-numbers, mask=rng.random(n) < 0.2),
        }
    )


def _spelt(source: ParquetSource) -> dict[str, set[bytes]]:
    unread: list[str] = []
    found = {}
    for name, own in _sought.spelt(source, source.schema.names, unread):
        found[name] = {row.tobytes() for texts, _ in own.by_length().values() for row in texts}
        assert own.n >= len(found[name])
    assert not unread
    return found


@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("pages", ["1.0", "2.0"])
def test_dictionaries_give_the_values_that_rows_give(version, pages, tmp_path, monkeypatch):
    path = tmp_path / "raw.parquet"
    pq.write_table(_table(), path, version=version, data_page_version=pages, row_group_size=1_000, compression="zstd")
    source = ParquetSource.open(path)
    read: list[str] = []
    batches = ParquetSource.batches
    monkeypatch.setattr(
        ParquetSource,
        "batches",
        lambda self, file, names, *rest: read.extend(names) or batches(self, file, names, *rest),
    )
    found = _spelt(source)
    assert read == ["day"]
    assert len(found["text"]) == 40
    assert found["short"] == set()
    assert {len(found[name]) for name in ("int32", "int64", "uint32", "uint64", "negative")} == {300}
    monkeypatch.setattr(_stored.StoredValues, "of", lambda *_: None)
    assert _spelt(source) == found
    assert sorted(set(read)) == sorted(source.schema.names)


def test_rows_are_read_where_some_values_are_in_no_dictionary(tmp_path):
    values = [f"person number {i}" for i in range(3_000)]
    for settings in ({"use_dictionary": False}, {"dictionary_pagesize_limit": 2_000, "data_page_size": 1_000}):
        path = tmp_path / "raw.parquet"
        pq.write_table(pa.table({"text": values}), path, write_batch_size=100, **settings)
        source = ParquetSource.open(path)
        assert _stored.StoredValues(source).of(path, "text") is None
        assert _spelt(source) == {"text": {value.encode() for value in values}}


def test_rows_are_read_where_a_file_cannot_be_taken_apart(tmp_path, monkeypatch):
    path = tmp_path / "raw.parquet"
    pq.write_table(pa.table({"text": ["SECRET influenza", "none at all"] * 9}), path)

    def fails(*_):
        raise SourceError("cannot be taken apart")

    for place, name in ((_stored.Pages, "of"), (_stored.Chunk, "dictionary_page")):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, fails)
            assert _spelt(ParquetSource.open(path)) == {"text": {b"SECRET influenza", b"none at all"}}


def test_a_dictionary_that_is_not_what_was_written_is_named(tmp_path):
    path = tmp_path / "raw.parquet"
    rows = {"text": ["SECRET influenza", "none at all"] * 9, "other": ["somebody"] * 18}
    pq.write_table(pa.table(rows), path, write_page_checksum=True, compression="none")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"influenza", b"Influenza", 1))
    unread: list[str] = []
    found = dict(_sought.spelt(ParquetSource.open(path), ["text", "other"], unread))
    assert unread == ["text"]
    assert (found["text"].n, found["other"].n) == (0, 1)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 3), (64, 64), (65, 64), (300, 201), (200, 300)])
def test_sums_at_every_distance_are_those_of_a_loop(n, m, monkeypatch):
    monkeypatch.setattr(noise, "_STRETCH", 64)
    monkeypatch.setattr(noise, "_FREQUENCIES", 50)
    rng = np.random.default_rng(n)
    a, b = rng.random(n).astype(np.float32) - 0.5, rng.random(m).astype(np.float32)
    for first in (1, 1 - n):
        found, error = noise._at_every_distance(a, b, first)
        expected = [float(a[max(-d, 0) : m - d] @ b[max(d, 0) : n + d]) for d in range(first, m)]
        assert np.abs(found - expected).max(initial=0.0) <= error < 1e-3


def test_numbers_that_are_long_enough_are_spelt_and_others_only_numbered():
    for values in (
        pa.array([7, 1234567, -1234567, -123456, 12345678, 10**18, -(10**18)]),
        pa.array([3, 10_000_000, 2**64 - 1], pa.uint64()),
        pa.array(["a", "eight by", "longer than that"]),
    ):
        own = Spellings.of_values(values)
        assert own.n == len(values)
        whole = own.by_length()
        for least in (1, 7, 8, 9, 25):
            some = own.by_length(least)
            assert list(some) == [length for length in whole if length >= least]
            for length, (texts, numbers) in some.items():
                assert np.array_equal(texts, whole[length][0])
                assert np.array_equal(numbers, whole[length][1])


def test_where_nothing_was_drawn_nothing_repeats_itself():
    none, drawn = (
        (np.zeros(5, np.float32), np.ones(5, np.float32)),
        noise.residuals(np.eye(2) / 2 + 0.25, [0, 1], [1, 1]),
    )
    assert noise.log_chance_of_repeats(none) == (math.log(4), 1)
    assert noise.log_chance_of_repeats((none[0][:1], none[1][:1])) == (0.0, 0)
    assert noise.log_chance_of_repeats(none, drawn) == (math.log(6), -4)


def test_texts_of_few_different_bytes_are_told():
    texts = np.random.default_rng(0).choice(
        np.frombuffer(b"abc\xff0", np.uint8), (500, 9), p=[0.5, 0.3, 0.1, 0.05, 0.05]
    )
    assert _is_various(texts).tolist() == [len(set(text.tolist())) >= 4 for text in texts]
    assert _is_various(texts[:0]).shape == (0,)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("spread", [50, 1 << 20, 1 << 62, 1 << 64])
def test_distinct_whole_numbers_are_those_of_numpy(dtype, spread):
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    for least, most in ((info.min, min(info.max, info.min + spread)), (max(info.min, info.max - spread), info.max)):
        numbers = rng.integers(least, most, 3_000, dtype, endpoint=True)
        found = distinct(pa.array(numbers))
        assert found.type == pa.array(numbers).type
        np.testing.assert_array_equal(found.to_numpy(), np.unique(numbers))
    assert not len(distinct(pa.array([], pa.from_numpy_dtype(dtype))))
