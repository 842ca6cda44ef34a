"""Attack by an adversary who guesses S of each row from all other rows, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Vector
from sanitize._util.formatting import figure, interval_text
from sanitize.core.confidence import check_confidence
from sanitize.core.measures import entropy
from sanitize.errors import InvalidParameter
from sanitize.release.features import sensitive_codes, table_features
from sanitize.tables.frame import Table


@dataclass(frozen=True)
class LeaveOneOut:
    """Information about a row's S, in nats, from the counts of S among all other rows with the same released tuple.

    Attributes
    ----------
    gain : float
        Mean over rows of the log-loss of guessing from the frequencies of S among the other rows, minus that of the
        table adversary. It is negative if she would have done better by ignoring the release.
    standard_error : float
        Standard error of the gain, over rows.
    interval : tuple of float
        Normal interval of the gain at ``confidence``.
    plug_in : float
        I(S;Y) under the rows' own frequencies, which is too large by about as much as the gain is too small.
    bias : float
        Largest excess of the expected gain over I(S;Y), log((n - 1 + |S|) / n).
    columns : tuple of str
        Released columns that she saw.
    confidence : float
    n_rows, n_tuples : int
        Numbers of rows and of distinct tuples among them.
    """

    gain: float
    standard_error: float
    interval: tuple[float, float]
    plug_in: float
    bias: float
    columns: tuple[str, ...]
    confidence: float
    n_rows: int
    n_tuples: int

    @property
    def middle(self) -> float:
        """Mean of the gain and the plug-in estimate, with nearly no bias: an estimate of I(S;Y), not a bound."""
        return (self.gain + self.plug_in) / 2

    @property
    def learns(self) -> bool:
        """True if the release measurably reveals something about S: the interval lies above the possible bias."""
        return self.interval[0] > self.bias

    def __str__(self) -> str:
        return (
            f"From the counts of {self.n_tuples} released tuples, the sensitive value of a row left out is guessed "
            f"{figure(self.gain)} nats better than from the frequencies alone ({100 * self.confidence:.4g} % interval "
            f"{interval_text(self.interval)}); with the row included, the counts show {figure(self.plug_in)} nats"
        )


def leave_one_out(
    released: Any, sensitive: Any, *, columns: Sequence[str] | None = None, confidence: float = 0.95
) -> LeaveOneOut:
    """Measure how well S of each row is guessed from the counts of S among other rows with the same released tuple.

    Unlike the adversary of `infer`, she uses only counts, without folds, seed or model. For a row with tuple y she
    guesses s with probability (n(s, y) - 1 + q |S|/2) / (n(y) - 1 + |S|/2): the frequency in the other rows with this
    tuple, shrunk by |S|/2 rows towards the best constant guess q from all other rows, with one added to each symbol.
    Every row is judged by n - 1 others, so the expected gain is exactly that of a table of n - 1 rows on a fresh row,
    and never exceeds I(S;Y) by more than log((n - 1 + |S|) / n). The attack takes two passes over the rows.

    Parameters
    ----------
    released : pandas or polars DataFrame, pyarrow Table or two-dimensional array
        Table that the adversary sees. Numeric columns of more than 32 values are cut into 16 quantiles.
    sensitive : array-like of shape (n_rows,), or frame of n_rows
        True S of the same rows, in the same order. Several columns are one tuple.
    columns : list of str, optional
        Columns that she uses; by default all columns.
    confidence : float
        Confidence of the interval.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    InvalidParameter
        If S has one symbol only, or there are fewer than three rows.
    ColumnError
        If a column is absent or of another length.

    Notes
    -----
    If a person has several rows, only one of them is left out and the others reveal her secret; use one row per person.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> raw = leave_one_out(df[["class", "sex"]], df["survived"])
    >>> round(raw.gain, 3), round(raw.middle, 3), round(raw.plug_in, 3)
    (0.134, 0.136, 0.138)
    """
    table = Table.from_native(released)
    confidence = check_confidence(confidence)
    alphabet, codes = sensitive_codes(sensitive, table.n_rows)
    n, n_s = table.n_rows, len(alphabet)
    if n < 3:
        raise InvalidParameter(f"{n} rows are too few for this attack, which leaves one out; give at least 3")
    seen = table_features(table, columns, with_position=False)
    counts = np.bincount(seen.cells * n_s + codes, minlength=seen.n_cells * n_s).reshape(seen.n_cells, n_s)
    gains = _gains(counts)
    gain = float((counts * gains).sum()) / n
    error = math.sqrt(float((counts * np.square(gains - gain)).sum()) / (n - 1) / n)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    interval = (gain - z * error, gain + z * error)
    plug_in = entropy(counts.sum(axis=0) / n) + entropy(counts.sum(axis=1) / n) - entropy(counts / n)
    bias = math.log((n - 1 + n_s) / n)
    return LeaveOneOut(
        gain=gain,
        standard_error=error,
        interval=interval,
        plug_in=plug_in,
        bias=bias,
        columns=seen.columns,
        confidence=confidence,
        n_rows=n,
        n_tuples=seen.n_cells,
    )


def _gains(counts: NDArray[np.int64]) -> Vector:
    """Reduction of log-loss for a row with tuple y and symbol s, shape (n_y, n_s); 0 if there is no such row."""
    n, n_s = int(counts.sum()), counts.shape[1]
    constant = counts.sum(axis=0) / (n - 1 + n_s)  # 1 for the row itself is left out, and 1 added so that none is 0
    strength, remaining = n_s / 2, counts.sum(axis=1, keepdims=True) - 1
    guess = (np.maximum(counts - 1, 0) + strength * constant) / (remaining + strength)
    return np.log(guess / constant, out=np.zeros(counts.shape), where=counts > 0)
