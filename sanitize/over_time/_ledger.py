"""Releases of the same rows, with one budget for all of them together."""

from __future__ import annotations

import contextlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._util.sampling.noise import hidden, noise_key
from sanitize.core.budgets import as_budget
from sanitize.errors import InvalidParameter, LedgerError
from sanitize.over_time._book import Book, Entry, book_digest, hold_lock, ledger_path, stamp
from sanitize.over_time._joint_distribution import record_entry
from sanitize.over_time._unit_ledger import UnitLedger
from sanitize.release.designer import refuse_noisy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize._util.sampling.noise import Randomness
    from sanitize.core.budgets import Budget
    from sanitize.release.designer import Designer
    from sanitize.report import LeakageReport

_NO_LEDGER = (
    "a ledger of releases counts them without noise; leave it out, and give the promise a sanitize.over_time.DPLedger"
)


@dataclass(frozen=True)
class Ledger:
    """Ledger of the releases of one table, with a budget for all of them together.

    Every release of the same rows draws fresh noise, so each one tells more, and budgets of releases do not add up.
    The ledger keeps the channel of every release. A new one is measured together with all of them: the joint
    frequencies of S and all columns, contracted with every channel, give the distribution of everything that was and
    would be handed out. Only where that distribution is too large to write down, channels with a finite local DP of X
    are counted by it instead: such levels add up, whatever the distribution [WXH Thm 7.1]. Rows count as linked across
    releases; where every release is shuffled they are not, and the figure is more than what is told.

    The file is for the owner of the table only (mode 0600). It holds the channels, from which the frequencies of the
    public columns follow, no rows, and of the counts a keyed digest. Two processes cannot both spend what is left: the
    file is compared and replaced under a lock.

    Parameters
    ----------
    path : path
        The file; it is made if it is not there.
    budget : Budget or float, optional
        Of all releases together; a number is symmetric LIP in nats. Needed for a new file. For one that is there it may
        be left out, and must be the same otherwise.

    Attributes
    ----------
    path : Path
    budget : Budget

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget(lower=1.0, upper=0.7)
    >>> ledger = sz.Ledger(pathlib.Path(tempfile.mkdtemp()) / "titanic.ledger", budget)
    >>> first = SubsetMerging(budget, sensitive="survived", public="class").fit(df)
    >>> ledger.record(df, first).ok
    True
    >>> second = SubsetMerging(budget, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> try:
    ...     ledger.record(df, second)
    ... except sz.errors.BudgetExceeded as error:
    ...     print(f"{error.excess:.2f} nats too much, {error.left:.3f} left")
    2.20 nats too much, 0.041 left
    >>> len(ledger)
    1
    """

    path: Path
    budget: Budget

    def __init__(self, path: str | os.PathLike[str], budget: Budget | float | None = None) -> None:
        object.__setattr__(self, "path", ledger_path(path))
        wanted = None if budget is None else as_budget(budget)
        with hold_lock(self.path):
            if not self.path.exists():
                if wanted is None:
                    raise LedgerError(
                        f"there is no ledger {self.path.name!r}; make it with sanitize.Ledger(path, budget), the "
                        "budget of all releases together"
                    )
                Book.empty(wanted).write(self.path)
        book_budget = Book.read(self.path).budget
        if wanted is not None and wanted != book_budget:
            raise LedgerError(f"the ledger {self.path.name!r} has the budget {book_budget!r}, not {wanted!r}")
        object.__setattr__(self, "budget", book_budget)

    def __len__(self) -> int:
        """Number of releases recorded."""
        return len(Book.read(self.path).entries)

    def check(self, rows: Any, sanitizer: Designer) -> LeakageReport:
        """Measure the joint leakage of one more release and all recorded ones; record nothing.

        Parameters
        ----------
        rows : DataFrame, pyarrow Table, array, or path of a Parquet file or folder
            The table: the same rows as in every recorded release, with all columns those were made of.
        sanitizer : Sanitizer
            Fitted.

        Returns
        -------
        LeakageReport
            Of everything together, against the budget of the ledger.

        Raises
        ------
        LedgerExceeded
            If it would be more than the budget; a `BudgetExceeded` that says what is left.
        LedgerError
            If these are not the rows of the ledger, or the sensitive columns are others.
        InvalidParameter
            If the noise may be that of a recorded release: its key or seed, or any Generator.
        ColumnError
            If the joint distribution is too large to measure and no theorem bounds it.
        """
        refuse_noisy(sanitizer, _NO_LEDGER)
        book = Book.read(self.path)
        return record_entry(book, _entry(book, sanitizer, None), rows)[1]

    def has_receipt(self, digest: str) -> bool:
        """Return whether a recorded release wrote the receipt of this digest."""
        return any(entry.receipt == digest for entry in Book.read(self.path).entries)

    def record(self, rows: Any, sanitizer: Designer, *, key: Randomness = None) -> LeakageReport:
        """Record a release if all together stay within the budget. Call it before you hand out the release.

        Parameters
        ----------
        rows : table
            The same rows as in every recorded release, with all columns those were made of.
        sanitizer : Sanitizer
            Fitted.
        key : NoiseKey or bytes, optional
            Key of the noise, where it is not a fresh one of the operating system; ``random_state`` of the sanitizer by
            default. A key or seed that a recorded release used is refused, because equal noise is not independent, and
            so is a NumPy Generator: a copy of it draws the same.

        Returns
        -------
        LeakageReport
            Of everything together.

        Raises
        ------
        LedgerExceeded
            If it would be more than the budget; nothing is recorded then, as after every error.
        LedgerError
            If these are not the rows of the ledger, or the sensitive columns are others.
        InvalidParameter
            If the noise may be that of a recorded release.
        ColumnError
            If the joint distribution is too large to measure and no theorem bounds it.
        """
        key = hidden(key)
        return self._spend(rows, sanitizer, key)[1]

    @contextlib.contextmanager
    def spending(
        self,
        rows: Any,
        sanitizer: Designer,
        *,
        key: Randomness = None,
        target: Path | None = None,
        receipt: str | None = None,
    ) -> Iterator[LeakageReport]:
        """Record a release while a block writes it, and remove the entry if the block fails.

        It is recorded before the block, so that a process that is killed has spent and not saved. Where ``target`` has
        changed when the block fails, the entry stays, for somebody may have it.

        Parameters
        ----------
        rows : table
            The same rows as in every recorded release, with all columns those were made of.
        sanitizer : Sanitizer
            Fitted.
        key : NoiseKey or bytes, optional
            Key of the noise, as `record` takes it.
        target : path, optional
            What the block writes.
        receipt : str, optional
            Digest of the receipt that the block writes, so that `verify_file` finds it here.
        """
        key, before = hidden(key), stamp(target)
        number, report = self._spend(rows, sanitizer, key, receipt)
        try:
            yield report
        except BaseException:
            if stamp(target) == before:
                with hold_lock(self.path):
                    Book.read(self.path).drop_entry(number).write(self.path)
            raise

    def _spend(
        self, rows: Any, sanitizer: Designer, key: Randomness, receipt: str | None = None
    ) -> tuple[str, LeakageReport]:
        refuse_noisy(sanitizer, _NO_LEDGER)
        while True:
            book = Book.read(self.path)
            entry = _entry(book, sanitizer, key, receipt)
            book, report = record_entry(book, entry, rows)
            with hold_lock(self.path):
                # Measuring may take long, so nobody waits for it; whoever was slower measures again.
                current = Book.read(self.path)
                if [old.number for old in current.entries] == [old.number for old in book.entries[:-1]]:
                    book.write(self.path)
                    return entry.number, report


def as_ledger(ledger: Ledger | str | os.PathLike[str]) -> Ledger:
    """Return the ledger that a release was given, or read the one in the given file."""
    if isinstance(ledger, UnitLedger):
        raise InvalidParameter(
            "this release takes no UnitLedger: use sanitize.engines.parquet.release_units, on one machine"
        )
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)


def _entry(book: Book, sanitizer: Designer, source: Randomness, receipt: str | None = None) -> Entry:
    """Entry for a release that is about to happen; refused if its noise may equal a recorded one's."""
    key = noise_key(sanitizer.recipe().random_state if source is None else source)
    digest = None if key is None else book_digest(book, b"key", key)
    if digest and any(entry.key is not None and hmac.compare_digest(entry.key, digest) for entry in book.entries):
        raise InvalidParameter(
            "a recorded release of these rows had the same key or seed; equal noise is not independent, so draw a "
            "fresh key (or leave it at None)"
        )
    return Entry.from_release(sanitizer.bare_release(), digest, receipt)
