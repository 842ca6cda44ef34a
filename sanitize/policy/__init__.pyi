# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._declaration import (
    DEFAULT_MECHANISM as DEFAULT_MECHANISM,
    MECHANISMS as MECHANISMS,
    OWNERS as OWNERS,
    PAIRS as PAIRS,
    CLASSES as CLASSES,
)
from ._plan import (
    Plan as Plan,
    make_plan as make_plan,
)
from ._proposals import (
    N_BINS as N_BINS,
)
from ._policy import (
    Policy as Policy,
    PolicyBudget as PolicyBudget,
    PolicyChannel as PolicyChannel,
    designer_of as designer_of,
    is_joint as is_joint,
)
from ._reader import (
    REPLACED_MECHANISMS as REPLACED_MECHANISMS,
)
