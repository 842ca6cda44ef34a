"""Optimal channels by linear programs, for any prior (or several), alphabet and distortion matrix.

The general route: up to seconds at 100 letters, where the closed forms take microseconds. Programs propose; what
is returned has been repaired where rounding or tolerances need it, and carries the level measured on it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import number
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.notions import prior_ratio
from sanitize.tradeoff._events import held_to_events, improved, revealed
from sanitize.tradeoff._linear_program import OptimalChannel, Problem, both_ways, problem_of, single_law
from sanitize.tradeoff._local import (
    best_constant,
    blended,
    demanded,
    filled_up,
    identifiable,
    identifiable_part,
    sharp_part,
    with_floor,
)
from sanitize.tradeoff._measured import (
    measured_dp,
    measured_identifiability,
    measured_max_information,
    measured_maximal_leakage,
    normalised,
    within,
)
from sanitize.tradeoff._neighbours import proposed, steps_between
from sanitize.tradeoff._outputs import held_to_outputs, least_informative, least_leakage, least_leakage_of_many

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

# Beyond, e**-ε is no double of full precision; a channel of this level does.
_LARGEST = 700.0
# What a repair may cost, relative and in units of the largest distortion, before a channel is refused.
_REPAIR, _REPAIR_UNITS = 1e-6, 1e-18
# How far above ε the level of a channel may be stated where it cannot be repaired.
_ABOVE = 1e-9
_ROUNDING = 1e-12


def optimal_dp_channel(
    eps: float,
    priors: ArrayLike,
    distances: ArrayLike,
    *,
    delta: float = 0.0,
    neighbours: ArrayLike | None = None,
) -> OptimalChannel:
    """Least distortion of (ε, δ)-DP, δ by event: Σ_y (p(y|x) - e**ε p(y|x'))_+ <= δ for neighbours x, x' [ZB Def. 3].

    With several priors their largest distortion is minimised ([ZB Prop. 12], one program for a whole set). The
    channel is measured before it is returned; its level is at most ε, and below it by rounding only where ε binds.
    For δ > 0 and more than 400 cells the channel is δ times the noiseless choice and 1-δ times the optimum of δ = 0:
    optimal for Hamming distances, and for others never above the limits, but possibly not the best. The same holds
    for δ > 0 and levels above 12 nats, where a program of absolute tolerances cannot tell e**-ε from nothing.

    Parameters
    ----------
    eps : float
        Nats, >= 0; levels above 700 are met by 700.
    priors : array-like of shape (n_x,) or (k, n_x)
        Law of X, or every extreme law of the source set.
    distances : array-like of shape (n_x, n_y)
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
    problem = problem_of(priors, distances)
    eps = min(number("eps", eps, 0, math.inf), _LARGEST)
    delta = number("delta", delta, 0, 1)
    pure: Callable[[float], Vector]
    if neighbours is None:
        pure = partial(blended, sharp_part(problem, eps) if eps > 0 else best_constant(problem))
    else:
        pure = _among_neighbours(problem, np.ones(len(problem.d)), eps, neighbours)

    def measure(channel: Vector) -> float:
        return measured_dp(channel, delta, neighbours)

    best = within(lambda level: revealed(problem, pure(level), delta), eps, measure)
    if delta > 0 and best is not None:
        pairs = both_ways(neighbours, len(problem.d))
        better = improved(problem, eps, delta, pairs, best[0])
        if better is not None:
            held = within(lambda level: held_to_events(problem, better, level, delta, pairs), eps, measure)
            best = min([one for one in (best, held) if one is not None], key=lambda one: problem.spent(one[0]))
    return _stated(problem, best or (best_constant(problem), 0.0))


def optimal_identifiability_channel(
    eps: float, prior: ArrayLike, distances: ArrayLike, neighbours: ArrayLike | None = None
) -> OptimalChannel:
    """Least distortion of ε-identifiability: p(x, y) <= e**ε p(x', y) for neighbours x, x' (PD-I) [WYZ §3].

    Parameters
    ----------
    eps : float
        Nats, at least `prior_ratio` for a solution to exist.
    prior : array-like of shape (n_x,)
        Law of X, all entries positive.
    distances : array-like of shape (n_x, n_y)
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
    problem = problem_of(prior, distances)
    law = single_law(problem.laws)
    if (law == 0).any():
        raise InvalidDistribution(
            "prior must have positive entries: beside a letter of probability 0 no finite level holds"
        )
    eps = min(number("eps", eps, 0, math.inf), _LARGEST)
    least = prior_ratio(law, neighbours)
    if eps < least * (1 - _ROUNDING) - _ROUNDING:
        raise InvalidParameter(
            f"the level and the distortion must allow some channel; the program has no solution below {least:.12g}, "
            "what the prior alone tells apart"
        )

    def measure(channel: Vector) -> float:
        return measured_identifiability(law, channel, neighbours)

    pairs = both_ways(neighbours, len(law))
    steps = steps_between(pairs, len(law))
    if neighbours is None:
        part = identifiable_part(problem, eps)
        joint = with_floor(part, eps)
        held = within(lambda level: identifiable(problem, part, level), eps, measure)
    else:
        joint = proposed(problem, law, eps, pairs)
        held = within(lambda level: filled_up(problem, joint, level, law, steps), eps, measure)
    # Where the prior alone takes up the whole level nothing can be repaired; the level stated is the one measured.
    plain = normalised(demanded(joint, eps, steps))
    spent = problem.spent(plain)
    if held is None or problem.spent(held[0]) > spent * (1 + _ABOVE) + _REPAIR_UNITS:
        level = measure(plain)
        if level <= eps + _ABOVE:
            return _stated(problem, (plain, level))
        if held is None or problem.spent(held[0]) > spent * (1 + _REPAIR) + _REPAIR_UNITS:
            raise InvalidParameter(f"eps must be further above {least:.12g} for doubles, got {eps:.12g}")
    return _stated(problem, held)


def optimal_max_information_channel(eps: float, prior: ArrayLike, distances: ArrayLike) -> OptimalChannel:
    """Least distortion with max-information at most ε: p(y|x) <= e**ε p_Y(y) for a known prior [ZB Def. 3.3].

    Parameters
    ----------
    eps : float
        Nats, >= 0; levels above 700 are met by 700.
    prior : array-like of shape (n_x,)
        Law of X, all entries positive.
    distances : array-like of shape (n_x, n_y)
        Distortions d(x, y).

    Examples
    --------
    >>> import numpy as np
    >>> round(optimal_max_information_channel(np.log(1.5), [0.5, 0.5], 1 - np.eye(2)).distortion, 6)
    0.25
    """
    problem = problem_of(prior, distances)
    law = single_law(problem.laws)
    eps = min(number("eps", eps, 0, math.inf), _LARGEST)
    channel = least_informative(problem, eps) if eps > 0 else best_constant(problem)
    return _stated(
        problem,
        within(
            lambda level: held_to_outputs(problem, channel, level),
            eps,
            lambda held: measured_max_information(law, held),
        ),
    )


def optimal_maximal_leakage_channel(distortion: float, priors: ArrayLike, distances: ArrayLike) -> OptimalChannel:
    """Least maximal leakage log Σ_y max_x p(y|x) with distortion at most D under every prior [ZB Def. 3.4].

    Parameters
    ----------
    distortion : float
        D, at least what the noiseless choice costs.
    priors : array-like of shape (n_x,) or (k, n_x)
        Law of X, or every extreme law of the source set.
    distances : array-like of shape (n_x, n_y)
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
    problem = problem_of(priors, distances)
    limits = number("distortion", distortion, 0, math.inf) / problem.unit - problem.floor
    if (limits < -_ROUNDING * problem.floor).any():
        raise InvalidParameter(
            "the level and the distortion must allow some channel; the program has no solution below "
            f"{problem.unit * float(problem.floor.max()):.12g}, the distortion of the noiseless choice"
        )
    limits = np.maximum(limits, 0.0)
    channel = best_constant(problem)
    if (problem.laws @ (problem.d * channel).sum(axis=1) > limits).any():
        single = len(limits) == 1
        channel = least_leakage(problem, float(limits[0])) if single else least_leakage_of_many(problem, limits)
    return _stated(problem, (channel, measured_maximal_leakage(channel)))


def _among_neighbours(
    problem: Problem, weights: Vector, eps: float, neighbours: ArrayLike
) -> Callable[[float], Vector]:
    """Private channel for each level close to ε, from one program at ε."""
    pairs = both_ways(neighbours, len(weights))
    steps = steps_between(pairs, len(weights))
    joint = proposed(problem, weights, eps, pairs)
    aim = problem.spent(joint / weights[:, None])
    cost = problem.spent(filled_up(problem, joint, eps, weights, steps))
    if cost > aim * (1 + _REPAIR) + _REPAIR_UNITS:
        raise InvalidParameter(
            f"eps must be small enough for doubles at these neighbours, got {eps:.12g}: no private channel "
            "found within 1e-6 of the optimum"
        )
    return lambda level: filled_up(problem, joint, level, weights, steps)


def _stated(problem: Problem, found: tuple[Vector, float] | None) -> OptimalChannel:
    """A channel with the level and the distortion measured on it."""
    if found is None:
        raise InvalidParameter("the level must be larger for doubles: no channel measured within it")
    channel, level = found
    return OptimalChannel(level, problem.distortion(channel), channel)
