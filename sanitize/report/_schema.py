"""Form of a saved report: which keys a document has, and what stands under each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sanitize._checks import double
from sanitize.errors import SourceError
from sanitize.report._headline import WORDS
from sanitize.report._standing import STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Form = Callable[[Any, str], None] | dict[str, Any] | list[Any]

# No figure of a report needs a longer text; names of columns and symbols may be long.
_KINDS = ("exact", "bound", "estimate")


def check(value: Any, form: Form, place: str = "the report") -> None:
    """Refuse a value that has not the form; the message names the place and quotes nothing.

    A dict asks for exactly its keys, a list of one form for a list of such values, a function checks by itself.
    """
    if isinstance(form, dict):
        if not isinstance(value, dict) or set(value) != set(form):
            found = value if isinstance(value, dict) else {}
            missing = sorted(set(form) - set(found))
            what = f"lacks {missing[0]!r}" if missing else "has keys that do not belong there"
            raise SourceError(f"{place} {what if isinstance(value, dict) else 'is not an object'}")
        for name, inner in form.items():
            check(value[name], inner, f"{name!r} of {place}")
    elif isinstance(form, list):
        if not isinstance(value, list):
            raise SourceError(f"{place} is not a list")
        for position, entry in enumerate(value):
            check(entry, form[0], f"entry {position} of {place}")
    else:
        form(value, place)


def _must(words: str, holds: Callable[[Any], bool]) -> Callable[[Any, str], None]:
    def look(value: Any, place: str) -> None:
        if not holds(value):
            raise SourceError(f"{place} is not {words}")

    return look


def _one_of(words: Iterable[str]) -> Callable[[Any, str], None]:
    """One of some words; what is no text is no key to look up either."""
    known = tuple(words)
    return _must(f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known)


def _or_none(form: Form) -> Callable[[Any, str], None]:
    def look(value: Any, place: str) -> None:
        if value is not None:
            check(value, form, place)

    return look


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("inf", "-inf")
    # A whole number may be beyond every double.
    given = double(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return given is not None and math.isfinite(given)


def _is_share(value: Any) -> bool:
    return _is_number(value) and not isinstance(value, str) and -1e-9 <= value <= 1 + 1e-9


def _budget(value: Any, place: str) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise SourceError(f"{place} is not a budget")
    for name, entry in value.items():
        if name != "type":
            number(entry, f"{name!r} of {place}")


text = _must("a text", lambda value: isinstance(value, str))
flag = _must("true or false", lambda value: isinstance(value, bool))
number = _must("a number, 'inf' or '-inf'", _is_number)
share = _must("a share between 0 and 1", _is_share)
count = _must("a count", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0)
cell = _must("a text, a number or null", lambda value: value is None or isinstance(value, str) or _is_number(value))
figure = _or_none(number)

_MEASURE = {
    "name": text,
    "label": text,
    "unit": text,
    "kind": _one_of(_KINDS),
    "before": figure,
    "after": figure,
    "bound": figure,
    "low": figure,
    "high": figure,
}

STANDING = {
    "status": _one_of(STATUSES),
    "gap": _or_none(_must("a number of nats >= 0", lambda value: _is_number(value) and 0 <= float(value) < math.inf)),
    "among": text,
    "words": text,
}

_PAIR = dict.fromkeys(("name", "title", "question", "verdict", "difference", "words"), text) | {
    "people": share,
    "outsiders": _or_none(share),
    "standing": _or_none(_one_of(("more", "a little more", "no more", "open"))),
    "ranked": flag,
}
_JUDGEMENT = {"headline": text, "sentence": text, "notes": [text], "n_people": count, "n_outsiders": _or_none(count)}
_JUDGEMENT |= {"confidence": share, "pairs": [_PAIR]}

PUBLIC: dict[str, Any] = {
    "schema": text,
    "version": count,
    "library_version": text,
    "audience": _must("'internal' or 'public'", lambda value: value in ("internal", "public")),
    "verdict": {
        "ok": flag,
        "state": _one_of(WORDS),
        "useless": flag,
        "counted": flag,
        "headline": text,
        "sentence": text,
        "budget": _or_none(_budget),
        "allowed": text,
        "worst_excess": figure,
        "tolerance": number,
        "mechanism": text,
        "output": text,
        "standing": _or_none(STANDING),
        "seeded": flag,
        "refuted": flag,
        "confidence": _or_none(share),
        "people": text,
    },
    "origin": _or_none(dict.fromkeys(("title", "date", "table", "policy", "digest"), _or_none(text))),
    "columns": {"sensitive": [text], "released": [text], "kept": [text], "constant": [text], "binned": [text]},
    "kept": [{"column": text, "share": share, "before": figure, "after": figure}],
    "of_cells": flag,
    "measures": [_MEASURE],
    "warnings": [text],
    "sections": [
        {"name": text, "title": text, "words": text, "columns": [text], "rows": [[cell]], "public": flag},
    ],
}

_SIDE = {"n_symbols": count, "symbols": [text], "shares": [share], "log_lift": [[number]]}


def _map(value: Any, place: str) -> None:
    check(value, {"n_sensitive": count, "prior": [share], "before": _SIDE, "after": _SIDE}, place)
    for side in (value["before"], value["after"]):
        rows = {len(side["symbols"]), len(side["shares"]), len(side["log_lift"])}
        columns = {len(value["prior"]), *(len(row) for row in side["log_lift"])}
        if len(rows) > 1 or len(columns) > 1:
            raise SourceError(f"{place} is not rectangular")


INTERNAL: dict[str, Any] = PUBLIC | {
    "n_rows": _or_none(count),
    "n_unseen": _or_none(count),
    "n_single": _or_none(count),
    "n_combinations": count,
    "n_symbols": count,
    "symbols": [
        {"symbol": text, "probability": share, "max_log_lift": number, "min_log_lift": number, "excess": figure}
    ],
    "judgement": _or_none(_JUDGEMENT),
    "lift": _or_none(_map),
    "margins": _or_none(
        {"n_symbols": count, "rows": [{"symbol": text, "before": _or_none(share), "after": _or_none(share)}]}
    ),
    "curve": _or_none(
        {
            "mechanism": text,
            "points": [
                {
                    "label": text,
                    "mutual_information": number,
                    "max_log_lift": number,
                    "min_log_lift": number,
                    "normalized_utility": share,
                }
            ],
        }
    ),
}
