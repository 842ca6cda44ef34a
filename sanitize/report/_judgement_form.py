"""Forms of a judgement in JSON: as a document of its own, and as a part of a report."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from sanitize._util.declared import Count, Finite, Positive, Share, field_note, form, list_form

# A saved judgement of another kind or version is refused rather than guessed at.
_SCHEMA: Any = Literal["sanitize/judgement"]
_VERSION: Any = Literal[1]
# A difference of two shares.
_Difference = Annotated[float, field_note("a number between -1 and 1", ge=-1, le=1)]
_CLAIM: Any = Literal["promised", "membership"]
_ATTACK: dict[str, Any] = {
    **dict.fromkeys(("title", "question"), str),
    "claim": _CLAIM,
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

# Fields of a judgement, and of each attack, in a report.
HEAD_FIELDS, ATTACK_FIELDS = tuple(_HEAD), tuple(_ATTACK)
JUDGEMENT_OF_REPORT = form("judgement_of_report", **_HEAD, attacks=list_form(form("attack_of_report", **_ATTACK)))

# A test checks that this form agrees with ``judgement.schema.json``.
JUDGEMENT = form(
    "judgement",
    schema=_SCHEMA,
    version=_VERSION,
    library_version=str,
    verdicts=list_form(
        form(
            "verdict",
            claim=_CLAIM,
            verdict=Literal["refuted", "not refuted", "too few people to tell"],
            refuted_by=list[str],
            **dict.fromkeys(("n_attacks", "n_open"), Count),
            people_needed=Positive | None,
            **dict.fromkeys(("excess", "confidence"), Share),
            **dict.fromkeys(("title", "headline", "sentence"), str),
        )
    ),
    attacks=list_form(
        form(
            "attack",
            **_ATTACK,
            interval=tuple[_Difference, _Difference] | None,
            chance=Share | None,
            excess=Share,
            n=Positive,
            surest=Positive | None,
            is_strict=bool,
        )
    ),
    excess=Share,
    lift=Finite | None,
    at_most=Finite | None,
    **dict.fromkeys(("side_columns", "columns"), list[str]),
    left_out=list[tuple[str, str]],
    n_released=Positive,
    is_twin=bool,
    **_HEAD,
)
