"""Every sentence that SECURITY.md lists as a promise has a test, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TITLE = "## What is promised, and the test that would fail"


def test_every_promise_that_is_listed_names_tests_that_exist():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = text.split(TITLE)[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 9
    for sentence, tests in rows:
        path, found = "", re.findall(r"`([^`]*)::(\w+)`", tests)
        assert found, sentence
        for file, name in found:
            path = file or path
            assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name
