"""Logistic regression with corrected scores, which are unbiased estimates of the population's likelihood equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from sanitize._util.checks import Vector
from sanitize.auditing.analyze._means import is_numeric, numbers
from sanitize.auditing.analyze._records import blocks, check_columns, open_release, row_codes
from sanitize.auditing.analyze._tables import Estimates
from sanitize.core.alphabet import Alphabet
from sanitize.errors import InvalidParameter
from sanitize.tables.columns import as_arrow

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from sanitize.auditing.analyze._records import Hidden
    from sanitize.core.channel import Channel
    from sanitize.tables.frame import Table


def logistic(
    released: Any,
    channel: Channel | str | os.PathLike[str],
    outcome: str,
    predictors: str | Sequence[str],
    *,
    confidence: float = 0.95,
) -> Estimates:
    """Estimate a logistic regression on the complete rows of the original data from released rows and their channel.

    Every term of the likelihood equations is replaced by a score of the released row whose mean, given the original
    row, is that term (corrected scores). Standard errors come from the sandwich estimator: they include the sampling of
    the rows and the noise of the channel, and are valid even if the model is wrong. Outcome and predictors may have
    gone through the channel or been kept unchanged.

    Parameters
    ----------
    released : pandas or polars DataFrame, or pyarrow Table
        Released rows, with all columns that the channel releases.
    channel : Channel, or path or text of `Channel.to_json`
        Channel that the rows went through, ``sanitizer.channel_``.
    outcome : str
        Column with two values; coefficients are for the log-odds of the larger value.
    predictors : str or list of str
        Numbers enter unchanged; texts and dates enter as indicators of all values but the smallest.
    confidence : float
        Confidence of each interval, between 0 and 1.

    Returns
    -------
    Estimates
        The intercept, then the coefficients.

    Raises
    ------
    ColumnError
        If a column is absent, or the rows did not come from this channel.
    InvalidParameter
        If the channel merges values that the model must distinguish, the outcome does not have two values, or there is
        no solution (too few rows for the noise, or predictors that determine one another or the outcome).

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(0.5)
    >>> sanitizer = sz.OptimalRandomResponse(budget, sensitive="survived", public=["class", "sex"], random_state=0)
    >>> released = sanitizer.fit_transform(df)
    >>> sz.auditing.analyze.logistic(released, sanitizer.channel_, outcome="sex", predictors="class").names
    ('(intercept)', 'class=2nd', 'class=3rd', 'class=Crew')
    """
    names = check_columns(predictors, "predictors")
    if outcome in names:
        raise InvalidParameter(f"predictors must not name the outcome {outcome!r}")
    rows, hidden, plain_columns, confidence = open_release(released, channel, (outcome, *names), confidence)
    hidden.require_apart(f"the regression of {outcome!r}")
    # Equal rows have equal scores, so each combination of values is processed once, with its count as weight.
    plain_codes = row_codes(rows, plain_columns).astype(np.int64)
    _, first, counts = np.unique(plain_codes * len(hidden.scores) + hidden.codes, return_index=True, return_counts=True)
    model = _Regression(rows.take(first), hidden, first, counts, outcome, names)
    coefficients = model.solve()
    _, slope, outer = model.sums(coefficients)
    change = model.back() @ np.linalg.inv(slope)
    covariance = change @ outer @ change.T / (model.n - 1)
    return Estimates(model.names, model.back() @ coefficients, (covariance + covariance.T) / 2, model.n, confidence)


class _Block(NamedTuple):
    """Numbers that encode one column, for each row or for each cell; NaN where the value is missing."""

    names: tuple[str, ...]
    values: Vector  # (n_rows or n_cells, len(names))
    of_cells: bool


class _Regression:
    """Data of a regression: distinct rows, with predictors that are shifted and scaled to [-1, 1], and the outcome.

    Parameters
    ----------
    rows : Table
        Distinct rows.
    hidden : Hidden
        Columns that went through the channel.
    first, counts : ndarray of int
        Position of each distinct row among all rows, and the number of times that it occurs.
    outcome, predictors : str, sequence of str

    Attributes
    ----------
    names : tuple of str
        The intercept, then the predictors.
    n : int
        Number of rows.

    Raises
    ------
    InvalidParameter
        If the outcome does not have two values.
    """

    def __init__(
        self,
        rows: Table,
        hidden: Hidden,
        first: NDArray[np.intp],
        counts: NDArray[np.int64],
        outcome: str,
        predictors: Sequence[str],
    ) -> None:
        self._scores, self._codes, self._counts, self.n = hidden.scores, hidden.codes[first], counts, int(counts.sum())
        parts = [_predictor(rows, hidden, name) for name in predictors]
        self.names = ("(intercept)", *(name for block in parts for name in block.names))
        finite = [column[np.isfinite(column)] for block in parts for column in block.values.T]
        ends = np.array([(column.min(), column.max()) if len(column) else (0.0, 0.0) for column in finite])
        self._centre, self._scale = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        self._scale[self._scale == 0] = 1.0  # a column with one value: solve() then finds and reports no solution
        level, codes = _levels(rows, hidden, outcome)
        if len(level) != 2:
            raise InvalidParameter(f"the outcome {outcome!r} must have two values, got {len(level)}; group them first")
        answers = np.array([0.0, 1.0, np.nan])[codes][:, None]
        self._blocks = [*parts, _Block((outcome,), answers, outcome in hidden.columns)]

    def back(self) -> Vector:
        """Return the matrix that turns coefficients of scaled predictors into coefficients of the raw predictors."""
        matrix = np.diag(np.concatenate([[1.0], 1 / self._scale]))
        matrix[0, 1:] = -self._centre / self._scale
        return matrix

    def cell_values(self, cell: int, rows: slice) -> tuple[Vector, Vector, Vector]:
        """Return predictors, outcome and completeness of rows if their hidden columns have the values of this cell."""
        n = rows.stop - rows.start
        parts = [block.values[[cell]] if block.of_cells else block.values[rows] for block in self._blocks]
        filled = np.concatenate([np.broadcast_to(part, (n, part.shape[1])) for part in parts], axis=1)
        present = np.isfinite(filled).all(axis=1)
        filled = np.where(present[:, None], filled, 0.0)
        design = np.concatenate([np.ones((n, 1)), (filled[:, :-1] - self._centre) / self._scale], axis=1)
        return design, filled[:, -1], present.astype(float)

    def sums(self, coefficients: Vector) -> tuple[Vector, Vector, Vector]:
        """Return averages over all rows of the score, its negative derivative, and its outer product with itself."""
        p = len(coefficients)
        total, slope, outer = np.zeros(p), np.zeros((p, p)), np.zeros((p, p))
        for block in blocks(len(self._codes)):
            codes, counts = self._codes[block], self._counts[block]
            by_row = np.zeros((len(codes), p))
            for cell, score in enumerate(self._scores.T):
                design, outcome, present = self.cell_values(cell, block)
                weight = score[codes] * present
                fitted = expit(design @ coefficients)
                by_row += (weight * (outcome - fitted))[:, None] * design
                slope += (design * (counts * weight * fitted * (1 - fitted))[:, None]).T @ design
            total += counts @ by_row
            outer += (by_row * counts[:, None]).T @ by_row
        return total / self.n, slope / self.n, outer / self.n

    def solve(self) -> Vector:
        """Find the root of the mean score by Newton steps, which are halved until the score shrinks."""
        at = np.zeros(len(self.names))
        score, slope, _ = self.sums(at)
        for _ in range(60):
            if np.abs(score).max() <= 1e-9:
                # With less information, the standard error of log-odds exceeds 30, the range of possible log-odds.
                if self.n * np.linalg.eigvalsh((slope + slope.T) / 2)[0] < 1e-3:
                    break  # no maximum, or one at infinity that looks like a root because of rounding
                return at
            try:
                step = np.linalg.solve(slope, score)
            except np.linalg.LinAlgError:
                break
            for _ in range(30):
                tried, tried_slope, _ = self.sums(at + step)
                if np.linalg.norm(tried) < np.linalg.norm(score):
                    break
                step /= 2
            else:
                break
            at, score, slope = at + step, tried, tried_slope
            # No table of rows can distinguish log-odds this large from certainty.
            if np.abs(at).max() > 30.0:
                break
        raise InvalidParameter(
            "this regression has no solution in the release: the noise of the channel outweighs the rows, or the "
            "predictors determine one another or the outcome; take fewer predictors, or more rows"
        )


def _levels(rows: Table, hidden: Hidden, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the values of a column in order, and the position of the value of each cell or row; -1 if missing."""
    if name in hidden.columns:
        level, codes = hidden.level(name)
    else:
        alphabet = Alphabet.from_table(rows, (name,))
        level, codes = alphabet.levels[0], alphabet.codes[alphabet.encode(rows), 0]
    positions = codes.astype(np.int64)
    return level, np.where(positions == len(level), -1, positions)


def _predictor(rows: Table, hidden: Hidden, name: str) -> _Block:
    of_cells = name in hidden.columns
    values = hidden.level(name)[0] if of_cells else as_arrow(rows[name], name)
    if is_numeric(values.type):
        return _Block((name,), numbers(rows, hidden, name)[:, None], of_cells)
    level, codes = _levels(rows, hidden, name)
    indicators = (codes[:, None] == np.arange(1, len(level))).astype(float)
    indicators[codes < 0] = np.nan
    names: list[Any] = level.to_pylist()[1:]
    return _Block(tuple(f"{name}={value}" for value in names), indicators, of_cells)
