"""Figures of attacks as plain values and words."""

from __future__ import annotations

import math
from typing import Any


def figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share as a percentage of three significant digits."""
    return f"{100 * share:.3g} %"


def between(interval: tuple[float, float]) -> str:
    """An interval of three significant digits."""
    return f"{figure(interval[0])} to {figure(interval[1])}"


def plain(value: Any, audience: str) -> Any:
    """Values without infinities; floats rounded to four digits for the public.

    All digits of a ratio of counts would give the counts away.
    """
    if isinstance(value, dict):
        return {key: plain(inner, audience) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, audience) for inner in value]
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value if audience == "internal" else float(f"{value:.4g}")
