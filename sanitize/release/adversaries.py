"""Adversaries that learn from rows: any scikit-learn classifier, or a mixture of simple ones.

Adversaries learn in folds of rows. Their scores are weighted means, whose standard errors account for clusters of rows.
"""

from __future__ import annotations

import math
import warnings
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgWarning
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from sanitize._util.checks import Mask, Vector, whole_number
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sanitize.release.features import Features

Rows: TypeAlias = "NDArray[np.int64]"


def fit_and_release(sanitizer: Any, table: Any) -> Any:
    """Fit a copy of a sanitizer to a table, and release this table with the copy."""
    return clone(sanitizer).fit(table).transform(table)


class Secrets:
    """Sensitive symbol and weight of each row."""

    def __init__(self, codes: NDArray[np.int32], weights: Vector | None, n_s: int) -> None:
        self.codes = codes
        self.given = weights
        self.weights = np.ones(len(codes)) if weights is None else weights
        self.n_s = n_s

    def prior(self, train: Rows) -> Vector:
        """Best constant prediction: frequencies of the sensitive symbols in some rows, plus half a row per symbol."""
        counts = np.bincount(self.codes[train], self.weights[train], self.n_s) + 0.5
        return counts / counts.sum()


def predict(estimator: Any, seen: Features, secrets: Secrets, train: Rows, test: Rows) -> Vector:
    """Predict the sensitive values of rows ``test`` with an adversary trained on rows ``train``, shape (n_test, n_s).

    A share 1 / (n_train + 1) of the prior is mixed in, so that no belief is 0: the loss stays finite and the
    prediction a distribution, which clipping would not give.
    """
    prior = secrets.prior(train)
    beliefs = (_mixture if estimator is None else partial(_classifier, estimator))(seen, secrets, train, test)
    share = 1 / (len(train) + 1)
    return (1 - share) * beliefs + share * prior


def threads_for(estimator: Any) -> AbstractContextManager[Any]:
    """Limit the default adversary to one thread, because its many small fits would waste CPU time with more threads."""
    return threadpool_limits(1) if estimator is None else nullcontext()


def check_estimator(estimator: Any) -> None:
    """Refuse an estimator that cannot predict a distribution of S."""
    if estimator is not None and not all(hasattr(estimator, name) for name in ("fit", "predict_proba", "get_params")):
        raise InvalidParameter(
            f"estimator must be a scikit-learn classifier with predict_proba, got {type(estimator).__name__}"
        )


def _classifier(estimator: Any, seen: Features, secrets: Secrets, train: Rows, test: Rows) -> Vector:
    """Predictions of an adversary that uses a scikit-learn classifier."""
    weighted = secrets.given is not None and has_fit_parameter(estimator, "sample_weight")
    extra = {"sample_weight": secrets.weights[train]} if weighted else {}
    x, y = seen.matrix, secrets.codes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LinAlgWarning)
        return class_probabilities(estimator, x[train], y[train], x[test], secrets.n_s, **extra)


def boosting(n_leaves: int = 31, categories: Sequence[bool] | None = None) -> Any:
    """Make a gradient-boosting classifier that learns from all given rows and holds none out."""
    # Early stopping would hold out rows by class, and a rare class may have a single row.
    fixed = {"max_iter": 60, "early_stopping": False, "random_state": 0}
    return HistGradientBoostingClassifier(max_leaf_nodes=n_leaves, categorical_features=categories, **fixed)


def class_probabilities(
    model: Any, x: NDArray[Any], y: NDArray[np.int32], tested: NDArray[Any], n: int, **extra: Vector
) -> Vector:
    """Probability of each of ``n`` codes for the test rows, from a fitted copy of a classifier, shape (n_tested, n)."""
    distribution, present = np.zeros((len(tested), n)), np.unique(y)
    if len(present) == 1:  # most classifiers refuse to learn from one class
        distribution[:, present] = 1
        return distribution
    fitted = clone(model).fit(x, y, **extra)
    distribution[:, fitted.classes_] = fitted.predict_proba(tested)
    return distribution


def _table(seen: Features, secrets: Secrets, train: Rows, test: Rows) -> Vector:
    """Frequencies of S for each tuple, shrunk towards the prior as much as leave-one-out prediction suggests."""
    prior = secrets.prior(train)
    cells, codes, weights = seen.cells[train], secrets.codes[train], secrets.weights[train]
    flat = np.bincount(cells * secrets.n_s + codes, weights, seen.n_cells * secrets.n_s)
    counts = flat.reshape(seen.n_cells, secrets.n_s)
    totals = counts.sum(axis=1)
    matching, total = counts[cells, codes] - weights, totals[cells] - weights

    def loss(strength: float) -> float:
        if np.isinf(strength):
            return float(-weights @ np.log(prior[codes]))
        # Differences of equal sums may be just below zero by rounding, and have no logarithm.
        left_out = (np.maximum(matching, 0) + strength * prior[codes]) / (np.maximum(total, 0) + strength)
        return float(-weights @ np.log(left_out))

    # Strengths of the prior in the frequency table, in rows. The last ignores the released symbol, which is the best
    # guess if the symbol shows nothing.
    strength = min((0.5, 2.0, 8.0, 32.0, 128.0, 512.0, 2048.0, np.inf), key=loss)
    if np.isinf(strength):
        return np.tile(prior, (len(test), 1))
    return ((counts + strength * prior) / (totals[:, None] + strength))[seen.cells[test]]


def _tree(seen: Features, secrets: Secrets, train: Rows, test: Rows) -> Vector:
    """Frequencies of S in the leaves of a decision tree, mixed with a prior that counts as four rows."""
    prior = 4.0
    leaf = max(10, len(train) // 200)
    tree = DecisionTreeClassifier(max_leaf_nodes=64, min_samples_leaf=leaf, random_state=0)
    tree.fit(seen.matrix[train], secrets.codes[train], sample_weight=secrets.weights[train])
    size = tree.tree_.weighted_n_node_samples[tree.apply(seen.matrix[test])][:, None]
    distribution = np.zeros((len(test), secrets.n_s))
    distribution[:, tree.classes_] = tree.predict_proba(seen.matrix[test])
    return (size * distribution + prior * secrets.prior(train)) / (size + prior)


def _mixture(seen: Features, secrets: Secrets, train: Rows, test: Rows) -> Vector:
    """Mixture of simple adversaries, with the weights that maximise the likelihood on a held-out quarter of the rows.

    A mixture is nearly as good as its best member and, unlike a selected member, changes little with the rows. The
    prior is one member, so an adversary who finds nothing predicts close to the prior.
    """
    # A Newton step takes the cube of the coefficients, so quasi-Newton steps are faster for more than 512.
    solver = "newton-cholesky" if seen.matrix.shape[1] * secrets.n_s <= 512 else "lbfgs"
    adversaries: list[Callable[[Features, Secrets, Rows, Rows], Vector]] = [
        lambda seen, secrets, train, test: np.tile(secrets.prior(train), (len(test), 1)),
        partial(_classifier, LogisticRegression(solver=solver, tol=1e-3, max_iter=500)),
        _tree,
    ]
    if 2 * seen.n_cells <= len(train):
        adversaries.append(_table)
    held_out = np.arange(len(train)) % 4 == 0
    learn, judge = train[~held_out], train[held_out]
    rows = np.arange(len(judge)), secrets.codes[judge]
    floor = secrets.prior(learn)[secrets.codes[judge]] / (len(learn) + 1)
    chances = np.stack([beliefs(seen, secrets, learn, judge)[rows] + floor for beliefs in adversaries])
    weights = secrets.weights[judge]
    shares = np.full(len(adversaries), 1 / len(adversaries))
    for _ in range(50):  # expectation-maximization: the likelihood is concave in the shares
        blame = shares[:, None] * chances
        blame = (blame / blame.sum(axis=0)) @ weights
        if not blame.sum() > 0:  # all held-out rows have weight 0
            break
        shares = blame / blame.sum()
    distributions = [beliefs(seen, secrets, train, test) for beliefs in adversaries]
    return np.tensordot(shares, distributions, axes=1)


def area(scores: NDArray[Any], positive: Mask) -> tuple[float, Vector]:
    """Return the AUC, in which ties count half, and the contribution of each row to its error [DDC]."""
    together = rankdata(scores)
    n_positive, n_negative = positive.sum(), (~positive).sum()
    above = (together[positive] - rankdata(scores[positive])) / n_negative
    below = 1 - (together[~positive] - rankdata(scores[~positive])) / n_positive
    auc = float(above.mean())
    owed = np.empty(len(scores))
    owed[positive], owed[~positive] = (above - auc) / n_positive, (below - auc) / n_negative
    return auc, owed


class Score:
    """Weighted means over rows, with standard errors that account for clusters of rows."""

    def __init__(self, weights: Vector, unit: NDArray[np.int64], fold: NDArray[np.int64]) -> None:
        self.weights, self.unit, self.fold = weights, unit, fold
        self.total = float(weights.sum())
        self.n_effective = self.total**2 / float((weights**2).sum()) if self.total else 0.0

    def mean(self, values: Vector) -> float:
        """Weighted mean over the rows."""
        return float(self.weights @ values) / self.total

    def mean_and_error(self, values: Vector) -> tuple[float, float]:
        """Weighted mean and its standard error: the larger of the errors across rows (or clusters) and across folds."""
        mean = self.mean(values)
        parts = self.weights * (values - mean)
        return mean, max(self._error(parts, self.unit), self._error(parts, self.fold))

    def _error(self, parts: Vector, labels: NDArray[np.int64]) -> float:
        """Standard error of a weighted mean over rows that are correlated if they have the same label."""
        counted = np.bincount(labels, self.weights) > 0
        n = int(counted.sum())
        sums = np.bincount(labels, parts)
        return math.sqrt(n / (n - 1) * float(sums @ sums)) / self.total if n > 1 else math.inf


def assign_folds(codes: NDArray[np.int32], unit: NDArray[np.int64], cv: int, seed: int) -> NDArray[np.int64]:
    """Assign rows to folds: all rows of a unit to one fold, and each sensitive value to all folds about equally."""
    cv = whole_number("cv", cv, 2)
    units, first = np.unique(unit, return_index=True)
    if len(units) < 2 * cv:
        raise InvalidParameter(f"cv={cv} needs at least {2 * cv} rows or clusters, got {len(units)}; give a smaller cv")
    order = np.lexsort((np.random.default_rng(seed).random(len(units)), codes[first]))
    fold = np.empty(len(units), np.int64)
    fold[order] = np.arange(len(units)) % cv
    return fold[unit]


def cluster_numbers(clusters: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Number the clusters; return the number of each row's cluster."""
    labels = np.asarray(clusters)
    if labels.shape != (n_rows,):
        raise InvalidParameter(f"clusters must have one label per row, got shape {labels.shape} for {n_rows} rows")
    return np.unique(labels, return_inverse=True)[1]
