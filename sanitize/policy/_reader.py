"""Keys of a release policy: reading them one by one, with errors that say which, what was expected, and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sanitize._checks import double, is_number, shown
from sanitize._files.csv_stream import is_delimiter
from sanitize.binning import STEPS, date_edges
from sanitize.errors import InvalidParameter, PolicyError

if TYPE_CHECKING:
    from collections.abc import Sequence

Value = TypeVar("Value")


@dataclass(frozen=True)
class Form(Generic[Value]):
    """What may stand under a key: how it is read, and the same as a JSON schema for editors.

    Attributes
    ----------
    read : callable
        Value read, from what the policy says and the path of the key.
    schema : mapping
    """

    read: Callable[[Any, str], Value]
    schema: Mapping[str, Any]

    def __call__(self, value: Any, where: str) -> Value:
        """Value of a key, read."""
        return self.read(value, where)

    def said(self, description: str) -> Form[Value]:
        """The same with words for people."""
        return replace(self, schema={**self.schema, "description": description})


def kind_of(value: object) -> str:
    """What a TOML value is, for messages that must not quote it."""
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "an array", dict: "a table"}
    return kinds.get(type(value), "a date or time")


def refuse(where: str, expected: str, value: object, advice: str = "") -> PolicyError:
    """Error for a value of the wrong kind or range."""
    got = shown(value) if is_number(value) else kind_of(value)
    return PolicyError(f"{where} must be {expected}, got {got}{f'; {advice}' if advice else ''}", where)


@dataclass
class Section:
    """One table of a policy, whose keys are taken one by one; what is left at the end is unknown.

    Attributes
    ----------
    values : mapping
    where : str
        Path of the table in the policy; empty at the top.
    """

    values: Mapping[str, Any]
    where: str = ""
    _taken: dict[str, None] = field(default_factory=dict)

    def path(self, key: str) -> str:
        """Path of a key."""
        return f"{self.where}.{key}" if self.where else key

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def take(self, key: str, read: Callable[[Any, str], Value], default: Value | None = None) -> Value | None:
        """Value of a key, read; the default where it is absent."""
        self._taken[key] = None
        return read(self.values[key], self.path(key)) if key in self.values else default

    def need(self, key: str, read: Callable[[Any, str], Value], example: str) -> Value:
        """Value of a key that must be there."""
        self._taken[key] = None
        if key not in self.values:
            raise PolicyError(f"{self.path(key)} is missing; write for example {example}", self.path(key))
        return read(self.values[key], self.path(key))

    def refuse(self, key: str, reason: str) -> None:
        """Refuse a key that has no place here."""
        self._taken[key] = None
        if key in self.values:
            raise PolicyError(f"{self.path(key)} has no place here: {reason}", self.path(key))

    def done(self) -> None:
        """Refuse the keys that were not read: they are unknown."""
        for key in self.values:
            if key not in self._taken:
                near = get_close_matches(key, list(self._taken), n=1)
                known = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(self._taken)}"
                raise PolicyError(f"{self.path(key)} is not a key of a policy; {known}", self.path(key))


def table(value: Any, where: str) -> Section:
    """A table, as a section of its own."""
    if not isinstance(value, Mapping):
        raise refuse(where, "a table", value, f"write [{where}]")
    return Section(value, where)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise refuse(where, "text", value, "put it in quotes")
    return value


def _day(value: Any, where: str) -> str:
    if type(value) is date:
        return value.isoformat()
    if isinstance(value, str) and is_day(value):
        return value
    raise refuse(where, "a date", value, "write it as 2026-01-31")


def is_day(text: str) -> bool:
    """Whether a text is a date as 2026-01-31."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _delimiter(value: Any, where: str) -> str:
    if not isinstance(value, str) or not is_delimiter(value):
        raise refuse(where, 'one sign such as ";", "|" or "\\t"', value)
    return value


def choice(*allowed: str) -> Form[str]:
    """One of some words."""

    def read(value: Any, where: str) -> str:
        if value in allowed and isinstance(value, str):
            return value
        listed = ", ".join(repr(word) for word in allowed)
        if not isinstance(value, str):
            raise refuse(where, f"one of {listed}", value)
        near = get_close_matches(value, allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PolicyError(f"{where} must be one of {listed}, got {value!r}{hint}", where)

    return Form(read, {"enum": list(allowed)})


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise refuse(where, "an array of column names", value, 'write for example ["age", "town"]')
    twice = next((name for name in value if value.count(name) > 1), None)
    if twice is not None:
        raise PolicyError(f"{where} lists the column {twice!r} twice; list each column once", where)
    return tuple(value)


def _some_names(value: Any, where: str) -> tuple[str, ...]:
    found = _names(value, where)
    if not found:
        raise PolicyError(f"{where} is empty; name at least one column", where)
    return found


def number(
    low: float = -math.inf, high: float = math.inf, *, open_ends: bool = False, finite: bool = False
) -> Form[float]:
    """A number within limits, which belong to it unless the ends are open."""
    if high < math.inf:
        expected = f"a number {'strictly ' if open_ends else ''}between {low:g} and {high:g}"
    else:
        expected = f"a{' finite' if finite else ''} number {'>' if open_ends else '>='} {low:g}"
    advice = "" if finite or high < math.inf else "write inf for no bound"

    def read(value: Any, where: str) -> float:
        given = double(value) if is_number(value) else None
        if given is None or math.isnan(given):
            raise refuse(where, expected, value, advice)
        if finite and math.isinf(given):
            raise refuse(where, expected, value)
        if (not low < given < high) if open_ends and high < math.inf else not low <= given <= high:
            raise refuse(where, expected, value, advice)
        if open_ends and given == low:
            raise refuse(where, expected, value, advice)
        return given

    limits = {"exclusiveMinimum" if open_ends else "minimum": low, "exclusiveMaximum" if open_ends else "maximum": high}
    return Form(read, {"type": "number", **{name: limit for name, limit in limits.items() if math.isfinite(limit)}})


def whole(low: int) -> Form[int]:
    """A whole number that is large enough."""

    def read(value: Any, where: str) -> int:
        given = double(value) if is_number(value) else None
        if given is None or not given.is_integer() or given < low:
            raise refuse(where, f"a whole number >= {low}", value)
        return int(value)

    return Form(read, {"type": "integer", "minimum": low})


def by_column(form: Form[Value]) -> Form[dict[str, Value]]:
    """A table of columns, each with a value of its own."""

    def read_all(value: Any, where: str) -> dict[str, Value]:
        return {name: form(entry, f"{where}.{name}") for name, entry in table(value, where).values.items()}

    return Form(read_all, {"type": "object", "additionalProperties": form.schema})


def _cuts(value: Any, where: str) -> list[Any] | str:
    """Edges of numbers, dates as edges, or a calendar unit."""
    if isinstance(value, str):
        return choice(*STEPS)(value, where)
    if isinstance(value, list) and any(isinstance(entry, (str, date)) for entry in value):
        edges = [str(entry) if isinstance(entry, (str, date)) else "" for entry in value]
        try:
            date_edges(where, edges)
        except InvalidParameter as error:
            raise PolicyError(str(error), where) from None
        return edges
    return _edges(value, where)


def _edges(value: Any, where: str) -> list[float]:
    found = _numbers(value, where)
    if len(found) < 2 or any(a >= b for a, b in pairwise(found)):
        raise PolicyError(f"{where} must be two or more edges in ascending order, for example [18, 30, 45, 65]", where)
    return found


def _pair(value: Any, where: str) -> list[float]:
    found = _numbers(value, where)
    if len(found) != 2 or found[0] >= found[1]:
        raise PolicyError(f"{where} must be [low, high] with low < high, for example [0, 100]", where)
    return found


def _numbers(value: Any, where: str) -> list[float]:
    if not isinstance(value, list):
        raise refuse(where, "an array of numbers", value, "write for example [18, 30, 45, 65]")
    return [number(finite=True)(entry, f"{where}[{i}]") for i, entry in enumerate(value)]


def exactly_once(groups: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """Refuse a column that is listed in two places."""
    place: dict[str, str] = {}
    for where, columns in groups:
        for name in columns:
            if name in place:
                raise PolicyError(
                    f"column {name!r} is listed under {place[name]} and under {where}; list each column exactly once",
                    where,
                )
            place[name] = where


_NAMES = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
_NUMBERS = {"type": "array", "items": {"type": "number"}, "minItems": 2, "uniqueItems": True}

# Text that is not empty; names of columns, each once; at least one of them.
delimiter = Form(_delimiter, {"type": "string", "pattern": "^[\\t -!#-/:-@\\[-`{-~]$"})
text = Form(_text, {"type": "string", "minLength": 1})
# A date of TOML, or the same as text.
day = Form(_day, {"type": "string", "format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"})
names = Form(_names, _NAMES)
some_names = Form(_some_names, {**_NAMES, "minItems": 1})
# Edges of bins, in ascending order, or a calendar unit; lower and upper bound of a column.
_DATES = {"type": "array", "items": {"type": "string", "format": "date-time"}, "minItems": 2, "uniqueItems": True}
cuts = Form(_cuts, {"anyOf": [_NUMBERS, _DATES, {"enum": list(STEPS)}]})
pair = Form(_pair, {**_NUMBERS, "maxItems": 2})
