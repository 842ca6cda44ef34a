"""Estimates of tables, means and regressions from released rows, corrected for the noise of their channel."""

from __future__ import annotations

from sanitize.auditing.analyze._effective import effective_rows
from sanitize.auditing.analyze._logistic import logistic
from sanitize.auditing.analyze._means import mean
from sanitize.auditing.analyze._tables import Estimates as Estimates
from sanitize.auditing.analyze._tables import table

__all__ = ["effective_rows", "logistic", "mean", "table"]
