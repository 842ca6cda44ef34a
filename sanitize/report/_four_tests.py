"""What attacks on a released file find of people and of outsiders: values, sentences, and a page for its owner.

They are made of raw rows of people, so they are for the owner and never part of a public view.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from sanitize._files.outputs import json_text, written
from sanitize._formatting import Told, clip, figure, of_100, plain
from sanitize._version import __version__
from sanitize.errors import ReleaseRefuted
from sanitize.report._html import rendered
from sanitize.report._text import WIDTH

SCHEMA, VERSION = "sanitize/judgement", 1
Optimality = Literal["more", "a little more", "no more", "open"]

# Figures that begin at guessing, and those of what is guessed right of anybody.
_RANKED, _INFERRED = ("secret", "membership"), ("secret", "read off")
_GROUPS = "groups of rows that tell a secret"


@cache
def _words() -> dict[str, Any]:
    """Sentences of a verdict; title, question, and what is found of people and of outsiders, of each attack."""
    return tomllib.loads(files("sanitize.report").joinpath("judgement.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Pair:
    """What one attack finds of people, beside what it finds of outsiders.

    Attributes
    ----------
    name : str
        copies, single copies, singling out, linkability, secret, read off or membership.
    people : float
        A share, or the chance of ranking two right (secret, membership), where 0.5 is guessing.
    outsiders : float or None
    interval : tuple of float, or None
        Of the difference; the intervals of all pairs hold together.
    excess : float
        Difference that is allowed.
    n : int
        People, and as many outsiders, that were attacked.
    """

    name: str
    people: float
    outsiders: float | None
    interval: tuple[float, float] | None
    excess: float
    n: int

    @property
    def title(self) -> str:
        """What it is called."""
        return str(_words()["attacks"][self.name]["title"])

    @property
    def optimality(self) -> Optimality | None:
        """How people fare beside outsiders, surely; None without outsiders.

        ``more``: by more than is allowed. ``a little more``: there is a difference, which may be what is allowed. ``no
        more``: there may be none, and it is less than is allowed. ``open``: there may be none, and it may be more.
        """
        if self.interval is None:
            return None
        low, high = self.interval
        if low > 0:
            return "more" if low > self.excess else "a little more"
        return "no more" if high < self.excess else "open"

    @property
    def verdict(self) -> str:
        """The optimality in words; nothing without outsiders."""
        if self.optimality is None:
            return ""
        told = "not measurably more" if self.optimality == "open" else self.optimality
        return f"{told.capitalize()} than outsiders."

    @property
    def difference(self) -> str:
        """People less outsiders, and what that says, in words; nothing without outsiders."""
        if self.interval is None or self.outsiders is None:
            return ""
        low, high = map(of_100, self.interval)
        told = f"Difference {of_100(self.people - self.outsiders)} ({low} to {high})."
        if self.optimality != "no more":
            return told
        like = "This is what is true of people like these; the" if self.name in _INFERRED else "The"
        return f"{told} {like} table added nothing measurable."

    @property
    def words(self) -> str:
        """What the figures are of."""
        told = _words()["attacks"][self.name]
        beside = "" if self.outsiders is None else f"; {told['outsiders'].format(of_100(self.outsiders))}"
        return f"{told['people'].format(of_100(self.people), self.n)}{beside}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        told = {name: getattr(self, name) for name in ("optimality", "verdict", "difference", "words")}
        question = _words()["attacks"][self.name]["question"]
        return {"title": self.title, "question": question, **vars(self), **told, "ranked": self.name in _RANKED}


@dataclass(frozen=True)
class Judgement(Told):
    """What attacks on a released file find: figures of its people, beside people who were never in it.

    Attributes
    ----------
    pairs : tuple of Pair
    excess : float
        Difference of people and outsiders that is allowed.
    lift : float or None
        How many times as likely some group of rows makes a secret, at least; None where rows were not in order.
    at_most : float or None
        What was allowed of it.
    confidence : float
        Of all intervals and the lift together.
    known : tuple of str
        Columns that the adversary knows of her target.
    columns : tuple of str
        Columns that were compared.
    left_out : tuple of pairs of str
        Columns of the release that were not, each with the reason.
    n_released, n_people, n_outsiders : int, int, int or None
        Rows.
    is_twin : bool
        The release that was judged was made for it, of the people alone, by the sanitizer whose release uses all rows.
    """

    pairs: tuple[Pair, ...]
    excess: float
    lift: float | None
    at_most: float | None
    confidence: float
    known: tuple[str, ...]
    columns: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    n_released: int
    n_people: int
    n_outsiders: int | None
    is_twin: bool = False

    @property
    def refuted(self) -> tuple[str, ...]:
        """What refutes the release, in words; nothing without outsiders."""
        if self.n_outsiders is None:
            return ()
        found = [pair.title.lower() for pair in self.pairs if pair.optimality == "more"]
        over = self.lift is not None and self.at_most is not None and self.lift > self.at_most
        return (*found, _GROUPS) if over else tuple(found)

    @property
    def verdict(self) -> Literal["refuted", "not refuted"] | None:
        """Of these attacks, for none can show that a file gives nothing away; None without outsiders."""
        if self.n_outsiders is None:
            return None
        return "refuted" if self.refuted else "not refuted"

    @property
    def ok(self) -> bool:
        """Whether nothing refutes the release."""
        return self.verdict != "refuted"

    def require(self) -> Judgement:
        """Return the judgement itself unless the release is refuted.

        Raises
        ------
        ReleaseRefuted
        """
        if not self.ok:
            raise ReleaseRefuted(self)
        return self

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        words = {"refuted": "Refuted", "not refuted": "Not refuted by these attacks", None: "Figures, no verdict"}
        return words[self.verdict]

    @property
    def sentence(self) -> str:
        """The verdict in a sentence or two."""
        n_open = sum(pair.interval is not None and pair.interval[1] >= self.excess for pair in self.pairs)
        kind = "refuted" if self.refuted else "open" if n_open else "closed"
        words: str = _words()["sentences"]["alone" if self.n_outsiders is None else kind]
        return words.format(
            allowed=of_100(self.excess),
            groups=", or more of groups of rows than was allowed" if _GROUPS in self.refuted else "",
            sure=100 * self.confidence,
            refuted=", ".join(self.refuted),
            n_open=n_open,
            n=len(self.pairs),
        )

    @property
    def summary(self) -> tuple[str, ...]:
        """The result in sentences that name no value."""
        return (f"{self.headline}: {self.sentence[:1].lower()}{self.sentence[1:].removesuffix('.')}",)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a group of rows tells, what was compared, and what was not."""
        told = ["The figures are of a twin of the release, made without the outsiders' rows."] if self.is_twin else []
        if self.lift is not None:
            bound = "" if self.at_most is None else f"; {figure(self.at_most)} times was allowed"
            group = f"Some group of rows makes a secret at least {figure(self.lift)} times as likely{bound}."
            told.append(group if self.lift > 1 else "No group of rows was found that surely makes a secret likelier.")
        told.append(
            f"{len(self.columns)} columns were compared; the adversary knows {', '.join(self.known)} of a person."
        )
        told += [f"Not compared: {name}, {reason}." for name, reason in self.left_out]
        return (*told, "Attacks that nobody has thought of were not tried.")

    def to_text(self) -> str:
        """Verdict, pairs and notes, 80 columns wide."""
        lines = [self.headline.upper(), self.sentence, ""]
        for pair in self.pairs:
            told = " ".join(part for part in (pair.verdict, pair.difference, pair.words) if part)
            lines.append(f"{pair.title}: {told}")
        lines += ["", *(clip(note, 400) for note in self.notes)]
        return "\n".join(fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        told = {"headline": self.headline, "sentence": self.sentence, "notes": list(self.notes)}
        fields = {"verdict": self.verdict, **vars(self), **told, "pairs": [pair.to_dict() for pair in self.pairs]}
        return plain({"schema": SCHEMA, "version": VERSION, "library_version": __version__, **fields})

    def in_a_report(self) -> dict[str, Any]:
        """What a report for the owner holds of it."""
        told, inner = self.to_dict(), ("interval", "excess", "n")
        pairs = [{name: pair[name] for name in pair if name not in inner} for pair in told["pairs"]]
        names = ("headline", "sentence", "notes", "n_people", "n_outsiders", "confidence")
        return {name: told[name] for name in names} | {"pairs": pairs}

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON; whatever is not ASCII is escaped. Written to ``path`` when one is given."""
        return json_text(self.to_dict(), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """The same as one self-contained page: no script, no network; written to ``path`` when one is given."""
        return written(rendered("report/judge.html.jinja", **self.to_dict()), path)
