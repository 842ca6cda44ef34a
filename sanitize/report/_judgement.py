"""Results of attacks on a released file, with two verdicts, as values, as sentences, and as a page for the owner.

The results depend on raw rows of people, so they are for the owner and never part of a public view.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from sanitize._util.formatting import Told, clip, figure, level, per_hundred, spell_infinities
from sanitize._util.outputs import json_text, write_text
from sanitize._version import __version__
from sanitize.errors import ReleaseRefuted
from sanitize.report._html import render_template
from sanitize.report._judgement_form import ATTACK_FIELDS, HEAD_FIELDS
from sanitize.report._text import WIDTH

# Schema and version, by which a reader of saved judgements refuses other documents.
SCHEMA, VERSION = "sanitize/judgement", 1
Claim = Literal["promised", "membership"]
# The claim that refutes a promise comes first.
CLAIMS: tuple[Claim, ...] = ("promised", "membership")
Status = Literal["more", "a little more", "no more", "open"]
Verdict = Literal["refuted", "not refuted", "too few people to tell"]

# An interval of more than 0.1 on either side excludes no difference that matters. No table has ten million people
# outside the data, so a larger number needed is not stated.
_TOO_WIDE, _TOO_MANY = 0.1, 10_000_000
# Stands among the titles of attacks that refute a promise.
_GROUPS = "groups of rows that reveal a sensitive value"


@cache
def _words() -> dict[str, Any]:
    """Sentences about verdicts and attacks, from a template of the package."""
    return tomllib.loads(files("sanitize.report").joinpath("judgement.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class AttackResult:
    """Result of one attack on people in the data, compared with people outside the data.

    Attributes
    ----------
    title, question : str
        Name of the attack, and the question that it answers.
    claim : {"promised", "membership"}
        Verdict to which the attack belongs.
    figure : {"ranking", "share", "secret"}
        Kind of figure: the chance of distinguishing a person in the data from one outside, a share of the people, or
        the chance of ranking a sensitive value right. Guessing gives 0.5 for a ranking and a secret.
    people, outsiders : float, float or None
        The figure for people in the data, and for people outside it.
    interval : tuple of float, or None
        Confidence interval of the difference; the intervals of all attacks hold together.
    chance : float or None
        Chance that any attack of the family finds a difference of this size in a release that is independent of its
        people.
    excess : float
        Allowed difference.
    n : int
        Number of attacked people in the data, and of attacked people outside it.
    surest : int or None
        Number of accused targets, those of which the attack is surest; None for all targets.
    sentence : str
        Sentence that states the figures.
    is_strict : bool
        Whether any difference refutes, however small.
    """

    title: str
    question: str
    claim: Claim
    figure: Literal["ranking", "share", "secret"]
    people: float
    outsiders: float | None
    interval: tuple[float, float] | None
    chance: float | None
    excess: float
    n: int
    surest: int | None
    sentence: str
    is_strict: bool = False

    @property
    def difference(self) -> float | None:
        """Figure for people in the data minus the figure for people outside it; None without the latter."""
        return None if self.outsiders is None else self.people - self.outsiders

    @property
    def status(self) -> Status | None:
        """Comparison of people in the data with people outside it; None without people outside it.

        The difference is ``more`` if it surely exceeds the allowed one, ``a little more`` if it is surely positive but
        may be allowed, ``no more`` if it may be 0 and is surely allowed, and ``open`` if it may be 0 or not allowed.
        """
        if self.interval is None:
            return None
        low, high = self.interval
        if low > 0:
            return "more" if low > self.excess or self.is_strict else "a little more"
        return "no more" if high < self.excess else "open"

    @property
    def verdict(self) -> str:
        """Description of the status; empty without people outside the data."""
        return "" if self.status is None else str(_words()["status"][self.status])

    @property
    def is_too_wide(self) -> bool:
        """True if so few people were attacked that a large difference could remain hidden."""
        return self.interval is not None and self.surest is None and self.interval[1] - self.interval[0] > 2 * _TOO_WIDE

    @property
    def people_needed(self) -> int | None:
        """Number of people of each kind needed to settle an open result if both kinds are alike; else None."""
        if self.interval is None or self.status != "open" or not self.excess:
            return None
        half = (self.interval[1] - self.interval[0]) / 2
        return min(_TOO_MANY, math.ceil(self.n * (half / self.excess) ** 2))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        names = ("difference", "status", "verdict")
        return {**vars(self), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class ClaimVerdict:
    """Verdict on one claim: on the promise of the release, or on membership, which the release does not hide.

    Attributes
    ----------
    claim : {"promised", "membership"}
    verdict : {"refuted", "not refuted", "too few people to tell"}
        ``too few people to tell`` if a difference of 10 in 100 could have stayed hidden.
    refuted_by : tuple of str
        Attacks that refute the claim.
    n_attacks : int
        Number of attacks tried.
    n_open : int
        Number of attacks that need more people to decide whether the difference is allowed.
    people_needed : int or None
        Number of people in the data, and of people outside it, that would suffice for all attacks.
    excess : float
    confidence : float
    """

    claim: Claim
    verdict: Verdict
    refuted_by: tuple[str, ...]
    n_attacks: int
    n_open: int
    people_needed: int | None
    excess: float
    confidence: float

    @classmethod
    def from_results(
        cls, claim: Claim, results: Sequence[AttackResult], *, groups: bool, excess: float, confidence: float
    ) -> ClaimVerdict:
        """Make the verdict from the results of one claim; leakage through ``groups`` may also refute a promise."""
        claim_results = [result for result in results if result.claim == claim]
        refuted = tuple(result.title.lower() for result in claim_results if result.status == "more")
        refuted += (_GROUPS,) if groups and claim == "promised" else ()
        needed = [result.people_needed for result in claim_results if result.people_needed is not None]
        is_open = any(result.is_too_wide for result in claim_results)
        verdict: Verdict = "refuted" if refuted else "too few people to tell" if is_open else "not refuted"
        unit = 10 ** max(len(str(max(needed, default=0))) - 2, 0)  # numbers of people are rounded up to two digits
        n_needed = -(-max(needed) // unit) * unit if needed else None
        return cls(
            claim=claim,
            verdict=verdict,
            refuted_by=refuted,
            n_attacks=len(claim_results),
            n_open=len(needed),
            people_needed=n_needed,
            excess=excess,
            confidence=confidence,
        )

    @property
    def title(self) -> str:
        """Title of the claim that the verdict is about."""
        return str(_words()["claims"][self.claim]["title"])

    @property
    def headline(self) -> str:
        """Return the verdict in a few words."""
        found = {"refuted": "found", "not refuted": f"not found by these {self.n_attacks} attacks"}
        return f"{self.title}: {found.get(self.verdict, self.verdict)}"

    @property
    def sentence(self) -> str:
        """Return the verdict in one or two sentences."""
        words = _words()["claims"][self.claim]
        allowed, sure, refuted = per_hundred(self.excess), level(self.confidence), ", ".join(self.refuted_by)
        text = words[self.verdict].format(allowed=allowed, sure=sure, refuted=refuted)
        if self.people_needed is None or self.verdict == "refuted":
            return str(text)
        is_beyond = self.people_needed >= _TOO_MANY
        people = f"About {self.people_needed:,} people outside the data"
        needed = "More people than any table has" if is_beyond else people
        return f"{text} {_words()['needed'].format(n_open=self.n_open, n=self.n_attacks, needed=needed)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {**vars(self), "title": self.title, "headline": self.headline, "sentence": self.sentence}


@dataclass(frozen=True)
class Judgement(Told):
    """Results of attacks on a released file: figures for people in the data compared with people outside it.

    Attributes
    ----------
    results : tuple of AttackResult
        Results of the attacks, the worst first.
    excess : float
        Allowed difference between people in the data and people outside it.
    lift : float or None
        Lower bound on the lift of a sensitive value by some group of rows; None if the order of rows is unknown.
    at_most : float or None
        Allowed lift.
    confidence : float
        Confidence of all intervals and the lift together.
    side_columns : tuple of str
        Columns that the adversary knows about a target.
    columns : tuple of str
        Columns that were compared.
    left_out : tuple of pairs of str
        Columns of the release that were not compared, each with the reason.
    n_released, n_people, n_outsiders : int, int, int or None
        Number of rows released, of people in the data, and of people outside it.
    is_twin : bool
        Whether the judged release was made for the judgement, from the people only, by the same sanitizer.
    """

    results: tuple[AttackResult, ...]
    excess: float
    lift: float | None
    at_most: float | None
    confidence: float
    side_columns: tuple[str, ...]
    columns: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    n_released: int
    n_people: int
    n_outsiders: int | None
    is_twin: bool = False

    @cached_property
    def verdicts(self) -> tuple[ClaimVerdict, ...]:
        """Verdicts on promises and on other claims, kept apart; none without people outside the data."""
        if self.n_outsiders is None:
            return ()
        over = self.lift is not None and self.at_most is not None and self.lift > self.at_most
        limits: dict[str, Any] = {"groups": over, "excess": self.excess, "confidence": self.confidence}
        verdicts = (ClaimVerdict.from_results(claim, self.results, **limits) for claim in CLAIMS)
        return tuple(verdict for verdict in verdicts if verdict.n_attacks)

    @property
    def promised(self) -> Verdict | None:
        """Verdict on the promise: no row is copied, and people in the data are as hard to guess as others."""
        return next((verdict.verdict for verdict in self.verdicts if verdict.claim == "promised"), None)

    @property
    def membership(self) -> Verdict | None:
        """Verdict on membership: whether attackers find out who is in the data, which no release promises to hide."""
        return next((verdict.verdict for verdict in self.verdicts if verdict.claim == "membership"), None)

    @property
    def refuted(self) -> tuple[str, ...]:
        """Names of the attacks that refute one of the claims; none without people outside the data."""
        return tuple(title for verdict in self.verdicts for title in verdict.refuted_by)

    @property
    def ok(self) -> bool:
        """True if nothing refutes either claim."""
        return not self.refuted

    def require(self) -> Judgement:
        """Return the judgement itself, or raise an error if an attack refutes one of the claims.

        Raises
        ------
        ReleaseRefuted
        """
        if not self.ok:
            raise ReleaseRefuted(self)
        return self

    @property
    def headline(self) -> str:
        """Headline with both verdicts in a few words."""
        return ". ".join(verdict.headline for verdict in self.verdicts) or "Figures, no verdict"

    @property
    def sentence(self) -> str:
        """Text with both verdicts in sentences."""
        return " ".join(verdict.sentence for verdict in self.verdicts) or str(_words()["alone"])

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no value."""
        alone = f"{self.headline}: {_words()['alone'].rstrip('.')}"
        return tuple(verdict.headline for verdict in self.verdicts) or (alone,)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on leakage through groups of rows, and on the columns that were compared or left out."""
        notes = []
        if self.is_twin:
            twin = "a second one, made without the people outside the data"
            notes.append(f"The attacks were tried on a twin of the release: {twin}.")
        if self.lift is not None and self.lift > 1:
            bound = "" if self.at_most is None else f"; {figure(self.at_most)} times was allowed"
            lift = f"at least {figure(self.lift)} times as likely{bound}"
            notes.append(f"Some group of rows makes a sensitive value {lift}.")
        elif self.lift is not None:
            notes.append("No group of rows was found that demonstrably makes a sensitive value more likely.")
        known = ", ".join(self.side_columns)
        notes.append(f"{len(self.columns)} columns were compared; the attacker knows {known} of a person.")
        notes += [f"Not compared: {name}, {reason}." for name, reason in self.left_out]
        return (*notes, "Only these attacks were tried; others may find more.")

    def to_text(self) -> str:
        """Return verdicts, a table of attacks, sentences on refuting attacks, and notes, 80 columns wide."""
        verdicts: tuple[ClaimVerdict | Judgement, ...] = self.verdicts or (self,)
        lines = [line for entry in verdicts for line in (entry.headline.upper(), entry.sentence, "")]
        refuting = [f"{entry.title}: {entry.sentence}" for entry in self.results if entry.status == "more"]
        below = [*(["", *refuting] if refuting else []), "", *(clip(note, 400) for note in self.notes)]
        return "\n".join([*map(_paragraph, lines), *self._table(), *map(_paragraph, below)])

    def _table(self) -> list[str]:
        """Table of attacks with figures per 100: people in the data, people outside it, and the difference."""
        if self.n_outsiders is None:
            lines = [f"{clip(result.title, 30):<32}{per_hundred(result.people):>11}" for result in self.results]
            return ["Out of 100".ljust(32) + "in the data", *lines]
        marks = {"more": "x", "a little more": "!", "no more": " ", "open": "?"}
        lines = ["  Out of 100".ljust(32) + "in the data  outside it  how much more"]
        for result in self.results:
            more, interval = per_hundred(result.difference or 0), " to ".join(map(per_hundred, result.interval or ()))
            figures = f"{per_hundred(result.people):>11}{per_hundred(result.outsiders or 0):>12}{more:>7} ({interval})"
            lines.append(f"{marks[result.status or 'open']} {clip(result.title, 29):<30}{figures}")
        return [*lines, "x more than is allowed  ! a little more  ? too few people to exclude more"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of ``judgement.schema.json``."""
        fields = {name: value for name, value in vars(self).items() if name not in ("results", "verdicts")}
        texts = {"headline": self.headline, "sentence": self.sentence, "notes": list(self.notes)}
        lists: dict[str, Sequence[Any]] = {"verdicts": self.verdicts, "attacks": self.results}
        entries = {name: [entry.to_dict() for entry in values] for name, values in lists.items()}
        head = {"schema": SCHEMA, "version": VERSION, "library_version": __version__}
        return spell_infinities({**head, **entries, **fields, **texts})

    def report_entry(self) -> dict[str, Any]:
        """Return the entry of this judgement in the owner's report."""
        document = self.to_dict()
        attacks = [{name: attack[name] for name in ATTACK_FIELDS} for attack in document["attacks"]]
        return {name: document[name] for name in HEAD_FIELDS} | {"attacks": attacks}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the judgement as ASCII JSON; if ``path`` is given, also write it."""
        return json_text(self.to_dict(), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained page without script or network; if a path is given, also write it."""
        return write_text(render_template("report/judge.html.jinja", **self.to_dict()), path)


def attack_sentence(
    figure_kind: str, templates: tuple[str, str], people: float, outsiders: float | None, surest: int | None
) -> str:
    """Write the sentence with the figures of an attack; all attacks that rank people share a sentence."""
    if figure_kind == "ranking":
        words = _words()["ranking" if surest is None else "surest"]
        return str(words.format(per_hundred(people), surest))
    first = templates[0].format(per_hundred(people))
    return f"{first}." if outsiders is None else f"{first}; {templates[1].format(per_hundred(outsiders))}."


def _paragraph(text: str) -> str:
    """Wrap text in lines of 80 columns."""
    return fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
