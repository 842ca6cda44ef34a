"""Several channels on one table, on two tables of the same people, or on parts of one table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._checks import Vector, listed, whole_number
from sanitize._limits import DENSE_CELLS
from sanitize.accounting._joint_release import row_products
from sanitize.capacity import best_selection, channel_capacity, check_tol
from sanitize.channel import channel_matrix
from sanitize.errors import InvalidChannel, InvalidParameter
from sanitize.individual import individual_channel_capacity
from sanitize.notions import databases_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from sanitize.channel import Channel


@dataclass(frozen=True)
class GeneralComposition:
    """What two channels on two tables of the same people tell about one person, in nats.

    Attributes
    ----------
    own : (float, float)
        C^11 and C^22: a person's record in table j from Y^j.
    cross : (float, float)
        C^12 and C^21: the record in table 1 from Y^2, and the record in table 2 from Y^1.
    whole : (float, float)
        F_1 and F_2: capacities of the two channels.
    printed : float
        C^11 + C^22 + C^12 + C^21 [WXH Thm 7.2].
    bound : float
        min(C^11 + C^21, F_1) + min(C^22 + C^12, F_2), never above ``printed``.
    """

    own: tuple[float, float]
    cross: tuple[float, float]
    whole: tuple[float, float]
    printed: float
    bound: float


@dataclass(frozen=True)
class ParallelComposition:
    """What channels on disjoint parts of a table tell about one record, in nats.

    Attributes
    ----------
    individual : tuple of float
        C_1 of each part.
    whole : tuple of float
        Capacity of each part.
    claimed : float
        Largest C_1 of a part: what parallel composition would allow. Not a bound.
    bound : float
        max_j (C_1 of part j + capacities of the other parts).
    """

    individual: tuple[float, ...]
    whole: tuple[float, ...]
    claimed: float
    bound: float


def compose(*channels: Channel | ArrayLike | Any) -> Vector:
    """P(y_1, ..., y_m | x) = Π_j P(y_j | x): independent answers about the same x [WXH Def. 19, eq. 138].

    The result is a channel like any other, to be given to every measure. Bounds without it: DP and Rényi levels
    and capacities add. In particular C_1 of the composition is at most the sum of the C_1 [WXH Thm 7.1].

    Parameters
    ----------
    *channels : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        At least one, all with the same inputs.

    Returns
    -------
    ndarray of shape (n_x, n_y1 * ... * n_ym)
        The output of the last channel varies fastest.

    Raises
    ------
    InvalidChannel
        If there is no channel, one is not row-stochastic, the inputs differ or the product is too large.

    Examples
    --------
    >>> compose([[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]])
    array([[0.9, 0. , 0.1, 0. ],
           [0.1, 0.1, 0.4, 0.4]])

    On distributions of large entropy the sum needs the balance functions too: x_1 + x_2 and x_1 + x_2 + x_3 (mod 2)
    tell nothing about x_3 each when the bits are uniform, and all of it together.

    >>> from sanitize.joint import JointDistribution
    >>> from sanitize.measures import mutual_information
    >>> bits = np.indices((2, 2, 2)).reshape(3, 8)
    >>> two, three = np.eye(2)[bits[:2].sum(axis=0) % 2], np.eye(2)[bits.sum(axis=0) % 2]
    >>> def leak(channel):
    ...     distribution = np.stack([channel[bits[2] == s].sum(axis=0) for s in (0, 1)]) / 8
    ...     return mutual_information(JointDistribution.from_matrix(distribution[:, distribution.sum(axis=0) > 0]))
    >>> [round(leak(channel), 4) for channel in (two, three, compose(two, three))]
    [0.0, 0.0, 0.6931]
    """
    if not channels:
        raise InvalidChannel("channels: at least one channel is needed, got none")
    kernels = [channel_matrix(channel, f"channel {j + 1}") for j, channel in enumerate(channels)]
    n_x = len(kernels[0])
    for j, kernel in enumerate(kernels):
        if len(kernel) != n_x:
            raise InvalidChannel(f"channel {j + 1} has {len(kernel)} inputs, the first has {n_x}; they must agree")
    if n_x * math.prod(kernel.shape[1] for kernel in kernels) > DENSE_CELLS:
        raise InvalidChannel(f"channels: the product of {len(kernels)} channels would be too large for a matrix")
    return row_products(kernels)


def cross_capacity(channel: Channel | ArrayLike | Any, letters: int, tol: float = 1e-9) -> float:
    """C^21 = largest capacity of a channel made of ``letters`` rows of P(y^1|x^1), in nats [WXH Prop. 6].

    What the output of one table tells of a person's record in another table, which may determine the whole
    first table. It is the whole capacity as soon as there are as many letters as outputs. The remark that it is
    larger than C^11 is false when the other record has fewer letters.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        The channel of the table that was queried.
    letters : int
        Letters of the person's record in the other table, >= 1.
    tol : float
        Accuracy in nats, > 0; the value is the upper end of the bracket.

    Returns
    -------
    float

    Raises
    ------
    InvalidChannel
        If the channel is not row-stochastic.
    InvalidParameter
        If letters or tol is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> [round(cross_capacity(np.eye(3), letters), 4) for letters in (1, 2, 3)]
    [0.0, 0.6931, 1.0986]
    """
    rows = np.unique(channel_matrix(channel), axis=0)
    letters, tol = whole_number("letters", letters, 1), check_tol(tol)
    if letters >= min(rows.shape):
        return float(channel_capacity(rows, tol))
    return best_selection(rows, [np.arange(len(rows))] * letters, tol, 100_000, 0.0).upper


def general_composition(
    first: Channel | ArrayLike | Any,
    second: Channel | ArrayLike | Any,
    sizes_first: Sequence[int],
    sizes_second: Sequence[int],
    tol: float = 1e-9,
) -> GeneralComposition:
    """Bound on what (Y^1, Y^2) tells about one person with a record in each of two tables [WXH Thm 7.2].

    C_1 <= min(C^11 + C^21, F_1) + min(C^22 + C^12, F_2), with F_j the capacity of channel j. The printed bound
    is the sum of the four. The cross terms are needed: Y^1 = (record, partner) in two bits and Y^2 constant have
    C^11 + C^22 = ln 2, yet C_1 = ln 4 when the second record of the person has four letters. If the tables are
    equal it is the basic composition [WXH Prop. 5].

    Parameters
    ----------
    first, second : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        P(y^j | x^j); rows are tables in C order, the last record fastest.
    sizes_first, sizes_second : sequence of int
        Letters of each person's record in the two tables, of the same length.
    tol : float
        Accuracy of each capacity in nats, > 0; all values are upper ends.

    Returns
    -------
    GeneralComposition

    Raises
    ------
    InvalidChannel
        If a channel is not row-stochastic.
    InvalidParameter
        If sizes do not fit the channels or each other, or tol is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> found = general_composition(np.eye(4), np.ones((4, 1)), (2, 2), (4, 1))
    >>> [round(value / math.log(2), 4) for value in (*found.own, *found.cross, found.printed, found.bound)]
    [1.0, 0.0, 0.0, 2.0, 3.0, 2.0]
    """
    kernels = (channel_matrix(first, "first"), channel_matrix(second, "second"))
    shapes = tuple(
        databases_of(len(kernel), None, None, sizes)
        for kernel, sizes in zip(kernels, (sizes_first, sizes_second), strict=True)
    )
    if len(shapes[0]) != len(shapes[1]):
        raise InvalidParameter(
            f"sizes_first and sizes_second must name the same people, got {len(shapes[0])} and {len(shapes[1])}"
        )
    own, whole = _capacities(kernels, shapes, tol)
    c_12, c_21 = cross_capacity(kernels[1], max(shapes[0]), tol), cross_capacity(kernels[0], max(shapes[1]), tol)
    return GeneralComposition(
        own=(own[0], own[1]),
        cross=(c_12, c_21),
        whole=(whole[0], whole[1]),
        printed=own[0] + own[1] + c_12 + c_21,
        bound=min(own[0] + c_21, whole[0]) + min(own[1] + c_12, whole[1]),
    )


def parallel_composition(
    channels: Sequence[Channel | ArrayLike | Any], sizes: Sequence[Sequence[int]], tol: float = 1e-9
) -> ParallelComposition:
    """What channels on disjoint parts of one table tell about a record: more than the worst of them.

    For differential privacy the level of the whole is the largest level of a part. For C_1 it is not, since
    records of other parts may follow from a record [WXH Def. 21, Prop. 7]. The paper leaves open that the excess
    is positive; it is, for two local binary symmetric channels. What holds is C_1 of a part plus the capacities
    of the others.

    Parameters
    ----------
    channels : sequence of channels
        P(r_j | z_j) of each part; arrays, Channel objects or estimators with ``channel_``.
    sizes : sequence of sequences of int
        Letters of each record of each part.
    tol : float
        Accuracy of each capacity in nats, > 0; all values are upper ends.

    Returns
    -------
    ParallelComposition

    Raises
    ------
    InvalidChannel
        If a channel is not row-stochastic.
    InvalidParameter
        If there is no channel, sizes do not fit, or tol is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> flip = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> parts = parallel_composition([flip, flip], [(2,), (2,)])
    >>> both = individual_channel_capacity(np.kron(flip, flip), sizes=(2, 2))
    >>> [round(value, 4) for value in (parts.claimed, float(both), parts.bound)]
    [0.3681, 0.5144, 0.7361]
    """
    channels, sizes = listed("channels", channels), listed("sizes", sizes)
    if not channels or len(channels) != len(sizes):
        raise InvalidParameter(f"channels and sizes must have one entry a part, got {len(channels)} and {len(sizes)}")
    kernels = [channel_matrix(channel, f"channel {j + 1}") for j, channel in enumerate(channels)]
    individual, whole = _capacities(kernels, sizes, tol)
    bound = max(own + math.fsum(whole[:j] + whole[j + 1 :]) for j, own in enumerate(individual))
    return ParallelComposition(individual, whole, max(individual), bound)


def _capacities(
    kernels: Sequence[Vector], sizes: Sequence[Sequence[int]], tol: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """C_1 of each channel, and its capacity."""
    parts = zip(kernels, sizes, strict=True)
    own = tuple(float(individual_channel_capacity(kernel, sizes=shape, tol=tol)) for kernel, shape in parts)
    return own, tuple(float(channel_capacity(kernel, tol)) for kernel in kernels)
