"""Notions of privacy like differential privacy: worst cases of a channel over pairs of neighbouring inputs, in nats.

Inputs are neighbours if the release must not distinguish them. For one record, all letters are neighbours; for
databases of n records, databases that differ in one record are (`hamming_neighbours`). Functions take the pairs as
``neighbours``, an integer array (n_pairs, 2) read in both directions; None means all pairs of inputs.
"""

from __future__ import annotations

from sanitize.theory.notions._neighbours import check_databases as check_databases
from sanitize.theory.notions._neighbours import check_pairs as check_pairs
from sanitize.theory.notions._neighbours import hamming_neighbours as hamming_neighbours
from sanitize.theory.notions._notions import approximate_dp, global_dp, identifiability, prior_ratio, renyi_dp

__all__ = ["approximate_dp", "global_dp", "identifiability", "prior_ratio", "renyi_dp"]
