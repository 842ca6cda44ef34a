"""A level in nats as the budget that an estimator takes."""

from __future__ import annotations

from typing import Any

from sanitize.core.budgets import LiftBudget
from sanitize.transformers import RandomizedResponse


def level(estimator: Any, nats: float) -> Any:
    """Randomized response takes the number, all others a limit that says its unit."""
    return nats if issubclass(estimator, RandomizedResponse) else LiftBudget.symmetric(nats)
