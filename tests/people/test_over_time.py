"""Tables of the same units month after month: what all releases tell of a unit is within one budget."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import relational_cases
from relational_cases import hospital

import sanitize as sz
from sanitize.cli import main
from sanitize.errors import InvalidParameter, TargetError
from sanitize.over_time import UnitLedger
from sanitize.people import Child, UnitRelease
from sanitize.transformers import RecordDP

BUDGET = sz.LiftBudget(at_most=1.65, at_least=0.37)
POLICY = 'ledger = "people.units"' + relational_cases.POLICY.replace("[[table]]", "n_classes = 10\n[[table]]")


def months(n=2000, k=3):
    """Visits of the same patients by parts of the year; a tenth of them come in the second one."""
    tables = hospital(n)
    part = (tables["visits"]["day"].dt.month - 1) * k // 12
    for month in range(k):
        patients = tables["patients"][: n if month else n - n // 10]
        visits = tables["visits"][(part == month) & tables["visits"]["patient"].isin(patients["patient"])]
        yield {"patients": patients, "visits": visits.drop(columns="cost")}


def units_of(ledger, **settings):
    design = sz.LatentClassRelease(BUDGET, sensitive="ill", **settings)
    children = {"visits": Child(order="day", id="visit")}
    return UnitRelease(design, key="patient", root="patients", children=children, ledger=ledger)


def over_time(units):
    return next(section.words for section in units.report_.sections if section.name == "over_time")


def test_whatever_units_were_told_in_all_months_is_within_the_budget(tmp_path, monkeypatch):
    ledger, printed = UnitLedger(tmp_path / "people.units", BUDGET, unit="patient"), []
    plain = UnitRelease._generate_tables
    monkeypatch.setattr(UnitRelease, "_generate_tables", lambda *args: printed.append(args[3]) or plain(*args))
    for number, tables in enumerate(months(), 1):
        before = ledger.groups(tables["patients"]["patient"])
        units = units_of(ledger, n_classes=10).fit(tables)
        assert f"{number} release" in over_time(units)
        assert len(ledger) == number - 1
        released = units.release()
        assert len(ledger) == number
        assert released["visits"]["patient"].isin(released["patients"]["patient"]).all()
        groups = ledger.groups(tables["patients"]["patient"])
        # What is printed is what the ledger has: who was the same before, and is given one symbol, is the same after.
        if len(printed[-1]) == len(groups):
            pairs = pd.DataFrame({"before": before, "symbol": printed[-1], "after": groups}).query("before != after")
            assert not (pairs.groupby(["before", "symbol"])["after"].nunique() > 1).any()
            assert len(pairs) > 1000 or number > 1
    people = pd.DataFrame({"ill": tables["patients"]["ill"] == "yes", "group": groups})
    first = (tables["patients"]["ill"] == "yes")[:1800].mean()
    for share in (people.groupby("group")["ill"].mean(), 1 - people.groupby("group")["ill"].mean()):
        lift = share / (first if share.mean() < 0.5 else 1 - first)
        assert lift.between(0.37 - 1e-9, 1.65 + 1e-9).all()
    assert people["group"].nunique() > 20
    assert ledger.report().ok


def test_under_a_confidence_a_fifth_of_the_units_choose_and_the_others_prove(tmp_path, monkeypatch):
    # With some keys nothing more may be released of many units.
    monkeypatch.setattr(sz.NoiseKey, "from_system", lambda: sz.NoiseKey.from_seed(0))
    ledger = UnitLedger(tmp_path / "people.units", BUDGET, unit="patient", confidence=0.9)
    for tables in months(6000, 2):
        # Means and dates of units are nearly all different, and name nobody.
        units = units_of(ledger, n_classes=5)
        released = units.fit(tables).release()
        assert 0.95 * len(tables["patients"]) < len(released["patients"]) <= len(tables["patients"])
    report = ledger.report()
    assert report.ok
    assert report.n_groups > 5
    assert "holds for the population of these units (90 % sure)" in over_time(units)


def test_a_release_that_is_not_written_is_not_recorded(tmp_path, monkeypatch):
    ledger = UnitLedger(tmp_path / "people.units", BUDGET, unit="patient")
    units = units_of(ledger).fit(next(months()))

    def fail(*_, **__):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.ParquetWriter.write_table", fail)
        with pytest.raises(TargetError):
            units.write(tmp_path / "out")
    assert len(ledger) == 0
    assert not (tmp_path / "out").exists()
    units.write(tmp_path / "out")
    assert len(ledger) == 1


def test_the_ledger_is_of_these_units_and_the_policy_s_is_not_forgotten(tmp_path):
    with pytest.raises(InvalidParameter, match="'person', and this release by 'patient'"):
        units_of(UnitLedger(tmp_path / "people.units", BUDGET, unit="person"))
    with pytest.raises(InvalidParameter, match="cannot be combined: a ledger counts without noise"):
        units_of(
            UnitLedger(tmp_path / "patients.units", BUDGET, unit="patient"),
            record_dp=RecordDP(1.0, {"ill": ["yes", "no"]}),
            confidence=0.9,
        )
    with pytest.raises(InvalidParameter, match="names a ledger of units: give ledger="):
        UnitRelease(sz.Policy.from_toml(POLICY))


def test_the_command_keeps_the_ledger_of_its_policy(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(POLICY)
    for month, tables in enumerate(months(1500, 2)):
        (tmp_path / f"raw{month}").mkdir()
        for name, table in tables.items():
            table.to_parquet(tmp_path / f"raw{month}" / f"{name}.parquet", index=False)
        command = ["release", f"raw{month}", "-o", f"out{month}", "-p", "people.toml"]
        there = month > 0
        assert main([*command, "--dry-run", "--json"]) == 0
        assert "all releases of a unit together" in " ".join(capsys.readouterr().out.split())
        assert (tmp_path / "people.units").exists() is there
        assert main(command) == 0
        assert len(UnitLedger(tmp_path / "people.units")) == month + 1
    assert np.mean(pd.read_parquet(tmp_path / "out1" / "patients.parquet")["age"].between(17, 91)) == 1


def test_a_dossier_names_each_table_and_what_the_ledger_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(POLICY)
    (tmp_path / "raw").mkdir()
    for name, table in next(months(1500, 1)).items():
        table.to_parquet(tmp_path / "raw" / f"{name}.parquet", index=False)
    assert main(["release", "raw", "-o", "out", "-p", "people.toml", "--report", "report.json"]) == 0
    assert main(["report", "report.json", "--dossier", "dossier.md", "--released", "out", "-p", "people.toml"]) == 0
    digests = {
        f"out/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "out").iterdir()
    }
    metadata = json.loads((tmp_path / "dossier.croissant.json").read_text())
    assert {part["@id"]: part["sha256"] for part in metadata["distribution"]} == digests
    assert {rows["name"]: [field["name"] for field in rows["field"]] for rows in metadata["recordSet"]} == {
        "patients": ["patient", "age"],
        "visits": ["patient", "visit", "day", "code"],
    }
    for rows in metadata["recordSet"]:
        assert {field["source"]["fileObject"]["@id"] for field in rows["field"]} == {f"out/{rows['name']}.parquet"}
    statement = json.loads((tmp_path / "dossier.intoto.json").read_text())
    assert {part["name"]: part["digest"]["sha256"] for part in statement["subject"]} == digests
    dossier = (tmp_path / "dossier.md").read_text()
    assert "holds 1 release(s)" in dossier
    assert "| table visits | code; key = patient; order = day |" in dossier
    assert "all 1 in its ledger" in dossier
