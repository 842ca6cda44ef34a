"""Differential privacy of units: one record per unit, from its own rows, and rows generated from a model of records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize.errors import ColumnError
from sanitize.release.layout import Layout, make_bins
from sanitize.release.recipes.promise import noise_key
from sanitize.release.recipes.record_dp import RecordDP, decode_levels
from sanitize.tables.ordered import is_ordered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.alphabet import Alphabet
    from sanitize.people._profiles import OwnedRows
    from sanitize.release.layout import CellLayout
    from sanitize.release.recipes.classes import LatentClassReleaseRecipe
    from sanitize.report import LeakageReport, Section

# Distances between rows are learned in days, because intervals of nanoseconds would need bins of their own.
_DAY = 86_400 * 10**9
# No column of a table has such a name, so the columns of a record stay distinct.
_BEFORE = "{}, of the row before"
# Edges of shares, if none are declared: quarters, because edges taken from the rows would spend some of the privacy
# level.
_SHARE = (0.0, 0.25, 0.5, 0.75, 1.0)


class UnitDP(RecordDP):
    """Differential privacy of whole units, with all of their rows."""

    def describe_people(self, report: LeakageReport, layout: CellLayout) -> str:
        return _reword_for_units(super().describe_people(report, layout))

    def section(self, report: LeakageReport, layout: CellLayout) -> Section:
        section = super().section(report, layout)
        title = section.title.replace("Rows u", "Units u")
        return replace(section, title=title, words=_reword_for_units(section.words))


def _reword_for_units(words: str) -> str:
    words = words.replace("several rows of one person, which add up, and those of relatives", "those who depend on one")
    words = words.replace("other columns of the row, or a part of them", "a part of what there is of a unit")
    return words.replace("this table", "these tables").replace("row", "unit")


@dataclass(frozen=True, eq=False)
class FlatRecords:
    """One record for each unit, made from the rows of this unit alone, so that one more unit changes one count by 1.

    A record contains the profile of the unit and, for each table, a randomly chosen row with the row before it. The row
    is chosen among the rows of the unit or, in a second-level table, among those of the row chosen in the first level.
    The columns of a record and their values are declared or follow from names and types. With m rows per unit, counts
    would be m times as large, but so would be their noise; less chance in the choice of rows would matter little.

    Attributes
    ----------
    root : OwnedRows
    recipe : LatentClassReleaseRecipe
        Recipe that declares values or bins of all columns of a record.
    columns : dict of str to column
        Codes of the chosen rows and of the rows before them, with an extra code if there is no such row.
    """

    root: OwnedRows
    recipe: LatentClassReleaseRecipe
    columns: dict[str, pa.Array]
    _layout: Layout
    _alphabets: Mapping[str, Alphabet]
    _key: NoiseKey

    @classmethod
    def from_units(cls, root: OwnedRows, recipe: LatentClassReleaseRecipe) -> FlatRecords:
        """Make the records of all units.

        Raises
        ------
        ColumnError
            If a row belongs to no unit, or has an undeclared value.
        """
        promise, key = recipe.record_dp, noise_key(recipe.random_state, "record_dp")
        assert promise is not None
        rows_of = dict[str, Any]()
        for rows in root.below:
            if rows.n_nobody:
                words = "has rows without a person, which record_dp cannot protect; leave these rows out"
                raise ColumnError(f"table {rows.name!r} {words}", rows.child.key)
            for name in rows.columns:
                column = rows.distances(name)
                in_days = name == rows.child.order and pa.types.is_duration(column.type)
                rows_of[rows.label(name)] = pc.divide(column.cast(pa.int64()), _DAY) if in_days else column
        bins, values = _with_usual(root, dict(recipe.bins or {}), dict(promise.values))
        row_bins, names = {name: bins.pop(name) for name in rows_of if name in bins}, tuple(rows_of) or (root.name,)
        layout = Layout(names, names, make_bins(row_bins, rows_of, names), recipe.missing)
        promise = UnitDP(promise.eps, values, promise.delta, promise.ledger)
        columns, alphabets, read = dict[str, pa.Array](), {}, layout.columns(rows_of)
        for rows, chosen, before in _choose_rows(root, np.arange(root.n_owners), key.derive("chosen rows")):
            for name in map(rows.label, rows.columns):
                alphabets[name] = alphabet = promise.alphabet(layout, [name])
                codes = alphabet.encode(read)
                if (codes < 0).any():
                    raise promise.declaration_error(name)
                in_order = name in row_bins or is_ordered(alphabet.levels[0].type, name)
                coded, every = np.append(codes, len(alphabet)), np.arange(len(alphabet) + 1)
                kind = pa.int64() if in_order else pa.string()
                for label, places in ((name, chosen), (_BEFORE.format(name), before)):
                    columns[label] = pa.array(coded[places]).cast(kind)
                    values[label] = pa.array(every).cast(kind).to_pylist()
        if duplicates := sorted(columns.keys() & root.columns.keys()):
            raise ColumnError.fault(duplicates[0], f"of table {root.name!r} occurs twice; rename it")
        recipe = recipe.with_changes(bins=bins, record_dp=replace(promise, values=values))
        return cls(root, recipe, columns, layout, alphabets, key.derive("values of rows"))

    def generate_rows(self, records: Mapping[str, Any]) -> OwnedRows:
        """Return the rows of generated records: the sampled row of each record, as many times as its number of rows."""
        root = replace(self.root, columns={name: records[name] for name in self.root.columns})
        return self._generate_children(root, records, np.arange(len(root.owner)))

    def _generate_children(self, above: OwnedRows, records: Mapping[str, Any], record: NDArray[np.intp]) -> OwnedRows:
        children = []
        for rows in above.children:
            owner = np.repeat(np.arange(len(record)), rows.owner_rows(above.columns, len(record)))
            owner = owner if len(owner) else np.zeros(1, np.intp)
            row_record = record[owner]
            before = {name: self._values(rows, name, records, row_record, _BEFORE) for name in rows.columns}
            columns = {name: self._values(rows, name, records, row_record)[0] for name in rows.columns}
            if (order := rows.child.order) in columns:  # first rows have the distance 0
                follows = pa.array(~before[order][1])
                columns[order] = pc.if_else(follows, columns[order], pa.scalar(0, columns[order].type))
            new = replace(rows, columns=columns, before=before, owner=owner, n_owners=len(record), unit=record)
            children.append(self._generate_children(new, records, row_record))
        return replace(above, children=tuple(children))

    def _values(
        self, rows: OwnedRows, name: str, records: Mapping[str, Any], row_record: NDArray[np.intp], which: str = "{}"
    ) -> tuple[pa.Array, NDArray[np.bool_]]:
        """Values of a column of records, arbitrary where a value is missing, and the mask of missing values."""
        label = rows.label(name)
        alphabet, column_name = self._alphabets[label], which.format(label)
        codes = np.asarray(records[column_name].cast(pa.int64()))
        none = codes == len(alphabet)
        present = codes[~none] if not none.all() else np.zeros(1, np.intp)
        codes = np.where(none, np.resize(present, len(codes)), codes)
        column = decode_levels(self._layout, alphabet, codes, rows.columns[name].type, self._key.derive(column_name))
        if name == rows.child.order and pa.types.is_temporal(rows.types[name]):
            column = pc.multiply(column.cast(pa.int64()), _DAY).cast(pa.duration("ns"))
        return column.take(pa.array(row_record)), none[row_record]


def _with_usual(
    root: OwnedRows, bins: dict[str, Any], values: dict[str, Sequence[Any]]
) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """Return declared bins and values, with bins for summaries, and with None because owners may have no rows."""
    for above, below in ((root, root.below), *((rows, rows.children) for rows in root.below)):
        means = {f"{rows.name}: mean of {name}": rows.label(name) for rows in below for name in rows.columns}
        for name in above.summary_names - {rows.count for rows in above.children}:
            if name not in bins and (means.get(name) in bins or ": share of " in name):
                bins[name] = bins.get(means.get(name, ""), _SHARE)
            if (name in bins or name in values) and None not in values.get(name, ()):
                values[name] = (*values.get(name, ()), None)
    return bins, values


def _choose_rows(
    above: OwnedRows, owner: NDArray[np.intp], key: NoiseKey
) -> Iterator[tuple[OwnedRows, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield each table below with a random row of each unit, and the row before it; -1 if there is no such row."""
    for rows in above.children:
        number = np.append(np.bincount(rows.owner, minlength=rows.n_owners), 0)[owner]
        first = np.append(np.searchsorted(rows.owner, np.arange(rows.n_owners)), 0)[owner]
        # The choice depends only on the unit's position and its own number of rows.
        words = key.derive(rows.name).words_at(0, np.arange(len(owner))) >> np.uint64(32)
        place = (words * number.astype(np.uint64) >> np.uint64(32)).astype(np.intp)
        chosen = np.where(number > 0, first + place, -1)
        yield rows, chosen, np.where(place > 0, chosen - 1, -1)
        yield from _choose_rows(rows, chosen, key)
