# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._balance import (
    Balance as Balance,
    balance_function as balance_function,
)
from ._composition import (
    GeneralComposition as GeneralComposition,
    ParallelComposition as ParallelComposition,
    compose as compose,
    cross_capacity as cross_capacity,
    general_composition as general_composition,
    parallel_composition as parallel_composition,
)
from ._computational_balance import (
    ComputationalBalance as ComputationalBalance,
    computational_balance_function as computational_balance_function,
)
from ._joint_release import (
    conditional_dependence as conditional_dependence,
    joint_release as joint_release,
)
from ._lift_budgets import (
    MeanTail as MeanTail,
    PrivacyLoss as PrivacyLoss,
    basic_composition as basic_composition,
    group_capacity_bound as group_capacity_bound,
    group_privacy as group_privacy,
    independent_release_budget as independent_release_budget,
    private_mean_tail as private_mean_tail,
    sensitive_ldp_composition as sensitive_ldp_composition,
    sequential_budget as sequential_budget,
)
from ._permanent_release import permanent_release as permanent_release
