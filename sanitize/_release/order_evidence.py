"""Whether places of few rows tell more than a budget allows, all of them together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget

# Shares of places that may be beyond the budget; the evidence is the mean over them.
_SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)
_HALVINGS = 40


def log_evidence(
    budget: Budget, counts: NDArray[np.int64], given: NDArray[np.float64], prior: NDArray[np.float64]
) -> float:
    """Log of the evidence against "every place is within the budget".

    No place need have enough rows to be judged by itself. Each one's rows are bet on by a mixture of all laws
    (Krichevsky and Trofimov's) against the law within the budget that is furthest on the way from the law of the table
    to the place's own frequencies. A mixture cannot beat the true law on average, so where places tell nothing the mean
    of the evidence is at most 1, and for two symbols wherever they tell no more than the budget allows.

    Parameters
    ----------
    budget : Budget
    counts : ndarray of int, shape (n_symbols, n_places)
    given : ndarray of float, shape (n_s, n_symbols)
        P(s|symbol); the unit matrix where symbols are those of S.
    prior : ndarray of float, shape (n_symbols,)
        Law of the symbols in the table.
    """
    n = counts.sum(axis=0)
    k = len(counts)
    own = counts / n
    p_s = given @ prior
    within, beyond, share = np.zeros(len(n)), np.ones(len(n)), np.ones(len(n))
    for _ in range(1 + _HALVINGS):
        laws = prior[:, None] + share * (own - prior[:, None])
        is_within = budget.excess_of(given @ laws / p_s[:, None], p_s) <= 0
        within = np.where(is_within, share, within)
        beyond = np.where(is_within, beyond, share)
        share = (within + beyond) / 2
    laws = prior[:, None] + within * (own - prior[:, None])
    mixed = gammaln(k / 2) - gammaln(n + k / 2) + (gammaln(counts + 0.5) - gammaln(0.5)).sum(axis=0)
    bets = mixed - xlogy(counts, laws).sum(axis=0)
    with np.errstate(divide="ignore"):
        totals = [np.logaddexp(np.log1p(-share), math.log(share) + bets).sum() for share in _SHARES]
    return float(logsumexp(totals)) - math.log(len(_SHARES))
