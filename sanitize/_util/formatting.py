"""Formatting of figures, as text and as plain values for documents."""

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
# Stands for what was cut off: three dots, because not every terminal shows the sign.
ELLIPSIS = "..."


def figure(value: float) -> str:
    """Figure as text with three significant digits."""
    return f"{value:.3g}"


def percent(share: float) -> str:
    """Share as a percentage of three significant digits."""
    return f"{100 * share:.3g} %"


def percent_up(share: float) -> str:
    """Share as a percentage of three significant digits, rounded up, but not beyond 100 %."""
    return f"{round_up(min(100.0, 100 * share))} %"


def percent_down(share: float) -> str:
    """Share as a percentage of three significant digits, rounded down."""
    return f"{round_down(100 * share)} %"


def level(confidence: float) -> str:
    """Confidence level as a percentage of two decimals, rounded down so that nothing reads as 100 % sure."""
    return f"{math.floor(1e4 * confidence + 1e-7) / 100:g} %"


def per_hundred(share: float) -> str:
    """Share as a number out of 100, with one decimal."""
    text = f"{100 * share:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def interval_text(interval: tuple[float, float]) -> str:
    """Interval as text with three significant digits."""
    return f"{figure(interval[0])} to {figure(interval[1])}"


def quote_toml(text: str) -> str:
    """Text as a TOML string in which every character is visible, for people who review it."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def spell_infinities(value: Any) -> Any:
    """Replace infinities by words, in values of any nesting."""
    if isinstance(value, dict):
        return {key: spell_infinities(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [spell_infinities(inner) for inner in value]
    return exact(value) if isinstance(value, float) else value


def times(log_lift: float) -> str:
    """Return e to the log-lift, as text."""
    return f"{exp(log_lift):.3g}"


def times_up(log_lift: float | str) -> str:
    """Return e to the log-lift as text of three digits, rounded up."""
    return round_up(exp(float(log_lift)))


def times_down(log_lift: float | str) -> str:
    """Return e to the log-lift as text of three digits, rounded down."""
    return round_down(exp(float(log_lift)))


def round_up(value: float, digits: int = 3) -> str:
    """Round a figure of at least 0 up to this many significant digits."""
    return _to_side(value, math.ceil, digits)


def round_down(value: float, digits: int = 3) -> str:
    """Round a figure of at least 0 down to this many significant digits."""
    return _to_side(value, math.floor, digits)


def _to_side(value: float, side: Any, digits: int) -> str:
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "infinitely many"
    # A hair of room, so that 2.0 written as 1.9999999999999998 stays 2.
    digit = max(math.floor(math.log10(value)) + 1 - digits, -300)  # powers of ten below are no normal doubles
    scaled = value / 10.0**digit
    near = round(scaled)
    return f"{(near if abs(scaled - near) < 1e-9 * near else side(scaled)) * 10.0**digit:.{digits}g}"


def exact(value: Number) -> Number:
    """Figure with all its digits; infinities as strings, NaN as None; text unchanged."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value) + 0.0  # -0.0 reads as 0


def round_figure(value: Number) -> Number:
    """Round a figure of a saved release to four significant digits; infinities and None pass unchanged."""
    return value if value is None or isinstance(value, str) else exact(float(f"{value:.4g}"))


def number(value: Number) -> str:
    """Figure with four significant digits; 0 if it is only rounding error, ``-`` if it was not computed."""
    if value is None:
        return "-"
    # Below this there is only rounding.
    return "0" if abs(float(value)) < 1e-12 else f"{float(value):.4g}"


def box(title: str, sentences: Iterable[str] = (), rows: Iterable[Sequence[str]] = (), bar: str = "#2563eb") -> str:
    """HTML fragment for a notebook, in the notebook's text colour: title, sentences, and table rows next to a bar."""
    cell, words = '<td style="text-align: left; padding: 1px 14px 1px 0">{}</td>', "<br>".join(map(escape, sentences))
    lines = ["".join(cell.format(escape(text)) for text in row) for row in rows]
    table = f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if lines else ""
    return (
        f'<div style="border-left: 6px solid {bar}; padding: 2px 0 2px 10px; margin: 6px 0">'
        f"<strong>{escape(title)}</strong><br>{words}{table}</div>"
    )


def clip(text: str, limit: int) -> str:
    """Cut a text to one line of at most ``limit`` terminal cells in which every character is visible.

    Characters that do not show, or that steer a terminal, are escaped as in a Python string; so is the
    backslash, which keeps different names different.
    """
    # Controls, formats (right-to-left overrides among them), surrogates, private use, unassigned, separators.
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
    shown = (c == " " or (c != "\\" and unicodedata.category(c) not in unseen) for c in text)
    return shorten_pieces((c if is_shown else ascii(c)[1:-1] for c, is_shown in zip(text, shown, strict=True)), limit)


def shorten_pieces(pieces: Iterable[str], limit: int) -> str:
    """Join pieces; an ellipsis replaces the last ones if they take more than ``limit`` cells.

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
    """Count the terminal columns that a text takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
    return len(text) + wide - marks


class Told(ABC):
    """Base of results that are shown as sentences."""

    @property
    @abstractmethod
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no symbol."""

    def to_text(self) -> str:
        """Return the sentences of `summary`, one per line."""
        return "\n".join(self.summary)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return box(type(self).__name__, self.summary)
