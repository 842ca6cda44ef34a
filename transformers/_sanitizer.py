"""The base of all estimators: which columns, which law, which rows; the maths lives in `sanitize`."""

from __future__ import annotations

import hashlib
import os
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sanitize._files.numbers import Numbers
from sanitize._files.open import open_source
from sanitize._files.source import BATCH_ROWS
from sanitize._release.design import Recipe, design, held_out, priced
from sanitize._release.first_pass import FirstPass
from sanitize._release.layout import Layout
from sanitize._release.prepared import Prepared, footer_of
from sanitize._release.release import Release
from sanitize._sampling.noise import NoiseKey, is_secure, random_words, warn_of_seed
from sanitize._tables.frame import Table
from sanitize.binning import is_of_dates
from sanitize.errors import ColumnError, InvalidParameter, ReleaseWarning
from sanitize.report import SEEDED_NOTE, LeakageReport, attach_report
from sanitize.transformers._bounds import PREFIX, bounds_of, with_bounds
from sanitize.transformers._roles import bins_of, public_columns, require_named, two_dimensional, with_sensitive
from sanitize.transformers._view import ShownWithVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sanitize._release.design import Design
    from sanitize._release.first_pass import Counted
    from sanitize._release.row_order import RowOrder
    from sanitize._sampling.noise import Randomness
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable
    from sanitize.transformers._roles import ColumnSpec

Frame = TypeVar("Frame")


class Sanitizer(ShownWithVerdict, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the estimators that release public columns through a privacy channel.

    Use one of its subclasses. `fit` learns P_SX, designs the channel and measures it; one over its budget raises
    `BudgetExceeded`. `transform` draws a released symbol for each row, with fresh noise at every call unless seeded:
    releasing the same rows twice leaks more than the report says, so keep one release and hand out copies.

    Attributes
    ----------
    channel_ : Channel
        From public symbols to what is printed.
    report_ : LeakageReport
        Leakage before and after, against the budget.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when fitted on a frame with text column names.
    """

    def __init__(
        self,
        budget: Budget | float | None = None,
        *,
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        bins: Mapping[str, Sequence[float] | int] | int | None = None,
        release: Literal["resample", "label"] = "resample",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        missing: Literal["category", "error"] = "category",
        smoothing: float = 0.0,
        min_count: int = 0,
        confidence: float | None = None,
        keep_sensitive: bool = False,
        random_state: Randomness = None,
    ) -> None:
        self.budget = budget
        self.sensitive = sensitive
        self.public = public
        self.bins = bins
        self.release = release
        self.handle_unknown = handle_unknown
        self.missing = missing
        self.smoothing = smoothing
        self.min_count = min_count
        self.confidence = confidence
        self.keep_sensitive = keep_sensitive
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Parameters of the estimator; deep ones also have the bounds of the budget, as ``budget__upper``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        return params | bounds_of(self.budget) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``budget__upper`` and its like replace one bound of the budget, also in a search."""
        bounds = {name: params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        super().set_params(**params)
        if bounds:
            self.budget = with_bounds(self.budget, bounds)
        return self

    # ------------------------------------------------------------------------------- what subclasses say

    _needs_sensitive = True
    _is_part = True  # whether it may be a part of a joint release
    _takes_any_budget = False  # whether the mechanism can be designed given other columns

    @abstractmethod
    def _recipe(self) -> Recipe:
        """Budget and mechanism of the subclass, with the shared settings."""

    def _with_settings(
        self, name: str, mechanism: Callable[..., Channel], budget: Budget, *, keeps_symbols: bool = False
    ) -> Recipe:
        shared = (self.release, self.smoothing, self.min_count, self.confidence)
        return Recipe(name, mechanism, budget, keeps_symbols, *shared)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the law of (S, X), design the channel and check it against the budget.

        Parameters
        ----------
        X : DataFrame, pyarrow Table or array of shape (n_rows, n_features); path; or iterator of such tables
            The table, with the sensitive columns in it unless ``sensitive_features`` is given. A Parquet or CSV file or
            folder by its name, and batches from an iterator, are counted in bounded memory: the fit is that of all rows
            at once, bit for bit.
        y : ignored
            Never the sensitive column.
        sensitive_features : array-like or frame of shape (n_rows,) or (n_rows, k), optional
            The sensitive columns when they come apart from X, which is one table then.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row in the law.

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
        if isinstance(X, (str, os.PathLike, Iterator)):
            if sensitive_features is not None or sample_weight is not None:
                raise InvalidParameter(
                    "files and batches carry their sensitive columns, and have no sample_weight; name the columns with "
                    "sensitive="
                )
            return self._fit_batches(X) if isinstance(X, Iterator) else self._fit_file(X)
        recipe = self._recipe()
        table = self._read(X, reset=True)
        if table.n_rows == 0:
            raise ColumnError("Found array with 0 sample(s): the table has no rows, so there is no law to learn")
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, np.empty(table.n_rows), ensure_non_negative=True)
        layout, source = self._layout(table, sensitive_features, weights)
        counts = layout.empty_table()
        columns = layout.columns(source)
        counts.count(columns, weights)
        return self._fit_counts(layout, counts, recipe, clipped=columns.clipped)._priced(counts)

    def _fit_file(self, path: str | os.PathLike[str]) -> Self:
        """Fit on a file or folder, a batch of rows at a time."""
        with open_source(path, self.numbers) as source:
            counted = self._fit_counted(FirstPass(source, BATCH_ROWS), "shuffle")
        return self._priced(counted.table)

    def _fit_batches(self, batches: Iterator[Any]) -> Self:
        """Fit on tables that follow each other; the first one says which columns there are."""
        self._check_for_files()
        recipe = self._recipe()
        first = next(batches, None)
        if first is None:
            raise ColumnError(
                "the iterator has no tables, so there is no law to learn; an iterator can be used once only"
            )
        layout, _ = self._layout(self._read(first, reset=True), None, None)
        counts, clipped = layout.empty_table(), Counter[str]()
        for batch in chain([first], batches):
            columns = layout.columns(Table.of(batch))
            counts.count(columns)
            clipped.update(columns.clipped)
        return self._fit_counts(layout, counts, recipe, clipped=dict(clipped))._priced(counts)

    def _fit_counts(self, layout: Layout, counts: ContingencyTable, recipe: Recipe, clipped: Mapping[str, int]) -> Self:
        """Design from counts, wherever they were taken; the path that files share."""
        if self.handle_unknown not in ("high_risk", "error"):
            raise InvalidParameter(f"handle_unknown must be 'high_risk' or 'error', got {self.handle_unknown!r}")
        notes = (*((SEEDED_NOTE,) if self._seeded else ()), *recipe.facts.warnings)
        facts = replace(recipe.facts, seeded=self._seeded, warnings=notes)
        if self.keep_sensitive:
            notes = (*notes, "the sensitive columns are kept in the output: not for release")
            facts = replace(facts, kept=layout.sensitive, warnings=notes)
        made = design(layout, counts, recipe, facts, clipped)
        recipe, made = self._chosen(recipe, made, lambda other: design(layout, counts, other, facts, clipped))
        if not self.keep_sensitive:
            made.report.require()
        self._release = Release(layout, recipe, made, self.handle_unknown)
        self._joint = made.joint
        self.channel_ = made.channel
        self.report_ = made.report
        return self

    def _priced(self, counts: ContingencyTable) -> Self:
        """What confidence costs, in the report of what was designed."""
        recipe = self._release.recipe
        made = priced(replace(self._release.design, report=self.report_), counts, recipe)
        self._release = replace(self._release, design=made)
        self.report_ = made.report
        return self

    def _chosen(self, recipe: Recipe, made: Design, design_of: Callable[[Recipe], Design]) -> tuple[Recipe, Design]:
        """The recipe and its design; who chooses among several designs the others too, and says which is taken."""
        return recipe, made

    def prepare(self, table: FirstPass, order: RowOrder, *, key: bytes | None = None) -> Prepared[LeakageReport]:
        """Fit on a table in files, and return what its second pass needs: for who writes releases to files.

        Parameters
        ----------
        table : FirstPass
            The files, and who counts them.
        order : {"shuffle", "keep"}
            Of the released rows; ``keep`` also measures what it tells.
        key : bytes, optional
            Of the noise, in place of ``random_state``.

        Returns
        -------
        Prepared

        Raises
        ------
        BudgetExceeded, RowOrderLeak
            If the designed channel exceeds the budget, or the order of the rows does.
        """
        counted = self._fit_counted(table, order)
        self._priced(counted.table)
        if key is not None:
            self.report_ = self.report_.with_key()
        elif self.report_.facts.seeded:
            warn_of_seed()
        release = replace(self.fitted_release(), handle_unknown="high_risk")
        expected = release.expected(counted.table)
        if key is None and isinstance(self.random_state, NoiseKey):
            self.random_state.bind(self.channel_, expected.tobytes(), None)  # files are told apart by their counts
        words = random_words(self.random_state if key is None else key)
        footer = footer_of(self.report_, order)
        return Prepared(release, expected, words, self.report_, footer)

    def draft(self, table: FirstPass, order: RowOrder) -> LeakageReport:
        """Fit on a table in files and measure, and prepare nothing: for who compares many designs.

        The report is that of `prepare`, but for what confidence costs, which takes three more designs.

        Parameters
        ----------
        table : FirstPass
        order : {"shuffle", "keep"}
        """
        self._fit_counted(table, order)
        return self.report_

    def _fit_counted(self, table: FirstPass, order: RowOrder, given: Channel | None = None) -> Counted:
        """Fit on the counts of a table in files, which are returned; to a channel, where one is given."""
        self._check_for_files()
        recipe = replace(self._recipe(), given=given)
        with table.naming_absent():
            layout, _ = self._layout(self._read(table.empty(), reset=True), None, None)
            counted = table.count(layout, order)
        self._fit_counts(layout, counted.table, recipe, counted.clipped)
        if counted.order is not None:
            self.report_ = counted.order.checked(self.report_, recipe.budget, counted.table)
        return counted

    def _check_for_files(self) -> None:
        """Refuse settings that a table in files cannot have."""
        if self.keep_sensitive:
            raise InvalidParameter("keep_sensitive=True cannot be released to a file; drop it")
        given = self.bins.values() if isinstance(self.bins, Mapping) else [self.bins]
        if any(isinstance(bins, (int, np.integer)) for bins in given):
            raise InvalidParameter(
                "quantile bins need the whole column in memory: declare edges to fit batches, or to fit or release "
                "a file"
            )

    def transform(self, X: Frame) -> Frame:
        """Release the public columns: draw a released symbol for each row and print it.

        Only the public columns are needed. Releasing the same rows again with fresh noise leaks more than reported.

        Parameters
        ----------
        X : DataFrame, pyarrow Table or array of shape (n_rows, n_features)

        Returns
        -------
        Same kind as X, with the sanitized public columns only, rows in the same order.
        """
        check_is_fitted(self, "channel_")
        table = self._read(X, reset=False)
        if isinstance(self.random_state, NoiseKey):
            codes, _ = self._release.encode(table)
            rows = np.bincount(codes, minlength=self.channel_.n_inputs)
            self.random_state.bind(self.channel_, rows.tobytes(), hashlib.sha256(codes.tobytes()).digest())
        columns, n_unseen = self._release.apply(table, random_words(self.random_state))
        if kept := tuple(name for name in self._kept if name in table.names):
            warnings.warn(
                "keep_sensitive=True: the output holds the sensitive columns and is not for release",
                ReleaseWarning,
                stacklevel=2,
            )
        asked = _get_output_config("transform", self)["dense"]
        wide = self._release.wide(table.whole_types)
        frame = table.rebuild(columns, kept, None if asked == "default" else asked, wide)
        return attach_report(frame, self._report_of_rows(n_unseen))

    def measure(self, X: Any, *, sensitive_features: Any = None, confidence: float = 0.95) -> LeakageReport:
        """Leakage of the fitted channel under the law of other rows, for example held-out ones.

        The figures are exact for the rows given and an estimate for the source they came from. Intervals (``low``
        and ``high`` of `Measure`) hold for the source, all at the same time and without asymptotics.

        Parameters
        ----------
        X : table with the public and, unless given apart, the sensitive columns
        sensitive_features : array-like or frame, optional
        confidence : float

        Returns
        -------
        LeakageReport
            Its verdict is about these rows and may fail: the channel was designed for others.
        """
        check_is_fitted(self, "channel_")
        table = self._read(X, reset=False)
        layout = self._release.layout
        counts = layout.empty_table()
        counts.count(layout.columns(with_sensitive(table, self.sensitive, sensitive_features)[1]))
        return held_out(counts, self._release.design, confidence)

    def fitted_release(self) -> Release:
        """What rows are released through, without the law it was designed from.

        Raises
        ------
        InvalidParameter
            If the sanitizer is not fitted, or keeps the sensitive columns.
        BudgetExceeded
            If its report is over the budget.
        """
        release: Release | None = getattr(self, "_release", None)
        if release is None:
            raise InvalidParameter(f"this {type(self).__name__} is not fitted yet; call fit first")
        if self.keep_sensitive:
            raise InvalidParameter("keep_sensitive=True is not for release; drop it")
        self.report_.require()
        return release.bare()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the released columns."""
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

    @property
    def numbers(self) -> Numbers:
        """Columns with bins of numbers, which a CSV file does not know to be numbers."""
        if not isinstance(self.bins, Mapping):
            return Numbers()
        return Numbers(tuple(name for name, bins in self.bins.items() if not is_of_dates(bins)))

    @property
    def _seeded(self) -> bool:
        if isinstance(self.random_state, bytes):
            raise InvalidParameter(
                "random_state must not be bare bytes, because parameters of estimators are printed; wrap the key: "
                "random_state=sanitize.NoiseKey(key)"
            )
        return not is_secure(self.random_state)

    def _report_of_rows(self, n_unseen: int) -> LeakageReport:
        facts = replace(self.report_.facts, n_unseen=n_unseen)
        if self._seeded and not facts.seeded:  # a seed that was set after fit
            facts = replace(facts, seeded=True, warnings=(SEEDED_NOTE, *facts.warnings))
        return replace(self.report_, facts=facts)

    @property
    def _kept(self) -> tuple[str, ...]:
        """Sensitive columns in the output: those of fit, because its report speaks of them."""
        return tuple(name for name in self._release.layout.sensitive if name in self.report_.facts.kept)

    def _read(self, X: Any, *, reset: bool) -> Table:
        """Table of the user's X, checked the way scikit-learn checks features."""
        # Asked of the type: on a lazy frame the attribute itself would resolve its schema.
        if hasattr(type(X), "columns") or hasattr(type(X), "column_names"):
            table = Table.of(X)
            if reset:
                validate_data(self, X, skip_check_array=True, reset=True)
            elif not self._only_public(table):
                validate_data(self, X, skip_check_array=True, reset=False)
            return table
        return Table.of(validate_data(self, two_dimensional(X), dtype=None, ensure_all_finite=False, reset=reset))

    def _only_public(self, table: Table) -> bool:
        """Whether a frame has the public columns but not the same columns as at fit: all transform needs."""
        same = set(table.names) == set(getattr(self, "feature_names_in_", table.names))
        return not same and set(self._release.layout.read) <= set(table.names)

    def _layout(
        self, table: Table, sensitive_features: Any, weights: NDArray[np.float64] | None
    ) -> tuple[Layout, Mapping[str, Any]]:
        """Roles of the columns, and the table with the sensitive ones in it."""
        require_named(table, self.sensitive, self.public, self.bins)
        sensitive, source = with_sensitive(table, self.sensitive, sensitive_features)
        public = public_columns(table, self.public, sensitive)
        if not sensitive:
            if self._needs_sensitive:
                raise ColumnError(
                    f"{type(self).__name__} needs to know what is sensitive: name columns with sensitive=, or "
                    "pass them to fit as sensitive_features (y is never taken as sensitive)"
                )
            return Layout(public, public, bins_of(self.bins, source, public, weights), self.missing), source
        overlap = sorted(set(sensitive) & set(public))
        if overlap:
            raise ColumnError(
                f"column {overlap[0]!r} is listed both as sensitive and as public; choose one", overlap[0]
            )
        bins = bins_of(self.bins, source, (*sensitive, *public), weights)
        return Layout(sensitive, public, bins, self.missing), source
