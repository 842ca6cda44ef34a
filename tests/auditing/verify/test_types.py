"""Honest releases of every type of column pass, as Parquet and as text."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanitize.auditing.verify import verify_file
from sanitize.engines.parquet import release_file
from sanitize.transformers import RandomizedResponse

N = 600
CODES = np.random.default_rng(0).integers(0, 3, N)
DAYS = pa.array(np.array(["2020-01-01T10:11", "2021-07-03", "1999-12-31"], "M8[us]")[CODES])
COLUMNS = {
    "zone": DAYS.cast(pa.timestamp("us", "Europe/Paris")),
    "offset": DAYS.cast(pa.timestamp("ms", "+05:30")),
    "utc": DAYS.cast(pa.timestamp("us", "UTC")),
    "seconds": DAYS.cast(pa.timestamp("s")),
    "duration": pa.array(CODES * 3600).cast(pa.duration("s")),
    "time": pa.array([dt.time(h, 5) for h in CODES.tolist()], pa.time64("us")),
    "time32": pa.array([dt.time(h, 5) for h in CODES.tolist()], pa.time32("s")),
    "null": pa.nulls(N),
    "bool8": pa.bool8().wrap_array(pa.array(CODES > 1).cast(pa.int8())),
    "half": pa.array(np.array([0.0, -0.0, 1.5], "f2")[CODES]),
}


def verified(tmp_path, column, suffix):
    s = np.random.default_rng(1).choice(["p", "q"], N)
    x = np.random.default_rng(2).choice(["u", "v"], N)
    pq.write_table(pa.table({"s": s, "x": x, "c": column}), tmp_path / "raw.parquet")
    sanitizer = RandomizedResponse(2.0, sensitive="s", public=["x", "c"])
    target = tmp_path / f"out{suffix}"
    release_file(tmp_path / "raw.parquet", target, sanitizer)
    return verify_file(target, tmp_path / "raw.parquet", sanitizer)


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_an_honest_release_passes_as_parquet(name, tmp_path):
    found = verified(tmp_path, COLUMNS[name], ".parquet")
    assert found.ok, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "bool8"])
def test_an_honest_release_passes_as_text(name, tmp_path):
    found = verified(tmp_path, COLUMNS[name], ".csv")
    assert found.ok, str(found)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_in_another_encoding_or_with_nul_in_their_names_spoil_no_release_of_others(suffix, tmp_path):
    """CSV in latin-1 beyond the released columns, and a Parquet source one of whose names holds NUL."""
    text = b"s,x,note\n" + b"".join(
        b"%c,%c,caf\xe9 number %d\n" % (b"pq"[i % 2], b"uv"[i % 3 == 0], i) for i in range(N)
    )
    (tmp_path / "raw.csv").write_bytes(text)
    table = {"s": [*"pq"] * 300, "x": [*"uvu"] * 200, "a\0b": [f"number {i}" for i in range(N)]}
    pq.write_table(pa.table(table), tmp_path / "raw.parquet")
    sanitizer = RandomizedResponse(2.0, sensitive="s", public="x")
    for source in ("raw.csv", "raw.parquet"):
        target = tmp_path / f"{source}.out{suffix}"
        release_file(tmp_path / source, target, sanitizer)
        found = verify_file(target, tmp_path / source, sanitizer)
        assert found.ok, str(found)
