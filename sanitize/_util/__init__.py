"""Helpers of every room: checks, limits, tolerances, formatting, noise; it knows no table and no channel."""
