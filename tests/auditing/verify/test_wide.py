"""Tables of many columns: what is read does not grow with the square of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.tables.files import parquet

SANITIZER = sz.SubsetMerging(sz.LiftBudget(lower=3.0, upper=2.0), sensitive="s", public="x")


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """Names of the files that were opened, each as often as it was."""
    names: list[str] = []
    kept = parquet.open_parquet

    def counted(file, **settings):
        names.append(file.name)
        return kept(file, **settings)

    monkeypatch.setattr(parquet, "open_parquet", counted)
    return names


def wide(folder, n_columns: int):
    rng = np.random.default_rng(0)
    others = {f"c{i}": [f"SECRET_{i}_{row % 7}" for row in range(60)] for i in range(n_columns)}
    table = pa.table({"s": rng.choice(["p", "n"], 60), "x": rng.choice(["a", "b"], 60), **others})
    pq.write_table(table, folder / "raw.parquet")
    sz.release_file(folder / "raw.parquet", folder / "out.parquet", SANITIZER)
    return folder / "out.parquet", folder / "raw.parquet"


def test_a_source_of_many_columns_is_opened_as_often_as_one_of_few(tmp_path, opened):
    counts = []
    for n_columns in (3, 300):
        files = wide(tmp_path, n_columns)
        opened.clear()
        found = sz.verify_file(*files, SANITIZER)
        assert found.ok, found.to_text()
        counts.append(opened.count("raw.parquet"))
        files[0].unlink()
    assert counts[0] == counts[1]


def test_a_damaged_column_that_is_not_released_spoils_no_verification(tmp_path):
    released, source = wide(tmp_path, 7)
    chunk = pq.read_metadata(source).row_group(0).column(7)
    assert chunk.path_in_schema == "c5"
    raw = bytearray(source.read_bytes())
    for at in range(chunk.dictionary_page_offset, chunk.dictionary_page_offset + chunk.total_compressed_size):
        raw[at] ^= 0xFF
    source.write_bytes(bytes(raw))
    found = sz.verify_file(released, source, SANITIZER)
    assert found.ok, found.to_text()


def test_a_policy_for_many_columns_opens_a_file_as_often_as_for_few(tmp_path, opened, capsys):
    from sanitize.cli import main

    counts = []
    for n_columns in (3, 300):
        _, source = wide(tmp_path, n_columns)
        opened.clear()
        assert main(["init", str(source)]) == 0
        assert f'"c{n_columns - 1}"' in capsys.readouterr().out
        counts.append(opened.count("raw.parquet"))
        (tmp_path / "out.parquet").unlink()
    assert counts[0] == counts[1]
