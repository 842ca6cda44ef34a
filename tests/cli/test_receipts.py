"""The receipt that a policy names: written with the release, found by its verification and booked in its ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands_cases import POLICY, assert_line, table

RECEIPT = Path("private/released.receipt")
RELEASE = ["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml"]
VERIFY = ["verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml"]


@pytest.fixture(params=["", 'ledger = "own.ledger"\n'], ids=["alone", "with a ledger"])
def place(tmp_path, monkeypatch, request) -> Path:
    pq.write_table(table(), tmp_path / "raw.parquet")
    head = f'version = 1\nreceipt = "{RECEIPT}"\n{request.param}'
    (tmp_path / "policy.toml").write_text(POLICY.replace("version = 1\n", head))
    monkeypatch.chdir(tmp_path)
    if request.param:
        import sanitize as sz

        sz.Ledger("own.ledger", sz.LiftBudget(lower=4.0, upper=4.0))
    return tmp_path


@pytest.mark.slow
def test_a_draft_asks_for_a_receipt_and_the_release_makes_its_folder(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(4000), "raw.parquet")
    draft = run("init", "raw.parquet")[1]
    Path("policy.toml").write_text(
        draft.replace("# at_most =", "at_most = 9e3").replace("# at_least =", "at_least = 1e-4")
    )
    assert run(*RELEASE)[::2] == (0, "")
    assert RECEIPT.stat().st_mode & 0o777 == 0o600
    assert RECEIPT.parent.stat().st_mode & 0o777 == 0o700
    code, out, _ = run(*VERIFY)
    assert (code, out.splitlines()[0]) == (0, "VERIFIED (drawn again by its receipt)")


def test_a_policy_writes_and_finds_its_receipt(place, run):
    assert run(*RELEASE)[0] == 0
    code, out, _ = run(*VERIFY, "--json")
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 0
    assert checks["receipt"]["detail"] == (
        "of this source, in the ledger" if Path("own.ledger").exists() else "of this source"
    )
    assert run(*RELEASE, "--receipt", "elsewhere.receipt", "--force")[0] == 4  # beside the release
    other = place / "other"
    other.mkdir()
    assert run(*RELEASE, "--receipt", "other/receipt", "--force")[0] == 0
    code, _, err = run(*VERIFY)
    assert code == 1
    assert_line(err, "rows")
    assert run(*VERIFY, "--receipt", "other/receipt")[0] == 0


@pytest.mark.parametrize("place", ['ledger = "own.ledger"\n'], indirect=True)
def test_a_receipt_of_a_release_that_the_ledger_does_not_know_is_refused(place, run):
    text = Path("policy.toml").read_text()
    Path("policy.toml").write_text(text.replace('ledger = "own.ledger"\n', ""))
    assert run(*RELEASE)[0] == 0
    assert run(*VERIFY)[0] == 0
    Path("policy.toml").write_text(text)
    code, out, err = run(*VERIFY)
    assert code == 1
    assert_line(err, "receipt")
    assert "the ledger of the policy does not list its release" in out


@pytest.mark.parametrize("fault", ["over budget", "taken", "dry run"])
def test_without_a_release_there_is_no_receipt_and_no_folder(place, run, fault):
    more = []
    if fault == "over budget":
        text = Path("policy.toml").read_text()
        Path("policy.toml").write_text(text.replace('drop = ["age", "name"]', 'keep = ["age"]\ndrop = ["name"]'))
    elif fault == "taken":
        Path("out.parquet").write_bytes(b"there")
    else:
        more = ["--dry-run"]
    assert run(*RELEASE, *more)[0] == (0 if more else {"over budget": 1, "taken": 4}[fault])
    assert not RECEIPT.parent.exists()


def test_without_the_receipt_that_the_policy_names_nothing_is_verified(place, run):
    assert run(*RELEASE)[0] == 0
    RECEIPT.unlink()
    code, out, err = run(*VERIFY)
    assert (code, out) == (3, "")
    assert_line(err, "released.receipt")
