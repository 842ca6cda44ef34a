"""HTML pages from templates, such as a report: self-contained, no script, no network, every value escaped."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sanitize._util.formatting import clip, level, number, per_hundred, percent, quote_toml, times_up
from sanitize.report import _marks as marks
from sanitize.report._facts import Origin
from sanitize.report._headline import (
    VERDICT_TOLERANCE,
    belongs_to_no_one,
    colour,
    is_worst_case,
    measure_excess,
    release_kind,
    sign_answer,
)
from sanitize.report._text import interval, is_words, measure_limit, relation_words, utility_words

if TYPE_CHECKING:
    from jinja2 import Environment

    from sanitize._util.formatting import Number


# Most rows of a table, and characters of a name and of a sentence, so that a page stays under a megabyte.
N_ROWS = 200
N_CELLS = 120
N_CELLS_OF_A_WARNING = 600


def make_page(document: dict[str, Any], *, whole: bool = True) -> str:
    """Render a document as a page, or as a notebook fragment with a style that affects the fragment only."""
    column_lines = document.get("kept", ())
    is_measured = any(column["after"] is not None for column in column_lines)
    return render_template(
        "report/report.html.jinja",
        whole=whole,
        limit_words=re.sub(r" \(log-lift[^)]*\)", "", document["verdict"]["allowed"]),
        sign=sign_answer(document) if document["audience"] == "internal" else None,
        # Leakage through each column alone, raw and released; empty if not measured for any column.
        alone={column["column"]: column for column in column_lines if is_measured},
        marks=marks,
        document=document,
        **document | {"origin": document["origin"] or vars(Origin())},
    )


def render_template(template: str, **values: Any) -> str:
    """Render a template of the package with given values."""
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """Jinja environment with the templates of all parts, and filters that escape, shorten and round values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        # Files other than HTML are not escaped; a filter quotes their values.
        autoescape=lambda name: name is None or name.split(".")[1] not in ("toml", "md", "sql", "txt"),
        loader=PackageLoader("sanitize", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["limit"] = N_ROWS
    plain = (belongs_to_no_one, colour, is_worst_case, per_hundred, release_kind)
    templates.filters |= {function.__name__: function for function in plain} | {
        "utility": utility_words,
        "relations": relation_words,
        "plot": marks.curve_plot,
        "quoted": quote_toml,
        "markdown": _markdown,
        "plain": lambda cell: cell if is_words(cell) else number(cell),
        "name": partial(clip, limit=N_CELLS),
        "words": partial(clip, limit=N_CELLS_OF_A_WARNING),
        "number": _number,
        "allowed": lambda measure: measure_limit(measure).replace("inf", "∞"),
        "interval": lambda measure: interval(measure).replace("inf", "∞"),
        "cell": lambda cell: clip(str(cell), N_CELLS) if is_words(cell) else _number(cell),
        "is_over": lambda measure: measure_excess(measure) > VERDICT_TOLERANCE,
        "level": lambda confidence: level(float(confidence)),
        "percent": lambda share: percent(float(share)),
        "times": lambda log_lift: "-" if log_lift is None else f"{times_up(log_lift)} ×",
        "nats": lambda value: f"{number(value)} nats",
    }
    return templates


def _markdown(text: str) -> str:
    """Escape one line so that Markdown shows it literally."""
    # Signs with a meaning in Markdown or HTML, anywhere or at the start of a line; addresses would become links.
    marks = r"([\\`*_{}\[\]<>#!|~&$^]|^[-+=:]|:(?=//)|(?<=^www)\.|(?<=\d)[.)](?=\s))"
    return re.sub(marks, r"\\\1", clip(text, 400).replace("\\\\", "\\"))


def _number(value: Number) -> str:
    """Format a figure of a page, with the sign for infinity."""
    return number(value).replace("inf", "∞")
