"""Releases of whole people, who may each have several rows in one or several tables."""

from sanitize.people._profiles import Child
from sanitize.people._release import UnitRelease

__all__ = ["Child", "UnitRelease"]
