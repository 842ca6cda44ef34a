"""What a bounded adversary learns of S from a release: exactly, from rows, by linkage, and against the report."""

from __future__ import annotations

from sanitize.attack._bayes import BayesAttack, bayes
from sanitize.attack._check import Comparison, check
from sanitize.attack._infer import infer
from sanitize.attack._infer_result import GroupInference, InferenceAttack
from sanitize.attack._link import Linkage, LinkAttack, link

__all__ = [
    "BayesAttack",
    "Comparison",
    "GroupInference",
    "InferenceAttack",
    "LinkAttack",
    "Linkage",
    "bayes",
    "check",
    "infer",
    "link",
]
