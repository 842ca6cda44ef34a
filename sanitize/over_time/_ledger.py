"""Ledger of releases of the same rows, with one budget for all of them together."""

from __future__ import annotations

import contextlib
import hmac
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._util.sampling.noise import hidden, noise_key
from sanitize.core.budgets import as_budget
from sanitize.errors import InvalidParameter, LedgerError
from sanitize.over_time._book import Book, Entry, book_digest, hold_lock, ledger_path, undo_on_failure
from sanitize.over_time._joint_distribution import record_entry
from sanitize.over_time._unit_ledger import UnitLedger
from sanitize.release.designer import refuse_noisy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize._util.sampling.noise import Randomness
    from sanitize.core.budgets import Budget
    from sanitize.release.designer import Designer
    from sanitize.report import LeakageReport

# A check and a release refuse noise in the same words.
_NO_LEDGER = "a ledger of releases counts them without noise; leave it out, and pass a DPLedger to SecretDP or RecordDP"


@dataclass(frozen=True)
class Ledger:
    """Ledger of the releases of one table, with a budget for all of them together.

    Every release of the same rows draws fresh noise, so each release reveals more, and budgets of releases do not add
    up. The ledger stores the channel of every release. A new release is measured together with all recorded ones: the
    joint frequencies of S and all columns, contracted with every channel, give the distribution of everything released.
    Only if this distribution is too large, channels with a finite local DP of X are counted by this level instead: such
    levels add up for any distribution [WXH Thm 7.1]. Rows count as linked across releases; if every release is shuffled
    they are not, and the figure is an upper bound.

    The file is for the owner of the table only (mode 0600). It contains the channels, from which the frequencies of the
    public columns follow, and a keyed digest of the counts, but no rows. Two processes cannot both spend what is left,
    because the file is compared and replaced under a lock.

    Parameters
    ----------
    path : path
        File of the ledger, which is created if it does not exist.
    budget : Budget or float, optional
        Budget of all releases together; a number is symmetric LIP in nats. Required for a new file; for an existing
        file it may be omitted, and must otherwise be the same.

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
                    words = "make it with sanitize.Ledger(path, budget), with the budget of all releases together"
                    raise LedgerError(f"there is no ledger {self.path.name!r}; {words}")
                Book.empty(wanted).write(self.path)
        book_budget = Book.read(self.path).budget
        if wanted is not None and wanted != book_budget:
            raise LedgerError(
                f"the ledger {self.path.name!r} has the budget {book_budget!r}, not {wanted!r}; name another file"
            )
        object.__setattr__(self, "budget", book_budget)

    def __len__(self) -> int:
        """Number of releases recorded."""
        return len(Book.read(self.path).entries)

    def check(self, rows: Any, sanitizer: Designer) -> LeakageReport:
        """Measure the joint leakage of a release and all recorded releases, without recording the release.

        Parameters
        ----------
        rows : DataFrame, pyarrow Table, array, or path of a Parquet file or folder
            Table with the same rows as in every recorded release, and with all columns that these releases used.
        sanitizer : Sanitizer
            Fitted estimator.

        Returns
        -------
        LeakageReport
            Report on all releases together, against the budget of the ledger.

        Raises
        ------
        LedgerExceeded
            If all releases would exceed the budget; this `BudgetExceeded` states what is left.
        LedgerError
            If these are not the rows of the ledger, or the sensitive columns are others.
        InvalidParameter
            If the noise may equal that of a recorded release: the same key or seed, or any RandomState.
        ColumnError
            If the joint distribution is too large to measure and no theorem bounds it.
        """
        refuse_noisy(sanitizer, _NO_LEDGER)
        book = Book.read(self.path)
        return record_entry(book, _entry(book, sanitizer, None), rows)[1]

    def has_receipt(self, digest: str) -> bool:
        """Return whether a recorded release wrote the receipt with this digest."""
        return any(entry.receipt == digest for entry in Book.read(self.path).entries)

    def record(self, rows: Any, sanitizer: Designer, *, key: Randomness = None) -> LeakageReport:
        """Record a release if all releases stay within the budget; call this before you hand out the release.

        Parameters
        ----------
        rows : table
            Table with the same rows as in every recorded release, and with all columns that these releases used.
        sanitizer : Sanitizer
            Fitted estimator.
        key : NoiseKey or bytes, optional
            Key of the noise; by default ``random_state`` of the sanitizer or a fresh key. A key or seed that a recorded
            release used is refused, because equal noise is not independent. A RandomState is refused, because a
            copy of it draws the same noise.

        Returns
        -------
        LeakageReport
            Report on all releases together.

        Raises
        ------
        LedgerExceeded
            If all releases would exceed the budget; as after every error, nothing is recorded.
        LedgerError
            If these are not the rows of the ledger, or the sensitive columns are others.
        InvalidParameter
            If the noise may equal that of a recorded release.
        ColumnError
            If the joint distribution is too large to measure and no theorem bounds it.
        """
        return self._spend(rows, sanitizer, hidden(key))[1]

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
        """Record a release while a block writes it; remove the entry if the block fails before it changes ``target``.

        The release is recorded before the block runs, so that a killed process has spent its budget. If ``target`` has
        changed when the block fails, the entry stays, because somebody may have the release.

        Parameters
        ----------
        rows : table
            Table with the same rows as in every recorded release, and with all columns that these releases used.
        sanitizer : Sanitizer
            Fitted estimator.
        key : NoiseKey or bytes, optional
            Key of the noise; see `record`.
        target : path, optional
            Path that the block writes.
        receipt : str, optional
            Digest of the receipt that the block writes, so that `verify_file` finds it here.
        """
        number, report = self._spend(rows, sanitizer, hidden(key), receipt)
        with undo_on_failure(target, partial(self._drop_entry, number)):
            yield report

    def _drop_entry(self, number: str) -> None:
        with hold_lock(self.path):
            book = Book.read(self.path)
            left = tuple(entry for entry in book.entries if entry.number != number)
            replace(book, entries=left, n_rows=book.n_rows if left else None, together=None).write(self.path)

    def _spend(
        self, rows: Any, sanitizer: Designer, key: Randomness, receipt: str | None = None
    ) -> tuple[str, LeakageReport]:
        refuse_noisy(sanitizer, _NO_LEDGER)
        while True:
            book = Book.read(self.path)
            entry = _entry(book, sanitizer, key, receipt)
            book, report = record_entry(book, entry, rows)
            with hold_lock(self.path):
                # Measuring may take long, so it needs no lock; the slower of two processes measures again.
                current = Book.read(self.path)
                if [old.number for old in current.entries] == [old.number for old in book.entries[:-1]]:
                    book.write(self.path)
                    return entry.number, report


def as_ledger(ledger: Ledger | str | os.PathLike[str]) -> Ledger:
    """Return a ledger, given the ledger itself or the path of its file."""
    if isinstance(ledger, UnitLedger):
        raise InvalidParameter(
            "ledger= must be a Ledger or its path, got a UnitLedger; use sanitize.engines.parquet.release_units"
        )
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)


def _entry(book: Book, sanitizer: Designer, source: Randomness, receipt: str | None = None) -> Entry:
    """Return the entry for a release that is about to happen; refuse the same noise as in a recorded release."""
    key = noise_key(sanitizer.recipe().random_state if source is None else source)
    digest = None if key is None else book_digest(book, b"key", key)
    if digest and any(entry.key is not None and hmac.compare_digest(entry.key, digest) for entry in book.entries):
        raise InvalidParameter(
            "random_state= is the same key or seed as in a recorded release, so the noise is the same; give a new key"
        )
    return Entry.from_release(sanitizer.bare_release(), digest, receipt)
