"""Hypothesis profiles; helpers of the suite are plain modules (`oracles`, `strategies`)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("ci", derandomize=True, max_examples=60, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
