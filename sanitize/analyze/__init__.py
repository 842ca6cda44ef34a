"""Unbiased tables, means and regressions from released rows and the channel that was kept with them."""

from __future__ import annotations

from sanitize.analyze._effective import effective_rows
from sanitize.analyze._logistic import logistic
from sanitize.analyze._means import mean
from sanitize.analyze._tables import Estimates as Estimates
from sanitize.analyze._tables import table

__all__ = ["effective_rows", "logistic", "mean", "table"]
