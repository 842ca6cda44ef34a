"""What a notebook shows of a budget, a comparison and an attack: one box, escaped, with the figures that they have."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sanitize as sz
from sanitize._util.formatting import box


def cells(page: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", page)


@pytest.mark.parametrize("budget", [sz.LiftBudget(at_most=1.65, at_least=0.37), sz.LiftBudget(at_most=4, at_least=0)])
def test_a_budget_says_what_a_secret_may_become(budget):
    """Beside it, the largest and smallest posteriors that a channel of two released values can have within it."""
    found = cells(budget._repr_html_())
    shares = (0.01, 0.1, 0.25, 0.5)
    grid = np.linspace(0, 1, 200_001)
    for place, share in enumerate(shares, 1):
        lifts = np.stack([grid / share, (1 - grid) / (1 - share)])
        allowed = grid[((lifts <= budget.at_most + 1e-9) & (lifts >= budget.at_least - 1e-9)).all(axis=0)]
        for row, end in ((5, allowed.max()), (10, allowed.min())):
            assert float(found[row + place].removesuffix(" %")) == pytest.approx(100 * end, abs=0.06)


def test_a_comparison_and_an_attack_have_a_box():
    df = sz.datasets.load_titanic()
    found = sz.compare(df, 0.3, sensitive="survived", public=["class", "sex"])
    page = found._repr_html_()
    assert f"Take {found.recommended.mechanism}: it keeps as much within the budget as any" in page
    assert cells(page)[3::3] == [one.mechanism for one in found.compared]
    attack = sz.auditing.attack.infer(df[["class", "sex"]], df["survived"])
    assert all(sentence.split("(")[0] in attack._repr_html_() for sentence in attack.summary)


def test_names_in_a_box_are_text():
    page = box("<b>", ["<script>"], [("<td>", "&")])
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;td&gt;" in page
