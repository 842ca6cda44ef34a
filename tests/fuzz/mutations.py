"""Small damage to bytes and to values of JSON, drawn from a seeded generator."""

from __future__ import annotations

import base64
import contextlib
import copy
import re
from collections.abc import Callable
from random import Random
from typing import Any

# What a field may say that nobody wrote on purpose.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1 << 31, 1 << 63, 1 << 64, -(1 << 63), 10**19, 10**400, 0.5, -0.0, 1e-320, 1e308,
    -1e308, float("inf"), float("nan"), "", "inf", "-inf", "nan", "SECRET", "a" * 5000, "\0", "\ud800", "🜚", "1e999",
    [], [[]], [None], {}, {"": None}, [0] * 100,
)  # fmt: skip
_NUMBERS = (b"\x00" * 4, b"\xff" * 4, b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x08", b"\xfe\xff\xff\xff\x0f", b"\x01")
_TOKENS = re.compile(r"[\w.+-]+|\"[^\"\n]*\"|\s+|.", re.DOTALL)


def damage(content: bytes, rng: Random, start: int = 0, end: int | None = None) -> bytes:
    """Bytes with one to four changes between two places; the length may change."""
    head, middle, tail = content[:start], bytearray(content[start:end]), content[end:] if end is not None else b""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(middle) + 1)
        rng.choice(_EDITS)(middle, at, rng)
    return head + bytes(middle) + tail


def _flip(content: bytearray, at: int, rng: Random) -> None:
    if at < len(content):
        content[at] ^= 1 << rng.randrange(8)


def _set(content: bytearray, at: int, rng: Random) -> None:
    if at < len(content):
        content[at] = rng.choice(
            (0, 1, 0x7F, 0x80, 0xFF, content[at] + 1 & 255, content[at] - 1 & 255, rng.randrange(256))
        )


def _overwrite(content: bytearray, at: int, rng: Random) -> None:
    number = rng.choice(_NUMBERS)
    content[at : at + len(number)] = number[: len(content) - at]


def _insert(content: bytearray, at: int, rng: Random) -> None:
    content[at:at] = rng.choice((*_NUMBERS, rng.randbytes(rng.randrange(1, 9))))


def _cut(content: bytearray, at: int, rng: Random) -> None:
    del content[at : at + rng.choice((1, 1, 2, 4, 64))]


def _repeat(content: bytearray, at: int, rng: Random) -> None:
    content[at:at] = content[at : at + rng.choice((1, 4, 16, 200))] * rng.choice((1, 1, 2, 50))


def _move(content: bytearray, at: int, rng: Random) -> None:
    size, to = rng.choice((1, 4, 16)), rng.randrange(len(content) + 1)
    content[to : to + size] = content[at : at + size]


_EDITS: tuple[Callable[[bytearray, int, Random], None], ...] = (
    _flip, _flip, _set, _set, _set, _overwrite, _insert, _cut, _repeat, _move,
)  # fmt: skip


def edit_json(state: Any, rng: Random) -> Any:
    """A JSON value with one to three of its fields changed, removed, copied, or put elsewhere."""
    made = copy.deepcopy(state)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        inner, key = _somewhere(made, rng)
        if inner is None:
            continue
        way = rng.randrange(6)
        if way == 0:
            del inner[key]
        elif way == 1 and isinstance(inner, list):
            inner.insert(key, copy.deepcopy(inner[key]))
        elif way == 2 and isinstance(inner[key], str) and inner[key]:
            inner[key] = _damaged(inner[key], rng)
        elif way == 3 and isinstance(inner[key], (int, float)) and not isinstance(inner[key], bool):
            inner[key] = rng.choice(
                (
                    inner[key] + 1,
                    -inner[key],
                    inner[key] * 2,
                    float(inner[key]) if abs(inner[key]) < 1e300 else 0.5,
                    str(inner[key]),
                )
            )
        elif way == 4:
            other, place = _somewhere(made, rng)
            inner[key] = copy.deepcopy(other[place]) if other is not None else None
        else:
            inner[key] = copy.deepcopy(rng.choice(STRANGE))  # a list of theirs may be edited next
    return made


def _damaged(text: str, rng: Random) -> str:
    """A text with damage, or one in Base64 whose bytes have it."""
    with contextlib.suppress(ValueError):
        packed = base64.b64decode(text, validate=True)
        if len(packed) > 30 and rng.random() < 0.8:
            return base64.b64encode(damage(packed, rng)).decode()
    return damage(text.encode("utf-8", "surrogatepass"), rng).decode("utf-8", "surrogateescape")


def _somewhere(state: Any, rng: Random) -> tuple[Any, Any]:
    """A container inside a value and one of its keys, as often as not of one that holds more."""
    inner, key = None, None
    while isinstance(state, (dict, list)) and state:
        keys = list(state) if isinstance(state, dict) else range(len(state))
        deeper = [one for one in keys if isinstance(state[one], (dict, list))]
        inner, key = state, rng.choice(deeper if deeper and rng.random() < 0.5 else keys)
        state = inner[key]
        if rng.random() < 0.2:
            break
    return inner, key


def edit_text(text: str, strange: tuple[str, ...], rng: Random) -> str:
    """Text with a few of its words changed, removed, swapped or repeated."""
    words = _TOKENS.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(words))
        way = rng.randrange(5)
        if way == 0:
            del words[at : at + rng.choice((1, 3, 8))]
        elif way == 1:
            words[at:at] = words[at : at + rng.choice((1, 5, 20))] * rng.choice((1, 1, 30))
        elif way == 2:
            to = rng.randrange(len(words))
            words[at], words[to] = words[to], words[at]
        else:
            words[at] = rng.choice(strange)
        if not words:
            break
    return "".join(words)
