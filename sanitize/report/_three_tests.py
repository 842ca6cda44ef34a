"""The three tests that people are asked for: singling out, linkability, inference; figures, and what they leave open.

Named after the opinion of the Article 29 Working Party on anonymisation (WP 216). Every figure is of the document; a
test that was not measured says so.
"""

from __future__ import annotations

import math
from typing import Any

from sanitize._formatting import times
from sanitize.report._headline import to_side

_NOT_COUNTED = (
    "Not measured: this needs rows that were counted, without weights or smoothing, and a channel that is not too "
    "large."
)


def three_tests(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Name, question, figures (label, before, after), and what is not said, of each test."""
    return [_singling_out(document), _linkability(document), _inference(document)]


def _singling_out(document: dict[str, Any]) -> dict[str, Any]:
    rows = _sides(
        document,
        ("rows only one person can be behind", "alone", _percent_up),
        ("smallest group a row hides in (k)", "smallest", _size),
    )
    return {
        "name": "Singling out",
        "question": "Is a released row one person's?",
        "figures": rows,
        "gap": "" if rows else _NOT_COUNTED,
        "unsaid": "What is printed are values of the table: that somebody in it has them is not hidden."
        if document["verdict"]["output"] != "label"
        else "A label names values of the table: that somebody in it has one of them is not hidden.",
    }


def _linkability(document: dict[str, Any]) -> dict[str, Any]:
    rows = _sides(document, ("best guess whose row it is, on average", "mean", lambda size: f"1 in {_size(size)}"))
    return {
        "name": "Linkability",
        "question": "Can a row be matched to a person whose columns are known?",
        "figures": rows,
        "gap": "" if rows else _NOT_COUNTED,
        "unsaid": "One row is looked at by itself: all of them at once, row numbers, columns outside this release and "
        "other releases of the same people may tell more.",
    }


def _inference(document: dict[str, Any]) -> dict[str, Any]:
    found = {measure["name"]: measure for measure in document["measures"]}
    top, bottom = found["max_log_lift"], found["min_log_lift"]
    rows = [
        {"label": "a secret becomes at most", "before": _lift(top["before"]), "after": _lift(top["after"])},
        {"label": "and at least", "before": _lift(bottom["before"]), "after": _lift(bottom["after"])},
    ]
    if document["of_cells"]:
        rows = [row | {"before": ""} for row in rows]
    unsaid = "What is known of a person by other means is not counted, nor what the table shows of everybody alike."
    if document["verdict"]["state"] == "rows" and document["verdict"]["counted"]:
        unsaid = f"Of these rows; for the people they stand for, see the headline. {unsaid}"
    return {
        "name": "Inference",
        "question": "Does a row tell a secret?",
        "figures": rows,
        "gap": "",
        "unsaid": unsaid,
    }


def _sides(document: dict[str, Any], *lines: tuple[str, str, Any]) -> list[dict[str, str]]:
    """Figures before and after; before is left out where the law is one of cells, which hide rows already."""
    crowds = document["crowds"]
    if crowds is None:
        return []
    hidden = document["of_cells"]
    return [
        {"label": label, "before": "" if hidden else of(crowds["before"][name]), "after": of(crowds["after"][name])}
        for label, name, of in lines
    ]


def _size(size: float) -> str:
    """Rows in a crowd, rounded down."""
    words = to_side(size, math.floor)
    return f"{float(words):,.0f}" if float(words) >= 1000 else words


def _percent_up(share: float) -> str:
    """A share in percent, rounded up."""
    return f"{to_side(100 * share, math.ceil)} %"


def _lift(log_lift: float | str) -> str:
    value = float(log_lift)
    return "∞" if value == math.inf else f"{times(value)} ×"
