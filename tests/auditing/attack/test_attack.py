"""Attacks: the exact adversary against fractions, trained ones that neither cry wolf nor sleep, planted faults."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from attack_cases import JOINT, N_S, N_X, keep_or_draw, report_of, table
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact, margins, push
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from strategies import joints, joints_and_channels

import sanitize as sz
from sanitize.auditing import attack
from sanitize.errors import BudgetExceeded, ColumnError, InvalidParameter
from sanitize.report import LeakageReport

LOGISTIC = LogisticRegression(solver="newton-cholesky")

# ------------------------------------------------------------------------------------------ exact adversary


@pytest.mark.slow
@given(joints_and_channels())
def test_the_bayes_adversary_equals_the_sum_over_all_symbols(pair):
    joint, channel = pair
    found = attack.bayes(joint, channel)
    released = push(exact(joint.pmf), [[Fraction(float(v)) for v in row] for row in channel.matrix])
    p_s, p_y = margins(released)
    best = sum((max(row[y] for row in released) for y in range(len(p_y))), Fraction(0))
    assert found.accuracy == pytest.approx(float(best), abs=1e-9)
    assert found.prior_accuracy == pytest.approx(float(max(p_s)), abs=1e-9)
    loss = -sum(float(p) * math.log(p / p_y[y]) for row in released for y, p in enumerate(row) if p > 0)
    assert found.log_loss == pytest.approx(loss, abs=1e-9)
    assert found.prior_log_loss == pytest.approx(-sum(float(p) * math.log(p) for p in p_s), abs=1e-9)


@pytest.mark.slow
@given(joints_and_channels())
def test_min_entropy_leakage_and_mutual_information_are_the_gains_of_the_bayes_adversary(pair):
    joint, channel = pair
    found, released = attack.bayes(joint, channel), joint.push(channel)
    leakage = sz.arimoto_information(released, math.inf)
    assert math.log(found.accuracy / found.prior_accuracy) == pytest.approx(leakage, abs=1e-9)
    assert found.prior_log_loss - found.log_loss == pytest.approx(sz.mutual_information(released), abs=1e-9)
    assert released.p_s @ found.group_information == pytest.approx(found.information, abs=1e-9)
    assert released.p_s @ found.group_accuracy == pytest.approx(found.accuracy, abs=1e-9)
    assert released.p_s @ found.prior_group_accuracy == pytest.approx(found.prior_accuracy, abs=1e-9)
    assert found.advantage >= 0
    np.testing.assert_allclose(found.posterior.sum(axis=0), 1)


@pytest.mark.slow
@given(joints_and_channels())
def test_a_channel_never_helps_the_bayes_adversary(pair):
    joint, channel = pair
    before, after = attack.bayes(joint), attack.bayes(joint, channel)
    assert after.accuracy <= before.accuracy + 1e-9
    assert after.log_loss >= before.log_loss - 1e-9


def test_equally_likely_guesses_share_the_win():
    found = attack.bayes(sz.JointDistribution.from_matrix([[0.25, 0.25], [0.25, 0.25]]))
    assert found.group_accuracy.tolist() == [0.5, 0.5] == found.prior_group_accuracy.tolist()


# ---------------------------------------------------------------------------------------- trained adversary


class Oracle(ClassifierMixin, BaseEstimator):
    """Knows P(s|x) and learns nothing: its gain is known to the last digit."""

    def __init__(self, distribution=None):
        self.distribution = distribution

    def fit(self, X, y):
        self.classes_ = np.arange(len(self.distribution))
        return self

    def predict_proba(self, X):
        return self.distribution[:, X.argmax(axis=1)].T


def alarms_allowed(n: int, rate: float) -> int:
    """Most alarms among n runs of a procedure of this rate; chance of more is below 1e-4."""
    return int(binom.ppf(1 - 1e-4, n, rate))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "rows", "n_runs"),
    [
        (None, "shuffle", 120),
        (None, "keep", 60),
        (LOGISTIC, "shuffle", 60),
        (GaussianNB(), "shuffle", 60),
    ],
    ids=["default", "with_position", "logistic", "bayes"],
)
def test_adversaries_do_not_cry_wolf(estimator, rows, n_runs):
    """Nothing to learn: the 95 % interval lies above 0 in at most 2.5 % of runs, and always includes it otherwise."""
    above = 0
    for seed in range(n_runs):
        rng = np.random.default_rng(1000 + seed)
        released = pd.DataFrame({"a": rng.integers(0, 4, 300).astype(str), "b": rng.normal(size=300).round(2)})
        secret = rng.choice(3, 300, p=[0.6, 0.3, 0.1])
        found = attack.infer(released, secret, estimator=estimator, rows=rows, random_state=seed)
        above += found.learns
        assert found.interval[0] <= found.information <= found.interval[1]
        assert found.learns == (found.interval[0] > 0)
    assert above <= alarms_allowed(n_runs, 0.025)


@pytest.mark.slow
def test_the_interval_covers_a_known_gain_at_its_level():
    """An adversary who knows P(s|x) gains I(S;X): 95 % intervals miss it in 5 % of 200 fresh tables."""
    truth = sz.mutual_information(JOINT)
    posterior = JOINT.posterior
    missed = 0
    for seed in range(200):
        df = table(seed, 400)
        if df["s"].nunique() < N_S or df["x"].nunique() < N_X:
            continue
        found = attack.infer(df[["x"]], df["s"], estimator=Oracle(posterior), random_state=seed)
        missed += not found.interval[0] <= truth <= found.interval[1]
    assert missed <= alarms_allowed(200, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, LOGISTIC, DecisionTreeClassifier(random_state=0)])
@pytest.mark.parametrize("n", [60, 300])
def test_the_expected_gain_never_exceeds_the_mutual_information(estimator, n):
    """E[gain] <= I(S;X) + (|S|-1) / (2 n_train): mean of 40 tables, five standard errors of room."""
    truth = sz.mutual_information(JOINT)
    found = [attack.infer((df := table(seed, n))[["x"]], df["s"], estimator=estimator) for seed in range(40)]
    gains = np.array([result.gain for result in found])
    assert gains.mean() <= truth + found[0].bias + 5 * gains.std() / math.sqrt(40)


def test_adversaries_learn_what_they_can_express():
    """S = xor of two columns, flipped with 0.1: a linear adversary is blind, a table finds log 2 - h(0.1)."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (4000, 2))
    secret = bits[:, 0] ^ bits[:, 1] ^ (rng.random(4000) < 0.1)
    released = pd.DataFrame(bits.astype(str), columns=["a", "b"])
    truth = math.log(2) + 0.1 * math.log(0.1) + 0.9 * math.log(0.9)
    strong, linear = (
        attack.infer(released, secret),
        attack.infer(released, secret, estimator=LOGISTIC),
    )
    assert strong.interval[0] <= truth <= strong.interval[1]
    assert not linear.learns
    assert strong.accuracy == pytest.approx(0.9, abs=0.02)
    assert strong.accuracy_interval[0] > 0.3


def test_the_bias_of_the_estimate_shrinks_with_the_rows():
    """A full table of |S| x |X| frequencies misses I(S;X) by about (|S|-1)(|X|-1) / (2 n), never by much more."""
    truth = sz.mutual_information(JOINT)
    for n in (1000, 8000):
        df = table(1, n)
        found = attack.infer(df[["x"]], df["s"])
        assert abs(found.gain - truth) < 4 * found.standard_error + (N_S - 1) * (N_X - 1) / n


@pytest.mark.parametrize("frame", ["pandas", "polars", "pyarrow", "array"])
def test_every_kind_of_frame_gives_the_same_figures(frame):
    df = table(0, 500).assign(other=np.arange(500) % 3)
    made = {
        "pandas": lambda: df[["x", "other"]],
        "polars": lambda: pl.from_pandas(df[["x", "other"]]),
        "pyarrow": lambda: pa.Table.from_pandas(df[["x", "other"]]),
        "array": lambda: df[["x", "other"]].to_numpy(),
    }[frame]()
    reference = attack.infer(df[["x", "other"]], df["s"])
    found = attack.infer(made, df["s"].to_numpy())
    assert (found.gain, found.interval, found.accuracy) == (reference.gain, reference.interval, reference.accuracy)


def test_missing_values_numbers_and_several_sensitive_columns_are_fine():
    rng = np.random.default_rng(0)
    released = pd.DataFrame(
        {
            "city": rng.choice(["A", "B", None], 400),
            "age": np.where(rng.random(400) < 0.1, np.nan, rng.normal(40, 10, 400)),
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 90, 400), unit="D"),
        }
    )
    secret = pd.DataFrame({"ill": released["city"].isna(), "rich": released["age"] > 45})
    found = attack.infer(released, secret)
    assert found.accuracy > 0.9
    assert len(found.groups) == 4
    assert attack.infer(released, secret, columns=["born"]).columns == ("born",)


def test_weights_are_rows_counted_more_than_once():
    """Weights that pick one distribution out of two: the adversary sees only the distribution that has weight."""
    first, second = table(0, 800), table(1, 800)
    second["s"] = (second["s"] + 1) % N_S
    both = pd.concat([first, second])
    weights = np.repeat([1.0, 0.0], 800)
    found = attack.infer(both[["x"]], both["s"], weights=weights)
    alone = attack.infer(first[["x"]], first["s"])
    assert found.n_effective == pytest.approx(800)
    assert abs(found.gain - alone.gain) < 3 * alone.standard_error
    assert found.prior_log_loss == pytest.approx(alone.prior_log_loss, abs=0.01)


def test_clusters_keep_the_rows_of_one_person_together():
    """Ten copies of each person: without clusters the adversary looks up the copies, with them she learns nothing."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 10)
    released = pd.DataFrame({"face": rng.permutation(60)[person].astype(str)})
    secret = rng.integers(0, 2, 60)[person]
    assert attack.infer(released, secret, estimator=DecisionTreeClassifier()).learns
    assert not attack.infer(released, secret, clusters=person, estimator=DecisionTreeClassifier()).learns


def test_per_group_figures_average_to_the_whole():
    df = table(3, 900)
    found = attack.infer(df[["x"]], df["s"])
    shares = np.array([group.share for group in found.groups])
    assert shares.sum() == pytest.approx(1)
    assert shares @ [group.information for group in found.groups] == pytest.approx(found.gain)
    assert shares @ [group.accuracy for group in found.groups] == pytest.approx(found.accuracy)
    assert shares @ [group.prior_accuracy for group in found.groups] == pytest.approx(found.prior_accuracy)


def test_rare_symbols_and_single_rows_do_not_break_an_adversary():
    df = table(0, 60).assign(s=lambda d: d["s"].where(d.index != 7, 99))
    for estimator in (None, LOGISTIC, DecisionTreeClassifier()):
        found = attack.infer(df[["x"]], df["s"], estimator=estimator)
        assert math.isfinite(found.gain)
        assert any(math.isinf(group.interval[1]) for group in found.groups)
        json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"sensitive": [0] * 20}, "the same values in all rows"),
        ({"sensitive": [0, 1]}, "2 rows"),
        ({"estimator": LinearRegression()}, "predict_proba"),
        ({"cv": 1}, ">= 2"),
        ({"cv": 11}, "cv=11 needs at least 22 rows"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"rows": "sorted"}, "'shuffle' or 'keep'"),
        ({"weights": [-1.0] * 20}, "weights"),
        ({"clusters": [1]}, "must have one label per row"),
        ({"columns": ["y"]}, "no column 'y'"),
    ],
)
def test_bad_parameters_are_refused(change, match):
    arguments = {"released": pd.DataFrame({"x": ["a", "b"] * 10}), "sensitive": ["u", "v"] * 10} | change
    with pytest.raises((InvalidParameter, ColumnError), match=match):
        attack.infer(**arguments)


# ------------------------------------------------------------------------------------------------- linkage


def brute_force(p_x, matrix, known, released):
    """Posterior of each row being the target's: sum over everything that nobody knows."""
    n, distribution = len(released), []
    for row in range(n):
        total = 0.0
        for xs in itertools.product(range(len(p_x)), repeat=n):
            if xs[row] != known:
                continue
            chance = math.prod(p_x[x] for i, x in enumerate(xs) if i != row)
            total += chance * math.prod(matrix[x][y] for x, y in zip(xs, released, strict=True))
        distribution.append(total)
    return [value / sum(distribution) for value in distribution] if sum(distribution) else [0.0] * n


@pytest.mark.slow
@given(st.data())
def test_linkage_equals_bayes_rule_by_enumeration(data):
    original = data.draw(st.lists(st.integers(0, 2), min_size=2, max_size=4))
    n_x = len(set(original))
    cells = data.draw(st.lists(st.integers(1, 9), min_size=2 * n_x, max_size=2 * n_x))
    matrix = np.array(cells, float).reshape(n_x, 2)
    matrix /= matrix.sum(axis=1, keepdims=True)
    joint = sz.JointDistribution.from_frame(pd.DataFrame({"s": [0] * len(original), "x": original}), "s", "x")
    channel = sz.Channel.from_matrix(matrix, joint.public, sz.core.alphabet.Alphabet(("x",), [0, 1]))
    released = data.draw(st.lists(st.integers(0, 1), min_size=len(original), max_size=len(original)))
    frames = pd.DataFrame({"x": original}), pd.DataFrame({"x": released})
    found = attack.link(*frames, channel, positions=range(len(original)))
    codes = joint.public.encode({"x": original})
    beliefs = [brute_force(joint.p_x, channel.matrix, x, released) for x in codes]
    assert found.after.expected == pytest.approx(np.mean([max(belief) for belief in beliefs]), abs=1e-9)
    hits = [
        (belief[i] >= max(belief) - 1e-12) / sum(b >= max(belief) - 1e-12 for b in belief)
        for i, belief in enumerate(beliefs)
    ]
    assert found.after.observed == pytest.approx(np.mean(hits), abs=1e-9)
    sizes = pd.Series(original).value_counts()
    assert found.before.expected == pytest.approx(len(sizes) / len(original))
    assert found.before.unique == pytest.approx((sizes == 1).sum() / len(original))
    assert found.before.observed == pytest.approx(found.before.expected)


@pytest.mark.slow
def test_the_expected_success_of_linkage_is_what_is_seen_on_average():
    """Mean over 300 tables of thirty rows, observed against expected: five standard errors."""
    rng = np.random.default_rng(0)
    channel = keep_or_draw(3, 0.5)
    differences = []
    for _ in range(300):
        x = np.concatenate([[0, 1, 2], rng.integers(0, 3, 27)])
        frame = pd.DataFrame({"x": x})
        alphabet = sz.core.alphabet.Alphabet(("x",), [0, 1, 2])
        named = channel.renamed(alphabet, alphabet)
        found = attack.link(frame, pd.DataFrame({"x": named.sample(x, rng.bytes(32))}), named, positions=range(30))
        differences.append(found.after.observed - found.after.expected)
    assert abs(np.mean(differences)) < 5 * np.std(differences) / math.sqrt(300)


def test_linkage_with_another_table_of_fewer_columns():
    df = sz.datasets.load_titanic()
    response = sz.transformers.RandomizedResponse(2.0, public=["class", "sex", "age"], random_state=0).fit(df)
    released = response.transform(df)
    register = pd.DataFrame({"sex": ["Female", "Male", "Robot"], "name": ["A", "B", "C"]})
    found = attack.link(df, released, response.channel_, known=register)
    assert found.columns == ("sex",)
    assert (found.n_targets, found.n_unknown) == (3, 1)
    assert found.after.observed is None
    women = (df["sex"] == "Female").sum()
    assert found.before.expected == pytest.approx((1 / women + 1 / (len(df) - women)) / 3)
    assert found.chance / 3 < found.after.expected < found.before.expected


def test_merging_everything_leaves_linkage_a_guess_and_the_identity_leaves_it_as_it_was():
    df = table(0, 300)
    alphabet = sz.JointDistribution.from_frame(df, "s", "x").public
    same = attack.link(df[["x"]], df[["x"]], sz.Channel.identity(N_X, alphabet), positions=range(300))
    assert same.after == same.before
    one = sz.Channel.merge([0] * N_X, alphabet, sz.core.alphabet.Alphabet(("x",), [0]))
    found = attack.link(df[["x"]], pd.DataFrame({"x": [0] * 300}), one, positions=range(300))
    assert found.after.expected == pytest.approx(1 / 300) == pytest.approx(found.after.observed)
    assert found.after.unique == 0


def test_linkage_refuses_tables_that_do_not_fit():
    df = table(0, 100)
    alphabet = sz.JointDistribution.from_frame(df, "s", "x").public
    channel = keep_or_draw(len(alphabet), 0.5).renamed(alphabet, alphabet)
    link = partial(attack.link, df[["x"]], df[["x"]], channel)
    with pytest.raises(ColumnError, match="does not know"):
        attack.link(df[["x"]] + 100, df[["x"]], channel)
    with pytest.raises(ColumnError, match="on must name"):
        link(known=pd.DataFrame({"z": [1]}))
    with pytest.raises(InvalidParameter, match="one whole number"):
        link(positions=[1, 2])
    with pytest.raises(InvalidParameter, match="between 0 and 99"):
        link(positions=np.arange(100) + 1)
    with pytest.raises(ColumnError, match="no rows"):
        attack.link(df[["x"]], df[["x"]].iloc[:0], channel)


# ------------------------------------------------------------------------------------- results and reports


def results():
    df = table(0, 300).assign(s=lambda d: d["s"].map({0: "sSecretA", 1: "sSecretB", 2: "sSecretC"}))
    joint = sz.JointDistribution.from_frame(df, "s", "x")
    channel = keep_or_draw(N_X, 0.4).renamed(joint.public, joint.public)
    released = pd.DataFrame({"x": channel.sample(joint.public.encode(df), rng=0)})
    report = LeakageReport.measure(joint, channel)
    return report, [
        attack.bayes(joint, channel),
        attack.infer(released, df["s"]),
        attack.check(report, released, df["s"]),
        attack.link(df[["x"]], released, channel, positions=range(300)),
        sz.theory.anonymity.anonymity_profile(df, "x", "s"),
    ]


def test_results_are_frozen_and_their_views_name_no_sensitive_symbol():
    report, found = results()
    for result in found:
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.accuracy = 1.0
        internal = json.dumps(result.to_dict(), allow_nan=False)
        for text in (internal, result.to_text(), str(result), *result.summary):
            assert "sSecret" not in text
    full = report.with_findings(*found)
    for audience in ("internal", "public"):
        assert "sSecret" not in full.to_text(audience=audience)  # one screen: sections may not fit
        for view in (full.to_json(audience=audience), full.to_html(audience=audience)):
            assert "sSecret" not in view
            assert (view.count("best possible adversary") >= 1) is (audience == "internal")
        assert len(full.to_dict(audience=audience)["sections"]) == (len(found) + 3 if audience == "internal" else 0)
    assert [section["name"] for section in report.to_dict()["sections"]] == ["guesses", "person", "power"]
    assert max(map(len, full.to_text().splitlines())) <= 80


def test_a_check_that_fails_refuses_the_report():
    df = table(0)
    report = report_of(df, keep_or_draw(N_X, 0.4))
    bad = attack.check(report, df[["x"]], df["s"])
    full = report.with_findings(bad)
    assert report.ok
    assert not full.ok
    assert full.to_text().startswith("REFUSED: an attack on the released rows refutes it")
    with pytest.raises(BudgetExceeded):
        full.require()
    good = attack.check(report, pd.DataFrame({"x": keep_or_draw(N_X, 0.4).sample(df["x"], rng=3)}), df["s"])
    assert report.with_findings(good).ok


@given(joints())
def test_the_exact_adversary_speaks_of_every_distribution(joint):
    found = attack.bayes(joint)
    assert "%" in found.to_text()
    assert found.to_dict()["accuracy"] == found.accuracy
