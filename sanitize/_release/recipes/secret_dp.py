"""Secrets under differential privacy: what is promised for which values, who can have it, and what a report says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._checks import required
from sanitize._sampling.count_noise import CountNoise, Gaussian
from sanitize._sampling.noise import NoiseKey
from sanitize._tables.columns import UNSEEN, look_up
from sanitize.alphabet import Alphabet
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.report import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._release.layout import Layout
    from sanitize._release.recipes.grown_layout import GrownLayout
    from sanitize._sampling.noise import Randomness
    from sanitize.joint import ContingencyTable
    from sanitize.report import LeakageReport, ReleaseFacts


# Noise is drawn for each of them in each cell, and so many rows of a secret are needed that more make no sense.
_MOST_SECRETS = 64
# Rows: more noise than that leaves nothing to certify, and of less there is no Gaussian.
_LARGEST_SIGMA, _LEAST_SIGMA = 1e3, 1 / 64
_VOID = (
    "secret_dp is void: the noise on the counts came from random_state=<int>, and whoever guesses it can take it off"
)


@dataclass(frozen=True)
class SecretDP:
    """Differential privacy of each row's secret in everything that is published, as ``secret_dp=`` of an estimator.

    Counts of secrets get noise before a design, a verdict, a report or a message sees them, so all of these together
    are (ε, δ)-private between tables in which one row's secret is another declared value, and all else is the same. One
    row a person. Each further fit of the same table costs (ε, δ) again.

    The noise is two-sided geometric [GRS], under which δ is 0, or discrete Gaussian [CKS] where that is the smaller
    one, which takes a δ above ε/250.

    Parameters
    ----------
    eps : float
        Level in nats, > 0.
    delta : float
        Probability of more, far below one over the rows.
    values : dict of column to list of values
        Values that each sensitive column may have, None for missing, all of which are public. A column with ``bins``
        is left out: it has their intervals, and no missing value. Values that few rows have leave little to certify.

    Examples
    --------
    >>> from sanitize.transformers import SecretDP
    >>> SecretDP(1.0, 1e-6, {"income": ["<=50K", ">50K"]})
    SecretDP(eps=1.0, delta=1e-06, values={'income': ('<=50K', '>50K')})
    """

    eps: float
    delta: float
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        eps = required("eps", self.eps, "be a finite number > 0", lambda given: 0 < given < inf)
        delta = required("delta", self.delta, "be a number above 0 and below 1", lambda given: 0 < given < 1)
        _noise(eps, delta, _MOST_SECRETS)
        lists = self.values.values() if isinstance(self.values, Mapping) else [None]
        if not all(isinstance(values, (list, tuple)) and values for values in lists):
            raise InvalidParameter(
                "values of SecretDP must be a dict of columns to lists of the values they may have, for example "
                "{'income': ['low', 'high']}"
            )
        object.__setattr__(self, "values", {name: tuple(values) for name, values in self.values.items()})

    def noise(self, n_secrets: int) -> CountNoise:
        """Noise on the counts of so many secrets."""
        return _noise(self.eps, self.delta, n_secrets)

    def alphabet(self, layout: Layout) -> Alphabet:
        """Alphabet of every combination of declared values, whether or not a row has it.

        Raises
        ------
        ColumnError, InvalidParameter
            If a sensitive column has no values declared, or another column has.
        """
        for name in self.values:
            if name not in layout.sensitive:
                raise ColumnError(f"secret_dp declares values of {name!r}, which is no sensitive column", name)
        levels = [self._levels(name, layout) for name in layout.sensitive]
        n = int(np.prod([len(level) for level in levels]))
        if not 2 <= n <= _MOST_SECRETS:
            raise InvalidParameter(
                f"secret_dp takes 2 to {_MOST_SECRETS} secrets (all combinations of declared values), got {n}"
            )
        columns = zip(*product(*levels), strict=True)
        table = {name: list(column) for name, column in zip(layout.sensitive, columns, strict=True)}
        orders = {name: order for name, bins in layout.bins.items() if (order := bins.order) is not None}
        found = Alphabet.from_table(table, layout.sensitive, orders)
        if len(found) < n:
            raise InvalidParameter("secret_dp declares a value twice; list each value of a column once")
        return found

    def _levels(self, name: str, layout: Layout) -> list[Any]:
        order = layout.bins[name].order if name in layout.bins else None
        if order is not None:
            if name in self.values:
                raise ColumnError(
                    f"secret_dp declares values of {name!r}, which has bins: its intervals are its values", name
                )
            labels: list[Any] = order.to_pylist()
            return labels
        if name not in self.values:
            raise ColumnError(
                f"secret_dp must declare the values of the sensitive column {name!r}, as values={{{name!r}: [...]}}, "
                "or it must have bins with edges: which values occur is told otherwise",
                name,
            )
        return list(self.values[name])


@cache
def _noise(eps: float, delta: float, n_secrets: int) -> CountNoise:
    """The smaller one of geometric noise and of Gaussian noise of this level."""
    from sanitize.accounting import moved_count_delta, moved_count_sigma

    geometric = CountNoise.geometric(Fraction(eps), n_secrets)
    # σ of Gaussian noise that would be as large on a count.
    sigma = (geometric.variance / (1 - 1 / n_secrets)) ** 0.5
    if sigma > _LEAST_SIGMA and moved_count_delta(eps, min(sigma, _LARGEST_SIGMA)) <= delta:
        return CountNoise(Gaussian(Fraction(moved_count_sigma(eps, delta))), n_secrets)
    if sigma > _LARGEST_SIGMA:
        raise InvalidParameter(
            f"eps={eps:g} and delta={delta:g} ask for noise of more than {_LARGEST_SIGMA:g} rows on each count; "
            "raise eps"
        )
    return geometric


def check_settings(secret_dp: object, settings: Mapping[str, Any]) -> None:
    """Refuse settings under which something but the noisy counts would look at secrets."""
    if not isinstance(secret_dp, SecretDP):
        raise InvalidParameter(
            "secret_dp must be a SecretDP, for example SecretDP(1.0, 1e-6, {'income': ['low', 'high']}), got "
            f"{type(secret_dp).__name__}"
        )
    if settings["confidence"] is None:
        raise InvalidParameter(
            "secret_dp needs confidence=, for example 0.95: what noise leaves of the counts says nothing certain of "
            "these rows"
        )
    if settings["keep_sensitive"]:
        raise InvalidParameter("keep_sensitive=True would release the secrets themselves; drop it with secret_dp")
    for name in ("sensitive", "public"):
        if callable(settings[name]):
            raise InvalidParameter(f"{name} must name its columns with secret_dp, because a function sees the secrets")
    bins = settings["bins"] or {}
    if not isinstance(bins, Mapping) or any(isinstance(edges, (int, np.integer, str)) for edges in bins.values()):
        raise InvalidParameter("bins must have edges with secret_dp, because quantiles and steps look at the secrets")
    noise_key(settings["random_state"])


def noise_key(source: Randomness) -> NoiseKey:
    """Key that the noise on counts is derived from: of the user, of the operating system, or of a seed."""
    if source is None:
        return NoiseKey.from_system()
    if isinstance(source, NoiseKey):
        return source
    if isinstance(source, (int, np.integer)) and not isinstance(source, bool):
        return NoiseKey.from_seed(int(source))
    raise InvalidParameter(
        f"random_state must be None or a NoiseKey with secret_dp (an integer in tests), got {type(source).__name__}"
    )


def with_level(facts: ReleaseFacts, secret_dp: SecretDP, *, seeded: bool) -> ReleaseFacts:
    """Facts of a release whose counts of secrets hold noise, which a seed undoes."""
    notes = (*facts.warnings, _VOID) if seeded else facts.warnings
    return replace(facts, secret_dp=(secret_dp.eps, secret_dp.delta), warnings=notes)


def with_promise(report: LeakageReport, secret_dp: SecretDP, n_secrets: int) -> LeakageReport:
    """Report that says what is promised of each row's secret, and calls its figures of secrets estimates."""
    of_public_columns = ("utility", "normalized_utility", "mean_column_utility", "mean_pair_utility")
    measures = tuple(
        line if line.name in of_public_columns else replace(line, kind="estimate") for line in report.measures
    )
    return replace(report, measures=measures, sections=(_section(secret_dp, n_secrets), *report.sections))


def _section(secret_dp: SecretDP, n_secrets: int) -> Section:
    level = f"({secret_dp.eps:g}, {secret_dp.delta:g})"
    words = (
        f"Everything published from this fit is {level}-differentially private in each row's secret, whatever is known "
        "of all others, where a person has one row and its secret is one of the values declared: all counts of secrets "
        "got noise before anything else saw them, and figures about secrets are of the noisy counts. Not covered: the "
        "public columns, who has a row and where it stands, several rows of one person, secrets that follow from "
        f"public columns, and how long a fit takes; every other fit of this table costs {level} again. The budget "
        "holds for the source with the confidence above; whether it holds for the frequencies of these rows nobody "
        "may look up."
    )
    figures = (
        ("eps", secret_dp.eps),
        ("delta", secret_dp.delta),
        ("noise on each count (standard deviation, rows)", secret_dp.noise(n_secrets).variance ** 0.5),
    )
    return Section("secret_dp", "Secrets under differential privacy", words, ("", "figure"), figures, public=True)


def with_noise(layout: GrownLayout, counts: ContingencyTable, secret_dp: SecretDP, key: NoiseKey) -> GrownLayout:
    """Layout with noisy counts of the rows of the design and of the others; ``counts`` becomes the sum of both.

    The exact counts are overwritten: whoever holds the table holds the noisy one from here on. Rows of the design and
    all others are different rows, so one level of noise serves both tables.

    Raises
    ------
    ColumnError
        If a row has a secret that was not declared; it names the column alone.
    """
    secrets = secret_dp.alphabet(layout)
    tables = _declared(layout, counts, secrets)
    # Other counts have other noise, also under a key that is used again by mistake.
    digest = hashlib.sha256(repr(tables.shape).encode() + tables.tobytes()).hexdigest()
    n_parts, n_secrets, n_cells = tables.shape
    noise = secret_dp.noise(n_secrets)
    drawn = noise.draw(key.derive(f"noise on counts of secrets {digest}"), n_parts * n_cells)
    rows = tables.sum(axis=1)
    noisy = tables + drawn.reshape(n_secrets, n_parts, n_cells).swapaxes(0, 1)
    # Rows of a cell are public, so the mean of its noise is known and taken off.
    centred = noisy - (noisy.sum(axis=1) - rows)[:, None] / n_secrets
    design, fresh = (_whole(told, n) for told, n in zip(centred, rows, strict=True))
    counts.sensitive, counts.counts = secrets, _each_once(design + fresh)
    return replace(layout, secrets=secrets, design=design, fresh=centred[1], noise=noise)


def _declared(layout: GrownLayout, counts: ContingencyTable, secrets: Alphabet) -> NDArray[np.int64]:
    """Exact counts of (part, declared secret, cell), the parts being the rows of the design and all others."""
    seen = counts.sensitive
    place = secrets.encode(seen.decode(np.arange(len(seen))))
    if (place < 0).any():
        for name, level, declared, codes in zip(seen.columns, seen.levels, secrets.levels, seen.codes.T, strict=True):
            known = np.append(look_up(level, declared) != UNSEEN, (secrets.codes == len(declared)).any())
            if not known[codes].all():
                raise ColumnError(
                    f"column {name!r} has rows with a value, or a missing one, that secret_dp does not declare; "
                    "declare all values that may occur, None among them if some are missing",
                    name,
                )
    tables = np.zeros((2, len(secrets), counts.counts.shape[1]), np.int64)
    for table, part in zip(tables, layout.apart(counts), strict=True):
        table[place] = part
    return tables


def _whole(told: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole counts >= 0 (n_s, n_cells) next to noisy ones, that add up to the rows of each cell."""
    ordered = -np.sort(-told, axis=0)
    left = (np.cumsum(ordered, axis=0) - rows) / np.arange(1, len(told) + 1)[:, None]
    last = len(told) - 1 - np.argmax((ordered > left)[::-1], axis=0)
    nearest = np.maximum(told - left[last, np.arange(told.shape[1])], 0.0)
    nearest[:, rows == 0] = 0.0
    found = np.floor(nearest + 1e-9).astype(np.int64)
    rank = np.argsort(np.argsort(found - nearest, axis=0, kind="stable"), axis=0, kind="stable")
    return found + (rank < rows - found.sum(axis=0))


def _each_once(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts in which every secret has a row, as a law needs it: one of the largest cell changes its secret."""
    found = counts.copy()
    cell = int(found.sum(axis=0).argmax())
    for secret in np.flatnonzero(found.sum(axis=1) == 0):
        found[found[:, cell].argmax(), cell] -= 1
        found[secret, cell] += 1
    return found
