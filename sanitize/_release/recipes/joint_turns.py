"""Parts without a budget of their own, designed in turns under a rising budget so that no order of theirs decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr

from sanitize._progress import progress
from sanitize._release.design import channels_of
from sanitize._release.recipes.given_law import labels_of
from sanitize._tolerances import BUDGET
from sanitize.budgets import conditional_budget, scaled_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sanitize._release.recipes.given_law import GivenLaw
    from sanitize._release.recipes.recipe import Recipe
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable

# Steps in which the budget rises: with more of them no part can take all at once, with fewer each is used better.
_LADDERS = (4, 2, 1)
# Where a part keeps nothing, because its first two symbols no longer fit when its turn comes: ladders with random
# weights, by their steps.
_BLURRED_LADDERS = (4, 3, 6, 2, 4, 3, 6, 2)
_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_LAST_TURNS = 2  # at the whole budget, from the best of the ladders
_TURN_EFFORT, _LAST_EFFORT = 20_000, 200_000  # sets of symbols that a turn judges, where its part does not say
_HALVINGS = 20


@dataclass(frozen=True)
class OpenPart:
    """A part without a budget of its own.

    Attributes
    ----------
    recipe : Recipe
        Watchdog or subset merging.
    table : ContingencyTable
        Counts of S and the part's columns.
    weight : float
        What its share counts, and how large a share is fair.
    """

    recipe: Recipe
    table: ContingencyTable
    weight: float


@dataclass(frozen=True, eq=False)
class _State:
    """Channels of the open parts that have had a turn, and the share of its information that each keeps."""

    channels: dict[int, tuple[Channel, Channel | None]]
    shares: dict[int, float]

    def with_part(self, part: int, channels: tuple[Channel, Channel | None], share: float) -> _State:
        return _State({**self.channels, part: channels}, {**self.shares, part: share})

    @property
    def n_useful(self) -> int:
        """Parts that keep something."""
        return sum(share > BUDGET for share in self.shares.values())

    def mean(self, parts: Mapping[int, OpenPart]) -> float:
        """Weighted mean of the shares."""
        weights = np.array([part.weight for part in parts.values()])
        return float(weights @ [self.shares[number] for number in parts] / weights.sum())


def design_in_turns(
    given: GivenLaw, parts: Mapping[int, OpenPart], budget: Budget
) -> dict[int, tuple[Channel, Channel | None]]:
    """Channel, and the printing one, of every part, such that all of them together meet the budget.

    All parts begin merged, which tells nothing. The budget rises in steps; at each, the part that keeps the least of
    its columns for its weight is designed first, given what the others release, and a design that keeps more takes
    the place of the one before. Any design is within a looser budget, so every state is within the joint budget. Of
    several ladders the one with the largest weighted mean share is taken. Where a part keeps nothing, ladders with
    random weights follow, and one is taken instead if its mean is larger and no fewer parts keep something. Ties and
    random weights go by the numbers of the parts, which must not depend on the order they were given in.

    Parameters
    ----------
    given : GivenLaw
        Law of S and all columns, with the other parts released already.
    parts : mapping of int to OpenPart
        By number of the part in ``given``.
    budget : Budget
    """
    start = _used(given, budget)
    if len(parts) == 1 or start == 1:
        return _turns(given, parts, budget, _State({}, dict.fromkeys(parts, 0.0)), None)[0].channels
    with progress("joint release") as show:
        found = [_climb(given, parts, budget, start, steps, show) for steps in _LADDERS]
        state = max(found, key=lambda state: round(state.mean(parts), 9))
        if state.n_useful < len(parts):
            blurred = zip(_BLURRED_LADDERS, _blurred(parts), strict=False)
            found = [_climb(given, weighed, budget, start, steps, show) for steps, weighed in blurred]
            found = [state, *(other for other in found if other.n_useful >= state.n_useful)]
            state = max(found, key=lambda state: round(state.mean(parts), 9))
        for _ in range(_LAST_TURNS):
            state, moved = _turns(given, parts, budget, state, _LAST_EFFORT)
            if not moved:
                break
    return state.channels


def _blurred(parts: Mapping[int, OpenPart]) -> Iterator[dict[int, OpenPart]]:
    """The parts with random weights, by number: these decide who goes first."""
    rng = np.random.default_rng(0)
    while True:
        factors = dict(zip(sorted(parts), rng.choice(_FACTORS, len(parts)).tolist(), strict=True))
        yield {number: replace(part, weight=part.weight * factors[number]) for number, part in parts.items()}


def _used(given: GivenLaw, budget: Budget) -> float:
    """Least share of the budget that what is released already is within, to some digits; 1 if it needs all."""
    law = given.settled_law()

    def within(share: float) -> bool:
        return bool((scaled_budget(budget, share).excess(law) <= 0).all())

    if within(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if within(middle) else (middle, high)
    return high


def _climb(
    given: GivenLaw,
    parts: Mapping[int, OpenPart],
    budget: Budget,
    start: float,
    steps: int,
    show: Callable[[str], None],
) -> _State:
    """All parts after a turn each at every step of the budget."""
    state = _State({}, dict.fromkeys(parts, 0.0))
    for step in range(1, steps + 1):
        level = budget if step == steps else scaled_budget(budget, start + (1 - start) * step / steps)
        state, _ = _turns(given, parts, level, state, _TURN_EFFORT)
        show(f"step {step} of {steps}, mean share {state.mean(parts):.3f}")
    return state


def _turns(
    given: GivenLaw, parts: Mapping[int, OpenPart], budget: Budget, state: _State, effort: float | None
) -> tuple[_State, bool]:
    """Every part designed once given the others, the one with the least share for its weight first."""
    moved, before = False, state.shares

    def turn(number: int) -> tuple[float, float, int]:
        weight = parts[number].weight
        return round(before[number] / weight, 9), -weight, number

    for number in sorted(parts, key=turn):
        part = parts[number]
        others = {other: channels[0] for other, channels in state.channels.items() if other != number}
        pairs, conditional = conditional_budget(given.cells(number, others), part.table.public, budget)
        spec = _with_effort(part.recipe, effort).changed(budget=conditional).specification()
        channels = channels_of(part.table, part.table.to_joint(), spec, pairs)
        share = _share(channels[0], part.table)
        if number not in state.channels or share > state.shares[number] + BUDGET:
            moved = moved or share > BUDGET
            state = state.with_part(number, channels, share)
    return state, moved


def _with_effort(recipe: Recipe, effort: float | None) -> Recipe:
    """The same with this effort, where it has none of its own."""
    return recipe.changed(effort=effort) if getattr(recipe, "effort", 0) is None else recipe


def _share(merged: Channel, table: ContingencyTable) -> float:
    """I(X;Y)/H(X) of a merging channel; 0 where a part has one symbol."""
    p_x = table.to_joint().p_x
    entropy = float(entr(p_x).sum())
    return float(entr(np.bincount(labels_of(merged), p_x)).sum()) / entropy if entropy > 0 else 0.0
