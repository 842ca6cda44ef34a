"""A report with what its release keeps of each column and pair: sections, and their means beside the measures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize.measures import Kind, Measure
from sanitize.report._facts import Section
from sanitize.report._kept import KeptColumn, dealt, kept_beyond_chance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy import sparse

    from sanitize.channel import Channel
    from sanitize.report._report import LeakageReport


# Pairs that are listed one by one.
_MOST_PAIRS = 30


def with_columns(
    report: LeakageReport,
    counts: Iterable[tuple[str, sparse.csr_array]],
    pairs: Iterable[tuple[tuple[str, str], sparse.csr_array]],
    channel: Channel,
) -> LeakageReport:
    """Report that says what is kept of each column and of each pair, and their means over those that are not constant.

    Parameters
    ----------
    report : LeakageReport
    counts : iterable of (name, sparse array of shape (n_groups, n_x))
        Rows of (X_j, X) of each column in groups of its values, of all columns the same rows.
    pairs : iterable of ((name, name), sparse array of shape (n_groups, n_x))
        Rows of (X_i, X_j, X) of each pair of columns in groups of their values, of all pairs the same rows.
    channel : Channel
        From X to Y.
    """
    kept: dict[str, float] = {}
    varied = []
    chance = None
    for name, rows in counts:  # one at a time: all tables together are large
        chance = dealt(rows) if chance is None else chance
        kept[name] = kept_beyond_chance(rows, channel, chance)
        if rows.shape[0] > 1:
            varied.append(kept[name])
    line = Measure("mean_column_utility", "information kept, mean of columns", "1", "exact", 1.0, _mean(varied))
    words = (
        "The share of what each column says by itself, H(X_j), that the release keeps, I(X_j;Y), in at most 16 groups "
        "of its values and beyond what rows dealt at random keep."
    )
    columns = tuple(KeptColumn(name, share) for name, share in kept.items())
    section = Section("kept by column", "Kept by column", words, ("Column", "kept"), tuple(kept.items()), public=True)
    report = replace(report, measures=(*report.measures, line), kept=columns).with_section(section)
    return _with_pairs(report, pairs, channel)


def _with_pairs(
    report: LeakageReport, pairs: Iterable[tuple[tuple[str, str], sparse.csr_array]], channel: Channel
) -> LeakageReport:
    kept: dict[str, float] = {}
    n_seen, n_all, chance = 0, math.comb(len(report.kept or ()), 2), None
    for names, rows in pairs:
        n_seen += 1
        if rows.shape[0] > 1:
            chance = dealt(rows) if chance is None else chance
            kept[" x ".join(names)] = kept_beyond_chance(rows, channel, chance)
    if not kept:
        return report
    kind: Kind = "exact" if n_seen == n_all else "estimate"
    line = Measure("mean_pair_utility", "information kept, mean of pairs", "1", kind, 1.0, _mean(list(kept.values())))
    least = sorted(kept.items(), key=lambda item: item[1])[:_MOST_PAIRS]
    words = (
        "The same of two columns together: the share of H(X_i, X_j) that the release keeps, I(X_i, X_j;Y), beyond what "
        "rows dealt at random keep"
    )
    words += f", of {n_seen} pairs drawn at random from {n_all}" if n_seen < n_all else ""
    words += f"; the {_MOST_PAIRS} least kept of {len(kept)} pairs." if len(kept) > _MOST_PAIRS else "."
    section = Section("kept by pair", "Kept by pair of columns", words, ("Pair", "kept"), tuple(least), public=True)
    return replace(report, measures=(*report.measures, line)).with_section(section)


def _mean(kept: list[float]) -> float:
    return float(np.mean(kept)) if kept else 1.0
