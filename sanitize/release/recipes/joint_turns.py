"""Design of the parts of a joint release in turns, each given what the others release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr

from sanitize._util.progress import progress
from sanitize._util.tolerances import BUDGET
from sanitize.core.alphabet import Alphabet
from sanitize.core.budgets import conditional_budget, scale_budget
from sanitize.core.channel import Channel, Tuples
from sanitize.core.joint import JointDistribution
from sanitize.errors import ColumnError
from sanitize.release.design import design_channels
from sanitize.tables.keys import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.fit import Recipe

# Most cells of P(s, released symbols, x) from which a part is designed: half a gigabyte, which most machines can spare.
_PART_CELLS = 1 << 26
# Further ladders with random weights, given by their numbers of steps. They run if a part keeps nothing because
# separating its first two symbols no longer fits the budget at its turn.
_BLURRED_LADDERS = (4, 3, 6, 2, 4, 3, 6, 2)
# Effort per turn, in sets of symbols examined, if the part sets none. Later turns change the early ones, so only the
# last are worth a long search.
_TURN_EFFORT, _LAST_EFFORT = 20_000, 200_000


def sum_columns(cells: NDArray[Any], places: NDArray[Any], n: int) -> NDArray[Any]:
    """Sum the columns of an array by group; return an array of shape (n_s, n)."""
    sums = np.stack([np.bincount(places, weights=row, minlength=n) for row in cells])
    return sums if np.issubdtype(cells.dtype, np.floating) else np.rint(sums).astype(cells.dtype)


@dataclass(frozen=True)
class GivenDistribution:
    """Distribution P(s, tuple) after the release of some parts, with the kept columns unchanged.

    Attributes
    ----------
    pmf : ndarray of shape (n_s, n)
    tuples : Tuples
        Symbol of each part, and of the kept columns, in each of the n tuples.
    settled : frozenset of int
        Parts whose symbols are released ones; the other parts still have the symbols of the table.
    """

    pmf: NDArray[np.float64]
    tuples: Tuples
    settled: frozenset[int]

    @classmethod
    def from_columns(
        cls, distribution: JointDistribution, groups: Sequence[Sequence[str]], keep: Sequence[str]
    ) -> GivenDistribution:
        """Distribution of a table; parts are numbered like their groups of columns, and kept columns come last."""
        tuples, _ = Tuples.from_alphabet(distribution.public, [*groups, keep] if keep else groups)
        # Summed in the order of the groups, so that the last digits do not depend on how the distribution was given.
        rows = np.lexsort(tuples.codes.T[::-1]) if tuples.sizes else np.arange(len(tuples))
        settled = frozenset({len(groups)} if keep else ())
        return cls(distribution.pmf[:, rows], Tuples(tuples.codes[rows], tuples.sizes), settled)

    def cells(self, part: int, merged: Mapping[int, Channel]) -> NDArray[np.float64]:
        """Joint distribution P(s, b, x) of S, the released symbols b of other parts, and the symbols x of an open part.

        ``merged`` has the deterministic channels of further parts, which b includes in addition to the settled ones.
        """
        columns, sizes = [], []
        for index in sorted({*self.settled, *merged}):
            codes, size = self.tuples.codes[:, index], self.tuples.sizes[index]
            columns.append(channel_labels(merged[index])[codes] if index in merged else codes)
            sizes.append(merged[index].n_outputs if index in merged else size)
        rows = np.stack(columns, axis=1) if columns else np.zeros((len(self.tuples), 0), np.int32)
        before, places = distinct_rows(rows.astype(np.int32), sizes)
        n_x = self.tuples.sizes[part]
        if len(self.pmf) * len(before) * n_x > _PART_CELLS:
            raise ColumnError(
                f"a part with {n_x} symbols cannot be designed given {len(before)} combinations of other symbols; "
                "keep fewer columns, give the part its own budget, or give bins or a larger min_count"
            )
        cells = places.astype(np.int64) * n_x + self.tuples.codes[:, part]
        return np.asarray(sum_columns(self.pmf, cells, len(before) * n_x).reshape(len(self.pmf), len(before), n_x))

    def release_part(self, part: int, channels: Sequence[Channel]) -> GivenDistribution:
        """Distribution after the release of a part, which then has merged symbols or outputs of a random channel."""
        first = channels[0].stages
        # Merged symbols suffice: the symbol written for a group is drawn inside it and reveals no more.
        merges = all(stage.is_deterministic for stage in first)
        stages = first if merges else [stage for channel in channels for stage in channel.stages]
        pmf, tuples = self.pmf, self.tuples
        for kernel in stages:
            stage, tuples = tuples.pass_part(part, kernel)
            pmf = Channel((stage,)).push(pmf)
        return GivenDistribution(pmf, tuples, self.settled | {part})


def channel_labels(channel: Channel) -> NDArray[np.intp]:
    """Released symbol of each input of a deterministic channel."""
    labels: NDArray[Any] = np.arange(channel.n_inputs)
    for stage in channel.stages:
        labels = stage.indices[labels]
    return labels


@dataclass(frozen=True)
class OpenPart:
    """Part of a joint release without a budget of its own.

    Attributes
    ----------
    recipe : Recipe
        Watchdog or subset merging.
    table : ContingencyTable
        Counts of S and the part's columns.
    weight : float
        Weight of the part's share in the mean; a part with a larger weight gets a larger share.
    """

    recipe: Recipe
    table: ContingencyTable
    weight: float


@dataclass(frozen=True, eq=False)
class _State:
    """Channels of the open parts designed so far, and the share of information that each keeps."""

    channels: dict[int, tuple[Channel, ...]]
    shares: dict[int, float]

    @property
    def n_useful(self) -> int:
        """Number of parts that keep some information."""
        return sum(share > BUDGET for share in self.shares.values())

    def mean(self, parts: Mapping[int, OpenPart]) -> float:
        """Weighted mean of the shares of information that the parts keep."""
        weights = np.array([part.weight for part in parts.values()])
        return float(weights @ [self.shares[number] for number in parts] / weights.sum())


def design_in_turns(
    current: GivenDistribution, parts: Mapping[int, OpenPart], budget: Budget
) -> dict[int, tuple[Channel, ...]]:
    """Design each part's channel, and the channel that writes its output, so that all parts together meet the budget.

    All parts begin merged into one symbol, which reveals nothing. The budget rises in a ladder of steps. At each step,
    parts are designed in turns, given what the others release, beginning with the part that keeps the smallest share
    of its columns for its weight; a design that keeps more replaces the previous one. A design within a budget is
    within every looser one, so every state meets the joint budget. Among several ladders, the one with the largest
    weighted mean share is used. If a part keeps nothing, ladders with random weights follow; one of them is used
    instead if its mean is larger and no fewer parts keep something. Ties and random weights depend on the numbers of
    the parts, which must not depend on the order in which the parts were given.

    Parameters
    ----------
    current : GivenDistribution
        Distribution of S and all columns, after the release of the other parts.
    parts : mapping of int to OpenPart
        Parts to design, by their numbers in ``current``.
    budget : Budget
    """
    start = _least_share(current, budget)
    if len(parts) == 1 or start == 1:
        return _turns(current, parts, budget, _State({}, dict.fromkeys(parts, 0.0)), None)[0].channels
    with progress("joint release") as show:

        def climb(parts: Mapping[int, OpenPart], n_steps: int) -> _State:
            """Design all parts in turns within each of ``n_steps`` rising budgets that end at the whole budget."""
            state = _State({}, dict.fromkeys(parts, 0.0))
            for step in range(1, n_steps + 1):
                level = budget if step == n_steps else scale_budget(budget, start + (1 - start) * step / n_steps)
                state, _ = _turns(current, parts, level, state, _TURN_EFFORT)
                show(f"step {step} of {n_steps}, mean share {state.mean(parts):.3f}")
            return state

        # With many steps, no part can use the whole budget at once; with few, each step is used better.
        states = [climb(parts, steps) for steps in (4, 2, 1)]
        state = max(states, key=lambda state: round(state.mean(parts), 9))
        if state.n_useful < len(parts):
            rng, states = np.random.default_rng(0), []
            for steps in _BLURRED_LADDERS:  # random weights decide which part goes first
                chosen = rng.choice((0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0), len(parts))
                factors = dict(zip(sorted(parts), chosen.tolist(), strict=True))
                weighed = {n: replace(part, weight=part.weight * factors[n]) for n, part in parts.items()}
                states.append(climb(weighed, steps))
            states = [state, *(candidate for candidate in states if candidate.n_useful >= state.n_useful)]
            state = max(states, key=lambda state: round(state.mean(parts), 9))
        for _ in range(2):
            state, moved = _turns(current, parts, budget, state, _LAST_EFFORT)
            if not moved:
                break
    return state.channels


def _least_share(current: GivenDistribution, budget: Budget) -> float:
    """Smallest factor, at most 1, by which the budget can be scaled so that the released parts are within it."""
    before, places = current.tuples.select(sorted(current.settled))
    pmf = sum_columns(current.pmf, places, len(before))
    distribution = JointDistribution(
        pmf / pmf.sum(), Alphabet.from_size("s", len(pmf)), Alphabet.from_size("x", len(before))
    )

    def is_within(share: float) -> bool:
        return bool((scale_budget(budget, share).excess(distribution) <= 0).all())

    if is_within(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if is_within(middle) else (middle, high)
    return high


def _turns(
    current: GivenDistribution, parts: Mapping[int, OpenPart], budget: Budget, state: _State, effort: float | None
) -> tuple[_State, bool]:
    """Design every part once, given the others, in order of the share kept; also return whether a part improved."""
    moved, before = False, state.shares

    def turn(number: int) -> tuple[float, float, int]:
        weight = parts[number].weight
        return round(before[number] / weight, 9), -weight, number

    for number in sorted(parts, key=turn):
        part = parts[number]
        other_channels = {index: channels[0] for index, channels in state.channels.items() if index != number}
        pairs, conditional = conditional_budget(current.cells(number, other_channels), part.table.public, budget)
        # A part may have an effort of its own, or none.
        settings = {"effort": effort} if getattr(part.recipe, "effort", 0) is None else {}
        spec = part.recipe.with_changes(budget=conditional, **settings).specification()
        channels = design_channels(part.table, part.table.to_joint(), spec, pairs)
        share = _share(channels[0], part.table)
        if number not in state.channels or share > state.shares[number] + BUDGET:
            moved = moved or share > BUDGET
            state = _State({**state.channels, number: channels}, {**state.shares, number: share})
    return state, moved


def _share(merged: Channel, table: ContingencyTable) -> float:
    """Share I(X;Y)/H(X) that a merging channel keeps; 0 for a part with one symbol."""
    p_x = table.to_joint().p_x
    entropy = float(entr(p_x).sum())
    return float(entr(np.bincount(channel_labels(merged), p_x)).sum()) / entropy if entropy > 0 else 0.0
