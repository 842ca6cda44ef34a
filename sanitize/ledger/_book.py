"""The file of a ledger: what is written, read, checked and locked."""

from __future__ import annotations

import contextlib
import hmac
import json
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._files.names import path_of
from sanitize._files.outputs import write_text
from sanitize._release.layout import Layout
from sanitize._release.tree_layout import plain_tree, through_tree
from sanitize._tables.packed import packed, unpacked
from sanitize.binning import Bins, DateBins
from sanitize.budgets import SYMBOL_BUDGETS, budget_from_dict, budget_to_dict
from sanitize.channel import Channel
from sanitize.errors import InvalidBudget, LedgerError, SanitizeError, TargetError
from sanitize.ledger._sealed import FORMAT, MOST_BYTES, VERSION, Damaged, seal, unseal
from sanitize.saved import channel_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize._release.release import Release
    from sanitize.budgets import Budget


@dataclass(frozen=True)
class _RecordedBins(Bins):
    """Bins with their symbols written out, whatever made them."""

    symbols: pa.Array = None

    @classmethod
    def of(cls, bins: Bins) -> _RecordedBins:
        """The same intervals and symbols."""
        return cls(bins.column, bins.edges, symbols=bins.labels)

    @property
    def labels(self) -> pa.Array:
        """Symbols of the intervals in ascending order."""
        return self.symbols

    def to_dict(self) -> dict[str, Any]:
        """Edges and symbols."""
        return {"edges": list(self.edges), "symbols": packed(self.symbols)}

    @classmethod
    def named(cls, column: str, state: dict[str, Any]) -> _RecordedBins:
        """Inverse of `to_dict` for a column, whose name stands beside it."""
        symbols = unpacked(state["symbols"])
        edges = tuple(float(edge) for edge in state["edges"])
        if len(symbols) != len(edges) - 1:
            raise ValueError
        return cls(column, edges, symbols=symbols)


@dataclass(frozen=True)
class Entry:
    """One release: which columns went through which channel.

    Attributes
    ----------
    number : str
        Random, to take back what was not released after all.
    layout : Layout
        Columns and bins.
    channel : Channel
    fallback : int
        Code of rows whose symbol the channel does not know.
    digest : str
        Keyed digest of the counts of (S, X) that the channel was applied to.
    key : str or None
        Keyed digest of the key of the noise, where the caller brought one.
    """

    number: str
    layout: Layout
    channel: Channel
    fallback: int
    digest: str = ""
    key: str | None = None

    @classmethod
    def of(cls, release: Release, key: str | None) -> Entry:
        """A release that is about to happen."""
        # A row of a whole table is printed from a released cell alone, so the cell is all that it tells.
        plain = Layout(release.layout.sensitive, release.layout.read, dict(release.layout.bins))
        layout = through_tree(plain, plain_tree(release.layout))
        return cls(os.urandom(8).hex(), layout, release.design.channel, release.design.fallback, key=key)

    def encode(self, source: Mapping[str, Any]) -> NDArray[np.int32]:
        """Input symbol of each row."""
        codes = self.channel.inputs.encode(self.layout.columns(source))
        codes[codes < 0] = self.fallback
        return codes

    def to_dict(self) -> dict[str, Any]:
        """Serializable form."""
        return {
            "number": self.number,
            "sensitive": list(self.layout.sensitive),
            "public": list(self.layout.read),
            "tree": plain_tree(self.layout),
            "bins": {name: _recorded(bins).to_dict() for name, bins in self.layout.bins.items()},
            "channel": json.loads(self.channel.to_json()),
            "fallback": self.fallback,
            "digest": self.digest,
            "key": self.key,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Entry:
        """Inverse of `to_dict`."""
        bins = {str(name): _named(str(name), packed) for name, packed in state["bins"].items()}
        layout = through_tree(Layout(tuple(state["sensitive"]), tuple(state["public"]), bins), state["tree"])
        channel = channel_from(state["channel"])
        if state["fallback"] >= channel.n_inputs or channel.inputs.columns != layout.public:
            raise ValueError
        for name, level in zip(channel.inputs.columns, channel.inputs.levels, strict=True):
            order = bins[name].order if name in bins else None
            if order is not None and not level.equals(order):
                raise ValueError
        return cls(state["number"], layout, channel, state["fallback"], state["digest"], state["key"])


def _recorded(bins: Bins) -> Bins:
    """Bins as a ledger keeps them: of dates as they are, others with their symbols."""
    return bins if isinstance(bins, DateBins) else _RecordedBins.of(bins)


def _named(column: str, state: dict[str, Any]) -> Bins:
    """Bins of a column from what a ledger keeps."""
    if "dates" not in state:
        return _RecordedBins.named(column, state)
    bins = DateBins.from_dict(state)
    if bins.column != column:
        raise ValueError
    return bins


@dataclass(frozen=True)
class Book:
    """What a ledger's file says.

    Attributes
    ----------
    budget : Budget
        Of all releases together.
    salt : bytes
        Key of the digests.
    n_rows : int or None
        Rows of the table; None before the first release.
    entries : tuple of Entry
    together : str or None
        Keyed digest of the counts of S and of what all channels tell apart; None where it is not known.
    """

    budget: Budget
    salt: bytes = field(repr=False)
    n_rows: int | None = None
    entries: tuple[Entry, ...] = ()
    together: str | None = None

    @classmethod
    def empty(cls, budget: Budget) -> Book:
        """A book without releases."""
        if type(budget).__name__ not in SYMBOL_BUDGETS:
            raise InvalidBudget(f"a ledger keeps one of {', '.join(SYMBOL_BUDGETS)}, not {type(budget).__name__}")
        return cls(budget, os.urandom(32))

    def without(self, number: str) -> Book:
        """The book less one entry."""
        left = tuple(entry for entry in self.entries if entry.number != number)
        return replace(self, entries=left, n_rows=self.n_rows if left else None, together=None)

    @classmethod
    def read(cls, path: Path) -> Book:
        """Book in a file; every part is checked again."""
        try:
            with path.open("rb") as stream:
                content = stream.read(MOST_BYTES + 1)
        except OSError as error:
            raise LedgerError(f"the ledger {path.name!r} cannot be read: {error.strerror or error}") from None
        if len(content) > MOST_BYTES:
            raise LedgerError(f"{path.name!r} is not a ledger: it is longer than {MOST_BYTES >> 20} MiB")
        try:
            state = unseal(content)
            budget = budget_from_dict(state["budget"], kinds=SYMBOL_BUDGETS)
            entries = tuple(Entry.from_dict(entry) for entry in state["releases"])
            return cls(budget, bytes.fromhex(state["salt"]), state["n_rows"], entries, state["together"])
        except (KeyError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
            # A part of it read as nothing would let a release pass that must not.
            raise LedgerError(_told(path.name, error)) from None
        except (SanitizeError, pa.ArrowException, MemoryError):
            raise LedgerError(_told(path.name, None)) from None

    def write(self, path: Path) -> None:
        """Put the book in place of the file in one step, readable by its owner only."""
        state = {
            "format": FORMAT,
            "version": VERSION,
            "budget": budget_to_dict(self.budget, str),
            "salt": self.salt.hex(),
            "n_rows": self.n_rows,
            "together": self.together,
            "releases": [entry.to_dict() for entry in self.entries],
        }
        try:
            write_text(path, seal(state))
        except TargetError as error:
            raise LedgerError(f"the ledger cannot record a release: {error}") from None


def _told(name: str, error: Exception | None) -> str:
    """What is wrong with a ledger, by what reading it raised."""
    words = str(error)
    if isinstance(error, Damaged) and "version" in words:
        return f"the ledger {name!r} was written by another version of the library"
    if isinstance(error, Damaged) and ("format" in words or "JSON" in words):
        return f"{name!r} is not a ledger: expected JSON of the format {FORMAT!r}"
    if isinstance(error, Damaged) and words == "seal":
        return f"the ledger {name!r} was changed or damaged: its seal does not fit; restore it from a copy"
    return f"the ledger {name!r} is damaged; restore it from a copy"


def place_of(path: str | os.PathLike[str]) -> Path:
    """Where a ledger is: what a link leads to, so that whatever names it locks, reads and replaces one file."""
    return path_of(path, LedgerError).resolve()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from changing a ledger; the lock goes away with the process."""
    if not path.name or path.is_dir():
        raise LedgerError(f"the ledger must be a file, and {str(path)!r} is a folder; name a file in it")
    try:
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LedgerError(f"the ledger {path.name!r} cannot be locked: {error.strerror or error}") from None
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists() and path.stat().st_nlink > 1:
            raise LedgerError(
                f"the ledger {path.name!r} has another name (a hard link), under which it would be another ledger; "
                "remove one of them, or make one a symbolic link"
            )
        yield
    finally:
        os.close(handle)


def stamp(target: Path | None) -> tuple[int, int] | None:
    """What tells whether a target was written; None where there is none."""
    if target is None or not target.exists():
        return None
    state = target.stat()
    return state.st_ino, state.st_mtime_ns


def keyed_digest(book: Book, *parts: bytes) -> str:
    """Digest of some parts that tells nothing without the book's salt."""
    mac = hmac.new(book.salt, digestmod="sha256")
    for part in parts:
        mac.update(len(part).to_bytes(8, "big") + part)
    return mac.hexdigest()
