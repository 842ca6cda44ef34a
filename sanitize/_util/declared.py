"""Checked reading of JSON and TOML values into frozen structures that declare their form, with msgspec.

The fields of a structure are the keys, the types give the allowed values, and `__post_init__` checks rules that types
cannot express. The values may be data, so no error quotes a value or an undeclared key.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET as UNSET
from msgspec import Meta as Meta
from msgspec import Struct
from numpy.typing import NDArray

from sanitize._util.sealed_text import NotStrict, compute_seal, pack_array, strict_json, unpack_array
from sanitize.errors import SanitizeError

Place = tuple[str | int, ...]

T = TypeVar("T")
Unset = msgspec.UnsetType

# A value that does not fit raises errors of msgspec; the rules of forms themselves raise the others on damaged values.
_REFUSALS = (msgspec.MsgspecError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError)
# Larger numbers are legal in JSON and TOML, but an int64 or a finite double cannot hold them.
_LARGEST_WHOLE, LARGEST = (1 << 63) - 1, sys.float_info.max
_fields = cache(msgspec.structs.fields)  # evaluates the types of a structure each time
# Errors name types in words, because users who write JSON or TOML need not know Python.
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}


class _Key(str):
    """Key that the form does not declare, such as a column name; errors do not show it."""

    __slots__ = ()


class SchemaError(ValueError):
    """Error for values that do not fit their form.

    Attributes
    ----------
    what : str
        Description of the fault, which quotes no value.
    path : tuple of str and int
        Keys and positions that lead to the fault.
    fault : {"wrong", "missing", "unknown", "rule"}
    extra : dict
        Notes on the field: what it ``must`` be, or the allowed ``words``; for an unknown key, the ``known`` keys.
    value : object
        The faulty value or the unknown key; not to be shown in messages about data.
    """

    def __init__(
        self,
        what: str,
        path: Place = (),
        fault: Literal["wrong", "missing", "unknown", "rule"] = "rule",
        extra: Mapping[str, Any] | None = None,
        value: Any = None,
    ) -> None:
        self.what, self.path, self.fault, self.extra, self.value = what, path, fault, extra or {}, value
        place = "".join(
            f"[{key}]" if isinstance(key, int) else "[...]" if isinstance(key, _Key) else f".{key}" for key in path
        )
        super().__init__(f"{place.removeprefix('.') or 'it'} {what}")


def field_note(must: str = "", advice: str = "", **limits: Any) -> Meta:
    """Return a field's metadata: its limits and, for errors, the rule and a remedy."""
    return Meta(extra={"must": must, "advice": advice}, **limits)


Count = Annotated[int, field_note("a whole number >= 0", ge=0, le=_LARGEST_WHOLE)]
Positive = Annotated[int, field_note("a whole number > 0", ge=1, le=_LARGEST_WHOLE)]
Finite = Annotated[float, field_note("a finite number", ge=-LARGEST, le=LARGEST)]
NonNegative = Annotated[float, field_note("a finite number >= 0", ge=0, le=LARGEST)]
Number = Annotated[Finite | Literal["inf", "-inf"], field_note("a number, 'inf' or '-inf'")]
Share = Annotated[float, field_note("a share between 0 and 1", ge=-1e-9, le=1 + 1e-9)]
Cell = Annotated[int, field_note(ge=-_LARGEST_WHOLE, le=_LARGEST_WHOLE)] | Finite | str | None
Version1 = Annotated[Literal[1], field_note("1, the version of this form that this library reads")]
_Ratio = Annotated[str, field_note("a fraction", pattern=r"^\d{1,20}(/\d{1,20})?\Z")]  # longer ones take hours to read
Digest = Annotated[str, field_note("64 hexadecimal digits", pattern=r"^[0-9a-f]{64}\Z")]


class Declared(Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of all forms, which declare the fields of a JSON or TOML object."""


def form(name: str = "Form", tag: tuple[str, str] | tuple[None, None] = (None, None), /, **fields: Any) -> Any:
    """Make a form without rules from its fields; each field is a type, or a type and a default.

    The tag is a key and the word under it, which distinguish this form from others.
    """
    entries = [(key, *(kind if isinstance(kind, tuple) else (kind,))) for key, kind in fields.items()]
    settings: dict[str, Any] = {"bases": (Declared,), "frozen": True, "kw_only": True, "forbid_unknown_fields": True}
    return msgspec.defstruct(name, entries, tag_field=tag[0], tag=tag[1], **settings)


def list_form(entry: Any) -> Any:
    """Return the form of a list whose items have this form."""
    return list[entry]


def field_notes(structure: Any) -> dict[str, dict[str, Any]]:
    """Return the notes on each field of a form."""
    return {field.name: _bare(field.type)[1] for field in _fields(structure)}


def require(holds: Any, what: str = "is inconsistent", *path: str | int) -> None:
    """Raise a SchemaError if a rule does not hold; a form's `__post_init__` checks rules that types cannot express."""
    if not holds:
        raise SchemaError(what, path)


def read(form: type[T], values: Any) -> T:
    """Convert parsed JSON or TOML to the structure that a form declares.

    Parameters
    ----------
    form : type
    values : object
        Values to read. No type is converted to another: a text is not a number, and a boolean is not an integer.

    Raises
    ------
    SchemaError
        If a value does not fit its form; the error describes the first such place.
    """
    try:
        return msgspec.convert(values, form, dec_hook=_no_structure)
    except _REFUSALS:
        raise _first_error(values, form, ()) from None


def read_sealed(form: type[T], text: str | bytes) -> T:
    """Read a text whose last field, ``sha256``, seals all other fields.

    Raises
    ------
    SchemaError
        If the text is not unambiguous JSON, does not fit its form, or was changed after sealing.
    """
    try:
        state = strict_json(text)
    except NotStrict as error:
        raise SchemaError(f"cannot be read: {error}") from None
    is_changed = isinstance(state, dict) and state.get("sha256") != compute_seal(state)
    try:
        content = read(form, state)
    except SchemaError as error:
        if not is_changed or error.path in (("format",), ("version",)):
            raise
    require(not is_changed, "was changed or damaged after it was written: its checksum, sha256, does not fit")
    return content


def seal_text(value: Any, indent: int | None = 1) -> str:
    """Return a structure as text with a seal; see `read_sealed`."""
    state = to_builtin(value)
    return json.dumps(state | {"sha256": compute_seal(state)}, indent=indent, allow_nan=False) + "\n"


def to_builtin(value: Any) -> Any:
    """Convert a structure and everything in it to plain values, from which `read` restores it."""
    return msgspec.to_builtins(value, enc_hook=_plain)


# ------------------------------------------------------------------------------------------------- where it fails


def _first_error(value: Any, form: Any, path: Place) -> SchemaError:
    """Return the error for the first part of a value that does not fit its form; ever smaller parts are read."""
    for key, part, declared in _parts(value, form):
        if _refusal(part, declared) is not None:
            return _first_error(part, declared, (*path, key))
    base, extra = _bare(form)
    structures = [member for member in _members(base) if _is_structure(member)] if isinstance(value, dict) else []
    for structure in structures:
        if _is_tagged(value, structure):
            return _check_keys(value, structure, path)
    if structures:
        field = structures[0].__struct_config__.tag_field
        if field not in value:
            return SchemaError("is missing", (*path, field), "missing", extra)
        tags = [structure.__struct_config__.tag for structure in structures]
        return _wrong(Literal[tuple(tags)], value[field], (*path, field))
    cause = _refusal(value, form)
    return _wrong(form, value, path) if isinstance(cause, msgspec.ValidationError) else _by_rule(cause, path)


def _wrong(form: Any, value: Any, path: Place) -> SchemaError:
    base, extra = _bare(form)
    words = {"words": get_args(base)} if get_origin(base) is Literal and "must" not in extra else {}
    return SchemaError(f"must be {_must(form)}", path, "wrong", {"must": _must(form), **words, **extra}, value)


def _check_keys(value: dict[str, Any], structure: Any, path: Place) -> SchemaError:
    """Return the error for an object in which each value fits: a missing key, an unknown key or a broken rule."""
    fields, tag_field = _fields(structure), structure.__struct_config__.tag_field
    names = [*filter(None, [tag_field]), *(field.encode_name for field in fields)]
    for field in fields:
        if field.required and field.encode_name not in value:
            return SchemaError("is missing", (*path, field.encode_name), "missing", _bare(field.type)[1])
    for key in value:
        if key not in names:
            return SchemaError("has a key that does not belong there", path, "unknown", {"known": names}, key)
    return _by_rule(_refusal(value, structure), path)


def _by_rule(cause: Exception | None, path: Place) -> SchemaError:
    if isinstance(cause, SchemaError):
        return SchemaError(cause.what, (*path, *cause.path), cause.fault, cause.extra, cause.value)
    return SchemaError(f"is refused: {cause}" if isinstance(cause, SanitizeError) else "is inconsistent", path)


def _refusal(value: Any, form: Any) -> Exception | None:
    """Return the error that reading a value raises, or its cause if a rule was broken; None if the value fits."""
    try:
        msgspec.convert(value, form, dec_hook=_no_structure)
    except _REFUSALS as error:
        return error.__cause__ if isinstance(error.__cause__, Exception) else error
    return None


def _parts(value: Any, form: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield the key, value and form of each part of a value."""
    for member in _members(_bare(form)[0]):
        inner = get_args(member)
        if isinstance(value, dict) and _is_structure(member) and _is_tagged(value, member):
            fields = {field.encode_name: field.type for field in _fields(member)}
            yield from ((key, value[key], fields[key]) for key in fields if key in value)
        elif isinstance(value, dict) and get_origin(member) is dict:
            yield from ((_Key(key), part, inner[1]) for key, part in value.items())
        elif isinstance(value, (list, tuple)) and get_origin(member) in (list, tuple):
            forms = inner if len(inner) == len(value) and ... not in inner else (inner[0],) * len(value)
            yield from ((place, part, forms[place]) for place, part in enumerate(value))


def _bare(form: Any) -> tuple[Any, dict[str, Any]]:
    """Return a type without its notes, and the notes; an optional field is treated like a required one."""
    notes: dict[str, Any] = {}
    while True:
        inner = get_args(form)
        if get_origin(form) is Annotated:
            form = inner[0]
            notes = {key: word for meta in inner[1:] for key, word in (meta.extra or {}).items() if word} | notes
        elif Unset in inner:
            form = Union[tuple(kind for kind in inner if kind is not Unset)]  # noqa: UP007
        else:
            return form, notes


def _members(base: Any) -> list[Any]:
    """List the types that a value may have: the members of a union, or the type itself."""
    if get_origin(base) not in (Union, UnionType):
        return [base]
    return [kind for member in get_args(base) for kind in _members(_bare(member)[0])]


def _is_structure(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, Struct)


def _is_tagged(value: dict[str, Any], structure: Any) -> bool:
    config = structure.__struct_config__
    return config.tag is None or value.get(config.tag_field) == config.tag


def _must(form: Any) -> str:
    """Describe in words the values that a form allows."""
    base, extra = _bare(form)
    kind = get_origin(base) or base
    if "must" in extra:
        return str(extra["must"])
    if kind in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_must, get_args(base))))
    if kind is Literal:
        words = ", ".join(map(repr, get_args(base)))
        return f"one of {words}" if len(get_args(base)) > 1 else words
    if kind in (list, tuple):
        return "a list"
    return _WORDS.get(kind, "an object" if kind is dict or _is_structure(kind) else "what was written there")


# ------------------------------------------------------------------------------------------- arrays, fractions


def _no_structure(kind: Any, value: Any) -> Any:
    """Read an array or a fraction from the JSON that represents it."""
    if get_origin(kind) is np.ndarray:
        return read(_Packed, value).unpack(get_args(get_args(kind)[1])[0])
    if kind is pa.Array:
        try:
            return unpack_array(value)
        except ValueError:
            raise SchemaError("is damaged: expected an array that sanitize wrote") from None
    if kind is Fraction:
        return Fraction(read(_Ratio, value))
    raise NotImplementedError(f"fields of type {kind} cannot be read from JSON or TOML")


def _plain(value: Any) -> Any:
    if isinstance(value, pa.Array):
        return pack_array(value)
    if isinstance(value, np.ndarray):
        content = np.packbits(value) if value.dtype == bool else value.astype(value.dtype.newbyteorder("<"))
        kind = value.dtype.newbyteorder("<").str
        return to_builtin(_Packed(kind, value.shape, np.ascontiguousarray(content).tobytes()))
    return str(value) if isinstance(value, Fraction) else value.item()  # only NumPy's numbers are left


class _Packed(Declared, frozen=True):
    """Array of numbers in JSON: NumPy's name of the type, the shape, and the bytes, with eight booleans per byte."""

    type: Annotated[str, field_note("a type of numbers", pattern=r"^(\|b1|\|[iu]1|<[iuf][248])\Z")]
    shape: tuple[Count, ...]
    content: bytes = msgspec.field(name="bytes")

    def unpack(self, wanted: Any) -> NDArray[Any]:
        """Return the array, cast to the requested type."""
        is_packed = self.type == "|b1"
        flat = np.frombuffer(self.content, np.uint8 if is_packed else self.type)
        if is_packed:
            require(len(flat) == -(-math.prod(self.shape) // 8))
            flat = np.unpackbits(flat, count=math.prod(self.shape)).astype(bool)
        with np.errstate(invalid="ignore"):
            numbers = flat.astype(flat.dtype.newbyteorder("=") if wanted is Any else wanted)
        require((numbers == flat).all(), "contains numbers that do not fit their type")
        return numbers.reshape(self.shape)
