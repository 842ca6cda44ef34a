"""One test of random order: its bounds hold exactly, it raises no false alarm, and counts what a slow twin counts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import hypergeom

from sanitize.core.confidence import clopper_pearson
from sanitize.release import random_order, row_order
from sanitize.release.random_order import findings, least_telling, log_cells, log_overlap
from sanitize.release.row_order import OrderAudit, SymbolOrder


def subsets(n: int, m: int) -> np.ndarray:
    """All sets of m of n rows, as rows of 0 and 1."""
    chosen = np.array(list(itertools.combinations(range(n), m)))
    sets = np.zeros((len(chosen), n), int)
    sets[np.arange(len(chosen))[:, None], chosen] = 1
    return sets


@pytest.mark.parametrize(("n", "a", "b"), [(60, 10, 20), (60, 30, 30), (60, 5, 55), (2000, 900, 3), (2000, 1, 1)])
def test_sets_have_no_more_in_common_than_the_bound_says(n, a, b):
    k = np.arange(max(0, a + b - n), min(a, b) + 1)
    tails = np.minimum(hypergeom.cdf(k, n, a, b), hypergeom.sf(k - 1, n, a, b))
    logs = log_overlap(k, a, b, n)
    assert (np.log(np.maximum(tails, 1e-300)) <= logs + 1e-9).all()
    table = np.array([[k[-1], a - k[-1]], [b - k[-1], n - a - b + k[-1]]])
    assert log_cells(table)[0, 0] == pytest.approx(logs[-1])
    assert logs.min() < -10 or min(a, b) < 4


def test_pairs_of_two_symbols_are_no_more_than_the_bound_says():
    """All orders of aaabb in ten rows, and whatever the rows of b: a stands 1, 2, 3 rows after b."""
    size, sets = 10, subsets(10, 2)
    for k in (1, 2, 3):
        for b in sets[::7]:
            others = np.flatnonzero(b == 0)
            a = np.zeros((math.comb(8, 3), size), int)
            a[:, others] = subsets(8, 3)
            found = (a * np.roll(b, k)).sum(axis=1)
            alike = (b * np.roll(b, k)).sum()
            for figure in np.unique(found):
                tail = min((found <= figure).mean(), (found >= figure).mean())
                assert math.log(tail) <= log_overlap(figure, 2 - alike, 3, 8) + 1e-9


HONEST = [
    (60, [0.5, 0.5]),
    (200, [0.5, 0.3, 0.2]),
    (1000, [0.5, 0.5]),
    (1500, [0.9, 0.07, 0.02, 0.01]),
    (5000, [0.5, 0.5]),
    (5000, [0.05] * 20),
    (2, [0.5, 0.5]),
    (10, [0.6, 0.3, 0.1]),
    (9000, [0.999, 0.001]),
    (9000, [1.0]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "distribution"), HONEST)
def test_random_orders_pass(n, distribution):
    """2,000 tables in all, at a rate of .05; of 200 more than 25 would have a chance below 1e-4."""
    alarms = 0
    for seed in range(200):
        order = SymbolOrder(n)
        symbols = np.random.default_rng([n, len(distribution), seed]).choice(len(distribution), n, p=distribution)
        order.add(0, symbols, np.arange(len(distribution)))
        found = order.findings(math.log(0.05))
        assert all(finding.log_chance > math.log(1e-6) for finding in found)
        alarms += bool(found)
    assert alarms <= 25


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_is_what_a_slow_twin_counts(seed, monkeypatch):
    """A walk over three symbols with a period and a drift: all chances, from loops."""
    monkeypatch.setattr(random_order, "SEGMENT_ROWS", 256)
    rng = np.random.default_rng(seed)
    rows = (np.cumsum(rng.choice(3, 600, p=[0.2, 0.7, 0.1])) % 3).astype(np.uint8)
    rows[(np.arange(600) % 8 < 4) & (rng.random(600) < 0.6)] = 0
    rows[:130][rng.random(130) < 0.7] = 2
    blocks = np.array([np.bincount(rows[start : start + 64], minlength=3) for start in range(0, 600, 64)])
    found: dict[str, list[float]] = {}
    for finding in findings(blocks, 64, rows, math.log(0.01)):
        found.setdefault(finding.where, []).append(finding.log_chance)
    slow: dict[str, list[float]] = {}

    def add(where: str, log_chance: float) -> None:
        if log_chance < math.log(0.01):
            slow.setdefault(where, []).append(log_chance)

    levels = {}
    for size in (8, 16, 32, 64, 128, 256, 512):
        parts = [rows[start : start + size].tolist() for start in range(0, 600, size)]
        levels[size] = [[part.count(s) for s in range(3)] for part in parts]
    n_cells = 3 * sum(map(len, levels.values()))
    for size, level in levels.items():
        logs = [
            float(log_overlap(x, sum(part), np.count_nonzero(rows == s), 600))
            for part in level
            for s, x in enumerate(part)
        ]
        add(f"in blocks of {size} rows", min(logs) + math.log(3 * n_cells))
    parts = [rows[turn::2].tolist() for turn in (0, 1)]
    logs = [
        float(log_overlap(part.count(s), 300, np.count_nonzero(rows == s), 600)) for part in parts for s in range(3)
    ]
    add("in every second row", min(logs) + math.log(3 * 6))
    for turn in (0, 1):
        mids = range(1 + turn, 599, 2)
        logs = []
        for a, b, c in itertools.product(range(3), repeat=3):
            both = [i for i in mids if (rows[i - 1], rows[i + 1]) == (a, b)]
            of_c = sum(rows[i] == c for i in mids)
            logs.append(float(log_overlap(sum(rows[i] == c for i in both), len(both), of_c, len(mids))))
        add("next to both neighbours", min(logs) + math.log(3 * 54))
    assert set(found) == set(slow)
    assert {where.split()[0] for where in slow} == {"in", "next"}
    for where, logs in slow.items():
        assert sorted(found[where]) == pytest.approx(sorted(logs), rel=1e-4)


def test_a_short_run_of_a_large_table_shows_in_small_blocks():
    """A hundred of 262,144 rows, of which blocks of 512 are counted."""
    rows = np.random.default_rng(0).integers(0, 2, 1 << 18)
    rows[77_777:77_877] = 1
    order = SymbolOrder(len(rows))
    order.add(0, rows, np.arange(2))
    assert order.size == 512
    assert {finding.where for finding in order.findings(math.log(1e-6))} == {"in blocks of 64 rows"}


@pytest.mark.parametrize("seed", range(5))
def test_what_a_place_tells_lies_between_the_distribution_of_all_rows_and_what_is_there(seed):
    """Also where the intervals of many shares leave more or less than a distribution."""
    rng = np.random.default_rng(seed)
    for n_symbols in (2, 3, 8, 30):
        prior = rng.dirichlet(np.ones(n_symbols))
        counts = rng.multinomial(60, rng.dirichlet(np.full(n_symbols, 0.3), 50))
        telling = rng.random(counts.shape) < 0.6
        distributions = least_telling(counts, telling, prior, 1e-3)
        low, high = clopper_pearson(counts, 60, 1e-3)
        assert_allclose(distributions.sum(axis=1), 1)
        assert (distributions >= 0).all()
        assert (distributions >= np.minimum(np.maximum(prior, low), counts / 60) - 1e-12)[telling].all()
        assert (distributions <= np.maximum(np.minimum(prior, high), counts / 60) + 1e-12)[telling].all()


def assemble(n: int, values: np.ndarray, cuts: list[int], *, backwards: bool = False) -> tuple:
    """Of one column of a table whose rows are audited part by part."""
    parts = []
    for start, end in itertools.pairwise([0, *cuts, n]):
        parts.append(OrderAudit.empty(["s"], n))
        parts[-1].count({"s": pa.array(values[start:end])}, start)
    joined = parts[0].empty_copy()
    for part in parts[::-1] if backwards else parts:
        joined = joined.merge(part)
    return tuple(found.tolist() for found in next(iter(joined.orders.values())).assemble())


@pytest.mark.slow
@pytest.mark.parametrize("n_symbols", [2, 5, 64, 65, 300])
@pytest.mark.parametrize("is_large", [False, True])
def test_parts_of_any_lengths_put_together_in_any_order_are_one_sequence(n_symbols, is_large, monkeypatch):
    """One row, none, and less than a block among them; of a large table two segments of every three are left out."""
    n = 3000
    if is_large:
        monkeypatch.setattr(row_order, "_LOOKED_AT", 1000)
        monkeypatch.setattr(row_order, "SEGMENT_ROWS", 128)
    monkeypatch.setattr(row_order, "_MOST_BLOCKS", 64)
    values = np.random.default_rng(n_symbols).integers(0, n_symbols, n)
    values[:500] %= 2
    whole = assemble(n, values, [])
    known, blocks, rows = whole
    for cuts in ([0, 1, 2, 5, 40, 41, 150, 151, 1000, 2999], list(range(7, n, 7)), list(range(50, n, 50))):
        assert assemble(n, values, cuts) == assemble(n, values, cuts, backwards=True) == whole
    keys = row_order.row_keys({"s": pa.array(range(n_symbols))}).tolist()
    keys = [key if n_symbols <= 64 else 2**32 + key % 64 for key in keys]
    assert known == sorted(set(keys))
    looked_at = np.arange(n) % 384 < 128 if is_large else np.ones(n, bool)
    assert rows == [known.index(keys[value]) for value in values[looked_at]]
    slow = np.zeros((47, len(known)), int)
    for i, value in enumerate(values.tolist()):
        slow[i // 64, known.index(keys[value])] += 1
    assert blocks == slow.tolist()


def test_symbols_of_several_columns_and_missing_ones_are_told_apart_as_values_are():
    columns = {
        "s": pa.array([None, 0.0, -0.0, float("nan"), 1.5, 1.5]),
        "t": pa.array(["a", "a", "a", "a", "a", None]).dictionary_encode(),
    }
    audit = OrderAudit.empty(["s", "t"], 6)
    audit.count(columns, 0)
    known, _, rows = next(iter(audit.orders.values())).assemble()
    assert len(known) == 4
    assert rows[0] == rows[3] != rows[1] == rows[2]
    assert len(set(rows.tolist())) == 4


def test_rows_of_combinations_and_single_rows_are_audited_alike():
    """Loads whose ends no block knows, of columns with nulls; combinations of all, of each column, and none."""
    from sanitize.tables import keys as combined

    n = 20_000
    rng = np.random.default_rng(4)
    columns = {
        "s": pa.array(rng.choice(["p", "q", "r"], n)),
        "x": pa.array(rng.integers(0, 5, n), mask=rng.random(n) < 0.2),
        "w": pa.array(np.sort(rng.integers(0, 9, n))),
    }
    made = []
    for few, each in ((1 << 12, 8), (1 << 12, 200), (n + 1, 8)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(combined, "FEW_ROWS", few)
            patched.setattr(combined, "_ROWS_EACH", each)
            audit = OrderAudit.empty(["s"], n, ["x", "w"])
            for part in (slice(0, 7_777), slice(7_777, n)):
                audit.count({name: column[part] for name, column in columns.items()}, part.start)
            made.append([[found.tolist() for found in order.assemble()] for order in audit.orders.values()])
    assert made[0] == made[1] == made[2]
    assert_array_equal(np.sum(made[0][1][1], axis=0).sum(), n)
