"""The table adversary that leaves one row out, by enumeration of all tables; codes taken for quantities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

import sanitize as sz
from sanitize.auditing.attack import infer, leave_one_out
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.features import table_features
from sanitize.tables.frame import Table


def guess(rows, y, n_s):
    """What the adversary believes after some rows (s, y): frequencies of S, and of S beside y shrunk to them."""
    prior = np.array([1 + sum(a == s for a, _ in rows) for s in range(n_s)]) / (len(rows) + n_s)
    beside = [a for a, b in rows if b == y]
    distribution = (np.array([beside.count(s) for s in range(n_s)]) + prior * n_s / 2) / (len(beside) + n_s / 2)
    return prior, distribution


def gain_of_rows(rows, n_s):
    """Every row from all the others, row by row."""
    gains = []
    for i, (s, y) in enumerate(rows):
        prior, distribution = guess(rows[:i] + rows[i + 1 :], y, n_s)
        gains.append(math.log(distribution[s] / prior[s]))
    return gains


@pytest.mark.parametrize("seed", range(5))
def test_every_row_is_guessed_from_all_the_others(seed):
    rng = np.random.default_rng(seed)
    n_s, n_y, n = int(rng.integers(2, 4)), int(rng.integers(1, 5)), int(rng.integers(3, 40))
    rows = [(int(a), int(b)) for a, b in zip(rng.integers(0, n_s, n), rng.integers(0, n_y, n), strict=True)]
    rows[:2] = [(0, 0), (1, 0)]
    symbols = sorted({s for s, _ in rows})
    rows = [(symbols.index(s), y) for s, y in rows]
    found = leave_one_out(pd.DataFrame({"y": [str(y) for _, y in rows]}), [s for s, _ in rows])
    gains = gain_of_rows(rows, len(symbols))
    assert found.gain == pytest.approx(np.mean(gains), abs=1e-12)
    assert found.standard_error == pytest.approx(np.std(gains, ddof=1) / math.sqrt(n), abs=1e-12)
    counts = pd.crosstab([s for s, _ in rows], [y for _, y in rows]).to_numpy()
    assert found.plug_in == pytest.approx(
        sz.mutual_information(sz.JointDistribution.from_matrix(counts / n)), abs=1e-12
    )
    assert found.middle == (found.gain + found.plug_in) / 2
    assert (found.n_rows, found.bias) == (n, math.log((n - 1 + len(symbols)) / n))


def test_the_expected_gain_is_that_of_a_smaller_table_on_a_fresh_row():
    """All tables of 5 rows; the same expectation from all tables of 4 rows and one fresh row, little above I.

    A table of one symbol of S is one of two all the same here, so the rows are counted by the loop of the test above.
    """
    distribution = np.array([[0.35, 0.15], [0.1, 0.4]])
    cells, n = list(np.ndindex(2, 2)), 5

    def chance(rows):
        return math.prod(distribution[cell] for cell in rows)

    seen = fresh = 0.0
    for rows in itertools.product(cells, repeat=n):
        if len({s for s, _ in rows}) == 1:
            gains = gain_of_rows(list(rows), 2)
            seen += chance(rows) * float(np.mean(gains))
            continue
        seen += chance(rows) * _gain(tuple(sorted(rows)))
    for rows in itertools.product(cells, repeat=n - 1):
        for s, y in cells:
            prior, guessed = guess(list(rows), y, 2)
            fresh += chance(rows) * distribution[s, y] * math.log(guessed[s] / prior[s])
    assert seen == pytest.approx(fresh, abs=1e-12)
    assert seen <= sz.mutual_information(sz.JointDistribution.from_matrix(distribution)) + math.log((n - 1 + 2) / n)


_KNOWN: dict[tuple, float] = {}


def _gain(rows):
    if rows not in _KNOWN:
        _KNOWN[rows] = leave_one_out(np.array([[y] for _, y in rows]), [s for s, _ in rows]).gain
    return _KNOWN[rows]


def test_the_mean_of_gain_and_plug_in_is_nearly_unbiased():
    """5-ary randomised response, I = 0.1092: of 60 tables of 300 rows the two are off by 0.02 either way."""
    rng, truth = np.random.default_rng(3), 0.10921514607134
    found = []
    for _ in range(60):
        s = rng.integers(0, 5, 300)
        y = np.where(rng.random(300) < math.e / (math.e + 4), s, (s + rng.integers(1, 5, 300)) % 5)
        found.append(leave_one_out(y[:, None], s))
    gain, plug_in, middle = (np.mean([getattr(one, name) for one in found]) for name in ("gain", "plug_in", "middle"))
    assert gain < truth - 0.015
    assert plug_in > truth + 0.015
    assert abs(middle - truth) < 0.009  # 3.5 standard errors


def test_it_does_not_cry_wolf():
    """S and Y independent: 200 tables, one-sided 2.5 % intervals; 13 alarms or more have a chance of 0.2 %."""
    rng = np.random.default_rng(5)
    alarms = sum(leave_one_out(rng.integers(0, 4, (200, 1)), rng.integers(0, 3, 200)).learns for _ in range(200))
    assert alarms <= 12


def test_what_it_refuses():
    with pytest.raises(InvalidParameter, match="the same values in all rows"):
        leave_one_out(np.zeros((5, 1)), [1] * 5)
    with pytest.raises(InvalidParameter, match="2 rows are too few"):
        leave_one_out(np.zeros((2, 1)), [0, 1])
    with pytest.raises(ColumnError):
        leave_one_out(pd.DataFrame({"a": [1, 2, 3]}), [0, 1, 0], columns=["b"])
    with pytest.raises(InvalidParameter, match="confidence"):
        leave_one_out(np.zeros((3, 1)), [0, 1, 0], confidence=1.5)
    with pytest.raises(InvalidParameter, match="numeric must be"):
        infer(np.zeros((30, 1)), [0, 1] * 15, numeric="codes")


def test_codes_taken_for_quantities_tell_a_linear_adversary_less():
    """5-ary randomised response: of I = 0.1092 what P(s) ∝ exp(a_s + b_s y) can express is 0.0335, its own optimum."""
    keep = math.e / (math.e + 4)
    distribution = np.full((5, 5), (1 - keep) / 20)
    np.fill_diagonal(distribution, keep / 5)

    def loss(coefficients):
        scores = coefficients[:5, None] + coefficients[5:, None] * (np.arange(5) - 2)
        return float((distribution * (logsumexp(scores, axis=0) - scores)).sum())

    truth = math.log(5) - minimize(loss, np.zeros(10)).fun
    counts = np.rint(distribution * 8000).astype(int)
    s, y = (part.ravel().repeat(counts.ravel()) for part in np.indices((5, 5)))
    table = pd.DataFrame({"y": y})
    found = {
        kind: infer(table, s, estimator=LogisticRegression(), numeric=kind).gain for kind in ("symbols", "numbers")
    }
    assert truth == pytest.approx(0.0335, abs=5e-5)
    assert found["numbers"] == pytest.approx(truth, abs=0.002)
    assert found["symbols"] == pytest.approx(0.1092, abs=0.004)


def test_a_number_is_one_feature_however_many_values_it_has():
    table = Table.from_native(
        pd.DataFrame({"many": np.arange(100) ** 2, "few": np.arange(100) % 3, "word": ["a", "b"] * 50})
    )
    seen = table_features(table, None, with_position=False, numeric="numbers")
    assert seen.matrix.shape == (100, 4)
    assert np.abs(seen.matrix[:, :2].mean(axis=0)).max() < 1e-6
    assert seen.matrix[:, :2].std(axis=0) == pytest.approx(1, abs=1e-6)
    assert (seen.cells == table_features(table, None, with_position=False).cells).all()


def test_numbers_survive_what_columns_hold():
    table = pd.DataFrame({"a": [1.5, None, np.inf, -2.0] * 10, "b": pd.array([7] * 40, "Int64"), "c": ["u", "v"] * 20})
    found = infer(table, [0, 1] * 20, numeric="numbers")
    assert found.columns == ("a", "b", "c")
    assert found.learns
