"""What every report can do with its document: JSON, text, a page, a fragment for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sanitize._render.saved import SavedReport

Audience = Literal["internal", "public"]


class ReportViews(ABC):
    """Views of a report, each made from its document and from nothing else.

    ``audience`` is ``internal`` (with released symbols and counts) or ``public``; a report that was measured is
    internal unless told otherwise, a saved one has the audience it was saved for.
    """

    @property
    def _audience(self) -> Audience:
        """For whom the views are unless another audience is named."""
        return "internal"

    @abstractmethod
    def _document(self, audience: Audience, n_symbols: int | None = None) -> dict[str, Any]:
        """Plain values of the report, with at most ``n_symbols`` released symbols."""

    @staticmethod
    def from_json(text: str | bytes) -> SavedReport:
        """Read a report back from the text that `to_json` gave.

        What comes back can be printed in every way a report can, and cannot be measured again: a saved report
        holds figures, not the law.

        Raises
        ------
        SourceError
            If the text is not a report of a version this library knows, or contradicts itself.

        Examples
        --------
        >>> import sanitize as sz
        >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
        >>> report = sz.LeakageReport.measure(joint, sz.watchdog(joint, 0.3), sz.LiftBudget.symmetric(0.3))
        >>> saved = sz.LeakageReport.from_json(report.to_json())
        >>> saved.ok, saved.to_html() == report.to_html()
        (True, True)
        """
        from sanitize._render.saved import SavedReport

        return SavedReport.from_json(text)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> SavedReport:
        """Read a report back from the mapping that `to_dict` gave; see `from_json`."""
        from sanitize._render.saved import SavedReport

        return SavedReport.from_dict(document)

    def _for(self, audience: Audience | None) -> Audience:
        return self._audience if audience is None else audience

    def to_dict(self, *, audience: Audience | None = None) -> dict[str, Any]:
        """The report as plain values; infinities are the strings "inf" and "-inf"."""
        return self._document(self._for(audience))

    def to_json(self, path: str | Path | None = None, *, audience: Audience | None = None) -> str:
        """The report as JSON with a versioned schema; written to ``path`` when one is given."""
        from sanitize._render.document import to_json

        return to_json(self._document(self._for(audience)), path)

    def to_html(self, path: str | Path | None = None, *, audience: Audience | None = None) -> str:
        """The report as one self-contained page: no script, no network; written to ``path`` when given."""
        from sanitize._render.html import N_ROWS, to_html

        return to_html(self._document(self._for(audience), N_ROWS), path)

    def to_text(self, *, audience: Audience | None = None) -> str:
        """The report as one screen of text, 80 columns wide."""
        from sanitize._render.text import N_SYMBOLS, to_text

        return to_text(self._document(self._for(audience), N_SYMBOLS))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from sanitize._render.html import N_ROWS, to_fragment

        return to_fragment(self._document(self._audience, N_ROWS))
