"""Channel capacity with certified lower and upper bounds, and the largest mutual information of ε-LDP channels."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from sanitize._util.checks import Vector, check_number, non_negative
from sanitize.core.capacity._blahut_arimoto import ChainKernel, DenseKernel, Kernel, solve
from sanitize.core.channel import Channel, ReducedChannel, channel_matrix


class Bracketed(float):
    """Float known to lie between two ends; its value is the upper end, so that leakage is never understated.

    Attributes
    ----------
    lower, upper : float
        Ends in nats. They are computed in double precision and carry rounding of about 1e-15.
    """

    lower: float
    upper: float

    def __new__(cls, lower: float, upper: float) -> Self:
        """Return a bracket with these ends."""
        instance = super().__new__(cls, upper)
        instance.lower, instance.upper = float(lower), float(upper)
        return instance

    @property
    def gap(self) -> float:
        """Upper minus lower end, in nats."""
        return self.upper - self.lower

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())


class Capacity(Bracketed):
    """Bracket of a channel's capacity, with the input distribution that attains its lower end.

    Attributes
    ----------
    lower : float
        I(X;Y) in nats under ``input_distribution``; the capacity is at least this.
    upper : float
        Largest KL divergence of a row from the output distribution, in nats; the capacity is at most this.
    input_distribution : ndarray of shape (n_x,)
        Distribution of X.
    iterations : int
        Passes over the channel plus Newton steps.
    """

    input_distribution: Vector
    iterations: int

    def __new__(cls, lower: float, upper: float, input_distribution: Vector, iterations: int) -> Self:
        """Return a bracket of the capacity, with the input distribution that attains its lower end."""
        instance = super().__new__(cls, lower, upper)
        instance.input_distribution, instance.iterations = input_distribution, iterations
        return instance


def channel_capacity(channel: Channel | ArrayLike | Any, tol: float = 1e-9) -> Capacity:
    """Capacity C = max over P_X of I(X;Y), in nats, as a certified bracket.

    For any input distribution, I(X;Y) <= C <= max_x KL(P(y|x) || P(y)): both ends hold whatever the solver did. C is
    the largest Shannon leakage of X over all priors, hence of any S with S - X - Y [WXH Def. 5, n = 1].

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        The sparse stages of a Channel are used as they are, so randomized response on 100,000 symbols is fast.
    tol : float
        Requested gap in nats, > 0. Rounding stops progress near 1e-13. The gap may stay wider for a chain of stages
        that is too large for second-order steps; ``gap`` is the gap reached.

    Returns
    -------
    Capacity

    Raises
    ------
    InvalidChannel
        If the channel is not a row-stochastic matrix.
    InvalidParameter
        If ``tol`` is not a finite number > 0.

    Examples
    --------
    >>> z_channel = [[1.0, 0.0], [0.5, 0.5]]
    >>> capacity = channel_capacity(z_channel)
    >>> round(float(capacity), 6), capacity.gap <= 1e-9   # ln(5/4)
    (0.223144, True)
    >>> capacity.input_distribution.round(4)
    array([0.6, 0.4])
    """
    tol = check_tol(tol)
    channel = getattr(channel, "channel_", channel)
    if not isinstance(channel, Channel):
        solution = solve(DenseKernel(channel_matrix(channel)), tol)
        return Capacity(solution.lower, solution.upper, solution.distribution, solution.steps)
    reduced = ReducedChannel.from_channel(channel)
    sizes = np.bincount(reduced.states)
    if not reduced.stages:  # Y determines the state, so the channel is noiseless
        value = math.log(reduced.n_states)
        return Capacity(value, value, (1 / (reduced.n_states * sizes))[reduced.states], 0)
    kernel: Kernel = ChainKernel(reduced)
    # Up to 32 MB, one product with a matrix is faster than several with the stages of a chain.
    if kernel.n_inputs * kernel.n_outputs <= 1 << 22:
        kernel = DenseKernel(kernel.rows(np.arange(kernel.n_inputs)))
    solution = solve(kernel, tol)
    # Inputs with equal rows share the mass of their state equally.
    return Capacity(solution.lower, solution.upper, (solution.distribution / sizes)[reduced.states], solution.steps)


def dp_information_bound(eps: float) -> float:
    """Supremum of I(X;Y) over all ε-LDP channels and all priors: z - 1 - ln z with z = ε e^ε / (e^ε - 1).

    It sharpens the printed I <= ε for independent records [WXH Cor. 1], and is about ε²/8 for small ε. Subset
    mechanisms over growing alphabets approach it, so it is a supremum, not a maximum. For a mechanism on
    databases it bounds I(X_i;Y) under every product prior, and ε-MI-DP [CY].

    Parameters
    ----------
    eps : float
        LDP level of the channel in nats, >= 0; inf allowed.

    Returns
    -------
    float
        Nats.

    Raises
    ------
    InvalidParameter
        If ``eps`` is negative or not a number.

    Examples
    --------
    >>> [round(dp_information_bound(eps), 4) for eps in (0.0, 1.0, 2.0)]
    [0.0, 0.1233, 0.4745]
    """
    eps = non_negative("eps", eps)
    if math.isinf(eps):
        return math.inf
    if eps == 0:
        return 0.0
    if eps > 1:
        z = eps / -math.expm1(-eps)
        return z - 1 - math.log(z)
    # Both differences are of second order in ε; as integrals of positive functions they do not cancel:
    # e^-ε - 1 + ε = ε² ∫ (1-t) e^{-εt} dt, and u - ln(1+u) = u² ∫ t / (1+ut) dt, over 0 <= t <= 1.
    nodes, weights = leggauss(20)
    t, weights = (nodes + 1) / 2, weights / 2
    u = eps**2 * float(weights @ ((1 - t) * np.exp(-eps * t))) / -math.expm1(-eps)
    return u**2 * float(weights @ (t / (1 + u * t)))


def check_tol(tol: float) -> float:
    """Return the requested gap of a bracket; refuse anything but a finite number > 0."""
    return check_number("tol", tol, "be a finite number > 0", lambda value: 0 < value < math.inf)
