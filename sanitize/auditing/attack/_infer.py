"""Attack by an adversary who trains a classifier on released rows to guess S."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sanitize._util.checks import Vector, check_choice
from sanitize._util.formatting import Told, figure, interval_text, percent, spell_infinities
from sanitize.core.confidence import check_confidence
from sanitize.errors import InvalidParameter
from sanitize.release.adversaries import (
    Score,
    Secrets,
    assign_folds,
    check_estimator,
    cluster_numbers,
    predict,
    threads_for,
)
from sanitize.release.features import sensitive_codes, table_features
from sanitize.tables.frame import Table

Interval = tuple[float, float]


def infer(
    released: Any,
    sensitive: Any,
    *,
    estimator: Any = None,
    columns: Sequence[str] | None = None,
    rows: Literal["shuffle", "keep"] = "shuffle",
    numeric: Literal["symbols", "numbers"] = "symbols",
    cv: int = 5,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
) -> InferenceAttack:
    """Train an adversary on released rows and measure how well she guesses S on unseen rows.

    The result estimates the V-information of the released columns about S [XZSSE]: the reduction in log-loss of a
    bounded adversary, compared with the best constant guess fitted on the same folds. Its expectation never exceeds
    I(S;Y) by more than (|S|-1) / (2 n_train). It is a lower bound on leakage, which can refute a budget but never
    certify one.

    Parameters
    ----------
    released : pandas or polars DataFrame, pyarrow Table or two-dimensional array
        Table that the adversary sees, including columns that were kept unchanged.
    sensitive : array-like of shape (n_rows,), or frame of n_rows
        True S of the same rows, in the same order. Several columns are one tuple.
    estimator : scikit-learn classifier, optional
        Classifier that sees one 0/1 feature per frequent symbol (up to 64 per column) and the rank of numeric columns.
        The default is a mixture of the constant guess, logistic regression, a tree, and the frequencies of S for each
        released tuple, with weights learned on a quarter of the training rows.
    columns : list of str, optional
        Columns that she uses; by default all columns.
    rows : {"shuffle", "keep"}
        ``keep`` if the release keeps the order of the rows; their positions are then features.
    numeric : {"symbols", "numbers"}
        ``numbers`` shows ``estimator`` each numeric column as one feature, its value in standard units, as if codes
        were quantities. With a linear classifier this is a smaller class of adversaries, which misses dependences that
        are not monotone in the codes.
    cv : int
        Number of folds, stratified by S.
    weights : array-like of shape (n_rows,), optional
        Weight of each row, passed on to estimators that take it.
    clusters : array-like of shape (n_rows,), optional
        Person of each row, if people have several rows; the rows of a person stay in one fold.
    confidence : float
        Confidence of the intervals, for example 0.95.
    random_state : int
        Seed of the folds; no noise of a release depends on it.

    Returns
    -------
    InferenceAttack

    Raises
    ------
    InvalidParameter
        If S has one symbol only, there are fewer rows than folds, or a parameter is outside its legal set.
    ColumnError
        If a column is absent or of another length.

    Notes
    -----
    The interval is normal, from paired differences row by row, and covers the trained adversaries' gain on fresh rows
    [BBJM]. Rows of one fold share an adversary, and folds share training rows, so the standard error is the larger of
    two: over rows (over clusters, if given) and over folds. Groups' intervals are Bonferroni-adjusted. Features take up
    to 256 bytes per row and column; attack a random sample of the rows of a very large table.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> raw = sz.auditing.attack.infer(df[["class", "sex"]], df["survived"])
    >>> raw.learns, round(raw.accuracy, 2), round(raw.prior_accuracy, 2)
    (True, 0.78, 0.68)
    >>> budget = sz.LiftBudget.symmetric(0.2)
    >>> sanitizer = sz.SubsetMerging(budget, sensitive="survived", public=["class", "sex"], random_state=0)
    >>> released = sz.frames.release(df, sanitizer)
    >>> after = sz.auditing.attack.infer(released, df["survived"])
    >>> after.interval[1] < raw.interval[0]
    True
    """
    table = Table.from_native(released)
    check_estimator(estimator)
    check_choice("rows", rows, "shuffle", "keep")
    check_choice("numeric", numeric, "symbols", "numbers")
    confidence = check_confidence(confidence)
    alphabet, codes = sensitive_codes(sensitive, table.n_rows)
    row_weights = None if weights is None else _weights(weights, table.n_rows)
    unit = np.arange(table.n_rows) if clusters is None else cluster_numbers(clusters, table.n_rows)
    fold = assign_folds(codes, unit, cv, random_state)
    secrets = Secrets(codes, row_weights, len(alphabet))
    seen = table_features(table, columns, with_position=rows == "keep", numeric=numeric)
    truth = np.arange(table.n_rows)
    model, base = (np.empty((table.n_rows, len(alphabet))) for _ in range(2))
    with threads_for(estimator):
        for k in range(cv):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            model[test] = predict(estimator, seen, secrets, train, test)
            base[test] = secrets.prior(train)
    losses, prior_losses = -np.log(model[truth, codes]), -np.log(base[truth, codes])
    right, prior_right = ((distribution.argmax(axis=1) == codes).astype(float) for distribution in (model, base))
    score = Score(secrets.weights, unit, fold)
    gain, error = score.mean_and_error(prior_losses - losses)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    better, better_error = score.mean_and_error(right - prior_right)
    z_groups = NormalDist().inv_cdf(1 - (1 - confidence) / (2 * len(alphabet)))
    groups = []
    for s in range(len(alphabet)):
        group_score = Score(np.where(codes == s, secrets.weights, 0.0), unit, fold)
        if group_score.total == 0:
            continue
        mean, spread = group_score.mean_and_error(prior_losses - losses)
        groups.append(
            GroupInference(
                symbol=alphabet.label(s),
                share=group_score.total / score.total,
                accuracy=group_score.mean(right),
                prior_accuracy=group_score.mean(prior_right),
                information=mean,
                interval=(mean - z_groups * spread, mean + z_groups * spread),
            )
        )
    return InferenceAttack(
        gain=gain,
        standard_error=error,
        interval=(max(0.0, gain - z * error), max(0.0, gain + z * error)),
        accuracy=score.mean(right),
        prior_accuracy=score.mean(prior_right),
        accuracy_interval=(better - z * better_error, better + z * better_error),
        log_loss=score.mean(losses),
        prior_log_loss=score.mean(prior_losses),
        groups=tuple(groups),
        adversary="mixture of classifiers" if estimator is None else type(estimator).__name__,
        columns=seen.columns,
        rows=rows,
        confidence=confidence,
        n_rows=table.n_rows,
        n_effective=score.n_effective,
        bias=(len(alphabet) - 1) / (2 * score.n_effective * (cv - 1) / cv),
    )


def _weights(weights: ArrayLike, n_rows: int) -> Vector:
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n_rows,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise InvalidParameter("weights must be one finite number >= 0 per row, and not all 0")
    return w


@dataclass(frozen=True)
class GroupInference:
    """Gain of the adversary on the rows of one sensitive symbol.

    Attributes
    ----------
    symbol : str
        Label of the sensitive symbol. Internal.
    share : float
        Share of the symbol's rows, by weight.
    accuracy, prior_accuracy : float
        Share of the symbol's rows guessed right, with and without the release.
    information : float
        Mean gain in log-loss over the symbol's rows, in nats.
    interval : tuple of float
        Interval of the information; the intervals of all groups hold together at the stated confidence.
    """

    symbol: str
    share: float
    accuracy: float
    prior_accuracy: float
    information: float
    interval: Interval


@dataclass(frozen=True)
class InferenceAttack(Told):
    """Result of a trained adversary: her gain about S from released rows, measured on rows she was not trained on.

    Attributes
    ----------
    gain : float
        Mean over rows of log-loss of the best constant guess minus log-loss of the adversary, in nats. It is negative
        if she would have done better by ignoring the release.
    standard_error : float
        Standard error of the gain.
    interval : tuple of float
        Two-sided interval at ``confidence`` of the V-information: the trained adversaries' gain on fresh rows, or 0 if
        they would lose, because an adversary may always ignore the release.
    accuracy, prior_accuracy : float
        Share of rows guessed right, and by the constant guess.
    accuracy_interval : tuple of float
        Interval at ``confidence`` of the difference of both accuracies.
    log_loss, prior_log_loss : float
        Mean log-loss per row in nats.
    groups : tuple of GroupInference
        Results for the rows of each sensitive symbol. Internal.
    adversary : str
        Name of the classifier.
    columns : tuple of str
        Released columns that she saw.
    rows : str
        ``shuffle``, or ``keep`` if she also saw the position of each row.
    n_rows, n_effective : int, float
        Number of rows, and (Σw)² / Σw², the number of rows of equal weight that carry as much information.
    bias : float
        Upper bound (|S|-1) / (2 n_train) on how far the expected gain may exceed I(S;Y), in nats.
    """

    gain: float
    standard_error: float
    interval: Interval
    accuracy: float
    prior_accuracy: float
    accuracy_interval: Interval
    log_loss: float
    prior_log_loss: float
    groups: tuple[GroupInference, ...] = field(repr=False)
    adversary: str
    columns: tuple[str, ...]
    rows: str
    confidence: float
    n_rows: int
    n_effective: float
    bias: float

    @property
    def information(self) -> float:
        """V-information in nats: the gain, or 0 if the gain is negative."""
        return max(0.0, self.gain)

    @property
    def learns(self) -> bool:
        """True if the release measurably reveals something about S: the interval lies above 0."""
        return self.interval[0] > 0

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no symbol."""
        seen = " and the order of the rows" if self.rows == "keep" else ""
        what = f"An adversary ({self.adversary}) who sees the released columns{seen}"
        level = f"{100 * self.confidence:.4g} % interval"
        if not self.learns:
            return (
                f"{what} learned nothing measurable about the sensitive columns: she gains {figure(self.information)} "
                f"nats per row over guessing from their frequencies ({level} {interval_text(self.interval)})",
            )
        return (
            f"{what} guesses the sensitive columns right in {percent(self.accuracy)} of rows she did not learn from, "
            f"against {percent(self.prior_accuracy)} without the release; she gains {figure(self.information)} nats "
            f"per row ({level} {interval_text(self.interval)})",
        )

    def to_text(self) -> str:
        """Return the sentences of `summary`, and one line per sensitive symbol, which is shown by number."""
        groups = [
            f"  sensitive symbol {i} of {len(self.groups)}: right in {percent(group.accuracy)} of its rows "
            f"({percent(group.prior_accuracy)} without), gain {figure(group.information)} nats "
            f"({interval_text(group.interval)})"
            for i, group in enumerate(self.groups, 1)
        ]
        return "\n".join([*self.summary, *groups])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for the owner of the table."""
        values = vars(self) | {"groups": [vars(group) | {"symbol": i} for i, group in enumerate(self.groups)]}
        values |= {"attack": "infer", "information": self.information, "summary": list(self.summary)}
        return spell_infinities(values)
