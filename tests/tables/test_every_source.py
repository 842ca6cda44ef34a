"""One table wherever it lives: the same channel, and for one key the same rows by position, by file, or by row id."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.engines.sql import Database, release
from sanitize.policy import Policy

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install --group engines")
import databases  # noqa: E402

RNG = np.random.default_rng(3)
N = 2000
ILL = RNG.random(N) < 0.3
PEOPLE = pd.DataFrame(
    {
        "id": RNG.permutation(N),
        "ill": np.where(ILL, "yes", "no"),
        "town": np.char.add("T", (RNG.integers(0, 4, N) + 2 * ILL).astype(str)),
        "rooms": RNG.integers(1, 4, N),
    }
)
TABLE = pa.Table.from_pandas(PEOPLE)
POLICY = Policy.from_toml(
    'version = 1\ncolumns = {sensitive = ["ill"], public = ["town", "rooms"], drop = ["id"]}\n'
    'channel = {mechanism = "randomized-response"}\nbudget = {notion = "ldp", eps = 1.0}'
)
KEY = bytes(range(32))
BY_POSITION = {
    "file": lambda place: place / "raw.parquet",
    "address": lambda place: (place / "raw.parquet").as_uri(),
    "data set": lambda place: ds.dataset(place / "raw.parquet"),
    "lazy frame": lambda place: pl.scan_parquet(place / "raw.parquet"),
    "query": lambda place: duckdb.sql(f"SELECT * FROM '{place / 'raw.parquet'}'"),
    "pandas": lambda place: PEOPLE,
    "polars": lambda place: pl.from_pandas(PEOPLE),
    "pyarrow": lambda place: TABLE,
    "reader": lambda place: TABLE.to_reader(max_chunksize=300),
}


def rows_of(source, place):
    """What a source is released as in the order of its rows, with the channel that did it."""
    fitted = POLICY.sanitizer()
    sz.release_file(source, place / "out.parquet", fitted, key=KEY, rows="keep")
    return fitted.channel_, pq.read_table(place / "out.parquet").to_pydict()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everywhere")
    pq.write_table(TABLE, folder / "raw.parquet")
    (folder / "parts").mkdir()
    for part, start in enumerate((0, 700)):
        pq.write_table(TABLE[start : [700, N][part]], folder / "parts" / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def by_position(place, tmp_path_factory):
    return rows_of(place / "raw.parquet", tmp_path_factory.mktemp("by_position"))


@pytest.mark.parametrize("kind", BY_POSITION)
def test_rows_of_one_source_are_drawn_by_position(kind, place, by_position, tmp_path):
    channel, rows = rows_of(BY_POSITION[kind](place), tmp_path)
    assert channel == by_position[0]
    assert rows == by_position[1]


def test_rows_of_a_folder_are_drawn_by_file_and_position(place, by_position, tmp_path):
    channel, rows = rows_of(place / "parts", tmp_path)
    assert channel == by_position[0]
    assert rows != by_position[1]
    (tmp_path / "elsewhere").mkdir()
    again = (place / "parts").as_uri()
    assert rows_of(again, tmp_path / "elsewhere") == (channel, rows)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_rows_of_a_database_are_drawn_by_their_ids(dialect, by_position):
    why = databases.absent() if dialect == "postgres" else None
    if why is not None:
        pytest.skip(why)
    database = Database(dialect, "people", row_id="id")
    with databases.postgres() if dialect == "postgres" else nullcontext() as connection:  # noqa: SIM117
        with databases.loaded(dialect, PEOPLE, "people", connection) as run:
            names = [*POLICY.sensitive, *POLICY.public, "n_rows"]
            fitted = database.fit(POLICY, pd.DataFrame(run(database.counts(POLICY)), columns=names))
            rows = run(database.release(fitted), KEY.hex())
    assert fitted.channel_ == by_position[0]
    expected = release(PEOPLE[::-1], fitted, key=KEY, row_id="id")
    assert rows == databases.plain(expected)
    assert len({row[1] for row in rows}) > 1
