"""Model of rows with latent classes: the chance of each class given a row, and rows generated from classes."""

from __future__ import annotations

from functools import cache, cached_property
from itertools import islice, pairwise
from math import exp, log
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats.qmc import Sobol
from threadpoolctl import threadpool_limits

from sanitize._util.checks import Codes, Vector
from sanitize._util.declared import Count, Declared, require
from sanitize._util.system import ordered_map
from sanitize.release.classes._column import N_SHARES, ClassColumn
from sanitize.release.classes._dependence import FREE, PRESENT
from sanitize.release.classes._fit import FittedColumns, count_pairs, information
from sanitize.release.classes._integers import (
    LEAST_LOG,
    UNIT,
    apportion,
    draw_listed,
    draw_states,
    powers_of_two,
    to_fixed_point,
    whole_weights,
)
from sanitize.release.classes._mixture import Mixture, indicators
from sanitize.release.classes._numbers import threshold_counts
from sanitize.release.classes._regression import Design, Variable, find_penalty, with_constant
from sanitize.tables.columns import as_arrow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sanitize._util.sampling.noise import RandomWords

# Lanes of the random source: for starts, for classes, and for the values written in each column. They lie above those
# of channels and bins, so that no random word is used twice.
_LANE = 1 << 21
_START_LANE, _CLASS_LANE, _COLUMN_LANE = _LANE, _LANE + 1, _LANE + 16
# A column draws its outcome, its value, its rule and the shift of its net.
_LANES = 4
# Classes are drawn from P(class | row) to this power, scaled: a class then reveals more of its row.
_SHARPNESS = 2
# Information, in nats, that a kept column is taken to share with any other, so that its effect is hardly shrunk.
_KEPT = 1.0
# Weight of a kept column in determining the classes: above 1, because it stays next to each generated row.
_KEPT_IMPORTANCE = 3.0
# Rows processed together, whose arrays stay in the cache.
_BLOCK = 1 << 14
# Points of a net, which is the number of rows whose random words are spread evenly: the points stay in memory, with 4
# bytes for each row and column.
_NET = 1 << 16
# Rows from which columns, and classes, are learned: more rows would not improve them. They are drawn by position,
# because no value may decide which rows are learned from.
_COLUMN_ROWS, _CLASS_ROWS = 200_000, 16_000
# A word of 64 bits serves two draws: one uses the lower half, one the upper half.
_LOW, _HALF = np.uint64((1 << 32) - 1), np.uint64(32)


class LookUp(Declared, frozen=True, eq=False, dict=True):
    """Outcomes that remain possible for a column, given a value of an earlier column.

    Attributes
    ----------
    determiner : int
        The earlier column, in the order in which they are drawn.
    first : ndarray of int
        Position at which the list for each outcome of the earlier column begins.
    outcomes : ndarray of int
        Lists of outcomes; -1 means to draw as if there were no rule, -2 to do so without missing values.
    weights : ndarray of int
    """

    determiner: Count
    first: NDArray[np.int64]
    outcomes: NDArray[np.int32]
    weights: NDArray[np.int64]

    def __post_init__(self) -> None:
        require(self.first.ndim == self.outcomes.ndim == 1 and len(self.first) > 1 and self.first[0] == 0)
        require((np.diff(self.first) > 0).all() and self.first[-1] == len(self.outcomes))
        require(self.weights.shape == self.outcomes.shape and (self.weights >= 0).all())
        totals = np.add.reduceat(self.weights, self.first[:-1])
        require(((totals > 0) & (totals < 1 << 31)).all() and (self.outcomes >= PRESENT).all())

    @cached_property
    def _cumulative(self) -> NDArray[np.int64]:
        return np.append(0, np.cumsum(self.weights))

    def draw(self, earlier: NDArray[np.integer[Any]], words: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Draw outcomes of rows given the outcome of the earlier column, from 32-bit words."""
        return self.outcomes[draw_listed(self._cumulative, self.first[earlier], self.first[earlier + 1], words)]


class Writer(Declared, frozen=True, eq=False):
    """Rule for drawing a row's group in one column, given its class and its groups in earlier columns.

    Attributes
    ----------
    column : ClassColumn
    chances : ndarray of int, shape (n_groups, n_classes)
        Logarithms of P(group | class), times a weight of the column, which determine the class of a row.
    base : ndarray of int, shape (n_classes, n_groups)
        Logarithms from which a group is drawn in each class.
    given : tuple of int
        Earlier columns on which this one depends, by their place in the drawing order.
    slopes : tuple of ndarray of int
        Terms that each group of each earlier column adds to the logarithms, shape (its groups, n_groups).
    rule : LookUp, optional
        Outcomes that an earlier column leaves possible.
    refinement : LookUp, optional
        Outcomes of a number by the bin of an earlier number and its own group.
    """

    column: ClassColumn
    chances: NDArray[np.int32]
    base: NDArray[np.int32]
    given: tuple[Count, ...] = ()
    slopes: tuple[NDArray[np.int32], ...] = ()
    rule: LookUp | None = None
    refinement: LookUp | None = None

    def __post_init__(self) -> None:
        require(self.chances.ndim == 2 and len(self.chances) == self.column.n_groups)
        require(self.base.shape == self.chances.shape[::-1] and self.chances.shape[1] > 0)
        require(self.column.n_groups < 1 << 7)  # so that the sum of weights has less than 31 bits
        require(len(self.given) == len(self.slopes))
        require(all(slope.ndim == 2 and slope.shape[1] == self.column.n_groups for slope in self.slopes))
        for logs in (self.chances, self.base, *self.slopes):
            require((logs >= LEAST_LOG).all() and (logs <= -LEAST_LOG).all())

    def check_refinement(self, n_bins: int) -> None:
        """Refuse a refinement whose size does not match the bins of the earlier column and its missing values."""
        assert self.refinement is not None
        first, outcomes, n_groups = self.refinement.first, self.refinement.outcomes, self.column.n_groups
        require(len(first) == (n_bins + 1) * n_groups + 1)
        require((outcomes >= 0).all() and (outcomes < len(self.column.places)).all())
        groups = np.repeat(np.arange(len(first) - 1), np.diff(first)) % n_groups
        require((self.column.group_of_outcome[outcomes] == groups).all())


class LatentClassModel(Declared, frozen=True, eq=False, dict=True, tag_field="kind", tag="classes"):
    """Latent-class model of rows [Lazarsfeld], which draws classes and rows from whole-number weights.

    Attributes
    ----------
    names : tuple of str
        Public columns in their order.
    writers : tuple of Writer
        Rules of the columns, in the order in which they are drawn.
    log_sizes : ndarray of int, shape (n_classes,)
        Twice the logarithms of P(class).
    n_parameters, n_rows : int
        Effective number of parameters, and the rows that they were learned from.
    settled : bool
        Whether the likelihood had stopped rising.
    kept : tuple of str
        Columns that stay unchanged, and on which the others depend.
    is_even : bool
        Whether generated rows spread evenly over the model: the distribution of each row stays the same, but many come
        closer to the model than independent ones.
    """

    names: tuple[str, ...]
    writers: tuple[Writer, ...]
    log_sizes: NDArray[np.int32]
    n_parameters: Count
    n_rows: Count
    settled: bool
    kept: tuple[str, ...] = ()
    is_even: bool = False

    def __post_init__(self) -> None:
        require(sorted(writer.column.name for writer in self.writers) == sorted(set(self.names)))
        require(len(self.names) == len(self.writers) > 0 and self.log_sizes.ndim == 1)
        require({writer.chances.shape[1] for writer in self.writers} == {len(self.log_sizes)})
        require({writer.column.name for writer in self.writers[: len(self.kept)]} == {*self.kept})
        require(len({*self.kept}) == len(self.kept) < len(self.names))
        sizes = [writer.column.n_groups for writer in self.writers]
        for number, writer in enumerate(self.writers):
            require(all(regressor < number for regressor in writer.given))
            require([len(slope) for slope in writer.slopes] == [sizes[regressor] for regressor in writer.given])
            if writer.rule is not None:
                require(writer.rule.determiner < number)
                require(len(writer.rule.first) == len(self.writers[writer.rule.determiner].column.places) + 1)
                require((writer.rule.outcomes < len(writer.column.places)).all())
            if writer.refinement is not None:
                require(writer.refinement.determiner < number)
                writer.check_refinement(len(self.writers[writer.refinement.determiner].column.groups))
        require((self.log_sizes >= LEAST_LOG).all() and (self.log_sizes <= 0).all())

    @classmethod
    def fit(
        cls,
        table: Mapping[str, Any],
        words: RandomWords,
        *,
        n_classes: int | None = None,
        is_certified: bool = False,
        weights: NDArray[Any] | None = None,
        edges: Mapping[str, Sequence[Any]] | None = None,
        rows: NDArray[np.bool_] | None = None,
        above: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
        rows_are_people: bool = False,
        summaries: Collection[str] = (),
        kept: Collection[str] = (),
    ) -> Self:
        """Learn classes of the public columns of a table.

        Parameters
        ----------
        table : mapping of name to column
        words : RandomWords
            Random source for the starts of the search and for the edges of numbers.
        n_classes : int, optional
            Number of classes, which by default grows with the number of rows.
        is_certified : bool
            Whether other rows certify what is released of the classes: fewer and more even ones then serve better.
        weights : ndarray, shape (n,), optional
            Number of people that each row stands for.
        edges : mapping of name to numbers, optional
            Declared edges of the groups of ordered columns, in place of learned ones.
        rows : ndarray of bool, shape (n,), optional
            Rows to learn from; all by default.
        above : mapping of name to ancestors by value, optional
            Declared hierarchies of text, whose rare values are written as an ancestor.
        rows_are_people : bool
            Whether no two rows belong to one person; by default, rows that look like one person's count once.
        summaries : collection of str, optional
            Columns that summarize rows of other tables: that a share of 1/7 goes with seven rows is no dependency.
        kept : collection of str, optional
            Columns that stay unchanged, and on which the others depend.
        """
        arrows = {name: as_arrow(column, name) for name, column in table.items()}
        n = len(next(iter(arrows.values())))
        taken = np.arange(n) if rows is None else np.flatnonzero(rows)
        n_rows = len(taken)
        chosen = _sample(taken, _COLUMN_ROWS)
        if len(chosen) < n:
            arrows = {name: column.take(pa.array(chosen)) for name, column in arrows.items()}
        mass = np.ones(len(chosen)) if weights is None else np.asarray(weights, float)[chosen]
        mass = mass / mass.mean() if mass.sum() > 0 else mass
        most, settings = _n_groups(len(chosen)), (edges or {}, above or {}, summaries, kept)
        shares = draw_edge_shares(words, len(arrows))
        fitted = FittedColumns.fit(arrows, mass, most, *settings, shares=shares, rows_are_people=rows_are_people)
        sample = _sample(np.arange(len(chosen)), _CLASS_ROWS)
        codes, mass, k = fitted.codes[sample], mass[sample], n_classes or _n_classes(n_rows, is_certified=is_certified)
        sizes = [column.n_groups for column in fitted.columns]
        noise = np.stack([_uniform(words, start, len(sample) * k).reshape(-1, k) for start in range(2)])
        importance = np.where([name in kept for name in arrows], _KEPT_IMPORTANCE, 1.0)
        mixture = Mixture.fit(codes, sizes, k, mass, noise, importance, is_certified=is_certified)
        mixture = mixture.sharpen(_SHARPNESS)
        classes = _draw_classes(mixture.memberships(indicators(codes, sizes))[0], words)
        writers, n_parameters = _writers(fitted, codes, mass, mixture, classes)
        return cls(
            tuple(arrows), writers, to_fixed_point(mixture.log_sizes), n_parameters, n_rows, mixture.settled, (*kept,)
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.log_sizes)

    def differs(
        self,
        names: Collection[str],
        n_classes: int | None,
        edges: Mapping[str, Sequence[Any]],
        above: Mapping[str, Mapping[str, tuple[str, ...]]],
        kept: Collection[str] = (),
        *,
        is_certified: bool = False,
    ) -> str:
        """Describe the settings of `fit` that these classes contradict; empty if there are none."""
        if {*self.names} != {*names} or {*self.kept} != {*kept}:
            return "other columns"
        if self.n_classes != (asked := n_classes or _n_classes(self.n_rows, is_certified=is_certified)):
            return f"n_classes={self.n_classes} in place of {asked}"
        other = [one for one in self.columns if not one.is_of(edges.get(one.name, ()), above.get(one.name, {}))]
        return f"other bins or another hierarchy of {other[0].name!r}" if other else ""

    @property
    def columns(self) -> list[ClassColumn]:
        """Columns in the order of the table."""
        by_name = {writer.column.name: writer.column for writer in self.writers}
        return [by_name[name] for name in self.names]

    @property
    def values(self) -> dict[str, pa.Array]:
        """Values that may be written for each column; for numbers and dates also any value between edges."""
        return {column.name: column.values for column in self.columns}

    @property
    def membership(self) -> float:
        """Approximate AUC of an attacker who knows all other rows and tests whether a person's row is in the table.

        As many rows are generated as the table has. They reveal nothing about people whose rows were not learned from.
        """
        n_learned = max(min(self.n_rows, _CLASS_ROWS), 1)
        learned = NormalDist().cdf((self.n_parameters * self.n_rows / 2) ** 0.5 / n_learned)
        return 0.5 + (learned - 0.5) * n_learned / max(self.n_rows, 1)

    def memberships(self, table: Mapping[str, Any], workers: int = 1) -> NDArray[np.int64]:
        """Return the chance of each class given each row, as whole numbers that sum to `UNIT`, shape (n, n_classes).

        They are the squared memberships of the mixture, scaled to sum to one: a class then reveals more of its row.
        """
        parts = [np.diff(totals, axis=1, prepend=0) for _, totals in self._totals(table, workers)]
        return np.concatenate([np.empty((0, self.n_classes), np.int64), *parts])

    def assign(
        self, table: Mapping[str, Any], words: RandomWords, start: int = 0, workers: int = 1
    ) -> NDArray[np.int32]:
        """Draw a class for each row from exactly its `memberships`; a row's random word depends on its number only."""
        parts = [np.empty(0, np.int32)]
        for at, totals in self._totals(table, workers):
            word = words.words_at(_CLASS_LANE, start + at + np.arange(len(totals))) & np.uint64(UNIT - 1)
            parts.append((totals <= word.astype(np.int64)[:, None]).sum(axis=1).astype(np.int32))
        return np.concatenate(parts)

    def _totals(self, table: Mapping[str, Any], workers: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Running totals of the memberships of blocks of rows, and the start of each block."""
        codes = [writer.column.encode(table[writer.column.name]) for writer in self.writers]

        def totals(part: slice) -> tuple[int, NDArray[np.int64]]:
            logs = np.repeat(self.log_sizes[None], len(codes[0][part]), axis=0)
            for writer, column_codes in zip(self.writers, codes, strict=True):
                logs += writer.chances[column_codes[part]]
            return part.start, apportion(powers_of_two(logs))

        return ordered_map(totals, _blocks(len(codes[0])), workers)

    def decode(
        self,
        classes: NDArray[np.integer[Any]],
        words: RandomWords,
        start: int = 0,
        workers: int = 1,
        kept: Mapping[str, pa.Array] | None = None,
    ) -> dict[str, pa.Array]:
        """Generate rows of some classes, given the kept columns; row i of a table is the same in any batch."""
        outcomes = np.empty((len(self.writers), len(classes)), np.int32)
        for number, writer in enumerate(self.writers[: len(self.kept)]):
            assert kept is not None
            outcomes[number] = writer.column.encode_outcomes(kept[writer.column.name])

        def draw(part: slice) -> None:
            positions = np.arange(part.start, min(part.stop, len(classes)))
            stay = enumerate(self.writers[: len(self.kept)])
            groups: list[Codes] = [writer.column.group_of_outcome[outcomes[number, part]] for number, writer in stay]
            for number, writer in islice(enumerate(self.writers), len(self.kept), None):
                lane = _COLUMN_LANE + _LANES * number
                word = words.words_at(lane, start + positions)
                if self.is_even:
                    word = word & _LOW | self._even_words(number, words, start + positions) << _HALF
                logs = writer.base[classes[part]]
                for regressor, slope in zip(writer.given, writer.slopes, strict=True):
                    logs += slope[groups[regressor]]
                ruled = np.full(len(positions), FREE, np.int32)
                if writer.rule is not None:
                    more = words.words_at(lane + 2, start + positions)
                    ruled = writer.rule.draw(outcomes[writer.rule.determiner, part], more >> _HALF)
                    logs[ruled == PRESENT, -1] = 4 * LEAST_LOG
                states = draw_states(powers_of_two(logs), word >> _HALF)
                drawn = self._draw_outcomes(writer, states, outcomes[:, part], word & _LOW)
                outcomes[number, part] = np.where(ruled < 0, drawn, ruled)
                groups.append(writer.column.group_of_outcome[outcomes[number, part]])

        for _ in ordered_map(draw, _blocks(len(classes)), workers):
            pass
        every = start + np.arange(len(classes))

        def write(entry: tuple[int, Writer]) -> pa.Array:
            number, writer = entry
            if kept is not None and writer.column.name in kept:
                return kept[writer.column.name]
            is_listed = not writer.column.is_ordered
            word = np.empty(0, np.uint64) if is_listed else words.words_at(_COLUMN_LANE + _LANES * number + 1, every)
            return writer.column.write(outcomes[number], word)

        arrays = ordered_map(write, enumerate(self.writers), workers)
        columns = {writer.column.name: array for writer, array in zip(self.writers, arrays, strict=True)}
        return {name: columns[name] for name in self.names}

    def _even_words(self, number: int, words: RandomWords, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Random 32-bit words for a column: Sobol points [Sobol] in row order, shifted at random in each block."""
        blocks, within = np.divmod(positions, _NET)
        each, block = np.unique(blocks, return_inverse=True)
        moved = words.words_at(_COLUMN_LANE + _LANES * number + 3, each)[block]
        return np.asarray(_net(len(self.writers))[within, number] ^ moved >> _HALF)

    def _draw_outcomes(
        self, writer: Writer, groups: Codes, outcomes: NDArray[np.int32], words: NDArray[np.uint64]
    ) -> NDArray[np.integer[Any]]:
        """Draw outcomes of a column for rows in given groups, given the outcomes of earlier columns."""
        if (refinement := writer.refinement) is None:
            return writer.column.draw_outcomes(groups, words)
        bins = self.writers[refinement.determiner].column.bins[outcomes[refinement.determiner]]
        return refinement.draw(bins * writer.column.n_groups + groups, words)


@threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]  # sums of other threads end in other digits
def _writers(
    fitted: FittedColumns, codes: NDArray[np.int32], weights: Vector, mixture: Mixture, classes: NDArray[np.int32]
) -> tuple[tuple[Writer, ...], int]:
    """Fit the writers of all columns; return them with their total effective number of parameters."""
    columns, order = fitted.columns, fitted.order
    regressors = [fitted.nearest(place, order[:number]) for number, place in enumerate(order)]
    regressors = regressors[len(fitted.kept) :]
    designs = _designs(fitted, codes, weights, classes, len(mixture.log_sizes), regressors)
    penalty = find_penalty(designs, _n_degrees(len(codes), len(fitted.codes)))
    sizes = [column.n_groups for column in columns]
    chances = np.split(to_fixed_point(mixture.log_chances), np.cumsum(sizes)[:-1])
    within = float(sum(len(column.places) - column.n_groups for column in columns))  # for outcomes in a group
    none = {place: np.zeros((len(mixture.log_sizes), sizes[place]), np.int32) for place in fitted.kept}
    writers = [Writer(columns[place], chances[place], none[place]) for place in order[: len(none)]]
    for place, near, design in zip(order[len(none) :], regressors, designs, strict=True):
        logs = to_fixed_point(design.fit(penalty))
        parts = [1, len(mixture.log_sizes), *(sizes[regressor] for regressor in near)]
        constant, base, *slopes = np.split(logs, np.cumsum(parts)[:-1])
        base = np.clip(base + constant, LEAST_LOG, -LEAST_LOG)
        _fade_missing(base, slopes, int((fitted.codes[:, place] == sizes[place] - 1).sum()))
        earlier, rule = tuple(order.index(regressor) for regressor in near), _look_up(fitted, place)
        refinement, n_degrees = _refinement(fitted, place, near)
        writers.append(Writer(columns[place], chances[place], base, earlier, tuple(slopes), rule, refinement))
        within += n_degrees
    return tuple(writers), round(within + sum(design.degrees(penalty) for design in designs))


def _fade_missing(base: NDArray[np.int32], slopes: Sequence[NDArray[np.int32]], n_missing: int) -> None:
    """Make missing values as rare as a value with as few rows would be: absent if at most ten rows are missing."""
    share = float(threshold_counts(np.array([n_missing]))[0]) / max(n_missing, 1)
    if share == 0:
        base[:, -1] = LEAST_LOG
        for slope in slopes:
            slope[:, -1] = 0
    elif share < 1:
        base[:, -1] = np.maximum(base[:, -1] + to_fixed_point(np.log(share)), LEAST_LOG)


def _designs(
    fitted: FittedColumns,
    codes: NDArray[np.int32],
    weights: Vector,
    classes: NDArray[np.int32],
    n_classes: int,
    regressors: Sequence[Sequence[int]],
) -> list[Design]:
    """Regression of each column, in drawing order, on the class and some earlier columns."""
    of_class = Variable(classes, n_classes, np.empty((n_classes, 0)))
    variables = [
        Variable.from_codes(code, column.n_groups, weights, is_ordered=column.is_ordered)
        for code, column in zip(codes.T, fitted.columns, strict=True)
    ]
    pairs = _weighted_pairs(fitted, [of_class, *variables], weights)
    ends = np.cumsum([1 + n_classes, *(entry.n_groups for entry in variables)])
    spans = [np.arange(start, end) for start, end in pairwise(ends)]
    designs = []
    for place, near in zip(fitted.order[len(fitted.kept) :], regressors, strict=True):
        at = np.concatenate([np.arange(1 + n_classes), *(spans[entry] for entry in near)])
        of_all = information(pairs[1 : 1 + n_classes, spans[place]] / max(weights.sum(), 1e-9), len(codes))
        shared = [of_all, *(max(float(fitted.shared[place, entry]), _KEPT * (entry in fitted.kept)) for entry in near)]
        inputs = [of_class, *(variables[entry] for entry in near)]
        designs.append(Design.prepare(inputs, shared, variables[place], weights, pairs[np.ix_(at, at)]))
    return designs


def _weighted_pairs(fitted: FittedColumns, variables: Sequence[Variable], weights: Vector) -> Vector:
    """Total weight of the rows with each pair of indicators: a constant, the classes, and the groups of all columns."""
    if len(weights) < len(fitted.codes) or (weights != 1).any():
        return count_pairs(with_constant(variables), weights)
    of_class, of_all = with_constant(variables[:1]), with_constant(variables)
    edge = (of_class.T.tocsr() @ of_all).toarray()
    return np.block([[edge], [edge[:, edge.shape[0] :].T, fitted.pairs]])


def _look_up(fitted: FittedColumns, place: int) -> LookUp | None:
    """Look-up table of a column for the column that determines it; None if no column does."""
    if place not in fitted.rules:
        return None
    determiner, first, outcomes, shares = fitted.look_up(place)
    return LookUp(fitted.order.index(determiner), first, outcomes, whole_weights(shares, first))


def _refinement(fitted: FittedColumns, place: int, near: Sequence[int]) -> tuple[LookUp | None, float]:
    """Return the outcomes of a numeric column for each bin of a column in ``near``, and the number of parameters."""
    if (nearest := fitted.nearest_number(place, near)) is None:
        return None, 0.0
    shares, first, n_degrees = fitted.refine(place, nearest)
    outcomes = np.resize(np.arange(len(fitted.columns[place].places), dtype=np.int32), len(shares))
    return LookUp(fitted.order.index(nearest), first, outcomes, whole_weights(shares, first)), n_degrees


@cache
def _net(n_columns: int) -> NDArray[np.uint32]:
    """Points of the unit cube, shape (_NET, n_columns), spread evenly in every run of consecutive points."""
    points = Sobol(n_columns, scramble=False).random_base2(_NET.bit_length() - 1)
    return (points * 2.0**32).astype(np.uint32)


def _blocks(n: int) -> list[slice]:
    return [slice(at, at + _BLOCK) for at in range(0, n, _BLOCK)]


def _sample(rows: Codes, most: int) -> Codes:
    """Return the positions of at most ``most`` rows, spread evenly."""
    if len(rows) <= most:
        return rows
    return np.asarray(rows[(np.arange(most) * len(rows)) // most])


def _draw_classes(memberships: Vector, words: RandomWords) -> NDArray[np.int32]:
    drawn = _uniform(words, 3, len(memberships))
    totals = np.cumsum(memberships, axis=1)
    return (totals[:, :-1] <= drawn[:, None]).sum(axis=1).astype(np.int32)


def draw_edge_shares(words: RandomWords, n_columns: int) -> Vector:
    """Draw uniform numbers that move the edges of each column by some rows, shape (n_columns, N_SHARES)."""
    return _uniform(words, 4, n_columns * N_SHARES).reshape(-1, N_SHARES)


def _uniform(words: RandomWords, lane: int, n: int) -> Vector:
    drawn = words.words_at(_START_LANE + (lane << 32), np.arange(n))
    return np.asarray((drawn >> np.uint64(11)).astype(float) * 2.0**-53)


def _n_groups(n_rows: int) -> int:
    """Approximate largest number of groups of a column for this number of rows."""
    return max(4, round(1.2 * n_rows**0.25))


def _n_classes(n_rows: int, *, is_certified: bool) -> int:
    """Number of classes for this number of rows."""
    return max(2, min(64, round((0.5 if is_certified else 0.7) * n_rows**0.5)))


def _n_degrees(n_learned: int, n_rows: int) -> float:
    """Effective number of parameters for the regressions, given the numbers of learned rows and of all rows.

    In 2,000 to 3,000 rows, noise hides weak relations, so these tables get more parameters; attackers then recognize
    rows a little more often. Fewer rows would spend them on noise. Rows that are not learned from hide the others.
    """
    few = exp(-((log(max(n_rows, 1) / 2400) / 0.45) ** 2))
    return (0.6 + 0.35 * few + 0.4 * (1 - n_learned / max(n_rows, 1))) * n_learned
