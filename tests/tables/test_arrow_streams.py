"""Tables that are no files: whatever gives Arrow's record batches is released as a Parquet file of the same rows is."""

from __future__ import annotations

import datetime as dt
import errno
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hostile_cases import patched, varint

import sanitize as sz
from sanitize.engines.parquet import audit_file, plan_file
from sanitize.errors import ColumnError, InvalidParameter, SourceError
from sanitize.release.saved import SavedRelease

RNG = np.random.default_rng(7)
N = 3000
ILL = RNG.choice(["none", "flu", "asthma"], N, p=[0.7, 0.2, 0.1])
TABLE = pa.table(
    {
        "illness": ILL,
        "town": pa.array([None if v > 0.97 else f"T{int(v * 4)}" for v in RNG.random(N)]),
        "sick": pa.array((ILL != "none") & (RNG.random(N) < 0.7)),
        "rooms": pa.array(RNG.integers(1, 5, N), pa.int8()),
        "seen": pa.array([dt.date(2024, 1, 1 + int(day)) for day in RNG.integers(0, 4, N)]),
        "cost": pa.array([Decimal(int(v)) / 2 for v in RNG.integers(0, 4, N)], pa.decimal128(5, 1)),
        "level": pa.array(RNG.choice(["low", "high"], N)).dictionary_encode(),
        "wordy": pa.array(RNG.choice(["a b", "c"], N), pa.string_view()),
        "tags": pa.array([["left", "out"]] * N),
    }
)
PUBLIC = ["town", "sick"]
EVERY = ["town", "sick", "rooms", "seen", "cost", "level", "wordy"]
KEY = bytes(range(32))

STREAMS = {
    "table": lambda: TABLE,
    "reader": lambda: TABLE.to_reader(max_chunksize=77),
    "one batch": lambda: TABLE.to_reader(),
    "record batches": lambda: iter(TABLE.to_batches(max_chunksize=500)),
    "tables": lambda: (TABLE.slice(start, 700) for start in range(0, N, 700)),
    "capsule": lambda: Capsule(TABLE),
    "in memory": lambda: ds.dataset(TABLE),
}


class Capsule:
    """A library that knows nothing but Arrow's interface of streams."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def merging(public=PUBLIC):
    return sz.SubsetMerging(sz.LiftBudget.symmetric(0.5), sensitive="illness", public=public)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams") / "raw.parquet"
    pq.write_table(TABLE, path, row_group_size=1000)
    return path


@pytest.fixture(scope="module")
def released(file):
    """What is released of the file, by the order of its rows."""
    found = {}
    for rows in ("shuffle", "keep"):
        sz.release_file(file, file.with_name(f"{rows}.parquet"), merging(), key=KEY, rows=rows)
        found[rows] = file.with_name(f"{rows}.parquet").read_bytes()
    return found


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_is_released_as_its_file_is_byte_for_byte(kind, rows, released, tmp_path):
    sz.release_file(STREAMS[kind](), tmp_path / "out.parquet", merging(), key=KEY, rows=rows, batch_rows=640)
    assert (tmp_path / "out.parquet").read_bytes() == released[rows]


@pytest.mark.parametrize("kind", STREAMS)
def test_a_fit_and_a_transform_read_a_stream_once_each(kind):
    whole = merging().fit(TABLE)
    fitted = merging().fit(STREAMS[kind]())
    assert fitted.channel_ == whole.channel_
    ours, theirs = (made.set_params(random_state=3) for made in (fitted, whole))
    assert ours.transform(STREAMS[kind]()).equals(theirs.transform(TABLE))


def test_frames_queries_and_data_sets_of_other_libraries(file, released, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    relation = duckdb.sql(f"SELECT illness, sick, town FROM '{file}'")
    frame = TABLE.select(["illness", *PUBLIC]).to_pandas()
    frame.index = frame.index + 5  # it must not become a column
    for number, source in enumerate(
        (
            frame,
            pl.from_arrow(TABLE),
            pl.scan_parquet(file),
            relation,
            ds.dataset(file),
            ds.dataset(file.parent / file.name),
        )
    ):
        target = tmp_path / f"{number}.csv"
        sz.release_file(source, target, merging(), key=KEY, rows="keep")
        assert pd.read_csv(target, dtype=str).equals(pd.read_csv(io.StringIO(as_csv(released["keep"])), dtype=str))


def as_csv(parquet: bytes) -> str:
    sink = io.BytesIO()
    pa.csv.write_csv(pq.read_table(io.BytesIO(parquet)), sink)
    return sink.getvalue().decode()


def test_a_lazy_frame_runs_once():
    runs = []

    def noticed(frame):
        runs.append(len(frame))
        return frame

    lazy = pl.from_arrow(TABLE).lazy().map_batches(noticed)
    report = plan_file(
        lazy, sz.LatentClassRelease(sz.LiftBudget.symmetric(1.0), sensitive="illness", public=EVERY, n_classes=4)
    )
    assert report.ok
    assert runs == [N]


@pytest.mark.slow
@pytest.mark.parametrize("kind", STREAMS)
def test_columns_of_every_type_are_printed_in_their_types(kind, file, tmp_path):
    for name, source in (("file", file), ("stream", STREAMS[kind]())):
        sz.release_file(
            source,
            tmp_path / f"{name}.parquet",
            sz.LatentClassRelease(sz.LiftBudget.symmetric(1.0), sensitive="illness", public=EVERY, n_classes=4),
            key=KEY,
        )
    a, b = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("file", "stream"))
    assert a.equals(b)


def test_what_is_done_with_files_is_done_with_streams(file, tmp_path):
    reader = TABLE.to_reader
    of_file, of_stream = (audit_file(source, ["illness"], PUBLIC).summary for source in (file, reader()))
    assert of_file == of_stream
    saved = tmp_path / "saved.json"
    SavedRelease.of(merging().fit(TABLE)).to_json(saved)
    for name, source in (("a", file), ("b", reader())):
        sz.release_file(source, tmp_path / name, SavedRelease.from_json(saved), key=KEY)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    sz.release_file(reader(), tmp_path / "c.parquet", merging())
    assert sz.verify_file(tmp_path / "c.parquet", reader(), merging()).ok


def test_dictionaries_that_change_and_hold_missing_values(tmp_path):
    codes = pa.array(RNG.integers(0, 3, 600), pa.int8())
    parts = [
        pa.table({"s": ILL[:600], "x": pa.DictionaryArray.from_arrays(codes, pa.array(values))})
        for values in (["a", "b", None], ["c", None, "a"], ["a", "b", "d"])
    ]
    plain = pa.concat_tables([part.set_column(1, "x", part["x"].cast(pa.string())) for part in parts])
    maker = sz.SubsetMerging(sz.LiftBudget.symmetric(3.0), sensitive="s", public="x")
    for name, source in (("a", plain), ("b", iter(parts)), ("c", (part.to_batches()[0] for part in parts))):
        sz.release_file(source, tmp_path / name, maker, key=KEY, rows="keep")
    released = [pq.read_table(tmp_path / name)["x"].cast(pa.string()) for name in "abc"]
    assert released[0].equals(released[1])
    assert released[0].equals(released[2])


def test_types_that_widen_from_table_to_table(tmp_path):
    parts = [pd.DataFrame({"s": list("ab") * 40, "x": x * 40}) for x in ([1, 2], [0.5, 2])]
    fitted = sz.SubsetMerging(sz.LiftBudget.symmetric(2.0), sensitive="s", public="x").fit(iter(parts))
    assert fitted.channel_.inputs.symbols == (0.5, 1, 2)
    sz.release_file(
        iter(parts), tmp_path / "out.parquet", sz.SubsetMerging(sz.LiftBudget.symmetric(2.0), sensitive="s", public="x")
    )
    assert pq.read_schema(tmp_path / "out.parquet").field("x").type == pa.float64()


def failing():
    yield from TABLE.to_batches(max_chunksize=1000)[:2]
    raise ValueError("the value 'flu' of row 2001 is not valid")


READ = TABLE.to_reader()
READ.read_all()


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        (READ, ColumnError, "has no rows left, because a stream can be read only once"),
        (iter([]), ColumnError, "has no rows left"),
        (iter([TABLE, TABLE.drop_columns("town")]), ColumnError, "no column 'town'"),
        (iter([TABLE, TABLE.set_column(1, "town", pa.array(range(N)))]), ColumnError, "town.*string vs int64"),
        (failing(), SourceError, "the input stream cannot be read"),
        (iter(["a", "b"]), ColumnError, "a stream of Arrow record batches, got str"),
        (None, ColumnError, "got NoneType"),
        (TABLE.rename_columns({"rooms": "town"}), ColumnError, "more than one column 'town'"),
        (TABLE.rename_columns({"rooms": "town"}).to_reader(), ColumnError, "2 columns named 'town'"),
    ],
)
def test_what_cannot_be_read_is_refused_without_a_value(source, error, says, tmp_path):
    with pytest.raises(error, match=says) as caught:
        sz.release_file(source, tmp_path / "out.parquet", merging(["town", "sick"]))
    assert "flu" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_room_for_a_stream(monkeypatch, tmp_path):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sanitize.tables.files.streams.tempfile.TemporaryFile", lambda dir: Full())
    with pytest.raises(SourceError, match=r"the input stream cannot be kept in a temporary file \(No space left"):
        sz.release_file(TABLE.to_reader(), tmp_path / "out.parquet", merging())
    assert list(tmp_path.iterdir()) == []


def test_a_stream_has_no_receipt_and_no_delimiter(file, tmp_path):
    receipt = tmp_path / "private" / "receipt"
    receipt.parent.mkdir()
    for more, says in (
        ({"receipt": receipt}, "bytes of its files"),
        ({"description": sz.TableDescription(delimiter=";")}, "delimiter is a setting of text files"),
    ):
        with pytest.raises(InvalidParameter, match=says):
            sz.release_file(TABLE.to_reader(), tmp_path / "out.parquet", merging(), **more)
    sz.release_file(file, tmp_path / "out.parquet", merging(), receipt=receipt)
    with pytest.raises(InvalidParameter, match="bytes of its files"):
        sz.verify_file(tmp_path / "out.parquet", TABLE.to_reader(), merging(), receipt=receipt)


def test_pages_of_a_data_set_are_checked_and_other_formats_are_not_read(file, tmp_path):
    (tmp_path / "raw").mkdir()
    whole = TABLE.select(["illness", *PUBLIC])
    pq.write_table(whole, tmp_path / "raw" / "a.parquet", write_page_checksum=True, compression="none")
    raw = (tmp_path / "raw" / "a.parquet").read_bytes()
    (tmp_path / "raw" / "a.parquet").write_bytes(raw.replace(b"asthma", b"asthmb", 1))
    with pytest.raises(SourceError, match="cannot be read: a page fails its checksum"):
        sz.release_file(ds.dataset(tmp_path / "raw"), tmp_path / "out.parquet", merging())
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), TABLE.schema) as writer:
        writer.write_table(TABLE)
    with pytest.raises(SourceError, match="Parquet files on this machine"):
        sz.release_file(ds.dataset(tmp_path / "a.arrow", format="ipc"), tmp_path / "out.parquet", merging())
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.slow
def test_a_bomb_in_a_data_set_is_refused_as_in_a_file(tmp_path):
    """Its footer promises eight gibibytes."""
    bomb = pa.table({"illness": ["flu", "none"], "town": pa.array(["y" * (129 << 20), "z"])})
    pq.write_table(bomb, tmp_path / "a.parquet", compression="zstd", use_dictionary=False, write_statistics=False)
    raw = (tmp_path / "a.parquet").read_bytes()
    size = pq.read_metadata(tmp_path / "a.parquet").row_group(0).column(1).total_uncompressed_size
    (tmp_path / "a.parquet").write_bytes(patched(raw, varint(size), varint(8 << 30), len(raw) - 2000))
    with pytest.raises(SourceError, match="decompression bomb"):
        audit_file(ds.dataset(tmp_path / "a.parquet"), ["illness"], ["town"])
