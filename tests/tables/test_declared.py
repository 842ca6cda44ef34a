"""Forms of what is read from outside: strict, with a place for every refusal, and no value in any message."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from sanitize._util.declared import (
    Cell,
    Count,
    Declared,
    Digest,
    Finite,
    NonNegative,
    Number,
    SchemaError,
    Share,
    field_note,
    form,
    list_form,
    read,
    require,
    to_builtin,
)

SECRET = "hush"


class Inner(Declared, frozen=True):
    low: Finite
    high: Finite

    def __post_init__(self) -> None:
        require(self.low <= self.high, "is below the low end", "high")


class Circle(Declared, frozen=True, tag_field="kind", tag="circle"):
    radius: NonNegative


class Square(Declared, frozen=True, tag_field="kind", tag="square"):
    side: NonNegative
    corners: Count = 4


class Outer(Declared, frozen=True, eq=False):
    name: str
    is_good: bool
    word: Literal["one", "other"]
    figure: Number | None
    share: Share
    cells: list[list[Cell]]
    digest: Digest
    inner: dict[str, Inner]
    pair: tuple[Count, Finite]
    shapes: tuple[Circle | Square, ...]
    numbers: NDArray[np.int32]
    flags: NDArray[np.bool_]
    values: pa.Array
    unit: Fraction
    few: Annotated[list[Count], field_note("a list of at most three", max_length=3)]


def outer() -> dict[str, Any]:
    arrays = {"numbers": np.arange(6, dtype=np.int32).reshape(2, 3), "flags": np.eye(3, dtype=bool)}
    state = {
        "name": "n",
        "is_good": True,
        "word": "one",
        "figure": "-inf",
        "share": 0.5,
        "cells": [["a", 1, 0.5, None]],
        "digest": "0f" * 32,
        "inner": {"age": {"low": 1, "high": 2.5}},
        "pair": [1, 2],
        "shapes": [{"kind": "circle", "radius": 1}, {"kind": "square", "side": 2.0, "corners": 4}],
        **{name: to_builtin(array) for name, array in arrays.items()},
        "values": to_builtin(pa.array(["x", None])),
        "unit": "1/3",
        "few": [1, 2],
    }
    return json.loads(json.dumps(state))


def test_values_are_read_as_their_form_and_written_again():
    made = read(Outer, outer())
    assert (made.inner["age"], made.pair, made.unit) == (Inner(1.0, 2.5), (1, 2.0), Fraction(1, 3))
    assert made.shapes == (Circle(1.0), Square(2.0))
    assert made.cells == [["a", 1, 0.5, None]]
    assert type(made.cells[0][1]) is int
    np.testing.assert_array_equal(made.numbers, np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(made.flags, np.eye(3, dtype=bool))
    assert (made.numbers.dtype, made.flags.dtype) == (np.int32, np.bool_)
    assert made.values.equals(pa.array(["x", None]))
    written = json.loads(json.dumps(to_builtin(made)))
    assert written == outer()
    assert json.loads(json.dumps(to_builtin(read(Outer, written)))) == written
    with pytest.raises(AttributeError):
        made.name = "other"


# The place of a value, another value, and what is said of it.
WRONG = [
    (("name",), 1, "name must be text"),
    (("name",), None, "name must be text"),
    (("is_good",), 1, "is_good must be true or false"),
    (("word",), SECRET, "word must be one of 'one', 'other'"),
    (("word",), [SECRET], "word must be one of 'one', 'other'"),
    (("figure",), SECRET, "figure must be a number, 'inf' or '-inf' or null"),
    (("figure",), math.nan, "figure must be a number, 'inf' or '-inf' or null"),
    (("figure",), math.inf, "figure must be a number, 'inf' or '-inf' or null"),
    (("figure",), True, "figure must be a number, 'inf' or '-inf' or null"),
    (("share",), 10**400, "share must be a share between 0 and 1"),
    (("share",), "0.5", "share must be a share between 0 and 1"),
    (("cells", 0, 1), 1 << 63, "cells[0][1] must be a whole number or a finite number or text or null"),
    (("cells", 0), SECRET, "cells[0] must be a list"),
    (("digest",), "0f" * 31 + "0g", "digest must be 64 hexadecimal digits"),
    (("digest",), "0f" * 32 + "\n", "digest must be 64 hexadecimal digits"),
    (("digest",), "\ud800", "digest must be 64 hexadecimal digits"),
    (("inner",), [], "inner must be an object"),
    (("inner", "age", "low"), SECRET, "inner[...].low must be a finite number"),
    (("inner", "age", "high"), 0, "inner[...].high is below the low end"),
    (("pair", 0), 1.0, "pair[0] must be a whole number >= 0"),
    (("pair",), [1], "pair must be a list"),
    (("shapes", 1, "side"), -1, "shapes[1].side must be a finite number >= 0"),
    (("shapes", 1, "kind"), SECRET, "shapes[1].kind must be one of 'circle', 'square'"),
    (("shapes", 1, "kind"), [], "shapes[1].kind must be one of 'circle', 'square'"),
    (("shapes", 0, SECRET), SECRET, "shapes[0] has a key that does not belong there"),
    (("numbers", "type"), "<i8", "numbers contains numbers that do not fit"),
    (("numbers", "type"), "<f4", "numbers contains numbers that do not fit"),
    (("numbers", "type"), "|O", "numbers.type must be a type of numbers"),
    (("numbers", "shape"), [2, 4], "numbers is inconsistent"),
    (("numbers", "shape"), [2, -1], "numbers.shape[1] must be a whole number >= 0"),
    (("numbers", "bytes"), "AAA=", "numbers is inconsistent"),
    (("numbers", "bytes"), SECRET * 3 + "!", "numbers.bytes must be "),
    (("flags", "shape"), [1 << 40, 1 << 40], "flags is inconsistent"),
    (("values",), "AAAA", "values is damaged"),
    (("values",), 3, "values is damaged"),
    (("unit",), "1e999999999", "unit must be a fraction"),
    (("unit",), "1/0", "unit is inconsistent"),
    (("few",), [1, 2, 3, 4], "few must be a list of at most three"),
    ((SECRET,), SECRET, "it has a key that does not belong there"),
    (("\ud800",), SECRET, "it has a key that does not belong there"),
]


@pytest.mark.parametrize(("place", "value", "words"), WRONG)
def test_the_first_place_that_does_not_fit_is_named_and_nothing_quoted(place, value, words):
    state = outer()
    inner: Any = state
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(SchemaError) as caught:
        read(Outer, state)
    assert str(caught.value).startswith(words)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("place", [("name",), ("inner", "age", "low"), ("shapes", 0, "kind"), ("numbers", "bytes")])
def test_a_missing_key_is_named(place):
    state = outer()
    inner: Any = state
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    with pytest.raises(SchemaError, match=rf"{place[-1]} is missing"):
        read(Outer, state)


@pytest.mark.parametrize("values", [None, [], "x", 1, math.nan])
def test_what_is_no_object_at_all_is_refused(values):
    with pytest.raises(SchemaError, match="it must be an object"):
        read(Outer, values)


def test_no_kind_of_value_passes_for_another():
    """Every field, with every kind of value: read as what it was, or refused."""
    others = [None, True, 0, 1, -1, 0.5, "", "1", "true", [], [1], {}, {"a": 1}, b"x", 10**400, math.nan, math.inf]
    refused = 0
    for key, good in outer().items():
        for other in others:
            state = copy.deepcopy(outer()) | {key: other}
            try:
                made = to_builtin(getattr(read(Outer, state), key))
            except SchemaError:
                refused += 1
                continue
            assert json.dumps(made) == json.dumps(other) or (type(other) is int and float(made) == other), (key, other)
            assert isinstance(other, bool) == isinstance(good, bool)
    assert refused > 150


@pytest.mark.slow
def test_deep_nesting_is_refused():
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(100_000):
        inner["age"] = {}
        inner = inner["age"]
    with pytest.raises(SchemaError):
        read(Outer, outer() | {"inner": deep})


def test_forms_without_rules_need_no_class():
    line = form(name=str, share=Share)
    assert read(form(lines=list_form(line)), {"lines": [{"name": "a", "share": 1}]}).lines[0].share == 1.0
    with pytest.raises(SchemaError, match=r"lines\[1\]\.share is missing"):
        read(form(lines=list_form(line)), {"lines": [{"name": "a", "share": 1}, {"name": SECRET}]})
