"""What an honest analyst still learns: models trained on a release against models trained on the raw table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from sanitize._tables.frame import Table
from sanitize.attack._downstream_result import Downstream
from sanitize.attack._folds import Score, folds_of
from sanitize.confidence import check_confidence
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.trees import Levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Ordered targets with more values than this are asked about their median.
_FEW_VALUES = 10
_MOST_CLASSES = 32
_ITERATIONS = 60
_DIGITS = 12


def downstream(
    df: Any,
    released: Any,
    target: str,
    *,
    columns: Sequence[str] | None = None,
    fresh: Any = None,
    estimator: Any = None,
    cv: int = 5,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Downstream:
    """Compare a model trained on a release with one trained on the raw table, on raw rows that neither has seen.

    The rows are split into folds. For each, one model learns from the raw rows of all other folds and one from as many
    released rows; both predict the column for the raw rows of the fold. Released rows need not be in the order of the
    raw ones: a shuffled file serves as well.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
        The raw table.
    released : same kinds
        Its release, with rows printed as rows (``release="label"`` prints sets that no model can compare). It holds
        the target, or has its rows in the order of ``df``, which then gives their targets.
    target : str
        Column to predict, not the sensitive one. Numbers and dates of more than 10 values are asked about their
        median.
    columns : list of str, optional
        Columns to predict from; by default all of the release but the target.
    fresh : DataFrame or Table, optional
        Rows of the source that were not released. Both models then learn from all their rows and are tested on these.
        Released rows are often copies of raw ones, a fold's own among them, which flatters models that memorise rows:
        fresh rows are the strict test.
    estimator : scikit-learn classifier, optional
        With ``predict_proba``. It sees a number for each column: ordered ones as levels, others as their place by
        frequency. By default gradient boosting.
    cv : int
        Number of folds.
    confidence : float
        Of the interval.
    random_state : int
        Seed of the folds. It is not noise of a release.

    Returns
    -------
    Downstream

    Raises
    ------
    ColumnError
        If a column is absent or printed as labels.
    InvalidParameter
        If the target is constant or has too many values, or there are too few rows.

    Notes
    -----
    The interval is normal, from the differences of both models' AUC row by row [DDC]; folds share training rows, so
    the error is the larger of that over rows and that over folds.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = sz.TreeMerging(sz.LiftBudget(lower=1, upper=0.7), sensitive="survived", random_state=0)
    >>> released = sz.frame.release(df, sanitizer)
    >>> found = sz.downstream(df, released, "sex")
    >>> found.raw > 0.6, found.released <= found.raw + 0.02
    (True, True)
    """
    confidence = check_confidence(confidence)
    raw, given = Table.of(df), Table.of(released)
    _check_columns(raw, [target], "the raw table")
    names = [name for name in given.names if name != target] if columns is None else list(columns)
    _check_columns(given, names, "the release")
    _check_columns(raw, names, "the raw table")
    if not names:
        raise ColumnError("there is no column to predict from")
    answers, question = _Answers.of(raw, target)
    encoders = [Levels.learn(raw[name], name)[0] for name in names]
    x, x_given = _encoded(raw, encoders), _encoded(given, encoders, printed=True)
    y, y_given = answers.of_rows(raw), _given_answers(answers, given, raw)
    model = HistGradientBoostingClassifier(max_iter=_ITERATIONS, random_state=0) if estimator is None else estimator
    if fresh is None:
        fold = folds_of(y, np.arange(raw.n_rows), cv, random_state)
        deal = folds_of(y_given, np.arange(given.n_rows), cv, random_state)
        splits = [(x[fold != k], y[fold != k], x_given[deal != k], y_given[deal != k]) for k in range(cv)]
        tests = [(x[fold == k], y[fold == k]) for k in range(cv)]
    else:
        apart = Table.of(fresh)
        _check_columns(apart, [*names, target], "the table of fresh rows")
        splits = [(x, y, x_given, y_given)]
        tests = [(_encoded(apart, encoders), answers.of_rows(apart))]
    found = []
    for (x_raw, y_raw, x_own, y_own), (x_test, y_test) in zip(splits, tests, strict=True):
        learned = ((x_raw, y_raw), (x_own, y_own))
        found.append([_areas(_beliefs(model, *rows, x_test, answers.n), y_test) for rows in learned])
    of_raw, of_released = np.concatenate(found, axis=1)
    rows = np.arange(len(of_raw))
    parts = rows if fresh is not None else np.repeat(np.arange(cv), [len(y_test) for _, y_test in tests])
    score = Score(np.ones(len(rows)), rows, parts)
    difference, error = score.of(of_released - of_raw)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return Downstream(
        target=target,
        question=question,
        columns=tuple(names),
        raw=score.mean(of_raw),
        released=score.mean(of_released),
        difference=difference,
        interval=(difference - reach, difference + reach),
        confidence=confidence,
        n_rows=len(rows),
        model=type(model).__name__,
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """What a model predicts: the level of a column, or whether it is above a cut."""

    levels: Levels
    cut: int | None
    n: int

    @classmethod
    def of(cls, table: Table, target: str) -> tuple[_Answers, str]:
        """Answers learned from the raw table, and the question in words."""
        levels, codes, _ = Levels.learn(table[target], target)
        counts = np.bincount(codes, minlength=levels.n_levels)
        if (counts > 0).sum() < 2:
            raise InvalidParameter(f"target {target!r} has one value only, so there is nothing to predict")
        known = counts[: levels.missing]
        if levels.is_ordered and len(known) > _FEW_VALUES:
            middle = int(np.searchsorted(np.cumsum(known), known.sum() / 2))
            return cls(levels, min(middle, len(known) - 2), 2), f"whether {target!r} is above its median"
        if len(known) > _MOST_CLASSES:
            raise InvalidParameter(
                f"target {target!r} has {len(known)} values, at most {_MOST_CLASSES}; group them first"
            )
        return cls(levels, None, levels.n_levels), f"{target!r}"

    def of_rows(self, table: Table, *, printed: bool = False) -> NDArray[np.int32]:
        """Answer of each row of any table that has the column."""
        codes = _levels_of(table, self.levels, printed=printed).astype(np.int32)
        if self.cut is None:
            return codes
        return ((codes > self.cut) & (codes != self.levels.missing)).astype(np.int32)


def _given_answers(answers: _Answers, given: Table, raw: Table) -> NDArray[np.int32]:
    """Answers beside the released rows: their own, or those of the raw rows in the same order."""
    target = answers.levels.name
    if target in given.names:
        return answers.of_rows(given, printed=True)
    if given.n_rows != raw.n_rows:
        raise ColumnError(
            f"the release has no column {target!r} and {given.n_rows} rows, the raw table {raw.n_rows}: release the "
            "target too, or pass released rows in the order of the raw ones",
            target,
        )
    return answers.of_rows(raw)


def _encoded(table: Table, encoders: list[Levels], *, printed: bool = False) -> NDArray[np.float64]:
    """Numbers that a model can read, shape (n_rows, n_columns)."""
    return np.stack([_levels_of(table, one, printed=printed) for one in encoders], axis=1).astype(np.float64)


def _levels_of(table: Table, encoder: Levels, *, printed: bool) -> NDArray[np.uint16]:
    """Level of each row in one column; a release whose values are labels is refused."""
    name = encoder.name
    labels = (
        f"the release prints {name!r} as labels, which no model can compare with raw values; use release='resample'"
    )
    try:
        codes = encoder.encode(table[name])
    except ColumnError as error:
        raise ColumnError(labels if printed else str(error), name) from None
    if printed and not encoder.is_ordered and (codes == encoder.n_levels - 1).all():
        raise ColumnError(labels, name)
    return codes


def _check_columns(table: Table, names: Sequence[str], where: str) -> None:
    for name in names:
        if name not in table.names:
            shown = ", ".join(map(repr, table.names[:10]))
            raise ColumnError(f"{where} has no column {name!r}; it has {shown}", name)


def _beliefs(
    model: Any, x: NDArray[np.float64], y: NDArray[np.int32], tested: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Probability of each answer for the tested rows, shape (n_tested, n)."""
    law = np.zeros((len(tested), n))
    present = np.unique(y)
    if len(present) == 1:  # most classifiers refuse to learn from one class
        law[:, present] = 1.0
        return law
    fitted = clone(model).fit(x, y)
    law[:, fitted.classes_] = fitted.predict_proba(tested)
    return law


def _areas(law: NDArray[np.float64], y: NDArray[np.int32]) -> NDArray[np.float64]:
    """One number a row, whose mean is the AUC and whose spread over √n is its standard error [DDC].

    Σ over answers c of the share of c times AUC_c + (V - AUC_c) n / n_c: V is, for a row with c, the share of rows
    without it that the model puts below, and for a row without, the share of rows with c above.
    """
    law = law.round(_DIGITS)  # so that the last digits break no tie
    n, found, total = len(y), np.zeros(len(y)), 0.0
    for c, n_c in enumerate(np.bincount(y, minlength=law.shape[1])):
        if not 0 < n_c < n:
            continue
        has, rank = y == c, rankdata(law[:, c])
        placed = np.empty(n)
        placed[has] = (rank[has] - rankdata(law[has, c])) / (n - n_c)
        placed[~has] = 1 - (rank[~has] - rankdata(law[~has, c])) / n_c
        area = placed[has].mean()
        found += n_c * (area + (placed - area) * n / np.where(has, n_c, n - n_c))
        total += n_c
    return found / total if total else np.full(n, 0.5)
