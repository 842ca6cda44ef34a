"""File of a unit ledger, which records groups of units with the same releases, by keyed digests."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sanitize._util.checks import Codes, Vector
from sanitize._util.declared import (
    Count,
    Declared,
    Digest,
    Finite,
    Number,
    Positive,
    Version1,
    field_note,
    form,
    require,
    to_builtin,
)
from sanitize._util.sampling.noise import NoiseKey
from sanitize.core.budgets import SYMBOL_BUDGETS, BudgetForm, budget_from_dict, budget_to_dict, by_value
from sanitize.core.confidence import check_confidence
from sanitize.core.measures import entropy
from sanitize.errors import InvalidBudget, LedgerError
from sanitize.mechanisms import as_lift_budget
from sanitize.over_time._book import check_ledger_budget, read_book, write_book
from sanitize.over_time._unit_certificate import whole_share
from sanitize.over_time._unit_report import UnitEntry, UnitReport, log_extremes

if TYPE_CHECKING:
    from pathlib import Path

    from sanitize.core.budgets import Budget

# A file is read as a whole, so its size is bounded; ten million units take a third of a gigabyte.
_BOOK_BYTES = 1 << 30
# Errors quote the name of the unit column, so its length is bounded.
_NAME_CHARACTERS = 200
# Earlier values to store for each group, for units about which a release shows nothing new. They are drawn among these:
# 64 show the frequency of a value to about 6 %, and there may be many groups.
SAMPLE = 64
# Two of ten million units have the same digest of 128 bits with a probability below 1e-24; AES blocks have this size
# too.
DIGEST_BYTES = 16


def text_digests(key: NoiseKey, texts: Sequence[str]) -> NDArray[np.uint8]:
    """Keyed digest of each text, which reveals nothing without the key, shape (n, 16)."""
    digest = hashlib.blake2b(key=key.key, digest_size=DIGEST_BYTES)
    digests = bytearray()
    for text in texts:
        mac = digest.copy()
        mac.update(text.encode("utf-8", "surrogatepass"))
        digests += mac.digest()
    return np.frombuffer(bytes(digests), np.uint8).reshape(-1, DIGEST_BYTES)


@dataclass(frozen=True)
class PairWords:
    """Random words for pairs of a unit and a value; a word depends only on key, unit, value and lane.

    A word is half of AES-256 of the unit's digest XOR a digest of value and lane. Pairs with equal XORs would share
    their words, which has a negligible chance with 128 bits.

    Attributes
    ----------
    key : NoiseKey
    units : ndarray of uint8, shape (n_pairs, 16)
        Digest of the unit of each pair.
    values : ndarray of uint8, shape (n_values, 16)
        Digest of each value.
    value : ndarray of int, shape (n_pairs,)
        Number of the value of each pair.
    """

    key: NoiseKey
    units: NDArray[np.uint8] = field(repr=False)
    values: NDArray[np.uint8] = field(repr=False)
    value: Codes = field(repr=False)

    def words_at(self, lane: int, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return a 64-bit word for each pair."""
        digests = [hmac.digest(self.key.key, b"%d:" % lane + bytes(value), "sha256") for value in self.values]
        of_lane: NDArray[Any] = np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), -1)
        return self.key.block_words(self.units[positions] ^ of_lane[self.value[positions], :DIGEST_BYTES])

    def words(self, lane: int, start: int, count: int, dtype: DTypeLike = np.uint32) -> NDArray[Any]:
        """Return words of 32 or 16 bits for the pairs from ``start`` to before ``start + count``."""
        words = self.words_at(lane, np.arange(start, start + count))
        return (words >> np.uint64(64 - 8 * np.dtype(dtype).itemsize)).astype(dtype)


_EntryForm = form(
    "entry",
    **dict.fromkeys(("n_rows", "n_withheld", "n_again", "n_units", "n_new"), Count),
    kept=dict[str, Finite],
    **dict.fromkeys(("least_log_lift", "largest_log_lift", "room"), Number),
)


class UnitBook(Declared, frozen=True, eq=False, rename={"promise": "budget", "hex_key": "key", "entries": "releases"}):
    """State of a unit ledger, as stored in its file.

    Attributes
    ----------
    promise : dict
        Budget as plain values.
    unit : str
    least : int
        Least number of units in a group.
    confidence : float or None
        Confidence at which the budget covers the population of the units; None if it covers these units only.
    hex_key : str
        Key of the noise and of the digests, in hexadecimal.
    sensitive : tuple of str
        Sensitive columns; empty before the first release.
    secrets : ndarray of uint8, shape (n_s, 16)
        Digest of each sensitive value of the first release.
    units : ndarray of uint8, shape (n_units, 16)
        Digest of each unit.
    secret, group : ndarray of int, shape (n_units,)
        Numbers of the sensitive value and the group of each unit; units without a release are in group 0.
    sizes : ndarray of int, shape (n_groups, n_s)
        Units of each group by sensitive value when the group was made; for group 0, the units of the first release.
    chosen : ndarray of int, shape (n_s,)
        Design units, which choose blocks, of the first release, by sensitive value.
    shares : ndarray of shape (n_groups,)
        Share of the error probability that each group has left.
    values : ndarray of uint8, shape (n_values, 16)
        Digest of each value that could be released so far.
    said : ndarray of int, shape (n_groups, 64)
        Numbers of some values of the last release of each group, with repetition, -1 for none; for group 0, values of
        any units of the first release.
    entries : tuple
        Releases, with infinite figures as text.
    """

    format: Literal["sanitize/units"]
    version: Version1
    promise: BudgetForm
    unit: Annotated[str, field_note("the name of a column", min_length=1, max_length=_NAME_CHARACTERS)]
    least: Positive
    confidence: Finite | None
    hex_key: Digest
    sensitive: tuple[str, ...]
    secrets: NDArray[np.uint8]
    units: NDArray[np.uint8]
    secret: Codes
    group: Codes
    sizes: NDArray[np.int64]
    chosen: NDArray[np.int64]
    shares: Vector
    values: NDArray[np.uint8]
    said: Codes
    entries: tuple[_EntryForm, ...]  # type: ignore[valid-type]
    sha256: str

    def __repr__(self) -> str:
        return f"UnitBook({self.budget!r}, {self.unit!r}, {len(self.units)} units, {len(self.entries)} releases)"

    @property
    def budget(self) -> Budget:
        """Budget of all releases about a unit together."""
        return budget_from_dict(self.promise, kinds=SYMBOL_BUDGETS)

    @property
    def key(self) -> NoiseKey:
        """Key of the noise and of the digests."""
        return NoiseKey(bytes.fromhex(self.hex_key))

    @property
    def releases(self) -> tuple[UnitEntry, ...]:
        """All releases so far."""
        entries = map(to_builtin, self.entries)
        plain: list[Any] = [{k: float(v) if isinstance(v, str) else v for k, v in e.items()} for e in entries]
        return tuple(UnitEntry(**entry) for entry in plain)

    @classmethod
    def empty(cls, budget: Budget, unit: str, least: int, confidence: float | None) -> UnitBook:
        """Make a book without releases."""
        if not 0 < len(unit) <= _NAME_CHARACTERS:
            raise LedgerError(
                f"unit must be the name of a column, of at most {_NAME_CHARACTERS} characters, got {len(unit)}"
            )
        check_ledger_budget(budget, "a unit ledger")
        if by_value(budget):
            raise InvalidBudget("a unit ledger needs one limit for all sensitive values, not limits by value")
        share = 0.0
        if confidence is not None:
            as_lift_budget(budget)  # otherwise it is refused
            share = whole_share(check_confidence(confidence))
        promise = budget_to_dict(budget), unit, least, confidence, NoiseKey.from_system().key.hex()
        nobody, no_codes = np.zeros((0, DIGEST_BYTES), np.uint8), np.zeros(0, np.intp)
        no_sizes, shares = np.zeros((1, 0), np.int64), np.array([share])
        of_units, of_groups = (nobody, nobody, no_codes, no_codes), (no_sizes, no_sizes[0], shares)
        return cls("sanitize/units", 1, *promise, (), *of_units, *of_groups, nobody, np.full((1, SAMPLE), -1), (), "")

    def report(self) -> UnitReport:
        """Report on the joint leakage of all releases."""
        figures = 0.0, 0.0, -math.inf, 0.0
        if self.releases:
            prior = self.sizes[0] / self.sizes[0].sum()
            lifts = (self.sizes / self.sizes.sum(axis=1, keepdims=True) / prior).T
            excess = float(self.budget.lift_excess(lifts, prior).max())
            figures = *log_extremes(lifts), excess, self._information()
        promise = self.budget, self.unit, self.least, self.confidence
        counts = len(self.units), len(self.sizes), int(self.sizes.sum(axis=1).min())
        return UnitReport(*promise, *counts, *figures, self.releases)

    def room(self) -> float:
        """Mean over the units of log(units of the group / least), which is 0 for smaller groups."""
        size = np.bincount(self.group)[self.group]
        return float(np.log(np.maximum(size / self.least, 1.0)).mean())

    def _information(self) -> float:
        distribution = np.zeros((self.sizes.shape[1], len(self.sizes)))
        np.add.at(distribution, (self.secret, self.group), 1 / len(self.group))
        # Rounding may make a difference of entropies negative.
        return max(entropy(distribution.sum(axis=1)) + entropy(distribution.sum(axis=0)) - entropy(distribution), 0.0)

    # --------------------------------------------------------------------------------------------- reading and writing

    @classmethod
    def read(cls, path: Path) -> UnitBook:
        """Read the book from a file, and check every part.

        Raises
        ------
        LedgerError
            If the file cannot be read, is no unit ledger, or was changed.
        """
        return read_book(path, cls, cls._check, "a unit ledger", _BOOK_BYTES)

    def _check(self) -> UnitBook:
        """Return the book after checking that its parts fit together; during a release, they may not fit."""
        for digests in (self.secrets, self.units, self.values):
            require(digests.shape[1:] == (DIGEST_BYTES,))
        n, n_secrets = len(self.units), len(self.secrets)
        require(self.secret.shape == self.group.shape == (n,) and n == len({bytes(row) for row in self.units}))
        require(self.sizes.shape[1:] == self.chosen.shape == (n_secrets,) and len(self.sizes) > 0)
        n_groups = len(self.sizes)
        require(self.said.shape == (n_groups, SAMPLE) and self.shares.shape == (n_groups,))
        most = 0.0 if self.confidence is None else whole_share(self.confidence)
        require(0 <= most < 1 and bool(((self.shares >= 0) & (self.shares <= most)).all()))
        require(bool(n) == bool(self.entries) == bool(self.sensitive) == bool(n_secrets))
        if n:
            require(self.secret.min() >= 0 and self.secret.max() < n_secrets and self.sizes[0].min() >= 1)
            require(self.group.min() >= 0 and self.group.max() < n_groups and self.sizes.min() >= 0)
            require(bool(((self.chosen >= 0) & (self.chosen <= self.sizes[0])).all()))
            require(self.said.min() >= -1 and self.said.max() < len(self.values))
        require(not by_value(self.budget))
        return self

    def write(self, path: Path) -> None:
        """Replace the book's file in one step, readable by its owner only."""
        write_book(path, self)

    def with_release(self, entry: UnitEntry) -> UnitBook:
        """Return the book with one more release."""
        return self.__replace__(entries=(*self.entries, _EntryForm(**entry.to_dict())))

    def with_units(self, units: NDArray[np.uint8], secret: Codes) -> UnitBook:
        """Return the book with more units, which have no releases yet."""
        return self.__replace__(
            units=np.concatenate([self.units, units]),
            secret=np.concatenate([self.secret, secret]),
            group=np.concatenate([self.group, np.zeros(len(units), np.intp)]),
        )
