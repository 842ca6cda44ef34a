"""Privacy-distortion functions: the least privacy loss at a distortion, its inverse, and the channel that reaches it.

A family is a class: what is known of the prior, what privacy means, how distortion is measured. It is made with its
parameters, which its own page explains once, and answers three questions (`Tradeoff`): ``privacy(distortion)`` is the
least level in nats, ``distortion(level)`` the least distortion, ``channel(distortion)`` a `Channel` to release with.

* **Prior unknown or uniform**, n records of m symbols: `UniformDP`, `UniformRenyiDP`, and `UniformSibson` for mutual
  information, maximal leakage and all orders between.
* **Known prior**: `PriorDP` for one record or i.i.d. ones, `RecordsDP` for independent ones, `PriorMaximalLeakage`
  for one record or an ordered set of priors.
* **Database with any known prior**, correlated records too: `DatabaseIdentifiability`, `DatabaseDP`,
  `DatabaseMutualInformation`, each up to a ``threshold``; beyond it ``bounds`` of the first two.
* **Programs** for any prior, alphabet and distortion matrix: `OptimalDP`, `OptimalIdentifiability`,
  `OptimalMaxInformation`, `OptimalSibson`. ``at_level`` and ``at_distortion`` give an `OptimalChannel`, the unrounded
  matrix with the level and the distortion measured on it.

All but the programs are closed forms, microseconds each, and count the expected number of changed records.
References: [WYZ], [ZB].
"""

import lazy_loader

# Files are loaded when a name of theirs is first used.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# All but what is for other rooms, or what a call returns.
__all__ = sorted(set(_names) - {"OptimalChannel", "PrivacyInterval"})
