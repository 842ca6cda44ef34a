"""Least Sibson information of order α at a distortion, for any prior and distortion matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sanitize._checks import number
from sanitize.tradeoff._barrier import SibsonNorm
from sanitize.tradeoff._linear_program import OptimalChannel, problem_of
from sanitize.tradeoff._optimal import optimal_maximal_leakage_channel
from sanitize.tradeoff._rate_distortion import SOUGHT, least_informed, optimal_mutual_information_channel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def optimal_sibson_channel(
    distortion: float, prior: ArrayLike, distances: ArrayLike, alpha: float, tol: float = 1e-7
) -> OptimalChannel:
    """Least Sibson information I_α(X;Y) with expected distortion at most D, with a certificate [ZB Def. 3.6].

    Σ_y (Σ_x P p(y|x)**α)**(1/α) is convex in the channel; Newton's method inside the channels minimises it and stops
    when its first-order lower bound is within the tol. α = 1 is mutual information, inf maximal leakage.

    Parameters
    ----------
    distortion : float
        D, at least the distortion of the best deterministic choice.
    prior : array-like of shape (n_x,)
        Law of X.
    distances : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    alpha : float
        Order, at least 1.
    tol : float
        Largest gap to the optimum in nats, from 1e-12 to 1.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range, or doubles cannot prove the tol.

    Examples
    --------
    >>> import numpy as np
    >>> found = optimal_sibson_channel(0.25, [0.5, 0.5], 1 - np.eye(2), 2)
    >>> round(found.privacy, 6)
    0.223144
    """
    alpha, tol = number("alpha", alpha, 1, math.inf), number("tol", tol, 1e-12, 1)
    if alpha == 1:
        return optimal_mutual_information_channel(distortion, prior, distances, tol)
    if math.isinf(alpha):
        return optimal_maximal_leakage_channel(distortion, prior, distances)
    problem = problem_of(prior, distances)

    def nats(norm: float) -> float:
        return alpha / (alpha - 1) * math.log(max(norm, 1.0))

    # The logarithm is taken of norms of 1 and more.
    gap = min(tol, SOUGHT) * (alpha - 1) / alpha
    return least_informed(problem, distortion, lambda p: SibsonNorm(p, alpha), gap, tol, nats)
