"""Accounting of several releases: composition, group privacy, and joint leakage.

Levels that bound every ratio P(y|x)/P(y|x') or every capacity add up over releases. Budgets on the lift of S do not add
up: the joint lift of two releases is measured here from the joint distribution, and bounded if a theorem allows it.
"""

import lazy_loader

# Each file is loaded when one of its names is first used, because a command or a release needs few of them.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# Types that calls return; users never name them, so they are not public.
_RESULTS = {"Balance", "ComputationalBalance", "GeneralComposition", "MeanTail", "ParallelComposition", "PrivacyLoss"}
__all__ = sorted(set(_names) - _RESULTS)
