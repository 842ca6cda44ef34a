"""The private model: what a row can change of what is looked at, what noisy maxima promise, and what rows are like."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sanitize as sz
from sanitize.release.recipes.private_model import PrivateModel, _level_counts, _nearest_pairs

if TYPE_CHECKING:
    from sanitize.release.recipes.private_model import Look

SIZES, ORDERED = [3, 5, 40, 2], [False, True, True, False]


def codes(n: int, seed: int = 0) -> list[np.ndarray]:
    """Four columns, the second and third of which follow the first, and the last one the third."""
    rng = np.random.default_rng(seed)
    first = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    third = np.clip(13 * first + rng.integers(0, 16, n), 0, 39)
    return [first, (first + rng.integers(0, 3, n)) % 5, third, (third > rng.integers(0, 40, n)).astype(np.intp)]


class Exact:
    """A look without noise, which keeps what it is asked for."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def __call__(self, counts: np.ndarray, share: Fraction) -> np.ndarray:
        self.seen.append(counts)
        return counts

    def choose(self, scores: np.ndarray, share: Fraction) -> int:
        self.seen.append(scores)
        return int(scores.argmax())

    def deviation(self, share: Fraction) -> float:
        return 5.0


class Noisy(Exact):
    """A look with much noise."""

    def __call__(self, counts: np.ndarray, share: Fraction) -> np.ndarray:
        rng = np.random.default_rng(len(self.seen))
        return super().__call__(counts, share) + rng.integers(-10_000, 10_000, counts.shape)


def learned(rows: list[np.ndarray], look: Look | None = None, known: Any = None, n_alone: int = 0) -> PrivateModel:
    return PrivateModel.learn(rows, SIZES, ORDERED, Fraction(1), look or Exact(), known or {}, n_alone)


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
    look = Exact()
    model = learned(codes(40_000), look, known={0: np.array([0, 40_000, 0])})
    assert [counts.size for counts in look.seen[:3]] == SIZES[1:]
    assert len(look.seen) == 3 + 3 + 3  # levels, choices of edges and their pairs
    assert (model.draw(1_000, sz.NoiseKey.from_seed(1))[0] == 1).mean() > 0.99


def test_columns_alone_have_their_levels_and_no_pairs():
    look = Exact()
    model = learned(codes(40_000), look, n_alone=1)
    assert (model.parents[:2], len(look.seen)) == ((-1, -1), 4 + 2 + 2)
    drawn = model.draw(40_000, sz.NoiseKey.from_seed(1))
    assert abs((drawn[0] == 0).mean() - 0.5) < 0.02
    assert abs(np.corrcoef(drawn[0], drawn[2])[0, 1]) < 0.03


def test_noise_that_drowns_all_still_makes_rows_of_declared_levels():
    drawn = learned(codes(100), Noisy()).draw(500, sz.NoiseKey.from_seed(1))
    assert all(((own >= 0) & (own < size)).all() for own, size in zip(drawn, SIZES, strict=True))


def test_small_counts_share_what_they_have_and_clear_ones_keep_theirs():
    counts = np.array([3, -2, 400, 5, 90])
    assert _level_counts(counts, False, 50.0, 496).tolist() == [2, 2, 400, 2, 90]
    assert _level_counts(np.array([30, 40, 400, 5, 0]), True, 50.0, 475).tolist() == [35, 35, 400, 3, 2]
    assert _level_counts(np.array([-9, -8]), False, 50.0, 10).sum() == 10


def test_fitted_pairs_have_the_margins_and_are_near_the_counts():
    rng = np.random.default_rng(4)
    true = rng.dirichlet(np.full(30, 0.3)).reshape(5, 6) * 5000
    parent, child = true.sum(axis=1), true.sum(axis=0)
    noise = rng.normal(0, 20, true.shape)
    fitted = _nearest_pairs(np.rint(true + noise).astype(np.int64), parent, child)
    np.testing.assert_allclose(fitted.sum(axis=0), child, rtol=1e-9)
    np.testing.assert_allclose(fitted.sum(axis=1), parent, rtol=0.01)
    assert fitted.min() >= 0
    assert abs(fitted - true).sum() < 0.85 * abs(noise).sum()


@pytest.mark.parametrize("seed", range(20))
def test_a_row_in_place_of_another_moves_what_is_looked_at_by_two(seed):
    """A count less and a count more of each histogram, and by two at most each score; what was seen before is equal."""
    rng = np.random.default_rng(seed)
    one = codes(300, seed)
    other = [own.copy() for own in one]
    for own, size in zip(other, SIZES, strict=True):
        own[7] = rng.integers(size)
    kept: list[Any] = []

    class Again(Exact):
        def __call__(self, counts: np.ndarray, share: Fraction) -> np.ndarray:
            if len(self.seen) == len(kept):
                kept.append(counts + rng.integers(-9, 10, counts.shape))
            super().__call__(counts, share)
            return kept[len(self.seen) - 1]

        def choose(self, scores: np.ndarray, share: Fraction) -> int:
            if len(self.seen) == len(kept):
                kept.append(int(rng.integers(len(scores))))
            super().choose(scores, share)
            return kept[len(self.seen) - 1]

    looks = Again(), Again()
    for rows, look in zip((one, other), looks, strict=True):
        learned(rows, look)
    moved = [abs(a - b) for a, b in zip(looks[0].seen, looks[1].seen, strict=True)]
    assert len(moved) == 4 + 3 + 3
    choices = {4, 5, 6}
    assert max(one.sum() for at, one in enumerate(moved) if at not in choices) <= 2
    assert max(moved[at].max() for at in choices) <= 2


def test_draws_are_those_of_their_key_and_start_alike():
    model, key = learned(codes(500)), sz.NoiseKey.from_seed(5)
    assert all(np.array_equal(a, b[:50]) for a, b in zip(model.draw(50, key), model.draw(80, key), strict=True))
