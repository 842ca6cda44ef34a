"""The shape of TOML text, looked at before it is parsed: nesting costs the parser memory in its square."""

from __future__ import annotations

import re

_STRINGS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'')
_COMMENTS = re.compile(r"#[^\n]*")
_BETWEEN = re.compile(r"[,\[\]{}=\n]")
_DEEPEST = 20


class Misshapen(ValueError):
    """Text is nested more deeply than any policy."""


def check_shape(text: str) -> None:
    """Refuse keys of too many parts, and arrays and tables that are nested too deeply.

    Raises
    ------
    Misshapen
    """
    bare = _COMMENTS.sub("", _STRINGS.sub("", text))
    depth = 0
    for mark in re.findall(r"[\[\]{}]", bare):
        depth += 1 if mark in "[{" else -1
        if depth > _DEEPEST:
            raise Misshapen(f"arrays and tables are nested more than {_DEEPEST} deep; flatten them")
    if any(piece.count(".") >= _DEEPEST for piece in _BETWEEN.split(bare)):
        raise Misshapen(f"a key has more than {_DEEPEST} parts; quote a name that holds dots")
