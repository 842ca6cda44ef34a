"""Views of a report: text, JSON, pages, and what each audience may see."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import (
    AUDIENCES,
    BUDGETS,
    COUNT_CANARY,
    HOSTILE,
    PUBLIC_CANARY,
    SENSITIVE_CANARY,
    Page,
    hostile,
    measured,
    secretive,
)

import sanitize as sz
from sanitize.core.measures import Measure
from sanitize.errors import BudgetExceeded, InvalidParameter
from sanitize.report import LeakageReport
from sanitize.report import _text as text_view
from sanitize.report._facts import ReleaseFacts

# What the public view may never show: planted in every place a report could take it from.
TAGS = {
    *(
        "html",
        "details",
        "summary",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "article",
        "header",
        "section",
        "h1",
        "h2",
        "h3",
        "p",
        "ol",
        "ul",
        "li",
    ),
    *("dl", "dt", "dd", "br", "b", "strong", "span", "footer", "figure"),
    *("svg", "rect", "line", "circle", "polyline", "text"),
    *("code", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "small"),
}

DRAWING = {
    *("x", "y", "width", "height", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "points"),
    *("text-anchor", "viewbox", "preserveaspectratio", "role", "aria-label", "aria-hidden"),
}


def views(report: LeakageReport, audience: str) -> dict[str, str]:
    return {
        "json": report.to_json(audience=audience),
        "dict": repr(report.to_dict(audience=audience)),
        "text": report.to_text(audience=audience),
        "html": report.to_html(audience=audience),
    }


@pytest.mark.parametrize("audience", AUDIENCES)
def test_verdict_is_the_first_thing_said(audience: str) -> None:
    cases = {
        "HOLDS FOR THE STATED DISTRIBUTION ONLY": measured(budget=sz.LiftBudget(lower=1, upper=0.5)),
        "REFUSED: over the limit, nothing may be released": measured(budget=sz.LiftBudget(lower=0.9, upper=0.5)),
        "AUDIT: no budget given": measured(),
        "REFUSED: a sensitive column is kept": measured(budget=sz.LiftBudget(lower=1, upper=0.5), kept=("s",)),
    }
    for words, report in cases.items():
        if audience == "public" and words.startswith("REFUSED"):  # why is found in the table
            words = "REFUSED: nothing may be released"
        assert report.to_text(audience=audience).splitlines()[0] == f"{words} | none, resample"
        page = Page(report.to_html(audience=audience))
        assert words in page.words
        assert report.to_dict(audience=audience)["verdict"]["ok"] is words.startswith(("HOLDS", "AUDIT"))


@pytest.mark.parametrize("budget", [sz.LiftBudget(lower=0.01, upper=0.01), sz.L1LiftBudget(lower=0.01, upper=0.01)])
def test_refusal_carries_the_witness_but_does_not_print_it(budget: Any) -> None:
    report = dataclasses.replace(secretive(), budget=budget)
    with pytest.raises(BudgetExceeded) as caught:
        report.require()
    assert caught.value.witness == (SENSITIVE_CANARY, "elsewhere")  # the empty cell
    for symbol in (SENSITIVE_CANARY, "none", PUBLIC_CANARY, "elsewhere"):
        assert symbol not in str(caught.value)
    assert SENSITIVE_CANARY not in repr(report)


def test_report_is_frozen_and_so_is_the_array_its_verdict_is_read_from() -> None:
    report = measured(budget=sz.LiftBudget(lower=0.1, upper=0.1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.budget = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.measures[0].after = 0.0
    with pytest.raises(ValueError, match="read-only"):
        report.excess[:] = -1.0
    assert not report.ok


def test_infinities_survive_json_as_strings_and_nothing_else_is_not_finite() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    report = measured([[0.5, 0.0], [0.25, 0.25]], budget=sz.LiftBudget(lower=math.inf, upper=1))
    loaded = json.loads(report.to_json(), parse_constant=refuse)
    assert loaded == report.to_dict()
    found = {row["name"]: row for row in loaded["measures"]}
    assert found["min_log_lift"]["after"] == found["min_log_lift"]["bound"] == "-inf"
    assert found["ldp_sensitive"]["after"] == "inf"
    assert float(found["min_log_lift"]["after"]) == -math.inf
    assert loaded["verdict"]["budget"] == {"type": "LiftBudget", "lower": "inf", "upper": 1.0}
    # What is not a number was not computed.
    undefined = dataclasses.replace(
        report, measures=(*report.measures, Measure("q", "q", "1", "exact", math.nan, None))
    )
    assert undefined.to_dict()["measures"][-1]["before"] is None
    assert "NaN" not in undefined.to_json()


@pytest.mark.parametrize("view", ["json", "dict", "text", "html"])
def test_public_view_holds_no_symbol_and_no_count(view: str) -> None:
    report = secretive()
    public, internal = views(report, "public")[view], views(report, "internal")[view]
    for canary in (SENSITIVE_CANARY, PUBLIC_CANARY, str(COUNT_CANARY), "elsewhere", "of 40 cells"):
        assert canary not in public
    assert PUBLIC_CANARY in internal
    assert str(COUNT_CANARY) in internal
    assert SENSITIVE_CANARY not in internal
    assert "illness" in public


def test_public_view_is_the_same_for_every_table_that_is_within_the_limit() -> None:
    """Not the figures alone: which warnings there are, and whether next to nothing is kept, are found in it too."""
    counts = np.array([[18741.0, 901.0], [20333.0, 8867.0]])
    for view in ("json", "text", "html"):
        found = {
            views(measured(pmf, budget=sz.LiftBudget.symmetric(9)), "public")[view]
            for pmf in (np.full((2, 2), 0.25), counts / counts.sum())
        }
        assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_text_stays_one_screen_of_visible_characters_for_hostile_names(kind: str, audience: str) -> None:
    for budget in (None, *BUDGETS.values()):
        lines = hostile(HOSTILE[kind], n_x=12, budget=budget).to_text(audience=audience).split("\n")
        assert len(lines) <= {"public": 32, "internal": 50}[audience]
        assert max(map(text_view.cells, lines)) <= 80
        assert all(character.isprintable() for line in lines for character in line)
        assert "SEEDED" in lines[0]
        if audience == "public":
            assert "Measured figures and warnings are left out" in " ".join(lines)
            continue
        # Nothing is lost to make room: the table, the plain sentence and the warnings are all there.
        assert any(line.startswith("maximal leakage") for line in lines)
        assert "sensitive value becomes" in " ".join(lines)
        assert any(line.startswith("Keeps") for line in lines)
        assert lines[-1].startswith("! ")


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_text_stays_one_screen_for_many_hostile_columns(kind: str, audience: str) -> None:
    groups = [[f"{role}{i:02d}{HOSTILE[kind]}" for i in range(20)] for role in "sxk"]
    rows = [[tuple(f"{value}{HOSTILE[kind]}" for _ in range(20)) for value in "ab"] for _ in groups[:2]]
    joint = sz.JointDistribution(
        np.full((2, 2), 0.25),
        *(sz.core.alphabet.Alphabet(names, symbols) for names, symbols in zip(groups, rows, strict=False)),
        4,
    )
    facts = ReleaseFacts(kept=tuple(groups[2]), warnings=(HOSTILE[kind],))
    channel = sz.Channel.identity(2, joint.public)
    report = LeakageReport.measure(
        joint, channel, sz.AlphaLiftBudget(1.2345, lower=0.123456, upper=0.654321), facts=facts
    )
    text = report.to_text(audience=audience)
    assert len(text.split("\n")) <= {"public": 32, "internal": 50}[audience]
    assert max(map(text_view.cells, text.split("\n"))) <= 80
    assert (" nats)." in text) is (audience == "internal")
    assert ("the 40 columns together" in " ".join(text.split())) is (audience == "internal")
    assert len(report.to_html(audience=audience).encode()) < 1_000_000


@pytest.mark.slow
@given(st.text(max_size=60), st.integers(3, 40))
def test_clipped_text_fits_and_hides_nothing(name: str, limit: int) -> None:
    shown = text_view.clip(name, limit)
    assert text_view.cells(shown) <= limit
    assert shown.isprintable()


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_page_with_hostile_names_runs_nothing_loads_nothing_and_stays_small(kind: str, audience: str) -> None:
    page = hostile(HOSTILE[kind], n_x=300).to_html(audience=audience)
    parsed = Page(page)
    assert len(page.encode()) < 1_000_000
    assert {tag for tag, _ in parsed.tags} <= TAGS
    names = {name for _, attributes in parsed.tags for name in attributes}
    assert names <= {"lang", "charset", "http-equiv", "content", "name", "class", "scope", *DRAWING}
    assert not re.search(r"https?:|url\(|@import|javascript:", page.replace(HOSTILE[kind], ""))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b\x1b]", page)


def test_page_of_ten_thousand_symbols_lists_two_hundred_and_counts_the_rest() -> None:
    report = hostile("n" * 2_000, n_x=10_000)
    page = report.to_html()
    assert len(page.encode()) < 1_000_000
    assert "24 of 10000</caption>" in page
    assert "16 of 10000." in page
    assert "200 of 10000" in page
    assert "other 9800" in page
    assert len(report.to_dict()["symbols"]) == 10_000


@pytest.mark.parametrize("audience", AUDIENCES)
def test_page_is_a_document_of_its_own_with_labelled_tables(audience: str) -> None:
    page = secretive().to_html(audience=audience)
    assert page.startswith("<!doctype html>")
    parsed = Page(page)
    attributes = dict(reversed(parsed.tags))
    assert attributes["html"]["lang"] == "en"
    policy = [found["content"] for tag, found in parsed.tags if found.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert all("scope" in found for tag, found in parsed.tags if tag == "th")
    words = " ".join(" ".join(parsed.words).split())
    for promise in (
        "of the same rows add to it",
        "released unchanged",
        "not differential privacy",
    ):
        assert promise in words
    assert ("describe the frequencies" in words) is (audience == "internal")
    assert ("For experts: every released value" in words) is (audience == "internal")


def test_notebook_fragment_brings_no_shell_and_styles_nothing_outside() -> None:
    fragment = measured()._repr_html_()
    assert not {tag for tag, _ in Page(fragment).tags} & {"html", "head", "body", "meta", "title"}
    style = re.sub(r"@media[^{]*", "", fragment.split("<style>")[1].split("</style>")[0])
    selectors = re.findall(r"([^{}]+)\{", style)
    assert selectors
    assert all(part.strip().startswith(".sanitize-report") for s in selectors for part in s.split(",") if part.strip())


def test_frames_hold_the_three_tables_of_the_report() -> None:
    report = measured(budget=BUDGETS["lift"], kept=("age",))
    tables = {name: report.to_frame(name) for name in ("measures", "symbols", "columns")}
    assert all(isinstance(table, pd.DataFrame) for table in tables.values())
    assert tables["measures"].set_index("name").loc["maximal_leakage", "after"] == pytest.approx(math.log(1.3))
    assert tables["symbols"]["probability"].sum() == pytest.approx(1)
    assert tables["symbols"]["max_log_lift"].max() == pytest.approx(math.log(1.6))
    assert tables["columns"].values.tolist() == [
        ["s", "sensitive"],
        ["x", "released through the channel"],
        ["age", "kept as it is"],
    ]


def test_unknown_tables_and_audiences_are_refused_by_name() -> None:
    report = measured()
    with pytest.raises(InvalidParameter, match=r"table must be .*'rows'"):
        report.to_frame("rows")
    for view in (report.to_dict, report.to_json, report.to_text, report.to_html):
        with pytest.raises(InvalidParameter, match=r"audience must be .*'press'"):
            view(audience="press")


def test_bounds_that_replace_the_printed_ones_are_attained() -> None:
    # S is uniform on three letters; each y has lift 5/4 on two of them and 1/2 on the third. The printed
    # bounds, which use (e**upper - 1) only, would be 1/16, 1/4 and 1/8.
    pmf = (np.full((3, 3), 1.25) - 0.75 * np.eye(3)) / 9
    report = measured(pmf, budget=sz.LiftBudget(lower=math.log(2), upper=math.log(1.25)))
    assert report.ok
    found = {m.name: m for m in report.measures}
    for name, value in (("chi2_divergence", 1 / 8), ("l1_lift", 1 / 3), ("total_variation", 1 / 6)):
        assert found[name].after == pytest.approx(value, abs=1e-12)
        assert found[name].bound == pytest.approx(value, abs=1e-12)
