"""The JSON schema of a policy, made from the tables that its parser reads by."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from sanitize.policy import _reader as keys
from sanitize.policy._channels import (
    AUTO,
    BINS,
    BOUNDS,
    CHOICES,
    COLUMNS,
    DATE,
    DEFAULT_MECHANISM,
    DEFAULT_NOTION,
    DELIMITER,
    GRID,
    LEDGER,
    MECHANISM,
    MECHANISMS,
    MERGING,
    MODEL,
    RESERVED,
    SEQUENTIAL,
    SETTINGS,
    TITLE,
    TREES,
    UNIT,
    WORKERS,
)
from sanitize.policy._policy import VERSION

Schema = dict[str, Any]

_TREE: Schema = {"enum": list(TREES)}


def schema_text() -> str:
    """The file ``policy.schema.json``; a test holds that it is up to date."""
    return json.dumps(policy_schema(), indent=1) + "\n"


def policy_schema() -> Schema:
    """What a policy may hold, as JSON schema 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"sanitize/policy/{VERSION}",
        "title": "Release policy of sanitize",
        "description": "What may be released from a table and how. Every column of the source is listed exactly once. "
        "Rules that compare keys with one another (a column listed twice, bins of another channel's "
        "column, edges that do not ascend) are checked by the library alone.",
        "type": "object",
        "required": ["version", "columns", "budget"],
        "additionalProperties": False,
        "properties": {
            "version": {"const": VERSION, "description": "Version of this format."},
            "columns": {
                "type": "object",
                "required": ["sensitive"],
                "additionalProperties": False,
                "properties": {name: form.schema for name, form in COLUMNS.items()} | {"unit": UNIT.schema},
            },
            "budget": {"$ref": "#/$defs/budget"},
            "channel": {
                "oneOf": [
                    {"$ref": "#/$defs/channel"},
                    {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/named_channel"}},
                ],
                "description": "[channel]: how columns.public are released. [[channel]]: several channels, each with "
                "public columns of its own.",
            },
            **{key: {**form.schema, "default": form.schema["enum"][0]} for key, form in CHOICES.items()},
            "workers": WORKERS.schema,
            "delimiter": DELIMITER.schema,
            "ledger": LEDGER.schema,
            "title": TITLE.schema,
            "date": DATE.schema,
        },
        "allOf": [_several(), _kept(), _alone(), _noisy()],
        "$defs": {"budget": _budget(), "channel": _channel(), "named_channel": _named_channel()},
    }


def _several() -> Schema:
    """Several channels name their own public columns, and share a budget on what is told about S."""
    return {
        "if": _where(channel={"type": "array"}),
        "then": {"properties": {"columns": {"properties": {"public": False}}, "budget": _notions(MERGING)}},
        "else": {"properties": {"columns": {"required": ["public"]}}},
    }


def _kept() -> Schema:
    """Beside kept columns a channel takes what the joint budget leaves it."""
    sequential = {"mechanism": {"enum": list(SEQUENTIAL)}, "smoothing": {"const": 0}}
    return {
        "if": _where(columns=_where(keep={"minItems": 1})),
        "then": {
            "properties": {
                "budget": _notions(MERGING),
                "channel": {"if": {"type": "object"}, "then": {"properties": sequential}},
            }
        },
    }


def _alone() -> Schema:
    """One channel alone has a budget that its mechanism can be designed for."""
    return {
        "if": {"properties": {"channel": {"type": "object"}, "columns": {"properties": {"keep": {"maxItems": 0}}}}},
        "then": {
            "allOf": [
                {"if": _channel_of(names), "then": {"properties": {"budget": _notions(notions)}}}
                for names, notions in _families()
            ]
        },
    }


def _noisy() -> Schema:
    """Noisy counts of secrets go with what does not look at the secrets themselves."""
    return {
        "if": _where(channel={"type": "object", "required": ["secret_dp"]}),
        "then": {
            "properties": {
                "rows": {"const": "shuffle"},
                "ledger": False,
                "channel": {"required": ["confidence"]},
            }
        },
    }


def _channel_of(names: list[str]) -> Schema:
    """A policy whose channel has one of these mechanisms; without a channel it has the default one."""
    made = _where(channel=_mechanism_in(names))
    return {"properties": made["properties"]} if DEFAULT_MECHANISM in names else made


def _budget() -> Schema:
    """Notions with the same bounds together; the default one need not be named."""
    bounds = {notion: {key: form.schema for key, (form, _) in read.items()} for notion, read in BOUNDS.items()}
    kinds = []
    for own in [own for i, own in enumerate(bounds.values()) if own not in list(bounds.values())[:i]]:
        notions = [notion for notion in bounds if bounds[notion] == own]
        named = {"enum": notions} if len(notions) > 1 else {"const": notions[0]}
        kinds.append(
            {
                "properties": {"notion": named, **own},
                "required": [*([] if DEFAULT_NOTION in notions else ["notion"]), *own],
                "additionalProperties": False,
            }
        )
    return {
        "type": "object",
        "properties": {"notion": {"enum": list(BOUNDS), "default": DEFAULT_NOTION}},
        "description": "What released symbols may tell, in nats.",
        "oneOf": kinds,
    }


def _channel() -> Schema:
    return {
        "type": "object",
        "properties": {
            "mechanism": {**MECHANISM.schema, "default": DEFAULT_MECHANISM},
            "bins": BINS.schema,
            **{key: form.schema for key, (form, _) in SETTINGS.items()},
        },
        "additionalProperties": False,
        "dependentSchemas": _owners(),
        "allOf": [_grid_needs_bounds(), _printing()],
    }


def _named_channel() -> Schema:
    taken = {"anyOf": [{"enum": list(RESERVED)}, {"pattern": "__"}]}
    shared = {key: {"$ref": f"#/$defs/channel/properties/{key}"} for key in ("mechanism", "bins", *SETTINGS)}
    rules = []
    for every, notions in _families():
        names = [name for name in every if name not in TREES]
        then: Schema = {"properties": {"budget": _notions(notions)}}
        if not set(names) <= set(SEQUENTIAL):
            then["required"] = ["budget"]
        rules.append({"if": _mechanism_in(names), "then": then})
    no_budget = {"if": {"not": {"required": ["budget"]}}, "then": {"properties": {"smoothing": {"const": 0}}}}
    return {
        "type": "object",
        "required": ["name", "public"],
        "additionalProperties": False,
        "properties": {
            "name": {**keys.text.schema, "not": taken},
            "public": keys.some_names.schema,
            "budget": {"$ref": "#/$defs/budget"},
            **shared,
        },
        "dependentSchemas": _owners(),
        "allOf": [
            *[_grid_needs_bounds(), _printing(), *rules, no_budget],
            *({"not": _where(mechanism=one)} for one in (_TREE, {"const": AUTO})),
        ],
    }


def _families() -> list[tuple[list[str], tuple[str, ...]]]:
    """Mechanisms that take the same notions, and these."""
    kinds = groupby(MECHANISMS, key=lambda name: (MECHANISMS[name][1], name == AUTO))
    return [(list(names), notions) for (notions, _), names in kinds]


def _owners() -> Schema:
    """A setting asks for one of the mechanisms that have it."""
    return {key: _mechanism_in(list(owners)) for key, (_, owners) in SETTINGS.items()}


def _grid_needs_bounds() -> Schema:
    return {"if": _where(mechanism={"const": GRID}), "then": {"required": ["bounds"]}}


def _printing() -> Schema:
    """Rows are printed by a model in whole tables only."""
    return {"if": _where(output={"const": MODEL}), "then": _where(mechanism=_TREE)}


def _where(**properties: Schema) -> Schema:
    """An object that has these properties."""
    return {"properties": properties, "required": list(properties)}


def _mechanism_in(names: list[str]) -> Schema:
    """An object whose mechanism is one of these; the default one need not be named."""
    made = _where(mechanism={"enum": names})
    return {"properties": made["properties"]} if DEFAULT_MECHANISM in names else made


def _notions(allowed: tuple[str, ...]) -> Schema:
    """A budget of one of these notions; the default one need not be named."""
    made = _where(notion={"enum": list(allowed)})
    return {"properties": made["properties"]} if DEFAULT_NOTION in allowed else made
