"""Tree estimators: whole tables in every kind of frame, within their budget, the same for the same key."""

from __future__ import annotations

import datetime
import math
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from kept import kept_by_column
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sanitize as sz
from sanitize.classes._counts import chosen_pairs
from sanitize.errors import ColumnError, InvalidBudget, InvalidParameter, ReleaseWarning
from sanitize.report import column_distributions
from sanitize.transformers import TreeMerging, TreeRandomResponse
from sanitize.trees import Tree, grow

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
BOTH = [
    TreeMerging(BUDGET, sensitive="ill", min_rows=25, random_state=1),
    TreeRandomResponse(BUDGET, sensitive="ill", min_rows=100, min_cell_rows=12, random_state=1),
]
OUTPUTS = ["model", "resample", "label"]


def people(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Numbers, text with missing values, booleans and dates, some of which tell of the illness."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    age = np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round().astype(int)
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    town[rng.random(n) < 0.05] = None
    smokes = rng.random(n) < np.where(ill, 0.5, 0.2)
    seen = np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]")
    income = rng.lognormal(10, 0.5, n).round(2)
    return pd.DataFrame(
        {"ill": ill, "age": age, "town": town, "smokes": smokes, "seen": seen.astype("M8[ns]"), "income": income}
    )


DF = people()
X = ["age", "town", "smokes", "seen", "income"]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("output", OUTPUTS)
def test_every_kind_of_frame_gives_the_same_rows_for_the_same_key(estimator, output):
    key = {"random_state": sz.NoiseKey(bytes(32))}
    released = clone(estimator).set_params(output=output, **key).fit(DF).transform(DF)
    assert list(released.columns) == X
    assert len(released) == len(DF)
    want = pa.Table.from_pandas(released, preserve_index=False)
    for frame in (pl.from_pandas(DF), pa.Table.from_pandas(DF, preserve_index=False)):
        again = clone(estimator).set_params(output=output, **key).fit(frame).transform(frame)
        table = again.to_arrow() if isinstance(again, pl.DataFrame) else again
        for name in X:
            assert [str(v) for v in table[name].to_pylist()] == [str(v) for v in want[name].to_pylist()], name


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
def test_a_row_draws_the_same_in_any_batch(estimator):
    fitted = clone(estimator).fit(DF)
    release, words = fitted.fitted_release(), sz.NoiseKey(bytes(32))
    table = pa.Table.from_pandas(DF, preserve_index=False)
    whole = pa.table(release.apply({n: table[n] for n in X}, words)[0]).to_pylist()
    parts = []
    for start in range(0, len(DF), 333):
        part = table.slice(start, 333)
        parts += pa.table(release.apply({n: part[n] for n in X}, words, start)[0]).to_pylist()
    assert parts == whole


def test_unfitted_copies_pickles_and_containers():
    for estimator in BOTH:
        fitted = clone(estimator).fit(DF)
        back = pickle.loads(pickle.dumps(fitted))
        pd.testing.assert_frame_equal(back.transform(DF), fitted.transform(DF))
        assert isinstance(clone(estimator).set_output(transform="polars").fit(DF).transform(DF), pl.DataFrame)
        numbers = DF[["age", "income"]].to_numpy()
        apart = clone(estimator).set_params(sensitive=None).fit(numbers, sensitive_features=DF["ill"].to_numpy())
        assert apart.transform(numbers).shape == numbers.shape


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
def test_the_budget_holds_in_fractions_and_no_cell_has_too_few_rows(estimator):
    fitted = clone(estimator).fit(DF)
    cells = fitted.tree_.assign(DF[X])
    rows = np.bincount(cells, minlength=fitted.tree_.n_cells)
    assert rows.min() >= getattr(estimator, "min_cell_rows", estimator.min_rows)
    counts = np.array([np.bincount(cells[DF["ill"] == s], minlength=len(rows)) for s in (False, True)])
    mass = [[Fraction(int(m), len(DF)) for m in row] for row in counts]
    for stage in fitted.channel_.stages:
        after = [[Fraction(0)] * stage.n_outputs for _ in mass]
        for x in range(stage.n_inputs):
            for k in range(stage.indptr[x], stage.indptr[x + 1]):
                share = Fraction(int(stage.weights[k]), 1 << 62)
                for row, old in zip(after, mass, strict=True):
                    row[stage.indices[k]] += old[x] * share
        mass = after
    prior = [Fraction(int(row.sum()), len(DF)) for row in counts]
    for column in zip(*mass, strict=True):
        lifts = [m / sum(column) / p for m, p in zip(column, prior, strict=True)]
        assert max(lifts) <= Fraction(math.exp(0.5 + 1e-11))
        assert min(lifts) >= Fraction(math.exp(-1 - 1e-11))


def texts(frame):
    """A frame as text, in which what is missing is spelled one way, as pandas before 3 does not."""
    return frame.astype(str).replace("None", "nan")


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("output", ["model", "resample"])
def test_printed_rows_lie_in_the_released_cell_and_real_ones_only_where_they_are_asked_for(estimator, output):
    fitted = clone(estimator).set_params(output=output, random_state=sz.NoiseKey(bytes(32))).fit(DF)
    codes = fitted.channel_.sample(fitted.tree_.assign(DF[X]), sz.NoiseKey(bytes(32)))
    released = fitted.transform(DF)
    np.testing.assert_array_equal(fitted.tree_.assign(released), codes)
    own = set(texts(DF[X]).itertuples(index=False, name=None))
    found = np.mean([row in own for row in texts(released).itertuples(index=False, name=None)])
    assert found == 1 if output == "resample" else found < 0.02  # five columns, two of them nearly continuous


@pytest.mark.parametrize("output", OUTPUTS)
def test_dictionaries_of_printed_columns_hold_released_values_only(output):
    fitted = clone(BOTH[1]).set_params(output=output).fit(DF)
    columns, _ = fitted.fitted_release().apply({n: pa.array(DF[n][:20]) for n in X}, sz.NoiseKey(bytes(32)))
    for name, column in columns.items():
        if output == "model" and name in ("seen", "income", "age"):
            assert not isinstance(column, pa.DictionaryArray)  # any number or date between two edges
            continue
        assert set(column.dictionary.to_pylist()) == set(column.to_pylist()) - {None}, name


def test_printing_follows_the_frequencies_of_the_cell():
    df = pd.DataFrame({"ill": [True, False] * 100, "kind": ["a"] * 150 + ["b"] * 40 + [None] * 10})
    fitted = TreeMerging(0.0, sensitive="ill", min_rows=150, output="resample", random_state=0).fit(df)
    many = pd.DataFrame({"kind": ["a"] * 40_000})
    counts = fitted.transform(many)["kind"].value_counts(dropna=False)
    # Binomial with 40,000 draws: 6 standard deviations, false alarm 1e-8.
    for value, share in (("a", 0.75), ("b", 0.2)):
        assert abs(counts[value] / 40_000 - share) < 6 * math.sqrt(share * (1 - share) / 40_000)
    assert counts.sum() == 40_000
    assert counts[[value for value in counts.index if pd.isna(value)]].sum() > 1500


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
def test_labels_say_what_the_rows_of_their_cells_have(estimator):
    fitted = clone(estimator).set_params(output="label").fit(DF)
    released = fitted.transform(DF)
    sets = released["smokes"].unique()
    assert set(sets) <= {"{True}", "{False}", "{False, True}", "any value", "all but {True}", "all but {False}"}
    cells = fitted.tree_.assign(DF[X])
    texts = fitted.tree_.labels_of([np.array([cell]) for cell in range(fitted.tree_.n_cells)])
    for own, cell in zip(DF["age"], cells, strict=True):
        text = texts[cell]["age"]
        if text.startswith("["):
            low, high = (float(end) for end in text.strip("[)").split(", "))
            assert low <= own < high


def test_values_that_were_not_there_have_a_cell():
    fitted = clone(BOTH[1]).fit(DF)
    odd = pd.DataFrame(
        {
            "age": [-5, 500],
            "town": ["never seen", None],
            "smokes": [True, False],
            "seen": [datetime.datetime(1900, 1, 1), pd.NaT],
            "income": [math.nan, 1e12],
        }
    )
    released = fitted.transform(odd)
    assert len(released) == 2
    assert set(released["town"].dropna()) <= set("ABCD")


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_before_is_what_whole_rows_of_the_table_tell_not_its_cells(confidence):
    """Cells hide rows among each other already, so that a table of single rows looked harmless."""
    df = pd.DataFrame({"ill": DF["ill"], "smokes": DF["smokes"], "decade": (DF["age"] // 10).clip(3, 6)})
    columns = ["smokes", "decade"]
    fitted = clone(BOTH[1]).set_params(public=columns, confidence=confidence, max_cells=4).fit(df)
    raw = sz.JointDistribution.from_frame(df, "ill", columns)
    before = {line.name: line.before for line in fitted.report_.measures}
    assert before["max_log_lift"] == pytest.approx(sz.lifts.max_log_lift(raw).max())
    assert before["min_log_lift"] == pytest.approx(sz.lifts.min_log_lift(raw).min())
    assert before["mutual_information"] == pytest.approx(sz.measures.mutual_information(raw))
    assert before["mutual_information"] > sz.measures.mutual_information(fitted._joint) + 0.01
    assert not fitted.report_.to_dict()["of_cells"]
    assert fitted.report_.ok


def kept_beyond(groups, fitted, df):
    """I(X;Y) / H(X) of groups of rows, less what is left when the groups are dealt anew (the mean of 40 times)."""
    released, rng = fitted.channel_.matrix[fitted.tree_.assign(df)], np.random.default_rng(0)
    groups = np.asarray(groups, str)

    def share(of_rows):
        distribution = pd.DataFrame(released).groupby(of_rows).sum().to_numpy() / len(df)
        p, q = distribution.sum(axis=1), distribution.sum(axis=0)
        inside = distribution > 0
        return (distribution[inside] * np.log((distribution / np.outer(p, q))[inside])).sum() / -(p * np.log(p)).sum()

    chance = np.mean([share(rng.permutation(groups)) for _ in range(40)])
    return (share(groups) - chance) / (1 - chance)


def test_the_report_says_what_is_kept_of_each_column_beyond_chance():
    fitted = clone(BOTH[1]).set_params(public=["age", "town", "smokes"]).fit(DF)
    report = fitted.report_
    kept = dict(next(s for s in report.sections if s.name == "kept by column").rows)
    for name in ("town", "smokes"):
        assert kept[name] == pytest.approx(kept_beyond(DF[name].map(str), fitted, DF), abs=2e-3)
    assert report.summary["mean_column_utility"] == pytest.approx(np.mean(list(kept.values())))
    assert report.public == ("age", "town", "smokes")
    words = str(report)
    assert "tree random response" in words
    assert "HOLDS FOR THESE ROWS ONLY" in words


@pytest.mark.slow
@pytest.mark.parametrize("output", ["model", "resample"])
def test_nothing_is_kept_of_noise_that_the_release_does_not_show(output):
    """By frequencies of distinct numbers in small cells a third of it is kept, where nothing can be seen of it."""
    rng = np.random.default_rng(5)
    noise = {f"noise {k}": rng.normal(size=len(DF)) for k in range(12)}
    df = DF.assign(**noise)
    tree = TreeRandomResponse(BUDGET, sensitive="ill", output=output, random_state=0)
    with pytest.warns(ReleaseWarning, match="next to nothing is kept of most columns"):
        released = sz.frame.release(df, tree)
    kept = dict(next(s for s in tree.report_.sections if s.name == "kept by column").rows)
    unseen = [name for name in noise if abs(np.corrcoef(df[name], released[name])[0, 1]) < 0.1]
    assert len(unseen) >= 3
    assert max(kept[name] for name in unseen) < 0.05
    cells = tree.tree_.assign(df[list(tree.tree_.names)])
    one_each = np.zeros((len(df), tree.tree_.n_cells))
    one_each[np.arange(len(df)), cells] = 1 / len(df)
    assert kept_by_column({"noise": one_each}, tree.channel_)["noise"] > 0.3


def test_the_report_says_what_is_kept_of_each_pair_beyond_chance():
    rng = np.random.default_rng(4)
    df = DF.assign(place=[f"p{code}" for code in np.minimum(rng.geometric(0.1, len(DF)), 30)])
    fitted = clone(BOTH[1]).set_params(public=["age", "town", "place"]).fit(df)
    kept = dict(next(s for s in fitted.report_.sections if s.name == "kept by pair").rows)
    assert list(kept) == sorted(kept, key=kept.__getitem__)
    often = df["place"].value_counts(sort=False).sort_index().sort_values(ascending=False, kind="stable").index[:15]
    places = df["place"].where(df["place"].isin(often), "others")
    both = [f"{t}/{p}" for t, p in zip(df["town"].map(str), places, strict=True)]
    assert kept["town x place"] == pytest.approx(kept_beyond(both, fitted, df), abs=1e-2)
    assert fitted.report_.summary["mean_pair_utility"] == pytest.approx(np.mean(list(kept.values())))
    assert "% of what each column says by itself, in the mean" in str(fitted.report_)


def test_an_ordered_column_of_a_pair_is_cut_into_groups_of_about_equal_rows():
    df = pd.DataFrame({"a": np.arange(800) ** 2, "b": np.arange(800) % 2, "s": np.arange(800) % 3})
    grown = grow({"a": df["a"], "b": df["b"]}, df["s"].to_numpy(), None, max_cells=4)
    [(names, counts)] = grown.pair_counts()
    assert names == ("a", "b")
    assert counts.shape == (32, grown.tree.n_cells)
    assert counts.sum(axis=1) == pytest.approx(25, rel=0.3)  # edges are round numbers near to equal rows


@pytest.mark.slow
def test_of_very_many_pairs_some_are_looked_at_and_the_report_says_how_many():
    rng = np.random.default_rng(9)
    both = rng.integers(0, 2, 400)
    columns = {f"c{k}": both ^ (rng.random(400) < 0.2) for k in range(50)}
    df = pd.DataFrame({"s": both ^ (rng.random(400) < 0.3), **columns})
    fitted = TreeMerging(1.5, sensitive="s", public=list(df.columns[1:]), output="label").fit(df)
    section = next(one for one in fitted.report_.sections if one.name == "kept by pair")
    assert ", of 1000 pairs drawn at random from 1225; the 30 least kept of 1000 pairs." in section.words
    assert len(section.rows) == 30


@pytest.mark.parametrize("n", [1, 2, 45, 46, 200])
def test_pairs_that_are_looked_at_are_all_or_a_thousand_that_differ(n):
    everyone = list(combinations(range(n), 2))
    found = chosen_pairs(n)
    assert found == everyone if n < 46 else len(found) == 1000
    assert sorted(set(found)) == found
    assert set(found) <= set(everyone)
    assert n < 3 or {column for pair in found for column in pair} == set(range(n))


@pytest.mark.parametrize("estimator", BOTH, ids=lambda e: type(e).__name__)
def test_the_rows_a_tree_is_grown_on_do_not_go_down_it_again(estimator, tmp_path, monkeypatch):
    """Their cells are known; what is counted is what they would be counted as."""
    path = tmp_path / "people.parquet"
    DF.to_parquet(path)
    monkeypatch.setattr(Tree, "assign", lambda *_: pytest.fail("rows whose cells are known are looked up"))
    fitted, of_file = clone(estimator).fit(DF), clone(estimator).fit(path)
    monkeypatch.undo()
    cells = fitted.tree_.assign({name: DF[name] for name in fitted.tree_.names})
    joint = sz.JointDistribution.from_frame(DF[["ill"]].assign(cell=cells), "ill", ["cell"])
    for one in (fitted, of_file):
        np.testing.assert_array_equal(one._joint.pmf, joint.pmf)
        assert one.report_.summary == fitted.report_.summary
    gaps = DF.assign(town=DF["town"].mask(DF.index < 3))
    gaps.to_parquet(path)
    for source in (gaps, path):
        with pytest.raises(ColumnError, match="'town' has missing values"):
            clone(estimator).set_params(missing="error").fit(source)


def test_rows_that_are_there_once_tell_as_much_together_as_each_alone():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"a": rng.integers(0, 20, 600), "b": rng.integers(0, 15, 600)})
    secrets = rng.integers(0, 3, 600)
    few = grow(dict(df), secrets, None, max_cells=8).row_counts(secrets, 3)
    every = pd.crosstab(secrets, [df["a"], df["b"]]).to_numpy()
    assert few.sum() == every.sum() == 600
    assert few.shape[1] < every.shape[1]
    one, another = (sz.JointDistribution.from_matrix(counts / 600) for counts in (few, every))
    channels = [sz.Channel.identity(len(joint.public)) for joint in (one, another)]
    told = [sz.LeakageReport.measure(j, c).measures for j, c in zip((one, another), channels, strict=True)]
    for first, second in zip(*told, strict=True):
        if "utility" not in first.name and not first.name.startswith("worst_"):
            assert first.before == pytest.approx(second.before, rel=1e-12), first.name


def test_kept_by_column_of_a_tuple_alphabet():
    joint = sz.JointDistribution.from_frame(DF, "ill", ["town", "smokes"])
    first = joint.public.codes[:, 0]
    kept = kept_by_column(column_distributions(joint), sz.Channel.merge(first))
    assert kept["town"] == pytest.approx(1)
    assert 0 <= kept["smokes"] < 0.05
    constant = {"one": np.ones((1, 4)) / 4}
    assert kept_by_column(constant, sz.Channel.identity(4)) == {"one": 1.0}


@pytest.mark.parametrize("kind", [TreeMerging, TreeRandomResponse])
def test_confidence_is_claimed_for_fresh_rows_and_its_budget_holds_for_these(kind):
    df = people(6000)
    fitted = kind(sz.LiftBudget(lower=1, upper=1), sensitive="ill", confidence=0.95, random_state=0).fit(df)
    assert fitted.report_.ok
    assert fitted.report_.confidence == 0.95
    assert "HOLDS FOR THE SOURCE" in str(fitted.report_)
    assert "(95 % sure)" in str(fitted.report_)
    assert not [line for line in fitted.report_.measures if line.name.startswith("worst_")]
    assert fitted.channel_.n_inputs == fitted.tree_.n_cells > 1
    measured = fitted.measure(people(3000, seed=7))
    assert measured.summary["max_log_lift"] < 1.2


def test_other_budgets_targets_weights_and_hierarchies():
    for budget in (sz.LDPBudget(1.0), sz.L1LiftBudget(lower=0.8, upper=0.5), sz.AlphaLiftBudget(2, lower=1, upper=1)):
        assert TreeMerging(budget, sensitive="ill").fit(DF).report_.ok
    assert TreeRandomResponse(sz.LDPBudget(1.0), sensitive="ill").fit(DF).report_.ok
    plain = clone(BOTH[0]).fit(DF).report_
    target = clone(BOTH[0]).set_params(target="income").fit(DF).report_
    kept = [dict(next(s for s in r.sections if s.name == "kept by column").rows)["income"] for r in (plain, target)]
    assert kept[1] > kept[0]
    above = {value: ["AB" if value in "AB" else "CD", "*"] for value in "ABCD"}
    merged = clone(BOTH[0]).set_params(hierarchies={"town": above}, weights={"income": 0.0}, output="label").fit(DF)
    assert merged.report_.ok


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"budget": None}, InvalidBudget, "budget"),
        ({"output": "rows"}, InvalidParameter, "output must be None or one of"),
        ({"sensitive": None}, ColumnError, "needs to know what is sensitive"),
        ({"min_rows": 0}, InvalidParameter, "min_rows must be"),
        ({"weights": {"nothing": 1}}, InvalidParameter, "no public column 'nothing'"),
        ({"target": "nothing"}, ColumnError, "nothing"),
        ({"bins": {"age": 5}}, ColumnError, "must be edges or a calendar unit here"),
        (
            {"bins": {"age": [0, 30.5, 99]}},
            ColumnError,
            "'age' holds whole numbers, which a tree cuts at whole numbers",
        ),
        ({"missing": "error"}, ColumnError, "'town' has missing values"),
        ({"confidence": 1.5}, InvalidParameter, "confidence"),
        ({"confidence": 0.95, "budget": sz.Chi2LiftBudget(lower=1, upper=1)}, InvalidBudget, "Chi2LiftBudget"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, error, words):
    with pytest.raises(error, match=words):
        clone(BOTH[0]).set_params(**settings).fit(DF)


def test_a_tree_is_no_part_of_a_joint_release():
    parts = [("tree", TreeMerging(public=["age", "town"]))]
    with pytest.raises(InvalidParameter, match="part 'tree'"):
        sz.JointRelease(parts, 1.0, sensitive="ill").fit(DF)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [TreeRandomResponse(1.0, sensitive=[0], bins={0: 2}, min_rows=10, min_cell_rows=3, output="model")]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([TreeMerging(1.0, sensitive=[0], bins={0: 2}, min_rows=5, output="model")])
def test_scikit_learns_checks_of_merging(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [TreeMerging, TreeRandomResponse])
def test_secrets_that_nothing_can_be_tested_of_are_certified_or_refused_in_words(kind):
    """A constant one, five rows, a rare one that is numbered first, and one that names its row."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"age": rng.integers(0, 5, 3000), "town": rng.choice(list("ab"), 3000)})
    sanitizer = kind(BUDGET, sensitive="ill", confidence=0.95, random_state=0)
    for rows in (df.assign(ill=1), df.assign(ill=rng.integers(0, 2, 3000))[:5]):
        assert str(sanitizer.fit(rows).report_.state) == "source"
    for seed in range(4):  # whether the one row is among those that the tree is grown on or not
        ill = rng.integers(1, 3, 3000)
        ill[seed] = 0
        assert sanitizer.fit(df.assign(ill=ill)).report_.ok
    for confidence in (None, 0.95):
        for ill in (rng.normal(size=3000), np.arange(3000)):
            with pytest.raises(ColumnError, match=r"a different value in most rows.*sensitive column 'ill'"):
                clone(sanitizer).set_params(confidence=confidence).fit(df.assign(ill=ill))


def told(fitted) -> dict[str, float]:
    """Figures of a report after the release, by name."""
    return {measure.name: measure.after for measure in fitted.report_.measures}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TreeMerging, TreeRandomResponse])
def test_a_secret_that_is_too_rare_to_certify_is_named_by_its_rows_and_what_it_would_need(kind, tmp_path):
    df = people(3000, seed=4)
    of_ill = np.where(np.arange(3000) < 30, "measles", np.where(df["ill"], "flu", "none"))
    sanitizer = kind(sz.LiftBudget(lower=1, upper=0.5), sensitive="ill", confidence=0.95, random_state=0)
    fitted = clone(sanitizer).fit(df.assign(ill=of_ill))
    [note] = [note for note in fitted.report_.facts.warnings if "too few to certify" in note]
    assert "value of 'ill' that 30 of 3000 rows have" in note
    assert "join it with another value" in note
    needed = int(note.split("about ")[1].split()[0])
    assert 100 < needed < 600
    assert not any(value in note for value in ("measles", "flu", "none"))
    df.assign(ill=of_ill).to_parquet(tmp_path / "people.parquet")
    assert note in clone(sanitizer).fit(tmp_path / "people.parquet").report_.facts.warnings
    # What is said to help does: joined, or of about so many rows, more is kept.
    joined = clone(sanitizer).fit(df.assign(ill=np.where(of_ill == "measles", "flu", of_ill)))
    several = clone(sanitizer).fit(df.assign(ill=np.where(np.arange(3000) < needed, "measles", of_ill)))
    kept = [told(one)["mean_column_utility"] for one in (fitted, several, joined)]
    assert kept[0] < 0.5 * min(kept[1:])
    for other in (several, joined):
        assert not any("too few to certify" in note for note in other.report_.facts.warnings)


def test_a_secret_with_noise_is_named_by_its_noisy_count():
    df = people(3000, seed=4).assign(ill=np.where(np.arange(3000) < 30, "measles", "none"))
    promise = sz.transformers.SecretDP(eps=1.0, delta=1e-6, values={"ill": ["measles", "none", "plague"]})
    sanitizer = TreeRandomResponse(1.0, sensitive="ill", confidence=0.95, secret_dp=promise)
    notes = [note for note in sanitizer.fit(df).report_.facts.warnings if "too few to certify" in note]
    assert notes
    assert all("that about" in note for note in notes)


@pytest.mark.parametrize("kind", [TreeMerging, TreeRandomResponse])
def test_odd_secrets_and_few_rows_under_confidence_are_released_or_refused_in_words(kind):
    sanitizer = kind(sz.LiftBudget(lower=1, upper=0.5), sensitive="ill", confidence=0.95)
    constant = clone(sanitizer).fit(DF.assign(ill="no"))
    assert told(constant)["mean_column_utility"] > 0.1
    few = clone(sanitizer).fit(DF[:5])
    assert few.report_.ok
    assert any("too few to certify" in note for note in few.report_.facts.warnings)
    for n in (1, 2):
        with pytest.raises(ColumnError, match=f"on a fifth of the rows: {n} rows are too few"):
            clone(sanitizer).fit(DF[:n])
    for secret in (np.linspace(0, 1, len(DF)), np.arange(len(DF)), [f"id {i}" for i in range(len(DF))]):
        with pytest.raises(ColumnError, match=r"different value in most rows.*'ill'"):
            clone(sanitizer).fit(DF.assign(ill=secret))


def test_dates_that_are_text_have_no_calendar_units_to_cut():
    """As CSV has them; merging of tuples takes the unit of each."""
    df = DF.assign(born=[f"19{40 + i % 50}-06-01" for i in range(len(DF))])
    tree = TreeMerging(BUDGET, sensitive="ill", public=["born", "smokes"], bins={"born": "decade"})
    with pytest.raises(ColumnError, match="'born' holds dates as text, as CSV has them, which a tree cannot cut"):
        tree.fit(df)
