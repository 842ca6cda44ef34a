"""An order that tells S is refused at every scale, and an honest order is not."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, chi2

import sanitize as sz
from sanitize._release import order_counts
from sanitize._release.order_evidence import log_evidence
from sanitize._release.order_scales import Scales, keys_of
from sanitize._release.permutation import log_chances, log_chi_square_tail, log_hypergeometric, log_independent
from sanitize._release.row_order import FALSE_ALARM
from sanitize.errors import RowOrderLeak
from sanitize.parquet import plan_parquet
from sanitize.transformers import SubsetMerging

N = 20_000
ROWS = np.arange(N)


def runs(length: int, shift: int = 0) -> np.ndarray:
    coins = np.random.default_rng(length).integers(0, 2, N // length + 2)
    return coins[(ROWS + shift) // length]


def walk() -> np.ndarray:
    """Each row is like the row before with a chance of 9 in 10."""
    turns = np.random.default_rng(1).random(N) < 0.1
    return np.cumsum(turns) % 2


def scattered() -> np.ndarray:
    """Copies of a secret 64 rows further on."""
    blocks = np.random.default_rng(2).integers(0, 2, (N // 128 + 1, 1, 64))
    return np.repeat(blocks, 2, axis=1).reshape(-1)[:N]


ORDERS = {
    "parity": ROWS % 2,
    "period 3": (ROWS % 3 == 0).astype(int),
    "period 11": (ROWS % 11 < 5).astype(int),
    "runs of 2": runs(2),
    "runs of 2, shifted": runs(2, 1),
    "runs of 3": runs(3),
    "runs of 10": runs(10),
    "walk": walk(),
    "64 rows later": scattered(),
    "within blocks of 1000": (ROWS % 1000 < 500).astype(int),
    "by position in a block of 1000": np.random.default_rng(9).integers(0, 2, 1000)[ROWS % 1000],
    "by position in a block of 1024, not always": np.where(
        np.random.default_rng(10).random(N) < 0.9,
        np.random.default_rng(11).integers(0, 2, 1024)[ROWS % 1024],
        np.random.default_rng(12).integers(0, 2, N),
    ),
    "sorted": (ROWS < N // 2).astype(int),
}


def write(path, secret, x=None):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 4, len(secret)) if x is None else x
    pq.write_table(pa.table({"s": secret, "x": x}), path)
    return path


def plan(path, rows="keep", budget=None):
    budget = budget or sz.LiftBudget(lower=1.0, upper=0.5)
    return plan_parquet(path, SubsetMerging(budget, sensitive="s", public="x"), rows=rows)


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_tells_the_secret_is_refused(name, tmp_path):
    path = write(tmp_path / "raw.parquet", ORDERS[name])
    with pytest.raises(RowOrderLeak):
        plan(path)
    plan(path, rows="shuffle")


def test_rows_sorted_by_a_released_column_are_refused_where_it_tells_the_secret(tmp_path):
    """Few rows of a telling value hide in a block, and sorted by it they stand together."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.choice(4, N, p=[0.03, 0.47, 0.3, 0.2]))
    secret = np.where(x == 0, rng.random(N) < 0.95, rng.random(N) < 0.4).astype(int)
    path = write(tmp_path / "raw.parquet", secret, x)
    with pytest.raises(RowOrderLeak):
        plan(path)


def test_a_released_column_in_order_that_tells_nothing_of_the_secret_is_mentioned(tmp_path):
    secret = np.random.default_rng(4).integers(0, 2, N)
    report = plan(write(tmp_path / "raw.parquet", secret, ROWS * 4 // N))
    assert any("'x'" in note for note in report.facts.warnings)


def test_a_released_column_by_position_in_a_block_is_refused_where_it_tells_the_secret(tmp_path):
    """No place has more than twenty rows, and all of them have one value."""
    rng = np.random.default_rng(13)
    x = rng.integers(0, 4, 1000)[ROWS % 1000]
    secret = np.where(x == 0, rng.random(N) < 0.95, rng.random(N) < 0.3).astype(int)
    with pytest.raises(RowOrderLeak):
        plan(write(tmp_path / "raw.parquet", secret, x))


@pytest.mark.parametrize("budget", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("p", [0.5, 0.1])
def test_the_mean_of_the_evidence_is_at_most_one_for_places_within_the_budget(p, budget):
    """Exactly, over all counts of two places of 7 and 4 rows."""
    prior, given, bound = np.array([1 - p, p]), np.eye(2), sz.LiftBudget(lower=budget, upper=budget)
    least = max(p * math.exp(-budget), 1 - (1 - p) * math.exp(budget))
    most = min(p * math.exp(budget), 1 - (1 - p) * math.exp(-budget))
    counts = np.array([[[7 - a, 4 - b], [a, b]] for a in range(8) for b in range(5)])
    evidence = np.array([log_evidence(bound, table, given, prior) for table in counts])
    for q in np.linspace(least, most, 5):
        chance = np.array([binom.pmf(table[1], [7, 4], q).prod() for table in counts])
        assert chance @ np.exp(evidence) <= 1 + 1e-9


@pytest.mark.parametrize("n_symbols", [2, 5])
def test_the_mean_of_the_evidence_is_at_most_one_where_places_tell_nothing(n_symbols):
    """2,000 tables of 40 places of 5 rows, drawn from a fixed seed; one in a million may say what is beyond chance."""
    rng = np.random.default_rng(n_symbols)
    prior = np.arange(1, n_symbols + 1) / np.arange(1, n_symbols + 1).sum()
    found = np.array(
        [
            log_evidence(sz.LiftBudget(lower=0.1, upper=0.1), rng.multinomial(5, prior, 40).T, np.eye(n_symbols), prior)
            for _ in range(2000)
        ]
    )
    assert np.exp(found).mean() < 2
    assert found.max() < -math.log(FALSE_ALARM)


@pytest.mark.parametrize("n", [2, 10, 200, 5000])
def test_random_orders_pass(n, tmp_path):
    """Two hundred tables; the rate of false alarms is 1e-6 for each."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        scales = Scales(("s",), n)
        for part in np.array_split(rng.choice(3, n, p=[0.6, 0.3, 0.1]), 3):
            scales.count({"s": pa.array(part)}, len(part))
        assert scales.log_chance()[0] > math.log(FALSE_ALARM)


def test_batches_make_no_difference_and_runs_of_rows_add_up():
    rng = np.random.default_rng(6)
    values = rng.integers(0, 3, 3000)
    made = []
    for n_parts in (1, 7, 500):
        scales = Scales(("s",), 3000)
        for part in np.array_split(values, n_parts):
            scales.count({"s": pa.array(part)}, len(part))
        made.append({name: table.tolist() for name, table, _ in scales.tables()})
    assert made[0] == made[1] == made[2]
    # Slow twin of one table: rows 3 apart whose first lies in an even stretch of 3.
    pairs = [(values[i], values[i + 3]) for i in range(2997) if i // 3 % 2 == 0]
    assert np.sort(np.array(made[0]["beside 3 0"]).reshape(-1)).tolist() == sorted(
        pairs.count((a, b)) for a in range(3) for b in range(3)
    )
    whole, first, second = Scales(("s",), 3000), Scales(("s",), 3000), Scales(("s",), 3000, 1500)
    whole.count({"s": pa.array(values)}, 3000)
    first.count({"s": pa.array(values[:1500])}, 1500)
    second.count({"s": pa.array(values[1500:])}, 1500)
    both = {name: table for name, table, _ in first.merged(second).tables()}
    for name, table, _ in whole.tables():
        assert 0 <= table.sum() - both[name].sum() <= 100
        if name.startswith(("period", "blocks")):
            assert np.array_equal(table, both[name])


def test_of_a_large_table_runs_are_looked_at_however_it_is_cut(monkeypatch):
    """Runs of 128 rows of every 512; each pair and each place in a period against a slow twin of theirs."""
    monkeypatch.setattr(order_counts, "_LOOKED_AT", 700)
    monkeypatch.setattr(order_counts, "_RUN_ROWS", 128)
    n = 3000
    values = np.random.default_rng(6).integers(0, 3, n)
    made = []
    for cuts in ([], [1], [128, 512], [100, 130, 515, 600, 601, 2999], list(range(7, n, 7)), list(range(50, n, 50))):
        parts = []
        for start, end in itertools.pairwise([0, *cuts, n]):
            parts.append(Scales(("s",), n, start))
            parts[-1].count({"s": pa.array(values[start:end])}, end - start)
        joined, alone = Scales(("s",), n), Scales(("s",), n)
        for part, (start, end) in zip(parts, itertools.pairwise([0, *cuts, n]), strict=True):
            joined = joined.merged(part)
            alone.count({"s": pa.array(values[start:end])}, end - start)
        made += [{name: table.tolist() for name, table, _ in scales.tables()} for scales in (joined, alone)]
    assert all(found == made[0] for found in made)
    known = Scales(("s",), n)
    known.count({"s": pa.array(values)}, n)
    order = np.argsort(keys_of([0, 1, 2]))
    looked_at = np.arange(n) % 512 < 128
    pairs = np.zeros((3, 3), int)
    for i in range(n - 5):
        if i // 512 == (i + 5) // 512 and looked_at[i] and looked_at[i + 5] and i // 5 % 2 == 0:
            pairs[order.tolist().index(values[i]), order.tolist().index(values[i + 5])] += 1
    assert made[0]["beside 5 0"] == pairs.tolist()
    places = np.zeros((12, 3), int)
    np.add.at(places, (np.arange(n)[looked_at] % 12, np.argsort(order)[values[looked_at]]), 1)
    assert made[0]["period 12"] == places.tolist()
    assert np.sum(made[0]["blocks"]) == n


@pytest.mark.parametrize("name", [name for name in ORDERS if not name.startswith("by position in a block")])
def test_an_order_that_tells_the_secret_of_a_large_table_is_refused(name, tmp_path, monkeypatch):
    """A quarter of the rows is looked at, five of each place in a block of 1,000: too few for what such places tell."""
    monkeypatch.setattr(order_counts, "_LOOKED_AT", N // 4)
    monkeypatch.setattr(order_counts, "_RUN_ROWS", 1250)
    with pytest.raises(RowOrderLeak):
        plan(write(tmp_path / "raw.parquet", ORDERS[name]))


def test_the_bound_on_a_table_holds():
    """Of 4,000 tables of independent sequences 1 in 20 may be called unlikely at 1 in 20; 260 are over 4 sigma."""
    rng = np.random.default_rng(7)
    tables = []
    for _ in range(4000):
        a, b = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
        table = np.zeros((2, 2), np.int64)
        np.add.at(table, (a, b), 1)
        tables.append(table)
    assert 0 < (log_chances(tables) < math.log(0.05)).sum() <= 260


def slow_log_chance(table) -> float:
    """Of one table: the bound on every cell of it, and SciPy's chi-square law of its G."""
    table = table[np.ix_(table.any(axis=1), table.any(axis=0))]
    if min(table.shape, default=0) < 2:
        return 0.0
    rows, columns, n = table.sum(axis=1), table.sum(axis=0), int(table.sum())
    cells = [
        float(log_hypergeometric(table[i, j], rows[i], columns[j], n))
        for i, j in itertools.product(*map(range, table.shape))
    ]
    found = min(cells) + math.log(table.size)
    if rows.min() * columns.min() / n >= 25:
        g = 2 * sum(
            x * math.log(x * n / (a * b))
            for line, a in zip(table.tolist(), rows.tolist(), strict=True)
            for x, b in zip(line, columns.tolist(), strict=True)
            if x
        )
        found = min(found, chi2.logsf(max(g, 0.0), (len(rows) - 1) * (len(columns) - 1)))
    return min(0.0, found + math.log(2))


def test_chances_of_tables_together_are_those_of_each_by_itself():
    """Sparse and full ones, without rows, with one symbol alone, and two that chance does not explain."""
    rng = np.random.default_rng(14)
    tables = [
        rng.poisson(mean, (n_rows, 6)) for mean in (0, 0.03, 0.3, 5, 60, 200) for n_rows in (1, 2, 40) for _ in range(5)
    ]
    tables[-1][1, 1] += 600
    tables[-20][3:, 2] //= 2
    tables += [np.eye(6, dtype=int) * 40, np.eye(6, dtype=int)[:1] * 9, np.tile([0, 40, 0, 0, 0, 0], (7, 1))]
    tables.append(np.tile([40, 40, 40, 40, 40, 40], (7, 1)))  # no cell is off
    slow = [slow_log_chance(table) for table in tables]
    assert_allclose(log_chances(tables), slow, rtol=1e-9, atol=1e-12)
    assert_allclose([float(log_chances([table])[0]) for table in tables], slow, rtol=1e-9, atol=1e-12)
    assert 10 < np.count_nonzero(np.array(slow) < 0) < len(slow) - 10
    assert min(slow) < -100


def test_a_symbol_that_is_alone_is_no_sign():
    for shape in ((2, 2), (64, 17)):
        table = np.zeros(shape, np.int64)
        table[:, 1] = 40
        assert log_independent(table) == math.log(table.size)


@pytest.mark.parametrize("degrees", [1, 2, 7, 63, 400])
def test_the_tail_of_chi_square_is_that_of_scipy(degrees):
    values = [*np.random.default_rng(degrees).chisquare(degrees, 50), 1e-9, 3 * degrees, 1e3, 1e6, 0.0]
    assert [log_chi_square_tail(v, degrees) for v in values] == pytest.approx(chi2.logsf(values, degrees), rel=1e-12)
    assert log_chi_square_tail(-1e-14, degrees) == 0  # a sum of rounded terms


def test_many_symbols_are_folded_into_the_same_classes_whenever_there_are_too_many():
    values = np.random.default_rng(8).integers(0, 300, 4000)
    values[:1000] %= 5
    made = []
    for n_parts in (1, 40):
        scales = Scales(("s",), 4000)
        for part in np.array_split(values, n_parts):
            scales.count({"s": pa.array(part)}, len(part))
        made.append({name: table.tolist() for name, table, _ in scales.tables()})
    assert made[0] == made[1]
    first, second = Scales(("s",), 4000), Scales(("s",), 4000, 1000)
    first.count({"s": pa.array(values[:1000])}, 1000)
    second.count({"s": pa.array(values[1000:])}, 3000)
    for both in (first.merged(second), second.merged(first)):
        found = {name: table.tolist() for name, table, _ in both.tables()}
        assert all(found[name] == made[0][name] for name in found if name.startswith("period"))
