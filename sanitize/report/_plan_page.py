"""A plan as one self-contained page: the verdict, the curve of each mechanism, the figures, and lines of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sanitize._files.outputs import write_text
from sanitize.report._headline import colour
from sanitize.report._html import environment
from sanitize.report._text import plain_words, utility_words

if TYPE_CHECKING:
    from pathlib import Path

# Height of the plot in the units of its picture, and places of the budgets from left to right.
_HEIGHT, _WIDTH = 1000, 1000
_SHOWN = ("parts", "comparison", "budgets")


def plan_page(
    document: dict[str, Any],
    curves: list[dict[str, Any]],
    proposals: str,
    path: str | Path | None = None,
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
    chosen : int, optional
        Place of the policy's own budget among the points of the first curve.
    refusal : str, optional
        Why the report is of no release, and what to do about it.
    """
    page = (
        environment()
        .get_template("plan.html.jinja")
        .render(
            colour=colour(document),
            plain_words=plain_words(document),
            utility_words=utility_words(document),
            curves=curves,
            plot=plot_of(curves),
            chosen=chosen,
            refusal=refusal,
            proposals=proposals.splitlines(),
            shown=[section for section in document["sections"] if section["name"] in _SHOWN],
            limit=200,
            **document,
        )
    )
    if path is not None:
        write_text(path, page)
    return page


def plot_of(curves: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Places of the budgets, from left to right, and of what each mechanism keeps, up; None without a curve."""
    if not curves:
        return None
    labels = [point["label"] for point in curves[0]["points"]]
    places = {label: i / max(1, len(labels) - 1) for i, label in enumerate(labels)}
    drawn = []
    for number, curve in enumerate(curves):
        dots = [
            {"x": places[point["label"]], "y": 1 - min(1.0, max(0.0, float(point["normalized_utility"])))} | point
            for point in curve["points"]
            if point["label"] in places
        ]
        line = " ".join(f"{_WIDTH * dot['x']:.1f},{_HEIGHT * dot['y']:.1f}" for dot in dots)
        drawn.append({"name": curve["mechanism"], "number": number, "dots": dots, "line": line})
    ends = "; ".join(
        f"{one['name']} keeps {100 * (1 - one['dots'][0]['y']):.3g} % to {100 * (1 - one['dots'][-1]['y']):.3g} %"
        for one in drawn
    )
    return {"labels": [(label, places[label]) for label in labels], "curves": drawn, "words": ends}
