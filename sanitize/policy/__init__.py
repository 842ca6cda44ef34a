"""A reviewed release policy in TOML: every column with its role, the budget, and how the channels are designed."""

from __future__ import annotations

from sanitize.policy._channels import DEFAULT_MECHANISM as DEFAULT_MECHANISM
from sanitize.policy._channels import MECHANISMS as MECHANISMS
from sanitize.policy._channels import SETTINGS as SETTINGS
from sanitize.policy._channels import TREES as TREES
from sanitize.policy._channels import PolicyBudget as PolicyBudget
from sanitize.policy._channels import PolicyChannel as PolicyChannel
from sanitize.policy._plan import Plan as Plan
from sanitize.policy._plan import make_plan as make_plan
from sanitize.policy._plan.proposals import FEW_ROWS as FEW_ROWS
from sanitize.policy._policy import Policy
from sanitize.policy._policy import designer_of as designer_of
from sanitize.policy._policy import is_joint as is_joint
from sanitize.policy._reader import is_day as is_day

__all__ = ["Policy"]
