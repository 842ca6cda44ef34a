"""Advice for tuples of too many columns: what a tree over the same columns keeps within the same budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize.errors import SanitizeError
from sanitize.policy._declaration import MECHANISMS, OWNERS, TREES
from sanitize.policy._plan.proposals import FEW_ROWS
from sanitize.policy._policy import designer_of, is_joint

if TYPE_CHECKING:
    from sanitize._files.open import SourceLike
    from sanitize._release.designer import Designer
    from sanitize.policy._policy import Policy

# Entries of the laws of columns and tuples up to which it is computed what tuples keep of each column.
_MOST_ENTRIES = 1 << 25


def advice(policy: Policy, sanitizer: Designer, table: SourceLike) -> str | None:
    """What to do where a release that was designed is one of too many tuples; None where it is not, or nothing helps.

    Parameters
    ----------
    policy : Policy
    sanitizer : Designer
        Fitted, for the policy.
    table : Source
    """
    n_rows, n_symbols = sanitizer.report_.n_rows, sanitizer.channel_.n_inputs
    if is_joint(policy) or n_rows is None or n_symbols * FEW_ROWS <= n_rows or len(policy.public) < 2:
        return None
    tree = _tree_of(policy)
    if tree is None:
        return None
    from sanitize.parquet import plan_parquet

    try:
        kept = plan_parquet(table, designer_of(tree)).summary["mean_column_utility"]
    except SanitizeError:  # dates that no tree can split, for one: then there is nothing to advise
        return None
    own = _kept(sanitizer)
    if own is not None and own >= kept:
        return None
    instead = "" if own is None else f", where this release keeps {own:.4g}"
    return (
        f"{n_symbols} combinations of the public columns have {n_rows / n_symbols:.2g} rows each, too few to learn a "
        f'law of them; within the same budget mechanism = "{tree.channels[0].mechanism}" keeps {kept:.4g} of what each '
        f"column says by itself, in the mean{instead}"
    )


def _tree_of(policy: Policy) -> Policy | None:
    """The same policy with a tree in place of tuples; None where its budget is none for trees."""
    channel, notion = policy.channels[0], policy.budget.notion
    fitting = [name for name in reversed(TREES) if notion in MECHANISMS[name][1]]
    if channel.mechanism in TREES or not fitting:
        return None
    settings = {
        name: value for name, value in channel.settings.items() if name != "output" and fitting[0] in OWNERS[name]
    }
    bins = {name: edges for name, edges in channel.bins.items() if name in policy.sensitive}
    made = replace(channel, mechanism=fitting[0], settings=settings, bins=bins)
    return replace(policy, channels=(made,))


def _kept(sanitizer: Designer) -> float | None:
    """Mean of what a release of tuples keeps of each column; None where that is too much to compute."""
    from sanitize.report import column_laws, kept_beyond_chance

    joint = sanitizer._joint
    if joint.n is None or sum(len(level) for level in joint.public.levels) * len(joint.public) > _MOST_ENTRIES:
        return None
    tables = (np.rint(law * joint.n).astype(np.int64) for law in column_laws(joint).values())
    return float(np.mean([kept_beyond_chance(table, sanitizer.channel_) for table in tables]))
