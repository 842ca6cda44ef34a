"""Edited ledgers: the seal notices every edit, and a sealed one still has to fit together."""

from __future__ import annotations

import copy
import json

import pytest
from ledger_cases import KEY, WIDE, respond, table

import sanitize as sz
from sanitize._util.sealed_text import compute_seal
from sanitize.core.binning import Bins
from sanitize.errors import LedgerError
from sanitize.over_time._book import Book
from sanitize.transformers import SubsetMerging

STRANGE = [None, True, -1, 1 << 80, 10**400, 1.5, "", "SECRET", [], {}, [[]], "inf", "ff" * 32]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A ledger of two releases, with bins and a key, as JSON."""
    path = tmp_path_factory.mktemp("book") / "ledger"
    ledger = sz.Ledger(path, WIDE)
    ledger.record(table(), respond(), key=KEY)
    binned = SubsetMerging(sz.LiftBudget(lower=2.0, upper=1.0), sensitive="s", public="age", bins={"age": [0, 40, 90]})
    ledger.record(table(), binned.fit(table()))
    return json.loads(path.read_text())


def seal(state):
    """The text of a ledger, with a seal that fits."""
    return json.dumps(state | {"sha256": compute_seal(state)})


def places(value, at=()):
    """Paths of everything in a JSON value; of long lists of numbers only the first and last."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        if isinstance(value, list) and isinstance(one, (int, float)) and 0 < key < len(value) - 1:
            continue
        yield from places(one, (*at, key))


def edited(state, at, value):
    made = copy.deepcopy(state)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return made


def read(path, text):
    path.write_text(text)
    return Book.read(path)


def test_a_book_is_read_as_it_was_written(book, tmp_path):
    path = tmp_path / "ledger"
    again = read(path, seal(book))
    assert len(again.entries) == 2
    assert isinstance(again.entries[1].layout.bins["age"], Bins)
    again.write(path)
    assert json.loads(path.read_text()) == book


def test_every_edit_without_a_seal_is_noticed(book, tmp_path):
    for at in places(book):
        if at and at != ("sha256",):
            with pytest.raises(LedgerError, match="ledger"):
                read(tmp_path / "ledger", json.dumps(edited(book, at, "edited")))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_every_edit_under_a_new_seal_is_refused_or_harmless(part, book, tmp_path):
    """One error and no other, and no word of what the field holds."""
    told = set()
    outcomes = {True: 0, False: 0}
    for at in [*places(book)][part::10]:
        for value in STRANGE if at else ():
            try:
                read(tmp_path / "ledger", seal(edited(book, at, value)))
                outcomes[True] += 1
            except LedgerError as error:
                told.add(str(error))
                outcomes[False] += 1
    assert not any("SECRET" in line or "\n" in line for line in told)
    assert outcomes[False] > 50
    assert outcomes[True] < outcomes[False] / 8


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("n_rows",), None),
        (("n_rows",), 0),
        (("n_rows",), 599.0),
        (("salt",), ""),
        (("together",), 5),
        (("more",), 1),
        (("releases", 0, "number"), 7),
        (("releases", 0, "more"), 1),
        (("releases", 0, "fallback"), True),
        (("releases", 0, "fallback"), 0.5),
        (("releases", 0, "key"), "yes"),
        (("releases", 0, "digest"), ""),
        (("releases", 0, "sensitive"), "s"),
        (("releases", 0, "sensitive"), ["b"]),
        (("releases", 0, "sensitive"), ["s", "s"]),
        (("releases", 1, "bins", "age", "edges"), [0, 90, 40]),
        (("releases", 1, "bins", "age", "edges"), [0, 10**400, 40]),
        (("releases", 0, "channel", "inputs", "codes"), [[0], [0], [0]]),
    ],
)
def test_a_sealed_book_whose_fields_do_not_fit_is_refused(at, value, book, tmp_path):
    with pytest.raises(LedgerError, match="restore it from a copy"):
        read(tmp_path / "ledger", seal(edited(book, at, value)))


def test_an_entry_twice_is_refused(book, tmp_path):
    with pytest.raises(LedgerError, match="restore it from a copy"):
        read(tmp_path / "ledger", seal(book | {"releases": [book["releases"][0]] * 2}))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format":' * 20_000,
        '{"format": ' + "9" * 5000 + "}",
        '{"a": NaN}',
        "\ud800",
        "\0",
        "1e999",
    ],
    ids=range(7),
)
def test_text_that_is_no_book_is_refused_in_one_line(text, tmp_path):
    path = tmp_path / "ledger"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(LedgerError, match="'ledger' is not a ledger that can be trusted"):
        Book.read(path)


@pytest.mark.parametrize("name", [".", "..", "a\0b", "n" * 300])
def test_names_that_are_no_file_are_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match=r"ledger|name"):
        sz.Ledger(name, 1.0).record(table(), respond())
