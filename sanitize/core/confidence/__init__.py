"""Distributions that a table of counts allows, and what a channel leaks at worst under any of them.

A channel designed for the frequencies of a sample sits on the edge of its budget, and exceeds it under the distribution
the rows were drawn from. Here is the set of distributions that the counts allow, and a channel's exact worst case over
it.
"""

from __future__ import annotations

from sanitize.core.confidence._boxes import check_confidence as check_confidence
from sanitize.core.confidence._boxes import clopper_pearson as clopper_pearson
from sanitize.core.confidence._boxes import excess_of as excess_of
from sanitize.core.confidence._boxes import least_distribution as least_distribution
from sanitize.core.confidence._boxes import lift_bounds as lift_bounds
from sanitize.core.confidence._boxes import moved as moved
from sanitize.core.confidence._boxes import ratio_bounds as ratio_bounds
from sanitize.core.confidence._boxes import released_bounds as released_bounds
from sanitize.core.confidence._boxes import rows_to_tell_two as rows_to_tell_two
from sanitize.core.confidence._confidence_set import MOST_ENTRIES as MOST_ENTRIES
from sanitize.core.confidence._confidence_set import ConfidenceSet, worst_case_lift
from sanitize.core.confidence._confidence_set import WorstCase as WorstCase
from sanitize.core.confidence._confidence_set import around as around
from sanitize.core.confidence._confidence_set import assumptions_of as assumptions_of
from sanitize.core.confidence._confidence_set import distributions_of as distributions_of
from sanitize.core.confidence._confidence_set import level_of_each as level_of_each
from sanitize.core.confidence._intervals import REPEATED as REPEATED
from sanitize.core.confidence._intervals import intervals as intervals
from sanitize.core.confidence._intervals import repeats_too_often as repeats_too_often

__all__ = ["ConfidenceSet", "worst_case_lift"]
