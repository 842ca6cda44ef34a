"""What makes releases and remembers them: an estimator, or a recipe that a policy asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sanitize._release.prepared import Prepared, footer_of
from sanitize._sampling.noise import NoiseKey, random_words, warn_of_seed
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    import pyarrow as pa

    from sanitize._files.numbers import Numbers
    from sanitize._release.first_pass import FirstPass
    from sanitize._release.recipes.recipe import Fitted, Recipe
    from sanitize._release.release import Release
    from sanitize._release.row_order import RowOrder
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution
    from sanitize.report import LeakageReport


class Designer(ABC):
    """Base of what fits a recipe, remembers what came of it, and prepares the release of tables in files.

    Attributes
    ----------
    channel_ : Channel
        From public symbols to what is printed.
    report_ : LeakageReport
        Leakage before and after, against the budget.
    """

    _release: Release
    _joint: JointDistribution
    channel_: Channel
    report_: LeakageReport

    @abstractmethod
    def recipe(self) -> Recipe:
        """How releases are made, with the parameters as they are now."""

    def _remember(self, fitted: Fitted) -> None:
        self._release, self._joint = fitted.release, fitted.joint
        self.channel_, self.report_ = fitted.channel, fitted.report
        for name, value in fitted.beside.items():
            setattr(self, name, value)

    def _look_at(self, empty: pa.Table) -> None:  # noqa: B027
        """Look at the columns of a table in files; estimators remember them."""

    @property
    def numbers(self) -> Numbers:
        """Columns of numbers, which a CSV file does not know to be numbers."""
        return self.recipe().numbers

    def prepare(
        self, table: FirstPass, order: RowOrder, *, key: bytes | None = None, channel: Channel | None = None
    ) -> Prepared[LeakageReport]:
        """Fit on a table in files, and return what its second pass needs: for who writes releases to files.

        Parameters
        ----------
        table : FirstPass
            The files, and who counts them.
        order : {"shuffle", "keep"}
            Of the released rows; ``keep`` also measures what it tells.
        key : bytes, optional
            Of the noise, in place of ``random_state``.
        channel : Channel, optional
            What to release through and to measure, in place of a design.

        Returns
        -------
        Prepared

        Raises
        ------
        BudgetExceeded, RowOrderLeak
            If the designed channel exceeds the budget, or the order of the rows does.
        """
        recipe = self.recipe()
        words = random_words(recipe.random_state if key is None else key)
        self._look_at(table.empty())
        fitted, counts = recipe.fit(table, order, words, given=channel)
        if key is not None:
            fitted = fitted.with_report(fitted.report.with_key())
        elif fitted.report.facts.seeded:
            warn_of_seed()
        self._remember(fitted)
        release = replace(self.fitted_release(), handle_unknown="high_risk")
        expected = release.expected(counts)
        if key is None and isinstance(recipe.random_state, NoiseKey):
            recipe.random_state.bind(fitted.channel, expected.tobytes(), None)  # files are told apart by their counts
        return Prepared(release, expected, words, fitted.report, footer_of(fitted.report, order))

    def draft(self, table: FirstPass, order: RowOrder) -> LeakageReport:
        """Fit on a table in files and measure, and prepare nothing: for who compares many designs.

        The report is that of `prepare`, but for what confidence costs, which takes three more designs.

        Parameters
        ----------
        table : FirstPass
        order : {"shuffle", "keep"}
        """
        self._look_at(table.empty())
        self._remember(self.recipe().fit(table, order, is_priced=False)[0])
        return self.report_

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
            raise InvalidParameter(f"this {self.recipe().estimator()} is not fitted yet; call fit first")
        if self.recipe().keep_sensitive:
            raise InvalidParameter("keep_sensitive=True is not for release; drop it")
        self.report_.require()
        return release.bare()


@dataclass
class RecipeDesigner(Designer):
    """A designer of one recipe, without scikit-learn, which takes longer to load than a small table to release."""

    made_by: Recipe

    def recipe(self) -> Recipe:
        """The recipe."""
        return self.made_by
