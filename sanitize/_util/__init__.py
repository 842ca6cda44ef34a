"""Helpers for all other packages: checks, limits, tolerances, formatting and noise, unaware of tables and channels."""
