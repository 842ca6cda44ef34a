"""Least mutual information at a distortion (rate-distortion function) for any prior and distortion matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import number
from sanitize.errors import InvalidParameter
from sanitize.tradeoff._barrier import Information, MutualInformation, least_information
from sanitize.tradeoff._linear_program import OptimalChannel, Problem, problem_of, single_law
from sanitize.tradeoff._local import best_constant
from sanitize.tradeoff._measured import rounded_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

_ROUNDING = 1e-12
# Gap that is sought, in nats; how much of it doubles can prove differs between machines, so less is asked.
SOUGHT = 1e-9


def optimal_mutual_information_channel(
    distortion: float, prior: ArrayLike, distances: ArrayLike, tol: float = 1e-7
) -> OptimalChannel:
    """Least I(X;Y) with expected distortion at most D, with a certificate [WYZ PD-MIP].

    Newton's method inside the channels; it stops when the first-order lower bound, which holds for every channel, is
    within the tol. So the value is proved to that many nats, also beside the distortion where an output is
    given up, at which alternating updates hardly move.

    Parameters
    ----------
    distortion : float
        D, at least the distortion of the best deterministic choice.
    prior : array-like of shape (n_x,)
        Law of X.
    distances : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    tol : float
        Largest gap to the optimum in nats, from 1e-13 to 1.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range, or doubles cannot prove the tol.

    Examples
    --------
    >>> import numpy as np
    >>> found = optimal_mutual_information_channel(0.2, [0.5, 0.3, 0.2], 1 - np.eye(3))
    >>> round(found.privacy, 6)
    0.390621
    """
    problem = problem_of(prior, distances)
    tol = number("tol", tol, 1e-13, 1)
    gap = min(tol, SOUGHT)
    return least_informed(problem, distortion, MutualInformation, gap, tol, lambda value: value)


def least_informed(
    problem: Problem,
    distortion: float,
    notion: Callable[[Vector], Information],
    gap: float,
    tol: float,
    nats: Callable[[float], float],
) -> OptimalChannel:
    """Channel of the least information of a notion with at most D spent.

    The notion is minimised to a ``gap`` in its own unit, and turned into ``nats`` to be held against the tol.
    """
    law, floor = single_law(problem.laws), float(problem.floor[0])
    least = problem.unit * floor
    limit = number("distortion", distortion, least * (1 - _ROUNDING), math.inf) / problem.unit - floor
    if limit >= problem.constants.min():
        channel = best_constant(problem)
        return OptimalChannel(0.0, problem.distortion(channel), channel)
    kept = law > 0
    information = notion(law[kept] / law[kept].sum())
    found = least_information(information, problem.d[kept], max(0.0, limit * (1 - _ROUNDING)), gap)
    value = nats(found.value)
    if value - nats(max(found.lower, 0.0)) > tol:
        raise InvalidParameter(f"tol must be one that doubles can prove at this distortion, got {tol:g}")
    channel = np.zeros_like(problem.d)
    channel[kept] = found.channel
    channel[~kept, int((law[kept] @ found.channel).argmax())] = 1.0
    return OptimalChannel(rounded_up(max(0.0, value)), problem.distortion(channel), channel)
