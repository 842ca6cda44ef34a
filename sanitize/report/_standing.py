"""How good a design is known to be, as plain values: in reports and in saved releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from sanitize._formatting import exact
from sanitize.channel import Standing, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

_UP = 1.0005  # so that four digits are no less
STATUSES: tuple[str, ...] = get_args(Status)


def standing_to(standing: Standing | None) -> dict[str, Any] | None:
    """Status, gap in nats, what it is the best of, and all that in words; None where nothing is known."""
    if standing is None:
        return None
    return {
        "status": standing.status,
        "gap": exact(standing.gap),
        "among": standing.among,
        "words": standing.words,
    }


def standing_from(state: Mapping[str, Any] | None) -> Standing | None:
    """Inverse of `standing_to`; the words are made again."""
    return None if state is None else Standing(state["status"], state["gap"], state["among"])


def published(state: dict[str, Any] | None) -> dict[str, Any] | None:
    """The standing for anybody: its gap has four digits, as all figures have, and is rounded up."""
    if state is None or state["gap"] is None:
        return state
    return standing_to(Standing(state["status"], float(f"{state['gap'] * _UP:.4g}"), state["among"]))
