"""Random words for the samplers: from a 256-bit key, a seed, a NumPy RandomState, or the operating system.

A keyed source is random access: word ``i`` of lane ``k`` depends only on the key, i and k, so any batch size, worker or
retry draws the same noise for the same row. Each stage of a channel has lanes of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import DTypeLike, NDArray

from sanitize.errors import InvalidParameter, ReleaseWarning

# AES-256 fixes both sizes in bytes: that of its key, and that of its block.
KEY_BYTES = 32
_BLOCK_BYTES = 16


@runtime_checkable
class RandomWords(Protocol):
    """Source of uniform random words, in independent lanes."""

    def words(self, lane: int, start: int, count: int, dtype: DTypeLike = np.uint32) -> NDArray[Any]:
        """Return words ``start`` to ``start + count`` of a lane, of 32 or 16 bits each."""

    def words_at(self, lane: int, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return one 64-bit word for each position of a lane."""


class _HiddenBytes(bytes):
    """Bytes that no traceback, log or debugger shows."""

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


class HiddenText(str):
    """Text that contains a key and that no traceback shows; its substrings are plain text again."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hidden>"


def hidden(key: Any) -> Any:
    """Wrap a caller's key, valid or not, so that tracebacks do not show it; return any other value unchanged.

    Functions that take a key call this first, because tracebacks of later errors may show their local variables.

    Examples
    --------
    >>> hidden(b"sixteen of these"), hidden("or a text"), hidden(None)
    (<hidden>, <hidden>, None)
    """
    if isinstance(key, bytes):
        return _HiddenBytes(key)
    return HiddenText(key) if isinstance(key, str) else key


@dataclass(frozen=True, init=False)
class NoiseKey:
    """Key of 256 bits for the noise of a release, to be passed as ``random_state=`` of an estimator; its repr hides it.

    Words come from AES-256 in counter mode: word ``i`` of a lane is a pure function of (key, lane, i). The
    128-bit counter block is the lane in the upper half and the block number in the lower half, so lanes cannot
    overlap below 2**66 words.

    Pickles do not contain the bytes: a key loaded from a pickle, by itself or in an estimator, is a new key from the
    operating system. So a release by an unpickled estimator has fresh noise and reveals something in addition to the
    first release.

    Parameters
    ----------
    key : bytes
        32 bytes, for example ``secrets.token_bytes(32)``. Anyone who has them can undo the noise.

    Examples
    --------
    >>> import secrets
    >>> NoiseKey(secrets.token_bytes(32))
    NoiseKey()
    """

    key: bytes = field(repr=False)
    _use: list[object] = field(repr=False, compare=False)

    def __init__(self, key: bytes) -> None:
        key = hidden(key)
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            given = f"{len(key)} bytes" if isinstance(key, bytes) else "no bytes"
            raise InvalidParameter(
                f"key must be {KEY_BYTES} bytes, for example secrets.token_bytes({KEY_BYTES}), got {given}"
            )
        vars(self).update(key=key, _use=[])

    def __copy__(self) -> NoiseKey:
        """Return the key itself: a cloned estimator draws the same noise and is bound to the same use."""
        return self

    def __deepcopy__(self, memo: object) -> NoiseKey:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return NoiseKey.from_system, ()

    def for_workers(self) -> NoiseKey:
        """Return a copy that keeps its bytes when it is pickled, for tasks of a release only, never for storage."""
        return _WorkersKey(self.key)

    def bind(self, *use: object) -> None:
        """Tie the key to its first use and refuse any other: equal noise on other rows reveals which values differ.

        Parameters
        ----------
        use : objects
            Values that identify the use, always in the same order; None stands for an unknown value.

        Raises
        ------
        InvalidParameter
            If the key was bound to another use in this process.
        """
        before = self._use or [None] * len(use)
        if any(None not in pair and pair[0] != pair[1] for pair in zip(before, use, strict=True)):
            raise InvalidParameter(
                "this NoiseKey has drawn the noise of other rows or of another channel, and equal noise would reveal "
                "which values differ; use a new key for each release, or random_state=None"
            )
        self._use[:] = [new if old is None else old for old, new in zip(before, use, strict=True)]

    @classmethod
    def from_system(cls) -> NoiseKey:
        """Draw a key from the operating system, as releases without a seed do."""
        return cls(os.urandom(KEY_BYTES))

    @classmethod
    def from_seed(cls, seed: int) -> NoiseKey:
        """Derive a key from an integer: for tests and examples, not for release."""
        return cls(hashlib.sha256(b"sanitize seed %d" % seed).digest())

    def derive(self, label: str) -> NoiseKey:
        """Derive an independent key for one file, partition or purpose."""
        return NoiseKey(hmac.new(self.key, label.encode(), hashlib.sha256).digest())

    def release_key(self, about: str) -> NoiseKey:
        """Derive the key of a release and its receipt by HKDF (RFC 5869); the derived key does not reveal this key."""
        return NoiseKey(HKDF(SHA256(), KEY_BYTES, salt=None, info=about.encode()).derive(self.key))

    def words(self, lane: int, start: int, count: int, dtype: DTypeLike = np.uint32) -> NDArray[Any]:
        """Return words ``start`` to ``start + count`` of a lane; 16-bit words are halves of 32-bit words."""
        return _KeyStream(self, lane, start, np.dtype(dtype))(count)

    def words_at(self, lane: int, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return one 64-bit word for each position: the first half of the lane's block of that number."""
        blocks = np.empty((len(positions), 2), ">u8")
        blocks[:, 0], blocks[:, 1] = lane, positions
        return self.block_words(blocks.view(np.uint8))

    def block_words(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """Return one 64-bit word for each block of 16 bytes, shape (n, 16); it depends on key and block only."""
        # Counter mode also encrypts single blocks, but only consecutive ones.
        drawn = Cipher(algorithms.AES(self.key), modes.ECB()).encryptor().update(blocks.tobytes())
        return np.frombuffer(drawn, "<u8").reshape(-1, 2)[:, 0].astype(np.uint64)

    def generator(self) -> np.random.Generator:
        """Return a NumPy generator for choices that reveal nothing about rows, such as the order of the output."""
        seed = np.random.SeedSequence(np.frombuffer(self.derive("generator").key, dtype=np.uint32).tolist())
        return np.random.Generator(np.random.PCG64(seed))


class _WorkersKey(NoiseKey):
    """Key whose pickle contains its bytes, for workers."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (bytes(self.key),)


class _KeyStream:
    """Consecutive words of one lane of a key, written into a buffer that is reused."""

    def __init__(self, key: NoiseKey, lane: int, start: int, dtype: np.dtype[Any]) -> None:
        block, skip = divmod(start * dtype.itemsize, _BLOCK_BYTES)
        counter = (lane << 64 | block).to_bytes(_BLOCK_BYTES, "big")
        self._encryptor = Cipher(algorithms.AES(key.key), modes.CTR(counter)).encryptor()
        self._encryptor.update(bytes(skip))
        self._dtype, self._zeros, self._stream = dtype, memoryview(b""), bytearray()

    def __call__(self, count: int) -> NDArray[Any]:
        size = count * self._dtype.itemsize
        if size > len(self._zeros):
            self._zeros = memoryview(bytes(size))
            self._stream = bytearray(size + _BLOCK_BYTES - 1)  # `update_into` needs this margin
        self._encryptor.update_into(self._zeros[:size], self._stream)
        words = np.frombuffer(self._stream, self._dtype.newbyteorder("<"), count)
        return words.astype(self._dtype, copy=False)


def sequential_words(source: RandomWords, lane: int, start: int, dtype: np.dtype[Any]) -> WordStream:
    """Return a function that returns the next words, or half-words, of a lane from number ``start`` on.

    Each call may overwrite the array that the call before returned.
    """
    if isinstance(source, NoiseKey):
        return _KeyStream(source, lane, start, dtype)
    position = start

    def following(count: int) -> NDArray[Any]:
        nonlocal position
        position += count
        return source.words(lane, position - count, count, dtype)

    return following


class RowWords:
    """Random words for one stage of a channel: one word per row, and more bits for the few rows that need them.

    The words come from lane ``2 * lane``, from number ``start`` on, and the further bits from the lane after it; row i
    has word i of both.
    """

    def __init__(self, source: RandomWords, lane: int, start: int, dtype: np.dtype[Any]) -> None:
        self._in_turn = sequential_words(source, 2 * lane, start, dtype)
        self._at = partial(source.words_at, 2 * lane + 1)
        self._first = self._next = start

    def following(self, count: int) -> NDArray[Any]:
        """Return words for the next rows; the next call may overwrite the array."""
        self._first, self._next = self._next, self._next + count
        return self._in_turn(count)

    def more(self, places: NDArray[np.intp], bits: int) -> NDArray[np.int64]:
        """Draw further bits, fewer than 64, for some of the rows of the last call of `following`."""
        return (self._at(self._first + places) >> np.uint64(64 - bits)).astype(np.int64)


WordStream: TypeAlias = "Callable[[int], NDArray[Any]]"
Randomness: TypeAlias = "NoiseKey | np.random.RandomState | int | np.integer | bytes | None"


def random_words(source: Randomness) -> NoiseKey:
    """Return random words for a ``random_state``: a key, a seed, a RandomState, or None for the operating system.

    A RandomState moves on: each call draws a new key from it.
    """
    if source is None:
        return NoiseKey.from_system()
    source = hidden(source)
    if isinstance(source, NoiseKey):
        return source
    if isinstance(source, bytes):
        return NoiseKey(source)
    if isinstance(source, (int, np.integer)):
        return NoiseKey.from_seed(int(source))
    if isinstance(source, np.random.RandomState):
        return NoiseKey(source.bytes(KEY_BYTES))
    raise InvalidParameter(
        "random_state must be None, an integer, a NumPy RandomState or a NoiseKey (32 bytes), got "
        f"{'str' if isinstance(source, str) else type(source).__name__}"
    )


def noise_key(source: Randomness) -> bytes | None:
    """Return the noise key for one release among several; None if no source is given.

    Raises
    ------
    InvalidParameter
        If the source is a RandomState, because a copy of it would draw the same noise and nothing shows which of them
        are copies.
    """
    if isinstance(source, np.random.RandomState):
        raise InvalidParameter(
            "random_state must not be a RandomState, because a copy of it could draw another release with the same "
            "noise; leave random_state at None, or give a new NoiseKey"
        )
    return None if source is None else random_words(source).key


def is_secure(source: Randomness) -> bool:
    """Return whether a source is fit for a release: the operating system or a caller's key, but no seed."""
    if not isinstance(source, np.random.RandomState):  # drawing a key from one would change what it draws next
        random_words(source)
    return source is None or isinstance(source, (bytes, NoiseKey))


def warn_of_seed() -> None:
    """Warn that a file is drawn from a seed; estimators state this only in their reports, because tests use seeds."""
    danger = "the noise of this file comes from a seed, and anyone who guesses the seed can undo the noise"
    warnings.warn(f"{danger}; leave random_state at None, or give key=", ReleaseWarning, stacklevel=3)
