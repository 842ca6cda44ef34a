"""The verdict of a report as a few lines of HTML, to stand beside something else in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sanitize.report._headline import colour

if TYPE_CHECKING:
    from sanitize.report._views import ReportViews

# Of the bar beside the words, which are in the colour of the notebook's own text.
_COLOURS = {"good": "#1a7f37", "doubt": "#b45309", "bad": "#b42318", "plain": "#2563eb"}


def badge(report: ReportViews) -> str:
    """Headline and sentence of a report for the public, which names no symbol and no count."""
    document = report.to_dict(audience="public")
    verdict = document["verdict"]
    return (
        f'<div style="border-left: 6px solid {_COLOURS[colour(document)]}; padding: 2px 0 2px 10px; margin: 6px 0">'
        f"<strong>{escape(verdict['headline'])}</strong><br>{escape(verdict['sentence'])}</div>"
    )
