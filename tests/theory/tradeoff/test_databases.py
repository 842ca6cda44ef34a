"""Databases, the symmetric channel, and hostile arguments of every trade-off."""

from __future__ import annotations

import math
from functools import partial
from inspect import signature
from itertools import product
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog
from uniform_cases import INF, SIZES, dp_level, mean_distance

from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.theory import tradeoff as td

if TYPE_CHECKING:
    from collections.abc import Callable

mpmath.mp.dps = 50

# --- databases and the symmetric channel ----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(1, 2), (3, 5), (100, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3, 5.0, 50.0])
def test_wyz_32_and_17_are_inverse_and_match_high_precision(n: int, m: int, epsilon: float) -> None:
    exact, family = n / (1 + mpmath.exp(mpmath.mpf(epsilon)) / (m - 1)), td.UniformDP(n, m)
    distortion = family.distortion(epsilon)
    assert distortion == pytest.approx(float(exact), rel=1e-14, abs=0)
    assert family.privacy(distortion) == pytest.approx(epsilon, rel=1e-9, abs=1e-15)
    assert (family.privacy(0), family.privacy(n)) == (INF, 0)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_distances_count_differing_records(n: int, m: int) -> None:
    words = list(product(range(m), repeat=n))
    expected = [[sum(a != b for a, b in zip(x, y, strict=True)) for y in words] for x in words]
    assert (td.hamming_distances(n, m) == expected).all()


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 4.0])
def test_wyz_lemma_5_e_d_is_private_at_epsilon_with_distortion_h_for_any_prior(n, m, epsilon) -> None:
    channel = td.UniformDP(n, m).channel(td.UniformDP(n, m).distortion(epsilon)).matrix
    prior = np.random.default_rng(1).dirichlet(np.ones(m**n))
    assert channel.sum(axis=1) == pytest.approx(1)
    assert dp_level(channel, n, m) == pytest.approx(epsilon, rel=1e-6, abs=0)
    assert mean_distance(prior, channel, n, m) == pytest.approx(td.UniformDP(n, m).distortion(epsilon))


def test_wyz_lemma_1_last_sum_carries_the_distance_not_its_complement() -> None:
    n, m, e = 2, 3, 0.7
    norm = (1 + (m - 1) * math.exp(-e)) ** n
    right = sum(math.comb(n, j) * (m - 1) ** j * j * math.exp(-j * e) for j in range(n + 1)) / norm
    printed = sum(math.comb(n, j) * (m - 1) ** j * j * math.exp(-(n - j) * e) for j in range(n + 1)) / norm
    assert (round(right, 4), round(printed, 4)) == (0.9966, 2.5137)
    assert td.UniformDP(n, m).distortion(e) == pytest.approx(right)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 2), (2, 3)])
def test_wyz_lemma_1_the_relaxed_problem_has_value_h(n: int, m: int) -> None:
    """One posterior column x -> p(x|y) decides: its least mean distance under the ratio constraints is h(ε)."""
    epsilon, distances = 0.7, td.hamming_distances(n, m)
    pairs = np.argwhere(distances == 1)
    rows = np.zeros((len(pairs), m**n))
    rows[np.arange(len(pairs)), pairs[:, 0]] = 1
    rows[np.arange(len(pairs)), pairs[:, 1]] = -math.exp(epsilon)
    total = np.ones((1, m**n))
    found = linprog(distances[0], A_ub=rows, b_ub=np.zeros(len(pairs)), A_eq=total, b_eq=[1], method="highs")
    assert found.fun == pytest.approx(td.UniformDP(n, m).distortion(epsilon), abs=1e-9)


# --- hostile arguments -----------------------------------------------------------------------------------------

FAMILIES = (
    td.UniformDP,
    partial(td.UniformDP, delta=0.1),
    partial(td.UniformRenyiDP, alpha=2),
    *(partial(td.UniformSibson, alpha=alpha) for alpha in (1, 2, INF)),
)


def questions(family: td.Tradeoff) -> list[Callable[[object], object]]:
    """All that a family answers of a distortion."""
    named = ("privacy", "channel", "bounds", "product_bound", "entrywise_privacy", "at_distortion")
    asked = [getattr(family, name) for name in named if hasattr(family, name)]
    return [partial(one, n_records=1) if "n_records" in signature(one).parameters else one for one in asked]


def test_the_largest_matrix_of_databases_is_made_and_no_larger_one(monkeypatch) -> None:
    monkeypatch.setattr("sanitize.theory.tradeoff._shells.DENSE_CELLS", 3**4 + 1)
    assert td.hamming_distances(2, 3).shape == (9, 9)
    for n, m in ((3, 3), (2, 4)):
        with pytest.raises(InvalidParameter, match="must be at most 2"):
            td.hamming_distances(n, m)


@pytest.mark.parametrize("made", FAMILIES)
def test_bad_distortions_levels_and_sizes_are_refused(made) -> None:
    for question in questions(made(2, 3)):
        for distortion in (-1e-9, 2.1, math.nan, INF, "1", None):
            with pytest.raises(InvalidParameter, match=r"^distortion must .* from 0 to 2, got"):
                question(distortion)
    for level in (-1e-9, math.nan, -INF, "1", None, True):
        with pytest.raises(InvalidParameter, match=r"^level must .* from 0 to inf, got"):
            made(2, 3).distortion(level)
    for n in (0, -1, 1.5, "1", True):
        with pytest.raises(InvalidParameter, match=r"^n_records must be a whole number >= 1, got"):
            made(n, 3)
    for m in (1, 0, 2.5, None):
        with pytest.raises(InvalidParameter, match=r"^n_symbols must be a whole number >= 2, got"):
            made(2, m)


@pytest.mark.parametrize(
    ("family", "most"),
    [
        (td.PriorDP([0.5, 0.5], n_records=2), 2),
        (td.RecordsDP([[0.5, 0.5], [0.9, 0.1]]), 2),
        (td.PriorMaximalLeakage([0.5, 0.5]), 1),
        (td.DatabaseIdentifiability([0.25] * 4, 2), 2),
        (td.DatabaseDP([0.25] * 4, 2), 2),
        (td.DatabaseMutualInformation([0.25] * 4, 2), 2),
        (td.OptimalDP([0.5, 0.5], np.eye(2)), INF),
        (td.OptimalIdentifiability([0.5, 0.5], np.eye(2)), INF),
        (td.OptimalMaxInformation([0.5, 0.5], np.eye(2)), INF),
        (td.OptimalSibson([0.5, 0.5], np.eye(2), 2), INF),
    ],
)
def test_bad_distortions_and_levels_are_refused_by_families_with_a_prior(family, most: float) -> None:
    for distortion in (-1e-9, math.nan, "1", None, *([2.1] if most < INF else [])):
        for question in questions(family):
            with pytest.raises(InvalidParameter, match=rf"^distortion must .* from 0 to {most}, got"):
                question(distortion)
    for level in (-1e-9, math.nan, "1", None, True):
        with pytest.raises(InvalidParameter, match=r"^level must .* from 0 to inf, got"):
            family.distortion(level)


def test_bad_orders_deltas_and_shares_are_refused() -> None:
    for alpha in (0.5, -1, math.nan):
        for made in (td.UniformRenyiDP, td.UniformSibson, lambda n, m, a: td.OptimalSibson([0.5, 0.5], np.eye(2), a)):
            with pytest.raises(InvalidParameter, match=r"^alpha must be a number from 1 to inf"):
                made(1, 2, alpha)
    for delta in (-0.1, 1.1, math.nan):
        for call in (
            lambda d: td.UniformDP(1, 2, d),
            lambda d: td.PriorDP([0.5, 0.5], d),
            lambda d: td.RecordsDP([[0.5, 0.5]], d),
            lambda d: td.OptimalDP([0.5, 0.5], np.eye(2), d),
        ):
            with pytest.raises(InvalidParameter, match=r"^delta must be a number from 0 to 1"):
                call(delta)
    with pytest.raises(InvalidParameter, match=r"^least_share must be a number from 0 to 0\.5"):
        td.max_information_bound(0.1, 2, 0.6)
    for distortion, m in ((1.1, 2), (0.1, 1)):
        with pytest.raises(InvalidParameter, match="must"):
            td.max_information_bound(distortion, m, 0.1)
    with pytest.raises(InvalidParameter, match=r"2\*\*25"):
        td.hamming_distances(30, 2)


PRIOR_FAMILIES = (
    td.PriorDP,
    td.PriorMaximalLeakage,
    lambda p: td.RecordsDP([p]),
    td.DatabaseIdentifiability,
    td.DatabaseDP,
    td.DatabaseMutualInformation,
    lambda p: td.OptimalDP(p, np.eye(2)),
    lambda p: td.OptimalIdentifiability(p, np.eye(2)),
    lambda p: td.OptimalMaxInformation(p, np.eye(2)),
    lambda p: td.OptimalSibson(p, np.eye(2), 2),
)


@pytest.mark.parametrize("made", PRIOR_FAMILIES)
@pytest.mark.parametrize("prior", [[0.5, 0.6], [-0.1, 1.1], [math.nan, 1.0], [INF, 0.0], 2, [["a", "b"]], []])
def test_bad_priors_are_refused(made, prior) -> None:
    with pytest.raises(InvalidDistribution, match=r"prior must"):
        made(prior)


@pytest.mark.parametrize(
    ("call", "wrong", "said"),
    [
        (lambda: td.RecordsDP([]), InvalidDistribution, "at least one record"),
        (lambda: td.PriorMaximalLeakage([[0.7, 0.3], [0.4, 0.6]]), InvalidDistribution, "one order of the letters"),
        (lambda: td.PriorMaximalLeakage([[0.7, 0.3], [1.0]]), InvalidDistribution, "one distribution .* or several"),
        (lambda: td.PriorMaximalLeakage([0.7, 0.3]).product_bound(0.1, 0), InvalidParameter, "n_records must"),
        (lambda: td.DatabaseIdentifiability([0.2, 0.3, 0.5], 2), InvalidDistribution, "entries .n_records="),
        (lambda: td.DatabaseIdentifiability([1.0], 2), InvalidDistribution, "entries .n_records="),
        (lambda: td.DatabaseIdentifiability([[0.5, 0.5], [0.4, 0.6]]), InvalidDistribution, "one distribution"),
        (lambda: td.DatabaseDP([[0.5, 0.5], [0.2, 0.3, 0.5]]), InvalidDistribution, "one distribution .* or several"),
        (lambda: td.RecordsDP([[0.5, 0.5]] * 13).channel(0.1), InvalidParameter, r"2\*\*25 cells"),
        (lambda: td.PriorDP([0.5, 0.5], n_records=13).channel(0.1), InvalidParameter, r"2\*\*25 cells"),
        (
            lambda: td.DatabaseIdentifiability([0.5, 0.3, 0.2]).distortion(1.0),
            InvalidParameter,
            "level must be at least 1.09861",
        ),
        *(
            (partial(question, 0.41), InvalidParameter, "distortion must lie between 0 and 0.4 for the closed form")
            for family in (td.DatabaseIdentifiability, td.DatabaseDP, td.DatabaseMutualInformation)
            for question in (family([0.5, 0.3, 0.2]).privacy, family([0.5, 0.3, 0.2]).channel)
        ),
        (
            lambda: td.DatabaseMutualInformation([0.5, 0.3, 0.2]).distortion(0.01),
            InvalidParameter,
            "between 0 and 0.4 for the closed form",
        ),
        (lambda: td.OptimalDP([0.5, 0.5], np.eye(3)), InvalidParameter, "distances must have shape"),
        (lambda: td.OptimalDP([0.5, 0.5], [[0.0, math.nan], [1.0, 0.0]]), InvalidParameter, "finite entries"),
        (lambda: td.OptimalDP([0.5, 0.5], [["a", "b"], ["c", "d"]]), InvalidParameter, "distances must be a matrix"),
        (lambda: td.OptimalDP([0.5, 0.5], np.eye(2), neighbours=[[0, 2]]), InvalidParameter, "neighbours must"),
        (
            lambda: td.OptimalMaxInformation([[0.5, 0.5], [0.4, 0.6]], np.eye(2)),
            InvalidDistribution,
            "one distribution",
        ),
        (lambda: td.OptimalSibson([[0.5, 0.5], [0.4, 0.6]], np.eye(2), 2), InvalidDistribution, "one distribution"),
        (lambda: td.OptimalIdentifiability([1.0, 0.0], np.eye(2)), InvalidDistribution, "positive entries"),
        (
            lambda: td.OptimalIdentifiability([0.9, 0.1], 1 - np.eye(2)).at_level(0.1),
            InvalidParameter,
            "level must be at least 2.197",
        ),
        (lambda: td.OptimalDP([0.5, 0.5], np.ones((2, 2))).privacy(0.5), InvalidParameter, "distortion must be larger"),
        *(
            (
                lambda alpha=alpha: td.OptimalSibson([0.5, 0.5], np.ones((2, 2)), alpha).privacy(0.5),
                InvalidParameter,
                "distortion must be a number from 1 to inf",
            )
            for alpha in (1, 2, INF)
        ),
        (lambda: td.OptimalSibson([0.5, 0.5], 1 - np.eye(2), 1, tol=0.0), InvalidParameter, "tol must"),
    ],
)
def test_bad_sets_lengths_and_programs_are_refused(call, wrong, said: str) -> None:
    with pytest.raises(wrong, match=said):
        call()
