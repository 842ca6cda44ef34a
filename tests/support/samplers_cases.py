"""What the tests split from samplers share: tables, releases and oracles."""

from __future__ import annotations

import numpy as np

from sanitize.core.channel._stage import SCALE, Stage


class GivenWords:
    """Words from a list, half-words their upper halves; the second word of a row, asked for on a tie, from another."""

    def __init__(self, words, second=None):
        self.given = np.asarray(words, np.uint32)
        self.second = None if second is None else np.asarray(second, np.uint64)
        self.ties = 0

    def words(self, lane, start, count, dtype=np.uint32):
        assert lane % 2 == 0
        return (self.given[start : start + count] >> (32 - 8 * np.dtype(dtype).itemsize)).astype(dtype)

    def words_at(self, lane, positions):
        assert lane % 2 == 1
        assert self.second is not None, "no tie was expected"
        self.ties += len(positions)
        return self.second[positions]


def uniform_weights(n: int) -> np.ndarray:
    return np.full(n, SCALE // n) + (np.arange(n) < SCALE % n)


def keeping(weights) -> Stage:
    """Stage that keeps input i with a weight of its own, or gives the output after the last input."""
    n = len(weights)
    indices = np.stack([np.arange(n), np.full(n, n)], axis=1).ravel()
    both = np.stack([weights, SCALE - np.asarray(weights)], axis=1).ravel()
    return Stage(np.arange(0, 2 * n + 1, 2), indices, both, n + 1)
