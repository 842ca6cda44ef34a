"""When a search may stop: checked settings that the random responses share."""

from __future__ import annotations

import numpy as np

from sanitize.errors import InvalidParameter


def check_positive(*, gap: float, time_limit: float | None) -> None:
    """Refuse a gap that is not a number > 0, and a time limit that is neither None nor a number > 0."""
    for name, value in {"gap": gap, "time_limit": np.inf if time_limit is None else time_limit}.items():
        is_number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
        if not (is_number and value > 0):
            raise InvalidParameter(f"{name} must be a number > 0, got {value!r}")
