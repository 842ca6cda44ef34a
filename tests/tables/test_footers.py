"""Footers of Parquet files: none of them ends the process, whatever a byte of it says."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from commands_cases import assert_line, command, left_in

from sanitize.errors import SourceError
from sanitize.tables.files.footer import DAMAGE, Footer, Thrift, TooMany
from sanitize.tables.files.parquet import ParquetSource, read_footer

TABLE = pa.table({"s": ["p", "n", None, "n"] * 5, "x": ["a", "b", "b", None] * 5, "l": [[1], None, [], [2, None]] * 5})


class Wrapping(pe.KmsClient):
    """Keys wrapped in nothing but base64."""

    def wrap_key(self, key, _):
        return base64.b64encode(key)

    def unwrap_key(self, wrapped, _):
        return base64.b64decode(wrapped)


@pytest.mark.slow
def test_a_file_with_one_encrypted_column_is_refused_in_one_line(tmp_path):
    factory = pe.CryptoFactory(lambda _: Wrapping())
    keys = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["x"]}, plaintext_footer=True)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), keys)
    table = TABLE.select(["s", "x"])
    with pq.ParquetWriter(tmp_path / "raw.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    for asked in (["release", "-o", "out.parquet", "-s", "s", "-x", "x", "--lower=1", "--upper=1"], ["init"]):
        done = command(asked[0], "raw.parquet", *asked[1:], cwd=tmp_path)
        assert done.returncode == 3, done.stderr
        assert_line(done.stderr.decode(), "raw.parquet has encrypted columns; decrypt it first")
    assert left_in(tmp_path) == ["raw.parquet"]


# Each byte of the footer is replaced, and the file read as far as the library goes; a child process, since a byte
# of the statistics of sizes used to end the process that asked for its column.
EVERY_BYTE = """
import struct, sys
from pathlib import Path
from sanitize.tables.files.parquet import ParquetSource
from sanitize.errors import SourceError
path = Path(sys.argv[1])
content = path.read_bytes()
length, = struct.unpack("<I", content[-8:-4])
outcomes = {True: 0, False: 0}
for at in range(len(content) - 8 - length, len(content) - 8):
    for value in {0, 1, 0x15, 0x7F, content[at] + 2 & 255, 255}:
        path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        try:
            source = ParquetSource.open(path)
            for name in source.schema.names:
                for _ in source._file_batches(path, [name], 1 << 10, None):
                    pass
            outcomes[True] += 1
        except SourceError as error:
            assert "SECRET" not in str(error)
            outcomes[False] += 1
        except KeyError:  # the column that is asked for is gone from this footer
            outcomes[False] += 1
print(*outcomes.values())
"""


@pytest.mark.slow
def test_no_byte_of_a_footer_ends_the_process(tmp_path):
    path = tmp_path / "raw.parquet"
    pq.write_table(TABLE, path, store_schema=False, compression="none")
    done = subprocess.run([sys.executable, "-c", EVERY_BYTE, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    read, refused = map(int, done.stdout.split())
    assert read > 500
    assert refused > 500


def test_a_footer_says_what_pyarrow_says(tmp_path):
    path = tmp_path / "raw.parquet"
    pq.write_table(TABLE, path, row_group_size=6)
    known = pq.read_metadata(path)
    found = read_footer(path)
    assert found.row_groups == tuple(known.row_group(i).num_rows for i in range(known.num_row_groups))
    for group, column in np.ndindex(found.chunks.shape[:2]):
        chunk = known.row_group(group).column(column)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        end, promised = start + chunk.total_compressed_size, chunk.total_uncompressed_size
        assert found.chunks[group, column].tolist() == [start, end, promised, chunk.num_values]
        assert found.paths[column] == chunk.path_in_schema
    assert ParquetSource.open(path).n_rows == TABLE.num_rows


def thrift(value) -> bytes:
    """A structure as Thrift's compact protocol writes it, from fields by number."""
    made = b"\0"
    for number, one in sorted(value.items(), reverse=True):
        kind, packed = packed_value(one)
        made = bytes([kind]) + varint(number << 1) + packed + made
    return made


def varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def packed_value(one) -> tuple[int, bytes]:
    if isinstance(one, dict):
        return 12, thrift(one)
    if isinstance(one, bytes):
        return 8, varint(len(one)) + one
    if isinstance(one, int):
        return 6, varint(one << 1 if one >= 0 else (-one << 1) - 1)
    kind = packed_value(one[0])[0] if one else 12
    return 9, bytes([15 << 4 | kind]) + varint(len(one)) + b"".join(packed_value(each)[1] for each in one)


def footer(**changes) -> dict:
    metadata = {1: 6, 2: [0], 3: [b"x"], 4: 0, 5: 2, 6: 20, 7: 20, 9: 4}
    fields = {
        "schema": [{4: b"schema", 5: 1}, {1: 6, 3: 1, 4: b"x"}],
        "rows": 2,
        "groups": [{1: [{2: 0, 3: metadata}], 2: 20, 3: 2}],
    } | changes
    return {1: 2, 2: fields["schema"], 3: fields["rows"], 4: fields["groups"], 8: fields.get("encryption", {})}


def test_values_written_by_thrift_are_read_again():
    value = footer(rows=-(1 << 62))
    assert Thrift(thrift(value)).fields() == value


DEEP = [{4: b"n", 5: 1} for _ in range(3000)]
CONTRADICTORY = {
    "rows": {"rows": 3},
    "fewer columns than the schema": {"groups": [{1: [], 2: 0, 3: 2}]},
    "a child too few": {"schema": [{4: b"schema", 5: 2}, {1: 6, 4: b"x"}]},
    "a child too many": {"schema": [{4: b"schema", 5: 0}, {1: 6, 4: b"x"}]},
    "a column that is there minus once": {"schema": [{4: b"schema", 5: 1}, {1: 6, 3: -1, 4: b"x"}]},
    "a negative count": {"schema": [{4: b"schema", 5: -1}]},
    "a size that is a text": {"groups": [{1: [{3: {5: b"2", 6: 0, 7: 0, 9: 4}}], 3: 2}]},
    "a chunk beyond the file": {"groups": [{1: [{3: {5: 2, 6: 20, 7: 1 << 40, 9: 4}}], 3: 2}]},
    "no schema": {"schema": []},
    "row groups that share a chunk": {"rows": 4, "groups": footer()[4] * 2},
    **{
        f"sizes of {said}": {"schema": schema, "groups": [{1: [{3: {5: 2, 6: 20, 7: 20, 9: 4, 16: sizes}}], 3: 2}]}
        for said, schema, sizes in (
            ("a level too many", [{4: b"schema", 5: 1}, {1: 6, 3: 0, 4: b"x"}], {3: [1, 1]}),
            ("a level too few", [{4: b"schema", 5: 1}, {1: 6, 3: 2, 4: b"x"}], {2: [2]}),
            ("texts that are numbers", [{4: b"schema", 5: 1}, {1: 2, 3: 1, 4: b"x"}], {1: 8, 3: [1, 1]}),
        )
    },
}


@pytest.mark.parametrize("changes", CONTRADICTORY.values(), ids=CONTRADICTORY)
def test_a_footer_that_contradicts_itself_is_refused(changes):
    assert Footer.read(thrift(footer()), 1000, "raw.parquet").row_groups == (2,)
    with pytest.raises(SourceError, match=r"^raw\.parquet is damaged or not supported: its footer is inconsistent"):
        Footer.read(thrift(footer(**changes)), 1000, "raw.parquet")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema": [*DEEP, {1: 6, 4: b"x"}]}, "nested more than 100 deep"),
        ({"schema": [{4: b"schema", 5: 1}, {1: 6, 4: b"\xff"}]}, "not valid UTF-8"),
        ({"encryption": {1: {}}}, "encrypted"),
        ({"groups": [{1: [{2: 0, 8: {1: {}}}], 3: 2}]}, "encrypted"),
        ({"groups": [{1: [{2: 0, 9: b"??"}], 3: 2}]}, "encrypted"),
    ],
)
def test_footers_that_cannot_be_read_say_why(changes, words):
    with pytest.raises(SourceError, match=rf"^raw\.parquet .*{words}"):
        Footer.read(thrift(footer(**changes)), 1000, "raw.parquet")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x19\xfc" + b"\xff" * 3 + b"\x7f",  # a list that promises 2^28 structures
        b"\x19\xfc" + varint(1 << 24) + b"\0" * ((1 << 24) + 1),  # as many that are there and take one byte each
        b"\x18\xff\xff\x03ab",  # a text that promises more than there is
        b"\x16" + b"\xff" * 40,  # a number without an end
        b"\x1c" * 5000,  # structures in structures
        b"\x1d\x01",  # a kind that there is not
    ],
    ids=range(6),
)
def test_thrift_that_lies_costs_no_memory(raw):
    with pytest.raises((*DAMAGE, TooMany)):
        Thrift(raw).fields()


def test_a_footer_that_is_remembered_is_not_taken_for_another(tmp_path):
    """Same size, same time, another content."""
    path = tmp_path / "raw.parquet"
    pq.write_table(TABLE, path)
    content = path.read_bytes()
    read_footer(path)
    (length,) = struct.unpack("<I", content[-8:-4])
    start = len(content) - 8 - length
    path.write_bytes(content[:start] + b"\xff" + content[start + 1 :])
    with pytest.raises(SourceError, match="is inconsistent"):
        read_footer(path)
