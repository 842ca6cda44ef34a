"""The public document, made from the internal one: no symbol, no count, rounded figures.

One function decides what anybody may see, whether a report was just measured or was saved long ago.
"""

from __future__ import annotations

from typing import Any, Literal

from sanitize._formatting import rounded
from sanitize.report._facts import published
from sanitize.report._headline import USELESS_BELOW, Lack, synthetic, with_headline

Audience = Literal["internal", "public"]
# Columns that a warning names one by one.
_MOST_NAMES = 5


def publish(document: dict[str, Any]) -> dict[str, Any]:
    """Public view of an internal document.

    It holds no released symbol and no count, and its figures are rounded to four significant digits: all digits
    of a ratio of counts would give the counts away. The privacy-utility curve stays inside: it is made of further
    figures of the same table.
    """
    # Warnings have no number; free text, with counts and perhaps symbols in it, is never read, only counted.
    verdict, warnings = document["verdict"], [*grave(document), *_of_counts(document, "some", "some rows")]
    if any(m["name"] == "min_log_lift" and m["before"] == "-inf" for m in document["measures"]):
        warnings.append("some pairs of a sensitive and a public value never occur in the table")
    if len(document["warnings"]) > len(warnings_of_facts(document)):
        warnings.append("the internal report has more warnings, with counts")
    shown = {
        # Taken over as it is; all else is left out, rounded or rewritten.
        **{name: document[name] for name in ("schema", "version", "library_version")},
        "audience": "public",
        "verdict": verdict
        | {"worst_excess": rounded(verdict["worst_excess"]), "optimality": published(verdict["optimality"])},
        "origin": None if document["origin"] is None else document["origin"] | {"table": None, "policy": None},
        "columns": document["columns"],
        "kept": [_rounded(column, "share", "before", "after") for column in document["kept"]],
        "of_cells": document["of_cells"],
        "measures": [_rounded(line, "before", "after", "bound", "low", "high") for line in document["measures"]],
        "warnings": warnings,
        "sections": [
            section | {"rows": [list(map(rounded, row)) for row in section["rows"]]}
            for section in document["sections"]
            if section["public"]
        ],
    }
    return with_headline(shown)


def _rounded(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return row | {name: rounded(row[name]) for name in names}


def warnings_of_facts(document: dict[str, Any]) -> list[str]:
    """Sentences that limit what the verdict says, made from facts, the gravest first (internal: with counts)."""
    single = f"{document['n_single']} of {document['n_combinations']}"
    return [*grave(document), *_of_counts(document, single, f"{document['n_unseen']} row(s)")]


def _of_counts(document: dict[str, Any], single: str, unseen: str) -> list[str]:
    """Warnings of combinations and rows that there are some of, which ``single`` and ``unseen`` tell."""
    told = (
        f"{single} combinations of the public columns stand for one row each: what they tell is learned from one "
        "person; min_count pools them",
        f"{unseen} held a value absent at fit and were treated like the riskiest value",
    )
    return [words for words, n in zip(told, (document["n_single"], document["n_unseen"]), strict=True) if n]


def grave(document: dict[str, Any]) -> list[str]:
    """Warnings without which nobody should read the verdict; they hold no count."""
    columns, warnings = document["columns"], []
    exposed = [name for name in columns["kept"] if name in columns["sensitive"]]
    if exposed:
        warnings.append(f"a sensitive column would be released as it is: {', '.join(exposed)}")
    if document["verdict"]["seeded"]:
        warnings.append("seeded, not for release: whoever guesses the seed can undo the noise")
    if columns["constant"]:
        names = ", ".join(columns["constant"])
        warnings.append(f"the same sensitive value in every row: {names}; the verdict says nothing about that column")
    little = [column["column"] for column in document["kept"] if column["share"] < USELESS_BELOW]
    if little and document["verdict"]["state"] in ("source", "rows") and not synthetic(document):
        others = f" and {len(little) - _MOST_NAMES} more" if len(little) > _MOST_NAMES else ""
        lack = document["verdict"]["lack"]
        advice = "without them others may keep more" if lack is None else Lack(**lack).advice
        warnings.append(
            f"less than {100 * USELESS_BELOW:g} % is kept of {', '.join(little[:_MOST_NAMES])}{others}: {advice}"
        )
    return warnings
