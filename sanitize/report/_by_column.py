"""A report with what its release keeps of each column and pair: sections, and their means beside the measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize.measures import Measure
from sanitize.report._facts import Section
from sanitize.report._kept import KeptColumn, kept_by_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sanitize.channel import Channel
    from sanitize.report._report import LeakageReport


# Pairs that are listed one by one.
_MOST_PAIRS = 30


def with_columns(
    report: LeakageReport,
    laws: Iterable[tuple[str, NDArray[np.float64]]],
    pairs: Iterable[tuple[tuple[str, str], NDArray[np.float64]]],
    channel: Channel,
) -> LeakageReport:
    """Report that says what is kept of each column and of each pair, and their means over those that are not constant.

    Parameters
    ----------
    report : LeakageReport
    laws : iterable of (name, ndarray of shape (n_levels, n_x))
        Law of (X_j, X) of each column.
    pairs : iterable of ((name, name), ndarray of shape (n_groups, n_x))
        Law of (X_i, X_j, X) of each pair of columns in groups of their values.
    channel : Channel
        From X to Y.
    """
    kept: dict[str, float] = {}
    varied = []
    for name, law in laws:  # one at a time: all laws together are large
        kept |= kept_by_column({name: law}, channel)
        if len(law) > 1:
            varied.append(kept[name])
    line = Measure("mean_column_utility", "information kept, mean of columns", "1", "exact", 1.0, _mean(varied))
    words = "The share of what each column says by itself, H(X_j), that the release keeps, I(X_j;Y)."
    columns = tuple(KeptColumn(name, share) for name, share in kept.items())
    section = Section("kept by column", "Kept by column", words, ("Column", "kept"), tuple(kept.items()), public=True)
    report = replace(report, measures=(*report.measures, line), kept=columns).with_section(section)
    return _with_pairs(report, pairs, channel)


def _with_pairs(
    report: LeakageReport, pairs: Iterable[tuple[tuple[str, str], NDArray[np.float64]]], channel: Channel
) -> LeakageReport:
    kept: dict[str, float] = {}
    for names, law in pairs:
        if len(law) > 1:
            kept |= kept_by_column({" x ".join(names): law}, channel)
    if not kept:
        return report
    line = Measure(
        "mean_pair_utility", "information kept, mean of pairs", "1", "exact", 1.0, _mean(list(kept.values()))
    )
    least = sorted(kept.items(), key=lambda item: item[1])[:_MOST_PAIRS]
    words = (
        "The share of what two columns say together, H(X_i, X_j), each in at most 16 groups of its values, that the "
        "release keeps, I(X_i, X_j;Y)"
    )
    words += f"; the {_MOST_PAIRS} least kept of {len(kept)} pairs." if len(kept) > _MOST_PAIRS else "."
    section = Section("kept by pair", "Kept by pair of columns", words, ("Pair", "kept"), tuple(least), public=True)
    return replace(report, measures=(*report.measures, line)).with_section(section)


def _mean(kept: list[float]) -> float:
    return float(np.mean(kept)) if kept else 1.0
