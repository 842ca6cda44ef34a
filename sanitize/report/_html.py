"""Pages from templates, a report as one: self-contained, no script, no network, every value escaped."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sanitize._util.formatting import clip, level, number, of_100, percent, quoted, times
from sanitize.report import _marks as marks
from sanitize.report._facts import Origin
from sanitize.report._headline import VERDICT_TOLERANCE, colour, excess_of, of_source
from sanitize.report._text import allowed, interval, is_words, margin_words, utility_words

if TYPE_CHECKING:
    from jinja2 import Environment

    from sanitize._util.formatting import Number


# Limits that keep a page under a megabyte whatever the names are.
N_ROWS = 200
N_CELLS = 120
N_CELLS_OF_A_WARNING = 600


def page_of(document: dict[str, Any], *, whole: bool = True) -> str:
    """Document as a page; without its shell for a notebook, where its style reaches nothing outside."""
    columns, kept = document["columns"], document.get("kept", ())
    roles = (("sensitive", "sensitive"), ("released", "released"), ("kept", "kept as it is"))
    return rendered(
        "report/report.html.jinja",
        whole=whole,
        budget_words=document["verdict"]["allowed"] + margin_words(document).replace("inf", "∞"),
        roles=[(name, words) for role, words in roles for name in columns[role]],
        # What each column tells by itself, raw and released; nothing where it was not measured of any.
        alone={one["column"]: one for one in kept} if any(one["after"] is not None for one in kept) else {},
        marks=marks,
        document=document,
        **document | {"origin": document["origin"] or vars(Origin())},
    )


def rendered(template: str, **values: Any) -> str:
    """A template of the package with these values in their places."""
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """Templates of all rooms, with the filters that escape, shorten and round what they print."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        # What is no page has no marks of HTML to escape; its values are quoted by a filter.
        autoescape=lambda name: name is None or name.split(".")[1] not in ("toml", "md", "sql", "txt"),
        loader=PackageLoader("sanitize", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["limit"] = N_ROWS
    made.filters["colour"] = colour
    made.filters["utility"] = utility_words
    made.filters["plot"] = marks.plot_of
    made.filters["quoted"] = quoted
    made.filters["markdown"] = _markdown
    made.filters["plain"] = lambda cell: cell if is_words(cell) else number(cell)
    made.filters["name"] = partial(clip, limit=N_CELLS)
    made.filters["words"] = partial(clip, limit=N_CELLS_OF_A_WARNING)
    made.filters["number"] = _number
    made.filters["allowed"] = lambda measure: allowed(measure).replace("inf", "∞")
    made.filters["interval"] = lambda measure: interval(measure).replace("inf", "∞")
    made.filters["cell"] = lambda cell: clip(str(cell), N_CELLS) if is_words(cell) else _number(cell)
    made.filters["is_over"] = lambda measure: excess_of(measure) > VERDICT_TOLERANCE
    made.filters["of_source"] = of_source
    made.filters["of_100"] = of_100
    made.filters["level"] = lambda confidence: level(float(confidence))
    made.filters["percent"] = lambda share: percent(float(share))
    made.filters["times"] = lambda log_lift: "-" if log_lift is None else f"{times(float(log_lift))} ×"
    made.filters["nats"] = lambda value: f"{number(value)} nats"
    return made


def _markdown(text: str) -> str:
    """One line that means nothing but its letters."""
    # Whatever means something in Markdown or in HTML, anywhere or at the start of a line; addresses would become links.
    marks = r"([\\`*_{}\[\]<>#!|~&$^]|^[-+=:]|:(?=//)|(?<=^www)\.|(?<=\d)[.)](?=\s))"
    return re.sub(marks, r"\\\1", clip(text, 400).replace("\\\\", "\\"))


def _number(value: Number) -> str:
    """Figure of a page, where there is a sign for infinity."""
    return number(value).replace("inf", "∞")
