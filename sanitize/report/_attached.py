"""The report of a released frame, remembered as long as the frame lives."""

from __future__ import annotations

import json
import weakref
from typing import TYPE_CHECKING, Any

from sanitize._version import __version__

if TYPE_CHECKING:
    from sanitize.report._report import LeakageReport

# By object identity, because frames are not hashable; an entry goes when its frame does.
_KEPT: dict[int, LeakageReport] = {}


def attach_report(frame: Any, report: LeakageReport) -> Any:
    """Remember the report of a released frame; pandas frames also carry a summary without counts."""
    key = id(frame)
    try:
        weakref.finalize(frame, _KEPT.pop, key, None)
    except TypeError:  # arrays of some kinds cannot be watched, so nothing is remembered for them
        return frame
    _KEPT[key] = report
    if hasattr(frame, "attrs"):
        frame.attrs["sanitize"] = json.dumps(
            {
                "version": __version__,
                "mechanism": report.facts.mechanism,
                "budget": repr(report.budget),
                "within_budget": report.ok,
            }
        )
    return frame


def report_of(frame: Any) -> LeakageReport | None:
    """Report attached to a released frame, if it is that very object."""
    return _KEPT.get(id(frame))
