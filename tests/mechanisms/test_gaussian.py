"""The Gaussian channel: amplitude capacity with its certificate, noise calibration, and the finite release."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from sanitize.core.capacity import (
    LARGEST_AMPLITUDE,
    amplitude_capacity,
    awgn_capacity,
    channel_capacity,
    known_values_capacity,
)
from sanitize.core.channel._stage import SCALE
from sanitize.core.joint import JointDistribution
from sanitize.core.measures import mutual_information
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import gaussian_channel, gaussian_noise_variance

# A: (C_A, printed bound log(1 + A^2)/2, number of mass points)
CAPACITIES = {
    0.1: (0.004975165, 0.004975165, 2),
    0.5: (0.111421482, 0.111571776, 2),
    1.0: (0.336830820, 0.346573590, 2),
    2.0: (0.652868812, 0.804718956, 3),
    5.0: (1.218831188, 1.629048269, 5),
    10.0: (1.758348026, 2.307560258, 11),
}
# ε: (printed N, exact N on an interval, N for k equally spaced known values)
VARIANCES = {
    0.1: ("4.516656", "4.511685", {2: "4.511685", 3: "4.511685", 5: "4.511685"}),
    0.5: ("0.581977", "0.500156", {2: "0.500156", 3: "0.500156", 5: "0.500156"}),
    1.0: ("0.156518", "0.0759821", {2: "0", 3: "0.0688179", 5: "0.0744848"}),
    2.0: ("0.0186574", "0.00567225", {2: "0", 3: "0", 5: "0", 10: "0.00556679"}),
}


def divergence(x, points, weights):
    """KL(N(x, 1) || q) by adaptive quadrature in SciPy."""

    def integrand(y):
        log_q = np.logaddexp.reduce(np.log(weights) + stats.norm.logpdf(y, loc=points))
        own = stats.norm.logpdf(y, loc=x)
        return math.exp(own) * (own - log_q)

    return integrate.quad(integrand, x - 12, x + 12, limit=200, epsabs=1e-12)[0]


def two_points(amplitude):
    """I(X;Y) for X = +-A, in 30 digits: log 2 - E log(1 + e^{-2A(A + Z)})."""
    with mp.workdps(30):
        a = mp.mpf(amplitude)
        mean = mp.quad(lambda z: mp.npdf(z) * mp.log1p(mp.e ** (-2 * a * (a + z))), [-14, -7, -3, 0, 3, 7, 14])
        return float(mp.log(2) - mean)


# --------------------------------------------------------------------------------------------- capacity


@pytest.mark.parametrize("amplitude", CAPACITIES)
def test_the_table_of_amplitude_capacities(amplitude):
    value, printed, n_points = CAPACITIES[amplitude]
    found = amplitude_capacity(amplitude, 1e-11)
    assert found.value == pytest.approx(value, abs=5.1e-10)
    assert 0 <= found.gap < 1e-11
    assert len(found.points) == n_points
    assert math.log1p(amplitude**2) / 2 == pytest.approx(printed, abs=5.1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "amplitude", [0.5, 1.665, 1.67, 2.0, 2.79, 3.0, 4.0, 7.0, pytest.param(24.0, marks=pytest.mark.slow(sampled=False))]
)
def test_smiths_conditions_hold_by_other_quadrature(amplitude):
    """D(x) <= C on [-A, A] with equality at the mass points: that proves optimality."""
    found = amplitude_capacity(amplitude)
    at_points = [divergence(x, found.points, found.weights) for x in found.points if x >= 0]
    assert at_points == pytest.approx(np.full(len(at_points), found.value), abs=2e-8)
    elsewhere = [divergence(x, found.points, found.weights) for x in np.linspace(0, amplitude, 23)]
    assert max(elsewhere) <= found.value + 2e-8
    assert found.weights.sum() == pytest.approx(1)
    assert np.abs(found.points).max() == amplitude
    assert found.points == pytest.approx(-found.points[::-1])


@pytest.mark.slow
@pytest.mark.parametrize("amplitude", [1e-6, 1e-3, 0.1, 1.0, 1.6, 1.66])
def test_two_points_are_best_for_small_amplitudes(amplitude):
    found = amplitude_capacity(amplitude)
    assert len(found.points) == 2
    assert found.value == pytest.approx(two_points(amplitude), rel=1e-9, abs=0)


def test_a_third_point_is_born_at_1_6659():
    assert len(amplitude_capacity(1.665, 1e-13).points) == 2
    assert len(amplitude_capacity(1.667, 1e-13).points) == 3


@pytest.mark.parametrize("amplitude", [1e-12, 0.3, 1.7, 3.3, 6.1, 12.0, 16.5, 20.0, 25.82, 30.0, 36.0, 40.0])
def test_the_bracket_always_holds(amplitude):
    """Between the uniform input (an entropy-power bound) and the input of bounded power."""
    found = amplitude_capacity(amplitude)
    lower = math.log1p(2 * amplitude**2 / (math.pi * math.e)) / 2
    assert lower * (1 - 1e-12) <= found.upper
    assert found.value <= math.log1p(amplitude**2) / 2 * (1 + 1e-12)
    assert found.gap < (1e-9 if amplitude < 17 else 1e-8)


def test_a_fine_grid_of_inputs_gives_the_same_capacity():
    """Second route: Newton on a finite channel instead of moving points."""
    for amplitude in (1.0, 2.5, 5.0):
        grid = np.linspace(-amplitude, amplitude, 201)
        y = np.arange(-amplitude - 9, amplitude + 9, 0.05)
        rows = np.exp(-((y - grid[:, None]) ** 2) / 2)
        finite = channel_capacity(rows / rows.sum(axis=1, keepdims=True), 1e-10)
        assert finite.lower == pytest.approx(amplitude_capacity(amplitude).value, abs=1e-5)
        assert finite.lower <= amplitude_capacity(amplitude).upper + 1e-9


def test_corollary_6_is_an_upper_bound_and_not_the_capacity():
    """[WXH Cor. 6] is **false** as an equality: at A = 2 the capacity is 81 % of it, certified from above."""
    for amplitude, ratio in ((0.5, 0.9987), (1.0, 0.9719), (2.0, 0.8113), (5.0, 0.7482), (10.0, 0.7620)):
        found = amplitude_capacity(amplitude)
        printed = math.log1p(amplitude**2) / 2
        assert found.upper < printed
        assert found.value / printed == pytest.approx(ratio, abs=5.1e-5)


def test_wxh_lemma_3_information_is_convex_in_the_noise():
    """Channels of three deviations on one grid of outputs, mixed: cell distributions stand for the densities."""
    rng, values = np.random.default_rng(5), np.array([-1.0, 0.2, 1.0])
    edges = np.linspace(-4.5, 4.5, 91)
    channels = [np.diff(stats.norm.cdf((edges - values[:, None]) / s), axis=1) for s in (0.5, 1.0, 2.5)]
    channels = [rows / rows.sum(axis=1, keepdims=True) for rows in channels]

    def told(p, rows):
        return mutual_information(JointDistribution.from_matrix(p[:, None] * rows))

    for _ in range(30):
        p, share = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))
        mixed = told(p, np.tensordot(share, channels, 1))
        each = [told(p, rows) for rows in channels]
        assert mixed <= share @ each + 1e-12
        assert mixed < share @ each - 1e-4
        assert max(each) <= known_values_capacity(values / 0.5).upper + 1e-6


def test_the_input_of_bounded_power_carries_more():
    assert awgn_capacity(4.0, 2.0) == pytest.approx(math.log(3) / 2, rel=1e-15)
    assert awgn_capacity(1e-20) == pytest.approx(5e-21, rel=1e-12)
    for amplitude in (0.5, 3.0, 13.0):
        assert amplitude_capacity(amplitude).upper < awgn_capacity(amplitude**2)
    assert awgn_capacity(0.0) == 0
    assert math.isinf(awgn_capacity(math.inf))
    for bad in ((-1.0, 1.0), (1.0, 0.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.inf)):
        with pytest.raises(InvalidParameter, match=r"power must|noise_variance must"):
            awgn_capacity(*bad)


def test_zero_amplitude_carries_nothing():
    assert amplitude_capacity(0).value == amplitude_capacity(0.0).upper == 0.0


def test_known_values_carry_less_than_the_interval_and_at_most_log_k():
    for k in (2, 3, 5, 9):
        for amplitude in (0.5, 2.0, 8.0):
            found = known_values_capacity(np.linspace(-amplitude, amplitude, k))
            assert found.gap <= 1e-9
            assert found.value <= min(math.log(k), amplitude_capacity(amplitude).upper) + 1e-9
    assert known_values_capacity([-2.0, 2.0]).value == pytest.approx(two_points(2.0), abs=1e-10)
    assert known_values_capacity([5.0]).upper == pytest.approx(0.0, abs=1e-12)
    assert known_values_capacity([-1e3, 1e3]).value == pytest.approx(math.log(2), abs=1e-12)


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf, LARGEST_AMPLITUDE + 1, "1", None, True])
def test_hostile_amplitudes_are_refused(bad):
    with pytest.raises(InvalidParameter, match="amplitude must"):
        amplitude_capacity(bad)


@pytest.mark.parametrize("bad", [0, -1e-9, math.nan, math.inf, "x", None])
def test_hostile_tolerances_are_refused(bad):
    with pytest.raises(InvalidParameter, match="tol must"):
        amplitude_capacity(1.0, bad)
    with pytest.raises(InvalidParameter, match="tol must"):
        known_values_capacity([0.0, 1.0], bad)


@pytest.mark.parametrize("bad", [[], [math.nan, 1.0], [math.inf], ["a"], np.arange(5000), np.arange(1e5)[::31]])
def test_hostile_points_are_refused(bad):
    with pytest.raises(InvalidParameter, match="points"):
        known_values_capacity(bad)


# ------------------------------------------------------------------------------------------------ noise


def printed_like(value, text):
    return value == 0 if text == "0" else f"{value:.{len(text.replace('.', '').lstrip('0'))}g}" == text


@pytest.mark.parametrize("eps", VARIANCES)
def test_the_table_of_noise_variances(eps):
    printed, exact, known = VARIANCES[eps]
    assert printed_like(gaussian_noise_variance(1.0, eps, "closed_form"), printed)
    assert printed_like(gaussian_noise_variance(1.0, eps), exact)
    for k, text in known.items():
        assert printed_like(gaussian_noise_variance(1.0, eps, values=np.linspace(-1, 1, k)), text)


@pytest.mark.slow
@pytest.mark.parametrize("eps", [1e-200, 1e-9, 1e-6, 1e-3, 0.1, 0.7, 1.3, 2.2, 2.9, 3.0])
def test_the_noise_is_the_least_within_the_budget(eps):
    """With room for the sums of a machine that rounds otherwise: their last digits differ by some 1e-14."""
    amplitude = 1 / math.sqrt(gaussian_noise_variance(1.0, eps))
    assert amplitude_capacity(amplitude).upper <= eps * (1 - 5e-13)
    assert amplitude_capacity(amplitude * (1 + 1e-6)).value > eps


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 0.5, 0.571, 1.0, 1.09])
def test_the_noise_of_known_values_is_the_least_within_the_budget(eps):
    values = np.array([10.0, 11.0, 14.0])
    deviation = math.sqrt(gaussian_noise_variance(2.0, eps, values=values))
    assert known_values_capacity(values / deviation, 1e-12).value <= eps
    assert known_values_capacity(values / deviation * 1.001, 1e-11).value > eps or eps < 1e-9


def test_the_noise_scales_with_the_square_of_half_the_range():
    """T is half the range after centring: for f in [0, 1] this divides the printed noise by 4."""
    for method in ("exact", "closed_form"):
        one = gaussian_noise_variance(1.0, 0.5, method)
        assert gaussian_noise_variance(0.5, 0.5, method) == pytest.approx(one / 4, rel=1e-9)
    shifted = gaussian_noise_variance(0.5, 1.0, values=[0, 0.5, 1])
    assert shifted == pytest.approx(gaussian_noise_variance(1.0, 1.0, values=[-1, 0, 1]) / 4, rel=1e-9)


@given(st.floats(1e-4, 2.0), st.floats(1.01, 2.0))
@settings(max_examples=settings.default.max_examples // 5)
def test_less_budget_needs_more_noise_and_the_closed_form_more_still(eps, factor):
    exact = gaussian_noise_variance(1.0, eps)
    assert gaussian_noise_variance(1.0, eps / factor) > exact
    assert exact <= gaussian_noise_variance(1.0, eps, "closed_form") * (1 + 1e-9)
    assert gaussian_noise_variance(1.0, eps, values=[-1, 1]) <= exact * (1 + 1e-9)


def test_the_ends_of_the_noise():
    assert gaussian_noise_variance(1.0, 0.0) == math.inf
    assert gaussian_noise_variance(0.0, 0.5) == 0.0
    assert gaussian_noise_variance(1.0, math.inf) == 0.0
    assert gaussian_noise_variance(1.0, math.log(7), values=np.arange(-3, 4) / 3) == 0.0


def test_noise_too_small_for_its_square_is_rounded_up_and_not_to_none():
    """Found: N = 0 where T² or e^{-2ε} leaves the range of doubles, and the values were released as they are."""
    assert 0 < gaussian_noise_variance(1.0, 1e3, "closed_form") < 1e-300
    for method in ("exact", "closed_form"):
        assert 0 < gaussian_noise_variance(1e-200, 0.5, method) < 1e-300
        channel = gaussian_channel([0.0, 1e-200], 0.5, step=1e-200, reach=0, method=method)
        assert channel_capacity(channel).upper <= 0.5
    assert gaussian_noise_variance(1e200, 0.5) == math.inf
    with pytest.raises(InvalidParameter, match="entries, more than"):
        gaussian_channel([-1e200, 1e200], 0.5, step=1.0)


def test_section_5_2_laplace_noise_is_not_always_smaller():
    """[WXH §5.2] is **false** in part: at ε = 0.1, sensitivity T, the scales are 10 T against 2.1 T."""
    assert math.sqrt(gaussian_noise_variance(1.0, 0.1)) < 2.2 < 1.0 / 0.1


def test_proposition_4_the_limit_is_a_normal_tail():
    """[WXH Prop. 4] is **false** in its limit: Pr[|W - mu| >= tau] -> 2Q(tau/sqrt N), not N/tau^2."""
    variance = gaussian_noise_variance(1.0, 1.0, "closed_form")
    tau = 0.5
    limit = 2 * stats.norm.sf(tau / math.sqrt(variance))
    assert (round(limit, 3), round(variance / tau**2, 3)) == (0.206, 0.626)
    rng = np.random.default_rng(0)
    n, runs = 10_000, 4000
    mean = (2 * rng.binomial(n, 0.5, runs) - n) / n
    w = mean + rng.normal(0, math.sqrt(variance), runs)
    assert (np.abs(w) >= tau).mean() == pytest.approx(limit, abs=0.03)
    assert w.var() == pytest.approx(variance, rel=0.1)  # it does not tend to 0 either


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1.0, 0.5), "half_range must"),
        ((math.nan, 0.5), "half_range must"),
        ((math.inf, 0.5), "half_range must be a finite number >= 0"),
        (("1", 0.5), "half_range must"),
        ((1.0, -0.5), "capacity must"),
        ((1.0, math.nan), "capacity must"),
        ((1.0, None), "capacity must"),
        ((1.0, 0.5, "smith"), "method must be"),
        ((1.0, 3.5), "closed_form"),
        ((1.0, 500.0), "closed_form"),
    ],
)
def test_hostile_noise_arguments_are_refused_by_name(arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        gaussian_noise_variance(*arguments)


@pytest.mark.parametrize("values", [[0, 3], [math.nan, 1], [], [[0, 1]], ["a"]])
def test_hostile_values_are_refused(values):
    with pytest.raises(InvalidParameter, match="values must"):
        gaussian_noise_variance(1.0, 0.5, values=values)


# ----------------------------------------------------------------------------------------------- channel


@pytest.mark.parametrize("method", ["exact", "closed_form"])
@pytest.mark.parametrize("capacity", [1e-3, 0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(("k", "step", "reach"), [(2, 0.5, 4.0), (5, 1.0, 0.0), (11, 0.25, 2.0), (40, 1.0, 4.0)])
def test_the_finite_channel_is_within_the_budget(method, capacity, k, step, reach):
    """By data processing from the continuous channel; measured on the integers."""
    channel = gaussian_channel(
        np.arange(float(k)), capacity, step=max(step, 0.02 / capacity), reach=reach, method=method
    )
    assert channel_capacity(channel, 1e-11).upper <= min(capacity, math.log(k)) + 1e-12


def test_a_fine_grid_uses_nearly_all_of_the_budget():
    channel = gaussian_channel([0.0, 1.0, 2.0], 0.5, step=0.05)
    assert channel_capacity(channel, 1e-11).upper == pytest.approx(0.5, abs=2e-4)


def test_the_distribution_is_the_normal_distribution_of_each_cell():
    """Every integer against 40-digit arithmetic, tails folded into the end points."""
    values, step = np.array([0.0, 1.0, 2.5]), 0.5
    channel = gaussian_channel(values, 0.7, step=step, reach=1.0)
    deviation = mp.mpf(math.sqrt(gaussian_noise_variance(1.25, 0.7, values=values)))
    grid = channel.outputs.symbols
    weights = channel.stages[0].weights.reshape(3, len(grid))
    assert (weights.sum(axis=1) == SCALE).all()
    with mp.workdps(40):
        for x, row in zip(values, weights, strict=True):
            edges = [mp.ncdf((mp.mpf(y) + step / 2 - x) / deviation) for y in grid[:-1]]
            masses = np.diff(np.array([mp.mpf(0), *edges, mp.mpf(1)], dtype=object))
            for weight, mass in zip(row, masses, strict=True):
                assert abs(mp.mpf(int(weight)) / SCALE - mass) < 1e-14
    assert grid[0] <= -float(deviation) < grid[0] + step
    assert np.diff(grid) == pytest.approx(np.full(len(grid) - 1, step))


def test_far_tails_keep_the_support_and_their_digits():
    channel = gaussian_channel(np.arange(30.0), 2.9, step=1.0, method="closed_form")
    assert (channel.stages[0].weights >= 1).all()
    assert len(channel.stages[0].weights) == channel.n_inputs * channel.n_outputs
    matrix = channel.matrix
    assert matrix == pytest.approx(matrix[::-1, ::-1], abs=1e-15)


def test_noise_is_unbiased_away_from_the_ends():
    channel = gaussian_channel(np.arange(11.0), 0.5, step=0.5, reach=6.0)
    mean = channel.matrix @ np.array(channel.outputs.symbols)
    assert mean == pytest.approx(np.arange(11.0), abs=1e-3)


def test_without_noise_the_nearest_point_is_released():
    channel = gaussian_channel([0.0, 0.9, 2.2], math.log(3), step=1.0)
    assert channel.outputs.symbols == (0.0, 1.0, 2.0, 3.0)
    assert channel.matrix.argmax(axis=1).tolist() == [0, 1, 2]
    assert gaussian_channel([0.0, 1.0], 5.0, step=10.0).n_outputs == 2


def test_samples_follow_the_matrix():
    channel = gaussian_channel([0.0, 1.0], 0.3, step=0.5, reach=1.0)
    drawn = np.bincount(channel.sample(np.ones(40_000, int), rng=5), minlength=channel.n_outputs)
    assert stats.chisquare(drawn, 40_000 * channel.matrix[1]).pvalue > 1e-6


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"values": [10**400, 0]}, "values must be numbers"),
        ({"values": [1.0]}, "values must be two or more"),
        ({"values": [1.0, 1.0]}, "ascending"),
        ({"values": [2.0, 1.0]}, "ascending"),
        ({"values": [0.0, math.nan]}, "finite"),
        ({"values": ["a", "b"]}, "numbers"),
        ({"capacity": 0.0}, "capacity must be > 0"),
        ({"capacity": -1.0}, "capacity must"),
        ({"capacity": math.nan}, "capacity must"),
        ({"step": 0.0}, "step must be a finite number > 0"),
        ({"step": -1.0}, "step"),
        ({"step": math.inf}, "step"),
        ({"reach": -1.0}, "reach"),
        ({"reach": math.nan}, "reach"),
        ({"method": "both"}, "method must be"),
        ({"capacity": 1e-6, "step": 1e-4}, "larger step"),
        ({"capacity": 1e-280}, "larger step"),
    ],
)
def test_hostile_channel_arguments_are_refused_by_name(settings, words):
    arguments = {"values": [0.0, 1.0], "capacity": 0.5, "step": 0.5, **settings}
    with pytest.raises(InvalidParameter, match=words):
        gaussian_channel(arguments.pop("values"), arguments.pop("capacity"), **arguments)
