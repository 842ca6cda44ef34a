"""Form of a judgement in the JSON of a report; ``judgement.schema.json`` describes a judgement in its own file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from sanitize._util.declared import Count, Share, field_note, form, list_form

# A difference of two shares may be negative.
_Difference = Annotated[float, field_note("a number between -1 and 1", ge=-1, le=1)]
# Everything that the page of a report shows of a judgement, so that a saved report can be checked and shown again.
_ATTACK: dict[str, Any] = {
    **dict.fromkeys(("title", "question"), str),
    "claim": Literal["promised", "membership"],
    "figure": Literal["ranking", "share", "secret"],
    "people": Share,
    "outsiders": Share | None,
    "difference": _Difference | None,
    "status": Literal["more", "a little more", "no more", "open"] | None,
    **dict.fromkeys(("verdict", "sentence"), str),
}
_HEAD: dict[str, Any] = {
    **dict.fromkeys(("headline", "sentence"), str),
    "notes": list[str],
    "n_people": Count,
    "n_outsiders": Count | None,
    "confidence": Share,
}

# Taken from the forms, so that a judgement cannot enter a report with a field that the report could not read.
HEAD_FIELDS, ATTACK_FIELDS = tuple(_HEAD), tuple(_ATTACK)
JUDGEMENT_OF_REPORT = form("judgement_of_report", **_HEAD, attacks=list_form(form("attack_of_report", **_ATTACK)))
