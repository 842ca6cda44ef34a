"""A report as plain values, the source of every other view.

Text and HTML print this document and nothing else about the data: what the public document leaves out cannot
turn up in a public page.
"""

from __future__ import annotations

import dataclasses
import json
import math
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._atomic import replace_text
from sanitize._facts import SEEDED_NOTE, ChannelBudget
from sanitize._finding import findings_sections, refuted
from sanitize._measurement import parts_section
from sanitize._render.audience import publish, warnings_of_facts
from sanitize._render.pictures import lift_map, margins
from sanitize._version import __version__
from sanitize.budgets import AlphaLiftBudget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.errors import InvalidParameter, TargetError
from sanitize.report import VERDICT_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize._views import Audience
    from sanitize.budgets import Budget
    from sanitize.report import LeakageReport

SCHEMA = "sanitize/leakage-report"
VERSION = 1

Number = float | str | None

# Budgets whose numbers say everything, by their names in a document.
BUDGETS: dict[str, type] = {
    kind.__name__: kind for kind in (LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget, AlphaLiftBudget)
}


def to_document(report: LeakageReport, audience: Audience, n_symbols: int | None = None) -> dict[str, Any]:
    """Report as dicts, lists, strings, booleans and finite numbers.

    Infinities are the strings ``inf`` and ``-inf``; what was not computed is None. No view holds a sensitive
    symbol. What the public one leaves out is said in `publish`.

    Parameters
    ----------
    report : LeakageReport
    audience : {"internal", "public"}
    n_symbols : int, optional
        How many released symbols to list, riskiest first; all of them by default.
    """
    check_audience(audience)
    document = without_pictures(report, n_symbols)
    if audience == "public":
        return publish(document)
    before, after, curve = report._before, report._after, report.curve
    return document | {
        "lift": lift_map(before, after, exact),
        "margins": margins(before, after, exact),
        "curve": None if curve is None else curve.to_dict(),
    }


def check_audience(audience: Audience) -> None:
    """Refuse an unknown audience."""
    if audience not in ("internal", "public"):
        raise InvalidParameter(f"audience must be 'internal' or 'public', got {audience!r}")


def without_pictures(report: LeakageReport, n_symbols: int | None = None) -> dict[str, Any]:
    """Internal document without what only pictures show."""
    facts = report.facts
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "library_version": __version__,
        "audience": "internal",
        "verdict": {
            "ok": report.ok,
            "budget": _budget(report.budget),
            "allowed": budget_words(report.budget),
            "worst_excess": None if report.budget is None else exact(report.worst_excess),
            "tolerance": VERDICT_TOLERANCE,
            "mechanism": facts.mechanism,
            "release": facts.release,
            "seeded": facts.seeded,
            "refuted": refuted(report.findings),
            # What the verdict claims: the frequencies of these rows (null), or every law they allow.
            "confidence": report.confidence,
        },
        "columns": {
            "sensitive": list(report.sensitive),
            "released": [name for name in report.public if not facts.parts or name not in facts.kept],
            "kept": list(facts.kept),
        },
        "measures": [
            {
                "name": measure.name,
                "label": measure.label,
                "unit": measure.unit,
                "kind": measure.kind,
                "before": exact(measure.before),
                "after": exact(measure.after),
                "bound": exact(measure.bound),
                "low": exact(measure.low),
                "high": exact(measure.high),
            }
            for measure in report.measures
        ],
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
        "n_symbols": len(report.excess),
        "symbols": [
            {name: value if isinstance(value, str) else exact(value) for name, value in row.items()}
            for row in report._symbols(n_symbols)
        ],
    }
    others = [note for note in facts.warnings if note != SEEDED_NOTE]  # said by the facts themselves
    return document | {"warnings": [*warnings_of_facts(document), *others]}


def to_json(document: dict[str, Any], path: str | Path | None) -> str:
    """Document as JSON; whatever is not ASCII is escaped, so that no name can steer a terminal.

    With a path it is also written there, in one step and readable by its owner only.
    """
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    if path is not None:
        write(path, text)
    return text


def write(path: str | Path, text: str) -> None:
    """Write a file so that readers see the old content or the new one, never a part of it."""
    target = Path(path)
    try:
        replace_text(target, text)
    except OSError as error:
        raise TargetError(f"cannot write the report to {str(target)!r}: {error.strerror or error}") from error


def verdict_words(document: dict[str, Any]) -> str:
    """Say the verdict as a headline."""
    verdict, columns = document["verdict"], document["columns"]
    if set(columns["kept"]) & set(columns["sensitive"]):
        return "REFUSED: a sensitive column is kept"
    if verdict["refuted"]:
        return "REFUSED: the released rows are not what this report measured"
    if verdict["budget"] is None:
        return "AUDIT: no budget given"
    return "WITHIN BUDGET" if verdict["ok"] else "OVER BUDGET: nothing may be released"


def budget_words(budget: Budget | None) -> str:
    """Say what a budget allows in a plain sentence.

    Examples
    --------
    >>> budget_words(LiftBudget(lower=float("inf"), upper=0.5))
    'log-lift at most 0.5 nats: no released value makes a sensitive value more than 1.65 times as likely'
    >>> budget_words(None)
    'no budget: this report only measures'
    """
    match budget:
        case None:
            return "no budget: this report only measures"
        case LiftBudget(lower=lower, upper=upper):
            return _lift_words(lower, upper)
        case LDPBudget(eps=eps):
            if math.isinf(eps):
                return "no limit (LDP with an infinite epsilon)"
            return (
                f"{eps:.4g}-LDP of the sensitive columns (nats): no released value is more than "
                f"{times(eps)} times as likely under one sensitive value as under another"
            )
        case L1LiftBudget(lower=lower, upper=upper):
            return _averaged_words("l1-lift", lower, upper, math.expm1)
        case Chi2LiftBudget(lower=lower, upper=upper):
            return _averaged_words("chi2-lift", lower, upper, lambda bound: math.expm1(bound) ** 2)
        case AlphaLiftBudget(alpha=alpha, lower=lower, upper=upper):
            return _averaged_words(f"alpha-lift of order {alpha:.4g}", lower, upper, math.exp)
    owner = "the whole channel" if isinstance(budget, ChannelBudget) else "every released value"
    return f"{owner} meets the limits of {type(budget).__name__}"


def _lift_words(lower: float, upper: float) -> str:
    if math.isinf(lower) and math.isinf(upper):
        return "no limit (lift budget with both bounds infinite)"
    least, most = f"{0.0 - lower:.4g}", f"{upper:.4g}"
    less, more = f"less than {times(-lower)}", f"more than {times(upper)}"
    if math.isinf(lower):
        limit, either = f"at most {most}", more
    elif math.isinf(upper):
        limit, either = f"at least {least}", less
    else:
        limit, either = f"between {least} and {most}", f"{less} or {more}"
    return f"log-lift {limit} nats: no released value makes a sensitive value {either} times as likely"


def _averaged_words(name: str, lower: float, upper: float, of: Callable[[float], float]) -> str:
    sides = [(f"{name} at most", upper), (f"{name} of the inverse at most", lower)]
    limits = [f"{words} {_safe(of, bound):.4g}" for words, bound in sides if not math.isinf(bound)]
    if not limits:
        return f"no limit ({name} budget with both bounds infinite)"
    return f"{', '.join(limits)}: limits what a released value changes about the sensitive values on average"


def times(log_lift: float) -> str:
    """E to the log-lift, as text."""
    return f"{_safe(math.exp, log_lift):.3g}"


def _safe(of: Callable[[float], float], bound: float) -> float:
    try:
        return of(bound)
    except OverflowError:
        return math.inf


def _budget(budget: Any) -> dict[str, Any] | None:
    """Type and numeric fields; a budget of somebody else's making may hold anything, which stays here."""
    if budget is None:
        return None
    fields = dataclasses.fields(budget) if dataclasses.is_dataclass(budget) else ()
    values = {field.name: getattr(budget, field.name) for field in fields}
    numbers = {name: exact(float(value)) for name, value in values.items() if isinstance(value, Real)}
    return {"type": type(budget).__name__, **numbers}


def exact(value: float | None) -> Number:
    """Figure with all its digits; infinities as strings, NaN as None."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value) + 0.0  # -0.0 reads as 0
