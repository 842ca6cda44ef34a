"""A dossier as Markdown or as one HTML page: every name is escaped, nothing runs and nothing is loaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sanitize.report._dossier import Blank, Rows, Words
from sanitize.report._html import environment
from sanitize.report._text import clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.report._dossier import Chapter

_CELLS = 400
_BLANK = "_" * 40
# Whatever means something in Markdown or in HTML, anywhere or at the start of a line; addresses would become links.
_MARKS = re.compile(r"([\\`*_{}\[\]<>#!|~&$^]|^[-+=:]|:(?=//)|(?<=^www)\.|(?<=\d)[.)](?=\s))")


def to_markdown(chapters: Sequence[Chapter]) -> str:
    """Chapters as Markdown; blanks are lines to write on."""
    lines: list[str] = []
    for level, chapter in enumerate(chapters):
        lines += [f"{'##' if level else '#'} {_escaped(chapter.title)}", ""]
        for part in chapter.parts:
            lines += [*_lines(part), ""]
    return "\n".join(lines)


def _lines(part: Words | Rows | Blank) -> list[str]:
    if isinstance(part, Words):
        return [_escaped(part.text)]
    if isinstance(part, Blank):
        return [f"- [ ] {_escaped(part.question)}: {_BLANK}"]
    rule = "|".join(" --- " for _ in part.heads)
    return [_row(part.heads), f"|{rule}|", *(_row(row) for row in part.rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """One line that means nothing but its letters."""
    return _MARKS.sub(r"\\\1", clip(text, _CELLS).replace("\\\\", "\\"))


def to_page(chapters: Sequence[Chapter]) -> str:
    """Chapters as one page in the style of the report."""
    kinds = {Words: "words", Rows: "rows", Blank: "blank"}
    shown = [(chapter.title, [(kinds[type(part)], part) for part in chapter.parts]) for chapter in chapters]
    return environment().get_template("dossier.html.jinja").render(chapters=shown)
