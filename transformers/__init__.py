"""Estimators with the scikit-learn interface that release tables."""

from sanitize.release.recipes.record_dp import RecordDP
from sanitize.release.recipes.secret_dp import SecretDP
from sanitize.transformers._best import BestSanitizer
from sanitize.transformers._classes import LatentClassRelease
from sanitize.transformers._data_independent import ExponentialChannel, GaussianChannel, RandomizedResponse
from sanitize.transformers._joint_release import JointRelease
from sanitize.transformers._merging import SubsetMerging, Watchdog
from sanitize.transformers._pipeline import audit_pipeline as audit_pipeline
from sanitize.transformers._random_response import OptimalRandomResponse, SubsetRandomResponse
from sanitize.transformers._sanitizer import Sanitizer
from sanitize.transformers._scoring import leakage_scorer, utility_scorer

__all__ = [
    "BestSanitizer",
    "ExponentialChannel",
    "GaussianChannel",
    "JointRelease",
    "LatentClassRelease",
    "OptimalRandomResponse",
    "RandomizedResponse",
    "RecordDP",
    "Sanitizer",
    "SecretDP",
    "SubsetMerging",
    "SubsetRandomResponse",
    "Watchdog",
    "leakage_scorer",
    "utility_scorer",
]
