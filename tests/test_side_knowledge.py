"""What a released symbol tells those who know columns of a row: counted in fractions, and never beyond the promised."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import ColumnError
from sanitize.measures import side_knowledge

RNG = np.random.default_rng(11)
COLUMNS = ["a", "b", "c"]
BUDGET = sz.LiftBudget(at_most=1.5, at_least=0.5)


def table(n=400):
    ill = RNG.random(n) < 0.3
    return pd.DataFrame(
        {
            "ill": ill,
            "a": RNG.integers(0, 3, n) + ill,
            "b": RNG.integers(0, 2, n) * 2 + (ill & (RNG.random(n) < 0.5)),
            "c": RNG.integers(0, 2, n),
        }
    )


DF = table()
JOINT = sz.JointDistribution.from_frame(DF, "ill", COLUMNS)
CHANNELS = {
    "merging": sz.subset_merging(JOINT, BUDGET),
    "response": sz.subset_random_response(JOINT, BUDGET),
    "randomized": sz.randomized_response(len(JOINT.public), 1.0),
    "watchdog": sz.watchdog(JOINT, BUDGET),
}


def by_counting(channel, known):
    """All of P(s,w,y) in fractions, from the rows and the integers of the channel, one row at a time."""
    places = [COLUMNS.index(name) for name in known]
    exact = [[Fraction(int(x == j)) for j in range(len(JOINT.public))] for x in range(len(JOINT.public))]
    for stage in channel.stages:
        weights = [{} for _ in range(stage.n_inputs)]
        for i in range(stage.n_inputs):
            for k in range(stage.indptr[i], stage.indptr[i + 1]):
                weights[i][int(stage.indices[k])] = Fraction(int(stage.weights[k]), 1 << 62)
        exact = [
            [
                sum((row[i] * weights[i].get(y, 0) for i in range(stage.n_inputs)), Fraction(0))
                for y in range(stage.n_outputs)
            ]
            for row in exact
        ]
    levels = [level.to_pylist() for level in JOINT.public.levels]
    symbol = {
        tuple(levels[j][code] for j, code in enumerate(codes)): x for x, codes in enumerate(JOINT.public.codes.tolist())
    }
    swy, sw, wy, w_ = {}, {}, {}, {}
    for row in DF[["ill", *COLUMNS]].itertuples(index=False):
        s, w = row[0], tuple(row[1 + place] for place in places)
        sw[s, w] = sw.get((s, w), 0) + 1
        w_[w] = w_.get(w, 0) + 1
        for y, p in enumerate(exact[symbol[tuple(row[1:])]]):
            if p:
                swy[s, w, y] = swy.get((s, w, y), 0) + p
                wy[w, y] = wy.get((w, y), 0) + p
    odds = [
        (swy.get((s, w, y), Fraction(0)) / wy[w, y]) / (Fraction(sw[s, w]) / w_[w])
        for s, w in sw
        for w2, y in wy
        if w2 == w
    ]
    return min(odds), max(odds)


@pytest.mark.parametrize("t", [0, 1, 2, 3])
@pytest.mark.parametrize("name", CHANNELS)
def test_it_is_what_counting_in_fractions_gives(name, t):
    for known in combinations(COLUMNS, t):
        least, most = by_counting(CHANNELS[name], known)
        found = side_knowledge(JOINT, CHANNELS[name], known)
        assert math.exp(found[0]) == pytest.approx(float(least), abs=1e-12)
        assert math.exp(found[1]) == pytest.approx(float(most), rel=1e-12)


@pytest.mark.parametrize("name", CHANNELS)
def test_knowing_nothing_is_the_lift_and_knowing_all_leaves_nothing_to_learn(name):
    lifts = sz.lifts.max_log_lift(JOINT.push(CHANNELS[name])).max()
    assert side_knowledge(JOINT, CHANNELS[name], [])[1] == pytest.approx(lifts, abs=1e-12)
    assert side_knowledge(JOINT, CHANNELS[name], COLUMNS) == pytest.approx((0, 0), abs=1e-12)


def test_local_differential_privacy_holds_whatever_is_known():
    for t in range(4):
        for known in combinations(COLUMNS, t):
            low, high = side_knowledge(JOINT, CHANNELS["randomized"], known)
            assert max(-low, high) <= 1.0 + 1e-9


def test_who_knows_a_column_can_learn_more_than_the_limit_and_the_owner_reads_it():
    fitted = sz.SubsetMerging(BUDGET, sensitive="ill", public=COLUMNS, min_count=0).fit(DF)
    channel, joint = fitted.channel_, sz.JointDistribution.from_frame(DF, "ill", COLUMNS)
    report = fitted.report_
    (section,) = [part for part in report.to_dict()["sections"] if part["name"] == "side"]
    found = {row[0]: row[1:] for row in section["rows"]}
    assert len(found) == 6
    assert [row[2] for row in section["rows"]] == sorted((row[2] for row in section["rows"]), reverse=True)
    for names, (least, most) in found.items():
        assert [least, most] == pytest.approx(np.exp(side_knowledge(joint, channel, names.split(", "))).tolist())
    assert max(most for _, most in found.values()) > 1.5
    for text in (
        report.to_text(),
        sz.SubsetMerging(BUDGET, sensitive="ill", public=["a", "b"]).fit(DF).report_.to_text(),
    ):
        assert ("Who knows more" in text) is ("may be beyond it." in " ".join(text.split()))
        assert "Knows" not in text.split("more sections")[0].splitlines()[-1]
    assert not [part for part in report.to_dict(audience="public")["sections"] if part["name"] == "side"]


def test_a_column_that_is_not_public_is_refused():
    with pytest.raises(ColumnError, match="'ill' is not public"):
        side_knowledge(JOINT, CHANNELS["merging"], ["ill"])
