"""Releases by unit: what all releases together told of anybody, by counting; and what goes wrong is refused."""

from __future__ import annotations

import itertools
import json
import math
import shutil
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._util.declared import to_builtin
from sanitize._util.sampling.noise import NoiseKey
from sanitize._util.sealed_text import compute_seal
from sanitize.core.budgets import AlphaLiftBudget, Chi2LiftBudget, L1LiftBudget, LDPBudget
from sanitize.core.channel import ReducedChannel
from sanitize.engines.parquet import plan_units, release_units
from sanitize.errors import ColumnError, InvalidBudget, InvalidParameter, LedgerError, TargetExists
from sanitize.over_time import UnitLedger, _unit_rows
from sanitize.over_time._groups import Sources
from sanitize.over_time._unit_book import PairWords, UnitBook, text_digests
from sanitize.transformers import SecretDP

LOOSE = sz.LiftBudget.symmetric(100.0)
LIFT = sz.LiftBudget(lower=0.7, upper=0.4)
BUDGETS = {
    "lift": LIFT,
    "one side": sz.LiftBudget(lower=math.inf, upper=0.4),
    "ldp": LDPBudget(0.6),
    "l1": L1LiftBudget(lower=0.2, upper=0.2),
    "chi2": Chi2LiftBudget(lower=0.2, upper=0.2),
    "alpha": AlphaLiftBudget(alpha=2.0, lower=0.3, upper=0.3),
}


def months(seed, *, n_units=400, n_months=3, n_values=4, changing=0.2, there=0.9, most_rows=1, n_s=2):
    """Tables of units that come and go, whose values depend on their secret and change."""
    rng = np.random.default_rng(seed)
    secret = np.r_[np.arange(n_s), rng.choice(n_s, n_units - n_s, p=rng.dirichlet(np.full(n_s, 9.0)))]
    distribution = rng.dirichlet(np.full(n_values, 2.0), n_s)
    value = np.array([rng.choice(n_values, p=distribution[s]) for s in secret])
    tables = []
    for month in range(n_months):
        if month:
            value = np.where(rng.random(n_units) < changing, rng.integers(0, n_values, n_units), value)
        present = np.flatnonzero((rng.random(n_units) < there) | (np.arange(n_units) < n_s))
        rows = rng.permutation(np.repeat(present, rng.integers(1, most_rows + 1, len(present))))
        own = np.where(rng.random(len(rows)) < 0.1, rng.integers(0, n_values, len(rows)), value[rows])
        tables.append(pd.DataFrame({"who": rows, "ill": secret[rows], "town": [f"t{v}" for v in own]}))
    return tables


def sanitizer_of(table, limit=LOOSE, **settings):
    """By default one that releases every value as it is, so that only the ledger holds anything back."""
    return sz.SubsetMerging(limit, sensitive="ill", public="town", random_state=1, **settings).fit(table)


def ledger_in(folder, budget=LIFT, name="u", **settings):
    return UnitLedger(folder / name, budget, **({"unit": "who", "min_units": 5} | settings))


def released(ledger, tables, monkeypatch):
    """Released tables, and the groups of all units before the first release and after each row that they were told."""
    states, secret = [], dict(pd.concat(tables)[["who", "ill"]].itertuples(index=False))

    def watched(book, *told):
        after = tell(book, *told)
        place = {bytes(row): number for number, row in enumerate(book.units)}
        digests = text_digests(book.key, [f'unit:["{who}"]' for who in secret])
        found = [place.get(bytes(row)) for row in digests]
        states.append({w: 0 if n is None else int(after.group[n]) for w, n in zip(secret, found, strict=True)})
        return after

    tell = _unit_rows._record_turn
    monkeypatch.setattr(_unit_rows, "_record_turn", watched)
    made = [ledger.release(table, sanitizer_of(table)) for table in tables]
    monkeypatch.undo()
    return made, [dict.fromkeys(secret, 0), *states], secret


def sequences(ledger, tables, monkeypatch):
    """Released tables, and for each unit what its rows were printed from: values, or what others were printed.

    A distribution is a turn and the values of those who are drawn from, counted; it is taken from what is drawn, and
    not from the groups or sizes that the ledger keeps.
    """
    told, old, here = defaultdict(list), defaultdict(list), []

    def watched_blocks(book, units, *rest):
        here[:] = [bytes(book.units[unit]) for unit in units]
        return blocks(book, units, *rest)

    def watched_sources(group, block, symbol, again):
        sources = of(group, block, symbol, again)
        for place, who in enumerate(here):
            if block[place]:
                own = (group == group[place]) & (block == block[place])
                told[who].append((len(seen), tuple(sorted(Counter(symbol[own].tolist()).items()))))
            else:
                old[who].append((len(seen), len(told[who]), {int(y) for y in sources.earlier_symbols[place] if y >= 0}))
        seen.append(None)
        return sources

    seen, blocks, of = [], _unit_rows._partition_groups, Sources.from_blocks
    monkeypatch.setattr(_unit_rows, "_partition_groups", watched_blocks)
    monkeypatch.setattr(Sources, "from_blocks", watched_sources)
    made = [ledger.release(table, sanitizer_of(table)) for table in tables]
    monkeypatch.undo()
    key, everybody = UnitBook.read(ledger.path).key, pd.concat(tables)["who"].unique()
    digests = text_digests(key, [f'unit:["{who}"]' for who in everybody])
    named = {bytes(row): who for row, who in zip(digests, everybody, strict=True)}
    return made, {who: told[row] for row, who in named.items()}, {who: old[row] for row, who in named.items()}


def worst_sequence(told, secret, reference, budget, least):
    """By how much the worst set of units with printed rows of one distribution is over a budget, and the least set."""
    prior = np.array([n for _, n in sorted(reference.items())]) / sum(reference.values())
    same = defaultdict(set)
    for who, path in told.items():
        for end in range(1, len(path) + 1):
            same[tuple(path[:end])].add(who)
    assert min(map(len, same.values())) >= least
    return max(
        budget.lift_excess(np.array(lifts_of(units, secret, reference), float), prior).max() for units in same.values()
    )


def lifts_of(units, secret, reference):
    """P(s|units)/P(s), in fractions, shape (n_s, 1)."""
    counts = Counter(secret[who] for who in units)
    total = sum(reference.values())
    return [[Fraction(counts[s] * total, len(units) * n)] for s, n in sorted(reference.items())]


@pytest.mark.slow
@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("seed", range(3))
def test_whoever_was_released_the_same_is_within_the_budget_by_counting(name, seed, tmp_path, monkeypatch):
    tables = months(seed, n_s=2 + seed % 2, most_rows=1 + seed % 2)
    ledger = ledger_in(tmp_path, BUDGETS[name])
    _, states, secret = released(ledger, tables, monkeypatch)
    reference = Counter(tables[0].groupby("who")["ill"].first())
    prior = np.array([n for _, n in sorted(reference.items())]) / sum(reference.values())
    same = defaultdict(set)
    for who in secret:
        path = [state[who] for state in states]
        for end in range(1, len(path) + 1):
            same[tuple(group for group, _ in itertools.groupby(path[:end]))].add(who)
    assert len(same) > 4
    lifts = {path: lifts_of(units, secret, reference) for path, units in same.items() if len(path) > 1}
    assert min(len(same[path]) for path in lifts) >= 5
    excess = {path: BUDGETS[name].lift_excess(np.array(found, float), prior).max() for path, found in lifts.items()}
    assert max(excess.values()) <= 1e-9
    report = ledger.report()
    assert report.ok
    every = [lift for found in lifts.values() for (lift,) in found]
    assert report.largest_log_lift == pytest.approx(math.log(max(every)), abs=1e-12)
    least = math.log(min(every)) if min(every) else -math.inf
    assert report.least_log_lift == pytest.approx(least, abs=1e-12)
    assert report.n_groups == len(lifts) + 1


def test_what_is_printed_month_after_month_tells_no_more_by_enumeration(tmp_path, monkeypatch):
    """Every sequence of printed values that could be, its probability for each unit in fractions."""
    tables = months(7, n_units=150, n_values=3, changing=0.4, there=1.0)
    ledger = ledger_in(tmp_path)
    made, states, secret = released(ledger, tables, monkeypatch)
    prints = []
    for month, (table, out) in enumerate(zip(tables, made, strict=True)):
        moved = {who: (states[month][who], states[month + 1][who]) for who in secret}
        mixed = defaultdict(Counter)
        for who, town in zip(table["who"], table["town"], strict=True):
            mixed[moved[who]][town] += 1
        assert all(mixed[moved[who]][town] for who, town in zip(table["who"], out["town"], strict=True))
        prints.append({who: mixed[moved[who]] for who in secret})
    told = Counter()
    for who, s in secret.items():
        for towns in itertools.product(*(month[who] for month in prints)):
            told[towns, s] += math.prod(
                Fraction(month[who][town], month[who].total()) for town, month in zip(towns, prints, strict=True)
            )
    reference = Counter(secret.values())
    lifts = [
        told[towns, s] / (told[towns, 0] + told[towns, 1]) * Fraction(len(secret), reference[s])
        for towns in {towns for towns, _ in told}
        for s in reference
    ]
    assert len(lifts) >= 40
    for month, entry in zip(prints, ledger.report().releases, strict=True):
        rows = Counter()
        for who, s in secret.items():
            for town in month[who]:
                rows[town, s] += Fraction(month[who][town], month[who].total())
        own = [rows[t, s] / (rows[t, 0] + rows[t, 1]) * Fraction(len(secret), reference[s]) for t, s in rows]
        assert entry.least_log_lift == pytest.approx(math.log(min(own)), abs=1e-12)
        assert entry.largest_log_lift == pytest.approx(math.log(max(own)), abs=1e-12)
    assert math.log(min(lifts)) >= -0.7 - 1e-9
    assert math.log(max(lifts)) <= 0.4 + 1e-9
    raw = Counter(zip(*(table.sort_values("who")["town"] for table in tables), secret_of_each(tables), strict=True))
    assert any(raw[(*key[:-1], 0)] == 0 for key in raw), "the tables themselves rule a secret out"


def lives(seed, *, n_units=200, n_months=12):
    """A year of tables of people with heavy-tailed numbers of rows, who are absent at times; some come later, or once.

    Values go with the secret strongly and seldom change.
    """
    rng = np.random.default_rng(seed)
    secret = np.r_[0, 1, rng.random(n_units - 2) < 0.4].astype(int)
    distribution = rng.dirichlet(np.full(4, 0.7), 2) * 0.9 + 0.025
    rows = np.minimum(rng.pareto(1.1, n_units) + 1, 60).astype(int)
    since = np.where(rng.random(n_units) < 0.2, rng.integers(1, n_months, n_units), 0)
    since[:2] = 0
    value = np.array([rng.choice(4, p=distribution[s]) for s in secret])
    tables = []
    for month in range(n_months):
        moved = rng.random(n_units) < 0.1
        value = np.where(moved, [rng.choice(4, p=distribution[s]) for s in secret], value)
        there = (since <= month) & ((rng.random(n_units) < 0.85) | (np.arange(n_units) < 2))
        who = np.repeat(np.flatnonzero(there), rows[there])
        own = np.where(rng.random(len(who)) < 0.2, rng.integers(0, 4, len(who)), value[who])
        tables.append(pd.DataFrame({"who": who, "ill": secret[who], "town": [f"t{v}" for v in own]}))
    return tables


def check_lives(seed, folder, monkeypatch):
    """Every sequence that is printed is as likely for enough people, within the budget by counting."""
    tables, budget = lives(seed), list(BUDGETS.values())[seed % len(BUDGETS)]
    ledger = ledger_in(folder, budget, f"u{seed}", min_units=8)
    made, told, old = sequences(ledger, tables, monkeypatch)
    secret = dict(pd.concat(tables)[["who", "ill"]].itertuples(index=False))
    reference = Counter(tables[0].groupby("who")["ill"].first())
    assert worst_sequence(told, secret, reference, budget, 8) <= 1e-9
    # What is printed again was printed before, of people who were told the same.
    first = {y for _, distribution in itertools.chain(*told.values()) if _ == 0 for y, _ in distribution}
    for who, repeated in old.items():
        for _, known, again in repeated:
            distribution = dict(told[who][known - 1][1]) if known else dict.fromkeys(first)
            assert again <= set(distribution)
    n_rows, entries = sum(map(len, tables)), ledger.report().releases
    assert [entry.n_rows for entry in entries] == [len(out) for out in made]
    assert sum(entry.n_rows + entry.n_withheld for entry in entries) == n_rows
    assert sum(entry.n_again for entry in entries) > 0
    assert all(entry.n_withheld for entry in entries), "somebody has more rows than enough others"


@pytest.mark.slow(sampled=False)
@pytest.mark.parametrize("start", range(0, 24, 6))
def test_a_year_of_printed_rows_is_within_the_budget(start, tmp_path, monkeypatch):
    for seed in range(start, start + 6):
        check_lives(seed, tmp_path, monkeypatch)


def test_a_newcomer_is_printed_nothing_of_its_own(tmp_path):
    tables = months(11, n_units=200, n_months=8, there=1.0)
    ledger = ledger_in(tmp_path, sz.LiftBudget(lower=math.inf, upper=9.0))  # which one person alone is within
    ledger.release(tables[0], sanitizer_of(tables[0]))
    alone = pd.DataFrame({"who": [999], "ill": [1], "town": ["only hers"]})
    for table in tables[1:]:
        both = pd.concat([table, alone])
        out = ledger.release(both, sanitizer_of(both, sz.LiftBudget(lower=math.inf, upper=100.0), min_count=0))
        assert "only hers" not in set(out["town"])
        assert out.index.tolist() == both.index.tolist()
    assert ledger.report().releases[-1].n_again >= 1
    with pytest.raises(LedgerError, match="no row can be released: each released value needs 5 or more units"):
        ledger.release(alone, sanitizer_of(tables[0], handle_unknown="high_risk"))


def secret_of_each(tables):
    return tables[0].sort_values("who")["ill"]


def test_figures_of_the_report_are_those_of_counting(tmp_path, monkeypatch):
    tables = months(3, there=1.0)
    ledger = ledger_in(tmp_path)
    _, states, secret = released(ledger, tables, monkeypatch)
    report, last = ledger.report(), states[-1]
    assert ledger.groups(list(secret)).tolist() == list(last.values())
    n = len(secret)
    cells = Counter((last[who], s) for who, s in secret.items())
    groups, secrets = Counter(last.values()), Counter(secret.values())
    information = sum(k / n * math.log(k * n / (groups[g] * secrets[s])) for (g, s), k in cells.items())
    assert report.information == pytest.approx(information, abs=1e-12)
    assert report.room == pytest.approx(sum(math.log(max(groups[g] / 5, 1)) for g in last.values()) / n)
    paid = math.log(n / 5) - report.room
    assert report.more_releases == pytest.approx(3 * report.room / paid)
    assert (report.n_units, len(ledger), len(report.releases)) == (n, 3, 3)
    assert 0.2 < report.releases[0].kept["town"] <= 1
    assert json.loads(report.to_json())["n_groups"] == report.n_groups
    assert "holds for these units: 3 releases of 400 units (column 'who')" in report.to_text()
    assert str(report) == report.to_text()


def test_a_value_that_stays_adds_nothing_however_noisy_the_channel(tmp_path):
    table = months(4, n_months=1, there=1.0)[0]
    noisy = sz.OptimalRandomResponse(sz.LiftBudget.symmetric(0.1), sensitive="ill", public="town", random_state=1).fit(
        table
    )
    ledger = ledger_in(tmp_path)
    ledger.release(table, noisy)
    before = UnitBook.read(ledger.path)
    for _ in range(4):
        ledger.release(table.sample(frac=1, random_state=2), noisy)
    assert np.array_equal(UnitBook.read(ledger.path).group, before.group)
    assert len(before.sizes) > 1


def test_new_units_are_held_against_the_first_ones(tmp_path):
    table = months(5, n_months=1, there=1.0)[0]
    ledger = ledger_in(tmp_path)
    assert ledger.groups([1, 2, 1]).tolist() == [0, 0, 0]  # nobody is known yet
    ledger.release(table, sanitizer_of(table))
    # All of them have the same secret: nothing that they are released may tell it.
    new = table[table["ill"] == 1].assign(who=lambda rows: rows["who"] + 1000)
    ledger.release(new, sanitizer_of(table))
    assert set(ledger.groups(new["who"])) == {0}
    assert set(ledger.groups([-5, -6])) == {0}
    assert ledger.report().releases[1].n_new == len(new)


def test_a_unit_is_released_as_anybody_of_its_block_or_as_its_group_was():
    group, block, symbol = np.array([3, 1, 3, 3, 1, 2]), np.array([1, 0, 1, 1, 0, 0]), np.arange(10, 16)
    again = np.full((4, 3), -1)
    again[1] = [-1, 7, 8]
    sources = Sources.from_blocks(group, block, symbol, again)
    ends = [sources.draw(np.full(6, word << 32, np.uint64)) for word in (0, (1 << 32) // 3 + 1, (1 << 32) - 1)]
    assert [sorted({int(drawn[place]) for drawn in ends}) for place in range(6)] == [
        [10, 12, 13],
        [7, 8],
        [10, 12, 13],
        [10, 12, 13],
        [7, 8],
        [-1],
    ]
    rows = sources.rows(np.array([0, 1, 0, 1, 0, 1]), (2, 16))
    assert rows[0, [10, 12, 13, 7, 8]].tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0.5, 0.5])
    assert rows.sum() == pytest.approx(5)  # one is withheld


def test_one_key_draws_other_rows_in_every_release(tmp_path):
    """Of 400 units in one group, all of which are as likely; equal draws of most would take a chance below 1e-100."""
    table = months(4, n_months=1, there=1.0)[0]
    # A bound that no block meets, so that every row is anybody's.
    ledger = ledger_in(tmp_path, sz.LiftBudget(lower=1e-9, upper=1e-9))
    key = sz.NoiseKey(bytes(32))
    sanitizer = sz.SubsetMerging(sz.LiftBudget.symmetric(100.0), sensitive="ill", public="town", random_state=key).fit(
        table
    )
    first, second = (ledger.release(table, sanitizer)["town"] for _ in range(2))
    assert (first != second).mean() > 0.3
    assert set(ledger.groups(table["who"])) == {1}


def test_words_of_a_pair_are_its_own():
    key = NoiseKey.from_seed(3)
    units, values = text_digests(key, ["a", "b", "c"]), text_digests(key, ["x", "y"])
    pairs = PairWords(key, units[[0, 1, 2, 0]], values, np.array([0, 0, 1, 1]))
    turned = PairWords(key, units[[2, 0]], values[::-1], np.array([0, 1]))
    assert pairs.words(2, 0, 4)[[2, 0]].tolist() == turned.words(2, 0, 2).tolist()
    assert pairs.words(2, 1, 2).tolist() == pairs.words(2, 0, 4)[1:3].tolist()
    drawn = [tuple(pairs.words_at(lane, np.arange(4)).tolist()) for lane in range(3)]
    assert len({word for words in drawn for word in words}) == 12
    assert (pairs.words(1, 0, 4, np.uint16) == pairs.words(1, 0, 4) >> 16).all()
    other = PairWords(NoiseKey.from_seed(4), pairs.units, pairs.values, pairs.value)
    assert not set(other.words(0, 0, 4)) & set(pairs.words(0, 0, 4))


def test_kept_draws_have_the_distribution_of_the_channel(tmp_path):
    """Of 4,000 units with one value; a binomial share is beyond 7 standard deviations once in 1e-11."""
    table = pd.DataFrame({"who": range(4000), "ill": [0, 1] * 2000, "town": ["a", "b"] * 2000})
    noisy = sz.RandomizedResponse(1.0, sensitive="ill", public="town", random_state=1).fit(table)
    ledger = ledger_in(tmp_path, sz.LiftBudget(lower=9.0, upper=9.0))
    out = ledger.release(table, noisy)
    stays = noisy.channel_.matrix[0, 0]
    same = int((out["town"] == table["town"]).sum())
    assert abs(same - 4000 * stays) < 7 * math.sqrt(4000 * stays * (1 - stays))


def test_what_an_output_was_printed_from():
    merging = sz.Channel.merge([0, 0, 1, 1, 2])
    printing = merging.reversed(np.array([0.1, 0.2, 0.3, 0.2, 0.2]))
    assert ReducedChannel.source_symbols(merging.then(printing)).tolist() == [0, 0, 1, 1, 2]
    assert ReducedChannel.source_symbols(merging).tolist() == [0, 1, 2]
    flip = sz.Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])
    assert ReducedChannel.source_symbols(flip).tolist() == [0, 1]


# ------------------------------------------------------------------------------------------------- files


@pytest.fixture
def place(tmp_path):
    for month, table in enumerate(months(6)):
        table.to_parquet(tmp_path / f"{month}.parquet")
        table.to_csv(tmp_path / f"{month}.csv", index=False)
    ledger_in(tmp_path)
    return tmp_path


def test_files_release_what_frames_do(place):
    ledger = UnitLedger(place / "u")
    shutil.copy(place / "u", place / "v")
    for month in range(3):
        table = pd.read_parquet(place / f"{month}.parquet")
        frame = UnitLedger(place / "v").release(table, sanitizer_of(table))
        source = place / f"{month}.{'csv' if month == 1 else 'parquet'}"
        report = release_units(source, place / f"out{month}.csv", sanitizer_of(table), ledger, rows="keep")
        assert pc.read_csv(place / f"out{month}.csv").to_pandas()["town"].tolist() == frame["town"].tolist()
    assert report == UnitLedger(place / "v").report()


def test_a_file_holds_released_rows_alone_in_another_order(place):
    raw = pd.read_parquet(place / "0.parquet")
    report = release_units(place / "0.parquet", place / "out.parquet", sanitizer_of(raw, LIFT), UnitLedger(place / "u"))
    found = pq.ParquetFile(place / "out.parquet")
    assert found.schema_arrow.names == ["town"]
    assert json.loads(found.schema_arrow.metadata[b"sanitize"])["holds_for"] == "the units of its ledger"
    assert found.metadata.num_rows == len(raw) == report.releases[0].n_rows
    assert (place / "u").stat().st_mode & 0o777 == 0o600


def test_a_plan_writes_and_records_nothing(place):
    before = (place / "u").read_bytes()
    report = plan_units(
        place / "0.parquet", sanitizer_of(pd.read_parquet(place / "0.parquet")), UnitLedger(place / "u")
    )
    assert len(report.releases) == 1
    assert (place / "u").read_bytes() == before


def test_a_release_that_fails_is_not_recorded(place, monkeypatch):
    raw, ledger = pd.read_parquet(place / "0.parquet"), UnitLedger(place / "u")
    before = (place / "u").read_bytes()

    def fail(*_, **__):
        raise OSError("disk")

    monkeypatch.setattr("sanitize.release.release.FittedRelease.decode", fail)
    with pytest.raises(OSError, match="disk"):
        release_units(place / "0.parquet", place / "out.parquet", sanitizer_of(raw), ledger)
    with pytest.raises(OSError, match="disk"):
        ledger.release(raw, sanitizer_of(raw))
    assert (place / "u").read_bytes() == before
    assert not (place / "out.parquet").exists()


def test_a_target_that_exists_is_not_replaced(place):
    (place / "out.csv").write_text("mine")
    with pytest.raises(TargetExists):
        release_units(place / "0.csv", place / "out.csv", sanitizer_of(months(6)[0]), UnitLedger(place / "u"))
    assert len(UnitLedger(place / "u")) == 0


# ------------------------------------------------------------------------------------------------ errors


def test_a_unit_ledger_refuses_what_it_cannot_hold(tmp_path):
    table = months(8, n_months=1)[0]
    ledger, sanitizer = ledger_in(tmp_path), sanitizer_of(table)
    mixed = pd.concat([table, table.assign(ill=1 - table["ill"]).head(3)])
    with pytest.raises(LedgerError, match=r"a unit has several sensitive values, .* \(3 times\)"):
        ledger.release(mixed, sanitizer)
    with pytest.raises(ColumnError, match="column 'who' has missing values"):
        ledger.release(table.assign(who=table["who"].where(table.index > 0)), sanitizer)
    with pytest.raises(ColumnError, match="no column 'who'"):
        ledger.release(table.drop(columns="who"), sanitizer)
    with pytest.raises(ColumnError, match="no rows"):
        ledger.release(table.head(0), sanitizer)
    with pytest.raises(InvalidParameter, match="not fitted"):
        ledger.release(table, sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="ill", public="town"))
    few = table.assign(who=table["who"] % 7, ill=0, more=table["ill"])
    own = sz.SubsetMerging(sz.LiftBudget.symmetric(9.0), sensitive="more", public=["who", "town"]).fit(few)
    with pytest.raises(ColumnError, match="must be neither sensitive nor public"):
        ledger.release(few, own)
    blind = sz.RandomizedResponse(1.0, public="town").fit(table)
    with pytest.raises(LedgerError, match="needs sensitive columns"):
        ledger.release(table, blind)
    noisy = sz.LatentClassRelease(
        sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["town"], confidence=0.9, secret_dp=SecretDP(1.0, 1e-6)
    )
    with pytest.raises(InvalidParameter, match="counts sensitive values without noise"):
        ledger.release(table, noisy)
    assert len(ledger) == 0
    ledger.release(table, sanitizer)
    with pytest.raises(LedgerError, match=r"in earlier ones \(1 times\)"):
        ledger.release(table.assign(ill=table["ill"].where(table.index > 0, 1 - table["ill"])), sanitizer)
    with pytest.raises(LedgerError, match="2 units have a sensitive value that no unit of the first"):
        ledger.release(table.assign(who=table["who"] + 999, ill=table["ill"].where(table.index > 1, 5)), sanitizer)
    other = sz.SubsetMerging(sz.LiftBudget.symmetric(9.0), sensitive="town", public="ill").fit(table)
    with pytest.raises(LedgerError, match="other sensitive columns"):
        ledger.release(table, other)
    with pytest.raises(InvalidParameter, match="release_units"):
        sz.release_file("a.parquet", "b.parquet", sanitizer, ledger=ledger)
    assert len(ledger) == 1


@pytest.mark.parametrize("count", [10**400, 10**300, 1 << 63], ids=["400 digits", "a double", "64 bits"])
def test_a_sealed_count_beyond_64_bits_is_refused(count, tmp_path):
    table = months(9, n_months=1)[0]
    ledger = ledger_in(tmp_path)
    ledger.release(table, sanitizer_of(table))
    state = json.loads(ledger.path.read_text())
    for place, name in ((state, "least"), *((state["releases"][0], name) for name in ("n_rows", "n_units", "n_new"))):
        before, place[name] = place[name], count
        ledger.path.write_text(json.dumps(state | {"sha256": compute_seal(state)}))
        with pytest.raises(LedgerError, match=r"damaged|is not a unit ledger"):
            UnitLedger(ledger.path)
        place[name] = before


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_sealed_arrays_of_another_shape_are_refused(shape, tmp_path):
    table = months(9, n_months=1)[0]
    ledger = ledger_in(tmp_path)
    ledger.release(table, sanitizer_of(table))
    state, names = (
        json.loads(ledger.path.read_text()),
        ("secrets", "units", "secret", "group", "sizes", "chosen", "said"),
    )
    for name in (*names, "values", *(["shares"] if shape != (1,) else [])):
        other = state | {name: to_builtin(np.zeros(shape, np.int64))}
        ledger.path.write_text(json.dumps(other | {"sha256": compute_seal(other)}))
        with pytest.raises(LedgerError, match="it is inconsistent"):
            UnitLedger(ledger.path)


def test_a_book_does_not_print_its_key_or_its_units(tmp_path):
    table = months(9, n_months=1)[0]
    ledger = ledger_in(tmp_path)
    ledger.release(table, sanitizer_of(table))
    book = UnitBook.read(ledger.path)
    assert repr(book) == f"UnitBook({ledger.budget!r}, 'who', {table['who'].nunique()} units, 1 releases)"


def test_a_file_that_is_no_unit_ledger_is_refused(tmp_path):
    table = months(9, n_months=1)[0]
    ledger = ledger_in(tmp_path)
    ledger.release(table, sanitizer_of(table))
    text = (tmp_path / "u").read_text()
    state = json.loads(text)
    for name in state:
        (tmp_path / "w").write_text(json.dumps({**state, name: 77}))
        with pytest.raises(LedgerError, match="unit ledger"):
            UnitLedger(tmp_path / "w")
    (tmp_path / "w").write_text(text.replace("[", "[ ", 1)[:-5])
    with pytest.raises(LedgerError, match="is not a unit ledger"):
        UnitLedger(tmp_path / "w")
    with pytest.raises(LedgerError, match="has the budget"):
        UnitLedger(tmp_path / "u", 3.0)
    with pytest.raises(LedgerError, match="has the unit 'who', not 'name'"):
        UnitLedger(tmp_path / "u", unit="name")
    with pytest.raises(LedgerError, match="there is no unit ledger 'x'"):
        UnitLedger(tmp_path / "x", 1.0)
    with pytest.raises(LedgerError, match="of at most 200 characters"):
        UnitLedger(tmp_path / "x", 1.0, unit="w" * 201)
    with pytest.raises(InvalidBudget, match="a unit ledger needs a budget of type"):
        UnitLedger(tmp_path / "x", sz.core.budgets.CapacityBudget(1.0), unit="who")
    sz.Ledger(tmp_path / "ledger", 1.0)
    with pytest.raises(LedgerError, match="is not a unit ledger"):
        UnitLedger(tmp_path / "ledger")
    assert not (tmp_path / "x").exists()


def test_secrets_of_several_columns_are_not_mixed_up(tmp_path):
    """Texts that would be equal if they were put one after another, and a missing value beside what stands for one."""
    secrets = [("a", "b\x1fc"), ("a\x1fb", "c"), ("\0", "d"), (None, "d"), ("None", "d"), ("null", "d")]
    rows = [(who, *secrets[who % 6], "x") for who in range(60)]
    table = pd.DataFrame(rows, columns=["who", "one", "two", "town"])
    sanitizer = sz.SubsetMerging(
        sz.LiftBudget.symmetric(100.0), sensitive=["one", "two"], public="town", random_state=1
    ).fit(table)
    ledger = ledger_in(tmp_path)
    ledger.release(table, sanitizer)
    assert UnitBook.read(ledger.path).sizes[0].tolist() == [10] * 6


def test_units_and_secrets_are_the_same_whatever_type_a_file_gives_them(tmp_path):
    table = months(2, n_months=1)[0]
    ledger = ledger_in(tmp_path)
    ledger.release(table, sanitizer_of(table))
    texts = table.astype({"who": float, "ill": str})
    ledger.release(texts, sanitizer_of(texts))
    assert ledger.report().releases[1].n_new == 0
