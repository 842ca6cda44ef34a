"""A saved channel and a key draw the same rows for ever: a receipt of today proves a release years from now."""

from __future__ import annotations

import hashlib
from functools import cache
from random import Random

import numpy as np

import sanitize as sz

# Of the library as it was with compiled loops, before receipts, and since.
DIGEST = "8df5d6e372e30d97"


def stage(random: Random, n: int, m: int) -> sz.Channel:
    """A channel whose probabilities are whole numbers over 1,024, so that no processor rounds them."""
    rows = []
    for _ in range(n):
        cuts = sorted(random.choice((0, random.randint(0, 1024))) for _ in range(m - 1))
        rows.append([after - before for before, after in zip([0, *cuts], [*cuts, 1024], strict=True)])
    return sz.Channel.from_matrix(np.array(rows) / 1024)


def channel(number: int) -> sz.Channel:
    """One to three stages of one to twelve symbols, some of which are never drawn."""
    random = Random(number)
    n, made = random.randint(1, 9), None
    for _ in range(1 + number % 3):
        m = random.randint(1, 12)
        one = stage(random, n, m)
        made, n = one if made is None else made.then(one), m
    assert made is not None
    return made


@cache
def drawn(number: int, key: int) -> str:
    saved = sz.Channel.from_json(channel(number).to_json())
    codes = np.array([Random(number).randrange(saved.n_inputs) for _ in range(5000)])
    rows = saved.sample(codes, sz.NoiseKey(bytes([key]) * 32))
    return hashlib.sha256(np.asarray(rows).astype("<i8").tobytes()).hexdigest()[:16]


def test_24_saved_channels_and_keys_draw_the_rows_that_they_drew():
    found = [drawn(number, number + 1) for number in range(24)]
    assert hashlib.sha256("".join(found).encode()).hexdigest()[:16] == DIGEST


def test_another_key_draws_others():
    assert sum(drawn(number, number + 1) != drawn(number, number + 2) for number in range(12)) >= 8
