"""Estimates of the mean of a numeric column, as a whole and within cells."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._util.checks import Vector
from sanitize.auditing.analyze._records import blocks, check_columns, open_release
from sanitize.auditing.analyze._tables import Estimates, plain_cells
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.columns import as_arrow

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize.auditing.analyze._records import Hidden
    from sanitize.core.channel import Channel
    from sanitize.tables.frame import Table


def mean(
    released: Any,
    channel: Channel | str | os.PathLike[str],
    column: str,
    *,
    by: str | Sequence[str] | None = None,
    confidence: float = 0.95,
) -> Estimates:
    """Estimate a column's mean in the original data, without missing values, from released rows and their channel.

    Parameters and guarantee are those of `table`; missing values are left out. A mean within cells is a ratio of two
    unbiased estimates, with the error of their linear approximation: it is consistent, and more accurate for cells with
    more rows.

    Parameters
    ----------
    released : pandas or polars DataFrame, or pyarrow Table
    channel : Channel, or path or text of `Channel.to_json`
    column : str
        Column of numbers, or of True and False, that went through the channel or was kept unchanged.
    by : str or list of str, optional
        Columns; each combination of their values (cell) gets its own mean.
    confidence : float
        Confidence of each interval, between 0 and 1.

    Returns
    -------
    Estimates
        One mean per cell.

    Raises
    ------
    ColumnError
        If a column is absent or not numeric, or the rows did not come from this channel.
    InvalidParameter
        If the channel merges values of the column, so that the release does not determine its mean.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic().assign(male=lambda df: df["sex"] == "Male")
    >>> sanitizer = sz.RandomizedResponse(2.0, sensitive="survived", public=["class", "male"], random_state=0)
    >>> released = sanitizer.fit_transform(df)
    >>> found = sz.auditing.analyze.mean(released, sanitizer.channel_, "male", by="class")
    >>> truth = df.groupby("class", observed=True)["male"].mean()
    >>> bool(((found.low < truth) & (truth < found.high)).all())
    True
    """
    within = () if by is None else check_columns(by, "by")
    if column in within:
        raise InvalidParameter(f"by= must not name {column!r}, the column to average")
    rows, hidden, plain_columns, confidence = open_release(released, channel, (*within, column), confidence)
    plain_labels, codes = plain_cells(rows, tuple(name for name in plain_columns if name != column))
    labels, cells = _cells(hidden, column)
    n, n_means = rows.n_rows, len(labels) * len(plain_labels)
    if n_means > 500:
        raise InvalidParameter(f"by divides the table into {n_means} cells, more than 500; name fewer columns in by")
    values = numbers(rows, hidden, column)
    sums, moments = np.zeros(2 * n_means), np.zeros((2 * n_means, 2 * n_means))
    for block in blocks(n):
        terms = _terms(hidden, block, cells, len(labels), values, of_cells=column in hidden.columns)
        spread = np.zeros((2, len(terms[0]), len(labels), len(plain_labels)))
        spread[:, np.arange(len(terms[0])), :, codes[block]] = np.moveaxis(terms, 0, 1)
        flat = np.concatenate([part.reshape(len(part), -1) for part in spread], axis=1)
        sums += flat.sum(axis=0)
        moments += flat.T @ flat
    names = [" | ".join(filter(None, pair)) or column for pair in product(labels, plain_labels)]
    above, below = sums[:n_means] / n, sums[n_means:] / n
    if (below <= 0).any():
        name = names[int(np.argmax(below <= 0))]
        raise InvalidParameter(
            f"the mean of {name!r} cannot be estimated, because the noise of the channel hides its share; take coarser "
            "cells, or more rows"
        )
    ratio = above / below
    change = np.concatenate([np.diag(1 / below), np.diag(-ratio / below)])
    covariance = change.T @ (moments / n) @ change / (n - 1)  # the linear terms have mean 0
    return Estimates(tuple(names), ratio, (covariance + covariance.T) / 2, n, confidence)


def numbers(rows: Table, hidden: Hidden, column: str) -> Vector:
    """Return a column as doubles, for each cell if the channel changed it, else for each row; NaN if missing."""
    is_kept = column not in hidden.columns
    array, codes = (as_arrow(rows[column], column), None) if is_kept else hidden.level(column)
    if not is_numeric(array.type):
        advice = "use sanitize.auditing.analyze.table to estimate the shares of its values"
        raise ColumnError.fault(column, f"contains no numbers; {advice}")
    if is_kept:
        return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.array([*map(float, array.to_pylist()), np.nan])[codes]


def is_numeric(dtype: pa.DataType) -> bool:
    """Return whether an Arrow type is numeric or boolean."""
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_boolean(dtype))


def _cells(hidden: Hidden, column: str) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names of the cells that get a mean, and for each group of merged cells its place in these names."""
    if hidden.cells is None or column not in hidden.columns:
        return hidden.labels(), np.arange(hidden.scores.shape[1], dtype=np.int32)
    hidden.require_apart(f"the mean of {column!r}")
    place = hidden.columns.index(column)
    symbols = (symbol if isinstance(symbol, tuple) else (symbol,) for symbol in hidden.cells.symbols)
    groups = [(*symbol[:place], *symbol[place + 1 :]) for symbol in symbols]
    order = list(dict.fromkeys(groups))
    labels = [" | ".join("(missing)" if part is None else str(part) for part in cell) for cell in order]
    return labels, np.array([order.index(cell) for cell in groups], np.int32)


def _terms(
    hidden: Hidden, block: slice, cells: NDArray[np.int32], n_cells: int, values: Vector, *, of_cells: bool
) -> Vector:
    """Return each row's terms of the numerator and denominator of each cell's mean, shape (2, n_rows, n_cells)."""
    into = (cells[:, None] == np.arange(n_cells)).astype(float)
    codes, seen = hidden.codes[block], values if of_cells else values[block]
    present = np.isfinite(seen)
    parts = np.where(present, seen, 0.0), present
    if of_cells:
        return np.stack([(hidden.scores * part @ into)[codes] for part in parts])
    scores = (hidden.scores @ into)[codes]
    return np.stack([scores * part[:, None] for part in parts])
