"""Differential privacy of whole rows: rows of a private model in place of the table's, and what a report says."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, floor, log, log1p
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._util.checks import check_number
from sanitize._util.formatting import times_down, times_up
from sanitize._util.sampling.count_noise import Geometric, RowNoise, digest_of_counts, whole
from sanitize.core.alphabet import Alphabet
from sanitize.core.binning import DateBins
from sanitize.core.budgets import loosest
from sanitize.core.conversions import power_from_dp
from sanitize.mechanisms import as_lift_budget
from sanitize.release.recipes.private_model import PrivateModel
from sanitize.release.recipes.promise import DPGuarantee, NoisyCounts
from sanitize.report import SYNTHETIC, Section
from sanitize.tables.columns import as_arrow, mask_values, value_type
from sanitize.tables.ordered import categories, is_ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.release.layout import CellLayout, Layout
    from sanitize.release.recipes.private_model import Look
    from sanitize.report import LeakageReport
    from sanitize.tables.columns import ArrowColumn

# Share of the rows that all is learned from, and of ε that their counts of (secret, cell) take from the model, as do
# those of values where some are not declared.
RECORD_SHARE = 0.5
_CELLS, _VALUES = Fraction(3, 20), Fraction(1, 5)
# Nats: of smaller levels noise drowns any table.
_LEAST = 1e-6


@dataclass(frozen=True)
class RecordDP(DPGuarantee):
    """Differential privacy of whole rows in all that is published, as ``record_dp=`` of an estimator.

    Half of the rows, chosen by position, give noisy counts of values, of pairs and of secrets in classes, and nothing
    else; a private model of all columns follows, and the classes are fitted to rows drawn of it. The other half
    certifies, by noisy counts too. So everything but the symbols drawn for the rows is 2ε-differentially private
    for another row in place of one: whatever anybody computes from the file is at most e^(upper + 2ε) times as likely
    as without knowing a row's secret, to anybody who knows none of its other columns.

    With a δ public columns need not be declared. Their values are those of which the rows, counted with noise, are so
    many that a value of one row gets that far with a probability of δ in all such columns together; the others print
    as missing. All but the symbols is (2ε, δ (1 + e^ε))-private then, and the file so much as likely but for a
    probability of δ (1 + e^(upper + ε)).

    The number of rows is public, and so are the names and types of the columns: nothing is promised for a row more or
    less, which moves others from one half to the other. A value that a declared column does not have is refused, by an
    error that names its column: that error is for the owner alone. Each further fit of the same table costs as much.

    Parameters
    ----------
    eps : float
        Level in nats, > 0; another row in place of one costs it twice, once for what leaves the counts of its half and
        once for what comes.
    values : dict of column to list of values
        Values that each column may have, sensitive or not, None for missing. A column with ``bins`` has their
        intervals, and ``[None]`` where values may be missing; values outside of the edges count as the nearest.
    delta : float
        Probability of more, far below one over the rows. At 0 every column needs its values, or bins.
    ledger : DPLedger, optional
        Books every fit, and refuses one that is beyond its total.

    Notes
    -----
    Proof. The half of a row follows from its place and the number of rows. So two tables of as many rows that differ
    in the row at one place have the same halves, and differ in the counts of one of them. These pass through the counts
    in which that row is left out and the number of rows, a constant, stays: a step away from them each look changes by
    1 in one place, so that all looks together, whose rates add up to ε, change the probability of what they say by a
    factor of e^ε at most (and δ where values are found); two steps make 2ε and δ + e^ε δ. Everything else but the
    symbols is computed of what the looks say.

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
        """Largest chance that an attack on a row succeeds which has this chance where another row stands in its place.

        Whoever makes it may know all other rows, and everything that is published but the symbol drawn for this row.
        Which of k rows somebody has, a secret, a whole row within a distance: each has its chance without the row. The
        exact noise on counts gives less than the level of 2ε does.

        Parameters
        ----------
        chance : float
            Between 0 and 1.

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
        chosen = [float(PrivateModel.rate_of_choices(remainder)) for remainder in (1 - _CELLS, 1 - _CELLS - _VALUES)]
        halves = [[1.0, 1.0], *([1 - share, 1 - share, 2 * share] for share in chosen)]
        power = max(power_from_dp([self.eps * part for part in parts], chance) for parts in halves)
        return min(1.0, power + self.delta * (1 + exp(self.eps)))

    def add_noise(self, tables: NDArray[np.int64], key: NoiseKey) -> NoisyCounts:
        """Counts each with noise of its own; those of the design take what its model left of ε."""
        look, level = looking(key.derive("cells")), Fraction(self.eps)
        design, fresh = look(tables[0], _CELLS * level), look(tables[1], level)
        n_design, n_fresh = (int(table.sum()) for table in tables)  # of the rows by position: public
        return NoisyCounts(
            whole(design, n_design), whole(fresh, n_fresh), fresh.astype(float), RowNoise(level, n_fresh)
        )

    def describe_people(self, report: LeakageReport, layout: CellLayout) -> str:
        """The theorem in a sentence."""
        most, _, beyond = self._bounds(report, layout)
        words = f"Whatever anybody computes of the file makes a row's secret at most {times_up(most)} times as likely"
        return f"{words}{beyond}."

    def _bounds(self, report: LeakageReport, layout: CellLayout) -> tuple[float, float, str]:
        """How far a row's secret makes the file more likely at most, and less, in nats; and but for what."""
        assert report.budget is not None
        budget, level = as_lift_budget(loosest(report.budget)), 2 * self.eps
        # One cell tells nothing of its rows.
        upper, lower = (0.0, 0.0) if layout.partition.n_cells == 1 else (budget.upper, budget.lower)
        beyond = f", but for a probability of {self._delta_term(upper)}" if self.delta else ""
        return upper + level, -lower - level, beyond

    def _delta_term(self, upper: float) -> str:
        """δ (1 + e^(upper + ε)), rounded up: δ of a row more and of one less; below no more is taken off."""
        return times_up(min(log(self.delta) + float(np.logaddexp(0, upper + self.eps)), 0.0))

    def section(self, report: LeakageReport, layout: CellLayout) -> Section:
        """Section on the guarantee for each row."""
        assert report.confidence is not None
        most, least, beyond = self._bounds(report, layout)
        level = f"{2 * self.eps:g}"
        if self.delta:
            level = f"({level}, {self._delta_term(0.0)})"
        words = (
            f"Everything published from this fit but the symbols drawn for the rows is {level}-differentially private "
            "for another row in place of one; how many rows there are is public. With these symbols, whatever anybody "
            f"computes of the file is at most {times_up(most)} times as likely, and at least {times_down(least)} "
            f"times, once a row's secret is known, whatever is known of all other rows{beyond}"
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

    def model_rows(
        self, layout: Layout, source: Mapping[str, Any], chosen: NDArray[np.bool_], key: NoiseKey
    ) -> dict[str, pa.Array]:
        """Rows of a private model of the chosen ones, as many as there are rows.

        Raises
        ------
        ColumnError
            If a row has a value that was not declared; it names the column alone.
        """
        names = (*layout.sensitive, *layout.public)
        self.check_names(names, "sensitive or public")
        columns, codes = layout.columns(source), []
        look, level = looking(key.derive("model")), Fraction(self.eps)
        undeclared = [name for name in layout.public if self.delta and not (name in self.values or name in layout.bins)]
        alphabets = {name: self.alphabet(layout, [name]) for name in names if name not in undeclared}
        of_model, noisy_counts = (1 - _CELLS - _VALUES * bool(undeclared)) * level, {}
        for name in undeclared:
            # One look finds the values and counts them for the model.
            rate = _VALUES * level / len(undeclared) + PrivateModel.rate_of_levels(of_model, len(names))
            column = columns[name].filter(pa.array(chosen))
            at = len(alphabets)
            alphabets[name], noisy_counts[at] = _find_values(column, name, rate, self.delta / len(undeclared), look)
        for name, entry in alphabets.items():
            place = entry.encode({name: columns[name]})
            if (place < 0).any() and name not in undeclared:
                raise self.declaration_error(name)
            # The last level of a column whose values are found is a missing one, for all others too.
            codes.append(np.where(place < 0, len(entry) - 1, place)[chosen].astype(np.intp))
        sizes = [len(alphabet) for alphabet in alphabets.values()]
        ordered = [name in layout.bins or is_ordered(entry.levels[0].type, name) for name, entry in alphabets.items()]
        model = PrivateModel.learn(codes, sizes, ordered, of_model, look, noisy_counts)
        drawn = model.draw(len(chosen), key.derive("rows of the model"))
        return {
            name: decode_levels(layout, alphabet, entry, as_arrow(source[name], name).type, key)
            for (name, alphabet), entry in zip(alphabets.items(), drawn, strict=True)
        }


def looking(key: NoiseKey) -> Look:
    """Looks at counts, each with noise of its own: also of equal counts, and of other counts under a key used twice."""
    looks = 0

    def look(counts: NDArray[np.int64], rate: Fraction) -> NDArray[np.int64]:
        nonlocal looks
        looks += 1
        drawn = Geometric(rate).draw(key.derive(f"look {looks} at {digest_of_counts(counts)}"), counts.size)
        return counts + drawn.reshape(counts.shape)

    return look


def _find_values(
    column: ArrowColumn, name: str, rate: Fraction, delta: float, look: Look
) -> tuple[Alphabet, NDArray[np.int64]]:
    """Values whose noisy counts are above a threshold, which one of a single row is with a probability of δ; and None.

    And these counts: None has all other rows, whose number is public.

    P(1 + z > t) = P(z >= t) = a^t / (1 + a), a = e^-rate; values that no row has are not looked at.
    """
    values, counts = categories(column, name)
    least = floor((-log(delta) - log1p(exp(-rate))) / rate) + 1
    noisy = look(counts, rate)
    common, common_counts = values.filter(pa.array(noisy > least)), noisy[noisy > least]
    alphabet = Alphabet.from_table({name: pa.concat_arrays([common, pa.nulls(1, common.type)])}, [name])
    counted = np.full(len(alphabet), max(len(column) - int(common_counts.sum()), 0))
    counted[alphabet.encode({name: common})] = common_counts
    return alphabet, counted


def decode_levels(
    layout: Layout, alphabet: Alphabet, codes: NDArray[np.intp], dtype: pa.DataType, key: NoiseKey
) -> pa.Array:
    """Values of drawn levels: declared ones, or uniform between the edges of a bin."""
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
