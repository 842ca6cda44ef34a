"""Tables of very many columns: no step for each pair of them, and memory for a few at a time."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sanitize.cli._policy_skeleton import skeleton
from sanitize.errors import ColumnError
from sanitize.policy import Policy
from sanitize.release.first_pass import TableCounter
from sanitize.tables.files import parquet, source
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.parquet import ParquetSource
from sanitize.tables.files.source import Numbers

N = 300
COLUMNS = {"s": ["p", "q"] * 5, **{f"c{k}": ["1", "2"] * 5 for k in range(N)}}


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def policy(drop: list[str]) -> Policy:
    return Policy.from_dict(
        {
            "version": 1,
            "columns": {"sensitive": ["s"], "public": ["c0"], "drop": drop},
            "budget": {"lower": 1.0, "upper": 1.0},
        }
    )


def test_names_of_columns_are_looked_up_and_not_gone_through(tmp_path):
    names = [Name(f"c{k}") for k in range(1, N)]
    Name.compared = 0
    policy(names).check(["s", "c0", *(Name(name) for name in names)])
    pq.write_table(pa.table(COLUMNS), tmp_path / "wide.parquet")
    ParquetSource.open(tmp_path / "wide.parquet").check(names)
    assert Name.compared < 20 * N


def test_no_column_of_text_is_a_walk_over_all_others(tmp_path):
    """What walks over a list or a schema in C, called for each column."""
    pa.csv.write_csv(pa.table(COLUMNS), tmp_path / "wide.csv")
    walks: Counter[str] = Counter()

    def watch(frame, event, called):
        owner = getattr(called, "__self__", None)
        if event == "c_call" and isinstance(owner, (list, pa.Schema)) and len(owner) >= N:
            walks[called.__name__] += 1

    sys.setprofile(watch)
    try:
        made = CsvSource.open(tmp_path / "wide.csv", Numbers(columns=["c1"], is_inferred=lambda _: True))
        made.check(made.schema.names)
        list(made.batches(made.files[0], made.schema.names))
    finally:
        sys.setprofile(None)
    assert {name: n for name, n in walks.items() if n >= N} == {}
    assert made.schema.types == [pa.string(), *[pa.int64()] * N]


def test_columns_that_are_not_there_are_named_up_to_ten():
    others = [f"other {k}" for k in range(N)]
    with pytest.raises(ColumnError) as caught:
        policy(others).check(["s", "c0"])
    assert str(caught.value).startswith("no columns 'other 0', 'other 1'")
    assert "'other 9', ... in the table" in str(caught.value)
    assert len(str(caught.value)) < 500
    assert len(caught.value.absent_columns) == N
    with pytest.raises(ColumnError, match=r"does not list the columns 'other 0', .*, 'other 9', \.\.\. of the table"):
        policy([]).check(["s", "c0", *others])


# ------------------------------------------------------------------------------------------------------------- memory


def peak(work) -> int:
    """Bytes that some work holds at most, of Arrow and of Python."""
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        work()
        return pool.max_memory() + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)


def numbers(path, n_columns: int, n_rows: int = 20_000) -> ParquetSource:
    rng = np.random.default_rng(0)
    table = pa.table({f"c{k}": rng.random(n_rows) for k in range(n_columns)})
    pq.write_table(table, path, use_dictionary=False, compression="none")
    return ParquetSource.open(path)


SURVEYS = {
    "a draft of a policy": skeleton,
    "a sample": lambda table: TableCounter(table, 1 << 20).sample(tuple(table.schema.names), 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_a_look_at_columns_one_by_one_takes_the_memory_of_a_few(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_APART_VALUES", 80_000)  # four columns
    few, many = (numbers(tmp_path / f"{n}.parquet", n) for n in (8, 64))
    survey(few)  # what is made once
    assert peak(lambda: survey(many)) < 2 * peak(lambda: survey(few))


def test_rows_of_many_columns_are_read_in_smaller_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BATCH_VALUES", 16_000)
    few, many = (numbers(tmp_path / f"{n}.parquet", n) for n in (2, 32))

    def read(table: ParquetSource) -> list[int]:
        return [len(batch["c0"]) for batch in table.batches(table.files[0], table.schema.names)]

    assert (read(few), read(many)) == ([8000, 8000, 4000], [500] * 40)
    long, before = numbers(tmp_path / "long.parquet", 4, 1_000_000), pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in long.batches(long.files[0], long.schema.names)]
    assert max(held) < long.root.stat().st_size / 4  # though each column is one chunk


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_identifiers_is_told_by_the_rows_that_were_looked_at(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("sanitize.cli._policy_skeleton._MOST_VALUES", 50)
    monkeypatch.setattr("sanitize.cli._policy_skeleton._HELD_VALUES", 100)
    monkeypatch.setattr(source, "_BATCH_VALUES", 600)
    monkeypatch.setattr("sanitize.tables.files.csv.BLOCK_BYTES", 3000)
    table = pa.table({"remark": [f"said {k}" for k in range(1000)], "town": [f"t{k % 40}" for k in range(1000)]})
    if kind == "csv":
        pa.csv.write_csv(table, tmp_path / "raw.csv")
    else:
        pq.write_table(table, tmp_path / "raw.parquet")
    lines = skeleton(tmp_path / f"raw.{kind}").splitlines()
    told = next(line for line in lines if '"remark",' in line)
    assert "more than 50 different values, a different value in most of the first " in told
    assert next(line for line in lines if '"town",' in line).endswith("# string, 40 different values")
    assert lines.index(told) > lines.index("drop = [")
