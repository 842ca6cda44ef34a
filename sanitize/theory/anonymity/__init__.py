"""Measures of the k-anonymity family, for users of ARX or pyCANON: how much each class of rows reveals.

Rows with equal quasi-identifiers form a class. All measures are computed from counts, with missing as a value; pyCANON
[SL] drops rows with a missing quasi-identifier, counts unused categories of a categorical column as classes of no rows,
and reads row labels as positions: fill missing values, use plain columns and reset the index before you compare. None
of these measures limits what a randomized release reveals to a reader who knows how it was made; use budgets for that.
"""

import lazy_loader

# Each file is loaded when one of its names is first used, because a command or a release needs few of them.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# Public names; helpers for other packages and types that calls return are left out.
__all__ = sorted(set(_names) - {"AlphaK", "AnonymityProfile"})
