"""Joint releases: the distribution of everything that is released together, by routes that share no code with it."""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from joint_release_cases import KEY, PARTS, exact_distribution, figures_of, joint_release, table
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import sanitize as sz
from sanitize._util.sampling.noise import NoiseKey
from sanitize.core.budgets import LiftBudget
from sanitize.core.channel import Channel
from sanitize.core.channel._stage import SCALE, Stage
from sanitize.core.channel._tuple_channel import tuple_channel
from sanitize.core.channel._tuples import Tuples
from sanitize.engines.parquet import plan_file
from sanitize.errors import BudgetExceeded, ColumnError, InvalidBudget, InvalidChannel, InvalidParameter, UnknownSymbol
from sanitize.transformers import (
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)

TIGHT = LiftBudget.symmetric(0.1)

# ---------------------------------------------------------------------------------------------- estimator


def test_frames_of_every_kind_hold_the_same_release():
    df = table()
    sanitizer = joint_release(PARTS["merged"])
    expected = sanitizer.fit_transform(df)
    assert expected.dtypes.to_dict() == df[["a", "b", "c", "k", "day"]].dtypes.to_dict()
    polars = sanitizer.fit_transform(pl.from_pandas(df))
    arrow = sanitizer.fit_transform(pa.Table.from_pandas(df))
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(arrow, pa.Table)
    for name in expected:
        plain = [None if value is pd.NaT or value != value else value for value in expected[name].tolist()]
        assert polars[name].to_list() == arrow[name].to_pylist() == plain
    codes = df[["ill", "a", "c"]].to_numpy()
    parts = [("p", SubsetMerging(public=[1]))]
    made = JointRelease(parts, LiftBudget.symmetric(1.0), sensitive=[0], keep=[2], random_state=0)
    released = made.fit_transform(codes)
    assert released.shape == (len(df), 2)
    assert released.dtype == codes.dtype
    assert np.array_equal(released[:, 1], codes[:, 2])
    assert isinstance(made.set_output(transform="polars").transform(codes), pl.DataFrame)


def test_parameters_of_parts_are_nested_and_parts_are_not_fitted_in_place():
    sanitizer = joint_release(PARTS["merged"])
    params = sanitizer.get_params()
    assert params["p__public"] == ["a", "b"]
    assert params["q"] is sanitizer.sanitizers[1][1]
    copy = clone(sanitizer).set_params(p__budget=TIGHT, q=Watchdog(public="c"), budget=LiftBudget.symmetric(2.0))
    assert copy.sanitizers[0][1].budget == TIGHT
    assert isinstance(copy.sanitizers[1][1], Watchdog)
    assert sanitizer.sanitizers[0][1].budget == LiftBudget.symmetric(0.4)
    sanitizer.fit(table())
    assert not hasattr(sanitizer.sanitizers[0][1], "channel_")
    assert sanitizer.sanitizers[1][1].budget is None


def test_fitted_releases_are_pickled_and_channels_saved_as_text():
    df = table()
    sanitizer = joint_release(PARTS["optimal"]).fit(df)
    again = pickle.loads(pickle.dumps(sanitizer))
    assert again.transform(df).equals(sanitizer.transform(df))
    assert sz.Channel.from_json(sanitizer.channel_.to_json()) == sanitizer.channel_
    assert again.channel_.to_json() == sanitizer.channel_.to_json()


SAVED = {
    **{name: (parts, {}) for name, parts in PARTS.items()},
    "kept only": ([], {}),
    "nothing kept": (PARTS["merged"], {"keep": None}),
    # The merged symbols of one are drawn, then printed; those of the others are printed without a draw.
    "printed for sure": (
        [
            ("p", OptimalRandomResponse(LiftBudget.symmetric(0.3), public="a")),
            ("q", SubsetMerging(LiftBudget.symmetric(9.0), public="b")),
            ("r", SubsetMerging(LiftBudget.symmetric(9.0), public="c")),
        ],
        {"budget": sz.LiftBudget(lower=math.inf, upper=9.0)},
    ),
    "labels only": ([("p", SubsetMerging(LiftBudget.symmetric(0.4), public=["a", "b"]))], {"keep": None}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SAVED)
def test_a_saved_joint_release_draws_what_the_fitted_one_draws(case, source, tmp_path):
    parts, settings = SAVED[case]
    sanitizer = joint_release(parts, random_state=None, **settings)
    sz.release_file(source, tmp_path / "fitted.parquet", sanitizer, rows="keep", key=KEY)
    fitted = sz.SavedRelease.of(sanitizer)
    loaded = sz.SavedRelease.from_json(fitted.to_json(tmp_path / "saved.json"))
    assert loaded.to_json() == fitted.to_json()
    # The same rows and noise: what the fitted sanitizer wrote.
    bound, df = loaded.to_release(), table(5000)
    codes = bound.encode(df)[0]
    drawn = bound.channel.sample(codes, NoiseKey(KEY))
    assert np.array_equal(drawn, sanitizer.channel_.sample(codes, NoiseKey(KEY)))
    printed = pa.table(bound.decode(drawn, NoiseKey(KEY)))
    assert printed.to_pylist() == pq.read_table(tmp_path / "fitted.parquet").to_pylist()
    # A file released by either: the same bytes.
    for rows in ("keep", "shuffle"):
        released = {}
        for name, saved in (("fitted", fitted), ("loaded", loaded)):
            target = tmp_path / f"{name}-{rows}.parquet"
            report = sz.release_file(source, target, saved, rows=rows, key=KEY)
            assert report.held_out.ok
            released[name] = target.read_bytes()
        assert released["fitted"] == released["loaded"]


def chain_of_parts(rng: np.random.Generator) -> Channel:
    """Two parts that merge, draw and draw again, and a kept one."""
    groups, sizes = [("a",), ("b", "c"), ("d",)], (4, 3, 2, 3)
    rows = np.unique(np.stack([rng.integers(0, size, 40) for size in sizes], axis=1), axis=0)
    inputs = sz.core.alphabet.Alphabet(("a", "b", "c", "d"), [tuple(row) for row in rows.tolist()])
    alphabets = Tuples.from_alphabet(inputs, groups)[1]
    channels = []
    for name, alphabet in zip("ab", alphabets, strict=False):
        merged = Channel.merge(np.sort(np.unique(rng.integers(0, 3, len(alphabet)), return_inverse=True)[1]), alphabet)
        noise = rng.dirichlet(np.full(4, 0.5), merged.n_outputs)
        noisy = Channel.from_matrix(noise, merged.outputs, sz.core.alphabet.Alphabet.from_size(name, 4))
        channels.append(
            [
                merged.then(noisy),
                Channel.from_matrix(rng.dirichlet(np.ones(5), 4)).renamed(
                    noisy.outputs, sz.core.alphabet.Alphabet.from_size(name, 5)
                ),
            ]
        )
    return tuple_channel(inputs, groups, [*channels, []])


def test_chains_of_parts_come_back_from_text_with_their_draws():
    other_draws = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        channel = chain_of_parts(rng)
        back = Channel.from_json(channel.to_json())
        assert back == channel
        assert back.to_json() == channel.to_json()
        codes = rng.integers(0, channel.n_inputs, 3000)
        assert np.array_equal(back.sample(codes, KEY), channel.sample(codes, KEY))
        rows = tuple(Stage(stage.indptr, stage.indices, stage.weights, stage.n_outputs) for stage in channel.stages)
        plain = Channel(rows, channel.inputs, channel.outputs)
        other_draws += not np.array_equal(plain.sample(codes, KEY), channel.sample(codes, KEY))
        # Rows taken from a chain are written as rows: the same distribution.
        some = np.flatnonzero(rng.random(channel.n_inputs) < 0.7)
        stages = (channel.stages[0].take(some), *channel.stages[1:])
        taken = Channel(stages, channel.inputs.take(some), channel.outputs)
        assert Channel.from_json(taken.to_json()) == taken
    assert other_draws > 10  # a chain of rows has the same distribution and draws otherwise


PART_STAGE_FAULTS = {
    "no tuples": lambda stage: stage.update(tuples=None),
    "a part that is not there": lambda stage: stage.update(part=7),
    "a part that is no number": lambda stage: stage.update(part=True),
    "rows of another part": lambda stage: stage.update(indptr=[0, 1], indices=[0], weights=[SCALE], n_outputs=1),
    "tuples out of order": lambda stage: stage["tuples"]["codes"].reverse(),
    "tuples twice": lambda stage: stage["tuples"]["codes"].__setitem__(1, stage["tuples"]["codes"][0]),
    "a symbol too far": lambda stage: stage["tuples"]["codes"][-1].__setitem__(0, 9),
    "a negative symbol": lambda stage: stage["tuples"]["codes"][0].__setitem__(1, -1),
    "half a symbol": lambda stage: stage["tuples"]["codes"][0].__setitem__(1, 0.5),
    "a huge size": lambda stage: stage["tuples"]["sizes"].__setitem__(0, 1 << 40),
    "a tuple less": lambda stage: stage["tuples"]["codes"].pop(),
    "rows that miss 1": lambda stage: stage["weights"].__setitem__(0, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", PART_STAGE_FAULTS)
def test_damaged_stages_of_parts_are_refused(fault):
    state = json.loads(joint_release(PARTS["response"], keep=None).fit(table()).channel_.to_json())
    stage = next(stage for stage in state["stages"] if "part" in stage)
    PART_STAGE_FAULTS[fault](stage)
    with pytest.raises(InvalidChannel):
        Channel.from_json(json.dumps(state))


def test_a_joint_release_is_a_step_of_a_pipeline():
    df = table()
    pipeline = make_pipeline(joint_release(PARTS["merged"], keep="k"), OneHotEncoder())
    assert pipeline.fit_transform(df).shape[0] == len(df)


def test_sensitive_columns_may_come_apart():
    df = table()
    whole = joint_release(PARTS["merged"]).fit(df)
    apart = joint_release(PARTS["merged"], sensitive=None)
    apart.fit(df.drop(columns=["ill", "rich"]), sensitive_features=df[["ill", "rich"]])
    assert apart.channel_ == whole.channel_


def test_bins_are_drawn_part_by_part():
    df = table().assign(age=np.linspace(0, 100, 1500), pay=np.linspace(9, 1, 1500))
    sanitizer = joint_release(
        [
            ("p", SubsetMerging(public="age", bins={"age": [0, 50, 100]})),
            ("q", SubsetMerging(public="pay", bins={"pay": [1, 5, 9]})),
        ],
        sz.LiftBudget(lower=9.0, upper=9.0),
        keep="k",
    )
    released = sanitizer.fit_transform(df)
    assert released["age"].nunique() > 1000
    assert np.array_equal(released["age"] < 50, df["age"] < 50)
    assert np.array_equal(released["pay"] < 5, df["pay"] < 5)


def test_smoothing_of_a_part_is_its_own_and_the_verdict_is_about_the_raw_frequencies():
    df = table()
    parts = [
        ("p", SubsetMerging(LiftBudget.symmetric(0.4), public=["a", "b"], smoothing=50.0)),
        ("q", Watchdog(public="c")),
    ]
    sanitizer = joint_release(parts, sz.LiftBudget(lower=math.inf, upper=2.0)).fit(df)
    alone = SubsetMerging(LiftBudget.symmetric(0.4), sensitive=["ill", "rich"], public=["a", "b"], smoothing=50.0).fit(
        df
    )
    assert sanitizer.channels_["p"] == alone.channel_
    assert any("'p' was designed with smoothing=50" in note for note in sanitizer.report_.facts.warnings)
    expected = figures_of(exact_distribution(df, ["ill", "rich"], ["k", "day"], parts, sanitizer.channels_))
    assert sanitizer.report_.summary["max_log_lift"] == pytest.approx(expected["max_log_lift"], abs=1e-11)


def test_weights_count_like_repeated_rows():
    df = table(300)
    weights = np.random.default_rng(0).integers(0, 3, len(df))
    repeated = df.loc[df.index.repeat(weights)].reset_index(drop=True)
    one = joint_release(PARTS["merged"], sz.LiftBudget(lower=math.inf, upper=2.0)).fit(df, sample_weight=weights)
    other = joint_release(PARTS["merged"], sz.LiftBudget(lower=math.inf, upper=2.0)).fit(repeated)
    assert one.channel_.outputs == other.channel_.outputs
    assert one.report_.summary["max_log_lift"] == pytest.approx(other.report_.summary["max_log_lift"], abs=1e-9)


def test_missing_values_are_refused_in_any_column_when_asked():
    df = table()
    with pytest.raises(ColumnError, match="'b' has missing values"):
        joint_release(PARTS["merged"], missing="error").fit(df)
    kept = joint_release([("p", Watchdog(public="a"))], keep=["b"], missing="error")
    with pytest.raises(ColumnError, match="'b' has missing values"):
        kept.fit(df)


def test_kept_columns_alone_are_audited_against_the_budget():
    df = table()
    audit = joint_release([], keep=["k", "a"]).fit(df)
    assert audit.transform(df).equals(df[["k", "a"]])
    distribution = sz.JointDistribution.from_frame(df, ["ill", "rich"], ["k", "a"])
    assert audit.report_.summary["max_log_lift"] == pytest.approx(
        sz.core.lifts.max_log_lift(distribution).max(), abs=1e-12
    )
    with pytest.raises(BudgetExceeded):
        joint_release([], 0.1, keep=["k", "a"]).fit(df)


def test_the_report_lists_kept_columns_and_what_each_part_tells_by_itself():
    df = table()
    report = joint_release(PARTS["merged"]).fit(df).report_
    lines = report.to_frame("parts").set_index("part")
    assert lines["role"].to_dict() == {
        "p": "subset merging", "q": "subset merging", "k": "kept as it is", "day": "kept as it is",
    }  # fmt: skip
    day = sz.JointDistribution.from_frame(df, ["ill", "rich"], "day")
    assert lines.loc["day", "max_log_lift"] == pytest.approx(sz.core.lifts.max_log_lift(day).max())
    assert lines.loc["day", "normalized_utility"] == 1.0
    roles = report.to_frame("columns").set_index("column")["role"]
    assert roles["k"] == "kept as it is"
    assert roles["a"] == "released through the channel"
    assert not roles.index.duplicated().any()
    for audience in ("internal", "public"):
        document = report.to_dict(audience=audience)
        assert document["columns"]["kept"] == ["k", "day"]
        assert document["columns"]["released"] == ["a", "b", "c"]
        section, *others = document["sections"]
        assert [other["name"] for other in others] == ["guesses", "person", "side", "power"] * (audience == "internal")
        assert [row[0].split(" (")[0] for row in section["rows"]] == ["p", "q", "k", "day"]
        assert "the figures count them together with everything else" in " ".join(
            report.to_html(audience=audience).split()
        )
        assert len(report.to_text(audience=audience).split("\n")) <= {"public": 32, "internal": 50}[audience]
    assert "day (kept as it is)" in report.to_html()


def test_rows_with_tuples_not_seen_at_fit_are_released_like_the_riskiest_one():
    df = table()
    sanitizer = joint_release(PARTS["merged"]).fit(df)
    strange = df.head(3).assign(a=[0, 1, 9])
    with pytest.warns(sz.errors.UnseenSymbolWarning, match="1 of 3 rows"):
        released = sanitizer.transform(strange)
    assert 9 not in released["a"].tolist()
    with pytest.raises(UnknownSymbol):
        joint_release(PARTS["merged"], handle_unknown="error").fit(df).transform(strange)


def test_measure_judges_other_rows_under_the_joint_channel():
    sanitizer = joint_release(PARTS["merged"], sz.LiftBudget(lower=math.inf, upper=0.8)).fit(table())
    other = table(seed=1)
    assert sanitizer.measure(table()).summary == sanitizer.report_.summary
    assert sanitizer.measure(other).summary["max_log_lift"] != sanitizer.report_.summary["max_log_lift"]


# ------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("parts", "settings", "error", "words"),
    [
        ([("p", Watchdog(public="a"))], {"keep": ["a"]}, ColumnError, "'a' is released twice"),
        ([("p", Watchdog(public="a")), ("q", Watchdog(public="a"))], {}, ColumnError, "'a' is released twice"),
        ([("p", Watchdog(public="a"))], {"keep": ["ill"]}, ColumnError, "'ill' is listed both"),
        ([("p", Watchdog(public="ill"))], {}, ColumnError, "'ill' is listed both"),
        ([("p", Watchdog(public="a", random_state=3))], {}, InvalidParameter, "'p': leave random_state"),
        ([("p", Watchdog(public="a", keep_sensitive=True))], {}, InvalidParameter, "'p': leave keep_sensitive"),
        ([("p", Watchdog(public="a", missing="error"))], {}, InvalidParameter, "'p': leave missing out"),
        ([("p", Watchdog(TIGHT, public="a", confidence=0.9))], {}, InvalidParameter, "leave confidence out"),
        ([("p", Watchdog(public="a", sensitive="ill"))], {}, ColumnError, "'p' sets sensitive= to other columns"),
        ([("p", Watchdog()), ("q", Watchdog())], {}, ColumnError, "'p' and 'q' both have public=None"),
        ([("p", OptimalRandomResponse(public="a"))], {}, InvalidParameter, "it has no budget, and Optimal.*Watchdog"),
        ([("p", RandomizedResponse(public="a"))], {}, InvalidParameter, "'p': it has no budget"),
        ([("p", Watchdog(public="a", smoothing=1.0))], {}, InvalidParameter, "smoothing must be 0"),
        ([("p", "merge")], {}, InvalidParameter, "'p' must be a sanitizer"),
        ([Watchdog(public="a")], {}, InvalidParameter, "list of \\(name, sanitizer\\)"),
        ([("p", Watchdog(public="a")), ("p", Watchdog(public="c"))], {}, ValueError, "two parts have the name 'p'"),
        ([], {"keep": None}, InvalidParameter, "nothing to release"),
        ([("p", Watchdog(public="a"))], {"sensitive": None}, ColumnError, "needs sensitive columns"),
        ([("p", Watchdog(public="a"))], {"keep": "number"}, ColumnError, "most rows of public column 'number'"),
        ([("p", Watchdog(public="nope"))], {}, ColumnError, "no column 'nope'"),
        ([("p", Watchdog(public="a"))], {"keep": "nope"}, ColumnError, "no column 'nope'"),
    ],
)  # fmt: skip
def test_contradictions_are_refused_by_name(parts, settings, error, words):
    df = table().assign(number=range(1500))
    with pytest.raises(error, match=words):
        joint_release(parts, **settings).fit(df)


def test_a_budget_is_required():
    with pytest.raises(InvalidBudget, match="no budget given"):
        JointRelease([("p", Watchdog(public="a"))], sensitive="ill").fit(table())


def test_a_part_over_the_budget_of_its_own_is_refused_whatever_the_joint_one(monkeypatch):
    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging", lambda joint, budget, **_: sz.Channel.identity(len(joint.public))
    )
    df = table()
    with pytest.raises(BudgetExceeded) as caught:
        joint_release(
            [("p", SubsetMerging(LiftBudget.symmetric(0.01), public="a"))],
            sz.LiftBudget(lower=math.inf, upper=math.inf),
        ).fit(df)
    assert caught.value.report.public == ("a",)


def test_too_many_combinations_are_refused_with_the_columns(monkeypatch):
    df = table()
    monkeypatch.setattr("sanitize.core.channel._tuples.DENSE_CELLS", 40)
    with pytest.raises(ColumnError, match=r"'a', 'b', 'c', 'k', 'day' cannot be released.* 144 combi"):
        joint_release(PARTS["response"]).fit(df)
    monkeypatch.setattr("sanitize.release.recipes.joint_turns._PART_CELLS", 40)
    with pytest.raises(ColumnError, match="cannot be designed given 4 combinations"):
        joint_release([("p", Watchdog(public="a"))]).fit(df)


# -------------------------------------------------------------------------------------------------- files


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "raw.parquet"
    table(5000).to_parquet(path, row_group_size=1300)
    return path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the noise of this file comes from a seed")
@pytest.mark.parametrize("rows", ["keep", "shuffle"])
def test_files_hold_the_release_of_the_frame(source, tmp_path, rows):
    """Shuffled rows draw other noise than rows in order: two counts of one mean are no further apart than Bernstein's
    bound on each allows at exp(-25); what is kept is as it was."""
    target = tmp_path / "released.parquet"
    sanitizer = joint_release(PARTS["merged"], random_state=None)
    report = sz.release_file(source, target, sanitizer, rows=rows, key=KEY, batch_rows=999)
    assert report.ok
    written = pq.read_table(target)
    assert written.column_names == ["a", "b", "c", "k", "day"]
    df = table(5000)
    frame = joint_release(PARTS["merged"], random_state=NoiseKey(KEY)).fit(df).transform(df)
    expected = [tuple(row.values()) for row in pa.Table.from_pandas(frame, preserve_index=False).to_pylist()]
    found = [tuple(row.values()) for row in written.to_pylist()]
    if rows == "keep":
        assert found == expected
    else:
        assert found != expected
        one, other = Counter(found), Counter(expected)
        for row in {*one, *other}:
            assert abs(one[row] - other[row]) <= 2 * (50 * (one[row] + other[row] + 50)) ** 0.5 + 50 / 3
        assert Counter(written["k"].to_pylist()) == Counter(frame["k"])
    assert plan_file(source, joint_release(PARTS["merged"]), rows=rows).summary == report.summary


@pytest.mark.slow
def test_workers_write_the_rows_of_one_machine(source, tmp_path):
    pytest.importorskip("dask")
    import sanitize.engines.dask

    sanitizer = joint_release(PARTS["optimal"], random_state=None)
    for rows in ("keep", "shuffle"):
        alone, many = tmp_path / f"{rows}.parquet", tmp_path / f"{rows}"
        sz.release_file(source, alone, sanitizer, rows=rows, key=KEY)
        sanitize.engines.dask.release_file(source, many, sanitizer, rows=rows, key=KEY, task_rows=1300)
        assert pq.read_table(many).equals(pq.read_table(alone))


def test_nothing_is_written_when_the_joint_budget_is_exceeded(source, tmp_path):
    parts = [
        ("p", SubsetMerging(LiftBudget.symmetric(2.0), public=["a", "b"])),
        ("q", SubsetMerging(LiftBudget.symmetric(2.0), public="c")),
    ]
    with pytest.raises(BudgetExceeded):
        sz.release_file(source, tmp_path / "released.parquet", joint_release(parts, 0.2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.parquet"]


@pytest.mark.parametrize(("own", "why"), [(False, "the other parts leave"), (True, "its budget is too tight")])
def test_a_part_that_keeps_nothing_is_a_warning(own, why):
    frame = pd.DataFrame({"s": [0, 0, 1, 1] * 5, "x": [0, 0, 1, 1] * 5, "z": [0, 1, 0, 1] * 5})
    zero = LiftBudget.symmetric(0.0)
    parts = [("x", SubsetMerging(zero if own else None, public=["x"])), ("z", SubsetMerging(public=["z"]))]
    notes = JointRelease(parts, zero, sensitive="s").fit(frame).report_.facts.warnings
    assert [note for note in notes if "keeps nothing" in note and "'x'" in note and why in note]
    assert not any("'z' keeps nothing" in note for note in notes)
