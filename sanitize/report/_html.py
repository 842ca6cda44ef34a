"""A report as one self-contained page: no script, no network, every value escaped."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sanitize._files.outputs import write_text
from sanitize._formatting import number, of_100, times
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

    from jinja2 import Environment, Template

    from sanitize._formatting import Number


_ROLES = {"sensitive": "sensitive", "released": "released", "kept": "kept as it is"}
# Columns that have a line each though there is nothing but their role to say.
_MOST_LISTED = 8
_PRINTED = {"resample": "values of the same columns", "label": "labels of groups"}
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
        budget_words=document["verdict"]["allowed"] + margin_words(document).replace("inf", "∞"),
        plain_words=plain_words(document),
        utility_words=utility_words(document, in_nats=False),
        facts=_facts(document),
        judged=document.get("judgement"),
        roles=_roles(document["columns"]),
        alone=_alone(document["kept"]),
        by_role=_by_role(document),
        kinds=sorted({measure["kind"] for measure in document["measures"]}),
        limit=N_ROWS,
        tiles=marks.tiles(document),
        exposure=marks.exposure(document),
        **_pictures(document),
        **document,
    )


def _facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What the release is of and how it was made, as far as it is known: name and words."""
    verdict, origin = document["verdict"], document["origin"] or {}
    standing = f" ({verdict['standing']['words']})" if verdict["standing"] else ""
    rows = document.get("n_rows")
    found = [
        ("Date", origin.get("date")),
        ("Table", origin.get("table")),
        ("Rows", None if rows is None else str(rows)),
        ("Policy", origin.get("policy")),
        ("Mechanism", verdict["mechanism"] + standing),
        ("Printed as", _PRINTED.get(verdict["output"], verdict["output"])),
        ("Made by", f"sanitize {document['library_version']}"),
        ("Released file", origin.get("digest")),
    ]
    return [(name, words) for name, words in found if words]


def _by_role(document: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Names of the columns by role, where they are many and nothing else is said of each."""
    columns = document["columns"]
    if _alone(document["kept"]) or sum(map(len, columns.values())) <= _MOST_LISTED:
        return []
    return [(words, columns[role]) for role, words in _ROLES.items() if columns[role]]


def _alone(kept: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """What each column tells by itself, raw and released; nothing where it was not measured of any."""
    if all(column["after"] is None for column in kept):
        return {}
    return {column["column"]: (_times(column["before"]), _times(column["after"])) for column in kept}


def _times(log_lift: Number) -> str:
    return "-" if log_lift is None else f"{times(float(log_lift))} ×"


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


def _template() -> Template:
    return environment().get_template("report.html.jinja")


@cache
def environment() -> Environment:
    """Templates of the pages, with the filters that escape, shorten and round what they print."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        autoescape=True,
        loader=PackageLoader("sanitize", "report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["name"] = partial(clip, limit=N_CELLS)
    made.filters["words"] = partial(clip, limit=N_CELLS_OF_A_WARNING)
    made.filters["number"] = _number
    made.filters["allowed"] = lambda measure: allowed(measure).replace("inf", "∞")
    made.filters["interval"] = lambda measure: interval(measure).replace("inf", "∞")
    made.filters["cell"] = _cell
    made.filters["is_over"] = lambda measure: excess_of(measure) > VERDICT_TOLERANCE
    made.filters["of_source"] = of_source
    made.filters["of_100"] = of_100
    made.filters["percent"] = lambda share: f"{100 * float(share):.3g} %"
    return made


def _number(value: Number) -> str:
    """Figure of a page, where there is a sign for infinity."""
    return number(value).replace("inf", "∞")


def _cell(cell: Number) -> str:
    """Name or figure of a section's table."""
    return clip(str(cell), N_CELLS) if is_words(cell) else _number(cell)


def _roles(columns: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Name and role of each column."""
    return [(name, words) for role, words in _ROLES.items() for name in columns[role]]
