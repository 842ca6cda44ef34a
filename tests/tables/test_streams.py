"""Streams of CSV, and folders whose names are columns."""

from __future__ import annotations

import datetime
import gzip
import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from csv_cases import KEY, merging, sailors, write

import sanitize as sz
from sanitize.engines.parquet import audit_file, release_file
from sanitize.engines.parquet._writers import CsvWriter
from sanitize.errors import ColumnError, InvalidParameter, SourceError, TargetError
from sanitize.tables.files import streams as _spool
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.open import open_source
from sanitize.transformers import SubsetMerging

# ------------------------------------------------------------------------------------------------- streams


class Pipe(io.RawIOBase):
    """A stream that gives little at a time and cannot be sought."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        return self._content.readinto(memoryview(buffer)[:777])


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_is_released_like_the_file(packed, titanic, tmp_path):
    release_file(titanic, tmp_path / "out.csv", sailors(), key=KEY)
    content = titanic.read_bytes()
    out = io.BytesIO()
    release_file(Pipe(gzip.compress(content) if packed else content), out, sailors(), key=KEY)
    assert out.getvalue() == (tmp_path / "out.csv").read_bytes()
    assert audit_file(Pipe(content), ["survived"], ["class"]).ok


def test_a_stream_leaves_no_file_and_gets_nothing_when_the_gate_fails(titanic, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[list[str]] = []
    read_at = _spool._Reader.readinto

    def spying(self, buffer):
        seen.append(sorted(os.listdir(tmp_path)))
        return read_at(self, buffer)

    monkeypatch.setattr(_spool._Reader, "readinto", spying)
    out = io.BytesIO()
    release_file(Pipe(titanic.read_bytes()), out, sailors())
    assert seen
    assert all(names == ["raw.csv"] for names in seen)
    out = io.BytesIO()
    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging",
        lambda joint, budget, **_: sz.Channel.identity(len(joint.public), joint.public),
    )
    with pytest.raises(sz.errors.BudgetExceeded):
        release_file(Pipe(titanic.read_bytes()), out, sailors())
    assert out.getvalue() == b""


def test_a_stream_that_fails_half_way_passes_nothing_on(titanic, monkeypatch):
    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CsvWriter, "write", broken)
    out = io.BytesIO()
    with pytest.raises(TargetError, match="No space left"):
        release_file(Pipe(titanic.read_bytes()), out, sailors())
    assert out.getvalue() == b""


def test_a_stream_of_text_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match=r"sys\.stdin\.buffer"):
        release_file(io.StringIO("s,x\np,a\n"), tmp_path / "out.csv", merging())


def test_a_spool_without_room_is_one_error(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(SourceError, match="No space left on device"):
        audit_file(io.BytesIO(b"s,x\n"), ["s"], ["x"])


# ----------------------------------------------------------------------------------------- folders as columns


@pytest.fixture
def hive(tmp_path) -> Path:
    """Titanic, one folder a class and sex."""
    frame = sz.datasets.load_titanic().astype(str)
    for (ship_class, sex), part in frame.groupby(["class", "sex"]):
        folder = tmp_path / "hive" / f"class={ship_class}%20x" / f"sex={sex}"
        folder.mkdir(parents=True)
        part[["survived", "age"]].to_parquet(folder / "SECRETpart.parquet", index=False)
    return tmp_path / "hive"


@pytest.mark.slow
def test_folders_name_columns_that_are_sensitive_public_or_dropped(hive, tmp_path):
    frame = sz.datasets.load_titanic().astype(str)
    frame["class"] += " x"
    frame.to_parquet(tmp_path / "flat.parquet")
    for s, x in (("survived", ["class", "sex"]), ("sex", ["class"]), ("survived", ["age"]), ("class", ["sex", "age"])):
        sanitizer = lambda: SubsetMerging(sz.LiftBudget(lower=float("inf"), upper=3.0), sensitive=s, public=x)  # noqa: E731, B023
        report = release_file(hive, tmp_path / "out", sanitizer(), force=True)
        flat = release_file(tmp_path / "flat.parquet", tmp_path / "one.parquet", sanitizer(), force=True)
        assert report.summary == flat.summary
        assert sorted(os.listdir(tmp_path / "out")) == [f"part-{i:05d}.parquet" for i in range(8)]
        # One file at a time: pyarrow would take columns from the folders' names.
        released = [pq.ParquetFile(part).read() for part in sorted((tmp_path / "out").iterdir())]
        assert {tuple(table.column_names) for table in released} == {tuple(x)}
        assert sum(table.num_rows for table in released) == len(frame)
        for name in x:
            values = {value for table in released for value in table.column(name).to_pylist()}
            assert values <= set(frame[name])
        assert audit_file(hive, [s], x).summary == audit_file(tmp_path / "flat.parquet", [s], x).summary


def test_folders_of_whole_numbers_are_numbers_and_may_be_binned(tmp_path):
    for year in (1999, 2005, 2024):
        (tmp_path / "in" / f"year={year}" / "zip=012").mkdir(parents=True)
        write(tmp_path / "in" / f"year={year}" / "zip=012" / "a.csv", "s\np\nn\n")
    (tmp_path / "in" / "year=__HIVE_DEFAULT_PARTITION__" / "zip=1").mkdir(parents=True)
    write(tmp_path / "in" / "year=__HIVE_DEFAULT_PARTITION__" / "zip=1" / "a.csv", "s\np\n")
    opened = CsvSource.open(tmp_path / "in")
    assert opened.schema.field("year").type == pa.int64()
    assert opened.schema.field("zip").type == pa.string()
    rows = [b[n].to_pylist() for f in opened.files for b in opened.batches(f, ["year", "zip"]) for n in ("year", "zip")]
    assert rows == [[1999] * 2, ["012"] * 2, [2005] * 2, ["012"] * 2, [2024] * 2, ["012"] * 2, [None], ["1"]]
    report = release_file(
        tmp_path / "in", tmp_path / "out.csv", merging(public=["year"], bins={"year": [1990, 2000, 2030]})
    )
    assert report.ok
    assert all(1990 <= int(line) <= 2030 for line in (tmp_path / "out.csv").read_text().split()[1:])


@pytest.mark.parametrize(
    ("folders", "message"),
    [
        (["a=1", "b=1"], "do not name the same columns"),
        (["a=1", "."], "do not name the same columns"),
        (["a=1/a=2"], "name a column twice"),
        (["a=%ff"], "not valid UTF-8"),
    ],
)
def test_folders_that_do_not_agree_are_refused(folders, message, tmp_path):
    for number, folder in enumerate(folders):
        (tmp_path / "in" / folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"s": ["p"]}), tmp_path / "in" / folder / f"{number}.parquet")
    with pytest.raises(SourceError, match=message):
        audit_file(tmp_path / "in", ["s"], ["a"])


@pytest.mark.parametrize(
    ("folder", "values"),
    [("1", [1, 1]), ("1", ["1", "1"]), ("p q", ["p q", "p q"]), ("2024-01-31", [datetime.date(2024, 1, 31)] * 2)],
)
def test_a_column_in_files_and_folders_is_that_of_the_files(folder, values, tmp_path):
    (tmp_path / "in" / f"s={folder}").mkdir(parents=True)
    pq.write_table(pa.table({"s": values, "x": ["a", "b"]}), tmp_path / "in" / f"s={folder}" / "0.parquet")
    with open_source(tmp_path / "in") as table:
        assert table.schema.names == ["s", "x"]
        [batch] = table.batches(table.files[0], ["x", "s"])
    assert batch["s"].to_pylist() == values


@pytest.mark.parametrize(("folder", "values"), [("1", ["p", "n"]), ("1", [1, 2]), ("a", [1, 1]), ("1", ["1.5", "1"])])
def test_a_column_that_folders_name_otherwise_is_refused(folder, values, tmp_path):
    (tmp_path / "in" / f"s={folder}").mkdir(parents=True)
    pq.write_table(pa.table({"s": values, "x": ["a", "b"]}), tmp_path / "in" / f"s={folder}" / "0.parquet")
    with pytest.raises(ColumnError, match=r"column 's' in 0\.parquet contradicts the value in the name of its folder"):
        audit_file(tmp_path / "in", ["s"], ["x"])


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_workers_release_folders_that_name_columns_as_one_machine_does(rows, hive, tmp_path):
    workers = pytest.importorskip("sanitize.engines.dask", reason="Dask is not installed")
    made = []
    # Folders put rows of one class and sex together, which a tight budget would refuse to keep.
    budget = sz.LiftBudget(lower=1.0, upper=0.7) if rows == "shuffle" else sz.LiftBudget(lower=4.0, upper=2.0)
    for name, release in (("alone", release_file), ("dask", workers.release_file)):
        sanitizer = SubsetMerging(budget, sensitive="survived", public=["class", "sex"])
        release(hive, tmp_path / name, sanitizer, key=KEY, rows=rows)
        parts = [pq.ParquetFile(part).read() for part in sorted((tmp_path / name).iterdir())]
        made.append(pa.concat_tables(parts).to_pylist())
    assert made[0] == made[1]
