"""scikit-learn estimators: parameters, fit, remember, transform."""

from sanitize.transformers._estimators import RandomizedResponse, SubsetMerging, Watchdog
from sanitize.transformers._sanitizer import Sanitizer
from sanitize.transformers._scoring import leakage_scorer, utility_scorer

__all__ = [
    "RandomizedResponse",
    "Sanitizer",
    "SubsetMerging",
    "Watchdog",
    "leakage_scorer",
    "utility_scorer",
]
