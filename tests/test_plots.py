"""Plots show the numbers of the report: read back from the artists, not looked at."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import sanitize as sz
from sanitize.errors import InvalidParameter
from sanitize.report import LeakageReport
from sanitize.report._facts import ReleaseFacts

matplotlib = pytest.importorskip("matplotlib", reason="pip install 'sanitize-tabular[plot]'")
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402

PMF = np.array([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
KINDS = ("lift", "histogram", "risk", "marginals", "curve")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def distribution(pmf: Any = PMF, s: Any = "ab", x: Any = "wxyz") -> sz.JointDistribution:
    pmf = np.asarray(pmf, dtype=float)
    return sz.JointDistribution(
        pmf,
        sz.core.alphabet.Alphabet(("s",), list(s)[: pmf.shape[0]]),
        sz.core.alphabet.Alphabet(("x",), list(x)[: pmf.shape[1]]),
    )


def report(joint: Any = None, budget: Any = sz.LiftBudget(lower=1.0, upper=0.5)) -> LeakageReport:  # noqa: B008
    joint = distribution() if joint is None else joint
    found = LeakageReport.measure(joint, sz.watchdog(joint, 0.3), budget, facts=ReleaseFacts(mechanism="watchdog"))
    return found.with_curve(sz.release.choosing.tradeoff_curve(joint, sz.watchdog, [0, 0.5, 1]))


def lines(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.lines}


def bars(axes: Any) -> dict[str, list[float]]:
    return {group.get_label(): [bar.get_width() for bar in group] for group in axes.containers}


def test_lift_map_of_a_report_holds_the_log_lift_of_both_sides():
    axes = report().plot("lift")
    shown = np.asarray(axes.images[0].get_array())
    names = [tick.get_text() for tick in axes.get_xticklabels()]
    assert shown.shape == (2, 4 + 1 + 3)
    gap = names.index("")
    before = {name: shown[:, i] for i, name in enumerate(names) if i < gap}
    for x, name in enumerate("wxyz"):
        np.testing.assert_allclose(before[name], sz.log_lift(distribution())[:, x], atol=1e-12)
    np.testing.assert_allclose(shown[:, gap + 1 :], 0.0, atol=1e-12)
    assert set(names[gap + 1 :]) == {"{w, x}", "y", "z"}
    low, high = axes.images[0].get_clim()
    assert low == -high == pytest.approx(math.log(0.4))
    assert {text.get_text() for text in axes.texts} >= {"before: 4 symbols", "after: 3 symbols", "+0.47", "-0.92"}


def test_no_plot_of_a_report_names_a_sensitive_symbol():
    joint = distribution(s=["secretA", "secretB"])
    for kind in KINDS:
        figure = report(joint).plot(kind).figure
        figure.canvas.draw()
        words = " ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))
        assert "secret" not in words
    assert [tick.get_text() for tick in report(joint).plot("lift").get_yticklabels()] == ["s1 (50 %)", "s2 (50 %)"]
    axes = sz.plots.lift_map(joint)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["secretA", "secretB"]


def test_ruled_out_cells_are_crosses_and_not_a_colour():
    axes = sz.plots.lift_map(distribution([[0.5, 0.0], [0.25, 0.25]]))
    assert np.ma.masked_invalid(axes.images[0].get_array()).mask.tolist() == [[False, True], [False, False]]
    cross = lines(axes)["-inf: ruled out"]
    assert (cross.get_xdata().tolist(), cross.get_ydata().tolist()) == ([1], [0])


def test_many_symbols_are_cut_to_the_riskiest_and_the_title_says_so():
    rng = np.random.default_rng(0)
    pmf = rng.random((3, 100))
    joint = distribution(pmf / pmf.sum(), s="abc", x=[f"x{i:03d}" for i in range(100)])
    axes = sz.plots.lift_map(joint)
    assert axes.get_title() == "riskiest 40 of 100 symbols"
    risk = np.abs(sz.log_lift(joint)).max(axis=0)
    assert {int(t.get_text()[1:]) for t in axes.get_xticklabels()} == set(np.argsort(-risk)[:40].tolist())
    words = {text.get_text() for text in report(joint, sz.LiftBudget(lower=9, upper=9)).plot("lift").texts}
    assert "before: riskiest 24 of 100 symbols" in words
    assert {"+", "-"} <= words  # signs for grey print


def test_histogram_is_that_of_figure_1():
    distributions = [sz.datasets.make_joint(17, 5, random_state=seed) for seed in range(50)]
    axes = sz.plots.lift_histogram(distributions)
    low, high = axes.containers
    for group, measure in ((low, sz.core.lifts.min_log_lift), (high, sz.core.lifts.max_log_lift)):
        values = np.concatenate([measure(joint) for joint in distributions])
        edges = np.array([bar.get_x() for bar in group] + [group[-1].get_x() + group[-1].get_width()])
        counts = np.array([bar.get_height() for bar in group]) * np.diff(edges) * len(values)
        np.testing.assert_allclose(counts, np.histogram(values, edges)[0], atol=1e-6)
        assert counts.sum() == pytest.approx(len(values))
    assert all(bar.get_hatch() for group in axes.containers for bar in group)


def test_histogram_counts_what_it_cannot_show():
    axes = sz.plots.lift_histogram(distribution([[0.5, 0.0], [0.25, 0.25]]))
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("(1 at -inf not shown)" in word for word in words)
    sz.plots.lift_histogram(distribution([[0.5, 0.0], [0.0, 0.5]]))  # nothing but -inf on one side
    with pytest.raises(InvalidParameter, match="at least one distribution"):
        sz.plots.lift_histogram([])


def test_histogram_of_a_report_draws_both_sides():
    axes = report().plot("histogram")
    words = {text.get_text() for text in axes.get_legend().get_texts()}
    assert words == {"log min-lift before", "log max-lift before", "log min-lift after", "log max-lift after"}


def test_risk_shows_the_ends_of_each_symbol_and_the_limits():
    joint = distribution()
    made = LeakageReport.measure(joint, sz.Channel.identity(4, joint.public), sz.LiftBudget(lower=1.0, upper=0.5))
    axes = made.plot("risk")
    rows = made.to_dict()["symbols"]
    assert lines(axes)["smallest log-lift"].get_xdata().tolist() == [row["min_log_lift"] for row in rows]
    assert lines(axes)["largest log-lift"].get_xdata().tolist() == [row["max_log_lift"] for row in rows]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [row["symbol"] for row in rows]
    limits = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
    assert limits == [-1.0, 0.5]
    assert axes.yaxis_inverted()
    out = LeakageReport.measure(distribution([[0.5, 0.0], [0.25, 0.25]]), sz.Channel.identity(2)).plot("risk")
    assert len(lines(out)["-inf: ruled out"].get_xdata()) == 1


def test_marginals_show_both_shares_in_percent():
    made = report()
    axes = made.plot("marginals")
    rows = made.to_dict()["margins"]["rows"]
    shown = bars(axes)
    for side in ("before", "after"):
        assert shown[side] == [pytest.approx(100 * (row[side] or 0.0)) for row in rows]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [row["symbol"] for row in rows]


def test_curve_shows_the_points_and_the_release():
    made = report()
    axes = made.plot("curve")
    found = lines(axes)
    wanted = sorted((p.mutual_information, 100 * p.normalized_utility) for p in made.curve.points)
    np.testing.assert_allclose(found["watchdog"].get_xydata(), wanted)
    np.testing.assert_allclose(
        found["this release"].get_xydata(),
        [[made.summary["mutual_information"], 100 * made.summary["normalized_utility"]]],
    )
    other = made.curve.plot(measure="max_log_lift", chosen=made.curve[1])
    wanted = sorted((p.max_log_lift, 100 * p.normalized_utility) for p in made.curve.points)
    np.testing.assert_allclose(lines(other)["watchdog"].get_xydata(), wanted)
    assert "largest log-lift" in other.get_xlabel()
    with pytest.raises(InvalidParameter, match="no measure 'nonsense'"):
        made.curve.plot(measure="nonsense")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_on_axes_that_are_given_and_can_be_saved(kind, tmp_path):
    figure, axes = pyplot.subplots()
    assert report().plot(kind, axes) is axes
    figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["$x_{2", "\\alpha $", "\u202egnp", "n" * 10_000, "a\nb\x00"])
@pytest.mark.filterwarnings("ignore:Glyph")  # the font may lack a letter
def test_hostile_names_are_printed_as_they_are(kind, name, tmp_path):
    joint = distribution(x=[f"{i}{name}" for i in range(4)])
    axes = report(joint).plot(kind)
    axes.figure.savefig(tmp_path / "plot.png")
    for text in axes.figure.findobj(matplotlib.text.Text):
        assert not re.search("[\u202a-\u202e\x00]", text.get_text())
        assert len(text.get_text()) < 200


@pytest.mark.slow
def test_a_distribution_that_tells_nothing_can_be_drawn(tmp_path):
    joint = distribution(np.full((2, 4), 0.125))
    for kind in KINDS:
        report(joint).plot(kind).figure.savefig(tmp_path / "plot.png")
    one = distribution([[0.5], [0.5]])
    for kind in KINDS:
        report(one).plot(kind).figure.savefig(tmp_path / "plot.png")


def test_unknown_kinds_and_missing_curves_are_named():
    with pytest.raises(InvalidParameter, match=r"kind must be .*'pie'"):
        report().plot("pie")
    bare = LeakageReport.measure(distribution(), sz.Channel.identity(4))
    with pytest.raises(InvalidParameter, match="with_curve"):
        bare.plot("curve")


@pytest.mark.slow
def test_without_matplotlib_the_error_names_the_extra():
    code = """
import sys
sys.modules["matplotlib"] = None
import sanitize as sz
joint = sz.JointDistribution.from_matrix([[0.2, 0.3], [0.4, 0.1]])
sz.LeakageReport.measure(joint, sz.watchdog(joint, 0.3)).plot("lift")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: plots need matplotlib: pip install 'sanitize-tabular[plot]'" in done.stderr
