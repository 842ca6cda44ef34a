"""Trees over whole tables: splits by definition, cells by a loop over rows, and what is read back."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sanitize as sz
from sanitize._files.declared import Misfit, plain, read
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.printing import PrintTable
from sanitize.trees import Levels, Tree, grow, read_hierarchy
from sanitize.trees._splits import Splitter

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)


def mixed(n: int, seed: int = 0) -> tuple[dict[str, object], np.ndarray]:
    """A table of every kind of column, with missing values, and secrets that depend on it."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.5, 0.3, 0.15, 0.05])
    height = rng.normal(170, 10, n)
    table = {
        "age": age,
        "height": pd.Series(height).mask(rng.random(n) < 0.1),
        "town": pd.Series(town).mask(rng.random(n) < 0.1),
        "born": pd.Timestamp("2020-01-01") - pd.to_timedelta(age * 365, unit="D"),
        "member": rng.random(n) < 0.4,
    }
    secrets = (rng.random(n) < np.where(age > 50, 0.5, 0.2)).astype(int)
    return table, secrets


def entropy(values: list[int]) -> float:
    shares = [values.count(value) / len(values) for value in set(values)]
    return -sum(share * math.log(share) for share in shares)


def test_the_best_split_is_the_one_by_definition() -> None:
    rng = np.random.default_rng(3)
    for trial in range(20):
        sizes = [4, 3, 5]
        rows = np.stack([rng.integers(0, size, 60) for size in sizes], axis=1).astype(np.uint16)
        rows[:, 1] = np.where(rng.random(60) < 0.7, rows[:, 0] % 3, rows[:, 1])
        secrets = (rng.random(60) < np.where(rows[:, 2] >= 3, 0.7, 0.3)).astype(int)
        weights = np.array([1.0, 0.5, 0.7])
        ordered = np.array([True, False, True])
        may_cut, price = np.stack([np.ones(3, bool), ~ordered]), 0.3 * (trial % 3)
        splitter = Splitter(rows.T, sizes, may_cut, weights, secrets, price)
        least = 10
        p_s = np.bincount(secrets) / 60

        def allowed(part: np.ndarray, p_s: np.ndarray = p_s) -> np.ndarray:
            lifts = (part / part.sum(axis=1, keepdims=True) / p_s).T
            return ~(BUDGET.excess_of(lifts, p_s) > 0)

        gains = []
        for j, size in enumerate(sizes):
            candidates = [rows[:, j] <= cut for cut in range(size)]
            candidates += [rows[:, j] == value for value in range(size) if not ordered[j]]
            for left in candidates:
                if not least <= left.sum() <= 60 - least:
                    continue
                shares = [np.bincount(secrets[side], minlength=2) / side.sum() / p_s for side in (left, ~left)]
                if any((x > math.exp(0.5) + 1e-12).any() or (x < math.exp(-1) - 1e-12).any() for x in shares):
                    continue
                kept = sum(
                    w * (60 * entropy(x) - left.sum() * entropy(a) - (~left).sum() * entropy(b))
                    for w, x, a, b in (
                        (weights[k], rows[:, k].tolist(), rows[left, k].tolist(), rows[~left, k].tolist())
                        for k in range(3)
                    )
                )
                told = 60 * entropy(secrets.tolist())
                told -= sum(side.sum() * entropy(secrets[side].tolist()) for side in (left, ~left))
                gains += [kept - price * told] if kept > 1e-9 else []
        [found] = splitter.best([(0, 60)], least, allowed)
        assert (found is None) == (not gains)
        assert found is None or found.gain == pytest.approx(max(gains), rel=1e-8), trial


def test_of_splits_that_keep_alike_the_one_that_tells_less_of_the_secret_is_taken() -> None:
    """Two columns of one entropy, independent of each other; the first, which ties go to, is almost the secret."""
    rng = np.random.default_rng(0)
    told, apart = np.tile([0, 0, 1, 1], 500), np.tile([0, 1, 0, 1], 500)
    secrets = np.where(rng.random(2000) < 0.1, 1 - told, told)
    table = {"told": told, "apart": apart}
    loose = sz.LiftBudget.symmetric(5.0)
    grown = grow(table, secrets, loose, min_rows=900)
    assert grown.tree.columns[grown.tree.column[0]].name == "apart"
    # Within a loose budget nothing is given up for it: all four cells are blocks.
    assert grow(table, secrets, loose, min_rows=10).tree.n_blocks == 4
    # And splits inside blocks do not look at S.
    blind = grow(table, secrets, None, min_cell_rows=900)
    assert blind.tree.columns[blind.tree.column[0]].name == "told"


@pytest.mark.parametrize(("ill", "first"), [(70, "telling"), (73, "mute")])
def test_a_cut_pays_twice_for_what_it_tells_of_the_secret(ill: int, first: str) -> None:
    """A cut that keeps all of one of two columns gains 1 - 4 t where it tells a share t of S; halves of four gain 0.5.

    So the first is taken up to t = 0.125: 70 of 100 ill on one side tell 0.119, 73 tell 0.159.
    """
    rows = [(side, part, sick) for side in (0, 1) for part in range(4) for sick in range(100)]
    table = {"telling": [side for side, _, _ in rows], "mute": [part for _, part, _ in rows]}
    secrets = np.array([int((sick < ill) == side) for side, _, sick in rows])
    tree = grow(table, secrets, sz.LiftBudget(lower=4.0, upper=4.0), min_rows=10).tree
    assert tree.columns[int(tree.column[0])].name == first


def test_a_limit_of_blocks_keeps_the_cuts_that_gain_most() -> None:
    table, secrets = mixed(3000)
    whole = grow(table, secrets, BUDGET, min_rows=50).tree
    few = grow(table, secrets, BUDGET, min_rows=50, max_blocks=5, max_block_cells=1).tree
    assert few.n_blocks == 5 < whole.n_blocks
    # Every block of few is a node of the whole tree above its blocks: the same cuts, fewer of them.
    assert set(few.n_rows) <= set(whole.n_rows)
    with pytest.raises(InvalidParameter, match="max_blocks must be a whole number from 1 to 16384"):
        grow(table, secrets, BUDGET, max_blocks=16_385)


@pytest.mark.parametrize("risky", [0, 1])
def test_a_split_with_one_risky_side_is_not_allowed(risky: int) -> None:
    side = np.array([1 - risky] * 90 + [risky] * 10)
    secrets = np.array([1] * 27 + [0] * 63 + [1] * 10)
    for budget, n_blocks in (
        (BUDGET, 1),
        (sz.LiftBudget(lower=5.0, upper=1.0), 1),
        (sz.LiftBudget(lower=np.inf, upper=1.0), 2),
    ):
        grown = grow({"side": side}, secrets, budget, min_rows=5, min_cell_rows=5)
        assert (grown.tree.n_blocks, grown.tree.n_cells) == (n_blocks, 2)


def test_blocks_are_within_the_budget_and_hold_their_rows() -> None:
    table, secrets = mixed(4000)
    grown = grow(table, secrets, BUDGET, min_rows=100, min_cell_rows=15)
    blocks = grown.tree.blocks[grown.cells]
    assert grown.tree.n_blocks > 3
    prior = np.bincount(secrets) / len(secrets)
    for block in range(grown.tree.n_blocks):
        inside = secrets[blocks == block]
        lifts = np.bincount(inside, minlength=2) / len(inside) / prior
        assert len(inside) >= 100
        assert lifts.max() <= math.exp(0.5) + 1e-12
        assert lifts.min() >= math.exp(-1.0) - 1e-12
    assert np.bincount(grown.cells).min() >= 15
    assert (np.bincount(grown.cells) == grown.tree.n_rows[grown.tree.cell_nodes]).all()


def test_cells_without_a_budget_do_not_look_at_the_secrets() -> None:
    table, secrets = mixed(2000)
    one = grow(table, secrets, None, min_cell_rows=40)
    other = grow(table, 1 - secrets[::-1], None, min_cell_rows=40)
    assert one.tree.n_blocks == 1
    assert (one.cells == other.cells).all()


def test_a_tree_does_not_depend_on_the_order_of_the_rows() -> None:
    table, secrets = mixed(3000)
    order = np.random.default_rng(5).permutation(3000)
    shuffled = {name: pd.Series(column).iloc[order] for name, column in table.items()}
    one = grow(table, secrets, BUDGET, min_rows=100)
    other = grow(shuffled, secrets[order], BUDGET, min_rows=100)
    assert (other.cells == one.cells[order]).all()
    assert plain(other.tree) == plain(one.tree)


def walked(tree: Tree, row: dict[str, object]) -> int:
    """Cell of one row, by comparing its values with the first value of each level."""
    node = 0
    while tree.column[node] >= 0:
        levels = tree.columns[tree.column[node]]
        value, values = row[levels.name], levels.values.to_pylist()
        if value is None:
            level = len(values)
        elif levels.is_ordered:
            level = max(sum(value >= start for start in values) - 1, 0)
        else:
            level = values.index(value) if value in values else len(values) + 1
        node = int(tree.sides[node][0 if tree.goes_left[node][level] else 1])
    return int(np.flatnonzero(tree.cell_nodes == node)[0])


def test_rows_go_where_a_walk_down_the_tree_takes_them() -> None:
    table, secrets = mixed(3000)
    grown = grow(table, secrets, BUDGET, min_rows=100, min_cell_rows=15)
    assert (grown.tree.assign(table) == grown.cells).all()
    fresh, _ = mixed(400, seed=9)
    fresh["town"] = pd.Series(fresh["town"]).replace("B", "never seen")
    fresh["age"] = np.asarray(fresh["age"]) * 2 - 60
    arrow = pa.table({name: pa.array(column, from_pandas=True) for name, column in fresh.items()})
    arrow = arrow.set_column(3, "born", arrow["born"].cast(pa.timestamp("us")))
    expected = [walked(grown.tree, row) for row in arrow.to_pylist()]
    assert grown.tree.assign(fresh).tolist() == expected
    assert grown.tree.assign(arrow).tolist() == expected


def test_a_tree_comes_back_from_its_plain_values() -> None:
    table, secrets = mixed(2000)
    tree = grow(table, secrets, BUDGET, min_rows=100).tree
    back = read(Tree, json.loads(json.dumps(plain(tree))))
    assert (back.assign(table) == tree.assign(table)).all()
    assert plain(back) == plain(tree)
    assert back.labels == tree.labels


def _with(array: object, at: object, value: object) -> object:
    """An array with one entry changed."""
    changed = np.array(array)
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    "damage",
    [
        lambda tree: {"columns": ()},
        lambda tree: {"columns": (tree.columns[0],) * len(tree.columns)},
        lambda tree: {"sides": _with(tree.sides, 0, [0, 1])},
        lambda tree: {"sides": _with(tree.sides, -1, [1, 2])},
        lambda tree: {"sides": tree.sides.T},
        lambda tree: {"column": _with(tree.column, 0, 99)},
        lambda tree: {"column": _with(tree.column, 0, -1)},
        lambda tree: {"column": _with(tree.column, -1, -2)},
        lambda tree: {"column": tree.column[:-1]},
        lambda tree: {"goes_left": (tree.goes_left[0][:-1], *tree.goes_left[1:])},
        lambda tree: {"goes_left": tree.goes_left[:-1]},
        lambda tree: {"block": _with(tree.block, -1, 10**6)},
        lambda tree: {"block": _with(tree.block, -1, -1)},
        lambda tree: {"block": tree.block[:0]},
        lambda tree: {"n_rows": tree.n_rows[:-1]},
    ],
)
def test_a_damaged_tree_is_refused(damage) -> None:  # type: ignore[no-untyped-def]
    table, secrets = mixed(1000)
    tree = grow(table, secrets, BUDGET, min_rows=100).tree
    state = plain(tree) | {name: plain(value) for name, value in damage(tree).items()}
    with pytest.raises(Misfit, match="inconsistent"):
        read(Tree, state)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"values": pa.array([3, 2, 1])}, "must be distinct, and ascending"),
        ({"values": pa.array([1, None])}, "inconsistent"),
        ({"values": pa.array([[1]])}, "must be distinct, and ascending"),
        ({"is_ordered": False}, "must be distinct, and ascending"),
        ({"values": pa.array(["a", "b"])}, "must be distinct, and ascending"),
        ({"pooled": pa.array([1]), "pool": np.array([0])}, "inconsistent"),
        ({"pool": np.array([0])}, "inconsistent"),
    ],
)
def test_damaged_levels_are_refused(damage: dict[str, object], words: str) -> None:
    state = plain(Levels.learn(np.arange(1000) % 50, "age"))
    assert read(Levels, state).n_levels > 2
    with pytest.raises(Misfit, match=words):
        read(Levels, state | {name: plain(value) for name, value in damage.items()})


@pytest.mark.parametrize("pool", [[5], [-1], [0, 0], [[0]]])
def test_pools_are_of_the_levels(pool: object) -> None:
    words = pa.array(["a", "b"])
    state = plain(Levels("town", is_ordered=False, values=words, pooled=pa.array(["c"]), pool=np.array([1])))
    assert read(Levels, state).encode(["c", "a"]).tolist() == [1, 0]
    for other in ({"pool": plain(np.array(pool))}, {"pooled": plain(pa.array([1]))}):
        with pytest.raises(Misfit, match="inconsistent"):
            read(Levels, state | other)


def test_labels_hold_exactly_the_rows_of_their_cell() -> None:
    table, secrets = mixed(2000)
    table = {"age": table["age"]}
    grown = grow(table, secrets, None, min_cell_rows=100)
    for cell, label in enumerate(grown.tree.labels):
        ages = np.asarray(table["age"])[grown.cells == cell]
        text = label["age"]
        if text.startswith("["):
            low, high = (int(end) for end in text.strip("[) orming").split(", "))
            assert low <= ages.min() <= ages.max() < high
        elif text.startswith("less than"):
            assert ages.max() < int(text.split()[2])
        else:
            assert ages.min() >= int(text.split()[0])


def test_a_column_with_a_hierarchy_is_cut_at_its_nodes(tmp_path: object) -> None:
    rng = np.random.default_rng(2)
    towns = np.array(["a1", "a2", "b1", "b2", "c1"])
    place = rng.integers(0, 5, 2000)
    table = {"town": towns[place], "x": (place // 2) * 10 + rng.integers(0, 3, 2000)}
    hierarchy = {town: [town[0], "*"] for town in towns}
    grown = grow(table, rng.integers(0, 2, 2000), None, hierarchies={"town": hierarchy}, min_cell_rows=50)
    node_sets = [set(towns[[t.startswith(n) for t in towns]]) for n in "abc"] + [{t} for t in towns]
    known = grown.tree.columns[0].values.to_pylist()
    for j, left in zip(grown.tree.column, grown.tree.goes_left, strict=True):
        if j == 0:
            inside = {value for value, goes in zip(known, left, strict=False) if goes}
            assert inside in node_sets
    path = tmp_path / "town.csv"  # type: ignore[operator]
    path.write_text("\n".join(";".join([t, *above]) for t, above in hierarchy.items()))
    again = grow(table, rng.integers(0, 2, 2000), None, hierarchies={"town": path}, min_cell_rows=50)
    assert (again.cells == grown.cells).all()


@pytest.mark.parametrize(
    ("hierarchy", "words"),
    [
        ({"a": ["x", "r"], "b": ["x", "q"]}, "two parents"),
        ({"a": ["x"], "b": ["x", "q"]}, "entries"),
        ({"a": "x"}, "list of names"),
        ({}, "no values"),
        (3, "mapping"),
        ("/nowhere/at/all.csv", "cannot be read"),
    ],
)
def test_what_is_no_hierarchy_is_refused(hierarchy: object, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        read_hierarchy(hierarchy, "town")  # type: ignore[arg-type]


def test_a_hierarchy_that_misses_a_value_is_refused_without_naming_it() -> None:
    table, secrets = mixed(200)
    with pytest.raises(InvalidParameter, match="1 value") as caught:
        grow(table, secrets, None, hierarchies={"town": {t: ["x"] for t in "ABC"}})
    assert "'D'" not in str(caught.value)
    with pytest.raises(ColumnError, match="thresholds"):
        grow(table, secrets, None, hierarchies={"age": {"1": ["x"]}})


def test_a_target_is_kept_better_than_without() -> None:
    table, secrets = mixed(4000)
    noise = np.random.default_rng(1)
    table = {**table, **{f"z{i}": noise.integers(0, 9, 4000) for i in range(3)}}
    found = []
    for target in (None, "age"):
        grown = grow(table, secrets, None, max_cells=6, max_block_cells=None, target=target)
        found.append(sz.mutual_information(joint_of(grown.cells, np.asarray(table["age"]))))
    assert found[1] > found[0]


def joint_of(cells: np.ndarray, values: np.ndarray) -> sz.JointDistribution:
    values = np.unique(values, return_inverse=True)[1]
    counts = np.zeros((values.max() + 1, cells.max() + 1))
    np.add.at(counts, (values, cells), 1)
    return sz.JointDistribution.from_matrix(counts / counts.sum())


def test_printing_tables_hold_the_rows_of_each_cell() -> None:
    table, secrets = mixed(500)
    grown = grow(table, secrets, None, min_cell_rows=50)
    names, n_cells = ["age", "town"], grown.tree.n_cells
    whole = PrintTable.of_rows(table, names, grown.cells, n_cells)
    frame = pd.DataFrame({name: table[name] for name in names}).assign(cell=grown.cells)
    counted = frame.groupby(["cell", *names], dropna=False).size()
    assert (whole.counts.sum(), len(whole.counts)) == (500, len(counted))
    levels = [[*whole.values[name].to_pylist(), None] for name in names]
    for cell in range(n_cells):
        for k in range(whole.starts[cell], whole.starts[cell + 1]):
            age, town = (values[code] for values, code in zip(levels, whole.codes[k], strict=True))
            same = (frame.cell == cell) & (frame.age == age)
            same &= frame.town.isna() if town is None else frame.town == town
            assert whole.counts[k] == same.sum()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"min_rows": 0}, InvalidParameter, "min_rows"),
        ({"max_cells": True}, InvalidParameter, "max_cells"),
        ({"weights": {"age": -1}}, InvalidParameter, "'age'"),
        ({"weights": {"size": 1}}, InvalidParameter, "'size'"),
        ({"target": "agee"}, ColumnError, "did you mean 'age'"),
    ],
)
def test_bad_parameters_are_named(change: dict[str, object], error: type[Exception], words: str) -> None:
    table, secrets = mixed(100)
    with pytest.raises(error, match=words):
        grow(table, secrets, BUDGET, **change)  # type: ignore[arg-type]


def test_columns_of_one_value_or_none_are_no_trouble() -> None:
    table = {"one": ["a"] * 50, "none": pa.nulls(50), "empty": pa.nulls(50, pa.float64()), "two": [1, 2] * 25}
    grown = grow(table, np.arange(50) % 3, None, min_cell_rows=10)
    assert grown.tree.n_cells == 2
    assert grown.tree.assign({**table, "two": pa.nulls(50)}).max() <= 1
    with pytest.raises(ColumnError, match="rows"):
        grow({"one": ["a"]}, np.arange(50) % 3, None)
