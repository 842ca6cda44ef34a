"""Theorems that convert one notion into another, with corrections.

A channel that meets a lift budget meets bounds on every averaged leakage too. The lifts of one symbol lie in
[a, b] = [e**-lower, e**upper] and average to 1 under P_S, so the extremes are two-point distributions; the bounds here
are the suprema over all priors. They replace printed statements of [ZDS Prop. 1, 3, 5], several of which fail
when a + b < 2 (or 1/a + 1/b < 2), the first being the regime the paper recommends. Each function of one measure
returns a `Bound` with both numbers and its verdict on the printed one.
"""

import lazy_loader

# Files are loaded when a name of theirs is first used.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# All but what is for other rooms, or what a call returns.
__all__ = sorted(set(_names) - {"Bound", "implied_bounds"})
