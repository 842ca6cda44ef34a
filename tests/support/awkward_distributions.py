"""Distributions of thirteen awkward kinds: empty cells, ties, skew, copies, and probabilities that are hardly there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.core.joint import JointDistribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Cells = NDArray[np.float64]


def _uniform(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells


def _zeros(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells * (rng.random(cells.shape) > 0.4)


def _determined(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells * (np.arange(len(cells))[:, None] == rng.integers(0, len(cells), cells.shape[1]))


def _skew(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells * 10.0 ** -rng.uniform(0, 5, cells.shape[1])


def _ties(cells: Cells, rng: np.random.Generator) -> Cells:
    return rng.integers(1, 4, cells.shape).astype(float)


def _copied_columns(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells[:, rng.integers(0, max(cells.shape[1] // 3, 1), cells.shape[1])]


def _copied_rows(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells[rng.integers(0, max(len(cells) - 1, 1), len(cells))]


def _rare_secret(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells * np.where(np.arange(len(cells)) == 0, 1e-6, 1.0)[:, None]


def _hardly_there(cells: Cells, rng: np.random.Generator) -> Cells:
    return cells * np.where(rng.random(cells.shape) < 0.3, 1e-9, 1.0)


def _independent(cells: Cells, rng: np.random.Generator) -> Cells:
    return np.outer(cells.sum(axis=1), cells.sum(axis=0)) * (1 + 0.01 * cells)


def _blocks(cells: Cells, rng: np.random.Generator) -> Cells:
    same = np.arange(len(cells))[:, None] % 2 == rng.integers(0, 2, cells.shape[1])
    return cells * np.where(same, 1.0, 0.02)


def _counts(cells: Cells, rng: np.random.Generator) -> Cells:
    return rng.poisson(3 * cells).astype(float)


def _ordered(cells: Cells, rng: np.random.Generator) -> Cells:
    s, x = np.linspace(0, 1, len(cells))[:, None], np.linspace(0, 1, cells.shape[1])
    return np.exp(-8 * (s - x) ** 2) * (0.5 + cells)


KINDS: dict[str, Callable[[Cells, np.random.Generator], Cells]] = {
    make.__name__[1:]: make
    for make in (
        _uniform,
        _zeros,
        _determined,
        _skew,
        _ties,
        _copied_columns,
        _copied_rows,
        _rare_secret,
        _hardly_there,
        _independent,
        _blocks,
        _counts,
        _ordered,
    )
}


def awkward_distribution(kind: str, n_s: int, n_x: int, seed: int) -> JointDistribution:
    """A distribution of a kind; where a margin would be empty, one cell is filled."""
    rng = np.random.default_rng([n_s, n_x, seed])
    cells = KINDS[kind](rng.random((n_s, n_x)) + 1e-3, rng)
    cells[0, cells.sum(axis=0) == 0] = 0.1
    cells[cells.sum(axis=1) == 0, 0] = 0.1
    return JointDistribution.from_matrix(cells / cells.sum())
