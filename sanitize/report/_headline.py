"""The headline of a report: one of four states and one sentence, the same words in every view.

A state is a claim, and each view colours it alike: green for a claim about the source, amber for one about the rows
alone or of a release that keeps next to nothing, red for a refusal, blue where nothing is claimed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from sanitize._util.declared import Count, Declared
from sanitize._util.formatting import level, times, times_down, times_up
from sanitize.core.budgets import budget_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sanitize.core.budgets import Budget

State = Literal["source", "rows", "nothing", "refused", "audit"]

# A release most columns of which keep less than this share of their information is called useless.
USELESS_BELOW = 0.05
RELATIONS = "relations_kept"  # measure of how much shuffled rows show of what pairs of columns say about each other
# Stated tolerance of the verdict: a symbol passes when its excess is at most this many nats. It covers
# rounding in double precision and nothing else.
VERDICT_TOLERANCE = 1e-9
WORDS: dict[State, str] = {
    "source": "HOLDS FOR THE SOURCE",
    "rows": "HOLDS FOR THESE ROWS ONLY",
    "nothing": "NOTHING TO PROTECT",
    "refused": "REFUSED",
    "audit": "AUDIT: no budget given",
}
# Sections of a report that promise differential privacy, of secrets or of whole rows.
PROMISES = ("secret_dp", "record_dp")
SYNTHETIC = "Private synthetic rows"  # title of the second one, where none stands for a row of the table
_STATED = "The limit holds if the distribution is as stated; how far the truth may differ from it is not known."
_NOTHING = "The sensitive columns have one value in all rows, as they are joined and binned: a limit means nothing."
ALONE = "Counts this release alone: others of the same rows add to it; a ledger counts."
# Name of the mechanism of all releases of a ledger together.
LEDGER = "ledger"


# Why next to nothing is kept, in words.
_REASONS = {
    "rows": "too few rows",
    "secret": "a rare secret has too few rows",
    "secrets": "{} has many values, which few rows share",
    "combinations": "too few rows share a combination of the public columns, of which {} has most values",
    "limit": "the limit leaves this mechanism no more",
    "limit or rows": "the limit, or too few rows",
    "unknown": "",
}


class Lack(Declared, frozen=True):
    """Why next to nothing is kept, as far as that is known: too few rows, of all secrets or of a rare one, the limit.

    ``n_rows`` are about those that would be needed, to one digit, so that no frequency can be read from it. ``column``
    is the one of most values.
    """

    reason: Literal["rows", "secret", "secrets", "combinations", "limit", "limit or rows", "unknown"]
    n_rows: Count | None = None
    column: str | None = None

    @property
    def words(self) -> str:
        """The reason, and how many rows there should be."""
        reason = _REASONS[self.reason].format(repr(self.column))
        return reason + (f": about {self.n_rows:,} are needed" if self.n_rows else "")

    @property
    def advice(self) -> str:
        """Advice on what would help."""
        advice = {
            "secret": "join the rare values of the sensitive columns, under [join] in the policy, or drop their rows",
            "secrets": f"cut {self.column!r} into a few bins under [channel.bins], or join its values under [join]",
            "combinations": f"cut {self.column!r} under [channel.bins] in the policy, or leave columns out",
        }.get(self.reason)
        if advice is not None:
            return f"{advice}; `sanitize plan` tries what would help"
        more = "" if self.reason == "limit" else "more rows, "
        return f"take {more}a looser limit, fewer or coarser public columns, or another mechanism"


def report_state(*, ok: bool, has_budget: bool, confidence: float | None, is_constant: bool = False) -> State:
    """State of a report.

    Only a confidence that was asked for makes the claim one about the source: whoever did not ask for it designed for
    the rows, and a worst case that happens to be within the budget is said in the sentence below.
    """
    if is_constant and has_budget:
        return "nothing"
    if not ok:
        return "refused"
    if not has_budget:
        return "audit"
    return "rows" if confidence is None else "source"


def is_useless(state: State, shares: Sequence[float], relations: float | None) -> bool:
    """Return whether next to nothing is kept of most columns; nobody minds in an audit or a refusal.

    Of shuffled generated rows, none of which stands for a person, it is what pairs of columns say that matters.
    """
    few = sum(share < USELESS_BELOW for share in shares)
    return state in ("source", "rows") and (2 * few > len(shares) if relations is None else relations < USELESS_BELOW)


def relations_of(measures: Iterable[Mapping[str, Any]]) -> float | None:
    """Share of what pairs of columns say about each other that shuffled rows show; None where it was not measured."""
    return next((float(measure["after"]) for measure in measures if measure["name"] == RELATIONS), None)


def headline(document: dict[str, Any]) -> str:
    """The state in capitals, with the cause of a refusal, or how many columns keep next to nothing and why.

    The public one has neither the cause nor the columns: both are found in the table.
    """
    verdict, is_public = document["verdict"], document["audience"] == "public"
    words = WORDS[verdict["state"]]
    if verdict["state"] == "refused" and is_public:
        return f"{words}: nothing may be released"
    if verdict["state"] == "refused":
        return f"{words}: {_refusal(document)[0]}"
    if verdict["state"] == "rows" and not verdict["counted"]:
        words = "HOLDS FOR THE STATED DISTRIBUTION ONLY"
    if synthetic(document):
        return SYNTHETIC.upper()
    if is_public or not verdict["useless"]:
        return words
    shares, why = [column["share"] for column in document["kept"]], Lack(**verdict["lack"]).words
    if relations_of(document["measures"]) is not None:
        return f"{words}, but pairs of columns say next to nothing about each other{why and f' ({why})'}"
    n_useless, n = sum(share < USELESS_BELOW for share in shares), len(shares)
    subject = "the column keeps" if n == 1 else f"{n_useless} of {n} columns keep"
    return f"{words}, but {subject} next to nothing{why and f' ({why})'}"


def synthetic(document: dict[str, Any]) -> bool:
    """Return whether all rows are drawn from one private model, in which the limit has no part."""
    return document["verdict"]["state"] == "source" and SYNTHETIC in [
        section["title"] for section in document["sections"]
    ]


def sentence(document: dict[str, Any]) -> str:
    """Meaning of the headline, in plain sentences: the claim, and how far a released value moves a secret."""
    verdict = document["verdict"]
    if synthetic(document):
        return "All rows are drawn from one model of noisy counts, and none stands for a row of the table."
    if document["audience"] == "public":
        return _claim(verdict)
    if verdict["state"] == "refused":
        words = _refusal(document)[1]
    elif verdict["state"] == "nothing":
        words = _NOTHING
    elif verdict["state"] == "audit":
        words = "Nothing is claimed: this only measures what the columns tell."
    else:
        words = (_source if verdict["state"] == "source" else _rows)(document)
    if not _is_void(document) and verdict["state"] != "nothing":
        words = f"{words} {_exposure(document, is_sure='% sure' in words)}"
    if not verdict["useless"]:
        return words
    what = "a column's information" if relations_of(document["measures"]) is None else "what they say in the table"
    return f"{words} Next to nothing is less than {100 * USELESS_BELOW:g} % of {what}."


def _claim(verdict: dict[str, Any]) -> str:
    """For whom the limit holds, whatever the table is: without what was found for a sample of other rows."""
    if verdict["state"] == "source":
        sure = f"{level(float(verdict['confidence']))} sure"
        return f"The limit holds for whatever these rows were drawn from, if it has no other values ({sure})."
    return {
        "rows": "The limit holds if these rows are everybody; if they are a sample, it may be off."
        if verdict["counted"]
        else _STATED,
        "nothing": _NOTHING,
        "refused": "The release was not within its limit.",
        "audit": "Nothing is claimed: this only measures what the columns tell.",
    }[verdict["state"]]


def _exposure(document: dict[str, Any], *, is_sure: bool) -> str:
    """How many times as likely a released value makes a secret: in this file, and for the source where it is known."""
    measures, state = {measure["name"]: measure for measure in document["measures"]}, document["verdict"]["state"]
    most, least = measures["max_log_lift"], measures["min_log_lift"]
    where = "this file" if state in ("source", "rows") else "this table"
    where += ", by an estimate" if most["kind"] == "estimate" else ""
    extents = [f"{_sides(times_up(most['after']), times_down(least['after']))} times as likely in {where}"]
    if worst := _worst(document):
        sure = "" if is_sure else f" ({_level(worst)} sure)"
        ends = worst["worst_max_log_lift"]["after"], worst["worst_min_log_lift"]["after"]
        extents.append(f"{_sides(times_up(ends[0]), times_down(ends[1]))} for the source{sure}")
    elif state == "source" and math.isfinite(float(most["bound"])):  # certified symbol by symbol, at the limit
        extents.append(f"{_sides(times_up(most['bound']), times_down(least['bound']))} for the source")
    if all(words.startswith(_sides("1", "1")) for words in extents):
        return "No secret becomes more or less likely."
    return f"A secret becomes {', '.join(extents)}."


def _is_void(document: dict[str, Any]) -> bool:
    """Return whether the figures are not of what would be handed out."""
    columns = document["columns"]
    return document["verdict"]["refuted"] or bool(set(columns["kept"]) & set(columns["sensitive"]))


def _sides(most: str, least: str) -> str:
    return f"at most {most} and at least {'0 (ruled out)' if least == '0' else least}"


def alone(document: dict[str, Any]) -> str:
    """Say what the figures count: this release, and no other of the same rows."""
    verdict = document["verdict"]
    n = verdict["recorded"]
    if n is not None and verdict["mechanism"] == LEDGER:
        return f"Counts all {n} in the ledger of these rows: one that is not recorded adds to them."
    if n is not None:
        return f"Counts this release alone: all {n} in its ledger are within the ledger's budget."
    if promise_name(document):
        return "Counts this release alone: eps and delta of other fits of these rows add to it."
    if verdict["state"] == "audit":
        return "Counts these columns alone: what else is released of the same rows adds to it."
    return ALONE


def promise_name(document: dict[str, Any]) -> str | None:
    """Name of the section that promises differential privacy; None where there is none."""
    return next((section["name"] for section in document["sections"] if section["name"] in PROMISES), None)


def short(state: State, *, useless: bool) -> str:
    """The headline for a repr."""
    words = {"refused": "REFUSED", "audit": "no budget"}.get(state, WORDS[state].lower())
    return f"{words}, but useless" if useless else words


def with_headline(document: dict[str, Any]) -> dict[str, Any]:
    """Document with the words that its figures call for."""
    words = {"headline": headline(document), "sentence": sentence(document), "alone": alone(document)}
    return document | {"verdict": document["verdict"] | words}


def colour(document: dict[str, Any]) -> str:
    """Name of the headline's colour: ``good``, ``doubt``, ``bad`` or ``plain``."""
    verdict = document["verdict"]
    if verdict.get("useless") and not synthetic(document):
        return "doubt"
    return {"source": "good", "rows": "doubt", "nothing": "bad", "refused": "bad", "audit": "plain"}[verdict["state"]]


def is_worst_case(measure: dict[str, Any]) -> bool:
    """Return whether a measure speaks of the source, and not of the rows."""
    return bool(measure["name"].startswith("worst_"))


def measure_excess(measure: dict[str, Any]) -> float:
    """How far a figure is beyond what is allowed, in its unit; -inf where there is no limit or no figure."""
    if measure["after"] is None or measure["bound"] is None:
        return -math.inf
    after, bound = float(measure["after"]), float(measure["bound"])
    if math.isinf(bound):
        return -math.inf
    return bound - after if measure["name"].endswith("min_log_lift") else after - bound


def limit_words(budget: Budget | None, side_columns: Sequence[str]) -> str:
    """Say what a budget allows, and for whom besides those who know nothing of a row."""
    if not side_columns:
        return budget_words(budget)
    which = side_columns[0] if len(side_columns) == 1 else f"any of {', '.join(side_columns)}"
    return f"{budget_words(budget)}; the same for those who know {which} of a row"


def _source(document: dict[str, Any]) -> str:
    sure = f"{level(float(document['verdict']['confidence']))} sure"
    # What is certified symbol by symbol needs no set of distributions, which knows no other values.
    if_whole = ", if it has no other values" if _worst(document) else ""
    return f"The limit holds for whatever these rows were drawn from{if_whole} ({sure})."


def _rows(document: dict[str, Any]) -> str:
    if not document["verdict"]["counted"]:
        return _STATED
    words, worst = "The limit holds if these rows are everybody", _worst(document)
    beyond = [measure for measure in worst.values() if measure_excess(measure) > VERDICT_TOLERANCE]
    # Of other budgets, and of limits by value, the extremes of the lifts and their ratio have implied bounds alone.
    limits = document["verdict"]["budget"]
    is_plain = not any(isinstance(side, dict) for side in limits.values())
    # The worst case of a sample is for those who know nothing of a row.
    is_judged = limits["type"] in ("LiftBudget", "LDPBudget") and is_plain and not document["verdict"]["known"]
    if not worst or not (beyond or is_judged):
        what = "how far it" if is_plain else "which limit"
        return f"{words}; if they are a sample, {what} may be off is not known."
    sure = f"{_level(worst)} sure"
    if not beyond:
        words = f"{words} and also if they are a sample of no other values ({sure})"
        return f"{words}; set a confidence to make that the claim."
    ratio_words = ""
    if [measure["name"] for measure in beyond] == ["worst_ldp_sensitive"]:  # each of two secrets is within its limits
        ratio, limit = times_up(beyond[0]["after"]), times(float(beyond[0]["bound"]))
        ratio_words = f": a secret up to {ratio} times more likely than another ({limit} allowed)"
    return f"{words}; if they are a sample, it may be off{ratio_words} ({sure})."


def _refusal(document: dict[str, Any]) -> tuple[str, str]:
    """Why nothing may be released, in a few words and as a sentence."""
    verdict, columns = document["verdict"], document["columns"]
    if set(columns["kept"]) & set(columns["sensitive"]):
        return "a sensitive column is kept", "A sensitive column would be released as it is."
    if verdict["refuted"]:
        what = "another release than the one measured, or more of its people than of others"
        return "an attack on the released rows refutes it", f"An attack found {what}: do not hand it out."
    whom = "these rows" if verdict["confidence"] is None else "some source that these rows may come from"
    return "over budget, nothing may be released", f"A released value tells more than is allowed for {whom}."


def _worst(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Worst case over the distributions that the rows allow; nothing where it was not computed."""
    return {measure["name"]: measure for measure in document["measures"] if is_worst_case(measure)}


def _level(by_name: dict[str, dict[str, Any]]) -> str:
    return str(by_name["worst_max_log_lift"]["label"]).rpartition(" at ")[2]
