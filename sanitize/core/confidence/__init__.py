"""Sets of distributions that are compatible with a table of counts, and a channel's worst leakage over such a set.

A channel designed for the frequencies of a sample meets its budget with equality, so it exceeds the budget under the
distribution that the rows were drawn from. This package computes the set of distributions that the counts allow and a
channel's exact worst case over that set.
"""

from __future__ import annotations

from sanitize.core.confidence._boxes import check_confidence as check_confidence
from sanitize.core.confidence._boxes import clopper_pearson as clopper_pearson
from sanitize.core.confidence._boxes import least_distribution as least_distribution
from sanitize.core.confidence._boxes import lift_bounds as lift_bounds
from sanitize.core.confidence._boxes import lift_excess as lift_excess
from sanitize.core.confidence._boxes import ratio_bounds as ratio_bounds
from sanitize.core.confidence._boxes import release_bounds as release_bounds
from sanitize.core.confidence._boxes import rows_to_tell_two as rows_to_tell_two
from sanitize.core.confidence._boxes import shift_mass as shift_mass
from sanitize.core.confidence._confidence_set import MOST_ENTRIES as MOST_ENTRIES
from sanitize.core.confidence._confidence_set import ConfidenceSet, worst_case_lift
from sanitize.core.confidence._confidence_set import WorstCase as WorstCase
from sanitize.core.confidence._confidence_set import design_assumptions as design_assumptions
from sanitize.core.confidence._confidence_set import design_distributions as design_distributions
from sanitize.core.confidence._confidence_set import deviation_bounds as deviation_bounds
from sanitize.core.confidence._confidence_set import level_of_each as level_of_each
from sanitize.core.confidence._intervals import REPEATED as REPEATED
from sanitize.core.confidence._intervals import intervals as intervals
from sanitize.core.confidence._intervals import repeats_too_often as repeats_too_often

__all__ = ["ConfidenceSet", "worst_case_lift"]
