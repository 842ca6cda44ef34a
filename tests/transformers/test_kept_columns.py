"""Columns that stay as they are beside generated ones: what both reveal together, and the same rows on every way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracles import channel_matrix

import sanitize as sz
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.transformers import LatentClassRelease

KEY = bytes(range(32))
BUDGET = sz.LiftBudget(at_most=1.3, at_least=0.7)
KEPT = ["late", "until", "who"]


def people(n: int = 3000) -> pd.DataFrame:
    """An outcome, a date and a key that say little of the secret by themselves, and columns that say more."""
    rng = np.random.default_rng(4)
    ill = rng.random(n) < 0.4
    late = rng.random(n) < 0.3 + 0.08 * ill
    return pd.DataFrame(
        {
            "ill": ill,
            "job": np.where(rng.random(n) < 0.5, np.where(late, "a", "b"), rng.choice(["a", "b", "c"], n)),
            "pills": rng.poisson(np.where(ill, 5, 2)),
            "late": np.where(late, "yes", "no"),
            "until": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
            "who": rng.permutation(n) + 5000,
        }
    )


DF = people()


def sanitizer(**settings) -> LatentClassRelease:
    bins = {"until": "year", "who": [0, 10_000]}
    settings = {"keep": KEPT, "bins": bins, "n_classes": 6, "person": "row", **settings}
    return LatentClassRelease(BUDGET, sensitive="ill", random_state=sz.NoiseKey(KEY), **settings)


@pytest.fixture(scope="module")
def fitted() -> LatentClassRelease:
    return sanitizer().fit(DF)


def test_kept_columns_stay_and_the_others_are_drawn_given_them(fitted):
    released = fitted.transform(DF)
    assert list(released.columns) == ["job", "pills", *KEPT]
    pd.testing.assert_frame_equal(released[KEPT], DF[KEPT])
    assert (released["pills"] != DF["pills"]).mean() > 0.2
    # Of 3,000 rows a share has a standard deviation of .01: six of them fail once in 1e9.
    shares = [frame[frame["late"] == "yes"]["job"].eq("a").mean() for frame in (DF, released)]
    assert shares[0] > 0.6
    assert abs(shares[0] - shares[1]) < 0.08


def lifts_by_counting(joint, matrix) -> list[Fraction]:
    """P(s|k,y) / P(s) of all secrets and released symbols, from whole numbers of rows and exact chances."""
    n_s, n_x = joint.shape
    total = Fraction(int(joint.sum()))
    shares = [Fraction(int(row.sum())) / total for row in joint]
    lifts = []
    for y in range(len(matrix[0])):
        rows = [sum(int(joint[s, x]) * matrix[x][y] for x in range(n_x)) for s in range(n_s)]
        if sum(rows):
            lifts += [rows[s] / sum(rows) / shares[s] for s in range(n_s)]
    return lifts


def test_what_kept_values_and_the_class_reveal_together_is_within_the_limit(fitted):
    release, channel = fitted._release, fitted.channel_
    codes = channel.inputs.encode(release.layout.columns(DF))
    counts = np.stack([np.bincount(codes[DF["ill"] == ill], minlength=channel.n_inputs) for ill in (False, True)])
    lifts = lifts_by_counting(counts, channel_matrix(channel))
    slack = Fraction(1, 10**9)
    assert Fraction(7, 10) - slack <= min(lifts)
    assert max(lifts) <= Fraction(13, 10) + slack
    assert max(lifts) > Fraction(115, 100)
    # No released symbol has kept values of another row than its own.
    before, after = (symbols.group_by(symbols.columns[:-1]) for symbols in (channel.inputs, channel.outputs))
    possible = channel.matrix > 0
    assert (before[:, None] == after)[possible].all()


@pytest.mark.parametrize("budget", [sz.LiftBudget(at_most=1.02, at_least=0.9), sz.LDPBudget(0.01)])
def test_a_kept_column_that_is_over_the_limit_by_itself_is_refused_by_name(budget):
    with pytest.raises(ColumnError, match="keeping 'late' unchanged would reveal more") as caught:
        sanitizer().set_params(budget=budget).fit(DF)
    assert caught.value.column == "late"
    assert "\n" not in str(caught.value)


def test_columns_over_the_limit_together_are_refused_by_their_names():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, (2, 2000))
    both = pd.DataFrame({"ill": first == second, "first": first, "second": second, "age": rng.integers(20, 60, 2000)})
    with pytest.raises(ColumnError, match="keeping 'first', 'second' unchanged would"):
        LatentClassRelease(BUDGET, sensitive="ill", keep=["first", "second"], person="row").fit(both)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"confidence": 0.9}, "leave out confidence and record_dp"),
        ({"rule": "watchdog"}, "needs rule=.optimal-random-response"),
        ({"bins": {"until": "year"}}, "a different value in most rows"),
        ({"public": ["late"], "keep": ["late"], "bins": None}, "twice"),
    ],
)
def test_what_kept_columns_cannot_have_beside_them(settings, words):
    with pytest.raises((InvalidParameter, ColumnError), match=words):
        sanitizer(**settings).fit(DF)


def test_a_file_has_the_rows_of_the_frame_in_order(tmp_path, fitted):
    DF.to_parquet(tmp_path / "raw.parquet", row_group_size=700)
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer(), rows="keep")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), fitted.transform(DF))
    with pytest.raises(InvalidParameter, match=r"'until' is kept unchanged but has bins.*rows='keep'"):
        sz.release_file(tmp_path / "raw.parquet", tmp_path / "shuffled.parquet", sanitizer())
    assert not (tmp_path / "shuffled.parquet").exists()


def test_a_policy_keeps_the_columns_that_it_lists(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet")
    policy = sz.Policy.from_toml("""
        version = 1
        rows = "keep"
        [columns]
        sensitive = ["ill"]
        public = ["job", "pills"]
        keep = ["late", "until", "who"]
        person = "row"
        [budget]
        at_most = 1.3
        at_least = 0.7
        [channel]
        mechanism = "latent-classes"
        n_classes = 6
        bins = { until = "year", who = [0, 10000] }
        """)
    report = sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", policy)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet")[KEPT], DF[KEPT])
    assert report.facts.kept == tuple(KEPT)


def test_shuffled_rows_keep_values_that_count_by_themselves(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet")
    kept = sanitizer(keep="late", bins=None, public=["job", "pills"])
    report = sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", kept)
    released = pd.read_parquet(tmp_path / "out.parquet")
    assert released["late"].value_counts().to_dict() == DF["late"].value_counts().to_dict()
    assert (released["late"].to_numpy() != DF["late"].to_numpy()).mean() > 0.3
    assert report.facts.kept == ("late",)


def test_the_report_says_whose_the_rows_are_and_what_of_a_bin_is_not_counted(fitted):
    text = " ".join(fitted.report_.to_text().split())
    assert "a row belongs to that person again, and only the limit protects her" in text
    assert "the limit counts the bin of column 'until'" in text
    assert "kept as they are: late, until, who" in text


def test_a_saved_release_keeps_them_in_new_rows(tmp_path, fitted):
    saved = sz.SavedRelease.from_json(sz.SavedRelease.of(fitted).to_json())
    few = DF.iloc[::2]
    few.to_parquet(tmp_path / "new.parquet")
    sz.release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", saved, rows="keep")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet")[KEPT], few[KEPT].reset_index(drop=True))


def test_a_ledger_counts_kept_columns_and_the_class_together(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet")
    ledger = sz.Ledger(tmp_path / "book", sz.LiftBudget(at_most=1.5, at_least=0.5))
    kept = sanitizer(keep="late", bins=None, public=["job"])
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", kept)
    report = ledger.record(tmp_path / "raw.parquet", kept)
    assert report.summary["max_log_lift"] == pytest.approx(kept.report_.summary["max_log_lift"], abs=1e-9)
