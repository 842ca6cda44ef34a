"""Best channel among those that choose each symbol's distribution from a given set.

Capacity depends only on the set of chosen distributions and grows with that set. So the capacity of the union of all
distributions that any symbol may still take bounds every choice. A choice attains this bound if the distributions that
carry mass can be matched to different symbols. Otherwise one symbol's set is split in two and both halves are searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from sanitize._util.checks import Codes, Vector
from sanitize.core.capacity._blahut_arimoto import DenseKernel, solve

Offers = tuple[Codes, ...]


@dataclass(frozen=True, eq=False)
class Selection:
    """Best choice found of a distribution for each symbol, with bounds on the capacity of any choice.

    ``distributions`` and ``weights`` hold each symbol's distribution and probability. They are empty if no choice was
    better than the incumbent.
    """

    lower: float
    upper: float
    distributions: Codes
    weights: Vector


@dataclass(frozen=True, eq=False)
class _Node:
    """Node of the search: the sets still allowed, the capacity of their union, and a choice derived from that union."""

    offers: Offers
    upper: float
    choice: Selection
    # The bound is loose where one symbol supplies two distributions: a symbol, the distribution matched to it, and a
    # heavier one.
    split: tuple[int, int, int] | None


def best_selection(rows: Vector, offers: list[Codes], tol: float, max_nodes: int, incumbent: float) -> Selection:
    """Return the choice of one row of ``rows[offers[symbol]]`` per symbol with the largest capacity, within ``tol``."""
    best = Selection(incumbent, 0.0, np.zeros(0, np.intp), np.zeros(0))
    heap: list[tuple[float, int, _Node]] = []
    seen: set[tuple[bytes, ...]] = set()
    waiting, examined, upper = [tuple(offers)], 0, 0.0
    while True:
        for part in waiting:
            # Exchanging the sets of two symbols gives the same channels.
            key = tuple(sorted(distributions.tobytes() for distributions in part))
            if key in seen:
                continue
            seen.add(key)
            node = _examine(rows, part, tol / 4)
            examined += 1
            if node.choice.lower > best.lower:
                best = node.choice
            heappush(heap, (-node.upper, examined, node))
        if not heap:
            break
        node = heappop(heap)[2]
        # No choice exceeds the bound of the node with the largest bound.
        if node.upper <= best.lower + tol or examined >= max_nodes:
            upper = max(upper, node.upper)
            break
        if node.split is None:
            upper = max(upper, node.upper)
            waiting = []
        else:
            # Neither part of the symbol's set can then supply both distributions, so that the bound falls.
            symbol, distribution, rival = node.split
            allowed, roots = node.offers[symbol], np.sqrt(rows)
            to_distribution, to_other = (
                np.square(roots[allowed] - roots[center]).sum(axis=1) for center in (distribution, rival)
            )
            near = to_distribution < to_other
            near[allowed == distribution], near[allowed == rival] = True, False
            halves, before, after = (allowed[near], allowed[~near]), node.offers[:symbol], node.offers[symbol + 1 :]
            waiting = [(*before, half, *after) for half in halves]
    return Selection(best.lower, max(best.lower, upper), best.distributions, best.weights)


def _examine(rows: Vector, offers: Offers, tol: float) -> _Node:
    distributions = np.unique(np.concatenate(offers))
    relaxed = solve(DenseKernel(rows[distributions]), tol)
    weight = dict(zip(distributions.tolist(), relaxed.distribution.tolist(), strict=True))
    by_weight = sorted(weight, key=lambda distribution: -weight[distribution])
    supplied, missing = _match(by_weight, offers)
    # A symbol without a matched distribution takes any allowed one; a distribution taken twice does not change
    # capacity.
    taken = np.array([supplied.get(symbol, int(offers[symbol][0])) for symbol in range(len(offers))], np.intp)
    if missing is None:
        weights = np.array([weight[supplied[a]] if a in supplied else 0.0 for a in range(len(offers))])
        return _Node(offers, relaxed.upper, Selection(relaxed.lower, relaxed.upper, taken, weights), None)
    distinct, first = np.unique(taken, return_index=True)
    solution = solve(DenseKernel(rows[distinct]), tol)
    weights = np.zeros(len(offers))
    weights[first] = solution.distribution
    able = [symbol for symbol, allowed in enumerate(offers) if missing in allowed]
    symbol = max(able, key=lambda a: weight[supplied[a]])
    choice = Selection(solution.lower, solution.upper, taken, weights)
    return _Node(offers, relaxed.upper, choice, (symbol, supplied[symbol], missing))


def _match(by_weight: list[int], offers: Offers) -> tuple[dict[int, int], int | None]:
    """Match distributions to symbols in order of weight; return the matches and the first distribution left out."""
    sets = [frozenset(allowed.tolist()) for allowed in offers]
    able = {
        distribution: [symbol for symbol, allowed in enumerate(sets) if distribution in allowed]
        for distribution in by_weight
    }
    supplied: dict[int, int] = {}

    def place(distribution: int, tried: set[int]) -> bool:
        for symbol in able[distribution]:
            if symbol not in tried:
                tried.add(symbol)
                if symbol not in supplied or place(supplied[symbol], tried):
                    supplied[symbol] = distribution
                    return True
        return False

    left_out = [distribution for distribution in by_weight if not place(distribution, set())]
    return supplied, left_out[0] if left_out else None
