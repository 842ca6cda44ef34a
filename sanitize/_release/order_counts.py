"""Dense counts of a sequence of small codes by position, by neighbours and between neighbours.

A count costs one look at a table a row, so features are put together: as many distances as a table in the cache holds
are counted at once, and taken apart afterwards.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._tables.combined import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Table = NDArray[np.int64]

# Cells of a table that stays in the cache.
_CELLS = 1 << 15
# Rows whose intermediate arrays stay in the cache; of fewer, threads would mostly wait for the interpreter's lock.
_ROWS = 1 << 16
# Rows of a large table that are looked at beside one another and by period, and of each run of them.
_LOOKED_AT = 1 << 19
_RUN_ROWS = 1 << 17


def runs_of(first: int, end: int, n_rows: int) -> Iterator[tuple[int, int, bool]]:
    """Runs that some rows are cut into, and whether their neighbours and periods are looked at."""
    every = max(1, n_rows // _LOOKED_AT)
    while first < end:
        place = first % (every * _RUN_ROWS)
        is_looked_at = place < _RUN_ROWS
        last = end if every == 1 else min(end, first - place + (_RUN_ROWS if is_looked_at else every * _RUN_ROWS))
        yield first, last, is_looked_at
        first = last


def by_block(codes: NDArray[Any], n_codes: int, first: int, edges: Sequence[int]) -> Table:
    """Codes of rows from number ``first`` on, by the runs of rows between edges; shape (n_runs, n_codes)."""
    counts = np.zeros((len(edges) - 1, n_codes), np.int64)
    for block, (begin, end) in enumerate(pairwise(edges)):
        run = codes[max(begin - first, 0) : max(end - first, 0)]
        if len(run):
            counts[block] = count(run, n_codes)
    return counts


def by_position(codes: NDArray[np.uint8], n_codes: int, first: int, cycle: int) -> Table:
    """Codes by their row's number within a cycle, shape (cycle, n_codes)."""
    counts = np.zeros(cycle * n_codes, np.int64)
    tiled = _repeated(1, n_codes, cycle, len(counts))
    for start in range(0, len(codes), _ROWS):
        block = codes[start : start + _ROWS]
        turn = (first + start) % cycle
        counts += np.bincount(tiled[turn : turn + len(block)] + block, minlength=len(counts))
    return counts.reshape(cycle, n_codes)


def by_period(whole: Table, most: int) -> Iterator[tuple[int, Table]]:
    """Counts by position within a cycle as those within each period that divides it, from 2 up to ``most``."""
    periods = _divisors(len(whole))
    tables = {len(whole): whole}
    for period in reversed(periods[:-1]):
        nearest = min(longer for longer in tables if longer % period == 0)  # its sums are sums already
        tables[period] = tables[nearest].reshape(-1, period, whole.shape[1]).sum(axis=0)
    for period in periods:
        if period <= most:
            yield period, tables[period]


@lru_cache
def _divisors(n: int) -> tuple[int, ...]:
    """From 2 on, ascending."""
    return tuple(k for k in range(2, n + 1) if n % k == 0)


def by_neighbour(
    codes: NDArray[np.uint8], n_codes: int, first: int, n_before: int, lags: Sequence[int]
) -> Iterator[tuple[int, Table]]:
    """Codes beside those so many rows before, by whether those lie in an even or an odd stretch of the distance.

    Counted are rows from the ``n_before``-th on; each table has shape (2, n_codes of the row before, n_codes).
    """
    size = 1
    while (2 * n_codes) ** (size + 1) * n_codes <= _CELLS:
        size += 1
    at = [lags[i : i + size] for i in range(0, len(lags), size)]
    # Near the start of the table rows have neighbours at the smaller distances only.
    begin = min(max(n_before, max(lags)), len(codes))
    near = by_near_neighbour(codes[:begin], n_codes, first, n_before, lags)
    far = (table for together in at for table in _beside(codes, n_codes, first, begin, together))
    for lag, here, there in zip(lags, near, far, strict=True):
        yield lag, here + there


def by_near_neighbour(codes: NDArray[np.uint8], n_codes: int, first: int, n_before: int, lags: Sequence[int]) -> Table:
    """The same for a few rows, which may have no neighbour at some distances; shape (n_lags, 2, n_codes, n_codes)."""
    rows, distances = np.arange(n_before, len(codes)), np.array(lags)
    place, which = np.nonzero(rows[:, None] >= distances)
    row, lag = rows[place], distances[which]
    cells = (which * 2 + (first + row - lag) // lag % 2) * n_codes + codes[row - lag]
    counts = np.bincount(cells * n_codes + codes[row], minlength=len(lags) * 2 * n_codes**2)
    return counts.reshape(len(lags), 2, n_codes, n_codes)


def _beside(codes: NDArray[np.uint8], n_codes: int, first: int, begin: int, lags: Sequence[int]) -> list[Table]:
    """For each of some distances, codes of rows from one on beside those so many rows before."""
    shape = (*(2 for _ in lags), *(n_codes for _ in lags), n_codes)
    counts = np.zeros(math.prod(shape), np.int64)
    steps = [len(counts) // 2 ** (j + 1) for j in range(len(lags))]
    turns = [_repeated(lag, step, 2 * lag, len(counts)) for lag, step in zip(lags, steps, strict=True)]
    dtype = turns[0].dtype.type
    for start in range(begin, len(codes), _ROWS):
        end = min(start + _ROWS, len(codes))
        cells = codes[start - lags[0] : end - lags[0]].astype(dtype)
        for lag in lags[1:]:
            cells *= dtype(n_codes)
            cells += codes[start - lag : end - lag]
        cells *= dtype(n_codes)
        cells += codes[start:end]
        for lag, turn in zip(lags, turns, strict=True):
            place = (first + start - lag) % (2 * lag)
            cells += turn[place : place + end - start]
        counts += np.bincount(cells, minlength=len(counts))
    table, n = counts.reshape(shape), len(lags)
    return [table.sum(axis=tuple(axis for axis in range(2 * n + 1) if axis not in (j, n + j, 2 * n))) for j in range(n)]


def between(codes: NDArray[np.uint8], n_codes: int, first: int, begin: int, period: int) -> Table:
    """Codes of rows between two others by those and the row's number within an even period.

    Counted are rows from the ``begin``-th on; shape (n_codes before, n_codes after, period, n_codes).
    """
    counts = np.zeros(n_codes**3 * period, np.int64)
    tiled = _repeated(1, n_codes, period, len(counts))
    dtype = tiled.dtype.type
    for start in range(max(begin, 1), len(codes) - 1, _ROWS):
        end = min(start + _ROWS, len(codes) - 1)
        cells = codes[start - 1 : end - 1].astype(dtype)
        cells *= dtype(n_codes)
        cells += codes[start + 1 : end + 1]
        cells *= dtype(period * n_codes)
        turn = (first + start) % period
        cells += tiled[turn : turn + end - start]
        cells += codes[start:end]
        counts += np.bincount(cells, minlength=len(counts))
    return counts.reshape(n_codes, n_codes, period, n_codes)


@lru_cache(maxsize=128)  # those of a few columns, of some 140 KiB each
def _repeated(every: int, step: int, period: int, n_cells: int) -> NDArray[Any]:
    """Multiples of ``step`` that go up every few rows and start again with each period, from any row of one on.

    There are enough for a block of rows, in a type that numbers some cells.
    """
    values = (np.arange(period) // every * step).astype(np.uint16 if n_cells <= 1 << 16 else np.int32)
    return np.tile(values, -(-_ROWS // period) + 1)
