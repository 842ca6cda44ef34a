"""Statements of [CY] that carry no number: ordering of the notions, detection theory, Gaussian noise; and what rests on
[WXH]'s assumption of independent records."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import sanitize as sz
from sanitize.core.capacity import channel_capacity, dp_information_bound
from sanitize.core.conversions import mutual_information_from_dp, total_variation_from_mutual_information
from sanitize.mechanisms import gaussian_channel
from sanitize.theory.individual import individual_channel_capacity, mi_dp
from sanitize.theory.notions import approximate_dp, global_dp


def information(joint):
    return sz.mutual_information(sz.JointDistribution.from_matrix(joint[joint.any(axis=1)]))


@pytest.mark.parametrize("target", [1e-6, 1e-3, 0.1, 0.6])
def test_cy_privacy_ordering_a_small_level_of_the_stronger_notion_is_enough(target):
    """For each level of the weaker notion there is one of the stronger that implies it, on real channels too."""
    eps = math.sqrt(8 * target) / 2
    assert mutual_information_from_dp(eps) <= target
    rng = np.random.default_rng(0)
    for _ in range(5):
        channel = np.exp(rng.uniform(-eps / 2, eps / 2, (4, 3))) * rng.dirichlet(np.ones(3))
        channel /= channel.sum(axis=1, keepdims=True)
        level = global_dp(channel, sizes=(2, 2))
        assert float(mi_dp(channel, sizes=(2, 2))) <= mutual_information_from_dp(level) + 1e-8
    nats = target**2 / 2
    assert total_variation_from_mutual_information(nats).tight <= target
    for flip in (0.1, 0.3, 0.45):
        rows = np.array([[1 - flip, flip], [flip, 1 - flip]])
        told = float(channel_capacity(rows))
        assert approximate_dp(rows, eps=0.0) <= total_variation_from_mutual_information(told).tight + 1e-8


def test_cy_privacy_ordering_is_strict():
    """No level of MI-DP implies a finite ε of DP, and without finite alphabets no δ implies a level of MI-DP."""
    for shown in (1e-2, 1e-4, 1e-6):
        erasure = np.array([[shown, 0, 1 - shown], [0, shown, 1 - shown]])
        assert float(mi_dp(erasure, sizes=(2,))) == pytest.approx(shown * math.log(2), rel=1e-3, abs=1e-8)
        assert math.isinf(global_dp(erasure, sizes=(2,)))
    told = []
    for letters in (4, 16, 64, 256):
        rows = np.hstack([0.1 * np.eye(letters), np.full((letters, 1), 0.9)])
        assert approximate_dp(rows, eps=0.0) == pytest.approx(0.1)
        told.append(float(mi_dp(rows, sizes=(letters,))))
    assert np.diff(told) == pytest.approx(0.1 * math.log(4), abs=1e-6)  # without end


@pytest.mark.parametrize("seed", range(6))
def test_cy_detection_theory_closeness_bounds_the_errors_of_every_test(seed):
    """(ε, δ)-close: every test has α + e**ε β >= 1 - δ and e**ε α + β >= 1 - δ, and one of them attains it."""
    rows = np.random.default_rng(seed).dirichlet(np.ones(5), 2)
    for eps in (0.0, 0.3, 1.0):
        delta = approximate_dp(rows, eps=eps)
        least = math.inf
        for event in itertools.product((0, 1), repeat=5):
            rejects = np.array(event)
            alpha, beta = float(rows[0] @ rejects), float(rows[1] @ (1 - rejects))
            least = min(least, alpha + math.exp(eps) * beta, math.exp(eps) * alpha + beta)
        assert least == pytest.approx(1 - delta, abs=1e-12)
        for _ in range(50):  # tests that toss coins do no better
            rejects = np.random.default_rng(seed).random(5)
            assert rows[0] @ rejects + math.exp(eps) * (rows[1] @ (1 - rejects)) >= 1 - delta - 1e-12


@pytest.mark.parametrize("capacity", [0.02, 0.2])
def test_cy_gaussian_noise_is_private_with_a_delta_and_not_without(capacity):
    """δ(ε) = Φ(a/2 - ε/a) - e**ε Φ(-a/2 - ε/a), a the distance in deviations; no ε suffices for all outputs."""
    step = 0.02
    channel = gaussian_channel([0.0, 1.0], capacity, step=step, reach=6.0).matrix
    grid = np.arange(channel.shape[1]) * step
    deviation = math.sqrt(channel[0] @ grid**2 - (channel[0] @ grid) ** 2)
    a = 1 / deviation
    for eps in (0.0, 0.1, 0.5):
        delta = norm.cdf(a / 2 - eps / a) - math.exp(eps) * norm.cdf(-a / 2 - eps / a)
        assert approximate_dp(channel, eps=eps) == pytest.approx(delta, rel=0.01, abs=1e-6)
    levels = [
        global_dp(gaussian_channel([0.0, 1.0], capacity, step=0.5, reach=reach).matrix, sizes=(2,))
        for reach in (1.0, 2.0, 3.0)
    ]
    assert np.diff(levels).min() > 0.5 * a


def test_wxh_assumption_9_is_what_differential_privacy_needs():
    """Independent records: I(X_i;Y) within the bound of ε-DP. Copies of one record: more than that, and than ε."""
    n, eps = 6, 0.4
    counts = np.indices((2,) * n).sum(axis=0).ravel()
    channel = sz.mechanisms.discrete_laplace_channel(n + 1, eps).matrix[counts]
    assert global_dp(channel, sizes=(2,) * n) == pytest.approx(eps)
    rng = np.random.default_rng(0)
    first = np.indices((2,) * n)[0].ravel()
    for _ in range(30):
        distribution = np.ones(1)
        for p in rng.random(n):
            distribution = np.outer(distribution, [p, 1 - p]).ravel()
        joint = np.array([(distribution * (first == x)) @ channel for x in (0, 1)])
        assert information(joint) <= dp_information_bound(eps) + 1e-12
    alike = np.array([0.5 * channel[0], 0.5 * channel[-1]])
    assert information(alike) > 10 * dp_information_bound(eps)
    assert information(sz.mechanisms.discrete_laplace_channel(41, eps).matrix[[0, 40]] / 2) > eps  # forty copies
    assert individual_channel_capacity(channel[[0, -1]], sizes=(2,)).lower >= information(alike) - 1e-9
