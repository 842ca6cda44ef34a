"""Alphabets: the symbols of one column or of a tuple of columns, in order, each with an integer code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sanitize._util.declared import Count, Declared, read, require, to_builtin
from sanitize._util.limits import DENSE_CELLS
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.columns import (
    UNSEEN,
    ArrowColumn,
    as_arrow,
    check_type,
    concat_values,
    factorize,
    get_column,
    look_up,
    python_values,
    sort_values,
)
from sanitize.tables.keys import (
    Combined,
    Positions,
    answer_of_each,
    distinct_rows,
    distinct_table,
    present_codes,
    take_answers,
)

__all__ = ["Alphabet"]

# Stands for a missing value where symbols are texts. The brackets keep it apart from a text "missing" in the table.
MISSING_TEXT = "(missing)"


class Alphabet:
    """Symbols of one column, or of a tuple of columns released together, in ascending order.

    A missing value is a value like others: it is written None and comes last in its column. Instances are frozen; a
    symbol's code is its position.

    Parameters
    ----------
    columns : tuple of str
        The columns whose values, taken together, are the symbols.
    symbols : sequence
        Distinct symbols in any order: plain values for one column, tuples for several; None is missing.

    Examples
    --------
    >>> letters = Alphabet(("grade",), ["b", None, "a"])
    >>> len(letters), letters.symbols
    (3, ('a', 'b', None))
    >>> letters.encode({"grade": ["a", "z", None]})
    array([ 0, -1,  2], dtype=int32)
    """

    columns: tuple[str, ...]
    codes: NDArray[np.int32]

    def __init__(self, columns: Sequence[str], symbols: Sequence[Any]) -> None:
        columns = (columns,) if isinstance(columns, str) else tuple(columns)
        rows = [(symbol,) for symbol in symbols] if len(columns) == 1 else list(symbols)
        table = {name: [row[j] for row in rows] for j, name in enumerate(columns)}
        sorted_alphabet = Alphabet.from_table(table, columns)
        if len(sorted_alphabet) != len(rows):
            raise InvalidParameter(
                f"symbols must be distinct, got {len(rows)} symbols with {len(sorted_alphabet)} distinct values"
            )
        self._set(columns, sorted_alphabet.levels, sorted_alphabet.codes)

    def _set(self, columns: tuple[str, ...], levels: tuple[pa.Array, ...], codes: NDArray[np.int32]) -> None:
        codes.flags.writeable = False
        vars(self).update(columns=columns, levels=levels, codes=codes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Alphabet cannot be changed, so {name!r} cannot be set; build a new Alphabet")

    @classmethod
    def _from_parts(cls, columns: tuple[str, ...], levels: tuple[pa.Array, ...], codes: NDArray[np.int32]) -> Alphabet:
        """Build an alphabet from parts that are already sorted and distinct."""
        instance = cls.__new__(cls)
        instance._set(columns, levels, codes)
        return instance

    @classmethod
    def from_table(
        cls, table: Mapping[str, Any], columns: Sequence[str], orders: Mapping[str, pa.Array] | None = None
    ) -> Alphabet:
        """Alphabet of the symbols that occur in some columns of a table.

        Parameters
        ----------
        table : mapping of column name to values
            Arrow arrays, pandas or polars columns, NumPy arrays or lists.
        columns : sequence of str
            The columns that make up a symbol.
        orders : mapping of column name to Arrow array, optional
            Every value that a column may have, in the order of its symbols (labels of bins, say). The values of a
            column that is not named here are those that occur, in ascending order.
        """
        if not columns:
            raise ColumnError("at least one column must be named, got none")
        if len(set(columns)) < len(columns):
            twice = next(name for j, name in enumerate(columns) if name in columns[:j])
            raise ColumnError.fault(twice, "is listed twice; list each column once")
        levels, codes = [], []
        distinct_columns = distinct_table(arrow_columns(table, columns))
        for name in columns:
            values, column_codes = factorize(distinct_columns[name], name)
            if orders is not None and name in orders:
                level = orders[name]
                rank = look_up(values, level)
                if (rank == UNSEEN).any():
                    raise ColumnError.fault(
                        name, "contains a value that is not in its declared order; add it to that order"
                    )
            else:
                level, order = sort_values(values)
                rank = np.argsort(order).astype(np.int32)
            levels.append(level)
            codes.append(np.append(rank, np.int32(len(level)))[column_codes])  # the last entry is for MISSING
            _same_length(codes[0], codes[-1], name)
        return cls._from_rows(columns, levels, np.stack(codes, axis=1))[0]

    @classmethod
    def _from_rows(
        cls, columns: Sequence[str], levels: Sequence[pa.Array], rows: NDArray[np.int32]
    ) -> tuple[Alphabet, NDArray[np.int32]]:
        """Return the alphabet of the distinct rows of codes, and the position of each row in that alphabet."""
        distinct, places = distinct_rows(rows, [len(level) + 1 for level in levels])
        return cls._from_parts(tuple(columns), tuple(levels), distinct), places

    @classmethod
    def from_size(cls, column: str, n: int) -> Alphabet:
        """Alphabet of the integers 0 to n - 1, for distributions without a table."""
        return cls._from_parts((column,), (pa.array(np.arange(n)),), np.arange(n, dtype=np.int32)[:, None])

    @classmethod
    def from_n_labels(cls, column: str, n: int, labels: Callable[[], Sequence[str]]) -> Alphabet:
        """Return the alphabet of n text labels, which are made when first needed; repeated labels get a number."""
        instance = cls.__new__(cls)
        codes = np.arange(n, dtype=np.int32)[:, None]
        codes.flags.writeable = False
        vars(instance).update(columns=(column,), codes=codes, _labels=labels)
        return instance

    @cached_property
    def levels(self) -> tuple[pa.Array, ...]:
        """Values of each column: code i means value i, and the code after the last value means a missing value."""
        seen: Counter[str] = Counter()
        names: list[str] = []
        for label in vars(self)["_labels"]():
            seen[label] += 1  # counts equal labels only: a count of all labels would reveal the others
            names.append(label if seen[label] == 1 else f"{label} #{seen[label]}")
        vars(self)["_labels"] = lambda: names  # frees what the labels were made from
        return (pa.array(names, pa.string()),)

    @property
    def widest(self) -> str:
        """Column with the most values."""
        return self.columns[int(self.codes.max(axis=0, initial=0).argmax())]

    def __len__(self) -> int:
        return len(self.codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Alphabet):
            return NotImplemented
        return (
            self.columns == other.columns
            and np.array_equal(self.codes, other.codes)
            and all(a.equals(b) for a, b in zip(self.levels, other.levels, strict=True))
        )

    def __hash__(self) -> int:
        return hash((self.columns, self.codes.tobytes()))

    def __repr__(self) -> str:
        return f"Alphabet({' x '.join(self.columns)}, {len(self)} symbols)"

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], ...]:
        """Sorted keys of each column; a key combines the code of the earlier columns with the column's own code."""
        steps = []
        prefix = np.zeros(len(self), np.int64)
        for level, code in zip(self.levels, self.codes.T, strict=True):
            keys, prefix = np.unique(prefix * (len(level) + 1) + code, return_inverse=True)
            steps.append(keys)
        return tuple(steps)

    def encode(self, table: Mapping[str, Any]) -> NDArray[np.int32]:
        """Code of each row of a table, shape (n_rows,); -1 if the symbol is not in the alphabet."""
        rows = combine_rows(table, self.columns)
        if isinstance(rows, Combined):
            return take_answers(self._encode(rows.table(np.arange(rows.n))), rows.numbers)
        return self._encode(rows)

    def _encode(self, table: Mapping[str, ArrowColumn]) -> NDArray[np.int32]:
        prefix: NDArray[np.int64] | None = None
        n_prefixes = 1
        for name, level, keys in zip(self.columns, self.levels, self._steps, strict=True):
            values, codes = factorize(table[name], name)
            column = np.append(look_up(values, level), np.int32(len(level)))[codes]  # the last entry is for MISSING
            prefix = np.zeros(len(column), np.int64) if prefix is None else prefix
            _same_length(prefix, column, name)
            size = len(level) + 1
            wanted = prefix * size + column
            wanted[(prefix < 0) | (column == UNSEEN)] = -1
            prefix = Positions(keys, n_prefixes * size).find(wanted)
            n_prefixes = len(keys)
        assert prefix is not None
        return prefix.astype(np.int32)

    def decode(self, codes: NDArray[np.integer[Any]]) -> dict[str, pa.DictionaryArray]:
        """Return the columns of the symbols with these codes, as dictionary arrays that contain only used values."""
        is_present = present_codes(codes, len(self))
        columns = {}
        for name, level, column in zip(self.columns, self.levels, self.codes.T, strict=True):
            used = np.zeros(len(level) + 1, bool)
            used[column[is_present]] = True
            missing = bool(used[-1])
            level_places = np.flatnonzero(used[:-1])
            if "_labels" in vars(self):  # labels are in the order in which groups were formed
                level_places = level_places[np.asarray(pc.sort_indices(level.take(pa.array(level_places))))]
            renumber = np.zeros(len(level) + 1, np.int32)
            renumber[level_places] = np.arange(len(level_places), dtype=np.int32)
            places = pa.array(renumber[column], mask=column == len(level) if missing else None)
            indices = answer_of_each(places, codes)
            columns[name] = pa.DictionaryArray.from_arrays(indices, level.take(pa.array(level_places)), safe=False)
        return columns

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """Symbols as Python values: plain values for one column, tuples for several; None is a missing value."""
        value_lists = []
        for name, level, places in zip(self.columns, self.levels, self.codes.T, strict=True):
            values = [*python_values(level, name), None]
            value_lists.append([values[place] for place in places])
        return tuple(value_lists[0]) if len(value_lists) == 1 else tuple(zip(*value_lists, strict=True))

    def label(self, code: int) -> str:
        """Symbol with this code as text for a report; a missing value reads ``(missing)``."""
        symbol = self.symbols[code]
        parts = symbol if len(self.columns) > 1 else (symbol,)
        texts = (value_text(part, level.type) for part, level in zip(parts, self.levels, strict=True))
        return " | ".join(texts)

    def take(self, codes: NDArray[np.integer[Any]]) -> Alphabet:
        """Alphabet of the symbols with the given codes, which must be in ascending order."""
        return Alphabet._from_parts(self.columns, self.levels, np.ascontiguousarray(self.codes[codes]))

    def group_by(self, columns: Sequence[str]) -> NDArray[np.intp]:
        """Group number of each symbol; symbols with equal values in the given columns form a group.

        Examples
        --------
        >>> Alphabet(("class", "sex"), [("1st", "f"), ("1st", "m"), ("2nd", "f")]).group_by(["class"]).tolist()
        [0, 0, 1]
        """
        places = [self.columns.index(name) for name in columns]
        return np.unique(self.codes[:, places], axis=0, return_inverse=True)[1].ravel()

    def alike(self, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask of each set of two or more symbols that agree in some of the given columns, shape (n_sets, n).

        Raises
        ------
        ColumnError
            If a name is not a column of the symbols.
        InvalidParameter
            If there are too many sets for memory.

        Examples
        --------
        >>> letters = Alphabet(("class", "sex"), [("1st", "f"), ("1st", "m"), ("2nd", "f")])
        >>> letters.alike(["class"]).tolist()
        [[True, True, False]]
        >>> letters.alike(["class", "sex"]).tolist()
        [[True, True, False], [True, False, True]]
        """
        for name in columns:
            if name not in self.columns:
                listed = ", ".join(self.columns)
                raise ColumnError(f"side_columns names {name!r}, which is not public; choose among {listed}", name)
        names = tuple(dict.fromkeys(columns))
        sets: dict[bytes, NDArray[np.bool_]] = {}
        for part in chain.from_iterable(combinations(names, size + 1) for size in range(len(names))):
            value = self.group_by(part)
            for number in np.flatnonzero(np.bincount(value) > 1).tolist():
                sets[(value == number).tobytes()] = value == number
            if len(sets) * len(self) > DENSE_CELLS:
                raise InvalidParameter(
                    f"side_columns has more than {DENSE_CELLS // len(self):,} combinations of values that a reader may "
                    f"know; name fewer of {', '.join(columns)}, or cut their values into bins"
                )
        return np.array([*sets.values()], np.bool_).reshape(len(sets), len(self))

    def union(self, addend: Alphabet) -> tuple[Alphabet, NDArray[np.int32], NDArray[np.int32]]:
        """Return the alphabet of the symbols of two alphabets, and the positions of their symbols in the result."""
        if self.columns != addend.columns:
            raise ColumnError(f"alphabets must have the same columns, got {self.columns} and {addend.columns}")
        levels, codes = [], []
        for j, name in enumerate(self.columns):
            a, b = self.levels[j], addend.levels[j]
            fresh = b.filter(pa.array(look_up(b, a) == UNSEEN))
            values = concat_values(a, fresh, name)
            # Without fresh values the order stays as it is, which keeps declared orders.
            level, order = sort_values(values) if len(fresh) else (values, np.arange(len(values)))
            first_codes = np.append(np.argsort(order)[: len(a)], len(level))[self.codes[:, j]]
            second_codes = np.append(look_up(b, level), len(level))[addend.codes[:, j]]
            levels.append(level)
            codes.append(np.concatenate([first_codes, second_codes]).astype(np.int32))
        joined, positions = Alphabet._from_rows(self.columns, levels, np.stack(codes, axis=1))
        return joined, positions[: len(self)], positions[len(self) :]

    def form(self) -> AlphabetForm:
        """Return the alphabet in its form for JSON; levels are Arrow IPC bytes, so no type loses precision."""
        return AlphabetForm(self.columns, self.levels, self.codes.tolist())

    def __getstate__(self) -> dict[str, Any]:
        return to_builtin(self.form())

    def __setstate__(self, state: dict[str, Any]) -> None:
        instance = read(AlphabetForm, state).alphabet()
        self._set(instance.columns, instance.levels, instance.codes)


class AlphabetForm(Declared, frozen=True, eq=False):
    """Form of an alphabet in JSON, which is checked when it is read because anybody may have changed it."""

    columns: tuple[str, ...]
    levels: tuple[pa.Array, ...]
    codes: list[list[Count]]

    def __post_init__(self) -> None:
        require(
            0 < len(self.columns) == len(set(self.columns)) == len(self.levels), "must be named, each once", "columns"
        )
        require(all(len(row) == len(self.columns) for row in self.codes), "must have one code per column", "codes")

    def alphabet(self) -> Alphabet:
        """Return the alphabet that the form describes.

        Raises
        ------
        ValueError
            If no table could have given these symbols, because they are repeated or out of order.
        """
        codes = np.array(self.codes, np.int32).reshape(-1, len(self.columns))
        for name, level, column in zip(self.columns, self.levels, codes.T, strict=True):
            check_type(level.type, name)
            if level.null_count or len(level.unique()) < len(level):
                raise InvalidParameter(f"the values of column {name!r} must be distinct")
            if column.min(initial=0) < 0 or column.max(initial=0) > len(level):
                raise InvalidParameter(f"column {name!r} has a code without a value")
        if not is_ascending(codes):
            raise InvalidParameter("the symbols of an alphabet must be distinct and in ascending order")
        return Alphabet._from_parts(self.columns, self.levels, codes)


def symbol_place(alphabet: Alphabet, text: str) -> int:
    """Return the code of the symbol that a text names in the column's type; -1 if none or several symbols match."""
    level = alphabet.levels[0]
    level_codes = [len(level)] if text == MISSING_TEXT else []
    with suppress(pa.ArrowException, ValueError):
        level_codes += look_up(pa.array([text], pa.string()).cast(level.type), level).tolist()
    places = np.flatnonzero(np.isin(alphabet.codes[:, 0], level_codes))
    return int(places[0]) if len(places) == 1 else -1


def is_ascending(codes: NDArray[np.integer[Any]]) -> bool:
    """Return whether tuples of codes are distinct and in lexicographic order."""
    steps = np.diff(codes.astype(np.int64), axis=0)
    moved = steps != 0
    return bool(moved.any(axis=1).all() and (steps[np.arange(len(steps)), moved.argmax(axis=1)] > 0).all())


def arrow_columns(table: Mapping[str, Any], names: Sequence[str]) -> dict[str, ArrowColumn]:
    """Convert columns of any kind of table to Arrow columns."""
    return {name: as_arrow(get_column(table, name), name) for name in names}


def combine_rows(table: Mapping[str, Any], names: Sequence[str]) -> Combined | dict[str, ArrowColumn]:
    """Return the combinations of values in some columns as codes, or the columns if there are too many combinations."""
    columns = arrow_columns(table, names)
    return Combined.from_columns(columns) or columns


def group_label(alphabet: Alphabet, members: Sequence[int] | NDArray[np.intp], size: int) -> str:
    """Readable name of merged symbols: the name of a single symbol, or the first three members in braces."""
    name = ", ".join(alphabet.label(x) for x in members[:3])
    if size > 3:
        name += f", +{size - 3} more"
    return name if size == 1 else "{" + name + "}"


def group_alphabet(public: Alphabet, labels: NDArray[np.intp]) -> Alphabet:
    """Alphabet of merged symbols, whose names are made when first needed."""
    n_groups = int(labels.max()) + 1

    def names() -> list[str]:
        members: list[list[int]] = [[] for _ in range(n_groups)]
        for x, group in enumerate(labels):
            if len(members[group]) < 3:
                members[group].append(x)
        sizes = np.bincount(labels)
        return [group_label(public, shown, size) for shown, size in zip(members, sizes.tolist(), strict=True)]

    return Alphabet.from_n_labels("+".join(public.columns), n_groups, names)


def value_text(value: Any, dtype: pa.DataType) -> str:
    """Format a value as text for a report; a float32 reads 3.1, not 3.0999999046325684."""
    if value is None:
        return MISSING_TEXT
    return str(np.dtype(dtype.to_pandas_dtype()).type(value)) if pa.types.is_floating(dtype) else str(value)


def _same_length(first: NDArray[Any], second: NDArray[Any], name: str) -> None:
    if len(first) != len(second):
        raise ColumnError.fault(name, f"has {len(second)} rows, but the columns before it have {len(first)}")
