"""Joint lift of several released columns, from the joint distribution of S and these columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sanitize._util.checks import Codes, Vector, as_list, check_probabilities, doubles
from sanitize._util.limits import BLOCK_CELLS, CHANNEL_CELLS
from sanitize.core.alphabet import Alphabet
from sanitize.core.channel import Channel, Tuples, channel_matrix
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter

# Code of the column in every symbol, number of symbols of the column, and their alphabet, if any.
_Column = tuple[Codes, int, Alphabet | None]

# Largest number of released tuples: their distribution with some hundred sensitive symbols takes about a gigabyte.
_MAX_OUTPUTS = 1 << 20


def joint_release(
    distribution: JointDistribution | ArrayLike, channels: Sequence[Channel | ArrayLike | Any]
) -> JointDistribution:
    """Distribution of (S, (Y_1, ..., Y_d)) if each column passes through its own channel.

    P(s, y_1, ..., y_d) = Σ P(s, x_1, ..., x_d) Π_j P(y_j | x_j), exactly; every measure and budget applies to the
    result. Budgets on the lift do not add up over columns, so the joint release should be measured from this
    distribution. It is a tensor that is contracted one column at a time; if the tensor would be too large, the distinct
    rows of the data are summed.

    Parameters
    ----------
    distribution : JointDistribution or array-like of shape (n_s, n_x1, ..., n_xd)
        Joint distribution of S and the columns. In a JointDistribution the columns of X are the d columns; count it
        from a table with ``JointDistribution.from_frame(df, sensitive, public=[...])``.
    channels : sequence of d channels
        Arrays, Channel objects or fitted estimators. The inputs of channel j are the symbols of column j that
        occur, ascending and with missing last; a Channel whose inputs carry the column's name is matched by symbol.

    Returns
    -------
    JointDistribution
        Released symbols are tuples of output numbers (plain numbers if d = 1); those of probability 0 are left out.

    Raises
    ------
    InvalidDistribution
        If ``distribution`` is not a distribution.
    InvalidChannel
        If a channel is not row-stochastic or does not fit its column.
    InvalidParameter
        If there is not one channel per column, or the released tuples are too many.

    Examples
    --------
    Two fair bits and their sum modulo 2: either column alone reveals nothing, both reveal everything.

    >>> from sanitize.core.lifts import max_log_lift
    >>> distribution = np.zeros((2, 2, 2))
    >>> distribution[[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]] = 0.25
    >>> max_log_lift(joint_release(distribution, [np.eye(2), np.ones((2, 1))])).round(4)
    array([0., 0.])
    >>> max_log_lift(joint_release(distribution, [np.eye(2), np.eye(2)])).round(4)
    array([0.6931, 0.6931, 0.6931, 0.6931])
    """
    parts = as_list("channels", channels)
    columns: list[_Column]
    if isinstance(distribution, JointDistribution):
        pmf, sensitive, n = distribution.pmf, distribution.sensitive, distribution.n
        tuples, alphabets = Tuples.from_alphabet(distribution.public, [(name,) for name in distribution.public.columns])
        columns = [(codes, len(alphabet), alphabet) for codes, alphabet in zip(tuples.codes.T, alphabets, strict=True)]
    else:
        tensor = check_tensor(distribution)
        possible = np.flatnonzero(tensor.reshape(len(tensor), -1).sum(axis=0))
        sensitive, n = Alphabet.from_size("s", len(tensor)), None
        pmf = tensor.reshape(len(tensor), -1)[:, possible]
        positions = np.unravel_index(possible, tensor.shape[1:])
        columns = [(codes, size, None) for codes, size in zip(positions, tensor.shape[1:], strict=True)]
    if len(parts) != len(columns):
        raise InvalidParameter(f"give one channel per column: {len(columns)} columns, got {len(parts)} channels")
    kernels = [_rows(channel, *column, j + 1) for j, (channel, column) in enumerate(zip(parts, columns, strict=True))]
    shape = tuple(kernel.shape[1] for _, kernel in kernels)
    check_outputs(shape)
    return distribution_of_tuples(_contract(pmf, kernels), shape, sensitive, n)


def check_outputs(shape: tuple[int, ...]) -> None:
    """Refuse tuples with too many combinations of symbols for their distribution to fit in memory."""
    if math.prod(shape) > _MAX_OUTPUTS:
        raise InvalidParameter(
            f"{math.prod(shape)} combinations of released symbols exceed the limit of {_MAX_OUTPUTS}; measure "
            "fewer columns or shorter histories"
        )


def distribution_of_tuples(
    released: Vector, shape: tuple[int, ...], sensitive: Alphabet, n: int | None = None
) -> JointDistribution:
    """Return the distribution of S and the output tuples that can occur, from masses of all tuples in order."""
    possible = np.flatnonzero(released.sum(axis=0))
    numbers = np.stack(np.unravel_index(possible, shape), axis=1)
    symbols = numbers[:, 0].tolist() if len(shape) == 1 else [tuple(row) for row in numbers.tolist()]
    names = [f"y{j + 1}" for j in range(len(shape))]
    return JointDistribution(released[:, possible], sensitive, Alphabet(names, symbols), n)


def _contract(pmf: Vector, kernels: Sequence[tuple[Codes, Vector]]) -> Vector:
    """Turn the distribution of S and the tuples into that of S and the released tuples, (n_s, product of the n_y)."""
    inputs = [len(kernel) for _, kernel in kernels]
    if len(pmf) * math.prod(inputs) <= CHANNEL_CELLS:
        cells = np.zeros((len(pmf), math.prod(inputs)))
        cells[:, np.ravel_multi_index([codes for codes, _ in kernels], inputs)] = pmf
        tensor = cells.reshape(len(pmf), *inputs)
        # Columns that shrink most are contracted first, so that no intermediate result is larger than both ends.
        for j in sorted(range(len(kernels)), key=lambda j: kernels[j][1].shape[1] / inputs[j]):
            tensor = np.moveaxis(np.tensordot(tensor, kernels[j][1], axes=(j + 1, 0)), -1, j + 1)
        return tensor.reshape(len(pmf), -1)
    n_y = math.prod(kernel.shape[1] for _, kernel in kernels)
    released = np.zeros((len(pmf), n_y))
    step = max(1, BLOCK_CELLS // n_y)
    for start in range(0, pmf.shape[1], step):
        rows = slice(start, start + step)
        released += pmf[:, rows] @ row_products([kernel[codes[rows]] for codes, kernel in kernels])
    return released


def row_products(matrices: Sequence[Vector]) -> Vector:
    """Products of one entry of each matrix, row by row, in the order in which the last matrix varies fastest."""
    return reduce(lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), matrices)


def conditional_dependence(distribution: ArrayLike) -> float:
    """Dependence γ of columns given S: max |log P(x_1, ..., x_d | s) / Π_j P(x_j | s)| over possible cells, in nats.

    Columns that are each ε_j-LDP with respect to S are together (Σ ε_j + 2γ)-LDP: see `sensitive_ldp_composition`.

    Parameters
    ----------
    distribution : array-like of shape (n_s, n_x1, ..., n_xd)
        Joint distribution of S and d >= 1 columns.

    Returns
    -------
    float
        0 if the columns are independent given S; inf if letters that are each possible with s never occur together.

    Raises
    ------
    InvalidDistribution
        If ``distribution`` is not a distribution.

    Examples
    --------
    >>> round(conditional_dependence([[[0.2, 0.05], [0.05, 0.2]], [[0.125, 0.125], [0.125, 0.125]]]), 4)   # ln 2.5
    0.9163
    """
    tensor = check_tensor(distribution)
    worst = 0.0
    for row in tensor:
        total = row.sum()
        if total == 0:
            continue
        axes = set(range(row.ndim))
        independent = reduce(np.multiply.outer, [row.sum(axis=tuple(axes - {axis})) / total for axis in sorted(axes)])
        possible = independent > 0
        with np.errstate(divide="ignore"):
            worst = max(worst, float(np.abs(np.log(row[possible] / total / independent[possible])).max()))
    return worst


def check_tensor(distribution: ArrayLike, *axes: str) -> Vector:
    """Check a joint distribution of S and columns, which ``axes`` may name, and scale it to sum to 1."""
    tensor = doubles(distribution, InvalidDistribution("distribution must be an array of probabilities"))
    if not tensor.size or not (tensor.ndim == len(axes) if axes else tensor.ndim >= 2):
        axis_names = ", ".join(axes or ("S", "X1", "..."))
        raise InvalidDistribution(
            f"distribution must have the axes {axis_names}, none of length 0, got an array of shape {tensor.shape}"
        )
    return check_probabilities(tensor, "distribution")


def _rows(channel: Any, codes: Codes, size: int, alphabet: Alphabet | None, position: int) -> tuple[Codes, Vector]:
    """Return the codes of one column as inputs of its channel, and the channel's matrix."""
    kernel = channel_matrix(channel, f"channel {position}")
    channel = getattr(channel, "channel_", channel)
    if alphabet is not None and isinstance(channel, Channel) and channel.inputs.columns == alphabet.columns:
        match = channel.inputs.encode(alphabet.decode(np.arange(size)))
        if (match < 0).any():
            raise InvalidChannel(
                f"channel {position} must take all symbols of column {alphabet.columns[0]!r}, but its inputs lack some"
            )
        return match[codes].astype(np.intp), kernel
    if len(kernel) != size:
        raise InvalidChannel(
            f"channel {position} must take the {size} symbols of its column, but it takes {len(kernel)} symbols"
        )
    return codes, kernel
