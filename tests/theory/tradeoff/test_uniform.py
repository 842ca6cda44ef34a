"""Privacy-distortion functions: closed forms against programs, enumeration and high precision; the paper's errors."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from uniform_cases import INF, SIZES, dp_level, mean_distance

from sanitize.core.conversions import binary_entropy
from sanitize.theory import tradeoff as td
from sanitize.theory.notions import hamming_neighbours

mpmath.mp.dps = 50

LN2 = math.log(2)

ORDERS = (1.0, 1 + 1e-9, 1.5, 2.0, 8.0, 100.0, INF)

SHARES = (1e-12, 1e-3, 0.1, 0.35, 0.8, 0.999)  # of the largest useful distortion n(m-1)/m


def uniform(n: int, m: int) -> np.ndarray:
    return np.full(m**n, float(m) ** -n)


def sibson(prior: np.ndarray, channel: np.ndarray, alpha: float) -> float:
    if math.isinf(alpha):
        return math.log(channel.max(axis=0).sum())
    if alpha == 1:
        out = prior @ channel
        ratio = np.divide(channel, out, where=channel > 0, out=np.ones_like(channel))
        return float(prior @ (channel * np.log(ratio)).sum(axis=1))
    top = channel.max(axis=0)
    return float(alpha / (alpha - 1) * np.log((top * (prior @ (channel / top) ** alpha) ** (1 / alpha)).sum()))


def renyi(p: np.ndarray, q: np.ndarray, alpha: float):
    """Rényi divergence in high precision."""
    a, one = mpmath.mpf(alpha), [(mpmath.mpf(x), mpmath.mpf(y)) for x, y in zip(p, q, strict=True)]
    if alpha == 1:
        return sum(x * mpmath.log(x / y) for x, y in one)
    return mpmath.log(sum(x**a * y ** (1 - a) for x, y in one)) / (a - 1)


# --- Class I ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "m", "delta"),
    [(n, m, delta) for n, m in SIZES[:-1] for delta in (0.0, 1e-12, 0.1) if delta == 0 or m**n <= 5],
)
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 2.0])
def test_zb_theorem_7_dp_is_the_optimum_of_the_global_linear_program(n, m, delta, epsilon) -> None:
    program = td.OptimalDP(uniform(n, m), td.hamming_distances(n, m), delta, hamming_neighbours(n, m))
    family = td.UniformDP(n, m, delta)
    closed = family.distortion(epsilon)
    assert program.distortion(epsilon) == pytest.approx(closed, abs=1e-8)
    assert family.privacy(closed) == pytest.approx(epsilon, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_the_optimal_dp_channel_has_its_level_and_distortion(n: int, m: int, delta: float) -> None:
    prior, family = np.random.default_rng(2).dirichlet(np.ones(m**n)), td.UniformDP(n, m, delta)
    for share in SHARES[1:]:
        distortion = share * (1 - delta) * n * (m - 1) / m
        channel = family.channel(distortion).matrix
        assert mean_distance(prior, channel, n, m) == pytest.approx(distortion)
        assert dp_level(channel, n, m, delta) == pytest.approx(family.privacy(distortion), abs=1e-9)
    assert td.UniformDP(n, m).channel(n).matrix == pytest.approx(uniform(n, m)[0])


def test_dp_has_its_ends() -> None:
    assert td.UniformDP(2, 3).privacy(0) == INF
    assert td.UniformDP(2, 3, 1).privacy(0) == td.UniformDP(2, 3).privacy(4 / 3) == td.UniformDP(2, 3).privacy(2) == 0
    assert td.UniformDP(2, 3).distortion(INF) == 0
    assert (td.UniformDP(1, 3).channel(0).matrix == np.eye(3)).all()


def entrywise_optimum(epsilon: float, n: int, m: int, delta: float) -> float:
    """The program with δ on every entry: no auxiliary variables."""
    size, distances = m**n, td.hamming_distances(n, m)
    pairs = np.argwhere(distances == 1)
    rows = np.zeros((len(pairs) * size, size * size))
    index = np.arange(len(rows))
    y = np.tile(np.arange(size), len(pairs))
    rows[index, np.repeat(pairs[:, 0], size) * size + y] = 1
    rows[index, np.repeat(pairs[:, 1], size) * size + y] = -math.exp(epsilon)
    sums = np.kron(np.eye(size), np.ones(size))
    cost = distances.ravel() / size
    found = linprog(cost, A_ub=rows, b_ub=np.full(len(rows), delta), A_eq=sums, b_eq=np.ones(size), method="highs")
    return float(found.fun)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (1, 3), (2, 2), (2, 3)])
def test_entrywise_delta_has_its_own_optimum_which_is_not_the_printed_product(n: int, m: int) -> None:
    epsilon, delta = 0.6, 0.05
    best = entrywise_optimum(epsilon, n, m, delta)
    assert best == pytest.approx((1 - m ** (n - 1) * delta) * td.UniformDP(n, m).distortion(epsilon), abs=1e-8)
    assert td.UniformDP(n, m, delta).entrywise_privacy(best) == pytest.approx(epsilon, abs=1e-7)
    d = best / n
    printed = math.log((m - 1) * ((1 - d) - delta / (1 - d) ** (n - 1)) / d)
    if n == 1:
        assert printed == pytest.approx(epsilon, abs=1e-7)
        assert td.UniformDP(1, m, delta).privacy(best) == pytest.approx(epsilon, abs=1e-7)
    else:
        assert printed > epsilon + 1e-3


def test_entrywise_delta_is_vacuous() -> None:
    """Reveal x with a uniform tag of K values: entries differ by 1/K, yet some event tells x from x' for sure."""
    n_tags = 1000
    channel = np.kron(np.eye(2), np.full(n_tags, 1 / n_tags))
    assert np.abs(channel[0] - channel[1]).max() <= 1 / n_tags
    assert np.maximum(channel[0] - channel[1], 0).sum() == pytest.approx(1)


@pytest.mark.parametrize("m", [2, 3, 7])
@pytest.mark.parametrize("alpha", ORDERS[:-1])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 2.0, 50.0])
def test_renyi_dp_is_the_divergence_of_two_rows_in_high_precision(m: int, alpha: float, epsilon: float) -> None:
    e = mpmath.exp(mpmath.mpf(epsilon))
    row = [e / (e + m - 1)] + [1 / (e + m - 1)] * (m - 1)
    other = [row[1], row[0], *row[2:]]
    distortion = td.UniformDP(1, m).distortion(epsilon)
    # D near its end keeps few digits of ε: compare at the ε that the double D stands for.
    level = mpmath.log((m - 1) * (1 - mpmath.mpf(distortion)) / mpmath.mpf(distortion))
    e = mpmath.exp(level)
    row = [e / (e + m - 1)] + [1 / (e + m - 1)] * (m - 1)
    other = [row[1], row[0], *row[2:]]
    family = td.UniformRenyiDP(1, m, alpha)
    found = family.privacy(distortion)
    assert found == pytest.approx(float(renyi(row, other, alpha)), rel=1e-8, abs=0)
    assert td.UniformRenyiDP(3, m, alpha).privacy(3 * distortion) == pytest.approx(found, rel=1e-8, abs=0)
    assert family.distortion(found) == pytest.approx(distortion, rel=1e-7, abs=0)


def test_renyi_dp_has_its_ends() -> None:
    assert td.UniformRenyiDP(1, 3, INF).privacy(0.2) == td.UniformDP(1, 3).privacy(0.2)
    family = td.UniformRenyiDP(1, 3, 2)
    assert (family.privacy(0), family.privacy(0.9), family.distortion(INF)) == (INF, 0, 0)
    for alpha, exponent in ((1.0, 800.0), (2.0, 690.0), (100.0, 50.0)):
        tiny = td.UniformDP(1, 2).distortion(min(exponent, 700.0))
        assert td.UniformRenyiDP(1, 2, alpha).privacy(tiny) > 0


def convex_optimum(objective, gradient, n: int, m: int, distortion: float, starts: int = 3) -> float:
    """SLSQP over all channels of m**n letters, without symmetry: a convex objective."""
    size, rng = m**n, np.random.default_rng(5)
    distances = td.hamming_distances(n, m).ravel() / size
    sums = np.kron(np.eye(size), np.ones(size))
    best = INF
    for _ in range(starts):
        start = td.UniformDP(n, m).channel(0.9 * distortion).matrix.ravel() * (1 + 0.05 * rng.random(size**2))
        found = minimize(
            objective,
            start,
            jac=gradient,
            method="SLSQP",
            bounds=[(1e-9, 1)] * size**2,
            options={"maxiter": 400, "ftol": 1e-13},
            constraints=[
                {"type": "eq", "fun": lambda v: sums @ v - 1, "jac": lambda v: sums},
                {"type": "ineq", "fun": lambda v: distortion - distances @ v, "jac": lambda v: -distances},
            ],
        )
        if abs(sums @ found.x - 1).max() < 1e-8 and distances @ found.x <= distortion + 1e-8:
            best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize(("n", "m", "distortion", "alpha"), [(1, 3, 0.3, 2.0), (2, 2, 0.5, 2.0), (2, 2, 0.6, 8.0)])
def test_sibson_information_is_the_optimum_of_the_convex_program(n, m, distortion, alpha) -> None:
    prior = uniform(n, m)

    def norm(v):
        return float(((prior @ v.reshape(m**n, -1) ** alpha) ** (1 / alpha)).sum())

    def gradient(v):
        cells = v.reshape(m**n, -1)
        inner = (prior @ cells**alpha) ** (1 / alpha - 1)
        return (prior[:, None] * cells ** (alpha - 1) * inner).ravel()

    best = alpha / (alpha - 1) * math.log(convex_optimum(norm, gradient, n, m, distortion))
    value = td.UniformSibson(n, m, alpha).privacy(distortion)
    assert value == pytest.approx(best, abs=2e-5)
    assert value <= best + 1e-7


@pytest.mark.parametrize(("n", "m", "alpha"), [(1, 3, 2.0), (2, 2, 1.5), (2, 2, 3.0)])
def test_renyi_dp_is_the_optimum_of_the_convex_program(n: int, m: int, alpha: float) -> None:
    """Epigraph over the ordered pairs of neighbours, without symmetry; the closed form is the least top."""
    size, distortion = m**n, 0.3 * n
    pairs = np.argwhere(td.hamming_distances(n, m) == 1)
    distances, sums = td.hamming_distances(n, m).ravel() / size, np.kron(np.eye(size), np.ones(size))

    def slack(v):
        cells = v[:-1].reshape(size, size)
        return v[-1] - (cells[pairs[:, 0]] ** alpha * cells[pairs[:, 1]] ** (1 - alpha)).sum(axis=1)

    start = np.append(td.UniformDP(n, m).channel(0.8 * distortion).matrix.ravel(), 10.0)
    found = minimize(
        lambda v: v[-1],
        start,
        method="SLSQP",
        bounds=[(1e-3, 1)] * size**2 + [(1, 100)],
        options={"maxiter": 300, "ftol": 1e-14},
        constraints=[
            {"type": "ineq", "fun": slack},
            {"type": "eq", "fun": lambda v: sums @ v[:-1] - 1},
            {"type": "ineq", "fun": lambda v: distortion - distances @ v[:-1]},
        ],
    )
    assert slack(found.x).min() > -1e-7
    best = math.log(found.fun) / (alpha - 1)
    assert td.UniformRenyiDP(n, m, alpha).privacy(distortion) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_maximal_leakage_is_the_optimum_of_the_linear_program(n: int, m: int, share: float) -> None:
    distortion = share * n * (m - 1) / m
    program = td.OptimalSibson(uniform(n, m), td.hamming_distances(n, m), INF)
    assert td.UniformSibson(n, m, INF).privacy(distortion) == pytest.approx(program.privacy(distortion), abs=1e-8)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 2), (2, 3)])
def test_max_information_is_the_optimum_of_the_linear_program_at_the_uniform_prior(n: int, m: int) -> None:
    for share in (0.2, 0.6, 0.95):
        distortion = share * n * (m - 1) / m
        level = td.UniformSibson(n, m, INF).privacy(distortion)
        program = td.OptimalMaxInformation(uniform(n, m), td.hamming_distances(n, m))
        assert program.distortion(level) == pytest.approx(distortion, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("share", SHARES[1:])
def test_the_optimal_shell_channels_have_their_information_and_distortion(n, m, alpha, share) -> None:
    distortion, prior, family = share * n * (m - 1) / m, uniform(n, m), td.UniformSibson(n, m, alpha)
    channel, value = family.channel(distortion).matrix, family.privacy(distortion)
    assert channel.sum(axis=1) == pytest.approx(1)
    assert mean_distance(prior, channel, n, m) == pytest.approx(distortion)
    near = 1e-5 if alpha == 1 + 1e-9 else 1e-9  # the plain formula divides by alpha - 1
    assert value == pytest.approx(sibson(prior, channel, alpha), rel=1e-6, abs=near)
    assert family.distortion(value) == pytest.approx(distortion, rel=1e-5, abs=0)
    assert value <= family.product_bound(distortion) + 1e-12
    if n == 1 or alpha == 1:
        assert value == pytest.approx(family.product_bound(distortion), abs=1e-12)


def test_the_known_values_of_sibson_and_leakage() -> None:
    two_bits = td.UniformSibson(2, 2, INF)
    assert round(two_bits.privacy(0.7), 4) == 0.2624
    assert round(td.UniformSibson(2, 2, 8).privacy(0.6), 4) == 0.3652
    for d, m in ((0.1, 2), (0.4, 3), (0.7, 10)):
        assert td.UniformSibson(1, m, INF).privacy(d) == pytest.approx(math.log(m * (1 - d)))
    for n, m in ((2, 2), (3, 4), (7, 3)):
        ball = n * (m - 1) / (1 + n * (m - 1))
        lower, family = (1 - ball) * 1.01, td.UniformSibson(n, m, INF)
        assert family.privacy(0.9 * ball) == pytest.approx(math.log(m**n * (1 - 0.9 * ball)))
        assert family.privacy(1 - lower / 1.1) > math.log(m**n * lower / 1.1)
    assert td.UniformSibson(3, 2, INF).privacy(0) == pytest.approx(3 * LN2)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 2), (5, 3), (60, 4), (400, 2)])
def test_maximal_leakage_is_the_height_of_the_filled_shells_in_exact_arithmetic(n: int, m: int) -> None:
    sizes, family = [math.comb(n, j) * (m - 1) ** j for j in range(n + 1)], td.UniformSibson(n, m, INF)
    for power in (0, 1, n // 3, n - 1):
        height = Fraction(1, 3 * m**power) if power else Fraction(1)
        if height * m**n <= 1:
            continue
        rest, distortion = Fraction(1), Fraction(0)
        for j, size in enumerate(sizes):
            filled = min(height * size, rest)
            rest, distortion = rest - filled, distortion + j * filled
        exact = float(mpmath.log(mpmath.mpf(m) ** n * height.numerator / height.denominator))
        assert family.privacy(float(distortion)) == pytest.approx(exact, abs=1e-9 * n)
        assert family.distortion(exact) == pytest.approx(float(distortion), abs=1e-9)


def test_zb_theorem_17_the_product_is_not_optimal_for_maximal_leakage() -> None:
    family = td.UniformSibson(2, 2, INF)
    best, printed = family.privacy(0.7), family.product_bound(0.7)
    assert (round(best, 4), round(printed, 4)) == (0.2624, 0.5247)
    channel = family.channel(0.7).matrix
    assert math.log(channel.max(axis=0).sum()) == pytest.approx(best)
    assert mean_distance(uniform(2, 2), channel, 2, 2) == pytest.approx(0.7)


def test_zb_theorem_17_the_product_is_not_optimal_for_sibson_information() -> None:
    family = td.UniformSibson(2, 2, 8)
    best, printed = family.privacy(0.6), family.product_bound(0.6)
    assert (round(best, 4), round(printed, 4)) == (0.3652, 0.5714)
    assert sibson(uniform(2, 2), family.channel(0.6).matrix, 8) == pytest.approx(best)


def test_zb_lemma_16_2_holds_for_identical_factors_only() -> None:
    """One record in the clear and one hidden beat two half-noisy ones, since the leakage is concave in D."""
    identical = td.UniformSibson(2, 2, INF).product_bound(0.5)
    one = td.UniformSibson(1, 2, INF)
    different = one.privacy(0.0) + one.privacy(0.5)
    assert (round(identical, 3), round(different, 3)) == (0.811, 0.693)


def test_zb_lemma_21_2_maximal_leakage_is_not_convex() -> None:
    family = td.UniformSibson(1, 2, INF)
    low, high = family.privacy(0.1), family.privacy(0.3)
    assert family.privacy(0.2) > (low + high) / 2
    # As a function of the channel it is quasi-convex, and its exponential convex.
    a, b = td.UniformDP(1, 2).channel(0.1).matrix, td.UniformDP(1, 2).channel(0.3).matrix
    mixed = sibson(uniform(1, 2), (a + b) / 2, INF)
    assert mixed > (sibson(uniform(1, 2), a, INF) + sibson(uniform(1, 2), b, INF)) / 2
    assert math.exp(mixed) <= (math.exp(low) + math.exp(high)) / 2 + 1e-12


def test_zb_definition_1_a_source_set_is_not_without_loss_its_convex_hull() -> None:
    """{(.9,.1), (.1,.9)} at D = .1: the mixture (.5,.5) has the larger information under the same channel."""
    channel = td.UniformDP(1, 2).channel(0.1).matrix
    worst = max(sibson(np.array(p), channel, 1) for p in ((0.9, 0.1), (0.1, 0.9)))
    told = td.UniformSibson(1, 2, 1).privacy(0.1)
    assert worst < 0.147 < 0.36 < told
    assert told == pytest.approx(LN2 - binary_entropy(0.1))


@pytest.mark.parametrize(("n", "m"), [(1, 2), (1, 5), (2, 2), (3, 4)])
def test_nothing_leaks_from_the_distortion_of_a_blind_guess_on(n: int, m: int) -> None:
    blind = n * (m - 1) / m
    for distortion in (blind, (blind + n) / 2, n):
        levels = [td.UniformSibson(n, m, alpha).privacy(distortion) for alpha in ORDERS]
        assert levels == pytest.approx([0] * len(levels), abs=1e-12)
        assert all(td.UniformSibson(n, m, alpha).privacy(0.99 * blind) > 0 for alpha in ORDERS)


def test_zb_lemma_20_sibson_and_renyi_grow_with_the_order_between_their_ends() -> None:
    for n, m, d in ((1, 3, 0.2), (2, 2, 0.6), (3, 4, 1.0)):
        values = [td.UniformSibson(n, m, a).privacy(d) for a in ORDERS]
        assert values == sorted(values)
        told = n * (math.log(m) - binary_entropy(d / n)) - d * math.log(m - 1)
        leaked = math.log(td.UniformSibson(n, m, INF).channel(d).matrix.max(axis=0).sum())
        assert (values[0], values[-1]) == pytest.approx((told, leaked), abs=1e-12)
        orders = [td.UniformRenyiDP(n, m, a).privacy(d) for a in ORDERS]
        assert orders == sorted(orders)
        assert orders[-1] == td.UniformDP(n, m).privacy(d)


@pytest.mark.parametrize(("n", "m", "distortion"), [(1, 3, 0.25), (2, 2, 0.3), (2, 3, 0.8)])
def test_uniform_mutual_information_is_the_rate_distortion_function(n, m, distortion) -> None:
    program = td.OptimalSibson(uniform(n, m), td.hamming_distances(n, m), 1, tol=1e-11)
    family = td.UniformSibson(n, m, 1)
    value = family.privacy(distortion)
    assert value == pytest.approx(program.privacy(distortion), abs=1e-9)
    d = mpmath.mpf(distortion) / n
    entropy = -d * mpmath.log(d) - (1 - d) * mpmath.log(1 - d)
    exact = n * (mpmath.log(m) - entropy) - distortion * mpmath.log(m - 1)
    assert value == pytest.approx(float(exact), rel=1e-12, abs=0)
    assert family.distortion(value) == pytest.approx(distortion)
    assert family.distortion(n * math.log(m)) == 0


def test_zb_theorem_7_3_symmetric_max_information_bounds_the_optimum_from_above() -> None:
    d = 1 - np.eye(3)
    for prior in ([0.5, 0.3, 0.2], [0.7, 0.2, 0.1], [1 / 3] * 3):
        for distortion in (0.05, 0.2, 0.5):
            bound = td.max_information_bound(distortion, 3, min(prior))
            channel = td.UniformDP(1, 3).channel(distortion).matrix
            assert math.log((channel / (prior @ channel)).max()) == pytest.approx(bound)
            best = td.OptimalMaxInformation(prior, d).at_distortion(distortion)
            assert best.privacy <= bound + 1e-8
            if prior[0] == prior[2]:
                assert best.privacy == pytest.approx(bound, abs=1e-7)
    assert td.max_information_bound(0.8, 3, 0.1) == 0
    assert td.max_information_bound(0.0, 3, 0.0) == INF


@pytest.mark.parametrize(("n", "m"), [(1, 2), (1, 10**6), (200, 2)])
def test_extreme_distortions_and_levels_give_numbers(n: int, m: int) -> None:
    top = n * (m - 1) / m
    for distortion in (0.0, 5e-324, 1e-300, 1e-16, float(np.nextafter(top, 0)), top, float(n)):
        levels = [td.UniformDP(n, m).privacy(distortion), td.UniformSibson(n, m, 1).privacy(distortion)]
        levels += [td.UniformRenyiDP(n, m, alpha).privacy(distortion) for alpha in (1, 1 + 2**-52, 2, 1e300)]
        told = [td.UniformSibson(n, m, alpha).privacy(distortion) for alpha in (1, 1 + 2**-52, 2, 1e300)]
        assert min(levels + told) >= 0
        assert max(told) <= n * math.log(m) * (1 + 1e-12)
    for level in (5e-324, 1e-300, 1e-16, 700.0, 745.0, 1e300):
        for alpha in (1, 1 + 2**-52, 2, 1e300):
            assert 0 <= td.UniformRenyiDP(n, m, alpha).distortion(level) <= top
            assert 0 <= td.UniformSibson(n, m, alpha).distortion(level) <= top
    assert td.PriorDP([0.5, 0.5]).privacy(5e-324) == pytest.approx(744.4, abs=0.1)
