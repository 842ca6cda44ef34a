"""Tables of a release, of the people it was made from and of people outside the data, with columns in comparable codes.

Attacks learn properties of a column, such as the ranks of its numbers, from the release alone, so that people and
outsiders are treated alike given the release.

A printed label may include several values: ``[20, 30)``, ``20-29``, ``30 or more``, ``{A, B}``, ``130**``, ``*``.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Mask, Vector
from sanitize._util.limits import JOINT_CELLS
from sanitize.core.alphabet import value_text
from sanitize.core.binning import as_numbers, as_seconds, holds_dates, is_numeric
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.features import require_columns
from sanitize.tables.columns import (
    MISSING,
    UNSEEN,
    as_arrow,
    concat_values,
    factorize,
    look_up,
    python_values,
    sort_values,
)
from sanitize.tables.frame import Table
from sanitize.tables.keys import distinct_rows

Codes: TypeAlias = NDArray[np.integer[Any]]

# The order of the three tables in all tuples and lists of this module; slices from PEOPLE on leave out the release.
RELEASED, PEOPLE, OUTSIDERS = range(3)
# Errors name the tables in the words of the documentation, in the same order.
_NAMES = ("the release", "the raw table", "the table of outsiders")
# Distance of two categories. Ranks of numbers lie between 0 and this, so that distances are whole numbers with exact
# sums. A power of two this large distinguishes 262,144 ranks, and sums over 8,000 columns still fit 32 bits.
APART = 1 << 18
# An end of an interval may be a number, a date or a word, so it is any text without the signs that separate ends.
_END = r"-?[^,;\s\[\](){}]+"
# Notations of intervals that other anonymisation programs write, and whether the lower and upper ends belong to the
# interval; round brackets exclude an end.
_INTERVALS = (
    (re.compile(rf"(?P<open>[\[(])\s*(?P<low>{_END})?\s*[,;]\s*(?P<high>{_END})?\s*(?P<close>[\])])"), True, True),
    (re.compile(r"(?P<low>-?[\d.]+)\s*(?:-|–|\.\.|to)\s*(?P<high>-?[\d.]+)"), True, True),
    (re.compile(rf"(?:>=|≥)\s*(?P<low>{_END})(?P<high>)|(?P<from>{_END})(?:\+| or more)"), True, True),
    (re.compile(rf">\s*(?P<low>{_END})(?P<high>)"), False, True),
    (re.compile(rf"(?P<low>)(?:<=|≤)\s*(?P<high>{_END})|(?P<until>{_END}) or less"), True, True),
    (re.compile(rf"(?P<low>)(?:<|less than)\s*(?P<high>{_END})"), True, False),
)


@dataclass(frozen=True, eq=False)
class Column:
    """Column of the release, of people in the data and of people outside it, in comparable codes.

    Attributes
    ----------
    name : str
    codes : list of ndarray of int, shape (n_rows,)
        Codes of each table; equal values have equal codes, and 0 is a missing value.
    n_codes : int
    ranks : list of ndarray of int32, or None
        Ranks of numbers and dates: `APART` times the share of released values below, counting half of the equal ones. A
        missing value is far from all numbers.
    labels : ndarray of int, or None
        Label of each released row, for a column that is released as intervals or sets.
    fits : ndarray of bool, shape (n_labels + 1, n_values + 1), or None
        Codes that each label includes; the last row is for rows without a label.
    """

    name: str
    codes: list[Codes]
    n_codes: int
    ranks: list[NDArray[np.int32]] | None = None
    labels: Codes | None = None
    fits: Mask | None = None

    @classmethod
    def from_tables(cls, name: str, tables: Sequence[Table | None]) -> Column | None:
        """Build a column from all three tables; None if no released value is comparable with an original value."""
        sides = [factorize(as_arrow([] if table is None else table[name], name), name) for table in tables]
        kind = next((texts.type for texts, _ in sides if texts.type not in ("string", "null")), None)
        for side, (texts, of_row) in enumerate(sides):
            if kind is not None and texts.type == "string":  # text may hold values of the other tables' type
                with contextlib.suppress(ValueError, NotImplementedError):  # or intervals, sets or other values
                    cast, index = factorize(texts.cast(kind), name)
                    sides[side] = cast, np.append(index, MISSING)[of_row]
        (printed, shown), (people, person_codes), (non_members, non_member_codes) = sides
        positions = look_up(non_members, people)
        # Values are numbered in ascending order, so that the numbers do not reveal who is in the data.
        values, order = sort_values(concat_values(people, non_members.filter(positions == UNSEEN), name))
        rank = np.argsort(order)
        place, fits = _match_values(printed, values, name)
        numbers, printed_numbers = numeric_values(values, name), numeric_values(printed, name)
        is_ordered = printed_numbers is not None and numbers is not None
        comparable = is_ordered and is_numeric(printed.type) == is_numeric(values.type)
        if len(place) and (place == UNSEEN).all() and fits is None and not comparable:
            return None
        n_codes = 1 + len(values) + len(place)
        places = [_number_unseen(place, len(values)), rank[: len(people)], rank[_number_unseen(positions, len(people))]]
        rows = (shown, person_codes, non_member_codes)
        codes = [np.append(where, MISSING)[index] + 1 for where, index in zip(places, rows, strict=True)]
        if fits is not None:
            return cls(name, codes, n_codes, labels=shown, fits=fits)
        if numbers is None or (not comparable and (place == UNSEEN).any()):
            return cls(name, codes, n_codes)
        of_code = np.full(n_codes, np.nan)
        of_code[1 : 1 + len(numbers)] = numbers
        if printed_numbers is not None and comparable:
            of_code[1 + places[RELEASED]] = printed_numbers
        return cls(name, codes, n_codes, _ranks([of_code[code] for code in codes]))

    def select_targets(self, targets: Sequence[Codes], order: Codes, non_targets: Codes) -> Column:
        """Return the column for the release, for the targets in this order, and for people who are not targets."""

        def select(sides: Sequence[Codes]) -> list[Codes]:
            pooled = np.concatenate([side[rows] for side, rows in zip(sides[PEOPLE:], targets, strict=False)])
            return [sides[RELEASED], pooled[order], sides[PEOPLE][non_targets]]

        ranks = None if self.ranks is None else [side.astype(np.int32) for side in select(self.ranks)]
        return replace(self, codes=select(self.codes), ranks=ranks)

    def group_levels(self, cuts: int) -> tuple[list[Codes], int]:
        """Return each table's codes, with numbers in groups of equally many released rows, and the number of codes."""
        if self.ranks is None:
            return self.codes, self.n_codes
        return [np.minimum(side.astype(np.int64) * cuts // APART, cuts) for side in self.ranks], cuts + 1

    @cached_property
    def has_gaps(self) -> bool:
        """True if a number or date is missing in any of the tables."""
        return self.ranks is not None and any((side > APART).any() for side in self.ranks)

    @property
    def usual(self) -> list[Codes]:
        """Codes of the three tables, with each released interval or set replaced with its most frequent value."""
        if self.fits is None or self.labels is None:
            return self.codes
        counts = np.bincount(np.concatenate(self.codes[PEOPLE:]), minlength=self.fits.shape[1])[: self.fits.shape[1]]
        return [(self.fits * (1 + counts)).argmax(axis=1)[self.labels], *self.codes[1:]]

    def levels(self, cuts: int) -> tuple[list[Codes], int]:
        """Return codes with few levels (groups of numbers, or frequent categories and a rest), and their number."""
        codes, n_codes = self.group_levels(cuts)
        if self.ranks is not None:
            return codes, n_codes
        codes = self.usual
        counts = np.bincount(codes[RELEASED], minlength=n_codes)
        place = np.minimum(np.argsort(np.argsort(-counts, kind="stable")), cuts)
        place[counts == 0] = cuts
        return [place[side] for side in codes], cuts + 1

    @property
    def is_set(self) -> Mask:
        """Mask of released rows with an interval or a set of several values, which no original row has."""
        return self.codes[RELEASED] >= (self.n_codes if self.fits is None else self.fits.shape[1])


def _match_values(printed: Any, values: Any, name: str) -> tuple[Codes, Mask | None]:
    """Return each released value's place among the original values, and a mask of the values in intervals and sets."""
    place = look_up(printed, values).astype(np.int64)
    if printed.type != "string" or not (place == UNSEEN).any():
        return place, None
    fits = meanings(printed.to_pylist(), values, name)
    if fits is None:
        return place, None
    is_single = (place == UNSEEN) & (fits.sum(axis=1) == 1)  # such labels become their value
    place[is_single] = fits[is_single].argmax(axis=1) - 1
    if not fits[place == UNSEEN].any():
        return place, None
    return place, np.vstack([fits, np.arange(fits.shape[1]) == 0])


def _number_unseen(place: Codes, n_known: int) -> Codes:
    """Give unseen values their own numbers, from ``n_known`` on."""
    unseen = place == UNSEEN
    return np.where(unseen, n_known + np.cumsum(unseen) - 1, place)


def _ranks(numbers: list[Vector]) -> list[NDArray[np.int32]] | None:
    """Ranks of numbers among the released numbers; None if no numbers were released."""
    printed = np.sort(numbers[RELEASED][~np.isnan(numbers[RELEASED])])
    if not len(printed):
        return None
    ranks = []
    for side in numbers:
        passed = np.searchsorted(printed, side, "left") + np.searchsorted(printed, side, "right")
        ranks.append(np.where(np.isnan(side), 2 * APART, passed * APART // (2 * len(printed))).astype(np.int32))
    return ranks


class ComparedTables:
    """Tables of the release, of people in the data and of people outside it (or None), with comparable columns.

    Attributes
    ----------
    columns, secrets : tuple of Column
        Public columns that can be compared, and sensitive columns that can be compared.
    secret : list of ndarray of int
        Number of the sensitive symbol of each row of each table.
    n_secrets : int
    is_printed : bool
        True if the release has all sensitive columns; if not, ``secret`` does not describe the release.
    left_out : dict of str to str
        Columns of the release that were not compared, with the reasons.
    n : tuple of int
        Number of rows of the release, of people in the data, and of outsiders.
    """

    def __init__(
        self, released: Any, source: Any, outsiders: Any, sensitive: Sequence[str], public: Sequence[str] | None
    ) -> None:
        printed, people = Table.from_native(released), Table.from_native(source)
        non_members = None if outsiders is None else Table.from_native(outsiders)
        tables = (printed, people, non_members)
        for table, what in zip(tables, _NAMES, strict=True):
            if table is not None and not table.n_rows:
                raise ColumnError(f"{what} has no rows, so there is nothing to judge")
        names = [name for name in printed.names if name not in sensitive] if public is None else list(public)
        shared = [name for name in names if public is not None or name in people.names]
        _check_roles(shared, sensitive, tables)
        by_name = {name: Column.from_tables(name, tables) for name in shared}
        self.columns = tuple(column for column in by_name.values() if column is not None)
        if not self.columns:
            raise ColumnError("no column of the release can be compared with the raw table; name other columns")
        printed_secrets = [Column.from_tables(name, tables) if name in printed.names else None for name in sensitive]
        self.secrets = tuple(column for column in printed_secrets if column is not None and column.fits is None)
        self.is_printed = len(self.secrets) == len(printed_secrets)
        # If the release lacks a sensitive column, the raw table takes its place, but the attacks do not use these
        # codes.
        raw_tables = (people, people, non_members)
        known = self.secrets if self.is_printed else [Column.from_tables(name, raw_tables) for name in sensitive]
        self.secret, self.n_secrets = _symbols([column for column in known if column is not None])
        odd = "written in other values than those of the raw table, and not as intervals or sets of them"
        lost = [name for name in names if by_name.get(name) is None]
        self.left_out = {name: odd if name in by_name else "not in the raw table" for name in lost}
        self.n = (printed.n_rows, people.n_rows, 0 if non_members is None else non_members.n_rows)

    def refuse_insiders(self) -> None:
        """Raise an error if the outsiders are rows of the raw table, because they must be people outside the data."""
        n_people = self.n[PEOPLE]
        rows = np.column_stack([np.concatenate(column.codes[PEOPLE:]) for column in self.columns]).astype(np.int32)
        numbers = distinct_rows(rows, [column.n_codes for column in self.columns])[1]
        seen = np.bincount(numbers[:n_people], minlength=int(numbers.max()) + 1)[numbers[n_people:]]
        # From 20 outsiders on, chance does not explain that all of them are rows of the raw table.
        if len(seen) >= 20 and (seen > 0).all() and (seen == 1).mean() > 1 / 2:
            raise InvalidParameter(
                "every row of the outsiders also occurs in the raw table, most of them exactly once; outsiders "
                "must be people who were set aside before the release was made: take them out of the raw table, or "
                "give other people"
            )


def _check_roles(public: Sequence[str], sensitive: Sequence[str], tables: Sequence[Table | None]) -> None:
    """Raise an error if a column is both sensitive and public, or is missing from a table that needs it."""
    if not sensitive:
        raise InvalidParameter("sensitive must name at least one column")
    if both := [name for name in public if name in sensitive]:
        raise InvalidParameter(f"column {both[0]!r} is both sensitive and public; choose one")
    for place, table in enumerate(tables):
        if table is not None:
            require_columns(table.names, [*public, *(sensitive if place != RELEASED else ())], _NAMES[place])


def _symbols(columns: Sequence[Column]) -> tuple[list[Codes], int]:
    """Return the sensitive symbol of each row of the three tables, with rare symbols pooled, and the number of symbols.

    People in the data and outside it are counted together, so that the pooling does not reveal who is in the data.
    """
    most = 8  # rarer secrets are pooled, because attacks and intervals need rows of every secret
    rows = []
    for column in columns:
        code = np.concatenate(column.codes)
        everybody = np.concatenate(column.codes[PEOPLE:])
        # Single values of such a secret have too few rows, so the question is whether it is above the median.
        if column.ranks is not None and len(np.unique(everybody)) > 10:
            middle = np.median(np.concatenate(column.ranks[PEOPLE:]))
            code = np.where(code == 0, 0, 1 + (np.concatenate(column.ranks) > middle))
        rows.append(code)
    numbers = np.unique(np.column_stack(rows), axis=0, return_inverse=True)[1].ravel()
    sides = np.split(numbers, np.cumsum([len(code) for code in columns[0].codes])[:-1])
    counts = np.bincount(np.concatenate(sides[PEOPLE:]), minlength=int(numbers.max()) + 1)
    place = np.minimum(np.argsort(np.argsort(-counts, kind="stable")), most - 1)
    return [place[side] for side in sides], min(most, len(place))


def numeric_values(values: Any, name: str) -> Vector | None:
    """Convert ordered values to numbers; None for categories."""
    if is_numeric(values.type):
        return as_numbers(values)
    return as_seconds(values, name)[0].astype(np.float64) if holds_dates(values.type) else None


def meanings(labels: Sequence[str], values: Any, name: str) -> Mask | None:
    """Mask of the values that each label includes, shape (n_labels, 1 + n_values); the first is the missing value.

    A label that is not understood includes no value. The result is None if there are too many labels and values.
    """
    if len(labels) * (1 + len(values)) > JOINT_CELLS:
        return None
    texts = [value_text(value, values.type) for value in python_values(values, name)]
    places = {text: place for place, text in enumerate(texts, 1)} | {"missing": 0}
    numbers = numeric_values(values, name)
    matches = np.zeros((len(labels), 1 + len(values)), bool)
    for row, label in zip(matches, labels, strict=True):
        text = label.strip()
        if text.endswith(" or missing"):
            row[0], text = True, text.removesuffix(" or missing")
        if text in places:
            row[places[text]] = True
        elif text in ("*", "any", "any value"):
            row[:] = True
        elif text.endswith("}"):
            head, _, inner = text.partition("{")
            members = [places[member] for member in re.split(r",\s*", inner[:-1]) if member in places]
            row[members] = True
            if head == "all but ":
                row[:] = ~row
        elif text.endswith("*"):
            start = text.rstrip("*")
            row[1:] = [member.startswith(start) and len(member) == len(text) for member in texts]
        elif numbers is not None:
            row[1:] |= _is_in_interval(text, numbers, values, name)
    return matches


def _is_in_interval(text: str, numbers: Vector, values: Any, name: str) -> Mask:
    """Mask of numbers in an interval given in a usual notation, or equal to a single number."""
    for pattern, with_low, with_high in _INTERVALS:
        if (match := pattern.fullmatch(text)) is not None:
            ends = match.groupdict()
            low = _number(ends.get("low") or ends.get("from"), -math.inf, values, name)
            high = _number(ends.get("high") or ends.get("until"), math.inf, values, name)
            above = numbers >= low if with_low and ends.get("open") != "(" else numbers > low
            return above & (numbers <= high if with_high and ends.get("close") != ")" else numbers < high)
    return numbers == _number(text, math.nan, values, name)


def _number(text: str | None, otherwise: float, values: Any, name: str) -> float:
    """Parse a number or date; return ``otherwise`` if there is no text, and NaN if the text is neither."""
    if not text:
        return otherwise
    try:
        if holds_dates(values.type) and "inf" not in text:
            return float(as_seconds(as_arrow([text], name), name)[0][0])
        return float(text.replace("∞", "inf"))
    except (ValueError, ColumnError):
        return math.nan
