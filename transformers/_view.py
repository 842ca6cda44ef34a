"""How an estimator is seen: the bounds of its budget as parameters, and in a notebook the verdict of its fit."""

from __future__ import annotations

import html
from typing import Any

from sklearn.pipeline import Pipeline

from sanitize import budgets
from sanitize.errors import InvalidParameter
from sanitize.report import badge

PREFIX = "budget__"


def bounds_of(budget: object) -> dict[str, Any]:
    """Bounds of a budget by the name of their parameter; a number has none."""
    return {f"{PREFIX}{name}": value for name, value in budgets.bounds_of(budget).items()}


def with_bounds(budget: Any, changed: dict[str, Any]) -> Any:
    """The budget with some of its bounds replaced, by the name of their parameter.

    Raises
    ------
    InvalidParameter
        If it has no such bound.
    InvalidBudget
        If a bound is none.
    """
    known = bounds_of(budget)
    for name in changed:
        if name not in known:
            has = f"has {', '.join(known)}" if known else "has no bounds by name"
            raise InvalidParameter(
                f"{name!r} is no parameter: the budget {budget!r} {has}; give one of sanitize's budgets, such as "
                "LiftBudget(at_most=1.65, at_least=0.37), for a search over its bounds"
            )
    return type(budget)(**{name.removeprefix(PREFIX): value for name, value in (known | changed).items()})


class ShownWithVerdict:
    """Mixin that puts the headline of ``report_`` above the HTML of an estimator that is fitted."""

    def _sk_visual_block_(self) -> Any:
        """Its box in a diagram, where there is room for a name and the verdict beside it."""
        # scikit-learn has moved the class of these boxes before.
        block = type(Pipeline([("step", "passthrough")])._sk_visual_block_())
        return block("single", self, names=self._named_with_verdict(), name_details=str(self))

    def _named_with_verdict(self) -> str:
        words, report = type(self).__name__, getattr(self, "report_", None)
        if report is not None:
            words += f": {report.to_dict(audience='public')['verdict']['headline'].partition(' (')[0]}"
        return words

    def _repr_html_inner(self) -> str:
        return self._with_verdict(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._with_verdict(bundle["text/html"])
        return bundle

    def _with_verdict(self, page: str) -> str:
        """The box alone: what stands above it is not said again beside its name."""
        report, named = getattr(self, "report_", None), html.escape(self._named_with_verdict())
        return page if report is None else f"<div>{badge(report)}{page.replace(named, type(self).__name__)}</div>"
