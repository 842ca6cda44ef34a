"""The numbered proofs: each says what it assumes, and is cited from code; every number that code cites is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "theory" / "proofs.md").read_text(encoding="utf-8")
NUMBERS = [int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)]


def cited():
    """Numbers of proofs in the library, wherever a line breaks."""
    found = set()
    for path in (ROOT / "sanitize").rglob("*.py"):
        text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
        for several in re.findall(r"proofs? ((?:\d+(?:, | and )?)+) ?in docs/theory/proofs\.md", text):
            found |= set(map(int, re.findall(r"\d+", several)))
    return found


def test_proofs_are_numbered_in_order_and_each_is_cited_from_code():
    assert list(range(1, len(NUMBERS) + 1)) == NUMBERS
    assert cited() == set(NUMBERS)


def test_each_proof_says_what_it_assumes_and_claims():
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        assert "*Assumes*" in part
        assert "*Claim" in part
        assert "roof" in part.partition("*Claim")[2]


def test_the_table_of_theorems_names_proofs_that_are_there():
    table = (ROOT / "THEOREMS.md").read_text(encoding="utf-8")
    assert {int(number) for number in re.findall(r"proof (\d+) in `docs/theory/proofs", table)} <= set(NUMBERS)
