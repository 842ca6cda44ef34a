"""Tables of many columns: what is read does not grow with the square of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._files import parquet
from sanitize.verify import _sought

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
    sz.privatize_parquet(folder / "raw.parquet", folder / "out.parquet", SANITIZER)
    return folder / "out.parquet", folder / "raw.parquet"


def test_a_source_of_many_columns_is_opened_as_often_as_one_of_few(tmp_path, opened):
    counts = []
    for n_columns in (3, 300):
        files = wide(tmp_path, n_columns)
        opened.clear()
        found = sz.verify_parquet(*files, SANITIZER)
        assert found.ok, found.to_text()
        assert f"none of {7 * n_columns} values" in found.to_text()
        counts.append(opened.count("raw.parquet"))
        files[0].unlink()
    assert counts[0] == counts[1]


@pytest.mark.parametrize("held", [1, 60, 3 * 60, 1 << 22])
def test_a_value_is_found_whatever_number_of_columns_is_read_together(held, tmp_path, monkeypatch):
    released, source = wide(tmp_path, 7)
    monkeypatch.setattr(_sought, "_VALUES_HELD", held)
    content = pq.read_table(released)
    pq.write_table(content.replace_schema_metadata({"note": "SECRET_5_3"}), released)
    leftovers = next(
        check for check in sz.verify_parquet(released, source, SANITIZER).checks if check.name == "leftovers"
    )
    assert leftovers.detail == "1 values of column 'c5' turn up in its bytes"


def test_a_damaged_column_that_is_not_released_spoils_neither_the_release_nor_the_search(tmp_path):
    released, source = wide(tmp_path, 7)
    chunk = pq.read_metadata(source).row_group(0).column(7)
    assert chunk.path_in_schema == "c5"
    raw = bytearray(source.read_bytes())
    for at in range(chunk.dictionary_page_offset, chunk.dictionary_page_offset + chunk.total_compressed_size):
        raw[at] ^= 0xFF
    source.write_bytes(bytes(raw))
    found = sz.verify_parquet(released, source, SANITIZER)
    assert found.ok, found.to_text()
    assert "none of 42 values" in found.to_text()
    assert "the values of 'c5' in the source cannot be read and were not sought" in found.to_text()
    content = pq.read_table(released)
    pq.write_table(content.replace_schema_metadata({"note": "SECRET_6_3"}), released)
    assert "1 values of column 'c6' turn up in its bytes" in sz.verify_parquet(released, source, SANITIZER).to_text()


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
