"""Headline of a report: one of four states and one sentence, with the same words in every view.

The state is a claim, with the same colour in each view: green for a claim about the population, amber for a claim about
these rows only or for a release that keeps almost nothing, red for a refusal, blue if nothing is claimed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from sanitize._util.checks import is_number
from sanitize._util.declared import Count, Declared
from sanitize._util.formatting import level, per_hundred, round_up, times, times_down, times_up
from sanitize.core.budgets import budget_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sanitize.core.budgets import Budget

State = Literal["source", "rows", "nothing", "refused", "audit"]

# A release is called useless if most of its columns keep less than this share of their information, with which hardly
# any analysis can be made.
USELESS_BELOW = 0.05
# Measures by which a release is judged in place of the utility: shuffled rows belong to no one, so only relations
# between columns are of use; and latent classes have other symbols than tuples, so both are compared by column.
RELATIONS = "relations_kept"
COLUMNS = "mean_column_utility"
# A share means nothing without the total to which it refers, so each measure has its own words.
WHOLES = {
    RELATIONS: "of the relations between columns, on average",
    COLUMNS: "of each column, on average",
    "normalized_utility": "of the information in the public columns",
}
# Stated tolerance of the verdict, in nats: a symbol passes if its excess is at most this. It covers only rounding in
# double precision.
VERDICT_TOLERANCE = 1e-9
# Factor below which a sensitive value counts as ruled out, because further digits add nothing.
_NEARLY_NONE = 0.001
# The first words of a report, by state: a reader who stops there must know what holds.
WORDS: dict[State, str] = {
    "source": "HOLDS FOR THE POPULATION",
    "rows": "HOLDS FOR THESE ROWS ONLY",
    "nothing": "NOTHING TO PROTECT",
    "refused": "REFUSED",
    "audit": "AUDIT: no budget given",
}
# Names of the sections on differential privacy, of sensitive values or of whole rows, which no short report drops.
PROMISES = ("secret_dp", "record_dp")
# Title of the second section if no released row stands for a row of the table, which a saved report shows by it.
SYNTHETIC = "Private synthetic rows"
# Claims that several parts of a report state; a reader who compares them must find the same words.
_STATED = "The limit holds if the distribution is as stated; how far the truth may differ from it is not known."
_NOISY = (
    "The limit holds for the counts with noise that the channel was designed from; whether it holds for these rows "
    "without noise nobody may look up."
)
_NOTHING = "Joined and binned, the sensitive columns have the same value in every row, so that a limit means nothing."
ALONE = "This covers this release only; further releases of the same rows add to it."
# Mechanism name for all releases of a ledger together, which no single mechanism designed.
LEDGER = "ledger"


# Reasons, in words, why almost nothing is kept; each has a remedy of its own.
_REASONS = {
    "rows": "too few rows",
    "secret": "a rare sensitive value has too few rows",
    "secrets": "{} has many values, each in few rows",
    "combinations": "too few rows share a combination of public values, and {} has the most values",
    "limit": "this mechanism keeps no more within the limit",
    "limit or rows": "the limit, or too few rows",
    "unknown": "",
}


# The other reasons have one advice in common.
_ADVICE = {
    "secret": "join the rare values of the sensitive columns, under [join] in the policy, or drop their rows",
    "secrets": "cut {} into a few bins under [channel.bins], or join its values under [join]",
    "combinations": "leave out {} or other columns, or cut numbers with bins",
}


class Lack(Declared, frozen=True):
    """Reason why a release keeps almost nothing: too few rows in total, too few of a rare value, or the limit.

    ``n_rows`` is the approximate number of rows needed, to one digit, so that it reveals no frequency. ``column`` is
    the column with the most values.
    """

    reason: Literal["rows", "secret", "secrets", "combinations", "limit", "limit or rows", "unknown"]
    n_rows: Count | None = None
    column: str | None = None

    @property
    def words(self) -> str:
        """Describe the reason, and the number of rows needed."""
        reason = _REASONS[self.reason].format(repr(self.column))
        return reason + (f": about {self.n_rows:,} are needed" if self.n_rows else "")

    @property
    def advice(self) -> str:
        """Advice for getting a useful release."""
        if self.reason in _ADVICE:
            return f"{_ADVICE[self.reason].format(repr(self.column))}; `sanitize plan` tries what would help"
        more = "" if self.reason == "limit" else "more rows, "
        return f"take {more}a looser limit, fewer or coarser public columns, or another mechanism"


def report_state(*, ok: bool, has_budget: bool, confidence: float | None, is_constant: bool = False) -> State:
    """Return the state of a report, as `Verdict.state` describes it.

    The claim is about the population only if a confidence was requested. Without it the design is for these rows, and a
    worst case that happens to be within the budget is mentioned in the sentence below the headline.
    """
    if is_constant and has_budget:
        return "nothing"
    if not ok or not has_budget:
        return "audit" if ok else "refused"
    return "rows" if confidence is None else "source"


def is_useless(state: State, shares: Sequence[float], relations: float | None) -> bool:
    """Return whether most columns keep almost none of their information; always False for audits and refusals.

    Shuffled generated rows, none of which stands for a person, are judged by the relations between columns instead.
    """
    few = sum(share < USELESS_BELOW for share in shares)
    return state in ("source", "rows") and (2 * few > len(shares) if relations is None else relations < USELESS_BELOW)


def relations_of(measures: Iterable[Mapping[str, Any]]) -> float | None:
    """Share of the relations between columns that shuffled rows keep, on average; None if not measured."""
    return next((float(measure["after"]) for measure in measures if measure["name"] == RELATIONS), None)


def headline(document: dict[str, Any]) -> str:
    """State in capitals, followed by the cause of a refusal, or by the reason why columns keep almost nothing.

    The public headline has neither, because both are found in the table.
    """
    verdict, is_public = document["verdict"], document["audience"] == "public"
    words = WORDS[verdict["state"]]
    if verdict["state"] == "refused":
        return f"{words}: {'nothing may be released' if is_public else _refusal(document)[0]}"
    if verdict["state"] == "rows" and not verdict["counted"]:
        words = "HOLDS FOR THE STATED DISTRIBUTION ONLY"
    elif verdict["state"] == "rows" and promise_name(document):
        words = "HOLDS FOR NOISY COUNTS ONLY"
    if synthetic(document):
        return SYNTHETIC.upper()
    if is_public or not verdict["useless"]:
        return words
    n, why, less = len(document["kept"]), Lack(**verdict["lack"]).words, f"less than {100 * USELESS_BELOW:g} % of the"
    why = why and f" ({why})"
    if relations_of(document["measures"]) is not None:
        return f"{words}, but {less} relations between columns is left{why}"
    n_useless = sum(column["share"] < USELESS_BELOW for column in document["kept"])
    subject = "the column keeps" if n == 1 else f"{n_useless} of {n} columns keep"
    return f"{words}, but {subject} {less} information{why}"


def synthetic(document: dict[str, Any]) -> bool:
    """Return whether all rows are drawn from one model of noisy counts, to which the limit does not apply."""
    return document["verdict"]["state"] == "source" and SYNTHETIC in [part["title"] for part in document["sections"]]


def belongs_to_no_one(document: dict[str, Any]) -> bool:
    """Return whether no released row belongs to a person: all rows are generated, and no column is kept."""
    return synthetic(document) or (document["verdict"]["output"] == "model" and not document["columns"]["kept"])


def release_kind(document: dict[str, Any]) -> str:
    """Describe the kind of the release: altered rows of the table, or generated rows."""
    if belongs_to_no_one(document):
        return "a generated table, whose rows belong to no one"
    generated = ", some generated" if document["verdict"]["output"] == "model" else ""
    return f"columns of each row{generated}, which still belongs to a person"


def sentence(document: dict[str, Any]) -> str:
    """Explain the headline in plain sentences: the claim, and how much a released value reveals."""
    verdict = document["verdict"]
    if synthetic(document):
        return "All rows are drawn from one model of noisy counts, and none belongs to a row of the table."
    if document["audience"] == "public":
        return _claim(verdict, is_noisy=promise_name(document) is not None)
    if verdict["state"] == "refused":
        words = _refusal(document)[1]
    elif verdict["state"] in ("source", "rows"):
        words = (_source if verdict["state"] == "source" else _rows)(document)
    else:
        words = _claim(verdict, is_noisy=False)
    columns = document["columns"]
    is_void = verdict["refuted"] or bool(set(columns["kept"]) & set(columns["sensitive"]))  # figures of other data
    if not is_void and verdict["state"] != "nothing":
        words = f"{words} {_exposure(document, is_sure='% sure' in words)}"
    return words


def _claim(verdict: dict[str, Any], *, is_noisy: bool) -> str:
    """Sentence that states for whom the limit holds; it does not depend on the values of the table."""
    if verdict["state"] == "source":
        sure = f"{level(float(verdict['confidence']))} sure"
        return f"The limit holds for the population of these rows, if it has no other values ({sure})."
    if verdict["state"] == "rows" and is_noisy:
        return _NOISY
    everybody = "The limit holds if these rows are everybody; if they are a sample, it may not."
    return {
        "rows": everybody if verdict["counted"] else _STATED,
        "nothing": _NOTHING,
        "refused": "The release was not within its limit.",
        "audit": "Nothing is claimed: this report only measures how much the columns reveal.",
    }[verdict["state"]]


def _exposure(document: dict[str, Any], *, is_sure: bool) -> str:
    """Sentence on the largest lift of a sensitive value, in this file and, if known, in the population."""
    measures, state = {measure["name"]: measure for measure in document["measures"]}, document["verdict"]["state"]
    most, least = measures["max_log_lift"], measures["min_log_lift"]
    where = "this file" if state in ("source", "rows") else "this table"
    where += ", by an estimate" if most["kind"] == "estimate" else ""
    extents = [f"{_sides(times_up(most['after']), times_down(least['after']))} times as likely in {where}"]
    if worst := _worst(document):
        sure = "" if is_sure else f" ({_level(worst)} sure)"
        ends = worst["worst_max_log_lift"]["after"], worst["worst_min_log_lift"]["after"]
        extents.append(f"{_sides(times_up(ends[0]), times_down(ends[1]))} in the population{sure}")
    elif state == "source" and math.isfinite(float(most["bound"])):  # each symbol is certified at the limit
        extents.append(f"{_sides(times_up(most['bound']), times_down(least['bound']))} (the limit) in the population")
    if all(words.startswith(_sides("1", "1")) for words in extents):
        return "No sensitive value becomes more or less likely."
    first, *others = extents  # the meaning of 0 is stated once
    words = ", ".join([first, *(extent.replace(" (ruled out)", "") for extent in others)])
    return f"A sensitive value becomes {words}."


def _sides(most: str, least: str) -> str:
    few = "nearly 0" if 0 < float(least) < _NEARLY_NONE else least
    return f"at most {most} and at least {'0 (ruled out)' if least == '0' else few}"


def alone(document: dict[str, Any]) -> str:
    """Sentence that the figures cover this release only, without other releases of the same rows."""
    verdict = document["verdict"]
    n = verdict["recorded"]
    if n is not None and verdict["mechanism"] == LEDGER:
        return f"This covers all {n} releases in the ledger; one that is not recorded adds to them."
    if n is not None:
        return f"This covers this release only; all {n} in its ledger are within its limit."
    if promise_name(document):
        return "This covers this release only; eps and delta of all fits of these rows add up."
    if verdict["state"] == "audit":
        return "This covers these columns only; other releases of the same rows add to it."
    return ALONE


def promise_name(document: dict[str, Any]) -> str | None:
    """Name of the report's section on differential privacy; None if there is none."""
    return next((section["name"] for section in document["sections"] if section["name"] in PROMISES), None)


def short(state: State, *, useless: bool) -> str:
    """Short headline for a repr."""
    words = {"refused": "REFUSED", "audit": "no budget"}.get(state, WORDS[state].lower())
    return f"{words}, but useless" if useless else words


def sign_answer(document: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return whether to sign an internal report, in words, and the conditions of a yes, each with its reason."""
    verdict = document["verdict"]
    no = {
        "refused": "No: hand nothing out.",
        "nothing": "No: there is nothing to protect, so that the limit means nothing.",
        "audit": "There is nothing to sign: no limit was set, so that nothing is claimed.",
    }.get(verdict["state"])
    no = no or (verdict["seeded"] and "No: the random changes come from a seed, and whoever guesses it can undo them.")
    if no:
        return no, []
    answer, on_attacks = "Yes, if each of these is true; if one is not, the answer is no.", _is_attacked(document)
    if on_attacks is not None:
        answer = "Not yet: the point on attacks is open. Yes, as soon as each of these is true."
    if verdict["useless"] and not synthetic(document):
        answer = "Only if so little is worth releasing, and if each of these is true."
    conditions = [_suits(document), _covers(document), _knows_more(document), _is_known(document)]
    conditions += [on_attacks, _suffices(document)]
    return answer, [condition for condition in conditions if condition]


def _suits(document: dict[str, Any]) -> tuple[str, str]:
    if synthetic(document):
        return "The level of differential privacy suits the harm", "The section on private rows states it."
    words = "Nobody is harmed if the chance of any sensitive value, rare or common, grows or falls as far as the limit"
    return "The limit suits the harm", f"{words} allows."


def _covers(document: dict[str, Any]) -> tuple[str, str]:
    verdict = document["verdict"]
    if verdict["state"] == "source":
        values = " or if the population has values that no row has," if _worst(document) else ""
        words = "All these people are the population. The table does not show how its rows were chosen: ask who "
        words += f"collected them. If they were chosen otherwise,{values} the limit may be exceeded there."
        return "The rows are a random sample of the people whom the limit is for", words
    if not verdict["counted"]:
        return "The distribution is as stated", "No rows were counted, and if the truth differs, so do all figures."
    words = "If they are a sample of more people (a population), release anew with a confidence: with 0.95 the"
    return "These rows are everybody whom the limit is for", f"{words} limit holds for all those people, 95 % sure."


def _knows_more(document: dict[str, Any]) -> tuple[str, str] | None:
    """Condition for readers who know columns of a row; None if they learn no more than the limit allows."""
    lines = next((section["rows"] for section in document["sections"] if section["name"] == "side"), ())
    row = [*((lines and lines[0]) or ()), *[None] * 4]  # a saved report may contain anything here
    names, _, most, chances = row[:4]
    bound = next(measure["bound"] for measure in document["measures"] if measure["name"] == "max_log_lift")
    is_limited = document["verdict"]["output"] != "model" and bound is not None
    if not (is_limited and is_number(most) and most > 0) or math.log(most) <= float(bound):
        return None
    return (
        "No recipient knows any of these columns of a person, or it does no harm",
        f"The limit is not for such readers: to somebody who knows {names} of a person, the released row of that "
        f"person makes a sensitive value up to {round_up(most)} times as likely; the chance of one rises {chances}.",
    )


def _is_known(document: dict[str, Any]) -> tuple[str, str] | None:
    """Condition that nobody is harmed by known membership, with evidence; None for a model of noisy counts."""
    if synthetic(document):
        return None
    words = [section["words"] for section in document["sections"] if section["name"] == "membership"]
    if not belongs_to_no_one(document):
        words = ["Each released row belongs to a real person, who may be recognised by what it says."]
    judged = document.get("judgement") or {"attacks": ()}
    if found := [attack["people"] for attack in judged["attacks"] if attack["figure"] == "ranking"]:
        right = f"{per_hundred(max(found))} times in 100 (50 is chance)"
        words.append(f"The best attack that was tried found the one of two people who is in it {right}.")
    words = ["The release does not hide who is in it.", *words]
    return "Nobody is harmed by being known to be in this table", " ".join(words)


def _is_attacked(document: dict[str, Any]) -> tuple[str, str] | None:
    """Condition that attacks find little; None if an attack was tried or the rows come from a model of noisy counts."""
    if document.get("judgement") or synthetic(document):
        return None
    words = "This is open, as no attack on people was tried: release anew with --judge, and hand out the new file."
    return "Attacks on people find no more than is acceptable", words


def _suffices(document: dict[str, Any]) -> tuple[str, str]:
    lost = sum(pair["state"] == "lost" for pair in document["pairs"])
    listed = "Relations between columns are listed" if document["pairs"] else "Each column is listed"
    of_them = f"; {lost} of them {'is' if lost == 1 else 'are'} lost" if lost else ""
    return "What survives is enough for the purpose", f'{listed} under "What survives"{of_them}.'


def with_headline(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the headline and sentences that follow from its figures."""
    words = {"headline": headline(document), "sentence": sentence(document), "alone": alone(document)}
    return document | {"verdict": document["verdict"] | words}


def colour(document: dict[str, Any]) -> str:
    """Colour of the headline, by name: ``good``, ``doubt``, ``bad`` or ``plain``."""
    verdict = document["verdict"]
    if verdict.get("useless") and not synthetic(document):
        return "doubt"
    return {"source": "good", "rows": "doubt", "nothing": "bad", "refused": "bad", "audit": "plain"}[verdict["state"]]


def is_worst_case(measure: dict[str, Any]) -> bool:
    """Return whether a measure is about the population instead of the rows."""
    return bool(measure["scope"] == "worst_case")


def measure_excess(measure: dict[str, Any]) -> float:
    """Excess of a figure over its limit, in its unit; -inf without a limit or a figure."""
    if measure["after"] is None or measure["bound"] is None:
        return -math.inf
    after, bound = float(measure["after"]), float(measure["bound"])
    if math.isinf(bound):
        return -math.inf
    return bound - after if measure["name"].endswith("min_log_lift") else after - bound


def limit_words(budget: Budget | None, side_columns: Sequence[str]) -> str:
    """Describe what a budget allows, and which columns of a row its readers may know."""
    if not side_columns:
        return budget_words(budget)
    which = side_columns[0] if len(side_columns) == 1 else f"any of {', '.join(side_columns)}"
    return f"{budget_words(budget)}; the same for readers who know {which} of a row"


def _source(document: dict[str, Any]) -> str:
    sure = f"{level(float(document['verdict']['confidence']))} sure"
    # A certificate for each symbol needs no set of distributions, which excludes values not seen.
    if_whole = ", if it has no other values" if _worst(document) else ""
    return f"The limit holds for the population of these rows{if_whole} ({sure})."


def _rows(document: dict[str, Any]) -> str:
    if not document["verdict"]["counted"]:
        return _STATED
    if promise_name(document):
        return _NOISY
    words, worst = "The limit holds if these rows are everybody", _worst(document)
    beyond = [measure for measure in worst.values() if measure_excess(measure) > VERDICT_TOLERANCE]
    # Other budgets, and limits by value, only imply bounds on the extremes of the lifts and on their ratio.
    limits = document["verdict"]["budget"]
    is_plain = not any(isinstance(side, dict) for side in limits.values())
    # The worst case of a sample is for readers who know nothing about a row.
    is_judged = limits["type"] in ("LiftBudget", "LDPBudget") and is_plain and not document["verdict"]["side_columns"]
    if not worst or not (beyond or is_judged):
        what = "how far it" if is_plain else "which limit"
        return f"{words}; if they are a sample, {what} may be exceeded is not known."
    sure = f"{_level(worst)} sure"
    if not beyond:
        words = f"{words}, and also if they are a sample of a population with no other values ({sure})"
        return f"{words}; set a confidence to make that the claim."
    ratio_words = ""
    if [measure["name"] for measure in beyond] == ["worst_ldp_sensitive"]:  # only ratios exceed it
        ratio, limit = times_up(beyond[0]["after"]), times(float(beyond[0]["bound"]))
        ratio_words = f": one sensitive value may be up to {ratio} times as likely as another ({limit} allowed)"
    # Without a ratio, the following words give the figures and their certainty.
    return f"{words}; if they are a sample, it may not{ratio_words and f'{ratio_words} ({sure})'}."


def _refusal(document: dict[str, Any]) -> tuple[str, str]:
    """Describe why nothing may be released, in a few words and as a sentence."""
    verdict, columns = document["verdict"], document["columns"]
    if set(columns["kept"]) & set(columns["sensitive"]):
        return "a sensitive column is kept", "A sensitive column would be released as it is."
    if verdict["refuted"]:
        found = "An attack found that this is not the release that was measured, or that it reveals more about"
        return "an attack on the released rows refutes it", f"{found} its people than about others: do not hand it out."
    whom = "in these rows" if verdict["confidence"] is None else "in some population that these rows may come from"
    return "over the limit, nothing may be released", f"A released value reveals more than is allowed {whom}."


def _worst(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Measures of the worst case over the distributions that the rows allow; empty if not computed."""
    return {measure["name"]: measure for measure in document["measures"] if is_worst_case(measure)}


def _level(by_name: dict[str, dict[str, Any]]) -> str:
    return str(by_name["worst_max_log_lift"]["label"]).rpartition(" at ")[2]
