"""Releases of tables with several rows per unit, month after month, with one budget per unit for all of them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from sanitize._util.checks import Codes, whole_number
from sanitize._util.sampling.noise import NoiseKey, random_words
from sanitize.core.budgets import as_budget
from sanitize.errors import InvalidParameter, LedgerError
from sanitize.over_time._book import hold_lock, ledger_path, stamp
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

    from sanitize._util.sampling.noise import RandomWords
    from sanitize.core.budgets import Budget
    from sanitize.over_time._unit_report import UnitReport
    from sanitize.release.designer import Designer
    from sanitize.release.release import FittedRelease

Frame = TypeVar("Frame")
_NO_NOISE = (
    "a unit ledger counts sensitive values without noise; leave it out, and add up eps and delta of all fits of the "
    "table"
)


@dataclass(frozen=True)
class UnitLedger:
    """Ledger for tables with several rows per unit (a patient, say), with one budget for all that a unit is released.

    A unit may have many rows, in one table or in a table every month. The channel draws for each unit and value once
    and for all, by a keyed function of both, so that a value that stays adds nothing. What changes is told given what
    was released before: units that were released the same so far are a group, which is split by what they are released
    next only into blocks of enough units, present now, that are within the budget; a row is anybody's of its block.
    Where there is no such block, a row repeats what the group was printed before, and is withheld if there is nothing
    to repeat, or if fewer than ``min_units`` units have so many rows. So for any unit, at any time, the secrets of all
    units that were released the same, held against the shares of the first release, are within the budget: for these
    units, in exact counts, whatever the distribution by which values change.

    The file is for the owner of the table only (mode 0600). It holds the key of the draws, digests of units under that
    key, and what group and secret each has: as much as the table itself, so keep it where the table is kept.

    With ``confidence`` this holds, at that confidence and for all releases together, also under the distribution that
    units are drawn from independently, whatever it is: a fifth of the units, by their keyed digests, choose the channel
    (that of the sanitizer's recipe on their rows) and the blocks, and the others have to prove each block. Rows of one
    unit need not be independent. Choose the sanitizer before you look at what is told by `check`.

    Not covered: that a unit is in a table, when, and with how many rows, which the released tables show; and what is
    released without the ledger. It holds for these units, and promises nothing of the source they were drawn from.

    Parameters
    ----------
    path : path
        The file; it is made if it is not there.
    budget : Budget or float, optional
        Of all that a unit is released; a number is symmetric LIP in nats. Needed for a new file, and kept in it.
    unit : str, optional
        Column that identifies individuals. Needed for a new file, and kept in it.
    min_units : int
        Least units that are released the same, of a new file.
    confidence : float, optional
        Between 0 and 1, of a new file: the budget also holds under the distribution that the units are drawn from, see
        below. It takes a `LiftBudget`, an `LDPBudget` or a number.

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
                    raise LedgerError(
                        f"there is no unit ledger {self.path.name!r}; make it with UnitLedger(path, budget, unit=...), "
                        "the limit of all releases of a unit together and the column that identifies individuals"
                    )
                UnitBook.empty(wanted, unit, least, confidence).write(self.path)
        book = UnitBook.read(self.path)
        settings = {"budget": wanted, "unit": unit, "confidence": confidence}
        for name, value in settings.items():
            book_value = getattr(book, name)
            if value is not None and value != book_value:
                raise LedgerError(f"the unit ledger {self.path.name!r} has the {name} {book_value!r}, not {value!r}")
            object.__setattr__(self, name, book_value)

    def __len__(self) -> int:
        """Number of releases recorded."""
        return len(UnitBook.read(self.path).releases)

    def remove_if_empty(self) -> None:
        """Delete the file if nothing is recorded in it: a failed first release leaves no ledger behind."""
        with hold_lock(self.path):
            if self.path.exists() and not len(self):
                self.path.unlink()

    def report(self) -> UnitReport:
        """Report what all releases so far reveal about each unit, and what is left."""
        return UnitBook.read(self.path).report()

    def groups(self, units: ArrayLike) -> Codes:
        """Group number of each unit: units of one number were released the same. For the owner's eyes.

        Parameters
        ----------
        units : array-like of shape (n,)
            Values of the unit column.

        Returns
        -------
        ndarray of int, shape (n,)
            0 where a unit was told nothing so far, or is not known.
        """
        book = UnitBook.read(self.path)
        texts, number = row_texts({self.unit: np.asarray(units)}, [self.unit])
        unit_places = digest_numbers(book.units, unit_digests(book, texts))
        unit_groups = np.zeros(len(unit_places), np.intp)
        unit_groups[unit_places >= 0] = book.group[unit_places[unit_places >= 0]]
        return unit_groups[number]

    def check(self, rows: Any, sanitizer: Designer) -> UnitReport:
        """Report after one more release; nothing is recorded.

        Parameters
        ----------
        rows : DataFrame, pyarrow Table or array, or mapping of column to values
        sanitizer : Sanitizer
            Fitted.

        Returns
        -------
        UnitReport
        """
        book, table = UnitBook.read(self.path), rows if isinstance(rows, dict) else Table.from_native(rows)
        release, words = _ready(sanitizer, book, table)
        return release_rows(book, release, table, words)[0].report()

    def release(self, rows: Frame, sanitizer: Designer) -> Frame:
        """Release a table and record what each of its units was released.

        Parameters
        ----------
        rows : DataFrame, pyarrow Table or array
            With the unit column, the sensitive columns, which must be the same in all rows of a unit, and the public
            ones.
        sanitizer : Sanitizer
            Fitted, on these rows or on those of an earlier release.

        Returns
        -------
        Same kind as rows, with the sanitized public columns only, rows in the same order without those withheld;
        `report` says what they tell.

        Raises
        ------
        LedgerError
            If a unit has several secrets, or one that no unit of the first release had.
        ColumnError
            If a column is absent, or some rows do not say whose they are.
        """
        table, kind = Table.from_native(rows), Table.from_native(rows).kind
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
    ) -> Iterator[tuple[FittedRelease, RandomWords, NDArray[np.int32]]]:
        """Record a release while a block writes it, and remove the entry if the block fails.

        It is recorded before the block, so that a process that is killed has spent and not saved. Where ``target`` has
        changed when the block fails, the release stays recorded, for somebody may have it. Another release waits for
        the block to end.

        Parameters
        ----------
        rows : mapping of column to values
        sanitizer : Sanitizer
            Fitted.
        target : path, optional
            What the block writes.

        Yields
        ------
        FittedRelease, random words, and the released symbol of each row, -1 of one that is withheld
        """
        with hold_lock(self.path):
            before = UnitBook.read(self.path)
            release, random_words = _ready(sanitizer, before, rows)
            after, codes = release_rows(before, release, rows, random_words)
            report = after.report()
            if not report.ok:
                raise LedgerError(f"the release would be {report.excess:.3g} nats over the budget of the ledger")
            target_stamp = stamp(target)
            after.write(self.path)
            try:
                yield release, random_words, codes
            except BaseException:
                if stamp(target) == target_stamp:
                    before.write(self.path)
                raise


def _ready(sanitizer: Designer, book: UnitBook, rows: Mapping[str, Any]) -> tuple[FittedRelease, RandomWords]:
    """Fitted release of a sanitizer, and the noise to draw it, which differs for every release of one key.

    Under a confidence it is that of its recipe on rows of the units that choose, for the others must not.
    """
    refuse_noisy(sanitizer, _NO_NOISE)
    if not hasattr(sanitizer, "bare_release"):
        raise InvalidParameter(f"a unit ledger takes a fitted sanitizer, got {type(sanitizer).__name__}")
    recipe, release = sanitizer.recipe(), sanitizer.bare_release()
    if recipe.side_columns:
        raise InvalidParameter(
            "side_columns limits what one release reveals to readers who know columns of a row, and units have "
            "several releases: leave it out here"
        )
    words = random_words(recipe.random_state)
    if isinstance(words, NoiseKey):
        words = words.derive(f"release {len(book.releases) + 1} by unit")
    if book.confidence is None:
        return release, words
    table = rows if isinstance(rows, Table) else Table.from_native(pa.table(dict(rows)))
    if recipe.confidence is not None:
        recipe = recipe.with_changes(confidence=None)  # of rows, which are no independent draws
    chosen = MemoryTable(design_unit_rows(book, table))
    layout = recipe.learn_layout(recipe.roles(chosen), chosen, PLAIN)
    fitted = recipe.design(layout, chosen.count(layout, "shuffle"), FitOptions(is_priced=False))
    return replace(fitted.bare(), handle_unknown="high_risk"), words
