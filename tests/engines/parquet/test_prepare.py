"""Fitted and saved sanitizers prepare a release to files alike, and one flow writes it."""

from __future__ import annotations

import io
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._util.outputs import outputs
from sanitize.engines.parquet import plan_file, release_file
from sanitize.engines.parquet._second_pass import SecondPass
from sanitize.errors import InvalidParameter, SourceChanged
from sanitize.release.first_pass import TableCounter
from sanitize.tables.files.open import Target, open_source
from sanitize.transformers import RandomizedResponse, SubsetMerging

KEY = bytes(range(32))
BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)


@pytest.fixture
def source(tmp_path):
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 500)
    x = np.where(rng.random(500) < 0.3, s, rng.integers(0, 4, 500))
    path = tmp_path / "raw.parquet"
    pq.write_table(pa.table({"s": s, "x": [f"@{i}" for i in x], "other": rng.random(500)}), path)
    return path


def sanitizer(**settings) -> SubsetMerging:
    return SubsetMerging(BUDGET, sensitive="s", public="x", **settings)


def both(source) -> list:
    """A sanitizer, and the same saved after a fit."""
    return [sanitizer(), sz.SavedRelease.of(sanitizer().fit(pq.read_table(source)))]


@pytest.mark.parametrize("order", ["shuffle", "keep"])
@pytest.mark.parametrize("which", [0, 1])
def test_what_is_prepared_is_what_is_written(which, order, source, tmp_path):
    made = both(source)[which]
    report = release_file(source, tmp_path / "whole.parquet", made, rows=order, key=KEY)
    with open_source(source, made.numbers) as table:
        prepared = made.prepare(TableCounter(table, 7), order, key=KEY)
        place = Target.check(tmp_path / "steps.parquet", source, force=False)
        with outputs() as made_of:
            SecondPass(TableCounter(table), prepared).write(made_of, place, order)
    assert (tmp_path / "steps.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert type(prepared.report) is type(report)
    assert prepared.report.summary == report.summary


@pytest.mark.parametrize("which", [0, 1])
def test_the_rows_that_are_expected_are_those_of_each_symbol(which, source):
    made = both(source)[which]
    with open_source(source) as table:
        prepared = made.prepare(TableCounter(table, 64), "shuffle")
    symbols = [symbol[0] if isinstance(symbol, tuple) else symbol for symbol in prepared.release.channel.inputs.symbols]
    assert dict(zip(symbols, prepared.expected.tolist(), strict=True)) == Counter(
        pq.read_table(source).column("x").to_pylist()
    )


@pytest.mark.parametrize("which", [0, 1])
def test_no_distribution_and_no_key_is_in_what_is_prepared(which, source):
    made = both(source)[which]
    with open_source(source) as table:
        prepared = made.prepare(TableCounter(table, 64), "shuffle", key=KEY)
    assert prepared.release.joint.pmf.shape == (1, 1)
    assert prepared.release.counts is None
    assert KEY.hex() not in repr(prepared)
    assert repr(KEY) not in repr(prepared)


@pytest.mark.parametrize("order", ["shuffle", "keep"])
def test_the_report_of_a_plan_is_that_of_the_sanitizer_and_of_its_release(order, source, tmp_path):
    plan, made = sanitizer(), sanitizer()
    planned = plan_file(source, plan, rows=order)
    report = release_file(source, tmp_path / "out.parquet", made, rows=order)
    assert planned.to_dict() == plan.report_.to_dict() == made.report_.to_dict() == report.to_dict()
    assert ("position_information" in report.summary) == (order == "keep")


def test_a_new_symbol_in_the_second_pass_is_a_changed_source_whatever_the_sanitizer_does_with_it(
    source, tmp_path, monkeypatch
):
    monkeypatch.setattr("sanitize.release.first_pass.KEPT_BYTES", 0)  # so that rows are read again
    raw = pq.read_table(source)
    prepare = SubsetMerging.prepare

    def prepare_and_edit(self, table, order, *, key):
        made = prepare(self, table, order, key=key)
        # The same file as far as the first pass knows, so that the second one meets the symbol.
        monkeypatch.setattr(type(table.source), "check_unchanged", lambda _: None)
        pq.write_table(raw.set_column(1, "x", pa.array(["SECRET_new"] * 500)), source)
        return made

    monkeypatch.setattr(SubsetMerging, "prepare", prepare_and_edit)
    with pytest.raises(SourceChanged, match=r"raw\.parquet changed"):
        release_file(source, tmp_path / "out.parquet", sanitizer(handle_unknown="error"), rows="keep")
    assert not (tmp_path / "out.parquet").exists()


def test_both_reports_warn_of_spreadsheets_where_text_is_written(source, tmp_path):
    first, saved = both(source)
    for name in ("text.csv", "table.parquet"):
        notes = [
            release_file(source, tmp_path / name, first, force=True).facts.warnings,
            release_file(source, tmp_path / name, saved, force=True).warnings,
        ]
        assert [any("spreadsheets" in note for note in told) for told in notes] == [name == "text.csv"] * 2
    assert any("spreadsheets" in note for note in release_file(source, io.BytesIO(), saved).warnings)


def test_an_open_source_is_read_as_it_is_and_never_replaced(source, tmp_path):
    with open_source(source) as table:
        release_file(table, tmp_path / "out.parquet", sanitizer(), key=KEY)
        with pytest.raises(sz.errors.TargetError, match="is the raw table"):
            release_file(table, source, sanitizer(), force=True)
    release_file(source, tmp_path / "again.parquet", sanitizer(), key=KEY)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


def test_an_order_that_is_none_is_refused_before_anything_is_read(tmp_path):
    for call in (
        lambda: plan_file(tmp_path / "no such.parquet", sanitizer(), rows="sorted"),
        lambda: release_file(tmp_path / "no such.parquet", tmp_path / "out.parquet", sanitizer(), rows="sorted"),
    ):
        with pytest.raises(InvalidParameter, match="rows must be 'shuffle' or 'keep', got 'sorted'"):
            call()


def test_a_sanitizer_that_was_never_fitted_has_no_release():
    with pytest.raises(InvalidParameter, match="RandomizedResponse is not fitted yet; call fit first"):
        RandomizedResponse(1.0, sensitive="s", public="x").bare_release()
