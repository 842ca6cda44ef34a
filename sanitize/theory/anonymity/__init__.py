"""k-anonymity family, for users of ARX or pyCANON: classes of rows, and what each reveals.

Rows with equal quasi-identifiers are a class. All measures are read from counts, with missing as one value;
pyCANON [SL] drops rows with a missing quasi-identifier, counts unused categories of a categorical column as classes
of no rows, and reads row labels as positions: fill missing values, use plain columns and reset the index before you
compare. None of these limits what
a randomized release leaks to somebody who knows how it was made: that is what budgets are for.
"""

import lazy_loader

# Files are loaded when a name of theirs is first used.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# All but what is for other rooms, or what a call returns.
__all__ = sorted(set(_names) - {"AlphaK", "AnonymityProfile"})
