"""Owner's sentence on who is in the data: nobody without the key of the classes recognizes a member more often."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import sanitize as sz
from sanitize.release.classes import LatentClassModel
from sanitize.release.classes._integers import to_fixed_point

N = 1000
STEP = 1 / to_fixed_point(np.ones(1))[0]  # of the logarithms that a model keeps as whole numbers


def survey(n: int) -> np.ndarray:
    """Answers of people of four kinds to three questions, as codes of shape (3, n)."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, n)
    answers = [(kind + i) % (4 + i) for i in range(3)]
    return np.stack(
        [np.where(rng.random(n) < 0.5, answer, rng.integers(0, 4 + i, n)) for i, answer in enumerate(answers)]
    )


def fit(codes: np.ndarray, key: int) -> LatentClassModel:
    return LatentClassModel.fit(
        {name: column.astype(str) for name, column in zip("abc", codes, strict=True)}, sz.NoiseKey.from_seed(key)
    )


def row_distribution(model: LatentClassModel) -> np.ndarray:
    """P(row) of each combination of groups, which are values here, as the model generates it."""
    names = [writer.column.name for writer in model.writers]
    sizes = {writer.column.name: writer.column.n_groups for writer in model.writers}
    grid = dict(zip("abc", np.indices([sizes[name] for name in "abc"]).reshape(3, -1), strict=True))
    logs = np.tile(model.log_sizes * STEP / 2, (len(grid["a"]), 1))
    for writer in model.writers:
        own = np.repeat(writer.base[None] * STEP, len(logs), axis=0)
        for place, slope in zip(writer.given, writer.slopes, strict=True):
            own = own + slope[grid[names[place]]][:, None] * STEP
        own -= np.logaddexp.reduce(own, axis=2, keepdims=True)
        logs += np.take_along_axis(own, grid[writer.column.name][:, None, None], 2)[..., 0]
    chances = np.exp(logs).sum(axis=1)
    return chances / chances.sum()


def success(members: np.ndarray, others: np.ndarray, shadows: tuple[np.ndarray, np.ndarray]) -> float:
    """AUC of the likelihood ratio of `N` rows by models of the attacker's own, averaged over the keys of releases."""
    score = np.log(shadows[0].mean(axis=0)) - np.log(shadows[1].mean(axis=0))
    sides = [(N * p @ score, N * (p @ score**2 - (p @ score) ** 2)) for p in (members, others)]
    distance = np.subtract.outer(sides[0][0], sides[1][0]) / np.sqrt(np.add.outer(sides[0][1], sides[1][1]))
    return float(np.mean([NormalDist().cdf(value) for value in distance.ravel()]))


def recognized(n_targets: int, n_keys: int) -> tuple[float, float, float]:
    """What the model says, what an attacker without the key finds, and what the key of the classes would give her.

    The attacker knows all rows but one, and both rows that may be the last one.
    """
    people = survey(N + n_targets)
    models = [fit(people[:, :N], key) for key in range(2 * n_keys)]
    members, without, with_key = np.stack([row_distribution(model) for model in models]), [], []
    for target in range(n_targets):
        codes = people[:, :N].copy()
        codes[:, target] = people[:, N + target]
        others = np.stack([row_distribution(fit(codes, key)) for key in range(2 * n_keys)])
        released, shadows = slice(n_keys), slice(n_keys, None)
        without.append(success(members[released], others[released], (members[shadows], others[shadows])))
        with_key.append(success(members[:1], others[:1], (members[:1], others[:1])))
    return models[0].membership, float(np.mean(without)), float(np.mean(with_key))


def test_nobody_without_the_key_recognizes_a_member_more_often_than_said():
    said, without_key, with_key = recognized(1, 2)
    assert without_key <= said < with_key


@pytest.mark.slow(sampled=False)
def test_nobody_without_the_key_recognizes_one_of_eight_members_more_often_than_said():
    """Seeds are fixed; with the key, which is the owner's, the same ratio finds most of them."""
    said, without_key, with_key = recognized(8, 4)
    assert without_key <= said - 0.05
    assert with_key > 0.8


def test_a_third_row_of_a_pair_is_hardly_seen():
    """Whoever counts rows of a pair that two people have, or three, is right with a chance of at most .6."""
    codes, expected = survey(N), []
    rows = np.flatnonzero((codes[0] == 0) & (codes[1] == 3))
    for n_rows in (2, 3):
        codes[1, rows] = np.where(np.arange(len(rows)) < n_rows, 3, 0)
        of_pair = [row_distribution(fit(codes, key)).reshape(5, 6, 7)[0, 3].sum() for key in range(4)]
        expected.append(N * np.array(of_pair))
    two, three = expected
    distance = np.subtract.outer(three, two) / np.sqrt(np.add.outer(three, two))
    assert len(rows) > 20
    assert 0.45 < np.mean([NormalDist().cdf(value) for value in distance.ravel()]) < 0.6
