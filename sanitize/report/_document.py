"""Reports as plain values: the internal document, with its pictures, and the public document made from it.

Sensitive symbols appear by rank and share, never by name. Each picture shows the symbols that matter most and states
how many there are. `publish` alone decides the public content of every view, file and frame, for measured and for saved
reports: declared facts, and no figure.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._util.checks import check_choice, is_number
from sanitize._util.declared import Declared, NonNegative, require, to_builtin
from sanitize._util.formatting import clip, exact
from sanitize._version import __version__
from sanitize.core.budgets import BUDGETS, LiftBudget, budget_to_dict, by_value, nameless
from sanitize.core.channel import Optimality, Status
from sanitize.core.lifts import log_lift
from sanitize.report._facts import POOLED, REPLACED_SHARE, SEEDED_NOTE, ReplacedValues, Section
from sanitize.report._headline import (
    PROMISES,
    USELESS_BELOW,
    VERDICT_TOLERANCE,
    Lack,
    limit_words,
    relations_of,
    synthetic,
    with_headline,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize.core.joint import JointDistribution
    from sanitize.report._facts import Finding, PartLeakage

Audience = Literal["internal", "public"]
# Most characters of a column's name in a sentence, so that a long name does not hide the sentence.
_NAME_CELLS = 40
# Released files carry this note, so that readers can recognise a later form of it.
NOTE_FORMAT = 1
# Users may define budgets of their own, and a note in every file must stay short.
_LONGEST_BUDGET = 1500


class OptimalityForm(Declared, frozen=True):
    """Optimality in JSON: status, gap in nats, set of competing channels, and the words that describe them."""

    status: Status
    gap: NonNegative | None
    among: str
    words: str

    def __post_init__(self) -> None:
        require(self.words == self.optimality.words, "contradict the gap", "words")

    @property
    def optimality(self) -> Optimality:
        """Return the optimality without the descriptive words."""
        return Optimality(self.status, self.gap, self.among)

    @classmethod
    def from_optimality(cls, optimality: Optimality | None) -> OptimalityForm | None:
        """Make the form of an optimality; None if nothing is known."""
        if optimality is None:
            return None
        gap = exact(optimality.gap)
        return cls(optimality.status, gap if isinstance(gap, float) else None, optimality.among, optimality.words)


# Readers of the public view would otherwise take missing figures for carelessness.
LEFT_OUT = (
    "Measured figures and warnings are left out: each is an exact function of the table, so that a reader who knows "
    "all rows but one could compute the last one. The owner's report has them."
)
# Fields of a verdict that were declared before the table was seen, or that follow for every permitted release: only
# these reveal nothing about a row.
_DECLARED = ["ok", "state", "counted", "allowed", "side_columns", "mechanism", "output", "seeded", "confidence"]
_DECLARED += ["recorded", "people"]


def publish(document: dict[str, Any]) -> dict[str, Any]:
    """Return the public view of an internal document: declared facts, and whether the release passed its check.

    It contains no figure, not even a rounded one, because one row may change the rounding: an attacker who knows all
    other rows could compute the page for each guess of the last row and compare. A mechanism that was chosen by figures
    is not named for the same reason. Files and frames carry only a part of this view; see `release_note`.
    """
    verdict, origin = document["verdict"], document["origin"]
    declared = {name: verdict[name] for name in _DECLARED}
    declared |= {"mechanism": "the best of several"} if verdict["chosen"] else {}
    shown = {
        **{name: document[name] for name in ("schema", "version", "library_version")},
        "audience": "public",
        "verdict": declared | {"budget": verdict["budget"] and nameless(verdict["budget"])},
        "origin": origin and origin | {"table": None, "policy": None},
        "columns": {role: document["columns"][role] for role in ("sensitive", "released", "kept")},
        "sections": [_public_section(part) for part in document["sections"] if part["name"] in _PUBLIC_SECTIONS],
        "left_out": LEFT_OUT,
    }
    return with_headline(shown)


# Sections with declared content: names of the parts of a joint release, and guarantees of differential privacy.
_PUBLIC_SECTIONS = ("parts", *PROMISES)


def _public_section(section: dict[str, Any]) -> dict[str, Any]:
    """Return a section without its measured values."""
    if section["name"] in PROMISES:
        return section
    return section | {"words": "", "columns": section["columns"][:1], "rows": [row[:1] for row in section["rows"]]}


def release_note(report: Any) -> dict[str, Any]:
    """Note in a released file or frame: the public verdict, and the declared budget."""
    verdict, budget = publish(claims(report))["verdict"], report.budget
    note = {"sanitize": __version__, "format": NOTE_FORMAT, "mechanism": verdict["mechanism"]}
    note |= {"budget": _budget_code(budget), "within_budget": verdict["ok"]}
    return note if verdict["confidence"] is None else note | {"confidence": verdict["confidence"]}


def _budget_code(budget: Any) -> str:
    """Return a budget as Python code, the same code for equal budgets; only the class name if the code is long."""
    name, words = type(budget).__name__, repr(budget)
    is_by_value = isinstance(budget, LiftBudget) and by_value(budget)
    if BUDGETS.get(name) is type(budget) and not is_by_value:
        sides = {side.name: getattr(budget, side.name) for side in dataclasses.fields(budget)}
        codes = {k: repr(float(v)) if is_number(v) else _budget_code(v) for k, v in sides.items() if v is not None}
        words = f"{name}({', '.join(f'{side}={code}' for side, code in codes.items())})"
    return words if len(words) <= _LONGEST_BUDGET else name[:100]


def fact_warnings(document: dict[str, Any]) -> list[str]:
    """Sentences on facts that limit the verdict, the most serious first, with counts."""
    sentences = grave(document)
    strongest = sorted(document["pairs"], key=lambda pair: -float(pair["raw"]))
    lost = [" x ".join(clip(name, _NAME_CELLS) for name in p["columns"]) for p in strongest if p["state"] == "lost"]
    if lost and not document["verdict"]["useless"]:
        of_all = f"{len(lost)} of {len(strongest)} relations between columns"
        sentences.append(f"half or more may be gone of {of_all}; do not study them here: {', '.join(lost)}")
    if document["n_single"] and not document["verdict"]["people"].startswith(POOLED):
        of_all = f"{document['n_single']} of {document['n_combinations']} combinations of the public columns"
        sentences.append(f"{of_all} occur in one row each, so that they reveal one person; min_count pools them")
    if n := document["n_unseen"]:
        sentences.append(f"{n} row(s) have a value absent at fit and were treated like the riskiest value")
    return sentences


def grave(document: dict[str, Any]) -> list[str]:
    """Warnings that readers of the verdict must not miss; they contain no count."""
    columns, warnings = document["columns"], []
    exposed = [name for name in columns["kept"] if name in columns["sensitive"]]
    if exposed:
        warnings.append(f"a sensitive column would be released as it is: {column_list(exposed)}")
    if document["verdict"]["seeded"]:
        warnings.append("seeded, not for release: anyone who guesses the seed can remove the noise")
    if columns["constant"]:
        names = column_list(columns["constant"])
        warnings.append(f"the same sensitive value in every row: {names}; the verdict says nothing about that column")
    if columns["replaced"]:
        names = column_list(columns["replaced"])
        rows = f"more than {100 * REPLACED_SHARE:g} % of the rows are written with another value of {names}"
        warnings.append(f"{rows}: their value is rare or outside the edges; cut or join values, or leave columns out")
    little = [column["column"] for column in document["kept"] if column["share"] < USELESS_BELOW]
    lack = document["verdict"]["lack"]
    advice = "without them others may keep more" if lack is None else Lack(**lack).advice
    if synthetic(document):
        return warnings
    if relations_of(document["measures"]) is not None:
        if document["verdict"]["useless"]:
            shown = "of the relations between columns is kept, on average"
            warnings.append(f"less than {100 * USELESS_BELOW:g} % {shown}: {advice}")
        elif lack is not None:
            why = Lack(**lack).words
            unlinked = "generated rows follow the model of the whole table, and no single row of it"
            warnings.append(f"{unlinked}{why and f' ({why})'}: for more, {advice}")
    elif little and document["verdict"]["state"] in ("source", "rows"):
        warnings.append(f"less than {100 * USELESS_BELOW:g} % is kept of {column_list(little)}: {advice}")
    return warnings


def column_list(columns: Sequence[str], separator: str = ", ", most: int = 5, limit: int = _NAME_CELLS) -> str:
    """Names of columns in a sentence: the first ones, each shortened, and the number of the others."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return separator.join(clip(name, limit) for name in columns[:most]) + more


# Most rows and columns of the lift map, rows of the margins, and values of a column in its picture: these fit a page.
N_SYMBOLS, N_SENSITIVE, N_MARGINS, N_VALUES = 24, 12, 16, 8


def lift_map(before: JointDistribution, after: JointDistribution) -> dict[str, Any]:
    """Log-lift of the riskiest symbols before and after, for the most frequent sensitive symbols.

    Rows are symbols, sorted by decreasing |log-lift| before the release (the more frequent of equals first); the map
    after the release begins with the same symbols in the same order. Columns are sensitive symbols, the most frequent
    first.
    """
    frequent = np.argsort(-before.p_s, kind="stable")[:N_SENSITIVE]
    rank: dict[str, int] = {}  # order of the first map, which the second follows for symbols in both

    def side(joint: JointDistribution) -> dict[str, Any]:
        logs = log_lift(joint)
        riskiest = np.lexsort((-joint.p_x, -np.abs(logs).max(axis=0)))[:N_SYMBOLS]
        order = sorted(map(int, riskiest), key=lambda y: rank.get(joint.public.label(y), N_SYMBOLS))
        labels = [joint.public.label(y) for y in order]
        rank.update(zip(labels, range(N_SYMBOLS), strict=False))
        rows, shares = [list(map(exact, column)) for column in logs[frequent].T[order]], joint.p_x[order].tolist()
        return {"n_symbols": len(joint.public), "symbols": labels, "shares": shares, "log_lift": rows}

    shares = before.p_s[frequent].tolist()
    return {"n_sensitive": len(before.p_s), "prior": shares, "before": side(before), "after": side(after)}


def margins(before: JointDistribution, after: JointDistribution) -> dict[str, Any]:
    """Shares of the most frequent symbols before and after the release; None where a symbol does not exist."""
    is_same = before.public == after.public
    sides = [np.arange(len(before.public))] * 2 if is_same else _positions(before, after)
    shares = [np.where(at < 0, 0.0, joint.p_x[at]) for joint, at in zip((before, after), sides, strict=True)]
    order = np.argsort(-np.maximum(*shares), kind="stable")[:N_MARGINS]

    def row(i: int) -> dict[str, Any]:
        x, y = (int(side[i]) for side in sides)
        p_x, p_y = (float(share[i]) for share in shares)
        label = before.public.label(x) if x >= 0 else after.public.label(y)
        return {"symbol": label, "before": p_x if x >= 0 else None, "after": p_y if y >= 0 else None}

    return {"n_symbols": len(sides[0]), "rows": [row(i) for i in order]}


def _positions(before: JointDistribution, after: JointDistribution) -> list[NDArray[np.intp]]:
    """Codes of all symbols before and after the release, matched by label; -1 where a symbol does not exist."""
    labels: list[list[Any]] = [[joint.public.label(x) for x in range(len(joint.public))] for joint in (before, after)]
    if any(len(set(side)) < len(side) for side in labels):  # a label of several symbols does not identify one
        labels = [[(number, x) for x in range(len(side))] for number, side in enumerate(labels)]
    codes = [{label: x for x, label in enumerate(side)} for side in labels]
    either = codes[0] | codes[1]
    return [np.array([code_by_label.get(label, -1) for label in either], dtype=np.intp) for code_by_label in codes]


def tuple_shapes(report: Any) -> list[dict[str, Any]]:
    """Shares of each column's most frequent values before and after the release.

    The list is empty if the release has other symbols than the table.
    """
    shapes: list[dict[str, Any]] = []
    symbols, sides = report._before.public, (report._before.p_x, report._after.p_x)
    if symbols != report._after.public or symbols.columns != report.public:
        return shapes
    for column, levels, codes in zip(symbols.columns, symbols.levels, symbols.codes.T, strict=True):
        names = np.array([*map(str, levels.to_pylist()), "(missing)"], object)
        shares = np.stack([np.bincount(codes, p_x, len(names)) for p_x in sides])
        seen = np.flatnonzero(shares.any(axis=0))
        shown = seen[np.sort(np.argsort(-shares[0, seen], kind="stable")[: N_VALUES - (len(seen) > N_VALUES)])]
        rows = [(str(names[level]), *shares[:, level].tolist()) for level in shown]
        if len(seen) > len(shown):
            rows.append((f"{len(seen) - len(shown)} others", *(1.0 - shares[:, shown].sum(axis=1)).tolist()))
        shapes += [{"column": column, "symbol": value, "before": b, "after": a} for value, b, a in rows]
    return shapes


# A reader of saved reports refuses other documents, and other versions, by these.
SCHEMA = "sanitize/leakage-report"
VERSION = 1


def to_document(
    report: Any, audience: Audience, n_symbols: int | None = None, *, is_drawn: bool = True
) -> dict[str, Any]:
    """Convert the report to dicts, lists, strings, booleans and finite numbers.

    Infinities are the strings ``inf`` and ``-inf``; figures that were not computed are None. No view contains a
    sensitive symbol. See `publish` for the content of the public view.

    Parameters
    ----------
    report : LeakageReport
    audience : {"internal", "public"}
    n_symbols : int, optional
        Number of released symbols to list, riskiest first; all of them by default.
    is_drawn : bool
        Whether the internal view contains the values that only pictures show.
    """
    check_choice("audience", audience, "internal", "public")
    if audience == "public":
        return publish(claims(report))
    document = _undrawn_document(report, n_symbols)
    if not is_drawn:
        return document
    before, after, curve = report._before, report._after, report.curve
    return document | {
        "lift": lift_map(before, after),
        "margins": margins(before, after),
        "shapes": [_exact(row) for row in tuple_shapes(report)],
        "curve": None if curve is None else curve.to_dict(),
    }


def _undrawn_document(report: Any, n_symbols: int | None) -> dict[str, Any]:
    """Return the internal document without the values that only pictures show."""
    facts, is_single = report.facts, np.isclose(report._before.p_x * (report.n_rows or 0), 1.0, rtol=1e-6, atol=0.0)
    keys = ("raw", "released", "state")
    judged = [finding.report_entry() for finding in report.findings if hasattr(finding, "report_entry")]
    document = claims(report) | {
        "measures": [_exact(vars(measure)) for measure in report.measures],
        # The distribution may be of latent classes: "before" then also refers to classes, which already hide rows.
        "of_cells": report._before.public.columns != report.public,
        "n_rows": report.n_rows,
        "n_unseen": facts.n_unseen,
        "n_single": None if report.n_rows is None else int(is_single.sum()),
        "n_combinations": len(report._before.public),
        "n_symbols": len(report.excess),
        "symbols": [_exact(row) for row in report._symbols(n_symbols)],
        # The state of a pair follows from its Cramér's V in the table and in generated rows, so all three are stated.
        "pairs": [{"columns": list(pair.columns)} | {key: getattr(pair, key) for key in keys} for pair in report.pairs],
    }
    remaining = [note for note in facts.warnings if note != SEEDED_NOTE]  # the facts state them already
    judgement = judged[-1] if judged else None
    return with_headline(document) | {"warnings": [*fact_warnings(document), *remaining], "judgement": judgement}


def claims(report: Any) -> dict[str, Any]:
    """Return the internal document without measures and symbols: verdict, facts, columns and sections."""
    facts = report.facts
    few_rows = REPLACED_SHARE * (report.n_rows or math.inf)
    replaced = filter(None, [ReplacedValues.section(facts.replaced)])
    sections = (*parts_section(facts.parts), *findings_sections(report.findings), *report.sections, *replaced)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "library_version": __version__,
        "audience": "internal",
        "verdict": {
            "ok": report.ok,
            "state": report.state,
            "useless": report.useless,
            "lack": None if report.lack is None else to_builtin(report.lack),
            # Whether the distribution comes from rows, which may be a sample.
            "counted": report.n_rows is not None,
            "budget": None if report.budget is None else budget_to_dict(report.budget),
            "allowed": limit_words(report.budget, facts.side_columns),
            # Columns that a reader may know about a row: the limit also covers readers who know any of them.
            "side_columns": list(facts.side_columns),
            "worst_excess": None if report.budget is None else exact(report.worst_excess),
            "tolerance": VERDICT_TOLERANCE,
            "mechanism": facts.mechanism,
            # Chosen by figures of this table, so that its name reveals some of them.
            "chosen": facts.is_chosen,
            "output": facts.output,
            "optimality": to_builtin(OptimalityForm.from_optimality(facts.optimality)),
            "seeded": facts.seeded,
            "refuted": report.verdict.refuted,
            # Scope of the verdict: the frequencies of these rows (null), or every distribution that they allow.
            "confidence": report.confidence,
            # Guarantee for people, in addition to the verdict on symbols.
            "people": facts.people,
            # Releases in the ledger of these rows, including this one; null without a ledger.
            "recorded": facts.recorded,
        },
        "origin": None if report.origin is None else dataclasses.asdict(report.origin),
        "columns": {
            "sensitive": list(report.sensitive),
            "released": [name for name in report.public if not facts.parts or name not in facts.kept],
            "kept": list(facts.kept),
            "constant": list(report.verdict.constant),
            "replaced": [one.column for one in facts.replaced if one.n_rows > few_rows],
            "binned": list(facts.binned),
        },
        "kept": [_exact(vars(column)) for column in report.kept],
        "sections": [
            vars(section) | {"columns": list(section.columns), "rows": [list(map(exact, row)) for row in section.rows]}
            for section in sorted(sections, key=lambda section: section.name in {"side", "power"})
        ],
    }


def findings_sections(findings: Sequence[Finding]) -> tuple[Section, ...]:
    """Sections of the report, one for each finding except a judgement, which has a field of its own."""
    sections = []
    for number, finding in enumerate(findings, 1):
        if not hasattr(finding, "report_entry"):
            words = f"{'. '.join(sentence.rstrip('.') for sentence in finding.summary)}."
            title = getattr(finding, "title", "Tried on the release")
            sections.append(Section(f"finding {number}", title, words, *getattr(finding, "table", ())))
    return tuple(sections)


def parts_section(parts: Sequence[PartLeakage]) -> tuple[Section, ...]:
    """Section of a report on the parts and kept columns of a joint release, if there are any."""
    if not parts:
        return ()
    names = [f"{part.part} ({part.role}): {', '.join(part.columns)}" for part in parts]
    utilities = [part.normalized_utility for part in parts]
    least, most = np.exp([[part.min_log_lift for part in parts], [part.max_log_lift for part in parts]]).tolist()
    rows = tuple(zip(names, utilities, least, most, strict=True))
    words = (
        "How many times as likely each part, and each kept column, makes a sensitive value by itself. The verdict is "
        "about all."
    )
    heads = ("Part", "kept", "at least", "at most")
    return (Section("parts", "Parts", words, heads, rows),)


def _exact(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: exact(value) for name, value in row.items()}
