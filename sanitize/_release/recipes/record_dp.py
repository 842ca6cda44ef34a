"""Differential privacy of whole rows: rows of a private model in place of the table's, and what a report says."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._checks import required
from sanitize._formatting import times_down, times_up
from sanitize._release.recipes.promise import Promise, Told
from sanitize._sampling.count_noise import RowNoise, digest_of_counts, two_sided_geometric, whole
from sanitize._tables.columns import as_arrow, masked
from sanitize.binning import DateBins
from sanitize.mechanisms import as_lift_budget
from sanitize.printing import PrivateModel
from sanitize.report import Section
from sanitize.trees import is_ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._release.layout import Layout
    from sanitize._release.recipes.grown_layout import GrownLayout
    from sanitize._sampling.noise import NoiseKey
    from sanitize.alphabet import Alphabet
    from sanitize.printing import Look
    from sanitize.report import LeakageReport

# Share of the rows that all is learned from, and of ε that their counts of (secret, cell) take from the model.
RECORD_SHARE = 0.5
_CELLS = Fraction(3, 20)
# Nats: of smaller levels noise drowns any table.
_LEAST = 1e-6


@dataclass(frozen=True)
class RecordDP(Promise):
    """Differential privacy of whole rows in all that is published, as ``record_dp=`` of an estimator.

    Half of the rows, chosen by position, give noisy counts of values, of pairs and of secrets in cells, and nothing
    else; a private model of all columns follows, and from rows drawn of it the tree and what prints rows. The other
    half certifies, by noisy counts too. So everything but the symbols drawn for the rows is ε-differentially private
    for a row more or less, and 2ε for another row in place of one: whatever anybody computes from the file is at most
    e^(upper + 2ε) times as likely as without knowing a row's secret, for who knows nothing of its other columns.

    The number of rows, and the names and types of the columns, are public. A value that is not declared is refused, by
    an error that names its column: that error is for the owner alone. Each further fit of the same table costs ε again.

    Parameters
    ----------
    eps : float
        Level in nats for a row more or less, > 0.
    values : dict of column to list of values
        Values that each column may have, sensitive or not, None for missing. A column with ``bins`` has their
        intervals, and ``[None]`` where values may be missing; values outside of the edges count as the nearest.
    ledger : DPLedger, optional
        Books every fit, and refuses one that is beyond its total.

    Examples
    --------
    >>> from sanitize.transformers import RecordDP
    >>> RecordDP(1.0, {"income": ["<=50K", ">50K"], "sex": ["f", "m", None]})
    RecordDP(eps=1.0, values={'income': ('<=50K', '>50K'), 'sex': ('f', 'm', None)})
    """

    eps: float
    values: Mapping[str, Sequence[Any]]
    ledger: Any = field(default=None, repr=False, compare=False)
    keyword = "record_dp"
    delta = 0.0

    def __post_init__(self) -> None:
        required("eps", self.eps, "be a number from 1e-6 to 100", lambda given: _LEAST <= given <= 100)
        self._declare()

    def told(self, tables: NDArray[np.int64], key: NoiseKey) -> Told:
        """Counts each with noise of its own; those of the design take what its model left of ε."""
        look, level = looking(key.derive("cells")), Fraction(self.eps)
        design, fresh = look(tables[0], _CELLS * level), look(tables[1], level)
        n_design, n_fresh = (int(table.sum()) for table in tables)  # of the rows by position: public
        return Told(whole(design, n_design), whole(fresh, n_fresh), fresh.astype(float), RowNoise(level, n_fresh))

    def of_people(self, report: LeakageReport, layout: GrownLayout) -> str:
        """The theorem in a sentence."""
        most = times_up(self._bounds(report, layout)[0])
        return f"Whatever anybody computes of the file makes a row's secret at most {most} times as likely."

    def _bounds(self, report: LeakageReport, layout: GrownLayout) -> tuple[float, float]:
        """How far a row's secret makes the file more likely at most, and less, in nats."""
        assert report.budget is not None
        budget, level = as_lift_budget(report.budget), 2 * self.eps
        # One cell tells nothing of its rows.
        return (level, -level) if layout.tree.n_cells == 1 else (budget.upper + level, -budget.lower - level)

    def section(self, report: LeakageReport, layout: GrownLayout) -> Section:
        """What is promised of each row."""
        assert report.confidence is not None
        most, least = self._bounds(report, layout)
        words = (
            f"Everything published from this fit but the symbols drawn for the rows is {self.eps:g}-differentially "
            f"private for a row more or less, {2 * self.eps:g} for another row in place of one. With these symbols, "
            f"whatever anybody computes of the file is at most {times_up(most)} times as likely, and at "
            f"least {times_down(least)} times, once a row's secret is known, whatever is known of all "
            "other rows"
        )
        if layout.tree.n_cells > 1:
            words += f", but for a chance of {100 * (1 - report.confidence):.3g} % that the certificate is wrong"
        words += (
            ". Not covered: who knows other columns of the row, or a part of them; several rows of one person, which "
            "add up, and those of relatives; the number of rows and the types of columns; how long a fit takes. Every "
            f"other fit of this table costs {self.eps:g} again. All figures are of noisy counts and of rows of a "
            "private model."
        )
        figures = (("eps", self.eps), ("at most (nats)", most))
        return Section(self.keyword, "Rows under differential privacy", words, ("", "figure"), figures, public=True)

    def rows_instead(
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
        alphabets = {name: self.alphabet(layout, [name]) for name in names}
        for name, alphabet in alphabets.items():
            found = alphabet.encode({name: columns[name]})
            if (found < 0).any():
                raise self.refused(name)
            codes.append(found[chosen].astype(np.intp))
        sizes = [len(alphabet) for alphabet in alphabets.values()]
        ordered = [name in layout.bins or is_ordered(own.levels[0].type, name) for name, own in alphabets.items()]
        eps = (1 - _CELLS) * Fraction(self.eps)
        model = PrivateModel.learn(codes, sizes, ordered, eps, looking(key.derive("model")))
        drawn = model.draw(len(chosen), key.derive("rows of the model"))
        return {
            name: _values(layout, alphabet, own, as_arrow(source[name], name).type, key)
            for (name, alphabet), own in zip(alphabets.items(), drawn, strict=True)
        }


def looking(key: NoiseKey) -> Look:
    """Looks at counts, each with noise of its own: also of equal counts, and of other counts under a key used twice."""
    looks = 0

    def look(counts: NDArray[np.int64], rate: Fraction) -> NDArray[np.int64]:
        nonlocal looks
        looks += 1
        drawn = two_sided_geometric(key.derive(f"look {looks} at {digest_of_counts(counts)}"), rate, counts.size)
        return counts + drawn.reshape(counts.shape)

    return look


def _values(layout: Layout, alphabet: Alphabet, codes: NDArray[np.intp], dtype: pa.DataType, key: NoiseKey) -> pa.Array:
    """Values of drawn levels: declared ones, or uniform between the edges of a bin."""
    name, levels, place = alphabet.columns[0], alphabet.levels[0], alphabet.codes[codes, 0]
    missing = place == len(levels)
    indices = masked(np.where(missing, 0, place), missing)
    if name not in layout.bins:
        return levels.take(indices)
    bins = layout.bins[name]
    words = key.derive(f"values of {name}").words(0, 0, len(codes))
    drawn = bins.draw(pa.DictionaryArray.from_arrays(indices, levels), words)
    if not isinstance(bins, DateBins):
        return drawn
    return drawn.cast(pa.timestamp("s")).cast(dtype.value_type if pa.types.is_dictionary(dtype) else dtype)
