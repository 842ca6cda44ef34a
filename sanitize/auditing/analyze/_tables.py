"""Estimates of the share of each cell of a table, and the class of all estimates with their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from sanitize._util.checks import Vector
from sanitize.auditing.analyze._records import check_columns, open_release
from sanitize.core.alphabet import Alphabet
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sanitize.core.channel import Channel


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of one analysis, with errors that include sampling and the channel's noise.

    Estimates are unbiased (for regressions: consistent), so noise may push a share below 0 or above 1. Clip such shares
    for display only, not for further computations.

    Attributes
    ----------
    names : tuple of str
    estimate : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)
        Covariance of the estimates, needed for errors of differences and other combinations.
    n_records : int
        Number of released rows.
    confidence : float
        Confidence of each interval by itself.
    """

    names: tuple[str, ...]
    estimate: Vector
    covariance: Vector
    n_records: int
    confidence: float = 0.95

    @cached_property
    def standard_error(self) -> Vector:
        """Standard error of each estimate, shape (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def low(self) -> Vector:
        """Lower end of each interval, shape (k,)."""
        return self.estimate - self._reach

    @property
    def high(self) -> Vector:
        """Upper end of each interval, shape (k,)."""
        return self.estimate + self._reach

    @property
    def _reach(self) -> Vector:
        return ndtri(0.5 + self.confidence / 2) * self.standard_error

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per estimate: ``estimate``, ``standard_error``, ``low``, ``high``."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in ("estimate", "standard_error", "low", "high")}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="name"))

    def __str__(self) -> str:
        width = max([*map(len, self.names), 8])
        head = f"{'':<{width}}  estimate  std. error  {f'{self.confidence:.4g}':>6} interval"
        rows = zip(self.names, self.estimate, self.standard_error, self.low, self.high, strict=True)
        form = f"{{:<{width}}}  {{:>8.4g}}  {{:>10.2g}}  [{{:.4g}}, {{:.4g}}]"
        return "\n".join([head, *(form.format(*row) for row in rows)])


def table(
    released: Any, channel: Channel | str | os.PathLike[str], columns: str | Sequence[str], *, confidence: float = 0.95
) -> Estimates:
    """Estimate the share of each cell in a table of the original data, without bias, from released rows and channel.

    Counts of released rows describe Y; the estimates undo the channel. Cells that the channel merges are given as one
    cell, named in braces, because nothing in the release distinguishes them. Columns that went through the channel and
    columns kept unchanged may be combined. An interval covers the share in the distribution that the rows were drawn
    from, however the channel was designed, even on these very rows; the error for the table itself is no larger. Rows
    with a value that was unknown at fit were released as another symbol, and count as that symbol.

    Parameters
    ----------
    released : pandas or polars DataFrame, or pyarrow Table
        Released rows, with all columns that the channel releases.
    channel : Channel, or path or text of `Channel.to_json`
        Channel that the rows went through, ``sanitizer.channel_``.
    columns : str or list of str
        Columns of the table: columns that went through the channel, or columns kept unchanged.
    confidence : float
        Confidence of each interval, between 0 and 1.

    Returns
    -------
    Estimates
        One share per cell; the shares sum to 1, and times `Estimates.n_records` they are counts.

    Raises
    ------
    ColumnError
        If a column is absent or the rows did not come from this channel.
    InvalidParameter
        If there are too few rows or too many cells.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = sz.RandomizedResponse(1.0, sensitive="survived", public="class", random_state=0).fit(df)
    >>> released = sanitizer.transform(df)
    >>> shares = sz.auditing.analyze.table(released, sanitizer.channel_, "class")
    >>> shares.names
    ('1st', '2nd', '3rd', 'Crew')
    >>> truth = df["class"].value_counts(normalize=True).sort_index()
    >>> bool((abs(shares.estimate - truth) < 3 * shares.standard_error).all())
    True
    """
    names = check_columns(columns, "columns")
    rows, hidden, plain_columns, confidence = open_release(released, channel, names, confidence)
    plain_labels, codes = plain_cells(rows, plain_columns)
    n_groups, n_beside = hidden.scores.shape[1], len(plain_labels)
    # The covariance matrix has the square of this many entries: 32 MB, and as much again for the second moments.
    if (n_cells := n_groups * n_beside) > 2000:
        raise InvalidParameter(f"the table would have {n_cells} cells, more than 2000; name fewer columns than {names}")

    counts = np.zeros((len(hidden.scores), n_beside))
    np.add.at(counts, (hidden.codes, codes), 1.0)
    n = rows.n_rows
    shares = hidden.scores.T @ counts / n  # (group, beside)
    second = np.zeros((n_groups, n_beside, n_groups, n_beside))
    for k in range(n_beside):
        second[:, k, :, k] = (hidden.scores * counts[:, k, None]).T @ hidden.scores / n
    flat = shares.ravel()
    covariance = (second.reshape(len(flat), len(flat)) - np.outer(flat, flat)) / (n - 1)
    names = tuple(" | ".join(filter(None, (group, suffix))) for group in hidden.labels() for suffix in plain_labels)
    return Estimates(names, flat, (covariance + covariance.T) / 2, n, confidence)


def plain_cells(rows: Any, columns: tuple[str, ...]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names of the cells of columns that were kept unchanged, and the cell of each row."""
    if not columns:
        return [""], np.zeros(rows.n_rows, np.int32)
    alphabet = Alphabet.from_table(rows, columns)
    return [alphabet.label(code) for code in range(len(alphabet))], alphabet.encode(rows)
