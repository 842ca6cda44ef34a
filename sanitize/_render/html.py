"""A report as one self-contained page: no script, no network, every value escaped."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sanitize._render.document import budget_words, to_document, verdict_words, write
from sanitize._render.text import allowed, claim_words, clip, margin_words, number, plain_words, utility_words

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Template

    from sanitize.report import Audience, LeakageReport

# Limits that keep a page under a megabyte whatever the names are.
N_ROWS = 200
N_CELLS = 120
N_CELLS_OF_A_WARNING = 600


def to_html(report: LeakageReport, audience: Audience, path: str | Path | None) -> str:
    """Report as a page; written to ``path`` in one step, readable by its owner only, when one is given.

    Parameters
    ----------
    report : LeakageReport
    audience : {"internal", "public"}
        The internal view adds counts and up to 200 released symbols, riskiest first.
    path : str or Path, optional
    """
    page = _render(report, audience, whole=True)
    if path is not None:
        write(path, page)
    return page


def to_fragment(report: LeakageReport, audience: Audience) -> str:
    """Render the page without its shell, for a notebook; its style reaches nothing outside."""
    return _render(report, audience, whole=False)


def _render(report: LeakageReport, audience: Audience, *, whole: bool) -> str:
    document = to_document(report, audience, N_ROWS)
    return _template().render(
        whole=whole,
        state=_state(document),
        verdict_words=verdict_words(document),
        budget_words=budget_words(report.budget) + margin_words(document),
        plain_words=plain_words(document),
        utility_words=utility_words(document),
        claim_words=claim_words(document),
        roles=_roles(document["columns"]),
        kinds=sorted({measure["kind"] for measure in document["measures"]}),
        limit=N_ROWS,
        **document,
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("sanitize", "_render"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = partial(clip, limit=N_CELLS)
    environment.filters["words"] = partial(clip, limit=N_CELLS_OF_A_WARNING)
    environment.filters["number"] = number
    environment.filters["allowed"] = allowed
    return environment.get_template("report.html.jinja")


def _state(document: dict[str, Any]) -> str:
    if not document["verdict"]["ok"]:
        return "over"
    return "audit" if document["verdict"]["budget"] is None else "within"


def _roles(columns: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Name and role of each column."""
    roles = {"sensitive": "sensitive", "released": "released through the channel", "kept": "kept as it is"}
    return [(name, roles[role]) for role in roles for name in columns[role]]
