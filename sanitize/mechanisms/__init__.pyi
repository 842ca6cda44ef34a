# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._data_independent.discrete_laplace import discrete_laplace_channel as discrete_laplace_channel
from ._data_independent.exponential import (
    calibrate_exponential as calibrate_exponential,
    exponential_channel as exponential_channel,
    exponential_entropy as exponential_entropy,
)
from ._data_independent.gaussian import (
    Method as Method,
    gaussian_channel as gaussian_channel,
    gaussian_noise_variance as gaussian_noise_variance,
)
from ._data_independent.product import product_channel as product_channel
from ._data_independent.randomized_response import (
    calibrate_randomized_response as calibrate_randomized_response,
    randomized_response as randomized_response,
    randomized_response_capacity as randomized_response_capacity,
)
from ._merging.subset_merging import (
    best_subset_merging as best_subset_merging,
    subset_merging as subset_merging,
)
from ._merging.watchdog import watchdog as watchdog
from ._random_response.optimal import (
    optimal_random_response as optimal_random_response,
    solve_optimal_random_response as solve_optimal_random_response,
)
from ._random_response.subset import (
    subset_random_response as subset_random_response,
)
from ._response_solver.mixture import RandomResponse as RandomResponse
from ._certified.certified import (
    as_lift_budget as as_lift_budget,
    certified_random_response as certified_random_response,
    certified_merging as certified_merging,
)
from ._certified.foresight import (
    least_shown as least_shown,
    rows_needed as rows_needed,
)
