"""Mechanisms: one algorithm of one paper a file, each ``(joint, budget, ...) -> Channel``."""

from sanitize.mechanisms._randomized_response import randomized_response
from sanitize.mechanisms._subset_merging import subset_merging
from sanitize.mechanisms._watchdog import watchdog

__all__ = ["randomized_response", "subset_merging", "watchdog"]
