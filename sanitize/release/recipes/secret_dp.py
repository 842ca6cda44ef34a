"""Differential privacy of each row's secret: its noise, and what a report says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any

from sanitize._util.checks import check_number
from sanitize._util.sampling.count_noise import CountNoise, Gaussian, digest_of_counts, project_counts
from sanitize.errors import InvalidParameter
from sanitize.release.recipes.promise import MOST_SECRETS, DPGuarantee, NoisyCounts
from sanitize.report import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.alphabet import Alphabet
    from sanitize.release.layout import CellLayout, Layout
    from sanitize.report import LeakageReport


# Rows: more noise than that leaves nothing to certify, and of less there is no Gaussian.
_LARGEST_SIGMA, _LEAST_SIGMA = 1e3, 1 / 64


@dataclass(frozen=True)
class SecretDP(DPGuarantee):
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
    ledger : DPLedger, optional
        Books every fit, and refuses one that is beyond its total.

    Examples
    --------
    >>> from sanitize.transformers import SecretDP
    >>> SecretDP(1.0, 1e-6, {"income": ["<=50K", ">50K"]})
    SecretDP(eps=1.0, delta=1e-06, values={'income': ('<=50K', '>50K')})
    """

    eps: float
    delta: float
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ledger: Any = field(default=None, repr=False, compare=False)
    keyword = "secret_dp"
    exact = ("utility", "normalized_utility", "mean_column_utility")

    def __post_init__(self) -> None:
        eps = check_number("eps", self.eps, "be a finite number > 0", lambda value: 0 < value < inf)
        delta = check_number("delta", self.delta, "be a number above 0 and below 1", lambda value: 0 < value < 1)
        _noise(eps, delta, MOST_SECRETS)
        self._declare()

    def noise(self, n_secrets: int) -> CountNoise:
        """Noise on the counts of so many secrets."""
        return _noise(self.eps, self.delta, n_secrets)

    def secrets(self, layout: Layout) -> Alphabet:
        """Alphabet of the sensitive columns, the only ones that values are declared of."""
        self.check_names(layout.sensitive, "sensitive")
        return super().secrets(layout)

    def add_noise(self, tables: NDArray[np.int64], key: NoiseKey) -> NoisyCounts:
        """Counts that add up to the rows of each cell, as they did; one level serves both parts, of different rows."""
        n_parts, n_secrets, n_cells = tables.shape
        noise = self.noise(n_secrets)
        drawn = noise.draw(key.derive(f"noise on counts of secrets {digest_of_counts(tables)}"), n_parts * n_cells)
        rows = tables.sum(axis=1)
        noisy = tables + drawn.reshape(n_secrets, n_parts, n_cells).swapaxes(0, 1)
        # Rows of a cell are public, so the mean of its noise is known and taken off.
        centred = noisy - (noisy.sum(axis=1) - rows)[:, None] / n_secrets
        design, holdout = (project_counts(counts, n) for counts, n in zip(centred, rows, strict=True))
        return NoisyCounts(design, holdout, centred[1], noise)

    def section(self, report: LeakageReport, layout: CellLayout) -> Section:
        """Section on the guarantee for each row's secret."""
        level = f"({self.eps:g}, {self.delta:g})"
        words = (
            f"Everything published from this fit is {level}-differentially private in each row's secret, whatever is "
            "known of all others, where a person has one row and its secret is one of the values declared: all counts "
            "of secrets got noise before anything else saw them, and figures about secrets are of the noisy counts. "
            "Not covered: the public columns, who has a row and where it stands, several rows of one person, secrets "
            "that follow from public columns, and how long a fit takes; every other fit of this table costs "
            f"{level} again. The budget holds for the source with the confidence above; whether it holds for the "
            "frequencies of these rows nobody may look up."
        )
        figures = (
            ("eps", self.eps),
            ("delta", self.delta),
            ("noise on each count (standard deviation, rows)", self.noise(len(self.secrets(layout))).variance ** 0.5),
        )
        return Section("secret_dp", "Secrets under differential privacy", words, ("", "figure"), figures)


@cache
def _noise(eps: float, delta: float, n_secrets: int) -> CountNoise:
    """The smaller one of geometric noise and of Gaussian noise of this level."""
    from sanitize.core.moved_counts import moved_count_delta, moved_count_sigma

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
