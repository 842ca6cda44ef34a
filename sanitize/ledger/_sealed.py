"""The text of a ledger: sealed when it is written, and every field of it checked against the rest when it is read."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any

from sanitize._files.strict_json import NotStrict, seal_of, strict_json

# A ledger of a thousand releases of a thousand symbols takes a tenth of this.
MOST_BYTES = 1 << 28
FORMAT = "sanitize/ledger"
VERSION = 1

_BOOK = {"format", "version", "budget", "salt", "n_rows", "together", "releases", "sha256"}
_ENTRY = {"number", "sensitive", "public", "tree", "bins", "channel", "fallback", "digest", "key"}
_HEX = re.compile(r"[0-9a-f]+")
_NUMBER_DIGITS, _DIGEST_DIGITS = 16, 64
# Fields of bins of numbers, and of bins of dates.
_BINS = ({"edges", "symbols"}, {"column", "edges", "learned", "dates"})


class Damaged(ValueError):
    """A text is not what a ledger writes; it says which part."""


def seal(state: dict[str, Any]) -> str:
    """The text of a ledger, with a digest of all that it says.

    The digest notices damage and hands that edit the text; whoever knows this line can write another one.
    """
    return json.dumps(state | {"sha256": seal_of(state)})


def unseal(text: bytes) -> dict[str, Any]:
    """What the text of a ledger says, where its digest fits and its fields fit together.

    Raises
    ------
    Damaged
        If they do not.
    """
    try:
        state = strict_json(text)
    except NotStrict as error:
        raise Damaged(str(error)) from None
    _require(isinstance(state, dict) and state.get("format") == FORMAT, f"expected the format {FORMAT!r}")
    _require(type(state.get("version")) is int and state["version"] == VERSION, "another version of the library")
    _require(set(state) == _BOOK, "fields")
    _require(state["sha256"] == seal_of(state), "seal")
    _require(_is_hex(state["salt"], _DIGEST_DIGITS), "salt")
    entries, n_rows = state["releases"], state["n_rows"]
    _require(isinstance(entries, list) and isinstance(state["budget"], dict), "releases or budget")
    _require(n_rows is None if not entries else is_count(n_rows, 1), "rows")
    _require(state["together"] is None or (bool(entries) and _is_hex(state["together"], _DIGEST_DIGITS)), "together")
    for entry in entries:
        _check_entry(entry)
    _require(len({entry["number"] for entry in entries}) == len(entries), "numbers")
    _require(len({frozenset(entry["sensitive"]) for entry in entries}) <= 1, "sensitive columns")
    return state


def _check_entry(entry: Any) -> None:
    _require(isinstance(entry, dict) and set(entry) == _ENTRY, "a release")
    _require(_is_hex(entry["number"], _NUMBER_DIGITS), "number")
    columns = [name for kind in ("sensitive", "public") for name in _names(entry[kind])]
    _require(_is_hex(entry["digest"], _DIGEST_DIGITS), "digest")
    _require(entry["key"] is None or _is_hex(entry["key"], _DIGEST_DIGITS), "key")
    _require(is_count(entry["fallback"], 0), "fallback")
    _require(entry["tree"] is None or isinstance(entry["tree"], dict), "tree")
    _require(isinstance(entry["bins"], dict) and set(entry["bins"]) <= set(columns), "bins")
    for bins in entry["bins"].values():
        _require(isinstance(bins, dict) and set(bins) in _BINS, "bins")
        edges = bins["edges"]
        _require(isinstance(edges, list) and all(type(edge) in (int, float) for edge in edges), "edges")
        _require(all(abs(edge) < math.inf for edge in edges) and all(a < b for a, b in pairwise(edges)), "edges")


def _names(names: Any) -> list[str]:
    _require(isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names), "columns")
    _require(len(set(names)) == len(names), "columns")
    return names


def _is_hex(value: Any, digits: int) -> bool:
    return isinstance(value, str) and len(value) == digits and _HEX.fullmatch(value) is not None


def is_count(value: Any, least: int) -> bool:
    """Whether the value is a whole number that 64 bits hold."""
    return type(value) is int and least <= value < 1 << 63


def _require(holds: bool, what: str) -> None:  # noqa: FBT001
    if not holds:
        raise Damaged(what)
