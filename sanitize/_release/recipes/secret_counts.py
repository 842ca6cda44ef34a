"""Counts of secrets that hold noise from the moment on that they are counted."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._tables.columns import UNSEEN, look_up
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._release.recipes.secret_dp import SecretDP
    from sanitize._release.recipes.tree_growth import GrownLayout
    from sanitize._sampling.noise import NoiseKey
    from sanitize.alphabet import Alphabet
    from sanitize.joint import ContingencyTable

_ROUNDING = 1e-9


def with_noise(layout: GrownLayout, counts: ContingencyTable, secret_dp: SecretDP, key: NoiseKey) -> GrownLayout:
    """Layout with noisy counts of the rows of the design and of the others; ``counts`` becomes the sum of both.

    The exact counts are overwritten: whoever holds the table holds the noisy one from here on. Rows of the design and
    all others are different rows, so one level of noise serves both tables.

    Raises
    ------
    ColumnError
        If a row has a secret that was not declared; it names the column alone.
    """
    secrets = secret_dp.alphabet(layout)
    tables = _declared(layout, counts, secrets)
    # Other counts have other noise, also under a key that is used again by mistake.
    digest = hashlib.sha256(repr(tables.shape).encode() + tables.tobytes()).hexdigest()
    n_parts, n_secrets, n_cells = tables.shape
    noise = secret_dp.noise(n_secrets)
    drawn = noise.draw(key.derive(f"noise on counts of secrets {digest}"), n_parts * n_cells)
    rows = tables.sum(axis=1)
    noisy = tables + drawn.reshape(n_secrets, n_parts, n_cells).swapaxes(0, 1)
    # Rows of a cell are public, so the mean of its noise is known and taken off.
    centred = noisy - (noisy.sum(axis=1) - rows)[:, None] / n_secrets
    design, fresh = (_whole(told, n) for told, n in zip(centred, rows, strict=True))
    counts.sensitive, counts.counts = secrets, _each_once(design + fresh)
    return replace(layout, secrets=secrets, design=design, fresh=centred[1], noise=noise)


def _declared(layout: GrownLayout, counts: ContingencyTable, secrets: Alphabet) -> NDArray[np.int64]:
    """Exact counts of (part, declared secret, cell), the parts being the rows of the design and all others."""
    seen = counts.sensitive
    place = secrets.encode(seen.decode(np.arange(len(seen))))
    if (place < 0).any():
        for name, level, declared, codes in zip(seen.columns, seen.levels, secrets.levels, seen.codes.T, strict=True):
            known = np.append(look_up(level, declared) != UNSEEN, (secrets.codes == len(declared)).any())
            if not known[codes].all():
                raise ColumnError(
                    f"column {name!r} has rows with a value, or a missing one, that secret_dp does not declare; "
                    "declare all values that may occur, None among them if some are missing",
                    name,
                )
    tables = np.zeros((2, len(secrets), counts.counts.shape[1]), np.int64)
    for table, part in zip(tables, layout.apart(counts), strict=True):
        table[place] = part
    return tables


def _whole(told: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole counts >= 0 (n_s, n_cells) next to noisy ones, that add up to the rows of each cell."""
    ordered = -np.sort(-told, axis=0)
    left = (np.cumsum(ordered, axis=0) - rows) / np.arange(1, len(told) + 1)[:, None]
    last = len(told) - 1 - np.argmax((ordered > left)[::-1], axis=0)
    nearest = np.maximum(told - left[last, np.arange(told.shape[1])], 0.0)
    nearest[:, rows == 0] = 0.0
    found = np.floor(nearest + _ROUNDING).astype(np.int64)
    rank = np.argsort(np.argsort(found - nearest, axis=0, kind="stable"), axis=0, kind="stable")
    return found + (rank < rows - found.sum(axis=0))


def _each_once(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts in which every secret has a row, as a law needs it: one of the largest cell changes its secret."""
    found = counts.copy()
    cell = int(found.sum(axis=0).argmax())
    for secret in np.flatnonzero(found.sum(axis=1) == 0):
        found[found[:, cell].argmax(), cell] -= 1
        found[secret, cell] += 1
    return found
