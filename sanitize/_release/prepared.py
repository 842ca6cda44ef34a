"""What is known of a release to files after its first pass, whoever prepared it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sanitize._formatting import exact, rounded
from sanitize._version import __version__
from sanitize.budgets import BUDGETS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sanitize._release.release import Release
    from sanitize._release.row_order import RowOrder
    from sanitize._sampling.noise import RandomWords
    from sanitize.report import LeakageReport

Report = TypeVar("Report", covariant=True)

_FOOTER_BYTES = 2048
_FIGURES = ("max_log_lift", "min_log_lift", "normalized_utility")


@dataclass(frozen=True)
class Prepared(Generic[Report]):
    """All that the second pass over a table needs, and what is told to who asked for it.

    Attributes
    ----------
    release : Release
        Without a law. It takes unseen symbols, because in the second pass they mean that the source has changed.
    expected : ndarray of int, shape (n_x,)
        Rows of each input symbol of the channel, which the second pass must see again.
    words : RandomWords
        Noise of this release.
    report : LeakageReport or AppendedReport
    footer : bytes
        What the file says about itself, as JSON.
    """

    release: Release
    expected: NDArray[np.int64]
    words: RandomWords = field(repr=False)
    report: Report
    footer: bytes


def _spelt(budget: Any) -> str:
    """Budget in words that are the same of equal budgets, however their numbers were written."""
    name = type(budget).__name__
    if BUDGETS.get(name) is not type(budget):
        return repr(budget)
    return f"{name}({', '.join(f'{bound.name}={float(getattr(budget, bound.name))!r}' for bound in fields(budget))})"


def footer_of(report: LeakageReport, order: RowOrder) -> bytes:
    """Verdict, budget and figures of a release as JSON; no symbols and no counts."""
    figures = {name: rounded(exact(report.summary[name])) for name in _FIGURES}
    text = {
        "sanitize": __version__,
        "mechanism": report.facts.mechanism,
        "budget": _spelt(report.budget),
        "within_budget": report.ok,
        "max_log_lift": figures["max_log_lift"],
        "min_log_lift": str(figures["min_log_lift"]),
        "normalized_utility": figures["normalized_utility"],
        "rows": order,
    }
    packed = json.dumps(text).encode()
    if len(packed) > _FOOTER_BYTES:  # a budget of the user's own may have a long name
        packed = json.dumps({**text, "budget": type(report.budget).__name__[:100]}).encode()
    return packed
