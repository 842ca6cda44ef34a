"""A report read back from JSON prints like the one that was saved, and lies are refused where they show."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sanitize as sz
from sanitize._util.formatting import cells
from sanitize.core.measures import Measure
from sanitize.errors import InvalidParameter, SourceError
from sanitize.report import LeakageReport, Section
from sanitize.report._facts import ReleaseFacts

AUDIENCES = ("internal", "public")
HOSTILE = "<script>\u202e\x1b[0m\n\U0001f44d{{ 7 }}"
BUDGETS = (
    None,
    sz.LiftBudget(lower=float("inf"), upper=1.0),
    sz.LiftBudget(at_most=2.5, at_least=0.0),
    sz.LDPBudget(9.0),
    sz.L1LiftBudget(lower=3.0, upper=3.0),
    sz.Chi2LiftBudget(lower=3.0, upper=3.0),
    sz.AlphaLiftBudget(2, lower=3.0, upper=3.0),
    sz.L1LiftBudget(lower=3.0, upper=3.0, limits=sz.LiftBudget(at_most=4, at_least=0)),
)


def report(budget: Any = BUDGETS[1], **facts: Any) -> LeakageReport:
    joint = sz.JointDistribution(
        np.array([[0.25, 0.15, 0.10], [0.0, 0.25, 0.25]]),
        sz.core.alphabet.Alphabet(("illness",), ["secretS", "none"]),
        sz.core.alphabet.Alphabet(("town",), [HOSTILE, "b", "c"]),
        20,
    )
    facts = {"mechanism": "watchdog", "warnings": ("2 of 6 cells are empty",), "n_unseen": 3, "seeded": True} | facts
    found = LeakageReport.measure(joint, sz.Channel.identity(3, joint.public), budget, facts=ReleaseFacts(**facts))
    found = found.with_section(
        Section("attack", "What an attacker learns", "Of 7 rows.", ("who", "hits"), (("a", 0.5),))
    )
    found = found.with_section(Section("held", "On other rows", "", ("part", "nats"), (("b", 1 / 3),)))
    return found.with_curve(
        sz.release.choosing.tradeoff_curve(joint, sz.watchdog, [0, 1, sz.LiftBudget(lower=2, upper=1)])
    )


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: type(budget).__name__)
def test_saved_report_prints_like_the_one_that_was_saved(budget: Any, audience: str) -> None:
    original = report(budget)
    saved = LeakageReport.from_json(original.to_json())
    assert saved.ok is original.ok
    for view in ("to_dict", "to_json", "to_html", "to_text"):
        assert getattr(saved, view)(audience=audience) == getattr(original, view)(audience=audience)
    assert LeakageReport.from_dict(original.to_dict()).to_dict() == original.to_dict()
    assert str(saved) == str(original)
    assert saved._repr_html_() == original._repr_html_()
    figures = {name: saved.summary[name] for name in ("mutual_information", "max_log_lift", "ldp_public")}
    assert figures == {name: original.summary[name] for name in figures}
    assert saved.to_frame("symbols")["max_log_lift"].tolist() == original.to_frame("symbols")["max_log_lift"].tolist()


def test_public_report_stays_public() -> None:
    public = LeakageReport.from_json(report().to_json(audience="public"))
    assert public.to_json() == public.to_json(audience="public") == report().to_json(audience="public")
    assert public.to_html() == report().to_html(audience="public")
    assert str(public) == report().to_text(audience="public")
    assert "article" in public._repr_html_()
    assert public.to_frame("symbols").empty
    for view in (public.to_dict, public.to_json, public.to_html):
        with pytest.raises(InvalidParameter, match="no internal view"):
            view(audience="internal")
    assert "secretS" not in report().to_json()
    for leak in ("7 rows", "attack", "2 of 6"):
        assert leak in report().to_json()
        assert leak not in public.to_json(audience="public")
    assert public.to_dict(audience="public")["sections"] == []


def test_what_is_given_out_cannot_change_the_report() -> None:
    saved = LeakageReport.from_json(report().to_json())
    given_out = saved.to_dict()
    given_out["verdict"]["ok"] = "maybe"
    given_out["symbols"][0]["symbol"] = "other"
    assert saved.ok is True
    assert saved.to_json() == report().to_json()


def paths(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, entry in inner for found in paths(entry, (*place, key)))]


def _at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def changed(document: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(document)
    inner: Any = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


DOCUMENT = report().to_dict()


def test_a_whole_number_beyond_every_double_is_refused_wherever_a_number_stands():
    places = [place for place in paths(DOCUMENT)[1:] if isinstance(_at(DOCUMENT, place), float)]
    assert len(places) > 20
    for place in places:
        with pytest.raises(SourceError):
            LeakageReport.from_dict(changed(DOCUMENT, place, 10**400))


@pytest.mark.slow
def test_no_place_breaks_over_any_kind_of_value() -> None:
    """Every place and every kind, where draws leave some out."""
    for place in paths(DOCUMENT)[1:]:
        for value in (None, True, "x", -1, 1e400, 10**400, float("nan"), [], {}, [[[]]], {"x": []}):
            with contextlib.suppress(SourceError):
                LeakageReport.from_dict(changed(DOCUMENT, place, value))


@given(
    st.sampled_from(paths(DOCUMENT)[1:]),
    st.sampled_from([None, True, "x", -1, 1e400, 10**400, float("nan"), [], {}, [[[]]]]),
)
def test_whatever_stands_in_the_wrong_place_is_refused_or_printed_but_never_breaks(place: Any, value: Any) -> None:
    try:
        saved = LeakageReport.from_dict(changed(DOCUMENT, place, value))
    except SourceError as refused:
        words = str(refused)
    else:
        words = ""
    assert len(words) < 300
    assert "\n" not in words
    if words:
        return
    for audience in AUDIENCES:
        assert len(saved.to_text(audience=audience).splitlines()) <= 50
        assert "</article>" in saved.to_html(audience=audience)


@pytest.mark.parametrize("place", [place for place in paths(DOCUMENT) if place and isinstance(place[-1], str)])
def test_every_key_is_needed(place: tuple[Any, ...]) -> None:
    if "budget" in place[:-1]:
        return  # numbers of a budget: refused as a budget
    made = copy.deepcopy(DOCUMENT)
    inner: Any = made
    for key in place[:-1]:
        inner = inner[key]
    inner["another"] = inner.pop(place[-1])
    with pytest.raises(SourceError, match=r"is missing|schema|version|audience|does not belong"):
        LeakageReport.from_dict(made)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("verdict", "ok"), False, "verdict contradicts"),
        (("verdict", "worst_excess"), 0.5, "verdict contradicts"),
        (("verdict", "worst_excess"), None, "a budget without an excess"),
        (("verdict", "tolerance"), 1.0, "tolerance"),
        (("verdict", "allowed"), "nothing leaks", "contradict the budget"),
        (("verdict", "budget", "upper"), 7.0, "contradict the budget"),
        (("verdict", "budget", "upper"), -7.0, "budget cannot be read"),
        (("verdict", "budget", "other"), 7.0, "budget cannot be read"),
        (("columns", "kept"), ["illness"], "verdict contradicts its columns"),
        (("measures", 0, "after"), 1.1, "its max_log_lift is not"),
        (("measures", 0, "after"), None, "lacks the measure 'max_log_lift'"),
        (("measures", 1, "name"), "max_log_lift", "lists a measure twice"),
        (("warnings",), [], "lacks a warning"),
        (("n_symbols",), 1, "more symbols than it counts"),
        (("lift", "prior"), [0.5], "not rectangular"),
        (("measures", 0, "low"), [1.0], r"measures\[0\]\.low must be a number"),
        (("version",), 2, "version"),
        (("version",), True, "version"),
        (("schema",), "other", "schema"),
        (("audience",), "press", "audience must be one of 'internal', 'public'|does not belong"),
    ],
)
def test_contradictions_are_refused(place: tuple[Any, ...], value: Any, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        LeakageReport.from_dict(changed(DOCUMENT, place, value))


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "7", '"sanitize/leakage-report"', b"\xff\xfe{", "[" * 100_000,
        report().to_json().replace('"n_rows": 20', '"n_rows": NaN'),
        report().to_json().replace('"n_rows": 20', '"n_rows": 1e999'),
        report().to_json().replace('"n_rows": 20', '"n_rows": 20, "n_rows": 21'),
    ],
    ids=range(11),
)  # fmt: skip
def test_text_that_is_no_report_is_refused_without_being_quoted(text: Any) -> None:
    with pytest.raises(SourceError) as caught:
        LeakageReport.from_json(text)
    assert len(str(caught.value)) < 200
    assert "secret" not in str(caught.value)


def test_messages_name_the_place_and_quote_nothing() -> None:
    with pytest.raises(SourceError, match=r"symbols\[0\]\.probability must be a share"):
        LeakageReport.from_dict(changed(DOCUMENT, ("symbols", 0, "probability"), "secretS"))


def test_pictures_may_be_absent_and_the_rest_is_rendered() -> None:
    bare = json.loads(report().to_json()) | {"lift": None, "margins": None, "shapes": [], "curve": None}
    page = LeakageReport.from_dict(bare).to_html()
    assert "<svg" not in page.replace('<svg class="range"', "").replace('<svg class="thick"', "")
    assert "For experts: all measures" in page


def test_an_estimate_may_exceed_its_bound_and_shows_its_interval() -> None:
    line = Measure("held_out", "on other rows", "nats", "estimate", None, 2.0, 1.0, 1.5, 2.5)
    made = dataclasses.replace(report(), measures=(*report().measures, line))
    saved = LeakageReport.from_json(made.to_json())
    assert (saved.to_dict()["measures"][-1]["low"], saved.to_dict()["measures"][-1]["high"]) == (1.5, 2.5)
    for view in ("to_html", "to_text"):
        assert "1.5 to 2.5" in " ".join(getattr(saved, view)().split())


@pytest.mark.parametrize("audience", AUDIENCES)
def test_hostile_sections_stay_inside_the_screen(audience: str) -> None:
    name = HOSTILE * 50
    section = Section(name, name, name, (name,) * 9, ((name, name, 1.0, None, float("inf")),) * 300)
    made = report().with_section(section)
    lines = made.to_text(audience=audience).split("\n")
    assert len(lines) <= {"public": 32, "internal": 50}[audience]
    assert max(map(cells, lines)) <= 80
    assert all(character.isprintable() for line in lines for character in line)
    assert any(line.startswith("Keeps") for line in lines) is (audience == "internal")
    page = made.to_html(audience=audience)
    assert "<script" not in page
    assert len(page.encode()) < 1_000_000


def test_report_of_a_capacity_is_read_back() -> None:
    table = sz.datasets.load_titanic()
    sanitizer = sz.transformers.ExponentialChannel(0.5, sensitive="survived", public=["class"])
    original = sanitizer.fit(table).report_
    saved = LeakageReport.from_json(original.to_json())
    assert saved.to_html() == original.to_html()
    assert "the whole channel meets the limits of CapacityBudget" in saved.to_text()


def test_intervals_of_many_estimates_give_way_to_the_figures() -> None:
    original = report()
    lines = tuple(dataclasses.replace(m, kind="estimate", low=0.25, high=99.0) for m in original.measures)
    lines += tuple(dataclasses.replace(m, name=f"more_{m.name}") for m in lines[:3])
    made = dataclasses.replace(original, measures=lines, sections=())
    text = made.to_text()
    assert len(text.splitlines()) <= 50
    in_words, least = ("utility", "normalized_utility"), ("sibson", "arimoto", "chi2_div", "ldp_public", "worst_ldp")
    assert all(measure.label in text for measure in lines if not measure.name.startswith((*in_words, *least)))
    assert "0.25 to 99" not in text
    assert made.to_html().count("(0.25 to 99)") == len(lines)


def test_sections_replace_those_of_the_same_name_and_show_in_every_view() -> None:
    made = report().with_section(Section("attack", "Again", "Words.", ("who", "hits"), (("b", float("inf")),)))
    assert [part.name for part in made.sections] == ["power", "person", "held", "attack"]
    for view in ("to_html", "to_text"):
        shown = getattr(made, view)()
        assert "Again" in shown
        assert "inf" in shown
        assert "What an attacker learns" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("extreme", [1.7976931348623157e308, -1e308, 5e-324, 10**308])
def test_figures_at_the_end_of_all_doubles_are_shown_or_refused(extreme: float) -> None:
    """Each figure of a report in its turn."""
    document, shown = report().to_dict(), 0
    for place in figures(document):
        bad = copy.deepcopy(document)
        *way, last = place
        inner: Any = bad
        for key in way:
            inner = inner[key]
        inner[last] = extreme
        try:
            saved = LeakageReport.from_json(json.dumps(bad))
        except SourceError:
            continue
        for audience in AUDIENCES:
            for view in (saved.to_text, saved.to_html, saved.to_json):
                view(audience=audience)
        shown += 1
    assert shown > 20


def figures(value: Any, place: tuple[Any, ...] = ()) -> Any:
    """Places of all numbers in a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from figures(inner, (*place, key))
    if type(value) in (int, float):
        yield place
