"""Figures as text, and as plain values for documents."""

from __future__ import annotations

import json
import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from sanitize._util.checks import exp

Number = float | str | None
ELLIPSIS = "..."


def figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share as a percentage of three significant digits."""
    return f"{100 * share:.3g} %"


def level(confidence: float) -> str:
    """A confidence as a percentage of two decimals, rounded down: nothing is 100 % sure."""
    return f"{math.floor(1e4 * confidence + 1e-7) / 100:g} %"


def per_hundred(share: float) -> str:
    """A share as so many of 100, to one digit."""
    text = f"{100 * share:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def interval_text(interval: tuple[float, float]) -> str:
    """An interval of three significant digits."""
    return f"{figure(interval[0])} to {figure(interval[1])}"


def quote_toml(text: str) -> str:
    """Text as a TOML string in which every character shows, for what people review."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def spell_infinities(value: Any) -> Any:
    """Values without infinities, which are words."""
    if isinstance(value, dict):
        return {key: spell_infinities(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [spell_infinities(inner) for inner in value]
    return exact(value) if isinstance(value, float) else value


def times(log_lift: float) -> str:
    """E to the log-lift, as text."""
    return f"{exp(log_lift):.3g}"


def times_up(log_lift: float | str) -> str:
    """E to the log-lift with three digits, rounded up."""
    return _to_side(exp(float(log_lift)), math.ceil)


def times_down(log_lift: float | str) -> str:
    """E to the log-lift with three digits, rounded down."""
    return _to_side(exp(float(log_lift)), math.floor)


def _to_side(value: float, side: Any) -> str:
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "infinitely many"
    # A hair of room, so that 2.0 written as 1.9999999999999998 stays 2.
    digit = max(math.floor(math.log10(value)) - 2, -300)  # powers of ten below are no normal doubles
    scaled = value / 10.0**digit
    near = round(scaled)
    return f"{(near if abs(scaled - near) < 1e-9 * near else side(scaled)) * 10.0**digit:.3g}"


def exact(value: Number) -> Number:
    """Figure with all its digits; infinities as strings, NaN as None; a text as it is."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value) + 0.0  # -0.0 reads as 0


def round_figure(value: Number) -> Number:
    """Four significant digits of a figure that is kept in a saved release; infinities and None as they are."""
    return value if value is None or isinstance(value, str) else exact(float(f"{value:.4g}"))


def number(value: Number) -> str:
    """Four significant digits, 0 for what is only rounding; ``-`` for what was not computed."""
    if value is None:
        return "-"
    # Below this there is only rounding.
    return "0" if abs(float(value)) < 1e-12 else f"{float(value):.4g}"


def box(title: str, sentences: Iterable[str] = (), rows: Iterable[Sequence[str]] = (), bar: str = "#2563eb") -> str:
    """Fragment for a notebook, in the colour of its own text: a title, sentences, and rows of a table beside a bar."""
    cell, words = '<td style="text-align: left; padding: 1px 14px 1px 0">{}</td>', "<br>".join(map(escape, sentences))
    lines = ["".join(cell.format(escape(text)) for text in row) for row in rows]
    table = f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if lines else ""
    return (
        f'<div style="border-left: 6px solid {bar}; padding: 2px 0 2px 10px; margin: 6px 0">'
        f"<strong>{escape(title)}</strong><br>{words}{table}</div>"
    )


def clip(text: str, limit: int) -> str:
    """One line of at most ``limit`` cells in which every character shows.

    Characters that do not show, or that steer a terminal, are escaped as in a Python string; so is the
    backslash, which keeps different names different.
    """
    # Controls, formats (right-to-left overrides among them), surrogates, private use, unassigned, separators.
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
    shown = (c == " " or (c != "\\" and unicodedata.category(c) not in unseen) for c in text)
    return shorten_pieces((c if is_shown else ascii(c)[1:-1] for c, is_shown in zip(text, shown, strict=True)), limit)


def shorten_pieces(pieces: Iterable[str], limit: int) -> str:
    """Pieces joined, the last ones replaced by an ellipsis where they take more than ``limit`` cells.

    A combining mark counts as one cell here, so that no name can pile up thousands of them.
    """
    parts: list[str] = []
    used = 0
    for piece in pieces:
        parts.append(piece)
        used += max(1, cells(piece))
        if used > limit:
            while used > limit - len(ELLIPSIS):
                used -= max(1, cells(parts.pop()))
            return "".join(parts) + ELLIPSIS
    return "".join(parts)


def cells(text: str) -> int:
    """Columns of a terminal that a text takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
    return len(text) + wide - marks


class Told(ABC):
    """Base of results that are told in sentences."""

    @property
    @abstractmethod
    def summary(self) -> tuple[str, ...]:
        """The result in sentences that name no symbol."""

    def to_text(self) -> str:
        """The sentences of `summary`, one a line."""
        return "\n".join(self.summary)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return box(type(self).__name__, self.summary)
