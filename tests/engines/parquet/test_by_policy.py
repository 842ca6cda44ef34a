"""Files are released and planned by a policy as by the estimator and the settings that it names."""

from __future__ import annotations

import pandas as pd
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.engines.parquet import plan_file
from sanitize.errors import ColumnError, InvalidParameter

KEY = bytes(range(32))
POLICY = """
version = 1
rows = "keep"
receipt = "private/released.receipt"
[columns]
sensitive = ["survived"]
public = ["class", "sex"]
keep = []
drop = ["age"]
[source]
delimiter = ";"
[budget]
at_most = 2.0
at_least = 0.4
[channel]
mechanism = "subset-merging"
"""


@pytest.fixture
def raw(tmp_path):
    sz.datasets.load_titanic().to_csv(tmp_path / "raw.csv", index=False, sep=";")
    return tmp_path / "raw.csv"


def policy(folder, text=POLICY):
    return sz.Policy.from_toml(text, folder=folder)


def merging():
    return sz.SubsetMerging(sz.LiftBudget(at_most=2.0, at_least=0.4), sensitive="survived", public=["class", "sex"])


def test_a_policy_says_what_a_call_does_not(raw, tmp_path):
    report = sz.release_file(raw, tmp_path / "a.parquet", policy(tmp_path), key=KEY)
    (tmp_path / "private" / "released.receipt").unlink()
    settings = {
        "rows": "keep",
        "description": sz.TableDescription(delimiter=";"),
        "receipt": tmp_path / "private" / "released.receipt",
    }
    assert sz.release_file(raw, tmp_path / "b.parquet", merging(), key=KEY, **settings).summary == report.summary
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert sz.verify_file(tmp_path / "a.parquet", raw, policy(tmp_path)).ok
    assert plan_file(raw, policy(tmp_path)).summary == report.summary
    sz.release_file(raw, tmp_path / "c.parquet", policy(tmp_path), key=KEY, rows="shuffle", force=True)
    assert pq.read_table(tmp_path / "c.parquet").num_rows == pq.read_table(tmp_path / "a.parquet").num_rows
    assert (tmp_path / "c.parquet").read_bytes() != (tmp_path / "a.parquet").read_bytes()


def test_the_ledger_of_a_policy_books_the_release(raw, tmp_path):
    book = sz.Ledger(tmp_path / "ledger.json", sz.LiftBudget(at_most=2.5, at_least=0.2))
    booked = POLICY.replace("receipt =", 'ledger = "ledger.json"\nreceipt =')
    sz.release_file(raw, tmp_path / "a.parquet", policy(tmp_path, booked))
    assert len(book) == 1


def test_columns_that_a_policy_does_not_list_are_refused(raw, tmp_path):
    table = pd.read_csv(raw, sep=";").assign(town="A")
    for call in (
        lambda: sz.release_file(table, tmp_path / "a.parquet", policy(tmp_path, POLICY.replace('delimiter = ";"', ""))),
        lambda: plan_file(table, policy(tmp_path, POLICY.replace('delimiter = ";"', ""))),
    ):
        with pytest.raises(ColumnError, match="the policy does not list the column 'town'"):
            call()
    assert not (tmp_path / "a.parquet").exists()


def test_units_and_what_is_no_releaser_are_refused(raw, tmp_path):
    by_unit = POLICY.replace("sensitive =", 'unit = "who"\nsensitive =').replace("receipt =", "ledger =")
    with pytest.raises(InvalidParameter, match="belong to units"):
        sz.release_file(raw, tmp_path / "a.parquet", policy(tmp_path, by_unit))
    for wrong in (tmp_path / "a.parquet", "a.parquet", None):
        with pytest.raises(InvalidParameter, match="the last argument must be"):
            sz.release_file(raw, merging(), wrong)
