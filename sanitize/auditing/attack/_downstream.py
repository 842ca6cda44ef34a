"""Usefulness of a release: a comparison of models trained on the release, on the raw table and on generated rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Vector, check_choice
from sanitize._util.formatting import Told
from sanitize._util.sampling.noise import NoiseKey
from sanitize.core.confidence import check_confidence
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.adversaries import Score, area, assign_folds, boosting, class_probabilities, fit_and_release
from sanitize.release.classes import LatentClassModel
from sanitize.release.features import require_columns
from sanitize.tables.columns import UNSEEN, as_arrow, factorize, look_up
from sanitize.tables.frame import Table
from sanitize.tables.ordered import as_ordered, categories, is_ordered

# A category with fewer rows teaches a model nothing that holds for other rows, so such categories share one level.
_LEAST_ROWS = 10
# Raw rows that were released, their release, and raw rows that were kept apart, so that a model is tested on new rows.
_Part = tuple[Table, Table, Table]


@dataclass(frozen=True)
class Downstream(Told):
    """Accuracy, on unseen raw rows, of a model trained on the release, compared with a model trained on the raw table.

    Accuracy is the area under the ROC curve (AUC): the chance that, of a row with a value and a row without, the model
    ranks the right one first; 0.5 is guessing. With more than two values, it is the mean over values, each against all
    others, weighted by their shares.

    Attributes
    ----------
    target : str
    question : str
        Predicted question: the value of the target, or whether it is above its median.
    columns : tuple of str
        Columns that the models see.
    raw, released, ignoring : float
        AUC of the models trained on the raw table, on the release, and on rows generated without looking at any single
        row, all measured on raw rows that the models have not seen.
    own, own_interval : float and tuple of float, or None
        AUC of a model that predicts the raw target of a person from the released row of the same person; None if it is
        not known which row is whose.
    difference : float
        Difference ``released`` - ``raw`` on the same rows.
    interval : tuple of float
        Interval of the difference at ``confidence``.
    confidence : float
    n_rows : int
        Number of rows that the models were tested on.
    model : str
        Name of the classifier.
    """

    target: str
    question: str
    columns: tuple[str, ...]
    raw: float
    released: float
    ignoring: float
    own: float | None
    own_interval: tuple[float, float] | None
    difference: float
    interval: tuple[float, float]
    confidence: float
    n_rows: int
    model: str

    title: ClassVar[str] = "Models trained on the release"

    @property
    def table(self) -> tuple[tuple[str, str], tuple[tuple[str, float], ...]]:
        """Header and rows of the table about models in the report."""
        # From rows without any relation between columns, a model learns nothing about the target.
        figures = {"the raw table": self.raw, "the release": self.released, "rows that ignore every relation": 0.5}
        return ("Model trained on", "AUC"), tuple(figures.items())

    @property
    def kept(self) -> float:
        """Share of the raw model's AUC above 0.5 that the release's model keeps; 1 if the raw AUC is at most 0.5."""
        return (self.released - 0.5) / (self.raw - 0.5) if self.raw > 0.5 else 1.0

    @property
    def worse(self) -> bool:
        """True if a model trained on the release is measurably worse: the interval lies below 0."""
        return self.interval[1] < 0

    @property
    def ignores_rows(self) -> bool:
        """True if released rows are known to contain no measurable information about the people they replace."""
        return self.own_interval is not None and self.own_interval[0] <= 0.5

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that compare the models."""
        low, high = self.interval
        verdict = "worse than" if self.worse else "better than" if low > 0 else "not measurably different from"
        # If the order of released rows is random, they ignore single rows anyway.
        ignoring = "" if self.own is None else f", and rows that ignore every single row reach {self.ignoring:.3f}"
        sentences = (
            f"Predicting {self.question} for raw rows it has not seen, a model ({self.model}) trained on the raw table "
            f"reaches an AUC of {self.raw:.3f}, and on the release {self.released:.3f}; 0.5 is guessing{ignoring}.",
            f"The release is {verdict} the raw table: {self.difference:+.3f} ({100 * self.confidence:.4g} % interval "
            f"{low:+.3f} to {high:+.3f}, {self.n_rows} rows).",
        )
        if self.own is None:
            return sentences
        link = f"A released row predicts the raw {self.target!r} of the same person with an AUC of {self.own:.3f}."
        if self.ignores_rows:
            link = f"A released row reveals nothing measurable about its person's {self.target!r} (AUC {self.own:.3f})."
        return (*sentences, link)


def downstream(
    df: Any,
    released: Any,
    target: str,
    *,
    columns: Sequence[str] | None = None,
    fresh: Any = None,
    rows: Literal["shuffle", "keep"] = "shuffle",
    estimator: Any = None,
    cv: int = 5,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Downstream:
    """Compare models trained on a release, on the raw table, and on rows that a model of the raw table generates.

    All three models predict a column of raw rows that none of them has seen: ``fresh`` rows, or the rows of a fold
    without which the sanitizer is fitted. If released rows are in the order of the raw rows, a fourth figure measures
    how well a released row predicts its *own* raw target. Only this needs a release of single rows: for anything else,
    rows generated by a model of the table serve as well.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
        The raw table.
    released : same kinds, or a sanitizer
        Release of the raw table, or another table with the same columns. It contains the target, or has its rows in the
        order of ``df``, which then provides the targets. A sanitizer is fitted anew for each fold, on the other folds.
    target : str
        Column to predict, not the sensitive one. For numbers and dates with more than 10 values, models predict whether
        they are above the median.
    columns : list of str, optional
        Columns to predict from; by default all columns of the release but the target.
    fresh : DataFrame or Table, optional
        Raw rows of the same kind that were not released; required with a release.
    rows : {"shuffle", "keep"}
        ``keep`` if the released rows are in the order of ``df``.
    estimator : scikit-learn classifier, optional
        Classifier with ``predict_proba``. It sees one number per column: the level of ordered values, or the position
        by frequency of other values. Gradient boosting by default.
    cv : int
        Number of folds, for a sanitizer and for the prediction of each row's own target.
    confidence : float
        Confidence of the interval.
    random_state : int
        Seed of the folds and of generated rows; no noise of a release depends on it.

    Returns
    -------
    Downstream

    Raises
    ------
    ColumnError
        If a column is absent or released as labels.
    InvalidParameter
        If the target is constant or has too many values, or there are too few rows or no fresh ones.

    Notes
    -----
    The interval is normal, from differences of both models' AUC terms row by row [DDC]. Folds share training rows, so
    the standard error is the larger of the errors over rows and over folds.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = sz.LatentClassRelease(sz.LiftBudget(lower=1, upper=0.7), sensitive="survived", random_state=0)
    >>> found = sz.auditing.attack.downstream(df, sanitizer, "sex", cv=3)
    >>> found.raw > 0.6, found.released <= found.raw + 0.02, found.own > found.ignoring
    (True, True, True)
    """
    confidence = check_confidence(confidence)
    check_choice("rows", rows, "shuffle", "keep")
    raw = Table.from_native(df)
    require_columns(raw.names, [target], "the raw table")
    model = boosting() if estimator is None else estimator
    if hasattr(released, "fit_transform"):
        fold = assign_folds(_Answers(raw, target).encode(raw), np.arange(raw.n_rows), cv, random_state)
        splits = ((raw.take(np.flatnonzero(fold != k)), raw.take(np.flatnonzero(fold == k))) for k in np.unique(fold))
        parts: Iterable[_Part] = (
            (train, Table.from_native(fit_and_release(released, train.native)), test) for train, test in splits
        )
        rows = "keep"
    elif fresh is None:
        raise InvalidParameter(
            "models must be tested on raw rows that the release does not depend on: pass other raw rows in fresh, or "
            "pass the sanitizer instead of its release, so that it is fitted for each fold"
        )
    else:
        parts = [(raw, Table.from_native(released), Table.from_native(fresh))]
    settings = columns, model, cv, random_state
    compared = (_compare_models(part, target, *settings, aligned=rows == "keep") for part in parts)
    questions, names, by_part, own_by_part = zip(*compared, strict=True)
    sizes, areas = [area.shape[1] for area in by_part], np.concatenate(by_part, axis=1)
    of_rows = np.arange(sum(sizes))
    of_parts = of_rows if len(sizes) == 1 else np.repeat(np.arange(len(sizes)), sizes)
    score = Score(np.ones(len(of_rows)), of_rows, of_parts)
    difference, error = score.mean_and_error(areas[1] - areas[0])
    reach = NormalDist().inv_cdf((1 + confidence) / 2)
    own_area = own_interval = None
    if all(area is not None for area in own_by_part):
        values = np.concatenate(own_by_part)
        own_area, own_error = float(values.mean()), float(values.std() / np.sqrt(len(values)))
        own_interval = own_area - reach * own_error, own_area + reach * own_error
    return Downstream(
        target=target,
        question=questions[0],
        columns=names[0],
        raw=score.mean(areas[0]),
        released=score.mean(areas[1]),
        ignoring=score.mean(areas[2]),
        own=own_area,
        own_interval=own_interval,
        difference=difference,
        interval=(difference - reach * error, difference + reach * error),
        confidence=confidence,
        n_rows=len(of_rows),
        model=type(model).__name__,
    )


def _compare_models(
    part: _Part, target: str, columns: Sequence[str] | None, model: Any, cv: int, random_state: int, *, aligned: bool
) -> tuple[str, tuple[str, ...], Vector, Vector | None]:
    """Return the question, the columns, and each row's AUC terms for models trained on different kinds of rows.

    The terms for raw, released and generated rows have the shape (3, n); the terms of a released row's own person are
    None if rows are not aligned.
    """
    raw, released, fresh = part
    names = [name for name in released.names if name != target] if columns is None else list(columns)
    require_columns(released.names, names, "the release")
    require_columns(raw.names, names, "the raw table")
    require_columns(fresh.names, [*names, target], "the table of fresh rows")
    if not names:
        raise ColumnError("there is no column to predict from; name columns other than the target")
    answers = _Answers(raw, target)
    is_printed = target in released.names
    aligned = aligned and released.n_rows == raw.n_rows
    if not is_printed and not aligned:
        raise ColumnError(
            f"the release has no column {target!r}: release the target too, or pass released rows in the order of the "
            "raw ones, with rows='keep'",
            target,
        )
    encoders = [_Levels(raw, name) for name in names]
    # Shuffled rows of a model of the raw rows belong to no single row, so they show what is left if a release ignores
    # all single rows.
    table, words = {name: raw[name] for name in [*names, target]}, NoiseKey.from_seed(random_state)
    writer = LatentClassModel.fit(table, words)
    made_up = writer.decode(np.random.default_rng(random_state).permutation(writer.assign(table, words)), words)
    x, y = _encode_table(raw, encoders), answers.encode(raw)
    x_given = _encode_table(released, encoders, printed=True)
    y_given = answers.encode(released, printed=True) if is_printed else y
    # Generated rows cannot be paired with a person's raw target.
    y_made = answers.encode(made_up) if is_printed else y
    x_apart, y_apart = _encode_table(fresh, encoders), answers.encode(fresh)
    learned = ((x, y), (x_given, y_given), (_encode_table(made_up, encoders), y_made))
    areas = np.stack([_areas(class_probabilities(model, *pair, x_apart, answers.n), y_apart) for pair in learned])
    own_areas = None
    if aligned:
        if is_printed:
            x_given = np.column_stack([x_given, y_given])
        distribution, fold = np.empty((len(y), answers.n)), assign_folds(y, np.arange(len(y)), cv, random_state)
        for k in range(cv):
            train, test = fold != k, fold == k
            distribution[test] = class_probabilities(model, x_given[train], y[train], x_given[test], answers.n)
        own_areas = _areas(distribution, y)
    return answers.question, tuple(names), areas, own_areas


class _Levels:
    """Levels of a column's values: ranks of numbers, or categories in order of frequency.

    Attributes
    ----------
    values : ndarray or pyarrow Array
        Ascending numbers, or categories with at least ten rows.
    missing : int
        Level of missing values; the next level is for all other categories.
    n_levels : int
        Number of levels, including those of missing and other values.
    """

    def __init__(self, table: Mapping[str, Any], name: str) -> None:
        arrow, self.name = as_arrow(table[name], name), name
        self.is_ordered = is_ordered(arrow.type, name)
        self.values: Any
        if self.is_ordered:
            numbers, is_missing = as_ordered(arrow, name)
            self.values = np.unique(numbers[~is_missing])
        else:
            values, counts = categories(arrow, name)
            by_count = np.argsort(-counts, kind="stable")
            self.values = values.take(by_count[counts[by_count] >= _LEAST_ROWS])
        self.missing = len(self.values)
        self.n_levels = self.missing + (1 if self.is_ordered else 2)

    def encode(self, table: Mapping[str, Any], *, printed: bool = False) -> NDArray[np.intp]:
        """Return the level of each row; refuse a release that writes the column in another form than the raw table."""
        name = self.name
        labels = f"the release writes column {name!r} in another form than the raw table; leave it out of columns="
        arrow = as_arrow(table[name], name)
        if not self.is_ordered:
            values, codes = factorize(arrow, name)
            places = np.append(look_up(values, self.values), self.missing).astype(np.intp)
            levels = np.where(places == UNSEEN, self.n_levels - 1, places)[codes]
            if printed and (levels == self.n_levels - 1).all():
                raise ColumnError(labels, name)
            return levels
        if arrow.null_count == len(arrow):
            return np.full(len(arrow), self.missing)
        if not is_ordered(arrow.type, name):
            wrong = f"column {name!r} must contain numbers or dates, got {arrow.type}"
            raise ColumnError(labels if printed else wrong, name)
        numbers, is_missing = as_ordered(arrow, name)
        return np.where(is_missing, self.missing, np.searchsorted(self.values[1:], numbers, side="right"))


class _Answers:
    """Prediction target of a model: the level of a column, or whether the column exceeds a cut.

    Attributes
    ----------
    n : int
        Number of answers.
    question : str
        The prediction target in words.
    """

    def __init__(self, table: Mapping[str, Any], target: str) -> None:
        most = 32
        levels = self._levels = _Levels(table, target)
        counts = np.bincount(levels.encode(table), minlength=levels.n_levels)
        if (counts > 0).sum() < 2:
            raise InvalidParameter(
                f"target {target!r} has one value only, so there is nothing to predict; choose another"
            )
        present, self._cut, self.n, self.question = counts[: levels.missing], -1, levels.n_levels, repr(target)
        # Single values of such a target have too few rows, so the question is whether it is above the median.
        if levels.is_ordered and len(present) > 10:
            middle = int(np.searchsorted(np.cumsum(present), present.sum() / 2))
            self._cut, self.n = min(middle, len(present) - 2), 2
            self.question = f"whether {target!r} is above its median"
        elif len(present) > most:
            raise InvalidParameter(f"target {target!r} has {len(present)} values, more than {most}; group them first")

    def encode(self, table: Mapping[str, Any], *, printed: bool = False) -> NDArray[np.int32]:
        """Return the answer of each row; the table must have the target column."""
        codes = self._levels.encode(table, printed=printed)
        answers = codes if self._cut < 0 else (codes > self._cut) & (codes != self._levels.missing)
        return answers.astype(np.int32)


def _encode_table(table: Mapping[str, Any], encoders: list[_Levels], *, printed: bool = False) -> Vector:
    """Encode a table as numbers for a model, shape (n_rows, n_columns)."""
    return np.stack([encoder.encode(table, printed=printed) for encoder in encoders], axis=1).astype(np.float64)


def _areas(distribution: Vector, y: NDArray[np.int32]) -> Vector:
    """Return one term per row: the mean of the terms is the AUC, and their deviation over √n its standard error [DDC].

    A term is the sum, over answers c, of the share of c times AUC_c + (V - AUC_c) n / n_c. For a row with c, V is the
    share of rows without c that the model ranks below; for a row without c, it is the share of rows with c above.
    """
    distribution = distribution.round(12)  # so that rounding errors do not break ties
    n, areas, total = len(y), np.zeros(len(y)), 0.0
    for c, n_c in enumerate(np.bincount(y, minlength=distribution.shape[1])):
        if not 0 < n_c < n:
            continue
        auc, owed = area(distribution[:, c], y == c)
        areas += n_c * (auc + n * owed)
        total += n_c
    return areas / total if total else np.full(n, 0.5)
