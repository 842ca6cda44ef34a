"""[WYZ] Theorem 1 against programs written from the definitions, at single levels: nothing searches for a level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from sanitize.theory import tradeoff as td
from sanitize.theory.notions import hamming_neighbours

DATABASES = [
    (np.array([0.5, 0.3, 0.2]), 1),
    (np.array([0.7, 0.2, 0.1]), 1),
    (np.array([0.4, 0.2, 0.3, 0.1]), 2),
    (np.array([0.3, 0.3, 0.2, 0.2]), 2),
]


def least_distortion(level: float, prior: np.ndarray, n: int, *, of_posteriors: bool) -> float:
    """Least expected distance over p(x, y) whose posteriors, or whose channel, keep neighbours within e**level."""
    size = len(prior)
    m = round(size ** (1 / n))
    d = td.hamming_distances(n, m)
    weights = np.ones(size) if of_posteriors else 1 / prior
    rows = []
    for a, b in [*hamming_neighbours(n, m), *(pair[::-1] for pair in hamming_neighbours(n, m))]:
        for y in range(size):
            row = np.zeros((size, size))
            row[a, y], row[b, y] = weights[a], -math.exp(level) * weights[b]
            rows.append(row.ravel())
    totals = np.kron(np.eye(size), np.ones(size))
    found = linprog(d.ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=totals, b_eq=prior)
    return float(found.fun) if found.success else math.inf


@pytest.mark.parametrize(("prior", "n"), DATABASES)
@pytest.mark.parametrize("share", [0.3, 0.8, 1.0])
def test_wyz_theorem_1_up_to_the_threshold_is_the_least_level(prior, n: int, share: float) -> None:
    """At the stated level the distortion is enough, and a little below it is not: of posteriors and of the channel."""
    m = round(len(prior) ** (1 / n))
    distortion = share * td.DatabaseIdentifiability(prior, n).largest
    for family, of_posteriors in ((td.DatabaseIdentifiability, True), (td.DatabaseDP, False)):
        stated = family(prior, n).bounds(distortion)
        assert least_distortion(stated.upper, prior, n, of_posteriors=of_posteriors) <= distortion + 1e-7
        assert least_distortion(stated.lower - 1e-3, prior, n, of_posteriors=of_posteriors) > distortion + 1e-6
        if share < 1:
            assert stated.exact
            assert stated.lower == pytest.approx(td.UniformDP(n, m).privacy(distortion))


@pytest.mark.parametrize(("prior", "n"), DATABASES)
@pytest.mark.parametrize("share", [1.1, 1.4])
def test_wyz_theorem_1_beyond_the_threshold_brackets_the_least_level(prior, n: int, share: float) -> None:
    distortion = share * td.DatabaseIdentifiability(prior, n).largest
    for family, of_posteriors in ((td.DatabaseIdentifiability, True), (td.DatabaseDP, False)):
        stated = family(prior, n).bounds(distortion)
        if math.isfinite(stated.upper):
            assert least_distortion(stated.upper, prior, n, of_posteriors=of_posteriors) <= distortion + 1e-7
        if stated.lower > 1e-3:
            assert least_distortion(stated.lower - 1e-3, prior, n, of_posteriors=of_posteriors) > distortion
