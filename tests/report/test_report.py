"""Reports: true figures, honest verdicts, and views that give away neither symbols nor counts."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import math
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import (
    AUDIENCES,
    BUDGETS,
    PMF,
    SENSITIVE_CANARY,
    Page,
    hostile,
    measured,
    secretive,
)

import sanitize as sz
from sanitize.core.bounds import implied_bounds
from sanitize.core.budgets._plain import budget_words
from sanitize.errors import BudgetExceeded, TargetError
from sanitize.report import LeakageReport
from sanitize.report import _text as text_view


def by_hand(pmf: np.ndarray) -> dict[str, float]:
    """The measures, from their definitions, one sum at a time."""
    p_s, p_y = pmf.sum(1), pmf.sum(0)
    pairs = [(s, y) for s in range(len(p_s)) for y in range(len(p_y))]
    ratio = {(s, y): pmf[s, y] / (p_s[s] * p_y[y]) for s, y in pairs}
    columns = [[ratio[s, y] for s in range(len(p_s))] for y in range(len(p_y))]
    tilt = p_s**2 / (p_s**2).sum()
    chi2 = [sum(p_s[s] * (ratio[s, y] - 1) ** 2 for s in range(len(p_s))) for y in range(len(p_y))]
    l1 = [sum(p_s[s] * abs(ratio[s, y] - 1) for s in range(len(p_s))) for y in range(len(p_y))]

    def order_2(weights: np.ndarray) -> float:
        return 2 * math.log(sum(p * math.sqrt(sum(weights * np.square(c))) for p, c in zip(p_y, columns, strict=True)))

    return {
        "max_log_lift": math.log(max(map(max, columns))),
        "min_log_lift": math.log(min(map(min, columns))),
        "ldp_sensitive": max(math.log(max(c) / min(c)) for c in columns),
        "l1_lift": max(l1),
        "chi2_lift": max(chi2),
        "mutual_information": sum(pmf[pair] * math.log(ratio[pair]) for pair in pairs),
        "total_variation": sum(abs(pmf[s, y] - p_s[s] * p_y[y]) for s, y in pairs) / 2,
        "chi2_divergence": sum(p * c for p, c in zip(p_y, chi2, strict=True)),
        "sibson_2": order_2(p_s),
        "arimoto_2": order_2(tilt),
        "maximal_leakage": math.log(sum(p * max(c) for p, c in zip(p_y, columns, strict=True))),
    }


def in_words(value: float) -> str:
    return f"{value:.4g}"


def test_figures_in_every_view_equal_those_recomputed_by_hand() -> None:
    labels = [0, 0, 1, 2]
    report = measured(labels=labels, budget=BUDGETS["lift"])
    merged = np.stack([PMF[:, 0] + PMF[:, 1], PMF[:, 2], PMF[:, 3]], axis=1)
    before, after = by_hand(PMF), by_hand(merged)
    p_x, p_y = PMF.sum(0), merged.sum(0)
    before["utility"], after["utility"] = (-sum(p * math.log(p) for p in distribution) for distribution in (p_x, p_y))
    before["normalized_utility"], after["normalized_utility"] = 1.0, after["utility"] / before["utility"]

    found = {row["name"]: row for row in report.to_dict()["measures"]}
    assert set(found) == set(before) | {"ldp_public"}
    text, rows = report.to_text(), {row[0].split("  ")[0].strip(): row for row in Page(report.to_html()).rows}
    for name in before:
        assert found[name]["before"] == pytest.approx(before[name], abs=1e-12)
        assert found[name]["after"] == pytest.approx(after[name], abs=1e-12)
        shown = [in_words(found[name]["before"]), in_words(found[name]["after"])]
        page_row = next(row for label, row in rows.items() if label.startswith(found[name]["label"]))
        assert page_row[1:3] == shown
        if "utility" not in name:
            line = next(line for line in text.splitlines() if line.startswith(found[name]["label"] + " "))
            assert line.removeprefix(found[name]["label"]).split()[:2] == shown
    share = 100 * after["utility"] / before["utility"]
    assert f"Keeps {share:.3g} % of the information in x" in text
    assert f"({in_words(after['utility'])} of {in_words(before['utility'])} nats)" in text


def test_plain_words_translate_the_extremes_of_the_log_lift() -> None:
    report = measured(budget=BUDGETS["lift"])  # the lifts are 1.6, 0.4 and 1
    words = " ".join(report.to_text().split())
    assert "A sensitive value becomes at most 1.6 and at least 0.4 times as likely in this file" in words
    assert "log-lift between -1.5 and 0.5 nats" in words
    assert "less than 0.223 or more than 1.65 times as likely" in words
    written = " ".join(measured(budget=sz.LiftBudget(at_most=1.6501, at_least=0.25)).to_text().split())
    assert "less than 0.25 or more than 1.6501 times as likely" in written
    silent = " ".join(measured(np.full((2, 2), 0.25)).to_text().split())
    assert "No sensitive value becomes more or less likely" in silent
    certain = " ".join(measured([[0.5, 0.0], [0.25, 0.25]]).to_text().split())
    assert "and at least 0 (ruled out) times as likely" in certain


def test_excess_of_an_over_budget_report_is_the_worst_and_leads_the_symbols() -> None:
    report = measured(budget=sz.LiftBudget(lower=0.9, upper=0.4))
    assert report.excess == pytest.approx([math.log(1.6) - 0.4] * 2 + [-0.4] * 2)  # 0.07 above, 0.016 below
    assert report.worst_excess == pytest.approx(math.log(1.6) - 0.4)
    assert not report.ok
    assert f"exceeded by {in_words(report.worst_excess)}" in " ".join(report.to_text().split())
    backwards = measured(PMF[:, ::-1], budget=sz.LiftBudget(lower=0.9, upper=0.4))
    excess = [row["excess"] for row in backwards.to_dict()["symbols"]]
    assert excess == sorted(excess, reverse=True)
    assert excess[0] == report.worst_excess


@pytest.mark.parametrize(
    ("budget", "witness"),
    [
        (sz.LiftBudget(lower=9, upper=0.1), ("0", 0)),  # 1.6 is over, 0.4 is further from 1 but allowed
        (sz.LiftBudget(lower=0.1, upper=9), ("1", 0)),
        (sz.LiftBudget(lower=math.inf, upper=0.1), ("0", 0)),
        (sz.LDPBudget(0.1), ("1", 0)),
    ],
)
def test_witness_of_a_refusal_is_the_pair_that_is_most_over(budget: Any, witness: tuple[str, int]) -> None:
    report = measured(budget=budget)
    with pytest.raises(BudgetExceeded) as caught:
        report.require()
    s, y = caught.value.witness
    assert (str(s), y) == witness
    assert caught.value.report is report
    assert caught.value.excess == report.worst_excess == max(report.excess)
    lifts = PMF / PMF.sum(1, keepdims=True) / PMF.sum(0)
    if isinstance(budget, sz.LiftBudget):
        log_lift = np.log(lifts)
        over = np.maximum(log_lift - budget.upper, -log_lift - budget.lower)
        assert over[s, y] == pytest.approx(over.max())
        assert over.max() == pytest.approx(caught.value.excess)


@pytest.mark.parametrize("budget", [None, sz.LiftBudget(lower=9, upper=9)])
def test_kept_sensitive_column_is_refused_whatever_the_figures_are(budget: Any) -> None:
    report = measured(budget=budget, kept=("age", "s"))
    assert not report.ok
    with pytest.raises(BudgetExceeded) as caught:
        report.require()
    assert caught.value.excess == math.inf
    assert any("released as it is: s" in warning for warning in report.to_dict()["warnings"])
    assert measured(budget=budget, kept=("age",)).require().ok


def test_a_report_that_is_ok_passes_itself_on() -> None:
    report = measured(budget=sz.LiftBudget(lower=1, upper=0.5))
    assert report.require() is report


def test_document_has_a_versioned_schema() -> None:
    internal, public = (measured(budget=BUDGETS["lift"]).to_dict(audience=audience) for audience in AUDIENCES)
    assert (internal["schema"], internal["version"]) == ("sanitize/leakage-report", 1)
    assert internal["library_version"] == sz.__version__
    assert set(internal) - set(public) == {
        "symbols", "n_rows", "n_unseen", "n_symbols", "n_single", "n_combinations", "lift", "margins", "shapes",
        "curve", "judgement", "kept", "of_cells", "measures", "warnings", "pairs",
    }  # fmt: skip
    assert set(public) == {
        "schema", "version", "library_version", "audience", "verdict", "origin", "columns", "sections", "left_out",
    }  # fmt: skip
    assert set(internal["verdict"]) - set(public["verdict"]) == {
        "worst_excess", "tolerance", "refuted", "useless", "lack", "optimality", "chosen",
    }  # fmt: skip
    assert set(public["verdict"]) == {
        "ok", "budget", "allowed", "mechanism", "output", "seeded", "confidence", "state", "counted", "headline",
        "sentence", "people", "recorded", "alone", "side_columns",
    }  # fmt: skip
    assert set(internal["measures"][0]) == {
        *("name", "label", "unit", "kind", "before", "after", "bound", "low", "high", "scope")
    }
    assert set(internal["symbols"][0]) == {"symbol", "probability", "max_log_lift", "min_log_lift", "excess"}


def test_seeded_release_says_so_in_the_first_line() -> None:
    assert "SEEDED" in measured(seeded=True).to_text(audience="public").splitlines()[0]
    assert "SEEDED" in measured(seeded=True).to_html(audience="public")


def test_a_common_report_fits_without_dropping_warnings() -> None:
    lines = secretive().to_text().splitlines()
    assert len(lines) <= 50
    assert sum(line.startswith("!") for line in lines) == 3
    assert not any("more warnings: see" in line for line in lines)
    assert secretive().to_text(audience="public").isascii()


def test_hidden_characters_show_and_different_names_stay_different() -> None:
    assert text_view.clip("a\nb\u202e\x1b[0m", 80) == r"a\nb\u202e\x1b[0m"
    assert text_view.clip("a\nb", 80) != text_view.clip(r"a\nb", 80)
    assert text_view.clip("naïve 漢 👍", 80) == "naïve 漢 👍"
    assert text_view.clip("n" * 100, 10) == "nnnnnnn..."
    assert text_view.clip("n" * 10, 10) == "n" * 10
    assert text_view.cells(text_view.clip("漢" * 100, 10)) <= 10


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("audience", AUDIENCES)
def test_every_kind_of_budget_is_put_in_words_and_in_numbers(kind: str, audience: str) -> None:
    budget = BUDGETS[kind]
    report = measured(budget=budget)
    fields = {name: float(value) for name, value in sz.core.budgets.budget_bounds(budget).items()}
    assert report.to_dict(audience=audience)["verdict"]["budget"] == {"type": type(budget).__name__, **fields}
    expected = {
        "lift": ["less than 0.223 or more than 1.65 times"],
        "times": ["less than 0.25 or more than 1.65 times"],
        "ldp": ["1-LDP of the sensitive columns", "more than 2.72 times"],
        "l1": ["l1-lift at most 0.6487, l1-lift of the inverse at most 1.718"],
        "chi2": ["chi2-lift at most 0.4208, chi2-lift of the inverse at most 2.952"],
        "alpha": ["alpha-lift of order 2 at most 1.649", "of the inverse at most 2.718"],
    }
    for words in expected[kind]:
        assert words in budget_words(budget)
        assert words in " ".join(report.to_text(audience=audience).split())
        assert words in report.to_html(audience=audience)


@pytest.mark.parametrize("kind", sorted(set(BUDGETS) - {"times"}))
def test_a_side_without_a_bound_is_left_out_of_the_words(kind: str) -> None:
    sides = {name: math.inf for name in sz.core.budgets.budget_bounds(BUDGETS[kind]) if name != "alpha"}
    assert budget_words(dataclasses.replace(BUDGETS[kind], **sides)).startswith("no limit")
    if kind != "ldp":
        for side in ("lower", "upper"):
            words = budget_words(dataclasses.replace(BUDGETS[kind], **{side: math.inf}))
            assert "inf" not in words
            assert "no limit" not in words
    free = sz.LiftBudget(at_most=2, at_least=0), sz.LiftBudget(at_most=math.inf, at_least=0.5)
    assert budget_words(free[0]).startswith("no released value makes a sensitive value more than 2 times as likely (")
    assert budget_words(free[1]).startswith("no released value makes a sensitive value less than 0.5 times as likely (")
    assert "e+" not in budget_words(sz.LiftBudget(lower=1, upper=2))
    assert "more than infinitely many times as likely" in budget_words(sz.LiftBudget(lower=1, upper=1e6))
    assert "between 0 and 0 nats" in budget_words(sz.LiftBudget(lower=0, upper=0))


def test_without_a_budget_the_report_only_measures() -> None:
    report = measured()
    assert report.ok
    assert report.to_dict()["verdict"]["budget"] is report.to_dict()["verdict"]["worst_excess"] is None
    assert {row["excess"] for row in report.to_dict()["symbols"]} == {None}
    assert {row["bound"] for row in report.to_dict()["measures"]} == {None}
    assert "no budget: this report only measures" in report.to_text(audience="public")


def test_a_budget_of_somebody_elses_making_shows_its_type_and_numbers_only() -> None:
    @dataclasses.dataclass(frozen=True)
    class HouseRule:
        limit: float = 0.25
        note: str = SENSITIVE_CANARY

        def excess(self, released: sz.JointDistribution) -> Any:
            return np.full(len(released.public), -self.limit)

    document = measured(budget=HouseRule()).to_dict(audience="public")
    assert document["verdict"]["budget"] == {"type": "HouseRule", "limit": 0.25}
    assert "limits of HouseRule; margin 0.25" in measured(budget=HouseRule()).to_text()


def test_mixed_kinds_of_figures_are_said_line_by_line() -> None:
    report = measured(budget=BUDGETS["lift"])
    assert "measure (all exact)" in report.to_text()
    changed = tuple(dataclasses.replace(m, kind="estimate") if m.name == "sibson_2" else m for m in report.measures)
    mixed = dataclasses.replace(report, measures=changed)
    assert "measure (exact if not marked)" in mixed.to_text()
    assert re.findall(r"(\w+) information.* nats est\.\n", mixed.to_text()) == ["Sibson"]
    assert mixed.to_html().count("(estimate)") == 1


@pytest.mark.parametrize("view", ["to_json", "to_html"])
def test_written_file_is_whole_private_and_leaves_no_other_behind(view: str, tmp_path: Path) -> None:
    report = hostile("zoë \u202e")
    path = tmp_path / "report"
    path.write_text("old")
    written = getattr(report, view)(path)
    assert path.read_bytes().decode("utf-8") == written == getattr(report, view)()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    getattr(report, view)(str(path), audience="public")
    assert SENSITIVE_CANARY not in path.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "absent" / "report.json"):
        with pytest.raises(TargetError, match=r"cannot be written .*; nothing was written"):
            measured().to_json(path)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@st.composite
def lawful(draw: st.DrawFn) -> tuple[LeakageReport, sz.LiftBudget]:
    """Random distribution and channel, and the tightest lift budget they meet (or a looser one)."""
    n_s, n_x, n_y = (draw(st.integers(2, 5)) for _ in range(3))
    weight = st.integers(0, 20)
    pmf = np.array(draw(st.lists(weight, min_size=n_s * n_x, max_size=n_s * n_x)), float).reshape(n_s, n_x)
    pmf[:, 0] += 1
    pmf[0] += 1
    kernel = np.array(draw(st.lists(weight, min_size=n_x * n_y, max_size=n_x * n_y)), float).reshape(n_x, n_y)
    kernel[:, 0] += 1
    joint = sz.JointDistribution.from_matrix(pmf / pmf.sum())
    channel = sz.Channel.from_matrix(kernel / kernel.sum(axis=1, keepdims=True))
    released = joint.push(channel)
    slack = draw(st.sampled_from([0.0, 0.1, 1.0]))
    lower = max(0.0, -float(sz.core.lifts.min_log_lift(released).min())) + slack
    upper = max(0.0, float(sz.core.lifts.max_log_lift(released).max())) + draw(st.sampled_from([0.0, 0.1, 1.0]))
    budget = sz.LiftBudget(lower=lower, upper=upper)
    return LeakageReport.measure(joint, channel, budget), budget


@given(lawful())
def test_implied_bounds_hold_for_every_distribution_and_channel_within_a_lift_budget(
    case: tuple[LeakageReport, sz.LiftBudget],
) -> None:
    report, budget = case
    assert report.ok
    bounded = {m.name: (m.after, m.bound) for m in report.measures if m.bound is not None}
    assert {"mutual_information", "chi2_divergence", "total_variation", "max_log_lift"} <= set(bounded)
    for name, (after, bound) in bounded.items():
        assert bound == implied_bounds(budget)[name]
        if name == "min_log_lift":
            assert after >= bound - 1e-9
        else:
            assert after <= bound + 1e-9, name


@pytest.mark.parametrize("module", ["sanitize.report._report", "sanitize.report._curve"])
def test_examples_in_the_docstrings_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted > 0
