"""The ledger: what several releases of the same rows tell together, and that nobody can spend it twice."""

from __future__ import annotations

import json
import math
import stat

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_cases import KEY, WIDE, respond, table
from sklearn.base import clone

import sanitize as sz
from sanitize._util.sampling.noise import NoiseKey, random_words
from sanitize.core.budgets import LiftBudget, as_capacity_budget
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidBudget,
    InvalidParameter,
    LedgerError,
    LedgerExceeded,
    ReleaseWarning,
)
from sanitize.over_time import _joint_distribution as _ledger_distribution
from sanitize.over_time._book import Book
from sanitize.tables.frame import Table
from sanitize.transformers import (
    GaussianChannel,
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)


def merge(public, budget=None, **settings):
    budget = sz.LiftBudget(lower=math.inf, upper=0.6) if budget is None else budget
    return SubsetMerging(budget, sensitive="s", public=public, **settings).fit(table())


def brute_force(df: pd.DataFrame, sanitizers) -> dict[str, float]:
    """Figures of everything together, row by row: each release draws by itself given its own columns."""
    distribution: dict[tuple, float] = {}
    codes = [sanitizer._release.encode(Table.from_native(df))[0] for sanitizer in sanitizers]
    rows = [sanitizer.channel_.matrix for sanitizer in sanitizers]
    for i, s in enumerate(df["s"]):
        together = {(): 1.0}
        for own, matrix in zip(codes, rows, strict=True):
            one = matrix[own[i]]
            together = {(*a, y): p * one[y] for a, p in together.items() for y in np.flatnonzero(one)}
        for y, p in together.items():
            distribution[s, y] = distribution.get((s, y), 0.0) + p / len(df)
    s, y = (sorted({key[i] for key in distribution}) for i in (0, 1))
    joint = sz.JointDistribution.from_matrix([[distribution.get((one, other), 0.0) for other in y] for one in s])
    return {
        "max_log_lift": sz.core.lifts.max_log_lift(joint).max(),
        "min_log_lift": sz.core.lifts.min_log_lift(joint).min(),
        "mutual_information": sz.mutual_information(joint),
    }


RELEASES = {
    "twice the same column": lambda: [respond(), respond(), respond(eps=0.2)],
    "overlapping columns": lambda: [merge(["a", "b"]), merge("b"), respond()],
    "other bins": lambda: [
        merge("age", bins={"age": [0, 30, 60, 120]}),
        merge(["age", "a"], bins={"age": [0, 45, 120]}),
    ],
    "random and noisy": lambda: [
        OptimalRandomResponse(LiftBudget.symmetric(0.4), sensitive="s", public=["a", "b"]).fit(table()),
        GaussianChannel(0.1, bounds={"age": (0, 100)}, step=25, reach=1, sensitive="s", public="age").fit(table()),
    ],
    "joint": lambda: [
        JointRelease(
            [("p", SubsetMerging(public="a"))], sz.LiftBudget(lower=math.inf, upper=0.6), sensitive="s", keep="b"
        ).fit(table()),
        respond(),
    ],
    "pooled": lambda: [merge(["a", "b"], min_count=60), respond(["a", "b"], min_count=70)],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", RELEASES)
def test_the_figure_is_what_all_releases_tell_together(case, tmp_path):
    df = table()
    sanitizers = RELEASES[case]()
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    for number, sanitizer in enumerate(sanitizers, 1):
        checked = ledger.check(df, sanitizer)
        report = ledger.record(df, sanitizer)
        assert report.summary == checked.summary
        expected = brute_force(df, sanitizers[:number])
        for name, value in expected.items():
            assert report.summary[name] == pytest.approx(value, abs=1e-9)
    assert len(ledger) == len(sanitizers)


def test_fresh_noise_tells_more_and_the_release_that_is_too_much_is_refused(tmp_path):
    df = table()
    single = respond().report_.summary["max_log_lift"]
    ledger = sz.Ledger(tmp_path / "ledger", sz.LiftBudget(lower=2.0, upper=1.9 * single))
    assert ledger.record(df, respond()).summary["max_log_lift"] == pytest.approx(single)
    before = (tmp_path / "ledger").read_bytes()
    with pytest.raises(LedgerExceeded, match=r"together with the 1 recorded release\(s\)") as caught:
        ledger.record(df, respond())
    expected = brute_force(df, [respond(), respond()])["max_log_lift"]
    # Two releases of the same bits: less than twice one of them, and still too much.
    assert caught.value.excess == pytest.approx(expected - 1.9 * single, abs=1e-9)
    assert caught.value.left == pytest.approx(0.9 * single, abs=1e-9)
    assert caught.value.n_recorded == 1
    assert isinstance(caught.value, BudgetExceeded)
    assert (tmp_path / "ledger").read_bytes() == before
    assert ledger.record(df, respond(eps=0.05)).ok


def test_the_same_merging_again_tells_nothing_more(tmp_path):
    df = table()
    ledger = sz.Ledger(tmp_path / "ledger", sz.LiftBudget(lower=math.inf, upper=0.6))
    reports = [ledger.record(df, merge(["a", "b"])) for _ in range(3)]
    for report in reports[1:]:
        assert report.summary["max_log_lift"] == pytest.approx(reports[0].summary["max_log_lift"], abs=1e-12)


def test_the_first_release_must_be_within_the_budget_by_itself(tmp_path):
    with pytest.raises(LedgerExceeded, match=r"leave 0\.01 nats") as caught:
        sz.Ledger(tmp_path / "ledger", 0.01).record(table(), respond())
    assert caught.value.left == pytest.approx(0.01)


# ------------------------------------------------------------------------------------------------ the file


def test_the_book_outlives_the_process_and_is_the_owners_alone(tmp_path):
    path = tmp_path / "ledger"
    sz.Ledger(path, sz.LDPBudget(3.0)).record(table(), respond())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == [".ledger.lock", "ledger"]
    again = sz.Ledger(path)
    assert again.budget == sz.LDPBudget(3.0)
    assert len(again) == 1
    found = again.check(table(), respond()).summary["max_log_lift"]
    assert found == pytest.approx(brute_force(table(), [respond(), respond()])["max_log_lift"], abs=1e-9)


@pytest.mark.parametrize(
    "budget",
    [
        sz.LiftBudget(lower=math.inf, upper=0.5),
        sz.LDPBudget(0.1),
        sz.L1LiftBudget(lower=1.0, upper=0.1),
        sz.Chi2LiftBudget(lower=0.3, upper=math.inf),
        sz.AlphaLiftBudget(2.5, lower=1.0, upper=1 / 3),
    ],
)
def test_every_budget_comes_back_as_it_was(budget, tmp_path):
    sz.Ledger(tmp_path / "ledger", budget)
    assert sz.Ledger(tmp_path / "ledger").budget == budget
    assert sz.Ledger(tmp_path / "ledger", budget).budget == budget
    with pytest.raises(LedgerError, match="has the budget"):
        sz.Ledger(tmp_path / "ledger", 7.0)


def test_entries_come_back_as_they_were(tmp_path):
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    for sanitizer in RELEASES["random and noisy"]() + RELEASES["other bins"]():
        ledger.record(table(), sanitizer)
    book = Book.read(tmp_path / "ledger")
    book.write(tmp_path / "copy")
    again = Book.read(tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == (tmp_path / "ledger").read_text()
    for one, other in zip(book.entries, again.entries, strict=True):
        assert one.channel == other.channel
        assert np.array_equal(one.encode(table()), other.encode(table()))


def test_a_ledger_needs_a_file_or_a_budget(tmp_path):
    with pytest.raises(LedgerError, match=r"no ledger 'none'.*budget of all"):
        sz.Ledger(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(LedgerError, match="cannot be locked"):
        sz.Ledger(tmp_path / "no" / "folder", 1.0)
    with pytest.raises(InvalidBudget, match="needs a budget of type LiftBudget"):
        sz.Ledger(tmp_path / "none", as_capacity_budget(1.0, ""))


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda text, state: "",
        lambda text, state: text[: len(text) // 2],
        lambda text, state: "[]",
        lambda text, state: json.dumps({**state, "format": "other"}),
        lambda text, state: json.dumps({**state, "version": 99}),
        lambda text, state: json.dumps({**state, "budget": {"type": "LiftBudget", "lower": "-1", "upper": "1"}}),
        lambda text, state: json.dumps({**state, "budget": {"type": "NoBudget"}}),
        lambda text, state: json.dumps({**state, "salt": "xyz"}),
        lambda text, state: json.dumps({name: value for name, value in state.items() if name != "releases"}),
        lambda text, state: json.dumps({**state, "releases": [{**state["releases"][0], "fallback": 99}]}),
        lambda text, state: json.dumps({**state, "releases": [{**state["releases"][0], "public": ["b"]}]}),
        lambda text, state: json.dumps({**state, "releases": [{**state["releases"][0], "channel": {}}]}),
        lambda text, state: json.dumps({**state, "releases": [{**state["releases"][0], "bins": {"a": {}}}]}),
        lambda text, state: json.dumps({**state, "releases": [None]}),
    ],
)
def test_a_damaged_ledger_is_refused_and_not_read_as_empty(damage, tmp_path):
    path = tmp_path / "ledger"
    ledger = sz.Ledger(path, WIDE)
    ledger.record(table(), respond())
    text = path.read_text()
    path.write_text(damage(text, json.loads(text)))
    with pytest.raises(LedgerError, match="ledger"):
        ledger.record(table(), respond())


def test_the_file_holds_no_counts_and_its_digests_are_salted(tmp_path):
    for name in ("one", "two"):
        sz.Ledger(tmp_path / name, WIDE).record(table(), respond())
    one, two = (json.loads((tmp_path / name).read_text()) for name in ("one", "two"))
    assert one["releases"][0]["digest"] != two["releases"][0]["digest"]
    assert set(one) == {"format", "version", "budget", "salt", "n_rows", "together", "releases", "sha256"}
    assert set(one["releases"][0]) == {
        "number", "sensitive", "public", "partition", "bins", "channel", "fallback", "digest", "key", "receipt",
    }  # fmt: skip
    assert '"u"' not in json.dumps(one)


# ------------------------------------------------------------------------------------------------ same rows


def test_other_rows_are_refused(tmp_path):
    df = table()
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    ledger.record(df, respond())
    for other in (df.iloc[1:], pd.concat([df, df]), df.assign(s=df["s"].to_numpy()[::-1])):
        with pytest.raises(LedgerError, match="not the rows"):
            ledger.check(other, respond())
    # Neither release by itself shows that the columns were put together differently; both together do.
    ledger.record(df, respond("b"))
    rng = np.random.default_rng(1)
    mixed = df.assign(b=df.groupby("s")["b"].transform(lambda values: values.to_numpy()[rng.permutation(len(values))]))
    with pytest.raises(LedgerError, match="not the rows"):
        ledger.check(mixed, respond())
    # The order of the rows does not matter, nor does the kind of table.
    assert ledger.check(df.sample(frac=1, random_state=1), respond()).ok
    assert ledger.check(pa.Table.from_pandas(df), respond()).ok


def test_other_sensitive_columns_are_refused(tmp_path):
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    ledger.record(table(), respond())
    other = RandomizedResponse(0.5, sensitive="b", public="a").fit(table())
    with pytest.raises(LedgerError, match="protect other sensitive columns"):
        ledger.record(table(), other)


def test_columns_of_recorded_releases_must_be_there(tmp_path):
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    ledger.record(table(), respond())
    with pytest.raises(ColumnError, match="'a'"):
        ledger.record(table().drop(columns="a"), merge("b"))


def test_a_sanitizer_must_be_fitted_and_drop_the_sensitive_columns(tmp_path):
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    with pytest.raises(InvalidParameter, match="not fitted"):
        ledger.record(table(), Watchdog(LiftBudget.symmetric(1.0)))
    with pytest.raises(InvalidParameter, match="keep_sensitive"):
        ledger.record(table(), respond(keep_sensitive=True))
    assert len(ledger) == 0


@pytest.mark.parametrize("public", ["a", "b"])
def test_symbols_that_the_channel_does_not_know_count_as_they_are_released(public, tmp_path):
    df = table()
    fallbacks = set()
    for number, unknown in enumerate(df[public].dropna().unique()):
        partial = RandomizedResponse(0.5, sensitive="s", public=public).fit(df[df[public] != unknown])
        fallbacks.add(partial._release.fallback)
        report = sz.Ledger(tmp_path / str(number), WIDE).record(df, partial)
        assert report.summary["max_log_lift"] == pytest.approx(brute_force(df, [partial])["max_log_lift"], abs=1e-9)
    assert fallbacks != {0}


def test_a_key_is_used_once(tmp_path):
    df = table()
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    ledger.record(df, respond(), key=NoiseKey(KEY))
    with pytest.raises(InvalidParameter, match="same key or seed"):
        ledger.record(df, respond(), key=KEY)
    with pytest.raises(InvalidParameter, match="same key or seed"):
        ledger.record(df, respond(random_state=NoiseKey(KEY)))
    ledger.record(df, respond())
    ledger.record(df, respond())
    assert len(ledger) == 3
    assert KEY.hex() not in (tmp_path / "ledger").read_text()


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (7, 7),
        (7, np.int64(7)),
        (7, NoiseKey.from_seed(7)),
        (NoiseKey(KEY), NoiseKey(KEY)),
        (1, True),
    ],
    ids=["seed", "numpy seed", "key of the seed", "key", "a seed that is a flag"],
)
def test_noise_that_a_recorded_release_had_is_refused_whatever_it_is_called(tmp_path, first, again):
    """The two draw the same words, so the product of their channels is not their distribution together."""
    draws = [random_words(source).words(0, 0, 64).tolist() for source in (first, again)]
    assert draws[0] == draws[1]
    df, ledger = table(), sz.Ledger(tmp_path / "ledger", WIDE)
    ledger.record(df, respond(random_state=first))
    for call in (ledger.record, ledger.check):
        with pytest.raises(InvalidParameter, match="same key or seed"):
            call(df, respond(random_state=again))
    assert len(ledger) == 1


def test_a_random_state_is_refused_because_its_copies_draw_the_same(tmp_path):
    """Nothing tells two equal ones from one that moves on: what is recorded is not what is drawn later."""
    df, ledger = table(), sz.Ledger(tmp_path / "ledger", WIDE)
    sanitizer = respond(random_state=np.random.RandomState(3))
    for call in (ledger.record, ledger.check):
        with pytest.raises(InvalidParameter, match="a copy of it could draw another"):
            call(df, sanitizer)
    with pytest.raises(InvalidParameter, match="a copy of it could draw"):
        ledger.record(df, respond(), key=np.random.RandomState(3))
    assert len(ledger) == 0
    df.to_parquet(tmp_path / "raw.parquet")
    files = tmp_path / "raw.parquet", tmp_path / "released.parquet"
    with pytest.warns(ReleaseWarning, match="seed"), pytest.raises(InvalidParameter, match="a copy of it could draw"):
        sz.release_file(*files, clone(sanitizer), ledger=ledger)
    assert not (tmp_path / "released.parquet").exists()


def test_releases_of_equal_noise_agree_otherwise_than_by_the_product_of_their_channels():
    """Why they are refused: 600 rows, more than eight standard deviations from what independent draws give."""
    df = table()
    sanitizers = [respond(eps=eps, random_state=7) for eps in (0.5, 1.5)]
    codes = [sanitizer._release.encode(Table.from_native(df))[0] for sanitizer in sanitizers]
    seen = [
        sanitizer.channel_.sample(own, NoiseKey.from_seed(7)) for sanitizer, own in zip(sanitizers, codes, strict=True)
    ]
    rows = [sanitizer.channel_.matrix[own] for sanitizer, own in zip(sanitizers, codes, strict=True)]
    expected = float((rows[0] * rows[1]).sum(axis=1).mean())
    deviation = math.sqrt(expected * (1 - expected) / len(df))
    assert abs(float(np.mean(seen[0] == seen[1])) - expected) > 8 * deviation


# ------------------------------------------------------------------------------------------------ bounds


@pytest.mark.parametrize(
    "budget",
    [sz.LiftBudget(lower=0.6, upper=0.5), sz.LiftBudget(at_least=math.exp(-0.6), at_most=math.exp(0.5))],
    ids=["nats", "times"],
)
def test_where_the_joint_distribution_is_too_large_levels_of_local_privacy_add_up(tmp_path, monkeypatch, budget):
    df = table()
    epsilons = (0.3, 0.2)
    exact = sz.Ledger(tmp_path / "exact", WIDE)
    for eps in epsilons:
        known = exact.record(df, respond(eps=eps))
    monkeypatch.setattr("sanitize.core.channel._tuples.DENSE_CELLS", 1)
    ledger = sz.Ledger(tmp_path / "ledger", budget)
    for eps in epsilons:
        report = ledger.record(df, respond(eps=eps))
    # 0.3 + 0.2 nats use up the upper bound, though the exact figure is far below.
    assert (report.budget.lower, report.budget.upper) == pytest.approx((0.1, 0.0))
    assert any("finite local DP" in note for note in report.facts.warnings)
    assert known.summary["max_log_lift"] < 0.5
    with pytest.raises(LedgerExceeded) as caught:
        ledger.record(df, respond(eps=0.01))
    assert caught.value.excess == pytest.approx(0.01)
    assert caught.value.left is None
    assert caught.value.budget == ledger.budget


def test_releases_without_a_local_level_stay_exact_beside_a_bound(tmp_path, monkeypatch):
    df = table()
    ledger = sz.Ledger(tmp_path / "ledger", sz.LiftBudget(lower=math.inf, upper=1.0))
    alone = ledger.record(df, merge("b")).summary["max_log_lift"]
    monkeypatch.setattr(
        "sanitize.core.channel._tuples.DENSE_CELLS", 3
    )  # the merged symbols pass, the response does not
    report = ledger.record(df, respond(eps=0.25))
    assert report.budget.upper == pytest.approx(0.75)
    assert report.summary["max_log_lift"] == pytest.approx(alone)
    # The theorem: the bound is above what they tell exactly.
    exact = brute_force(df, [merge("b"), respond(eps=0.25)])
    assert exact["max_log_lift"] <= alone + 0.25 + 1e-12


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 2.0), st.floats(0.01, 2.0))
def test_what_a_local_level_adds_bounds_the_joint_lift(seed, first, second):
    rng = np.random.default_rng(seed)
    distribution = rng.random((3, 4, 5)) * (rng.random((3, 4, 5)) < 0.8) + 1e-9
    distribution /= distribution.sum()
    exact = rng.dirichlet(np.ones(3), 4)
    alone = sz.theory.accounting.joint_release(distribution.sum(axis=2), [exact])
    both = sz.theory.accounting.joint_release(distribution, [exact, sz.randomized_response(5, first)])
    for bound in (sz.core.lifts.max_log_lift, lambda joint: -sz.core.lifts.min_log_lift(joint)):
        assert bound(both).max() <= bound(alone).max() + first + 1e-9
    assert sz.ldp_epsilon(both) <= sz.ldp_epsilon(alone) + first + 1e-9
    three = sz.theory.accounting.joint_release(
        np.einsum("sxy,x->sxy", distribution, np.ones(4)), [exact, sz.randomized_response(5, second)]
    )
    assert sz.core.lifts.max_log_lift(three).max() <= sz.core.lifts.max_log_lift(alone).max() + second + 1e-9


def test_what_no_theorem_bounds_is_refused(tmp_path, monkeypatch):
    df = table()
    monkeypatch.setattr("sanitize.core.channel._tuples.DENSE_CELLS", 1)
    for name, budget, sanitizer in (
        ("averages", sz.Chi2LiftBudget(lower=9.0, upper=9.0), respond()),
        (
            "no level",
            sz.LiftBudget(lower=math.inf, upper=9.0),
            OptimalRandomResponse(LiftBudget.symmetric(0.4), sensitive="s", public="a").fit(df),
        ),
    ):
        ledger = sz.Ledger(tmp_path / name, budget)
        level = _ledger_distribution._Run.from_entry(
            1, _ledger_distribution.Entry.from_release(sanitizer._release, None)
        ).level
        if name == "no level" and math.isfinite(level):
            monkeypatch.setattr(_ledger_distribution._Run, "level", math.inf)
        with pytest.raises(ColumnError, match="too many combinations of symbols to measure"):
            ledger.record(df, sanitizer)
        assert len(ledger) == 0
