"""Rules by which one column determines another, for all or some of its values and with few exceptions.

Husbands are men, a town lies in one region, children have no income. If fewer than ten rows of a value of the first
column lack the usual value of the second, it is written with the usual value only: one more exception changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Codes, Vector
from sanitize.release.classes._numbers import threshold_counts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

# Ranges over which a value passes from leaving a column free to determining it: exceptions expected by chance, observed
# exceptions as a share of them, and the share of all rows that would break the rule by chance alone. Ranges and no
# thresholds, so that one row never switches a rule.
_EXPECTED, _LEFT, _GAIN = (3.0, 9.0), (0.3, 0.1), (0.01, 0.03)
# Rows of the sample on which most pairs are ruled out, least information in nats between the columns of other pairs,
# and number of determiners to try: all pairs of a wide table on all rows would take most of a fit.
_FIRST_LOOK, _SHARED, _MOST_TRIED = 1000, 0.005, 12
# Codes in place of an outcome: draw as if there were no rule, or do so without missing values.
FREE, PRESENT = -1, -2


@dataclass(frozen=True, eq=False)
class Rule:
    """Rule that one column determines another column.

    Attributes
    ----------
    determiner : int
        Position of the determining column.
    of_missing : bool
        Whether the rule determines only which values are missing.
    gain : float
        Share of all rows that break no rule but would by chance.
    """

    determiner: int
    of_missing: bool
    gain: float

    def strengths(self, codes: Codes, target: Codes, n_values: int) -> Vector:
        """Return the degree, from 0 to 1, to which each value of a column determines another column."""
        return _measure(codes, target, n_values)[0] * float(_ramp(np.array(self.gain), _GAIN))


def _measure(codes: Codes, target: Codes, n_values: int) -> tuple[Vector, float]:
    """Return how far each value determines another column, and the share of rows that this explains beyond chance."""
    value, outcome, rows = _pairs(codes, target)
    largest, count = np.zeros(n_values), np.bincount(codes, minlength=n_values)
    first = np.flatnonzero(np.diff(value, prepend=-1))  # pairs are in ascending order
    largest[value[first]] = np.maximum.reduceat(rows, first) if len(first) else 0
    margin = np.bincount(target) / max(len(target), 1)
    is_usual = rows == largest[value]
    usual = np.zeros(n_values, np.intp)
    usual[value[is_usual]] = outcome[is_usual]
    expected = count * (1 - margin[usual])
    left = count - largest
    strengths = _ramp(expected, _EXPECTED) * _ramp(left / np.maximum(expected, 1e-9), _LEFT)
    return strengths, float((strengths * np.maximum(expected - left, 0)).sum()) / max(len(codes), 1)


def find_rules(
    codes: Sequence[Codes],
    sizes: Sequence[int],
    shared: Vector,
    free: Collection[int] = (),
    kept: Collection[int] = (),
) -> dict[int, Rule]:
    """Find the strongest rule for each determined column, without cycles.

    Parameters
    ----------
    codes : sequence of ndarray of int, shape (n,)
        Number of each row's value in each column, ``sizes[j] - 1`` for missing.
    sizes : sequence of int
        Values of each column, missing included.
    shared : ndarray of float, shape (n_columns, n_columns)
        Mutual information of each pair of columns, in nats.
    free : collection of int
        Columns left out of rules about values; they still take part in rules about missing values.
    kept : collection of int
        Columns that no other one determines.
    """
    candidates = []
    for determiner, dependent in _candidates(codes, shared):
        if dependent in kept:
            continue
        missing = codes[dependent] == sizes[dependent] - 1
        for target, of_missing in ((codes[dependent], False), (missing.astype(np.intp), True)):
            if (missing.any() and not missing.all()) if of_missing else not {determiner, dependent} & {*free}:
                gain = _measure(codes[determiner], target, sizes[determiner])[1]
                candidates.append((-gain, of_missing, determiner, dependent))
    rules: dict[int, Rule] = {}
    for loss, of_missing, determiner, dependent in sorted(candidates):
        if -loss > _GAIN[0] and dependent not in rules and not _leads(rules, dependent, determiner):
            rules[dependent] = Rule(determiner, of_missing, -loss)
    return rules


def _leads(rules: dict[int, Rule], start: int, end: int) -> bool:
    """Return whether a column determines another one, directly or through others."""
    while end != start and end in rules:
        end = rules[end].determiner
    return end == start


def _candidates(codes: Sequence[Codes], shared: Vector) -> list[tuple[int, int]]:
    """Pairs of columns; the first column of a pair may determine the second."""
    n = len(codes[0])
    sample = np.unique(np.linspace(0, n - 1, min(n, _FIRST_LOOK)).astype(np.intp)) if n else np.empty(0, np.intp)
    sample_codes = np.stack([code[sample] for code in codes], axis=1)
    most = np.sort(shared, axis=0)[-_MOST_TRIED:][0]
    may = (shared > _SHARED) & (shared >= most)
    for place in range(len(codes)):
        last = np.zeros((int(sample_codes[:, place].max(initial=0)) + 1, len(codes)), sample_codes.dtype)
        last[sample_codes[:, place]] = sample_codes
        if len(np.unique(sample_codes[:, place])) < len(sample) / 2:
            may[place] |= (last[sample_codes[:, place]] == sample_codes).mean(axis=0) > 0.9
    np.fill_diagonal(may, val=False)
    return [(int(determiner), int(dependent)) for determiner, dependent in np.argwhere(may)]


def column_order(n_columns: int, rules: dict[int, Rule]) -> list[int]:
    """Columns in an order in which each follows the column that determines it."""
    order: list[int] = []

    def place(column: int) -> None:
        if column in order:
            return
        if column in rules:
            place(rules[column].determiner)
        order.append(column)

    for column in range(n_columns):
        place(column)
    return order


def look_up_table(
    determiner: Codes, target: Codes, strengths: Vector
) -> tuple[NDArray[np.int64], NDArray[np.int32], Vector]:
    """Look-up table: the outcomes of a determined column that remain for each outcome of its determiner.

    Parameters
    ----------
    determiner, target : ndarray of int, shape (n,)
        Outcome of each row in the two columns.
    strengths : ndarray of float
        Strength of each outcome of the determiner.

    Returns
    -------
    first : ndarray of int
        Position at which the list for each outcome of the determiner begins.
    outcomes : ndarray of int
        `FREE` for drawing as if there were no rule.
    shares : ndarray of float
    """
    n_given = len(strengths)
    chosen = strengths[determiner] > 0
    value, outcome, rows = _pairs(determiner[chosen], target[chosen])
    largest = np.zeros(n_given)
    np.maximum.at(largest, value, rows)
    left = np.bincount(value, rows, n_given) - largest
    shared_rows = rows * np.where(rows == largest[value], 1.0, (threshold_counts(left) / np.maximum(left, 1))[value])
    share = strengths[value] * shared_rows / np.maximum(np.bincount(value, shared_rows, n_given), 1e-9)[value]
    value, outcome = np.append(value, np.arange(n_given)), np.append(outcome, np.full(n_given, FREE))
    share = np.append(share, 1 - strengths)
    used = share > 0
    order = np.argsort(value[used], kind="stable")
    first = np.searchsorted(value[used][order], np.arange(n_given + 1))
    return first.astype(np.int64), outcome[used][order].astype(np.int32), share[used][order]


def _pairs(left: Codes, right: Codes) -> tuple[Codes, Codes, NDArray[np.int64]]:
    """Left and right value of each pair that occurs, and the number of rows with the pair."""
    width = np.int64(right.max(initial=0)) + 1
    key = left.astype(np.int64) * width + right
    most = int(key.max(initial=0)) + 1
    if most <= 8 * len(key) + 1000:
        counts = np.bincount(key, minlength=most)
        pairs = np.flatnonzero(counts)
        rows = counts[pairs]
    else:
        pairs, rows = np.unique(key, return_counts=True)
    return pairs // width, pairs % width, rows


def _ramp(values: Vector, ends: tuple[float, float]) -> Vector:
    """Smooth step from 0 before the first end to 1 after the second."""
    share = np.clip((values - ends[0]) / (ends[1] - ends[0]), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))
