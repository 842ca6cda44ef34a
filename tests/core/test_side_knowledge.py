"""What a released symbol tells those who know columns of a row: counted in fractions, and never beyond the promised.

The best response within a budget for them, too, is compared with all mixtures of all vertices, listed in fractions.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sanitize as sz
from sanitize.core.budgets import MutualInformationBudget
from sanitize.core.measures import side_knowledge
from sanitize.errors import BudgetExceeded, ColumnError, InvalidBudget, InvalidParameter, PolicyError
from sanitize.mechanisms import solve_optimal_random_response
from sanitize.mechanisms._response_solver import mixture
from sanitize.mechanisms._response_solver.repair import response_channel
from sanitize.mechanisms._response_solver.side_knowledge import SideKnowledge
from sanitize.over_time import UnitLedger
from sanitize.policy import make_plan
from sanitize.report import ReleaseFacts

RNG = np.random.default_rng(11)
COLUMNS = ["a", "b", "c"]
BUDGET = sz.LiftBudget(at_most=1.5, at_least=0.5)


POLICY = """
version = 1
[columns]
sensitive = ["ill"]
public = ["a", "b", "c"]
[budget]
at_most = 1.5
at_least = 0.5
[channel]
mechanism = "optimal-random-response"
effort = 5e6
side_columns = ["a", "c"]
"""


def table(n=400):
    ill = RNG.random(n) < 0.3
    return pd.DataFrame(
        {
            "ill": ill,
            "a": RNG.integers(0, 2, n) + ill,
            "b": RNG.integers(0, 2, n) + (ill & (RNG.random(n) < 0.5)),
            "c": RNG.integers(0, 2, n),
        }
    )


DF = table()
JOINT = sz.JointDistribution.from_frame(DF, "ill", COLUMNS)
DESIGNS = {
    "merging": lambda: sz.subset_merging(JOINT, BUDGET),
    "response": lambda: sz.subset_random_response(JOINT, BUDGET),
    "randomized": lambda: sz.randomized_response(len(JOINT.public), 1.0),
    "watchdog": lambda: sz.watchdog(JOINT, BUDGET),
}


@cache
def made(name):
    return DESIGNS[name]()


def by_counting(channel, known):
    """All of P(s,w,y) as whole numbers, from the rows and the integers of the channel, each kind of row at a time."""
    places = [COLUMNS.index(name) for name in known]
    exact = [{x: 1} for x in range(len(JOINT.public))]
    for stage in channel.stages:
        pushed = [{} for _ in exact]
        for before, after in zip(exact, pushed, strict=True):
            for i, p in before.items():
                for k in range(stage.indptr[i], stage.indptr[i + 1]):
                    y = int(stage.indices[k])
                    after[y] = after.get(y, 0) + p * int(stage.weights[k])
        exact = pushed
    levels = [level.to_pylist() for level in JOINT.public.levels]
    symbol = {
        tuple(levels[j][code] for j, code in enumerate(codes)): x for x, codes in enumerate(JOINT.public.codes.tolist())
    }
    swy, sw, wy, w_ = {}, {}, {}, {}
    for row, n in Counter(DF[["ill", *COLUMNS]].itertuples(index=False, name=None)).items():
        s, w = row[0], tuple(row[1 + place] for place in places)
        sw[s, w] = sw.get((s, w), 0) + n
        w_[w] = w_.get(w, 0) + n
        for y, p in exact[symbol[row[1:]]].items():
            if p:
                swy[s, w, y] = swy.get((s, w, y), 0) + n * p
                wy[w, y] = wy.get((w, y), 0) + n * p
    odds = [Fraction(swy.get((s, w, y), 0) * w_[w], wy[w, y] * sw[s, w]) for s, w in sw for w2, y in wy if w2 == w]
    return min(odds), max(odds)


@pytest.mark.parametrize("t", [0, 1, 2, 3])
@pytest.mark.parametrize("name", DESIGNS)
def test_it_is_what_counting_in_fractions_gives(name, t):
    for known in combinations(COLUMNS, t):
        least, most = by_counting(made(name), known)
        found = side_knowledge(JOINT, made(name), known)
        assert math.exp(found[0]) == pytest.approx(float(least), abs=1e-12)
        assert math.exp(found[1]) == pytest.approx(float(most), rel=1e-12)


@pytest.mark.parametrize("name", DESIGNS)
def test_knowing_nothing_is_the_lift_and_knowing_all_leaves_nothing_to_learn(name):
    lifts = sz.core.lifts.max_log_lift(JOINT.push(made(name))).max()
    assert side_knowledge(JOINT, made(name), [])[1] == pytest.approx(lifts, abs=1e-12)
    assert side_knowledge(JOINT, made(name), COLUMNS) == pytest.approx((0, 0), abs=1e-12)


def test_local_differential_privacy_holds_whatever_is_known():
    for t in range(4):
        for known in combinations(COLUMNS, t):
            low, high = side_knowledge(JOINT, made("randomized"), known)
            assert max(-low, high) <= 1.0 + 1e-9


def test_who_knows_a_column_can_learn_more_than_the_limit_and_the_owner_reads_it():
    fitted = sz.SubsetMerging(BUDGET, sensitive="ill", public=COLUMNS, min_count=0).fit(DF)
    channel, joint = fitted.channel_, sz.JointDistribution.from_frame(DF, "ill", COLUMNS)
    report = fitted.report_
    (section,) = [part for part in report.to_dict()["sections"] if part["name"] == "side"]
    found = {row[0]: row[1:] for row in section["rows"]}
    assert len(found) == 6
    assert [row[2] for row in section["rows"]] == sorted((row[2] for row in section["rows"]), reverse=True)
    for names, (least, most, chances) in found.items():
        assert [least, most] == pytest.approx(np.exp(side_knowledge(joint, channel, names.split(", "))).tolist())
        before, after = map(float, re.findall(r"([\d.e-]+) %", chances))
        assert after / before == pytest.approx(most, rel=0.01)  # in three digits, rounded apart
        assert after <= 100
        shares = 100 * DF.groupby(names.split(", "))["ill"].value_counts(normalize=True)
        assert np.isclose(shares, before, rtol=0.01).any()
    assert max(most for _, most, _ in found.values()) > 1.5
    for text in (
        report.to_text(),
        sz.SubsetMerging(BUDGET, sensitive="ill", public=["a", "b"]).fit(DF).report_.to_text(),
    ):
        assert ("Readers who know more" in text) is ("may exceed it." in " ".join(text.split()))
        assert "Known columns" not in text.split("more sections")[0].splitlines()[-1]
    assert not [part for part in report.to_dict(audience="public")["sections"] if part["name"] == "side"]


@pytest.mark.parametrize("n", [3, 4])
def test_the_report_says_where_three_known_columns_were_not_looked_at(n):
    df = {f"x{i}": np.arange(64) >> i & 1 for i in range(n)} | {"s": np.arange(64) % 3 % 2}
    names = [f"x{i}" for i in range(n)]
    joint = sz.JointDistribution.from_frame(df, "s", names)
    report = sz.LeakageReport.measure(joint, sz.Channel.identity(len(joint.public), joint.public), BUDGET)
    (section,) = [part for part in report.sections if part.name == "side"]
    assert ("three columns or more were not looked at" in section.words) == (n > 3)


def test_a_column_that_is_not_public_is_refused():
    with pytest.raises(ColumnError, match="side_columns names 'ill', which is not public"):
        side_knowledge(JOINT, made("merging"), ["ill"])


# ------------------------------------------------------------------------------ a budget for those who know columns


@pytest.fixture(params=["all vertices", "column generation"])
def route(request, monkeypatch):
    """Each way to the optimum, whatever the size."""
    monkeypatch.setattr(mixture, "_MOST_LETTERS", -1 if request.param == "column generation" else math.inf)


def small(seed):
    """Counts of two secrets and two columns of two values, shape (2, 2, 2), none of them 0."""
    return np.random.default_rng(seed).integers(1, 40, (2, 2, 2))


def joint_of(counts):
    """Distribution of such a table."""
    rows = [(s, a, b) for (s, a, b), n in np.ndenumerate(counts) for _ in range(n)]
    return sz.JointDistribution.from_frame(pd.DataFrame(rows, columns=["s", "a", "b"]), "s", ["a", "b"])


def cases_of(known):
    """Sets of letters (a, b) that whoever knows a part of these columns tells apart."""
    letters = list(np.ndindex(2, 2))
    for t in range(len(known) + 1):
        for part in combinations(known, t):
            places = ["ab".index(name) for name in part]
            for w in {tuple(letter[place] for place in places) for letter in letters}:
                yield [letter for letter in letters if tuple(letter[place] for place in places) == w]


def solved(rows):
    """The line v in which three planes a·v = 0 of whole numbers meet, by Cramer's rule; None where Σ v cannot be 1."""
    v = []
    for i in range(4):
        (a, b, c), (d, e, f), (g, h, k) = (row[:i] + row[i + 1 :] for row in rows)
        v.append((-1) ** i * (a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g)))
    step = math.gcd(*v) * (1 if sum(v) > 0 else -1)
    return tuple(x // step for x in v) if sum(v) else None


def best_by_listing(counts, known, low, high):
    """Largest I(X;Y) within [low, high] times for those who know any part: all mixtures of all vertices."""
    letters, total = list(np.ndindex(2, 2)), int(counts.sum())
    p_x = [Fraction(int(counts[:, a, b].sum()), total) for a, b in letters]
    cuts = [[Fraction(int(i == j)) for j in range(4)] for i in range(4)]
    for case in cases_of(known):
        inside = [Fraction(int(letter in case)) for letter in letters]
        of_w = sum(int(counts[:, a, b].sum()) for a, b in case)
        for s in range(2):
            before = Fraction(sum(int(counts[s, a, b]) for a, b in case), of_w)
            after = [Fraction(int(counts[s, a, b]), int(counts[:, a, b].sum())) for a, b in letters]
            cuts.append([i * (p - low * before) for i, p in zip(inside, after, strict=True)])
            cuts.append([i * (high * before - p) for i, p in zip(inside, after, strict=True)])
    # Of one letter alone each cut is that it has no mass below 0: one of several that are multiples is enough.
    scales = [math.lcm(*(a.denominator for a in row)) for row in cuts]
    whole = [[int(a * scale) for a in row] for row, scale in zip(cuts, scales, strict=True)]
    cuts = {tuple(a // math.gcd(*row) for a in row) for row in whole if any(row)}
    met = {solved(rows) for rows in combinations(cuts, 3)} - {None}
    met = [v for v in met if all(sum(a * x for a, x in zip(row, v, strict=True)) >= 0 for row in cuts)]
    points, p = np.array([[x / sum(v) for x in v] for v in met]), np.array(p_x, float)
    cost = np.array([-sum(x * math.log(x) for x in v if x > 0) for v in points])
    chosen = np.array(list(combinations(range(len(points)), 4)))
    squares = points[chosen].transpose(0, 2, 1)
    regular = np.abs(np.linalg.det(squares)) > 1e-12
    shares = np.linalg.solve(squares[regular], np.broadcast_to(p[:, None], (regular.sum(), 4, 1)))[..., 0]
    is_mixture = (shares > -1e-12).all(axis=1)
    # Where vertices are fewer than letters, P_X is a mixture of fewer of them; none of these tables is such a one.
    return float(-(p * np.log(p)).sum() - (shares * cost[chosen[regular]]).sum(axis=1)[is_mixture].min())


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("known", [[], ["a"], ["b"], ["a", "b"]], ids="+".join)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_the_best_response_for_those_who_know_columns_is_the_best_of_all_mixtures(seed, known):
    joint, budget = joint_of(counts := small(seed)), sz.LiftBudget(at_most=1.25, at_least=0.75)
    found = solve_optimal_random_response(joint, budget, gap=1e-9, side_columns=known)
    best = best_by_listing(counts, known, Fraction(3, 4), Fraction(5, 4))
    assert found.utility == pytest.approx(best, abs=2e-9)
    assert (found.status, found.utility - 1e-12 <= best <= found.bound + 1e-9) == ("optimal", True)


@cache
def best_response(*known):
    """The best response for those who know these columns; a gap is given for nobody, where it is soon reached."""
    more = {"effort": 5_000_000, "side_columns": known} if known else {"gap": 1e-3}
    return sz.optimal_random_response(JOINT, BUDGET, **more)


@pytest.mark.parametrize("known", [["a"], ["b", "c"], COLUMNS], ids="+".join)
def test_every_part_that_may_be_known_is_within_the_budget_in_fractions(known):
    least, most = Fraction(1, 2), Fraction(3, 2)
    channel = best_response(*known)
    for t in range(len(known) + 1):
        for part in combinations(known, t):
            low, high = by_counting(channel, part)
            assert least - Fraction(1, 10**11) <= low
            assert high <= most + Fraction(1, 10**11)
    assert 0.05 < sz.normalized_utility(JOINT, channel) < sz.normalized_utility(JOINT, best_response())


@pytest.mark.parametrize(
    "budget",
    [
        sz.LDPBudget(0.7),
        sz.LiftBudget(at_most=1.3, at_least=0),
        sz.LiftBudget(lower=0.2, upper=0),
        sz.LiftBudget(at_most={"True": 1.2, "*": 1.4}, at_least={"True": 0.5, "*": 0.7}),
    ],
    ids=["LDP", "one-sided", "equal", "by value"],
)
def test_every_budget_on_lifts_holds_for_those_who_know(budget):
    known = SideKnowledge.from_columns(JOINT, ["a", "c"])
    limits = sz.core.budgets.limits_for(budget, JOINT.sensitive)
    plain, channel = (
        sz.optimal_random_response(JOINT, budget, side_columns=one, effort=5_000_000) for one in ((), ["a", "c"])
    )
    assert known.excess(limits, plain).max() > 0.01
    assert known.excess(limits, channel).max() <= 1e-12
    assert limits.excess(JOINT.push(channel)).max() <= 1e-12


def test_whoever_may_know_more_leaves_less_to_keep():
    kept = [
        solve_optimal_random_response(joint_of(small(7)), 0.2, gap=1e-9, side_columns=known).utility
        for known in ([], ["a"], ["a", "b"])
    ]
    assert kept[0] > kept[1] + 1e-3
    assert kept[1] > kept[2] - 1e-9


def test_letters_that_are_within_the_budget_may_not_be_so_for_those_who_know():
    # The first secret is a half of all, a fifth where b is 0, and a half again where a is 0, too: 2.5 times as likely.
    joint, budget = (
        joint_of(np.array([[[10, 60], [10, 40]], [[10, 20], [70, 20]]])),
        sz.LiftBudget(at_most=1.8, at_least=0),
    )
    assert sz.normalized_utility(joint, sz.optimal_random_response(joint, budget)) == pytest.approx(1)
    channel = sz.optimal_random_response(joint, budget, side_columns=["b"])
    assert math.exp(side_knowledge(joint, channel, ["b"])[1]) == pytest.approx(1.8)


def test_what_is_known_may_be_no_column():
    joint, rng = joint_of(small(3)), np.random.default_rng(5)
    of_w = rng.dirichlet([1.0, 1.0, 1.0], joint.pmf.shape).transpose(2, 0, 1)  # P(w|s,x), which goes by the secret, too
    channel = sz.optimal_random_response(joint, 0.2, side_columns=of_w * joint.pmf)
    matrix = np.asarray(channel.sparse_matrix().todense())
    for case in of_w * joint.pmf:
        after = case @ matrix
        lifts = after / after.sum(axis=0) / (case.sum(axis=1) / case.sum())[:, None]
        assert np.abs(np.log(lifts)).max() <= 0.2 + 1e-11
    plain = sz.optimal_random_response(joint, 0.2)
    assert sz.normalized_utility(joint, channel) < sz.normalized_utility(joint, plain)


def test_knowing_that_one_of_several_cases_holds_is_a_case_of_its_own():
    """Within the limit for each of three values, and 1.4 times the limit for two at once, unless these are given."""
    masses = np.array(
        [
            [[0.046, 0.018, 0.0, 0.0], [0.038, 0.031, 0.0, 0.001]],
            [[0.015, 0.046, 0.271, 0.016], [0.005, 0.001, 0.218, 0.001]],
            [[0.213, 0.015, 0.0, 0.031], [0.003, 0.024, 0.002, 0.005]],
        ]
    )
    masses /= masses.sum()
    joint, budget = sz.JointDistribution.from_matrix(masses.sum(axis=0)), sz.LiftBudget(at_most=1.3, at_least=0.7)
    sums = [masses[list(cases)].sum(axis=0) for cases in ((0, 1), (0, 2), (1, 2))]

    def told(channel, case):
        after = case @ channel.matrix
        lifts = after / after.sum(axis=0) / (case.sum(axis=1) / case.sum())[:, None]
        return max(float(lifts.max()) / 1.3, 0.7 / float(lifts.min()))

    alone = sz.optimal_random_response(joint, budget, side_columns=masses, effort=2e6)
    assert max(told(alone, case) for case in masses) <= 1 + 1e-9
    assert max(told(alone, case) for case in sums) > 1.4
    both = sz.optimal_random_response(joint, budget, side_columns=[*masses, *sums], effort=2e6)
    assert max(told(both, case) for case in (*masses, *sums)) <= 1 + 1e-9


def test_columns_are_the_cases_that_they_tell_apart():
    joint = joint_of(small(1))
    is_case = [joint.public.codes[:, 0] == code for code in (0, 1)]
    as_array = sz.optimal_random_response(joint, 0.1, side_columns=[joint.pmf * case for case in is_case])
    by_name = sz.optimal_random_response(joint, 0.1, side_columns=["a"])
    assert np.array_equal(as_array.sparse_matrix().todense(), by_name.sparse_matrix().todense())


def test_a_channel_beyond_what_somebody_knows_is_repaired():
    joint, loose = joint_of(small(2)), sz.LiftBudget(at_most=100, at_least=0)
    budget, known = sz.LiftBudget(at_most=1.1, at_least=0.9), SideKnowledge.from_columns(joint, ["a"])
    every = sparse.eye_array(4, format="csc")
    assert response_channel(joint, loose, every, joint.p_x).n_outputs == 4
    repaired = response_channel(joint, budget, every, joint.p_x, side=known)
    assert known.excess(budget, repaired).max() <= 1e-12


@pytest.mark.parametrize(("most", "least", "gap"), [(1.4, 0.7, 0.5), (3.2, 0.0, 1e-6)])
def test_more_letters_than_vertices_can_be_listed_of(most, least, gap):
    rng = np.random.default_rng(8)
    s, n = rng.integers(0, 3, 20_000), 20_000
    df = pd.DataFrame({"s": s, "a": (rng.integers(0, 6, n) + s) % 8, "b": rng.integers(0, 10, n) + s})
    joint, budget = sz.JointDistribution.from_frame(df, "s", ["a", "b"]), sz.LiftBudget(at_most=most, at_least=least)
    found = solve_optimal_random_response(joint, budget, side_columns=["a", "b"], effort=10_000_000)
    assert len(joint.public) > 64
    assert found.bound - found.utility == pytest.approx(found.gap)
    assert found.gap < gap
    assert found.normalized_utility > 0.9
    for known in ([], ["a"], ["b"], ["a", "b"]):
        low, high = np.exp(side_knowledge(joint, found.channel, known))
        assert (low, high) == (max(low, least - 1e-9), min(high, most + 1e-9))


def test_an_estimator_keeps_it_for_those_who_know_columns_of_the_table_though_rare_rows_are_pooled():
    settings = {"sensitive": "ill", "public": COLUMNS, "effort": 20_000_000}
    plain = sz.OptimalRandomResponse(BUDGET, **settings).fit(DF)
    fitted = sz.OptimalRandomResponse(BUDGET, **settings, side_columns=["a", "c"]).fit(DF)
    assert fitted.report_.ok
    assert math.exp(side_knowledge(JOINT, plain.channel_, ["a"])[1]) > 1.6
    for known in (["a"], ["c"], ["a", "c"]):
        least, most = by_counting(fitted.channel_, known)
        assert Fraction(1, 2) - Fraction(1, 10**11) <= least <= most <= Fraction(3, 2) + Fraction(1, 10**11)
    with pytest.raises(InvalidParameter, match="only one of confidence, side_columns and keep"):
        sz.OptimalRandomResponse(BUDGET, **settings, side_columns="a", confidence=0.95).fit(DF)
    with pytest.raises(ColumnError, match="side_columns names 'ill', which is not public"):
        sz.OptimalRandomResponse(BUDGET, **settings, side_columns="ill").fit(DF)


def test_a_report_that_says_for_whom_the_limit_holds_has_measured_it():
    for known in (["a"], COLUMNS):
        facts = ReleaseFacts(side_columns=tuple(known))
        assert sz.LeakageReport.measure(JOINT, best_response(), BUDGET).ok
        assert sz.LeakageReport.measure(JOINT, best_response(*known), BUDGET, facts=facts).require().ok
        ends = [by_counting(best_response(), part) for t in (1, 2, 3) for part in combinations(known, t)]
        excess = max(max(math.log(most / 1.5), -math.log(2 * least) if least else math.inf) for least, most in ends)
        with pytest.raises(BudgetExceeded, match=f"{excess:.3g}"):
            sz.LeakageReport.measure(JOINT, best_response(), BUDGET, facts=facts).require()


@pytest.mark.parametrize("known", [(), ("a",)])
def test_of_a_sample_nothing_is_said_for_those_who_know_more(known):
    joint = sz.JointDistribution.from_frame(pd.concat([DF] * 200), "ill", COLUMNS)
    budget, facts = sz.LiftBudget(at_most=4, at_least=0), ReleaseFacts(side_columns=known)
    report = sz.LeakageReport.measure(joint, best_response(), budget, facts=facts).require()
    text = " ".join(report.to_text().split())
    assert ("and also if they are a sample" in text) is (not known)
    assert ("how far it may be exceeded is not known" in text) is bool(known)


def test_what_others_are_told_beside_one_channel_is_no_matter_of_its_limit():
    one = sz.OptimalRandomResponse(BUDGET, sensitive="ill", public=["a", "b"], side_columns="a")
    with pytest.raises(InvalidParameter, match="part 'ab': leave side_columns out"):
        sz.JointRelease([("ab", one)], BUDGET, sensitive="ill").fit(DF)


def test_units_that_are_told_of_several_releases_have_no_such_limit(tmp_path):
    rows = DF.assign(person=range(len(DF)))
    units = UnitLedger(tmp_path / "people.units", BUDGET, unit="person")
    with pytest.raises(InvalidParameter, match="a unit ledger covers several"):
        units.release(
            rows, sz.OptimalRandomResponse(BUDGET, sensitive="ill", public=["a", "b"], side_columns="a").fit(rows)
        )


def test_a_policy_says_what_may_be_known(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet", index=False)
    policy = sz.Policy.from_toml(POLICY)
    report = sz.release_file(tmp_path / "raw.parquet", tmp_path / "released.parquet", policy)
    for words in (report.to_text(), report.to_text(audience="public"), report.to_html()):
        assert "the same for readers who know any of a, c of a row" in " ".join(words.split())
    assert sz.verify_file(tmp_path / "released.parquet", tmp_path / "raw.parquet", policy).ok
    plan = make_plan(policy, tmp_path / "raw.parquet")
    assert "optimal random response; no other mechanism fits" in " ".join(plan.to_text().split())
    assert "subset-merging" not in plan.to_text()
    plain = sz.Policy.from_toml(POLICY.replace("side_columns", "# side_columns"))
    assert "subset merging" in make_plan(plain, tmp_path / "raw.parquet").to_text()
    assert not sz.verify_file(tmp_path / "released.parquet", tmp_path / "raw.parquet", plain).ok
    with pytest.raises(PolicyError, match="'ill' is not a public column"):
        sz.Policy.from_toml(POLICY.replace('["a", "c"]', '["a", "ill"]'))
    with pytest.raises(PolicyError, match="subset-merging does not have it"):
        sz.Policy.from_toml(POLICY.replace("optimal-random-response", "subset-merging"))


def test_what_cannot_be_known_is_refused():
    joint = joint_of(small(0))
    with pytest.raises(ColumnError, match="side_columns names 's', which is not public; choose among a, b"):
        sz.optimal_random_response(joint, 0.1, side_columns=["a", "s"])
    for wrong in (np.ones((2, 4)), np.full((1, 2, 4), 0.6), -joint.pmf[None], [["a"]], [3]):
        with pytest.raises(InvalidParameter, match="side_columns must name"):
            sz.optimal_random_response(joint, 0.1, side_columns=wrong)
    with pytest.raises(InvalidParameter, match="only one of confidence, side_columns and keep"):
        sz.optimal_random_response(joint, 0.1, side_columns=["a"], confidence=0.95)
    with pytest.raises(InvalidBudget, match="takes no confidence, target, side_columns or keep"):
        sz.optimal_random_response(joint, MutualInformationBudget(0.1), side_columns=["a"])
