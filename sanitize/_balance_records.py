"""Bounds on max I(X_i;Y) over laws of a whole table with entropy at least b.

Given the letter a of one record, the rest of the table only matters through the law of Y it leads to: the
databases with the same law form a group, and a law X is (mass of each letter) times (law r over the groups of
that letter), uniform within a group, which adds log of its size to the entropy. I(X_i;Y) is not concave in X,
so a search gives a lower bound and a Lagrange function an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize
from scipy.special import logsumexp, softmax, xlogy

from sanitize._balance_single import NO_SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Groups of one letter that the branch and bound still splits well.
_MAX_GROUPS = 4
_MAX_CELLS = 1 << 14
_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Record:
    """What one record can do to Y: for each of its letters the laws within reach, and how often each occurs.

    Attributes
    ----------
    laws : ndarray of shape (k, m, n_y)
        Laws of Y, one a group of databases; letters with fewer than m groups repeat one with count 0.
    counts : ndarray of shape (k, m)
    groups : ndarray of int, shape (n_x,)
        Flat position (letter, group) of each database.
    """

    laws: NDArray[np.float64]
    counts: NDArray[np.float64]
    groups: NDArray[np.intp]

    @classmethod
    def of(cls, matrix: NDArray[np.float64], sizes: Sequence[int], record: int) -> Record:
        """Group the databases of a channel (n_x, n_y) by the letter of one record and by their law of Y."""
        letter = np.indices(sizes)[record].reshape(-1)
        found = [
            np.unique(matrix[letter == a], axis=0, return_inverse=True, return_counts=True)
            for a in range(sizes[record])
        ]
        m = max(len(laws) for laws, _, _ in found)
        laws = np.stack([np.concatenate([each, np.repeat(each[:1], m - len(each), axis=0)]) for each, _, _ in found])
        counts = np.stack([np.pad(number.astype(np.float64), (0, m - len(number))) for _, _, number in found])
        groups = np.empty(len(matrix), np.intp)
        for a, (_, where, _) in enumerate(found):
            groups[letter == a] = a * m + where.reshape(-1)
        return cls(laws, counts, groups)

    @property
    def log_counts(self) -> NDArray[np.float64]:
        """Logarithm of the counts, -inf where there is no group."""
        with np.errstate(divide="ignore"):
            return np.log(self.counts)

    def information(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """I(X_i;Y) in nats of masses of the groups, shape (..., k, m)."""
        joint = np.einsum("...am,amy->...ay", masses, self.laws)
        total = xlogy(joint, joint).sum(axis=(-2, -1))
        return np.asarray(total - sum(_negentropy(joint.sum(axis=axis)) for axis in (-2, -1)))

    def entropy(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """H(X) in nats of masses of the groups spread evenly within each, shape (..., k, m)."""
        sizes = np.log(np.maximum(self.counts, 1))
        return np.asarray((masses * sizes - xlogy(masses, masses)).sum(axis=(-2, -1)))

    def law(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Law of the whole table, shape (n_x,)."""
        shares = np.divide(masses, self.counts, out=np.zeros_like(masses), where=self.counts > 0)
        return np.asarray(shares.reshape(-1)[self.groups])


def search(record: Record, b: float, starts: int, tol: float) -> NDArray[np.float64]:
    """Masses (k, m) with entropy at least b and large I(X_i;Y): alternating maximisation from many starts.

    With the posterior of X_i fixed, the bound H(X_i) + E log posterior on the information is concave in X and
    its maximum under the entropy constraint is a Gibbs law in two levels, up to one multiplier s.
    """
    log_counts = record.log_counts
    rng = np.random.default_rng(0)
    masses = rng.dirichlet(np.full(record.counts.size, 0.5), starts).reshape(starts, *record.counts.shape)
    masses = np.concatenate([record.counts[None] / record.counts.sum(), np.where(record.counts > 0, masses + 1e-6, 0)])
    masses /= masses.sum(axis=(1, 2), keepdims=True)

    def gibbs(scores: NDArray[np.float64], log_s: NDArray[np.float64]) -> NDArray[np.float64]:
        s = np.exp(log_s)[:, None, None]
        inner = scores / s + log_counts
        value = logsumexp(inner, axis=2, keepdims=True)
        outer = s * value / (1 + s)
        return np.asarray(np.exp(inner - value + outer - logsumexp(outer, axis=1, keepdims=True)))

    before = np.full(len(masses), -1.0)
    for _ in range(500):
        joint = np.einsum("tam,amy->tay", masses, record.laws)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A pair of probability 0 that the step could open again weighs like the smallest double.
            posterior = np.where(joint > 0, np.log(joint / joint.sum(axis=1, keepdims=True)), -745.0)
        scores = np.einsum("amy,tay->tam", record.laws, posterior)
        low, high = np.full(len(masses), -16.0), np.full(len(masses), 14.0)
        narrow = gibbs(scores, low)
        for _ in range(45):
            middle = (low + high) / 2
            wide = record.entropy(gibbs(scores, middle)) >= b
            low, high = np.where(wide, low, middle), np.where(wide, middle, high)
        enough = record.entropy(narrow) >= b
        masses = np.where(enough[:, None, None], narrow, gibbs(scores, high))
        now = record.information(masses)
        if np.abs(now - before).max() < tol / 100:
            break
        before = now
    # At the largest entropy only the even law is left.
    met = np.where(record.entropy(masses) >= b, record.information(masses), -1.0)
    best = int(met.argmax())
    return np.asarray(masses[best] if met[best] >= 0 else record.counts / record.counts.sum())


def lagrange_bound(record: Record, b: float, masses: NDArray[np.float64], tol: float) -> float:
    """Upper bound on max I(X_i;Y) over H(X) >= b; inf where a letter has too many groups to search.

    For every law q of Y and every s > 0 it is s log Σ_a exp(V_a / s) - s b with V_a the largest D(rW_a || q) +
    s H(X | a) over laws r of the groups of letter a. It is convex in (q, s) and minimised by cutting planes
    whose cuts are maximisers r; every V_a is bounded by branch and bound, so each round's value is a bound.
    """
    if (record.counts > 0).sum(axis=1).max() > _MAX_GROUPS:
        return np.inf
    slack = np.log(record.counts.sum()) - b
    if slack <= NO_SLACK:
        return float(record.information(record.counts / record.counts.sum()))
    letters = [
        (laws[count > 0], np.log(count[count > 0])) for laws, count in zip(record.laws, record.counts, strict=True)
    ]
    q = np.einsum("am,amy->y", masses, record.laws)
    seen = record.laws.sum(axis=(0, 1)) > 0
    letters = [(laws[:, seen], sizes) for laws, sizes in letters]
    q = (q[seen] + 1e-4) / (q[seen] + 1e-4).sum()
    s, best, model = 0.3, np.inf, -np.inf
    largest_s = max(50.0, 2 / np.sqrt(slack))
    cuts: list[tuple[int, NDArray[np.float64], float]] = []
    for _ in range(_ROUNDS):
        tops = np.empty(len(letters))
        for a, (laws, sizes) in enumerate(letters):
            tops[a], r = _best_mixture(laws, sizes, q, s, tol / 10)
            cuts.append((a, r @ laws, float(r @ sizes - _negentropy(r))))
        best = min(best, float(s * logsumexp(tops / s) - s * b))
        if best - model < tol:
            break
        model, q, s = _model(cuts, q, s, tops, b, largest_s)
    return best


def _model(
    cuts: Sequence[tuple[int, NDArray[np.float64], float]],
    q: NDArray[np.float64],
    s: float,
    tops: NDArray[np.float64],
    b: float,
    largest_s: float,
) -> tuple[float, NDArray[np.float64], float]:
    """Minimise the bound over (q, s) with V_a replaced by its largest cut."""
    n_y = len(q)
    owner = np.array([a for a, _, _ in cuts])
    mixtures = np.array([u for _, u, _ in cuts])
    entropies = np.array([h for _, _, h in cuts])
    known = _negentropy(mixtures)

    def objective(z: NDArray[np.float64]) -> float:
        return float(z[n_y] * (logsumexp(z[n_y + 1 :] / z[n_y]) - b))

    def slope(z: NDArray[np.float64]) -> NDArray[np.float64]:
        p = softmax(z[n_y + 1 :] / z[n_y])
        return np.concatenate([np.zeros(n_y), [-_negentropy(p) - b], p])

    def above(z: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(z[n_y + 1 :][owner] - (known - mixtures @ np.log(z[:n_y])) - z[n_y] * entropies)

    def above_slope(z: NDArray[np.float64]) -> NDArray[np.float64]:
        of_v = (owner[:, None] == np.arange(len(tops))).astype(np.float64)
        return np.column_stack([mixtures / z[:n_y], -entropies, of_v])

    sums = np.concatenate([np.ones(n_y), np.zeros(len(tops) + 1)])
    spans: list[tuple[float | None, float | None]] = [(1e-9, 1.0)] * n_y
    spans += [(1e-7, largest_s)]
    spans += [(None, None)] * len(tops)
    found = minimize(
        objective,
        np.concatenate([q, [s], tops]),
        jac=slope,
        method="SLSQP",
        bounds=spans,
        constraints=[NonlinearConstraint(above, 0, np.inf, jac=above_slope), LinearConstraint(sums, 1, 1)],
        options={"maxiter": 200, "ftol": 1e-12},
    )
    law = np.maximum(found.x[:n_y], 1e-9)
    return float(found.fun), law / law.sum(), max(float(found.x[n_y]), 1e-7)


def _best_mixture(
    laws: NDArray[np.float64], sizes: NDArray[np.float64], q: NDArray[np.float64], s: float, tol: float
) -> tuple[float, NDArray[np.float64]]:
    """Upper bound on max_r D(r laws || q) + s (H(r) + r·sizes) within tol, and a mixture r close to it.

    Branch and bound on simplices: D is convex, so at most its affine interpolation; H is concave, so at most
    its tangent at the centre. Both are affine, hence largest at a corner.
    """
    m = len(laws)

    def divergence(r: NDArray[np.float64]) -> NDArray[np.float64]:
        u = r @ laws
        return np.asarray(_negentropy(u) - u @ np.log(q))

    cells = np.eye(m)[None]
    corners = divergence(cells[0]) + s * sizes
    best, where, settled = float(corners.max()), cells[0][int(corners.argmax())], -np.inf
    while m > 1:
        centres = cells.mean(axis=1)
        inner = divergence(centres) + s * (centres @ sizes - _negentropy(centres))
        if inner.max() > best:
            best, where = float(inner.max()), centres[int(inner.argmax())]
        tangent = np.einsum("cvg,cg->cv", cells, sizes - np.log(centres))
        bounds = (divergence(cells) + s * tangent).max(axis=1)
        open_ = bounds > best + tol
        settled = max(settled, float(bounds[~open_].max(initial=-np.inf)))
        if not open_.any() or open_.sum() > _MAX_CELLS:
            return max(best, settled, float(bounds.max())), where
        cells = _bisected(cells[open_])
    return best, where


def _bisected(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each simplex (c, m, m) cut in two across its longest edge."""
    m = cells.shape[1]
    edges = np.square(cells[:, :, None] - cells[:, None]).sum(axis=3).reshape(len(cells), -1)
    one, other = np.divmod(edges.argmax(axis=1), m)
    each = np.arange(len(cells))
    middle = (cells[each, one] + cells[each, other]) / 2
    left, right = cells.copy(), cells.copy()
    left[each, one] = middle
    right[each, other] = middle
    return np.concatenate([left, right])


def _negentropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(xlogy(p, p).sum(axis=-1))
