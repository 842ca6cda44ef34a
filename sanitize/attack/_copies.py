"""Rows and parts of rows that are printed as somebody has them: copies, and descriptions that single somebody out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitize._checks import Mask, Vector
from sanitize._tables.keys import distinct_rows
from sanitize.attack._people import PEOPLE, RELEASED, Beside, Column
from sanitize.errors import InvalidParameter

Rows = NDArray[np.integer[Any]]

# Columns of a description; how many choices of them are tried at most, and rows that are looked at for all of them.
_DESCRIBED, _MOST_CHOICES, _FEWEST_CHOICES, _MOST_ROWS = 4, 40, 4, 4_000_000


@dataclass(frozen=True, eq=False)
class Measured:
    """One figure, of people and of as many outsiders.

    Attributes
    ----------
    name : str
    people : float
    outsiders : float or None
        None without outsiders.
    spread : float
        Variance of the difference, by what it owes to each person and to each outsider.
    hit : float
        The most that one person more or less could change.
    n : int
        People that it is of.
    """

    name: str
    people: float
    outsiders: float | None
    spread: float
    hit: float
    n: int

    @classmethod
    def of(cls, name: str, sides: Sequence[tuple[float, Vector]], hit: float) -> Measured:
        """Figure of each side, of which there are one or two, with what it owes to each of its rows."""
        spread = sum(float(np.square(owed - owed.mean()).sum()) for _, owed in sides)
        people, *outsiders = (float(share) for share, _ in sides)
        return cls(name, people, outsiders[0] if outsiders else None, spread, float(hit), len(sides[0][1]))

    @classmethod
    def mean(cls, name: str, sides: Sequence[Mask]) -> Measured:
        """The share of each side that something is true of."""
        return cls.of(name, [(side.mean(), side / len(side)) for side in sides], 1 / len(sides[0]))


def find_copies(beside: Beside, sides: Sequence[Rows]) -> list[Measured]:
    """Share of the printed rows that some of the people have, and that one alone of them has; of outsiders as well.

    Parameters
    ----------
    beside : Beside
    sides : sequence of ndarray of int
        Rows of people, and as many of outsiders.
    """
    keys, (printed, *counts) = _counted((*beside.columns, *beside.secrets), sides)
    total = beside.n[RELEASED]
    # What three and more on each side have stays theirs whoever is left out.
    hit = printed[np.min(counts, axis=0) <= 2].max(initial=0) / total
    some, alone = [], []
    for key, n in zip(keys, counts, strict=True):
        some.append((printed[n > 0].sum() / total, (printed * (n == 1) / total)[key]))
        alone.append((printed[n == 1].sum() / total, (_owed_alone(printed, n) / total)[key]))
    return [Measured.of("copies", some, hit), Measured.of("single copies", alone, hit)]


def single_out(beside: Beside, sides: Sequence[Rows], rng: np.random.Generator) -> Measured:
    """Share of the descriptions by four columns that fit one printed row which fit exactly one person, or outsider."""
    n_columns = len(beside.columns)
    n_choices = min(_MOST_CHOICES, max(_FEWEST_CHOICES, _MOST_ROWS // (beside.n[RELEASED] + sum(map(len, sides)))))
    total, fit = 0, [0.0 for _ in sides]
    owed, most = ([np.zeros(len(side)) for side in sides] for _ in range(2))
    size = min(_DESCRIBED, n_columns)
    drawn = (tuple(rng.choice(n_columns, size, replace=False).tolist()) for _ in range(n_choices))
    for choice in combinations(range(n_columns), size) if comb(n_columns, size) <= n_choices else drawn:
        keys, (printed, *counts) = _counted([beside.columns[j] for j in choice], sides)
        described = (printed == 1).astype(np.int64)
        total += int(described.sum())
        for i, (key, n) in enumerate(zip(keys, counts, strict=True)):
            fit[i] += described[n == 1].sum()
            owed[i] += _owed_alone(described, n)[key]
            most[i] += described[key]
    if not total:  # no description fits one printed row alone
        return Measured("singling out", 0.0, 0.0 if len(sides) > 1 else None, 0.0, 0.0, len(sides[0]))
    hit = max(1.0, *(touched.max() for touched in most)) / total
    shares = [(n / total, rows / total) for n, rows in zip(fit, owed, strict=True)]
    return Measured.of("singling out", shares, min(1.0, hit))


def refuse_insiders(beside: Beside) -> None:
    """Refuse outsiders who are rows of the source: what is found of people would be found of them as well."""
    (_, keys), (_, source, _) = _counted(beside.columns, [np.arange(n) for n in beside.n[PEOPLE:]])
    seen = source[keys]
    # Outsiders from which on it is no chance that all are rows of the source.
    if len(keys) >= 20 and (seen > 0).all() and (seen == 1).mean() > 1 / 2:
        raise InvalidParameter(
            "every row of the outsiders is one of the source too, and mostly of one person there; outsiders are people "
            "who were put aside before the release was made: take them out of the source, or give others"
        )


def _counted(columns: Sequence[Column], sides: Sequence[Rows]) -> tuple[Sequence[Rows], Sequence[Rows]]:
    """Combination of each row of the sides; how often each is printed, and occurs on each side.

    Printed rows with an interval or a set are nobody's, so they are not counted.
    """
    chosen = [np.flatnonzero(~np.any([column.is_set for column in columns], axis=0)), *sides]
    rows = [np.concatenate([c.codes[side][some] for side, some in enumerate(chosen)]) for c in columns]
    numbers = distinct_rows(np.column_stack(rows).astype(np.int32), [c.n_codes for c in columns])[1]
    parts = np.split(numbers, np.cumsum([len(some) for some in chosen])[:-1])
    n_combinations = int(numbers.max()) + 1
    return parts[1:], [np.bincount(part, minlength=n_combinations) for part in parts]


def _owed_alone(weights: Rows, counts: Rows) -> Rows:
    """What is owed to one who has a combination: it is hers alone, or she keeps it from being another's alone."""
    return weights * ((counts == 1) * 1 - (counts == 2))
