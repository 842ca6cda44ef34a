# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._converse import (
    max_lift_from_alpha as max_lift_from_alpha,
    max_lift_from_chi2 as max_lift_from_chi2,
    max_lift_from_l1 as max_lift_from_l1,
    min_lift_from_alpha_inverse as min_lift_from_alpha_inverse,
    min_lift_from_chi2_inverse as min_lift_from_chi2_inverse,
    min_lift_from_l1_inverse as min_lift_from_l1_inverse,
)
from ._inverse import (
    alpha_lift_inverse_bound as alpha_lift_inverse_bound,
    chi2_lift_inverse_bound as chi2_lift_inverse_bound,
    l1_lift_inverse_bound as l1_lift_inverse_bound,
)
from ._lift import (
    Bound as Bound,
    alpha_lift_bound as alpha_lift_bound,
    arimoto_bound as arimoto_bound,
    chi2_bound as chi2_bound,
    implied_bounds as implied_bounds,
    l1_lift_bound as l1_lift_bound,
    ldp_bound as ldp_bound,
    mutual_information_bound as mutual_information_bound,
    sibson_bound as sibson_bound,
    total_variation_bound as total_variation_bound,
)
from ._pointwise import (
    max_lift_from_min_lift as max_lift_from_min_lift,
    min_lift_from_max_lift as min_lift_from_max_lift,
)
