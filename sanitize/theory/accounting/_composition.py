"""Composition of channels on one table, on several tables of the same people, or on parts of one table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Vector, as_list, whole_number
from sanitize._util.limits import DENSE_CELLS
from sanitize.core.capacity import best_selection, channel_capacity, check_tol
from sanitize.core.channel import channel_matrix
from sanitize.errors import InvalidChannel, InvalidParameter
from sanitize.theory.accounting._joint_release import row_products
from sanitize.theory.individual import individual_channel_capacity
from sanitize.theory.notions import check_databases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from sanitize.core.channel import Channel


@dataclass(frozen=True)
class GeneralComposition:
    """Leakage about one person through channels on tables of the same people, in nats, with one entry per table j.

    Attributes
    ----------
    own : tuple of float
        C^jj, the leakage of Y^j about the person's record in table j.
    cross : tuple of float
        Leakage of Y^j about the person's records in other tables, given the record in table j; C^21 and C^12 for two
        tables.
    whole : tuple of float
        F_j, the capacity of channel j.
    printed : float
        The sum of ``own`` and ``cross`` [WXH Thm 7.2].
    bound : float
        Σ_j min(own + cross, whole), never above ``printed``.
    """

    own: tuple[float, ...]
    cross: tuple[float, ...]
    whole: tuple[float, ...]
    printed: float
    bound: float


@dataclass(frozen=True)
class ParallelComposition:
    """Leakage about one record through channels on disjoint parts of a table, in nats.

    Attributes
    ----------
    individual : tuple of float
        C_1 of each part.
    whole : tuple of float
        Capacity of each part.
    claimed : float
        Largest C_1 of a part, as parallel composition would allow; it is not a bound.
    bound : float
        max_j (C_1 of part j + capacities of the other parts).
    """

    individual: tuple[float, ...]
    whole: tuple[float, ...]
    claimed: float
    bound: float


def compose(*channels: Channel | ArrayLike | Any) -> Vector:
    """Channel P(y_1, ..., y_m | x) = Π_j P(y_j | x) of independent answers about the same x [WXH Def. 19, eq. 138].

    The result is a channel like any other, to which every measure applies. Without computing it, there are bounds: DP
    levels, Rényi levels and capacities add up. In particular C_1 of the composition is at most the sum of the C_1 of
    its parts [WXH Thm 7.1].

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
    each reveal nothing about x_3 when the bits are uniform, and together they reveal all of it.

    >>> from sanitize.core.joint import JointDistribution
    >>> from sanitize.core.measures import mutual_information
    >>> bits = np.indices((2, 2, 2)).reshape(3, 8)
    >>> two, three = np.eye(2)[bits[:2].sum(axis=0) % 2], np.eye(2)[bits.sum(axis=0) % 2]
    >>> def leak(channel):
    ...     distribution = np.stack([channel[bits[2] == s].sum(axis=0) for s in (0, 1)]) / 8
    ...     return mutual_information(JointDistribution.from_matrix(distribution[:, distribution.sum(axis=0) > 0]))
    >>> [round(leak(channel), 4) for channel in (two, three, compose(two, three))]
    [0.0, 0.0, 0.6931]
    """
    if not channels:
        raise InvalidChannel("channels must contain at least one channel, got none")
    kernels = [channel_matrix(channel, f"channel {j + 1}") for j, channel in enumerate(channels)]
    n_x = len(kernels[0])
    for j, kernel in enumerate(kernels):
        if len(kernel) != n_x:
            raise InvalidChannel(
                f"channels must have equally many inputs, got {n_x} for channel 1 and {len(kernel)} for channel {j + 1}"
            )
    if n_x * math.prod(kernel.shape[1] for kernel in kernels) > DENSE_CELLS:
        raise InvalidChannel(
            f"the product of {len(kernels)} channels is too large for a matrix; compose fewer channels"
        )
    return row_products(kernels)


def cross_capacity(channel: Channel | ArrayLike | Any, letters: int, tol: float = 1e-9) -> float:
    """Largest capacity C^21 of all channels made of ``letters`` rows of P(y^1|x^1), in nats [WXH Prop. 6].

    C^21 is the leakage of a table's output about a person's record in another table, which may determine the whole
    first table. With at least as many letters as outputs, it is the capacity of the channel. The paper's remark that
    C^21 is larger than C^11 is false if the other record has fewer letters.

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
    channels: Sequence[Channel | ArrayLike | Any], sizes: Sequence[Sequence[int]], tol: float = 1e-9
) -> GeneralComposition:
    """Bound on the leakage of (Y^1, ..., Y^m) about one person with a record in each of m tables [WXH Thm 7.2].

    C_1 <= Σ_j min(C^jj + C^·j, F_j), where F_j is the capacity of channel j, and C^·j is the leakage of Y^j about the
    person's other records: `cross_capacity` for the product of their numbers of letters. The printed bound, for two
    tables, is the sum of all C^jj and C^·j. Given the earlier answers, Y^j reveals at most C^jj about record j, then at
    most C^·j about the other records, since each of their letters mixes rows of channel j, and at most F_j in all. The
    cross terms are needed: Y^1 = (record, partner) in two bits and Y^2 constant have C^11 + C^22 = ln 2, yet C_1 = ln 4
    when the second record of the person has four letters. If the tables are equal, this is the basic composition [WXH
    Prop. 5].

    Parameters
    ----------
    channels : sequence of array-likes of shape (n_x, n_y), Channels, or estimators with ``channel_``
        P(y^j | x^j); rows are tables in C order, the last record fastest.
    sizes : sequence of sequences of int
        Number of letters of each person's record in each table: one sequence per channel, all of the same length.
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
    >>> found = general_composition([np.eye(4), np.ones((4, 1))], [(2, 2), (4, 1)])
    >>> [round(value / math.log(2), 4) for value in (*found.own, *found.cross, found.printed, found.bound)]
    [1.0, 0.0, 2.0, 0.0, 3.0, 2.0]
    """
    kernels, shapes = _tables(channels, sizes)
    if len({len(shape) for shape in shapes}) > 1:
        lengths = ", ".join(str(len(shape)) for shape in shapes)
        raise InvalidParameter(
            f"sizes must be equally long, because all tables are about the same people; got lengths {lengths}"
        )
    individual, whole = _capacities(kernels, shapes, tol)
    letters = np.array(shapes, dtype=object)
    n_other_databases = [max(np.delete(letters, j, axis=0).prod(axis=0)) for j in range(len(kernels))]
    cross = tuple(cross_capacity(kernel, int(n), tol) for kernel, n in zip(kernels, n_other_databases, strict=True))
    parts = zip(individual, cross, whole, strict=True)
    bound = sum(min(c_own + c_cross, f) for c_own, c_cross, f in parts)
    return GeneralComposition(individual, cross, whole, printed=sum(individual) + sum(cross), bound=bound)


def parallel_composition(
    channels: Sequence[Channel | ArrayLike | Any], sizes: Sequence[Sequence[int]], tol: float = 1e-9
) -> ParallelComposition:
    """Bound the leakage about one record by channels on disjoint parts of a table, which can exceed any part's leakage.

    For differential privacy the level of the whole is the largest level of a part. For C_1 this is false, since a
    record may determine records of other parts [WXH Def. 21, Prop. 7]. The paper does not decide whether the excess can
    be positive; it is positive for two local binary symmetric channels. A valid bound is C_1 of a part plus the
    capacities of the other parts.

    Parameters
    ----------
    channels : sequence of channels
        P(r_j | z_j) of each part; arrays, Channel objects or estimators with ``channel_``.
    sizes : sequence of sequences of int
        Number of letters of each record of each part.
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
    individual, whole = _capacities(*_tables(channels, sizes), tol)
    bound = max(capacity + math.fsum(whole[:j] + whole[j + 1 :]) for j, capacity in enumerate(individual))
    return ParallelComposition(individual, whole, max(individual), bound)


def _tables(channels: Any, sizes: Any) -> tuple[list[Vector], list[tuple[int, ...]]]:
    """Return the matrix of each channel, and the number of letters of each record in its table."""
    channels, sizes = as_list("channels", channels), as_list("sizes", sizes)
    if not channels or len(channels) != len(sizes):
        raise InvalidParameter(
            f"sizes must have one entry per channel and at least one, got {len(sizes)} for {len(channels)} channels"
        )
    kernels = [channel_matrix(channel, f"channel {j + 1}") for j, channel in enumerate(channels)]
    return kernels, [check_databases(len(kernel), sizes=size) for kernel, size in zip(kernels, sizes, strict=True)]


def _capacities(
    kernels: Sequence[Vector], sizes: Sequence[Sequence[int]], tol: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return C_1 and the capacity of each channel."""
    parts = zip(kernels, sizes, strict=True)
    individual = tuple(float(individual_channel_capacity(kernel, sizes=shape, tol=tol)) for kernel, shape in parts)
    return individual, tuple(float(channel_capacity(kernel, tol)) for kernel in kernels)
