"""Helpers for all other packages, independent of tables and channels: checks, limits, formatting and noise."""
