"""A report as one self-contained page: no script, no network, every value escaped."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sanitize._files.target import write_text
from sanitize._formatting import number
from sanitize.report import _marks as marks
from sanitize.report._headline import VERDICT_TOLERANCE, colour, excess_of, of_source
from sanitize.report._text import (
    allowed,
    clip,
    interval,
    is_words,
    margin_words,
    plain_words,
    utility_words,
)

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Template

    from sanitize._formatting import Number


# Limits that keep a page under a megabyte whatever the names are.
N_ROWS = 200
N_CELLS = 120
N_CELLS_OF_A_WARNING = 600


def to_html(document: dict[str, Any], path: str | Path | None) -> str:
    """Document as a page; written to ``path`` in one step, readable by its owner only, when one is given."""
    page = _render(document, whole=True)
    if path is not None:
        write_text(path, page)
    return page


def to_fragment(document: dict[str, Any]) -> str:
    """Render the page without its shell, for a notebook; its style reaches nothing outside."""
    return _render(document, whole=False)


def _render(document: dict[str, Any], *, whole: bool) -> str:
    return _template().render(
        whole=whole,
        colour=colour(document),
        budget_words=document["verdict"]["allowed"] + margin_words(document),
        plain_words=plain_words(document),
        utility_words=utility_words(document),
        roles=_roles(document["columns"]),
        kinds=sorted({measure["kind"] for measure in document["measures"]}),
        limit=N_ROWS,
        tiles=marks.tiles(document),
        exposure=marks.exposure(document),
        **_pictures(document),
        **document,
    )


def _pictures(document: dict[str, Any]) -> dict[str, Any]:
    """Marks of the pictures whose figures the document has; None for the others."""
    found = document.get("lift")
    most = marks.largest(found) if found else 0.0
    symbols = document.get("symbols", [])
    end, limits = marks.scale_of(symbols, document["verdict"]["budget"])
    return {
        "heat": {side: marks.heat(found[side], most) for side in ("before", "after")} | {"most": most}
        if found
        else None,
        "scale": {"end": end, "limits": limits},
        "span": marks.span,
        "bars": marks.bars(document["margins"]) if document.get("margins") else None,
        "curve_marks": marks.curve_marks(document) if document.get("curve") else None,
    }


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("sanitize", "report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = partial(clip, limit=N_CELLS)
    environment.filters["words"] = partial(clip, limit=N_CELLS_OF_A_WARNING)
    environment.filters["number"] = _number
    environment.filters["allowed"] = lambda measure: allowed(measure).replace("inf", "∞")
    environment.filters["interval"] = lambda measure: interval(measure).replace("inf", "∞")
    environment.filters["cell"] = _cell
    environment.filters["is_over"] = lambda measure: excess_of(measure) > VERDICT_TOLERANCE
    environment.filters["of_source"] = of_source
    environment.filters["percent"] = lambda share: f"{100 * float(share):.3g} %"
    return environment.get_template("report.html.jinja")


def _number(value: Number) -> str:
    """Figure of a page, where there is a sign for infinity."""
    return number(value).replace("inf", "∞")


def _cell(cell: Number) -> str:
    """Name or figure of a section's table."""
    return clip(str(cell), N_CELLS) if is_words(cell) else _number(cell)


def _roles(columns: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Name and role of each column."""
    roles = {"sensitive": "sensitive", "released": "released through the channel", "kept": "kept as it is"}
    return [(name, roles[role]) for role in roles for name in columns[role]]
