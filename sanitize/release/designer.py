"""Designers, which make releases and remember the results, and the input of the pass that writes files."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sanitize._util.sampling.noise import NoiseKey, hidden, random_words, warn_of_seed
from sanitize.errors import InvalidParameter
from sanitize.release.fit import FitOptions
from sanitize.report import release_note

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution
    from sanitize.release.classes import ClassPartition
    from sanitize.release.first_pass import RowOrder, TableCounter
    from sanitize.release.fit import Recipe
    from sanitize.release.release import FittedRelease
    from sanitize.report import LeakageReport
    from sanitize.tables.files.source import Numbers


Report = TypeVar("Report", covariant=True)


@dataclass(frozen=True)
class Prepared(Generic[Report]):
    """Input of the second pass over a table, with the report for the caller.

    Attributes
    ----------
    release : FittedRelease
        Release without its distribution. It accepts unseen symbols, which in the second pass mean that the source has
        changed.
    expected : ndarray of int, shape (n_x,)
        Number of rows of each input symbol of the channel, which the second pass must find again.
    words : NoiseKey
        Noise of this release.
    report : LeakageReport or AppendedReport
    footer : bytes
        Description of the file that is stored in it, as JSON.
    """

    release: FittedRelease
    expected: NDArray[np.int64]
    words: NoiseKey = field(repr=False)
    report: Report
    footer: bytes


def release_footer(report: LeakageReport, order: RowOrder) -> bytes:
    """Footer of a released file, as JSON: the public part of its report, without figures."""
    return json.dumps({**release_note(report), "rows": order}).encode()


class Releaser(Protocol[Report]):
    """Object that releases tables in files: a designer, or a saved release."""

    @property
    def numbers(self) -> Numbers:
        """Columns to read as numbers, because a CSV file does not state types."""

    def prepare(self, table: TableCounter, order: RowOrder, *, key: bytes | None = None) -> Prepared[Report]:
        """Read a table once, and return the input of the second pass, which writes the release."""


class Releases(Protocol[Report]):
    """Object from which `release_file` gets a releaser: the releaser itself, or a policy."""

    def _releaser(self) -> Releaser[Report]: ...


class Designer(ABC):
    """Base of classes that fit a recipe, keep the results, and prepare the release of tables in files.

    Attributes
    ----------
    channel_ : Channel
        Channel from public symbols to released ones.
    report_ : LeakageReport
        Leakage before and after, against the budget.
    """

    _release: FittedRelease
    _joint: JointDistribution
    channel_: Channel
    report_: LeakageReport

    @abstractmethod
    def recipe(self) -> Recipe:
        """Return the recipe with the current parameters."""

    def _releaser(self) -> Releaser[LeakageReport]:
        return self

    def _look_at(self, empty: pa.Table) -> None:  # noqa: B027
        """Inspect the columns of a table in files; estimators remember their names."""

    @property
    def numbers(self) -> Numbers:
        """Columns to read as numbers, because a CSV file does not state types."""
        return self.recipe().numbers

    def prepare(
        self,
        table: TableCounter,
        order: RowOrder,
        *,
        key: bytes | None = None,
        channel: Channel | None = None,
        classes: ClassPartition | None = None,
    ) -> Prepared[LeakageReport]:
        """Fit on a table in files, and return the input of its second pass; used by code that writes files.

        Parameters
        ----------
        table : TableCounter
            The files, with the object that counts their rows.
        order : {"shuffle", "keep"}
            Order of the released rows; ``keep`` also measures what this order reveals.
        key : bytes, optional
            Key of the noise, in place of ``random_state``.
        channel : Channel, optional
            Channel to measure and to release through, in place of a design.
        classes : ClassPartition, optional
            Latent classes, in place of a fit.

        Returns
        -------
        Prepared

        Raises
        ------
        BudgetExceeded, RowOrderLeak
            If the designed channel exceeds the budget, or the order of the rows does.
        """
        key, recipe = hidden(key), self.recipe()
        words = random_words(recipe.random_state if key is None else key)
        self._look_at(table.empty())
        fitted = recipe.fit(table, FitOptions(order, words, channel, classes))
        assert fitted.counts is not None
        counts = fitted.counts.exact
        if key is not None:
            fitted = replace(fitted, report=fitted.report.with_key())
        elif fitted.report.facts.seeded:
            warn_of_seed()
        self._remember(fitted)
        release = replace(self.bare_release(), handle_unknown="high_risk")
        release.check_order(order)
        expected = release.symbol_rows(counts)
        if key is None and isinstance(recipe.random_state, NoiseKey):
            recipe.random_state.bind(fitted.channel, expected.tobytes(), None)  # other counts, other noise
        return Prepared(release, expected, words, fitted.report, release_footer(fitted.report, order))

    def draft(
        self, table: TableCounter, order: RowOrder, *, is_priced: bool = False, classes: ClassPartition | None = None
    ) -> LeakageReport:
        """Fit on a table in files and return the report, without preparing a release; used to compare many designs.

        Parameters
        ----------
        table : TableCounter
        order : {"shuffle", "keep"}
        is_priced : bool
            See `FitOptions`.
        classes : ClassPartition, optional
            Latent classes, in place of a fit.
        """
        self._look_at(table.empty())
        self._remember(self.recipe().fit(table, FitOptions(order, classes=classes, is_priced=is_priced)))
        return self.report_

    def _remember(self, fitted: FittedRelease) -> None:
        """Store the fitted attributes, without the counts."""
        self.channel_, self.report_, self._joint = fitted.channel, fitted.report, fitted.joint
        model = fitted.classes and fitted.classes.model
        shown = {"channels_": fitted.parts, "compared_": fitted.compared, "classes_": model}
        vars(self).update({name: value for name, value in shown.items() if value is not None})
        self._release = replace(fitted, counts=None, parts=None, compared=None)

    def bare_release(self) -> FittedRelease:
        """Return the fitted release, without the distribution from which it was designed.

        Raises
        ------
        InvalidParameter
            If the sanitizer is not fitted, or keeps the sensitive columns.
        BudgetExceeded
            If its report is over the budget.
        """
        release: FittedRelease | None = getattr(self, "_release", None)
        if release is None:
            raise InvalidParameter(f"this {self.recipe().estimator()} is not fitted yet; call fit first")
        if self.recipe().keep_sensitive:
            raise InvalidParameter("keep_sensitive=True would release the sensitive columns; leave it out")
        self.report_.require()
        return release.bare()


@dataclass
class RecipeDesigner(Designer):
    """Designer of one recipe, without scikit-learn, because loading it takes longer than a small release."""

    made_by: Recipe
    policy: Any = None  # estimator whose settings the recipe copies, if there is one
    compared_: Mapping[str, LeakageReport] = field(default_factory=dict, init=False)

    def recipe(self) -> Recipe:
        """Return the recipe of this designer."""
        return self.made_by


def check_designer(sanitizer: object, what: str) -> None:
    """Refuse an object that designs no channel, such as a saved release, where a design is needed."""
    if not isinstance(sanitizer, Designer):
        raise InvalidParameter(
            f"{what}, got a {type(sanitizer).__name__}; give the sanitizer that designed the release, with the rows "
            "of its fit as source"
        )


def refuse_noisy(sanitizer: object, instead: str) -> None:
    """Refuse an estimator with ``secret_dp`` or ``record_dp`` where its table would be read again without noise."""
    fitted = getattr(sanitizer, "report_", None)  # parameters of the fit, which may have been changed since
    recipe = sanitizer.recipe() if hasattr(sanitizer, "recipe") else sanitizer
    promise = getattr(recipe, "promise", None)
    name = fitted.facts.promise if promise is None and fitted else promise and promise.keyword
    if name is not None:
        raise InvalidParameter(f"{name} does not allow reading the sensitive values again: {instead}")
