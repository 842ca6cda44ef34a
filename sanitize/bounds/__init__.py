"""Theorems that convert one notion into another, with their corrections.

A channel that meets a lift budget meets bounds on every averaged leakage too. The lifts of one symbol lie in
[a, b] = [e**-lower, e**upper] and average to 1 under P_S, so the extremes are two-point distributions; the bounds here
are the suprema over all priors. They replace printed statements of [ZDS Prop. 1, 3, 5], several of which fail
when a + b < 2 (or 1/a + 1/b < 2), the first being the regime the paper recommends. Each function of one measure
returns a `Bound` with both numbers and its verdict on the printed one.
"""

from __future__ import annotations

from sanitize.bounds._converse import (
    max_lift_from_alpha,
    max_lift_from_chi2,
    max_lift_from_l1,
    min_lift_from_alpha_inverse,
    min_lift_from_chi2_inverse,
    min_lift_from_l1_inverse,
)
from sanitize.bounds._inverse import alpha_lift_inverse_bound, chi2_lift_inverse_bound, l1_lift_inverse_bound
from sanitize.bounds._lift import Bound as Bound
from sanitize.bounds._lift import (
    alpha_lift_bound,
    arimoto_bound,
    chi2_bound,
    l1_lift_bound,
    ldp_bound,
    mutual_information_bound,
    sibson_bound,
    total_variation_bound,
)
from sanitize.bounds._lift import implied_bounds as implied_bounds

__all__ = [
    "alpha_lift_bound",
    "alpha_lift_inverse_bound",
    "arimoto_bound",
    "chi2_bound",
    "chi2_lift_inverse_bound",
    "l1_lift_bound",
    "l1_lift_inverse_bound",
    "ldp_bound",
    "max_lift_from_alpha",
    "max_lift_from_chi2",
    "max_lift_from_l1",
    "min_lift_from_alpha_inverse",
    "min_lift_from_chi2_inverse",
    "min_lift_from_l1_inverse",
    "mutual_information_bound",
    "sibson_bound",
    "total_variation_bound",
]
