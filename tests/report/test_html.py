"""The page of a report: pictures that show the figures, contrast for weak eyes, nothing to run or load."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import AUDIENCES, HOSTILE, PMF, Page, hostile, measured, secretive

import sanitize as sz
from sanitize.report import _marks as marks

CSS = (files("sanitize") / "report" / "style.css.jinja").read_text(encoding="utf-8")
SHADES = {**{f"{side}{i}": i for side in ("less", "more") for i in range(1, 5)}, "zero": 0}
INK = {0: "on-pale", 1: "on-pale", 2: "on-pale", 3: "on-mid", 4: "on-full"}


def with_curve(report: Any) -> Any:
    return report.with_curve(
        sz.release.choosing.tradeoff_curve(report._before, sz.watchdog, [0, 0.5, 1, sz.LiftBudget(lower=2, upper=1)])
    )


def palettes() -> dict[str, dict[str, str]]:
    """Colours of the page by medium; a medium that does not set one has the light one's."""
    blocks = re.findall(r"(@media [^{]*\{)? *\.sanitize-report \{([^}]*--ink[^}]*)\}", CSS)
    found = [dict(re.findall(r"--([\w-]+): (#\w+);", block)) for _, block in blocks]
    assert len(found) == 3
    return {name: found[0] | colors for name, colors in zip(("light", "dark", "print"), found, strict=True)}


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * c for c in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(a: str, b: str) -> float:
    bright, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#fff", "#000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("medium", ["light", "dark", "print"])
def test_every_text_has_the_contrast_that_aa_asks_for(medium):
    colors = palettes()[medium]
    texts = [(ink, ground) for ink in ("ink", "soft") for ground in ("paper", "band")]
    texts += [(ink, "band") for ink in ("within", "over", "audit", "warn")]
    texts += [(INK[level], shade) for shade, level in SHADES.items()]
    for ink, ground in texts:
        assert contrast(colors[ink], colors[ground]) >= 4.5, f"{ink} on {ground}"
    for mark, ground in (("bar", "paper"), ("raw", "paper"), ("bar", "allow"), ("over", "paper")):
        least = 3 if (mark == "bar" and ground == "paper") or mark == "over" else 2
        assert contrast(colors[mark], colors[ground]) >= least, f"{mark} on {ground}"


def test_classes_of_shades_take_the_inks_whose_contrast_was_measured():
    page = measured().to_html()
    for shade, level in SHADES.items():
        rule = f".sanitize-report .{shade} {{ background: var(--{shade}); color: var(--{INK[level]}); }}"
        assert rule in page


@pytest.mark.parametrize("medium", ["light", "print"])
def test_shades_get_darker_away_from_zero_so_that_grey_print_shows_the_size(medium):
    colors = palettes()[medium]
    for side in ("less", "more"):
        ladder = [luminance(colors[name]) for name in ("zero", *(f"{side}{i}" for i in range(1, 5)))]
        assert all(a > b for a, b in pairwise(ladder))


def test_maps_before_and_after_list_the_symbols_they_share_in_one_order():
    distribution = sz.JointDistribution.from_matrix([[0.30, 0.05, 0.10, 0.05], [0.05, 0.10, 0.25, 0.10]])
    swapped = np.eye(4)[[2, 1, 0, 3]] * 0.9 + 0.025  # what was least telling is most telling now
    report = sz.LeakageReport.measure(
        distribution,
        sz.Channel.from_matrix(swapped, distribution.public, distribution.public),
        sz.LiftBudget.symmetric(9),
    )
    found = report.to_dict()["lift"]
    assert found["before"]["symbols"] == found["after"]["symbols"]
    risk = [max(abs(float(v)) for v in row) for row in found["after"]["log_lift"]]
    assert risk != sorted(risk, reverse=True)  # alone it would have another order
    shares = {report._after.public.label(y): float(report._after.p_x[y]) for y in range(4)}
    assert found["after"]["shares"] == [shares[name] for name in found["after"]["symbols"]]


@pytest.mark.parametrize(("audience", "words"), [("internal", "A, a.csv, 2026-01-31"), ("public", "A, 2026-01-31")])
def test_the_page_is_headed_by_title_table_and_date_and_the_public_one_names_no_table(audience: Any, words: str):
    report = measured().with_origin(title="A", table="a.csv", date="2026-01-31")
    page = report.to_html(audience=audience)
    assert f"<title>{words}: " in page
    assert f'<p class="title"><bdi>{words}</bdi></p>' in page
    assert ("a.csv" in page) == (audience == "internal")


def test_lift_map_shows_the_log_lift_in_figures_and_in_shades():
    page = Page(measured(labels=[0, 0, 1, 2]).to_html())
    cells = {row[0]: row[1:] for row in reversed(page.rows) if len(row) == 3}  # the map before comes first
    # Symbols 0 and 1 have lifts 1.6 and 0.4, and 1 when merged.
    assert [round(float(cell), 2) for cell in cells["0"]] == [0.47, -0.92]
    assert [round(float(cell), 2) for cell in cells["1"]] == [-0.92, 0.47]
    assert cells["2"] == ["0", "0"]
    empty = Page(measured([[0.5, 0.0], [0.25, 0.25]]).to_html())
    assert ["1", "×", "+0.69"] in [row for row in empty.rows if len(row) == 3] or ["1", "+0.69", "×"] in empty.rows


@pytest.mark.slow
@given(st.floats(-9, 9), st.floats(1e-6, 9))
def test_shade_grows_with_the_size_of_the_log_lift(value, most):
    shade = marks._cell(value, max(most, abs(value)))["shade"]
    level = SHADES[shade]
    assert level <= 4
    if level:
        assert shade.startswith("more" if value > 0 else "less")
    assert SHADES[marks._cell(value / 2, max(most, abs(value)))["shade"]] <= level
    assert marks._cell(-math.inf, most)["shade"] == "none"
    assert SHADES[marks._cell(max(most, abs(value)), max(most, abs(value)))["shade"]] == 4


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.01, 60))
def test_range_of_a_symbol_stays_in_its_cell(a, b, end):
    low, high = sorted((a, b))
    found = {name: float(value.rstrip("%")) for name, value in marks.span(low, high, end).items()}
    assert 0 <= found["x"] <= 100
    assert found["x"] + found["width"] <= 101.6
    inside = marks.span("-inf", high, end)
    assert inside["x"] == "0.00%"


def test_margins_say_where_a_symbol_does_not_exist():
    joint = sz.JointDistribution.from_matrix(PMF)
    merged = sz.LeakageReport.measure(joint, sz.watchdog(joint, 0.3))
    rows = {row["symbol"]: row for row in merged.to_dict()["margins"]["rows"]}
    assert rows["{0, 1}"]["before"] is None
    assert rows["{0, 1}"]["after"] == pytest.approx(0.5)
    assert rows["0"]["after"] is None
    assert rows["2"]["before"] == rows["2"]["after"] == pytest.approx(0.3)
    assert ["{0, 1}", "-", "50 %"] in [row[:3] for row in Page(merged.to_html()).rows]


def test_margins_of_two_alphabets_match_what_is_the_same_symbol():
    rng = np.random.default_rng(4)
    joint = sz.JointDistribution.from_matrix(rng.dirichlet(np.ones(14)).reshape(2, 7))
    channel = sz.Channel.merge(
        [0, 1, 1, 2, 3, 3, 4], joint.public, sz.core.alphabet.Alphabet.from_n_labels("x", 5, lambda: list("0abc6"))
    )
    found = sz.LeakageReport.measure(joint, channel).to_dict()["margins"]
    wanted: dict[str, list[Any]] = {str(x): [joint.p_x[x], None] for x in range(7)}
    for y, label in enumerate("0abc6"):
        wanted.setdefault(label, [None, None])[1] = joint.push(channel).p_x[y]
    assert {row["symbol"]: [row["before"], row["after"]] for row in found["rows"]} == wanted
    assert found["n_symbols"] == len(wanted) == 10
    # Labels that say nothing about which symbol is which match nothing.
    twins = sz.JointDistribution(
        np.full((2, 2), 0.25),
        sz.core.alphabet.Alphabet(("s",), [0, 1]),
        sz.core.alphabet.Alphabet(("a", "b"), [("p | q", "r"), ("p", "q | r")]),
    )
    rows = sz.LeakageReport.measure(twins, sz.Channel.merge([0, 0], twins.public)).to_dict()["margins"]["rows"]
    assert [(row["before"], row["after"]) for row in rows] == [(None, 1.0), (0.5, None), (0.5, None)]


def test_curve_has_a_title_and_marks_where_the_figures_are():
    report = with_curve(measured(budget=sz.LiftBudget(lower=1.5, upper=0.5)))
    page = Page(report.to_html())
    plot = next(found for tag, found in page.tags if tag == "svg" and found.get("role") == "img")
    assert plot["aria-label"].startswith("Privacy-utility curve: 4 budgets from")
    assert any("Privacy-utility curve" in words for words in page.words)
    circles = [found for tag, found in page.tags if tag == "circle"]
    points = report.to_dict()["curve"]["points"]
    assert len(circles) == len(points) + 1
    most = max(p["mutual_information"] for p in points)
    shares = [(float(c["cx"].rstrip("%")), 100 - float(c["cy"].rstrip("%"))) for c in circles[:-1]]
    wanted = sorted((100 * p["mutual_information"] / most, 100 * p["kept"]) for p in points)
    assert shares == [pytest.approx(pair, abs=0.01) for pair in wanted]
    assert "Privacy-utility" not in report.to_html(audience="public")


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_pictures_of_hostile_names_run_nothing_and_hide_nothing(kind):
    report = with_curve(hostile(HOSTILE[kind], n_x=30))
    page = report.to_html()
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b\x1b]", page)
    for tag, attributes in Page(page).tags:
        assert tag not in {"script", "iframe", "object", "embed", "link", "foreignobject", "use", "image", "a", "img"}
        assert not any(name.startswith("on") or name in {"href", "src", "style"} for name in attributes)
    assert len(page.encode()) < 1_000_000
    assert len(report._repr_html_().encode()) < 1_000_000


def test_page_with_pictures_of_ten_thousand_long_names_is_small():
    report = with_curve(hostile("\U0001f468" * 10_000, n_x=200))
    assert len(report.to_html().encode()) < 1_000_000
    many = hostile("n&" * 50, n_x=10_000)
    assert len(many.to_html().encode()) < 1_000_000
    wide = sz.JointDistribution.from_matrix(np.full((400, 40), 1 / 16_000))
    page = sz.LeakageReport.measure(wide, sz.Channel.identity(40)).to_html()
    assert "the first 12 of 400" in " ".join(page.split())
    assert len(page.encode()) < 1_000_000


@pytest.mark.parametrize("audience", AUDIENCES)
def test_headings_go_down_one_step_at_a_time_and_heads_of_tables_have_a_scope(audience):
    page = Page(with_curve(secretive()).to_html(audience=audience))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert levels.count(1) == 1
    assert all(found["scope"] in {"row", "col"} for tag, found in page.tags if tag == "th")
    # A picture without words of its own is decoration beside figures, and says so.
    for tag, found in page.tags:
        if tag == "svg" and "width" not in found:
            assert found.get("aria-hidden") == "true" or found.get("role") == "img"


def test_figures_beyond_what_is_allowed_stand_out():
    report = measured(budget=sz.LiftBudget(lower=0.9, upper=0.4))
    over = [m.name for m in report.measures if m.bound is not None and m.name != "min_log_lift" and m.after > m.bound]
    assert {"max_log_lift", "ldp_sensitive"} <= set(over)
    assert math.log(0.4) < -0.9
    assert report.to_html().count('class="figure beyond"') == len(over) + 1
    assert "figure beyond" not in measured(budget=sz.LiftBudget(lower=1, upper=0.5)).to_html()
    assert "figure beyond" not in measured().to_html()


def test_a_distribution_that_tells_nothing_has_a_page_too():
    page = measured(np.full((2, 2), 0.25), budget=sz.LiftBudget(lower=0, upper=0)).to_html()
    assert "±0 nats" in page
    assert "nan" not in page


def test_no_page_promises_that_nobody_finds_who_is_in_the_data_or_how_much_a_record_shows():
    """No setting does: of a row more or less nothing is promised, with differential privacy either."""
    report = measured(labels=[0] * len(PMF[0]), budget=sz.LiftBudget.symmetric(1))
    words = {audience: " ".join(report.to_html(audience=audience).split()) for audience in AUDIENCES}
    assert "Nobody is harmed by being known to be in this table." in words["internal"]
    assert "The release does not hide who is in it." in words["internal"]
    for page in words.values():
        assert "whether a person is in the data, may be inferred" in page
        assert "so it may depend on single records" in page
        assert "record_dp" not in page


def of_column(report: Any, column: str) -> dict[str, tuple[float, float]]:
    """Shares of the values of a column before and after, as the document has them."""
    rows = [row for row in report.to_dict()["shapes"] if row["column"] == column]
    return {row["symbol"]: (row["before"], row["after"]) for row in rows}


def test_shares_of_each_column_are_drawn_before_and_after_for_the_owner_alone():
    symbols = [("low", None), ("low", 1), ("low", 2), ("high", 1)]
    joint = sz.JointDistribution(
        np.array(PMF),
        sz.core.alphabet.Alphabet(("s",), ["no", "yes"]),
        sz.core.alphabet.Alphabet(("pay", "room"), symbols),
    )
    matrix = [[0.5, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0.3, 0.7]]
    channel = sz.Channel.from_matrix(matrix, joint.public, joint.public)
    report = sz.LeakageReport.measure(joint, channel)
    after = dict(zip(joint.public.symbols, joint.p_x @ channel.matrix, strict=True))
    before = dict(zip(joint.public.symbols, joint.p_x, strict=True))
    missing = tuple(side["low", None] for side in (before, after))
    assert of_column(report, "room")["(missing)"] == pytest.approx(missing)
    assert of_column(report, "pay")["high"] == pytest.approx((before["high", 1], after["high", 1]))
    drawn = [row[:3] for row in Page(report.to_html()).rows]
    assert ["(missing)", *(f"{100 * share:.1f}" for share in missing)] in drawn
    public = report.to_html(audience="public")
    assert "before and after" not in public
    assert not any("(missing)" in row for row in Page(public).rows)
    assert "shapes" not in report.to_dict(audience="public")


def test_rare_values_of_a_column_are_drawn_together_and_labels_not_at_all():
    rng = np.random.default_rng(6)
    joint = sz.JointDistribution.from_matrix(rng.dirichlet(np.ones(24)).reshape(2, 12))
    report = sz.LeakageReport.measure(joint, sz.Channel.identity(12, joint.public))
    shown = of_column(report, joint.public.columns[0])
    assert len(shown) == 8
    assert shown["5 others"] == pytest.approx(2 * (np.sort(joint.p_x)[:5].sum(),))
    assert sum(share for share, _ in shown.values()) == pytest.approx(1)
    merged = sz.LeakageReport.measure(joint, sz.watchdog(joint, 0.1))
    assert merged.to_dict()["shapes"] == []
    assert "Each column, before and after" not in merged.to_html()
