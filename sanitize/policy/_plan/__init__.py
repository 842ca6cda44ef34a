"""The adviser: what a policy would give, what other mechanisms and budgets would, and which lines it could gain."""

from __future__ import annotations

from sanitize.policy._plan.plan import Plan as Plan
from sanitize.policy._plan.plan import make_plan as make_plan
