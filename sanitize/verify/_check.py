"""Checks of a released file."""

from __future__ import annotations

from sanitize._files.declared import Declared


class Check(Declared, frozen=True):
    """One check of a released file.

    Attributes
    ----------
    name : str
    ok : bool
    detail : str
        What was looked at and what was found; it quotes no value of the source.
    """

    name: str
    ok: bool
    detail: str

    @classmethod
    def passed(cls, name: str, detail: str) -> Check:
        """A check that found nothing."""
        return cls(name, ok=True, detail=detail)

    @classmethod
    def failed(cls, name: str, detail: str) -> Check:
        """A check that found a fault."""
        return cls(name, ok=False, detail=detail)
