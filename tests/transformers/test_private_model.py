"""The private model: what a row can change of what is looked at, what noisy maxima promise, and what rows are like."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sanitize as sz
from sanitize.release.recipes.private_model import PrivateModel

if TYPE_CHECKING:
    from sanitize.release.recipes.private_model import Look

SIZES, ORDERED = [3, 5, 40, 2], [False, True, True, False]


def codes(n: int, seed: int = 0) -> list[np.ndarray]:
    """Four columns, the second and third of which follow the first, and the last one the third."""
    rng = np.random.default_rng(seed)
    first = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    third = np.clip(13 * first + rng.integers(0, 16, n), 0, 39)
    return [first, (first + rng.integers(0, 3, n)) % 5, third, (third > rng.integers(0, 40, n)).astype(np.intp)]


def exact(counts: np.ndarray, rate: Fraction) -> np.ndarray:
    return counts


def learned(rows: list[np.ndarray], look: Look = exact, known: Any = None) -> PrivateModel:
    return PrivateModel.learn(rows, SIZES, ORDERED, Fraction(4), look, known or {})


def test_without_noise_pairs_of_the_tree_are_those_of_the_table():
    rows = codes(40_000)
    model = learned(rows)
    assert {frozenset(pair) for pair in zip(model.order[1:], model.parents[1:], strict=True)} == {
        frozenset(pair) for pair in ((0, 1), (0, 2), (2, 3))
    }
    drawn = model.draw(40_000, sz.NoiseKey.from_seed(1))
    for one, another in ((0, 1), (0, 2), (2, 3)):
        shape = SIZES[one], SIZES[another]
        pairs = [np.bincount(c[one] * shape[1] + c[another], minlength=shape[0] * shape[1]) for c in (rows, drawn)]
        assert abs(pairs[0] - pairs[1]).sum() / 80_000 < 0.06


def test_a_column_whose_counts_are_known_is_not_counted_again():
    """Its known counts alone say how often its levels are drawn, though no row has them so often."""
    looked: list[int] = []

    def look(counts: np.ndarray, rate: Fraction) -> np.ndarray:
        looked.append(counts.size)
        return counts

    rows = codes(40_000)
    model = learned(rows, look, known={0: np.array([0, 40_000, 0])})
    assert looked[:3] == SIZES[1:]
    assert len(looked) == 3 + 3 + 3  # levels, scores of edges and their pairs
    assert (model.draw(1_000, sz.NoiseKey.from_seed(1))[0] == 1).mean() > 0.99


def test_noise_that_drowns_all_still_makes_rows_of_declared_levels():
    rng = np.random.default_rng(2)
    model = learned(codes(100), lambda counts, _: counts + rng.integers(-10_000, 10_000, counts.shape))
    drawn = model.draw(500, sz.NoiseKey.from_seed(1))
    assert all(((own >= 0) & (own < size)).all() for own, size in zip(drawn, SIZES, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_a_row_in_place_of_another_moves_what_is_looked_at_by_two(seed):
    """A count less and a count more of each histogram, and by two at most each score; what was seen before is equal."""
    rng = np.random.default_rng(seed)
    one = codes(300, seed)
    other = [own.copy() for own in one]
    for own, size in zip(other, SIZES, strict=True):
        own[7] = rng.integers(size)
    looks: list[list[np.ndarray]] = [[], []]
    kept: list[np.ndarray] = []
    for rows, seen in zip((one, other), looks, strict=True):

        def look(counts: np.ndarray, rate: Fraction, seen: Any = seen) -> np.ndarray:
            seen.append(counts)
            if len(seen) > len(kept):
                kept.append(counts + rng.integers(-9, 10, counts.shape))
            return kept[len(seen) - 1]

        learned(rows, look)
    assert len(looks[0]) == len(looks[1]) == 4 + 3 + 3
    moved = [abs(a - b) for a, b in zip(*looks, strict=True)]
    assert max(one.sum() for one in moved[:4] + moved[7:]) <= 2
    assert max(one.max() for one in moved[4:7]) <= 2


@pytest.mark.parametrize("seed", range(10))
def test_the_largest_noisy_score_is_private(seed):
    """The chances of each place to be the first of the largest ones, summed over a range that noise does not leave."""
    rng, rate = np.random.default_rng(seed), 0.4
    scores = rng.integers(0, 6, 4)
    noise = np.arange(-150, 151)
    distribution = np.exp(-rate * abs(noise)) * (1 - exp(-rate)) / (1 + exp(-rate))

    def chances(given: np.ndarray) -> list[float]:
        found = []
        for place, own in enumerate(given):
            won = distribution.copy()
            for other, score in enumerate(given):
                if other != place:
                    most = own + noise - score - (other < place)  # one before it wins a tie
                    won *= np.append(0, np.cumsum(distribution))[np.clip(most + 151, 0, 301)]
            found.append(float(won.sum()))
        return found

    first = chances(scores)
    assert sum(first) == pytest.approx(1)
    others = [chances(scores + rng.integers(-1, 2, 4)) for _ in range(20)]
    worst = max(max(a / b, b / a) for other in others for a, b in zip(first, other, strict=True))
    assert 1.5 < worst <= exp(2 * rate) * (1 + 1e-9)


def test_draws_are_those_of_their_key_and_start_alike():
    model, key = learned(codes(500)), sz.NoiseKey.from_seed(5)
    assert all(np.array_equal(a, b[:50]) for a, b in zip(model.draw(50, key), model.draw(80, key), strict=True))
