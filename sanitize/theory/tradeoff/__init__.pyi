# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._database import (
    DatabaseDP as DatabaseDP,
    DatabaseIdentifiability as DatabaseIdentifiability,
    DatabaseMutualInformation as DatabaseMutualInformation,
)
from ._optimal import (
    OptimalDP as OptimalDP,
    OptimalIdentifiability as OptimalIdentifiability,
    OptimalMaxInformation as OptimalMaxInformation,
    OptimalSibson as OptimalSibson,
)
from ._prior import (
    PriorDP as PriorDP,
    PriorMaximalLeakage as PriorMaximalLeakage,
    RecordsDP as RecordsDP,
)
from ._shells import hamming_distances as hamming_distances
from ._tradeoff import (
    OptimalChannel as OptimalChannel,
    PrivacyInterval as PrivacyInterval,
    Tradeoff as Tradeoff,
)
from ._uniform import (
    UniformDP as UniformDP,
    UniformRenyiDP as UniformRenyiDP,
    UniformSibson as UniformSibson,
    max_information_bound as max_information_bound,
)
