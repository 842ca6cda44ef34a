"""Optimal channels from linear and convex programs, for any prior (or several), alphabet and distortion matrix.

This is the general method: it takes up to seconds for 100 letters, while closed forms take microseconds. Programs
propose channels; returned channels have been repaired if rounding or tolerances require it, and carry their measured
level.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from sanitize._util.checks import Codes, Vector, number
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize._util.tolerances import SAME
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.theory.notions import check_pairs, identifiability, prior_ratio
from sanitize.theory.tradeoff._barrier import MutualInformation, SibsonNorm, least_information
from sanitize.theory.tradeoff._linear_program import (
    Problem,
    both_ways,
    build_for_level,
    dp_level,
    make_problem,
    max_information_level,
    maximal_leakage_level,
    normalise_rows,
    round_up,
)
from sanitize.theory.tradeoff._local import (
    best_constant,
    blend_floor,
    fill_rows,
    identifiable,
    identifiable_part,
    raise_cells,
    sharp_part,
    solve_relaxed,
    steps_between,
    with_floor,
)
from sanitize.theory.tradeoff._outputs import (
    cap_events,
    cap_outputs,
    improve_by_events,
    least_informative,
    least_leakage,
    least_leakage_of_many,
    mix_noiseless,
)
from sanitize.theory.tradeoff._tradeoff import (
    OptimalChannel,
    Tradeoff,
    check_priors,
    least_argument,
    single_distribution,
)

# Largest cost of a repair, relative and in units of the largest distortion; a channel that costs more is not optimal to
# the stated 1e-6, and is refused.
_REPAIR, _REPAIR_UNITS = 1e-6, 1e-18


class _Program(Tradeoff):
    """Base of trade-offs solved by linear and convex programs; levels and distortions are measured on the channel."""

    distances: ArrayLike
    neighbours: ArrayLike | None = None
    _problem: Problem

    def _pose(self, distributions: Vector) -> None:
        vars(self)["_problem"] = make_problem(distributions, self.distances)
        if self.neighbours is not None:
            vars(self)["neighbours"] = check_pairs(self.neighbours, distributions.shape[1])

    @cached_property
    def _pairs(self) -> Codes:
        return both_ways(self.neighbours, len(self._problem.d))

    def at_level(self, level: float) -> OptimalChannel:
        """Channel of the least distortion within a level in nats; levels above 700 count as 700."""
        return self._channel_for_level(min(number("level", level, 0, math.inf), LARGEST_EXPONENT))

    def at_distortion(self, distortion: float) -> OptimalChannel:
        """Channel of the least level with a distortion of at most D."""
        return self._channel_for_distortion(self._check_distortion(distortion))

    @abstractmethod
    def _channel_for_level(self, level: float) -> OptimalChannel: ...

    def _channel_for_distortion(self, distortion: float) -> OptimalChannel:
        def design_or_none(level: float) -> OptimalChannel | None:
            try:
                return self._channel_for_level(level)
            except InvalidParameter:
                return None

        channel = least_argument(design_or_none, lambda candidate: candidate.distortion, distortion)
        if channel is None:
            raise InvalidParameter(
                f"distortion must be larger, got {distortion:.12g}: no channel with a level up to 700 nats reaches it"
            )
        return channel

    def _check_distortion(self, distortion: float) -> float:
        return number("distortion", distortion, 0, math.inf)

    def _privacy(self, distortion: float) -> float:
        return self._channel_for_distortion(distortion).privacy

    def _distortion(self, level: float) -> float:
        return self.at_level(level).distortion

    def _matrix(self, distortion: float) -> Vector:
        return self._channel_for_distortion(distortion).matrix

    def _costs_more(self, channel: Vector, rival: Vector, share: float = 0.0) -> bool:
        """Return whether a channel costs more than a rival, by more than a share of the rival's cost."""
        cost = self._problem.excess_distortion
        return cost(channel) > cost(rival) * (1 + share) + (_REPAIR_UNITS if share else 0.0)

    def _make_optimal(self, measurement: tuple[Vector, float] | None) -> OptimalChannel:
        """Return a channel with its measured level and distortion; refuse if no channel was found."""
        if measurement is None:
            raise InvalidParameter("level must be larger: no channel within this level was found in double precision")
        channel, level = measurement
        return OptimalChannel(level, self._problem.distortion(channel), channel)


@dataclass(frozen=True, eq=False)
class OptimalDP(_Program):
    """Trade-off: least ε of (ε, δ)-DP at a distortion, for any priors and distances [ZB Def. 3.2, Prop. 12].

    Parameters
    ----------
    priors : array-like of shape (n_x,) or (k, n_x)
        Distribution of X, or all extreme distributions of the source set; the largest of their distortions counts.
    distances : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    delta : float
        δ, from 0 to 1.
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)`; all pairs (local DP) when left out.

    Examples
    --------
    >>> import numpy as np
    >>> family = OptimalDP([0.5, 0.5], 1 - np.eye(2))
    >>> found = family.at_level(np.log(3))
    >>> round(found.distortion, 6), found.matrix.round(6).tolist()
    (0.25, [[0.75, 0.25], [0.25, 0.75]])
    >>> round(OptimalDP([0.5, 0.3, 0.2], 1 - np.eye(3)).privacy(0.2), 6)
    2.079442
    """

    priors: ArrayLike
    distances: ArrayLike
    delta: float = 0.0
    neighbours: ArrayLike | None = None

    def __post_init__(self) -> None:
        self._pose(check_priors(self.priors))
        vars(self)["delta"] = number("delta", self.delta, 0, 1)

    def _channel_for_level(self, level: float) -> OptimalChannel:
        problem, delta = self._problem, self.delta
        pure: Callable[[float], Vector]
        if self.neighbours is None:
            pure = partial(blend_floor, sharp_part(problem, level) if level > 0 else best_constant(problem))
        else:
            # One program at ε gives a private channel for each level close to ε.
            weights = np.ones(len(problem.d))
            steps, joint = steps_between(self._pairs, len(weights)), solve_relaxed(problem, weights, level, self._pairs)
            if self._costs_more(fill_rows(problem, joint, level, weights, steps), joint, _REPAIR):
                raise InvalidParameter(
                    f"level must be smaller for these neighbours, got {level:.12g}: in double precision no private "
                    "channel was found within 1e-6 of the optimum"
                )
            pure = partial(fill_rows, problem, joint, weights=weights, steps=steps)
        measure = partial(dp_level, delta=delta, neighbours=self.neighbours)
        best = build_for_level(lambda target: mix_noiseless(problem, pure(target), delta), level, measure)
        if delta > 0 and best is not None:
            better = improve_by_events(problem, level, delta, self._pairs, best[0])
            if better is not None:
                capped = build_for_level(lambda t: cap_events(problem, better, t, delta, self._pairs), level, measure)
                if capped is not None and self._costs_more(best[0], capped[0]):
                    best = capped
        return self._make_optimal(best or (best_constant(problem), 0.0))


@dataclass(frozen=True, eq=False)
class OptimalIdentifiability(_Program):
    """Trade-off: least ε at a distortion with p(x, y) <= e**ε p(x', y) for neighbours x, x', any prior [WYZ §3, PD-I].

    No level below `prior_ratio` of the prior is possible.

    Parameters
    ----------
    prior : array-like of shape (n_x,)
        Distribution of X, all entries positive.
    distances : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)`; all pairs when left out.

    Examples
    --------
    >>> import numpy as np
    >>> round(OptimalIdentifiability([0.6, 0.4], 1 - np.eye(2)).distortion(np.log(3)), 6)
    0.25
    """

    prior: ArrayLike
    distances: ArrayLike
    neighbours: ArrayLike | None = None

    def __post_init__(self) -> None:
        self._pose(single_distribution(self.prior)[None])
        if (self._problem.distributions == 0).any():
            raise InvalidDistribution(
                "prior must have positive entries only, got entries of 0, for which every level is infinite"
            )

    def _channel_for_level(self, level: float) -> OptimalChannel:
        above = 1e-9  # the solver's tolerances may leave this excess over ε, which the stated level then includes
        problem, distribution = self._problem, self._problem.distributions[0]
        least = prior_ratio(distribution, self.neighbours)
        if level < least * (1 - SAME) - SAME:
            raise InvalidParameter(f"level must be at least {least:.12g}, the level of the prior, got {level:.12g}")

        def measure(channel: Vector) -> float:
            return round_up(identifiability(distribution, channel, self.neighbours))

        steps = steps_between(self._pairs, len(distribution))
        if self.neighbours is None:
            part = identifiable_part(problem, level)
            joint = with_floor(part, level)
            repaired = build_for_level(lambda target: identifiable(problem, part, target), level, measure)
        else:
            joint = solve_relaxed(problem, distribution, level, self._pairs)
            repaired = build_for_level(
                lambda target: fill_rows(problem, joint, target, distribution, steps), level, measure
            )
        # If the prior alone takes up the whole level, nothing can be repaired, and the measured level is stated.
        plain = normalise_rows(raise_cells(joint, level, steps))
        if repaired is None or self._costs_more(repaired[0], plain, above):
            plain_level = measure(plain)
            if plain_level <= level + above:
                return self._make_optimal((plain, plain_level))
            if repaired is None or self._costs_more(repaired[0], plain, _REPAIR):
                raise InvalidParameter(f"level must exceed {least:.12g} by more than rounding errors, got {level:.12g}")
        return self._make_optimal(repaired)


@dataclass(frozen=True, eq=False)
class OptimalMaxInformation(_Program):
    """Trade-off: least ε at a distortion with p(y|x) <= e**ε p_Y(y), for any prior and distances [ZB Def. 3.3].

    Parameters
    ----------
    prior : array-like of shape (n_x,)
        Distribution of X.
    distances : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> round(OptimalMaxInformation([0.5, 0.5], 1 - np.eye(2)).distortion(np.log(1.5)), 6)
    0.25
    """

    prior: ArrayLike
    distances: ArrayLike

    def __post_init__(self) -> None:
        self._pose(single_distribution(self.prior)[None])

    def _channel_for_level(self, level: float) -> OptimalChannel:
        problem = self._problem
        channel = least_informative(problem, level) if level > 0 else best_constant(problem)
        measure = partial(max_information_level, problem.distributions[0])
        return self._make_optimal(build_for_level(partial(cap_outputs, problem, channel), level, measure))


@dataclass(frozen=True, eq=False)
class OptimalSibson(_Program):
    """Trade-off: least Sibson information of order α at a distortion, for any prior and distances.

    Mutual information (the rate-distortion function, PD-MIP) [WYZ §5] and Σ_y (Σ_x P p(y|x)**α)**(1/α) [ZB Def. 3.6]
    are convex in the channel. Newton's method inside the channels stops when the first-order lower bound, which holds
    for every channel, is within ``tol``. So the value is proved to that accuracy in nats, also near distortions at
    which an output is given up, where alternating updates hardly move. Maximal leakage log Σ_y max_x p(y|x) [ZB Def.
    3.4] is a linear program, and takes several priors.

    Parameters
    ----------
    priors : array-like of shape (n_x,), or (k, n_x) for α = inf
        Distribution of X, or all extreme distributions of the source set; the distortion holds under each of them.
    distances : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    alpha : float
        Order, at least 1.
    tol : float
        Largest gap to the optimum in nats, from 1e-13 to 1; InvalidParameter where doubles cannot prove it.

    Examples
    --------
    >>> import numpy as np
    >>> round(OptimalSibson([0.5, 0.3, 0.2], 1 - np.eye(3), alpha=1).privacy(0.2), 6)
    0.390621
    >>> [round(OptimalSibson([0.5, 0.5], 1 - np.eye(2), alpha).privacy(0.25), 6) for alpha in (2, float("inf"))]
    [0.223144, 0.405465]
    """

    priors: ArrayLike
    distances: ArrayLike
    alpha: float
    tol: float = 1e-7

    def __post_init__(self) -> None:
        vars(self).update(alpha=number("alpha", self.alpha, 1, math.inf), tol=number("tol", self.tol, 1e-13, 1))
        self._pose(check_priors(self.priors) if self.alpha == math.inf else single_distribution(self.priors)[None])

    def _channel_for_level(self, level: float) -> OptimalChannel:
        unit, floor = self._problem.unit, float(self._problem.floor.max())
        channel = least_argument(
            lambda t: self._channel_for_distortion(unit * (floor + t)), lambda candidate: candidate.privacy, level
        )
        return channel or self._channel_for_distortion(math.inf)

    def _channel_for_distortion(self, distortion: float) -> OptimalChannel:
        problem = self._problem
        least = problem.unit * float(problem.floor.max())
        limits = number("distortion", distortion, least * (1 - SAME), math.inf) / problem.unit - problem.floor
        limits, channel = np.maximum(limits, 0.0), best_constant(problem)
        if (problem.distributions @ (problem.d * channel).sum(axis=1) <= limits).all():
            return self._make_optimal((channel, 0.0))
        if self.alpha == math.inf:
            single = len(limits) == 1
            channel = least_leakage(problem, float(limits[0])) if single else least_leakage_of_many(problem, limits)
            return self._make_optimal((channel, maximal_leakage_level(channel)))
        distribution, channel = problem.distributions[0], np.zeros_like(problem.d)
        possible = distribution > 0
        p = distribution[possible] / distribution[possible].sum()
        information = MutualInformation(p) if self.alpha == 1 else SibsonNorm(p, self.alpha)
        # Requested gap in nats, smaller than ``tol`` because the provable part of a gap differs between machines.
        gap = min(self.tol, 1e-9) * information.nat
        solution = least_information(information, problem.d[possible], float(limits[0]) * (1 - SAME), gap)
        value = information.nats(solution.value)
        if value - information.nats(max(solution.lower, 0.0)) > self.tol:
            raise InvalidParameter(
                f"tol must be larger: double precision cannot prove the optimum to within {self.tol:g}"
            )
        channel[possible] = solution.channel
        channel[~possible, int((distribution[possible] @ solution.channel).argmax())] = 1.0
        return self._make_optimal((channel, round_up(value)))
