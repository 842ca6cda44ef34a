"""What is known of a release beyond the numbers of its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from sanitize._measurement import Measure, PartLeakage
    from sanitize.channel import Channel

SEEDED_NOTE = "the noise is seeded: fit for tests, not for release"


@runtime_checkable
class ChannelBudget(Protocol):
    """A budget that also limits a figure of the whole channel, such as a capacity, which no law of (S, Y) tells."""

    def measure_channel(self, channel: Channel) -> Measure:
        """The figure and what is allowed."""
        ...


@dataclass(frozen=True)
class ReleaseFacts:
    """What a report says about a release beyond its numbers.

    Attributes
    ----------
    mechanism : str
        Name of the rule that designed the channel.
    release : str
        ``resample`` (a released symbol is printed as a public one) or ``label``.
    seeded : bool
        The noise came from a seed, so the release can be undone by whoever guesses it.
    n_unseen : int or None
        Rows whose symbol was absent at fit.
    warnings : tuple of str
        Sentences for people; they name no sensitive symbol.
    kept : tuple of str
        Columns released without a channel.
    parts : tuple of PartLeakage
        Of a joint release: what each part and each kept column tells by itself.
    """

    mechanism: str = "none"
    release: str = "resample"
    seeded: bool = False
    n_unseen: int | None = None
    warnings: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    parts: tuple[PartLeakage, ...] = ()
