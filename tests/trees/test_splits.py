"""Splits of many nodes, of many rows and of targets of many values, held against those of one node by definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import sanitize as sz
from sanitize.trees import grow
from sanitize.trees._splits import Split, Splitter


def splitter_of(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Splitter, np.ndarray]:
    """Splitter of d columns, of which the first k are to be kept, and the secrets."""
    sizes = rng.integers(1, 40, d).tolist()
    levels = np.stack([rng.integers(0, size, n) for size in sizes]).astype(np.uint16)
    levels[-1] = np.minimum(levels[0], sizes[-1] - 1)  # columns that tell of each other
    secrets = (rng.random(n) < np.where(levels[0] % 3 == 0, 0.5, 0.3)).astype(int)
    ways = np.stack([np.ones(d, bool), rng.random(d) < 0.5])
    return Splitter(levels, sizes, ways, rng.uniform(0, 2, k), secrets, 1.5), secrets


def within(secrets: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    p_s = np.bincount(secrets) / len(secrets)

    def allowed(part: np.ndarray) -> np.ndarray:
        return (np.abs(np.log(np.maximum(part / part.sum(axis=1, keepdims=True), 1e-300) / p_s)) < 0.4).all(axis=1)

    return allowed


def assert_same(found: list[Split | None], expected: list[Split | None]) -> None:
    for one, another in zip(found, expected, strict=True):
        assert (one is None) == (another is None)
        if one is not None and another is not None:
            assert one.gain == pytest.approx(another.gain, rel=1e-8)
            assert one.column == another.column
            np.testing.assert_array_equal(one.left, another.left)


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_nodes_that_are_looked_at_together_are_cut_as_each_one_alone(seed: int, looks: bool) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 9))
    splitter, secrets = splitter_of(rng, 9000, d, int(rng.integers(1, d + 1)))
    ends = np.sort(np.concatenate([[0, 9000], rng.choice(np.arange(1, 9000), int(rng.integers(1, 60)), replace=False)]))
    nodes = list(pairwise(ends.tolist()))
    allowed = within(secrets) if looks else None
    found = splitter.best(nodes, 15, allowed)
    assert any(split is not None for split in found)
    assert_same(found, [split for node in nodes for split in splitter.best([node], 15, allowed)])


def test_a_target_may_have_more_values_than_16_bits_number_with_the_steps_of_a_column() -> None:
    rng = np.random.default_rng(0)
    target = 2000 * rng.integers(0, 10, 120)
    levels = np.stack([(target > 9000) ^ (rng.random(120) < 0.2), rng.random(120) < 0.4]).astype(np.uint16)
    no_way = np.zeros(2, bool)
    splitter = Splitter(levels, [2, 2], np.stack([~no_way, no_way]), np.ones(1), np.zeros(120, int), target=target)
    [found] = splitter.best([(0, 120)], 10, None)
    assert found is not None

    def bits(values: np.ndarray) -> float:
        shares = np.unique(values, return_counts=True)[1] / len(values)
        return -len(values) * sum(share * math.log(share) for share in shares)

    gains = [bits(target) - bits(target[side == 0]) - bits(target[side == 1]) for side in levels]
    assert found.column == int(np.argmax(gains))
    assert found.gain == pytest.approx(max(gains), rel=1e-8)


def test_rows_of_a_node_are_put_next_to_each_other() -> None:
    splitter, _ = splitter_of(np.random.default_rng(1), 1000, 3, 3)
    before = splitter.keys.copy()
    [split] = splitter.best([(100, 700)], 20, None)
    assert split is not None
    middle = splitter.cut(100, 700, split)
    np.testing.assert_array_equal(before[:, splitter.rows], splitter.keys)
    assert sorted(splitter.rows[100:700].tolist()) == list(range(100, 700))
    levels = splitter.keys[split.column].astype(int) - splitter.starts[split.column]
    assert split.left[levels[100:middle]].all()
    assert not split.left[levels[middle:700]].any()


def test_blocks_that_stay_whole_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = {"a": rng.integers(0, 50, 4000), "b": rng.normal(size=4000)}
    secrets = rng.integers(0, 2, 4000)
    looks: list[bool] = []
    best = Splitter._best
    monkeypatch.setattr(
        Splitter, "_best", lambda self, *given: looks.append(given[-1] is not None) or best(self, *given)
    )
    for limits in ({"max_block_cells": 1}, {"max_cells": 8, "max_blocks": 8}):
        tree = grow(table, secrets, sz.LiftBudget.symmetric(1.0), min_rows=50, **limits).tree
        assert tree.n_cells == tree.n_blocks > 4
    assert all(looks)
