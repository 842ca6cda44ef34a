"""Keys of a release policy, each declared once: allowed values, error text, and rules between keys."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Union

from sanitize._util.declared import (
    LARGEST,
    UNSET,
    Finite,
    Meta,
    NonNegative,
    Unset,
    field_note,
    field_notes,
    form,
    list_form,
)
from sanitize.core.binning import STEPS, date_edges
from sanitize.errors import InvalidParameter, PolicyError
from sanitize.policy._reader import fitting, invalid_key, missing, unknown_word, wrong_table
from sanitize.release.people import ROW
from sanitize.report import PROMISES
from sanitize.tables.files.description import DECIMALS, THOUSANDS, TYPES

# A later format gets another number, so that an older version of the library refuses it.
VERSION = 1
# Notions that any merging of symbols can be held against.
MERGING = ("lift", "ldp", "l1", "chi2", "alpha")
# A [budget] without a notion is a limit on the lift, which is the limit that the documentation explains.
DEFAULT_NOTION = "lift"
# Mechanism in a policy -> its estimator, and the notions of budget that it accepts.
MECHANISMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "watchdog": ("Watchdog", MERGING),
    "subset-merging": ("SubsetMerging", MERGING),
    "latent-classes": ("LatentClassRelease", MERGING),
    "auto": ("BestSanitizer", MERGING),
    "optimal-random-response": ("OptimalRandomResponse", MERGING),
    "subset-random-response": ("SubsetRandomResponse", ("lift", "ldp")),
    "randomized-response": ("RandomizedResponse", ("ldp",)),
    "exponential-channel": ("ExponentialChannel", ("capacity",)),
    "gaussian-channel": ("GaussianChannel", ("capacity",)),
}
# "auto" chooses another mechanism; it works with a single channel only.
AUTO = "auto"
# Subset merging takes every notion of a limit on symbols, needs no noise and is designed within seconds.
DEFAULT_MECHANISM = "subset-merging"
# Mechanisms that need no budget of their own and use what a joint budget leaves, given the other columns.
SEQUENTIAL = ("watchdog", "subset-merging")
# A name of a channel becomes part of a parameter of the estimator, next to these.
_TAKEN = ("sanitizers", "budget", "sensitive", "keep", "missing", "handle_unknown", "person", "random_state")
# The one mechanism for numbers: it needs bounds of every column, and other advice.
GRID = "gaussian-channel"
# Mechanisms for whole tables, which are released through a single channel.
CLASSES = "latent-classes"
# Groups of mechanisms with a setting in common, below.
_LIFT_FAMILY = tuple(name for name, (_, notions) in MECHANISMS.items() if "lift" in notions)
_TUPLES = tuple(name for name in MECHANISMS if name not in (GRID, CLASSES))
_SEARCHES = ("optimal-random-response", "subset-random-response")
_DESIGNS = (*_SEARCHES, "subset-merging", "watchdog")


# ----------------------------------------------------------------------------------------- allowed values of the keys


def _key(kind: Any, description: str | None = None, example: str = "") -> Any:
    """Declare a required key, with an example of how to write it."""
    return Annotated[kind, Meta(description=description, extra={"example": example})]


def _maybe(kind: Any, description: str, *owners: str) -> Any:
    """Declare an optional key; for keys of a channel, also the mechanisms that use it."""
    return Annotated[kind | Unset, Meta(description=description, extra={"owners": owners})], UNSET


def _one_or_none(description: str, *words: str) -> Any:
    """Declare an optional key whose value is one of a few words."""
    return _maybe(Literal[words], description)


def _one(description: str, *words: str) -> Any:
    """Declare a key whose value is one of a few words; the first word is the default."""
    return Annotated[Literal[words], Meta(description=description)], words[0]


# Types of values that several keys share, so that they also share the error text. A few patterns exist only in the
# published schema, by which editors check a policy: msgspec itself has no rule for unique items or types of edges.
_VERSION = field_note(f"{VERSION}, the version that this sanitize reads")
_OPEN = "write inf for no bound"
_LEVEL = Annotated[float, field_note("a number >= 0", _OPEN, ge=0)]
_POSITIVE = Annotated[float, field_note("a finite number > 0", gt=0, le=LARGEST)]
_INSIDE = Annotated[float, field_note("a number strictly between 0 and 1", gt=0, lt=1)]
# Keys differ only in the least number, which is the position in this list.
_WHOLE = [Annotated[int, field_note(f"a whole number >= {least}", ge=least)] for least in range(3)]
_TEXT = Annotated[str, field_note("text", "put it in quotes", min_length=1)]
# A name or text that is given twice is a mistake.
_ONCE = {"uniqueItems": True}
_OF_COLUMNS = field_note("an array of column names", 'write for example ["age", "town"]', extra_json_schema=_ONCE)
_NAMES = Annotated[tuple[str, ...], _OF_COLUMNS]
_SOME_NAMES = Annotated[_NAMES, field_note(min_length=1)]
# Two underscores separate a channel from its parameter, as in scikit-learn.
_FREE = f"text without __, and none of {', '.join(_TAKEN)}"
_NAME = Annotated[str, field_note(_FREE, "choose another", pattern=rf"^(?!({'|'.join(_TAKEN)})$)(?!.*__)[^\n]+$")]
_LOW_HIGH = "[low, high] with low < high, for example [0, 100]"
_PAIR = Annotated[list[Finite], field_note(_LOW_HIGH, min_length=2, max_length=2, extra_json_schema=_ONCE)]
_EDGES = Annotated[list[Finite], field_note("an array of numbers", "write for example [18, 30, 45, 65]")]
# Edges are numbers or dates, never a mixture.
_ARRAYS = [{"type": "array", "items": {"type": kind}, "minItems": 1, **_ONCE} for kind in ("number", "string")]
_ANY_EDGES = Annotated[list[Any], field_note("an array of edges")]
_LEARNED = form(learned=_key(_ANY_EDGES, example="learned = [18, 30, 45, 65]"))
# Edges that were taken from the rows say so, because they reveal something about the rows.
_OF_ROWS: dict[str, Any] = {"type": "object", "properties": {"learned": {"anyOf": _ARRAYS}}, "required": ["learned"]}
_OF_ROWS["additionalProperties"] = False
_CUTS = Annotated[Any, field_note(extra_json_schema={"anyOf": [*_ARRAYS, {"enum": list(STEPS)}, _OF_ROWS]})]
# Any ASCII sign but the double quote, which encloses fields. Some programs write a blank after each delimiter.
_SIGN = field_note('one sign such as ";", "|" or "\\t"', max_length=2, pattern=r"^[\t -!#-/:-@\[-`{-~] ?$")
_TEXTS = field_note("an array of texts", 'write for example ["NA", "."]', extra_json_schema=_ONCE)
_MARKS = Annotated[tuple[str, ...], _TEXTS]
# The schema can only recognise the format of a date by its per cent sign.
_TYPE_SCHEMA = {"anyOf": [{"enum": list(TYPES)}, {"pattern": "%"}]}
_TYPE_WORDS = f"one of {', '.join(TYPES)}, or how dates are written, as %d.%m.%Y"
_TYPE = Annotated[str, field_note(_TYPE_WORDS, extra_json_schema=_TYPE_SCHEMA)]
# Pattern of a date in the published schema, which has no type for dates.
_ISO = {"pattern": r"^\d{4}-\d{2}-\d{2}$"}
_DAY = Annotated[datetime.date, field_note("a date", "write it as 2026-01-31", extra_json_schema=_ISO)]
_PLAIN = field_note("an array of texts, numbers or booleans", 'write for example ["low", "high"]', min_length=1)
_SECRETS = Annotated[list[str | bool | int | float], _PLAIN]
_GROUPS = Annotated[dict[str, _SECRETS], field_note("a table of lists", min_length=1)]
_WORK = Annotated[float, field_note("a finite number >= 1", ge=1, le=LARGEST)]


# A lift budget has one of these pairs of bounds: two units for one limit could contradict each other.
PAIRS = {("at_most", "at_least"): "times as likely", ("lower", "upper"): "nats"}


def _times(must: str, advice: str, **range_: float) -> Any:
    """Declare a limit in times, or a table with a limit for each sensitive value."""
    limit = Annotated[float, field_note(must, advice, **range_)]
    by_value = Annotated[dict[str, limit], Meta(min_length=1)]
    return Annotated[limit | by_value, field_note(must, advice)]


# The bounds of a lift, with the same words wherever they stand.
_AT_MOST = _times("a number >= 1", _OPEN, ge=1)
_AT_LEAST = _times("a number from 0 to 1", "0 lets a released value rule a sensitive value out", ge=0, le=1)
_BY_VALUE = "or a table with a number for each value, where '*' stands for all others"
_LIMITS = form(
    "limits",
    at_most=_key(_AT_MOST, example="at_most = 2 (times as likely; inf for no bound)"),
    at_least=_key(_AT_LEAST, example="at_least = 0.5 (times as likely; 0 for no bound)"),
)
# Bounds on averages have no meaning in times, so they are in nats; `limits` adds a limit on each lift.
_AVERAGE = {
    "lower": _key(_LEVEL, example="lower = 1.5 (nats; inf for no bound)"),
    "upper": _key(_LEVEL, example="upper = 0.5 (nats)"),
    "limits": _maybe(_LIMITS, "Further limits in times as likely: a number, or a table with a number for each value."),
}
# Each notion has bounds of its own; a key of another notion is refused, because it would limit nothing.
_BOUNDS = {
    "lift": {
        "at_most": _maybe(_AT_MOST, f"Most times as likely that a release makes a sensitive value, {_BY_VALUE}."),
        "at_least": _maybe(_AT_LEAST, f"Least times as likely, {_BY_VALUE}; required with at_most."),
        "lower": _maybe(_LEVEL, "Limit at_least in nats: -log(at_least); required with upper."),
        "upper": _maybe(_LEVEL, "Limit at_most in nats: log(at_most); required with lower."),
    },
    "ldp": {"eps": _key(_LEVEL, example="eps = 1.0 (nats)")},
    "l1": _AVERAGE,
    "chi2": _AVERAGE,
    "alpha": {
        "alpha": _key(Annotated[float, field_note("a number > 1", _OPEN, gt=1)], example="alpha = 2"),
        **_AVERAGE,
    },
    "capacity": {"nats": _key(Annotated[float, field_note("a number > 0", _OPEN, gt=0)], example="nats = 0.5")},
}
# A policy and a single channel may both have a budget, which is declared once.
_BUDGET = _key(
    Union[tuple(form(notion, ("notion", notion), **bounds) for notion, bounds in _BOUNDS.items())],  # noqa: UP007
    "Limit on what released values may reveal: in times as likely, or in nats.",
    "[budget] with at_most = 2 and at_least = 0.5 (times as likely), or upper = 0.69 and lower = 0.69 (nats)",
)
# Both guarantees need values that are declared, because values found in the rows would reveal the rows that have them.
_SECRET_DP = form(
    "secret_dp",
    eps=_key(_POSITIVE, example="eps = 1.0 (nats)"),
    delta=_key(_INSIDE, example="delta = 1e-6"),
    values=(dict[str, _SECRETS], {}),
)
_RECORD_DP = form(
    "record_dp",
    eps=_key(_POSITIVE, example="eps = 1.0 (nats)"),
    values=_key(dict[str, _SECRETS], example="values = {}"),
    delta=(Annotated[float, field_note("from 0 to 0.1", ge=0, le=0.1)], 0.0),
)
# Setting of a channel -> allowed values, error text, and the mechanisms that have the setting.
_SETTINGS = {
    "min_count": _maybe(_WHOLE[0], "Number of rows below which a combination of public values is pooled.", *_TUPLES),
    "smoothing": _maybe(NonNegative, "Number added to every cell of the counts, as a prior.", *_TUPLES),
    "n_classes": _maybe(_WHOLE[1], "Number of latent classes; by default it grows with the number of rows.", CLASSES),
    "rule": _maybe(Literal[_DESIGNS], "The rule that designs the channel on latent classes.", CLASSES),
    "hierarchies": _maybe(dict[str, _TEXT], "File of each column with lines as value;wider;widest.", CLASSES),
    "confidence": _maybe(_INSIDE, "Confidence at which the limit holds for the population of the rows.", *_LIFT_FAMILY),
    "secret_dp": _maybe(_SECRET_DP, "Differential privacy of the sensitive value of each row.", *_DESIGNS, CLASSES),
    "record_dp": _maybe(
        _RECORD_DP, "Differential privacy of whole rows; needs confidence, and values of each.", CLASSES
    ),
    "gap": _maybe(_POSITIVE, "Distance from the optimum that is good enough, in nats.", *_SEARCHES),
    "effort": _maybe(_WORK, "Units of work of the search.", "subset-merging", CLASSES, *_SEARCHES),
    "side_columns": _maybe(_SOME_NAMES, "Public columns that a reader may know of a row.", "optimal-random-response"),
    "time_limit": _maybe(_POSITIVE, "Seconds after which the search stops; verify then needs a receipt.", *_SEARCHES),
    "distance": _maybe(Literal["line", "circle", "hamming"], "Distance between public symbols.", "exponential-channel"),
    "bounds": _maybe(dict[str, _PAIR], "Bounds [low, high] of each public column, not taken from the rows.", GRID),
    "step": _maybe(dict[str, _POSITIVE], "Distance between neighbouring grid points, by column.", GRID),
    "points": _maybe(_WHOLE[2], "Largest number of grid points within the bounds of a column without a step.", GRID),
    "reach": _maybe(NonNegative, "Width of the grid beyond the bounds, in standard deviations of the noise.", GRID),
    "method": _maybe(Literal["exact", "closed_form"], "Method of calibrating the noise to the capacity.", GRID),
}
# The help of a key is also that of the schema, so it says what learned edges are.
_BINS = "Ascending edges of numbers or dates, or a calendar unit; learned edges were taken from the rows."
# [channel]: settings for releasing columns.public; or several [[channel]], each with public columns of its own.
_CHANNEL = form(
    "channel",
    name=_maybe(_NAME, "Name of the channel, if there are several."),
    public=_maybe(_SOME_NAMES, "Columns released through the channel, if there are several channels."),
    budget=_maybe(_BUDGET, "Limit on this channel alone, if there are several."),
    mechanism=(_key(Literal[tuple(MECHANISMS)], "The rule that designs the channel."), DEFAULT_MECHANISM),
    bins=(_key(dict[str, _CUTS], _BINS), {}),
    **_SETTINGS,
)
# Mechanisms that have each setting, derived from the declaration so that the two cannot differ.
OWNERS: dict[str, tuple[str, ...]] = {key: field_notes(_CHANNEL)[key]["owners"] for key in _SETTINGS}
# Every column of the table has one of these roles, so that no column is released by mistake.
_COLUMNS = form(
    "columns",
    sensitive=_key(_SOME_NAMES, "Columns to protect.", 'sensitive = ["income"]'),
    public=_maybe(_SOME_NAMES, "Columns released together through one channel; omitted with [[channel]]."),
    keep=(_key(_NAMES, "Columns released unchanged; the limit covers what they reveal."), ()),
    drop=(_key(_NAMES, "Columns left out."), ()),
    person=_maybe(_TEXT, 'Column that identifies the person of each row, or "row" if each row is one person.'),
    weights=_maybe(_TEXT, "Column with the weight of each row; it cannot be used with a confidence."),
    unit=_maybe(_TEXT, "Column that identifies units, such as people; the ledger records the releases of each unit."),
)
_SUMMARIES = tuple[Literal["share", "count", "sum", "mean", "min", "max", "first", "last"], ...]
# [[table]]: tables whose rows belong to rows of the root, or of another table.
_TABLE = form(
    "table",
    name=_key(_TEXT, "Name of the table, whose file is NAME.parquet.", 'name = "visits"'),
    public=_key(_NAMES, "Columns that are released, in addition to keys and order.", 'public = ["code"]'),
    drop=(_key(_NAMES, "Columns left out."), ()),
    key=_maybe(_TEXT, "Column with the key of the parent row; by default the column that identifies units."),
    order=_maybe(_TEXT, "Column of numbers or dates that gives the order of the rows with the same parent row."),
    parent=_maybe(_TEXT, "Parent table, to whose rows the rows of this table belong; the root by default."),
    id=_maybe(_TEXT, "Column that identifies the rows of this table, if rows of another table belong to them."),
    summaries=(_key(dict[str, _SUMMARIES], "Summaries of each column that become part of the profile of a unit."), {}),
)
# A text file does not say what its signs mean; these keys replace what would be inferred.
_SOURCE = form(
    "source",
    delimiter=_maybe(Annotated[str, _SIGN], "Sign between fields, optionally followed by a blank."),
    header=_maybe(bool, "True if the first line names the columns, otherwise called column_1, column_2, ..."),
    missing=_maybe(_MARKS, 'Texts that stand for a missing value, as ["NA", "."]; an empty field is always missing.'),
    decimal=_one_or_none("Sign before the decimals.", *DECIMALS),
    thousands=_one_or_none("Sign between thousands; empty if there is none.", *THOUSANDS),
)
# The whole policy, from which the schema for editors is made as well, so that both agree.
DOCUMENT = form(
    "policy",
    version=_key(Annotated[Literal[VERSION], _VERSION], "Version of this format.", f"version = {VERSION}"),
    columns=_key(_COLUMNS, example='[columns] with sensitive = ["..."] and public = ["..."]'),
    budget=_BUDGET,
    channel=(_CHANNEL | Annotated[list_form(_CHANNEL), field_note(min_length=1)], _CHANNEL()),
    rows=_one("Order of released rows; if it is kept, the release measures what it reveals.", "shuffle", "keep"),
    audience=_one("Readers of the report.", "internal", "public"),
    missing=_one("Treatment of missing values: as a category of their own, or as an error.", "category", "error"),
    handle_unknown=_one("Treatment of symbols that were absent at fit.", "high_risk", "error"),
    workers=_maybe(_WHOLE[1], "Threads, all cores by default; the output is the same for any number."),
    source=_maybe(_SOURCE, "Format of a text file; settings that are left out are inferred from the file."),
    types=(_key(dict[str, _TYPE], "Type of a column: one of the words, or the format of its dates."), {}),
    join=(_key(dict[str, _GROUPS], 'Values that count as one value, as race = { other = ["A", "B"] }.'), {}),
    receipt=_maybe(_TEXT, "File for the receipt that verify needs, in a private folder; relative to this policy."),
    root=_maybe(_TEXT, "Table with one row for each unit, to which the rows of other tables belong."),
    table=(_key(list_form(_TABLE), "Tables whose rows belong to rows of the root or of another table."), []),
    ledger=_maybe(_TEXT, "File that records releases of the same rows or units; the path is relative to this policy."),
    predict=_maybe(_TEXT, "Released column that models are trained to predict, on the release and on the raw table."),
    title=_maybe(_TEXT, "Heading of the report."),
    reason=_maybe(_TEXT, "Reason for this budget, which the dossier quotes."),
    date=_maybe(_DAY, "Date shown in the report, as 2026-01-31; omitted if not given."),
)


# ------------------------------------------------------------------------------------------- rules between keys


def channels_by_path(document: Any) -> dict[str, Any]:
    """Return each channel, with its name and public columns, by the path of its table in the policy."""
    if isinstance(document.channel, list):
        return {f"channel[{i}]": channel for i, channel in enumerate(document.channel)}
    return {"channel": document.channel.__replace__(name="release", public=document.columns.public)}


def notion_name(budget: Any) -> str:
    """Return the notion of a budget as a policy names it, such as ``lift``."""
    return str(budget.__struct_config__.tag)


def check(document: Any) -> None:
    """Refuse combinations of keys that are invalid together.

    Raises
    ------
    PolicyError
    """
    columns, budget = document.columns, document.budget
    if isinstance(document.channel, list):
        if columns.public is not UNSET:
            raise wrong_table("columns.public", "each [[channel]] names its own public columns; move them there")
        _check_several(document.channel)
    else:
        _need(columns, "columns", public='public = ["age", "town"]')
        if key := next((k for k in ("name", "public", "budget") if getattr(document.channel, k) is not UNSET), None):
            reason = "it belongs to [[channel]] tables; with one [channel] use columns.public and [budget]"
            raise wrong_table(f"channel.{key}", reason)
    parts = channels_by_path(document)
    budgets = {"budget": budget, **{f"{where}.budget": part.budget for where, part in parts.items()}}
    for where, part_budget in budgets.items():
        if part_budget and notion_name(part_budget) == DEFAULT_NOTION:
            _check_bounds(where, part_budget)
    _check_roles(columns, parts)
    for column in document.join:
        if column not in columns.sensitive:
            raise wrong_table(
                f"join.{column}",
                f"{column!r} is not a sensitive column; list it in columns.sensitive or leave out this join",
            )
        if any(column in part.bins for part in parts.values()):
            raise wrong_table(f"join.{column}", f"{column!r} has bins; leave out its bins or this join")
    for where, part in parts.items():
        _check_settings(where, part, columns, [table.name for table in document.table])
    if "channel" in parts and (not columns.keep or parts["channel"].mechanism == CLASSES):
        _check_notion("budget", parts["channel"], budget)
        _check_kept(document, parts["channel"])
    elif notion_name(budget) not in MERGING:
        words = f"must be {' or '.join(map(repr, MERGING))} with kept columns or several channels"
        words = f"{words}, got {notion_name(budget)!r}; or give each channel a budget of its own"
        raise invalid_key("budget.notion", words)
    else:
        for where, part in parts.items():
            _check_part(where, part)
    if document.table or document.root is not UNSET:
        _check_tables(document, parts)
    elif columns.unit is not UNSET and document.ledger is UNSET:
        raise PolicyError('columns.unit needs a ledger of the units, as in ledger = "people.units"', "ledger")
    if columns.unit is not UNSET and document.receipt is not UNSET:
        raise invalid_key(
            "receipt", "cannot be used with units, because their releases depend on earlier releases; leave it out"
        )
    for name in PROMISES:
        if any(getattr(part, name) is not UNSET for part in parts.values()):
            _check_promise(document, parts.values(), name)


def _need(part: Any, where: str = "", /, **examples: str) -> None:
    """Refuse a part of the policy that lacks a key, with an example of how to write the key."""
    for key, example in examples.items():
        if not getattr(part, key):  # an array may be present and empty
            raise missing(f"{where}.{key}".removeprefix("."), example)


def _check_tables(document: Any, parts: Mapping[str, Any]) -> None:
    """Refuse tables of units that lack required keys or have keys that do not apply."""
    _need(document, table='[[table]] with name = "visits" and public = ["code"]', root='root = "patients"')
    _need(document.columns, "columns", unit='unit = "patient"')
    names = [document.root, *(table.name for table in document.table)]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise invalid_key(
            "table",
            f"must have a different name for each table and for the root; rename one of the two named {twice!r}",
        )
    for where, part in parts.items():
        if part.mechanism != CLASSES:
            raise invalid_key(f"{where}.mechanism", f"must be {CLASSES}, through which tables of units are released")
    if document.rows == "keep":
        raise invalid_key("rows", 'must be "shuffle", because units are written under new keys and in a new order')


def _check_bounds(where: str, budget: Any) -> None:
    """Refuse a budget that lacks a bound, or whose bounds are in different units."""
    keys_by_unit = [[key for key in pair if getattr(budget, key) is not UNSET] for pair in PAIRS]
    examples = {"at_most": "1.65", "at_least": "0.37", "lower": "1.0 (nats; inf for no bound)", "upper": "0.5 (nats)"}
    if all(keys_by_unit):
        units = " or ".join(f"{' and '.join(pair)} ({unit})" for pair, unit in PAIRS.items())
        raise wrong_table(f"{where}.{keys_by_unit[1][0]}", f"write {units}, not both")
    pair, keys = max(zip(PAIRS, keys_by_unit, strict=True), key=lambda unit: len(unit[1]))
    if absent := next((key for key in pair if key not in keys), None):
        raise missing(f"{where}.{absent}", f"{absent} = {examples[absent]}")


def _check_several(channels: list[Any]) -> None:
    """Refuse several channels without distinct names or public columns, or with settings for one channel only."""
    for i, channel in enumerate(channels):
        where = f"channel[{i}]"
        _need(channel, where, name='name = "home"', public='public = ["age", "town"]')
        if channel.mechanism == AUTO:
            raise invalid_key(f"{where}.mechanism", "must name a mechanism: auto works only with a single [channel]")
        if channel.name in [earlier.name for earlier in channels[:i]]:
            raise invalid_key(f"{where}.name", f"{channel.name!r} is taken; give each channel its own name")
        if channel.budget is not UNSET:
            _check_notion(f"{where}.budget", channel, channel.budget)


def _check_roles(columns: Any, parts: dict[str, Any]) -> None:
    """Refuse a column that is listed twice."""
    released = {"columns.public" if where == "channel" else f"{where}.public": parts[where].public for where in parts}
    lists = {"columns.sensitive": columns.sensitive, **released, "columns.keep": columns.keep}
    lists |= {"columns.drop": columns.drop}
    single = {f"columns.{key}": getattr(columns, key) for key in ("unit", "person", "weights")}
    lists |= {key: (name,) for key, name in single.items() if name and (key, name) != ("columns.person", ROW)}
    places: dict[str, str] = {}
    for where, name in ((where, name) for where, names in lists.items() for name in names):
        if name in places:
            position = "twice" if places[name] == where else f"under {places[name]} and"
            words = f"column {name!r} is listed {position} under {where}; list each column exactly once"
            raise PolicyError(words, where)
        places[name] = where


def _check_kept(document: Any, channel: Any) -> None:
    """Refuse settings that do not apply to kept columns or to generated rows."""
    keep = document.columns.keep
    if keep and channel.confidence is not UNSET:
        words = "holds for a population, but the limit on kept columns holds for these rows only; leave it out"
        raise invalid_key("channel.confidence", words)
    if document.rows != "keep" and (name := next((name for name in keep if name in channel.bins), None)):
        words = f'must be "keep", because the kept column {name!r} has bins; otherwise leave its bins out'
        raise invalid_key("rows", words)


def _check_settings(where: str, channel: Any, columns: Any, tables: Collection[str]) -> None:
    """Refuse settings that belong to other mechanisms or name other columns."""
    mechanism, public = channel.mechanism, channel.public
    binned = (*columns.sensitive, *public, *(columns.keep if mechanism == CLASSES else ()))
    for key, owners in OWNERS.items():
        if getattr(channel, key) is not UNSET and mechanism not in owners:
            reason = f"{mechanism} does not have it; it is a setting of {', '.join(owners)}"
            raise wrong_table(f"{where}.{key}", reason)
    for key in ("bounds", "side_columns", "step", "hierarchies"):
        for column in getattr(channel, key) or ():
            if column not in public:
                raise wrong_table(f"{where}.{key}.{column}", f"{column!r} is not a public column of this channel")
    for column, (low, high) in (channel.bounds or {}).items():
        if low >= high:
            raise invalid_key(f"{where}.bounds.{column}", f"must be {_LOW_HIGH}")
    absent = next((column for column in public if column not in (channel.bounds or ())), None)
    if mechanism == GRID and absent is not None:
        words = f"and {GRID} needs bounds of every public column, chosen from knowledge and not from the rows"
        example = f"write for example bounds = {{ {absent} = [0, 100] }}"
        raise invalid_key(f"{where}.bounds", f"lacks the column {absent!r}, {words}; {example}")
    for column, cuts in channel.bins.items():
        of_table = column.partition(": ")[0] in tables  # summaries of the rows of a unit
        if not of_table and column not in binned:
            words = f"names {column!r}, which is not a column of this channel; leave it out"
            raise PolicyError(f"{where}.bins {words}", f"bins.{column}")
        _check_cuts(f"{where}.bins.{column}", cuts)


def _check_cuts(where: str, cuts: Any) -> None:
    """Refuse edges that are not ascending numbers or dates, and unknown calendar units."""
    if isinstance(cuts, dict):
        _check_cuts(f"{where}.learned", fitting(_LEARNED, cuts, where).learned)
    elif isinstance(cuts, str) and cuts not in STEPS:
        raise unknown_word(where, STEPS, cuts)
    elif isinstance(cuts, list) and any(isinstance(edge, (str, datetime.date)) for edge in cuts):
        try:
            date_edges(where, [str(edge) if isinstance(edge, (str, datetime.date)) else "" for edge in cuts])
        except InvalidParameter as error:
            raise PolicyError(str(error), where) from None
    elif not isinstance(cuts, str):
        edges = fitting(_EDGES, cuts, where)
        if not edges or any(a >= b for a, b in pairwise(edges)):
            raise invalid_key(where, "must be edges in ascending order, for example [18, 30, 45, 65]")


def _check_part(where: str, channel: Any) -> None:
    """Refuse a channel that cannot be combined with other channels or kept columns."""
    mechanism = channel.mechanism
    if mechanism == CLASSES:
        words = "because it releases a whole table; list all columns under columns.public"
        raise invalid_key(f"{where}.mechanism", f"cannot be {mechanism} here, {words}, with one [channel]")
    if channel.budget is not UNSET:
        return
    if mechanism not in SEQUENTIAL:
        example = f'budget = {{ notion = "{MECHANISMS[mechanism][1][0]}", ... }}, or take subset-merging'
        words = f"is missing: {mechanism} needs a budget of its own next to kept columns or other channels"
        raise invalid_key(f"{where}.budget", f"{words}; write [[channel]] with {example}")
    if channel.smoothing:
        words = "must be 0 in a channel without a budget of its own next to kept columns or other channels"
        raise invalid_key(f"{where}.smoothing", words)


def _check_notion(where: str, channel: Any, budget: Any) -> None:
    allowed, notion = MECHANISMS[channel.mechanism][1], notion_name(budget)
    if notion not in allowed:
        words = f"must be {' or '.join(map(repr, allowed))} with {channel.mechanism}, got {notion!r}"
        raise invalid_key(f"{where}.notion", words)


def _check_promise(document: Any, parts: Iterable[Any], promise: str) -> None:
    """Refuse settings under which sensitive values would be read without noise."""
    name, is_kept = f"channel.{promise}", bool(document.columns.keep)
    for part in parts:
        if part.mechanism == CLASSES:
            if part.confidence is UNSET and not (is_kept and promise == "secret_dp"):
                raise PolicyError(f"{name} needs a confidence; write confidence = 0.95", "channel.confidence")
        elif part.confidence is not UNSET:
            words = f"needs counts without noise if combinations of values are released; leave it out with {name}"
            raise invalid_key("channel.confidence", words)
        elif is_kept or isinstance(document.channel, list):
            raise PolicyError(
                f"{name} needs one channel for all columns, because a joint release counts without noise; leave it out",
                name,
            )
    if document.rows == "keep" and promise == "record_dp":
        raise PolicyError(
            f'rows = "keep" checks every sensitive value, so it cannot be combined with {name}; leave rows out', "rows"
        )
    if document.columns.unit is not UNSET and not document.table:
        words = f"asks for a ledger that counts sensitive values without noise; leave it out with {name}"
        raise invalid_key("columns.unit", words)
    if document.receipt is not UNSET:
        words = f"cannot be used with {name}, because the noise of its fit is not stored; leave it out"
        raise invalid_key("receipt", words)
