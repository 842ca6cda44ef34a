"""Random row order from counts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

# NumPy's hypergeometric sampler takes populations below 10**9.
_POPULATION = 10**9 - 1


def shuffled_blocks(
    counts: NDArray[np.int64], generator: np.random.Generator, sizes: Iterable[int]
) -> Iterator[NDArray[Any]]:
    """Codes with these counts in random order, in blocks of the sizes given.

    The order is drawn from the counts alone, so whatever it is, it tells nothing about the order of the source.
    Memory is one block, whatever the number of rows.

    Parameters
    ----------
    counts : ndarray of int, shape (n_y,)
        How often each code occurs.
    generator : numpy.random.Generator
    sizes : iterable of int
        Rows of each block; they sum to the counts.
    """
    left = counts.astype(np.int64)
    # The order is the same in any type, and narrow codes stay in the cache.
    symbols = np.arange(len(left), dtype=np.min_scalar_type(max(len(left) - 1, 0)))
    for size in sizes:
        taken = _composition(left, size, generator)
        left = left - taken
        block = np.repeat(symbols, taken)
        generator.shuffle(block)
        yield block


def _composition(left: NDArray[np.int64], size: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """How many of each code go into the next block."""
    total = int(left.sum())
    if size == total:
        return left
    if total <= _POPULATION:
        return generator.multivariate_hypergeometric(left, size, method="marginals")
    # Beyond the sampler's range a block is a tiny part of the rows, and drawing with replacement, capped at
    # what is left, is the same to one part in a thousand.
    taken = np.minimum(generator.multinomial(size, left / total), left)
    while short := size - int(taken.sum()):
        rest = left - taken
        taken = np.minimum(taken + generator.multinomial(short, rest / rest.sum()), left)
    return taken
