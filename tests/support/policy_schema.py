"""The JSON schema of a policy, made from its declaration; how keys go together is said here again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from sanitize.policy._declaration import (
    AUTO,
    CLASSES,
    DEFAULT_MECHANISM,
    DEFAULT_NOTION,
    DOCUMENT,
    GRID,
    MECHANISMS,
    MERGING,
    OWNERS,
    PAIRS,
    SEQUENTIAL,
    VERSION,
)
from sanitize.report import PROMISES

Schema = dict[str, Any]


def policy_schema() -> Schema:
    """What a policy may hold, as JSON schema 2020-12: the file ``policy.schema.json``, as a test holds."""
    forms = msgspec.json.schema_components([DOCUMENT], ref_template="#/$defs/{name}")[1]
    del forms["lift"]["required"]  # the notion is the default
    forms["lift"]["oneOf"] = [
        {"required": list(pair), "properties": dict.fromkeys(other, False)}
        for pair, other in zip(PAIRS, reversed(PAIRS), strict=True)
    ]
    for form in forms.values():
        del form["title"]
        for key in form["properties"].values():
            key.pop("discriminator", None)
            if not isinstance(key.get("default"), str):
                key.pop("default", None)
    forms["channel"] |= {"dependentSchemas": {key: _mechanism_in(owners) for key, owners in OWNERS.items()}}
    forms["channel"]["allOf"] = [{"if": _where(mechanism={"const": GRID}), "then": {"required": ["bounds"]}}]
    document = forms.pop("policy")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"sanitize/policy/{VERSION}",
        "title": "Release policy of sanitize",
        "description": "What may be released from a table and how. Every column of the source is listed exactly once. "
        "Rules that compare keys with one another (a column listed twice, bins of another channel's column, edges that "
        "do not ascend) are checked by the library alone.",
    }
    # Noisy counts of secrets go with what does not look at the secrets themselves.
    quiet = {"rows": {"const": "shuffle"}, "receipt": False, "channel": {"required": ["confidence"]}}
    quiet["columns"] = {"properties": {"unit": False}}
    asked = {"type": "object", "anyOf": [{"required": [name]} for name in PROMISES]}
    noisy = {"if": _where(channel=asked), "then": {"properties": quiet}}
    return {**head, **document, "allOf": [_several(), _kept(), _part_leakage(), noisy], "$defs": forms}


def _several() -> Schema:
    """Several channels name their own public columns, and share a budget on what is told about S."""
    single = {"properties": dict.fromkeys(("name", "public", "budget"), False)}
    own = {"columns": {"properties": {"public": False}}, "channel": {"items": _named()}}
    return {
        "if": _where(channel={"type": "array"}),
        "then": {"properties": {**own, "budget": _notions(MERGING)}},
        "else": {"properties": {"columns": {"required": ["public"]}, "channel": single}},
    }


def _named() -> Schema:
    """One of several channels."""
    rules = []
    for every, notions in _families():
        names = [name for name in every if name != CLASSES]
        needed: Schema = {} if set(names) <= set(SEQUENTIAL) else {"required": ["budget"]}
        rules.append({"if": _mechanism_in(names), "then": {"properties": {"budget": _notions(notions)}, **needed}})
    no_budget = {"if": {"not": {"required": ["budget"]}}, "then": {"properties": {"smoothing": {"const": 0}}}}
    return {
        "required": ["name", "public"],
        "properties": {"mechanism": {"not": {"enum": [CLASSES, AUTO]}}},
        "allOf": [*rules, no_budget],
    }


def _kept() -> Schema:
    """Beside kept columns a channel takes what the joint budget leaves it, but for latent classes."""
    sequential = {"mechanism": {"enum": list(SEQUENTIAL)}, "smoothing": {"const": 0}}
    then = {
        "budget": _notions(MERGING),
        "channel": {"if": {"type": "object"}, "then": {"properties": sequential}},
    }
    has_tuples = {"not": _where(channel={"allOf": [{"type": "object"}, _mechanism_in([CLASSES])]})}
    keeps = {**_where(columns=_where(keep={"minItems": 1})), **has_tuples}
    return {"if": keeps, "then": {"properties": then}}


def _part_leakage() -> Schema:
    """One channel alone has a budget that its mechanism can be designed for."""
    rules = []
    for names, notions in _families():
        made = _where(channel=_mechanism_in(names))
        if DEFAULT_MECHANISM in names:  # a policy without a channel has this one
            del made["required"]
        rules.append({"if": made, "then": {"properties": {"budget": _notions(notions)}}})
    single = {"channel": {"type": "object"}, "columns": {"properties": {"keep": {"maxItems": 0}}}}
    classes = _where(channel={"allOf": [{"type": "object"}, _mechanism_in([CLASSES])]})
    return {"if": {"anyOf": [{"properties": single}, classes]}, "then": {"allOf": rules}}


def _families() -> list[tuple[list[str], tuple[str, ...]]]:
    """Mechanisms that take the same notions, and these."""
    kinds = groupby(MECHANISMS, key=lambda name: (MECHANISMS[name][1], name == AUTO))
    return [(list(names), notions) for (notions, _), names in kinds]


def _where(**properties: Schema) -> Schema:
    """An object that has these properties."""
    return {"properties": properties, "required": list(properties)}


def _mechanism_in(names: Sequence[str]) -> Schema:
    """An object whose mechanism is one of these; the default one need not be named."""
    made = _where(mechanism={"enum": list(names)})
    return {"properties": made["properties"]} if DEFAULT_MECHANISM in names else made


def _notions(allowed: tuple[str, ...]) -> Schema:
    """A budget of one of these notions; the default one need not be named."""
    made = _where(notion={"enum": list(allowed)})
    return {"properties": made["properties"]} if DEFAULT_NOTION in allowed else made
