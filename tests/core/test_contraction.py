"""What a channel leaves of differences between distributions of X: against all pairs, all functions, and tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import sanitize as sz
from sanitize.core import measures
from sanitize.core.measures import dobrushin_coefficient, effective_share, maximal_correlation
from sanitize.errors import InvalidParameter


def chi2(p, q):
    """χ²(p || q) where q is positive."""
    some = q > 0
    return float(((p - q)[some] ** 2 / q[some]).sum())


@settings(max_examples=settings.default.max_examples // 2)
@given(strategies.joints_and_channels(), st.integers(0, 10**6))
def test_no_two_distributions_are_further_apart_after_the_channel(case, seed):
    joint, channel = case
    rows, rng = channel.matrix, np.random.default_rng(seed)
    found = dobrushin_coefficient(channel)
    pairs = [np.abs(one - two).sum() / 2 for one in rows for two in rows]
    assert found == pytest.approx(max(pairs), abs=1e-12)
    best, p = maximal_correlation(joint, channel) ** 2, joint.p_x
    assert best <= found + 1e-9
    assert effective_share(joint, channel) <= best + 1e-9 or len(p) == 1
    for other in rng.dirichlet(np.ones(len(p)), 20):
        apart = np.abs(other - p).sum() / 2
        assert np.abs((other - p) @ rows).sum() / 2 <= found * apart + 1e-12
        assert chi2(other @ rows, p @ rows) <= best * chi2(other, p) + 1e-9


@settings(max_examples=settings.default.max_examples // 2)
@given(strategies.joints_and_channels())
def test_the_share_is_the_mean_over_an_orthonormal_basis_of_functions(case):
    """Of functions of mean 0 and variance 1 that are uncorrelated, E[E[h(X)|Y]²] on average."""
    joint, channel = case
    p, rows = joint.p_x, channel.matrix
    if len(p) == 1:
        assert effective_share(joint, channel) == 1
        return
    basis = np.linalg.qr(np.column_stack([np.sqrt(p), np.eye(len(p))[:, 1:]]))[0][:, 1:]
    functions, q = basis / np.sqrt(p)[:, None], p @ rows
    means = (functions * p[:, None]).T @ rows[:, q > 0] / q[q > 0]
    kept = (means**2) @ q[q > 0]
    assert effective_share(joint, channel) == pytest.approx(kept.mean(), abs=1e-9)


@pytest.mark.parametrize("eps", [0.5, 1.0, 3.0])
def test_of_randomized_response_it_has_a_closed_form(eps):
    joint = sz.JointDistribution.from_matrix(np.full((2, 5), 0.1))
    channel = sz.randomized_response(5, eps)
    slope = math.expm1(eps) / (math.exp(eps) + 4)
    assert dobrushin_coefficient(channel) == pytest.approx(slope)
    assert maximal_correlation(joint, channel) == pytest.approx(slope)
    assert effective_share(joint, channel) == pytest.approx(slope**2)


def power(scores, null, other, n, rng, runs=20_000, level=0.05):
    """How often the mean score of n rows is significant under another distribution, each run by multinomial counts."""
    deviation = math.sqrt(null @ scores**2 - (null @ scores) ** 2)
    counts = rng.multinomial(n, other, runs)
    z = (counts @ scores / n - null @ scores) * math.sqrt(n) / deviation
    return float((z > norm.ppf(1 - level)).mean())


@pytest.mark.parametrize("design", [sz.optimal_random_response, sz.subset_merging, sz.watchdog])
def test_a_test_on_the_release_has_the_power_of_so_many_raw_rows(design):
    """The best test of each of a basis of small differences: rows of equal power, on average, within 5 % of those told.

    20,000 runs give each power to 0.0035, and the mean of eight numbers of rows to 1 %.
    """
    rng, n, size = np.random.default_rng(4), 30_000, 0.012
    joint = sz.datasets.make_joint(9, 3, random_state=2)
    channel = design(joint, sz.LiftBudget.symmetric(0.7))
    p, rows = joint.p_x, channel.matrix
    q, found = p @ rows, []
    columns = np.column_stack([np.sqrt(p), rng.normal(size=(9, 8))])
    for direction in (np.linalg.qr(columns)[0][:, 1:] / np.sqrt(p)[:, None]).T:
        other = p * (1 + size * direction)
        seen = (p * direction) @ rows / q
        if np.abs(seen).max() < 1e-9:  # what is merged cannot be tested
            found.append(0.0)
            continue
        power_of = power(seen, q, other @ rows, n, rng)
        # Rows of X whose mean score is so many standard deviations off.
        found.append(((norm.ppf(power_of) - norm.ppf(0.05)) / size) ** 2)
        raw = power(direction, p, other, max(1, round(found[-1])), rng)
        assert raw == pytest.approx(power_of, abs=0.03)
    assert np.mean(found) == pytest.approx(effective_share(joint, channel) * n, rel=0.05)


def test_the_report_and_analyses_say_the_same_number():
    df = sz.datasets.load_titanic()
    fitted = sz.RandomizedResponse(2.0, sensitive="survived", public=["class", "sex"], random_state=0).fit(df)
    joint = sz.JointDistribution.from_frame(df, "survived", ["class", "sex"])
    expected = effective_share(joint, fitted.channel_) * len(df)
    (section,) = [part for part in fitted.report_.sections if part.name == "power"]
    assert f"about {expected:,.0f} of 2,201 raw rows" in section.words
    assert sz.auditing.analyze.effective_rows(fitted.transform(df), fitted.channel_) == pytest.approx(
        expected, rel=0.05
    )
    assert "raw rows" not in str(fitted.report_.to_dict(audience="public"))
    merged = sz.SubsetMerging(
        sz.LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"], random_state=0
    ).fit(df)
    groups = merged.channel_
    told = sz.auditing.analyze.effective_rows(merged.transform(df), groups)
    assert told == pytest.approx(effective_share(joint, groups) * len(df), rel=0.05)


def test_many_symbols_are_refused_in_a_line(monkeypatch):
    joint, channel = sz.datasets.make_joint(6, 2, random_state=0), sz.randomized_response(6, 1.0)
    monkeypatch.setattr(measures, "_MOST_SIDE", 5)
    with pytest.raises(InvalidParameter, match="6 symbols are too many to compute correlations"):
        maximal_correlation(joint, channel)
    monkeypatch.setattr(measures, "CHANNEL_CELLS", 5)
    for call in (lambda: effective_share(joint, channel), lambda: dobrushin_coefficient(channel)):
        with pytest.raises(InvalidParameter, match="6 symbols are too many"):
            call()
    report = sz.LeakageReport.measure(joint, channel, 3.0)
    assert all(part.name != "power" for part in report.sections)
