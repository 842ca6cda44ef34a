"""Rows that are read twice: those that are kept are those that the file holds, and no others are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanitize._files.loads import KeptRows
from sanitize._files.parquet import ParquetSource
from sanitize._tables.keys import CombinedRows, n_rows_of
from sanitize.alphabet import Alphabet
from sanitize.joint import ContingencyTable

N = 5_000


@pytest.fixture
def source(tmp_path, monkeypatch) -> ParquetSource:
    """Row groups of 1,000 rows, each a load of its own."""
    monkeypatch.setattr("sanitize._files.parquet.BATCH_ROWS", 1_000)
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "few": pa.array(rng.choice(["a", "b", "ç"], N)),
            "missing": pa.array(rng.choice(["x", "y"], N), mask=rng.random(N) < 0.3),
            "many": pa.array([f"value {i % 400}" for i in range(N)]),
            "number": pa.array(rng.integers(0, 9, N)),
        }
    )
    pq.write_table(table, tmp_path / "raw.parquet", row_group_size=1_000)
    return ParquetSource.open(tmp_path / "raw.parquet")


def rows_of(kept: KeptRows, source: ParquetSource, names: list[str], batch_rows: int = 1_000) -> dict[str, list]:
    found: dict[str, list] = {name: [] for name in names}
    for load in kept.loads(source, source.files[0], names, batch_rows):
        for batch in load.batches():
            for name in names:
                found[name] += batch[name].to_pylist()
    return found


@pytest.mark.parametrize("batch_rows", [1_000, 333])
def test_rows_are_read_once(source, batch_rows, monkeypatch):
    names = ["few", "missing", "many"]
    kept = KeptRows()
    whole = pq.read_table(source.files[0]).to_pydict()
    first = rows_of(kept, source, names, batch_rows)
    assert first == {name: whole[name] for name in names}
    monkeypatch.setattr(ParquetSource, "batches", lambda *_: pytest.fail("read again"))
    assert rows_of(kept, source, names, batch_rows) == first
    assert rows_of(kept, source, ["many"], batch_rows) == {"many": whole["many"]}
    (batch, *_) = next(kept.loads(source, source.files[0], names)).batches()
    assert [batch[name].indices.type.bit_width for name in names] == [8, 8, 16]


def test_columns_of_few_combinations_are_kept_as_those():
    """A byte or two a row for all columns; one column, or what others make of them, is as in the file."""
    rng = np.random.default_rng(1)
    n, names = 9_000, ["few", "missing", "damaged"]
    table = {
        "few": pa.array(rng.choice(["a", "b", "ç"], n)).dictionary_encode(),
        "missing": pa.array(rng.choice(["x", "y"], n), mask=rng.random(n) < 0.3).dictionary_encode(),
    }
    kept = KeptRows()
    held = kept._narrow(table)
    assert isinstance(held, CombinedRows)
    assert kept._n_bytes == held.combined.numbers.nbytes == n
    assert n_rows_of(held) == n
    assert {name: held[name].to_pylist() for name in held} == {name: table[name].to_pylist() for name in table}
    assert [name in held for name in names] == [True, True, False]
    for columns in (["few"], ["missing", "few"]):
        alphabet = Alphabet.from_table(table, columns)
        assert np.array_equal(alphabet.encode(held), alphabet.encode(table))
    plain, combined = (ContingencyTable.empty(["missing"], ["few"]) for _ in range(2))
    plain.count(table)
    combined.count(held)
    assert plain.to_joint().pmf.tolist() == combined.to_joint().pmf.tolist()
    wrong = pa.DictionaryArray.from_arrays(pa.array(np.full(n, 3, np.int32)), pa.array(["a", "b"]), safe=False)
    assert kept._narrow({**table, "damaged": wrong}) is None


def test_columns_that_take_more_and_rows_without_room_are_read_again(source):
    whole = pq.read_table(source.files[0]).to_pydict()
    for most, names in ((1 << 26, ["few", "number"]), (4_500, ["few", "missing"]), (0, ["few"])):
        kept = KeptRows(most)
        for _ in range(2):
            assert rows_of(kept, source, names) == {name: whole[name] for name in names}
        n_kept = len(kept._held)
        assert n_kept == 0 if most != 4_500 else 0 < n_kept < 5


def test_a_column_that_was_not_kept_is_read(source):
    kept = KeptRows()
    rows_of(kept, source, ["few"])
    whole = pq.read_table(source.files[0]).to_pydict()
    assert rows_of(kept, source, ["few", "many"]) == {name: whole[name] for name in ("few", "many")}


def test_chunks_are_not_taken_for_a_column():
    several = pa.chunked_array([pa.array(["z"]).dictionary_encode()] * 2)
    assert KeptRows()._narrow({"few": several}) is None


def test_indices_past_a_dictionary_are_not_cut_to_others():
    for wrong in (256, -1):
        places = pa.array(np.full(10, wrong, np.int32))
        damaged = pa.DictionaryArray.from_arrays(places, pa.array(["a", "b"]), safe=False)
        assert KeptRows()._narrow({"few": damaged}) is None
