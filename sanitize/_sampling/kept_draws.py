"""Random words that belong to pairs of a unit and a value: the same pair draws the same, whenever it is asked."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._sampling.noise import NoiseKey

DIGEST_BYTES = 16


def keyed_digests(key: NoiseKey, texts: Sequence[str]) -> NDArray[np.uint8]:
    """A digest of each text that tells nothing without the key, shape (n, 16)."""
    digest = hashlib.blake2b(key=key.key, digest_size=DIGEST_BYTES)
    found = bytearray()
    for text in texts:
        own = digest.copy()
        own.update(text.encode("utf-8", "surrogatepass"))
        found += own.digest()
    return np.frombuffer(bytes(found), np.uint8).reshape(-1, DIGEST_BYTES)


@dataclass(frozen=True)
class PairWords:
    """Words of pairs: a pure function of (key, unit, value, lane), wherever the pair stands.

    A word is half of AES-256 of the unit's digest exclusive-or one of the value and the lane: pairs whose sums agree
    would share their words, which of so many bits none ever do.

    Attributes
    ----------
    key : NoiseKey
    units : ndarray of uint8, shape (n_pairs, 16)
        Digest of the unit of each pair.
    values : ndarray of uint8, shape (n_values, 16)
        Digest of each value.
    value : ndarray of int, shape (n_pairs,)
        Number of the value of each pair.
    """

    key: NoiseKey
    units: NDArray[np.uint8] = field(repr=False)
    values: NDArray[np.uint8] = field(repr=False)
    value: NDArray[np.intp] = field(repr=False)

    def words_at(self, lane: int, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A 64-bit word for each of some pairs."""
        digests = [hmac.digest(self.key.key, b"%d:" % lane + bytes(value), "sha256") for value in self.values]
        of_lane: NDArray[Any] = np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), -1)
        return self.key.words_of(self.units[positions] ^ of_lane[self.value[positions], :DIGEST_BYTES])

    def words(self, lane: int, start: int, count: int) -> NDArray[np.uint32]:
        """A word for each of the pairs ``start`` to ``start + count``."""
        return (self.words_at(lane, np.arange(start, start + count)) >> np.uint64(32)).astype(np.uint32)

    def halfwords(self, lane: int, start: int, count: int) -> NDArray[np.uint16]:
        """A 16-bit word for each of the pairs ``start`` to ``start + count``."""
        return (self.words_at(lane, np.arange(start, start + count)) >> np.uint64(48)).astype(np.uint16)
