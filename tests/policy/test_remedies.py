"""Lines that a plan proposes for a release of next to nothing: taken over as they are printed, they mend it."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import UselessRelease
from sanitize.policy import make_plan

RNG = np.random.default_rng(5)
N = 4000


def table(secret, **columns) -> pd.DataFrame:
    return pd.DataFrame({"secret": secret, **columns})


def noisy(codes, n_values: int, share: float = 0.3):
    """Codes, this share of which are dealt at random."""
    return np.where(RNG.random(len(codes)) < share, RNG.integers(0, n_values, len(codes)), codes)


def names(prefix: str, codes) -> list[str]:
    return [f"{prefix}{code}" for code in codes]


ILL = RNG.integers(0, 2, N)
TIMES = RNG.integers(0, 60, N)
DAYS = pd.Timestamp("1950-01-01") + pd.to_timedelta(TIMES * 300, unit="D")
KINDS = RNG.integers(0, 6, N)
KIND = names("k", noisy(TIMES // 30, 2, 0.8))
TEXTS = {f"q{j}": names("a", noisy(KINDS, 6)) for j in range(7)}
# Table, more of the policy, the column that is named, and where the lines stand that mend it.
CASES = {
    "a sensitive number": (table(TIMES[:1500], kind=KIND[:1500]), "", "'secret'", {"channel.bins": ["secret"]}),
    "a sensitive date": (table(DAYS[:1500], kind=KIND[:1500]), "", "'secret'", {"channel.bins": ["secret"]}),
    "sensitive numbers, with a confidence": (
        table(TIMES / 4, kind=KIND), "confidence = 0.95\n", "too few rows", {"channel.bins": ["secret"]},
    ),
    "public numbers": (
        table(names("s", ILL), age=noisy(ILL, 2, 0.8) * 15 + RNG.integers(0, 15, N), hours=RNG.integers(0, 25, N)), "",
        "'age'", {"channel.bins": ["age", "hours"]},
    ),
    "a public number and a text": (
        table(names("s", ILL), age=RNG.integers(0, 90, N), town=names("t", RNG.integers(0, 8, N))), "", "'age'",
        {"channel.bins": ["age"]},
    ),
    "a public date": (
        table(names("s", ILL), town=names("t", RNG.integers(0, 8, N)), born=DAYS)[:1500], "", "'born'",
        {"channel.bins": ["born"]},
    ),
    "texts in many combinations": (table(names("s", ILL), **TEXTS), "", "'q0'", {"channel": ["mechanism"]}),
    "few rows, with a confidence": (
        table(names("s", ILL[:150]), kind=names("k", KINDS[:150])), "confidence = 0.95\n", "too few rows",
        {"channel": ["confidence"]},
    ),
    "a strict limit": (
        table(names("s", ILL), kind=names("k", noisy(ILL, 2))), "", "limit",
        {"budget": ["at_most", "at_least"]},
    ),
    "combinations that nobody shares": (
        table(names("s", ILL), **{f"q{j}": names("a", noisy(KINDS, 6)) for j in range(30)})[:650], "", "q0",
        {"columns": ["drop"]},
    ),
}  # fmt: skip


def policy_text(raw: pd.DataFrame, more: str) -> str:
    public = ", ".join(f'"{name}"' for name in raw.columns[1:])
    return (
        f'version = 1\n[columns]\nsensitive = ["secret"]\npublic = [{public}]\n[budget]\nat_most = 1.5\n'
        f'at_least = 0.5\n[channel]\nmechanism = "subset-merging"\n{more}'
    )


def taken_over(text: str, printed: str) -> sz.Policy:
    """The policy with lines as they are printed, those that are comments with the edges of somebody who knows."""
    values = tomllib.loads(text)
    lines = printed.split("Proposed lines of the policy:")[1].strip().splitlines()
    where: list[str] = []
    for line in lines:
        if line.startswith("["):
            where = line.strip("[]").split(".")
        elif "left out, if these" in line:
            del values["channel"]["confidence"]
        elif line:
            written = re.sub(r"^# ", "", line).replace("[low, ..., high]", "[0, 7, 15]")
            place = values
            for part in where:
                place = place.setdefault(part, {})
            place |= tomllib.loads(written)
    columns = values["columns"]
    columns["public"] = [name for name in columns["public"] if name not in columns.get("drop", [])]
    return sz.Policy.from_dict(values)


@pytest.mark.parametrize("case", CASES)
def test_the_lines_that_a_plan_prints_mend_the_release(case, tmp_path, monkeypatch):
    raw, more, named, places = CASES[case]
    monkeypatch.chdir(tmp_path)
    raw.to_parquet("raw.parquet")
    text = policy_text(raw, more)
    policy = sz.Policy.from_toml(text)
    with pytest.raises(UselessRelease, match="nothing was written") as caught:
        sz.release_file("raw.parquet", "out.parquet", policy, allow_useless=False)
    assert named in str(caught.value)
    plan = make_plan(policy, "raw.parquet")
    lines = {where: [line for line in plan.proposals if line.table == where] for where in places}
    assert {where: [line.key for line in of_it] for where, of_it in lines.items()} == places
    assert all("the release keeps" in line.why for of_it in lines.values() for line in of_it)
    assert plan.curves == ()  # of nothing, which would hide the lines
    printed = plan.to_text()
    assert named in printed
    report = sz.release_file("raw.parquet", "out.parquet", taken_over(text, printed), allow_useless=False)
    assert not report.useless
    kept = report.summary["normalized_utility"] if report.relations is None else report.relations
    if "knowledge" not in printed:  # it is what the line says, but for draws
        assert 100 * kept == pytest.approx(float(re.search(r"the release keeps ([0-9.]+) %", printed)[1]), abs=8)


def two_secrets(share: float) -> pd.DataFrame:
    """Generated rows of two sensitive columns, a value of one of which this share of the rows has."""
    race = RNG.choice(["A", "B", "C"], N, p=[0.6, 0.4 - share, share])
    return table(race, income=names("i", ILL), **dict(list(TEXTS.items())[:3]))


def class_policy(raw: pd.DataFrame) -> str:
    text = policy_text(raw, "confidence = 0.95\n").replace("subset-merging", "latent-classes")
    return text.replace('["secret"]', '["secret", "income"]').replace('"income", "q0"', '"q0"')


@pytest.mark.parametrize("share", [0.001, 0.002, 0.004])
def test_why_generated_rows_are_linked_to_none_is_said_first_and_mended(share, tmp_path, monkeypatch):
    """They are of use, and written; the cause stands in the short report, and the plan tries what mends it."""
    monkeypatch.chdir(tmp_path)
    raw = two_secrets(share)
    raw.to_parquet("raw.parquet")
    text = class_policy(raw)
    report = sz.release_file("raw.parquet", "out.parquet", sz.Policy.from_toml(text), allow_useless=False)
    assert report.summary["mutual_information"] < 1e-12 < report.relations
    plan = make_plan(sz.Policy.from_toml(text), "raw.parquet")
    for words in (report.to_text(full=False), plan.to_text()):
        told = " ".join(words.split())
        assert (
            "generated rows follow the model of the whole table, and no single row of it (a rare sensitive value"
            in told
        )
        assert "join the rare values of the sensitive columns, under [join] in the policy" in told
    assert [(line.table, line.key) for line in plan.proposals] == [("join", "secret")]
    assert [share for _, share in plan._found.rows[1:]] == [50, pytest.approx(50, abs=6)]  # released, and shuffled
    # So does what the line names next: to drop the rows.
    assert "or drop their rows" in told
    raw[raw["secret"] != "C"].to_parquet("fewer.parquet", index=False)
    for source, policy in (("raw", taken_over(text, plan.to_text())), ("fewer", sz.Policy.from_toml(text))):
        mended = sz.release_file(f"{source}.parquet", f"{source}_out.parquet", policy)
        assert mended.lack is None
        assert mended.summary["mutual_information"] > 1e-9


NAMED = table(
    names("s", ILL),
    **{f"q{j}": names("a", noisy(ILL, 2)) for j in range(3)},
    person=[f"Person {'abcdefghij'[j % 10]}{j} of the village" for j in RNG.permutation(N)],
    town=[f"T{j}" for j in RNG.integers(0, 1000, N)],
)


@pytest.mark.parametrize("mechanism", ["latent-classes", "auto", "subset-merging"])
def test_texts_that_name_rows_and_texts_of_many_values_are_left_out_or_grouped_as_a_plan_prints(
    mechanism, tmp_path, monkeypatch
):
    """A refused table has lines too: a column to drop, and a file of wider names for a text."""
    monkeypatch.chdir(tmp_path)
    NAMED.to_parquet("raw.parquet")
    text = policy_text(NAMED, "").replace("subset-merging", mechanism)
    plan = make_plan(sz.Policy.from_toml(text), "raw.parquet")
    assert "person" in str(plan.refusal)
    printed = plan.to_text()
    assert 'drop = ["person"]  # a different text in most rows, which names them' in printed
    assert 'town = "town.csv"' in printed
    lines = [f"T{j};towns {j // 50}" for j in range(1000)]
    (tmp_path / "town.csv").write_text("\n".join(lines) + "\n")
    report = sz.release_file("raw.parquet", "out.parquet", taken_over(text, printed), allow_useless=False)
    out = pd.read_parquet("out.parquet")
    assert list(out.columns) == ["q0", "q1", "q2", "town"]
    assert (out["town"].str.startswith("towns")).mean() > 0.9
    assert (out["town"] == "(other)").mean() < 0.05  # of towns that ten rows have
    assert not report.useless


def test_a_plan_of_several_sensitive_columns_scores_the_adversary(tmp_path):
    two_secrets(0.1).to_parquet(tmp_path / "raw.parquet")
    text = class_policy(two_secrets(0.1)).replace("latent-classes", "watchdog").replace('"q0", "q1", ', "")
    text = text.replace("confidence = 0.95\n", "").replace('["q2"]', '["q2"]\ndrop = ["q0", "q1"]')
    plan = make_plan(sz.Policy.from_toml(text), tmp_path / "raw.parquet")
    assert plan._found is not None
