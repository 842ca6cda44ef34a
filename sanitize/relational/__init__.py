"""Whole people: tables in which one of them has several rows, in several tables."""

from sanitize.relational._profiles import Child
from sanitize.relational._release import UnitRelease

__all__ = ["Child", "UnitRelease"]
