"""A report as plain values, the source of every other view.

Text and HTML print this document and nothing else about the data: what the public document leaves out cannot
turn up in a public page.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._files.outputs import write_text
from sanitize._formatting import exact
from sanitize._version import __version__
from sanitize.budgets import budget_to_dict, budget_words
from sanitize.report._audience import check_audience, publish, warnings_of_facts
from sanitize.report._facts import SEEDED_NOTE, findings_sections, parts_section, refuted
from sanitize.report._headline import VERDICT_TOLERANCE, with_headline
from sanitize.report._pictures import lift_map, margins
from sanitize.report._standing import standing_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize.report._audience import Audience
    from sanitize.report._verdict import Verdict

SCHEMA = "sanitize/leakage-report"
VERSION = 1


def to_document(report: Verdict, audience: Audience, n_symbols: int | None = None) -> dict[str, Any]:
    """Report as dicts, lists, strings, booleans and finite numbers.

    Infinities are the strings ``inf`` and ``-inf``; what was not computed is None. No view holds a sensitive
    symbol. What the public one leaves out is said in `publish`.

    Parameters
    ----------
    report : Verdict
    audience : {"internal", "public"}
    n_symbols : int, optional
        How many released symbols to list, riskiest first; all of them by default.
    """
    check_audience(audience)
    document = without_pictures(report, n_symbols)
    if audience == "public":
        return publish(document)
    before, after, curve = report._before, report._after, report.curve
    judged = [finding.in_a_report() for finding in report.findings if hasattr(finding, "in_a_report")]
    return document | {
        "judgement": judged[-1] if judged else None,
        "lift": lift_map(before, after, exact),
        "margins": margins(before, after, exact),
        "curve": None if curve is None else curve.to_dict(),
    }


def without_pictures(report: Verdict, n_symbols: int | None = None) -> dict[str, Any]:
    """Internal document without what only pictures show."""
    facts = report.facts
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "library_version": __version__,
        "audience": "internal",
        "verdict": {
            "ok": report.ok,
            "state": report.state,
            "useless": report.useless,
            # Whether there are rows behind the law, which may then be a sample.
            "counted": report.n_rows is not None,
            "budget": None if report.budget is None else budget_to_dict(report.budget),
            "allowed": budget_words(report.budget),
            "worst_excess": None if report.budget is None else exact(report.worst_excess),
            "tolerance": VERDICT_TOLERANCE,
            "mechanism": facts.mechanism,
            "output": facts.output,
            "standing": standing_to(facts.standing),
            "seeded": facts.seeded,
            "refuted": refuted(report.findings),
            # What the verdict claims: the frequencies of these rows (null), or every law they allow.
            "confidence": report.confidence,
            # Beside the verdict on symbols, what holds of people.
            "people": facts.people,
            # Releases in the ledger of these rows, this one among them; null where none was given.
            "recorded": facts.recorded,
        },
        "origin": None if report.origin is None else dataclasses.asdict(report.origin),
        "columns": {
            "sensitive": list(report.sensitive),
            "released": [name for name in report.public if not facts.parts or name not in facts.kept],
            "kept": list(facts.kept),
            "constant": list(report._constant),
            "binned": list(facts.binned),
        },
        "measures": [_exact(vars(measure)) for measure in report.measures],
        "kept": [_exact(vars(column)) for column in report.kept],
        # The law is one of cells of a tree: "before" is then of cells as well, which hide rows already.
        "of_cells": report._of_cells,
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "words": section.words,
                "columns": list(section.columns),
                "rows": [[cell if isinstance(cell, str) else exact(cell) for cell in row] for row in section.rows],
                "public": section.public,
            }
            for section in (*parts_section(facts.parts), *findings_sections(report.findings), *report.sections)
        ],
        "n_rows": report.n_rows,
        "n_unseen": facts.n_unseen,
        "n_single": report._n_single,
        "n_combinations": len(report._before.public),
        "n_symbols": len(report.excess),
        "symbols": [_exact(row) for row in report._symbols(n_symbols)],
    }
    others = [note for note in facts.warnings if note != SEEDED_NOTE]  # said by the facts themselves
    return with_headline(document) | {"warnings": [*warnings_of_facts(document), *others]}


def _exact(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else exact(value) for name, value in row.items()}


def to_json(document: dict[str, Any], path: str | Path | None) -> str:
    """Document as JSON; whatever is not ASCII is escaped, so that no name can steer a terminal.

    With a path it is also written there, in one step and readable by its owner only.
    """
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    if path is not None:
        write_text(path, text)
    return text
