"""The nearest printed row: what an adversary who knows some of a person's columns finds by it.

Two rows are as far apart as their columns are together: 1 where categories differ, the difference of ranks of numbers,
1 where a value is outside a printed interval or set. Of rows that are equally near the first one in a random order is
taken, which is the same for every target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitize._checks import Mask, Vector
from sanitize._progress import progress
from sanitize._tables.keys import distinct_rows
from sanitize.attack._adversaries import Secrets, area, predict, threads_for
from sanitize.attack._copies import Measured
from sanitize.attack._features import Features, indicators
from sanitize.attack._people import APART, PEOPLE, RELEASED, Beside, Column
from sanitize.measures import entropy

Rows = NDArray[np.integer[Any]]

# Columns that the adversary knows of her target, at most; columns and printed rows that she chooses them by.
_KNOWN, _MOST_COLUMNS, _MOST_ROWS = 5, 30, 20_000
# People, and as many outsiders, that are searched for at most; comparisons of values for all of them together.
_MOST_TARGETS, _MOST_COMPARISONS = 10_000, 10_000_000_000
# Rows that she learns from how the secret goes with the public columns, and cuts of numbers that she makes.
_FEWEST_LEARNED, _MOST_LEARNED, _CUTS = 20, 20_000, 16


@dataclass(frozen=True, eq=False)
class _Found:
    """What the search for some targets found, one of each a target.

    Attributes
    ----------
    nearest : ndarray of int
        Distance of the nearest printed row in all columns.
    linked : ndarray of bool
        Both halves of the columns lead to the same printed row.
    row : ndarray of int
        Row of the release that is nearest in the columns that are known.
    secrets : ndarray of float, shape (n_targets, n_secrets)
        How often each sensitive symbol is printed beside the rows that are nearest in these.
    """

    nearest: Rows
    linked: Mask
    row: Rows
    secrets: Vector


class _Search:
    """The printed rows, each once, in random order with the frequent ones early, and the columns that are searched by.

    Attributes
    ----------
    known, halves : list of int, two lists of int
        Columns that together tell most printed rows apart; and all columns, those of one half and the others, by
        default dealt in turn by how much each tells.
    most_targets : int
        People, and as many outsiders, that may be searched for.
    """

    def __init__(self, beside: Beside, rng: np.random.Generator, half: Sequence[str] | None = None) -> None:
        self.beside = beside
        order = rng.permutation(beside.n[RELEASED])
        codes = np.column_stack([column.codes[RELEASED][order] for column in beside.columns]).astype(np.int32)
        sizes = [column.n_codes for column in beside.columns]
        _, first, numbers = np.unique(distinct_rows(codes, sizes)[1], return_index=True, return_inverse=True)
        by_first = np.argsort(first)
        self._rows = order[first[by_first]]
        cells = len(first) * len(sizes)
        self.most_targets = max(50, min(_MOST_TARGETS, _MOST_COMPARISONS // (2 * cells)))
        self._secrets = np.zeros((len(first), beside.n_secrets))
        if beside.is_printed:
            np.add.at(self._secrets, (np.argsort(by_first)[numbers], beside.secret[RELEASED][order]), 1)
        self._columns = [_shown(column)[self._rows] for column in beside.columns]
        some = codes[:_MOST_ROWS].astype(np.int64)
        by_entropy = np.argsort([-_entropy(column) for column in some.T], kind="stable").tolist()
        self.halves = by_entropy[::2], by_entropy[1::2]
        if half is not None:
            is_in = [column.name in half for column in beside.columns]
            self.halves = [j for j in by_entropy if is_in[j]], [j for j in by_entropy if not is_in[j]]
        self.known: list[int] = []
        together = np.zeros(len(some), np.int64)
        while len(self.known) < min(_KNOWN, max(1, len(sizes) - 1)):
            joined = {
                j: np.unique(together * sizes[j] + some[:, j], return_inverse=True)[1]
                for j in by_entropy[:_MOST_COLUMNS]
                if j not in self.known
            }
            best = max(joined, key=lambda j: _entropy(joined[j]))
            self.known.append(best)
            together = joined[best]

    def of(self, side: int, targets: Rows) -> _Found:
        """Search for some rows of people or outsiders."""
        n = len(targets)
        secrets = np.zeros((n, self.beside.n_secrets))
        found = _Found(np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, np.int64), secrets)
        one, first, second, known = np.empty((4, len(self._rows)), np.int32)
        with progress("judging people" if side == PEOPLE else "judging outsiders", n) as step:
            for i, target in enumerate(targets):
                for sums in (first, second, known):
                    sums.fill(0)
                for half, sums in zip(self.halves, (first, second), strict=True):
                    for j in half:
                        self._distances(j, side, target, one)
                        sums += one
                        if j in self.known:
                            known += one
                near = int(known.argmin())
                found.row[i] = self._rows[near]
                found.secrets[i] = self._secrets[known == known[near]].sum(axis=0)
                found.linked[i] = first.argmin() == second.argmin()
                first += second
                found.nearest[i] = first.min()
                step("")
        return found

    def _distances(self, j: int, side: int, target: int, out: NDArray[np.int32]) -> None:
        """Distance of each printed row from a target in one column."""
        column, printed = self.beside.columns[j], self._columns[j]
        if column.ranks is not None:
            np.subtract(printed, column.ranks[side][target], out=out)
            np.abs(out, out=out)
            np.minimum(out, APART, out=out)
            return
        code = column.codes[side][target]
        differs = printed != code if column.fits is None else ~column.fits[:, code][printed]
        np.multiply(differs, APART, out=out, dtype=np.int32)


def search(
    beside: Beside, sides: Sequence[Rows], rng: np.random.Generator, half: Sequence[str] | None = None
) -> tuple[list[Measured], tuple[str, ...]]:
    """Membership, linkability and inference by the nearest printed row, and the columns that the adversary knows.

    Parameters
    ----------
    beside : Beside
    sides : sequence of ndarray of int
        All people, and outsiders, in random order; as many as time allows are searched for, of the people half at most:
        the others teach how the secret goes with the public columns.
    half : sequence of str, optional
        Columns of one of the halves that are linked.
    """
    searched = _Search(beside, rng, half)
    n = min(searched.most_targets, max(1, len(sides[0]) // 2), *map(len, sides[1:]))
    targets = [side[:n] for side in sides]
    found = [searched.of(side, rows) for side, rows in enumerate(targets, PEOPLE)]
    measured = []
    if len(beside.columns) > 1:
        measured.append(Measured.mean("linkability", [one.linked for one in found]))
        # Whether all columns that are not known are printed in the nearest row as the target has them.
        rest = [column for j, column in enumerate(beside.columns) if j not in searched.known]
        read_off = [
            np.all([column.codes[RELEASED][one.row] == column.codes[side][rows] for column in rest], axis=0)
            for side, (rows, one) in enumerate(zip(targets, found, strict=True), PEOPLE)
        ]
        measured.append(Measured.mean("read off", read_off))
    secret = _secrets(searched, sides[0][n:], targets, found)
    if secret is not None:
        measured.append(secret)
    if len(found) > 1:
        # How often, of a person and an outsider, the person is the one who is nearer to a printed row.
        auc, owed = area(-np.concatenate([one.nearest for one in found]), np.arange(2 * n) < n)
        measured.append(Measured.of("membership", [(auc, owed[:n]), (0.5, owed[n:])], 1 / n))
    return measured, tuple(beside.columns[j].name for j in searched.known)


def _secrets(searched: _Search, others: Rows, targets: Sequence[Rows], found: Sequence[_Found]) -> Measured | None:
    """How often she ranks the secret of two targets right; None where that cannot be learned or asked."""
    beside = searched.beside
    truth = [beside.secret[side][rows] for side, rows in enumerate(targets, PEOPLE)]
    if beside.is_printed:
        beliefs = [one.secrets / one.secrets.sum(axis=1, keepdims=True) for one in found]
    else:
        learned = others[:_MOST_LEARNED]
        if len(learned) < _FEWEST_LEARNED:
            return None
        seen = _completed(searched, learned, targets, found)
        secrets = Secrets(
            np.concatenate([beside.secret[PEOPLE][learned], *truth]).astype(np.int32), None, beside.n_secrets
        )
        rows = np.split(np.arange(len(secrets.codes)), np.cumsum([len(learned), *map(len, truth)])[:-1])
        with threads_for(None):
            beliefs = [predict(None, seen, secrets, rows[0], asked) for asked in rows[1:]]
    counts = np.array([np.bincount(symbols, minlength=beside.n_secrets) for symbols in truth])
    asked = [s for s in range(beside.n_secrets) if (counts[:, s] > 0).all() and (counts[:, s] < len(truth[0])).all()]
    if not asked:
        return None
    weights = counts.sum(axis=0)[asked] / counts[:, asked].sum()
    sides = []
    for distribution, symbols in zip(beliefs, truth, strict=True):
        aucs, owed = zip(*(area(distribution[:, s], symbols == s) for s in asked), strict=True)
        sides.append((float(weights @ aucs), weights @ np.array(owed)))
    fewest = np.minimum(counts, len(truth[0]) - counts)[:, asked].min(axis=0)
    return Measured.of("secret", sides, float((weights / fewest).max()))


def _completed(searched: _Search, learned: Rows, targets: Sequence[Rows], found: Sequence[_Found]) -> Features:
    """Features of the rows she learns from, and of targets: what she knows, and the rest as the nearest row has it."""
    parts = []
    for j, column in enumerate(searched.beside.columns):
        known = j in searched.known
        pieces = [(PEOPLE, learned)]
        for side, (rows, one) in enumerate(zip(targets, found, strict=True), PEOPLE):
            pieces.append((side, rows) if known else (RELEASED, one.row))
        if column.ranks is not None:
            ranks = np.concatenate([column.ranks[side][rows] for side, rows in pieces]) / APART
            parts += [ranks[:, None].astype(np.float32), indicators(np.minimum(ranks * _CUTS, _CUTS).astype(np.int64))]
        else:
            usual = _usual(column)
            parts.append(indicators(np.concatenate([usual[side][rows] for side, rows in pieces])))
    matrix = np.concatenate(parts, axis=1)
    return Features(matrix, np.zeros(len(matrix), np.int64), ())


def _shown(column: Column) -> NDArray[Any]:
    """What distances from printed rows are made of."""
    if column.ranks is not None:
        return column.ranks[RELEASED]
    return column.codes[RELEASED] if column.labels is None else column.labels


def _usual(column: Column) -> list[Rows]:
    """Codes of the three tables; for a printed interval or set the most frequent value that it stands for."""
    if column.fits is None or column.labels is None:
        return column.codes
    counts = np.bincount(column.codes[PEOPLE], minlength=column.fits.shape[1])
    likeliest = (column.fits * (1 + counts)).argmax(axis=1)
    return [likeliest[column.labels], *column.codes[1:]]


def _entropy(codes: Rows) -> float:
    """Entropy of the frequencies of codes, in nats."""
    return entropy(np.unique(codes, return_counts=True)[1] / len(codes))
