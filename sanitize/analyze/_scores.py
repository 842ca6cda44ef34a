"""From a channel to scores of released symbols whose mean is the share of an input cell, whatever the law of X.

With K the channel and h a function of X, a score g with K g = h has E[g(Y) | X] = h(X): its mean over released rows is
unbiased for the mean of h over the rows that were released, for any table, and for the law they were drawn from. Such
a g exists exactly where h is orthogonal to every change v of P_X that leaves P_Y as it is (v K = 0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sanitize.errors import InvalidChannel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.channel import Channel


class Scores(NamedTuple):
    """Scores of released symbols, one column a group of cells.

    Attributes
    ----------
    groups : ndarray of int, shape (n_cells,)
        Group of each cell: cells that the channel does not tell apart are in one.
    values : ndarray of shape (n_y, n_groups)
        Its mean over released rows is unbiased for the share of the group.
    """

    groups: NDArray[np.int32]
    values: NDArray[np.float64]


def unbiased_scores(channel: Channel, cells: NDArray[np.int32], n_cells: int) -> Scores:
    """Scores of least variance, were all input symbols alike frequent, for the finest cells that are told apart.

    Parameters
    ----------
    channel : Channel
    cells : ndarray of int, shape (n_x,)
        Cell of each input symbol.
    n_cells : int

    Raises
    ------
    InvalidChannel
        If it is too large to be decomposed.
    """
    # Entries of a channel that is decomposed: some seconds and hundreds of megabytes.
    if channel.n_inputs * channel.n_outputs > 1 << 21:
        raise InvalidChannel(
            f"a channel from {channel.n_inputs} to {channel.n_outputs} symbols is too large to be undone; release "
            "fewer columns together, or coarser ones"
        )
    kernel = channel.matrix
    spread = np.sqrt(kernel.mean(axis=0))  # a symbol that no input leads to has no entry either
    spread[spread == 0] = 1.0
    left, singular, right = np.linalg.svd(kernel / spread, full_matrices=True)
    # A direction that the channel shrinks below this, beside its largest, is lost in the rounding of doubles.
    rank = int((singular > 1e-9 * singular[0]).sum())
    groups = _told_apart(left[:, rank:], cells, n_cells)
    n_groups = int(groups.max()) + 1
    indicators = (groups[cells][:, None] == np.arange(n_groups)).astype(float)
    solved = right[:rank].T @ ((left[:, :rank].T @ indicators) / singular[:rank, None])
    return Scores(groups, solved / spread[:, None])


def _told_apart(lost: NDArray[np.float64], cells: NDArray[np.int32], n_cells: int) -> NDArray[np.int32]:
    """Group of each cell, in the order of their first cells; ``lost`` spans the changes of P_X that P_Y does not show.

    The projector on those changes, summed within cells, falls into blocks. Every change sums to 0 in each block, so the
    share of a block is determined; that of a part of it is not.
    """
    nothing = 1e-6  # what rounding leaves of an entry that is 0
    summed = np.zeros((n_cells, lost.shape[1]))
    np.add.at(summed, cells, lost)
    if not lost.shape[1] or not (np.abs(summed) > nothing).any():
        return np.arange(n_cells, dtype=np.int32)
    basis, sizes, _ = np.linalg.svd(summed, full_matrices=False)
    basis = basis[:, sizes > nothing * sizes[0]]
    linked = np.abs(basis @ basis.T) > nothing
    _, labels = connected_components(csr_array(linked), directed=False)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)
