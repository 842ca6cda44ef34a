"""Latent classes: the limit by a second count, the same rows by every way, classes blind to S, certificates."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.engines import sql
from sanitize.errors import BudgetExceeded, ColumnError, InvalidBudget, InvalidParameter, PolicyError, ReleaseWarning
from sanitize.release.classes import UNIT, ClassPartition
from sanitize.release.saved import Receipt, SavedRelease
from sanitize.transformers import LatentClassRelease, SubsetMerging

BUDGET = sz.LiftBudget(at_most=1.5, at_least=0.5)
KEY = bytes(range(32))
X = ["age", "town", "smokes", "seen", "income"]


def people(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Numbers, text with missing values, booleans and dates, some of which reveal the illness."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    town[rng.random(n) < 0.05] = None
    return pd.DataFrame(
        {
            "ill": np.where(ill, "hush-yes", "hush-no"),
            "age": np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round().astype(int),
            "town": town,
            "smokes": rng.random(n) < np.where(ill, 0.5, 0.2),
            "seen": np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]"),
            "income": rng.lognormal(10, 0.5, n).round(2),
        }
    )


DF = people()


def sanitizer(**settings) -> LatentClassRelease:
    return LatentClassRelease(**{"budget": BUDGET, "sensitive": "ill", "random_state": sz.NoiseKey(KEY)} | settings)


@pytest.fixture(scope="module")
def fitted() -> LatentClassRelease:
    return sanitizer(n_classes=8).fit(DF)


@pytest.fixture
def raw(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet", index=False, row_group_size=300)
    (tmp_path / "private").mkdir()
    return tmp_path / "raw.parquet"


def partition_of(estimator) -> ClassPartition:
    return estimator.bare_release().layout.partition


def test_every_released_class_is_within_the_limit_by_a_count_in_fractions(fitted):
    """P(s|y) / P(s) from rows, their classes and the channel, without anything that the report is made of."""
    cells = partition_of(fitted).assign({name: pa.array(DF[name]) for name in X})
    matrix = fitted.channel_.matrix
    secrets = (DF["ill"] == "hush-yes").to_numpy()
    for y in range(matrix.shape[1]):
        weight = [Fraction(float(matrix[cell, y])) for cell in range(len(matrix))]
        of_secret = [
            sum(
                int(n) * w for n, w in zip(np.bincount(cells[secrets == s], minlength=len(matrix)), weight, strict=True)
            )
            for s in (False, True)
        ]
        for s, rows in enumerate(of_secret):
            lift = rows * len(DF) / (sum(of_secret) * int((secrets == s).sum()))
            assert Fraction(1, 2) - Fraction(1, 10**9) <= lift <= Fraction(3, 2) + Fraction(1, 10**9)


def test_the_limit_binds(fitted):
    """A looser one keeps more, so that the test above is of a limit that something would exceed."""
    looser = sanitizer(n_classes=8, budget=sz.LiftBudget(at_most=3, at_least=0)).fit(DF)
    assert looser.report_.summary["max_log_lift"] > np.log(1.5)
    assert looser.report_.summary["mean_column_utility"] > fitted.report_.summary["mean_column_utility"]


def test_a_flipped_sensitive_value_changes_no_byte_of_the_classes(fitted):
    flipped = DF.copy()
    flipped.loc[0, "ill"] = {"hush-yes": "hush-no", "hush-no": "hush-yes"}[flipped.loc[0, "ill"]]
    other = sanitizer(n_classes=8).fit(flipped)
    one, two = (json.loads(SavedRelease.of(estimator).to_json())["partition"] for estimator in (fitted, other))
    assert one == two


def test_every_kind_of_frame_gives_the_same_rows_for_the_same_key(fitted):
    wanted = pa.Table.from_pandas(fitted.transform(DF), preserve_index=False)
    assert wanted.column_names == X
    for frame in (pl.from_pandas(DF), pa.Table.from_pandas(DF, preserve_index=False)):
        again = sanitizer(n_classes=8).fit_transform(frame)
        table = again.to_arrow() if isinstance(again, pl.DataFrame) else again
        for name in X:
            assert [str(v) for v in table[name].to_pylist()] == [str(v) for v in wanted[name].to_pylist()], name


def test_rows_of_the_fit_keep_their_class_and_other_rows_draw_others(fitted):
    partition = partition_of(fitted)
    table = {name: pa.array(DF[name]) for name in X}
    cells = partition.assign(table)
    assert np.array_equal(cells, partition.assign(table, first=0))
    tail = {name: column[500:] for name, column in table.items()}
    assert np.array_equal(cells[500:], partition.assign(tail, first=500))
    assert np.array_equal(cells[500:], partition.assign(tail, first=np.arange(500, len(DF))))
    # Other rows, or the same ones in other places, draw by a digest of their own.
    assert (partition.assign(tail) != cells[500:]).any()


def test_classes_are_drawn_as_often_as_their_membership_says(fitted):
    """Sums over rows of 400 draws by other keys, 4.5 standard deviations: a false alarm in 1e-4 of all keys."""
    partition = partition_of(fitted)
    table = {name: pa.array(DF[name][:300]) for name in X}
    shares = partition.model.memberships(table)[:, partition.classes] / UNIT
    shares /= shares.sum(axis=1, keepdims=True)
    drawn = np.zeros(partition.n_cells)
    for seed in range(400):
        drawn += np.bincount(
            partition.with_key(sz.NoiseKey.from_seed(seed)).assign(table, first=0), minlength=len(drawn)
        )
    spread = np.sqrt(400 * (shares * (1 - shares)).sum(axis=0)) + 1
    assert (np.abs(drawn - 400 * shares.sum(axis=0)) < 4.5 * spread).all()


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_file_is_released_as_its_rows_in_memory_are(confidence, raw, tmp_path):
    settings = {"n_classes": 8, "confidence": confidence}
    wanted = sanitizer(**settings).fit(pq.read_table(raw)).transform(pq.read_table(raw))
    report = sz.release_file(
        raw, tmp_path / "out.parquet", sanitizer(**settings, random_state=None), rows="keep", key=KEY
    )
    written = pq.read_table(tmp_path / "out.parquet")
    for name in X:
        assert written[name].to_pylist() == wanted[name].to_pylist()
    assert report.ok
    assert sz.release_file(raw, tmp_path / "shuffled.parquet", sanitizer(**settings)).ok


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_receipt_draws_the_very_file_again(rows, confidence, raw, tmp_path):
    cuts = {"income": [0, 20_000, 40_000, 10**6], "seen": "month"}
    made = sanitizer(n_classes=8, bins=cuts, confidence=confidence, random_state=None)
    place, receipt = tmp_path / "out.parquet", tmp_path / "private" / "receipt"
    sz.release_file(raw, place, clone(made), rows=rows, receipt=receipt)
    assert Receipt.read(receipt).classes is not None
    assert sz.verify_file(place, raw, clone(made), rows=rows, receipt=receipt).ok
    other = pq.read_table(place)
    pq.write_table(other.slice(1), place)
    assert not sz.verify_file(place, raw, clone(made), rows=rows, receipt=receipt).ok


# No text: whole and broken numbers, dates, truth, and codes that are numbers.
NO_TEXT = {
    "age": DF["age"],
    "income": DF["income"],
    "seen": DF["seen"],
    "smokes": DF["smokes"],
    "code": DF["age"].astype("category"),
}


@pytest.mark.parametrize("name", NO_TEXT)
def test_a_hierarchy_of_what_is_no_text_is_refused_by_name(name):
    values = {str(value): ["any"] for value in NO_TEXT[name].unique()}
    table = pd.DataFrame({"ill": DF["ill"], "town": DF["town"], name: NO_TEXT[name]})
    with pytest.raises(ColumnError, match=f"column '{name}' has a hierarchy and must be text, got"):
        sanitizer(hierarchies={name: values}).fit(table)


@pytest.mark.parametrize("settings", [{"public": ["town"]}, {"public": ["town"], "keep": ["smokes"]}])
def test_a_hierarchy_of_a_column_that_the_model_does_not_write_is_refused(settings):
    with pytest.raises(ColumnError, match="hierarchies names 'smokes', which is not a generated column"):
        sanitizer(hierarchies={"smokes": {"True": ["any"]}}, **settings).fit(DF)


OTHER_SETTINGS = {
    "n_classes=6 in place of 3": {"n_classes": 3},
    "n_classes=6 in place of": {"n_classes": None},
    "other columns": {"public": ["age", "town"]},
    "other bins or another hierarchy of 'income'": {"bins": {"income": [0, 50_000, 10**7]}},
}


@pytest.mark.parametrize("fault", OTHER_SETTINGS)
def test_a_receipt_is_of_the_settings_that_learned_the_classes(fault, raw, tmp_path):
    place, receipt = tmp_path / "out.parquet", tmp_path / "private" / "receipt"
    given = {"n_classes": 6}
    sz.release_file(raw, place, sanitizer(**given), receipt=receipt)
    other = sz.verify_file(place, raw, sanitizer(**given | OTHER_SETTINGS[fault]), receipt=receipt)
    assert [fault in check.detail for check in other.checks if not check.ok] == [True]


def test_a_saved_release_is_read_back_whole_and_draws_other_rows_by_their_own_key(fitted, raw, tmp_path):
    saved = SavedRelease.of(fitted)
    text = saved.to_json()
    assert SavedRelease.from_json(text).to_json() == text
    assert "hush" not in text
    people(700, seed=5).to_parquet(tmp_path / "new.parquet", index=False)
    for place in ("one", "two"):
        report = sz.release_file(tmp_path / "new.parquet", tmp_path / f"{place}.parquet", saved, key=KEY)
        assert report.held_out is not None
    one, two = ((tmp_path / f"{place}.parquet").read_bytes() for place in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(
    ("change", "value"), [("classes", [0, 99]), ("classes", []), ("key", "short"), ("fitted", "short")]
)
def test_a_damaged_partition_is_refused(fitted, change, value):
    form = json.loads(SavedRelease.of(fitted).to_json())
    form["partition"][change] = value
    with pytest.raises(InvalidParameter, match="not a saved release that can be trusted"):
        SavedRelease.from_json(json.dumps(form))


def test_a_ledger_counts_a_release_of_a_frame_and_of_its_file_as_one(raw, tmp_path):
    wide = sz.LiftBudget(at_most=1e6, at_least=0)
    books = [sz.Ledger(tmp_path / name, wide) for name in ("frame", "file")]
    made = sanitizer(n_classes=4)
    table = pq.read_table(raw)
    together = books[0].record(table, clone(made).fit(table))
    sz.release_file(raw, tmp_path / "out.parquet", clone(made), ledger=books[1])
    # The rows of the first entry are found again by both, and the second release is the same draw of classes.
    again = clone(made).set_params(random_state=sz.NoiseKey(bytes(32)))
    both = [
        book.record(rows, again.fit(table)).summary["max_log_lift"]
        for book, rows in zip(books, (table, raw), strict=True)
    ]
    assert both[0] == both[1] >= together.summary["max_log_lift"] > 0


def test_a_policy_releases_by_latent_classes(raw, tmp_path):
    text = """
        version = 1
        [columns]
        sensitive = ["ill"]
        public = ["age", "town", "smokes", "seen", "income"]
        [budget]
        at_most = 1.5
        at_least = 0.5
        [channel]
        mechanism = "latent-classes"
        n_classes = 6
        rule = "subset-merging"
    """
    policy = sz.Policy.from_toml(text)
    report = sz.release_file(raw, tmp_path / "out.parquet", policy)
    assert report.ok
    assert report.facts.mechanism == "latent classes"
    with pytest.raises(PolicyError, match="min_rows"):
        sz.Policy.from_toml(text.replace("n_classes = 6", "min_rows = 6"))
    with pytest.raises(PolicyError, match="n_classes"):
        sz.Policy.from_toml(text.replace("latent-classes", "subset-merging").replace('rule = "subset-merging"', ""))


@pytest.mark.parametrize("budget", [BUDGET, sz.LDPBudget(1.0), sz.L1LiftBudget(lower=0.5, upper=0.5)])
@pytest.mark.parametrize("rule", ["watchdog", "subset-merging"])
def test_every_merging_rule_designs_on_classes(budget, rule):
    made = sanitizer(budget=budget, rule=rule, n_classes=6).fit(DF)
    assert made.report_.ok


def test_one_class_reveals_nothing():
    made = sanitizer(n_classes=1).fit(DF)
    assert made.report_.summary["mutual_information"] == 0
    assert list(made.transform(DF).columns) == X


def test_a_target_keeps_what_is_known_of_it():
    kept = {}
    for target in (None, "smokes"):
        made = sanitizer(n_classes=10, target=target).fit(DF)
        kept[target] = {one.column: one.share for one in made.report_.kept}["smokes"]
    assert kept["smokes"] >= kept[None] - 0.02  # shares are less what chance gives, which differs by design
    with pytest.raises(ColumnError, match="target must be one of the public columns"):
        sanitizer(target="ill").fit(DF)


def test_a_target_keeps_what_is_known_of_it_under_a_confidence():
    kept, df = {}, people(4000, seed=1)
    for target in (None, "smokes"):
        made = sanitizer(n_classes=10, target=target, confidence=0.9).fit(df)
        kept[target] = {one.column: one.share for one in made.report_.kept}["smokes"]
    assert kept["smokes"] > kept[None] + 0.1


def test_a_target_is_refused_where_no_design_heeds_it():
    with pytest.raises(InvalidParameter, match="cannot favour one column"):
        sanitizer(rule="watchdog", target="smokes").fit(DF)


def test_settings_that_do_not_fit_are_refused_in_words():
    for settings, error, words in (
        ({"n_classes": 0}, InvalidParameter, "n_classes"),
        ({"rule": "tree"}, InvalidParameter, "rule"),
        ({"confidence": 2.0}, InvalidParameter, "confidence"),
        ({"confidence": 0.9, "budget": sz.L1LiftBudget(lower=1, upper=1)}, InvalidBudget, "confidence"),
        ({"budget": None}, InvalidBudget, "budget"),
    ):
        with pytest.raises(error, match=words):
            sanitizer(**settings).fit(DF)
    named = DF.assign(street=[f"{i} Elm Street" for i in range(len(DF))])
    with pytest.raises(ColumnError, match="'street'"):
        sanitizer().fit(named)
    with pytest.raises(InvalidParameter, match="release_file"):
        sql.release(DF, sanitizer(n_classes=3).fit(DF), key=KEY, row_id="id")


def test_a_release_that_keeps_its_sensitive_column_is_not_for_release():
    made = sanitizer(n_classes=4, keep_sensitive=True).fit(DF)
    assert not made.report_.ok
    with pytest.raises((BudgetExceeded, InvalidParameter)):
        made.bare_release()


# ------------------------------------------------------------------------------------------------ certificates


def sources() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """P(s) and P(x|s) over 3 x 3 x 2 values, the rarest secret a hundredth, and one that is adverse to merging."""
    rng = np.random.default_rng(1)
    one = rng.dirichlet(np.ones(18), 2)
    few = rng.dirichlet(np.full(18, 0.4), 2)
    alike = rng.dirichlet(np.full(18, 5.0), 2)
    three = rng.dirichlet(np.ones(18), 3)
    return {
        "one in three": (np.array([2 / 3, 1 / 3]), one),
        "a hundredth": (np.array([0.99, 0.01]), alike),
        "sharp": (np.array([0.9, 0.1]), few),
        "three secrets": (np.array([0.5, 0.3, 0.2]), three),
    }


def violated(prior: np.ndarray, given: np.ndarray, seed: int, n: int = 1500) -> tuple[bool, bool]:
    """Whether the certified channel exceeds its limit under the source, and whether it reveals anything at all."""
    rng = np.random.default_rng(seed)
    s = rng.choice(len(prior), n, p=prior)
    x = (rng.random(n)[:, None] > given.cumsum(axis=1)[s]).sum(axis=1).clip(max=17)
    cells = np.array(np.unravel_index(np.arange(18), (3, 3, 2)))
    columns = {f"c{j}": pa.array(cells[j][x].astype(str)) for j in range(3)}
    budget = sz.LiftBudget(at_most=1.6, at_least=0.6)
    made = LatentClassRelease(budget, sensitive="s", confidence=0.95, n_classes=5, random_state=seed)
    made.fit(pa.table({"s": pa.array(s.astype(str)), **columns}))
    partition = partition_of(made)
    every = {f"c{j}": pa.array(cells[j].astype(str)) for j in range(3)}
    shares = partition.model.memberships(every)[:, partition.classes].astype(float)
    shares /= shares.sum(axis=1, keepdims=True)
    released = (prior[:, None] * given) @ shares @ made.channel_.matrix
    lifts = released / prior[:, None] / released.sum(axis=0)
    return bool((lifts > 1.6 + 1e-9).any() or (lifts < 0.6 - 1e-9).any()), bool(np.ptp(lifts) > 1e-9)


@pytest.mark.parametrize("name", sources())
def test_certificates_hold_for_the_source(name):
    """Of 10 samples at most three violate it: at 5 % each, a false alarm in 0.1 % of all seeds, and these are fixed."""
    found = [violated(*sources()[name], seed) for seed in range(10)]
    assert sum(is_over for is_over, _ in found) <= 3
    if name != "a hundredth":
        assert any(is_used for _, is_used in found)


@pytest.mark.slow(sampled=False)
@pytest.mark.parametrize("name", sources())
def test_at_most_a_twentieth_of_a_hundred_certificates_are_violated(name):
    """More than 5 of 100 at a rate of 0.05 in 38 % of all seeds, at a rate of 0.01 in 0.05 %; these are fixed."""
    assert np.mean([violated(*sources()[name], seed)[0] for seed in range(20, 120)]) <= 0.05


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        LatentClassRelease(
            LiftBudget.symmetric(1.0), sensitive=[0], bins={0: [-1000, 0, 0.5, 1.5, 100, 1000]}, n_classes=2
        )
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("kind", "n_warnings"), [(LatentClassRelease, 1), (SubsetMerging, 0)])
def test_a_target_beside_generated_rows_warns(kind, n_warnings):
    """It no longer belongs to them; next to columns of each row it does, and without one there is nothing to say."""
    made = kind(BUDGET, sensitive="ill", public=["town"], random_state=0)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", ReleaseWarning)
        made.fit(DF, np.arange(len(DF)) % 2)
    assert sum("y does not belong to generated rows" in str(note.message) for note in noted) == n_warnings
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", ReleaseWarning)
        made.fit(DF)
    assert not any("y does not belong" in str(note.message) for note in noted)
