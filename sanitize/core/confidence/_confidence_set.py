"""Sets of distributions that are compatible with a table of counts, and a channel's worst leakage over such a set.

A channel designed for the frequencies of a sample meets its budget with equality, so it exceeds the budget under the
distribution that the rows were drawn from. This module computes the set of distributions that the counts allow and a
channel's exact worst case over that set.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sanitize._util.checks import Vector
from sanitize._util.tolerances import BUDGET
from sanitize.core.budgets import logs
from sanitize.core.channel import stage_product
from sanitize.core.confidence._boxes import (
    check_confidence,
    clopper_pearson,
    lift_bounds,
    lift_excess,
    ratio_bounds,
    release_bounds,
    total_variation_radius,
    whole_counts,
)
from sanitize.core.confidence._weighted import WeightedRows
from sanitize.core.joint import ContingencyTable, count_table
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter, ReleaseWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from sanitize.core.alphabet import Alphabet
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

# Nobody can bound means of a population whose largest total is unknown, so reports state this assumption if the caller
# does not give the largest possible total.
LARGEST_UNKNOWN = (
    "the largest total in the sample is taken as the largest in the population, and larger groups are not covered; "
    "give largest_total, the largest total in the sampling frame"
)
# Entries of P(y|x), times sensitive symbols, that the worst case sorts: this many take some minutes.
MOST_ENTRIES = 1 << 28


@dataclass(frozen=True, eq=False)
class ConfidenceSet:
    """Set of distributions of (S, X) that the counts of n independent rows allow at a level of confidence.

    P(s) and every P(x|s) lie in Clopper-Pearson intervals [CP34], and every P(.|s) within a total variation of the
    frequencies that bounds the error of all groups of x at once [WOS03]. All hold at the same time (Bonferroni over the
    n_s + n_s n_x intervals and n_s distances, in equal shares): with probability at least ``confidence`` over the rows,
    the distribution that they were drawn from is in the set, provided that no other symbols exist. The bounds for
    different s are independent, so the set contains all combinations of distributions that meet them.

    The symbols are assumed to be known beforehand: the set contains distributions on the symbols that occur. If the
    population has many symbols that no row has, the level is shared among too few intervals, and they fail more often
    than stated. Smoothed counts are refused because they are not counts of rows; for weighted rows see `weighted`.

    Parameters
    ----------
    center : ndarray of shape (n_s, n_x)
        Frequencies of x given s.
    lower, upper : ndarray of shape (n_s, n_x)
        Bounds of P(x|s).
    distance : ndarray of shape (n_s,)
        Bound of the total variation of P(.|s) from the center.
    prior_lower, prior_upper : ndarray of shape (n_s,)
        Bounds of P(s).
    counts : ndarray of shape (n_s, n_x)
        Counts of rows; for weighted rows, sums of weights scaled to the number of rows.
    confidence : float
        Level of confidence, between 0 and 1.
    sensitive, public : Alphabet

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> joint = sz.JointDistribution.from_frame(df, "survived", "class")
    >>> distributions = ConfidenceSet.of(joint, 0.95)
    >>> distributions.contains(joint)
    True
    >>> distributions.center[0].round(3), distributions.upper[0].round(3), distributions.distance.round(3)
    (array([0.082, 0.112, 0.354, 0.452]), array([0.104, 0.137, 0.391, 0.489]), array([0.052, 0.076]))
    """

    center: Vector
    lower: Vector
    upper: Vector
    distance: Vector
    prior_lower: Vector
    prior_upper: Vector
    counts: NDArray[Any]
    confidence: float
    sensitive: Alphabet
    public: Alphabet
    _rows: WeightedRows | None = field(default=None, repr=False)

    @classmethod
    def of(cls, counts: ContingencyTable | JointDistribution, confidence: float) -> ConfidenceSet:
        """Return the set of distributions that counts of independent rows allow.

        Parameters
        ----------
        counts : ContingencyTable or JointDistribution
            Whole counts, or a distribution with the relative frequencies of its ``n`` rows. Symbols without rows are
            left out.
        confidence : float
            Least probability, over the draw of the rows, that the set contains their distribution; 0 < confidence < 1.

        Raises
        ------
        InvalidParameter
            If confidence is not between 0 and 1, or the counts are smoothed, or weighted and without their rows.
        InvalidDistribution
            If the distribution does not say how many rows it was counted from.
        """
        confidence = check_confidence(confidence)
        if isinstance(counts, ContingencyTable) and counts.rows is not None:
            joint, rows = counts.to_joint(), WeightedRows.from_weights(*counts.rows)
            return cls._from_counts(rows.counts, confidence, joint.sensitive, joint.public, rows)
        cells, joint = whole_counts(counts)
        return cls._from_counts(cells, confidence, joint.sensitive, joint.public)

    @classmethod
    def weighted(
        cls,
        df: Any,
        sensitive: Sequence[str] | str,
        public: Sequence[str] | str,
        weights: ArrayLike,
        *,
        clusters: ArrayLike | None = None,
        largest_total: float | None = None,
        confidence: float = 0.95,
    ) -> ConfidenceSet:
        """Return the set of population distributions that weighted rows allow.

        With probability at least ``confidence`` over the sample, the set holds the distribution P(s, x) that is
        proportional to the mean of the weight of rows with (s, x): this is the population's distribution if each weight
        is 1 over the probability of being drawn. This is proven for independent rows of one source, and for fixed
        numbers of rows in strata, drawn with or without replacement; with ``clusters``, for clusters in place of rows.
        It assumes that no cluster (or row) that could have been drawn has a larger total of weights than
        ``largest_total``, and that weights are fixed by the design: weights fitted to the sample afterwards are not
        covered by the proof.

        Parameters
        ----------
        df : pandas or polars DataFrame, pyarrow Table, or mapping of columns
        sensitive, public : str or list of str
            Columns that make up S and X.
        weights : array-like of shape (n_rows,)
            Weight of each row, non-negative. Rows without weight are left out.
        clusters : array-like of shape (n_rows,), optional
            Sampled unit of each row, such as a household or school; rows of one cluster need not be independent. By
            default each row is a cluster.
        largest_total : float, optional
            Largest total of weights that any cluster of the sampling frame would have had in the sample, such as the
            number of pupils of the largest school over its chance of being drawn; without clusters, the largest
            possible weight. The default is the largest total in the sample, with a warning if totals of clusters
            differ: a larger cluster that was not drawn is then not covered, and a set at 95 % may fail more often than
            not.
        confidence : float
            Level of confidence, between 0 and 1.

        Raises
        ------
        InvalidParameter
            If weights are not finite and non-negative, confidence is not between 0 and 1, or a cluster has a larger
            total than ``largest_total``.

        Warns
        -----
        ReleaseWarning
            If totals of clusters differ and ``largest_total`` is not given.

        Notes
        -----
        Bounds and distances come from bets on sums with mean 0: see proof 2 in docs/theory/proofs.md. They hold
        together (Bonferroni, with n_s + 1 intervals of the variance), and are wider than the Clopper-Pearson intervals
        of as many rows of equal weight.

        Examples
        --------
        >>> import sanitize as sz
        >>> df = sz.datasets.load_titanic()
        >>> weights = (df["class"] != "Crew") + 1.0  # of the crew every row was drawn, of the others every second one
        >>> population = ConfidenceSet.weighted(df, "survived", "class", weights)
        >>> population.center[0].round(3), population.upper[0].round(3)
        (array([0.106, 0.145, 0.458, 0.292]), array([0.142, 0.185, 0.507, 0.333]))
        """
        counts = count_table(df, sensitive, public, weights, clusters, largest_total)
        for sentence in design_assumptions(counts)[1:]:
            warnings.warn(sentence, ReleaseWarning, stacklevel=2)
        return cls.of(counts, confidence)

    @classmethod
    def _from_counts(
        cls, cells: Any, confidence: float, sensitive: Alphabet, public: Alphabet, weighted: WeightedRows | None = None
    ) -> ConfidenceSet:
        n_s, n_x = cells.shape
        rows = cells.sum(axis=1)
        if weighted is not None:  # the level is also shared with n_s + 1 intervals of a variance
            bounds = weighted.bounds(level_of_each(n_s, n_x + 2, confidence))
        else:
            level = level_of_each(n_s, n_x, confidence)
            distance = total_variation_radius(n_x, rows, level)
            ends, prior_ends = clopper_pearson(cells, rows[:, None], level), clopper_pearson(rows, rows.sum(), level)
            bounds = (*ends, distance, *prior_ends)
        arrays = (cells / rows[:, None], *bounds, cells)
        for array in arrays:
            array.flags.writeable = False
        return cls(*arrays, confidence, sensitive, public, weighted)

    def scaled(self, factor: int) -> ConfidenceSet:
        """Return the set that ``factor`` times as many rows with the same frequencies would give."""
        rows = self._rows and replace(self._rows, repeats=self._rows.repeats * factor)
        return self._from_counts(self.counts * factor, self.confidence, self.sensitive, self.public, rows)

    @property
    def n(self) -> int:
        """Number of rows counted."""
        return int(np.rint(self.counts.sum()))

    def contains(self, joint: JointDistribution) -> bool:
        """Return whether the set contains a distribution on the same symbols, up to rounding."""
        if joint.pmf.shape != self.lower.shape:
            raise InvalidDistribution(
                f"pmf must have the shape {self.lower.shape} of the confidence set, got {joint.pmf.shape}"
            )
        conditional = joint.pmf / joint.p_s[:, None]
        cells = (conditional >= self.lower - BUDGET) & (conditional <= self.upper + BUDGET)
        far = np.abs(conditional - self.center).sum(axis=1) / 2 <= self.distance + BUDGET
        prior = (joint.p_s >= self.prior_lower - BUDGET) & (joint.p_s <= self.prior_upper + BUDGET)
        return bool(cells.all() and far.all() and prior.all())

    def merge(self, labels: NDArray[np.integer], public: Alphabet) -> ConfidenceSet:
        """Set of the distributions of (S, group of X), exact for any grouping because bounds of a group are sums."""
        rows = self._rows and replace(self._rows, x=np.asarray(labels)[self._rows.x])
        sums: dict[str, Any] = {}
        for name in ("counts", "center", "lower", "upper"):
            cells = getattr(self, name)
            sums[name] = np.stack([np.bincount(labels, row, len(public)) for row in cells]).astype(cells.dtype)
        return replace(self, public=public, _rows=rows, **sums)

    def released(self, channel: Channel) -> tuple[Vector, Vector]:
        """Return the smallest and largest P(y|s) of each released symbol over the set, shapes (n_s, n_y)."""
        if (taken := channel.n_inputs) != (n := len(self.public)):
            raise InvalidChannel(
                f"the channel must take the {n} public symbols of the confidence set, but it takes {taken} symbols"
            )
        if self.work(channel) > MOST_ENTRIES:
            raise InvalidParameter(
                f"the worst case of a channel from {channel.n_inputs} to {channel.n_outputs} symbols is too large to "
                "compute; pool rare symbols (min_count) or release fewer columns"
            )
        stages = list(channel.stages)
        parts = deviation_bounds(self)
        if stages[0].is_deterministic:  # bounds of merged symbols are sums, so a smaller set gives the same extremes
            first = stages.pop(0)
            merge = sparse.csr_array(first.probabilities)
            parts = tuple(np.asarray(part @ merge) for part in parts)
        matrix = sparse.csc_array(stage_product(stages) if stages else sparse.eye_array(channel.n_outputs))
        matrix.eliminate_zeros()
        center, up, down = parts
        return release_bounds(center, up, down, self.distance, matrix)

    def work(self, channel: Channel) -> int:
        """Upper bound on the number of values that `worst_case` sorts: entries of P(y|x) times sensitive symbols."""
        n_s = len(self.center)
        stages = channel.stages[1:] if channel.stages[0].is_deterministic else channel.stages
        entries = n_in = stages[0].n_inputs if stages else channel.n_outputs
        for stage in stages:
            entries = min(n_in * stage.n_outputs, entries * int(np.diff(stage.indptr).max()))
        return n_s * (entries + n_s * channel.n_outputs)

    def worst_case(self, channel: Channel) -> WorstCase:
        """Exact extremes of the lift of each released symbol over the set."""
        pushed = channel.push(self.counts / self.n)
        present = np.flatnonzero(pushed.sum(axis=0) > 0)
        low, high = (bound[:, present] for bound in self.released(channel))
        least, most = lift_bounds(low, high, self.prior_lower, self.prior_upper)
        ratio = ratio_bounds(low, high)
        for array in (low, high, least, most, ratio):
            array.flags.writeable = False
        bare_set = replace(self, _rows=None)  # a report keeps these figures and nothing about single rows
        return WorstCase(least, most, ratio, low, high, bare_set, channel.outputs.take(present))


def design_assumptions(counts: ContingencyTable, *, of_people: bool = False) -> list[str]:
    """State the assumptions about the sampling of weighted rows, or of people with several rows, as sentences."""
    if counts.rows is None:
        return []
    rows, largest = WeightedRows.from_weights(*counts.rows), counts.rows[-1]
    limit = "the largest in the sample" if largest is None else f"{largest:g}"
    sentences = [
        "people are counted, and some have several rows: the figures count rows, and the population consists of rows, "
        "too; people must have been drawn from it independently, each with all their rows; the most rows that "
        f"one person can have is taken as {limit}"
        if of_people
        else "rows are weighted: the figures are of weighted rows, and the population is the one that these represent; "
        "rows (or groups of rows) must have been drawn from it independently, or at random within strata; the largest "
        f"total weight that one of them can have is taken as {limit}"
    ]
    return [*sentences, f"totals of groups differ: {LARGEST_UNKNOWN}"] if rows.is_largest_unknown else sentences


def deviation_bounds(distributions: ConfidenceSet) -> tuple[Vector, ...]:
    """Return the center of P(x|s) and its largest deviations above and below, each of shape (n_s, n_x)."""
    center = distributions.center
    return center, distributions.upper - center, center - distributions.lower


@dataclass(frozen=True, eq=False)
class WorstCase:
    """Extremes of the leakage of each released symbol over a set of distributions; each is attained in the set.

    Attributes
    ----------
    least_lift, most_lift : ndarray of shape (n_s, n_y)
        Smallest and largest lift l(s, y) of any distribution of the set.
    ldp_ratio : ndarray of shape (n_y,)
        Largest p(y|s) / p(y|s').
    low, high : ndarray of shape (n_s, n_y)
        Smallest and largest p(y|s).
    distributions : ConfidenceSet
    released : Alphabet
        Symbols y that can occur.
    """

    least_lift: Vector
    most_lift: Vector
    ldp_ratio: Vector
    low: Vector
    high: Vector
    distributions: ConfidenceSet
    released: Alphabet

    @property
    def max_log_lift(self) -> Vector:
        """Largest log-lift of each released symbol, shape (n_y,), in nats."""
        return logs(self.most_lift.max(axis=0))

    @property
    def min_log_lift(self) -> Vector:
        """Smallest log-lift of each released symbol, shape (n_y,), in nats; -inf if the symbol may rule out a value."""
        return logs(self.least_lift.min(axis=0))

    @property
    def ldp_epsilon(self) -> Vector:
        """Largest log of p(y|s) / p(y|s') of each released symbol, shape (n_y,), in nats."""
        return logs(self.ldp_ratio)

    def excess(self, budget: Budget) -> Vector:
        """Excess of each released symbol over a lift or LDP budget in the worst case, shape (n_y,), in nats."""
        return lift_excess(self.least_lift, self.most_lift, self.ldp_ratio, budget)


def level_of_each(n_s: int, n_x: int, confidence: float) -> float:
    """Error probability of each interval, so that all intervals of a set hold together at this confidence."""
    return (1 - confidence) / (2 * n_s + n_s * n_x)


def worst_case_lift(
    counts: ContingencyTable | JointDistribution | ConfidenceSet, channel: Channel, confidence: float = 0.95
) -> WorstCase:
    """Compute the exact largest and smallest log-lift of a channel over all distributions that the counts allow.

    With probability at least ``confidence`` over the rows, however the channel was designed, no released symbol's lift
    leaves these bounds under the distribution that the rows were drawn from, provided that no other symbols exist. The
    bounds are exact for the set: p(y|s) is extreme where probability is moved greedily from one end of P(y|x) to the
    other, and the lift is then the ratio of a number and a linear function of P(s).

    Parameters
    ----------
    counts : ContingencyTable, JointDistribution or ConfidenceSet
        Whole counts of independent rows, or a set, which has a confidence of its own.
    channel : Channel
        From X to the released symbols.
    confidence : float
        Level of confidence, between 0 and 1.

    Returns
    -------
    WorstCase
        One value per released symbol, in nats: ``max_log_lift``, ``min_log_lift``, ``ldp_epsilon``.

    Raises
    ------
    InvalidParameter
        If the counts are smoothed, or weighted and not a set, confidence is not between 0 and 1, or the channel is too
        large.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> joint = sz.JointDistribution.from_frame(df, "survived", "class")
    >>> channel = sz.watchdog(joint, 0.5)
    >>> worst = worst_case_lift(joint, channel)
    >>> sz.core.lifts.max_log_lift(joint.push(channel)).round(3), worst.max_log_lift.round(3)
    (array([0.488, 0.1  , 0.116]), array([0.695, 0.183, 0.189]))
    """
    distributions = counts if isinstance(counts, ConfidenceSet) else ConfidenceSet.of(counts, confidence)
    return distributions.worst_case(channel)


def design_distributions(joint: JointDistribution, confidence: float | ConfidenceSet) -> ConfidenceSet:
    """Return the set that a mechanism designs for: the given set, or the set allowed by ``joint.n`` rows."""
    if not isinstance(confidence, ConfidenceSet):
        return ConfidenceSet.of(joint, confidence)
    if (shape := confidence.lower.shape) != joint.pmf.shape:
        raise InvalidDistribution(f"pmf must have the shape {shape} of the confidence set, got {joint.pmf.shape}")
    return confidence
