"""Dossier of a release for the person who signs, in the order of ISO/IEC 27559, as Markdown or one HTML page.

The dossier only repeats facts from the report, the policy, the verification and the ledger. Other facts (purpose,
recipients, agreements, responsibility) are blanks for the signer to fill in. Every name is escaped, no script runs and
no resource is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from sanitize._util.formatting import number
from sanitize.report._facts import Origin
from sanitize.report._headline import promise_name
from sanitize.report._html import render_template
from sanitize.report._text import margin_words, measure_limit, utility_words

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Material:
    """Material of a dossier in addition to the report, as plain values.

    Attributes
    ----------
    files : tuple of (what, name, SHA-256)
    policy : tuple of (setting, value), or None
        Settings of the policy, if there is one.
    dropped : tuple of str
        Columns that the policy leaves out.
    checks : tuple of (name, passed or failed, detail), or None
        Checks of the verification, if there is one.
    false_alarm : float or None
        Chance that an honest release fails the verification.
    ledger : (releases, budget in words) or None
    reason : str or None
        Reason for the limit, as stated in the policy.
    """

    files: tuple[Cells, ...]
    policy: tuple[Cells, ...] | None = None
    dropped: tuple[str, ...] = ()
    checks: tuple[Cells, ...] | None = None
    false_alarm: float | None = None
    ledger: tuple[int, str] | None = None
    reason: str | None = None


def dossier(document: dict[str, Any], material: Material, form: Literal["md", "html"]) -> str:
    """Make the dossier of a release from the document of its report, as Markdown or an HTML page.

    The public dossier leaves out counts of checks, and columns of the table that the report does not contain.
    """
    is_public = document["audience"] == "public"
    if is_public:
        bare = None if material.checks is None else tuple((name, result, "") for name, result, _ in material.checks)
        files = tuple(file for file in material.files if file[0] != "verification")  # it depends on counts
        material = replace(material, files=files, checks=bare, dropped=())
    return render_template(
        f"report/dossier.{form}.jinja",
        document=document,
        verdict=document["verdict"],
        origin=document["origin"] or vars(Origin()),
        material=material,
        margin=margin_words(document),
        utility="" if is_public else utility_words(document),
        promised=promise_name(document),
        number=number,
        allowed=measure_limit,
    )
