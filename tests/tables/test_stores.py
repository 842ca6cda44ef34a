"""Tables in an object store, by address: read and written in one step, guarded as files are, its password not shown."""

from __future__ import annotations

import json
import os
import re
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

import sanitize as sz
from sanitize.cli import main
from sanitize.engines.parquet import audit_file
from sanitize.errors import SourceError, TargetError, TargetExists
from sanitize.tables.files.streams import Remote

server = pytest.importorskip("moto.server", reason="moto is not installed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pyarrow has S3 in its wheels for Linux")

KEY = bytes(range(32))
PASSWORD = "open-sesame"


@pytest.fixture(scope="module")
def store():
    """Address of a bucket, without the query, and the query."""
    machine = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    machine.start()
    _, port = machine.get_host_and_port()
    query = f"?scheme=http&endpoint_override=127.0.0.1:{port}&allow_bucket_creation=true&region=us-east-1"

    def address(path):
        return f"s3://me:{PASSWORD}@bucket/{path}{query}"

    files, _ = FileSystem.from_uri(address("raw.parquet"))
    files.create_dir("bucket")
    table = pa.Table.from_pandas(sz.datasets.load_titanic(), preserve_index=False)
    for name, part in (
        ("raw.parquet", table),
        ("many/a.parquet", table.slice(0, 900)),
        ("many/b.parquet", table.slice(900)),
    ):
        with files.open_output_stream(f"bucket/{name}") as stream:
            pq.write_table(part, stream)
    with files.open_output_stream("bucket/raw.csv") as stream:
        pa.csv.write_csv(table, stream)
    with files.open_output_stream("bucket/bad.parquet") as stream:
        stream.write(b"PAR1 and no more")
    address.files = files
    yield address
    machine.stop()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where temporary files go, to see that none is left."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    yield tmp_path
    assert os.listdir(tmp_path / "temporary") == []


def merging():
    return sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"])


@pytest.fixture
def here(place):
    sz.datasets.load_titanic().to_parquet(place / "raw.parquet", index=False)
    sz.release_file(place / "raw.parquet", place / "here.parquet", merging(), key=KEY)
    return (place / "here.parquet").read_bytes()


def test_from_address_to_address_as_from_file_to_file(store, place, here):
    (place / "many").mkdir()
    for name in ("a", "b"):
        with store.files.open_input_stream(f"bucket/many/{name}.parquet") as stream:
            (place / "many" / f"{name}.parquet").write_bytes(stream.read())
    sz.release_file(place / "many", place / "many.parquet", merging(), key=KEY)
    for name, wanted in (("raw.parquet", here), ("many", (place / "many.parquet").read_bytes())):
        sz.release_file(store(name), store("out.parquet"), merging(), key=KEY, force=True)
        with store.files.open_input_stream("bucket/out.parquet") as stream:
            assert pq.read_table(pa.BufferReader(stream.read())).equals(pq.read_table(pa.BufferReader(wanted)))
    assert sz.verify_file(store("out.parquet"), store("many"), merging()).ok
    assert merging().fit(store("raw.csv")).channel_ == merging().fit(place / "raw.parquet").channel_


def test_a_receipt_of_an_address_is_that_of_the_file(store, place):
    receipt = place / "private" / "receipt"
    sz.release_file(store("raw.parquet"), place / "out.parquet", merging(), receipt=receipt)
    assert sz.verify_file(place / "out.parquet", store("raw.parquet"), merging(), receipt=receipt).ok


def test_the_command_line_reads_addresses_and_its_report_names_the_file_alone(store, place, capsys):
    columns = ["-s", "survived", "-x", "class", "--lower", "1", "--upper", "1"]
    assert main(["release", store("raw.parquet"), "-o", str(place / "out.csv"), "--json", *columns]) == 0
    report = capsys.readouterr().out
    assert json.loads(report)["origin"]["table"] == "raw.parquet"
    assert main(["audit", store("raw.csv"), *columns[:4]]) == 0
    assert main(["release", str(place / "out.csv"), "-o", store("out.csv"), *columns]) == 4
    assert not {PASSWORD, "127.0.0.1"} & set(re.findall(r"[\w.-]+", report + "".join(capsys.readouterr())))


def test_what_goes_wrong_shows_no_password_and_leaves_nothing(store, place, monkeypatch):
    before = {one.path for one in store.files.get_file_info(FileSelector("bucket", recursive=True))}
    for ask, error, says in (
        (lambda: audit_file(store("none.parquet"), ["survived"], ["sex"]), SourceError, "none.parquet cannot be read"),
        (lambda: audit_file(store("bad.parquet"), ["survived"], ["sex"]), SourceError, "bad.parquet is cut off"),
        (
            lambda: audit_file("nowhere://me:x@b/raw", ["survived"], ["sex"]),
            SourceError,
            "nowhere://... names no store",
        ),
        (lambda: sz.release_file(store("raw.csv"), store("raw.parquet"), merging()), TargetExists, "exists already"),
        (lambda: sz.release_file(store("raw.csv"), store("out.txt"), merging()), TargetError, "name a .csv or"),
    ):
        with pytest.raises(error, match=says) as caught:
            ask()
        assert PASSWORD not in str(caught.value)
    monkeypatch.setattr("sanitize.tables.files.streams.shutil.copyfileobj", broken)
    with pytest.raises(KeyboardInterrupt):
        sz.release_file(sz.datasets.load_titanic(), store("new.parquet"), merging())
    assert {one.path for one in store.files.get_file_info(FileSelector("bucket", recursive=True))} == before


def broken(source, target, size):
    target.write(source.read(10))
    raise KeyboardInterrupt


class Odd:
    """A store with a key that would be a file beside the folder that is read."""

    def get_file_info(self, asked):
        one = FileInfo("bucket/odd/../../up.parquet", FileType.File)
        return [one] if isinstance(asked, FileSelector) else FileInfo(asked, FileType.Directory)


def test_a_name_that_leads_out_of_its_folder_is_not_read(place):
    with pytest.raises(SourceError, match="leads out of it"), Remote(Odd(), "bucket/odd").fetch():
        pass
