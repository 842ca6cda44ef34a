"""Pages from templates, a report as one: self-contained, no script, no network, every value escaped."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sanitize._util.formatting import clip, level, number, per_hundred, percent, quote_toml, times
from sanitize.report import _marks as marks
from sanitize.report._facts import Origin
from sanitize.report._headline import VERDICT_TOLERANCE, colour, is_worst_case, measure_excess
from sanitize.report._text import interval, is_words, margin_words, measure_limit, relation_words, utility_words

if TYPE_CHECKING:
    from jinja2 import Environment

    from sanitize._util.formatting import Number


# Limits that keep a page under a megabyte whatever the names are.
N_ROWS = 200
N_CELLS = 120
N_CELLS_OF_A_WARNING = 600


def make_page(document: dict[str, Any], *, whole: bool = True) -> str:
    """Document as a page; without its shell for a notebook, where its style reaches nothing outside."""
    columns, column_lines = document["columns"], document.get("kept", ())
    roles = (("sensitive", "sensitive"), ("released", "released"), ("kept", "kept as it is"))
    return render_template(
        "report/report.html.jinja",
        whole=whole,
        budget_words=document["verdict"]["allowed"] + margin_words(document).replace("inf", "∞"),
        roles=[(name, words) for role, words in roles for name in columns[role]],
        # What each column tells by itself, raw and released; nothing where it was not measured of any.
        alone={column["column"]: column for column in column_lines}
        if any(column["after"] is not None for column in column_lines)
        else {},
        marks=marks,
        document=document,
        **document | {"origin": document["origin"] or vars(Origin())},
    )


def render_template(template: str, **values: Any) -> str:
    """A template of the package with these values in their places."""
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """Templates of all rooms, with the filters that escape, shorten and round what they print."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        # What is no page has no marks of HTML to escape; its values are quoted by a filter.
        autoescape=lambda name: name is None or name.split(".")[1] not in ("toml", "md", "sql", "txt"),
        loader=PackageLoader("sanitize", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["limit"] = N_ROWS
    templates.filters["colour"] = colour
    templates.filters["utility"] = utility_words
    templates.filters["relations"] = relation_words
    templates.filters["plot"] = marks.curve_plot
    templates.filters["quoted"] = quote_toml
    templates.filters["markdown"] = _markdown
    templates.filters["plain"] = lambda cell: cell if is_words(cell) else number(cell)
    templates.filters["name"] = partial(clip, limit=N_CELLS)
    templates.filters["words"] = partial(clip, limit=N_CELLS_OF_A_WARNING)
    templates.filters["number"] = _number
    templates.filters["allowed"] = lambda measure: measure_limit(measure).replace("inf", "∞")
    templates.filters["interval"] = lambda measure: interval(measure).replace("inf", "∞")
    templates.filters["cell"] = lambda cell: clip(str(cell), N_CELLS) if is_words(cell) else _number(cell)
    templates.filters["is_over"] = lambda measure: measure_excess(measure) > VERDICT_TOLERANCE
    templates.filters["is_worst_case"] = is_worst_case
    templates.filters["per_hundred"] = per_hundred
    templates.filters["level"] = lambda confidence: level(float(confidence))
    templates.filters["percent"] = lambda share: percent(float(share))
    templates.filters["times"] = lambda log_lift: "-" if log_lift is None else f"{times(float(log_lift))} ×"
    templates.filters["nats"] = lambda value: f"{number(value)} nats"
    return templates


def _markdown(text: str) -> str:
    """One line that means nothing but its letters."""
    # Whatever means something in Markdown or in HTML, anywhere or at the start of a line; addresses would become links.
    marks = r"([\\`*_{}\[\]<>#!|~&$^]|^[-+=:]|:(?=//)|(?<=^www)\.|(?<=\d)[.)](?=\s))"
    return re.sub(marks, r"\\\1", clip(text, 400).replace("\\\\", "\\"))


def _number(value: Number) -> str:
    """Figure of a page, where there is a sign for infinity."""
    return number(value).replace("inf", "∞")
