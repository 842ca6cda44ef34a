"""Ten situations from the table to every view of them: one headline, and never a calmer colour than the state's.

The reports are those of real fits; `tests/report/test_headline.py` has more situations, of reports alone.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.cli import main
from sanitize.engines.parquet import audit_file
from sanitize.errors import BudgetExceeded
from tests.support.report_cases import Page

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "report.md"
EVEN = {("a", "p"): 30, ("a", "q"): 20, ("b", "p"): 20, ("b", "q"): 30}
VIEWS = ("text", "page", "JSON", "plan", "verify", "estimator")
# Header of a page and bar of a badge -> the colour's name; a page's class is the state's own.
HUES = {"good": "green", "doubt": "amber", "bad": "red", "plain": "blue"}
BARS = {"#1a7f37": "green", "#b45309": "amber", "#b42318": "red", "#2563eb": "blue"}
COLOUR_OF = {"source": "green", "rows": "amber", "refused": "red", "audit": "blue"}


@dataclass(frozen=True)
class Situation:
    """A table, and what a policy says of it."""

    times: int
    budget: str
    channel: str = ""
    keep: str = ""


WIDE, TIGHT = "lower = 1.0\nupper = 0.5", "lower = 0.1\nupper = 0.1"
CLASSES = 'mechanism = "latent-classes"\nconfidence = 0.95'
SITUATIONS = {
    "many rows, `confidence = 0.95`": Situation(1000, WIDE, "confidence = 0.95"),
    "few rows": Situation(1, WIDE),
    "many rows": Situation(1000, WIDE),
    "few rows, a budget of another kind": Situation(1, 'notion = "l1"\nlower = 1.0\nupper = 0.9'),
    "few rows, `confidence = 0.95`, a tight budget": Situation(1, TIGHT, "confidence = 0.95"),
    "few rows, a tight budget": Situation(1, TIGHT),
    "many rows through latent classes, `confidence = 0.95`": Situation(100, WIDE, CLASSES),
    "a kept column next to the channel": Situation(10, WIDE, keep="z"),
    "a kept column that reveals too much": Situation(10, TIGHT, keep="x"),
    "no budget": Situation(10, ""),
}


@dataclass(frozen=True)
class Seen:
    """What every view of a situation shows: its headline where it has one, and its colour where it has that."""

    state: str
    headline: str
    sentence: str
    shown: dict[str, tuple[str, str | None]]

    @property
    def colour(self) -> str:
        return "amber" if "less than 5 %" in self.headline else COLOUR_OF[self.state]


def table(times: int) -> pd.DataFrame:
    rows = [(s, x, z) for (s, x), n in EVEN.items() for z in ("u", "v") for _ in range(n * times // 2)]
    return pd.DataFrame(rows, columns=["s", "x", "z"])


def policy_text(situation: Situation) -> str:
    public = [name for name in ("x", "z") if name != situation.keep]
    keep = f'keep = ["{situation.keep}"]\n' if situation.keep else ""
    return (
        f'version = 1\n[columns]\nsensitive = ["s"]\npublic = {public}\n{keep}[budget]\n'
        f"{situation.budget or WIDE}\n[channel]\n{situation.channel}\n"
    )


def said(*argv: str) -> tuple[int, str]:
    """Exit code of the command and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(list(argv))
    return code, out.getvalue()


def colour_of_page(html: str) -> str:
    classes = [attributes.get("class") or "" for tag, attributes in Page(html).tags if tag == "header"]
    return HUES[classes[0]]


@cache
def seen(name: str) -> Seen:
    """All views of a situation, from files in a folder of their own."""
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        return _seen(SITUATIONS[name])


def _seen(situation: Situation) -> Seen:
    df = table(situation.times)
    df.to_parquet("raw.parquet")
    Path("policy.toml").write_text(policy_text(situation))
    shown: dict[str, tuple[str, str | None]] = {}
    report: Any
    if not situation.budget:
        report = audit_file("raw.parquet", ["s"], ["x", "z"])
        _, audited = said("audit", "raw.parquet", "-p", "policy.toml")
        shown |= {"plan": (audited, None), "verify": ("", None), "estimator": ("", None)}
    else:
        sanitizer = sz.Policy.read("policy.toml").sanitizer()
        try:
            report = sanitizer.fit("raw.parquet").report_  # whose rows are shuffled, as a release is
            html = sanitizer._repr_mimebundle_()["text/html"]
            shown["estimator"] = html, BARS[re.search(r"6px solid (#\w+)", html)[1]]
        except BudgetExceeded as error:
            report = error.report
            shown["estimator"] = "not fitted", None
        code, planned = said("plan", "raw.parquet", "-p", "policy.toml", "--html", "plan.html")
        assert code == (0 if report.ok else 1)
        page = Path("plan.html").read_text()
        shown["plan"] = planned, colour_of_page(page)
        assert report.to_dict()["verdict"]["headline"] in page
        assert ("Loosen the budget" in page) == (not report.ok)
        code, _ = said("release", "raw.parquet", "-p", "policy.toml", "-o", "out.parquet", "--allow-useless")
        assert code == (0 if report.ok else 1)
        if not report.ok:  # a release under a looser budget, to be held against this one
            Path("loose.toml").write_text(policy_text(Situation(situation.times, "lower = 9\nupper = 9", keep="x")))
            assert said("release", "raw.parquet", "-p", "loose.toml", "-o", "out.parquet")[0] == 0
        code, verified = said("verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml")
        assert code == (0 if report.ok else 1)
        shown["verify"] = verified, None
    html = report.to_html()
    shown |= {
        "text": (report.to_text(), None),
        "page": (" ".join(Page(html).words), colour_of_page(html)),
        "JSON": (str(sz.LeakageReport.from_json(report.to_json()).to_dict()["verdict"]), None),
    }
    verdict = report.to_dict()["verdict"]
    return Seen(report.state, verdict["headline"], verdict["sentence"], shown)


def cell(found: Seen, view: str) -> str:
    """What the guide says of a view: the same headline and sentence, none at all, or that there is no such view."""
    text = " ".join(found.shown[view][0].replace("&#x27;", "'").split())
    if found.headline in text and _without_figures(found.sentence) in _without_figures(text):
        return "the same"
    if not text:
        return "-"
    return text if view == "estimator" and found.state == "refused" else "other"


def _without_figures(text: str) -> str:
    """Views of latent classes that fit them anew, by a key of their own, have other figures of the file."""
    figures = r"becomes at most [\d.]+ and at least [\d.]+ times as likely in this file, "
    return re.sub(figures, "", text) if "generated by a model" in text or "in this file, at most" in text else text


def rows() -> list[tuple[str, ...]]:
    return [
        (name, found.colour, found.headline, *(cell(found, view) for view in VIEWS))
        for name in SITUATIONS
        for found in [seen(name)]
    ]


@pytest.mark.slow
def test_the_table_of_views_in_the_guide_is_what_they_show():
    section = GUIDE.read_text(encoding="utf-8").split("## Ten situations, six views", 1)[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    listed = [tuple(part.strip() for part in line.strip("|").split("|")) for line in lines]
    assert listed == rows(), "\n".join(f"| {' | '.join(row)} |" for row in rows())


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_view_is_calmer_than_the_state(name):
    """Green only for a claim about the source that keeps something; what is refused is nowhere green or amber."""
    found = seen(name)
    colours = {view: colour for view, (_, colour) in found.shown.items() if colour is not None}
    assert set(colours.values()) == {found.colour}, colours
    assert "page" in colours
    if found.state == "refused":
        for view in ("plan", "verify", "estimator"):
            text = found.shown[view][0]
            assert "HOLDS" not in text
            assert not text.startswith("VERIFIED")


def test_the_ten_situations_are_ten_and_have_all_states():
    assert len(SITUATIONS) == 10
    assert {seen(name).state for name in SITUATIONS} == {"source", "rows", "refused", "audit"}
    assert any("less than 5 %" in seen(name).headline for name in SITUATIONS)


def test_both_sides_of_a_table_have_as_many_rows():
    assert np.isclose((table(1)["s"] == "a").mean(), 0.5)
