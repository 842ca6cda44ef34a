"""The search behind subset merging: several starts, exact where small, windows put together anew."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._progress import progress
from sanitize.mechanisms._merging.local_search import TIE, LocalSearch, lost, partition_windows, set_sums
from sanitize.mechanisms._merging.matching import matched_groups
from sanitize.mechanisms._merging.paper_merging import paper_groups
from sanitize.mechanisms._merging.risks import labels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._merging.risks import SetRisks

    Vector = NDArray[np.float64]
    Codes = NDArray[np.intp]

# Up to here the best of all partitions is found, by one window where that is quicker. Each symbol triples the work.
EXACT, _ONE_WINDOW = 17, 14
# Algorithm 1 is a start where it takes a fraction of a second: its work is the square of the symbols, times the rows.
_PAPER_SYMBOLS, _PAPER_CELLS = 1500, 60_000_000
_BOTH_MATCHINGS = 20_000
# The best starts that are improved, by the number of symbols; few symbols are also walked over, and above _SEVERAL
# only one in _SPARED tighter budgets gives starts.
_IMPROVED = ((100, 3), (300, 2), (np.inf, 1))
_WALKED, _SEVERAL, _SPARED = 100, 300, 4
# Atoms of a window, by the number of symbols.
_SIZES = ((24, 13), (40, 11), (64, 9), (np.inf, 8))
_HALF = 9  # letters whose subsets are kept, for every set of them


def search_partition(
    risks: SetRisks, p_x: Vector, effort: Effort, tighter: Iterable[SetRisks] = (), known: Sequence[Codes] = ()
) -> Codes:
    """Label of a safe group for each symbol, shape (n,), such that much of I(X;Y) is kept.

    Never below Algorithm 1 up to 1,500 symbols, and optimal up to 17. Groups that are safe under tighter budgets are
    safe under this one: up to 1,500 symbols they are starts too. Safe partitions that are ``known`` are improved beside
    the best starts, so that the result keeps at least what they keep.
    """
    n = len(p_x)
    if risks.safe(risks.columns).all():
        return np.arange(n)
    if n <= EXACT:
        effort.spend(1 << n)
        return best_partition(risks, p_x)
    starts = _starts(risks, p_x, tighter)
    size = next(atoms for most, atoms in _SIZES if n <= most)
    starts = starts[: next(kept for most, kept in _IMPROVED if n <= most)]
    with progress("subset merging") as show:
        found: list[Codes] = []
        for labels in [*known, *starts]:
            search = LocalSearch(risks, p_x, size, effort.part(1 / (len(known) + len(starts))), show)
            # What a search has found is not walked from again.
            is_walked = n <= _WALKED and len(found) >= len(known)
            found.append(search.improved(search.loosened(labels) if is_walked else labels))
            effort.spend(search.effort.spent)
    return min(found, key=lambda labels: lost(labels, p_x))


def _starts(risks: SetRisks, p_x: Vector, tighter: Iterable[SetRisks]) -> list[Codes]:
    """Partitions into safe groups by different rules, best first, without those that cost what another one costs."""
    n = len(p_x)
    found = [matched_groups(risks, p_x, in_pairs=True)]
    if n <= _BOTH_MATCHINGS:
        found.append(matched_groups(risks, p_x, in_pairs=False))
    if n <= _PAPER_SYMBOLS and n * n * len(risks.columns) <= _PAPER_CELLS:
        found.append(labels_of(paper_groups(risks), n))
    if n <= _PAPER_SYMBOLS:
        some = islice(tighter, 0, None, 1 if n <= _SEVERAL else _SPARED)
        found += [matched_groups(other, p_x, in_pairs=pairs) for other in some for pairs in (True, False)]
    starts: dict[float, Codes] = {}
    for labels in found:
        starts.setdefault(lost(labels, p_x), np.unique(labels, return_inverse=True)[1])
    return [starts[cost] for cost in sorted(starts)]


def best_partition(risks: SetRisks, p_x: Vector) -> Codes:
    """Labels of the best partition of a few symbols."""
    if len(p_x) > _ONE_WINDOW:
        return labels_of(exact_partition(risks.columns, p_x, risks) or [range(len(p_x))], len(p_x))
    sets, value = partition_windows(risks.columns[:, :, None], p_x[:, None], risks)
    # All symbols together have lift 1; where rounding denies it, they are all there is.
    return np.unique(sets[:, 0], return_inverse=True)[1] if np.isfinite(value[0]) else np.zeros(len(p_x), np.intp)


def exact_partition(letters: Vector, p_x: Vector, risks: SetRisks) -> list[list[int]]:
    """Partition of k letters, given by the columns that judge them and by P(x), into safe sets of least H(X|Y).

    best[A] = min over safe B in A that hold A's lowest letter of cost(B) + best[A - B], where
    cost(B) = Σ_{x in B} P(x) log(P(B) / P(x)). Sets are bit masks, and a set that is itself a union of disjoint
    safe sets is skipped: splitting never loses utility.

    Returns
    -------
    list of list of int
        Blocks; empty when the letters together are not safe.
    """
    k = len(p_x)
    mass, terms = set_sums(np.stack([p_x, xlogy(p_x, p_x)]))
    cost = xlogy(mass, mass) - terms
    safe = np.append(False, risks.safe(set_sums(letters)[:, 1:]))
    size = set_sums(np.ones((1, k), np.int8))[0]
    best, chosen = np.full(1 << k, np.inf), np.zeros(1 << k, np.int64)
    best[0] = 0.0
    for lowest in range(k - 1, -1, -1):
        sets = (np.arange(1 << (k - 1 - lowest)) * 2 + 1) << lowest
        sets = sets[safe[sets]]
        for block in sets[np.argsort(size[sets], kind="stable")].tolist():
            if best[block] <= cost[block] + TIE:
                continue
            outside = (1 << k) - (2 << lowest) & ~block
            high, low = _subsets_of(outside >> _HALF), _subsets_of(outside & (1 << _HALF) - 1)
            rest = ((high << _HALF)[:, None] | low).reshape(-1)
            total = cost[block] + best[rest]
            union = rest | block
            better = np.flatnonzero(total < best[union] - TIE)
            best[union[better]] = total[better]
            chosen[union[better]] = block
    blocks, left = [], (1 << k) - 1
    while left and np.isfinite(best[-1]):
        block = int(chosen[left])
        blocks.append([x for x in range(k) if block >> x & 1])
        left ^= block
    return blocks


@cache
def _subsets_of(letters: int) -> NDArray[np.int64]:
    """All subsets of some of a few letters, in ascending order."""
    return set_sums(np.array([[1 << x for x in range(letters.bit_length()) if letters >> x & 1]], np.int64))[0]
