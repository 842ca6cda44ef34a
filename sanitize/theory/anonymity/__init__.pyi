# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._closeness import (
    beta_likeness as beta_likeness,
    delta_disclosure as delta_disclosure,
    enhanced_beta_likeness as enhanced_beta_likeness,
    t_closeness as t_closeness,
)
from ._diversity import (
    AlphaK as AlphaK,
    alpha_k_anonymity as alpha_k_anonymity,
    entropy_l_diversity as entropy_l_diversity,
    k_anonymity as k_anonymity,
    l_diversity as l_diversity,
    recursive_l_diversity as recursive_l_diversity,
)
from ._profile import (
    AnonymityProfile as AnonymityProfile,
    anonymity_profile as anonymity_profile,
)
