"""Cross-fitted chance of identifying, from raw rows, which of two people has a sensitive value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.release.adversaries import area, assign_folds, boosting, class_probabilities, threads_for
from sanitize.tables.columns import as_arrow, factorize
from sanitize.tables.ordered import as_ordered, is_ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sanitize._util.checks import Vector

# Rows that an adversary learns from and is tested on: more rows change the figure by about 0.01.
MOST_ROWS = 12_000
# Small trees: from a few thousand rows, larger trees learn patterns that hold for no other rows. Three folds leave two
# thirds of the rows to learn from, and take less time than the usual five.
_FOLDS, _LEAVES = 3, 8
# Boosted trees of scikit-learn take at most 255 values of a category. Rarer sensitive values have too few rows in a
# fold to be ranked.
_MOST_VALUES, _MOST_SECRETS = 250, 8


def found_by_raw_rows(table: Mapping[str, Any], secret: NDArray[np.intp]) -> tuple[float, float]:
    """Chance that boosting identifies which of two people has a sensitive value, from true and from shuffled values.

    Each sensitive value counts by its share, and each row is scored by a model that was trained without that row. The
    second figure is what the same adversary reaches when the columns reveal nothing.

    Parameters
    ----------
    table : mapping of str to column
    secret : ndarray of int, shape (n_rows,)
    """
    parts = [_numbers(as_arrow(table[name], name), name) for name in table]
    x, model = np.column_stack([part for part, _ in parts]), boosting(_LEAVES, [kind for _, kind in parts])
    counts = np.bincount(secret)
    y = np.minimum(np.argsort(np.argsort(-counts, kind="stable")), _MOST_SECRETS - 1)[secret].astype(np.int32)
    figures = []
    for own in (y, np.random.default_rng(13).permutation(y)):
        fold, mean = assign_folds(own, np.arange(len(own)), _FOLDS, 0), 0.0
        with threads_for(None):
            for k in range(_FOLDS):  # rows are ranked within a fold: the scores of two models are not comparable
                test = fold == k
                beliefs = class_probabilities(model, x[~test], own[~test], x[test], int(y.max()) + 1)
                mean += _area(beliefs, own[test]) * float(test.mean())
        figures.append(mean)
    return figures[0], figures[1]


def _area(beliefs: Vector, secret: NDArray[np.int32]) -> float:
    shares = np.bincount(secret, minlength=beliefs.shape[1]) / len(secret)
    areas = [(share, area(beliefs[:, c], secret == c)[0]) for c, share in enumerate(shares) if 0 < share < 1]
    return sum(share * value for share, value in areas) / sum(share for share, _ in areas) if areas else 0.5


def _numbers(column: Any, name: str) -> tuple[Vector, bool]:
    """Values of a column as numbers for boosting, and whether the numbers are categories ranked by frequency."""
    if is_ordered(column.type, name):
        numbers, is_missing = as_ordered(column, name)
        return np.where(is_missing, np.nan, numbers.astype(np.float64)), False
    values, codes = factorize(column, name)
    place = np.argsort(np.argsort(-np.bincount(codes[codes >= 0], minlength=len(values)), kind="stable"))
    return np.append(np.minimum(place, _MOST_VALUES), np.nan)[codes], True
