"""Differential privacy of whole rows, with rows from a private model, and the report sentences about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import exp, floor, inf, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._util.checks import check_number
from sanitize._util.formatting import times_down, times_up
from sanitize._util.sampling.count_noise import Bits, Gaussian, Geometric, RowNoise, digest_of_counts, whole
from sanitize.core.alphabet import Alphabet
from sanitize.core.binning import DateBins
from sanitize.core.budgets import loosest
from sanitize.core.conversions import power_from_dp, rho_from_dp
from sanitize.mechanisms import as_lift_budget
from sanitize.release.recipes.private_model import PrivateModel
from sanitize.release.recipes.promise import DPGuarantee, NoisyCounts
from sanitize.report import SYNTHETIC, Section
from sanitize.tables.columns import as_arrow, mask_values, value_type
from sanitize.tables.ordered import categories, is_ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.release.classes import LatentClassModel
    from sanitize.release.layout import CellLayout, Layout
    from sanitize.report import LeakageReport
    from sanitize.tables.columns import ArrowColumn

# Share of the rows from which everything is learned; the others certify: neither side has too few for its noise.
RECORD_SHARE = 0.5
# Shares of ε that the counts of (secret, cell), and the counts that find undeclared values, take from the model. The
# former are few and large; a value that is found needs many rows anyway.
_CELLS, _VALUES = Fraction(3, 20), Fraction(1, 5)
# In nats: at smaller levels, the noise drowns any table.
_LEAST = 1e-6
# Denominator of the rate of a choice: exact draws need a fraction, which is rounded down by at most a billionth.
_FINE = 1 << 30


@dataclass(frozen=True)
class RecordDP(DPGuarantee):
    """Differential privacy of whole rows in everything that is published, as ``record_dp=`` of an estimator.

    Half of the rows, chosen by position, are read only through noisy counts of values, of pairs, and of sensitive
    values in classes. A private model of all columns is learned from these counts, and classes are fitted to rows drawn
    from the model. The other half certifies the release, also through noisy counts. With ``n_classes=1`` there is
    nothing to certify: all rows give the counts, and the model's rows are written. So everything except the symbols
    drawn for the rows is 2ε-differentially private when one row is replaced by another. For anybody who knows none of
    the other columns of a row, its secret makes any outcome computed from the file at most e^(upper + 2ε) times as
    likely as it is without knowing the secret.

    With a δ, the noise is discrete Gaussian, which is smaller for more than a few columns, and public columns need not
    be declared. The values of an undeclared column are then those whose noisy count exceeds a threshold, which a value
    of one row passes with probability at most δ/2 in all such columns together; other values are written as missing.
    Everything except the symbols is then (2ε, δ (1 + e^ε))-private, and the bound e^(upper + 2ε) holds except for a
    probability of δ (1 + e^(upper + ε)).

    The number of rows is public, and so are the names and types of the columns. Adding or removing a row is not
    covered, because it moves other rows from one half to the other. An undeclared value in a declared column raises an
    error that names the column, which is for the owner alone. Each further fit of the same table costs as much again.

    Parameters
    ----------
    eps : float
        Level in nats, > 0. Replacing a row costs twice the level: once for the row that leaves the counts of its half,
        and once for the row that enters.
    values : dict of column to list of values
        Values that each column may have, sensitive or not; None stands for missing. For a column with ``bins``, the
        intervals are the values, and ``[None]`` allows missing ones; values outside the edges go to the nearest one.
    delta : float
        Probability that the level is exceeded, far below one over the number of rows; a larger δ allows less noise. At
        0, every column needs declared values or bins.
    ledger : DPLedger, optional
        Records every fit, and refuses a fit that exceeds its total.

    Notes
    -----
    Proof. The half of a row follows from its position and the number of rows. So two tables with equally many rows that
    differ in the row at one position have the same halves, and differ in the counts of one half. Two steps lead from
    one table to the other: to the counts without this row, with the number of rows kept as a constant, and on to the
    counts with the other row. In each step, each look changes by 1 in one place, and each score by at most 1. So all
    looks together, whose shares of ε add up to 1, change the probability of their results by a factor of at most e^ε.
    With a δ, the looks use shares of a ρ of zero-concentrated differential privacy, by Gaussian noise of variance
    1/(2ρ) on counts and the exponential mechanism of √(8ρ) for choices. This implies (ε, δ)-differential privacy, or
    (ε, δ/2) in addition to the δ/2 of found values. Two steps make 2ε and δ + e^ε δ. Everything else except the symbols
    is computed from the results of the looks.

    Examples
    --------
    >>> from sanitize.transformers import RecordDP
    >>> RecordDP(1.0, {"income": ["<=50K", ">50K"], "sex": ["f", "m", None]})
    RecordDP(eps=1.0, values={'income': ('<=50K', '>50K'), 'sex': ('f', 'm', None)}, delta=0.0)
    """

    eps: float
    values: Mapping[str, Sequence[Any]]
    delta: float = 0.0
    ledger: Any = field(default=None, repr=False, compare=False)
    keyword = "record_dp"

    def __post_init__(self) -> None:
        check_number("eps", self.eps, "be a number from 1e-6 to 100", lambda value: _LEAST <= value <= 100)
        check_number("delta", self.delta, "be a number from 0 to 0.1", lambda value: 0 <= value <= 0.1)
        self._declare()

    def success_bound(self, chance: float) -> float:
        """Largest success probability of an attack on a row, given its success probability without this row.

        The attacker may know all other rows, and everything that is published except the symbol drawn for this row. The
        attack may guess which of k rows somebody has, a sensitive value, or a whole row within a distance. The exact
        distribution of the noise gives a smaller bound than the level 2ε alone.

        Parameters
        ----------
        chance : float
            Success probability if another row takes the place, between 0 and 1.

        Notes
        -----
        f-differential privacy [DRS]; proof 11 in docs/theory/proofs.md.

        Examples
        --------
        >>> from sanitize.transformers import RecordDP
        >>> promise = RecordDP(0.5, {"income": ["<=50K", ">50K"]})
        >>> [round(promise.success_bound(chance), 3) for chance in (0.001, 0.1, 0.5)]
        [0.003, 0.272, 0.745]
        """
        chosen = [float(PrivateModel.share_of_choices(share)) for share in (Fraction(1), 1 - _CELLS)]
        parts = [[1.0, 1.0], *([1 - share, 1 - share, 2 * share] for share in chosen)]
        if (rho := self.rho(self.delta)) is None:
            return max(power_from_dp([self.eps * part for part in each], chance) for each in parts)
        root = max((-log(chance)) ** 0.5 - (rho * (2 + 2 * chosen[0])) ** 0.5, 0.0) if chance else inf
        power = max(power_from_dp([self.eps, self.eps], chance), exp(-(root**2)))
        return min(1.0, power + self.delta * (1 + exp(self.eps)))

    def add_noise(self, tables: NDArray[np.int64], key: NoiseKey) -> NoisyCounts:
        """Add independent noise to counts; the counts of the design use the share of ε that the model left."""
        level = Fraction(self.eps)
        design = self.look(key.derive("cells"))(tables[0], _CELLS)
        fresh = Looks(key.derive("fresh cells"), self.eps, None)(tables[1], Fraction(1))
        n_design, n_fresh = (int(table.sum()) for table in tables)  # public: it is the share of rows by position
        return NoisyCounts(
            whole(design, n_design), whole(fresh, n_fresh), fresh.astype(float), RowNoise(level, n_fresh)
        )

    def describe_people(self, report: LeakageReport, layout: CellLayout) -> str:
        """Describe the guarantee for the people in the data, as sentences of a report."""
        most, _, beyond = self._bounds(report, layout)
        words = (
            f"Whatever anybody computes from the file makes a row's sensitive value at most {times_up(most)} times as "
            "likely"
        )
        return f"{words}{beyond}."

    def _bounds(self, report: LeakageReport, layout: CellLayout) -> tuple[float, float, str]:
        """Bounds on the log-ratio of a file's probabilities under two sensitive values of a row, and a phrase on δ."""
        assert report.budget is not None
        budget, level = as_lift_budget(loosest(report.budget)), 2 * self.eps
        # With a single cell, the symbols reveal nothing about their rows.
        upper, lower = (0.0, 0.0) if layout.partition.n_cells == 1 else (budget.upper, budget.lower)
        beyond = f", but for a probability of {self._delta_term(upper)}" if self.delta else ""
        return upper + level, -lower - level, beyond

    def _delta_term(self, upper: float) -> str:
        """Largest contribution of δ, δ (1 + e^(upper + ε)), rounded up: for one row more and one row less."""
        return times_up(min(log(self.delta) + float(np.logaddexp(0, upper + self.eps)), 0.0))

    def section(self, report: LeakageReport, layout: CellLayout) -> Section:
        """Write the report section about the guarantee for each row."""
        assert report.confidence is not None
        most, least, beyond = self._bounds(report, layout)
        level = f"{2 * self.eps:g}"
        if self.delta:
            level = f"({level}, {self._delta_term(0.0)})"
        words = (
            f"Everything published from this fit but the symbols drawn for the rows is {level}-differentially private "
            "for another row in place of one; how many rows there are is public. With these symbols, whatever anybody "
            f"computes of the file is at most {times_up(most)} times as likely, and at least {times_down(least)} "
            f"times, once a row's sensitive value is known, whatever is known of all other rows{beyond}"
        )
        if layout.partition.n_cells > 1:
            words += f", {'and' if beyond else 'but'} for a chance of {100 * (1 - report.confidence):.3g} % that the "
            words += "certificate is wrong"
        words += (
            ". Not covered: who knows other columns of the row, or a part of them; several rows of one person, which "
            "add up, and those of relatives; the number of rows and the types of columns; how long a fit takes. Every "
            f"other fit of this table costs {level} again. All figures are of noisy counts and of rows of a private "
            "model."
        )
        figures = (("eps", self.eps), ("delta", self.delta), ("at most (nats)", most))
        title = SYNTHETIC if layout.partition.n_cells == 1 else "Rows under differential privacy"
        return Section(self.keyword, title, words, ("", "figure"), figures)

    def learn_model(
        self, layout: Layout, source: Mapping[str, Any], chosen: NDArray[np.bool_], key: NoiseKey
    ) -> tuple[PrivateModel, dict[str, Alphabet]]:
        """Learn a private model of the chosen rows; return it with the alphabet of each of its columns.

        If all rows are chosen, no rows certify, and sensitive columns, which are not written, are drawn independently.

        Raises
        ------
        ColumnError
            If a row has an undeclared value; the message names only the column.
        """
        names = (*layout.sensitive, *layout.public)
        self.check_names(names, "sensitive or public")
        columns, codes = layout.columns(source), []
        undeclared = [name for name in layout.public if self.delta and not (name in self.values or name in layout.bins)]
        look, is_all = self.look(key.derive("model"), finds_values=bool(undeclared)), bool(chosen.all())
        alphabets = {name: self.alphabet(layout, [name]) for name in names if name not in undeclared}
        of_model, noisy_counts = 1 - _CELLS * (not is_all) - _VALUES * bool(undeclared), {}
        for name in undeclared:
            # A single look finds the values and also serves as their counts in the model.
            share = _VALUES / len(undeclared) + PrivateModel.share_of_levels(of_model, len(names))
            column = columns[name].filter(pa.array(chosen))
            at = len(alphabets)
            alphabets[name], noisy_counts[at] = _find_values(
                column, name, share, self.delta / 2 / len(undeclared), look
            )
        for name, entry in alphabets.items():
            place = entry.encode({name: columns[name]})
            if (place < 0).any() and name not in undeclared:
                raise self.declaration_error(name)
            # The last level of a column with found values is missing, which also stands for all values not found.
            codes.append(np.where(place < 0, len(entry) - 1, place)[chosen].astype(np.intp))
        sizes = [len(alphabet) for alphabet in alphabets.values()]
        ordered = [name in layout.bins or is_ordered(entry.levels[0].type, name) for name, entry in alphabets.items()]
        n_alone = len(layout.sensitive) * is_all
        return PrivateModel.learn(codes, sizes, ordered, of_model, look, noisy_counts, n_alone), alphabets

    def look(self, key: NoiseKey, *, finds_values: bool = False) -> Looks:
        """Make noisy access to the rows at the level ε or, if δ is positive, at the level ρ that implies (ε, δ).

        To find values, half of δ is left for the threshold on their counts.
        """
        return Looks(key, self.eps, self.rho(self.delta / 2 if finds_values else self.delta))

    def rho(self, delta: float) -> float | None:
        """Level of zero-concentrated differential privacy that implies (ε, δ) for one row; None without δ."""
        return rho_from_dp(self.eps, delta) if delta else None

    def model_rows(
        self, layout: Layout, source: Mapping[str, Any], chosen: NDArray[np.bool_], key: NoiseKey
    ) -> tuple[dict[str, pa.Array], Callable[..., LatentClassModel]]:
        """Learn a private model of chosen rows; return as many rows as the table has, and a function for classes."""
        model, alphabets = self.learn_model(layout, source, chosen, key)
        drawn = model.draw(len(chosen), key.derive("rows of the model"))
        rows = {
            name: decode_levels(layout, alphabet, entry, as_arrow(source[name], name).type, key)
            for (name, alphabet), entry in zip(alphabets.items(), drawn, strict=True)
        }
        return rows, partial(model.as_classes, alphabets)


class Looks:
    """Noisy access to counts and scores; every look has independent noise, even if counts or keys repeat.

    Each look uses a share of a level. If the level is ε, counts get geometric noise and choices use the exponential
    mechanism of ε. If the level is a zero-concentrated ρ, counts get discrete Gaussian noise of variance 1/(2ρ) and
    choices the exponential mechanism of √(8ρ), because the mechanism of ε is ε²/8-concentrated.
    """

    def __init__(self, key: NoiseKey, eps: float, rho: float | None) -> None:
        self._key, self._eps, self._rho, self._looks = key, Fraction(eps), rho, 0

    def __call__(self, counts: NDArray[np.int64], share: Fraction) -> NDArray[np.int64]:
        """Return counts with noise for a share of the level."""
        return counts + self.noise(share).draw(self._next_key(counts), counts.size).reshape(counts.shape)

    def choose(self, scores: NDArray[np.int64], share: Fraction) -> int:
        """Return the position of a high score, by the exponential mechanism; one row changes a score by at most 1."""
        rate = share * self._eps / 2
        if self._rho is not None:
            rate = Fraction(floor(_FINE * (2 * float(share) * self._rho) ** 0.5), _FINE)
        bits, below = Bits(self._next_key(scores)), (scores.max() - scores).tolist()
        while True:
            place = bits.uniform(len(below))
            if bits.decays(below[place] * rate.numerator, rate.denominator):
                return place

    def deviation(self, share: Fraction) -> float:
        """Standard deviation of the noise on a count."""
        return float(self.noise(share).variance ** 0.5)

    def noise(self, share: Fraction) -> Gaussian | Geometric:
        """Distribution of the noise on each count of a look."""
        if self._rho is None:
            return Geometric(share * self._eps)
        return Gaussian(Fraction(floor(64 / (2 * float(share) * self._rho) ** 0.5) + 1, 64))

    def _next_key(self, seen: NDArray[np.int64]) -> NoiseKey:
        self._looks += 1
        return self._key.derive(f"look {self._looks} at {digest_of_counts(seen)}")


def _find_values(
    column: ArrowColumn, name: str, share: Fraction, delta: float, look: Looks
) -> tuple[Alphabet, NDArray[np.int64]]:
    """Return the values with a noisy count above a threshold and a final None, as an alphabet, and their counts.

    A value of a single row passes the threshold with probability δ. None counts all other rows, by their public total.

    P(1 + z > t) = P(z >= t) <= exp(-t²/2σ²); values that no row has are not considered.
    """
    values, counts = categories(column, name)
    least = floor(look.deviation(share) * (-2 * log(delta)) ** 0.5) + 1
    noisy = look(counts, share)
    common, common_counts = values.filter(pa.array(noisy > least)), noisy[noisy > least]
    alphabet = Alphabet.from_table({name: pa.concat_arrays([common, pa.nulls(1, common.type)])}, [name])
    counted = np.full(len(alphabet), max(len(column) - int(common_counts.sum()), 0))
    counted[alphabet.encode({name: common})] = common_counts
    return alphabet, counted


def decode_levels(
    layout: Layout, alphabet: Alphabet, codes: NDArray[np.intp], dtype: pa.DataType, key: NoiseKey
) -> pa.Array:
    """Convert drawn levels to values: declared values, or uniform numbers between the edges of a bin."""
    name, levels, place = alphabet.columns[0], alphabet.levels[0], alphabet.codes[codes, 0]
    missing = place == len(levels)
    indices = mask_values(np.where(missing, 0, place), missing)
    if name not in layout.bins:
        return levels.take(indices)
    bins = layout.bins[name]
    words = key.derive(f"values of {name}").words(0, 0, len(codes))
    drawn = bins.draw(pa.DictionaryArray.from_arrays(indices, levels), words)
    if not isinstance(bins, DateBins):
        return drawn
    return drawn.cast(pa.timestamp("s")).cast(value_type(dtype))
