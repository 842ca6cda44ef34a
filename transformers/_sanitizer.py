"""Base class of all estimators, which adds the scikit-learn interface to the design of a release."""

from __future__ import annotations

import hashlib
import html
import math
import os
import warnings
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sanitize._util.sampling.noise import NoiseKey, is_secure, random_words
from sanitize._util.system import n_workers
from sanitize.core import budgets
from sanitize.core.channel import ReducedChannel
from sanitize.errors import ColumnError, InvalidParameter, ReleaseWarning
from sanitize.release.designer import Designer, refuse_noisy
from sanitize.release.first_pass import MemoryTable, TableCounter
from sanitize.release.layout import CellLayout, two_dimensional
from sanitize.release.release import holdout_report, warn_of_unseen
from sanitize.report import SEEDED_NOTE, LeakageReport, attach_report, badge
from sanitize.tables.columns import as_arrow
from sanitize.tables.files.open import open_source
from sanitize.tables.frame import Table, is_stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from sanitize.release.fit import Recipe

# As in scikit-learn, two underscores lead to a parameter of a parameter.
PREFIX = "budget__"


def budget_parameters(budget: object) -> dict[str, Any]:
    """Bounds of a budget by parameter name; empty for a plain number."""
    return {f"{PREFIX}{name}": value for name, value in budgets.budget_bounds(budget).items()}


def with_bounds(budget: Any, changed: dict[str, Any]) -> Any:
    """Return the budget with some bounds replaced, by parameter name.

    Raises
    ------
    InvalidParameter
        If the budget has no such bound.
    InvalidBudget
        If a bound is invalid.
    """
    bounds = budget_parameters(budget)
    for name in changed:
        if name not in bounds:
            has = f"has {', '.join(bounds)}" if bounds else "has no bounds by name"
            raise InvalidParameter(
                f"{name!r} is no parameter: the budget {budget!r} {has}; give one of sanitize's budgets, such as "
                "LiftBudget(at_most=1.65, at_least=0.37), for a search over its bounds"
            )
    return type(budget)(**{name.removeprefix(PREFIX): value for name, value in (bounds | changed).items()})


class ShownWithVerdict:
    """Mixin that shows the headline of ``report_`` above the HTML diagram of a fitted estimator."""

    def _sk_visual_block_(self) -> Any:
        """Return the estimator's box in a diagram, with its name and verdict."""
        # scikit-learn has moved the class of these boxes between versions.
        block = type(Pipeline([("step", "passthrough")])._sk_visual_block_())
        return block("single", self, names=self._verdict_heading(), name_details=str(self))

    def _verdict_heading(self) -> str:
        words, report = type(self).__name__, getattr(self, "report_", None)
        if report is not None:
            words += f": {report._document('internal', 0)['verdict']['headline'].partition(' (')[0]}"
        return words

    def _repr_html_inner(self) -> str:
        return self._with_verdict(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._with_verdict(bundle["text/html"])
        return bundle

    def _with_verdict(self, page: str) -> str:
        """Return the page under a badge of the report, and without the verdict in its box; unchanged before a fit."""
        report, heading = getattr(self, "report_", None), html.escape(self._verdict_heading())
        return page if report is None else f"<div>{badge(report)}{page.replace(heading, type(self).__name__)}</div>"


Frame = TypeVar("Frame")

# With fewer rows, starting threads takes longer than they save.
_THREADED_ROWS = 1 << 17


# Digests of the rows that an estimator has released, to warn of a repetition. They are kept outside the estimators, so
# that other processes, copies and pickles do not have them.
_RELEASED: WeakKeyDictionary[Sanitizer, deque[int]] = WeakKeyDictionary()
# A process that releases for weeks would otherwise remember more and more; a repetition soon after is likelier.
_MOST_REMEMBERED = 1000
# Rows that are examined to distinguish tables, and the chance that other rows look the same: a warning must not be
# wrong.
_LOOKED_AT, _BY_CHANCE = 1000, 1e-6


@dataclass
class _FitRows:
    """Record of the rows of a fit: digests of sensitive columns and a public column, and whether they were released."""

    secrets: frozenset[int]
    public: int | None
    is_released: bool = False
    has_warned: bool = False


# Rows of all estimators in this process that still exist, to warn if two of them release the same rows.
_FITTED: WeakKeyDictionary[Sanitizer, _FitRows] = WeakKeyDictionary()


def _digests(source: Mapping[str, Any], names: Iterable[str]) -> Iterator[int]:
    """Yield a digest of each column whose order identifies the rows, computed from some of its values in order."""
    for name in names:
        column = as_arrow(source[name], name)
        try:
            sample = [str(value) for value in column[:: len(source[name]) // _LOOKED_AT + 1]]
        except (ArithmeticError, LookupError, NotImplementedError, ValueError):
            continue  # dates that Python cannot represent identify no rows
        if _tells_rows(np.unique(sample, return_inverse=True)[1]):
            yield hash((len(source[name]), *sample))


def _tells_rows(codes: NDArray[Any]) -> bool:
    """Return whether the order of a column's values identifies its rows, because chance hardly repeats it."""
    times = np.unique(codes, return_counts=True)[1]
    return bool(gammaln(len(codes) + 1) - gammaln(times + 1).sum() > -math.log(_BY_CHANCE))


class Sanitizer(ShownWithVerdict, TransformerMixin, BaseEstimator, Designer):  # type: ignore[misc]
    """Base of the estimators that release public columns through a privacy channel.

    Use one of its subclasses. `fit` learns P_SX, designs the channel and measures it; a channel over its budget raises
    `BudgetExceeded`. `transform` draws a released symbol for each row, with fresh noise at every call unless seeded or
    keyed. Releasing the same rows twice leaks more than the report says, so keep one release and hand out copies. A
    second release of the same rows by an estimator raises a warning, unless its channel only merges symbols. So does,
    once, a release by a second estimator that was fitted on the same rows, as with two steps of a ColumnTransformer,
    while both estimators exist and neither has a seed: `sanitize.audit` with ``pipeline=`` measures what they reveal
    together.

    Attributes
    ----------
    channel_ : Channel
        Channel from public symbols to released ones.
    report_ : LeakageReport
        Leakage before and after, against the budget.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Present only after a fit on a frame with text column names.
    """

    recipe_type: ClassVar[type[Recipe]]
    budget: Any
    sensitive: Any
    random_state: Any

    def recipe(self) -> Recipe:
        """Return a recipe with the current parameters, which makes the same releases without scikit-learn."""
        return self.recipe_type(**self.get_params(deep=False))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the parameters; with ``deep``, also the bounds of the budget, such as ``budget__upper``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        return params | budget_parameters(self.budget) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; names such as ``budget__upper`` replace a bound of the budget, also in a grid search."""
        bounds = {name: params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        super().set_params(**params)
        if bounds:
            self.budget = with_bounds(self.budget, bounds)
        return self

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        largest_total: float | None = None,
    ) -> Self:
        """Learn the distribution of (S, X), design the channel and check it against the budget.

        Parameters
        ----------
        X : DataFrame, pyarrow Table or array of shape (n_rows, n_features); path; or stream
            Table that includes the sensitive columns unless ``sensitive_features`` is given. A Parquet or CSV file or
            folder, given by name, or a stream as for `sanitize.release_file` is counted in bounded memory; the fit is
            identical to that of all rows in memory.
        y : ignored
            Never taken as the sensitive column. A ``y`` does not match generated rows, which raises a `ReleaseWarning`.
        sensitive_features : array-like or frame of shape (n_rows,) or (n_rows, k), optional
            Sensitive columns, if X is a table that does not include them.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row in the distribution. With ``confidence``, the distribution is that of the population that
            the weights represent, see `ConfidenceSet.weighted`. Not for latent classes.
        groups : array-like of shape (n_rows,), optional
            With ``confidence``: the sampled cluster of each row, such as a household or school, whose rows may be
            dependent. Missing values form one group.
        largest_total : float, optional
            With ``confidence``: the largest total weight, or number of rows without weights, of any group in the
            population (of any row, without groups). By default it is the largest total in the sample. Larger groups of
            the population are then not covered, of which the report warns if totals differ between groups.

        Returns
        -------
        self

        Raises
        ------
        BudgetExceeded
            If the designed channel exceeds the budget.
        ColumnError
            If a column is absent, ambiguous, of a nested type, or different in most rows.
        """
        _FITTED.pop(self, None)
        if isinstance(X, (str, os.PathLike)) or is_stream(X):
            if any(argument is not None for argument in (sensitive_features, sample_weight, groups, largest_total)):
                raise InvalidParameter(
                    "files and streams must contain the sensitive columns, named by sensitive=; leave out "
                    "sensitive_features, sample_weight, groups and largest_total"
                )
            with open_source(X, self.numbers) as files:
                self.draft(TableCounter(files), "shuffle", is_priced=True)
            return self
        recipe = self.recipe()
        recipe.specification()  # parameters are checked before a row is read
        table = self._read(X, reset=True)
        if table.n_rows == 0:
            raise ColumnError("Found array with 0 sample(s): the table has no rows, so there is nothing to learn")
        weights = None
        if groups is not None and recipe.person_column is not None:
            raise InvalidParameter("person= already identifies the people; leave groups out")
        if sample_weight is not None or groups is not None:
            weights = _check_sample_weight(sample_weight, np.empty(table.n_rows), ensure_non_negative=True)
        elif largest_total is not None and recipe.person_column is None:
            raise InvalidParameter("largest_total applies to groups or weights: give groups= or sample_weight=")
        source = MemoryTable(table, sensitive_features, weights, groups, largest_total)
        fitted = recipe.fit(source)
        self._remember(fitted)
        layout = fitted.layout
        if y is not None and isinstance(self._release.layout, CellLayout):
            warnings.warn(
                "y does not belong to generated rows: a model trained on these rows and y learns next to nothing. "
                "Release y as a public column, and train the model on the released column",
                ReleaseWarning,
                stacklevel=2,
            )
        public = next(_digests(table, self._release.layout.read), None)
        if public is not None and layout.sensitive != layout.public:
            _FITTED[self] = _FitRows(frozenset(_digests(source.columns, layout.sensitive)), public)
        return self

    def transform(self, X: Frame) -> Frame:
        """Release the public columns: draw a released symbol for each row, and write the symbol as public values.

        X needs only the public columns. Releasing the same rows again with fresh noise leaks more than reported. A
        `ReleaseWarning` is raised if this estimator released the rows before in this process, or if another estimator
        that still exists released rows on which both were fitted. Releases by other processes, of files, of some of the
        rows among others, with other sensitive columns, and of so few rows that others may be equal are not noticed.

        Parameters
        ----------
        X : DataFrame, pyarrow Table or array of shape (n_rows, n_features); or stream
            Rows to release; a stream is read into memory and exhausted.

        Returns
        -------
        Table of the same kind as X (a pyarrow Table for a stream) with the sanitized public columns only, and with rows
        in the same order.
        """
        check_is_fitted(self, "channel_")
        table = self._read(X, reset=False)
        workers = n_workers(None) if table.n_rows >= _THREADED_ROWS else 1
        codes, n_unseen = self._release.encode(table, workers)
        warn_of_unseen(n_unseen, len(codes))
        self._bind(codes)
        self._warn_of_repeats(table)
        columns = self._release.draw(codes, random_words(self.random_state), workers=workers)
        columns |= self._release.own_values(table)
        if sensitive := tuple(name for name in self._kept if name in table.names):
            words = "keep_sensitive=True: the output contains the sensitive columns and is not for release"
            warnings.warn(words, ReleaseWarning, stacklevel=2)
        wanted = _get_output_config("transform", self)["dense"]
        wide = self._release.wide(table.whole_types)
        frame = table.rebuild(columns, sensitive, None if wanted == "default" else wanted, wide)
        facts = replace(self.report_.facts, n_unseen=n_unseen)
        if self.recipe().is_seeded and not facts.seeded:  # the seed may have been set after fit
            facts = replace(facts, seeded=True, warnings=(SEEDED_NOTE, *facts.warnings))
        return attach_report(frame, replace(self.report_, facts=facts))

    def measure(self, X: Any, *, sensitive_features: Any = None, confidence: float = 0.95) -> LeakageReport:
        """Measure the leakage of the fitted channel under the distribution of other rows, such as held-out ones.

        The figures are exact for the given rows and estimates for the population from which they were drawn. Intervals
        (``low`` and ``high`` of `Measure`) hold for the population, all at the same time and without asymptotics.

        Parameters
        ----------
        X : table with the public and, unless given apart, the sensitive columns
        sensitive_features : array-like or frame, optional
        confidence : float

        Returns
        -------
        LeakageReport
            Report whose verdict is about these rows, and may fail because the channel was designed for others.

        Raises
        ------
        InvalidParameter
            With ``secret_dp`` or ``record_dp``, because the figures would be computed without noise.
        """
        refuse_noisy(self, "measure counts them without noise; use another estimator, and keep its report private")
        check_is_fitted(self, "channel_")
        table = self._read(X, reset=False)
        source = MemoryTable(table, sensitive_features)
        self.recipe().sensitive_names(source)  # absent columns are refused here
        counts = source.count(self._release.layout, "shuffle")
        return holdout_report(counts.table, self._release, confidence)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the released columns."""
        check_is_fitted(self, "channel_")
        return np.array([*self._release.output_columns, *self._kept], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags

    # ------------------------------------------------------------------------------------------- columns

    def _bind(self, codes: NDArray[np.int32]) -> None:
        """Bind a key to these rows; without a key, warn if the rows were released before and now reveal more."""
        channel, source = self.channel_, self.random_state
        if isinstance(source, NoiseKey):
            rows = np.bincount(codes, minlength=channel.n_inputs)
            source.bind(channel, rows.tobytes(), hashlib.sha256(codes.tobytes()).digest())
        is_repeatable = isinstance(source, (NoiseKey, int, np.integer))  # the same key or seed draws the same noise
        if is_repeatable or not _tells_rows(codes[:: len(codes) // _LOOKED_AT + 1]):
            return
        digest = hash(codes.astype(np.min_scalar_type(channel.n_inputs)).tobytes())
        before = _RELEASED.setdefault(self, deque(maxlen=_MOST_REMEMBERED))
        if digest not in before:
            before.append(digest)
        elif ReducedChannel.from_channel(channel).stages:  # otherwise only the written value is drawn
            warnings.warn(
                f"this {type(self).__name__} has released these rows before, with other noise. Both releases "
                "together reveal more than the report says: hand out copies of one release, or record each release in "
                "a sanitize.Ledger before drawing it",
                ReleaseWarning,
                stacklevel=4,
            )

    def _warn_of_repeats(self, table: Table) -> None:
        """Warn once if another estimator has released the rows of this fit."""
        rows = _FITTED.get(self)
        if rows is None or not is_secure(self.random_state):
            return
        if rows.public != next(_digests(table, self._release.layout.read), None):
            return
        rows.is_released = True
        others = [
            entry for estimator, entry in list(_FITTED.items()) if estimator is self or not self._draws_as(estimator)
        ]
        alike = [entry for entry in others if entry.is_released and entry.secrets & rows.secrets]
        if len(alike) > 1 and not any(entry.has_warned for entry in alike):
            warnings.warn(
                f"another sanitizer has released the rows that this {type(self).__name__} was fitted on. Both "
                "releases together reveal more than either report says: measure them with sanitize.audit(df, "
                "sensitive, pipeline=...), or record each release in a sanitize.Ledger before drawing it",
                ReleaseWarning,
                stacklevel=4,
            )
            for entry in alike:
                entry.has_warned = True

    def _draws_as(self, estimator: Sanitizer) -> bool:
        """Return whether another estimator has the same settings and key, and so makes the same release of the rows."""
        key, is_alike = self.random_state, type(self) is type(estimator)
        has_key = is_alike and isinstance(key, NoiseKey) and key == estimator.random_state
        return has_key and str(self.get_params()) == str(estimator.get_params())

    @property
    def _kept(self) -> tuple[str, ...]:
        """Sensitive columns of the fit to include in the output, because the report is about them."""
        return tuple(name for name in self._release.layout.sensitive if name in self.report_.facts.kept)

    def _look_at(self, empty: Any) -> None:
        self._read(empty, reset=True)

    def _read(self, X: Any, *, reset: bool) -> Table:
        """Read the user's X as a table, with the checks that scikit-learn makes on features."""
        if is_stream(X):
            X = Table.from_native(X).native
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            table = Table.from_native(X)
            same = reset or set(table.names) == set(getattr(self, "feature_names_in_", table.names))
            # At a release, X may lack columns of the fit that are not public.
            if same or not set(self._release.layout.read) <= set(table.names):
                validate_data(self, X, skip_check_array=True, reset=reset)
            return table
        rows = validate_data(self, two_dimensional(X), dtype=None, ensure_all_finite=False, reset=reset)
        return Table.from_native(rows)
