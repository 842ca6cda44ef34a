"""Estimates with errors: shares of cells of released columns and of columns kept unchanged."""

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
    """Estimates of one analysis; their errors include sampling and the channel's noise.

    Estimates are unbiased (regressions: consistent), so noise may carry a share below 0 or above 1; cut it for show,
    not for further work.

    Attributes
    ----------
    names : tuple of str
    estimate : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)
        Of the estimates; for differences and other sums of them.
    n_records : int
        Released rows.
    confidence : float
        Of each interval by itself.
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
        """One row an estimate: ``estimate``, ``standard_error``, ``low``, ``high``."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in ("estimate", "standard_error", "low", "high")}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="name"))

    def __str__(self) -> str:
        width = max([*map(len, self.names), 8])
        head = f"{'':<{width}}  estimate  std. error  {f'{self.confidence:.4g}':>6} interval"
        rows = zip(self.names, self.estimate, self.standard_error, self.low, self.high, strict=True)
        lines = [
            f"{name:<{width}}  {value:>8.4g}  {error:>10.2g}  [{low:.4g}, {high:.4g}]"
            for name, value, error, low, high in rows
        ]
        return "\n".join([head, *lines])


def table(
    released: Any, channel: Channel | str | os.PathLike[str], columns: str | Sequence[str], *, confidence: float = 0.95
) -> Estimates:
    """Unbiased share of every cell of a table of the original data, from released rows and their channel.

    Counts of released rows tell of Y; this undoes the channel. Cells that the channel merges are given as one, named
    in braces: nothing in the release tells them apart. Columns that were kept as they are may stand beside released
    ones. An interval covers the share in the distribution that the rows were drawn from, however the channel was
    designed, also on these very rows; of the table itself the error is no larger. Rows that held a value unknown at fit
    were released as another symbol, and count as that one.

    Parameters
    ----------
    released : pandas or polars DataFrame, or pyarrow Table
        Released rows, with all columns that the channel prints.
    channel : Channel, or path or text of `Channel.to_json`
        The channel they went through, ``sanitizer.channel_``.
    columns : str or list of str
        Columns of the table, of the source or kept.
    confidence : float
        Of each interval, between 0 and 1.

    Returns
    -------
    Estimates
        One share a cell, which sum to 1; times `Estimates.n_records` they are counts.

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
    # Its covariance has the square of this.
    if n_groups * n_beside > 2000:
        raise InvalidParameter(f"a table of {n_groups * n_beside} cells is too large; name fewer columns than {names}")

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
    """Names of the cells of columns that were kept unchanged, and the cell of each row."""
    if not columns:
        return [""], np.zeros(rows.n_rows, np.int32)
    alphabet = Alphabet.from_table(rows, columns)
    return [alphabet.label(code) for code in range(len(alphabet))], alphabet.encode(rows)
