"""The search behind subset merging: several starts, exact where small, windows put together anew."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._progress import progress
from sanitize.mechanisms._merging.exact_partition import exact_partition
from sanitize.mechanisms._merging.matching import matched_groups
from sanitize.mechanisms._merging.paper_merging import paper_groups
from sanitize.mechanisms._merging.repartition import improved, loosened
from sanitize.mechanisms._merging.windows import partition_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sanitize.mechanisms._merging.risks import SetRisks
    from sanitize.mechanisms._random_response.effort import Effort

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


def search_partition(
    risks: SetRisks,
    p_x: NDArray[np.float64],
    effort: Effort,
    tighter: Iterable[SetRisks] = (),
    known: Sequence[NDArray[np.intp]] = (),
) -> NDArray[np.intp]:
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
    starts = _starts(risks, p_x)
    if n <= _PAPER_SYMBOLS:
        some = islice(tighter, 0, None, 1 if n <= _SEVERAL else _SPARED)
        starts += [matched_groups(other, p_x, in_pairs=pairs) for other in some for pairs in (True, False)]
        starts = [np.unique(labels, return_inverse=True)[1] for labels in starts]
    starts.sort(key=lambda labels: lost(labels, p_x))
    size = next(atoms for most, atoms in _SIZES if n <= most)
    starts = _distinct(starts, p_x)[: next(kept for most, kept in _IMPROVED if n <= most)]
    with progress("subset merging") as show:
        found: list[NDArray[np.intp]] = []
        for labels in [*known, *starts]:
            account = effort.part(1 / (len(known) + len(starts)))
            # What a search has found is not walked from again.
            is_walked = n <= _WALKED and len(found) >= len(known)
            walked = loosened(labels, risks, p_x, size, account, show) if is_walked else labels
            found.append(improved(walked, risks, p_x, size, account, show))
            effort.spend(account.spent)
    return min(found, key=lambda labels: lost(labels, p_x))


def best_partition(risks: SetRisks, p_x: NDArray[np.float64]) -> NDArray[np.intp]:
    """Labels of the best partition of a few symbols."""
    labels = np.zeros(len(p_x), np.intp)
    if len(p_x) <= _ONE_WINDOW:
        sets, value = partition_windows(risks.columns[:, :, None], p_x[:, None], risks)
        # All symbols together have lift 1; where rounding denies it, they are all there is.
        return np.unique(sets[:, 0], return_inverse=True)[1] if np.isfinite(value[0]) else labels
    for number, block in enumerate(exact_partition(risks.columns, p_x, risks)):
        labels[block] = number
    return labels


def _starts(risks: SetRisks, p_x: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Partitions into safe groups, by different rules."""
    n = len(p_x)
    starts = [matched_groups(risks, p_x, in_pairs=True)]
    if n <= _BOTH_MATCHINGS:
        starts.append(matched_groups(risks, p_x, in_pairs=False))
    if n <= _PAPER_SYMBOLS and n * n * len(risks.columns) <= _PAPER_CELLS:
        leader = np.arange(n)
        for group in paper_groups(risks):
            leader[group] = min(group)
        starts.append(leader)
    return [np.unique(labels, return_inverse=True)[1] for labels in starts]


def _distinct(starts: list[NDArray[np.intp]], p_x: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """The starts without those that cost what another one costs: nearly always the same partition."""
    return list({lost(labels, p_x): labels for labels in reversed(starts)}.values())[::-1]


def lost(labels: NDArray[np.intp], p_x: NDArray[np.float64]) -> float:
    """H(X|Y) up to a constant of the law, in nats and but for rounding: Σ P(G) log P(G)."""
    mass = np.bincount(labels, p_x)
    return round(float(xlogy(mass, mass).sum()), 12)
