"""Reader of release policies, with errors that name the key, the expected value, and the remedy.

A policy contains no data, so errors may quote its words and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from sanitize._util.checks import is_number, short_repr
from sanitize._util.declared import SchemaError, read
from sanitize._util.limits import NESTING
from sanitize.errors import PolicyError

T = TypeVar("T")

# An older policy may name these; the error says what to write.
REPLACED_MECHANISMS = {"tree-merging": "latent-classes", "tree-random-response": "latent-classes"}


class Misshapen(ValueError):
    """Error for text that is nested more deeply than any policy."""


def check_shape(text: str) -> None:
    """Refuse keys with too many parts, and deeply nested arrays and tables, because parsing them takes much memory.

    Raises
    ------
    Misshapen
    """
    without_strings = re.sub(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', "", text)
    bare = re.sub(r"#[^\n]*", "", without_strings)
    depth = 0
    for mark in re.findall(r"[\[\]{}]", bare):
        depth += 1 if mark in "[{" else -1
        if depth > NESTING:
            raise Misshapen(f"arrays and tables are nested more than {NESTING} deep; flatten them")
    if any(piece.count(".") >= NESTING for piece in re.split(r"[,\[\]{}=\n]", bare)):
        raise Misshapen(f"a key has more than {NESTING} parts; quote a name that contains dots")


def fitting(form: type[T], values: Any, where: str = "") -> T:
    """Convert a value of a policy to its declared type.

    Raises
    ------
    PolicyError
    """
    try:
        return read(form, values)
    except SchemaError as error:
        raise _refusal(error, where) from None


def invalid_key(where: str, what: str) -> PolicyError:
    """Error for an invalid value in a policy."""
    return PolicyError(f"{where} {what}", where)


def missing(where: str, example: str) -> PolicyError:
    """Error for a missing key."""
    return invalid_key(where, f"is missing; write for example {example}")


def wrong_table(where: str, reason: str) -> PolicyError:
    """Error for a key in the wrong table."""
    return invalid_key(where, f"has no place here: {reason}")


def unknown_word(where: str, words: Sequence[str], value: object) -> PolicyError:
    """Error for a word that is not among the allowed words."""
    if isinstance(value, str) and value in REPLACED_MECHANISMS:
        return invalid_key(where, f"{value!r} was replaced: write {REPLACED_MECHANISMS[value]!r}")
    near = get_close_matches(value, words, n=1) if isinstance(value, str) else ()
    got = f"{_describe_value(value, quoted=True)}{f'; did you mean {near[0]!r}?' if near else ''}"
    return invalid_key(where, f"must be one of {', '.join(map(repr, words))}, got {got}")


def _refusal(error: SchemaError, where: str) -> PolicyError:
    path = [where] if where else []
    place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in (*path, *error.path)).removeprefix(".")
    if error.fault == "missing":
        return missing(place, error.extra["example"])
    if error.fault == "unknown":
        key, legal_keys = str(error.value), error.extra["known"]
        near = get_close_matches(key, legal_keys, n=1)
        words = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(legal_keys)}"
        return invalid_key(f"{place}.{key}".removeprefix("."), f"is not a key of a policy; {words}")
    if "words" in error.extra:
        return unknown_word(place, error.extra["words"], error.value)
    if error.fault == "rule":
        return invalid_key(place, error.what)
    must = error.extra["must"].replace("an object", "a table").replace("a list", "an array")  # names of types in TOML
    example = error.extra.get("example", f"[{place}]")
    advice = error.extra.get("advice", f"write {example}" if must == "a table" else "")
    return invalid_key(place, f"must be {must}, got {_describe_value(error.value)}{f'; {advice}' if advice else ''}")


def _describe_value(value: object, *, quoted: bool = False) -> str:
    """Describe a TOML value in an error; a word is quoted if a word was expected."""
    if is_number(value) or (quoted and isinstance(value, str) and len(value) <= 60):
        return short_repr(value)
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "an array", dict: "a table"}
    kind = kinds.get(type(value), "a date or time")
    return f"an empty {kind.removeprefix('a ').removeprefix('an ')}" if value in ("", [], {}) else kind
