"""Helpers used everywhere: checks, limits, tolerances, formatting, noise; none knows tables or channels."""
