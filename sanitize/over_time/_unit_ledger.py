"""Ledger of releases of tables with several rows per unit, month after month, with one budget for all of them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from sanitize._util.checks import Codes, whole_number
from sanitize._util.sampling.noise import random_words
from sanitize.core.budgets import as_budget
from sanitize.errors import InvalidParameter, LedgerError
from sanitize.over_time._book import hold_lock, ledger_path, undo_on_failure
from sanitize.over_time._unit_book import UnitBook
from sanitize.over_time._unit_rows import design_unit_rows, digest_numbers, release_rows, row_texts, unit_digests
from sanitize.release.designer import refuse_noisy
from sanitize.release.first_pass import MemoryTable
from sanitize.release.fit import PLAIN, FitOptions
from sanitize.tables.frame import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.budgets import Budget
    from sanitize.over_time._unit_report import UnitReport
    from sanitize.release.designer import Designer
    from sanitize.release.release import FittedRelease

Frame = TypeVar("Frame")
# A unit ledger measures what exact counts reveal, so it cannot account for a fit with noise.
_NO_NOISE = "a unit ledger counts sensitive values without noise; leave it out, and add up eps and delta of all fits"


@dataclass(frozen=True)
class UnitLedger:
    """Ledger for tables with several rows per unit, such as a patient, with one budget for all releases about a unit.

    A unit may have many rows, in one table or in a table every month. The channel draws once for each unit and value,
    by a keyed function of both, so that an unchanged value reveals nothing new. Changes are released depending on the
    earlier releases: units with the same releases so far form a group, which the next release may only split into
    blocks of enough present units that are within the budget. A released row is that of a random unit of the block. If
    there is no such block, a row repeats an earlier release of the group; it is withheld if there is nothing to repeat,
    or if fewer than ``min_units`` units have this many rows. So at any time, the sensitive values of all units with the
    same releases, compared with the shares in the first release, are within the budget: for these units, in exact
    counts, for any distribution by which values change.

    The file is for the owner of the table only (mode 0600). It contains the key of the draws, digests of units under
    this key, and the group and sensitive value of each unit. This is as sensitive as the table itself, so keep both
    together.

    With ``confidence``, the budget also holds, at this confidence and for all releases together, in any population from
    which the units are drawn independently. A fifth of the units, selected by keyed digests, choose the channel (by the
    sanitizer's recipe on their rows) and the blocks, and the other units have to prove each block. Rows of a unit need
    not be independent. Choose the sanitizer before you look at the result of `check`.

    The ledger does not cover whether, when and with how many rows a unit is in a table, which the released tables show,
    nor releases without the ledger. Without ``confidence``, it covers these units and not their population.

    Parameters
    ----------
    path : path
        File of the ledger, which is created if it does not exist.
    budget : Budget or float, optional
        Budget of all releases about a unit; a number is symmetric LIP in nats. Required for a new file, which stores
        it.
    unit : str, optional
        Column that identifies individuals. Required for a new file, which stores it.
    min_units : int
        Least number of units with the same releases, for a new file.
    confidence : float, optional
        Confidence, between 0 and 1, at which the budget also holds for the population of the units, for a new file. It
        requires a `LiftBudget`, an `LDPBudget` or a number as budget.

    Attributes
    ----------
    path : Path
    budget : Budget
    unit : str
    confidence : float or None

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.over_time import UnitLedger
    >>> df = sz.datasets.load_titanic().reset_index(names="person")
    >>> budget = sz.LiftBudget(lower=1.0, upper=0.7)
    >>> units = UnitLedger(pathlib.Path(tempfile.mkdtemp()) / "people.units", budget, unit="person")
    >>> sanitizer = sz.SubsetMerging(budget, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> released = [units.release(df, sanitizer) for month in range(2)]
    >>> units.report().ok, list(released[1].columns)
    (True, ['class', 'sex'])
    """

    path: Path
    budget: Budget
    unit: str
    confidence: float | None

    def __init__(
        self,
        path: str | os.PathLike[str],
        budget: Budget | float | None = None,
        *,
        unit: str | None = None,
        min_units: int = 20,
        confidence: float | None = None,
    ) -> None:
        object.__setattr__(self, "path", ledger_path(path))
        wanted = None if budget is None else as_budget(budget)
        least = whole_number("min_units", min_units, 1)
        with hold_lock(self.path):
            if not self.path.exists():
                if wanted is None or unit is None:
                    words = "make it with UnitLedger(path, budget, unit=...), with the budget of all releases of a unit"
                    raise LedgerError(f"there is no unit ledger {self.path.name!r}; {words}")
                UnitBook.empty(wanted, unit, least, confidence).write(self.path)
        book = UnitBook.read(self.path)
        for name, value in {"budget": wanted, "unit": unit, "confidence": confidence}.items():
            book_value = getattr(book, name)
            if value is not None and value != book_value:
                raise LedgerError(
                    f"the unit ledger {self.path.name!r} has the {name} {book_value!r}, not {value!r}; "
                    f"leave out {name}="
                )
            object.__setattr__(self, name, book_value)

    def __len__(self) -> int:
        """Number of releases recorded."""
        return len(UnitBook.read(self.path).releases)

    def remove_if_empty(self) -> None:
        """Delete the file if it records nothing, so that a failed first release leaves no ledger behind."""
        with hold_lock(self.path):
            if self.path.exists() and not len(self):
                self.path.unlink()

    def report(self) -> UnitReport:
        """Report on the leakage of all releases so far about each unit, and on what is left."""
        return UnitBook.read(self.path).report()

    def groups(self, units: ArrayLike) -> Codes:
        """Group number of each unit, for the owner: units with the same number have the same releases.

        Parameters
        ----------
        units : array-like of shape (n,)
            Values of the unit column.

        Returns
        -------
        ndarray of int, shape (n,)
            Group numbers; 0 for a unit without a release so far, or an unknown unit.
        """
        book = UnitBook.read(self.path)
        texts, number = row_texts({self.unit: np.asarray(units)}, [self.unit])
        unit_places = digest_numbers(book.units, unit_digests(book, texts))
        unit_groups = np.zeros(len(unit_places), np.intp)
        unit_groups[unit_places >= 0] = book.group[unit_places[unit_places >= 0]]
        return unit_groups[number]

    def check(self, rows: Any, sanitizer: Designer) -> UnitReport:
        """Return the report on all releases and one more release, without recording the new release.

        Parameters
        ----------
        rows : DataFrame, pyarrow Table or array, or mapping of column to values
        sanitizer : Sanitizer
            Fitted estimator.

        Returns
        -------
        UnitReport
        """
        book, table = UnitBook.read(self.path), rows if isinstance(rows, dict) else Table.from_native(rows)
        release, words = _ready(sanitizer, book, table)
        return release_rows(book, release, table, words)[0].report()

    def release(self, rows: Frame, sanitizer: Designer) -> Frame:
        """Release a table, and record in the ledger what was released for each unit.

        Parameters
        ----------
        rows : DataFrame, pyarrow Table or array
            Table with the unit column, the sensitive columns, which must be constant within a unit, and the public
            columns.
        sanitizer : Sanitizer
            Estimator that is fitted on these rows or on those of an earlier release.

        Returns
        -------
        Table of the same kind as ``rows`` with the sanitized public columns only, and with rows in the same order,
        without withheld ones; `report` measures the leakage.

        Raises
        ------
        LedgerError
            If a unit has several sensitive values, or one that no unit of the first release had.
        ColumnError
            If a column is absent, or the unit is missing in some rows.
        """
        table = Table.from_native(rows)
        kind = table.kind
        with self.spending(table, sanitizer) as (release, random_words, codes):
            columns = release.decode(codes[codes >= 0], random_words)
            if (codes < 0).any():
                shown = np.flatnonzero(codes >= 0)
                frame: Any = rows
                table = Table.from_native(frame.iloc[shown]) if kind == "pandas" else table.take(shown)
            output: Frame = table.rebuild(columns, (), kind, release.wide(table.whole_types))
        return output

    @contextlib.contextmanager
    def spending(
        self, rows: Mapping[str, Any], sanitizer: Designer, *, target: Path | None = None
    ) -> Iterator[tuple[FittedRelease, NoiseKey, NDArray[np.int32]]]:
        """Record a release while a block writes it; remove the entry if the block fails before it changes ``target``.

        The release is recorded before the block runs, so that a killed process has spent its budget. If ``target`` has
        changed when the block fails, the release stays recorded, because somebody may have it. Another release waits
        for the block to end.

        Parameters
        ----------
        rows : mapping of column to values
        sanitizer : Sanitizer
            Fitted estimator.
        target : path, optional
            Path that the block writes.

        Yields
        ------
        FittedRelease, random words, and the released symbol of each row, -1 for a withheld row
        """
        with hold_lock(self.path):
            before = UnitBook.read(self.path)
            release, random_words = _ready(sanitizer, before, rows)
            after, codes = release_rows(before, release, rows, random_words)
            report = after.report()
            if not report.ok:
                raise LedgerError(
                    f"the release would exceed the ledger's budget by {report.excess:.3g} nats; nothing was released"
                )
            after.write(self.path)
            with undo_on_failure(target, partial(before.write, self.path)):
                yield release, random_words, codes


def _ready(sanitizer: Designer, book: UnitBook, rows: Mapping[str, Any]) -> tuple[FittedRelease, NoiseKey]:
    """Return the fitted release of a sanitizer, and its noise, which differs between releases with the same key.

    Under a confidence, the recipe is fitted on rows of the design units only, because the others must not choose.
    """
    refuse_noisy(sanitizer, _NO_NOISE)
    if not hasattr(sanitizer, "bare_release"):
        raise InvalidParameter(
            f"sanitizer must be a fitted sanitizer of sanitize.transformers, got {type(sanitizer).__name__}"
        )
    recipe, release = sanitizer.recipe(), sanitizer.bare_release()
    if recipe.side_columns:
        raise InvalidParameter(
            "side_columns= covers a single release, and a unit ledger covers several; leave side_columns= out"
        )
    words = random_words(recipe.random_state).derive(f"release {len(book.releases) + 1} by unit")
    if book.confidence is None:
        return release, words
    table = rows if isinstance(rows, Table) else Table.from_native(pa.table(dict(rows)))
    recipe = recipe.with_changes(confidence=None)  # it treats rows as independent draws
    chosen = MemoryTable(design_unit_rows(book, table))
    layout = recipe.learn_layout(recipe.roles(chosen), chosen, PLAIN)
    fitted = recipe.design(layout, chosen.count(layout, "shuffle"), FitOptions(is_priced=False))
    return replace(fitted.bare(), handle_unknown="high_risk"), words
