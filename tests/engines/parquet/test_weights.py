"""Weights of rows in files: the distribution counts them, what is printed and pooled counts rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.cli import main
from sanitize.engines.parquet import plan_file
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.files.open import attach_description

RNG = np.random.default_rng(0)
N_ROWS = 3000
BUDGET = sz.LiftBudget(at_most=2, at_least=0.3)
SETTINGS = {"sensitive": "ill", "public": ["town", "sex"]}
SAID = sz.TableDescription(weights="PWGTP")


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    town = rng.choice(list("ABC"), N_ROWS, p=[0.5, 0.3, 0.2])
    town[[5, 50, 500]] = "D"
    columns = {"ill": rng.choice(["yes", "no"], N_ROWS), "town": town, "sex": rng.choice(["f", "m"], N_ROWS)}
    return pd.DataFrame(columns | {"PWGTP": np.where(columns["ill"] == "yes", 7.5, rng.integers(20, 60, N_ROWS))})


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "parts"])
@pytest.mark.parametrize("mechanism", [sz.SubsetMerging, sz.Watchdog, sz.OptimalRandomResponse])
def test_the_design_counts_weights_and_the_release_rows(kind, mechanism, table, tmp_path):
    raw = tmp_path / f"raw.{kind}"
    if kind == "csv":
        table.to_csv(raw, index=False)
    elif kind == "parquet":
        table.to_parquet(raw, row_group_size=500)
    elif kind == "parts":
        raw.mkdir()
        for place, part in enumerate(np.array_split(np.arange(N_ROWS), 3)):
            table.iloc[part].to_parquet(raw / f"{place}.parquet")
    made = mechanism(BUDGET, **SETTINGS)
    source = table if kind == "frame" else raw
    report = sz.release_file(source, tmp_path / "out.parquet", made, description=SAID)
    in_memory = mechanism(BUDGET, **SETTINGS, min_count=0).fit(table, sample_weight=table["PWGTP"])
    np.testing.assert_allclose(made._joint.pmf, in_memory._joint.pmf, rtol=1e-12)
    assert report.n_rows == N_ROWS
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert list(out.columns) == ["town", "sex"]
    assert len(out) == N_ROWS
    assert "D" not in set(out["town"])  # of three persons, whatever their weights
    rare = int((table["town"] == "D").sum())
    assert [one.pooled for one in report.facts.replaced] == [rare, rare]


POLICY = """version = 1
[columns]
sensitive = ["ill"]
public = ["town", "sex"]
weights = "PWGTP"
[budget]
at_most = 2
at_least = 0.3
[channel]
mechanism = "{mechanism}"
"""


@pytest.mark.parametrize("mechanism", ["latent-classes", "subset-merging"])
def test_a_policy_names_the_weights(mechanism, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table.to_csv("raw.csv", index=False)
    (tmp_path / "p.toml").write_text(POLICY.format(mechanism=mechanism))
    receipt = ["--receipt", "private/receipt"]
    assert main(["release", "raw.csv", "-p", "p.toml", "-o", "out.csv", *receipt]) == 0
    assert main(["verify", "out.csv", "--source", "raw.csv", "-p", "p.toml", *receipt]) == 0
    assert "VERIFIED (drawn again" in capsys.readouterr().out
    assert main(["plan", "raw.csv", "-p", "p.toml"]) == 0
    if mechanism == "latent-classes":
        return
    by_python = plan_file("raw.csv", sz.SubsetMerging(BUDGET, **SETTINGS), description=SAID)
    planned = plan_file("raw.csv", sz.Policy.read("p.toml"))
    assert planned.summary | {"budget": ""} == by_python.summary | {"budget": ""}
    capsys.readouterr()
    assert main(["init", "raw.csv"]) == 0
    assert '# weights = "PWGTP"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "more", "says"),
    [
        ({"confidence": 0.95}, {}, "cannot be used with a confidence"),
        ({}, {"rows": "keep"}, "cannot be used with rows that keep their order"),
        ({}, {"ledger": "book.json"}, "a ledger cannot count rows with weights"),
    ],
)
def test_what_weights_have_no_meaning_for_is_refused(settings, more, says, table, tmp_path):
    table.to_parquet(tmp_path / "raw.parquet")
    if "ledger" in more:
        more = {"ledger": sz.Ledger(tmp_path / "book.json", BUDGET)}
    made = sz.SubsetMerging(BUDGET, **SETTINGS, **settings)
    with pytest.raises(InvalidParameter, match=says):
        sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.csv", made, description=SAID, **more)
    assert not (tmp_path / "out.csv").exists()


def test_a_choice_among_mechanisms_takes_no_weights(table, tmp_path):
    with pytest.raises(InvalidParameter, match="the weights of the rows, 'PWGTP', cannot be used with BestSanitizer"):
        sz.release_file(table, tmp_path / "out.csv", sz.BestSanitizer(BUDGET, **SETTINGS), description=SAID)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "keep"])
def test_generated_rows_keep_the_limit_of_the_weighted_distribution(kind, tmp_path):
    """Half of the rows are ill, a sixth of the people whom they stand for."""
    ill = RNG.choice(["yes", "no"], N_ROWS)
    answers = {f"q{j}": np.where(RNG.random(N_ROWS) < 0.7, ill, RNG.choice(["yes", "no"], N_ROWS)) for j in range(5)}
    answers["q0"] = RNG.choice(["yes", "no"], N_ROWS)  # may be kept
    weights = np.where(ill == "yes", 8, RNG.integers(20, 60, N_ROWS))
    raw = pd.DataFrame({"ill": ill, **answers, "PWGTP": weights})
    source = raw
    if kind in ("csv", "parquet"):
        source = tmp_path / f"raw.{kind}"
        getattr(raw, f"to_{kind}")(source, index=False)
    kept = {"keep": ["q0"]} if kind == "keep" else {}
    made = sz.LatentClassRelease(
        sz.LiftBudget(at_most=1.5, at_least=0.5),
        sensitive="ill",
        public=[n for n in answers if n not in kept.get("keep", [])],
        **kept,
    )
    report = sz.release_file(source, tmp_path / "out.parquet", made, description=SAID, key=bytes(32))
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert (report.n_rows, len(out), sorted(out.columns)) == (N_ROWS, N_ROWS, sorted(answers))
    joint, released = made._joint, made._joint.pmf @ made.channel_.matrix
    # What was counted is the weight of each row, and the limit is of that.
    shares = dict(zip(joint.sensitive.levels[0].to_pylist(), joint.p_s, strict=True))
    assert shares["yes"] == pytest.approx(weights[ill == "yes"].sum() / weights.sum(), rel=1e-12)
    lifts = released / joint.p_s[:, None] / released.sum(axis=0)
    assert lifts.max() <= 1.5 * (1 + 1e-9)
    assert lifts.min() >= 0.5 * (1 - 1e-9)
    assert lifts.max() > 1.4  # all of the limit is used
    # Classes are counted in rows; what is written is as frequent as neither rows nor people, which the report says.
    section = next(one for one in report.sections if one.name == "classes")
    assert dict(section.rows)["rows of the smallest class"] <= N_ROWS / 2
    assert 0.2 < (out["q1"] == "yes").mean() < (raw["q1"] == "yes").mean()
    assert "each row is released once and without its weight" in " ".join(report.to_text().split())
    assert report.relations is None or report.relations > 0.3


@pytest.mark.parametrize("bad", [0, -1.5, np.nan, np.inf])
def test_weights_must_be_positive_numbers(bad, table, tmp_path):
    table.loc[5, "PWGTP"] = bad
    made = sz.SubsetMerging(BUDGET, **SETTINGS)
    with pytest.raises(ColumnError, match="column 'PWGTP' must contain the weights of the rows, which are numbers > 0"):
        sz.release_file(table, tmp_path / "out.csv", made, description=SAID)
    with pytest.raises(ColumnError, match="no column 'w'"):
        sz.release_file(table, tmp_path / "out.csv", made, description=sz.TableDescription(weights="w"))
    assert attach_description(table, None) is table
