"""Utility of a release: information kept per public column, beyond chance, and relations between columns."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize.core.joint import sparse_counts
from sanitize.core.measures import Measure
from sanitize.report._facts import Section
from sanitize.report._headline import RELATIONS
from sanitize.report._report import LeakageReport
from sanitize.report._verdict import KeptColumn, utility_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution
    from sanitize.core.profiles import Relation

# Default of parameters that are never changed; a plain dict could be.
_NONE: Mapping[str, float] = MappingProxyType({})
# Most released symbols per symbol, on average, for which distributions are stored as sparse arrays: with more, these
# take longer than dense ones.
_FEW_ENTRIES = 8


def column_distributions(joint: JointDistribution) -> dict[str, NDArray[np.float64]]:
    """Joint distribution of X_j and X for each public column X_j, shape (n_levels, n_x).

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> joint = sz.JointDistribution.from_frame(df, "survived", ["class", "sex"])
    >>> {name: distribution.shape for name, distribution in column_distributions(joint).items()}
    {'class': (4, 8), 'sex': (2, 8)}
    """
    distributions = {}
    for name, codes in zip(joint.public.columns, joint.public.codes.T, strict=True):
        distribution = np.zeros((int(codes.max()) + 1, len(codes)))
        distribution[codes, np.arange(len(codes))] = joint.p_x
        distributions[name] = distribution[distribution.any(axis=1)]
    return distributions


def share_beyond_chance(
    counts: NDArray[np.int64] | sparse.csr_array, channel: Channel, chance: NDArray[np.intp] | None = None
) -> float:
    """Share of H(X_j), from 0 to 1, that Y keeps in addition to what randomly shuffled rows would keep [VEB10].

    With few rows, the plain share I(X_j;Y) / H(X_j) is too large by chance. With I₀ the information after shuffling the
    rows, the result is (I - I₀) / (H - I₀): 0 if Y reveals nothing about the column, and 1 if Y determines it.

    Parameters
    ----------
    counts : array or sparse array of int, shape (n_levels, n_x)
        Counts of (X_j, X).
    channel : Channel
        Channel from X to Y.
    chance : ndarray of int, shape (n,), optional
        X of the rows as shuffled by `deal_rows`, to use the same shuffle for all columns of the rows.
    """
    table = sparse.csr_array(counts)
    x = deal_rows(table) if chance is None else chance
    level = np.repeat(np.arange(table.shape[0]), table.sum(axis=1))
    tables = table, sparse_counts(level, x, table.shape)
    share, by_chance = (utility_share(_push_rows(rows / max(len(x), 1), channel)) for rows in tables)
    # Further digits are rounding errors: a share of 1e-15 is 0.
    return round(max(0.0, (share - by_chance) / (1 - by_chance)), 12) if by_chance < 1 else 1.0


def deal_rows(counts: sparse.csr_array) -> NDArray[np.intp]:
    """Return the public symbols of all rows in random order, the same order for every column of a table."""
    return np.random.default_rng(13).permutation(np.repeat(np.arange(counts.shape[1]), counts.sum(axis=0)))


def _push_rows(distribution: sparse.csr_array, channel: Channel) -> NDArray[np.float64] | sparse.csr_array:
    """Return the distribution of (X_j, Y) for a distribution of (X_j, X), sparse if the channel mixes few symbols."""
    product = _sparse_product(channel)
    return channel.push(distribution.toarray()) if product is None else distribution @ product


@lru_cache(maxsize=1)  # the next call is for another column of the same channel
def _sparse_product(channel: Channel) -> sparse.csr_array | None:
    """Product P(y|x) as a sparse matrix, or None if it has many entries."""
    most = _FEW_ENTRIES * channel.n_inputs
    product = channel.stages[0].probabilities
    for stage in channel.stages[1:]:
        if np.diff(stage.indptr)[product.indices].sum() > most:
            return None
        product = product @ stage.probabilities
    return product if len(product.indices) <= most else None


def with_columns(
    report: LeakageReport,
    counts: Iterable[tuple[str, sparse.csr_array]],
    channel: Channel,
    lost: Mapping[str, float] = _NONE,
) -> LeakageReport:
    """Return the report with the utility of each column, and the mean over columns that are not constant.

    Parameters
    ----------
    report : LeakageReport
    counts : iterable of (name, sparse array of shape (n_groups, n_x))
        Counts of (X_j, X) for each column X_j, whose values are in groups; all columns count the same rows.
    channel : Channel
        Channel from X to Y.
    lost : mapping of name to float, optional
        Share of the rows, per column, whose value is never written and therefore not kept.
    """
    column_shares, line = column_utilities(counts, channel, lost)
    words = (
        "The share of the information in each column, H(X_j), that the release keeps, I(X_j;Y): of at most 16 groups "
        "of values, and in addition to what rows shuffled at random would keep."
    )
    words += " Rows that are written with another value are not counted as kept." if any(lost.values()) else ""
    columns = tuple(KeptColumn(name, share) for name, share in column_shares.items())
    section = Section("kept by column", "Kept by column", words, ("Column", "kept"), tuple(column_shares.items()))
    return replace(report, measures=(*report.measures, line), kept=columns).with_section(section)


def with_relations(
    report: LeakageReport, relations: Sequence[Relation], lost: Mapping[str, float] = _NONE, *, is_shuffled: bool
) -> LeakageReport:
    """Return the report with the strength of each relation between two columns in generated rows.

    Parameters
    ----------
    report : LeakageReport
        Report with the utility of each column.
    relations : sequence of Relation
    lost : mapping of name to float, optional
        Share of the rows, per column, whose value is never written, which weakens relations with this column. If no two
        columns are related, only values can be lost.
    is_shuffled : bool
        Whether rows are in random order, so that their use is measured by the mean over all relations.
    """
    report = replace(report, pairs=tuple(relations))
    if not is_shuffled:
        return report
    own = {one.column: 1 - lost.get(one.column, 0.0) for one in report.kept}
    shares = [pair.share * min(own[name] for name in pair.columns) for pair in relations if pair.is_sure]
    before, mean = (1.0, _mean(shares)) if shares else (None, _mean(list(own.values())))
    line = Measure(RELATIONS, "relations between columns kept", "1", "estimate", before, mean)
    return replace(report, measures=(*report.measures, line))


def column_utilities(
    counts: Iterable[tuple[str, sparse.csr_array]], channel: Channel, lost: Mapping[str, float] = _NONE
) -> tuple[dict[str, float], Measure]:
    """Measure the utility of each column, and the mean over columns that are not constant; see `with_columns`."""
    chance, shares, varying = None, {}, []
    for name, rows in counts:  # only one column at a time is in memory
        chance = deal_rows(rows) if chance is None else chance
        shares[name] = share_beyond_chance(rows, channel, chance) * (1 - lost.get(name, 0.0))
        varying += [shares[name]] if rows.shape[0] > 1 else []
    return shares, Measure("mean_column_utility", "information kept, column average", "1", "exact", 1.0, _mean(varying))


def _mean(shares: list[float]) -> float:
    return float(np.mean(shares)) if shares else 1.0
