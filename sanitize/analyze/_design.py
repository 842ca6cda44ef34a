"""Outcome and predictors of a regression: known in each row, or in each cell of what went through the channel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._tables.columns import as_arrow
from sanitize.alphabet import Alphabet
from sanitize.analyze._means import is_numeric, numbers
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from sanitize._tables.frame import Table
    from sanitize.analyze._records import Hidden


@dataclass(frozen=True)
class _Block:
    """One column as numbers: of each row, or of each cell; NaN where missing."""

    names: tuple[str, ...]
    values: NDArray[np.float64]  # (n_rows or n_cells, len(names))
    of_cells: bool

    def at(self, cell: int, rows: slice) -> NDArray[np.float64]:
        return self.values[cell][None, :] if self.of_cells else self.values[rows]

    def take(self, rows: NDArray[np.intp]) -> _Block:
        return self if self.of_cells else replace(self, values=self.values[rows])


@dataclass(frozen=True)
class Columns:
    """Predictors, moved and scaled to [-1, 1], and the outcome.

    Attributes
    ----------
    names : tuple of str
        The intercept, then the predictors.
    centre, scale : ndarray of shape (p,)
        What is taken from the predictors, and what they are divided by then.
    """

    names: tuple[str, ...]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    _predictors: tuple[_Block, ...]
    _outcome: _Block

    def back(self) -> NDArray[np.float64]:
        """Matrix (1 + p, 1 + p) from coefficients of the scaled predictors to those of the predictors."""
        matrix = np.diag(np.concatenate([[1.0], 1 / self.scale]))
        matrix[0, 1:] = -self.centre / self.scale
        return matrix

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """The columns of some of the rows."""
        taken = tuple(block.take(rows) for block in self._predictors)
        return replace(self, _predictors=taken, _outcome=self._outcome.take(rows))

    def at(self, cell: int, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Predictors, outcome and presence of rows, were their hidden columns in this cell."""
        n = rows.stop - rows.start
        parts = [block.at(cell, rows) for block in (*self._predictors, self._outcome)]
        filled = np.concatenate([np.broadcast_to(part, (n, part.shape[1])) for part in parts], axis=1)
        present = np.isfinite(filled).all(axis=1)
        filled = np.where(present[:, None], filled, 0.0)
        design = np.concatenate([np.ones((n, 1)), (filled[:, :-1] - self.centre) / self.scale], axis=1)
        return design, filled[:, -1], present.astype(float)


def design_columns(rows: Table, hidden: Hidden, outcome: str, predictors: Sequence[str]) -> Columns:
    """Columns of a regression.

    Raises
    ------
    InvalidParameter
        If the outcome has not two values.
    """
    made = [_predictor(rows, hidden, name) for name in predictors]
    names = ("(intercept)", *(name for block in made for name in block.names))
    known = [column[np.isfinite(column)] for block in made for column in block.values.T]
    ends = np.array([(column.min(), column.max()) if len(column) else (0.0, 0.0) for column in known])
    scale = (ends[:, 1] - ends[:, 0]) / 2
    scale[scale == 0] = 1.0  # of one value, which is found to determine nothing
    level, codes = _levels(rows, hidden, outcome)
    if len(level) != 2:
        raise InvalidParameter(f"the outcome {outcome!r} must have two values, it has {len(level)}")
    two = _Block((outcome,), np.array([0.0, 1.0, np.nan])[codes][:, None], outcome in hidden.columns)
    return Columns(names, ends.mean(axis=1), scale, tuple(made), two)


def _levels(rows: Table, hidden: Hidden, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
    """Values of a column in order, and the position of each cell's or row's, -1 where missing."""
    if name in hidden.columns:
        level, codes = hidden.level(name)
    else:
        alphabet = Alphabet.from_table(rows, (name,))
        level, codes = alphabet.levels[0], alphabet.codes[alphabet.encode(rows), 0]
    found = codes.astype(np.int64)
    return level, np.where(found == len(level), -1, found)


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
