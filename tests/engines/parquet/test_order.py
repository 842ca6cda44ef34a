"""An order that tells S is refused at every scale, and an honest order is not."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.engines.parquet import plan_file
from sanitize.errors import RowOrderLeak
from sanitize.release import random_order, row_order
from sanitize.transformers import LatentClassRelease, SubsetMerging

N = 20_000
ROWS = np.arange(N)


def runs(length: int, shift: int = 0) -> np.ndarray:
    coins = np.random.default_rng(length).integers(0, 2, N // length + 2)
    return coins[(ROWS + shift) // length]


def walk() -> np.ndarray:
    """Each row is like the row before with a chance of 9 in 10."""
    turns = np.random.default_rng(1).random(N) < 0.1
    return np.cumsum(turns) % 2


def copies(share: float) -> np.ndarray:
    """Some rows copy the row before."""
    rng = np.random.default_rng(20)
    origin = np.maximum.accumulate(np.where(rng.random(N) < share, 0, ROWS))
    return rng.integers(0, 2, N)[origin]


def steps() -> np.ndarray:
    """Of three symbols the next one mostly follows; each is as often like the row before as by chance."""
    return np.cumsum(np.random.default_rng(31).choice(3, N, p=[0.33, 0.57, 0.1])) % 3


def follow() -> np.ndarray:
    """Of twenty symbols the next one follows in three rows of ten: no symbol shows by itself."""
    rng = np.random.default_rng(32)
    found, follows = rng.integers(0, 20, N), rng.random(N) < 0.3
    for i in range(1, N):
        if follows[i]:
            found[i] = (found[i - 1] + 1) % 20
    return found


def alternate() -> np.ndarray:
    """Every second row says whether its neighbours differ; no two rows tell of each other."""
    found = np.random.default_rng(28).integers(0, 2, N)
    found[1:-1:2] = found[:-2:2] ^ found[2::2]
    return found


def together() -> np.ndarray:
    """Thirty rows of a rare symbol stand side by side."""
    found = (np.random.default_rng(30).random(N) < 0.001).astype(int)
    found[N // 3 : N // 3 + 30] = 1
    return found


ORDERS = {
    "parity": ROWS % 2,
    "period 3": (ROWS % 3 == 0).astype(int),
    "period 11": (ROWS % 11 < 5).astype(int),
    "runs of 2": runs(2),
    "runs of 2, shifted": runs(2, 1),
    "runs of 3": runs(3),
    "runs of 10": runs(10),
    "walk": walk(),
    "within blocks of 1000": (ROWS % 1000 < 500).astype(int),
    "sorted": (ROWS < N // 2).astype(int),
    "sorted, a twentieth": (ROWS < N // 20).astype(int),
    "sorted halves, row by row": (ROWS < N // 2) ^ (ROWS % 2),
    "copies of the row before": copies(0.5),
    "steps": steps(),
    "of twenty the next one follows": follow(),
    "rare ones together": together(),
    "whether neighbours differ": alternate(),
    "drift": (np.random.default_rng(0).random(N) < np.linspace(0.1, 0.9, N)).astype(int),
}
# Dependence beyond chance that tells less than the budget.
WITHIN = {
    "drift": (np.random.default_rng(0).random(N) < np.linspace(0.4, 0.6, N)).astype(int),
    "copies of the row before": copies(0.1),
    "a weak turn": (np.random.default_rng(25).random(N) < 0.4 + 0.2 * (ROWS % 2)).astype(int),
}


def write(path, secret, x=None):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 4, len(secret)) if x is None else x
    pq.write_table(pa.table({"s": secret, "x": x}), path)
    return path


def plan(path, rows="keep", budget=None):
    budget = budget or sz.LiftBudget(lower=1.0, upper=0.5)
    return plan_file(path, SubsetMerging(budget, sensitive="s", public="x"), rows=rows)


@pytest.mark.slow
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


@pytest.mark.parametrize("name", WITHIN)
def test_an_order_that_tells_less_than_the_budget_is_mentioned_and_refused_within_a_tighter_one(name, tmp_path):
    path = write(tmp_path / "raw.parquet", WITHIN[name])
    report = plan(path)
    assert any("which depends on the sensitive columns" in note for note in report.facts.warnings)
    assert "position_information" in report.summary
    with pytest.raises(RowOrderLeak):
        plan(path, budget=sz.LiftBudget(lower=0.05, upper=0.05))


@pytest.mark.parametrize(
    "budget", [sz.L1LiftBudget(lower=0.5, upper=0.5), sz.Chi2LiftBudget(lower=0.5, upper=0.5), sz.LDPBudget(0.5)]
)
def test_any_budget_judges_the_order(budget, tmp_path):
    plan(write(tmp_path / "honest.parquet", np.random.default_rng(2).integers(0, 2, N)), budget=budget)
    with pytest.raises(RowOrderLeak) as caught:
        plan(write(tmp_path / "raw.parquet", ORDERS["runs of 10"]), budget=budget)
    assert caught.value.where == "next to both neighbours"


def test_a_block_is_judged_by_the_least_share_that_chance_leaves_it(tmp_path):
    """A season of 365 rows tells .8 where .5 is the rule; a block of 128 rows of it may hold .9."""
    n = 100_000
    season = 0.5 + 0.3 * np.cos(2 * np.pi * np.arange(n) / 365)
    secret = (np.random.default_rng(24).random(n) < season).astype(int)
    assert np.add.reduceat(secret, np.arange(0, n, 128)).max() / 128 > 0.5 * np.exp(0.5)
    report = plan(write(tmp_path / "raw.parquet", secret))
    assert any("which depends on the sensitive columns" in note for note in report.facts.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_tells_the_secret_of_a_large_table_is_refused(name, tmp_path, monkeypatch):
    """A quarter of the rows is looked at one by one, in segments of 1,024."""
    monkeypatch.setattr(row_order, "_LOOKED_AT", N // 4)
    monkeypatch.setattr(row_order, "SEGMENT_ROWS", 1024)
    monkeypatch.setattr(random_order, "SEGMENT_ROWS", 1024)
    with pytest.raises(RowOrderLeak):
        plan(write(tmp_path / "raw.parquet", ORDERS[name]))


def test_the_order_of_a_table_of_classes_is_looked_at(tmp_path):
    classes = LatentClassRelease(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="s", public=["x"], n_classes=2)
    with pytest.raises(RowOrderLeak):
        plan_file(write(tmp_path / "sorted.parquet", ORDERS["sorted"]), classes, rows="keep")
