"""Bounds on max I(X_i;Y) over distributions of a whole table with entropy at least b.

Given the letter a of one record, the rest of the table matters only through the resulting distribution of Y. Databases
with the same distribution of Y form a group. A distribution of X is (mass of each letter) times (distribution r over
the groups of that letter), uniform within a group, which adds the log of the group's size to the entropy. I(X_i;Y) is
not concave in X, so a search gives a lower bound and a Lagrange function an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize
from scipy.special import softmax, xlogy

from sanitize._util.checks import Codes, Mask, Vector
from sanitize.theory.accounting._balance_one import NO_SLACK, distinct_rows, relative_entropies

# A cut bounds the objective at a letter by the distribution of Y of a mixture of its groups, and by the mixture's
# divergence from its uniform one.
_Cut = tuple[int, Vector, float]


@dataclass(frozen=True, eq=False)
class Record:
    """Effect of one record on Y: the possible distributions of Y for each of its letters, with their counts.

    Attributes
    ----------
    distributions : ndarray of shape (k, m, n_y)
        Distributions of Y, one per group of databases; letters with fewer than m groups repeat a group with count 0.
    counts : ndarray of shape (k, m)
    groups : ndarray of int, shape (n_x,)
        Flat position (letter, group) of each database.
    """

    distributions: Vector
    counts: Vector
    groups: Codes

    @classmethod
    def from_channel(cls, matrix: Vector, sizes: Sequence[int], record: int) -> Record:
        """Group the databases of a channel (n_x, n_y) by the letter of one record and by their distribution of Y."""
        letter = np.indices(sizes)[record].reshape(-1)
        letters = [distinct_rows(matrix[letter == a]) for a in range(sizes[record])]
        m = max(len(distributions) for distributions, _, _ in letters)
        distributions = np.stack(
            [np.concatenate([pmfs, np.repeat(pmfs[:1], m - len(pmfs), axis=0)]) for pmfs, _, _ in letters]
        )
        counts = np.stack([np.pad(number.astype(np.float64), (0, m - len(number))) for _, _, number in letters])
        groups = np.empty(len(matrix), np.intp)
        for a, (_, where, _) in enumerate(letters):
            groups[letter == a] = a * m + where
        return cls(distributions, counts, groups)

    def information(self, masses: Vector) -> Vector:
        """Information I(X_i;Y) in nats for masses of the groups, shape (..., k, m)."""
        joint = np.einsum("...am,amy->...ay", masses, self.distributions)
        total = xlogy(joint, joint).sum(axis=(-2, -1))
        return np.asarray(total - sum(_negentropy(joint.sum(axis=axis)) for axis in (-2, -1)))

    def distribution(self, masses: Vector) -> Vector:
        """Distribution of the whole table, shape (n_x,)."""
        shares = np.divide(masses, self.counts, out=np.zeros_like(masses), where=self.counts > 0)
        return np.asarray(shares.reshape(-1)[self.groups])


def search(record: Record, slack: float, starts: int, tol: float) -> Vector:
    """Search for masses (k, m) of large I(X_i;Y) within ``slack`` nats of full entropy, by alternating maximisation.

    With the posterior of X_i fixed, the bound H(X_i) + E log posterior on the information is concave in X and
    its maximum under the entropy constraint is a Gibbs distribution in two levels, up to one multiplier s.
    """
    steps = 500
    even = record.counts / record.counts.sum()
    if slack <= NO_SLACK:
        return np.asarray(even)
    used = record.counts > 0
    with np.errstate(divide="ignore"):
        log_even = np.log(even / even.sum(axis=1, keepdims=True))
    rng = np.random.default_rng(0)
    masses = rng.dirichlet(np.full(even.size, 0.5), starts).reshape(starts, *even.shape)
    masses = np.concatenate([even[None], np.where(used, masses + 1e-6, 0)])
    masses /= masses.sum(axis=(1, 2), keepdims=True)

    def gibbs(scores: Vector, log_s: Vector) -> Vector:
        s = np.exp(log_s)[:, None, None]
        inner = scores / s + log_even
        top = inner.max(axis=2, keepdims=True)
        within = np.exp(inner - top)
        total = within.sum(axis=2, keepdims=True)
        outer = s / (1 + s) * (np.log(total) + top)
        across = np.exp(outer - outer.max(axis=1, keepdims=True))
        return np.asarray(within / total * (across / across.sum(axis=1, keepdims=True)))

    def is_allowed(masses: Vector) -> Mask:
        return relative_entropies(masses[:, used], even[used]) <= slack

    before = np.full(len(masses), -1.0)
    for step in range(steps):
        joint = np.einsum("tam,amy->tay", masses, record.distributions)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A pair of probability 0 that the step could reopen gets the weight of the smallest double.
            posterior = np.where(joint > 0, np.log(joint / joint.sum(axis=1, keepdims=True)), -745.0)
        scores = np.einsum("amy,tay->tam", record.distributions, posterior)
        low, high = np.full(len(masses), -16.0), np.full(len(masses), 18.0)
        narrow = gibbs(scores, low)
        for _ in range(28):
            middle = (low + high) / 2
            wide = is_allowed(gibbs(scores, middle))
            low, high = np.where(wide, low, middle), np.where(wide, middle, high)
        masses = np.where(is_allowed(narrow)[:, None, None], narrow, gibbs(scores, high))
        information = record.information(masses)
        if np.abs(information - before).max() < tol / 10:
            break
        if step == steps // 20:  # by then each start is near its local maximum
            best = np.argsort(information)[-4:]
            masses, information = masses[best], information[best]
        before = information
    met = np.where(is_allowed(masses), record.information(masses), -1.0)
    best_start = int(met.argmax())
    return np.asarray(masses[best_start] if met[best_start] >= 0 else even)


def lagrange_bound(record: Record, slack: float, masses: Vector, tol: float) -> float:
    """Upper bound on max I(X_i;Y) over distributions with D(X||u) <= slack; inf if a letter has too many groups.

    Here u is the uniform distribution of the table, and H(X) may be ``slack`` below log|X|. For every distribution q of
    Y and every s > 0, s log(mean_a exp(V_a / s)) + s slack is a bound, with V_a the largest D(rW_a || q) - s D(r||u_a)
    over distributions r of the groups of letter a. The bound is convex in (q, s) and minimised by cutting planes, whose
    cuts are maximisers r. Every V_a is bounded by branch and bound, so the value of each round is a valid bound.
    """
    # Simplices of more groups are too many for branch and bound.
    if (record.counts > 0).sum(axis=1).max() > 4:
        return math.inf
    if slack <= NO_SLACK:
        return float(record.information(record.counts / record.counts.sum()))
    seen = record.distributions.sum(axis=(0, 1)) > 0
    letters = [
        (distributions[count > 0][:, seen], count[count > 0] / count.sum())
        for distributions, count in zip(record.distributions, record.counts, strict=True)
    ]
    q = np.einsum("am,amy->y", masses, record.distributions)[seen] + 1e-4
    # The best multiplier grows as 1/sqrt(slack), which is the unit of the program.
    unit = max(1.0, 1 / math.sqrt(2 * slack))
    q, s, best, model = q / q.sum(), 0.3 * unit, math.inf, -math.inf
    cuts: list[_Cut] = []
    for _ in range(40):
        tops = np.empty(len(letters))
        for a, (distributions, share) in enumerate(letters):
            tops[a], r = _best_mixture(distributions, share, q, s, tol / 10)
            cuts.append((a, r @ distributions, float(relative_entropies(r, share))))
        best = min(best, _log_mean(tops, s) + s * slack)
        if best - model < tol:
            break
        model, q, s = _model(cuts, q, s, tops, slack, unit)
    return best


def _log_mean(values: Vector, s: float) -> float:
    """Soft maximum s log(mean exp(values / s)), which is accurate for any s."""
    top = float(values.max())
    return top + s * float(np.log1p(np.mean(np.expm1((values - top) / s))))


def _model(
    cuts: Sequence[_Cut], q: Vector, s: float, tops: Vector, slack: float, unit: float
) -> tuple[float, Vector, float]:
    """Minimise the bound over (q, s), with each V_a of `lagrange_bound` replaced by the largest of its cuts."""
    n_y = len(q)
    owner = np.array([a for a, _, _ in cuts])
    mixtures = np.array([u for _, u, _ in cuts])
    distances = np.array([distance for _, _, distance in cuts])
    negentropies = _negentropy(mixtures)
    even = np.full(len(tops), 1 / len(tops))

    def objective(z: Vector) -> float:
        s = unit * float(z[n_y])
        return _log_mean(z[n_y + 1 :], s) + s * slack

    def slope(z: Vector) -> Vector:
        p = softmax(z[n_y + 1 :] / (unit * z[n_y]))
        return np.concatenate([np.zeros(n_y), [unit * (slack - float(relative_entropies(p, even)))], p])

    def margins(z: Vector) -> Vector:
        gains = negentropies - mixtures @ np.log(z[:n_y])
        return np.asarray(z[n_y + 1 :][owner] - gains + unit * z[n_y] * distances)

    def margins_slope(z: Vector) -> Vector:
        of_v = (owner[:, None] == np.arange(len(tops))).astype(np.float64)
        return np.column_stack([mixtures / z[:n_y], unit * distances, of_v])

    sums = np.concatenate([np.ones(n_y), np.zeros(len(tops) + 1)])
    start = np.concatenate([np.clip(q, 1e-9, 1.0), [min(max(s / unit, 1e-7), 50.0)], tops])
    # Factors by which a step may change a probability or the multiplier, because SLSQP fails on large steps.
    for reach in (8.0, 3.0, 1.5):
        low = np.append(np.maximum(start[:n_y] / reach, 1e-9), max(start[n_y] / reach, 1e-7))
        high = np.append(np.minimum(start[:n_y] * reach, 1.0), min(start[n_y] * reach, 50.0))
        spans: list[tuple[float | None, float | None]] = list(zip(low.tolist(), high.tolist(), strict=True))
        solution = minimize(
            objective,
            start,
            jac=slope,
            method="SLSQP",
            bounds=spans + [(None, None)] * len(tops),
            constraints=[NonlinearConstraint(margins, 0, np.inf, jac=margins_slope), LinearConstraint(sums, 1, 1)],
            options={"maxiter": 200, "ftol": 1e-12},
        )
        if solution.success:
            break
    distribution = np.clip(solution.x[:n_y], low[:n_y], high[:n_y])
    return (
        float(solution.fun),
        distribution / distribution.sum(),
        unit * float(np.clip(solution.x[n_y], low[n_y], high[n_y])),
    )


def _best_mixture(distributions: Vector, share: Vector, q: Vector, s: float, tol: float) -> tuple[float, Vector]:
    """Return an upper bound on max_r D(r distributions || q) - s D(r || share) within tol, and a mixture r close to it.

    The method is branch and bound on simplices: the first term is convex, so it is at most its affine interpolation;
    the second is concave, so it is at most its tangent at the centre. Both bounds are affine, so their sum is largest
    at a corner.
    """
    m = len(distributions)

    def divergence(r: Vector) -> Vector:
        u = r @ distributions
        return np.asarray(_negentropy(u) - u @ np.log(q))

    cells = np.eye(m)[None]
    tried = np.concatenate([cells[0], share[None]])
    best, where, settled = -np.inf, share, -np.inf
    while True:
        values = divergence(tried) - s * relative_entropies(tried, share)
        if values.max() > best:
            best, where = float(values.max()), tried[int(values.argmax())]
        if m == 1:
            return best, where
        centres = cells.mean(axis=1)
        tangent = np.einsum("cvg,cg->cv", cells, np.log(centres / share))
        bounds = (divergence(cells) - s * tangent).max(axis=1)
        open_ = bounds > best + tol
        settled = max(settled, float(bounds[~open_].max(initial=-np.inf)))
        if not open_.any() or open_.sum() > 1 << 14:
            return max(best, settled, float(bounds.max())), where
        tried, cells = centres[open_], cells[open_]
        # Cuts across the longest edge of a simplex, (c, m, m), keep the parts from getting thin.
        edges = np.square(cells[:, :, None] - cells[:, None]).sum(axis=3).reshape(len(cells), -1)
        near, far = np.divmod(edges.argmax(axis=1), m)
        positions = np.arange(len(cells))
        middle = (cells[positions, near] + cells[positions, far]) / 2
        left, right = cells.copy(), cells.copy()
        left[positions, near] = middle
        right[positions, far] = middle
        cells = np.concatenate([left, right])


def _negentropy(p: Vector) -> Vector:
    return np.asarray(xlogy(p, p).sum(axis=-1))
