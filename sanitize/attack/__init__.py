"""What is learned from a release: of S by a bounded adversary, and of other columns by an honest analyst."""

from __future__ import annotations

from sanitize.attack._bayes import BayesAttack as BayesAttack
from sanitize.attack._bayes import bayes
from sanitize.attack._check import Comparison as Comparison
from sanitize.attack._check import check
from sanitize.attack._downstream import Downstream as Downstream
from sanitize.attack._downstream import downstream
from sanitize.attack._infer import GroupInference as GroupInference
from sanitize.attack._infer import InferenceAttack as InferenceAttack
from sanitize.attack._infer import infer
from sanitize.attack._judge import judge
from sanitize.attack._leave_one_out import LeaveOneOut as LeaveOneOut
from sanitize.attack._leave_one_out import leave_one_out
from sanitize.attack._link import Linkage as Linkage
from sanitize.attack._link import LinkAttack as LinkAttack
from sanitize.attack._link import link
from sanitize.report import Judgement as Judgement
from sanitize.report import Pair as Pair

__all__ = [
    "bayes",
    "check",
    "downstream",
    "infer",
    "judge",
    "leave_one_out",
    "link",
]
