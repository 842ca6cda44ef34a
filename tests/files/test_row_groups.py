"""Row groups put together are, byte for byte, what one writer writes of all."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanitize._files.footer import Thrift, packed, packed_list, packed_whole
from sanitize.parquet._writers import JoinedFile

SETTINGS = {
    "as released": {"compression": "zstd", "use_dictionary": True, "write_page_checksum": True},
    "with statistics": {"compression": "snappy", "write_statistics": True},
    "in many pages": {"compression": "none", "data_page_size": 64, "data_page_version": "2.0"},
    "plain": {"use_dictionary": False, "store_schema": True, "version": "1.0"},
}


def table(n: int, columns: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    text = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, n), pa.int32()), ["a", "bb", "ä"])
    kinds = [
        text,
        pa.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.2),
        pa.array(rng.normal(size=n)),
        pa.array(rng.random(n) < 0.5),
        pa.nulls(n),
    ]
    return pa.table({f"c{j}": kinds[j % len(kinds)] for j in range(columns)})


def written(tables: list[pa.Table], schema: pa.Schema, **settings) -> bytes:
    held = io.BytesIO()
    with pq.ParquetWriter(held, schema, **settings) as writer:
        writer.add_key_value_metadata({"sanitize": "words"})
        for rows in tables:
            writer.write_table(rows)
    return held.getvalue()


def joined(parts: list[list[pa.Table]], schema: pa.Schema, **settings) -> bytes:
    held = io.BytesIO()
    file = JoinedFile(held, memoryview(written([], schema, **settings)))
    for part in parts:
        file.write(memoryview(written(part, schema, **settings)))
    file.close()
    return held.getvalue()


def footer(file: bytes) -> dict:
    length = int.from_bytes(file[-8:-4], "little")
    return Thrift(file[-8 - length : -8]).fields()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 5, 20])
@pytest.mark.parametrize("n_groups", [0, 1, 3, 14, 15, 40])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_joined_file_is_that_of_one_writer(name, n_groups, columns):
    tables = [table(n, columns, n) for n in range(1, 2 * n_groups + 1, 2)]
    schema = table(0, columns, 0).schema
    whole = written(tables, schema, **SETTINGS[name])
    assert joined([[rows] for rows in tables], schema, **SETTINGS[name]) == whole
    if n_groups > 2:
        assert joined([tables[:2], [], tables[2:]], schema, **SETTINGS[name]) == whole


def test_places_of_indexes_move_along():
    """They stand behind each part's row groups and not behind all, so the file is another, and reads the same."""
    tables = [table(300, 5, seed) for seed in range(4)]
    settings = {"write_page_index": True, "data_page_size": 64}
    parts = [written([rows], rows.schema, **settings) for rows in tables]
    made = joined([[rows] for rows in tables], tables[0].schema, **settings)
    read = pq.read_table(io.BytesIO(made), page_checksum_verification=True)
    assert read.equals(pa.concat_tables(pq.read_table(io.BytesIO(part)) for part in parts))
    groups = footer(made)[4]
    for number, part in enumerate(parts):
        for moved, own in zip(groups[number][1], footer(part)[4][0][1], strict=True):
            for place, size in ((4, 5), (6, 7)):  # of its offset index and of its column index
                if size not in own:  # nulls have no column index
                    assert place not in moved
                    continue
                assert moved[size] == own[size] > 0
                assert moved[place] > own[place] or not number
                ours, theirs = slice(moved[place], moved[place] + own[size]), slice(own[place], own[place] + own[size])
                assert made[ours] == part[theirs]


@pytest.mark.parametrize("value", [0, 1, -1, 63, 64, -64, -65, 1 << 31, (1 << 63) - 1, -(1 << 63)])
def test_whole_numbers_are_read_as_they_were_written(value):
    assert Thrift(packed_whole(value)).whole() == value


def test_structures_are_written_as_they_were_read():
    """Numbers of fields far apart, truth values, which have no bytes, and lists of any length."""
    inner = packed([(1, 1, b""), (2, 2, b""), (40, 6, packed_whole(-5)), (41, 8, b"\x02ab")])
    numbers = packed_list(5, [packed_whole(7)] * 3)
    raw = packed([(3, 12, inner), (4, 9, packed_list(12, [inner] * 15)), (400, 9, numbers)])
    assert packed(Thrift(raw).raw_fields()) == raw
    one = {1: True, 2: False, 40: -5, 41: b"ab"}
    assert Thrift(raw).fields() == {3: one, 4: [one] * 15, 400: [7] * 3}
