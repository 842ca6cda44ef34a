"""A report with what its release keeps of each column: a section, and their mean beside the measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize.measures import Measure
from sanitize.report._facts import Section
from sanitize.report._kept import kept_by_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sanitize.channel import Channel
    from sanitize.report._report import LeakageReport


def with_columns(report: LeakageReport, laws: Mapping[str, NDArray[np.float64]], channel: Channel) -> LeakageReport:
    """Report that says what is kept of each column, and their mean over those that are not constant."""
    kept = kept_by_column(laws, channel)
    varied = [kept[name] for name, law in laws.items() if len(law) > 1]
    mean = float(np.mean(varied)) if varied else 1.0
    line = Measure("mean_column_utility", "information kept, mean of columns", "1", "exact", 1.0, mean)
    words = "The share of what each column says by itself, H(X_j), that the release keeps, I(X_j;Y)."
    section = Section("kept by column", "Kept by column", words, ("Column", "kept"), tuple(kept.items()), public=True)
    return replace(report, measures=(*report.measures, line)).with_section(section)
