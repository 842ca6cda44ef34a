"""Optimal channels by programs, for any prior (or several), alphabet and distortion matrix.

The general route: up to seconds at 100 letters, where the closed forms take microseconds. Programs propose; what
is returned has been repaired where rounding or tolerances need it, and carries the level measured on it.
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
from sanitize.theory.notions import identifiability, pairs_of, prior_ratio
from sanitize.theory.tradeoff._barrier import MutualInformation, SibsonNorm, least_information
from sanitize.theory.tradeoff._linear_program import (
    Problem,
    both_ways,
    measured_dp,
    measured_max_information,
    measured_maximal_leakage,
    normalised,
    problem_of,
    rounded_up,
    within,
)
from sanitize.theory.tradeoff._local import (
    best_constant,
    blended,
    demanded,
    filled_up,
    identifiable,
    identifiable_part,
    proposed,
    sharp_part,
    steps_between,
    with_floor,
)
from sanitize.theory.tradeoff._outputs import (
    held_to_events,
    held_to_outputs,
    improved,
    least_informative,
    least_leakage,
    least_leakage_of_many,
    revealed,
)
from sanitize.theory.tradeoff._tradeoff import (
    OptimalChannel,
    Tradeoff,
    distributions_of,
    least_argument,
    single_distribution,
)

# What a repair may cost, relative and in units of the largest distortion, before a channel is refused.
_REPAIR, _REPAIR_UNITS = 1e-6, 1e-18


class _Program(Tradeoff):
    """Families that are computed: the channel at a level or a distortion, measured, is what is stated."""

    distances: ArrayLike
    neighbours: ArrayLike | None = None
    _problem: Problem

    def _pose(self, distributions: Vector) -> None:
        vars(self)["_problem"] = problem_of(distributions, self.distances)
        if self.neighbours is not None:
            vars(self)["neighbours"] = pairs_of(self.neighbours, distributions.shape[1])

    @cached_property
    def _pairs(self) -> Codes:
        return both_ways(self.neighbours, len(self._problem.d))

    def at_level(self, level: float) -> OptimalChannel:
        """Channel of the least distortion within a level in nats; levels above 700 are met by 700."""
        return self._at_level(min(number("level", level, 0, math.inf), LARGEST_EXPONENT))

    def at_distortion(self, distortion: float) -> OptimalChannel:
        """Channel of the least level with a distortion of at most D."""
        return self._at_distortion(self._within(distortion))

    @abstractmethod
    def _at_level(self, level: float) -> OptimalChannel: ...

    def _at_distortion(self, distortion: float) -> OptimalChannel:
        def designed(level: float) -> OptimalChannel | None:
            try:
                return self._at_level(level)
            except InvalidParameter:
                return None

        found = least_argument(designed, lambda one: one.distortion, distortion)
        if found is None:
            raise InvalidParameter(f"distortion must be reachable by some level up to 700 nats, got {distortion:.12g}")
        return found

    def _within(self, distortion: float) -> float:
        return number("distortion", distortion, 0, math.inf)

    def _privacy(self, distortion: float) -> float:
        return self._at_distortion(distortion).privacy

    def _distortion(self, level: float) -> float:
        return self.at_level(level).distortion

    def _matrix(self, distortion: float) -> Vector:
        return self._at_distortion(distortion).matrix

    def _stated(self, found: tuple[Vector, float] | None) -> OptimalChannel:
        """A channel with the level and the distortion measured on it."""
        if found is None:
            raise InvalidParameter("the level must be larger for doubles: no channel measured within it")
        channel, level = found
        return OptimalChannel(level, self._problem.distortion(channel), channel)


@dataclass(frozen=True, eq=False)
class OptimalDP(_Program):
    """(ε, δ)-DP by event, any priors and distances: P(A|x) <= e**ε P(A|x') + δ for neighbours [ZB Def. 3.2, Prop. 12].

    Parameters
    ----------
    priors : array-like of shape (n_x,) or (k, n_x)
        Distribution of X, or every extreme distribution of the source set: the largest of their distortions counts.
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
        self._pose(distributions_of(self.priors))
        vars(self)["delta"] = number("delta", self.delta, 0, 1)

    def _at_level(self, level: float) -> OptimalChannel:
        problem, delta = self._problem, self.delta
        pure: Callable[[float], Vector]
        if self.neighbours is None:
            pure = partial(blended, sharp_part(problem, level) if level > 0 else best_constant(problem))
        else:
            # A private channel for each level close to ε, from one program at ε.
            weights = np.ones(len(problem.d))
            steps, joint = steps_between(self._pairs, len(weights)), proposed(problem, weights, level, self._pairs)
            aim = problem.spent(joint)
            if problem.spent(filled_up(problem, joint, level, weights, steps)) > aim * (1 + _REPAIR) + _REPAIR_UNITS:
                raise InvalidParameter(
                    f"level must be small enough for doubles at these neighbours, got {level:.12g}: no private channel "
                    "found within 1e-6 of the optimum"
                )
            pure = partial(filled_up, problem, joint, weights=weights, steps=steps)
        measure = partial(measured_dp, delta=delta, neighbours=self.neighbours)
        best = within(lambda target: revealed(problem, pure(target), delta), level, measure)
        if delta > 0 and best is not None:
            better = improved(problem, level, delta, self._pairs, best[0])
            if better is not None:
                held = within(lambda t: held_to_events(problem, better, t, delta, self._pairs), level, measure)
                best = min([one for one in (best, held) if one is not None], key=lambda one: problem.spent(one[0]))
        return self._stated(best or (best_constant(problem), 0.0))


@dataclass(frozen=True, eq=False)
class OptimalIdentifiability(_Program):
    """ε-identifiability for any prior and distances: p(x, y) <= e**ε p(x', y) for neighbours x, x' (PD-I) [WYZ §3].

    No level below `prior_ratio` of the prior can be had.

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
                "prior must have positive entries: beside a letter of probability 0 no finite level holds"
            )

    def _at_level(self, level: float) -> OptimalChannel:
        above = 1e-9  # how far above ε the level of a channel may be stated where it cannot be repaired
        problem, distribution = self._problem, self._problem.distributions[0]
        least = prior_ratio(distribution, self.neighbours)
        if level < least * (1 - SAME) - SAME:
            raise InvalidParameter(
                f"level must be at least {least:.12g}, what the prior alone tells apart, got {level:.12g}"
            )

        def measure(channel: Vector) -> float:
            return rounded_up(identifiability(distribution, channel, self.neighbours))

        steps = steps_between(self._pairs, len(distribution))
        if self.neighbours is None:
            part = identifiable_part(problem, level)
            joint = with_floor(part, level)
            held = within(lambda target: identifiable(problem, part, target), level, measure)
        else:
            joint = proposed(problem, distribution, level, self._pairs)
            held = within(lambda target: filled_up(problem, joint, target, distribution, steps), level, measure)
        # Where the prior alone takes up the whole level nothing can be repaired; the level stated is the one measured.
        plain = normalised(demanded(joint, level, steps))
        spent = problem.spent(plain)
        if held is None or problem.spent(held[0]) > spent * (1 + above) + _REPAIR_UNITS:
            found = measure(plain)
            if found <= level + above:
                return self._stated((plain, found))
            if held is None or problem.spent(held[0]) > spent * (1 + _REPAIR) + _REPAIR_UNITS:
                raise InvalidParameter(f"level must be further above {least:.12g} for doubles, got {level:.12g}")
        return self._stated(held)


@dataclass(frozen=True, eq=False)
class OptimalMaxInformation(_Program):
    """Max-information for any prior and distances: p(y|x) <= e**ε p_Y(y) [ZB Def. 3.3].

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

    def _at_level(self, level: float) -> OptimalChannel:
        problem = self._problem
        channel = least_informative(problem, level) if level > 0 else best_constant(problem)
        measure = partial(measured_max_information, problem.distributions[0])
        return self._stated(within(partial(held_to_outputs, problem, channel), level, measure))


@dataclass(frozen=True, eq=False)
class OptimalSibson(_Program):
    """Sibson information of order α for any prior and distances: mutual information at 1, maximal leakage at inf.

    Mutual information (the rate-distortion function, PD-MIP) [WYZ §5] and Σ_y (Σ_x P p(y|x)**α)**(1/α) [ZB Def. 3.6]
    are convex in the channel. Newton's method inside the channels stops when the first-order lower bound, which holds
    for every channel, is within the tol: the value is proved to that many nats, also beside the distortion where an
    output is given up, at which alternating updates hardly move. Maximal leakage log Σ_y max_x p(y|x)
    [ZB Def. 3.4] is a linear program, and takes several priors.

    Parameters
    ----------
    priors : array-like of shape (n_x,), or (k, n_x) for α = inf
        Distribution of X, or every extreme distribution of the source set: the distortion holds under each.
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
        self._pose(distributions_of(self.priors) if self.alpha == math.inf else single_distribution(self.priors)[None])

    def _at_level(self, level: float) -> OptimalChannel:
        unit, floor = self._problem.unit, float(self._problem.floor.max())
        found = least_argument(lambda t: self._at_distortion(unit * (floor + t)), lambda one: one.privacy, level)
        return found or self._at_distortion(math.inf)

    def _at_distortion(self, distortion: float) -> OptimalChannel:
        problem = self._problem
        least = problem.unit * float(problem.floor.max())
        limits = number("distortion", distortion, least * (1 - SAME), math.inf) / problem.unit - problem.floor
        limits, channel = np.maximum(limits, 0.0), best_constant(problem)
        if (problem.distributions @ (problem.d * channel).sum(axis=1) <= limits).all():
            return self._stated((channel, 0.0))
        if self.alpha == math.inf:
            single = len(limits) == 1
            channel = least_leakage(problem, float(limits[0])) if single else least_leakage_of_many(problem, limits)
            return self._stated((channel, measured_maximal_leakage(channel)))
        distribution, channel = problem.distributions[0], np.zeros_like(problem.d)
        kept = distribution > 0
        p = distribution[kept] / distribution[kept].sum()
        information = MutualInformation(p) if self.alpha == 1 else SibsonNorm(p, self.alpha)
        # Gap that is sought, in nats; how much of it doubles can prove differs between machines, so less is asked.
        gap = min(self.tol, 1e-9) * information.nat
        found = least_information(information, problem.d[kept], float(limits[0]) * (1 - SAME), gap)
        value = information.nats(found.value)
        if value - information.nats(max(found.lower, 0.0)) > self.tol:
            raise InvalidParameter(f"tol must be one that doubles can prove at this distortion, got {self.tol:g}")
        channel[kept] = found.channel
        channel[~kept, int((distribution[kept] @ found.channel).argmax())] = 1.0
        return self._stated((channel, rounded_up(value)))
