"""Views of a report's document: JSON, text, a page, a fragment, and a badge next to a frame in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from sanitize._util.formatting import box
from sanitize.report._document import Audience
from sanitize.report._headline import colour


class ReportViews(ABC):
    """Views of a report, each made from its document only.

    ``audience`` is ``internal`` (with figures, released symbols and counts) or ``public`` (declared facts and the
    verdict). A measured report is internal by default; a saved report has the audience for which it was saved.
    """

    @property
    def _audience(self) -> Audience:
        """Default audience of the views."""
        return "internal"

    @abstractmethod
    def _document(self, audience: Audience, n_symbols: int | None = None, *, is_drawn: bool = True) -> dict[str, Any]:
        """Report as plain values, with at most ``n_symbols`` released symbols, and values for pictures if requested."""

    def _for(self, audience: Audience | None) -> Audience:
        return self._audience if audience is None else audience

    def to_dict(self, *, audience: Audience | None = None) -> dict[str, Any]:
        """Return the report as plain values; infinities are the strings "inf" and "-inf"."""
        return self._document(self._for(audience))

    def to_json(self, path: str | Path | None = None, *, audience: Audience | None = None) -> str:
        """Return the report as JSON with a versioned schema; if ``path`` is given, also write it."""
        from sanitize._util.outputs import json_text

        return json_text(self._document(self._for(audience)), path)

    def to_html(self, path: str | Path | None = None, *, audience: Audience | None = None) -> str:
        """Return the report as one self-contained page without script or network; also write it to a given ``path``."""
        from sanitize._util.outputs import write_text
        from sanitize.report._html import N_ROWS, make_page

        return write_text(make_page(self._document(self._for(audience), N_ROWS)), path)

    def to_text(self, *, audience: Audience | None = None, full: bool = True) -> str:
        """Return the report as a screen of text, 80 columns wide; without ``full``, only verdict and utility."""
        from sanitize.report._text import N_SYMBOLS, to_brief, to_text

        return (to_text if full else to_brief)(self._document(self._for(audience), N_SYMBOLS, is_drawn=False))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from sanitize.report._html import N_ROWS, make_page

        return make_page(self._document(self._audience, N_ROWS), whole=False)


def badge(report: ReportViews) -> str:
    """Headline of a report with sentences on figures and people, without symbols, for its owner's screen."""
    document = report._document("internal", 0, is_drawn=False) if report._audience == "internal" else report.to_dict()
    verdict = document["verdict"]
    # Colour of the bar next to the text, which has the notebook's own colour.
    colours = {"good": "#1a7f37", "doubt": "#b45309", "bad": "#b42318", "plain": "#2563eb"}
    words = [verdict[name] for name in ("sentence", "people") if verdict[name]]
    return box(verdict["headline"], words, bar=colours[colour(document)])
