"""Privacy-distortion functions: the least privacy loss at a distortion, its inverse, and the channel that attains it.

Each family is a class, for a kind of knowledge about the prior, a notion of privacy and a measure of distortion. An
instance has the parameters of its class and answers three questions (`Tradeoff`): ``privacy(distortion)`` is the least
level in nats, ``distortion(level)`` the least distortion, ``channel(distortion)`` a `Channel` to release with.

* **Prior unknown or uniform**, n records of m symbols: `UniformDP`, `UniformRenyiDP`, and `UniformSibson` for mutual
  information, maximal leakage and all orders between.
* **Known prior**: `PriorDP` for one record or i.i.d. ones, `RecordsDP` for independent ones, `PriorMaximalLeakage`
  for one record or an ordered set of priors.
* **Database with any known prior**, including correlated records: `DatabaseIdentifiability`, `DatabaseDP`,
  `DatabaseMutualInformation`, each up to a ``threshold``; beyond it ``bounds`` of the first two.
* **Programs** for any prior, alphabet and distortion matrix: `OptimalDP`, `OptimalIdentifiability`,
  `OptimalMaxInformation`, `OptimalSibson`. ``at_level`` and ``at_distortion`` return an `OptimalChannel`: the unrounded
  matrix with its measured level and distortion.

All families but the programs are closed forms, which take microseconds and measure distortion by the expected number of
changed records. References: [WYZ], [ZB].
"""

import lazy_loader

# Each file is loaded when one of its names is first used, because a command or a release needs few of them.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# Public names; helpers for other packages and types that calls return are left out.
__all__ = sorted(set(_names) - {"OptimalChannel", "PrivacyInterval"})
