"""A report as one screen of text for a terminal: plain ASCII around the names, no colour codes."""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, Any

from sanitize._render.document import budget_words, to_document, verdict_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sanitize._render.document import Number
    from sanitize.report import Audience, LeakageReport

WIDTH = 80
LINES = {"public": 24, "internal": 40}
N_SYMBOLS = 5
# Labels of what makes room for warnings; the other views have it.
_LEAST_TOLD = ("Sibson information", "Arimoto information")
# The utility and the worst case have sentences of their own.
_IN_WORDS = ("utility", "normalized_utility", "worst_")
_ELLIPSIS = "..."
_MARKS = {"exact": "", "bound": " bnd.", "estimate": " est."}
# Controls, formats (right-to-left overrides among them), surrogates, private use, unassigned, separators.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")


def to_text(report: LeakageReport, audience: Audience) -> str:
    """Report in at most 24 lines (public) or 40 lines (internal) of 80 columns.

    Parameters
    ----------
    report : LeakageReport
    audience : {"internal", "public"}
        The internal view adds counts and the riskiest released symbols.
    """
    document = to_document(report, audience, N_SYMBOLS)
    lines = [*_head(document, budget_words(report.budget)), "", *_measures(document["measures"])]
    if "symbols" in document:
        lines += ["", *_symbols(document["symbols"], document["n_symbols"]), ""]
    lines += _paragraph(f"In plain words: {plain_words(document)}.", most=2)
    lines += _paragraph(f"{utility_words(document)}.", most=2)
    lines += _paragraph(f"{claim_words(document)}.", most=1)
    warnings = [line for words in document["warnings"] for line in _paragraph(f"! {clip(words, 400)}", most=4)]
    if len(lines) + len(warnings) > LINES[audience]:
        lines = [line for line in lines if line]
    if len(lines) + len(warnings) > LINES[audience]:
        lines = [line for line in lines if not line.startswith(_LEAST_TOLD)]
    room = LINES[audience] - len(lines)
    if len(warnings) > room:
        warnings = [*warnings[: room - 1], "! more warnings: see to_html() or to_json()"]
    return "\n".join(lines + warnings)


def clip(text: str, limit: int) -> str:
    """One line of at most ``limit`` cells in which every character shows.

    Characters that do not show, or that steer a terminal, are escaped as in a Python string; so is the
    backslash, which keeps different names different.
    """
    return _shorten(map(_visible, text), limit)


def _visible(character: str) -> str:
    if character == " " or (character != "\\" and unicodedata.category(character) not in _UNSEEN):
        return character
    return ascii(character)[1:-1]


def _shorten(pieces: Iterable[str], limit: int) -> str:
    """Pieces joined, the last ones replaced by an ellipsis where they take more than ``limit`` cells.

    A combining mark counts as one cell here, so that no name can pile up thousands of them.
    """
    kept: list[str] = []
    used = 0
    for piece in pieces:
        kept.append(piece)
        used += max(1, cells(piece))
        if used > limit:
            while used > limit - len(_ELLIPSIS):
                used -= max(1, cells(kept.pop()))
            return "".join(kept) + _ELLIPSIS
    return "".join(kept)


def cells(text: str) -> int:
    """Columns of a terminal that a text takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
    return len(text) + wide - marks


def number(value: Number) -> str:
    """Four significant digits; ``-`` for what was not computed."""
    return "-" if value is None else f"{float(value):.4g}"


def allowed(measure: dict[str, Any]) -> str:
    """Limit of a measure with its direction."""
    if measure["bound"] is None:
        return "-"
    return f"{'>=' if measure['name'].endswith('min_log_lift') else '<='} {number(measure['bound'])}"


def names(columns: Sequence[str], separator: str = ", ", most: int = 8, limit: int = 40) -> str:
    """List some column names."""
    shown = separator.join(clip(name, limit) for name in columns[:most])
    return shown if len(columns) <= most else f"{shown} and {len(columns) - most} more"


def plain_words(document: dict[str, Any]) -> str:
    """Say what the extremes of the log-lift mean for somebody who sees a released value."""
    after = {measure["name"]: measure["after"] for measure in document["measures"]}
    most, least = (f"{math.exp(float(after[name])):.3g}" for name in ("max_log_lift", "min_log_lift"))
    if most == least == "1":
        return "seeing a released value makes no sensitive value more or less likely than before"
    seen = f"seeing a released value makes a sensitive value at most {most}"
    if least == "0":
        return f"{seen} times as likely as before, and can rule one out"
    return f"{seen} and at least {least} times as likely as before"


def claim_words(document: dict[str, Any]) -> str:
    """What the verdict is about, the rows themselves or the law behind them, and the worst case of that."""
    confidence = document["verdict"]["confidence"]
    found = {measure["name"]: measure for measure in document["measures"]}
    claim = "Claims these rows alone" if confidence is None else "Claims every law these rows allow"
    if "worst_max_log_lift" not in found:
        return f"{claim}, as if they were everybody"
    level = found["worst_max_log_lift"]["label"].rpartition(" at ")[2]
    most, least = (f"{math.exp(float(found[f'worst_{side}_log_lift']['after'])):.3g}" for side in ("max", "min"))
    condition = f" at {level}" if confidence is not None else f"; of a sample, at {level}"
    return f"{claim}{condition}: {most} at most, {least} at least"


def utility_words(document: dict[str, Any]) -> str:
    """How much of the public columns is kept."""
    found = {measure["name"]: measure for measure in document["measures"]}
    share, kept = found["normalized_utility"]["after"], found["utility"]
    columns = names(document["columns"]["released"], "+", most=2, limit=20)
    return (
        f"Keeps {100 * float(share):.4g} % of the information in {columns} "
        f"({number(kept['after'])} of {number(kept['before'])} nats){_price_words(found)}"
    )


def _price_words(found: dict[str, dict[str, Any]]) -> str:
    """What confidence costs, and what more rows of the same frequencies would buy."""
    if "normalized_utility_plain" not in found:
        return ""
    plain, *more = (
        f"{100 * float(found[f'normalized_utility_{name}']['after']):.3g}" for name in ("plain", "10x", "100x")
    )
    return f"; {plain} % without confidence, {' and '.join(more)} % with 10 and 100 x the rows (extrapolated)"


def margin_words(document: dict[str, Any]) -> str:
    """How far the riskiest released symbol is from its budget."""
    excess = document["verdict"]["worst_excess"]
    if excess is None or excess == "-inf":
        return ""
    if float(excess) > document["verdict"]["tolerance"]:
        return f"; exceeded by {number(excess)}"
    return f"; margin {number(max(0.0, -float(excess)))}"


def _head(document: dict[str, Any], budget: str) -> list[str]:
    verdict, columns = document["verdict"], document["columns"]
    seeded = " | SEEDED" if verdict["seeded"] else ""
    rule = f"{clip(verdict['mechanism'], 22)}, {clip(verdict['release'], 8)}"
    sensitive = f"sensitive: {names(columns['sensitive'], most=3)}"
    released = f"released: {names(columns['released'], most=4)}"
    lines = [f"{verdict_words(document)}{seeded} | {rule}"]
    if cells(sensitive) + cells(released) + 4 <= WIDTH:
        lines.append(f"{sensitive}    {released}")
    else:
        lines += [*_paragraph(sensitive, most=1), *_paragraph(released, most=1)]
    if columns["kept"]:
        lines += _paragraph(f"kept as they are: {names(columns['kept'], most=4)}", most=1)
    if document.get("n_rows") is not None:
        lines.append(f"rows: {document['n_rows']}")
    return lines + _paragraph(f"budget: {budget}{margin_words(document)}", most=2)


def _measures(measures: list[dict[str, Any]]) -> list[str]:
    """Table of the measures; of what kind the figures are is said once, and again only where it differs."""
    rows = [measure for measure in measures if not measure["name"].startswith(_IN_WORDS)]
    kinds = {measure["kind"] for measure in rows}
    title = f"measure (all {kinds.pop()})" if len(kinds) == 1 else "measure (exact if not marked)"
    lines = [f"{title:<34}{'before':>11}{'after':>11}{'allowed':>13}  unit"]
    for measure in rows:
        mark = _MARKS[measure["kind"]] if kinds else ""
        figures = f"{number(measure['before']):>11}{number(measure['after']):>11}{allowed(measure):>13}"
        lines.append(f"{_pad(measure['label'], 34)}{figures}  {clip(measure['unit'], 4)}{mark}")
    return lines


def _symbols(symbols: list[dict[str, Any]], n_symbols: int) -> list[str]:
    title = f"riskiest {len(symbols)} of {n_symbols} released symbols"
    lines = [f"{title:<36}{'share':>11}{'min log':>11}{'max log':>11}{'excess':>11}"]
    for row in symbols:
        figures = (row[name] for name in ("probability", "min_log_lift", "max_log_lift", "excess"))
        lines.append(_pad(row["symbol"], 36) + "".join(f"{number(figure):>11}" for figure in figures))
    return lines


def _pad(text: str, width: int) -> str:
    shown = clip(text, width - 1)
    return shown + " " * (width - cells(shown))


def _paragraph(text: str, most: int) -> list[str]:
    """Text without hidden characters in at most ``most`` lines, an ellipsis where it is longer."""
    first, *words = (_shorten(word, WIDTH - 2) for word in text.split(" "))
    lines = [first]
    for word in words:
        if cells(lines[-1]) + 1 + cells(word) <= WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}")
    if len(lines) > most:
        last = _shorten(lines[most - 1], WIDTH - len(_ELLIPSIS)).removesuffix(_ELLIPSIS)
        lines = [*lines[: most - 1], last + _ELLIPSIS]
    return lines
