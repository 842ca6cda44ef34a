"""A report as plain values, the source of every other view.

Text and HTML print this document and nothing else about the data: what the public document leaves out cannot
turn up in a public page.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._version import __version__
from sanitize.budgets import AlphaLiftBudget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.errors import InvalidParameter, TargetError
from sanitize.report import VERDICT_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.budgets import Budget
    from sanitize.report import Audience, LeakageReport

SCHEMA = "sanitize/leakage-report"
VERSION = 1

Number = float | str | None


def to_document(report: LeakageReport, audience: Audience, n_symbols: int | None = None) -> dict[str, Any]:
    """Report as dicts, lists, strings, booleans and finite numbers.

    Infinities are the strings ``inf`` and ``-inf``; what was not computed is None. No view holds a sensitive
    symbol. The public one holds no released symbol and no count either, and its figures are rounded to four
    significant digits: all digits of a ratio of counts would give the counts away.

    Parameters
    ----------
    report : LeakageReport
    audience : {"internal", "public"}
    n_symbols : int, optional
        How many released symbols to list, riskiest first; all of them by default.
    """
    if audience not in ("internal", "public"):
        raise InvalidParameter(f"audience must be 'internal' or 'public', got {audience!r}")
    figure = _exact if audience == "internal" else _rounded
    facts = report.facts
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "library_version": __version__,
        "audience": audience,
        "verdict": {
            "ok": report.ok,
            "budget": _budget(report.budget),
            "worst_excess": None if report.budget is None else figure(report.worst_excess),
            "tolerance": VERDICT_TOLERANCE,
            "mechanism": facts.mechanism,
            "release": facts.release,
            "seeded": facts.seeded,
            # What the verdict claims: the frequencies of these rows (null), or every law they allow.
            "confidence": report.confidence,
        },
        "columns": {
            "sensitive": list(report.sensitive),
            "released": list(report.public),
            "kept": list(facts.kept),
        },
        "measures": [
            {
                "name": measure.name,
                "label": measure.label,
                "unit": measure.unit,
                "kind": measure.kind,
                "before": figure(measure.before),
                "after": figure(measure.after),
                "bound": figure(measure.bound),
                "low": figure(measure.low),
                "high": figure(measure.high),
            }
            for measure in report.measures
        ],
        "warnings": _warnings(report, audience),
    }
    if audience == "public":
        return document
    symbols = [
        {name: value if isinstance(value, str) else figure(value) for name, value in row.items()}
        for row in report._symbols(n_symbols)
    ]
    counts = {"n_rows": report.n_rows, "n_unseen": facts.n_unseen, "n_symbols": len(report.excess)}
    return document | counts | {"symbols": symbols}


def to_json(report: LeakageReport, audience: Audience, path: str | Path | None) -> str:
    """Document as JSON; whatever is not ASCII is escaped, so that no name can steer a terminal.

    With a path it is also written there, in one step and readable by its owner only.
    """
    text = json.dumps(to_document(report, audience), indent=2, allow_nan=False) + "\n"
    if path is not None:
        write(path, text)
    return text


def write(path: str | Path, text: str) -> None:
    """Write a file so that readers see the old content or the new one, never a part of it."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".sanitize-", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise TargetError(f"cannot write the report to {str(target)!r}: {error.strerror or error}") from error


def verdict_words(document: dict[str, Any]) -> str:
    """Say the verdict as a headline."""
    verdict, columns = document["verdict"], document["columns"]
    if set(columns["kept"]) & set(columns["sensitive"]):
        return "REFUSED: a sensitive column is kept"
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
                f"{_times(eps)} times as likely under one sensitive value as under another"
            )
        case L1LiftBudget(lower=lower, upper=upper):
            return _averaged_words("l1-lift", lower, upper, math.expm1)
        case Chi2LiftBudget(lower=lower, upper=upper):
            return _averaged_words("chi2-lift", lower, upper, lambda bound: math.expm1(bound) ** 2)
        case AlphaLiftBudget(alpha=alpha, lower=lower, upper=upper):
            return _averaged_words(f"alpha-lift of order {alpha:.4g}", lower, upper, math.exp)
    return f"every released value meets the limits of {type(budget).__name__}"


def _lift_words(lower: float, upper: float) -> str:
    if math.isinf(lower) and math.isinf(upper):
        return "no limit (lift budget with both bounds infinite)"
    least, most = f"{0.0 - lower:.4g}", f"{upper:.4g}"
    less, more = f"less than {_times(-lower)}", f"more than {_times(upper)}"
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


def _times(log_lift: float) -> str:
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
    numbers = {name: _exact(float(value)) for name, value in values.items() if isinstance(value, Real)}
    return {"type": type(budget).__name__, **numbers}


def _exact(value: float | None) -> Number:
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value) + 0.0  # -0.0 reads as 0


def _rounded(value: float | None) -> Number:
    if value is None or not math.isfinite(value):
        return _exact(value)
    return _exact(float(f"{value:.4g}"))


def _warnings(report: LeakageReport, audience: Audience) -> list[str]:
    """Sentences that limit what the verdict says, the gravest first.

    ``ReleaseFacts.warnings`` is free text with counts and perhaps released symbols in it, so the public view
    never reads it: its sentences are made from facts, and say only that there is more.
    """
    facts, internal = report.facts, audience == "internal"
    found = []
    exposed = [name for name in facts.kept if name in report.sensitive]
    if exposed:
        found.append(f"a sensitive column would be released as it is: {', '.join(exposed)}")
    if facts.seeded:
        found.append("seeded, not for release: whoever guesses the seed can undo the noise")
    if facts.n_unseen:
        rows = f"{facts.n_unseen} row(s)" if internal else "some rows"
        found.append(f"{rows} held a value absent at fit and were treated like the riskiest value")
    if internal:
        return found + list(facts.warnings)
    if any(m.name == "min_log_lift" and m.before == -math.inf for m in report.measures):
        found.append("some pairs of a sensitive and a public value never occur in the table")
    if facts.warnings:
        found.append("the internal report has more warnings, with counts")
    return found
