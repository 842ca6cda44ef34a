"""Recipes by the name of their estimator; each is loaded when it is asked for, with the mechanism that it names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanitize._release.recipes.recipe import Recipe

_FILES = {
    "BestSanitizer": "best",
    "ExponentialChannel": "exponential",
    "GaussianChannel": "gaussian",
    "JointRelease": "joint",
    "OptimalRandomResponse": "random_response",
    "RandomizedResponse": "randomized_response",
    "SubsetMerging": "merging",
    "SubsetRandomResponse": "random_response",
    "TreeMerging": "trees",
    "TreeRandomResponse": "trees",
    "Watchdog": "merging",
}


def recipe_type(name: str) -> type[Recipe]:
    """Class of the recipe of an estimator."""
    found: type[Recipe] = getattr(import_module(f"sanitize._release.recipes.{_FILES[name]}"), f"{name}Recipe")
    return found
