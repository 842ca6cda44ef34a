"""The file of a unit ledger: who was released the same so far, under digests that its key makes."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._files.outputs import write_text
from sanitize._files.strict_json import NotStrict, seal_of, strict_json
from sanitize._sampling.kept_draws import DIGEST_BYTES
from sanitize._sampling.noise import KEY_BYTES, NoiseKey
from sanitize.budgets import SYMBOL_BUDGETS, budget_from_dict, budget_to_dict
from sanitize.errors import InvalidBudget, LedgerError, SanitizeError, TargetError
from sanitize.ledger._sealed import is_count
from sanitize.ledger._unit_report import UnitEntry, UnitReport
from sanitize.measures import entropy

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize.budgets import Budget

FORMAT, VERSION = "sanitize/units", 1
# Ten million units take a third of it.
_MOST_BYTES = 1 << 30
# Of the name of the unit column, which errors repeat.
_NAME_CHARACTERS = 200
_FIELDS = {"format", "version", "budget", "unit", "sensitive", "least", "key", "secrets", "units", "secret", "group"}
_FIELDS |= {"sizes", "values", "said", "releases", "sha256"}
_FIGURES = ("least_log_lift", "largest_log_lift", "room")
_COUNTS = ("n_rows", "n_withheld", "n_again", "n_units", "n_new")
_ENTRY = {*_COUNTS, "kept", *_FIGURES}
# Printed values that are kept of each group, for units that are told nothing new.
SAID = 64


@dataclass(frozen=True)
class UnitBook:
    """What a unit ledger knows.

    Attributes
    ----------
    budget : Budget
    unit : str
    sensitive : tuple of str
        Sensitive columns; empty before the first release.
    least : int
        Units of a group.
    key : NoiseKey
    secrets : ndarray of uint8, shape (n_s, 16)
        Digest of each secret of the first release.
    units : ndarray of uint8, shape (n_units, 16)
        Digest of each unit.
    secret, group : ndarray of int, shape (n_units,)
        Of each unit; group 0 holds those that were told nothing.
    sizes : ndarray of int, shape (n_groups, n_s)
        Units of each secret that a group had when it was made; of group 0, those of the first release.
    values : ndarray of uint8, shape (n_values, 16)
        Digest of each value that could be printed so far.
    said : ndarray of int, shape (n_groups, 64)
        Numbers of some values that each group was last printed, with repetition, -1 for none; of group 0, anybody's of
        the first release.
    releases : tuple of UnitEntry
    """

    budget: Budget
    unit: str
    least: int
    key: NoiseKey = field(repr=False)
    sensitive: tuple[str, ...] = ()
    secrets: NDArray[np.uint8] = field(default_factory=lambda: _digests(b""), repr=False)
    units: NDArray[np.uint8] = field(default_factory=lambda: _digests(b""), repr=False)
    secret: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp), repr=False)
    group: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp), repr=False)
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 0), np.int64), repr=False)
    values: NDArray[np.uint8] = field(default_factory=lambda: _digests(b""), repr=False)
    said: NDArray[np.intp] = field(default_factory=lambda: np.full((1, SAID), -1), repr=False)
    releases: tuple[UnitEntry, ...] = ()

    @classmethod
    def empty(cls, budget: Budget, unit: str, least: int) -> UnitBook:
        """A book without releases."""
        if not 0 < len(unit) <= _NAME_CHARACTERS:
            raise LedgerError(f"unit must be the name of a column, of at most {_NAME_CHARACTERS} characters")
        if type(budget).__name__ not in SYMBOL_BUDGETS:
            raise InvalidBudget(f"a unit ledger keeps one of {', '.join(SYMBOL_BUDGETS)}, not {type(budget).__name__}")
        return cls(budget, unit, least, NoiseKey.from_system())

    def report(self) -> UnitReport:
        """What all releases told."""
        lifts, low, high, excess, told = np.ones((1, 1)), 0.0, 0.0, -math.inf, 0.0
        if self.releases:
            prior = self.sizes[0] / self.sizes[0].sum()
            lifts = (self.sizes / self.sizes.sum(axis=1, keepdims=True) / prior).T
            with np.errstate(divide="ignore"):
                low, high = float(np.log(lifts).min()), float(np.log(lifts).max())
            excess = float(self.budget.excess_of(lifts, prior).max())
            told = self._information()
        return UnitReport(
            self.budget,
            self.unit,
            self.least,
            len(self.units),
            len(self.sizes),
            int(self.sizes.sum(axis=1).min()),
            low,
            high,
            excess,
            told,
            self.releases,
        )

    def room(self) -> float:
        """Mean over the units of log(units of the group / least), where a group has more."""
        size = np.bincount(self.group)[self.group]
        return float(np.log(np.maximum(size / self.least, 1.0)).mean())

    def _information(self) -> float:
        law = np.zeros((self.sizes.shape[1], len(self.sizes)))
        np.add.at(law, (self.secret, self.group), 1 / len(self.group))
        # A difference of entropies may be less than 0 by a rounding.
        return max(entropy(law.sum(axis=1)) + entropy(law.sum(axis=0)) - entropy(law), 0.0)

    # --------------------------------------------------------------------------------------------- file

    @classmethod
    def read(cls, path: Path) -> UnitBook:
        """Book in a file; every part is checked again.

        Raises
        ------
        LedgerError
            If it cannot be read, is no unit ledger, or was changed.
        """
        try:
            with path.open("rb") as stream:
                content = stream.read(_MOST_BYTES + 1)
        except OSError as error:
            raise LedgerError(f"the ledger {path.name!r} cannot be read: {error.strerror or error}") from None
        try:
            return cls._from_text(content)
        except NotStrict:
            raise LedgerError(f"{path.name!r} is not a unit ledger: expected JSON of the format {FORMAT!r}") from None
        except (KeyError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError, SanitizeError):
            # A part of it read as nothing would let a release pass that must not.
            raise LedgerError(
                f"the unit ledger {path.name!r} is damaged, or of another version; restore it from a copy"
            ) from None

    @classmethod
    def _from_text(cls, content: bytes) -> UnitBook:
        if len(content) > _MOST_BYTES:
            raise NotStrict("too long")
        state = strict_json(content)
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise NotStrict("another format")
        _require(set(state) == _FIELDS and type(state["version"]) is int and state["version"] == VERSION)
        _require(state["sha256"] == seal_of(state))
        _require(isinstance(state["unit"], str) and 0 < len(state["unit"]) <= _NAME_CHARACTERS)
        _require(is_count(state["least"], 1))
        names = state["sensitive"]
        _require(isinstance(names, list) and all(isinstance(name, str) for name in names))
        secrets, units, values = (_digests(_bytes(state[name])) for name in ("secrets", "units", "values"))
        secret, group, said = (_numbers(state[name], "<i4").astype(np.intp) for name in ("secret", "group", "said"))
        sizes = _numbers(state["sizes"], "<i8").reshape(-1, len(secrets)) if len(secrets) else np.zeros((1, 0), "<i8")
        entries = tuple(_entry(entry) for entry in state["releases"])
        _require(len(secret) == len(group) == len(units) == len({bytes(row) for row in units}))
        _require(bool(len(units)) == bool(entries) == bool(names) == bool(len(secrets)))
        if entries:
            _require(secret.min() >= 0 and secret.max() < len(secrets) and sizes[0].min() >= 1)
            _require(group.min() >= 0 and group.max() < len(sizes) and sizes.min() >= 0)
            _require(said.min() >= -1 and said.max() < len(values))
        _require(len(said) == len(sizes) * SAID)
        key = bytes.fromhex(state["key"])
        _require(len(key) == KEY_BYTES)
        budget = budget_from_dict(state["budget"], kinds=SYMBOL_BUDGETS)
        return cls(
            budget,
            state["unit"],
            state["least"],
            NoiseKey(key),
            tuple(names),
            secrets,
            units,
            secret,
            group,
            sizes,
            values,
            said.reshape(-1, SAID),
            entries,
        )

    def write(self, path: Path) -> None:
        """Put the book in place of the file in one step, readable by its owner only."""
        state = {
            "format": FORMAT,
            "version": VERSION,
            "budget": budget_to_dict(self.budget, str),
            "unit": self.unit,
            "sensitive": list(self.sensitive),
            "least": self.least,
            "key": self.key.key.hex(),
            "secrets": _text(self.secrets),
            "units": _text(self.units),
            "secret": _text(self.secret.astype("<i4")),
            "group": _text(self.group.astype("<i4")),
            "sizes": _text(self.sizes.astype("<i8")),
            "values": _text(self.values),
            "said": _text(self.said.astype("<i4")),
            "releases": [entry.to_dict() for entry in self.releases],
        }
        try:
            write_text(path, json.dumps(state | {"sha256": seal_of(state)}))
        except TargetError as error:
            raise LedgerError(f"the ledger cannot record a release: {error}") from None

    def with_units(self, units: NDArray[np.uint8], secret: NDArray[np.intp]) -> UnitBook:
        """The book with more units, which were told nothing yet."""
        return replace(
            self,
            units=np.concatenate([self.units, units]),
            secret=np.concatenate([self.secret, secret]),
            group=np.concatenate([self.group, np.zeros(len(units), np.intp)]),
        )


def _entry(state: Any) -> UnitEntry:
    _require(isinstance(state, dict) and set(state) == _ENTRY and isinstance(state["kept"], dict))
    _require(all(is_count(state[name], 0) for name in _COUNTS))
    figures = {name: float(state[name]) for name in _FIGURES}
    return UnitEntry(**{**state, **figures, "kept": {k: float(v) for k, v in state["kept"].items()}})


def _text(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _bytes(text: Any) -> bytes:
    return base64.b64decode(text, validate=True)


def _numbers(text: Any, dtype: str) -> NDArray[np.int64]:
    return np.frombuffer(_bytes(text), dtype).astype(np.int64)


def _digests(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8).reshape(-1, DIGEST_BYTES)


def _require(holds: bool) -> None:  # noqa: FBT001
    if not holds:
        raise ValueError
