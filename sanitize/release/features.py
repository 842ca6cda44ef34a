"""Rows of a released table as numbers for a classifier, which never depend on S."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Vector
from sanitize.core.alphabet import Alphabet
from sanitize.core.binning import is_numeric
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.first_pass import sensitive_columns
from sanitize.tables.columns import MISSING, as_arrow, ascending
from sanitize.tables.frame import Table

# Name of a feature; brackets, because no column is likely to have it.
POSITION = "(position)"


@dataclass(frozen=True, eq=False)
class Features:
    """Features of each row as an adversary sees them.

    Attributes
    ----------
    matrix : ndarray of float32, shape (n_rows, n_features)
        One indicator column per frequent level, and the rank between 0 and 1 of numeric columns.
    cells : ndarray of int64, shape (n_rows,)
        Number of the row's tuple of symbols, with numeric columns cut into quantiles.
    columns : tuple of str
        Columns from which the features are computed.
    """

    matrix: NDArray[np.float32]
    cells: NDArray[np.int64]
    columns: tuple[str, ...]

    @property
    def n_cells(self) -> int:
        """Number of distinct tuples of symbols."""
        return int(self.cells.max()) + 1


def table_features(
    table: Table,
    columns: Sequence[str] | None,
    *,
    with_position: bool,
    numeric: Literal["symbols", "numbers"] = "symbols",
) -> Features:
    """Features of each row from some columns of a table (all by default) and, if requested, from its position.

    With ``numbers``, a numeric column becomes a single feature, its standardized value.
    """
    cuts = 16
    names = tuple(table.names if columns is None else columns)
    parts: list[NDArray[np.float32]] = []
    cells = np.zeros(table.n_rows, np.int64)
    sources = {name: as_arrow(table[name], name) for name in names}
    if with_position:
        rows = np.arange(table.n_rows)
        # Positions reveal usual row orders: sorted, in runs, and in pairs or threes (matched cases and controls).
        for label, values in ((POSITION, rows), ("(pairs)", rows % 2), ("(threes)", rows % 3)):
            sources[label] = as_arrow(values, label)
    for name, column in sources.items():
        if len(column) != table.n_rows:
            raise ColumnError.fault(
                name, f"has {len(column)} rows, and the table has {table.n_rows}; give one value per row"
            )
        values, codes = ascending(column, name)
        as_number = numeric == "numbers" and name in names and is_numeric(column.type)
        if as_number:
            # Linear models need numbers of one scale; a missing or infinite one has no effect at the mean.
            numbers = np.append(np.asarray(values.cast("float64"), dtype=np.float64), np.nan)[codes]
            usual = np.isfinite(numbers)
            if usual.any():
                numbers = (numbers - numbers[usual].mean()) / (numbers[usual].std() or 1.0)
            parts.append(np.where(usual, numbers, 0.0)[:, None].astype(np.float32))
        # More distinct numbers have too few rows each, so they are ranked and cut; fewer are symbols like any.
        if is_numeric(column.type) and len(values) > 32:
            ranks = _ranks(codes, len(values))
            if not as_number:
                parts.append(ranks[:, None].astype(np.float32))
            codes = np.where(codes == MISSING, cuts, np.minimum((ranks * cuts).astype(np.int64), cuts - 1))
        if name in names:  # positions would make all tuples different
            cells = np.unique(cells * (int(codes.max(initial=0)) + 2) + codes + 1, return_inverse=True)[1]
        if not as_number:
            parts.append(indicators(codes))
    return Features(np.concatenate(parts, axis=1), cells, names)


def _ranks(codes: NDArray[np.integer[Any]], n_values: int) -> Vector:
    """Rank of each row's value, scaled to [0, 1]; missing values get the middle."""
    counts = np.bincount(codes[codes != MISSING], minlength=n_values)
    middle = (np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1)
    return np.append(middle, 0.5)[codes]


def indicators(codes: NDArray[Any]) -> NDArray[np.float32]:
    """Indicator columns of the frequent codes; other codes get no column."""
    counts = np.bincount(codes + 1)
    # Rarer levels have too few rows to learn from, and each takes a column of the matrix.
    levels = np.sort(np.argsort(-counts, kind="stable")[: min(64, int((counts > 0).sum()))])
    return (codes[:, None] + 1 == levels).astype(np.float32)


def require_columns(available: Sequence[str], names: Sequence[str], what: str) -> None:
    """Refuse a table that lacks some of the named columns; the error begins with ``what``, the role of the table."""
    absent = [name for name in names if name not in available]
    if absent:
        raise ColumnError(f"{what}: {ColumnError.absent(absent, available)}", absent[0], absent)


def sensitive_codes(sensitive: Any, n_rows: int) -> tuple[Alphabet, NDArray[np.int32]]:
    """Return the alphabet of S and the code of each row; refuse an alphabet of a single symbol."""
    columns = sensitive_columns(sensitive, n_rows, "sensitive")
    alphabet = Alphabet.from_table(columns, list(columns))
    if len(alphabet) < 2:
        raise InvalidParameter(
            "the sensitive columns have the same values in all rows; name columns with two or more values"
        )
    return alphabet, alphabet.encode(columns)
