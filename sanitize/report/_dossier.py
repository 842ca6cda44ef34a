"""The dossier of a release for whoever signs it, in the order of ISO/IEC 27559, as Markdown or as one HTML page.

It says nothing that does not stand in the report, the policy, the verification or the ledger. What they do not know
(purpose, recipients, agreements, responsibility) is a blank to be filled. Every name is escaped, nothing runs and
nothing is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sanitize._formatting import clip, number, percent
from sanitize.report._headline import promised
from sanitize.report._html import rendered
from sanitize.report._text import allowed, is_words, margin_words, utility_words

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """A table, with its heads."""

    heads: Cells
    rows: tuple[Cells, ...]


@dataclass(frozen=True)
class Blank:
    """A question that only people can answer."""

    question: str


# A heading and what stands below it, in order; texts are paragraphs.
Part: TypeAlias = str | Rows | Blank
Chapter: TypeAlias = tuple[str, tuple[Part, ...]]


@dataclass(frozen=True)
class Material:
    """What a dossier is made from, beside the report, as plain values.

    Attributes
    ----------
    files : tuple of (what, name, SHA-256)
    policy : tuple of (setting, value), or None
        What the policy says, where there is one.
    dropped : tuple of str
        Columns that it leaves out.
    checks : tuple of (name, passed or failed, detail), or None
        Of the verification, where there is one.
    false_alarm : float or None
        Chance that an honest release fails the verification.
    ledger : (releases, budget in words) or None
    reason : str or None
        Why this threshold, as the policy says.
    """

    files: tuple[Cells, ...]
    policy: tuple[Cells, ...] | None = None
    dropped: tuple[str, ...] = ()
    checks: tuple[Cells, ...] | None = None
    false_alarm: float | None = None
    ledger: tuple[int, str] | None = None
    reason: str | None = None


def dossier(document: dict[str, Any], material: Material) -> list[Chapter]:
    """Chapters of the dossier of a release, from the document of its report.

    For the public it leaves out what checks counted, and which columns are in the source beside those of the report.
    """
    if document["audience"] == "public":
        bare = None if material.checks is None else tuple((name, result, "") for name, result, _ in material.checks)
        material = replace(material, checks=bare, dropped=())
    verdict, origin = document["verdict"], document["origin"] or {}
    norm = (
        "In the order of ISO/IEC 27559 (context, data, identifiability, mitigation, governance); conformity is not "
        "claimed. Every figure is of the files below. Lines to be filled are left to whoever signs."
    )
    day = [f"Date: {origin['date']}."] if origin.get("date") else []
    front = f"{verdict['headline']}. {verdict['sentence']}", *day, norm
    return [
        (origin.get("title") or "Release dossier", (*front, Rows(("File", "Name", "SHA-256"), material.files))),
        *(chapter(document, material) for chapter in (_context, _data, _identifiability, _mitigation, _governance)),
    ]


def _context(document: dict[str, Any], material: Material) -> Chapter:
    readers = {"internal": "the owner of the table alone, for it holds counts", "public": "anybody"}
    earlier = "No ledger was given: whether these rows were released before is not known here."
    if material.ledger is not None:
        count, budget = material.ledger
        earlier = f"The ledger of this table holds {count} release(s). For all of them together: {budget}."
    return (
        "1 Context",
        (
            Blank("Purpose of the release"),
            Blank("Recipients, and how they get the file (public, under agreement, in a secure environment)"),
            Blank("What recipients may do, and what they agree to"),
            Blank("Other data that recipients have or can get about the same people"),
            Blank("Who would gain from an attack, and how likely one is"),
            f"Who may read this dossier: {readers[document['audience']]}. {earlier}",
        ),
    )


def _data(document: dict[str, Any], material: Material) -> Chapter:
    columns, origin = document["columns"], document["origin"] or {}
    roles = (("sensitive", "sensitive, not released"), ("released", "released"), ("kept", "kept as it is"))
    rows = [(name, words) for role, words in roles for name in columns[role]]
    rows += [(name, "left out") for name in material.dropped]
    count = "not told here" if document.get("n_rows") is None else str(document["n_rows"])
    return (
        "2 Data",
        (
            f"Source: {origin.get('table') or 'not named'}. Rows: {count}.",
            Rows(("Column", "Role"), tuple(rows)),
            Blank("Whose data it is (data subjects, population, how the rows were chosen)"),
            Blank("Where it comes from, when, and on which legal basis"),
            Blank("Why these columns are the sensitive ones, and no others"),
        ),
    )


def _identifiability(document: dict[str, Any], material: Material) -> Chapter:
    parts: list[Part] = [
        f"Threshold: {document['verdict']['allowed']}{margin_words(document)}.",
        Blank("Why this threshold") if material.reason is None else f"Why this threshold: {material.reason}",
        f"People: {document['verdict']['people'] or 'nothing is claimed of them.'}",
    ]
    judged = document.get("judgement")
    if judged is not None:
        tests = tuple((pair["title"], pair["words"]) for pair in judged["pairs"])
        parts += [f"{judged['headline']}. {judged['sentence']}", Rows(("Test", "Found"), tests)]
    if document["columns"]["binned"]:
        names = ", ".join(document["columns"]["binned"])
        parts.append(f"Raw figures are of the table in bins ({names}); the values as they were tell more.")
    attacks = [part for part in document["sections"] if part["name"].startswith("finding ")]
    parts += [f"{part['title']}: {part['words']}" for part in attacks]
    if not attacks and judged is None:
        parts.append("Adversarial tests: the report holds no attack on the released rows.")
    if material.checks is None:
        parts.append("Verification: none was given. `sanitize verify --json` makes one.")
    else:
        words = f"Verification; an honest release fails with a chance of {material.false_alarm:g} at most."
        parts += [words, Rows(("Check", "Result", "Detail"), material.checks)]
    parts.append(Blank("Other adversarial tests, by whom and with which result"))
    return ("3 Identifiability", tuple(parts))


def _mitigation(document: dict[str, Any], material: Material) -> Chapter:
    verdict = document["verdict"]
    optimality = f", {verdict['optimality']['words']}" if verdict["optimality"] else ""
    parts: list[Part] = [
        f"Mechanism: {verdict['mechanism']}{optimality}. Printed as: {verdict['output']}.",
        f"{utility_words(document)}.",
        Rows(("Column", "Kept"), tuple((kept["column"], percent(float(kept["share"]))) for kept in document["kept"])),
        Rows(
            ("Measure", "Unit", "Kind", "Before", "After", "Allowed"),
            tuple(_measure(measure) for measure in document["measures"]),
        ),
    ]
    parts += [f"Warning: {warning}." for warning in document["warnings"]]
    for section in document["sections"]:
        if not section["name"].startswith("finding ") and section["rows"] and section["name"] != "kept by column":
            rows = tuple(tuple(cell if is_words(cell) else number(cell) for cell in row) for row in section["rows"])
            parts += [f"{section['title']}. {section['words']}", Rows(tuple(section["columns"]), rows)]
    parts.append(Blank("Measures beyond the file (access control, agreements, training, deletion)"))
    return ("4 Mitigation", tuple(parts))


def _measure(measure: dict[str, Any]) -> Cells:
    figures = (number(measure["before"]), number(measure["after"]), allowed(measure))
    return (measure["label"], measure["unit"].replace("1", ""), measure["kind"], *figures)


def _governance(document: dict[str, Any], material: Material) -> Chapter:
    unknown = "No policy was given: what was agreed before the release is not known here."
    policy = unknown if material.policy is None else Rows(("Policy", "Value"), material.policy)
    private = {
        None: "It is not differential privacy of the table's records.",
        "secret_dp": "It is differential privacy of each row's secret alone.",
        "record_dp": "All but the symbols drawn for the rows is differential privacy of the table's records.",
    }[promised(document)]
    signed = (
        "Responsible for the release (name, role)",
        "Reviewed by, on",
        "Approved by (name, signature, date)",
        "When this is looked at again, and what would call it back",
        "Whom to tell of a suspected disclosure",
    )
    last = (document["verdict"]["alone"], private, f"Made with sanitize {document['library_version']}.")
    return ("5 Governance", (policy, *last, *map(Blank, signed)))


def to_markdown(chapters: Sequence[Chapter]) -> str:
    """Chapters as Markdown; blanks are lines to write on."""
    lines: list[str] = []
    for level, (title, parts) in enumerate(chapters):
        lines += [f"{'##' if level else '#'} {_escaped(title)}", ""]
        for part in parts:
            if isinstance(part, str):
                lines.append(_escaped(part))
            elif isinstance(part, Blank):
                lines.append(f"- [ ] {_escaped(part.question)}: {'_' * 40}")
            else:
                rule = "|".join(" --- " for _ in part.heads)
                lines += [_row(part.heads), f"|{rule}|", *(_row(row) for row in part.rows)]
            lines.append("")
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """One line that means nothing but its letters."""
    # Whatever means something in Markdown or in HTML, anywhere or at the start of a line; addresses would become links.
    marks = r"([\\`*_{}\[\]<>#!|~&$^]|^[-+=:]|:(?=//)|(?<=^www)\.|(?<=\d)[.)](?=\s))"
    return re.sub(marks, r"\\\1", clip(text, 400).replace("\\\\", "\\"))


def to_page(chapters: Sequence[Chapter]) -> str:
    """Chapters as one page in the style of the report."""
    return rendered("report/dossier.html.jinja", chapters=chapters)
