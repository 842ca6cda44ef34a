"""The k-anonymity family, for those who come from ARX or pyCANON: classes of rows, and what each gives away.

Rows with equal quasi-identifiers are a class. All measures are read from counts, with missing as one value;
pyCANON [SL] drops rows with a missing quasi-identifier, counts unused categories of a categorical column as classes
of no rows, and reads row labels as positions: fill missing values, use plain columns and reset the index before you
compare. None of these limits what
a randomized release leaks to somebody who knows how it was made: that is what budgets are for.
"""

from __future__ import annotations

from sanitize.anonymity._closeness import beta_likeness, delta_disclosure, enhanced_beta_likeness, t_closeness
from sanitize.anonymity._diversity import AlphaK as AlphaK
from sanitize.anonymity._diversity import (
    alpha_k_anonymity,
    entropy_l_diversity,
    k_anonymity,
    l_diversity,
    recursive_l_diversity,
)
from sanitize.anonymity._profile import AnonymityProfile as AnonymityProfile
from sanitize.anonymity._profile import anonymity_profile

__all__ = [
    "alpha_k_anonymity",
    "anonymity_profile",
    "beta_likeness",
    "delta_disclosure",
    "enhanced_beta_likeness",
    "entropy_l_diversity",
    "k_anonymity",
    "l_diversity",
    "recursive_l_diversity",
    "t_closeness",
]
