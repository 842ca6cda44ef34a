# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._amplitude import (
    LARGEST_AMPLITUDE as LARGEST_AMPLITUDE,
    amplitude_capacity as amplitude_capacity,
    awgn_capacity as awgn_capacity,
    capacity_near as capacity_near,
    known_values_capacity as known_values_capacity,
)
from ._blahut_arimoto import (
    DenseKernel as DenseKernel,
    solve as solve,
)
from ._capacity import (
    Bracketed as Bracketed,
    Capacity as Capacity,
    channel_capacity as channel_capacity,
    check_tol as check_tol,
    dp_information_bound as dp_information_bound,
)
from ._half_line import AmplitudeCapacity as AmplitudeCapacity
from ._selections import best_selection as best_selection
