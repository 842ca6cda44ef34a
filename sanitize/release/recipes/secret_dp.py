"""Differential privacy of each row's sensitive value: noise, and report sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import check_number
from sanitize._util.sampling.count_noise import CountNoise, Gaussian, digest_of_counts, project_counts
from sanitize.errors import InvalidParameter
from sanitize.release.recipes.promise import MOST_SECRETS, DPGuarantee, NoisyCounts, places
from sanitize.release.row_order import NoisyOrderAudit
from sanitize.report import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.alphabet import Alphabet
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.layout import Layout
    from sanitize.release.row_order import OrderAudit
    from sanitize.report import LeakageReport


# Largest standard deviation of the noise, in rows: more leaves nothing to certify. Levels are multiples of the least.
_LARGEST_SIGMA, _LEAST_SIGMA = 1e3, 1 / 64
# The look at the order of rows uses one part of this many parts of ε, because it only compares blocks of many rows.
ORDER_PART = 4


@dataclass(frozen=True)
class SecretDP(DPGuarantee):
    """Differential privacy of each row's sensitive value in everything published, as ``secret_dp=`` of an estimator.

    Counts of sensitive values get noise before a design, a verdict, a report or a message uses them. So all of these
    together are (ε, δ)-private between tables that differ only in the sensitive value of one row, both declared. Each
    row must be one person. Each further fit of the same table costs (ε, δ) again.

    Theorem. Let tables with public columns x and sensitive values s and s' differ in one row's sensitive value, and let
    R be everything published about a fit: the released rows in their order, kept columns, channel, report, footer.
    Then P(R in E | x, s) <= e^ε P(R in E | x, s') + δ for every event E. Proof: noisy counts N of (s, x) are
    (ε, δ)-private, since one of them grows by 1 and one of the same x shrinks by 1 (``sanitize._util.sampling``). The
    channel M(N) is a function of N and of public values, and each row is drawn from the line M(N)(. | x_i) of its own
    public values by a key that neither table decides. So R is made of N, x and that key alone: post-processing. Rows
    may keep their order, because an attacker who knows all other rows learns no more from them than from N.

    If a file keeps the order of its rows, noisy counts by block of rows decide whether the order alone exceeds the
    limit. They use a quarter of ε; both kinds of counts together are (ε, δ)-private by composition.

    The noise is two-sided geometric [GRS], for which δ is 0, or discrete Gaussian [CKS] if this is smaller, which takes
    a δ above ε/250.

    Parameters
    ----------
    eps : float
        Level in nats, > 0.
    delta : float
        Probability that the level is exceeded, far below one over the number of rows.
    values : dict of column to list of values
        Values that each sensitive column may have, which become public; None stands for missing. Leave out a column
        with ``bins``: its intervals are its values, without missing ones. Values with few rows leave little to certify.
    ledger : DPLedger, optional
        Records every fit, and refuses a fit that exceeds its total.

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
        """Distribution of the noise on counts of this many sensitive values."""
        return _noise(self.eps, self.delta, n_secrets)

    def look_at_order(
        self, order: OrderAudit, counts: ContingencyTable, secrets: Alphabet, key: NoiseKey
    ) -> tuple[SecretDP, OrderAudit]:
        """Return the guarantee with three quarters of ε, and noisy counts by block of rows, which use the rest."""
        look = Fraction(self.eps) / ORDER_PART
        rest = float(Fraction(self.eps) - look)
        if Fraction(rest) + look > Fraction(self.eps):
            rest = nextafter(rest, 0.0)
        noise = CountNoise.geometric(look, len(secrets))
        place = places(counts.sensitive, self, secrets)
        return replace(self, eps=rest), NoisyOrderAudit.from_audit(order, counts.sensitive, place, noise, key)

    def secrets(self, layout: Layout) -> Alphabet:
        """Alphabet of the declared values of the sensitive columns."""
        self.check_names(layout.sensitive, "sensitive")
        return super().secrets(layout)

    def add_noise(self, tables: NDArray[np.int64], key: NoiseKey) -> NoisyCounts:
        """Return noisy counts with the exact number of rows in each cell; design rows and others have equal noise."""
        n_parts, n_secrets, n_cells = tables.shape
        noise = self.noise(n_secrets)
        key = key.derive(f"noise on counts of sensitive values {digest_of_counts(tables)}")
        drawn = noise.draw(key, n_parts * n_cells)
        rows = tables.sum(axis=1)
        noisy = tables + drawn.reshape(n_secrets, n_parts, n_cells).swapaxes(0, 1)
        # The number of rows in a cell is public, so the mean of the cell's noise is known and is subtracted.
        centred = noisy - (noisy.sum(axis=1) - rows)[:, None] / n_secrets
        parts = [project_counts(counts, n) for counts, n in zip(centred, rows, strict=True)]
        # Without a certificate, all rows are design rows.
        return NoisyCounts(parts[0], parts[1] if n_parts > 1 else np.zeros_like(parts[0]), centred[-1], noise)

    def section(self, report: LeakageReport, layout: Layout) -> Section:
        """Write the report section about the guarantee for each row's sensitive value."""
        level = f"({self.eps:g}, {self.delta:g})"
        words = (
            f"Everything published from this fit is {level}-differentially private in each row's sensitive value, "
            "whatever is known of all others, if a person has one row and its value is one of those declared: all "
            "counts of sensitive values got noise before anything else saw them, and figures about them are of the "
            "noisy counts. Not covered: the public columns, who has a row and its place, several rows of one person, "
            "sensitive values that follow from public columns, and how long a fit takes. Every other fit of this "
            f"table costs {level} again. The limit holds for "
            f"{'the noisy counts' if report.confidence is None else 'the population with the confidence above'}; "
            "whether it holds for these rows themselves must not be looked up."
        )
        figures = (("eps", self.eps), ("delta", self.delta))
        return Section("secret_dp", "Sensitive values under differential privacy", words, ("", "figure"), figures)


@cache
def _noise(eps: float, delta: float, n_secrets: int) -> CountNoise:
    """Geometric or Gaussian noise of this level, whichever is smaller."""
    from sanitize.core.moved_counts import moved_count_delta, moved_count_sigma

    geometric = CountNoise.geometric(Fraction(eps), n_secrets)
    # Gaussian noise is used if it is smaller: this is the standard deviation at which both are as large on a count.
    sigma = (geometric.variance / (1 - 1 / n_secrets)) ** 0.5
    if sigma > _LEAST_SIGMA and moved_count_delta(eps, min(sigma, _LARGEST_SIGMA)) <= delta:
        return CountNoise(Gaussian(Fraction(moved_count_sigma(eps, delta))), n_secrets)
    if sigma > _LARGEST_SIGMA:
        raise InvalidParameter(
            f"eps={eps:g} and delta={delta:g} would need noise of more than {_LARGEST_SIGMA:g} rows on each count; "
            "raise eps"
        )
    return geometric
