"""What a file tells of a row's secret, where all but the row's own symbol is private, in fractions on small alphabets.

Row j is (s, x) ~ P; m is published, of distribution mu_r if row j is r; its symbol is y ~ K_m(.|x), and K_m is within
its budget under P for every m. Then P(m, y|s) is at most up · ratio · P(m, y), ratio the most of mu_r / mu_r': e^(2
eps) where a row more or less costs eps. With a delta it holds of every event but for delta (1 + up e^eps).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = list(itertools.product(range(2), range(2)))  # (s, x)
Distribution = dict[tuple[int, int], Fraction]


def distribution_of_rows(rng: np.random.Generator) -> Distribution:
    weights = [Fraction(int(w)) for w in rng.integers(1, 6, 4)]
    return {row: weight / sum(weights) for row, weight in zip(ROWS, weights, strict=True)}


def conditional(distribution: Distribution, s: int) -> dict[int, Fraction]:
    whole = sum(distribution[s, x] for x in range(2))
    return {x: distribution[s, x] / whole for x in range(2)}


def mixing(distribution: Distribution, keep: Fraction) -> tuple[dict[tuple[int, int], Fraction], Fraction, Fraction]:
    """A channel that keeps x so often, and its largest and its least lift under P."""
    channel = {(x, y): keep if x == y else 1 - keep for x in range(2) for y in range(2)}
    of_y = {y: sum(distribution[row] * channel[row[1], y] for row in ROWS) for y in range(2)}
    lifts = [
        sum(share * channel[x, y] for x, share in conditional(distribution, s).items()) / of_y[y]
        for s in range(2)
        for y in range(2)
    ]
    return channel, max(lifts), min(lifts)


def told(
    distribution: Distribution, mu: Callable[[tuple[int, int]], dict[object, Fraction]], keeps: list[Fraction]
) -> Iterator[tuple]:
    """Of each s: P(m, y|s) and P(m, y) of every outcome, with the largest and the least lift of all channels."""
    outcomes = sorted({m for row in ROWS for m in mu(row)}, key=repr)
    channels = {m: mixing(distribution, keeps[number % len(keeps)]) for number, m in enumerate(outcomes)}
    up, down = max(one[1] for one in channels.values()), min(one[2] for one in channels.values())
    for s in range(2):
        pairs = []
        for m, y in itertools.product(outcomes, range(2)):
            joint = {r: mu(r).get(m, Fraction(0)) * channels[m][0][r[1], y] for r in ROWS}
            given = sum(share * joint[s, x] for x, share in conditional(distribution, s).items())
            pairs.append((given, sum(distribution[row] * joint[row] for row in ROWS)))
        yield pairs, up, down


@pytest.mark.parametrize("seed", range(40))
def test_of_any_mechanism_the_file_is_within_the_budget_times_what_a_row_changes(seed):
    rng = np.random.default_rng(seed)
    distribution = distribution_of_rows(rng)
    weights = {row: [Fraction(int(w)) for w in rng.integers(1, 9, 3)] for row in ROWS}
    mu = {row: {m: w / sum(ws) for m, w in enumerate(ws)} for row, ws in weights.items()}
    ratio = max(mu[a][m] / mu[b][m] for a in ROWS for b in ROWS for m in range(3))
    keeps = [Fraction(int(k), 10) for k in rng.integers(5, 11, 3)]
    for pairs, up, down in told(distribution, mu.__getitem__, keeps):
        assert all(down / ratio * of <= given <= up * ratio * of for given, of in pairs)


def noisy_counts(a: Fraction, size: int) -> Callable[[tuple[int, int]], dict[object, Fraction]]:
    """Counts of the four kinds of rows with noise of P(z) ∝ a^|z|; others have 2 of each. As far as ``size``."""
    distribution = {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-size - 3, size + 4)}

    def mu(row: tuple[int, int]) -> dict[object, Fraction]:
        counts = [2 + (kind == row) for kind in ROWS]
        places = itertools.product(range(2 - size, 3 + size), repeat=4)
        return {m: prod(distribution[seen - own] for seen, own in zip(m, counts, strict=True)) for m in places}

    return {row: mu(row) for row in ROWS}.__getitem__


def test_counts_with_noise_cost_a_level_for_a_row_more_and_two_for_another_row():
    a = Fraction(1, 2)  # e^-eps
    mu = noisy_counts(a, 1)
    distribution = dict(zip(ROWS, map(Fraction, ("9/20", "1/20", "1/20", "9/20")), strict=True))
    worst = Fraction(0)
    for pairs, up, down in told(distribution, mu, [Fraction(9, 10), Fraction(6, 10)]):
        assert all(down * a**2 * of <= given <= up / a**2 * of for given, of in pairs)
        worst = max(worst, *(given / of / up for given, of in pairs if of))
    assert worst > 1  # the symbol's budget alone would not be true


@pytest.mark.parametrize("seed", range(20))
def test_with_a_delta_every_event_is_within_the_sum_of_both(seed):
    """What is published tells the row with probability delta, and else is as private as before."""
    rng, delta = np.random.default_rng(seed), Fraction(1, 50)
    distribution, e = distribution_of_rows(rng), Fraction(3, 2)  # e^eps, of a row more or less
    distribution = {(s, x): share / 10 if s else share for (s, x), share in distribution.items()}
    distribution = {row: share / sum(distribution.values()) for row, share in distribution.items()}
    plain = {row: Fraction(int(w), 100) for row, w in zip(ROWS, rng.integers(45, 55, 4), strict=True)}
    assert max(max(p / q, (1 - p) / (1 - q)) for p in plain.values() for q in plain.values()) <= e**2

    def mu(row: tuple[int, int]) -> dict[object, Fraction]:
        return {"a": (1 - delta) * plain[row], "b": (1 - delta) * (1 - plain[row]), row: delta}

    told_without = Fraction(0)
    for pairs, up, down in told(distribution, mu, [Fraction(6, 10)]):
        beyond = sum(max(given - up * e**2 * of, Fraction(0)) for given, of in pairs)
        below = sum(max(down / e**2 * of - given, Fraction(0)) for given, of in pairs)
        assert max(beyond, below) <= delta * (1 + up * e)
        told_without = max(told_without, beyond)
    assert told_without > 0  # without delta's term it would not be true


def found_values(a: Fraction, threshold: int) -> Callable[[tuple[int, int]], dict[object, Fraction]]:
    """Which values of x have a noisy count above a threshold; of all other rows three have x = 0 and none x = 1.

    With x = 2 the row adds to neither, as if it were not there.
    """

    def above(rows: int) -> Fraction:
        if not rows:  # a value that nobody has is not looked at
            return Fraction(0)
        beyond = threshold + 1 - rows  # P(z >= beyond)
        return a**beyond / (1 + a) if beyond > 0 else 1 - a ** (1 - beyond) / (1 + a)

    def mu(row: tuple[int, int]) -> dict[object, Fraction]:
        shares = [above(3 + (row[1] == 0)), above(int(row[1] == 1))]
        kept = itertools.product((False, True), repeat=2)
        return {m: prod(p if own else 1 - p for p, own in zip(shares, m, strict=True)) for m in kept}

    return mu


@pytest.mark.parametrize("threshold", [1, 3, 6])
def test_values_above_a_threshold_cost_a_delta_that_no_level_makes_up_for(threshold):
    a = Fraction(1, 3)  # e^-eps
    delta = a**threshold / (1 + a)
    mu = found_values(a, threshold)

    def beyond(one: tuple[int, int], two: tuple[int, int], level: Fraction) -> Fraction:
        return sum((max(mu(one)[m] - level * mu(two)[m], Fraction(0)) for m in mu(one)), Fraction(0))

    assert max(beyond(row, (0, 2), 1 / a) for row in ROWS) == delta  # a row more, by the value that it alone has
    assert max(beyond((0, 2), row, 1 / a) for row in ROWS) == 0
    assert 0 < max(beyond(one, two, a**-2) for one in ROWS for two in ROWS) <= delta * (1 + 1 / a)
    distribution = dict(zip(ROWS, map(Fraction, ("9/20", "1/20", "1/20", "9/20")), strict=True))
    for pairs, up, down in told(distribution, mu, [Fraction(9, 10), Fraction(6, 10)]):
        more = sum(max(given - up / a**2 * of, Fraction(0)) for given, of in pairs)
        less = sum(max(down * a**2 * of - given, Fraction(0)) for given, of in pairs)
        assert max(more, less) <= delta * (1 + up / a)
