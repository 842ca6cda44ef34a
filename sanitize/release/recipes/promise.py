"""Guarantees of differential privacy: protected values, conditions on settings, noisy counts, and report sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from sanitize._util.sampling.count_noise import CountNoise
from sanitize._util.sampling.noise import NoiseKey, random_words
from sanitize.core.alphabet import Alphabet
from sanitize.core.binning import LearnedEdges
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.first_pass import RowCounts
from sanitize.release.people import ROW
from sanitize.report import Section
from sanitize.tables.columns import UNSEEN, look_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.count_noise import RowNoise
    from sanitize._util.sampling.noise import Randomness
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.layout import Layout
    from sanitize.release.recipes.fitted_classes import FittedClasses
    from sanitize.release.release import FittedRelease
    from sanitize.release.row_order import OrderAudit
    from sanitize.report import LeakageReport, ReleaseFacts


# Most sensitive values: each cell has a noise draw for each value, and each value needs many rows.
MOST_SECRETS = 64


class DPGuarantee(ABC):
    """Differential privacy at a level, with declared values, because values learned from the rows may reveal people."""

    keyword: ClassVar[str]
    exact: ClassVar[tuple[str, ...]] = ()  # measures that are free of noise
    eps: float
    delta: Any
    values: Mapping[str, Sequence[Any]]
    ledger: Any  # a DPLedger, whose package imports this one

    def _declare(self) -> None:
        if self.ledger is not None and not hasattr(self.ledger, "book"):
            raise InvalidParameter(
                f"ledger of {type(self).__name__} must be a sanitize.over_time.DPLedger, "
                f"got {type(self.ledger).__name__}"
            )
        lists = self.values.values() if isinstance(self.values, Mapping) else [None]
        if not all(isinstance(values, (list, tuple)) and values for values in lists):
            raise InvalidParameter(
                f"values of {type(self).__name__} must map each column to a list of the values that it may have, for "
                "example {'income': ['low', 'high']}"
            )
        object.__setattr__(self, "values", {name: tuple(values) for name, values in self.values.items()})

    @abstractmethod
    def add_noise(self, tables: NDArray[np.int64], key: NoiseKey) -> NoisyCounts:
        """Add noise to exact counts of (part, sensitive value, cell)."""

    def look_at_order(
        self, order: OrderAudit, counts: ContingencyTable, secrets: Alphabet, key: NoiseKey
    ) -> tuple[DPGuarantee, OrderAudit]:
        """Spend a part of ε on a noisy test of the order of rows; return the guarantee that remains, and the test."""
        raise InvalidParameter(f"rows='keep' checks every sensitive value; with {self.keyword}, use rows='shuffle'")

    @abstractmethod
    def section(self, report: LeakageReport, layout: Any) -> Section:
        """Write the report section about the guarantee."""

    def describe_people(self, report: LeakageReport, layout: Any) -> str:
        """Describe the guarantee for the people in the data; by default, with the words of the report."""
        return report.facts.people

    def check_names(self, names: Sequence[str], kind: str) -> None:
        """Refuse values that are declared for columns of another role."""
        for name in self.values:
            if name not in names:
                raise ColumnError(
                    f"{self.keyword} declares values of {name!r}, which is not a {kind} column; leave them out", name
                )

    def alphabet(self, layout: Layout, names: Sequence[str]) -> Alphabet:
        """Alphabet of all combinations of the declared values of some columns, including those that do not occur.

        Raises
        ------
        ColumnError, InvalidParameter
            If a column has no declared values, or a value is declared twice.
        """
        levels = [self._levels(name, layout) for name in names]
        columns = zip(*product(*levels), strict=True)
        table = {name: list(column) for name, column in zip(names, columns, strict=True)}
        result = Alphabet.from_table(table, names, layout.orders)
        if len(result) < np.prod([len(level) for level in levels]):
            raise InvalidParameter(
                f"{self.keyword} lists a value of {' or '.join(map(repr, names))} twice; list each value once"
            )
        return result

    def secrets(self, layout: Layout) -> Alphabet:
        """Alphabet of the declared values of the sensitive columns."""
        n = int(np.prod([len(self._levels(name, layout)) for name in layout.sensitive]))
        if not 2 <= n <= MOST_SECRETS:
            what = "combinations of declared sensitive values"
            raise InvalidParameter(
                f"{self.keyword} needs 2 to {MOST_SECRETS} {what}, got {n}; declare {'more' if n < 2 else 'fewer'}"
            )
        return self.alphabet(layout, layout.sensitive)

    def _levels(self, name: str, layout: Layout) -> list[Any]:
        values = self.values.get(name, ())
        order = layout.orders.get(name)
        if order is not None:
            if values not in ((), (None,)):
                raise ColumnError(
                    f"{self.keyword} declares values of column {name!r}, whose bins already declare them; declare "
                    "[None] for missing values, or leave them out",
                    name,
                )
            return [*order.to_pylist(), *values]
        if not values:
            raise ColumnError(
                f"{self.keyword} must declare the values of the column {name!r}, as values={{{name!r}: [...]}}, or "
                "the column must have bins with edges; otherwise the release would reveal which values occur",
                name,
            )
        return list(values)

    def declaration_error(self, name: str) -> ColumnError:
        """Error for a row with an undeclared value, which names the column and no value."""
        return ColumnError.fault(
            name,
            f"has rows with a value, or with a missing value, that {self.keyword} does not declare; "
            "declare all values that may occur, and None if values may be missing",
        )


class NoisyCounts(NamedTuple):
    """Noisy counts of (sensitive value, cell) for design rows and other rows, with the distribution of the noise."""

    design: NDArray[np.int64]
    holdout: NDArray[np.int64]
    fresh: NDArray[np.float64]
    noise: CountNoise | RowNoise | None


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings under which protected data would be read without noise."""
    is_of_rows = settings.get("record_dp") is not None
    name, whom = ("record_dp", "RecordDP") if is_of_rows else ("secret_dp", "SecretDP")
    promise = settings[name]
    if not (isinstance(promise, DPGuarantee) and promise.keyword == name):
        raise InvalidParameter(f"{name} must be a {whom}, see sanitize.transformers, got {type(promise).__name__}")
    if name == "record_dp" and settings["secret_dp"] is not None:
        raise InvalidParameter("record_dp protects the whole row, with its sensitive value: leave secret_dp out")
    if settings["person"] not in (None, ROW):
        raise InvalidParameter(f"{name} requires that each row is one person: leave person out, or set person={ROW!r}")
    if settings["keep_sensitive"]:
        raise InvalidParameter(f"keep_sensitive=True releases sensitive values, which {name} protects: leave it out")
    for role in ("sensitive", "public"):
        if callable(settings[role]):
            raise InvalidParameter(
                f"with {name}, {role} must be a list of names, because a callable could read the rows"
            )
    bins = settings["bins"] or {}
    if not isinstance(bins, Mapping) or any(isinstance(edges, (str, LearnedEdges)) for edges in bins.values()):
        raise InvalidParameter(
            f"with {name}, bins must have edges, because calendar units and learned edges depend on the rows"
        )
    noise_key(settings["random_state"], name)


def require_confidence(confidence: float | None, name: str) -> None:
    """Refuse a missing confidence, because rows generated from noisy counts need a certificate."""
    if confidence is None:
        raise InvalidParameter(f"{name} needs confidence=, such as 0.95: noisy counts alone guarantee nothing")


def check_order(order: str, name: str) -> None:
    """Refuse to keep the order of rows, because checking it needs every sensitive value."""
    if order != "shuffle":
        raise InvalidParameter(f"rows='keep' checks every sensitive value; with {name}, use rows='shuffle'")


def noise_key(source: Randomness, name: str) -> NoiseKey:
    """Key for the noise on counts: the user's key, a random key, or a key from a seed."""
    if isinstance(source, np.random.RandomState):
        words = "None or a NoiseKey (in tests also an integer), got RandomState"
        raise InvalidParameter(f"with {name}, random_state must be {words}")
    return random_words(source)


def with_level(facts: ReleaseFacts, promise: DPGuarantee, *, seeded: bool) -> ReleaseFacts:
    """Facts of a release with the level of its noisy counts, and a warning if a seed would undo the noise."""
    name = promise.keyword
    void = (
        f"{name} is void: the noise on the counts came from random_state=<int>, and anyone who guesses it can remove it"
    )
    notes = (*facts.warnings, void) if seeded else facts.warnings
    level: dict[str, Any] = {name: (promise.eps, promise.delta)}
    return replace(facts, **level, warnings=notes)


def with_promise(release: FittedRelease, promise: DPGuarantee, layout: Any) -> FittedRelease:
    """Return the release with a report that states the guarantee and marks figures from noisy counts as estimates."""
    report, counts = release.report, release.counts
    assert isinstance(counts, NoisyRowCounts)
    measures = tuple(line if line.name in promise.exact else replace(line, kind="estimate") for line in report.measures)
    facts = replace(report.facts, people=promise.describe_people(report, layout))
    report = replace(report, measures=measures, facts=facts)
    section, noise = promise.section(report, layout), counts.noisy.noise
    if isinstance(noise, CountNoise):
        figure = ("noise on each count (standard deviation, rows)", noise.variance**0.5)
        section = replace(section, rows=(*section.rows, figure))
    if report.confidence is None:  # noisy counts are not a sample of any population
        report = report.with_worst_case().with_section(_spread_section(release))
    return replace(release, report=replace(report, sections=(section, *report.sections)))


def _spread_section(release: FittedRelease) -> Section:
    """Section for the owner on how far lifts of these rows may be from lifts of the noisy counts."""
    words = (
        "The limit holds for counts with noise. A lift of these rows may be this many times that of the noisy counts, "
        "for the released value of which least is certain, at two standard deviations of the noise."
    )
    counts = release.counts
    assert isinstance(counts, NoisyRowCounts)
    assert counts.noisy.noise is not None
    place = release.joint.public.union(counts.table.public)[2]
    shares = np.zeros(len(release.joint.public))
    shares[place] = counts.shares
    released = counts.table.n * release.joint.pmf @ release.channel.matrix
    deviation = np.sqrt(counts.noisy.noise.variance * (shares @ release.channel.matrix**2))
    most = float(1 + (2 * deviation / np.maximum(released, 1)).max())
    figures = (("lift of these rows over that of noisy counts (times)", most),)
    return Section("noisy_lifts", "What noise leaves open of the limit", words, ("", "figure"), figures)


@dataclass(frozen=True)
class NoisyRowCounts(RowCounts):
    """Noisy counts of rows, which every design and report uses in place of the exact counts.

    Attributes
    ----------
    noisy : NoisyCounts
        Noisy counts of the design rows and of the other rows; ``table`` holds their sum.
    shares : ndarray of shape (n_x,)
        Share of each public symbol in the noise of its cell; below 1 for rare symbols, which share one cell.
    """

    noisy: NoisyCounts = field(kw_only=True)
    shares: NDArray[np.float64] = field(kw_only=True, repr=False)
    _exact: ContingencyTable = field(kw_only=True, repr=False)

    @property
    def exact(self) -> ContingencyTable:
        """Exact counts, used only to check that the second pass reads the same rows."""
        return self._exact


def add_noise(
    layout: Layout, counts: RowCounts, promise: DPGuarantee, source: Randomness, min_count: int = 0
) -> NoisyRowCounts:
    """Return noisy counts in place of the exact counts, without the number of clipped sensitive values.

    Public symbols with fewer than ``min_count`` rows share one cell, which gets noise as a whole. A ledger records the
    fit before any result is visible.

    Raises
    ------
    ColumnError
        If a row has an undeclared sensitive value; the message names only the column.
    """
    if promise.ledger is not None:
        promise.ledger.book(promise)
    secrets, exact, order = promise.secrets(layout), counts.table, counts.order
    key = partial(noise_key, source, promise.keyword)
    if order is not None:
        promise, order = promise.look_at_order(order, exact, secrets, key())
    design = getattr(layout, "design", None)  # for certified latent classes
    if design is None:
        public, (noisy, shares) = exact.public, _pool_noise(promise, exact, secrets, key(), min_count)
        table = noisy.design
    else:
        classes = cast("FittedClasses", layout)
        cells = np.arange(classes.partition.n_cells, dtype=np.int32)
        public = Alphabet.from_table({layout.public[0]: cells}, layout.public)
        if design.all():  # with a single class, only rows of its model are counted
            rows = np.bincount(secrets.encode(layout.columns(classes.source)), minlength=len(secrets))[:, None]
            noisy = NoisyCounts(rows - rows // 2, rows // 2, (rows // 2).astype(float), None)
        else:
            noisy = promise.add_noise(_exact_counts(classes, exact, promise, secrets), key())
        table = _each_once(_each_once(noisy.design + noisy.holdout).T).T
        shares = np.ones(len(public))
    noisy_table = copy(exact)
    noisy_table.public, noisy_table.sensitive, noisy_table.counts = public, secrets, table
    return NoisyRowCounts(noisy_table, order, noisy=noisy, shares=shares, _exact=exact)


def _pool_noise(
    promise: DPGuarantee, exact: ContingencyTable, secrets: Alphabet, key: NoiseKey, min_count: int
) -> tuple[NoisyCounts, NDArray[np.float64]]:
    """Return noisy counts of (sensitive value, symbol) with rare symbols pooled, and the symbols' shares of pools."""
    if exact.rows is not None or exact.row_counts is not None:
        raise InvalidParameter(f"{promise.keyword} requires that each row is one person: leave weights out")
    counts = np.zeros((len(secrets), len(exact.public)), np.int64)
    np.add.at(counts, places(exact.sensitive, promise, secrets), exact.counts)
    rows = counts.sum(axis=0)
    is_rare = rows < min_count
    labels = np.where(is_rare, 0, np.cumsum(~is_rare) - (not is_rare.any()))
    shares = rows / np.bincount(labels, rows)[labels]
    merged = np.stack([np.bincount(labels, row) for row in counts]).astype(np.int64)
    noisy = promise.add_noise(merged[None], key)
    return noisy._replace(design=_each_once(noisy.design)[:, labels] * (shares if is_rare.any() else 1)), shares


def _exact_counts(
    layout: FittedClasses, counts: ContingencyTable, promise: DPGuarantee, secrets: Alphabet
) -> NDArray[np.int64]:
    """Exact counts of (part, declared sensitive value, cell), where the parts are design rows and other rows."""
    result = np.zeros((2, len(secrets), layout.partition.n_cells), np.int64)
    place, cells = places(counts.sensitive, promise, secrets), np.array(counts.public.symbols, np.intp)
    result[:, place[:, None], cells] = layout.divide_counts(counts)
    return result


def places(seen: Alphabet, promise: DPGuarantee, secrets: Alphabet) -> NDArray[np.int32]:
    """Return the place, among the declared values, of each sensitive value that occurs; refuse undeclared values."""
    place = secrets.encode(seen.decode(np.arange(len(seen))))
    if (place < 0).any():
        for j, (name, declared) in enumerate(zip(seen.columns, secrets.levels, strict=True)):
            is_declared = np.append(look_up(seen.levels[j], declared) != UNSEEN, len(declared) in secrets.codes[:, j])
            if not is_declared[seen.codes[:, j]].all():
                raise promise.declaration_error(name)
    return place


def _each_once(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts in which each sensitive value without rows gets one row, from the largest count of the fullest cell."""
    result = counts.copy()
    cell = int(result.sum(axis=0).argmax())
    for secret in np.flatnonzero(result.sum(axis=1) == 0):
        result[result[:, cell].argmax(), cell] -= 1
        result[secret, cell] += 1
    return result
