"""Every Arrow type in every file, frame and role: a release that verifies, or one line; the guide says which."""

from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import type_cases

import sanitize as sz
from sanitize.errors import ColumnError
from sanitize.transformers import RandomizedResponse

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "types.md"
TABLE = type_cases.rows_of(PAGE.read_text(encoding="utf-8"))


ROLE = type_cases.ROLES["released"]
# Kinds of intervals that Arrow makes no arrays of in Python.
WITHOUT_ARRAYS = {"Type_INTERVAL_MONTHS", "Type_INTERVAL_DAY_TIME"}


def test_the_table_names_every_type():
    assert set(TABLE) == set(type_cases.COLUMNS)
    kinds = {name: getattr(pa.lib, name) for name in dir(pa.lib) if name.startswith("Type_")}
    here = {column.type.id for column in type_cases.COLUMNS.values()}
    assert {name for name, number in kinds.items() if number not in here} <= WITHOUT_ARRAYS


@pytest.mark.slow
@pytest.mark.parametrize("name", type_cases.COLUMNS)
def test_a_column_is_released_and_verified_or_refused_in_one_line(name, tmp_path):
    found = type_cases.cells(name, tmp_path)
    # What other libraries make of a type depends on their version.
    either = [(said, is_) for said, is_ in zip(TABLE[name], found, strict=True) if type_cases.NONE not in (said, is_)]
    assert [said for said, _ in either] == [is_ for _, is_ in either]


@pytest.mark.parametrize(
    "values", [["a", "b"], ["a", None], [1, 2], [0.5, None], [Decimal("1.50"), Decimal("-2.25")]], ids=str
)
@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_runs_of_equal_values_come_back_as_runs(values, kind):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([60, 120], pa.int32()), pa.array(values))
    table = pa.table({"s": ["p", "q"] * 60, "c": runs})
    frame = table if kind == "pyarrow" else table.to_pandas(types_mapper=pd.ArrowDtype)
    released = sz.frames.release(frame, sz.SubsetMerging(sz.LiftBudget.symmetric(9.0), sensitive="s", public="c"))
    made = released["c"] if kind == "pyarrow" else pa.chunked_array(released["c"].array._pa_array)
    assert made.type == runs.type
    assert set(made.to_pylist()) == set(values)


@pytest.mark.parametrize("suffix", [".feather", ".arrow"])
def test_feather_is_refused_with_the_way_out(suffix, tmp_path):
    raw = tmp_path / f"raw{suffix}"
    table = pa.table({**type_cases.OTHERS, "c": type_cases.COLUMNS["int64"]})
    pyarrow.feather.write_feather(table, raw)
    for content in (raw.read_bytes(), b"FEA1" + bytes(40) + b"FEA1"):  # the first version is hardly written any more
        raw.write_bytes(content)
        for argv in (["init", raw], ["release", raw, "-o", tmp_path / "out.csv", *ROLE, *type_cases.BUDGET]):
            code, lines = type_cases.told(*argv)
            assert code == 3
            assert lines == [
                f"sanitize: {raw.name} is an Arrow (Feather) file, which sanitize does not read; write it as Parquet "
                "first, for example with pandas.read_feather(...).to_parquet(...)"
            ]
    pq.write_table(table, tmp_path / "raw.parquet")
    code, lines = type_cases.told(
        "release", tmp_path / "raw.parquet", "-o", tmp_path / f"out{suffix}", *ROLE, *type_cases.BUDGET
    )
    assert (code, len(lines)) == (4, 1)
    assert lines[0].endswith("has a suffix that cannot be written; name a .csv or .parquet file")


@pytest.mark.parametrize("index", [-2, -1, 3, 2**32])
def test_an_index_that_no_value_has_is_refused(index):
    """In the type that it has: a narrower one would wrap, and -1 stands for missing elsewhere."""
    indices = pa.array([0, 1, 2, index] * 25, pa.int64())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b", "c"]), safe=False)
    for kind in (column, pa.chunked_array([column.slice(0, 3), column.slice(3)])):
        with pytest.raises(ColumnError, match="'c' is damaged: some rows have a code without"):
            sz.audit(pa.table({"s": ["p", "q"] * 50, "c": kind}), sensitive="s", public="c")


@pytest.mark.parametrize("dtype", [pa.decimal128(2, 0), pa.decimal32(2, 0)])
def test_a_number_that_rounding_takes_to_the_next_bin_is_no_fault(dtype, tmp_path):
    """Half of what the bin prints is written as its upper end, where a bin begins that no row of the source has."""
    raw, out = tmp_path / "raw.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"c": pa.array([Decimal(0), None] * 100, dtype)}), raw)
    sanitizer = RandomizedResponse(1.0, public="c", bins={"c": [0, 1, 5]})
    sz.release_file(raw, out, sanitizer)
    assert {0, 1} <= set(pq.read_table(out)["c"].to_pylist())
    found = sz.verify_file(out, raw, sanitizer)
    assert found.ok, str(found)


def test_a_number_far_from_the_next_bin_is_none_of_it(tmp_path):
    raw, out = tmp_path / "raw.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"c": pa.array([Decimal(0), None] * 100, pa.decimal128(2, 0))}), raw)
    sanitizer = RandomizedResponse(1.0, public="c", bins={"c": [0, 1, 5]})
    sz.release_file(raw, out, sanitizer)
    released = pq.read_table(out)
    other = pa.array([Decimal(3), *released["c"].to_pylist()[1:]], pa.decimal128(2, 0))
    pq.write_table(pa.table({"c": other}, metadata=released.schema.metadata), out, store_schema=False)
    found = {check.name: check.ok for check in sz.verify_file(out, raw, sanitizer).checks}
    assert not found["possible"]


@pytest.mark.parametrize("bits", [32, 64, 128])
def test_numbers_next_to_zero_are_printed_as_decimals(bits, tmp_path):
    """Arrow's own rounding of such doubles to 64 bits fails; what the middle bin prints is one of them."""
    column = pa.array([Decimal("-2.25"), Decimal(0), Decimal("1.50")] * 40, getattr(pa, f"decimal{bits}")(7, 2))
    table = pa.table({"s": ["p", "q"] * 60, "c": column})
    sanitizer = sz.SubsetMerging(
        sz.LiftBudget.symmetric(9.0), sensitive="s", public="c", bins={"c": [-3, -0.001, 0.001, 9]}
    )
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert sz.frames.release(table, sanitizer).schema.field("c").type == column.type
    assert sz.frames.release(frame, sanitizer)["c"].dtype == frame["c"].dtype
    pq.write_table(table, tmp_path / "raw.parquet")
    for name in ("out.parquet", "out.csv"):
        sz.release_file(tmp_path / "raw.parquet", tmp_path / name, sanitizer)
        assert sz.verify_file(tmp_path / name, tmp_path / "raw.parquet", sanitizer).ok
    assert pq.read_table(tmp_path / "out.parquet")["c"].to_pylist().count(Decimal(0)) >= 40
