"""Result of the verification of a released file, with its single checks, as text and as JSON."""

from __future__ import annotations

from typing import Annotated, Any

from sanitize._util.declared import Declared, SchemaError, field_note, read, to_builtin
from sanitize._util.outputs import json_text
from sanitize._util.tolerances import FALSE_ALARM
from sanitize.errors import SourceError, VerificationFailed
from sanitize.report import State

# Files begin with these fields, by which a reader refuses other documents and later versions.
_SCHEMA = {"schema": "sanitize/verification", "version": 1}


class Check(Declared, frozen=True):
    """Result of one check of a released file.

    Attributes
    ----------
    name : str
    ok : bool
    detail : str
        Description of what was checked and found; it quotes no value of the source.
    """

    name: str
    ok: bool
    detail: str

    @classmethod
    def success(cls, name: str, detail: str) -> Check:
        """Return a check that passed."""
        return cls(name, ok=True, detail=detail)

    @classmethod
    def failure(cls, name: str, detail: str) -> Check:
        """Return a check that failed, with the fault."""
        return cls(name, ok=False, detail=detail)


class Verification(Declared, frozen=True):
    """Frozen result of the verification of a released file.

    Attributes
    ----------
    checks : tuple of Check
        Checks, each with ``name``, ``ok`` and ``detail``; no detail quotes a value of the source.
    false_alarm : float
        Largest chance that an honest release fails a statistical check.
    state, headline, sentence : str or None
        Claims of the report of the release, designed again; None if the order of the rows was refused.
    digest : str or None
        Digest of the released file, ``sha256:`` and the output of ``sha256sum``, which ties the result to this file.

    Examples
    --------
    >>> found = Verification((Check.success("rows", "4 released, 4 in the source"), Check.failure("order", "sorted")))
    >>> found.ok
    False
    >>> print(found.to_text())
    FAILED: do not hand it out (false alarms: at most 1e-06)
    ok    rows   4 released, 4 in the source
    FAIL  order  sorted
    """

    checks: Annotated[tuple[Check, ...], field_note("a list of checks, and not empty", min_length=1)]
    false_alarm: Annotated[float, field_note("a chance below 1", ge=0, lt=1)] = FALSE_ALARM
    state: State | None = None
    headline: str | None = None
    sentence: str | None = None
    digest: str | None = None

    @property
    def ok(self) -> bool:
        """True if every check passed."""
        return all(check.ok for check in self.checks)

    def require(self) -> Verification:
        """Return the verification itself if every check passed; otherwise raise an error.

        Raises
        ------
        VerificationFailed
        """
        if not self.ok:
            raise VerificationFailed(self)
        return self

    def to_text(self) -> str:
        """Return the verification as text, one line per check."""
        width = max(len(check.name) for check in self.checks)
        lines = [f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<{width}}  {check.detail}" for check in self.checks]
        verdict = "FAILED: do not hand it out"
        if self.ok:
            verdict = "NOT REFUTED, and without a receipt its rows are not proved" if self.false_alarm else "VERIFIED"
        claim = [f"The release: {self.headline}. {self.sentence}"] if self.headline else []
        how = f"false alarms: at most {self.false_alarm:g}" if self.false_alarm else "drawn again by its receipt"
        return "\n".join([f"{verdict} ({how})", *claim, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Return the verification as plain values, for JSON."""
        return {**_SCHEMA, "ok": self.ok, **to_builtin(self), "checks": [to_builtin(check) for check in self.checks]}

    def to_json(self) -> str:
        """Return the verification as JSON; characters outside ASCII are escaped."""
        return json_text(self.to_dict())

    @classmethod
    def from_dict(cls, saved: Any) -> Verification:
        """Read a verification that `to_dict` wrote, and check its form but not its truth.

        Raises
        ------
        SourceError
            If the values are not a verification, or contradict each other.
        """
        if not isinstance(saved, dict) or {name: saved.get(name) for name in _SCHEMA} != _SCHEMA:
            raise SourceError("this is not a verification: expected the JSON that sanitize verify --json writes")
        try:
            verification = read(cls, {name: value for name, value in saved.items() if name not in {*_SCHEMA, "ok"}})
        except SchemaError as error:
            raise SourceError(f"the verification is damaged, or was not written by sanitize verify: {error}") from None
        if saved.get("ok") is not verification.ok:
            raise SourceError("the verdict of the verification contradicts its checks; run sanitize verify again")
        return verification

    def __str__(self) -> str:
        return self.to_text()
