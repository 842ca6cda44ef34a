# The face of the room: read by type checkers, and by `lazy_loader` at run time.
from ._attack import (
    Attack as Attack,
)
from ._bayes import (
    BayesAttack as BayesAttack,
    bayes as bayes,
)
from ._check import (
    Comparison as Comparison,
    check as check,
)
from ._downstream import (
    Downstream as Downstream,
    downstream as downstream,
)
from ._infer import (
    GroupInference as GroupInference,
    InferenceAttack as InferenceAttack,
    infer as infer,
)
from ._judge import (
    AttackResult as AttackResult,
    ClaimVerdict as ClaimVerdict,
    Judgement as Judgement,
    judge as judge,
)
from ._leave_one_out import (
    LeaveOneOut as LeaveOneOut,
    leave_one_out as leave_one_out,
)
from ._scene import (
    Scene as Scene,
)
from ._link import (
    LinkAttack as LinkAttack,
    Linkage as Linkage,
    link as link,
)
