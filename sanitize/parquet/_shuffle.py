"""Rows in random order, from nothing but how often each symbol was read.

What a channel makes of a row depends on its symbol alone, so rows that are shuffled need not be read again: one is
drawn for each that was counted, and the order of all is drawn from how often each released symbol came up.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sanitize._files.loads import in_turn
from sanitize._limits import FEW_ROWS
from sanitize._sampling.noise import GeneratorWords, NoiseKey
from sanitize._tables.combined import count, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords
    from sanitize.channel import Channel

    Counts = NDArray[np.int64]

# NumPy's hypergeometric sampler takes populations below 10**9.
_POPULATION = 10**9 - 1
# Rows that are drawn at a time.
_DRAWN_ROWS = 1 << 20
# So many standard deviations less than its rows are meant for a symbol: that more come up is seldom.
_DEVIATIONS = 4


def drawn_counts(channel: Channel, rows: Counts, words: RandomWords, workers: int = 1) -> Counts:
    """How often each output is drawn, for so many rows of each input, shape (n_y,).

    Nothing is drawn for inputs that have one output only.
    """
    output: NDArray[Any] = np.arange(len(rows))
    is_sure = np.ones(len(rows), bool)
    for stage in channel.stages:
        is_sure &= np.diff(stage.indptr)[output] == 1
        output = stage.indices[stage.indptr[output]]
    inputs = np.flatnonzero(~is_sure).astype(np.min_scalar_type(len(rows)))
    sizes = rows[inputs]
    ends = np.cumsum(sizes)
    n_rows = int(sizes.sum())
    dtype = np.min_scalar_type(channel.n_outputs)

    def counted(bounds: tuple[int, int]) -> Counts:
        codes = np.repeat(inputs, np.clip(ends, *bounds) - np.clip(ends - sizes, *bounds))
        drawn = channel.sample(codes, words, start=bounds[0], out=np.empty(len(codes), dtype))
        return count(drawn, channel.n_outputs)

    total = np.zeros(channel.n_outputs, np.int64)
    np.add.at(total, output[is_sure], rows[is_sure])
    for found in in_turn(counted, pairwise([*range(0, n_rows, _DRAWN_ROWS), n_rows]), workers):
        total += found
    return total


def shuffled_blocks(counts: Counts, words: RandomWords, sizes: Iterable[int]) -> Iterator[NDArray[Any]]:
    """Codes with these counts in random order, in blocks of the sizes given.

    Memory is one block, whatever the number of rows.

    Parameters
    ----------
    counts : ndarray of int, shape (n_y,)
        How often each code occurs.
    words : RandomWords
    sizes : iterable of int
        Rows of each block; they sum to the counts.
    """
    for number, left in enumerate(compositions(counts, generator_of(words), sizes)):
        yield arranged(left, block_generator(words, number))


def generator_of(words: RandomWords) -> np.random.Generator:
    """What decides how many of each code are in each block."""
    return words.generator() if isinstance(words, NoiseKey) else cast(GeneratorWords, words).generator


def block_generator(words: RandomWords, number: int) -> np.random.Generator:
    """What decides the order of one block: another generator for each, so that anybody can draw any of them."""
    return generator_of(words.derive(f"order of block {number}") if isinstance(words, NoiseKey) else words)


def compositions(counts: Counts, generator: np.random.Generator, sizes: Iterable[int]) -> Iterator[Counts]:
    """How many of each code are in each block of a random order."""
    left = counts.astype(np.int64)
    for size in sizes:
        taken = _composition(left, size, generator)
        left = left - taken
        yield taken


def arranged(counts: NDArray[np.integer[Any]], generator: np.random.Generator) -> NDArray[Any]:
    """Codes with these counts in random order, each order as likely as any other.

    Independent draws of one distribution come in any order alike, whatever the distribution, and so they do when it is
    known how often each code came up. So most places get independent draws, of a distribution that leaves some places
    open and no code more often than it is there (all are drawn again if one is); what is left goes to the open places
    in random order.
    """
    n_codes, n_rows = len(counts), int(counts.sum())
    codes = np.arange(n_codes + 1, dtype=np.min_scalar_type(n_codes))
    meant = np.maximum(counts - _DEVIATIONS * np.sqrt(counts), 0)
    shares = (meant * (1 << 16) / max(n_rows, 1)).astype(np.int64)
    if n_rows < FEW_ROWS or shares.sum() < 1 << 15:  # more than half of all places would stay open
        rows = np.repeat(codes[:-1], counts)
        generator.shuffle(rows)
        return rows
    table = np.repeat(codes, np.append(shares, (1 << 16) - shares.sum()))
    left = np.array([-1])
    while left.min() < 0:
        quarters = generator.integers(0, 1 << 64, -(-n_rows // 4), dtype=np.uint64)
        rows = spread(table, quarters.astype("<u8", copy=False).view("<u2")[:n_rows])
        left = counts - count(rows, n_codes + 1)[:-1]
    rows[np.flatnonzero(rows == n_codes)] = arranged(left, generator)
    return rows


def _composition(left: Counts, size: int, generator: np.random.Generator) -> Counts:
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
