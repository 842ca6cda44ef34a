"""Programs held to closed forms and to exact arithmetic over 2,600 random problems at every scale.

Oracles: closed forms in 60 digits ([ZB] Theorems 9, 13, 14, [WYZ] Theorem 1, 2), and levels of the very doubles of a
channel in as many. No oracle is a program.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from sanitize.theory import tradeoff as td
from sanitize.theory.tradeoff._linear_program import max_information_level

mpmath.mp.dps = 60
CASES = 400
INF = math.inf


def distribution(rng: np.random.Generator, size: int, *, positive: bool = False) -> np.ndarray:
    """Priors flat and steep, with entries of 1e-300 and, unless all must be positive, zeros."""
    p = rng.dirichlet(np.full(size, rng.choice([0.05, 0.5, 1.0, 20.0]))) + 1e-300
    if size > 2 and rng.random() < 0.3:
        p[rng.integers(1, size)] = 1e-300 if positive or rng.random() < 0.5 else 0.0
    return p / p.sum()


def size_of(rng: np.random.Generator) -> int:
    return int(rng.choice([1, 2, 3, 4, 5, 7, 10, 30, 100], p=[0.03, 0.2, 0.2, 0.17, 0.15, 0.12, 0.08, 0.04, 0.01]))


def level_in(rng: np.random.Generator) -> float:
    return float(rng.choice([rng.uniform(0, 3), 10 ** rng.uniform(-8, math.log10(60)), rng.uniform(3, 60)]))


def scale_in(rng: np.random.Generator) -> float:
    return float(10 ** rng.uniform(-12, 12))


def exact(channel: np.ndarray) -> list[list[mpmath.mpf]]:
    """The doubles as they are, each row scaled to sum to 1."""
    rows = [[mpmath.mpf(v) for v in row] for row in channel.tolist()]
    return [[v / total for v in row] for row, total in zip(rows, map(mpmath.fsum, rows), strict=True)]


def ratio_level(table: list[list[mpmath.mpf]]) -> mpmath.mpf:
    """Largest log ratio within a column."""
    ends = [(max(column), min(column)) for column in zip(*table, strict=True) if max(column) > 0]
    return mpmath.log(max(top / least if least else mpmath.inf for top, least in ends))


def event_excess(table: list[list[mpmath.mpf]], level: float) -> mpmath.mpf:
    """Largest P(A|x) - e**ε P(A|x') of any two rows."""
    growth = mpmath.exp(mpmath.mpf(level))
    return max(mpmath.fsum(max(v - growth * w, 0) for v, w in zip(a, b, strict=True)) for a in table for b in table)


def spent(prior: np.ndarray, d: np.ndarray, channel: np.ndarray) -> mpmath.mpf:
    return sum(
        mpmath.mpf(float(prior[x])) * mpmath.mpf(float(d[x, y])) * mpmath.mpf(float(channel[x, y]))
        for x, y in zip(*np.nonzero(channel * d > 0), strict=True)
    )


def local_distortion(prior: np.ndarray, level: float, delta: float) -> mpmath.mpf:
    """(1-δ) min_k 1 - F_k e**ε/(e**ε + k - 1), from the tails."""
    p = sorted((mpmath.mpf(float(v)) for v in prior), reverse=True)
    shrink, total = mpmath.exp(-mpmath.mpf(level)), sum(p)
    tails = [sum(p[k:]) / total for k in range(len(p) + 1)]
    best = min((tails[k] + (k - 1) * shrink) / (1 + (k - 1) * shrink) for k in range(1, len(p) + 1))
    return (1 - mpmath.mpf(delta)) * best


def local_leakage(prior: np.ndarray, distortion: float) -> mpmath.mpf:
    """log(k-1 + (T_{k-1} - D)/P_k) for the k with T_k <= D < T_{k-1}."""
    p = sorted((mpmath.mpf(float(v)) for v in prior), reverse=True)
    total = sum(p)
    p = [v / total for v in p]
    for k in range(1, len(p) + 1):
        if sum(p[k:]) <= distortion:
            return max(mpmath.mpf(0), mpmath.log(k - 1 + (sum(p[k - 1 :]) - mpmath.mpf(distortion)) / p[k - 1]))
    return mpmath.mpf(0)


def close(found, expected, scale: float = 0.0, rel: float = 1e-6) -> bool:
    """Within a relative distance, or an absolute one: 5e-324 is the spacing of the smallest doubles."""
    return abs(mpmath.mpf(found) - expected) <= rel * abs(expected) + scale


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_dp_channels_keep_their_level_and_reach_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(CASES // 20):
        m, level, unit = size_of(rng), level_in(rng), scale_in(rng)
        prior, d = distribution(rng, m), unit * (1 - np.eye(m))
        found = td.OptimalDP(prior, d).at_level(level)
        assert found.privacy <= level
        assert ratio_level(exact(found.matrix)) <= mpmath.mpf(found.privacy)
        truth = unit * local_distortion(prior, level, 0.0)
        assert close(found.distortion, truth)
        assert close(found.distortion, spent(prior, d, found.matrix), 5e-324, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_dp_channels_with_delta_keep_both_and_reach_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    for _ in range(CASES // 20):
        m, level, unit = min(size_of(rng), 30), level_in(rng), scale_in(rng)
        delta = float(rng.choice([1e-9, 10 ** rng.uniform(-12, 0), rng.random(), 1.0]))
        prior, d = distribution(rng, m), unit * (1 - np.eye(m))
        found = td.OptimalDP(prior, d, delta).at_level(level)
        assert found.privacy <= level
        if m <= 10:
            assert event_excess(exact(found.matrix), found.privacy) <= mpmath.mpf(delta)
        # A cell beside 1 is known to 1e-16, and what δ leaves of the distortion no better.
        truth = unit * local_distortion(prior, level, delta)
        loose = 1e-15 * unit + (delta * unit if level < 1e-14 else 0)
        assert close(found.distortion, truth, loose)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_maximal_leakage_channels_keep_their_distortion_and_reach_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    for _ in range(CASES // 20):
        m, unit = size_of(rng), scale_in(rng)
        prior, d = distribution(rng, m), unit * (1 - np.eye(m))
        share = float(rng.choice([rng.random(), 10 ** rng.uniform(-12, 0)])) * (1 - prior.max())
        found = td.OptimalSibson(prior, d, INF).at_distortion(share * unit)
        if m <= 30:
            table = exact(found.matrix)
            assert mpmath.log(mpmath.fsum(map(max, zip(*table, strict=True)))) <= mpmath.mpf(found.privacy)
        assert spent(prior, d, found.matrix) <= share * unit * (1 + 1e-9)
        assert close(found.privacy, local_leakage(prior, share), 2e-15 * m)
        ordered = td.PriorMaximalLeakage([prior]).channel(share).matrix
        assert spent(prior, 1 - np.eye(m), ordered) <= share * (1 + 1e-9)
        assert close(td.PriorMaximalLeakage([prior]).privacy(share), local_leakage(prior, share), 2e-15 * m)


@pytest.mark.parametrize("seed", range(20))
def test_ordered_distortions_reach_the_closed_form(seed: int) -> None:
    """D = T_{k-1} - (e**c - k + 1) P_k of the worst prior, k - 1 <= e**c < k."""
    rng = np.random.default_rng(700 + seed)
    for _ in range(CASES // 40):
        m, level = size_of(rng), level_in(rng)
        priors = [-np.sort(-distribution(rng, m)) for _ in range(rng.integers(1, 4))]
        shown = mpmath.exp(mpmath.mpf(level))
        k, truth = int(shown) + 1, mpmath.mpf(0)
        for prior in priors if k <= m else []:
            p = [mpmath.mpf(float(v)) for v in prior]
            truth = max(truth, (sum(p[k - 1 :]) - (shown - k + 1) * p[k - 1]) / sum(p))
        assert close(td.PriorMaximalLeakage(priors).distortion(level), truth, 2e-15 * m)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_identifiability_channels_keep_their_level_and_reach_h(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    for _ in range(CASES // 20):
        m, unit = max(2, min(size_of(rng), 30)), scale_in(rng)
        prior = rng.dirichlet(np.full(m, rng.choice([0.5, 1.0, 20.0]))) + 1e-9
        prior, d = prior / prior.sum(), unit * (1 - np.eye(m))
        level = td.DatabaseIdentifiability(prior).threshold + float(10 ** rng.uniform(-3, 1.5))
        found = td.OptimalIdentifiability(prior, d).at_level(level)
        joint = [[mpmath.mpf(float(p)) * v for v in row] for p, row in zip(prior, exact(found.matrix), strict=True)]
        assert ratio_level(joint) <= mpmath.mpf(found.privacy) <= level + 1e-9
        truth = unit * (m - 1) / (mpmath.exp(level) + m - 1)
        assert close(found.distortion, truth)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_max_information_channels_keep_their_level_and_reach_the_uniform_value(seed: int) -> None:
    rng = np.random.default_rng(400 + seed)
    for case in range(CASES // 20):
        m, level, unit = size_of(rng), level_in(rng), scale_in(rng)
        prior = np.full(m, 1 / m) if case % 2 else distribution(rng, m)
        d = unit * (1 - np.eye(m)) if case % 4 else unit * rng.random((m, m))
        found = td.OptimalMaxInformation(prior, d).at_level(level)
        assert found.privacy <= level
        table, p = exact(found.matrix), [mpmath.mpf(v) for v in prior.tolist()]
        whole = mpmath.fsum(p)
        for column in zip(*table, strict=True):
            marginal = mpmath.fdot(p, column) / whole
            if max(column) > 0:
                assert mpmath.log(max(column) / marginal) <= mpmath.mpf(found.privacy)
        assert close(found.distortion, spent(prior, d, found.matrix), 5e-324, rel=1e-12)
        if case % 2:
            truth = max(mpmath.mpf(0), 1 - mpmath.exp(mpmath.mpf(level)) / m) * unit
            assert close(found.distortion, truth, 1e-9 * unit)


def test_max_information_of_many_letters_is_measured_on_the_safe_side() -> None:
    """A hundred letters at small levels: the last digits of log 0.01 are larger than those of the level."""
    rng = np.random.default_rng(0)
    prior = np.full(100, 0.01)
    for level in (1e-8, 1.1612745380759746e-06, 0.005645528270887391, 0.3):
        channel = rng.dirichlet(np.ones(100)) + (math.expm1(level) / 100) * np.eye(100)[rng.permutation(100)]
        channel /= channel.sum(axis=1, keepdims=True)
        stated = max_information_level(prior, channel)
        for column in zip(*exact(channel), strict=True):
            assert mpmath.log(100 * max(column) / mpmath.fsum(column)) <= mpmath.mpf(stated)


def sharp_distribution(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """A distribution of 2 to 10 letters, and a share of the distortion up to which [WYZ] Theorem 2 is exact."""
    m = max(2, min(size_of(rng), 10))
    prior = np.full(m, 1 / m) if rng.random() < 0.3 else rng.dirichlet(np.full(m, rng.choice([1.0, 20.0]))) + 1e-6
    prior = prior / prior.sum()
    share = float(rng.choice([rng.random(), 10 ** rng.uniform(-6, 0), 1 - 10 ** rng.uniform(-6, -1)]))
    return prior, share * (m - 1) * float(prior.min())


def information(prior: np.ndarray, channel: np.ndarray) -> mpmath.mpf:
    """I(X;Y) of the doubles, each scaled to sum to 1."""
    total = mpmath.fsum(float(v) for v in prior)
    rows = exact(channel)
    p = [mpmath.mpf(float(v)) / total for v in prior]
    marginal = [mpmath.fsum(a * row[y] for a, row in zip(p, rows, strict=True)) for y in range(len(rows[0]))]
    return mpmath.fsum(
        a * v * mpmath.log(v / q)
        for a, row in zip(p, rows, strict=True)
        for v, q in zip(row, marginal, strict=True)
        if v
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_least_informations_keep_their_distortion_and_reach_the_closed_form(seed: int) -> None:
    """[WYZ] Theorem 2: H(X) - h(D) - D log(m-1) up to D = (m-1) min p."""
    rng = np.random.default_rng(500 + seed)
    for _ in range(CASES // 40):
        prior, share = sharp_distribution(rng)
        m, unit = len(prior), scale_in(rng)
        d = unit * (1 - np.eye(m))
        found = td.OptimalSibson(prior, d, 1).at_distortion(share * unit)
        p, spend = [mpmath.mpf(float(v)) for v in prior], mpmath.mpf(share)
        truth = -mpmath.fsum(v * mpmath.log(v) for v in p) + spend * mpmath.log(spend / (m - 1))
        truth += (1 - spend) * mpmath.log1p(-spend)
        assert close(found.privacy, max(truth, mpmath.mpf(0)), 2e-9)
        assert information(prior, found.matrix) <= mpmath.mpf(found.privacy) * (1 + mpmath.mpf("1e-12")) + 1e-14
        assert spent(prior, d, found.matrix) <= share * unit * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_least_sibson_informations_keep_their_distortion_and_reach_the_uniform_value(seed: int) -> None:
    """α/(α-1) log m (((1-D)**α + (m-1)**(1-α) D**α)/m)**(1/α): one record of the uniform distribution."""
    rng = np.random.default_rng(600 + seed)
    for _ in range(CASES // 40):
        m, unit = max(2, min(size_of(rng), 10)), scale_in(rng)
        alpha = float(rng.choice([2.0, 5.0, rng.uniform(1.05, 3), rng.uniform(3, 40)]))
        share = float(rng.choice([rng.random(), 10 ** rng.uniform(-6, 0)])) * (m - 1) / m
        prior, d = np.full(m, 1 / m), unit * (1 - np.eye(m))
        found = td.OptimalSibson(prior, d, alpha).at_distortion(share * unit)
        a, spend = mpmath.mpf(alpha), mpmath.mpf(share)
        norm = ((1 - spend) ** a + (m - 1) * (spend / (m - 1)) ** a) / m
        truth = a / (a - 1) * (mpmath.log(m) + mpmath.log(norm) / a)
        assert close(found.privacy, truth, 2e-9)
        assert spent(prior, d, found.matrix) <= share * unit * (1 + 1e-9)
