"""What a fitted pipeline hands out together: its sanitizers' product, in fractions, and columns that none takes."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import Distribution, channel_matrix, log, max_lift, min_lift
from scipy.stats import chisquare
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

import sanitize as sz
import sanitize.pandas
import sanitize.polars
from sanitize.core.budgets import LiftBudget
from sanitize.errors import ColumnError, InvalidParameter, ReleaseWarning
from sanitize.transformers import (
    BestSanitizer,
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)

DF = sz.datasets.load_titanic()
# Rows of (s, a, b): 27 of them, of which the two columns tell .3 nats each, and together .609.
CELLS = {
    (0, 0, 0): 5, (0, 0, 1): 7, (0, 1, 0): 1, (0, 1, 1): 5, (1, 0, 0): 1, (1, 0, 1): 1, (1, 1, 0): 6, (1, 1, 1): 1,
}  # fmt: skip


LOOSE = sz.LiftBudget(lower=math.inf, upper=1.5)
FIGURES = ("max_log_lift", "min_log_lift", "mutual_information", "maximal_leakage")


def rows_of(cells: dict[tuple, int], names=("s", "a", "b")) -> pd.DataFrame:
    return pd.DataFrame([row for row, times in cells.items() for _ in range(times)], columns=list(names))


def respond(public, level=0.3, sensitive="s", **settings):
    shared = {"sensitive": sensitive, "min_count": 0}
    return OptimalRandomResponse(LiftBudget.symmetric(level), public=public, **shared, **settings)


def together(df, sensitive, releases, raw=()) -> Distribution:
    """P(s, y1, ..., yk, raw columns) in fractions, row by row: each release draws by itself given its own columns."""
    distribution: dict[tuple, Fraction] = {}
    rows = [channel_matrix(own.channel_) for own in releases]
    codes = [own._release.encode(own._read(df, reset=False))[0] for own in releases]
    for i, s in enumerate(df[sensitive]):
        own = tuple(df[name].iloc[i] for name in raw)
        drawn = [[(y, p) for y, p in enumerate(rows[k][codes[k][i]]) if p] for k in range(len(releases))]
        for outcome in product(*drawn):
            chance = math.prod((p for _, p in outcome), start=Fraction(1, len(df)))
            place = s, (*(y for y, _ in outcome), *own)
            distribution[place] = distribution.get(place, Fraction(0)) + chance
    secrets, seen = ({place[part] for place in distribution} for part in (0, 1))
    return [[distribution.get((s, y), Fraction(0)) for y in seen] for s in secrets]


def assert_is(report, distribution):
    assert report.summary["max_log_lift"] == pytest.approx(max(map(log, max_lift(distribution))), abs=1e-11)
    least = min(min_lift(distribution))
    assert report.summary["min_log_lift"] == pytest.approx(log(least) if least else -math.inf, abs=1e-11)


def fitted_in(columns: ColumnTransformer) -> list:
    return [own for _, own, _ in columns.transformers_ if hasattr(own, "channel_")]


# ------------------------------------------------------------------------------------------- sanitizers together


@pytest.mark.filterwarnings("ignore:another sanitizer has released")
def test_two_within_their_limits_are_measured_together():
    df = rows_of(CELLS)
    columns = ColumnTransformer([("one", respond("a"), ["s", "a"]), ("two", respond("b"), ["s", "b"])]).fit(df)
    report = sz.audit(df, sensitive="s", pipeline=columns)
    alone = report.to_frame("parts")["max_log_lift"].max()
    assert alone <= 0.3
    assert report.summary["max_log_lift"] > alone
    assert_is(report, together(df, "s", fitted_in(columns)))
    assert (report.public, report.n_rows, report.state) == (("one: a", "two: b"), 27, "audit")
    assert report.to_frame("parts")["role"].tolist() == ["optimal random response"] * 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sanitize.errors.ReleaseWarning")  # two release the same rows on purpose
@given(st.integers(0, 2**32 - 1))
def test_it_is_the_product_of_channels_that_share_columns(seed):
    rng = np.random.default_rng(seed)
    cells = {place: int(n) for place in product(range(2), repeat=4) if (n := rng.integers(0, 4))}
    cells |= {(0, 0, 0, 0): 2, (1, 1, 1, 1): 2}
    df = rows_of(cells, ("s", "a", "b", "c"))
    columns = ColumnTransformer(
        [
            ("noise", RandomizedResponse(0.7, public=["a", "b"], min_count=0), ["s", "a", "b"]),
            (
                "merged",
                SubsetMerging(LiftBudget.symmetric(0.4), sensitive="s", public=["b", "c"], min_count=0),
                ["s", "b", "c"],
            ),
            ("best", respond("a", 0.5), ["s", "a"]),
            ("as it is", "passthrough", ["c"]),
        ]
    ).fit(df)
    report = sz.audit(df, sensitive="s", pipeline=columns)
    assert_is(report, together(df, "s", fitted_in(columns), raw=["c"]))
    assert report.facts.kept == ("c",)


def test_the_rows_that_a_pipeline_hands_out_follow_the_distribution_that_is_measured():
    """40,000 rows against the cells of the report's distribution; false alarm 1e-6, fixed seed."""
    df = pd.concat([rows_of(CELLS)] * 1500, ignore_index=True)
    columns = ColumnTransformer(
        [("one", respond("a", random_state=1), ["s", "a"]), ("two", respond("b", random_state=2), ["s", "b"])]
    )
    out = columns.fit_transform(df)
    distribution = sz.audit(df, sensitive="s", pipeline=columns)._after
    numbers = [{label: y for y, label in enumerate(own.channel_.outputs.symbols)} for own in fitted_in(columns)]
    symbols = {symbol: y for y, symbol in enumerate(distribution.public.symbols)}
    found = np.zeros_like(distribution.pmf)
    for s, one, two in zip(df["s"], *out.T, strict=True):
        found[s, symbols[numbers[0][one], numbers[1][two]]] += 1
    seen = distribution.pmf > 0
    assert found[~seen].sum() == 0
    assert chisquare(found[seen], len(df) * distribution.pmf[seen]).pvalue > 1e-6


@pytest.mark.parametrize(
    "sanitizer",
    [
        BestSanitizer(LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"]),
        Watchdog(LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"]),
        JointRelease(
            [("class", SubsetMerging(LiftBudget.symmetric(0.3), public="class"))],
            LOOSE,
            sensitive="survived",
            keep="age",
        ),
        LatentClassRelease(LiftBudget.symmetric(0.5), sensitive="survived", n_classes=4),
        RandomizedResponse(1.0, sensitive="survived", public=["class", "age"]),
    ],
    ids=lambda own: type(own).__name__,
)
def test_one_sanitizer_tells_what_its_own_report_says(sanitizer):
    own = sanitizer.fit(DF)
    for pipeline in (own, make_pipeline(own, OneHotEncoder())):
        report = sz.audit(DF, sensitive="survived", pipeline=pipeline)
        expected = [own.report_.summary[name] for name in FIGURES]
        assert [report.summary[name] for name in FIGURES] == pytest.approx(expected, abs=1e-11)


def test_numbers_in_bins_and_values_that_were_not_there_at_fit():
    df = pd.DataFrame({"ill": [0, 1] * 50, "age": range(100)})
    sanitizer = SubsetMerging(
        LiftBudget.symmetric(0.5), sensitive="ill", public=["age"], bins={"age": [0, 25, 50, 75, 100]}
    ).fit(df)
    told = sz.audit(df, sensitive="ill", pipeline=sanitizer).summary["max_log_lift"]
    assert told == pytest.approx(sanitizer.report_.summary["max_log_lift"], abs=1e-12)
    passengers = DF[DF["class"] != "Crew"]
    model = RandomizedResponse(1.0, public="class").fit(passengers)
    assert sz.audit(passengers, sensitive="survived", pipeline=model).facts.n_unseen == 0
    assert sz.audit(DF, sensitive="survived", pipeline=model).facts.n_unseen == len(DF) - len(passengers)


# -------------------------------------------------------------------------------------- columns that none takes


def test_a_pipeline_that_sanitizes_nothing_is_an_audit_of_its_columns():
    raw = sz.audit(DF, sensitive="survived", public=["class", "sex"]).summary
    one, two = (ColumnTransformer([("x", "passthrough", names)]) for names in (["class"], ["sex", "class"]))
    for pipeline in (
        ColumnTransformer([("all", "passthrough", ["class", "sex"])]),
        ColumnTransformer([("all", OneHotEncoder(), ["sex", "class"])]),
        ColumnTransformer([("none", "drop", ["survived", "age"])], remainder="passthrough"),
        ColumnTransformer([("all", make_pipeline(OrdinalEncoder(), OneHotEncoder()), ["sex", "class"])]),
        FeatureUnion([("one", one), ("two", two)]),
    ):
        report = sz.audit(DF, sensitive="survived", pipeline=pipeline.fit(DF))
        assert set(report.facts.kept) == {"class", "sex"}
        assert [report.summary[name] for name in FIGURES] == pytest.approx([raw[name] for name in FIGURES], abs=1e-11)


def test_a_column_beside_a_sanitizer_counts_as_itself():
    columns = ColumnTransformer(
        [
            (
                "released",
                SubsetMerging(LiftBudget.symmetric(0.3), sensitive="survived", public="class"),
                ["survived", "class"],
            )
        ],
        remainder="passthrough",
    ).fit(DF[["survived", "class", "sex"]])
    report = sz.audit(DF, sensitive="survived", pipeline=columns)
    assert_is(report, together(DF, "survived", fitted_in(columns), raw=["sex"]))
    assert (report.public, report.facts.kept) == (("released: class", "sex"), ("sex",))
    assert report.to_frame("parts")["part"].tolist() == ["released: class", "sex"]


@pytest.mark.parametrize("kept", ["by the pipeline", "by the sanitizer"])
def test_a_sensitive_column_that_reaches_the_output_is_refused(kept):
    sanitizer = SubsetMerging(
        LiftBudget.symmetric(0.3), sensitive="survived", public="class", keep_sensitive=kept == "by the sanitizer"
    )
    left = "drop" if kept == "by the sanitizer" else "passthrough"
    columns = ColumnTransformer([("released", sanitizer, ["survived", "class"]), ("left", left, ["survived"])])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "keep_sensitive=True", ReleaseWarning)
        columns.fit(DF)
    report = sz.audit(DF, sensitive="survived", pipeline=columns)
    assert (report.state, report.facts.kept) == ("refused", ("survived",))
    assert report.summary["min_log_lift"] == -math.inf
    assert report.summary["mutual_information"] == pytest.approx(
        sz.audit(DF.assign(same=DF["survived"]), sensitive="survived", public="same").summary["mutual_information"]
    )


def test_a_column_of_mostly_different_values_is_refused_by_name():
    df = DF.assign(ticket=np.arange(len(DF)))
    columns = ColumnTransformer(
        [
            (
                "released",
                SubsetMerging(LiftBudget.symmetric(0.3), sensitive="survived", public="class"),
                ["survived", "class"],
            )
        ],
        remainder="passthrough",
    ).fit(df)
    with pytest.raises(ColumnError, match="public column 'ticket'"):
        sz.audit(df, sensitive="survived", pipeline=columns)


# --------------------------------------------------------------------------------------------------- the walk


@pytest.mark.filterwarnings("ignore:another sanitizer has released")
def test_pipelines_in_pipelines_are_walked_to_their_leaves():
    inner = Pipeline([("nothing", "passthrough"), ("own", respond("sex", sensitive="survived"))])
    union = FeatureUnion([("a", respond("class", sensitive="survived")), ("b", "drop")])
    outer = ColumnTransformer(
        [
            ("one", make_pipeline(inner, OneHotEncoder()), ["survived", "sex"]),
            ("two", make_pipeline(union, OneHotEncoder()), ["class", "survived"]),
            ("empty", OneHotEncoder(), []),
        ]
    )
    model = Pipeline([("columns", outer), ("model", LogisticRegression())]).fit(DF, DF["survived"])
    report = sz.audit(DF, sensitive="survived", pipeline=model)
    assert report.public == ("columns__one__pipeline__own: sex", "columns__two__featureunion__a: class")
    alone = [respond(name, sensitive="survived").fit(DF) for name in ("sex", "class")]
    assert_is(report, together(DF, "survived", alone))


@pytest.mark.filterwarnings("ignore:another sanitizer has released")
def test_what_comes_after_tells_no_more():
    columns = ColumnTransformer([("one", respond("class", sensitive="survived"), ["survived", "class"])])
    plain = sz.audit(DF, sensitive="survived", pipeline=columns.fit(DF))
    later = RandomizedResponse(0.1), OneHotEncoder(handle_unknown="ignore"), LogisticRegression()
    model = make_pipeline(columns, *later).fit(DF, DF["survived"])
    assert sz.audit(DF, sensitive="survived", pipeline=model).summary == plain.summary


def test_steps_before_a_sanitizer_are_applied_to_the_rows():
    """A column that a step has made is what the sanitizer releases, and is called by the step."""
    codes = ColumnTransformer([("code", OrdinalEncoder(dtype=int), ["class", "sex"])], remainder="passthrough")
    coded = Pipeline([("code", codes), ("own", RandomizedResponse(0.5, public=[0]))]).fit(DF)
    report = sz.audit(DF, sensitive="survived", pipeline=coded)
    plain = sz.audit(DF, sensitive="survived", pipeline=RandomizedResponse(0.5, public="class").fit(DF))
    assert [report.summary[name] for name in FIGURES] == pytest.approx([plain.summary[name] for name in FIGURES])
    assert report.public == ("own: x0",)
    beside = ColumnTransformer([("own", RandomizedResponse(0.5), [0]), ("same", "passthrough", [1])])
    both = sz.audit(DF, sensitive="survived", pipeline=Pipeline([("code", codes), ("columns", beside)]).fit(DF))
    assert (both.public, both.facts.kept) == (("columns__own: x0", "code: x1"), ("code: x1",))
    assert_is(both, together(DF, "survived", [RandomizedResponse(0.5, public="class").fit(DF)], raw=["sex"]))


def test_a_function_before_a_sanitizer_is_applied_too():
    model = make_pipeline(
        FunctionTransformer(lambda df: df[["sex", "survived"]]),
        Watchdog(LiftBudget.symmetric(0.5), sensitive="survived"),
    )
    report = sz.audit(DF, sensitive="survived", pipeline=model.fit(DF))
    assert report.public == ("watchdog: sex",)


@pytest.mark.parametrize("kind", [pl.DataFrame, lambda df: df], ids=["polars", "pandas"])
def test_frames_of_all_kinds_and_their_accessor(kind):
    df = kind(DF)
    columns = ColumnTransformer([("one", respond("class", sensitive="survived"), ["survived", "class"])]).fit(df)
    report = df.sanitize.audit("survived", pipeline=columns)
    assert report.summary["max_log_lift"] == pytest.approx(0.3, abs=1e-9)


def test_an_array_is_audited_by_the_positions_that_it_was_fitted_by():
    array = OrdinalEncoder(dtype=int).fit_transform(DF)
    columns = ColumnTransformer(
        [("own", RandomizedResponse(0.5), [0]), ("one", "passthrough", [2]), ("two", OneHotEncoder(), [1])]
    ).fit(array)
    report = sz.audit(array, sensitive="x3", pipeline=columns)
    assert (report.public, report.facts.kept) == (("own: x0", "x2", "x1"), ("x2", "x1"))
    named = pd.DataFrame(array, columns=["x0", "x1", "x2", "x3"])
    assert_is(report, together(named, "x3", [RandomizedResponse(0.5, public="x0").fit(named)], raw=["x1", "x2"]))
    with pytest.raises(InvalidParameter, match="4 columns without names, and the table has 3"):
        sz.audit(array[:, 1:], sensitive="x2", pipeline=columns)


def test_a_secret_that_the_pipeline_never_saw_is_looked_up_in_the_table():
    columns = ColumnTransformer([("own", RandomizedResponse(0.5), ["class"])], remainder="passthrough")
    report = sz.audit(DF, sensitive="survived", pipeline=columns.fit(DF[["class", "sex"]]))
    assert report.facts.kept == ("sex",)


# --------------------------------------------------------------------------------------------------- refusals


class Wrapper(TransformerMixin, BaseEstimator):
    """Somebody's own step around another one."""

    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, X, y=None):
        self.inner_ = self.inner.fit(X)
        return self

    def transform(self, X):
        return self.inner_.transform(X)


class Noise(TransformerMixin, BaseEstimator):
    """A step that says that it draws."""

    def fit(self, X, y=None):
        self.done_ = True
        return self

    def transform(self, X):
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


SURE = {"budget": LiftBudget.symmetric(0.5), "sensitive": "survived", "public": "class"}


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [
        (Wrapper(Watchdog(**SURE)), r"Wrapper \('wrapper'\) contains a sanitizer, but the audit"),
        (make_pipeline(Wrapper(make_pipeline(Watchdog(**SURE))), OneHotEncoder()), r"'wrapper'\) contains a sanitizer"),
        (make_pipeline(Noise(), Watchdog(**SURE)), "step 'noise' precedes a sanitizer"),
        (
            Pipeline(
                [
                    ("columns", ColumnTransformer([("own", Watchdog(**SURE), ["survived", "class"])],
                                                  remainder="passthrough")),
                    ("chosen", ColumnTransformer([("first", "passthrough", [0])])),
                ]
            ),
            "step 'chosen' chooses among sanitized columns and others that step 'columns' passes on",
        ),
        (
            Pipeline(
                [
                    ("columns", ColumnTransformer([("own", Watchdog(**SURE), ["survived", "class"])],
                                                  remainder="passthrough")),
                    ("more", RandomizedResponse(0.5, public=[0])),
                ]
            ),
            "step 'more' chooses among",
        ),
    ],
    ids=["own step", "own step inside", "draws before", "chooses later", "sanitizes later"],
)  # fmt: skip
def test_what_is_not_understood_is_refused_by_name(pipeline, words):
    with pytest.raises(InvalidParameter, match=words):
        sz.audit(DF, sensitive="survived", pipeline=pipeline.fit(DF))


def test_a_search_is_refused_and_what_it_found_is_audited():
    search = GridSearchCV(
        SubsetMerging(**SURE), {"budget__upper": [0.5, 1.0]}, scoring=sz.transformers.utility_scorer()
    ).fit(DF)
    with pytest.raises(InvalidParameter, match="best_estimator_ of a search"):
        sz.audit(DF, sensitive="survived", pipeline=search)
    assert sz.audit(DF, sensitive="survived", pipeline=search.best_estimator_).ok


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ((1, 1), "same key or seed"),
        ((sz.NoiseKey(b"1" * 32), sz.NoiseKey(b"1" * 32)), "same key or seed"),
        ((np.random.RandomState(1), None), "a copy of it could draw"),
    ],
    ids=["seed", "key", "state"],
)
def test_sanitizers_of_equal_noise_are_not_independent(sources, words):
    one, two = (
        RandomizedResponse(0.5, public=name, random_state=source)
        for name, source in zip(["class", "sex"], sources, strict=True)
    )
    columns = ColumnTransformer([("one", one, ["class"]), ("two", two, ["sex"])]).fit(DF)
    with pytest.raises(InvalidParameter, match=words):
        sz.audit(DF, sensitive="survived", pipeline=columns)


def test_one_sanitizer_may_draw_from_whatever_it_likes():
    sanitizer = RandomizedResponse(0.5, public="class", random_state=np.random.RandomState(1)).fit(DF)
    assert sz.audit(DF, sensitive="survived", pipeline=sanitizer).facts.seeded


def test_bad_calls_say_what_to_do():
    sanitizer = Watchdog(**SURE).fit(DF)
    with pytest.raises(InvalidParameter, match="give public or pipeline"):
        sz.audit(DF, sensitive="survived", public="class", pipeline=sanitizer)
    with pytest.raises(ColumnError, match="no column 'age' in the table"):
        sz.audit(DF[["survived", "class", "sex"]], sensitive="survived", pipeline=sanitizer)
    with pytest.raises(ValueError, match="not fitted"):
        sz.audit(DF, sensitive="survived", pipeline=Watchdog(**SURE))
    with pytest.raises(ColumnError, match="hands out no column"):
        sz.audit(DF, sensitive="survived", pipeline=ColumnTransformer([("none", "drop", ["class"])]).fit(DF))
    renamed = DF.rename(columns={"age": "own: class"})
    columns = ColumnTransformer([("own", Watchdog(**SURE), ["survived", "class"])], remainder="passthrough")
    with pytest.raises(ColumnError, match="has a column 'own: class', and a step makes one of that name"):
        sz.audit(renamed, sensitive="survived", pipeline=columns.fit(renamed))
