"""Sets of weighted rows cover the population of stratified and clustered samples, and bets have a mean of at most 1."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import prod

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multinomial

import sanitize as sz
from sanitize.core.confidence import ConfidenceSet, _weighted, clopper_pearson
from sanitize.core.confidence._weighted import WeightedRows, _bet_grid, _Shares, _stakes
from sanitize.errors import ColumnError, InvalidParameter, ReleaseWarning
from sanitize.transformers import BestSanitizer, OptimalRandomResponse, SubsetMerging, SubsetRandomResponse, Watchdog

LEVEL = 0.02


def frame(s, x) -> pd.DataFrame:
    return pd.DataFrame({"s": [f"s{code}" for code in s], "x": [f"x{code}" for code in x]})


def some_rows(seed: int, n: int = 120, *, n_s: int = 2, n_x: int = 3, levels=(1.0, 0.4), size: int = 1):
    """Codes, weights and clusters of a sample in which all codes occur."""
    rng = np.random.default_rng(seed)
    s, x = np.r_[np.arange(n_s), rng.integers(0, n_s, n - n_s)], np.r_[np.arange(n_x), rng.integers(0, n_x, n - n_x)]
    return s, x, rng.choice(levels, n), np.arange(n) // size


# ------------------------------------------------------------------------------------------------- the twin


def wins(p: float, kappa: float, terms) -> float:
    """What a bet of κ makes of 1: the product over clusters (r, t), one after another."""
    stake = min(kappa / (p * (1 - p)) ** 0.5, 0.9 / p)
    return prod(1 + stake * (share - p) * size for share, size in terms)


def refuses(p: float, kappas, terms, level: float) -> bool:
    """Whether bets around every κ refuse p."""
    shares = {2**-1.25: 0.05, 1.0: 0.9, 2**1.25: 0.05}
    least = {times: min(wins(p, kappa * times, terms) for kappa in kappas) for times in shares}
    return sum(share * least[times] for times, share in shares.items()) >= 1 / level


def clusters_of(rows: WeightedRows, s: int):
    """Weight of s in each cluster that has it, and of each x in it."""
    weight = {}
    for a, x, w, c in zip(rows.s, rows.x, rows.weights, rows.cluster, strict=True):
        if a == s:
            weight.setdefault(c, {}).setdefault(x, 0.0)
            weight[c][x] += w
    return [(sum(parts.values()), parts) for parts in weight.values()]


def ends_of_the_variance(rows: WeightedRows, s: int, level: float):
    """Ends of Σ t² by bisection, every bet by itself."""
    n = rows.cluster.max() + 1
    squares = [size**2 for size, _ in clusters_of(rows, s)]
    squares += [0.0] * (n - len(squares))
    kappas = [(2 * np.log(20 / level) / n) ** 0.5 * 2.0**j for j in range(-1, 9)]

    def end(shares) -> float:
        low, high = 0.0, sum(shares) / n
        for _ in range(40):
            p = (low + high) / 2
            refused = np.mean([wins(p, kappa, [(share, 1.0) for share in shares]) for kappa in kappas]) >= 2 / level
            low, high = (p, high) if refused else (low, p)
        return low

    return n * end(squares), n * (1 - end([1 - share for share in squares]))


@pytest.mark.parametrize("size", [1, 4])
def test_ends_are_those_of_every_cluster_by_itself(size):
    rows = WeightedRows.from_weights(*some_rows(size, size=size))
    lower, upper, *_ = rows.bounds(LEVEL)
    for s in range(2):
        variance = ends_of_the_variance(rows, s, LEVEL)
        kappas = [(2 * np.log(2 / 0.9 / LEVEL) / v) ** 0.5 for v in variance]
        for x in range(3):
            terms = [(parts.get(x, 0.0) / total, total) for total, parts in clusters_of(rows, s)]
            others = [(1 - share, total) for share, total in terms]
            for end, these in ((lower[s, x], terms), (1 - upper[s, x], others)):
                assert refuses(end * (1 - 1e-5), kappas, these, LEVEL / 2)
                if size == 1:  # shares of clusters are split between few, which may widen
                    assert not refuses(end * (1 + 1e-5), kappas, these, LEVEL / 2)


def test_many_weights_widen_the_ends_a_little_and_never_narrow_them(monkeypatch):
    s, x, _, cluster = some_rows(3, 400)
    rows = WeightedRows.from_weights(s, x, np.random.default_rng(3).lognormal(0, 1, 400), cluster)
    few = rows.bounds(LEVEL)
    monkeypatch.setattr(_weighted, "_MOST_SIZES", 1000)
    all_of_them = rows.bounds(LEVEL)
    for part, sign in enumerate((1, -1, -1, 1, -1)):
        assert (sign * (all_of_them[part] - few[part]) > -1e-9).all()
        assert_allclose(few[part], all_of_them[part], atol=3e-3)


def test_clusters_are_split_so_that_their_sums_are_kept():
    rng = np.random.default_rng(0)
    cluster, x, weights = rng.integers(0, 200, 900), rng.integers(0, 5, 900), rng.lognormal(0, 1, 900)
    total = np.bincount(cluster, weights)
    made = _Shares.from_rows(cluster, x, weights, 5, 2)
    assert len(made.sizes) == 64
    assert len(made.shares) == 17
    assert_allclose(made.times.sum(axis=(1, 2)), 2 * np.count_nonzero(total))
    assert_allclose((made.times @ made.sizes).sum(axis=1), 2 * total.sum())
    assert_allclose(made.squares @ made.sizes**2, 2 * (total**2).sum())
    assert_allclose(made.shares @ made.times @ made.sizes, 2 * np.bincount(x, weights))
    assert (made.times >= 0).all()


def test_the_distance_is_that_of_every_set_of_symbols():
    """Of all sets, one at a time, none whose bets do not refuse it is farther away, and one is nearly as far."""
    s, x, _, cluster = some_rows(5, 300, n_x=5)
    rows = WeightedRows.from_weights(
        s, x, np.array([1.0, 1.0, 0.6, 0.15, 0.1])[x], cluster
    )  # sets have rows of one weight
    distance = rows.bounds(LEVEL)[2]
    for s in range(2):
        needed = np.log(2**5 - 2) - np.log(LEVEL)
        variance = ends_of_the_variance(rows, s, LEVEL)
        kappas = [(2 * (needed - np.log(0.9)) / v) ** 0.5 for v in variance]
        weight = clusters_of(rows, s)
        whole = sum(total for total, _ in weight)
        farthest = 0.0
        for chosen in (set(c) for r in range(1, 5) for c in itertools.combinations(range(5), r)):
            terms = [(sum(parts.get(x, 0.0) for x in chosen) / total, total) for total, parts in weight]
            center = sum(share * total for share, total in terms) / whole
            left = [p for p in np.arange(0.01, center, 0.01) if not refuses(p, kappas, terms, LEVEL / 30)]
            farthest = max(farthest, center - min(left))
        assert farthest <= distance[s] <= farthest + 0.03


@pytest.mark.parametrize("seed", range(3))
def test_of_one_weight_they_are_wider_than_clopper_pearson(seed):
    s, x, _, cluster = some_rows(seed, 200, n_x=5)
    rows = WeightedRows.from_weights(s, x, np.ones(200), cluster)
    lower, upper, distance, *prior = rows.bounds(LEVEL)
    low, high = clopper_pearson(rows.counts, rows.counts.sum(axis=1, keepdims=True), LEVEL)
    assert (lower <= low + 1e-12).all()
    assert (upper >= high - 1e-12).all()
    assert ((upper - lower) <= 1.35 * (high - low)).all()
    low, high = clopper_pearson(rows.counts.sum(axis=1), 200, LEVEL)
    assert (prior[0] <= low + 1e-12).all()
    assert (prior[1] >= high - 1e-12).all()
    assert (distance < 0.4).all()


# ----------------------------------------------------------------------------------- a mean of at most 1, exactly


def bet(rows, lam: Fraction, p: Fraction) -> Fraction:
    """The product over clusters, each a list of (weight, whether s, whether x)."""
    factors = [1 + lam * sum(w * ((x and 1) - p) for w, s, x in cluster if s) for cluster in rows]
    assert min(factors) >= 0
    return prod(factors, start=Fraction(1))


def strata_of(seed: int, sizes=(4, 5), draws=(2, 2), rows: int = 1):
    """A population of clusters of rows (weight, s, x) in strata, weights N / n, and its P(x|s)."""
    rng = np.random.default_rng(seed)
    strata = [
        [[(Fraction(n, k), bool(rng.random() < 0.7), bool(rng.random() < 0.5)) for _ in range(rows)] for _ in range(n)]
        for n, k in zip(sizes, draws, strict=True)
    ]
    strata[0][0][0] = (strata[0][0][0][0], True, True)
    people = [row for stratum in strata for cluster in stratum for row in cluster if row[1]]
    p = Fraction(sum(x for *_, x in people), len(people))
    return strata, draws, p, max(sum(w for w, *_ in cluster) for stratum in strata for cluster in stratum)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("with_replacement", [True, False])
def test_the_mean_over_all_stratified_samples_is_at_most_1(rows, with_replacement):
    largest = Fraction(0)
    for seed in range(6):
        strata, draws, p, size = strata_of(seed, rows=rows)
        samples = [
            list(itertools.product(stratum, repeat=k) if with_replacement else itertools.combinations(stratum, k))
            for stratum, k in zip(strata, draws, strict=True)
        ]
        for part in (Fraction(1, 5), Fraction(3, 5), Fraction(1)):
            lam = part / (p * size)
            means = [sum(bet(sample, lam, p) for sample in of_one) / len(of_one) for of_one in samples]
            largest = max(largest, prod(means))
    assert largest <= 1
    assert largest > Fraction(9, 10)  # and not far below it


def test_stakes_never_lose_all():
    p = np.array([1e-300, 1e-6, 0.3, 1 - 1e-9, 1.0])
    stakes = _stakes(p, np.array([1e-3, 1.0, 1e150]))
    assert (1 - stakes * p >= 0.1 - 1e-12).all()
    assert (_bet_grid(10.0, np.array([[4.0], [9.0]])) > 0).all()


@pytest.mark.slow
def test_refused_ends_have_their_probability_over_all_samples():
    """Every sample of two strata with its probability: rows of (s, x), (s, not x) and not s."""
    n, weights, level = (4, 3), (1.0, 0.3), 0.3
    outcomes = [[c for c in itertools.product(range(k + 1), repeat=3) if sum(c) == k] for k in n]
    cells = [(0.3, 0.3, 0.4), (0.1, 0.8, 0.1)]
    mass = np.array([[w * k * c for c in of_one] for w, k, of_one in zip(weights, n, cells, strict=True)]).sum(axis=0)
    p, missed, whole = mass[0] / mass[:2].sum(), np.zeros(2), 0.0
    for drawn in itertools.product(*outcomes):
        s = np.concatenate([*(np.repeat([0, 0, 1], c) for c in drawn), [1, 1]])
        x = np.concatenate([*(np.repeat([0, 1, 0], c) for c in drawn), [0, 1]])  # so that all symbols occur
        chance = prod(multinomial.pmf(c, k, of_one) for c, k, of_one in zip(drawn, n, cells, strict=True))
        whole += chance
        if (s == 0).any():
            rows = WeightedRows.from_weights(s, x, np.r_[np.repeat(weights, n), 1.0, 1.0], None)
            low, high = (end[0, 0] for end in rows.bounds(level)[:2])
            missed += chance * np.array([low > p, high < p])
    assert_allclose(whole, 1)
    assert (missed <= level / 2).all()


# ------------------------------------------------------------------------------------------------- coverage


def population(kind: str, rng: np.random.Generator):
    """Clusters of rows in two strata (weights N / n): x depends on the stratum, and on the cluster."""
    sizes, draws, rows = ((4000, 400), (150, 150), 1) if kind == "strata" else ((600, 60), (40, 40), 12)
    strata = []
    for h, n in enumerate(sizes):
        s = rng.random((n, rows)) < (0.4, 0.6)[h]
        common = rng.integers(0, 4, (n, 1))
        own = np.where(rng.random((n, rows)) < 0.6, 3 * h, rng.integers(0, 4, (n, rows)))
        strata.append((s.astype(int), np.where(rng.random((n, 1)) < 0.85 * (rows > 1), common, own)))
    counts = np.zeros((2, 4))
    for s, x in strata:
        np.add.at(counts, (s.ravel(), x.ravel()), 1)
    return strata, draws, sz.JointDistribution.from_matrix(counts / counts.sum())


def missed(kind: str, way: str, runs: int) -> int:
    """How often of so many samples the set, made in one way or another, does not hold the population."""
    rng = np.random.default_rng(7)
    strata, draws, truth = population(kind, rng)
    found = 0
    for _ in range(runs):
        s, x, w, c = [], [], [], []
        for h, ((of_s, of_x), k) in enumerate(zip(strata, draws, strict=True)):
            chosen = rng.choice(len(of_s), k, replace=False)
            s.append(of_s[chosen].ravel())
            x.append(of_x[chosen].ravel())
            w.append(np.full(s[-1].size, len(of_s) / k))
            c.append(np.repeat(1000 * h + np.arange(k), of_s.shape[1]))
        s, x, w, c = map(np.concatenate, (s, x, w, c))
        df = frame(s, x)
        if way == "weights ignored":
            distributions = ConfidenceSet.of(sz.JointDistribution.from_frame(df, "s", "x"), 0.95)
        else:
            clusters = None if way == "clusters ignored" else c
            distributions = ConfidenceSet.weighted(
                df, "s", "x", w, clusters=clusters, largest_total=np.bincount(c, w).max(), confidence=0.95
            )
        found += not distributions.contains(truth)
    return found


def test_what_more_rows_would_keep_counts_groups_and_weights():
    """Whole groups of rows say less than as many rows apart, and so would ten times as many of them."""
    rng, n = np.random.default_rng(0), 3000
    ill = rng.random(n) < 0.15
    kind = np.where(ill & (rng.random(n) < 0.3), "driver", rng.choice(list("abcd"), n))
    rows = pd.DataFrame({"ill": ill, "kind": kind, "town": rng.choice(list("ABCDEF"), n)})
    sanitizer = SubsetMerging(sz.LiftBudget(at_most=1.5, at_least=0.5), sensitive="ill", public=["kind", "town"])
    sanitizer.set_params(confidence=0.9)
    # Sums of twenty weights of .05 pass 1 by rounding, of which a warning would be an error here.
    settings = {}, {"groups": np.arange(n) // 20}, {"sample_weight": rng.choice([1.0, 9.0], n)}
    alone, grouped, weighted = (
        sanitizer.fit(rows, **one).report_.summary["normalized_utility_10x"] for one in settings
    )
    assert max(grouped, weighted) < alone - 0.1


@pytest.mark.parametrize(("runs", "most"), [(16, 3), pytest.param(100, 5, marks=pytest.mark.slow(sampled=False))])
@pytest.mark.parametrize("kind", ["strata", "clusters"])
def test_at_most_one_set_of_twenty_misses_its_population(kind, runs, most):
    """One that missed in 5 % would fail with probability 0.01 or 0.4; these miss far less, by Markov's inequality."""
    assert missed(kind, "", runs) <= most


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "way"), [("strata", "weights ignored"), ("clusters", "clusters ignored")])
def test_what_ignores_the_design_misses_it(kind, way):
    assert missed(kind, way, 60) > 12


def giants(way: float | None, runs: int) -> int:
    """How often of so many samples of 100 of 1,000 clusters, 4 of them a hundred times as large, P(s) is missed."""
    rng, sizes = np.random.default_rng(0), np.full(1000, 4)
    sizes[:4] = 400
    cluster = np.repeat(np.arange(1000), sizes)
    s, x = (
        (rng.random(len(cluster)) < np.where(sizes[cluster] > 4, 0.94, 0.05)).astype(int),
        np.zeros(len(cluster), int),
    )
    found = 0
    for _ in range(runs):
        rows = np.isin(cluster, rng.choice(1000, 100, replace=False))
        distributions = ConfidenceSet.weighted(
            frame(s[rows], x[rows]), "s", "x", np.full(rows.sum(), 10.0), clusters=cluster[rows], largest_total=way
        )
        found += not distributions.prior_lower[1] <= s.mean() <= distributions.prior_upper[1]
    return found


def test_large_clusters_that_were_not_drawn_are_covered_where_their_total_is_said():
    """One that missed in 5 % would fail with probability 0.01."""
    assert giants(4000.0, 40) <= 5


@pytest.mark.filterwarnings("ignore:totals of groups differ")
def test_the_largest_cluster_of_the_sample_is_no_largest_of_the_design():
    assert giants(None, 20) > 6


def test_totals_that_differ_are_warned_of_and_said_on_the_report():
    s, x, w, _ = some_rows(3, 400)
    c, df = np.arange(400) // np.repeat([2, 5], [100, 300]), frame(s, x)
    with pytest.warns(ReleaseWarning, match="totals of groups differ: the largest total in the sample"):
        unsaid = ConfidenceSet.weighted(df, "s", "x", w, clusters=c)
    said = ConfidenceSet.weighted(df, "s", "x", w, clusters=c, largest_total=20)
    assert (said.prior_upper - said.prior_lower > unsaid.prior_upper - unsaid.prior_lower).all()
    with pytest.raises(InvalidParameter, match=r"largest_total must be at least .*, the largest total weight"):
        ConfidenceSet.weighted(df, "s", "x", w, clusters=c, largest_total=1)
    with pytest.raises(InvalidParameter, match="largest_total must be"):
        ConfidenceSet.weighted(df, "s", "x", w, clusters=c, largest_total=-3)
    fitted = Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="s", public="x", confidence=0.9, min_count=1)
    for largest, words in ((None, "can have is taken as the largest"), (500, "can have is taken as 500")):
        report = fitted.fit(df, groups=c, largest_total=largest).report_
        assert any(words in line for line in report.facts.warnings)
        assert any("totals of groups differ" in line for line in report.facts.warnings) == (largest is None)
    with pytest.raises(InvalidParameter, match="give groups= or sample_weight="):
        fitted.fit(df, largest_total=5)


# ------------------------------------------------------------------------------------------------- as a set


@pytest.mark.filterwarnings("ignore:totals of groups differ")
def test_units_of_weights_and_rows_without_one_change_nothing():
    s, x, w, _ = some_rows(1)
    plain = ConfidenceSet.weighted(frame(s, x), "s", "x", w)
    other = ConfidenceSet.weighted(frame(np.r_[s, 7, 0], np.r_[x, 0, 9]), "s", "x", np.r_[700 * w, 0, 0])
    alone = ConfidenceSet.weighted(frame(s, x), ["s"], ["x"], list(w), clusters=[f"person {i}" for i in range(len(s))])
    for name in ("center", "lower", "upper", "distance", "prior_lower", "prior_upper", "counts"):
        assert_allclose(getattr(other, name), getattr(plain, name), rtol=1e-9)
        assert_allclose(getattr(alone, name), getattr(plain, name), rtol=1e-9)
    some = [None if i % 7 == 0 else f"{i // 7}" for i in range(len(s))]  # rows of no known cluster are one
    missing = ConfidenceSet.weighted(frame(s, x), "s", "x", w, clusters=pd.Series(some))
    known = ConfidenceSet.weighted(frame(s, x), "s", "x", w, clusters=["none" if c is None else c for c in some])
    assert_allclose(missing.upper, known.upper)
    assert plain.n == other.n == len(s)
    assert other.sensitive.symbols == plain.sensitive.symbols
    assert plain.contains(sz.JointDistribution.from_frame(frame(s, x), "s", "x", weights=w))


@pytest.mark.filterwarnings("ignore:totals of groups differ")
def test_scaled_is_what_so_many_copies_of_the_design_would_give():
    s, x, w, c = some_rows(2, size=3)
    of_one = ConfidenceSet.weighted(frame(s, x), "s", "x", w, clusters=c).scaled(3)
    copies = ConfidenceSet.weighted(
        frame(np.tile(s, 3), np.tile(x, 3)), "s", "x", np.tile(w, 3), clusters=np.r_[c, c + 1000, c + 2000]
    )
    for name in ("center", "lower", "upper", "distance", "prior_lower", "prior_upper", "counts"):
        assert_allclose(getattr(of_one, name), getattr(copies, name), rtol=1e-9)


def test_merged_sets_hold_merged_distributions_and_can_be_scaled():
    s, x, w, _ = some_rows(4, 600, n_x=4)
    distributions = ConfidenceSet.weighted(frame(s, x), "s", "x", w)
    merge = sz.Channel.merge(np.array([0, 1, 1, 0]), distributions.public)
    merged = distributions.merge(np.array([0, 1, 1, 0]), merge.outputs)
    assert merged.contains(sz.JointDistribution.from_frame(frame(s, x), "s", "x", weights=w).push(merge))
    assert (merged.scaled(2).upper < merged.upper).all()
    assert_allclose(merged.scaled(1).counts, merged.counts)


@pytest.mark.parametrize("mechanism", [sz.watchdog, sz.subset_merging, sz.optimal_random_response])
def test_mechanisms_meet_the_budget_in_all_of_a_weighted_set(mechanism):
    s, x, w, _ = some_rows(6, 4000, n_x=6)
    df, budget = frame(s, x), sz.LiftBudget.symmetric(0.5)
    joint = sz.JointDistribution.from_frame(df, "s", "x", weights=w)
    distributions = ConfidenceSet.weighted(df, "s", "x", w)
    channel = mechanism(joint, budget, confidence=distributions)
    assert distributions.worst_case(channel).excess(budget).max() <= 1e-9
    assert sz.normalized_utility(joint, channel) > 0
    report = sz.LeakageReport.measure(joint, channel, budget, confidence=distributions)
    assert report.state == "source"


def test_what_is_no_weight_or_cluster_is_refused():
    s, x, w, _ = some_rows(1)
    df = frame(s, x)
    for wrong in (-w, w * np.nan, w[:, None]):
        with pytest.raises(InvalidParameter, match="non-negative number per row"):
            ConfidenceSet.weighted(df, "s", "x", wrong)
    with pytest.raises(ColumnError, match="clusters have 3 rows"):
        ConfidenceSet.weighted(df, "s", "x", w, clusters=[1, 2, 3])
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        ConfidenceSet.weighted(df, "s", "x", w, confidence=95)
    weighted = sz.JointDistribution.from_frame(df, "s", "x", weights=w)
    with pytest.raises(InvalidParameter, match=r"ConfidenceSet\.weighted"):
        sz.watchdog(weighted, 1.0, confidence=0.95)


# ------------------------------------------------------------------------------------------------- estimators

ESTIMATORS = [Watchdog, SubsetMerging, OptimalRandomResponse, SubsetRandomResponse, BestSanitizer]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_certify_weighted_rows(estimator):
    s, x, w, _ = some_rows(8, 3000, n_x=4)
    df, budget = frame(s, x), sz.LiftBudget.symmetric(0.7)
    made = estimator(budget, sensitive="s", confidence=0.9, random_state=0).fit(df, sample_weight=w)
    report = made.report_
    assert (report.state, report.confidence, report.n_rows) == ("source", 0.9, 3000)
    distributions = ConfidenceSet.weighted(df, "s", "x", w, confidence=0.9)
    assert distributions.worst_case(made.channel_).excess(budget).max() <= 1e-9
    assert report.summary["normalized_utility"] > 0.5
    assert (
        "rows are weighted" in report.to_text(warnings=True)
        if False
        else any("rows are weighted" in note for note in report.facts.warnings)
    )
    assert made.transform(df).shape == (3000, 1)


def test_groups_are_clusters_and_make_the_worst_case_worse():
    s, x, _, c = some_rows(9, 3000, n_x=4, size=5)
    df, budget = frame(s, x), sz.LiftBudget.symmetric(1.0)

    def worst(**given) -> float:
        made = Watchdog(budget, sensitive="s", confidence=0.95, random_state=0).fit(df, **given)
        return made.report_.summary["worst_max_log_lift"]

    assert worst() < worst(sample_weight=np.ones(3000)) < worst(sample_weight=np.ones(3000), groups=c)
    assert worst(groups=c) == worst(sample_weight=np.ones(3000), groups=c)
    with pytest.raises(InvalidParameter, match="groups"):
        Watchdog(budget, sensitive="s").fit("table.parquet", groups=c)


def test_rows_and_not_weights_are_counted_where_rows_are_too_few():
    s, x, w, _ = some_rows(10, 2000, n_x=4)
    x[:5] = 9  # five people, who stand for many
    df, weights = frame(s, x), np.where(x == 9, 400.0, w)
    made = SubsetMerging(sz.LiftBudget.symmetric(3.0), sensitive="s", confidence=0.95, random_state=0)
    assert "x9" not in made.fit(df, sample_weight=weights).transform(df)["x"].to_numpy()
    made.set_params(confidence=None)  # a weight is a number of rows then
    assert "x9" in made.fit(df, sample_weight=weights).transform(df)["x"].to_numpy()


def test_copies_that_weights_allow_are_no_alarm():
    s, x, w, _ = some_rows(11, 500, n_x=200)
    df = pd.concat([frame(s, x)] * 4)
    made = Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="s", confidence=0.9, random_state=0)
    given = {"sample_weight": np.tile(w, 4), "groups": np.tile(np.arange(500), 4)}
    assert not any("repeat exactly" in note for note in made.fit(df, **given).report_.facts.warnings)
    assert any("repeat exactly" in note for note in made.fit(df).report_.facts.warnings)
