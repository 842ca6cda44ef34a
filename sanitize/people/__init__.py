"""Whole people: tables in which one of them has several rows, in several tables."""

from sanitize.people._profiles import Child
from sanitize.people._release import UnitRelease

__all__ = ["Child", "UnitRelease"]
