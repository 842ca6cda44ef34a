"""Theorems that bound one measure of leakage by another, with corrections of published statements.

A channel that meets a lift budget meets bounds on every averaged leakage too. The lifts of one symbol lie in [a, b] =
[e**-lower, e**upper] and average to 1 under P_S, so the extremes are two-point distributions; the bounds here are the
suprema over all priors. They replace statements printed in [ZDS Prop. 1, 3, 5], several of which fail when a + b < 2
(the regime that the paper recommends) or 1/a + 1/b < 2. Each function of one measure returns a `Bound`, which holds the
correct and the printed number and a verdict on the printed one.
"""

import lazy_loader

# Each file is loaded when one of its names is first used, because a command or a release needs few of them.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# Public names; helpers for other packages and types that calls return are left out.
__all__ = sorted(set(_names) - {"Bound", "implied_bounds"})
