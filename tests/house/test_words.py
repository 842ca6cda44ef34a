"""Sentences that a newcomer reads twice: words that name nothing may only become fewer.

A match is a reason to look at a sentence, no proof of a fault. Lower a limit when you rewrite; never raise one.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = {"docs": 20, "templates": 7, "docstrings": 0}
PATTERN = re.compile(
    r"""(?:^|[.!:]\ )(?:Who|What|Where|Whatever|Whoever|Whose|Which)\b(?![^.!]*\?)  # name the noun
    |(?:^|[.!:;]\ )Of\ (?!course)  # the subject first
    |\b(?:tells?|told|telling)\b  # reveal, show
    |\b(?:prints?|printed|printing)\b  # write, release
    |\bbesides?\b|\bin\ the\ mean\b|\bof\ 100\ times\b  # next to, on average, in 100
    |\bthe\ source\b|\bsecrets?\b|\bnobody's\b|\bdealt\b|\bwhose\b  # population, sensitive value, generated row
    |\b(?:and|of|with)\ such\b|,\ one\ of\ which\b|\bthat\ of\b|\bthose\ (?:of|that|who)\b  # repeat the noun
    |\bas\ (?:it\ is|they\ are)\b""",
    re.VERBOSE,
)


def flagged(path: Path) -> list[str]:
    """Lines of prose that match, outside of code."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [line for line in text.splitlines() if PATTERN.search(line.strip().lstrip("*#-> "))]


def clauses(path: Path) -> list[str]:
    """Docstrings that begin as a clause."""
    first = r'^ *"""(?:What|Whether|The same|Who|Where|Of)\b'
    return re.findall(first, path.read_text(encoding="utf-8"), re.MULTILINE)


def test_sentences_to_read_twice_become_fewer():
    pages = [ROOT / "README.md", *(p for p in (ROOT / "docs").rglob("*.md") if "theory" not in p.parts)]
    found = {
        "docs": sum(len(flagged(path)) for path in pages),
        "templates": sum(len(flagged(path)) for path in (ROOT / "sanitize" / "report").glob("*.jinja")),
        "docstrings": sum(len(clauses(path)) for path in (ROOT / "sanitize").rglob("*.py")),
    }
    assert {name: count for name, count in found.items() if count > MOST_LINES[name]} == {}
