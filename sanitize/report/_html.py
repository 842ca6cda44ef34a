"""A report, or a plan, as one self-contained page: no script, no network, every value escaped."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sanitize._files.outputs import written
from sanitize._formatting import clip, number, of_100, percent, quoted, times
from sanitize.report import _marks as marks
from sanitize.report._facts import Origin
from sanitize.report._headline import VERDICT_TOLERANCE, colour, excess_of, of_source
from sanitize.report._text import allowed, interval, is_words, margin_words, utility_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jinja2 import Environment

    from sanitize._formatting import Number


# Sections of a plan's page.
_PLANNED = ("limits", "guesses", "kept by column", "parts", "comparison", "budgets", "changes")
# Limits that keep a page under a megabyte whatever the names are.
N_ROWS = 200
N_CELLS = 120
N_CELLS_OF_A_WARNING = 600


def page_of(document: dict[str, Any], *, whole: bool = True) -> str:
    """Document as a page; without its shell for a notebook, where its style reaches nothing outside."""
    columns, kept = document["columns"], document["kept"]
    roles = (("sensitive", "sensitive"), ("released", "released"), ("kept", "kept as it is"))
    return rendered(
        "report/report.html.jinja",
        whole=whole,
        colour=colour(document),
        budget_words=document["verdict"]["allowed"] + margin_words(document).replace("inf", "∞"),
        utility_words=utility_words(document, in_nats=False),
        roles=[(name, words) for role, words in roles for name in columns[role]],
        # What each column tells by itself, raw and released; nothing where it was not measured of any.
        alone={one["column"]: one for one in kept} if any(one["after"] is not None for one in kept) else {},
        limit=N_ROWS,
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
        autoescape=lambda name: name is None or not name.endswith((".toml.jinja", ".md.jinja")),
        loader=PackageLoader("sanitize", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
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


def plan_page(
    document: dict[str, Any],
    curves: list[dict[str, Any]],
    proposals: str,
    path: str | Path | None = None,
    recommended: Sequence[str] = (),
    *,
    chosen: int | None = None,
    refusal: str | None = None,
) -> str:
    """The page; also written to ``path`` in one step, readable by its owner only, when one is given.

    Parameters
    ----------
    document : dict
        Internal document of the report (`LeakageReport.to_dict`), with the plan's sections.
    curves : list of dict
        Documents of the curves (`TradeoffCurve.to_dict`), the policy's own mechanism first.
    proposals : str
        Lines of a policy.
    path : path, optional
    recommended : sequence of str
        Sentences that the page begins with.
    chosen : int, optional
        Place of the policy's own budget among the points of the first curve.
    refusal : str, optional
        Why the report is of no release, and what to do about it.
    """
    page = rendered(
        "report/plan.html.jinja",
        colour=colour(document),
        utility_words=utility_words(document),
        curves=curves,
        plot=plot_of(curves),
        chosen=chosen,
        recommended=recommended,
        refusal=refusal,
        proposals=proposals.splitlines(),
        shown=[section for section in document["sections"] if section["name"] in _PLANNED],
        limit=N_ROWS,
        **document,
    )
    return written(page, path)


def plot_of(curves: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Places of the budgets, from left to right, and of what each mechanism keeps, up; None without a curve."""
    if not curves:
        return None
    labels = [point["label"] for point in curves[0]["points"]]
    places = {label: i / max(1, len(labels) - 1) for i, label in enumerate(labels)}
    drawn = []
    for place, curve in enumerate(curves):
        dots = [
            {"x": places[point["label"]], "y": 1 - min(1.0, max(0.0, float(point["normalized_utility"])))} | point
            for point in curve["points"]
            if point["label"] in places
        ]
        line = " ".join(f"{1000 * dot['x']:.1f},{1000 * dot['y']:.1f}" for dot in dots)
        drawn.append({"name": curve["mechanism"], "number": place, "dots": dots, "line": line})
    ends = "; ".join(
        f"{one['name']} keeps {100 * (1 - one['dots'][0]['y']):.3g} % to {100 * (1 - one['dots'][-1]['y']):.3g} %"
        for one in drawn
    )
    return {"labels": [(label, places[label]) for label in labels], "curves": drawn, "words": ends}
