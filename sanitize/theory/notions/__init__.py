"""Differential-privacy-like notions of a channel: worst cases over pairs of neighbouring inputs, in nats.

Inputs are neighbours when the notion must not tell them apart. For one record all letters are; for databases of
n records, those that differ in one record (`hamming_neighbours`). Functions take the pairs as ``neighbours``,
an integer array (n_pairs, 2) read in both directions; None means all pairs of inputs.
"""

from __future__ import annotations

from sanitize.theory.notions._neighbours import databases_of as databases_of
from sanitize.theory.notions._neighbours import hamming_neighbours as hamming_neighbours
from sanitize.theory.notions._neighbours import pairs_of as pairs_of
from sanitize.theory.notions._notions import approximate_dp, global_dp, identifiability, prior_ratio, renyi_dp

__all__ = ["approximate_dp", "global_dp", "identifiability", "prior_ratio", "renyi_dp"]
