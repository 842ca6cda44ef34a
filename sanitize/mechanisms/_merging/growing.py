"""One safe set around the high-risk symbols: it grows by low-risk ones, and those not needed leave it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize.mechanisms._merging.risks import by_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._merging.risks import SetRisks

# Members that join at once: one in so many of those that have, so that growing takes few steps.
_SHARE = 16


def set_that_is_safe(
    risks: SetRisks, core: NDArray[np.intp], pool: NDArray[np.intp], p_x: NDArray[np.float64], by: SetRisks
) -> NDArray[np.intp]:
    """Members of a safe set that holds the core, and of the pool what it needs.

    Parameters
    ----------
    risks : SetRisks
        Say what is safe.
    core, pool : ndarray of int
        Codes that must be in the set, and that may be.
    p_x : ndarray of shape (n,)
    by : SetRisks
        Say which member lowers the risk most; those of a tighter budget may order better.
    """
    beyond = ~by.safe(by.columns[:, pool])
    found = [_grown(risks, core, pool, by)]
    if beyond.any():
        # What a tighter budget merges at once is a set by itself, and not one that grows.
        first = np.concatenate([core, pool[beyond]])
        found.append(np.concatenate([pool[beyond], _grown(risks, first, pool[~beyond], by)]))
    sets = [np.concatenate([core, needed(risks, core, taken, p_x)]) for taken in found]
    return min(sets, key=lambda members: merging_costs(p_x, members))


def merging_costs(p_x: NDArray[np.float64], members: NDArray[np.intp]) -> float:
    """What merging some symbols costs of I(X;Y), in nats and but for rounding: Σ P(x) log(P(G) / P(x))."""
    mass = p_x[members]
    return round(float(xlogy(mass.sum(), mass.sum()) - xlogy(mass, mass).sum()), 12)


def _grown(risks: SetRisks, core: NDArray[np.intp], pool: NDArray[np.intp], by: SetRisks) -> NDArray[np.intp]:
    """Members of the pool, in the order in which they join the core until it is safe."""
    column = risks.columns[:, core].sum(axis=1)
    mine = by.columns[:, core].sum(axis=1)
    taken: list[NDArray[np.intp]] = []
    n_taken = 0
    while len(pool) and not risks.is_safe(column):
        risk = by.risk(mine[:, None] + by.columns[:, pool])
        best = np.argsort(by_size(risk), kind="stable")[: 1 + n_taken // _SHARE]
        sums = column[:, None] + risks.columns[:, pool[best]].cumsum(axis=1)
        is_safe = risks.safe(sums)
        n = int(is_safe.argmax()) + 1 if is_safe.any() else len(best)
        joined = pool[best[:n]]
        column, mine = sums[:, n - 1], mine + by.columns[:, joined].sum(axis=1)
        taken.append(joined)
        n_taken += n
        pool = np.delete(pool, best[:n])
    return np.concatenate([*taken, np.zeros(0, np.intp)])


def needed(
    risks: SetRisks, core: NDArray[np.intp], taken: NDArray[np.intp], p_x: NDArray[np.float64]
) -> NDArray[np.intp]:
    """What is left when members leave as long as the set stays safe, the dearest first, many at once where it can."""
    kept = np.sort(taken)
    base = risks.columns[:, core].sum(axis=1)
    while len(kept):
        column = base + risks.columns[:, kept].sum(axis=1)
        may_leave = np.flatnonzero(risks.safe(column[:, None] - risks.columns[:, kept]))
        order = may_leave[np.argsort(-by_size(p_x[kept[may_leave]]), kind="stable")]
        if not len(order):
            break
        several = order[: max(len(kept) // _SHARE, 1)]
        stays_safe = risks.safe(column[:, None] - risks.columns[:, kept[several]].cumsum(axis=1))
        # The first alone is safe; of the longer beginnings, those up to the first that is not.
        n = max(int(np.append(~stays_safe, True).argmax()), 1)
        left = np.delete(kept, several[:n])
        if not risks.is_safe(base + risks.columns[:, left].sum(axis=1)):
            break
        kept = left
    return kept
