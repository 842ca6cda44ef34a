"""Promises of differential privacy: of which values, who can have one, counts with noise, and what a report says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sanitize._util.sampling.noise import NoiseKey, random_words
from sanitize.core.alphabet import Alphabet
from sanitize.core.binning import LearnedEdges
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.columns import UNSEEN, look_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.count_noise import CountNoise, RowNoise
    from sanitize._util.sampling.noise import Randomness
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.layout import CellLayout, Layout
    from sanitize.release.recipes.fitted_classes import FittedClasses
    from sanitize.report import LeakageReport, ReleaseFacts, Section


# Noise is drawn for each of them in each cell, and so many rows of a secret are needed that more make no sense.
MOST_SECRETS = 64


class DPGuarantee(ABC):
    """Differential privacy at a level, of values that are declared: which of them occur would tell of somebody."""

    keyword: ClassVar[str]
    exact: ClassVar[tuple[str, ...]] = ()  # measures that have no noise in them
    eps: float
    delta: Any
    values: Mapping[str, Sequence[Any]]
    ledger: Any  # one of levels, which stands above this room

    def _declare(self) -> None:
        if self.ledger is not None and not hasattr(self.ledger, "book"):
            raise InvalidParameter(
                f"ledger of {type(self).__name__} must be a sanitize.over_time.DPLedger, "
                f"got {type(self.ledger).__name__}"
            )
        lists = self.values.values() if isinstance(self.values, Mapping) else [None]
        if not all(isinstance(values, (list, tuple)) and values for values in lists):
            raise InvalidParameter(
                f"values of {type(self).__name__} must be a dict of columns to lists of the values they may have, for "
                "example {'income': ['low', 'high']}"
            )
        object.__setattr__(self, "values", {name: tuple(values) for name, values in self.values.items()})

    @abstractmethod
    def add_noise(self, tables: NDArray[np.int64], key: NoiseKey) -> NoisyCounts:
        """Counts with noise, from exact ones of (part, secret, cell)."""

    @abstractmethod
    def section(self, report: LeakageReport, layout: CellLayout) -> Section:
        """Section of a report on it."""

    def describe_people(self, report: LeakageReport, layout: CellLayout) -> str:
        """Describe the guarantee for the people whose rows these are: by default as their rows are written."""
        return report.facts.people

    def check_names(self, names: Sequence[str], kind: str) -> None:
        """Refuse values of other columns than these."""
        for name in self.values:
            if name not in names:
                raise ColumnError(f"{self.keyword} declares values of {name!r}, which is no {kind} column", name)

    def alphabet(self, layout: Layout, names: Sequence[str]) -> Alphabet:
        """Alphabet of every combination of declared values of some columns, whether or not a row has it.

        Raises
        ------
        ColumnError, InvalidParameter
            If one of them has no values declared, or one twice.
        """
        levels = [self._levels(name, layout) for name in names]
        columns = zip(*product(*levels), strict=True)
        table = {name: list(column) for name, column in zip(names, columns, strict=True)}
        result = Alphabet.from_table(table, names, layout.orders)
        if len(result) < np.prod([len(level) for level in levels]):
            raise InvalidParameter(f"{self.keyword} declares a value twice; list each value of a column once")
        return result

    def secrets(self, layout: Layout) -> Alphabet:
        """Alphabet of the sensitive columns."""
        n = int(np.prod([len(self._levels(name, layout)) for name in layout.sensitive]))
        if not 2 <= n <= MOST_SECRETS:
            raise InvalidParameter(
                f"{self.keyword} takes 2 to {MOST_SECRETS} secrets (all combinations of declared values), got {n}"
            )
        return self.alphabet(layout, layout.sensitive)

    def _levels(self, name: str, layout: Layout) -> list[Any]:
        values = self.values.get(name, ())
        order = layout.orders.get(name)
        if order is not None:
            if values not in ((), (None,)):
                raise ColumnError(
                    f"{self.keyword} declares values of {name!r}, which has bins: its intervals are its values, and "
                    "[None] alone may be declared beside them",
                    name,
                )
            return [*order.to_pylist(), *values]
        if not values:
            raise ColumnError(
                f"{self.keyword} must declare the values of the column {name!r}, as values={{{name!r}: [...]}}, "
                "or it must have bins with edges: which values occur is told otherwise",
                name,
            )
        return list(values)

    def declaration_error(self, name: str) -> ColumnError:
        """Error of a row whose value was not declared; it names the column alone."""
        return ColumnError(
            f"column {name!r} has rows with a value, or a missing one, that {self.keyword} does not declare; "
            "declare all values that may occur, None among them if some are missing",
            name,
        )


class NoisyCounts(NamedTuple):
    """Noisy counts of (secret, cell) of the designing and the other rows, and the distribution of the noise."""

    design: NDArray[np.int64]
    holdout: NDArray[np.int64]
    fresh: NDArray[np.float64]
    noise: CountNoise | RowNoise


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings under which something but noisy counts would look at what is protected."""
    promise = settings["secret_dp"] if settings["record_dp"] is None else settings["record_dp"]
    name, whom = ("secret_dp", "SecretDP") if settings["record_dp"] is None else ("record_dp", "RecordDP")
    if not (isinstance(promise, DPGuarantee) and promise.keyword == name):
        raise InvalidParameter(f"{name} must be a {whom}, see sanitize.transformers, got {type(promise).__name__}")
    if name == "record_dp" and settings["secret_dp"] is not None:
        raise InvalidParameter("record_dp protects the whole row, its secret too: leave secret_dp out")
    if settings["confidence"] is None:
        raise InvalidParameter(
            f"{name} needs confidence=, for example 0.95: what noise leaves of the counts says nothing certain of "
            "these rows"
        )
    if settings["keep_sensitive"]:
        raise InvalidParameter(f"keep_sensitive=True would release the secrets themselves; drop it with {name}")
    for role in ("sensitive", "public"):
        if callable(settings[role]):
            raise InvalidParameter(f"{role} must name its columns with {name}, because a function sees the rows")
    bins = settings["bins"] or {}
    looking = (str, LearnedEdges)
    if not isinstance(bins, Mapping) or any(isinstance(edges, looking) for edges in bins.values()):
        raise InvalidParameter(f"bins must have edges with {name}, because steps and learned edges look at the rows")
    noise_key(settings["random_state"], name)


def check_order(order: str, name: str) -> None:
    """Refuse that released rows keep their order, which is allowed after a look at every secret."""
    if order != "shuffle":
        raise InvalidParameter(
            f"rows='keep' is allowed after a look at every secret; use rows='shuffle', the default, with {name}"
        )


def noise_key(source: Randomness, name: str) -> NoiseKey:
    """Key that the noise on counts is derived from: of the user, of the operating system, or of a seed."""
    words = random_words(source)
    if isinstance(words, NoiseKey):
        return words
    raise InvalidParameter(
        f"random_state must be None or a NoiseKey with {name} (an integer in tests), got {type(source).__name__}"
    )


def with_level(facts: ReleaseFacts, promise: DPGuarantee, *, seeded: bool) -> ReleaseFacts:
    """Facts of a release whose counts hold noise, which a seed undoes."""
    name = promise.keyword
    void = f"{name} is void: the noise on the counts came from random_state=<int>, and whoever guesses it can take it"
    notes = (*facts.warnings, f"{void} off") if seeded else facts.warnings
    level: dict[str, Any] = {name: (promise.eps, promise.delta)}
    return replace(facts, **level, warnings=notes)


def with_promise(report: LeakageReport, promise: DPGuarantee, layout: CellLayout) -> LeakageReport:
    """Report that says what is promised, and calls its figures of noisy counts estimates."""
    measures = tuple(line if line.name in promise.exact else replace(line, kind="estimate") for line in report.measures)
    facts = replace(report.facts, people=promise.describe_people(report, layout))
    report = replace(report, measures=measures, facts=facts)
    return replace(report, sections=(promise.section(report, layout), *report.sections))


def with_noise(
    layout: FittedClasses, counts: ContingencyTable, promise: DPGuarantee, source: Randomness
) -> NoisyCounts:
    """Noisy counts of the rows of the design and of the others; ``counts`` becomes the sum of both.

    The exact counts are overwritten: whoever holds the table holds the noisy one from here on. A ledger books the fit
    before anything of it is seen.

    Raises
    ------
    ColumnError
        If a row has a secret that was not declared; it names the column alone.
    """
    if promise.ledger is not None:
        promise.ledger.book(promise)
    secrets, n_cells = promise.secrets(layout), layout.partition.n_cells
    noisy = promise.add_noise(_exact_counts(layout, counts, promise, secrets), noise_key(source, promise.keyword))
    counts.public = Alphabet.from_table({layout.public[0]: np.arange(n_cells, dtype=np.int32)}, layout.public)
    counts.sensitive, counts.counts = secrets, _each_once(_each_once(noisy.design + noisy.holdout).T).T
    return noisy


def _exact_counts(
    layout: FittedClasses, counts: ContingencyTable, promise: DPGuarantee, secrets: Alphabet
) -> NDArray[np.int64]:
    """Exact counts of (part, declared secret, cell), the parts being the rows of the design and all others."""
    result = np.zeros((2, len(secrets), layout.partition.n_cells), np.int64)
    place, cells = _places(counts.sensitive, promise, secrets), np.array(counts.public.symbols, np.intp)
    result[:, place[:, None], cells] = layout.divide_counts(counts)
    return result


def _places(seen: Alphabet, promise: DPGuarantee, secrets: Alphabet) -> NDArray[np.int32]:
    """Declared secret of each that was seen."""
    place = secrets.encode(seen.decode(np.arange(len(seen))))
    if (place < 0).any():
        for j, (name, declared) in enumerate(zip(seen.columns, secrets.levels, strict=True)):
            is_declared = np.append(look_up(seen.levels[j], declared) != UNSEEN, len(declared) in secrets.codes[:, j])
            if not is_declared[seen.codes[:, j]].all():
                raise promise.declaration_error(name)
    return place


def _each_once(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts in which every line has a row, as a distribution needs it: one of the largest column changes its line."""
    result = counts.copy()
    cell = int(result.sum(axis=0).argmax())
    for secret in np.flatnonzero(result.sum(axis=1) == 0):
        result[result[:, cell].argmax(), cell] -= 1
        result[secret, cell] += 1
    return result
