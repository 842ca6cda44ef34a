"""File of a ledger: its content, and how it is read, checked, written and locked."""

from __future__ import annotations

import contextlib
import hmac
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
import pyarrow as pa

from sanitize._util.declared import (
    Count,
    Declared,
    Digest,
    Positive,
    SchemaError,
    Version1,
    field_note,
    read_sealed,
    require,
    seal_text,
)
from sanitize._util.outputs import write_text
from sanitize._util.system import wait_for_lock
from sanitize.core.binning import Bins, DateBins, Joined
from sanitize.core.budgets import SYMBOL_BUDGETS, BudgetForm, budget_from_dict, budget_to_dict
from sanitize.core.channel import Channel, ChannelForm
from sanitize.errors import InvalidBudget, LedgerError, SanitizeError, SourceError, TargetError
from sanitize.release.classes import ClassPartition
from sanitize.release.layout import Layout, cell_layout, layout_classes
from sanitize.tables.files.open import to_path
from sanitize.tables.files.source import read_small_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.release.release import FittedRelease


Form = TypeVar("Form", bound=Declared)
Made = TypeVar("Made")

_Names = Annotated[tuple[str, ...], field_note("some columns", min_length=1)]


class _RecordedBins(Bins, frozen=True, tag="recorded"):
    """Bins that were read from a ledger, with their symbols listed."""

    symbols: pa.Array

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.symbols) == len(self.edges) - 1, "must be one for each bin", "symbols")

    @property
    def labels(self) -> pa.Array:
        """Symbols of the intervals in ascending order."""
        return self.symbols


class _EntryForm(Declared, frozen=True, eq=False):
    number: Annotated[str, field_note("16 hexadecimal digits", pattern=r"^[0-9a-f]{16}\Z")]
    sensitive: _Names
    public: _Names
    partition: ClassPartition | None
    bins: dict[str, _RecordedBins | DateBins | Joined]
    channel: ChannelForm
    fallback: Count
    digest: Digest
    key: Digest | None
    receipt: Digest | None

    def __post_init__(self) -> None:
        for name, bins in self.bins.items():
            require(name == bins.column and name in (*self.sensitive, *self.public), "are of another column", "bins")


class _BookForm(Declared, frozen=True, eq=False):
    format: Literal["sanitize/ledger"]
    version: Version1
    budget: BudgetForm
    salt: Digest
    n_rows: Positive | None
    together: Digest | None
    releases: tuple[_EntryForm, ...]
    sha256: str

    def __post_init__(self) -> None:
        require((self.n_rows is None) == (not self.releases), "must be of the releases", "n_rows")
        require(self.together is None or self.releases, "must be of the releases", "together")
        require(len({entry.number for entry in self.releases}) == len(self.releases), "has a number twice", "releases")
        secrets = {frozenset(entry.sensitive) for entry in self.releases}
        require(len(secrets) < 2, "has other sensitive values", "releases")


@dataclass(frozen=True)
class Entry:
    """Entry of a ledger for one release, with its columns and its channel.

    Attributes
    ----------
    number : str
        Random identifier, by which the entry of a failed release is removed.
    layout : Layout
        Columns of the release, with their bins.
    channel : Channel
    fallback : int
        Code used for rows whose symbol the channel does not know.
    digest : str
        Keyed digest of the counts of (S, X) to which the channel was applied.
    key : str or None
        Keyed digest of the key of the noise, if the caller gave one.
    receipt : str or None
        Digest of the receipt of the release.
    """

    number: str
    layout: Layout
    channel: Channel
    fallback: int
    digest: str = ""
    key: str | None = None
    receipt: str | None = None

    @classmethod
    def from_release(cls, release: FittedRelease, key: str | None, receipt: str | None = None) -> Entry:
        """Return the entry for a release that is about to happen."""
        # A generated row depends only on its released class, so it reveals no more than the class.
        plain = Layout(release.layout.sensitive, release.layout.read, dict(release.layout.bins))
        layout = cell_layout(plain, layout_classes(release.layout))
        return cls(os.urandom(8).hex(), layout, release.channel, release.fallback, "", key, receipt)

    def encode(self, source: Mapping[str, Any], first: int = 0) -> NDArray[np.int32]:
        """Return the code of each row's input symbol, for a batch that starts at row ``first`` of the table."""
        codes = self.channel.inputs.encode(self.layout.columns(source, first=first))
        codes[codes < 0] = self.fallback
        return codes

    def form(self) -> _EntryForm:
        """Return the entry in the form in which the file stores it."""
        layout = self.layout
        bins = dict[str, Any](layout.bins)
        for name, cuts in layout.bins.items():
            if not isinstance(cuts, (DateBins, Joined)):  # bins of dates are stored as declared, others with symbols
                bins[name] = _RecordedBins(cuts.column, cuts.edges, learned=False, whole=False, symbols=cuts.labels)
        columns = layout.sensitive, layout.read, layout_classes(layout), bins, self.channel.form()
        return _EntryForm(self.number, *columns, self.fallback, self.digest, self.key, self.receipt)

    @classmethod
    def from_form(cls, form: _EntryForm) -> Entry:
        """Return an entry from the form in which the file stores it."""
        layout = cell_layout(Layout(form.sensitive, form.public, dict(form.bins)), form.partition)
        channel = form.channel.channel()
        require(form.fallback < channel.n_inputs and channel.inputs.columns == layout.public)
        for name, level in zip(channel.inputs.columns, channel.inputs.levels, strict=True):
            order = form.bins[name].order if name in form.bins else None
            require(order is None or level.equals(order))
        return cls(form.number, layout, channel, form.fallback, form.digest, form.key, form.receipt)


@dataclass(frozen=True)
class Book:
    """Content of a ledger's file.

    Attributes
    ----------
    budget : Budget
        Budget of all releases together.
    salt : bytes
        Key of the digests.
    n_rows : int or None
        Number of rows of the table; None before the first release.
    entries : tuple of Entry
    together : str or None
        Keyed digest of the joint counts of S and the inputs of all channels; None if unknown.
    """

    budget: Budget
    salt: bytes = field(repr=False)
    n_rows: int | None = None
    entries: tuple[Entry, ...] = ()
    together: str | None = None

    @classmethod
    def empty(cls, budget: Budget) -> Book:
        """Make a book without releases."""
        check_ledger_budget(budget, "a ledger")
        return cls(budget, os.urandom(32))

    @classmethod
    def read(cls, path: Path) -> Book:
        """Read the book from a file, and check every part."""
        return read_book(path, _BookForm, cls._from_form, "a ledger")

    @classmethod
    def _from_form(cls, form: _BookForm) -> Book:
        budget = budget_from_dict(form.budget, kinds=SYMBOL_BUDGETS)
        entries = tuple(map(Entry.from_form, form.releases))
        return cls(budget, bytes.fromhex(form.salt), form.n_rows, entries, form.together)

    def write(self, path: Path) -> None:
        """Replace the book's file in one step, readable by its owner only."""
        of_rows = self.salt.hex(), self.n_rows, self.together, tuple(entry.form() for entry in self.entries)
        write_book(path, _BookForm("sanitize/ledger", 1, budget_to_dict(self.budget), *of_rows, ""))


def check_ledger_budget(budget: Budget, ledger: str) -> None:
    """Raise an error if a ledger cannot use a budget; ``ledger`` is the kind of ledger, in words."""
    if type(budget).__name__ not in SYMBOL_BUDGETS:
        raise InvalidBudget(f"{ledger} needs a budget of type {', '.join(SYMBOL_BUDGETS)}, got {type(budget).__name__}")


def read_book(
    path: Path, form: type[Form], build: Callable[[Form], Made], what: str, most_bytes: int = 1 << 28
) -> Made:
    """Read the file of a ledger and build its content, which is checked in every part."""
    try:
        return build(read_sealed(form, read_small_file(path, most_bytes)))
    except SourceError as error:
        raise LedgerError(f"the ledger {error}") from None
    except (SchemaError, SanitizeError) as error:
        # If a damaged part were ignored, a forbidden release could pass.
        raise LedgerError(f"{path.name!r} is not {what} that can be trusted: {error}; restore it from a copy") from None


def write_book(path: Path, form: Declared) -> None:
    """Replace a ledger's file in one step, readable by its owner only."""
    try:
        write_text(seal_text(form, indent=None), path)
    except TargetError as error:
        raise LedgerError(f"the ledger cannot record a release: {error}") from None


def ledger_path(path: str | os.PathLike[str]) -> Path:
    """Path of a ledger with links resolved, so that all of its names refer to the same file."""
    return to_path(path, LedgerError).resolve()


@contextlib.contextmanager
def undo_on_failure(target: Path | None, undo: Callable[[], None]) -> Iterator[None]:
    """Call ``undo`` if a block fails before it changes ``target``; after a change, somebody may have the release."""
    before = _stamp(target)
    try:
        yield
    except BaseException:
        if _stamp(target) == before:
            undo()
        raise


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock that keeps other processes from changing a ledger; the lock ends with the process."""
    if not path.name or path.is_dir():
        raise LedgerError(f"the ledger must be a file, and {str(path)!r} is a folder; name a file in it")
    try:
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LedgerError(f"the ledger {path.name!r} cannot be locked: {error.strerror or error}") from None
    try:
        wait_for_lock(handle)
        if path.exists() and path.stat().st_nlink > 1:
            words = "has a second name, a hard link, and the two could become different ledgers; use a symbolic link"
            raise LedgerError(f"the ledger {path.name!r} {words}")
        yield
    finally:
        os.close(handle)


def _stamp(target: Path | None) -> tuple[int, int] | None:
    """Inode and modification time of a file, which change when the file is written; None without a file."""
    state = None if target is None or not target.exists() else target.stat()
    return state and (state.st_ino, state.st_mtime_ns)


def book_digest(book: Book, *parts: bytes) -> str:
    """Keyed digest of some bytes, which reveals nothing without the salt of the book."""
    mac = hmac.new(book.salt, digestmod="sha256")
    for part in parts:
        mac.update(len(part).to_bytes(8, "big") + part)
    return mac.hexdigest()
