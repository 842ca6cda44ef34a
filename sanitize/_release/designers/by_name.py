"""Designers by name; each is loaded when it is asked for, with the mechanism that it names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanitize._release.designers.designer import Designer

_FILES = {
    "BestSanitizer": "best",
    "ExponentialChannel": "exponential",
    "GaussianChannel": "gaussian",
    "JointRelease": "joint_release",
    "OptimalRandomResponse": "random_response",
    "RandomizedResponse": "randomized_response",
    "SubsetMerging": "merging",
    "SubsetRandomResponse": "random_response",
    "TreeMerging": "trees",
    "TreeRandomResponse": "trees",
    "Watchdog": "merging",
}


def designer(name: str) -> type[Designer]:
    """Class of the designer of an estimator."""
    found: type[Designer] = getattr(import_module(f"sanitize._release.designers.{_FILES[name]}"), name)
    return found
