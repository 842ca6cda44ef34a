"""Neighbouring inputs of a channel, as pairs of databases in lexicographic order or of any inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sanitize._util.checks import as_list, whole_number
from sanitize.errors import InvalidParameter


def hamming_neighbours(
    n_records: int | None = None, n_symbols: int | None = None, *, sizes: Sequence[int] | None = None
) -> NDArray[np.intp]:
    """Pairs of databases that differ in exactly one record, in lexicographic order [WYZ §2.2, WXH Def. 10].

    The code of a database (x_1, ..., x_n) is the number with its letters as digits, the first record most significant.

    Parameters
    ----------
    n_records, n_symbols : int
        Records n, and symbols m of one record: m**n databases.
    sizes : sequence of int
        Number of symbols of each record, instead of ``n_records`` and ``n_symbols``.

    Returns
    -------
    ndarray of int, shape (n_pairs, 2)
        Pairs of codes, the smaller code first.

    Raises
    ------
    InvalidParameter
        If not exactly one of (``n_records``, ``n_symbols``) and ``sizes`` is given, or a size is not an integer >= 1.

    Examples
    --------
    >>> hamming_neighbours(2, 2).tolist()
    [[0, 2], [1, 3], [0, 1], [2, 3]]
    """
    shape = check_databases(None, n_records, n_symbols, sizes)
    codes = np.arange(math.prod(shape)).reshape(shape)
    blocks = []
    for record, letters in enumerate(shape):
        lines = np.moveaxis(codes, record, -1).reshape(-1, letters)
        low, high = np.triu_indices(letters, 1)
        blocks.append(np.stack([lines[:, low].ravel(), lines[:, high].ravel()], axis=1))
    return np.concatenate(blocks)


def check_databases(
    n_inputs: int | None, n_records: int | None = None, n_symbols: int | None = None, sizes: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Return the number of letters of each record; refuse databases that are not the inputs of a channel."""
    most_databases = 1 << 40  # more than any channel can have; larger numbers would exhaust memory
    if sizes is not None and n_records is None and n_symbols is None:
        shape = tuple(whole_number("each entry of sizes", size, 1) for size in as_list("sizes", sizes))
    elif sizes is None and n_records is not None and n_symbols is not None:
        shape = (whole_number("n_symbols", n_symbols, 1),) * whole_number("n_records", n_records, 1, 1 << 16)
    else:
        raise InvalidParameter("describe the databases by n_records and n_symbols together, or by sizes alone")
    if not shape or math.prod(shape) > most_databases:
        given = f"more for {len(shape)} records; give fewer records or letters" if shape else "no records"
        raise InvalidParameter(
            f"n_records and n_symbols, or sizes, must give from 1 to {most_databases} databases, got {given}"
        )
    if n_inputs is not None and (n := math.prod(shape)) != n_inputs:
        raise InvalidParameter(
            f"records with {shape} letters give {n} databases, but the channel has {n_inputs} inputs"
        )
    return shape


def check_pairs(neighbours: ArrayLike, n_inputs: int) -> NDArray[np.intp]:
    """Return pairs of inputs as an integer array (n_pairs, 2); refuse pairs that do not name inputs."""
    try:
        pairs = np.asarray(neighbours)
    except ValueError:  # rows of different lengths
        pairs = np.empty(0)
    is_whole = pairs.ndim == 2 and pairs.shape[1] == 2 and np.issubdtype(pairs.dtype, np.integer)
    if not is_whole or (pairs.size and not 0 <= pairs.min() <= pairs.max() < n_inputs):
        raise InvalidParameter(
            f"neighbours must be a whole-number array (n_pairs, 2) of inputs from 0 to {n_inputs - 1}"
        )
    return pairs.astype(np.intp)
