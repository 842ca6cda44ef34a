"""Checks of a released file; and those read back from JSON, for their form and for contradictions, not for truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sanitize.errors import SourceError

_TEXTS = ("state", "headline", "sentence", "digest")


@dataclass(frozen=True)
class Check:
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


def read_verification(saved: Any, schema: str, version: int) -> dict[str, Any]:
    """Fields of a verification from its plain values.

    Raises
    ------
    SourceError
        The message quotes nothing of the file.
    """
    if not isinstance(saved, dict) or (saved.get("schema"), saved.get("version")) != (schema, version):
        raise SourceError("this is not the JSON that sanitize verify --json printed")
    checks, chance = saved.get("checks"), saved.get("false_alarm")
    if not isinstance(checks, list) or not checks:
        raise SourceError("the verification has no checks")
    sound = all(map(_is_check, checks))
    sound = sound and isinstance(chance, float) and 0 <= chance < 1
    sound = sound and all(saved.get(name) is None or isinstance(saved[name], str) for name in _TEXTS)
    if not sound:
        raise SourceError("the verification has another form than sanitize verify --json gives it")
    found = tuple(Check(check["name"], check["ok"], check["detail"]) for check in checks)
    if saved.get("ok") is not all(check.ok for check in found):
        raise SourceError("the verification's verdict contradicts its checks")
    return {"checks": found, "false_alarm": chance, **{name: saved.get(name) for name in _TEXTS}}


def _is_check(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("ok"), bool)
        and isinstance(value.get("detail"), str)
    )
