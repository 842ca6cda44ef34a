"""JSON of others: one reader for all, which takes what the standard library takes and says one thing only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sanitize as sz
from sanitize._util.sealed_text import NotStrict, compute_seal, strict_json
from sanitize.errors import SanitizeError
from sanitize.release.saved import SavedRelease

ROOT = Path(__file__).parents[2]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
)
DOUBTFUL = {
    "twice": ('{"a": 1, "b": {"c": 1, "c": 2}}', "a name occurs twice"),
    "spelt otherwise": ('{"a": 1, "\\u0061": 1}', "a name occurs twice"),
    "NaN": ('{"a": NaN}', "a number is infinite, NaN or too large"),
    "infinite": ('{"a": [-Infinity]}', "a number is infinite, NaN or too large"),
    "too large": ('{"a": 1e999}', "a number is infinite, NaN or too large"),
    "cut": ('{"a": ', "not JSON"),
    "deep": ("[" * 200_000, "not JSON"),
    "long number": ("1" * 10_000, "a number is infinite, NaN or too large"),
    "beyond doubles": ('{"a": -1' + "0" * 309 + "}", "a number is infinite, NaN or too large"),
}
READERS = {
    "channel": sz.Channel.from_json,
    "report": sz.LeakageReport.from_json,
    "saved release": SavedRelease.from_json,
}


@pytest.mark.slow
@given(VALUES, st.booleans())
def test_what_the_standard_library_writes_is_read_back(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert strict_json(text) == strict_json(text.encode()) == value


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_doubtful_texts_are_refused_without_quoting_them(kind):
    text, words = DOUBTFUL[kind]
    for given_ in (text, text.encode()):
        with pytest.raises(NotStrict, match=words):
            strict_json(given_)


def test_other_encodings_are_refused():
    for encoded in ('{"é": 1}'.encode("utf-16"), '{"é": 1}'.encode("latin-1"), b"\xef\xbb\xbf{}"):
        with pytest.raises(NotStrict, match="not in UTF-8"):
            strict_json(encoded)


@pytest.mark.parametrize("kind", DOUBTFUL)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_them(reader, kind):
    text, words = DOUBTFUL[kind]
    with pytest.raises(SanitizeError, match=words):
        READERS[reader](text if text.startswith("{") else '{"a": ' + text)


def test_nothing_that_others_wrote_is_read_in_another_way():
    """``json.loads`` stands where the library has just written the text itself."""
    own = re.compile(r"json\.loads\((\w+\.)+to_json\(\)\)|json\.loads\(release_footer\(")
    for path in (ROOT / "sanitize").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "sealed_text.py":
            assert len(re.findall(r"json\.load", text)) == len(own.findall(text)), path


def test_a_seal_is_of_what_is_said_and_not_of_how():
    state = {"b": [1, 2.5, None], "a": {"é": True}}
    assert compute_seal(state) == compute_seal({"sha256": "x", "a": {"é": True}, "b": [1, 2.5, None]})
    assert compute_seal(state) != compute_seal(state | {"b": [1, 2.5]})
    assert re.fullmatch("[0-9a-f]{64}", compute_seal(state))
