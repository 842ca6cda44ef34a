"""A share of a budget, for designs that let it rise in steps."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanitize.budgets._budgets import Budget

_LEVELS = ("lower", "upper", "eps")


def scaled_budget(budget: Budget, share: float) -> Budget:
    """The same kind of budget with its levels, in nats, times a share from 0 to 1; what is free stays free.

    Whatever is within it is within the whole, since every budget bounds leakages that its levels bound from above.
    Budgets of other classes than this package's are returned as they are.
    """
    if not is_dataclass(budget) or isinstance(budget, type):
        return budget
    levels = {field.name: getattr(budget, field.name) for field in fields(budget) if field.name in _LEVELS}
    scaled: Budget = replace(budget, **{name: share * level for name, level in levels.items() if level < math.inf})
    return scaled
