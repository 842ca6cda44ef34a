"""What somebody tried on a release, as a report shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sanitize._measurement import Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Finding(Protocol):
    """A result that a report can carry, for example one of `sanitize.attack`.

    One with an attribute ``ok`` that is False says that the release is not what the report measured.
    """

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that name no symbol."""
        ...


def refuted(findings: Iterable[Finding]) -> bool:
    """Whether one of them says that the release is not what the report measured."""
    return not all(getattr(finding, "ok", True) for finding in findings)


def findings_sections(findings: Sequence[Finding]) -> tuple[Section, ...]:
    """A section of the report for each of them."""
    return tuple(
        Section(f"finding {number}", "Tried on the release", ". ".join(finding.summary) + ".", public=True)
        for number, finding in enumerate(findings, 1)
    )
