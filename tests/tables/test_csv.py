"""CSV in and out, streams, and folders whose names are columns."""

from __future__ import annotations

import csv
import gzip
import io
import os
import time
import tomllib
import weakref
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from csv_cases import KEY, merging, sailors, write

from sanitize.auditing.verify import verify_file
from sanitize.cli import main
from sanitize.core.alphabet import Alphabet
from sanitize.engines.parquet import TableDescription, audit_file, plan_file, release_file
from sanitize.engines.parquet import _writers as _csv_target
from sanitize.engines.parquet._writers import CsvWriter, formula_note, quote_field
from sanitize.errors import ColumnError, InvalidParameter, PolicyError, SourceChanged, SourceError, TargetError
from sanitize.policy import Policy
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.csv_stream import CheckedBytes
from sanitize.tables.files.source import Numbers
from sanitize.transformers import Sanitizer


def read(path: Path, columns: list[str], numeric: tuple[str, ...] = ()) -> list[list]:
    """Columns of a CSV file as the library sees them."""
    opened = CsvSource.open(path, Numbers(numeric))
    found: list[list] = [[] for _ in columns]
    for batch in opened.batches(opened.files[0], columns):
        for values, name in zip(found, columns, strict=True):
            values.extend(batch[name].to_pylist())
    return found


# --------------------------------------------------------------------------------------------- the dialect


@pytest.mark.parametrize(
    ("content", "s", "x"),
    [
        ("s,x\np,a\nn,b\n", ["p", "n"], ["a", "b"]),
        ("s,x\r\np,a\r\nn,b", ["p", "n"], ["a", "b"]),
        ("s,x\rp,a\rn,b\r", ["p", "n"], ["a", "b"]),
        ("\ufeffs,x\np,a\n", ["p"], ["a"]),
        ('"s","x"\n"p","a"\n', ["p"], ["a"]),
        ('s,x\np,"a, ""b""\r\nc"\n', ["p"], ['a, "b"\r\nc']),
        ('s,x\np,\nn,""\n,a\n', ["p", "n", None], [None, "", "a"]),
        ("s,x\np,a\n\n\nn,b\n\n", ["p", "n"], ["a", "b"]),
        ("s,x\np, 007 \nNA,nan\nnull,1.50\n", ["p", "NA", "null"], [" 007 ", "nan", "1.50"]),
        ("s,x\np,é\u2028\U0001f600\n", ["p"], ["é\u2028\U0001f600"]),
    ],
)
def test_the_dialect_is_read_as_written(content, s, x, tmp_path):
    path = write(tmp_path / "in.csv", content)
    assert read(path, ["s", "x"]) == [s, x]
    assert read(path, ["x", "s"]) == [x, s]
    assert CsvSource.open(path).n_rows == len(s)


def test_a_blank_line_of_one_column_is_a_missing_value(tmp_path):
    assert read(write(tmp_path / "in.csv", "x\na\n\nb\n"), ["x"]) == [["a", None, "b"]]


def test_a_header_without_a_line_end_is_no_row(tmp_path):
    assert CsvSource.open(write(tmp_path / "in.csv", "s,x")).n_rows == 0


def test_a_header_may_hold_line_ends_and_span_reads(tmp_path):
    name = "a\r\n" * 40_000 + 'b"c'
    path = write(tmp_path / "in.csv", f"{quote_field(name)},s\n1,p\n")
    csv_limit = csv.field_size_limit(1 << 20)
    try:
        assert CsvSource.open(path).schema.names == [name, "s"]
        assert read(path, ["s"]) == [["p"]]
    finally:
        csv.field_size_limit(csv_limit)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no header line"),
        (b"\n\n", "no header line"),
        (b"s,x\np\n", "has a row of 1 fields, but its header has 2"),
        (b"s,x\np,a,SECRET\n", "has a row of 3 fields, but its header has 2"),
        (b's,x\np,"SECRET\nn,b\n', "has an open double quote"),
        (b's,x\np,a\n"n,b\n' + b"p,SECRET\n" * 2_000_000, "an open double quote"),
        (b"s,x\np,a\0b\n", "NUL bytes"),
        (b"s,x\n" + b"p,a\n" * 50_000 + b"p,\0\n", "NUL bytes"),
        ("s,x\np,SECRET\n".encode("utf-16"), "UTF-16"),
        (b"s\xff,x\np,a\n", "header that is not valid UTF-8"),
        (b"s,x\np,SECRET\xff\n", "'x' has text that is not valid UTF-8"),
        (b'"s"",x\np,a\n', "quotes do not pair up"),
        (b"s,x\np," + b"y" * (9 << 20) + b"\n", "row of more than 8 MiB"),
        (b"\x1f\x8bnot gzip", "damaged or not supported"),
        (gzip.compress(b"s,x\n" + os.urandom(3000).hex().encode())[:-900], "damaged or not supported"),
    ],
)
def test_what_is_no_csv_is_refused_without_quoting_it(content, message, tmp_path):
    path = write(tmp_path / "in.csv", content)
    with pytest.raises((SourceError, ColumnError), match=message) as caught:
        release_file(path, tmp_path / "out.csv", merging())
    assert "SECRET" not in str(caught.value)
    assert os.listdir(tmp_path) == ["in.csv"]


def test_only_columns_that_are_read_must_be_utf_8(tmp_path):
    assert read(write(tmp_path / "in.csv", b"s,x\np,\xff\n"), ["s"]) == [["p"]]


def test_a_file_without_a_header_line_does_not_show_its_first_row(tmp_path):
    path = write(tmp_path / "in.csv", "SECRET,50000\nHUSH,60000\n")
    for call in (
        lambda: release_file(path, tmp_path / "out.csv", merging()),
        lambda: audit_file(path, ["s"], ["x"]),
        lambda: plan_file(path, merging()),
    ):
        with pytest.raises(SourceError, match=r"the first line of in\.csv looks like a row") as caught:
            call()
        assert "SECRET" not in str(caught.value)
    with pytest.raises(ColumnError, match="no columns 's', 'x' in the table; the first line") as caught:
        release_file(path, tmp_path / "out.csv", merging(), description=TableDescription(header=True))
    assert "SECRET" not in str(caught.value)


def test_a_column_named_twice_is_refused_when_it_is_asked_for_only(tmp_path):
    path = write(tmp_path / "in.csv", "x,s,y,x\n1,p,a,2\n1,n,b,2\n")
    with pytest.raises(ColumnError, match="2 columns named 'x'"):
        release_file(path, tmp_path / "out.csv", merging())
    assert release_file(path, tmp_path / "out.csv", merging(public=["y"])).ok


# ------------------------------------------------------------------------------------------------- numbers


def test_a_column_with_bins_is_a_whole_number_or_a_double(tmp_path):
    path = write(tmp_path / "in.csv", "s,a,b,c\np,1,1.5,x\nn,-7,,y\np,,1e3,z\n")
    opened = CsvSource.open(path, Numbers(["a", "b", "no such"]))
    assert [str(dtype) for dtype in opened.schema.types] == ["string", "int64", "double", "string"]
    assert read(path, ["a", "b"], ("a", "b")) == [[1, -7, None], [1.5, None, 1000.0]]


def test_a_column_with_bins_that_holds_text_is_named(tmp_path):
    path = write(tmp_path / "in.csv", "s,x\np,12\nn,SECRET\n")
    with pytest.raises(ColumnError, match="'x' must contain only numbers, because of its bins") as caught:
        release_file(path, tmp_path / "out.csv", merging(bins={"x": [0, 10, 20]}))
    assert "SECRET" not in str(caught.value)


def test_whole_numbers_are_printed_whole(tmp_path):
    rows = "".join(f"{'pn'[i % 2]},{i % 90}\n" for i in range(400))
    path = write(tmp_path / "in.csv", "s,x\n" + rows)
    release_file(path, tmp_path / "out.csv", merging(bins={"x": [0, 30, 90]}))
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "x"
    assert all(0 <= int(line) <= 90 for line in lines[1:])


# ------------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("text", ["a", "", " ", 'say "hi"', "a,b", "l\nm", "l\r\nm", "\ufeffmark", "=1+1", "é", '"'])
def test_symbols_read_back_as_written(text, tmp_path):
    path = tmp_path / "out.csv"
    schema = pa.schema([("x", pa.string()), (text or "y", pa.string())])
    with path.open("wb") as stream:
        writer = CsvWriter(stream, schema)
        writer.write({"x": pa.array([text, None, "z"]), text or "y": pa.array([None, text, text]).dictionary_encode()})
    assert read(path, ["x", text or "y"]) == [[text, None, "z"], [None, text, text]]
    with path.open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream))[1:] == [[text, ""], ["", text], ["z", text]]


def test_one_column_with_missing_values_reads_back(tmp_path):
    path = tmp_path / "out.csv"
    with path.open("wb") as stream:
        CsvWriter(stream, pa.schema([("x", pa.string())])).write({"x": pa.array(["a", None, ""])})
    assert path.read_bytes() == b'x\na\n\n""\n'
    assert read(path, ["x"]) == [["a", None, ""]]


def test_long_lines_are_put_together_in_small_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(_csv_target, "_PIECE_BYTES", 10)
    path = tmp_path / "out.csv"
    values = [f"value {i % 7}" for i in range(100)]
    with path.open("wb") as stream:
        CsvWriter(stream, pa.schema([("x", pa.string())])).write({"x": pa.array(values)})
    assert read(path, ["x"]) == [values]


@pytest.mark.parametrize(
    ("dtype", "values", "texts"),
    [
        (pa.int64(), [1, None, -5], ["1", None, "-5"]),
        (pa.float64(), [0.1, 1e300, None], ["0.1", "1e+300", None]),
        (pa.bool_(), [True, None, False], ["true", None, "false"]),
        (pa.date32(), [0, 1, None], ["1970-01-01", "1970-01-02", None]),
        (pa.timestamp("us", "UTC"), [0, None, 1], ["1970-01-01 00:00:00.000000Z", None, "1970-01-01 00:00:00.000001Z"]),
    ],
)
def test_other_types_are_written_as_text(dtype, values, texts, tmp_path):
    path = tmp_path / "out.csv"
    with path.open("wb") as stream:
        CsvWriter(stream, pa.schema([("x", dtype), ("y", dtype)])).write(
            {"x": pa.array(values, dtype), "y": pa.array(values, dtype).dictionary_encode()}
        )
    assert read(path, ["x", "y"]) == [texts, texts]


NOT_TEXT = {
    "bytes": ("x", pa.array([b"a", b"b"] * 20)),
    "a value with NUL": ("x", pa.array(["a\0", "b"] * 20)),
    "a name with NUL": ("x\0y", pa.array(["a", "b"] * 20)),
    "the first nanosecond": ("x", pa.array([-(2**63) + 1, 0] * 20, pa.timestamp("ns"))),
    "the first nanosecond, UTC": ("x", pa.array([0, -(2**63) + 1] * 20, pa.timestamp("ns", "UTC"))),
    "a time beyond a day": ("x", pa.array([0, 86_400_000] * 20, pa.int32()).view(pa.time32("ms"))),
    "a row of more than a block": ("x", pa.array(["a" * 2000, "b"] * 20)),
    "a name of more than a header": ("x" * 2000, pa.array(["a", "b"] * 20)),
}


@pytest.mark.parametrize(("name", "values"), NOT_TEXT.values(), ids=NOT_TEXT)
def test_what_text_cannot_hold_is_refused(name, values, tmp_path, monkeypatch):
    """What would be written could not be read again, by verify or by anybody."""
    for limit in ("BLOCK_BYTES", "HEADER_BYTES"):
        monkeypatch.setattr(f"sanitize.engines.parquet._writers.{limit}", 1000)
    pq.write_table(pa.table({"s": ["p", "p", "n", "n"] * 10, name: values}), tmp_path / "in.parquet")
    sanitizer = merging(public=[name])
    with pytest.raises(ColumnError, match=r"\.parquet") as caught:
        release_file(tmp_path / "in.parquet", tmp_path / "out.csv", sanitizer)
    assert "more than CSV readers accept" in str(caught.value) or repr(name) in str(caught.value)
    assert os.listdir(tmp_path) == ["in.parquet"]
    assert release_file(tmp_path / "in.parquet", tmp_path / "out.parquet", sanitizer).ok


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_far_times_that_text_can_hold_are_written_and_verified(unit, zone, tmp_path):
    last = 2**63 - 1 if unit == "ns" else 253_402_300_799 * {"s": 1, "ms": 10**3, "us": 10**6}[unit]  # of the year 9999
    values = pa.array([-last // 8, 0, last] * 40, pa.timestamp(unit, zone))
    pq.write_table(pa.table({"s": ["p"] * 60 + ["n"] * 60, "x": values}), tmp_path / "in.parquet")
    assert release_file(tmp_path / "in.parquet", tmp_path / "out.csv", merging()).ok
    assert verify_file(tmp_path / "out.csv", tmp_path / "in.parquet", merging()).ok


def test_texts_that_spreadsheets_take_for_formulas_are_mentioned_by_column_only():
    outputs = Alphabet(("a", "b"), [("=cmd()", "-1.5"), ("x", "+4e3"), (None, None)])
    (note,) = formula_note(dict(zip(outputs.columns, outputs.levels, strict=True)))
    assert "'a'" in note
    assert "'b'" not in note
    assert "cmd" not in note
    assert formula_note({"n": pa.array([-1, 2])}) == ()


def test_the_note_on_formulas_is_in_the_report_of_a_csv_release_only(tmp_path):
    path = write(tmp_path / "in.csv", "s,x\np,@SUM(A1)\nn,b\n")
    assert any("spreadsheets" in w for w in release_file(path, tmp_path / "o.csv", merging()).facts.warnings)
    report = release_file(path, tmp_path / "o.parquet", merging())
    assert not any("spreadsheets" in w for w in report.facts.warnings)


# ------------------------------------------------------------------------------------- the same release


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_the_kind_of_file_makes_no_difference_to_the_rows(rows, titanic, tmp_path):
    pd.read_csv(titanic, dtype=str).to_parquet(tmp_path / "raw.parquet")
    (tmp_path / "raw.csv.gz").write_bytes(gzip.compress(titanic.read_bytes()))
    frames, reports = [], []
    for source in ("raw.csv", "raw.parquet", "raw.csv.gz"):
        for target in ("out.csv", "out.parquet"):
            report = release_file(tmp_path / source, tmp_path / target, sailors(), rows=rows, key=KEY, force=True)
            frame = pd.read_csv if target.endswith("csv") else pd.read_parquet
            frames.append(frame(tmp_path / target).astype(str))
            reports.append(report.summary)
    assert all(frame.equals(frames[0]) for frame in frames)
    assert all(summary == reports[0] for summary in reports)
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_folder_of_csv_is_one_table(titanic, tmp_path):
    lines = titanic.read_text().splitlines(keepends=True)
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.csv", "".join(lines[:900]))
    (tmp_path / "in" / "b.csv.gz").write_bytes(gzip.compress((lines[0] + "".join(lines[900:])).encode()))
    whole = release_file(titanic, tmp_path / "one.csv", sailors())
    parts = release_file(tmp_path / "in", tmp_path / "out", sailors())
    assert parts.summary == whole.summary
    assert sorted(os.listdir(tmp_path / "out")) == ["part-00000.parquet", "part-00001.parquet"]
    write(tmp_path / "in" / "c.csv", "class,sex\n")
    with pytest.raises(SourceError, match=r"c\.csv has no column 'age', compared with a\.csv"):
        release_file(tmp_path / "in", tmp_path / "out2", sailors())


def test_compressed_text_is_not_written(titanic, tmp_path):
    with pytest.raises(TargetError, match="a suffix that cannot be written"):
        release_file(titanic, tmp_path / "out.csv.gz", sailors())


def test_a_csv_file_that_changes_between_the_passes_is_noticed(titanic, tmp_path, monkeypatch):
    prepare = Sanitizer.prepare

    def then_touch(*args, **settings):
        prepared = prepare(*args, **settings)
        titanic.write_text(titanic.read_text().replace("Male", "Female"))
        return prepared

    monkeypatch.setattr(Sanitizer, "prepare", then_touch)
    with pytest.raises(SourceChanged):
        release_file(titanic, tmp_path / "out.csv", sailors())
    assert os.listdir(tmp_path) == ["raw.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["a bad row", "a damaged disk", "the reader stops"])
def test_no_thread_of_the_parser_is_left_behind(end, tmp_path, monkeypatch):
    """A thread that still reads, or gives back what it read, while the process ends aborts it."""
    rows = b"a,b\n" * 5_000_000
    opened = CsvSource.open(write(tmp_path / "t.csv", b"x,y\n" + (b"c\n" if end == "a bad row" else b"") + rows))
    lent: list[weakref.ref | None] = []
    whole, honest = CheckedBytes._block, CheckedBytes._read

    def slow(self, count):
        at = len(lent)
        lent.append(None)
        time.sleep(0.01)
        block = whole(self, count)
        lent[at] = weakref.ref(block)
        return block

    def failing(self, count):
        if self._plain.tell() > 10_000_000:
            raise OSError(5, "Input/output error")
        return honest(self, count)

    monkeypatch.setattr(CheckedBytes, "_block", slow)
    if end == "the reader stops":
        next(iter(opened.batches(opened.files[0], ["x"])))
    else:
        said = "has a row of 1 fields"
        if end == "a damaged disk":
            monkeypatch.setattr(CheckedBytes, "_read", failing)
            said = "Input/output error"  # the parser only saw an end
        with pytest.raises(SourceError, match=said) as told:
            list(opened.batches(opened.files[0], ["x"]))
        assert told.tb is not None  # whose frames must not keep a block
    count = len(lent)
    assert count > 1
    assert all(block is not None and block() is None for block in lent)
    time.sleep(0.03)
    assert len(lent) == count


# ------------------------------------------------------------------------------------- semicolons and tabs


@pytest.mark.parametrize("mark", [";", "\t"])
@pytest.mark.parametrize("name", ["in.csv", "in.tsv"])
def test_semicolons_and_tabs_are_told_by_the_header(mark, name, tmp_path):
    path = write(tmp_path / name, 's,x,"a;b"\np,"1;5\t",c\nn,"2""6",\n'.replace(",", mark).replace("1;5\t", "1,5"))
    assert read(path, ["s", "x", "a;b"]) == [["p", "n"], ["1,5", '2"6'], ["c", None]]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a;b,c", ["a;b", "c"]),  # a comma goes first
        ("a\tb;c;d", ["a\tb", "c", "d"]),
        ('"a,b";c', ["a,b", "c"]),
        ('"a;b"', ["a;b"]),
        ("a", ["a"]),
    ],
)
def test_what_stands_between_names(header, names, tmp_path):
    assert CsvSource.open(write(tmp_path / "in.csv", header + "\n")).schema.names == names


def test_a_row_of_another_dialect_than_its_header_is_refused(tmp_path):
    path = write(tmp_path / "in.csv", "s;x\np;a\nn,b\n")
    with pytest.raises(SourceError, match="a row of 1 fields, but its header has 2"):
        read(path, ["s", "x"])


@pytest.mark.parametrize("name", ["a;b", "a\tb"])
def test_one_released_column_with_a_mark_in_its_name_reads_back_as_one(name, tmp_path):
    raw, out = tmp_path / "raw.parquet", tmp_path / "out.csv"
    pq.write_table(pa.table({"s": ["p", "n"] * 50, name: ["a", "b", "b", "a"] * 25}), raw)
    release_file(raw, out, merging(public=name))
    assert CsvSource.open(out).schema.names == [name]


def test_tabs_are_not_written(tmp_path):
    with pytest.raises(TargetError, match=r"name a \.csv or \.parquet"):
        release_file(write(tmp_path / "in.tsv", "s\tx\np\ta\nn\tb\n"), tmp_path / "out.tsv", merging())


PIPED = TableDescription(delimiter="|")
PIPES = "s|town, region|age\n" + "p|Aa, north|20\nn|Bb, south|30\n" * 100
DELIMITED = """version = 1
[source]
delimiter = "|"
[columns]
sensitive = ["s"]
public = ["town, region", "age"]
[budget]
lower = 20.0
upper = 2.0
[channel.bins]
age = [18, 25, 40]
"""


@pytest.mark.parametrize("way", ["policy", "option", "stream"])
def test_a_delimiter_may_be_named_where_the_header_would_mislead(way, tmp_path, capsys, monkeypatch):
    raw, out = write(tmp_path / "raw.csv", PIPES), tmp_path / "out.csv"
    policy = write(tmp_path / "policy.toml", DELIMITED)
    asked = ["-p", str(policy)]
    if way == "option":
        asked = [
            "-s",
            "s",
            "-x",
            "town, region",
            "-x",
            "age",
            "--lower",
            "2",
            "--upper",
            "2",
            "--bins",
            "age=18,25,40",
            "--delimiter",
            "|",
        ]
    given = str(raw)
    if way == "stream":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw.read_bytes())))
        given = "-"
    assert main(["release", given, "-o", str(out), *asked, "--allow-useless"]) == 0
    assert CsvSource.open(out).schema.names == ["town, region", "age"]
    assert main(["verify", str(out), "--source", str(raw), *asked]) == 0
    capsys.readouterr()
    assert main(["init", str(raw), "--delimiter", "|"]) == 0
    assert '"town, region"' in capsys.readouterr().out
    assert main(["init", str(raw)]) == 0  # by its header there are two columns
    assert '"s|town"' in capsys.readouterr().out


@pytest.mark.parametrize("mark", ["", "ab", "a", "1", '"', "\n", "\0", "é"])
def test_what_cannot_stand_between_fields_is_refused(mark, tmp_path, capsys):
    raw = write(tmp_path / "raw.csv", PIPES)
    assert main(["init", str(raw), "--delimiter", mark]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(PolicyError, match="delimiter must be one sign"):
        Policy.from_dict({**tomllib.loads(DELIMITED), "source": {"delimiter": mark}})


def test_a_tab_may_be_spelt_out_and_parquet_has_no_delimiter(tmp_path, capsys):
    raw = write(tmp_path / "raw.csv", "a,b\tc\n" + "1\t2\n" * 10)
    for spelt in ("tab", "\\t", "\t"):
        assert main(["init", str(raw), "--delimiter", spelt]) == 0
        assert '"a,b"' in capsys.readouterr().out
    pq.write_table(pa.table({"s": [1]}), tmp_path / "raw.parquet")
    assert main(["init", str(tmp_path / "raw.parquet"), "--delimiter", ";"]) == 3
    assert "delimiter is a setting of text files" in capsys.readouterr().err


def test_functions_take_the_delimiter_that_the_command_takes(tmp_path):
    raw, out = write(tmp_path / "raw.csv", PIPES), tmp_path / "out.csv"
    sanitizer = Policy.from_dict(tomllib.loads(DELIMITED)).sanitizer()
    release_file(raw, out, sanitizer, description=PIPED)
    assert CsvSource.open(out).schema.names == ["town, region", "age"]
    assert verify_file(out, raw, sanitizer, description=PIPED).ok
    stream = io.BytesIO()
    release_file(io.BytesIO(raw.read_bytes()), stream, sanitizer, description=PIPED)
    assert stream.getvalue().startswith(b'"town, region",age')
    for report in (
        plan_file(raw, sanitizer, description=PIPED),
        audit_file(raw, ["s"], ["town, region"], description=PIPED),
    ):
        assert "town, region" in report.public
    with pytest.raises(ColumnError, match="town, region"):
        release_file(raw, out, sanitizer, force=True)


@pytest.mark.parametrize("mark", ["", "ab", "a", '"', "\n", 3])
def test_functions_refuse_what_cannot_stand_between_fields(mark, tmp_path):
    raw = write(tmp_path / "raw.csv", PIPES)
    sanitizer = Policy.from_dict(tomllib.loads(DELIMITED)).sanitizer()
    for call in (
        lambda: release_file(raw, tmp_path / "out.csv", sanitizer, description=TableDescription(delimiter=mark)),
        lambda: plan_file(raw, sanitizer, description=TableDescription(delimiter=mark)),
        lambda: audit_file(raw, ["s"], ["age"], description=TableDescription(delimiter=mark)),
        lambda: verify_file(raw, raw, sanitizer, description=TableDescription(delimiter=mark)),
    ):
        with pytest.raises(InvalidParameter, match="delimiter must be one character"):
            call()
    assert [path.name for path in tmp_path.iterdir()] == ["raw.csv"]
