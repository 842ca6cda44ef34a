"""The k-anonymity family: independent loops, theorems that tie it to the lift, and pyCANON's recorded values."""

from __future__ import annotations

import collections
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import frames

import sanitize as sz
from sanitize.core.joint import ContingencyTable
from sanitize.errors import ColumnError, InvalidParameter

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no copies of the real data in {SHARED}")
# Written by studies/anonymity.py --record, from pyCANON itself.
PYCANON = json.loads(Path(__file__).with_name("pycanon.json").read_text(encoding="utf-8"))
QUASI, SENSITIVE = ["town", "age"], ["illness", "rich"]
INF = math.inf


# ---------------------------------------------------------------------------------- slow twins, row by row


def rows_of(df, columns):
    """Rows as tuples, every missing value None."""
    return [tuple(None if pd.isna(value) else value for value in row) for row in df[list(columns)].to_numpy(object)]


def groups(df, quasi, secret):
    found = collections.defaultdict(list)
    for key, (value,) in zip(rows_of(df, quasi), rows_of(df, [secret]), strict=True):
        found[key].append(value)
    return list(found.values())


def share(values, value):
    return sum(other == value for other in values) / len(values)


def slow_k(df, quasi):
    return min(collections.Counter(rows_of(df, quasi)).values())


def slow_alpha(cells, whole):
    return max(share(cell, value) for cell in cells for value in cell)


def slow_l(cells, whole):
    return min(len(set(cell)) for cell in cells)


def slow_entropy(cells, whole):
    return min(math.exp(-sum(p * math.log(p) for v in set(cell) if (p := share(cell, v)))) for cell in cells)


def slow_ratio(cells, least):
    worst = 0.0
    for cell in cells:
        falling = sorted(collections.Counter(cell).values(), reverse=True)
        rest = sum(falling[least - 1 :])
        worst = max(worst, falling[0] / rest if rest else INF)
    return worst


def slow_total_variation(cells, whole):
    return max(sum(abs(share(c, v) - share(whole, v)) for v in set(whole)) / 2 for c in cells)


def slow_ordered(cells, whole):
    """Transport of the surplus of each rank to the next one, paid by the step."""
    ranks = sorted(set(whole))
    if len(ranks) == 1:
        return 0.0
    worst = 0.0
    for cell in cells:
        carried = cost = 0.0
        for value in ranks:
            carried += share(cell, value) - share(whole, value)
            cost += abs(carried)
        worst = max(worst, cost / (len(ranks) - 1))
    return worst


def slow_delta(cells, whole, absent):
    worst = 0.0
    for cell in cells:
        for value in set(whole):
            q = share(cell, value)
            if q or absent == "infinite":
                worst = max(worst, abs(math.log(q / share(whole, value))) if q else INF)
    return worst


def slow_beta(cells, whole):
    return max((share(c, v) - share(whole, v)) / share(whole, v) for c in cells for v in set(whole))


def slow_enhanced(cells, whole):
    """Least beta found by trying all candidates against the definition."""

    def holds(beta):
        for cell in cells:
            for value in set(whole):
                p, q = share(whole, value), share(cell, value)
                if q > p and (q - p) / p > min(beta, -math.log(p)) + 1e-9:
                    return False
        return True

    gains = sorted({(share(c, v) - share(whole, v)) / share(whole, v) for c in cells for v in set(whole)})
    return next((max(gain, 0.0) for gain in gains if gain >= -1e-12 and holds(gain)), INF)


TWINS = {
    "l_diversity": slow_l,
    "entropy_l_diversity": slow_entropy,
    "beta_likeness": slow_beta,
    "enhanced_beta_likeness": slow_enhanced,
}
WORST = {"l_diversity": min, "entropy_l_diversity": min}


@pytest.mark.slow
@settings(max_examples=20)
@given(frames(max_rows=25), st.sampled_from(["unknown", "known"]))
def test_every_measure_equals_a_loop_over_rows(df, others):
    per_column = {}
    for secret in SENSITIVE:
        beside = [name for name in SENSITIVE if name != secret] if others == "known" else []
        per_column[secret] = groups(df, [*QUASI, *beside], secret), [v for (v,) in rows_of(df, [secret])]

    def worst(twin, choose=max):
        return choose(twin(cells, whole) for cells, whole in per_column.values())

    arguments = df, QUASI, SENSITIVE
    assert sz.theory.anonymity.k_anonymity(df, QUASI) == slow_k(df, QUASI)
    assert sz.theory.anonymity.alpha_k_anonymity(*arguments, others=others) == (
        pytest.approx(worst(slow_alpha)),
        slow_k(df, QUASI),
    )
    for name, twin in TWINS.items():
        found = getattr(sz.theory.anonymity, name)(*arguments, others=others)
        assert found == pytest.approx(worst(twin, WORST.get(name, max)), abs=1e-9), name
    for absent in ("infinite", "ignore"):
        found = sz.theory.anonymity.delta_disclosure(*arguments, absent=absent, others=others)
        assert found == pytest.approx(worst(lambda c, w, absent=absent: slow_delta(c, w, absent)), abs=1e-9)
    for least in (1, 2, 3):
        found = sz.theory.anonymity.recursive_l_diversity(*arguments, l=least, others=others)
        assert found == pytest.approx(worst(lambda c, _, least=least: slow_ratio(c, least)), abs=1e-9)
    assert sz.theory.anonymity.t_closeness(*arguments, others=others) == pytest.approx(
        worst(slow_total_variation), abs=1e-9
    )


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(-3, 3)), min_size=1, max_size=30))
def test_the_ordered_distance_moves_surplus_along_the_ranks(pairs):
    df = pd.DataFrame(pairs, columns=["q", "s"])
    cells, whole = groups(df, ["q"], "s"), df["s"].tolist()
    ordered, equal = (
        sz.theory.anonymity.t_closeness(df, "q", "s", distance=distance) for distance in ("ordered", "equal")
    )
    assert (
        ordered == pytest.approx(slow_ordered(cells, whole), abs=1e-9) == sz.theory.anonymity.t_closeness(df, "q", "s")
    )
    assert equal == pytest.approx(slow_total_variation(cells, whole), abs=1e-9)
    assert ordered <= equal + 1e-12


# --------------------------------------------------------------------------------- the family and the lift


@pytest.mark.slow
@given(frames())
def test_delta_disclosure_is_the_largest_absolute_log_lift(df):
    joint = sz.JointDistribution.from_frame(df, "illness", QUASI)
    assert sz.theory.anonymity.delta_disclosure(df, QUASI, "illness") == pytest.approx(
        float(np.abs(sz.log_lift(joint)).max()), abs=1e-12
    )


@pytest.mark.slow
@given(frames())
def test_beta_likeness_is_the_largest_lift_less_one(df):
    joint = sz.JointDistribution.from_frame(df, "illness", QUASI)
    assert sz.theory.anonymity.beta_likeness(df, QUASI, "illness") == pytest.approx(
        float(sz.max_lift(joint).max()) - 1, abs=1e-12
    )


@pytest.mark.slow
@given(frames())
def test_t_closeness_is_the_largest_l1_lift_halved(df):
    """Equal distances: total variation of P(s|x) from P(s), which is half of the l1-lift of the class."""
    joint = sz.JointDistribution.from_frame(df, "illness", QUASI)
    assert sz.theory.anonymity.t_closeness(df, QUASI, "illness") == pytest.approx(
        float(sz.l1_lift(joint).max()) / 2, abs=1e-12
    )


@pytest.mark.slow
@given(frames())
def test_a_lift_budget_is_delta_disclosure(df):
    """Symmetric local information privacy of eps and delta-disclosure of eps are one thing for released classes."""
    joint = sz.JointDistribution.from_frame(df, "illness", QUASI)
    delta = sz.theory.anonymity.delta_disclosure(df, QUASI, "illness")
    assert (sz.LiftBudget.symmetric(1.0).excess(joint) <= 1e-9).all() == (delta <= 1 + 1e-9)


@pytest.mark.slow
@settings(max_examples=20)
@given(frames())
def test_the_family_is_ordered_as_its_papers_say(df):
    """1 <= entropy l <= distinct l <= k; alpha >= 1/l; enhanced beta >= beta."""
    k, distinct = sz.theory.anonymity.k_anonymity(df, QUASI), sz.theory.anonymity.l_diversity(df, QUASI, SENSITIVE)
    assert 1 - 1e-12 <= sz.theory.anonymity.entropy_l_diversity(df, QUASI, SENSITIVE) <= distinct + 1e-9
    assert distinct <= k
    assert sz.theory.anonymity.alpha_k_anonymity(df, QUASI, SENSITIVE).alpha >= 1 / distinct - 1e-12
    assert sz.theory.anonymity.enhanced_beta_likeness(df, QUASI, "rich") >= sz.theory.anonymity.beta_likeness(
        df, QUASI, "rich"
    )


# ----------------------------------------------------------------------------------------- kinds of tables


@pytest.mark.slow(sampled=False)
@settings(max_examples=12)
@given(frames())
def test_counts_give_the_same_figures_as_rows(df):
    counts = ContingencyTable.empty(SENSITIVE, QUASI)
    counts.count(df)
    for others in ("unknown", "known"):
        assert sz.theory.anonymity.anonymity_profile(counts, others=others) == sz.theory.anonymity.anonymity_profile(
            df, QUASI, SENSITIVE, others=others
        )
    some = sz.theory.anonymity.anonymity_profile(df, "town", "rich")
    assert sz.theory.anonymity.anonymity_profile(counts, "town", "rich") == some


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_every_kind_of_frame_gives_the_same_figures(convert):
    df = sz.datasets.load_titanic()
    arguments = ["class", "sex"], ["survived", "age"]
    assert sz.theory.anonymity.anonymity_profile(convert(df), *arguments) == sz.theory.anonymity.anonymity_profile(
        df, *arguments
    )


def test_neither_row_labels_nor_unused_categories_matter():
    df = sz.datasets.load_titanic()
    odd = df.assign(sex=pd.Categorical(df["sex"], [*df["sex"].unique(), "never"])).set_index(np.arange(len(df)) * 7)
    assert sz.theory.anonymity.anonymity_profile(odd, "sex", "survived") == sz.theory.anonymity.anonymity_profile(
        df, "sex", "survived"
    )


def test_a_missing_quasi_identifier_is_a_value_and_a_missing_number_has_no_rank():
    df = pd.DataFrame({"q": ["a", "a", None, "b", "b"], "n": [1.0, 2.0, 3.0, np.nan, 2.0]})
    assert sz.theory.anonymity.k_anonymity(df, "q") == 1
    assert sz.theory.anonymity.t_closeness(df, "q", "n") == sz.theory.anonymity.t_closeness(
        df, "q", "n", distance="equal"
    )
    assert sz.theory.anonymity.l_diversity(df, "q", "n") == 1


def test_two_values_equally_often_are_entropy_2_diverse():
    df = pd.DataFrame({"q": ["a"] * 4, "s": ["x", "y"] * 2})
    assert sz.theory.anonymity.entropy_l_diversity(df, "q", "s") == pytest.approx(2, abs=1e-12)


def test_weighted_counts_have_shares_but_no_k():
    df = sz.datasets.load_titanic()
    counts = ContingencyTable.empty(["survived"], ["sex"])
    counts.count(df, np.full(len(df), 0.5))
    assert sz.theory.anonymity.delta_disclosure(counts) == pytest.approx(
        sz.theory.anonymity.delta_disclosure(df, "sex", "survived")
    )
    with pytest.raises(InvalidParameter, match="weighted"):
        sz.theory.anonymity.k_anonymity(counts)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda df: sz.theory.anonymity.k_anonymity(df), "name the columns"),
        (lambda df: sz.theory.anonymity.k_anonymity(df, "town"), "no column 'town'"),
        (lambda df: sz.theory.anonymity.k_anonymity(df, []), "at least one"),
        (lambda df: sz.theory.anonymity.k_anonymity(df.iloc[:0], "sex"), "no rows"),
        (lambda df: sz.theory.anonymity.l_diversity(df.iloc[:0], "sex", "age"), "no rows"),
        (lambda df: sz.theory.anonymity.l_diversity(df, "sex", "sex"), "both a quasi-identifier and sensitive"),
        (lambda df: sz.theory.anonymity.l_diversity(df, "sex", "age", others="all"), "'unknown' or 'known'"),
        (lambda df: sz.theory.anonymity.t_closeness(df, "sex", "age", distance="far"), "distance"),
        (lambda df: sz.theory.anonymity.delta_disclosure(df, "sex", "age", absent="skip"), "absent"),
        (lambda df: sz.theory.anonymity.recursive_l_diversity(df, "sex", "age", l=0), "l must be a whole number >= 1"),
    ],
)
def test_bad_questions_are_refused(call, match):
    with pytest.raises((InvalidParameter, ColumnError), match=match):
        call(sz.datasets.load_titanic())


# --------------------------------------------------------------------------------------- pyCANON's values


def test_the_record_covers_four_tables_and_every_measure():
    assert {record["case"][0] for record in PYCANON} == {"adult", "german_credit", "heart_disease", "bank_marketing"}
    assert all(len(record["pycanon"]) == 9 for record in PYCANON)
    assert {record["case"][3] for record in PYCANON} == {"unknown", "known"}


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("record", PYCANON, ids=lambda record: "-".join([record["case"][0], *record["case"][2]]))
def test_real_tables_have_pycanons_values(record):
    """To 1e-12; where the definitions differ, under pyCANON's convention as the docstrings say it."""
    table, quasi, sensitive, others = record["case"]
    df = pd.read_parquet(SHARED / f"{table}.parquet", columns=[*quasi, *sensitive]).dropna().reset_index(drop=True)
    assert len(df) == record["n_rows"]
    printed = record["pycanon"]

    def same(name, value):
        assert value == pytest.approx(printed[name], rel=1e-12, abs=1e-12), name

    same("k_anonymity", sz.theory.anonymity.k_anonymity(df, quasi))
    same("alpha", sz.theory.anonymity.alpha_k_anonymity(df, quasi, sensitive, others=others).alpha)
    same("l_diversity", sz.theory.anonymity.l_diversity(df, quasi, sensitive, others=others))
    same(
        "entropy_l_diversity", math.floor(sz.theory.anonymity.entropy_l_diversity(df, quasi, sensitive, others=others))
    )
    same("t_closeness", sz.theory.anonymity.t_closeness(df, quasi, sensitive, others=others))
    same("delta_disclosure", sz.theory.anonymity.delta_disclosure(df, quasi, sensitive, absent="ignore", others=others))
    same("beta_likeness", sz.theory.anonymity.beta_likeness(df, quasi, sensitive, others=others))
    capped = []
    for secret in sensitive:
        beside = [name for name in sensitive if name != secret] if others == "known" else []
        rarest = -math.log(df[secret].value_counts(normalize=True).min())
        capped.append(min(sz.theory.anonymity.beta_likeness(df, [*quasi, *beside], secret), rarest))
    same("enhanced_beta_likeness", max(capped))
    assert printed["recursive_c"] in (None, 1, 2)  # whatever the table: the note of recursive_l_diversity says why
