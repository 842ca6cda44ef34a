"""What a bounded adversary learns of S from a release: exactly, from rows, by linkage, and against the report."""

from __future__ import annotations

from sanitize._attack_check import Comparison, check
from sanitize._attack_exact import BayesAttack, bayes
from sanitize._attack_infer import infer
from sanitize._attack_inference import GroupInference, InferenceAttack
from sanitize._attack_link import Linkage, LinkAttack, link

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
