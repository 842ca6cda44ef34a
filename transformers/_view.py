"""How a notebook shows an estimator: scikit-learn's diagram, and above it the verdict of the fit."""

from __future__ import annotations

from typing import Any

from sanitize.report import badge


class ShownWithVerdict:
    """Mixin that puts the headline of ``report_`` above the HTML of an estimator that is fitted."""

    def _repr_html_inner(self) -> str:
        return self._with_verdict(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._with_verdict(bundle["text/html"])
        return bundle

    def _with_verdict(self, page: str) -> str:
        report = getattr(self, "report_", None)
        return page if report is None else f"<div>{badge(report)}{page}</div>"
