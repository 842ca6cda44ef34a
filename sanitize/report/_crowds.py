"""Whose row a released row may be: how far a release hides rows among each other, beside what it tells of S.

Somebody who knows the released columns of every row as they were, and the channel, guesses which of the n rows a
released row y came from. Rows alike in x are alike to her, so row i has the probability P(y|x_i) / (n P(y)), and her
best guess is right with probability max_x P(y|x) / (n P(y)); in the mean over y that is sum_y max_x P(y|x) / n. On the
raw columns these are one over the size of a class, and the number of classes over n: k-anonymity, and the average risk
of re-identification. By data processing no channel makes any of the figures worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.channel import ReducedChannel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

# Entries of a channel's matrix up to which crowds are measured.
_MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class Crowds:
    """How well a row of a table is told from the others.

    Attributes
    ----------
    alone : float
        Share of rows that only one row of the source can be behind.
    smallest : float
        One over the largest probability of a right guess whose row it is: on raw columns the k of k-anonymity.
    mean : float
        One over the probability of a right guess in the mean over rows; both are at least 1.
    """

    alone: float
    smallest: float
    mean: float


def crowds_of(joint: JointDistribution, channel: Channel) -> tuple[Crowds, Crowds] | None:
    """Crowds in the columns as they were and in what the channel prints.

    None where no whole rows were counted (a stated law, weights, smoothing), or the matrix is too large.
    """
    if joint.n is None:
        return None
    rows = joint.p_x * joint.n
    if not np.allclose(rows, np.round(rows), rtol=1e-6, atol=1e-6):
        return None
    sizes: NDArray[np.float64] = np.round(rows)
    reduced = ReducedChannel.of(channel)
    in_state: NDArray[np.float64] = np.zeros(reduced.n_states)
    np.add.at(in_state, reduced.states, sizes)
    if not reduced.stages:  # the symbol says the state
        return _crowds(sizes[sizes > 0], None), _crowds(in_state, None)
    if reduced.n_states * max(stage.n_outputs for stage in reduced.stages) > _MOST_CELLS:
        return None
    matrix: NDArray[np.float64] = np.eye(reduced.n_states)
    for stage in reduced.stages:
        matrix = stage.push(matrix)
    return _crowds(sizes[sizes > 0], None), _crowds(in_state, matrix)


def _crowds(sizes: NDArray[np.float64], matrix: NDArray[np.float64] | None) -> Crowds:
    """Crowds of rows in classes of these sizes, of which a channel prints; of the classes themselves without one."""
    here = sizes > 0
    sizes, n = sizes[here], float(sizes.sum())
    if matrix is None:
        return Crowds(float((sizes == 1).sum() / n), float(sizes.min()), n / len(sizes))
    matrix = matrix[here]
    printed = sizes @ matrix  # rows that are expected to hold each symbol
    top = matrix.max(axis=0)
    seen = top > 0
    alone = seen & (sizes @ (matrix > 0) < 1.5)
    smallest = float((printed[seen] / top[seen]).min())
    return Crowds(float(printed[alone].sum() / n), max(1.0, smallest), max(1.0, n / float(top.sum())))
