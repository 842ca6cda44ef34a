"""Optimal channels by linear programs, for any prior (or several), alphabet and distortion matrix.

The general route: seconds at 100 letters, where the closed forms take microseconds. The level ε enters as e**ε
times a variable, so these give the least distortion at a level; `least_level` turns that round.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sanitize._checks import number
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.tradeoff._linear_program import OptimalChannel, Program, both_ways, problem_of, single_law

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike


def optimal_dp_channel(
    epsilon: float,
    priors: ArrayLike,
    distortion_matrix: ArrayLike,
    *,
    delta: float = 0.0,
    neighbours: ArrayLike | None = None,
) -> OptimalChannel:
    """Least distortion of (ε, δ)-DP, δ by event: Σ_y (p(y|x) - e**ε p(y|x'))_+ <= δ for neighbours x, x' [ZB Def. 3].

    With several priors their largest distortion is minimised ([ZB Prop. 12], one program for a whole set).

    Parameters
    ----------
    epsilon : float
        Nats, finite and >= 0.
    priors : array-like of shape (n_x,) or (k, n_x)
        Law of X, or every extreme law of the source set.
    distortion_matrix : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    delta : float
        δ, from 0 to 1.
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)`; all pairs (local DP) when left out.

    Returns
    -------
    OptimalChannel

    Raises
    ------
    InvalidParameter, InvalidDistribution
        If a number is out of its range, a prior is no law, or a shape does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> found = optimal_dp_channel(np.log(3), [0.5, 0.5], 1 - np.eye(2))
    >>> round(found.distortion, 6), found.channel.round(6).tolist()
    (0.25, [[0.75, 0.25], [0.25, 0.75]])
    """
    laws, d = problem_of(priors, distortion_matrix)
    epsilon, delta = number("epsilon", epsilon, 0, math.inf), number("delta", delta, 0, 1)
    program = Program(laws, d)
    if delta == 0 and neighbours is None:
        program.bound_ratio(epsilon)
    else:
        program.bound_pairs(both_ways(neighbours, len(d)), epsilon, delta)
    return OptimalChannel(epsilon, *program.least_distortion())


def optimal_identifiability_channel(
    epsilon: float, prior: ArrayLike, distortion_matrix: ArrayLike, neighbours: ArrayLike | None = None
) -> OptimalChannel:
    """Least distortion of ε-identifiability: p(x, y) <= e**ε p(x', y) for neighbours x, x' (PD-I) [WYZ §3].

    Parameters
    ----------
    epsilon : float
        Nats, at least `prior_ratio` for a solution to exist.
    prior : array-like of shape (n_x,)
        Law of X, all entries positive.
    distortion_matrix : array-like of shape (n_x, n_y)
        Distortions d(x, y).
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)`; all pairs when left out.

    Raises
    ------
    InvalidParameter
        If no channel is ε-identifiable.

    Examples
    --------
    >>> import numpy as np
    >>> found = optimal_identifiability_channel(np.log(3), [0.6, 0.4], 1 - np.eye(2))
    >>> round(found.distortion, 6)
    0.25
    """
    laws, d = problem_of(prior, distortion_matrix)
    single_law(laws)
    if (laws == 0).any():
        raise InvalidDistribution(
            "prior must have positive entries: beside a letter of probability 0 no finite level holds"
        )
    program = Program(laws, d)
    program.bound_pairs(both_ways(neighbours, len(d)), number("epsilon", epsilon, 0, math.inf), 0.0, weights=laws[0])
    return OptimalChannel(epsilon, *program.least_distortion())


def optimal_max_information_channel(epsilon: float, prior: ArrayLike, distortion_matrix: ArrayLike) -> OptimalChannel:
    """Least distortion with max-information at most ε: p(y|x) <= e**ε p_Y(y) for a known prior [ZB Def. 3.3].

    Parameters
    ----------
    epsilon : float
        Nats, finite and >= 0.
    prior : array-like of shape (n_x,)
        Law of X, all entries positive.
    distortion_matrix : array-like of shape (n_x, n_y)
        Distortions d(x, y).

    Examples
    --------
    >>> import numpy as np
    >>> round(optimal_max_information_channel(np.log(1.5), [0.5, 0.5], 1 - np.eye(2)).distortion, 6)
    0.25
    """
    laws, d = problem_of(prior, distortion_matrix)
    single_law(laws)
    program = Program(laws, d)
    program.bound_by_output(number("epsilon", epsilon, 0, math.inf))
    return OptimalChannel(epsilon, *program.least_distortion())


def optimal_maximal_leakage_channel(
    distortion: float, priors: ArrayLike, distortion_matrix: ArrayLike
) -> OptimalChannel:
    """Least maximal leakage log Σ_y max_x p(y|x) with distortion at most D under every prior [ZB Def. 3.4].

    Parameters
    ----------
    distortion : float
        D, at least what the noiseless choice costs.
    priors : array-like of shape (n_x,) or (k, n_x)
        Law of X, or every extreme law of the source set.
    distortion_matrix : array-like of shape (n_x, n_y)
        Distortions d(x, y).

    Raises
    ------
    InvalidParameter
        If no channel has so little distortion.

    Examples
    --------
    >>> import numpy as np
    >>> round(optimal_maximal_leakage_channel(0.25, [0.5, 0.5], 1 - np.eye(2)).privacy, 6)
    0.405465
    """
    laws, d = problem_of(priors, distortion_matrix)
    program = Program(laws, d)
    # More than the largest distortion is as good as that, and a linear program takes finite numbers.
    return program.least_leakage(min(number("distortion", distortion, 0, math.inf), float(d.max())))


def least_level(design: Callable[[float], OptimalChannel], distortion: float) -> OptimalChannel:
    """Optimal channel at the least level whose distortion is at most D, from a design of a channel for a level.

    Parameters
    ----------
    design : callable
        Level in nats to `OptimalChannel`, with a distortion that falls as the level grows; a level at which
        none exists raises InvalidParameter and counts as too small.
    distortion : float
        D, >= 0.

    Raises
    ------
    InvalidParameter
        If no level up to 40 nats reaches D.

    Examples
    --------
    >>> import numpy as np
    >>> prior, d = [0.5, 0.3, 0.2], 1 - np.eye(3)
    >>> round(least_level(lambda eps: optimal_dp_channel(eps, prior, d), 0.2).privacy, 6)
    2.079442
    """
    distortion = number("distortion", distortion, 0, math.inf)

    def enough(level: float) -> OptimalChannel | None:
        try:
            found = design(level)
        except InvalidParameter:
            return None
        return found if found.distortion <= distortion + 1e-11 else None

    low, high, best = 0.0, 0.5, enough(0.0)
    if best is not None:
        return best
    while (best := enough(high)) is None:
        if high > 20:
            raise InvalidParameter(f"distortion must be reachable by some level up to 40 nats, got {distortion:.12g}")
        low, high = high, 2 * high
    while high - low > 1e-10 * max(high, 1e-3):
        middle = (low + high) / 2
        found = enough(middle)
        if found is None:
            low = middle
        else:
            high, best = middle, found
    return best
