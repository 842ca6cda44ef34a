"""A ledger is one file whatever names it: what a link leads to is locked, read, replaced; no second name."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import LedgerError
from sanitize.over_time import UnitLedger

BUDGET = sz.LiftBudget(lower=1.5, upper=1)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(600) < 0.3
    return pd.DataFrame(
        {"who": np.arange(600), "ill": ill, "town": rng.choice(list("AB"), 600), "job": rng.choice(list("xy"), 600)}
    )


def entries(kind, path, budget=BUDGET):
    return kind(path, budget, unit="who") if kind is UnitLedger else kind(path, budget)


@pytest.mark.parametrize("kind", [sz.Ledger, UnitLedger])
@pytest.mark.parametrize("exists", [False, True])
def test_a_ledger_that_a_link_leads_to_stays_one(kind, exists, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "own").mkdir()
    book, link = tmp_path / "shared" / "book.json", tmp_path / "own" / "book.json"
    if exists:
        entries(kind, book)
    link.symlink_to(book)
    ledger = entries(kind, link)
    assert ledger.path == book.resolve()
    df = people()
    if kind is UnitLedger:
        sanitizer = sz.SubsetMerging(BUDGET, sensitive="ill", public="town").fit(df)
        ledger.release(df, sanitizer)
    else:
        ledger.record(df, sz.SubsetMerging(BUDGET, sensitive="ill", public="town").fit(df))
    assert link.is_symlink()
    assert len(entries(kind, book)) == len(entries(kind, link)) == 1
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["book.json"]  # its lock is beside the book


@pytest.mark.parametrize("kind", [sz.Ledger, UnitLedger])
def test_a_ledger_of_two_names_is_refused(kind, tmp_path):
    entries(kind, tmp_path / "book.json")
    os.link(tmp_path / "book.json", tmp_path / "other.json")
    for name in ("book.json", "other.json"):
        with pytest.raises(LedgerError, match="has a second name"):
            entries(kind, tmp_path / name)
    (tmp_path / "other.json").unlink()
    assert len(entries(kind, tmp_path / "book.json")) == 0
