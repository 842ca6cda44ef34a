"""What a released file holds beyond its rows is found, and what a verification is."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from verify_cases import ROLES, assert_caught, failed, merging, release, rewrite, table

import sanitize as sz
from sanitize.auditing.verify import verify_file
from sanitize.core.budgets import LiftBudget
from sanitize.core.channel import Channel
from sanitize.errors import ColumnError, InvalidParameter, SourceError, TargetExists, VerificationFailed
from sanitize.tables.files import footer
from sanitize.transformers import (
    SubsetMerging,
)

# ----------------------------------------------------------------------------------- what was left behind


@pytest.fixture
def written(folder) -> tuple[Path, pa.Table]:
    target = release(folder, merging(), target="left.parquet")
    return target, pq.read_table(target)


def verified(target: Path):
    return verify_file(target, target.parent / "raw.parquet", merging())


def test_a_file_written_anew_holds_its_rows_and_nothing_else(written, tmp_path):
    target, content = written
    rewrite(target, content, {b"note": SECRET})
    assert_caught(verified(target), "form", "what verify --rewrite FILE writes")
    found = verify_file(target, target.parent / "raw.parquet", merging(), rewrite=tmp_path / "anew.parquet")
    assert not found.ok
    assert b"SECRET" not in (tmp_path / "anew.parquet").read_bytes()
    assert pq.read_table(tmp_path / "anew.parquet").equals(content)
    assert verify_file(tmp_path / "anew.parquet", target.parent / "raw.parquet", merging()).ok
    with pytest.raises(TargetExists):
        verify_file(target, target.parent / "raw.parquet", merging(), rewrite=tmp_path / "anew.parquet")


def test_a_sensitive_column_in_the_output_is_caught(written):
    target, content = written
    rewrite(target, content.append_column("illness", table()["illness"]))
    found = verified(target)
    assert_caught(found, "columns", "'illness' should not be there")


def test_a_missing_column_and_another_type_are_caught(written):
    target, content = written
    rewrite(target, content.drop(["floor"]))
    assert_caught(verified(target), "columns", "'floor' should be")
    rewrite(target, content.set_column(1, "floor", content["floor"].cast(pa.int32())))
    assert_caught(verified(target), "columns", "'floor' has the type int32, and int64 was to be released")


def test_rows_too_many_or_too_few_are_caught(written):
    target, content = written
    rewrite(target, content.slice(1))
    assert_caught(verified(target), "rows", "3999 released, 4000 in the source")


SECRET = b"SECRET influenza"


@pytest.mark.parametrize(
    "metadata",
    [{b"note": SECRET}, {b"pandas": b'{"index": "SECRET influenza"}'}, {b"x": base64.b64encode(b"1" + SECRET + b"2")}],
    ids=["plain", "json", "base64"],
)
def test_sensitive_values_in_metadata_are_caught(metadata, written):
    target, content = written
    rewrite(target, content, metadata)
    found = verified(target)
    assert_caught(found, "form")


@pytest.mark.parametrize("place", ["schema", "field"])
def test_an_arrow_schema_that_was_inherited_is_caught(place, written):
    target, content = written
    if place == "schema":
        content = content.replace_schema_metadata({b"origin": SECRET})
    else:
        content = content.cast(
            pa.schema([content.schema.field(0).with_metadata({b"origin": SECRET}), content.schema[1]])
        )
    rewrite(target, content, store_schema=True)
    assert_caught(verified(target), "form")


def test_a_field_identifier_is_caught(written):
    target, content = written
    field = content.schema.field(0).with_metadata({b"PARQUET:field_id": b"17"})
    rewrite(target, content.cast(pa.schema([field, content.schema[1]])))
    assert_caught(verified(target), "form")


def test_a_summary_that_lies_or_says_more_is_caught(written):
    target, content = written
    honest = json.loads(pq.read_metadata(target).metadata[b"sanitize"])
    for lie, words in [
        ({"max_log_lift": 0.01}, "1 entries that no release has"),
        ({"mechanism": "watchdog"}, "says something else about mechanism"),
        ({"within_budget": 1}, "says something else about within_budget"),
        ({"note": "hello"}, "1 entries that no release has"),
        ({"budget": "SECRET influenza"}, "says something else about budget"),
        ({"format": 1.0}, "says something else about format"),
        ({"sanitize": "0.0.4127 of 20"}, "says something else about sanitize"),
    ]:
        rewrite(target, content, {b"sanitize": json.dumps({**honest, **lie}).encode()})
        assert_caught(verified(target), "summary", words)
    for packed, words in [
        (b"{", "not JSON"),
        (b'{"mechanism": "of 0.12345678901234567", ' + json.dumps(honest).encode()[1:], "occurs twice"),
        (json.dumps(honest, indent=3).encode(), "written in another way"),
        (json.dumps(honest).replace("within_b", "within\\u005fb").encode(), "written in another way"),
    ]:
        rewrite(target, content, {b"sanitize": packed})
        assert_caught(verified(target), "summary", words)
    rewrite(target, content, {b"sanitize": json.dumps({**honest, "sanitize": "0.2.1rc1"}).encode()})
    assert failed(verified(target)) == ["form"]


@pytest.mark.parametrize("unit", ["nats", "times"])
def test_equal_budgets_are_the_same_however_their_numbers_were_written(unit, folder, tmp_path):
    """A policy has nats as decimals, who calls functions may have whole numbers or times."""
    bounds = {"lower": 2, "upper": 1} if unit == "nats" else {"at_most": 2, "at_least": 0.25}
    budget = sz.LiftBudget(**bounds)
    same = sz.LiftBudget(lower=float(budget.lower), upper=float(budget.upper))
    sz.release_file(folder / "raw.parquet", tmp_path / "out.parquet", SubsetMerging(budget, **ROLES))
    found = verify_file(tmp_path / "out.parquet", folder / "raw.parquet", SubsetMerging(same, **ROLES))
    assert failed(found) == []


def test_unused_dictionary_values_are_caught(written):
    target, content = written
    town = content["town"].combine_chunks()
    values = pa.concat_arrays([pc_values(town), pa.array(["SECRET influenza"])])
    index = pa.array(np.array([values.to_pylist().index(v) for v in town.to_pylist()], np.int32))
    rewrite(target, content.set_column(0, "town", pa.DictionaryArray.from_arrays(index, values)))
    found = verified(target)
    assert_caught(found, "form")


def pc_values(column: pa.Array) -> pa.Array:
    return column.dictionary_encode().dictionary.cast(pa.string())


def test_bytes_that_no_reader_shows_are_caught(written):
    """In front of the footer, as an index of pages, and in the name of the writer."""
    target, content = written
    data = target.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    target.write_bytes(data[:footer] + b"SECRET influenza" + data[footer:])
    assert_caught(verified(target), "form")
    rewrite(target, content, write_page_index=True)
    assert_caught(verified(target), "form")
    target.write_bytes(data.replace(b"parquet-cpp-arrow version", b"SECRET-cpp-arrow versions"))
    assert_caught(verified(target), "form")


# --------------------------------------------------------------------------------- what it is and refuses


def test_a_release_is_verified_with_its_policy(folder):
    text = """
    version = 1
    [columns]
    sensitive = ["illness"]
    public = ["town", "floor"]
    drop = ["age", "wage", "name"]
    [budget]
    upper = 0.7
    lower = 1.0
    """
    policy = sz.Policy.from_toml(text)
    target = release(folder, policy.sanitizer())
    assert verify_file(target, folder / "raw.parquet", policy).ok
    with pytest.raises(ColumnError, match="does not list the column 'name'"):
        verify_file(target, folder / "raw.parquet", sz.Policy.from_toml(text.replace(', "name"', "")))
    assert not verify_file(target, folder / "raw.parquet", sz.Policy.from_toml(text.replace("0.7", "0.1"))).ok


def test_a_design_that_fails_is_a_failed_check(folder, monkeypatch):
    target = release(folder, merging())
    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging",
        lambda joint, budget, **_: Channel.identity(len(joint.public), joint.public),
    )
    found = verify_file(target, folder / "raw.parquet", SubsetMerging(LiftBudget.symmetric(0.01), **ROLES))
    assert [(check.name, check.ok) for check in found.checks] == [("design", False)]
    with pytest.raises(VerificationFailed, match="fails its verification \\(design\\)") as caught:
        found.require()
    assert caught.value.verification is found
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_released_frame_is_verified_once_it_is_in_the_canonical_form(folder, tmp_path):
    """A frame's file has no summary of ours, and is written by another library: which tells nothing."""
    df = pq.read_table(folder / "raw.parquet").to_pandas()
    merging().fit_transform(df).sample(frac=1, random_state=0, ignore_index=True).to_parquet(tmp_path / "own.parquet")
    files = tmp_path / "own.parquet", folder / "raw.parquet"
    assert "form" in failed(verify_file(*files, merging(), rewrite=tmp_path / "canonical.parquet"))
    assert verify_file(tmp_path / "canonical.parquet", files[1], merging()).require().ok


def test_the_sanitizer_is_not_touched(folder):
    sanitizer = merging()
    target = release(folder, merging())
    verify_file(target, folder / "raw.parquet", sanitizer)
    assert not hasattr(sanitizer, "channel_")


def test_views_of_a_verification(folder):
    found = verify_file(release(folder, merging()), folder / "raw.parquet", merging())
    told = json.loads(found.to_json())
    assert told == found.to_dict()
    assert (told["schema"], told["version"], told["ok"]) == ("sanitize/verification", 1, True)
    names = ["design", "columns", "rows", "summary", "form", "possible", "counts", "order"]
    assert [check["name"] for check in told["checks"]] == names
    assert found.to_text().startswith(
        "NOT REFUTED, and without a receipt its rows are not proved (false alarms: at most"
    )
    assert str(found) == found.to_text()


def test_what_cannot_be_read_is_refused(folder, tmp_path):
    (tmp_path / "text.parquet").write_text("SECRET")
    with pytest.raises(SourceError):
        verify_file(tmp_path / "text.parquet", folder / "raw.parquet", merging())
    for settings in ({"rows": "sorted"}, {"false_alarm": 0}, {"false_alarm": 1}):
        with pytest.raises(InvalidParameter):
            verify_file(folder / "raw.parquet", folder / "raw.parquet", merging(), **settings)


def test_a_bomb_is_refused_before_it_unfolds(written, monkeypatch):
    target, content = written
    text = pa.array(["a" * (1 << 22)] * 10)
    table = pa.table({"town": text, "floor": content["floor"].slice(0, 10)})
    pq.write_table(table, target, compression="zstd", use_dictionary=False)
    monkeypatch.setattr(footer, "_BOMB_BYTES", 1 << 20)
    with pytest.raises(SourceError, match="refused as a decompression bomb"):
        verified(target)
