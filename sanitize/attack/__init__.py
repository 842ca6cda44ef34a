"""What is learned from a release: of S by a bounded adversary, and of other columns by an honest analyst."""

from __future__ import annotations

from sanitize.attack._bayes import BayesAttack, bayes
from sanitize.attack._check import Comparison, check
from sanitize.attack._downstream import Downstream, downstream
from sanitize.attack._infer import GroupInference, InferenceAttack, infer
from sanitize.attack._judge import judge
from sanitize.attack._leave_one_out import LeaveOneOut, leave_one_out
from sanitize.attack._link import Linkage, LinkAttack, link
from sanitize.report import Judgement, Pair

__all__ = [
    "BayesAttack",
    "Comparison",
    "Downstream",
    "GroupInference",
    "InferenceAttack",
    "Judgement",
    "LeaveOneOut",
    "LinkAttack",
    "Linkage",
    "Pair",
    "bayes",
    "check",
    "downstream",
    "infer",
    "judge",
    "leave_one_out",
    "link",
]
