"""Every sentence that SECURITY.md lists as a promise has a test, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TITLE = "## What is promised, and the test that would fail"


def promises() -> list[list[str]]:
    """Each sentence of the table and its tests."""
    table = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split(TITLE)[1].split("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]


def test_every_promise_that_is_listed_names_tests_that_exist():
    assert len(promises()) >= 9
    for sentence, tests in promises():
        path, found = "", re.findall(r"`([^`]*)::(\w+)`", tests)
        assert found, sentence
        for file, name in found:
            path = file or path
            assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_sentences_that_are_quoted_are_those_that_are_written():
    """As far as they hold no figure; in the code a sentence may go on in the next line."""
    files = [file for kind in ("py", "jinja") for file in sorted((ROOT / "sanitize").rglob(f"*.{kind}"))]
    written = re.sub(r"\"\s+f?\"", "", " ".join(" ".join(file.read_text(encoding="utf-8").split()) for file in files))
    quoted = [part for sentence, _ in promises() for part in re.findall(r'"([^"]+)"', sentence)]
    parts = [part.strip(" (),") for quote in quoted for part in re.split(r"\.\.\.|[()]", quote)]
    assert len(parts) >= 15
    assert [part for part in parts if part not in written] == []
