"""The headline: four states, the same words in every view, and never green above red."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sanitize as sz
from sanitize.core.budgets import budget_words
from sanitize.errors import ReleaseWarning, SourceError
from sanitize.report import LeakageReport, ReleaseFacts
from sanitize.report import _headline as words
from tests.support.report_cases import AUDIENCES, Page

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "report.md"
EVEN = np.array([[30.0, 20.0], [20.0, 30.0]])
BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)


def made(counts: Any = EVEN, budget: Any = BUDGET, *, merged: bool = False, **settings: Any) -> LeakageReport:
    """Report on whole counts, of the identity or of the channel that makes all symbols one."""
    facts, confidence = ReleaseFacts(**settings.pop("facts", {})), settings.pop("confidence", None)
    counts = np.asarray(counts)
    joint = sz.JointDistribution.from_matrix(counts / counts.sum())
    joint = sz.JointDistribution(joint.pmf, joint.sensitive, joint.public, int(counts.sum()))
    if settings.pop("stated", False):
        joint = sz.JointDistribution(joint.pmf, joint.sensitive, joint.public)
    n = len(joint.public)
    channel = sz.Channel.merge([0] * n) if merged else sz.Channel.identity(n, joint.public)
    return LeakageReport.measure(joint, channel, budget, facts=facts, confidence=confidence)


def refuted() -> LeakageReport:
    return made().with_findings(SimpleNamespace(ok=False, summary=("the noise is used twice",)))


# Situations, in the order of the table in the guide.
SITUATIONS = {
    "many rows, `confidence=0.95`": lambda: made(1000 * EVEN, confidence=0.95),
    "few rows, no confidence": made,
    "many rows, no confidence": lambda: made(1000 * EVEN),
    "a budget of another kind than lift or LDP": lambda: made(1000 * EVEN, sz.L1LiftBudget(lower=1.0, upper=0.9)),
    "a distribution that was stated, without rows": lambda: made(stated=True),
    "few rows, `confidence=0.95`, everything merged": lambda: made(merged=True, confidence=0.95),
    "few rows, everything merged": lambda: made(merged=True),
    "over the budget": lambda: made(budget=sz.LiftBudget(lower=0.1, upper=0.1)),
    "a sensitive column is kept": lambda: made(facts={"kept": ("s",)}),
    "`attack.check` found another release": refuted,
    "no budget": lambda: made(budget=None),
}


def guide() -> list[tuple[str, str, str, str, str]]:
    """Rows of the guide's table."""
    lines = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return [row for row in rows if row[0] in SITUATIONS and len(row) == 5]  # type: ignore[misc]


def test_the_table_of_the_guide_is_what_the_library_says() -> None:
    rows = []
    for situation, make in SITUATIONS.items():
        report = make()
        verdict, colour = report.to_dict()["verdict"], words.colour(report.to_dict())
        hues = {"good": "green", "doubt": "amber", "bad": "red", "plain": "blue"}
        state = f'`"{report.state}"`' + (", `useless`" if report.useless else "")
        claim = re.sub(r" (A|No) sensitive value becomes .*?\.$", "", verdict["sentence"])
        rows.append((situation, state, hues[colour], verdict["headline"], claim))
    assert guide() == rows, "\n".join(f"| {' | '.join(row)} |" for row in rows)


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_one_pair_of_figures_is_of_the_file_and_one_of_the_source(confidence: float | None) -> None:
    report = made(1000 * EVEN, confidence=confidence)
    found = report.summary
    of_file = [math.exp(found[f"{side}_log_lift"]) for side in ("max", "min")]
    population_lifts = [math.exp(found[f"worst_{side}_log_lift"]) for side in ("max", "min")]
    told = re.findall(r"at most (\S+) and at least (\S+)", report.to_dict()["verdict"]["sentence"])
    assert [tuple(map(float, pair)) for pair in told] == [
        pytest.approx(of_file, rel=0.005),
        pytest.approx(population_lifts, rel=0.005),
    ]
    assert population_lifts[0] <= float(told[1][0])
    assert float(told[1][1].rstrip(",")) <= population_lifts[1]
    assert report.to_dict()["verdict"]["sentence"].endswith(" in the population.")


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_view_says_the_same_headline_and_sentence(situation: str, audience: Any) -> None:
    report = SITUATIONS[situation]()
    verdict = report.to_dict(audience=audience)["verdict"]
    page, text = Page(report.to_html(audience=audience)), report.to_text(audience=audience)
    assert " ".join(text.split()).startswith(f"{verdict['headline']} | ")
    assert verdict["sentence"] in " ".join(text.split())
    assert verdict["headline"] in page.words
    assert verdict["sentence"] in " ".join(" ".join(page.words).split())
    if not report.verdict.is_void or audience == "public":  # a finding is not saved, only what it says
        saved = LeakageReport.from_json(report.to_json(audience=audience))
        assert (saved.state, saved.ok) == (report.state, report.ok)
        assert saved.useless == (report.useless and audience == "internal")
        assert saved.to_dict()["verdict"] == verdict


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_first_lines_alone_hold_whole_sentences(situation: str, audience: Any) -> None:
    report = SITUATIONS[situation]()
    text, verdict = report.to_text(audience=audience, full=False), report.to_dict(audience=audience)["verdict"]
    lines = text.splitlines()
    assert lines[0] == report.to_text(audience=audience).splitlines()[0]
    assert len(lines) <= {"internal": 10, "public": 14}[audience]
    assert max(map(len, lines)) <= 80
    assert "..." not in text
    assert verdict["sentence"] in " ".join(text.split())
    assert ("% of the information in" in text) is (audience == "internal")
    assert ("Measured figures and warnings are left out" in text) is (audience == "public")


def test_the_first_lines_tell_of_what_is_grave_and_count_the_rest() -> None:
    seeded = made(facts={"seeded": True, "warnings": ("a bin is wide", "another one")}).to_text(full=False)
    assert "! seeded, not for release" in seeded
    assert "! warnings left out: 2;" in seeded
    assert "a bin is wide" not in seeded


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_nothing_red_stands_below_green_or_amber(situation: str, audience: Any) -> None:
    report = SITUATIONS[situation]()
    page = Page(report.to_html(audience=audience))
    classes = [attributes.get("class") or "" for _, attributes in page.tags]
    red = any("beyond" in name.split() for name in classes)
    amber = any("doubtful" in name.split() for name in classes)
    hue = next(name for tag, name in zip((tag for tag, _ in page.tags), classes, strict=True) if tag == "header")
    assert not red or hue == "bad"
    assert not amber or hue in ("doubt", "bad")
    marked = [line for line in report.to_text(audience=audience).splitlines() if line.endswith("!")]
    assert not marked or hue in ("doubt", "bad")


@given(st.lists(st.integers(0, 40), min_size=6, max_size=6).filter(lambda n: sum(n[:3]) and sum(n[3:])),
       st.floats(0.05, 3), st.floats(0.05, 3), st.sampled_from([None, 0.9, 0.99]))  # fmt: skip
def test_state_is_about_the_source_only_if_its_worst_case_is_within_the_budget(
    cells: list[int], lower: float, upper: float, confidence: float | None
) -> None:
    counts = np.reshape(cells, (2, 3)).astype(float)
    report = made(counts[:, counts.sum(axis=0) > 0], sz.LiftBudget(lower=lower, upper=upper), confidence=confidence)
    found = {measure.name: measure.after for measure in report.measures}
    exact = found["max_log_lift"] <= upper + 1e-9 and found["min_log_lift"] >= -lower - 1e-9
    worst = found["worst_max_log_lift"] <= upper + 1e-9 and found["worst_min_log_lift"] >= -lower - 1e-9
    assert report.state == ("refused" if not (exact and (worst or confidence is None)) else
                            "rows" if confidence is None else "source")  # fmt: skip
    assert report.ok is (report.state != "refused")
    says_so = "and also if they are a sample of a population" in report.to_dict()["verdict"]["sentence"]
    assert says_so is (report.state == "rows" and worst)


@given(st.floats(-20, 20))
def test_far_is_said_to_the_safe_side(log_lift: float) -> None:
    up, down = (float(side(log_lift)) for side in (words.times_up, words.times_down))
    assert down * (1 - 1e-8) <= np.exp(log_lift) <= up * (1 + 1e-8)
    assert up <= 1.011 * down  # three digits


@pytest.mark.parametrize("log_lift", [0.0049, 0.1049, 1.0049])
def test_a_secret_is_at_most_so_many_times_as_likely_as_the_sentence_says(log_lift: float) -> None:
    """A third digit that is rounded to the nearest one would promise less than is there, and near 1 nothing at all."""
    most = float(np.exp(log_lift))
    counts = [[most, 2 - most], [2 - most, most]] if most < 2 else [[most, 0.0], [1.0, most - 1]]
    report = made(10_000 * np.array(counts), sz.LiftBudget(at_most=50, at_least=0))
    found = re.search(r"at most ([\d.]+) and at least ([\d.]+)", report.to_dict()["verdict"]["sentence"])
    assert found is not None
    figures = {measure.name: measure.after for measure in report.measures}
    assert float(found[1]) >= np.exp(figures["max_log_lift"]) * (1 - 1e-8)
    assert float(found[2]) <= np.exp(figures["min_log_lift"]) * (1 + 1e-8)


@pytest.mark.parametrize(("confidence", "said"), [(0.95, "95"), (0.9987654, "99.87"), (0.99999, "99.99")])
def test_nothing_is_said_to_be_surer_than_it_is(confidence: float, said: str) -> None:
    sentences = [
        made(1000 * EVEN, confidence=confidence).to_dict(audience=whom)["verdict"]["sentence"]
        for whom in ("internal", "public")
    ]
    assert all(f"({said} % sure)" in sentence for sentence in sentences)


def test_infinite_and_impossible_are_words() -> None:
    assert (words.times_down(-np.inf), words.times_up(np.inf), words.times_up(0.0), words.times_down(np.log(2))) == (
        "0", "infinitely many", "1", "2"
    )  # fmt: skip


def test_what_a_column_keeps_is_its_mutual_information_with_what_is_released() -> None:
    """A slow twin: the distribution of (X_j, Y) entry by entry."""
    df = sz.datasets.load_titanic()
    joint = sz.JointDistribution.from_frame(df, ["survived"], ["class", "sex"])
    channel = sz.optimal_random_response(joint, 0.3)
    report = LeakageReport.measure(joint, channel, sz.LiftBudget.symmetric(0.3))
    for j, kept in enumerate(report.kept):
        distribution: dict[tuple[Any, int], float] = {}
        for x, symbol in enumerate(joint.public.symbols):
            for y in range(channel.n_outputs):
                distribution[symbol[j], y] = distribution.get((symbol[j], y), 0.0) + joint.p_x[x] * channel.matrix[x, y]
        a = {v: sum(p for (w, _), p in distribution.items() if w == v) for v, _ in distribution}
        b = {y: sum(p for (_, z), p in distribution.items() if z == y) for _, y in distribution}
        information = sum(p * np.log(p / a[v] / b[y]) for (v, y), p in distribution.items() if p > 0)
        entropy = -sum(p * np.log(p) for p in a.values())
        assert kept.column == joint.public.columns[j]
        assert kept.share == pytest.approx(information / entropy, abs=1e-9)


def with_shares(report: LeakageReport, few: int, n: int, **facts: Any) -> LeakageReport:
    """The report with so many of n columns that keep next to nothing, and half of what the others say."""
    kept = tuple(dataclasses.replace(report.kept[0], column=f"c{k}", share=0.01 if k < few else 0.5) for k in range(n))
    return dataclasses.replace(report, kept=kept, facts=dataclasses.replace(report.facts, **facts))


@pytest.mark.parametrize(
    ("few", "n", "told"),
    [(16, 32, ""), (17, 32, "17 of 32 columns keep"), (32, 32, "32 of 32 columns keep"), (1, 1, "the column keeps"),
     (0, 0, "")],
)  # fmt: skip
def test_a_claim_is_amber_as_soon_as_most_columns_keep_next_to_nothing(few: int, n: int, told: str) -> None:
    report = with_shares(made(1000 * EVEN, confidence=0.95), few, n)
    assert report.to_dict(audience="public")["verdict"]["headline"] == "HOLDS FOR THE POPULATION"
    document = report.to_dict()
    assert words.colour(document) == ("doubt" if told else "good")
    but = f", but {told} less than 5 % of the information" if told else ""
    assert document["verdict"]["headline"] == f"HOLDS FOR THE POPULATION{but}"


def test_the_reason_is_named_as_far_as_it_is_known() -> None:
    """By what is said of rows, of the share that is kept without a confidence, and of who designed the channel."""
    sure, plain = made(1000 * EVEN, confidence=0.95), made(1000 * EVEN)
    line = dataclasses.replace(sure.measures[0], name="normalized_utility_plain", after=0.01)
    tight = dataclasses.replace(sure, measures=(*sure.measures, line))
    loose = dataclasses.replace(sure, measures=tuple(
        dataclasses.replace(m, after=0.3 if m is line else 0.01) if m.name.startswith("normalized_utility") else m
        for m in tight.measures
    ))  # fmt: skip
    short = {"mechanism": "tree merging", "shortage": ("rows", 9000)}
    reasons = {
        "": with_shares(sure, 27, 32),
        " (this mechanism keeps no more within the limit)": with_shares(plain, 27, 32, mechanism="watchdog"),
        " (the limit, or too few rows)": with_shares(sure, 27, 32, mechanism="tree merging"),
        " (too few rows: about 9,000 are needed)": with_shares(sure, 27, 32, **short),
        " (a rare sensitive value has too few rows)": with_shares(
            sure, 27, 32, mechanism="watchdog", shortage=("secret", None)
        ),
        " (too few rows)": with_shares(loose, 27, 32, mechanism="watchdog"),
    }
    for reason, report in reasons.items():
        headline = report.to_dict()["verdict"]["headline"]
        assert headline.endswith(f", but 27 of 32 columns keep less than 5 % of the information{reason}")
        assert LeakageReport.from_json(report.to_json()).to_dict() == report.to_dict()
    # More rows are no help where the limit alone leaves nothing.
    assert "this mechanism keeps no more" in with_shares(tight, 27, 32, **short).to_dict()["verdict"]["headline"]
    assert with_shares(sure, 5, 32, **short).lack is None


def test_useless_asks_that_most_columns_keep_little() -> None:
    df = sz.datasets.load_titanic()
    joint = sz.JointDistribution.from_frame(df, ["survived"], ["class", "sex"])
    by_class = [symbol[0] for symbol in joint.public.symbols]
    labels = [sorted(set(by_class)).index(name) for name in by_class]
    report = LeakageReport.measure(joint, sz.Channel.merge(labels, joint.public), sz.LiftBudget(lower=5, upper=5))
    assert [column.column for column in report.kept if column.share < 0.05] == []
    assert not report.useless
    shares = {"class": 1.0, "sex": 0.01}
    kept = tuple(dataclasses.replace(column, share=shares[column.column]) for column in report.kept)
    report = dataclasses.replace(report, kept=kept)
    assert not report.useless
    assert any("less than 5 % is kept of sex" in line for line in report.to_dict()["warnings"])


def test_warnings_of_a_constant_secret_and_of_single_rows() -> None:
    symbols = sz.core.alphabet.Alphabet(("illness",), ["b"]), sz.core.alphabet.Alphabet(("town",), "xyz")
    joint = sz.JointDistribution(np.array([[0.1, 0.1, 0.8]]), *symbols, 10)
    report = LeakageReport.measure(joint, sz.Channel.identity(3, joint.public), BUDGET)
    told = " ".join(report.to_dict()["warnings"])
    assert "the same sensitive value in every row: illness" in told
    assert "2 of 3 combinations of the public columns occur in one row each" in told
    assert "warnings" not in report.to_dict(audience="public")


LIES = {
    "state": "source",
    "useless": True,
    "headline": "HOLDS FOR THE POPULATION",
    "sentence": "Fine.",
    "counted": False,
}


@pytest.mark.parametrize(("name", "value"), LIES.items())
@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_saved_report_with_another_headline_is_refused(name: str, value: Any, audience: Any) -> None:
    document = made().to_dict(audience=audience)
    document["verdict"][name] = value
    with pytest.raises(SourceError, match=r"contradicts|does not warn|does not belong"):
        LeakageReport.from_dict(document)


def test_a_saved_claim_about_the_source_needs_its_worst_case() -> None:
    document = made(1000 * EVEN, confidence=0.95).to_dict()
    document["measures"] = [m for m in document["measures"] if m["name"] != "worst_min_log_lift"]
    with pytest.raises(SourceError, match="worst case lacks"):
        LeakageReport.from_dict(document)


def test_a_frame_released_in_one_call_warns_aloud() -> None:
    df = sz.datasets.load_titanic()
    named = df.set_index("r" + df.index.astype(str))
    with pytest.warns(ReleaseWarning, match="index of the released frame"):
        sz.frames.release(
            named, sz.Watchdog(sz.LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"])
        )
    with pytest.warns(ReleaseWarning, match="next to nothing is kept of most columns: take a looser limit"):
        sz.frames.release(df, sz.Watchdog(sz.LiftBudget.symmetric(0.01), sensitive="survived", public="sex"))


def test_the_most_exposed_secret_is_said_in_a_persons_terms():
    """One in four has it; a row of the first symbol makes it 40 in 100, one of the second 10."""
    joint = sz.JointDistribution.from_matrix([[0.20, 0.05], [0.30, 0.45]])
    report = sz.LeakageReport.measure(joint, sz.Channel.identity(2, joint.public), sz.LiftBudget.symmetric(1.0))
    # 67.96 and 9.197 % are allowed: no figure says less than that.
    told = (
        "25 % of all rows have the sensitive value whose chance grows by the largest factor. One released row makes "
        "this chance at most 68 % and at least 9.19 % (allowed), and at most 40 % and at least 10 % for the "
        "distribution stated (reached)."
    )
    assert next(section.words for section in report.sections if section.name == "person").endswith(told)
    page = " ".join(report.to_html().split())
    assert page.count(told) == 1
    assert "raw table, in bins" not in page
    assert told not in report.to_html(audience="public")


@pytest.mark.parametrize("situation", SITUATIONS)
def test_whether_to_sign_follows_from_the_state_in_every_view(situation: str) -> None:
    """A yes is never without conditions, and what is refused, seeded or not limited has none."""
    report = SITUATIONS[situation]()
    document = report.to_dict()
    answer, conditions = words.sign_answer(document)
    may = report.state in ("source", "rows") and not report.facts.seeded
    assert answer.startswith(("Not yet: ", "Only if") if may else ("No: ", "There is nothing to sign"))
    assert bool(conditions) is may
    page, text = " ".join(" ".join(Page(report.to_html()).words).split()), " ".join(report.to_text().split())
    assert f"May you sign? {answer}" in page
    assert f"May you sign? {answer}" in text
    for condition, _ in conditions:
        assert condition in page
    if may:
        whom = {"source": "random sample", "rows": "everybody" if report.n_rows else "as stated"}[report.state]
        assert any(whom in condition for condition, _ in conditions)
        assert any("known to be in this table" in condition for condition, _ in conditions)
    assert "May you sign" not in report.to_html(audience="public") + report.to_text(audience="public")


def test_relations_and_attacks_are_in_the_conditions_of_a_yes() -> None:
    """The strongest attack on who is in the data, and how many relations are lost."""
    document = made(merged=True, confidence=0.95).to_dict()
    document["pairs"] = [{"state": state} for state in ("lost", "kept", "lost")]
    found = [("ranking", 0.51), ("ranking", 0.537), ("share", 0.9)]
    document["judgement"] = {"attacks": [{"figure": figure, "people": people} for figure, people in found]}
    answer, conditions = words.sign_answer(document)
    assert answer.startswith(("Yes, if", "Only if so little"))
    reasons = " ".join(reason for _, reason in conditions)
    assert "This is open" not in reasons
    assert "The best attack that was tried found the one of two people who is in it" in reasons
    assert "53.7 times in 100 (50 is chance)" in reasons
    assert "2 of them are lost" in reasons


@given(st.floats(1e-6, 20), st.floats(1e-6, 20))
def test_a_limit_is_never_said_to_be_tighter_than_it_is(lower: float, upper: float) -> None:
    """In times and in nats, whichever was written."""
    for budget in (
        sz.LiftBudget(lower=lower, upper=upper),
        sz.LiftBudget(at_most=math.exp(upper), at_least=math.exp(-lower)),
    ):
        said = re.search(
            r"less than (\S+) or more than (\S+) times as likely \(log-lift between (\S+) and (\S+) nats",
            budget_words(budget),
        )
        least, most, low, high = map(float, said.groups())
        assert least <= budget.at_least * (1 + 1e-8)
        assert budget.at_most <= most * (1 + 1e-8)
        assert low <= -budget.lower * (1 - 1e-8)
        assert budget.upper <= high * (1 + 1e-8)


def test_who_knows_columns_of_a_row_is_a_condition_of_signing_where_that_is_beyond_the_limit():
    """One more learns from a row what the limit is not for; rare combinations that are pooled are no warning."""
    df = sz.datasets.load_titanic()
    settings = {"sensitive": "survived", "public": ["class", "sex"]}
    within = sz.SubsetMerging(sz.LiftBudget(at_most=1.65, at_least=0.37), **settings).fit(df).report_
    section = next(section for section in within.sections if section.name == "side")
    assert section.rows[0][2] > 1.65
    condition = (
        f"who knows {section.rows[0][0]} of a person, the released row of that person makes a sensitive value up to"
    )
    page = " ".join(within.to_html().split())
    assert condition in page
    assert "knows any of these columns" in page
    unlimited = sz.SubsetMerging(sz.LiftBudget(at_most=math.inf, at_least=0.3), **settings).fit(df).report_
    assert "knows any of these columns" not in unlimited.to_html()
    no_news = sz.SubsetMerging(sz.LiftBudget(at_most=1.001, at_least=0.999), **settings).fit(df).report_
    assert "knows any of these columns" not in no_news.to_html()


@pytest.mark.parametrize(("min_count", "is_warned"), [(10, False), (1, True)])
def test_single_rows_are_warned_of_where_they_are_not_pooled(min_count, is_warned):
    df = pd.DataFrame({"s": ["a", "b"] * 100, "x": ["u", "u", "v", "v"] * 50, "z": ["only one"] + ["others"] * 199})
    limit = sz.LiftBudget(at_most=3, at_least=0.1)
    report = sz.SubsetMerging(limit, sensitive="s", public=["x", "z"], min_count=min_count).fit(df).report_
    assert ("occur in one row each" in " ".join(report.to_dict()["warnings"])) == is_warned
