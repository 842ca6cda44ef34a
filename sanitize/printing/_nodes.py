"""The columns of a table as nodes of a model: columns that another one determines are one node with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._checks import Codes, Mask
from sanitize._tables.columns import as_arrow, ascending
from sanitize.printing._values import MISSING, PrintedColumn, listed_values, printed_as
from sanitize.trees import LEAST_ROWS, Levels, as_ordered, grouped, is_ordered, scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Ancestors = Mapping[str, Mapping[str, tuple[str, ...]]]  # of each value of a column, the nearest first


@dataclass(frozen=True, eq=False)
class Node:
    """One column, or several of which the first determines the others.

    Attributes
    ----------
    columns : tuple of PrintedColumn
        What each state is printed as.
    stands : tuple of Arrow array
        A value of each column in each state; missing where it is missing or stands for rare ones.
    is_other : tuple of ndarray of bool
        Which states stand for rare values of each column.
    codes : ndarray of int, shape (n,)
        State of each row.
    """

    columns: tuple[PrintedColumn, ...]
    stands: tuple[pa.Array, ...]
    is_other: tuple[Mask, ...]
    codes: NDArray[np.uint16] | Codes

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each state."""
        return np.bincount(self.codes, minlength=len(self.stands[0]))

    def groups(self, most: int) -> Codes:
        """A few groups of the states: of about equal rows where they have an order, and missing by itself."""
        missing = self.stands[0].is_null().to_numpy(zero_copy_only=False) & ~self.is_other[0]
        present = np.where(missing, 0, self.counts)
        found = grouped(present, is_ordered=not self.is_other[0].any(), most=most - 1)
        found[missing] = found[~missing].max(initial=-1) + 1
        return found

    def encoded(self, levels: Levels) -> Codes:
        """Level of each state in the column of these levels."""
        place = [column.name for column in self.columns].index(levels.name)
        found = levels.encode(self.stands[place]).astype(np.intp)
        found[self.is_other[place]] = levels.n_levels - 1
        return found


class Values:
    """Columns of a table, edges and ancestors declared for them, and the number of each row's value if asked for."""

    def __init__(self, table: Mapping[str, Any], edges: Mapping[str, Sequence[Any]], above: Ancestors) -> None:
        self.table = {name: as_arrow(column, name) for name, column in table.items()}
        self.edges, self.above = edges, above
        self._found: dict[str, tuple[pa.Array, Codes]] = {}

    def of(self, name: str) -> tuple[pa.Array, Codes]:
        """Distinct values in ascending order, and each row's place among them; their number for missing."""
        if name not in self._found:
            self._found[name] = _numbered(self.table[name], name)
        return self._found[name]


def _numbered(column: Any, name: str) -> tuple[pa.Array, Codes]:
    values, codes = ascending(column, name)
    return values, np.where(codes < 0, len(values), codes).astype(np.intp)


def determined(values: Values) -> dict[str, str]:
    """For each column that another one determines in all rows that one; it is itself determined by none.

    A column of mostly distinct values determines all others by chance, so it takes as many rows that repeat a value as
    would show twenty exceptions if the two columns were independent.
    """
    names = list(values.table)
    n = len(values.table[names[0]])
    # Rows on which most pairs of columns show that neither determines the other.
    sampled = np.unique(np.linspace(0, n - 1, min(n, 4000)).astype(np.intp)) if n else np.empty(0, np.intp)
    few = {name: _numbered(column.take(pa.array(sampled)), name)[1] for name, column in values.table.items()}
    pairs = ((one, another) for one, another in permutations(names, 2) if one not in values.edges)
    holds = {
        (one, another)
        for one, another in pairs
        if _constant(few[one], few[another]) and _determines(values, one, another)
    }
    place = {name: number for number, name in enumerate(names)}
    above = {name: [one for one, another in holds if another == name] for name in names}
    roots: dict[str, str] = {}
    for name in names:
        equal = [one for one in above[name] if (name, one) in holds]
        if any(place[one] < place[name] for one in equal) or len(above[name]) > len(equal):
            # Those that no column determines but later ones which they determine themselves.
            first = [one for one in above[name] if all((one, o) in holds and place[one] < place[o] for o in above[one])]
            if first:
                roots[name] = min(first, key=lambda one: (len(values.of(one)[0]), place[one]))
    return roots


def _constant(one: Codes, another: Codes) -> bool:
    """Whether all rows with a value of one column have the same value of another."""
    last = np.empty(int(one.max(initial=0)) + 1, np.intp)
    last[one] = another
    return bool((last[one] == another).all())


def _determines(values: Values, one: str, another: str) -> bool:
    expected = 20  # exceptions that independent columns would show before a dependence without any counts as one
    (_, codes), (others, of_other) = values.of(one), values.of(another)
    shares = np.bincount(of_other) / max(len(codes), 1)
    repeated = len(codes) - len(np.unique(codes))
    if repeated * (1 - (shares**2).sum()) < expected or not _constant(codes, of_other):
        return False
    rows = np.bincount(of_other, minlength=len(others) + 1)
    if rows[rows >= LEAST_ROWS].sum() < 0.95 * len(codes):
        return False  # nearly all of its values are rare, so they cannot be printed anyway
    return not is_ordered(values.table[one].type, one) or _runs(values, one, another) is not None


def _runs(values: Values, one: str, another: str) -> list[Any] | None:
    """Where to cut an ordered column so that another is constant between cuts but for a few rows; None where it cannot.

    The cuts are round numbers between the last value of a stretch of many rows and the first of the next.
    """
    numbers, missing = as_ordered(values.table[one], one)
    scale = scale_of(values.table[one], one)
    codes = values.of(another)[1][~missing]
    place = np.searchsorted(scale.values, numbers[~missing])
    of_value = np.empty(len(scale.values), np.intp)
    of_value[place] = codes
    # Stretches of few rows belong to the one before them.
    starts = np.flatnonzero(np.diff(of_value, prepend=-1))
    rows = np.add.reduceat(scale.counts, starts) if len(starts) else np.empty(0)
    starts = starts[rows >= LEAST_ROWS]
    keeps = np.append(True, np.diff(of_value[starts]) != 0)[: len(starts)]
    starts = starts[keeps]
    # Stretches of an ordered column in which one that it determines is constant.
    if not 0 < len(starts) <= 64 or (rows[rows < LEAST_ROWS].sum() >= LEAST_ROWS * len(starts)):
        return None
    last = [np.flatnonzero(of_value[:start] == of_value[begun])[-1] for begun, start in pairwise(starts)]
    return [scale.roundest(scale.values[end], scale.values[start]) for end, start in zip(last, starts[1:], strict=True)]


def nodes_of(values: Values, roots: Mapping[str, str], edges: Mapping[str, Sequence[Any]], coarser: int) -> list[Node]:
    """Nodes of the columns of a table, in the order of their first columns.

    Parameters
    ----------
    values : Values
    roots : mapping of name to name
        What `determined` found.
    edges : mapping of name to numbers
        Edges that are kept in the levels of a column.
    coarser : int
        Halvings of the most levels of a column.
    """
    nodes = []
    for name, arrow in values.table.items():
        if name in roots:
            continue
        others, kept = [one for one, root in roots.items() if root == name], list(edges.get(name, ()))
        if is_ordered(arrow.type, name):
            kept += [cut for one in others for cut in _runs(values, name, one) or ()]
        levels, printed = printed_as(
            arrow, name, coarser, sorted(set(kept)), values.edges.get(name, ()), values.above.get(name)
        )
        codes = levels.encode(arrow)
        n_values = len(levels.values)
        stands = levels.values.take(pa.array([*range(n_values), *[None] * (levels.n_levels - n_values)], pa.int64()))
        is_other = np.zeros(levels.n_levels, bool)
        if not levels.is_ordered:
            is_other[-1] = True
        if others:
            nodes.append(_together(values, others, (printed, stands, is_other), codes))
        else:
            nodes.append(Node((printed,), (stands,), (is_other,), codes))
    return nodes


def _together(
    values: Values, others: list[str], first: tuple[PrintedColumn, pa.Array, Mask], codes: NDArray[np.uint16]
) -> Node:
    """Node of a column and those that it determines: a state is a level of it and a value of each of the others."""
    printed, stands, is_other = first
    shown = [listed_values(*values.of(name), name) for name in others]  # values, word for rare ones, code of each row
    rows = np.stack([codes, *(of_row for _, _, of_row in shown)], axis=1)
    states, inverse, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.ravel()
    # A rare value that has no word of its own cannot be a state.
    may = counts >= LEAST_ROWS
    for j, (listed, word, _) in enumerate(shown, 1):
        may &= (states[:, j] <= len(listed)) | (word != MISSING)
    best = np.full(len(stands), -1)  # of each level the state that most rows have
    for place in np.argsort(counts, kind="stable"):
        if may[place] or best[states[place, 0]] < 0:
            best[states[place, 0]] = place
    kept = np.flatnonzero(may | np.isin(np.arange(len(states)), best))
    to = np.searchsorted(kept, np.where(may, np.arange(len(states)), best[states[:, 0]]))
    empty = np.flatnonzero(best < 0)
    made = np.concatenate([states[kept], np.stack([empty, *(np.full(len(empty), -1) for _ in others)], axis=1)])
    level = made[:, 0]
    columns, values_of, rare = [printed.of_states(level)], [stands.take(pa.array(level))], [is_other[level]]
    usual = np.append(may[kept], np.zeros(len(empty), bool))
    for j, (name, (listed, word, _)) in enumerate(zip(others, shown, strict=True), 1):
        is_value = usual & (made[:, j] < len(listed)) & (made[:, j] >= 0)
        is_rare = ~is_value & (made[:, j] != len(listed))
        places = np.where(is_value, made[:, j], np.where(is_rare, word, MISSING))
        columns.append(PrintedColumn.fixed(name, listed, places))
        values_of.append(listed.take(pa.array(np.where(is_value, made[:, j], 0), mask=~is_value)))
        rare.append(is_rare)
    return Node(tuple(columns), tuple(values_of), tuple(rare), to[inverse])
