"""How good a design is known to be, as plain values: in reports and in saved releases."""

from __future__ import annotations

from typing import Any

from sanitize._files.declared import Declared, NonNegative, plain, require
from sanitize._formatting import exact
from sanitize.channel import Standing, Status

_UP = 1.0005  # so that four digits are no less


class StandingForm(Declared, frozen=True):
    """Status, gap in nats, what it is the best of, and all that in words, which are those that the gap calls for."""

    status: Status
    gap: NonNegative | None
    among: str
    words: str

    def __post_init__(self) -> None:
        require(self.words == self.standing.words, "contradict the gap", "words")

    @property
    def standing(self) -> Standing:
        """The same without the words."""
        return Standing(self.status, self.gap, self.among)

    @classmethod
    def of(cls, standing: Standing | None) -> StandingForm | None:
        """Form of a standing; None where nothing is known."""
        if standing is None:
            return None
        gap = exact(standing.gap)
        return cls(standing.status, gap if isinstance(gap, float) else None, standing.among, standing.words)


def standing_to(standing: Standing | None) -> dict[str, Any] | None:
    """The form as a dictionary."""
    made: dict[str, Any] | None = plain(StandingForm.of(standing))
    return made


def published(state: dict[str, Any] | None) -> dict[str, Any] | None:
    """The standing for anybody: its gap has four digits, as all figures have, and is rounded up."""
    if state is None or state["gap"] is None:
        return state
    return standing_to(Standing(state["status"], float(f"{state['gap'] * _UP:.4g}"), state["among"]))
