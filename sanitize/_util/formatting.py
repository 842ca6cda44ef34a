"""Formatting of numbers as text and as plain values for documents."""

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
# Replaces text that was cut off; three dots, because not every terminal shows the ellipsis character.
ELLIPSIS = "..."


def figure(value: float) -> str:
    """Format a number with three significant digits."""
    return f"{value:.3g}"


def percent(share: float) -> str:
    """Format a share as a percentage with three significant digits."""
    return f"{100 * share:.3g} %"


def percent_up(share: float) -> str:
    """Format a share as a percentage with three significant digits, rounded up, but not above 100 %."""
    return f"{round_up(min(100.0, 100 * share))} %"


def percent_down(share: float) -> str:
    """Format a share as a percentage with three significant digits, rounded down."""
    return f"{round_down(100 * share)} %"


def level(confidence: float) -> str:
    """Format a confidence level as a percentage with two decimals, rounded down, because no level is 100 %."""
    return f"{math.floor(1e4 * confidence + 1e-7) / 100:g} %"


def per_hundred(share: float) -> str:
    """Format a share as a number out of 100, with one decimal."""
    text = f"{100 * share:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def interval_text(interval: tuple[float, float]) -> str:
    """Format an interval with three significant digits."""
    return f"{figure(interval[0])} to {figure(interval[1])}"


def quote_toml(text: str) -> str:
    """Format text as a TOML string in which every character is visible to a reviewer."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def spell_infinities(value: Any) -> Any:
    """Replace infinities by the words "inf" and "-inf" in nested values."""
    if isinstance(value, dict):
        return {key: spell_infinities(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [spell_infinities(inner) for inner in value]
    return exact(value) if isinstance(value, float) else value


def times(log_lift: float) -> str:
    """Format a log-lift in times, e**nats."""
    return f"{exp(log_lift):.3g}"


def times_up(log_lift: float | str) -> str:
    """Format a log-lift in times, e**nats, with three digits, rounded up."""
    return round_up(exp(float(log_lift)))


def times_down(log_lift: float | str) -> str:
    """Format a log-lift in times, e**nats, with three digits, rounded down."""
    return round_down(exp(float(log_lift)))


def round_up(value: float, digits: int = 3) -> str:
    """Format a number >= 0 with this many significant digits, rounded up."""
    return _to_side(value, math.ceil, digits)


def round_down(value: float, digits: int = 3) -> str:
    """Format a number >= 0 with this many significant digits, rounded down."""
    return _to_side(value, math.floor, digits)


def _to_side(value: float, side: Any, digits: int) -> str:
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "infinitely many"
    # The tolerance covers rounding error, so that 1.9999999999999998 is shown as 2.
    digit = max(math.floor(math.log10(value)) + 1 - digits, -300)  # smaller powers of ten are not normal doubles
    scaled = value / 10.0**digit
    near = round(scaled)
    return f"{(near if abs(scaled - near) < 1e-9 * near else side(scaled)) * 10.0**digit:.{digits}g}"


def exact(value: Number) -> Number:
    """Return a number with all its digits; infinities become strings, NaN becomes None, and text stays unchanged."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value) + 0.0  # -0.0 reads as 0


def round_figure(value: Number) -> Number:
    """Round a figure of a saved release to four significant digits; infinities and None stay unchanged."""
    return value if value is None or isinstance(value, str) else exact(float(f"{value:.4g}"))


def number(value: Number) -> str:
    """Format a number with four significant digits; ``0`` if it is only rounding error, ``-`` if it is None."""
    if value is None:
        return "-"
    # Figures are sums of doubles of about 1, so that anything below this is rounding error.
    return "0" if abs(float(value)) < 1e-12 else f"{float(value):.4g}"


def box(title: str, sentences: Iterable[str] = (), rows: Iterable[Sequence[str]] = (), bar: str = "#2563eb") -> str:
    """Return an HTML fragment for a notebook: a title, sentences and table rows, in the notebook's own text colour."""
    cell, words = '<td style="text-align: left; padding: 1px 14px 1px 0">{}</td>', "<br>".join(map(escape, sentences))
    lines = ["".join(cell.format(escape(text)) for text in row) for row in rows]
    table = f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if lines else ""
    return (
        f'<div style="border-left: 6px solid {bar}; padding: 2px 0 2px 10px; margin: 6px 0">'
        f"<strong>{escape(title)}</strong><br>{words}{table}</div>"
    )


def clip(text: str, limit: int) -> str:
    """Shorten a text to one line of at most ``limit`` terminal cells in which every character is visible.

    Invisible characters and terminal controls are escaped as in a Python string. The backslash is escaped too, so that
    different names stay different.
    """
    if len(text) <= limit and text.isascii() and text.isprintable() and "\\" not in text:  # most texts
        return text
    # Controls, formats (such as right-to-left overrides), surrogates, private use, unassigned and separators: such a
    # name could hide characters, or change what a terminal shows after it.
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
    shown = (c == " " or (c != "\\" and unicodedata.category(c) not in unseen) for c in text)
    return shorten_pieces((c if is_shown else ascii(c)[1:-1] for c, is_shown in zip(text, shown, strict=True)), limit)


def shorten_pieces(pieces: Iterable[str], limit: int) -> str:
    """Join pieces; an ellipsis replaces the last pieces if all take more than ``limit`` cells.

    A combining mark counts as one cell here, so that a name with thousands of marks is cut off too.
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
    if text.isascii():  # nearly all texts, and each piece of a name is asked for alone
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
    return len(text) + wide - marks


class Told(ABC):
    """Base class of results that are shown as sentences."""

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
