"""Channel capacity with a two-sided certificate, and the most that an ε-LDP channel can carry."""

from __future__ import annotations

from sanitize.capacity._amplitude import LARGEST_AMPLITUDE as LARGEST_AMPLITUDE
from sanitize.capacity._amplitude import amplitude_capacity, awgn_capacity
from sanitize.capacity._amplitude import capacity_near as capacity_near
from sanitize.capacity._amplitude import known_values_capacity as known_values_capacity
from sanitize.capacity._blahut_arimoto import DenseKernel as DenseKernel
from sanitize.capacity._blahut_arimoto import solve as solve
from sanitize.capacity._capacity import Bracketed as Bracketed
from sanitize.capacity._capacity import Capacity as Capacity
from sanitize.capacity._capacity import channel_capacity, dp_information_bound
from sanitize.capacity._capacity import check_tol as check_tol
from sanitize.capacity._half_line import AmplitudeCapacity as AmplitudeCapacity
from sanitize.capacity._selections import best_selection as best_selection

__all__ = [
    "amplitude_capacity",
    "awgn_capacity",
    "channel_capacity",
    "dp_information_bound",
]
