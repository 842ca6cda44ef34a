"""What a release keeps of each column by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.channel import ReducedChannel
from sanitize.measures import entropy, normalized_utility

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

# Cells (levels of a column x symbols) that are worth a figure beside the verdict.
_MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class KeptColumn:
    """Share of a column's information that the released symbol keeps.

    Attributes
    ----------
    column : str
    share : float
        I(X_j;Y) / H(X_j), between 0 and 1; 1 for a column with a single value, of which there is nothing to lose.
    """

    column: str
    share: float


def kept_columns(joint: JointDistribution, channel: Channel) -> tuple[KeptColumn, ...]:
    """What the channel keeps of each public column; none where that would be much work."""
    if len(joint.public.columns) == 1:
        return (KeptColumn(joint.public.columns[0], normalized_utility(joint, channel)),)
    return tuple(_each(joint, channel))


def _each(joint: JointDistribution, channel: Channel) -> Iterator[KeptColumn]:
    reduced = ReducedChannel.of(channel)
    n_symbols = max(reduced.n_states, *(stage.n_outputs for stage in reduced.stages), 1)
    codes = [np.unique(column, return_inverse=True)[1] for column in joint.public.codes.T]
    n_levels = [int(of_column.max()) + 1 for of_column in codes]
    if sum(n_levels) * n_symbols > _MOST_CELLS:
        return
    for name, of_column, n in zip(joint.public.columns, codes, n_levels, strict=True):
        before = np.bincount(of_column * reduced.n_states + reduced.states, joint.p_x, n * reduced.n_states)
        law: NDArray[np.float64] = before.reshape(n, reduced.n_states).astype(np.float64)
        for stage in reduced.stages:
            law = stage.push(law)
        available = entropy(law.sum(axis=1))
        kept = available + entropy(law.sum(axis=0)) - entropy(law.ravel())
        yield KeptColumn(name, min(1.0, max(0.0, kept / available)) if available > 0 else 1.0)
