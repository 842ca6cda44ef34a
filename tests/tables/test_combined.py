"""Rows as numbers of combinations: the same symbols and counts as row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from sanitize.core.alphabet import Alphabet
from sanitize.core.joint import ContingencyTable
from sanitize.errors import ColumnError
from sanitize.tables import keys as combined
from sanitize.tables.columns import all_below

N = 20_000


def _table(seed: int) -> dict:
    """Columns of every kind of distinct value that Arrow cannot tell by itself: repeated, unused, null, NaN and -0."""
    rng = np.random.default_rng(seed)
    repeated = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 5, N), pa.int8()), ["b", "a", "b", None, "c"])
    return {
        "text": repeated,
        "number": pa.array(rng.choice([0.0, -0.0, 1.5, np.nan], N)),
        "chunks": pa.chunked_array([pa.array(part) for part in np.array_split(rng.integers(0, 7, N), 3)]),
        "nulls": pa.array(rng.integers(0, 4, N), mask=rng.random(N) < 0.3).dictionary_encode(),
    }


def _in_parts(kind: str) -> list[dict]:
    """Three parts of a table whose dictionaries are not the same."""
    rng = np.random.default_rng(5)
    texts = ["a", "b", "c", "d"]
    parts = []
    for part in range(3):
        if kind == "another order":  # that of the first row that holds each value, as most writers have it
            own = rng.permutation(texts).tolist()
        elif kind == "other values":
            own = [*texts[part:], f"only {part}"]
        elif kind == "half precision":  # Arrow looks nothing up among these
            own = np.arange(part, part + 4, dtype=np.float16)
        elif kind == "many values":
            own = [f"{part} {j}" for j in range(40)]
        elif kind == "a value twice, and none":
            own = [["b", "a", "b", None], ["c", "a", None, "a"], ["a", "b", "c", "d"]][part]
        else:
            own = [0.0, -0.0, np.nan, float(part)]
        places = rng.integers(0, len(own), N)
        x = pa.array(places, mask=rng.random(N) < 0.1)
        s = pa.array(rng.integers(0, 3, N) if part else rng.integers(1, 3, N)).dictionary_encode()
        parts.append({"s": s, "x": pa.DictionaryArray.from_arrays(x, pa.array(own))})
    return parts


@pytest.mark.parametrize(
    "kind", ["another order", "other values", "a value twice, and none", "numbers", "many values", "half precision"]
)
def test_parts_whose_dictionaries_differ_come_to_the_rows_of_all(kind, monkeypatch):
    """Part by part, and put together, against rows one by one."""
    parts, made = _in_parts(kind), []
    for few in (1 << 12, 3 * N + 1):
        monkeypatch.setattr(combined, "FEW_ROWS", few)
        total = ContingencyTable.empty(["s"], ["x"])
        for columns in parts:
            assert (combined.Combined.from_columns(columns) is None) == (few > N)
            own = total.empty_copy()
            own.count(columns)
            assert own.counts.sum() == N
            total = total.merge(own)
        made.append(total)
    counts, slow = made
    assert counts.public == slow.public
    assert_array_equal(counts.counts, slow.counts)


@pytest.mark.parametrize("names", [["text"], ["number", "text"], ["chunks", "nulls", "number", "text"]])
def test_alphabets_and_counts_are_those_of_single_rows(names, monkeypatch):
    table, other = _table(0), {name: column[: N // 2] for name, column in _table(1).items()}
    made = []
    for few in (1 << 12, N + 1):
        monkeypatch.setattr(combined, "FEW_ROWS", few)
        assert (combined.Combined.from_columns({name: table[name] for name in names}) is None) == (few > N)
        alphabet = Alphabet.from_table(table, names)
        part = Alphabet(names, alphabet.symbols[::2])
        counts = ContingencyTable.empty(names[:1], names)
        counts.count(table)
        counts.count(other)
        made.append((alphabet, alphabet.encode(table), part.encode(table), counts))
    (whole, codes, some, counts), (whole_slow, codes_slow, some_slow, counts_slow) = made
    assert whole == whole_slow
    assert_array_equal(codes, codes_slow)
    assert_array_equal(some, some_slow)
    assert (some == -1).any()
    assert (some >= 0).any()
    assert counts.public == counts_slow.public
    assert counts.n == counts_slow.n
    assert counts.counts.dtype == np.int64
    assert_array_equal(counts.counts, counts_slow.counts)


def test_a_damaged_dictionary_is_refused():
    places = pa.array(np.full(N, 2, np.int32))
    damaged = pa.DictionaryArray.from_arrays(places, pa.array(["a", "b"]), safe=False)
    with pytest.raises(ColumnError, match="damaged"):
        Alphabet(("s",), ["a"]).encode({"s": damaged})


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.bool_, np.float64])
@pytest.mark.parametrize("numbered", [np.uint8, np.uint16, np.int32, np.int64])
def test_answers_of_numbers_are_those_of_a_look_up(dtype, numbered, monkeypatch):
    monkeypatch.setattr(combined, "_BLOCK_ROWS", 999)
    rng = np.random.default_rng(0)
    answers, numbers = rng.integers(0, 100, 250).astype(dtype), rng.integers(0, 250, 5_000).astype(numbered)
    for rows in (numbers, numbers[::-2], numbers[:0]):
        found = combined.take_answers(answers, rows)
        assert found.dtype == dtype
        assert found.flags.writeable
        assert_array_equal(found, answers[rows])


@pytest.mark.parametrize("wrong", [-1, 3, 1 << 20, -(1 << 31)])
def test_a_number_without_an_answer_is_refused_and_not_looked_up_outside_memory(wrong, monkeypatch):
    """Late among the rows, where all symbols have occurred already."""
    monkeypatch.setattr(combined, "_BLOCK_ROWS", 100)
    codes = np.append(np.arange(600) % 3, wrong).astype(np.int32)
    with pytest.raises(IndexError):
        combined.take_answers(np.arange(3), codes)
    with pytest.raises(IndexError):
        Alphabet(("s",), ["a", "b", "c"]).decode(codes)


@pytest.mark.parametrize("last", [False, True])
def test_what_occurs_is_told_though_rows_are_left_out(last, monkeypatch):
    monkeypatch.setattr(combined, "_BLOCK_ROWS", 100)
    numbers = np.arange(1000) % 30
    if last:
        numbers[-1] = 31
    for n in (32, 40):
        found = combined.present_codes(numbers, n)
        assert_array_equal(np.flatnonzero(found), np.unique(numbers))
    assert combined.present_codes(np.arange(1000) % 30, 30).all()
    assert not combined.present_codes(numbers[:0], 3).any()


def test_what_lies_within_bounds_is_told_for_every_width():
    for dtype, n, wrong in [
        (np.int8, 100, [-1, 100, -128, 127]),
        (np.int8, 200, [-1, -100]),  # as unsigned, -100 is 156
        (np.uint8, 200, [200, 255]),
        (np.int32, 5, [5, -(1 << 31), (1 << 31) - 1]),
        (np.int64, 5, [5, -1, 1 << 40]),
    ]:
        good = np.array([0, min(n - 1, np.iinfo(dtype).max), 3], dtype)
        assert all_below(good, n)
        for number in wrong:
            assert not all_below(np.append(good, np.array(number, dtype)), n), (dtype, n, number)
    assert all_below(np.empty(0, np.int16), 0)


@pytest.mark.parametrize("n_values", [254, 255, 256, 2000])
def test_a_column_that_holds_nothing_beside_one_that_fills_a_narrow_number(n_values):
    values = np.arange(N) % n_values
    table = {"nothing": pa.nulls(N, pa.string()), "values": pa.array(values)}
    found = combined.Combined.from_columns(table)
    assert_array_equal(found.numbers, values)
    assert_array_equal(found.counts[:n_values], np.bincount(values))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16])
@pytest.mark.parametrize("n", [0, 1, 2, 60, 128, 256])
@pytest.mark.parametrize("per_number", [0, 511, 512, 513, 1500])
def test_numbers_are_counted_as_one_by_one(n, dtype, per_number):
    """Bytes two by two where they are many: odd lengths, every second one of an array, and numbers beyond the last."""
    n_rows = n * per_number + 1 if n else 0
    most = min(n, np.iinfo(dtype).max + 1)
    rng = np.random.default_rng(n + per_number)
    numbers = np.minimum(rng.integers(0, max(most, 1), n_rows), rng.integers(0, max(most, 1), n_rows)).astype(dtype)
    for own in (numbers, numbers[1:], np.repeat(numbers, 2)[::2]):
        assert_array_equal(combined.count(own, n), np.bincount(own, minlength=n))
    if 1 < n <= most and per_number > 512:
        for place in (0, 1, n_rows - 1):
            strange = np.minimum(numbers, n - 2).astype(dtype)
            strange[place] = n - 1
            with pytest.raises((IndexError, ValueError)):
                combined.count(strange, n - 1)
