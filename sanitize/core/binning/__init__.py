"""Binning of columns into symbols: numbers as intervals or grid points, dates as intervals or calendar units."""

from __future__ import annotations

from sanitize.core.binning._bins import Bins as Bins
from sanitize.core.binning._bins import Grid as Grid
from sanitize.core.binning._bins import LearnedEdges as LearnedEdges
from sanitize.core.binning._bins import as_numbers as as_numbers
from sanitize.core.binning._bins import is_numeric as is_numeric
from sanitize.core.binning._dates import STEPS as STEPS
from sanitize.core.binning._dates import DateBins as DateBins
from sanitize.core.binning._dates import as_seconds as as_seconds
from sanitize.core.binning._dates import by_step as by_step
from sanitize.core.binning._dates import date_edges as date_edges
from sanitize.core.binning._dates import holds_dates as holds_dates
from sanitize.core.binning._dates import is_of_dates as is_of_dates
from sanitize.core.binning._joined import AnyBins as AnyBins
from sanitize.core.binning._joined import Joined as Joined

__all__ = ()
